/* Instances that cannot be made: more shared memory than the GPU has, or tiles that no thread holds; and those that take
 * minutes, where the compiler itself has chosen them.  They are found behind the passes, before LLVM and ptxas spend the
 * minutes. */
#include "driver/driver.h"
#include "ir/layout/layout.h"

static bool has_excess(struct compilation *compilation, const struct kernel_variant *variant,
                       struct nvptx_excess *excess)
{
    return target_rows[variant->target].kind == TARGET_NVPTX &&
           nvptx_find_excess(compilation->arena, &target_rows[variant->target], variant->function, variant->label,
                             excess);
}

/* ---- long code ---- */

/* What a thread does of one operation: the elements that it holds of the widest tile, one after the other. */
static int64_t length_of_operation(const struct ir_operation *operation)
{
    int most = 1;
    for (int i = 0; i < operation->result_count + operation->operand_count; i++) {
        const struct ir_value *value = i < operation->result_count ? operation->results[i]
                                                                   : operation->operands[i - operation->result_count];
        if (value->type->kind != IR_TILE || !value->type->layout)
            continue;
        int registers = layout_registers(value->type->layout);
        if (registers > most)
            most = registers;
    }
    return most;
}

/* Of roles the longest: two consumers that do the same take twice the time of one (matmul's 64 x 64: 2.9 s and 1.6), not more. */
static int64_t length_of(const struct ir_block *block)
{
    int64_t length = 0;
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        int64_t most = 0, sum = 0;
        for (int r = 0; r < op->region_count; r++) {
            int64_t region = length_of(op->regions[r]);
            sum += region;
            most = int64_max(most, region);
        }
        length += length_of_operation(op) + (op->opcode == OP_ROLES ? most : sum);
    }
    return length;
}

/* LLVM and ptxas take more than linear time: half a second for so many as are warned of, and minutes for several times as
 * many. */
enum { LONG_CODE = 8192, LONGEST_EXTRA = 2 * LONG_CODE };

static bool is_long(const struct kernel_variant *variant, int64_t most)
{
    return target_rows[variant->target].kind != TARGET_CPU && length_of(variant->function->body) > most;
}

static int missing_registers(struct compilation *compilation, const struct kernel_variant *variant)
{
    return target_rows[variant->target].kind == TARGET_NVPTX
               ? nvptx_missing_registers(compilation->arena, &target_rows[variant->target], variant->function)
               : 0;
}

void limits_warn_of_length(struct compilation *compilation, const char *kernel, const struct kernel_variant *variant)
{
    if (kernel_is_extra(variant) || !is_long(variant, LONG_CODE))
        return;
    struct diagnostic *d = diag_report(
        compilation->diagnostics, DIAGNOSTIC_W1007, variant->function->at,
        "`%s` has more than %d operations for each thread, one for each element that it holds of a tile: compiling it "
        "takes long; smaller tiles in a loop take less",
        kernel, LONG_CODE);
    diag_instance(compilation->diagnostics, d, variant->label);
}

/* ---- what is left out ---- */

/* An entry of which some variants are left out. */
struct selection {
    struct kernel_entry *entry;
    const bool *left_out; /* a variant each */
};

/* Whether the variants differ in their schedules alone: numbers of schedules count up from 0 within the same facts. */
static bool is_same_facts(const struct kernel_entry *entry, int earlier, int later)
{
    while (later > earlier && entry->variants.data[later].schedule)
        later--;
    return later <= earlier;
}

/* The last of the facts that stays takes all calls that come to it. */
static bool is_last_of_facts(const struct selection *selection, int number)
{
    for (int i = number + 1; i < selection->entry->variants.count && is_same_facts(selection->entry, number, i); i++)
        if (!selection->left_out[i])
            return false;
    return true;
}

/* What takes its calls: another schedule of the same facts, or a variant with the same keys and no condition. */
static const struct kernel_variant *find_stand_in(const struct selection *selection, int left_out)
{
    const struct kernel_entry *entry = selection->entry;
    const struct kernel_variant *gone = &entry->variants.data[left_out];
    for (int i = 0; i < entry->variants.count; i++) {
        const struct kernel_variant *other = &entry->variants.data[i];
        bool same = other->target == gone->target && !selection->left_out[i] && is_last_of_facts(selection, i);
        for (int k = 0; same && k < entry->keys.count; k++)
            same = other->key_values[k] == gone->key_values[k];
        bool same_facts = i < left_out ? is_same_facts(entry, i, left_out) : is_same_facts(entry, left_out, i);
        if (same && (same_facts || !other->predicate))
            return other;
    }
    return NULL;
}

static bool any_stays(const struct selection *selection, int target)
{
    for (int i = 0; i < selection->entry->variants.count; i++)
        if (selection->entry->variants.data[i].target == target && !selection->left_out[i])
            return true;
    return false;
}

static void report(struct compilation *compilation, const struct selection *selection, int number,
                   const struct nvptx_excess *excess)
{
    struct diagnostics *diagnostics = compilation->diagnostics;
    const struct kernel_variant *variant = &selection->entry->variants.data[number];
    struct diagnostic *d;
    bool stays = any_stays(selection, variant->target);
    if (!stays)
        d = diag_report(diagnostics, excess->code, excess->at, "%s", excess->text);
    else
        d = diag_report(diagnostics, DIAGNOSTIC_W1206, excess->at, "an instance is left out: %s", excess->text);
    diag_note(diagnostics, d, excess->fits_at, "%s", excess->fits);
    if (stays) {
        const struct kernel_variant *other = find_stand_in(selection, number);
        if (other)
            diag_note(diagnostics, d, selection->entry->at, "%s takes its calls", other->label);
        else
            diag_note(diagnostics, d, selection->entry->at, "a call that needs %s gets TILE_ERR_NO_IMAGE",
                      variant->label);
    }
    diag_instance(diagnostics, d, variant->label);
}

/* Nobody has written it, so that it is no warning. */
static void tell_extra(struct compilation *compilation, const struct kernel_variant *variant, const char *why)
{
    if (!compilation->chooser.remarks)
        return;
    struct diagnostic *d = diag_report(compilation->diagnostics, DIAGNOSTIC_R2001, variant->function->at,
                                       "schedules: %s is left out: %s", variant->modelled->text, why);
    diag_instance(compilation->diagnostics, d, variant->label);
}

/* Conditions anew of what stays of the set that begins with the variant, if something of it is left out. */
static void choose_again(struct arena *arena, const struct selection *selection, int first)
{
    struct kernel_variant *variants = selection->entry->variants.data;
    VECTOR(struct kernel_choice) set = {0};
    int end = first, next = 0;
    for (; end < selection->entry->variants.count && is_same_facts(selection->entry, first, end); end++)
        if (!selection->left_out[end])
            vector_push(arena, &set, ((struct kernel_choice){.modelled = variants[end].modelled}));
    if (!variants[first].modelled || !set.count || set.count == end - first)
        return;
    schedules_set_conditions(arena, set.count, set.data);
    for (int i = first; i < end; i++)
        if (!selection->left_out[i])
            variants[i].when = set.data[next++].when;
}

/* Takes those out that are left out.  The last schedule of each facts then stands without a condition, and the first is the
 * default: what fails of it from now on is an error, so that no facts lose all their schedules by warnings. */
static void remove_left_out(struct arena *arena, const struct selection *selection)
{
    struct kernel_entry *entry = selection->entry;
    bool lacks_default = false;
    int kept = 0;
    for (int i = 0; i < entry->variants.count; i++)
        if (!entry->variants.data[i].schedule)
            choose_again(arena, selection, i);
    for (int i = 0; i < entry->variants.count; i++)
        if (!selection->left_out[i] && is_last_of_facts(selection, i))
            entry->variants.data[i].when = NULL;
    for (int i = 0; i < entry->variants.count; i++) {
        struct kernel_variant *variant = &entry->variants.data[i];
        lacks_default |= !variant->schedule;
        if (selection->left_out[i])
            continue;
        variant->schedule = lacks_default ? 0 : variant->schedule;
        lacks_default = false;
        entry->variants.data[kept++] = *variant;
    }
    entry->variants.count = kept;
}

/* ptxas computes element by element what is not multiplied: fewer than these it finds room for (matmul by 128 x 128 and four warps,
 * short of 24, spills nothing and is the fastest at 32768 x 1024 x 1024). */
enum { MOST_MISSING = 32 };

/* Why one of a set that the compiler has chosen is not worth having; NULL: it is. */
static const char *find_drawback(struct compilation *compilation, const struct kernel_entry *entry, int number)
{
    const struct kernel_variant *variant = &entry->variants.data[number];
    int first = number;
    if (!kernel_is_extra(variant))
        return NULL;
    while (entry->variants.data[first].schedule) /* to the default */
        first--;
    if (is_long(variant, LONGEST_EXTRA))
        return "compiling it takes long";
    int missing = missing_registers(compilation, variant);
    if (missing < MOST_MISSING || missing_registers(compilation, &entry->variants.data[first]))
        return NULL;
    return arena_printf(compilation->arena, "a thread is short of %d registers for tiles, and of none by the default",
                        missing);
}

void limits_leave_out_failed(struct arena *arena, struct kernel_entry *entry)
{
    bool *left_out = ARENA_ARRAY(arena, bool, entry->variants.count), any = false;
    for (int i = 0; i < entry->variants.count; i++)
        any |= left_out[i] = entry->variants.data[i].fails;
    if (any)
        remove_left_out(arena, &(struct selection){entry, left_out});
}

bool limits_apply(struct compilation *compilation, struct kernel_entry *entry)
{
    int count = entry->variants.count;
    bool good = true;
    bool *left_out = ARENA_ARRAY(compilation->arena, bool, count);
    struct nvptx_excess *excess = ARENA_ARRAY(compilation->arena, struct nvptx_excess, count);
    struct selection selection = {entry, left_out};
    const char **drawback = ARENA_ARRAY(compilation->arena, const char *, count);
    for (int i = 0; i < count; i++) {
        drawback[i] = has_excess(compilation, &entry->variants.data[i], &excess[i])
                          ? excess[i].text
                          : find_drawback(compilation, entry, i);
        left_out[i] = drawback[i] != NULL;
    }
    for (int i = 0; i < count; i++) {
        if (!left_out[i])
            continue;
        if (kernel_is_extra(&entry->variants.data[i])) {
            tell_extra(compilation, &entry->variants.data[i], drawback[i]);
            continue;
        }
        report(compilation, &selection, i, &excess[i]);
        good = good && any_stays(&selection, entry->variants.data[i].target);
    }
    if (good)
        remove_left_out(compilation->arena, &selection);
    for (int i = 0; i < entry->variants.count && good && compilation->options->syntax_only; i++) /* else ptxas tells */
        if (target_rows[entry->variants.data[i].target].kind == TARGET_NVPTX)
            nvptx_warn_registers(&compilation->target, &entry->variants.data[i]);
    return good;
}
