/* What a C programmer writes first: one loop after the other, OpenMP over rows or elements.  Compiled by gcc
 * -O3 -march=native -fopenmp -fno-math-errno; the sum and maximum of a row say that their order does not matter. */
#include "loops.h"
#include <math.h>

void loop_saxpy(int64_t n, float a, const float *restrict x, float *restrict y)
{
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < n; i++)
        y[i] = a * x[i] + y[i];
}

void loop_softmax(int64_t rows, int64_t columns, const float *restrict x, float *restrict y)
{
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows; row++) {
        const float *in = x + row * columns;
        float *out = y + row * columns, largest = -INFINITY, sum = 0.0f;
#pragma omp simd reduction(max : largest)
        for (int64_t i = 0; i < columns; i++)
            largest = in[i] > largest ? in[i] : largest;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < columns; i++) {
            out[i] = expf(in[i] - largest);
            sum += out[i];
        }
        for (int64_t i = 0; i < columns; i++)
            out[i] /= sum;
    }
}

void loop_layernorm(int64_t rows, int64_t columns, const float *restrict x, const float *restrict w,
                    const float *restrict b, float *restrict y, float eps)
{
#pragma omp parallel for schedule(static)
    for (int64_t row = 0; row < rows; row++) {
        const float *in = x + row * columns;
        float *out = y + row * columns, sum = 0.0f, squares = 0.0f;
#pragma omp simd reduction(+ : sum)
        for (int64_t i = 0; i < columns; i++)
            sum += in[i];
        float mean = sum / (float)columns;
#pragma omp simd reduction(+ : squares)
        for (int64_t i = 0; i < columns; i++)
            squares += (in[i] - mean) * (in[i] - mean);
        float scale = 1.0f / sqrtf(squares / (float)columns + eps);
        for (int64_t i = 0; i < columns; i++)
            out[i] = (in[i] - mean) * scale * w[i] + b[i];
    }
}

void loop_gelu(int64_t n, const float *restrict x, float *restrict y)
{
#pragma omp parallel for simd schedule(static)
    for (int64_t i = 0; i < n; i++) {
        float v = x[i];
        y[i] = 0.5f * v * (1.0f + tanhf(0.7978845608028654f * (v + 0.044715f * v * v * v)));
    }
}
