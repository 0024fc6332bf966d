/* The rule of product_choice.h and the table made from it.  Each instruction is a row: who has it, for which elements,
 * and in which steps; a product takes the first row that fits. */
#include "passes/product_choice.h"

#include <stdio.h>

/* least_major, least_minor: the first architecture that has it.  flags: what the target must have besides. */
struct product_row {
    enum ir_instruction instruction;
    unsigned flags;
    enum ir_element a, b, accumulator;
    enum ir_precision precision;
    int least, most;          /* compute capability, 10 * major + minor; most 0: no end */
    int m, n, k;
};
/* wgmma counts m in warpgroups' rows; its n is the largest.  Elements of 8 bits may differ in sign or format. */
static const struct product_row rows[] = {
    {IR_INSTRUCTION_WGMMA, TARGET_WGMMA, IR_BF16, IR_BF16, IR_F32, IR_PRECISION_IEEE, 90, 90, 64, 256, 16},
    {IR_INSTRUCTION_WGMMA, TARGET_WGMMA, IR_F16, IR_F16, IR_F32, IR_PRECISION_IEEE, 90, 90, 64, 256, 16},
    {IR_INSTRUCTION_MMA, TARGET_BF16, IR_BF16, IR_BF16, IR_F32, IR_PRECISION_IEEE, 80, 0, 16, 8, 16},
    {IR_INSTRUCTION_MMA, TARGET_MMA_SYNC, IR_F16, IR_F16, IR_F32, IR_PRECISION_IEEE, 80, 0, 16, 8, 16},
    {IR_INSTRUCTION_MMA, TARGET_MMA_SYNC, IR_F16, IR_F16, IR_F32, IR_PRECISION_IEEE, 75, 75, 16, 8, 8},
    {IR_INSTRUCTION_MMA, TARGET_BF16, IR_F32, IR_F32, IR_F32, IR_PRECISION_TF32, 80, 0, 16, 8, 8},
    {IR_INSTRUCTION_MMA, TARGET_FP8, IR_F8E4M3, IR_F8E4M3, IR_F32, IR_PRECISION_IEEE, 89, 0, 16, 8, 32},
    {IR_INSTRUCTION_MMA, TARGET_FP8, IR_F8E5M2, IR_F8E5M2, IR_F32, IR_PRECISION_IEEE, 89, 0, 16, 8, 32},
    {IR_INSTRUCTION_MMA, TARGET_FP8, IR_F8E4M3, IR_F8E5M2, IR_F32, IR_PRECISION_IEEE, 89, 0, 16, 8, 32},
    {IR_INSTRUCTION_MMA, TARGET_FP8, IR_F8E5M2, IR_F8E4M3, IR_F32, IR_PRECISION_IEEE, 89, 0, 16, 8, 32},
    {IR_INSTRUCTION_MMA, TARGET_BF16, IR_I8, IR_I8, IR_I32, IR_PRECISION_IEEE, 80, 0, 16, 8, 32},
    {IR_INSTRUCTION_MMA, TARGET_BF16, IR_U8, IR_U8, IR_I32, IR_PRECISION_IEEE, 80, 0, 16, 8, 32},
};
enum { ROWS = sizeof rows / sizeof *rows };

struct product product_of(const struct ir_operation *dot)
{
    const struct ir_type *a = dot->operands[0]->type, *b = dot->operands[1]->type, *c = dot->operands[2]->type;
    struct product product = { .a = a->element, .b = b->element, .accumulator = c->element, .rank = c->rank };
    product.precision = (enum ir_precision)ir_number(dot, IR_ATTRIBUTE_PRECISION, IR_PRECISION_IEEE);
    product.promoted = ir_number(dot, IR_ATTRIBUTE_PROMOTE, 0) > 0;
    product.m = c->extent[c->rank - 2];
    product.n = c->extent[c->rank - 1];
    product.k = a->extent[a->rank - 1];
    product.warps = dot->block && dot->block->function ? dot->block->function->warps : 0;
    return product;
}

/* Precision is a matter of f32 alone. */
static bool has_types(const struct product_row *row, const struct product *product)
{
    return row->a == product->a && row->b == product->b && row->accumulator == product->accumulator &&
           (row->a != IR_F32 || row->precision == product->precision);
}

static bool on_target(const struct product_row *row, const struct target_row *target)
{
    int capability = 10 * target->major + target->minor;
    return target->kind == TARGET_NVPTX && (target->flags & row->flags) == row->flags && capability >= row->least &&
           (!row->most || capability <= row->most);
}

static struct product_shape step_of(const struct product_row *row)
{
    bool wgmma = row->instruction == IR_INSTRUCTION_WGMMA;
    return (struct product_shape){ row->m, wgmma ? 8 : row->n, row->k < 16 && row->a == IR_F16 ? 16 : row->k };
}

/* 0: it fits. */
static unsigned find_obstacles(const struct product_row *row, const struct product *product)
{
    struct product_shape step = step_of(row);
    unsigned found = product->rank != 2 ? PRODUCT_BATCH : 0;
    found |= product->promoted ? PRODUCT_PROMOTED : 0;
    found |= product->m % step.m ? PRODUCT_ROWS : 0;
    found |= product->n % step.n ? PRODUCT_COLUMNS : 0;
    found |= product->k % step.k ? PRODUCT_K : 0;
    found |= row->instruction == IR_INSTRUCTION_WGMMA && product->warps % 4 ? PRODUCT_WARPS : 0;
    return found;
}

/* Rows stand from the strongest instruction to the weakest, so that the last one passed over is nearest to fitting. */
struct product_choice product_choice_of(const struct target_row *target, const struct product *product)
{
    struct product_choice choice = { .instruction = IR_INSTRUCTION_FMA, .missed = IR_INSTRUCTION_FMA };
    enum ir_instruction strongest = IR_INSTRUCTION_FMA;
    for (int i = 0; i < ROWS && choice.instruction == IR_INSTRUCTION_FMA; i++) {
        if (!on_target(&rows[i], target))
            continue;
        if (rows[i].instruction > strongest)
            strongest = rows[i].instruction;
        if (!has_types(&rows[i], product))
            continue;
        unsigned obstacles = find_obstacles(&rows[i], product);
        if (obstacles == 0) {
            choice.instruction = rows[i].instruction;
        } else {
            choice.missed = rows[i].instruction;
            choice.obstacles = obstacles;
            choice.step = step_of(&rows[i]);
        }
    }
    if (choice.obstacles == 0 && choice.instruction < strongest) {
        choice.missed = strongest;
        choice.obstacles =
            product->a == IR_F32 && product->precision == IR_PRECISION_IEEE ? PRODUCT_IEEE : PRODUCT_ELEMENTS;
    }
    return choice;
}

bool product_choice_could_be_better(const struct product_choice *choice)
{
    return choice->obstacles && !(choice->obstacles & (PRODUCT_IEEE | PRODUCT_ELEMENTS));
}

void product_explain(struct buffer *out, const struct product *product, const struct product_choice *choice)
{
    static const char *const separators[] = {"", ", and "};
    bool wgmma = choice->missed == IR_INSTRUCTION_WGMMA;
    int count = 0;
    const struct { unsigned obstacle; const char *name; long long extent; int step; } extents[] = {
        {PRODUCT_K, "k is", product->k, choice->step.k},
        {PRODUCT_ROWS, "the rows are", product->m, choice->step.m},
        {PRODUCT_COLUMNS, "the columns are", product->n, choice->step.n},
        {PRODUCT_WARPS, "the warps are", product->warps, 4},
    };
    if (choice->obstacles & PRODUCT_BATCH)
        buffer_printf(out, "%sit has batch dimensions", separators[count++ > 0]);
    if (choice->obstacles & PRODUCT_PROMOTED)
        buffer_printf(out, "%sits sums are promoted", separators[count++ > 0]);
    for (int i = 0; i < 4; i++)
        if (choice->obstacles & extents[i].obstacle)
            buffer_printf(out, "%s%s %lld, no multiple of %d", separators[count++ > 0], extents[i].name,
                          extents[i].extent, extents[i].step);
    if (choice->obstacles & PRODUCT_IEEE)
        buffer_printf(out, "%sf32 with precision = ieee has no tensor instruction", separators[count++ > 0]);
    if (choice->obstacles & PRODUCT_ELEMENTS)
        buffer_printf(out, "%s%s", separators[count++ > 0],
                      wgmma && choice->instruction == IR_INSTRUCTION_MMA
                          ? "wgmma is used for 16-bit floats only"
                          : "the target has no tensor instruction for these elements");
}

struct product_shape product_shape(const struct target_row *row, const struct product *product,
                                   enum ir_instruction instruction)
{
    for (int i = 0; i < ROWS; i++)
        if (rows[i].instruction == instruction && on_target(&rows[i], row) && has_types(&rows[i], product))
            return (struct product_shape){ rows[i].m, rows[i].n, rows[i].k };
    return (struct product_shape){ 1, 1, 1 };
}

/* ldmatrix moves rows of 16 bytes along k, and transposes units of 16 bits; wgmma reads 16-bit factors either way. */
bool product_reads_matrices(const struct product *product, enum ir_instruction instruction, int operand,
                            int contiguous)
{
    int bits = ir_element_info[operand == 0 ? product->a : product->b].bits;
    bool along_k = contiguous == (operand == 0 ? 1 : 0);
    return instruction == IR_INSTRUCTION_FMA ? false : along_k || bits == 16;
}

/* ---- the table ---- */

static const struct { const char *text; enum ir_element a, b, accumulator; enum ir_precision precision; } cells[] = {
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

static struct product cell_product(int cell)
{
    return (struct product){ .a = cells[cell].a, .b = cells[cell].b, .accumulator = cells[cell].accumulator,
                             .precision = cells[cell].precision, .rank = 2, .m = 64, .n = 256, .k = 64, .warps = 4 };
}

static void print_cell(struct buffer *out, const struct target_row *row, int cell)
{
    struct product product = cell_product(cell);
    enum ir_instruction instruction = product_choice_of(row, &product).instruction;
    struct product_shape shape = product_shape(row, &product, instruction);
    char text[40] = "fma";
    if (instruction == IR_INSTRUCTION_MMA)
        snprintf(text, sizeof text, "mma m%dn%dk%d", shape.m, shape.n, shape.k);
    if (instruction == IR_INSTRUCTION_WGMMA)
        snprintf(text, sizeof text, "wgmma m%dn%dk%d", shape.m, shape.n, shape.k);
    buffer_printf(out, " %-18s", text);
    for (int operand = 0; operand < 2; operand++) {
        bool rows_fit = product_reads_matrices(&product, instruction, operand, 1);
        bool columns_fit = product_reads_matrices(&product, instruction, operand, 0);
        buffer_printf(out, " %c%c", rows_fit ? 'r' : '-', columns_fit ? 'c' : '-');
    }
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
    buffer_puts(out, "target   factors     instruction        A  B\n");
    for (int i = 0; i < target_row_count; i++)
        for (int cell = 0; target_rows[i].kind == TARGET_NVPTX && is_wanted(i, count, wanted) && cell < CELLS; cell++) {
            buffer_printf(out, "%-8s %-11s", target_rows[i].name, cells[cell].text);
            print_cell(out, &target_rows[i], cell);
            buffer_puts(out, "\n");
        }
}
