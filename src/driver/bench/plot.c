/* Results of `tilecc bench` as a picture (SVG): how near each call comes to what copies and tensor cores allow, over the
 * values of the first name of a sweep or one call beside the other; and the roofline (S. Williams, A. Waterman,
 * D. Patterson, 2009), where operations are counted. */
#include "driver/bench/bench.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 640, HEIGHT = 400, LEFT = 70, RIGHT = 20, TOP = 40, BOTTOM = 60 };

struct axis {
    double low, high;
    bool logarithmic;
};

static double place(const struct axis *axis, double value, double from, double to)
{
    double low = axis->logarithmic ? log2(axis->low) : axis->low,
           high = axis->logarithmic ? log2(axis->high) : axis->high;
    double at = axis->logarithmic ? log2(value) : value;
    return high > low ? from + (to - from) * (at - low) / (high - low) : (from + to) / 2;
}

static double across(const struct axis *axis, double value) { return place(axis, value, LEFT, WIDTH - RIGHT); }
static double upward(const struct axis *axis, double value) { return place(axis, value, HEIGHT - BOTTOM, TOP); }

/* As XML has it, which knows no control characters. */
static void put_words(struct buffer *out, const char *text)
{
    for (const char *at = text; *at; at++)
        if (*at == '<' || *at == '&')
            buffer_puts(out, *at == '<' ? "&lt;" : "&amp;");
        else
            buffer_putc(out, (unsigned char)*at < ' ' ? ' ' : *at);
}

static void put_text(struct buffer *out, double x, double y, const char *anchor, const char *text)
{
    buffer_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    put_words(out, text);
    buffer_puts(out, "</text>\n");
}

static void put_line(struct buffer *out, double x0, double y0, double x1, double y1, const char *style)
{
    buffer_printf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x0, y0, x1, y1, style);
}

static const char grid_style[] = "stroke=\"#ddd\"", axis_style[] = "stroke=\"#333\"", bound_style[] = "stroke=\"#b44\"";

static void put_point(struct buffer *out, double x, double y, const char *title)
{
    buffer_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"#26a\"><title>", x, y);
    put_words(out, title);
    buffer_puts(out, "</title></circle>\n");
}

static void begin_panel(struct buffer *out, int number, const char *title, const char *below)
{
    buffer_printf(out, "<g transform=\"translate(0 %d)\">\n", number * HEIGHT);
    put_text(out, (LEFT + WIDTH - RIGHT) / 2.0, TOP - 16, "middle", title);
    put_text(out, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 12, "middle", below);
    put_line(out, LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT, HEIGHT - BOTTOM, axis_style);
    put_line(out, LEFT, TOP, LEFT, HEIGHT - BOTTOM, axis_style);
}

static bool has_result(const struct bench_call *call) { return !call->failed && call->samples.count; }

/* Where a call stands in the sweep. */
static double step_of(const struct bench *bench, int number)
{
    const struct bench_call *call = &bench->calls[number];
    return call->name_count ? (double)call->names[0].value : number + 1;
}

static struct axis axis_of_steps(const struct bench *bench)
{
    struct axis axis = {step_of(bench, 0), step_of(bench, 0), false};
    for (int i = 0; i < bench->call_count; i++) {
        axis.low = fmin(axis.low, step_of(bench, i));
        axis.high = fmax(axis.high, step_of(bench, i));
    }
    axis.logarithmic = axis.low > 0 && axis.high > 8 * axis.low;
    return axis;
}

/* Per cent of the bound, of calls that have one. */
static void put_sweep(struct buffer *out, const struct bench *bench)
{
    struct axis x = axis_of_steps(bench), y = {0, 100, false};
    begin_panel(out, 0, "per cent of what copies and tensor cores allow",
                bench->calls[0].name_count ? bench->calls[0].names[0].name : "call");
    for (int part = 0; part <= 100; part += 20) {
        char text[16];
        snprintf(text, sizeof text, "%d %%", part);
        put_line(out, LEFT, upward(&y, part), WIDTH - RIGHT, upward(&y, part), part == 100 ? bound_style : grid_style);
        put_text(out, LEFT - 8, upward(&y, part) + 4, "end", text);
    }
    for (int i = 0; i < bench->call_count; i++) {
        const struct bench_call *call = &bench->calls[i];
        double bound = bench_bound(bench, call);
        char text[32];
        if (!has_result(call) || bound <= 0)
            continue;
        put_point(out, across(&x, step_of(bench, i)), upward(&y, fmin(100, bound / bench_median(&call->samples) * 100)),
                  call->text);
        snprintf(text, sizeof text, "%.0f", step_of(bench, i));
        put_text(out, across(&x, step_of(bench, i)), HEIGHT - BOTTOM + 18, "middle", text);
    }
    buffer_puts(out, "</g>\n");
}

/* The peak of tensor cores in TFLOP/s; 0: not known. */
static double peak_of(const struct bench *bench)
{
    double rate = 0;
    for (int i = 0; i < bench->call_count; i++)
        rate = fmax(rate, bench->calls[i].rate);
    return rate * bench->processors * bench->megahertz / 1e6;
}

static void put_roofline(struct buffer *out, const struct bench *bench)
{
    double peak = peak_of(bench), slope = bench->copy / 1e12; /* TFLOP/s at one operation a byte */
    struct axis x = {0.25, 4096, true}, y = {slope / 4, fmax(peak, slope * 4096) * 1.25, true};
    if (peak > 0)
        y.high = peak * 2;
    begin_panel(out, 1, "TFLOP/s over operations a byte", "operations a byte");
    double knee = peak > 0 ? fmin(peak / slope, x.high) : x.high;
    put_line(out, across(&x, x.low), upward(&y, slope * x.low), across(&x, knee), upward(&y, slope * knee),
             bound_style);
    if (peak > 0)
        put_line(out, across(&x, knee), upward(&y, peak), across(&x, x.high), upward(&y, peak), bound_style);
    for (double tick = 1; tick <= 4096; tick *= 8) {
        char text[16];
        snprintf(text, sizeof text, "%.0f", tick);
        put_text(out, across(&x, tick), HEIGHT - BOTTOM + 18, "middle", text);
    }
    for (double tick = exp2(ceil(log2(y.low))); tick <= y.high; tick *= 8) {
        char text[16];
        snprintf(text, sizeof text, "%.3g", tick);
        put_line(out, LEFT, upward(&y, tick), WIDTH - RIGHT, upward(&y, tick), grid_style);
        put_text(out, LEFT - 8, upward(&y, tick) + 4, "end", text);
    }
    for (int i = 0; i < bench->call_count; i++) {
        const struct bench_call *call = &bench->calls[i];
        if (!has_result(call) || call->operations <= 0 || call->bytes <= 0)
            continue;
        double intensity = fmin(fmax(call->operations / call->bytes, x.low), x.high);
        double reached = fmax(call->operations / bench_median(&call->samples) / 1000, y.low);
        put_point(out, across(&x, intensity), upward(&y, fmin(reached, y.high)), call->text);
    }
    buffer_puts(out, "</g>\n");
}

void bench_put_plot(struct buffer *out, const struct bench *bench)
{
    int panels = bench->options->bench_operations && bench->copy > 0 ? 2 : 1;
    buffer_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
                  "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                  WIDTH, panels * HEIGHT + 20);
    put_sweep(out, bench);
    if (panels > 1)
        put_roofline(out, bench);
    put_text(out, 10, panels * HEIGHT + 10, "start", bench->device);
    buffer_puts(out, "</svg>\n");
}
