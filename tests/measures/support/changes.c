/* See changes.h. */
#include "changes.h"

#include <string.h>

#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "analyses.h"
#include "front/front.h"
#include "ir/text.h"
#include "passes/run.h"
#include "targets/cpu/cpu.h"
#include "targets/nvptx/assemble/assemble.h"
#include "targets/nvptx/lower/lower.h"
#include "targets/nvptx/assemble/print.h"
#include "targets/target.h"
#include "tests/fuzz/support/differential.h"
#include "tests/fuzz/support/judge.h"

enum { TARGETS = CHANGE_SM_120A - CHANGE_CPU + 1, SINGLE_PASSES = 3, MOST_REGISTERS = 512 };

const char *const change_names[CHANGE_COUNT] = {"source", "program", "analyses", "passes",  "cpu",
                                                "sm_75",  "sm_80",   "sm_90a",   "sm_120a", "remarks",
                                                "header", "nvptx",   "ptx",      "x86",     "aarch64"};

struct change_maker {
    struct arena *arena;
    struct ir_context *context;
    struct front_options front;
    struct front *library;
    struct ir_module *functions; /* of the library, each made once and copied from then on */
    bool readable;               /* LLVM's IR is printed as text */
    char *layout;                /* of memory, all GPUs': LLVM's text */
};

struct change_maker *change_maker_open(bool readable)
{
    struct arena *arena = arena_create();
    struct change_maker *maker = ARENA_NEW(arena, struct change_maker);
    maker->arena = arena;
    maker->readable = readable;
    maker->context = ir_context_create(arena);
    maker->functions = ir_module_create(maker->context, arena);
    maker->front = (struct front_options){.arena = arena,
                                          .context = maker->context,
                                          .library = &maker->library,
                                          .diagnostics = diagnostics_create(arena)};
    LLVMTargetRef target;
    char *problem = NULL;
    if (LLVMGetTargetFromTriple("nvptx64-nvidia-cuda", &target, &problem))
        die("%s", problem);
    LLVMTargetMachineRef machine = LLVMCreateTargetMachine(
        target, "nvptx64-nvidia-cuda", "sm_80", "", LLVMCodeGenLevelNone, LLVMRelocDefault, LLVMCodeModelDefault);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
    maker->layout = LLVMCopyStringRepOfTargetData(layout);
    LLVMDisposeTargetData(layout);
    LLVMDisposeTargetMachine(machine);
    return maker;
}

void change_maker_close(struct change_maker *maker)
{
    LLVMDisposeMessage(maker->layout);
    arena_destroy(maker->arena);
}

struct ir_context *change_maker_context(struct change_maker *maker) { return maker->context; }

static struct ir_function *math_function(void *context, struct ir_module *module, enum ir_math function,
                                         enum ir_element element)
{
    struct change_maker *maker = context;
    struct ir_function *known = front_math_function(&maker->front, maker->functions, function, element);
    struct ir_function *here = known ? ir_function_find(module, known->name) : NULL;
    return here || !known ? here : ir_function_clone(module, known, known->name);
}

/* ---- passes ---- */

/* One program on its way: a copy of the module, what is said of it. */
struct change {
    struct change_maker *maker;
    struct arena *arena;
    struct ir_module *module;
    struct diagnostics *diagnostics;
    const struct target_row *row;
    struct change_texts *texts;
};

static struct change change_begin(struct change_maker *maker, const struct ir_module *module,
                                  const struct target_row *row, struct change_texts *texts)
{
    struct arena *arena = arena_create();
    struct change change = {maker, arena, ir_module_create(maker->context, arena), diagnostics_create(arena),
                            row,   texts};
    for (const struct ir_function *each = module->first; each; each = each->next)
        ir_function_clone(change.module, each, each->name);
    return change;
}

/* Writes what was said, errors included: a program that is refused now is a change, too. */
static void change_end(struct change *change)
{
    struct buffer *out = &change->texts->of[CHANGE_REMARKS];
    if (change->diagnostics->first)
        buffer_printf(out, "// %s\n", change->row ? change->row->name : "no target");
    for (const struct diagnostic *d = change->diagnostics->first; d; d = d->next) {
        buffer_printf(out, "%s %d:%d: %s\n", diagnostic_info[d->code].code, d->at.line, d->at.column, d->text);
        for (const struct note *note = d->notes; note; note = note->next)
            buffer_printf(out, "    %d:%d: %s\n", note->at.line, note->at.column, note->text);
    }
    arena_destroy(change->arena);
}

static bool run_list(struct change *change, struct ir_function *function, const struct pass_info *const *passes,
                     int count, int64_t fuel)
{
    struct pass_context context = {.arena = change->arena,
                                   .diagnostics = change->diagnostics,
                                   .target = change->row,
                                   .remarks = true,
                                   .name = "pipeline",
                                   .math_function = math_function,
                                   .math_context = change->maker,
                                   .fuel = fuel ? &fuel : NULL};
    struct pass_run run = {.passes = passes, .count = count};
    return pass_run_all(&run, function, &context);
}

/* The pipeline but for what leads to a level that a kernel has left. */
static bool run_pipeline(struct change *change, struct ir_function *function, int level)
{
    int count, kept = 0;
    const struct pass_info *const *all = pass_pipeline(change->row, level, &count),
                                  **left = ARENA_ARRAY(change->arena, const struct pass_info *, count);
    enum ir_level at = function->level;
    for (int i = 0; i < count; i++) {
        if (all[i]->in != all[i]->out && at > all[i]->in)
            continue;
        at = at > all[i]->out ? at : all[i]->out;
        left[kept++] = all[i];
    }
    return run_list(change, function, left, kept, 0);
}

/* A few passes alone, others for other seeds, and one random order. */
static void add_passes(struct change_maker *maker, const struct ir_module *module, uint64_t seed,
                       struct change_texts *texts)
{
    struct arena *arena = arena_create();
    struct judge way;
    int ways = 0;
    while (fuzz_way(arena, seed, ways, &way))
        ways++;
    int singles = ways - FUZZ_SEQUENCES - FUZZ_PIPELINES;
    for (int i = 0; i <= SINGLE_PASSES; i++) {
        const struct pass_info *const *passes;
        const char *unknown;
        int count, number = i < SINGLE_PASSES ? (int)((seed * SINGLE_PASSES + (uint64_t)i) % (uint64_t)singles)
                                              : singles + (int)(seed % FUZZ_SEQUENCES);
        fuzz_way(arena, seed, number, &way);
        if (!pass_parse_list(arena, way.passes, &passes, &count, &unknown))
            die("there is no pass '%s'", unknown);
        struct change change = change_begin(maker, module, &target_rows[target_find(way.target)], texts);
        for (struct ir_function *f = change.module->first, *next; f; f = next) {
            next = f->next; /* the library's functions come behind */
            if (f->level == IR_LEVEL_VALUE)
                run_list(&change, f, passes, count, way.fuel);
        }
        buffer_printf(&texts->of[CHANGE_PASSES], "// %s %s\n", way.target, way.passes);
        ir_print_module(&texts->of[CHANGE_PASSES], change.module, false);
        change_end(&change);
    }
    arena_destroy(arena);
}

/* ---- code ---- */

static void measure(struct ir_operation *operation, void *context)
{
    int *registers = context;
    for (int i = 0; i < operation->result_count; i++) {
        const struct ir_type *type = operation->results[i]->type;
        if (type->kind == IR_TILE && type->layout && layout_registers(type->layout) > *registers)
            *registers = layout_registers(type->layout);
    }
}

/* For checksums as bitcode, which takes a third of the time that the text takes. */
static void print_llvm(const struct change *change, LLVMModuleRef module, const char *title, struct buffer *out)
{
    buffer_printf(out, "; %s\n", title);
    if (change->maker->readable) {
        char *text = LLVMPrintModuleToString(module);
        buffer_puts(out, text);
        LLVMDisposeMessage(text);
    } else {
        LLVMMemoryBufferRef code = LLVMWriteBitcodeToMemoryBuffer(module);
        buffer_append(out, LLVMGetBufferStart(code), LLVMGetBufferSize(code));
        LLVMDisposeMemoryBuffer(code);
    }
}

/* The printer knows what LLVM's passes leave; they take most of the time, so that not all programs have PTX. */
static void add_ptx(struct change *change, struct lowering *l)
{
    struct buffer *out = &change->texts->of[CHANGE_PTX];
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(l->module, "function(early-cse,instcombine<no-verify-fixpoint>,simplifycfg)",
                                       NULL, options);
    if (error)
        die("LLVM: %s", LLVMGetErrorMessage(error));
    LLVMDisposePassBuilderOptions(options);
    buffer_printf(out, "// %s, %lld bytes\n", change->row->name, (long long)l->shared_need);
    LLVMTargetDataRef layout = LLVMCreateTargetData(change->maker->layout); /* it remembers types of the context */
    if (!print_module(l, layout, out))
        buffer_puts(out, "// something is not known\n");
    LLVMDisposeTargetData(layout);
}

/* Large tiles take too long for what they tell. */
static void add_gpu_code(struct change *change, struct ir_function *function, bool with_ptx)
{
    struct target_options options = {.arena = change->arena,
                                     .context = change->maker->context,
                                     .diagnostics = change->diagnostics,
                                     .optimization = 2,
                                     .jobs = 1,
                                     .strict_fp = true};
    struct lowering l = {.arena = change->arena, .options = &options, .row = change->row, .function = function};
    int registers = 0;
    ir_walk(function->body, measure, &registers);
    if (registers > MOST_REGISTERS)
        return;
    l.context = LLVMContextCreate();
    l.module = LLVMModuleCreateWithNameInContext("tile", l.context);
    l.layouts = ir_context_layouts(options.context);
    LLVMSetDataLayout(l.module, change->maker->layout);
    LLVMSetTarget(l.module, "nvptx64-nvidia-cuda");
    if (nvptx_lower(&l)) {
        print_llvm(change, l.module, change->row->name, &change->texts->of[CHANGE_NVPTX]);
        if (with_ptx)
            add_ptx(change, &l);
    }
    LLVMDisposeModule(l.module);
    LLVMContextDispose(l.context);
}

static void add_cpu_code(struct change *change, struct ir_function *function, struct change_options asked)
{
    static const struct {
        const char *triple;
        enum cpu_isa isa;
        enum change_column column;
    } levels[] = {
        {"x86_64-unknown-linux-gnu", CPU_BASELINE, CHANGE_X86},
        {"x86_64-unknown-linux-gnu", CPU_WIDEST, CHANGE_X86},
        {"aarch64-unknown-linux-gnu", CPU_BASELINE, CHANGE_ARM},
    };
    for (int i = 0; i < (int)(sizeof levels / sizeof *levels); i++) {
        if (asked.some && (asked.seed + (uint64_t)i) % 2)
            continue;
        struct target_options options = {.arena = change->arena,
                                         .context = change->maker->context,
                                         .diagnostics = change->diagnostics,
                                         .strict_fp = true,
                                         .optimization = 2,
                                         .host_triple = levels[i].triple};
        struct kernel_variant variant = {.module = change->module, .function = function};
        struct buffer *out = &change->texts->of[levels[i].column];
        LLVMContextRef llvm = LLVMContextCreate();
        LLVMModuleRef module = LLVMModuleCreateWithNameInContext("tile", llvm);
        int64_t scratch_bytes = 0;
        if (cpu_emit_function(&options, module, NULL, &variant, levels[i].isa, "kernel", NULL, &scratch_bytes))
            print_llvm(change, module, cpu_isa_name(levels[i].triple, levels[i].isa), out);
        buffer_printf(out, "; %lld bytes\n", (long long)scratch_bytes);
        LLVMDisposeModule(module);
        LLVMContextDispose(llvm);
    }
}

static void add_target(struct change_maker *maker, const struct ir_module *module, enum change_column column,
                       struct change_options asked, struct change_texts *texts)
{
    int level = asked.raw || asked.seed % 10 == 6 ? 0 : asked.seed % 10 == 3 ? 1 : 2;
    struct change change = change_begin(maker, module, &target_rows[target_find(change_names[column])], texts);
    for (struct ir_function *f = change.module->first, *next; f; f = next) {
        next = f->next; /* the library's functions come behind */
        if (!f->is_kernel || (change.row->kind == TARGET_CPU && f->level != IR_LEVEL_VALUE))
            continue;
        if (!run_pipeline(&change, f, level))
            continue;
        ir_print_function(&texts->of[column], f, false);
        if (change.row->kind == TARGET_CPU)
            add_cpu_code(&change, f, asked);
        else
            add_gpu_code(&change, f, (asked.seed / 2 + (uint64_t)column) % 4 == 0);
    }
    change_end(&change);
}

void change_add(struct change_maker *maker, const struct ir_module *module, struct change_options options,
                struct change_texts *texts)
{
    ir_print_module(&texts->of[CHANGE_PROGRAM], module, false);
    for (const struct ir_function *f = module->first; f; f = f->next)
        if (f->level == IR_LEVEL_VALUE)
            analyses_print(&texts->of[CHANGE_ANALYSES], f);
    if (!options.raw && !options.target)
        add_passes(maker, module, options.seed, texts);
    for (int i = 0; i < TARGETS; i++) {
        enum change_column column = (enum change_column)(CHANGE_CPU + i);
        bool wanted = options.target ? !strcmp(options.target, change_names[column])
                                     : !options.some || column == CHANGE_CPU || (options.seed + (uint64_t)i) % 2;
        if (wanted)
            add_target(maker, module, column, options, texts);
    }
}
