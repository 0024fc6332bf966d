/* What the run time does with a driver: run by cuda.bats with the fake libcuda.so.1 in LD_LIBRARY_PATH.
 * The first argument picks the group: none (no driver), new (CUDA 13), old (CUDA 11). */
#include "case.h"
#include "fake_open.h"
#include "kernels.h"
#include <pthread.h>

static struct fake_cuda *cuda;
static void (*set_current)(struct fake_context *);
static struct fake_context *(*get_current)(void);
static int (*calls)(const char *);
static void (*fake_thread_report)(uint64_t);
static struct fake_context context0 = {0, 11, 0}, context1 = {1, 22, 0};
static struct fake_stream stream0 = {&context0, 0}, stream1 = {&context1, 0};

static float data[4][600];

static struct CUstream_st *cu(struct fake_stream *stream) { return (struct CUstream_st *)stream; }

static void open_fake(void)
{
    cuda = fake_open();
    fake_find("fake_set_current", &set_current);
    fake_find("fake_current", &get_current);
    fake_find("fake_calls", &calls);
    fake_find("fake_report", &fake_thread_report);
}

static void script(const char *function, int from, int count, int result)
{
    open_fake();
    cuda->scripts[cuda->script_count++] = (struct fake_script){function, from, count, result};
}

/* scale on 512 elements: 2 programs.  shift 1 takes the general variant. */
static int scale(struct fake_stream *stream, int shift)
{
    struct view1 x = {data[0] + shift, {512}, {1}}, y = {data[1] + shift, {512}, {1}};
    return launch_scale(cu(stream), 2.0f, &x, &y);
}
static int huge(struct fake_stream *stream, int64_t i, int64_t j)
{
    const void *arguments[2] = {&i, &j};
    return tile_rt_launch(&huge_kernel, cu(stream), arguments);
}
static int cpu_works(void)
{
    struct view1 x = {data[2], {512}, {1}}, y = {data[3], {512}, {1}};
    data[2][7] = 3.0f;
    data[3][7] = 1.0f;
    return launch_scale(TILE_CPU, 2.0f, &x, &y) == TILE_OK && data[3][7] == 7.0f;
}

/* ---- no driver ---- */

static void no_driver(void)
{
    EXPECT_STATUS(scale(NULL, 0), TILE_ERR_NO_DRIVER, "libcuda.so.1");
    EXPECT_STATUS(tile_rt_load(&scale_kernel), TILE_ERR_NO_DRIVER, "libcuda.so.1");
    EXPECT(cpu_works());
    EXPECT_STATUS(scale(NULL, 0), TILE_ERR_NO_DRIVER, "libcuda.so.1");
}
/* What is wrong with the arguments is said first. */
static void no_driver_wrong_argument(void)
{
    struct view1 y = {data[1], {512}, {1}};
    EXPECT_STATUS(launch_scale(NULL, 1.0f, NULL, &y), TILE_ERR_ARG, "x is NULL");
}

/* ---- the driver does not start ---- */

static void stub_library(void)
{
    script("cuInit", 1, 99, 34);
    EXPECT_STATUS(scale(NULL, 0), TILE_ERR_NO_DRIVER, "stub");
    EXPECT(tile_last_cuda_error() == 34);
    EXPECT(cpu_works());
}
static void init_fails(void)
{
    static const int codes[] = {100, 999, 803, 2, 46};
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        int status = -1;
        if (child == 0) {
            script("cuInit", 1, 99, codes[i]);
            EXPECT_STATUS(scale(NULL, 0), TILE_ERR_NO_DRIVER, "cuInit");
            EXPECT(tile_last_cuda_error() == codes[i]);
            EXPECT_STATUS(scale(NULL, 0), TILE_ERR_NO_DRIVER, "cuInit");
            EXPECT(calls("cuInit") == 1); /* no second try */
            _exit(failures != 0);
        }
        waitpid(child, &status, 0);
        EXPECT(status == 0);
    }
}
static void version_fails(void)
{
    script("cuDriverGetVersion", 1, 9, 999);
    EXPECT_STATUS(scale(NULL, 0), TILE_ERR_NO_DRIVER, "cuDriverGetVersion");
}

/* ---- launches ---- */

static void launch(void)
{
    open_fake();
    EXPECT_STATUS(scale(&stream0, 0), TILE_OK, "");
    EXPECT(cuda->launches == 1 && cuda->last.stream == &stream0 && cuda->last.function == (const void *)cubin_90a_fast);
    EXPECT(cuda->last.grid[0] == 2 && cuda->last.grid[1] == 1 && cuda->last.grid[2] == 1 && cuda->last.block[0] == 128);
    EXPECT(cuda->last.shared == 100000 && cuda->last.cluster == 2 && cuda->attributes == 1);
    EXPECT(cuda->last.slots[0] == 0x40000000 && cuda->last.slots[1] == (uintptr_t)data[0] &&
           cuda->last.slots[2] == 512 && cuda->last.slots[3] == 1 && cuda->last.slots[7] == 2 &&
           cuda->last.slots[8] == 0);
    EXPECT_STATUS(scale(&stream0, 1), TILE_OK, "");
    EXPECT(cuda->last.function == (const void *)cubin_90a && cuda->last.cluster == 1 && cuda->last.shared == 0);
    EXPECT(cuda->loads == 2 && get_current() == NULL);
}
/* After the first launch a launch is three calls of the driver. */
static void hot_path(void)
{
    int before;
    open_fake();
    set_current(&context0);
    EXPECT_STATUS(scale(&stream0, 0), TILE_OK, "");
    before = calls("cuStreamGetCtx");
    for (int i = 0; i < 100; i++)
        EXPECT_STATUS(scale(&stream0, 0), TILE_OK, "");
    EXPECT(cuda->launches == 101 && cuda->loads == 1 && calls("cuStreamGetCtx") == before + 100);
    EXPECT(calls("cuCtxGetDevice") == 1 && calls("cuDeviceGetAttribute") == 4 && calls("cuCtxPushCurrent_v2") == 0);
    EXPECT(calls("cuThreadExchangeStreamCaptureMode") == 2);
}
static void null_stream(void)
{
    open_fake();
    set_current(&context1);
    EXPECT_STATUS(scale(NULL, 0), TILE_OK, "");
    EXPECT(cuda->last.function == (const void *)cubin_80 && cuda->last.stream == NULL);
}
static void no_context(void)
{
    open_fake();
    EXPECT_STATUS(scale(NULL, 0), TILE_ERR_NO_CONTEXT, "TILE_AUTO_INIT");
    EXPECT(cuda->primaries == 0 && cuda->launches == 0 && tile_last_cuda_error() == 201);
    set_current(&context0);
    EXPECT_STATUS(scale(NULL, 0), TILE_OK, "");
}
static void auto_init(void)
{
    setenv("TILE_AUTO_INIT", "1", 1);
    open_fake();
    EXPECT_STATUS(scale(NULL, 0), TILE_OK, "");
    EXPECT_STATUS(scale(NULL, 0), TILE_OK, "");
    EXPECT(cuda->primaries == 1 && cuda->launches == 2);
}
static void auto_init_fails(void)
{
    setenv("TILE_AUTO_INIT", "1", 1);
    script("cuDevicePrimaryCtxRetain", 1, 9, 2);
    EXPECT_STATUS(scale(NULL, 0), TILE_ERR_OOM, "primary context");
}
static void empty_grid(void)
{
    open_fake();
    EXPECT_STATUS(huge(&stream1, 0, 5), TILE_OK, "");
    EXPECT(cuda->launches == 0 && cuda->loads == 0);
}
static void split_grid(void)
{
    open_fake();
    cuda->slot_count = 5;
    cuda->base_slot = 4;
    EXPECT_STATUS(huge(&stream1, INT64_C(1) << 31, 3), TILE_OK, "");
    EXPECT(cuda->launches == 4 && cuda->blocks == INT64_C(3) << 31);
    EXPECT(cuda->bases[0] == 0 && cuda->bases[1] == 0x7fffffff && cuda->bases[3] == 3 * UINT64_C(0x7fffffff));
    EXPECT(cuda->last.grid[0] == 3);
    cuda->launches = 0;
    EXPECT_STATUS(huge(&stream1, 70000, 70000), TILE_OK, "");
    EXPECT(cuda->launches == 3);
}
static void two_devices(void)
{
    open_fake();
    for (int i = 0; i < 3; i++) {
        EXPECT_STATUS(scale(&stream0, 1), TILE_OK, "");
        EXPECT(cuda->last.function == (const void *)cubin_90a);
        EXPECT_STATUS(scale(&stream1, 1), TILE_OK, "");
        EXPECT(cuda->last.function == (const void *)cubin_80);
    }
    EXPECT(cuda->loads == 2);
}
static void other_context_is_current(void)
{
    open_fake();
    set_current(&context1);
    EXPECT_STATUS(scale(&stream0, 0), TILE_OK, "");
    EXPECT(get_current() == &context1 && cuda->last.function == (const void *)cubin_90a_fast);
}
/* A context dies and another one, of the other device, comes to the same address. */
static void context_reused(void)
{
    open_fake();
    EXPECT_STATUS(scale(&stream0, 1), TILE_OK, "");
    context0 = (struct fake_context){1, 33, 0};
    EXPECT_STATUS(scale(&stream0, 1), TILE_OK, "");
    EXPECT(cuda->last.function == (const void *)cubin_80);
}
static void no_image(void)
{
    open_fake();
    EXPECT_STATUS(huge(&stream0, 1, 1), TILE_ERR_NO_IMAGE,
                  "huge: the object holds code for sm_80, cpu-baseline; device 0 is sm_90");
    cuda->architecture[1] = 75;
    EXPECT_STATUS(scale(&stream1, 1), TILE_ERR_NO_IMAGE, "device 1 is sm_75");
    EXPECT(cuda->loads == 0);
}
/* sm_90a is for sm_90 alone; sm_80 serves sm_86. */
static void architecture_choice(void)
{
    open_fake();
    cuda->architecture[0] = 86;
    EXPECT_STATUS(scale(&stream0, 1), TILE_OK, "");
    EXPECT(cuda->last.function == (const void *)cubin_80);
}
static void architecture_newer(void)
{
    open_fake();
    cuda->architecture[0] = 100;
    EXPECT_STATUS(scale(&stream0, 1), TILE_ERR_NO_IMAGE, "sm_100");
}
static void architecture_family(void)
{
    static const struct tile_rt_target targets[] = {
        {"sm_100", TILE_RT_TARGET_cuda, 100, 0, 1, scale_80},
        {"sm_100f", TILE_RT_TARGET_cuda, 100, 'f', 2, scale_90a},
        {"sm_110", TILE_RT_TARGET_cuda, 110, 0, 1, scale_80},
    };
    struct tile_rt_kernel kernel = scale_kernel;
    struct view1 x = {data[0] + 1, {5}, {1}}, y = {data[1], {5}, {1}};
    float a = 1.0f;
    const void *arguments[3] = {&a, &x, &y};
    kernel.targets = targets;
    open_fake();
    cuda->architecture[0] = 103;
    EXPECT_STATUS(tile_rt_launch(&kernel, cu(&stream0), arguments), TILE_OK, "");
    EXPECT(cuda->last.function == (const void *)cubin_90a);
}
/* PTX serves every later architecture, behind all machine code; "a" alone its own. */
static int launch_with_ptx(const struct tile_rt_target *targets, uint32_t count)
{
    static struct tile_rt_kernel kernel;
    struct view1 x = {data[0] + 1, {5}, {1}}, y = {data[1], {5}, {1}};
    float a = 1.0f;
    const void *arguments[3];
    arguments[0] = &a, arguments[1] = &x, arguments[2] = &y;
    kernel = scale_kernel;
    kernel.targets = targets;
    kernel.target_count = count;
    return tile_rt_launch(&kernel, cu(&stream0), arguments);
}
static void ptx(void)
{
    static struct tile_rt_state states[2];
    static const struct tile_rt_variant text80[] = {{.state = &states[0],
                                                     .image = "cubin, no: PTX of 80",
                                                     .symbol = "t",
                                                     .text = "",
                                                     .threads = 128,
                                                     SCALE_COMMON}};
    static const struct tile_rt_variant text90[] = {{.state = &states[1],
                                                     .image = "cubin, no: PTX of 90",
                                                     .symbol = "t",
                                                     .text = "",
                                                     .threads = 128,
                                                     SCALE_COMMON}};
    static const struct tile_rt_target targets[] = {
        {"compute_80", TILE_RT_TARGET_ptx, 80, 0, 1, text80},
        {"compute_90a", TILE_RT_TARGET_ptx, 90, 'a', 1, text90},
        {"sm_90a", TILE_RT_TARGET_cuda, 90, 'a', 2, scale_90a},
    };
    static const int architectures[] = {80, 90, 90, 100, 75};
    static const uint32_t counts[] = {3, 3, 2, 3, 3};
    const void *wanted[] = {text80[0].image, cubin_90a, text90[0].image, text80[0].image, NULL};
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        int status = -1;
        if (child == 0) {
            open_fake();
            cuda->architecture[0] = architectures[i];
            if (wanted[i] == NULL)
                EXPECT_STATUS(launch_with_ptx(targets, counts[i]), TILE_ERR_NO_IMAGE,
                              "compute_80, compute_90a, sm_90a");
            else
                EXPECT_STATUS(launch_with_ptx(targets, counts[i]), TILE_OK, "");
            EXPECT(cuda->last.function == wanted[i]);
            _exit(failures != 0);
        }
        waitpid(child, &status, 0);
        EXPECT(status == 0);
    }
    setenv("TILE_DISABLE_PTX", "1", 1);
    open_fake();
    EXPECT_STATUS(launch_with_ptx(targets, 2), TILE_ERR_NO_IMAGE, "compute_80, compute_90a");
    EXPECT_STATUS(launch_with_ptx(targets, 3), TILE_OK, "");
}
static void force_architecture(void)
{
    setenv("TILE_FORCE_ARCH", "sm_90a", 1);
    open_fake();
    EXPECT_STATUS(scale(&stream0, 0), TILE_OK, "");
    EXPECT_STATUS(scale(&stream1, 0), TILE_ERR_ENVIRONMENT, "TILE_FORCE_ARCH=sm_90a");
}
static void query(void)
{
    struct view1 x = {data[0], {513}, {1}}, y = {data[1], {513}, {1}};
    float a = 1.0f;
    const void *arguments[3] = {&a, &x, &y};
    struct tile_kernel_info info;
    open_fake();
    EXPECT_STATUS(tile_rt_query(&scale_kernel, cu(&stream0), arguments, &info), TILE_OK, "");
    EXPECT(strcmp(info.target, "sm_90a") == 0 && info.variant == 0 && info.registers == 40 && info.threads == 128 &&
           info.shared_bytes == 100000 && info.cluster == 2 && info.programs == 3 && info.values[0] == 256);
    EXPECT(strcmp(info.variant_text, "x and y on 16 bytes") == 0);
    EXPECT(cuda->launches == 0 && cuda->loads == 0);
}
static void device_sync(void)
{
    setenv("TILE_DEVICE_SYNC", "1", 1);
    script("cuStreamSynchronize", 2, 1, 700);
    EXPECT_STATUS(scale(&stream0, 0), TILE_OK, "");
    EXPECT_STATUS(scale(&stream0, 0), TILE_ERR_CONTEXT_LOST, "cuStreamSynchronize gives 700");
    EXPECT(cuda->synchronized == 2);
}
static void verbose(void)
{
    char text[4000];
    size_t size;
    FILE *file = tmpfile();
    setenv("TILE_VERBOSE", "1", 1);
    open_fake();
    dup2(fileno(file), 2);
    EXPECT_STATUS(scale(&stream0, 0), TILE_OK, "");
    rewind(file);
    size = fread(text, 1, sizeof text - 1, file);
    text[size] = 0;
    EXPECT(strstr(text, "scale: loaded variant 0 for sm_90a on device 0 (sm_90)") != NULL);
}

/* ---- loading fails ---- */

static void image_refused(void)
{
    static const int codes[] = {200, 209, 218, 222, 300};
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        int status = -1;
        if (child == 0) {
            script("cuLibraryLoadData", 1, 99, codes[i]);
            EXPECT_STATUS(scale(&stream0, 0), TILE_ERR_BAD_IMAGE, "sm_90a (64 bytes)");
            EXPECT(tile_last_cuda_error() == codes[i]);
            EXPECT_STATUS(scale(&stream0, 0), TILE_ERR_BAD_IMAGE, "cuLibraryLoadData");
            EXPECT(tile_last_cuda_error() == codes[i] && calls("cuLibraryLoadData") == 1); /* sticky */
            EXPECT_STATUS(scale(&stream1, 0), TILE_ERR_BAD_IMAGE, "sm_80"); /* other image: its own try */
            EXPECT(calls("cuLibraryLoadData") == 2 && cuda->launches == 0 && cpu_works());
            _exit(failures != 0);
        }
        waitpid(child, &status, 0);
        EXPECT(status == 0);
    }
}
static void kernel_missing(void)
{
    script("cuLibraryGetKernel", 1, 9, 500);
    EXPECT_STATUS(scale(&stream0, 0), TILE_ERR_BAD_IMAGE, "cuLibraryGetKernel");
    EXPECT(calls("cuLibraryUnload") == 1);
}
static void load_no_memory(void)
{
    script("cuLibraryLoadData", 1, 1, 2);
    EXPECT_STATUS(scale(&stream0, 0), TILE_ERR_OOM, "cuLibraryLoadData gives 2");
    EXPECT_STATUS(scale(&stream0, 0), TILE_OK, "");
    EXPECT(cuda->launches == 1);
}
static void attribute_fails(void)
{
    script("cuKernelSetAttribute", 1, 1, 1);
    EXPECT_STATUS(scale(&stream0, 0), TILE_ERR_DRIVER, "cuKernelSetAttribute gives 1");
    EXPECT_STATUS(scale(&stream0, 1), TILE_OK, ""); /* the other variant needs none */
}
static void device_query_fails(void)
{
    script("cuDeviceGetAttribute", 2, 1, 999);
    EXPECT_STATUS(scale(&stream0, 0), TILE_ERR_DRIVER, "cuDeviceGetAttribute gives 999");
    EXPECT_STATUS(scale(&stream0, 0), TILE_OK, "");
}
static void little_shared_memory(void)
{
    open_fake();
    cuda->shared_optin = 65536;
    EXPECT_STATUS(scale(&stream0, 0), TILE_ERR_NO_IMAGE,
                  "needs 100000 bytes of shared memory a block; device 0 has 65536");
}

/* ---- launching fails ---- */

static void launch_codes(void)
{
    static const struct {
        int code, status;
    } rows[] = {
        {701, TILE_ERR_OOM},          {2, TILE_ERR_OOM},
        {700, TILE_ERR_CONTEXT_LOST}, {719, TILE_ERR_CONTEXT_LOST},
        {716, TILE_ERR_CONTEXT_LOST}, {702, TILE_ERR_CONTEXT_LOST},
        {1, TILE_ERR_DRIVER},         {400, TILE_ERR_DRIVER},
        {912, TILE_ERR_DRIVER},       {4, TILE_ERR_NO_DRIVER},
        {209, TILE_ERR_BAD_IMAGE},    {901, TILE_ERR_CAPTURE},
    };
    open_fake();
    for (int i = 0; i < 12; i++) {
        cuda->script_count = 0;
        script("cuLaunchKernelEx", calls("cuLaunchKernelEx") + 1, 1, rows[i].code);
        EXPECT_STATUS(scale(&stream0, 0), rows[i].status, "cuLaunchKernelEx gives");
        EXPECT(tile_last_cuda_error() == rows[i].code);
        EXPECT_STATUS(scale(&stream0, 0), TILE_OK, ""); /* nothing is kept */
    }
}
static void destroyed_context(void)
{
    open_fake();
    EXPECT_STATUS(scale(&stream0, 0), TILE_OK, "");
    context0.destroyed = 1;
    EXPECT_STATUS(scale(&stream0, 0), TILE_ERR_CONTEXT_LOST, "709");
}
static void wrong_stream(void)
{
    script("cuStreamGetCtx", 1, 1, 400);
    EXPECT_STATUS(scale(&stream0, 0), TILE_ERR_DRIVER, "cuStreamGetCtx gives 400");
    EXPECT_STATUS(scale(&stream0, 0), TILE_OK, "");
}
static void id_fails(void)
{
    script("cuCtxGetId", 1, 1, 709);
    EXPECT_STATUS(scale(&stream0, 0), TILE_ERR_CONTEXT_LOST, "cuCtxGetId");
}

/* ---- capture ---- */

static void capture_relaxed(void)
{
    open_fake();
    cuda->global_capture = 1;
    EXPECT_STATUS(scale(&stream0, 0), TILE_OK, "");
    EXPECT(cuda->unsafe_in_capture == 0);
}
static void capture_refused(void)
{
    script("cuLibraryLoadData", 1, 1, 900);
    EXPECT_STATUS(scale(&stream0, 0), TILE_ERR_CAPTURE, "call scale_load() before");
    EXPECT(tile_last_cuda_error() == 900 && cuda->launches == 0);
    EXPECT_STATUS(scale(&stream0, 0), TILE_OK, ""); /* after the capture */
}
static void load_then_capture(void)
{
    int exchanges;
    open_fake();
    set_current(&context0);
    EXPECT_STATUS(tile_rt_load(&scale_kernel), TILE_OK, "");
    EXPECT(cuda->loads == 2 && cuda->launches == 0);
    exchanges = calls("cuThreadExchangeStreamCaptureMode");
    cuda->global_capture = 1;
    EXPECT_STATUS(scale(&stream0, 0), TILE_OK, "");
    EXPECT_STATUS(scale(&stream0, 1), TILE_OK, "");
    EXPECT(cuda->loads == 2 && calls("cuThreadExchangeStreamCaptureMode") == exchanges);
}
static void load_without_context(void)
{
    open_fake();
    EXPECT_STATUS(tile_rt_load(&scale_kernel), TILE_ERR_NO_CONTEXT, "context");
}

/* ---- kernels that report ---- */

/* scale, but with a report behind its parameters' slots. */
static struct tile_rt_kernel reporting;
static int report_scale(struct fake_stream *stream)
{
    static const char *const texts[] = {"k.tile:3:5: assume(n > 0)", "k.tile:4:5: assert(a)"};
    struct view1 x = {data[0], {512}, {1}}, y = {data[1], {512}, {1}};
    float a = 2.0f;
    const void *arguments[3];
    arguments[0] = &a, arguments[1] = &x, arguments[2] = &y;
    if (reporting.reports == 0) { /* the first call is alone */
        reporting = scale_kernel;
        reporting.slot_count++;
        reporting.report_count = 2;
        reporting.report_texts = texts;
        reporting.reports = 1;
    }
    return tile_rt_launch(&reporting, cu(stream), arguments);
}
static void report(void)
{
    open_fake();
    cuda->report_slot = (int)scale_kernel.slot_count;
    cuda->slot_count += 1;
    EXPECT_STATUS(report_scale(&stream0), TILE_OK, "");
    EXPECT(cuda->synchronized == 1 && get_current() == NULL);
    cuda->report = 41 << 16 | 2;
    EXPECT_STATUS(report_scale(&stream0), TILE_ERR_CHECK, "scale: k.tile:4:5: assert(a) does not hold in program 41");
    EXPECT_STATUS(report_scale(&stream1), TILE_ERR_CHECK, "program 41");
    cuda->report = 1;
    EXPECT_STATUS(report_scale(&stream0), TILE_ERR_CHECK, "k.tile:3:5: assume(n > 0) does not hold in program 0");
    cuda->report = 0;
    EXPECT_STATUS(report_scale(&stream0), TILE_OK, "");
    EXPECT(calls("cuMemHostAlloc") == 2); /* one a context */
}
/* What a graph reports is told at the next call, which launches nothing. */
static void report_of_graph(void)
{
    uint64_t *word;
    open_fake();
    cuda->report_slot = (int)scale_kernel.slot_count;
    cuda->slot_count += 1;
    stream0.capturing = 1;
    EXPECT_STATUS(report_scale(&stream0), TILE_OK, "");
    EXPECT(cuda->synchronized == 0);
    word = (uint64_t *)(uintptr_t)cuda->last.slots[cuda->report_slot];
    stream0.capturing = 0;
    EXPECT_STATUS(report_scale(&stream0), TILE_OK, "");
    EXPECT(word != (uint64_t *)(uintptr_t)cuda->last.slots[cuda->report_slot] && cuda->launches == 2);
    *word = 7 << 16 | 1;
    EXPECT_STATUS(report_scale(&stream0), TILE_ERR_CHECK, "program 7");
    EXPECT(cuda->launches == 2);
    EXPECT_STATUS(report_scale(&stream0), TILE_OK, "");
}
/* Each call has a word for itself: what one thread's launch reports no other is told. */
static int told[8];
static void *report_often(void *number)
{
    int own = *(int *)number;
    fake_thread_report(own % 2 ? (uint64_t)own << 16 | 1 : 0);
    for (int i = 0; i < 200; i++) {
        int status = report_scale(&stream0);
        char wanted[40];
        snprintf(wanted, sizeof wanted, "program %d", own);
        if (status != (own % 2 ? TILE_ERR_CHECK : TILE_OK) || (own % 2 && strstr(tile_last_error(), wanted) == NULL))
            told[own]++;
    }
    return NULL;
}
static void report_threads(void)
{
    pthread_t threads[8];
    int numbers[8];
    open_fake();
    cuda->report_slot = (int)scale_kernel.slot_count;
    cuda->slot_count += 1;
    EXPECT_STATUS(report_scale(&stream0), TILE_OK, "");
    for (int i = 0; i < 8; i++) {
        numbers[i] = i;
        EXPECT(pthread_create(&threads[i], NULL, report_often, &numbers[i]) == 0);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        EXPECT(told[i] == 0);
    }
    EXPECT(calls("cuMemHostAlloc") <= 8);
}
static void report_fails(void)
{
    script("cuMemHostAlloc", 1, 1, 2);
    cuda->slot_count += 1;
    EXPECT_STATUS(report_scale(&stream0), TILE_ERR_OOM, "cuMemHostAlloc");
    script("cuStreamSynchronize", 1, 1, 700);
    EXPECT_STATUS(report_scale(&stream0), TILE_ERR_CONTEXT_LOST, "cuStreamSynchronize");
    EXPECT_STATUS(report_scale(&stream0), TILE_OK, "");
    EXPECT(calls("cuMemHostAlloc") == 2);
}

/* ---- unloading ---- */

static void unload(void)
{
    open_fake();
    EXPECT_STATUS(tile_rt_unload(&scale_kernel), TILE_OK, ""); /* nothing is loaded, and the driver not even opened */
    EXPECT(calls("cuInit") == 0);
    set_current(&context0);
    EXPECT_STATUS(tile_rt_load(&scale_kernel), TILE_OK, "");
    EXPECT(cuda->loads == 2);
    EXPECT_STATUS(tile_rt_unload(&scale_kernel), TILE_OK, "");
    EXPECT(cuda->unloads == 2 && calls("cuLibraryUnload") == 2);
    EXPECT_STATUS(tile_rt_unload(&scale_kernel), TILE_OK, "");
    EXPECT(cuda->unloads == 2);
    EXPECT_STATUS(scale(&stream0, 0), TILE_OK, ""); /* and again */
    EXPECT(cuda->loads == 3 && cuda->launches == 1);
}
static void unload_forgets_failures(void)
{
    script("cuLibraryLoadData", 1, 1, 200);
    EXPECT_STATUS(scale(&stream0, 0), TILE_ERR_BAD_IMAGE, "200");
    EXPECT_STATUS(scale(&stream0, 0), TILE_ERR_BAD_IMAGE, "200");
    EXPECT_STATUS(tile_rt_unload(&scale_kernel), TILE_OK, "");
    EXPECT_STATUS(scale(&stream0, 0), TILE_OK, "");
}
static void unload_fails(void)
{
    script("cuLibraryUnload", 1, 1, 719);
    EXPECT_STATUS(scale(&stream0, 0), TILE_OK, "");
    EXPECT_STATUS(tile_rt_unload(&scale_kernel), TILE_ERR_CONTEXT_LOST, "unloading gives 719");
}
/* The driver has ended before the program: nothing is left to unload. */
static void unload_after_driver(void)
{
    script("cuLibraryUnload", 1, 1, 4);
    EXPECT_STATUS(scale(&stream0, 0), TILE_OK, "");
    EXPECT_STATUS(tile_rt_unload(&scale_kernel), TILE_OK, "");
}

/* ---- threads and processes ---- */

static void *first_launch(void *status)
{
    set_current(&context0);
    for (int i = 0; i < 100; i++) {
        struct view1 x = {data[0], {512}, {1}}, y = {data[1], {512}, {1}};
        *(int *)status |= launch_scale(cu(&stream0), 2.0f, &x, &y);
    }
    return NULL;
}
static void many_threads(void)
{
    pthread_t threads[32];
    int statuses[32] = {0};
    open_fake();
    for (int i = 0; i < 32; i++)
        EXPECT(pthread_create(&threads[i], NULL, first_launch, &statuses[i]) == 0);
    for (int i = 0; i < 32; i++) {
        pthread_join(threads[i], NULL);
        EXPECT(statuses[i] == TILE_OK);
    }
    EXPECT(cuda->loads == 1 && cuda->launches == 3200 && calls("cuInit") == 1 && calls("cuKernelSetAttribute") == 1);
}
static void *fails(void *text)
{
    struct view1 y = {data[1], {512}, {1}};
    launch_scale(cu(&stream0), 2.0f, NULL, &y);
    strcpy(text, tile_last_error());
    return NULL;
}
static void errors_of_threads(void)
{
    char text[600] = "";
    pthread_t thread;
    open_fake();
    EXPECT(pthread_create(&thread, NULL, fails, text) == 0);
    pthread_join(thread, NULL);
    EXPECT(strstr(text, "x is NULL") != NULL && tile_last_error()[0] == 0);
}
static void fork_after_use(void)
{
    int status = -1;
    pid_t child;
    open_fake();
    EXPECT_STATUS(scale(&stream0, 0), TILE_OK, "");
    child = fork();
    if (child == 0) {
        EXPECT_STATUS(scale(&stream0, 0), TILE_ERR_FORKED, "fork()");
        EXPECT_STATUS(tile_rt_load(&scale_kernel), TILE_ERR_FORKED, "fork()");
        EXPECT(tile_last_cuda_error() == 3 && cpu_works());
        _exit(failures != 0);
    }
    waitpid(child, &status, 0);
    EXPECT(status == 0);
    EXPECT_STATUS(scale(&stream0, 0), TILE_OK, "");
}
static void fork_before_use(void)
{
    int status = -1;
    pid_t child;
    open_fake();
    EXPECT(cpu_works());
    child = fork();
    if (child == 0) {
        EXPECT_STATUS(scale(&stream0, 0), TILE_OK, "");
        _exit(failures != 0);
    }
    waitpid(child, &status, 0);
    EXPECT(status == 0);
    EXPECT_STATUS(scale(&stream0, 0), TILE_OK, "");
}

/* ---- old drivers ---- */

static void old_launch(void)
{
    open_fake();
    EXPECT_STATUS(scale(&stream1, 0), TILE_OK, "");
    EXPECT_STATUS(scale(&stream1, 0), TILE_OK, "");
    EXPECT(calls("cuModuleLoadData") == 1 && cuda->launches == 2 && get_current() == NULL);
    EXPECT(cuda->last.grid[0] == 2 && cuda->last.block[0] == 128);
    EXPECT_STATUS(scale(&stream0, 1), TILE_OK, "");
    EXPECT(cuda->last.function == (const void *)cubin_90a);
}
/* A module belongs to a context. */
static void old_contexts(void)
{
    struct fake_context other = {1, 44, 0};
    struct fake_stream stream = {&other, 0};
    open_fake();
    for (int i = 0; i < 3; i++) {
        EXPECT_STATUS(scale(&stream1, 0), TILE_OK, "");
        EXPECT_STATUS(scale(&stream, 0), TILE_OK, "");
    }
    EXPECT(calls("cuModuleLoadData") == 2);
}
static void old_cluster(void)
{
    open_fake();
    EXPECT_STATUS(scale(&stream0, 0), TILE_ERR_DRIVER, "801"); /* clusters need cuLaunchKernelEx */
}
static void old_refused(void)
{
    script("cuModuleLoadData", 1, 1, 200);
    EXPECT_STATUS(scale(&stream1, 0), TILE_ERR_BAD_IMAGE, "cuModuleLoadData gives 200");
    EXPECT_STATUS(scale(&stream1, 0), TILE_ERR_BAD_IMAGE, "cuModuleLoadData gives 200");
    EXPECT(get_current() == NULL);
}
/* Each module in its own context; what was current stays so. */
static void old_unload(void)
{
    struct fake_context other = {1, 44, 0};
    struct fake_stream stream = {&other, 0};
    open_fake();
    EXPECT_STATUS(scale(&stream1, 0), TILE_OK, "");
    EXPECT_STATUS(scale(&stream, 0), TILE_OK, "");
    EXPECT_STATUS(tile_rt_unload(&scale_kernel), TILE_OK, "");
    EXPECT(cuda->unloads == 2 && get_current() == NULL);
    EXPECT_STATUS(scale(&stream1, 0), TILE_OK, "");
    EXPECT(cuda->loads == 3);
    EXPECT_STATUS(tile_rt_unload(&scale_kernel), TILE_OK, "");
    EXPECT(cuda->unloads == 3);
}

int main(int count, char **arguments)
{
    static const struct test_case none[] = {CASE(no_driver), CASE(no_driver_wrong_argument)};
    static const struct test_case new[] = {
        CASE(stub_library),
        CASE(init_fails),
        CASE(version_fails),
        CASE(launch),
        CASE(hot_path),
        CASE(null_stream),
        CASE(no_context),
        CASE(auto_init),
        CASE(auto_init_fails),
        CASE(empty_grid),
        CASE(split_grid),
        CASE(two_devices),
        CASE(other_context_is_current),
        CASE(context_reused),
        CASE(no_image),
        CASE(architecture_choice),
        CASE(architecture_newer),
        CASE(architecture_family),
        CASE(ptx),
        CASE(force_architecture),
        CASE(query),
        CASE(device_sync),
        CASE(verbose),
        CASE(image_refused),
        CASE(kernel_missing),
        CASE(load_no_memory),
        CASE(attribute_fails),
        CASE(device_query_fails),
        CASE(little_shared_memory),
        CASE(launch_codes),
        CASE(destroyed_context),
        CASE(wrong_stream),
        CASE(id_fails),
        CASE(capture_relaxed),
        CASE(capture_refused),
        CASE(load_then_capture),
        CASE(load_without_context),
        CASE(report),
        CASE(report_of_graph),
        CASE(report_fails),
        CASE(report_threads),
        CASE(unload),
        CASE(unload_forgets_failures),
        CASE(unload_fails),
        CASE(unload_after_driver),
        CASE(many_threads),
        CASE(errors_of_threads),
        CASE(fork_after_use),
        CASE(fork_before_use),
    };
    static const struct test_case old[] = {CASE(old_launch), CASE(old_contexts), CASE(old_cluster), CASE(old_refused),
                                           CASE(old_unload)};
    const char *group = count > 1 ? arguments[1] : "", *only = count > 2 ? arguments[2] : NULL;
    if (strcmp(group, "none") == 0)
        return run_cases(none, 2, only);
    if (strcmp(group, "new") == 0)
        return run_cases(new, (int)(sizeof new / sizeof new[0]), only);
    if (strcmp(group, "old") == 0)
        return run_cases(old, (int)(sizeof old / sizeof old[0]), only);
    return 2;
}
