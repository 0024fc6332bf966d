/* SPDX-License-Identifier: MIT
 *
 * Tensor maps: what a launch tells the GPU of a view, so that one thread's instruction copies a whole box of it.
 *
 * The driver makes one of 128 bytes from address, extents and strides.  That takes time, and programs launch on the
 * same views again and again, so each thread keeps the last ones it made, in sets of four by map and address.  They are
 * copied out: a later map of the same call may take the place of an earlier one.
 *
 * What the hardware can not say of a view (a stride of 0 or of 6 bytes, an extent over 2^32) is no error: the variant
 * does not fit, and one that reads by ordinary loads is looked for.  It writes 16 bytes at a time, too, even where the
 * row ends within them: a view whose rows do is not written through a map.
 *
 * Code that copies parts of a view, of which one dimension begins and ends where it says, has the hardware leave out what
 * is behind the end.  All elements up to 2^30 are inside along that dimension, whose stride is s, and two dimensions
 * follow with the strides s and 2^34 - s: coordinates (2^30 - extent + i, stop, 2^30) are the address of element
 * stop - extent + i, since 2^30 * 2^34 is 0 in 64 bits. */
#include "tile_rt_internal.h"
#include <stdlib.h>
#include <string.h>

enum { SETS = 8, WAYS = 4, VIEW_WORDS = 1 + 2 * TILE_RT_MAX_RANK };

#define MOST_EXTENT (INT64_C(1) << 32)
#define STRIDE_LIMIT (INT64_C(1) << 40)
/* For a view that is not there or has no elements: legal, and never read. */
#define NO_ADDRESS 4096

/* Keyed by the map in the object, which stays loaded, and by the view's slots. */
struct kept {
    const struct tile_rt_map *of;
    uint64_t view[VIEW_WORDS];
    struct tile_rt_tensor_map map;
};
static __thread struct {
    struct kept sets[SETS][WAYS];
    uint8_t next[SETS]; /* the way to be replaced */
} last_maps;

#define PART_ELEMENTS (UINT64_C(1) << 30)
#define PART_STRIDE (INT64_C(1) << 34)
#define PART_MOST UINT64_C(0x7fff0000) /* more than any coordinate along the last two */

struct description {
    uint64_t address, extents[TILE_RT_MAP_RANK], strides[TILE_RT_MAP_RANK];
    int present, empty;
};

static const char *describe_stride(int64_t stride, int64_t size, uint64_t *bytes)
{
    if (stride == 0)
        return "a stride is 0";
    if (stride >= STRIDE_LIMIT / size)
        return "a stride is 2^40 bytes or more";
    if (stride * size % 16 != 0)
        return "a stride is not a multiple of 16 bytes";
    *bytes = (uint64_t)(stride * size);
    return NULL;
}

/* The two dimensions at the end of a map of parts, and the extent of the one that the parts are of. */
static const char *describe_part(const struct tile_rt_map *map, const uint64_t *view, unsigned rank,
                                 struct description *d)
{
    unsigned first = map->rank - 2u, i;
    int64_t size = tile_rt_type_size(map->type), stride = (int64_t)view[1 + rank + map->dimension[first]];
    const char *refusal = NULL;
    if (!d->present || d->empty)
        stride = 16;
    for (i = 0; i < first; i++)
        if (map->dimension[i] == map->dimension[first]) {
            if (d->extents[i] > PART_ELEMENTS)
                refusal = "an extent is over 2^30";
            d->extents[i] = PART_ELEMENTS;
            d->strides[i - 1] = (uint64_t)(stride * size); /* also where there is one element, and it was never asked */
        }
    d->extents[first] = d->extents[first + 1] = PART_MOST;
    if (refusal == NULL)
        refusal = describe_stride(stride, size, &d->strides[first - 1]);
    if (refusal == NULL)
        refusal = describe_stride(PART_STRIDE - stride, size, &d->strides[first]);
    return refusal;
}

/* The view, of `rank` dimensions, in the order of the map; NULL, or what can not be said. */
static const char *describe(const struct tile_rt_map *map, const uint64_t *view,
                            const struct tile_rt_parameter *parameter, struct description *d)
{
    int64_t size = tile_rt_type_size(map->type);
    const char *refusal = NULL;
    unsigned rank = parameter->rank, i;
    d->address = view[0];
    d->empty = 0;
    for (i = 0; i < rank && refusal == NULL; i++) {
        int64_t extent = d->present ? (int64_t)view[1 + map->dimension[i]] : 1;
        int64_t stride = (int64_t)view[1 + rank + map->dimension[i]];
        d->empty |= extent == 0;
        extent = extent == 0 ? 1 : extent;
        d->extents[i] = (uint64_t)extent;
        if (extent > MOST_EXTENT)
            refusal = "an extent is over 2^32";
        else if (i == 0 && extent > 1 && stride != 1)
            refusal = "its neighbours are not side by side";
        else if (i > 0 && extent > 1)
            refusal = describe_stride(stride, size, &d->strides[i - 1]);
        else if (i > 0) /* never taken, but it has to be a legal one */
            d->strides[i - 1] = (d->extents[0] * (uint64_t)size + 15) / 16 * 16;
    }
    if ((map->flags & TILE_RT_MAP_PART) && refusal == NULL)
        refusal = describe_part(map, view, rank, d);
    if (!d->present || d->empty)
        d->address = NO_ADDRESS;
    else if (d->address % 16 != 0 && refusal == NULL)
        refusal = "its base is not a multiple of 16 bytes";
    else if ((parameter->direction & TILE_RT_OUT) && d->extents[0] * (uint64_t)size % 16 != 0 && refusal == NULL)
        refusal = "it is written, and its rows are no multiple of 16 bytes";
    return refusal;
}

static struct kept *choose_way(const struct tile_rt_map *map, const uint64_t *view, unsigned words, int *found)
{
    uint64_t mixed = ((uint64_t)(uintptr_t)map ^ view[0]) * UINT64_C(0x9e3779b97f4a7c15);
    unsigned set = (unsigned)(mixed >> 61), way;
    for (way = 0; way < WAYS; way++) {
        struct kept *kept = &last_maps.sets[set][way];
        *found = kept->of == map && memcmp(kept->view, view, words * sizeof *view) == 0;
        if (*found)
            return kept;
    }
    way = last_maps.next[set]++ % WAYS;
    return &last_maps.sets[set][way];
}

/* What code asks for itself. */
static int is_left_out(const struct tile_rt_map *map, const uint64_t *view, unsigned rank)
{
    uint64_t size = (uint64_t)tile_rt_type_size(map->type), bytes = view[0] | view[1 + map->dimension[0]] * size;
    unsigned i;
    for (i = 1; i < rank; i++)
        bytes |= view[1 + rank + map->dimension[i]] * size;
    return (map->flags & TILE_RT_MAP_ASKED) && bytes % 16 != 0;
}

/* NULL, or why there is no map. */
TILE_RT_COLD static const char *make_map(struct tile_rt_call *call, const struct tile_rt_map *map, const uint64_t *view,
                                         unsigned words, struct kept *kept, struct tile_rt_tensor_map *result)
{
    struct description d;
    const char *refusal;
    int error;
    if (is_left_out(map, view, call->kernel->parameters[map->parameter].rank)) {
        memset(result, 0, sizeof *result);
        return NULL;
    }
    d.present = call->arguments[map->parameter] != NULL;
    refusal = describe(map, view, &call->kernel->parameters[map->parameter], &d);
    if (refusal != NULL)
        return refusal;
    if (d.empty && !call->take_empty) {
        call->met_empty = 1;
        return "it has no elements";
    }
    kept->of = NULL;
    error = tile_rt_cuda_encode(&kept->map, map, d.address, d.extents, d.strides);
    if (error != 0)
        return error < 0 ? "the driver is older than CUDA 12.0, which brought them" : "the driver refuses to make it";
    *result = kept->map;
    if (!d.empty) {
        memcpy(kept->view, view, words * sizeof *view);
        kept->of = map;
    }
    return NULL;
}

int tile_rt_make_maps(struct tile_rt_call *call, const struct tile_rt_variant *variant)
{
    int i;
    if (variant->map_count > TILE_RT_FEW_MAPS && call->large_maps == NULL) {
        call->large_maps = aligned_alloc(sizeof *call->maps, TILE_RT_MAX_MAPS * sizeof *call->maps);
        if (call->large_maps == NULL) {
            call->refused = &variant->maps[0];
            call->refusal = "there is no memory for it";
            return 0;
        }
        call->maps = call->large_maps;
    }
    if (__builtin_expect(__atomic_load_n(&variant->state->record, __ATOMIC_RELAXED) == NULL, 0))
        tile_rt_keep_loaded(variant->maps); /* their addresses are keys from now on */
    for (i = 0; i < variant->map_count; i++) {
        const struct tile_rt_map *map = &variant->maps[i];
        const uint64_t *view = &call->slots[call->first_slot[map->parameter]];
        unsigned words = 1 + 2 * (unsigned)call->kernel->parameters[map->parameter].rank;
        int found;
        struct kept *kept = choose_way(map, view, words, &found);
        if (__builtin_expect(found, 1)) {
            call->maps[i] = kept->map;
            continue;
        }
        call->refusal = make_map(call, map, view, words, kept, &call->maps[i]);
        if (call->refusal != NULL) {
            call->refused = map;
            tile_rt_say("%s: no tensor map of %s, since %s; looking for code without one", call->kernel->name,
                        call->kernel->parameters[map->parameter].name, call->refusal);
            return 0;
        }
    }
    return 1;
}
