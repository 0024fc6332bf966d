/* A program as machine code of this processor, in this process, at each instruction set that it has. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/ExecutionEngine.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "judge.h"
#include "passes/run.h"
#include "targets/cpu/cpu.h"

typedef void code_function(const uint64_t *slots, int64_t begin, int64_t end, void *scratch);

#if defined __x86_64__
#define TRIPLE "x86_64-unknown-linux-gnu"
#else
#define TRIPLE "aarch64-unknown-linux-gnu"
#endif

static bool machine_has(int isa)
{
#if defined __x86_64__
    __builtin_cpu_init();
    return isa == CPU_BASELINE ||
           (isa == CPU_WIDE && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) ||
           (isa == CPU_WIDEST && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"));
#else
    return isa == CPU_BASELINE;
#endif
}

int fuzz_cpu_levels(void)
{
    int count = 0;
    for (int isa = 0; isa < CPU_ISA_COUNT; isa++)
        count += cpu_has_isa(TRIPLE, (enum cpu_isa)isa) && machine_has(isa);
    return count;
}

/* The module's function "kernel" as code; NULL: reason says why.  The engine owns the module from here on. */
static code_function *compile(LLVMModuleRef module, int level, LLVMExecutionEngineRef *engine, struct buffer *reason)
{
    char *text = NULL;
    *engine = NULL;
    if (LLVMVerifyModule(module, LLVMReturnStatusAction, &text)) {
        buffer_puts(reason, "LLVM's verifier: ");
        fuzz_put_kind(reason, text);
        return NULL;
    }
    LLVMDisposeMessage(text);
    LLVMLinkInMCJIT();
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    struct LLVMMCJITCompilerOptions options;
    LLVMInitializeMCJITCompilerOptions(&options, sizeof options);
    options.OptLevel = (unsigned)level;
    if (LLVMCreateMCJITCompilerForModule(engine, module, &options, sizeof options, &text)) {
        buffer_printf(reason, "LLVM's engine: %s", text);
        return NULL;
    }
    LLVMPassBuilderOptionsRef passes = LLVMCreatePassBuilderOptions();
    static const char *const pipelines[] = {"default<O0>", "default<O1>", "default<O2>", "default<O3>"};
    LLVMErrorRef error = LLVMRunPasses(module, pipelines[level], LLVMGetExecutionEngineTargetMachine(*engine), passes);
    LLVMDisposePassBuilderOptions(passes);
    if (error) {
        buffer_printf(reason, "LLVM's passes: %s", LLVMGetErrorMessage(error));
        return NULL;
    }
    uint64_t address = LLVMGetFunctionAddress(*engine, "kernel");
    code_function *code;
    memcpy(&code, &address, sizeof code);
    return code;
}

static void call(const struct fuzz_program *program, code_function *code, const struct fuzz_memory *memory,
                 int64_t scratch_bytes)
{
    uint64_t slots[FUZZ_MOST_SLOTS];
    int64_t programs;
    fuzz_fill_slots(program, memory, slots, &programs);
    void *scratch = aligned_alloc(64, (size_t)(scratch_bytes + 64) / 64 * 64);
    if (!scratch)
        die("no memory");
    memset(scratch, 0xa5, (size_t)scratch_bytes);
    code(slots, 0, programs / 2, scratch);
    code(slots, programs / 2, programs, scratch);
    free(scratch);
}

/* How far before the page behind it a piece must end so that its start is aligned as the function believes. */
static size_t gap_of(const struct fuzz_program *program, const struct fuzz_memory *memory,
                     const struct interp_memory *piece)
{
    int64_t gap = 1;
    for (int i = 0; i < program->argument_count && i < program->function->facts.count; i++) {
        const char *first = memory->arguments[i].data, *start = piece->data;
        if (first && first >= start && first < start + piece->size)
            gap = int64_max(gap, program->function->facts.data[i].base_alignment);
    }
    return (size_t)gap;
}

/* What a piece holds, to where it shall lie; of a large one the windows. */
static void copy_piece(const struct fuzz_program *program, const struct fuzz_memory *memory,
                       const struct interp_memory *piece, char *data)
{
    for (int i = 0; i < program->argument_count; i++) {
        const struct fuzz_argument *argument = &program->arguments[i];
        if (memory->arguments[i].data != piece->data || argument->alias)
            continue;
        size_t width = (size_t)ir_element_info[argument->type->element].bits / 8;
        int64_t first[FUZZ_MOST_WINDOWS], elements;
        int windows = fuzz_windows(argument, first, &elements);
        for (int w = 0; w < windows; w++)
            memcpy(data + (size_t)first[w] * width, (char *)piece->data + (size_t)first[w] * width,
                   (size_t)elements * width);
    }
}

/* Moves each piece of memory against the page behind it, or the one before it, that nobody may touch. */
static void guard(const struct fuzz_program *program, struct fuzz_memory *memory, bool behind)
{
    int argument_count = program->argument_count;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (int m = 0; m < memory->count; m++) {
        struct interp_memory *piece = &memory->memories[m];
        char *old = piece->data;
        size_t size = (piece->size + page - 1) / page * page;
        char *base = fuzz_map(size + 2 * page);
        if (mprotect(base, page, PROT_NONE) || mprotect(base + page + size, page, PROT_NONE))
            die("no guard pages");
        size_t gap = gap_of(program, memory, piece);
        char *data = base + page + (behind ? (size - piece->size) / gap * gap : 0);
        copy_piece(program, memory, piece, data);
        for (int i = 0; i < argument_count; i++) {
            char *pointer = memory->arguments[i].data;
            if (!pointer || pointer < old || pointer >= old + piece->size)
                continue;
            memory->arguments[i].data = data + (pointer - old);
            if (program->arguments[i].content == FUZZ_REPORT)
                memory->arguments[i].bits = (uint64_t)(uintptr_t)memory->arguments[i].data;
        }
        piece->data = data;
        if (memory->mapped[m])
            munmap(old, memory->mapped[m]);
        else
            free(old);
    }
}

static void release(struct fuzz_memory *memory)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (int m = 0; m < memory->count; m++) {
        struct interp_memory *piece = &memory->memories[m];
        size_t size = (piece->size + page - 1) / page * page;
        char *first = (char *)((uintptr_t)piece->data / page * page);
        munmap(first - page, size + 2 * page);
    }
    free(memory);
}

static bool run_isa(const struct judge *judge, struct fuzz_program *program, const struct kernel_variant *variant,
                    const struct fuzz_memory *reference, enum cpu_isa isa, struct buffer *reason)
{
    struct arena *arena = arena_create();
    struct target_options options = {.arena = arena,
                                     .context = program->module->context,
                                     .diagnostics = diagnostics_create(arena),
                                     .strict_fp = true,
                                     .host_triple = TRIPLE};
    LLVMContextRef llvm = LLVMContextCreate();
    LLVMModuleRef module = LLVMModuleCreateWithNameInContext("fuzz", llvm);
    LLVMExecutionEngineRef engine = NULL;
    int64_t scratch_bytes = 0;
    bool good = false;
    char text[200];
    if (judge->announce)
        fprintf(stderr, "cpu_%d\n", isa);
    buffer_printf(reason, "cpu %s: ", cpu_isa_name(TRIPLE, isa));
    size_t before = reason->size;
    if (!cpu_emit_function(&options, module, NULL, variant, isa, "kernel", NULL, &scratch_bytes)) {
        fuzz_put_kind(reason, options.diagnostics->first ? options.diagnostics->first->text : "no code");
        LLVMDisposeModule(module);
    } else {
        code_function *code = compile(module, judge->code_level ? judge->code_level - 1 : 2, &engine, reason);
        struct fuzz_memory *got = fuzz_memory_create(program);
        guard(program, got, program->arguments[0].fill % 2 == 1);
        if (code)
            call(program, code, got, scratch_bytes);
        good = code && fuzz_same(program, reference, got, text, sizeof text);
        if (!good && reason->size == before)
            buffer_puts(reason, "the result differs");
        release(got);
        if (engine)
            LLVMDisposeExecutionEngine(engine);
    }
    LLVMContextDispose(llvm);
    arena_destroy(arena);
    return good;
}

void fuzz_judge_cpu(const struct judge *judge, struct fuzz_program *program, const struct fuzz_memory *reference,
                    int64_t *runs, struct buffer *reason)
{
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    const struct target_row *row = &target_rows[target_find("cpu")];
    struct pass_context context = {
        .arena = arena,
        .diagnostics = diagnostics,
        .target = row,
        .name = "pipeline",
        .math_function = fuzz_math_function,
        .math_context = judge->math ? judge->math : fuzz_math_context(arena, program->module->context, diagnostics)};
    struct pass_run run = {0};
    run.passes = pass_pipeline(arena, row, judge->raw ? 0 : 2, &run.count);
    if (!pass_run_all(&run, program->function, &context)) {
        buffer_puts(reason, "cpu pipeline: ");
        fuzz_put_kind(reason, diagnostics->first ? diagnostics->first->text : "failed");
        arena_destroy(arena);
        return;
    }
    struct kernel_variant variant = {.module = program->module, .function = program->function};
    bool good = true;
    for (int isa = 0; isa < CPU_ISA_COUNT && good; isa++)
        if ((judge->isa < 0 || judge->isa == isa) && cpu_has_isa(TRIPLE, (enum cpu_isa)isa) && machine_has(isa)) {
            size_t size = reason->size;
            good = run_isa(judge, program, &variant, reference, (enum cpu_isa)isa, reason);
            ++*runs;
            if (good) {
                reason->size = size;
                reason->data[size] = '\0';
            }
        }
    arena_destroy(arena);
}
