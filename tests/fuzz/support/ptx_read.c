/* PTX text to instructions.  Statements end with `;`, labels with `:`; registers are numbered in each function, names
 * of inner blocks included, which inline PTX declares. */
#include "ptx.h"

#include <stdlib.h>
#include <string.h>

struct name {
    const char *name;
    int number;
};
struct group {
    const char *name;
    int count, first;
}; /* count > 0: name0 … name(count - 1), else the name itself */
struct scope {
    int code, labels, registers;
}; /* where it begins */
struct reading {
    struct arena *arena;
    struct ptx_module *module;
    struct ptx_function *function;
    VECTOR(struct group) registers;
    VECTOR(struct name) labels;
    VECTOR(struct scope) scopes;
    int line; /* of the statement, from 0 on */
    struct buffer *problem;
};

static bool fail(struct reading *r, const char *what, const char *text)
{
    if (!r->problem->size)
        buffer_printf(r->problem, "ptx: %s: %s", what, text);
    return false;
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static char *trimmed(struct arena *arena, const char *from, size_t size)
{
    while (size && is_space(*from)) {
        from++;
        size--;
    }
    while (size && is_space(from[size - 1]))
        size--;
    return (char *)arena_substring(arena, from, size);
}

static int find_name(const struct name *names, int count, const char *name)
{
    for (int i = count; i-- > 0;)
        if (strcmp(names[i].name, name) == 0)
            return names[i].number;
    return -1;
}

/* ---- registers: "%r<32>" or "tmp" ---- */

static void declare(struct reading *r, const char *names)
{
    while (*names) {
        size_t size = strcspn(names, ",");
        char *one = trimmed(r->arena, names, size), *less = strchr(one, '<');
        if (less)
            *less = '\0';
        struct group group = {one, less ? atoi(less + 1) : 0, r->function->register_count};
        r->function->register_count += less ? group.count : 1;
        vector_push(r->arena, &r->registers, group);
        names += size + (names[size] == ',');
    }
}

static int find_register(const struct reading *r, const char *name)
{
    size_t size = strlen(name), letters = size;
    while (letters && name[letters - 1] >= '0' && name[letters - 1] <= '9')
        letters--;
    for (int i = r->registers.count; i-- > 0;) {
        const struct group *group = &r->registers.data[i];
        if (!group->count && strcmp(group->name, name) == 0)
            return group->first;
        if (group->count && letters < size && strlen(group->name) == letters && !memcmp(group->name, name, letters) &&
            atoi(name + letters) < group->count)
            return group->first + atoi(name + letters);
    }
    return -1;
}

/* ---- operands ---- */

static const char *const specials[] = {"%tid.x",  "%ctaid.x",         "%ntid.x", "%nctaid.x",
                                       "%laneid", "%cluster_ctarank", "%warpid"};

static bool read_number(const char *text, uint64_t *number)
{
    char *end;
    if (text[0] == '0' && (text[1] == 'f' || text[1] == 'd')) { /* the bits of a float */
        *number = strtoull(text + 2, &end, 16);
        return *end == '\0';
    }
    *number = text[0] == '-' ? (uint64_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);
    return end != text && (*end == '\0' || strcmp(end, "U") == 0);
}

static bool read_operand(struct reading *r, char *text, struct ptx_operand *operand);

static bool read_list(struct reading *r, const char *text, struct ptx_operand *operand)
{
    int most = 1;
    for (const char *at = text; *at; at++)
        most += *at == ',';
    operand->list = ARENA_ARRAY(r->arena, struct ptx_operand, most);
    while (*text) {
        size_t size = strcspn(text, ",");
        if (!read_operand(r, trimmed(r->arena, text, size), &operand->list[operand->count++]))
            return false;
        text += size + (text[size] == ',');
    }
    return true;
}

/* [register], [register + n], [name], [name + n], [register, {coordinates}] */
static bool read_address(struct reading *r, char *text, struct ptx_operand *operand)
{
    struct ptx_operand base = {0};
    char *comma = strchr(text, ','), *plus = strchr(text, '+');
    if (comma) {
        char *list = trimmed(r->arena, comma + 1, strlen(comma + 1));
        size_t size = strlen(list);
        if (list[0] != '{' || list[size - 1] != '}')
            return fail(r, "an address", text);
        list[size - 1] = '\0';
        *comma = '\0';
        if (!read_list(r, list + 1, operand))
            return false;
    }
    operand->place = PTX_ADDRESS;
    operand->reg = -1;
    if (plus) {
        *plus = '\0';
        if (!read_number(trimmed(r->arena, plus + 1, strlen(plus + 1)), &operand->number))
            return fail(r, "an offset", plus + 1);
    }
    if (!read_operand(r, trimmed(r->arena, text, strlen(text)), &base))
        return false;
    if (base.place == PTX_REGISTER)
        operand->reg = base.reg;
    else
        operand->name = base.name;
    return true;
}

static bool read_operand(struct reading *r, char *text, struct ptx_operand *operand)
{
    size_t size = strlen(text);
    *operand = (struct ptx_operand){.place = PTX_NOTHING, .reg = -1};
    if (strcmp(text, "_") == 0)
        return true;
    if ((text[0] == '{' && text[size - 1] == '}') || (text[0] == '(' && text[size - 1] == ')')) {
        text[size - 1] = '\0';
        operand->place = PTX_LIST;
        return read_list(r, text + 1, operand);
    }
    if (text[0] == '[' && text[size - 1] == ']') {
        text[size - 1] = '\0';
        return read_address(r, text + 1, operand);
    }
    if ((operand->reg = find_register(r, text)) >= 0) {
        operand->place = PTX_REGISTER;
        return true;
    }
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        if (strcmp(text, specials[i]) == 0) {
            operand->place = PTX_SPECIAL;
            operand->number = i;
            return true;
        }
    if (text[0] == '%')
        return fail(r, "a register", text);
    if (read_number(text, &operand->number)) {
        operand->place = PTX_NUMBER;
        return true;
    }
    operand->place = PTX_NAME;
    operand->name = text;
    return true;
}

/* ---- instructions ---- */

static bool read_type(const char *word, struct ptx_type *type)
{
    static const struct {
        const char *word;
        struct ptx_type type;
    } others[] = {{"pred", {'p', 1}},  {"f16x2", {'F', 32}},  {"bf16x2", {'Y', 32}}, {"bf16", {'y', 16}},
                  {"tf32", {'t', 32}}, {"e4m3x2", {'Q', 16}}, {"e5m2x2", {'R', 16}}, {"e4m3", {'q', 8}},
                  {"e5m2", {'r', 8}},  {"u16x2", {'U', 32}},  {"s16x2", {'S', 32}}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(word, others[i].word) == 0) {
            *type = others[i].type;
            return true;
        }
    if (!strchr("usbf", word[0]) || !word[0] || !word[1] || strspn(word + 1, "0123456789") != strlen(word + 1))
        return false;
    *type = (struct ptx_type){word[0], atoi(word + 1)};
    return true;
}

bool ptx_has(const struct ptx_instruction *instruction, const char *word)
{
    for (int i = 0; i < instruction->word_count; i++)
        if (strcmp(instruction->words[i], word) == 0)
            return true;
    return false;
}

static void note_word(struct ptx_instruction *in, const char *word)
{
    size_t size = strlen(word);
    if (word[0] == 'r' && (size == 2 || (size == 3 && word[2] == 'i')) && strchr("nzmp", word[1])) {
        in->round = word[1];
        in->integral = size == 3;
    }
    in->saturates |= strcmp(word, "sat") == 0;
    in->flushes |= strcmp(word, "ftz") == 0;
    in->keeps_nan |= strcmp(word, "NaN") == 0;
    in->by_magnitude |= strcmp(word, "xorsign") == 0;
    in->wide |= strcmp(word, "wide") == 0;
    in->high |= strcmp(word, "hi") == 0;
    if (word[0] == 'v' && size == 2)
        in->vector = word[1] - '0';
    if (in->word_count < PTX_WORDS)
        in->words[in->word_count++] = word;
}

static bool read_opcode(struct reading *r, char *text, struct ptx_instruction *in)
{
    static const char *const names[] = {
#define X(name) #name,
        PTX_OPCODES(X)
#undef X
    };
    char *next = NULL, *word = strtok_r(text, ".", &next);
    in->opcode = PTX_OPCODE_COUNT;
    for (int i = 0; i < PTX_OPCODE_COUNT && word; i++)
        if (strcmp(word, names[i]) == 0)
            in->opcode = (enum ptx_opcode)i;
    if (in->opcode == PTX_OPCODE_COUNT)
        return fail(r, "an instruction that is not known", word ? word : "");
    while ((word = strtok_r(NULL, ".", &next))) {
        struct ptx_type type;
        if (read_type(word, &type)) {
            in->source = in->type_count++ ? in->type : type;
            in->type = type;
        }
        note_word(in, word); /* types, too: mma has four */
    }
    return true;
}

static bool read_instruction(struct reading *r, char *text)
{
    struct ptx_instruction in = {
        .guard = -1, .target = -1, .vector = 1, .line = r->line, .text = arena_string(r->arena, text)};
    if (text[0] == '@') {
        size_t size = strcspn(text, " \t");
        in.unless = text[1] == '!';
        in.guard = find_register(r, arena_substring(r->arena, text + 1 + in.unless, size - 1 - in.unless));
        if (in.guard < 0)
            return fail(r, "a guard", text);
        text = trimmed(r->arena, text + size, strlen(text + size));
    }
    size_t size = strcspn(text, " \t\n");
    char *rest = text + size;
    in.name = arena_substring(r->arena, text, size);
    if (!read_opcode(r, trimmed(r->arena, text, size), &in))
        return false;
    int depth = 0;
    for (char *at = rest, *start = rest; *rest; at++) {
        depth += (*at == '{' || *at == '[' || *at == '(') - (*at == '}' || *at == ']' || *at == ')');
        if (*at && (*at != ',' || depth))
            continue;
        char *one = trimmed(r->arena, start, (size_t)(at - start));
        char *bar = one[0] == '{' || one[0] == '[' ? NULL : strchr(one, '|'); /* shfl d|p, elect _|p */
        if (bar && one[0] == '_')
            one = bar + 1;
        else if (bar)
            *bar = '\0';
        if (*one && (in.operand_count == PTX_OPERANDS || !read_operand(r, one, &in.operands[in.operand_count++])))
            return fail(r, "operands", in.text);
        if (!*at)
            break;
        start = at + 1;
    }
    vector_push(r->arena, &r->function->code, in);
    return true;
}

static bool read_statement(struct reading *r, char *text)
{
    if (strncmp(text, ".reg", 4) == 0) {
        char *type = strchr(text + 4, '.');
        if (!type)
            return fail(r, "a declaration", text);
        declare(r, type + strcspn(type, " \t"));
        return true;
    }
    if (text[0] == '.')
        return strncmp(text, ".local", 6) != 0 || fail(r, "local memory is not there yet", text);
    return read_instruction(r, text);
}

/* Branches to the labels of a scope, which ends here. */
static bool settle(struct reading *r, const struct scope *scope)
{
    for (int i = scope->code; i < r->function->code.count; i++) {
        struct ptx_instruction *in = &r->function->code.data[i];
        if (in->opcode != PTX_bra || in->target >= 0)
            continue;
        in->target = find_name(r->labels.data + scope->labels, r->labels.count - scope->labels,
                               in->operands[0].name ? in->operands[0].name : "");
        if (in->target < 0 && !r->scopes.count) /* the function itself */
            return fail(r, "a label that is not there", in->text);
    }
    r->labels.count = scope->labels;
    r->registers.count = scope->registers;
    return true;
}

/* ---- functions ---- */

static void open_function(struct reading *r, char *header)
{
    struct ptx_function made = {.threads = 1, .blocks = 1};
    char *entry = strstr(header, ".entry"), *at = entry ? entry + 6 : strstr(header, ".func") + 5, *number;
    if (!entry) /* .func (.param .b32 result) name(…) */
        at = strchr(at, ')') + 1;
    while (is_space(*at))
        at++;
    size_t size = strcspn(at, "( \n");
    made.name = arena_substring(r->arena, at, size);
    for (at += size; (at = strstr(at, ".param")) && made.parameter_count < PTX_PARAMETERS;) {
        size_t end = strcspn(at, ",)");
        char *one = trimmed(r->arena, at, end), *space = strrchr(one, ' '), *square = strchr(one, '[');
        if (square)
            *square = '\0';
        made.parameters[made.parameter_count++] = space ? space + 1 : one;
        at += end;
    }
    if ((number = strstr(header, ".maxntid")))
        made.threads = atoi(number + 8);
    if ((number = strstr(header, ".minnctapersm")))
        made.blocks = atoi(number + 13);
    if ((number = strstr(header, ".maxnreg")))
        made.most = atoi(number + 8);
    vector_push(r->arena, &r->module->functions, made);
    r->function = &r->module->functions.data[r->module->functions.count - 1];
    r->registers.count = r->labels.count = 0;
}

/* What stands in front of a `;`, `:`, `{` or `}`.  False: a problem. */
static bool take(struct reading *r, char *text, char end, int *depth)
{
    if (end == '{') {
        ++*depth;
        if (!r->function)
            open_function(r, text);
        struct scope scope = {r->function->code.count, r->labels.count, r->registers.count};
        vector_push(r->arena, &r->scopes, scope);
        return true;
    }
    if (end == '}') {
        bool good = r->scopes.count && settle(r, &r->scopes.data[--r->scopes.count]);
        if (--*depth == 0)
            r->function = NULL;
        return good;
    }
    if (!r->function || !*text)
        return true;
    if (end == ':') {
        struct name label = {text, r->function->code.count};
        vector_push(r->arena, &r->labels, label);
        return true;
    }
    return read_statement(r, text);
}

struct ptx_module *ptx_read(struct arena *arena, const char *text, struct buffer *problem)
{
    struct reading r = {.arena = arena, .module = ARENA_NEW(arena, struct ptx_module), .problem = problem};
    struct buffer one = {0};
    bool good = true, label = true; /* all letters so far could be a label's */
    int depth = 0, line = 0;
    for (const char *at = text; *at && good; at++) {
        if (at[0] == '/' && at[1] == '/') {
            at += strcspn(at, "\n");
            if (!*at)
                break;
        }
        bool empty = !one.size;
        line += *at == '\n';
        if (empty && is_space(*at))
            continue;
        r.line = empty ? line : r.line;
        bool block = (*at == '{' && (empty || !r.function)) || (*at == '}' && empty);
        if (*at == ';' || block || (*at == ':' && label && at[1] != ':')) {
            good = take(&r, trimmed(arena, one.size ? one.data : "", one.size), *at, &depth);
            one.size = 0;
            label = true;
            continue;
        }
        label &= *at == '$' || *at == '_' || (*at >= '0' && *at <= '9') || (*at >= 'A' && *at <= 'Z') ||
                 (*at >= 'a' && *at <= 'z');
        buffer_putc(&one, *at);
    }
    buffer_free(&one);
    return good && !problem->size ? r.module : NULL;
}
