/* A cubin that fatbinary packed (--compress-images), unpacked to be looked at.  Of the format, which NVIDIA does not
 * describe, no more is read than what fatbinary 13 writes for one cubin, and everything is checked:
 *
 *     u32 magic, u16 version, u16 16, u64 size of the rest
 *     u16 2: a cubin, u16, u32 size of this head, u64 size of what follows it, u32 bytes of zstd, …, at 56 u64 size unpacked
 *     the bytes of zstd, and zeros */
#include "driver/info/info.h"

#include <string.h>
#include <zstd.h>

enum { FILE_HEAD = 16, KIND_CUBIN = 2, LEAST_HEAD = 64, AT_HEAD_SIZE = 4, AT_PACKED_SIZE = 16, AT_SIZE = 56 };
static const uint32_t FATBIN_MAGIC = 0xba55ed50;
static const uint64_t MOST_BYTES = 256u << 20;

bool packed_is(const void *data, size_t size)
{
    return size >= FILE_HEAD + LEAST_HEAD && memcmp(data, &FATBIN_MAGIC, sizeof FATBIN_MAGIC) == 0;
}

const void *packed_open(struct arena *arena, const void *data, size_t size, size_t *unpacked_size)
{
    const unsigned char *head = (const unsigned char *)data + FILE_HEAD;
    uint16_t kind;
    uint32_t head_size, packed_size;
    uint64_t unpacked;
    memcpy(&kind, head, sizeof kind);
    memcpy(&head_size, head + AT_HEAD_SIZE, sizeof head_size);
    memcpy(&packed_size, head + AT_PACKED_SIZE, sizeof packed_size);
    memcpy(&unpacked, head + AT_SIZE, sizeof unpacked);
    size -= FILE_HEAD;
    if (kind != KIND_CUBIN || head_size < LEAST_HEAD || head_size > size || packed_size > size - head_size ||
        unpacked > MOST_BYTES || ZSTD_getFrameContentSize(head + head_size, packed_size) != unpacked)
        return NULL;
    void *bytes = arena_alloc(arena, (size_t)unpacked);
    size_t made = ZSTD_decompress(bytes, (size_t)unpacked, head + head_size, packed_size);
    if (ZSTD_isError(made) || made != unpacked)
        return NULL;
    *unpacked_size = made;
    return bytes;
}
