/* SPDX-License-Identifier: MIT
 *
 * Where memory ends that a kernel compiled with --checks may reach by a pointer.  What tile_set_allocation says counts
 * first; then, of a pointer of a device, what the driver knows; of a view, what its extents and strides cover.  The kernel
 * gets for each argument how many bytes of the allocation lie in front of it and from it on; 0 and 0: nobody says. */
#include "tile_rt_internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct allocation {
    struct allocation *next;
    uint64_t from, bytes;
};
static struct {
    pthread_mutex_t lock;
    struct allocation *first;
} said = {.lock = PTHREAD_MUTEX_INITIALIZER};

void tile_rt_allocation_after_fork(void)
{
    tile_rt_lock_after_fork(&said.lock); /* who held it may have left the list in two parts */
    said.first = NULL;
}

/* Under the lock.  The link to the allocation that holds the address, or to NULL. */
static struct allocation **find(uint64_t address)
{
    struct allocation **link = &said.first;
    while (*link != NULL && address - (*link)->from >= (*link)->bytes)
        link = &(*link)->next;
    return link;
}

TILE_RT_PUBLIC int tile_set_allocation(const void *pointer, size_t bytes)
{
    uint64_t from = (uintptr_t)pointer;
    struct allocation **link, *now = NULL;
    if (pointer == NULL || from + bytes < from)
        return tile_rt_fail(TILE_ERR_ARG, "tile_set_allocation: %zu bytes at %p", bytes, pointer);
    if (bytes != 0 && (now = malloc(sizeof *now)) == NULL)
        return tile_rt_fail(TILE_ERR_OOM, "tile_set_allocation: no memory to keep it");
    tile_rt_settings(); /* from now on a fork's child begins anew */
    pthread_mutex_lock(&said.lock);
    link = find(from);
    if (*link != NULL) { /* said before: forgotten */
        struct allocation *old = *link;
        *link = old->next;
        free(old);
    }
    if (now != NULL) {
        *now = (struct allocation){said.first, from, bytes};
        said.first = now;
    }
    pthread_mutex_unlock(&said.lock);
    return TILE_OK;
}

/* Known to be none: negative, in elements of any size, where 0 is not known. */
static const uint64_t NOTHING = (uint64_t)-8;

static int was_said(uint64_t address, uint64_t *bounds)
{
    const struct allocation *found;
    pthread_mutex_lock(&said.lock);
    found = *find(address);
    if (found != NULL) {
        bounds[0] = address - found->from;
        bounds[1] = found->bytes - bounds[0];
    }
    pthread_mutex_unlock(&said.lock);
    return found != NULL;
}

static int driver_knows(tile_rt_pointer_attribute *ask, uint64_t address, uint64_t *bounds)
{
    enum { RANGE_START = 11, RANGE_SIZE = 12 }; /* CUpointer_attribute */
    uint64_t start = 0;
    size_t size = 0;
    if (ask == NULL || ask(&start, RANGE_START, address) != 0 || ask(&size, RANGE_SIZE, address) != 0 ||
        address - start >= size)
        return 0;
    bounds[0] = address - start;
    bounds[1] = size - bounds[0];
    return 1;
}

void tile_rt_note_allocations(const struct tile_rt_call *call, uint64_t *report, tile_rt_pointer_attribute *ask)
{
    const struct tile_rt_kernel *kernel = call->kernel;
    uint64_t *bounds = report + TILE_RT_REPORT_bounds;
    uint32_t i;
    memset(bounds, 0, 2 * TILE_RT_MAX_PARAMETERS * sizeof *bounds);
    for (i = 0; i < kernel->parameter_count; i++) {
        const struct tile_rt_parameter *parameter = &kernel->parameters[i];
        uint64_t address;
        if (parameter->kind == TILE_RT_PARAMETER_key || parameter->kind == TILE_RT_PARAMETER_struct)
            continue; /* the code has no argument for it */
        address = call->slots[call->first_slot[i]];
        if (parameter->kind == TILE_RT_PARAMETER_view && address != 0 && !was_said(address, bounds)) {
            uint64_t bytes = call->ranges[i].high - call->ranges[i].low;
            bounds[1] = bytes != 0 ? bytes : NOTHING;
        }
        if (parameter->kind == TILE_RT_PARAMETER_pointer && address != 0 && !was_said(address, bounds))
            driver_knows(ask, address, bounds);
        bounds += 2;
    }
}
