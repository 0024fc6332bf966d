/* What a source means (see meaning.h): a walk over its tree, one element after the other, from the rules of
 * man/tile.7 and man/tile-library.7. */
#include "meaning_run.h"

#include <math.h>
#include <string.h>

__extension__ typedef __int128 wide;

enum { MOST_STEPS = 60000 };
enum leaving { STAYS, BREAKS, CONTINUES, RETURNS };
struct view_value {
    int array;
    int64_t offset, extent[2], stride[2];
    bool absent;
};
struct runner {
    const struct meaning *m;
    struct meaning_argument *arguments;
    struct meaning_tile slot[MEANING_SLOTS];
    struct view_value view[MEANING_VIEWS];
    union meaning_cell result[2]; /* of the function that returned last */
    const struct meaning_function *function;
    long steps;
    bool host, overflow; /* arithmetic of i64 that must not overflow */
};

static void evaluate(struct runner *r, const struct meaning_node *node, struct meaning_tile *out);
static enum leaving run_body(struct runner *r, const struct meaning_body *body);

int meaning_elements(struct meaning_shape shape)
{
    int count = 1;
    for (int d = 0; d < shape.rank; d++)
        count *= shape.extent[d];
    return count;
}

union meaning_cell meaning_fit(enum ir_element element, union meaning_cell value)
{
    int bits = ir_element_info[element].bits;
    if (element == IR_F32)
        value.real = (double)(float)value.real;
    else if (element == IR_BOOL)
        value.integer = value.integer != 0;
    else if (!ir_is_float(element) && bits < 64) {
        uint64_t low = (uint64_t)value.integer << (64 - bits);
        value.integer = ir_is_signed(element) ? (int64_t)low >> (64 - bits) : (int64_t)(low >> (64 - bits));
    }
    return value;
}

/* Where element i of the larger shape is found in a tile of the smaller one. */
static int stretched(struct meaning_shape to, struct meaning_shape from, int i)
{
    int at = 0, step = 1;
    if (from.rank == 0)
        return 0;
    for (int d = to.rank - 1; d >= 0; d--) {
        at += from.extent[d] == 1 ? 0 : i % to.extent[d] * step;
        step *= from.extent[d];
        i /= to.extent[d];
    }
    return at;
}

static int64_t host_narrow(struct runner *r, wide value)
{
    r->overflow |= r->host && (value > INT64_MAX || value < INT64_MIN);
    return (int64_t)value;
}

static int64_t quotient(struct runner *r, bool is_signed, int64_t a, int64_t b)
{
    if (b == 0)
        return 0;
    return is_signed ? host_narrow(r, (wide)a / b) : (int64_t)((uint64_t)a / (uint64_t)b);
}

static int64_t shifted(struct runner *r, enum ir_element element, bool left, int64_t a, int64_t by)
{
    bool far = by < 0 || by >= ir_element_info[element].bits;
    if (left && r->host) {
        r->overflow |= a != 0 && (by < 0 || by > 63);
        return far ? 0 : host_narrow(r, (wide)a * ((wide)1 << by));
    }
    if (left)
        return far ? 0 : (int64_t)((uint64_t)a << by);
    if (!ir_is_signed(element))
        return far ? 0 : (int64_t)((uint64_t)a >> by);
    return far ? (a < 0 ? -1 : 0) : a >> by;
}

union meaning_cell meaning_binary(struct runner *r, enum ir_element element, const char *sign, union meaning_cell a,
                                  union meaning_cell b)
{
    union meaning_cell c = {0};
    bool is_signed = ir_is_signed(element);
    if (ir_is_float(element)) {
        c.real = *sign == '+'   ? a.real + b.real
                 : *sign == '-' ? a.real - b.real
                 : *sign == '*' ? a.real * b.real
                 : *sign == '/' ? a.real / b.real
                                : fmod(a.real, b.real);
        return meaning_fit(element, c);
    }
    switch (*sign) {
    case '+': c.integer = host_narrow(r, (wide)a.integer + b.integer); break;
    case '-': c.integer = host_narrow(r, (wide)a.integer - b.integer); break;
    case '*': c.integer = host_narrow(r, (wide)a.integer * b.integer); break;
    case '/': c.integer = quotient(r, is_signed, a.integer, b.integer); break;
    case '%':
        c.integer = b.integer == 0 ? a.integer
                    : is_signed    ? (int64_t)((wide)a.integer % b.integer)
                                   : (int64_t)((uint64_t)a.integer % (uint64_t)b.integer);
        break;
    case '&': c.integer = a.integer & b.integer; break;
    case '|': c.integer = a.integer | b.integer; break;
    case '^': c.integer = a.integer ^ b.integer; break;
    default: c.integer = shifted(r, element, *sign == '<', a.integer, b.integer); break;
    }
    return meaning_fit(element, c);
}

int meaning_order(enum ir_element element, union meaning_cell a, union meaning_cell b)
{
    if (ir_is_float(element))
        return a.real < b.real ? -1 : a.real > b.real ? 1 : a.real == b.real ? 0 : 2;
    if (ir_is_signed(element) || element == IR_BOOL)
        return (a.integer > b.integer) - (a.integer < b.integer);
    return ((uint64_t)a.integer > (uint64_t)b.integer) - ((uint64_t)a.integer < (uint64_t)b.integer);
}

static bool compared(enum ir_element element, const char *sign, union meaning_cell a, union meaning_cell b)
{
    int is = meaning_order(element, a, b);
    bool or_equal = sign[1] == '=';
    switch (*sign) {
    case '=': return is == 0;
    case '!': return is != 0;
    case '<': return is == -1 || (or_equal && is == 0);
    default: return is == 1 || (or_equal && is == 0);
    }
}

union meaning_cell meaning_least_or_most(const struct meaning_node *node, bool most, union meaning_cell a,
                                         union meaning_cell b)
{
    int is = meaning_order(node->element, a, b);
    if (is == 2)
        return isnan(a.real) == node->propagates ? a : b;
    if (is == 0 && ir_is_float(node->element)) /* -0 is under 0 */
        return (signbit(a.real) != 0) == most ? b : a;
    return (most ? is >= 0 : is <= 0) ? a : b;
}

static double least_of(enum ir_element element)
{
    return ir_is_signed(element) ? -ldexp(1, ir_element_info[element].bits - 1) : 0;
}

/* Cut off, and no less or more than the type has. */
static int64_t integer_of_real(enum ir_element element, double real)
{
    double low = least_of(element), high = ldexp(1, ir_element_info[element].bits - (ir_is_signed(element) ? 1 : 0));
    if (real != real)
        return 0;
    if (real <= low)
        return element == IR_I64 ? INT64_MIN : (int64_t)low;
    if (real >= high)
        return element == IR_U64 ? -1 : element == IR_I64 ? INT64_MAX : (int64_t)high - 1;
    return element == IR_U64 ? (int64_t)(uint64_t)real : (int64_t)real;
}

static union meaning_cell converted(enum ir_element from, enum ir_element to, union meaning_cell value, bool saturate)
{
    union meaning_cell out = value;
    if (to == IR_BOOL) {
        out.integer = ir_is_float(from) ? value.real != 0 : value.integer != 0;
    } else if (ir_is_float(from) && !ir_is_float(to)) {
        out.integer = integer_of_real(to, value.real);
    } else if (ir_is_float(to) && !ir_is_float(from)) {
        if (to == IR_F32)
            out.real = from == IR_U64 ? (double)(float)(uint64_t)value.integer : (double)(float)value.integer;
        else
            out.real = from == IR_U64 ? (double)(uint64_t)value.integer : (double)value.integer;
    } else if (!ir_is_float(to) && saturate) {
        wide number = from == IR_U64 ? (wide)(uint64_t)value.integer : value.integer;
        int bits = ir_element_info[to].bits;
        wide low = ir_is_signed(to) ? -((wide)1 << (bits - 1)) : 0,
             high = ((wide)1 << (ir_is_signed(to) ? bits - 1 : bits)) - 1;
        out.integer = (int64_t)(number < low ? low : number > high ? high : number);
    }
    return meaning_fit(to, out);
}

static union meaning_cell bits_as(enum ir_element from, enum ir_element to, union meaning_cell value)
{
    if (ir_is_float(from) == ir_is_float(to))
        return meaning_fit(to, value);
    union meaning_cell out = {0};
    uint64_t bits = ir_is_float(from) ? ir_double_to_bits(from, value.real) : (uint64_t)value.integer;
    if (ir_is_float(to))
        out.real = ir_bits_to_double(to, bits);
    else
        out.integer = (int64_t)bits;
    return meaning_fit(to, out);
}

/* ---- memory ---- */

struct spots {
    int count;
    struct meaning_shape shape;
    int64_t at[MEANING_ELEMENTS]; /* -1: outside */
};

static int64_t index_of(enum ir_element element, int64_t value)
{
    return element == IR_U64 && value < 0 ? INT64_MAX : value;
}

/* The shape of a place, and which of its dimensions, from first[d] on, are of the view's d. */
static void shape_place(const struct meaning_place *place, struct meaning_shape *shape, int *first, int *count)
{
    int gathered = -1;
    *shape = (struct meaning_shape){0};
    for (int d = 0; d < place->rank; d++) {
        first[d] = shape->rank;
        count[d] = 0;
        if (place->kind[d] == PLACE_PART || place->kind[d] == PLACE_ALL) {
            shape->extent[shape->rank++] = place->size[d];
            count[d] = 1;
        } else if (place->kind[d] == PLACE_GATHER) {
            struct meaning_shape tile = place->index[d]->shape;
            if (gathered >= 0) { /* both are taken side by side */
                first[d] = first[gathered];
                count[d] = count[gathered];
                continue;
            }
            gathered = d;
            count[d] = tile.rank;
            for (int k = 0; k < tile.rank; k++)
                shape->extent[shape->rank++] = tile.extent[k];
        }
    }
}

static void find_spots(struct runner *r, const struct meaning_place *place, struct spots *spots)
{
    const struct view_value *view = &r->view[place->view];
    struct meaning_tile index[2];
    int first[2], count[2];
    shape_place(place, &spots->shape, first, count);
    spots->count = meaning_elements(spots->shape);
    for (int d = 0; d < place->rank; d++)
        if (place->index[d])
            evaluate(r, place->index[d], &index[d]);
    for (int i = 0; i < spots->count; i++) {
        int along[MEANING_RANK] = {0}, rest = i;
        for (int k = spots->shape.rank - 1; k >= 0; k--) {
            along[k] = rest % spots->shape.extent[k];
            rest /= spots->shape.extent[k];
        }
        spots->at[i] = view->offset;
        for (int d = 0; d < place->rank; d++) {
            wide at = place->kind[d] == PLACE_ALL ? 0 : index_of(place->index[d]->element, index[d].at[0].integer);
            if (place->kind[d] == PLACE_PART || place->kind[d] == PLACE_ALL) {
                at += along[first[d]];
            } else if (place->kind[d] == PLACE_GATHER) {
                int which = 0;
                for (int k = 0; k < count[d]; k++)
                    which = which * place->index[d]->shape.extent[k] + along[first[d] + k];
                at = index_of(place->index[d]->element, index[d].at[which].integer);
            }
            if (view->absent || at < 0 || at >= view->extent[d])
                spots->at[i] = -1;
            else if (spots->at[i] >= 0)
                spots->at[i] += (int64_t)at * view->stride[d];
        }
    }
}

static void read_place(struct runner *r, const struct meaning_node *node, struct meaning_tile *out)
{
    struct spots spots;
    struct meaning_tile other = {0}, mask;
    find_spots(r, node->place, &spots);
    if (node->kind == MEANING_LOAD && node->operand[0])
        evaluate(r, node->operand[0], &other);
    if (node->kind == MEANING_LOAD && node->operand[1])
        evaluate(r, node->operand[1], &mask);
    for (int i = 0; i < spots.count; i++) {
        bool there = spots.at[i] >= 0;
        if (node->kind == MEANING_INSIDE) {
            out->at[i].integer = there;
            continue;
        }
        if (node->kind == MEANING_LOAD && node->operand[1])
            there = there && mask.at[stretched(spots.shape, node->operand[1]->shape, i)].integer;
        out->at[i] = there ? r->arguments[r->view[node->place->view].array].cell[spots.at[i]]
                     : node->kind == MEANING_LOAD && node->operand[0]
                         ? other.at[stretched(spots.shape, node->operand[0]->shape, i)]
                         : (union meaning_cell){0};
    }
}

/* ---- shapes ---- */

static void reduce(struct runner *r, const struct meaning_node *node, const struct meaning_tile *from,
                   struct meaning_tile *out)
{
    const struct meaning_node *source = node->operand[0];
    struct meaning_shape shape = source->shape;
    int inner = 1, along = meaning_elements(shape), outer = 1;
    if (node->axis >= 0) {
        along = shape.extent[node->axis];
        for (int d = 0; d < shape.rank; d++)
            *(d < node->axis ? &outer : &inner) *= d == node->axis ? 1 : shape.extent[d];
    }
    for (int i = 0; i < outer; i++)
        for (int k = 0; k < inner; k++) {
            union meaning_cell value = from->at[i * along * inner + k];
            int best = 0;
            for (int n = 1; n < along; n++) {
                union meaning_cell next = from->at[(i * along + n) * inner + k];
                switch (node->kind) {
                case MEANING_SUM: value = meaning_binary(r, node->element, "+", value, next); break;
                case MEANING_LEAST: value = meaning_least_or_most(node, false, value, next); break;
                case MEANING_MOST: value = meaning_least_or_most(node, true, value, next); break;
                case MEANING_ANY: value.integer |= next.integer; break;
                case MEANING_ALL: value.integer &= next.integer; break;
                case MEANING_ARGUMENT_OF_LEAST:
                case MEANING_ARGUMENT_OF_MOST:
                    if (meaning_order(source->element, next, value) ==
                        (node->kind == MEANING_ARGUMENT_OF_MOST ? 1 : -1)) {
                        value = next;
                        best = n;
                    }
                    break;
                default:
                    value = node->sign[0] == 'l'   ? value
                            : node->sign[0] == 'r' ? next
                                                   : meaning_binary(r, node->element, node->sign, value, next);
                }
            }
            out->at[i * inner + k] = value;
            if (node->kind == MEANING_ARGUMENT_OF_MOST || node->kind == MEANING_ARGUMENT_OF_LEAST)
                out->at[i * inner + k].integer = best;
        }
}

static void permute(const struct meaning_node *node, const struct meaning_tile *from, struct meaning_tile *out)
{
    struct meaning_shape shape = node->operand[0]->shape;
    for (int i = 0; i < meaning_elements(node->shape); i++) {
        int along[MEANING_RANK] = {0}, rest = i, at = 0;
        for (int d = shape.rank - 1; d >= 0; d--) {
            along[node->order[d]] = rest % node->shape.extent[d];
            rest /= node->shape.extent[d];
        }
        for (int d = 0; d < shape.rank; d++)
            at = at * shape.extent[d] + along[d];
        out->at[i] = from->at[at];
    }
}

/* order holds an entry for each of what stands between the brackets. */
static void take_part(const struct meaning_node *node, const struct meaning_tile *from, struct meaning_tile *out)
{
    struct meaning_shape shape = node->operand[0]->shape;
    for (int i = 0; i < meaning_elements(node->shape); i++) {
        int along[MEANING_RANK] = {0}, rest = i, at = 0, dimension = 0, result = 0;
        for (int d = node->shape.rank - 1; d >= 0; d--) {
            along[d] = rest % node->shape.extent[d];
            rest /= node->shape.extent[d];
        }
        for (int k = 0; k < node->axis; k++) {
            if (node->order[k] == -2) {
                result++;
                continue;
            }
            at = at * shape.extent[dimension++] + (node->order[k] == -1 ? along[result++] : node->order[k]);
        }
        out->at[i] = from->at[at];
    }
}

static void multiply(struct runner *r, const struct meaning_node *node, const struct meaning_tile *a,
                     const struct meaning_tile *b, struct meaning_tile *out)
{
    int n = node->shape.extent[1], inner = node->operand[0]->shape.extent[1];
    for (int i = 0; i < meaning_elements(node->shape); i++) {
        union meaning_cell sum = {0};
        for (int k = 0; k < inner; k++)
            sum = meaning_binary(r, IR_I32, "+", sum,
                                 meaning_binary(r, IR_I32, "*", a->at[i / n * inner + k], b->at[k * n + i % n]));
        out->at[i] = sum;
    }
}

/* ---- expressions ---- */

static void call(struct runner *r, const struct meaning_node *node, struct meaning_tile *out,
                 union meaning_cell *second)
{
    const struct meaning_function *f = node->function;
    struct meaning_tile argument[MEANING_OPERANDS];
    for (int i = 0; i < f->parameters; i++)
        evaluate(r, node->operand[i], &argument[i]);
    if (f->view >= 0)
        r->view[f->view] = r->view[node->place->view];
    const struct meaning_function *outer = r->function;
    r->function = f;
    for (int e = 0; e < meaning_elements(node->shape); e++) {
        for (int i = 0; i < f->parameters; i++)
            r->slot[f->slot[i]].at[0] = argument[i].at[stretched(node->shape, node->operand[i]->shape, e)];
        run_body(r, &f->body);
        out->at[e] = r->result[0];
        if (second)
            *second = r->result[1];
    }
    r->function = outer;
}

static union meaning_cell one_element(struct runner *r, const struct meaning_node *node, union meaning_cell a,
                                      union meaning_cell b, union meaning_cell c)
{
    enum ir_element element = node->element, from = node->operand[0]->element;
    union meaning_cell out = {0};
    switch (node->kind) {
    case MEANING_NEGATE:
        if (ir_is_float(element))
            out.real = -a.real;
        else
            out.integer = host_narrow(r, -(wide)a.integer);
        break;
    case MEANING_TURN: out.integer = ~a.integer; break;
    case MEANING_NOT: out.integer = !a.integer; break;
    case MEANING_BINARY: return meaning_binary(r, element, node->sign, a, b);
    case MEANING_COMPARE: out.integer = compared(from, node->sign, a, b); break;
    case MEANING_AND: out.integer = a.integer & b.integer; break;
    case MEANING_OR: out.integer = a.integer | b.integer; break;
    case MEANING_WHERE: return a.integer ? b : c;
    case MEANING_CONVERT:
    case MEANING_WIDEN: return converted(from, element, a, false);
    case MEANING_SATURATE: return converted(from, element, a, true);
    case MEANING_BITCAST: return bits_as(from, element, a);
    case MEANING_MIN: return meaning_least_or_most(node, false, a, b);
    case MEANING_MAX: return meaning_least_or_most(node, true, a, b);
    case MEANING_CLAMP: return meaning_least_or_most(node, false, meaning_least_or_most(node, true, a, b), c);
    case MEANING_ABS:
        if (ir_is_float(element))
            out.real = fabs(a.real);
        else
            out.integer = host_narrow(r, ir_is_signed(element) && a.integer < 0 ? -(wide)a.integer : a.integer);
        break;
    case MEANING_CDIV: {
        wide x = element == IR_U64 ? (wide)(uint64_t)a.integer : a.integer,
             y = element == IR_U64 ? (wide)(uint64_t)b.integer : b.integer;
        out.integer = y == 0 ? 0 : host_narrow(r, x / y + (x % y != 0 && (x < 0) == (y < 0)));
        break;
    }
    case MEANING_ILOG2: {
        out.integer = -1;
        if (a.integer > 0 || !ir_is_signed(element))
            for (uint64_t n = (uint64_t)a.integer; n; n >>= 1)
                out.integer++;
        break;
    }
    default: return a; /* STRETCH, BROADCAST */
    }
    return meaning_fit(element, out);
}

/* What is not one element after the other, or not all of its operands. */
static bool evaluate_whole(struct runner *r, const struct meaning_node *node, struct meaning_tile *out)
{
    const struct view_value *view = node->place ? &r->view[node->place->view] : NULL;
    struct meaning_tile a, b;
    switch (node->kind) {
    case MEANING_LITERAL: out->at[0] = node->value; return true;
    case MEANING_VARIABLE:
        memcpy(out->at, r->slot[node->slot].at, sizeof out->at[0] * (size_t)meaning_elements(node->shape));
        return true;
    case MEANING_CHOOSE:
        evaluate(r, node->operand[0], &a);
        evaluate(r, node->operand[a.at[0].integer ? 1 : 2], out);
        return true;
    case MEANING_AND:
    case MEANING_OR:
        if (node->shape.rank > 0)
            return false;
        evaluate(r, node->operand[0], out);
        if ((out->at[0].integer != 0) == (node->kind == MEANING_AND))
            evaluate(r, node->operand[1], out);
        return true;
    case MEANING_CALL: call(r, node, out, NULL); return true;
    case MEANING_SAME: {
        bool same = true;
        for (int m = 0; m < node->structure->count; m++)
            same = same && meaning_order(node->structure->element[m], r->slot[node->slot + m].at[0],
                                         r->slot[node->second + m].at[0]) == 0;
        out->at[0].integer = same == (node->sign[0] == '=');
        return true;
    }
    case MEANING_READ:
    case MEANING_LOAD:
    case MEANING_INSIDE: read_place(r, node, out); return true;
    case MEANING_EXTENT: out->at[0].integer = view->extent[node->axis]; return true;
    case MEANING_STRIDE: out->at[0].integer = view->stride[node->axis]; return true;
    case MEANING_PRESENT: out->at[0].integer = !view->absent; return true;
    case MEANING_IOTA:
        for (int i = 0; i < node->shape.extent[0]; i++)
            out->at[i].integer = i;
        return true;
    case MEANING_RESHAPE: evaluate(r, node->operand[0], out); return true;
    case MEANING_PERMUTE:
        evaluate(r, node->operand[0], &a);
        permute(node, &a, out);
        return true;
    case MEANING_PART:
        evaluate(r, node->operand[0], &a);
        take_part(node, &a, out);
        return true;
    case MEANING_SUM:
    case MEANING_LEAST:
    case MEANING_MOST:
    case MEANING_ANY:
    case MEANING_ALL:
    case MEANING_ARGUMENT_OF_MOST:
    case MEANING_ARGUMENT_OF_LEAST:
    case MEANING_FOLD:
        evaluate(r, node->operand[0], &a);
        reduce(r, node, &a, out);
        return true;
    case MEANING_PRODUCT:
        evaluate(r, node->operand[0], &a);
        evaluate(r, node->operand[1], &b);
        multiply(r, node, &a, &b, out);
        return true;
    default: return false;
    }
}

static void evaluate(struct runner *r, const struct meaning_node *node, struct meaning_tile *out)
{
    struct meaning_tile operand[MEANING_OPERANDS];
    memset(operand, 0, sizeof operand);
    if (r->steps++ > MOST_STEPS || evaluate_whole(r, node, out))
        return;
    for (int i = 0; i < MEANING_OPERANDS && node->operand[i]; i++)
        evaluate(r, node->operand[i], &operand[i]);
    if (node->kind >= MEANING_FLIP && node->kind <= MEANING_SCALED) {
        meaning_run_move(r, node, operand, out);
        return;
    }
    for (int e = 0; e < meaning_elements(node->shape); e++) {
        union meaning_cell x[3] = {0};
        for (int i = 0; i < 3 && node->operand[i]; i++)
            x[i] = operand[i].at[stretched(node->shape, node->operand[i]->shape, e)];
        out->at[e] = one_element(r, node, x[0], x[1], x[2]);
    }
}

/* ---- statements ---- */

static void write_place(struct runner *r, const struct meaning_statement *s)
{
    struct spots spots;
    struct meaning_tile value, mask, before;
    struct meaning_node read = {.kind = MEANING_READ, .place = s->place};
    const struct meaning_view *view = &r->m->views[s->place->view];
    evaluate(r, s->value[0], &value);
    if (s->value[1])
        evaluate(r, s->value[1], &mask);
    read_place(r, &read, &before);
    find_spots(r, s->place, &spots);
    for (int i = 0; i < spots.count; i++) {
        if (spots.at[i] < 0 || (s->value[1] && !mask.at[stretched(spots.shape, s->value[1]->shape, i)].integer))
            continue;
        union meaning_cell new = value.at[stretched(spots.shape, s->value[0]->shape, i)];
        r->arguments[r->view[s->place->view].array].cell[spots.at[i]] = s->kind == MEANING_STORE_UPDATE ||
                                                                                s->kind == MEANING_ATOMIC
                                                                            ? meaning_binary(r, view->element, s->sign,
                                                                                             before.at[i], new)
                                                                            : new;
    }
    if (s->kind == MEANING_ATOMIC)
        r->slot[s->slot] = before;
}

static enum leaving run_loop(struct runner *r, const struct meaning_statement *s)
{
    struct meaning_tile from, to;
    evaluate(r, s->value[0], &from);
    evaluate(r, s->value[1], &to);
    wide i = from.at[0].integer;
    while ((s->step < 0 ? i > to.at[0].integer : i < to.at[0].integer) && i <= INT64_MAX && i >= INT64_MIN) {
        r->slot[s->slot].at[0].integer = (int64_t)i;
        enum leaving leaving = run_body(r, &s->body);
        if (leaving == BREAKS)
            break;
        if (leaving == RETURNS)
            return RETURNS;
        if (r->steps++ > MOST_STEPS)
            break;
        i = s->multiplies ? i * s->step : i + s->step;
    }
    return STAYS;
}

static void make_subview(struct runner *r, const struct meaning_statement *s)
{
    struct view_value parent = r->view[s->parent], *out = &r->view[s->slot];
    int rank = 0;
    *out = (struct view_value){.array = parent.array, .offset = parent.offset, .absent = parent.absent};
    for (int d = 0; d < r->m->views[s->parent].rank; d++) {
        struct meaning_tile at;
        if (s->kinds[d] == PLACE_AT) {
            evaluate(r, s->value[d], &at);
            int64_t index = index_of(s->value[d]->element, at.at[0].integer);
            if (index < 0 || index >= parent.extent[d])
                out->absent = true;
            else
                out->offset += index * parent.stride[d];
            continue;
        }
        int64_t low = 0, high = parent.extent[d];
        if (s->low[d]) {
            evaluate(r, s->low[d], &at);
            low = int64_max(0, int64_min(at.at[0].integer, parent.extent[d]));
        }
        if (s->high[d]) {
            evaluate(r, s->high[d], &at);
            high = int64_max(0, int64_min(at.at[0].integer, parent.extent[d]));
        }
        out->offset += low * parent.stride[d];
        out->extent[rank] = int64_max(0, high - low);
        out->stride[rank++] = parent.stride[d];
    }
}

static void turn_view(struct runner *r, const struct meaning_statement *s)
{
    struct view_value view = r->view[s->parent];
    for (int d = 0; d < 2; d++) {
        r->view[s->slot] = d == 0 ? view : r->view[s->slot];
        r->view[s->slot].extent[d] = view.extent[1 - d];
        r->view[s->slot].stride[d] = view.stride[1 - d];
    }
}

static void assign(struct runner *r, const struct meaning_statement *s)
{
    struct meaning_tile value, old = r->slot[s->slot];
    evaluate(r, s->value[0], &value);
    const struct meaning_node *target = s->value[2]; /* as it is read: its shape */
    for (int i = 0; i < meaning_elements(target->shape); i++) {
        union meaning_cell new = value.at[stretched(target->shape, s->value[0]->shape, i)];
        r->slot[s->slot].at[i] = s->kind == MEANING_UPDATE ? meaning_binary(r, target->element, s->sign, old.at[i], new)
                                                           : new;
    }
}

static enum leaving run_statement(struct runner *r, const struct meaning_statement *s)
{
    struct meaning_tile a, b;
    switch (s->kind) {
    case MEANING_LET:
    case MEANING_VAR:
        evaluate(r, s->value[0], &a);
        r->slot[s->slot] = a;
        return STAYS;
    case MEANING_ASSIGN:
    case MEANING_UPDATE: assign(r, s); return STAYS;
    case MEANING_SWAP:
        evaluate(r, s->value[0], &a);
        evaluate(r, s->value[1], &b);
        r->slot[s->slot] = a;
        r->slot[s->second] = b;
        return STAYS;
    case MEANING_STORE:
    case MEANING_STORE_UPDATE:
    case MEANING_STORE_MASKED:
    case MEANING_ATOMIC: write_place(r, s); return STAYS;
    case MEANING_IF: evaluate(r, s->value[0], &a); return run_body(r, a.at[0].integer ? &s->body : &s->otherwise);
    case MEANING_FOR:
    case MEANING_STATIC_FOR: return run_loop(r, s);
    case MEANING_WHILE:
        for (;;) {
            evaluate(r, s->value[0], &a);
            if (!a.at[0].integer || r->steps++ > MOST_STEPS)
                return STAYS;
            enum leaving leaving = run_body(r, &s->body);
            if (leaving == BREAKS || leaving == RETURNS)
                return leaving == BREAKS ? STAYS : RETURNS;
        }
    case MEANING_BREAK: return BREAKS;
    case MEANING_CONTINUE: return CONTINUES;
    case MEANING_RETURN: {
        union meaning_cell result[2] = {0};
        for (int i = 0; i < 2 && s->value[i]; i++) {
            evaluate(r, s->value[i], &a);
            result[i] = a.at[0];
        }
        memcpy(r->result, result, sizeof result);
        return RETURNS;
    }
    case MEANING_BLOCK: return run_body(r, &s->body);
    case MEANING_TAKE_APART: {
        union meaning_cell second;
        call(r, s->value[0], &a, &second);
        r->slot[s->slot].at[0] = a.at[0];
        r->slot[s->second].at[0] = second;
        return STAYS;
    }
    case MEANING_STRUCT:
        for (int m = 0; m < s->structure->count; m++) {
            evaluate(r, s->value[m], &a);
            r->slot[s->slot + m].at[0] = a.at[0];
        }
        return STAYS;
    case MEANING_STRUCT_COPY: {
        int from = s->second;
        if (s->third_name) {
            evaluate(r, s->value[0], &a);
            from = a.at[0].integer ? s->second : s->third;
        }
        for (int m = 0; m < s->structure->count; m++)
            r->slot[s->slot + m].at[0] = r->slot[from + m].at[0];
        return STAYS;
    }
    case MEANING_PRINT:
    case MEANING_ASSERT: return STAYS;
    case MEANING_SUBVIEW: make_subview(r, s); return STAYS;
    case MEANING_TURN_VIEW: turn_view(r, s); return STAYS;
    }
    return STAYS;
}

static enum leaving run_body(struct runner *r, const struct meaning_body *body)
{
    for (int i = 0; i < body->statements.count && r->steps < MOST_STEPS; i++) {
        enum leaving leaving = run_statement(r, body->statements.data[i]);
        if (leaving != STAYS)
            return leaving;
    }
    return STAYS;
}

static void begin(struct runner *r, const struct meaning *m)
{
    r->m = m;
    for (int i = 0; i <= m->inputs; i++) {
        r->view[i] = (struct view_value){.array = i, .absent = m->arguments[i].absent};
        for (int d = 0; d < m->views[i].rank; d++) {
            r->view[i].extent[d] = m->arguments[i].extent[d];
            r->view[i].stride[d] = m->arguments[i].stride[d];
        }
    }
    for (int i = 0; i < m->scalar_count; i++)
        r->slot[m->scalar_slot[i]].at[0] = m->scalar[i];
}

bool meaning_run(struct meaning *m)
{
    struct runner *r = ARENA_NEW(m->arena, struct runner);
    r->arguments = m->arguments;
    begin(r, m);
    run_body(r, &m->body);
    return r->steps < MOST_STEPS;
}

bool meaning_host_value(const struct meaning *m, const struct meaning_node *node, int64_t *value)
{
    struct runner *r = ARENA_NEW(m->arena, struct runner);
    struct meaning_tile out = {0};
    r->host = true;
    begin(r, m);
    evaluate(r, node, &out);
    *value = out.at[0].integer;
    return r->steps < MOST_STEPS && !r->overflow;
}
