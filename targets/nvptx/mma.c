/* Products by mma.sync: each warp multiplies fragments of 16 rows and 8 columns.  Which instruction it is says
 * product_choice.h; what its words are, of the factors' words, mma_form.h.
 *
 * The accumulator lies in layout_mma_accumulator of some grid of warps, the factors are tiles in layout_mma_operand of
 * the same grid or buffers that are read in it.  Which register goes where is asked of the layouts, for the thread in
 * lane 0 of warp 0: all threads are alike.  Fragments are asked for some products ahead, so that shared memory and the
 * tensor core work at the same time and few registers wait. */
#include "base/plant.h"
#include "targets/nvptx/fragment.h"
#include "targets/nvptx/mma_form.h"

#include <string.h>

enum {
    AHEAD = 16,               /* products: a text; more than the latency of shared memory */
    BLOCKS = 4, STEPS = 4,    /* most of one text: LLVM's time goes by texts and their registers */
    REGISTERS = 4, WORDS = 6, /* of an instruction: of its sum; most of its factors */
};

struct factor { struct fragment fragment; LLVMValueRef *made[MMA_FORMS]; };

struct product {
    const struct ir_operation *operation;
    const struct layout *layout;     /* of the accumulator */
    struct mma_instruction by;
    struct factor factor[2];
    int steps;                       /* of k */
    int blocks;                      /* 16 x 8 blocks of a warp */
    int (*block)[2];                 /* row and column of lane 0 in warp 0 */
    LLVMValueRef *out;
};

struct place { int block, step; }; /* of a product */

/* The grid of warps that an accumulator's layout was made for. */
static bool find_grid(struct lowering *l, const struct ir_type *type, int *warps_m, int *warps_n) {
    int extent[2] = {(int)type->extent[0], (int)type->extent[1]}, warps = layout_warps(type->layout);
    for (*warps_n = 1; *warps_n <= warps; *warps_n *= 2) {
        *warps_m = warps / *warps_n;
        if (*warps_m * *warps_n != warps) continue;
        if (layout_equal(layout_mma_accumulator(l->layouts, 2, extent, *warps_m, *warps_n), type->layout)) return true;
    }
    return false;
}

static void open_factor(struct lowering *l, const struct ir_operation *operation, int operand, int warps_m, int warps_n,
                        struct factor *factor) {
    const struct ir_value *value = operation->operands[operand];
    int extent[2] = {(int)value->type->extent[0], (int)value->type->extent[1]};
    int bytes = value_bytes(value->type->element);
    const struct layout *layout = layout_mma_operand(l->layouts, 2, extent, operand, bytes, warps_m, warps_n);
    if (!layout) die("no operand layout of mma for %d x %d", extent[0], extent[1]);
    fragment_open(l, value, layout, &factor->fragment);
    for (int form = 0; form < MMA_FORMS; form++) factor->made[form] = value_array(l, factor->fragment.words);
}

/* The register that holds an element in lane 0 of warp 0. */
static int register_at(const struct layout *layout, int row, int column) {
    const struct layout_position first = {.part = {0}};
    int coordinates[2] = {row, column}, reg = layout_register_at(layout, &first, coordinates);
    if (reg < 0) die("a fragment of mma is in another thread");
    return reg;
}

static void find_blocks(struct lowering *l, struct product *p) {
    int count = layout_registers(p->layout), coordinates[LAYOUT_RANK];
    p->block = (int(*)[2])arena_alloc(l->arena, (size_t)count * sizeof *p->block);
    for (int reg = 0; reg < count; reg++) {
        struct layout_position position = {.part = {[LAYOUT_REGISTER] = reg}};
        layout_coordinates(p->layout, &position, coordinates);
        if (coordinates[0] % 16 || coordinates[1] % 8) continue;
        p->block[p->blocks][0] = coordinates[0];
        p->block[p->blocks++][1] = coordinates[1];
    }
}

/* Rows of one block column go down, those of the next up: neighbours share a fragment, of B but at the turns.  (Along
 * block rows, with A shared, sm_80 text of 64 x 64 a warp was 3 % slower on an H200 with A by rows, 5 % with B by
 * columns: ptxas then wrote registers of copies that these had yet to read.) */
static void order_blocks(struct product *p) {
    for (int i = 1; i < p->blocks; i++)
        for (int j = i; j > 0; j--) {
            int *a = p->block[j - 1], *b = p->block[j];
            bool odd = a[1] / 8 & 1;
            if (!(b[1] < a[1] || (a[1] == b[1] && (odd ? b[0] > a[0] : b[0] < a[0])))) break;
            for (int d = 0; d < 2; d++) {
                int keep = a[d];
                a[d] = b[d];
                b[d] = keep;
            }
        }
}

static LLVMValueRef word_at(struct lowering *l, struct factor *f, enum mma_form form, int row, int column) {
    int number = register_at(f->fragment.layout, row, column) >> f->fragment.word_bits;
    LLVMValueRef *made = &f->made[form][number];
    if (!*made) *made = mma_form_make(l, f->fragment.element, fragment_word(l, &f->fragment, number), form);
    return *made;
}

/* The words of a block of a factor at k, in the instruction's order: rows g, g + 8 of A, then the second half of k. */
static int gather_words(struct lowering *l, struct product *p, int operand, enum mma_form form, int at, int k,
                        LLVMValueRef *words) {
    struct factor *f = &p->factor[operand];
    int half = (PLANTED(nvptx_mma_second_half_of_k) ? 8 : 16) / value_bytes(f->fragment.element);
    int halves = p->by.reach > half ? 2 : 1, count = 0;
    for (int h = 0; h < halves; h++)
        for (int row = 0; row < (operand == 0 ? 16 : 8); row += 8)
            words[count++] = operand == 0 ? word_at(l, f, form, at + row, k + h * half)
                                          : word_at(l, f, form, k + h * half, at);
    return count;
}

/* Asks for the words of a product, so that they are on their way. */
static void fetch_words(struct lowering *l, struct product *p, const struct place *place) {
    LLVMValueRef words[4];
    for (int operand = 0; operand < 2; operand++)
        gather_words(l, p, operand, MMA_AS_IT_IS, p->block[place->block][operand], place->step * p->by.reach, words);
}

/* Products that LLVM sees as one text: of some blocks at some steps of k, step by step.  Its operands: the sums'
 * registers, then words, each named once, then the sums again, tied to the first. */
struct text {
    struct buffer body, constraints;
    LLVMTypeRef members[REGISTERS * BLOCKS];
    LLVMValueRef inputs[WORDS * BLOCKS * STEPS + REGISTERS * BLOCKS];
    int places[REGISTERS * BLOCKS]; /* registers of the accumulator */
    int sums, words;
};

static int number_word(struct text *t, LLVMValueRef word) {
    for (int i = 0; i < t->words; i++)
        if (t->inputs[i] == word) return t->sums + i;
    t->inputs[t->words++] = word;
    return t->sums + t->words - 1;
}

/* mma… {$0, $1, $2, $3}, {$16, $17, $18, $19}, {$20, $21}, {$0, $1, $2, $3}; */
static void write_product(struct lowering *l, struct product *p, struct text *t, int sum,
                          const struct place *place, const struct mma_words *taken) {
    const char *name[5] = {arena_printf(l->arena, "%d", p->by.k), p->by.sum, p->by.a, p->by.b, p->by.sum};
    const char *sums = arena_printf(l->arena, "{$%d, $%d, $%d, $%d}", sum, sum + 1, sum + 2, sum + 3);
    buffer_printf(&t->body, "%s%s %s", t->body.size ? "\n\t" : "", ptx_words(l, PTX_MMA, name), sums);
    for (int operand = 0; operand < 2; operand++) {
        LLVMValueRef words[WORDS];
        int count = 0;
        for (int i = 0; i < taken->count; i++)
            count += gather_words(l, p, operand, taken->form[operand][i], p->block[place->block][operand],
                                  place->step * p->by.reach, words + count);
        for (int i = 0; i < count; i++)
            buffer_printf(&t->body, "%s$%d", i == 0 ? ", {" : ", ", number_word(t, words[i]));
        buffer_puts(&t->body, "}");
    }
    buffer_printf(&t->body, ", %s;", sums);
}

static void write_place(struct lowering *l, struct product *p, struct text *t, int number, const struct place *place) {
    const int *at = p->block[place->block];
    for (int i = 0; i < REGISTERS; i++)
        t->places[REGISTERS * number + i] = register_at(p->layout, at[0] + (i / 2) * 8, at[1] + i % 2);
    for (int i = 0; i < p->by.count; i++)
        write_product(l, p, t, REGISTERS * number, place, &p->by.words[i]);
}

/* A sum is written while words are still to be read ("&"). */
static void multiply_together(struct lowering *l, struct product *p, const struct place *place, int count,
                              int blocks) {
    bool whole = !strcmp(p->by.sum, "s32");
    struct text t = {.sums = REGISTERS * blocks};
    for (int i = 0; i < count; i++) write_place(l, p, &t, i % blocks, &place[i]);
    for (int i = 0; i < t.sums; i++) {
        t.members[i] = whole ? l->i32 : l->f32;
        buffer_printf(&t.constraints, "%s=&%s", i ? "," : "", whole ? "r" : "f");
    }
    for (int i = 0; i < t.words; i++) buffer_puts(&t.constraints, ",r");
    for (int i = 0; i < t.sums; i++) {
        t.inputs[t.words + i] = p->out[t.places[i]];
        buffer_printf(&t.constraints, ",%d", i);
    }
    LLVMTypeRef type = LLVMStructTypeInContext(l->context, t.members, (unsigned)t.sums, false);
    const char *both[2] = {t.body.data, t.constraints.data};
    LLVMValueRef all = ptx_emit(l, PTX_MMA_TOGETHER, type, t.inputs, t.words + t.sums, both);
    for (int i = 0; i < t.sums; i++)
        p->out[t.places[i]] = LLVMBuildExtractValue(l->builder, all, (unsigned)i, "");
    buffer_free(&t.body);
    buffer_free(&t.constraints);
}

static int steps_together(const struct product *p) { return p->by.count < STEPS ? STEPS / p->by.count : 1; }

/* Pieces of BLOCKS blocks at some steps of k, all blocks before the next steps; in a piece step by step. */
static struct place *order_products(struct lowering *l, const struct product *p) {
    struct place *order = ARENA_ARRAY(l->arena, struct place, p->steps * p->blocks), *next = order;
    int together = steps_together(p);
    for (int step = 0; step < p->steps; step += together)
        for (int block = 0; block < p->blocks; block += BLOCKS)
            for (int s = step; s < step + together && s < p->steps; s++)
                for (int b = block; b < block + BLOCKS && b < p->blocks; b++) *next++ = (struct place){b, s};
    return order;
}

static void multiply(struct lowering *l, struct product *p) {
    const struct place *order = order_products(l, p);
    int all = p->steps * p->blocks, fetched = 0;
    for (int done = 0, together; done < all; done += together) {
        int blocks = (int)int64_min(BLOCKS, p->blocks - order[done].block);
        together = blocks * (int)int64_min(steps_together(p), p->steps - order[done].step);
        for (; fetched < all && fetched < done + together + AHEAD; fetched++) fetch_words(l, p, &order[fetched]);
        multiply_together(l, p, order + done, together, blocks);
    }
}

void lower_mma(struct lowering *l, struct ir_operation *operation) {
    const struct ir_type *type = operation->results[0]->type;
    struct product p = {.operation = operation, .layout = type->layout, .by = mma_form_choose(l, operation)};
    p.steps = (int)operation->operands[0]->type->extent[1] / p.by.reach;
    int warps_m, warps_n, count = layout_registers(type->layout);
    if (type->rank != 2 || !find_grid(l, type, &warps_m, &warps_n)) die("mma into a tile that is no accumulator");
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
