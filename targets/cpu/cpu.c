/* One function of the CPU target:  void symbol(const uint64_t *slots, int64_t begin, int64_t end, void *scratch).
 *
 * The slots are read once, before the loop over programs begin..end-1; a program's grid indexes come from its number,
 * the first grid dimension running fastest.  The instruction set is an attribute of the function, so that one module
 * holds all levels. */
#include "base/plant.h"
#include "targets/cpu/emit.h"
#include <string.h>

#define B e->builder

struct level {
    const char *name, *cpu, *features;
    int vector_bytes;
    bool fma, half, round;
};

static bool is_arm(const char *triple) { return triple && !strncmp(triple, "aarch64", 7); }

static const struct level x86_levels[CPU_ISA_COUNT] = {
    [CPU_BASELINE] = {"baseline", "x86-64", "+sse2", 16, false, false, false},
    [CPU_WIDE] = {"avx2", "x86-64-v3", "+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+popcnt", 32, true, true, true},
    [CPU_WIDEST] = {"avx512", "x86-64-v4",
                    "+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl,+avx2,+fma,+f16c,+bmi,+bmi2", 64, true, true,
                    true},
};
static const struct level arm_levels[CPU_ISA_COUNT] = {
    [CPU_BASELINE] = {"baseline", "generic", "+neon", 16, true, true, true},
};

static const struct level *level_of(const char *triple, enum cpu_isa isa)
{
    if (!is_arm(triple))
        return &x86_levels[isa];
    return arm_levels[isa].name ? &arm_levels[isa] : NULL;
}

bool cpu_has_isa(const char *triple, enum cpu_isa isa) { return isa < CPU_ISA_COUNT && level_of(triple, isa) != NULL; }

const char *cpu_isa_name(const char *triple, enum cpu_isa isa)
{
    const struct level *level = level_of(triple, isa);
    return level ? level->name : NULL;
}

static void add_attribute(struct cpu_emitter *e, const char *name, const char *value)
{
    LLVMAttributeRef attribute = LLVMCreateStringAttribute(e->llvm, name, (unsigned)strlen(name), value,
                                                           (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(e->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, attribute);
}

static void add_parameter_attribute(struct cpu_emitter *e, unsigned index, const char *name)
{
    LLVMAttributeRef attribute = LLVMCreateEnumAttribute(e->llvm, LLVMGetEnumAttributeKindForName(name, strlen(name)),
                                                         0);
    LLVMAddAttributeAtIndex(e->function, index + 1, attribute);
}

/* ---- arguments ---- */

static LLVMValueRef read_slot(struct cpu_emitter *e, LLVMValueRef slots, int slot)
{
    LLVMValueRef index = cpu_int(e, slot);
    LLVMValueRef value = LLVMBuildLoad2(B, e->i64, LLVMBuildInBoundsGEP2(B, e->i64, slots, &index, 1, ""), "");
    LLVMSetMetadata(value, LLVMGetMDKindIDInContext(e->llvm, "invariant.load", 14),
                    LLVMMetadataAsValue(e->llvm, LLVMMDNodeInContext2(e->llvm, NULL, 0)));
    return value;
}

static struct cpu_view *view_argument(struct cpu_emitter *e, LLVMValueRef slots, int slot, const struct ir_type *type,
                                      int root)
{
    struct cpu_view *view = ARENA_NEW(e->arena, struct cpu_view);
    LLVMValueRef data = read_slot(e, slots, slot);
    view->data = LLVMBuildIntToPtr(B, data, e->pointer, "");
    view->root = root;
    if (type->optional)
        view->present = LLVMBuildICmp(B, LLVMIntNE, data, cpu_int(e, 0), "");
    for (int d = 0; d < type->rank; d++) {
        view->extent[d] = type->extent[d] == IR_DYNAMIC ? read_slot(e, slots, slot + 1 + d)
                                                        : cpu_int(e, type->extent[d]);
        view->stride[d] = type->stride[d] == IR_DYNAMIC ? read_slot(e, slots, slot + 1 + type->rank + d)
                                                        : cpu_int(e, type->stride[d]);
    }
    return view;
}

static void read_arguments(struct cpu_emitter *e, LLVMValueRef slots)
{
    const struct ir_function *function = e->variant->function;
    int slot = 0;
    for (int i = 0; i < function->body->arguments.count; i++) {
        struct ir_value *argument = function->body->arguments.data[i];
        const struct ir_type *type = argument->type;
        struct cpu_state *state = cpu_state_of(e, argument);
        if (type->kind == IR_VIEW) {
            state->kind = CPU_VIEW;
            state->view = view_argument(e, slots, slot, type, i);
            slot += 1 + 2 * type->rank;
            continue;
        }
        LLVMValueRef bits = read_slot(e, slots, slot++);
        LLVMTypeRef integer = LLVMIntTypeInContext(e->llvm, (unsigned)ir_element_info[type->element].bits);
        LLVMValueRef narrow = ir_element_info[type->element].bits < 64 ? LLVMBuildTrunc(B, bits, integer, "") : bits;
        if (type->element == IR_BOOL)
            narrow = LLVMBuildICmp(B, LLVMIntNE, narrow, LLVMConstNull(integer), "");
        cpu_set_scalar(e, argument, LLVMBuildBitCast(B, narrow, cpu_register_type(e, type->element), ""));
    }
    for (int d = 0; d < function->grid_rank; d++)
        e->grid_size[d] = read_slot(e, slots, slot + d);
}

static void find_grid_index(struct cpu_emitter *e, LLVMValueRef program)
{
    int rank = e->variant->function->grid_rank;
    LLVMValueRef rest = program;
    for (int d = 0; d < rank; d++) {
        /* never 0 here: an empty grid runs no program */
        LLVMValueRef size = e->grid_size[PLANTED(cpu_grid_sizes_swapped) ? rank - 1 - d : d];
        e->grid_index[d] = d + 1 < rank ? LLVMBuildURem(B, rest, size, "") : rest;
        if (d + 1 < rank)
            rest = LLVMBuildUDiv(B, rest, size, "");
    }
}

static void set_level(struct cpu_emitter *e, const struct level *level)
{
    add_attribute(e, "target-cpu", level->cpu);
    add_attribute(e, "target-features", level->features);
    if (level->vector_bytes > 16) {
        add_attribute(e, "prefer-vector-width", level->vector_bytes == 64 ? "512" : "256");
        add_attribute(e, "min-legal-vector-width", level->vector_bytes == 64 ? "512" : "256");
    }
    add_attribute(e, "no-builtins", "");
    e->vector_bytes = level->vector_bytes;
    e->has_fma = level->fma;
    e->has_half = level->half;
    e->has_round = level->round;
}

static void declare_function(struct cpu_emitter *e, const char *symbol)
{
    LLVMTypeRef parameters[4] = {e->pointer, e->i64, e->i64, e->pointer};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->llvm), parameters, 4, 0);
    e->function = LLVMAddFunction(e->module, symbol, type);
    for (unsigned i = 0; i < 4; i += 3) {
        add_parameter_attribute(e, i, "noalias");
        add_parameter_attribute(e, i, "nocapture");
    }
    add_parameter_attribute(e, 0, "readonly");
    LLVMAttributeRef nounwind = LLVMCreateEnumAttribute(e->llvm, LLVMGetEnumAttributeKindForName("nounwind", 8), 0);
    LLVMAddAttributeAtIndex(e->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, nounwind);
    e->scratch = LLVMGetParam(e->function, 3);
}

static void find_types(struct cpu_emitter *e)
{
    e->i1 = LLVMInt1TypeInContext(e->llvm);
    e->i8 = LLVMInt8TypeInContext(e->llvm);
    e->i16 = LLVMInt16TypeInContext(e->llvm);
    e->i32 = LLVMInt32TypeInContext(e->llvm);
    e->i64 = LLVMInt64TypeInContext(e->llvm);
    e->f32 = LLVMFloatTypeInContext(e->llvm);
    e->f64 = LLVMDoubleTypeInContext(e->llvm);
    e->pointer = LLVMPointerTypeInContext(e->llvm, 0);
}

/* entry: allocas, arguments; then the loop over programs. */
static void emit_programs(struct cpu_emitter *e)
{
    e->allocas = cpu_block(e, "entry");
    LLVMBasicBlockRef start = cpu_block(e, "start");
    LLVMPositionBuilderAtEnd(B, e->allocas);
    LLVMTypeRef dummy = LLVMArrayType2(e->i64, 8);
    e->dummy = LLVMBuildAlloca(B, dummy, "nowhere");
    LLVMPositionBuilderAtEnd(B, start);
    LLVMBuildStore(B, LLVMConstNull(dummy), e->dummy);
    read_arguments(e, LLVMGetParam(e->function, 0));
    struct cpu_loop programs;
    cpu_loop_begin(e, &programs, LLVMGetParam(e->function, 1), LLVMGetParam(e->function, 2), 1);
    find_grid_index(e, programs.index);
    cpu_emit_block(e, e->variant->function->body);
    cpu_loop_end(e, &programs);
    LLVMBuildRetVoid(B);
    LLVMPositionBuilderAtEnd(B, e->allocas);
    LLVMBuildBr(B, start);
}

bool cpu_emit_function(const struct target_options *options, LLVMModuleRef module, const struct kernel_entry *entry,
                       const struct kernel_variant *variant, enum cpu_isa isa, const char *symbol, struct lines *lines,
                       int64_t *scratch_bytes)
{
    const struct level *level = level_of(options->host_triple, isa);
    if (!level)
        die("no such level of instructions on this host");
    struct cpu_emitter emitter = {.options = options,
                                  .entry = entry,
                                  .variant = variant,
                                  .module = module,
                                  .isa = isa,
                                  .lines = variant->function->at.source ? lines : NULL};
    struct cpu_emitter *e = &emitter;
    e->arena = arena_create();
    e->llvm = LLVMGetModuleContext(module);
    e->builder = LLVMCreateBuilderInContext(e->llvm);
    e->arm = is_arm(options->host_triple);
    e->strict = options->strict_fp || variant->function->strict_fp;
    find_types(e);
    declare_function(e, symbol);
    if (e->lines) {
        lines_function(e->lines, e->function, variant->function, entry->kernel);
        lines_set(e->lines, B, variant->function->at);
    }
    set_level(e, level);
    emit_programs(e);
    *scratch_bytes = e->scratch_top;
    LLVMDisposeBuilder(e->builder);
    arena_destroy(e->arena);
    return !e->failed;
}
