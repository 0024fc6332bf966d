/* Results of `tilecc bench` as text: a line a call, and how it changed. */
#include "driver/bench/bench.h"

#include <string.h>

void bench_put_time(struct buffer *out, double nanoseconds)
{
    static const char *const units[] = {"ns", "us", "ms", "s "};
    int unit = 0;
    while (nanoseconds >= 1000 && unit < 3) {
        nanoseconds /= 1000;
        unit++;
    }
    buffer_printf(out, "%7.4g %s", nanoseconds, units[unit]);
}

static int widest(const struct bench *bench)
{
    int most = 4;
    for (int i = 0; i < bench->call_count; i++)
        most = (int)strlen(bench->calls[i].text) > most ? (int)strlen(bench->calls[i].text) : most;
    return most;
}

static void put_call(struct buffer *out, const struct bench *bench, const struct bench_call *call, int width,
                     bool counted)
{
    buffer_printf(out, "%-*s  ", width, call->text);
    if (call->failed) {
        buffer_printf(out, "failed: %s\n", call->failed);
        return;
    }
    double median = bench_median(&call->samples), bound = bench_bound(bench, call);
    bench_put_time(out, median);
    buffer_printf(out, "  %+5.1f %+5.1f %%  %8.1f", (bench_quantile(&call->samples, 0.1) / median - 1) * 100,
                  (bench_quantile(&call->samples, 0.9) / median - 1) * 100, call->bytes / median);
    if (counted)
        buffer_printf(out, "  %8.2f", call->operations / median / 1000);
    if (bound > 0)
        buffer_printf(out, "  %5.1f %%", bound / median * 100);
    else
        buffer_puts(out, "      - ");
    if (call->error >= 0)
        buffer_printf(out, "  %8.2g", call->error);
    else
        buffer_puts(out, "         -");
    if (call->megahertz > 0)
        buffer_printf(out, "  %4.0f MHz %3.0f W", call->megahertz, call->watts);
    buffer_putc(out, '\n');
}

void bench_put_table(struct buffer *out, const struct bench *bench)
{
    int width = widest(bench);
    bool counted = bench->options->bench_operations;
    buffer_printf(out, "%s%s%s, a copy moves %.1f GB/s%s\n", bench->device, bench->driver ? ", driver " : "",
                  bench->driver ? bench->driver : "", bench->copy / 1e9,
                  !bench->on_gpu               ? ""
                  : bench->options->bench_warm ? ", caches warm"
                                               : ", caches cold");
    buffer_printf(out, "%-*s    median       10 %%  90 %%        GB/s%s   bound     error\n", width, "call",
                  counted ? "   TFLOP/s" : "");
    for (int i = 0; i < bench->call_count; i++)
        put_call(out, bench, &bench->calls[i], width, counted);
}

static const struct bench_call *find_call(const struct bench *bench, const char *text)
{
    for (int i = 0; i < bench->call_count; i++)
        if (strcmp(bench->calls[i].text, text) == 0)
            return &bench->calls[i];
    return NULL;
}

/* True: it is slower. */
static bool put_change(struct buffer *out, const struct bench *bench, const struct bench_call *now,
                       const struct bench_call *then, int width)
{
    buffer_printf(out, "%-*s  ", width, now->text);
    if (!then) {
        buffer_printf(out, "was not measured: it is not in %s\n", bench->options->bench_against);
        return false;
    }
    if (then->failed || now->failed) {
        buffer_puts(out, then->failed ? "failed before\n" : "fails now\n");
        return !then->failed;
    }
    struct bench_ratio r = bench_compare(&now->samples, &then->samples);
    bool slower = bench_is_slower(r);
    buffer_printf(out, "%.3f of the time before (95 %%: %.3f to %.3f)%s\n", r.ratio, r.low, r.high,
                  slower               ? ": slower"
                  : bench_is_faster(r) ? ": faster"
                                       : "");
    return slower;
}

bool bench_put_changes(struct buffer *out, const struct bench *bench, const struct bench *before)
{
    int width = widest(bench), slower = 0;
    if (strcmp(bench->device, before->device) != 0)
        buffer_printf(out, "before: %s, which is another device\n", before->device);
    for (int i = 0; i < bench->call_count; i++)
        slower += put_change(out, bench, &bench->calls[i], find_call(before, bench->calls[i].text), width);
    for (int i = 0; i < before->call_count; i++)
        if (!find_call(bench, before->calls[i].text))
            buffer_printf(out, "%-*s  is in %s and was not measured now\n", width, before->calls[i].text,
                          bench->options->bench_against);
    return slower == 0;
}
