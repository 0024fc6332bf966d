/* Any bytes as an object or an archive for `tilecc info`: it must refuse with words or print, and read nothing outside.  Not part of
 * make check; `make fuzz` builds it with a clang that has libFuzzer and runs it (tests/fuzz/long-run). */
#include "targets/nvptx/assemble/cubin.c"
#include "driver/info.c"
#include "driver/info/archive.c"
#include "driver/info/extract.c"
#include "driver/info/json.c"
#include "driver/info/instances.c"
#include "driver/info/native.c"
#include "driver/info/object.c"
#include "driver/info/packed.c"
#include "driver/info/sizes.c"

#include <stdlib.h>

static bool complained;

void driver_error(const struct options *options, const char *format, ...)
{
    (void)options;
    complained = *format != '\0';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *nowhere;
    if (!nowhere)
        nowhere = freopen("/dev/null", "w", stdout);
    struct arena *arena = arena_create();
    struct buffer exact = {.data = malloc(size ? size : 1), .size = size}; /* no byte behind the end */
    memcpy(exact.data, data, size);
    static const char *const options[] = {NULL, JSON, DEPENDENCES, ORDERS "1"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        complained = false;
        int code = print_file("fuzz.o", options[i], &exact, arena);
        if (complained != (code != EXIT_OK))
            abort();
    }
    buffer_free(&exact);
    arena_destroy(arena);
    return 0;
}
