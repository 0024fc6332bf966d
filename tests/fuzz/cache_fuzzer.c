/* Any bytes as a file of the cache: the reader must find nothing, or what was kept for the key, and read nothing outside.
 * What it accepts is, byte for byte, what it would write, and it refuses that with a byte more or less.  Since no change
 * by chance gets past the sum, the bytes are also tried with the sum that they should have.  Not part of make
 * check; `make fuzz` builds it with a clang that has libFuzzer and runs it (tests/fuzz/long-run). */
#include "base/cache.c"

static const char key_text[] = "cubin\nprogram 1\n";

/* The bytes end where their memory does, so that reading one too many is found. */
static bool read_exactly(const uint8_t *data, size_t size, struct buffer *value)
{
    struct buffer key = {.data = (char *)(uintptr_t)key_text, .size = sizeof key_text - 1};
    uint8_t *exact = malloc(size ? size : 1);
    memcpy(exact, data, size);
    bool found = cache_entry_read(exact, size, &key, value);
    struct buffer again = {0};
    if (found)
        cache_entry_write(&again, &key, value->data, value->size);
    if (found && (again.size != size || memcmp(again.data, data, size) != 0))
        abort();
    if (!found && value->size)
        abort();
    buffer_free(&again);
    free(exact);
    return found;
}

static void try_bytes(const uint8_t *data, size_t size)
{
    struct buffer value = {0}, other = {0};
    if (read_exactly(data, size, &value)) {
        uint8_t *longer = calloc(1, size + 1);
        memcpy(longer, data, size);
        if (read_exactly(data, size - 1, &other) || read_exactly(longer, size + 1, &other))
            abort();
        free(longer);
    }
    buffer_free(&value);
    buffer_free(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct entry_head head;
    try_bytes(data, size);
    if (size < sizeof head)
        return 0;
    uint8_t *mended = malloc(size);
    memcpy(mended, data, size);
    memcpy(&head, data, sizeof head);
    if (head.key_size <= size - sizeof head && head.value_size <= size - sizeof head - head.key_size) {
        make_sum(&head, mended + sizeof head, mended + sizeof head + head.key_size);
        memcpy(mended, &head, sizeof head);
        try_bytes(mended, size);
    }
    free(mended);
    return 0;
}
