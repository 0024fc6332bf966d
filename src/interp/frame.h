/* Inside of the interpreter: values of one activation and the state of a run. */
#ifndef TILECC_INTERP_FRAME_H
#define TILECC_INTERP_FRAME_H
#include <setjmp.h>

#include "interp/interp.h"

/* A view while running. */
struct interp_view { unsigned char *data; int64_t extent[IR_MAX_RANK], stride[IR_MAX_RANK]; };

/* What a value holds: `count` elements as bits (row-major), or a view. */
struct cell { uint64_t *bits; int64_t count; struct interp_view view; };

struct frame;
struct run {
    const struct interp_options *options;
    struct interp_problem *problem;
    jmp_buf give_up;
    int64_t index[IR_MAX_RANK], instance, steps, step_limit;
    int depth;
    struct frame *innermost; /* all live activations, so that giving up releases them */
};
struct frame { struct run *run; struct cell *cells; int cell_count; struct frame *outer; };

struct cell *frame_cell(struct frame *frame, const struct ir_value *value);    /* allocated for its type */
/* Element i of a value; a scalar answers for every i. */
static inline uint64_t cell_at(const struct cell *cell, int64_t i) { return cell->bits[cell->count == 1 ? 0 : i]; }
_Noreturn void interp_stop(struct run *run, const struct ir_operation *operation, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* One element of an elementwise operation (operands as bits); `element` is the operands' element. */
uint64_t scalar_compute(struct run *run, const struct ir_operation *operation, const uint64_t *operands);
/* a `kind` b on elements; used by reductions and atomics too. */
uint64_t scalar_combine(enum ir_reduce_kind kind, enum ir_element element, bool propagate, uint64_t a, uint64_t b);
void scalar_philox(uint64_t seed, uint64_t counter, uint32_t out[4]);

void execute_shape(struct frame *frame, const struct ir_operation *operation);   /* iota, splat, … extract */
void execute_reduce(struct frame *frame, const struct ir_operation *operation);
void execute_dot(struct frame *frame, const struct ir_operation *operation);
void execute_view(struct frame *frame, const struct ir_operation *operation);    /* extent … view_permute */
void execute_memory(struct frame *frame, const struct ir_operation *operation);  /* load … pointer_cas, inside */
/* Runs a region whose arguments are set; returns its terminator (its operands still have their values). */
const struct ir_operation *execute_block(struct frame *frame, const struct ir_block *block);
#endif
