/* What PTX instructions make of numbers.  Floats of 16 and 8 bits go through f64, which holds sums and products of two
 * of them exactly, or to an odd last bit where it does not. */
#include <fenv.h>
#include <math.h>
#include <string.h>

#include "ir/ir.h"
#include "ptx.h"

__extension__ typedef __int128 wide_signed;
__extension__ typedef unsigned __int128 wide_unsigned;

static uint64_t mask_of(int bits) { return bits >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1; }

static int64_t signed_of(uint64_t value, int bits)
{
    uint64_t sign = UINT64_C(1) << (bits - 1);
    return (int64_t)(((value & mask_of(bits)) ^ sign) - sign);
}

/* The register of the mode is slow to set. */
static void round_by(int mode)
{
    if (mode != fegetround())
        fesetround(mode);
}

/* ---- floats ---- */

static double f32_of(uint64_t bits)
{
    uint32_t word = (uint32_t)bits;
    float number;
    memcpy(&number, &word, sizeof number);
    return number;
}

static double f64_of(uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static uint64_t bits_of_f32(float number)
{
    uint32_t word;
    memcpy(&word, &number, sizeof word);
    return number != number ? 0x7fffffff : word;
}

static uint64_t bits_of_f64(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return number != number ? UINT64_C(0x7fffffffffffffff) : bits;
}

static enum ir_element element_of(struct ptx_type type)
{
    switch (type.kind) {
    case 'f': return type.bits == 16 ? IR_F16 : type.bits == 32 ? IR_F32 : IR_F64;
    case 'F': return IR_F16;
    case 'y':
    case 'Y': return IR_BF16;
    case 'q':
    case 'Q': return IR_F8E4M3;
    default: return IR_F8E5M2;
    }
}

double ptx_number(struct ptx_type type, uint64_t bits)
{
    if (type.kind == 't')
        return f32_of(bits & ~UINT64_C(0x1fff));
    enum ir_element element = element_of(type);
    return element == IR_F32   ? f32_of(bits)
           : element == IR_F64 ? f64_of(bits)
                               : ir_bits_to_double(element, bits & mask_of(ir_element_info[element].bits));
}

/* A NaN of 16 bits is 0x7fff. */
static uint64_t narrow(enum ir_element element, double number)
{
    if (number == number)
        return ir_double_to_bits(element, number);
    return element == IR_F16 || element == IR_BF16 ? 0x7fff : 0x7f;
}

/* Toward zero, up or down by a step from the nearest. */
static uint64_t narrow_directed(enum ir_element element, double number, char round)
{
    uint64_t bits = narrow(element, number);
    double back = ir_bits_to_double(element, bits);
    if (round == 'n' || !round || number != number || back == number || isinf(number))
        return bits;
    bool outward = round == 'z' ? false : (round == 'p') == !signbit(number), beyond = fabs(back) > fabs(number);
    if (beyond && !outward)
        return bits - 1;
    return !beyond && outward ? bits + 1 : bits;
}

/* The sum of two f64 to an odd last bit: what rounds it once more rounds right. */
static double odd_sum(double a, double b)
{
    double sum = a + b, part = sum - a, error = (a - (sum - part)) + (b - part);
    uint64_t bits;
    if (error == 0 || sum != sum || isinf(sum))
        return sum;
    memcpy(&bits, &sum, sizeof bits);
    if (!(bits & 1)) /* the neighbour on the side of the error is odd */
        bits += (error > 0) == (sum > 0) ? 1 : (uint64_t)-1;
    memcpy(&sum, &bits, sizeof sum);
    return sum;
}

static int rounding_mode(char round)
{
    return round == 'z' ? FE_TOWARDZERO : round == 'm' ? FE_DOWNWARD : round == 'p' ? FE_UPWARD : FE_TONEAREST;
}

/* IEEE minimum of PTX: a NaN loses unless it is kept; -0 is less than 0. */
static double extreme(double a, double b, bool least, bool keeps_nan)
{
    if (a != a || b != b)
        return keeps_nan || (a != a && b != b) ? NAN : a != a ? b : a;
    bool less = a < b || (a == b && signbit(a) && !signbit(b));
    return less == least ? a : b;
}

static float flushed(float number, bool flushes)
{
    return flushes && fpclassify(number) == FP_SUBNORMAL ? copysignf(0, number) : number;
}

/* xorsign.abs: of the magnitudes, with the signs of both multiplied. */
static double extreme_magnitude(double a, double b, bool least, bool keeps_nan)
{
    double magnitude = extreme(fabs(a), fabs(b), least, keeps_nan);
    return signbit(a) != signbit(b) ? -magnitude : magnitude;
}

/* volatile: the mode of rounding must be that of the moment. */
static uint64_t compute_f32(const struct ptx_instruction *in, double x, double y, double z)
{
    volatile float a = flushed((float)x, in->flushes), b = flushed((float)y, in->flushes), c = (float)z, result = 0;
    int before = fegetround();
    round_by(rounding_mode(in->round));
    switch (in->opcode) {
    case PTX_add: result = a + b; break;
    case PTX_sub: result = a - b; break;
    case PTX_mul: result = a * b; break;
    case PTX_div: result = a / b; break;
    case PTX_fma:
    case PTX_mad: result = fmaf(a, b, c); break;
    case PTX_sqrt: result = sqrtf(a); break;
    case PTX_rcp: result = 1.0f / a; break;
    case PTX_rsqrt: result = (float)(1.0 / sqrt((double)a)); break;
    case PTX_ex2: result = (float)exp2((double)a); break;
    case PTX_min:
    case PTX_max:
        result = in->by_magnitude ? (float)extreme_magnitude(a, b, in->opcode == PTX_min, in->keeps_nan)
                                  : (float)extreme(a, b, in->opcode == PTX_min, in->keeps_nan);
        break;
    default: break;
    }
    round_by(before);
    if (in->saturates)
        result = result != result ? 0 : result < 0 ? 0 : result > 1 ? 1 : result;
    return bits_of_f32(flushed(result, in->flushes));
}

static uint64_t compute_f64(const struct ptx_instruction *in, double x, double y, double z)
{
    volatile double a = x, b = y, result = 0;
    int before = fegetround();
    round_by(rounding_mode(in->round));
    switch (in->opcode) {
    case PTX_add: result = a + b; break;
    case PTX_sub: result = a - b; break;
    case PTX_mul: result = a * b; break;
    case PTX_div: result = a / b; break;
    case PTX_fma:
    case PTX_mad: result = fma(a, b, z); break;
    case PTX_sqrt: result = sqrt(a); break;
    case PTX_rcp: result = 1.0 / a; break;
    case PTX_min:
    case PTX_max: result = extreme(a, b, in->opcode == PTX_min, in->keeps_nan); break;
    default: break;
    }
    round_by(before);
    return bits_of_f64(result);
}

static uint64_t compute_narrow(const struct ptx_instruction *in, double a, double b, double c)
{
    enum ir_element element = element_of(in->type);
    switch (in->opcode) {
    case PTX_add: return narrow(element, odd_sum(a, b));
    case PTX_sub: return narrow(element, odd_sum(a, -b));
    case PTX_mul: return narrow(element, a * b);
    case PTX_fma: return narrow(element, odd_sum(a * b, c));
    default: return narrow(element, extreme(a, b, in->opcode == PTX_min, in->keeps_nan));
    }
}

static bool compute_float(const struct ptx_instruction *in, const uint64_t *bits, uint64_t *out)
{
    struct ptx_type type = in->type;
    double number[3] = {0};
    for (int i = 0; i < 3 && i + 1 < in->operand_count; i++)
        number[i] = ptx_number(type, bits[i]);
    switch (in->opcode) {
    case PTX_neg: *out = bits[0] ^ UINT64_C(1) << (type.bits - 1); return true;
    case PTX_abs: *out = bits[0] & mask_of(type.bits - 1); return true;
    case PTX_add:
    case PTX_sub:
    case PTX_mul:
    case PTX_fma:
    case PTX_min:
    case PTX_max:
    case PTX_div:
    case PTX_mad:
    case PTX_sqrt:
    case PTX_rcp:
    case PTX_rsqrt:
    case PTX_ex2: break;
    default: return false;
    }
    *out = type.bits == 32   ? compute_f32(in, number[0], number[1], number[2])
           : type.bits == 64 ? compute_f64(in, number[0], number[1], number[2])
                             : compute_narrow(in, number[0], number[1], number[2]);
    return true;
}

/* ---- integers ---- */

static uint64_t shifted(const struct ptx_instruction *in, uint64_t a, uint64_t distance)
{
    int bits = in->type.bits;
    distance &= UINT32_MAX;
    if (in->opcode == PTX_shl)
        return distance >= (uint64_t)bits ? 0 : a << distance;
    if (in->type.kind == 's')
        return (uint64_t)(signed_of(a, bits) >> (distance >= (uint64_t)bits ? bits - 1 : (int)distance));
    return distance >= (uint64_t)bits ? 0 : a >> distance;
}

static uint64_t product(const struct ptx_instruction *in, uint64_t a, uint64_t b)
{
    int bits = in->type.bits;
    bool is_signed = in->type.kind == 's';
    if (in->high && is_signed)
        return (uint64_t)(((wide_signed)signed_of(a, bits) * signed_of(b, bits)) >> bits);
    if (in->high)
        return (uint64_t)(((wide_unsigned)a * b) >> bits);
    return is_signed ? (uint64_t)signed_of(a, bits) * (uint64_t)signed_of(b, bits) : a * b;
}

/* Division by zero is undefined: all ones, as hardware has it. */
static uint64_t quotient(const struct ptx_instruction *in, uint64_t a, uint64_t b)
{
    int bits = in->type.bits;
    bool remainder = in->opcode == PTX_rem;
    if (b == 0)
        return remainder ? a : ~UINT64_C(0);
    if (in->type.kind != 's')
        return remainder ? a % b : a / b;
    int64_t x = signed_of(a, bits), y = signed_of(b, bits);
    if (y == -1)
        return remainder ? 0 : 0 - (uint64_t)x;
    return (uint64_t)(remainder ? x % y : x / y);
}

static uint64_t bit_field(const struct ptx_instruction *in, uint64_t a, uint64_t first, uint64_t length)
{
    int bits = in->type.bits, from = (int)(first & 255), size = (int)(length & 255);
    uint64_t part = from >= bits ? 0 : a >> from;
    int top = from + size > bits ? bits - from : size;
    if (in->type.kind != 's')
        return part & (size > 63 ? ~UINT64_C(0) : mask_of(size));
    if (size == 0)
        return 0;
    if (top <= 0)
        return a >> (bits - 1) & 1 ? ~UINT64_C(0) : 0;
    return (uint64_t)signed_of(part, top);
}

static uint64_t picked_bytes(uint64_t a, uint64_t b, uint64_t selector)
{
    uint64_t all = (a & UINT32_MAX) | b << 32, out = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t one = all >> (selector >> 4 * i & 7) * 8 & 255;
        if (selector >> 4 * i & 8)
            one = one & 128 ? 255 : 0;
        out |= one << 8 * i;
    }
    return out;
}

static uint64_t funnel(const struct ptx_instruction *in, uint64_t low, uint64_t high, uint64_t distance)
{
    uint64_t both = (low & UINT32_MAX) | high << 32;
    uint64_t by = ptx_has(in, "clamp") && distance > 32 ? 32 : ptx_has(in, "clamp") ? distance : distance & 31;
    return ptx_has(in, "l") ? (by == 32 ? low : both << by >> 32) : both >> by;
}

static bool less_integer(struct ptx_type type, uint64_t a, uint64_t b)
{
    return type.kind == 's' ? signed_of(a, type.bits) < signed_of(b, type.bits) : a < b;
}

/* Halves of 16 bits, each for itself. */
static uint64_t by_halves(const struct ptx_instruction *in, uint64_t a, uint64_t b)
{
    const struct ptx_type half = {in->type.kind == 'S' ? 's' : 'u', 16};
    uint64_t out = 0;
    for (int i = 0; i < 2; i++) {
        uint64_t x = a >> 16 * i & 0xffff, y = b >> 16 * i & 0xffff;
        bool less = less_integer(half, x, y);
        uint64_t one = in->opcode == PTX_add ? x + y : less == (in->opcode == PTX_min) ? x : y;
        out |= (one & 0xffff) << 16 * i;
    }
    return out;
}

static bool compute_integer(const struct ptx_instruction *in, const uint64_t *v, uint64_t *out)
{
    int bits = in->type.bits;
    uint64_t a = v[0], b = v[1], c = v[2];
    if (in->type.kind == 'U' || in->type.kind == 'S') {
        *out = by_halves(in, a, b);
        return in->opcode == PTX_add || in->opcode == PTX_min || in->opcode == PTX_max;
    }
    switch (in->opcode) {
    case PTX_add: *out = a + b; break;
    case PTX_sub: *out = a - b; break;
    case PTX_mul: *out = product(in, a, b); break;
    case PTX_mad: *out = product(in, a, b) + c; break;
    case PTX_div:
    case PTX_rem: *out = quotient(in, a, b); break;
    case PTX_min: *out = less_integer(in->type, b, a) ? b : a; break;
    case PTX_max: *out = less_integer(in->type, a, b) ? b : a; break;
    case PTX_and: *out = a & b; break;
    case PTX_or: *out = a | b; break;
    case PTX_xor: *out = a ^ b; break;
    case PTX_not: *out = ~a; break;
    case PTX_neg: *out = 0 - a; break;
    case PTX_abs: *out = signed_of(a, bits) < 0 ? 0 - a : a; break;
    case PTX_shl:
    case PTX_shr: *out = shifted(in, a, b); break;
    case PTX_shf: *out = funnel(in, a, b, c); break;
    case PTX_bfe: *out = bit_field(in, a, b, c); break;
    case PTX_bfi: { /* a into b at c, d bits */
        int from = (int)(c & 255), size = (int)(v[3] & 255);
        uint64_t field = from >= bits ? 0 : mask_of(size > 63 ? 64 : size) << from;
        *out = (b & ~field) | (from >= bits ? 0 : a << from & field);
        break;
    }
    case PTX_prmt: *out = picked_bytes(a, b, c); break;
    case PTX_lop3: /* bit 4 a + 2 b + c of the table */
        *out = 0;
        for (int i = 0; i < bits; i++)
            *out |= (v[3] >> (4 * (a >> i & 1) + 2 * (b >> i & 1) + (c >> i & 1)) & 1) << i;
        break;
    case PTX_brev:
        *out = 0;
        for (int i = 0; i < bits; i++)
            *out |= (a >> i & 1) << (bits - 1 - i);
        break;
    case PTX_popc: *out = (uint64_t)__builtin_popcountll(a & mask_of(bits)); break;
    case PTX_clz: *out = (uint64_t)(a & mask_of(bits) ? __builtin_clzll(a & mask_of(bits)) - (64 - bits) : bits); break;
    default: return false;
    }
    return true;
}

/* ---- comparisons ---- */

static bool compare(const struct ptx_instruction *in, uint64_t a, uint64_t b, bool *known)
{
    bool real = in->type.kind == 'f' || in->type.kind == 'y', unordered = false, less, equal;
    const char *word = in->words[0];
    if (real) {
        double x = ptx_number(in->type, a), y = ptx_number(in->type, b);
        unordered = x != x || y != y;
        less = x < y;
        equal = x == y;
    } else {
        less = less_integer(in->type, a, b);
        equal = a == b;
    }
    static const char *const names[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge", "equ", "neu", "ltu",
                                        "leu", "gtu", "geu", "num", "nan", "lo", "ls",  "hi",  "hs"};
    int number = 0;
    while (number < 18 && strcmp(names[number], word) != 0)
        number++;
    *known = number < 18;
    if (number == 12 || number == 13)
        return unordered == (number == 13);
    if (real && unordered)
        return number >= 6 && number < 12;
    if (number >= 14)
        number -= 12;
    switch (number % 6) {
    case 0: return equal;
    case 1: return !equal;
    case 2: return less;
    case 3: return less || equal;
    case 4: return !less && !equal;
    default: return !less;
    }
}

/* ---- conversions ---- */

/* A NaN becomes 0, or the highest bit alone where either side has 64 bits (PTX ISA, cvt). */
static uint64_t to_integer(struct ptx_type to, struct ptx_type from, double number, char round)
{
    double whole = round == 'n'   ? nearbyint(number)
                   : round == 'm' ? floor(number)
                   : round == 'p' ? ceil(number)
                                  : trunc(number);
    bool is_signed = to.kind == 's';
    double most = ldexp(1, to.bits - is_signed), least = is_signed ? -most : 0;
    if (number != number)
        return to.bits == 64 || from.bits == 64 ? UINT64_C(1) << (to.bits - 1) : 0;
    if (whole >= most)
        return is_signed ? mask_of(to.bits - 1) : mask_of(to.bits);
    if (whole < least)
        return is_signed ? UINT64_C(1) << (to.bits - 1) : 0;
    return is_signed ? (uint64_t)(int64_t)whole : (uint64_t)whole;
}

/* An integer to f32 or f64, rounded once by the processor; to f16 by way of f32, which holds 16 bits exactly. */
static uint64_t from_integer(const struct ptx_instruction *in, struct ptx_type to, struct ptx_type from, uint64_t bits)
{
    int64_t number = signed_of(bits, from.bits);
    bool is_signed = from.kind == 's';
    int before = fegetround();
    round_by(rounding_mode(in->round));
    volatile float single = is_signed ? (float)number : (float)bits;
    volatile double wide = is_signed ? (double)number : (double)bits;
    round_by(before);
    return to.bits == 32 ? bits_of_f32(single) : to.bits == 64 ? bits_of_f64(wide) : narrow(element_of(to), wide);
}

static uint64_t from_float(const struct ptx_instruction *in, struct ptx_type to, double number)
{
    if (in->integral) {
        double whole = in->round == 'n'   ? nearbyint(number)
                       : in->round == 'm' ? floor(number)
                       : in->round == 'p' ? ceil(number)
                                          : trunc(number);
        number = whole == 0 ? copysign(0, number) : whole;
    }
    if (to.bits == 64)
        return bits_of_f64(number);
    if (to.bits == 32 && to.kind == 'f') {
        int before = fegetround();
        round_by(rounding_mode(in->integral ? 'n' : in->round));
        volatile float single = (float)number;
        round_by(before);
        return bits_of_f32(in->saturates ? (single > 1 ? 1 : single > 0 ? single : 0) : single);
    }
    return narrow_directed(element_of(to), number, in->integral ? 'n' : in->round);
}

/* d = (a high, b low), or both halves of one. */
static bool convert_pair(struct ptx_type to, struct ptx_type from, const uint64_t *v, uint64_t *out)
{
    int width = to.bits / 2;
    enum ir_element element = element_of(to);
    uint64_t half[2];
    for (int i = 0; i < 2; i++) {
        double number = from.kind == 'f' ? ptx_number(from, v[1 - i]) : ptx_number(from, v[0] >> i * from.bits / 2);
        half[i] = narrow(element, number) & mask_of(width);
    }
    *out = half[0] | half[1] << width;
    return true;
}

/* f32 as tf32 keeps it, to nearest even; the same NaN for all. */
static uint64_t to_tf32(uint64_t bits)
{
    uint64_t magnitude = bits & 0x7fffffff;
    return magnitude > 0x7f800000 ? 0x7fffffff : (bits + 0xfff + (bits >> 13 & 1)) & ~UINT64_C(0x1fff) & 0xffffffff;
}

static bool convert(const struct ptx_instruction *in, const uint64_t *v, uint64_t *out)
{
    struct ptx_type to = in->source, from = in->type;
    if (to.kind == 't') {
        *out = to_tf32(v[0] & 0xffffffff);
        return in->round == 'n';
    }
    bool to_real = strchr("fy", to.kind) != NULL, is_real = strchr("fy", from.kind) != NULL;
    if (strchr("FYQR", to.kind))
        return convert_pair(to, from, v, out);
    if (is_real)
        *out = to_real ? from_float(in, to, ptx_number(from, v[0]))
                       : to_integer(to, from, ptx_number(from, v[0]), in->round);
    else if (to_real)
        *out = from_integer(in, to, from, v[0]);
    else
        *out = from.kind == 's' ? (uint64_t)signed_of(v[0], from.bits) : v[0];
    if (to.kind == 's') /* into a wider register by its sign */
        *out = (uint64_t)signed_of(*out, to.bits);
    return true;
}

/* ---- all ---- */

/* f16x2 and bf16x2: each half for itself. */
static bool compute_pair(const struct ptx_instruction *in, const uint64_t *v, uint64_t *out)
{
    struct ptx_instruction one = *in;
    one.type = (struct ptx_type){in->type.kind == 'F' ? 'f' : 'y', 16};
    *out = 0;
    for (int i = 0; i < 2; i++) {
        uint64_t halves[4] = {0}, result;
        for (int operand = 0; operand + 1 < in->operand_count && operand < 4; operand++)
            halves[operand] = v[operand] >> 16 * i & 0xffff;
        if (!compute_float(&one, halves, &result))
            return false;
        *out |= (result & 0xffff) << 16 * i;
    }
    return true;
}

bool ptx_compute(const struct ptx_instruction *in, const uint64_t *v, uint64_t *out)
{
    bool known = true;
    switch (in->opcode) {
    case PTX_cvt: return convert(in, v, out);
    case PTX_setp: *out = compare(in, v[0], v[1], &known); return known && in->operand_count == 3;
    case PTX_selp: *out = v[2] & 1 ? v[0] : v[1]; return true;
    case PTX_cvta:
    case PTX_mov: *out = v[0]; return true;
    default: break;
    }
    if (in->type.kind == 'F' || in->type.kind == 'Y')
        return compute_pair(in, v, out);
    return in->type.kind == 'f' || in->type.kind == 'y' ? compute_float(in, v, out) : compute_integer(in, v, out);
}

bool ptx_combine(const struct ptx_instruction *in, uint64_t old, uint64_t value, uint64_t second, uint64_t *result)
{
    static const struct {
        const char *word;
        enum ptx_opcode opcode;
    } actions[] = {{"add", PTX_add}, {"min", PTX_min}, {"max", PTX_max},
                   {"and", PTX_and}, {"or", PTX_or},   {"xor", PTX_xor}};
    struct ptx_instruction plain = *in;
    uint64_t operands[4] = {old, value};
    if (ptx_has(in, "exch")) {
        *result = value;
        return true;
    }
    if (ptx_has(in, "cas")) {
        *result = old == value ? second : old;
        return true;
    }
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (ptx_has(in, actions[i].word)) {
            plain.opcode = actions[i].opcode;
            plain.operand_count = 3;
            return ptx_compute(&plain, operands, result);
        }
    return false;
}
