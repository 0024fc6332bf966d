/* Calls the kernels of wrapper.tile on the CPU. */
#include "case.h"
#include "wrapper.h"

static float x[4096], y[4096], b[4096];
static int64_t n64[64];

static void optional(void)
{
    struct tile_f32_1 vx = tile_f32_1_row_major(x, 130), vb = tile_f32_1_row_major(b, 130),
                      vy = tile_f32_1_row_major(y, 130);
    int32_t seen = 0;
    struct tile_i32_1 vs = tile_i32_1_row_major(&seen, 1);
    for (int i = 0; i < 130; i++)
        x[i] = (float)i, b[i] = 1.0f;
    EXPECT_STATUS(wrapper_optional(TILE_CPU, &vx, &vb, &vy, &vs), TILE_OK, "");
    EXPECT(y[129] == 1300.0f && y[130] == 0.0f && seen == 7);
    EXPECT_STATUS(wrapper_optional(TILE_CPU, &vx, NULL, &vy, NULL), TILE_OK, "");
    EXPECT(y[129] == 129.0f);
    EXPECT_STATUS(wrapper_optional(TILE_CPU, NULL, NULL, &vy, NULL), TILE_ERR_ARG, "view x is NULL");
    vx.extent[0] = vy.extent[0] = 129;
    EXPECT_STATUS(wrapper_optional(TILE_CPU, &vx, NULL, &vy, NULL), TILE_ERR_ARG, "requires(N % 2 == 0) does not hold");
    EXPECT_STATUS(wrapper_optional(TILE_CPU, &vx, &vb, &vy, NULL), TILE_ERR_ARG, "extent 0 of b is 130, but N is 129");
}
static void extents(void)
{
    struct tile_f32_2 q = tile_f32_2_row_major(x, 2, 5), w = tile_f32_2_row_major(b, 17, 6),
                      out = tile_f32_2_row_major(y, 10, 6);
    EXPECT_STATUS(wrapper_extents(TILE_CPU, &q, &w, &out), TILE_OK, "");
    EXPECT(y[9 * 6 + 5] == 9005.0f && y[6] == 1000.0f);
    out.extent[0] = 11;
    EXPECT_STATUS(wrapper_extents(TILE_CPU, &q, &w, &out), TILE_ERR_ARG, "extent 0 of y is 11, but 2 * N is 10");
    out.extent[0] = 10, w.extent[1] = 5;
    EXPECT_STATUS(wrapper_extents(TILE_CPU, &q, &w, &out), TILE_ERR_ARG, "extent 1 of w is 5, but N + 1 is 6");
    w.extent[1] = 6, w.extent[0] = 24;
    EXPECT_STATUS(wrapper_extents(TILE_CPU, &q, &w, &out), TILE_ERR_ARG, "extent 0 of q is 2, but K / 8 is 3");
}
static void bound(void)
{
    struct tile_f32_1 vx = tile_f32_1_row_major(x, 8), vz = tile_f32_1_row_major(b, 12);
    struct tile_i64_1 out = tile_i64_1_row_major(n64, 2);
    EXPECT_STATUS(wrapper_bound(TILE_CPU, &vx, &vz, &out), TILE_OK, "");
    EXPECT(n64[0] == 7 && n64[1] == 3);
    vz.extent[0] = 13;
    EXPECT_STATUS(wrapper_bound(TILE_CPU, &vx, &vz, &out), TILE_ERR_ARG,
                  "extent 0 of z is 13, but it must be a multiple of 4");
    vz.extent[0] = 12, vx.extent[0] = 0;
    EXPECT_STATUS(wrapper_bound(TILE_CPU, &vx, &vz, &out), TILE_ERR_ARG, "makes n negative");
}
static void halves(void)
{
    static int8_t bytes[64], ones[64];
    struct tile_i8_2 w = tile_i8_2_row_major(bytes, 1, 4), vx = tile_i8_2_row_major(ones, 1, 8);
    struct tile_u8_2 v = {(uint8_t *)bytes, {1, 4}, {4, 1}};
    struct tile_i64_1 out = tile_i64_1_row_major(n64, 4);
    for (int i = 0; i < 64; i++)
        ones[i] = 1, bytes[i] = (int8_t)0x91; /* 1 and -7, or 1 and 9 */
    EXPECT_STATUS(wrapper_halves(TILE_CPU, &w, &v, &vx, &out), TILE_OK, "");
    EXPECT(n64[0] == 8 && n64[1] == 16 && n64[2] == 8 && n64[3] == 4 * -6 + 4 * 10);
    EXPECT_STATUS(wrapper_halves(TILE_CPU, &w, NULL, &vx, &out), TILE_OK, "");
    EXPECT(n64[2] == 8 && n64[3] == 4 * -6);
    vx.extent[1] = 9;
    EXPECT_STATUS(wrapper_halves(TILE_CPU, &w, NULL, &vx, &out), TILE_ERR_ARG, "extent 1 of x is 9, but K is 8");
    vx.extent[1] = 8, v.extent[1] = 8;
    EXPECT_STATUS(wrapper_halves(TILE_CPU, &w, &v, &vx, &out), TILE_ERR_ARG,
                  "extent 1 of v is 8 bytes of two elements, but K is 8");
    v.extent[1] = 4, w.stride[1] = 2;
    EXPECT_STATUS(wrapper_halves(TILE_CPU, &w, &v, &vx, &out), TILE_ERR_ARG, "the last stride must be 1");
    w.stride[1] = 1, w.stride[0] = 5;
    EXPECT_STATUS(wrapper_halves(TILE_CPU, &w, &v, &vx, &out), TILE_ERR_ARG, "requires(w.stride[0] % 8 == 0)");
}
static void derived(void)
{
    static const struct {
        int64_t columns, block;
    } rows[] = {{1, 16}, {16, 16}, {17, 64}, {256, 256}};
    struct tile_i64_1 out = tile_i64_1_row_major(n64, 3);
    for (int i = 0; i < 4096; i++)
        x[i] = 1.0f;
    for (int i = 0; i < 4; i++) {
        struct tile_f32_2 in = tile_f32_2_row_major(x, 3, rows[i].columns);
        EXPECT_STATUS(wrapper_derived(TILE_CPU, &in, &out), TILE_OK, "");
        EXPECT(n64[2] == rows[i].block + rows[i].columns);
    }
    struct tile_f32_2 wide = tile_f32_2_row_major(x, 3, 257);
    EXPECT_STATUS(wrapper_derived(TILE_CPU, &wide, &out), TILE_ERR_ARG,
                  "no member of B: {16, 64, 256} is at least N, which is 257");
}
static void above(void)
{
    static const struct {
        int64_t rows, keys;
        int e;
        int64_t b, c;
    } calls[] = {
        {8, 2, 2, 16, 8},   {9, 2, 5, 16, 1024},  {17, 2, 2, 128, 64}, {128, 2, 5, 128, 1024},
        {12, 3, 3, 24, 12}, {24, 3, 5, 24, 1024}, {25, 3, 3, 192, 96}, {192, 3, 5, 192, 1024},
    };
    struct tile_i64_1 out = tile_i64_1_row_major(n64, 4);
    struct tile_kernel_info info;
    struct tile_f32_2 in;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        in = tile_f32_2_row_major(x, calls[i].rows, calls[i].keys);
        EXPECT_STATUS(wrapper_above_f32(TILE_CPU, &in, &out, calls[i].e), TILE_OK, "");
        EXPECT(n64[0] == calls[i].b && n64[1] == calls[i].c && n64[2] == calls[i].e && n64[3] == calls[i].keys);
    }
    in = tile_f32_2_row_major(x, 193, 3);
    EXPECT_STATUS(wrapper_above_f32(TILE_CPU, &in, &out, 3), TILE_ERR_ARG,
                  "no member of B: {24, 192} where D is 3 is at least N, which is 193");
    in = tile_f32_2_row_major(x, 17, 2);
    EXPECT_STATUS(wrapper_above_f32(TILE_CPU, &in, &out, 3), TILE_ERR_ARG,
                  "E is 3, which is not in {2, 5} where D is 2");
    EXPECT_STATUS(wrapper_above_f32_query(TILE_CPU, &in, &out, 5, &info), TILE_OK, "");
    struct tile_f64_2 wide = tile_f64_2_row_major((double *)n64, 0, 2);
    EXPECT_STATUS(wrapper_above_f64(TILE_CPU, &wide, &out, 5), TILE_ERR_ARG,
                  "E is 5, which is not in {2, 6} where D is 2");
    EXPECT(info.value_count == 3 && info.values[0] == 128 && info.values[1] == 64 && info.values[2] == 2);
}
static void keyed(void)
{
    struct tile_f32_2 two = tile_f32_2_row_major(x, 3, 2), four = tile_f32_2_row_major(x, 3, 4),
                      three = tile_f32_2_row_major(x, 3, 3);
    struct tile_f32_1 out = tile_f32_1_row_major(y, 3);
    for (int i = 0; i < 12; i++)
        x[i] = 1.0f;
    EXPECT_STATUS(wrapper_keyed(TILE_CPU, &two, &out, TILE_ACT_NONE, 0), TILE_OK, "");
    EXPECT(y[2] == 2.0f);
    EXPECT_STATUS(wrapper_keyed(TILE_CPU, &four, &out, TILE_ACT_TWICE, 1), TILE_OK, "");
    EXPECT(y[2] == -8.0f);
    EXPECT_STATUS(wrapper_keyed(TILE_CPU, &three, &out, TILE_ACT_NONE, 0), TILE_ERR_ARG,
                  "D is 3, which is not in {2, 4}");
    EXPECT_STATUS(wrapper_keyed(TILE_CPU, &two, &out, 3, 0), TILE_ERR_ARG, "A is 3");
    EXPECT_STATUS(wrapper_keyed(TILE_CPU, &two, &out, TILE_ACT_NONE, -1), TILE_ERR_ARG, "NEG is -1");
}
static void strides(void)
{
    struct tile_f32_2 in = tile_f32_2_row_major(x, 5, 7), out = tile_f32_2_row_major(y, 5, 7);
    struct tile_kernel_info unit, free_;
    for (int i = 0; i < 64; i++)
        x[i] = (float)i;
    EXPECT_STATUS(wrapper_strides(TILE_CPU, &in, &out), TILE_OK, "");
    EXPECT(y[34] == 34.0f);
    EXPECT_STATUS(wrapper_strides_query(TILE_CPU, &in, &out, &unit), TILE_OK, "");
    in.stride[0] = 1, in.stride[1] = 5; /* column-major */
    EXPECT_STATUS(wrapper_strides(TILE_CPU, &in, &out), TILE_OK, "");
    EXPECT(y[1] == 5.0f && y[7] == 1.0f && y[34] == 34.0f);
    EXPECT_STATUS(wrapper_strides_query(TILE_CPU, &in, &out, &free_), TILE_OK, "");
    EXPECT(unit.variant != free_.variant && strstr(unit.variant_text, "x.stride[1] == 1") != NULL);
    /* by number: the one with the fact does not fit column-major views, the other fits both */
    EXPECT_STATUS(wrapper_strides_variant(TILE_CPU, &in, &out, unit.variant), TILE_ERR_ARG,
                  "(x.stride[1] == 1), does not fit");
    y[7] = -1.0f;
    EXPECT_STATUS(wrapper_strides_variant(TILE_CPU, &in, &out, free_.variant), TILE_OK, "");
    EXPECT(y[7] == 1.0f);
    in.stride[0] = 7, in.stride[1] = 1;
    EXPECT_STATUS(wrapper_strides_variant(TILE_CPU, &in, &out, free_.variant), TILE_OK, "");
    EXPECT(y[7] == 7.0f);
    in.stride[0] = 0, in.stride[1] = 0; /* one value everywhere */
    EXPECT_STATUS(wrapper_strides(TILE_CPU, &in, &out), TILE_OK, "");
    EXPECT(y[34] == 0.0f);
    out.stride[0] = 6;
    EXPECT_STATUS(wrapper_strides(TILE_CPU, &in, &out), TILE_ERR_ALIAS, "y is written and overlaps itself");
    out.stride[0] = 7, out.stride[1] = 2;
    EXPECT_STATUS(wrapper_strides(TILE_CPU, &in, &out), TILE_ERR_ARG, "the last stride must be 1");
}
static void scalars(void)
{
    double out[8] = {0};
    struct tile_f64_1 v = tile_f64_1_row_major(out, 8);
    EXPECT_STATUS(wrapper_scalars(TILE_CPU, -5, 65535, 1, 0.1f, 999, 2.5, 0.1f, 4, &v), TILE_ERR_ARG,
                  "k is 4, which is no member of its enum");
    EXPECT_STATUS(wrapper_scalars(TILE_CPU, -5, 65535, 1, 0.1f, 999, 2.5, 0.1f, TILE_ACT_NEGATE, &v), TILE_OK, "");
    EXPECT(out[0] == -5.0 && out[1] == 65535.0 && out[2] == 1.0 && out[3] == 0.0999755859375 && out[4] == 999.0);
    EXPECT(out[5] == 2.5 && out[6] == 0.10009765625 && out[7] == 3.0);
    EXPECT_STATUS(wrapper_scalars(TILE_CPU, 128, 0, 1, 0, 0, 2.5, 0, 0, &v), TILE_ERR_ARG, "a is 128");
    EXPECT_STATUS(wrapper_scalars(TILE_CPU, 0, 70000, 1, 0, 0, 2.5, 0, 0, &v), TILE_ERR_ARG, "b is 70000");
    EXPECT_STATUS(wrapper_scalars(TILE_CPU, 0, 0, 2, 0, 0, 2.5, 0, 0, &v), TILE_ERR_ARG, "c is 2");
    EXPECT_STATUS(wrapper_scalars(TILE_CPU, 0, 0, 0, 0, 0, 2.5, 0, 3, &v), TILE_ERR_ARG, "k is 3, which is no member");
    EXPECT_STATUS(wrapper_scalars(TILE_CPU, 0, 0, 0, 0, 0, 0.5, 0, 0, &v), TILE_ERR_ARG, "requires(f > 0.5)");
    EXPECT_STATUS(wrapper_scalars(TILE_CPU, 0, 0, 0, 0, 1000, 1.0, 0, 0, &v), TILE_ERR_ARG, "requires(e < 1000)");
    v.extent[0] = 7;
    EXPECT_STATUS(wrapper_scalars(TILE_CPU, 0, 0, 0, 0, 0, 1.0, 0, 0, &v), TILE_ERR_ARG,
                  "extent 0 of y is 7, but it must be 8");
}
static void order(void)
{
    int32_t count = 0;
    struct tile_i64_1 out = tile_i64_1_row_major(n64, 5);
    struct tile_i32_1 c = tile_i32_1_row_major(&count, 1);
    EXPECT_STATUS(wrapper_order(TILE_CPU, 70, 30, &out, &c), TILE_OK, "");
    EXPECT(n64[4] == 69 * 10000 + 2900 + 4 && count == 70 * 30 * 5);
    EXPECT_STATUS(wrapper_order(TILE_CPU, 0, 30, &out, &c), TILE_OK, "");
    EXPECT_STATUS(wrapper_order(TILE_CPU, INT64_MAX, 3, &out, &c), TILE_ERR_ARG, "does not fit 64 bits");
    EXPECT(count == 70 * 30 * 5);
}
static void pointer(void)
{
    struct tile_f32_1 one = tile_f32_1_row_major(x, 1);
    x[0] = 2.0f;
    for (int i = 0; i < 40; i++)
        y[i] = (float)i;
    EXPECT_STATUS(wrapper_pointer(TILE_CPU, y, 37, &one), TILE_OK, "");
    EXPECT(y[0] == 2.0f && y[36] == 38.0f && y[37] == 37.0f);
    EXPECT_STATUS(wrapper_pointer(TILE_CPU, (float *)((char *)y + 1), 37, &one), TILE_ERR_ARG,
                  "pointer p is not aligned");
    struct tile_kernel_info info; /* cdiv(-7, 16) is 0 */
    EXPECT_STATUS(wrapper_pointer_query(TILE_CPU, y, -7, &one, &info), TILE_OK, "");
    EXPECT(info.programs == 0);
}

int main(int count, char **arguments)
{
    static const struct test_case cases[] = {
        CASE(optional), CASE(extents), CASE(bound),   CASE(halves), CASE(derived), CASE(above),
        CASE(keyed),    CASE(strides), CASE(scalars), CASE(order),  CASE(pointer),
    };
    return run_cases(cases, (int)(sizeof cases / sizeof cases[0]), count > 1 ? arguments[1] : NULL);
}
