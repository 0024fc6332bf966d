/* Inside of the host object: one LLVM module with the descriptors of runtime-stub/tile_rt.h, the C entries, the cubins
 * and the CPU code.  Not seen outside targets/host.
 *
 *   text.c        host expressions as text
 *   code.c        host expressions to the byte code of the run time
 *   choice.c      conditions that choose a schedule, as functions
 *   descriptor.c  a kernel_entry to a constant `struct tile_rt_kernel`
 *   entry.c       the functions that C calls
 *   body.c        what tells a linker that two objects have other code under one name
 *   functions.c   code for the processor, each function in a worker of its own
 *   object.c      the module, ELF bytes
 *   worker.c      the steps to an object, in worker processes
 *   message.c     what workers report
 *   merge.c       what several of them made becomes one object */
#ifndef TILECC_HOST_H
#define TILECC_HOST_H
#include "base/child.h"
#include "runtime-stub/tile_rt.h"
#include "targets/common/lines.h"
#include "targets/host/merge.h"
#include "targets/target.h"
#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

struct host_words {
    int32_t *data;
    int count, capacity;
};

struct host_builder {
    const struct target_options *options;
    struct arena *arena; /* the worker's */
    const struct kernel_module *kernels;
    LLVMContextRef llvm;
    LLVMModuleRef module;
    LLVMTypeRef pointer, i8, i16, i32, i64;
    LLVMValueRef *images, *texts; /* by index into kernels->images: cubins and PTX; NULL: not in the object */
    bool images_apart;            /* they are named here, and their bytes are parts of their own */
    bool has_cpu_code;            /* known before the machine is made: all else is not worth optimizing */
    struct lines *lines;          /* of the code for the processor; NULL: none wanted, or none yet */
    bool failed;
};

/* The byte code of one kernel, grown expression by expression; equal codes are kept once. */
struct host_code {
    struct host_builder *builder;
    const struct kernel_entry *entry;
    struct host_words words;
    struct kernel_cells_plan plan; /* of the expression that is added */
};
/* Index of the expression's code in words.  NULL gives -1.  Beyond the limits of the run time: reported, -1. */
int32_t host_code_add(struct host_code *code, const struct kernel_expression *expression);

/* As the source wrote it, or would have. */
const char *host_expression_text(struct arena *arena, const struct kernel_entry *entry,
                                 const struct kernel_expression *expression);

/* A function for the processor: the code of a variant at one level of instructions. */
struct host_function {
    const struct kernel_entry *entry;
    struct kernel_variant *variant;
    int level;
    const char *symbol; /* where it is made */
    int first;          /* the number of the function whose code it has; its own: it is made */
    int64_t scratch_bytes;
    struct host_part code; /* LLVM's bitcode, then ELF, of one that is made */
};

/* The descriptor of an entry.  NULL: reported. */
LLVMValueRef host_descriptor(struct host_builder *builder, const struct kernel_entry *entry);
/* A tile_rt_choice that computes the condition; NULL: it asks for more than names. */
LLVMValueRef host_choice(struct host_builder *builder, const struct kernel_entry *entry,
                         const struct kernel_expression *condition);
/* <symbol>, <symbol>_query, _workspace, _load and _unload */
void host_entry_functions(struct host_builder *builder, const struct kernel_entry *entry, LLVMValueRef descriptor);
/* <symbol>.body_a and so on: two bodies of one name in one link are an error. */
void host_mark_body(struct host_builder *builder, const struct kernel_entry *entry, LLVMValueRef descriptor);

/* A private constant or variable in a section of the kernel, so that the linker can drop what no program uses. */
LLVMValueRef host_global(struct host_builder *builder, LLVMValueRef initial, const char *name, const char *section,
                         bool constant);
/* A pointer to the text, NUL included. */
LLVMValueRef host_text(struct host_builder *builder, const char *text);

/* "sm_90a" gives 90 and 'a'. */
void host_architecture(const struct target_row *row, uint32_t *number, uint32_t *suffix);

/* The module of an object, from an empty one to bytes: ELF, or LLVM's text. */
LLVMTargetMachineRef host_create_machine(const struct host_builder *builder);
/* The part that an image is, as a cubin or PTX. */
struct host_part host_image_part(struct arena *arena, const struct kernel_image *image, bool ptx);
/* The parts of a kernel module's images: bytes, section and symbol.  parts == NULL: counts them. */
int host_list_images(struct arena *arena, const struct kernel_module *kernels, struct host_part *parts);
void host_begin_module(struct host_builder *builder, LLVMTargetMachineRef machine);
void host_end_module(struct host_builder *builder);
/* Adds the function under its name in the object, for this module alone; or as `code` in `.text.tile.code`, for others.
 * Sets scratch_bytes. */
void host_add_function(struct host_builder *builder, struct host_function *function, bool is_code);
/* The names of code for the processor that is in other modules. */
void host_name_functions(struct host_builder *builder);
/* Everything but code for the processor, which is here or named. */
void host_build_module(struct host_builder *builder);
void host_harden_functions(struct host_builder *builder);
/* LLVM's passes; then ELF or LLVM's text.  An exit code. */
int host_optimize_module(struct host_builder *builder, LLVMTargetMachineRef machine);
int host_emit_module(struct host_builder *builder, LLVMTargetMachineRef machine, bool text, struct buffer *out);

/* functions.c: all code for the processor of a kernel module, in workers; the same is made once. */
struct host_functions {
    const struct target_options *options;
    const struct kernel_module *kernels;
    struct host_function *data;
    int count;
};
void host_list_functions(struct host_functions *functions);
/* An object each; gives the variants their symbols.  False: reported. */
bool host_make_functions(struct host_functions *functions);
/* To the variants, where the code is made. */
void host_tell_functions(const struct host_functions *functions);

/* message.c: what a worker reports and its parent repeats; a place is given as in memory, for the parent has the same
 * sources at the same addresses. */
void host_write_number(struct buffer *out, int64_t number);
/* What was reported after `last`. */
void host_write_diagnostics(struct buffer *out, const struct diagnostics *diagnostics, const struct diagnostic *last);
struct host_reader {
    const char *at, *end;
};
bool host_read_number(struct host_reader *reader, int64_t *number);
/* A copy in the arena. */
bool host_read_part(struct host_reader *reader, struct arena *arena, int64_t size, struct host_part *part);
/* Repeats a worker's diagnostics; false: it failed, which is reported.  Else the reader is behind them. */
bool host_read_result(const struct target_options *options, const struct child_result *result,
                      struct host_reader *reader);
bool host_report_broken(const struct target_options *options, const struct child_result *result);
#endif
