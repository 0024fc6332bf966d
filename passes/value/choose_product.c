/* choose_product: how each product is computed, by what the target can do and what the product's types and extents ask
 * for (product_choice.h).
 *
 *     %c = dot %a, %b, %acc : f32[128, 256]
 * becomes on sm_90a
 *     %c = dot instruction(wgmma) %a, %b, %acc : f32[128, 256]
 *
 * The attribute decides the accumulator's layout (assign_layouts), where factors live (buffer_operands) and what the
 * target emits.  Right because every instruction computes the same products; which sums are rounded when is left open
 * by the language.  Products of few rows are turned first, where that brings them to wgmma (turn_product.h).
 *
 * A product with one column or one row is none for them: its elements are multiplied and summed (line_product.h).
 *
 * An exp2 of f32 whose results become 16-bit factors may give 0 below 2^-126 (the language says so, but for
 * --strict-fp): three instructions an element less, where softmax feeds a product. */
#include "base/plant.h"
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"
#include "passes/value/line_product.h"
#include "passes/value/turn_product.h"
#include "targets/product_choice.h"
#include "targets/target.h"

enum { WARPGROUP_ROWS = 64, MOST_SUMS = 192 /* registers of a thread */ };

struct choosing {
    struct pass_context *context;
    bool changed, by_mma;
};

static void flush_factor(struct choosing *c, const struct ir_value *value)
{
    struct ir_operation *op = value->definition;
    while (op && (op->opcode == OP_PERMUTE ||
                  (op->opcode == OP_CAST && ir_element_info[op->results[0]->type->element].bits == 16)))
        op = op->operands[0]->definition;
    bool exponential = op && op->opcode == OP_MATH && ir_number(op, IR_ATTRIBUTE_FUNCTION, 0) == IR_MATH_EXP2 &&
                       op->results[0]->type->element == IR_F32;
    if (!exponential || op->block->function->strict_fp || ir_attribute(op, IR_ATTRIBUTE_FLUSH) ||
        !pass_fuel(c->context))
        return;
    ir_set_number(op, IR_ATTRIBUTE_FLUSH, 1);
    c->changed = true;
}

/* On the CPU every product is made of multiply-adds. */
static void report(struct choosing *c, const struct ir_operation *op, const struct product *product,
                   const struct product_choice *choice)
{
    static const char *const names[IR_INSTRUCTION_COUNT] = {"multiply-adds", "mma.sync", "wgmma"};
    struct buffer why = {0};
    if (c->context->target->kind != TARGET_NVPTX)
        return;
    if (choice->obstacles) {
        buffer_printf(&why, choice->missed == IR_INSTRUCTION_WGMMA && choice->instruction ? ", not by wgmma: " : ": ");
        product_explain(&why, product, choice);
    }
    const char *text = why.data ? why.data : "";
    if (product_choice_could_be_better(choice))
        pass_warn(c->context, DIAGNOSTIC_W1203, op->at, "this product is computed by %s%s", names[choice->instruction],
                  text);
    else
        pass_remark(c->context, op->at, "this product is computed by %s%s", names[choice->instruction], text);
    buffer_free(&why);
}

/* Each multiplication takes 1 / m + 1 / n elements from memory and shared memory: rows and columns of the sum, and so
 * the author's choice.  128 x 256 fills the registers of 8 warps. */
static void report_extents(struct choosing *c, const struct ir_operation *op, const struct product *product)
{
    double best = 1.0 / 128 + 1.0 / 256, taken = 1.0 / (double)product->m + 1.0 / (double)product->n;
    if (taken > best && ir_is_in_loop(op))
        pass_remark(c->context, op->at, "sums of %lld x %lld read %.0f %% more for each multiplication than 128 x 256",
                    (long long)product->m, (long long)product->n, 100 * (taken / best - 1));
}

/* A sum that goes round the loop, with what has been added to it so far. */
static bool goes_round(const struct ir_value *sum, const struct ir_block *body)
{
    const struct ir_operation *op = sum->definition;
    if (!op)
        return sum->block == body && body->parent;
    if (op->opcode == OP_DOT)
        return goes_round(op->operands[2], body);
    return (op->opcode == OP_ADD || op->opcode == OP_SUB) && goes_round(op->operands[0], body);
}

/* Whether it is added to a sum that goes round the loop, behind at most `steps` operations on each element. */
static bool is_added_up(const struct ir_value *value, int steps)
{
    for (const struct ir_use *use = value->uses; use && steps >= 0; use = use->next) {
        const struct ir_operation *user = use->user;
        const struct ir_value *other = user->opcode == OP_ADD || user->opcode == OP_SUB ? user->operands[1 - use->index]
                                                                                        : NULL;
        if (other && goes_round(other, user->block))
            return true;
        if (user->result_count == 1 && ir_has_trait(user, IR_TRAIT_ELEMENTWISE) &&
            is_added_up(user->results[0], steps - 1))
            return true;
    }
    return false;
}

/* A product adds to what it is given (fuse_dot), but for what is done with it in between. */
static void report_sum(struct choosing *c, const struct ir_operation *op)
{
    uint64_t bits;
    if (ir_constant_of(op->operands[2], &bits) && bits == 0 && is_added_up(op->results[0], 2))
        pass_remark(c->context, op->at,
                    "what this product gives is changed before it is added up: it and the sum both take registers");
}

/* Sums of 8-bit floats leave the tensor core behind each product:
 *     %c = dot promote(128) %a, %b, %acc
 * becomes
 *     %p = dot instruction(wgmma) %a, %b, %zero
 *     %c = add %acc, %p */
static void promote_sum(struct ir_operation *dot)
{
    struct ir_value *sum = dot->operands[2], *result = dot->results[0];
    uint64_t bits;
    ir_remove_attribute(dot, IR_ATTRIBUTE_PROMOTE);
    if (ir_constant_of(sum, &bits) && bits == 0)
        return;
    struct ir_builder builder = rewrite_before(dot);
    ir_set_operand(dot, 2, ir_constant_bits(&builder, sum->type, 0));
    builder.before = dot->next;
    struct ir_value *added = ir_build_value(&builder, OP_ADD, result->type, 2, (struct ir_value *[]){sum, result});
    if (PLANTED(promoted_sum_taken_for_product))
        return;
    ir_replace_uses(result, added);
    ir_set_operand(added->definition, 1, result);
}

static void visit(struct ir_operation *op, void *data)
{
    struct choosing *c = data;
    if (op->opcode != OP_DOT)
        return;
    struct product product = product_of(op);
    struct product_choice found = product_choice_of(c->context->target, &product);
    enum ir_instruction choice = found.instruction;
    if (choice == IR_INSTRUCTION_FMA && c->context->target->kind == TARGET_NVPTX && line_product_is(op) &&
        pass_fuel(c->context)) {
        pass_remark(c->context, op->at, "this product has one %s: its elements are multiplied and summed",
                    product.n == 1 ? "column" : "row");
        line_product_expand(op);
        c->changed = true;
        return;
    }
    if (choice == IR_INSTRUCTION_FMA) {
        report(c, op, &product, &found);
        return;
    }
    if (ir_attribute(op, IR_ATTRIBUTE_INSTRUCTION) || !pass_fuel(c->context))
        return;
    ir_set_number(op, IR_ATTRIBUTE_INSTRUCTION, choice);
    if (choice == IR_INSTRUCTION_WGMMA && product.promote)
        promote_sum(op);
    for (int i = 0; i < 2; i++)
        flush_factor(c, op->operands[i]);
    report(c, op, &product, &found);
    report_extents(c, op, &product);
    report_sum(c, op);
    c->changed = true;
    c->by_mma |= choice == IR_INSTRUCTION_MMA;
}

/* ---- sums that wgmma has no registers for ---- */

struct widest {
    int64_t rows, words;
};

static bool is_by(const struct ir_operation *op, enum ir_instruction instruction)
{
    return op->opcode == OP_DOT && ir_number(op, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_FMA) == instruction;
}

static void find_widest(struct ir_operation *op, void *data)
{
    struct widest *w = data;
    if (!is_by(op, IR_INSTRUCTION_WGMMA))
        return;
    const struct ir_type *type = op->results[0]->type;
    w->rows = w->rows ? int64_min(w->rows, type->extent[0]) : type->extent[0];
    w->words = int64_max(w->words, ir_type_elements(type));
}

static void leave_wgmma(struct ir_operation *op, void *data)
{
    struct choosing *c = data;
    if (!is_by(op, IR_INSTRUCTION_WGMMA))
        return;
    struct target_row target = *c->context->target;
    struct product product = product_of(op);
    target.flags &= ~(unsigned)TARGET_WGMMA;
    ir_set_number(op, IR_ATTRIBUTE_INSTRUCTION, product_choice_of(&target, &product).instruction);
    c->by_mma = true;
    pass_remark(c->context, op->at,
                "this product is computed by mma.sync: a product of the kernel has %d rows for each warpgroup of "
                "wgmma, and another's sums do not fit into the registers of so few",
                WARPGROUP_ROWS);
}

/* A warpgroup has 64 rows of each product, so that the one with the fewest rows says how many there are.  Where these
 * have no registers for the sums of another, mma.sync divides columns, too (decoding over latents of 512 by 64 heads
 * spilled 8.8 kB: 1436 -> 331 us on an H100, 2026-11-28-h100-forms.json). */
static void use_more_warps(struct choosing *c, struct ir_function *function)
{
    struct widest widest = {0};
    ir_walk(function->body, find_widest, &widest);
    int64_t groups = widest.rows / WARPGROUP_ROWS;
    groups = groups > 3 ? 2 : groups;
    if (groups && widest.words > groups * 128 * MOST_SUMS)
        ir_walk(function->body, leave_wgmma, c);
}

/* From sm_100 on there are better ways than those that are made for all targets from sm_80 on.  Said of the kernel, once
 * for all of its products. */
static void report_generation(struct choosing *c, const struct ir_function *function)
{
    enum { TCGEN05_FIRST = 10, TCGEN05_LAST = 11 };
    int major = c->context->target->major;
    if (!c->by_mma || major < TCGEN05_FIRST)
        return;
    pass_warn(c->context, DIAGNOSTIC_W1203, function->at,
              major <= TCGEN05_LAST
                  ? "the products of this kernel are computed by mma.sync and their factors brought by "
                    "cp.async: tcgen05, which this target is made for, is not there yet"
                  : "the factors of this kernel's products are brought by cp.async: for mma.sync, which "
                    "this target has in place of tcgen05, TMA is not there yet");
}

bool pass_choose_product(struct ir_function *function, struct pass_context *context)
{
    struct choosing c = {.context = context};
    if (context->target)
        c.changed = turn_products(function, context);
    if (context->target)
        ir_walk(function->body, visit, &c);
    if (context->target && context->target->kind == TARGET_NVPTX)
        use_more_warps(&c, function);
    if (context->target && context->target->kind == TARGET_NVPTX)
        report_generation(&c, function);
    return c.changed;
}
