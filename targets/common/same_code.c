/* Variants of a kernel with the same code become one where they differ in nothing else.  That happens when a condition
 * of `specialize` says what is an automatic fact anyway, or when it makes no difference to the code.
 *
 * IR is the same if its text is, the facts of arguments included, but for what is assumed of scalars that nothing else
 * asks for.  The later variant stays, because more special ones stand in front of more general ones.  Calls that would
 * have taken the earlier variant come to the later one, or to one between the two that is right for them as well: the
 * later one's predicate is what either of the two asked for.  Where a set of schedules stands between them, that would be
 * right and slow: there only neighbours of the same facts become one. */
#include "targets/common/same_code.h"

#include <string.h>

#include "ir/facts/shared_form.h"
#include "ir/query.h"
#include "ir/text.h"

/* ---- assumptions of which nothing makes use ---- */

static bool is_computed(const struct ir_operation *op)
{
    return op->region_count == 0 && ir_has_trait(op, IR_TRAIT_PURE);
}

/* Everything that is made of the value are conditions of assumptions. */
static bool is_only_assumed(const struct ir_value *value)
{
    for (const struct ir_use *use = value->uses; use; use = use->next) {
        if (use->user->opcode == OP_ASSUME)
            continue;
        if (!is_computed(use->user))
            return false;
        for (int i = 0; i < use->user->result_count; i++)
            if (!is_only_assumed(use->user->results[i]))
                return false;
    }
    return true;
}

/* The value is made of constants, and of scalar arguments that are for assumptions alone. */
static bool says_nothing(const struct ir_value *value)
{
    const struct ir_operation *op = value->definition;
    if (!op)
        return value->type->kind == IR_TILE && !value->block->parent && is_only_assumed(value);
    bool nothing = is_computed(op) && (op->operand_count || op->opcode == OP_CONSTANT);
    for (int i = 0; i < op->operand_count && nothing; i++)
        nothing = says_nothing(op->operands[i]);
    return nothing;
}

static void drop_idle_assumptions(struct ir_function *function)
{
    bool dropped = false;
    for (struct ir_operation *op = function->body->last, *previous; op; op = previous) {
        previous = op->previous;
        bool idle = op->opcode == OP_ASSUME ? says_nothing(op->operands[0])
                                            : dropped && is_computed(op) && !ir_is_used(op);
        if (idle)
            ir_remove(op);
        dropped = dropped || idle;
    }
}

/* ---- equal texts ---- */

static const uint64_t hash_start = 0xcbf29ce484222325u, hash_step = 0x100000001b3u; /* FNV-1a */

static uint64_t hash_bytes(const struct same_code_text *text)
{
    uint64_t hash = hash_start;
    for (size_t i = 0; i < text->size; i++)
        hash = (hash ^ ((const unsigned char *)text->data)[i]) * hash_step;
    return hash;
}

static bool is_same_text(const struct same_code_text *a, const struct same_code_text *b)
{
    return a->hash == b->hash && a->data && b->data && a->size == b->size &&
           strcmp(a->entry->kernel, b->entry->kernel) == 0 && memcmp(a->data, b->data, a->size) == 0;
}

void same_code_find(int count, struct same_code_text *texts, int *first)
{
    for (int i = 0; i < count; i++) {
        texts[i].hash = hash_bytes(&texts[i]);
        first[i] = i;
        for (int k = 0; k < i && first[i] == i; k++)
            if (first[k] == k && is_same_text(&texts[k], &texts[i]))
                first[i] = k;
    }
}

/* Kernels and IR behind all passes: each variant's target stands in front of its text. */
void same_code_number(struct arena *arena, struct kernel_module *module)
{
    VECTOR(struct kernel_variant *) variants = {0};
    VECTOR(struct same_code_text) texts = {0};
    for (int i = 0; i < module->entries.count; i++)
        for (int k = 0; k < module->entries.data[i].variants.count; k++) {
            struct kernel_entry *entry = &module->entries.data[i];
            struct buffer code = {0};
            vector_push(arena, &variants, &entry->variants.data[k]);
            drop_idle_assumptions(entry->variants.data[k].function);
            buffer_printf(&code, "%d\n", entry->variants.data[k].target);
            ir_print_code(&code, entry->variants.data[k].module);
            vector_push(arena, &texts, ((struct same_code_text){entry, code.data, code.size, 0}));
        }
    int *first = ARENA_ARRAY(arena, int, texts.count + 1);
    same_code_find(texts.count, texts.data, first);
    for (int i = 0; i < texts.count; i++)
        variants.data[i]->code = first[i] + 1;
    for (int i = 0, next = 0; i < module->entries.count; i++) {
        struct kernel_entry *entry = &module->entries.data[i];
        entry->body = hash_start;
        for (int k = 0; k < entry->variants.count; k++)
            entry->body = (entry->body ^ texts.data[next++].hash) * hash_step;
    }
    for (int i = 0; i < texts.count; i++) {
        struct buffer code = {.data = (char *)texts.data[i].data};
        buffer_free(&code);
    }
}

/* ---- one variant for several ---- */

static bool is_same_launch(const struct kernel_gpu_code *a, const struct kernel_gpu_code *b)
{
    if (a->threads != b->threads || a->cluster != b->cluster || a->persistent != b->persistent ||
        a->shared_bytes != b->shared_bytes || a->map_count != b->map_count)
        return false;
    for (int i = 0; i < a->map_count; i++)
        if (!tensor_map_is_same(&a->maps[i], &b->maps[i]))
            return false;
    return true;
}

static bool has_same_keys(const struct kernel_entry *entry, const struct kernel_variant *a,
                          const struct kernel_variant *b)
{
    bool same = a->target == b->target;
    for (int i = 0; same && i < entry->keys.count; i++)
        same = a->key_values[i] == b->key_values[i];
    return same;
}

static bool is_alike(const struct kernel_entry *entry, const struct kernel_variant *a, const struct kernel_variant *b)
{
    if (!a->code || a->code != b->code || a->grid_rank != b->grid_rank || !is_same_launch(&a->gpu, &b->gpu))
        return false;
    if (!has_same_keys(entry, a, b))
        return false;
    for (int d = 0; d < a->grid_rank; d++)
        if (!kernel_expression_same(a->grid[d], b->grid[d]))
            return false;
    return true;
}

static bool is_part(const struct kernel_expression *all, const struct kernel_expression *part)
{
    return kernel_expression_same(all, part) ||
           (all && all->op == KERNEL_HOST_AND && (is_part(all->operand[0], part) || is_part(all->operand[1], part)));
}

/* Each part of the second conjunction is one of the first. */
static bool implies(const struct kernel_expression *a, const struct kernel_expression *b)
{
    if (b && b->op == KERNEL_HOST_AND)
        return implies(a, b->operand[0]) && implies(a, b->operand[1]);
    return !b || is_part(a, b);
}

/* Whether the later variant may have the calls of the earlier one. */
static bool can_serve(const struct kernel_entry *entry, int later, int earlier)
{
    const struct kernel_variant *variants = entry->variants.data, *a = &variants[earlier], *b = &variants[later];
    bool in_set = false;
    int between = 0;
    if (!is_alike(entry, a, b))
        return false;
    for (int i = earlier; i <= later; i++)
        if (has_same_keys(entry, a, &variants[i])) {
            in_set = in_set || variants[i].schedule || variants[i].when;
            between += i != earlier && i != later;
        }
    return !in_set || (!between && kernel_expression_same(a->predicate, b->predicate));
}

static const struct kernel_expression *either(struct arena *arena, const struct kernel_expression *a,
                                              const struct kernel_expression *b)
{
    struct kernel_expression *any = ARENA_NEW(arena, struct kernel_expression);
    if (!a || !b)
        return NULL;
    const char *text = a->text && b->text ? arena_printf(arena, "(%s) or (%s)", a->text, b->text) : NULL;
    *any = (struct kernel_expression){.op = KERNEL_HOST_OR, .operand = {a, b}, .text = text, .at = a->at};
    return any;
}

static void take_calls(struct arena *arena, struct kernel_variant *variant, const struct kernel_variant *gone)
{
    variant->when = either(arena, gone->when, variant->when);
    variant->schedule = gone->schedule;
    if (!implies(gone->predicate, variant->predicate))
        variant->predicate = either(arena, variant->predicate, gone->predicate);
}

void same_code_merge(struct arena *arena, struct kernel_entry *entry)
{
    int count = entry->variants.count, kept = 0;
    struct kernel_variant *variants = entry->variants.data;
    for (int i = 0; i < count; i++) {
        int serving = i + 1;
        while (serving < count && !can_serve(entry, serving, i))
            serving++;
        if (serving < count)
            take_calls(arena, &variants[serving], &variants[i]);
        else
            variants[kept++] = variants[i];
    }
    entry->variants.count = kept;
}
