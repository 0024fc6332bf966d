/* --interpret=CALL: runs one kernel in the interpreter on inputs made here, and prints what it wrote.
 *
 *   CALL = symbol(argument, ...)      view: [extent, ...] or none    pointer: [elements] or none
 *                                     scalar: a number, true, false    enum: member or number
 *                                     struct: {member, ...}
 *
 * Every input holds a fixed pattern of small integers, which every element type represents, so that results do not
 * depend on the order of sums; outputs start as unwritten.  With --passes it runs before the passes and behind each of
 * them, and must write the same every time (behind expand_math, whose functions round in their own way, nearly).  A
 * .tir file has no wrapper that computes the grid: there
 *
 *   CALL = function(argument, ...)[count, ...] */
#include "driver/driver.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "driver/host_value.h"
#include "driver/report_text.h"
#include "ir/query.h"

enum {
    MOST_PARAMETERS = 128, /* and scratch and a report behind them */
    MOST_MEMORIES = MOST_PARAMETERS + KERNEL_MOST_SCRATCH + 1,
    MOST_ELEMENTS = 1 << 24,
    ELEMENTS_SHOWN = 4096,
    PRINTED_WORDS = 1 << 17 /* as the run time */
};

struct call_parser {
    struct compilation *compilation;
    const char *at;
    struct kernel_entry *entry;
    struct host_argument arguments[MOST_PARAMETERS];
    struct interp_memory memories[MOST_MEMORIES];
    int memory_count, memory_of[MOST_PARAMETERS];
    bool grid_follows; /* behind the arguments: a .tir file */
    int64_t grid[IR_MAX_RANK];
};

static void skip_space(struct call_parser *parser)
{
    while (isspace((unsigned char)*parser->at))
        parser->at++;
}

static bool accept(struct call_parser *parser, char character)
{
    skip_space(parser);
    if (*parser->at != character)
        return false;
    parser->at++;
    return true;
}

/* A word up to a comma or bracket, without space at its ends. */
static const char *take_word(struct call_parser *parser)
{
    skip_space(parser);
    size_t length = strcspn(parser->at, ",()[]{}");
    const char *begin = parser->at;
    parser->at += length;
    while (length && isspace((unsigned char)begin[length - 1]))
        length--;
    return arena_substring(parser->compilation->arena, begin, length);
}

static bool fail(const struct call_parser *parser, const char *what, const char *name)
{
    driver_error(parser->compilation->options, "--interpret: %s%s%s%s%s", what, name ? " '" : "", name ? name : "",
                 name ? "'" : "", parser->entry && !name ? " in the call" : "");
    return false;
}

static bool parse_integer(const char *word, int64_t *number)
{
    char *end;
    long long value = strtoll(word, &end, 0);
    *number = value;
    return end != word && !*end;
}

static bool parse_extents(struct call_parser *parser, const struct kernel_parameter *p, struct host_argument *argument,
                          int64_t *elements)
{
    *elements = 1;
    if (!accept(parser, '['))
        return fail(parser,
                    p->optional ? "an argument of extents, [n, m], or none is needed for"
                                : "an argument of extents, [n, m], is needed for",
                    p->name);
    for (int d = 0; d < p->rank; d++) {
        if (d && !accept(parser, ','))
            return fail(parser, "too few extents for", p->name);
        if (!parse_integer(take_word(parser), &argument->extent[d]) || argument->extent[d] < 0 ||
            argument->extent[d] > MOST_ELEMENTS)
            return fail(parser, "an extent is not a number from 0 to 16777216 for", p->name);
        if (__builtin_mul_overflow(*elements, argument->extent[d], elements) || *elements > MOST_ELEMENTS)
            return fail(parser, "too many elements in", p->name);
    }
    if (!accept(parser, ']'))
        return fail(parser, "too many extents for", p->name);
    for (int64_t d = p->rank - 1, stride = 1; d >= 0; stride *= argument->extent[d--])
        argument->stride[d] = stride;
    return true;
}

/* -5 .. 5, or 0 .. 10 for elements without sign. */
static void fill(enum ir_element element, unsigned char *data, int64_t elements)
{
    size_t size = (size_t)ir_element_info[element].bits / 8;
    for (int64_t i = 0; i < elements; i++) {
        int64_t value = (i * 7 + 3) % 11;
        if (element == IR_BOOL)
            value &= 1;
        else if (ir_is_float(element) || ir_is_signed(element))
            value -= 5;
        uint64_t bits = ir_int_to_bits(element, value);
        memcpy(data + (size_t)i * size, &bits, size);
    }
}

/* What the wrapper would say of such arguments. */
static bool refuse(const struct call_parser *parser, const char *problem)
{
    driver_error(parser->compilation->options, "--interpret: %s: %s", parser->entry->symbol, problem);
    return false;
}

/* Memory for a view of these extents, filled or, where it is written alone, not. */
static bool parse_memory(struct call_parser *parser, int index, const struct kernel_parameter *p)
{
    struct host_argument *argument = &parser->arguments[index];
    int64_t elements;
    if (p->kind == KERNEL_VIEW && p->pointer_elements)
        return fail(parser, "views of pointers cannot be given, so not", p->name);
    if (!parse_extents(parser, p, argument, &elements))
        return false;
    size_t size = (size_t)elements * (size_t)ir_element_info[p->element].bits / 8;
    struct interp_memory *memory = &parser->memories[parser->memory_count];
    *memory = (struct interp_memory){.size = size, .read_only = p->direction == KERNEL_IN, .name = p->name};
    memory->data = arena_alloc(parser->compilation->arena, size + 64);
    memory->data = (void *)(((uintptr_t)memory->data + 63) / 64 * 64); /* the most that a fact of alignment asks for */
    if (p->direction == KERNEL_OUT)
        memory->written = arena_alloc(parser->compilation->arena, size);
    else
        fill(p->element, memory->data, elements);
    parser->memory_of[index] = parser->memory_count++;
    argument->data = memory->data;
    argument->bits = (uint64_t)(uintptr_t)memory->data;
    argument->present = true;
    return true;
}

static bool parse_view(struct call_parser *parser, int index)
{
    const struct kernel_parameter *p = &parser->entry->parameters.data[index];
    skip_space(parser);
    if (strncmp(parser->at, "none", 4) == 0) {
        parser->at += 4;
        return p->optional || refuse(parser, arena_printf(parser->compilation->arena, "view %s is NULL", p->name));
    }
    return parse_memory(parser, index, p);
}

/* Memory of so many elements, from where it points on; none: a null pointer. */
static bool parse_pointer(struct call_parser *parser, int index)
{
    struct kernel_parameter view = parser->entry->parameters.data[index];
    struct host_argument *argument = &parser->arguments[index];
    view.rank = 1;
    view.optional = true;
    argument->present = true;
    skip_space(parser);
    if (strncmp(parser->at, "none", 4) != 0)
        return parse_memory(parser, index, &view);
    parser->at += 4;
    return true;
}

/* An integer, bool, enum or key, within the bounds of its type. */
static bool parse_whole(struct call_parser *parser, const struct kernel_parameter *p, const char *word,
                        enum ir_element element, uint64_t *bits)
{
    struct arena *arena = parser->compilation->arena;
    int width = element == IR_BOOL ? 1 : ir_element_info[element].bits;
    bool is_signed = ir_is_signed(element), negative = word[0] == '-';
    bool member = !p->enumeration || p->kind == KERNEL_KEY; /* of a key's set: looked at later */
    char *end;
    errno = 0;
    uint64_t magnitude = strtoull(word + negative, &end, 0);
    if (!isdigit((unsigned char)word[negative]) || *end)
        return fail(parser, "not a value for", p->name);
    uint64_t most = UINT64_MAX >> (64 - width + is_signed);
    if (errno || magnitude > (negative ? is_signed ? most + 1 : 0 : most))
        return refuse(parser, is_signed ? arena_printf(arena, "%s is %s, outside %lld to %llu", p->name, word,
                                                       -(long long)most - 1, (unsigned long long)most)
                                        : arena_printf(arena, "%s is %s, outside 0 to %llu", p->name, word,
                                                       (unsigned long long)most));
    int64_t number = (int64_t)(negative ? 0 - magnitude : magnitude);
    for (int i = 0; !member && i < p->enumeration->count; i++)
        member = p->enumeration->values[i] == number;
    *bits = ir_int_to_bits(element, number);
    return member || refuse(parser, arena_printf(arena, "%s is %s, which is no member of its enum", p->name, word));
}

static bool parse_scalar(struct call_parser *parser, int index)
{
    const struct kernel_parameter *p = &parser->entry->parameters.data[index];
    enum ir_element element = p->kind == KERNEL_SCALAR ? p->element : IR_I32;
    const char *word = take_word(parser);
    uint64_t *bits = &parser->arguments[index].bits;
    parser->arguments[index].present = true;
    for (int i = 0; p->enumeration && i < p->enumeration->count; i++)
        if (strcmp(p->enumeration->members[i], word) == 0) {
            *bits = ir_int_to_bits(element, p->enumeration->values[i]);
            return true;
        }
    if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
        *bits = ir_int_to_bits(element, word[0] == 't');
    else if (!ir_is_float(element))
        return parse_whole(parser, p, word, element, bits);
    else {
        char *end;
        double real = strtod(word, &end);
        if (end == word || *end)
            return fail(parser, "not a value for", p->name);
        *bits = ir_double_to_bits(element, real);
    }
    return true;
}

static bool parse_grid(struct call_parser *parser)
{
    if (!parser->grid_follows || !accept(parser, '['))
        return true;
    for (int d = 0; d < IR_MAX_RANK; d++) {
        if (!parse_integer(take_word(parser), &parser->grid[d]) || parser->grid[d] < 0 ||
            parser->grid[d] > MOST_ELEMENTS)
            return fail(parser, "a count of the grid is not a number from 0 to 16777216", NULL);
        if (accept(parser, ']'))
            return true;
        if (!accept(parser, ','))
            break;
    }
    return fail(parser, "']' is missing", NULL);
}

/* By its C name; a kernel's name does where it has one entry. */
static struct kernel_entry *find_entry(const struct compilation *compilation, const char *name)
{
    const struct kernel_module *module = compilation->module;
    struct kernel_entry *found = NULL;
    int count = 0;
    for (int i = 0; i < module->entries.count; i++) {
        struct kernel_entry *entry = &module->entries.data[i];
        if (strcmp(entry->symbol, name) == 0)
            return entry;
        if (strcmp(entry->kernel, name) != 0)
            continue;
        found = entry;
        count++;
    }
    return count == 1 ? found : NULL;
}

static bool fail_entry(const struct compilation *compilation, const char *name)
{
    const struct kernel_module *module = compilation->module;
    struct buffer all = {0};
    const char **names = ARENA_ARRAY(compilation->arena, const char *, 2 * module->entries.count);
    for (int i = 0; i < module->entries.count; i++) {
        names[2 * i] = module->entries.data[i].symbol;
        names[2 * i + 1] = module->entries.data[i].kernel;
        if (strcmp(names[2 * i + 1], name) == 0)
            buffer_printf(&all, "%s%s", all.size ? ", " : "", names[2 * i]);
    }
    const char *nearest = suggest_nearest(name, 2 * module->entries.count, names);
    if (all.size)
        driver_error(compilation->options, "--interpret: '%s' has several entries: %s", name, all.data);
    else if (nearest)
        driver_error(compilation->options, "--interpret: there is no entry '%s'; did you mean '%s'?", name, nearest);
    else
        driver_error(compilation->options, "--interpret: there is no entry '%s'; --interpret without a call lists them",
                     name);
    buffer_free(&all);
    return false;
}

static bool parse_struct(struct call_parser *parser, int index);

static bool parse_argument(struct call_parser *parser, int index)
{
    switch (parser->entry->parameters.data[index].kind) {
    case KERNEL_VIEW: return parse_view(parser, index);
    case KERNEL_POINTER: return parse_pointer(parser, index);
    case KERNEL_STRUCT: return parse_struct(parser, index);
    default: return parse_scalar(parser, index);
    }
}

/* {1e-5, 4}: its members in order. */
static bool parse_struct(struct call_parser *parser, int index)
{
    const struct kernel_entry *entry = parser->entry;
    if (!accept(parser, '{'))
        return fail(parser, "members, {a, b}, are needed for", entry->parameters.data[index].name);
    for (int i = index + 1; i < entry->parameters.count; i++) {
        if (entry->parameters.data[i].member_of != index + 1)
            continue;
        if (entry->parameters.data[i].member && !accept(parser, ','))
            return fail(parser, "no value for", entry->parameters.data[i].name);
        if (!parse_argument(parser, i))
            return false;
    }
    return accept(parser, '}') || fail(parser, "too many members for", entry->parameters.data[index].name);
}

/* parser->entry is known in a .tir file. */
static bool parse_call(struct call_parser *parser)
{
    const char *symbol = take_word(parser);
    if (!parser->entry)
        parser->entry = find_entry(parser->compilation, symbol);
    if (!parser->entry)
        return fail_entry(parser->compilation, symbol);
    if (parser->entry->parameters.count > MOST_PARAMETERS)
        return fail(parser, "too many parameters:", symbol);
    if (!accept(parser, '('))
        return fail(parser, "'(' is missing", NULL);
    for (int i = 0; i < parser->entry->parameters.count; i++) {
        if (parser->entry->parameters.data[i].member_of)
            continue;
        if (i && !accept(parser, ','))
            return fail(parser, "no argument for", parser->entry->parameters.data[i].name);
        if (!parse_argument(parser, i))
            return false;
    }
    if (!accept(parser, ')'))
        return fail(parser, "an argument too many, or no ')'", NULL);
    return parse_grid(parser) && ((skip_space(parser), !*parser->at) || fail(parser, "something follows", NULL));
}

/* The first variant that fits, as the wrapper picks it. */
static struct kernel_variant *pick_variant(const struct host_call *call)
{
    for (int i = 0; i < call->entry->variants.count; i++) {
        struct kernel_variant *variant = &call->entry->variants.data[i];
        int64_t holds = 1;
        bool fits = true;
        for (int k = 0; k < call->entry->keys.count; k++)
            fits = fits && variant->key_values[k] == call->keys[k];
        if (fits && (!variant->predicate || (host_evaluate(call, variant->predicate, &holds) && holds)))
            return variant;
    }
    return NULL;
}

static bool has_memory(const struct kernel_parameter *p) { return p->kind == KERNEL_VIEW || p->kind == KERNEL_POINTER; }

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
static void print_results(const struct call_parser *parser)
{
    struct buffer out = {0};
    for (int i = 0; i < parser->entry->parameters.count; i++) {
        const struct kernel_parameter *p = &parser->entry->parameters.data[i];
        const struct host_argument *argument = &parser->arguments[i];
        if (!has_memory(p) || p->direction == KERNEL_IN || !argument->data)
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
            print_element(&out, p, &parser->memories[parser->memory_of[i]], k);
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
static int64_t equal_extent(const struct call_parser *parser, const struct ir_function *function, int index, int d)
{
    int class = index < function->facts.count ? function->facts.data[index].extent_class[d] : 0;
    for (int i = 0; class && i < parser->entry->parameters.count && i < function->facts.count; i++)
        for (int k = 0; parser->arguments[i].present && k < parser->entry->parameters.data[i].rank; k++)
            if (function->facts.data[i].extent_class[k] == class)
                return parser->arguments[i].extent[k];
    return 0;
}

static void equal_extents(const struct call_parser *parser, const struct ir_function *function, int index,
                          struct interp_argument *argument)
{
    const struct kernel_parameter *p = &parser->entry->parameters.data[index];
    if (p->kind != KERNEL_VIEW || parser->arguments[index].present)
        return;
    const struct ir_type *type = function->body->arguments.data[index]->type;
    for (int d = 0; d < p->rank; d++)
        argument->extent[d] = type->extent[d] != IR_DYNAMIC ? type->extent[d]
                                                            : equal_extent(parser, function, index, d);
}

/* ---- runs ---- */

struct interpretation {
    struct call_parser *parser;
    const struct ir_function *function;
    int count;
    struct interp_argument arguments[MOST_MEMORIES];
    uint64_t *report;    /* where failing checks say so, and prints stand; NULL: the kernel has none */
    const char *printed; /* by the first run, its lines sorted; NULL: it did not run */
    struct interp_options options;
    /* of each memory: what was there at first, and what the first run left */
    unsigned char *before[MOST_MEMORIES], *after[MOST_MEMORIES];
    bool failed, stale; /* stale: passes worked on it since the last run */
};

static const struct options *options_of(const struct interpretation *call)
{
    return call->parser->compilation->options;
}

static void reset_memories(struct interpretation *call, bool first)
{
    struct arena *arena = call->parser->compilation->arena;
    for (int i = 0; i < call->parser->memory_count; i++) {
        struct interp_memory *memory = &call->parser->memories[i];
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
    const struct call_parser *parser = call->parser;
    const unsigned char *before = call->after[memory], *now = parser->memories[memory].data;
    enum ir_element element = IR_U8;
    for (int i = 0; i < parser->entry->parameters.count; i++)
        if (has_memory(&parser->entry->parameters.data[i]) && parser->arguments[i].data &&
            parser->memory_of[i] == memory)
            element = parser->entry->parameters.data[i].element;
    size_t size = (size_t)ir_element_info[element].bits / 8;
    for (size_t at = 0; at < parser->memories[memory].size; at += size) {
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
    struct arena *arena = call->parser->compilation->arena;
    for (int i = 0; i < call->parser->memory_count; i++) {
        const struct interp_memory *memory = &call->parser->memories[i];
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
    const struct kernel_entry *entry = call->parser->entry;
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
    if (!call->report || !call->parser->entry->prints.count)
        return true;
    report_put_prints(&out, call->parser->entry, call->report);
    const char *sorted = sort_lines(call->parser->compilation->arena, out.data ? out.data : "");
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
    const struct kernel_entry *entry = call->parser->entry;
    struct arena *arena = call->parser->compilation->arena;
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

static void report_races(const struct interpretation *call)
{
    struct diagnostics *diagnostics = call->parser->compilation->diagnostics;
    for (int i = 0; i < call->options.races->count; i++) {
        const struct interp_race *race = &call->options.races->list[i];
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
        if (call->parser->compilation->diagnostics->errors) { /* -Werror */
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
    struct call_parser *parser = call->parser;
    struct interp_memory *memory = &parser->memories[parser->memory_count++];
    int room = parser->entry->prints.count ? PRINTED_WORDS : 0, words = KERNEL_REPORT_RECORDS + room;
    call->report = ARENA_ARRAY(parser->compilation->arena, uint64_t, words);
    call->report[KERNEL_REPORT_ROOM] = (uint64_t)room;
    *memory = (struct interp_memory){
        .data = call->report, .size = sizeof *call->report * (size_t)words, .name = "report"};
    call->arguments[call->count++] = (struct interp_argument){.bits = (uint64_t)(uintptr_t)call->report};
    call->options.memory_count = parser->memory_count;
}

/* Between them and the parameters: what the launch has for itself. */
static bool add_scratch(struct interpretation *call, const struct host_call *host, const struct kernel_variant *variant)
{
    struct call_parser *parser = call->parser;
    const char *problem = host_make_scratch(host, variant, &parser->memories[parser->memory_count],
                                            &call->arguments[call->count]);
    if (problem)
        return refuse(parser, problem);
    call->count += host->entry->scratch.count;
    parser->memory_count += host->entry->scratch.count;
    call->options.memory_count = parser->memory_count;
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
                !call->parser->arguments[*index].present)
                return compare->operands[1 - side];
    }
    return NULL;
}

/* The value of `wanted`, computed by a function of all that stands in front of `end` and makes it. */
static bool compute_before(const struct interpretation *call, const struct ir_operation *end, struct ir_value *wanted,
                           int64_t *number)
{
    const struct ir_function *function = call->function;
    struct ir_module *module = ir_module_create(function->module->context, call->parser->compilation->arena);
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
static bool start(struct call_parser *parser, const struct host_call *host, const struct kernel_variant *variant,
                  const struct ir_function *function, const int64_t *grid)
{
    struct interpretation *call = ARENA_NEW(parser->compilation->arena, struct interpretation);
    call->parser = parser;
    call->function = function;
    call->options = (struct interp_options){.memory_count = parser->memory_count, .memories = parser->memories};
    memcpy(call->options.grid, grid, sizeof call->options.grid);
    for (int i = 0; i < parser->entry->parameters.count; i++) {
        const struct host_argument *from = &parser->arguments[i];
        if (parser->entry->parameters.data[i].slot < 0)
            continue;
        struct interp_argument *argument = &call->arguments[call->count++];
        *argument = (struct interp_argument){.data = from->data, .bits = from->bits};
        memcpy(argument->extent, from->extent, sizeof from->extent);
        memcpy(argument->stride, from->stride, sizeof from->stride);
        if (parser->grid_follows)
            equal_extents(parser, function, i, argument);
        else
            declared_extents(host, i, argument);
    }
    if (parser->grid_follows)
        assume_extents(call);
    if (variant && !add_scratch(call, host, variant))
        return false;
    if (parser->entry->reports)
        add_report(call);
    parser->compilation->interpretation = call;
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
    print_results(call->parser);
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

static struct call_parser *begin_call(struct compilation *compilation)
{
    struct call_parser *parser = ARENA_NEW(compilation->arena, struct call_parser);
    parser->compilation = compilation;
    parser->at = compilation->options->interpret_call;
    return parser;
}

enum exit_code interpret_begin(struct compilation *compilation)
{
    if (!compilation->options->interpret_call) {
        list_entries(compilation->module);
        return EXIT_OK;
    }
    struct call_parser *parser = begin_call(compilation);
    if (!parse_call(parser))
        return EXIT_USAGE;
    struct host_call call = {compilation->arena, parser->entry, parser->arguments,
                             ARENA_ARRAY(compilation->arena, int64_t, parser->entry->names.count),
                             ARENA_ARRAY(compilation->arena, int64_t, parser->entry->keys.count)};
    const char *problem = host_bind(compilation->arena, &call);
    if (problem)
        return refuse(parser, problem), EXIT_USAGE;
    const struct kernel_variant *variant = pick_variant(&call);
    if (!variant) {
        driver_error(parser->compilation->options, "--interpret: no instance was made for this call");
        return EXIT_USAGE;
    }
    int64_t grid[IR_MAX_RANK] = {0};
    for (int d = 0; d < variant->grid_rank; d++)
        if (!host_evaluate(&call, variant->grid[d], &grid[d]))
            return refuse(parser, host_failure(&call, variant->grid[d], "the grid")), EXIT_USAGE;
    return start(parser, &call, variant, variant->function, grid) ? EXIT_OK : EXIT_SOURCE;
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
    struct call_parser *parser = begin_call(compilation);
    const char *name = take_word(parser);
    const struct ir_function *function = ir_function_find(module, name);
    if (!function)
        return fail(parser, "there is no function", name), EXIT_USAGE;
    parser->at = compilation->options->interpret_call;
    parser->entry = entry_of(compilation->arena, function);
    parser->grid_follows = true;
    for (int d = 0; d < IR_MAX_RANK; d++)
        parser->grid[d] = 1;
    if (!parse_call(parser))
        return EXIT_USAGE;
    struct host_call call = {parser->compilation->arena, parser->entry, parser->arguments, NULL, NULL};
    return start(parser, &call, NULL, function, parser->grid) ? EXIT_OK : EXIT_SOURCE;
}
