/* The functions of tile-library(7) with each of their options, on every element and along every axis, over numbers that
 * include infinities, NaN, zeros of both signs, subnormals and the ends of integers, against plain C: by the
 * interpreter, and as machine code of this processor.  (Errors of math functions: math_test.c and tests/accuracy.
 * Options that no value shows: options_test.c.)
 *     library_test [ELEMENT [FIRST_SEED COUNT]] */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/support/judge.h"
#include "fuzz/support/text.h"

enum { ROWS = 4, COLUMNS = 8, CELLS = ROWS * COLUMNS, INPUTS = 3 };
__extension__ typedef __int128 whole;
__extension__ typedef unsigned __int128 natural;
struct cell {
    double real;
    whole number;
}; /* by the element: bool and integers, or floats */
enum takes { BOOLS = 1, SIGNED = 2, UNSIGNED = 4, FLOATS = 8, NARROW_FLOATS = 16 /* of 8 bits */ };
enum { INTEGERS = SIGNED | UNSIGNED, NUMBERS = INTEGERS | FLOATS | NARROW_FLOATS, EVERYTHING = BOOLS | NUMBERS };
enum result { SAME, TRUTH, WIDE /* as sums are */, PLACE /* i64 */, HALF /* f16 */, BYTE /* i8 */, RESULTS };
enum form { EACH, ALONE /* x with itself */, MOVED /* elements of x to other places */, FOLDED, SCANNED };

struct subject {
    const char *text; /* %s: `, axis = k` or nothing */
    int takes;
    enum result result;
    enum form form;
    struct cell (*model)(enum ir_element element, struct cell a, struct cell b, struct cell c);
    int axes;            /* FOLDED, SCANNED: bit k: along axis k; bit 2: all */
    int (*from)(int at); /* MOVED: -1: from nowhere */
};

/* ---- numbers ---- */

static bool is_float(enum ir_element element) { return ir_is_float(element); }

/* Rounded to the nearest number of the element, of two to the even one. */
static double rounded(enum ir_element element, double x)
{
    int digits = element == IR_F16 ? 11 : element == IR_BF16 ? 8 : 24, least = element == IR_F16 ? -24 : -133, exponent;
    if (element == IR_F64 || element == IR_F32 || !isfinite(x) || x == 0)
        return element == IR_F32 ? (double)(float)x : x;
    frexp(x, &exponent);
    int unit = exponent - digits > least ? exponent - digits : least;
    double near = ldexp(nearbyint(ldexp(x, -unit)), unit), limit = ldexp(1, element == IR_F16 ? 16 : 128);
    return fabs(near) >= limit ? copysign(INFINITY, x) : near;
}

static whole wrapped(enum ir_element element, whole x)
{
    int bits = ir_element_info[element].bits;
    natural low = (natural)x & (((natural)1 << bits) - 1);
    return element == IR_BOOL       ? x != 0
           : !ir_is_signed(element) ? (whole)low
           : low >> (bits - 1)      ? (whole)low - ((whole)1 << bits)
                                    : (whole)low;
}

static struct cell of_real(enum ir_element element, double x) { return (struct cell){.real = rounded(element, x)}; }
static struct cell of_whole(enum ir_element element, whole x) { return (struct cell){.number = wrapped(element, x)}; }
static struct cell of_truth(bool x) { return (struct cell){.number = x}; }

static struct cell read_cell(enum ir_element element, const unsigned char *data, int64_t at)
{
    size_t bytes = (size_t)ir_element_info[element].bits / 8;
    uint64_t bits = 0;
    bytes = bytes ? bytes : 1;
    memcpy(&bits, data + (size_t)at * bytes, bytes);
    return is_float(element) ? (struct cell){.real = ir_bits_to_double(element, bits)}
                             : (struct cell){.number = wrapped(element, (whole)bits)};
}

static bool same_cell(enum ir_element element, struct cell a, struct cell b)
{
    if (!is_float(element))
        return a.number == b.number;
    return isnan(a.real) || isnan(b.real) ? isnan(a.real) && isnan(b.real)
                                          : a.real == b.real && signbit(a.real) == signbit(b.real);
}

static bool less(enum ir_element e, struct cell a, struct cell b)
{
    return is_float(e) ? a.real < b.real : a.number < b.number;
}
static bool is_nan(enum ir_element e, struct cell a) { return is_float(e) && isnan(a.real); }

/* ---- what each subject gives ---- */

#define MODEL(name)                                                                         \
    static struct cell name(enum ir_element e, struct cell a, struct cell b, struct cell c) \
    {                                                                                       \
        (void)e, (void)a, (void)b, (void)c;
#define END }

/* -0 is under 0; of a NaN and a number the one that `propagates` says. */
static struct cell extreme(enum ir_element e, struct cell a, struct cell b, bool most, bool propagates)
{
    if (is_nan(e, a) || is_nan(e, b))
        return is_nan(e, a) == propagates ? a : b;
    bool below = less(e, a, b) || (is_float(e) && a.real == b.real && signbit(a.real) && !signbit(b.real));
    return below == most ? b : a;
}
/* Of the numbers that the element has. */
static whole nearest_in(enum ir_element e, whole number)
{
    whole count = (whole)1 << ir_element_info[e].bits, low = ir_is_signed(e) ? -count / 2 : 0;
    return number < low ? low : number >= low + count ? low + count - 1 : number;
}
MODEL(least) return extreme(e, a, b, false, false);
END MODEL(most) return extreme(e, a, b, true, false);
END MODEL(least_or_nan) return extreme(e, a, b, false, true);
END MODEL(most_or_nan) return extreme(e, a, b, true, true);
END MODEL(least_of_three) return least(e, least(e, a, b, c), c, c);
END MODEL(most_of_three) return most_or_nan(e, most_or_nan(e, a, b, c), c, c);
END MODEL(clamped) return least(e, most(e, a, b, c), c, c);
END MODEL(clamped_or_nan) return least_or_nan(e, most_or_nan(e, a, b, c), c, c);
END MODEL(size) return is_float(e) ? (struct cell){.real = fabs(a.real)}
                                   : of_whole(e, a.number < 0 ? -a.number : a.number);
END MODEL(minus) return is_float(e) ? (struct cell){.real = -a.real} : of_whole(e, -a.number);
END MODEL(sum) return is_float(e) ? of_real(e, a.real + b.real) : of_whole(e, a.number + b.number);
END MODEL(difference) return is_float(e) ? of_real(e, a.real - b.real) : of_whole(e, a.number - b.number);
END MODEL(product) return is_float(e) ? of_real(e, a.real *b.real)
                                      : of_whole(e, (whole)((natural)a.number *(natural)b.number));
END MODEL(quotient) return is_float(e) ? of_real(e, a.real / b.real)
                                       : of_whole(e, b.number == 0 ? 0 : a.number / b.number);
END MODEL(rest) return is_float(e) ? of_real(e, fmod(a.real, b.real))
                                   : of_whole(e, b.number == 0 ? a.number : a.number % b.number);
END MODEL(and_of) return of_whole(e, a.number & b.number);
END MODEL(or_of) return of_whole(e, a.number | b.number);
END MODEL(xor_of) return of_whole(e, a.number ^ b.number);
END MODEL(turned) return of_whole(e, ~a.number);
END MODEL(negated) return of_truth(!a.number);
END MODEL(up_by) bool far = b.number < 0 || b.number >= ir_element_info[e].bits;
return of_whole(e, far ? 0 : (whole)((natural)a.number << b.number));
END MODEL(down_by) bool far = b.number < 0 || b.number >= ir_element_info[e].bits;
return of_whole(e, far ? a.number < 0 ? -1 : 0 : a.number >> b.number);
END MODEL(blocks)
whole q = b.number ? a.number / b.number : 0, r = b.number ? a.number % b.number : 0;
return of_whole(e, q + (r != 0 && (r > 0) == (b.number > 0)));
END MODEL(log_of)
int bits = -1;
for (whole n = a.number; n > 0; n >>= 1)
    bits++;
return of_whole(e, bits);
END MODEL(upper_half)
int bits = ir_element_info[e].bits;
whole p = ir_is_signed(e) ? a.number * b.number : (whole)((natural)a.number * (natural)b.number);
return of_whole(e, ir_is_signed(e) ? p >> bits : (whole)((natural)p >> bits));
END MODEL(sum_within) return of_whole(e, nearest_in(e, a.number + b.number));
END MODEL(difference_within) return of_whole(e, nearest_in(e, a.number - b.number));
END MODEL(ones)
int count = 0;
for (int i = 0; i < ir_element_info[e].bits; i++)
    count += (int)(a.number >> i & 1);
return of_whole(e, count);
END MODEL(zeros_above)
int count = 0;
for (int i = ir_element_info[e].bits - 1; i >= 0 && !(a.number >> i & 1); i--)
    count++;
return of_whole(e, count);
END MODEL(zeros_below)
int count = 0;
while (count < ir_element_info[e].bits && !(a.number >> count & 1))
    count++;
return of_whole(e, count);
END MODEL(funnel_up)
int bits = ir_element_info[e].bits;
natural low = ((natural)1 << bits) - 1;
for (int i = (int)(((natural)c.number & low) % (natural)bits); i > 0; i--) { /* one bit at a time */
    a.number = (whole)((natural)a.number << 1 | ((natural)b.number >> (bits - 1) & 1));
    b.number = (whole)((natural)b.number << 1);
}
return of_whole(e, a.number);
END MODEL(funnel_down)
int bits = ir_element_info[e].bits;
natural low = ((natural)1 << bits) - 1, under = (natural)b.number & low;
for (int i = (int)(((natural)c.number & low) % (natural)bits); i > 0; i--) {
    under = under >> 1 | ((natural)a.number & 1) << (bits - 1);
    a.number >>= 1;
}
return of_whole(e, (whole)under);
END MODEL(rotated_up) return funnel_up(e, a, a, b);
END MODEL(rotated_down) return funnel_down(e, a, a, b);
END MODEL(turned_round)
whole reversed = 0;
for (int i = 0; i < ir_element_info[e].bits; i++)
    reversed = reversed * 2 + (a.number >> i & 1);
return of_whole(e, reversed);
END MODEL(chosen) return less(e, a, b) ? a : c;
END MODEL(is_less) return of_truth(less(e, a, b));
END MODEL(is_more) return of_truth(less(e, b, a));
END MODEL(is_same) return of_truth(is_float(e) ? a.real == b.real : a.number == b.number);
END MODEL(is_other) return of_truth(is_float(e) ? a.real != b.real : a.number != b.number);
END MODEL(is_no_more) return of_truth(is_float(e) ? a.real <= b.real : a.number <= b.number);
END MODEL(is_no_less) return of_truth(is_float(e) ? a.real >= b.real : a.number >= b.number);
END MODEL(has_nan) return of_truth(isnan(a.real));
END MODEL(has_infinity) return of_truth(isinf(a.real));
END MODEL(has_number) return of_truth(isfinite(a.real));
END MODEL(with_sign) return (struct cell){.real = copysign(a.real, b.real)};
END MODEL(floored) return (struct cell){.real = floor(a.real)};
END MODEL(ceiled) return (struct cell){.real = ceil(a.real)};
END MODEL(cut) return (struct cell){.real = trunc(a.real)};
END MODEL(whole_near) return (struct cell){.real = nearbyint(a.real)};
END MODEL(root) return of_real(e, e == IR_F32 ? (double)sqrtf((float)a.real) : sqrt(a.real));
END MODEL(turned_over) return of_real(e, 1 / a.real);
END MODEL(together) return e == IR_F64 ? (struct cell){.real = fma(a.real, b.real, c.real)}
: e == IR_F32 ? (struct cell){.real = (double)fmaf((float)a.real, (float)b.real, (float)c.real)}
              : of_real(e, (double)((long double)a.real *b.real + c.real));
END MODEL(lowest_of) if (is_float(e)) return (struct cell){.real = e == IR_F8E4M3 ? -448 : -(double)INFINITY};
return (struct cell){.number = ir_is_signed(e) ? -((whole)1 << (ir_element_info[e].bits - 1)) : 0};
END MODEL(highest_of) if (is_float(e)) return (struct cell){.real = e == IR_F8E4M3 ? 448 : (double)INFINITY};
return (struct cell){.number = ((whole)1 << (ir_element_info[e].bits - ir_is_signed(e))) - 1};
END MODEL(nothing) return (struct cell){0};
END MODEL(left) return a;
END MODEL(right) return b;
END

    /* To f16, by a rounding of C's own: the result has no more than 11 digits, and none below 2^-24. */
    static struct cell
    to_half(enum ir_element e, struct cell a, int direction)
{
    double x = is_float(e) ? a.real : 0, size, unit, down;
    int exponent;
    if (is_float(e) && (!isfinite(x) || x == 0))
        return (struct cell){.real = x};
    if (!is_float(e) && a.number == 0)
        return (struct cell){.real = 0};
    bool negative = is_float(e) ? signbit(x) : a.number < 0;
    bool away = (direction > 0 && !negative) || (direction < 0 && negative);
    whole number = a.number < 0 ? -a.number : a.number, cut_off = number;
    int shift = 0;
    while (!is_float(e) && cut_off >> 11) { /* the first 11 digits of an integer */
        cut_off >>= 1;
        shift++;
    }
    size = is_float(e) ? fabs(x) : (double)cut_off * ldexp(1, shift);
    frexp(size, &exponent);
    unit = ldexp(1, exponent - 11 > -24 ? exponent - 11 : -24);
    down = trunc(size / unit) * unit;
    bool exact = is_float(e) ? down == size : (cut_off << shift) == number;
    if (!exact && away)
        down += unit;
    if (down > 65504)
        down = away ? (double)INFINITY : 65504;
    return (struct cell){.real = negative ? -down : down};
}
MODEL(half_cut) return to_half(e, a, 0);
END MODEL(half_up) return to_half(e, a, 1);
END MODEL(half_down) return to_half(e, a, -1);
END MODEL(half_near) return (struct cell){.real = rounded(IR_F16, is_float(e) ? a.real : (double)a.number)};
END MODEL(byte_of) return of_whole(IR_I8, a.number);
END MODEL(byte_near) return of_whole(IR_I8, a.number < -128 ? -128 : a.number > 127 ? 127 : a.number);
END MODEL(byte_of_real)
double x = isnan(a.real) ? 0 : trunc(a.real);
return of_whole(IR_I8, x < -128 ? -128 : x > 127 ? 127 : (whole)x);
END MODEL(byte_of_near)
double x = isnan(a.real) ? 0 : nearbyint(a.real);
return of_whole(IR_I8, x < -128 ? -128 : x > 127 ? 127 : (whole)x);
END MODEL(one_unless) return less(e, a, b) ? a : (struct cell){1, 1};
END

    static int
    of_turned(int at)
{
    return at % COLUMNS * ROWS + at / COLUMNS;
} /* an 8 x 4 */
static int of_permuted(int at) { return at % 4 * 4 + at / 4 % 2 * 16 + at / 8; } /* [d][b][c] of a 2 x 4 x 4 */
static int of_column(int at) { return at / COLUMNS * COLUMNS + 3; }
static int of_row(int at) { return 2 * COLUMNS + at % COLUMNS; }
static int of_part(int at) { return COLUMNS * (2 + at / COLUMNS % 2) + 4 + at % 4; } /* the last 2 x 4, four times */
static int of_shifted(int at)
{
    int row = at / COLUMNS + 1, column = at % COLUMNS - 2;
    return row < ROWS && column >= 0 ? row * COLUMNS + column : -1;
}
static int of_flipped(int at) { return at / COLUMNS * COLUMNS + COLUMNS - 1 - at % COLUMNS; }
static int of_last_row_first(int at) { return (ROWS - 1 - at / COLUMNS) * COLUMNS + at % COLUMNS; }
static int of_rows_behind(int at) { return (at / COLUMNS + 3) % ROWS * COLUMNS + at % COLUMNS; }
static int of_thirds(int at) /* columns 6 7, 2 to 5, 0 1 */
{
    static const int from[] = {6, 7, 2, 3, 4, 5, 0, 1};
    return at / COLUMNS * COLUMNS + from[at % COLUMNS];
}
static int of_pairs(int at)
{
    return at / COLUMNS * COLUMNS + at % 2 * 4 + at % COLUMNS / 2;
} /* of both halves of a row */
static int of_joined(int at) { return at % 2 * 16 + at / 2; }                /* of both halves of the tile */
static int of_split(int at) { return at < 16 ? 2 * at + 1 : 2 * (at - 16); } /* odd ones, then even ones */
static int of_gathered(int at)                                               /* column 3 * column - row - 1 */
{
    int column = 3 * (at % COLUMNS) - at / COLUMNS - 1;
    return column >= 0 && column < COLUMNS ? at / COLUMNS * COLUMNS + column : -1;
}
static int of_gathered_rows(int at) /* row column - 2 */
{
    int row = at % COLUMNS - 2;
    return row >= 0 && row < ROWS ? row * COLUMNS + at % COLUMNS : -1;
}
MODEL(itself) return a;
END /* b is true where the place is inside */
        MODEL(one_outside) return b.number
    ? a
    : (struct cell){1, 1};
END MODEL(zero_unless) return less(e, a, b) ? a : (struct cell){0};
END MODEL(is_there) return b;
END

    static const struct subject subjects[] = {
        {"min(x, y)", NUMBERS, SAME, EACH, least, 0, NULL},
        {"max(x, y)", NUMBERS, SAME, EACH, most, 0, NULL},
        {"min(x, y, nan = skip)", NUMBERS, SAME, EACH, least, 0, NULL},
        {"min(x, y, nan = propagate)", NUMBERS, SAME, EACH, least_or_nan, 0, NULL},
        {"max(x, y, nan = propagate)", NUMBERS, SAME, EACH, most_or_nan, 0, NULL},
        {"min(x, y, z)", NUMBERS, SAME, EACH, least_of_three, 0, NULL},
        {"max(x, y, z, nan = propagate)", NUMBERS, SAME, EACH, most_of_three, 0, NULL},
        {"clamp(x, y, z)", NUMBERS, SAME, EACH, clamped, 0, NULL},
        {"clamp(x, y, z, nan = propagate)", NUMBERS, SAME, EACH, clamped_or_nan, 0, NULL},
        {"abs(x)", NUMBERS, SAME, EACH, size, 0, NULL},
        {"-x", INTEGERS | FLOATS, SAME, EACH, minus, 0, NULL},
        {"x + y", INTEGERS | FLOATS, SAME, EACH, sum, 0, NULL},
        {"x - y", INTEGERS | FLOATS, SAME, EACH, difference, 0, NULL},
        {"x * y", INTEGERS | FLOATS, SAME, EACH, product, 0, NULL},
        {"x / y", INTEGERS | FLOATS, SAME, EACH, quotient, 0, NULL},
        {"fdiv(x, y)", FLOATS, SAME, EACH, quotient, 0, NULL},
        {"x % y", INTEGERS | FLOATS, SAME, EACH, rest, 0, NULL},
        {"x & y", INTEGERS, SAME, EACH, and_of, 0, NULL},
        {"x | y", INTEGERS, SAME, EACH, or_of, 0, NULL},
        {"x ^ y", INTEGERS, SAME, EACH, xor_of, 0, NULL},
        {"x and y", BOOLS, SAME, EACH, and_of, 0, NULL},
        {"x or y", BOOLS, SAME, EACH, or_of, 0, NULL},
        {"not x", BOOLS, SAME, EACH, negated, 0, NULL},
        {"~x", INTEGERS, SAME, EACH, turned, 0, NULL},
        {"x << y", INTEGERS, SAME, EACH, up_by, 0, NULL},
        {"x >> y", INTEGERS, SAME, EACH, down_by, 0, NULL},
        {"cdiv(x, y)", INTEGERS, SAME, EACH, blocks, 0, NULL},
        {"ilog2(x)", INTEGERS, SAME, EACH, log_of, 0, NULL},
        {"mulhi(x, y)", INTEGERS, SAME, EACH, upper_half, 0, NULL},
        {"add_sat(x, y)", INTEGERS, SAME, EACH, sum_within, 0, NULL},
        {"sub_sat(x, y)", INTEGERS, SAME, EACH, difference_within, 0, NULL},
        {"popcount(x)", INTEGERS, SAME, EACH, ones, 0, NULL},
        {"clz(x)", INTEGERS, SAME, EACH, zeros_above, 0, NULL},
        {"ctz(x)", INTEGERS, SAME, EACH, zeros_below, 0, NULL},
        {"bitreverse(x)", INTEGERS, SAME, EACH, turned_round, 0, NULL},
        {"fshl(x, y, z)", INTEGERS, SAME, EACH, funnel_up, 0, NULL},
        {"fshr(x, y, z)", INTEGERS, SAME, EACH, funnel_down, 0, NULL},
        {"rotl(x, y)", INTEGERS, SAME, EACH, rotated_up, 0, NULL},
        {"rotr(x, y)", INTEGERS, SAME, EACH, rotated_down, 0, NULL},
        {"where(x < y, x, z)", NUMBERS, SAME, EACH, chosen, 0, NULL},
        {"x < y", NUMBERS, TRUTH, EACH, is_less, 0, NULL},
        {"x > y", NUMBERS, TRUTH, EACH, is_more, 0, NULL},
        {"x <= y", NUMBERS, TRUTH, EACH, is_no_more, 0, NULL},
        {"x >= y", NUMBERS, TRUTH, EACH, is_no_less, 0, NULL},
        {"x == y", EVERYTHING, TRUTH, EACH, is_same, 0, NULL},
        {"x != y", EVERYTHING, TRUTH, EACH, is_other, 0, NULL},
        {"x == x", EVERYTHING, TRUTH, ALONE, is_same, 0, NULL},
        {"isnan(x)", FLOATS, TRUTH, EACH, has_nan, 0, NULL},
        {"isinf(x)", FLOATS, TRUTH, EACH, has_infinity, 0, NULL},
        {"isfinite(x)", FLOATS, TRUTH, EACH, has_number, 0, NULL},
        {"copysign(x, y)", FLOATS, SAME, EACH, with_sign, 0, NULL},
        {"floor(x)", FLOATS, SAME, EACH, floored, 0, NULL},
        {"ceil(x)", FLOATS, SAME, EACH, ceiled, 0, NULL},
        {"trunc(x)", FLOATS, SAME, EACH, cut, 0, NULL},
        {"round(x)", FLOATS, SAME, EACH, whole_near, 0, NULL},
        {"sqrt(x)", FLOATS, SAME, EACH, root, 0, NULL},
        {"rcp(x)", FLOATS, SAME, EACH, turned_over, 0, NULL},
        {"fma(x, y, z)", FLOATS, SAME, EACH, together, 0, NULL},
        {"broadcast(lowest(T), 4, 8)", INTEGERS | FLOATS, SAME, EACH, lowest_of, 0, NULL},
        {"broadcast(highest(T), 4, 8)", INTEGERS | FLOATS, SAME, EACH, highest_of, 0, NULL},
        {"zeros(T[4, 8])", NUMBERS, SAME, EACH, nothing, 0, NULL},
        {"min(x%s)", NUMBERS, SAME, FOLDED, least, 7, NULL},
        {"max(x%s)", NUMBERS, SAME, FOLDED, most, 7, NULL},
        {"min(x%s, nan = skip)", NUMBERS, SAME, FOLDED, least, 7, NULL},
        {"min(x%s, nan = propagate)", NUMBERS, SAME, FOLDED, least_or_nan, 7, NULL},
        {"max(x%s, nan = propagate)", NUMBERS, SAME, FOLDED, most_or_nan, 7, NULL},
        {"sum(x%s)", INTEGERS | FLOATS | BOOLS, WIDE, FOLDED, sum, 7, NULL},
        {"sum(x%s, fixed = true)", INTEGERS | FLOATS, WIDE, FOLDED, sum, 7, NULL},
        {"product(x%s)", INTEGERS, WIDE, FOLDED, product, 7, NULL},
        {"xor_sum(x%s)", INTEGERS, SAME, FOLDED, xor_of, 7, NULL},
        {"any(x%s)", BOOLS, SAME, FOLDED, or_of, 7, NULL},
        {"all(x%s)", BOOLS, SAME, FOLDED, and_of, 7, NULL},
        {"argmax(x%s)", NUMBERS, PLACE, FOLDED, most, 3, NULL},
        {"argmin(x%s)", NUMBERS, PLACE, FOLDED, least, 3, NULL},
        {"argmax(x%s, nan = propagate)", NUMBERS, PLACE, FOLDED, most_or_nan, 3, NULL},
        {"argmin(x%s, nan = propagate)", NUMBERS, PLACE, FOLDED, least_or_nan, 3, NULL},
        {"reduce(x, first%s)", NUMBERS, SAME, FOLDED, left, 3, NULL},
        {"reduce(x, last%s)", NUMBERS, SAME, FOLDED, right, 3, NULL},
        {"cumsum(x%s)", INTEGERS | FLOATS | BOOLS, WIDE, SCANNED, sum, 3, NULL},
        {"cumsum(x%s, reverse = true)", INTEGERS | FLOATS | BOOLS, WIDE, SCANNED, sum, 3, NULL},
        {"cumsum(x%s, exclusive = true)", INTEGERS | FLOATS | BOOLS, WIDE, SCANNED, sum, 3, NULL},
        {"cumsum(x%s, reverse = true, exclusive = true, fixed = true)", INTEGERS | FLOATS, WIDE, SCANNED, sum, 3, NULL},
        {"cumprod(x%s)", INTEGERS, WIDE, SCANNED, product, 3, NULL},
        {"cumprod(x%s, reverse = true, exclusive = true)", INTEGERS, WIDE, SCANNED, product, 3, NULL},
        {"cummax(x%s)", NUMBERS, SAME, SCANNED, most, 3, NULL},
        {"cummax(x%s, reverse = true, nan = propagate)", NUMBERS, SAME, SCANNED, most_or_nan, 3, NULL},
        {"cummax(x%s, exclusive = true)", NUMBERS, SAME, SCANNED, most, 3, NULL},
        {"cummin(x%s, nan = skip)", NUMBERS, SAME, SCANNED, least, 3, NULL},
        {"cummin(x%s, reverse = true)", NUMBERS, SAME, SCANNED, least, 3, NULL},
        {"cummin(x%s, exclusive = true, nan = propagate)", NUMBERS, SAME, SCANNED, least_or_nan, 3, NULL},
        {"scan(x, first%s)", NUMBERS, SAME, SCANNED, left, 3, NULL},
        {"scan(x, first%s, reverse = true)", NUMBERS, SAME, SCANNED, left, 3, NULL},
        {"scan(x, last%s)", NUMBERS, SAME, SCANNED, right, 3, NULL},
        {"scan(x, last%s, reverse = true, exclusive = true, initial = lowest(T))", INTEGERS | FLOATS, SAME, SCANNED,
         right, 3, NULL},
        {"trans(reshape(x, 8, 4))", EVERYTHING, SAME, MOVED, itself, 0, of_turned},
        {"reshape(permute(reshape(x, 2, 4, 4), 2, 0, 1), 4, 8)", EVERYTHING, SAME, MOVED, itself, 0, of_permuted},
        {"broadcast(x[:, 3][:, None], 4, 8)", EVERYTHING, SAME, MOVED, itself, 0, of_column},
        {"broadcast(x[2, :][None, :], 4, 8)", EVERYTHING, SAME, MOVED, itself, 0, of_row},
        {"reshape(broadcast(x[2 +: 2, 4 +: 4][None, :, None, :], 2, 2, 2, 4), 4, 8)", EVERYTHING, SAME, MOVED, itself,
         0, of_part},
        {"flip(x, axis = 1)", EVERYTHING, SAME, MOVED, itself, 0, of_flipped},
        {"flip(x, axis = 0)", EVERYTHING, SAME, MOVED, itself, 0, of_last_row_first},
        {"cat(x[3 +: 1, :], x[0 +: 1, :], x[1 +: 1, :], x[2 +: 1, :], axis = 0)", EVERYTHING, SAME, MOVED, itself, 0,
         of_rows_behind},
        {"cat(x[:, 6 +: 2], cat(x[:, 2 +: 2], x[:, 4 +: 2], axis = 1), x[:, 0 +: 2], axis = 1)", EVERYTHING, SAME,
         MOVED, itself, 0, of_thirds},
        {"interleave(x[:, 0 +: 4], x[:, 4 +: 4])", EVERYTHING, SAME, MOVED, itself, 0, of_pairs},
        {"reshape(join(x[0 +: 2, :], x[2 +: 2, :]), 4, 8)", EVERYTHING, SAME, MOVED, itself, 0, of_joined},
        {"parted(x)", EVERYTHING, SAME, MOVED, itself, 0, of_split},
        {"gather(x, 3 * iota(8)[None, :] - iota(4)[:, None] - 1, axis = 1)", EVERYTHING, SAME, MOVED, itself, 0,
         of_gathered},
        {"gather(x, broadcast(i16(iota(8))[None, :], 4, 8) - 2, axis = 0)", EVERYTHING, SAME, MOVED, itself, 0,
         of_gathered_rows},
        {"load(a[1 +: 4, -2 +: 8])", EVERYTHING, SAME, MOVED, itself, 0, of_shifted},
        {"load(a[1 +: 4, -2 +: 8], other = 1)", INTEGERS, SAME, MOVED, one_outside, 0, of_shifted},
        {"load(a[1 +: 4, -2 +: 8], other = 1.0)", FLOATS, SAME, MOVED, one_outside, 0, of_shifted},
        {"load(a[:, :], other = z, mask = x < y)", NUMBERS, SAME, EACH, chosen, 0, NULL},
        {"load(a[:, :], other = 1, mask = x < y)", INTEGERS, SAME, EACH, one_unless, 0, NULL},
        {"load(a[:, :], mask = x < y)", NUMBERS, SAME, EACH, zero_unless, 0, NULL},
        {"inside(a[1 +: 4, -2 +: 8])", EVERYTHING, TRUTH, MOVED, is_there, 0, of_shifted},
        {"cast(x, f16, round = rtz)", INTEGERS, HALF, EACH, half_cut, 0, NULL},
        {"cast(x, f16, round = rtp)", INTEGERS, HALF, EACH, half_up, 0, NULL},
        {"cast(x, f16, round = rtn)", INTEGERS, HALF, EACH, half_down, 0, NULL},
        {"cast(x, f16, round = rtne)", INTEGERS, HALF, EACH, half_near, 0, NULL},
        {"cast(x, f16, round = rtz)", FLOATS, HALF, EACH, half_cut, 0, NULL},
        {"cast(x, f16, round = rtp)", FLOATS, HALF, EACH, half_up, 0, NULL},
        {"cast(x, f16, round = rtn)", FLOATS, HALF, EACH, half_down, 0, NULL},
        {"f16(x)", FLOATS, HALF, EACH, half_near, 0, NULL},
        {"i8(x)", INTEGERS, BYTE, EACH, byte_of, 0, NULL},
        {"cast(x, i8, saturate = true)", INTEGERS, BYTE, EACH, byte_near, 0, NULL},
        {"i8(x)", FLOATS, BYTE, EACH, byte_of_real, 0, NULL},
        {"cast(x, i8, round = rtne)", FLOATS, BYTE, EACH, byte_of_near, 0, NULL},
};
enum { SUBJECTS = sizeof subjects / sizeof *subjects };

/* ---- the source ---- */

static enum ir_element wide_of(enum ir_element element)
{
    bool narrow = ir_element_info[element].bits < 32;
    return element == IR_BOOL ? IR_I32 : !narrow ? element : is_float(element) ? IR_F32 : IR_I32;
}

static enum ir_element result_element(const struct subject *s, enum ir_element element)
{
    switch (s->result) {
    case TRUTH: return IR_BOOL;
    case WIDE: return wide_of(element);
    case PLACE: return IR_I64;
    case HALF: return IR_F16;
    case BYTE: return IR_I8;
    default: return element;
    }
}

static int kind_of(enum ir_element element)
{
    if (is_float(element))
        return ir_element_info[element].bits == 8 ? NARROW_FLOATS : FLOATS;
    return element == IR_BOOL ? BOOLS : ir_is_signed(element) ? SIGNED : UNSIGNED;
}

static const char result_names[] = {
    [SAME] = 's', [TRUTH] = 't', [WIDE] = 'w', [PLACE] = 'p', [HALF] = 'h', [BYTE] = 'i'};

/* Rows of the results are numbered by subject and, of those that fold, by axis (2: all). */
static int row_of(int subject, int axis) { return subject * 3 + axis; }

static void put_subject(struct buffer *out, int number, enum ir_element element)
{
    const struct subject *s = &subjects[number];
    for (int axis = 0; axis < 3; axis++) {
        static const char *const places[] = {"0, 0 +: 8", "0 +: 4, 0", "0, 0"};
        bool each = s->form != FOLDED && s->form != SCANNED;
        char text[160], option[24] = "";
        if (each ? axis > 0 : !(s->axes >> axis & 1))
            continue;
        if (!each && axis < 2)
            snprintf(option, sizeof option, ", axis = %d", axis);
        const char *hole = strstr(s->text, "%s"), *type = strchr(s->text, 'T');
        const char *name = type ? ir_element_info[element].text : "",
                   *rest = type ? type + 1 : s->text + strlen(s->text);
        int length = (int)((type ? type : rest) - s->text);
        if (hole) /* in front of T */
            snprintf(text, sizeof text, "%.*s%s%.*s%s%s", (int)(hole - s->text), s->text, option,
                     length - (int)(hole + 2 - s->text), hole + 2, name, rest);
        else
            snprintf(text, sizeof text, "%.*s%s%s", length, s->text, name, rest);
        buffer_printf(out, "    %c[%d, %s] = %s;\n", result_names[s->result], row_of(number, axis),
                      s->form != FOLDED ? "0 +: 4, 0 +: 8" : places[axis], text);
    }
}

static void put_source(struct buffer *out, enum ir_element element)
{
    const char *name = ir_element_info[element].text;
    buffer_printf(out, "fn first(a: %s, b: %s) -> %s = a;\nfn last(a: %s, b: %s) -> %s = b;\n\n", name, name, name,
                  name, name, name);
    buffer_printf(out,
                  "fn parted(x: %s[4, 8]) -> %s[4, 8] {\n    let even, odd = split(reshape(x, 16, 2));\n"
                  "    return reshape(cat(odd, even), 4, 8);\n}\n\n",
                  name, name);
    buffer_printf(out, "kernel library(a: in %s[4, 8], b: in %s[4, 8], c: in %s[4, 8]", name, name, name);
    for (int r = 0; r < RESULTS; r++) {
        struct subject any = {.result = (enum result)r};
        buffer_printf(out, ", %c: out %s[%d, 4, 8]", result_names[r],
                      ir_element_info[result_element(&any, element)].text, SUBJECTS * 3);
    }
    buffer_puts(out, ")\n    grid(number: 1)\n{\n");
    buffer_puts(out, "    let x = a[:, :];\n    let y = b[:, :];\n    let z = c[:, :];\n");
    for (int i = 0; i < SUBJECTS; i++)
        if (subjects[i].takes & kind_of(element))
            put_subject(out, i, element);
    buffer_puts(out, "}\n");
}

/* ---- one element ---- */

struct test {
    enum ir_element element;
    struct fuzz_program *program;
    struct cell input[INPUTS][CELLS];
    const struct fuzz_memory *got;
    int failures;
};

static void compare(struct test *t, int number, int axis, int at, struct cell wanted)
{
    const struct subject *s = &subjects[number];
    enum ir_element element = result_element(s, t->element);
    struct cell got = read_cell(element, t->got->arguments[INPUTS + s->result].data, row_of(number, axis) * CELLS + at);
    if (same_cell(element, got, wanted) || t->failures++ > 20)
        return;
    if (is_float(element))
        printf("%s of %s, axis %d, element %d: %.17g, not %.17g\n", s->text, ir_element_info[t->element].text, axis, at,
               got.real, wanted.real);
    else
        printf("%s of %s, axis %d, element %d: %lld, not %lld\n", s->text, ir_element_info[t->element].text, axis, at,
               (long long)got.number, (long long)wanted.number);
}

static void check_each(struct test *t, int number)
{
    const struct subject *s = &subjects[number];
    for (int i = 0; i < CELLS; i++) {
        struct cell a = t->input[0][i], b = t->input[s->form == EACH][i];
        if (s->form == MOVED) {
            int from = s->from(i);
            a = from < 0 ? (struct cell){0} : t->input[0][from];
            b = of_truth(from >= 0);
        }
        compare(t, number, 0, i, s->model(t->element, a, b, t->input[2][i]));
    }
}

/* Sums of floats that are exact in any order, or NaN in all. */
static bool is_plain(const struct test *t, const struct subject *s, const struct cell *line, int count)
{
    bool small = true, nan = false;
    for (int i = 0; i < count && is_float(t->element) && s->result == WIDE; i++) {
        small &= fabs(line[i].real) <= 64 && line[i].real == trunc(line[i].real);
        nan |= isnan(line[i].real);
    }
    return small || nan;
}

static void check_fold(struct test *t, int number, int axis)
{
    const struct subject *s = &subjects[number];
    enum ir_element element = result_element(s, t->element);
    int lines = axis == 0 ? COLUMNS : axis == 1 ? ROWS : 1, count = CELLS / lines;
    for (int l = 0; l < lines; l++) {
        struct cell line[CELLS], all;
        for (int i = 0; i < count; i++)
            line[i] = t->input[0][axis == 0 ? i * COLUMNS + l : axis == 1 ? l * COLUMNS + i : i];
        if (!is_plain(t, s, line, count))
            continue;
        int best = 0;
        all = line[0];
        for (int i = 1; i < count; i++)
            if (s->result == PLACE) { /* NaN is behind all numbers or in front, of equals the first one counts */
                bool largest = s->model == most || s->model == most_or_nan;
                bool skips = s->model == most || s->model == least;
                bool better = largest ? less(t->element, line[best], line[i]) : less(t->element, line[i], line[best]);
                bool nan = is_nan(t->element, line[best]), other = is_nan(t->element, line[i]);
                best = better || (nan != other && nan == skips) ? i : best;
            } else {
                all = s->model(s->result == WIDE ? element : t->element, all, line[i], all);
            }
        if (s->result == WIDE && is_float(element) && all.real == 0) /* of zeros: either sign */
            all.real = 0 * read_cell(element, t->got->arguments[INPUTS + WIDE].data,
                                     row_of(number, axis) * CELLS + (axis == 1 ? l * COLUMNS : l))
                               .real;
        if (s->result == PLACE)
            all.number = best;
        compare(t, number, axis, axis == 1 ? l * COLUMNS : l, all);
    }
}

/* What stands before the first element where the scan leaves the element itself out. */
static struct cell before_all(const struct subject *s, enum ir_element element)
{
    struct cell none = {0};
    if (s->model == sum)
        return none;
    if (s->model == product)
        return of_whole(element, 1);
    bool low = s->model == most || s->model == most_or_nan || s->model == right;
    return low ? lowest_of(element, none, none, none) : highest_of(element, none, none, none);
}

static void check_scan(struct test *t, int number, int axis)
{
    const struct subject *s = &subjects[number];
    enum ir_element element = result_element(s, t->element);
    bool reverse = strstr(s->text, "reverse"), exclusive = strstr(s->text, "exclusive");
    int lines = axis ? ROWS : COLUMNS, count = CELLS / lines;
    for (int l = 0; l < lines; l++) {
        struct cell all = before_all(s, element);
        bool any = exclusive, plain = true;
        for (int i = 0; i < count; i++) {
            int k = reverse ? count - 1 - i : i, at = axis ? l * COLUMNS + k : k * COLUMNS + l;
            struct cell mine = t->input[0][at], next = any ? s->model(element, all, mine, all) : mine;
            struct cell wanted = exclusive ? all : next;
            all = next;
            any = true;
            bool counts = plain || !exclusive;
            if (is_float(t->element) && s->result == WIDE) /* sums of others are not exact */
                plain &= isnan(mine.real) || (fabs(mine.real) <= 64 && mine.real == trunc(mine.real));
            if (!counts || (!exclusive && !plain))
                break;
            if (s->result == WIDE && is_float(element) && wanted.real == 0) /* of zeros: either sign */
                wanted.real =
                    0 *
                    read_cell(element, t->got->arguments[INPUTS + WIDE].data, row_of(number, axis) * CELLS + at).real;
            compare(t, number, axis, at, wanted);
        }
    }
}

static void check_values(struct test *t)
{
    for (int i = 0; i < SUBJECTS; i++) {
        const struct subject *s = &subjects[i];
        if (!(s->takes & kind_of(t->element)))
            continue;
        if (s->form != FOLDED && s->form != SCANNED)
            check_each(t, i);
        for (int axis = 0; axis < 3; axis++)
            if (s->form == FOLDED && s->axes >> axis & 1)
                check_fold(t, i, axis);
            else if (s->form == SCANNED && s->axes >> axis & 1)
                check_scan(t, i, axis);
    }
}

/* Every fourth time numbers that add up exactly. */
static void check_seed(struct test *t, uint64_t seed, bool as_code)
{
    struct fuzz_program *program = t->program;
    struct interp_problem problem;
    struct buffer reason = {0};
    int64_t runs = 0;
    for (int i = 0; i < program->argument_count; i++) {
        program->arguments[i].content = seed % 4 ? FUZZ_WILD : FUZZ_SMALL_INTEGERS;
        program->arguments[i].fill = (seed * 16 + (uint64_t)i) * 32 + t->element;
    }
    struct fuzz_memory *memory = fuzz_memory_create(program);
    for (int v = 0; v < INPUTS; v++)
        for (int i = 0; i < CELLS; i++)
            t->input[v][i] = read_cell(t->element, memory->arguments[v].data, i);
    t->got = memory;
    if (!fuzz_interpret(program, program->function, memory, false, &problem)) {
        printf("%s: %s\n", ir_element_info[t->element].text, problem.text);
        t->failures++;
    } else {
        check_values(t);
    }
    if (as_code) { /* of this processor; from here on the function is another one */
        struct judge judge = {
            .kind = JUDGE_CPU, .isa = (int)(t->element % (enum ir_element)fuzz_cpu_levels()), .code_level = 1};
        fuzz_judge_cpu(&judge, program, memory, &runs, &reason);
        if (reason.size) {
            printf("%s, seed %llu: %s\n", ir_element_info[t->element].text, (unsigned long long)seed, reason.data);
            t->failures++;
        }
    }
    buffer_free(&reason);
    fuzz_memory_free(memory);
}

static int check_element(enum ir_element element, uint64_t first, uint64_t count)
{
    struct arena *arena = arena_create();
    struct buffer text = {0}, problem = {0};
    struct text_programs all = {0};
    struct test t = {.element = element};
    put_source(&text, element);
    if (!fuzz_text_programs(text.data, text.size, 1, ir_context_create(arena), arena, &all, &problem) ||
        all.programs.count != 1) {
        printf("%s: %s\n", ir_element_info[element].text, problem.size ? problem.data : "no program");
        t.failures++;
    }
    for (uint64_t seed = first; seed < first + count && !t.failures; seed++) {
        t.program = all.programs.data[0];
        check_seed(&t, seed, seed + 1 == first + count);
    }
    buffer_free(&text);
    buffer_free(&problem);
    arena_destroy(arena);
    return t.failures;
}

/* Every operation that is a function of the language stands in the table above. */
static int check_table(void)
{
    int failures = 0;
    for (int i = 0; i < OP_COUNT; i++) {
        const char *name = ir_op_info[i].name;
        bool found = !name;
        for (int k = 0; k < SUBJECTS && !found; k++)
            found = !strncmp(subjects[k].text, name, strlen(name)) && subjects[k].text[strlen(name)] == '(';
        if (!found) {
            printf("tests/lang/library_test.c has no subject of `%s`\n", name);
            failures++;
        }
    }
    return failures;
}

int main(int count, char **arguments)
{
    uint64_t first = count > 2 ? strtoull(arguments[2], NULL, 0) : 1;
    uint64_t seeds = count > 3 ? strtoull(arguments[3], NULL, 0) : 8;
    int failures = check_table();
    for (enum ir_element element = IR_BOOL; element < IR_INDEX; element++)
        if (count < 2 || !strcmp(arguments[1], ir_element_info[element].text))
            failures += check_element(element, first, seeds);
    return failures != 0;
}
