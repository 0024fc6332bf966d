/* What the run time says of arguments, on the CPU, with descriptors written by hand. */
#include "case.h"
#include "kernels.h"

static float a_data[1024], b_data[1024];
static uint16_t halves[4096];

static struct view1 view1(void *data, int64_t extent, int64_t stride)
{
    struct view1 view = {data, {extent}, {stride}};
    return view;
}
static struct view2 view2(void *data, int64_t m, int64_t n, int64_t s0, int64_t s1)
{
    struct view2 view = {data, {m, n}, {s0, s1}};
    return view;
}

static int scale(struct view1 x, struct view1 y) { return launch_scale(TILE_CPU, 2.0f, &x, &y); }

static int rows(struct view2 x, struct view2 y)
{
    const void *arguments[2] = {&x, &y};
    return tile_rt_launch(&rows_kernel, TILE_CPU, arguments);
}

/* ---- scale ---- */

static void right_result(void)
{
    for (int64_t n = 1; n <= 1000; n += 111) {
        for (int i = 0; i < 1024; i++)
            a_data[i] = (float)i, b_data[i] = 1.0f;
        EXPECT(scale(view1(a_data, n, 1), view1(b_data, n, 1)) == TILE_OK);
        for (int i = 0; i < 1024; i++)
            EXPECT(b_data[i] == (i < n ? 2.0f * (float)i + 1.0f : 1.0f));
    }
}
static void null_view(void)
{
    struct view1 y = view1(b_data, 4, 1);
    EXPECT_STATUS(launch_scale(TILE_CPU, 1.0f, NULL, &y), TILE_ERR_ARG, "scale: view x is NULL");
    EXPECT_STATUS(launch_scale(TILE_CPU, 1.0f, &y, NULL), TILE_ERR_ARG, "view y is NULL");
}
static void null_data(void)
{
    EXPECT_STATUS(scale(view1(NULL, 4, 1), view1(b_data, 4, 1)), TILE_ERR_ARG, "data of view x is NULL");
}
static void empty(void)
{
    EXPECT_STATUS(scale(view1(NULL, 0, 1), view1(NULL, 0, 1)), TILE_OK, "");
    EXPECT_STATUS(scale(view1(a_data, 0, 0), view1(a_data, 0, 7)), TILE_OK, "");
}
static void misaligned(void)
{
    EXPECT_STATUS(scale(view1((char *)a_data + 2, 4, 1), view1(b_data, 4, 1)), TILE_ERR_ARG, "view x is not aligned");
    EXPECT_STATUS(scale(view1(a_data, 4, 1), view1((char *)b_data + 1, 4, 1)), TILE_ERR_ARG, "view y is not aligned");
    EXPECT_STATUS(scale(view1(a_data + 1, 4, 1), view1(b_data + 1, 4, 1)), TILE_OK, "");
}
static void negative_extent(void)
{
    EXPECT_STATUS(scale(view1(a_data, -1, 1), view1(b_data, -1, 1)), TILE_ERR_ARG,
                  "tile::view makes it -1 where memory has fewer elements than its extents need; the extent of "
                  "dimension 0 of view x is -1");
    EXPECT_STATUS(scale(view1(a_data, -2, 1), view1(b_data, -2, 1)), TILE_ERR_ARG,
                  "an extent must not be negative; the extent of dimension 0 of view x is -2");
}
static void huge_extent(void)
{
    EXPECT_STATUS(scale(view1(a_data, INT64_C(1) << 31, 1), view1(b_data, 4, 1)), TILE_ERR_ARG,
                  "must be below 2^31 unless `huge`; the extent of dimension 0 of view x is 2147483648");
    EXPECT_STATUS(scale(view1(a_data, (INT64_C(1) << 32) + 1, 1), view1(b_data, 4, 1)), TILE_ERR_ARG, "4294967297");
}
static void extents_differ(void)
{
    EXPECT_STATUS(scale(view1(a_data, 4, 1), view1(b_data, 5, 1)), TILE_ERR_ARG, "extent 0 of y is 5, but N is 4");
}
static void strides(void)
{
    EXPECT_STATUS(scale(view1(a_data, 4, 2), view1(b_data, 4, 1)), TILE_ERR_ARG,
                  "last stride must be 1 where a view is not declared `strided`; the stride");
    EXPECT_STATUS(scale(view1(a_data, 4, -1), view1(b_data, 4, 1)), TILE_ERR_ARG, "must not be negative");
    EXPECT_STATUS(scale(view1(a_data, 4, 0), view1(b_data, 4, 1)), TILE_ERR_ARG, "last stride must be 1");
    EXPECT_STATUS(scale(view1(a_data, 1, 9), view1(b_data, 1, 0)), TILE_OK, ""); /* one element: no stride is used */
}
static void overlap(void)
{
    EXPECT_STATUS(scale(view1(a_data, 8, 1), view1(a_data, 8, 1)), TILE_ERR_ALIAS,
                  "views x and y share elements; a kernel with the clause alias(x, y) takes one view as both");
    EXPECT_STATUS(scale(view1(a_data, 8, 1), view1(a_data + 7, 8, 1)), TILE_ERR_ALIAS, "x and y");
    EXPECT_STATUS(scale(view1(a_data + 7, 8, 1), view1(a_data, 8, 1)), TILE_ERR_ALIAS, "x and y");
    EXPECT_STATUS(scale(view1(a_data, 8, 1), view1(a_data + 8, 8, 1)), TILE_OK, "");
}

/* ---- rows ---- */

static void in_place(void)
{
    EXPECT_STATUS(rows(view2(halves, 8, 4, 4, 1), view2(halves, 8, 4, 4, 1)), TILE_OK, "");
    EXPECT_STATUS(rows(view2(halves, 8, 4, 4, 1), view2(halves + 4, 8, 4, 4, 1)), TILE_ERR_ALIAS, "not the same view");
    EXPECT_STATUS(rows(view2(halves, 8, 4, 4, 1), view2(halves, 8, 4, 8, 1)), TILE_ERR_ALIAS, "not the same view");
}
static void columns_apart(void)
{
    /* halves as [16, 12]: columns 0-3 and 4-7, then columns that meet */
    EXPECT_STATUS(rows(view2(halves, 16, 4, 12, 1), view2(halves + 4, 16, 4, 12, 1)), TILE_OK, "");
    EXPECT_STATUS(rows(view2(halves + 8, 16, 4, 12, 1), view2(halves + 4, 16, 4, 12, 1)), TILE_OK, "");
    EXPECT_STATUS(rows(view2(halves, 16, 4, 12, 1), view2(halves + 3, 16, 4, 12, 1)), TILE_ERR_ALIAS, "x and y");
    /* the last columns of a row and the first of the next */
    EXPECT_STATUS(rows(view2(halves + 10, 16, 4, 12, 1), view2(halves + 1, 16, 4, 12, 1)), TILE_ERR_ALIAS, "x and y");
    /* other strides: rows of x fall between rows of y */
    EXPECT_STATUS(rows(view2(halves, 4, 4, 24, 1), view2(halves + 6, 4, 4, 12, 1)), TILE_OK, "");
}
static void overlaps_itself(void)
{
    EXPECT_STATUS(rows(view2(halves + 2048, 4, 4, 4, 1), view2(halves, 4, 4, 0, 1)), TILE_ERR_ALIAS, "y is written");
    EXPECT_STATUS(rows(view2(halves + 2048, 4, 4, 4, 1), view2(halves, 4, 4, 3, 1)), TILE_ERR_ALIAS, "y is written");
    EXPECT_STATUS(rows(view2(halves + 2048, 4, 4, 0, 1), view2(halves, 4, 4, 4, 1)), TILE_OK, ""); /* x is only read */
}
static void derived_key(void)
{
    EXPECT_STATUS(rows(view2(halves, 2, 4, 4, 1), view2(halves, 2, 4, 4, 1)), TILE_OK, "");
    EXPECT_STATUS(rows(view2(halves, 2, 65, 65, 1), view2(halves, 2, 65, 65, 1)), TILE_ERR_ARG,
                  "no member of B: {4, 16, 64} is at least N, which is 65");
    /* 16 is a member, but the object has no code for it */
    EXPECT_STATUS(rows(view2(halves, 2, 5, 5, 1), view2(halves, 2, 5, 5, 1)), TILE_ERR_NO_IMAGE, "B=16");
    EXPECT_STATUS(rows(view2(halves, 2, 17, 17, 1), view2(halves, 2, 17, 17, 1)), TILE_OK, "");
}
static void query(void)
{
    struct view2 x = view2(halves, 3, 20, 20, 1);
    const void *arguments[2] = {&x, &x};
    struct tile_kernel_info info = {0};
    EXPECT_STATUS(tile_rt_query(&rows_kernel, TILE_CPU, arguments, &info), TILE_OK, "");
    EXPECT(strcmp(info.target, "cpu-baseline") == 0 && info.variant == 1 && info.programs == 3);
    EXPECT(info.value_count == 1 && strcmp(info.value_names[0], "B") == 0 && info.values[0] == 64);
    EXPECT(seen.calls == 0);
    EXPECT_STATUS(tile_rt_query(&rows_kernel, TILE_CPU, arguments, NULL), TILE_ERR_ARG, "tile_kernel_info");
}

/* ---- mixed ---- */

static int32_t p_data[300];
static double s_data[300];
static uint8_t h_data[16];
static struct {
    struct view2 p, s;
    struct view1 h;
    void *q;
    int e, b, c;
    int32_t i;
    uint32_t u;
    uint64_t w;
    float f;
    double g;
    int no_s;
} m;

static void good_mixed(void)
{
    m.p = view2(p_data, 6, 3, 3, 1);
    m.s = view2(s_data, 5, 8, 1, 16);
    m.h = view1(h_data, 16, 1);
    m.q = a_data;
    m.e = 2, m.b = 1, m.c = 5, m.i = -3, m.u = 65535, m.w = 8, m.f = 1.0f / 3.0f, m.g = 0.5, m.no_s = 0;
}
/* variant < 0: none is named */
static int mixed_variant(const struct tile_rt_kernel *kernel, int variant)
{
    const void *arguments[] = {&m.p, m.no_s ? NULL : &m.s, &m.h, &m.q, &m.e, &m.b, &m.i, &m.u, &m.w, &m.f, &m.g, &m.c};
    if (variant >= 0)
        return tile_rt_launch_variant(kernel, TILE_CPU, arguments, variant);
    return tile_rt_launch(kernel, TILE_CPU, arguments);
}
static int mixed_of(const struct tile_rt_kernel *kernel) { return mixed_variant(kernel, -1); }
static int mixed(void) { return mixed_of(&mixed_kernel); }

static void all_kinds(void)
{
    double g;
    good_mixed();
    EXPECT_STATUS(mixed(), TILE_OK, "");
    EXPECT(seen.programs == 5 * 3);
    EXPECT(seen.slots[0] == (uintptr_t)p_data && seen.slots[1] == 6 && seen.slots[2] == 3 && seen.slots[3] == 3 &&
           seen.slots[4] == 1);
    EXPECT(seen.slots[5] == (uintptr_t)s_data && seen.slots[8] == 1 && seen.slots[9] == 16);
    EXPECT(seen.slots[10] == (uintptr_t)h_data && seen.slots[13] == (uintptr_t)a_data);
    EXPECT(seen.slots[14] == 2 && seen.slots[15] == 1 && seen.slots[16] == 0xfd && seen.slots[17] == 65535);
    EXPECT(seen.slots[18] == 8 && seen.slots[19] == 0x3555);
    memcpy(&g, &seen.slots[20], sizeof g);
    EXPECT(g == 0.5);
    EXPECT(seen.slots[21] == 5 && seen.slots[22] == 3 && seen.slots[23] == 0);
}
static void absent_view(void)
{
    good_mixed();
    m.no_s = 1;
    EXPECT_STATUS(mixed(), TILE_OK, "");
    EXPECT(seen.programs == 1 * 3); /* s ? N : 1 */
    EXPECT(seen.slots[5] == 0 && seen.slots[6] == 5 && seen.slots[7] == 0 &&
           seen.slots[8] == 0); /* N, D bound by nothing */
    EXPECT_STATUS(mixed_of(&keyed_kernel), TILE_ERR_ARG, "E is 0, which is not in {2, 8}");
}
static void keys(void)
{
    good_mixed();
    m.c = 4;
    EXPECT_STATUS(mixed(), TILE_ERR_ARG, "C is 4, which is not in {1, 5}");
    m.c = 5;
    EXPECT_STATUS(mixed_variant(&mixed_kernel, 1), TILE_OK, "");
    EXPECT_STATUS(mixed_variant(&mixed_kernel, 0), TILE_ERR_ARG,
                  "variant 0 for cpu-baseline, general, does not fit these arguments: C is 5 and not 1");
    m.c = 1;
    EXPECT_STATUS(mixed_of(&keyed_kernel), TILE_OK, "");
    m.s = view2(s_data, 5, 4, 4, 1);
    EXPECT_STATUS(mixed_of(&keyed_kernel), TILE_ERR_ARG, "E is 4, which is not in {2, 8}");
}
static void scalars(void)
{
    good_mixed(), m.e = 3;
    EXPECT_STATUS(mixed(), TILE_ERR_ARG, "e is 3, which is no member of its enum");
    good_mixed(), m.e = -1;
    EXPECT_STATUS(mixed(), TILE_ERR_ARG, "e is -1");
    good_mixed(), m.e = 8;
    EXPECT_STATUS(mixed(), TILE_ERR_ARG, "e is 8");
    good_mixed(), m.e = 7;
    EXPECT_STATUS(mixed(), TILE_OK, "");
    good_mixed(), m.b = 2;
    EXPECT_STATUS(mixed(), TILE_ERR_ARG, "b is 2, outside 0 to 1");
    good_mixed(), m.i = 128;
    EXPECT_STATUS(mixed(), TILE_ERR_ARG, "i is 128, outside -128 to 127");
    good_mixed(), m.u = 65536;
    EXPECT_STATUS(mixed(), TILE_ERR_ARG, "u is 65536, outside 0 to 65535");
    good_mixed(), m.q = (char *)a_data + 1;
    EXPECT_STATUS(mixed(), TILE_ERR_ARG, "pointer q is not aligned");
}
static void requirements(void)
{
    good_mixed(), m.g = 0.0;
    EXPECT_STATUS(mixed(), TILE_ERR_ARG, "requires(g > 0.0) does not hold");
    good_mixed(), m.w = 100;
    EXPECT_STATUS(mixed(), TILE_ERR_ARG, "requires(w < 100) does not hold");
    good_mixed(), m.w = UINT64_MAX;
    EXPECT_STATUS(mixed(), TILE_ERR_ARG, "does not fit 64 bits");
    good_mixed(), m.g = 0.0 / (m.g - m.g); /* NaN */
    EXPECT_STATUS(mixed(), TILE_ERR_ARG, "requires(g > 0.0)");
}
static void packed(void)
{
    good_mixed(), m.p.stride[0] = 4;
    EXPECT_STATUS(mixed(), TILE_ERR_ARG, "must be packed");
    good_mixed(), m.p.extent[1] = 4, m.p.stride[0] = 4;
    EXPECT_STATUS(mixed(), TILE_ERR_ARG, "extent 1 of p is 4, but it must be 3");
    good_mixed(), m.p.extent[0] = 2, m.p.stride[0] = 4;
    EXPECT_STATUS(mixed(), TILE_ERR_ARG, "must be packed");
    good_mixed(), m.p.extent[0] = 0;
    EXPECT_STATUS(mixed(), TILE_ERR_ARG, "makes N negative");
}
static void huge_view(void)
{
    good_mixed();
    m.h = view1(h_data, INT64_C(1) << 33, 0); /* `huge`, but not strided */
    EXPECT_STATUS(mixed(), TILE_ERR_ARG, "last stride must be 1");
    m.h = view1(h_data, INT64_MAX, 1);
    EXPECT_STATUS(mixed(), TILE_ERR_ARG, "larger than memory");
    m.s = view2(s_data, 5, 8, INT64_MAX / 2, 1);
    m.h = view1(h_data, 16, 1);
    EXPECT_STATUS(mixed(), TILE_ERR_ARG, "larger than memory");
}

/* ---- huge ---- */

static int huge(int64_t i, int64_t j)
{
    const void *arguments[2] = {&i, &j};
    return tile_rt_launch(&huge_kernel, TILE_CPU, arguments);
}
static void grids(void)
{
    EXPECT_STATUS(huge(0, 5), TILE_OK, "");
    EXPECT_STATUS(huge(5, -5), TILE_OK, "");
    EXPECT_STATUS(huge(INT64_MAX, 0), TILE_OK, "");
    EXPECT(seen.calls == 0);
    EXPECT_STATUS(huge(INT64_C(1) << 40, INT64_C(1) << 40), TILE_ERR_ARG, "product of the grid");
    EXPECT_STATUS(huge(70000, 70000), TILE_OK, "");
    EXPECT(seen.programs == INT64_C(70000) * 70000);
}

/* ---- descriptors and environment ---- */

static void other_abi(void)
{
    struct tile_rt_kernel kernel = huge_kernel;
    int64_t i = 1;
    const void *arguments[2] = {&i, &i};
    kernel.abi = TILE_RT_ABI + 1;
    EXPECT_STATUS(tile_rt_launch(&kernel, TILE_CPU, arguments), TILE_ERR_ABI, "or a later one");
    EXPECT_STATUS(tile_rt_load(&kernel), TILE_ERR_ABI, "version");
    kernel.abi = TILE_RT_ABI;
    kernel.needs = 1u << 30;
    EXPECT_STATUS(tile_rt_launch(&kernel, TILE_CPU, arguments), TILE_ERR_ABI, "does not know yet (bits 40000000)");
    EXPECT_STATUS(tile_rt_load(&kernel), TILE_ERR_ABI, "or a later one");
}
static void no_cpu_code(void)
{
    struct tile_rt_kernel kernel = huge_kernel;
    int64_t i = 1;
    const void *arguments[2] = {&i, &i};
    kernel.target_count = 1;
    EXPECT_STATUS(tile_rt_launch(&kernel, TILE_CPU, arguments), TILE_ERR_NO_IMAGE, "the object holds sm_80");
}
static void isa_unknown(void)
{
    setenv("TILE_CPU_ISA", "sse9", 1);
    EXPECT_STATUS(huge(1, 1), TILE_ERR_ENVIRONMENT, "TILE_CPU_ISA=sse9");
}
static void isa_absent(void)
{
#if defined(__x86_64__)
    setenv("TILE_CPU_ISA", "neon", 1);
    EXPECT_STATUS(huge(1, 1), TILE_ERR_ENVIRONMENT, "this processor has no neon");
#endif
}
static void isa_forced(void)
{
    setenv("TILE_CPU_ISA", "baseline", 1);
    EXPECT_STATUS(huge(1, 1), TILE_OK, "");
}
static void threads_wrong(void)
{
    setenv("TILE_CPU_THREADS", "0", 1);
    EXPECT_STATUS(huge(1, 1), TILE_ERR_ENVIRONMENT, "TILE_CPU_THREADS=0");
}
static void variant_forced(void)
{
    struct view2 x = view2(halves, 2, 4, 4, 1);
    setenv("TILE_FORCE_VARIANT", "rows:1", 1);
    EXPECT_STATUS(rows(x, x), TILE_ERR_ENVIRONMENT, "does not fit");
    EXPECT_STATUS(huge(1, 1), TILE_OK, "");
    x = view2(halves, 2, 64, 64, 1);
    EXPECT_STATUS(rows(x, x), TILE_OK, "");
}
static void variant_forced_wrong(void)
{
    struct view2 x = view2(halves, 2, 4, 4, 1);
    setenv("TILE_FORCE_VARIANT", "rows:7", 1);
    EXPECT_STATUS(rows(x, x), TILE_ERR_ENVIRONMENT, "rows has 2 variants");
}
static void variant_form(void)
{
    struct view2 x = view2(halves, 2, 4, 4, 1);
    setenv("TILE_FORCE_VARIANT", "rows", 1);
    EXPECT_STATUS(rows(x, x), TILE_ERR_ENVIRONMENT, "kernel:number");
}
static void texts(void)
{
    EXPECT(tile_last_error()[0] == 0 && tile_last_cuda_error() == 0);
    for (int status = -1; status <= TILE_ERR_ENVIRONMENT + 1; status++)
        EXPECT(tile_strerror(status) != NULL && tile_strerror(status)[0] != 0);
    EXPECT_STATUS(tile_set_workspace(TILE_CPU, NULL, 8), TILE_ERR_ARG, "tile_set_workspace");
    uintptr_t whole = ((uintptr_t)halves + 255) / 256 * 256;
    EXPECT_STATUS(tile_set_workspace(TILE_CPU, (void *)(whole + 128), 8), TILE_ERR_ARG, "not a multiple of 256");
    EXPECT_STATUS(tile_set_workspace(TILE_CPU, (void *)whole, 8), TILE_OK, "");
}

/* Views that overlap by enumeration, against the run time's answer; one may have elements of two halves. */
static void overlap_by_enumeration(void)
{
    static uint8_t hit[2][400];
    unsigned seed = 1;
    for (int round = 0; round < 20000; round++) {
        int64_t n[2][5], touched = 0, wide[2] = {1 + (round % 3 == 1), 1 + (round % 3 == 2)};
        struct view2 v[2];
        for (int k = 0; k < 2; k++) {
            memset(hit[k], 0, sizeof hit[k]);
            for (int j = 0; j < 5; j++) {
                seed = seed * 1664525u + 1013904223u;
                n[k][j] = (seed >> 16) % (j < 2 ? 5u : j == 2 ? 20u : 9u) + (j < 2 ? 1u : 0u);
            }
            n[k][4] = 1;
            n[k][2] += wide[k] == 2 && (uintptr_t)(halves + n[k][2]) % 4 != 0;
            v[k] = view2(halves + n[k][2], n[k][0], n[k][1], n[k][3] + (k == 1 ? n[k][1] : 0), n[k][4]);
            for (int64_t i = 0; i < n[k][0]; i++)
                for (int64_t j = 0; j < n[k][1]; j++)
                    for (int64_t half = 0; half < wide[k]; half++)
                        hit[k][n[k][2] + wide[k] * (i * v[k].stride[0] + j) + half] = 1;
        }
        for (int i = 0; i < 400; i++)
            touched += hit[0][i] & hit[1][i];
        v[0].extent[0] = n[0][0];
        {
            struct tile_rt_parameter parameters[2] = {rows_parameters[0], rows_parameters[1]};
            static const struct tile_rt_expression free_extents[2] = {{-1, 0, ""}, {-1, 0, ""}};
            struct tile_rt_kernel kernel = rows_kernel;
            const void *arguments[2] = {&v[0], &v[1]};
            int status;
            for (int k = 0; k < 2; k++)
                parameters[k].type = wide[k] == 2 ? TILE_RT_TYPE_f32 : TILE_RT_TYPE_f16;
            parameters[0].extents = parameters[1].extents = free_extents;
            kernel.parameters = parameters;
            kernel.alias_count = 0;
            status = tile_rt_launch(&kernel, TILE_CPU, arguments);
            if (status == TILE_ERR_NO_IMAGE)
                status = TILE_OK;
            EXPECT(status == (touched ? TILE_ERR_ALIAS : TILE_OK));
            if (failures)
                return;
        }
    }
}

int main(int count, char **arguments)
{
    static const struct test_case cases[] = {

        CASE(right_result),
        CASE(null_view),
        CASE(null_data),
        CASE(empty),
        CASE(misaligned),
        CASE(negative_extent),
        CASE(huge_extent),
        CASE(extents_differ),
        CASE(strides),
        CASE(overlap),
        CASE(in_place),
        CASE(columns_apart),
        CASE(overlaps_itself),
        CASE(derived_key),
        CASE(query),
        CASE(all_kinds),
        CASE(absent_view),
        CASE(keys),
        CASE(scalars),
        CASE(requirements),
        CASE(packed),
        CASE(huge_view),
        CASE(grids),
        CASE(other_abi),
        CASE(no_cpu_code),
        CASE(isa_unknown),
        CASE(isa_absent),
        CASE(isa_forced),
        CASE(threads_wrong),
        CASE(variant_forced),
        CASE(variant_forced_wrong),
        CASE(variant_form),
        CASE(texts),
        CASE(overlap_by_enumeration),
    };
    return run_cases(cases, (int)(sizeof cases / sizeof cases[0]), count > 1 ? arguments[1] : NULL);
}
