/* From a lowered kernel to PTX text: LLVM's passes, LLVM's NVPTX back end, and the rewriting of .version and .target for
 * architectures that LLVM 19 does not know.  Runs in a forked worker: LLVM aborts on its own errors. */
#include "targets/nvptx/assemble/assemble.h"
#include "targets/nvptx/lower/lower.h"
#include "targets/nvptx/assemble/lines.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <string.h>

/* LLVM's passes, each kept for what it brings behind ptxas 13.0 (LLVM 19; 201 kernels of examples/ and of the bench for
 * sm_80 and sm_90a each; bytes of machine code against this list, geometric mean and worst of a source):
 *
 *     none at all                 x 1.04 (rows of the bench x 1.06, saxpy x 1.14, one kernel x 1.33)
 *     early-cse, simplifycfg      x 1.04, as above: what they bring is that the others are fast
 *     without licm and gvn        x 1.04 (rows of the bench x 1.05, one kernel x 1.39; matmul x 1.04 for sm_80)
 *     without gvn                 x 1.04 (the same but matmul x 1.02): addresses and masks that loads share
 *     without licm                x 1.00 (matmul x 1.02 and 208 bytes more of spills for sm_80, attention x 1.01)
 *     with adce; with instcombine and simplifycfg a second time:  x 1.00, and up to a tenth more of LLVM's time
 *
 * No list changes spills on sm_90a by more than 16 bytes in all.  Searching for vectors and unrolling are left out: the
 * tile IR has done those. */
static const char pipeline[] =
    "function(early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-simplify,lcssa,"
    "loop-mssa(licm<allowspeculation>),gvn)";
/* Where accumulators fill the registers nothing is computed ahead: a number that is made in front of a loop and used
 * behind it would cost a register all through. */
static const char pipeline_for_accumulators[] =
    "function(early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)";

void nvptx_register(void)
{
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
}

static void find_wgmma(struct ir_operation *operation, void *found)
{
    if (operation->opcode == OP_DOT_ASYNC &&
        ir_number(operation, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_FMA) == IR_INSTRUCTION_WGMMA)
        *(bool *)found = true;
}

bool nvptx_has_wgmma(const struct ir_function *function)
{
    bool found = false;
    ir_walk(function->body, find_wgmma, &found);
    return found;
}

/* LLVM's options.
 *
 * -disable-early-taildup: the back end would copy a block that only branches into those in front of it, and one
 * condition would be asked twice in a row: where a store and the load behind it take whole vectors under the same
 * condition.  ptxas (13.0) then leaves out the point where the threads that load and those that do not meet again, and
 * lets both parts change the same uniform registers: what is stored behind it goes to wrong addresses.
 *
 * -disable-lsr: the lowering makes addresses in loops from those before already.  LoopStrengthReduce on top of that takes
 * time and brings nothing: on an H200 products and attention run 0.2 % faster without it, rows 0.1 %, and an unaligned
 * product (777 x 1234 x 4320) 4 %.
 *
 * -disable-machine-licm, but not where products are wgmma: moving constants and addresses out of loops costs registers
 * that mma.sync has no more (general attention for sm_80 spills 3036 bytes instead of 3544, the other kernels are the
 * same to 0.3 %).  With wgmma attention runs 0.3 % slower without it on an H200, one cell 5 %.
 *
 * -cgpp-huge-func=1: CodeGenPrepare would go through the whole function again for each block that it changed, and for
 * each inline text in it read the constraints anew.  Above this number of blocks it goes through what changed. */
void nvptx_begin(const struct ir_function *function)
{
    const char *arguments[] = {"tilecc", "-disable-early-taildup", "-disable-lsr", "-cgpp-huge-func=1",
                               "-disable-machine-licm"};
    int count = (int)(sizeof arguments / sizeof *arguments);
    nvptx_register();
    LLVMParseCommandLineOptions(function && nvptx_has_wgmma(function) ? count - 1 : count, arguments, NULL);
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

/* False: reported. */
static bool tiles_fit(const struct target_options *options, const struct target_row *row,
                      const struct ir_function *function)
{
    struct nvptx_excess excess;
    if (!nvptx_find_excess(options->arena, row, function, function->name, &excess) || excess.code != DIAGNOSTIC_E1206)
        return true; /* shared memory that is too much has a text all the same */
    diag_report(options->diagnostics, excess.code, excess.at, "%s", excess.text);
    return false;
}

bool nvptx_make_ptx(const struct target_options *options, const struct target_row *row, struct ir_function *function,
                    bool llvm, struct buffer *out, int64_t *shared_bytes)
{
    struct lowering l = {.arena = options->arena, .options = options, .row = row, .function = function};
    if (!tiles_fit(options, row, function))
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
    int64_t from = times_clock();
    char *problem = NULL;
    if (LLVMVerifyModule(l.module, LLVMReturnStatusAction, &problem)) {
        die("the LLVM module of %s is wrong: %s", function->name, problem);
    }
    LLVMDisposeMessage(problem); /* an empty text where nothing is wrong */
    if (options->optimization > 0)
        run_passes(l.module, machine, l.wgmma ? pipeline_for_accumulators : pipeline);
    if (llvm) {
        char *text = LLVMPrintModuleToString(l.module);
        buffer_puts(out, text);
        LLVMDisposeMessage(text);
    } else {
        print_ptx(l.module, machine, row, out);
        lines_tell_calls(&l, out);
    }
    times_add_since(options->times, TIMES_LLVM_GPU, from);
    LLVMDisposeTargetData(data);
    LLVMDisposeTargetMachine(machine);
    LLVMDisposeModule(l.module);
    LLVMContextDispose(l.context);
    return true;
}
