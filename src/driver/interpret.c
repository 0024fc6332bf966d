/* --interpret=CALL: runs one kernel in the interpreter on inputs made here, and prints what it wrote.
 *
 *   CALL = symbol(argument, ...)      view: [extent, ...] or none    scalar: a number, true, false    enum: member or
 * number
 *
 * Every input holds a fixed pattern of small integers, which every element type represents, so that results do not
 * depend on the order of sums; outputs start as unwritten.  With --passes the passes run before: the difference is what
 * they changed. */
#include "driver/driver.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "driver/host_value.h"
#include "interp/interp.h"

enum { MOST_PARAMETERS = 128, MOST_ELEMENTS = 1 << 24, ELEMENTS_SHOWN = 4096 };

struct call_parser {
    struct compilation *compilation;
    const char *at;
    struct kernel_entry *entry;
    struct host_argument arguments[MOST_PARAMETERS];
    struct interp_memory memories[MOST_PARAMETERS];
    int memory_count, memory_of[MOST_PARAMETERS];
};

static void skip_space(struct call_parser *parser) {
    while (isspace((unsigned char)*parser->at)) parser->at++;
}

static bool accept(struct call_parser *parser, char character) {
    skip_space(parser);
    if (*parser->at != character) return false;
    parser->at++;
    return true;
}

/* A word up to a comma or bracket, without space at its ends. */
static const char *take_word(struct call_parser *parser) {
    skip_space(parser);
    size_t length = strcspn(parser->at, ",()[]");
    const char *begin = parser->at;
    parser->at += length;
    while (length && isspace((unsigned char)begin[length - 1])) length--;
    return arena_substring(parser->compilation->arena, begin, length);
}

static bool fail(const struct call_parser *parser, const char *what, const char *name) {
    driver_error("--interpret: %s%s%s%s%s", what, name ? " '" : "", name ? name : "", name ? "'" : "",
                 parser->entry && !name ? " in the call" : "");
    return false;
}

static bool parse_integer(const char *word, int64_t *number) {
    char *end;
    long long value = strtoll(word, &end, 0);
    *number = value;
    return end != word && !*end;
}

static bool parse_extents(struct call_parser *parser, const struct kernel_parameter *p, struct host_argument *argument,
                          int64_t *elements) {
    *elements = 1;
    if (!accept(parser, '[')) return fail(parser, "an argument of extents, [n, m], is needed for", p->name);
    for (int d = 0; d < p->rank; d++) {
        if (d && !accept(parser, ',')) return fail(parser, "too few extents for", p->name);
        if (!parse_integer(take_word(parser), &argument->extent[d]) || argument->extent[d] < 0 ||
            argument->extent[d] > MOST_ELEMENTS)
            return fail(parser, "an extent is not a number from 0 to 16777216 for", p->name);
        if (__builtin_mul_overflow(*elements, argument->extent[d], elements) || *elements > MOST_ELEMENTS)
            return fail(parser, "too many elements in", p->name);
    }
    if (!accept(parser, ']')) return fail(parser, "too many extents for", p->name);
    for (int64_t d = p->rank - 1, stride = 1; d >= 0; stride *= argument->extent[d--]) argument->stride[d] = stride;
    return true;
}

/* -5 .. 5, or 0 .. 10 for elements without sign. */
static void fill(enum ir_element element, unsigned char *data, int64_t elements) {
    size_t size = (size_t)ir_element_info[element].bits / 8;
    for (int64_t i = 0; i < elements; i++) {
        int64_t value = (i * 7 + 3) % 11;
        if (element == IR_BOOL) value &= 1;
        else if (ir_is_float(element) || ir_is_signed(element)) value -= 5;
        uint64_t bits = ir_int_to_bits(element, value);
        memcpy(data + (size_t)i * size, &bits, size);
    }
}

static bool parse_view(struct call_parser *parser, int index) {
    const struct kernel_parameter *p = &parser->entry->parameters.data[index];
    struct host_argument *argument = &parser->arguments[index];
    skip_space(parser);
    if (strncmp(parser->at, "none", 4) == 0) {
        parser->at += 4;
        return p->optional || fail(parser, "not optional:", p->name);
    }
    int64_t elements;
    if (p->pointer_elements) return fail(parser, "pointers cannot be given, so not", p->name);
    if (!parse_extents(parser, p, argument, &elements)) return false;
    size_t size = (size_t)elements * (size_t)ir_element_info[p->element].bits / 8;
    struct interp_memory *memory = &parser->memories[parser->memory_count];
    *memory = (struct interp_memory){.size = size, .read_only = p->direction == KERNEL_IN, .name = p->name};
    memory->data = arena_alloc(parser->compilation->arena, size + 64);
    memory->data = (void *)(((uintptr_t)memory->data + 63) / 64 * 64); /* the most that a fact of alignment asks for */
    if (p->direction == KERNEL_OUT) memory->written = arena_alloc(parser->compilation->arena, size);
    else fill(p->element, memory->data, elements);
    parser->memory_of[index] = parser->memory_count++;
    argument->data = memory->data;
    argument->present = true;
    return true;
}

static bool parse_scalar(struct call_parser *parser, int index) {
    const struct kernel_parameter *p = &parser->entry->parameters.data[index];
    enum ir_element element = p->kind == KERNEL_SCALAR ? p->element : IR_I32;
    const char *word = take_word(parser);
    uint64_t *bits = &parser->arguments[index].bits;
    int64_t number;
    char *end;
    parser->arguments[index].present = true;
    for (int i = 0; p->enumeration && i < p->enumeration->count; i++)
        if (strcmp(p->enumeration->members[i], word) == 0) {
            *bits = ir_int_to_bits(element, p->enumeration->values[i]);
            return true;
        }
    if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0) *bits = ir_int_to_bits(element, word[0] == 't');
    else if (parse_integer(word, &number)) *bits = ir_int_to_bits(element, number);
    else {
        double real = strtod(word, &end);
        if (end == word || *end || !ir_is_float(element)) return fail(parser, "not a value for", p->name);
        *bits = ir_double_to_bits(element, real);
    }
    return true;
}

static bool parse_call(struct call_parser *parser) {
    const char *symbol = take_word(parser);
    struct kernel_module *module = parser->compilation->module;
    for (int i = 0; i < module->entries.count; i++)
        if (strcmp(module->entries.data[i].symbol, symbol) == 0) parser->entry = &module->entries.data[i];
    if (!parser->entry) return fail(parser, "there is no entry", symbol);
    if (parser->entry->parameters.count > MOST_PARAMETERS) return fail(parser, "too many parameters:", symbol);
    if (!accept(parser, '(')) return fail(parser, "'(' is missing", NULL);
    for (int i = 0; i < parser->entry->parameters.count; i++) {
        enum kernel_parameter_kind kind = parser->entry->parameters.data[i].kind;
        if (i && !accept(parser, ',')) return fail(parser, "no argument for", parser->entry->parameters.data[i].name);
        if (kind == KERNEL_POINTER)
            return fail(parser, "pointers cannot be given, so not", parser->entry->parameters.data[i].name);
        if (!(kind == KERNEL_VIEW ? parse_view(parser, i) : parse_scalar(parser, i))) return false;
    }
    return (accept(parser, ')') && (skip_space(parser), !*parser->at)) ||
           fail(parser, "an argument too many, or no ')'", NULL);
}

/* The first variant that fits, as the wrapper picks it. */
static struct kernel_variant *pick_variant(const struct host_call *call) {
    for (int i = 0; i < call->entry->variants.count; i++) {
        struct kernel_variant *variant = &call->entry->variants.data[i];
        int64_t holds = 1;
        bool fits = true;
        for (int k = 0; k < call->entry->keys.count; k++) fits = fits && variant->key_values[k] == call->keys[k];
        if (fits && (!variant->predicate || (host_evaluate(call, variant->predicate, &holds) && holds))) return variant;
    }
    return NULL;
}

static void print_element(struct buffer *out, const struct kernel_parameter *p, const struct interp_memory *memory,
                          int64_t index) {
    size_t size = (size_t)ir_element_info[p->element].bits / 8;
    uint64_t bits = 0;
    memcpy(&bits, (const unsigned char *)memory->data + (size_t)index * size, size);
    if (memory->written && !memory->written[(size_t)index * size]) buffer_puts(out, " ?");
    else if (ir_is_float(p->element)) buffer_printf(out, " %.9g", ir_bits_to_double(p->element, bits));
    else buffer_printf(out, " %lld", (long long)ir_bits_to_int(p->element, bits));
}

/* One line a row: name[row] = values; "?" is an element that was never written. */
static void print_results(const struct call_parser *parser) {
    struct buffer out = {0};
    for (int i = 0; i < parser->entry->parameters.count; i++) {
        const struct kernel_parameter *p = &parser->entry->parameters.data[i];
        const struct host_argument *argument = &parser->arguments[i];
        if (p->kind != KERNEL_VIEW || p->direction == KERNEL_IN || !argument->present) continue;
        int64_t elements = 1, row = p->rank ? argument->extent[p->rank - 1] : 1;
        for (int d = 0; d < p->rank; d++) elements *= argument->extent[d];
        if (!elements) buffer_printf(&out, "%s = (empty)\n", p->name);
        for (int64_t k = 0; k < elements && k < ELEMENTS_SHOWN; k++) {
            if (k % row == 0) buffer_printf(&out, "%s%s[%lld] =", k ? "\n" : "", p->name, (long long)(k / row));
            print_element(&out, p, &parser->memories[parser->memory_of[i]], k);
        }
        if (elements) buffer_putc(&out, '\n');
        if (elements > ELEMENTS_SHOWN) buffer_printf(&out, "(%lld more)\n", (long long)(elements - ELEMENTS_SHOWN));
    }
    if (out.size) fwrite(out.data, 1, out.size, stdout);
    buffer_free(&out);
}

/* A view that is not there has the extents that it would have. */
static void declared_extents(const struct host_call *call, int index, struct interp_argument *argument) {
    const struct kernel_parameter *p = &call->entry->parameters.data[index];
    for (int d = 0; p->kind == KERNEL_VIEW && !call->arguments[index].present && d < p->rank; d++)
        if (p->extent[d]) host_evaluate(call, p->extent[d], &argument->extent[d]);
}

static enum exit_code run_variant(struct call_parser *parser, const struct host_call *call,
                                  const struct kernel_variant *variant) {
    struct interp_argument arguments[MOST_PARAMETERS];
    struct interp_options options = {.memory_count = parser->memory_count, .memories = parser->memories};
    int count = 0;
    for (int i = 0; i < parser->entry->parameters.count; i++) {
        const struct host_argument *from = &parser->arguments[i];
        if (parser->entry->parameters.data[i].slot < 0) continue;
        arguments[count] = (struct interp_argument){.data = from->data, .bits = from->bits};
        memcpy(arguments[count].extent, from->extent, sizeof from->extent);
        memcpy(arguments[count].stride, from->stride, sizeof from->stride);
        declared_extents(call, i, &arguments[count]);
        count++;
    }
    for (int d = 0; d < variant->grid_rank; d++)
        if (!host_evaluate(call, variant->grid[d], &options.grid[d]))
            return fail(parser, "the grid overflows", NULL), EXIT_SOURCE;
    struct interp_problem problem;
    if (interp_run(variant->function, count, arguments, &options, NULL, &problem)) {
        print_results(parser);
        return EXIT_OK;
    }
    driver_error("%s:%d:%d: instance %lld: %s", problem.at.source ? problem.at.source->name : "?", problem.at.line,
                 problem.at.column, (long long)problem.instance, problem.text);
    return EXIT_SOURCE;
}

static void list_entries(const struct kernel_module *module) {
    for (int i = 0; i < module->entries.count; i++) {
        const struct kernel_entry *entry = &module->entries.data[i];
        printf("%s(", entry->symbol);
        for (int k = 0; k < entry->parameters.count; k++) {
            const struct kernel_parameter *p = &entry->parameters.data[k];
            printf("%s%s", k ? ", " : "", p->name);
            for (int d = 0; p->kind == KERNEL_VIEW && d < p->rank; d++)
                printf("%s%s%s", d ? ", " : "[", p->extent[d] && p->extent[d]->text ? p->extent[d]->text : "n",
                       d == p->rank - 1 ? "]" : "");
        }
        printf(")\n");
    }
}

enum exit_code interpret_call(struct compilation *compilation) {
    if (!compilation->options->interpret_call) {
        list_entries(compilation->module);
        return EXIT_OK;
    }
    struct call_parser *parser = ARENA_NEW(compilation->arena, struct call_parser);
    parser->compilation = compilation;
    parser->at = compilation->options->interpret_call;
    if (!parse_call(parser)) return EXIT_USAGE;
    struct host_call call = {parser->entry, parser->arguments,
                             ARENA_ARRAY(compilation->arena, int64_t, parser->entry->names.count),
                             ARENA_ARRAY(compilation->arena, int64_t, parser->entry->keys.count)};
    const char *problem = host_bind(compilation->arena, &call);
    if (problem) {
        driver_error("--interpret: %s", problem);
        return EXIT_USAGE;
    }
    const struct kernel_variant *variant = pick_variant(&call);
    if (variant) return run_variant(parser, &call, variant);
    driver_error("--interpret: no instance was made for this call");
    return EXIT_USAGE;
}
