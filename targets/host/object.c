/* The host object: one LLVM module with everything that a linked program needs of a source, and its ELF bytes.
 *
 *   .text.tile.<entry>          C entries and CPU code          .rodata.tile.<entry>       numbers of the descriptor
 *   .data.rel.ro.tile.<entry>   parts that hold addresses       .rodata.tile.image.<name>  a cubin, stored plain
 *                                                               and for compute_XX <name>.ptx, its text
 *   .bss.tile.<entry>           one pointer a GPU variant, for the run time
 *
 * One section a kernel, so that --gc-sections drops the kernels, cubins included, that a program does not use.  Cubins
 * are not compressed: a run time that decompresses would need a library or a copy in memory, and the driver takes plain
 * ones in place. Everything but the C entries is local to the object; the entries need tile_rt_launch, tile_rt_query,
 * tile_rt_workspace, tile_rt_load and tile_rt_unload.
 *
 * LLVM stops the process on what it cannot do, so all of it happens in a worker process.  The worker's output is
 *   diagnostics…, -1, bytes    where a place is given as in memory: the parent has the same sources at the same
 * addresses. */
#include "targets/host/host.h"
#include "base/child.h"
#include "targets/cpu/cpu.h"
#include <llvm-c/Analysis.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>

enum { WORKER_SECONDS = 900 };

struct host_task { const struct target_options *options; const struct kernel_module *kernels; bool text; };

LLVMValueRef host_global(struct host_builder *b, LLVMValueRef initial, const char *name, const char *section,
                         bool constant)
{
    /* No C symbol has a dot: a kernel may be called `keys` or `state`. */
    LLVMValueRef global = LLVMAddGlobal(b->module, LLVMTypeOf(initial), arena_printf(b->arena, "tile.%s", name));
    LLVMSetInitializer(global, initial);
    LLVMSetGlobalConstant(global, constant);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetSection(global, section);
    return global;
}

LLVMValueRef host_text(struct host_builder *b, const char *text)
{
    LLVMValueRef initial = LLVMConstStringInContext(b->llvm, text, (unsigned)strlen(text), false), global;
    for (global = LLVMGetFirstGlobal(b->module); global; global = LLVMGetNextGlobal(global))
        if (LLVMGetInitializer(global) == initial && LLVMGetUnnamedAddress(global) == LLVMGlobalUnnamedAddr)
            return global;
    global = LLVMAddGlobal(b->module, LLVMTypeOf(initial), "tile.text");
    LLVMSetInitializer(global, initial);
    LLVMSetGlobalConstant(global, true);
    LLVMSetLinkage(global, LLVMPrivateLinkage);
    LLVMSetUnnamedAddress(global, LLVMGlobalUnnamedAddr);
    LLVMSetAlignment(global, 1);
    return global;
}

/* ---- module ----------------------------------------------------------------------------------------------------- */

static void add_flag(struct host_builder *b, LLVMModuleFlagBehavior behavior, const char *name, unsigned value)
{
    LLVMAddModuleFlag(b->module, behavior, name, strlen(name), LLVMValueAsMetadata(LLVMConstInt(b->i32, value, false)));
}

static LLVMTargetMachineRef create_machine(const struct target_options *options)
{
    static const LLVMCodeGenOptLevel levels[] = {LLVMCodeGenLevelNone, LLVMCodeGenLevelLess, LLVMCodeGenLevelDefault,
                                                 LLVMCodeGenLevelAggressive};
    bool arm = strncmp(options->host_triple, "aarch64", 7) == 0;
    int level = options->optimization < 0 ? 0 : options->optimization > 3 ? 3 : options->optimization;
    LLVMTargetRef target;
    char *problem = NULL;
    if (arm) {
        LLVMInitializeAArch64TargetInfo();
        LLVMInitializeAArch64Target();
        LLVMInitializeAArch64TargetMC();
        LLVMInitializeAArch64AsmPrinter();
        LLVMInitializeAArch64AsmParser();
    } else {
        LLVMInitializeX86TargetInfo();
        LLVMInitializeX86Target();
        LLVMInitializeX86TargetMC();
        LLVMInitializeX86AsmPrinter();
        LLVMInitializeX86AsmParser();
    }
    if (LLVMGetTargetFromTriple(options->host_triple, &target, &problem))
        die("LLVM has no target %s: %s", options->host_triple, problem);
    return LLVMCreateTargetMachine(target, options->host_triple, arm ? "generic" : "x86-64", "", levels[level],
                                   LLVMRelocPIC, LLVMCodeModelDefault);
}

static void begin_module(struct host_builder *b, LLVMTargetMachineRef machine)
{
    bool arm = strncmp(b->options->host_triple, "aarch64", 7) == 0;
    const char *name = arena_printf(b->arena, "%s.tile", b->kernels->stem);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
    b->llvm = LLVMContextCreate();
    b->module = LLVMModuleCreateWithNameInContext(name, b->llvm);
    LLVMSetSourceFileName(b->module, name, strlen(name));
    LLVMSetTarget(b->module, b->options->host_triple);
    LLVMSetModuleDataLayout(b->module, layout);
    LLVMDisposeTargetData(layout);
    b->pointer = LLVMPointerTypeInContext(b->llvm, 0);
    b->i8 = LLVMInt8TypeInContext(b->llvm);
    b->i16 = LLVMInt16TypeInContext(b->llvm);
    b->i32 = LLVMInt32TypeInContext(b->llvm);
    b->i64 = LLVMInt64TypeInContext(b->llvm);
    add_flag(b, LLVMModuleFlagBehaviorOverride, "PIC Level", 2);
    /* Hardening notes hold for a whole program: an object without them would switch them off. */
    if (arm) {
        add_flag(b, LLVMModuleFlagBehaviorOverride, "branch-target-enforcement", 1);
        add_flag(b, LLVMModuleFlagBehaviorOverride, "sign-return-address", 1);
    } else {
        add_flag(b, LLVMModuleFlagBehaviorOverride, "cf-protection-branch", 1);
        add_flag(b, LLVMModuleFlagBehaviorOverride, "cf-protection-return", 1);
    }
}

static LLVMValueRef add_image(struct host_builder *b, const char *name, const char *data, size_t size)
{
    LLVMValueRef bytes = LLVMConstStringInContext(b->llvm, data, (unsigned)size, true);
    LLVMValueRef image =
        host_global(b, bytes, "image", arena_printf(b->arena, ".rodata.tile.image.%s", name), true);
    LLVMSetAlignment(image, 64);
    return image;
}

static void add_images(struct host_builder *b)
{
    b->images = ARENA_ARRAY(b->arena, LLVMValueRef, b->kernels->images.count + 1);
    b->texts = ARENA_ARRAY(b->arena, LLVMValueRef, b->kernels->images.count + 1);
    for (int i = 0; i < b->kernels->images.count; i++) {
        const struct kernel_image *image = &b->kernels->images.data[i];
        if (!image->without_cubin)
            b->images[i] = add_image(b, image->name, (const char *)image->data, image->size);
        if (image->with_ptx) /* the driver takes a text up to its end */
            b->texts[i] =
                add_image(b, arena_printf(b->arena, "%s.ptx", image->name), image->ptx, strlen(image->ptx) + 1);
    }
}

/* Code for each level of the processor that the host has, of each variant of row cpu. */
static void add_cpu_code(struct host_builder *b, const struct kernel_entry *entry,
                         struct host_cpu_code (*cpu)[HOST_CPU_LEVELS])
{
    for (int v = 0; v < entry->variants.count && !b->failed; v++) {
        const struct kernel_variant *variant = &entry->variants.data[v];
        if (target_rows[variant->target].kind != TARGET_CPU)
            continue;
        for (int level = 0; level < HOST_CPU_LEVELS; level++) {
            struct host_cpu_code *code = &cpu[v][level];
            const char *symbol;
            LLVMValueRef function;
            if (!cpu_has_isa(b->options->host_triple, (enum cpu_isa)level))
                continue;
            symbol = arena_printf(b->arena, "%s.%d.%s", entry->symbol, v, cpu_isa_name(b->options->host_triple,
                                                                                       (enum cpu_isa)level));
            if (!cpu_emit_function(b->options, b->module, entry, variant, (enum cpu_isa)level, symbol,
                                   &code->scratch_bytes)) {
                b->failed = true;
                return;
            }
            function = LLVMGetNamedFunction(b->module, symbol);
            LLVMSetLinkage(function, LLVMInternalLinkage);
            LLVMSetSection(function, arena_printf(b->arena, ".text.tile.%s", entry->symbol));
            code->symbol = symbol;
        }
    }
}

/* Attributes that LLVM reads from functions and not from the module. */
static void harden_functions(struct host_builder *b)
{
    static const char *const arm[][2] = {{"branch-target-enforcement", "true"}, {"sign-return-address", "non-leaf"},
                                         {"sign-return-address-key", "a_key"}};
    if (strncmp(b->options->host_triple, "aarch64", 7) != 0)
        return;
    for (LLVMValueRef f = LLVMGetFirstFunction(b->module); f; f = LLVMGetNextFunction(f))
        for (size_t i = 0; i < sizeof arm / sizeof arm[0] && !LLVMIsDeclaration(f); i++)
            LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                    LLVMCreateStringAttribute(b->llvm, arm[i][0], (unsigned)strlen(arm[i][0]),
                                                              arm[i][1], (unsigned)strlen(arm[i][1])));
}

static void build_module(struct host_builder *b)
{
    add_images(b);
    for (int i = 0; i < b->kernels->entries.count && !b->failed; i++) {
        const struct kernel_entry *entry = &b->kernels->entries.data[i];
        struct host_cpu_code(*cpu)[HOST_CPU_LEVELS] =
            arena_alloc(b->arena, sizeof *cpu * (size_t)(entry->variants.count + 1));
        LLVMValueRef descriptor;
        add_cpu_code(b, entry, cpu);
        if (b->failed)
            return;
        descriptor = host_descriptor(b, entry, cpu);
        if (descriptor)
            host_entry_functions(b, entry, descriptor);
    }
    harden_functions(b);
}

/* ---- worker ----------------------------------------------------------------------------------------------------- */

static int fail_llvm(const char *what, char *problem)
{
    fprintf(stderr, "%s: %s\n", what, problem ? problem : "no text");
    return 1;
}

static int emit_module(struct host_builder *b, LLVMTargetMachineRef machine, bool text, struct buffer *out)
{
    /* CPU code comes as finished nests in vectors: what LLVM's own -O2 would try on them (inlining, vectorizing,
     * unrolling) costs two thirds of its time and finds nothing.  -O3 still runs everything. */
    static const char nests[] =
        "function<eager-inv>(sroa<modify-cfg>,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
        "simplifycfg),"
        "function(loop-mssa(loop-rotate,licm),gvn,instcombine<no-verify-fixpoint>,loop-mssa(licm),"
        "loop(indvars,loop-deletion),dse,simplifycfg,instcombine<no-verify-fixpoint>,adce),globaldce";
    static const char *const pipelines[] = {"default<O0>", "default<O1>", nests, "default<O3>"};
    /* Strength reduction of addresses takes a fourth of code generation and leaves these loops no faster. */
    static const char *const quick[] = {"tilecc", "-disable-lsr"};
    int level = b->options->optimization < 0 ? 0 : b->options->optimization > 3 ? 3 : b->options->optimization;
    LLVMPassBuilderOptionsRef settings = LLVMCreatePassBuilderOptions();
    LLVMMemoryBufferRef object = NULL;
    LLVMErrorRef error;
    char *problem = NULL;
    if (LLVMVerifyModule(b->module, LLVMReturnStatusAction, &problem))
        return fail_llvm("the module is not valid", problem);
    if (pipelines[level] == nests) /* of this process, a worker: nothing else is compiled in it */
        LLVMParseCommandLineOptions(2, quick, NULL);
    error = LLVMRunPasses(b->module, pipelines[level], machine, settings);
    LLVMDisposePassBuilderOptions(settings);
    if (error)
        return fail_llvm("optimization", LLVMGetErrorMessage(error));
    if (text) {
        char *printed = LLVMPrintModuleToString(b->module);
        buffer_puts(out, printed);
        LLVMDisposeMessage(printed);
        return 0;
    }
    if (LLVMTargetMachineEmitToMemoryBuffer(machine, b->module, LLVMObjectFile, &problem, &object))
        return fail_llvm("code generation", problem);
    buffer_append(out, LLVMGetBufferStart(object), LLVMGetBufferSize(object));
    LLVMDisposeMemoryBuffer(object);
    return 0;
}

static void write_number(struct buffer *out, int64_t number) { buffer_append(out, &number, sizeof number); }

static void write_message(struct buffer *out, int64_t code, const struct location *at, const char *text)
{
    write_number(out, code);
    buffer_append(out, at, sizeof *at);
    write_number(out, (int64_t)strlen(text));
    buffer_puts(out, text);
}

enum { END = -1, NOTE = -2 };

/* What was reported after `last`. */
static void write_diagnostics(struct buffer *out, const struct diagnostics *diagnostics, const struct diagnostic *last)
{
    const struct diagnostic *d = last ? last->next : diagnostics->first;
    for (; d; d = d->next) {
        write_message(out, (int64_t)d->code, &d->at, d->text);
        for (const struct note *note = d->notes; note; note = note->next)
            write_message(out, NOTE, &note->at, note->text);
    }
    write_number(out, END);
}

static int work(void *context, int number, struct buffer *out)
{
    const struct host_task *task = context;
    struct host_builder b = {.options = task->options, .kernels = task->kernels, .arena = arena_create()};
    const struct diagnostic *last = task->options->diagnostics->last;
    LLVMTargetMachineRef machine = create_machine(task->options);
    struct buffer bytes = {0};
    int code = 0;
    (void)number;
    begin_module(&b, machine);
    build_module(&b);
    if (!b.failed)
        code = emit_module(&b, machine, task->text, &bytes);
    write_diagnostics(out, task->options->diagnostics, last);
    buffer_append(out, bytes.data, bytes.size);
    return code;
}

/* ---- parent ----------------------------------------------------------------------------------------------------- */

struct reader { const char *at, *end; };

static bool read_bytes(struct reader *reader, void *data, size_t size)
{
    if ((size_t)(reader->end - reader->at) < size)
        return false;
    memcpy(data, reader->at, size);
    reader->at += size;
    return true;
}

/* Takes the diagnostics off the front; false: they are cut short. */
static bool read_diagnostics(struct reader *reader, struct diagnostics *diagnostics)
{
    struct diagnostic *latest = NULL;
    for (;;) {
        int64_t code, size;
        struct location at;
        if (!read_bytes(reader, &code, sizeof code))
            return false;
        if (code == END)
            return true;
        if (!read_bytes(reader, &at, sizeof at) || !read_bytes(reader, &size, sizeof size) || size < 0 ||
            size > reader->end - reader->at)
            return false;
        if (code == NOTE && latest)
            diag_note(diagnostics, latest, at, "%.*s", (int)size, reader->at);
        else
            latest = diag_report(diagnostics, (enum diagnostic_code)code, at, "%.*s", (int)size, reader->at);
        reader->at += size;
    }
}

static bool run_worker(const struct target_options *options, struct kernel_module *module, bool text,
                       struct buffer *out)
{
    struct host_task task = {options, module, text};
    struct child_result result = {0};
    struct location nowhere = {0};
    struct reader reader;
    int errors = options->diagnostics->errors;
    bool whole;
    workers_run(work, &task, 1, 1, (struct child_limits){.seconds = WORKER_SECONDS}, &result);
    worker_check_machine(&result);
    reader.at = result.output.data ? result.output.data : "";
    reader.end = reader.at + result.output.size;
    whole = read_diagnostics(&reader, options->diagnostics);
    if (result.exit_code != 0 || !whole || (reader.at == reader.end && options->diagnostics->errors == errors))
        diag_report(options->diagnostics, DIAGNOSTIC_E1102, nowhere, "code for %s could not be made%s%s: %.*s",
                    options->host_triple, result.timed_out ? " in time" : "", result.signal ? " (the worker died)" : "",
                    (int)(result.errors.size < 2000 ? result.errors.size : 2000),
                    result.errors.data ? result.errors.data : "");
    else
        buffer_append(out, reader.at, (size_t)(reader.end - reader.at));
    buffer_free(&result.output);
    buffer_free(&result.errors);
    return options->diagnostics->errors == errors;
}

bool host_object(const struct target_options *options, struct kernel_module *module, struct buffer *object)
{
    return run_worker(options, module, false, object);
}

bool host_emit_llvm(const struct target_options *options, struct kernel_module *module, struct buffer *out)
{
    return run_worker(options, module, true, out);
}
