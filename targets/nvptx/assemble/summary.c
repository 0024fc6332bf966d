/* One line that says what an instance became on a GPU: for the remark of -Rpass, for --resource-usage and for `tilecc
 * info`.
 *
 *     wgmma 128x256x64, 4 stages, 2 consumers and a producer by TMA, persistent; 168 registers, no spills, 225 KiB shared
 *
 * It is read off the program as it goes to LLVM and off what ptxas said, not off what was asked for. */
#include "targets/nvptx/assemble/assemble.h"

enum { MOST_PRODUCTS = 4, KIBIBYTE = 1024 };

struct product_seen {
    int64_t instruction, m, n, k;
};
struct facts {
    struct product_seen products[MOST_PRODUCTS];
    int product_count, stages, consumers;
    bool more_products, has_roles, in_turn, has_maker, has_tma,
        has_cp_async; /* in_turn: consumers take whole programs */
};

static void note_product(struct facts *facts, const struct ir_operation *op)
{
    const struct ir_type *a = op->operands[0]->type, *c = op->operands[2]->type;
    struct product_seen seen = {ir_number(op, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_FMA), c->extent[c->rank - 2],
                                c->extent[c->rank - 1], a->extent[a->rank - 1]};
    for (int i = 0; i < facts->product_count; i++) {
        const struct product_seen *known = &facts->products[i];
        if (known->instruction == seen.instruction && known->m == seen.m && known->n == seen.n && known->k == seen.k)
            return;
    }
    if (facts->product_count < MOST_PRODUCTS)
        facts->products[facts->product_count++] = seen;
    else
        facts->more_products = true;
}

static void find_product(struct ir_operation *op, void *found) { *(bool *)found |= op->opcode == OP_DOT_ASYNC; }

/* Those in front of the producer multiply, or make factors. */
static void note_roles(struct facts *facts, const struct ir_operation *op)
{
    const struct ir_attribute *warps = ir_attribute(op, IR_ATTRIBUTE_ROLE_WARPS);
    int consumers = 0;
    facts->has_roles = true;
    for (int i = 0; warps && i + 1 < warps->count; i++) {
        bool multiplies = false;
        ir_walk(op->regions[i], find_product, &multiplies);
        facts->consumers += multiplies ? (int)warps->list[i] / 4 : 0;
        facts->has_maker |= !multiplies;
        consumers += multiplies;
    }
    facts->in_turn = consumers > 1;
}

static void note(struct ir_operation *op, void *context)
{
    struct facts *facts = context;
    switch (op->opcode) {
    case OP_DOT:
    case OP_DOT_ASYNC: note_product(facts, op); break;
    case OP_BUFFER:
        if (op->results[0]->type->slots > facts->stages)
            facts->stages = op->results[0]->type->slots;
        break;
    case OP_ROLES: note_roles(facts, op); break;
    case OP_TMA_LOAD: facts->has_tma = true; break;
    case OP_CP_ASYNC: facts->has_cp_async = true; break;
    default: break;
    }
}

static void print_products(struct buffer *out, const struct facts *facts)
{
    static const char *const names[IR_INSTRUCTION_COUNT] = {"multiply-adds", "mma.sync", "wgmma"};
    for (int i = 0; i < facts->product_count; i++) {
        const struct product_seen *p = &facts->products[i];
        bool again = i && p->instruction == facts->products[i - 1].instruction;
        buffer_printf(out, "%s%s%s%lldx%lldx%lld", i ? again ? " and " : ", " : "", again ? "" : names[p->instruction],
                      again ? "" : " ", (long long)p->m, (long long)p->n, (long long)p->k);
    }
    if (facts->more_products)
        buffer_puts(out, " and more");
}

static void print_shared(struct buffer *out, int64_t bytes)
{
    if (bytes == 0)
        buffer_puts(out, ", no shared memory");
    else if (bytes % KIBIBYTE == 0 || bytes > 100 * KIBIBYTE)
        buffer_printf(out, ", %lld KiB shared", (long long)((bytes + KIBIBYTE - 1) / KIBIBYTE));
    else
        buffer_printf(out, ", %lld bytes shared", (long long)bytes);
}

const char *nvptx_summary(struct arena *arena, const struct ir_function *function, const struct kernel_gpu_code *code)
{
    struct facts facts = {0};
    struct buffer out = {0};
    ir_walk(function->body, note, &facts);
    print_products(&out, &facts);
    if (facts.stages > 1)
        buffer_printf(&out, "%s%d stages", out.size ? ", " : "", facts.stages);
    if (facts.has_roles)
        buffer_printf(&out, "%s%d consumer%s%s%s and a producer%s", out.size ? ", " : "", facts.consumers,
                      facts.consumers == 1 ? "" : "s", facts.in_turn ? " in turn" : "",
                      facts.has_maker ? ", a maker of factors" : "", facts.has_tma ? " by TMA" : "");
    else
        buffer_printf(&out, "%s%d warp%s%s", out.size ? ", " : "", function->warps, function->warps == 1 ? "" : "s",
                      facts.has_cp_async ? ", copies by cp.async" : "");
    if (code->cluster > 1)
        buffer_printf(&out, ", clusters of %d", code->cluster);
    if (code->persistent < 0)
        buffer_printf(&out, ", %d programs a block", -code->persistent);
    if (code->persistent > 0)
        buffer_puts(&out, ", persistent");
    buffer_printf(&out, "; %d registers", code->registers);
    if (code->spill_stores || code->spill_loads)
        buffer_printf(&out, ", spills: %lld bytes stored, %lld loaded", (long long)code->spill_stores,
                      (long long)code->spill_loads);
    else
        buffer_puts(&out, ", no spills");
    if (code->local_bytes)
        buffer_printf(&out, ", %lld bytes local", (long long)code->local_bytes);
    print_shared(&out, code->shared_bytes); /* the 1 KiB that sm_90 keeps for itself is the same for all */
    const char *text = arena_substring(arena, out.data, out.size);
    buffer_free(&out);
    return text;
}
