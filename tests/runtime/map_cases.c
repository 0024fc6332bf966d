/* Tensor maps and persistent grids: what the run time tells the driver of views, when it passes over code that wants
 * maps, and how many blocks it launches.  Run by cuda.bats with a fake libcuda.so.1; the first argument is new (CUDA
 * 13) or old (CUDA 11, without cuTensorMapEncodeTiled), or cost: host time of launches in nanoseconds, printed. */
#include "case.h"
#include "fake_open.h"
#include "kernels.h"
#include <pthread.h>
#include <time.h>

static struct fake_cuda *cuda;
static struct fake_context context0 = {0, 11, 0}, context1 = {1, 22, 0};
static struct fake_stream stream0 = {&context0, 0}, stream1 = {&context1, 0};
static int (*calls)(const char *);

/* product(a: in strided huge bf16[M, K], q: in? strided f16[Z, H, L, D], n: i64) grid(n)
 * slots: a 0..4, q 5..13, n 14, grid 15, base 16 */
static const int32_t product_code[] = {
    OP(name, 0), OP(end, 0),  OP(name, 1), OP(end, 0),  OP(name, 2), OP(end, 0),    OP(name, 3),
    OP(end, 0),  OP(name, 4), OP(end, 0),  OP(name, 5), OP(end, 0),  OP(scalar, 2), OP(end, 0),
};
static const struct tile_rt_expression product_a[] = {{0, 0, "M"}, {2, 0, "K"}};
static const struct tile_rt_expression product_q[] = {{4, 0, "Z"}, {6, 0, "H"}, {8, 0, "L"}, {10, 0, "D"}};
static struct tile_rt_parameter product_parameters[] = {
    /* not constant: a case has one written */
    {.name = "a",
     .kind = TILE_RT_PARAMETER_view,
     .type = TILE_RT_TYPE_bf16,
     .rank = 2,
     .direction = TILE_RT_IN,
     .flags = TILE_RT_STRIDED | TILE_RT_HUGE,
     .extents = product_a},
    {.name = "q",
     .kind = TILE_RT_PARAMETER_view,
     .type = TILE_RT_TYPE_f16,
     .rank = 4,
     .direction = TILE_RT_IN,
     .flags = TILE_RT_STRIDED | TILE_RT_OPTIONAL,
     .extents = product_q},
    {.name = "n", .kind = TILE_RT_PARAMETER_scalar, .type = TILE_RT_TYPE_i64},
};
static const struct tile_rt_binder product_binders[] = {{0, 0, 0, 1, 0}, {0, 1, 0, 1, 0}, {1, 0, 0, 1, 0},
                                                        {1, 1, 0, 1, 0}, {1, 2, 0, 1, 0}, {1, 3, 0, 1, 0}};
#define NAME(i, letter)              \
    {.text = letter,                 \
     .kind = TILE_RT_NAME_extent,    \
     .binder_count = 1,              \
     .binders = &product_binders[i], \
     .bound = {-1, 0, ""}}
static const struct tile_rt_name product_names[] = {NAME(0, "M"), NAME(1, "K"), NAME(2, "Z"),
                                                    NAME(3, "H"), NAME(4, "L"), NAME(5, "D")};
static const int32_t product_grid[] = {12};
static const struct tile_rt_map product_maps[] = {
    {.parameter = 0, .swizzle = 128, .type = TILE_RT_TYPE_bf16, .rank = 2, .dimension = {1, 0}, .box = {64, 128}},
    {.parameter = 1,
     .swizzle = 64,
     .type = TILE_RT_TYPE_f16,
     .rank = 4,
     .dimension = {3, 2, 1, 0},
     .box = {32, 192, 1, 2}},
};
static struct tile_rt_state product_states[2];
/* Not constant: cases turn its knobs. */
static struct tile_rt_variant product_variants[] = {
    {.state = &product_states[0],
     .grid = product_grid,
     .image = cubin_90a_fast,
     .image_size = 64,
     .symbol = "fast",
     .text = "maps",
     .threads = 384,
     .registers = 168,
     .map_count = 2,
     .maps = product_maps},
    {.state = &product_states[1],
     .grid = product_grid,
     .image = cubin_90a,
     .image_size = 64,
     .symbol = "plain",
     .text = "",
     .threads = 128,
     .registers = 32},
};
static struct tile_rt_target product_targets[] = {
    {"sm_90a", TILE_RT_TARGET_cuda, 90, 'a', 2, product_variants},
};
static const struct tile_rt_kernel product_kernel = {
    .abi = TILE_RT_ABI,
    .parameter_count = 3,
    .name_count = 6,
    .grid_rank = 1,
    .target_count = 1,
    .slot_count = 15,
    .name = "product",
    .parameters = product_parameters,
    .names = product_names,
    .targets = product_targets,
    .code = product_code,
    .load_name = "product_load",
};

struct view4 {
    void *data;
    int64_t extent[4], stride[4];
};
static struct view2 a;
static struct view4 q;
static int64_t n;

/* The driver, and arguments that a map can say everything of. */
static void begin(void)
{
    cuda = fake_open();
    fake_find("fake_calls", &calls);
    cuda->slot_count = 17;
    cuda->base_slot = 16;
    cuda->map_count = 2;
    a = (struct view2){(void *)(uintptr_t)0x10000, {300, 200}, {208, 1}};
    q = (struct view4){(void *)(uintptr_t)0x900000, {2, 3, 100, 64}, {32768, 64, 192, 1}};
    n = 5;
}

static int launch(struct fake_stream *stream)
{
    const void *arguments[3];
    arguments[0] = &a;
    arguments[1] = q.data != NULL ? &q : NULL;
    arguments[2] = &n;
    return tile_rt_launch(&product_kernel, (struct CUstream_st *)stream, arguments);
}
static int query(struct tile_kernel_info *info)
{
    const void *arguments[3];
    arguments[0] = &a;
    arguments[1] = &q;
    arguments[2] = &n;
    return tile_rt_query(&product_kernel, (struct CUstream_st *)&stream0, arguments, info);
}
static int took_maps(void) { return cuda->last.function == (const void *)cubin_90a_fast; }
static int took_plain(void) { return cuda->last.function == (const void *)cubin_90a; }
/* Launches; the plain code must run.  It has no maps. */
static void expect_plain(void)
{
    cuda->map_count = 0;
    cuda->last.function = NULL;
    EXPECT_STATUS(launch(&stream0), TILE_OK, "");
    EXPECT(took_plain());
    cuda->map_count = 2;
}
/* Without the plain code, the same call is a status with this text. */
static void expect_refused(const char *text)
{
    int launches = cuda->launches;
    product_targets[0].variant_count = 1;
    EXPECT_STATUS(launch(&stream0), TILE_ERR_NO_IMAGE, text);
    EXPECT(cuda->launches == launches);
    product_targets[0].variant_count = 2;
}

/* ---- what the driver is told ---- */

static void encode(void)
{
    const struct fake_encode *first, *second;
    begin();
    EXPECT_STATUS(launch(&stream0), TILE_OK, "");
    EXPECT(took_maps() && cuda->encode_count == 2 && cuda->unaligned_maps == 0);
    first = &cuda->encodes[0];
    second = &cuda->encodes[1];
    EXPECT(first->type == 9 && first->rank == 2 && first->address == 0x10000);
    EXPECT(first->extents[0] == 200 && first->extents[1] == 300 && first->strides[0] == 416);
    EXPECT(first->box[0] == 64 && first->box[1] == 128 && first->steps[0] == 1 && first->steps[1] == 1);
    EXPECT(first->interleave == 0 && first->swizzle == 3 && first->promotion == 3 && first->beyond == 0);
    EXPECT(second->type == 6 && second->rank == 4 && second->address == 0x900000 && second->swizzle == 2);
    EXPECT(second->extents[0] == 64 && second->extents[1] == 100 && second->extents[2] == 3 && second->extents[3] == 2);
    EXPECT(second->strides[0] == 384 && second->strides[1] == 128 && second->strides[2] == 65536);
    EXPECT(second->box[0] == 32 && second->box[1] == 192 && second->box[2] == 1 && second->box[3] == 2);
    EXPECT(cuda->last.slots[0] == 0x10000 && cuda->last.slots[5] == 0x900000 && cuda->last.slots[15] == 5);
    EXPECT(cuda->last.maps[0][0] == 1 && cuda->last.maps[0][1] == 0x10000);
    EXPECT(cuda->last.maps[1][0] == 2 && cuda->last.maps[1][1] == 0x900000);
}
/* Every type and swizzle as the driver numbers them. */
static void types(void)
{
    static const struct {
        int type, number, size;
    } rows[] = {
        {TILE_RT_TYPE_bool, 0, 1},    {TILE_RT_TYPE_i8, 0, 1},     {TILE_RT_TYPE_u8, 0, 1},
        {TILE_RT_TYPE_i16, 1, 2},     {TILE_RT_TYPE_u16, 1, 2},    {TILE_RT_TYPE_i32, 3, 4},
        {TILE_RT_TYPE_u32, 2, 4},     {TILE_RT_TYPE_i64, 5, 8},    {TILE_RT_TYPE_u64, 4, 8},
        {TILE_RT_TYPE_f16, 6, 2},     {TILE_RT_TYPE_bf16, 9, 2},   {TILE_RT_TYPE_f32, 7, 4},
        {TILE_RT_TYPE_f64, 8, 8},     {TILE_RT_TYPE_f8e4m3, 0, 1}, {TILE_RT_TYPE_f8e5m2, 0, 1},
        {TILE_RT_TYPE_pointer, 4, 8},
    };
    static const int swizzles[4][2] = {{0, 0}, {32, 1}, {64, 2}, {128, 3}};
    struct tile_rt_map map = product_maps[0];
    begin();
    product_variants[0].map_count = cuda->map_count = 1;
    product_variants[0].maps = &map;
    for (int i = 0; i < TILE_RT_TYPE_COUNT; i++) {
        map.type = (uint8_t)rows[i].type;
        map.swizzle = (uint16_t)swizzles[i % 4][0];
        a.data = (void *)(uintptr_t)(0x20000 + 4096 * i); /* another one: maps are kept */
        EXPECT_STATUS(launch(&stream0), TILE_OK, "");
        EXPECT(cuda->encodes[i].type == rows[i].number && cuda->encodes[i].swizzle == swizzles[i % 4][1]);
        EXPECT(cuda->encodes[i].strides[0] == (uint64_t)(208 * rows[i].size));
    }
    EXPECT(cuda->encode_count == TILE_RT_TYPE_COUNT);
}
/* Parts along one dimension: two more at the end, whose strides and the last coordinate, 2^30, go round in 64 bits. */
static void parts(void)
{
    struct tile_rt_map map = product_maps[0];
    const struct fake_encode *first;
    begin();
    first = &cuda->encodes[0];
    product_variants[0].map_count = cuda->map_count = 1;
    product_variants[0].maps = &map;
    map.rank = 4;
    map.flags = TILE_RT_MAP_PART;
    map.dimension[2] = map.dimension[3] = 0;
    map.box[2] = map.box[3] = 1;
    EXPECT_STATUS(launch(&stream0), TILE_OK, "");
    EXPECT(took_maps() && first->rank == 4 && first->extents[0] == 200 && first->extents[1] == 1 << 30);
    EXPECT(first->extents[2] > 1 << 30 && first->extents[3] > 1 << 30 && first->extents[3] <= UINT64_C(1) << 32);
    EXPECT(first->strides[0] == 416 && first->strides[1] == 416 && first->strides[2] == (UINT64_C(1) << 35) - 416);
    /* element 17 of a part of 30 that ends at 105 is element 92 */
    EXPECT(((UINT64_C(1) << 30) - 30 + 17) * 416 + 105 * first->strides[1] + (first->strides[2] << 30) == 92 * 416);
    a.extent[0] = (INT64_C(1) << 30) + 1;
    expect_plain();
    expect_refused("tensor map of a, and an extent is over 2^30");
}
/* A stride that no step takes may be anything; the driver gets a legal one. */
static void one_element(void)
{
    begin();
    a.extent[0] = 1, a.stride[0] = 0;
    q.extent[1] = 1, q.stride[1] = 7;
    q.extent[3] = 1, q.stride[3] = 9, q.stride[2] = 8;
    EXPECT_STATUS(launch(&stream0), TILE_OK, "");
    EXPECT(took_maps() && cuda->encodes[0].extents[1] == 1 && cuda->encodes[0].strides[0] == 400);
    EXPECT(cuda->encodes[1].extents[0] == 1 && cuda->encodes[1].strides[0] == 16 && cuda->encodes[1].strides[1] == 16);
}
static void limits(void)
{
    begin();
    a.extent[1] = INT64_C(1) << 32;
    a.stride[0] = INT64_C(1) << 32;
    EXPECT_STATUS(launch(&stream0), TILE_OK, "");
    EXPECT(took_maps() && cuda->encodes[0].extents[0] == UINT64_C(1) << 32);
    a.extent[1]++;
    a.stride[0] += 8;
    expect_plain();
    expect_refused("tensor map of a, and an extent is over 2^32");
    a.extent[1] = 64;
    a.stride[0] = (INT64_C(1) << 39) - 8;
    EXPECT_STATUS(launch(&stream0), TILE_OK, "");
    EXPECT(took_maps() && cuda->encodes[cuda->encode_count - 1].strides[0] == (UINT64_C(1) << 40) - 16);
    a.stride[0] += 8;
    expect_plain();
    expect_refused("tensor map of a, and a stride is 2^40 bytes or more");
}

/* ---- code without maps ---- */

static void unfit_views(void)
{
    begin();
    a.stride[0] = 0;
    expect_plain();
    expect_refused("tensor map of a, and a stride is 0");
    a.stride[0] = 203;
    expect_plain();
    expect_refused("a stride is not a multiple of 16 bytes");
    a.stride[0] = 1, a.stride[1] = 304;
    expect_plain();
    expect_refused("its neighbours are not side by side");
    a.stride[0] = 208, a.stride[1] = 1;
    for (uintptr_t beside = 2; beside < 16; beside += 6) { /* 2 and 8 bytes */
        q.data = (void *)(0x900000 + beside);
        expect_plain();
        expect_refused("tensor map of q, and its base is not a multiple of 16 bytes");
    }
    q.data = (void *)(uintptr_t)0x900000;
    EXPECT_STATUS(launch(&stream0), TILE_OK, "");
    EXPECT(took_maps());
}
/* The hardware writes 16 bytes at a time, beyond the end of a row, too: random products on an H200 lost what lay in the gaps. */
static void rows_end_within_16_bytes(void)
{
    begin();
    a.stride[0] = 208, a.extent[1] = 199;
    EXPECT_STATUS(launch(&stream0), TILE_OK, "");
    EXPECT(took_maps());
    product_parameters[0].direction = TILE_RT_INOUT;
    a.data = (void *)(uintptr_t)0x70000; /* another one: maps are kept */
    expect_plain();
    expect_refused("tensor map of a, and it is written, and its rows are no multiple of 16 bytes");
    a.extent[1] = 200;
    EXPECT_STATUS(launch(&stream0), TILE_OK, "");
    EXPECT(took_maps());
    product_parameters[0].direction = TILE_RT_IN;
}
static void driver_refuses(void)
{
    begin();
    cuda->scripts[cuda->script_count++] = (struct fake_script){"cuTensorMapEncodeTiled", 2, 3, 1};
    expect_plain();
    expect_refused("tensor map of q, and the driver refuses to make it");
    expect_plain(); /* nothing is kept of a failure: the driver is asked a third time, and the next is granted */
    EXPECT(calls("cuTensorMapEncodeTiled") == 4);
    EXPECT_STATUS(launch(&stream0), TILE_OK, "");
    EXPECT(took_maps());
}
static void old_driver(void)
{
    begin();
    expect_plain();
    expect_refused("the driver is older than CUDA 12.0");
}
/* Code without maps is taken for a view without elements, as long as there is some. */
static void empty_views(void)
{
    begin();
    a.extent[1] = 0;
    a.data = NULL;
    expect_plain();
    EXPECT(cuda->encode_count == 0);
    product_targets[0].variant_count = 1;
    for (int i = 0; i < 2; i++) {
        EXPECT_STATUS(launch(&stream0), TILE_OK, "");
        EXPECT(took_maps() && cuda->encodes[0].extents[0] == 1 && cuda->encodes[0].extents[1] == 300);
        EXPECT(cuda->encodes[0].address % 16 == 0 && cuda->encodes[0].address != 0);
        EXPECT(cuda->encodes[0].strides[0] == 416);
    }
}
static void absent_view(void)
{
    begin();
    q.data = NULL;
    EXPECT_STATUS(launch(&stream0), TILE_OK, "");
    EXPECT(took_maps() && cuda->last.slots[5] == 0 && cuda->encodes[1].extents[0] == 1);
    EXPECT(cuda->encodes[1].strides[0] == 16 && cuda->encodes[1].strides[2] == 16);
    EXPECT(cuda->encodes[1].address % 16 == 0);
    EXPECT_STATUS(launch(&stream0), TILE_OK, "");
    EXPECT(cuda->encode_count == 2);
}
static void forced_variant(void)
{
    setenv("TILE_FORCE_VARIANT", "product:0", 1);
    begin();
    EXPECT_STATUS(launch(&stream0), TILE_OK, "");
    EXPECT(took_maps());
    a.stride[0] = 0;
    EXPECT_STATUS(launch(&stream0), TILE_ERR_ENVIRONMENT, "does not fit");
}

static void said(void)
{
    char text[2000];
    size_t size;
    FILE *file = tmpfile();
    setenv("TILE_VERBOSE", "1", 1);
    begin();
    dup2(fileno(file), 2);
    a.stride[0] = 0;
    expect_plain();
    rewind(file);
    size = fread(text, 1, sizeof text - 1, file);
    text[size] = 0;
    EXPECT(strstr(text, "product: no tensor map of a, since a stride is 0") != NULL);
}

/* ---- the last maps ---- */

static void kept(void)
{
    begin();
    for (int i = 0; i < 100; i++)
        EXPECT_STATUS(launch(&stream0), TILE_OK, "");
    EXPECT(cuda->launches == 100 && cuda->encode_count == 2);
    EXPECT(cuda->last.maps[0][0] == 1 && cuda->last.maps[1][0] == 2);
    a.extent[0]--;
    EXPECT_STATUS(launch(&stream0), TILE_OK, "");
    EXPECT(cuda->encode_count == 3 && cuda->last.maps[0][0] == 3 && cuda->last.maps[1][0] == 2);
    a.extent[0]++;
    EXPECT_STATUS(launch(&stream0), TILE_OK, "");
    EXPECT(cuda->encode_count == 3 && cuda->last.maps[0][0] == 1);
    a.stride[0] += 8;
    EXPECT_STATUS(launch(&stream0), TILE_OK, "");
    EXPECT(cuda->encode_count == 4 && cuda->encodes[3].strides[0] == 432);
    a.stride[1] = 2; /* the last word alone differs from a view whose map is kept */
    expect_plain();
}
/* More views than are kept: each launch gets the map of its own view. */
static void crowded(void)
{
    struct tile_rt_map maps[4];
    begin();
    for (int i = 0; i < 4; i++)
        maps[i] = product_maps[0];
    product_variants[0].map_count = cuda->map_count = 4;
    product_variants[0].maps = maps;
    for (int round = 0; round < 20; round++)
        for (int i = 0; i < 50; i++) {
            uint64_t address = 0x10000 + 0x1000 * (uint64_t)(i * (round % 3 + 1));
            a.data = (void *)(uintptr_t)address;
            q.data = NULL;
            EXPECT_STATUS(launch(&stream0), TILE_OK, "");
            for (int k = 0; k < 4; k++)
                EXPECT(cuda->last.maps[k][1] == address);
        }
    EXPECT(cuda->launches == 1000 && cuda->encode_count <= 4000);
}
static void *launch_often(void *status)
{
    uintptr_t place = 0x10000000 + (uintptr_t)status % 0x100000 / 4 * 0x10000; /* another one for each thread */
    struct view2 own = {(void *)place, {300, 200}, {208, 1}};
    int64_t one = 1;
    for (int i = 0; i < 200; i++) {
        const void *arguments[3];
        arguments[0] = &own;
        arguments[1] = NULL;
        arguments[2] = &one;
        *(int *)status |= tile_rt_launch(&product_kernel, (struct CUstream_st *)&stream0, arguments);
    }
    return NULL;
}
static void threads(void)
{
    pthread_t threads[8];
    int statuses[8] = {0};
    begin();
    for (int i = 0; i < 8; i++)
        EXPECT(pthread_create(&threads[i], NULL, launch_often, &statuses[i]) == 0);
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        EXPECT(statuses[i] == TILE_OK);
    }
    EXPECT(cuda->launches == 1600 && calls("cuTensorMapEncodeTiled") == 16);
}
/* A map says nothing of the device. */
static void two_devices(void)
{
    begin();
    cuda->architecture[1] = 90;
    EXPECT_STATUS(launch(&stream0), TILE_OK, "");
    EXPECT_STATUS(launch(&stream1), TILE_OK, "");
    EXPECT(cuda->launches == 2 && cuda->encode_count == 2 && took_maps() && cuda->last.maps[1][0] == 2);
    cuda->architecture[1] = 80;
}

/* ---- persistent grids ---- */

static void persistent(void)
{
    static const struct {
        int blocks, cluster;
        int64_t programs, grid;
    } rows[] = {
        {1, 1, 5, 5}, {1, 1, 132, 132},  {1, 1, 133, 132},  {2, 1, 1000, 264}, {1, 2, 131, 132},
        {1, 2, 1, 2}, {1, 8, 1000, 128}, {3, 16, 397, 384}, {1, 16, 3, 16},    {1, 1, INT64_C(1) << 33, 132},
        {0, 2, 5, 6},
    };
    begin();
    for (int i = 0; i < 11; i++) {
        product_variants[0].persistent = rows[i].blocks;
        product_variants[0].cluster = rows[i].cluster;
        n = rows[i].programs;
        EXPECT_STATUS(launch(&stream0), TILE_OK, "");
        EXPECT(cuda->launches == i + 1 && cuda->last.grid[0] == rows[i].grid && cuda->last.slots[16] == 0);
        EXPECT(cuda->last.slots[15] == (uint64_t)n && cuda->last.cluster == (unsigned)rows[i].cluster);
    }
}
/* Clusters that the groups of multiprocessors have no room for would run behind the others. */
static void clusters_at_once(void)
{
    begin();
    cuda->clusters = 30;
    product_variants[0].persistent = 1;
    product_variants[0].cluster = 4;
    n = 1000;
    EXPECT_STATUS(launch(&stream0), TILE_OK, "");
    EXPECT(cuda->last.grid[0] == 120 && calls("cuOccupancyMaxActiveClusters") == 1);
    n = 13;
    EXPECT_STATUS(launch(&stream0), TILE_OK, "");
    EXPECT(cuda->last.grid[0] == 16 && calls("cuOccupancyMaxActiveClusters") == 1);
    cuda->architecture[1] = 90;
    cuda->clusters = 40; /* more than there are multiprocessors for */
    n = 1000;
    EXPECT_STATUS(launch(&stream1), TILE_OK, "");
    EXPECT(cuda->last.grid[0] == 132 && calls("cuOccupancyMaxActiveClusters") == 2);
    cuda->architecture[1] = 80;
}
/* A grid of 3 x 3 has six pairs along either dimension, one of 5 x 5 ten fours. */
static void clusters_along(void)
{
    struct tile_rt_kernel wide = product_kernel;
    const int32_t grid[] = {product_grid[0], product_grid[0]}, *one = product_variants[0].grid;
    const void *arguments[] = {&a, &q, &n};
    begin();
    cuda->slot_count = 18;
    cuda->base_slot = 17;
    wide.grid_rank = 2;
    product_variants[0].grid = grid;
    product_variants[0].persistent = 1;
    for (int cluster = 2; cluster <= 4; cluster += 2) {
        product_variants[0].cluster = cluster;
        n = cluster + 1;
        EXPECT_STATUS(tile_rt_launch(&wide, (struct CUstream_st *)&stream0, arguments), TILE_OK, "");
        EXPECT(cuda->last.grid[0] == (cluster == 2 ? 12 : 40) && cuda->last.slots[16] == (uint64_t)n);
    }
    product_variants[0].grid = one;
}
static void split(void)
{
    begin();
    product_variants[0].cluster = 4;
    n = (INT64_C(1) << 31) + 1;
    EXPECT_STATUS(launch(&stream0), TILE_OK, "");
    EXPECT(cuda->launches == 2 && cuda->bases[1] == 0x7ffffffc && cuda->last.grid[0] == 8);
    product_variants[0].cluster = 1;
    product_variants[0].persistent = -4; /* programs share blocks: none is of two launches */
    EXPECT_STATUS(launch(&stream0), TILE_OK, "");
    EXPECT(cuda->launches == 4 && cuda->bases[3] == 0x7ffffffc && cuda->last.grid[0] == 2);
}
static void information(void)
{
    struct tile_kernel_info info;
    begin();
    product_variants[0].persistent = 2;
    EXPECT_STATUS(query(&info), TILE_OK, "");
    EXPECT(info.variant == 0 && info.persistent == 2 && info.maps == 2 && info.programs == 5 && info.cluster == 1);
    a.stride[0] = 0;
    EXPECT_STATUS(query(&info), TILE_OK, "");
    EXPECT(info.variant == 1 && info.persistent == 0 && info.maps == 0 && cuda->launches == 0);
}

/* ---- versions ---- */

/* Of an object of another version nothing is read but its number. */
static void other_version(void)
{
    struct tile_rt_kernel kernel;
    struct tile_kernel_info info;
    memset(&kernel, 0xee, sizeof kernel);
    kernel.abi = 1;
    EXPECT_STATUS(tile_rt_launch(&kernel, NULL, NULL), TILE_ERR_ABI, "for version 1 of the run time meets version");
    EXPECT_STATUS(tile_rt_query(&kernel, TILE_CPU, NULL, &info), TILE_ERR_ABI, "compile the .tile file again");
    EXPECT_STATUS(tile_rt_load(&kernel), TILE_ERR_ABI, "version 1");
    EXPECT(tile_rt_workspace(&kernel, NULL, NULL) == (size_t)-1);
}

/* ---- cost ---- */

/* Least mean over batches of launches whose view a moves by `step` bytes each time. */
static double cost_of(int maps, uintptr_t step)
{
    double least = 1e9;
    product_variants[0].map_count = cuda->map_count = maps;
    for (int batch = 0; batch < 50; batch++) {
        struct timespec begin, end;
        double mean;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (int i = 0; i < 2000; i++) {
            a.data = (char *)a.data + step;
            launch(&stream0);
        }
        clock_gettime(CLOCK_MONOTONIC, &end);
        mean = ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / 2000;
        least = mean < least ? mean : least;
    }
    return least;
}
static int print_costs(void)
{
    double none, hits, miss;
    begin();
    none = cost_of(0, 0);
    hits = cost_of(2, 0);
    miss = cost_of(2, 4096);
    printf("{\"no_maps_ns\": %.0f, \"two_kept_ns\": %.0f, \"one_kept_one_new_ns\": %.0f}\n", none, hits, miss);
    return 0;
}

int main(int count, char **arguments)
{
    static const struct test_case new[] = {
        CASE(encode),
        CASE(types),
        CASE(parts),
        CASE(one_element),
        CASE(limits),
        CASE(unfit_views),
        CASE(rows_end_within_16_bytes),
        CASE(driver_refuses),
        CASE(empty_views),
        CASE(absent_view),
        CASE(forced_variant),
        CASE(said),
        CASE(kept),
        CASE(crowded),
        CASE(threads),
        CASE(two_devices),
        CASE(persistent),
        CASE(clusters_at_once),
        CASE(clusters_along),
        CASE(split),
        CASE(information),
        CASE(other_version),
    };
    static const struct test_case old[] = {CASE(old_driver)};
    const char *group = count > 1 ? arguments[1] : "", *only = count > 2 ? arguments[2] : NULL;
    if (strcmp(group, "new") == 0)
        return run_cases(new, (int)(sizeof new / sizeof new[0]), only);
    if (strcmp(group, "old") == 0)
        return run_cases(old, 1, only);
    if (strcmp(group, "cost") == 0)
        return print_costs();
    return 2;
}
