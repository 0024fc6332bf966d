/* Forms of indexes.  An index is followed back to the names of the grid through sums, products by numbers, quotients and
 * remainders of a name by a number, tiles of consecutive numbers, and loops between numbers; what all instances have in
 * common is added as a value of which nothing is known. */
#include "passes/lint/form.h"

#include <stdlib.h>
#include <string.h>

#include "ir/query.h"

/* ---- what instances have in common ---- */

struct forms forms_make(struct arena *arena, const struct ir_function *function)
{
    int values = function->next_value_id;
    return (struct forms){.arena = arena,
                          .varies = ARENA_ARRAY(arena, signed char, values *(IR_MAX_RANK + 1)),
                          .scalars = ARENA_ARRAY(arena, struct form *, values),
                          .tiles = ARENA_ARRAY(arena, struct tile_form *, values)};
}

/* An operand of the operation, or of one inside it. */
static bool operands_vary(struct forms *forms, const struct ir_operation *op, int64_t dimension)
{
    if (op->opcode == OP_GRID_INDEX)
        return dimension < 0 || ir_number(op, IR_ATTRIBUTE_DIMENSION, 0) == dimension;
    if (ir_has_trait(op, IR_TRAIT_ATOMIC))
        return true;
    for (int i = 0; i < op->operand_count; i++)
        if (forms_vary(forms, op->operands[i], dimension))
            return true;
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_operation *inner = op->regions[r]->first; inner; inner = inner->next)
            if (operands_vary(forms, inner, dimension))
                return true;
    return false;
}

/* What is being asked already is answered by whoever asked first. */
bool forms_vary(struct forms *forms, const struct ir_value *value, int64_t dimension)
{
    const struct ir_operation *op = value->definition ? value->definition : value->block->parent;
    if (!op)
        return false;
    signed char *known = &forms->varies[value->id * (IR_MAX_RANK + 1) + (int)dimension + 1];
    if (*known)
        return *known == 2;
    *known = 1;
    if (operands_vary(forms, op, dimension))
        *known = 2;
    return *known == 2;
}

/* ---- arithmetic ---- */

struct form form_number(int64_t number)
{
    return (struct form){.offset = number, .width = 1, .times = 1, .known = true};
}

bool form_is_number(const struct form *form)
{
    for (int g = 0; g < IR_MAX_RANK; g++)
        if (form->moves[g])
            return false;
    return form->known && !form->same && form->width == 1 && form->times == 1 && !form->part_count;
}

/* Runs that touch become one. */
static struct form joined(struct form form)
{
    if (form.times > 1 && form.apart <= form.width) {
        form.known = !__builtin_mul_overflow(form.apart, form.times - 1, &form.apart) && form.known;
        form.known = !__builtin_add_overflow(form.apart, form.width, &form.width) && form.known;
        form.times = 1;
    }
    return form;
}

struct form form_widen(struct form form, int64_t step, int64_t count)
{
    int64_t reach, whole;
    if (count <= 1 || step == 0 || form.width == FORM_ALL)
        return form;
    if (__builtin_mul_overflow(step, count, &reach) || reach == INT64_MIN) {
        form.known = false;
        return form;
    }
    reach -= step;
    if (step < 0) {
        form.known = !__builtin_add_overflow(form.offset, reach, &form.offset) && form.known;
        step = -step;
        reach = -reach;
    }
    if (step <= form.width) {
        form.known = !__builtin_add_overflow(form.width, reach, &form.width) && form.known;
    } else if (form.times == 1) {
        form.times = count;
        form.apart = step;
    } else if (step == form.apart) {
        form.known = !__builtin_add_overflow(form.times, count - 1, &form.times) && form.known;
    } else if (form.times <= FORM_MOST_RUNS && !__builtin_mul_overflow(form.apart, form.times, &whole) &&
               step == whole) {
        form.known = !__builtin_mul_overflow(form.times, count, &form.times) && form.known;
    } else {
        form.known = false;
    }
    form.known = form.known && form.times <= FORM_MOST_RUNS;
    return joined(form);
}

/* The parts of b are added to those of a. */
static bool add_parts(struct form *a, const struct form *b, int64_t factor)
{
    for (int i = 0; i < b->part_count; i++) {
        if (a->part_count == FORM_PARTS)
            return false;
        struct form_part *part = &a->parts[a->part_count++];
        *part = b->parts[i];
        if (__builtin_mul_overflow(part->factor, factor, &part->factor))
            return false;
    }
    return true;
}

/* factor * form */
static struct form scaled(const struct form *form, int64_t factor)
{
    struct form product = form_number(0);
    int64_t apart;
    bool fits = add_parts(&product, form, factor) && !__builtin_mul_overflow(form->offset, factor, &product.offset);
    for (int g = 0; g < IR_MAX_RANK; g++)
        fits = !__builtin_mul_overflow(form->moves[g], factor, &product.moves[g]) && fits;
    fits = !__builtin_mul_overflow(form->apart, factor, &apart) && fits;
    product.same = form->same;
    product.known = form->known && fits && form->width != FORM_ALL;
    return factor ? form_widen(form_widen(product, factor, form->width), apart, form->times) : product;
}

struct form form_add(struct form a, struct form b, int64_t sign)
{
    if (sign < 0)
        b = scaled(&b, -1);
    struct form sum = a;
    bool fits = add_parts(&sum, &b, 1) && !__builtin_add_overflow(a.offset, b.offset, &sum.offset);
    for (int g = 0; g < IR_MAX_RANK; g++)
        fits = !__builtin_add_overflow(a.moves[g], b.moves[g], &sum.moves[g]) && fits;
    sum.same = a.same || b.same;
    sum.known = a.known && b.known && fits && b.width != FORM_ALL;
    return form_widen(form_widen(sum, 1, b.width), b.apart, b.times);
}

/* The one name of the grid that the form is, as it is or as a part of it; false: it is something else. */
static bool is_name(const struct form *form, struct form_part *part)
{
    int64_t factor = 0;
    bool alone = form->known && !form->same && form->offset == 0 && form->width == 1 && form->times == 1;
    *part = (struct form_part){.grid = -1, .by = 1};
    if (form->part_count == 1) {
        *part = form->parts[0];
        factor = part->factor;
    }
    for (int g = 0; g < IR_MAX_RANK; g++)
        if (form->moves[g]) {
            alone = alone && part->grid < 0;
            *part = (struct form_part){g, 1, 0, 1};
            factor = form->moves[g];
        }
    return alone && form->part_count <= 1 && part->grid >= 0 && factor == 1 && part->modulo == 0;
}

/* ---- values ---- */

static struct form common(struct forms *forms, const struct ir_value *value)
{
    struct form form = form_number(0);
    form.same = true;
    form.known = !forms_vary(forms, value, -1);
    return form;
}

/* The variable of a loop between numbers takes all of them in turn. */
static struct form variable_form(const struct ir_value *value)
{
    const struct ir_operation *loop = value->block->parent;
    int64_t from, to, step, length;
    if (!loop || loop->opcode != OP_FOR || value->index != 0 || ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0) ||
        !ir_constant_integer(loop->operands[0], &from) || !ir_constant_integer(loop->operands[1], &to) ||
        !ir_constant_integer(loop->operands[2], &step) || step < 1 || to <= from ||
        __builtin_sub_overflow(to, from, &length) || length > INT32_MAX)
        return (struct form){0};
    return form_widen(form_number(from), step, (length - 1) / step + 1);
}

/* An index of the grid by a number: a quotient, a remainder, or the same by shifts and masks. */
static struct form part_form(struct forms *forms, const struct ir_operation *op)
{
    struct form by = form_of(forms, op->operands[1]), form = form_of(forms, op->operands[0]);
    struct form_part part;
    int64_t number = by.offset;
    bool divides = op->opcode == OP_DIV || op->opcode == OP_SHR;
    if (op->opcode == OP_SHR)
        number = number >= 0 && number < 31 ? (int64_t)1 << number : 0;
    if (op->opcode == OP_AND)
        number = number > 0 && (number & (number + 1)) == 0 ? number + 1 : 0;
    if (!form_is_number(&by) || number < 1 || number > INT32_MAX || !is_name(&form, &part) || part.by > INT32_MAX)
        return (struct form){0};
    part.by *= divides ? number : 1;
    part.modulo = divides ? 0 : number;
    part.factor = 1;
    form = form_number(0);
    form.parts[form.part_count++] = part;
    return form;
}

static struct form find_form(struct forms *forms, const struct ir_value *value)
{
    const struct ir_operation *op = value->definition;
    struct form form = {0};
    int64_t number;
    if (ir_constant_integer(value, &number))
        return form_number(number);
    if (!op)
        return value->block->parent ? variable_form(value) : common(forms, value);
    switch (op->opcode) {
    case OP_GRID_INDEX:
        form = form_number(0);
        form.moves[ir_number(op, IR_ATTRIBUTE_DIMENSION, 0)] = 1;
        return form;
    case OP_CAST: return form_of(forms, op->operands[0]);
    case OP_ADD:
    case OP_SUB:
        form = form_add(form_of(forms, op->operands[0]), form_of(forms, op->operands[1]),
                        op->opcode == OP_ADD ? 1 : -1);
        break;
    case OP_MUL: {
        struct form a = form_of(forms, op->operands[0]), b = form_of(forms, op->operands[1]);
        if (form_is_number(&a))
            form = scaled(&b, a.offset);
        else if (form_is_number(&b))
            form = scaled(&a, b.offset);
        break;
    }
    case OP_DIV:
    case OP_REM:
    case OP_SHR:
    case OP_AND: form = part_form(forms, op); break;
    default: break;
    }
    return form.known ? form : common(forms, value);
}

/* Each is found once: a value that is used twice in each of many steps stands at the end of very many ways. */
struct form form_of(struct forms *forms, const struct ir_value *value)
{
    struct form **known = &forms->scalars[value->id];
    if (!*known) {
        struct form form = find_form(forms, value);
        *known = ARENA_NEW(forms->arena, struct form);
        **known = form;
    }
    return **known;
}

/* A tile of indexes: base + the sum of along[axis] * the position along the axis. */
struct tile_form {
    struct form base;
    int64_t along[IR_MAX_RANK];
};

/* Extents of 1 come or go; all others stay in their order. */
static bool moves_axes(const struct ir_type *from, const struct ir_type *to, const int64_t *along, int64_t *moved)
{
    int d = 0;
    for (int e = 0; e < to->rank; e++) {
        moved[e] = 0;
        if (to->extent[e] == 1)
            continue;
        while (d < from->rank && from->extent[d] == 1)
            d++;
        if (d == from->rank || from->extent[d] != to->extent[e])
            return false;
        moved[e] = along[d++];
    }
    return true;
}

/* along + sign * other, for each axis; false: one does not fit. */
static bool add_along(int rank, int64_t *along, int64_t sign, const int64_t *other)
{
    bool fits = true;
    for (int d = 0; d < rank; d++)
        fits = (sign > 0 ? !__builtin_add_overflow(along[d], other[d], &along[d])
                         : !__builtin_sub_overflow(along[d], other[d], &along[d])) &&
               fits;
    return fits;
}

static struct tile_form tile_form(struct forms *forms, const struct ir_value *tile);

static struct tile_form find_tile_form(struct forms *forms, const struct ir_value *tile)
{
    const struct ir_operation *op = tile->definition;
    struct tile_form form = {0}, other;
    int64_t along[IR_MAX_RANK] = {0};
    if (tile->type->rank == 0 || !op) {
        form.base = tile->type->rank == 0 ? form_of(forms, tile) : (struct form){0};
        return form;
    }
    switch (op->opcode) {
    case OP_IOTA:
        form.base = form_number(0);
        form.along[0] = 1;
        break;
    case OP_SPLAT:
    case OP_CAST: return tile_form(forms, op->operands[0]);
    case OP_BROADCAST:
        form = tile_form(forms, op->operands[0]);
        for (int d = 0; d < tile->type->rank; d++)
            form.along[d] *= op->operands[0]->type->extent[d] != 1;
        break;
    case OP_RESHAPE:
        form = tile_form(forms, op->operands[0]);
        form.base.known = moves_axes(op->operands[0]->type, tile->type, form.along, along) && form.base.known;
        memcpy(form.along, along, sizeof along);
        break;
    case OP_ADD:
    case OP_SUB: {
        int64_t sign = op->opcode == OP_ADD ? 1 : -1;
        form = tile_form(forms, op->operands[0]);
        other = tile_form(forms, op->operands[1]);
        form.base = form_add(form.base, other.base, sign);
        form.base.known = add_along(tile->type->rank, form.along, sign, other.along) && form.base.known;
        break;
    }
    case OP_MUL: {
        form = tile_form(forms, op->operands[0]);
        other = tile_form(forms, op->operands[1]);
        bool turned = form_is_number(&form.base) && !memcmp(form.along, along, sizeof along);
        struct tile_form *by = turned ? &form : &other, of = turned ? other : form;
        bool fits = form_is_number(&by->base) && !memcmp(by->along, along, sizeof along);
        for (int d = 0; d < tile->type->rank; d++)
            fits = !__builtin_mul_overflow(of.along[d], by->base.offset, &of.along[d]) && fits;
        of.base = scaled(&of.base, by->base.offset);
        of.base.known = of.base.known && fits;
        return of;
    }
    default: break;
    }
    return form;
}

static struct tile_form tile_form(struct forms *forms, const struct ir_value *tile)
{
    struct tile_form **known = &forms->tiles[tile->id];
    if (!*known) {
        struct tile_form form = find_tile_form(forms, tile);
        *known = ARENA_NEW(forms->arena, struct tile_form);
        **known = form;
    }
    return **known;
}

/* All elements: one axis after the other, the one of the smallest step first. */
static struct form widened(struct tile_form form, const struct ir_type *type)
{
    for (int axes = 0; axes < type->rank; axes++) {
        int least = -1;
        for (int d = 0; d < type->rank; d++)
            if (form.along[d] && (least < 0 || llabs(form.along[d]) < llabs(form.along[least])))
                least = d;
        if (least < 0)
            break;
        form.base = form_widen(form.base, form.along[least], type->extent[least]);
        form.along[least] = 0;
    }
    return form.base;
}

struct form form_of_tile(struct forms *forms, const struct ir_value *tile)
{
    return widened(tile_form(forms, tile), tile->type);
}

static struct tile_form pointer_form(struct forms *forms, const struct ir_value *pointer, const struct ir_value **base)
{
    const struct ir_operation *op = pointer->definition;
    struct tile_form form = {.base = form_number(0)}, other;
    int64_t along[IR_MAX_RANK] = {0};
    if (!op) {
        *base = pointer->block->parent ? NULL : pointer;
        return form;
    }
    switch (op->opcode) {
    case OP_VIEW_POINTER: *base = op->operands[0]->definition ? NULL : op->operands[0]; break;
    case OP_SPLAT: return pointer_form(forms, op->operands[0], base);
    case OP_BROADCAST:
        form = pointer_form(forms, op->operands[0], base);
        for (int d = 0; d < pointer->type->rank; d++)
            form.along[d] *= op->operands[0]->type->extent[d] != 1;
        break;
    case OP_RESHAPE:
        form = pointer_form(forms, op->operands[0], base);
        form.base.known = moves_axes(op->operands[0]->type, pointer->type, form.along, along) && form.base.known;
        memcpy(form.along, along, sizeof along);
        break;
    case OP_POINTER_ADD:
        form = pointer_form(forms, op->operands[0], base);
        other = tile_form(forms, op->operands[1]);
        form.base = form_add(form.base, other.base, 1);
        form.base.known = add_along(pointer->type->rank, form.along, 1, other.along) && form.base.known;
        break;
    default: *base = NULL; break;
    }
    return form;
}

struct form form_of_pointer(struct forms *forms, const struct ir_value *pointer, const struct ir_value **base)
{
    *base = NULL;
    return widened(pointer_form(forms, pointer, base), pointer->type);
}

/* ---- questions ---- */

bool form_has(const struct form *form, int grid)
{
    for (int i = 0; i < form->part_count; i++)
        if (form->parts[i].grid == grid)
            return true;
    return form->moves[grid] != 0;
}

bool form_is_alike(const struct form *a, const struct form *b, int grid)
{
    for (int h = 0; h < IR_MAX_RANK; h++)
        if (h != grid && a->moves[h] != b->moves[h])
            return false;
    for (int i = 0; i < a->part_count; i++)
        if (a->parts[i].grid != grid && (i >= b->part_count || memcmp(&a->parts[i], &b->parts[i], sizeof a->parts[i])))
            return false;
    for (int i = 0; i < b->part_count; i++)
        if (b->parts[i].grid != grid && i >= a->part_count)
            return false;
    return true;
}

int64_t form_at(const struct form *form, int grid, int64_t at)
{
    int64_t sum = form->offset, product;
    bool wraps = __builtin_mul_overflow(form->moves[grid], at, &product);
    wraps = __builtin_add_overflow(sum, product, &sum) || wraps;
    for (int i = 0; i < form->part_count; i++) {
        const struct form_part *part = &form->parts[i];
        if (part->grid != grid)
            continue;
        int64_t index = part->modulo ? at / part->by % part->modulo : at / part->by;
        wraps = __builtin_mul_overflow(index, part->factor, &product) || wraps;
        wraps = __builtin_add_overflow(sum, product, &sum) || wraps;
    }
    return wraps ? INT64_MIN : sum;
}

bool form_meets(const struct form *a, const struct form *b, int64_t shift)
{
    if (a->width == FORM_ALL || b->width == FORM_ALL)
        return true;
    int64_t apart = b->times > 1 ? b->apart : 1;
    for (int64_t t = 0; t < a->times; t++) {
        /* A run of b that begins at or behind `low` and before `high` meets this run of a. */
        int64_t run = t * a->apart, low, high;
        if (__builtin_sub_overflow(run - b->width + 1, shift, &low) ||
            __builtin_sub_overflow(run + a->width - 1, shift, &high) || high < 0)
            continue;
        int64_t first = low <= 0 ? 0 : (low - 1) / apart + 1;
        if (first < b->times && first * apart <= high)
            return true;
    }
    return false;
}

void form_mark(const struct form *form, int64_t step, bool *marked)
{
    for (int64_t t = 0; t < int64_min(form->times, step); t++)
        for (int64_t w = 0; w < int64_min(form->width, step); w++)
            marked[(((form->offset % step + t * (form->apart % step) + w) % step) + step) % step] = true;
}
