/* Random programs (tests/fuzz) through the CPU target at every instruction set this machine has, against the
 * interpreter, bit for bit.  Each program runs in a child, so that a crash is one failure. cpu_test [FIRST_SEED COUNT
 * [ISA]] */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/ExecutionEngine.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "support/generate.h"
#include "ir/text.h"
#include "targets/cpu/cpu.h"

typedef void code_function(const uint64_t *slots, int64_t begin, int64_t end, void *scratch);

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

#if defined __x86_64__
#define TRIPLE "x86_64-unknown-linux-gnu"
#else
#define TRIPLE "aarch64-unknown-linux-gnu"
#endif

/* The module's only function as machine code, or NULL. */
static code_function *compile(LLVMModuleRef module, bool print)
{
    char *text = NULL;
    if (print)
        puts(LLVMPrintModuleToString(module));
    if (LLVMVerifyModule(module, LLVMReturnStatusAction, &text)) {
        printf("LLVM's verifier: %s\n", text);
        return NULL;
    }
    LLVMLinkInMCJIT();
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    LLVMExecutionEngineRef engine;
    struct LLVMMCJITCompilerOptions options;
    LLVMInitializeMCJITCompilerOptions(&options, sizeof options);
    options.OptLevel = 2;
    if (LLVMCreateMCJITCompilerForModule(&engine, module, &options, sizeof options, &text)) {
        printf("LLVM's engine: %s\n", text);
        return NULL;
    }
    LLVMPassBuilderOptionsRef passes = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(module, getenv("FUZZ_PASSES") ? getenv("FUZZ_PASSES") : "default<O2>",
                                       LLVMGetExecutionEngineTargetMachine(engine), passes);
    if (error) {
        printf("LLVM's passes: %s\n", LLVMGetErrorMessage(error));
        return NULL;
    }
    if (print)
        puts(LLVMPrintModuleToString(module));
    uint64_t address = LLVMGetFunctionAddress(engine, "kernel");
    code_function *code;
    memcpy(&code, &address, sizeof code);
    return code;
}

static void run(const struct fuzz_program *program, code_function *code, const struct fuzz_memory *memory,
                int64_t scratch_bytes)
{
    uint64_t slots[512];
    int count = 0;
    int64_t programs = 1;
    for (int i = 0; i < program->argument_count; i++) {
        const struct ir_type *type = program->arguments[i].type;
        const struct interp_argument *argument = &memory->arguments[i];
        if (type->kind != IR_VIEW) {
            int bits = ir_element_info[type->element].bits;
            slots[count++] = bits < 64 ? argument->bits & ((UINT64_C(1) << bits) - 1) : argument->bits;
            continue;
        }
        slots[count++] = (uint64_t)(uintptr_t)argument->data;
        for (int d = 0; d < type->rank; d++)
            slots[count++] = (uint64_t)argument->extent[d];
        for (int d = 0; d < type->rank; d++)
            slots[count++] = (uint64_t)argument->stride[d];
    }
    for (int d = 0; d < program->function->grid_rank; d++) {
        slots[count++] = (uint64_t)program->grid[d];
        programs *= program->grid[d];
    }
    slots[count] = 0;
    void *scratch = aligned_alloc(64, (size_t)(scratch_bytes + 64) / 64 * 64);
    if (!scratch)
        exit(3);
    memset(scratch, 0xa5, (size_t)scratch_bytes);
    code(slots, 0, programs / 2, scratch);
    code(slots, programs / 2, programs, scratch);
    free(scratch);
}

/* Moves each piece of memory between two pages that nobody may touch, against the one behind it or the one before it.
 */
static void guard(struct fuzz_memory *memory, int argument_count, bool behind)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (int m = 0; m < memory->count; m++) {
        struct interp_memory *piece = &memory->memories[m];
        char *old = piece->data;
        size_t size = (piece->size + page - 1) / page * page;
        char *base = mmap(NULL, size + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (base == MAP_FAILED || (size && mprotect(base + page, size, PROT_READ | PROT_WRITE)))
            exit(3);
        char *data = base + page + (behind ? size - piece->size : 0);
        if (piece->size)
            memcpy(data, old, piece->size);
        for (int i = 0; i < argument_count; i++) {
            char *pointer = memory->arguments[i].data;
            if (pointer && pointer >= old && pointer <= old + piece->size)
                memory->arguments[i].data = data + (pointer - old);
        }
        piece->data = data;
    }
}

/* In a child: 0 the same, 1 different, 2 not there yet. */
static int check(uint64_t seed, int isa, bool print)
{
    struct arena *arena = arena_create();
    struct ir_context *context = ir_context_create(arena);
    struct fuzz_program *program = fuzz_generate(context, arena, seed, (struct fuzz_limits){0});
    if (print) {
        struct buffer text = {0};
        ir_print_module(&text, program->module, false);
        fputs(text.data, stdout);
        fflush(stdout);
    }
    struct fuzz_memory *expected = fuzz_memory_create(program), *got = fuzz_memory_create(program);
    struct interp_problem problem;
    if (!fuzz_interpret(program, program->function, expected, false, &problem)) {
        printf("seed %llu: interpreter: %s\n", (unsigned long long)seed, problem.text);
        return 1;
    }
    struct target_options options = {.arena = arena,
                                     .context = context,
                                     .diagnostics = diagnostics_create(arena),
                                     .strict_fp = true,
                                     .host_triple = TRIPLE};
    struct kernel_variant variant = {.module = program->module, .function = program->function};
    LLVMContextRef llvm = LLVMContextCreate();
    LLVMModuleRef module = LLVMModuleCreateWithNameInContext("fuzz", llvm);
    int64_t scratch_bytes = 0;
    if (!cpu_emit_function(&options, module, NULL, &variant, (enum cpu_isa)isa, "kernel", &scratch_bytes)) {
        diag_print(options.diagnostics, stdout, false);
        return 2;
    }
    code_function *code = compile(module, print);
    if (!code)
        return 1;
    for (int i = 0; print && i < program->argument_count; i++) {
        const struct interp_argument *a = &got->arguments[i];
        printf("argument %d: data %p extents %lld %lld %lld strides %lld %lld %lld bits %llx\n", i, a->data,
               (long long)a->extent[0], (long long)a->extent[1], (long long)a->extent[2], (long long)a->stride[0],
               (long long)a->stride[1], (long long)a->stride[2], (unsigned long long)a->bits);
    }
    for (int d = 0; print && d < program->function->grid_rank; d++)
        printf("grid %lld\n", (long long)program->grid[d]);
    guard(got, program->argument_count, seed % 2 != 0);
    run(program, code, got, scratch_bytes);
    for (int m = 0; print && m < got->count; m++) {
        printf("memory %d:", m);
        for (size_t i = 0; i < got->memories[m].size && i < 48; i++)
            printf(" %02x/%02x", ((unsigned char *)expected->memories[m].data)[i],
                   ((unsigned char *)got->memories[m].data)[i]);
        puts("");
    }
    char difference[400];
    if (fuzz_same(program, expected, got, difference, sizeof difference))
        return 0;
    printf("seed %llu, instruction set %d: %s\n", (unsigned long long)seed, isa, difference);
    return 1;
}

int main(int count, char **arguments)
{
    uint64_t first = count > 1 ? strtoull(arguments[1], NULL, 0) : 1,
             programs = count > 2 ? strtoull(arguments[2], NULL, 0) : 60;
    int only = count > 3 ? atoi(arguments[3]) : -1, failures = 0, absent = 0, runs = 0;
    for (uint64_t seed = first; seed < first + programs && failures < 8; seed++)
        for (int isa = 0; isa < CPU_ISA_COUNT; isa++) {
            if ((only >= 0 && isa != only) || !cpu_has_isa(TRIPLE, (enum cpu_isa)isa) || !machine_has(isa))
                continue;
            fflush(stdout);
            pid_t child = fork();
            if (child == 0) {
                alarm(20);
                int result = check(seed, isa, count > 4);
                fflush(stdout);
                _exit(result);
            }
            int status;
            waitpid(child, &status, 0);
            runs++;
            if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
                continue;
            if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
                absent++;
                continue;
            }
            printf("seed %llu, instruction set %d: %s %d\n", (unsigned long long)seed, isa,
                   WIFSIGNALED(status) ? "signal" : "status",
                   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
            failures++;
        }
    printf("%d runs, %d failures, %d not there yet\n", runs, failures, absent);
    return failures != 0;
}
