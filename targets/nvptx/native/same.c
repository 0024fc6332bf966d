/* Whether an order of a kernel's instructions computes what ptxas' order computes: each block holds the same
 * instructions, and of two that depend on each other the same one is first.  Times are proof.c's. */
#include "targets/nvptx/native/private.h"

static int report(struct native_faults *faults, int at, int other, const char *text)
{
    if (faults && faults->list.count < faults->limit)
        vector_push(faults->arena, &faults->list, ((struct native_fault){at, other, 0, text}));
    return 1;
}

static const char *describe(struct native_faults *faults, const struct native_instruction *first,
                            const struct native_instruction *second, enum native_edge edge, int place)
{
    if (!faults || faults->list.count >= faults->limit)
        return "";
    return arena_printf(faults->arena, "%s of %x came in front of %s of %x: %s%s%s", second->form->name,
                        (unsigned)second->origin * NATIVE_BYTES, first->form->name,
                        (unsigned)first->origin * NATIVE_BYTES, native_edge_names[edge], place >= 0 ? ", " : "",
                        place >= 0 ? native_place_name(faults->arena, place) : "");
}

/* Of what stays where it is nothing but what it waits for may change, and that only to more. */
static bool keeps_bits(const struct native_control *was, const struct native_control *now)
{
    return now->stall == was->stall && now->yield == was->yield && now->reuse == was->reuse &&
           (now->waits & was->waits) == was->waits;
}

/* Whether origins are a permutation of the block, and the words those of ptxas. */
static int check_members(const struct native_code *original, const struct native_code *code,
                         const struct native_block *block, struct native_faults *faults, bool *seen)
{
    int count = 0;
    for (int i = block->first; i < block->end; i++) {
        const struct native_instruction *in = &code->instructions[i];
        bool inside = in->origin >= block->first && in->origin < block->end && !seen[in->origin];
        if (!inside) {
            count += report(faults, i, -1, "an instruction is twice in its block, or comes from another one");
            continue;
        }
        seen[in->origin] = true;
        const struct native_instruction *was = &original->instructions[in->origin];
        if (in->low != was->low || in->high != was->high)
            count += report(faults, i, -1, "an instruction is another one");
        else if (in->control.write_board != was->control.write_board ||
                 in->control.read_board != was->control.read_board)
            count += report(faults, i, -1, "an instruction sets other scoreboards");
        else if (native_is_wall(was) && !keeps_bits(&was->control, &in->control))
            count += report(faults, i, -1, "the control bits of an instruction that stays are others");
    }
    return count;
}

static int check_pairs(const struct native_code *code, const struct native_block *block, struct native_faults *faults)
{
    int count = 0, place;
    for (int i = block->first; i < block->end; i++)
        for (int k = i + 1; k < block->end; k++) {
            const struct native_instruction *now_first = &code->instructions[i], *now_second = &code->instructions[k];
            if (now_first->origin < now_second->origin)
                continue;
            enum native_edge edge = native_depends(now_second, now_first, &place);
            if (edge != EDGE_NONE)
                count += report(faults, i, k, describe(faults, now_second, now_first, edge, place));
        }
    return count;
}

int native_check_order(const struct native_code *original, const struct native_code *code, struct native_faults *faults)
{
    int count = 0;
    struct arena *arena = arena_create();
    bool *seen = ARENA_ARRAY(arena, bool, code->count);
    for (int b = 0; b < code->block_count; b++) {
        int wrong = check_members(original, code, &code->blocks[b], faults, seen);
        count += wrong ? wrong : check_pairs(code, &code->blocks[b], faults);
    }
    arena_destroy(arena);
    return count;
}
