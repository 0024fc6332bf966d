/* KernelBench level 1, matrix products: 1 to 18. */
#include "../judge.h"

#include <math.h>

#include "1_square.h"
#include "10_3d_tensor.h"
#include "11_4d_tensor.h"
#include "12_diagonal.h"
#include "13_symmetric.h"
#include "14_upper_triangular.h"
#include "15_lower_triangular.h"
#include "16_transposed_a.h"
#include "17_transposed_b.h"
#include "18_transposed_both.h"
#include "2_standard.h"
#include "3_batched.h"
#include "4_matrix_vector.h"
#include "5_matrix_scalar.h"
#include "6_large_k.h"
#include "7_small_k.h"
#include "8_irregular.h"
#include "9_tall_skinny.h"

static const float SCALAR = 3.14f;
/* Of f32: errors of rounding grow with the root of the number of terms; of sums of thousands this is what is left. */
static const double SUMS = 4e-6;

/* ---- calls ---- */

#define PRODUCT(kernel)                                                                         \
    static int call_##kernel(struct judge_case *c)                                              \
    {                                                                                           \
        return judge_##kernel(c->stream, judge_view(c, 0), judge_view(c, 1), judge_view(c, 2)); \
    }
PRODUCT(square)
PRODUCT(standard)
PRODUCT(batched)
PRODUCT(matrix_vector)
PRODUCT(small_k)
PRODUCT(irregular)
PRODUCT(tall_skinny)
PRODUCT(tensor_3d)
PRODUCT(tensor_4d)
PRODUCT(diagonal)
PRODUCT(symmetric)
PRODUCT(upper_triangular)
PRODUCT(lower_triangular)
PRODUCT(transposed_a)
PRODUCT(transposed_b)
PRODUCT(transposed_both)

static int call_matrix_scalar(struct judge_case *c)
{
    return judge_matrix_scalar(c->stream, judge_view(c, 0), SCALAR, judge_view(c, 1));
}

static int call_large_k(struct judge_case *c)
{
    int status = judge_large_k_zero(c->stream, judge_view(c, 2));
    return status ? status : judge_large_k(c->stream, judge_view(c, 0), judge_view(c, 1), judge_view(c, 2));
}

/* ---- what is wanted ---- */

/* The sum over k of a at row + k*a_step and b at column + k*b_step, k from `first` to `end`. */
static struct judge_value product(const struct judge_case *c, int64_t row, int64_t a_step, int64_t column,
                                  int64_t b_step, int64_t first, int64_t end)
{
    struct judge_value sum = {0, 0};
    for (int64_t k = first; k < end; k++) {
        double term = judge_element(c, 0, row + k * a_step) * judge_element(c, 1, column + k * b_step);
        sum.value += term;
        sum.size += fabs(term);
    }
    return sum;
}

static const int64_t *extent(const struct judge_case *c, int t) { return c->tensors[t].extent; }

static struct judge_value want_plain(const struct judge_case *c, const int64_t *at)
{
    int64_t depth = extent(c, 1)[0];
    return product(c, at[0] * depth, 1, at[1], extent(c, 1)[1], 0, depth);
}

/* What is left of the last two dimensions of a counts as more rows. */
static struct judge_value want_rows(const struct judge_case *c, const int64_t *at)
{
    int64_t depth = extent(c, 1)[0], row = 0;
    int rank = c->tensors[2].rank;
    for (int d = 0; d < rank - 1; d++)
        row = row * extent(c, 2)[d] + at[d];
    return product(c, row * depth, 1, at[rank - 1], extent(c, 1)[1], 0, depth);
}

static struct judge_value want_batched(const struct judge_case *c, const int64_t *at)
{
    int64_t depth = extent(c, 1)[1], columns = extent(c, 1)[2];
    return product(c, (at[0] * extent(c, 0)[1] + at[1]) * depth, 1, at[0] * depth * columns + at[2], columns, 0, depth);
}

static struct judge_value want_scaled(const struct judge_case *c, const int64_t *at)
{
    double value = judge_element(c, 0, at[0] * extent(c, 0)[1] + at[1]) * (double)SCALAR;
    return (struct judge_value){value, fabs(value)};
}

static struct judge_value want_diagonal(const struct judge_case *c, const int64_t *at)
{
    double value = judge_element(c, 0, at[0]) * judge_element(c, 1, at[0] * extent(c, 1)[1] + at[1]);
    return (struct judge_value){value, fabs(value)};
}

static struct judge_value want_transposed_a(const struct judge_case *c, const int64_t *at)
{
    return product(c, at[0], extent(c, 0)[1], at[1], extent(c, 1)[1], 0, extent(c, 0)[0]);
}

static struct judge_value want_transposed_b(const struct judge_case *c, const int64_t *at)
{
    int64_t depth = extent(c, 0)[1];
    return product(c, at[0] * depth, 1, at[1] * depth, 1, 0, depth);
}

static struct judge_value want_transposed_both(const struct judge_case *c, const int64_t *at)
{
    int64_t depth = extent(c, 0)[0];
    return product(c, at[0], extent(c, 0)[1], at[1] * depth, 1, 0, depth);
}

/* ---- rows ---- */

#define PLAIN "a:f32[m,k] b:f32[k,n] > c:f32[m,n]"
#define SQUARES "a:f32[n,n] b:f32[n,n] > c:f32[n,n]"

static const struct judge_problem problems[] = {
    {"1_Square_matrix_multiplication_", SQUARES, "n=4096", "n=77", call_square, want_plain, NULL, SUMS},
    {"2_Standard_matrix_multiplication_", PLAIN, "m=2048 k=8192 n=4096", "m=33 k=131 n=67", call_standard, want_plain,
     NULL, SUMS},
    {"3_Batched_matrix_multiplication", "a:f32[z,m,k] b:f32[z,k,n] > c:f32[z,m,n]", "z=128 m=512 k=1024 n=2048",
     "z=3 m=35 k=70 n=19", call_batched, want_batched, NULL, SUMS},
    {"4_Matrix_vector_multiplication_", PLAIN, "m=2048 k=1048576 n=1", "m=21 k=5003 n=1", call_matrix_vector,
     want_plain, NULL, SUMS},
    {"5_Matrix_scalar_multiplication", "a:f32[m,n] > c:f32[m,n]", "m=65536 n=16384", "m=13 n=1027", call_matrix_scalar,
     want_scaled, NULL, 1e-7},
    {"6_Matmul_with_large_K_dimension_", PLAIN, "m=256 k=524288 n=256", "m=31 k=4999 n=17", call_large_k, want_plain,
     NULL, SUMS},
    {"7_Matmul_with_small_K_dimension_", PLAIN, "m=32768 k=64 n=32768", "m=141 k=7 n=99", call_small_k, want_plain,
     NULL, SUMS},
    {"8_Matmul_with_irregular_shapes_", PLAIN, "m=8205 k=2949 n=5921", "m=82 k=29 n=59", call_irregular, want_plain,
     NULL, SUMS},
    {"9_Tall_skinny_matrix_multiplication_", "a:f32[m,n] b:f32[n,m] > c:f32[m,m]", "m=32768 n=32", "m=133 n=5",
     call_tall_skinny, want_plain, NULL, SUMS},
    {"10_3D_tensor_matrix_multiplication", "a:f32[z,m,k] b:f32[k,n] > c:f32[z,m,n]", "z=16 m=1024 k=2048 n=768",
     "z=2 m=37 k=51 n=41", call_tensor_3d, want_rows, NULL, SUMS},
    {"11_4D_tensor_matrix_multiplication", "a:f32[y,z,m,k] b:f32[k,n] > c:f32[y,z,m,n]", "y=8 z=256 m=512 k=256 n=768",
     "y=2 z=3 m=17 k=33 n=21", call_tensor_4d, want_rows, NULL, SUMS},
    {"12_Matmul_with_diagonal_matrices_", "a:f32[n] b:f32[n,m] > c:f32[n,m]", "n=4096 m=4096", "n=43 m=61",
     call_diagonal, want_diagonal, NULL, 1e-7},
    {"13_Matmul_for_symmetric_matrices", SQUARES, "n=4096", "n=79", call_symmetric, want_plain, NULL, SUMS},
    {"14_Matmul_for_upper_triangular_matrices", "a:f32[n,n]~upper b:f32[n,n]~upper > c:f32[n,n]", "n=4096", "n=201",
     call_upper_triangular, want_plain, NULL, SUMS},
    {"15_Matmul_for_lower_triangular_matrices", "a:f32[n,n]~lower b:f32[n,n]~lower > c:f32[n,n]", "n=4096", "n=201",
     call_lower_triangular, want_plain, NULL, SUMS},
    {"16_Matmul_with_transposed_A", "a:f32[k,m] b:f32[k,n] > c:f32[m,n]", "k=8192 m=2048 n=4096", "k=71 m=33 n=47",
     call_transposed_a, want_transposed_a, NULL, SUMS},
    {"17_Matmul_with_transposed_B", "a:f32[m,k] b:f32[n,k] > c:f32[m,n]", "k=8192 m=2048 n=4096", "k=71 m=33 n=47",
     call_transposed_b, want_transposed_b, NULL, SUMS},
    {"18_Matmul_with_transposed_both", "a:f32[k,m] b:f32[n,k] > c:f32[m,n]", "k=8192 m=2048 n=4096", "k=71 m=33 n=47",
     call_transposed_both, want_transposed_both, NULL, SUMS},
};
const struct judge_family judge_products = {problems, sizeof problems / sizeof *problems};
