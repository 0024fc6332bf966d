/* Random programs as a linkable object and a plan: what to call with which arguments, and what must come out.  The
 * plan is checked by tests/fuzz/runner.c, which needs neither the compiler nor LLVM, on the CPU or on a GPU.
 *
 * Plan, all numbers little-endian: "TILEPLAN", u32 version 1, u32 programs; for each program: char symbol[32], u64
 * seed, u32 arguments; for each argument: u32 kind (0 view, 1 integer, 2 f32, 3 f64), u32 element (enum ir_element),
 * u32 rank, u32 absent, i64 bytes, u64 bits, i64 extent[8], i64 stride[8]; then for views that are there: first
 * content, expected content, `bytes` each. */
#ifndef TILECC_FUZZ_EMIT_H
#define TILECC_FUZZ_EMIT_H
#include "generate.h"
#include "targets/target.h"

/* Programs of `count` seeds from `first` for the given target rows ("cpu", "sm_90a", …); false: `report` says what
 * failed.  `skipped` counts programs that a target refused with a diagnostic (their text goes to report, too). */
struct fuzz_emit {
    uint64_t first;
    int count;
    int target_count;
    const char *const *targets;
    int optimization;
    const char *ptxas, *host_triple;
    struct fuzz_limits limits;
};
/* The C side of a program's kernel, called fuzz_SEED, without variants; its part of a plan. */
struct kernel_expression;
const struct kernel_expression *fuzz_constant_expression(struct arena *arena, int64_t number);
void fuzz_describe(struct arena *arena, const struct fuzz_program *program, struct kernel_entry *entry);
void fuzz_plan_begin(struct buffer *plan);
void fuzz_plan_program(struct buffer *plan, const struct fuzz_program *program, const struct kernel_entry *entry,
                       const struct fuzz_memory *first, const struct fuzz_memory *expected);
void fuzz_plan_end(struct buffer *plan, int programs);
bool fuzz_emit(const struct fuzz_emit *job, struct buffer *object, struct buffer *plan, int *skipped,
               struct buffer *report);
#endif
