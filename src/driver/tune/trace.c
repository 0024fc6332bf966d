/* Calls that a program has made, as TILE_TRACE writes them (tilert(7)):
 *
 *          12  softmax_f16([16384,4096],[16384,4096])  # packed aligned
 *
 * how often, the call as the command line takes it, and how its views lay in memory. */
#include "driver/tune/tune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool fail(const struct tune *tune, const char *path, int line)
{
    driver_error(tune->options, "'%s', line %d: not a count and a call, as TILE_TRACE writes them", path, line);
    return false;
}

/* What a trace cannot tell, such as how much memory is behind a pointer, is written as `?`. */
static bool add_line(struct tune *tune, const char *path, int number, const char *line)
{
    char *end;
    double times = strtod(line, &end);
    const char *call = end + strspn(end, " "), *comment = strchr(call, '#');
    size_t length = comment ? (size_t)(comment - call) : strlen(call);
    while (length && call[length - 1] == ' ')
        length--;
    if (end == line || !(times >= 1 && times <= 0x1p53) || !length || call[length - 1] != ')')
        return fail(tune, path, number);
    if (memchr(call, '?', length)) {
        tune->unknown = arena_substring(tune->arena, call, length);
        return true;
    }
    struct bench_call traced = {.text = arena_substring(tune->arena, call, length), .times = times, .error = -1};
    vector_push(tune->arena, &tune->traced, traced);
    return true;
}

bool tune_read_trace(struct tune *tune, const char *path)
{
    struct buffer text = {0};
    bool good = file_read(path, 64 << 20, &text);
    if (!good)
        driver_error(tune->options, "cannot read '%s': %s", path, strerror(errno));
    int number = 0;
    for (const char *at = text.data; good && at && *at;) {
        size_t size = strcspn(at, "\n");
        const char *line = arena_substring(tune->arena, at, size);
        number++;
        if (line[0] != '#' && line[strspn(line, " ")])
            good = add_line(tune, path, number, line);
        at += size + (at[size] == '\n');
    }
    buffer_free(&text);
    return good;
}
