/* From a lowered kernel to PTX text: LLVM's passes, then print.c; with -O0 and for what that does not know LLVM's NVPTX
 * back end, and the rewriting of .version and .target for architectures that LLVM 19 does not know.  Runs in a forked
 * worker: LLVM aborts on its own errors. */
#include "targets/nvptx/assemble/assemble.h"
#include "targets/nvptx/lower/lower.h"
#include "targets/nvptx/assemble/print.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <stdlib.h>
#include <string.h>

/* What -O2 does that matters here, without its search for vectors and its unrolling: the tile IR has done those. */
static const char pipeline[] =
    "function(early-cse,instcombine<no-verify-fixpoint>,simplifycfg,early-cse<memssa>,loop-simplify,lcssa,"
    "loop-mssa(licm<allowspeculation>),gvn,instcombine<no-verify-fixpoint>,simplifycfg,adce)";
/* With products: long, and nothing is left to do for a second round. */
static const char pipeline_for_products[] =
    "function(early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-simplify,lcssa,"
    "loop-mssa(licm<allowspeculation>),gvn,adce)";
/* Where accumulators fill the registers nothing is computed ahead: a number that is made in front of a loop and used
 * behind it would cost a register all through. */
static const char pipeline_for_accumulators[] =
    "function(early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)";

/* LLVM's options.
 *
 * -disable-early-taildup: the back end would copy a block that only branches into those in front of it, and one
 * condition would be asked twice in a row: where a store and the load behind it take whole vectors under the same
 * condition.  ptxas (13.0) then leaves out the point where the threads that load and those that do not meet again, and
 * lets both parts change the same uniform registers: what is stored behind it goes to wrong addresses.
 *
 * -cgpp-huge-func=1: CodeGenPrepare would go through the whole function again for each block that it changed, and for
 * each inline text in it read the constraints anew.  Above this number of blocks it goes through what changed. */
void nvptx_begin(void)
{
    const char *arguments[] = {"tilecc", "-disable-early-taildup", "-cgpp-huge-func=1"};
    LLVMParseCommandLineOptions(3, arguments, NULL);
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
}

static LLVMTargetMachineRef make_machine(const struct target_row *row, int optimization)
{
    LLVMTargetRef target;
    char *problem = NULL;
    if (LLVMGetTargetFromTriple("nvptx64-nvidia-cuda", &target, &problem))
        die("%s", problem);
    LLVMCodeGenOptLevel level = optimization == 0 ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault;
    return LLVMCreateTargetMachine(target, "nvptx64-nvidia-cuda", row->llvm_cpu, "+ptx85", level, LLVMRelocDefault,
                                   LLVMCodeModelDefault);
}

/* Replaces the word behind a directive at the start of a line, once. */
static void replace_directive(struct buffer *text, const char *directive, const char *value)
{
    const char *at = text->data ? strstr(text->data, directive) : NULL;
    if (!at)
        die("LLVM printed no %s", directive);
    size_t start = (size_t)(at - text->data) + strlen(directive);
    size_t end = start + strcspn(text->data + start, "\n,");
    struct buffer out = {0};
    buffer_append(&out, text->data, start);
    buffer_puts(&out, value);
    buffer_append(&out, text->data + end, text->size - end);
    buffer_free(text);
    *text = out;
}

/* |x| >= -c, which LLVM makes of -|x| <= c, is true but for NaN.  ptxas (13.0) takes it for true always, so that it is
 * asked as what it is:  fcmp oge (fabs x), -c  =  fcmp ord x, x */
static bool asks_for_a_number(LLVMValueRef compare)
{
    if (!LLVMIsAFCmpInst(compare))
        return false;
    LLVMRealPredicate predicate = LLVMGetFCmpPredicate(compare);
    LLVMValueRef left = LLVMGetOperand(compare, 0), right = LLVMGetOperand(compare, 1);
    if (!LLVMIsACallInst(left) || !LLVMIsAConstantFP(right))
        return false;
    LLVMValueRef called = LLVMGetCalledValue(left);
    size_t size = 0;
    LLVMBool loses;
    const char *name = called ? LLVMGetValueName2(called, &size) : "";
    return (predicate == LLVMRealOGE || predicate == LLVMRealOGT) && size > 10 && !strncmp(name, "llvm.fabs.", 10) &&
           LLVMConstRealGetDouble(right, &loses) < 0.0;
}

static void ask_for_numbers(LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block; block = LLVMGetNextBasicBlock(block))
            for (LLVMValueRef at = LLVMGetFirstInstruction(block), next; at; at = next) {
                next = LLVMGetNextInstruction(at);
                if (!asks_for_a_number(at))
                    continue;
                LLVMBuilderRef builder = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
                LLVMPositionBuilderBefore(builder, at);
                LLVMValueRef x = LLVMGetOperand(LLVMGetOperand(at, 0), 0);
                LLVMReplaceAllUsesWith(at, LLVMBuildFCmp(builder, LLVMRealORD, x, x, ""));
                LLVMInstructionEraseFromParent(at);
                LLVMDisposeBuilder(builder);
            }
}

static void find_product(struct ir_operation *operation, void *context)
{
    if (operation->opcode == OP_DOT || operation->opcode == OP_DOT_ASYNC)
        *(bool *)context = true;
}

static const char *choose_pipeline(const struct lowering *l)
{
    bool multiplies = false;
    ir_walk(l->function->body, find_product, &multiplies);
    return l->wgmma ? pipeline_for_accumulators : multiplies ? pipeline_for_products : pipeline;
}

static void run_passes(LLVMModuleRef module, LLVMTargetMachineRef machine, const char *passes)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(module, passes, machine, options);
    if (error)
        die("LLVM: %s", LLVMGetErrorMessage(error));
    LLVMDisposePassBuilderOptions(options);
    ask_for_numbers(module);
}

static void print_ptx(LLVMModuleRef module, LLVMTargetMachineRef machine, const struct target_row *row,
                      struct buffer *out)
{
    LLVMMemoryBufferRef memory;
    char *problem = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMAssemblyFile, &problem, &memory))
        die("LLVM: %s", problem);
    buffer_append(out, LLVMGetBufferStart(memory), LLVMGetBufferSize(memory));
    LLVMDisposeMemoryBuffer(memory);
    replace_directive(out, ".version ", row->ptx_version);
    replace_directive(out, ".target ", row->name);
}

/* After what ptxas does not do again: numbers wanted behind a branch alone are computed there, and 64 bits are divided
 * as 32 where these hold them.  False: something in it is not known to print.c. */
static bool print_ourselves(struct lowering *l, LLVMTargetMachineRef machine, LLVMTargetDataRef data,
                            struct buffer *out)
{
    if (l->options->llvm_prints || l->options->optimization == 0)
        return false;
    run_passes(l->module, machine, "require<profile-summary>,function(sink,codegenprepare)");
    return print_module(l, data, out);
}

/* A thread has 255 registers and local memory behind them; code for many times as many takes minutes to make. */
enum { MOST_REGISTERS_OF_TILE = 4096 };

struct width {
    struct ir_operation *widest;
    int registers;
};

static void measure_results(struct ir_operation *operation, void *context)
{
    struct width *width = context;
    for (int i = 0; i < operation->result_count; i++) {
        const struct ir_type *type = operation->results[i]->type;
        int registers = type->kind == IR_TILE && type->layout ? layout_registers(type->layout) : 0;
        if (registers <= width->registers)
            continue;
        *width = (struct width){operation, registers};
    }
}

/* False: reported. */
static bool tiles_fit(const struct target_options *options, struct ir_function *function)
{
    struct width width = {0};
    ir_walk(function->body, measure_results, &width);
    if (width.registers <= MOST_REGISTERS_OF_TILE)
        return true;
    diag_report(options->diagnostics, DIAGNOSTIC_E1206, width.widest->at,
                "this tile has %d elements for each of %d threads; %d is the most", width.registers,
                32 * function->warps, MOST_REGISTERS_OF_TILE);
    return false;
}

bool nvptx_make_ptx(const struct target_options *options, const struct target_row *row, struct ir_function *function,
                    bool llvm, struct buffer *out, int64_t *shared_bytes)
{
    struct lowering l = {.arena = options->arena, .options = options, .row = row, .function = function};
    if (!tiles_fit(options, function))
        return false;
    l.context = LLVMContextCreate();
    l.module = LLVMModuleCreateWithNameInContext("tile", l.context);
    l.layouts = ir_context_layouts(options->context);
    LLVMTargetMachineRef machine = make_machine(row, options->optimization);
    LLVMTargetDataRef data = LLVMCreateTargetDataLayout(machine);
    LLVMSetModuleDataLayout(l.module, data);
    LLVMSetTarget(l.module, "nvptx64-nvidia-cuda");
    if (!nvptx_lower(&l))
        return false;
    *shared_bytes = l.shared_need;
    char *problem = NULL;
    if (LLVMVerifyModule(l.module, LLVMReturnStatusAction, &problem)) {
        die("the LLVM module of %s is wrong: %s", function->name, problem);
    }
    LLVMDisposeMessage(problem); /* an empty text where nothing is wrong */
    if (options->optimization > 0)
        run_passes(l.module, machine, choose_pipeline(&l));
    if (llvm) {
        char *text = LLVMPrintModuleToString(l.module);
        buffer_puts(out, text);
        LLVMDisposeMessage(text);
    } else if (!print_ourselves(&l, machine, data, out)) {
        print_ptx(l.module, machine, row, out);
        lines_tell_calls(&l, out);
    }
    LLVMDisposeTargetData(data);
    LLVMDisposeTargetMachine(machine);
    LLVMDisposeModule(l.module);
    LLVMContextDispose(l.context);
    return true;
}
