/* Products: one alone, and loops over slices of k as programs for tensor cores write them.  All factors hold small
 * integers, so that sums in any order and any precision are exact. */
#include "generate.h"

static enum ir_element sum_of(enum ir_element element)
{
    return element == IR_F64 ? IR_F64 : ir_is_float(element) ? IR_F32 : IR_I32;
}

static void set_precision(struct generator *g, struct ir_operation *made)
{
    if (random_chance(&g->random, 30))
        ir_set_number(made, IR_ATTRIBUTE_PRECISION, random_below(&g->random, IR_PRECISION_COUNT));
    if (random_chance(&g->random, 15))
        ir_set_number(made, IR_ATTRIBUTE_PROMOTE, 1);
}

void fuzz_dot(struct generator *g)
{
    enum ir_element element = (enum ir_element)random_between(&g->random, IR_I8, IR_INDEX), second = element;
    if (ir_is_float(element) && ir_element_info[element].bits == 8 && random_chance(&g->random, 50))
        second = random_chance(&g->random, 50) ? IR_F8E4M3 : IR_F8E5M2;
    enum ir_element result = sum_of(element);
    int64_t m = INT64_C(1) << random_below(&g->random, 6), n = INT64_C(1) << random_below(&g->random, 6);
    int64_t k = INT64_C(1) << random_below(&g->random, 6), batch = random_chance(&g->random, 20) ? 2 : 0;
    int rank = batch ? 3 : 2;
    int64_t left[3] = {2, m, k}, right[3] = {2, k, n}, out[3] = {2, m, n};
    struct known a = fuzz_of_type(g, ir_type_tile(g->context, element, rank, left + 3 - rank), true);
    struct known b = fuzz_of_type(g, ir_type_tile(g->context, second, rank, right + 3 - rank), true);
    struct known c = fuzz_of_type(g, ir_type_tile(g->context, result, rank, out + 3 - rank), true);
    if (ir_is_float(element)) { /* tf32 keeps 11 bits */
        double most = a.bound > 64 || b.bound > 64 ? 64 : 0;
        if (most > 0) {
            a.value = fuzz_clamp(g, a.value, 8);
            b.value = fuzz_clamp(g, b.value, 8);
            a.bound = b.bound = 8;
        }
        if (a.bound * b.bound * (double)k + c.bound > fuzz_limit(result)) {
            c.value = ir_constant_int(&g->builder, c.value->type, 0);
            c.bound = 0;
        }
    }
    double bound = a.bound * b.bound * (double)k + c.bound;
    struct ir_value *operands[3] = {a.value, b.value, c.value};
    struct ir_value *made = ir_build_value(&g->builder, OP_DOT, c.value->type, 3, operands);
    set_precision(g, made->definition);
    fuzz_know(g, made, bound, true);
}

/* ---- loops over k ---- */

static struct ir_value *add_view(struct generator *g, enum ir_element element, int64_t rows, int64_t columns,
                                 bool output, int64_t block, const char *name)
{
    struct fuzz_program *p = g->program;
    int64_t pitch = columns + (random_chance(&g->random, 50)   ? 0
                               : random_chance(&g->random, 50) ? 8
                                                               : random_between(&g->random, 1, 9));
    struct ir_type type = {.kind = IR_VIEW,
                           .element = element,
                           .rank = 2,
                           .extent = {IR_DYNAMIC, IR_DYNAMIC},
                           .stride = {IR_DYNAMIC, 1},
                           .readable = true,
                           .writable = output};
    p->arguments[p->argument_count] = (struct fuzz_argument){.type = ir_type_intern(g->context, &type),
                                                             .output = output,
                                                             .block = block,
                                                             .extent = {rows, columns},
                                                             .stride = {pitch, 1},
                                                             .elements = rows * pitch + 1,
                                                             .content = FUZZ_SMALL_INTEGERS,
                                                             .fill = p->seed * 31 + (uint64_t)p->argument_count};
    p->argument_count++;
    return ir_block_argument(p->function->body, p->arguments[p->argument_count - 1].type,
                             intern(ir_context_names(g->context), name));
}

void fuzz_make_product(struct generator *g)
{
    static const enum ir_element elements[] = {IR_F16,    IR_F16, IR_BF16, IR_BF16, IR_F32, IR_F8E4M3,
                                               IR_F8E5M2, IR_I8,  IR_U8,   IR_I32,  IR_F64};
    struct known_product *p = &g->product;
    p->element = elements[random_below(&g->random, 11)];
    p->m = INT64_C(8) << random_below(&g->random, 3);
    p->n = INT64_C(8) << random_below(&g->random, 3);
    p->k = INT64_C(8) << random_below(&g->random, 3);
    p->transposed = random_chance(&g->random, 40);
    int64_t depth = random_chance(&g->random, 40) ? p->k * random_between(&g->random, 1, 4)
                                                  : random_between(&g->random, 0, 75);
    int64_t rows = random_between(&g->random, 1, 60), columns = random_between(&g->random, 1, (int)p->n + 9);
    p->argument = g->program->argument_count;
    p->a = add_view(g, p->element, rows, depth, false, 1, "a");
    p->b = add_view(g, p->element, p->transposed ? columns : depth, p->transposed ? depth : columns, false, 1, "b");
    enum ir_element out = random_chance(&g->random, 50) || !ir_is_float(p->element) ? sum_of(p->element) : IR_F16;
    p->c = add_view(g, out, rows, columns, true, p->m, "c");
}

/* view[row +: rows, column +: columns], zeros outside; swapped: the other way round, and turned. */
static struct ir_value *slice(struct generator *g, struct ir_value *view, struct ir_value *row, struct ir_value *column,
                              int64_t rows, int64_t columns, bool swapped)
{
    struct ir_builder *b = &g->builder;
    int64_t place[2] = {swapped ? columns : rows, swapped ? rows : columns}, shape[2] = {rows, columns},
            order[2] = {1, 0};
    const struct ir_type *type = ir_type_tile(g->context, view->type->element, 2, place);
    struct ir_value *zero = ir_constant_int(b, ir_type_scalar(g->context, view->type->element), 0);
    if (random_chance(&g->random, 50))
        zero = ir_broadcast(b, zero, 2, place);
    struct ir_value *operands[4] = {view, swapped ? column : row, swapped ? row : column, zero};
    struct ir_value *loaded = ir_build_value(b, OP_LOAD, type, 4, operands);
    ir_set_list(loaded->definition, IR_ATTRIBUTE_PLACE, 2, place);
    if (!swapped)
        return loaded;
    struct ir_value *turned = ir_build_value(b, OP_PERMUTE, ir_type_tile(g->context, view->type->element, 2, shape), 1,
                                             &loaded);
    ir_set_list(turned->definition, IR_ATTRIBUTE_PERMUTATION, 2, order);
    return turned;
}

static struct ir_value *product(struct generator *g, struct ir_value *a, struct ir_value *b, struct ir_value *sum)
{
    bool apart = random_chance(&g->random, 30); /* dot with zeros, then a sum: fuse_dot's food */
    struct ir_value *first = apart ? ir_constant_int(&g->builder, sum->type, 0) : sum;
    struct ir_value *made = ir_build_value(&g->builder, OP_DOT, sum->type, 3, (struct ir_value *[]){a, b, first});
    set_precision(g, made->definition);
    if (!apart)
        return made;
    return random_chance(&g->random, 50) ? ir_binary(&g->builder, OP_ADD, made, sum)
                                         : ir_binary(&g->builder, OP_ADD, sum, made);
}

struct loop {
    struct ir_operation *op;
    struct ir_value *variable, *carried[2];
    struct ir_builder outside;
};

/* for k = 0 to the views' depth step p->k */
static void begin(struct generator *g, struct loop *loop, int count, struct ir_value *const *initial)
{
    const struct known_product *p = &g->product;
    const struct ir_type *index = ir_type_scalar(g->context, IR_INDEX), *types[2];
    struct ir_value *operands[5] = {fuzz_index(g, 0), NULL, fuzz_index(g, p->k)};
    operands[1] = ir_build_value(&g->builder, OP_EXTENT, index, 1, (struct ir_value *[]){p->a});
    ir_set_number(operands[1]->definition, IR_ATTRIBUTE_DIMENSION, 1);
    if (random_chance(&g->random, 25))
        operands[1] = fuzz_index(g, g->program->arguments[p->argument].extent[1]);
    for (int i = 0; i < count; i++) {
        operands[3 + i] = initial[i];
        types[i] = initial[i]->type;
    }
    loop->op = ir_build(&g->builder, OP_FOR, 3 + count, operands, count, types);
    loop->outside = g->builder;
    g->builder = (struct ir_builder){.module = g->builder.module, .block = loop->op->regions[0]};
    loop->variable = ir_block_argument(loop->op->regions[0], index, NULL);
    for (int i = 0; i < count; i++)
        loop->carried[i] = ir_block_argument(loop->op->regions[0], types[i], NULL);
}

static void end(struct generator *g, struct loop *loop, int count, struct ir_value *const *next)
{
    ir_build(&g->builder, OP_YIELD, count, next, 0, NULL);
    g->builder = loop->outside;
}

static void store_c(struct generator *g, struct ir_value *sum, double bound)
{
    const struct known_product *p = &g->product;
    struct ir_builder *b = &g->builder;
    if (random_chance(&g->random, 50)) { /* an epilogue */
        sum = ir_binary(b, OP_MAX, sum, ir_constant_int(b, sum->type, random_between(&g->random, 0, 3)));
        if (random_chance(&g->random, 50))
            sum = ir_binary(b, OP_ADD, sum, ir_constant_int(b, sum->type, random_between(&g->random, 0, 5)));
    }
    fuzz_know(g, sum, bound + 8, true);
    enum ir_element element = p->c->type->element;
    if (ir_is_float(element) && bound + 8 > 8) {
        sum = fuzz_clamp(g, sum, 8);
        sum = ir_cast(b, sum, element);
    }
    struct ir_value *row = ir_binary(b, OP_MUL, g->row_block, fuzz_index(g, p->m));
    struct ir_value *operands[4] = {p->c, row, fuzz_index(g, 0), sum};
    int64_t place[2] = {p->m, p->n};
    ir_set_list(ir_build(b, OP_STORE, 4, operands, 0, NULL), IR_ATTRIBUTE_PLACE, 2, place);
}

/* c[m, n] = sum over k of a[m, k] b[k, n], one or two of them in one loop */
static void plain_loop(struct generator *g)
{
    const struct known_product *p = &g->product;
    struct ir_builder *b = &g->builder;
    int64_t shape[2] = {p->m, p->n}, turned[2] = {p->n, p->m};
    bool two = random_chance(&g->random, 35), mirrored = two && random_chance(&g->random, 50),
         vector = random_chance(&g->random, 25);
    const struct ir_type *type = ir_type_tile(g->context, sum_of(p->element), 2, shape);
    struct ir_value *initial[2] = {ir_constant_int(b, type, 0), NULL};
    if (two)
        initial[1] = ir_constant_int(b, mirrored ? ir_type_tile(g->context, type->element, 2, turned) : type,
                                     random_below(&g->random, 3));
    struct ir_value *row = ir_binary(b, OP_MUL, g->row_block, fuzz_index(g, p->m)), *next[2];
    struct loop loop;
    begin(g, &loop, two ? 2 : 1, initial);
    struct ir_value *left = slice(g, p->a, row, loop.variable, p->m, p->k, false);
    struct ir_value *right = slice(g, p->b, loop.variable, fuzz_index(g, 0), p->k, p->n, p->transposed);
    if (vector && ir_is_float(p->element)) /* work on a factor on the way */
        left = ir_binary(b, OP_MAX, left, ir_constant_int(b, left->type, 0));
    next[0] = product(g, left, right, loop.carried[0]);
    if (mirrored) {
        int64_t order[2] = {1, 0}, bt[2] = {p->n, p->k}, at[2] = {p->k, p->m};
        struct ir_value *x = ir_build_value(b, OP_PERMUTE, ir_type_tile(g->context, p->element, 2, bt), 1, &right);
        struct ir_value *y = ir_build_value(b, OP_PERMUTE, ir_type_tile(g->context, p->element, 2, at), 1, &left);
        ir_set_list(x->definition, IR_ATTRIBUTE_PERMUTATION, 2, order);
        ir_set_list(y->definition, IR_ATTRIBUTE_PERMUTATION, 2, order);
        next[1] = product(g, x, y, loop.carried[1]);
    } else if (two) {
        struct ir_value *other = slice(g, p->a, fuzz_index(g, random_below(&g->random, 5)), loop.variable, p->m, p->k,
                                       false);
        next[1] = product(g, other, right, loop.carried[1]);
    }
    end(g, &loop, two ? 2 : 1, next);
    double bound = 64.0 * 80;
    store_c(g, loop.op->results[0], bound);
    if (two)
        fuzz_know(g, loop.op->results[1], bound + 3, true);
}

/* As attention: s = q keys', p = which of them are larger than the row's mean or so, o += p keys */
static void chained_loop(struct generator *g)
{
    const struct known_product *p = &g->product;
    struct ir_builder *b = &g->builder;
    enum ir_element wide = sum_of(p->element);
    int64_t d = INT64_C(16), out[2] = {p->m, d}, scores[2] = {p->m, p->k};
    struct ir_value *row = ir_binary(b, OP_MUL, g->row_block, fuzz_index(g, p->m)), *zero = fuzz_index(g, 0);
    struct ir_value *q = slice(g, p->a, row, zero, p->m, d, false);
    int64_t rows[1] = {p->m};
    struct ir_value *initial[2] = {
        ir_constant_int(b, ir_type_tile(g->context, wide, 2, out), 0),
        ir_constant_int(b, ir_type_tile(g->context, wide, 1, rows), ir_is_float(wide) ? -5000 : 0)};
    struct loop loop;
    begin(g, &loop, 2, initial);
    struct ir_value *keys = slice(g, p->b, loop.variable, zero, p->k, d, false);
    int64_t order[2] = {1, 0}, turned[2] = {d, p->k}, thin[2] = {p->m, 1};
    struct ir_value *kt = ir_build_value(b, OP_PERMUTE, ir_type_tile(g->context, p->element, 2, turned), 1, &keys);
    ir_set_list(kt->definition, IR_ATTRIBUTE_PERMUTATION, 2, order);
    const struct ir_type *score_type = ir_type_tile(g->context, wide, 2, scores);
    struct ir_value *s = product(g, q, kt, ir_constant_int(b, score_type, 0));
    const struct ir_type *row_type = ir_type_tile(g->context, wide, 1, rows);
    struct ir_operation *largest = ir_build(b, OP_REDUCE, 1, &s, 1, &row_type);
    ir_set_number(largest, IR_ATTRIBUTE_AXIS, 1);
    ir_set_number(largest, IR_ATTRIBUTE_KIND, IR_REDUCE_MAX);
    struct ir_value *next[2], *most = ir_binary(b, OP_MAX, loop.carried[1], largest->results[0]);
    struct ir_value *column = ir_build_value(b, OP_RESHAPE, ir_type_tile(g->context, wide, 2, thin), 1, &most);
    struct ir_value *over = ir_compare(b, IR_PREDICATE_GE, s, ir_broadcast(b, column, 2, scores));
    struct ir_value *weight = ir_cast(b, over, p->element);
    next[0] = product(g, weight, keys, loop.carried[0]);
    next[1] = most;
    end(g, &loop, 2, next);
    fuzz_know(g, loop.op->results[0], 8.0 * 80, true);
    fuzz_know(g, loop.op->results[1], 5000, true);
}

void fuzz_product_loop(struct generator *g)
{
    if (random_chance(&g->random, 70))
        plain_loop(g);
    else
        chained_loop(g);
}
