/* `print`, and texts with values.  A print becomes memory operations on the report, a hidden argument of the kernel (see
 * kernel.h): room for a record is taken by an atomic, and the values go there as 64 bits each; whoever launched reads
 * the records and writes the lines.  So each target prints what the kernel has, each element once, and a pass treats a
 * print as the stores that it is.
 *
 *     print("x {}", x)        at = atomic_add(used, words)        (once an instance)
 *                             if (at + words <= room) { store(record + at, number, grid…, x as u64…) } */
#include "base/plant.h"
#include "front/builtins/builtins.h"

#include <ctype.h>
#include <string.h>

/* ---- formats ---- */

struct format {
    struct elaborator *e;
    const struct call *call;
    const struct value *values;
    int count, used;
    struct buffer text;
    const char **conversions; /* one a value: its letter stands last */
};

static bool wrong(struct format *f, const char *text)
{
    front_report(f->e, DIAGNOSTIC_E0319, f->call->at, "%s", text);
    return false;
}

/* d u x X e f g b, by what the source says behind the colon, or by the type alone. */
static char conversion_of(struct format *f, struct value v, char asked)
{
    enum ir_element element = v.run->type->element;
    bool is_float = ir_is_float(element);
    if (!asked)
        return (char)(is_float                                       ? 'g'
                      : element == IR_BOOL                           ? 'b'
                      : ir_is_signed(element) || element == IR_INDEX ? 'd'
                                                                     : 'u');
    if (strchr(is_float ? "efg" : "dxX", asked))
        return (char)(asked == 'd' && !ir_is_signed(element) && element != IR_INDEX ? 'u' : asked);
    front_report(f->e, DIAGNOSTIC_E0319, v.at, "`{:%c}` is for %s, not for %s", asked,
                 strchr("efg", asked) ? "floats" : "integers", front_describe(f->e, v));
    return 0;
}

/* Behind `{`: [:][0][width][.precision][letter]}; gives what follows, or NULL: reported. */
static const char *read_value(struct format *f, const char *at)
{
    const char *end = strchr(at, '}');
    size_t size = end ? (size_t)(end - at) : 0;
    char spec[16] = "", letter = 0;
    if (!end || (size && *at != ':') || size > 8) {
        wrong(f, "a value stands in the text as `{}` or `{:x}`; a brace is written `{{` or `}}`");
        return NULL;
    }
    if (size)
        memcpy(spec, at + 1, size - 1);
    size_t length = strlen(spec), digits = strspn(spec, "0123456789.");
    if (length > digits && strchr("dxXefg", spec[digits]) && length == digits + 1)
        letter = spec[digits];
    const char *dot = strchr(spec, '.');
    size_t width = dot ? (size_t)(dot - spec) : digits;
    if ((length > digits && !letter) || width > 3 || (dot && (digits - width > 3 || strchr(dot + 1, '.')))) {
        wrong(f, "behind `:` stand a width and a precision, each of two digits at most, and one of d x X e f g, as in "
                 "`{:8.3f}`");
        return NULL;
    }
    if (f->used == f->count) {
        wrong(f, arena_printf(f->e->arena, "the text asks for more values than the %d given", f->count));
        return NULL;
    }
    char conversion = conversion_of(f, f->values[f->used], letter);
    if (!conversion)
        return NULL;
    spec[digits] = 0;
    f->conversions[f->used] = arena_printf(f->e->arena, "%s%c", spec, conversion);
    buffer_printf(&f->text, "%%%s%c", spec, conversion);
    f->used++;
    return end + 1;
}

static bool read_format(struct format *f, const char *at)
{
    while (at && *at) {
        if ((at[0] == '{' || at[0] == '}') && at[1] == at[0]) {
            buffer_putc(&f->text, *at);
            at += 2;
        } else if (*at == '{') {
            at = read_value(f, at + 1);
        } else if (*at == '}') {
            return wrong(f, "a brace is written `}}`");
        } else {
            buffer_puts(&f->text, *at == '%' ? "%%" : "");
            if (*at != '%')
                buffer_putc(&f->text, *at);
            at++;
        }
    }
    if (at && f->used < f->count)
        return wrong(f, arena_printf(f->e->arena, "the text asks for %d value%s, and %d %s given", f->used,
                                     f->used == 1 ? "" : "s", f->count, f->count == 1 ? "is" : "are"));
    return at != NULL;
}

const char *text_of_values(struct elaborator *e, const struct call *call, const char *text, int count,
                           const struct value *values, const char ***conversions)
{
    struct format f = {.e = e, .call = call, .values = values, .count = count};
    f.conversions = ARENA_ARRAY(e->arena, const char *, count);
    bool good = read_format(&f, text);
    const char *kept = good ? arena_substring(e->front->arena, f.text.data ? f.text.data : "", f.text.size) : NULL;
    buffer_free(&f.text);
    *conversions = f.conversions;
    return kept;
}

/* ---- values ---- */

bool text_values(struct elaborator *e, const struct call *call, int from, struct value *values)
{
    for (int i = from; i < call->count; i++) {
        struct value v = value_materialize(e, call->argument[i]);
        if (v.kind != VALUE_RUN || v.run->type->element == IR_POINTER) {
            call_wrong(e, call, v, "scalars and tiles");
            return false;
        }
        values[i - from] = v;
    }
    return true;
}

struct ir_value *text_bits(struct elaborator *e, struct value v, const char *conversion)
{
    enum ir_element element = v.run->type->element;
    char letter = conversion[strlen(conversion) - 1];
    if (ir_is_float(element)) {
        struct ir_value *wide = ir_cast(&e->builder, v.run, IR_F64);
        return ir_build_value(&e->builder, OP_BITCAST, ir_type_with_element(e->context, wide->type, IR_U64), 1, &wide);
    }
    if ((letter == 'x' || letter == 'X') && ir_is_signed(element)) { /* as many digits as the type has */
        int bits = ir_element_info[element].bits;
        v.run = ir_cast(&e->builder, v.run, bits == 8 ? IR_U8 : bits == 16 ? IR_U16 : bits == 32 ? IR_U32 : IR_U64);
    }
    return ir_cast(&e->builder, v.run, IR_U64);
}

/* ---- records ---- */

static struct ir_value *at_word(struct elaborator *e, struct ir_value *base, int64_t words)
{
    const struct ir_type *index = ir_type_scalar(e->context, IR_INDEX);
    return ir_build_value(&e->builder, OP_POINTER_ADD, base->type, 2,
                          (struct ir_value *[]){base, ir_constant_int(&e->builder, index, words)});
}

static void store(struct elaborator *e, struct ir_value *place, struct ir_value *word)
{
    ir_build(&e->builder, OP_POINTER_STORE, 2, (struct ir_value *[]){place, word}, 0, NULL);
}

void report_store(struct elaborator *e, int64_t word, struct ir_value *bits)
{
    store(e, at_word(e, e->report, word), bits);
}

/* Row-major numbers of the elements of a shape. */
static struct ir_value *numbers_of(struct elaborator *e, const struct ir_type *shape)
{
    struct ir_value *sum = NULL;
    int64_t step = 1;
    for (int d = shape->rank - 1; d >= 0; step *= shape->extent[d--]) {
        int64_t extent[IR_MAX_RANK];
        for (int k = 0; k < shape->rank; k++)
            extent[k] = k == d ? shape->extent[d] : 1;
        const struct ir_type *line = ir_type_tile(e->context, IR_INDEX, 1, &shape->extent[d]);
        struct ir_value *part = ir_build_value(&e->builder, OP_IOTA, line, 0, NULL);
        if (shape->rank > 1)
            part = ir_build_value(&e->builder, OP_RESHAPE, ir_type_with_shape(e->context, line, shape->rank, extent), 1,
                                  &part);
        if (step != 1)
            part = ir_binary(&e->builder, OP_MUL, part, ir_constant_int(&e->builder, part->type, step));
        part = ir_broadcast(&e->builder, part, shape->rank, shape->extent);
        sum = sum ? ir_binary(&e->builder, OP_ADD, sum, part) : part;
    }
    return sum;
}

static void store_tile(struct elaborator *e, struct ir_value *base, struct ir_value *bits, struct ir_value *numbers)
{
    const struct ir_type *pointers = ir_type_with_shape(e->context, base->type, bits->type->rank, bits->type->extent);
    struct ir_value *all = ir_broadcast(&e->builder, base, bits->type->rank, bits->type->extent);
    store(e, ir_build_value(&e->builder, OP_POINTER_ADD, pointers, 2, (struct ir_value *[]){all, numbers}), bits);
}

/* Prints that are the same in all variants share a number. */
static int print_number(struct elaborator *e, const struct kernel_print *print)
{
    struct kernel_entry *entry = e->entry;
    for (int i = 0; i < entry->prints.count; i++) {
        const struct kernel_print *other = &entry->prints.data[i];
        if (strcmp(other->format, print->format) == 0 && other->count == print->count && other->tiles == print->tiles &&
            other->rank == print->rank &&
            memcmp(other->extent, print->extent, sizeof *print->extent * (size_t)print->rank) == 0)
            return i;
    }
    vector_push(e->front->arena, &entry->prints, *print);
    return entry->prints.count - 1;
}

/* Number, grid indexes, values: a word each, of tiles one an element. */
static void write_record(struct elaborator *e, const struct kernel_print *print, struct ir_value *record,
                         struct ir_value **bits, const struct ir_type *shape)
{
    const struct ir_type *word = ir_type_scalar(e->context, IR_U64), *index = ir_type_scalar(e->context, IR_INDEX);
    struct ir_value *numbers = shape ? numbers_of(e, shape) : NULL;
    int64_t at = 1;
    store(e, record, ir_constant_int(&e->builder, word, print_number(e, print) + 1));
    for (int d = 0; d < e->function->grid_rank; d++) {
        struct ir_value *grid = ir_build_value(&e->builder, OP_GRID_INDEX, index, 0, NULL);
        ir_set_number(grid->definition, IR_ATTRIBUTE_DIMENSION, d);
        store(e, at_word(e, record, at++), ir_cast(&e->builder, grid, IR_U64));
    }
    for (int i = 0; i < print->count; i++) {
        struct ir_value *place = at_word(e, record, at);
        if (bits[i]->type->rank)
            store_tile(e, place, bits[i], numbers);
        else
            store(e, place, bits[i]);
        at += bits[i]->type->rank ? ir_type_elements(bits[i]->type) : 1;
    }
}

static void write_if_there_is_room(struct elaborator *e, const struct kernel_print *print, struct ir_value **bits,
                                   const struct ir_type *shape)
{
    const struct ir_type *word = ir_type_scalar(e->context, IR_U64);
    int64_t words = 1 + e->function->grid_rank;
    for (int i = 0; i < print->count; i++)
        words += bits[i]->type->rank ? ir_type_elements(bits[i]->type) : 1;
    struct ir_value *size = ir_constant_int(&e->builder, word, words - PLANTED(front_print_takes_less_room));
    struct ir_value *operands[2] = {at_word(e, e->report, KERNEL_REPORT_USED), size};
    struct ir_operation *take = ir_build(&e->builder, OP_POINTER_ATOMIC, 2, operands, 1, &word);
    ir_set_number(take, IR_ATTRIBUTE_ACTION, IR_ACTION_ADD);
    ir_set_number(take, IR_ATTRIBUTE_ORDER, IR_ORDER_RELAXED);
    ir_set_number(take, IR_ATTRIBUTE_SCOPE, IR_SCOPE_GPU);
    struct ir_value *room[2] = {at_word(e, e->report, KERNEL_REPORT_ROOM), ir_constant_int(&e->builder, word, 0)};
    struct ir_value *most = ir_build_value(&e->builder, OP_POINTER_LOAD, word, 2, room);
    struct ir_value *end = ir_binary(&e->builder, OP_ADD, take->results[0], size);
    struct ir_value *fits = ir_compare(&e->builder, IR_PREDICATE_LE, end, most);
    struct ir_block *saved, *yes = region_begin(e, &saved);
    struct ir_value *first = at_word(e, e->report, KERNEL_REPORT_RECORDS);
    struct ir_value *record = ir_build_value(&e->builder, OP_POINTER_ADD, first->type, 2,
                                             (struct ir_value *[]){first, take->results[0]});
    write_record(e, print, record, bits, shape);
    ir_build(&e->builder, OP_YIELD, 0, NULL, 0, NULL);
    region_end(e, saved);
    struct ir_block *no = region_begin(e, &saved);
    ir_build(&e->builder, OP_YIELD, 0, NULL, 0, NULL);
    region_end(e, saved);
    struct ir_operation *branch = ir_build(&e->builder, OP_IF, 1, &fits, 0, NULL);
    region_attach(branch, 0, yes);
    region_attach(branch, 1, no);
}

/* The tiles get one shape, which is NULL where there are none. */
static bool one_shape(struct elaborator *e, int count, struct value *values, const struct ir_type **shape,
                      struct location at)
{
    struct value tiles[MOST_ARGUMENTS];
    int used = 0;
    *shape = NULL;
    for (int i = 0; i < count; i++)
        if (value_is_tile(values[i]))
            tiles[used++] = values[i];
    if (used && !convert_broadcast(e, used, tiles, "`print`", at))
        return false;
    for (int i = 0, k = 0; used && i < count; i++)
        if (value_is_tile(values[i]))
            values[i] = tiles[k++];
    if (used)
        *shape = tiles[0].run->type;
    return true;
}

struct value build_print(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    struct value values[MOST_ARGUMENTS];
    struct ir_value *bits[MOST_ARGUMENTS];
    const struct ir_type *shape;
    const char **conversions;
    int count = call->count - 1;
    if (call->argument[0].kind != VALUE_STRING)
        return call_wrong(e, call, call->argument[0], "a text first, as in `print(\"x {}\", x)`");
    if (!e->function || e->in_map || !e->report) {
        front_report(
            e, DIAGNOSTIC_E0606, call->at,
            "`print` stands in kernels and their functions, and not in one that is applied element by element");
        return value_error(call->at);
    }
    if (!text_values(e, call, 1, values) || !one_shape(e, count, values, &shape, call->at))
        return value_error(call->at);
    const char *format = text_of_values(e, call, call->argument[0].string, count, values, &conversions);
    if (!format)
        return value_error(call->at);
    struct kernel_print print = {.format = format, .count = count, .rank = shape ? shape->rank : 0};
    for (int i = 0; i < count; i++) {
        bits[i] = text_bits(e, values[i], conversions[i]);
        print.tiles |= bits[i]->type->rank ? 1u << i : 0;
    }
    for (int d = 0; d < print.rank; d++)
        print.extent[d] = shape->extent[d];
    write_if_there_is_room(e, &print, bits, shape);
    return (struct value){.kind = VALUE_VOID, .at = call->at};
}
