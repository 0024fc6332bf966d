/* Operations: making, linking, changing operands, removing, copying. */
#include <string.h>

#include "ir/plan.h"

static struct arena *arena_of(const struct ir_operation *operation)
{
    return operation->block->function->module->arena;
}

static void link_use(struct arena *arena, struct ir_operation *operation, int index, struct ir_value *value)
{
    struct ir_use *use = ARENA_NEW(arena, struct ir_use);
    use->user = operation;
    use->index = index;
    use->next = value->uses;
    if (value->uses)
        value->uses->previous = use;
    value->uses = use;
    operation->operands[index] = value;
    operation->uses[index] = use;
}

static void unlink_use(struct ir_operation *operation, int index)
{
    struct ir_use *use = operation->uses[index];
    if (use->previous)
        use->previous->next = use->next;
    else
        operation->operands[index]->uses = use->next;
    if (use->next)
        use->next->previous = use->previous;
    operation->uses[index] = NULL;
}

static void insert(struct ir_operation *operation, struct ir_block *block, struct ir_operation *before)
{
    operation->block = block;
    operation->next = before;
    operation->previous = before ? before->previous : block->last;
    if (operation->previous)
        operation->previous->next = operation;
    else
        block->first = operation;
    if (before)
        before->previous = operation;
    else
        block->last = operation;
}

static void unlink(struct ir_operation *operation)
{
    struct ir_block *block = operation->block;
    if (operation->previous)
        operation->previous->next = operation->next;
    else
        block->first = operation->next;
    if (operation->next)
        operation->next->previous = operation->previous;
    else
        block->last = operation->previous;
    operation->next = operation->previous = NULL;
    operation->block = NULL;
}

static void reserve_operands(struct arena *arena, struct ir_operation *operation, int count)
{
    if (count <= operation->operand_capacity)
        return;
    int capacity = count + (count > 4 ? count / 2 : 2);
    struct ir_value **operands = ARENA_ARRAY(arena, struct ir_value *, capacity);
    struct ir_use **uses = ARENA_ARRAY(arena, struct ir_use *, capacity);
    for (int i = 0; i < operation->operand_count; i++) {
        operands[i] = operation->operands[i];
        uses[i] = operation->uses[i];
    }
    operation->operands = operands;
    operation->uses = uses;
    operation->operand_capacity = capacity;
}

static struct ir_operation *build(struct ir_builder *builder, enum ir_opcode opcode, int operand_count,
                                  struct ir_value *const *operands, int result_count,
                                  const struct ir_type *const *result_types, int region_count)
{
    struct ir_block *block = builder->block;
    struct ir_function *function = block->function;
    struct arena *arena = function->module->arena;
    struct ir_operation *operation = ARENA_NEW(arena, struct ir_operation);
    operation->opcode = opcode;
    operation->at = builder->at;
    insert(operation, block, builder->before);
    reserve_operands(arena, operation, operand_count);
    for (int i = 0; i < operand_count; i++) {
        if (!operands[i])
            die("operand %d of '%s' is missing", i, ir_op_info[opcode].text);
        operation->operand_count = i + 1;
        link_use(arena, operation, i, operands[i]);
    }
    operation->result_count = result_count;
    operation->results = ARENA_ARRAY(arena, struct ir_value *, result_count);
    for (int i = 0; i < result_count; i++) {
        struct ir_value *result = ARENA_NEW(arena, struct ir_value);
        result->type = result_types[i];
        result->definition = operation;
        result->block = block;
        result->index = i;
        result->id = function->next_value_id++;
        operation->results[i] = result;
    }
    operation->region_count = region_count;
    operation->regions = ARENA_ARRAY(arena, struct ir_block *, region_count);
    for (int i = 0; i < region_count; i++)
        operation->regions[i] = ir_block_create(function, operation);
    return operation;
}

struct ir_operation *ir_build(struct ir_builder *builder, enum ir_opcode opcode, int operand_count,
                              struct ir_value *const *operands, int result_count,
                              const struct ir_type *const *result_types)
{
    return build(builder, opcode, operand_count, operands, result_count, result_types, ir_op_info[opcode].regions);
}

struct ir_operation *ir_build_regions(struct ir_builder *builder, enum ir_opcode opcode, int region_count)
{
    return build(builder, opcode, 0, NULL, 0, NULL, region_count);
}

struct ir_value *ir_build_value(struct ir_builder *builder, enum ir_opcode opcode, const struct ir_type *type,
                                int operand_count, struct ir_value *const *operands)
{
    return ir_build(builder, opcode, operand_count, operands, 1, &type)->results[0];
}

/* ---- attributes: a short list, kept in key order so that printing and comparing need no sorting ---- */

static struct ir_attribute *attribute_for(struct ir_operation *operation, enum ir_attribute_key key)
{
    struct ir_attribute **link = &operation->attributes;
    while (*link && (*link)->key < key)
        link = &(*link)->next;
    if (*link && (*link)->key == key)
        return *link;
    struct ir_attribute *made = ARENA_NEW(arena_of(operation), struct ir_attribute);
    made->key = key;
    made->next = *link;
    *link = made;
    return made;
}

void ir_set_number(struct ir_operation *operation, enum ir_attribute_key key, int64_t number)
{
    attribute_for(operation, key)->number = number;
}

void ir_set_bits(struct ir_operation *operation, enum ir_attribute_key key, uint64_t bits)
{
    attribute_for(operation, key)->bits = bits;
}

void ir_set_list(struct ir_operation *operation, enum ir_attribute_key key, int count, const int64_t *list)
{
    struct ir_attribute *attribute = attribute_for(operation, key);
    attribute->count = count;
    attribute->list = count ? arena_copy(arena_of(operation), list, sizeof *list * (size_t)count) : NULL;
}

void ir_set_name(struct ir_operation *operation, enum ir_attribute_key key, const char *name)
{
    attribute_for(operation, key)->name = name;
}

void ir_set_plan(struct ir_operation *operation, enum ir_attribute_key key, struct ir_plan *plan)
{
    attribute_for(operation, key)->plan = plan;
}

const struct ir_attribute *ir_attribute(const struct ir_operation *operation, enum ir_attribute_key key)
{
    for (const struct ir_attribute *attribute = operation->attributes; attribute; attribute = attribute->next)
        if (attribute->key == key)
            return attribute;
    return NULL;
}

int64_t ir_number(const struct ir_operation *operation, enum ir_attribute_key key, int64_t otherwise)
{
    const struct ir_attribute *attribute = ir_attribute(operation, key);
    return attribute ? attribute->number : otherwise;
}

void ir_remove_attribute(struct ir_operation *operation, enum ir_attribute_key key)
{
    struct ir_attribute **link = &operation->attributes;
    while (*link && (*link)->key != key)
        link = &(*link)->next;
    if (*link)
        *link = (*link)->next;
}

/* ---- changing ---- */

void ir_set_operand(struct ir_operation *operation, int index, struct ir_value *value)
{
    if (operation->operands[index] == value)
        return;
    unlink_use(operation, index);
    link_use(arena_of(operation), operation, index, value);
}

void ir_add_operand(struct ir_operation *operation, struct ir_value *value)
{
    reserve_operands(arena_of(operation), operation, operation->operand_count + 1);
    link_use(arena_of(operation), operation, operation->operand_count++, value);
}

void ir_remove_operand(struct ir_operation *operation, int index)
{
    unlink_use(operation, index);
    for (int i = index + 1; i < operation->operand_count; i++) {
        operation->operands[i - 1] = operation->operands[i];
        operation->uses[i - 1] = operation->uses[i];
        operation->uses[i - 1]->index = i - 1;
    }
    operation->operand_count--;
}

void ir_replace_uses(struct ir_value *value, struct ir_value *by)
{
    if (value == by)
        return;
    while (value->uses)
        ir_set_operand(value->uses->user, value->uses->index, by);
}

void ir_remove(struct ir_operation *operation)
{
    for (int i = 0; i < operation->result_count; i++)
        if (operation->results[i]->uses)
            die("'%s' is removed while its result %d is used", ir_op_info[operation->opcode].text, i);
    for (int i = 0; i < operation->region_count; i++)
        while (operation->regions[i]->last)
            ir_remove(operation->regions[i]->last);
    for (int i = 0; i < operation->operand_count; i++)
        unlink_use(operation, i);
    unlink(operation);
}

static void move(struct ir_operation *operation, struct ir_block *block, struct ir_operation *before)
{
    unlink(operation);
    insert(operation, block, before);
    for (int i = 0; i < operation->result_count; i++)
        operation->results[i]->block = block;
}

void ir_move_before(struct ir_operation *operation, struct ir_operation *before)
{
    if (operation != before)
        move(operation, before->block, before);
}

void ir_move_to_end(struct ir_operation *operation, struct ir_block *block) { move(operation, block, NULL); }

/* ---- copying ---- */

static void copy_attributes(struct ir_operation *to, const struct ir_operation *from)
{
    for (const struct ir_attribute *attribute = from->attributes; attribute; attribute = attribute->next) {
        struct ir_attribute *copy = attribute_for(to, attribute->key);
        struct ir_attribute *next = copy->next;
        *copy = *attribute;
        copy->next = next;
        if (attribute->count)
            copy->list = arena_copy(arena_of(to), attribute->list, sizeof *attribute->list * (size_t)attribute->count);
        if (attribute->plan)
            copy->plan = ir_plan_copy(arena_of(to), attribute->plan);
    }
}

struct ir_operation *ir_clone(struct ir_builder *builder, const struct ir_operation *operation, struct ir_value **map)
{
    struct arena *arena = builder->block->function->module->arena;
    struct ir_value **operands = ARENA_ARRAY(arena, struct ir_value *, operation->operand_count);
    const struct ir_type **types = ARENA_ARRAY(arena, const struct ir_type *, operation->result_count);
    for (int i = 0; i < operation->operand_count; i++) {
        struct ir_value *operand = operation->operands[i];
        operands[i] = map[operand->id] ? map[operand->id] : operand;
    }
    for (int i = 0; i < operation->result_count; i++)
        types[i] = operation->results[i]->type;
    struct location at = builder->at;
    builder->at = operation->at;
    struct ir_operation *copy = build(builder, operation->opcode, operation->operand_count, operands,
                                      operation->result_count, types, operation->region_count);
    builder->at = at;
    copy_attributes(copy, operation);
    for (int i = 0; i < operation->result_count; i++) {
        copy->results[i]->name = operation->results[i]->name;
        map[operation->results[i]->id] = copy->results[i];
    }
    for (int i = 0; i < operation->region_count; i++) {
        const struct ir_block *region = operation->regions[i];
        struct ir_builder inner = {.module = builder->module, .block = copy->regions[i]};
        for (int k = 0; k < region->arguments.count; k++)
            map[region->arguments.data[k]->id] = ir_block_argument(copy->regions[i], region->arguments.data[k]->type,
                                                                   region->arguments.data[k]->name);
        for (const struct ir_operation *each = region->first; each; each = each->next)
            ir_clone(&inner, each, map);
    }
    return copy;
}
