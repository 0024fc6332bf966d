/* CPU code of kernels.tile beside loops.c: same data, interleaved rounds, best of each round's repeats, median over
 * rounds.  Results are compared with f64 first.  Prints a table, and all samples as JSON with --json. bench [--json]
 * [--rounds N] [--only NAME]           TILE_CPU_THREADS and OMP_NUM_THREADS say how many threads */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels.h"
#include "loops.h"

enum kernel { SAXPY, SOFTMAX, LAYERNORM, GELU, KERNELS };
static const char *const names[KERNELS] = {"saxpy", "softmax", "layernorm", "gelu"};
struct shape {
    int64_t rows, columns;
};
static const struct shape shapes[] = {{256, 1024}, {64, 4096}, {16, 16384}, {4096, 1024}, {1000, 1000}};

struct data {
    struct shape shape;
    float *x, *y, *w, *b;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float random_float(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (float)(*state >> 40) / 8388608.0f - 1.0f;
}

static void run_ours(enum kernel kernel, const struct data *d)
{
    int64_t n = d->shape.rows * d->shape.columns;
    struct tile_f32_1 x1 = {d->x, {n}, {1}}, y1 = {d->y, {n}, {1}};
    struct tile_f32_2 x2 = {d->x, {d->shape.rows, d->shape.columns}, {d->shape.columns, 1}}, y2 = x2;
    struct tile_f32_1 w = {d->w, {d->shape.columns}, {1}}, b = {d->b, {d->shape.columns}, {1}};
    int status = 0;
    y2.data = d->y;
    switch (kernel) {
    case SAXPY: status = kernels_saxpy(TILE_CPU, 0.001f, &x1, &y1); break;
    case SOFTMAX: status = kernels_softmax(TILE_CPU, &x2, &y2); break;
    case LAYERNORM: status = kernels_layernorm(TILE_CPU, &x2, &w, &b, &y2, 1e-5f); break;
    case GELU: status = kernels_gelu(TILE_CPU, &x1, &y1); break;
    case KERNELS: break;
    }
    if (status) {
        fprintf(stderr, "%s: %s\n", names[kernel], tile_last_error());
        exit(1);
    }
}

static void run_loop(enum kernel kernel, const struct data *d)
{
    int64_t rows = d->shape.rows, columns = d->shape.columns;
    switch (kernel) {
    case SAXPY: loop_saxpy(rows * columns, 0.001f, d->x, d->y); break;
    case SOFTMAX: loop_softmax(rows, columns, d->x, d->y); break;
    case LAYERNORM: loop_layernorm(rows, columns, d->x, d->w, d->b, d->y, 1e-5f); break;
    case GELU: loop_gelu(rows * columns, d->x, d->y); break;
    case KERNELS: break;
    }
}

/* Largest error of our result against f64, relative to 1 + |value|. */
static double error_of(enum kernel kernel, struct data *d, double *row)
{
    double worst = 0.0;
    int64_t columns = d->shape.columns;
    for (int64_t r = 0; r < d->shape.rows; r++) {
        const float *x = d->x + r * columns;
        double largest = -INFINITY, sum = 0.0, squares = 0.0;
        for (int64_t i = 0; i < columns; i++) {
            largest = x[i] > largest ? x[i] : largest;
            sum += kernel == SOFTMAX ? 0.0 : (double)x[i];
        }
        double mean = sum / (double)columns;
        for (int64_t i = 0; i < columns; i++) {
            squares += ((double)x[i] - mean) * ((double)x[i] - mean);
            sum += kernel == SOFTMAX ? exp((double)x[i] - largest) : 0.0;
        }
        double scale = 1.0 / sqrt(squares / (double)columns + 1e-5f);
        for (int64_t i = 0; i < columns; i++) {
            double v = x[i];
            row[i] = kernel == SAXPY       ? 0.001f * v + 1.0
                     : kernel == SOFTMAX   ? exp(v - largest) / sum
                     : kernel == LAYERNORM ? (v - mean) * scale * d->w[i] + d->b[i]
                                           : 0.5 * v * (1.0 + tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)));
            double error = fabs((double)d->y[r * columns + i] - row[i]) / (1.0 + fabs(row[i]));
            worst = error > worst || error != error ? error : worst;
        }
    }
    return worst;
}

static double time_of(void (*run)(enum kernel, const struct data *), enum kernel kernel, const struct data *d,
                      int repeats)
{
    double start = now();
    for (int i = 0; i < repeats; i++)
        run(kernel, d);
    return (now() - start) / repeats;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *samples, int count)
{
    qsort(samples, (size_t)count, sizeof *samples, ascending);
    return samples[count / 2];
}

static double measure(enum kernel kernel, struct data *d, int rounds, int json)
{
    double ours[64], loops[64], *row = malloc(sizeof *row * (size_t)d->shape.columns);
    int64_t elements = d->shape.rows * d->shape.columns;
    for (int64_t i = 0; i < elements; i++)
        d->y[i] = kernel == SAXPY ? 1.0f : NAN;
    run_ours(kernel, d);
    double error = error_of(kernel, d, row);
    free(row);
    int repeats = 1;
    while (time_of(run_loop, kernel, d, repeats) * repeats < 0.02)
        repeats *= 2;
    for (int r = 0; r < rounds; r++) {
        if (r % 2) {
            loops[r] = time_of(run_loop, kernel, d, repeats);
            ours[r] = time_of(run_ours, kernel, d, repeats);
        } else {
            ours[r] = time_of(run_ours, kernel, d, repeats);
            loops[r] = time_of(run_loop, kernel, d, repeats);
        }
    }
    if (json) {
        printf("{\"kernel\": \"%s\", \"rows\": %lld, \"columns\": %lld, \"error\": %.3g, \"ours\": [", names[kernel],
               (long long)d->shape.rows, (long long)d->shape.columns, error);
        for (int r = 0; r < rounds; r++)
            printf("%s%.9f", r ? ", " : "", ours[r]);
        printf("], \"loop\": [");
        for (int r = 0; r < rounds; r++)
            printf("%s%.9f", r ? ", " : "", loops[r]);
        printf("]}\n");
    }
    double a = median(ours, rounds), b = median(loops, rounds);
    if (!json)
        printf("%-10s %6lld x %-6lld %10.1f us %10.1f us   ratio %.2f   error %.1e\n", names[kernel],
               (long long)d->shape.rows, (long long)d->shape.columns, 1e6 * a, 1e6 * b, b / a, error);
    if (!(error < 1e-5)) {
        fprintf(stderr, "%s: wrong result\n", names[kernel]);
        exit(1);
    }
    return b / a;
}

int main(int count, char **arguments)
{
    int json = 0, rounds = 7;
    const char *only = NULL;
    for (int i = 1; i < count; i++) {
        if (!strcmp(arguments[i], "--json"))
            json = 1;
        else if (!strcmp(arguments[i], "--rounds") && i + 1 < count)
            rounds = atoi(arguments[++i]);
        else if (!strcmp(arguments[i], "--only") && i + 1 < count)
            only = arguments[++i];
    }
    rounds = rounds < 1 ? 1 : rounds > 64 ? 64 : rounds;
    double least = INFINITY;
    if (!json)
        printf("%-10s %15s %13s %13s\n", "kernel", "rows x columns", "ours", "C loop");
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        struct data d = {.shape = shapes[s]};
        size_t elements = (size_t)(d.shape.rows * d.shape.columns);
        uint64_t state = 1;
        d.x = aligned_alloc(64, (elements * 4 + 63) / 64 * 64);
        d.y = aligned_alloc(64, (elements * 4 + 63) / 64 * 64);
        d.w = aligned_alloc(64, (size_t)(d.shape.columns * 4 + 63) / 64 * 64);
        d.b = aligned_alloc(64, (size_t)(d.shape.columns * 4 + 63) / 64 * 64);
        if (!d.x || !d.y || !d.w || !d.b)
            return 1;
        for (size_t i = 0; i < elements; i++)
            d.x[i] = 4.0f * random_float(&state);
        for (int64_t i = 0; i < d.shape.columns; i++) {
            d.w[i] = random_float(&state);
            d.b[i] = random_float(&state);
        }
        for (int k = 0; k < KERNELS; k++)
            if (!only || !strcmp(only, names[k])) {
                double ratio = measure((enum kernel)k, &d, rounds, json);
                least = ratio < least ? ratio : least;
            }
        free(d.x);
        free(d.y);
        free(d.w);
        free(d.b);
    }
    if (!json)
        printf("least ratio %.2f\n", least);
    return 0;
}
