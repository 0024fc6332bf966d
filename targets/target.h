/* Targets: the table of architectures and what each room of targets/ offers the driver.  No LLVM type appears here:
 * only the objects under targets/nvptx, targets/cpu and targets/host see llvm-c. */
#ifndef TILECC_TARGET_H
#define TILECC_TARGET_H
#include "base/base.h"
#include "base/cache.h"
#include "base/progress.h"
#include "base/times.h"
#include "ir/ir.h"
#include "ir/kernel.h"

enum target_kind { TARGET_CPU, TARGET_NVPTX };
enum target_trust { TARGET_RUN /* checked on hardware */, TARGET_RUN_AS /* its PTX ran on sm_90 */, TARGET_ASSEMBLES };
enum target_flag {
    TARGET_DEFAULT = 1, /* built when -arch is not given */
    TARGET_WGMMA = 2,
    TARGET_TMA = 4,
    TARGET_CP_ASYNC = 8,
    TARGET_MMA_SYNC = 16,
    TARGET_BF16 = 32,
    TARGET_FP8 = 64,
    TARGET_CLUSTER = 128,
    TARGET_FAMILY = 256 /* suffix f */,
    TARGET_EXACT = 512 /* suffix a */,
    TARGET_REDUX = 1024
};
struct target_row {
    const char *name; /* "cpu", "sm_90a" */
    enum target_kind kind;
    int major, minor;        /* compute capability */
    const char *llvm_cpu;    /* what LLVM 19 is told; it knows nothing above sm_90a */
    const char *ptx_version; /* .version of the text handed to ptxas, "8.0" */
    int shared_bytes;        /* most dynamic shared memory a block may take */
    int registers;           /* a multiprocessor's */
    int warps;               /* most resident warps */
    enum target_trust trust;
    unsigned flags;
};
extern const struct target_row target_rows[];
extern const int target_row_count;
/* Registers of a multiprocessor; without a row, what every GPU has. */
int target_registers(const struct target_row *row);
enum { TARGET_THREAD_REGISTERS = 255 /* the most that a thread can name */, TARGET_REGISTER_STEP = 8 };
/* Registers that each thread can have where so many warps share a multiprocessor: they are given out in steps. */
int target_thread_registers(const struct target_row *row, int warps);
int target_find(const char *name); /* index, or -1.  compute_XX is handled by the driver */
/* Whether the target computes a mathematical function by itself within the language's bound, or that of `near`; else
 * expand_math writes it out. */
bool target_has_math(const struct target_row *row, enum ir_math function, enum ir_element element, bool near);
void target_print_all(struct buffer *out); /* the text of --print-targets */

/* Of a kernel's C functions: seen outside of a shared library (protected: and never replaced by another's of the same
 * name, default: as the dynamic linker likes), or not. */
enum target_visibility { TARGET_VISIBILITY_PROTECTED, TARGET_VISIBILITY_HIDDEN, TARGET_VISIBILITY_DEFAULT };

/* What went wrong with tools in a run of tilecc, over all its sources and architectures. */
struct tool_failures {
    VECTOR(const char *) told; /* each is told once */
    bool hangs;                /* its time was over: none is begun again */
};

struct target_options {
    struct arena *arena;
    struct ir_context *context;
    struct diagnostics *diagnostics;
    const char *ptxas; /* absolute path; NULL: none found */
    int optimization;  /* -O0 … -O3 */
    bool line_info, debug, strict_fp;
    bool without_ptxas; /* there is none and no cubin is wanted: PTX alone, with nothing known of it */
    bool verbose, dry_run, want_ptx, resource_usage;
    bool share_code; /* instances of one kernel whose code is the same have it once */
    int jobs;
    int tool_seconds;               /* how long ptxas may take for one instance; 0: as --tool-timeout's default */
    struct tool_failures *failures; /* NULL: of this compilation alone */
    int xptxas_count;
    const char *const *xptxas;
    enum target_visibility visibility; /* of entries */
    unsigned cpu_isas;       /* which of the host's sets of instructions, a bit of 1 << enum cpu_isa for each; 0: all */
    const char *host_triple; /* "x86_64-unknown-linux-gnu" or "aarch64-unknown-linux-gnu" */
    FILE *log;               /* -v, --dryrun, --resource-usage */
    struct cache *cache;     /* of what was made before; NULL: none */
    struct progress *progress; /* counts variants; NULL: nobody looks */
    struct times *times;       /* --time-report, or NULL */
    int prefix_map_count;
    const char *const *prefix_map; /* -ffile-prefix-map=old=new */
};

/* A tool that does not work at all fails alike on every kernel, for every architecture and source.  False: the problem
 * was told. */
bool target_tool_failed(const struct target_options *options, const char *problem);
/* What debug information calls a source: -ffile-prefix-map applied. */
const char *target_source_name(const struct target_options *options, const char *name);

/* NVPTX: the functions of the given variants (Schedule level, all of target row `target`) to one cubin a variant, in
 * forked workers; fills variant->gpu and module->images.  False: reported.  targets/nvptx/. */
struct nvptx_task {
    struct kernel_entry *entry;
    struct kernel_variant *variant;
};
bool nvptx_compile(const struct target_options *options, struct kernel_module *module, int count,
                   const struct nvptx_task *tasks);
/* Why no code can be made of a function for a row, and what would fit, told from its last IR.  False: it can. */
struct nvptx_excess {
    enum diagnostic_code code; /* E1201, E1206 */
    struct location at;
    const char *text;
    struct location fits_at;
    const char *fits;
};
bool nvptx_find_excess(struct arena *arena, const struct target_row *row, const struct ir_function *function,
                       const char *name, struct nvptx_excess *excess);
/* Registers of tiles that a thread is short of, at the least, and that will be in local memory; 0: of none or few. */
int nvptx_missing_registers(struct arena *arena, const struct target_row *row, const struct ir_function *function);
/* W1202 of what is certain before ptxas has said it: tiles alone take more registers than a thread has. */
void nvptx_warn_registers(const struct target_options *options, const struct kernel_variant *variant);
/* LLVM IR text or PTX text of each task to out[], for --emit=llvm and --emit=ptx.  Not made[]: reported; what is made[] and
 * empty was left out with a warning. */
void nvptx_emit_texts(const struct target_options *options, int count, const struct nvptx_task *tasks, bool llvm,
                      struct buffer *out, bool *made);

/* Host object: descriptors, entries, cubins and CPU code of the whole module as ELF bytes, in a forked worker.
 * targets/host/ calls targets/cpu/ for variants of row "cpu" (Value level).  False: reported. */
bool host_object(const struct target_options *options, struct kernel_module *module, struct buffer *object);
bool host_emit_llvm(const struct target_options *options, struct kernel_module *module, struct buffer *out);

/* Our own reader of cubins: magic, class, machine, architecture in e_flags, sections inside the file, kernel present;
 * fills registers, shared, local bytes.  False: *problem says what is wrong. */
struct cubin_kernel {
    const char *symbol;
    int registers, threads;
    int64_t shared_bytes, local_bytes;
    struct cubin_part {
        size_t offset, size;
    } code, info, relocations[2]; /* its instructions, its own part of .nv.info, .rela.text and .rel.text; or size 0 */
};
bool cubin_read(struct arena *arena, const void *data, size_t size, int *architecture, int *kernel_count,
                struct cubin_kernel **kernels, const char **problem);
/* The machine code of a kernel of a cubin that was read (nvptx/native/native.h). */
struct native_code *nvptx_decode(struct arena *arena, int architecture, const struct cubin_kernel *kernel,
                                 const void *cubin);
#endif
