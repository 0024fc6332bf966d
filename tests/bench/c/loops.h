/* The obvious C loops that the CPU code is compared with. */
#ifndef LOOPS_H
#define LOOPS_H
#include <stdint.h>
void loop_saxpy(int64_t n, float a, const float *restrict x, float *restrict y);
void loop_softmax(int64_t rows, int64_t columns, const float *restrict x, float *restrict y);
void loop_layernorm(int64_t rows, int64_t columns, const float *restrict x, const float *restrict w,
                    const float *restrict b, float *restrict y, float eps);
void loop_gelu(int64_t n, const float *restrict x, float *restrict y);
#endif
