/* What is said of findings, and the value that is proposed to be read outside. */
#include <ctype.h>
#include <string.h>

#include "ir/query.h"
#include "passes/lint/padding.h"

/* The function that the source calls there, or what the operation is. */
static const char *name_of(const struct padding_walk *w, const struct ir_operation *op)
{
    static const char *const kinds[] = {"sum", "product", "min", "max", "all", "any", "xor_sum", "reduce"};
    size_t size, length = 0;
    const char *text = source_line(op->at, &size);
    if (op->opcode == OP_DOT)
        return "@";
    if (text && op->at.column >= 1 && (size_t)op->at.column <= size) {
        text += op->at.column - 1;
        size -= (size_t)op->at.column - 1;
        while (length < size && (isalnum((unsigned char)text[length]) || text[length] == '_'))
            length++;
        if (length && length < size && text[length] == '(')
            return arena_substring(w->lint->arena, text, length);
    }
    if (op->opcode == OP_SORT || op->opcode == OP_HISTOGRAM)
        return ir_op_info[op->opcode].text;
    if (op->opcode == OP_MIN || op->opcode == OP_MAX)
        return op->opcode == OP_MIN ? "min" : "max";
    return kinds[ir_number(op, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD)];
}

static const char *neutral_words(const struct ir_operation *op)
{
    if (op->opcode == OP_DOT)
        return "0";
    if (op->opcode == OP_MIN || op->opcode == OP_MAX)
        return op->opcode == OP_MIN ? "the greatest value" : "the least value";
    if (op->opcode == OP_SORT)
        return ir_number(op, IR_ATTRIBUTE_DESCENDING, 0) ? "the least value" : "the greatest value";
    if (op->opcode == OP_HISTOGRAM)
        return "-1, which counts nowhere";
    switch (ir_number(op, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD)) {
    case IR_REDUCE_MUL: return "1";
    case IR_REDUCE_AND: return "true";
    case IR_REDUCE_MIN: return "the greatest value";
    case IR_REDUCE_MAX: return "the least value";
    case IR_REDUCE_REGION: return "a value that leaves the result as it is";
    default: return "0";
    }
}

/* Numbers that a load may read outside so that the reduction is right, and nothing else becomes wrong by it. */
struct candidate {
    double number;
    const char *text;
};

static int list_candidates(struct arena *arena, enum ir_element element, struct candidate *list)
{
    struct known whole = known_nothing(element);
    int count = 0;
    if (element == IR_BOOL) {
        list[count++] = (struct candidate){1, "true"};
        return count;
    }
    if (ir_is_float(element) && ir_element_info[element].bits > 8) {
        list[count++] = (struct candidate){whole.low, "-inf"};
        list[count++] = (struct candidate){whole.high, "inf"};
        list[count++] = (struct candidate){1, "1.0"};
        return count;
    }
    const char *type = ir_element_info[element].text;
    if (whole.low < 0 && !ir_is_float(element))
        list[count++] = (struct candidate){-1, "-1"};
    if (whole.low < 0)
        list[count++] = (struct candidate){whole.low, arena_printf(arena, "lowest(%s)", type)};
    list[count++] = (struct candidate){whole.high, arena_printf(arena, "highest(%s)", type)};
    list[count++] = (struct candidate){1, ir_is_float(element) ? "1.0" : "1"};
    return count;
}

static enum ir_element element_of(const struct padding_walk *w, uint64_t pads)
{
    enum ir_element element = IR_ELEMENT_COUNT;
    for (int i = 0; i < w->pad_count; i++) {
        enum ir_element own = w->pads[i].load->results[0]->type->element;
        if (!(pads >> i & 1))
            continue;
        if (element != IR_ELEMENT_COUNT && element != own)
            return IR_ELEMENT_COUNT;
        element = own;
    }
    return element;
}

/* All dimensions of the loads that the pads stand for: `other` is for the whole load. */
static uint64_t pads_of_loads(const struct padding_walk *w, uint64_t pads)
{
    uint64_t all = pads;
    for (int i = 0; i < w->pad_count; i++)
        for (int k = 0; k < w->pad_count; k++)
            if (pads >> i & 1 && w->pads[k].load == w->pads[i].load)
                all |= UINT64_C(1) << k;
    return all;
}

/* What the loads should read instead; NULL: no number does. */
static const char *find_other(const struct padding_walk *w, const struct padding_finding *finding)
{
    struct candidate list[4];
    enum ir_element element = element_of(w, finding->pads);
    int count = element == IR_ELEMENT_COUNT ? 0 : list_candidates(w->lint->arena, element, list);
    for (int i = 0; i < count; i++) {
        struct padding_walk trial = *w;
        trial.of = ARENA_ARRAY(w->lint->arena, struct padding_shade, w->function->next_value_id);
        trial.findings.data = NULL;
        trial.findings.count = trial.findings.capacity = 0;
        trial.tried = pads_of_loads(w, finding->pads);
        trial.instead = list[i].number;
        padding_walk_function(&trial);
        bool good = true;
        for (int k = 0; k < trial.findings.count; k++) {
            bool was = false;
            for (int j = 0; j < w->findings.count; j++)
                was = was || w->findings.data[j].op == trial.findings.data[k].op;
            good = good && was && trial.findings.data[k].op != finding->op;
        }
        if (good)
            return list[i].text;
    }
    return NULL;
}

/* Of a load or store; of pointers the one that all are counted from. */
static const char *view_name(const struct ir_operation *load)
{
    struct ir_access access;
    const struct ir_value *view = ir_access_of(load, &access) ? access.view : load->operands[0];
    while (!view->name && view->definition && view->definition->operand_count)
        view = view->definition->operands[0];
    return view->name ? view->name : "its view";
}

/* `x[m, 0 +: B]` becomes `load(x[m, 0 +: B], other = -inf)`, and a load gets the option. */
static void propose(const struct padding_walk *w, struct diagnostic *d, const struct ir_operation *load,
                    const char *other)
{
    size_t size;
    const char *text = source_line(load->at, &size);
    int from = load->at.column - 1, to = load->at.end_column - 1;
    if (!text || from < 0 || to <= from || (size_t)to > size)
        return;
    struct location begin = load->at, end = load->at;
    const char *option = arena_printf(w->lint->arena, ", other = %s%s", other, text[to - 1] == ']' ? ")" : "");
    begin.end_column = begin.column;
    end.column = end.end_column = load->at.end_column;
    if (text[to - 1] == ']')
        diag_fixit(w->lint->diagnostics, d, begin, FIXIT_PROBABLE, "load(");
    else if (text[to - 1] != ')' || strncmp(text + from, "load", 4) != 0)
        return;
    else
        end.column = end.end_column = load->at.end_column - 1;
    diag_fixit(w->lint->diagnostics, d, end, FIXIT_PROBABLE, option);
}

static const char *outside_words(const struct padding_walk *w, const struct padding_finding *finding)
{
    struct known outside = finding->outside;
    if (outside.kind != KNOWN_NUMBER)
        return "something";
    if (finding->op->operands[0]->type->element == IR_BOOL)
        return outside.low != 0 ? "true" : "false";
    return arena_printf(w->lint->arena, "%g", outside.low);
}

/* What is read there is 0; what is computed of it is another number. */
static const char *read_words(const struct padding_finding *finding)
{
    struct known outside = finding->outside;
    if (outside.kind == KNOWN_NUMBER && outside.low == 0 && finding->op->operands[0]->type->element != IR_BOOL)
        return "which read as 0";
    return "computed from 0";
}

/* What becomes of the result. */
static const char *effect_words(const struct padding_walk *w, const struct padding_finding *finding)
{
    const struct ir_operation *op = finding->op;
    struct arena *arena = w->lint->arena;
    const char *there = outside_words(w, finding);
    bool is_known = finding->outside.kind == KNOWN_NUMBER;
    if (op->opcode == OP_SORT)
        return "they come among the others";
    if (op->opcode == OP_HISTOGRAM)
        return is_known ? arena_printf(arena, "each is counted as %s", there) : "each is counted";
    if (op->opcode == OP_DOT)
        return "they are added to the product";
    int kind = op->opcode == OP_MIN   ? IR_REDUCE_MIN
               : op->opcode == OP_MAX ? IR_REDUCE_MAX
                                      : (int)ir_number(op, IR_ATTRIBUTE_KIND, IR_REDUCE_ADD);
    switch (kind) {
    case IR_REDUCE_ADD: return arena_printf(arena, "each adds %s to the sum", there);
    case IR_REDUCE_MUL: return arena_printf(arena, "each multiplies the product by %s", there);
    case IR_REDUCE_MIN:
        return is_known ? arena_printf(arena, "a minimum above %s comes out as %s", there, there)
                        : "the minimum may be one of them";
    case IR_REDUCE_MAX:
        return is_known ? arena_printf(arena, "a maximum below %s comes out as %s", there, there)
                        : "the maximum may be one of them";
    case IR_REDUCE_AND: return "one of them makes the result false";
    case IR_REDUCE_OR: return "one of them makes the result true";
    default: return "the result is another with them";
    }
}

/* Whether index tiles are what the finding is about. */
static bool writes(const struct ir_operation *op) { return ir_has_trait(op, IR_TRAIT_WRITE | IR_TRAIT_ATOMIC); }

static bool has_index_tile(const struct ir_operation *op)
{
    struct ir_access access;
    bool has = false;
    for (int d = 0; ir_access_of(op, &access) && d < access.rank; d++)
        has = has || access.place[d] == IR_GATHER;
    return has;
}

/* Of what is stored without index tiles: whether it is turned around and has these pads first, or else is joined. */
static bool is_turned(const struct padding_walk *w, const struct ir_operation *op, uint64_t pads)
{
    struct ir_access access;
    if (!ir_access_of(op, &access))
        return false;
    const struct padding_shade *shade = &w->of[access.value->id];
    for (int d = 0; d < access.value->type->rank; d++)
        if (shade->turned >> d & 1 && shade->pads[d] & pads)
            return true;
    return false;
}

static struct diagnostic *begin(const struct padding_walk *w, const struct padding_finding *finding, const char *view)
{
    const struct ir_operation *op = finding->op;
    const char *there = outside_words(w, finding);
    if (writes(op) && !has_index_tile(op))
        return diag_report(
            w->lint->diagnostics, DIAGNOSTIC_W1011, op->at,
            is_turned(w, op, finding->pads)
                ? "what lies outside of `%s` comes first in a tile that is turned around, and is stored in `%s`"
                : "what lies outside of `%s` comes between tiles that are joined, and is stored in `%s`",
            view, view_name(op));
    if (writes(op))
        return diag_report(
            w->lint->diagnostics, DIAGNOSTIC_W1011, op->at,
            "an index that lies outside of `%s` is %s here, and an element of `%s` is changed there, too", view, there,
            view_name(op));
    return diag_report(w->lint->diagnostics, DIAGNOSTIC_W1011, op->at,
                       "`%s` counts elements of the tile that lie outside of `%s`, %s: %s", name_of(w, op), view,
                       read_words(finding), effect_words(w, finding));
}

static void note_pad(const struct padding_walk *w, struct diagnostic *d, const struct padding_pad *pad)
{
    struct ir_access access;
    const char *view = view_name(pad->load);
    if (pad->dimension == PADDING_MASK)
        diag_note(w->lint->diagnostics, d, pad->load->at, "where the mask is false this gives 0");
    else if (ir_access_of(pad->load, &access) && access.place[pad->dimension] == 0)
        diag_note(w->lint->diagnostics, d, pad->load->at,
                  "index %d may lie outside of `%s`, and what is outside reads as 0", pad->dimension, view);
    else
        diag_note(w->lint->diagnostics, d, pad->load->at,
                  "dimension %d of `%s` may end within this tile, and what is outside reads as 0", pad->dimension,
                  view);
}

static void report(const struct padding_walk *w, const struct padding_finding *finding)
{
    const struct lint *lint = w->lint;
    const struct ir_operation *first = NULL;
    for (int i = w->pad_count - 1; i >= 0; i--)
        if (finding->pads >> i & 1)
            first = w->pads[i].load;
    struct diagnostic *d = begin(w, finding, view_name(first));
    diag_instance(lint->diagnostics, d, lint->instance);
    const char *other = writes(finding->op) && !has_index_tile(finding->op) ? NULL : find_other(w, finding);
    for (int i = 0; i < w->pad_count; i++) {
        if (!(finding->pads >> i & 1))
            continue;
        note_pad(w, d, &w->pads[i]);
        if (other)
            propose(w, d, w->pads[i].load, other);
    }
    if (writes(finding->op) && !has_index_tile(finding->op))
        diag_note(lint->diagnostics, d, finding->op->at,
                  "store it that much further in front: `y[n - B +: B] = flip(x[0 +: B]);` for rows of n elements");
    else if (!other && writes(finding->op))
        diag_note(lint->diagnostics, d, finding->op->at,
                  "-1 names no element: `load(place, other = -1)`, or a mask leaves it out");
    else if (!other)
        diag_note(lint->diagnostics, d, finding->op->at,
                  "choose %s there: `where(inside(place), v, n)`, or `load(place, other = n)`",
                  neutral_words(finding->op));
}

void padding_report(const struct padding_walk *w)
{
    for (int i = 0; i < w->findings.count; i++)
        report(w, &w->findings.data[i]);
}
