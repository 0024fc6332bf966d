/* Products by mma.sync: each warp multiplies fragments of 16 rows and 8 columns.  Which instruction it is says
 * product_choice.h; what its words are, of the factors' words, mma_form.h.
 *
 * The accumulator lies in layout_mma_accumulator of some grid of warps.  The factors are tiles in layout_mma_operand of the
 * same grid, or buffers that are read in it.  The layouts say which register goes where, for the thread in lane 0 of
 * warp 0: all threads are alike.  Fragments are read a few products ahead, so that shared memory and the tensor core work
 * at the same time and few registers wait.
 *
 * LLVM's time depends on how many inline texts there are and how many operands they have.  So one text holds several
 * products.  Where fragments are rows in shared memory that are taken as they are, the text loads them, too, into
 * registers that LLVM never sees. */
#include "base/plant.h"
#include "targets/nvptx/lower/fragment.h"
#include "targets/nvptx/lower/mma_form.h"

enum {
    AHEAD = 16,      /* products: a piece; more than the latency of shared memory */
    AHEAD_ALONE = 4, /* where elements are read one by one: each takes a register until its word is whole */
    BLOCKS = 4,
    STEPS = 4, /* most of a piece */
    REGISTERS = 4,
    WORDS = 6, /* of an instruction: of its sum; most of its factors */
    SPAN = 8,  /* most blocks of a text whose ldmatrix stand in it; what its sums take grows with their
                                 square */
};

struct factor {
    struct fragment fragment;
    LLVMValueRef *made[MMA_FORMS];
    int *number;  /* of the word at an element, by a quarter of the element's number; -1: none yet */
    bool inside;  /* its words are registers of the text */
    bool *loaded; /* then: by ldmatrix, whether it is written */
};

struct product {
    const struct ir_operation *operation;
    const struct layout *layout; /* of the accumulator */
    struct mma_instruction by;
    struct factor factor[2];
    int steps;       /* of k */
    int blocks;      /* 16 x 8 blocks of a warp */
    int piece;       /* so many of them are multiplied before the next */
    bool by_rows;    /* in a piece */
    int (*block)[2]; /* row and column of lane 0 in warp 0 */
    LLVMValueRef *out;
};

struct place {
    int block, step;
}; /* of a product */

/* The grid of warps that an accumulator's layout was made for. */
static bool find_grid(struct lowering *l, const struct ir_type *type, int *warps_m, int *warps_n)
{
    int extent[2] = {(int)type->extent[0], (int)type->extent[1]}, warps = layout_warps(type->layout);
    for (*warps_n = 1; *warps_n <= warps; *warps_n *= 2) {
        *warps_m = warps / *warps_n;
        if (*warps_m * *warps_n != warps)
            continue;
        if (layout_equal(layout_mma_accumulator(l->layouts, 2, extent, *warps_m, *warps_n), type->layout))
            return true;
    }
    return false;
}

static void open_factor(struct lowering *l, const struct ir_operation *operation, int operand, int warps_m, int warps_n,
                        struct factor *factor)
{
    const struct ir_value *value = operation->operands[operand];
    int extent[2] = {(int)value->type->extent[0], (int)value->type->extent[1]};
    int bytes = value_bytes(value->type->element);
    const struct layout *layout = layout_mma_operand(l->layouts, 2, extent, operand, bytes, warps_m, warps_n);
    if (!layout)
        die("no operand layout of mma for %d x %d", extent[0], extent[1]);
    fragment_open(l, value, layout, &factor->fragment);
    for (int form = 0; form < MMA_FORMS; form++)
        factor->made[form] = value_array(l, factor->fragment.words);
    factor->number = ARENA_ARRAY(l->arena, int, extent[0] * extent[1] / 4);
    for (int i = 0; i < extent[0] * extent[1] / 4; i++)
        factor->number[i] = -1;
    factor->loaded = ARENA_ARRAY(l->arena, bool, factor->fragment.words);
}

/* The register that holds an element in lane 0 of warp 0. */
static int register_at(const struct layout *layout, int row, int column)
{
    const struct layout_position first = {.part = {0}};
    int coordinates[2] = {row, column}, reg = layout_register_at(layout, &first, coordinates);
    if (reg < 0)
        die("a fragment of mma is in another thread");
    return reg;
}

static void find_blocks(struct lowering *l, struct product *p)
{
    int count = layout_registers(p->layout), coordinates[LAYOUT_RANK];
    p->block = (int(*)[2])arena_alloc(l->arena, (size_t)count * sizeof *p->block);
    for (int reg = 0; reg < count; reg++) {
        struct layout_position position = {.part = {[LAYOUT_REGISTER] = reg}};
        layout_coordinates(p->layout, &position, coordinates);
        if (coordinates[0] % 16 || coordinates[1] % 8)
            continue;
        p->block[p->blocks][0] = coordinates[0];
        p->block[p->blocks++][1] = coordinates[1];
    }
}

/* Rows of one block column go down, those of the next up: neighbours share a fragment, of B but at the turns.  (Along
 * block rows, with A shared, sm_80 text of 64 x 64 a warp was 3 % slower on an H200 with A by rows, 5 % with B by
 * columns: ptxas then wrote registers of copies that these had yet to read.) */
static void order_blocks(struct product *p)
{
    for (int i = 1; i < p->blocks; i++)
        for (int j = i; j > 0; j--) {
            int *a = p->block[j - 1], *b = p->block[j];
            bool odd = a[1] / 8 & 1;
            if (!(b[1] < a[1] || (a[1] == b[1] && (odd ? b[0] > a[0] : b[0] < a[0]))))
                break;
            for (int d = 0; d < 2; d++) {
                int keep = a[d];
                a[d] = b[d];
                b[d] = keep;
            }
        }
}

/* Words begin at multiples of 4 elements. */
static int number_at(const struct factor *f, int row, int column)
{
    int *number = &f->number[(row * (int)f->fragment.value->type->extent[1] + column) / 4];
    if (*number < 0)
        *number = register_at(f->fragment.layout, row, column) >> f->fragment.word_bits;
    return *number;
}

/* What texts call the registers of a factor by. */
static char letter_of(int operand) { return operand == 0 ? 'a' : 'b'; }

/* Numbers of the words of a block of a factor at k, in the instruction's order: rows g, g + 8 of A, then the second
 * half of k. */
static int gather_words(const struct product *p, int operand, int at, int k, int *numbers)
{
    const struct factor *f = &p->factor[operand];
    int words = PLANTED(nvptx_mma_second_half_of_k) ? 2 : 4, half = words << f->fragment.word_bits;
    int halves = p->by.reach > half ? 2 : 1, count = 0;
    for (int h = 0; h < halves; h++)
        for (int row = 0; row < (operand == 0 ? 16 : 8); row += 8)
            numbers[count++] = operand == 0 ? number_at(f, at + row, k + h * half) : number_at(f, k + h * half, at);
    return count;
}

/* Products that LLVM sees as one text.  Its operands: the sums' registers, then words and addresses, each named once,
 * then the sums again, tied to the first. */
struct text {
    struct buffer body, constraints;
    LLVMTypeRef *members;
    LLVMValueRef *inputs;
    int *places; /* registers of the accumulator */
    int sums, words;
};

static int number_operand(struct text *t, LLVMValueRef value)
{
    for (int i = t->words - 1; i >= 0; i--)
        if (t->inputs[i] == value)
            return t->sums + i;
    t->inputs[t->words++] = value;
    return t->sums + t->words - 1;
}

static LLVMValueRef make_word(struct lowering *l, struct factor *f, enum mma_form form, int number)
{
    LLVMValueRef *made = &f->made[form][number];
    if (!*made)
        *made = mma_form_make(l, f->fragment.element, fragment_word(l, &f->fragment, number), form);
    return *made;
}

static void load_inside(struct lowering *l, struct text *t, struct factor *f, char letter, int number)
{
    int group = number >> f->fragment.matrix_bits;
    if (f->loaded[group])
        return;
    f->loaded[group] = true;
    int64_t constant;
    LLVMValueRef address = fragment_address_of(l, &f->fragment, group, &constant);
    const char *text = fragment_load_text(l, &f->fragment, group, letter, number_operand(t, address), constant);
    buffer_printf(&t->body, "\n\t%s", text);
}

/* Asks for the words of a product, so that they are on their way. */
static void fetch_words(struct lowering *l, struct product *p, struct text *t, const struct place *place)
{
    int numbers[4];
    for (int operand = 0; operand < 2; operand++) {
        struct factor *f = &p->factor[operand];
        int count = gather_words(p, operand, p->block[place->block][operand], place->step * p->by.reach, numbers);
        for (int i = 0; i < count; i++) {
            if (f->inside)
                load_inside(l, t, f, letter_of(operand), numbers[i]);
            else
                make_word(l, f, MMA_AS_IT_IS, numbers[i]);
        }
    }
}

static void put_words(struct lowering *l, struct text *t, struct factor *f, char letter, enum mma_form form, int count,
                      const int *numbers)
{
    for (int i = 0; i < count; i++) {
        if (f->inside)
            buffer_printf(&t->body, "%%%c%d", letter, numbers[i]);
        else
            buffer_printf(&t->body, "$%d", number_operand(t, make_word(l, f, form, numbers[i])));
        if (i + 1 < count)
            buffer_puts(&t->body, ", ");
    }
}

/* mma… {$0, $1, $2, $3}, {$16, $17, $18, $19}, {$20, $21}, {$0, $1, $2, $3}; */
static void write_product(struct lowering *l, struct product *p, struct text *t, const char *sums,
                          const struct place *place, const struct mma_words *taken)
{
    const char *name[5] = {arena_printf(l->arena, "%d", p->by.k), p->by.sum, p->by.a, p->by.b, p->by.sum};
    buffer_printf(&t->body, "%s%s %s", t->body.size ? "\n\t" : "", ptx_words(l, PTX_MMA, name), sums);
    for (int operand = 0; operand < 2; operand++) {
        int numbers[WORDS];
        int count = gather_words(p, operand, p->block[place->block][operand], place->step * p->by.reach, numbers);
        for (int i = 0; i < taken->count; i++) {
            buffer_puts(&t->body, i == 0 ? ", {" : ", ");
            put_words(l, t, &p->factor[operand], letter_of(operand), taken->form[operand][i], count, numbers);
        }
        buffer_puts(&t->body, "}");
    }
    buffer_printf(&t->body, ", %s;", sums);
}

/* f64 before sm_90: rows 0 to 7 and the others, by 4 of k at a time. */
static void write_quarters(struct lowering *l, struct product *p, struct text *t, int sum, const struct place *place)
{
    int a[4], b[4];
    gather_words(p, 0, p->block[place->block][0], place->step * p->by.reach, a);
    gather_words(p, 1, p->block[place->block][1], place->step * p->by.reach, b);
    for (int i = 0; i < 4; i++) {
        int half = i / 2, rows = i % 2;
        const char *sums = arena_printf(l->arena, "{$%d, $%d}", sum + 2 * rows, sum + 2 * rows + 1);
        buffer_printf(&t->body, "%s%s %s, {", t->body.size ? "\n\t" : "", ptx_words(l, PTX_MMA_F64, NULL), sums);
        put_words(l, t, &p->factor[0], letter_of(0), MMA_AS_IT_IS, 1, &a[2 * half + rows]);
        buffer_puts(&t->body, "}, {");
        put_words(l, t, &p->factor[1], letter_of(1), MMA_AS_IT_IS, 1, &b[half]);
        buffer_printf(&t->body, "}, %s;", sums);
    }
}

static void write_place(struct lowering *l, struct product *p, struct text *t, int number, const struct place *place)
{
    const int *at = p->block[place->block];
    for (int i = 0; i < REGISTERS && t->places[REGISTERS * number + i] < 0; i++)
        t->places[REGISTERS * number + i] = register_at(p->layout, at[0] + (i / 2) * 8, at[1] + i % 2);
    int sum = REGISTERS * number;
    if (p->by.quarters) {
        write_quarters(l, p, t, sum, place);
        return;
    }
    const char *sums = p->by.apart ? "{%s0, %s1, %s2, %s3}"
                                   : arena_printf(l->arena, "{$%d, $%d, $%d, $%d}", sum, sum + 1, sum + 2, sum + 3);
    if (p->by.apart)
        buffer_puts(&t->body, "{ .reg .f32 %s<4>;");
    for (int i = 0; i < REGISTERS && p->by.apart; i++)
        buffer_printf(&t->body, " mov.f32 %%s%d, 0f00000000;", i);
    for (int i = 0; i < p->by.count; i++)
        write_product(l, p, t, sums, place, &p->by.words[i]);
    for (int i = 0; i < REGISTERS && p->by.apart; i++)
        buffer_printf(&t->body, " add.rn.f32 $%d, $%d, %%s%d;", sum + i, sum + i, i);
    if (p->by.apart)
        buffer_puts(&t->body, " }");
}

static struct text text_open(struct lowering *l, const struct product *p, int blocks, int instructions)
{
    int sums = REGISTERS * blocks, words = WORDS * instructions;
    struct text t = {.sums = sums};
    if (p->factor[0].inside || p->factor[1].inside)
        words = p->factor[0].fragment.words + p->factor[1].fragment.words;
    t.members = ARENA_ARRAY(l->arena, LLVMTypeRef, sums);
    t.inputs = value_array(l, words + sums);
    t.places = ARENA_ARRAY(l->arena, int, sums);
    for (int i = 0; i < sums; i++)
        t.places[i] = -1;
    return t;
}

/* A sum is written while words are still to be read ("&"). */
static void text_close(struct lowering *l, struct product *p, struct text *t)
{
    bool loads = p->factor[0].inside || p->factor[1].inside;
    enum ir_element element = p->operation->results[0]->type->element;
    const char *letter = element == IR_I32 ? "r" : element == IR_F64 ? "d" : "f";
    for (int i = 0; i < t->sums; i++) {
        t->members[i] = LLVMTypeOf(p->out[t->places[i]]);
        buffer_printf(&t->constraints, "%s=&%s", i ? "," : "", letter);
    }
    for (int i = 0; i < t->words; i++)
        buffer_puts(&t->constraints, element == IR_F64 ? ",d" : ",r");
    for (int i = 0; i < t->sums; i++) {
        t->inputs[t->words + i] = p->out[t->places[i]];
        buffer_printf(&t->constraints, ",%d", i);
    }
    LLVMTypeRef type = LLVMStructTypeInContext(l->context, t->members, (unsigned)t->sums, false);
    const char *both[2] = {t->body.data, t->constraints.data};
    enum ptx_row row = loads ? PTX_MMA_LOADING : PTX_MMA_TOGETHER;
    LLVMValueRef all = ptx_emit(l, row, type, t->inputs, t->words + t->sums, both);
    for (int i = 0; i < t->sums; i++)
        p->out[t->places[i]] = LLVMBuildExtractValue(l->builder, all, (unsigned)i, "");
    buffer_free(&t->body);
    buffer_free(&t->constraints);
}

static int steps_together(const struct product *p) { return p->by.count < STEPS ? STEPS / p->by.count : 1; }

/* A piece row by row: blocks of one row share a fragment of A at each step. */
static void sort_by_rows(const struct product *p, struct place *piece, int count)
{
    for (int i = 1; i < count; i++)
        for (int j = i; j > 0; j--) {
            struct place *a = &piece[j - 1], *b = &piece[j], keep = *a;
            int above = p->block[a->block][0], row = p->block[b->block][0];
            if (row > above || (row == above && b->step >= a->step))
                break;
            *a = *b;
            *b = keep;
        }
}

/* Pieces of blocks at some steps of k, all blocks before the next steps; in a piece step by step, or row by row. */
static struct place *order_products(struct lowering *l, const struct product *p)
{
    struct place *order = ARENA_ARRAY(l->arena, struct place, p->steps * p->blocks), *next = order;
    int together = steps_together(p);
    for (int step = 0; step < p->steps; step += together)
        for (int block = 0; block < p->blocks; block += p->piece) {
            struct place *piece = next;
            for (int s = step; s < step + together && s < p->steps; s++)
                for (int b = block; b < block + p->piece && b < p->blocks; b++)
                    *next++ = (struct place){b, s};
            if (p->by_rows)
                sort_by_rows(p, piece, (int)(next - piece));
        }
    return order;
}

/* Whether ldmatrix writes registers that only texts know: every word of a buffer is a row's and taken as it is. */
static bool choose_inside(struct product *p)
{
    const struct mma_words *words = p->by.words;
    bool some = false;
    for (int operand = 0; operand < 2; operand++) {
        struct factor *f = &p->factor[operand];
        bool as_it_is = p->by.count == 1 && words->count == 1 && words->form[operand][0] == MMA_AS_IT_IS;
        f->inside = as_it_is && f->fragment.value->type->kind == IR_BUFFER && f->fragment.rows;
        some = some || f->inside;
    }
    return some;
}

/* { .reg .b32 %a<64>; .reg .b32 %b<32>;     The last text ends the scope. */
static void declare_words(struct product *p, struct buffer *out)
{
    buffer_puts(out, "{");
    for (int operand = 0; operand < 2; operand++)
        if (p->factor[operand].inside)
            buffer_printf(out, " .reg .b32 %%%c<%d>;", letter_of(operand), p->factor[operand].fragment.words);
}

static bool reads_alone(const struct product *p)
{
    bool alone = false;
    for (int i = 0; i < 2; i++)
        alone |= p->factor[i].fragment.value->type->kind == IR_BUFFER && !p->factor[i].fragment.rows;
    return alone;
}

/* sm_90 multiplies floats of 8 bits as f16: ptxas makes two words of each word of A.  Those of one row serve its blocks in
 * turn then, and a loop of 128 x 256 x 64 has 31 moves instead of 160 beside its 128 products (ptxas 13.0). */
static void choose_order(struct product *p)
{
    enum ir_element element = p->factor[0].fragment.element;
    p->by_rows = p->factor[0].inside && p->factor[1].inside && ir_is_float(element) && value_bytes(element) == 1;
    p->piece = p->by_rows ? SPAN : BLOCKS;
}

static void multiply(struct lowering *l, struct product *p)
{
    bool inside = choose_inside(p);
    choose_order(p);
    const struct place *order = order_products(l, p);
    int all = p->steps * p->blocks, fetched = 0, ahead = reads_alone(p) ? AHEAD_ALONE : AHEAD;
    struct text t = {0};
    for (int done = 0, together; done < all; done += together) {
        int first = order[done].block / p->piece * p->piece, blocks = (int)int64_min(p->piece, p->blocks - first);
        together = blocks * (int)int64_min(steps_together(p), p->steps - order[done].step);
        if (inside && first % SPAN == 0)
            t = text_open(l, p, (int)int64_min(SPAN, p->blocks - first), 0);
        if (inside && done == 0)
            declare_words(p, &t.body);
        for (; fetched < all && fetched < done + together + ahead; fetched++)
            fetch_words(l, p, &t, &order[fetched]);
        if (!inside)
            t = text_open(l, p, blocks, together * p->by.count);
        for (int i = done; i < done + together; i++)
            write_place(l, p, &t, order[i].block - (inside ? first / SPAN * SPAN : first), &order[i]);
        if (inside && done + together == all)
            buffer_puts(&t.body, " }");
        if (!inside || (first + blocks) % SPAN == 0 || first + blocks == p->blocks)
            text_close(l, p, &t);
    }
}

void lower_mma(struct lowering *l, struct ir_operation *operation)
{
    const struct ir_type *type = operation->results[0]->type;
    struct product p = {.operation = operation, .layout = type->layout, .by = mma_form_choose(l, operation)};
    p.steps = (int)operation->operands[0]->type->extent[1] / p.by.reach;
    int warps_m, warps_n, count = layout_registers(type->layout);
    if (type->rank != 2 || !find_grid(l, type, &warps_m, &warps_n))
        die("mma into a tile that is no accumulator");
    for (int operand = 0; operand < 2; operand++)
        open_factor(l, operation, operand, warps_m, warps_n, &p.factor[operand]);
    find_blocks(l, &p);
    order_blocks(&p);
    p.out = value_define(l, operation->results[0]);
    const struct ir_value *added = operation->operand_count > 3 ? operation->operands[3] : NULL;
    for (int i = 0; i < count; i++) {
        p.out[i] = value_register(l, operation->operands[2], i);
        if (added)
            p.out[i] = LLVMBuildSelect(l->builder, value_register(l, added, 0), p.out[i],
                                       LLVMConstNull(LLVMTypeOf(p.out[i])), "");
    }
    multiply(l, &p);
}
