/* The assembler: its command line, and what it says of the registers of a kernel.  Private to targets/nvptx. */
#ifndef TILECC_NVPTX_PTXAS_H
#define TILECC_NVPTX_PTXAS_H
#include "base/child.h"
#include "targets/target.h"

/* Bytes a thread, registers a thread; frame and registers are -1 where nothing was said of them. */
struct ptxas_usage {
    long long frame, stores, loads;
    int registers;
};
struct ptxas_usage ptxas_read_usage(const char *notes);
/* More than four registers, which nobody can help and no clock shows. */
bool ptxas_spills(const struct ptxas_usage *usage);

/* Assembles *ptx, the text of one kernel of `threads` threads; as child_run.  What ptxas kept in memory with registers
 * left is assembled once more, within what is left of the time, with the promise that one block a multiprocessor is enough: it
 * counts on more of them otherwise, and once in a while takes 32 registers and memory for the rest.  Where the limit in
 * the text is the compiler's own, for several blocks, and some registers are in memory, it is assembled with the limit
 * for a block fewer.  The best is the result, and *ptx its text. */
bool ptxas_run(const struct target_options *options, const struct target_row *row, int threads, bool is_own_limit,
               struct child_limits limits, struct buffer *ptx, struct child_result *result);
/* All that ptxas_run's result depends on, but for the text.  False: there is no such file. */
bool ptxas_put_key(const struct target_options *options, const struct target_row *row, int threads, bool is_own_limit,
                   struct buffer *key);
void ptxas_print_command(const struct target_options *options, const struct target_row *row, const char *function);
/* Reports what ptxas said of text of the user's, each under the place of the text; false: it said nothing of such. */
bool ptxas_report_asm(struct diagnostics *diagnostics, const struct ir_function *function, const char *ptx,
                      const char *complaints);
#endif
