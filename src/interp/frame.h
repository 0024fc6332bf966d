/* Inside of the interpreter: values of one activation and the state of a run. */
#ifndef TILECC_INTERP_FRAME_H
#define TILECC_INTERP_FRAME_H
#include <setjmp.h>

#include "interp/interp.h"

/* A view while running. */
struct interp_view {
    unsigned char *data;
    int64_t extent[IR_MAX_RANK], stride[IR_MAX_RANK];
};

/* What a value holds: `count` elements as bits (row-major), a view, or a reference to what the machine has. */
struct machine;
struct machine_part;
struct element_places;
struct element_bringers;
struct cell {
    uint64_t *bits;
    int64_t count;
    struct interp_view view;
    struct machine_part *part; /* buffers */
    int64_t number;            /* tokens, mbarriers; tiles: the product that it is the result of, 0: none */
    bool undefined, checked;
};

struct frame;
struct run {
    const struct interp_options *options;
    struct interp_problem *problem;
    jmp_buf give_up;
    int64_t index[IR_MAX_RANK], instance, steps, step_limit;
    int depth;
    int64_t blocks; /* of a function that walks over programs; 0: an instance is a program */
    int64_t programs;
    struct between *between; /* NULL: nobody asks what instances do to each other */
    struct machine *machine; /* NULL: nothing of the Schedule or Machine level is there */
    struct arena *arena, *scratch;
    struct ir_context *context;
    const struct interp_argument *arguments;
    struct element_places *places;
    struct element_bringers *bringers;
    int64_t *met;            /* of each program whose parts meet: how many came so far; NULL: none yet */
    bool stopped;            /* by a role, on its own stack */
    struct frame *innermost; /* all live activations, so that giving up releases them */
};
/* between.c: before the first instance; before each operation on memory; behind each access of an element, with what is
 * stored; behind an atomic with an order. */
void between_begin(struct run *run);
void between_execute(struct run *run);
void between_touch(struct run *run, const struct ir_operation *op, uintptr_t address, size_t size, uint64_t bits);
void between_synchronise(struct run *run, const struct ir_operation *op);

struct frame {
    struct run *run;
    struct cell *cells;
    int cell_count;
    struct frame *outer;
};

struct cell *frame_cell(struct frame *frame, const struct ir_value *value); /* allocated for its type */
/* Element i of a value; a scalar answers for every i. */
static inline uint64_t cell_at(const struct cell *cell, int64_t i) { return cell->bits[cell->count == 1 ? 0 : i]; }
_Noreturn void interp_stop(struct run *run, const struct ir_operation *operation, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void interp_give_up(struct run *run); /* on the stack of interp_run */
void cell_copy(struct cell *to, const struct cell *from);

/* One element of an elementwise operation (operands as bits); `element` is the operands' element. */
uint64_t scalar_compute(struct run *run, const struct ir_operation *operation, const uint64_t *operands);
/* a `kind` b on elements; used by reductions and atomics too. */
uint64_t scalar_combine(enum ir_reduce_kind kind, enum ir_element element, bool propagate, uint64_t a, uint64_t b);
void scalar_philox(uint64_t seed, uint64_t counter, uint32_t out[4]);

void execute_shape(struct frame *frame, const struct ir_operation *operation); /* iota, splat, … extract */
void execute_reduce(struct frame *frame, const struct ir_operation *operation);
void execute_sort(struct frame *frame, const struct ir_operation *operation);
/* Left and right of a reduce or scan, one value for each result, to `out`, which may be the left ones. */
void execute_combining(struct frame *frame, const struct ir_operation *operation, const uint64_t *both, uint64_t *out);
void execute_scan(struct frame *frame, const struct ir_operation *operation);
void execute_histogram(struct frame *frame, const struct ir_operation *operation);
void execute_dot(struct frame *frame, const struct ir_operation *operation);
uint64_t scalar_round_tf32(uint64_t bits); /* of f32, to what tf32 keeps */
uint64_t scalar_keep_tf32(uint64_t bits);  /* the same, cut off; finite always */
/* a x b + c; c NULL: 0. */
void dot_compute(const struct ir_operation *operation, const uint64_t *a, const uint64_t *b, const uint64_t *c,
                 struct cell *result);
void execute_view(struct frame *frame, const struct ir_operation *operation);   /* extent … view_permute */
void execute_memory(struct frame *frame, const struct ir_operation *operation); /* load … pointer_cas, inside */
/* The element's bytes after checking that a memory of the caller's holds them. */
unsigned char *memory_checked(struct run *run, const struct ir_operation *operation, uintptr_t address, size_t size,
                              bool writes, bool reads);
uint64_t memory_load_bits(const unsigned char *from, enum ir_element element);
/* What an atomic leaves where `old` was. */
uint64_t memory_atomic_result(const struct ir_operation *operation, enum ir_element element, uint64_t old,
                              uint64_t value);
void memory_store_bits(unsigned char *to, enum ir_element element, uint64_t bits);
int64_t memory_scalar(struct frame *frame, const struct ir_value *value); /* an integer */
/* Element number `linear` of what a place names, row-major by `shape`: its address, or 0 when outside. */
uintptr_t memory_place_address(struct frame *frame, const struct ir_operation *operation,
                               const struct ir_access *access, const int64_t *shape, int rank, int64_t linear);
/* Runs a region whose arguments are set; returns its terminator (its operands still have their values). */
const struct ir_operation *execute_block(struct frame *frame, const struct ir_block *block);
#endif
