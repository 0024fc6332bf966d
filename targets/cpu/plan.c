/* Decides, for one block, which tiles become buffers.  The plan looks at uses only and emits nothing.
 *
 *   cost      forward: what computing one element costs if everything is virtual
 *   consumer  backward: which cuts evaluate the value.  An expensive value that several cuts evaluate, or one inside a
 *             loop, becomes a buffer
 *   last      backward: the operation behind which nothing can read the value, nor anything virtual made from it
 *   eager     a load is done where it stands if a write may change its elements before the last evaluation */
#include "ir/facts/alias.h"
#include "ir/query.h"
#include "targets/cpu/emit.h"

bool cpu_is_tile(const struct ir_value *value) { return value->type->kind == IR_TILE && value->type->rank > 0; }

/* Only extents of 1 come or go. */
bool cpu_reshape_is_trivial(const struct ir_operation *reshape)
{
    const struct ir_type *a = reshape->operands[0]->type, *b = reshape->results[0]->type;
    int i = 0, j = 0;
    for (;;) {
        while (i < a->rank && a->extent[i] == 1)
            i++;
        while (j < b->rank && b->extent[j] == 1)
            j++;
        if (i == a->rank || j == b->rank)
            return i == a->rank && j == b->rank;
        if (a->extent[i++] != b->extent[j++])
            return false;
    }
}

int cpu_plan_position(const struct cpu_plan *plan, const struct ir_operation *operation)
{
    operation = ir_ancestor_in(plan->block, operation);
    for (int i = 0; operation && i < plan->count; i++)
        if (plan->operations[i] == operation)
            return i;
    return plan->count;
}

static int own_cost(const struct ir_operation *operation)
{
    switch (operation->opcode) {
    case OP_CONSTANT:
    case OP_IOTA:
    case OP_SPLAT:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_EXTRACT:
    case OP_BITCAST: return 0;
    case OP_LOAD: {
        struct ir_access access;
        ir_access_of(operation, &access);
        for (int d = 0; d < access.rank; d++)
            if (access.place[d] == IR_GATHER)
                return 6;
        return 1;
    }
    case OP_DIV:
    case OP_REM: return 6;
    case OP_POINTER_LOAD: return 6;
    case OP_MATH: return 12;
    case OP_PHILOX: return 60;
    case OP_MAP: {
        int cost = 0;
        for (struct ir_operation *inner = operation->regions[0]->first; inner; inner = inner->next)
            cost += inner->region_count ? 20 : own_cost(inner);
        return cost;
    }
    case OP_CAST: {
        int bytes = cpu_bytes(operation->operands[0]->type->element),
            to = cpu_bytes(operation->results[0]->type->element);
        bool real = ir_is_float(operation->operands[0]->type->element) ||
                    ir_is_float(operation->results[0]->type->element);
        return real && (bytes == 1 || to == 1) ? 4 : 1;
    }
    default: return 1;
    }
}

static bool is_cut(const struct ir_operation *operation)
{
    switch (operation->opcode) {
    case OP_CONCATENATE:
    case OP_FLIP:
    case OP_GATHER:
    case OP_REDUCE:
    case OP_SORT:
    case OP_SCAN:
    case OP_HISTOGRAM:
    case OP_DOT:
    case OP_ATOMIC:
    case OP_ATOMIC_CAS:
    case OP_POINTER_ATOMIC:
    case OP_POINTER_CAS:
    case OP_STORE:
    case OP_POINTER_STORE:
    case OP_FOR:
    case OP_WHILE:
    case OP_IF:
    case OP_YIELD:
    case OP_CONDITION:
    case OP_RETURN:
    case OP_CALL: return true;
    case OP_RESHAPE: return !cpu_reshape_is_trivial(operation);
    default: return false;
    }
}

static void add_consumer(struct cpu_state *state, const void *consumer)
{
    if (state->consumer && state->consumer != consumer)
        state->shared = true;
    state->consumer = consumer;
}

/* Joins what is known of `value` with one use of it. */
static void look_at_use(struct cpu_emitter *e, const struct cpu_plan *plan, struct cpu_state *state,
                        const struct ir_use *use, bool *nested)
{
    const struct ir_operation *user = use->user;
    int position = cpu_plan_position(plan, user);
    if (position > state->last)
        state->last = position;
    if (user->block != plan->block) {
        *nested = true;
        state->shared = true;
        return;
    }
    if (is_cut(user)) {
        add_consumer(state, user->opcode == OP_YIELD || user->opcode == OP_CONDITION ? (const void *)use : user);
        if (user->opcode != OP_RESHAPE)
            return;
    }
    for (int i = 0; i < user->result_count; i++) {
        if (!cpu_is_tile(user->results[i]))
            continue;
        const struct cpu_state *result = cpu_state_of(e, user->results[i]);
        if (result->last > state->last)
            state->last = result->last;
        if (result->keep || result->eager || is_cut(user))
            add_consumer(state, user);
        else if (result->shared)
            state->shared = true;
        else if (result->consumer)
            add_consumer(state, result->consumer);
    }
}

static void look_at_value(struct cpu_emitter *e, const struct cpu_plan *plan, const struct ir_value *value)
{
    struct cpu_state *state = cpu_state_of(e, value);
    bool nested = false;
    for (const struct ir_use *use = value->uses; use; use = use->next)
        look_at_use(e, plan, state, use, &nested);
    if (!state->cut && value->definition && state->shared && state->cost >= CPU_DEAR) {
        state->keep = true;
        state->eager = nested; /* filled where every later use sees it */
    }
}

static int sum_cost(struct cpu_emitter *e, const struct ir_operation *operation)
{
    int cost = own_cost(operation);
    for (int i = 0; i < operation->operand_count; i++)
        if (cpu_is_tile(operation->operands[i])) {
            const struct cpu_state *state = cpu_state_of(e, operation->operands[i]);
            cost += state->kind == CPU_BUFFER || state->cut ? 1 : state->cost;
        }
    return cost > 1000 ? 1000 : cost;
}

/* ---- memory order ---- */

/* The kernel's argument behind a view or pointer, or -1. */
int cpu_root_of(struct cpu_emitter *e, const struct ir_value *value)
{
    for (;;) {
        const struct cpu_state *state = cpu_state_of(e, value);
        if (state->kind == CPU_VIEW)
            return state->view->root;
        const struct ir_operation *definition = value->definition;
        if (!definition) {
            bool kernel_argument = value->block == e->variant->function->body;
            return kernel_argument ? value->index : -1;
        }
        switch (definition->opcode) {
        case OP_SUBVIEW:
        case OP_VIEW_PERMUTE:
        case OP_MAKE_VIEW:
        case OP_VIEW_POINTER:
        case OP_POINTER_ADD:
        case OP_SPLAT:
        case OP_BROADCAST:
        case OP_RESHAPE:
        case OP_PERMUTE:
        case OP_EXTRACT:
        case OP_FLIP: value = definition->operands[0]; break;
        default: return -1;
        }
    }
}

static bool is_view_argument(const struct cpu_emitter *e, int root)
{
    return e->variant->function->body->arguments.data[root]->type->kind == IR_VIEW;
}

/* Index of the parameter that argument `root` is. */
static int parameter_of(const struct cpu_emitter *e, int root)
{
    for (int i = 0; e->entry && i < e->entry->parameters.count; i++)
        if (e->entry->parameters.data[i].slot >= 0 && root-- == 0)
            return i;
    return -1;
}

enum overlap { APART, SAME_OR_APART, ANYHOW };

static enum overlap overlap_of(const struct cpu_emitter *e, int a, int b)
{
    if (a < 0 || b < 0 || a == b)
        return ANYHOW;
    const struct ir_block *body = e->variant->function->body;
    if (!alias_may(body->arguments.data[a], body->arguments.data[b]))
        return APART;
    if (!is_view_argument(e, a) || !is_view_argument(e, b))
        return ANYHOW;
    if (!e->entry)
        return ANYHOW;
    int x = parameter_of(e, a), y = parameter_of(e, b);
    for (int i = 0; i < e->entry->aliases.count; i++) {
        const struct kernel_alias *alias = &e->entry->aliases.data[i];
        if ((alias->a == x && alias->b == y) || (alias->a == y && alias->b == x))
            return SAME_OR_APART;
    }
    return APART;
}

static bool same_index(const struct ir_value *a, const struct ir_value *b)
{
    int64_t x, y;
    return a == b || (ir_constant_integer(a, &x) && ir_constant_integer(b, &y) && x == y);
}

/* The store writes element p after the load read element p, and nobody else's: place and shape agree, and the value
 * reaches the store element by element. */
static bool reads_what_it_writes(struct cpu_emitter *e, const struct ir_operation *load,
                                 const struct ir_operation *store)
{
    struct ir_access a, b;
    if (load->opcode != OP_LOAD || store->opcode != OP_STORE || !ir_access_of(load, &a) || !ir_access_of(store, &b))
        return false;
    if (a.rank != b.rank || !b.value || !ir_type_same_shape(load->results[0]->type, b.value->type))
        return false;
    const struct ir_block *body = e->variant->function->body;
    bool arguments = !a.view->definition && !b.view->definition && a.view->block == body && b.view->block == body;
    if (a.view != b.view && !arguments)
        return false;
    for (int d = 0; d < a.rank; d++)
        if (a.place[d] != b.place[d] || a.place[d] == IR_GATHER || !same_index(a.index[d], b.index[d]))
            return false;
    return true;
}

/* Does an element of `value` read another element of `load` than its own?  A value is walked once for each `same`, for
 * which `mark` and the next one stamp it; who looks for any element has looked for others, too. */
static bool reads_elsewhere(struct cpu_emitter *e, const struct ir_value *value, const struct ir_value *load, bool same,
                            int mark)
{
    if (value == load)
        return !same;
    if (!value->definition || !cpu_is_tile(value))
        return false;
    const struct ir_operation *definition = value->definition;
    struct cpu_state *state = cpu_state_of(e, value);
    int stamp = mark + (same ? 0 : 1);
    if (is_cut(definition) || state->mark == stamp || state->mark == mark + 1) /* done before the store; or seen */
        return false;
    state->mark = stamp;
    same = same && (ir_op_info[definition->opcode].traits & IR_TRAIT_ELEMENTWISE);
    for (int i = 0; i < definition->operand_count; i++)
        if (reads_elsewhere(e, definition->operands[i], load, same, mark))
            return true;
    return false;
}

struct hazard {
    struct cpu_emitter *e;
    const struct ir_operation *load;
    int root;
    bool found, nested;
};

static void effects_of(struct ir_operation *operation, void *context)
{
    struct hazard *hazard = context;
    const struct ir_op_info *info = &ir_op_info[operation->opcode];
    if (operation->opcode == OP_ASSUME || operation->opcode == OP_CALL) {
        hazard->found |= operation->opcode == OP_CALL;
        return;
    }
    if (info->traits & (IR_TRAIT_ATOMIC | IR_TRAIT_SYNC)) {
        hazard->found = true;
        return;
    }
    struct ir_access access;
    if (!(info->traits & IR_TRAIT_WRITE) || operation->region_count || !ir_access_of(operation, &access))
        return;
    enum overlap overlap = overlap_of(hazard->e, hazard->root, cpu_root_of(hazard->e, access.view));
    if (overlap == APART)
        return;
    struct ir_value *load = hazard->load->results[0];
    bool same_view = overlap == SAME_OR_APART ||
                     (hazard->load->opcode == OP_LOAD && hazard->load->operands[0] == access.view);
    if (!hazard->nested && same_view && access.value && reads_what_it_writes(hazard->e, hazard->load, operation) &&
        !reads_elsewhere(hazard->e, access.value, load, true, hazard->e->marks += 2) && !access.mask)
        return;
    hazard->found = true;
}

/* Must the load be done where it stands? */
static bool load_is_overtaken(struct cpu_emitter *e, const struct cpu_plan *plan, struct ir_operation *load,
                              int position)
{
    int last = cpu_state_of(e, load->results[0])->last;
    struct hazard hazard = {.e = e, .load = load, .root = cpu_root_of(e, load->operands[0])};
    for (int i = position + 1; i <= last && i < plan->count; i++) {
        struct ir_operation *operation = plan->operations[i];
        hazard.nested = i < last ||
                        operation->region_count > 0; /* a write before the last reader: nothing excuses it */
        effects_of(operation, &hazard);
        hazard.nested = true;
        for (int r = 0; r < operation->region_count; r++)
            ir_walk(operation->regions[r], effects_of, &hazard);
        if (hazard.found)
            return true;
    }
    return false;
}

struct cpu_plan *cpu_plan_block(struct cpu_emitter *e, const struct ir_block *block)
{
    struct cpu_plan *plan = ARENA_NEW(e->arena, struct cpu_plan);
    plan->block = block;
    for (struct ir_operation *o = block->first; o; o = o->next)
        plan->count++;
    plan->operations = ARENA_ARRAY(e->arena, struct ir_operation *, plan->count + 1);
    plan->count = 0;
    for (struct ir_operation *o = block->first; o; o = o->next) {
        plan->operations[plan->count++] = o;
        for (int i = 0; i < o->result_count; i++) {
            struct cpu_state *state = cpu_state_of(e, o->results[i]);
            *state = (struct cpu_state){.cut = is_cut(o), .last = plan->count - 1};
            state->cost = cpu_is_tile(o->results[i]) ? sum_cost(e, o) : 0;
        }
    }
    for (int p = plan->count - 1; p >= 0; p--) {
        struct ir_operation *operation = plan->operations[p];
        for (int i = 0; i < operation->result_count; i++)
            if (cpu_is_tile(operation->results[i]))
                look_at_value(e, plan, operation->results[i]);
        bool loads = operation->opcode == OP_LOAD || operation->opcode == OP_POINTER_LOAD;
        if (loads && cpu_is_tile(operation->results[0]) && load_is_overtaken(e, plan, operation, p)) {
            struct cpu_state *state = cpu_state_of(e, operation->results[0]);
            state->keep = state->eager = true;
        }
    }
    for (int i = 0; i < block->arguments.count; i++)
        if (cpu_is_tile(block->arguments.data[i])) {
            bool nested = false;
            struct cpu_state *state = cpu_state_of(e, block->arguments.data[i]);
            state->last = -1;
            for (const struct ir_use *use = block->arguments.data[i]->uses; use; use = use->next)
                look_at_use(e, plan, state, use, &nested);
        }
    return plan;
}
