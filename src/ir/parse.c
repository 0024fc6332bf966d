/* Parser of tile IR text, the inverse of print.c.  Recursive descent over the bytes; every value is defined before it
 * is used (region arguments by their operation), so one pass does it.  Stops at the first error of a function and goes
 * on with the next.  Whether the IR means anything is the verifier's business; what is checked here is what building it
 * needs. */
#include "ir/parse_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ir/layout/layout.h"
#include "ir/plan.h"

enum { DEPTH_LIMIT = 200, LIST_LIMIT = 64, EXTENT_LIMIT = 1 << 30, SLOT_LIMIT = 64 };

struct named_value {
    const char *name;
    struct ir_value *value;
    struct named_value *next;
};
enum { NAME_BUCKETS = 1024 };

typedef VECTOR(struct ir_value *) value_list;
typedef VECTOR(const struct ir_type *) type_list;

/* ---- names ---- */

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
        parser_fail_at(parser, at, DIAGNOSTIC_E1002, arena_printf(parser->scratch, "%%%s is defined twice", name));
        return;
    }
    struct named_value *entry = ARENA_NEW(parser->scratch, struct named_value);
    struct named_value **list = bucket(parser, name);
    *entry = (struct named_value){name, value, *list};
    *list = entry;
    if (!parser_is_digit((unsigned char)name[0]))
        value->name = intern(ir_context_names(parser->context), name);
}

static struct ir_value *operand(struct parser *parser)
{
    parser_skip_space(parser);
    struct location at = parser_here(parser);
    const char *name = parser_value_name(parser);
    struct ir_value *value = parser->failed ? NULL : find_value(parser, name);
    if (!value)
        parser_fail_at(parser, at, DIAGNOSTIC_E1002, arena_printf(parser->scratch, "%%%s is not defined above", name));
    return value;
}

/* ---- types ---- */

static enum ir_element element(struct parser *parser)
{
    parser_skip_space(parser);
    struct location at = parser_here(parser);
    size_t size;
    const char *text = parser_word(parser, &size);
    for (int i = 0; i < IR_ELEMENT_COUNT; i++)
        if (i != IR_POINTER && strlen(ir_element_info[i].text) == size && !memcmp(ir_element_info[i].text, text, size))
            return (enum ir_element)i;
    parser_fail_at(parser, at, DIAGNOSTIC_E1003, "an element type such as f32 or index is expected here");
    return IR_BOOL;
}

static void element_or_pointer(struct parser *parser, struct ir_type *type)
{
    if (!parser_accept(parser, "*")) {
        type->element = element(parser);
        return;
    }
    type->element = IR_POINTER;
    type->pointee_const = parser_accept(parser, "const");
    type->pointee = element(parser);
}

static void view_tail(struct parser *parser, struct ir_type *type)
{
    parser_expect(parser, ",");
    parser_expect(parser, "[");
    type->rank = parser_number_list(parser, "]", true, IR_MAX_RANK, type->extent);
    parser_expect(parser, ",");
    parser_expect(parser, "[");
    if (parser_number_list(parser, "]", true, IR_MAX_RANK, type->stride) != type->rank)
        parser_fail(parser, "a view has as many strides as extents");
    parser_expect(parser, ",");
    bool both = parser_accept(parser, "inout");
    type->readable = both || parser_accept(parser, "in");
    type->writable = both || (!type->readable && parser_accept(parser, "out"));
    if (!type->readable && !type->writable)
        parser_expect(parser, "none");
    type->optional = parser_accept(parser, "?");
    parser_expect(parser, ">");
    for (int i = 0; i < type->rank; i++)
        if (type->extent[i] < 0 && type->extent[i] != IR_DYNAMIC)
            parser_fail(parser, "an extent of a view is not negative");
}

/* #..., when it stands here. */
static void parse_layout(struct parser *parser, struct ir_type *type)
{
    if (parser->failed || !parser_looking_at(parser, "#"))
        return;
    const char *error = NULL, *cursor = parser->at;
    type->layout = layout_parse(ir_context_layouts(parser->context), &cursor, &error);
    if (!type->layout)
        parser_fail_at(parser, parser_here(parser), DIAGNOSTIC_E1003, error ? error : "this is not a layout");
    else
        parser->at = cursor;
}

static void tile_extents(struct parser *parser, struct ir_type *type)
{
    type->rank = parser_number_list(parser, "]", false, IR_MAX_RANK, type->extent);
    int64_t elements = 1;
    for (int i = 0; i < type->rank && !parser->failed; i++) {
        if (type->extent[i] < 1 || type->extent[i] > EXTENT_LIMIT / elements)
            parser_fail_at(parser, parser_here(parser), DIAGNOSTIC_E1003,
                           "a tile's extents are positive, its elements at most 2^30");
        else
            elements *= type->extent[i];
    }
}

static void tile_tail(struct parser *parser, struct ir_type *type)
{
    if (parser_accept(parser, "["))
        tile_extents(parser, type);
    parse_layout(parser, type);
}

/* buffer<bf16, [128, 64], slots(4), #...>, behind the `<` */
static void buffer_tail(struct parser *parser, struct ir_type *type)
{
    type->element = element(parser);
    parser_expect(parser, ",");
    parser_expect(parser, "[");
    if (!parser->failed)
        tile_extents(parser, type);
    parser_expect(parser, ",");
    parser_expect(parser, "slots");
    parser_expect(parser, "(");
    type->slots = parser->failed ? 1 : parser_small_integer(parser, 1, SLOT_LIMIT);
    parser_expect(parser, ")");
    if (!parser->failed && parser_accept(parser, ","))
        parse_layout(parser, type);
    parser_expect(parser, ">");
}

static const struct ir_type *parse_type(struct parser *parser)
{
    struct ir_type type = {.kind = IR_TILE};
    if (parser_accept(parser, "token")) {
        type.kind = IR_TOKEN;
    } else if (parser_accept(parser, "mbarrier")) {
        type.kind = IR_MBARRIER;
        parser_expect(parser, "<");
        type.slots = parser->failed ? 1 : parser_small_integer(parser, 1, SLOT_LIMIT);
        parser_expect(parser, ">");
    } else if (parser_accept(parser, "buffer")) {
        type.kind = IR_BUFFER;
        parser_expect(parser, "<");
        buffer_tail(parser, &type);
    } else if (parser_accept(parser, "view")) {
        type.kind = IR_VIEW;
        parser_expect(parser, "<");
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
    struct ir_plan *plan;
    struct location at;
};

/* Up to the bracket that ends a plan: brackets in it come in pairs, and texts in quotes have none that count. */
static size_t plan_size(const struct parser *parser)
{
    const char *at = parser->at;
    bool quoted = false;
    for (int nested = 0; at < parser->end && *at != '\n' && (quoted || nested || *at != ')'); at++) {
        quoted ^= *at == '"';
        nested += quoted ? 0 : (*at == '(') - (*at == ')');
    }
    return (size_t)(at - parser->at);
}

/* Behind the `(`. */
static struct ir_plan *parse_plan(struct parser *parser)
{
    const char *where, *problem;
    size_t size = plan_size(parser);
    struct ir_plan *plan = ir_plan_parse(parser->arena, parser->at, size, &where, &problem);
    parser->at = plan ? parser->at + size : where;
    if (!plan)
        parser_fail(parser, problem);
    parser_expect(parser, ")");
    return plan;
}

static void attribute_value(struct parser *parser, struct pending_attribute *pending)
{
    size_t size;
    parser_skip_space(parser);
    pending->at = parser_here(parser);
    switch (ir_attribute_info[pending->key].kind) {
    case IR_KIND_INT: {
        const char *text = parser_word(parser, &size);
        pending->number = size ? ir_attribute_number(pending->key, text, size) : parser_integer(parser);
        if (size && pending->number < 0)
            parser_fail_at(parser, pending->at, DIAGNOSTIC_E1001,
                           arena_printf(parser->scratch, "'%s' is no value of '%s'",
                                        arena_substring(parser->scratch, text, size),
                                        ir_attribute_info[pending->key].text));
        parser_expect(parser, ")");
        break;
    }
    case IR_KIND_LIST: pending->count = parser_number_list(parser, ")", false, LIST_LIMIT, pending->list); break;
    case IR_KIND_NAME:
        pending->text = parser_symbol(parser);
        parser_expect(parser, ")");
        break;
    case IR_KIND_PLAN: pending->plan = parse_plan(parser); break;
    case IR_KIND_NUMBER: { /* its meaning hangs on the result type, which comes later */
        const char *start = parser->at;
        int nested = 0;
        for (; parser_peek(parser) >= 0x20 && (nested || parser_peek(parser) != ')'); parser->at++)
            nested += (parser_peek(parser) == '(') - (parser_peek(parser) == ')');
        size = (size_t)(parser->at - start);
        while (size && start[size - 1] == ' ')
            size--;
        pending->text = arena_substring(parser->scratch, start, size);
        parser_expect(parser, ")");
        break;
    }
    }
}

/* Attributes: words followed at once by `(`. */
static int attributes(struct parser *parser, struct pending_attribute *pending)
{
    int count = 0;
    while (!parser->failed) {
        parser_skip_space(parser);
        const char *start = parser->at;
        size_t size;
        const char *text = parser_word(parser, &size);
        if (!size || parser_peek(parser) != '(') {
            parser->at = start;
            return count;
        }
        int key = 0;
        while (key < IR_ATTRIBUTE_COUNT &&
               (strlen(ir_attribute_info[key].text) != size || memcmp(ir_attribute_info[key].text, text, size)))
            key++;
        for (int i = 0; i < count; i++)
            if ((int)pending[i].key == key)
                parser_fail(parser, "the attribute stands here twice");
        if (key == IR_ATTRIBUTE_COUNT) {
            parser->at = start;
            parser_fail(parser, "no attribute has this name");
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
    if (!(*text == '-' || parser_is_digit((unsigned char)*text) || ir_is_float(kind)))
        return false;
    if (ir_is_float(kind)) {
        if (!(*text == '-' || parser_is_digit((unsigned char)*text) || !strcmp(text, "inf") || !strcmp(text, "nan")))
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
        case IR_KIND_PLAN: ir_set_plan(op, pending[i].key, pending[i].plan); break;
        case IR_KIND_NUMBER:
            if (constant_bits(op->result_count ? op->results[0]->type : NULL, pending[i].text, &bits))
                ir_set_bits(op, pending[i].key, bits);
            else
                parser_fail_at(parser, pending[i].at, DIAGNOSTIC_E1001,
                               "this is no constant of the result's element type");
            break;
        }
    }
}

/* ---- operations ---- */

struct result_name {
    const char *text;
    struct location at;
};
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
    while (!parser->failed && parser_accept(parser, ","));
}

/* [%i +: 64, %j, gather %t] or, of a sub-view, [%a .. %b, ...], behind the `[`. */
static void index_list(struct parser *parser, struct pending *pending)
{
    pending->place_given = pending->opcode != OP_SUBVIEW;
    if (parser_accept(parser, "]"))
        return;
    do {
        if (pending->place_count == LIST_LIMIT) {
            parser_fail(parser, "the list is too long");
            return;
        }
        bool gather = parser_accept(parser, "gather");
        add_operand(parser, pending);
        int64_t entry = gather ? IR_GATHER : IR_POINT;
        if (pending->opcode == OP_SUBVIEW) {
            parser_expect(parser, "..");
            if (!parser->failed)
                add_operand(parser, pending);
        } else if (!gather && parser_accept(parser, "+:")) {
            entry = parser_integer(parser);
            if (!parser->failed && (entry < 1 || entry > EXTENT_LIMIT))
                parser_fail(parser, "a length is at least 1 and at most 2^30");
        }
        pending->place[pending->place_count++] = entry;
    } while (!parser->failed && parser_accept(parser, ","));
    parser_expect(parser, "]");
}

static void argument(struct parser *parser, struct ir_block *block)
{
    parser_skip_space(parser);
    struct location at = parser_here(parser);
    const char *name = parser_value_name(parser);
    parser_expect(parser, ":");
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
    parser_expect(parser, "=");
    if (!parser->failed)
        add_operand(parser, pending);
    parser_expect(parser, "to");
    if (!parser->failed)
        add_operand(parser, pending);
    parser_expect(parser, "step");
    if (!parser->failed)
        add_operand(parser, pending);
    if (!parser->failed && parser_accept(parser, "iter")) {
        parser_expect(parser, "(");
        do {
            argument(parser, body);
            parser_expect(parser, "=");
            if (!parser->failed)
                add_operand(parser, pending);
        } while (!parser->failed && parser_accept(parser, ","));
        parser_expect(parser, ")");
    }
    for (int i = 1; i < body->arguments.count; i++)
        vector_push(parser->scratch, &pending->types, body->arguments.data[i]->type);
    parser_expect(parser, "{");
    if (!parser->failed)
        parse_block(parser, body);
}

static void parse_region(struct parser *parser, struct ir_block *block)
{
    if (parser_accept(parser, "(") && !parser_accept(parser, ")")) {
        do
            argument(parser, block);
        while (!parser->failed && parser_accept(parser, ","));
        parser_expect(parser, ")");
    }
    parser_expect(parser, "{");
    if (!parser->failed)
        parse_block(parser, block);
}

static void parse_regions(struct parser *parser, struct pending *pending)
{
    if (!parser_looking_at(parser, "{") && !parser_looking_at(parser, "("))
        return;
    bool any_number = ir_op_info[pending->opcode].regions < 0;
    for (int i = 0; any_number || i < pending->regions.count; i++) {
        if (i > 0 && pending->opcode == OP_IF)
            parser_expect(parser, "else");
        if (i > 0 && pending->opcode == OP_WHILE)
            parser_expect(parser, "do");
        if (parser->failed || (any_number && !parser_looking_at(parser, "{") && !parser_looking_at(parser, "(")))
            return;
        if (any_number)
            vector_push(parser->scratch, &pending->regions, ir_block_create(parser->function, NULL));
        parse_region(parser, pending->regions.data[i]);
    }
}

static void parse_tail(struct parser *parser, struct pending *pending, bool plain_for)
{
    if (!parser->failed && !plain_for && parser_accept(parser, ":")) {
        do
            vector_push(parser->scratch, &pending->types, parse_type(parser));
        while (!parser->failed && parser_accept(parser, ","));
    }
    if (!parser->failed && parser_accept(parser, "@")) {
        pending->at.line = parser_small_integer(parser, 1, INT32_MAX);
        parser_expect(parser, ":");
        pending->at.column = parser->failed ? 1 : parser_small_integer(parser, 0, INT32_MAX - 1);
        pending->at.end_column = pending->at.column + 1;
    }
    if (!parser->failed && pending->types.count != pending->result_count)
        parser_fail_at(parser, pending->at, DIAGNOSTIC_E1003,
                       arena_printf(parser->scratch, "'%s' has %d results here but %d result types",
                                    ir_op_info[pending->opcode].text, pending->result_count, pending->types.count));
}

static void build_operation(struct parser *parser, struct ir_block *block, struct pending *pending)
{
    struct ir_builder builder = {.module = parser->module, .block = block, .at = pending->at};
    struct ir_operation *op = ir_op_info[pending->opcode].regions < 0
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
    if (!parser_looking_at(parser, "%"))
        return;
    VECTOR(struct result_name) names = {0};
    do {
        parser_skip_space(parser);
        struct result_name name = {.at = parser_here(parser)};
        name.text = parser_value_name(parser);
        vector_push(parser->scratch, &names, name);
    } while (!parser->failed && names.count < RESULT_LIMIT && parser_accept(parser, ","));
    parser_expect(parser, "=");
    pending->results = names.data;
    pending->result_count = names.count;
}

/* `for %k:` is the form of its own, `for %lo, %hi, %step` the general one. */
static bool looking_at_for(const struct parser *parser, const struct pending *pending)
{
    const char *at = parser_value_name_end(parser, parser->at + 1);
    return pending->opcode == OP_FOR && at < parser->end && *at == ':';
}

static void parse_operands(struct parser *parser, struct pending *pending)
{
    add_operand(parser, pending);
    bool has_index = pending->opcode == OP_SUBVIEW ||
                     (ir_op_info[pending->opcode].attributes >> IR_ATTRIBUTE_PLACE & 1);
    if (!parser->failed && has_index && parser_accept(parser, "["))
        index_list(parser, pending);
    if (!parser->failed && parser_accept(parser, ","))
        more_operands(parser, pending);
}

static void parse_operation(struct parser *parser, struct ir_block *block)
{
    struct pending *pending = ARENA_NEW(parser->scratch, struct pending);
    parser_skip_space(parser);
    pending->at = parser_here(parser);
    parse_results(parser, pending);
    parser_skip_space(parser);
    struct location at = parser_here(parser);
    size_t size;
    const char *text = parser_word(parser, &size);
    pending->opcode = ir_opcode_find(text, size);
    if (!parser->failed && pending->opcode == OP_COUNT)
        parser_fail_at(parser, at, DIAGNOSTIC_E1001,
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
    if (!parser->failed && parser_looking_at(parser, "%") && parser->line == at.line) {
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
        parser_fail_at(parser, at, DIAGNOSTIC_E1001, "the operation takes no operands and gives no results");
    if (!parser->failed)
        build_operation(parser, block, pending);
}

static void parse_block(struct parser *parser, struct ir_block *block)
{
    if (++parser->depth > DEPTH_LIMIT)
        parser_fail(parser, "regions are nested too deeply");
    while (!parser->failed && !parser_accept(parser, "}")) {
        if (parser_peek(parser) < 0)
            parser_fail(parser, "the text ends inside a block");
        else
            parse_operation(parser, block);
    }
    parser->depth--;
}

/* ---- functions ---- */

static void multiples(struct parser *parser, int64_t *multiple)
{
    parser_expect(parser, "(");
    if (!parser->failed)
        parser_number_list(parser, ")", false, IR_MAX_RANK, multiple);
}

static void classes(struct parser *parser, int *class)
{
    int64_t numbers[IR_MAX_RANK] = {0};
    multiples(parser, numbers);
    for (int i = 0; i < IR_MAX_RANK && !parser->failed; i++) {
        if (numbers[i] < 0 || numbers[i] > INT32_MAX)
            parser_fail(parser, "a class is a small positive number");
        else
            class[i] = (int)numbers[i];
    }
}

static void parse_fact(struct parser *parser, struct ir_argument_fact *fact)
{
    do {
        if (parser_accept(parser, "align")) {
            parser_expect(parser, "(");
            fact->base_alignment = parser_integer(parser);
            parser_expect(parser, ")");
        } else if (parser_accept(parser, "asked")) {
            parser_expect(parser, "(");
            fact->asked_alignment = parser_integer(parser);
            parser_expect(parser, ")");
        } else if (parser_accept(parser, "stride_multiple")) {
            multiples(parser, fact->stride_multiple);
        } else if (parser_accept(parser, "extent_multiple")) {
            multiples(parser, fact->extent_multiple);
        } else if (parser_accept(parser, "limit")) {
            parser_expect(parser, "(");
            fact->extent_limit = parser_integer(parser);
            parser_expect(parser, ")");
        } else if (parser_accept(parser, "restrict")) {
            fact->restricted = true;
        } else if (parser_accept(parser, "apart")) {
            fact->apart = true;
        } else if (parser_accept(parser, "scratch")) {
            fact->own = true;
        } else if (parser_accept(parser, "extent_class")) {
            classes(parser, fact->extent_class);
        } else {
            parser_fail(
                parser,
                "a fact is align, asked, stride_multiple, extent_multiple, limit, restrict, apart, scratch or extent_class");
        }
    } while (!parser->failed && parser_accept(parser, ","));
    parser_expect(parser, "}");
}

static void parse_parameters(struct parser *parser, struct ir_function *function)
{
    parser_expect(parser, "(");
    if (parser->failed || parser_accept(parser, ")"))
        return;
    do {
        argument(parser, function->body);
        struct ir_argument_fact fact = {0};
        if (!parser->failed && parser_accept(parser, "{"))
            parse_fact(parser, &fact);
        if (function->is_kernel)
            vector_push(parser->arena, &function->facts, fact);
    } while (!parser->failed && parser_accept(parser, ","));
    parser_expect(parser, ")");
}

/* name(number) */
static int bracketed(struct parser *parser, int least, int most)
{
    parser_expect(parser, "(");
    int value = parser->failed ? least : parser_small_integer(parser, least, most);
    parser_expect(parser, ")");
    return value;
}

/* A number, or several: the set that the compiler chooses from. */
static int number_or_set(struct parser *parser, int most, uint64_t *among)
{
    int first = 0;
    parser_expect(parser, "(");
    for (*among = 0; !parser->failed;) {
        int number = parser_small_integer(parser, 0, most);
        if (*among == 0)
            first = number;
        *among |= number < 64 ? UINT64_C(1) << number : 0;
        if (!parser_accept(parser, ","))
            break;
        if (first >= 64)
            parser_fail(parser, "a set has numbers up to 63");
    }
    parser_expect(parser, ")");
    if (*among & (*among - 1))
        return 0;
    *among = 0;
    return first;
}

static void parse_level(struct parser *parser, struct ir_function *function)
{
    parser_expect(parser, "(");
    for (int level = IR_LEVEL_VALUE; level <= IR_LEVEL_MACHINE && !parser->failed; level++)
        if (parser_accept(parser, ir_level_text((enum ir_level)level))) {
            function->level = (enum ir_level)level;
            parser_expect(parser, ")");
            return;
        }
    parser_fail(parser, "a level is value, schedule or machine");
}

static void parse_clauses(struct parser *parser, struct ir_function *function)
{
    for (;;) {
        if (parser->failed)
            return;
        if (parser_accept(parser, "grid"))
            function->grid_rank = bracketed(parser, 0, IR_MAX_RANK);
        else if (parser_accept(parser, "grid_limit"))
            multiples(parser, function->grid_limit);
        else if (parser_accept(parser, "grid_class"))
            classes(parser, function->grid_class);
        else if (parser_accept(parser, "grid_step"))
            multiples(parser, function->grid_step);
        else if (parser_accept(parser, "level"))
            parse_level(parser, function);
        else if (parser_accept(parser, "warps"))
            function->warps = number_or_set(parser, 64, &function->warps_among);
        else if (parser_accept(parser, "stages"))
            function->stages = number_or_set(parser, 64, &function->stages_among);
        else if (parser_accept(parser, "registers"))
            function->max_registers = bracketed(parser, 0, 255);
        else if (parser_accept(parser, "persistent"))
            function->persistent = bracketed(parser, -1, 64);
        else if (parser_accept(parser, "raster"))
            function->raster = number_or_set(parser, INT16_MAX, &function->raster_among);
        else if (parser_accept(parser, "cluster"))
            function->cluster = bracketed(parser, 0, 16);
        else if (parser_accept(parser, "together"))
            function->together = bracketed(parser, 0, 32);
        else if (parser_accept(parser, "parts"))
            function->parts = bracketed(parser, 2, 16);
        else if (parser_accept(parser, "ordered"))
            function->ordered = bracketed(parser, 1, INT16_MAX);
        else if (parser_accept(parser, "plan")) {
            parser_expect(parser, "(");
            function->plan = parser->failed ? NULL : parse_plan(parser);
        } else if (parser_accept(parser, "shared"))
            function->shared_bytes = bracketed(parser, 0, INT32_MAX);
        else if (parser_accept(parser, "strict_fp"))
            function->strict_fp = true;
        else if (parser_accept(parser, "no_inline"))
            function->no_inline = true;
        else
            return;
    }
}

static void parse_function(struct parser *parser, bool is_kernel)
{
    parser_skip_space(parser);
    struct location at = parser_here(parser);
    const char *name = parser_symbol(parser);
    if (!parser->failed && ir_function_find(parser->module, name))
        parser_fail_at(parser, at, DIAGNOSTIC_E1002, arena_printf(parser->scratch, "@%s is defined twice", name));
    if (parser->failed)
        return;
    struct ir_function *function = ir_function_create(parser->module, name, at);
    parser->function = function;
    function->is_kernel = is_kernel;
    parse_parameters(parser, function);
    if (!parser->failed && parser_accept(parser, "->")) {
        do
            vector_push(parser->arena, &function->results, parse_type(parser));
        while (!parser->failed && parser_accept(parser, ","));
    }
    parse_clauses(parser, function);
    if (!parser->failed && parser_accept(parser, "@")) {
        function->at.line = parser_small_integer(parser, 1, INT32_MAX);
        parser_expect(parser, ":");
        function->at.column = parser->failed ? 1 : parser_small_integer(parser, 0, INT32_MAX - 1);
        function->at.end_column = function->at.column + 1;
    }
    parser_expect(parser, "{");
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
        parser_skip_space(&parser);
        bool more = parser.at < parser.end;
        if (more) {
            bool is_kernel = parser_accept(&parser, "kernel");
            if (is_kernel || parser_accept(&parser, "function"))
                parse_function(&parser, is_kernel);
            else
                parser_fail(&parser, "'kernel' or 'function' is expected here");
        }
        arena_destroy(parser.scratch);
        if (parser.failed)
            recover(&parser);
        failed = failed || parser.failed;
        if (!more)
            return failed ? NULL : module;
    }
}
