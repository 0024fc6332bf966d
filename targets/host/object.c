/* The host object: an LLVM module with everything that a linked program needs of a source, and its ELF bytes.  Where
 * several workers make code for the processor (worker.c), each makes a module with nothing else, and the first one
 * only names their functions.
 *
 *   .text.tile.<entry>          C entries and CPU code          .rodata.tile.<entry>       numbers of the descriptor
 *   .data.rel.ro.tile.<entry>   parts that hold addresses       .rodata.tile.image.<name>  a cubin, stored plain
 *                                                               and for compute_XX <name>.ptx, its text
 *   .bss.tile.<entry>           one pointer a GPU variant, for the run time
 *
 * One section a kernel, so that --gc-sections drops the kernels, cubins included, that a program does not use.  Cubins
 * are not compressed: a run time that decompresses would need a library or a copy in memory, and the driver takes plain
 * ones in place. Everything but the C entries is local to the object; the entries need tile_rt_launch, tile_rt_query,
 * tile_rt_workspace, tile_rt_launch_variant, tile_rt_launch_ex, tile_rt_load and tile_rt_unload.
 */
#include "targets/host/host.h"
#include "targets/cpu/cpu.h"
#include <llvm-c/Analysis.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>

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

/* Functions that only pass arguments on are as short for x86-64 without optimizing, and up to seven instructions longer for
 * AArch64; LLVM takes a third of the time for a module of them. */
static int optimization_level(const struct host_builder *b)
{
    int level = b->options->optimization;
    return !b->has_cpu_code || level < 0 ? 0 : level > 3 ? 3 : level;
}

LLVMTargetMachineRef host_create_machine(const struct host_builder *b)
{
    static const LLVMCodeGenOptLevel levels[] = {LLVMCodeGenLevelNone, LLVMCodeGenLevelLess, LLVMCodeGenLevelDefault,
                                                 LLVMCodeGenLevelAggressive};
    const struct target_options *options = b->options;
    bool arm = strncmp(options->host_triple, "aarch64", 7) == 0;
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
    return LLVMCreateTargetMachine(target, options->host_triple, arm ? "generic" : "x86-64", "",
                                   levels[optimization_level(b)], LLVMRelocPIC, LLVMCodeModelDefault);
}

void host_begin_module(struct host_builder *b, LLVMTargetMachineRef machine)
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
    LLVMValueRef image = host_global(b, bytes, "image", arena_printf(b->arena, ".rodata.tile.image.%s", name), true);
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
            b->texts[i] = add_image(b, arena_printf(b->arena, "%s.ptx", image->name), image->ptx,
                                    strlen(image->ptx) + 1);
    }
}

void host_add_cpu_code(struct host_builder *b, struct host_cpu_variant *cpu, bool for_another)
{
    const struct kernel_variant *variant = &cpu->entry->variants.data[cpu->variant];
    if (b->options->debug && !b->lines && variant->function->at.source)
        b->lines = lines_open(b->options, b->module, variant->function->at.source, false);
    for (int level = 0; level < HOST_CPU_LEVELS && !b->failed; level++) {
        struct host_cpu_code *code = &cpu->code[level];
        LLVMValueRef function;
        if (!code->symbol)
            continue;
        if (!cpu_emit_function(b->options, b->module, cpu->entry, variant, (enum cpu_isa)level, code->symbol, b->lines,
                               &code->scratch_bytes)) {
            b->failed = true;
            return;
        }
        function = LLVMGetNamedFunction(b->module, code->symbol);
        LLVMSetLinkage(function, for_another ? LLVMExternalLinkage : LLVMInternalLinkage);
        if (for_another)
            LLVMSetVisibility(function, LLVMHiddenVisibility);
        LLVMSetSection(function, arena_printf(b->arena, ".text.tile.%s", cpu->entry->symbol));
    }
}

void host_name_cpu_code(struct host_builder *b, const struct host_cpu_variant *cpu)
{
    LLVMTypeRef parameters[4] = {b->pointer, b->i64, b->i64, b->pointer};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(b->llvm), parameters, 4, 0);
    for (int level = 0; level < HOST_CPU_LEVELS; level++)
        if (cpu->code[level].symbol)
            LLVMSetVisibility(LLVMAddFunction(b->module, cpu->code[level].symbol, type), LLVMHiddenVisibility);
}

/* Attributes that LLVM reads from functions and not from the module. */
void host_harden_functions(struct host_builder *b)
{
    static const char *const arm[][2] = {{"branch-target-enforcement", "true"},
                                         {"sign-return-address", "non-leaf"},
                                         {"sign-return-address-key", "a_key"}};
    if (strncmp(b->options->host_triple, "aarch64", 7) != 0)
        return;
    for (LLVMValueRef f = LLVMGetFirstFunction(b->module); f; f = LLVMGetNextFunction(f))
        for (size_t i = 0; i < sizeof arm / sizeof arm[0] && !LLVMIsDeclaration(f); i++)
            LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                    LLVMCreateStringAttribute(b->llvm, arm[i][0], (unsigned)strlen(arm[i][0]),
                                                              arm[i][1], (unsigned)strlen(arm[i][1])));
}

void host_build_module(struct host_builder *b, const struct host_cpu_variant *cpu, int cpu_count)
{
    int next = 0;
    add_images(b);
    for (int i = 0; i < b->kernels->entries.count && !b->failed; i++) {
        const struct kernel_entry *entry = &b->kernels->entries.data[i];
        struct host_cpu_code(*code)[HOST_CPU_LEVELS] = arena_alloc(b->arena,
                                                                   sizeof *code * (size_t)(entry->variants.count + 1));
        LLVMValueRef descriptor;
        for (; next < cpu_count && cpu[next].entry == entry; next++)
            memcpy(code[cpu[next].variant], cpu[next].code, sizeof *code);
        descriptor = host_descriptor(b, entry, code);
        if (descriptor)
            host_entry_functions(b, entry, descriptor);
    }
}

static int fail_llvm(const char *what, char *problem)
{
    fprintf(stderr, "%s: %s\n", what, problem ? problem : "no text");
    return 1;
}

int host_emit_module(struct host_builder *b, LLVMTargetMachineRef machine, bool text, struct buffer *out)
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
    int level = optimization_level(b);
    LLVMPassBuilderOptionsRef settings = LLVMCreatePassBuilderOptions();
    LLVMMemoryBufferRef object = NULL;
    LLVMErrorRef error;
    char *problem = NULL;
    if (b->lines)
        lines_close(b->lines);
    if (LLVMVerifyModule(b->module, LLVMReturnStatusAction, &problem))
        return fail_llvm("the module is not valid", problem);
    LLVMDisposeMessage(problem);
    problem = NULL;
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
