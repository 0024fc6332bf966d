/* Host expressions as intervals and as  extent name + offset.  The wrapper evaluates them in 64 bits and takes an
 * overflow for an error, so an interval that leaves 64 bits is simply cut. */
#include "base/plant.h"
#include "ir/kernel_facts.h"

struct interval {
    int64_t low, high;
};

static const struct interval everything = {INT64_MIN, INT64_MAX};

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (a < 0 ? INT64_MIN : INT64_MAX) : sum;
}

static int64_t multiply(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? ((a < 0) == (b < 0) ? INT64_MAX : INT64_MIN) : product;
}

static struct interval extent_interval(const struct kernel_entry *entry, int parameter, int dimension)
{
    const struct kernel_parameter *p = &entry->parameters.data[parameter];
    if (!p->nibbles && p->static_extent[dimension] != IR_DYNAMIC && p->static_extent[dimension] >= 0 && !p->huge &&
        p->extent[dimension] && p->extent[dimension]->op == KERNEL_HOST_CONSTANT)
        return (struct interval){p->static_extent[dimension], p->static_extent[dimension]};
    return (struct interval){0, p->huge && !PLANTED(facts_huge_view_is_small) ? INT64_MAX : INT32_MAX};
}

static struct interval name_interval(const struct kernel_entry *entry, int64_t number)
{
    const struct kernel_name *name = &entry->names.data[number];
    if (name->parameter < 0 || name->multiply < 1)
        return everything;
    struct interval extent = extent_interval(entry, name->parameter, name->dimension);
    extent.high = multiply(extent.high, entry->parameters.data[name->parameter].nibbles ? 2 : 1);
    return (struct interval){add(0, -name->add) / name->multiply - 1, add(extent.high, -name->add) / name->multiply};
}

static struct interval scalar_interval(enum ir_element element)
{
    int bits = ir_element_info[element].bits;
    if (element == IR_BOOL)
        return (struct interval){0, 1};
    if (!ir_is_integer(element) || bits == 64)
        return everything;
    return ir_is_signed(element) ? (struct interval){-(INT64_C(1) << (bits - 1)), (INT64_C(1) << (bits - 1)) - 1}
                                 : (struct interval){0, (INT64_C(1) << bits) - 1};
}

/* The class of an extent that is a name by itself; 0: none.  Classes are numbers of names, from 1. */
static int class_of_name(const struct kernel_entry *entry, int64_t number)
{
    const struct kernel_name *name = &entry->names.data[number];
    return name->parameter >= 0 && name->multiply == 1 && name->add == 0 ? (int)number + 1 : 0;
}

static int class_of_extent(const struct kernel_entry *entry, int parameter, int dimension)
{
    const struct kernel_parameter *p = &entry->parameters.data[parameter];
    const struct kernel_expression *declared = p->extent[dimension];
    if (p->nibbles && dimension == p->rank - 1)
        return 0; /* C's extent is another number */
    if (p->binds[dimension] >= 0)
        return class_of_name(entry, p->binds[dimension]);
    return declared && declared->op == KERNEL_HOST_NAME ? class_of_name(entry, declared->number) : 0;
}

/* `extents` by class, or NULL: they may be any. */
static struct interval interval_of(const struct kernel_entry *entry, const struct kernel_variant *variant,
                                   const struct kernel_expression *x, const int64_t *extents)
{
    struct interval a = everything, b = everything;
    int class = x->op == KERNEL_HOST_NAME     ? class_of_name(entry, x->number)
                : x->op == KERNEL_HOST_EXTENT ? class_of_extent(entry, (int)x->number, x->dimension)
                                              : 0;
    if (class && extents)
        return (struct interval){extents[class], extents[class]};
    if (x->operand[0])
        a = interval_of(entry, variant, x->operand[0], extents);
    if (x->operand[1])
        b = interval_of(entry, variant, x->operand[1], extents);
    switch (x->op) {
    case KERNEL_HOST_CONSTANT: return (struct interval){x->number, x->number};
    case KERNEL_HOST_NAME: return name_interval(entry, x->number);
    case KERNEL_HOST_SCALAR: return scalar_interval(entry->parameters.data[x->number].element);
    case KERNEL_HOST_EXTENT: return extent_interval(entry, (int)x->number, x->dimension);
    case KERNEL_HOST_STRIDE: return (struct interval){0, INT64_MAX};
    case KERNEL_HOST_KEY: return (struct interval){variant->key_values[x->number], variant->key_values[x->number]};
    case KERNEL_HOST_ADD: return (struct interval){add(a.low, b.low), add(a.high, b.high)};
    case KERNEL_HOST_SUB:
        return (struct interval){b.high == INT64_MIN ? INT64_MIN : add(a.low, -b.high),
                                 b.low == INT64_MIN ? INT64_MAX : add(a.high, -b.low)};
    case KERNEL_HOST_MUL:
        return a.low >= 0 && b.low >= 0 ? (struct interval){multiply(a.low, b.low), multiply(a.high, b.high)}
                                        : everything;
    case KERNEL_HOST_DIV:
        return a.low >= 0 && b.low >= 1 ? (struct interval){a.low / b.high, a.high / b.low} : everything;
    case KERNEL_HOST_CDIV:
        if (b.low < 1 || a.high < 0)
            return everything;
        return (struct interval){a.low < 0 ? INT64_MIN : ceiling_divide(a.low, b.high), ceiling_divide(a.high, b.low)};
    case KERNEL_HOST_MIN: return (struct interval){int64_min(a.low, b.low), int64_min(a.high, b.high)};
    case KERNEL_HOST_MAX: return (struct interval){int64_max(a.low, b.low), int64_max(a.high, b.high)};
    case KERNEL_HOST_SELECT: {
        struct interval c = interval_of(entry, variant, x->operand[2], extents);
        return (struct interval){int64_min(b.low, c.low), int64_max(b.high, c.high)};
    }
    default: return everything;
    }
}

/* x = extent of a class + offset */
static int class_of_expression(const struct kernel_entry *entry, const struct kernel_expression *x, int64_t *offset)
{
    const struct kernel_expression *a = x->operand[0], *b = x->operand[1];
    *offset = 0;
    if (x->op == KERNEL_HOST_NAME)
        return class_of_name(entry, x->number);
    if (x->op == KERNEL_HOST_EXTENT)
        return class_of_extent(entry, (int)x->number, x->dimension);
    if ((x->op != KERNEL_HOST_ADD && x->op != KERNEL_HOST_SUB) || b->op != KERNEL_HOST_CONSTANT ||
        b->number > INT32_MAX || b->number < INT32_MIN)
        return 0;
    int class = class_of_expression(entry, a, offset);
    *offset += x->op == KERNEL_HOST_ADD ? b->number : -b->number;
    return class;
}

/* cdiv(n, c), (n + c - 1) / c, and n itself */
static int covered_class(const struct kernel_entry *entry, const struct kernel_variant *variant,
                         const struct kernel_expression *x, int64_t *step)
{
    int64_t offset;
    *step = 1;
    if (x->op == KERNEL_HOST_CDIV || x->op == KERNEL_HOST_DIV) {
        struct interval by = interval_of(entry, variant, x->operand[1], NULL);
        int class = class_of_expression(entry, x->operand[0], &offset);
        *step = by.low;
        bool rounds_up = x->op == KERNEL_HOST_CDIV || PLANTED(facts_floor_covers_grid);
        bool fits = by.low == by.high && by.low >= 1 && offset == (rounds_up ? 0 : by.low - 1);
        return fits ? class : 0;
    }
    int class = class_of_expression(entry, x, &offset);
    return offset == 0 ? class : 0;
}

int kernel_rounded_down(const struct kernel_entry *entry, const struct kernel_variant *variant, int dimension,
                        int64_t *by)
{
    const struct kernel_expression *x = variant->grid[dimension];
    int64_t offset;
    if (!x || x->op != KERNEL_HOST_DIV)
        return 0;
    struct interval divisor = interval_of(entry, variant, x->operand[1], NULL);
    int class = class_of_expression(entry, x->operand[0], &offset);
    *by = divisor.low;
    return divisor.low == divisor.high && divisor.low > 1 && offset == 0 ? class : 0;
}

int64_t kernel_grid_count(const struct kernel_entry *entry, const struct kernel_variant *variant, int dimension,
                          const int64_t *extents)
{
    if (!variant->grid[dimension])
        return 0;
    struct interval count = interval_of(entry, variant, variant->grid[dimension], extents);
    return count.low == count.high && count.low > 0 ? count.low : 0;
}

void kernel_note_facts(const struct kernel_entry *entry, const struct kernel_variant *variant)
{
    struct ir_function *function = variant->function;
    int argument = 0;
    for (int i = 0; i < entry->parameters.count && argument < function->facts.count; i++) {
        const struct kernel_parameter *p = &entry->parameters.data[i];
        if (p->slot < 0)
            continue;
        for (int d = 0; p->kind == KERNEL_VIEW && d < p->rank; d++)
            function->facts.data[argument].extent_class[d] = class_of_extent(entry, i, d);
        argument++;
    }
    for (int d = 0; d < variant->grid_rank; d++) {
        if (!variant->grid[d])
            continue;
        struct interval count = interval_of(entry, variant, variant->grid[d], NULL);
        function->grid_limit[d] = count.high >= 1 && count.high < INT64_MAX ? count.high : 0;
        function->grid_class[d] = covered_class(entry, variant, variant->grid[d], &function->grid_step[d]);
        if (!function->grid_class[d])
            function->grid_step[d] = 0;
    }
}
