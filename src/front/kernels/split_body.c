/* `split_k = n`: one loop's range is divided among n instances, and the last of them to be done goes on with the sums.
 * Parts are one more dimension of the grid, the slowest, and the launch has memory for them.
 *
 *     sum = for k in lower..upper step s iter(acc = 0) { … yield acc + x }
 *     rest(sum)
 *
 * becomes, in the instance of `part`,
 *
 *     own = for k in lower + part*share*s .. min(upper, lower + (part + 1)*share*s) step s iter(acc = 0) { … }
 *     parts[program, part] = the bits of own
 *     if (atomic_add(arrived[program], 1, acq_rel) == n - 1) {
 *         sum = for p in 0..n iter(s = 0) { yield s + parts[program, p] }
 *         rest(sum)
 *     }
 *
 * On targets whose blocks form clusters, the parts of a program are one where they are few enough, and meet there instead
 * of counting; nothing has to be zero before the launch then:
 *
 *     if (meet() == n - 1) { … }
 *
 * Who comes last adds all parts in their order, its own among them, so that a result does not hang on when instances
 * run.  What stands in front of the loop is computed in each part and must change nothing.
 *
 * This is done to the IR as the front end has made it, so that the interpreter and every target see the same program,
 * and what stands in the way is told with its place in the source.  A second kernel that adds would share the work among
 * all multiprocessors, but costs a launch and the whole of `rest` again; parts are few where splitting helps.
 *
 * Parts are the same turns of each loop.  Even shares of the turns of all loops, which would leave no multiprocessor idle
 * in the last round, begin at other turns in each instance, so that L2 no longer gives one line to many at once:
 * 4096 x 4096 x 4096 took 211 us by such shares on an H200, 178 by whole tiles, and no shape of 14 was faster by them than by
 * the best of whole tiles; 2026-11-27-h200-stream-k.json. */
#include "base/plant.h"
#include "front/kernels/kernel_plan.h"

#include <string.h>

enum { WORD_BITS = 32, MOST_CLUSTER = 8 /* blocks that every GPU with clusters can run together */, MOST_UNROLLED = 8 };

int split_parts(const struct variant_plan *plan)
{
    int parts = variant_asked(plan, "split_k", NULL);
    return parts > 1 ? parts : 1;
}

/* Blocks that walk over programs would meet in the middle of their walk, with a producer ahead of them. */
static bool parts_meet(const struct variant_plan *plan)
{
    const struct front_options *options = plan->entry->kernel->front->options;
    int parts = split_parts(plan);
    return parts > 1 && parts <= MOST_CLUSTER && options->has_clusters && options->has_clusters(plan->target) &&
           variant_asked(plan, "persistent", NULL) < 1 && variant_asked(plan, "cluster", NULL) < 2;
}

/* ---- what the entry says, and how much memory a variant needs ---- */

void split_describe(struct entry_plan *plan)
{
    struct arena *arena = plan->kernel->front->arena;
    struct location at = plan->entry->at;
    plan->entry->splits = true;
    plan->first_split = plan->entry->scratch.count;
    vector_push(arena, &plan->entry->scratch,
                ((struct kernel_scratch){.name = "parts", .element = IR_U32, .rank = 3, .at = at}));
    vector_push(arena, &plan->entry->scratch,
                ((struct kernel_scratch){.name = "arrived", .element = IR_U32, .rank = 1, .filled = true, .at = at}));
    vector_push(arena, &plan->entry->grid_names, "split_k");
    entry_assign_slots(plan);
}

static const struct kernel_expression *host_number(struct elaborator *e, int64_t number)
{
    return host_tree(e, value_integer(number, e->builder.at), IR_I64, NULL);
}

/* The instances of the grid as written; 0 where nothing is split. */
static const struct kernel_expression *count_programs(struct elaborator *e, const struct variant_plan *plan)
{
    const struct kernel_plan *kernel = plan->entry->kernel;
    struct value all = value_integer(split_parts(plan) > 1, e->builder.at);
    for (int i = 0; i < kernel->grid.count && split_parts(plan) > 1; i++) {
        struct value count = elaborate_value(e, kernel->grid.data[i]->domain->expression);
        if (value_is_error(count))
            return NULL;
        if (count.kind == VALUE_HOST) {
            struct value least[2] = {count, value_integer(0, count.at)};
            count = host_operate(e, KERNEL_HOST_MAX, IR_I64, 2, least, count.at);
        }
        all = operate_binary(e, OPERATOR_MULTIPLY, all, count, count.at);
    }
    return host_tree(e, all, IR_I64, NULL);
}

void split_measure(struct elaborator *e, struct variant_plan *plan, const struct kernel_expression **extent)
{
    const struct kernel_expression *programs = count_programs(e, plan);
    plan->split_extents = extent;
    extent[0] = programs; /* the rows and columns of `parts` are known when the body is */
    extent[3] = parts_meet(plan) ? host_number(e, 0) : programs;
    extent[1] = extent[2] = host_number(e, 0);
}

/* ---- the rule, on the IR ---- */

struct split {
    struct elaborator *e;
    struct variant_plan *plan;
    struct ir_operation *loop;
    struct ir_value *parts, *arrived; /* arguments */
    struct ir_value *program, *part;
    int count, words;      /* instances of a loop; words of all sums, an element each */
    int64_t rows, columns; /* of the largest sum */
};

static bool refuse(struct split *s, struct location at, const char *why)
{
    front_report(s->e, DIAGNOSTIC_E0415, at, "this kernel cannot have `split_k`: %s", why);
    return false;
}

static bool is_report(const struct split *s, const struct ir_value *address)
{
    while (address->definition && address->definition->opcode == OP_POINTER_ADD)
        address = address->definition->operands[0];
    return address == s->e->report;
}

/* Memory that the operation, or one inside it, changes; NULL: none.  Reports of checks and prints do not count. */
static const struct ir_operation *find_effect(const struct split *s, const struct ir_operation *op)
{
    unsigned traits = ir_op_info[op->opcode].traits;
    if ((traits & (IR_TRAIT_WRITE | IR_TRAIT_ATOMIC)) && op->opcode != OP_ASSUME &&
        !(s->e->report && op->operand_count && is_report(s, op->operands[0])))
        return op;
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_operation *inner = op->regions[r]->first; inner; inner = inner->next) {
            const struct ir_operation *found = find_effect(s, inner);
            if (found)
                return found;
        }
    return NULL;
}

/* Values that are the sum so far, by id, from the argument of the loop on. */
struct chain {
    bool *has;
    const struct ir_block *body;
    int index; /* of the variable */
};

static bool follow(struct chain *chain, struct ir_value *value);

/* The use adds to the sum, or hands it on. */
static bool follow_use(struct chain *chain, const struct ir_use *use)
{
    struct ir_operation *op = use->user;
    struct ir_operation *parent = op->block->parent;
    switch (op->opcode) {
    case OP_ADD: return op->operands[0] != op->operands[1] && follow(chain, op->results[0]);
    case OP_DOT: return use->index == 2 && follow(chain, op->results[0]);
    case OP_FOR:
        return use->index >= 3 && follow(chain, op->regions[0]->arguments.data[use->index - 2]) &&
               follow(chain, op->results[use->index - 3]);
    case OP_YIELD:
        if (op->block == chain->body)
            return use->index == chain->index;
        return (parent->opcode == OP_IF || parent->opcode == OP_FOR) && follow(chain, parent->results[use->index]);
    default: return false;
    }
}

static bool follow(struct chain *chain, struct ir_value *value)
{
    if (chain->has[value->id])
        return true;
    chain->has[value->id] = true;
    for (const struct ir_use *use = value->uses; use; use = use->next)
        if (!follow_use(chain, use))
            return false;
    return true;
}

/* Whether each result that is the sum so far is it whichever way it came: from each branch, or in front of a loop and from
 * each of its turns. */
static bool hands_on(const struct chain *chain, const struct ir_operation *op)
{
    for (int i = 0; i < op->result_count; i++) {
        if (!chain->has[op->results[i]->id])
            continue;
        if (op->opcode == OP_FOR && !chain->has[op->operands[3 + i]->id])
            return false;
        for (int r = 0; r < op->region_count; r++)
            if (!chain->has[ir_terminator(op->regions[r])->operands[i]->id])
                return false;
    }
    return true;
}

/* Whether the sum so far comes once into what is made of it: `v += v + x` doubles it. */
static bool comes_once(const struct chain *chain, const struct ir_block *block)
{
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        if (op->opcode == OP_ADD && chain->has[op->operands[0]->id] && chain->has[op->operands[1]->id])
            return false;
        if (op->region_count && !hands_on(chain, op))
            return false;
        for (int r = 0; r < op->region_count; r++)
            if (!comes_once(chain, op->regions[r]))
                return false;
    }
    return true;
}

/* Whether the value is a constant zero, or a tile made of it. */
static bool is_zero(const struct ir_value *value)
{
    const struct ir_operation *op = value->definition;
    uint64_t bits;
    while (op && (op->opcode == OP_SPLAT || op->opcode == OP_CAST || op->opcode == OP_RESHAPE))
        op = op->operands[0]->definition;
    return op && ir_constant_of(op->results[0], &bits) && bits == 0;
}

static bool is_sum(const struct split *s, int index)
{
    const struct ir_block *body = s->loop->regions[0];
    struct chain chain = {ARENA_ARRAY(s->e->arena, bool, s->e->function->next_value_id), body, index};
    return follow(&chain, body->arguments.data[1 + index]) && chain.has[ir_terminator(body)->operands[index]->id] &&
           comes_once(&chain, body);
}

static struct ir_operation *find_loop(const struct split *s, const struct ast_statement *statement)
{
    for (struct ir_operation *op = s->e->function->body->first; op; op = op->next)
        if (op->opcode == OP_FOR && op->at.line == statement->at.line && op->at.column == statement->at.column)
            return op;
    return NULL;
}

static bool can_split(struct split *s)
{
    const struct kernel_plan *kernel = s->plan->entry->kernel;
    const struct ast_statement *statement = split_loop(kernel->declaration);
    s->loop = statement ? find_loop(s, statement) : NULL;
    if (!s->loop)
        return refuse(s, statement ? statement->at : kernel->declaration->at, "its loop may not be reached");
    if (ir_number(s->loop, IR_ATTRIBUTE_MULTIPLY, 0))
        return refuse(s, s->loop->at, "the step of the loop multiplies");
    for (const struct ir_operation *op = s->e->function->body->first; op != s->loop->next; op = op->next) {
        const struct ir_operation *effect = find_effect(s, op);
        if (effect)
            return refuse(s, effect->at,
                          op == s->loop ? "the loop writes memory" : "memory is written in front of the loop");
    }
    if (!s->loop->result_count)
        return refuse(s, s->loop->at, "the loop adds nothing up");
    for (int i = 0; i < s->loop->result_count; i++)
        if (!is_sum(s, i))
            return refuse(s, s->loop->at, "a variable of the loop is not only added to");
        else if (!is_zero(s->loop->operands[3 + i]))
            return refuse(s, s->loop->at, "a variable that is added to does not start at zero");
    return true;
}

/* ---- sums as words ---- */

static int word_count(const struct ir_type *type) { return ir_element_info[type->element].bits > WORD_BITS ? 2 : 1; }

/* A tile of any rank lies in memory as rows and columns. */
static void shape_of(const struct ir_type *type, int64_t *rows, int64_t *columns)
{
    *rows = 1;
    *columns = type->rank ? type->extent[type->rank - 1] : 1;
    for (int d = 0; d + 1 < type->rank; d++)
        *rows *= type->extent[d];
}

static enum ir_element unsigned_of(enum ir_element element)
{
    switch (ir_element_info[element].bits) {
    case 8: return IR_U8;
    case 16: return IR_U16;
    case 32: return IR_U32;
    default: return IR_U64;
    }
}

static struct ir_value *as_element(struct split *s, struct ir_value *value, enum ir_element element)
{
    const struct ir_type *type = ir_type_with_element(s->e->context, value->type, element);
    return value->type == type ? value : ir_build_value(&s->e->builder, OP_BITCAST, type, 1, &value);
}

static struct ir_value *shift_word(struct split *s, enum ir_opcode opcode, struct ir_value *value)
{
    return ir_binary(&s->e->builder, opcode, value, ir_constant_int(&s->e->builder, value->type, WORD_BITS));
}

static void to_words(struct split *s, struct ir_value *value, struct ir_value **words)
{
    struct ir_builder *b = &s->e->builder;
    enum ir_element element = value->type->element;
    value = element == IR_INDEX ? ir_cast(b, value, IR_U64) : as_element(s, value, unsigned_of(element));
    words[0] = ir_cast(b, value, IR_U32);
    if (word_count(value->type) > 1)
        words[1] = ir_cast(b, shift_word(s, OP_SHR, value), IR_U32);
}

static struct ir_value *from_words(struct split *s, struct ir_value **words, enum ir_element element)
{
    struct ir_builder *b = &s->e->builder;
    struct ir_value *value = ir_cast(b, words[0], unsigned_of(element));
    if (ir_element_info[element].bits > WORD_BITS)
        value = ir_binary(b, OP_OR, value, shift_word(s, OP_SHL, ir_cast(b, words[1], IR_U64)));
    return element == IR_INDEX ? ir_cast(b, value, IR_INDEX) : as_element(s, value, element);
}

/* ---- memory of the parts ---- */

static struct ir_value *index_number(struct split *s, int64_t number)
{
    return ir_constant_int(&s->e->builder, ir_type_scalar(s->e->context, IR_INDEX), number);
}

static struct ir_value *build_access(struct split *s, enum ir_opcode opcode, const struct ir_type *type,
                                     struct ir_value *part, int word, struct ir_value *value)
{
    struct ir_builder *b = &s->e->builder;
    int64_t place[3] = {IR_POINT, type->rank > 1 ? type->extent[0] : IR_POINT,
                        type->rank ? type->extent[type->rank - 1] : IR_POINT};
    struct ir_value *row = ir_binary(b, OP_MUL, part, index_number(s, s->words * s->rows));
    row = ir_binary(b, OP_ADD, row, index_number(s, word * s->rows));
    struct ir_value *operands[] = {s->parts, s->program, row, index_number(s, 0), value};
    struct ir_operation *access = ir_build(b, opcode, 5, operands, opcode == OP_LOAD, &type);
    ir_set_list(access, IR_ATTRIBUTE_PLACE, 3, place);
    ir_set_number(access, IR_ATTRIBUTE_INSIDE, 7); /* by the extents that the wrapper gives it */
    ir_set_number(access, IR_ATTRIBUTE_CACHE, IR_CACHE_GLOBAL);
    return opcode == OP_LOAD ? access->results[0] : NULL;
}

static const struct ir_type *word_type(struct split *s, const struct ir_type *type)
{
    int64_t extent[2];
    shape_of(type, &extent[0], &extent[1]);
    return type->rank > 1 ? ir_type_tile(s->e->context, IR_U32, 2, extent)
                          : ir_type_with_element(s->e->context, type, IR_U32);
}

static struct ir_value *reshape(struct split *s, struct ir_value *value, const struct ir_type *type)
{
    return value->type == type ? value : ir_build_value(&s->e->builder, OP_RESHAPE, type, 1, &value);
}

static void store_sums(struct split *s)
{
    for (int i = 0, word = 0; i < s->loop->result_count; i++) {
        struct ir_value *words[2], *sum = s->loop->results[i];
        const struct ir_type *type = word_type(s, sum->type);
        to_words(s, sum, words);
        for (int w = 0; w < word_count(sum->type); w++)
            build_access(s, OP_STORE, type, s->part, word++, reshape(s, words[w], type));
    }
}

static struct ir_value *load_sum(struct split *s, const struct ir_type *sum, struct ir_value *part, int *word)
{
    struct ir_value *words[2];
    const struct ir_type *type = word_type(s, sum);
    struct ir_value *other = ir_constant_int(&s->e->builder, ir_type_scalar(s->e->context, IR_U32), 0);
    for (int w = 0; w < word_count(sum); w++)
        words[w] = reshape(s, build_access(s, OP_LOAD, type, part, (*word)++, other),
                           ir_type_with_element(s->e->context, sum, IR_U32));
    return from_words(s, words, sum->element);
}

/* ---- the rewriting ---- */

/* The loop goes through the turns of its part. */
static void divide_range(struct split *s)
{
    struct ir_builder *b = &s->e->builder;
    struct ir_value *lower = s->loop->operands[0], *upper = s->loop->operands[1], *step = s->loop->operands[2];
    int64_t number;
    bool down = ir_constant_integer(step, &number) && number < 0;
    struct ir_value *one = index_number(s, 1), *n = index_number(s, s->count);
    struct ir_value *span = down ? ir_binary(b, OP_SUB, lower, upper) : ir_binary(b, OP_SUB, upper, lower);
    struct ir_value *length = down ? index_number(s, -number) : ir_binary(b, OP_MAX, step, one); /* 0: empty */
    span = ir_binary(b, OP_MAX, span, index_number(s, 0));
    struct ir_value *turns = ir_binary(b, OP_DIV, ir_binary(b, OP_ADD, span, ir_binary(b, OP_SUB, length, one)),
                                       length);
    struct ir_value *share = ir_binary(b, OP_DIV, ir_binary(b, OP_ADD, turns, index_number(s, s->count - 1)), n);
    struct ir_value *width = ir_binary(b, OP_MUL, share, step);
    struct ir_value *begin = ir_binary(b, OP_ADD, lower, ir_binary(b, OP_MUL, s->part, width));
    struct ir_value *end = ir_binary(b, OP_ADD, begin, width);
    ir_set_operand(s->loop, 0, begin);
    ir_set_operand(s->loop, 1, PLANTED(split_ends_behind) ? end : ir_binary(b, down ? OP_MAX : OP_MIN, end, upper));
}

static void find_program(struct split *s)
{
    struct ir_builder *b = &s->e->builder;
    const struct ir_type *index = ir_type_scalar(s->e->context, IR_INDEX);
    int last = s->e->function->grid_rank - 1;
    for (int d = last; d >= 0; d--) {
        struct ir_value *at = ir_build_value(b, OP_GRID_INDEX, index, 0, NULL), *size;
        ir_set_number(at->definition, IR_ATTRIBUTE_DIMENSION, d);
        if (d == last) {
            s->part = at;
            s->program = index_number(s, 0);
            continue;
        }
        size = ir_build_value(b, OP_GRID_SIZE, index, 0, NULL);
        ir_set_number(size->definition, IR_ATTRIBUTE_DIMENSION, d);
        s->program = ir_binary(b, OP_ADD, ir_binary(b, OP_MUL, s->program, size), at);
    }
}

/* How many parts came before this one.  What it releases are the parts stored in front of it, by all threads. */
static struct ir_value *arrive(struct split *s)
{
    struct ir_builder *b = &s->e->builder;
    const struct ir_type *type = ir_type_scalar(s->e->context, IR_U32);
    if (s->e->function->parts)
        return ir_build_value(b, OP_MEET, type, 0, NULL);
    struct ir_value *operands[] = {s->arrived, s->program, ir_constant_int(b, type, 1)};
    struct ir_operation *atomic = ir_build(b, OP_ATOMIC, 3, operands, 1, &type);
    int64_t place[1] = {IR_POINT};
    ir_set_list(atomic, IR_ATTRIBUTE_PLACE, 1, place);
    ir_set_number(atomic, IR_ATTRIBUTE_INSIDE, 1);
    ir_set_number(atomic, IR_ATTRIBUTE_ACTION, IR_ACTION_ADD);
    ir_set_number(atomic, IR_ATTRIBUTE_ORDER, IR_ORDER_ACQ_REL);
    ir_set_number(atomic, IR_ATTRIBUTE_SCOPE, IR_SCOPE_GPU);
    return atomic->results[0];
}

/* Adds the parts, in their order, at the builder's point; the loop that does it. */
static struct ir_operation *add_parts(struct split *s)
{
    struct ir_builder *b = &s->e->builder, saved;
    int count = s->loop->result_count, word = 0;
    struct ir_value **operands = ARENA_ARRAY(s->e->arena, struct ir_value *, count + 3);
    const struct ir_type **types = ARENA_ARRAY(s->e->arena, const struct ir_type *, count);
    operands[0] = index_number(s, 0);
    operands[1] = index_number(s, s->count);
    operands[2] = index_number(s, 1);
    for (int i = 0; i < count; i++) {
        types[i] = s->loop->results[i]->type;
        operands[3 + i] = ir_constant_int(b, types[i], 0);
    }
    struct ir_operation *sum = ir_build(b, OP_FOR, 3 + count, operands, count, types);
    if (s->count <= MOST_UNROLLED) /* all loads on their way at once */
        ir_set_number(sum, IR_ATTRIBUTE_UNROLL, 1);
    struct ir_block *body = sum->regions[0];
    struct ir_value *part = ir_block_argument(body, ir_type_scalar(s->e->context, IR_INDEX), "part");
    for (int i = 0; i < count; i++)
        ir_block_argument(body, types[i], NULL);
    saved = *b;
    *b = (struct ir_builder){saved.module, body, NULL, saved.at};
    for (int i = 0; i < count; i++)
        operands[i] = ir_binary(b, OP_ADD, body->arguments.data[1 + i], load_sum(s, types[i], part, &word));
    ir_build(b, OP_YIELD, count, operands, 0, NULL);
    *b = saved;
    return sum;
}

/* The extents of `parts`, for the wrapper and in its type. */
static void lay_out(struct split *s)
{
    for (int i = 0; i < s->loop->result_count; i++) {
        int64_t rows, columns;
        shape_of(s->loop->results[i]->type, &rows, &columns);
        s->rows = int64_max(s->rows, rows);
        s->columns = int64_max(s->columns, columns);
        s->words += word_count(s->loop->results[i]->type);
    }
    struct ir_type type = *s->parts->type;
    type.extent[1] = s->count * s->words * s->rows;
    type.extent[2] = s->columns;
    type.stride[2] = 1;
    type.stride[1] = s->columns;
    type.stride[0] = type.extent[1] * s->columns;
    s->parts->type = ir_type_intern(s->e->context, &type);
    s->plan->split_extents[1] = host_number(s->e, type.extent[1]);
    s->plan->split_extents[2] = host_number(s->e, type.extent[2]);
}

static void rewrite(struct split *s)
{
    struct ir_builder *b = &s->e->builder, saved = *b;
    struct ir_block *block = s->loop->block;
    struct ir_operation *rest = s->loop->next;
    lay_out(s);
    *b = (struct ir_builder){saved.module, block, s->loop, s->loop->at};
    find_program(s);
    divide_range(s);
    b->before = rest;
    struct ir_value *before = arrive(s),
                    *last = ir_constant_int(b, before->type, PLANTED(split_first_goes_on) ? 0 : s->count - 1);
    struct ir_value *is_last = ir_compare(b, IR_PREDICATE_EQ, before, last);
    struct ir_operation *branch = ir_build(b, OP_IF, 1, &is_last, 0, NULL);
    *b = (struct ir_builder){saved.module, branch->regions[0], NULL, s->loop->at};
    struct ir_operation *sum = add_parts(s);
    for (int i = 0; i < s->loop->result_count; i++)
        ir_replace_uses(s->loop->results[i], sum->results[i]);
    while (rest->opcode != OP_RETURN) {
        struct ir_operation *next = rest->next;
        ir_move_to_end(rest, branch->regions[0]);
        rest = next;
    }
    for (int r = 0; r < 2; r++) {
        *b = (struct ir_builder){saved.module, branch->regions[r], NULL, s->loop->at};
        ir_build(b, OP_YIELD, 0, NULL, 0, NULL);
    }
    *b = (struct ir_builder){saved.module, block, s->loop->next, s->loop->at};
    store_sums(s);
    *b = saved;
}

bool split_body(struct elaborator *e, struct variant_plan *plan)
{
    const struct ir_block *body = e->function->body;
    struct split s = {.e = e, .plan = plan, .count = split_parts(plan)};
    if (s.count <= 1)
        return true;
    s.parts = body->arguments.data[plan->split_argument];
    s.arrived = body->arguments.data[plan->split_argument + 1];
    if (!can_split(&s))
        return false;
    e->function->parts = parts_meet(plan) ? s.count : 0;
    rewrite(&s);
    return true;
}
