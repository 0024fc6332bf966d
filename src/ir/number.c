/* Constants between their encodings and C values, rounded once to nearest even; no libm, no dependence on the host's
 * mode.  Every float format of the language is described by (exponent bits, mantissa bits, kind of specials). */
#include <string.h>

#include "base/plant.h"
#include "ir/ir.h"

/* bias = 2^(exponent-1) - 1.  finite_only: e4m3 has no infinity, its all-ones pattern with all-ones mantissa is NaN. */
struct float_format {
    int exponent, mantissa;
    bool finite_only, saturates;
};

static const struct float_format formats[IR_ELEMENT_COUNT] = {
    [IR_F16] = {5, 10, false, false},  [IR_BF16] = {8, 7, false, false}, [IR_F32] = {8, 23, false, false},
    [IR_F64] = {11, 52, false, false}, [IR_F8E4M3] = {4, 3, true, true}, [IR_F8E5M2] = {5, 2, false, true},
};

static struct float_format format_of(enum ir_element element)
{
    if (!formats[element].exponent)
        die("'%s' is not a float", ir_element_info[element].text);
    return formats[element];
}

static double double_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t bits_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* 2^exponent as a double, exponent within the normal range. */
static double power_of_two(int exponent) { return double_of_bits((uint64_t)(exponent + 1023) << 52); }

static double decode_float(struct float_format f, uint64_t bits)
{
    uint64_t mantissa = bits & ((UINT64_C(1) << f.mantissa) - 1);
    int exponent = (int)(bits >> f.mantissa & ((UINT64_C(1) << f.exponent) - 1));
    bool negative = bits >> (f.mantissa + f.exponent) & 1;
    int top = (1 << f.exponent) - 1, bias = top >> 1;
    double magnitude;
    if (exponent == top && !f.finite_only) {
        magnitude = double_of_bits(mantissa ? UINT64_C(0x7ff8000000000000) : UINT64_C(0x7ff0000000000000));
    } else if (exponent == top && mantissa == (UINT64_C(1) << f.mantissa) - 1) {
        magnitude = double_of_bits(UINT64_C(0x7ff8000000000000));
    } else if (exponent == 0) {
        magnitude = (double)mantissa * power_of_two(1 - bias - f.mantissa);
    } else {
        magnitude = (double)(mantissa | UINT64_C(1) << f.mantissa) * power_of_two(exponent - bias - f.mantissa);
    }
    return negative ? -magnitude : magnitude;
}

/* The largest finite magnitude, without the sign. */
static uint64_t largest_finite(struct float_format f)
{
    uint64_t top = (UINT64_C(1) << f.exponent) - 1, ones = (UINT64_C(1) << f.mantissa) - 1;
    return f.finite_only ? (top << f.mantissa | (ones - 1)) : ((top - 1) << f.mantissa | ones);
}

static uint64_t special_bits(struct float_format f, bool nan)
{
    uint64_t top = (UINT64_C(1) << f.exponent) - 1;
    if (nan)
        return f.finite_only ? (top << f.mantissa | ((UINT64_C(1) << f.mantissa) - 1))
                             : (top << f.mantissa | UINT64_C(1) << (f.mantissa - 1));
    return f.saturates ? largest_finite(f) : top << f.mantissa;
}

/* Narrows a double: `keep` bits of its 53-bit significand stay, the rest round to nearest even. */
static uint64_t encode_float(struct float_format f, double value)
{
    uint64_t wide = bits_of_double(value);
    uint64_t sign = (wide >> 63) << (f.mantissa + f.exponent);
    int exponent = (int)(wide >> 52 & 0x7ff);
    uint64_t significand = wide & ((UINT64_C(1) << 52) - 1);
    if (exponent == 0x7ff)
        return sign | special_bits(f, significand != 0);
    if (exponent == 0 && significand == 0)
        return sign;
    if (exponent)
        significand |= UINT64_C(1) << 52;
    else
        exponent = 1;
    int bias = ((1 << f.exponent) - 1) >> 1;
    int target = exponent - 1023 + bias; /* biased exponent in the narrow format */
    int drop = 52 - f.mantissa;
    if (target < 1) { /* subnormal there */
        drop += 1 - target;
        target = 0;
    }
    if (drop > 54)
        return sign;
    uint64_t kept = drop == 0 ? significand : significand >> drop;
    if (drop) {
        uint64_t rest = significand & ((UINT64_C(1) << drop) - 1), half = UINT64_C(1) << (drop - 1);
        if (rest > half || (rest == half && ((kept & 1) || PLANTED(number_rounds_half_up))))
            kept++;
    }
    /* kept carries the hidden bit when target >= 1; a carry out of the mantissa moves on into the exponent by itself */
    uint64_t magnitude = target == 0 ? kept : ((uint64_t)(target - 1) << f.mantissa) + kept;
    if (magnitude > largest_finite(f))
        magnitude = special_bits(f, false);
    return sign | magnitude;
}

uint64_t ir_infinity_bits(enum ir_element element, bool negative)
{
    struct float_format f = format_of(element);
    uint64_t top = (UINT64_C(1) << f.exponent) - 1;
    return (uint64_t)negative << (f.mantissa + f.exponent) | (f.finite_only ? largest_finite(f) : top << f.mantissa);
}

static uint64_t width_mask(enum ir_element element)
{
    int bits = ir_element_info[element].bits;
    return bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1;
}

int64_t ir_bits_to_int(enum ir_element element, uint64_t bits)
{
    if (element == IR_BOOL)
        return bits != 0;
    if (ir_is_float(element))
        return ir_bits_to_int(IR_I64, ir_double_to_bits(IR_I64, ir_bits_to_double(element, bits)));
    int shift = 64 - ir_element_info[element].bits;
    return ir_is_signed(element) ? (int64_t)(bits << shift) >> shift : (int64_t)(bits & width_mask(element));
}

uint64_t ir_int_to_bits(enum ir_element element, int64_t value)
{
    if (element == IR_BOOL)
        return value != 0;
    if (ir_is_float(element)) {
        double nearest = (double)value;
        if (element != IR_F64 && (int64_t)power_of_two(53) < (value < 0 ? -(value + 1) : value)) {
            /* avoid rounding twice: fold the lost bits into a sticky lowest bit of the double */
            uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
            int drop = log2_floor(magnitude) - 52;
            uint64_t lost = magnitude & ((UINT64_C(1) << drop) - 1);
            uint64_t kept = (magnitude >> drop | (lost != 0)) << drop;
            nearest = value < 0 ? -(double)kept : (double)kept;
        }
        return ir_double_to_bits(element, nearest);
    }
    uint64_t masked = (uint64_t)value & width_mask(element);
    return ir_is_signed(element) ? (uint64_t)ir_bits_to_int(element, masked) : masked;
}

double ir_bits_to_double(enum ir_element element, uint64_t bits)
{
    if (ir_is_float(element))
        return element == IR_F64 ? double_of_bits(bits) : decode_float(format_of(element), bits);
    if (element == IR_U64)
        return (double)bits;
    return (double)ir_bits_to_int(element, bits);
}

uint64_t ir_double_to_bits(enum ir_element element, double value)
{
    if (element == IR_F64)
        return bits_of_double(value);
    if (ir_is_float(element))
        return encode_float(format_of(element), value);
    if (element == IR_BOOL)
        return value != 0.0;
    if (value != value)
        return 0;
    int bits = ir_element_info[element].bits;
    if (!ir_is_signed(element)) {
        if (value <= 0.0)
            return 0;
        return value >= (bits == 64 ? 18446744073709551616.0 : power_of_two(bits)) ? width_mask(element)
                                                                                   : (uint64_t)value;
    }
    double limit = power_of_two(bits - 1);
    if (value >= limit)
        return (uint64_t)((UINT64_C(1) << (bits - 1)) - 1);
    if (value <= -limit)
        return UINT64_MAX << (bits - 1); /* the least number, its sign extended */
    return (uint64_t)(int64_t)value;
}
