/* See factor_way.h. */
#include "passes/loops/factor_way.h"

#include "base/plant.h"
#include "ir/facts/shared_form.h"
#include "ir/query.h"
#include "passes/base/planning.h"
#include "passes/layout/memory_access.h"
#include "passes/loops/buffer_copy.h"

enum { WIDEST_COPY = 16, LEAST_COPY = 4 }; /* bytes, of cp.async; of rows that are gathered the widest */

struct factor_source factor_source_of(struct ir_value *value)
{
    struct factor_source source = {value, false};
    for (;;) {
        const struct ir_operation *op = source.origin->definition;
        if (op && op->opcode == OP_PERMUTE && op->results[0]->type->rank == 2) {
            bool again = source.transposed && !PLANTED(stage_operand_transposed_once);
            source.transposed = again ^ (ir_attribute(op, IR_ATTRIBUTE_PERMUTATION)->list[0] == 1);
            source.origin = op->operands[0];
        } else if (op && op->opcode == OP_CONVERT_LAYOUT) {
            source.origin = op->operands[0];
        } else {
            return source;
        }
    }
}

const struct ir_type *factor_buffer_type(struct ir_context *context, const struct ir_type *tile, int contiguous)
{
    int extent[2] = {(int)tile->extent[0], (int)tile->extent[1]};
    int bytes = ir_element_info[tile->element].bits / 8;
    const struct layout *layout = shared_form_layout(ir_context_layouts(context), 2, extent, bytes, contiguous);
    return layout ? ir_type_buffer(context, tile->element, 2, tile->extent, layout, 1) : NULL;
}

static bool is_wgmma(const struct ir_operation *dot)
{
    return ir_number(dot, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_FMA) == IR_INSTRUCTION_WGMMA;
}

int factor_contiguous(const struct ir_operation *dot, int factor)
{
    struct factor_source source = factor_source_of(dot->operands[factor]);
    bool any = !is_wgmma(dot) || ir_element_info[source.origin->type->element].bits == 16;
    return any ? -1 : (1 - factor) ^ (int)source.transposed;
}

/* Its copy lies with another dimension contiguous than wgmma reads. */
static bool lies_across(const struct ir_operation *dot, int factor)
{
    const struct ir_operation *load = factor_source_of(dot->operands[factor]).origin->definition;
    const char *reason;
    int contiguous;
    return load && load->opcode == OP_LOAD && buffer_copy_possible(NULL, load, &contiguous, &reason) &&
           contiguous != factor_contiguous(dot, factor);
}

static bool is_of_f32(const struct ir_operation *dot)
{
    return is_wgmma(dot) && dot->operands[0]->type->element == IR_F32;
}

bool factor_splits(const struct ir_operation *dot)
{
    return is_of_f32(dot) && ir_number(dot, IR_ATTRIBUTE_PRECISION, IR_PRECISION_IEEE) == IR_PRECISION_TF32X3;
}

bool factor_rounds(const struct ir_operation *dot) { return is_of_f32(dot) && !factor_splits(dot); }

bool factor_is_remade(const struct ir_operation *dot, int factor)
{
    return factor_splits(dot) || (factor_rounds(dot) && lies_across(dot, factor));
}

/* Somebody else than products that round it alike reads the factor. */
static bool is_read_whole(const struct ir_value *value)
{
    for (const struct ir_use *use = value->uses; use; use = use->next) {
        const struct ir_operation *user = use->user;
        bool passes_on = user->opcode == OP_CONVERT_LAYOUT || user->opcode == OP_PERMUTE;
        bool rounds = user->opcode == OP_DOT && use->index < 2 && factor_rounds(user);
        if (passes_on ? is_read_whole(user->results[0]) : !rounds)
            return true;
    }
    return false;
}

const struct ir_type *factor_copy_buffer(const struct ir_operation *dot, int factor)
{
    const struct ir_operation *load = factor_source_of(dot->operands[factor]).origin->definition;
    const char *reason;
    int contiguous;
    buffer_copy_possible(NULL, load, &contiguous, &reason);
    return factor_buffer_type(dot->block->function->module->context, load->results[0]->type, contiguous);
}

/* Threads store four neighbours at once, and read rows as they lie. */
const struct layout *factor_remaking_layout(struct layout_table *table, const struct ir_type *from,
                                            const struct ir_type *to, int warps)
{
    enum { NEIGHBOURS = 4, LANES = 32, WORD = 4 /* bytes */ };
    struct shared_form lies, wanted;
    int extent[2] = {(int)from->extent[0], (int)from->extent[1]};
    shared_form_of(table, from->layout, WORD, &lies);
    shared_form_of(table, to->layout, WORD, &wanted);
    int order[2] = {wanted.contiguous, 1 - wanted.contiguous}, lanes[2] = {LANES, LANES};
    if (lies.contiguous != wanted.contiguous)
        lanes[wanted.contiguous] = 1;
    return layout_blocked_by(table, 2, extent, order, NEIGHBOURS, lanes, order, warps);
}

enum ir_way factor_way(const struct target_row *target, const struct ir_operation *dot, int factor, bool by_threads,
                       const char **why)
{
    const struct ir_operation *load = factor_source_of(dot->operands[factor]).origin->definition;
    int contiguous, wanted = factor_contiguous(dot, factor);
    *why = NULL;
    if (planning_asked_way(load) == IR_WAY_REGISTERS || !buffer_copy_possible(target, load, &contiguous, why))
        return IR_WAY_REGISTERS;
    if (wanted >= 0 && contiguous != wanted && !factor_is_remade(dot, factor)) {
        *why = "k is not contiguous";
        return IR_WAY_REGISTERS;
    }
    if (factor_rounds(dot) && (by_threads || is_read_whole(load->results[0]))) {
        *why = by_threads ? "copies by all threads do not round it to tf32" : "it is also read with all its bits";
        return IR_WAY_REGISTERS;
    }
    const struct ir_type *buffer = factor_copy_buffer(dot, factor);
    if (buffer && by_threads && memory_copy_bytes(load) >= (buffer_copy_gathers(load) ? WIDEST_COPY : LEAST_COPY))
        return IR_WAY_CP_ASYNC;
    if (buffer && buffer_copy_fits(target, dot, load, buffer, why))
        return buffer_has_roles(target) && is_wgmma(dot) ? IR_WAY_TMA : IR_WAY_CP_ASYNC;
    if (!*why)
        *why = "its extents are too small for the rows that matrix instructions read";
    return IR_WAY_REGISTERS;
}

/* ---- all factors of a function ---- */

struct looking {
    const struct target_row *target;
    bool bulk, gathered, asked;
};

static void look(struct ir_operation *dot, void *data)
{
    struct looking *l = data;
    for (int i = 0; i < 2 && dot->opcode == OP_DOT && is_wgmma(dot); i++) {
        const struct ir_operation *load = factor_source_of(dot->operands[i]).origin->definition;
        const struct ir_type *buffer;
        const char *reason;
        int contiguous;
        if (!load || load->opcode != OP_LOAD || !buffer_copy_possible(l->target, load, &contiguous, &reason) ||
            !(buffer = factor_copy_buffer(dot, i)))
            continue;
        l->asked |= planning_asked_way(load) == IR_WAY_CP_ASYNC;
        l->bulk |= buffer_copy_fits(l->target, dot, load, buffer, &reason);
        l->gathered |= buffer_copy_gathers(load) && memory_copy_bytes(load) == WIDEST_COPY;
    }
}

bool factor_all_by_threads(const struct target_row *target, struct ir_function *function)
{
    struct looking l = {.target = target};
    if (!buffer_has_roles(target))
        return false;
    ir_walk(function->body, look, &l);
    return !l.bulk || l.gathered || l.asked;
}

/* ---- rows ---- */

enum { MOST_STEPS = 256 };

/* A producer has it, as it follows in so many steps from arguments and from variables of loops alone. */
static bool is_counted(const struct ir_value *value, int *steps)
{
    const struct ir_operation *op = value->definition;
    if (!op)
        return !value->block->parent || (value->block->parent->opcode == OP_FOR && value->index == 0);
    bool plain = --*steps >= 0 && !op->region_count && !ir_has_effect(op) && !ir_has_trait(op, IR_TRAIT_READ);
    for (int i = 0; i < op->operand_count && plain; i++)
        plain = is_counted(op->operands[i], steps);
    return plain;
}

const struct ir_type *factor_row_buffer(const struct ir_operation *load, const char **why)
{
    static const int order[1] = {0};
    const struct ir_type *tile = load->results[0]->type;
    struct ir_context *context = load->block->function->module->context;
    int contiguous, extent[1] = {(int)tile->extent[0]}, steps = MOST_STEPS;
    *why = NULL;
    if (planning_asked_way(load) == IR_WAY_REGISTERS || tile->rank != 1 ||
        !buffer_copy_possible(NULL, load, &contiguous, why))
        return NULL;
    for (const struct ir_use *use = load->results[0]->uses; use; use = use->next)
        if (ir_has_trait(use->user, IR_TRAIT_TERMINATOR)) {
            *why = "the loop carries it to the next iteration";
            return NULL;
        }
    for (int i = 0; i < load->operand_count; i++)
        if (!is_counted(load->operands[i], &steps)) {
            *why = "where it reads is not counted, but computed from tiles or memory";
            return NULL;
        }
    const struct ir_type *buffer = ir_type_buffer(context, tile->element, 1, tile->extent,
                                                  layout_linear(ir_context_layouts(context), 1, extent, order), 1);
    *why = buffer_bulk_problem(load, buffer);
    return *why ? NULL : buffer;
}
