/* Calls of `tilecc bench`: the steps of a sweep, and what each call passes (bench.h). */
#include "driver/bench/bench.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "targets/costs.h"

/* N=1024,2048,4096 or N=1024..65536*2, N=128..1024+128 */
struct sweep {
    const char *name;
    VECTOR(int64_t) values;
};

static bool is_sweep(const char *word)
{
    size_t length = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    return length && !isdigit((unsigned char)word[0]) && word[length] == '=';
}

static bool refuse_sweep(const struct bench *bench, const char *word)
{
    driver_error(bench->options, "'%s' is no list of values: N=128,256 or N=128..1024*2 or N=128..1024+128", word);
    return false;
}

static bool read_range(struct bench *bench, struct sweep *sweep, const char *text)
{
    char *end;
    int64_t first = strtoll(text, &end, 10);
    if (strncmp(end, "..", 2) != 0 || first < 0)
        return false;
    int64_t last = strtoll(end + 2, &end, 10);
    char way = *end;
    int64_t step = way ? strtoll(end + 1, &end, 10) : 1;
    bool good = (!way || way == '*' || way == '+') && !*end && step > (way == '*') && (way != '*' || first > 0);
    for (int64_t value = first; good && value <= last && sweep->values.count <= BENCH_MOST_CALLS;) {
        vector_push(bench->arena, &sweep->values, value);
        if (way == '*' ? __builtin_mul_overflow(value, step, &value) : __builtin_add_overflow(value, step, &value))
            break;
    }
    return good && sweep->values.count;
}

static bool read_sweep(struct bench *bench, const char *word, struct sweep *sweep)
{
    const char *text = strchr(word, '=') + 1;
    sweep->name = arena_substring(bench->arena, word, (size_t)(text - word - 1));
    if (strstr(text, ".."))
        return read_range(bench, sweep, text) || refuse_sweep(bench, word);
    for (char *end; *text; text = *end ? end + 1 : end) {
        int64_t value = strtoll(text, &end, 10);
        if (end == text || (*end && *end != ',') || value < 0)
            return refuse_sweep(bench, word);
        vector_push(bench->arena, &sweep->values, value);
    }
    return sweep->values.count || refuse_sweep(bench, word);
}

static bool is_name_character(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* The call with each whole word `name` replaced; the same pointer: it does not occur. */
static const char *replace_name(struct arena *arena, const char *call, const char *name, int64_t value)
{
    struct buffer text = {0};
    size_t length = strlen(name);
    bool any = false;
    for (const char *at = call; *at;) {
        bool starts = is_name_character(*at) && (at == call || !is_name_character(at[-1]));
        if (starts && strncmp(at, name, length) == 0 && !is_name_character(at[length])) {
            buffer_printf(&text, "%lld", (long long)value);
            at += length;
            any = true;
        } else
            buffer_putc(&text, *at++);
    }
    const char *replaced = any ? arena_string(arena, text.data) : call;
    buffer_free(&text);
    return replaced;
}

static bool add_calls(struct bench *bench, const char *text, int sweep_count, const struct sweep *sweeps,
                      struct bench_call step)
{
    if (!sweep_count) {
        if (bench->call_count == BENCH_MOST_CALLS) {
            driver_error(bench->options, "more than %d calls", BENCH_MOST_CALLS);
            return false;
        }
        step.text = text;
        step.error = -1;
        bench->calls[bench->call_count++] = step;
        return true;
    }
    for (int i = 0; i < sweeps->values.count; i++) {
        const char *with = replace_name(bench->arena, text, sweeps->name, sweeps->values.data[i]);
        if (with == text)
            return add_calls(bench, text, sweep_count - 1, sweeps + 1, step);
        struct bench_call next = step;
        next.names[next.name_count++] = (struct bench_name){sweeps->name, sweeps->values.data[i]};
        if (!add_calls(bench, with, sweep_count - 1, sweeps + 1, next))
            return false;
    }
    return true;
}

/* A name that stands in no call, or twice among the values, is a slip. */
static bool check_sweep(const struct bench *bench, const struct sweep *sweeps, int number, int count,
                        const char *const *words)
{
    bool used = false;
    for (int i = 0; i < number; i++)
        if (strcmp(sweeps[i].name, sweeps[number].name) == 0) {
            driver_error(bench->options, "%s is given values twice", sweeps[number].name);
            return false;
        }
    for (int i = 0; i < count; i++)
        used |= !is_sweep(words[i]) && replace_name(bench->arena, words[i], sweeps[number].name, 0) != words[i];
    if (!used)
        driver_error(bench->options, "%s is given values and stands in no call", sweeps[number].name);
    return used;
}

/* A name that is left between brackets. */
static bool check_extents(const struct bench *bench, const char *call)
{
    int depth = 0;
    for (const char *at = call; *at; at++) {
        depth += *at == '[' ? 1 : *at == ']' ? -1 : 0;
        if (depth <= 0 || !is_name_character(*at))
            continue;
        int length = 1;
        while (is_name_character(at[length]))
            length++;
        if (!isdigit((unsigned char)*at)) {
            driver_error(bench->options,
                         "%s: an extent is not a number: %.*s of '%s' has no value; give %.*s=128, or several as "
                         "%.*s=128,256",
                         bench->command, length, at, call, length, at, length, at);
            return false;
        }
        at += length - 1;
    }
    return true;
}

bool bench_expand(struct bench *bench, int count, const char *const *words)
{
    struct sweep sweeps[BENCH_MOST_NAMES] = {0};
    int sweep_count = 0;
    bench->calls = ARENA_ARRAY(bench->arena, struct bench_call, BENCH_MOST_CALLS);
    for (int i = 0; i < count; i++) {
        if (!is_sweep(words[i]))
            continue;
        if (sweep_count == BENCH_MOST_NAMES) {
            driver_error(bench->options, "more than %d names with values", BENCH_MOST_NAMES);
            return false;
        }
        if (!read_sweep(bench, words[i], &sweeps[sweep_count++]))
            return false;
    }
    for (int i = 0; i < count; i++)
        if (!is_sweep(words[i]) && !add_calls(bench, words[i], sweep_count, sweeps, (struct bench_call){0}))
            return false;
    for (int i = 0; bench->call_count && i < sweep_count; i++)
        if (!check_sweep(bench, sweeps, i, count, words))
            return false;
    for (int i = 0; i < bench->call_count; i++)
        if (!check_extents(bench, bench->calls[i].text))
            return false;
    return true;
}

static double bytes_of(const struct asked_call *asked)
{
    double bytes = 0;
    for (int i = 0; i < asked->entry->parameters.count; i++) {
        const struct kernel_parameter *p = &asked->entry->parameters.data[i];
        if (!asked->holds[i])
            continue;
        double once = (double)asked_elements(asked, i) * ir_element_info[p->element].bits / 8;
        bytes += p->direction == KERNEL_INOUT ? 2 * once : once;
    }
    return bytes;
}

/* Operations a cycle of a multiprocessor on the elements that the entry reads; 0: not known. */
static double rate_of(const struct bench *bench, const struct kernel_entry *entry)
{
    const struct target_costs *costs = NULL;
    int bits = 64;
    for (int i = 0; i < bench->options->targets.count; i++)
        if (target_rows[bench->options->targets.data[i]].kind != TARGET_CPU)
            costs = target_costs(&target_rows[bench->options->targets.data[i]]);
    for (int i = 0; i < entry->parameters.count; i++)
        if (entry->parameters.data[i].kind == KERNEL_VIEW && entry->parameters.data[i].direction == KERNEL_IN &&
            ir_element_info[entry->parameters.data[i].element].bits < bits)
            bits = ir_element_info[entry->parameters.data[i].element].bits;
    return !costs ? 0 : bits == 16 ? costs->tensor_f16 : bits == 8 ? costs->tensor_8bit : 0;
}

static bool bind(struct bench *bench, struct compilation *compilation, struct bench_call *call)
{
    struct asked_call *asked = ARENA_NEW(bench->arena, struct asked_call);
    int64_t elements = 0;
    asked->compilation = compilation;
    asked->option = bench->command;
    asked->at = call->text;
    asked->most_elements = (int64_t)1 << 40;
    if (!asked_read(asked))
        return false;
    struct host_call host = host_call_begin(bench->arena, asked->entry, asked->arguments);
    const char *problem = host_bind(bench->arena, &host);
    if (problem)
        return asked_refuse(asked, problem);
    if (bench->options->bench_operations &&
        !bench_evaluate(bench, &host, bench->options->bench_operations, &call->operations))
        return false;
    call->asked = asked;
    call->bytes = bytes_of(asked);
    call->rate = rate_of(bench, asked->entry);
    for (int i = 0; i < asked->entry->parameters.count; i++)
        elements += asked->holds[i] ? asked_elements(asked, i) : 0;
    call->check = elements <= BENCH_CHECKED_ELEMENTS ? BENCH_AGAINST_INTERPRETER : BENCH_UNCHECKED;
    return true;
}

/* Code is made for what is called alone. */
static void keep_called(const struct bench *bench, struct kernel_module *module)
{
    int kept = 0;
    for (int i = 0; i < module->entries.count; i++) {
        struct kernel_entry *entry = &module->entries.data[i];
        bool is_called = false;
        for (int k = 0; k < bench->call_count; k++)
            is_called = is_called || bench->calls[k].asked->entry == entry;
        if (!is_called)
            continue;
        for (int k = 0; k < bench->call_count; k++)
            if (bench->calls[k].asked->entry == entry)
                bench->calls[k].asked->entry = &module->entries.data[kept];
        module->entries.data[kept++] = *entry;
    }
    module->entries.count = kept;
}

bool bench_bind_calls(struct bench *bench, struct compilation *compilation)
{
    for (int i = 0; i < bench->call_count; i++)
        if (!bind(bench, compilation, &bench->calls[i]))
            return false;
    return true;
}

bool bench_bind(struct bench *bench, struct compilation *compilation)
{
    if (!bench_bind_calls(bench, compilation))
        return false;
    keep_called(bench, compilation->module);
    if (bench->serves) {
        compilation->module->orders.count = 0;
        return true;
    }
    return bench_prepare_checks(bench);
}
