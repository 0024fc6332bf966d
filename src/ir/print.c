/* Printer of tile IR.  Everything about an operation comes from ops.def and its attributes; three kinds of operations
 * have a form of their own because they are read so often: places (`%x[%i +: 64, %j]`), sub-views (`%x[%a .. %b]`) and
 * `for`.  An operation that does not have the shape its own form needs prints in the general form, so that broken IR
 * can be looked at. */
#include "ir/text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/layout/layout.h"
#include "ir/plan.h"

const struct ir_attribute_info ir_attribute_info[IR_ATTRIBUTE_COUNT] = {
#define ATTRIBUTE(id, text, kind) [IR_ATTRIBUTE_##id] = {text, IR_KIND_##kind},
    IR_ATTRIBUTES(ATTRIBUTE)
#undef ATTRIBUTE
};

#define X(id, text) text,
static const char *const predicate_words[] = {IR_PREDICATES(X)};
static const char *const kind_words[] = {IR_KINDS(X)};
static const char *const round_words[] = {IR_ROUNDS(X)};
static const char *const precision_words[] = {IR_PRECISIONS(X)};
static const char *const cache_words[] = {IR_CACHES(X)};
static const char *const action_words[] = {IR_ACTIONS(X)};
static const char *const order_words[] = {IR_ORDERS(X)};
static const char *const scope_words[] = {IR_SCOPES(X)};
static const char *const nan_words[] = {IR_NANS(X)};
static const char *const instruction_words[] = {IR_INSTRUCTIONS(X)};
static const char *const math_words[] = {IR_MATHS(X)};
#undef X

static const char *const *words_of(enum ir_attribute_key key, int *count)
{
#define WORDS(table) (*count = (int)(sizeof table / sizeof *table), table)
    switch (key) {
    case IR_ATTRIBUTE_PREDICATE: return WORDS(predicate_words);
    case IR_ATTRIBUTE_KIND: return WORDS(kind_words);
    case IR_ATTRIBUTE_ROUND: return WORDS(round_words);
    case IR_ATTRIBUTE_PRECISION: return WORDS(precision_words);
    case IR_ATTRIBUTE_CACHE: return WORDS(cache_words);
    case IR_ATTRIBUTE_ACTION: return WORDS(action_words);
    case IR_ATTRIBUTE_ORDER: return WORDS(order_words);
    case IR_ATTRIBUTE_SCOPE: return WORDS(scope_words);
    case IR_ATTRIBUTE_NAN: return WORDS(nan_words);
    case IR_ATTRIBUTE_FUNCTION: return WORDS(math_words);
    case IR_ATTRIBUTE_INSTRUCTION: return WORDS(instruction_words);
    default: *count = 0; return NULL;
    }
#undef WORDS
}

int ir_attribute_words(enum ir_attribute_key key)
{
    int count;
    words_of(key, &count);
    return count;
}

const char *ir_attribute_word(enum ir_attribute_key key, int64_t number)
{
    int count;
    const char *const *words = words_of(key, &count);
    return number >= 0 && number < count ? words[number] : NULL;
}

int64_t ir_attribute_number(enum ir_attribute_key key, const char *word, size_t size)
{
    int count;
    const char *const *words = words_of(key, &count);
    for (int i = 0; i < count; i++)
        if (strlen(words[i]) == size && !memcmp(words[i], word, size))
            return i;
    return -1;
}

const char *ir_level_text(enum ir_level level)
{
    return level == IR_LEVEL_VALUE ? "value" : level == IR_LEVEL_SCHEDULE ? "schedule" : "machine";
}

enum ir_opcode ir_opcode_find(const char *text, size_t size)
{
    for (int i = 0; i < OP_COUNT; i++)
        if (strlen(ir_op_info[i].text) == size && !memcmp(ir_op_info[i].text, text, size))
            return (enum ir_opcode)i;
    return OP_COUNT;
}

/* ---- names ---- */

struct printer {
    struct buffer *out;
    struct arena *arena;
    const char **name; /* by value id */
    int name_count;
    const char **taken; /* open hash of names given, size a power of two */
    size_t taken_size;
    int next_number;
    bool locations, without_names;
    int indent;
};

static size_t hash_text(const char *text)
{
    size_t hash = 5381;
    while (*text)
        hash = hash * 33 + (unsigned char)*text++;
    return hash;
}

/* Takes a name; false when it is taken already.  The table has room: it is twice the number of values. */
static bool take(struct printer *printer, const char *name)
{
    size_t at = hash_text(name) & (printer->taken_size - 1);
    for (; printer->taken[at]; at = (at + 1) & (printer->taken_size - 1))
        if (!strcmp(printer->taken[at], name))
            return false;
    printer->taken[at] = name;
    return true;
}

static bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/* The hint reduced to what a name may hold; NULL when nothing is left or it would read as a number. */
static const char *clean_hint(struct arena *arena, const char *hint)
{
    if (!hint)
        return NULL;
    char *clean = arena_alloc(arena, strlen(hint) + 1);
    size_t size = 0;
    for (const char *c = hint; *c; c++)
        if (starts_name(*c) || (size && *c >= '0' && *c <= '9') || (size && *c == '.' && starts_name(c[1])))
            clean[size++] = *c;
    return size ? clean : NULL;
}

static void name_value(struct printer *printer, const struct ir_value *value)
{
    if (!value || value->id < 0 || value->id >= printer->name_count || printer->name[value->id])
        return;
    const char *hint = printer->without_names ? NULL : clean_hint(printer->arena, value->name);
    if (!hint) {
        printer->name[value->id] = arena_printf(printer->arena, "%d", printer->next_number++);
        return;
    }
    const char *name = hint;
    for (int i = 1; !take(printer, name); i++)
        name = arena_printf(printer->arena, "%s_%d", hint, i);
    printer->name[value->id] = name;
}

static void name_block(struct printer *printer, const struct ir_block *block)
{
    for (int i = 0; i < block->arguments.count; i++)
        name_value(printer, block->arguments.data[i]);
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        for (int i = 0; i < op->result_count; i++)
            name_value(printer, op->results[i]);
        for (int i = 0; i < op->region_count; i++)
            name_block(printer, op->regions[i]);
    }
}

static void printer_start(struct printer *printer, struct buffer *out, const struct ir_function *function,
                          bool locations, bool without_names)
{
    *printer = (struct printer){
        .out = out, .arena = arena_create(), .locations = locations, .without_names = without_names};
    printer->name_count = function->next_value_id;
    printer->name = ARENA_ARRAY(printer->arena, const char *, printer->name_count + 1);
    printer->taken_size = 16;
    while (printer->taken_size < 2 * (size_t)printer->name_count)
        printer->taken_size *= 2;
    printer->taken = ARENA_ARRAY(printer->arena, const char *, printer->taken_size);
    name_block(printer, function->body);
}

static void print_value(struct printer *printer, const struct ir_value *value)
{
    bool known = value && value->id >= 0 && value->id < printer->name_count && printer->name[value->id];
    buffer_putc(printer->out, '%');
    buffer_puts(printer->out, known ? printer->name[value->id] : "<unknown>");
}

static void print_values(struct printer *printer, int count, struct ir_value *const *values)
{
    for (int i = 0; i < count; i++) {
        buffer_puts(printer->out, i ? ", " : "");
        print_value(printer, values[i]);
    }
}

/* @name, in quotes when it holds more than letters, digits, `_`, `.` and `$`. */
static void print_symbol(struct buffer *out, const char *name)
{
    bool plain = name && *name;
    for (const char *c = name; c && *c; c++)
        plain = plain && ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
                          *c == '_' || *c == '.' || *c == '$');
    if (plain) {
        buffer_printf(out, "@%s", name);
        return;
    }
    buffer_puts(out, "@\"");
    for (const char *c = name ? name : ""; *c; c++)
        if (*c == '"' || *c == '\\' || (unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f)
            buffer_printf(out, "\\%02x", (unsigned)(unsigned char)*c);
        else
            buffer_putc(out, *c);
    buffer_puts(out, "\"");
}

/* ---- types ---- */

static void print_number_or_unknown(struct buffer *out, int64_t number)
{
    if (number == IR_DYNAMIC)
        buffer_putc(out, '?');
    else
        buffer_put_number(out, number);
}

static void print_list(struct buffer *out, int count, const int64_t *numbers)
{
    buffer_putc(out, '[');
    for (int i = 0; i < count; i++) {
        buffer_puts(out, i ? ", " : "");
        print_number_or_unknown(out, numbers[i]);
    }
    buffer_putc(out, ']');
}

/* buffer<bf16, [128, 64], slots(4), #...> */
static void print_buffer_type(struct buffer *out, const struct ir_type *type)
{
    buffer_printf(out, "buffer<%s, ", ir_element_info[type->element].text);
    print_list(out, type->rank, type->extent);
    buffer_printf(out, ", slots(%d)", type->slots);
    if (type->layout) {
        buffer_puts(out, ", ");
        layout_print(out, type->layout);
    }
    buffer_putc(out, '>');
}

void ir_print_type(struct buffer *out, const struct ir_type *type)
{
    switch (type->kind) {
    case IR_BUFFER: print_buffer_type(out, type); return;
    case IR_MBARRIER: buffer_printf(out, "mbarrier<%d>", type->slots); return;
    case IR_TOKEN: buffer_puts(out, "token"); return;
    case IR_TILE:
    case IR_VIEW: break;
    }
    if (type->kind == IR_VIEW)
        buffer_puts(out, "view<");
    if (type->element == IR_POINTER)
        buffer_printf(out, "*%s%s", type->pointee_const ? "const " : "", ir_element_info[type->pointee].text);
    else
        buffer_puts(out, ir_element_info[type->element].text);
    if (type->kind == IR_VIEW) {
        buffer_puts(out, ", ");
        print_list(out, type->rank, type->extent);
        buffer_puts(out, ", ");
        print_list(out, type->rank, type->stride);
        buffer_printf(out, ", %s%s>",
                      type->readable   ? type->writable ? "inout" : "in"
                      : type->writable ? "out"
                                       : "none",
                      type->optional ? "?" : "");
    } else if (type->rank > 0) {
        print_list(out, type->rank, type->extent);
    }
    if (type->layout) {
        buffer_putc(out, ' ');
        layout_print(out, type->layout);
    }
}

static void print_types(struct buffer *out, int count, struct ir_value *const *values)
{
    for (int i = 0; i < count; i++) {
        buffer_puts(out, i ? ", " : "");
        ir_print_type(out, values[i]->type);
    }
}

/* ---- attributes ---- */

/* The shortest decimal that reads back as the same bits; what has none (NaNs with a payload) as bits(0x...). */
static void print_float(struct buffer *out, enum ir_element element, uint64_t bits)
{
    double value = ir_bits_to_double(element, bits);
    if (isnan(value) || isinf(value)) {
        const char *text = isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
        if (ir_double_to_bits(element, isnan(value) ? (double)NAN : value) == bits)
            buffer_puts(out, text);
        else
            buffer_printf(out, "bits(0x%llx)", (unsigned long long)bits);
        return;
    }
    char text[64];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (ir_double_to_bits(element, strtod(text, NULL)) == bits) {
            buffer_puts(out, text);
            buffer_puts(out, strpbrk(text, ".en") ? "" : ".0");
            return;
        }
    }
    buffer_printf(out, "bits(0x%llx)", (unsigned long long)bits);
}

static void print_number(struct buffer *out, const struct ir_type *type, uint64_t bits)
{
    enum ir_element element = type ? type->element : IR_POINTER;
    if (ir_is_float(element)) {
        print_float(out, element, bits);
    } else if (element == IR_BOOL && bits <= 1) {
        buffer_puts(out, bits ? "true" : "false");
    } else if (ir_is_integer(element) && ir_int_to_bits(element, ir_bits_to_int(element, bits)) == bits) {
        if (element == IR_U64)
            buffer_printf(out, "%llu", (unsigned long long)bits);
        else
            buffer_put_number(out, ir_bits_to_int(element, bits));
    } else {
        buffer_printf(out, "bits(0x%llx)", (unsigned long long)bits);
    }
}

static void print_attribute(struct buffer *out, const struct ir_operation *op, const struct ir_attribute *attribute)
{
    buffer_putc(out, ' ');
    buffer_puts(out, ir_attribute_info[attribute->key].text);
    buffer_putc(out, '(');
    switch (ir_attribute_info[attribute->key].kind) {
    case IR_KIND_INT: {
        const char *word = ir_attribute_word(attribute->key, attribute->number);
        if (word)
            buffer_puts(out, word);
        else
            buffer_put_number(out, attribute->number);
        break;
    }
    case IR_KIND_LIST:
        for (int i = 0; i < attribute->count; i++)
            buffer_printf(out, "%s%lld", i ? ", " : "", (long long)attribute->list[i]);
        break;
    case IR_KIND_NUMBER: print_number(out, op->result_count ? op->results[0]->type : NULL, attribute->bits); break;
    case IR_KIND_NAME: print_symbol(out, attribute->name); break;
    case IR_KIND_PLAN: ir_plan_print(out, attribute->plan); break;
    }
    buffer_putc(out, ')');
}

/* In order of the keys, whatever the order in which they were set. */
static void print_attributes(struct buffer *out, const struct ir_operation *op, uint64_t without)
{
    for (int key = 0; key < IR_ATTRIBUTE_COUNT; key++) {
        const struct ir_attribute *attribute = ir_attribute(op, (enum ir_attribute_key)key);
        if (attribute && !(without >> key & 1))
            print_attribute(out, op, attribute);
    }
}

/* ---- operations ---- */

static void print_block(struct printer *printer, const struct ir_block *block);

static void print_arguments(struct printer *printer, const struct ir_block *block)
{
    buffer_putc(printer->out, '(');
    for (int i = 0; i < block->arguments.count; i++) {
        buffer_puts(printer->out, i ? ", " : "");
        print_value(printer, block->arguments.data[i]);
        buffer_puts(printer->out, ": ");
        ir_print_type(printer->out, block->arguments.data[i]->type);
    }
    buffer_putc(printer->out, ')');
}

/* lower, upper, step and one initial value a carried one, types all alike: then the form of its own says everything. */
static bool for_is_plain(const struct ir_operation *op)
{
    if (op->opcode != OP_FOR || op->region_count != 1 || op->operand_count < 3)
        return false;
    const struct ir_block *body = op->regions[0];
    int carried = op->operand_count - 3;
    if (body->arguments.count != carried + 1 || op->result_count != carried)
        return false;
    for (int i = 0; i < carried; i++)
        if (body->arguments.data[i + 1]->type != op->results[i]->type)
            return false;
    return true;
}

/* %r = for %k: index = %lo to %hi step %s iter(%acc: f32 = %init) */
static void print_for_head(struct printer *printer, const struct ir_operation *op)
{
    const struct ir_block *body = op->regions[0];
    buffer_putc(printer->out, ' ');
    print_value(printer, body->arguments.data[0]);
    buffer_puts(printer->out, ": ");
    ir_print_type(printer->out, body->arguments.data[0]->type);
    static const char *const words[] = {" = ", " to ", " step "};
    for (int i = 0; i < 3; i++) {
        buffer_puts(printer->out, words[i]);
        print_value(printer, op->operands[i]);
    }
    for (int i = 3; i < op->operand_count; i++) {
        buffer_puts(printer->out, i == 3 ? " iter(" : ", ");
        print_value(printer, body->arguments.data[i - 2]);
        buffer_puts(printer->out, ": ");
        ir_print_type(printer->out, body->arguments.data[i - 2]->type);
        buffer_puts(printer->out, " = ");
        print_value(printer, op->operands[i]);
    }
    buffer_puts(printer->out, op->operand_count > 3 ? ")" : "");
}

static bool place_is_plain(const struct ir_operation *op, const struct ir_attribute *place)
{
    if (!(ir_op_info[op->opcode].attributes >> IR_ATTRIBUTE_PLACE & 1) || !place ||
        op->operand_count < 1 + place->count)
        return false;
    for (int i = 0; i < place->count; i++)
        if (place->list[i] < IR_GATHER)
            return false;
    return true;
}

static bool subview_is_plain(const struct ir_operation *op)
{
    return op->opcode == OP_SUBVIEW && op->operand_count >= 1 && (op->operand_count - 1) % 2 == 0;
}

static void print_operands(struct printer *printer, const struct ir_operation *op)
{
    struct buffer *out = printer->out;
    const struct ir_attribute *place = ir_attribute(op, IR_ATTRIBUTE_PLACE);
    int from = 0;
    if (place_is_plain(op, place)) {
        buffer_putc(out, ' ');
        print_value(printer, op->operands[0]);
        buffer_putc(out, '[');
        for (int i = 0; i < place->count; i++) {
            buffer_puts(out, i ? ", " : "");
            buffer_puts(out, place->list[i] == IR_GATHER ? "gather " : "");
            print_value(printer, op->operands[i + 1]);
            if (place->list[i] > 0)
                buffer_printf(out, " +: %lld", (long long)place->list[i]);
        }
        buffer_putc(out, ']');
        from = 1 + place->count;
    } else if (subview_is_plain(op)) {
        buffer_putc(out, ' ');
        print_value(printer, op->operands[0]);
        buffer_putc(out, '[');
        for (int i = 1; i + 1 < op->operand_count; i += 2) {
            buffer_puts(out, i > 1 ? ", " : "");
            print_value(printer, op->operands[i]);
            buffer_puts(out, " .. ");
            print_value(printer, op->operands[i + 1]);
        }
        buffer_putc(out, ']');
        return;
    }
    if (from < op->operand_count) {
        buffer_puts(out, from ? ", " : " ");
        print_values(printer, op->operand_count - from, op->operands + from);
    }
}

static bool regions_are_empty(const struct ir_operation *op)
{
    for (int i = 0; i < op->region_count; i++)
        if (op->regions[i]->first || op->regions[i]->arguments.count)
            return false;
    return true;
}

static void print_head(struct printer *printer, const struct ir_operation *op)
{
    struct buffer *out = printer->out;
    if (op->result_count) {
        print_values(printer, op->result_count, op->results);
        buffer_puts(out, " = ");
    }
    buffer_puts(out, ir_op_info[op->opcode].text);
    uint64_t without = place_is_plain(op, ir_attribute(op, IR_ATTRIBUTE_PLACE)) ? UINT64_C(1) << IR_ATTRIBUTE_PLACE : 0;
    print_attributes(out, op, without);
    if (for_is_plain(op))
        print_for_head(printer, op);
    else
        print_operands(printer, op);
}

static void print_indent(struct printer *printer)
{
    for (int i = 0; i < printer->indent; i++)
        buffer_puts(printer->out, "    ");
}

static void print_operation(struct printer *printer, const struct ir_operation *op)
{
    struct buffer *out = printer->out;
    print_indent(printer);
    print_head(printer, op);
    bool plain_for = for_is_plain(op);
    if (!regions_are_empty(op)) {
        for (int i = 0; i < op->region_count; i++) {
            buffer_puts(out, i == 0 ? "" : op->opcode == OP_IF ? " else" : op->opcode == OP_WHILE ? " do" : "");
            if (!plain_for && op->regions[i]->arguments.count) {
                buffer_putc(out, ' ');
                print_arguments(printer, op->regions[i]);
            }
            buffer_puts(out, " {\n");
            print_block(printer, op->regions[i]);
            print_indent(printer);
            buffer_putc(out, '}');
        }
    }
    if (op->result_count && !plain_for) {
        buffer_puts(out, " : ");
        print_types(out, op->result_count, op->results);
    }
    if (printer->locations && op->at.line > 0)
        buffer_printf(out, " @%d:%d", op->at.line, op->at.column);
    buffer_putc(out, '\n');
}

static void print_block(struct printer *printer, const struct ir_block *block)
{
    printer->indent++;
    for (const struct ir_operation *op = block->first; op; op = op->next)
        print_operation(printer, op);
    printer->indent--;
}

/* ---- functions ---- */

static void print_multiples(struct buffer *out, const char *text, int rank, const int64_t *multiple, bool *any)
{
    bool set = false;
    for (int i = 0; i < rank; i++)
        set = set || multiple[i] != 0;
    if (!set)
        return;
    buffer_printf(out, "%s%s(", *any ? ", " : " {", text);
    for (int i = 0; i < rank; i++)
        buffer_printf(out, "%s%lld", i ? ", " : "", (long long)multiple[i]);
    buffer_putc(out, ')');
    *any = true;
}

static void print_fact(struct buffer *out, const struct ir_type *type, const struct ir_argument_fact *fact)
{
    bool any = false;
    if (fact->base_alignment) {
        buffer_printf(out, " {align(%lld)", (long long)fact->base_alignment);
        any = true;
    }
    if (fact->asked_alignment) {
        buffer_printf(out, "%sasked(%lld)", any ? ", " : " {", (long long)fact->asked_alignment);
        any = true;
    }
    print_multiples(out, "stride_multiple", type->rank, fact->stride_multiple, &any);
    print_multiples(out, "extent_multiple", type->rank, fact->extent_multiple, &any);
    if (fact->extent_limit) {
        buffer_printf(out, "%slimit(%lld)", any ? ", " : " {", (long long)fact->extent_limit);
        any = true;
    }
    if (fact->restricted) {
        buffer_printf(out, "%srestrict", any ? ", " : " {");
        any = true;
    }
    if (fact->apart) {
        buffer_printf(out, "%sapart", any ? ", " : " {");
        any = true;
    }
    if (fact->own) {
        buffer_printf(out, "%sscratch", any ? ", " : " {");
        any = true;
    }
    int64_t class[IR_MAX_RANK];
    for (int i = 0; i < IR_MAX_RANK; i++)
        class[i] = fact->extent_class[i];
    print_multiples(out, "extent_class", type->rank, class, &any);
    buffer_puts(out, any ? "}" : "");
}

static void print_grid_fact(struct buffer *out, const char *text, int rank, const int64_t *numbers)
{
    bool any = false;
    for (int i = 0; i < rank; i++)
        any = any || numbers[i];
    for (int i = 0; any && i < rank; i++)
        buffer_printf(out, "%s%s%lld", i ? ", " : " ", i ? "" : text, (long long)numbers[i]);
    buffer_puts(out, any ? ")" : "");
}

/* A number, or the set that the compiler chooses from. */
static void print_knob(struct buffer *out, const char *name, int number, uint64_t among)
{
    const char *separator = "(";
    if (number)
        buffer_printf(out, " %s(%d)", name, number);
    else if (among)
        buffer_printf(out, " %s", name);
    for (int n = 0; !number && n < 64; n++)
        if (among >> n & 1) {
            buffer_printf(out, "%s%d", separator, n);
            separator = ", ";
        }
    if (!number && among)
        buffer_putc(out, ')');
}

static void print_grid(struct buffer *out, const struct ir_function *function)
{
    int64_t class[IR_MAX_RANK];
    for (int i = 0; i < IR_MAX_RANK; i++)
        class[i] = function->grid_class[i];
    buffer_printf(out, " grid(%d)", function->grid_rank);
    print_grid_fact(out, "grid_limit(", function->grid_rank, function->grid_limit);
    print_grid_fact(out, "grid_class(", function->grid_rank, class);
    print_grid_fact(out, "grid_step(", function->grid_rank, function->grid_step);
}

static void print_function(struct buffer *out, const struct ir_function *function, bool locations, bool without_names)
{
    struct printer printer;
    printer_start(&printer, out, function, locations, without_names);
    const struct ir_block *body = function->body;
    buffer_puts(out, function->is_kernel ? "kernel " : "function ");
    print_symbol(out, without_names && function->is_kernel ? "kernel" : function->name);
    buffer_putc(out, '(');
    for (int i = 0; i < body->arguments.count; i++) {
        buffer_puts(out, i ? ", " : "");
        print_value(&printer, body->arguments.data[i]);
        buffer_puts(out, ": ");
        ir_print_type(out, body->arguments.data[i]->type);
        if (i < function->facts.count)
            print_fact(out, body->arguments.data[i]->type, &function->facts.data[i]);
    }
    buffer_putc(out, ')');
    for (int i = 0; i < function->results.count; i++) {
        buffer_puts(out, i ? ", " : " -> ");
        ir_print_type(out, function->results.data[i]);
    }
    if (function->is_kernel)
        print_grid(out, function);
    if (function->level != IR_LEVEL_VALUE)
        buffer_printf(out, " level(%s)", ir_level_text(function->level));
    print_knob(out, "warps", function->warps, function->warps_among);
    print_knob(out, "stages", function->stages, function->stages_among);
    if (function->max_registers)
        buffer_printf(out, " registers(%d)", function->max_registers);
    if (function->persistent)
        buffer_printf(out, " persistent(%d)", function->persistent);
    print_knob(out, "raster", function->raster, function->raster_among);
    if (function->cluster)
        buffer_printf(out, " cluster(%d)", function->cluster);
    if (function->together)
        buffer_printf(out, " together(%d)", function->together);
    if (function->parts)
        buffer_printf(out, " parts(%d)", function->parts);
    if (function->ordered)
        buffer_printf(out, " ordered(%d)", function->ordered);
    if (function->plan) {
        buffer_puts(out, " plan(");
        ir_plan_print(out, function->plan);
        buffer_putc(out, ')');
    }
    if (function->shared_bytes)
        buffer_printf(out, " shared(%lld)", (long long)function->shared_bytes);
    buffer_puts(out, function->strict_fp ? " strict_fp" : "");
    buffer_puts(out, function->no_inline ? " no_inline" : "");
    if (locations && function->at.line > 0)
        buffer_printf(out, " @%d:%d", function->at.line, function->at.column);
    buffer_puts(out, " {\n");
    print_block(&printer, body);
    buffer_puts(out, "}\n");
    arena_destroy(printer.arena);
}

void ir_print_function(struct buffer *out, const struct ir_function *function, bool locations)
{
    print_function(out, function, locations, false);
}

void ir_print_module(struct buffer *out, const struct ir_module *module, bool locations)
{
    for (const struct ir_function *function = module->first; function; function = function->next) {
        buffer_puts(out, function == module->first ? "" : "\n");
        ir_print_function(out, function, locations);
    }
}

void ir_print_code(struct buffer *out, const struct ir_module *module)
{
    for (const struct ir_function *function = module->first; function; function = function->next)
        print_function(out, function, false, true);
}

void ir_print_operation(struct buffer *out, const struct ir_operation *operation)
{
    const struct ir_block *block = operation->block;
    if (!block || !block->function) {
        buffer_puts(out, ir_op_info[operation->opcode].text);
        return;
    }
    struct printer printer;
    printer_start(&printer, out, block->function, false, false);
    print_head(&printer, operation);
    if (operation->result_count && !for_is_plain(operation)) {
        buffer_puts(out, " : ");
        print_types(out, operation->result_count, operation->results);
    }
    arena_destroy(printer.arena);
}
