/* Code of the compiler with tensor maps, launched on a driver that writes down what it is told: every map describes a
 * view of the call, the boxes suit the hardware, the blocks are those of a persistent grid, and views that no map can
 * describe go to the general instance. */
#include "case.h"
#include "fake_open.h"
#include "maps.h"

static struct fake_cuda *cuda;
static struct fake_context context = {0, 11, 0};
static struct fake_stream stream = {&context, 0};
static struct tile_bf16_2 a, b, c;
static struct tile_kernel_info info;

static void begin(void)
{
    cuda = fake_open();
    cuda->slot_count = 18;
    cuda->base_slot = 17;
    a = (struct tile_bf16_2){(tile_bf16 *)(uintptr_t)0x1000000, {3000, 200}, {208, 1}};
    b = (struct tile_bf16_2){(tile_bf16 *)(uintptr_t)0x2000000, {200, 1000}, {1000, 1}};
    c = (struct tile_bf16_2){(tile_bf16 *)(uintptr_t)0x4000000, {3000, 1000}, {1024, 1}};
}
static int run(void)
{
    struct CUstream_st *where = (struct CUstream_st *)&stream;
    int status = maps_query(where, &a, &b, &c, &info);
    if (status != TILE_OK)
        return status;
    cuda->map_count = info.maps;
    return maps(where, &a, &b, &c);
}

static void check_encode(const struct fake_encode *call)
{
    const struct tile_bf16_2 *views[3] = {&a, &b, &c};
    int i;
    for (i = 0; i < 3 && (uintptr_t)views[i]->data != call->address; i++)
        continue;
    EXPECT(i < 3);
    if (i == 3)
        return;
    EXPECT(call->type == 9 && call->rank == 2 && call->interleave == 0 && call->beyond == 0);
    EXPECT(call->extents[0] == (uint64_t)views[i]->extent[1] && call->extents[1] == (uint64_t)views[i]->extent[0]);
    EXPECT(call->strides[0] == 2 * (uint64_t)views[i]->stride[0]);
    EXPECT(call->steps[0] == 1 && call->steps[1] == 1 && call->swizzle >= 1 && call->swizzle <= 3);
    EXPECT(call->box[0] * 2 == 16u << call->swizzle); /* a row of a box is as wide as its swizzle */
    EXPECT(call->box[1] >= 8 && call->box[1] <= 256);
}
static void by_maps(void)
{
    begin();
    EXPECT_STATUS(run(), TILE_OK, "");
    EXPECT(info.variant == 0 && info.maps == 3 && info.persistent >= 1 && info.programs == 24 * 8);
    EXPECT(cuda->encode_count == 3 && cuda->unaligned_maps == 0 && cuda->launches == 1);
    for (int i = 0; i < 3; i++) {
        check_encode(&cuda->encodes[i]);
        EXPECT(cuda->last.maps[i][0] == (uint64_t)cuda->encodes[i].number);
        EXPECT(cuda->last.maps[i][1] == cuda->encodes[i].address);
    }
    EXPECT(cuda->last.grid[0] == 132 * (unsigned)info.persistent && cuda->last.block[0] == (unsigned)info.threads);
    EXPECT(cuda->last.slots[15] == 24 && cuda->last.slots[16] == 8 && cuda->last.slots[17] == 0);
    c.extent[0] = a.extent[0] = 128;
    EXPECT_STATUS(run(), TILE_OK, "");
    EXPECT(cuda->last.grid[0] == 8 && cuda->encode_count == 5); /* b is as it was */
}
static void general(void)
{
    static const int64_t strides[] = {0, 201};
    begin();
    for (int i = 0; i < 2; i++) {
        a.stride[0] = strides[i];
        EXPECT_STATUS(run(), TILE_OK, "");
        EXPECT(info.variant == 1 && info.maps == 0 && info.persistent == 0 && cuda->last.grid[0] == 24 * 8);
    }
    a.stride[0] = 208;
    b.data++;
    EXPECT_STATUS(run(), TILE_OK, "");
    EXPECT(info.variant == 1);
    b.data--;
    a.extent[1] = b.extent[0] = 0;
    EXPECT_STATUS(run(), TILE_OK, "");
    EXPECT(info.variant == 1);
    a.extent[1] = b.extent[0] = 200;
    EXPECT_STATUS(run(), TILE_OK, "");
    EXPECT(info.variant == 0 && info.maps == 3);
    for (int i = 0; i < 3; i++)
        EXPECT(cuda->last.maps[i][0] >= 1 && cuda->last.maps[i][0] <= (uint64_t)cuda->encode_count);
}

/* Of c, which is only written, the code asks whether there is a map. */
static void no_map_of_result(void)
{
    int none = 0;
    EXPECT_STATUS(run(), TILE_OK, "");
    EXPECT(info.variant == 0 && info.maps == 3 && cuda->unaligned_maps == 0);
    for (int i = 0; i < 3; i++) {
        none += cuda->last.maps[i][0] == 0 && cuda->last.maps[i][1] == 0;
        EXPECT(cuda->last.maps[i][1] != (uint64_t)(uintptr_t)c.data);
    }
    EXPECT(none == 1);
}
static void asked(void)
{
    begin();
    c.stride[0] = 1001;
    no_map_of_result();
    begin();
    c.data++;
    no_map_of_result();
    begin();
    b.extent[1] = c.extent[1] = 999; /* rows end within 16 bytes, which a map would write */
    no_map_of_result();
}

int main(void)
{
    static const struct test_case cases[] = {CASE(by_maps), CASE(general), CASE(asked)};
    return run_cases(cases, 3, NULL);
}
