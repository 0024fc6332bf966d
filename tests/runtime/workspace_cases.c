/* Memory of launches: what the call computes, who gives it, and what it is filled with.  Run by cuda.bats with the fake
 * libcuda.so.1 in LD_LIBRARY_PATH; the first argument picks the group: none, new (CUDA 13), old (CUDA 11). */
#include "case.h"
#include "fake_open.h"
#include "kernels.h"
#include <pthread.h>

static struct fake_cuda *cuda;
static struct fake_context context0 = {0, 11, 0}, context1 = {1, 22, 0};
static struct fake_stream stream0 = {&context0, 0}, stream1 = {&context1, 0}, stream2 = {&context0, 0};

static struct CUstream_st *cu(struct fake_stream *stream) { return (struct CUstream_st *)stream; }

/* n, and scratch(a: f64[2, n] = 1.0, free: f32[n], z: i32[n] = 0, w: u64[3] = 0, h: u16[n - 1] = 7, last: u8[n] = 0) */
static const int32_t code[] = {
    /* 0 */ OP(scalar, 0),   OP(end, 0),
    /* 2 */ OP(constant, 2), OP(end, 0),
    /* 4 */ OP(constant, 3), OP(end, 0),
    /* 6 */ OP(scalar, 0),   OP(constant, 1), OP(subtract, 0), OP(end, 0),
    /* 10 */ OP(scalar, 0),  OP(constant, 1), OP(minimum, 0),  OP(end, 0),
};
enum { A = 1, FREE = 6, Z = 9, W = 12, H = 15, LAST = 18, SLOTS = 21 };
static const struct tile_rt_scratch scratch[] = {
    {"a", TILE_RT_TYPE_f64, 2, 1, 0, A, UINT64_C(0x3ff0000000000000)},
    {"free", TILE_RT_TYPE_f32, 1, 0, 0, FREE, 0},
    {"z", TILE_RT_TYPE_i32, 1, 1, 0, Z, 0},
    {"w", TILE_RT_TYPE_u64, 1, 1, 0, W, 0},
    {"h", TILE_RT_TYPE_u16, 1, 1, 0, H, 7},
    {"last", TILE_RT_TYPE_u8, 1, 1, 0, LAST, 0},
};
static const int32_t extents[] = {2, 0, 0, 0, 4, 6, 0}, grid[] = {10};
static const struct tile_rt_parameter parameters[] = {
    {.name = "n", .kind = TILE_RT_PARAMETER_scalar, .type = TILE_RT_TYPE_i64}};

/* What the kernel saw on the processor. */
static struct {
    uint64_t slots[SLOTS];
    int calls, wrong;
} got;

static int is_filled(const uint64_t *slots)
{
    const double *a = (const double *)(uintptr_t)slots[A];
    const int32_t *z = (const int32_t *)(uintptr_t)slots[Z];
    const uint64_t *w = (const uint64_t *)(uintptr_t)slots[W];
    const uint16_t *h = (const uint16_t *)(uintptr_t)slots[H];
    const uint8_t *last = (const uint8_t *)(uintptr_t)slots[LAST];
    int64_t n = (int64_t)slots[0];
    int good = w[0] == 0 && w[2] == 0;
    for (int64_t i = 0; i < n; i++)
        good = good && a[i] == 1.0 && a[n + i] == 1.0 && z[i] == 0 && last[i] == 0 && (i == n - 1 || h[i] == 7);
    return good;
}
static int is_laid_out(const uint64_t *slots)
{
    int64_t n = (int64_t)slots[0];
    int good = slots[A + 1] == 2 && slots[A + 2] == (uint64_t)n && slots[A + 3] == (uint64_t)n && slots[A + 4] == 1;
    good = good && slots[FREE + 1] == (uint64_t)n && slots[H + 1] == (uint64_t)n - 1 && slots[W + 1] == 3;
    for (size_t i = 0; i < COUNT(scratch); i++)
        good = good && slots[scratch[i].slot] % 256 == 0;
    return good && slots[FREE] >= slots[A] + 16 * (uint64_t)n && slots[LAST] >= slots[H] + 2 * (uint64_t)n - 2;
}
static void see(const uint64_t *slots, int64_t begin, int64_t end, void *room)
{
    (void)begin, (void)end, (void)room;
    memcpy(got.slots, slots, sizeof got.slots);
    got.calls++;
    got.wrong += !is_filled(slots) || !is_laid_out(slots);
    memset((void *)(uintptr_t)slots[A], 0x77, 16 * (size_t)slots[0]); /* the next launch has it as it should be */
}

static struct tile_rt_state states[2];
static const struct tile_rt_variant on_processor[] = {{.grid = grid, .scratch = extents, .function = see, .text = ""}};
static const struct tile_rt_variant on_device[] = {{.grid = grid,
                                                    .scratch = extents,
                                                    .state = &states[0],
                                                    .image = cubin_90a,
                                                    .image_size = 64,
                                                    .symbol = "k",
                                                    .text = "",
                                                    .threads = 128}};
static const struct tile_rt_variant on_older[] = {{.grid = grid,
                                                   .scratch = extents,
                                                   .state = &states[1],
                                                   .image = cubin_80,
                                                   .image_size = 64,
                                                   .symbol = "k",
                                                   .text = "",
                                                   .threads = 128}};
static const struct tile_rt_target targets[] = {
    {"cpu-baseline", TILE_RT_TARGET_cpu, TILE_RT_ISA_baseline, 0, 1, on_processor},
    {"sm_80", TILE_RT_TARGET_cuda, 80, 0, 1, on_older},
    {"sm_90a", TILE_RT_TARGET_cuda, 90, 'a', 1, on_device}};
static const struct tile_rt_kernel kernel = {
    .abi = TILE_RT_ABI,
    .parameter_count = 1,
    .grid_rank = 1,
    .target_count = 3,
    .slot_count = SLOTS,
    .scratch_count = COUNT(scratch),
    .name = "k",
    .parameters = parameters,
    .scratch = scratch,
    .targets = targets,
    .code = code,
    .load_name = "k_load",
};

static int launch(struct CUstream_st *stream, int64_t n)
{
    const void *arguments[1];
    arguments[0] = &n;
    return tile_rt_launch(&kernel, stream, arguments);
}
static size_t need(struct CUstream_st *stream, int64_t n)
{
    const void *arguments[1];
    arguments[0] = &n;
    return tile_rt_workspace(&kernel, stream, arguments);
}
static void open_fake(void)
{
    cuda = fake_open();
    cuda->slot_count = SLOTS;
}

/* ---- on the processor ---- */

static void processor(void)
{
    EXPECT(need(TILE_CPU, 100) == 1792 + 512 + 512 + 256 + 256 + 256);
    EXPECT(need(TILE_CPU, 0) == 0 && need(TILE_CPU, -3) == 0);
    for (int64_t n = 1; n < 300; n += 37)
        EXPECT_STATUS(launch(TILE_CPU, n), TILE_OK, "");
    EXPECT(got.calls == 9 && got.wrong == 0);
    EXPECT_STATUS(launch(TILE_CPU, 0), TILE_OK, "");
    EXPECT(got.calls == 9);
    EXPECT_STATUS(launch(TILE_CPU, INT64_C(1) << 31), TILE_ERR_ARG, "extent 1 of scratch a would be 2147483648");
    EXPECT(need(TILE_CPU, INT64_C(1) << 31) == (size_t)-1);
}

static void *without_any(void *argument)
{
    (void)argument;
    EXPECT_STATUS(launch(TILE_CPU, 200), TILE_OK, "");
    return NULL;
}
/* What a thread gives is for its own launches. */
static void processor_given(void)
{
    static unsigned char room[8192] __attribute__((aligned(256)));
    pthread_t thread;
    EXPECT_STATUS(tile_set_workspace(TILE_CPU, room, need(TILE_CPU, 100)), TILE_OK, "");
    EXPECT_STATUS(launch(TILE_CPU, 100), TILE_OK, "");
    EXPECT(got.slots[A] == (uint64_t)(uintptr_t)room && got.wrong == 0);
    EXPECT_STATUS(launch(TILE_CPU, 200), TILE_ERR_ARG, "k: needs 6400 bytes of workspace, and tile_set_workspace gave");
    EXPECT(got.calls == 1);
    pthread_create(&thread, NULL, without_any, NULL);
    pthread_join(thread, NULL);
    EXPECT(got.calls == 2 && got.slots[A] != (uint64_t)(uintptr_t)room);
    EXPECT_STATUS(tile_set_workspace(TILE_CPU, NULL, 0), TILE_OK, "");
    EXPECT_STATUS(launch(TILE_CPU, 200), TILE_OK, "");
    EXPECT(got.calls == 3 && got.wrong == 0);
}
static void no_driver(void)
{
    EXPECT_STATUS(tile_set_workspace(NULL, NULL, 0), TILE_ERR_NO_DRIVER, "libcuda.so.1");
    EXPECT_STATUS(launch(NULL, 5), TILE_ERR_NO_DRIVER, "libcuda.so.1");
}

/* ---- on a device ---- */

static void pool(void)
{
    open_fake();
    for (int i = 0; i < 3; i++)
        EXPECT_STATUS(launch(cu(i == 1 ? &stream2 : &stream0), 100 + i), TILE_OK, "");
    EXPECT(cuda->launches == 3 && cuda->memories == 3 && cuda->freed == 3 && cuda->pools == 1);
    EXPECT(cuda->last.slots[A] == (uint64_t)(uintptr_t)cuda->memory[2]);
    EXPECT(is_filled(cuda->last.slots) && is_laid_out(cuda->last.slots));
    EXPECT(*(const unsigned *)(uintptr_t)cuda->last.slots[FREE] == 0xa5a5a5a5u); /* nobody touched it */
    EXPECT_STATUS(launch(cu(&stream1), 10), TILE_OK, "");
    EXPECT(cuda->pools == 2 && cuda->freed == 4 && is_filled(cuda->last.slots));
}
/* z and w are zeroed together, and a word of 64 bits whose halves differ takes two. */
static void fills(void)
{
    int (*calls)(const char *);
    open_fake();
    fake_find("fake_calls", &calls);
    EXPECT_STATUS(launch(cu(&stream0), 100), TILE_OK, "");
    EXPECT(calls("cuMemsetD2D32Async") == 2 && calls("cuMemsetD8Async") == 2 && calls("cuMemsetD16Async") == 1);
    EXPECT(calls("cuMemsetD32Async") == 0);
}
static void device_given(void)
{
    static unsigned char room[2][8192] __attribute__((aligned(256)));
    open_fake();
    EXPECT_STATUS(tile_set_workspace(cu(&stream0), room[0], sizeof room[0]), TILE_OK, "");
    EXPECT_STATUS(tile_set_workspace(cu(&stream1), room[1], sizeof room[1]), TILE_OK, "");
    EXPECT_STATUS(launch(cu(&stream0), 100), TILE_OK, "");
    EXPECT(cuda->last.slots[A] == (uint64_t)(uintptr_t)room[0] && is_filled(cuda->last.slots));
    EXPECT_STATUS(launch(cu(&stream1), 100), TILE_OK, "");
    EXPECT(cuda->last.slots[A] == (uint64_t)(uintptr_t)room[1] && is_filled(cuda->last.slots));
    EXPECT_STATUS(launch(cu(&stream0), 1000), TILE_ERR_ARG, "tile_set_workspace gave 8192");
    EXPECT(cuda->launches == 2 && cuda->memories == 0);
}
static void device_taken_back(void)
{
    static unsigned char room[8192] __attribute__((aligned(256)));
    open_fake();
    EXPECT_STATUS(tile_set_workspace(cu(&stream0), room, sizeof room), TILE_OK, "");
    EXPECT_STATUS(launch(cu(&stream2), 1000), TILE_OK, ""); /* another stream's launches do not use it */
    EXPECT(cuda->memories == 1);
    EXPECT_STATUS(tile_set_workspace(cu(&stream0), NULL, 0), TILE_OK, "");
    EXPECT_STATUS(launch(cu(&stream0), 1000), TILE_OK, "");
    EXPECT(cuda->memories == 2 && is_filled(cuda->last.slots));
}
/* Making the pool is allowed while another thread captures; the memory is the graph's then. */
static void capture(void)
{
    open_fake();
    EXPECT_STATUS(launch(cu(&stream0), 10), TILE_OK, "");
    cuda->global_capture = 1;
    stream1.capturing = 1;
    EXPECT_STATUS(launch(cu(&stream1), 10), TILE_OK, "");
    EXPECT(cuda->unsafe_in_capture == 0 && cuda->memories == 2 && cuda->freed == 2);
}
static void refuse(const char *function, int result, int status, const char *text, int freed)
{
    cuda->scripts[0] = (struct fake_script){function, 1, 1, result};
    cuda->script_count = 1;
    EXPECT_STATUS(launch(cu(&stream0), 10), status, text);
    EXPECT(cuda->launches == 0 && cuda->freed == freed);
    cuda->script_count = 0;
    EXPECT_STATUS(launch(cu(&stream0), 10), TILE_OK, "");
    EXPECT(is_filled(cuda->last.slots));
}
static void no_pool(void)
{
    open_fake(), refuse("cuMemPoolCreate", 801, TILE_ERR_DRIVER, "cuMemPoolCreate gives 801", 0);
}
/* A pool whose attribute cannot be set is none, and is not left behind. */
static void no_attribute(void)
{
    open_fake(), refuse("cuMemPoolSetAttribute", 801, TILE_ERR_DRIVER, "gives 801", 0);
    EXPECT(cuda->pools == 1);
}
/* Rows of streams that took their memory back are others', and each launch has its own stream's. */
static void device_rows(void)
{
    static unsigned char room[4][8192] __attribute__((aligned(256)));
    open_fake();
    for (int i = 0; i < 4; i++) {
        struct fake_stream *stream = i % 2 ? &stream2 : &stream0, *other = i % 2 ? &stream0 : &stream2;
        EXPECT_STATUS(tile_set_workspace(cu(stream), room[i], sizeof room[i]), TILE_OK, "");
        EXPECT_STATUS(launch(cu(stream), 100), TILE_OK, "");
        EXPECT(cuda->last.slots[A] == (uint64_t)(uintptr_t)room[i] && is_filled(cuda->last.slots));
        EXPECT_STATUS(launch(cu(other), 100), TILE_OK, "");
        EXPECT(cuda->last.slots[A] != (uint64_t)(uintptr_t)room[i] && is_filled(cuda->last.slots));
        EXPECT_STATUS(tile_set_workspace(cu(stream), NULL, 0), TILE_OK, "");
    }
    EXPECT(cuda->memories == 4);
    EXPECT_STATUS(tile_set_workspace((struct CUstream_st *)(uintptr_t)2, room[0], sizeof room[0]), TILE_ERR_ARG,
                  "CU_STREAM_PER_THREAD is another stream in each thread");
}
static void *launch_often(void *unused)
{
    for (int i = 0; i < 300; i++)
        EXPECT(launch(cu(&stream0), 100) == TILE_OK);
    return unused;
}
/* What fills given memory and the launch that has it are together in the stream, whoever else launches there. */
static void device_shared(void)
{
    static unsigned char room[8192] __attribute__((aligned(256)));
    pthread_t threads[4];
    open_fake();
    EXPECT_STATUS(tile_set_workspace(cu(&stream0), room, sizeof room), TILE_OK, "");
    for (int i = 0; i < 4; i++)
        EXPECT(pthread_create(&threads[i], NULL, launch_often, NULL) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    EXPECT(cuda->launches == 1200 && cuda->mixed == 0);
}
static void no_memory(void)
{
    open_fake(), refuse("cuMemAllocFromPoolAsync", 2, TILE_ERR_OOM, "cuMemAllocFromPoolAsync gives 2", 0);
}
static void no_memset(void) { open_fake(), refuse("cuMemsetD16Async", 719, TILE_ERR_CONTEXT_LOST, "cuMemset", 1); }
static void no_launch(void) { open_fake(), refuse("cuLaunchKernelEx", 1, TILE_ERR_DRIVER, "cuLaunchKernelEx", 1); }

static void old_driver(void)
{
    static unsigned char room[8192] __attribute__((aligned(256)));
    open_fake();
    EXPECT_STATUS(launch(cu(&stream0), 100), TILE_ERR_DRIVER, "call tile_set_workspace()");
    EXPECT_STATUS(tile_set_workspace(cu(&stream0), room, sizeof room), TILE_OK, "");
    EXPECT_STATUS(launch(cu(&stream0), 100), TILE_OK, "");
    EXPECT(cuda->last.slots[A] == (uint64_t)(uintptr_t)room && is_filled(cuda->last.slots));
}

int main(int count, char **arguments)
{
    static const struct test_case none[] = {CASE(processor), CASE(processor_given), CASE(no_driver)};
    static const struct test_case new[] = {
        CASE(pool),      CASE(fills),        CASE(device_given), CASE(device_taken_back),
        CASE(capture),   CASE(no_pool),      CASE(no_memory),    CASE(no_memset),
        CASE(no_launch), CASE(no_attribute), CASE(device_rows),  CASE(device_shared),
    };
    static const struct test_case old[] = {CASE(old_driver)};
    const char *group = count > 1 ? arguments[1] : "", *only = count > 2 ? arguments[2] : NULL;
    if (strcmp(group, "none") == 0)
        return run_cases(none, (int)(sizeof none / sizeof none[0]), only);
    if (strcmp(group, "new") == 0)
        return run_cases(new, (int)(sizeof new / sizeof new[0]), only);
    if (strcmp(group, "old") == 0)
        return run_cases(old, (int)(sizeof old / sizeof old[0]), only);
    return 2;
}
