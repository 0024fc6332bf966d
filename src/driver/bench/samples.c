/* Numbers from samples: what is typical, how far they spread, whether two runs differ. */
#include "driver/bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(double *sorted, int count, double part)
{
    double at = part * (count - 1);
    int low = (int)at, high = low + 1 < count ? low + 1 : low;
    return sorted[low] + (sorted[high] - sorted[low]) * (at - low);
}

void bench_add_samples(struct bench_samples *to, const struct bench_samples *from)
{
    for (int i = 0; i < from->count && to->count < BENCH_MOST_SAMPLES; i++)
        to->data[to->count++] = from->data[i];
}

static void sort_samples(double *sorted, const struct bench_samples *samples)
{
    memcpy(sorted, samples->data, sizeof *sorted * (size_t)samples->count);
    qsort(sorted, (size_t)samples->count, sizeof *sorted, compare_numbers);
}

double bench_quantile(const struct bench_samples *samples, double part)
{
    double sorted[BENCH_MOST_SAMPLES];
    sort_samples(sorted, samples);
    return quantile(sorted, samples->count, part);
}

double bench_median(const struct bench_samples *samples) { return bench_quantile(samples, 0.5); }

enum { RESAMPLINGS = 1000 };

/* The median of as many samples drawn from them, each time anew: by how often each was drawn. */
static double resampled_median(const double *sorted, int count, uint64_t *state)
{
    uint16_t times[BENCH_MOST_SAMPLES] = {0};
    for (int i = 0; i < count; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        times[(uint32_t)(*state >> 33) % (uint32_t)count]++;
    }
    int at = 0, seen = times[0];
    while (seen <= (count - 1) / 2)
        seen += times[++at];
    double low = sorted[at];
    while (seen <= count / 2)
        seen += times[++at];
    return low + (sorted[at] - low) * 0.5;
}

struct bench_ratio bench_compare(const struct bench_samples *now, const struct bench_samples *before)
{
    double ratios[RESAMPLINGS], here[BENCH_MOST_SAMPLES], there[BENCH_MOST_SAMPLES];
    uint64_t state = 1; /* the same result from the same samples */
    sort_samples(here, now);
    sort_samples(there, before);
    for (int i = 0; i < RESAMPLINGS; i++)
        ratios[i] = resampled_median(here, now->count, &state) / resampled_median(there, before->count, &state);
    qsort(ratios, RESAMPLINGS, sizeof *ratios, compare_numbers);
    return (struct bench_ratio){bench_median(now) / bench_median(before), quantile(ratios, RESAMPLINGS, 0.025),
                                quantile(ratios, RESAMPLINGS, 0.975)};
}

/* Two runs of one program differ by some tenths of a per cent, which samples of one run do not show. */
static const double least_change = 0.01;

bool bench_is_slower(struct bench_ratio r) { return r.low > 1 && r.ratio > 1 + least_change; }
bool bench_is_faster(struct bench_ratio r) { return r.high < 1 && r.ratio < 1 - least_change; }

double bench_bound(const struct bench *bench, const struct bench_call *call)
{
    double moving = bench->copy > 0 ? call->bytes / bench->copy * 1e9 : 0;
    double rate = call->rate * bench->processors * bench->megahertz * 1e6;
    double computing = call->operations > 0 && rate > 0 ? call->operations / rate * 1e9 : 0;
    return fmax(moving, computing);
}
