/* SPDX-License-Identifier: MIT
 *
 * From the arguments of a call to the slots of a kernel, with every check on the way.  Driven by the descriptor, the
 * same for every target.  The order is fixed, so that the first thing wrong is the one that is told:
 *
 *   each argument by itself; names bound by extents, keys, derived keys; extents against their declarations;
 * `requires`; overlap.  Then, when the target is known: facts, the first variant that fits, its grid. */
#include "tile_rt_internal.h"
#include <stdlib.h>
#include <string.h>

#define EXTENT_LIMIT ((int64_t)1 << 31)

static const uint8_t type_size[] = {
#define X(name, size, argument, element) size,
    TILE_RT_TYPES(X)
#undef X
};

unsigned tile_rt_type_size(unsigned type) { return type_size[type]; }

static const uint64_t *view_of(const struct tile_rt_call *call, unsigned parameter)
{
    return &call->slots[call->first_slot[parameter]];
}

static int is_present(const struct tile_rt_call *call, unsigned parameter)
{
    if (call->kernel->parameters[parameter].kind == TILE_RT_PARAMETER_view)
        return call->arguments[parameter] != NULL;
    return call->slots[call->first_slot[parameter]] != 0;
}

/* ---- byte code -------------------------------------------------------------------------------------------------- */

static int64_t real_bits(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double real_value(int64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* An integer, bool or enum argument as i64; 0: it does not fit. */
static int scalar_value(const struct tile_rt_call *call, unsigned index, int64_t *value)
{
    const struct tile_rt_parameter *parameter = &call->kernel->parameters[index];
    const void *argument = call->arguments[index];
    if (parameter->kind == TILE_RT_PARAMETER_enum) {
        *value = *(const int *)argument;
        return 1;
    }
    switch (parameter->type) {
    case TILE_RT_TYPE_i64: *value = *(const int64_t *)argument; return 1;
    case TILE_RT_TYPE_u64: *value = (int64_t)*(const uint64_t *)argument; return *value >= 0;
    case TILE_RT_TYPE_u8:
    case TILE_RT_TYPE_u16:
    case TILE_RT_TYPE_u32: *value = *(const uint32_t *)argument; return 1;
    default: *value = *(const int32_t *)argument; return 1;
    }
}

/* A float argument as the kernel gets it. */
static double float_value(const struct tile_rt_call *call, unsigned index)
{
    const void *argument = call->arguments[index];
    switch (call->kernel->parameters[index].type) {
    case TILE_RT_TYPE_f64: return *(const double *)argument;
    case TILE_RT_TYPE_f16: return (double)tile_f16_to_float(tile_f16_from_float(*(const float *)argument));
    case TILE_RT_TYPE_bf16: return (double)tile_bf16_to_float(tile_bf16_from_float(*(const float *)argument));
    case TILE_RT_TYPE_f8e4m3: return (double)tile_f8e4m3_to_float(tile_f8e4m3_from_float(*(const float *)argument));
    case TILE_RT_TYPE_f8e5m2: return (double)tile_f8e5m2_to_float(tile_f8e5m2_from_float(*(const float *)argument));
    default: return (double)*(const float *)argument;
    }
}

/* What needs neither the call nor a jump.  b is the top of the stack, a below it; 0: overflow. */
static int evaluate_pure(unsigned opcode, int64_t a, int64_t b, int64_t *result)
{
    switch (opcode) {
    case TILE_RT_OP_add: return !__builtin_add_overflow(a, b, result);
    case TILE_RT_OP_subtract: return !__builtin_sub_overflow(a, b, result);
    case TILE_RT_OP_multiply: return !__builtin_mul_overflow(a, b, result);
    case TILE_RT_OP_divide:
        if (a == INT64_MIN && b == -1)
            return 0;
        *result = b == 0 ? 0 : a / b;
        return 1;
    case TILE_RT_OP_remainder: *result = b == 0 ? a : b == -1 ? 0 : a % b; return 1;
    case TILE_RT_OP_ceiling_divide:
        if (a == INT64_MIN && b == -1)
            return 0;
        *result = b == 0 ? 0 : a / b + (a % b != 0 && (a % b < 0) == (b < 0));
        return 1;
    case TILE_RT_OP_minimum: *result = a < b ? a : b; return 1;
    case TILE_RT_OP_maximum: *result = a > b ? a : b; return 1;
    case TILE_RT_OP_negate: return !__builtin_sub_overflow((int64_t)0, b, result);
    case TILE_RT_OP_absolute: *result = b; return b >= 0 || !__builtin_sub_overflow((int64_t)0, b, result);
    case TILE_RT_OP_log2: *result = b <= 0 ? -1 : 63 - __builtin_clzll((unsigned long long)b); return 1;
    case TILE_RT_OP_shift_left:
        *result = b < 0 || b > 63 ? 0 : (int64_t)((uint64_t)a << b);
        return a == 0 || (b >= 0 && b <= 63 && *result >> b == a);
    case TILE_RT_OP_shift_right: *result = b < 0 || b > 63 ? -(int64_t)(a < 0) : a >> b; return 1;
    case TILE_RT_OP_bit_and: *result = a & b; return 1;
    case TILE_RT_OP_bit_or: *result = a | b; return 1;
    case TILE_RT_OP_bit_xor: *result = a ^ b; return 1;
    case TILE_RT_OP_bit_not: *result = ~b; return 1;
    case TILE_RT_OP_equal: *result = a == b; return 1;
    case TILE_RT_OP_less: *result = a < b; return 1;
    case TILE_RT_OP_less_equal: *result = a <= b; return 1;
    case TILE_RT_OP_real_equal: *result = real_value(a) == real_value(b); return 1;
    case TILE_RT_OP_real_less: *result = real_value(a) < real_value(b); return 1;
    case TILE_RT_OP_real_less_equal: *result = real_value(a) <= real_value(b); return 1;
    case TILE_RT_OP_real_from_integer: *result = real_bits((double)b); return 1;
    case TILE_RT_OP_real_negate: *result = real_bits(-real_value(b)); return 1;
    case TILE_RT_OP_not: *result = !b; return 1;
    default: return 0;
    }
}

static const uint8_t cells_taken[] = {
#define X(name, takes, gives, text) takes,
    TILE_RT_OPCODES(X)
#undef X
};

/* The result, or why there is none. */
enum { EVALUATE_OVERFLOW, EVALUATE_GOOD, EVALUATE_TURNS, EVALUATE_MEMORY };

/* Nearly all code has a few cells, if any. */
enum { FEW_CELLS = 16 };

/* `large` gets the memory that cells beyond the few need. */
static int evaluate_within(const struct tile_rt_call *call, int32_t code, int64_t *value, int64_t **large)
{
    const int32_t *word = call->kernel->code + code;
    int64_t few[FEW_CELLS], *kept = few;
    int32_t turns = 0;
    int64_t stack[TILE_RT_MAX_STACK + 2];
    int64_t *top = stack + 1; /* [0] and [1] stay unused, so that reading a cell below the top is always inside */
    stack[0] = stack[1] = 0;
    for (;;) {
        int32_t operand = *word >> 8;
        unsigned opcode = (unsigned)*word++ & 0xff, index = (unsigned)operand / 16, dimension = (unsigned)operand % 16;
        switch (opcode) {
        case TILE_RT_OP_end: *value = *top; return EVALUATE_GOOD;
        case TILE_RT_OP_constant: *++top = operand; break;
        case TILE_RT_OP_wide:
            *++top = (int64_t)((uint64_t)(uint32_t)word[0] | (uint64_t)(uint32_t)word[1] << 32);
            word += 2;
            break;
        case TILE_RT_OP_name: *++top = call->names[operand]; break;
        case TILE_RT_OP_extent: *++top = (int64_t)view_of(call, index)[1 + dimension]; break;
        case TILE_RT_OP_stride:
            *++top = (int64_t)view_of(call, index)[1 + call->kernel->parameters[index].rank + dimension];
            break;
        case TILE_RT_OP_present: *++top = is_present(call, (unsigned)operand); break;
        case TILE_RT_OP_scalar:
            if (!scalar_value(call, (unsigned)operand, ++top))
                return EVALUATE_OVERFLOW;
            break;
        case TILE_RT_OP_real: *++top = real_bits(float_value(call, (unsigned)operand)); break;
        case TILE_RT_OP_sm_count: *++top = call->sm_count; break;
        case TILE_RT_OP_aligned: *++top = (view_of(call, index)[0] & (((uint64_t)1 << dimension) - 1)) == 0; break;
        case TILE_RT_OP_jump: word += operand; break;
        case TILE_RT_OP_jump_if_false:
            if (!*top--)
                word += operand;
            break;
        case TILE_RT_OP_drop: top--; break;
        case TILE_RT_OP_copy:
            top[1] = top[0];
            top++;
            break;
        case TILE_RT_OP_load: *++top = kept[operand]; break;
        case TILE_RT_OP_keep:
            if (operand >= FEW_CELLS && kept == few) {
                *large = malloc(TILE_RT_MAX_CELLS * sizeof **large);
                if (*large == NULL)
                    return EVALUATE_MEMORY;
                kept = memcpy(*large, few, sizeof few);
            }
            kept[operand] = *top--;
            break;
        case TILE_RT_OP_turn:
            if (++turns > TILE_RT_MAX_TURNS)
                return EVALUATE_TURNS;
            word -= 1 + operand;
            break;
        default: {
            int64_t result;
            if (!evaluate_pure(opcode, top[-1], top[0], &result))
                return EVALUATE_OVERFLOW;
            top -= cells_taken[opcode] - 1;
            *top = result;
        }
        }
    }
}

/* Not inlined: its stack would be that of all callers at once. */
__attribute__((noinline)) static int evaluate_all(const struct tile_rt_call *call, int32_t code, int64_t *value)
{
    int64_t *large = NULL;
    int how = evaluate_within(call, code, value, &large);
    if (__builtin_expect(large != NULL, 0))
        free(large);
    return how;
}

/* 1: *value is the result; 0: there is none. */
static int evaluate(const struct tile_rt_call *call, int32_t code, int64_t *value)
{
    return evaluate_all(call, code, value) == EVALUATE_GOOD;
}

TILE_RT_COLD static int fail_overflow(const struct tile_rt_call *call, const char *text)
{
    return tile_rt_fail(TILE_ERR_ARG, "%s: %s does not fit 64 bits for these arguments", call->kernel->name, text);
}

/* Why the code has no value: found by evaluating it once more. */
TILE_RT_COLD static int fail_value(const struct tile_rt_call *call, int32_t code, const char *text)
{
    int64_t value;
    int how = evaluate_all(call, code, &value);
    if (how == EVALUATE_MEMORY)
        return tile_rt_fail(TILE_ERR_OOM, "%s: no memory to compute %s", call->kernel->name, text);
    if (how != EVALUATE_TURNS)
        return fail_overflow(call, text);
    return tile_rt_fail(TILE_ERR_ARG, "%s: %s takes more than %d turns of its loops for these arguments",
                        call->kernel->name, text, TILE_RT_MAX_TURNS);
}

/* ---- each argument by itself ------------------------------------------------------------------------------------ */

TILE_RT_COLD static int fail_view(const struct tile_rt_call *call, unsigned index, unsigned dimension, const char *what,
                                  int64_t value)
{
    return tile_rt_fail(TILE_ERR_ARG, "%s: %s of dimension %u of view %s is %lld", call->kernel->name, what, dimension,
                        call->kernel->parameters[index].name, (long long)value);
}

static int check_strides(const struct tile_rt_call *call, unsigned index, const int64_t *extent, const int64_t *stride)
{
    const struct tile_rt_parameter *parameter = &call->kernel->parameters[index];
    unsigned rank = parameter->rank, d;
    int64_t packed = 1;
    for (d = 0; d < rank; d++)
        if (stride[d] < 0)
            return fail_view(call, index, d, "a stride must not be negative; the stride", stride[d]);
    if (parameter->flags & TILE_RT_PACKED) {
        for (d = rank; d-- > 0;) {
            if (extent[d] > 1 && stride[d] != packed)
                return fail_view(call, index, d, "the view must be packed; the stride", stride[d]);
            if (__builtin_mul_overflow(packed, extent[d] > 0 ? extent[d] : 1, &packed))
                return fail_view(call, index, d, "the view is larger than memory; the extent", extent[d]);
        }
    } else if (!(parameter->flags & TILE_RT_STRIDED) && extent[rank - 1] > 1 && stride[rank - 1] != 1) {
        return fail_view(call, index, rank - 1,
                         "the last stride must be 1 where a view is not declared `strided`; the stride",
                         stride[rank - 1]);
    }
    return TILE_OK;
}

static int check_view(struct tile_rt_call *call, unsigned index, uint64_t *slot)
{
    const struct tile_rt_parameter *parameter = &call->kernel->parameters[index];
    unsigned rank = parameter->rank, size = type_size[parameter->type], d;
    const void *argument = call->arguments[index];
    int64_t copy[2 * TILE_RT_MAX_RANK];
    const int64_t *extent = copy, *stride = copy + rank;
    int empty = 0, status;
    if (argument == NULL) {
        memset(slot, 0, (1 + 2 * (size_t)rank) * sizeof *slot);
        if (parameter->flags & TILE_RT_OPTIONAL)
            return TILE_OK;
        return tile_rt_fail(TILE_ERR_ARG, "%s: view %s is NULL", call->kernel->name, parameter->name);
    }
    memcpy(slot, argument, (1 + 2 * (size_t)rank) * sizeof *slot);
    memcpy(copy, slot + 1, 2 * (size_t)rank * sizeof *slot);
    for (d = 0; d < rank; d++) {
        if (extent[d] < 0)
            return fail_view(call, index, d,
                             extent[d] == -1
                                 ? "an extent must not be negative, and tile::view makes it -1 where memory "
                                   "has fewer elements than its extents need; the extent"
                                 : "an extent must not be negative; the extent",
                             extent[d]);
        if (extent[d] >= EXTENT_LIMIT && !(parameter->flags & TILE_RT_HUGE))
            return fail_view(call, index, d, "an extent must be below 2^31 unless `huge`; the extent", extent[d]);
        empty |= extent[d] == 0;
    }
    if (empty)
        return TILE_OK;
    status = check_strides(call, index, extent, stride);
    if (status != TILE_OK)
        return status;
    if (slot[0] == 0)
        return tile_rt_fail(TILE_ERR_ARG, "%s: data of view %s is NULL", call->kernel->name, parameter->name);
    if (slot[0] % size != 0)
        return tile_rt_fail(TILE_ERR_ARG, "%s: data of view %s is not aligned to its elements of %u bytes",
                            call->kernel->name, parameter->name, size);
    if ((parameter->direction & TILE_RT_OUT) && tile_rt_view_overlaps_itself(slot, rank))
        return tile_rt_fail(TILE_ERR_ALIAS,
                            "%s: view %s is written and overlaps itself: a stride is less than what the "
                            "smaller dimensions cover",
                            call->kernel->name, parameter->name);
    return TILE_OK;
}

TILE_RT_COLD static int fail_scalar(const struct tile_rt_call *call, unsigned index, int64_t value, int64_t low,
                                    int64_t high)
{
    return tile_rt_fail(TILE_ERR_ARG, "%s: %s is %lld, outside %lld to %lld", call->kernel->name,
                        call->kernel->parameters[index].name, (long long)value, (long long)low, (long long)high);
}

static int check_scalar(struct tile_rt_call *call, unsigned index, uint64_t *slot)
{
    const struct tile_rt_parameter *parameter = &call->kernel->parameters[index];
    const void *argument = call->arguments[index];
    int64_t value = 0, low, high;
    unsigned bits = 8u * type_size[parameter->type];
    uint32_t word;
    switch (parameter->type) {
    case TILE_RT_TYPE_i64:
    case TILE_RT_TYPE_u64:
    case TILE_RT_TYPE_f64: memcpy(slot, argument, 8); return TILE_OK;
    case TILE_RT_TYPE_i32:
    case TILE_RT_TYPE_u32:
    case TILE_RT_TYPE_f32:
        memcpy(&word, argument, 4);
        *slot = word;
        return TILE_OK;
    case TILE_RT_TYPE_f16: *slot = tile_f16_from_float(*(const float *)argument); return TILE_OK;
    case TILE_RT_TYPE_bf16: *slot = tile_bf16_from_float(*(const float *)argument); return TILE_OK;
    case TILE_RT_TYPE_f8e4m3: *slot = tile_f8e4m3_from_float(*(const float *)argument); return TILE_OK;
    case TILE_RT_TYPE_f8e5m2: *slot = tile_f8e5m2_from_float(*(const float *)argument); return TILE_OK;
    case TILE_RT_TYPE_bool: low = 0, high = 1; break;
    case TILE_RT_TYPE_u8:
    case TILE_RT_TYPE_u16: low = 0, high = ((int64_t)1 << bits) - 1; break;
    default: low = -((int64_t)1 << (bits - 1)), high = ((int64_t)1 << (bits - 1)) - 1; break;
    }
    scalar_value(call, index, &value);
    if (value < low || value > high)
        return fail_scalar(call, index, value, low, high);
    *slot = (uint64_t)value & (((uint64_t)1 << bits) - 1);
    return TILE_OK;
}

static int is_member(const struct tile_rt_parameter *parameter, int value)
{
    int i;
    for (i = 0; i < parameter->members; i++)
        if (parameter->values[i] == value)
            return 1;
    return 0;
}

static int collect_arguments(struct tile_rt_call *call)
{
    const struct tile_rt_kernel *kernel = call->kernel;
    uint64_t *slot = call->slots;
    unsigned i;
    for (i = 0; i < kernel->parameter_count; i++) {
        const struct tile_rt_parameter *parameter = &kernel->parameters[i];
        int status = TILE_OK;
        call->first_slot[i] = (uint16_t)(slot - call->slots);
        switch (parameter->kind) {
        case TILE_RT_PARAMETER_view:
            status = check_view(call, i, slot);
            slot += 1 + 2 * parameter->rank;
            break;
        case TILE_RT_PARAMETER_scalar: status = check_scalar(call, i, slot++); break;
        case TILE_RT_PARAMETER_pointer:
            *slot = (uint64_t)(uintptr_t)*(const void *const *)call->arguments[i];
            if (*slot % type_size[parameter->type] != 0)
                status = tile_rt_fail(TILE_ERR_ARG, "%s: pointer %s is not aligned to its elements of %u bytes",
                                      kernel->name, parameter->name, type_size[parameter->type]);
            slot++;
            break;
        case TILE_RT_PARAMETER_enum: {
            int value = *(const int *)call->arguments[i];
            if (!is_member(parameter, value))
                status = tile_rt_fail(TILE_ERR_ARG, "%s: %s is %d, which is no member of its enum", kernel->name,
                                      parameter->name, value);
            *slot++ = (uint32_t)value;
            break;
        }
        case TILE_RT_PARAMETER_struct:
            if (call->arguments[i] == NULL)
                status = tile_rt_fail(TILE_ERR_ARG, "%s: struct %s is NULL", kernel->name, parameter->name);
            break;
        default: break;
        }
        if (status != TILE_OK)
            return status;
    }
    return TILE_OK;
}

static unsigned is_halved(const struct tile_rt_parameter *parameter, unsigned dimension)
{
    return (parameter->flags & TILE_RT_NIBBLES) != 0 && dimension == parameter->rank - 1u;
}

/* In elements, of which a view may hold two a byte; what does not fit is no extent that any view has. */
static int64_t elements_of(const struct tile_rt_call *call, unsigned index, unsigned dimension)
{
    const struct tile_rt_parameter *parameter = &call->kernel->parameters[index];
    int64_t extent = (int64_t)view_of(call, index)[1 + dimension];
    if (is_halved(parameter, dimension))
        return extent > INT64_MAX / 2 ? INT64_MAX : 2 * extent;
    return extent;
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

/* The value that the first binder whose view is there tells; *found says whether there is one. */
static int bind_name(const struct tile_rt_call *call, const struct tile_rt_name *name, int64_t *value, int *found)
{
    uint32_t i;
    *value = 0;
    *found = 0;
    for (i = 0; i < name->binder_count; i++) {
        const struct tile_rt_binder *binder = &name->binders[i];
        int64_t extent, rest;
        if (!is_present(call, binder->parameter))
            continue;
        extent = elements_of(call, binder->parameter, binder->dimension);
        *found = 1;
        if (__builtin_sub_overflow(extent, binder->addend, &rest))
            return fail_overflow(call, name->text);
        if (binder->multiplier != 1) {
            if (binder->multiplier == 0 || rest % binder->multiplier != 0) {
                const char *view = call->kernel->parameters[binder->parameter].name;
                if (binder->addend == 0)
                    return tile_rt_fail(TILE_ERR_ARG, "%s: extent %u of %s is %lld, but it must be a multiple of %lld",
                                        call->kernel->name, binder->dimension, view, (long long)extent,
                                        (long long)binder->multiplier);
                return tile_rt_fail(TILE_ERR_ARG, "%s: extent %u of %s is %lld, but it must be %lld*%s%+lld",
                                    call->kernel->name, binder->dimension, view, (long long)extent,
                                    (long long)binder->multiplier, name->text, (long long)binder->addend);
            }
            rest /= binder->multiplier;
        }
        if (rest < 0)
            return tile_rt_fail(TILE_ERR_ARG, "%s: extent %u of %s is %lld, which makes %s negative (%lld)",
                                call->kernel->name, binder->dimension, call->kernel->parameters[binder->parameter].name,
                                (long long)extent, name->text, (long long)rest);
        *value = rest;
        return TILE_OK;
    }
    return TILE_OK;
}

/* There is one for each combination of values that the keys before it can have. */
static const struct tile_rt_set *find_set(const struct tile_rt_call *call, const struct tile_rt_name *name)
{
    uint64_t last = name->set_count - 1, i;
    int64_t holds;
    for (i = 0; i < last; i++)
        if (name->sets[i].condition < 0 || (evaluate(call, name->sets[i].condition, &holds) && holds))
            break;
    return &name->sets[i];
}

static int check_member(const struct tile_rt_call *call, const struct tile_rt_name *name, int64_t value)
{
    const struct tile_rt_set *set = find_set(call, name);
    uint32_t i;
    for (i = 0; i < set->count; i++)
        if (set->members[i] == value)
            return TILE_OK;
    return tile_rt_fail(TILE_ERR_ARG, "%s: %s is %lld, which is not in %s", call->kernel->name, name->text,
                        (long long)value, set->text);
}

/* Whether the source writes a number there, perhaps in brackets, whose value would say the same again. */
static int is_number(const char *text)
{
    size_t digits;
    text += strspn(text, "(-");
    digits = strspn(text, "0123456789");
    return digits && text[digits + strspn(text + digits, ")")] == 0;
}

TILE_RT_COLD static int fail_set(const struct tile_rt_call *call, const struct tile_rt_name *name,
                                 const struct tile_rt_set *set, int64_t bound)
{
    if (is_number(name->bound.text))
        return tile_rt_fail(TILE_ERR_ARG, "%s: no member of %s: %s is at least %s", call->kernel->name, name->text,
                            set->text, name->bound.text);
    return tile_rt_fail(TILE_ERR_ARG, "%s: no member of %s: %s is at least %s, which is %lld", call->kernel->name,
                        name->text, set->text, name->bound.text, (long long)bound);
}

static int derive_name(const struct tile_rt_call *call, const struct tile_rt_name *name, int64_t *value)
{
    const struct tile_rt_set *set = find_set(call, name);
    int64_t bound;
    uint32_t i;
    int found = 0;
    if (!evaluate(call, name->bound.code, &bound))
        return fail_value(call, name->bound.code, name->bound.text);
    for (i = 0; i < set->count; i++)
        if (set->members[i] >= bound && (!found || set->members[i] < *value)) {
            *value = set->members[i];
            found = 1;
        }
    if (found)
        return TILE_OK;
    return fail_set(call, name, set, bound);
}

static int bind_names(struct tile_rt_call *call)
{
    const struct tile_rt_kernel *kernel = call->kernel;
    unsigned i;
    int status, found;
    for (i = 0; i < kernel->parameter_count; i++)
        if (kernel->parameters[i].kind == TILE_RT_PARAMETER_key)
            call->names[kernel->parameters[i].name_index] = *(const int *)call->arguments[i];
    for (i = 0; i < kernel->name_count; i++) {
        const struct tile_rt_name *name = &kernel->names[i];
        int64_t *value = &call->names[i];
        switch (name->kind) {
        case TILE_RT_NAME_extent: status = bind_name(call, name, value, &found); break;
        case TILE_RT_NAME_key:
            status = name->binder_count == 0 ? TILE_OK : bind_name(call, name, value, &found);
            if (status == TILE_OK)
                status = check_member(call, name, *value);
            break;
        default: status = derive_name(call, name, value); break;
        }
        if (status != TILE_OK)
            return status;
    }
    return TILE_OK;
}

/* ---- between arguments ------------------------------------------------------------------------------------------ */

TILE_RT_COLD static int fail_extent(const struct tile_rt_call *call, unsigned index, unsigned dimension,
                                    int64_t expected)
{
    const struct tile_rt_parameter *parameter = &call->kernel->parameters[index];
    const char *text = parameter->extents[dimension].text;
    int64_t given = (int64_t)view_of(call, index)[1 + dimension];
    const char *unit = is_halved(parameter, dimension) ? " bytes of two elements" : "";
    if (is_number(text))
        return tile_rt_fail(TILE_ERR_ARG, "%s: extent %u of %s is %lld%s, but it must be %lld", call->kernel->name,
                            dimension, parameter->name, (long long)given, unit, (long long)expected);
    return tile_rt_fail(TILE_ERR_ARG, "%s: extent %u of %s is %lld%s, but %s is %lld", call->kernel->name, dimension,
                        parameter->name, (long long)given, unit, text, (long long)expected);
}

/* Extents against their declarations; an absent view gets the declared ones. */
static int check_extents(struct tile_rt_call *call)
{
    const struct tile_rt_kernel *kernel = call->kernel;
    unsigned i, d;
    for (i = 0; i < kernel->parameter_count; i++) {
        const struct tile_rt_parameter *parameter = &kernel->parameters[i];
        uint64_t *view = &call->slots[call->first_slot[i]];
        if (parameter->kind != TILE_RT_PARAMETER_view)
            continue;
        for (d = 0; d < parameter->rank; d++) {
            int32_t code = parameter->extents[d].code;
            int64_t expected;
            if (code < 0)
                continue;
            if ((kernel->code[code] & 0xff) == TILE_RT_OP_name && kernel->code[code + 1] == TILE_RT_OP_end)
                expected = call->names[kernel->code[code] >> 8];
            else if (!evaluate(call, code, &expected))
                return fail_value(call, code, parameter->extents[d].text);
            if (call->arguments[i] == NULL)
                view[1 + d] = (uint64_t)(expected > 0 ? expected : 0) >> is_halved(parameter, d);
            else if (elements_of(call, i, d) != expected)
                return fail_extent(call, i, d, expected);
        }
    }
    return TILE_OK;
}

static int check_requirements(const struct tile_rt_call *call)
{
    const struct tile_rt_kernel *kernel = call->kernel;
    unsigned i;
    for (i = 0; i < kernel->check_count; i++) {
        int64_t holds;
        if (!evaluate(call, kernel->checks[i].code, &holds))
            return fail_value(call, kernel->checks[i].code, kernel->checks[i].text);
        if (!holds)
            return tile_rt_fail(TILE_ERR_ARG, "%s: requires(%s) does not hold", kernel->name, kernel->checks[i].text);
    }
    return TILE_OK;
}

static int is_same_view(const struct tile_rt_call *call, unsigned a, unsigned b)
{
    const struct tile_rt_parameter *parameters = call->kernel->parameters;
    unsigned rank = parameters[a].rank;
    return rank == parameters[b].rank && type_size[parameters[a].type] == type_size[parameters[b].type] &&
           memcmp(view_of(call, a), view_of(call, b), (1 + 2 * (size_t)rank) * sizeof(uint64_t)) == 0;
}

static int may_be_same(const struct tile_rt_kernel *kernel, unsigned a, unsigned b)
{
    unsigned i;
    for (i = 0; i < kernel->alias_count; i++)
        if ((kernel->aliases[i].first == a && kernel->aliases[i].second == b) ||
            (kernel->aliases[i].first == b && kernel->aliases[i].second == a))
            return 1;
    return 0;
}

/* The clause `alias` helps where both arguments are one view. */
static int fail_overlap(const struct tile_rt_call *call, unsigned a, unsigned b, int allowed)
{
    const char *first = call->kernel->parameters[a].name, *second = call->kernel->parameters[b].name;
    if (allowed)
        return tile_rt_fail(TILE_ERR_ALIAS, "%s: views %s and %s overlap but are not the same view", call->kernel->name,
                            first, second);
    if (!is_same_view(call, a, b))
        return tile_rt_fail(TILE_ERR_ALIAS, "%s: views %s and %s share elements", call->kernel->name, first, second);
    return tile_rt_fail(
        TILE_ERR_ALIAS,
        "%s: views %s and %s share elements; a kernel with the clause alias(%s, %s) takes one view as both",
        call->kernel->name, first, second, first, second);
}

static int check_overlap(const struct tile_rt_call *call)
{
    const struct tile_rt_kernel *kernel = call->kernel;
    const struct tile_rt_parameter *parameters = kernel->parameters;
    struct tile_rt_range *ranges = call->ranges;
    unsigned i, j;
    for (i = 0; i < kernel->parameter_count; i++) {
        ranges[i].low = ranges[i].high = 0;
        if (parameters[i].kind != TILE_RT_PARAMETER_view || call->arguments[i] == NULL)
            continue;
        if (!tile_rt_view_range(view_of(call, i), parameters[i].rank, type_size[parameters[i].type], &ranges[i]))
            return tile_rt_fail(TILE_ERR_ARG, "%s: view %s is larger than memory", kernel->name, parameters[i].name);
        for (j = 0; j < i; j++) {
            int allowed;
            if (ranges[i].low >= ranges[j].high || ranges[j].low >= ranges[i].high ||
                ((parameters[i].direction | parameters[j].direction) & TILE_RT_OUT) == 0)
                continue;
            allowed = may_be_same(kernel, i, j);
            if (allowed && is_same_view(call, i, j))
                continue;
            if (tile_rt_views_overlap(view_of(call, i), parameters[i].rank, type_size[parameters[i].type],
                                      view_of(call, j), parameters[j].rank, type_size[parameters[j].type]))
                return fail_overlap(call, j, i, allowed);
        }
    }
    return TILE_OK;
}

/* Memory for slots, grid, names and ranges. */
static int take_room(struct tile_rt_call *call)
{
    const struct tile_rt_kernel *kernel = call->kernel;
    size_t slots = kernel->slot_count + kernel->grid_rank + 1, names = kernel->name_count;
    size_t words = slots + names + kernel->parameter_count * sizeof *call->ranges / sizeof *call->slots;
    call->slots = call->few;
    if (words > TILE_RT_FEW_WORDS) {
        call->slots = call->large = malloc(words * sizeof *call->slots);
        if (call->large == NULL)
            return tile_rt_fail(TILE_ERR_OOM, "%s: no memory for its arguments", kernel->name);
    }
    call->names = (int64_t *)call->slots + slots;
    call->ranges = (struct tile_rt_range *)(call->names + names);
    return TILE_OK;
}

int tile_rt_check_arguments(struct tile_rt_call *call)
{
    const struct tile_rt_kernel *kernel = call->kernel;
    int status;
    if (kernel->parameter_count > TILE_RT_MAX_PARAMETERS || kernel->name_count > TILE_RT_MAX_NAMES ||
        kernel->slot_count > TILE_RT_MAX_SLOTS || kernel->grid_rank > TILE_RT_MAX_GRID)
        return tile_rt_fail(TILE_ERR_ABI, "%s: more parameters, names or grid dimensions than this run time takes",
                            kernel->name);
    status = take_room(call);
    if (status == TILE_OK)
        status = collect_arguments(call);
    if (status == TILE_OK)
        status = bind_names(call);
    if (status == TILE_OK)
        status = check_extents(call);
    if (status == TILE_OK)
        status = check_requirements(call);
    if (status == TILE_OK)
        status = check_overlap(call);
    return status;
}

/* ---- variants --------------------------------------------------------------------------------------------------- */

/* A fact that overflows does not hold. */
static int fact_holds(struct tile_rt_call *call, unsigned number)
{
    const struct tile_rt_expression *fact = &call->kernel->facts[number];
    int64_t holds;
    if (fact->choice != 0 && fact->choice != TILE_RT_CHOICE_CODE)
        return tile_rt_choice_holds(call, number);
    return evaluate(call, fact->code, &holds) && holds;
}

static int facts_hold(struct tile_rt_call *call, uint64_t mask)
{
    const struct tile_rt_kernel *kernel = call->kernel;
    uint64_t unknown = mask & ~call->facts_known;
    while (unknown != 0) {
        unsigned i = (unsigned)__builtin_ctzll(unknown);
        uint64_t bit = (uint64_t)1 << i;
        call->facts_known |= bit;
        if ((call->any_choice && kernel->facts[i].choice) || fact_holds(call, i))
            call->facts_true |= bit;
        else
            return 0;
        unknown &= ~bit;
    }
    return (mask & ~call->facts_true) == 0;
}

static int variant_fits(struct tile_rt_call *call, const struct tile_rt_variant *variant)
{
    const struct tile_rt_kernel *kernel = call->kernel;
    unsigned i;
    for (i = 0; i < kernel->key_count; i++)
        if (variant->keys[i] != call->names[kernel->keys[i]])
            return 0;
    return facts_hold(call, variant->facts) && (variant->map_count == 0 || tile_rt_make_maps(call, variant));
}

TILE_RT_COLD static int fail_no_variant(const struct tile_rt_call *call)
{
    const struct tile_rt_kernel *kernel = call->kernel;
    char keys[200] = "";
    size_t used = 0;
    unsigned i;
    if (call->refused != NULL)
        return tile_rt_fail(TILE_ERR_NO_IMAGE,
                            "%s: no code for %s fits these arguments without a tensor map of %s, and %s", kernel->name,
                            call->target->name, kernel->parameters[call->refused->parameter].name, call->refusal);
    for (i = 0; i < kernel->key_count; i++)
        used = tile_rt_append(keys, sizeof keys, used, "%s%s=%lld", i ? ", " : "", kernel->names[kernel->keys[i]].text,
                              (long long)call->names[kernel->keys[i]]);
    if (kernel->key_count == 0)
        return tile_rt_fail(TILE_ERR_NO_IMAGE, "%s: no code for %s fits these arguments", kernel->name,
                            call->target->name);
    return tile_rt_fail(TILE_ERR_NO_IMAGE, "%s: the object holds no code for %s with %s that fits these arguments",
                        kernel->name, call->target->name, keys);
}

/* TILE_FORCE_VARIANT=kernel:number.  Other kernels are left alone. */
TILE_RT_COLD static int forced_variant(struct tile_rt_call *call, const char *setting, int *forced)
{
    const char *colon = strrchr(setting, ':'), *digit;
    size_t length = colon ? (size_t)(colon - setting) : 0;
    uint32_t number = 0;
    *forced = 0;
    if (colon == NULL || colon[1] == 0)
        return tile_rt_fail(TILE_ERR_ENVIRONMENT, "TILE_FORCE_VARIANT=%s is not of the form kernel:number", setting);
    if (strlen(call->kernel->name) != length || memcmp(setting, call->kernel->name, length) != 0)
        return TILE_OK;
    for (digit = colon + 1; *digit; digit++) {
        if (*digit < '0' || *digit > '9' || number > 100000)
            return tile_rt_fail(TILE_ERR_ENVIRONMENT, "TILE_FORCE_VARIANT=%s is not of the form kernel:number",
                                setting);
        number = 10 * number + (uint32_t)(*digit - '0');
    }
    if (number >= call->target->variant_count)
        return tile_rt_fail(TILE_ERR_ENVIRONMENT, "TILE_FORCE_VARIANT=%s: %s has %u variants for %s", setting,
                            call->kernel->name, (unsigned)call->target->variant_count, call->target->name);
    call->take_empty = call->any_choice = 1;
    if (!variant_fits(call, &call->target->variants[number]))
        return tile_rt_fail(TILE_ERR_ENVIRONMENT, "TILE_FORCE_VARIANT=%s: that variant does not fit these arguments",
                            setting);
    call->variant = &call->target->variants[number];
    call->variant_index = number;
    *forced = 1;
    return TILE_OK;
}

/* The views of the kernel's scratch: where each begins in the workspace, its extents and strides. */
static int compute_scratch(struct tile_rt_call *call)
{
    const struct tile_rt_kernel *kernel = call->kernel;
    const int32_t *code = call->variant->scratch;
    size_t used = 0;
    unsigned i, d;
    for (i = 0; i < kernel->scratch_count; i++) {
        const struct tile_rt_scratch *scratch = &kernel->scratch[i];
        uint64_t *view = call->slots + scratch->slot;
        size_t size = type_size[scratch->type], rounded;
        view[0] = used;
        for (d = 0; d < scratch->rank; d++, code++) {
            int64_t extent;
            if (!evaluate(call, *code, &extent))
                return fail_value(call, *code, "an extent of `scratch`");
            if (extent < 0 || extent > INT32_MAX)
                return tile_rt_fail(TILE_ERR_ARG, "%s: extent %u of scratch %s would be %lld", kernel->name, d,
                                    scratch->name, (long long)extent);
            view[1 + d] = (uint64_t)extent;
        }
        for (d = scratch->rank; d-- > 0;) {
            view[1 + scratch->rank + d] = size / type_size[scratch->type];
            if (__builtin_mul_overflow(size, (size_t)view[1 + d], &size) || size > SIZE_MAX / 4)
                return tile_rt_fail(TILE_ERR_ARG, "%s: scratch %s would be too large", kernel->name, scratch->name);
        }
        rounded = (size + TILE_RT_WORKSPACE_ALIGNMENT - 1) / TILE_RT_WORKSPACE_ALIGNMENT * TILE_RT_WORKSPACE_ALIGNMENT;
        if (__builtin_add_overflow(used, rounded, &used) || used > SIZE_MAX / 4)
            return tile_rt_fail(TILE_ERR_ARG, "%s: its scratch would be too large", kernel->name);
    }
    call->workspace_bytes = used;
    return TILE_OK;
}

static int compute_grid(struct tile_rt_call *call)
{
    const struct tile_rt_kernel *kernel = call->kernel;
    uint64_t *slot = call->slots + kernel->slot_count;
    int empty = 0;
    unsigned i;
    call->programs = 1;
    for (i = 0; i < kernel->grid_rank; i++) {
        int64_t count;
        if (!evaluate(call, call->variant->grid[i], &count))
            return fail_value(call, call->variant->grid[i], "the grid");
        if (count <= 0) {
            count = 0;
            empty = 1;
        }
        *slot++ = (uint64_t)count;
        if (!empty && __builtin_mul_overflow(call->programs, count, &call->programs))
            return fail_overflow(call, "the product of the grid");
    }
    if (empty)
        call->programs = 0;
    *slot = 0;
    return kernel->scratch_count != 0 && call->programs != 0 ? compute_scratch(call) : TILE_OK;
}

TILE_RT_COLD static int fail_variant(const struct tile_rt_call *call, int number)
{
    const struct tile_rt_target *target = call->target;
    const struct tile_rt_kernel *kernel = call->kernel;
    char keys[200] = "";
    size_t used = 0;
    unsigned i;
    if (number < 0 || (uint32_t)number >= target->variant_count)
        return tile_rt_fail(TILE_ERR_ARG, "%s: there is no variant %d: it has %u for %s, counted from 0", kernel->name,
                            number, (unsigned)target->variant_count, target->name);
    for (i = 0; i < kernel->key_count; i++)
        if (target->variants[number].keys[i] != call->names[kernel->keys[i]])
            used = tile_rt_append(keys, sizeof keys, used, "%s%s is %lld and not %lld", used ? ", " : ": ",
                                  kernel->names[kernel->keys[i]].text, (long long)call->names[kernel->keys[i]],
                                  (long long)target->variants[number].keys[i]);
    return tile_rt_fail(TILE_ERR_ARG, "%s: variant %d for %s, %s, does not fit these arguments%s", kernel->name, number,
                        target->name, target->variants[number].text[0] ? target->variants[number].text : "general",
                        keys);
}

/* TILE_FORCE_VARIANT is for calls that do not say it themselves. */
int tile_rt_take_variant(struct tile_rt_call *call, int number)
{
    const struct tile_rt_target *target = call->target;
    call->take_empty = call->any_choice = 1;
    if (number < 0 || (uint32_t)number >= target->variant_count || !variant_fits(call, &target->variants[number]))
        return fail_variant(call, number);
    call->variant = &target->variants[number];
    call->variant_index = (uint32_t)number;
    return compute_grid(call);
}

/* The first that fits.  Views without elements are left to code without maps as long as there is some. */
static int find_variant(struct tile_rt_call *call)
{
    const struct tile_rt_target *target = call->target;
    uint32_t i;
    for (i = 0; i < target->variant_count; i++) {
        const struct tile_rt_variant *variant = &target->variants[i];
        if (variant->facts & call->facts_known &
            ~call->facts_true) /* all schedules but one of facts that do not hold */
            continue;
        if (variant_fits(call, variant)) {
            call->variant = variant;
            call->variant_index = i;
            return 1;
        }
    }
    if (!call->met_empty || call->take_empty)
        return 0;
    call->take_empty = 1;
    return find_variant(call);
}

int tile_rt_choose_variant(struct tile_rt_call *call)
{
    const char *setting = call->settings->variant;
    if (__builtin_expect(setting != NULL, 0)) {
        int forced, status = forced_variant(call, setting, &forced);
        if (status != TILE_OK)
            return status;
        if (forced)
            return compute_grid(call);
    }
    return find_variant(call) ? compute_grid(call) : fail_no_variant(call);
}
