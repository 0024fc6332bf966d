/* See expression_list.h.  A part is found by what it is, its operands by their numbers; an operand stands in front of
 * what it is one of. */
#include "passes/schedules/expression_list.h"

enum { BUCKETS = 1024, NO_OPERAND = -1 };

struct expression_list expression_list_create(struct arena *arena)
{
    return (struct expression_list){.arena = arena, .buckets = ARENA_ARRAY(arena, int, BUCKETS)};
}

static unsigned hash_of(const struct expression_part *part)
{
    uint64_t hash = (uint64_t)part->op + 31 * (uint64_t)part->number;
    for (int i = 0; i < 3; i++)
        hash = (hash ^ (uint64_t)(unsigned)part->operand[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned)(hash >> 32) % BUCKETS;
}

static bool is_same(const struct expression_part *a, const struct expression_part *b)
{
    bool same = a->op == b->op && a->number == b->number;
    for (int i = 0; i < 3; i++)
        same = same && a->operand[i] == b->operand[i];
    return same;
}

int expression_list_add(struct expression_list *list, const struct kernel_expression *e)
{
    struct expression_part part = {.op = e->op, .number = e->number};
    for (int i = 0; i < 3; i++)
        part.operand[i] = e->operand[i] ? expression_list_add(list, e->operand[i]) : NO_OPERAND;
    int *bucket = &list->buckets[hash_of(&part)];
    for (int i = *bucket - 1; i >= 0; i = list->parts.data[i].next)
        if (is_same(&list->parts.data[i], &part))
            return i;
    part.next = *bucket - 1;
    *bucket = list->parts.count + 1;
    vector_push(list->arena, &list->parts, part);
    return list->parts.count - 1;
}

void expression_list_compute(const struct expression_list *list, const struct expression_point *point, int64_t *values)
{
    for (int i = 0; i < list->parts.count; i++) {
        const struct expression_part *part = &list->parts.data[i];
        int64_t operand[3];
        for (int k = 0; k < 3; k++)
            operand[k] = part->operand[k] == NO_OPERAND ? 0 : values[part->operand[k]];
        bool has_operands = part->operand[0] != NO_OPERAND && part->operand[1] != NO_OPERAND;
        values[i] = has_operands ? expression_apply(part->op, operand)
                                 : expression_leaf_value(point, part->op, part->number);
    }
}
