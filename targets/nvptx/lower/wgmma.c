/* Products by wgmma: each four warps (a warpgroup) multiply 64 rows by up to 256 columns.  The second factor, and
 * mostly the first, are read from shared memory by descriptors.
 *
 * An instruction takes 32 bytes of k.  A descriptor has two distances, and what they mean depends on how a factor
 * lies:
 *   - Its rows run along k: groups of 8 rows follow each other at the stride SBO.
 *   - Its rows run along m or n: a row is a step of k, groups of 8 of them follow at SBO, and panels as wide as the swizzle
 *     follow at LBO.
 * All distances are asked of the buffer's layout.  An extent that they do not fit is cut into more instructions, such
 * as an odd repeat of n, or rows of which a warpgroup has more than 64.  Which register of the accumulator is which
 * register of the instruction is asked of the accumulator's layout in the same way.
 *
 * A descriptor's low word is a 32-bit sum of what is uniform: the slot, the warpgroup (the shuffled number of the
 * warp) and constants; its high word is a constant.  The last constant is added right in front of the instruction,
 * because ptxas keeps few descriptors in uniform registers at a time, and none of forty that are made together. */
#include "targets/nvptx/lower/lower.h"
#include "targets/nvptx/lower/mma_form.h"
#include "targets/nvptx/thread/memory.h"

enum {
    ROWS = 64,
    MOST_COLUMNS = 256,
    STEP_BYTES = 32,
    SAMPLE_LANES = 6,
    REGISTERS_BESIDE = 28 /* that ptxas asks for beside the accumulator of one instruction */
};

/* A factor in shared memory. */
struct factor {
    const struct ir_type *type;
    int across, along; /* dimensions: m or n, and k */
    struct shared_form form;
    bool transposed;     /* rows run across */
    int leading, stride; /* LBO and SBO, in units of 16 bytes */
    LLVMValueRef start;  /* i32, units of 16 bytes, within the 18 bits that descriptors know */
};

struct product {
    struct ir_operation *operation;
    const struct layout *layout; /* of the accumulator */
    enum ir_element element;     /* of the accumulator */
    int bytes;                   /* of a factor's element */
    int step, steps;             /* of k */
    int groups, blocks;          /* warpgroups; blocks of 64 rows in each */
    int *row;                    /* of block i of group g: row[g * blocks + i] */
    int columns, chunks;         /* of an instruction; instructions side by side */
    struct factor a, b;
    const struct ir_value *a_tile; /* A from registers, or NULL */
    const char *types;
    bool scales, transposes; /* which immediates the instruction has */
};

static int offset_at(const struct factor *f, int bytes, int across, int along)
{
    int coordinates[LAYOUT_RANK] = {0};
    coordinates[f->across] = across;
    coordinates[f->along] = along;
    return (int)shared_form_offset(f->type->layout, bytes, coordinates);
}

/* Whether an instruction can read `span` rows or columns from `start` on: sets LBO and SBO. */
static bool describe(struct factor *f, int bytes, int start, int span, int step, int k)
{
    int origin = offset_at(f, bytes, start, k);
    int across = 1, along = 1; /* not looked at: 1 */
    if (!f->transposed) {
        if (span > 8)
            across = (offset_at(f, bytes, start + 8, k) - origin) / 16;
        for (int i = 8; i < span; i += 8)
            if (offset_at(f, bytes, start + i, k) - origin != i / 8 * across * 16)
                return false;
        if (f->form.swizzle) {
            f->leading = 1;
        } else {
            along = (offset_at(f, bytes, start, k + step / 2) - origin) / 16;
            f->leading = along;
        }
        f->stride = across;
    } else {
        int width = f->form.swizzle / bytes;
        if (span > width)
            across = (offset_at(f, bytes, start + width, k) - origin) / 16;
        for (int i = width; i < span; i += width)
            if (offset_at(f, bytes, start + i, k) - origin != i / width * across * 16)
                return false;
        if (step > 8)
            along = (offset_at(f, bytes, start, k + 8) - origin) / 16;
        if (span < width && start % width + span > width)
            return false;
        f->leading = across;
        f->stride = along;
    }
    return origin % 16 == 0 && across > 0 && along > 0 && across < 1 << 14 && along < 1 << 14;
}

static void open_factor(struct lowering *l, struct product *p, struct factor *f, const struct ir_value *value,
                        int across, int along)
{
    LLVMBuilderRef b = l->builder;
    *f = (struct factor){.type = value->type, .across = across, .along = along};
    if (!shared_form_of(l->layouts, value->type->layout, p->bytes, &f->form))
        die("a factor of wgmma in %s does not lie as wgmma reads", l->function->name);
    f->transposed = f->form.contiguous == across;
    if (f->transposed && (!p->transposes || !f->form.swizzle))
        die("wgmma reads this factor only with rows along k");
    LLVMValueRef window = LLVMBuildAnd(b, l->shared_start, value_i32(l, 0x3ffff), "");
    window = LLVMBuildLShr(b, window, value_i32(l, 4), "");
    f->start = LLVMBuildAdd(b, window, buffer_place(l, value, PLACE_UNITS), "");
}

/* ---- which instruction ---- */

static const char *type_name(enum ir_element element)
{
    switch (element) {
    case IR_BF16: return "bf16";
    case IR_F16: return "f16";
    case IR_F32: return "tf32";
    case IR_F8E4M3: return "e4m3";
    case IR_F8E5M2: return "e5m2";
    case IR_I8: return "s8";
    case IR_U8: return "u8";
    default: return NULL;
    }
}

static void open_types(struct lowering *l, struct product *p)
{
    enum ir_element a = p->operation->operands[0]->type->element, b = p->operation->operands[1]->type->element;
    const char *a_name = type_name(a), *b_name = type_name(b);
    p->bytes = value_bytes(a);
    p->element = p->operation->results[0]->type->element;
    if (!a_name || !b_name || value_bytes(b) != p->bytes || (p->bytes > 1 && a != b) ||
        ir_is_float(a) != ir_is_float(b) || p->element != (ir_is_float(a) ? IR_F32 : IR_I32))
        die("wgmma does not multiply %s by %s", ir_element_info[a].text, ir_element_info[b].text);
    p->step = STEP_BYTES / p->bytes;
    p->types = arena_printf(l->arena, "%s.%s.%s", p->element == IR_I32 ? "s32" : "f32", a_name, b_name);
    p->scales = p->element == IR_F32;
    p->transposes = p->bytes == 2;
}

static bool good_columns(const struct product *p, int columns)
{
    return p->element == IR_F32 ? columns % 8 == 0 : columns % 16 == 0 || columns == 8 || columns == 24;
}

/* Registers of an instruction's accumulator: row 16 * warp + lane / 4 and 8 more, columns 8 * j + 2 * (lane % 4) and
 * the next. */
static void place_in_fragment(int reg, int lane, int warp, int *row, int *column)
{
    *row = 16 * (warp % 4) + lane / 4 + 8 * (reg >> 1 & 1);
    *column = 8 * (reg >> 2) + 2 * (lane % 4) + (reg & 1);
}

/* The register of a tile that holds (row, column) in all threads alike.  lane and warp say which thread has which. */
typedef void place_function(int reg, int lane, int warp, int *row, int *column);

static void find_blocks(struct lowering *l, struct product *p)
{
    int count = layout_registers(p->layout), rank = p->layout->rank, most = p->layout->extent[rank - 2] / ROWS;
    int *row = ARENA_ARRAY(l->arena, int, p->groups *most);
    p->blocks = 0;
    for (int g = 0; g < p->groups; g++) {
        int found = 0;
        for (int reg = 0; reg < count; reg++) {
            int coordinates[LAYOUT_RANK];
            struct layout_position position = {.part = {[LAYOUT_REGISTER] = reg, [LAYOUT_WARP] = 4 * g}};
            layout_coordinates(p->layout, &position, coordinates);
            int at = coordinates[rank - 2], known = 0;
            if (coordinates[rank - 1] || at % 16)
                continue;
            while (known < found && row[g * most + known] != at)
                known++;
            if (known < found)
                continue;
            if (found == most)
                die("the accumulator of wgmma is of another layout");
            row[g * most + found++] = at;
        }
        if (g && found != p->blocks)
            die("warpgroups have different numbers of rows");
        p->blocks = found;
    }
    if (!p->blocks)
        die("the accumulator of wgmma is of another layout");
    p->row = ARENA_ARRAY(l->arena, int, p->groups * p->blocks);
    for (int g = 0; g < p->groups; g++)
        for (int i = 0; i < p->blocks; i++)
            p->row[g * p->blocks + i] = row[g * most + i];
}

/* The register of `layout` that holds element (row of the block + row, column + column) of the fragment's register, the
 * same in all threads: which register it is, is a XOR of what lane and warp say, so that each is looked at alone. */
static int find_register(const struct product *p, const struct layout *layout, int block, int column,
                         place_function *place, int reg)
{
    static const int lanes[SAMPLE_LANES] = {0, 1, 2, 4, 8, 16};
    int found = -1, rank = layout->rank;
    for (int warp = 0; warp < 4 * p->groups; warp++)
        for (int i = 0; i < (warp ? 1 : SAMPLE_LANES); i++) {
            int coordinates[LAYOUT_RANK] = {0}, row, inner;
            struct layout_position thread = {.part = {[LAYOUT_LANE] = lanes[i], [LAYOUT_WARP] = warp}};
            place(reg, lanes[i], warp, &row, &inner);
            coordinates[rank - 2] = p->row[warp / 4 * p->blocks + block] + row;
            coordinates[rank - 1] = column + inner;
            int here = layout_register_at(layout, &thread, coordinates);
            if (here < 0 || (found >= 0 && here != found))
                die("a tile of wgmma is of another layout");
            found = here;
        }
    return found;
}

/* The most columns that one descriptor of B reaches, and whose sums fit into the registers that a thread starts with:
 * ptxas refuses an instruction that has to wait for setmaxnreg (C7602). */
static void choose_columns(const struct lowering *l, struct product *p, int n)
{
    int registers = roles_registers_at_start(l), told = l->function->max_registers;
    int fit = 2 * ((told && told < registers ? told : registers) - REGISTERS_BESIDE);
    int most = fit < 8 ? 8 : fit < MOST_COLUMNS ? fit : MOST_COLUMNS;
    for (int columns = n < most ? n : most / 8 * 8; columns >= 8; columns -= 8) {
        if (columns % 8 || n % columns || !good_columns(p, columns))
            continue;
        bool fits = true;
        int leading = 0, stride = 0;
        for (int c = 0; c < n / columns && fits; c++)
            for (int s = 0; s < p->steps && fits; s++) {
                fits = describe(&p->b, p->bytes, c * columns, columns, p->step, s * p->step);
                if (c + s == 0) {
                    leading = p->b.leading;
                    stride = p->b.stride;
                }
                fits = fits && leading == p->b.leading && stride == p->b.stride;
            }
        if (!fits)
            continue;
        p->columns = columns;
        p->chunks = n / columns;
        return;
    }
    die("no wgmma reads %d columns of this factor", n);
}

/* Rows of A: the first of block i, and what a warpgroup adds (units of 16 bytes). */
static int check_rows(struct product *p)
{
    int apart = 0;
    for (int g = 0; g < p->groups; g++)
        for (int i = 0; i < p->blocks; i++)
            for (int s = 0; s < p->steps; s++) {
                int row = p->row[g * p->blocks + i], k = s * p->step;
                if (!describe(&p->a, p->bytes, row, ROWS, p->step, k))
                    die("no wgmma reads 64 rows of this factor");
                int distance = offset_at(&p->a, p->bytes, row, k) - offset_at(&p->a, p->bytes, p->row[i], k);
                if (g == 1 && i + s == 0)
                    apart = distance;
                if (distance != g * apart)
                    die("warpgroups' rows are not at one distance");
            }
    return apart / 16;
}

/* ---- code ---- */

static uint32_t swizzle_code(int swizzle) { return swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0; }

/* Words of 32 bits of A: word i holds rows lane / 4 + 8 * (i & 1), a word along k at 4 * (i >> 1) + lane % 4. */
static void place_of_word_2(int reg, int lane, int warp, int *row, int *column)
{
    int word = reg >> 1;
    *row = 16 * (warp % 4) + lane / 4 + 8 * (word & 1);
    *column = 2 * (4 * (word >> 1) + lane % 4) + (reg & 1);
}
static void place_of_word_4(int reg, int lane, int warp, int *row, int *column)
{
    *row = 16 * (warp % 4) + lane / 4 + 8 * (reg & 1);
    *column = 4 * (reg >> 1) + lane % 4;
}
static void place_of_word_1(int reg, int lane, int warp, int *row, int *column)
{
    int word = reg >> 2;
    *row = 16 * (warp % 4) + lane / 4 + 8 * (word & 1);
    *column = 4 * (4 * (word >> 1) + lane % 4) + (reg & 3);
}

/* As it comes from its buffer. */
static bool is_rounded(const struct ir_value *tile)
{
    const struct ir_operation *op = tile->definition;
    return op && op->opcode == OP_BUFFER_LOAD &&
           ir_number(op, IR_ATTRIBUTE_PRECISION, IR_PRECISION_IEEE) == IR_PRECISION_TF32;
}

static void words_of_tile(struct lowering *l, const struct product *p, int block, int k, LLVMValueRef words[4])
{
    const struct ir_value *tile = p->a_tile;
    int each = 4 / p->bytes;
    place_function *place = each == 2 ? place_of_word_2 : each == 1 ? place_of_word_4 : place_of_word_1;
    for (int w = 0; w < 4; w++) {
        LLVMValueRef values[4];
        for (int i = 0; i < each; i++)
            values[i] = value_register(l, tile, find_register(p, tile->type->layout, block, k, place, w * each + i));
        memory_pack(l, tile->type->element, memory_shape(tile->type->element, each), values, &words[w]);
        if (tile->type->element == IR_F32 && !is_rounded(tile)) /* it would be cut off */
            words[w] = mma_form_make(l, IR_F32, words[w], MMA_NEAREST);
    }
}

enum addition { ADD_NEVER, ADD_ALWAYS, ADD_IF }; /* whether the accumulator is looked at */

/* All instructions of a product as one text, so that LLVM sees the accumulator once and not once for each step of k:
 *   { .reg .b32 low; .reg .b64 a, b;
 *   fence; add.s32 low, $128, 4; mov.b64 a, {low, 64}; …
 *   m64n256k16.f32.bf16.bf16 {$0, …, $127}, a, b, 1, 1, 1, 0, 1; …; commit; }
 * with the results "=f"…, then the inputs "r" and "b", then ties "0", "1", … */
struct text {
    struct buffer body, inputs;
    LLVMValueRef *arguments;
    int results, count; /* operands $0 …; inputs behind them */
};

/* The number of an input among the operands; what is there already is not passed twice. */
static int input_number(struct text *t, char letter, LLVMValueRef value)
{
    for (int i = 0; i < t->count; i++)
        if (t->arguments[i] == value)
            return t->results + i;
    buffer_printf(&t->inputs, ",%c", letter);
    t->arguments[t->count] = value;
    return t->results + t->count++;
}

static void add_line(struct text *t, const char *line)
{
    buffer_printf(&t->body, "%s%s", t->body.size ? "\n\t" : "", line);
}

/* Descriptor `name` (a or b) of what lies `offset` bytes behind the factor's start. */
static void add_descriptor(struct lowering *l, struct text *t, const char *name, const struct factor *f, int offset)
{
    uint32_t high = (uint32_t)f->stride | (uint32_t)swizzle_code(f->form.swizzle) << 30;
    const char *words[4] = {arena_printf(l->arena, "$%d", input_number(t, 'r', f->start)),
                            arena_printf(l->arena, "%d", offset / 16 + (f->leading << 16)), name,
                            arena_printf(l->arena, "%" PRIu32, high)};
    add_line(t, ptx_words(l, PTX_WGMMA_DESCRIPTOR, words));
}

/* One instruction into the registers of the tile that `registers` lists; `a`: words of A, or NULL where there is a
 * descriptor. */
static void multiply(struct lowering *l, const struct product *p, struct text *t, const int *registers,
                     const LLVMValueRef *a, enum addition addition, LLVMValueRef condition)
{
    struct buffer text = {0};
    for (int i = 0; i < p->columns / 2; i++)
        buffer_printf(&text, "%s$%d", i ? ", " : "{", registers[i]);
    buffer_puts(&text, a ? "}, " : "}, a, ");
    for (int i = 0; i < 4 && a; i++)
        buffer_printf(&text, "%s$%d%s", i ? ", " : "{", input_number(t, 'r', a[i]), i == 3 ? "}, " : "");
    buffer_puts(&text, "b, ");
    if (addition == ADD_IF)
        buffer_printf(&text, "$%d", input_number(t, 'b', condition));
    else
        buffer_puts(&text, addition == ADD_ALWAYS ? "1" : "0");
    if (p->scales)
        buffer_puts(&text, ", 1, 1");
    if (p->transposes && !p->a_tile)
        buffer_printf(&text, ", %d", p->a.transposed);
    if (p->transposes)
        buffer_printf(&text, ", %d", p->b.transposed);
    const char *words[2] = {arena_printf(l->arena, "m64n%dk%d.%s", p->columns, p->step, p->types), text.data};
    add_line(t, ptx_words(l, PTX_WGMMA, words));
    buffer_free(&text);
}

/* The text as a call; the accumulator's registers are replaced.  Later instructions read inputs after the first one has
 * begun to write results: those that could lie in registers of the same kind are marked so (&). */
static void emit_text(struct lowering *l, const struct product *p, struct text *t, bool ties, LLVMValueRef *out)
{
    bool is_float = p->element == IR_F32;
    struct buffer constraints = {0};
    LLVMTypeRef *members = ARENA_ARRAY(l->arena, LLVMTypeRef, t->results);
    for (int i = 0; i < t->results; i++) {
        buffer_printf(&constraints, "%s%s", i ? "," : "", is_float ? "=f" : "=&r");
        members[i] = is_float ? l->f32 : l->i32;
    }
    buffer_append(&constraints, t->inputs.data, t->inputs.size);
    for (int i = 0; i < t->results && ties; i++) {
        buffer_printf(&constraints, ",%d", i);
        t->arguments[t->count++] = out[i];
    }
    LLVMTypeRef type = LLVMStructTypeInContext(l->context, members, (unsigned)t->results, false);
    LLVMValueRef all = ptx_text_together(l, t->body.data, constraints.data, type, t->arguments, t->count);
    for (int i = 0; i < t->results; i++)
        out[i] = LLVMBuildExtractValue(l->builder, all, (unsigned)i, "");
    buffer_free(&constraints);
    buffer_free(&t->body);
    buffer_free(&t->inputs);
}

/* Whether the third operand counts, from the fourth and from what the third is. */
static enum addition addition_of(struct lowering *l, const struct ir_operation *operation, LLVMValueRef *condition)
{
    const struct ir_value *start = operation->operands[2];
    int64_t known;
    uint64_t bits;
    if (start->definition && start->definition->opcode == OP_UNDEFINED)
        return ADD_NEVER;
    if (start->definition && start->definition->opcode == OP_CONSTANT && ir_constant_of(start, &bits) && bits == 0)
        return ADD_NEVER;
    if (operation->operand_count < 4)
        return ADD_ALWAYS;
    if (ir_constant_integer(operation->operands[3], &known))
        return known ? ADD_ALWAYS : ADD_NEVER;
    *condition = value_register(l, operation->operands[3], 0);
    return ADD_IF;
}

static void open_product(struct lowering *l, struct product *p, struct ir_operation *operation)
{
    const struct ir_value *a = operation->operands[0], *b = operation->operands[1];
    *p = (struct product){.operation = operation, .layout = operation->results[0]->type->layout};
    int rank = p->layout ? p->layout->rank : 0;
    if (rank != 2)
        die("wgmma multiplies matrices, not tiles of rank %d", rank);
    if (l->warps % 4)
        die("wgmma is done by warpgroups, not by %d warps", l->warps);
    open_types(l, p);
    p->groups = l->warps / 4;
    p->steps = (int)(b->type->extent[0] / p->step);
    if (b->type->extent[0] % p->step)
        die("wgmma multiplies %d of k at a time", p->step);
    find_blocks(l, p);
    open_factor(l, p, &p->b, b, 1, 0);
    choose_columns(l, p, (int)b->type->extent[1]);
    if (a->type->kind == IR_TILE) {
        p->a_tile = a;
        return;
    }
    open_factor(l, p, &p->a, a, 0, 1);
    int apart = check_rows(p);
    if (!apart)
        return;
    LLVMValueRef group = LLVMBuildLShr(l->entry, l->warp, value_i32(l, 2), "");
    group = LLVMBuildMul(l->entry, group, value_i32(l, apart), "");
    p->a.start = LLVMBuildAdd(l->builder, p->a.start, group, "");
}

/* registers[block * chunks + chunk][i]: the tile's register that register i of that instruction is. */
static int **map_registers(struct lowering *l, const struct product *p)
{
    int **map = ARENA_ARRAY(l->arena, int *, p->blocks * p->chunks);
    for (int i = 0; i < p->blocks * p->chunks; i++) {
        map[i] = ARENA_ARRAY(l->arena, int, p->columns / 2);
        for (int reg = 0; reg < p->columns / 2; reg++)
            map[i][reg] = find_register(p, p->layout, i / p->chunks, i % p->chunks * p->columns, place_in_fragment,
                                        reg);
    }
    return map;
}

void lower_wgmma(struct lowering *l, struct ir_operation *operation)
{
    struct product p;
    LLVMValueRef condition = NULL;
    if (!(l->row->flags & TARGET_WGMMA))
        die("%s has no wgmma", l->row->name);
    open_product(l, &p, operation);
    enum addition first = addition_of(l, operation, &condition);
    int **map = map_registers(l, &p), count = value_registers(operation->results[0]->type);
    const LLVMValueRef *in = value_of(l, operation->operands[2])->registers;
    LLVMValueRef *out = value_define(l, operation->results[0]);
    for (int i = 0; i < count; i++)
        out[i] = in[i];
    int most = 4 * p.steps * p.blocks + 3; /* words of A, where descriptors start, the condition */
    struct text text = {.results = count, .arguments = value_array(l, most + count)};
    add_line(&text, ptx_words(l, PTX_WGMMA_OPEN, NULL));
    LLVMValueRef words[4];
    for (int s = 0; s < p.steps; s++)
        for (int i = 0; i < p.blocks * p.chunks; i++) {
            int block = i / p.chunks, chunk = i % p.chunks, k = s * p.step;
            if (!chunk && p.a_tile)
                words_of_tile(l, &p, block, k, words);
            else if (!chunk)
                add_descriptor(l, &text, "a", &p.a, offset_at(&p.a, p.bytes, p.row[block], k));
            add_descriptor(l, &text, "b", &p.b, offset_at(&p.b, p.bytes, chunk * p.columns, k));
            multiply(l, &p, &text, map[i], p.a_tile ? words : NULL, s ? ADD_ALWAYS : first, condition);
        }
    add_line(&text, ptx_words(l, PTX_WGMMA_COMMIT, NULL));
    emit_text(l, &p, &text, first != ADD_NEVER, out);
}

/* The registers of results that somebody uses go through the instruction, so that nothing reads them before it.  Where
 * no product is on its way (mma.sync) there is nothing to wait for. */
void lower_wgmma_wait(struct lowering *l, struct ir_operation *operation)
{
    const char *pending = arena_printf(l->arena, "%lld", (long long)ir_number(operation, IR_ATTRIBUTE_PENDING, 0));
    int count = 0, n = 0;
    for (int i = 0; i < operation->result_count; i++)
        count += value_registers(operation->results[i]->type);
    LLVMValueRef *arguments = value_array(l, count);
    LLVMTypeRef *members = ARENA_ARRAY(l->arena, LLVMTypeRef, count);
    struct buffer constraints = {0};
    for (int i = 0; i < operation->result_count; i++) {
        struct ir_value *result = operation->results[i];
        LLVMValueRef *out = value_define(l, result);
        const LLVMValueRef *in = value_of(l, operation->operands[i])->registers;
        for (int reg = 0; reg < value_registers(result->type); reg++) {
            out[reg] = in[reg];
            if (!result->uses || !l->wgmma)
                continue;
            buffer_printf(&constraints, "%s=%c", n ? "," : "", result->type->element == IR_F32 ? 'f' : 'r');
            members[n] = LLVMTypeOf(in[reg]);
            arguments[n++] = in[reg];
        }
    }
    if (n == 0) {
        if (l->wgmma)
            ptx_emit(l, PTX_WGMMA_WAIT, l->nothing, NULL, 0, &pending);
        return;
    }
    for (int i = 0; i < n; i++)
        buffer_printf(&constraints, ",%d", i);
    LLVMTypeRef type = n == 1 ? members[0] : LLVMStructTypeInContext(l->context, members, (unsigned)n, false);
    LLVMValueRef all = ptx_text_together(l, ptx_words(l, PTX_WGMMA_WAIT, &pending), constraints.data, type, arguments,
                                         n);
    n = 0;
    for (int i = 0; i < operation->result_count; i++) {
        struct ir_value *result = operation->results[i];
        LLVMValueRef *out = l->values[result->id].registers;
        if (!result->uses)
            continue;
        for (int reg = 0; reg < value_registers(result->type); reg++, n++)
            out[reg] = LLVMTypeOf(all) == members[0] ? all : LLVMBuildExtractValue(l->builder, all, (unsigned)n, "");
    }
    buffer_free(&constraints);
}
