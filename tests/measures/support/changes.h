/* All that tilecc makes of a module, as texts: to see whether a change of the compiler changes any of it. */
#ifndef TILECC_MEASURES_CHANGES_H
#define TILECC_MEASURES_CHANGES_H
#include "base/base.h"
#include "ir/ir.h"

/* CHANGE_SOURCE: the program as it was made or lies in a file, CHANGE_PROGRAM: as it was read; CHANGE_ANALYSES: what is
 * known of its values; CHANGE_PASSES: passes of the Value level, some alone and in random orders; CHANGE_CPU and the
 * next four: the last IR of each target's pipeline; CHANGE_REMARKS: what is said on the way; CHANGE_HEADER: of sources.
 * What follows is LLVM's IR as lowering makes it, before any pass of LLVM, and of every fourth PTX printed
 * behind few passes, without LLVM's back end. */
enum change_column {
    CHANGE_SOURCE,
    CHANGE_PROGRAM,
    CHANGE_ANALYSES,
    CHANGE_PASSES,
    CHANGE_CPU,
    CHANGE_SM_75,
    CHANGE_SM_80,
    CHANGE_SM_90A,
    CHANGE_SM_120A,
    CHANGE_REMARKS,
    CHANGE_HEADER,
    CHANGE_NVPTX,
    CHANGE_PTX,
    CHANGE_X86,
    CHANGE_ARM,
    CHANGE_COUNT,
    CHANGE_OF_LLVM = CHANGE_NVPTX /* from here on another LLVM may say it otherwise */
};
extern const char *const change_names[CHANGE_COUNT];
struct change_texts {
    struct buffer of[CHANGE_COUNT];
};

/* What programs share: the context of their IR, the library's functions, LLVM's machines. */
struct change_maker;
/* readable: LLVM's IR for people, not for checksums alone. */
struct change_maker *change_maker_open(bool readable);
void change_maker_close(struct change_maker *maker);
struct ir_context *change_maker_context(struct change_maker *maker);
/* Adds what becomes of the module's kernels to the texts.  The seed chooses the pipelines' levels and the random
 * orders; `raw`: only what -O0 does; `some`: for every second GPU and processor, as the seed says; `target` (NULL: all)
 * alone. */
struct change_options {
    uint64_t seed;
    bool raw, some;
    const char *target;
};
void change_add(struct change_maker *maker, const struct ir_module *module, struct change_options options,
                struct change_texts *texts);
#endif
