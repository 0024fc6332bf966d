/* Random moves of a kernel's instructions: neighbours change places, one passes several, a stall count or a yield bit
 * changes, for one instruction or a stretch of them.  A move is kept only if the proofs of same.c and proof.c hold for what came about; so a walk goes through right
 * orders alone. */
#include "targets/nvptx/native/private.h"

enum { MOST_SLIDE = 12, MOST_SHIFT = 6, MOST_REPAIRS = 6, MOST_STRETCH = 32 };

const char *const native_move_names[NATIVE_MOVES] = {"swap", "slide", "shift", "stall", "yield"};

/* A block as it was before a step. */
struct native_step {
    struct arena *arena;
    int block;
    struct native_instruction *before;
};

uint64_t native_draw(uint64_t *seed, uint64_t below)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % below;
}

static uint64_t draw(struct native_walk *walk, uint64_t below) { return native_draw(&walk->seed, below); }

/* A place, by its share. */
static int draw_place(struct native_walk *walk)
{
    int first = 0, end = walk->code->count;
    if (!walk->shares || !walk->shares[end - 1])
        return (int)draw(walk, (uint64_t)end);
    uint64_t drawn = draw(walk, walk->shares[end - 1]);
    while (end - first > 1) { /* the first whose sum is above */
        int middle = first + (end - first) / 2;
        if (walk->shares[middle - 1] > drawn)
            end = middle;
        else
            first = middle;
    }
    return first;
}

/* What was kept for reuse is kept only where the next instruction reads it in the same slot. */
static void drop_reuse(struct native_code *code, int at, int end)
{
    struct native_instruction *in = &code->instructions[at];
    if (native_is_wall(in))
        return;
    const struct native_instruction *next = at + 1 < end ? &code->instructions[at + 1] : NULL;
    for (int slot = 0; slot < 3; slot++)
        if (in->control.reuse >> slot & 1 && (!next || next->slots[slot] != in->slots[slot] || in->slots[slot] < 0 ||
                                              native_has(&in->writes, in->slots[slot])))
            in->control.reuse &= (unsigned char)~(1u << slot);
}

void native_set_stall(struct native_instruction *in, int stall)
{
    in->control.stall = (unsigned char)stall;
    if (stall > NATIVE_YIELD_STALL)
        in->control.yield = 0;
    if (stall == 1)
        in->control.yield = 1;
}

/* Two neighbours change places; stall counts stay where they are, and the one that comes first also waits for what the
 * other waited for. */
static bool swap(struct native_code *code, int at, const struct native_block *block)
{
    struct native_instruction *first = &code->instructions[at], *second = first + 1, moved;
    int place;
    if (at < block->first || at + 1 >= block->end || native_depends(first, second, &place) != EDGE_NONE)
        return false;
    struct native_control a = first->control, b = second->control;
    moved = *first;
    *first = *second;
    *second = moved;
    first->control.waits |= a.waits;
    native_set_stall(first, a.stall);
    native_set_stall(second, b.stall);
    drop_reuse(code, at + 1, block->end);
    drop_reuse(code, at, block->end);
    if (at > block->first)
        drop_reuse(code, at - 1, block->end);
    return true;
}

/* Passes up to so many neighbours; gives how many. */
static int pass(struct native_code *code, int at, int direction, int steps, const struct native_block *block)
{
    int done = 0;
    for (; done < steps && swap(code, direction > 0 ? at : at - 1, block); done++)
        at += direction;
    return done;
}

/* One instruction passes several, up or down. */
static bool slide(struct native_walk *walk, int at, const struct native_block *block)
{
    int steps = 1 + (int)draw(walk, MOST_SLIDE), direction = draw(walk, 2) ? 1 : -1;
    return pass(walk->code, at, direction, steps, block) > 0;
}

/* The end of a stretch that begins at a place: as often as not of that alone. */
static int draw_end(struct native_walk *walk, int at, const struct native_block *block)
{
    int end = at + 1 + (draw(walk, 2) ? (int)draw(walk, MOST_STRETCH) : 0);
    return end < block->end ? end : block->end;
}

/* All of one form in a stretch pass as many others, the foremost first, so that the distances between them stay. */
static bool shift(struct native_walk *walk, int at, const struct native_block *block)
{
    struct native_code *code = walk->code;
    const struct native_form *form = code->instructions[at].form;
    int steps = 1 + (int)draw(walk, MOST_SHIFT), direction = draw(walk, 2) ? 1 : -1, done = 0;
    int end = at + 2 + (int)draw(walk, MOST_STRETCH);
    end = end < block->end ? end : block->end;
    for (int i = 0; i < end - at; i++) {
        int place = direction > 0 ? end - 1 - i : at + i;
        if (code->instructions[place].form == form)
            done += pass(code, place, direction, steps, block);
    }
    return done > 0;
}

static bool change_stall(struct native_walk *walk, int at, const struct native_block *block)
{
    int end = draw_end(walk, at, block), more = draw(walk, 3) ? -1 : 1, changed = 0;
    for (; at < end; at++) {
        struct native_instruction *in = &walk->code->instructions[at];
        int stall = in->control.stall + more;
        if (native_is_wall(in) || stall < 1 || stall > NATIVE_MOST_STALL || in->control.stall == 0)
            continue;
        native_set_stall(in, stall);
        changed++;
    }
    return changed > 0;
}

static bool change_yield(struct native_walk *walk, int at, const struct native_block *block)
{
    int end = draw_end(walk, at, block), changed = 0;
    unsigned char yield = walk->code->instructions[at].control.yield ^ 1;
    for (; at < end; at++) {
        struct native_instruction *in = &walk->code->instructions[at];
        if (native_is_wall(in) || in->control.stall > NATIVE_YIELD_STALL || in->control.stall < 2 ||
            in->control.yield == yield)
            continue;
        in->control.yield = yield;
        changed++;
    }
    return changed > 0;
}

static bool change(struct native_walk *walk, int at, const struct native_block *block)
{
    enum native_move move = (enum native_move)draw(walk, NATIVE_MOVES);
    if (walk->moves && !(walk->moves >> move & 1))
        return false;
    switch (move) {
    case MOVE_SWAP: return swap(walk->code, at, block);
    case MOVE_SLIDE: return slide(walk, at, block);
    case MOVE_SHIFT: return shift(walk, at, block);
    case MOVE_STALL: return change_stall(walk, at, block);
    default: return change_yield(walk, at, block);
    }
}

/* The cycles that a fault asks for are added in front of where it is. */
static bool repair(struct native_code *code, const struct native_faults *faults)
{
    bool repaired = false;
    for (int i = 0; i < faults->list.count; i++) {
        const struct native_fault *fault = &faults->list.data[i];
        const struct native_block *block = &code->blocks[code->block_of[fault->at]];
        int missing = fault->missing;
        for (int at = fault->at - 1; missing > 0 && at >= block->first && at >= fault->at - MOST_REPAIRS; at--) {
            struct native_instruction *in = &code->instructions[at];
            int more = NATIVE_YIELD_STALL - in->control.stall;
            more = native_is_wall(in) || more < 0 ? 0 : more < missing ? more : missing;
            native_set_stall(in, in->control.stall + more);
            missing -= more;
            repaired |= more > 0;
        }
        if (fault->missing <= 0 || missing > 0)
            return false;
    }
    return repaired;
}

static bool prove(struct native_walk *walk, int block)
{
    for (int round = 0; round < MOST_REPAIRS; round++) {
        struct arena *arena = arena_create();
        struct native_faults faults = {.arena = arena, .limit = 8};
        bool good = native_proof_change(walk->proof, walk->code, block, &faults),
             repaired = !good && repair(walk->code, &faults);
        arena_destroy(arena);
        if (good || !repaired)
            return good;
    }
    return false;
}

static void drop_step(struct native_walk *walk)
{
    if (walk->last)
        arena_destroy(walk->last->arena);
    walk->last = NULL;
}

/* Keeps the block as it is now. */
static void keep_step(struct native_walk *walk, int number)
{
    const struct native_block *block = &walk->code->blocks[number];
    size_t size = sizeof *walk->code->instructions * (size_t)(block->end - block->first);
    struct arena *arena = arena_create();
    drop_step(walk);
    walk->last = ARENA_NEW(arena, struct native_step);
    *walk->last = (struct native_step){arena, number, arena_copy(arena, walk->code->instructions + block->first, size)};
}

void native_walk_end(struct native_walk *walk)
{
    native_proof_destroy(walk->proof);
    drop_step(walk);
    walk->proof = NULL;
}

static void restore(struct native_walk *walk)
{
    const struct native_block *block = &walk->code->blocks[walk->last->block];
    for (int i = block->first; i < block->end; i++)
        walk->code->instructions[i] = walk->last->before[i - block->first];
}

void native_walk_undo(struct native_walk *walk)
{
    struct native_step *last = walk->last;
    if (!last)
        return;
    restore(walk);
    /* The proof is of what the step made. */
    if (!native_proof_change(walk->proof, walk->code, last->block, NULL)) {
        native_proof_destroy(walk->proof);
        walk->proof = NULL;
    }
    drop_step(walk);
}

bool native_walk_step(struct native_walk *walk)
{
    struct native_code *code = walk->code;
    int at = draw_place(walk), number = code->block_of[at];
    keep_step(walk, number);
    walk->tried++;
    if (!walk->proof)
        walk->proof = native_proof_create(code);
    bool good = walk->proof && change(walk, at, &code->blocks[number]) && prove(walk, number);
    if (good) {
        walk->taken++;
        return true;
    }
    restore(walk);
    drop_step(walk);
    return false;
}
