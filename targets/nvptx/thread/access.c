/* Loads and stores of tiles through views, and the mask of the elements that are inside.
 *
 * All vectors of a tile are read before anything uses them.  There are two forms of code.  The first moves whole
 * vectors, each under a predicate; the second goes element by element.  The second form is made only where a vector
 * could straddle the end of its dimension, and then a test that is the same for all threads picks the form when
 * running.  Of several threads that hold an element, one stores it. */
#include "base/plant.h"
#include "targets/nvptx/thread/memory.h"

static const char *cache_word(const struct ir_operation *operation, bool load, const struct view *view)
{
    switch (ir_number(operation, IR_ATTRIBUTE_CACHE, IR_CACHE_ALL)) {
    case IR_CACHE_GLOBAL: return ".cg";
    case IR_CACHE_STREAMING: return ".cs";
    default: return load && view && view->constant_memory ? ".nc" : "";
    }
}

/* Any of the masks of a vector; NULL: no mask. */
static LLVMValueRef any_mask(struct lowering *l, const struct ir_value *mask, const struct layout_vector *vector,
                             int reg)
{
    if (!mask)
        return NULL;
    LLVMValueRef any = value_register(l, mask, reg);
    if (mask->type->rank == 0)
        return any;
    for (int i = 1; i < vector->size; i++)
        any = LLVMBuildOr(l->builder, any, value_register(l, mask, layout_vector_register(vector, reg, i)), "");
    return any;
}

static int vector_register(const struct layout_vector *vector, int reg, int i)
{
    return vector->size > 1 ? layout_vector_register(vector, reg, i) : reg;
}

/* Reads everything in vectors of `by` (those of `as`, or single elements); words[] gets it in the order and shape of
 * `as`. */
static void load_words(struct lowering *l, const struct reach *reach, const struct layout_vector *by,
                       const struct layout_vector *as, LLVMValueRef *words)
{
    int count = value_registers(reach->type), next = 0;
    const struct ir_value *mask = reach->access.mask;
    const char *cache = cache_word(l->operation, true, reach->view);
    if (by->size == 1 && access_text_applies(reach)) {
        access_text_load(l, reach, as, cache, words);
        return;
    }
    struct memory_shape wide = memory_shape(reach->element, as->size), shape = memory_shape(reach->element, by->size);
    for (int start = 0; start < count; start++) {
        if (start & as->register_mask)
            continue;
        LLVMValueRef elements[16];
        for (int at = 0; at < as->size; at += by->size) {
            LLVMValueRef other[16], word;
            int64_t offset;
            int reg = vector_register(as, start, at);
            LLVMValueRef address = reach_address(l, reach, reg, &offset);
            LLVMValueRef predicate = reach_both(l, reach_inside(l, reach, reg), any_mask(l, mask, by, reg));
            for (int i = 0; i < by->size; i++)
                other[i] = value_register(l, reach->access.other, vector_register(by, reg, i));
            bool same = by->size == as->size;
            memory_load(l, reach->element, cache, address, offset, by->size, predicate, other,
                        same ? words + next : &word);
            if (!same)
                memory_unpack(l, reach->element, shape, &word, &elements[at]);
        }
        if (by->size != as->size)
            memory_pack(l, reach->element, wide, elements, words + next);
        next += wide.words;
    }
}

/* Words to registers.  A vector was read when any of its elements was wanted: the others get `other`. */
static void spread_words(struct lowering *l, const struct reach *reach, const struct layout_vector *vector,
                         const LLVMValueRef *words, LLVMValueRef *out)
{
    int count = value_registers(reach->type), next = 0;
    struct memory_shape shape = memory_shape(reach->element, vector->size);
    const struct ir_value *mask = reach->access.mask;
    for (int start = 0; start < count; start++) {
        if (start & vector->register_mask)
            continue;
        LLVMValueRef values[16];
        memory_unpack(l, reach->element, shape, words + next, values);
        for (int i = 0; i < vector->size; i++)
            out[vector_register(vector, start, i)] = values[i];
        next += shape.words;
    }
    if (!mask || mask->type->rank == 0 || vector->size == 1 || PLANTED(nvptx_vector_mask_ignored))
        return;
    for (int reg = 0; reg < count; reg++)
        out[reg] = LLVMBuildSelect(l->builder, value_register(l, mask, reg), out[reg],
                                   value_register(l, reach->access.other, reg), "");
}

/* A number for an iteration to come, which nobody uses before the branch or the loop has handed it on. */
static bool is_handed_on(const struct ir_value *value)
{
    const struct ir_use *use = value->uses;
    while (use && use->user->opcode == OP_YIELD)
        use = use->next;
    return value->uses && !use && value->type->rank == 0 && ir_is_float(value->type->element);
}

/* ptxas keeps what is the same in all threads in uniform registers, and brings a loaded number there at once, which
 * waits for the load.  So the address is made of the thread's number, too: shifted until nothing is left.  (Gradients of norms
 * of 16384 rows of 1024 bf16 on an H200: 39 us, 34 so.)  Products hide such loads themselves, and want the registers. */
static void keep_apart(struct lowering *l, struct reach *reach)
{
    LLVMBuilderRef keep = l->builder;
    l->builder = l->entry;
    LLVMValueRef none = LLVMBuildLShr(l->builder, ptx_emit(l, PTX_THREAD, l->i32, NULL, 0, NULL), value_i32(l, 10), "");
    none = LLVMBuildZExt(l->builder, none, l->i64, "");
    l->builder = keep;
    reach->address = LLVMBuildGEP2(l->builder, l->i8, reach->address, &none, 1, "");
}

static void lower_load(struct lowering *l, struct ir_operation *operation)
{
    struct reach reach;
    reach_plan(l, operation, &reach);
    if (!l->products && is_handed_on(operation->results[0]))
        keep_apart(l, &reach);
    const struct layout_vector single = {.size = 1}, *vector = &reach.vector;
    LLVMValueRef *out = value_define(l, operation->results[0]);
    int count = value_registers(reach.type),
        words = count / vector->size * memory_shape(reach.element, vector->size).words;
    LLVMValueRef *a = value_array(l, count), *b = value_array(l, count);
    if (!reach.whole) {
        load_words(l, &reach, vector, vector, a);
        spread_words(l, &reach, vector, a, out);
        return;
    }
    LLVMBasicBlockRef wide = value_block(l, "wide"), narrow = value_block(l, "narrow"), join = value_block(l, "loaded");
    LLVMBuildCondBr(l->builder, reach.whole, wide, narrow);
    LLVMPositionBuilderAtEnd(l->builder, wide);
    load_words(l, &reach, vector, vector, a);
    ptx_end_arm(l);
    LLVMBuildBr(l->builder, join);
    LLVMPositionBuilderAtEnd(l->builder, narrow);
    load_words(l, &reach, &single, vector, b);
    ptx_end_arm(l);
    LLVMBuildBr(l->builder, join);
    LLVMPositionBuilderAtEnd(l->builder, join);
    for (int i = 0; i < words; i++) {
        LLVMBasicBlockRef blocks[2] = {wide, narrow};
        LLVMValueRef values[2] = {a[i], b[i]};
        a[i] = LLVMBuildPhi(l->builder, LLVMTypeOf(values[0]), "");
        LLVMAddIncoming(a[i], values, blocks, 2);
    }
    spread_words(l, &reach, vector, a, out);
}

static void store_all(struct lowering *l, const struct reach *reach, struct layout_vector vector, LLVMValueRef leader)
{
    int count = value_registers(reach->type);
    const struct ir_value *mask = PLANTED(nvptx_store_ignores_mask) ? NULL : reach->access.mask;
    const char *cache = cache_word(l->operation, false, NULL);
    if (vector.size == 1 && access_text_applies(reach)) {
        access_text_store(l, reach, &reach->vector, cache, leader, mask);
        return;
    }
    for (int reg = 0; reg < count; reg++) {
        if (reg & vector.register_mask)
            continue;
        LLVMValueRef values[16];
        int64_t offset;
        LLVMValueRef address = reach_address(l, reach, reg, &offset);
        LLVMValueRef predicate = reach_both(l, leader, reach_inside(l, reach, reg));
        if (mask)
            predicate = reach_both(l, predicate, value_register(l, mask, reg));
        for (int i = 0; i < vector.size; i++)
            values[i] = value_register(l, reach->access.value,
                                       vector.size > 1 ? layout_vector_register(&vector, reg, i) : reg);
        memory_store(l, reach->element, cache, address, offset, vector.size, predicate, values);
    }
}

static void lower_store(struct lowering *l, struct ir_operation *operation)
{
    struct reach reach;
    reach_plan(l, operation, &reach);
    struct layout_vector single = {.size = 1};
    LLVMValueRef leader = coordinate_leader(l, reach.type->rank ? reach.type->layout : NULL);
    bool by_element = reach.access.mask && reach.access.mask->type->rank > 0;
    if (!reach.whole || by_element) {
        store_all(l, &reach, by_element ? single : reach.vector, leader);
        return;
    }
    LLVMBasicBlockRef wide = value_block(l, "wide"), narrow = value_block(l, "narrow"), join = value_block(l, "stored");
    LLVMBuildCondBr(l->builder, reach.whole, wide, narrow);
    LLVMPositionBuilderAtEnd(l->builder, wide);
    store_all(l, &reach, reach.vector, leader);
    ptx_end_arm(l);
    LLVMBuildBr(l->builder, join);
    LLVMPositionBuilderAtEnd(l->builder, narrow);
    store_all(l, &reach, single, leader);
    ptx_end_arm(l);
    LLVMBuildBr(l->builder, join);
    LLVMPositionBuilderAtEnd(l->builder, join);
}

static void lower_inside(struct lowering *l, struct ir_operation *operation)
{
    struct reach reach;
    reach_plan(l, operation, &reach);
    LLVMValueRef *out = value_define(l, operation->results[0]);
    for (int reg = 0; reg < value_registers(reach.type); reg++) {
        LLVMValueRef inside = reach_inside(l, &reach, reg);
        out[reg] = inside ? inside : value_i1(l, true);
    }
}

void lower_access(struct lowering *l, struct ir_operation *operation)
{
    if (operation->opcode == OP_LOAD)
        lower_load(l, operation);
    else if (operation->opcode == OP_STORE)
        lower_store(l, operation);
    else
        lower_inside(l, operation);
}

/* Pointer tiles: each element has an address of its own; there are no bounds. */
void lower_pointer(struct lowering *l, struct ir_operation *operation)
{
    struct ir_value *pointers = operation->operands[0];
    enum ir_element element = pointers->type->pointee;
    int count = value_registers(pointers->type);
    if (operation->opcode == OP_POINTER_ADD) {
        LLVMValueRef *out = value_define(l, operation->results[0]);
        LLVMValueRef bytes = value_i64(l, value_bytes(element));
        for (int i = 0; i < value_registers(operation->results[0]->type); i++) {
            const struct ir_value *by = operation->operands[1];
            LLVMValueRef offset = LLVMBuildMul(l->builder, value_wide(l, by->type->element, value_register(l, by, i)),
                                               bytes, "");
            out[i] = LLVMBuildGEP2(l->builder, l->i8, value_register(l, pointers, i), &offset, 1, "");
        }
        return;
    }
    struct ir_access access;
    if (!ir_access_of(operation, &access))
        die("a pointer access without operands");
    bool load = operation->opcode == OP_POINTER_LOAD;
    const char *cache = cache_word(operation, load, NULL);
    LLVMValueRef *out = load ? value_define(l, operation->results[0]) : NULL;
    LLVMValueRef leader = load ? NULL : coordinate_leader(l, pointers->type->rank ? pointers->type->layout : NULL);
    for (int i = 0; i < count; i++) {
        LLVMValueRef address = value_register(l, pointers, i);
        LLVMValueRef predicate = reach_both(l, leader, access.mask ? value_register(l, access.mask, i) : NULL);
        LLVMValueRef value = value_register(l, load ? access.other : access.value, i), word;
        if (!load) {
            memory_store(l, element, cache, address, 0, 1, predicate, &value);
            continue;
        }
        memory_load(l, element, cache, address, 0, 1, predicate, &value, &word);
        memory_unpack(l, element, memory_shape(element, 1), &word, &out[i]);
    }
}
