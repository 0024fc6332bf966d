/* keep_in_flight: a product of consumers is waited for behind the next one, so that tensor cores always have one.
 *
 *     for %k = … iter(%s = …, %slot = …) {
 *         mbarrier_wait %full, %slot, …
 *         %p = dot_async A[%slot], B[%slot], %s
 *         %s1 = dot_wait pending(0) %p
 *         mbarrier_arrive %empty, %slot
 *         yield %s1, …
 *     }
 * becomes
 *     %r, …, %left = for %k = … iter(%s = …, %slot = …, %last = -1) {
 *         mbarrier_wait %full, %slot, …
 *         %p = dot_async A[%slot], B[%slot], %s       %s may still be on its way: products of one sum run in order
 *         dot_wait pending(1) %s
 *         if %last >= 0 { mbarrier_arrive %empty, %last }
 *         yield %p, …, %slot
 *     }
 *     %r1 = dot_wait pending(0) %r
 *     if %left >= 0 { mbarrier_arrive %empty, %left }
 *
 * Several products of an iteration each wait behind the next one, the last behind the first of the next iteration.
 *
 * Right because between a product and its wait nobody looks at the sum but another product that adds to it (the
 * verifier asks that again), and the slot that it reads is given back behind its wait, as before.  A slot is held for
 * one product longer, so that its ring must have slots for this product, the next, and a copy.
 *
 * Done where one warpgroup consumes: with more, one multiplies while another waits, and holding a slot for longer
 * makes the ring shorter (an H200, bf16, tiles of 64 x 128 by one: 524 to 620 TFLOP/s at 4096, 210 to 230 at 1024;
 * of 128 x 256 by two: nothing at 4096, 1 % less at 2048). */
#include "passes/base/pass.h"
#include "passes/base/planning.h"
#include "passes/base/rewrite.h"

enum { LEAST_SLOTS = 3, WARPGROUP = 4 };

/* A product, its wait, and the slots that are given back behind it. */
struct waited_product {
    struct ir_operation *product, *wait;
    VECTOR(struct ir_operation *) arrives;
};
struct visiting {
    struct pass_context *context;
    int64_t warps;
    bool changed;
};
struct loop_products {
    struct arena *arena;
    struct ir_operation *loop;
    VECTOR(struct waited_product) products;
};

/* One whose factors and accumulator nothing of this thread changes while it is on its way. */
static bool runs_alone(const struct ir_operation *op)
{
    return ir_number(op, IR_ATTRIBUTE_INSTRUCTION, 0) == IR_INSTRUCTION_WGMMA &&
           ir_number(op, IR_ATTRIBUTE_PROMOTE, 0) == 0 && op->operands[0]->type->kind == IR_BUFFER;
}

static const char *add_wait(struct waited_product *last, struct ir_operation *op)
{
    if (!last || last->wait || op->operand_count != 1 || op->operands[0] != last->product->results[0] ||
        ir_number(op, IR_ATTRIBUTE_PENDING, 0))
        return "a wait is not for the product before it alone";
    last->wait = op;
    return NULL;
}

static const char *add_arrive(struct loop_products *l, struct waited_product *last, struct ir_operation *op)
{
    if (!last || !last->wait || op->operands[0]->block == op->block || op->operand_count != 2)
        return "a slot is not given back behind a product";
    if (op->operands[0]->type->slots < LEAST_SLOTS)
        return "the ring has too few slots to hold one for longer";
    vector_push(l->arena, &last->arrives, op);
    return NULL;
}

/* The products of a loop's body, in order; what stands between them may neither look at sums nor change factors. */
static const char *find_products(struct loop_products *l)
{
    const char *problem = NULL;
    for (struct ir_operation *op = l->loop->regions[0]->first; op && !problem; op = op->next) {
        struct waited_product *last = l->products.count ? &l->products.data[l->products.count - 1] : NULL;
        switch (op->opcode) {
        case OP_DOT_ASYNC:
            if (last && !last->wait)
                return "two products run side by side already";
            if (!runs_alone(op))
                return "a product reads registers, or adds to its sum by other instructions";
            vector_push(l->arena, &l->products, ((struct waited_product){.product = op}));
            break;
        case OP_DOT_WAIT: problem = add_wait(last, op); break;
        case OP_MBARRIER_ARRIVE: problem = add_arrive(l, last, op); break;
        case OP_MBARRIER_WAIT:
        case OP_YIELD: break;
        default:
            if (op->region_count || !ir_has_trait(op, IR_TRAIT_PURE))
                return "there is other work in the loop";
        }
    }
    return problem;
}

static struct ir_value *argument(const struct loop_products *l, int carried)
{
    return l->loop->regions[0]->arguments.data[1 + carried];
}

/* The carried value that the product's sum becomes, or -1: the same registers from the value that comes round, over
 * products that add to it one after another, to the yield at its place, and nothing else looks at any of them. */
static int carried_by(const struct loop_products *l, const struct waited_product *waited)
{
    const struct ir_value *sum = waited->wait->results[0];
    while (sum->uses && !sum->uses->next && sum->uses->user->opcode == OP_DOT_ASYNC)
        sum = sum->uses->user->results[0]->uses->user->results[0]; /* its wait's */
    const struct ir_use *use = sum->uses;
    if (!use || use->next || use->user != ir_terminator(l->loop->regions[0]))
        return -1;
    const struct ir_value *from = waited->product->operands[2];
    while (from->definition && from->definition->opcode == OP_DOT_WAIT && from->block == waited->product->block)
        from = from->definition->operands[0]->definition->operands[2];
    return from == argument(l, use->index) && !from->uses->next ? use->index : -1;
}

/* Why not, or NULL. */
static const char *find_problem(struct loop_products *l)
{
    const char *problem = find_products(l);
    for (int g = 0; g < l->products.count && !problem; g++) {
        const struct waited_product *waited = &l->products.data[g];
        const struct ir_value *product = waited->product->results[0];
        if (!waited->wait || !product->uses || product->uses->next)
            problem = "a wait is not for the product before it alone";
    }
    for (int g = 0; g < l->products.count && !problem; g++)
        if (carried_by(l, &l->products.data[g]) < 0)
            problem = "the loop looks at a sum, or moves it";
    return problem;
}

/* The numbers of the slots that are given back behind the last product of an iteration, each once. */
struct held {
    struct ir_value **number;
    int count;
};

static struct held find_held(struct loop_products *l)
{
    const struct waited_product *last = &l->products.data[l->products.count - 1];
    struct held held = {.number = ARENA_ARRAY(l->arena, struct ir_value *, last->arrives.count)};
    for (int i = 0; i < last->arrives.count; i++) {
        int known = 0;
        while (known < held.count && held.number[known] != last->arrives.data[i]->operands[1])
            known++;
        held.number[known] = last->arrives.data[i]->operands[1];
        held.count = known == held.count ? known + 1 : held.count;
    }
    return held;
}

/* Gives back what was held when `numbers` were carried in place of it: nothing where they are negative. */
static void give_back(struct ir_builder *builder, const struct waited_product *waited, const struct held *held,
                      struct ir_value *const *numbers)
{
    for (int i = 0; i < held->count; i++) {
        struct ir_value *zero = ir_constant_int(builder, numbers[i]->type, 0);
        struct ir_value *some = ir_compare(builder, IR_PREDICATE_GE, numbers[i], zero);
        struct ir_operation *guard = ir_build(builder, OP_IF, 1, &some, 0, NULL);
        struct ir_builder inner = {.module = builder->module, .block = guard->regions[0], .at = builder->at};
        for (int a = 0; a < waited->arrives.count; a++) {
            const struct ir_operation *arrive = waited->arrives.data[a];
            struct ir_value *operands[] = {arrive->operands[0], numbers[i]};
            if (arrive->operands[1] != held->number[i])
                continue;
            struct ir_operation *made = ir_build(&inner, OP_MBARRIER_ARRIVE, 2, operands, 0, NULL);
            if (ir_attribute(arrive, IR_ATTRIBUTE_CLUSTER))
                ir_set_number(made, IR_ATTRIBUTE_CLUSTER, ir_number(arrive, IR_ATTRIBUTE_CLUSTER, 0));
        }
        ir_build(&inner, OP_YIELD, 0, NULL, 0, NULL);
        inner.block = guard->regions[1];
        ir_build(&inner, OP_YIELD, 0, NULL, 0, NULL);
    }
}

static const struct ir_block *role_of(const struct ir_operation *op)
{
    const struct ir_block *block = op->block;
    while (block->parent && block->parent->opcode != OP_ROLES)
        block = block->parent->block;
    return block;
}

/* The end of a turn, for which this role waits, too, when it comes round.  A slot that is given back others wait for alone. */
static bool is_turn(const struct ir_operation *op)
{
    const struct ir_use *use = op->opcode == OP_MBARRIER_ARRIVE ? op->operands[0]->uses : NULL;
    for (; use; use = use->next)
        if (use->user->opcode == OP_MBARRIER_WAIT && role_of(use->user) == role_of(op))
            return true;
    return false;
}

/* What stands behind the loop and tells others that its products have started: it need not wait for their ends. */
static struct ir_operation *last_told(struct ir_operation *loop)
{
    struct ir_operation *last = loop;
    while (is_turn(last->next))
        last = last->next;
    return last;
}

/* The sums that are on their way behind the loop: their wait there. */
static void wait_behind(struct loop_products *l, const bool *on_its_way, int count, struct ir_operation *told)
{
    struct ir_builder builder = rewrite_before(told->next);
    struct ir_value **sums = ARENA_ARRAY(l->arena, struct ir_value *, count);
    const struct ir_type **types = ARENA_ARRAY(l->arena, const struct ir_type *, count);
    int waits = 0;
    builder.at = l->products.data[l->products.count - 1].wait->at;
    for (int i = 0; i < count; i++)
        if (on_its_way[i]) {
            types[waits] = l->loop->results[i]->type;
            sums[waits++] = l->loop->results[i];
        }
    struct ir_operation *wait = ir_build(&builder, OP_DOT_WAIT, waits, sums, waits, types);
    ir_set_number(wait, IR_ATTRIBUTE_PENDING, 0);
    for (int i = 0; i < waits; i++) {
        wait->results[i]->name = sums[i]->name;
        ir_replace_uses(sums[i], wait->results[i]);
        ir_set_operand(wait, i, sums[i]);
    }
}

/* The products but the last: their waits move behind the next product. */
static void delay_inside(struct loop_products *l)
{
    for (int g = 0; g < l->products.count; g++) {
        struct waited_product *waited = &l->products.data[g];
        ir_replace_uses(waited->wait->results[0], waited->product->results[0]);
        if (g + 1 == l->products.count)
            continue;
        struct ir_operation *behind = l->products.data[g + 1].product->next;
        ir_set_number(waited->wait, IR_ATTRIBUTE_PENDING, 1);
        ir_move_before(waited->wait, behind);
        for (int i = 0; i < waited->arrives.count; i++)
            ir_move_before(waited->arrives.data[i], behind);
    }
}

static void rewrite(struct loop_products *l)
{
    struct waited_product *last = &l->products.data[l->products.count - 1];
    struct held held = find_held(l);
    int carried = carried_by(l, last), old = l->loop->result_count;
    struct ir_value **numbers = ARENA_ARRAY(l->arena, struct ir_value *, held.count);
    const char **names = ARENA_ARRAY(l->arena, const char *, held.count);
    bool *on_its_way = ARENA_ARRAY(l->arena, bool, old);
    struct ir_builder builder = rewrite_before(l->loop);
    for (int i = 0; i < old; i++)
        for (int g = 0; g < l->products.count; g++)
            on_its_way[i] |= ir_terminator(l->loop->regions[0])->operands[i] == l->products.data[g].wait->results[0];
    for (int i = 0; i < held.count; i++) {
        numbers[i] = ir_constant_int(&builder, held.number[i]->type, -1);
        names[i] = "last";
    }
    l->loop = rewrite_carry(l->arena, l->loop, held.count, numbers, names);
    delay_inside(l);
    held = find_held(l); /* their loop's values are the new loop's now */
    for (int i = 0; i < held.count; i++) {
        ir_add_operand(ir_terminator(l->loop->regions[0]), held.number[i]);
        numbers[i] = argument(l, old + i);
    }
    builder = rewrite_before(l->products.data[0].product->next);
    builder.at = last->wait->at;
    struct ir_value *sum = argument(l, carried);
    struct ir_operation *wait = ir_build(&builder, OP_DOT_WAIT, 1, &sum, 1, &sum->type);
    ir_set_number(wait, IR_ATTRIBUTE_PENDING, 1);
    give_back(&builder, last, &held, numbers);
    for (int i = 0; i < held.count; i++)
        numbers[i] = l->loop->results[old + i];
    struct ir_operation *told = last_told(l->loop);
    builder = rewrite_before(told->next);
    builder.at = last->wait->at;
    give_back(&builder, last, &held, numbers);
    wait_behind(l, on_its_way, old, told);
    for (int i = 0; i < last->arrives.count; i++)
        ir_remove(last->arrives.data[i]);
    ir_remove(last->wait);
}

/* Of the first product that something is asked for. */
static int asked_in_flight(const struct ir_operation *loop)
{
    const struct ir_plan *asked = ir_plan_asked(loop);
    for (int i = 0; asked && i < asked->products.count; i++)
        if (asked->products.data[i].in_flight != IR_PLAN_OPEN)
            return asked->products.data[i].in_flight;
    return IR_PLAN_OPEN;
}

static void tell_products(const struct ir_operation *loop, bool in_flight, const char *why)
{
    for (const struct ir_operation *op = loop->regions[0]->first; op; op = op->next) {
        struct ir_plan_product *product = op->opcode == OP_DOT_ASYNC ? planning_product(op) : NULL;
        if (!product)
            continue;
        product->in_flight = in_flight;
        if (!product->why && product->stage != 1)
            ir_plan_explain(loop->block->function->module->arena, &product->why, why);
    }
}

static void visit(struct ir_operation *op, void *data)
{
    struct visiting *v = data;
    bool products = false;
    const struct ir_operation *inner = op->opcode == OP_FOR ? op->regions[0]->first : NULL;
    for (; inner; inner = inner->next)
        products |= inner->opcode == OP_DOT_ASYNC &&
                    ir_number(inner, IR_ATTRIBUTE_INSTRUCTION, 0) == IR_INSTRUCTION_WGMMA;
    if (!products)
        return;
    struct loop_products l = {.arena = v->context->arena, .loop = op};
    int asked = asked_in_flight(op);
    const char *problem = asked == 0                           ? "the plan asks for it"
                          : v->warps > WARPGROUP && asked != 1 ? "another warpgroup multiplies meanwhile"
                                                               : find_problem(&l);
    if (problem)
        pass_remark(v->context, op->at, "products are waited for at once: %s", problem);
    bool done = !problem && pass_fuel(v->context);
    tell_products(op, done, problem);
    if (!done)
        return;
    pass_remark(v->context, op->at, "each product is waited for behind the next one");
    rewrite(&l);
    v->changed = true;
}

bool pass_keep_in_flight(struct ir_function *function, struct pass_context *context)
{
    struct visiting v = {.context = context};
    for (struct ir_operation *op = function->body->first; op; op = op->next)
        for (int r = 0; op->opcode == OP_ROLES && r < op->region_count; r++) {
            v.warps = ir_attribute(op, IR_ATTRIBUTE_ROLE_WARPS)->list[r];
            ir_walk(op->regions[r], visit, &v);
        }
    return v.changed;
}
