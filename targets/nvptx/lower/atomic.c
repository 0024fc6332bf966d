/* Atomics: the machine's own where it has them, else loops around compare-and-swap.
 *
 * They act once an element: of the threads that hold one, the first does it, and the others learn the old value through
 * shared memory when somebody uses it.  A scalar is done by thread 0.  Release publishes what the whole instance did: a
 * barrier brings the accesses of all threads before the fence of the one that acts; acquire is the same the other way
 * round. */
#include "base/plant.h"
#include "targets/nvptx/lower/lower.h"
#include "targets/nvptx/thread/memory.h"

enum { WORTH_ASKING = 4 /* elements of a thread, whether all of them are changed */ };

static const char *scope_word(const struct ir_operation *operation)
{
    switch (ir_number(operation, IR_ATTRIBUTE_SCOPE, IR_SCOPE_GPU)) {
    case IR_SCOPE_SYSTEM: return "sys";
    case IR_SCOPE_BLOCK: return "cta";
    default: return "gpu";
    }
}

static LLVMTypeRef bits_type(const struct lowering *l, int bytes)
{
    return bytes == 8 ? l->i64 : bytes == 4 ? l->i32 : bytes == 2 ? l->i16 : l->i8;
}
static const char *bits_constraint(int bytes) { return bytes == 8 ? "l" : bytes == 4 ? "r" : "h"; }

/* The instruction's operation and type, or NULL: there is none. */
static const char *native(const struct lowering *l, enum ir_action action, enum ir_element element)
{
    int bytes = value_bytes(element);
    bool is_signed = ir_is_signed(element), wide = bytes == 8;
    switch (action) {
    case IR_ACTION_ADD:
        if (element == IR_F32)
            return "add.f32";
        if (element == IR_F64)
            return "add.f64";
        if (element == IR_F16)
            return "add.noftz.f16";
        if (element == IR_BF16)
            return l->row->major >= 9 ? "add.noftz.bf16" : NULL;
        return bytes < 4 || ir_is_float(element) ? NULL : wide ? "add.u64" : "add.u32";
    case IR_ACTION_MIN:
        if (bytes < 4 || ir_is_float(element))
            return NULL;
        return wide ? (is_signed ? "min.s64" : "min.u64") : is_signed ? "min.s32" : "min.u32";
    case IR_ACTION_MAX:
        if (bytes < 4 || ir_is_float(element))
            return NULL;
        return wide ? (is_signed ? "max.s64" : "max.u64") : is_signed ? "max.s32" : "max.u32";
    case IR_ACTION_AND: return bytes < 4 ? NULL : wide ? "and.b64" : "and.b32";
    case IR_ACTION_OR: return bytes < 4 ? NULL : wide ? "or.b64" : "or.b32";
    case IR_ACTION_XOR: return bytes < 4 ? NULL : wide ? "xor.b64" : "xor.b32";
    case IR_ACTION_EXCHANGE: return bytes < 4 ? NULL : wide ? "exch.b64" : "exch.b32";
    default: return NULL;
    }
}

static LLVMValueRef zero_bits(const struct lowering *l, int bytes)
{
    return LLVMConstInt(bits_type(l, bytes), 0, false);
}

/* Values of 8 bits travel in 16-bit registers. */
static LLVMValueRef to_register(struct lowering *l, LLVMValueRef bits)
{
    return LLVMTypeOf(bits) == l->i8 ? LLVMBuildZExt(l->builder, bits, l->i16, "") : bits;
}
static LLVMValueRef from_register(struct lowering *l, LLVMValueRef reg, int bytes)
{
    return bytes == 1 ? LLVMBuildTrunc(l->builder, reg, l->i8, "") : reg;
}

static LLVMValueRef plain_load(struct lowering *l, const char *scope, int bytes, LLVMValueRef predicate,
                               LLVMValueRef address)
{
    const char *type = bytes == 8 ? "b64" : bytes == 4 ? "b32" : bytes == 2 ? "b16" : "b8";
    const char *words[3] = {scope, type, bits_constraint(bytes)};
    LLVMValueRef arguments[3] = {predicate, address, to_register(l, zero_bits(l, bytes))};
    return from_register(l, ptx_emit(l, PTX_ATOM_LOAD, LLVMTypeOf(arguments[2]), arguments, 3, words), bytes);
}

static void plain_store(struct lowering *l, const char *scope, int bytes, LLVMValueRef predicate, LLVMValueRef address,
                        LLVMValueRef bits)
{
    const char *type = bytes == 8 ? "b64" : bytes == 4 ? "b32" : bytes == 2 ? "b16" : "b8";
    const char *words[3] = {scope, type, bits_constraint(bytes)};
    LLVMValueRef arguments[3] = {predicate, address, to_register(l, bits)};
    ptx_emit(l, PTX_ATOM_STORE, l->nothing, arguments, 3, words);
}

/* Compare-and-swap of 2, 4 or 8 bytes. */
static LLVMValueRef swap(struct lowering *l, const char *scope, int bytes, LLVMValueRef predicate, LLVMValueRef address,
                         LLVMValueRef expected, LLVMValueRef desired)
{
    const char *c = bits_constraint(bytes);
    const char *words[5] = {scope, bytes == 8 ? "b64" : bytes == 4 ? "b32" : "b16", c, c, c};
    LLVMValueRef arguments[5] = {predicate, address, expected, desired, zero_bits(l, bytes)};
    return ptx_emit(l, PTX_CAS, bits_type(l, bytes), arguments, 5, words);
}

/* A byte inside its aligned word. */
struct byte_place {
    LLVMValueRef word, shift;
};
static struct byte_place place_of_byte(struct lowering *l, LLVMValueRef address)
{
    LLVMBuilderRef b = l->builder;
    LLVMValueRef number = LLVMBuildPtrToInt(b, address, l->i64, "");
    LLVMValueRef word = LLVMBuildAnd(b, number, value_i64(l, ~3LL), "");
    LLVMValueRef shift = LLVMBuildTrunc(b, LLVMBuildAnd(b, number, value_i64(l, 3), ""), l->i32, "");
    LLVMValueRef bits = value_i32(l, PLANTED(nvptx_byte_atomic_wrong_byte) ? 2 : 3);
    return (struct byte_place){LLVMBuildIntToPtr(b, word, l->pointer, ""), LLVMBuildShl(b, shift, bits, "")};
}

struct change {
    enum ir_action action;
    enum ir_element element;
    LLVMValueRef value;    /* or desired */
    LLVMValueRef expected; /* of compare-and-swap; bits */
};

/* The new bits that a change makes of the old ones. */
static LLVMValueRef changed(struct lowering *l, const struct change *change, LLVMValueRef old_bits)
{
    static const enum ir_reduce_kind kind[] = {
        [IR_ACTION_ADD] = IR_REDUCE_ADD, [IR_ACTION_MIN] = IR_REDUCE_MIN, [IR_ACTION_MAX] = IR_REDUCE_MAX,
        [IR_ACTION_AND] = IR_REDUCE_AND, [IR_ACTION_OR] = IR_REDUCE_OR,   [IR_ACTION_XOR] = IR_REDUCE_XOR};
    enum ir_element e = change->element;
    LLVMValueRef new_bits = value_to_bits(l, e, change->value);
    if (change->expected) {
        LLVMValueRef same = LLVMBuildICmp(l->builder, LLVMIntEQ, old_bits, change->expected, "");
        return LLVMBuildSelect(l->builder, same, new_bits, old_bits, "");
    }
    if (change->action >= IR_ACTION_EXCHANGE)
        return new_bits;
    LLVMValueRef old = value_from_bits(l, e, old_bits);
    if (e == IR_BOOL) { /* min and max of bool are and and or; add is or */
        bool both = change->action == IR_ACTION_AND || change->action == IR_ACTION_MIN;
        LLVMValueRef truth = change->action == IR_ACTION_XOR ? LLVMBuildXor(l->builder, old, change->value, "")
                             : both                          ? LLVMBuildAnd(l->builder, old, change->value, "")
                                                             : LLVMBuildOr(l->builder, old, change->value, "");
        return value_to_bits(l, e, truth);
    }
    return value_to_bits(l, e, arithmetic_combine(l, kind[change->action], e, false, old, change->value));
}

/* do { seen = old; old = cas(seen, change(seen)); } while (old != seen), on the aligned word when the element is a
 * byte. */
static LLVMValueRef by_loop(struct lowering *l, const char *scope, const struct change *change, LLVMValueRef predicate,
                            LLVMValueRef address)
{
    LLVMBuilderRef b = l->builder;
    int bytes = value_bytes(change->element), word_bytes = bytes == 1 ? 4 : bytes;
    struct byte_place place = {address, NULL};
    if (bytes == 1)
        place = place_of_byte(l, address);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b), start = value_block(l, "try"), loop = value_block(l, "again"),
                      after = value_block(l, "changed");
    LLVMBuildCondBr(b, predicate, start, after);
    LLVMPositionBuilderAtEnd(b, start);
    LLVMValueRef first = plain_load(l, scope, word_bytes, value_i1(l, true), place.word);
    LLVMBuildBr(b, loop);
    LLVMPositionBuilderAtEnd(b, loop);
    LLVMValueRef seen = LLVMBuildPhi(b, LLVMTypeOf(first), "");
    LLVMValueRef old = seen, desired;
    if (bytes == 1)
        old = LLVMBuildTrunc(b, LLVMBuildLShr(b, seen, place.shift, ""), l->i8, "");
    desired = changed(l, change, old);
    if (bytes == 1) {
        LLVMValueRef hole = LLVMBuildNot(b, LLVMBuildShl(b, value_i32(l, 255), place.shift, ""), "");
        LLVMValueRef part = LLVMBuildShl(b, LLVMBuildZExt(b, desired, l->i32, ""), place.shift, "");
        desired = LLVMBuildOr(b, LLVMBuildAnd(b, seen, hole, ""), part, "");
    }
    LLVMValueRef found = swap(l, scope, word_bytes, value_i1(l, true), place.word, seen, desired);
    LLVMBasicBlockRef last = LLVMGetInsertBlock(b);
    LLVMValueRef incoming[2] = {first, found};
    LLVMBasicBlockRef blocks[2] = {start, last};
    LLVMAddIncoming(seen, incoming, blocks, 2);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, found, seen, ""), after, loop);
    LLVMPositionBuilderAtEnd(b, after);
    LLVMValueRef result = LLVMBuildPhi(b, LLVMTypeOf(old), "");
    LLVMValueRef results[2] = {zero_bits(l, bytes), old};
    LLVMBasicBlockRef ends[2] = {before, last};
    LLVMAddIncoming(result, results, ends, 2);
    return result;
}

/* Bits of the old value; 0 where the predicate is false. */
static LLVMValueRef change_one(struct lowering *l, const char *scope, const struct change *change,
                               LLVMValueRef predicate, LLVMValueRef address)
{
    int bytes = value_bytes(change->element);
    LLVMValueRef bits = value_to_bits(l, change->element, change->value);
    if (change->expected)
        return bytes > 1 ? swap(l, scope, bytes, predicate, address, change->expected, bits)
                         : by_loop(l, scope, change, predicate, address);
    if (change->action == IR_ACTION_LOAD)
        return plain_load(l, scope, bytes, predicate, address);
    if (change->action == IR_ACTION_STORE && l->operation->results[0]->uses) { /* the old value is wanted */
        struct change exchange = *change;
        exchange.action = IR_ACTION_EXCHANGE;
        return change_one(l, scope, &exchange, predicate, address);
    }
    if (change->action == IR_ACTION_STORE) {
        plain_store(l, scope, bytes, predicate, address, bits);
        return zero_bits(l, bytes);
    }
    const char *name = native(l, change->action, change->element);
    if (!name)
        return by_loop(l, scope, change, predicate, address);
    bool f32 = change->element == IR_F32, f64 = change->element == IR_F64;
    bool real = change->action == IR_ACTION_ADD && (f32 || f64);
    const char *c = real ? (f32 ? "f" : "d") : bits_constraint(bytes);
    const char *words[4] = {scope, name, c, c};
    LLVMValueRef value = real ? change->value : bits;
    LLVMValueRef arguments[4] = {predicate, address, value, LLVMConstNull(LLVMTypeOf(value))};
    LLVMValueRef old = ptx_emit(l, PTX_ATOM, LLVMTypeOf(value), arguments, 4, words);
    return real ? LLVMBuildBitCast(l->builder, old, bits_type(l, bytes), "") : old;
}

/* Hands what the leaders hold to the threads with copies: through shared memory at the row-major place of the element.
 */
void shared_tell(struct lowering *l, const struct ir_operation *operation, LLVMValueRef leader, LLVMValueRef *out)
{
    LLVMBuilderRef b = l->builder;
    const struct ir_type *type = operation->results[0]->type;
    int bytes = value_bytes(type->element), count = value_registers(type);
    int64_t start = shared_scratch(l, operation, ir_type_elements(type) * bytes);
    LLVMValueRef *address = value_array(l, count);
    for (int i = 0; i < count; i++) {
        LLVMValueRef number = value_i32(l, 0);
        for (int d = 0; d < type->rank; d++) {
            number = LLVMBuildMul(b, number, value_i32(l, type->extent[d]), "");
            number = LLVMBuildAdd(b, number, coordinate_register(l, type->layout, d, i), "");
        }
        address[i] = shared_address(l, start, LLVMBuildMul(b, number, value_i32(l, bytes), ""));
    }
    LLVMBasicBlockRef put = value_block(l, "tell"), join = value_block(l, "told");
    LLVMBuildCondBr(b, leader, put, join);
    LLVMPositionBuilderAtEnd(b, put);
    for (int i = 0; i < count; i++)
        shared_store(l, type->element, out[i], address[i], bytes);
    LLVMBuildBr(b, join);
    LLVMPositionBuilderAtEnd(b, join);
    ptx_barrier(l);
    for (int i = 0; i < count; i++)
        out[i] = shared_load(l, type->element, address[i], bytes);
}

/* An atomic of a tile or of one element. */
struct atomic {
    struct ir_operation *operation;
    struct reach reach;
    struct ir_access access;
    struct change change;
    const char *scope;
    LLVMValueRef leader;
    bool by_pointer;
};

/* Whether this thread changes the register's element; NULL: it does. */
static LLVMValueRef acts(struct lowering *l, const struct atomic *a, int reg)
{
    LLVMValueRef inside = a->by_pointer ? NULL : reach_inside(l, &a->reach, reg);
    LLVMValueRef predicate = reach_both(l, a->leader, inside);
    return a->access.mask ? reach_both(l, predicate, value_register(l, a->access.mask, reg)) : predicate;
}

/* asks: not all elements are known to be this thread's to change. */
static void change_elements(struct lowering *l, struct atomic *a, bool asks, LLVMValueRef *out)
{
    const struct ir_type *type = a->operation->results[0]->type;
    for (int i = 0; i < value_registers(type); i++) {
        int64_t offset = 0;
        LLVMValueRef address = a->by_pointer ? value_register(l, a->access.view, i)
                                             : reach_address(l, &a->reach, i, &offset);
        LLVMValueRef distance = value_i64(l, offset);
        if (offset)
            address = LLVMBuildGEP2(l->builder, l->i8, address, &distance, 1, "");
        LLVMValueRef predicate = asks ? acts(l, a, i) : NULL;
        if (!predicate)
            predicate = value_i1(l, true);
        a->change.value = a->access.value ? value_register(l, a->access.value, i) : value_constant(l, type->element, 0);
        if (a->access.expected)
            a->change.expected = value_to_bits(l, type->element, value_register(l, a->access.expected, i));
        LLVMValueRef bits = change_one(l, a->scope, &a->change, predicate, address);
        out[i] = value_from_bits(l, type->element, bits);
    }
}

/* Whether this thread changes all its elements; NULL: it is not worth asking.  ptxas goes around each atomic that may not
 * act, by a branch of its own. */
static LLVMValueRef acts_on_all(struct lowering *l, const struct atomic *a)
{
    const struct ir_value *result = a->operation->results[0];
    LLVMValueRef all = NULL;
    if (result->uses || a->access.expected || value_registers(result->type) < WORTH_ASKING ||
        !native(l, a->change.action, result->type->element))
        return NULL;
    for (int i = 0; i < value_registers(result->type); i++)
        all = reach_both(l, all, acts(l, a, i));
    return all;
}

static void change_tile(struct lowering *l, struct atomic *a, LLVMValueRef *out)
{
    LLVMValueRef all = acts_on_all(l, a);
    if (!all) {
        change_elements(l, a, true, out);
        return;
    }
    LLVMBasicBlockRef whole = value_block(l, "whole"), part = value_block(l, "part"), join = value_block(l, "changed");
    LLVMBuildCondBr(l->builder, all, whole, part);
    LLVMPositionBuilderAtEnd(l->builder, whole);
    change_elements(l, a, false, out);
    LLVMBuildBr(l->builder, join);
    LLVMPositionBuilderAtEnd(l->builder, part);
    change_elements(l, a, true, out); /* nobody looks at what is in out */
    LLVMBuildBr(l->builder, join);
    LLVMPositionBuilderAtEnd(l->builder, join);
}

void lower_atomic(struct lowering *l, struct ir_operation *operation)
{
    struct atomic a = {.operation = operation, .scope = scope_word(operation)};
    a.by_pointer = operation->opcode == OP_POINTER_ATOMIC || operation->opcode == OP_POINTER_CAS;
    if (a.by_pointer) {
        if (!ir_access_of(operation, &a.access))
            die("an atomic without operands");
    } else {
        reach_plan(l, operation, &a.reach);
        a.access = a.reach.access;
    }
    struct ir_value *result = operation->results[0];
    enum ir_order order = (enum ir_order)ir_number(operation, IR_ATTRIBUTE_ORDER, IR_ORDER_RELAXED);
    enum ir_order released = PLANTED(nvptx_release_as_acquire) ? IR_ORDER_ACQUIRE : IR_ORDER_RELEASE;
    if (order == released || order == IR_ORDER_ACQ_REL) {
        ptx_barrier(l);
        ptx_emit(l, PTX_FENCE, l->nothing, NULL, 0, &a.scope);
    }
    a.leader = coordinate_leader(l, result->type->rank ? result->type->layout : NULL);
    a.change = (struct change){.action = (enum ir_action)ir_number(operation, IR_ATTRIBUTE_ACTION, IR_ACTION_ADD),
                               .element = result->type->element};
    LLVMValueRef *out = value_define(l, result);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(l->builder);
    change_tile(l, &a, out);
    /* Lanes leave loops one by one.  ptxas (13.0) brings them together at the next shuffle, even at one that it then
     * takes away as that of a constant; at a barrier each part of the warp would arrive for all of it. */
    if (LLVMGetInsertBlock(l->builder) != before)
        ptx_end_arm(l);
    if (order == IR_ORDER_ACQUIRE || order == IR_ORDER_ACQ_REL) {
        ptx_emit(l, PTX_FENCE, l->nothing, NULL, 0, &a.scope);
        if (!PLANTED(nvptx_acquire_by_one_thread))
            ptx_barrier(l);
    }
    if (result->uses && a.leader)
        shared_tell(l, operation, a.leader, out);
}
