/* Any DLTensor for the functions of a generated header that make a view of it, and the view for the run time: what they take is
 * what the tensor says, and whatever it says nothing outside of memory that is there is read.  `make fuzz` builds it with
 * a clang that has libFuzzer; dlpack.bats without one, and with tensors by chance. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* dlpack.h's, as far as headers use it. */
#define DLPACK_DLPACK_H_
typedef int DLDeviceType;
typedef struct {
    DLDeviceType device_type;
    int32_t device_id;
} DLDevice;
typedef struct {
    uint8_t code, bits;
    uint16_t lanes;
} DLDataType;
typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DLTensor;
#include "dlpack.h"

enum { RANK = 2, ELEMENTS = 512, MOST = 4096 };
static float memory[ELEMENTS], result[MOST];

struct bytes {
    const uint8_t *at, *end;
};

static uint8_t take_byte(struct bytes *bytes) { return bytes->at < bytes->end ? *bytes->at++ : 0; }

/* Small, at an edge, or any. */
static int64_t take_number(struct bytes *bytes)
{
    static const int64_t edges[] = {
        -1,        0,         1,         INT64_MIN,    INT64_MAX,    INT64_MAX - 1, INT32_MAX,  1LL << 31, 1LL << 32,
        1LL << 40, 1LL << 61, 1LL << 62, -(1LL << 31), -(1LL << 62), 4294967295,    3037000500, 6074001000};
    uint8_t kind = take_byte(bytes);
    if (kind < 160)
        return kind % 40;
    if (kind < 230)
        return edges[kind % (sizeof edges / sizeof edges[0])];
    uint64_t all = 0;
    for (int i = 0; i < 8; i++)
        all = all << 8 | take_byte(bytes);
    return (int64_t)all;
}

/* As the header promises it; packed strides that no int64_t is are refused. */
static int is_taken(const DLTensor *tensor, struct CUstream_st *stream)
{
    int device = tensor->device.device_type;
    __int128 packed = 1;
    if (device != 3 && device != 13 && device != (stream == TILE_CPU ? 1 : 2))
        return 0;
    if (tensor->ndim != RANK || tensor->dtype.code != 2 || tensor->dtype.bits != 32 || tensor->dtype.lanes != 1 ||
        !tensor->shape)
        return 0;
    for (int d = RANK; d-- > 0;) {
        if (tensor->shape[d] < 0 || (!tensor->strides && packed > INT64_MAX))
            return 0;
        packed *= tensor->shape[d];
    }
    return 1;
}

static void check(int holds)
{
    if (!holds)
        abort();
}

static void check_view(const DLTensor *tensor, const struct tile_f32_2 *view)
{
    __int128 packed = 1;
    uintptr_t data = tensor->data ? (uintptr_t)tensor->data + (uintptr_t)tensor->byte_offset : 0;
    check((uintptr_t)view->data == data);
    for (int d = RANK; d-- > 0;) {
        check(view->extent[d] == tensor->shape[d]);
        check(view->stride[d] == (tensor->strides ? tensor->strides[d] : (int64_t)packed));
        packed *= tensor->shape[d];
    }
}

/* All elements lie in `memory`, so that the kernel may read them. */
static int is_inside(const struct tile_f32_2 *view)
{
    __int128 last = 0;
    for (int d = 0; d < RANK; d++) {
        if (view->extent[d] < 1 || view->extent[d] > MOST || view->stride[d] < 0)
            return 0;
        last += (__int128)(view->extent[d] - 1) * view->stride[d];
    }
    uintptr_t at = (uintptr_t)view->data, first = (uintptr_t)memory;
    return view->extent[0] * view->extent[1] <= MOST && at >= first && at < first + sizeof memory &&
           (__int128)(at - first) + 4 * (last + 1) <= (__int128)sizeof memory;
}

static void run(struct tile_f32_2 view)
{
    struct tile_f32_2 copy = tile_f32_2_row_major(result, view.extent[0], view.extent[1]);
    int status = dlpack_taken(TILE_CPU, &view, &copy);
    if ((uintptr_t)view.data % sizeof(float) != 0) {
        check(status == TILE_ERR_ARG);
        return;
    }
    check(status == TILE_OK);
    for (int64_t i = 0; i < view.extent[0]; i++)
        for (int64_t k = 0; k < view.extent[1]; k++)
            check(result[i * view.extent[1] + k] == view.data[i * view.stride[0] + k * view.stride[1]]);
}

/* All checks of a call, as what is read and as what is written. */
static void ask(struct tile_f32_2 view)
{
    struct tile_f32_2 other = tile_f32_2_row_major(memory, view.extent[0], 1);
    struct tile_kernel_info info;
    other.extent[1] = view.extent[1];
    dlpack_taken_query(TILE_CPU, &view, &other, &info);
    dlpack_taken_query(TILE_CPU, &other, &view, &info);
    dlpack_taken_query(TILE_CPU, &view, &view, &info);
    dlpack_taken_workspace(TILE_CPU, &view, &other);
}

static void try_tensor(const DLTensor *tensor, struct CUstream_st *stream)
{
    struct tile_f32_2 view;
    int status = tile_f32_2_from_dlpack(tensor, stream, &view);
    check(status == (is_taken(tensor, stream) ? TILE_OK : TILE_ERR_ARG));
    if (status != TILE_OK)
        return;
    check_view(tensor, &view);
    DLTensor again = tile_f32_2_to_dlpack(&view, tensor->device);
    struct tile_f32_2 back;
    check(tile_f32_2_from_dlpack(&again, stream, &back) == TILE_OK && memcmp(&back, &view, sizeof view) == 0);
    if (stream != TILE_CPU)
        return;
    ask(view);
    if (is_inside(&view))
        run(view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes bytes = {data, data + size};
    DLTensor tensor;
    int64_t *shape = malloc(RANK * sizeof *shape), *strides = malloc(RANK * sizeof *strides); /* not one more */
    uint8_t flags = take_byte(&bytes);
    memset(&tensor, 0, sizeof tensor);
    for (int i = 0; i < ELEMENTS; i++)
        memory[i] = (float)i;
    for (int d = 0; d < RANK; d++) {
        shape[d] = take_number(&bytes);
        strides[d] = take_number(&bytes);
    }
    tensor.data = flags & 1 ? NULL : (char *)memory + take_byte(&bytes) % (flags & 2 ? sizeof memory : 1);
    tensor.byte_offset = (uint64_t)take_number(&bytes) * (flags & 4 ? 4 : 1);
    tensor.shape = (flags & 0x18) == 0x18 ? NULL : shape;
    tensor.strides = flags & 0x20 ? NULL : strides;
    tensor.device.device_type = flags & 0x40 ? (int)take_number(&bytes) : 1;
    tensor.ndim = flags & 0x80 ? (int32_t)take_number(&bytes) : RANK;
    tensor.dtype.code = (flags & 0x88) == 0x88 ? take_byte(&bytes) : 2;
    tensor.dtype.bits = (flags & 0x84) == 0x84 ? take_byte(&bytes) : 32;
    tensor.dtype.lanes = (flags & 0x82) == 0x82 ? (uint16_t)take_number(&bytes) : 1;
    try_tensor(&tensor, TILE_CPU);
    try_tensor(&tensor, NULL);
    check(tile_f32_2_from_dlpack(NULL, TILE_CPU, &(struct tile_f32_2){0}) == TILE_ERR_ARG);
    check(tile_f32_2_from_dlpack(&tensor, TILE_CPU, NULL) == TILE_ERR_ARG);
    free(shape);
    free(strides);
    return 0;
}
