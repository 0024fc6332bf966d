/* Descriptors as tilecc would make them, written by hand, for tests of the run time.
 *
 *   scale(a: f32, x: in f32[N], y: inout f32[N])                 grid cdiv(N, 256); general and 16-byte variants
 *   rows<T>(x: in f16[M, N], y: out f16[M, N])                   alias(x, y), const(B: {4, 16, 64} >= N), grid M
 *   mixed(...)                                                   one parameter of every kind
 *   huge(i: i64, j: i64)                                         grid(i, j), no views
 *
 * The CPU code writes what it was given into `seen`. */
#ifndef TEST_KERNELS_H
#define TEST_KERNELS_H
#include "tile_rt.h"
#include <string.h>

#define OP(name, operand) TILE_RT_CODE(TILE_RT_OP_##name, operand)
#define COUNT(array) (uint32_t)(sizeof(array) / sizeof(array)[0])

static struct {
    uint64_t slots[64];
    int64_t programs, calls;
    char map[4096]; /* how often each program ran */
} seen;

static inline void run_and_record(const uint64_t *slots, int64_t begin, int64_t end, void *scratch)
{
    int64_t i;
    (void)scratch;
    __atomic_add_fetch(&seen.calls, 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&seen.programs, end - begin, __ATOMIC_RELAXED);
    for (i = begin; i < end && i < (int64_t)sizeof seen.map; i++)
        __atomic_add_fetch(&seen.map[i], 1, __ATOMIC_RELAXED);
    if (begin == 0)
        memcpy(seen.slots, slots, sizeof seen.slots);
}

/* y[i] += a * x[i], as the compiler's code would do it: slots a, x{3}, y{3}, grid, base */
static inline void run_scale(const uint64_t *slots, int64_t begin, int64_t end, void *scratch)
{
    uint32_t bits = (uint32_t)slots[0];
    float a;
    const float *x = (const float *)(uintptr_t)slots[1];
    float *y = (float *)(uintptr_t)slots[4];
    int64_t i, n = (int64_t)slots[2], last = end * 256 < n ? end * 256 : n;
    (void)scratch;
    memcpy(&a, &bits, sizeof a);
    for (i = begin * 256; i < last; i++)
        y[i] += a * x[i];
}

static const char cubin_80[64] = "cubin for sm_80", cubin_90a[64] = "cubin for sm_90a", cubin_90a_fast[64] = "aligned";

/* ---- scale ---- */
static const int32_t scale_code[] = {
    /* 0 N */ OP(name, 0),
    OP(end, 0),
    /* 2 cdiv(N, 256) */ OP(name, 0),
    OP(constant, 256),
    OP(ceiling_divide, 0),
    OP(end, 0),
    /* 6 x aligned and y aligned */ OP(aligned, 16 * 1 + 4),
    OP(jump_if_false, 2),
    OP(aligned, 16 * 2 + 4),
    OP(jump, 1),
    OP(constant, 0),
    OP(end, 0),
};
static const struct tile_rt_expression scale_extent[] = {{0, 0, "N"}};
static const struct tile_rt_parameter scale_parameters[] = {
    {.name = "a", .kind = TILE_RT_PARAMETER_scalar, .type = TILE_RT_TYPE_f32},
    {.name = "x",
     .kind = TILE_RT_PARAMETER_view,
     .type = TILE_RT_TYPE_f32,
     .rank = 1,
     .direction = TILE_RT_IN,
     .extents = scale_extent},
    {.name = "y",
     .kind = TILE_RT_PARAMETER_view,
     .type = TILE_RT_TYPE_f32,
     .rank = 1,
     .direction = TILE_RT_INOUT,
     .extents = scale_extent},
};
static const struct tile_rt_binder scale_binders[] = {{1, 0, 0, 1, 0}};
static const struct tile_rt_name scale_names[] = {
    {.text = "N", .kind = TILE_RT_NAME_extent, .binder_count = 1, .binders = scale_binders, .bound = {-1, 0, ""}},
};
static const struct tile_rt_expression scale_facts[] = {{6, 0, "x and y on 16 bytes"}};
static const int32_t scale_grid[] = {2};
static const char *const scale_value_names[] = {"B"};
static const int64_t scale_values[] = {256};
static struct tile_rt_state scale_states[4];
#define SCALE_COMMON .grid = scale_grid, .value_names = scale_value_names, .values = scale_values, .value_count = 1
static const struct tile_rt_variant scale_cpu[] = {
    {.function = run_scale, .text = "", .scratch_bytes = 1000, SCALE_COMMON},
};
static const struct tile_rt_variant scale_80[] = {
    {.state = &scale_states[0],
     .image = cubin_80,
     .image_size = 64,
     .symbol = "scale",
     .text = "",
     .threads = 128,
     .registers = 20,
     SCALE_COMMON},
};
static const struct tile_rt_variant scale_90a[] = {
    {.facts = 1,
     .state = &scale_states[1],
     .image = cubin_90a_fast,
     .image_size = 64,
     .symbol = "scale_fast",
     .text = "x and y on 16 bytes",
     .threads = 128,
     .dynamic_shared = 100000,
     .cluster = 2,
     .registers = 40,
     SCALE_COMMON},
    {.state = &scale_states[2],
     .image = cubin_90a,
     .image_size = 64,
     .symbol = "scale",
     .text = "",
     .threads = 256,
     .registers = 32,
     SCALE_COMMON},
};
static const struct tile_rt_target scale_targets[] = {
    {"cpu-baseline", TILE_RT_TARGET_cpu, TILE_RT_ISA_baseline, 0, 1, scale_cpu},
    {"sm_80", TILE_RT_TARGET_cuda, 80, 0, 1, scale_80},
    {"sm_90a", TILE_RT_TARGET_cuda, 90, 'a', 2, scale_90a},
};
#define SCALE_FIELDS                                                                                                  \
    .abi = TILE_RT_ABI, .parameter_count = COUNT(scale_parameters), .name_count = 1, .fact_count = 1, .grid_rank = 1, \
    .slot_count = 7, .parameters = scale_parameters, .names = scale_names, .facts = scale_facts, .code = scale_code
static const struct tile_rt_kernel scale_kernel = {
    SCALE_FIELDS, .target_count = 3, .name = "scale", .targets = scale_targets, .load_name = "scale_load",
};

struct view1 {
    void *data;
    int64_t extent[1], stride[1];
};
struct view2 {
    void *data;
    int64_t extent[2], stride[2];
};

static inline int launch_scale(struct CUstream_st *stream, float a, const struct view1 *x, const struct view1 *y)
{
    const void *arguments[3];
    arguments[0] = &a;
    arguments[1] = x;
    arguments[2] = y;
    return tile_rt_launch(&scale_kernel, stream, arguments);
}

/* ---- rows ---- */
static const int32_t rows_code[] = {
    /* 0 M */ OP(name, 0),
    OP(end, 0),
    /* 2 N */ OP(name, 1),
    OP(end, 0),
};
static const struct tile_rt_expression rows_extents[] = {{0, 0, "M"}, {2, 0, "N"}};
static const struct tile_rt_parameter rows_parameters[] = {
    {.name = "x",
     .kind = TILE_RT_PARAMETER_view,
     .type = TILE_RT_TYPE_f16,
     .rank = 2,
     .direction = TILE_RT_IN,
     .extents = rows_extents},
    {.name = "y",
     .kind = TILE_RT_PARAMETER_view,
     .type = TILE_RT_TYPE_f16,
     .rank = 2,
     .direction = TILE_RT_OUT,
     .extents = rows_extents},
};
static const struct tile_rt_binder rows_binders[] = {{0, 0, 0, 1, 0}, {0, 1, 0, 1, 0}};
static const int64_t rows_members[] = {4, 16, 64};
static const struct tile_rt_set rows_set = {-1, 3, rows_members, "{4, 16, 64}"};
static const struct tile_rt_name rows_names[] = {
    {.text = "M", .kind = TILE_RT_NAME_extent, .binder_count = 1, .binders = &rows_binders[0], .bound = {-1, 0, ""}},
    {.text = "N", .kind = TILE_RT_NAME_extent, .binder_count = 1, .binders = &rows_binders[1], .bound = {-1, 0, ""}},
    {.text = "B", .kind = TILE_RT_NAME_derived, .set_count = 1, .sets = &rows_set, .bound = {2, 0, "N"}},
};
static const uint32_t rows_keys[] = {2};
static const int32_t rows_grid[] = {0};
static const char *const rows_value_names[] = {"B"};
static const struct tile_rt_variant rows_cpu[] = {
    {.keys = &rows_members[0],
     .grid = rows_grid,
     .function = run_and_record,
     .text = "",
     .value_names = rows_value_names,
     .values = &rows_members[0],
     .value_count = 1},
    {.keys = &rows_members[2],
     .grid = rows_grid,
     .function = run_and_record,
     .text = "",
     .value_names = rows_value_names,
     .values = &rows_members[2],
     .value_count = 1},
};
static const struct tile_rt_target rows_targets[] = {
    {"cpu-baseline", TILE_RT_TARGET_cpu, TILE_RT_ISA_baseline, 0, 2, rows_cpu},
};
static const struct tile_rt_alias rows_aliases[] = {{0, 1}};
static const struct tile_rt_kernel rows_kernel = {
    .abi = TILE_RT_ABI,
    .parameter_count = 2,
    .name_count = 3,
    .key_count = 1,
    .alias_count = 1,
    .grid_rank = 1,
    .target_count = 1,
    .slot_count = 10,
    .name = "rows",
    .parameters = rows_parameters,
    .names = rows_names,
    .keys = rows_keys,
    .aliases = rows_aliases,
    .targets = rows_targets,
    .code = rows_code,
    .load_name = "rows_load",
};

/* ---- mixed ----
 * mixed(p: packed out i32[N + 1, 3], s: in? strided f64[N, D], h: in huge u8[L], q: *f32, e: act (3 members), b: bool,
 * i: i8, u: u16, w: u64, f: f16, g: f64) keys D: {2, 8} deduced, C: {1, 5} an argument requires(g > 0.0, w < 100)
 * grid(x: s ? N : 1, y: ilog2(w)) */
static const int32_t mixed_code[] = {
    /* 0 N + 1 */ OP(name, 0),
    OP(constant, 1),
    OP(add, 0),
    OP(end, 0),
    /* 4 3 */ OP(constant, 3),
    OP(end, 0),
    /* 6 N */ OP(name, 0),
    OP(end, 0),
    /* 8 D */ OP(name, 2),
    OP(end, 0),
    /* 10 L */ OP(name, 1),
    OP(end, 0),
    /* 12 g > 0.0 */ OP(wide, 0),
    0,
    0,
    OP(real, 10),
    OP(real_less, 0),
    OP(end, 0),
    /* 18 w < 100 */ OP(scalar, 8),
    OP(constant, 100),
    OP(less, 0),
    OP(end, 0),
    /* 22 s ? N : 1 */ OP(present, 1),
    OP(jump_if_false, 2),
    OP(name, 0),
    OP(jump, 1),
    OP(constant, 1),
    OP(end, 0),
    /* 28 ilog2(w) */ OP(scalar, 8),
    OP(log2, 0),
    OP(end, 0),
};
static const struct tile_rt_expression mixed_p[] = {{0, 0, "N + 1"}, {4, 0, "3"}},
                                       mixed_s[] = {{6, 0, "N"}, {8, 0, "D"}}, mixed_h[] = {{10, 0, "L"}};
static const int64_t mixed_e[] = {0, 1, 2, 7};
static const struct tile_rt_parameter mixed_parameters[] = {
    {.name = "p",
     .kind = TILE_RT_PARAMETER_view,
     .type = TILE_RT_TYPE_i32,
     .rank = 2,
     .direction = TILE_RT_OUT,
     .flags = TILE_RT_PACKED,
     .extents = mixed_p},
    {.name = "s",
     .kind = TILE_RT_PARAMETER_view,
     .type = TILE_RT_TYPE_f64,
     .rank = 2,
     .direction = TILE_RT_IN,
     .flags = TILE_RT_OPTIONAL | TILE_RT_STRIDED,
     .extents = mixed_s},
    {.name = "h",
     .kind = TILE_RT_PARAMETER_view,
     .type = TILE_RT_TYPE_u8,
     .rank = 1,
     .direction = TILE_RT_IN,
     .flags = TILE_RT_HUGE,
     .extents = mixed_h},
    {.name = "q", .kind = TILE_RT_PARAMETER_pointer, .type = TILE_RT_TYPE_f32},
    {.name = "e", .kind = TILE_RT_PARAMETER_enum, .members = 4, .values = mixed_e},
    {.name = "b", .kind = TILE_RT_PARAMETER_scalar, .type = TILE_RT_TYPE_bool},
    {.name = "i", .kind = TILE_RT_PARAMETER_scalar, .type = TILE_RT_TYPE_i8},
    {.name = "u", .kind = TILE_RT_PARAMETER_scalar, .type = TILE_RT_TYPE_u16},
    {.name = "w", .kind = TILE_RT_PARAMETER_scalar, .type = TILE_RT_TYPE_u64},
    {.name = "f", .kind = TILE_RT_PARAMETER_scalar, .type = TILE_RT_TYPE_f16},
    {.name = "g", .kind = TILE_RT_PARAMETER_scalar, .type = TILE_RT_TYPE_f64},
    {.name = "C", .kind = TILE_RT_PARAMETER_key, .name_index = 3},
};
static const struct tile_rt_binder mixed_binders[] = {{0, 0, 0, 1, 1}, {2, 0, 0, 1, 0}, {1, 1, 0, 1, 0}};
static const int64_t mixed_d[] = {2, 8}, mixed_c[] = {1, 5};
static const struct tile_rt_set mixed_d_set = {-1, 2, mixed_d, "{2, 8}"}, mixed_c_set = {-1, 2, mixed_c, "{1, 5}"};
static const struct tile_rt_name mixed_names[] = {
    {.text = "N", .kind = TILE_RT_NAME_extent, .binder_count = 1, .binders = &mixed_binders[0], .bound = {-1, 0, ""}},
    {.text = "L", .kind = TILE_RT_NAME_extent, .binder_count = 1, .binders = &mixed_binders[1], .bound = {-1, 0, ""}},
    {.text = "D", .kind = TILE_RT_NAME_extent, .binder_count = 1, .binders = &mixed_binders[2], .bound = {-1, 0, ""}},
    {.text = "C", .kind = TILE_RT_NAME_key, .set_count = 1, .sets = &mixed_c_set, .bound = {-1, 0, ""}},
    {.text = "E",
     .kind = TILE_RT_NAME_key,
     .binder_count = 1,
     .binders = &mixed_binders[2],
     .set_count = 1,
     .sets = &mixed_d_set,
     .bound = {-1, 0, ""}},
};
static const uint32_t mixed_keys[] = {3};
static const struct tile_rt_expression mixed_checks[] = {{12, 0, "g > 0.0"}, {18, 0, "w < 100"}};
static const int32_t mixed_grid[] = {22, 28};
static const struct tile_rt_variant mixed_cpu[] = {
    {.keys = &mixed_c[0], .grid = mixed_grid, .function = run_and_record, .text = ""},
    {.keys = &mixed_c[1], .grid = mixed_grid, .function = run_and_record, .text = "five"},
};
static const struct tile_rt_target mixed_targets[] = {
    {"cpu-baseline", TILE_RT_TARGET_cpu, TILE_RT_ISA_baseline, 0, 2, mixed_cpu},
};
/* Without the key E: with s absent no D is told. */
static const struct tile_rt_kernel mixed_kernel = {
    .abi = TILE_RT_ABI,
    .parameter_count = COUNT(mixed_parameters),
    .name_count = 4,
    .key_count = 1,
    .check_count = 2,
    .grid_rank = 2,
    .target_count = 1,
    .slot_count = 21,
    .name = "mixed",
    .parameters = mixed_parameters,
    .names = mixed_names,
    .keys = mixed_keys,
    .checks = mixed_checks,
    .targets = mixed_targets,
    .code = mixed_code,
    .load_name = "mixed_load",
};
/* With it. */
static const struct tile_rt_kernel keyed_kernel = {
    .abi = TILE_RT_ABI,
    .parameter_count = COUNT(mixed_parameters),
    .name_count = 5,
    .key_count = 1,
    .check_count = 2,
    .grid_rank = 2,
    .target_count = 1,
    .slot_count = 21,
    .name = "keyed",
    .parameters = mixed_parameters,
    .names = mixed_names,
    .keys = mixed_keys,
    .checks = mixed_checks,
    .targets = mixed_targets,
    .code = mixed_code,
    .load_name = "keyed_load",
};

/* ---- huge ---- */
static const int32_t huge_code[] = {OP(scalar, 0), OP(end, 0), OP(scalar, 1), OP(end, 0)};
static const struct tile_rt_parameter huge_parameters[] = {
    {.name = "i", .kind = TILE_RT_PARAMETER_scalar, .type = TILE_RT_TYPE_i64},
    {.name = "j", .kind = TILE_RT_PARAMETER_scalar, .type = TILE_RT_TYPE_i64},
};
static const int32_t huge_grid[] = {0, 2};
static struct tile_rt_state huge_states[1];
static const struct tile_rt_variant huge_80[] = {
    {.grid = huge_grid,
     .state = huge_states,
     .image = cubin_80,
     .image_size = 64,
     .symbol = "huge",
     .text = "",
     .threads = 32},
};
static const struct tile_rt_variant huge_cpu[] = {{.grid = huge_grid, .function = run_and_record, .text = ""}};
static const struct tile_rt_target huge_targets[] = {
    {"sm_80", TILE_RT_TARGET_cuda, 80, 0, 1, huge_80},
    {"cpu-baseline", TILE_RT_TARGET_cpu, TILE_RT_ISA_baseline, 0, 1, huge_cpu},
};
static const struct tile_rt_kernel huge_kernel = {
    .abi = TILE_RT_ABI,
    .parameter_count = 2,
    .grid_rank = 2,
    .target_count = 2,
    .slot_count = 2,
    .name = "huge",
    .parameters = huge_parameters,
    .targets = huge_targets,
    .code = huge_code,
    .load_name = "huge_load",
};
#endif
