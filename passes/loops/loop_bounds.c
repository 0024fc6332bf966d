/* The bounds of a loop, from its graph of operations.  See loop_model.h.
 *
 * The recurrence bound is the greatest ratio of latency to distance over all cycles of the graph: iterations cannot start
 * at shorter intervals than that.  Bisection finds it.  To try a ratio, each edge gets the length  latency - ratio *
 * distance.  The ratio is too small if some cycle then has a length above 0.  Longest paths tell that in one walk, since
 * edges within an iteration lead forwards in text order and each cycle has an edge that leads back. */
#include "passes/loops/loop_model.h"

#include <math.h>

enum { BISECTIONS = 24 };
static const double NEARLY = 0.95;

struct graph {
    const struct loop_model *model;
    int *position; /* by value id: of the operation of the body that makes it; -1: none does */
    int *writer;   /* by value id of a buffer: of the operation in front that has written it last; -1: none has */
    VECTOR(struct loop_edge) edges;
};

static void mark_results(struct graph *g, const struct ir_operation *op, int position)
{
    for (int i = 0; i < op->result_count; i++)
        g->position[op->results[i]->id] = position;
}

/* The operation of an iteration that makes a value, and how many iterations before this one; -1: none in the loop. */
static int find_origin(const struct graph *g, const struct ir_value *value, int *distance)
{
    const struct ir_block *body = g->model->body;
    const struct ir_operation *yield = ir_terminator(body);
    int first = body->arguments.count - yield->operand_count; /* the loop's variable is an argument of its own */
    *distance = 0;
    while (value->block == body && !value->definition && *distance <= yield->operand_count) {
        if (value->index < first)
            return -1;
        value = yield->operands[value->index - first];
        ++*distance;
    }
    return value->definition ? g->position[value->id] : -1;
}

static const struct ir_value *buffer_of(const struct ir_value *value)
{
    while (value->definition &&
           (value->definition->opcode == OP_BUFFER_PERMUTE || value->definition->opcode == OP_BUFFER_PART))
        value = value->definition->operands[0];
    return value;
}

static void note_write(struct graph *g, const struct ir_operation *op, int position)
{
    if (op->opcode == OP_BUFFER_STORE)
        g->writer[buffer_of(op->operands[1])->id] = position;
}

/* From all that an operation looks at, itself or inside. */
static void add_edges(struct arena *arena, struct graph *g, const struct ir_operation *op, int to)
{
    for (int i = 0; i < op->operand_count; i++) {
        struct loop_edge edge = {.to = to};
        edge.from = find_origin(g, op->operands[i], &edge.distance);
        if (edge.from >= 0 && (edge.from < to || edge.distance))
            vector_push(arena, &g->edges, edge);
        if (op->operands[i]->type->kind != IR_BUFFER)
            continue;
        edge = (struct loop_edge){.from = g->writer[buffer_of(op->operands[i])->id], .to = to};
        if (edge.from >= 0 && edge.from < to)
            vector_push(arena, &g->edges, edge);
    }
    for (int r = 0; r < op->region_count; r++)
        for (const struct ir_operation *inner = op->regions[r]->first; inner; inner = inner->next)
            add_edges(arena, g, inner, to);
}

struct loop_edge *loop_model_edges(struct arena *arena, const struct loop_model *model, int *count)
{
    int values = model->body->function->next_value_id;
    struct graph g = {
        .model = model, .position = ARENA_ARRAY(arena, int, values + 1), .writer = ARENA_ARRAY(arena, int, values + 1)};
    for (int i = 0; i < values; i++)
        g.position[i] = g.writer[i] = -1;
    for (int i = 0; i < model->count; i++)
        mark_results(&g, model->operations[i].operation, i);
    for (int i = 0; i + 1 < model->count; i++) { /* the terminator hands on, and needs nothing */
        add_edges(arena, &g, model->operations[i].operation, i);
        note_write(&g, model->operations[i].operation, i);
    }
    *count = g.edges.count;
    return g.edges.data;
}

/* From the start of an operation until its result can be used.  Of an asynchronous product a warpgroup waits for its own
 * part alone. */
static double time_of(const struct modelled_operation *made)
{
    double groups = fmax(1, loop_cost_warps(made->operation) / 4);
    double product = made->cost.asynchronous ? made->cost.tensor / groups : 0;
    return made->ahead ? 0 : made->cost.issue + made->cost.latency + product;
}

/* Whether some way round takes longer than `ratio` for each iteration that it crosses. */
static bool is_exceeded(const struct loop_model *model, const struct loop_edge *edges, int count, int back,
                        double *length, double ratio)
{
    bool longer = true;
    for (int i = 0; i < model->count; i++)
        length[i] = 0;
    for (int sweep = 0; longer && sweep <= back + 1; sweep++) {
        longer = false;
        for (int e = 0; e < count; e++) {
            double by = length[edges[e].from] + time_of(&model->operations[edges[e].from]) - ratio * edges[e].distance;
            if (by > length[edges[e].to] + 1e-6) {
                length[edges[e].to] = by;
                longer = true;
            }
        }
    }
    return longer;
}

static double recurrence_of(struct arena *arena, const struct loop_model *model)
{
    int count, back = 0;
    const struct loop_edge *edges = loop_model_edges(arena, model, &count);
    double *length = ARENA_ARRAY(arena, double, model->count + 1), low = 0, high = 1;
    for (int e = 0; e < count; e++)
        back += edges[e].distance > 0;
    if (!back)
        return 0;
    for (int i = 0; i < model->count; i++)
        high += time_of(&model->operations[i]);
    for (int i = 0; i < BISECTIONS && high - low > 0.5; i++) {
        double middle = (low + high) / 2;
        if (is_exceeded(model, edges, count, back, length, middle))
            low = middle;
        else
            high = middle;
    }
    return is_exceeded(model, edges, count, back, length, 0) ? high : 0;
}

static double resource_of(const struct loop_cost *cost, enum loop_resource resource)
{
    const double used[] = {
#define X(name, text) cost->name,
        LOOP_RESOURCES(X)
#undef X
    };
    return used[resource];
}

static const char *resource_text(enum loop_resource resource)
{
#define X(name, text) text,
    static const char *const texts[] = { LOOP_RESOURCES(X) };
#undef X
    return texts[resource];
}

struct loop_bounds loop_model_bounds(struct arena *arena, const struct loop_model *model, const struct loop_cost *more)
{
    struct loop_bounds bounds = {.recurrence = recurrence_of(arena, model)};
    bounds.least = bounds.recurrence;
    bounds.limit = "what an iteration hands to the next";
    for (int r = 0; r < LOOP_RESOURCE_COUNT; r++) {
        double *sum = &bounds.resource[r];
        *sum = more ? resource_of(more, (enum loop_resource)r) : 0;
        for (int i = 0; i + 1 < model->count; i++)
            *sum += resource_of(&model->operations[i].cost, (enum loop_resource)r);
        if (*sum > bounds.least) {
            bounds.least = *sum;
            bounds.limit = resource_text((enum loop_resource)r);
        }
    }
    /* tensor cores are what warps wait for that issue a product step by step, or wait for one at once */
    if (bounds.resource[LOOP_tensor] > 0 && bounds.resource[LOOP_tensor] >= NEARLY * bounds.least)
        bounds.limit = resource_text(LOOP_tensor);
    return bounds;
}
