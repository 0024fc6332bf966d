/* Live ranges over the text order of operations.  A value used inside a loop but made before it lives to the loop's
 * end, because the next iteration uses it again; a value that a region yields lives to the end of that region. */
#include "ir/analysis.h"

struct numbering { struct liveness *liveness; int next; };

static void use(struct numbering *numbering, const struct ir_value *value, int at)
{
    struct live_range *range = &numbering->liveness->of[value->id];
    range->to = range->to > at ? range->to : at;
}

static void number_block(struct numbering *numbering, const struct ir_block *block);

/* Everything made before `first` and used inside lives to `last`. */
static void extend(struct numbering *numbering, const struct ir_operation *op, int first, int last)
{
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_operation *inner = op->regions[r]->first; inner; inner = inner->next) {
            for (int i = 0; i < inner->operand_count; i++)
                if (numbering->liveness->of[inner->operands[i]->id].from < first)
                    use(numbering, inner->operands[i], last);
            extend(numbering, inner, first, last);
        }
}

static void number_operation(struct numbering *numbering, const struct ir_operation *op)
{
    struct liveness *liveness = numbering->liveness;
    int first = numbering->next++;
    for (int i = 0; i < op->operand_count; i++)
        use(numbering, op->operands[i], first);
    for (int r = 0; r < op->region_count; r++) {
        for (int i = 0; i < op->regions[r]->arguments.count; i++) {
            struct ir_value *argument = op->regions[r]->arguments.data[i];
            liveness->of[argument->id] = (struct live_range){numbering->next, numbering->next};
        }
        number_block(numbering, op->regions[r]);
    }
    int last = op->region_count ? numbering->next++ : first;
    if (ir_op_info[op->opcode].traits & IR_TRAIT_LOOP) {
        extend(numbering, op, first, last);
        for (int r = 0; r < op->region_count; r++) /* carried values are written at the end of each round */
            for (int i = 0; i < op->regions[r]->arguments.count; i++)
                use(numbering, op->regions[r]->arguments.data[i], last);
    }
    for (int i = 0; i < op->result_count; i++)
        liveness->of[op->results[i]->id] = (struct live_range){last, last};
}

static void number_block(struct numbering *numbering, const struct ir_block *block)
{
    for (const struct ir_operation *op = block->first; op; op = op->next)
        number_operation(numbering, op);
}

const struct liveness *liveness_analyse(const struct ir_function *function, struct arena *arena)
{
    struct liveness *liveness = ARENA_NEW(arena, struct liveness);
    liveness->count = function->next_value_id;
    liveness->of = ARENA_ARRAY(arena, struct live_range, liveness->count);
    struct numbering numbering = {.liveness = liveness, .next = 1};
    number_block(&numbering, function->body);
    liveness->operations = numbering.next;
    return liveness;
}

struct live_range liveness_of(const struct liveness *liveness, const struct ir_value *value)
{
    return value->id < liveness->count ? liveness->of[value->id] : (struct live_range){0, 0};
}
