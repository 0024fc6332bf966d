/* Constants keep their bits: every pattern of the small formats decodes and encodes to itself, and narrowing rounds as the
 * host's own float conversions do (f32) and as an independent nearest-even search does (8- and 16-bit formats). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"

static int failures;
static void expect(bool good, const char *what, enum ir_element element, uint64_t bits, double value)
{
    if (good)
        return;
    if (failures++ < 20)
        printf("%s: %s bits %llx value %a\n", what, ir_element_info[element].text, (unsigned long long)bits, value);
}

static void round_trip(enum ir_element element)
{
    for (uint64_t bits = 0; bits < UINT64_C(1) << ir_element_info[element].bits; bits++) {
        double value = ir_bits_to_double(element, bits);
        uint64_t back = ir_double_to_bits(element, value);
        if (isnan(value))
            expect(isnan(ir_bits_to_double(element, back)), "NaN stays", element, bits, value);
        else if (isinf(value) && element == IR_F8E5M2)
            expect(ir_bits_to_double(element, back) == copysign(57344.0, value), "infinity saturates", element, bits,
                   value);
        else
            expect(back == bits, "round trip", element, bits, value);
    }
}

/* Nearest by search over all finite patterns of the format; ties to the even pattern. */
static void nearest(enum ir_element element, double value)
{
    uint64_t count = UINT64_C(1) << (ir_element_info[element].bits - 1), best = 0;
    double distance = INFINITY, largest = 0;
    for (uint64_t bits = 0; bits < count; bits++) {
        double candidate = ir_bits_to_double(element, bits);
        if (!isfinite(candidate))
            continue;
        double d = fabs(candidate - fabs(value));
        if (d < distance || (d == distance && !(bits & 1))) {
            distance = d;
            best = bits;
        }
        largest = fmax(largest, candidate);
    }
    if (fabs(value) > largest && !(element == IR_F8E4M3 || element == IR_F8E5M2))
        return; /* overflow to infinity depends on the next step of the format; covered by the f32 comparison */
    if (signbit(value))
        best |= count;
    expect(ir_double_to_bits(element, value) == best, "nearest", element, best, value);
}

static uint64_t state = 1;
static uint64_t random_bits(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return state ^ state >> 33;
}

/* Halfway between two numbers of f32, and 1 beside: what a double in between would round a second time. */
static void beside_halves(void)
{
    for (int k = 0; k < 3000; k++) {
        int64_t half = (int64_t)(((random_bits() & 0x7fffff) | 0x800000) * 2 + 1) << (random_bits() % 39);
        int64_t integer = half + (int64_t)(random_bits() % 3) - 1;
        integer = random_bits() & 1 ? integer : -integer;
        float narrow = (float)integer;
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        expect(ir_int_to_bits(IR_F32, integer) == bits, "half of f32", IR_F32, bits, (double)integer);
    }
}

/* Around the ends of each kind of integer. */
static void ends_of_integers(void)
{
    static const enum ir_element elements[] = {IR_I8, IR_U8, IR_I16, IR_U16, IR_I32, IR_U32, IR_I64, IR_U64};
    static const double beside[] = {-1, -0.75, -0.5, 0, 0.5, 0.75, 1};
    for (int i = 0; i < 8; i++) {
        int bits = ir_element_info[elements[i]].bits, magnitude = bits - (i % 2 == 0);
        for (int end = -1; end <= 1; end++)
            for (int k = 0; k < 9; k++) {
                double power = ldexp(end, magnitude);
                double value = k < 7 ? power + beside[k] : nextafter(power, k == 7 ? -INFINITY : INFINITY);
                __extension__ __int128 most = ((__int128)1 << magnitude) - 1, least = i % 2 ? 0 : -most - 1;
                __extension__ __int128 wanted = (__int128)value;
                wanted = wanted > most ? most : wanted < least ? least : wanted;
                uint64_t expected = (uint64_t)wanted;
                expect(ir_double_to_bits(elements[i], value) == expected, "end", elements[i], expected, value);
            }
    }
}

/* To the nearest number of so many bits, ties to even. */
static long double rounded_to(int bits, int64_t integer)
{
    int exponent;
    frexpl((long double)integer, &exponent);
    return ldexpl(nearbyintl(ldexpl((long double)integer, bits - exponent)), exponent - bits);
}

int main(void)
{
    static const enum ir_element small[] = {IR_F16, IR_BF16, IR_F8E4M3, IR_F8E5M2};
    for (int i = 0; i < 4; i++) {
        round_trip(small[i]);
        for (int k = 0; k < 300; k++)
            nearest(small[i], ldexp((double)(int64_t)random_bits() * 0x1p-63, (int)(random_bits() % 40) - 24));
    }
    for (int k = 0; k < 2000000; k++) {
        double value;
        uint64_t wide = random_bits();
        if (k & 1)
            wide = (wide & UINT64_C(0x800fffffffffffff)) | (uint64_t)(1023 - 160 + random_bits() % 300) << 52;
        memcpy(&value, &wide, sizeof value);
        float narrow = (float)value;
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        if (!isnan(value))
            expect(ir_double_to_bits(IR_F32, value) == bits, "f32", IR_F32, bits, value);
        int64_t integer = (int64_t)random_bits() >> (random_bits() % 64);
        narrow = (float)integer;
        memcpy(&bits, &narrow, sizeof bits);
        expect(ir_int_to_bits(IR_F32, integer) == bits, "i64 to f32", IR_F32, bits, (double)integer);
        uint64_t half = ir_double_to_bits(IR_F16, (double)rounded_to(11, integer)); /* exact by now */
        expect(ir_int_to_bits(IR_F16, integer) == half, "i64 to f16", IR_F16, half, (double)integer);
    }
    beside_halves();
    ends_of_integers();
    expect(ir_double_to_bits(IR_I8, 300.0) == 127 && (int64_t)ir_double_to_bits(IR_I8, -300.0) == -128, "i8 saturates",
           IR_I8, 0, 0);
    expect(ir_double_to_bits(IR_U64, -1.0) == 0 && ir_double_to_bits(IR_I64, NAN) == 0, "NaN is 0", IR_I64, 0, 0);
    expect(ir_double_to_bits(IR_I64, 1e30) == INT64_MAX, "i64 saturates", IR_I64, 0, 0);
    for (int element = 0; element < IR_ELEMENT_COUNT; element++) {
        double end = element == IR_F8E4M3 ? 448 : INFINITY;
        for (int negative = 0; negative < 2 && ir_is_float((enum ir_element)element); negative++) {
            uint64_t bits = ir_infinity_bits((enum ir_element)element, negative);
            expect(ir_bits_to_double((enum ir_element)element, bits) == (negative ? -end : end), "infinity",
                   (enum ir_element)element, bits, end);
        }
    }
    printf("%d failures\n", failures);
    return failures != 0;
}
