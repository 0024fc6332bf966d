/* Calls bound to the source.  Those that one instance serves are one unit: they have its schedules in common. */
#include "driver/tune/tune.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "config.h"

struct front_space *tune_space(struct tune *tune) { return tune->asked ? &tune->asked->space : NULL; }

/* "softmax<f16>" of the label "softmax<f16>[B=1024] sm_90a aligned", in which names of `tune` may stand, too. */
static const char *name_entry(struct arena *arena, const char *label, const char *target)
{
    const char *end = strstr(label, arena_printf(arena, " %s ", target));
    size_t size = end ? (size_t)(end - label) : strlen(label);
    const char *bracket = memchr(label, '[', size); /* facts have some, too */
    return arena_substring(arena, label, bracket ? (size_t)(bracket - label) : size);
}

static void put_key(struct buffer *out, const struct kernel_key *key, int64_t value)
{
    buffer_printf(out, "%s=", key->name);
    for (int i = 0; key->enumeration && i < key->enumeration->count; i++)
        if (key->enumeration->values[i] == value) {
            buffer_puts(out, key->enumeration->members[i]);
            return;
        }
    if (key->element == IR_BOOL)
        buffer_puts(out, value ? "true" : "false");
    else
        buffer_printf(out, "%lld", (long long)value);
}

/* "softmax<f16>[B=1024]" */
static const char *name_instance(const struct tune *tune, const struct kernel_entry *entry,
                                 const struct kernel_variant *variant)
{
    struct buffer text = {0};
    buffer_puts(&text, name_entry(tune->arena, variant->label, target_rows[tune->target].name));
    for (int i = 0; i < entry->keys.count; i++) {
        buffer_puts(&text, i ? ", " : "[");
        put_key(&text, &entry->keys.data[i], variant->key_values[i]);
    }
    if (entry->keys.count)
        buffer_putc(&text, ']');
    const char *name = arena_string(tune->arena, text.data);
    buffer_free(&text);
    return name;
}

/* "aligned"; nothing where its keys have one instance alone. */
static const char *name_facts(const struct kernel_entry *entry, const struct kernel_variant *chosen)
{
    for (int i = 0; i < entry->variants.count; i++) {
        const struct kernel_variant *other = &entry->variants.data[i];
        bool same = other->target == chosen->target;
        for (int k = 0; same && k < entry->keys.count; k++)
            same = other->key_values[k] == chosen->key_values[k];
        if (same && strcmp(other->facts, chosen->facts) != 0)
            return chosen->facts;
    }
    return "";
}

static bool add_call(struct tune *tune, struct bench_call *bench, double weight)
{
    struct host_call host = host_call_begin(tune->arena, bench->asked->entry, bench->asked->arguments);
    const char *problem = host_bind(tune->arena, &host);
    const struct kernel_entry *entry = bench->asked->entry;
    struct tune_call call = {.text = bench->text, .bench = bench, .weight = weight};
    const struct kernel_variant *variant = problem ? NULL : host_pick_variant(&host);
    if (!variant) {
        driver_error(tune->options, "tune: no instance for %s serves %s", target_rows[tune->target].name, bench->text);
        return false;
    }
    call.kernel = name_instance(tune, entry, variant);
    call.facts = name_facts(entry, variant);
    call.names = ARENA_ARRAY(tune->arena, const char *, entry->names.count);
    call.extents = ARENA_ARRAY(tune->arena, int64_t, entry->names.count);
    for (int i = 0; i < entry->names.count; i++) {
        call.names[call.name_count] = entry->names.data[i].name;
        call.extents[call.name_count++] = host.names[i];
    }
    for (int i = 0; i < tune->log.calls.count; i++)
        if (strcmp(tune->log.calls.data[i].text, call.text) == 0) {
            tune->log.calls.data[i].weight += weight;
            return true;
        }
    vector_push(tune->arena, &tune->log.calls, call);
    return true;
}

static void add_to_unit(struct tune *tune, int number)
{
    const struct tune_call *call = &tune->log.calls.data[number];
    for (int i = 0; i < tune->units.count; i++)
        if (strcmp(tune->units.data[i].kernel, call->kernel) == 0) {
            vector_push(tune->arena, &tune->units.data[i].calls, number);
            return;
        }
    struct tune_unit unit = {.kernel = call->kernel};
    vector_push(tune->arena, &unit.calls, number);
    vector_push(tune->arena, &tune->units, unit);
}

/* Everything that times depend on but the device: the compiler, the source with what it imports, and options. */
static bool digest_content(struct tune *tune, const struct compilation *compilation)
{
    const struct options *o = tune->options;
    struct buffer all = {0}, file = {0}, digits = {0};
    bool good = file_read("/proc/self/exe", 0, &file);
    buffer_printf(&all, "%s %d %s %d %d %d %d %d %d %d %u %lld\n", TILECC_VERSION, (int)file.size,
                  target_rows[tune->target].name, o->optimization, o->strict_fp, o->checks, o->reproducible,
                  (int)o->f32_dot, o->debug, o->bench_warm, o->cpu_isas, (long long)o->fuel);
    digest_print_of(&all, file.data, file.size);
    for (int i = 0; i < o->defines.count; i++)
        buffer_printf(&all, "-D %s=%s\n", o->defines.data[i].name, o->defines.data[i].value);
    for (int i = 0; i < o->plans.count; i++) {
        buffer_printf(&all, "--plan %s:%d: ", o->plans.data[i].file, o->plans.data[i].line);
        ir_plan_print(&all, o->plans.data[i].plan);
    }
    for (int i = 0; i < o->xptxas.count; i++)
        buffer_printf(&all, "-Xptxas %s\n", o->xptxas.data[i]);
    digest_print_of(&all, compilation->source->text, compilation->source->size);
    for (int i = 0; i < compilation->imports.count && good; i++) {
        buffer_free(&file);
        good = file_read(compilation->imports.data[i], 0, &file);
        digest_print_of(&all, file.data ? file.data : "", file.size);
    }
    digest_print_of(&digits, all.data, all.size);
    tune->log.content = arena_string(tune->arena, digits.data);
    buffer_free(&all);
    buffer_free(&file);
    buffer_free(&digits);
    if (!good)
        driver_error(tune->options, "tune: what the source is made of cannot be read again");
    return good;
}

/* A trace may hold kernels of other sources. */
static bool has_entry(const struct kernel_module *module, const char *call)
{
    size_t length = strcspn(call, "( ");
    for (int i = 0; i < module->entries.count; i++) {
        const char *symbol = module->entries.data[i].symbol;
        if (strlen(symbol) == length && strncmp(symbol, call, length) == 0)
            return true;
    }
    return false;
}

static int compare_times(const void *a, const void *b)
{
    const struct bench_call *x = a, *y = b;
    return x->times != y->times ? (x->times < y->times) - (x->times > y->times) : strcmp(x->text, y->text);
}

/* Those that came most often, as many as there is room for. */
static void take_traced(struct tune *tune, const struct kernel_module *module)
{
    struct bench *bench = &tune->bench;
    if (tune->traced.count)
        qsort(tune->traced.data, (size_t)tune->traced.count, sizeof *tune->traced.data, compare_times);
    for (int i = 0; i < tune->traced.count; i++) {
        const struct bench_call *call = &tune->traced.data[i];
        if (!has_entry(module, call->text))
            tune->skipped = call->text;
        else if (bench->call_count < BENCH_MOST_CALLS)
            bench->calls[bench->call_count++] = *call;
        else
            tune->left_out++;
    }
}

bool tune_take_module(struct tune *tune, struct compilation *compilation)
{
    struct bench *bench = &tune->bench;
    if (tune->asked)
        return true;
    take_traced(tune, compilation->module);
    if (!bench->call_count) {
        driver_error(tune->options, "tune: the source has none of the kernels that the trace calls, such as %s",
                     tune->skipped);
        return false;
    }
    if (!bench_bind_calls(bench, compilation) || !digest_content(tune, compilation))
        return false;
    for (int i = 0; i < bench->call_count; i++) {
        bench->calls[i].check = BENCH_OWN_INPUTS;
        if (!add_call(tune, &bench->calls[i], bench->calls[i].times > 0 ? bench->calls[i].times : 1))
            return false;
    }
    for (int i = 0; i < tune->log.calls.count; i++)
        add_to_unit(tune, i);
    return true;
}
