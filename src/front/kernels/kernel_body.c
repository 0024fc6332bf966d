/* The IR function of one variant: arguments with their facts, what the wrapper has checked as `assume`, then the body.
 */
#include "front/kernels/kernel_plan.h"

#include <string.h>

struct body {
    struct elaborator *e;
    struct variant_plan *plan;
    struct value *parameters; /* one a parameter of the source */
};

static const struct kernel_parameter *parameter_of(const struct body *b, int number)
{
    return &b->plan->entry->entry->parameters.data[number];
}

bool parameter_is_even(const struct variant_plan *plan, int number, int d)
{
    const struct kernel_parameter *p = &plan->entry->entry->parameters.data[number];
    bool is_unit = d == plan->facts.unit[number] || (!p->strided && d == p->rank - 1);
    return is_unit && plan->facts.aligned == LEAST_COPY && p->extent[d];
}

int64_t parameter_multiple(const struct kernel_parameter *p, int bytes)
{
    int bits = p->pointer_elements ? 64 : ir_element_info[p->element].bits;
    return int64_max(8 * bytes / bits, 1);
}

/* ---- arguments ---- */

static int64_t known_extent(struct body *b, int number, int d)
{
    struct elaborator *e = b->e;
    const struct kernel_parameter *p = parameter_of(b, number);
    if (p->static_extent[d] != IR_DYNAMIC)
        return p->static_extent[d];
    const struct ast_expression *x =
        b->plan->entry->kernel->declaration->parameters.data[number]->type->extents.data[d];
    if (x->kind == EXPRESSION_NAME) {
        struct binding *binding = scope_find(e, x->name);
        return binding && binding->value.kind == VALUE_INTEGER ? (int64_t)binding->value.integer : IR_DYNAMIC;
    }
    e->muted++;
    int errors = e->errors;
    struct value v = elaborate_value(e, x); /* only keys and literals are bound now */
    e->errors = errors;
    e->muted--;
    return v.kind == VALUE_INTEGER ? (int64_t)v.integer : IR_DYNAMIC;
}

static const struct ir_type *view_type(struct body *b, int number)
{
    const struct kernel_parameter *p = parameter_of(b, number);
    struct ir_type type = {.kind = IR_VIEW,
                           .element = p->pointer_elements ? IR_POINTER : p->element,
                           .rank = p->rank,
                           .optional = p->optional && b->plan->facts.presence[number] <= 0};
    if (p->pointer_elements) {
        type.pointee = p->element;
        type.pointee_const = p->pointee_const;
    }
    type.writable = p->direction != KERNEL_IN;
    type.readable = p->direction != KERNEL_OUT;
    int64_t stride = 1;
    for (int d = p->rank - 1; d >= 0; d--) {
        type.extent[d] = known_extent(b, number, d);
        if (p->nibbles && d == p->rank - 1 && type.extent[d] != IR_DYNAMIC)
            type.extent[d] /= 2;
        type.stride[d] = IR_DYNAMIC;
        if (p->packed)
            type.stride[d] = stride;
        if (stride != IR_DYNAMIC)
            stride = type.extent[d] == IR_DYNAMIC ? IR_DYNAMIC : stride * int64_max(type.extent[d], 1);
    }
    if (!p->strided)
        type.stride[p->rank - 1] = 1;
    if (b->plan->facts.unit[number] >= 0)
        type.stride[b->plan->facts.unit[number]] = 1;
    return ir_type_intern(b->e->context, &type);
}

static const struct ir_type *argument_type(struct body *b, int number)
{
    const struct kernel_parameter *p = parameter_of(b, number);
    if (p->kind == KERNEL_VIEW)
        return view_type(b, number);
    if (p->kind == KERNEL_POINTER)
        return ir_type_pointer(b->e->context, p->element, p->pointee_const);
    return ir_type_scalar(b->e->context, p->element);
}

static bool any_loose_pointer(const struct body *b)
{
    for (int i = 0; i < b->plan->entry->entry->parameters.count; i++)
        if (parameter_of(b, i)->kind == KERNEL_POINTER && !parameter_of(b, i)->restricted)
            return true;
    return false;
}

/* A view that no `alias` names. */
static bool is_apart(const struct body *b, int number)
{
    const struct kernel_entry *entry = b->plan->entry->entry;
    for (int i = 0; i < entry->aliases.count; i++)
        if (entry->aliases.data[i].a == number || entry->aliases.data[i].b == number)
            return false;
    return parameter_of(b, number)->kind == KERNEL_VIEW;
}

static bool is_written_only(const struct variant_plan *plan, const struct kernel_parameter *p)
{
    return plan->facts.aligned && p->kind == KERNEL_VIEW && p->direction == KERNEL_OUT && !p->optional && !p->nibbles;
}

bool parameter_is_asked(const struct variant_plan *plan, const struct kernel_parameter *p)
{
    return plan->multiplies && is_written_only(plan, p);
}

static struct ir_argument_fact argument_fact(struct body *b, int number, const struct ir_type *type)
{
    const struct kernel_parameter *p = parameter_of(b, number);
    bool is_loose = any_loose_pointer(b), is_view_apart = is_apart(b, number);
    struct ir_argument_fact fact = {.restricted = p->restricted || (is_view_apart && !is_loose),
                                    .apart = is_view_apart && is_loose};
    if (p->kind != KERNEL_VIEW && p->kind != KERNEL_POINTER)
        return fact;
    int aligned = b->plan->facts.aligned;
    if (p->kind == KERNEL_VIEW && is_written_only(b->plan, p)) {
        /* stores of words by those who hold them would take longer than of elements in order */
        aligned = aligned == WHOLE_COPY ? aligned : 0;
        fact.asked_alignment = aligned;
    }
    if (aligned)
        fact.base_alignment = aligned;
    if (p->kind != KERNEL_VIEW)
        return fact;
    fact.extent_limit = p->huge ? 0 : (int64_t)1 << 31;
    for (int d = 0; d < p->rank && aligned; d++) {
        if (type->stride[d] == IR_DYNAMIC)
            fact.stride_multiple[d] = parameter_multiple(p, aligned);
        if (parameter_is_even(b->plan, number, d))
            fact.extent_multiple[d] = parameter_multiple(p, aligned);
    }
    return fact;
}

static const struct origin *declared_origin(struct elaborator *e, const struct ast_parameter *written)
{
    struct origin *origin = NULL;
    for (int d = 0; d < written->type->extents.count; d++)
        origin_add(e, &origin, d, written->type->extents.data[d]);
    return origin;
}

static struct ir_value *make_argument(struct body *b, int number, const char *name)
{
    const struct ir_type *type = argument_type(b, number);
    struct ir_value *argument = ir_block_argument(b->e->function->body, type, name);
    vector_push(b->e->arena, &b->e->function->facts, argument_fact(b, number, type));
    return argument;
}

/* Its members' arguments stand behind those of the other parameters. */
static struct value begin_structure(struct body *b, const struct ast_parameter *written)
{
    const struct type *type = elaborate_type(b->e, written->type);
    if (!type)
        return value_error(written->at);
    struct value v = {.kind = VALUE_TUPLE, .at = written->at, .structure = type->structure};
    v.list.count = type->count;
    v.list.data = ARENA_ARRAY(b->e->arena, struct value, type->count);
    return v;
}

static void make_member(struct body *b, int number)
{
    const struct kernel_parameter *p = parameter_of(b, number);
    struct value *whole = &b->parameters[p->member_of - 1];
    if (whole->kind != VALUE_TUPLE)
        return;
    struct value v = value_run(make_argument(b, number, p->name), p->at);
    v.enumeration = whole->structure->type->members[p->member]->enumeration;
    whole->list.data[p->member] = v;
}

static void make_arguments(struct body *b)
{
    struct elaborator *e = b->e;
    const struct ast_declaration *d = b->plan->entry->kernel->declaration;
    for (int i = 0; i < d->parameters.count; i++) {
        const struct ast_parameter *written = d->parameters.data[i];
        if (parameter_of(b, i)->kind == KERNEL_STRUCT) {
            b->parameters[i] = begin_structure(b, written);
            continue;
        }
        struct ir_value *argument = make_argument(b, i, written->name.text);
        struct value v = value_run(argument, written->at);
        if (argument->type->kind == IR_VIEW) {
            struct view_value *view = ARENA_NEW(e->arena, struct view_value);
            *view = (struct view_value){.run = argument,
                                        .number = argument->index,
                                        .rank = argument->type->rank,
                                        .name = written->name.text,
                                        .parameter = written,
                                        .declared_optional = written->is_optional,
                                        .absent = b->plan->facts.presence[i] < 0,
                                        .nibbles = parameter_of(b, i)->nibbles,
                                        .origin = declared_origin(e, written)};
            v = (struct value){.kind = VALUE_VIEW, .at = written->at, .view = view};
        } else if (parameter_of(b, i)->kind == KERNEL_ENUM) {
            const struct type *declared = elaborate_type(e, written->type);
            if (declared)
                v.enumeration = declared->enumeration;
        }
        b->parameters[i] = v;
    }
    for (int i = d->parameters.count; i < b->plan->entry->entry->parameters.count; i++)
        if (parameter_of(b, i)->member_of)
            make_member(b, i);
}

/* Behind the parameters of the source: packed views of what the launch has for itself. */
static void make_scratch(struct body *b)
{
    struct elaborator *e = b->e;
    const struct kernel_entry *entry = b->plan->entry->entry;
    const struct kernel_plan *kernel = b->plan->entry->kernel;
    const struct kernel_expression **extent = b->plan->scratch_extents;
    for (int i = 0; i < entry->scratch.count; i++) {
        const struct kernel_scratch *scratch = &entry->scratch.data[i];
        struct ir_type type = {
            .kind = IR_VIEW, .element = scratch->element, .rank = scratch->rank, .writable = true, .readable = true};
        int64_t stride = 1;
        for (int d = scratch->rank - 1; d >= 0; d--) {
            bool known = extent[d] && extent[d]->op == KERNEL_HOST_CONSTANT;
            type.extent[d] = known ? extent[d]->number : IR_DYNAMIC;
            type.stride[d] = stride;
            if (stride != IR_DYNAMIC)
                stride = known ? stride * int64_max(extent[d]->number, 1) : IR_DYNAMIC;
        }
        extent += scratch->rank;
        struct ir_value *run = ir_block_argument(e->function->body, ir_type_intern(e->context, &type), scratch->name);
        const struct ir_argument_fact fact = {
            .base_alignment = 16, .restricted = true, .own = true, .extent_limit = (int64_t)1 << 31};
        vector_push(e->arena, &e->function->facts, fact);
        if (i >= kernel->scratch.count) { /* behind those of the source: what counts the programs, or of `split_k` */
            e->function->ordered = entry->ordered ? 1 + run->index : 0;
            b->plan->split_argument = i == b->plan->entry->first_split ? run->index : b->plan->split_argument;
            continue;
        }
        struct view_value *view = ARENA_NEW(e->arena, struct view_value);
        *view = (struct view_value){.run = run, .number = run->index, .rank = scratch->rank, .name = scratch->name};
        scope_bind(e, BINDING_PARAMETER, kernel->scratch.data[i]->name,
                   (struct value){.kind = VALUE_VIEW, .at = scratch->at, .view = view});
    }
}

/* The argument behind those of the source: where failing checks are written. */
static void make_report(struct body *b)
{
    struct elaborator *e = b->e;
    const struct ir_argument_fact fact = {.base_alignment = 8, .restricted = true};
    e->entry = b->plan->entry->entry;
    if (!e->entry->reports)
        return;
    e->report = ir_block_argument(e->function->body, ir_type_pointer(e->context, IR_U64, false), "report");
    vector_push(e->arena, &e->function->facts, fact);
}

/* ---- names ---- */

static struct ir_value *name_value(struct body *b, const struct kernel_name *name)
{
    struct elaborator *e = b->e;
    const struct ir_type *index = ir_type_scalar(e->context, IR_INDEX);
    if (name->parameter < 0)
        return ir_constant_int(&e->builder, index, 0);
    struct value v = access_view_member(e, b->parameters[name->parameter].view, false,
                                        value_integer(name->dimension, e->builder.at), e->builder.at);
    struct ir_value *run = value_is_constant(v) ? value_materialize(e, v).run : v.run;
    if (!run->name)
        run->name = name->name;
    if (name->add)
        run = ir_binary(&e->builder, OP_SUB, run, ir_constant_int(&e->builder, index, name->add));
    if (name->multiply != 1)
        run = ir_binary(&e->builder, OP_DIV, run, ir_constant_int(&e->builder, index, name->multiply));
    return run;
}

static void bind_names(struct body *b)
{
    struct elaborator *e = b->e;
    const struct kernel_plan *kernel = b->plan->entry->kernel;
    const struct kernel_entry *entry = b->plan->entry->entry;
    for (int i = 0; i < kernel->declaration->parameters.count; i++)
        scope_bind(e, BINDING_PARAMETER, kernel->declaration->parameters.data[i]->name, b->parameters[i]);
    for (int i = 0; i < entry->names.count; i++) {
        if (scope_find(e, entry->names.data[i].name))
            continue; /* a key: known */
        struct location at = entry->names.data[i].parameter >= 0
                                 ? entry->parameters.data[entry->names.data[i].parameter].at
                                 : entry->at;
        struct value v = value_run(name_value(b, &entry->names.data[i]), at);
        scope_bind(e, BINDING_EXTENT, (struct ast_name){entry->names.data[i].name, at}, v);
    }
    e->grid_rank = kernel->grid.count;
    for (int i = 0; i < kernel->grid.count; i++) {
        struct ir_value *run = ir_build_value(&e->builder, OP_GRID_INDEX, ir_type_scalar(e->context, IR_INDEX), 0,
                                              NULL);
        ir_set_number(run->definition, IR_ATTRIBUTE_DIMENSION, i);
        run->name = kernel->grid.data[i]->name.text;
        e->grid[i].name = run->name;
        e->grid[i].dimension = i;
        struct binding *hidden = scope_find(e, run->name);
        if (hidden) {
            struct diagnostic *d = front_report(e, DIAGNOSTIC_E0203, kernel->grid.data[i]->name.at,
                                                "the grid name `%s` may not hide another name", run->name);
            front_note(e, d, hidden->at, "`%s` comes from here", run->name);
        }
        scope_bind(e, BINDING_GRID, kernel->grid.data[i]->name, value_run(run, kernel->grid.data[i]->name.at));
    }
}

/* ---- facts ---- */

/* A condition, or an integer as an index, that the wrapper has computed, computed as it does: with i64 alone.  NULL:
 * only the host can, or it is known. */
static struct ir_value *compute_as_wrapper(struct elaborator *e, const struct ast_expression *x, bool is_condition)
{
    struct ir_block *saved;
    int errors = e->errors;
    e->muted++;
    e->as_wrapper = true;
    struct ir_block *block = region_begin(e, &saved);
    struct value v = is_condition ? elaborate_condition(e, x, "a fact") : elaborate_value(e, x);
    struct ir_value *run = is_condition ? v.run : convert_to_index(e, v, "a fact");
    region_end(e, saved);
    e->as_wrapper = false;
    e->muted--;
    bool good = e->errors == errors && (!is_condition || (v.kind == VALUE_RUN && run->type->rank == 0));
    e->errors = errors;
    if (!good)
        return NULL;
    region_splice(e, block);
    return run;
}

static void assume_condition(struct elaborator *e, const struct ast_expression *condition)
{
    struct ir_value *holds = compute_as_wrapper(e, condition, true);
    if (holds)
        ir_build(&e->builder, OP_ASSUME, 1, &holds, 0, NULL);
}

/* A view that is not there has an extent of 0 where less is declared. */
static void assume_extent(struct body *b, int number, int d)
{
    struct elaborator *e = b->e;
    const struct ast_expression *x =
        b->plan->entry->kernel->declaration->parameters.data[number]->type->extents.data[d];
    if (b->parameters[number].view->run->type->extent[d] != IR_DYNAMIC)
        return;
    struct value given = access_view_member(e, b->parameters[number].view, false, value_integer(d, x->at), x->at);
    struct ir_value *declared = compute_as_wrapper(e, x, false);
    if (!declared || given.kind != VALUE_RUN)
        return;
    bool may_be_less = !declared->definition || declared->definition->opcode != OP_EXTENT;
    if (may_be_less && parameter_of(b, number)->optional && b->plan->facts.presence[number] <= 0)
        declared = ir_binary(&e->builder, OP_MAX, declared, ir_constant_int(&e->builder, declared->type, 0));
    struct ir_value *same = ir_compare(&e->builder, IR_PREDICATE_EQ, given.run, declared);
    ir_build(&e->builder, OP_ASSUME, 1, &same, 0, NULL);
}

static void assume_facts(struct body *b)
{
    struct elaborator *e = b->e;
    const struct kernel_plan *kernel = b->plan->entry->kernel;
    for (int i = 0; i < kernel->declaration->parameters.count; i++)
        for (int d = 0; b->parameters[i].kind == VALUE_VIEW && d < parameter_of(b, i)->rank; d++)
            if (parameter_of(b, i)->binds[d] < 0)
                assume_extent(b, i, d);
    for (int i = 0; i < kernel->rows.count; i++) {
        const struct row *row = &kernel->rows.data[i];
        if (!row->least)
            continue;
        struct value member = elaborate_name(e, row->name.text, e->builder.at);
        struct ir_value *least = compute_as_wrapper(e, row->least, false);
        struct ir_value *run = convert_to_index(e, member, "`const`");
        if (!least || !run)
            continue;
        struct ir_value *fits = ir_compare(&e->builder, IR_PREDICATE_LE, least, run);
        ir_build(&e->builder, OP_ASSUME, 1, &fits, 0, NULL);
    }
    for (int i = 0; i < kernel->requirements.count; i++)
        assume_condition(e, kernel->requirements.data[i].expression);
    if (b->plan->facts.special >= 0) {
        const struct special *special = &kernel->specials.data[b->plan->facts.special];
        for (int i = 0; i < special->count; i++)
            assume_condition(e, special->data[i].expression);
    }
}

/* ---- the whole ---- */

static void bind_compile_time(struct body *b)
{
    struct elaborator *e = b->e;
    const struct kernel_plan *kernel = b->plan->entry->kernel;
    entry_bind_rows(e, b->plan->entry, b->plan->keys);
    for (int i = 0; i < kernel->tuning.count; i++) {
        struct value tuned = b->plan->schedule.tuned[i];
        tuned.tuned = true;
        scope_bind(e, BINDING_TUNE, (struct ast_name){kernel->tuning.data[i].name, kernel->tuning.data[i].at}, tuned);
    }
}

/* What of the schedule the passes are told.  `consumers` counts warpgroups. */
static void set_knobs(struct ir_function *function, const struct variant_plan *plan)
{
    uint64_t groups, among;
    int consumers = variant_asked(plan, "consumers", &groups);
    function->warps = variant_asked(plan, "warps", &among);
    if (function->warps == 0 && consumers > 0)
        function->warps = 4 * consumers;
    function->warps_among = function->warps ? 0 : among;
    for (int n = 1; n < 16 && !function->warps && !among; n++)
        function->warps_among |= (groups >> n & 1) << 4 * n;
    function->stages = variant_asked(plan, "stages", &function->stages_among);
    function->max_registers = variant_asked(plan, "maxnreg", NULL);
    function->persistent = variant_asked(plan, "persistent", NULL);
    function->raster = variant_asked(plan, "raster", &function->raster_among);
    function->cluster = variant_asked(plan, "cluster", NULL);
}

struct products {
    bool wide, narrow; /* of factors with 16 bits and more; with less */
};

static void find_product(struct ir_operation *op, void *data)
{
    struct products *products = data;
    bool narrow = op->opcode == OP_DOT && ir_element_info[op->operands[0]->type->element].bits < 16;
    products->wide |= op->opcode == OP_DOT && !narrow;
    products->narrow |= narrow;
}

/* Alignment is a fact or is asked for, which hangs on the products.  Those of narrow factors may go by mma.sync, which leaves
 * no registers for two ways to store: ptxas spills 36 bytes in one of f8e4m3 and 128 x 256. */
static void settle_asked(struct variant_plan *plan, struct ir_function *kernel)
{
    struct products products = {0};
    for (const struct ir_function *f = kernel->module->first; f; f = f->next)
        ir_walk(f->body, find_product, &products);
    plan->multiplies = products.wide && !products.narrow;
    for (int i = 0; i < kernel->facts.count; i++) {
        struct ir_argument_fact *fact = &kernel->facts.data[i];
        if (plan->multiplies && fact->asked_alignment) {
            fact->base_alignment = 0;
            memset(fact->stride_multiple, 0, sizeof fact->stride_multiple);
        } else {
            fact->asked_alignment = 0;
        }
    }
}

struct ir_function *body_build(struct variant_plan *plan, struct kernel_variant *variant, const char *name)
{
    struct ir_module *module = variant->module;
    const struct kernel_plan *kernel = plan->entry->kernel;
    struct elaborator e;
    struct body b = {&e, plan, ARENA_ARRAY(kernel->front->arena, struct value, kernel->declaration->parameters.count)};
    elaborator_init(&e, kernel->front, kernel->file);
    e.instance = plan_has_choices(kernel) ? plan->label : NULL;
    e.target = kernel->front->options->target_name(plan->target);
    e.variant = variant;
    e.function = ir_function_create(module, name, kernel->declaration->at);
    e.function->is_kernel = true;
    e.function->grid_rank = kernel->grid.count + plan->entry->entry->splits;
    set_knobs(e.function, plan);
    e.function->strict_fp = kernel->front->options->strict_fp;
    e.builder = (struct ir_builder){module, e.function->body, NULL, kernel->declaration->at};
    e.frame->declaration = kernel->declaration;
    scope_push(&e, true);
    bind_compile_time(&b);
    make_arguments(&b);
    make_scratch(&b);
    make_report(&b);
    bind_names(&b);
    assume_facts(&b);
    scope_push(&e, false);
    elaborate_block(&e, &kernel->declaration->body->body, 0);
    scope_pop(&e);
    if (kernel->declaration->broken)
        e.errors++;
    e.builder.at = kernel->declaration->body->closing_at;
    ir_build(&e.builder, OP_RETURN, 0, NULL, 0, NULL);
    region_forget_abandoned(e.function);
    if (!e.errors)
        split_body(&e, plan);
    settle_asked(plan, e.function);
    return e.errors ? NULL : e.function;
}
