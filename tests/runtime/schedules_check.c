/* Which schedule a call takes, on the made-up driver: large products the default, long and narrow ones one that is split;
 * what functions of the object say is what its byte code says; and any of them runs where the caller names it. */
#include "case.h"
#include "fake_open.h"
#include "schedules.h"
#include "tile_rt.h"

static struct fake_context contexts[] = {{0, 11, 0}, {1, 12, 0}};
static struct fake_stream streams[] = {{&contexts[0], 0}, {&contexts[1], 0}};
static int device;      /* the second has fewer multiprocessors */
static int by_code;     /* the run time knows no functions */
static int takes_first; /* another kernel, whose functions say yes */

static int yes(const int64_t *names, int64_t multiprocessors, const uint64_t *slots)
{
    return (void)names, (void)multiprocessors, (void)slots, 1;
}

static const struct tile_rt_kernel *say_yes(const struct tile_rt_kernel *kernel)
{
    static struct tile_rt_kernel copy;
    static tile_rt_choice *choices[TILE_RT_MAX_FACTS];
    uint32_t i;
    copy = *kernel;
    for (i = 0; i < TILE_RT_MAX_FACTS; i++)
        choices[i] = yes;
    copy.choices = choices;
    return &copy;
}

int __real_tile_rt_query(const struct tile_rt_kernel *kernel, struct CUstream_st *where, const void *const *arguments,
                         struct tile_kernel_info *info);
int __wrap_tile_rt_query(const struct tile_rt_kernel *kernel, struct CUstream_st *where, const void *const *arguments,
                         struct tile_kernel_info *info);
int __wrap_tile_rt_query(const struct tile_rt_kernel *kernel, struct CUstream_st *where, const void *const *arguments,
                         struct tile_kernel_info *info)
{
    struct tile_rt_kernel copy = *kernel;
    struct tile_rt_expression facts[TILE_RT_MAX_FACTS];
    uint32_t i, functions = 0;
    if (takes_first)
        return __real_tile_rt_query(say_yes(kernel), where, arguments, info);
    if (!by_code)
        return __real_tile_rt_query(kernel, where, arguments, info);
    for (i = 0; i < kernel->fact_count; i++) {
        functions += kernel->facts[i].choice != 0 && kernel->facts[i].choice != TILE_RT_CHOICE_CODE;
        facts[i] = kernel->facts[i];
        facts[i].choice = 0;
    }
    EXPECT(functions >= 2);
    copy.facts = facts;
    copy.choices = NULL;
    return __real_tile_rt_query(&copy, where, arguments, info);
}

static int64_t value_of(const struct tile_kernel_info *info, const char *name)
{
    int i;
    for (i = 0; i < info->value_count; i++)
        if (strcmp(info->value_names[i], name) == 0)
            return info->values[i];
    return 0;
}

/* gap: of rows, in elements. */
static struct tile_kernel_info ask(int64_t m, int64_t n, int64_t k, int64_t gap)
{
    struct tile_bf16_2 a = {(tile_bf16 *)(uintptr_t)0x10000000, {m, k}, {k + gap, 1}};
    struct tile_bf16_2 b = {(tile_bf16 *)(uintptr_t)0x100000000000, {k, n}, {n + gap, 1}};
    struct tile_bf16_2 c = {(tile_bf16 *)(uintptr_t)0x200000000000, {m, n}, {n + gap, 1}};
    struct tile_kernel_info info;
    EXPECT_STATUS(schedules_product_query((struct CUstream_st *)&streams[device], &a, &b, &c, &info), TILE_OK, "");
    return info;
}

static void by_shape(void)
{
    int64_t gap;
    fake_open();
    for (gap = 0; gap < 2; gap++) {
        struct tile_kernel_info large = ask(8192, 8192, 8192, gap), longer = ask(256, 256, 16384, gap);
        EXPECT(value_of(&large, "BM") == 128 && value_of(&large, "BN") == 256 && value_of(&large, "split_k") == 0);
        EXPECT(strcmp(large.variant_text, longer.variant_text) != 0);
        EXPECT(value_of(&longer, "split_k") == 4 &&
               longer.programs == 4 * (256 / value_of(&longer, "BM")) * (256 / value_of(&longer, "BN")));
        EXPECT(strstr(large.variant_text, "when the modelled time of the default is least") != NULL);
    }
}

static void draw(uint64_t *random, int64_t extent[3])
{
    int d;
    for (d = 0; d < 3; d++) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        extent[d] = 1 + (int64_t)((*random >> 33) % (1u << (4 + (*random >> 60))));
    }
}

static void by_functions_and_code(void)
{
    uint64_t random = 1;
    int i, seen = 0;
    fake_open();
    for (i = 0; i < 2000; i++) {
        int64_t extent[3];
        int chosen;
        draw(&random, extent);
        by_code = 0;
        chosen = ask(extent[0], extent[1], extent[2], 1).variant;
        by_code = 1;
        EXPECT(ask(extent[0], extent[1], extent[2], 1).variant == chosen);
        by_code = 0;
        seen |= 1 << chosen;
    }
    EXPECT((seen & (seen - 1)) != 0); /* more than one */
}

static void same_as_code(const int64_t extent[3], int64_t gap)
{
    int chosen = ask(extent[0], extent[1], extent[2], gap).variant;
    EXPECT(ask(extent[0], extent[1], extent[2], gap).variant == chosen);
    by_code = 1;
    EXPECT(ask(extent[0], extent[1], extent[2], gap).variant == chosen);
    by_code = 0;
}

/* A thread remembers what functions have said of some calls: of this kernel, these extents, these strides and this many
 * multiprocessors, and a call that is another in one of them asks anew. */
static void again(void)
{
    uint64_t random = 7;
    int64_t extent[3], other[3];
    struct fake_cuda *cuda = fake_open();
    int i, d;
    cuda->architecture[1] = 90;
    cuda->multiprocessors[1] = 24;
    for (i = 0; i < 500; i++) {
        draw(&random, extent);
        draw(&random, other);
        for (d = 0; d < 3 && i % 2; d++)
            extent[d] = (extent[d] + 63) / 64 * 64; /* rows that a gap moves off lines */
        for (device = 0; device < 2; device++) {
            same_as_code(extent, 0);
            same_as_code(extent, 1);
            same_as_code(extent, 8);
            for (d = 0; d < 3; d++) {
                int64_t one[3] = {extent[0], extent[1], extent[2]};
                one[d] = other[d];
                same_as_code(one, 1);
            }
        }
        device = 0;
        takes_first = 1;
        d = ask(extent[0], extent[1], extent[2], 1).variant;
        takes_first = 0;
        EXPECT(d % 3 == 0); /* of either facts */
        same_as_code(extent, 1);
    }
}

static void by_name(void)
{
    struct tile_bf16_2 a = {(tile_bf16 *)(uintptr_t)0x10000000, {64, 64}, {65, 1}}, b = a, c = a;
    struct CUstream_st *where = (struct CUstream_st *)&streams[0];
    int general = ask(64, 64, 64, 1).variant / 3 * 3, i;
    struct fake_cuda *cuda = fake_open();
    b.data += 0x1000000;
    c.data += 0x2000000;
    cuda->slot_count = 29;
    cuda->base_slot = 28;
    for (i = 0; i < 3; i++)
        EXPECT_STATUS(schedules_product_variant(where, &a, &b, &c, general + i), TILE_OK, "");
    EXPECT_STATUS(schedules_product_variant(where, &a, &b, &c, 0), TILE_ERR_ARG, "does not fit");
}

int main(void)
{
    static const struct test_case cases[] = {CASE(by_shape), CASE(by_functions_and_code), CASE(again), CASE(by_name)};
    return run_cases(cases, 4, NULL);
}
