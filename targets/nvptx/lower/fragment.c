/* Fragments of mma.sync out of shared memory.  See fragment.h and matrix_rows.h. */
#include "targets/nvptx/lower/fragment.h"

#include "targets/nvptx/lower/matrix_rows.h"

/* What bits of an offset the thread's part can set. */
static uint32_t bits_of(const struct layout_formula *formula)
{
    uint32_t bits = 0;
    for (int i = 0; i < formula->fields; i++) {
        const struct layout_field *field = &formula->field[i];
        bits |= field->multiplier * ((UINT32_C(1) << field->count) - 1);
    }
    return bits;
}

static void open_buffer(struct lowering *l, struct fragment *f)
{
    const struct layout *shared = f->value->type->layout;
    int bytes = value_bytes(f->element), row = 16 / bytes;
    for (int way = 0; way < 2 && !f->rows; way++) {
        const struct layout *rows = matrix_rows(l->layouts, f->layout, bytes, way == 1, &f->matrix_bits);
        if (!rows)
            continue;
        struct layout_vector vector = layout_memory_vector(rows, shared, row);
        if (vector.size != row || vector.register_mask != row - 1)
            continue;
        f->rows = rows;
        f->transposed = way == 1;
        f->row_bits = log2_floor((uint64_t)row);
    }
    f->start = buffer_start(l, f->value);
    layout_memory_formula(f->rows ? f->rows : f->layout, shared, &f->formula);
    f->thread_bits = bits_of(&f->formula);
}

void fragment_open(struct lowering *l, const struct ir_value *value, const struct layout *layout,
                   struct fragment *fragment)
{
    int bytes = value_bytes(value->type->element), word_bits = bytes < 4 ? log2_floor((uint64_t)(4 / bytes)) : 0;
    *fragment = (struct fragment){.value = value,
                                  .layout = layout,
                                  .element = value->type->element,
                                  .word_bits = word_bits,
                                  .words = layout_registers(layout) >> word_bits};
    fragment->word = value_array(l, fragment->words);
    if (value->type->kind == IR_BUFFER)
        open_buffer(l, fragment);
    else if (!layout_equal(value->type->layout, layout))
        die("a factor of mma in another layout than its operand's");
}

/* start + bytes * (thread part XOR what of the register's part meets it); the rest of the register's part is
 * *constant.  One value for each XOR, as they repeat. */
static LLVMValueRef address_of(struct lowering *l, struct fragment *f, int reg, int64_t *constant)
{
    LLVMBuilderRef b = l->builder;
    int bytes = value_bytes(f->element), atom_part, repeat_part;
    layout_memory_parts(f->rows ? f->rows : f->layout, f->value->type->layout, reg, &atom_part, &repeat_part);
    uint32_t swizzle = (uint32_t)atom_part & f->thread_bits;
    *constant = ((int64_t)((uint32_t)atom_part & ~f->thread_bits) + repeat_part) * bytes;
    for (struct fragment_address *a = f->addresses; a; a = a->next)
        if (a->swizzle == swizzle)
            return a->address;
    LLVMValueRef place = coordinate_formula(l, &f->formula);
    if (swizzle)
        place = LLVMBuildXor(b, place, value_i32(l, swizzle), "");
    if (f->formula.group_multiplier) {
        LLVMValueRef group = LLVMBuildUDiv(b, l->warp, value_i32(l, f->formula.group_warps), "");
        place = LLVMBuildAdd(b, place, LLVMBuildMul(b, group, value_i32(l, f->formula.group_multiplier), ""), "");
    }
    place = LLVMBuildAdd(b, LLVMBuildMul(b, place, value_i32(l, bytes), ""), f->start, "");
    struct fragment_address *entry = ARENA_NEW(l->arena, struct fragment_address);
    *entry = (struct fragment_address){swizzle, place, f->addresses};
    f->addresses = entry;
    return place;
}

static void load_matrices(struct lowering *l, struct fragment *f, int group)
{
    static const enum ptx_row rows[3] = {PTX_LDMATRIX_1, PTX_LDMATRIX_2, PTX_LDMATRIX_4};
    int count = 1 << f->matrix_bits;
    int64_t constant;
    LLVMValueRef address = address_of(l, f, group << f->row_bits, &constant);
    const char *words[2] = {f->transposed ? ".trans" : "", arena_printf(l->arena, "%lld", (long long)constant)};
    LLVMTypeRef members[4] = {l->i32, l->i32, l->i32, l->i32};
    LLVMTypeRef type = count == 1 ? l->i32 : LLVMStructTypeInContext(l->context, members, (unsigned)count, false);
    LLVMValueRef all = ptx_emit(l, rows[f->matrix_bits], type, &address, 1, words);
    for (int i = 0; i < count; i++)
        f->word[(group << f->matrix_bits) + i] = count == 1 ? all
                                                            : LLVMBuildExtractValue(l->builder, all, (unsigned)i, "");
}

LLVMValueRef fragment_address_of(struct lowering *l, struct fragment *f, int group, int64_t *constant)
{
    return address_of(l, f, group << f->row_bits, constant);
}

const char *fragment_load_text(struct lowering *l, const struct fragment *f, int group, char letter, int address,
                               int64_t constant)
{
    struct buffer names = {0};
    for (int i = 0; i < 1 << f->matrix_bits; i++)
        buffer_printf(&names, "%s%%%c%d", i ? ", " : "", letter, (group << f->matrix_bits) + i);
    const char *words[5] = {arena_printf(l->arena, "%d", 1 << f->matrix_bits), f->transposed ? ".trans" : "",
                            names.data, arena_printf(l->arena, "$%d", address),
                            arena_printf(l->arena, "%lld", (long long)constant)};
    const char *text = ptx_words(l, PTX_LDMATRIX, words);
    buffer_free(&names);
    return text;
}

/* Elements, element 0 lowest, as one word. */
static LLVMValueRef pack(struct lowering *l, const struct fragment *f, const LLVMValueRef *values)
{
    LLVMBuilderRef b = l->builder;
    int bits = 8 * value_bytes(f->element);
    if (bits == 64)
        return values[0];
    LLVMValueRef word = f->word_bits == 1 && bits == 16 ? value_joined(l, values[0], values[1]) : NULL;
    if (word)
        return word;
    for (int i = 0; i < 1 << f->word_bits; i++) {
        LLVMValueRef part = LLVMBuildZExt(b, value_to_bits(l, f->element, values[i]), l->i32, "");
        if (i)
            part = LLVMBuildShl(b, part, value_i32(l, i * bits), "");
        word = word ? LLVMBuildOr(b, word, part, "") : part;
    }
    return word;
}

static LLVMValueRef shared_at(struct lowering *l, LLVMValueRef address, int64_t constant)
{
    LLVMValueRef sum = value_sum(l, address, value_i32(l, constant));
    return LLVMBuildIntToPtr(l->builder, sum, l->shared_pointer, "");
}

static LLVMValueRef load_alone(struct lowering *l, struct fragment *f, int word)
{
    int count = 1 << f->word_bits, bytes = value_bytes(f->element), first = word << f->word_bits;
    struct layout_vector vector = layout_memory_vector(f->layout, f->value->type->layout, count);
    LLVMValueRef values[4];
    int64_t constant;
    if (bytes <= 4 && vector.size == count && vector.register_mask == count - 1) {
        LLVMValueRef address = address_of(l, f, first, &constant);
        return shared_load(l, IR_U32, shared_at(l, address, constant), 4);
    }
    for (int i = 0; i < count; i++) {
        LLVMValueRef address = address_of(l, f, first + i, &constant);
        values[i] = shared_load(l, f->element, shared_at(l, address, constant), bytes);
    }
    return pack(l, f, values);
}

LLVMValueRef fragment_word(struct lowering *l, struct fragment *f, int word)
{
    if (f->word[word])
        return f->word[word];
    if (f->value->type->kind != IR_BUFFER) {
        LLVMValueRef values[4];
        for (int i = 0; i < 1 << f->word_bits; i++)
            values[i] = value_register(l, f->value, (word << f->word_bits) + i);
        f->word[word] = pack(l, f, values);
    } else if (f->rows) {
        load_matrices(l, f, word >> f->matrix_bits);
    } else {
        f->word[word] = load_alone(l, f, word);
    }
    return f->word[word];
}
