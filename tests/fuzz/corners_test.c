/* Random kernels in corners that no sound program has (support/corners.h) are compiled, not run: no pass breaks a rule
 * of the verifier or ends the compiler, the last IR is read back as it was printed, LLVM's verifier takes what lowering
 * makes of it, and ptxas takes the text for GPUs.  Operations on constants are sound and run as well: the interpreter
 * behind each pass, code for this processor, and the text for a GPU.
 *     corners_test [KIND FIRST COUNT [print]]      kinds: values, products, constants */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>

#include "ir/text.h"
#include "passes/run.h"
#include "support/corners.h"
#include "support/judge.h"
#include "targets/cpu/cpu.h"
#include "targets/nvptx/assemble/assemble.h"
#include "targets/target.h"

enum { MOST_FAILURES = 5, ASSEMBLED_IN = 24 /* one of so many texts */ };

struct kind {
    const char *name;
    void (*generate)(struct buffer *out, uint64_t seed);
    int count; /* in make check */
    bool sound;
};
static const struct kind kinds[] = {
    {"values", corners_generate, 440, false},
    {"products", corners_generate_product, 100, false},
    {"constants", corners_generate_constants, 64, true},
};
static const char *const gpus[] = {"sm_75", "sm_80", "sm_90a", "sm_120a"};

struct counts {
    int programs, failures, refused;
    int64_t texts, assembled;
};

/* ---- what is worked on: a signal's handler says where it ended ---- */

static char working_on[128];

static void tell(int number)
{
    static const char text[] = "this ended while it worked on: ";
    ssize_t ignored = write(2, text, sizeof text - 1);
    ignored = write(2, working_on, strlen(working_on));
    (void)ignored;
    signal(number, SIG_DFL);
    raise(number);
}

/* ---- one program for one target ---- */

struct work {
    struct arena *arena;
    struct ir_context *context;
    struct diagnostics *diagnostics;
    const struct target_row *row;
    struct ir_module *module;
    struct ir_function *function;
    const char *kind;
    uint64_t seed;
    struct counts *counts;
};

static void fail(const struct work *work, const char *what, const char *detail)
{
    work->counts->failures++;
    printf("%s %llu, %s: %s%s\n", work->kind, (unsigned long long)work->seed, work->row->name, what, detail);
}

/* False: refused, or reported. */
static bool run_passes(struct work *work)
{
    int count, level = work->seed % 10 == 6 ? 0 : work->seed % 10 == 3 ? 1 : 2;
    struct pass_run run = {.passes = pass_pipeline(work->arena, work->row, level, &count)};
    struct pass_context context = {.arena = work->arena,
                                   .diagnostics = work->diagnostics,
                                   .target = work->row,
                                   .name = "pipeline",
                                   .math_function = fuzz_math_function,
                                   .math_context = fuzz_math_context(work->arena, work->context, work->diagnostics)};
    run.count = count;
    if (pass_run_all(&run, work->function, &context))
        return true;
    for (const struct diagnostic *d = work->diagnostics->first; d; d = d->next)
        if (d->code == DIAGNOSTIC_E1005) {
            fail(work, d->text, "");
            return false;
        }
    work->counts->refused++;
    return false;
}

/* The last IR is a text of tile IR like any other. */
static void check_text(struct work *work)
{
    struct buffer first = {0}, second = {0};
    ir_print_function(&first, work->function, false);
    struct source source = {.name = "last", .text = first.data, .size = first.size};
    struct ir_module *module = ir_parse_module(work->context, work->arena, work->diagnostics, &source);
    if (!module || !ir_function_find(module, "fuzz")) {
        fail(work, "its last IR cannot be read: ", work->diagnostics->first ? work->diagnostics->first->text : "");
    } else {
        ir_print_function(&second, ir_function_find(module, "fuzz"), false);
        if (first.size != second.size || memcmp(first.data, second.data, first.size) != 0)
            fail(work, "its last IR is read as another", "");
    }
    buffer_free(&first);
    buffer_free(&second);
}

static void assemble(struct work *work, const struct buffer *text)
{
    char command[4096], line[512] = "";
    const char *ptxas = getenv("PTXAS");
    if (!ptxas || !*ptxas)
        return;
    FILE *file = fopen("corner.ptx", "w");
    if (!file || fwrite(text->data, 1, text->size, file) != text->size || fclose(file) != 0)
        die("cannot write corner.ptx");
    snprintf(command, sizeof command, "'%s' -O0 -arch=%s -o corner.cubin corner.ptx 2>&1", ptxas, work->row->name);
    FILE *pipe = popen(command, "r");
    if (!pipe)
        die("cannot run %s", command);
    while (fgets(line, sizeof line, pipe) && !strstr(line, "error") && !strstr(line, "fatal"))
        ;
    if (pclose(pipe) != 0)
        fail(work, "ptxas says: ", line);
    remove("corner.ptx");
    remove("corner.cubin");
    work->counts->assembled++;
}

static void lower_gpu(struct work *work, struct target_options options)
{
    struct buffer text = {0};
    int64_t shared_bytes = 0;
    if (!nvptx_make_ptx(&options, work->row, work->function, false, &text, &shared_bytes)) {
        work->counts->refused++;
    } else if (++work->counts->texts % ASSEMBLED_IN == 0) {
        assemble(work, &text);
    }
    buffer_free(&text);
}

/* What a target refuses it refuses with a word: the first error is of this code. */
static void refuse(struct work *work, enum diagnostic_code code)
{
    const struct diagnostic *d = work->diagnostics->first;
    while (d && d->severity != SEVERITY_error)
        d = d->next;
    if (!d || d->code != code)
        fail(work, "it is refused by ", d ? d->text : "nothing");
    work->counts->refused++;
}

static void lower_cpu(struct work *work, struct target_options options)
{
    static const char *const triples[] = {"x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"};
    int isa = (int)(work->seed % (CPU_ISA_COUNT + 1));
    struct kernel_variant variant = {.module = work->module, .function = work->function};
    LLVMContextRef llvm = LLVMContextCreate();
    LLVMModuleRef module = LLVMModuleCreateWithNameInContext("corner", llvm);
    int64_t scratch_bytes = 0;
    char *problem = NULL;
    options.host_triple = triples[isa == CPU_ISA_COUNT];
    if (!cpu_emit_function(&options, module, NULL, &variant, isa == CPU_ISA_COUNT ? CPU_BASELINE : (enum cpu_isa)isa,
                           "kernel", NULL, &scratch_bytes))
        refuse(work, DIAGNOSTIC_E1208);
    else if (LLVMVerifyModule(module, LLVMReturnStatusAction, &problem))
        fail(work, "LLVM's verifier: ", problem);
    work->counts->texts++;
    LLVMDisposeMessage(problem);
    LLVMDisposeModule(module);
    LLVMContextDispose(llvm);
}

static void compile(const struct kind *kind, uint64_t seed, const struct buffer *text, const char *target,
                    struct counts *counts)
{
    struct arena *arena = arena_create();
    struct source source = {.name = "corner", .text = text->data, .size = text->size};
    struct work work = {.arena = arena,
                        .context = ir_context_create(arena),
                        .diagnostics = diagnostics_create(arena),
                        .row = &target_rows[target_find(target)],
                        .kind = kind->name,
                        .seed = seed,
                        .counts = counts};
    struct target_options options = {.arena = arena,
                                     .context = work.context,
                                     .diagnostics = work.diagnostics,
                                     .optimization = seed % 4 ? 0 : 2, /* LLVM's passes take most of the time */
                                     .jobs = 1,
                                     .strict_fp = true};
    snprintf(working_on, sizeof working_on, "%s %llu, %s\n", kind->name, (unsigned long long)seed, target);
    work.module = ir_parse_module(work.context, arena, work.diagnostics, &source);
    work.function = work.module ? ir_function_find(work.module, "fuzz") : NULL;
    if (!work.function) {
        fail(&work, "it cannot be read", "");
    } else if (run_passes(&work)) {
        check_text(&work);
        if (work.row->kind == TARGET_CPU)
            lower_cpu(&work, options);
        else
            lower_gpu(&work, options);
    }
    arena_destroy(arena);
}

/* ---- operations on constants ---- */

static void run(uint64_t seed, const struct buffer *text, struct counts *counts)
{
    const struct judge judges[] = {
        {.kind = JUDGE_PASSES, .isa = -1, .target = gpus[seed % 4], .passes = "simplify,fold,cse,dce,expand_math"},
        {.kind = JUDGE_PASSES, .isa = -1, .passes = "fold,simplify"},
        {.kind = JUDGE_CPU, .isa = -1, .raw = seed % 8 == 5},
        {.kind = JUDGE_GPU, .isa = -1, .target = gpus[seed % 3], .raw = seed % 8 == 2}};
    for (int j = 0; j < (int)(sizeof judges / sizeof *judges); j++) {
        struct buffer reason = {0};
        fuzz_judge(&judges[j], text->data, text->size, &reason);
        if (reason.size) {
            counts->failures++;
            fuzz_tell_failure(seed, &judges[j], text->data, reason.data);
        }
        buffer_free(&reason);
    }
}

static void check(const struct kind *kind, uint64_t seed, bool print, struct counts *counts)
{
    struct buffer text = {0};
    kind->generate(&text, seed);
    counts->programs++;
    if (print)
        fputs(text.data, stdout);
    if (kind->sound)
        run(seed, &text, counts);
    compile(kind, seed, &text, "cpu", counts);
    for (int i = 0; i < 4; i++)
        if ((seed + (uint64_t)i) % 2)
            compile(kind, seed, &text, gpus[i], counts);
    buffer_free(&text);
}

int main(int count, char **arguments)
{
    struct counts counts = {0};
    bool print = count > 4 && !strcmp(arguments[4], "print");
    nvptx_begin(NULL);
    signal(SIGABRT, tell);
    signal(SIGSEGV, tell);
    signal(SIGTERM, tell); /* it takes too long */
    for (int k = 0; k < (int)(sizeof kinds / sizeof *kinds); k++) {
        if (count > 1 && strcmp(kinds[k].name, arguments[1]) != 0)
            continue;
        uint64_t first = count > 2 ? strtoull(arguments[2], NULL, 0) : 0, most = (uint64_t)kinds[k].count;
        if (count > 3)
            most = strtoull(arguments[3], NULL, 0);
        for (uint64_t seed = first; seed < first + most && counts.failures < MOST_FAILURES; seed++)
            check(&kinds[k], seed, print, &counts);
    }
    printf("{\"tool\": \"corners_test\", \"programs\": %d, \"texts\": %lld, \"assembled\": %lld, \"refused\": %d, "
           "\"failures\": %d}\n",
           counts.programs, (long long)counts.texts, (long long)counts.assembled, counts.refused, counts.failures);
    return counts.failures != 0 || counts.texts < counts.programs || counts.refused * 4 > (int)counts.texts;
}
