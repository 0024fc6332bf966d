/* Replaying, packing and unpacking the corpora of the fuzzers. */
#include "corpus.h"

#include "base/base.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { LARGEST_CORPUS = 64 << 20, COMPRESSION = 19 };
static const uint64_t FIRST_STATE = 0x9e3779b97f4a7c15u;

struct input {
    const char *data;
    size_t size;
};
struct corpus {
    struct arena *arena;
    VECTOR(struct input) inputs;
};

static bool complain(const char *path)
{
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return false;
}

static bool split(struct corpus *corpus, const char *at, size_t bytes)
{
    for (const char *end = at + bytes; at < end;) {
        char *behind;
        size_t size = strtoul(at, &behind, 10);
        if (behind == at || *behind != '\n' || size > (size_t)(end - behind) - 2 || behind[1 + size] != '\n')
            return false;
        struct input input = {behind + 1, size};
        vector_push(corpus->arena, &corpus->inputs, input);
        at = behind + 2 + size;
    }
    return true;
}

static bool load(struct corpus *corpus, const char *path)
{
    struct buffer bytes = {0};
    if (!file_read(path, 0, &bytes))
        return complain(path);
    unsigned long long size = ZSTD_getFrameContentSize(bytes.data, bytes.size);
    char *text = size <= LARGEST_CORPUS ? arena_alloc(corpus->arena, (size_t)size + 1) : NULL;
    bool good = text && ZSTD_decompress(text, (size_t)size, bytes.data, bytes.size) == size;
    buffer_free(&bytes);
    return (good && split(corpus, text, (size_t)size)) || (fprintf(stderr, "%s: damaged\n", path), false);
}

static bool write_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return complain(path);
    bool written = fwrite(data, 1, size, file) == size;
    return (fclose(file) == 0 && written) || complain(path);
}

static bool unpack(struct corpus *corpus, const char *folder)
{
    for (int i = 0; i < corpus->inputs.count; i++)
        if (!write_file(arena_printf(corpus->arena, "%s/%05d", folder, i), corpus->inputs.data[i].data,
                        corpus->inputs.data[i].size))
            return false;
    return true;
}

static int compare_inputs(const void *a, const void *b)
{
    const struct input *x = a, *y = b;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return memcmp(x->data, y->data, x->size);
}

/* By size and bytes, so that the order is the content's. */
static bool pack(struct corpus *corpus, const char *folder, const char *path)
{
    DIR *directory = opendir(folder);
    if (!directory)
        return complain(folder);
    for (struct dirent *entry; (entry = readdir(directory));) {
        struct buffer bytes = {0};
        if (entry->d_name[0] == '.')
            continue;
        if (!file_read(arena_printf(corpus->arena, "%s/%s", folder, entry->d_name), 0, &bytes))
            return complain(folder);
        struct input input = {arena_substring(corpus->arena, bytes.data, bytes.size), bytes.size};
        vector_push(corpus->arena, &corpus->inputs, input);
        buffer_free(&bytes);
    }
    closedir(directory);
    struct buffer out = {0};
    if (corpus->inputs.count)
        qsort(corpus->inputs.data, (size_t)corpus->inputs.count, sizeof *corpus->inputs.data, compare_inputs);
    for (int i = 0; i < corpus->inputs.count; i++) {
        buffer_printf(&out, "%zu\n", corpus->inputs.data[i].size);
        buffer_append(&out, corpus->inputs.data[i].data, corpus->inputs.data[i].size);
        buffer_putc(&out, '\n');
    }
    size_t bound = ZSTD_compressBound(out.size);
    char *packed = arena_alloc(corpus->arena, bound);
    size_t size = ZSTD_compress(packed, bound, out.data ? out.data : "", out.size, COMPRESSION);
    buffer_free(&out);
    if (ZSTD_isError(size))
        die("compression: %s", ZSTD_getErrorName(size));
    return write_file(path, packed, size);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return *state;
}

/* Cuts, doubles, overwrites or moves a stretch of the input, or brings one from another, up to four times. */
static void run_changed(const struct corpus *corpus, const struct input *input, uint64_t *state,
                        int (*run)(const uint8_t *data, size_t size))
{
    size_t size = input->size, room = 2 * size + 256;
    uint8_t *copy = malloc(room);
    if (!copy)
        memory_exhausted();
    memcpy(copy, input->data, size);
    for (int times = 1 + (int)(next_random(state) % 4); times > 0 && size > 1 && size + 64 <= room; times--) {
        const struct input *other = &corpus->inputs.data[next_random(state) % (uint64_t)corpus->inputs.count];
        size_t at = next_random(state) % size, left = size - at,
               length = 1 + next_random(state) % (left < 24 ? left : 24);
        size_t from = other->size ? next_random(state) % other->size : 0,
               most = other->size - from < 64 ? other->size - from : 64;
        switch (next_random(state) % 7) {
        case 0: size = at; break;
        case 1: copy[at] = (uint8_t)next_random(state); break;
        case 2: memmove(copy + at, copy + at + length, left - length), size -= length; break;
        case 3: memmove(copy + at + length, copy + at, left), size += length; break;
        case 4: memmove(copy + next_random(state) % (size - length + 1), copy + at, length); break;
        case 5: memcpy(copy + at, other->data + from, most < left ? most : left); break;
        default: memmove(copy + at + most, copy + at, left), memcpy(copy + at, other->data + from, most), size += most;
        }
    }
    run(copy, size);
    free(copy);
}

static bool replay(const struct corpus *corpus, int changes, int (*run)(const uint8_t *data, size_t size))
{
    uint64_t state = FIRST_STATE;
    for (int i = 0; i < corpus->inputs.count; i++) {
        const struct input *input = &corpus->inputs.data[i];
        run((const uint8_t *)input->data, input->size);
        for (int k = 0; k < changes; k++)
            run_changed(corpus, input, &state, run);
    }
    fprintf(stderr, "%d inputs, each in %d changed forms\n", corpus->inputs.count, changes);
    return corpus->inputs.count > 0;
}

/* Each seed is one input, whatever ran before.  What ends the program is behind the last seed that was told, at most
 * 1,000 on. */
static bool run_seeds(const struct corpus *corpus, uint64_t first, uint64_t count,
                      int (*run)(const uint8_t *data, size_t size))
{
    for (uint64_t seed = first; seed < first + count && corpus->inputs.count; seed++) {
        uint64_t state = (seed + 1) * FIRST_STATE;
        if ((seed - first) % 1000 == 0)
            fprintf(stderr, "\rseed %llu", (unsigned long long)seed);
        next_random(&state), next_random(&state);
        run_changed(corpus, &corpus->inputs.data[next_random(&state) % (uint64_t)corpus->inputs.count], &state, run);
    }
    fprintf(stderr, "\r%llu inputs from seed %llu\n", (unsigned long long)count, (unsigned long long)first);
    return corpus->inputs.count > 0;
}

int corpus_main(const char *name, int (*run)(const uint8_t *data, size_t size), int changes, int count,
                char **arguments)
{
    const char *source = getenv("SRCDIR");
    struct corpus corpus = {.arena = arena_create()};
    const char *path = arena_printf(corpus.arena, "%s/tests/fuzz/corpus/%s.zst", source ? source : ".", name);
    bool good;
    if (count == 3 && strcmp(arguments[1], "pack") == 0) {
        good = pack(&corpus, arguments[2], path);
    } else if (count == 2) {
        struct buffer bytes = {0};
        good = file_read(arguments[1], 0, &bytes) || complain(arguments[1]);
        if (good)
            run((const uint8_t *)bytes.data, bytes.size);
        buffer_free(&bytes);
    } else if ((good = load(&corpus, path))) {
        if (count == 4)
            good = run_seeds(&corpus, strtoull(arguments[2], NULL, 10), strtoull(arguments[3], NULL, 10), run);
        else
            good = count == 3 ? unpack(&corpus, arguments[2]) : replay(&corpus, changes, run);
    }
    arena_destroy(corpus.arena);
    return !good;
}
