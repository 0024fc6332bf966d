/* See meetings.h.  What an access touches in an instance is a list of boxes: one for each turn of the loops around it, and for
 * each run of an index tile. */
#include "passes/lint/meetings.h"

#include <string.h>

#include "ir/query.h"

enum { MOST_BOXES = 4096, MOST_COMPARED = 1 << 22, MOST_TURNS = 256, MOST_BLOCKS = 8, MOST_ACCESSES = 64 };

struct box {
    const struct ir_operation *op;
    bool varies; /* instances store other values */
    int64_t instance, low[IR_MAX_RANK], high[IR_MAX_RANK];
};
struct boxes {
    struct trial *trial;
    VECTOR(struct box) of;
    int rank;
    int64_t instance;
    bool broken; /* a place is not known, or there are too many */
};
/* The accesses to one argument. */
struct accesses {
    struct forms *forms;
    const struct ir_value *argument;
    bool is_pointer, loads;
    const struct ir_operation *list[MOST_ACCESSES];
    int count;
};

/* ---- accesses ---- */

static const struct ir_value *whole_view(const struct ir_value *view)
{
    while (view->definition && view->definition->opcode == OP_SUBVIEW)
        view = view->definition->operands[0];
    return view;
}

static void collect(struct ir_operation *op, void *context)
{
    struct accesses *a = context;
    struct ir_access access;
    const struct ir_value *base;
    enum ir_opcode wanted = a->is_pointer ? (a->loads ? OP_POINTER_LOAD : OP_POINTER_STORE)
                                          : (a->loads ? OP_LOAD : OP_STORE);
    if (op->opcode != wanted || a->count == MOST_ACCESSES || !ir_access_of(op, &access))
        return;
    if (a->is_pointer)
        form_of_pointer(a->forms, access.view, &base);
    else
        base = whole_view(access.view);
    if (base == a->argument)
        a->list[a->count++] = op;
}

/* ---- boxes ---- */

/* One that goes on where the one before ends becomes a part of it. */
static void add_box(struct boxes *boxes, const struct box *box)
{
    struct box *last = boxes->of.count ? &boxes->of.data[boxes->of.count - 1] : NULL;
    int grows = -1, differ = 0;
    for (int d = 0; last && d < boxes->rank; d++)
        if (last->low[d] != box->low[d] || last->high[d] != box->high[d])
            grows = d, differ++;
    if (last && last->op == box->op && last->instance == box->instance && differ <= 1 &&
        (differ == 0 || last->high[grows] == box->low[grows])) {
        if (differ)
            last->high[grows] = box->high[grows];
        return;
    }
    boxes->broken = boxes->of.count == MOST_BOXES;
    if (!boxes->broken)
        vector_push(boxes->trial->lint->arena, &boxes->of, *box);
}

/* The same part of the view that this is a part of; of an argument what lies inside.  False: nothing does. */
static bool widen_box(struct boxes *boxes, const struct ir_value *view, struct box *box)
{
    const struct ir_operation *op = view->definition;
    struct box part = *box;
    int rank = view->type->rank, inner = 0;
    for (int d = 0; d < rank && !op; d++) {
        box->low[d] = int64_max(box->low[d], 0);
        box->high[d] = int64_min(box->high[d], trial_extent(boxes->trial, view, d));
        if (box->low[d] >= box->high[d])
            return false;
    }
    if (!op)
        return true;
    int64_t drop = ir_number(op, IR_ATTRIBUTE_DROP, 0), start, stop;
    for (int d = 0; d < op->operands[0]->type->rank; d++) {
        boxes->broken = boxes->broken || !trial_number(boxes->trial, op->operands[1 + 2 * d], 0, &start) ||
                        !trial_number(boxes->trial, op->operands[2 + 2 * d], 0, &stop);
        if (boxes->broken)
            return false;
        if (drop >> d & 1) {
            box->low[d] = start;
            box->high[d] = start + 1;
            continue;
        }
        start = int64_max(start, 0);
        box->low[d] = start + int64_max(part.low[inner], 0);
        boxes->broken = __builtin_add_overflow(start, part.high[inner++], &box->high[d]);
        box->high[d] = int64_min(box->high[d], stop);
    }
    return !boxes->broken && widen_box(boxes, op->operands[0], box);
}

/* What one element of the index tiles, or of a tile of pointers, names. */
static void add_element(struct boxes *boxes, const struct ir_operation *op, const struct ir_access *access,
                        int64_t element)
{
    struct box box = {.op = op, .instance = boxes->instance};
    int64_t number, masked = 1;
    boxes->broken = access->mask && !trial_number(boxes->trial, access->mask, element, &masked);
    for (int d = 0; d < int64_max(access->rank, 1) && !boxes->broken; d++) {
        const struct ir_value *index = access->rank ? access->index[d] : access->view;
        boxes->broken = !trial_number(boxes->trial, index, element, &number) ||
                        __builtin_add_overflow(number, access->rank ? int64_max(access->place[d], 1) : 1, &box.high[d]);
        box.low[d] = number;
    }
    if (boxes->broken || !masked || (access->rank && !widen_box(boxes, access->view, &box)))
        return;
    box.varies = access->value && forms_vary(boxes->trial->forms, access->value, -1);
    add_box(boxes, &box);
}

static void add_place(struct boxes *boxes, const struct ir_operation *op)
{
    struct ir_access access;
    int64_t count = 1;
    ir_access_of(op, &access);
    if (!access.rank)
        count = ir_type_elements(access.view->type);
    for (int d = 0; d < access.rank; d++) {
        if (access.place[d] == IR_GATHER)
            count = ir_type_elements(access.index[d]->type);
        boxes->broken = boxes->broken || (access.mask && access.place[d] > 0);
    }
    for (int64_t e = 0; e < count && !boxes->broken; e++)
        add_element(boxes, op, &access, e);
}

static void add_access(struct boxes *boxes, const struct ir_operation *op, const struct ir_block *const *blocks,
                       int count);

/* For all turns of a loop. */
static void add_turns(struct boxes *boxes, const struct ir_operation *op, const struct ir_block *const *blocks,
                      int count)
{
    struct trial *trial = boxes->trial;
    const struct ir_operation *loop = blocks[count]->parent;
    const struct ir_value *variable = blocks[count]->arguments.data[0];
    int64_t from, to, step;
    if (ir_number(loop, IR_ATTRIBUTE_MULTIPLY, 0) || !trial_number(trial, loop->operands[0], 0, &from) ||
        !trial_number(trial, loop->operands[1], 0, &to) || !trial_number(trial, loop->operands[2], 0, &step) ||
        step < 1 || (from < to && (to - from) / step > MOST_TURNS)) {
        boxes->broken = true;
        return;
    }
    trial->has_turn[variable->id] = true;
    for (int64_t at = from; at < to && !boxes->broken; at += step) {
        trial->turn[variable->id] = at;
        add_access(boxes, op, blocks, count);
    }
    trial->has_turn[variable->id] = false;
}

/* In the blocks around it, of loops and branches; the outermost is the last. */
static void add_access(struct boxes *boxes, const struct ir_operation *op, const struct ir_block *const *blocks,
                       int count)
{
    const struct ir_operation *parent = count ? blocks[count - 1]->parent : NULL;
    int64_t condition;
    if (!count) {
        add_place(boxes, op);
    } else if (parent->opcode == OP_FOR) {
        add_turns(boxes, op, blocks, count - 1);
    } else if (parent->opcode != OP_IF || !trial_number(boxes->trial, parent->operands[0], 0, &condition)) {
        boxes->broken = true;
    } else if (parent->regions[condition ? 0 : 1] == blocks[count - 1]) {
        add_access(boxes, op, blocks, count - 1);
    }
}

/* What is broken is left out. */
static void add_operation(struct boxes *boxes, const struct ir_operation *op)
{
    const struct ir_block *blocks[MOST_BLOCKS];
    int count = 0, start = boxes->of.count;
    for (const struct ir_block *block = op->block; block->parent; block = block->parent->block) {
        if (count == MOST_BLOCKS)
            return;
        blocks[count++] = block;
    }
    add_access(boxes, op, blocks, count);
    boxes->of.count = boxes->broken ? start : boxes->of.count;
    boxes->broken = false;
}

/* ---- instances ---- */

static void place_instance(struct trial *trial, int64_t instance)
{
    for (int g = 0; g < trial->function->grid_rank; g++) {
        trial->index[g] = instance % trial->count[g];
        instance /= trial->count[g];
    }
}

static struct boxes boxes_of(struct trial *trial, const struct accesses *accesses)
{
    struct boxes boxes = {.trial = trial};
    boxes.rank = accesses->is_pointer ? 1 : accesses->argument->type->rank;
    for (int64_t i = 0; i < trial->instances; i++) {
        place_instance(trial, i);
        boxes.instance = i;
        for (int k = 0; k < accesses->count; k++)
            add_operation(&boxes, accesses->list[k]);
    }
    return boxes;
}

static bool boxes_meet(const struct box *a, const struct box *b, int rank)
{
    for (int d = 0; d < rank; d++)
        if (a->low[d] >= b->high[d] || b->low[d] >= a->high[d])
            return false;
    return a->instance != b->instance;
}

/* Where both store what is the same for all, one of the values is kept whatever the order. */
static bool does_harm(const struct box *a, const struct box *b)
{
    return a->varies || b->varies || ir_has_trait(b->op, IR_TRAIT_READ);
}

static bool find_meeting(struct trial *trial, const struct boxes *a, const struct boxes *b, struct meeting *meeting)
{
    if ((int64_t)a->of.count * b->of.count > MOST_COMPARED)
        return false;
    for (int i = 0; i < a->of.count; i++)
        for (int j = 0; j < b->of.count; j++) {
            if (!does_harm(&a->of.data[i], &b->of.data[j]) || !boxes_meet(&a->of.data[i], &b->of.data[j], a->rank))
                continue;
            *meeting = (struct meeting){.store = a->of.data[i].op, .other = b->of.data[j].op};
            place_instance(trial, a->of.data[i].instance);
            memcpy(meeting->first, trial->index, sizeof meeting->first);
            place_instance(trial, b->of.data[j].instance);
            memcpy(meeting->second, trial->index, sizeof meeting->second);
            return true;
        }
    return false;
}

bool meetings_find(const struct lint *lint, const struct ir_function *function, struct forms *forms,
                   const struct ir_value *argument, bool is_pointer, bool loads, struct meeting *meeting)
{
    struct accesses stores = {.forms = forms, .argument = argument, .is_pointer = is_pointer}, others = stores;
    int trials = 0;
    others.loads = loads;
    ir_walk(function->body, collect, &stores);
    ir_walk(function->body, collect, &others);
    for (int number = 0; number < TRIALS && stores.count && others.count; number++) {
        struct trial trial;
        struct meeting found;
        if (!trial_begin(&trial, lint, function, forms, number, false) || trial.instances < 2)
            continue;
        struct boxes stored = boxes_of(&trial, &stores);
        struct boxes other = loads ? boxes_of(&trial, &others) : stored;
        if (!find_meeting(&trial, &stored, &other, &found))
            return false;
        *meeting = trials++ ? *meeting : found;
    }
    return trials > 0;
}
