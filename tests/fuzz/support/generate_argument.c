/* Arguments of generated kernels and what is known of them: views of any shape, some of which share their memory with
 * another, some of which lie beyond 2^31 elements, and facts that are true of them. */
#include <string.h>

#include "generate.h"

/* ---- shapes ---- */

static void choose_shape(struct generator *g, struct fuzz_argument *argument, struct ir_type *type)
{
    int64_t stride = 1;
    type->rank = random_between(&g->random, 1, 3);
    bool packed = random_chance(&g->random, 50), unit = random_chance(&g->random, 80),
         fixed = random_chance(&g->random, 25);
    for (int d = type->rank - 1; d >= 0; d--) {
        argument->extent[d] = random_chance(&g->random, 8) ? random_below(&g->random, 2)
                                                           : random_between(&g->random, 1, g->limits.most_extent);
        type->extent[d] = fixed ? argument->extent[d] : IR_DYNAMIC;
        if (d == type->rank - 1 && !unit)
            stride = random_between(&g->random, 1, 3);
        argument->stride[d] = stride;
        type->stride[d] = d == type->rank - 1 && unit ? 1 : IR_DYNAMIC;
        stride *= argument->extent[d] > 0 ? argument->extent[d] : 1;
        if (!packed)
            stride += random_below(&g->random, 4);
    }
    argument->elements = 1;
    for (int d = 0; d < type->rank; d++)
        argument->elements += (argument->extent[d] > 0 ? argument->extent[d] - 1 : 0) * argument->stride[d];
}

/* Two or three rows so far from each other that their distance, or that in bytes, needs more than 31 or 32 bits. */
static void move_rows_apart(struct generator *g, struct fuzz_argument *argument, struct ir_type *type)
{
    int64_t row = argument->elements - (argument->extent[0] > 0 ? argument->extent[0] - 1 : 0) * argument->stride[0];
    int64_t bytes = ir_element_info[type->element].bits / 8;
    argument->extent[0] = random_between(&g->random, 2, bytes > 1 ? 2 : 3);
    if (type->extent[0] != IR_DYNAMIC)
        type->extent[0] = argument->extent[0];
    argument->stride[0] = (INT64_C(1) << (bytes == 8 ? 29 : bytes == 4 ? 30 : 31)) + random_below(&g->random, 100);
    if (!g->limits.plain && random_chance(&g->random, 40))
        argument->stride[0] *= 4;
    argument->elements = (argument->extent[0] - 1) * argument->stride[0] + row;
    argument->windows = (int)argument->extent[0];
    argument->window_elements = row;
    for (int i = 0; i < argument->windows; i++)
        argument->window[i] = i * argument->stride[0];
}

/* One dimension of more than 2^31 elements.  Instances own large blocks of an output, the start of which they use. */
static void make_far(struct generator *g, struct fuzz_argument *argument, struct ir_type *type, bool output)
{
    bool fixed = type->extent[0] != IR_DYNAMIC;
    type->rank = 1;
    argument->stride[0] = type->stride[0] = 1;
    argument->extent[0] = argument->elements = (INT64_C(1) << 31) + 64 * random_between(&g->random, 4, 100) +
                                               (random_chance(&g->random, 50) ? random_below(&g->random, 64) : 0);
    type->extent[0] = fixed ? argument->extent[0] : IR_DYNAMIC;
    argument->window_elements = 64;
    if (output) {
        argument->block = (INT64_C(1) << 30) + random_below(&g->random, 60);
        argument->windows = 3;
        for (int i = 0; i < 3; i++)
            argument->window[i] = i * argument->block;
        return;
    }
    argument->windows = 3;
    argument->window[1] = (INT64_C(1) << 31) - 32;
    argument->window[2] = argument->extent[0] - 64;
}

/* ---- views ---- */

static bool is_large(const struct generator *g, enum ir_element element)
{
    return ir_element_info[element].bits > (g->limits.plain ? 16 : 64);
}

static void make_large(struct generator *g, struct fuzz_argument *argument, struct ir_type *type, bool output)
{
    int dice = random_below(&g->random, 100);
    if (dice < 3 && type->rank > 1)
        move_rows_apart(g, argument, type);
    else if (dice >= 3 && dice < 5 && !is_large(g, type->element))
        make_far(g, argument, type, output);
}

static struct ir_value *add_argument(struct generator *g, char kind, const struct ir_type *type)
{
    struct fuzz_program *p = g->program;
    char name[16];
    snprintf(name, sizeof name, "%c%d", kind, p->argument_count);
    p->arguments[p->argument_count++].type = type;
    return ir_block_argument(p->function->body, type, intern(ir_context_names(g->context), name));
}

static void add_view(struct generator *g, bool output, bool atomic)
{
    struct fuzz_program *p = g->program;
    int number = p->argument_count;
    struct fuzz_argument *argument = &p->arguments[number];
    struct ir_type type = {.kind = IR_VIEW, .readable = true, .writable = output || atomic};
    type.element = (enum ir_element)random_below(&g->random, IR_POINTER);
    while (atomic && type.element == IR_BOOL)
        type.element = (enum ir_element)random_below(&g->random, IR_POINTER);
    if (type.element == IR_INDEX && g->limits.plain)
        type.element = IR_I64;
    if (!atomic && !g->limits.plain && random_chance(&g->random, 6)) {
        type.element = IR_POINTER;
        type.pointee = (enum ir_element)random_below(&g->random, IR_POINTER);
        type.pointee_const = true;
    }
    argument->block = 1 << random_between(&g->random, 0, 4);
    choose_shape(g, argument, &type);
    if (type.element != IR_POINTER)
        make_large(g, argument, &type, output);
    type.optional = random_chance(&g->random, 15) && !argument->windows;
    argument->absent = type.optional && random_chance(&g->random, 50);
    for (int d = 0; argument->absent && d < type.rank; d++) { /* what no present view binds is 0 */
        argument->extent[d] = type.extent[d] == IR_DYNAMIC ? 0 : type.extent[d];
        argument->stride[d] = type.stride[d] == IR_DYNAMIC ? 0 : type.stride[d];
    }
    argument->output = output;
    argument->atomic = atomic;
    argument->fill = p->seed * 31 + (uint64_t)number;
    argument->content = random_chance(&g->random, 20) && !atomic ? FUZZ_WILD : FUZZ_SMALL_INTEGERS;
    struct ir_value *value = add_argument(g, atomic ? 't' : output ? 'y' : 'x', ir_type_intern(g->context, &type));
    struct known_view view = {.value = value,
                              .argument = number,
                              .own_rows = output,
                              .atomic = atomic,
                              .bound = fuzz_limit(type.element) < 8 ? fuzz_limit(type.element) : 8,
                              .exact = argument->content == FUZZ_SMALL_INTEGERS,
                              .block = argument->block};
    vector_push(g->arena, &g->views, view);
}

/* Part of each row of another view, as rows of one or two dimensions of its own. */
static void choose_part(struct generator *g, const struct fuzz_argument *root, struct fuzz_argument *argument,
                        struct ir_type *type)
{
    int64_t row = root->elements - (root->extent[0] - 1) * root->stride[0];
    argument->offset = random_below(&g->random, (int)int64_min(row, 5));
    argument->elements = root->elements - argument->offset;
    row -= argument->offset;
    type->rank = random_between(&g->random, 1, 3);
    argument->stride[0] = root->stride[0];
    argument->extent[0] = random_between(&g->random, 1, (int)root->extent[0]);
    argument->extent[1] = type->rank > 1 ? random_between(&g->random, 1, (int)int64_min(row, 40)) : 1;
    argument->stride[1] = type->rank > 2 ? row / argument->extent[1] : 1;
    argument->extent[2] = argument->stride[1];
    argument->stride[2] = 1;
    for (int d = 0; d < type->rank; d++) {
        type->extent[d] = random_chance(&g->random, 30) ? argument->extent[d] : IR_DYNAMIC;
        type->stride[d] = d == type->rank - 1 && argument->stride[d] == 1 ? 1 : IR_DYNAMIC;
    }
}

/* An output once more, under another name: the same view, or, where no wrapper looks, part of its rows. */
static void add_alias(struct generator *g)
{
    struct fuzz_program *p = g->program;
    const struct known_view other = g->views.data[random_below(&g->random, g->views.count)];
    const struct fuzz_argument *root = &p->arguments[other.argument];
    if (!other.own_rows || root->absent || root->alias || root->windows || root->extent[0] < 1 ||
        root->type->element == IR_POINTER)
        return;
    for (int d = 0; d < root->type->rank; d++)
        if (root->extent[d] < 1)
            return;
    struct fuzz_argument *argument = &p->arguments[p->argument_count];
    struct ir_type type = *root->type;
    *argument = *root;
    argument->alias = other.argument + 1;
    type.optional = false;
    type.writable = random_chance(&g->random, 50);
    if (!g->limits.plain && random_chance(&g->random, 50))
        choose_part(g, root, argument, &type);
    argument->output = type.writable;
    struct known_view view = other;
    view.argument = p->argument_count;
    view.read_only = !type.writable;
    view.value = add_argument(g, 'z', ir_type_intern(g->context, &type));
    vector_push(g->arena, &g->views, view);
}

static void add_scalar(struct generator *g)
{
    struct fuzz_argument *argument = &g->program->arguments[g->program->argument_count];
    enum ir_element element = fuzz_element(g);
    int value = random_between(&g->random,
                               ir_is_float(element)    ? -4
                               : ir_is_signed(element) ? -40
                                                       : 0,
                               element == IR_BOOL ? 1 : 4);
    argument->bits = ir_int_to_bits(element, value);
    fuzz_know(g, add_argument(g, 's', ir_type_scalar(g->context, element)), 4, true);
}

void fuzz_make_arguments(struct generator *g)
{
    int inputs = random_between(&g->random, 1, 3), outputs = random_between(&g->random, 1, 4);
    for (int i = 0; i < inputs; i++)
        add_view(g, false, false);
    for (int i = 0; i < outputs; i++)
        add_view(g, true, false);
    if (random_chance(&g->random, 40))
        add_view(g, false, true);
    if (random_chance(&g->random, 35))
        add_alias(g);
    if (random_chance(&g->random, 20))
        fuzz_make_product(g);
    for (int i = random_below(&g->random, 3); i > 0; i--)
        add_scalar(g);
    fuzz_make_digest(g);
}

/* ---- facts ---- */

/* A number that divides this one; 0: nothing is said. */
static int64_t divisor(struct generator *g, int64_t number)
{
    int64_t guess = random_chance(&g->random, 60)                 ? INT64_C(1) << random_between(&g->random, 1, 6)
                    : number > 0 && random_chance(&g->random, 40) ? number
                                                                  : random_between(&g->random, 2, 9);
    return random_chance(&g->random, 40) && number % guess == 0 ? guess : 0;
}

static bool is_shared(const struct fuzz_program *p, int which)
{
    for (int i = 0; i < p->argument_count; i++)
        if (p->arguments[i].alias == which + 1)
            return true;
    return p->arguments[which].alias != 0;
}

static void view_facts(struct generator *g, int which, struct ir_argument_fact *fact)
{
    const struct fuzz_argument *argument = &g->program->arguments[which];
    int64_t largest = 0, start = argument->offset * (ir_element_info[argument->type->element].bits / 8);
    for (int d = 0; d < argument->type->rank; d++) {
        largest = int64_max(largest, argument->extent[d]);
        if (argument->type->stride[d] == IR_DYNAMIC)
            fact->stride_multiple[d] = divisor(g, argument->stride[d]);
        if (argument->type->extent[d] == IR_DYNAMIC)
            fact->extent_multiple[d] = divisor(g, argument->extent[d]);
    }
    if (largest >= fact->extent_limit || random_chance(&g->random, 10))
        fact->extent_limit = 0;
    else if (random_chance(&g->random, 10))
        fact->extent_limit = largest + random_between(&g->random, 1, 9);
    if (random_chance(&g->random, 40)) {
        fact->base_alignment = INT64_C(1) << random_between(&g->random, 0, 8);
        fact->base_alignment = start % fact->base_alignment ? 0 : fact->base_alignment;
    }
}

/* Extents that are equal form a class; one such class may be what the grid covers. */
static void make_classes(struct generator *g)
{
    struct fuzz_program *p = g->program;
    struct ir_function *function = p->function;
    int classes = 0;
    for (int i = 0; i < p->argument_count; i++)
        for (int d = 0; p->arguments[i].type->kind == IR_VIEW && d < p->arguments[i].type->rank; d++) {
            int64_t extent = p->arguments[i].extent[d];
            if (p->arguments[i].type->extent[d] != IR_DYNAMIC || p->arguments[i].absent ||
                function->facts.data[i].extent_class[d] || random_chance(&g->random, 75))
                continue;
            classes++;
            for (int k = i; k < p->argument_count; k++)
                for (int e = 0; p->arguments[k].type->kind == IR_VIEW && e < p->arguments[k].type->rank; e++)
                    if (p->arguments[k].type->extent[e] == IR_DYNAMIC && p->arguments[k].extent[e] == extent &&
                        !p->arguments[k].absent && !function->facts.data[k].extent_class[e])
                        function->facts.data[k].extent_class[e] = classes;
            for (int axis = 0; axis < function->grid_rank; axis++) {
                int64_t step = extent > 0 ? (extent + p->grid[axis] - 1) / p->grid[axis] : 0;
                if (!step || function->grid_class[axis] || (extent + step - 1) / step != p->grid[axis])
                    continue;
                function->grid_class[axis] = classes;
                function->grid_step[axis] = step;
            }
        }
}

void fuzz_make_facts(struct generator *g)
{
    struct fuzz_program *p = g->program;
    for (int i = 0; i < p->argument_count; i++) {
        struct ir_argument_fact fact = {.extent_limit = INT64_C(1) << 31};
        fact.restricted = !is_shared(p, i) && random_chance(&g->random, 85);
        if (p->arguments[i].type->kind == IR_VIEW && !p->arguments[i].absent)
            view_facts(g, i, &fact);
        vector_push(g->arena, &p->function->facts, fact);
    }
    if (random_chance(&g->random, 60))
        make_classes(g);
}
