/* --interpret=CALL: runs one kernel in the interpreter on inputs made here (asked_call.h), and prints what it wrote.  With
 * --passes it runs before the passes and behind each of them, and must write the same every time (behind expand_math,
 * whose functions round in their own way, nearly). */
#include "driver/driver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "driver/run/report_text.h"
#include "driver/run/interpret.h"
#include "ir/query.h"

enum {
    ELEMENTS_SHOWN = 4096,
    PRINTED_WORDS = 1 << 17 /* as the run time */
};

static void print_element(struct buffer *out, const struct kernel_parameter *p, const struct interp_memory *memory,
                          int64_t index)
{
    size_t size = (size_t)ir_element_info[p->element].bits / 8;
    uint64_t bits = 0;
    memcpy(&bits, (const unsigned char *)memory->data + (size_t)index * size, size);
    if (memory->written && !memory->written[(size_t)index * size])
        buffer_puts(out, " ?");
    else if (ir_is_float(p->element))
        buffer_printf(out, " %.9g", ir_bits_to_double(p->element, bits));
    else if (p->element == IR_U64)
        buffer_printf(out, " %llu", (unsigned long long)bits);
    else
        buffer_printf(out, " %lld", (long long)ir_bits_to_int(p->element, bits));
}

/* One line a row: name[row] = values; "?" is an element that was never written. */
static void print_results(const struct asked_call *asked)
{
    struct buffer out = {0};
    for (int i = 0; i < asked->entry->parameters.count; i++) {
        const struct kernel_parameter *p = &asked->entry->parameters.data[i];
        const struct host_argument *argument = &asked->arguments[i];
        if (!asked_has_memory(p) || p->direction == KERNEL_IN || !argument->data)
            continue;
        int rank = p->kind == KERNEL_POINTER ? 1 : p->rank;
        int64_t elements = 1, row = rank ? argument->extent[rank - 1] : 1;
        for (int d = 0; d < rank; d++)
            elements *= argument->extent[d];
        if (!elements)
            buffer_printf(&out, "%s = (empty)\n", p->name);
        for (int64_t k = 0; k < elements && k < ELEMENTS_SHOWN; k++) {
            if (k % row == 0)
                buffer_printf(&out, "%s%s[%lld] =", k ? "\n" : "", p->name, (long long)(k / row));
            print_element(&out, p, &asked->memories[asked->memory_of[i]], k);
        }
        if (elements)
            buffer_putc(&out, '\n');
        if (elements > ELEMENTS_SHOWN)
            buffer_printf(&out, "(%lld more)\n", (long long)(elements - ELEMENTS_SHOWN));
    }
    if (out.size)
        fwrite(out.data, 1, out.size, stdout);
    buffer_free(&out);
}

/* A view that is not there has the extents that it would have, and 0 where no view could have them. */
static void declared_extents(const struct host_call *call, int index, struct interp_argument *argument)
{
    const struct kernel_parameter *p = &call->entry->parameters.data[index];
    for (int d = 0; p->kind == KERNEL_VIEW && !call->arguments[index].present && d < p->rank; d++)
        if (p->extent[d] && host_evaluate(call, p->extent[d], &argument->extent[d]))
            argument->extent[d] = argument->extent[d] > 0 ? argument->extent[d] / kernel_elements(p, d, 1) : 0;
}

/* A .tir file says of extents only which are equal: one of another argument that is there. */
static int64_t equal_extent(const struct asked_call *asked, const struct ir_function *function, int index, int d)
{
    int class = index < function->facts.count ? function->facts.data[index].extent_class[d] : 0;
    for (int i = 0; class && i < asked->entry->parameters.count && i < function->facts.count; i++)
        for (int k = 0; asked->arguments[i].present && k < asked->entry->parameters.data[i].rank; k++)
            if (function->facts.data[i].extent_class[k] == class)
                return asked->arguments[i].extent[k];
    return 0;
}

static void equal_extents(const struct asked_call *asked, const struct ir_function *function, int index,
                          struct interp_argument *argument)
{
    const struct kernel_parameter *p = &asked->entry->parameters.data[index];
    if (p->kind != KERNEL_VIEW || asked->arguments[index].present)
        return;
    const struct ir_type *type = function->body->arguments.data[index]->type;
    for (int d = 0; d < p->rank; d++)
        argument->extent[d] = type->extent[d] != IR_DYNAMIC ? type->extent[d] : equal_extent(asked, function, index, d);
}

/* ---- runs ---- */

struct interpretation {
    struct asked_call *asked;
    const struct ir_function *function;
    int count;
    struct interp_argument arguments[ASKED_MOST_MEMORIES];
    uint64_t *report;    /* where failing checks say so, and prints stand; NULL: the kernel has none */
    const char *printed; /* by the first run, its lines sorted; NULL: it did not run */
    struct interp_options options;
    /* of each memory: what was there at first, and what the first run left */
    unsigned char *before[ASKED_MOST_MEMORIES], *after[ASKED_MOST_MEMORIES];
    bool failed, stale; /* stale: passes worked on it since the last run */
};

static const struct options *options_of(const struct interpretation *call) { return call->asked->compilation->options; }

static void reset_memories(struct interpretation *call, bool first)
{
    struct arena *arena = call->asked->compilation->arena;
    for (int i = 0; i < call->asked->memory_count; i++) {
        struct interp_memory *memory = &call->asked->memories[i];
        if (first)
            call->before[i] = arena_copy(arena, memory->data, memory->size);
        memcpy(memory->data, call->before[i], memory->size);
        if (memory->written)
            memset(memory->written, 0, memory->size);
    }
}

/* The library's functions round in another way than the interpreter's: most digits agree. */
static bool close_enough(enum ir_element element, uint64_t a, uint64_t b)
{
    if (a == b || !ir_is_float(element))
        return a == b;
    double x = ir_bits_to_double(element, a), y = ir_bits_to_double(element, b);
    int digits = element == IR_F64 ? 40 : element == IR_F32 ? 18 : element == IR_F16 ? 7 : 4;
    return (isnan(x) && isnan(y)) || fabs(x - y) <= ldexp(fmax(1, fmax(fabs(x), fabs(y))), -digits);
}

/* The first byte that differs, or -1. */
static int64_t first_difference(const struct interpretation *call, int memory, bool rounded)
{
    const struct asked_call *asked = call->asked;
    const unsigned char *before = call->after[memory], *now = asked->memories[memory].data;
    enum ir_element element = IR_U8;
    for (int i = 0; i < asked->entry->parameters.count; i++)
        if (asked_has_memory(&asked->entry->parameters.data[i]) && asked->arguments[i].data &&
            asked->memory_of[i] == memory)
            element = asked->entry->parameters.data[i].element;
    size_t size = (size_t)ir_element_info[element].bits / 8;
    for (size_t at = 0; at < asked->memories[memory].size; at += size) {
        uint64_t a = 0, b = 0;
        memcpy(&a, before + at, size);
        memcpy(&b, now + at, size);
        if (a != b && !(rounded && close_enough(element, a, b)))
            return (int64_t)at;
    }
    return -1;
}

/* False: not what the first run wrote.  `rounded`: floats may differ a little, and what is there now counts from here
 * on. */
static bool same_memories(struct interpretation *call, bool rounded)
{
    struct arena *arena = call->asked->compilation->arena;
    for (int i = 0; i < call->asked->memory_count; i++) {
        const struct interp_memory *memory = &call->asked->memories[i];
        if (memory->data == (void *)call->report) /* see same_prints */
            continue;
        int64_t byte = call->after[i] ? first_difference(call, i, rounded) : -1;
        if (byte >= 0) {
            driver_error(options_of(call), "%s: byte %lld of '%s' differs from the first run", call->function->name,
                         (long long)byte, memory->name);
            return false;
        }
        if (!call->after[i])
            call->after[i] = arena_copy(arena, memory->data, memory->size);
        else if (rounded)
            memcpy(call->after[i], memory->data, memory->size);
    }
    return true;
}

/* False: a check of --checks did not hold, and is said. */
static bool checks_hold(const struct interpretation *call)
{
    const struct kernel_entry *entry = call->asked->entry;
    if (!call->report || !*call->report)
        return true;
    const struct kernel_check *check = &entry->checks.data[(*call->report & 0xffff) - 1];
    const uint64_t *value[KERNEL_REPORT_MOST_VALUES];
    struct buffer text = {0};
    for (int i = 0; i < KERNEL_REPORT_MOST_VALUES; i++)
        value[i] = call->report + KERNEL_REPORT_VALUES + i;
    report_put_text(&text, check->text, value);
    driver_error(options_of(call), "%s:%d:%d: instance %lld: %s does not hold",
                 check->at.source ? check->at.source->name : "?", check->at.line, check->at.column,
                 (long long)(*call->report >> 16), text.data);
    buffer_free(&text);
    return false;
}

static int compare_lines(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Instances run in any order: passes leave what is printed as it is, but for the order of lines. */
static const char *sort_lines(struct arena *arena, const char *text)
{
    VECTOR(const char *) lines = {0};
    struct buffer all = {0};
    while (*text) {
        size_t size = strcspn(text, "\n");
        vector_push(arena, &lines, arena_substring(arena, text, size));
        text += size + (text[size] == '\n');
    }
    if (lines.count)
        qsort(lines.data, (size_t)lines.count, sizeof *lines.data, compare_lines);
    for (int i = 0; i < lines.count; i++)
        buffer_printf(&all, "%s\n", lines.data[i]);
    const char *sorted = arena_string(arena, all.data ? all.data : "");
    buffer_free(&all);
    return sorted;
}

/* Writes the lines of the first run; false: another one prints others.  `rounded` as above. */
static bool same_prints(struct interpretation *call, bool rounded)
{
    struct buffer out = {0};
    if (!call->report || !call->asked->entry->prints.count)
        return true;
    report_put_prints(&out, call->asked->entry, call->report);
    const char *sorted = sort_lines(call->asked->compilation->arena, out.data ? out.data : "");
    bool same = !call->printed || rounded || strcmp(call->printed, sorted) == 0;
    if (!call->printed && out.size)
        fwrite(out.data, 1, out.size, stdout);
    if (!same)
        driver_error(options_of(call), "%s: what it prints differs from the first run", call->function->name);
    if (!call->printed || rounded)
        call->printed = sorted;
    buffer_free(&out);
    return same;
}

/* Races on global memory count behind insert_barriers, and in a text of the Machine level or one whose shared memory is
 * placed: it was printed there, or written to be run. */
static bool holds_barriers(const struct ir_function *function, const char *behind)
{
    if (function->level == IR_LEVEL_VALUE)
        return false;
    if (behind)
        return strcmp(behind, pass_table[PASS_insert_barriers].name) == 0;
    return function->level == IR_LEVEL_MACHINE || function->shared_bytes > 0;
}

/* "m = 3, n = 0", or the number where nothing has names. */
static const char *name_instance(const struct interpretation *call, int64_t instance)
{
    const struct kernel_entry *entry = call->asked->entry;
    struct arena *arena = call->asked->compilation->arena;
    const char *text = NULL;
    if (!entry->grid_names.count)
        return arena_printf(arena, "%lld", (long long)instance);
    for (int d = 0; d < entry->grid_names.count; d++) {
        int64_t count = int64_max(call->options.grid[d], 1);
        text = arena_printf(arena, "%s%s%s = %lld", text ? text : "", text ? ", " : "", entry->grid_names.data[d],
                            (long long)(instance % count));
        instance /= count;
    }
    return text;
}

static void report_within(const struct interpretation *call, const struct interp_race *race)
{
    diag_report(call->asked->compilation->diagnostics, DIAGNOSTIC_W1207, race->op->at,
                ir_updates_place(race->op)
                    ? "instance %s updates element %lld of `%s` for several elements of one tile, which happens once"
                    : "instance %s stores several elements of one tile, with different values, in element %lld of `%s`",
                name_instance(call, race->instance), (long long)race->element, race->memory);
}

static void report_races(const struct interpretation *call)
{
    struct diagnostics *diagnostics = call->asked->compilation->diagnostics;
    for (int i = 0; i < call->options.races->count; i++) {
        const struct interp_race *race = &call->options.races->list[i];
        if (race->instance == race->other_instance) {
            report_within(call, race);
            continue;
        }
        bool loads = ir_has_trait(race->op, IR_TRAIT_READ), loaded = ir_has_trait(race->other, IR_TRAIT_READ);
        struct diagnostic *d = diag_report(
            diagnostics, DIAGNOSTIC_W1207, race->op->at,
            "instance %s %s element %lld of `%s`, which instance %s %s, and nothing orders them",
            name_instance(call, race->instance), loads ? "loads" : "stores", (long long)race->element, race->memory,
            name_instance(call, race->other_instance), loaded ? "loads" : "stores");
        diag_note(diagnostics, d, race->other->at, "the other one is here");
    }
}

/* In several orders of roles, arrivals and blocks where the function has them; `behind` is a pass or NULL. */
static bool run_every_way(struct interpretation *call, const char *behind)
{
    static const int ways[] = {[IR_LEVEL_VALUE] = 1, [IR_LEVEL_SCHEDULE] = 3, [IR_LEVEL_MACHINE] = 9};
    static const int64_t blocks[] = {2, 1, 3};
    bool expands = behind && strcmp(behind, pass_table[PASS_expand_math].name) == 0;
    for (int way = 0; way < ways[call->function->level]; way++) {
        struct interp_problem problem;
        call->options.seed = (uint64_t)way;
        call->options.ordered = holds_barriers(call->function, behind);
        call->options.blocks = blocks[(way + way / 3) % 3];
        reset_memories(call, behind == NULL && way == 0);
        struct interp_races races = {0};
        call->options.races = behind ? NULL : &races;
        bool good = interp_run(call->function, call->count, call->arguments, &call->options, NULL, &problem);
        if (call->options.races)
            report_races(call);
        call->options.races = NULL;
        if (call->asked->compilation->diagnostics->errors) { /* -Werror */
            call->failed = true;
            return false;
        }
        if (!good)
            driver_error(options_of(call), "%s:%d:%d: instance %lld: %s",
                         problem.at.source ? problem.at.source->name : "?", problem.at.line, problem.at.column,
                         (long long)problem.instance, problem.text);
        bool printed = same_prints(call, expands && way == 0);
        good = good && printed && checks_hold(call);
        if (good && same_memories(call, expands && way == 0))
            continue;
        if (behind)
            driver_error(options_of(call), "behind the pass '%s'", behind);
        call->failed = true;
        return false;
    }
    return true;
}

void interpret_after_pass(struct compilation *compilation, const struct ir_function *function, const char *pass)
{
    struct interpretation *call = compilation->interpretation;
    if (!call || function != call->function || call->failed)
        return;
    call->stale = !pass;
    if (pass)
        run_every_way(call, pass);
}

/* A hidden argument behind the others. */
static void add_report(struct interpretation *call)
{
    struct asked_call *asked = call->asked;
    struct interp_memory *memory = &asked->memories[asked->memory_count++];
    int room = asked->entry->prints.count ? PRINTED_WORDS : 0, words = KERNEL_REPORT_RECORDS + room;
    call->report = ARENA_ARRAY(asked->compilation->arena, uint64_t, words);
    call->report[KERNEL_REPORT_ROOM] = (uint64_t)room;
    *memory = (struct interp_memory){
        .data = call->report, .size = sizeof *call->report * (size_t)words, .name = "report"};
    call->arguments[call->count++] = (struct interp_argument){.bits = (uint64_t)(uintptr_t)call->report};
    call->options.memory_count = asked->memory_count;
}

/* Between them and the parameters: what the launch has for itself. */
static bool add_scratch(struct interpretation *call, const struct host_call *host, const struct kernel_variant *variant)
{
    struct asked_call *asked = call->asked;
    const char *problem = host_make_scratch(host, variant, &asked->memories[asked->memory_count],
                                            &call->arguments[call->count]);
    if (problem)
        return asked_refuse(asked, problem);
    call->count += host->entry->scratch.count;
    asked->memory_count += host->entry->scratch.count;
    call->options.memory_count = asked->memory_count;
    return true;
}

/* What stands in an `assume` beside the extent of a view that is not there, which argument and dimension that is; NULL:
 * it is about something else. */
static struct ir_value *find_assumed(const struct interpretation *call, const struct ir_operation *assume, int *index,
                                     int *dimension)
{
    const struct ir_operation *compare = assume->operands[0]->definition;
    if (!compare || compare->opcode != OP_COMPARE || ir_number(compare, IR_ATTRIBUTE_PREDICATE, -1) != IR_PREDICATE_EQ)
        return NULL;
    for (int side = 0; side < 2; side++) {
        const struct ir_operation *extent = compare->operands[side]->definition;
        if (!extent || extent->opcode != OP_EXTENT)
            continue;
        *dimension = (int)ir_number(extent, IR_ATTRIBUTE_DIMENSION, 0);
        for (*index = 0; *index < call->count; ++*index)
            if (call->function->body->arguments.data[*index] == extent->operands[0] &&
                !call->asked->arguments[*index].present)
                return compare->operands[1 - side];
    }
    return NULL;
}

/* The value of `wanted`, computed by a function of all that stands in front of `end` and makes it. */
static bool compute_before(const struct interpretation *call, const struct ir_operation *end, struct ir_value *wanted,
                           int64_t *number)
{
    const struct ir_function *function = call->function;
    struct ir_module *module = ir_module_create(function->module->context, call->asked->compilation->arena);
    struct ir_function *part = ir_function_create(module, "extent", function->at);
    struct ir_value **map = ARENA_ARRAY(module->arena, struct ir_value *, function->next_value_id);
    struct ir_builder builder = {.module = module, .block = part->body, .at = end->at};
    for (int i = 0; i < function->body->arguments.count; i++) {
        const struct ir_value *argument = function->body->arguments.data[i];
        map[argument->id] = ir_block_argument(part->body, argument->type, argument->name);
    }
    for (const struct ir_operation *op = function->body->first; op != end; op = op->next)
        if (op->opcode != OP_ASSUME)
            ir_clone(&builder, op, map);
    wanted = map[wanted->id];
    vector_push(module->arena, &part->results, wanted->type);
    ir_build(&builder, OP_RETURN, 1, &wanted, 0, NULL);
    uint64_t bits, *result = &bits;
    struct interp_problem problem;
    if (!interp_run(part, call->count, call->arguments, &call->options, &result, &problem))
        return false;
    *number = ir_bits_to_int(wanted->type->element, bits);
    return true;
}

/* A view that is not there has the extents that the function begins by assuming. */
static void assume_extents(struct interpretation *call)
{
    for (const struct ir_operation *op = call->function->body->first; op; op = op->next) {
        int index, dimension;
        int64_t extent;
        if (op->opcode != OP_ASSUME && ir_has_effect(op))
            return;
        struct ir_value *wanted = op->opcode == OP_ASSUME ? find_assumed(call, op, &index, &dimension) : NULL;
        if (wanted && compute_before(call, op, wanted, &extent))
            call->arguments[index].extent[dimension] = extent;
    }
}

/* The arguments and a first run; variant NULL: a function without wrapper. */
static bool start(struct asked_call *asked, const struct host_call *host, const struct kernel_variant *variant,
                  const struct ir_function *function, const int64_t *grid)
{
    struct interpretation *call = ARENA_NEW(asked->compilation->arena, struct interpretation);
    call->asked = asked;
    call->function = function;
    call->options = (struct interp_options){.memory_count = asked->memory_count, .memories = asked->memories};
    memcpy(call->options.grid, grid, sizeof call->options.grid);
    for (int i = 0; i < asked->entry->parameters.count; i++) {
        const struct host_argument *from = &asked->arguments[i];
        if (asked->entry->parameters.data[i].slot < 0)
            continue;
        struct interp_argument *argument = &call->arguments[call->count++];
        *argument = (struct interp_argument){.data = from->data, .bits = from->bits};
        memcpy(argument->extent, from->extent, sizeof from->extent);
        memcpy(argument->stride, from->stride, sizeof from->stride);
        if (asked->grid_follows)
            equal_extents(asked, function, i, argument);
        else
            declared_extents(host, i, argument);
    }
    if (asked->grid_follows)
        assume_extents(call);
    if (variant && !add_scratch(call, host, variant))
        return false;
    if (asked->entry->reports)
        add_report(call);
    asked->compilation->interpretation = call;
    return run_every_way(call, NULL);
}

enum exit_code interpret_finish(struct compilation *compilation)
{
    if (!compilation->interpretation)
        return EXIT_OK;
    struct interpretation *call = compilation->interpretation;
    if (call->stale && !call->failed)
        run_every_way(call, "the last pass");
    if (call->failed)
        return EXIT_SOURCE;
    print_results(call->asked);
    return EXIT_OK;
}

static void list_entries(const struct kernel_module *module)
{
    for (int i = 0; i < module->entries.count; i++) {
        const struct kernel_entry *entry = &module->entries.data[i];
        printf("%s(", entry->symbol);
        for (int k = 0; k < entry->parameters.count; k++) {
            const struct kernel_parameter *p = &entry->parameters.data[k];
            if (p->member_of)
                continue;
            printf("%s%s", k ? ", " : "", p->name);
            for (int m = 0; p->structure && m < p->structure->count; m++)
                printf("%s%s%s", m ? ", " : " {", p->structure->members[m].name,
                       m == p->structure->count - 1 ? "}" : "");
            for (int d = 0; p->kind == KERNEL_VIEW && d < p->rank; d++)
                printf("%s%s%s", d ? ", " : "[", p->extent[d] && p->extent[d]->text ? p->extent[d]->text : "n",
                       d == p->rank - 1 ? "]" : "");
        }
        printf(")\n");
    }
}

enum { MOST_ELEMENTS = 1 << 24 };

static struct asked_call *begin_call(struct compilation *compilation)
{
    struct asked_call *asked = ARENA_NEW(compilation->arena, struct asked_call);
    asked->compilation = compilation;
    asked->option = "--interpret";
    asked->at = compilation->options->interpret_call;
    asked->most_elements = MOST_ELEMENTS;
    return asked;
}

/* A call whose memory is made: by the variant that the wrapper would take. */
static enum exit_code start_call(struct asked_call *asked)
{
    struct arena *arena = asked->compilation->arena;
    struct host_call call = host_call_begin(arena, asked->entry, asked->arguments);
    const char *problem = host_bind(arena, &call);
    if (problem)
        return asked_refuse(asked, problem), EXIT_USAGE;
    const struct kernel_variant *variant = host_pick_variant(&call);
    if (!variant) {
        driver_error(asked->compilation->options, "%s: no instance was made for this call", asked->option);
        return EXIT_USAGE;
    }
    int64_t grid[IR_MAX_RANK] = {0};
    for (int d = 0; d < variant->grid_rank; d++)
        if (!host_evaluate(&call, variant->grid[d], &grid[d]))
            return asked_refuse(asked, host_failure(&call, variant->grid[d], "the grid")), EXIT_USAGE;
    return start(asked, &call, variant, variant->function, grid) ? EXIT_OK : EXIT_SOURCE;
}

enum exit_code interpret_begin(struct compilation *compilation)
{
    if (!compilation->options->interpret_call) {
        list_entries(compilation->module);
        return EXIT_OK;
    }
    struct asked_call *asked = begin_call(compilation);
    if (!asked_read(asked))
        return EXIT_USAGE;
    asked_make_memories(asked);
    return start_call(asked);
}

bool interpret_call(struct asked_call *asked)
{
    bool good = start_call(asked) == EXIT_OK;
    asked->compilation->interpretation = NULL; /* no pass is to be compared with it */
    return good;
}

/* ---- .tir files ---- */

/* What a call of a function without wrapper looks like. */
static struct kernel_entry *entry_of(struct arena *arena, const struct ir_function *function)
{
    struct kernel_entry *entry = ARENA_NEW(arena, struct kernel_entry);
    entry->kernel = entry->symbol = function->name;
    for (int i = 0; i < function->body->arguments.count; i++) {
        const struct ir_value *argument = function->body->arguments.data[i];
        const struct ir_type *type = argument->type;
        struct kernel_parameter parameter = {.name = argument->name ? argument->name : "argument",
                                             .kind = type->kind == IR_VIEW ? KERNEL_VIEW : KERNEL_SCALAR,
                                             .element = type->element,
                                             .rank = type->rank,
                                             .direction = !type->writable  ? KERNEL_IN
                                                          : type->readable ? KERNEL_INOUT
                                                                           : KERNEL_OUT,
                                             .optional = type->optional};
        if (type->element == IR_POINTER) {
            parameter.kind = type->kind == IR_VIEW ? KERNEL_VIEW : KERNEL_POINTER;
            parameter.pointer_elements = true;
            if (parameter.kind == KERNEL_POINTER) {
                parameter.element = type->pointee;
                parameter.direction = type->pointee_const ? KERNEL_IN : KERNEL_INOUT;
            }
        }
        vector_push(arena, &entry->parameters, parameter);
    }
    return entry;
}

enum exit_code interpret_begin_tir(struct compilation *compilation, const struct ir_module *module)
{
    if (!compilation->options->interpret_call) {
        for (const struct ir_function *function = module->first; function; function = function->next)
            printf("%s\n", function->name);
        return EXIT_OK;
    }
    struct asked_call *asked = begin_call(compilation);
    const char *name = asked_take_word(asked);
    const struct ir_function *function = ir_function_find(module, name);
    if (!function)
        return asked_fail(asked, "there is no function", name), EXIT_USAGE;
    asked->at = compilation->options->interpret_call;
    asked->entry = entry_of(compilation->arena, function);
    asked->grid_follows = true;
    for (int d = 0; d < IR_MAX_RANK; d++)
        asked->grid[d] = 1;
    if (!asked_read(asked))
        return EXIT_USAGE;
    asked_make_memories(asked);
    struct host_call call = {asked->compilation->arena, asked->entry, asked->arguments, NULL, NULL};
    return start(asked, &call, NULL, function, asked->grid) ? EXIT_OK : EXIT_SOURCE;
}
