/* The functions that C calls.  For  int f(struct CUstream_st *stream, const struct tile_f32_1 *x, float a) :
 *
 *   f            const void *arguments[2] = { x, &a };  return tile_rt_launch(&descriptor, stream, arguments);
 *                with a struct p:  { x, &a, p, &p->eps, &p->rows }
 *   f_query      the same with  tile_rt_query(…, info), info being the last parameter
 *   f_workspace  the same with  tile_rt_workspace, which gives a size_t
 *   f_variant    the same with  tile_rt_launch_variant(…, variant), an int
 *   f_launch_ex  the same with  tile_rt_launch_ex(…, options)
 *   f_load       return tile_rt_load(&descriptor);
 *   f_unload     return tile_rt_unload(&descriptor);
 *
 * The first five exist under a second name as well, f.signature_1a2b3c4d, which is what programs compiled with the
 * header ask for (ir/kernel_signature.h).
 *
 * Parameters are pointers, int, int64_t, float and double only, which both hosts pass as LLVM's types of these sizes.
 */
#include "ir/kernel_signature.h"
#include "targets/host/host.h"

/* How a parameter travels; views and structs travel as pointers and need no place in memory.  Members of structs have
 * no parameter in C: the run time is told where they lie. */
static LLVMTypeRef argument_type(struct host_builder *b, const struct kernel_parameter *parameter)
{
    switch (parameter->kind) {
    case KERNEL_VIEW:
    case KERNEL_STRUCT:
    case KERNEL_POINTER: return b->pointer;
    case KERNEL_ENUM:
    case KERNEL_KEY: return b->i32;
    case KERNEL_SCALAR: break;
    }
    switch (parameter->element) {
    case IR_I64:
    case IR_U64:
    case IR_INDEX: return b->i64;
    case IR_F64: return LLVMDoubleTypeInContext(b->llvm);
    case IR_F16:
    case IR_BF16:
    case IR_F8E4M3:
    case IR_F8E5M2:
    case IR_F32: return LLVMFloatTypeInContext(b->llvm);
    case IR_POINTER: return b->pointer;
    default: return b->i32;
    }
}

static void add_attribute(struct host_builder *b, LLVMValueRef function, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, __builtin_strlen(name));
    LLVMAddAttributeAtIndex(function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(b->llvm, kind, 0));
}

static LLVMVisibility visibility(const struct host_builder *b)
{
    switch (b->options->visibility) {
    case TARGET_VISIBILITY_HIDDEN: return LLVMHiddenVisibility;
    case TARGET_VISIBILITY_DEFAULT: return LLVMDefaultVisibility;
    case TARGET_VISIBILITY_PROTECTED: break;
    }
    return LLVMProtectedVisibility;
}

static LLVMValueRef add_function(struct host_builder *b, const char *symbol, const char *kernel, LLVMTypeRef result,
                                 LLVMTypeRef *parameters, int count)
{
    LLVMTypeRef type = LLVMFunctionType(result, parameters, (unsigned)count, false);
    LLVMValueRef function = LLVMAddFunction(b->module, symbol, type);
    LLVMSetSection(function, arena_printf(b->arena, ".text.tile.%s", kernel));
    LLVMSetVisibility(function, visibility(b));
    add_attribute(b, function, "nounwind");
    return function;
}

/* Of pointers, the fourth being of another type where `last` says so. */
static LLVMValueRef run_time_function(struct host_builder *b, const char *name, LLVMTypeRef result, LLVMTypeRef *type,
                                      int parameters, LLVMTypeRef last)
{
    LLVMTypeRef types[4] = {b->pointer, b->pointer, b->pointer, last ? last : b->pointer};
    LLVMValueRef function = LLVMGetNamedFunction(b->module, name);
    *type = LLVMFunctionType(result, types, (unsigned)parameters, false);
    return function ? function : LLVMAddFunction(b->module, name, *type);
}

/* The calls that carry the kernel's arguments.  The signature's name is another one of the same function. */
enum last_parameter { LAST_NONE, LAST_POINTER, LAST_INT };
struct call_form {
    const char *suffix, *callee;
    enum last_parameter last;
    bool gives_size;
};

static void add_signature(struct host_builder *b, const struct kernel_entry *entry, LLVMValueRef function,
                          const char *suffix)
{
    const char *name = arena_printf(b->arena, "%s%s.signature_%08x", entry->symbol, suffix,
                                    (unsigned)kernel_signature(entry, TILE_RT_ABI));
    LLVMSetVisibility(LLVMAddAlias2(b->module, LLVMGlobalGetValueType(function), 0, function, name), visibility(b));
}

/* What the run time gets for parameter `i`: a view or struct itself, else the place of the value. */
static LLVMValueRef argument_place(struct host_builder *b, LLVMBuilderRef at, const struct kernel_entry *entry,
                                   LLVMValueRef function, const LLVMTypeRef *types, const int *place_of, int i)
{
    const struct kernel_parameter *p = &entry->parameters.data[i];
    if (p->member_of) { /* also of NULL: the run time looks at the struct first */
        const struct kernel_parameter *whole = &entry->parameters.data[p->member_of - 1];
        LLVMValueRef offset = LLVMConstInt(b->i64, (uint64_t)kernel_struct_offset(whole->structure, p->member), false);
        LLVMValueRef base = LLVMGetParam(function, (unsigned)place_of[p->member_of - 1]);
        return LLVMBuildGEP2(at, b->i8, base, &offset, 1, "");
    }
    LLVMValueRef value = LLVMGetParam(function, (unsigned)place_of[i]);
    if (p->kind == KERNEL_VIEW || p->kind == KERNEL_STRUCT)
        return value;
    LLVMValueRef place = LLVMBuildAlloca(at, types[place_of[i]], "");
    LLVMBuildStore(at, value, place);
    return place;
}

static void add_call(struct host_builder *b, const struct kernel_entry *entry, LLVMValueRef descriptor,
                     const struct call_form *form)
{
    int count = 0, given = form->last != LAST_NONE ? 4 : 3;
    LLVMTypeRef last = form->last == LAST_INT ? b->i32 : b->pointer;
    int all = entry->parameters.count, *place_of = ARENA_ARRAY(b->arena, int, all);
    LLVMTypeRef *types = ARENA_ARRAY(b->arena, LLVMTypeRef, all + 2), callee_type;
    LLVMTypeRef array_type = LLVMArrayType2(b->pointer, (uint64_t)(all > 0 ? all : 1));
    LLVMBuilderRef at = LLVMCreateBuilderInContext(b->llvm);
    LLVMValueRef function, callee, array, call_arguments[4];
    LLVMTypeRef result = form->gives_size ? b->i64 : b->i32;
    types[0] = b->pointer;
    for (int i = 0; i < all; i++) {
        if (entry->parameters.data[i].member_of)
            continue;
        place_of[i] = 1 + count++;
        types[place_of[i]] = argument_type(b, &entry->parameters.data[i]);
    }
    types[1 + count] = last;
    function = add_function(b, arena_printf(b->arena, "%s%s", entry->symbol, form->suffix), entry->symbol, result,
                            types, form->last != LAST_NONE ? count + 2 : count + 1);
    add_signature(b, entry, function, form->suffix);
    LLVMPositionBuilderAtEnd(at, LLVMAppendBasicBlockInContext(b->llvm, function, ""));
    array = LLVMBuildAlloca(at, array_type, "arguments");
    for (int i = 0; i < all; i++) {
        LLVMValueRef index[2] = {LLVMConstInt(b->i32, 0, false), LLVMConstInt(b->i32, (unsigned)i, false)};
        LLVMValueRef place = argument_place(b, at, entry, function, types, place_of, i);
        LLVMBuildStore(at, place, LLVMBuildInBoundsGEP2(at, array_type, array, index, 2, ""));
    }
    callee = run_time_function(b, form->callee, result, &callee_type, given, last);
    call_arguments[0] = descriptor;
    call_arguments[1] = LLVMGetParam(function, 0);
    call_arguments[2] = array;
    call_arguments[3] = form->last != LAST_NONE ? LLVMGetParam(function, (unsigned)(1 + count)) : NULL;
    LLVMBuildRet(at, LLVMBuildCall2(at, callee_type, callee, call_arguments, (unsigned)given, ""));
    LLVMDisposeBuilder(at);
}

/* Those without: of the kernel as a whole. */
static void add_plain(struct host_builder *b, const struct kernel_entry *entry, LLVMValueRef descriptor,
                      const char *suffix, const char *callee_name)
{
    LLVMBuilderRef at = LLVMCreateBuilderInContext(b->llvm);
    LLVMTypeRef callee_type;
    LLVMValueRef function = add_function(b, arena_printf(b->arena, "%s%s", entry->symbol, suffix), entry->symbol,
                                         b->i32, NULL, 0);
    LLVMValueRef callee = run_time_function(b, callee_name, b->i32, &callee_type, 1, NULL);
    LLVMPositionBuilderAtEnd(at, LLVMAppendBasicBlockInContext(b->llvm, function, ""));
    LLVMBuildRet(at, LLVMBuildCall2(at, callee_type, callee, &descriptor, 1, ""));
    LLVMDisposeBuilder(at);
}

void host_entry_functions(struct host_builder *b, const struct kernel_entry *entry, LLVMValueRef descriptor)
{
    static const struct call_form forms[] = {{"", "tile_rt_launch", LAST_NONE, false},
                                             {"_query", "tile_rt_query", LAST_POINTER, false},
                                             {"_workspace", "tile_rt_workspace", LAST_NONE, true},
                                             {"_variant", "tile_rt_launch_variant", LAST_INT, false},
                                             {"_launch_ex", "tile_rt_launch_ex", LAST_POINTER, false}};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        add_call(b, entry, descriptor, &forms[i]);
    add_plain(b, entry, descriptor, "_load", "tile_rt_load");
    add_plain(b, entry, descriptor, "_unload", "tile_rt_unload");
}
