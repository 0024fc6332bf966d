/* Searches as a picture (SVG), a panel each: over seconds, the time of each order that was looked at, of those taken, and of
 * the best, by the original's. */
#include "driver/orders/orders.h"

#include <math.h>

enum { WIDTH = 640, HEIGHT = 260, LEFT = 70, RIGHT = 20, TOP = 36, BOTTOM = 44 };
static const double least_range = 0.01;

/* Half of what the panel shows on each side of the original. */
static double range_of(const struct orders_search *search)
{
    double range = least_range;
    for (int i = 0; i < search->points.count; i++)
        if (search->points.data[i].kind != POINT_LOOKED)
            range = fmax(range, 1.2 * fabs(search->points.data[i].ratio));
    return range;
}

static double across(const struct orders_search *search, double seconds)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * (search->clock > 0 ? seconds / search->clock : 0);
}

static double downward(double range, double ratio)
{
    double part = fmin(1, fmax(-1, ratio / range));
    return (TOP + HEIGHT - BOTTOM) / 2.0 - part * (HEIGHT - BOTTOM - TOP) / 2.0;
}

static void put_line(struct buffer *out, double x0, double y0, double x1, double y1, const char *color)
{
    buffer_printf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x0, y0, x1, y1,
                  color);
}

static void put_axes(struct buffer *out, const struct orders_search *search, double range)
{
    for (int i = -2; i <= 2; i++) {
        double ratio = range * i / 2, y = downward(range, ratio);
        put_line(out, LEFT, y, WIDTH - RIGHT, y, i ? "#ddd" : "#b44");
        buffer_printf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%+.2f %%</text>\n", LEFT - 8, y + 4,
                      100 * (exp(ratio) - 1));
    }
    buffer_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%.1f s; time by that of ptxas' order</text>\n",
                  (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, search->clock);
}

static void put_points(struct buffer *out, const struct orders_search *search, double range)
{
    static const char *const colors[] = {[POINT_LOOKED] = "#bbb", [POINT_TAKEN] = "#26a", [POINT_BEST] = "#2a2"};
    for (int kind = POINT_LOOKED; kind <= POINT_BEST; kind++)
        for (int i = 0; i < search->points.count; i++) {
            const struct orders_point *p = &search->points.data[i];
            if ((int)p->kind == kind)
                buffer_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%d\" fill=\"%s\"/>\n",
                              across(search, p->seconds), downward(range, p->ratio), kind == POINT_LOOKED ? 1 : 3,
                              colors[kind]);
        }
}

void orders_plot(struct buffer *out, int count, const struct orders_search *const *searches, const char *const *names)
{
    buffer_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
                  "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                  WIDTH, count * HEIGHT);
    for (int i = 0; i < count; i++) {
        double range = range_of(searches[i]);
        buffer_printf(out,
                      "<g transform=\"translate(0 %d)\">\n<text x=\"%d\" y=\"20\" text-anchor=\"middle\">%s</text>\n",
                      i * HEIGHT, (LEFT + WIDTH - RIGHT) / 2, names[i]);
        put_axes(out, searches[i], range);
        put_points(out, searches[i], range);
        buffer_puts(out, "</g>\n");
    }
    buffer_puts(out, "</svg>\n");
}
