/* fma of f32 and f64 is rounded once: the same bits as the C function over a hard set of triples.  Each value is of a
 * kind: any bits, a denormal, a zero, an infinity or NaN, near the largest; and c is often close to -a*b, half a unit
 * away from it, or of a size that the product just reaches.
 *
 *     fused [COUNT]      prints what differs, then how many triples were compared */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fused.h"

enum { BLOCK = 4096, SHOWN = 10 };

static uint64_t state = 1;

static uint64_t random_bits(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) * 0x9e3779b97f4a7c15u ^ state >> 17;
}

static double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static float from_bits32(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static double any_double(void)
{
    uint64_t bits = random_bits(), fraction = bits & 0xfffffffffffff, sign = bits & UINT64_C(1) << 63;
    if (bits >> 52 & 1) /* few bits: sums that end in a tie */
        fraction &= ~(UINT64_C(0xfffffffffffff) >> (bits >> 53 & 63) % 53);
    switch (random_bits() >> 20 & 15) {
    case 0: return from_bits(sign | fraction);                           /* denormal or zero */
    case 1: return from_bits(sign | fraction >> (bits >> 40 & 63) % 53); /* a small one */
    case 2: return from_bits(sign | UINT64_C(0x7fe) << 52 | fraction);   /* near the largest */
    case 3: return from_bits(sign | UINT64_C(0x7ff) << 52 | (fraction & 1) << 51);
    case 4: return from_bits(sign);
    case 5:
    case 6: return from_bits(sign | (UINT64_C(0x1ff) - 60 + (bits >> 55 & 127)) << 52 | fraction); /* about 2^-512 */
    case 7: return from_bits(sign | (UINT64_C(0x5ff) - 8 + (bits >> 55 & 15)) << 52 | fraction);   /* about 2^512 */
    case 8: return from_bits(sign | (UINT64_C(0x1) + (bits >> 55 & 127)) << 52 | fraction);        /* barely normal */
    case 9: return from_bits(bits);
    default: return from_bits(sign | (UINT64_C(0x3ff) - 32 + (bits >> 55 & 63)) << 52 | fraction);
    }
}

static double third_double(double a, double b)
{
    double product = a * b;
    uint64_t bits;
    switch (random_bits() >> 20 & 7) {
    case 0: return -product;
    case 1: memcpy(&bits, &product, sizeof bits); return -from_bits(bits + (random_bits() >> 30 & 7) - 4);
    case 2: return product * ldexp(1.0, (int)(random_bits() >> 30 & 127) - 64);
    case 3: return -product * ldexp(1.0, (int)(random_bits() >> 30 & 127) - 64);
    default: return any_double();
    }
}

static float any_float(void)
{
    uint32_t bits = (uint32_t)(random_bits() >> 20), fraction = bits & 0x7fffff, sign = bits & 0x80000000;
    switch (random_bits() >> 20 & 7) {
    case 0: return from_bits32(sign | fraction);
    case 1: return from_bits32(sign | 0xfeu << 23 | fraction);
    case 2: return from_bits32(sign | (63u - 20 + (uint32_t)(random_bits() >> 40 & 31)) << 23 | fraction);
    case 3: return from_bits32(bits);
    default: return from_bits32(sign | (127u - 16 + (uint32_t)(random_bits() >> 40 & 31)) << 23 | fraction);
    }
}

static int same(const void *x, const void *y, size_t size, int both_nan) { return both_nan || memcmp(x, y, size) == 0; }

static void check(int status)
{
    if (status == TILE_OK)
        return;
    fprintf(stderr, "%s\n", tile_last_error());
    exit(2);
}

static int try_doubles(int shown)
{
    static double a[BLOCK], b[BLOCK], c[BLOCK], y[BLOCK];
    struct tile_f64_1 va = {a, {BLOCK}, {1}}, vb = {b, {BLOCK}, {1}}, vc = {c, {BLOCK}, {1}}, vy = {y, {BLOCK}, {1}};
    int bad = 0;
    for (int i = 0; i < BLOCK; i++) {
        a[i] = any_double();
        b[i] = any_double();
        c[i] = third_double(a[i], b[i]);
    }
    check(fused_fused_of_f64(TILE_CPU, &va, &vb, &vc, &vy));
    for (int i = 0; i < BLOCK; i++) {
        double right = fma(a[i], b[i], c[i]);
        if (same(&y[i], &right, sizeof right, isnan(y[i]) && isnan(right)))
            continue;
        if (shown + bad++ < SHOWN)
            printf("f64: fma(%a, %a, %a) is %a, not %a\n", a[i], b[i], c[i], right, y[i]);
    }
    return bad;
}

static int try_floats(int shown)
{
    static float a[BLOCK], b[BLOCK], c[BLOCK], y[BLOCK];
    struct tile_f32_1 va = {a, {BLOCK}, {1}}, vb = {b, {BLOCK}, {1}}, vc = {c, {BLOCK}, {1}}, vy = {y, {BLOCK}, {1}};
    int bad = 0;
    for (int i = 0; i < BLOCK; i++) {
        a[i] = any_float();
        b[i] = any_float();
        c[i] = random_bits() >> 20 & 1 ? any_float() : -a[i] * b[i];
    }
    check(fused_fused_of_f32(TILE_CPU, &va, &vb, &vc, &vy));
    for (int i = 0; i < BLOCK; i++) {
        float right = fmaf(a[i], b[i], c[i]);
        if (same(&y[i], &right, sizeof right, isnan(y[i]) && isnan(right)))
            continue;
        if (shown + bad++ < SHOWN)
            printf("f32: fma(%a, %a, %a) is %a, not %a\n", (double)a[i], (double)b[i], (double)c[i], (double)right,
                   (double)y[i]);
    }
    return bad;
}

int main(int count, char **arguments)
{
    long blocks = (count > 1 ? atol(arguments[1]) : 400000) / BLOCK + 1;
    int bad[2] = {0, 0};
    for (long block = 0; block < blocks; block++) {
        bad[0] += try_floats(bad[0]);
        bad[1] += try_doubles(bad[1]);
    }
    printf("%ld triples of each type, different: f32 %d, f64 %d\n", blocks * BLOCK, bad[0], bad[1]);
    return bad[0] + bad[1] > 0;
}
