/* Arithmetic on integer constants: every pair of 8-bit numbers against plain C in 32 bits, pairs of wider ones against
 * their sums and products in halves, and what 128 bits hold at the edges. */
#include <stdlib.h>

#include "ir/arithmetic.h"

static int failures;

static void expect(bool good, enum ir_opcode opcode, enum ir_element element, int64_t a, int64_t b)
{
    if (!good && failures++ < 20)
        printf("%s of %s: %lld, %lld\n", ir_op_info[opcode].name, ir_element_info[element].text, (long long)a,
               (long long)b);
}

static const enum ir_opcode opcodes[] = {OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_REM, OP_MIN,   OP_MAX, OP_AND,
                                         OP_OR,  OP_XOR, OP_SHL, OP_SHR, OP_NEG, OP_MULHI, OP_ABS, OP_NOT};
enum { OPCODES = sizeof opcodes / sizeof *opcodes };

/* As the manual says, before it is cut to 8 bits. */
static int small_result(enum ir_opcode opcode, bool is_signed, int a, int b)
{
    int distance = b & 255, half = a * b < 0 ? (a * b - 255) / 256 : a * b / 256;
    switch (opcode) {
    case OP_ADD: return a + b;
    case OP_SUB: return a - b;
    case OP_MUL: return a * b;
    case OP_DIV: return b ? a / b : 0;
    case OP_REM: return b ? a % b : a;
    case OP_MIN: return a < b ? a : b;
    case OP_MAX: return a > b ? a : b;
    case OP_AND: return a & b;
    case OP_OR: return a | b;
    case OP_XOR: return a ^ b;
    case OP_SHL: return distance > 7 ? 0 : a * (1 << distance);
    case OP_SHR: return distance > 7 ? (is_signed && a < 0 ? -1 : 0) : a >> distance;
    case OP_NEG: return -a;
    case OP_ABS: return abs(a);
    case OP_NOT: return -1 - a;
    default: return half;
    }
}

static void small_numbers(enum ir_element element)
{
    bool is_signed = element == IR_I8;
    for (int i = 0; i < OPCODES * 65536; i++) {
        int a = i & 255, b = i >> 8 & 255;
        if (is_signed)
            a -= a > 127 ? 256 : 0, b -= b > 127 ? 256 : 0;
        uint64_t bits, wanted = (uint64_t)small_result(opcodes[i >> 16], is_signed, a, b) & 255;
        bool known = arithmetic_integer(opcodes[i >> 16], element, ir_int_to_bits(element, a),
                                        ir_int_to_bits(element, b), &bits);
        expect(known && (bits & 255) == wanted && bits == ir_int_to_bits(element, (int64_t)wanted), opcodes[i >> 16],
               element, a, b);
    }
}

static const int64_t edges[] = {0,  1,   -1,  2,         7,         -7,        62,        63,
                                64, 127, 128, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, INT64_MIN + 1};
enum { EDGES = sizeof edges / sizeof *edges };

/* Sums, differences and products of i64: right exactly where the compiler's own checks say that 64 bits hold them. */
static void wide_numbers(void)
{
    for (int i = 0; i < EDGES * EDGES; i++) {
        int64_t a = edges[i / EDGES], b = edges[i % EDGES], sum, difference, product;
        bool fits[3] = {!__builtin_add_overflow(a, b, &sum), !__builtin_sub_overflow(a, b, &difference),
                        !__builtin_mul_overflow(a, b, &product)};
        int64_t low[3] = {sum, difference, product};
        for (int k = 0; k < 3; k++) {
            wide_integer exact;
            uint64_t bits;
            bool held = arithmetic_exact(opcodes[k], a, b, &exact);
            expect(held && arithmetic_fits(exact, IR_I64) == fits[k] && (int64_t)exact == low[k], opcodes[k], IR_INDEX,
                   a, b);
            arithmetic_integer(opcodes[k], IR_I64, (uint64_t)a, (uint64_t)b, &bits);
            expect(bits == (uint64_t)low[k], opcodes[k], IR_I64, a, b);
        }
        wide_integer shifted;
        bool fits_shift = arithmetic_exact(OP_SHL, a, b, &shifted) && arithmetic_fits(shifted, IR_I64);
        bool wanted = a == 0 || (b >= 0 && b <= 63 && (int64_t)((uint64_t)a << b) >> b == a);
        expect(fits_shift == wanted, OP_SHL, IR_INDEX, a, b);
    }
}

static void ends_of_128_bits(void)
{
    wide_integer most = ((wide_integer)1 << 126) - 1 + ((wide_integer)1 << 126), least = -most - 1, result;
    expect(!arithmetic_exact(OP_ADD, most, 1, &result), OP_ADD, IR_INDEX, -1, 1);
    expect(!arithmetic_exact(OP_SUB, least, 1, &result), OP_SUB, IR_INDEX, 0, 1);
    expect(!arithmetic_exact(OP_MUL, most, 2, &result), OP_MUL, IR_INDEX, -1, 2);
    expect(!arithmetic_exact(OP_NEG, least, 0, &result), OP_NEG, IR_INDEX, 0, 0);
    expect(!arithmetic_exact(OP_ABS, least, 0, &result), OP_ABS, IR_INDEX, 0, 0);
    expect(!arithmetic_exact(OP_DIV, least, -1, &result), OP_DIV, IR_INDEX, 0, -1);
    expect(arithmetic_exact(OP_REM, least, -1, &result) && result == 0, OP_REM, IR_INDEX, 0, -1);
    expect(arithmetic_exact(OP_SHL, -1, 127, &result) && result == least, OP_SHL, IR_INDEX, -1, 127);
    expect(!arithmetic_exact(OP_SHL, 1, 127, &result), OP_SHL, IR_INDEX, 1, 127);
    expect(arithmetic_exact(OP_SHR, least, 500, &result) && result == -1, OP_SHR, IR_INDEX, 0, 500);
    for (int bit = 0; bit < 127; bit++)
        expect(arithmetic_log2((wide_integer)1 << bit) == bit && arithmetic_log2(most >> (126 - bit)) == bit, OP_CLZ,
               IR_INDEX, bit, bit);
    expect(arithmetic_log2(0) == -1 && arithmetic_log2(least) == -1, OP_CLZ, IR_INDEX, 0, -1);
}

static void divide_up(void)
{
    for (int a = -20; a <= 20; a++)
        for (int b = -6; b <= 6; b++) {
            int up = -50;
            while (b && (b > 0 ? up * b < a : up * b > a)) /* the least that is a quotient or above */
                up++;
            expect(arithmetic_divide_up(a, b) == (b ? up : 0), OP_DIV, IR_INDEX, a, b);
        }
}

int main(void)
{
    small_numbers(IR_I8);
    small_numbers(IR_U8);
    wide_numbers();
    ends_of_128_bits();
    divide_up();
    printf("%d failures\n", failures);
    return failures != 0;
}
