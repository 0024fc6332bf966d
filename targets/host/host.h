/* Inside of the host object: one LLVM module with the descriptors of runtime-stub/tile_rt.h, the C entries, the cubins
 * and the CPU code.  Not seen outside targets/host.
 *
 *   text.c        host expressions as text
 *   code.c        host expressions to the byte code of the run time
 *   descriptor.c  a kernel_entry to a constant `struct tile_rt_kernel`
 *   entry.c       the functions that C calls
 *   object.c      the module, ELF bytes
 *   worker.c      the worker processes
 *   merge.c       what several of them made becomes one object */
#ifndef TILECC_HOST_H
#define TILECC_HOST_H
#include "runtime-stub/tile_rt.h"
#include "targets/common/lines.h"
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

/* CPU code of one variant at one level; symbol NULL: this level has none. */
struct host_cpu_code {
    const char *symbol;
    int64_t scratch_bytes;
};
enum { HOST_CPU_LEVELS = 3 };

/* A variant for the processor: entry->variants.data[variant]. */
struct host_cpu_variant {
    const struct kernel_entry *entry;
    int variant;
    struct host_cpu_code code[HOST_CPU_LEVELS];
};

/* The descriptor of an entry; cpu[variant][level].  NULL: reported. */
LLVMValueRef host_descriptor(struct host_builder *builder, const struct kernel_entry *entry,
                             struct host_cpu_code (*cpu)[HOST_CPU_LEVELS]);
/* <symbol>, <symbol>_query, _workspace, _load and _unload */
void host_entry_functions(struct host_builder *builder, const struct kernel_entry *entry, LLVMValueRef descriptor);

/* A private constant or variable in a section of the kernel, so that the linker can drop what no program uses. */
LLVMValueRef host_global(struct host_builder *builder, LLVMValueRef initial, const char *name, const char *section,
                         bool constant);
/* A pointer to the text, NUL included. */
LLVMValueRef host_text(struct host_builder *builder, const char *text);

/* "sm_90a" gives 90 and 'a'. */
void host_architecture(const struct target_row *row, uint32_t *number, uint32_t *suffix);

/* The module of an object, from an empty one to bytes: ELF, or LLVM's text. */
LLVMTargetMachineRef host_create_machine(const struct host_builder *builder);
void host_begin_module(struct host_builder *builder, LLVMTargetMachineRef machine);
/* Code for each level of the processor that the host has; sets scratch_bytes.  Its name is the module's own, or one
 * that another module refers to. */
void host_add_cpu_code(struct host_builder *builder, struct host_cpu_variant *cpu, bool for_another);
/* The names of code that is in another module. */
void host_name_cpu_code(struct host_builder *builder, const struct host_cpu_variant *cpu);
/* Everything else; cpu holds all variants in the order of entries, and their code is here or named. */
void host_build_module(struct host_builder *builder, const struct host_cpu_variant *cpu, int cpu_count);
void host_harden_functions(struct host_builder *builder);
int host_emit_module(struct host_builder *builder, LLVMTargetMachineRef machine, bool text, struct buffer *out);
#endif
