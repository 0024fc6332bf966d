/* Parser of tile IR text, the inverse of print.c.  Recursive descent over the bytes; every value is defined before it
 * is used (region arguments by their operation), so one pass does it.  Stops at the first error of a function and goes
 * on with the next.  Whether the IR means anything is the verifier's business; what is checked here is what building it
 * needs. */
#include "ir/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ir/layout.h"

enum { DEPTH_LIMIT = 200, LIST_LIMIT = 64, EXTENT_LIMIT = 1 << 30, SLOT_LIMIT = 64 };

struct named_value { const char *name; struct ir_value *value; struct named_value *next; };
enum { NAME_BUCKETS = 1024 };

struct parser {
    struct ir_context *context;
    struct arena *arena;             /* of the module */
    struct arena *scratch;           /* of one function's parsing */
    struct diagnostics *diagnostics;
    const struct source *source;
    const char *at, *end, *line_start;
    int line;
    int depth;
    bool failed;                     /* in this function */
    struct ir_module *module;
    struct ir_function *function;
    struct named_value **names;
};

typedef VECTOR(struct ir_value *) value_list;
typedef VECTOR(const struct ir_type *) type_list;

/* ---- characters ---- */

static struct location here(const struct parser *parser)
{
    int column = (int)(parser->at - parser->line_start) + 1;
    return (struct location){
        .source = parser->source, .line = parser->line, .column = column, .end_column = column + 1};
}

static void fail_at(struct parser *parser, struct location at, enum diagnostic_code code, const char *text)
{
    if (!parser->failed)
        diag_report(parser->diagnostics, code, at, "%s", text);
    parser->failed = true;
}

static void fail(struct parser *parser, const char *text)
{
    fail_at(parser, here(parser), DIAGNOSTIC_E1001, text);
}

static int peek(const struct parser *parser) { return parser->at < parser->end ? (unsigned char)*parser->at : -1; }

static void skip_space(struct parser *parser)
{
    for (; parser->at < parser->end; parser->at++) {
        char c = *parser->at;
        if (c == '\n') {
            parser->line++;
            parser->line_start = parser->at + 1;
        } else if (c == '/' && parser->end - parser->at > 1 && parser->at[1] == '/') {
            while (parser->at + 1 < parser->end && parser->at[1] != '\n')
                parser->at++;
        } else if (c != ' ' && c != '\t' && c != '\r') {
            return;
        }
    }
}

static bool is_name_start(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(int c) { return c >= '0' && c <= '9'; }
static bool is_name(int c) { return is_name_start(c) || is_digit(c); }

/* Takes `text` when it stands here; a word only whole. */
static bool accept(struct parser *parser, const char *text)
{
    skip_space(parser);
    size_t size = strlen(text);
    if ((size_t)(parser->end - parser->at) < size || memcmp(parser->at, text, size))
        return false;
    if (is_name_start((unsigned char)text[0]) && parser->at + size < parser->end &&
        is_name((unsigned char)parser->at[size]))
        return false;
    parser->at += size;
    return true;
}

static bool looking_at(struct parser *parser, const char *text)
{
    skip_space(parser);
    const char *at = parser->at;
    bool found = accept(parser, text);
    parser->at = at;
    return found;
}

static void expect(struct parser *parser, const char *text)
{
    if (!parser->failed && !accept(parser, text))
        fail(parser, arena_printf(parser->scratch, "'%s' is expected here", text));
}

/* A word; size 0 when there is none. */
static const char *word(struct parser *parser, size_t *size)
{
    skip_space(parser);
    const char *start = parser->at;
    if (is_name_start(peek(parser)))
        while (is_name(peek(parser)))
            parser->at++;
    *size = (size_t)(parser->at - start);
    return start;
}

static int64_t integer(struct parser *parser)
{
    skip_space(parser);
    bool negative = peek(parser) == '-';
    if (negative)
        parser->at++;
    if (!is_digit(peek(parser))) {
        fail(parser, "a number is expected here");
        return 0;
    }
    uint64_t value = 0, most = negative ? UINT64_C(1) << 63 : INT64_MAX;
    for (; is_digit(peek(parser)); parser->at++) {
        uint64_t digit = (uint64_t)(peek(parser) - '0');
        if (value > (most - digit) / 10) {
            fail(parser, "the number does not fit 64 bits");
            return 0;
        }
        value = value * 10 + digit;
    }
    return (int64_t)(negative ? 0 - value : value);
}

static int small_integer(struct parser *parser, int least, int most)
{
    int64_t value = integer(parser);
    if (!parser->failed && (value < least || value > most))
        fail(parser, arena_printf(parser->scratch, "the number must lie between %d and %d", least, most));
    return parser->failed ? least : (int)value;
}

/* (1, 2, 3) behind the opening bracket `close` ends; `?` is IR_DYNAMIC where allowed. */
static int number_list(struct parser *parser, const char *close, bool unknown, int limit, int64_t *numbers)
{
    int count = 0;
    if (accept(parser, close))
        return 0;
    do {
        if (count == limit) {
            fail(parser, "the list is too long");
            return count;
        }
        numbers[count++] = unknown && accept(parser, "?") ? IR_DYNAMIC : integer(parser);
    } while (!parser->failed && accept(parser, ","));
    expect(parser, close);
    return count;
}

/* ---- names ---- */

static int hex_digit(int c)
{
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static const char *symbol(struct parser *parser)
{
    expect(parser, "@");
    struct buffer text = {0};
    buffer_puts(&text, "");
    if (peek(parser) == '"') {
        parser->at++;
        while (!parser->failed && peek(parser) != '"') {
            int c = peek(parser);
            if (c < 0x20 || c > 0x7e) {
                fail(parser, "a name in quotes ends on its line");
            } else if (c == '\\') {
                int high = parser->end - parser->at > 2 ? hex_digit((unsigned char)parser->at[1]) : -1;
                int low = high >= 0 ? hex_digit((unsigned char)parser->at[2]) : -1;
                if (low < 0 || high * 16 + low == 0) {
                    fail(parser, "a name's escape is \\ and two hexadecimal digits");
                    break;
                }
                buffer_putc(&text, (char)(high * 16 + low));
                parser->at += 3;
            } else {
                buffer_putc(&text, (char)c);
                parser->at++;
            }
        }
        if (!parser->failed)
            parser->at++;
    } else {
        while (is_name(peek(parser)) || peek(parser) == '.' || peek(parser) == '$')
            buffer_putc(&text, *parser->at++);
        if (!text.size)
            fail(parser, "a name is expected behind '@'");
    }
    const char *name = intern_range(ir_context_names(parser->context), text.data, text.size);
    buffer_free(&text);
    return name;
}

/* %name or %12: the text behind the `%`, in scratch. */
static const char *value_name(struct parser *parser)
{
    expect(parser, "%");
    const char *start = parser->at;
    while (is_name(peek(parser)))
        parser->at++;
    if (parser->at == start)
        fail(parser, "the name of a value is expected behind '%'");
    return arena_substring(parser->scratch, start, (size_t)(parser->at - start));
}

static struct named_value **bucket(struct parser *parser, const char *name)
{
    unsigned hash = 5381;
    for (const char *c = name; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    return &parser->names[hash % NAME_BUCKETS];
}

static struct ir_value *find_value(struct parser *parser, const char *name)
{
    for (struct named_value *each = *bucket(parser, name); each; each = each->next)
        if (!strcmp(each->name, name))
            return each->value;
    return NULL;
}

static void define(struct parser *parser, const char *name, struct ir_value *value, struct location at)
{
    if (parser->failed)
        return;
    if (find_value(parser, name)) {
        fail_at(parser, at, DIAGNOSTIC_E1002, arena_printf(parser->scratch, "%%%s is defined twice", name));
        return;
    }
    struct named_value *entry = ARENA_NEW(parser->scratch, struct named_value);
    struct named_value **list = bucket(parser, name);
    *entry = (struct named_value){name, value, *list};
    *list = entry;
    if (!is_digit((unsigned char)name[0]))
        value->name = intern(ir_context_names(parser->context), name);
}

static struct ir_value *operand(struct parser *parser)
{
    skip_space(parser);
    struct location at = here(parser);
    const char *name = value_name(parser);
    struct ir_value *value = parser->failed ? NULL : find_value(parser, name);
    if (!value)
        fail_at(parser, at, DIAGNOSTIC_E1002, arena_printf(parser->scratch, "%%%s is not defined above", name));
    return value;
}

/* ---- types ---- */

static enum ir_element element(struct parser *parser)
{
    skip_space(parser);
    struct location at = here(parser);
    size_t size;
    const char *text = word(parser, &size);
    for (int i = 0; i < IR_ELEMENT_COUNT; i++)
        if (i != IR_POINTER && strlen(ir_element_info[i].text) == size && !memcmp(ir_element_info[i].text, text, size))
            return (enum ir_element)i;
    fail_at(parser, at, DIAGNOSTIC_E1003, "an element type such as f32 or index is expected here");
    return IR_BOOL;
}

static void element_or_pointer(struct parser *parser, struct ir_type *type)
{
    if (!accept(parser, "*")) {
        type->element = element(parser);
        return;
    }
    type->element = IR_POINTER;
    type->pointee_const = accept(parser, "const");
    type->pointee = element(parser);
}

static void view_tail(struct parser *parser, struct ir_type *type)
{
    expect(parser, ",");
    expect(parser, "[");
    type->rank = number_list(parser, "]", true, IR_MAX_RANK, type->extent);
    expect(parser, ",");
    expect(parser, "[");
    if (number_list(parser, "]", true, IR_MAX_RANK, type->stride) != type->rank)
        fail(parser, "a view has as many strides as extents");
    expect(parser, ",");
    bool both = accept(parser, "inout");
    type->readable = both || accept(parser, "in");
    type->writable = both || (!type->readable && accept(parser, "out"));
    if (!type->readable && !type->writable)
        expect(parser, "none");
    type->optional = accept(parser, "?");
    expect(parser, ">");
    for (int i = 0; i < type->rank; i++)
        if (type->extent[i] < 0 && type->extent[i] != IR_DYNAMIC)
            fail(parser, "an extent of a view is not negative");
}

/* #..., when it stands here. */
static void parse_layout(struct parser *parser, struct ir_type *type)
{
    if (parser->failed || !looking_at(parser, "#"))
        return;
    const char *error = NULL, *cursor = parser->at;
    type->layout = layout_parse(ir_context_layouts(parser->context), &cursor, &error);
    if (!type->layout)
        fail_at(parser, here(parser), DIAGNOSTIC_E1003, error ? error : "this is not a layout");
    else
        parser->at = cursor;
}

static void tile_extents(struct parser *parser, struct ir_type *type)
{
    type->rank = number_list(parser, "]", false, IR_MAX_RANK, type->extent);
    int64_t elements = 1;
    for (int i = 0; i < type->rank && !parser->failed; i++) {
        if (type->extent[i] < 1 || type->extent[i] > EXTENT_LIMIT / elements)
            fail_at(parser, here(parser), DIAGNOSTIC_E1003, "a tile's extents are positive, its elements at most 2^30");
        else
            elements *= type->extent[i];
    }
}

static void tile_tail(struct parser *parser, struct ir_type *type)
{
    if (accept(parser, "["))
        tile_extents(parser, type);
    parse_layout(parser, type);
}

/* buffer<bf16, [128, 64], slots(4), #...>, behind the `<` */
static void buffer_tail(struct parser *parser, struct ir_type *type)
{
    type->element = element(parser);
    expect(parser, ",");
    expect(parser, "[");
    if (!parser->failed)
        tile_extents(parser, type);
    expect(parser, ",");
    expect(parser, "slots");
    expect(parser, "(");
    type->slots = parser->failed ? 1 : small_integer(parser, 1, SLOT_LIMIT);
    expect(parser, ")");
    if (!parser->failed && accept(parser, ","))
        parse_layout(parser, type);
    expect(parser, ">");
}

static const struct ir_type *parse_type(struct parser *parser)
{
    struct ir_type type = {.kind = IR_TILE};
    if (accept(parser, "token")) {
        type.kind = IR_TOKEN;
    } else if (accept(parser, "mbarrier")) {
        type.kind = IR_MBARRIER;
        expect(parser, "<");
        type.slots = parser->failed ? 1 : small_integer(parser, 1, SLOT_LIMIT);
        expect(parser, ">");
    } else if (accept(parser, "buffer")) {
        type.kind = IR_BUFFER;
        expect(parser, "<");
        buffer_tail(parser, &type);
    } else if (accept(parser, "view")) {
        type.kind = IR_VIEW;
        expect(parser, "<");
        element_or_pointer(parser, &type);
        view_tail(parser, &type);
    } else {
        element_or_pointer(parser, &type);
        tile_tail(parser, &type);
    }
    return parser->failed ? ir_type_scalar(parser->context, IR_BOOL) : ir_type_intern(parser->context, &type);
}

/* ---- attributes ---- */

/* What stands behind the operation's name, before its operation exists. */
struct pending_attribute {
    enum ir_attribute_key key;
    int64_t number;
    int count;
    int64_t list[LIST_LIMIT];
    const char *text;
    struct location at;
};

static void attribute_value(struct parser *parser, struct pending_attribute *pending)
{
    size_t size;
    skip_space(parser);
    pending->at = here(parser);
    switch (ir_attribute_info[pending->key].kind) {
    case IR_KIND_INT: {
        const char *text = word(parser, &size);
        pending->number = size ? ir_attribute_number(pending->key, text, size) : integer(parser);
        if (size && pending->number < 0)
            fail_at(parser, pending->at, DIAGNOSTIC_E1001,
                    arena_printf(parser->scratch, "'%s' is no value of '%s'",
                                 arena_substring(parser->scratch, text, size), ir_attribute_info[pending->key].text));
        expect(parser, ")");
        break;
    }
    case IR_KIND_LIST: pending->count = number_list(parser, ")", false, LIST_LIMIT, pending->list); break;
    case IR_KIND_NAME:
        pending->text = symbol(parser);
        expect(parser, ")");
        break;
    case IR_KIND_NUMBER: { /* its meaning hangs on the result type, which comes later */
        const char *start = parser->at;
        int nested = 0;
        for (; peek(parser) >= 0x20 && (nested || peek(parser) != ')'); parser->at++)
            nested += (peek(parser) == '(') - (peek(parser) == ')');
        size = (size_t)(parser->at - start);
        while (size && start[size - 1] == ' ')
            size--;
        pending->text = arena_substring(parser->scratch, start, size);
        expect(parser, ")");
        break;
    }
    }
}

/* Attributes: words followed at once by `(`. */
static int attributes(struct parser *parser, struct pending_attribute *pending)
{
    int count = 0;
    while (!parser->failed) {
        skip_space(parser);
        const char *start = parser->at;
        size_t size;
        const char *text = word(parser, &size);
        if (!size || peek(parser) != '(') {
            parser->at = start;
            return count;
        }
        int key = 0;
        while (key < IR_ATTRIBUTE_COUNT &&
               (strlen(ir_attribute_info[key].text) != size || memcmp(ir_attribute_info[key].text, text, size)))
            key++;
        for (int i = 0; i < count; i++)
            if ((int)pending[i].key == key)
                fail(parser, "the attribute stands here twice");
        if (key == IR_ATTRIBUTE_COUNT) {
            parser->at = start;
            fail(parser, "no attribute has this name");
        }
        if (parser->failed)
            break;
        parser->at++;
        pending[count].key = (enum ir_attribute_key)key;
        attribute_value(parser, &pending[count]);
        count++;
    }
    return count;
}

/* Bits of a constant from its text, as print_number wrote it. */
static bool constant_bits(const struct ir_type *type, const char *text, uint64_t *bits)
{
    char *end;
    errno = 0;
    if (!strncmp(text, "bits(0x", 7)) {
        *bits = strtoull(text + 7, &end, 16);
        return end != text + 7 && !strcmp(end, ")") && !errno;
    }
    enum ir_element kind = type ? type->element : IR_POINTER;
    if (kind == IR_BOOL) {
        *bits = !strcmp(text, "true");
        return *bits || !strcmp(text, "false");
    }
    if (!(*text == '-' || is_digit((unsigned char)*text) || ir_is_float(kind)))
        return false;
    if (ir_is_float(kind)) {
        if (!(*text == '-' || is_digit((unsigned char)*text) || !strcmp(text, "inf") || !strcmp(text, "nan")))
            return false;
        *bits = ir_double_to_bits(kind, strtod(text, &end));
        return end != text && !*end;
    }
    if (!ir_is_integer(kind))
        return false;
    if (kind == IR_U64) {
        *bits = strtoull(text, &end, 10);
        return *text != '-' && !*end && !errno;
    }
    long long value = strtoll(text, &end, 10);
    *bits = ir_int_to_bits(kind, value);
    return end != text && !*end && !errno && ir_bits_to_int(kind, *bits) == value;
}

static void set_attributes(struct parser *parser, struct ir_operation *op, int count,
                           const struct pending_attribute *pending)
{
    for (int i = 0; i < count && !parser->failed; i++) {
        uint64_t bits;
        switch (ir_attribute_info[pending[i].key].kind) {
        case IR_KIND_INT: ir_set_number(op, pending[i].key, pending[i].number); break;
        case IR_KIND_LIST: ir_set_list(op, pending[i].key, pending[i].count, pending[i].list); break;
        case IR_KIND_NAME: ir_set_name(op, pending[i].key, pending[i].text); break;
        case IR_KIND_NUMBER:
            if (constant_bits(op->result_count ? op->results[0]->type : NULL, pending[i].text, &bits))
                ir_set_bits(op, pending[i].key, bits);
            else
                fail_at(parser, pending[i].at, DIAGNOSTIC_E1001, "this is no constant of the result's element type");
            break;
        }
    }
}

/* ---- operations ---- */

struct result_name { const char *text; struct location at; };
enum { RESULT_LIMIT = 256, ATTRIBUTE_LIMIT = IR_ATTRIBUTE_COUNT };

/* An operation as read, before its result types are known.  Regions are parsed into blocks whose parent is set when the
 * operation is built. */
struct pending {
    struct location at;
    enum ir_opcode opcode;
    int result_count;
    struct result_name *results;
    int attribute_count;
    struct pending_attribute *attributes;
    value_list operands;
    type_list types;
    VECTOR(struct ir_block *) regions;
    bool place_given;
    int place_count;
    int64_t place[LIST_LIMIT];
};

static void parse_block(struct parser *parser, struct ir_block *block);

static void add_operand(struct parser *parser, struct pending *pending)
{
    struct ir_value *value = operand(parser);
    if (value)
        vector_push(parser->scratch, &pending->operands, value);
}

static void more_operands(struct parser *parser, struct pending *pending)
{
    do
        add_operand(parser, pending);
    while (!parser->failed && accept(parser, ","));
}

/* [%i +: 64, %j, gather %t] or, of a sub-view, [%a .. %b, ...], behind the `[`. */
static void index_list(struct parser *parser, struct pending *pending)
{
    pending->place_given = pending->opcode != OP_SUBVIEW;
    if (accept(parser, "]"))
        return;
    do {
        if (pending->place_count == LIST_LIMIT) {
            fail(parser, "the list is too long");
            return;
        }
        bool gather = accept(parser, "gather");
        add_operand(parser, pending);
        int64_t entry = gather ? IR_GATHER : IR_POINT;
        if (pending->opcode == OP_SUBVIEW) {
            expect(parser, "..");
            if (!parser->failed)
                add_operand(parser, pending);
        } else if (!gather && accept(parser, "+:")) {
            entry = integer(parser);
            if (!parser->failed && (entry < 1 || entry > EXTENT_LIMIT))
                fail(parser, "a length is at least 1 and at most 2^30");
        }
        pending->place[pending->place_count++] = entry;
    } while (!parser->failed && accept(parser, ","));
    expect(parser, "]");
}

static void argument(struct parser *parser, struct ir_block *block)
{
    skip_space(parser);
    struct location at = here(parser);
    const char *name = value_name(parser);
    expect(parser, ":");
    const struct ir_type *type = parse_type(parser);
    if (!parser->failed)
        define(parser, name, ir_block_argument(block, type, NULL), at);
}

/* %k: index = %lo to %hi step %s iter(%acc: f32 = %init) { ... }.  Names are unique in a function, so that an argument
 * is never taken for what an operand means; one that is used as an operand of its own loop is the verifier's to find.
 */
static void parse_for(struct parser *parser, struct pending *pending)
{
    struct ir_block *body = pending->regions.data[0];
    argument(parser, body);
    expect(parser, "=");
    if (!parser->failed)
        add_operand(parser, pending);
    expect(parser, "to");
    if (!parser->failed)
        add_operand(parser, pending);
    expect(parser, "step");
    if (!parser->failed)
        add_operand(parser, pending);
    if (!parser->failed && accept(parser, "iter")) {
        expect(parser, "(");
        do {
            argument(parser, body);
            expect(parser, "=");
            if (!parser->failed)
                add_operand(parser, pending);
        } while (!parser->failed && accept(parser, ","));
        expect(parser, ")");
    }
    for (int i = 1; i < body->arguments.count; i++)
        vector_push(parser->scratch, &pending->types, body->arguments.data[i]->type);
    expect(parser, "{");
    if (!parser->failed)
        parse_block(parser, body);
}

static void parse_region(struct parser *parser, struct ir_block *block)
{
    if (accept(parser, "(") && !accept(parser, ")")) {
        do
            argument(parser, block);
        while (!parser->failed && accept(parser, ","));
        expect(parser, ")");
    }
    expect(parser, "{");
    if (!parser->failed)
        parse_block(parser, block);
}

static void parse_regions(struct parser *parser, struct pending *pending)
{
    if (!looking_at(parser, "{") && !looking_at(parser, "("))
        return;
    bool any_number = ir_op_info[pending->opcode].regions < 0;
    for (int i = 0; any_number || i < pending->regions.count; i++) {
        if (i > 0 && pending->opcode == OP_IF)
            expect(parser, "else");
        if (i > 0 && pending->opcode == OP_WHILE)
            expect(parser, "do");
        if (parser->failed || (any_number && !looking_at(parser, "{") && !looking_at(parser, "(")))
            return;
        if (any_number)
            vector_push(parser->scratch, &pending->regions, ir_block_create(parser->function, NULL));
        parse_region(parser, pending->regions.data[i]);
    }
}

static void parse_tail(struct parser *parser, struct pending *pending, bool plain_for)
{
    if (!parser->failed && !plain_for && accept(parser, ":")) {
        do
            vector_push(parser->scratch, &pending->types, parse_type(parser));
        while (!parser->failed && accept(parser, ","));
    }
    if (!parser->failed && accept(parser, "@")) {
        pending->at.line = small_integer(parser, 1, INT32_MAX);
        expect(parser, ":");
        pending->at.column = parser->failed ? 1 : small_integer(parser, 0, INT32_MAX - 1);
        pending->at.end_column = pending->at.column + 1;
    }
    if (!parser->failed && pending->types.count != pending->result_count)
        fail_at(parser, pending->at, DIAGNOSTIC_E1003,
                arena_printf(parser->scratch, "'%s' has %d results here but %d result types",
                             ir_op_info[pending->opcode].text, pending->result_count, pending->types.count));
}

static void build_operation(struct parser *parser, struct ir_block *block, struct pending *pending)
{
    struct ir_builder builder = {.module = parser->module, .block = block, .at = pending->at};
    struct ir_operation *op =
        ir_op_info[pending->opcode].regions < 0
            ? ir_build_regions(&builder, pending->opcode, pending->regions.count)
            : ir_build(&builder, pending->opcode, pending->operands.count, pending->operands.data,
                       pending->result_count, pending->types.data);
    for (int i = 0; i < op->region_count; i++) {
        op->regions[i] = pending->regions.data[i];
        op->regions[i]->parent = op;
    }
    set_attributes(parser, op, pending->attribute_count, pending->attributes);
    if (pending->place_given)
        ir_set_list(op, IR_ATTRIBUTE_PLACE, pending->place_count, pending->place);
    for (int i = 0; i < pending->result_count; i++)
        define(parser, pending->results[i].text, op->results[i], pending->results[i].at);
}

static void parse_results(struct parser *parser, struct pending *pending)
{
    if (!looking_at(parser, "%"))
        return;
    VECTOR(struct result_name) names = {0};
    do {
        skip_space(parser);
        struct result_name name = {.at = here(parser)};
        name.text = value_name(parser);
        vector_push(parser->scratch, &names, name);
    } while (!parser->failed && names.count < RESULT_LIMIT && accept(parser, ","));
    expect(parser, "=");
    pending->results = names.data;
    pending->result_count = names.count;
}

/* `for %k:` is the form of its own, `for %lo, %hi, %step` the general one. */
static bool looking_at_for(const struct parser *parser, const struct pending *pending)
{
    const char *at = parser->at + 1;
    while (at < parser->end && is_name((unsigned char)*at))
        at++;
    return pending->opcode == OP_FOR && at < parser->end && *at == ':';
}

static void parse_operands(struct parser *parser, struct pending *pending)
{
    add_operand(parser, pending);
    bool has_index = pending->opcode == OP_SUBVIEW ||
                     (ir_op_info[pending->opcode].attributes >> IR_ATTRIBUTE_PLACE & 1);
    if (!parser->failed && has_index && accept(parser, "["))
        index_list(parser, pending);
    if (!parser->failed && accept(parser, ","))
        more_operands(parser, pending);
}

static void parse_operation(struct parser *parser, struct ir_block *block)
{
    struct pending *pending = ARENA_NEW(parser->scratch, struct pending);
    skip_space(parser);
    pending->at = here(parser);
    parse_results(parser, pending);
    skip_space(parser);
    struct location at = here(parser);
    size_t size;
    const char *text = word(parser, &size);
    pending->opcode = ir_opcode_find(text, size);
    if (!parser->failed && pending->opcode == OP_COUNT)
        fail_at(parser, at, DIAGNOSTIC_E1001,
                size ? arena_printf(parser->scratch, "no operation is called '%s'",
                                    arena_substring(parser->scratch, text, size))
                     : "an operation or '}' is expected here");
    if (parser->failed)
        return;
    pending->attributes = ARENA_ARRAY(parser->scratch, struct pending_attribute, ATTRIBUTE_LIMIT);
    pending->attribute_count = attributes(parser, pending->attributes);
    for (int i = 0; i < ir_op_info[pending->opcode].regions; i++)
        vector_push(parser->scratch, &pending->regions, ir_block_create(parser->function, NULL));
    /* operands stand on the operation's line: one without operands must not take the next line's results */
    bool plain_for = false;
    if (!parser->failed && looking_at(parser, "%") && parser->line == at.line) {
        plain_for = looking_at_for(parser, pending);
        if (plain_for)
            parse_for(parser, pending);
        else
            parse_operands(parser, pending);
    }
    if (!parser->failed && !plain_for)
        parse_regions(parser, pending);
    parse_tail(parser, pending, plain_for);
    if (!parser->failed && ir_op_info[pending->opcode].regions < 0 && pending->operands.count + pending->result_count)
        fail_at(parser, at, DIAGNOSTIC_E1001, "the operation takes no operands and gives no results");
    if (!parser->failed)
        build_operation(parser, block, pending);
}

static void parse_block(struct parser *parser, struct ir_block *block)
{
    if (++parser->depth > DEPTH_LIMIT)
        fail(parser, "regions are nested too deeply");
    while (!parser->failed && !accept(parser, "}")) {
        if (peek(parser) < 0)
            fail(parser, "the text ends inside a block");
        else
            parse_operation(parser, block);
    }
    parser->depth--;
}

/* ---- functions ---- */

static void multiples(struct parser *parser, int64_t *multiple)
{
    expect(parser, "(");
    if (!parser->failed)
        number_list(parser, ")", false, IR_MAX_RANK, multiple);
}

static void classes(struct parser *parser, int *class)
{
    int64_t numbers[IR_MAX_RANK] = {0};
    multiples(parser, numbers);
    for (int i = 0; i < IR_MAX_RANK && !parser->failed; i++) {
        if (numbers[i] < 0 || numbers[i] > INT32_MAX)
            fail(parser, "a class is a small positive number");
        else
            class[i] = (int)numbers[i];
    }
}

static void parse_fact(struct parser *parser, struct ir_argument_fact *fact)
{
    do {
        if (accept(parser, "align")) {
            expect(parser, "(");
            fact->base_alignment = integer(parser);
            expect(parser, ")");
        } else if (accept(parser, "stride_multiple")) {
            multiples(parser, fact->stride_multiple);
        } else if (accept(parser, "extent_multiple")) {
            multiples(parser, fact->extent_multiple);
        } else if (accept(parser, "limit")) {
            expect(parser, "(");
            fact->extent_limit = integer(parser);
            expect(parser, ")");
        } else if (accept(parser, "restrict")) {
            fact->restricted = true;
        } else if (accept(parser, "extent_class")) {
            classes(parser, fact->extent_class);
        } else {
            fail(parser, "a fact is align, stride_multiple, extent_multiple, limit, restrict or extent_class");
        }
    } while (!parser->failed && accept(parser, ","));
    expect(parser, "}");
}

static void parse_parameters(struct parser *parser, struct ir_function *function)
{
    expect(parser, "(");
    if (parser->failed || accept(parser, ")"))
        return;
    do {
        argument(parser, function->body);
        struct ir_argument_fact fact = {0};
        if (!parser->failed && accept(parser, "{"))
            parse_fact(parser, &fact);
        if (function->is_kernel)
            vector_push(parser->arena, &function->facts, fact);
    } while (!parser->failed && accept(parser, ","));
    expect(parser, ")");
}

/* name(number) */
static int bracketed(struct parser *parser, int least, int most)
{
    expect(parser, "(");
    int value = parser->failed ? least : small_integer(parser, least, most);
    expect(parser, ")");
    return value;
}

static void parse_level(struct parser *parser, struct ir_function *function)
{
    expect(parser, "(");
    for (int level = IR_LEVEL_VALUE; level <= IR_LEVEL_MACHINE && !parser->failed; level++)
        if (accept(parser, ir_level_text((enum ir_level)level))) {
            function->level = (enum ir_level)level;
            expect(parser, ")");
            return;
        }
    fail(parser, "a level is value, schedule or machine");
}

static void parse_clauses(struct parser *parser, struct ir_function *function)
{
    for (;;) {
        if (parser->failed)
            return;
        if (accept(parser, "grid"))
            function->grid_rank = bracketed(parser, 0, IR_MAX_RANK);
        else if (accept(parser, "grid_limit"))
            multiples(parser, function->grid_limit);
        else if (accept(parser, "grid_class"))
            classes(parser, function->grid_class);
        else if (accept(parser, "grid_step"))
            multiples(parser, function->grid_step);
        else if (accept(parser, "level"))
            parse_level(parser, function);
        else if (accept(parser, "warps"))
            function->warps = bracketed(parser, 0, 64);
        else if (accept(parser, "stages"))
            function->stages = bracketed(parser, 0, 64);
        else if (accept(parser, "registers"))
            function->max_registers = bracketed(parser, 0, 255);
        else if (accept(parser, "persistent"))
            function->persistent = bracketed(parser, -1, 64);
        else if (accept(parser, "raster"))
            function->raster = bracketed(parser, 0, INT16_MAX);
        else if (accept(parser, "cluster"))
            function->cluster = bracketed(parser, 0, 16);
        else if (accept(parser, "split_k"))
            function->split_k = bracketed(parser, 0, INT16_MAX);
        else if (accept(parser, "shared"))
            function->shared_bytes = bracketed(parser, 0, INT32_MAX);
        else if (accept(parser, "strict_fp"))
            function->strict_fp = true;
        else if (accept(parser, "no_inline"))
            function->no_inline = true;
        else
            return;
    }
}

static void parse_function(struct parser *parser, bool is_kernel)
{
    skip_space(parser);
    struct location at = here(parser);
    const char *name = symbol(parser);
    if (!parser->failed && ir_function_find(parser->module, name))
        fail_at(parser, at, DIAGNOSTIC_E1002, arena_printf(parser->scratch, "@%s is defined twice", name));
    if (parser->failed)
        return;
    struct ir_function *function = ir_function_create(parser->module, name, at);
    parser->function = function;
    function->is_kernel = is_kernel;
    parse_parameters(parser, function);
    if (!parser->failed && accept(parser, "->")) {
        do
            vector_push(parser->arena, &function->results, parse_type(parser));
        while (!parser->failed && accept(parser, ","));
    }
    parse_clauses(parser, function);
    if (!parser->failed && accept(parser, "@")) {
        function->at.line = small_integer(parser, 1, INT32_MAX);
        expect(parser, ":");
        function->at.column = parser->failed ? 1 : small_integer(parser, 0, INT32_MAX - 1);
        function->at.end_column = function->at.column + 1;
    }
    expect(parser, "{");
    if (!parser->failed)
        parse_block(parser, function->body);
}

/* To the next line that starts a function. */
static void recover(struct parser *parser)
{
    while (parser->at < parser->end) {
        if (*parser->at++ == '\n') {
            parser->line++;
            parser->line_start = parser->at;
            size_t left = (size_t)(parser->end - parser->at);
            if ((left > 7 && !memcmp(parser->at, "kernel ", 7)) || (left > 9 && !memcmp(parser->at, "function ", 9)))
                return;
        }
    }
}

struct ir_module *ir_parse_module(struct ir_context *context, struct arena *arena, struct diagnostics *diagnostics,
                                  const struct source *source)
{
    struct ir_module *module = ir_module_create(context, arena);
    const char *text = arena_substring(arena, source->text, source->size); /* terminated, as layouts want it */
    struct parser parser = {.context = context,
                            .arena = arena,
                            .diagnostics = diagnostics,
                            .source = source,
                            .at = text,
                            .end = text + source->size,
                            .line_start = text,
                            .line = 1,
                            .module = module};
    bool failed = false;
    for (;;) {
        parser.scratch = arena_create();
        parser.names = ARENA_ARRAY(parser.scratch, struct named_value *, NAME_BUCKETS);
        parser.failed = false;
        parser.depth = 0;
        skip_space(&parser);
        bool more = parser.at < parser.end;
        if (more) {
            bool is_kernel = accept(&parser, "kernel");
            if (is_kernel || accept(&parser, "function"))
                parse_function(&parser, is_kernel);
            else
                fail(&parser, "'kernel' or 'function' is expected here");
        }
        arena_destroy(parser.scratch);
        if (parser.failed)
            recover(&parser);
        failed = failed || parser.failed;
        if (!more)
            return failed ? NULL : module;
    }
}
