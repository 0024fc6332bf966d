/* The run time on a real GPU, with kernels of gpu.tile: what a fake driver can not tell.
 *
 *     tilecc -arch=cpu,sm_80,sm_90a -o gpu.o gpu.tile && tilecc -arch=sm_80 --prefix=old_ -o old.o gpu.tile
 *     tilecc -arch=sm_90a --checks --prefix=checked_ -o checked.o gpu.tile
 *     tilecc -arch=sm_80,compute_80 --prefix=later_ -o later.o gpu.tile
 *     cc gpu_check.c gpu.o old.o checked.o later.o -ltilert -ldl -lpthread && ./a.out
 *
 * Ends with 77 where there is no GPU of compute capability 9.0. */
#include "case.h"
#include "checked.h"
#include "gpu.h"
#include "later.h"
#include "old.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

enum { ELEMENTS = 1 << 20, RELAXED = 2 };

/* name, name of the symbol, parameters */
#define DRIVER(X)                                                                      \
    X(init, cuInit, (unsigned))                                                        \
    X(count_devices, cuDeviceGetCount, (int *))                                        \
    X(attribute, cuDeviceGetAttribute, (int *, int, int))                              \
    X(retain, cuDevicePrimaryCtxRetain, (void **, int))                                \
    X(reset, cuDevicePrimaryCtxReset_v2, (int))                                        \
    X(get_current, cuCtxGetCurrent, (void **))                                         \
    X(set_current, cuCtxSetCurrent, (void *))                                          \
    X(synchronize, cuCtxSynchronize, (void))                                           \
    X(create_context, cuCtxCreate_v2, (void **, unsigned, int))                        \
    X(destroy_context, cuCtxDestroy_v2, (void *))                                      \
    X(allocate, cuMemAlloc_v2, (uintptr_t *, size_t))                                  \
    X(to_gpu, cuMemcpyHtoD_v2, (uintptr_t, const void *, size_t))                      \
    X(from_gpu, cuMemcpyDtoH_v2, (void *, uintptr_t, size_t))                          \
    X(fill, cuMemsetD32_v2, (uintptr_t, unsigned, size_t))                             \
    X(create_stream, cuStreamCreate, (struct CUstream_st **, unsigned))                \
    X(wait, cuStreamSynchronize, (struct CUstream_st *))                               \
    X(begin_capture, cuStreamBeginCapture_v2, (struct CUstream_st *, int))             \
    X(end_capture, cuStreamEndCapture, (struct CUstream_st *, void **))                \
    X(instantiate, cuGraphInstantiateWithFlags, (void **, void *, unsigned long long)) \
    X(launch_graph, cuGraphLaunch, (void *, struct CUstream_st *))

static struct {
#define X(name, symbol, parameters) int(*name) parameters;
    DRIVER(X)
#undef X
} cu;

static void *context;
static uintptr_t x_data, y_data;
static float host[ELEMENTS];

#define DRIVER_OK(call) EXPECT((call) == 0)

static int open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *address;
    int major = 0, minor = 0;
    if (library == NULL)
        return 0;
#define X(name, symbol, parameters)    \
    address = dlsym(library, #symbol); \
    if (address == NULL)               \
        return 0;                      \
    memcpy(&cu.name, &address, sizeof address);
    DRIVER(X)
#undef X
    return cu.init(0) == 0 && cu.attribute(&major, 75, 0) == 0 && cu.attribute(&minor, 76, 0) == 0 && major == 9 &&
           minor == 0;
}

static void allocate(void)
{
    DRIVER_OK(cu.allocate(&x_data, sizeof host));
    DRIVER_OK(cu.allocate(&y_data, sizeof host));
    for (int i = 0; i < ELEMENTS; i++)
        host[i] = (float)(i % 1000);
    DRIVER_OK(cu.to_gpu(x_data, host, sizeof host));
    DRIVER_OK(cu.fill(y_data, 0, ELEMENTS));
}

static void begin(void)
{
    if (!open_driver())
        exit(77);
    DRIVER_OK(cu.retain(&context, 0));
    DRIVER_OK(cu.set_current(context));
    allocate();
}

static struct tile_f32_1 view(uintptr_t data, int64_t elements)
{
    return tile_f32_1_row_major((float *)data, elements);
}

static int scale(struct CUstream_st *stream, int64_t elements)
{
    struct tile_f32_1 x = view(x_data, elements), y = view(y_data, elements);
    return gpu_scale(stream, 2.0f, &x, &y);
}

/* y holds `times` launches of scale on this many elements. */
static int is_right(int64_t elements, int times)
{
    if (cu.from_gpu(host, y_data, sizeof host) != 0)
        return 0;
    for (int i = 0; i < ELEMENTS; i++)
        if (host[i] != (i < elements ? 2.0f * (float)times * (float)(i % 1000) : 0.0f))
            return 0;
    return 1;
}

static void launches(void)
{
    struct CUstream_st *stream;
    begin();
    EXPECT_STATUS(scale(NULL, ELEMENTS - 77), TILE_OK, "");
    EXPECT(is_right(ELEMENTS - 77, 1));
    DRIVER_OK(cu.create_stream(&stream, 1));
    EXPECT_STATUS(scale(stream, ELEMENTS - 77), TILE_OK, "");
    DRIVER_OK(cu.wait(stream));
    EXPECT(is_right(ELEMENTS - 77, 2));
    EXPECT_STATUS(scale((struct CUstream_st *)(uintptr_t)1, 5), TILE_OK, ""); /* the legacy default stream */
    EXPECT_STATUS(scale((struct CUstream_st *)(uintptr_t)2, 5), TILE_OK, ""); /* the thread's default stream */
    EXPECT_STATUS(scale(NULL, 0), TILE_OK, "");
    DRIVER_OK(cu.synchronize());
}
static void arguments(void)
{
    struct tile_f32_1 x, y;
    begin();
    x = view(x_data, 100), y = view(y_data, 101);
    EXPECT_STATUS(gpu_scale(NULL, 1.0f, &x, &y), TILE_ERR_ARG, "extent 0 of y is 101, but N is 100");
    EXPECT_STATUS(gpu_scale(NULL, 1.0f, NULL, &y), TILE_ERR_ARG, "x is NULL");
    x = view(x_data + 2, 100), y = view(y_data, 100);
    EXPECT_STATUS(gpu_scale(NULL, 1.0f, &x, &y), TILE_ERR_ARG, "x is not aligned");
    x = view(y_data + 4, 100);
    EXPECT_STATUS(gpu_scale(NULL, 1.0f, &x, &y), TILE_ERR_ALIAS, "x and y");
    x = view(y_data, 100);
    EXPECT_STATUS(gpu_scale(NULL, 1.0f, &x, &y), TILE_OK, "");
    x = view(x_data + 4, 99), y = view(y_data + 4, 99);
    EXPECT_STATUS(gpu_scale(NULL, 2.0f, &x, &y), TILE_OK, ""); /* 4 bytes off: the general variant */
    EXPECT(cu.from_gpu(host, y_data, sizeof host) == 0 && host[99] == 2.0f * 99.0f && host[0] == 0.0f &&
           host[100] == 0.0f);
}
static void other_architecture(void)
{
    struct tile_f32_1 x, y;
    begin();
    x = view(x_data, 100), y = view(y_data, 100);
    EXPECT_STATUS(old_scale(NULL, 1.0f, &x, &y), TILE_ERR_NO_IMAGE,
                  "old_scale: the object holds code for sm_80; device 0 is sm_90");
    EXPECT_STATUS(old_scale_load(), TILE_ERR_NO_IMAGE, "sm_80");
}
static void no_current_context(void)
{
    struct CUstream_st *stream;
    void *current = &stream;
    begin();
    DRIVER_OK(cu.create_stream(&stream, 0));
    DRIVER_OK(cu.set_current(NULL));
    EXPECT_STATUS(scale(stream, 1000), TILE_OK, "");
    EXPECT_STATUS(scale(NULL, 1000), TILE_ERR_NO_CONTEXT, "TILE_AUTO_INIT");
    EXPECT(cu.get_current(&current) == 0 && current == NULL);
    DRIVER_OK(cu.set_current(context));
    DRIVER_OK(cu.synchronize());
    EXPECT(is_right(1000, 1));
}

static void capture(int mode, int load)
{
    struct CUstream_st *stream;
    void *graph = NULL, *executable = NULL;
    begin();
    DRIVER_OK(cu.create_stream(&stream, 1));
    if (load)
        EXPECT_STATUS(gpu_scale_load(), TILE_OK, "");
    DRIVER_OK(cu.begin_capture(stream, mode));
    EXPECT_STATUS(scale(stream, ELEMENTS), TILE_OK, "");
    DRIVER_OK(cu.end_capture(stream, &graph));
    DRIVER_OK(cu.instantiate(&executable, graph, 0));
    for (int i = 0; i < 1000; i++)
        DRIVER_OK(cu.launch_graph(executable, stream));
    DRIVER_OK(cu.wait(stream));
    EXPECT(is_right(ELEMENTS, 1000));
}
static void capture_global(void) { capture(0, 0); }
static void capture_thread(void) { capture(1, 0); }
static void capture_relaxed(void) { capture(RELAXED, 0); }
static void capture_loaded(void) { capture(0, 1); }

static int thread_errors;
static void *first_launches(void *unused)
{
    (void)unused;
    cu.set_current(context);
    for (int i = 0; i < 100; i++)
        if (scale(NULL, ELEMENTS) != TILE_OK)
            __atomic_add_fetch(&thread_errors, 1, __ATOMIC_RELAXED);
    return NULL;
}
static void threads(void)
{
    pthread_t all[32];
    begin();
    for (int i = 0; i < 32; i++)
        EXPECT(pthread_create(&all[i], NULL, first_launches, NULL) == 0);
    for (int i = 0; i < 32; i++)
        pthread_join(all[i], NULL);
    EXPECT(thread_errors == 0);
    DRIVER_OK(cu.synchronize());
    EXPECT(is_right(ELEMENTS, 3200));
}

static void large_grid(int64_t n, int64_t m, int64_t k)
{
    int64_t wanted[3] = {n - 1, m - 1, k - 1}, got[4] = {0};
    struct tile_i64_1 out = tile_i64_1_row_major((int64_t *)y_data, 4);
    EXPECT_STATUS(gpu_large(NULL, n, m, k, &out), TILE_OK, "");
    EXPECT(cu.from_gpu(got, y_data, sizeof got) == 0 && memcmp(got, wanted, sizeof wanted) == 0);
}
static void large_grids(void)
{
    struct tile_i64_1 out;
    begin();
    large_grid(70000, 3, 2);
    large_grid(3, 70000, 2);
    large_grid(2, 3, 70000);
    large_grid((INT64_C(1) << 31) + 5, 1, 1);
    out = tile_i64_1_row_major((int64_t *)y_data, 4);
    EXPECT_STATUS(gpu_large(NULL, INT64_C(1) << 40, INT64_C(1) << 40, 1, &out), TILE_ERR_ARG, "grid");
    EXPECT_STATUS(gpu_large(NULL, 5, 0, INT64_MAX, &out), TILE_OK, "");
}

static void lost_context(void)
{
    setenv("TILE_DEVICE_SYNC", "1", 1);
    begin();
    EXPECT_STATUS(gpu_wild(NULL, (float *)(uintptr_t)16), TILE_ERR_CONTEXT_LOST, "gpu_wild");
    EXPECT(tile_last_cuda_error() >= 700);
    EXPECT_STATUS(scale(NULL, 100), TILE_ERR_CONTEXT_LOST, "");
    for (int i = 0; i < 2; i++) {
        float a[4] = {1, 2, 3, 4}, b[4] = {0};
        struct tile_f32_1 x = tile_f32_1_row_major(a, 4), y = tile_f32_1_row_major(b, 4);
        EXPECT_STATUS(gpu_scale(TILE_CPU, 2.0f, &x, &y), TILE_OK, "");
        EXPECT(b[3] == 8.0f);
    }
}
static void primary_reset(void)
{
    begin();
    EXPECT_STATUS(scale(NULL, 100), TILE_OK, "");
    DRIVER_OK(cu.synchronize());
    DRIVER_OK(cu.reset(0));
    DRIVER_OK(cu.retain(&context, 0));
    DRIVER_OK(cu.set_current(context));
    allocate();
    EXPECT_STATUS(scale(NULL, 100), TILE_OK, "");
    EXPECT(is_right(100, 1));
}
static void other_contexts(void)
{
    begin();
    for (int i = 0; i < 3; i++) {
        void *own = NULL;
        DRIVER_OK(cu.create_context(&own, 0, 0));
        allocate();
        EXPECT_STATUS(scale(NULL, 100), TILE_OK, "");
        EXPECT(is_right(100, 1));
        DRIVER_OK(cu.destroy_context(own));
        DRIVER_OK(cu.set_current(context));
    }
}
/* ---- what options put into an object ---- */

/* No machine code for this GPU, but PTX. */
static void later_architecture(void)
{
    struct tile_f32_1 x, y;
    struct tile_kernel_info info;
    begin();
    x = view(x_data, 1000), y = view(y_data, 1000);
    EXPECT_STATUS(later_scale_load(), TILE_OK, "");
    for (int i = 0; i < 3; i++)
        EXPECT_STATUS(later_scale(NULL, 2.0f, &x, &y), TILE_OK, "");
    EXPECT(is_right(1000, 3));
    EXPECT_STATUS(later_scale_query(NULL, 2.0f, &x, &y, &info), TILE_OK, "");
    EXPECT(strcmp(info.target, "compute_80") == 0);
}
static void later_architecture_refused(void)
{
    struct tile_f32_1 x, y;
    setenv("TILE_DISABLE_PTX", "1", 1);
    begin();
    x = view(x_data, 1000), y = view(y_data, 1000);
    EXPECT_STATUS(later_scale(NULL, 2.0f, &x, &y), TILE_ERR_NO_IMAGE, "sm_80, compute_80; device 0 is sm_90");
}

static uintptr_t at_data;
static int picked(struct CUstream_st *stream, int32_t last)
{
    int32_t at[4] = {5, 0, 99, 0};
    struct tile_f32_1 x = view(x_data, 100), y = view(y_data, 4);
    struct tile_i32_1 v = tile_i32_1_row_major((int32_t *)at_data, 4);
    at[3] = last;
    if (at_data == 0)
        DRIVER_OK(cu.allocate(&at_data, sizeof at));
    v.data = (int32_t *)at_data;
    DRIVER_OK(cu.to_gpu(at_data, at, sizeof at));
    return checked_picked(stream, &x, &v, &y);
}
static void checks(void)
{
    struct CUstream_st *stream;
    void *graph = NULL, *executable = NULL;
    int32_t wrong = -7;
    begin();
    EXPECT_STATUS(picked(NULL, 98), TILE_OK, "");
    EXPECT(cu.from_gpu(host, y_data, 16) == 0 && host[2] == 198.0f && host[3] == 196.0f);
    EXPECT_STATUS(picked(NULL, 100), TILE_ERR_CHECK, "(places lie in x) does not hold in program 3");
    EXPECT_STATUS(picked(NULL, 1), TILE_OK, "");
    DRIVER_OK(cu.create_stream(&stream, 1));
    struct tile_f32_1 x = view(x_data, 100), y = view(y_data, 4);
    struct tile_i32_1 v = tile_i32_1_row_major((int32_t *)at_data, 4);
    DRIVER_OK(cu.begin_capture(stream, 0));
    EXPECT_STATUS(checked_picked(stream, &x, &v, &y), TILE_OK, "");
    DRIVER_OK(cu.end_capture(stream, &graph));
    DRIVER_OK(cu.instantiate(&executable, graph, 0));
    DRIVER_OK(cu.to_gpu(at_data, &wrong, sizeof wrong));
    DRIVER_OK(cu.launch_graph(executable, stream));
    DRIVER_OK(cu.wait(stream));
    EXPECT_STATUS(picked(stream, 1), TILE_ERR_CHECK, "program 0");
    EXPECT_STATUS(picked(stream, 1), TILE_OK, "");
}

/* ---- two devices ---- */

struct place {
    void *context;
    struct CUstream_st *stream;
    uintptr_t x, y;
};

static void set_up_place(struct place *place, int device)
{
    DRIVER_OK(cu.retain(&place->context, device));
    DRIVER_OK(cu.set_current(place->context));
    DRIVER_OK(cu.create_stream(&place->stream, 1));
    allocate();
    place->x = x_data;
    place->y = y_data;
}

/* False: this machine has one device, and the case is passed over. */
static int begin_two(struct place places[2])
{
    int devices = 0;
    if (!open_driver() || cu.count_devices(&devices) != 0)
        exit(77);
    if (devices < 2) {
        puts("one device: passed over");
        return 0;
    }
    for (int d = 0; d < 2; d++)
        set_up_place(&places[d], d);
    return 1;
}

static int scale_at(const struct place *place, int64_t elements)
{
    struct tile_f32_1 x = view(place->x, elements), y = view(place->y, elements);
    return gpu_scale(place->stream, 2.0f, &x, &y);
}

static int is_right_at(const struct place *place, int64_t elements, int times)
{
    y_data = place->y;
    return cu.set_current(place->context) == 0 && cu.synchronize() == 0 && is_right(elements, times);
}

/* Streams of both devices in turns from one thread, whatever context is current, and none. */
static void two_devices(void)
{
    struct place places[2];
    if (!begin_two(places))
        return;
    for (int i = 0; i < 300; i++) {
        void *current = NULL, *wanted = i % 3 == 2 ? NULL : places[i % 3].context;
        DRIVER_OK(cu.set_current(wanted));
        EXPECT_STATUS(scale_at(&places[i % 2], ELEMENTS - 3), TILE_OK, "");
        EXPECT(cu.get_current(&current) == 0 && current == wanted);
    }
    for (int d = 0; d < 2; d++)
        EXPECT(is_right_at(&places[d], ELEMENTS - 3, 150));
    EXPECT_STATUS(gpu_scale_unload(), TILE_OK, "");
    EXPECT_STATUS(scale_at(&places[1], 10), TILE_OK, "");
    EXPECT_STATUS(gpu_scale_load(), TILE_OK, ""); /* of the current one, 1 */
    EXPECT_STATUS(scale_at(&places[0], 10), TILE_OK, "");
    for (int d = 0; d < 2; d++)
        DRIVER_OK(cu.set_current(places[d].context) || cu.synchronize());
}

static struct place thread_places[2];
static void *launch_on_both(void *which)
{
    for (int i = 0; i < 100; i++)
        if (scale_at(&thread_places[(i + (which != NULL)) % 2], ELEMENTS) != TILE_OK)
            __atomic_add_fetch(&thread_errors, 1, __ATOMIC_RELAXED);
    return NULL;
}
/* First use from 32 threads on both devices at once, no context current in any. */
static void two_devices_threads(void)
{
    pthread_t all[32];
    if (!begin_two(thread_places))
        return;
    for (int i = 0; i < 32; i++)
        EXPECT(pthread_create(&all[i], NULL, launch_on_both, i % 2 ? &all[i] : NULL) == 0);
    for (int i = 0; i < 32; i++)
        pthread_join(all[i], NULL);
    EXPECT(thread_errors == 0);
    for (int d = 0; d < 2; d++)
        EXPECT(is_right_at(&thread_places[d], ELEMENTS, 1600));
}

/* First use on device 1 while a stream of device 0 is captured in global mode. */
static void two_devices_capture(void)
{
    struct place places[2];
    void *graph = NULL, *executable = NULL;
    if (!begin_two(places))
        return;
    DRIVER_OK(cu.set_current(places[0].context));
    DRIVER_OK(cu.begin_capture(places[0].stream, 0));
    EXPECT_STATUS(scale_at(&places[1], ELEMENTS), TILE_OK, "");
    EXPECT_STATUS(scale_at(&places[0], ELEMENTS), TILE_OK, "");
    DRIVER_OK(cu.end_capture(places[0].stream, &graph));
    DRIVER_OK(cu.instantiate(&executable, graph, 0));
    DRIVER_OK(cu.launch_graph(executable, places[0].stream));
    for (int d = 0; d < 2; d++)
        EXPECT(is_right_at(&places[d], ELEMENTS, 1));
}

/* A kernel destroys device 0's context.  Drivers differ in whether device 1's is lost with it (580 says so); the status
 * tells, and the processor works on. */
static void two_devices_lost(void)
{
    struct place places[2];
    setenv("TILE_DEVICE_SYNC", "1", 1);
    if (!begin_two(places))
        return;
    EXPECT_STATUS(scale_at(&places[1], 100), TILE_OK, "");
    EXPECT_STATUS(gpu_wild(places[0].stream, (float *)(uintptr_t)16), TILE_ERR_CONTEXT_LOST, "gpu_wild");
    EXPECT_STATUS(scale_at(&places[0], 100), TILE_ERR_CONTEXT_LOST, "");
    if (scale_at(&places[1], 100) == TILE_OK)
        EXPECT(is_right_at(&places[1], 100, 2));
    else
        EXPECT_STATUS(scale_at(&places[1], 100), TILE_ERR_CONTEXT_LOST, "");
    float a[2] = {1, 2}, b[2] = {0};
    struct tile_f32_1 x = tile_f32_1_row_major(a, 2), y = tile_f32_1_row_major(b, 2);
    EXPECT_STATUS(gpu_scale(TILE_CPU, 2.0f, &x, &y), TILE_OK, "");
    EXPECT(b[1] == 4.0f);
}

static void unload(void)
{
    begin();
    EXPECT_STATUS(gpu_scale_unload(), TILE_OK, "");
    for (int i = 1; i <= 20; i++) {
        EXPECT_STATUS(scale(NULL, 1000), TILE_OK, "");
        DRIVER_OK(cu.synchronize());
        EXPECT_STATUS(gpu_scale_unload(), TILE_OK, "");
    }
    EXPECT(is_right(1000, 20));
}
static void forked(void)
{
    int status = -1;
    pid_t child;
    begin();
    EXPECT_STATUS(scale(NULL, 100), TILE_OK, "");
    DRIVER_OK(cu.synchronize());
    child = fork();
    if (child == 0) {
        EXPECT_STATUS(scale(NULL, 100), TILE_ERR_FORKED, "fork()");
        _exit(failures != 0);
    }
    waitpid(child, &status, 0);
    EXPECT(status == 0);
    EXPECT_STATUS(scale(NULL, 100), TILE_OK, "");
    DRIVER_OK(cu.synchronize());
}
static void query(void)
{
    struct tile_f32_1 x, y;
    struct tile_kernel_info info;
    begin();
    x = view(x_data, 1000), y = view(y_data, 1000);
    EXPECT_STATUS(gpu_scale_query(NULL, 1.0f, &x, &y, &info), TILE_OK, "");
    EXPECT(strcmp(info.target, "sm_90a") == 0 && info.registers > 0 && info.threads > 0 && info.programs == 4);
    printf("scale: %s, %d registers, %d threads, %d bytes shared, [%s]\n", info.target, info.registers, info.threads,
           info.shared_bytes, info.variant_text);
}
/* Each number of variant, on views that all of them or only the general one fits. */
static void variants(void)
{
    struct tile_f32_1 x, y;
    int times[2] = {0, 0};
    begin();
    for (int shift = 0; shift < 2; shift++) {
        x = view(x_data + 4 * (uintptr_t)shift, 1000), y = view(y_data + 4 * (uintptr_t)shift, 1000);
        for (int number = 0; number < 8; number++) {
            int status = gpu_scale_variant(NULL, 2.0f, &x, &y, number);
            EXPECT(status == TILE_OK || (status == TILE_ERR_ARG && strstr(tile_last_error(), "variant") != NULL));
            times[shift] += status == TILE_OK;
        }
    }
    DRIVER_OK(cu.synchronize());
    printf("scale: %d variants fit aligned views, %d others\n", times[0], times[1]);
    EXPECT(times[0] > times[1] && times[1] == 1);
    DRIVER_OK(cu.from_gpu(host, y_data, sizeof host));
    EXPECT(host[0] == 0.0f && host[999] == 2.0f * (float)(times[0] + 1) * 999.0f && host[1000] == 0.0f);
}
/* Launches that overlap, each on a part of its own, straight and from a graph. */
static void options(void)
{
    struct tile_launch_options options = {sizeof options, TILE_LAUNCH_OVERLAP, -1, 0};
    enum { PARTS = 64, PART = ELEMENTS / PARTS };
    struct CUstream_st *stream;
    void *graph = NULL, *executable = NULL;
    begin();
    DRIVER_OK(cu.create_stream(&stream, 1));
    for (int round = 0; round < 2; round++) {
        if (round == 1)
            DRIVER_OK(cu.begin_capture(stream, 0));
        for (int i = 0; i < PARTS; i++) {
            uintptr_t offset = 4 * (uintptr_t)(i * PART);
            struct tile_f32_1 x = view(x_data + offset, PART), y = view(y_data + offset, PART);
            EXPECT_STATUS(gpu_scale_launch_ex(stream, 2.0f, &x, &y, &options), TILE_OK, "");
        }
        if (round == 0) {
            DRIVER_OK(cu.wait(stream));
            EXPECT(is_right(ELEMENTS, 1));
        }
    }
    DRIVER_OK(cu.end_capture(stream, &graph));
    DRIVER_OK(cu.instantiate(&executable, graph, 0));
    DRIVER_OK(cu.launch_graph(executable, stream));
    DRIVER_OK(cu.wait(stream));
    EXPECT(is_right(ELEMENTS, 2));
}
/* Launches that overlap and add to what the one before has written; code from PTX of an earlier architecture, too. */
static void options_in_turn(void)
{
    struct tile_launch_options options = {sizeof options, TILE_LAUNCH_OVERLAP, 0, 0};
    struct tile_f32_1 x, y;
    struct CUstream_st *stream;
    enum { TIMES = 400 };
    begin();
    x = view(x_data, ELEMENTS);
    y = view(y_data, ELEMENTS);
    DRIVER_OK(cu.create_stream(&stream, 1));
    for (int i = 0; i < TIMES; i++)
        EXPECT_STATUS(gpu_scale_launch_ex(stream, 2.0f, &x, &y, &options), TILE_OK, "");
    for (int i = 0; i < TIMES; i++)
        EXPECT_STATUS(later_scale_launch_ex(stream, 2.0f, &x, &y, &options), TILE_OK, "");
    DRIVER_OK(cu.wait(stream));
    EXPECT(is_right(ELEMENTS, 2 * TIMES));
}

int main(int count, char **parameters)
{
    static const struct test_case cases[] = {
        CASE(launches),
        CASE(arguments),
        CASE(other_architecture),
        CASE(no_current_context),
        CASE(capture_global),
        CASE(capture_thread),
        CASE(capture_relaxed),
        CASE(capture_loaded),
        CASE(threads),
        CASE(large_grids),
        CASE(lost_context),
        CASE(primary_reset),
        CASE(other_contexts),
        CASE(forked),
        CASE(query),
        CASE(variants),
        CASE(options),
        CASE(options_in_turn),
        CASE(unload),
        CASE(later_architecture),
        CASE(later_architecture_refused),
        CASE(checks),
        CASE(two_devices),
        CASE(two_devices_threads),
        CASE(two_devices_capture),
        CASE(two_devices_lost),
    };
    pid_t child = fork();
    int status = 0;
    if (child == 0)
        _exit(open_driver() ? 0 : 77);
    waitpid(child, &status, 0);
    if (status != 0) {
        puts("no GPU of compute capability 9.0 here");
        return 77;
    }
    return run_cases(cases, (int)(sizeof cases / sizeof cases[0]), count > 1 ? parameters[1] : NULL);
}
