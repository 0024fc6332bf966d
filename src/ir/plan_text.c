/* Plans as text, printed and parsed.  See plan.h.
 *
 *     plan    := [ clause { ";" clause } ]
 *     clause  := "input" name [ way ] { "slots(" n ")" | "bytes(" n ")" | "ahead(" n ")" } [ reason ]
 *              | "product" number { "stage(" n ")" | "in_flight(" n ")" } [ reason ]
 *              | "roles(" warps "," warps ")" [ "registers(" n "," n ")" ] [ reason ]
 *              | "apart(" n ")" [ reason ] | "programs(" n ")" [ reason ] | "turns(" n ")" | "together(" n ")"
 *     reason  := "because" a text in quotes */
#include "ir/plan.h"

#include <string.h>

enum { MOST_PRODUCTS = 64 };

#define X(id, text) text,
static const char *const way_words[] = {IR_WAYS(X)};
#undef X

const char *ir_way_text(enum ir_way way) { return way_words[way]; }

/* ---- printing ---- */

static void print_number(struct buffer *out, const char *word, int number)
{
    if (number != IR_PLAN_OPEN)
        buffer_printf(out, " %s(%d)", word, number);
}

static void print_reason(struct buffer *out, const char *why)
{
    if (!why)
        return;
    buffer_puts(out, " because \"");
    for (const char *c = why; *c; c++)
        buffer_putc(out, *c == '"' || *c == '\n' ? '\'' : *c);
    buffer_putc(out, '"');
}

/* The word that stands in front of a clause: nothing in front of the first. */
static const char *separate(const struct buffer *out, size_t start) { return out->size > start ? "; " : ""; }

static void print_roles(struct buffer *out, const struct ir_plan *plan, size_t start)
{
    if (plan->warps[0] != IR_PLAN_OPEN)
        buffer_printf(out, "%sroles(%d, %d)", separate(out, start), plan->warps[0], plan->warps[1]);
    if (plan->warps[0] != IR_PLAN_OPEN && plan->registers[0] != IR_PLAN_OPEN)
        buffer_printf(out, " registers(%d, %d)", plan->registers[0], plan->registers[1]);
    if (plan->warps[0] != IR_PLAN_OPEN)
        print_reason(out, plan->why);
    if (plan->apart != IR_PLAN_OPEN) {
        buffer_printf(out, "%sapart(%d)", separate(out, start), plan->apart);
        print_reason(out, plan->why_together);
    }
    if (plan->programs != IR_PLAN_OPEN) {
        buffer_printf(out, "%sprograms(%d)", separate(out, start), plan->programs);
        print_reason(out, plan->why_one);
    }
    if (plan->turns != IR_PLAN_OPEN)
        buffer_printf(out, "%sturns(%d)", separate(out, start), plan->turns);
    if (plan->together != IR_PLAN_OPEN)
        buffer_printf(out, "%stogether(%d)", separate(out, start), plan->together);
}

void ir_plan_print(struct buffer *out, const struct ir_plan *plan)
{
    size_t start = out->size;
    for (int i = 0; plan && i < plan->inputs.count; i++) {
        const struct ir_plan_input *input = &plan->inputs.data[i];
        buffer_printf(out, "%sinput %s", separate(out, start), input->name);
        if (input->way != IR_WAY_OPEN)
            buffer_printf(out, " %s", way_words[input->way]);
        print_number(out, "slots", input->slots);
        print_number(out, "bytes", input->bytes);
        print_number(out, "ahead", input->ahead);
        print_reason(out, input->why);
    }
    for (int i = 0; plan && i < plan->products.count; i++) {
        const struct ir_plan_product *product = &plan->products.data[i];
        buffer_printf(out, "%sproduct %d", separate(out, start), i);
        print_number(out, "stage", product->stage);
        print_number(out, "in_flight", product->in_flight);
        print_reason(out, product->why);
    }
    if (plan)
        print_roles(out, plan, start);
}

/* ---- parsing ---- */

struct reader {
    const char *at, *end;
    const char *problem;
};

static void fail(struct reader *r, const char *problem)
{
    if (!r->problem)
        r->problem = problem;
}

static void skip_space(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t'))
        r->at++;
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

/* A word; size 0: there is none. */
static const char *take_word(struct reader *r, size_t *size)
{
    skip_space(r);
    const char *start = r->at;
    while (r->at < r->end && is_word(*r->at))
        r->at++;
    *size = (size_t)(r->at - start);
    return start;
}

static bool accept(struct reader *r, const char *text)
{
    const char *start = r->at;
    size_t size = strlen(text), found;
    skip_space(r);
    if (is_word(text[0])) {
        const char *word = take_word(r, &found);
        if (found == size && !memcmp(word, text, size))
            return true;
    } else if ((size_t)(r->end - r->at) >= size && !memcmp(r->at, text, size)) {
        r->at += size;
        return true;
    }
    r->at = start;
    return false;
}

static int number(struct reader *r)
{
    size_t size;
    const char *word = take_word(r, &size);
    int value = 0;
    for (size_t i = 0; i < size && !r->problem; i++)
        if (word[i] < '0' || word[i] > '9' || value > 100000000)
            fail(r, "a number is expected here");
        else
            value = 10 * value + (word[i] - '0');
    if (!size)
        fail(r, "a number is expected here");
    return value;
}

/* word(number), when it stands here. */
static bool accept_number(struct reader *r, const char *word, int *value)
{
    if (r->problem || !accept(r, word))
        return false;
    if (*value != IR_PLAN_OPEN)
        fail(r, "this stands here twice");
    if (!accept(r, "("))
        fail(r, "'(' is expected here");
    *value = r->problem ? 0 : number(r);
    if (!accept(r, ")"))
        fail(r, "')' is expected here");
    return !r->problem;
}

static bool accept_pair(struct reader *r, const char *word, int *value)
{
    if (r->problem || !accept(r, word))
        return false;
    if (!accept(r, "("))
        fail(r, "'(' is expected here");
    value[0] = r->problem ? 0 : number(r);
    if (!accept(r, ","))
        fail(r, "',' is expected here");
    value[1] = r->problem ? 0 : number(r);
    if (!accept(r, ")"))
        fail(r, "')' is expected here");
    return !r->problem;
}

static void parse_reason(struct reader *r, struct ir_plan *plan, const char **why)
{
    if (r->problem || !accept(r, "because"))
        return;
    if (!accept(r, "\"")) {
        fail(r, "a text in quotes is expected here");
        return;
    }
    const char *start = r->at;
    while (r->at < r->end && *r->at != '"')
        r->at++;
    *why = arena_substring(plan->arena, start, (size_t)(r->at - start));
    if (!accept(r, "\""))
        fail(r, "the text does not end");
}

static void parse_input(struct reader *r, struct ir_plan *plan)
{
    size_t size;
    const char *name = take_word(r, &size);
    if (!size) {
        fail(r, "the name of an input is expected here");
        return;
    }
    struct ir_plan_input *input = ir_plan_add_input(plan, arena_substring(plan->arena, name, size),
                                                    (struct location){0});
    for (int way = 0; way < IR_WAY_COUNT; way++)
        if (way != IR_WAY_OPEN && input->way == IR_WAY_OPEN && accept(r, way_words[way]))
            input->way = (enum ir_way)way;
    while (accept_number(r, "slots", &input->slots) || accept_number(r, "bytes", &input->bytes) ||
           accept_number(r, "ahead", &input->ahead))
        continue;
    parse_reason(r, plan, &input->why);
}

static void parse_product(struct reader *r, struct ir_plan *plan)
{
    int index = number(r);
    if (!r->problem && index >= MOST_PRODUCTS)
        fail(r, "a loop has no so many products");
    if (r->problem)
        return;
    while (plan->products.count <= index) /* those in front are left open */
        ir_plan_add_product(plan, (struct location){0});
    struct ir_plan_product *product = &plan->products.data[index];
    while (accept_number(r, "stage", &product->stage) || accept_number(r, "in_flight", &product->in_flight))
        continue;
    parse_reason(r, plan, &product->why);
}

static void parse_clause(struct reader *r, struct ir_plan *plan)
{
    if (accept(r, "input"))
        parse_input(r, plan);
    else if (accept(r, "product"))
        parse_product(r, plan);
    else if (accept_pair(r, "roles", plan->warps)) {
        accept_pair(r, "registers", plan->registers);
        parse_reason(r, plan, &plan->why);
    } else if (accept_number(r, "apart", &plan->apart))
        parse_reason(r, plan, &plan->why_together);
    else if (accept_number(r, "programs", &plan->programs))
        parse_reason(r, plan, &plan->why_one);
    else if (!accept_number(r, "turns", &plan->turns) && !accept_number(r, "together", &plan->together))
        fail(r, "a plan has clauses input, product, roles, apart, programs, turns and together");
}

struct ir_plan *ir_plan_parse(struct arena *arena, const char *text, size_t size, const char **where,
                              const char **problem)
{
    struct reader r = {.at = text, .end = text + size};
    struct ir_plan *plan = ir_plan_make(arena);
    skip_space(&r);
    if (r.at < r.end)
        do
            parse_clause(&r, plan);
        while (!r.problem && accept(&r, ";"));
    skip_space(&r);
    if (r.at < r.end)
        fail(&r, "';' or the end of the plan is expected here");
    *where = r.at;
    *problem = r.problem;
    return r.problem ? NULL : plan;
}
