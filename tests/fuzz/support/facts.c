/* Holds what is said of values against the values.  See facts.h. */
#include "facts.h"

#include "ir/facts/analysis.h"
#include "ir/facts/linear.h"
#include "passes/layout/memory_access.h"

struct facts {
    struct arena *arena;
    const struct ir_function *function;
    const struct ranges *ranges;
    const struct divisibilities *divisibilities;
    int64_t *last;     /* by value id: what an integer scalar was when it was last seen */
    int64_t bounds[3]; /* of the `for` that is about to run */
    int shown;         /* of its operands */
    const char *wrong;
};

struct facts *facts_create(struct arena *arena, const struct ir_function *function)
{
    struct facts *facts = ARENA_NEW(arena, struct facts);
    *facts = (struct facts){arena,
                            function,
                            ranges_analyse(function, arena),
                            divisibility_analyse(function, arena),
                            ARENA_ARRAY(arena, int64_t, function->next_value_id),
                            {0},
                            0,
                            NULL};
    return facts;
}

const char *facts_wrong(const struct facts *facts) { return facts->wrong; }

static void complain(struct facts *facts, const struct ir_value *value, const struct ir_operation *at, const char *what,
                     int64_t said, int64_t is)
{
    const struct ir_operation *by = value->definition;
    if (!facts->wrong)
        facts->wrong = arena_printf(facts->arena, "%s of %%%s (id %d, by %s), seen at %s: %lld is said, %lld it is",
                                    what, value->name ? value->name : "", value->id,
                                    by ? ir_op_info[by->opcode].text : "nothing", ir_op_info[at->opcode].text,
                                    (long long)said, (long long)is);
}

static bool has_numbers(const struct ir_value *value)
{
    return ir_is_integer(value->type->element) || value->type->element == IR_BOOL;
}

/* Of u64 the bits are taken for an i64's, as ranges do. */
static int64_t number_of(const struct ir_value *value, uint64_t bits)
{
    return value->type->element == IR_BOOL ? bits != 0 : ir_bits_to_int(value->type->element, bits);
}

static void check_range(struct facts *facts, const struct ir_operation *at, const struct ir_value *value,
                        const uint64_t *bits, bool made)
{
    struct range range = made ? range_of(facts->ranges, value) : range_at(facts->ranges, value, at);
    for (int64_t i = 0; i < ir_type_elements(value->type); i++) {
        int64_t number = number_of(value, bits[i]);
        if (number < range.low)
            complain(facts, value, at, "the least", range.low, number);
        if (number > range.high)
            complain(facts, value, at, "the greatest", range.high, number);
    }
}

/* Along dimension d: groups by place of consecutive and of equal elements. */
static void check_groups(struct facts *facts, const struct ir_operation *at, const struct ir_value *value,
                         const uint64_t *bits, int d, const struct divisibility *said)
{
    const struct ir_type *type = value->type;
    int width = ir_element_info[type->element].bits;
    uint64_t mask = width >= 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
    int64_t stride = 1, extent = type->rank ? type->extent[d] : 1, count = ir_type_elements(type);
    for (int later = d + 1; later < type->rank; later++)
        stride *= type->extent[later];
    for (int64_t i = 0; i < count; i++) {
        int64_t place = i / stride % extent;
        int64_t start = i - place % said->contiguity[d] * stride, equal = i - place % said->constancy[d] * stride;
        uint64_t distance = (uint64_t)(place % said->contiguity[d]);
        if (((bits[i] - bits[start] - distance) & mask) != 0)
            complain(facts, value, at, "contiguity", said->contiguity[d], (int64_t)(bits[i] - bits[start]));
        if (((bits[i] - bits[equal]) & mask) != 0)
            complain(facts, value, at, "constancy", said->constancy[d], (int64_t)(bits[i] - bits[equal]));
        if (type->element != IR_BOOL && (bits[start] & mask & (uint64_t)(said->multiple[d] - 1)) != 0)
            complain(facts, value, at, "the multiple", said->multiple[d], number_of(value, bits[start]));
    }
}

/* Of a `for` that is said to end: the number behind its last is one of its element. */
static void check_end(struct facts *facts, const struct ir_operation *loop)
{
    const struct ir_value *lower = loop->operands[0];
    int64_t number = facts->bounds[0], upper = facts->bounds[1], step = facts->bounds[2];
    bool multiply = ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0) != 0, over = false;
    if (!range_loop_ends(facts->ranges, loop) || step == 0 || (multiply && (step < 2 || number < 1)))
        return;
    while (!over && (step > 0 ? number < upper : number > upper))
        over = multiply ? __builtin_mul_overflow(number, step, &number) : __builtin_add_overflow(number, step, &number);
    struct range whole = range_of_element(lower->type->element);
    bool began = step > 0 ? facts->bounds[0] < upper : facts->bounds[0] > upper;
    if (began && (over || number < whole.low || number > whole.high))
        complain(facts, lower, loop, "the end", upper, number);
}

/* Integer scalars: scale * term + offset, and what divides them. */
static void check_scalar(struct facts *facts, const struct ir_operation *at, const struct ir_value *value,
                         uint64_t bits)
{
    int64_t number = number_of(value, bits), divisor = memory_divisor(value);
    facts->last[value->id] = number;
    if ((number & (divisor - 1)) != 0)
        complain(facts, value, at, "the divisor", divisor, number);
    struct linear linear = linear_of(facts->ranges, value);
    int64_t product = 0, sum;
    bool over = linear.term && __builtin_mul_overflow(linear.scale, facts->last[linear.term->id], &product);
    if (over || __builtin_add_overflow(product, linear.offset, &sum) || sum != number)
        complain(facts, value, at, "the linear form", product + linear.offset, number);
}

/* Operands come in their order. */
static void note_bound(struct facts *facts, const struct ir_operation *loop, const struct ir_value *value,
                       uint64_t bits)
{
    int all = 0;
    for (int i = 0; i < loop->operand_count; i++)
        all += loop->operands[i]->type->kind == IR_TILE && has_numbers(loop->operands[i]);
    if (facts->shown < 3)
        facts->bounds[facts->shown] = number_of(value, bits);
    if (++facts->shown == 3 && value->type->element != IR_U64)
        check_end(facts, loop);
    if (facts->shown == all)
        facts->shown = 0;
}

static void look(void *watcher, const struct ir_operation *operation, const struct ir_value *value,
                 const uint64_t *bits, bool made, int64_t instance)
{
    struct facts *facts = watcher;
    (void)instance;
    if (facts->wrong || !has_numbers(value) || operation->block->function != facts->function) /* one that is called */
        return;
    check_range(facts, operation, value, bits, made);
    struct divisibility said = divisibility_of(facts->divisibilities, value), asked = divisibility_ask(value);
    for (int d = 0; d < (value->type->rank ? value->type->rank : 1); d++) {
        check_groups(facts, operation, value, bits, d, &said);
        check_groups(facts, operation, value, bits, d, &asked);
    }
    if (value->type->rank == 0 && ir_is_integer(value->type->element))
        check_scalar(facts, operation, value, bits[0]);
    if (operation->opcode == OP_FOR && !made)
        note_bound(facts, operation, value, bits[0]);
}

void facts_watch(struct facts *facts, struct interp_options *options)
{
    options->watch = look;
    options->watcher = facts;
}

/* ---- how much is said ---- */

struct counting {
    struct fact_table *table;
    const struct ranges *ranges;
    const struct divisibilities *divisibilities;
};

static int bits_of(struct range range)
{
    uint64_t width = (uint64_t)range.high - (uint64_t)range.low;
    return width ? 64 - __builtin_clzll(width) : 0;
}

static void count_value(struct counting *c, const struct ir_value *value, const struct ir_operation *by)
{
    struct fact_sums *sums = &c->table->of[by ? (int)by->opcode : OP_COUNT];
    if (value->type->kind != IR_TILE || !has_numbers(value))
        return;
    struct divisibility divisibility = divisibility_of(c->divisibilities, value);
    sums->values++;
    sums->range_bits += bits_of(range_of(c->ranges, value));
    if (value->type->rank == 0 && ir_is_integer(value->type->element)) {
        sums->linear += linear_of(c->ranges, value).term != value;
        sums->divisor += __builtin_ctzll((uint64_t)memory_divisor(value));
    }
    for (int d = 0; d < (value->type->rank ? value->type->rank : 1); d++) {
        sums->multiple += __builtin_ctzll((uint64_t)divisibility.multiple[d]);
        sums->contiguity += __builtin_ctzll((uint64_t)divisibility.contiguity[d]);
        sums->constancy += __builtin_ctzll((uint64_t)divisibility.constancy[d]);
    }
}

static void count_block(struct counting *c, const struct ir_block *block)
{
    for (int i = 0; i < block->arguments.count; i++)
        count_value(c, block->arguments.data[i], NULL);
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        for (int i = 0; i < op->result_count; i++)
            count_value(c, op->results[i], op);
        for (int i = 0; i < op->operand_count; i++) /* what conditions around it say */
            if (op->operands[i]->type->kind == IR_TILE && has_numbers(op->operands[i]))
                c->table->of[OP_IF].range_bits += bits_of(range_at(c->ranges, op->operands[i], op));
        if (op->opcode == OP_FOR)
            c->table->of[OP_FOR].ends += range_loop_ends(c->ranges, op);
        for (int i = 0; i < op->region_count; i++)
            count_block(c, op->regions[i]);
    }
}

void facts_count(struct fact_table *table, const struct ir_function *function)
{
    struct arena *arena = arena_create();
    struct counting c = {table, ranges_analyse(function, arena), divisibility_analyse(function, arena)};
    count_block(&c, function->body);
    arena_destroy(arena);
}

static void count_inside(struct ir_operation *op, void *context)
{
    struct fact_table *table = context;
    if (op->opcode == OP_LOAD)
        table->of[OP_LOAD].inside += __builtin_popcountll((uint64_t)ir_number(op, IR_ATTRIBUTE_INSIDE, 0));
}

void facts_count_inside(struct fact_table *table, const struct ir_function *function)
{
    ir_walk(function->body, count_inside, table);
}

void facts_print(const struct fact_table *table, FILE *file)
{
    fprintf(file, "what,values,range bits,multiple,contiguity,constancy,ends,linear,divisor,"
                  "inside\n");
    for (int i = 0; i <= OP_COUNT; i++) {
        const struct fact_sums *s = &table->of[i];
        if (s->values || s->range_bits)
            fprintf(file, "%s,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld\n",
                    i < OP_COUNT ? ir_op_info[i].text : "arguments", (long long)s->values, (long long)s->range_bits,
                    (long long)s->multiple, (long long)s->contiguity, (long long)s->constancy, (long long)s->ends,
                    (long long)s->linear, (long long)s->divisor, (long long)s->inside);
    }
}
