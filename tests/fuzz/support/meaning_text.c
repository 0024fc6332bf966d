/* Prints what meaning.h describes as a source.  Parentheses stand only where the manual's table of operators asks for
 * them, so that a wrong order of precedence gives another program. */
#include "meaning_run.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { CHOICE, OR, AND, NOT, COMPARISON, BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, PRODUCT, SIGN, ATOM };

struct printer {
    const struct meaning *m;
    struct buffer *out;
    int indent;
};

static void print(struct printer *p, const struct meaning_node *node, int least);

static const char *type_text(enum ir_element element) { return ir_element_info[element].text; }

static int level_of(const struct meaning_node *node)
{
    switch (node->kind) {
    case MEANING_LITERAL:
        return !node->bare || node->name                                                       ? ATOM
               : (ir_is_float(node->element) ? node->value.real < 0 : node->value.integer < 0) ? SIGN
                                                                                               : ATOM;
    case MEANING_NEGATE:
    case MEANING_TURN: return SIGN;
    case MEANING_NOT: return NOT;
    case MEANING_SAME:
    case MEANING_COMPARE: return COMPARISON;
    case MEANING_AND: return AND;
    case MEANING_OR: return OR;
    case MEANING_CHOOSE: return CHOICE;
    case MEANING_PRODUCT: return PRODUCT;
    case MEANING_WIDEN: return level_of(node->operand[0]);
    case MEANING_BINARY:
        switch (*node->sign) {
        case '|': return BIT_OR;
        case '^': return BIT_XOR;
        case '&': return BIT_AND;
        case '<':
        case '>': return SHIFT;
        case '+':
        case '-': return SUM;
        default: return PRODUCT;
        }
    default: return ATOM;
    }
}

static void print_type(struct printer *p, enum ir_element element, struct meaning_shape shape)
{
    buffer_puts(p->out, type_text(element));
    for (int d = 0; d < shape.rank; d++)
        buffer_printf(p->out, "%s%d", d ? ", " : "[", shape.extent[d]);
    buffer_puts(p->out, shape.rank ? "]" : "");
}

static void print_number(struct printer *p, const struct meaning_node *node)
{
    if (node->element == IR_BOOL)
        buffer_puts(p->out, node->value.integer ? "true" : "false");
    else if (ir_is_float(node->element) && isnan(node->value.real))
        buffer_puts(p->out, "nan");
    else if (ir_is_float(node->element) && isinf(node->value.real))
        buffer_puts(p->out, node->value.real < 0 ? "-inf" : "inf");
    else if (ir_is_float(node->element))
        buffer_printf(p->out, "%.1f", node->value.real);
    else if (node->element == IR_U64)
        buffer_printf(p->out, "%" PRIu64, (uint64_t)node->value.integer);
    else if (node->value.integer >= 0 && node->axis == 1)
        buffer_printf(p->out, "0x%" PRIx64, (uint64_t)node->value.integer);
    else
        buffer_printf(p->out, "%" PRId64, node->value.integer);
}

static void print_list(struct printer *p, const char *name, const struct meaning_node *node)
{
    buffer_printf(p->out, "%s(", name);
    for (int i = 0; i < MEANING_OPERANDS && node->operand[i]; i++) {
        buffer_puts(p->out, i ? ", " : "");
        print(p, node->operand[i], CHOICE);
    }
}

static void print_place(struct printer *p, const struct meaning_place *place)
{
    buffer_puts(p->out, p->m->views[place->view].name);
    for (int d = 0; d < place->rank; d++) {
        buffer_puts(p->out, d ? ", " : "[");
        if (place->index[d])
            print(p, place->index[d], BIT_OR);
        if (place->kind[d] == PLACE_PART)
            buffer_printf(p->out, " +: %d", place->size[d]);
        else if (place->kind[d] == PLACE_ALL)
            buffer_puts(p->out, ":");
    }
    buffer_puts(p->out, "]");
}

static void print_call(struct printer *p, const struct meaning_node *node)
{
    buffer_printf(p->out, "%s(", node->function->name);
    if (node->function->view >= 0)
        buffer_printf(p->out, "%s%s", p->m->views[node->place->view].name, node->function->parameters ? ", " : "");
    for (int i = 0; i < node->function->parameters; i++) {
        buffer_puts(p->out, i ? ", " : "");
        print(p, node->operand[i], CHOICE);
    }
    buffer_puts(p->out, ")");
}

static void print_shapes(struct printer *p, const struct meaning_node *node)
{
    if (node->kind == MEANING_PART) {
        print(p, node->operand[0], ATOM);
        for (int k = 0; k < node->axis; k++) {
            buffer_puts(p->out, k ? ", " : "[");
            if (node->order[k] < 0)
                buffer_puts(p->out, node->order[k] == -1 ? ":" : "None");
            else
                buffer_printf(p->out, "%d", node->order[k]);
        }
        buffer_puts(p->out, "]");
        return;
    }
    if (node->kind == MEANING_PERMUTE && node->axis == 1) {
        print_list(p, "trans", node);
    } else {
        print_list(p,
                   node->kind == MEANING_PERMUTE   ? "permute"
                   : node->kind == MEANING_RESHAPE ? "reshape"
                                                   : "broadcast",
                   node);
        for (int d = 0; d < node->shape.rank; d++)
            buffer_printf(p->out, ", %d", node->kind == MEANING_PERMUTE ? node->order[d] : node->shape.extent[d]);
    }
    buffer_puts(p->out, ")");
}

static void print_reduction(struct printer *p, const struct meaning_node *node)
{
    static const char *const names[] = {"sum", "min", "max", "any", "all", "argmax", "argmin", "reduce"};
    print_list(p, names[node->kind - MEANING_SUM], node);
    if (node->kind == MEANING_FOLD)
        buffer_printf(p->out, ", fold_%s",
                      node->sign[0] == 'l'   ? "left"
                      : node->sign[0] == 'r' ? "right"
                      : node->sign[0] == '^' ? "xor"
                      : node->sign[0] == '+' ? "add"
                                             : "mul");
    if (node->axis >= 0)
        buffer_printf(p->out, ", axis = %d", node->axis);
    buffer_puts(p->out, node->propagates ? ", nan = propagate)" : ")");
}

static void print_two(struct printer *p, const struct meaning_node *node, const char *sign, int left, int right)
{
    print(p, node->operand[0], left);
    buffer_printf(p->out, " %s ", sign);
    print(p, node->operand[1], right);
}

static void print_operator(struct printer *p, const struct meaning_node *node)
{
    int level = level_of(node);
    switch (node->kind) {
    case MEANING_NEGATE:
    case MEANING_TURN:
        buffer_putc(p->out, node->kind == MEANING_NEGATE ? '-' : '~');
        print(p, node->operand[0], node->operand[0]->kind == MEANING_TURN ? SIGN : ATOM);
        break;
    case MEANING_NOT:
        buffer_puts(p->out, "not ");
        print(p, node->operand[0], NOT);
        break;
    case MEANING_SAME: buffer_printf(p->out, "%s %s %s", node->name, node->sign, node->other_name); break;
    case MEANING_COMPARE: print_two(p, node, node->sign, level + 1, level + 1); break;
    case MEANING_AND: print_two(p, node, "and", level, level + 1); break;
    case MEANING_OR: print_two(p, node, "or", level, level + 1); break;
    case MEANING_PRODUCT: print_two(p, node, "@", level, level + 1); break;
    case MEANING_CHOOSE:
        print(p, node->operand[0], OR);
        buffer_puts(p->out, " ? ");
        print(p, node->operand[1], CHOICE);
        buffer_puts(p->out, " : ");
        print(p, node->operand[2], CHOICE);
        break;
    default: print_two(p, node, node->sign, level, level + 1); break;
    }
}

static void print_operand(void *context, const struct meaning_node *node) { print(context, node, CHOICE); }

static void print_atom(struct printer *p, const struct meaning_node *node)
{
    static const char *const names[] = {
        [MEANING_WHERE] = "where", [MEANING_MIN] = "min",   [MEANING_MAX] = "max",    [MEANING_CLAMP] = "clamp",
        [MEANING_ABS] = "abs",     [MEANING_CDIV] = "cdiv", [MEANING_ILOG2] = "ilog2"};
    switch (node->kind) {
    case MEANING_LITERAL:
        if (node->name || node->bare || node->element == IR_BOOL) {
            if (node->name)
                buffer_puts(p->out, node->name);
            else
                print_number(p, node);
            return;
        }
        buffer_printf(p->out, "%s(", type_text(node->element));
        print_number(p, node);
        buffer_puts(p->out, ")");
        return;
    case MEANING_VARIABLE: buffer_puts(p->out, node->name); return;
    case MEANING_CALL: print_call(p, node); return;
    case MEANING_READ: print_place(p, node->place); return;
    case MEANING_INSIDE:
    case MEANING_LOAD:
        buffer_puts(p->out, node->kind == MEANING_LOAD ? "load(" : "inside(");
        print_place(p, node->place);
        for (int i = 0; i < 2; i++)
            if (node->operand[i]) {
                buffer_puts(p->out, i ? ", mask = " : ", other = ");
                print(p, node->operand[i], CHOICE);
            }
        buffer_puts(p->out, ")");
        return;
    case MEANING_EXTENT:
    case MEANING_STRIDE:
        buffer_printf(p->out, "%s.%s[%d]", p->m->views[node->place->view].name,
                      node->kind == MEANING_EXTENT ? "extent" : "stride", node->axis);
        return;
    case MEANING_PRESENT: buffer_puts(p->out, p->m->views[node->place->view].name); return;
    case MEANING_IOTA: buffer_printf(p->out, "iota(%d)", node->shape.extent[0]); return;
    case MEANING_CONVERT:
    case MEANING_STRETCH:
        print_type(p, node->element, node->kind == MEANING_STRETCH ? node->shape : (struct meaning_shape){0});
        print_list(p, "", node);
        buffer_puts(p->out, ")");
        return;
    case MEANING_SATURATE:
    case MEANING_BITCAST:
        print_list(p, node->kind == MEANING_SATURATE ? "cast" : "bitcast", node);
        buffer_printf(p->out, ", %s%s)", type_text(node->element),
                      node->kind == MEANING_SATURATE ? ", saturate = true" : "");
        return;
    case MEANING_BROADCAST:
    case MEANING_RESHAPE:
    case MEANING_PERMUTE:
    case MEANING_PART: print_shapes(p, node); return;
    case MEANING_SUM:
    case MEANING_LEAST:
    case MEANING_MOST:
    case MEANING_ANY:
    case MEANING_ALL:
    case MEANING_ARGUMENT_OF_MOST:
    case MEANING_ARGUMENT_OF_LEAST:
    case MEANING_FOLD: print_reduction(p, node); return;
    default:
        if (node->kind >= MEANING_FLIP && node->kind <= MEANING_SCALED) {
            meaning_print_move(p->out, node, print_operand, p);
            return;
        }
        print_list(p, names[node->kind], node);
        buffer_puts(p->out, node->propagates ? ", nan = propagate)" : ")");
        return;
    }
}

static void print(struct printer *p, const struct meaning_node *node, int least)
{
    if (node->kind == MEANING_WIDEN) {
        print(p, node->operand[0], least);
        return;
    }
    int level = level_of(node);
    bool wrapped = level < least;
    buffer_puts(p->out, wrapped ? "(" : "");
    if (level == ATOM || node->kind == MEANING_LITERAL)
        print_atom(p, node);
    else
        print_operator(p, node);
    buffer_puts(p->out, wrapped ? ")" : "");
}

void meaning_print_expression(const struct meaning *m, struct buffer *out, const struct meaning_node *node)
{
    print(&(struct printer){.m = m, .out = out}, node, CHOICE);
}

/* ---- statements ---- */

static void new_line(struct printer *p)
{
    buffer_putc(p->out, '\n');
    for (int i = 0; i < p->indent; i++)
        buffer_puts(p->out, "    ");
}

static void print_body(struct printer *p, const struct meaning_body *body);

static void print_declaration(struct printer *p, const struct meaning_statement *s)
{
    buffer_printf(p->out, "%s %s", s->kind == MEANING_LET ? "let" : "var", s->name);
    if (s->typed) {
        buffer_puts(p->out, ": ");
        print_type(p, s->element, s->value[0]->shape);
    }
    buffer_puts(p->out, " = ");
    print(p, s->value[0], CHOICE);
    buffer_puts(p->out, ";");
}

static void print_loop(struct printer *p, const struct meaning_statement *s)
{
    buffer_printf(p->out, "%sfor %s in ", s->kind == MEANING_STATIC_FOR ? "static " : "", s->name);
    print(p, s->value[0], BIT_OR);
    buffer_puts(p->out, "..");
    print(p, s->value[1], BIT_OR);
    if (s->multiplies)
        buffer_printf(p->out, " step *%" PRId64, s->step);
    else if (s->step != 1)
        buffer_printf(p->out, " step %" PRId64, s->step);
    print_body(p, &s->body);
}

static void print_subview(struct printer *p, const struct meaning_statement *s)
{
    buffer_printf(p->out, "let %s = %s", p->m->views[s->slot].name, p->m->views[s->parent].name);
    for (int d = 0; d < p->m->views[s->parent].rank; d++) {
        buffer_puts(p->out, d ? ", " : "[");
        if (s->kinds[d] == PLACE_AT) {
            print(p, s->value[d], BIT_OR);
            continue;
        }
        if (s->low[d])
            print(p, s->low[d], BIT_OR);
        buffer_puts(p->out, " .. ");
        if (s->high[d])
            print(p, s->high[d], BIT_OR);
    }
    buffer_puts(p->out, "];");
}

static void print_store(struct printer *p, const struct meaning_statement *s)
{
    if (s->kind == MEANING_STORE_MASKED || s->kind == MEANING_ATOMIC) {
        if (s->kind == MEANING_ATOMIC)
            buffer_printf(p->out, "let %s = ", s->name);
        buffer_puts(p->out, s->kind == MEANING_STORE_MASKED ? "store("
                            : s->sign[0] == '+'             ? "atomic_add("
                            : s->sign[0] == '&'             ? "atomic_and("
                            : s->sign[0] == '|'             ? "atomic_or("
                                                            : "atomic_xor(");
        print_place(p, s->place);
        buffer_puts(p->out, ", ");
        print(p, s->value[0], CHOICE);
        if (s->value[1]) {
            buffer_puts(p->out, ", mask = ");
            print(p, s->value[1], CHOICE);
        }
        buffer_puts(p->out, ");");
        return;
    }
    print_place(p, s->place);
    buffer_printf(p->out, " %s= ", s->kind == MEANING_STORE_UPDATE ? s->sign : "");
    print(p, s->value[0], CHOICE);
    buffer_puts(p->out, ";");
}

static void print_struct(struct printer *p, const struct meaning_statement *s)
{
    const char *type = s->structure->name;
    if (s->kind == MEANING_STRUCT) {
        buffer_printf(p->out, "%s %s = %s(", s->typed ? "var" : "let", s->name, type);
        for (int m = 0; m < s->structure->count; m++) {
            buffer_puts(p->out, m ? ", " : "");
            if (s->step)
                buffer_printf(p->out, "m%d = ", m);
            print(p, s->value[m], CHOICE);
        }
        buffer_puts(p->out, ");");
        return;
    }
    buffer_printf(p->out, "%s = ", s->name);
    if (s->passed)
        buffer_printf(p->out, "same_%s(", type);
    if (s->third_name) {
        print(p, s->value[0], OR);
        buffer_printf(p->out, " ? %s : %s", s->other_name, s->third_name);
    } else {
        buffer_puts(p->out, s->other_name);
    }
    buffer_puts(p->out, s->passed ? ");" : ";");
}

static void print_statement(struct printer *p, const struct meaning_statement *s)
{
    new_line(p);
    switch (s->kind) {
    case MEANING_LET:
    case MEANING_VAR: print_declaration(p, s); return;
    case MEANING_ASSIGN:
    case MEANING_UPDATE:
        buffer_printf(p->out, "%s %s= ", s->name, s->kind == MEANING_UPDATE ? s->sign : "");
        print(p, s->value[0], CHOICE);
        buffer_puts(p->out, ";");
        return;
    case MEANING_SWAP:
        buffer_printf(p->out, "%s, %s = ", s->name, s->other_name);
        print(p, s->value[0], CHOICE);
        buffer_puts(p->out, ", ");
        print(p, s->value[1], CHOICE);
        buffer_puts(p->out, ";");
        return;
    case MEANING_STORE:
    case MEANING_STORE_UPDATE:
    case MEANING_STORE_MASKED:
    case MEANING_ATOMIC: print_store(p, s); return;
    case MEANING_IF:
        buffer_puts(p->out, "if (");
        print(p, s->value[0], CHOICE);
        buffer_puts(p->out, ")");
        print_body(p, &s->body);
        if (s->otherwise.statements.count) {
            buffer_puts(p->out, " else");
            print_body(p, &s->otherwise);
        }
        return;
    case MEANING_FOR:
    case MEANING_STATIC_FOR: print_loop(p, s); return;
    case MEANING_WHILE:
        buffer_puts(p->out, "while (");
        print(p, s->value[0], CHOICE);
        buffer_puts(p->out, ")");
        print_body(p, &s->body);
        return;
    case MEANING_BREAK: buffer_puts(p->out, "break;"); return;
    case MEANING_CONTINUE: buffer_puts(p->out, "continue;"); return;
    case MEANING_RETURN:
        buffer_puts(p->out, "return");
        for (int i = 0; i < 2 && s->value[i]; i++) {
            buffer_puts(p->out, i ? ", " : " ");
            print(p, s->value[i], CHOICE);
        }
        buffer_puts(p->out, ";");
        return;
    case MEANING_BLOCK: print_body(p, &s->body); return;
    case MEANING_TAKE_APART:
        buffer_printf(p->out, "let %s, %s = ", s->name, s->other_name);
        print_call(p, s->value[0]);
        buffer_puts(p->out, ";");
        return;
    case MEANING_STRUCT:
    case MEANING_STRUCT_COPY: print_struct(p, s); return;
    case MEANING_PRINT:
    case MEANING_ASSERT:
        buffer_puts(p->out, s->kind == MEANING_PRINT ? "print(\"is {} {{}}\", " : "assert(");
        print(p, s->value[0], CHOICE);
        buffer_puts(p->out, s->kind == MEANING_PRINT ? ");" : ", \"it is\");");
        return;
    case MEANING_SUBVIEW: print_subview(p, s); return;
    case MEANING_TURN_VIEW:
        buffer_printf(p->out, "let %s = %s(%s%s);", p->m->views[s->slot].name, s->step ? "trans" : "permute",
                      p->m->views[s->parent].name, s->step ? "" : ", 1, 0");
        return;
    }
}

/* A single statement may stand without braces, but for declarations, and an `if` in front of an `else`. */
static void print_body(struct printer *p, const struct meaning_body *body)
{
    if (body->statements.count == 1) {
        enum meaning_statement_kind kind = body->statements.data[0]->kind;
        if (kind == MEANING_BREAK || kind == MEANING_CONTINUE || kind == MEANING_RETURN || kind == MEANING_UPDATE ||
            kind == MEANING_STORE) {
            p->indent++;
            print_statement(p, body->statements.data[0]);
            p->indent--;
            return;
        }
    }
    buffer_puts(p->out, " {");
    p->indent++;
    for (int i = 0; i < body->statements.count; i++)
        print_statement(p, body->statements.data[i]);
    p->indent--;
    new_line(p);
    buffer_puts(p->out, "}");
}

/* ---- declarations ---- */

static void print_function(struct printer *p, const struct meaning_function *f)
{
    const struct meaning_view *view = f->view >= 0 ? &p->m->views[f->view] : NULL;
    buffer_printf(p->out, "%sfn %s(", f->for_host ? "const " : "", f->name);
    if (view)
        buffer_printf(p->out, "%s: in %s[%s]%s", view->name, type_text(view->element),
                      view->rank == 2 ? "VM, VN" : "VN", f->parameters ? ", " : "");
    for (int i = 0; i < f->parameters; i++)
        buffer_printf(p->out, "%s%sp%d%s%s", i ? ", " : "", f->constant[i] ? "const " : "", f->slot[i],
                      f->constant[i] ? "" : ": ", f->constant[i] ? "" : type_text(f->element[i]));
    buffer_puts(p->out, ") -> ");
    if (f->results == 2)
        buffer_printf(p->out, "(%s, %s)", type_text(f->result[0]), type_text(f->result[1]));
    else
        buffer_puts(p->out, type_text(f->result[0]));
    const struct meaning_statement *last = f->body.statements.data[0];
    if (f->body.statements.count == 1 && last->kind == MEANING_RETURN && f->results == 1) {
        buffer_puts(p->out, " = ");
        print(p, last->value[0], CHOICE);
        buffer_puts(p->out, ";\n\n");
        return;
    }
    buffer_puts(p->out, "\n{");
    p->indent++;
    for (int i = 0; i < f->body.statements.count; i++)
        print_statement(p, f->body.statements.data[i]);
    p->indent--;
    buffer_puts(p->out, "\n}\n\n");
}

static void print_clauses(struct printer *p)
{
    const struct meaning *m = p->m;
    buffer_puts(p->out, ")\n    grid(g: ");
    print(p, m->grid[0], BIT_OR);
    buffer_puts(p->out, ", h: ");
    print(p, m->grid[1], BIT_OR);
    buffer_puts(p->out, ")");
    if (m->requires) {
        buffer_puts(p->out, "\n    requires(");
        print(p, m->requires, CHOICE);
        buffer_puts(p->out, ")");
    }
    if (m->specialize) {
        buffer_puts(p->out, "\n    specialize(");
        print(p, m->specialize, CHOICE);
        buffer_puts(p->out, ")");
    }
}

void meaning_print(const struct meaning *m, struct buffer *out)
{
    struct printer p = {.m = m, .out = out};
    buffer_puts(out, "fn fold_left<T>(a: T, b: T) -> T = a;\nfn fold_right<T>(a: T, b: T) -> T = b;\n"
                     "fn fold_add<T>(a: T, b: T) -> T = a + b;\nfn fold_mul<T>(a: T, b: T) -> T = a * b;\n"
                     "fn fold_xor<T>(a: T, b: T) -> T = a ^ b;\n\n");
    for (int i = 0; i < m->structs.count; i++) {
        const struct meaning_struct *structure = m->structs.data[i];
        buffer_printf(out, "struct %s { ", structure->name);
        for (int member = 0; member < structure->count; member++)
            buffer_printf(out, "m%d: %s; ", member, type_text(structure->element[member]));
        buffer_printf(out, "}\nfn same_%s(p: %s) -> %s\n{\n    var q = p;\n    return q;\n}\n", structure->name,
                      structure->name, structure->name);
    }
    for (int i = 0; i < m->constants.count; i++) {
        const struct meaning_constant *c = &m->constants.data[i];
        buffer_printf(out, "const %s%s%s = ", c->name, c->typed ? ": " : "",
                      c->typed ? type_text(c->value->element) : "");
        print(&p, c->value, CHOICE);
        buffer_puts(out, ";\n");
    }
    for (int i = 0; i < m->functions.count; i++)
        print_function(&p, m->functions.data[i]);
    buffer_puts(out, "kernel k(");
    for (int i = 0; i <= m->inputs; i++) {
        const struct meaning_view *view = &m->views[i];
        buffer_printf(out, "%s: %s%s %s%s[", view->name, view->writable ? "inout" : "in", view->optional ? "?" : "",
                      view->strided ? "strided " : "", type_text(view->element));
        for (int d = 0; d < view->rank; d++)
            if (view->fixed[d])
                buffer_printf(out, "%s%d", d ? ", " : "", (int)view->fixed[d]);
            else
                buffer_printf(out, "%sE%d_%d", d ? ", " : "", i, d);
        buffer_puts(out, i == m->inputs && !m->scalar_count ? "]" : "], ");
    }
    for (int i = 0; i < m->scalar_count; i++)
        buffer_printf(out, "%s: %s%s", m->scalar_name[i], type_text(m->scalar_element[i]),
                      i + 1 < m->scalar_count ? ", " : "");
    print_clauses(&p);
    buffer_puts(out, "\n{");
    p.indent++;
    for (int i = 0; i < m->body.statements.count; i++)
        print_statement(&p, m->body.statements.data[i]);
    buffer_puts(out, "\n}\n");
}
