/* The walk of living.h. */
#include "ir/facts/living.h"

#include <string.h>

#include "ir/query.h"

struct walk {
    struct arena *arena;
    const struct living_question *question;
    struct living now;
    const struct ir_block *inside; /* of which begin_outside asks */
};

static const struct ir_value *origin_of(const struct walk *w, const struct ir_value *value)
{
    return w->question->origin ? w->question->origin(value) : value;
}

static void begin(struct walk *w, const struct ir_value *value)
{
    if (!w->now.alive[value->id])
        w->now.weight += w->question->weight(value);
    w->now.alive[value->id] = value;
}

static void end(struct walk *w, const struct ir_value *value)
{
    if (w->now.alive[value->id])
        w->now.weight -= w->question->weight(value);
    w->now.alive[value->id] = NULL;
}

static void clear(struct walk *w)
{
    memset(w->now.alive, 0, (size_t)w->now.count * sizeof *w->now.alive);
    w->now.weight = 0;
}

static void begin_outside(struct ir_operation *op, void *data)
{
    struct walk *w = data;
    for (int i = 0; i < op->operand_count; i++) {
        const struct ir_value *value = origin_of(w, op->operands[i]);
        if (!ir_block_holds(w->inside, value->block))
            begin(w, value);
    }
}

static void take_from_outside(struct walk *w, const struct ir_block *block)
{
    w->inside = block;
    for (struct ir_operation *op = block->first; op; op = op->next) {
        begin_outside(op, w);
        for (int r = 0; r < op->region_count; r++)
            ir_walk(op->regions[r], begin_outside, w);
    }
}

static void walk_block(struct walk *w, const struct ir_block *block);

/* Each arm begins with what is alive behind the branch. */
static void walk_branches(struct walk *w, const struct ir_operation *op)
{
    size_t size = (size_t)w->now.count * sizeof *w->now.alive;
    const struct ir_value **behind = arena_copy(w->arena, w->now.alive, size);
    const struct ir_value **front = arena_copy(w->arena, w->now.alive, size);
    int64_t weight = w->now.weight;
    for (int r = 0; r < op->region_count; r++) {
        memcpy(w->now.alive, behind, size);
        w->now.weight = weight;
        walk_block(w, op->regions[r]);
        for (int i = 0; i < w->now.count; i++)
            if (w->now.alive[i])
                front[i] = w->now.alive[i];
    }
    clear(w);
    for (int i = 0; i < w->now.count; i++)
        if (front[i])
            begin(w, front[i]);
}

static void walk_roles(struct walk *w, const struct ir_operation *op)
{
    const struct living_question *question = w->question;
    for (int r = 0; r < op->region_count; r++) {
        if (question->enter_role)
            question->enter_role(op, r, question->data);
        walk_block(w, op->regions[r]);
        clear(w);
    }
    if (question->enter_role)
        question->enter_role(op, -1, question->data);
}

static void walk_operation(struct walk *w, const struct ir_operation *op)
{
    const struct living_question *question = w->question;
    bool is_loop = ir_has_trait(op, IR_TRAIT_LOOP);
    question->look(&w->now, op, LIVING_BEHIND, question->data);
    for (int i = 0; i < op->result_count; i++)
        end(w, op->results[i]);
    question->look(&w->now, op, LIVING_BETWEEN, question->data);
    for (int r = 0; is_loop && r < op->region_count; r++)
        take_from_outside(w, op->regions[r]);
    if (op->opcode == OP_ROLES)
        walk_roles(w, op);
    else if (is_loop)
        for (int r = op->region_count - 1; r >= 0; r--)
            walk_block(w, op->regions[r]);
    else if (op->region_count && !ir_is_isolated(op))
        walk_branches(w, op);
    bool counts = !question->counts || question->counts(op, question->data);
    for (int i = 0; i < op->operand_count && counts; i++)
        begin(w, origin_of(w, op->operands[i]));
    question->look(&w->now, op, LIVING_FRONT, question->data);
}

static void walk_block(struct walk *w, const struct ir_block *block)
{
    for (const struct ir_operation *op = block->last; op; op = op->previous)
        walk_operation(w, op);
    for (int i = 0; i < block->arguments.count; i++)
        end(w, block->arguments.data[i]);
}

static struct walk open_walk(struct arena *arena, const struct ir_function *function,
                             const struct living_question *question)
{
    struct walk w = {.arena = arena, .question = question, .now.count = function->next_value_id + 1};
    w.now.alive = ARENA_ARRAY(arena, const struct ir_value *, w.now.count);
    return w;
}

void living_walk(struct arena *arena, const struct ir_function *function, const struct living_question *question)
{
    struct walk w = open_walk(arena, function, question);
    walk_block(&w, function->body);
}

void living_walk_block(struct arena *arena, const struct ir_block *block, const struct living_question *question)
{
    struct walk w = open_walk(arena, block->function, question);
    take_from_outside(&w, block);
    walk_block(&w, block);
}
