/* Consumers that take programs in turn.  While one stores what it has computed, tensor cores work for the other:
 *
 *     roles role_warps(4, 4) { for %p = program to … step blocks { … store … } } { producer }
 * becomes
 *     roles role_warps(4, 4, 4) {
 *         for %p = program to … step 2 * blocks { … store …   ring on by one program }
 *     } {
 *         for %p = program + blocks to … step 2 * blocks { ring on by one program   … store … }
 *     } { producer, for all programs in order }
 *
 * Right because the producer fills rings program by program, and each consumer knows how often it fills a ring for a program of
 * the other: as often as for its own, where the bounds of loops do not depend on the program.  A consumer waits for its turn
 * in front of its loop, until the other has seen all its slots filled, so that the phase that it waits for is the next one.
 * Else nothing orders the two: each has registers and memory for its results by itself, and a slot is given back by the one
 * that it was filled for.
 *
 * Where one warpgroup consumes, alone on its multiprocessor, and blocks walk over programs.  On an H200 (bf16, tiles of
 * 128 x 128 by one warpgroup, the ratio to cublasLt's best): 8192 x 8192 x 512 0.79 by one consumer, 0.97 by two;
 * 32768 x 1024 x 1024 0.89 and 0.99; 4096 x 4096 x 4096 0.96 and 0.99; with a program a block 0.98 and 0.97;
 * 2026-11-27-h200-turns.json. */
#include "base/plant.h"
#include "passes/base/budget.h"
#include "passes/base/planning.h"
#include "passes/base/rewrite.h"
#include "passes/loops/specialise.h"

enum { CONSUMERS = 2 };

const struct ir_operation *outline_common_loop(const struct outline *o)
{
    const struct ir_operation *loop = NULL;
    for (int c = 0; c < o->channels.count; c++) {
        const struct ir_operation *parent = o->channels.data[c].wait->block->parent;
        if (!parent || parent->opcode != OP_FOR || parent->block->parent || (loop && loop != parent))
            return NULL;
        loop = parent;
    }
    return loop;
}

/* Whether the loop turns as often in each program. */
static bool turns_alike(const struct outline *o, const struct ir_operation *loop)
{
    int64_t step;
    if (!ir_constant_integer(loop->operands[2], &step) || step < 1 || ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0))
        return false;
    for (int i = 0; i < 2; i++)
        for (int d = 0; d < o->function->grid_rank; d++)
            if (outline_direction(loop->operands[i], d) != 0)
                return false;
    return true;
}

static const char *why_one(const struct outline *o)
{
    const struct ir_function *function = o->function;
    if (planning_asked_programs(function) == 1)
        return "the plan asks for it";
    if (!o->persistent)
        return "blocks do not walk over programs";
    if (function->max_registers || function->persistent > 1)
        return "several blocks share a multiprocessor";
    const struct ir_operation *loop = outline_common_loop(o);
    if (!loop)
        return "what is brought is not brought in one loop";
    if (!turns_alike(o, loop))
        return "how often its loop turns depends on the program";
    for (const struct ir_operation *op = function->body->first; op; op = op->next) {
        bool filled = op->opcode != OP_BUFFER || outline_is_staging(o, op->results[0]);
        for (int r = 0; r < o->rings.count && !filled; r++)
            filled = outline_has_buffer(&o->rings.data[r], op->results[0]);
        if (!filled)
            return "it stores to a buffer itself";
    }
    return NULL;
}

/* A ring for each consumer's results. */
static void add_staging(struct outline *o)
{
    for (int i = 0; i < o->staged.count; i++) {
        struct staged_store *staged = &o->staged.data[i];
        for (int k = 0; k < i && !staged->other; k++)
            if (o->staged.data[k].ring == staged->ring)
                staged->other = o->staged.data[k].other;
        if (staged->other)
            continue;
        struct ir_builder behind = rewrite_before(staged->ring->definition->next);
        behind.at = staged->ring->definition->at;
        staged->other = ir_build_value(&behind, OP_BUFFER, staged->ring->type, 0, NULL);
    }
}

void outline_choose_consumers(struct outline *o)
{
    o->consumers = 1;
    if (o->function->warps != IR_WARPGROUP)
        return;
    const char *why = why_one(o);
    planning_tell_programs(o->function, why ? 1 : CONSUMERS, why);
    if (why)
        return;
    o->consumers = CONSUMERS;
    add_staging(o);
}

void outline_one_consumer(struct outline *o, const char *why)
{
    o->consumers = 1;
    planning_tell_programs(o->function, 1, why);
    for (int i = 0; i < o->staged.count; i++) {
        struct ir_value *other = o->staged.data[i].other;
        for (int k = i; k < o->staged.count; k++)
            if (o->staged.data[k].other == other)
                o->staged.data[k].other = NULL;
        if (other)
            ir_remove(other->definition);
    }
}

struct ir_value *outline_fillings(const struct outline *o, int ring, struct ir_builder *builder,
                                  struct ir_value *const *copies)
{
    const struct ir_operation *loop = outline_common_loop(o);
    int channels = 0;
    struct ir_value *bound[3];
    for (int c = 0; c < o->channels.count; c++)
        channels += o->channels.data[c].ring == ring;
    for (int i = 0; i < 3; i++)
        bound[i] = copies[loop->operands[i]->id] ? copies[loop->operands[i]->id] : loop->operands[i];
    const struct ir_type *type = bound[0]->type;
    int64_t step = 1;
    ir_constant_integer(loop->operands[2], &step);
    struct ir_value *span = ir_binary(builder, OP_SUB, bound[1], bound[0]), *none = ir_constant_int(builder, type, 0);
    span = ir_binary(builder, OP_ADD, ir_binary(builder, OP_MAX, span, none), ir_constant_int(builder, type, step - 1));
    struct ir_value *turns = ir_binary(builder, OP_DIV, span, ir_constant_int(builder, type, step));
    if (PLANTED(turn_passes_one_slot_less))
        turns = ir_binary(builder, OP_SUB, turns, ir_constant_int(builder, type, 1));
    return ir_binary(builder, OP_MUL, turns, ir_constant_int(builder, type, channels));
}
