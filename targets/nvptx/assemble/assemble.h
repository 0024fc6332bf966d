/* Between LLVM and the cubin: private to targets/nvptx. */
#ifndef TILECC_NVPTX_ASSEMBLE_H
#define TILECC_NVPTX_ASSEMBLE_H
#include "targets/target.h"

/* Makes LLVM's back end known.  What forks workers does it for all of them, which is half of what nvptx_begin takes. */
void nvptx_register(void);
/* What LLVM's options depend on. */
bool nvptx_has_wgmma(const struct ir_function *function);
/* Readies LLVM for nvptx_make_ptx of the function and all that have wgmma as it does (NULL: of any): once in a process,
 * because LLVM takes its options once. */
void nvptx_begin(const struct ir_function *function);
/* PTX (or, with `llvm`, the optimised LLVM IR) of a function; *shared_bytes: the dynamic shared memory it needs. False:
 * reported in options->diagnostics. */
bool nvptx_make_ptx(const struct target_options *options, const struct target_row *row, struct ir_function *function,
                    bool llvm, struct buffer *out, int64_t *shared_bytes);
/* What the instance became, in one line. */
const char *nvptx_summary(struct arena *arena, const struct ir_function *function, const struct kernel_gpu_code *code);
/* The least registers that a thread must hold for tiles at once, and where; *limit: those that it has. */
int nvptx_least_registers(struct arena *arena, const struct ir_function *function, const struct target_row *row,
                          int *limit, struct location *at);
/* A note to a warning that registers do not suffice, unless it has one: the place where tiles take most of them, and
 * what would take fewer. */
void nvptx_explain_registers(const struct target_options *options, struct diagnostic *diagnostic,
                             const struct kernel_variant *variant);
/* Changes the code of a cubin to the order of a file of --tuning that has its digest. */
void nvptx_take_orders(const struct target_options *options, struct kernel_module *module, const struct target_row *row,
                       const struct cubin_kernel *kernel, void *cubin);
/* W1210 of those for this architecture that no code had the digest of. */
void nvptx_report_orders(const struct target_options *options, const struct kernel_module *module,
                         const struct target_row *row);
#endif
