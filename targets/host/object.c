/* The host object: an LLVM module with everything that a linked program needs of a source, and its ELF bytes.  Where
 * code for the processor is made by itself (functions.c), each function is a module with nothing else, and this one
 * only names them.
 *
 *   .text.tile.<entry>          C entries and CPU code          .rodata.tile.<entry>       numbers of the descriptor
 *   .data.rel.ro.tile.<entry>   parts that hold addresses       .rodata.tile.image.<name>  a cubin, stored plain
 *                                                               and for compute_XX <name>.ptx, its text
 *   .bss.tile.<entry>           one pointer a GPU variant, for the run time
 *   .text.tile_shared.<entry>   CPU code that other entries have, too
 *   .text.tile_help.<function>  what CPU code calls
 *
 * One section a kernel, so that --gc-sections drops the kernels, cubins included, that a program does not use.  Cubins
 * are plain unless --compress-images asks for less: the driver takes plain ones in place, and every one takes them.
 * Everything but the C entries is local to the object; the entries need tile_rt_launch, tile_rt_query,
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
    /* Strength reduction of addresses takes a fourth of code generation and leaves nests no faster.  Options of LLVM are
     * the process's, a worker that makes one machine. */
    static const char *const quick[] = {"tilecc", "-disable-lsr"};
    const struct target_options *options = b->options;
    bool arm = strncmp(options->host_triple, "aarch64", 7) == 0;
    int level = optimization_level(b);
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
    if (level == 2)
        LLVMParseCommandLineOptions(2, quick, NULL);
    return LLVMCreateTargetMachine(target, options->host_triple, arm ? "generic" : "x86-64", "", levels[level],
                                   LLVMRelocPIC, LLVMCodeModelDefault);
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

struct host_part host_image_part(struct arena *arena, const struct kernel_image *image, bool ptx)
{
    const char *suffix = ptx ? ".ptx" : "";
    struct host_part part = {.symbol = arena_printf(arena, "tile.image.%s%s", image->name, suffix),
                             .section = arena_printf(arena, ".rodata.tile.image.%s%s", image->name, suffix),
                             .alignment = 64};
    part.data = ptx ? image->ptx : (const char *)(image->packed ? image->packed : image->data);
    part.size = ptx             ? strlen(image->ptx) + 1 /* the driver takes a text up to its end */
                : image->packed ? image->packed_size
                                : image->size;
    return part;
}

int host_list_images(struct arena *arena, const struct kernel_module *kernels, struct host_part *parts)
{
    int count = 0;
    for (int i = 0; i < kernels->images.count; i++)
        for (int ptx = 0; ptx < 2; ptx++) {
            const struct kernel_image *image = &kernels->images.data[i];
            if (ptx ? !image->with_ptx : image->without_cubin)
                continue;
            if (parts)
                parts[count] = host_image_part(arena, image, ptx);
            count++;
        }
    return count;
}

static LLVMValueRef add_image(struct host_builder *b, const struct kernel_image *from, bool ptx)
{
    struct host_part part = host_image_part(b->arena, from, ptx);
    if (b->images_apart) {
        LLVMValueRef named = LLVMAddGlobal(b->module, b->i8, part.symbol);
        LLVMSetVisibility(named, LLVMHiddenVisibility);
        return named;
    }
    LLVMValueRef bytes = LLVMConstStringInContext(b->llvm, part.data, (unsigned)part.size, true);
    LLVMValueRef image = host_global(b, bytes, "image", part.section, true);
    LLVMSetAlignment(image, (unsigned)part.alignment);
    return image;
}

static void add_images(struct host_builder *b)
{
    b->images = ARENA_ARRAY(b->arena, LLVMValueRef, b->kernels->images.count + 1);
    b->texts = ARENA_ARRAY(b->arena, LLVMValueRef, b->kernels->images.count + 1);
    for (int i = 0; i < b->kernels->images.count; i++) {
        const struct kernel_image *image = &b->kernels->images.data[i];
        if (!image->without_cubin)
            b->images[i] = add_image(b, image, false);
        if (image->with_ptx)
            b->texts[i] = add_image(b, image, true);
    }
}

void host_end_module(struct host_builder *b)
{
    LLVMDisposeModule(b->module);
    LLVMContextDispose(b->llvm);
    b->module = NULL;
    b->llvm = NULL;
    b->lines = NULL;
}

void host_add_function(struct host_builder *b, struct host_function *function, bool is_code)
{
    const struct kernel_variant *variant = function->variant;
    const char *name = is_code ? "code" : function->symbol;
    if (b->options->debug && !b->lines && variant->function->at.source)
        b->lines = lines_open(b->options, b->module, variant->function->at.source, false);
    if (!cpu_emit_function(b->options, b->module, function->entry, variant, (enum cpu_isa)function->level, name,
                           b->lines, &function->scratch_bytes)) {
        b->failed = true;
        return;
    }
    LLVMValueRef made = LLVMGetNamedFunction(b->module, name);
    LLVMSetLinkage(made, is_code ? LLVMExternalLinkage : LLVMInternalLinkage);
    if (is_code)
        LLVMSetVisibility(made, LLVMHiddenVisibility);
    LLVMSetSection(made, arena_printf(b->arena, ".text.tile.%s", is_code ? "code" : function->entry->symbol));
}

static void name_function(struct host_builder *b, const char *symbol)
{
    LLVMTypeRef parameters[4] = {b->pointer, b->i64, b->i64, b->pointer};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(b->llvm), parameters, 4, 0);
    if (!LLVMGetNamedFunction(b->module, symbol))
        LLVMSetVisibility(LLVMAddFunction(b->module, symbol, type), LLVMHiddenVisibility);
}

void host_name_functions(struct host_builder *b)
{
    for (int i = 0; i < b->kernels->entries.count; i++) {
        const struct kernel_entry *entry = &b->kernels->entries.data[i];
        for (int v = 0; v < entry->variants.count; v++)
            for (int level = 0; level < KERNEL_CPU_LEVELS; level++)
                if (entry->variants.data[v].cpu.level[level].symbol)
                    name_function(b, entry->variants.data[v].cpu.level[level].symbol);
    }
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

void host_build_module(struct host_builder *b)
{
    add_images(b);
    for (int i = 0; i < b->kernels->entries.count && !b->failed; i++) {
        const struct kernel_entry *entry = &b->kernels->entries.data[i];
        LLVMValueRef descriptor = host_descriptor(b, entry);
        if (descriptor) {
            host_entry_functions(b, entry, descriptor);
            host_mark_body(b, entry, descriptor);
        }
    }
}

static int fail_llvm(const char *what, char *problem)
{
    fprintf(stderr, "%s: %s\n", what, problem ? problem : "no text");
    return 1;
}

static bool is_help(LLVMValueRef function)
{
    size_t size;
    return !LLVMIsDeclaration(function) && strncmp(LLVMGetValueName2(function, &size), "tilecc.", 7) == 0;
}

/* Functions that code for the processor calls: `tilecc.fmod.f64`.  Each part of an object that calls one has it, and of
 * these the object keeps one (merge.c).  So passes may not make them fit their callers, as they would if they saw that
 * nobody else calls them: at -O3 another kernel's constants would be in what is kept. */
static void place_help(struct host_builder *b)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(b->module); f; f = LLVMGetNextFunction(f)) {
        size_t size;
        const char *name = LLVMGetValueName2(f, &size);
        if (!is_help(f))
            continue;
        LLVMSetLinkage(f, LLVMExternalLinkage);
        LLVMSetVisibility(f, LLVMHiddenVisibility);
        LLVMSetSection(f, arena_printf(b->arena, "%s%s", HOST_HELP_SECTION, name));
        LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                LLVMCreateEnumAttribute(b->llvm, LLVMGetEnumAttributeKindForName("nounwind", 8), 0));
    }
}

/* Behind the passes, which may have put all of it into its callers. */
static void close_help(struct host_builder *b)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(b->module), next; f; f = next) {
        next = LLVMGetNextFunction(f);
        if (!is_help(f))
            continue;
        LLVMSetVisibility(f, LLVMDefaultVisibility);
        LLVMSetLinkage(f, LLVMInternalLinkage);
        if (!LLVMGetFirstUse(f))
            LLVMDeleteFunction(f);
    }
}

int host_optimize_module(struct host_builder *b, LLVMTargetMachineRef machine)
{
    /* CPU code comes as finished nests in vectors: what LLVM's own -O2 would try on them (inlining, vectorizing,
     * unrolling) costs two thirds of its time and finds nothing.  -O3 still runs everything. */
    static const char nests[] =
        "function<eager-inv>(sroa<modify-cfg>,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
        "simplifycfg),"
        "function(loop-mssa(loop-rotate,licm),gvn,instcombine<no-verify-fixpoint>,loop-mssa(licm),"
        "loop(indvars,loop-deletion),dse,simplifycfg,instcombine<no-verify-fixpoint>,adce),globaldce";
    static const char *const pipelines[] = {"default<O0>", "default<O1>", nests, "default<O3>"};
    LLVMPassBuilderOptionsRef settings = LLVMCreatePassBuilderOptions();
    char *problem = NULL;
    if (b->lines)
        lines_close(b->lines);
    place_help(b);
    if (LLVMVerifyModule(b->module, LLVMReturnStatusAction, &problem))
        return fail_llvm("the module is not valid", problem);
    LLVMDisposeMessage(problem);
    LLVMErrorRef error = LLVMRunPasses(b->module, pipelines[optimization_level(b)], machine, settings);
    LLVMDisposePassBuilderOptions(settings);
    if (!error)
        close_help(b);
    return error ? fail_llvm("optimization", LLVMGetErrorMessage(error)) : 0;
}

int host_emit_module(struct host_builder *b, LLVMTargetMachineRef machine, bool text, struct buffer *out)
{
    LLVMMemoryBufferRef object = NULL;
    char *problem = NULL;
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
