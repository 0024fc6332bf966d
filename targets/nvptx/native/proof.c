/* Whether all times are kept along all ways through a kernel, and goes on being so while its blocks change.
 *
 * At the entry of each block stands what may hold there, a state of check.c: at least what comes out of each block in front
 * of it.  If no block has a fault by what stands at its entry, the whole is right.  A block that changes is followed anew,
 * and so are those that more comes into than before; what stands at entries may thus be more than needed, and is found anew
 * from time to time. */
#include "targets/nvptx/native/private.h"

#include <string.h>

enum { MOST_CHAINS = 256, MOST_STATES = 1 << 29 /* bytes */, MOST_GROWN = 64 };

/* A block of a function is followed once for each chain of calls that leads there: ways in and out of different calls do
 * not mix.  Chain 0: the kernel itself. */
struct chain {
    int before, call;              /* the chain that the call is made in, and the block that ends with it */
    struct native_state **entries; /* of blocks; NULL: not reached */
    bool *waiting;                 /* blocks that are to be followed */
};
/* An entry as it was before a change. */
struct saved {
    int chain, block;
    struct native_state *entry;
};
struct native_proof {
    struct native_checking checking;
    struct arena *arena;
    const struct native_code *code;
    struct native_state *s; /* at work */
    size_t state_bytes;
    VECTOR(struct native_state *) spare;
    int chain_count;
    struct chain chains[MOST_CHAINS];
    bool changed, saves;
    VECTOR(struct saved) saved; /* since a change began, if it saves */
    int grown;                  /* changes that entries became more by */
};

/* ---- states ---- */

/* NULL: there are too many. */
static struct native_state *take_state(struct native_proof *w)
{
    if (w->spare.count)
        return w->spare.data[--w->spare.count];
    w->state_bytes += w->checking.state_size;
    return w->state_bytes > MOST_STATES ? NULL : arena_alloc(w->arena, w->checking.state_size);
}

static void give_state(struct native_proof *w, struct native_state *s)
{
    if (s)
        vector_push(w->arena, &w->spare, s);
}

/* Keeps a copy of an entry, once a change. */
static bool save(struct native_proof *w, int chain, int block)
{
    struct native_state *entry = w->chains[chain].entries[block], *copy = NULL;
    for (int i = 0; i < w->saved.count; i++)
        if (w->saved.data[i].chain == chain && w->saved.data[i].block == block)
            return true;
    if (entry) {
        copy = take_state(w);
        if (!copy)
            return false;
        memcpy(copy, entry, w->checking.state_size);
    }
    vector_push(w->arena, &w->saved, ((struct saved){chain, block, copy}));
    return true;
}

static void forget_saved(struct native_proof *w)
{
    for (int i = 0; i < w->saved.count; i++)
        give_state(w, w->saved.data[i].entry);
    w->saved.count = 0;
}

static void restore_saved(struct native_proof *w)
{
    for (int i = 0; i < w->saved.count; i++) {
        struct native_state **entry = &w->chains[w->saved.data[i].chain].entries[w->saved.data[i].block];
        give_state(w, *entry);
        *entry = w->saved.data[i].entry;
    }
    w->saved.count = 0;
    for (int chain = 0; chain < w->chain_count; chain++)
        memset(w->chains[chain].waiting, 0, (size_t)w->code->block_count);
}

/* ---- along all ways ---- */

/* False: there are too many states. */
static bool go_to(struct native_proof *w, int chain, int block, const struct native_state *s)
{
    struct native_state **entry = &w->chains[chain].entries[block];
    bool is_new = !*entry;
    if (!is_new && native_covers(&w->checking, *entry, s))
        return true;
    if (w->saves && !save(w, chain, block))
        return false;
    if (is_new) {
        *entry = take_state(w);
        if (!*entry)
            return false;
        native_begin_state(&w->checking, *entry);
    }
    native_join(&w->checking, *entry, s);
    w->chains[chain].waiting[block] = w->changed = true;
    return true;
}

/* The number of a chain; -1: there are too many. */
static int add_chain(struct native_proof *w, int before, int call)
{
    for (int i = 0; i < w->chain_count; i++)
        if (w->chains[i].before == before && w->chains[i].call == call)
            return i;
    if (w->chain_count == MOST_CHAINS)
        return -1;
    w->chains[w->chain_count] = (struct chain){before, call,
                                               ARENA_ARRAY(w->arena, struct native_state *, w->code->block_count),
                                               ARENA_ARRAY(w->arena, bool, w->code->block_count)};
    return w->chain_count++;
}

/* False: calls are nested without end, or there are too many states. */
static bool leave_block(struct native_proof *w, int chain, int b, const struct native_state *s)
{
    const struct native_block *block = &w->code->blocks[b];
    if (block->returns && chain && !go_to(w, w->chains[chain].before, w->chains[chain].call + 1, s))
        return false;
    for (int k = 0; k < block->next_count; k++) {
        bool enters = block->call && block->next[k] != b + 1;
        int to = enters ? add_chain(w, chain, b) : chain;
        if (to < 0 || !go_to(w, to, block->next[k], s))
            return false;
    }
    return true;
}

static bool pass_block(struct native_proof *w, int chain, int b)
{
    memcpy(w->s, w->chains[chain].entries[b], w->checking.state_size);
    native_follow_block(&w->checking, &w->code->blocks[b], w->s);
    return leave_block(w, chain, b, w->s);
}

/* Follows what waits, until nothing does.  False: too many states, or a fault where it reports. */
static bool follow_waiting(struct native_proof *w)
{
    while (w->changed) {
        w->changed = false;
        for (int chain = 0; chain < w->chain_count; chain++)
            for (int b = 0; b < w->code->block_count; b++) {
                if (!w->chains[chain].waiting[b])
                    continue;
                w->chains[chain].waiting[b] = false;
                if (!pass_block(w, chain, b) || w->checking.count)
                    return false;
            }
    }
    return true;
}

/* From the beginning. */
static bool follow_all(struct native_proof *w)
{
    w->saves = w->checking.reports = false;
    for (int chain = 0; chain < w->chain_count; chain++)
        for (int b = 0; b < w->code->block_count; b++) {
            give_state(w, w->chains[chain].entries[b]);
            w->chains[chain].entries[b] = NULL;
        }
    native_begin_state(&w->checking, w->s);
    return add_chain(w, -1, -1) == 0 && go_to(w, 0, 0, w->s) && follow_waiting(w);
}

static int count_faults(struct native_proof *w, int block, struct native_faults *faults)
{
    struct native_checking *c = &w->checking;
    c->reports = true;
    c->count = 0;
    c->faults = faults;
    for (int chain = 0; chain < w->chain_count; chain++)
        if (w->chains[chain].entries[block]) {
            memcpy(w->s, w->chains[chain].entries[block], c->state_size);
            native_follow_block(c, &w->code->blocks[block], w->s);
        }
    int count = c->count;
    c->reports = false;
    c->count = 0;
    return count;
}

static struct native_proof *begin_proof(const struct native_code *code, bool *followed)
{
    struct arena *arena = arena_create();
    struct native_proof *w = ARENA_NEW(arena, struct native_proof);
    *w = (struct native_proof){.arena = arena, .code = code};
    native_begin_checking(&w->checking, code, arena);
    w->s = arena_alloc(arena, w->checking.state_size);
    *followed = follow_all(w);
    return w;
}

int native_check_times(const struct native_code *code, struct native_faults *faults)
{
    bool followed;
    struct native_proof *w = begin_proof(code, &followed);
    int count = !followed;
    if (!followed && faults && faults->list.count < faults->limit)
        vector_push(faults->arena, &faults->list,
                    ((struct native_fault){0, -1, 0, "there are too many ways through it to follow"}));
    for (int b = 0; followed && b < code->block_count; b++)
        count += count_faults(w, b, faults);
    native_proof_destroy(w);
    return count;
}

/* ---- of a block that changed ---- */

struct native_proof *native_proof_create(const struct native_code *code)
{
    bool followed;
    struct native_proof *w = begin_proof(code, &followed);
    int count = !followed;
    for (int b = 0; b < code->block_count && count == 0; b++)
        count = count_faults(w, b, NULL);
    if (count == 0)
        return w;
    native_proof_destroy(w);
    return NULL;
}

void native_proof_destroy(struct native_proof *proof)
{
    if (proof)
        arena_destroy(proof->arena);
}

/* What comes out of the block is carried on, as far as it is more than before. */
static bool carry_on(struct native_proof *w, int block)
{
    struct native_checking *c = &w->checking;
    c->faults = NULL;
    c->reports = w->saves = true;
    w->changed = false;
    bool good = true;
    for (int chain = 0; good && chain < w->chain_count; chain++)
        if (w->chains[chain].entries[block])
            good = pass_block(w, chain, block);
    good = good && follow_waiting(w);
    c->reports = w->saves = false;
    c->count = 0;
    return good;
}

bool native_proof_change(struct native_proof *proof, const struct native_code *code, int block,
                         struct native_faults *faults)
{
    proof->code = proof->checking.code = code;
    if (count_faults(proof, block, faults))
        return false;
    if (!carry_on(proof, block)) {
        restore_saved(proof);
        return false;
    }
    proof->grown += proof->saved.count > 0;
    forget_saved(proof);
    if (proof->grown < MOST_GROWN)
        return true;
    proof->grown = 0;
    return follow_all(proof);
}
