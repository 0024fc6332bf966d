/* The rule of product_choice.h and the table made from it.  Each instruction is a row: who has it, for which elements,
 * in which steps, and how fast it is; a product takes the fastest row that fits. */
#include "targets/product_choice.h"

#include <stdio.h>

/* flags: what the target must have besides.  by: the elements that the tensor core multiplies; f16 holds every 8-bit
 * float, f32 in tf32x3 is split in two.  rate: TFLOP/s of products of 4096^3 on an H200, as measured; of a
 * generation that multiplies otherwise, in proportion to f16 on it. */
struct product_row {
    enum ir_instruction instruction;
    unsigned flags;
    enum ir_element a, b, accumulator;
    enum ir_precision precision;
    int least, most; /* compute capability, 10 * major + minor; most 0: no end */
    int m, n, k;
    enum ir_element by;
    int rate;
};
/* wgmma counts m in warpgroups' rows; its n is the largest. */
#define WGMMA_OF(a, b, sum, precision, k, rate) \
    {IR_INSTRUCTION_WGMMA,                      \
     TARGET_WGMMA,                              \
     IR_##a,                                    \
     IR_##b,                                    \
     sum,                                       \
     IR_PRECISION_##precision,                  \
     90,                                        \
     90,                                        \
     64,                                        \
     256,                                       \
     k,                                         \
     IR_##a,                                    \
     rate}
#define WGMMA(a, b, sum, k, rate) WGMMA_OF(a, b, sum, IEEE, k, rate)
#define MMA_OF(flags, a, b, sum, precision, least, most, k, by, rate) \
    {IR_INSTRUCTION_MMA, flags, IR_##a, IR_##b, sum, IR_PRECISION_##precision, least, most, 16, 8, k, IR_##by, rate}
#define MMA(flags, a, b, sum, precision, least, k, by, rate) MMA_OF(flags, a, b, sum, precision, least, 0, k, by, rate)
/* Tensor cores of 8.9 and from 12.0 on multiply 8-bit floats, twice as fast as f16.  In between ptxas makes f16 of them
 * by a conversion whose rate binds.  as_f16: what is reached where a shift and a mask make it (e5m2), or seven
 * instructions. */
#define FLOAT8(a, b, as_f16)                                           \
    MMA_OF(TARGET_FP8, a, b, IR_F32, IEEE, 89, 89, 32, a, 840),        \
        MMA_OF(TARGET_FP8, a, b, IR_F32, IEEE, 120, 0, 32, a, 840),    \
        MMA_OF(TARGET_FP8, a, b, IR_F32, IEEE, 90, 119, 32, a, 333),   \
        MMA(TARGET_MMA_SYNC, a, b, IR_F32, IEEE, 80, 16, F16, as_f16), \
        MMA(TARGET_MMA_SYNC, a, b, IR_F32, IEEE, 75, 8, F16, as_f16 / 2)
static const struct product_row rows[] = {
    WGMMA(BF16, BF16, IR_F32, 16, 700),
    WGMMA(F16, F16, IR_F32, 16, 700),
    WGMMA(F8E4M3, F8E4M3, IR_F32, 32, 1250),
    WGMMA(F8E5M2, F8E5M2, IR_F32, 32, 1250),
    WGMMA(F8E4M3, F8E5M2, IR_F32, 32, 1250),
    WGMMA(F8E5M2, F8E4M3, IR_F32, 32, 1250),
    WGMMA(I8, I8, IR_I32, 32, 1250),
    WGMMA(U8, U8, IR_I32, 32, 1250),
    WGMMA_OF(F32, F32, IR_F32, TF32, 8, 380),
    WGMMA_OF(F32, F32, IR_F32, TF32X3, 8, 105),
    MMA(TARGET_BF16, BF16, BF16, IR_F32, IEEE, 80, 16, BF16, 420),
    MMA(TARGET_BF16, BF16, BF16, IR_F32, IEEE, 80, 8, BF16, 210),
    MMA(TARGET_MMA_SYNC, F16, F16, IR_F32, IEEE, 80, 16, F16, 420),
    MMA(TARGET_MMA_SYNC, F16, F16, IR_F32, IEEE, 75, 8, F16, 210),
    MMA(TARGET_BF16, F32, F32, IR_F32, TF32, 80, 8, F32, 210),
    MMA(TARGET_BF16, F32, F32, IR_F32, TF32X3, 80, 8, F32, 70),
    FLOAT8(F8E4M3, F8E4M3, 265),
    FLOAT8(F8E5M2, F8E5M2, 440),
    FLOAT8(F8E4M3, F8E5M2, 265), /* not measured: as fast as the slower factor */
    FLOAT8(F8E5M2, F8E4M3, 265),
    MMA(TARGET_BF16, F64, F64, IR_F64, IEEE, 90, 8, F64, 60),
    {IR_INSTRUCTION_MMA, TARGET_BF16, IR_F64, IR_F64, IR_F64, IR_PRECISION_IEEE, 80, 89, 8, 8, 4, IR_F64, 60},
    MMA(TARGET_BF16, I8, I8, IR_I32, IEEE, 80, 32, I8, 840),
    MMA(TARGET_BF16, I8, I8, IR_I32, IEEE, 80, 16, I8, 420),
    MMA(TARGET_BF16, U8, U8, IR_I32, IEEE, 80, 32, U8, 840),
    MMA(TARGET_BF16, U8, U8, IR_I32, IEEE, 80, 16, U8, 420),
};
#undef FLOAT8
#undef MMA
#undef MMA_OF
#undef WGMMA
#undef WGMMA_OF
enum {
    ROWS = sizeof rows / sizeof *rows,
    WGMMA_ROWS = 64,
    MOST_KEPT_COLUMNS = 16,
    MOST_SPLIT_K = 64,         /* of tf32x3 by wgmma */
    MOST_SPLIT_SUMS = 64 * 128 /* of a warpgroup */
};

/* Whether memory holds a factor with another dimension than `along` contiguous.  What is computed lies as one likes. */
static bool lies_across(const struct ir_value *value, int along)
{
    const struct ir_operation *op = value->definition;
    for (; op && (op->opcode == OP_PERMUTE || op->opcode == OP_CONVERT_LAYOUT); op = op->operands[0]->definition)
        if (op->opcode == OP_PERMUTE)
            along = (int)ir_attribute(op, IR_ATTRIBUTE_PERMUTATION)->list[along];
    struct ir_access access;
    int dimension = 0;
    if (!op || op->opcode != OP_LOAD || !ir_access_of(op, &access))
        return false;
    for (int d = 0; d < access.rank; d++)
        if (access.place[d] == IR_GATHER || access.place[d] > 0) {
            if (access.view->type->stride[d] == 1 && access.place[d] > 0)
                return dimension != along;
            dimension++;
        }
    return false;
}

static bool is_computed(const struct ir_value *value)
{
    const struct ir_operation *op = value->definition;
    while (op && (op->opcode == OP_PERMUTE || op->opcode == OP_CONVERT_LAYOUT))
        op = op->operands[0]->definition;
    return op && op->opcode != OP_LOAD;
}

struct product product_of(const struct ir_operation *dot)
{
    const struct ir_type *a = dot->operands[0]->type, *b = dot->operands[1]->type, *c = dot->operands[2]->type;
    struct product product = {.a = a->element, .b = b->element, .accumulator = c->element, .rank = c->rank};
    product.precision = (enum ir_precision)ir_number(dot, IR_ATTRIBUTE_PRECISION, IR_PRECISION_IEEE);
    product.promote = ir_number(dot, IR_ATTRIBUTE_PROMOTE, 0);
    product.m = c->extent[c->rank - 2];
    product.n = c->extent[c->rank - 1];
    product.k = a->extent[a->rank - 1];
    for (int i = 0; i < 2 && c->rank == 2; i++) {
        product.lies_across[i] = lies_across(dot->operands[i], 1 - i);
        product.computed[i] = is_computed(dot->operands[i]);
    }
    const struct ir_function *function = dot->block ? dot->block->function : NULL;
    product.warps = function ? function->warps : 0;
    product.open = product.warps == 0;
    if (function && product.warps == 0 && function->warps_among) /* a number of whole groups, if there may be one */
        product.warps = ir_choose_among(function->warps_among, 4);
    return product;
}

/* Warpgroups that share the rows of a product by wgmma (product_layout.c chooses so, too, where it is asked). */
static int64_t groups_of(const struct product *product)
{
    int64_t groups = product->m / WGMMA_ROWS;
    return !product->open ? product->warps / 4 : groups <= 3 ? groups : groups % 2 ? 1 : 2;
}

/* The tensor core cuts off what does not fit into a sum.  Sums of 8-bit floats keep few bits there, those of f16 do not, and
 * those of tf32x3 are to be good to all bits of f32, so that they leave it as often.  A sum of wgmma leaves it behind the
 * whole product (choose_product, buffer_operands), where threads have room for it beside what they add it to; one of
 * mma.sync of 8-bit floats never. */
static bool sums_well(const struct product_row *row, const struct product *product)
{
    bool wgmma = row->instruction == IR_INSTRUCTION_WGMMA;
    if (row->precision == IR_PRECISION_TF32X3)
        return !wgmma ||
               (product->k <= MOST_SPLIT_K && product->m * product->n <= MOST_SPLIT_SUMS * groups_of(product));
    return !product->promote || row->by != row->a || (wgmma && product->k <= product->promote);
}

/* Precision is a matter of f32 alone. */
static bool has_types(const struct product_row *row, const struct product *product)
{
    return row->a == product->a && row->b == product->b && row->accumulator == product->accumulator &&
           (row->a != IR_F32 || row->precision == product->precision) && sums_well(row, product);
}

static bool on_target(const struct product_row *row, const struct target_row *target)
{
    int capability = 10 * target->major + target->minor;
    return target->kind == TARGET_NVPTX && (target->flags & row->flags) == row->flags && capability >= row->least &&
           (!row->most || capability <= row->most);
}

/* Of what the extents are multiples: fragments are of 16 rows, and read 16 bytes of k at a time; of f64 always 8 of k. */
static struct product_shape step_of(const struct product_row *row)
{
    bool wgmma = row->instruction == IR_INSTRUCTION_WGMMA;
    int least = row->a == IR_F64 ? 8 : 16 * 8 / ir_element_info[row->a].bits;
    return (struct product_shape){row->m < 16 ? 16 : row->m, wgmma ? 8 : row->n, row->k < least ? least : row->k,
                                  row->by};
}

/* Threads turn the second factor on its way where turning the product would not help, as both lie across: of 32 bits. */
static bool threads_turn_second(const struct product *product)
{
    return product->a == IR_F32 && product->lies_across[0] && product->lies_across[1];
}

bool product_keeps_factors(const struct product *product)
{
    return product->computed[0] && product->computed[1] && product->n <= MOST_KEPT_COLUMNS &&
           ir_element_info[product->a].bits == 16;
}

/* 0: it fits. */
static unsigned find_obstacles(const struct product_row *row, const struct product *product)
{
    struct product_shape step = step_of(row);
    unsigned found = product->rank != 2 ? PRODUCT_BATCH : 0;
    found |= product->m % step.m ? PRODUCT_ROWS : 0;
    found |= product->n % step.n ? PRODUCT_COLUMNS : 0;
    found |= product->k % step.k ? PRODUCT_K : 0;
    if (row->instruction != IR_INSTRUCTION_WGMMA)
        return found;
    found |= product->warps % 4 ? PRODUCT_WARPS : 0;
    found |= product_keeps_factors(product) ? PRODUCT_KEPT : 0;
    for (int i = 0; i < 2; i++)
        found |= product->lies_across[i] && !product_reads_matrices(product, IR_INSTRUCTION_WGMMA, i, i) &&
                         !(i == 1 && threads_turn_second(product))
                     ? PRODUCT_ACROSS
                     : 0;
    return found;
}

/* The weakest instruction stronger than the chosen one that was passed over. */
static void note_missed(struct product_choice *choice, const struct product *product,
                        const struct product_row *const passed[IR_INSTRUCTION_COUNT])
{
    for (int i = (int)choice->instruction + 1; i < IR_INSTRUCTION_COUNT && !choice->obstacles; i++)
        if (passed[i]) {
            choice->missed = (enum ir_instruction)i;
            choice->obstacles = find_obstacles(passed[i], product);
            choice->step = step_of(passed[i]);
        }
}

/* The first architecture with an instruction for these elements; NULL: none has. */
static const struct target_row *first_target(const struct product *product)
{
    for (int t = 0; t < target_row_count; t++)
        for (int i = 0; i < ROWS; i++)
            if (on_target(&rows[i], &target_rows[t]) && has_types(&rows[i], product))
                return &target_rows[t];
    return NULL;
}

/* Rows of one instruction and elements stand from the largest step to the least, so that the last one passed over is
 * nearest to fitting. */
struct product_choice product_choice_of(const struct target_row *target, const struct product *product)
{
    struct product_choice choice = {.instruction = IR_INSTRUCTION_FMA, .missed = IR_INSTRUCTION_FMA};
    enum ir_instruction strongest = IR_INSTRUCTION_FMA;
    const struct product_row *passed[IR_INSTRUCTION_COUNT] = {NULL};
    int rate = 0;
    for (int i = 0; i < ROWS; i++) {
        if (!on_target(&rows[i], target))
            continue;
        if (rows[i].instruction > strongest)
            strongest = rows[i].instruction;
        if (!has_types(&rows[i], product))
            continue;
        if (find_obstacles(&rows[i], product)) {
            passed[rows[i].instruction] = &rows[i];
        } else if (rows[i].rate > rate) {
            choice.instruction = rows[i].instruction;
            rate = rows[i].rate;
        }
    }
    note_missed(&choice, product, passed);
    if (choice.obstacles == 0 && choice.instruction < strongest) {
        choice.missed = strongest;
        choice.obstacles = product->a == IR_F32 && product->precision == IR_PRECISION_IEEE     ? PRODUCT_IEEE
                           : choice.instruction == IR_INSTRUCTION_FMA && first_target(product) ? PRODUCT_ARCHITECTURE
                                                                                               : PRODUCT_ELEMENTS;
    }
    return choice;
}

/* A single instruction is waited for as long as mma.sync works: blocks of 16 x 16 by 64 columns take 535 us on an H200 in this
 * way, and 508 by mma.sync. */
struct product product_as_computed(const struct target_row *target, const struct product *product)
{
    struct product turned = *product;
    turned.a = product->b;
    turned.b = product->a;
    turned.m = product->n;
    turned.n = product->m;
    turned.lies_across[0] = product->lies_across[1];
    turned.lies_across[1] = product->lies_across[0];
    turned.computed[0] = product->computed[1];
    turned.computed[1] = product->computed[0];
    struct product_choice choice = product_choice_of(target, &turned);
    bool fits = product_choice_of(target, product).instruction != IR_INSTRUCTION_WGMMA &&
                (choice.instruction == IR_INSTRUCTION_WGMMA || choice.obstacles == PRODUCT_KEPT) &&
                product->k >= 2 * product_shape(target, &turned, IR_INSTRUCTION_WGMMA).k;
    return fits ? turned : *product;
}

struct product product_computed(const struct target_row *target, const struct ir_operation *dot)
{
    struct product product = product_of(dot);
    return product_as_computed(target, &product);
}

bool product_choice_could_be_better(const struct product_choice *choice)
{
    return choice->obstacles &&
           !(choice->obstacles & (PRODUCT_IEEE | PRODUCT_ELEMENTS | PRODUCT_ACROSS | PRODUCT_KEPT));
}

void product_explain(struct buffer *out, const struct product *product, const struct product_choice *choice)
{
    static const char *const separators[] = {"", ", and "};
    bool wgmma = choice->missed == IR_INSTRUCTION_WGMMA;
    int count = 0;
    const struct {
        unsigned obstacle;
        const char *name;
        long long extent;
        int step;
    } extents[] = {
        {PRODUCT_K, "k is", product->k, choice->step.k},
        {PRODUCT_ROWS, "the rows are", product->m, choice->step.m},
        {PRODUCT_COLUMNS, "the columns are", product->n, choice->step.n},
        {PRODUCT_WARPS, "the warps are", product->warps, 4},
    };
    if (choice->obstacles & PRODUCT_BATCH)
        buffer_printf(out, "%sit has batch dimensions", separators[count++ > 0]);
    for (int i = 0; i < 4; i++)
        if (choice->obstacles & extents[i].obstacle)
            buffer_printf(out, "%s%s %lld, no multiple of %d", separators[count++ > 0], extents[i].name,
                          extents[i].extent, extents[i].step);
    if (choice->obstacles & PRODUCT_IEEE)
        buffer_printf(out, "%sf32 with precision = ieee has no tensor instruction", separators[count++ > 0]);
    if (choice->obstacles & PRODUCT_ARCHITECTURE)
        buffer_printf(out, "%sthe tensor cores take these elements from %s on", separators[count++ > 0],
                      first_target(product)->name);
    if (choice->obstacles & PRODUCT_ELEMENTS)
        buffer_printf(out, "%s%s", separators[count++ > 0],
                      wgmma && choice->instruction == IR_INSTRUCTION_MMA
                          ? "wgmma is not used for these elements"
                          : "the target has no tensor instruction for these elements");
    if (choice->obstacles & PRODUCT_KEPT)
        buffer_printf(out, "%sboth factors are computed, and mma.sync reads them from registers",
                      separators[count++ > 0]);
    if (choice->obstacles & PRODUCT_ACROSS)
        buffer_printf(
            out, "%sthe %s factor lies in memory with %s contiguous: k has to be, for wgmma turns only 16-bit factors",
            separators[count++ > 0], product->lies_across[0] ? "first" : "second", product->lies_across[0] ? "m" : "n");
}

/* Of a product that keeps rows and columns and is cut along k perhaps. */
struct product_shape product_shape(const struct target_row *target, const struct product *product,
                                   enum ir_instruction instruction)
{
    struct product_shape shape = {1, 1, 1, product->a};
    int rate = 0;
    for (int i = 0; i < ROWS; i++)
        if (rows[i].instruction == instruction && rows[i].rate > rate && on_target(&rows[i], target) &&
            has_types(&rows[i], product) && !(find_obstacles(&rows[i], product) & PRODUCT_K)) {
            shape = (struct product_shape){rows[i].m, rows[i].n, rows[i].k, rows[i].by};
            rate = rows[i].rate;
        }
    return shape;
}

/* ldmatrix moves rows of 16 bytes along k in units of 32 bits at most, and transposes those of 16; wgmma reads 16-bit factors
 * either way, first ones of 32 bits, too, out of registers, and others along k alone. */
bool product_reads_matrices(const struct product *product, enum ir_instruction instruction, int operand, int contiguous)
{
    int bits = ir_element_info[operand == 0 ? product->a : product->b].bits;
    bool along_k = contiguous == (operand == 0 ? 1 : 0);
    bool either_way = bits == 16 || (bits == 32 && operand == 0 && instruction == IR_INSTRUCTION_WGMMA);
    return instruction != IR_INSTRUCTION_FMA && bits <= 32 && (along_k || either_way);
}

/* ---- the table ---- */

static const struct {
    const char *text;
    enum ir_element a, b, accumulator;
    enum ir_precision precision;
} cells[] = {
    {"bf16", IR_BF16, IR_BF16, IR_F32, IR_PRECISION_IEEE},
    {"f16", IR_F16, IR_F16, IR_F32, IR_PRECISION_IEEE},
    {"f8e4m3", IR_F8E4M3, IR_F8E4M3, IR_F32, IR_PRECISION_IEEE},
    {"f8e5m2", IR_F8E5M2, IR_F8E5M2, IR_F32, IR_PRECISION_IEEE},
    {"f32 ieee", IR_F32, IR_F32, IR_F32, IR_PRECISION_IEEE},
    {"f32 tf32", IR_F32, IR_F32, IR_F32, IR_PRECISION_TF32},
    {"f32 tf32x3", IR_F32, IR_F32, IR_F32, IR_PRECISION_TF32X3},
    {"f64", IR_F64, IR_F64, IR_F64, IR_PRECISION_IEEE},
    {"i8", IR_I8, IR_I8, IR_I32, IR_PRECISION_IEEE},
    {"u8", IR_U8, IR_U8, IR_I32, IR_PRECISION_IEEE},
};
enum { CELLS = sizeof cells / sizeof *cells };

/* How factors lie in memory. */
enum lying { ALONG, BOTH_ACROSS, SECOND_ACROSS, LYINGS };

static struct product cell_product(int cell, enum lying lying)
{
    return (struct product){.a = cells[cell].a,
                            .b = cells[cell].b,
                            .accumulator = cells[cell].accumulator,
                            .precision = cells[cell].precision,
                            .rank = 2,
                            .m = 64,
                            .n = cells[cell].precision == IR_PRECISION_TF32X3 ? 128 : 256,
                            .k = 64,
                            .warps = 4,
                            .lies_across = {lying == BOTH_ACROSS, lying != ALONG}};
}

static void print_cell(struct buffer *out, const struct target_row *row, int cell, enum lying lying)
{
    struct product product = cell_product(cell, lying);
    buffer_printf(out, "%-8s %-11s", row->name, cells[cell].text);
    enum ir_instruction instruction = product_choice_of(row, &product).instruction;
    struct product_shape shape = product_shape(row, &product, instruction);
    char text[40] = "fma";
    const char *as = shape.by != product.a                      ? ir_element_info[shape.by].text
                     : product.precision == IR_PRECISION_TF32X3 ? "x 3"
                                                                : "";
    if (instruction == IR_INSTRUCTION_MMA)
        snprintf(text, sizeof text, "mma m%dn%dk%d %s", shape.m, shape.n, shape.k, as);
    if (instruction == IR_INSTRUCTION_WGMMA)
        snprintf(text, sizeof text, "wgmma m%dn%dk%d %s", shape.m, shape.n, shape.k, as);
    buffer_printf(out, " %-19s", text);
    for (int operand = 0; operand < 2; operand++) {
        bool turned = instruction == IR_INSTRUCTION_WGMMA && lying == BOTH_ACROSS;
        bool rows_fit = turned ? operand == 1 : product_reads_matrices(&product, instruction, operand, 1);
        bool columns_fit = turned ? operand == 0 : product_reads_matrices(&product, instruction, operand, 0);
        buffer_printf(out, " %c%c", rows_fit ? 'r' : '-', columns_fit ? 'c' : '-');
    }
    buffer_puts(out, "\n");
}

/* Factors that lie so are computed by another instruction, or turned on their way to it. */
static bool is_particular(const struct target_row *row, int cell, enum lying lying)
{
    enum ir_instruction by[LYINGS];
    for (int i = 0; i < LYINGS; i++) {
        struct product product = cell_product(cell, (enum lying)i);
        by[i] = product_choice_of(row, &product).instruction;
    }
    return lying == BOTH_ACROSS ? by[lying] != by[ALONG] || by[lying] != by[SECOND_ACROSS]
                                : by[lying] != by[BOTH_ACROSS];
}

static bool is_wanted(int row, int count, const int *wanted)
{
    for (int i = 0; i < count; i++)
        if (wanted[i] == row)
            return true;
    return count == 0;
}

void product_print_table(struct buffer *out, int count, const int *wanted)
{
    buffer_puts(out, "target   factors     instruction         A  B\n");
    for (int i = 0; i < target_row_count; i++)
        for (int cell = 0; target_rows[i].kind == TARGET_NVPTX && is_wanted(i, count, wanted) && cell < CELLS; cell++) {
            print_cell(out, &target_rows[i], cell, ALONG);
            for (int lying = BOTH_ACROSS; lying < LYINGS; lying++)
                if (is_particular(&target_rows[i], cell, (enum lying)lying))
                    print_cell(out, &target_rows[i], cell, (enum lying)lying);
        }
}
