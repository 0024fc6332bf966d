/* See element.h. */
#include "element.h"
#include <math.h>
#include <string.h>

static const struct format {
    const char *name;
    int bits;
    char kind;         /* float, signed, unsigned */
    int digits, least; /* of floats: of the significand; exponent of the smallest number */
    double largest;
} formats[JUDGE_TYPES] = {
    [JUDGE_F32] = {"f32", 32, 'f', 24, -149, 0x1.fffffep127},
    [JUDGE_I64] = {"i64", 64, 's', 0, 0, 0},
    [JUDGE_BOOL] = {"bool", 8, 'u', 0, 0, 0},
    [JUDGE_I4] = {"i4", 4, 's', 0, 0, 0},
    [JUDGE_U4] = {"u4", 4, 'u', 0, 0, 0},
    [JUDGE_I8] = {"i8", 8, 's', 0, 0, 0},
    [JUDGE_I16] = {"i16", 16, 's', 0, 0, 0},
    [JUDGE_I32] = {"i32", 32, 's', 0, 0, 0},
    [JUDGE_U8] = {"u8", 8, 'u', 0, 0, 0},
    [JUDGE_U16] = {"u16", 16, 'u', 0, 0, 0},
    [JUDGE_U32] = {"u32", 32, 'u', 0, 0, 0},
    [JUDGE_U64] = {"u64", 64, 'u', 0, 0, 0},
    [JUDGE_F16] = {"f16", 16, 'f', 11, -24, 65504},
    [JUDGE_BF16] = {"bf16", 16, 'f', 8, -133, 0x1.fep127},
    [JUDGE_F64] = {"f64", 64, 'f', 53, -1074, 0x1.fffffffffffffp1023},
    [JUDGE_F8E4M3] = {"f8e4m3", 8, 'f', 4, -9, 448},
    [JUDGE_F8E5M2] = {"f8e5m2", 8, 'f', 3, -16, 57344},
};

enum judge_type element_type(const char *name)
{
    int type = 0;
    while (type < JUDGE_TYPES && strcmp(formats[type].name, name))
        type++;
    return (enum judge_type)type;
}

const char *element_name(enum judge_type type) { return formats[type].name; }
int element_bits(enum judge_type type) { return formats[type].bits; }
size_t element_bytes(enum judge_type type, int64_t count) { return (size_t)count * (size_t)formats[type].bits / 8; }
bool element_is_float(enum judge_type type) { return formats[type].kind == 'f'; }
bool element_is_signed(enum judge_type type) { return formats[type].kind == 's'; }

long double element_largest(enum judge_type type)
{
    if (element_is_float(type))
        return formats[type].largest;
    return type == JUDGE_BOOL ? 1 : ldexpl(1, formats[type].bits - element_is_signed(type)) - 1;
}

long double element_smallest(enum judge_type type)
{
    if (element_is_float(type))
        return -(long double)formats[type].largest;
    return element_is_signed(type) ? -ldexpl(1, formats[type].bits - 1) : 0;
}

long double element_unit(enum judge_type type, long double value)
{
    int exponent, least = formats[type].least;
    if (!element_is_float(type))
        return 1;
    frexpl(value, &exponent);
    exponent -= formats[type].digits;
    return ldexpl(1, value == 0 || exponent < least ? least : exponent);
}

/* ---- bits ---- */

long double element_wrap(enum judge_type type, uint64_t bits)
{
    int unused = 64 - formats[type].bits;
    return element_is_signed(type) ? (long double)((int64_t)(bits << unused) >> unused)
                                   : (long double)(bits << unused >> unused);
}

long double element_decode(enum judge_type type, uint64_t bits)
{
    const struct format *f = &formats[type];
    if (!element_is_float(type))
        return element_wrap(type, bits);
    int fraction_bits = f->digits - 1, exponent_bits = f->bits - f->digits;
    uint64_t fraction = bits & ((UINT64_C(1) << fraction_bits) - 1);
    int exponent = (int)(bits >> fraction_bits & ((UINT64_C(1) << exponent_bits) - 1));
    bool top = exponent == (1 << exponent_bits) - 1;
    long double size;
    if (type == JUDGE_F8E4M3 ? top && fraction == 7 : top)
        size = type != JUDGE_F8E4M3 && fraction == 0 ? (long double)INFINITY : (long double)NAN;
    else if (exponent == 0)
        size = ldexpl((long double)fraction, f->least);
    else
        size = ldexpl((long double)(fraction | UINT64_C(1) << fraction_bits), f->least + exponent - 1);
    return bits >> (f->bits - 1) & 1 ? -size : size;
}

uint64_t element_encode(enum judge_type type, long double value)
{
    const struct format *f = &formats[type];
    if (!element_is_float(type))
        return value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
    uint64_t sign = (uint64_t)(signbit(value) != 0) << (f->bits - 1);
    uint64_t top = ((UINT64_C(1) << (f->bits - f->digits)) - 1) << (f->digits - 1);
    if (isnan(value))
        return sign | top | (type == JUDGE_F8E4M3 ? 7 : UINT64_C(1) << (f->digits - 2));
    if (isinf(value))
        return sign | top;
    long double unit = element_unit(type, value);
    uint64_t significand = (uint64_t)(fabsl(value) / unit);
    int exponent = ilogbl(unit) - f->least;
    /* The leading one of a normal number counts up the exponent. */
    return sign | (((uint64_t)exponent << (f->digits - 1)) + significand);
}

/* ---- memory ---- */

long double element_read(enum judge_type type, const void *memory, int64_t i)
{
    const unsigned char *bytes = memory;
    uint64_t bits = 0;
    if (formats[type].bits == 4)
        bits = bytes[i / 2] >> (i % 2 ? 4 : 0) & 15;
    else
        memcpy(&bits, bytes + element_bytes(type, i), element_bytes(type, 1));
    if (type == JUDGE_F32 || type == JUDGE_F64) {
        float f;
        double d;
        memcpy(&f, &bits, sizeof f), memcpy(&d, &bits, sizeof d);
        return type == JUDGE_F32 ? (long double)f : (long double)d;
    }
    return element_decode(type, bits);
}

void element_write(enum judge_type type, void *memory, int64_t i, long double value)
{
    unsigned char *bytes = memory;
    uint64_t bits = element_encode(type, value);
    if (formats[type].bits == 4) {
        unsigned char *byte = bytes + i / 2;
        *byte = (unsigned char)(i % 2 ? (*byte & 15) | (bits & 15) << 4 : (*byte & 0xf0) | (bits & 15));
        return;
    }
    memcpy(bytes + element_bytes(type, i), &bits, element_bytes(type, 1));
}

/* ---- rounding ---- */

static long double whole(enum element_rounding rounding, long double x)
{
    switch (rounding) {
    case ELEMENT_TO_ZERO: return truncl(x);
    case ELEMENT_UP: return ceill(x);
    case ELEMENT_DOWN: return floorl(x);
    default: return nearbyintl(x);
    }
}

long double element_round(enum judge_type type, long double value, enum element_rounding rounding)
{
    const struct format *f = &formats[type];
    if (!element_is_float(type) || isnan(value) || value == 0)
        return value;
    bool stays = f->bits == 8;
    if (isinf(value))
        return stays ? copysignl(f->largest, value) : value;
    long double unit = element_unit(type, value), near = copysignl(whole(rounding, value / unit) * unit, value);
    if (fabsl(near) <= f->largest)
        return near;
    bool inward = rounding == ELEMENT_TO_ZERO || rounding == (value > 0 ? ELEMENT_DOWN : ELEMENT_UP);
    return copysignl(stays || inward ? (long double)f->largest : (long double)INFINITY, value);
}
