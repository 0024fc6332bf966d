/* Passes over the variants of a module: the pipeline of each target, or the list of --passes; --print-after and --fuel.
 */
#include "driver/driver.h"

#include <string.h>

#include "ir/text.h"
#include "targets/common/attempt.h"
#include "targets/common/same_code.h"

/* Calls visit for each word of a comma list until one says no. */
static bool each_word(struct arena *arena, const char *list, bool (*visit)(const char *word, void *context),
                      void *context)
{
    for (const char *at = list; *at;) {
        size_t length = strcspn(at, ",");
        if (length && !visit(arena_substring(arena, at, length), context))
            return false;
        at += length + (at[length] == ',');
    }
    return true;
}

struct name_list {
    const struct options *options;
    const char *option;
};

static bool check_name(const char *word, void *context)
{
    const struct name_list *list = context;
    const char *option = list->option;
    if (pass_find(word) || (strcmp(word, "all") == 0 && strcmp(option, "--print-after") == 0))
        return true;
    const char *names[256];
    int count = 0;
    for (; count < pass_count && count < 256; count++)
        names[count] = pass_table[count].name;
    const char *nearest = suggest_nearest(word, count, names);
    driver_error(list->options, "%s: there is no pass '%s'%s%s%s", option, word, nearest ? "; did you mean '" : "",
                 nearest ? nearest : "", nearest ? "'?" : "");
    return false;
}

bool lower_check_names(const struct options *options)
{
    struct name_list passes = {options, "--passes"}, print_after = {options, "--print-after"};
    return (!options->passes || each_word(options->arena, options->passes, check_name, &passes)) &&
           (!options->print_after || each_word(options->arena, options->print_after, check_name, &print_after));
}

static bool list_has(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = list; at && *at;) {
        size_t here = strcspn(at, ",");
        if (here == length && strncmp(at, word, length) == 0)
            return true;
        at += here + (at[here] == ',');
    }
    return false;
}

static void after_pass(const struct pass_info *pass, struct ir_function *function, bool changed, void *context)
{
    struct compilation *compilation = context;
    /* allocate_shared lets operations share places that only insert_barriers orders */
    bool whole = pass != &pass_table[PASS_allocate_shared];
    if (changed || pass == &pass_table[PASS_insert_barriers])
        interpret_after_pass(compilation, function, whole ? pass->name : NULL);
    const char *list = compilation->options->print_after;
    if (!list)
        return;
    if (!list_has(list, pass->name) && !(changed && list_has(list, "all")))
        return;
    struct buffer text = {0};
    buffer_printf(&text, "// after %s\n", pass->name);
    ir_print_function(&text, function, false);
    fwrite(text.data, 1, text.size, stderr);
    buffer_free(&text);
}

struct pass_list {
    struct arena *arena;
    VECTOR(const struct pass_info *) passes;
};

static bool add_pass(const char *word, void *context)
{
    struct pass_list *list = context;
    const struct pass_info *pass = pass_find(word);
    vector_push(list->arena, &list->passes, pass);
    return true;
}

static struct ir_function *math_function(void *context, struct ir_module *module, enum ir_math function,
                                         enum ir_element element)
{
    return front_math_function(context, module, function, element);
}

/* A knob that the instance has a value for, or NULL. */
static const struct kernel_knob *find_knob(const struct kernel_variant *variant, const char *name)
{
    for (int i = 0; i < variant->knobs.count; i++)
        if (strcmp(variant->knobs.data[i].name, name) == 0)
            return &variant->knobs.data[i];
    return NULL;
}

/* Whether -D or a --spec sets the knob of the instance. */
static bool is_asked(const struct kernel_variant *variant, const char *name)
{
    const struct kernel_knob *knob = find_knob(variant, name);
    return knob && knob->asked;
}

static bool is_idle_in(const struct idle_knobs *idle, const struct idle_knob *knob, const char *instance)
{
    for (int i = 0; i < idle->count; i++)
        if (strcmp(idle->data[i].name, knob->name) == 0 && idle->data[i].instance == instance)
            return true;
    return false;
}

/* The entry that holds the instance, and the instance itself. */
static const struct kernel_entry *find_instance(const struct kernel_module *module, const char *instance,
                                                const struct kernel_variant **variant)
{
    for (int i = 0; i < module->entries.count; i++)
        for (int v = 0; v < module->entries.data[i].variants.count; v++) {
            *variant = &module->entries.data[i].variants.data[v];
            if ((*variant)->label == instance)
                return &module->entries.data[i];
        }
    return NULL;
}

/* The general instance has no producer, the aligned one has: what one of them takes is no mistake.  A knob that every
 * instance of a kernel leaves undone on an architecture is. */
static void warn_of_idle_knobs(struct compilation *compilation, const struct idle_knobs *idle)
{
    for (int k = 0; k < idle->count; k++) {
        const struct idle_knob *knob = &idle->data[k];
        const struct kernel_variant *variant;
        const struct kernel_entry *entry = find_instance(compilation->module, knob->instance, &variant);
        bool everywhere = entry && is_asked(variant, knob->name);
        for (int v = 0; everywhere && v < entry->variants.count; v++)
            everywhere = &target_rows[entry->variants.data[v].target] != knob->target ||
                         is_idle_in(idle, knob, entry->variants.data[v].label);
        if (!everywhere)
            continue;
        struct diagnostic *d = diag_report(compilation->diagnostics, DIAGNOSTIC_W1204, knob->at, "%s", knob->text);
        diag_instance(compilation->diagnostics, d, knob->instance);
    }
}

bool lower_function(struct compilation *compilation, struct ir_function *function, const struct target_row *row,
                    const char *instance, struct idle_knobs *idle)
{
    const struct options *options = compilation->options;
    struct pass_context context = {.arena = compilation->arena,
                                   .diagnostics = compilation->diagnostics,
                                   .target = row,
                                   .fuel = options->fuel < 0 ? NULL : &compilation->fuel,
                                   .remarks = options->remarks,
                                   .instance = instance,
                                   .asked = &compilation->plans,
                                   .cache = compilation->target.cache,
                                   .idle = idle,
                                   .math_function = math_function,
                                   .math_context = &compilation->front};
    struct pass_run run = {.after = options->print_after || compilation->interpretation ? after_pass : NULL,
                           .after_context = compilation};
    if (options->passes) {
        struct pass_list list = {.arena = compilation->arena};
        each_word(compilation->arena, options->passes, add_pass, &list);
        run.passes = list.passes.data;
        run.count = list.passes.count;
        run.asked = true;
    } else {
        run.passes = pass_pipeline(compilation->arena, row, options->optimization, &run.count);
    }
    return pass_run_all(&run, function, &context);
}

/* ---- all variants ---- */

static void merge_variants(struct compilation *compilation)
{
    same_code_number(compilation->arena, compilation->module);
    for (int i = 0; i < compilation->module->entries.count; i++)
        same_code_merge(compilation->arena, &compilation->module->entries.data[i]);
}

static bool lower_variant(struct compilation *compilation, struct kernel_variant *variant, struct idle_knobs *idle)
{
    const struct attempt attempt = attempt_begin(&compilation->target);
    idle->counts_consumers = variant->counts_consumers;
    return lower_function(compilation, variant->function, &target_rows[variant->target], variant->label, idle) ||
           attempt_is_left_out(&compilation->target, &attempt, variant);
}

static bool lower_entry(struct compilation *compilation, struct kernel_entry *entry, struct idle_knobs *idle)
{
    bool ok = true;
    for (int i = 0; i < entry->variants.count; i++) {
        struct kernel_variant *variant = &entry->variants.data[i];
        ok = lower_variant(compilation, variant, idle) && ok;
        if (ok && !variant->fails)
            limits_warn_of_length(compilation, entry->kernel, variant);
    }
    limits_leave_out_failed(compilation->arena, entry);
    return ok;
}

bool lower_module(struct compilation *compilation)
{
    bool ok = true;
    struct idle_knobs idle = {.arena = compilation->arena};
    for (int i = 0; i < compilation->module->entries.count; i++) {
        struct kernel_entry *entry = &compilation->module->entries.data[i];
        ok = lower_entry(compilation, entry, &idle) && ok;
        if (ok && compilation->options->emit != EMIT_TIR && !compilation->options->interpret)
            ok = limits_apply(compilation, entry);
    }
    if (ok && compilation->options->emit != EMIT_TIR && !compilation->options->interpret)
        merge_variants(compilation);
    warn_of_idle_knobs(compilation, &idle);
    return plan_option_report(compilation) && ok;
}
