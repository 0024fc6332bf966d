/* Loads and stores with options, atomics, and the functions about the grid and about facts. */
#include "front/builtins/builtins.h"

#include <string.h>

static int cache_option(struct elaborator *e, const struct call *call)
{
#define X(id, text) text,
    static const char *const words[] = { IR_CACHES(X) };
#undef X
    return call_option_word(e, call, "cache", IR_CACHE_COUNT, words, -1);
}

static bool may_touch(struct elaborator *e, const struct call *call)
{
    if (e->function && !e->in_map)
        return true;
    front_report(e, DIAGNOSTIC_E0606, call->at, "`%s` touches memory, and that cannot be done here",
                 call->builtin->name);
    return false;
}

/* The value of an option or of the argument at a position.  Returns 0: not given, 1: given, -1: reported. */
static int optional_value(struct elaborator *e, struct call *call, const char *name, int position, struct value *v)
{
    bool given = call_option_value(e, call, name, v);
    if (!given && call->count > position) {
        *v = call->argument[position];
        given = true;
    }
    return !given ? 0 : value_is_error(*v) ? -1 : 1;
}

/* What is loaded from or stored to: a place, or a pointer (tile).  False: reported. */
static bool target_of(struct elaborator *e, struct call *call, struct value *v)
{
    *v = call->argument[0];
    if (v->kind == VALUE_PLACE)
        return true;
    if (v->kind == VALUE_RUN && v->run->type->element == IR_POINTER)
        return true;
    if (v->kind == VALUE_VIEW) {
        front_report(e, DIAGNOSTIC_E0606, v->at, "`%s` takes a place, and this is a view; index it in full",
                     call->builtin->name);
        return false;
    }
    if (v->kind == VALUE_RUN) {
        struct diagnostic *d = front_report(e, DIAGNOSTIC_E0606, v->at,
                                            "`%s` takes a place or pointers, and this is the value %s",
                                            call->builtin->name, front_describe(e, *v));
        note_value_touch(e, d, *v, call->expression);
        return false;
    }
    call_wrong(e, call, *v, "a place or pointers");
    return false;
}

static const struct ir_type *pointee_type(struct elaborator *e, const struct ir_type *pointers)
{
    return ir_type_tile(e->context, pointers->pointee, pointers->rank, pointers->extent);
}

/* Pointers and mask are brought to one shape. */
static bool shape_pointers(struct elaborator *e, struct value *pointers, struct value *mask)
{
    if (!mask)
        return true;
    if (value_is_constant(*mask))
        *mask = value_materialize(e, *mask);
    if (mask->kind != VALUE_RUN || mask->run->type->element != IR_BOOL) {
        front_report(e, DIAGNOSTIC_E0303, mask->at, "`mask` is of bool, not %s", front_describe(e, *mask));
        return false;
    }
    struct value pair[2] = {*pointers, *mask};
    if (!convert_broadcast(e, 2, pair, "pointers and mask", mask->at))
        return false;
    *pointers = pair[0];
    *mask = pair[1];
    if (pair[0].run->type->rank == pair[1].run->type->rank)
        return true;
    mask->run = ir_broadcast(&e->builder, mask->run, pair[0].run->type->rank, pair[0].run->type->extent);
    return true;
}

static struct value pointer_load(struct elaborator *e, struct call *call, struct value pointers, struct value *other,
                                 struct value *mask, int cache)
{
    if (!shape_pointers(e, &pointers, mask))
        return value_error(call->at);
    const struct ir_type *type = pointee_type(e, pointers.run->type);
    struct ir_value *operands[3] = {pointers.run, NULL, mask ? mask->run : NULL};
    if (other)
        operands[1] = convert_to_type(
            e, *other,
            other->kind == VALUE_RUN && other->run->type->rank ? type : ir_type_scalar(e->context, type->element), true,
            "`other`");
    else
        operands[1] = ir_constant_bits(&e->builder, ir_type_scalar(e->context, type->element), 0);
    if (!operands[1])
        return value_error(call->at);
    if (!other)
        operands[1]->definition->at = (struct location){0}; /* nobody wrote it: passes/lint asks */
    operands[2] = check_pointers(e, pointers.run, operands[2], front_source(e, call->expression), call->at);
    struct ir_operation *load = ir_build(&e->builder, OP_POINTER_LOAD, operands[2] ? 3 : 2, operands, 1, &type);
    if (cache >= 0)
        ir_set_number(load, IR_ATTRIBUTE_CACHE, cache);
    struct value result = value_run(load->results[0], call->at);
    result.origin = pointers.origin;
    return result;
}

/* Whether a value is a comparison, or several joined by `and`, `or` and `not`. */
static bool is_comparison(const struct ir_value *v)
{
    const struct ir_operation *made = v->definition;
    if (!made || v->type->element != IR_BOOL)
        return false;
    if (made->opcode == OP_COMPARE)
        return true;
    bool joins = made->opcode == OP_AND || made->opcode == OP_OR || made->opcode == OP_XOR || made->opcode == OP_NOT;
    return joins && is_comparison(made->operands[0]);
}

static bool is_run_bool(struct value v) { return v.kind == VALUE_RUN && v.run->type->element == IR_BOOL; }

/* The argument at a position, as written. */
static const struct ast_expression *written_argument(const struct call *call, int position)
{
    const struct ast_argument_list *list = &call->expression->arguments;
    for (int i = 0; i < list->count; i++)
        if (!list->data[i]->name.text && position-- == 0)
            return list->data[i]->value;
    return NULL;
}

/* In Triton the second argument of `load` is the mask.  Here it is `other`, so that a bool there was meant as a mask where
 * the elements are none, and most likely where it is a comparison.  False: reported as an error. */
static bool is_other_meant(struct elaborator *e, const struct call *call, struct value target)
{
    bool is_by_position = call->count > 1 && !call_option(call, "other");
    if (!is_by_position || !is_run_bool(call->argument[1]) || (call->count > 2 && is_run_bool(call->argument[2])))
        return true;
    enum ir_element element = target.kind == VALUE_PLACE ? target.place->view->run->type->element
                                                         : target.run->type->pointee;
    bool is_bool = element == IR_BOOL;
    if (is_bool && !is_comparison(call->argument[1].run))
        return true;
    const struct ast_expression *mask = written_argument(call, 1);
    const char *text = front_source(e, mask);
    struct diagnostic *d = is_bool ? front_report(e, DIAGNOSTIC_W1016, mask->at,
                                                  "the second argument of `load` is `other`, what is read outside, and "
                                                  "this is a comparison; a mask is named: `mask = %s`",
                                                  text)
                                   : front_report(e, DIAGNOSTIC_E0307, mask->at,
                                                  "the second argument of `load` is `other`, and this is %s; a mask is "
                                                  "named: `mask = %s`",
                                                  front_describe(e, call->argument[1]), text);
    if (is_bool)
        front_note(e, d, mask->at, "write `other = %s` where that is meant", text);
    struct location before = mask->at;
    before.end_column = before.column;
    if (!call_option(call, "mask"))
        front_fixit(e, d, before, is_bool ? FIXIT_PROBABLE : FIXIT_CERTAIN, "mask = ");
    return is_bool;
}

struct value build_load(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    struct value target, other, mask;
    int cache = cache_option(e, call);
    if (!may_touch(e, call) || cache == -2 || !target_of(e, call, &target))
        return value_error(call->at);
    if (!is_other_meant(e, call, target))
        return value_error(call->at);
    int has_other = optional_value(e, call, "other", 1, &other), has_mask = optional_value(e, call, "mask", 2, &mask);
    if (has_other < 0 || has_mask < 0)
        return value_error(call->at);
    if (target.kind == VALUE_PLACE)
        return access_load(e, target.place, has_other ? &other : NULL, has_mask ? &mask : NULL, cache, call->at);
    return pointer_load(e, call, target, has_other ? &other : NULL, has_mask ? &mask : NULL, cache);
}

static bool check_writable(struct elaborator *e, const struct call *call, struct value pointers)
{
    if (!pointers.run->type->pointee_const)
        return true;
    front_report(e, DIAGNOSTIC_E0607, call->at, "these are `*const` pointers, which are only read");
    return false;
}

struct value build_store(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    struct value target, mask, nothing = {.kind = VALUE_VOID, .at = call->at};
    int cache = cache_option(e, call);
    if (!may_touch(e, call) || cache == -2 || !target_of(e, call, &target))
        return value_error(call->at);
    int has_mask = optional_value(e, call, "mask", 2, &mask);
    if (has_mask < 0)
        return value_error(call->at);
    if (target.kind == VALUE_PLACE) {
        access_store(e, target, call->argument[1], has_mask ? &mask : NULL, cache, call->at);
        return nothing;
    }
    if (!check_writable(e, call, target))
        return value_error(call->at);
    if (value_is_tile(call->argument[1]) &&
        target.run->type->rank == call->argument[1].run->type->rank) { /* a row of pointers may stretch */
        struct value pair[2] = {target, call->argument[1]};
        if (!convert_broadcast(e, 2, pair, "pointers and the stored value", call->at))
            return value_error(call->at);
        target = pair[0];
    }
    if (!shape_pointers(e, &target, has_mask ? &mask : NULL))
        return value_error(call->at);
    struct ir_value *operands[3] = {
        target.run,
        convert_to_memory(e, call->argument[1], pointee_type(e, target.run->type), target.origin, "the stored value"),
        has_mask ? mask.run : NULL};
    if (!operands[1])
        return value_error(call->at);
    operands[2] = check_pointers(e, target.run, operands[2], front_source(e, call->expression), call->at);
    struct ir_operation *store = ir_build(&e->builder, OP_POINTER_STORE, operands[2] ? 3 : 2, operands, 0, NULL);
    if (cache >= 0)
        ir_set_number(store, IR_ATTRIBUTE_CACHE, cache);
    return nothing;
}

struct value build_inside(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    struct value v = call->argument[0];
    if (v.kind == VALUE_RUN && v.run->type->element != IR_POINTER) {
        note_value_touch(e,
                         front_report(e, DIAGNOSTIC_E0306, v.at, "`inside` takes a place, and this is the value %s",
                                      front_describe(e, v)),
                         v, call->expression);
        return value_error(call->at);
    }
    if (v.kind != VALUE_PLACE)
        return call_wrong(e, call, v.kind == VALUE_VIEW ? v : value_read(e, v), "a place");
    return access_inside(e, v.place, call->at);
}

/* ---- atomics ---- */

struct atomic {
    struct value target;
    const struct ir_type *type;
    const struct origin *origin; /* of the type's extents */
    bool has_mask;
    struct value mask;
    int order, scope;
};

static bool atomic_takes(int action, enum ir_element element)
{
    int bits = ir_element_info[element].bits;
    switch (action) {
    case IR_ACTION_ADD:
        return (ir_is_integer(element) && bits >= 32) || element == IR_F16 || element == IR_BF16 || element == IR_F32 ||
               element == IR_F64;
    case IR_ACTION_MIN:
    case IR_ACTION_MAX: return (ir_is_integer(element) && bits >= 32) || element == IR_F32;
    case IR_ACTION_AND:
    case IR_ACTION_OR:
    case IR_ACTION_XOR: return ir_is_integer(element) && bits >= 32;
    default: return (ir_is_integer(element) || ir_is_float(element)) && bits >= 32;
    }
}

static bool order_options(struct elaborator *e, struct call *call, bool mandatory, struct atomic *a)
{
#define X(id, text) text,
    static const char *const orders[] = { IR_ORDERS(X) };
    static const char *const scopes[] = { IR_SCOPES(X) };
#undef X
    a->order = call_option_word(e, call, "order", IR_ORDER_COUNT, orders, mandatory ? -1 : IR_ORDER_RELAXED);
    a->scope = call_option_word(e, call, "scope", IR_SCOPE_COUNT, scopes, IR_SCOPE_GPU);
    if (a->order == -1) {
        struct diagnostic *d = front_report(e, DIAGNOSTIC_E0608, call->at,
                                            "`%s` must say its `order`: relaxed, acquire, release or acq_rel",
                                            call->builtin->name);
        front_note(e, d, call->at, "a lock is taken with `order = acquire` and given back with `order = release`");
    }
    return a->order >= 0 && a->scope >= 0;
}

static bool order_fits(struct elaborator *e, const struct call *call, int action, int order)
{
    bool wrong = (action == IR_ACTION_LOAD && (order == IR_ORDER_RELEASE || order == IR_ORDER_ACQ_REL)) ||
                 (action == IR_ACTION_STORE && (order == IR_ORDER_ACQUIRE || order == IR_ORDER_ACQ_REL));
    if (wrong)
        front_report(e, DIAGNOSTIC_E0609, call->at,
                     action == IR_ACTION_LOAD ? "a load acquires; it does not release"
                                              : "a store releases; it does not acquire");
    return !wrong;
}

static bool prepare_atomic(struct elaborator *e, struct call *call, int action, bool mandatory, struct atomic *a)
{
    if (!may_touch(e, call) || !target_of(e, call, &a->target))
        return false;
    if (!order_options(e, call, mandatory, a) || !order_fits(e, call, action, a->order))
        return false;
    a->has_mask = call_option_value(e, call, "mask", &a->mask);
    if (a->has_mask && value_is_error(a->mask))
        return false;
    if (a->target.kind == VALUE_PLACE) {
        const struct place_value *place = a->target.place;
        const struct ir_type *view = place->view->run->type;
        if (place->view->nibbles) {
            front_report(e, DIAGNOSTIC_E0611, call->at,
                         "`%s` holds two elements a byte, and atomics are of 32 bits and more", place->view->name);
            return false;
        }
        bool writes = action != IR_ACTION_LOAD;
        bool reads = action != IR_ACTION_STORE;
        if ((writes && !view->writable) || (reads && !view->readable)) {
            struct diagnostic *d = front_report(e, writes && !view->writable ? DIAGNOSTIC_E0603 : DIAGNOSTIC_E0602,
                                                call->at, "`%s` needs `%s` to be `inout`", call->builtin->name,
                                                place->view->name);
            if (place->view->parameter)
                front_note(e, d, place->view->parameter->at, "it is declared here");
            return false;
        }
        a->type = ir_type_tile(e->context, view->element, place->result_rank, place->extent);
        a->origin = place->origin;
    } else {
        if (action != IR_ACTION_LOAD && !check_writable(e, call, a->target))
            return false;
        if (!shape_pointers(e, &a->target, a->has_mask ? &a->mask : NULL))
            return false;
        a->type = pointee_type(e, a->target.run->type);
        a->origin = a->target.origin;
    }
    if (a->type->element != IR_POINTER && atomic_takes(action, a->type->element))
        return true;
    front_report(e, DIAGNOSTIC_E0306, call->at, "`%s` does not work on %s", call->builtin->name,
                 front_type_text(e, ir_type_with_shape(e->context, a->type, 0, NULL)));
    return false;
}

static struct value finish_atomic(struct elaborator *e, struct call *call, struct atomic *a, enum ir_opcode on_view,
                                  enum ir_opcode on_pointer, int count, struct ir_value **values)
{
    struct ir_value *operands[4 + IR_MAX_RANK];
    bool place = a->target.kind == VALUE_PLACE;
    int used = 0;
    operands[used++] = place ? a->target.place->view->run : a->target.run;
    for (int d = 0; place && d < a->target.place->rank; d++)
        operands[used++] = a->target.place->index[d];
    for (int i = 0; i < count; i++)
        operands[used++] = values[i];
    if (a->has_mask) {
        operands[used] = convert_to_type_from(e, a->mask, shape_like(e, a->type, IR_BOOL), a->origin, true, "`mask`");
        if (!operands[used])
            return value_error(call->at);
        used++;
    }
    if (!place) {
        struct ir_value *mask = check_pointers(e, a->target.run, a->has_mask ? operands[used - 1] : NULL,
                                               front_source(e, call->expression), call->at);
        used += mask && !a->has_mask;
        operands[used - 1] = mask ? mask : operands[used - 1];
    }
    struct ir_operation *operation = ir_build(&e->builder, place ? on_view : on_pointer, used, operands, 1, &a->type);
    if (place)
        ir_set_list(operation, IR_ATTRIBUTE_PLACE, a->target.place->rank, a->target.place->place);
    ir_set_number(operation, IR_ATTRIBUTE_ORDER, a->order);
    ir_set_number(operation, IR_ATTRIBUTE_SCOPE, a->scope);
    struct value result = value_run(operation->results[0], call->at);
    result.origin = a->origin;
    return result;
}

struct value build_atomic(struct elaborator *e, struct call *call, int action)
{
    struct atomic a = {0};
    bool mandatory = action == IR_ACTION_EXCHANGE || action == IR_ACTION_LOAD || action == IR_ACTION_STORE;
    if (!prepare_atomic(e, call, action, mandatory, &a))
        return value_error(call->at);
    struct ir_value *v = action == IR_ACTION_LOAD
                             ? ir_constant_bits(&e->builder, a.type, 0)
                             : convert_to_memory(e, call->argument[1], a.type, a.origin, "the value of an atomic");
    if (!v)
        return value_error(call->at);
    if (e->front->options->reproducible && action == IR_ACTION_ADD && ir_is_float(a.type->element))
        front_report(e, DIAGNOSTIC_W1005, call->at,
                     "the order in which atomics add floats is not fixed by --reproducible");
    struct value result = finish_atomic(e, call, &a, OP_ATOMIC, OP_POINTER_ATOMIC, 1, &v);
    if (value_is_error(result))
        return result;
    ir_set_number(result.run->definition, IR_ATTRIBUTE_ACTION, action);
    if (action == IR_ACTION_STORE)
        return (struct value){.kind = VALUE_VOID, .at = call->at};
    return result;
}

struct value build_atomic_cas(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    struct atomic a = {0};
    if (!prepare_atomic(e, call, IR_ACTION_EXCHANGE, true, &a))
        return value_error(call->at);
    struct ir_value *values[2] = {convert_to_memory(e, call->argument[1], a.type, a.origin, "the expected value"),
                                  convert_to_memory(e, call->argument[2], a.type, a.origin, "the new value")};
    if (!values[0] || !values[1])
        return value_error(call->at);
    return finish_atomic(e, call, &a, OP_ATOMIC_CAS, OP_POINTER_CAS, 2, values);
}

/* ---- grid and facts ---- */

struct value build_grid_size(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    const struct ast_expression *name = call->expression->arguments.data[0]->value;
    for (int i = 0; i < e->grid_rank && name->kind == EXPRESSION_NAME; i++)
        if (e->grid[i].name == name->name) {
            struct ir_value *run = ir_build_value(&e->builder, OP_GRID_SIZE, ir_type_scalar(e->context, IR_INDEX), 0,
                                                  NULL);
            ir_set_number(run->definition, IR_ATTRIBUTE_DIMENSION, e->grid[i].dimension);
            return value_run(run, call->at);
        }
    front_report(e, DIAGNOSTIC_E0201, name->at, "`grid_size` takes a name of the kernel's grid, and `%s` is none",
                 front_source(e, name));
    return value_error(call->at);
}

struct value build_sm_count(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    if (e->allow_sm_count)
        return host_make(e, KERNEL_HOST_SM_COUNT, 0, 0, IR_I64, call->at);
    front_report(e, DIAGNOSTIC_E0409, call->at,
                 "`sm_count()` is known to the wrapper alone: use it in `grid`, `requires` or `specialize`");
    return value_error(call->at);
}
