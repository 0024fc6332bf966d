/* Context, interned types and the tables generated from ops.def and the element list. */
#include <string.h>

#include "ir/ir.h"
#include "ir/layout/layout.h"

const struct ir_element_info ir_element_info[IR_ELEMENT_COUNT] = {
#define ELEMENT(id, text, bits, class) [IR_##id] = {text, bits, IR_CLASS_##class},
    IR_ELEMENTS(ELEMENT)
#undef ELEMENT
};

/* Words of the columns of ops.def. */
#define VALUE IR_LEVEL_VALUE
#define SCHEDULE IR_LEVEL_SCHEDULE
#define MACHINE IR_LEVEL_MACHINE
#define PURE IR_TRAIT_PURE
#define READ IR_TRAIT_READ
#define WRITE IR_TRAIT_WRITE
#define ATOMIC IR_TRAIT_ATOMIC
#define ELEMENTWISE IR_TRAIT_ELEMENTWISE
#define COMMUTATIVE IR_TRAIT_COMMUTATIVE
#define TERMINATOR IR_TRAIT_TERMINATOR
#define LOOP IR_TRAIT_LOOP
#define SYNC IR_TRAIT_SYNC
#define SHARED_READ IR_TRAIT_SHARED_READ
#define SHARED_WRITE IR_TRAIT_SHARED_WRITE
#define BIT_COUNT IR_TRAIT_BIT_COUNT
#define A(key) (UINT64_C(1) << IR_ATTRIBUTE_##key)
const struct ir_op_info ir_op_info[OP_COUNT] = {
#define OP(id, text, level, least, most, results, regions, traits, rule, attributes)       \
    [OP_##id] = {text,           level,      least,        most, results, regions, traits, \
                 IR_RULE_##rule, attributes, IR_TAKES_ANY, NULL, NULL,    0},
#define ON_ELEMENTS(id, text, operands, traits, elements, name, attributes, intrinsic, false_arguments) \
    [OP_##id] = {text,                                                                                  \
                 VALUE,                                                                                 \
                 operands,                                                                              \
                 operands,                                                                              \
                 1,                                                                                     \
                 0,                                                                                     \
                 PURE | ELEMENTWISE | traits,                                                           \
                 IR_RULE_SAME,                                                                          \
                 attributes,                                                                            \
                 IR_TAKES_##elements,                                                                   \
                 name,                                                                                  \
                 intrinsic,                                                                             \
                 false_arguments},
#define ARITHMETIC(id, text, operands, traits, elements, name, attributes) \
    ON_ELEMENTS(id, text, operands, traits, elements, name, attributes, NULL, 0)
#define INTRINSIC(id, text, operands, traits, elements, name, intrinsic, false_arguments) \
    ON_ELEMENTS(id, text, operands, traits, elements, name, 0, intrinsic, false_arguments)
#include "ir/ops.def"
};
#define OP(...)
#define PER_ELEMENT(...)
#define ARITHMETIC(id, text, operands, ...) \
    _Static_assert(operands >= 1 && operands <= 3, text ": interpreter, fold and targets take 1 to 3 operands");
#include "ir/ops.def"

bool ir_takes(enum ir_opcode opcode, enum ir_element e)
{
    switch (ir_op_info[opcode].takes) {
#define X(id, words, test) \
    case IR_TAKES_##id: return test;
        IR_TAKES(X)
#undef X
    }
    return false;
}

const char *ir_takes_words(enum ir_opcode opcode)
{
#define X(id, words, test) words,
    static const char *const text[] = { IR_TAKES(X) };
#undef X
    return text[ir_op_info[opcode].takes];
}

const char *ir_takes_problem(enum ir_opcode opcode)
{
#define X(id, words, test) "the elements must be " words,
    static const char *const text[] = { IR_TAKES(X) };
#undef X
    return text[ir_op_info[opcode].takes];
}

_Static_assert(IR_ATTRIBUTE_COUNT <= 64, "ir_op_info.attributes is a 64-bit set");

struct ir_context {
    struct arena *arena;
    struct intern_table *names;
    struct layout_table *layouts;
    VECTOR(struct ir_type *) types;
    int *table; /* open addressing, index + 1 into types; its size is a power of two */
    int table_size;
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ (hash >> 29);
}

static uint64_t hash_type(const struct ir_type *type)
{
    uint64_t hash = mix((uint64_t)type->kind * 64 + (uint64_t)type->element, (uint64_t)type->pointee);
    hash = mix(hash, (uint64_t)type->rank * 16 + type->pointee_const * 8u + type->optional * 4u + type->writable * 2u +
                         type->readable);
    for (int i = 0; i < type->rank; i++) {
        hash = mix(hash, (uint64_t)type->extent[i]);
        hash = mix(hash, (uint64_t)type->stride[i]);
    }
    return mix(mix(hash, (uint64_t)(uintptr_t)type->layout), (uint64_t)type->slots);
}

static bool same_type(const struct ir_type *a, const struct ir_type *b)
{
    if (a->kind != b->kind || a->element != b->element || a->rank != b->rank || a->layout != b->layout ||
        a->slots != b->slots || a->pointee != b->pointee || a->pointee_const != b->pointee_const ||
        a->optional != b->optional || a->writable != b->writable || a->readable != b->readable)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->extent[i] != b->extent[i] || a->stride[i] != b->stride[i])
            return false;
    return true;
}

struct ir_context *ir_context_create(struct arena *arena)
{
    struct ir_context *context = ARENA_NEW(arena, struct ir_context);
    context->arena = arena;
    context->names = intern_create(arena);
    context->table_size = 256;
    context->table = ARENA_ARRAY(arena, int, context->table_size);
    return context;
}

struct intern_table *ir_context_names(struct ir_context *context) { return context->names; }

struct layout_table *ir_context_layouts(struct ir_context *context)
{
    if (!context->layouts)
        context->layouts = layout_table_create(context->arena);
    return context->layouts;
}

static void grow_table(struct ir_context *context)
{
    int size = context->table_size * 2;
    int *table = ARENA_ARRAY(context->arena, int, size);
    for (int i = 0; i < context->types.count; i++) {
        uint64_t at = hash_type(context->types.data[i]);
        while (table[at & (uint64_t)(size - 1)])
            at++;
        table[at & (uint64_t)(size - 1)] = i + 1;
    }
    context->table = table;
    context->table_size = size;
}

/* Fields that mean nothing for a kind are cleared, so that equal types have equal bytes where it matters. */
static struct ir_type canonical(const struct ir_type *type)
{
    struct ir_type out = *type;
    if (out.rank < 0 || out.rank > IR_MAX_RANK)
        die("rank %d of a type", out.rank);
    if (out.element != IR_POINTER) {
        out.pointee = IR_BOOL;
        out.pointee_const = false;
    }
    for (int i = 0; i < IR_MAX_RANK; i++) {
        if (i >= out.rank)
            out.extent[i] = 0;
        if (i >= out.rank || out.kind != IR_VIEW)
            out.stride[i] = 0;
    }
    if (out.kind != IR_VIEW)
        out.optional = out.writable = out.readable = false;
    if (out.kind != IR_TILE && out.kind != IR_BUFFER)
        out.layout = NULL;
    if (out.kind != IR_BUFFER && out.kind != IR_MBARRIER)
        out.slots = 0;
    out.id = 0;
    return out;
}

const struct ir_type *ir_type_intern(struct ir_context *context, const struct ir_type *wanted)
{
    struct ir_type type = canonical(wanted);
    uint64_t mask = (uint64_t)(context->table_size - 1);
    uint64_t at = hash_type(&type);
    for (; context->table[at & mask]; at++) {
        struct ir_type *known = context->types.data[context->table[at & mask] - 1];
        if (same_type(known, &type))
            return known;
    }
    struct ir_type *made = arena_copy(context->arena, &type, sizeof type);
    made->id = context->types.count;
    vector_push(context->arena, &context->types, made);
    context->table[at & mask] = made->id + 1;
    if (context->types.count * 2 > context->table_size)
        grow_table(context);
    return made;
}

const struct ir_type *ir_type_buffer(struct ir_context *context, enum ir_element element, int rank,
                                     const int64_t *extent, const struct layout *layout, int slots)
{
    struct ir_type type = {.kind = IR_BUFFER, .element = element, .rank = rank, .layout = layout, .slots = slots};
    for (int i = 0; i < rank; i++)
        type.extent[i] = extent[i];
    return ir_type_intern(context, &type);
}

const struct ir_type *ir_type_mbarrier(struct ir_context *context, int slots)
{
    return ir_type_intern(context, &(struct ir_type){.kind = IR_MBARRIER, .slots = slots});
}

const struct ir_type *ir_type_token(struct ir_context *context)
{
    return ir_type_intern(context, &(struct ir_type){.kind = IR_TOKEN});
}

const struct ir_type *ir_type_scalar(struct ir_context *context, enum ir_element element)
{
    return ir_type_intern(context, &(struct ir_type){.kind = IR_TILE, .element = element});
}

const struct ir_type *ir_type_pointer(struct ir_context *context, enum ir_element pointee, bool pointee_const)
{
    return ir_type_intern(
        context,
        &(struct ir_type){.kind = IR_TILE, .element = IR_POINTER, .pointee = pointee, .pointee_const = pointee_const});
}

const struct ir_type *ir_type_tile(struct ir_context *context, enum ir_element element, int rank, const int64_t *extent)
{
    struct ir_type type = {.kind = IR_TILE, .element = element, .rank = rank};
    for (int i = 0; i < rank; i++)
        type.extent[i] = extent[i];
    return ir_type_intern(context, &type);
}

const struct ir_type *ir_type_with_shape(struct ir_context *context, const struct ir_type *like, int rank,
                                         const int64_t *extent)
{
    struct ir_type type = *like;
    type.rank = rank;
    for (int i = 0; i < rank; i++)
        type.extent[i] = extent[i];
    if (like->layout && !(rank == like->rank && ir_type_same_shape(&type, like)))
        type.layout = NULL;
    return ir_type_intern(context, &type);
}

const struct ir_type *ir_type_with_element(struct ir_context *context, const struct ir_type *like,
                                           enum ir_element element)
{
    struct ir_type type = *like;
    type.element = element;
    return ir_type_intern(context, &type);
}

const struct ir_type *ir_type_with_layout(struct ir_context *context, const struct ir_type *like,
                                          const struct layout *layout)
{
    struct ir_type type = *like;
    type.layout = layout;
    return ir_type_intern(context, &type);
}

bool ir_type_same_shape(const struct ir_type *a, const struct ir_type *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->extent[i] != b->extent[i])
            return false;
    return true;
}

int64_t ir_type_elements(const struct ir_type *tile)
{
    int64_t count = 1;
    for (int i = 0; i < tile->rank; i++)
        count *= tile->extent[i];
    return count;
}

int64_t ir_type_bytes(const struct ir_type *tile)
{
    return ir_type_elements(tile) * (ir_element_info[tile->element].bits / 8);
}
