/* Pictures of tilecc bench where the device tells little, and of calls whose text XML would read. */
#include "driver/bench/bench.h"

#include <string.h>

static int failures;
#define CHECK(condition) \
    ((condition) ? (void)0 : (void)(failures++, fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition)))

static void draw(struct arena *arena, double copy, struct buffer *out)
{
    struct options options = {.arena = arena, .bench_operations = "N"};
    double times[] = {1000, 2000};
    struct bench_call call = {.text = "f(<&\x01)", .samples = {2, times}, .bytes = 8, .operations = 4};
    struct bench bench = {
        .options = &options, .arena = arena, .calls = &call, .call_count = 1, .device = "a < b & c", .copy = copy};
    bench_put_plot(out, &bench);
}

int main(void)
{
    struct arena *arena = arena_create();
    struct buffer known = {0}, unknown = {0};
    draw(arena, 1e10, &known);
    CHECK(strstr(known.data, "operations a byte"));
    CHECK(strstr(known.data, "<title>f(&lt;&amp; )</title>"));
    CHECK(strstr(known.data, "a &lt; b &amp; c</text>"));
    CHECK(!strstr(known.data, "nan") && !strstr(known.data, "inf"));
    draw(arena, 0, &unknown); /* the copy failed: there is no roofline to draw */
    CHECK(!strstr(unknown.data, "operations a byte"));
    CHECK(!strstr(unknown.data, "nan") && !strstr(unknown.data, "inf"));
    buffer_free(&known);
    buffer_free(&unknown);
    arena_destroy(arena);
    return failures != 0;
}
