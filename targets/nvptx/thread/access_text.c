/* Single elements of a tile, several by one text: LLVM's time goes by texts and their operands.  Loads, up to eight:
 *
 *     setp.gt.s32 %q0, $5, 3;              the coordinate of the register, 3 behind the thread's, is inside
 *     and.pred %p, $6, %q0;                its mask
 *     mov.b16 %e0, 0;                      what stays where nothing is read
 *     @%p ld.global.b16 %e0, [$4];
 *     add.s64 %at, $4, $7;                 to the next element, or an immediate offset where the stride is known
 *     …
 *     mov.b32 $0, {%e0, %e1};
 *
 * Two elements of 16 bits leave as one word: as a tile goes on to shared memory, it takes half the registers.  So they
 * come to stores, which begin with
 *
 *     mov.b32 {%e0, %e1}, $1;
 *     @%p st.global.b16 [$0], %e0; */
#include "targets/nvptx/thread/memory.h"

#include <string.h>

enum { TOGETHER = 8, STORES = 4 /* more would keep more addresses and limits in registers */, MOST_ARGUMENTS = 64 };

/* Limits of the coordinates less the thread's part of them, by dimension of the view; NULL: none. */
struct bounds {
    LLVMValueRef limit[IR_MAX_RANK], low[IR_MAX_RANK];
};

struct text {
    struct lowering *l;
    const struct reach *reach;
    const struct bounds *bounds;
    struct memory_shape shape;           /* of one element */
    bool pairs;                          /* two elements, %e0 and %e1 …, are a word outside */
    LLVMValueRef leader, mask[TOGETHER]; /* further conditions, of all and of each element; NULL: none */
    int results;
    struct buffer body, constraints; /* constraints: of the inputs */
    LLVMValueRef arguments[MOST_ARGUMENTS];
    int count;
    struct {
        int dimension, number;
    } tests[TOGETHER * IR_MAX_RANK]; /* predicates %q0 … */
    int tests_count;
    struct {
        int dimension, number;
        LLVMValueRef bytes;
    } steps[TOGETHER * IR_MAX_RANK];
    int steps_count;
};

static void add_line(struct text *t, const char *line) { buffer_printf(&t->body, "\n\t%s", line); }

/* Operand of an input. */
static const char *input(struct text *t, LLVMValueRef value, char letter)
{
    int i = 0;
    while (i < t->count && t->arguments[i] != value)
        i++;
    if (i == t->count) {
        if (t->count == MOST_ARGUMENTS)
            die("a text of loads with too many operands");
        buffer_printf(&t->constraints, ",%c", letter);
        t->arguments[t->count++] = value;
    }
    return arena_printf(t->l->arena, "$%d", t->results + i);
}

/* Name of the predicate that says whether the coordinate of dimension d, `number` behind the thread's, is inside. */
static const char *inside_name(struct text *t, int d, int number)
{
    struct arena *arena = t->l->arena;
    int i = 0;
    while (i < t->tests_count && (t->tests[i].dimension != d || t->tests[i].number != number))
        i++;
    const char *name = arena_printf(arena, "%%q%d", i);
    if (i < t->tests_count)
        return name;
    t->tests[t->tests_count].dimension = d;
    t->tests[t->tests_count++].number = number;
    add_line(t, arena_printf(arena, "setp.gt.s32 %s, %s, %d;", name, input(t, t->bounds->limit[d], 'r'), number));
    if (t->bounds->low[d]) {
        add_line(t, arena_printf(arena, "setp.le.s32 %%p, %s, %d;", input(t, t->bounds->low[d], 'r'), number));
        add_line(t, arena_printf(arena, "and.pred %s, %s, %%p;", name, name));
    }
    return name;
}

/* The guard of element i; "": it is always moved. */
static const char *add_guard(struct text *t, const struct reach_parts *parts, int i)
{
    struct arena *arena = t->l->arena;
    const char *terms[IR_MAX_RANK + 3], *guard;
    int n = 0;
    if (t->leader)
        terms[n++] = input(t, t->leader, 'b');
    if (t->reach->usable)
        terms[n++] = input(t, t->reach->usable, 'b');
    if (t->mask[i])
        terms[n++] = input(t, t->mask[i], 'b');
    for (int d = 0; d < t->reach->access.rank; d++)
        if (t->bounds->limit[d])
            terms[n++] = inside_name(t, d, parts->coordinate[d]);
    if (n == 0)
        return "";
    guard = terms[0];
    for (int k = 1; k < n; k++) {
        add_line(t, arena_printf(arena, "and.pred %%p, %s, %s;", guard, terms[k]));
        guard = "%p";
    }
    return arena_printf(arena, "@%s ", guard);
}

/* What `number` coordinates of dimension d, whose stride is not known, add to an address. */
static const char *step_of(struct text *t, int d, int number)
{
    LLVMBuilderRef b = t->l->builder;
    int i = 0;
    while (i < t->steps_count && (t->steps[i].dimension != d || t->steps[i].number != number))
        i++;
    if (i == t->steps_count) {
        LLVMValueRef bytes = value_i64(t->l, (int64_t)number * value_bytes(t->reach->element));
        t->steps[i].dimension = d;
        t->steps[i].number = number;
        t->steps[i].bytes = LLVMBuildMul(b, t->reach->view->stride[d], bytes, "");
        t->steps_count++;
    }
    return input(t, t->steps[i].bytes, 'l');
}

/* From the place of the last element to that of the next one; returns its name. */
static const char *add_steps(struct text *t, const char *at, const struct reach_parts *from,
                             const struct reach_parts *to)
{
    for (int d = 0; d < t->reach->access.rank; d++) {
        int number = to->step[d] - from->step[d];
        if (!number)
            continue;
        add_line(t, arena_printf(t->l->arena, "add.s64 %%at, %s, %s;", at, step_of(t, d, number)));
        at = "%at";
    }
    return at;
}

static void emit_text(struct text *t, int elements, LLVMValueRef *words)
{
    struct lowering *l = t->l;
    LLVMTypeRef word = t->pairs ? l->i32 : memory_word_type(l, t->shape), members[TOGETHER];
    struct buffer text = {0}, constraints = {0};
    buffer_puts(&text, "{\n\t.reg .pred %p;\n\t.reg .b64 %at;");
    if (t->pairs)
        buffer_printf(&text, "\n\t.reg .b16 %%e<%d>;", elements);
    if (t->tests_count)
        buffer_printf(&text, "\n\t.reg .pred %%q<%d>;", t->tests_count);
    buffer_append(&text, t->body.data, t->body.size);
    buffer_puts(&text, "\n\t}");
    for (int i = 0; i < t->results; i++) { /* written while inputs are still to be read: "&" */
        members[i] = word;
        buffer_printf(&constraints, "%s=&%c", i ? "," : "", t->pairs ? 'r' : memory_word_letter(t->shape));
    }
    size_t comma = t->results == 0; /* of the first input */
    buffer_append(&constraints, t->constraints.data + comma, t->constraints.size - comma);
    LLVMTypeRef type = t->results == 0   ? l->nothing
                       : t->results == 1 ? word
                                         : LLVMStructTypeInContext(l->context, members, (unsigned)t->results, false);
    LLVMValueRef all = ptx_text(l, text.data, constraints.data, type, t->arguments, t->count, true);
    for (int i = 0; i < t->results; i++)
        words[i] = t->results == 1 ? all : LLVMBuildExtractValue(l->builder, all, (unsigned)i, "");
    buffer_free(&text);
    buffer_free(&constraints);
    buffer_free(&t->body);
    buffer_free(&t->constraints);
}

/* The first element's address; *parts are its own. */
static const char *begin_walk(struct text *t, int reg, struct reach_parts *parts)
{
    int64_t offset;
    const char *at = input(t, reach_address(t->l, t->reach, reg, &offset), 'l');
    reach_parts_of(t->reach, reg, parts);
    return at;
}

static const char *place_of(struct text *t, const char *at, const struct reach_parts *parts)
{
    return parts->offset ? arena_printf(t->l->arena, "%s+%lld", at, (long long)parts->offset) : at;
}

/* Loads registers, two a word where `pairs` says so (of 16 bits each). */
static void load_text(struct lowering *l, const struct reach *reach, const struct bounds *bounds, const char *cache,
                      const int *registers, int count, bool pairs, LLVMValueRef *words)
{
    struct memory_shape shape = memory_shape(reach->element, 1);
    struct text t = {.l = l, .reach = reach, .bounds = bounds, .shape = shape, .pairs = pairs};
    struct reach_parts before, parts;
    t.results = pairs ? count / 2 : count;
    const char *opcode = ptx_words(l, PTX_LOAD, (const char *[3]){cache, "", memory_word_name(shape)});
    const char *at = begin_walk(&t, registers[0], &before);
    for (int i = 0; i < count; i++) {
        const char *result = arena_printf(l->arena, pairs ? "%%e%d" : "$%d", i);
        reach_parts_of(reach, registers[i], &parts);
        at = add_steps(&t, at, &before, &parts);
        before = parts;
        if (reach->access.mask)
            t.mask[i] = value_register(l, reach->access.mask, registers[i]);
        const char *guard = add_guard(&t, &parts, i);
        if (*guard) {
            LLVMValueRef other = value_register(l, reach->access.other, registers[i]), word;
            memory_pack(l, reach->element, shape, &other, &word);
            add_line(&t, arena_printf(l->arena, "mov.b%d %s, %s;", shape.unit == 1 ? 16 : 8 * shape.unit, result,
                                      LLVMIsNull(word) ? "0" : input(&t, word, memory_word_letter(shape))));
        }
        add_line(&t, arena_printf(l->arena, "%s%s %s, [%s];", guard, opcode, result, place_of(&t, at, &parts)));
    }
    for (int i = 0; i < t.results && pairs; i++)
        add_line(&t, arena_printf(l->arena, "mov.b32 $%d, {%%e%d, %%e%d};", i, 2 * i, 2 * i + 1));
    emit_text(&t, count, words);
}

/* Name of element i where it and a neighbour are the halves of a word, which the first of them takes apart; NULL: they
 * are not. */
static const char *half_name(struct text *t, const int *registers, int count, int i)
{
    struct lowering *l = t->l;
    int first = i - i % 2;
    if (!t->pairs || first + 1 >= count)
        return NULL;
    LLVMValueRef word = value_whole(l, value_register(l, t->reach->access.value, registers[first]),
                                    value_register(l, t->reach->access.value, registers[first + 1]));
    if (!word)
        return NULL;
    if (i == first)
        add_line(t, arena_printf(l->arena, "mov.b32 {%%e%d, %%e%d}, %s;", i, i + 1, input(t, word, 'r')));
    return arena_printf(l->arena, "%%e%d", i);
}

/* Stores registers, where `leader` and what reach says hold. */
static void store_text(struct lowering *l, const struct reach *reach, const struct bounds *bounds, const char *cache,
                       const int *registers, int count, LLVMValueRef leader, const struct ir_value *mask)
{
    struct memory_shape shape = memory_shape(reach->element, 1);
    struct text t = {
        .l = l, .reach = reach, .bounds = bounds, .shape = shape, .pairs = shape.unit == 2, .leader = leader};
    struct reach_parts before, parts;
    const char *opcode = ptx_words(l, PTX_STORE, (const char *[3]){cache, "", memory_word_name(shape)});
    const char *at = begin_walk(&t, registers[0], &before);
    for (int i = 0; i < count; i++) {
        LLVMValueRef value = value_register(l, reach->access.value, registers[i]), word;
        const char *name = half_name(&t, registers, count, i);
        if (!name) {
            memory_pack(l, reach->element, shape, &value, &word);
            name = input(&t, word, memory_word_letter(shape));
        }
        reach_parts_of(reach, registers[i], &parts);
        at = add_steps(&t, at, &before, &parts);
        before = parts;
        if (mask)
            t.mask[i] = value_register(l, mask, registers[i]);
        const char *guard = add_guard(&t, &parts, i);
        add_line(&t, arena_printf(l->arena, "%s%s [%s], %s;", guard, opcode, place_of(&t, at, &parts), name));
    }
    emit_text(&t, count, NULL);
}

bool access_text_applies(const struct reach *reach)
{
    struct reach_parts parts;
    return value_registers(reach->type) > 1 && reach_parts_of(reach, 0, &parts);
}

static struct bounds bounds_of_thread(struct lowering *l, const struct reach *reach)
{
    struct bounds bounds = {0};
    for (int d = 0; d < reach->access.rank; d++) {
        if (!reach->limit[d])
            continue;
        LLVMValueRef thread = coordinate_thread(l, reach->type->layout, reach->tile_dimension[d]);
        bounds.limit[d] = LLVMBuildSub(l->builder, reach->limit[d], thread, "");
        if (reach->low[d])
            bounds.low[d] = LLVMBuildSub(l->builder, reach->low[d], thread, "");
    }
    return bounds;
}

/* Registers in the order of memory along the vectors of `as`; returns their number. */
static int order_registers(const struct reach *reach, const struct layout_vector *as, int *registers)
{
    int total = value_registers(reach->type), n = 0;
    for (int start = 0; start < total; start++) {
        if (start & as->register_mask)
            continue;
        for (int i = 0; i < as->size; i++)
            registers[n++] = as->size > 1 ? layout_vector_register(as, start, i) : start;
    }
    return n;
}

/* Those together that differ by an immediate offset alone: fewer steps, and fewer registers for them. */
static void group_by_steps(struct lowering *l, const struct reach *reach, int *registers, int count)
{
    int *sorted = ARENA_ARRAY(l->arena, int, count), n = 0;
    struct reach_parts *parts = ARENA_ARRAY(l->arena, struct reach_parts, count);
    bool *taken = ARENA_ARRAY(l->arena, bool, count);
    for (int i = 0; i < count; i++)
        reach_parts_of(reach, registers[i], &parts[i]);
    for (int first = 0; first < count; first++)
        for (int i = first; i < count && !taken[first]; i++) {
            if (taken[i] || (i > first && memcmp(parts[i].step, parts[first].step, sizeof parts[i].step)))
                continue;
            taken[i] = i > first;
            sorted[n++] = registers[i];
        }
    memcpy(registers, sorted, (size_t)count * sizeof *registers);
}

void access_text_store(struct lowering *l, const struct reach *reach, const struct layout_vector *as, const char *cache,
                       LLVMValueRef leader, const struct ir_value *mask)
{
    struct bounds bounds = bounds_of_thread(l, reach);
    int *registers = ARENA_ARRAY(l->arena, int, value_registers(reach->type));
    int total = order_registers(reach, as, registers);
    group_by_steps(l, reach, registers, total);
    for (int done = 0; done < total; done += STORES) {
        int count = total - done < STORES ? total - done : STORES;
        store_text(l, reach, &bounds, cache, registers + done, count, leader, mask);
    }
}

void access_text_load(struct lowering *l, const struct reach *reach, const struct layout_vector *as, const char *cache,
                      LLVMValueRef *words)
{
    struct bounds bounds = bounds_of_thread(l, reach);
    struct memory_shape wide = memory_shape(reach->element, as->size), shape = memory_shape(reach->element, 1);
    int *registers = ARENA_ARRAY(l->arena, int, value_registers(reach->type));
    int total = order_registers(reach, as, registers);
    bool pairs = shape.unit == 2 && (wide.each == 2 || total % 2 == 0);
    LLVMValueRef *loaded = value_array(l, total);
    for (int done = 0; done < total; done += TOGETHER) {
        int count = total - done < TOGETHER ? total - done : TOGETHER;
        load_text(l, reach, &bounds, cache, registers + done, count, pairs, loaded + (pairs ? done / 2 : done));
    }
    if (pairs && wide.each == 1) { /* who wants the same pairs again finds them as words */
        for (int i = 0; i < total; i++) {
            LLVMValueRef half = loaded[i / 2];
            if (i % 2)
                half = LLVMBuildLShr(l->builder, half, value_i32(l, 16), "");
            words[i] = LLVMBuildTrunc(l->builder, half, memory_word_type(l, shape), "");
        }
        return;
    }
    if (pairs || wide.each == 1) {
        for (int i = 0; i < total / wide.each; i++)
            words[i] = loaded[i];
        return;
    }
    for (int first = 0; first < total; first += as->size) {
        LLVMValueRef elements[16];
        for (int i = 0; i < as->size; i++)
            memory_unpack(l, reach->element, shape, loaded + first + i, &elements[i]);
        memory_pack(l, reach->element, wide, elements, words + first / as->size * wide.words);
    }
}
