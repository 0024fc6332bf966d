/* Indexing views.  An index list that covers every dimension without `..` is a place, read when it stands in an
 * expression and written left of `=`; one with `..` is a sub-view and reads nothing. */
#include "base/plant.h"
#include "front/walk/walk.h"

#include <string.h>

/* ---- one index ---- */

static struct ir_value *index_constant(struct elaborator *e, int64_t number)
{
    return ir_constant_int(&e->builder, ir_type_scalar(e->context, IR_INDEX), number);
}

/* An index tile keeps a signed element; unsigned ones go to index so that comparisons see them right. */
static struct ir_value *gather_index(struct elaborator *e, struct ir_value *tile)
{
    return ir_is_signed(tile->type->element) ? tile : ir_cast(&e->builder, tile, IR_INDEX);
}

/* The start or end of several elements.  It is i64: a u64 of 2^63 and more would come out as a negative number, and
 * elements behind it inside the view.  (A lone index or an index tile is outside either way.) */
static struct ir_value *bound_index(struct elaborator *e, struct value v, const char *what)
{
    if (v.kind != VALUE_RUN || v.run->type->rank > 0 || v.run->type->element != IR_U64)
        return convert_to_index(e, v, what);
    front_report(e, DIAGNOSTIC_E0305, v.at, "%s is i64, and u64 does not become that by itself; write `i64(...)`",
                 what);
    return NULL;
}

static bool report_item(struct elaborator *e, const struct ast_index *item, struct value v)
{
    if (!value_is_error(v))
        front_report(e, DIAGNOSTIC_E0301, item->at,
                     "an index is an integer, an integer tile, `i +: B`, `:` or a range, not %s", front_describe(e, v));
    return false;
}

/* ---- places ---- */

static void origin_copy(struct elaborator *e, struct origin **to, int dimension, const struct origin *from, int d)
{
    if (!from)
        return;
    if (!*to)
        *to = ARENA_NEW(e->arena, struct origin);
    (*to)->extent[dimension] = from->extent[d];
}

/* Several index tiles stand side by side and are broadcast to one shape. */
static bool join_gathers(struct elaborator *e, struct place_value *place, struct value *gathers, int count,
                         struct location at)
{
    if (count == 0)
        return true;
    int first = -1, last = -1;
    for (int d = 0; d < place->rank; d++)
        if (place->place[d] == IR_GATHER) {
            if (first < 0)
                first = d;
            last = d;
        }
    if (last - first + 1 != count) {
        front_report(e, DIAGNOSTIC_E0604, at,
                     "several index tiles stand side by side; permute the view, or index one dimension at a time");
        return false;
    }
    if (!convert_broadcast(e, count, gathers, "index tiles", at))
        return false;
    for (int i = 0; i < count; i++)
        place->index[first + i] = gathers[i].run;
    return true;
}

static bool place_item(struct elaborator *e, struct place_value *place, int d, const struct ast_index *item,
                       struct value *gathers, int *gather_count, struct origin **origin)
{
    const struct ir_type *view = place->view->run->type;
    if (item->kind == INDEX_ALL) {
        if (view->extent[d] == IR_DYNAMIC) {
            struct diagnostic *r = front_report(
                e, DIAGNOSTIC_E0605, item->at,
                "`:` takes a whole dimension, and extent %d of `%s` is known only when running", d, place->view->name);
            front_note(e, r, item->at, "write `0 +: B` for a tile of B elements, or `..` for a sub-view");
            return false;
        }
        if (view->extent[d] == 0)
            return false;
        place->index[d] = index_constant(e, 0);
        place->place[d] = view->extent[d] * (place->view->nibbles && d == view->rank - 1 ? 2 : 1);
        origin_copy(e, origin, place->result_rank, place->view->origin, d);
        return true;
    }
    if (item->kind == INDEX_SLICE) {
        int64_t size;
        struct value start = elaborate_value(e, item->value);
        if (!elaborate_extent(e, item->size, &size))
            return false;
        place->index[d] = bound_index(e, start, "the start of a slice");
        place->place[d] = size;
        origin_add_extent(e, origin, place->result_rank, item->size);
        return place->index[d] != NULL;
    }
    struct value v = elaborate_value(e, item->value);
    if (value_is_tile(v) && ir_is_integer(v.run->type->element)) {
        v.run = gather_index(e, v.run);
        gathers[(*gather_count)++] = v;
        place->place[d] = IR_GATHER;
        return true;
    }
    if (v.kind != VALUE_INTEGER && !(v.kind == VALUE_RUN && ir_is_integer(v.run->type->element)))
        return report_item(e, item, v);
    place->index[d] = convert_to_index(e, v, "an index");
    place->place[d] = IR_POINT;
    return place->index[d] != NULL;
}

static struct value make_place(struct elaborator *e, const struct view_value *view,
                               const struct ast_expression *expression)
{
    struct place_value *place = ARENA_NEW(e->arena, struct place_value);
    struct value gathers[IR_MAX_RANK];
    struct origin *origin = NULL;
    int gather_count = 0, gathered = 0; /* gathered: the first dimension of the result that index tiles give */
    bool good = true;
    place->view = view;
    place->rank = expression->indexes.count;
    for (int d = 0; d < place->rank; d++) {
        bool first_gather = gather_count == 0;
        bool one = place_item(e, place, d, expression->indexes.data[d], gathers, &gather_count, &origin);
        good = good && one;
        if (!one)
            continue;
        if (place->place[d] > 0)
            place->extent[place->result_rank++] = place->place[d];
        else if (place->place[d] == IR_GATHER && first_gather) {
            gathered = place->result_rank;
            place->result_rank += gathers[0].run->type->rank;
        }
        if (place->result_rank > IR_MAX_RANK)
            return value_error(expression->at);
    }
    if (!good || !join_gathers(e, place, gathers, gather_count, expression->at))
        return value_error(expression->at);
    for (int d = 0; gather_count && d < gathers[0].run->type->rank; d++)
        origin_copy(e, &origin, gathered + d, gathers[0].origin, d);
    struct ir_access access = {.rank = place->rank, .index = place->index, .place = place->place};
    place->result_rank = ir_place_shape(&access, place->extent);
    place->origin = origin;
    if (view->nibbles && !nibbles_place(e, place, expression->at))
        return value_error(expression->at);
    return (struct value){.kind = VALUE_PLACE, .at = expression->at, .place = place};
}

/* ---- sub-views ---- */

static struct ir_value *view_extent(struct elaborator *e, const struct view_value *view, int d)
{
    const struct ir_type *type = view->run->type;
    if (type->extent[d] != IR_DYNAMIC)
        return index_constant(e, type->extent[d]);
    struct ir_value *run = ir_build_value(&e->builder, OP_EXTENT, ir_type_scalar(e->context, IR_INDEX), 1,
                                          (struct ir_value *[]){view->run});
    ir_set_number(run->definition, IR_ATTRIBUTE_DIMENSION, d);
    return run;
}

static bool subview_item(struct elaborator *e, const struct view_value *view, int d, const struct ast_index *item,
                         struct ir_value **start, struct ir_value **stop, bool *drop)
{
    *start = *stop = NULL;
    if (item->kind == INDEX_ALL || item->kind == INDEX_RANGE) {
        *start = item->kind == INDEX_RANGE && item->value
                     ? bound_index(e, elaborate_value(e, item->value), "the start of a range")
                     : index_constant(e, 0);
        *stop = item->kind == INDEX_RANGE && item->end
                    ? bound_index(e, elaborate_value(e, item->end), "the end of a range")
                    : view_extent(e, view, d);
        bool halves = view->nibbles && d == view->run->type->rank - 1;
        return *start && *stop && (!halves || nibbles_bounds(e, view, item, start, stop));
    }
    struct value v = elaborate_value(e, item->value);
    if (value_is_tile(v)) {
        front_report(
            e, DIAGNOSTIC_E0606, item->at,
            "an index tile reads memory, and a sub-view (with `..`) reads nothing; index the sub-view instead");
        return false;
    }
    *start = item->kind == INDEX_SLICE ? bound_index(e, v, "the start of a slice") : convert_to_index(e, v, "an index");
    if (!*start)
        return false;
    int64_t size = 1;
    if (item->kind == INDEX_SLICE && !elaborate_extent(e, item->size, &size))
        return false;
    *stop = ir_binary(&e->builder, OP_ADD, *start, index_constant(e, size - PLANTED(front_subview_too_short)));
    *drop = item->kind == INDEX_EXPRESSION;
    if (view->nibbles && d == view->run->type->rank - 1)
        return nibbles_bounds(e, view, item, start, stop);
    return true;
}

static struct value make_subview(struct elaborator *e, const struct view_value *view,
                                 const struct ast_expression *expression)
{
    const struct ir_type *type = view->run->type;
    struct ir_value *operands[1 + 2 * IR_MAX_RANK] = {view->run};
    struct ir_type result = *type;
    struct origin *origin = NULL;
    int64_t dropped = 0;
    bool good = true;
    result.rank = 0;
    for (int d = 0; d < type->rank; d++) {
        const struct ast_index *item = expression->indexes.data[d];
        bool drop = false;
        if (!subview_item(e, view, d, item, &operands[1 + 2 * d], &operands[2 + 2 * d], &drop)) {
            good = false;
            continue;
        }
        if (drop) {
            dropped |= (int64_t)1 << d;
            continue;
        }
        bool whole = item->kind == INDEX_ALL || (item->kind == INDEX_RANGE && !item->value && !item->end);
        if (whole)
            origin_copy(e, &origin, result.rank, view->origin, d);
        result.extent[result.rank] = whole ? type->extent[d] : IR_DYNAMIC;
        result.stride[result.rank++] = type->stride[d];
    }
    if (!good)
        return value_error(expression->at);
    for (int d = result.rank; d < IR_MAX_RANK; d++)
        result.extent[d] = result.stride[d] = 0;
    if (dropped)
        result.optional = true; /* a dropped index outside makes it absent */
    struct ir_value *run = ir_build_value(&e->builder, OP_SUBVIEW, ir_type_intern(e->context, &result),
                                          1 + 2 * type->rank, operands);
    ir_set_number(run->definition, IR_ATTRIBUTE_DROP, dropped);
    struct view_value *sub = ARENA_NEW(e->arena, struct view_value);
    *sub = *view;
    sub->run = run;
    sub->origin = origin;
    return (struct value){.kind = VALUE_VIEW, .at = expression->at, .view = sub};
}

static struct value report_count(struct elaborator *e, const struct view_value *view,
                                 const struct ast_expression *expression)
{
    int rank = view->run->type->rank, count = expression->indexes.count;
    struct diagnostic *d = front_report(e, DIAGNOSTIC_E0601, expression->at,
                                        "`%s` has %d dimension%s, and %d index%s given", view->name, rank,
                                        rank == 1 ? "" : "s", count, count == 1 ? " is" : "es are");
    if (d && count < rank && count > 0) {
        struct location behind = expression->indexes.data[count - 1]->at;
        behind.column = behind.end_column;
        front_note(e, d, behind,
                   "to read a tile, add `i +: B` for each of the other dimensions, or `:` where its extent is known "
                   "when compiling; `..` makes a sub-view of it");
        bool known = true;
        struct buffer text = {0};
        for (int i = count; i < rank; i++)
            known = known && view->run->type->extent[i] != IR_DYNAMIC;
        for (int i = count; i < rank; i++)
            buffer_puts(&text, known ? ", :" : ", ..");
        front_fixit(e, d, behind, known ? FIXIT_PROBABLE : FIXIT_HINT, arena_substring(e->arena, text.data, text.size));
        buffer_free(&text);
    }
    return value_error(expression->at);
}

static struct value index_view(struct elaborator *e, const struct view_value *view,
                               const struct ast_expression *expression)
{
    bool sub = false;
    if (!view->run) {
        struct diagnostic *d = front_report(e, DIAGNOSTIC_E0409, expression->at,
                                            "the wrapper cannot evaluate this: it reads nothing from memory");
        front_note(e, d, expression->at,
                   "pass it as a scalar parameter, `n: i64`; or count the most that it can be, and `return` at once "
                   "where the instance has nothing to do");
        return value_error(expression->at);
    }
    for (int i = 0; i < expression->indexes.count; i++) {
        const struct ast_index *item = expression->indexes.data[i];
        if (item->kind == INDEX_RANGE)
            sub = true;
        if (item->kind == INDEX_NEW) {
            front_report(e, DIAGNOSTIC_E0606, item->at,
                         "`None` adds an extent to a tile; read the view first, as in `x[i +: B][None, :]`");
            return value_error(expression->at);
        }
    }
    if (e->in_map) {
        front_report(e, DIAGNOSTIC_E0606, expression->at,
                     "a function that is applied element by element may not touch memory");
        return value_error(expression->at);
    }
    if (expression->indexes.count != view->run->type->rank)
        return report_count(e, view, expression);
    return sub ? make_subview(e, view, expression) : make_place(e, view, expression);
}

/* ---- parts of tiles: None, `:`, constants, constant `a +: B` ---- */

struct part {
    int64_t start[IR_MAX_RANK], size[IR_MAX_RANK], extent[IR_MAX_RANK];
    int rank, source;
    bool cuts;
    struct origin origin;
};

static bool tile_item(struct elaborator *e, struct value base, const struct ast_expression *expression,
                      const struct ast_index *item, struct part *part)
{
    const struct ir_type *type = base.run->type;
    if (part->rank >= IR_MAX_RANK) {
        front_report(e, DIAGNOSTIC_E0312, item->at, "a tile has at most %d dimensions", IR_MAX_RANK);
        return false;
    }
    if (item->kind == INDEX_NEW) {
        part->extent[part->rank++] = 1;
        return true;
    }
    int d = part->source++;
    if (d >= type->rank)
        return true;
    part->size[d] = type->extent[d];
    if (item->kind == INDEX_ALL) {
        if (base.origin)
            part->origin.extent[part->rank] = base.origin->extent[d];
        part->extent[part->rank++] = type->extent[d];
        return true;
    }
    wide_integer start;
    int64_t size = 1;
    if (item->kind == INDEX_RANGE) {
        front_report(e, DIAGNOSTIC_E0312, item->at, "a tile has no sub-views; take a constant part with `a +: B`");
        return false;
    }
    if (!elaborate_tile_index(e, base, expression, item->value, &start))
        return false;
    if (item->kind == INDEX_SLICE && !elaborate_extent(e, item->size, &size))
        return false;
    if (start < 0 || start + size > type->extent[d]) {
        front_report(e, DIAGNOSTIC_E0312, item->at, "this part is outside the tile, whose extent %d is %lld", d,
                     (long long)type->extent[d]);
        return false;
    }
    if (start % size != 0) {
        front_report(e, DIAGNOSTIC_E0312, item->at, "a part of a tile starts at a multiple of its size");
        return false;
    }
    part->start[d] = (int64_t)start;
    part->size[d] = size;
    part->cuts = true;
    if (item->kind != INDEX_SLICE)
        return true;
    struct origin *origin = &part->origin;
    origin_add(e, &origin, part->rank, item->size);
    part->extent[part->rank++] = size;
    return true;
}

struct value tile_index(struct elaborator *e, struct value base, const struct ast_expression *expression)
{
    struct part part = {0};
    bool good = true;
    for (int i = 0; i < expression->indexes.count; i++)
        good = tile_item(e, base, expression, expression->indexes.data[i], &part) && good;
    if (!good)
        return value_error(expression->at);
    const struct ir_type *type = base.run->type;
    if (part.source != type->rank) {
        struct diagnostic *d = front_report(e, DIAGNOSTIC_E0601, expression->at,
                                            "the tile %s takes %d index%s, and %d %s given", front_describe(e, base),
                                            type->rank, type->rank == 1 ? "" : "es", part.source,
                                            part.source == 1 ? "is" : "are");
        front_note_shape(e, d, base, "the tile");
        return value_error(expression->at);
    }
    struct ir_value *run = base.run;
    if (part.cuts) {
        run = ir_build_value(&e->builder, OP_EXTRACT, ir_type_with_shape(e->context, type, type->rank, part.size), 1,
                             &run);
        ir_set_list(run->definition, IR_ATTRIBUTE_START, type->rank, part.start);
    }
    const struct ir_type *wanted = ir_type_with_shape(e->context, type, part.rank, part.extent);
    if (!ir_type_same_shape(run->type, wanted))
        run = ir_build_value(&e->builder, OP_RESHAPE, wanted, 1, &run);
    struct value result = value_run(run, expression->at);
    result.enumeration = base.enumeration;
    result.origin = arena_copy(e->arena, &part.origin, sizeof part.origin);
    return result;
}

/* ---- what stands before [ ] ---- */

static struct value make_tile_type(struct elaborator *e, struct value base, const struct ast_expression *expression)
{
    const struct type *element = base.type;
    int64_t extent[IR_MAX_RANK];
    struct origin *origin = NULL;
    int rank = expression->indexes.count;
    if (element->kind != TYPE_PLAIN || element->plain->rank > 0 || rank > IR_MAX_RANK) {
        front_report(e, DIAGNOSTIC_E0204, expression->at,
                     "a tile is made of scalars or pointers and has at most %d dimensions", IR_MAX_RANK);
        return value_error(expression->at);
    }
    for (int d = 0; d < rank; d++) {
        const struct ast_index *item = expression->indexes.data[d];
        if (item->kind != INDEX_EXPRESSION) {
            front_report(e, DIAGNOSTIC_E0204, item->at, "an extent of a tile is one integer known when compiling");
            return value_error(expression->at);
        }
        if (!elaborate_extent(e, item->value, &extent[d]))
            return value_error(expression->at);
        origin_add(e, &origin, d, item->value);
    }
    struct type *type = ARENA_NEW(e->arena, struct type);
    *type = (struct type){.plain = ir_type_with_shape(e->context, element->plain, rank, extent), .origin = origin};
    return value_type(type, expression->at);
}

struct value access_view_member(struct elaborator *e, const struct view_value *view, bool stride, struct value index,
                                struct location at)
{
    int rank = view->run ? view->run->type->rank : view->rank;
    if (index.kind != VALUE_INTEGER || index.integer < 0 || index.integer >= rank) {
        if (!value_is_error(index))
            front_report(e, DIAGNOSTIC_E0205, at, "`%s.%s[...]` takes a dimension from 0 to %d, known when compiling",
                         view->name, stride ? "stride" : "extent", rank - 1);
        return value_error(at);
    }
    int d = (int)index.integer;
    bool doubles = view->nibbles && (d == rank - 1) != stride; /* memory has it in bytes */
    if (!view->run) {
        struct value v = host_make(e, stride ? KERNEL_HOST_STRIDE : KERNEL_HOST_EXTENT, view->number, d, IR_I64, at);
        return doubles ? host_binary(e, OPERATOR_MULTIPLY, v, value_integer(2, at), at) : v;
    }
    const struct ir_type *type = view->run->type;
    int64_t known = stride ? type->stride[d] : type->extent[d];
    if (known != IR_DYNAMIC)
        return value_integer(doubles ? 2 * known : known, at);
    struct ir_value *run = ir_build_value(&e->builder, stride ? OP_STRIDE : OP_EXTENT,
                                          ir_type_scalar(e->context, IR_INDEX), 1, (struct ir_value *[]){view->run});
    ir_set_number(run->definition, IR_ATTRIBUTE_DIMENSION, d);
    if (doubles)
        run = ir_binary(&e->builder, OP_MUL, run, index_constant(e, 2));
    return value_run(run, at);
}

static struct value index_list(struct elaborator *e, struct value base, const struct ast_expression *expression)
{
    wide_integer number = -1;
    if (expression->indexes.count != 1 || expression->indexes.data[0]->kind != INDEX_EXPRESSION)
        number = -1;
    else if (!elaborate_integer(e, expression->indexes.data[0]->value, "the number of a member", &number))
        return value_error(expression->at);
    if (number >= 0 && number < base.list.count)
        return base.list.data[(int)number];
    front_report(e, DIAGNOSTIC_E0205, expression->at, "a tuple of %d takes one index from 0 to %d", base.list.count,
                 base.list.count - 1);
    return value_error(expression->at);
}

/* p[i] = v: the right side follows in the text. */
static void propose_store(struct elaborator *e, struct diagnostic *d, const struct ast_statement *s)
{
    const struct ast_expression *target = s->targets.data[0];
    struct location all = target->at, value = s->values.data[0]->at;
    if (s->targets.count != 1 || s->values.count != 1 || s->operation != OPERATOR_NONE || value.line != all.line)
        return;
    all.end_column = value.end_column;
    front_fixit(e, d, all, FIXIT_CERTAIN,
                arena_printf(e->arena, "store(%s + %s, %s)", front_source(e, target->base),
                             front_source(e, target->indexes.data[0]->value), front_source(e, s->values.data[0])));
}

static struct value report_pointer(struct elaborator *e, const struct ast_expression *expression)
{
    const struct ast_statement *s = e->assigned;
    struct diagnostic *d = front_report(
        e, DIAGNOSTIC_E0315, expression->at,
        "a pointer is not indexed: write `load(p + i)` to read, `store(p + i, v)` to write");
    if (expression->indexes.count != 1 || expression->indexes.data[0]->kind != INDEX_EXPRESSION)
        return value_error(expression->at);
    if (s && s->targets.data[0] == expression)
        propose_store(e, d, s);
    else if (!s)
        front_fixit(e, d, expression->at, FIXIT_CERTAIN,
                    arena_printf(e->arena, "load(%s + %s)", front_source(e, expression->base),
                                 front_source(e, expression->indexes.data[0]->value)));
    return value_error(expression->at);
}

struct value access_index(struct elaborator *e, struct value base, const struct ast_expression *expression)
{
    switch (base.kind) {
    case VALUE_ERROR: return value_error(expression->at);
    case VALUE_VIEW: return index_view(e, base.view, expression);
    case VALUE_TYPE: return make_tile_type(e, base, expression);
    case VALUE_TUPLE:
        if (base.structure) {
            front_report(e, DIAGNOSTIC_E0310, expression->at, "%s is not indexed: its members are `.%s` and so on",
                         front_describe(e, base), base.structure->members[0]);
            return value_error(expression->at);
        }
        return index_list(e, base, expression);
    case VALUE_LIST: return index_list(e, base, expression);
    case VALUE_VIEW_MEMBER: {
        wide_integer number = -1;
        if (expression->indexes.count == 1 && expression->indexes.data[0]->kind == INDEX_EXPRESSION &&
            !elaborate_integer(e, expression->indexes.data[0]->value, "a dimension", &number))
            return value_error(expression->at);
        return access_view_member(e, base.member.view, base.member.stride, value_integer(number, expression->at),
                                  expression->at);
    }
    default: break;
    }
    base = value_read(e, base);
    if (value_is_error(base))
        return base;
    if (base.kind == VALUE_RUN && base.run->type->element == IR_POINTER && base.run->type->rank == 0)
        return report_pointer(e, expression);
    if (value_is_tile(base))
        return tile_index(e, base, expression);
    front_report(e, DIAGNOSTIC_E0306, expression->at, "%s is not indexed", front_describe(e, base));
    return value_error(expression->at);
}

/* ---- reading and writing places ---- */

static int place_operands(const struct place_value *place, struct ir_value **operands)
{
    operands[0] = place->view->run;
    for (int d = 0; d < place->rank; d++)
        operands[1 + d] = place->index[d];
    return 1 + place->rank;
}

static const struct ir_type *place_type(struct elaborator *e, const struct place_value *place, enum ir_element element)
{
    const struct ir_type *view = place->view->run->type;
    struct ir_type type = {.kind = IR_TILE, .element = element, .rank = place->result_rank};
    if (element == IR_POINTER) {
        type.pointee = view->pointee;
        type.pointee_const = view->pointee_const;
    }
    memcpy(type.extent, place->extent, sizeof type.extent);
    for (int d = type.rank; d < IR_MAX_RANK; d++)
        type.extent[d] = 0;
    return ir_type_intern(e->context, &type);
}

/* For passes/lint, which asks whether what lies behind such an extent is ever looked at. */
static void keep_tuned(struct elaborator *e, const struct place_value *place, const struct ir_operation *op)
{
    int result = 0, gathered = -1;
    for (int d = 0; d < place->rank && place->origin && e->variant; d++) {
        if (place->place[d] == IR_POINT)
            continue;
        bool gathers = place->place[d] == IR_GATHER, first = !gathers || gathered < 0;
        int rank = gathers ? place->index[d]->type->rank : 1, at = first ? result : gathered;
        if (gathers && first)
            gathered = result;
        if (first)
            result += rank;
        if (rank == 1 && place->origin->extent[at].tuned)
            vector_push(e->arena, &e->variant->tuned, ((struct kernel_tuned){op, d, place->origin->extent[at].text}));
    }
}

struct value access_load(struct elaborator *e, const struct place_value *place, struct value *other, struct value *mask,
                         int cache, struct location at)
{
    const struct ir_type *view = place->view->run->type;
    if (!view->readable || (place->view->parameter && place->view->parameter->direction == DIRECTION_OUT)) {
        struct diagnostic *d = front_report(e, DIAGNOSTIC_E0602, at, "`%s` is `out`: it is written, not read",
                                            place->view->name);
        if (place->view->parameter)
            front_note(e, d, place->view->parameter->at, "declare it `inout` to read it, too");
        return value_error(at);
    }
    if (place->view->nibbles)
        return nibbles_load(e, place, other, mask, cache, at);
    const struct ir_type *type = place_type(e, place, view->element);
    struct ir_value *operands[3 + IR_MAX_RANK];
    int count = place_operands(place, operands);
    if (other) {
        const struct ir_type *wanted = other->kind == VALUE_RUN && other->run->type->rank > 0
                                           ? type
                                           : ir_type_with_shape(e->context, type, 0, NULL);
        operands[count] = convert_to_type_from(e, *other, wanted, place->origin, true, "`other`");
        if (!operands[count])
            return value_error(at);
        count++;
    } else if (view->element == IR_POINTER) {
        operands[count++] = convert_to_type(e, (struct value){.kind = VALUE_NULL, .at = at},
                                            ir_type_with_shape(e->context, type, 0, NULL), false, "`other`");
    } else {
        operands[count] = ir_constant_bits(&e->builder, ir_type_scalar(e->context, view->element), 0);
        operands[count++]->definition->at = (struct location){0}; /* nobody wrote it: passes/lint asks */
    }
    if (mask) {
        operands[count] = convert_to_type_from(e, *mask, shape_like(e, type, IR_BOOL), place->origin, true, "`mask`");
        if (!operands[count])
            return value_error(at);
        count++;
    }
    struct ir_operation *load = ir_build(&e->builder, OP_LOAD, count, operands, 1, &type);
    load->at = at; /* remarks tell the factors of a product apart */
    ir_set_list(load, IR_ATTRIBUTE_PLACE, place->rank, place->place);
    keep_tuned(e, place, load);
    if (cache >= 0)
        ir_set_number(load, IR_ATTRIBUTE_CACHE, cache);
    struct value result = value_run(load->results[0], at);
    result.origin = place->origin;
    return result;
}

void access_store(struct elaborator *e, struct value target, struct value v, struct value *mask, int cache,
                  struct location at)
{
    if (value_is_error(target))
        return;
    const struct place_value *place = target.place;
    const struct ir_type *view = place->view->run->type;
    if (!view->writable || (place->view->parameter && place->view->parameter->direction == DIRECTION_IN)) {
        struct diagnostic *d = front_report(e, DIAGNOSTIC_E0603, at, "`%s` is `in`: it is read, not written",
                                            place->view->name);
        if (place->view->parameter)
            front_note(e, d, place->view->parameter->at, "declare it `out` or `inout` to write it");
        return;
    }
    if (value_is_error(v))
        return;
    if (place->view->nibbles) {
        nibbles_store(e, &target, v, mask, cache, at);
        return;
    }
    const struct ir_type *type = place_type(e, place, view->element);
    if (v.kind == VALUE_RUN && ir_is_float(v.run->type->element) && v.run->type->element != view->element) {
        struct diagnostic *d = front_report(
            e, DIAGNOSTIC_E0304, v.at, "a store takes exactly the element type: `%s` holds %s, the value is %s",
            place->view->name, ir_element_info[view->element].text, front_describe(e, v));
        front_note(e, d, v.at, "convert it: `%s(...)`", ir_element_info[view->element].text);
        return;
    }
    struct ir_value *operands[3 + IR_MAX_RANK];
    int count = place_operands(place, operands);
    if (value_is_constant(v))
        constant_warn_tuned(e, v);
    operands[count] = convert_to_memory(e, v, type, place->origin, "the stored value");
    if (!operands[count])
        return;
    count++;
    if (mask) {
        operands[count] = convert_to_type_from(e, *mask, shape_like(e, type, IR_BOOL), place->origin, true, "`mask`");
        if (!operands[count])
            return;
        count++;
    }
    struct ir_operation *store = ir_build(&e->builder, OP_STORE, count, operands, 0, NULL);
    ir_set_list(store, IR_ATTRIBUTE_PLACE, place->rank, place->place);
    keep_tuned(e, place, store);
    if (cache >= 0)
        ir_set_number(store, IR_ATTRIBUTE_CACHE, cache);
}

struct value access_inside(struct elaborator *e, const struct place_value *place, struct location at)
{
    if (place->view->nibbles)
        return nibbles_inside(e, place, at);
    struct ir_value *operands[1 + IR_MAX_RANK];
    const struct ir_type *type = ir_type_tile(e->context, IR_BOOL, place->result_rank, place->extent);
    int count = place_operands(place, operands);
    struct ir_value *run = ir_build_value(&e->builder, OP_INSIDE, type, count, operands);
    ir_set_list(run->definition, IR_ATTRIBUTE_PLACE, place->rank, place->place);
    struct value result = value_run(run, at);
    result.origin = place->origin;
    return result;
}
