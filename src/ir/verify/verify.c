/* The part of the verifier that walks: structure, dominance, terminators, use lists.  A value is visible from its
 * definition to the end of its block, nested regions included; regions of `map`, `reduce` and `scan` see only their own values,
 * so that they can be moved and lowered alone. */
#include "ir/verify/verify.h"

#include "ir/layout/layout.h"
#include "ir/plan.h"
#include "ir/query.h"
#include "ir/text.h"

struct verifier {
    const struct ir_function *function;
    struct diagnostics *diagnostics;
    struct arena *arena;
    /* by value id */
    const struct ir_value **visible; /* the value itself while it may be used */
    const struct ir_value **seen;    /* the value once it was met: ids are unique */
    int *used;                       /* operands that name it */
    int *isolation;                  /* of the regions it is defined in */
    int isolated;                    /* current isolation number; 0: none */
    int next_isolation;
    int warps; /* that tiles here are spread over; 0: not known */
    int errors;
};

static void report(struct verifier *verifier, const struct ir_operation *op, const char *text)
{
    struct buffer line = {0};
    ir_print_operation(&line, op);
    diag_report(verifier->diagnostics, DIAGNOSTIC_E1004, op->at, "in @%s: %s: `%s`", verifier->function->name, text,
                line.data);
    buffer_free(&line);
    verifier->errors++;
}

static void report_function(struct verifier *verifier, const char *text)
{
    diag_report(verifier->diagnostics, DIAGNOSTIC_E1004, verifier->function->at, "in @%s: %s", verifier->function->name,
                text);
    verifier->errors++;
}

/* The same number of values, of the same types. */
static bool same_types(int count, struct ir_value *const *values, int wanted_count, struct ir_value *const *wanted)
{
    if (count != wanted_count)
        return false;
    for (int i = 0; i < count; i++)
        if (values[i]->type != wanted[i]->type)
            return false;
    return true;
}

static bool bad_id(const struct verifier *verifier, const struct ir_value *value)
{
    return value->id < 0 || value->id >= verifier->function->next_value_id;
}

/* ---- values ---- */

static const char *define(struct verifier *verifier, const struct ir_value *value,
                          const struct ir_operation *definition, const struct ir_block *block, int index)
{
    if (bad_id(verifier, value))
        return "a value's id is not below the function's next";
    if (verifier->seen[value->id])
        return "two values share an id";
    if (value->definition != definition || value->block != block || value->index != index)
        return "a value does not know where it is defined";
    const struct ir_type *type = value->type;
    if (verifier->function->level == IR_LEVEL_VALUE && type->layout)
        return "a type has a layout at the Value level";
    if (verifier->function->level == IR_LEVEL_VALUE && type->kind != IR_TILE && type->kind != IR_VIEW)
        return "buffers, mbarriers and tokens are not of the Value level";
    if (type->kind == IR_TILE && type->layout && verifier->warps && layout_warps(type->layout) != verifier->warps)
        return "a tile's layout covers other warps than work here";
    if ((type->kind == IR_BUFFER || type->kind == IR_MBARRIER) && (!definition || definition->region_count))
        return "buffers and mbarriers are not handed on: they have one name each";
    for (int i = 0; i < value->type->rank; i++)
        if (value->type->kind == IR_TILE && value->type->extent[i] < 1)
            return "a tile has an extent below 1";
    verifier->seen[value->id] = verifier->visible[value->id] = value;
    verifier->isolation[value->id] = verifier->isolated;
    return NULL;
}

static void check_operands(struct verifier *verifier, const struct ir_operation *op)
{
    for (int i = 0; i < op->operand_count; i++) {
        const struct ir_value *value = op->operands[i];
        const struct ir_use *use = op->uses[i];
        if (!value || bad_id(verifier, value) || verifier->visible[value->id] != value) {
            report(verifier, op, "an operand is not defined on every way to its use");
            continue;
        }
        if (verifier->isolation[value->id] != verifier->isolated)
            report(verifier, op, "a region of map, reduce or scan uses a value from outside");
        if (!use || use->user != op || use->index != i)
            report(verifier, op, "an operand's use record is wrong");
        verifier->used[value->id]++;
    }
}

/* ---- structure ---- */

static void check_attributes(struct verifier *verifier, const struct ir_operation *op)
{
    uint64_t present = 0;
    for (const struct ir_attribute *attribute = op->attributes; attribute; attribute = attribute->next) {
        if (present >> attribute->key & 1)
            report(verifier, op, "an attribute stands twice");
        present |= UINT64_C(1) << attribute->key;
        if (ir_attribute_words(attribute->key) && !ir_attribute_word(attribute->key, attribute->number))
            report(verifier, op, "an attribute's value has no meaning");
        if (ir_attribute_info[attribute->key].kind == IR_KIND_NAME && !attribute->name)
            report(verifier, op, "an attribute lacks its name");
        if (ir_attribute_info[attribute->key].kind == IR_KIND_PLAN && ir_plan_problem(attribute->plan))
            report(verifier, op, ir_plan_problem(attribute->plan));
    }
    if (present & ~ir_op_info[op->opcode].attributes)
        report(verifier, op, "the operation does not take one of its attributes");
    uint64_t missing = ir_required_attributes(op->opcode) & ~present;
    for (int key = 0; key < IR_ATTRIBUTE_COUNT; key++)
        if (missing >> key & 1)
            report(verifier, op,
                   arena_printf(verifier->arena, "attribute '%s' is missing", ir_attribute_info[key].text));
}

static const char *count_problem(const struct ir_operation *op)
{
    const struct ir_op_info *info = &ir_op_info[op->opcode];
    if (op->operand_count < info->least || (info->most >= 0 && op->operand_count > info->most))
        return "wrong number of operands";
    if (info->results >= 0 && op->result_count != info->results)
        return "wrong number of results";
    return info->regions >= 0 && op->region_count != info->regions ? "wrong number of regions" : NULL;
}

/* The terminator of a region: its kind by the parent, its types by what the parent hands on. */
static const char *terminator_problem(const struct ir_operation *parent, int region, const struct ir_operation *last)
{
    if (parent->opcode == OP_WHILE && region == 0) {
        if (last->opcode != OP_CONDITION)
            return "the first region of while ends in condition";
        const struct ir_type *type = last->operand_count ? last->operands[0]->type : NULL;
        if (!type || type->kind != IR_TILE || type->element != IR_BOOL || type->rank)
            return "condition takes a bool scalar first";
        return same_types(last->operand_count - 1, last->operands + 1, parent->result_count, parent->results)
                   ? NULL
                   : "condition hands on other types than the while has";
    }
    if (last->opcode != OP_YIELD)
        return "a region ends in yield";
    if (ir_is_isolated(parent)) {
        if (last->operand_count != parent->result_count)
            return "yield has another number of values than the operation has results";
        for (int i = 0; i < last->operand_count; i++) {
            const struct ir_type *type = last->operands[i]->type, *result = parent->results[i]->type;
            if (type->kind != IR_TILE || type->rank || type->element != result->element ||
                type->pointee != result->pointee)
                return "yield gives scalars of the results' elements here";
        }
        return NULL;
    }
    return same_types(last->operand_count, last->operands, parent->result_count, parent->results)
               ? NULL
               : "yield gives other types than the operation has results";
}

static const char *return_problem(const struct ir_function *function, const struct ir_operation *last)
{
    if (last->opcode != OP_RETURN)
        return "a function ends in return";
    if (last->operand_count != function->results.count)
        return "return has another number of values than the function has results";
    for (int i = 0; i < last->operand_count; i++)
        if (last->operands[i]->type != function->results.data[i])
            return "return gives other types than the function has results";
    return NULL;
}

static bool is_scalar_code(const struct ir_operation *op)
{
    const struct ir_op_info *info = &ir_op_info[op->opcode];
    bool control = op->opcode == OP_FOR || op->opcode == OP_WHILE || op->opcode == OP_IF;
    if (!control && !(info->traits & (IR_TRAIT_PURE | IR_TRAIT_TERMINATOR)))
        return false;
    for (int i = 0; i < op->result_count; i++)
        if (op->results[i]->type->kind != IR_TILE || op->results[i]->type->rank)
            return false;
    return true;
}

static void check_block(struct verifier *verifier, const struct ir_block *block, const struct ir_operation *parent,
                        int region);

static void check_operation(struct verifier *verifier, const struct ir_operation *op)
{
    int before = verifier->errors;
    const struct ir_op_info *info = &ir_op_info[op->opcode];
    const char *problem = count_problem(op);
    if (problem)
        report(verifier, op, problem);
    if (info->level > verifier->function->level)
        report(verifier, op, "the operation belongs to a later level");
    check_operands(verifier, op);
    check_attributes(verifier, op);
    if (verifier->isolated && !is_scalar_code(op))
        report(verifier, op, "a region of map, reduce or scan holds scalar code without memory");
    if (verifier->errors == before && (problem = ir_verify_rules(op)))
        report(verifier, op, problem);
    bool isolated = ir_is_isolated(op);
    int outer = verifier->isolated;
    if (isolated)
        verifier->isolated = ++verifier->next_isolation;
    bool no_region = isolated && op->opcode != OP_MAP &&
                     ir_number(op, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD) != IR_REDUCE_REGION;
    const struct ir_attribute *role_warps = ir_attribute(op, IR_ATTRIBUTE_ROLE_WARPS);
    int warps = verifier->warps;
    for (int i = 0; i < op->region_count; i++) {
        if (role_warps)
            verifier->warps = i < role_warps->count ? (int)role_warps->list[i] : 0;
        if (!op->regions[i] || op->regions[i]->parent != op)
            report(verifier, op, "a region does not know its operation");
        else if (!no_region)
            check_block(verifier, op->regions[i], op, i);
        else if (op->regions[i]->first || op->regions[i]->arguments.count)
            report(verifier, op, "only kind(region) has a region");
    }
    verifier->isolated = outer;
    verifier->warps = warps;
    for (int i = 0; i < op->result_count; i++)
        if ((problem = define(verifier, op->results[i], op, op->block, i)))
            report(verifier, op, problem);
}

static void check_block(struct verifier *verifier, const struct ir_block *block, const struct ir_operation *parent,
                        int region)
{
    const char *problem;
    for (int i = 0; i < block->arguments.count; i++)
        if ((problem = define(verifier, block->arguments.data[i], NULL, block, i))) {
            if (parent)
                report(verifier, parent, problem);
            else
                report_function(verifier, problem);
        }
    const struct ir_operation *previous = NULL;
    for (const struct ir_operation *op = block->first; op; previous = op, op = op->next) {
        if (op->block != block || op->previous != previous)
            report(verifier, op, "the list of operations is broken");
        check_operation(verifier, op);
        if ((ir_op_info[op->opcode].traits & IR_TRAIT_TERMINATOR) && op->next)
            report(verifier, op, "a terminator stands inside a block");
    }
    const struct ir_operation *last = ir_terminator(block);
    if (block->function != verifier->function)
        report_function(verifier, "a block belongs to another function");
    if (!last) {
        if (parent)
            report(verifier, parent, "a region does not end in a terminator");
        else
            report_function(verifier, "the function does not end in return");
    } else if ((problem = parent ? terminator_problem(parent, region, last)
                                 : return_problem(verifier->function, last))) {
        report(verifier, last, problem);
    }
    for (int i = 0; i < block->arguments.count; i++)
        if (!bad_id(verifier, block->arguments.data[i]))
            verifier->visible[block->arguments.data[i]->id] = NULL;
    for (const struct ir_operation *op = block->first; op; op = op->next)
        for (int i = 0; i < op->result_count; i++)
            if (!bad_id(verifier, op->results[i]))
                verifier->visible[op->results[i]->id] = NULL;
}

/* Each list holds as many uses as operands name the value: with the records checked from the operands, they are the
 * same. */
static void check_uses(struct verifier *verifier)
{
    for (int id = 0; id < verifier->function->next_value_id; id++) {
        const struct ir_value *value = verifier->seen[id];
        int count = 0;
        for (const struct ir_use *use = value ? value->uses : NULL; use && count <= verifier->used[id];
             use = use->next) {
            count++;
            if (use->index >= use->user->operand_count || use->user->operands[use->index] != value)
                report_function(verifier, "a use list names an operation that does not use the value");
        }
        if (value && count != verifier->used[id])
            report_function(verifier,
                            arena_printf(verifier->arena, "the use list of a value of '%s' has %d entries for %d uses",
                                         value->definition ? ir_op_info[value->definition->opcode].text : "a block",
                                         count, verifier->used[id]));
    }
}

static bool has_asked_read(const struct ir_function *function)
{
    for (int i = 0; i < function->facts.count; i++) {
        const struct ir_type *type = function->body->arguments.data[i]->type;
        if (function->facts.data[i].asked_alignment && (type->kind != IR_VIEW || type->readable || type->optional))
            return true;
    }
    return false;
}

bool ir_verify_function(const struct ir_function *function, struct diagnostics *diagnostics)
{
    struct verifier verifier = {
        .function = function, .diagnostics = diagnostics, .arena = arena_create(), .warps = function->warps};
    int count = function->next_value_id;
    verifier.visible = ARENA_ARRAY(verifier.arena, const struct ir_value *, count);
    verifier.seen = ARENA_ARRAY(verifier.arena, const struct ir_value *, count);
    verifier.used = ARENA_ARRAY(verifier.arena, int, count);
    verifier.isolation = ARENA_ARRAY(verifier.arena, int, count);
    if (function->is_kernel && function->results.count)
        report_function(&verifier, "a kernel has no results");
    if (function->grid_rank < 0 || function->grid_rank > IR_MAX_RANK)
        report_function(&verifier, "the grid's rank is out of range");
    if (function->facts.count && function->facts.count != function->body->arguments.count)
        report_function(&verifier, "facts and arguments differ in number");
    else if (has_asked_read(function))
        report_function(&verifier, "alignment is asked of views that are there and only written");
    if (function->plan && ir_plan_problem(function->plan))
        report_function(&verifier, ir_plan_problem(function->plan));
    check_block(&verifier, function->body, NULL, 0);
    check_uses(&verifier);
    arena_destroy(verifier.arena);
    return verifier.errors == 0;
}

bool ir_verify_module(const struct ir_module *module, struct diagnostics *diagnostics)
{
    bool good = true;
    for (const struct ir_function *function = module->first; function; function = function->next)
        good = ir_verify_function(function, diagnostics) && good;
    return good;
}
