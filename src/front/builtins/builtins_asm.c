/* asm: instructions of a GPU as text, applied to each element.
 *
 *     asm("tanh.approx.f32 $0, $1;", x, type = f32, arch = sm_75, else = tanh(x))
 *
 * The results are declared by `type`, the operands are brought to one shape, and the text names the registers of both.  An
 * instance for an architecture that the text is not for has `else` in its place, from here on: no pass and no target
 * chooses. */
#include "front/builtins/builtins.h"
#include "ir/query.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_RESULTS = 8, MOST_PACK = 16 };

struct assembly {
    const char *text;
    int64_t pack;
    bool effects;
    const char *since;            /* `arch`, or NULL: any GPU */
    int texts, results, operands; /* texts: arguments that are lines of it */
    enum ir_element result[MOST_RESULTS];
    struct value operand[MOST_ARGUMENTS];
};

static bool wrong(struct elaborator *e, struct location at, const char *text)
{
    front_report(e, DIAGNOSTIC_E0320, at, "%s", text);
    return false;
}

/* ---- options ---- */

static bool read_type(struct elaborator *e, struct assembly *a, struct value v)
{
    if (v.kind == VALUE_TYPE && v.type->kind == TYPE_PLAIN && v.type->plain->rank == 0 &&
        v.type->plain->element != IR_POINTER && a->results < MOST_RESULTS) {
        a->result[a->results++] = v.type->plain->element;
        return true;
    }
    return value_is_error(v) ? false
                             : wrong(e, v.at, "`type` is the scalar type of the result, or `(f32, i32)` of several");
}

static bool read_types(struct elaborator *e, const struct call *call, struct assembly *a)
{
    const struct ast_expression *written = call_option(call, "type");
    if (!written)
        return a->effects ||
               wrong(e, call->at, "without effects `asm` is there for its result: say its type, as in `type = f32`");
    if (written->kind != EXPRESSION_TUPLE)
        return read_type(e, a, elaborate(e, written));
    for (int i = 0; i < written->elements.count; i++)
        if (!read_type(e, a, elaborate(e, written->elements.data[i])))
            return false;
    return true;
}

static bool read_options(struct elaborator *e, const struct call *call, struct assembly *a)
{
    bool given;
    a->pack = 1;
    if (!call_option_integer(e, call, "pack", &a->pack, &given) ||
        !call_option_truth(e, call, "effects", &a->effects) || !read_types(e, call, a))
        return false;
    if (a->pack < 1 || a->pack > MOST_PACK || (a->pack & (a->pack - 1)))
        return wrong(e, call_option(call, "pack")->at, "`pack` is 1, 2, 4, 8 or 16");
    if (a->effects && (a->pack > 1 || a->results > 1))
        return wrong(e, call->at, "with effects `asm` has one result at most, and is done for each element by itself");
    const struct ast_expression *arch = call_option(call, "arch");
    if (!arch)
        return true;
    if (arch->kind != EXPRESSION_NAME || strncmp(arch->name, "sm_", 3) != 0 ||
        (e->front->options->is_target && !e->front->options->is_target(arch->name)))
        return wrong(e, arch->at, "`arch` is one of the names that --print-targets lists, such as `sm_90`");
    a->since = arch->name;
    return true;
}

/* ---- operands ---- */

static bool goes_together(struct elaborator *e, const struct assembly *a, enum ir_element element, struct location at)
{
    return element != IR_BOOL || a->pack == 1 ||
           wrong(e, at, "a bool is a predicate, of which none go together: convert it to an integer");
}

static bool read_operands(struct elaborator *e, struct call *call, struct assembly *a)
{
    for (int i = a->texts; i < call->count; i++) {
        struct value v = value_materialize(e, call->argument[i]);
        if (v.kind != VALUE_RUN) {
            call_wrong(e, call, v, "scalars and tiles behind the text");
            return false;
        }
        if (v.run->type->element == IR_INDEX)
            v.run = ir_cast(&e->builder, v.run, IR_I64);
        if (!goes_together(e, a, v.run->type->element, v.at))
            return false;
        a->operand[a->operands++] = v;
    }
    for (int i = 0; i < a->results; i++)
        if (!goes_together(e, a, a->result[i], call_option(call, "type")->at))
            return false;
    return convert_broadcast(e, a->operands, a->operand, "`asm`", call->at);
}

/* ---- the text ---- */

static int count_registers(const struct assembly *a, bool operands)
{
    int count = 0;
    for (int i = 0; i < a->results; i++)
        count += ir_asm_registers(a->result[i], (int)a->pack);
    for (int i = 0; operands && i < a->operands; i++)
        count += ir_asm_registers(a->operand[i].run->type->element, (int)a->pack);
    return count;
}

static void read_text(struct elaborator *e, const struct call *call, struct assembly *a)
{
    for (; a->texts < call->count && call->argument[a->texts].kind == VALUE_STRING; a->texts++) {
        const char *line = call->argument[a->texts].string;
        a->text = a->texts ? arena_printf(e->arena, "%s\n\t%s", a->text, line) : line;
    }
}

/* `$0`, `$$`; the rest is the assembler's to judge, but for what would reach beyond the text. */
static bool check_assembly(struct elaborator *e, const struct assembly *a, struct location at)
{
    int results = count_registers(a, false), all = count_registers(a, true), open = 0;
    char last = 0;
    bool *named = ARENA_ARRAY(e->arena, bool, all + 1);
    for (const char *c = a->text; *c; c++) {
        open += (*c == '{') - (*c == '}');
        last = strchr(" \n\t", *c) ? last : *c;
        if (open < 0 || ((unsigned char)*c < ' ' && *c != '\n' && *c != '\t'))
            return wrong(e, at, "the text has a `}` too many, or a character that is no text");
        if (*c != '$')
            continue;
        char *end = (char *)(uintptr_t)(c + 1);
        if (c[1] == '$') {
            c++;
            continue;
        }
        long number = c[1] >= '0' && c[1] <= '9' ? strtol(c + 1, &end, 10) : -1;
        if (number < 0 || number >= all)
            return wrong(e, at,
                         arena_printf(e->arena,
                                      "behind `$` stands the number of a register, here from 0 to %d: those of results "
                                      "first, then those of operands; a dollar itself is `$$`",
                                      all - 1));
        named[number] = true;
        c = end - 1;
    }
    if (last != ';' && last != '}')
        return wrong(e, at, "an instruction ends in `;`, the last one, too");
    if (open)
        return wrong(e, at, "the text has a `{` that nothing closes");
    for (int i = 0; i < results; i++)
        if (!named[i])
            return wrong(e, at, arena_printf(e->arena, "the text never names `$%d`, a register of its result", i));
    return true;
}

/* ---- what becomes of it ---- */

/* sm_80: that and all later ones; sm_90a: that alone; sm_100f: its generation. */
static bool is_for(const char *target, const char *since)
{
    char *suffix;
    if (strncmp(target, "sm_", 3) != 0)
        return false;
    if (!since)
        return true;
    long wanted = strtol(since + 3, &suffix, 10), here = strtol(target + 3, NULL, 10);
    if (*suffix == 'a')
        return strcmp(target, since) == 0;
    return here >= wanted && (*suffix != 'f' || here / 10 == wanted / 10);
}

static struct value give(struct elaborator *e, const struct assembly *a, struct ir_value *const *run,
                         struct location at)
{
    struct value list[MOST_RESULTS];
    if (!a->results)
        return (struct value){.kind = VALUE_VOID, .at = at};
    for (int i = 0; i < a->results; i++) {
        list[i] = value_run(run[i], at);
        list[i].origin = a->operands ? a->operand[0].origin : NULL;
    }
    if (a->results == 1)
        return list[0];
    struct value tuple = {.kind = VALUE_TUPLE, .at = at};
    tuple.list.count = a->results;
    tuple.list.data = arena_copy(e->arena, list, sizeof *list * (size_t)a->results);
    return tuple;
}

/* The value of `else`, as the results are declared. */
static struct value build_else(struct elaborator *e, const struct call *call, const struct assembly *a,
                               const struct ir_type *const *types)
{
    const struct ast_expression *written = call_option(call, "else");
    if (!written) {
        front_report(e, DIAGNOSTIC_E0321, call->at,
                     a->since ? "this `asm` is for %s, and an instance for %s has to be made, too: say by `else = ...` "
                                "what stands in its place there"
                              : "`asm` is for %s, and an instance for %s has to be made, too: say by `else = ...` what "
                                "stands in its place there",
                     a->since ? a->since : "GPUs", e->target);
        return value_error(call->at);
    }
    struct value v = elaborate(e, written);
    if (v.kind != VALUE_VOID)
        v = value_read(e, v);
    if (value_is_error(v))
        return v;
    int count = v.kind == VALUE_TUPLE ? v.list.count : v.kind == VALUE_VOID ? 0 : 1;
    if (count != a->results) {
        front_report(e, DIAGNOSTIC_E0320, written->at, "`else` gives %d value%s, and `type` declares %d", count,
                     count == 1 ? "" : "s", a->results);
        return value_error(call->at);
    }
    struct ir_value *run[MOST_RESULTS];
    for (int i = 0; i < count; i++) {
        struct value part = v.kind == VALUE_TUPLE ? v.list.data[i] : v;
        run[i] = convert_to_type(e, part, types[i], true, "`else`");
        if (!run[i])
            return value_error(call->at);
    }
    return give(e, a, run, call->at);
}

struct value build_asm(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    struct assembly a = {0};
    const struct ir_type *types[MOST_RESULTS];
    struct ir_value *operands[MOST_ARGUMENTS];
    if (call->argument[0].kind != VALUE_STRING)
        return call_wrong(e, call, call->argument[0],
                          "a text first, as in `asm(\"ex2.approx.f32 $0, $1;\", x, type = f32)`");
    if (!e->function || !e->target) {
        front_report(e, DIAGNOSTIC_E0409, call->at, "`asm` cannot be evaluated here");
        return value_error(call->at);
    }
    read_text(e, call, &a);
    if (!read_options(e, call, &a) || !read_operands(e, call, &a) || !check_assembly(e, &a, call->argument[0].at))
        return value_error(call->at);
    if (a.effects && e->in_map) {
        front_report(e, DIAGNOSTIC_E0606, call->at,
                     "`asm` with effects cannot stand in a function that is applied element by element");
        return value_error(call->at);
    }
    for (int i = 0; i < a.operands; i++)
        operands[i] = a.operand[i].run;
    for (int i = 0; i < a.results; i++)
        types[i] = a.operands ? shape_like(e, operands[0]->type, a.result[i]) : ir_type_scalar(e->context, a.result[i]);
    if (!is_for(e->target, a.since))
        return build_else(e, call, &a, types);
    struct ir_operation *operation = ir_build(&e->builder, a.effects ? OP_ASM_EFFECT : OP_ASM, a.operands, operands,
                                              a.results, types);
    ir_set_name(operation, IR_ATTRIBUTE_TEXT, intern(ir_context_names(e->context), a.text));
    if (a.pack > 1)
        ir_set_number(operation, IR_ATTRIBUTE_PACK, a.pack);
    return give(e, &a, operation->results, call->at);
}
