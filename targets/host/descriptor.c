/* A kernel_entry as a constant `struct tile_rt_kernel` (runtime-stub/tile_rt.h says what each field means).
 *
 * Structures are built field by field in the order of the C declarations; the sizes are compared with the C ones, which
 * hold on both hosts.  Names of the run time are the entry's names followed by its keys.
 *
 * A variant's predicate and its `when` are one conjunction.  Its parts become facts, which variants share: the run time
 * evaluates each at most once a call and compares a mask.  Parts that only say a key's value are told by the list of key
 * values already.  Where there would be too many, each `when` is one fact. */
#include "ir/facts/shared_form.h"
#include "targets/host/host.h"
#include <llvm-c/Target.h>
#include <string.h>

enum { MAX_PARTS = 256 };

/* A constant of LLVM under construction: fields of a structure or elements of an array. */
struct values {
    LLVMValueRef *data;
    int count, capacity;
};

/* What variants rely on, or where `is_choice` only where they are fast. */
struct fact {
    int32_t code;
    const struct kernel_expression *expression;
    bool is_choice;
};

struct descriptor {
    struct host_builder *builder;
    const struct kernel_entry *entry;
    struct host_code code;
    const char *section;       /* of constants that hold addresses */
    const char *plain_section; /* of others */
    VECTOR(struct fact) facts;
    struct values choices; /* functions that compute some of them */
    bool joins_conditions; /* each `when` is one fact */
    unsigned needs;        /* TILE_RT_NEEDS_… */
};

static void add(struct descriptor *d, struct values *values, LLVMValueRef value)
{
    vector_push(d->builder->arena, values, value);
}
static void add_word(struct descriptor *d, struct values *values, uint32_t word)
{
    add(d, values, LLVMConstInt(d->builder->i32, word, false));
}
static void add_number(struct descriptor *d, struct values *values, int64_t number)
{
    add(d, values, LLVMConstInt(d->builder->i64, (uint64_t)number, false));
}
static void add_half(struct descriptor *d, struct values *values, uint32_t half)
{
    add(d, values, LLVMConstInt(d->builder->i16, half, false));
}
static void add_byte(struct descriptor *d, struct values *values, uint32_t byte)
{
    add(d, values, LLVMConstInt(d->builder->i8, byte, false));
}
static void add_text(struct descriptor *d, struct values *values, const char *text)
{
    add(d, values, text ? host_text(d->builder, text) : LLVMConstNull(d->builder->pointer));
}

static LLVMValueRef structure(struct descriptor *d, struct values *fields, size_t size)
{
    LLVMValueRef value = LLVMConstStructInContext(d->builder->llvm, fields->data, (unsigned)fields->count, false);
    if (LLVMABISizeOfType(LLVMGetModuleDataLayout(d->builder->module), LLVMTypeOf(value)) != size)
        die("a descriptor of %zu bytes has another size in LLVM", size);
    return value;
}

/* Pointer to a constant array of these; NULL when there are none. */
static LLVMValueRef array(struct descriptor *d, const struct values *elements, const char *name, bool addresses)
{
    LLVMTypeRef type;
    if (elements->count == 0)
        return LLVMConstNull(d->builder->pointer);
    type = LLVMTypeOf(elements->data[0]);
    return host_global(d->builder, LLVMConstArray2(type, elements->data, (uint64_t)elements->count), name,
                       addresses ? d->section : d->plain_section, true);
}

static LLVMValueRef number_array(struct descriptor *d, const int64_t *numbers, int count, const char *name)
{
    struct values values = {0};
    for (int i = 0; i < count; i++)
        add_number(d, &values, numbers[i]);
    return array(d, &values, name, false);
}

/* code: of the expression, -1 if that is NULL. */
static LLVMValueRef expression(struct descriptor *d, int32_t code, const struct kernel_expression *e)
{
    struct values fields = {0};
    add_word(d, &fields, (uint32_t)code);
    add_word(d, &fields, 0);
    add_text(d, &fields, e ? host_expression_text(d->builder->arena, d->entry, e) : "");
    return structure(d, &fields, sizeof(struct tile_rt_expression));
}

static LLVMValueRef compiled(struct descriptor *d, const struct kernel_expression *e)
{
    return expression(d, host_code_add(&d->code, e), e);
}

/* ---- parameters ------------------------------------------------------------------------------------------------- */

static uint32_t type_number(enum ir_element element, bool pointer)
{
    static const unsigned char number[IR_ELEMENT_COUNT] = {
        [IR_BOOL] = TILE_RT_TYPE_bool, [IR_I8] = TILE_RT_TYPE_i8,           [IR_I16] = TILE_RT_TYPE_i16,
        [IR_I32] = TILE_RT_TYPE_i32,   [IR_I64] = TILE_RT_TYPE_i64,         [IR_U8] = TILE_RT_TYPE_u8,
        [IR_U16] = TILE_RT_TYPE_u16,   [IR_U32] = TILE_RT_TYPE_u32,         [IR_U64] = TILE_RT_TYPE_u64,
        [IR_F16] = TILE_RT_TYPE_f16,   [IR_BF16] = TILE_RT_TYPE_bf16,       [IR_F32] = TILE_RT_TYPE_f32,
        [IR_F64] = TILE_RT_TYPE_f64,   [IR_F8E4M3] = TILE_RT_TYPE_f8e4m3,   [IR_F8E5M2] = TILE_RT_TYPE_f8e5m2,
        [IR_INDEX] = TILE_RT_TYPE_i64, [IR_POINTER] = TILE_RT_TYPE_pointer,
    };
    return pointer ? (uint32_t)TILE_RT_TYPE_pointer : number[element];
}

/* The declared extent; where only the name that it binds is known, multiply * name + add. */
static LLVMValueRef declared_extent(struct descriptor *d, const struct kernel_parameter *parameter, int dimension)
{
    const struct kernel_expression *declared = parameter->extent[dimension];
    struct kernel_expression e[5] = {{0}};
    if (declared == NULL && parameter->binds[dimension] >= 0) {
        const struct kernel_name *name = &d->entry->names.data[parameter->binds[dimension]];
        e[0] = (struct kernel_expression){
            .op = KERNEL_HOST_NAME, .number = parameter->binds[dimension], .text = name->name};
        e[1] = (struct kernel_expression){.op = KERNEL_HOST_CONSTANT, .number = name->multiply};
        e[2] = (struct kernel_expression){.op = KERNEL_HOST_MUL, .operand = {&e[0], &e[1]}};
        e[3] = (struct kernel_expression){.op = KERNEL_HOST_CONSTANT, .number = name->add};
        e[4] = (struct kernel_expression){.op = KERNEL_HOST_ADD, .operand = {&e[2], &e[3]}};
        declared = name->multiply == 1 && name->add == 0 ? &e[0] : &e[4];
    } else if (declared == NULL && parameter->static_extent[dimension] != IR_DYNAMIC) {
        e[0] = (struct kernel_expression){.op = KERNEL_HOST_CONSTANT, .number = parameter->static_extent[dimension]};
        declared = &e[0];
    }
    return compiled(d, declared);
}

static LLVMValueRef describe_parameter(struct descriptor *d, const struct kernel_parameter *parameter)
{
    static const unsigned char kinds[] = {
        [KERNEL_VIEW] = TILE_RT_PARAMETER_view,       [KERNEL_SCALAR] = TILE_RT_PARAMETER_scalar,
        [KERNEL_POINTER] = TILE_RT_PARAMETER_pointer, [KERNEL_ENUM] = TILE_RT_PARAMETER_enum,
        [KERNEL_KEY] = TILE_RT_PARAMETER_key,         [KERNEL_STRUCT] = TILE_RT_PARAMETER_struct,
    };
    static const unsigned char directions[] = {
        [KERNEL_IN] = TILE_RT_IN,
        [KERNEL_OUT] = TILE_RT_OUT,
        [KERNEL_INOUT] = TILE_RT_INOUT,
    };
    struct values fields = {0}, extents = {0};
    uint32_t flags = 0;
    if (parameter->kind == KERNEL_VIEW)
        for (int k = 0; k < parameter->rank; k++)
            add(d, &extents, declared_extent(d, parameter, k));
    flags |= parameter->optional ? (uint32_t)TILE_RT_OPTIONAL : 0;
    flags |= parameter->packed ? (uint32_t)TILE_RT_PACKED : 0;
    flags |= parameter->strided ? (uint32_t)TILE_RT_STRIDED : 0;
    flags |= parameter->huge ? (uint32_t)TILE_RT_HUGE : 0;
    flags |= parameter->restricted ? (uint32_t)TILE_RT_RESTRICT : 0;
    flags |= parameter->nibbles ? (uint32_t)TILE_RT_NIBBLES : 0;
    add_text(d, &fields, parameter->name);
    add_byte(d, &fields, kinds[parameter->kind]);
    add_byte(d, &fields,
             type_number(parameter->element, parameter->kind == KERNEL_VIEW && parameter->pointer_elements));
    add_byte(d, &fields, parameter->kind == KERNEL_VIEW ? (uint32_t)parameter->rank : 0);
    add_byte(d, &fields, directions[parameter->direction]);
    add_byte(d, &fields, flags);
    for (int k = 0; k < 3; k++)
        add_byte(d, &fields, 0);
    add_word(d, &fields, parameter->kind == KERNEL_KEY ? (uint32_t)(d->entry->names.count + parameter->key) : 0);
    const struct kernel_enum *members = parameter->kind == KERNEL_ENUM ? parameter->enumeration : NULL;
    add_word(d, &fields, members ? (uint32_t)members->count : 0);
    add(d, &fields, array(d, &extents, "extents", true));
    add(d, &fields, number_array(d, members ? members->values : NULL, members ? members->count : 0, "values"));
    return structure(d, &fields, sizeof(struct tile_rt_parameter));
}

/* ---- names ------------------------------------------------------------------------------------------------------ */

static void add_binder(struct descriptor *d, struct values *binders, int parameter, int dimension, int64_t multiply,
                       int64_t addend)
{
    struct values fields = {0};
    add_half(d, &fields, (uint32_t)parameter);
    add_half(d, &fields, (uint32_t)dimension);
    add_word(d, &fields, 0);
    add_number(d, &fields, multiply);
    add_number(d, &fields, addend);
    add(d, binders, structure(d, &fields, sizeof(struct tile_rt_binder)));
}

/* The place that the front end chose, then all others where the name stands alone: an optional view may be absent. */
static void list_binders(struct descriptor *d, int index, struct values *binders)
{
    const struct kernel_name *name = &d->entry->names.data[index];
    if (name->parameter >= 0)
        add_binder(d, binders, name->parameter, name->dimension, name->multiply, name->add);
    for (int p = 0; p < d->entry->parameters.count; p++) {
        const struct kernel_parameter *parameter = &d->entry->parameters.data[p];
        for (int k = 0; parameter->kind == KERNEL_VIEW && k < parameter->rank; k++) {
            const struct kernel_expression *extent = parameter->extent[k];
            if (extent && extent->op == KERNEL_HOST_NAME && extent->number == index &&
                !(p == name->parameter && k == name->dimension))
                add_binder(d, binders, p, k, 1, 0);
        }
    }
}

static LLVMValueRef describe_set(struct descriptor *d, const struct kernel_set *set)
{
    struct values fields = {0};
    add_word(d, &fields, (uint32_t)host_code_add(&d->code, set->when));
    add_word(d, &fields, (uint32_t)set->count);
    add(d, &fields, number_array(d, set->values, set->count, "members"));
    add_text(d, &fields, set->text);
    return structure(d, &fields, sizeof(struct tile_rt_set));
}

static LLVMValueRef describe_name(struct descriptor *d, const char *text, enum tile_rt_name_kind kind, int binders_of,
                                  const struct kernel_key *key)
{
    struct values fields = {0}, binders = {0}, sets = {0};
    const struct kernel_expression *bound = key ? key->at_least : NULL;
    for (int i = 0; key && i < key->set_count; i++)
        add(d, &sets, describe_set(d, &key->sets[i]));
    if (binders_of >= 0)
        list_binders(d, binders_of, &binders);
    add_text(d, &fields, text);
    add_word(d, &fields, kind);
    add_word(d, &fields, (uint32_t)binders.count);
    add(d, &fields, array(d, &binders, "binders", false));
    add_number(d, &fields, sets.count);
    add(d, &fields, array(d, &sets, "sets", true));
    add(d, &fields, compiled(d, bound));
    return structure(d, &fields, sizeof(struct tile_rt_name));
}

static void describe_names(struct descriptor *d, struct values *names)
{
    const struct kernel_entry *entry = d->entry;
    for (int i = 0; i < entry->names.count; i++)
        add(d, names, describe_name(d, entry->names.data[i].name, TILE_RT_NAME_extent, i, NULL));
    for (int i = 0; i < entry->keys.count; i++) {
        const struct kernel_key *key = &entry->keys.data[i];
        enum tile_rt_name_kind kind = key->at_least ? TILE_RT_NAME_derived : TILE_RT_NAME_key;
        add(d, names, describe_name(d, key->name, kind, key->parameter < 0 ? key->name_index : -1, key));
    }
}

/* ---- variants --------------------------------------------------------------------------------------------------- */

/* The conjunction's parts into parts[]; false: too many. */
static bool split_parts(const struct kernel_expression *e, const struct kernel_expression **parts, int *count)
{
    if (e == NULL)
        return true;
    if (e->op == KERNEL_HOST_AND)
        return split_parts(e->operand[0], parts, count) && split_parts(e->operand[1], parts, count);
    if (*count == MAX_PARTS)
        return false;
    parts[(*count)++] = e;
    return true;
}

static bool says_key_value(const struct kernel_expression *e, const struct kernel_variant *variant)
{
    const struct kernel_expression *key = e->operand[0], *value = e->operand[1];
    if (e->op == KERNEL_HOST_CONSTANT)
        return e->number != 0;
    if (e->op != KERNEL_HOST_EQ)
        return false;
    if (key->op == KERNEL_HOST_CONSTANT)
        key = e->operand[1], value = e->operand[0];
    return key->op == KERNEL_HOST_KEY && value->op == KERNEL_HOST_CONSTANT && variant->key_values &&
           variant->key_values[key->number] == value->number;
}

/* Its number among the facts, or how many there are.  One that is right for speed alone is another than the same that code
 * relies on: it is not asked where the caller says which variant runs. */
static int find_fact(int count, const struct fact *facts, int32_t code, bool is_choice)
{
    int i = 0;
    while (i < count && (facts[i].code != code || facts[i].is_choice != is_choice))
        i++;
    return i;
}

static uint64_t fact_bit(struct descriptor *d, const struct kernel_expression *e, bool is_choice)
{
    int32_t code = host_code_add(&d->code, e);
    int i = find_fact(d->facts.count, d->facts.data, code, is_choice);
    if (i == TILE_RT_MAX_FACTS) {
        diag_report(d->builder->options->diagnostics, DIAGNOSTIC_E1101, d->entry->at,
                    "the variants of %s rely on more than %d different facts", d->entry->symbol, TILE_RT_MAX_FACTS);
        d->builder->failed = true;
        return 0;
    }
    if (i == d->facts.count)
        vector_push(d->builder->arena, &d->facts, ((struct fact){code, e, is_choice}));
    return (uint64_t)1 << i;
}

static bool is_stride(const struct kernel_expression *part, void *context)
{
    (void)context;
    return part->op == KERNEL_HOST_STRIDE;
}

static LLVMValueRef fact_array(struct descriptor *d)
{
    struct values facts = {0};
    for (int i = 0; i < d->facts.count; i++) {
        const struct fact *fact = &d->facts.data[i];
        LLVMValueRef choice = fact->is_choice ? host_choice(d->builder, d->entry, fact->expression) : NULL;
        struct values fields = {0};
        if (choice)
            add(d, &d->choices, choice);
        if (choice && kernel_expression_find(d->builder->arena, fact->expression, is_stride, NULL))
            d->needs |= TILE_RT_NEEDS_SLOTS;
        add_word(d, &fields, (uint32_t)fact->code);
        add_word(d, &fields, choice ? (uint32_t)d->choices.count : fact->is_choice ? TILE_RT_CHOICE_CODE : 0);
        add_text(d, &fields, host_expression_text(d->builder->arena, d->entry, fact->expression));
        add(d, &facts, structure(d, &fields, sizeof(struct tile_rt_expression)));
    }
    return array(d, &facts, "facts", true);
}

/* The bits of a condition; its parts that say something, joined by commas, go to *text. */
static uint64_t condition_mask(struct descriptor *d, const struct kernel_variant *variant,
                               const struct kernel_expression *condition, bool is_choice, const char **text)
{
    const struct kernel_expression **parts = ARENA_ARRAY(d->builder->arena, const struct kernel_expression *,
                                                         MAX_PARTS);
    const char *part;
    uint64_t mask = 0;
    int count = 0;
    *text = "";
    if (!split_parts(condition, parts, &count))
        return fact_bit(d, condition, is_choice);
    for (int i = 0; i < count; i++) {
        if (says_key_value(parts[i], variant))
            continue;
        mask |= fact_bit(d, parts[i], is_choice);
        part = host_expression_text(d->builder->arena, d->entry, parts[i]);
        if (!strstr(*text, part))
            *text = arena_printf(d->builder->arena, "%s%s%s", *text, **text ? ", " : "", part);
    }
    return mask;
}

/* Text: "x.stride[0] % 8 == 0; when M <= 64". */
static uint64_t fact_mask(struct descriptor *d, const struct kernel_variant *variant, const char **text)
{
    const char *parts;
    uint64_t mask = condition_mask(d, variant, variant->predicate, false, text);
    if (!variant->when)
        return mask;
    *text = arena_printf(d->builder->arena, "%s%swhen %s", *text, **text ? "; " : "", variant->when->text);
    return mask | (d->joins_conditions ? fact_bit(d, variant->when, true)
                                       : condition_mask(d, variant, variant->when, true, &parts));
}

/* Whether the parts of all conditions are more facts than the run time knows. */
static bool has_many_parts(const struct descriptor *d)
{
    const struct kernel_expression **parts = ARENA_ARRAY(d->builder->arena, const struct kernel_expression *,
                                                         MAX_PARTS);
    struct host_code probe = {.builder = d->builder, .entry = d->entry};
    VECTOR(struct fact) found = {0};
    for (int v = 0; v < d->entry->variants.count; v++) {
        const struct kernel_variant *variant = &d->entry->variants.data[v];
        int count = 0;
        if (!split_parts(variant->predicate, parts, &count))
            return true;
        const int facts = count;
        if (!split_parts(variant->when, parts, &count))
            return true;
        for (int i = 0; i < count; i++) {
            int32_t code = host_code_add(&probe, parts[i]);
            if (find_fact(found.count, found.data, code, i >= facts) == found.count &&
                !says_key_value(parts[i], variant))
                vector_push(d->builder->arena, &found, ((struct fact){code, parts[i], i >= facts}));
        }
    }
    return found.count > TILE_RT_MAX_FACTS;
}

static LLVMValueRef grid_codes(struct descriptor *d, const struct kernel_variant *variant)
{
    struct values codes = {0};
    for (int i = 0; i < d->entry->grid_names.count; i++)
        add_word(d, &codes, (uint32_t)host_code_add(&d->code, variant->grid[i]));
    return array(d, &codes, "grid", false);
}

static LLVMValueRef scratch_codes(struct descriptor *d, const struct kernel_variant *variant)
{
    struct values codes = {0};
    int count = 0;
    for (int i = 0; i < d->entry->scratch.count; i++)
        count += d->entry->scratch.data[i].rank;
    for (int i = 0; i < count; i++)
        add_word(d, &codes, (uint32_t)host_code_add(&d->code, variant->scratch_extents[i]));
    return array(d, &codes, "scratch", false);
}

static int count_slots(const struct kernel_entry *entry)
{
    int slots = 0;
    for (int i = 0; i < entry->parameters.count; i++) {
        const struct kernel_parameter *parameter = &entry->parameters.data[i];
        slots += parameter->slot < 0 ? 0 : parameter->kind == KERNEL_VIEW ? 1 + 2 * parameter->rank : 1;
    }
    for (int i = 0; i < entry->scratch.count; i++)
        slots += 1 + 2 * entry->scratch.data[i].rank;
    return slots + entry->reports;
}

/* Index of the entry's parameter that the IR function's argument is: keys and structs are none. */
static int parameter_of(const struct kernel_entry *entry, int argument)
{
    for (int i = 0; i < entry->parameters.count; i++)
        if (entry->parameters.data[i].slot >= 0 && argument-- == 0)
            return i;
    die("%s has no argument for a tensor map", entry->symbol);
}

static LLVMValueRef describe_map(struct descriptor *d, const struct tensor_map *map)
{
    struct values fields = {0}, box = {0};
    add_half(d, &fields, (uint32_t)parameter_of(d->entry, map->argument));
    add_half(d, &fields, (uint32_t)map->swizzle);
    add_byte(d, &fields, type_number(map->element, false));
    add_byte(d, &fields, (uint32_t)map->rank);
    for (int i = 0; i < TILE_RT_MAP_RANK; i++) {
        add_byte(d, &fields, i < map->rank ? (uint32_t)map->dimension[i] : 0);
        add_word(d, &box, i < map->rank ? (uint32_t)map->box[i] : 0);
    }
    add_byte(d, &fields,
             (map->part >= 0 ? TILE_RT_MAP_PART : 0u) | (map->rounds ? TILE_RT_MAP_ROUNDS : 0u) |
                 (map->asked ? TILE_RT_MAP_ASKED : 0u));
    d->needs |= map->rounds ? TILE_RT_NEEDS_ROUNDING : 0u;
    d->needs |= map->asked ? TILE_RT_NEEDS_ASKED : 0u;
    for (int i = 0; i < TILE_RT_MAP_RANK; i++)
        add(d, &fields, box.data[i]);
    return structure(d, &fields, sizeof(struct tile_rt_map));
}

static LLVMValueRef map_array(struct descriptor *d, const struct kernel_gpu_code *gpu)
{
    struct values maps = {0};
    int slots = count_slots(d->entry) + d->entry->grid_names.count + 1;
    for (int i = 0; i < gpu->map_count; i++)
        add(d, &maps, describe_map(d, &gpu->maps[i]));
    if (gpu->map_count > TILE_RT_MAX_MAPS ||
        (gpu->map_count && 8 * slots + 128 * gpu->map_count > TILE_RT_PARAMETER_BYTES)) {
        diag_report(d->builder->options->diagnostics, DIAGNOSTIC_E1101, d->entry->at,
                    "%s needs %d tensor maps beside %d slots; the limits are %d, and %d bytes in all", d->entry->symbol,
                    gpu->map_count, slots, TILE_RT_MAX_MAPS, TILE_RT_PARAMETER_BYTES);
        d->builder->failed = true;
    }
    return array(d, &maps, "maps", false);
}

/* cpu NULL: a GPU's, as a cubin or as PTX. */
static LLVMValueRef describe_variant(struct descriptor *d, const struct kernel_variant *variant, LLVMValueRef state,
                                     const struct kernel_cpu_level *cpu, bool ptx)
{
    struct host_builder *b = d->builder;
    const struct kernel_gpu_code *gpu = &variant->gpu;
    struct values fields = {0}, names = {0}, numbers = {0};
    LLVMValueRef nothing = LLVMConstNull(b->pointer);
    const char *text;
    uint64_t mask = fact_mask(d, variant, &text);
    for (int i = 0; i < variant->knobs.count; i++) {
        add_text(d, &names, variant->knobs.data[i].name);
        add_number(d, &numbers, variant->knobs.data[i].value);
    }
    add_number(d, &fields, (int64_t)mask);
    add(d, &fields, number_array(d, variant->key_values, d->entry->keys.count, "keys"));
    add(d, &fields, grid_codes(d, variant));
    add(d, &fields, scratch_codes(d, variant));
    add(d, &fields, state);
    add(d, &fields, cpu ? LLVMGetNamedFunction(b->module, cpu->symbol) : nothing);
    add(d, &fields, cpu ? nothing : ptx ? b->texts[gpu->image] : b->images[gpu->image]);
    add_number(d, &fields,
               cpu ? 0 : (int64_t)host_image_part(b->arena, &b->kernels->images.data[gpu->image], ptx).size);
    add_text(d, &fields, cpu ? NULL : gpu->symbol);
    add_text(d, &fields, text);
    add(d, &fields, array(d, &names, "value_names", true));
    add(d, &fields, array(d, &numbers, "values", false));
    add_number(d, &fields, cpu ? cpu->scratch_bytes : 0);
    add_number(d, &fields, 0);
    add_word(d, &fields, (uint32_t)variant->knobs.count);
    add_word(d, &fields, cpu ? 0 : (uint32_t)gpu->threads);
    add_word(d, &fields, 0);
    add_word(d, &fields, cpu ? 0 : (uint32_t)gpu->shared_bytes);
    add_word(d, &fields, cpu ? 0 : (uint32_t)gpu->cluster);
    add_word(d, &fields, cpu ? 0 : (uint32_t)gpu->registers);
    add_word(d, &fields, cpu ? 0 : (uint32_t)gpu->persistent);
    add_word(d, &fields, cpu ? 0 : (uint32_t)gpu->map_count);
    add(d, &fields, cpu ? nothing : map_array(d, gpu));
    const char *label = variant->label ? variant->label : d->entry->symbol;
    add_text(d, &fields,
             cpu ? arena_printf(b->arena, "%s: %lld bytes of scratch a thread", label, (long long)cpu->scratch_bytes)
             : gpu->summary ? arena_printf(b->arena, "%s: %s", label, gpu->summary)
                            : NULL);
    return structure(d, &fields, sizeof(struct tile_rt_variant));
}

static LLVMValueRef describe_target(struct descriptor *d, const char *name, uint32_t kind, uint32_t architecture,
                                    uint32_t suffix, const struct values *variants)
{
    struct values fields = {0};
    add_text(d, &fields, name);
    add_word(d, &fields, kind);
    add_word(d, &fields, architecture);
    add_word(d, &fields, suffix);
    add_word(d, &fields, (uint32_t)variants->count);
    add(d, &fields, array(d, variants, "variants", true));
    return structure(d, &fields, sizeof(struct tile_rt_target));
}

void host_architecture(const struct target_row *row, uint32_t *number, uint32_t *suffix)
{
    *number = (uint32_t)(10 * row->major + row->minor);
    *suffix = row->flags & TARGET_EXACT ? 'a' : row->flags & TARGET_FAMILY ? 'f' : 0;
}

/* The variants of a row as cubins, or those that come as PTX, too. */
static void describe_cuda_target(struct descriptor *d, int row, bool ptx, struct values *targets)
{
    struct host_builder *b = d->builder;
    struct values variants = {0};
    uint32_t architecture, suffix;
    for (int v = 0; v < d->entry->variants.count; v++) {
        const struct kernel_variant *variant = &d->entry->variants.data[v];
        LLVMValueRef state;
        if (variant->target != row || variant->gpu.symbol == NULL)
            continue;
        const struct kernel_image *image = &b->kernels->images.data[variant->gpu.image];
        if (ptx ? !image->with_ptx : image->without_cubin)
            continue;
        state = host_global(b, LLVMConstNull(b->pointer), "state",
                            arena_printf(b->arena, ".bss.tile.%s", d->entry->symbol), false);
        add(d, &variants, describe_variant(d, variant, state, NULL, ptx));
    }
    host_architecture(&target_rows[row], &architecture, &suffix);
    if (variants.count)
        add(d, targets,
            describe_target(
                d, ptx ? arena_printf(b->arena, "compute_%s", target_rows[row].name + 3) : target_rows[row].name,
                ptx ? TILE_RT_TARGET_ptx : TILE_RT_TARGET_cuda, architecture, suffix, &variants));
}

static void describe_cpu_target(struct descriptor *d, int row, int level, struct values *targets)
{
    bool arm = strncmp(d->builder->options->host_triple, "aarch64", 7) == 0;
    static const char *const names[] = {"cpu-baseline", "cpu-avx2", "cpu-avx512", "cpu-neon"};
    uint32_t isa = arm && level > 0 ? (uint32_t)TILE_RT_ISA_neon : (uint32_t)level;
    struct values variants = {0};
    for (int v = 0; v < d->entry->variants.count; v++) {
        const struct kernel_variant *variant = &d->entry->variants.data[v];
        if (variant->target == row && variant->cpu.level[level].symbol)
            add(d, &variants,
                describe_variant(d, variant, LLVMConstNull(d->builder->pointer), &variant->cpu.level[level], false));
    }
    if (variants.count)
        add(d, targets, describe_target(d, names[isa], TILE_RT_TARGET_cpu, isa, 0, &variants));
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static void check_limits(struct descriptor *d, int slots)
{
    const struct kernel_entry *entry = d->entry;
    if (entry->parameters.count <= TILE_RT_MAX_PARAMETERS &&
        entry->names.count + entry->keys.count <= TILE_RT_MAX_NAMES && slots <= TILE_RT_MAX_SLOTS)
        return;
    diag_report(d->builder->options->diagnostics, DIAGNOSTIC_E1101, entry->at,
                "%s has %d parameters with %d slots and %d names; the limits are %d, %d and %d", entry->symbol,
                entry->parameters.count, slots, entry->names.count + entry->keys.count, TILE_RT_MAX_PARAMETERS,
                TILE_RT_MAX_SLOTS, TILE_RT_MAX_NAMES);
    d->builder->failed = true;
}

static void list_requirements(struct descriptor *d, struct values *checks)
{
    for (int i = 0; i < d->entry->requirements.count; i++)
        add(d, checks, compiled(d, d->entry->requirements.data[i]));
}

static void list_aliases(struct descriptor *d, struct values *aliases)
{
    for (int i = 0; i < d->entry->aliases.count; i++) {
        struct values fields = {0};
        add_half(d, &fields, (uint32_t)d->entry->aliases.data[i].a);
        add_half(d, &fields, (uint32_t)d->entry->aliases.data[i].b);
        add(d, aliases, structure(d, &fields, sizeof(struct tile_rt_alias)));
    }
}

static LLVMValueRef scratch_array(struct descriptor *d)
{
    struct values all = {0};
    for (int i = 0; i < d->entry->scratch.count; i++) {
        const struct kernel_scratch *scratch = &d->entry->scratch.data[i];
        struct values fields = {0};
        add_text(d, &fields, scratch->name);
        add_byte(d, &fields, type_number(scratch->element, false));
        add_byte(d, &fields, (uint32_t)scratch->rank);
        add_byte(d, &fields, scratch->filled);
        add_byte(d, &fields, 0);
        add_word(d, &fields, (uint32_t)scratch->slot);
        add_number(d, &fields, (int64_t)scratch->fill);
        add(d, &all, structure(d, &fields, sizeof(struct tile_rt_scratch)));
    }
    return array(d, &all, "scratch_views", true);
}

/* With `%%` for `%`. */
static const char *doubled(struct descriptor *d, const char *text)
{
    struct buffer out = {0};
    for (; *text; text++)
        buffer_printf(&out, *text == '%' ? "%%%%" : "%c", *text);
    const char *kept = arena_substring(d->builder->arena, out.data ? out.data : "", out.size);
    buffer_free(&out);
    return kept;
}

static LLVMValueRef print_array(struct descriptor *d)
{
    struct values prints = {0};
    for (int i = 0; i < d->entry->prints.count; i++) {
        const struct kernel_print *print = &d->entry->prints.data[i];
        struct values fields = {0};
        add_text(d, &fields, print->format);
        add_word(d, &fields, (uint32_t)print->count);
        add_word(d, &fields, print->tiles);
        add_word(d, &fields, (uint32_t)print->rank);
        add_word(d, &fields, 0);
        add(d, &fields, number_array(d, print->extent, print->rank, "print_extents"));
        add(d, &prints, structure(d, &fields, sizeof(struct tile_rt_print)));
    }
    return array(d, &prints, "prints", true);
}

/* "k.tile:14:5: assume(n > 0)" */
static LLVMValueRef report_texts(struct descriptor *d)
{
    struct host_builder *b = d->builder;
    struct values texts = {0};
    for (int i = 0; i < d->entry->checks.count; i++) {
        const struct kernel_check *check = &d->entry->checks.data[i];
        const char *name = target_source_name(b->options, check->at.source ? check->at.source->name : "?");
        add_text(
            d, &texts,
            arena_printf(b->arena, "%s:%d:%d: %s", doubled(d, name), check->at.line, check->at.column, check->text));
    }
    return array(d, &texts, "report_texts", true);
}

_Static_assert((int)KERNEL_REPORT_USED == (int)TILE_RT_REPORT_used &&
                   (int)KERNEL_REPORT_ROOM == (int)TILE_RT_REPORT_room &&
                   (int)KERNEL_REPORT_BOUNDS == (int)TILE_RT_REPORT_bounds &&
                   (int)KERNEL_REPORT_RECORDS == (int)TILE_RT_REPORT_records &&
                   (int)KERNEL_REPORT_VALUES == (int)TILE_RT_REPORT_values,
               "the report of ir/kernel.h is the run time's");

LLVMValueRef host_descriptor(struct host_builder *builder, const struct kernel_entry *entry)
{
    struct descriptor d = {.builder = builder, .entry = entry, .code = {.builder = builder, .entry = entry}};
    struct values fields = {0}, parameters = {0}, names = {0}, keys = {0}, checks = {0}, aliases = {0}, targets = {0};
    struct values words = {0};
    int slots = count_slots(entry);
    d.section = arena_printf(builder->arena, ".data.rel.ro.tile.%s", entry->symbol);
    d.plain_section = arena_printf(builder->arena, ".rodata.tile.%s", entry->symbol);
    check_limits(&d, slots);
    d.joins_conditions = has_many_parts(&d);
    for (int i = 0; i < entry->parameters.count; i++)
        add(&d, &parameters, describe_parameter(&d, &entry->parameters.data[i]));
    describe_names(&d, &names);
    for (int i = 0; i < entry->keys.count; i++)
        add_word(&d, &keys, (uint32_t)(entry->names.count + i));
    list_requirements(&d, &checks);
    list_aliases(&d, &aliases);
    for (int row = 0; row < target_row_count; row++)
        if (target_rows[row].kind == TARGET_NVPTX)
            for (int ptx = 0; ptx < 2; ptx++)
                describe_cuda_target(&d, row, ptx != 0, &targets);
        else
            for (int level = 0; level < KERNEL_CPU_LEVELS; level++)
                describe_cpu_target(&d, row, level, &targets);
    if (builder->failed)
        return NULL;
    for (int i = 0; i < d.code.words.count; i++)
        add_word(&d, &words, (uint32_t)d.code.words.data[i]);
    LLVMValueRef facts = fact_array(&d);
    add_word(&d, &fields, TILE_RT_ABI);
    add_word(&d, &fields, (uint32_t)parameters.count);
    add_word(&d, &fields, (uint32_t)names.count);
    add_word(&d, &fields, (uint32_t)keys.count);
    add_word(&d, &fields, (uint32_t)checks.count);
    add_word(&d, &fields, (uint32_t)d.facts.count);
    add_word(&d, &fields, (uint32_t)aliases.count);
    add_word(&d, &fields, (uint32_t)entry->grid_names.count);
    add_word(&d, &fields, (uint32_t)targets.count);
    add_word(&d, &fields, (uint32_t)slots);
    add_word(&d, &fields, entry->reports);
    add_word(&d, &fields, (uint32_t)entry->checks.count);
    add_word(&d, &fields, (uint32_t)entry->prints.count);
    add_word(&d, &fields, (uint32_t)entry->scratch.count);
    add_word(&d, &fields, entry->ordered);
    add_word(&d, &fields, d.needs);
    add_text(&d, &fields, entry->symbol);
    add(&d, &fields, array(&d, &parameters, "parameters", true));
    add(&d, &fields, array(&d, &names, "names", true));
    add(&d, &fields, array(&d, &keys, "key_names", false));
    add(&d, &fields, array(&d, &checks, "checks", true));
    add(&d, &fields, facts);
    add(&d, &fields, array(&d, &aliases, "aliases", false));
    add(&d, &fields, scratch_array(&d));
    add(&d, &fields, array(&d, &targets, "targets", true));
    add(&d, &fields, array(&d, &words, "code", false));
    add(&d, &fields, report_texts(&d));
    add(&d, &fields, print_array(&d));
    add_text(&d, &fields, arena_printf(builder->arena, "%s_load", entry->symbol));
    add(&d, &fields, array(&d, &d.choices, "choices", true));
    return host_global(builder, structure(&d, &fields, sizeof(struct tile_rt_kernel)), "kernel", d.section, true);
}
