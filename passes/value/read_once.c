/* read_once: a load whose elements nobody reads again tells the caches so, and they give its lines up first.
 *
 *     %row = grid_index dimension(0) : index
 *     %v = load %x[%row, %0 +: 4096], %z : bf16[4096]           %v = load cache(cs) %x[%row, %0 +: 4096], %z
 *     %s = reduce axis(0) kind(add) %v : bf16               ->
 *     store %y[%row], %s
 *
 * A load is read once when no two programs, and no two iterations of the loops around it, read the same element.  To
 * prove it, each grid dimension and each loop variable must move the place along a dimension of its own, by at least
 * the place's length there; and no other access of the function may reach the elements.  A grid dimension may also tell
 * which part of a loop's range is its own, as that of `split_k` does:
 *
 *     %from = mul %part, %share     %end = add %from, %share     %to = min %end, %K     for %k = %from to %to step 64
 *
 * Rows must be whole cache lines, so that neighbours do not share one.
 *
 * Why this helps: a kernel that only reads fills the second-level cache with data that nobody wants again.  That
 * pushes out what the kernel before it has written, which then has to go to memory first.  (H200, sums of 16384 rows
 * of 4096 bf16 behind a kernel that wrote 256 MiB: 41.3 us, with the hint 38.3; where the cache holds nothing written,
 * 33.4 both.  Sums of columns of 8192 x 8192 bf16, whose loop is divided by 8: 43.5, with the hint 40.0.)
 *
 * When it does not help: kernels that write as much as they read, or half as much, lose 2 to 4 %, so the pass leaves
 * them alone.  Kernels that read very much lose too, as the written data goes to memory anyway, bit by bit between the
 * reads: up to 256 MiB gain 1 to 16 %, 512 MiB between 1 and -2 %, 1 GiB -1 to -5 %.  How much there is to read is
 * known only when running; the pass takes long rows for a sign of it.
 *
 * Right because a hint changes no value. */
#include "ir/facts/alias.h"
#include "ir/facts/analysis.h"
#include "ir/facts/linear.h"
#include "passes/base/pass.h"
#include "passes/base/rewrite.h"

/* bytes of a cache line, and the most of a load; bytes read for each written; what a loop is taken to run, how deep */
enum { LINE = 128, MOST = 32 << 10, READS = 8, TURNS = 8, DEPTH = 6 };

struct read_once {
    struct pass_context *context;
    const struct ranges *ranges;
    VECTOR(struct ir_operation *) loads;    /* that read each element once, as far as they alone tell */
    VECTOR(struct ir_operation *) accesses; /* all that touch memory */
    double read, written;                   /* bytes of a program */
};

/* ---- places ---- */

/* Whether places whose term differs by the step or a multiple of it have no element in common. */
static bool moves_by(const struct read_once *r, const struct ir_access *access, const struct ir_value *term,
                     int64_t step)
{
    for (int d = 0; d < access->rank; d++) {
        int64_t length = access->place[d] > 0 ? access->place[d] : 1, by;
        if (access->place[d] == IR_GATHER)
            continue;
        struct linear linear = linear_of(r->ranges, access->index[d]);
        if (linear.term == term && !__builtin_mul_overflow(linear.scale, step, &by) && (by >= length || -by >= length))
            return true;
    }
    return false;
}

static const struct ir_value *grid_index_of(const struct read_once *r, const struct ir_access *access, int dimension)
{
    for (int d = 0; d < access->rank; d++) {
        if (access->place[d] == IR_GATHER)
            continue;
        const struct ir_value *term = linear_of(r->ranges, access->index[d]).term;
        const struct ir_operation *op = term ? term->definition : NULL;
        if (op && op->opcode == OP_GRID_INDEX && ir_number(op, IR_ATTRIBUTE_DIMENSION, 0) == dimension)
            return term;
    }
    return NULL;
}

static const struct ir_value *without_casts(const struct ir_value *value)
{
    while (value->definition && value->definition->opcode == OP_CAST)
        value = value->definition->operands[0];
    return value;
}

/* The other operand of an operation that has `value` as one; NULL: it is another, or has not. */
static const struct ir_value *other_operand(const struct ir_value *result, enum ir_opcode opcode,
                                            const struct ir_value *value)
{
    const struct ir_operation *op = result->definition;
    for (int i = 0; op && op->opcode == opcode && i < 2; i++)
        if (without_casts(op->operands[i]) == value)
            return without_casts(op->operands[1 - i]);
    return NULL;
}

/* Whether programs that differ in the grid dimension run over parts of the loop's range, and share none of its tiles. */
static bool is_divided(const struct read_once *r, const struct ir_operation *loop, int dimension)
{
    const struct ir_value *from = without_casts(loop->operands[0]), *to = without_casts(loop->operands[1]);
    const struct ir_value *share = NULL, *end = to;
    int64_t step;
    for (int i = 0; from->definition && from->definition->opcode == OP_MUL && i < 2 && !share; i++) {
        const struct ir_operation *index = without_casts(from->definition->operands[i])->definition;
        if (index && index->opcode == OP_GRID_INDEX && ir_number(index, IR_ATTRIBUTE_DIMENSION, 0) == dimension)
            share = without_casts(from->definition->operands[1 - i]);
    }
    for (int i = 0; share && to->definition && to->definition->opcode == OP_MIN && i < 2; i++)
        if (other_operand(without_casts(to->definition->operands[i]), OP_ADD, from))
            end = without_casts(to->definition->operands[i]);
    return share && other_operand(end, OP_ADD, from) == share && ir_constant_integer(loop->operands[2], &step) &&
           step > 0 && linear_of(r->ranges, share).offset % step == 0 && linear_of(r->ranges, share).scale % step == 0;
}

static bool is_divided_around(const struct read_once *r, const struct ir_operation *load, int dimension)
{
    const struct ir_operation *around = load->block->parent;
    while (around && !(around->opcode == OP_FOR && is_divided(r, around, dimension)))
        around = around->block->parent;
    return around;
}

static bool differs_by_program(const struct read_once *r, const struct ir_operation *load,
                               const struct ir_access *access)
{
    const struct ir_function *function = load->block->function;
    for (int d = 0; d < function->grid_rank; d++) {
        const struct ir_value *index = grid_index_of(r, access, d);
        if (function->grid_limit[d] != 1 && (!index || !moves_by(r, access, index, 1)) &&
            !is_divided_around(r, load, d))
            return false;
    }
    return true;
}

static bool differs_by_iteration(const struct read_once *r, const struct ir_operation *load,
                                 const struct ir_access *access)
{
    for (const struct ir_operation *around = load->block->parent; around; around = around->block->parent) {
        int64_t step;
        if (around->opcode == OP_IF)
            continue;
        if (around->opcode != OP_FOR || ir_number(around, IR_ATTRIBUTE_MULTIPLY, 0) ||
            !ir_constant_integer(around->operands[2], &step) ||
            !moves_by(r, access, around->regions[0]->arguments.data[0], step))
            return false;
    }
    return true;
}

/* Neighbours in memory, as many as a cache line has. */
static bool reads_whole_lines(const struct ir_access *access)
{
    int bytes = ir_element_info[access->view->type->element].bits / 8;
    for (int d = 0; d < access->rank; d++)
        if (access->view->type->stride[d] == 1 && access->place[d] * bytes >= LINE)
            return true;
    return false;
}

/* ---- what else touches the elements ---- */

/* Two places of one view that have no element in common, in whichever program and iteration. */
static bool are_apart(const struct read_once *r, const struct ir_access *a, const struct ir_access *b)
{
    if (a->view != b->view)
        return false;
    for (int d = 0; d < a->rank; d++) {
        if (a->place[d] == IR_GATHER || b->place[d] == IR_GATHER)
            continue;
        struct linear left = linear_of(r->ranges, a->index[d]), right = linear_of(r->ranges, b->index[d]);
        int64_t length = int64_max(int64_max(a->place[d], b->place[d]), 1), gap;
        if (left.term != right.term || left.scale != right.scale || left.scale == INT64_MIN ||
            __builtin_sub_overflow(left.offset, right.offset, &gap) || gap == INT64_MIN)
            continue;
        gap = gap < 0 ? -gap : gap;
        int64_t scale = left.scale < 0 ? -left.scale : left.scale;
        if (gap >= length && (!left.term || gap <= scale - length))
            return true;
    }
    return false;
}

static bool is_alone(const struct read_once *r, const struct ir_operation *load)
{
    struct ir_access mine, other;
    ir_access_of(load, &mine);
    for (int i = 0; i < r->accesses.count; i++) {
        const struct ir_operation *op = r->accesses.data[i];
        if (op == load || !alias_may(alias_memory(op), load->operands[0]))
            continue;
        if (op->opcode != OP_LOAD || !ir_access_of(op, &other) || !are_apart(r, &mine, &other))
            return false;
    }
    return true;
}

/* ---- the function ---- */

/* Of one run of the operation. */
static int64_t bytes_once(const struct ir_operation *op)
{
    struct ir_access access;
    int64_t extent[IR_MAX_RANK], elements = 1;
    if (!ir_access_of(op, &access))
        return 0;
    const struct ir_type *type = access.view->type;
    if (type->kind == IR_TILE) /* pointers */
        return ir_type_elements(type) * (ir_element_info[type->pointee].bits / 8);
    int rank = ir_place_shape(&access, extent);
    for (int d = 0; d < rank; d++)
        elements *= extent[d];
    return elements * (ir_element_info[type->element].bits / 8);
}

static double bytes_of_program(const struct ir_operation *op)
{
    double bytes = (double)bytes_once(op);
    int depth = 0;
    for (const struct ir_operation *around = op->block->parent; around; around = around->block->parent)
        if (ir_has_trait(around, IR_TRAIT_LOOP) && depth++ < DEPTH)
            bytes *= TURNS;
    return bytes;
}

static void collect(struct ir_operation *op, void *data)
{
    struct read_once *r = data;
    struct ir_access access;
    if (!ir_has_trait(op, IR_TRAIT_READ | IR_TRAIT_WRITE | IR_TRAIT_ATOMIC) || op->opcode == OP_ASSUME)
        return;
    vector_push(r->context->arena, &r->accesses, op);
    if (ir_has_trait(op, IR_TRAIT_WRITE | IR_TRAIT_ATOMIC))
        r->written += bytes_of_program(op);
    if (op->opcode == OP_LOAD && !ir_attribute(op, IR_ATTRIBUTE_CACHE) && ir_access_of(op, &access) &&
        bytes_once(op) <= MOST && reads_whole_lines(&access) && differs_by_program(r, op, &access) &&
        differs_by_iteration(r, op, &access))
        vector_push(r->context->arena, &r->loads, op);
}

bool pass_read_once(struct ir_function *function, struct pass_context *context)
{
    struct read_once r = {.context = context, .ranges = context->ranges};
    bool changed = false;
    if (!function->is_kernel)
        return false;
    ir_walk(function->body, collect, &r);
    for (int i = 0; i < r.loads.count; i++)
        if (!is_alone(&r, r.loads.data[i]))
            r.loads.data[i] = NULL;
        else
            r.read += bytes_of_program(r.loads.data[i]);
    for (int i = 0; i < r.loads.count && r.read >= READS * r.written; i++) {
        if (!r.loads.data[i] || !pass_fuel(context))
            continue;
        ir_set_number(r.loads.data[i], IR_ATTRIBUTE_CACHE, IR_CACHE_STREAMING);
        pass_remark(context, r.loads.data[i]->at, "read once: it leaves the caches first");
        changed = true;
    }
    return changed;
}
