/* Tensor maps: what a TMA instruction moves, from a place in a view and the form of a buffer.  See shared_form.h.
 *
 * The map's dimensions are the view's: first the one whose neighbours are neighbours in the buffer, then that of the
 * buffer's rows, then the others from the last.  Dimensions that a place names by one index have a box of 1.  A buffer
 * is as many instructions as it has boxes; they lie in memory one after the other. */
#include "ir/facts/shared_form.h"

#include <string.h>

enum { TMA_ALIGNMENT = 16 };

static bool has_map_type(enum ir_element element) { return element != IR_POINTER && element != IR_INDEX; }

/* Of an argument's strides and base: what is known must be multiples of 16 bytes.  *asked: it is not known, but code asks. */
static const char *facts_problem(const struct ir_value *view, const int *dimension, int bytes, bool *asked)
{
    const struct ir_function *function = view->block->function;
    const struct ir_type *type = view->type;
    if (view->index >= function->facts.count)
        return "nothing is known of the view";
    const struct ir_argument_fact *fact = &function->facts.data[view->index];
    if (fact->own)
        return "the view is memory of the launch, which is there only behind the maps";
    *asked = fact->asked_alignment >= TMA_ALIGNMENT && fact->asked_alignment % TMA_ALIGNMENT == 0;
    if (!*asked && (fact->base_alignment < TMA_ALIGNMENT || fact->base_alignment % TMA_ALIGNMENT))
        return "the view's base is not known to be aligned to 16 bytes";
    for (int i = 0; i < type->rank; i++) {
        int d = dimension[i];
        int64_t step = type->stride[d] != IR_DYNAMIC ? type->stride[d] : fact->stride_multiple[d];
        bool is_known = type->stride[d] != IR_DYNAMIC || !*asked;
        if (i > 0 && is_known && (step <= 0 || step % TMA_ALIGNMENT * bytes % TMA_ALIGNMENT))
            return "a stride of the view is not known to be a multiple of 16 bytes";
        if (type->extent[d] == IR_DYNAMIC && (fact->extent_limit < 1 || fact->extent_limit > INT64_C(1) << 31))
            return "an extent of the view may pass 2^31";
    }
    return NULL;
}

/* The view's dimension behind each of the buffer's. */
static const char *place_problem(const struct ir_type *view, const int64_t *place, const struct ir_type *buffer,
                                 int *view_dimension)
{
    int kept = 0;
    for (int d = 0; d < view->rank; d++) {
        if (place[d] == IR_GATHER)
            return "the place gathers elements";
        if (place[d] == IR_POINT)
            continue;
        if (kept == buffer->rank || place[d] != buffer->extent[kept])
            return "the buffer has other extents than the place";
        view_dimension[kept++] = d;
    }
    return kept == buffer->rank ? NULL : "the buffer has other extents than the place";
}

/* Of a part that could not be reached through the view behind it. */
static const char *part_problem(const struct ir_operation *subview)
{
    int64_t end;
    for (int i = 2; i < subview->operand_count; i += 2)
        if (!(ir_number(subview, IR_ATTRIBUTE_DROP, 0) >> (i / 2 - 1) & 1) &&
            ir_constant_integer(subview->operands[i], &end) && end != subview->operands[0]->type->extent[i / 2 - 1])
            return "the view is a part of another that ends elsewhere";
    return "the view is a part of another whose bounds are known only when running";
}

static bool covers_dimension(const struct ir_operation *subview, int d)
{
    int64_t start, stop;
    const struct ir_value *end = subview->operands[2 + 2 * d], *parent = subview->operands[0];
    if (!ir_constant_integer(subview->operands[1 + 2 * d], &start) || start != 0)
        return false;
    if (ir_constant_integer(end, &stop))
        return stop == parent->type->extent[d];
    const struct ir_operation *extent = end->definition;
    return extent && extent->opcode == OP_EXTENT && extent->operands[0] == parent &&
           ir_number(extent, IR_ATTRIBUTE_DIMENSION, 0) == d;
}

/* The view that a map would be of: `view`, or what it is a part of along one dimension. */
static const struct ir_value *map_argument(const struct ir_value *view, int *part)
{
    const struct ir_operation *op = view->definition;
    *part = -1;
    if (!op || op->opcode != OP_SUBVIEW || ir_number(op, IR_ATTRIBUTE_DROP, 0))
        return view;
    for (int d = 0; d < view->type->rank; d++) {
        if (covers_dimension(op, d))
            continue;
        if (*part >= 0)
            return view;
        *part = d;
    }
    return op->operands[0];
}

const char *tensor_map_view_problem(const struct ir_value *view)
{
    int part;
    view = map_argument(view, &part);
    const struct ir_operation *op = view->definition;
    while (op && op->opcode == OP_VIEW_PERMUTE)
        op = op->operands[0]->definition;
    if (op && op->opcode == OP_SUBVIEW)
        return part_problem(op);
    if (op && op->opcode == OP_MAKE_VIEW)
        return op->operands[0]->type->kind == IR_VIEW ? "the view is another in another shape"
                                                      : "the view is made from a pointer";
    if (view->definition && !op)
        return "the view is another with its dimensions turned";
    if (op || view->block->parent)
        return "which view it is, the program chooses when running";
    return view->block->function->is_kernel ? NULL : "the view is no argument of the kernel";
}

static const char *problem_of(const struct ir_value *view, int rank, const int64_t *place, const struct ir_type *buffer,
                              struct tensor_map *map)
{
    struct shared_form form;
    int view_dimension[LAYOUT_RANK] = {0}, extent_in_box[IR_MAX_RANK], part;
    const char *problem = tensor_map_view_problem(view);
    view = map_argument(view, &part);
    const struct ir_type *type = view->type;
    if (problem)
        return problem;
    if (type->optional)
        return "the view may be absent";
    if (rank > TENSOR_MAP_RANK)
        return "the view has more than 5 dimensions";
    if (part >= 0 && rank + 2 > TENSOR_MAP_RANK)
        return "the view is a part of another whose bounds are known only when running, and has more than 3 dimensions";
    if (!has_map_type(type->element))
        return "no tensor map has the view's element";
    problem = place_problem(type, place, buffer, view_dimension);
    if (problem)
        return problem;
    int bytes = ir_element_info[type->element].bits / 8;
    if (!buffer->layout || !shared_form_of(NULL, buffer->layout, bytes, &form))
        return "the buffer is not laid out as TMA fills it";
    int contiguous = view_dimension[form.contiguous], row = view_dimension[form.row];
    if (type->stride[contiguous] != 1)
        return "no dimension of the view that the buffer could follow has stride 1";
    if (part == contiguous)
        return "the view is a part of another along what is contiguous";
    for (int d = 0; d < rank; d++)
        extent_in_box[d] = 1;
    for (int d = 0; d < buffer->rank; d++)
        extent_in_box[view_dimension[d]] = form.box[d];
    *map = (struct tensor_map){
        .argument = view->index, .element = type->element, .rank = rank, .part = part, .swizzle = form.swizzle};
    int next = 0;
    map->dimension[next++] = contiguous;
    if (row != contiguous)
        map->dimension[next++] = row;
    for (int d = rank - 1; d >= 0; d--)
        if (d != contiguous && d != row)
            map->dimension[next++] = d;
    for (int i = 0; i < rank; i++)
        map->box[i] = extent_in_box[map->dimension[i]];
    for (int i = 0; i < 2 && part >= 0; i++, map->rank++) {
        map->dimension[map->rank] = part;
        map->box[map->rank] = 1;
    }
    return facts_problem(view, map->dimension, bytes, &map->asked);
}

bool tensor_map_for(const struct ir_value *view, int rank, const int64_t *place, const struct ir_type *buffer,
                    struct tensor_map *map, const char **reason)
{
    const char *problem = problem_of(view, rank, place, buffer, map);
    if (reason)
        *reason = problem;
    return !problem;
}

bool tensor_map_of(const struct ir_operation *operation, struct tensor_map *map, const char **reason)
{
    struct ir_access access;
    bool tma = operation->opcode == OP_TMA_LOAD || operation->opcode == OP_TMA_STORE;
    if (!tma || !ir_access_of(operation, &access) || !access.buffer) {
        if (reason)
            *reason = "the operation is not one of TMA";
        return false;
    }
    if (!tensor_map_for(access.view, access.rank, access.place, access.buffer->type, map, reason))
        return false;
    map->rounds = ir_number(operation, IR_ATTRIBUTE_PRECISION, IR_PRECISION_IEEE) == IR_PRECISION_TF32;
    int blocks = (int)ir_number(operation, IR_ATTRIBUTE_MULTICAST, 1);
    int groups = (int)ir_number(operation, IR_ATTRIBUTE_APART, 0);
    int *rows = &map->box[access.buffer->type->rank > 1]; /* the dimension behind the contiguous one, or that */
    *rows = groups ? tensor_map_apart_rows(access.buffer->type, groups)
                   : tensor_map_shared_rows(access.buffer->type, blocks);
    if (!*rows && reason)
        *reason = groups ? "the buffer does not divide into 64 rows for each warpgroup, over and over"
                         : "the buffer does not divide into a part for each block of the cluster";
    return *rows > 0;
}

bool tensor_map_is_same(const struct tensor_map *a, const struct tensor_map *b)
{
    bool same = a->argument == b->argument && a->element == b->element && a->rank == b->rank && a->part == b->part &&
                a->swizzle == b->swizzle && a->rounds == b->rounds;
    for (int i = 0; i < a->rank && same; i++)
        same = a->dimension[i] == b->dimension[i] && a->box[i] == b->box[i];
    return same;
}

struct collection {
    struct arena *arena;
    VECTOR(struct tensor_map) maps;
};

static void collect(struct collection *collection, const struct ir_block *block)
{
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        struct tensor_map map;
        if (tensor_map_of(op, &map, NULL)) {
            bool known = false;
            for (int i = 0; i < collection->maps.count && !known; i++)
                known = tensor_map_is_same(&map, &collection->maps.data[i]);
            if (!known)
                vector_push(collection->arena, &collection->maps, map);
        }
        for (int r = 0; r < op->region_count; r++)
            collect(collection, op->regions[r]);
    }
}

int tensor_map_collect(struct arena *arena, const struct ir_function *function, struct tensor_map **maps)
{
    struct collection collection = {.arena = arena};
    collect(&collection, function->body);
    *maps = collection.maps.data;
    return collection.maps.count;
}

enum { SWIZZLE_ROWS = 8 };

static void form_of(const struct ir_type *buffer, struct shared_form *form)
{
    if (!shared_form_of(NULL, buffer->layout, ir_element_info[buffer->element].bits / 8, form))
        die("a TMA operation on a buffer of another form");
}

static int elements_of_row(const struct ir_type *buffer, const struct shared_form *form)
{
    int bytes = ir_element_info[buffer->element].bits / 8;
    return (int)(form->box_bytes / bytes) / form->box[form->row];
}

int tensor_map_shared_rows(const struct ir_type *buffer, int blocks)
{
    struct shared_form form;
    form_of(buffer, &form);
    int rows = form.box[form.row];
    if (layout_size(buffer->layout) / (elements_of_row(buffer, &form) * rows) % blocks == 0)
        return rows;
    return rows % (SWIZZLE_ROWS * blocks) == 0 ? rows / blocks : 0;
}

static int boxes_of_rows(struct arena *arena, const struct ir_type *buffer, int rows, int (**starts)[LAYOUT_RANK])
{
    struct shared_form form;
    form_of(buffer, &form);
    int box_elements = elements_of_row(buffer, &form) * rows;
    int count = (int)(layout_size(buffer->layout) / box_elements);
    *starts = arena_alloc(arena, sizeof **starts * (size_t)count);
    for (int i = 0; i < count; i++) {
        struct layout_position position = {{0}};
        position.part[LAYOUT_OFFSET] = i * box_elements;
        for (int d = 0; d < LAYOUT_RANK; d++)
            (*starts)[i][d] = 0;
        layout_coordinates(buffer->layout, &position, (*starts)[i]);
    }
    return count;
}

int tensor_map_shared_boxes(struct arena *arena, const struct ir_type *buffer, int blocks, int (**starts)[LAYOUT_RANK])
{
    return boxes_of_rows(arena, buffer, tensor_map_shared_rows(buffer, blocks), starts);
}

int tensor_map_apart_rows(const struct ir_type *buffer, int groups)
{
    struct shared_form form;
    form_of(buffer, &form);
    bool divides = form.row == 0 && buffer->rank == 2 && form.box[0] % IR_GROUP_ROWS == 0;
    return divides && buffer->extent[0] % ((int64_t)IR_GROUP_ROWS * groups) == 0 ? IR_GROUP_ROWS : 0;
}

int tensor_map_apart_boxes(struct arena *arena, const struct ir_type *buffer, int groups, int (**starts)[LAYOUT_RANK])
{
    int(*all)[LAYOUT_RANK], next = 0;
    int count = boxes_of_rows(arena, buffer, tensor_map_apart_rows(buffer, groups), &all);
    *starts = arena_alloc(arena, sizeof **starts * (size_t)count);
    for (int group = 0; group < groups; group++)
        for (int i = 0; i < count; i++)
            if (all[i][0] / IR_GROUP_ROWS % groups == group)
                memcpy((*starts)[next++], all[i], sizeof *all);
    return count;
}

int tensor_map_boxes(struct arena *arena, const struct ir_type *buffer, int (**starts)[LAYOUT_RANK])
{
    return tensor_map_shared_boxes(arena, buffer, 1, starts);
}
