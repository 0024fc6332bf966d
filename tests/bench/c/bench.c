/* CPU code of kernels.tile beside loops.c: the same data, results compared with f64 first.
 *
 * A sample times enough calls for 50 microseconds.  A round takes samples of one side, then of the other, and keeps the
 * best of each: on a machine with other work that is the time without it.  Between the two the threads of both sides
 * get time to fall asleep, so that no side's waiting workers sit on the other's processors.  The ratio of a line is the
 * median over rounds of loop / ours.
 *
 *     bench [--json] [--rounds N] [--only KERNEL]      TILE_CPU_THREADS and OMP_NUM_THREADS say how many threads */
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
/* In the caches of the first and the second level, in the third, beyond; and extents that are no powers of two. */
static const struct shape shapes[] = {{2, 1024},   {16, 1024},   {64, 1024},   {256, 1024},  {64, 4096},
                                      {16, 16384}, {1000, 1000}, {4096, 1024}, {16384, 2048}};
enum { MOST_ROUNDS = 64 };
static const double sample_seconds = 50e-6, warm_seconds = 2e-3, side_seconds = 8e-3;
static const struct timespec pause_between = {.tv_nsec = 4000000};

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

typedef void runner(enum kernel kernel, const struct data *d);

static double time_of(runner *run, enum kernel kernel, const struct data *d, int calls)
{
    double start = now();
    for (int i = 0; i < calls; i++)
        run(kernel, d);
    return (now() - start) / calls;
}

/* The best sample of one side in one round. */
static double best_of(runner *run, enum kernel kernel, const struct data *d, int calls)
{
    nanosleep(&pause_between, NULL);
    double begin = now(), best = INFINITY;
    do /* threads awake, each with a processor; data where it will be */
        time_of(run, kernel, d, 1);
    while (now() - begin < warm_seconds);
    for (int samples = 0; samples < 3 || now() - begin < side_seconds; samples++) {
        double sample = time_of(run, kernel, d, calls);
        best = sample < best ? sample : best;
    }
    return best;
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

static void print_samples(const char *name, const double *samples, int count)
{
    printf(", \"%s\": [", name);
    for (int i = 0; i < count; i++)
        printf("%s%.9f", i ? ", " : "", samples[i]);
    printf("]");
}

static double measure(enum kernel kernel, struct data *d, int rounds, int json)
{
    double ours[MOST_ROUNDS], loops[MOST_ROUNDS], ratios[MOST_ROUNDS];
    double *row = malloc(sizeof *row * (size_t)d->shape.columns);
    int64_t elements = d->shape.rows * d->shape.columns;
    for (int64_t i = 0; i < elements; i++)
        d->y[i] = kernel == SAXPY ? 1.0f : NAN;
    run_ours(kernel, d);
    double error = error_of(kernel, d, row);
    free(row);
    int calls = 1;
    while (time_of(run_ours, kernel, d, calls) * calls < sample_seconds && calls < 1000)
        calls *= 2;
    for (int r = 0; r < rounds; r++) {
        if (r % 2)
            loops[r] = best_of(run_loop, kernel, d, calls);
        ours[r] = best_of(run_ours, kernel, d, calls);
        if (r % 2 == 0)
            loops[r] = best_of(run_loop, kernel, d, calls);
        ratios[r] = loops[r] / ours[r];
    }
    if (json) {
        printf("{\"kernel\": \"%s\", \"rows\": %lld, \"columns\": %lld, \"error\": %.3g", names[kernel],
               (long long)d->shape.rows, (long long)d->shape.columns, error);
        print_samples("ours", ours, rounds);
        print_samples("loop", loops, rounds);
        printf("}\n");
    }
    double ratio = median(ratios, rounds);
    if (!json)
        printf("%-10s %6lld x %-6lld %10.2f us %10.2f us   ratio %.2f (%.2f to %.2f)   error %.1e\n", names[kernel],
               (long long)d->shape.rows, (long long)d->shape.columns, 1e6 * median(ours, rounds),
               1e6 * median(loops, rounds), ratio, ratios[0], ratios[rounds - 1], error);
    if (!(error < 1e-5)) {
        fprintf(stderr, "%s: wrong result\n", names[kernel]);
        exit(1);
    }
    return ratio;
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
    rounds = rounds < 1 ? 1 : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds;
    setvbuf(stdout, NULL, _IOLBF, 0);
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
