/* Quotients by one number, as PTX run by the reader of PTX, against the processor's, bit for bit: signs of zeros,
 * numbers of any size, what has no value, as f32 and as bf16; and numbers whose product with the reciprocal rounds to
 * another bf16 than their quotient, alone at each place of a thread; and numbers and divisors at the bounds of the short
 * ways and beyond. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/run_text.h"
#include "targets/nvptx/assemble/assemble.h"

enum { COUNT = 512, TIE_RUNS = 48 };

/* The divisor is loaded, or an argument.  What is stored is %d, its cast %e, or %h, the cast of what is %d where the number is
 * positive. */
static const char program[] =
    "kernel @divide(%%x: view<f32, [512], [1], in>, %%s: view<f32, [1], [1], in>, %%g: f32, %%q: view<%s, [512], [1], out>)\n"
    "    grid(1) warps(1) {\n    %%zero = constant value(0) : index\n    %%o = constant value(0.0) : f32\n"
    "    %%a = load %%x[%%zero +: 512], %%o : f32[512]\n    %%l = load %%s[%%zero], %%o : f32\n"
    "    %%c = splat %%%c : f32[512]\n    %%d = div %%a, %%c : f32[512]\n    %%e = cast %%d : bf16[512]\n"
    "    %%z = constant value(0.0) : f32[512]\n    %%y = constant value(1.5) : f32[512]\n"
    "    %%f = compare predicate(gt) %%a, %%z : bool[512]\n    %%k = select %%f, %%d, %%y : f32[512]\n"
    "    %%h = cast %%k : bf16[512]\n"
    "    store %%q[%%zero +: 512], %%%c\n    return\n}\n";

static const float divisors[] = {3,         -3,        1,        -1,        0.1f,       -7e5f,    0x1.fffffep0f,
                                 0x1p-30f,  0x1p50f,   -0x1p50f, 0x1p-140f, -0x1p-149f, INFINITY, -0x1.fffffep0f,
                                 -0x1p-30f, -INFINITY, NAN,      0,         -0.0f};
/* Divisors and exponents of numbers at the bounds of the short ways, and where these would overflow or lose bits. */
static const float far_divisors[] = {0x1.2468acp-19f, 0x1.00001ep-20f, -0x1.35799ap-20f, 0x1.6789aap-21f,
                                     0x1.89abccp-30f, 0x1.159d26p-60f, -0x1.48c04ap-60f, 0x1.7ae148p-100f,
                                     0x1.9f3726p39f,  0x1.6c8b44p41f,  0x1.3a5e7cp55f,   -0x1.5b2d1ep55f,
                                     0x1.84c6b2p90f,  0x1.fffffep0f,   0x1.fffffep-20f,  0x1.fffffep39f};
static const int far_exponents[] = {82, 84, 86, 106, 107, 108, 126, -82, -85, -88, -90, -96, -102, -126};
static const float special[] = {0,        -0.0f,     INFINITY,  -INFINITY, NAN,      0x1p-149f, -0x1p-126f,
                                0x1p100f, -0x1p127f, 0x1p-100f, 1,         0x1p-80f, 0x1.8p84f};

enum {
    FAR_DIVISORS = sizeof far_divisors / sizeof *far_divisors,
    FAR_EXPONENTS = sizeof far_exponents / sizeof *far_exponents
};

struct data {
    float x[COUNT], s, q[COUNT];
    uint16_t half[COUNT];
    bool is_half, is_chosen, is_larger;
    int ties;
};

/* Numbers between -64 and 64 among zeros of both signs; in some runs of 16 one that is none of these. */
static void fill(struct data *data, uint32_t seed)
{
    enum { SPECIAL = sizeof special / sizeof *special };
    for (int i = 0; i < COUNT; i++) {
        seed = seed * 1664525u + 1013904223u;
        float number = (float)((int32_t)seed / 32) / 0x1p20f;
        data->x[i] = seed >> 28 == 0 ? 0.0f : seed >> 28 == 1 ? -0.0f : number;
        if (i >= COUNT / 4 && seed % 64 < 7)
            data->x[i] = special[(seed >> 8) % SPECIAL];
    }
}

static float from_bits(uint32_t bits)
{
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static float to_half(float number);

/* A number whose quotient by s lies at a tie of bf16, so that the product with 1/s falls on its other side; 0: none was
 * found.  `tie` chooses the tie, of any exponent that the short way takes, subnormal ones too. */
static float deceptive(float s, uint32_t tie, bool is_larger)
{
    float quotient = from_bits((tie & 0x807f0000) | (20 + (tie >> 8) % 200) << 23 | 0x8000);
    float reciprocal = 1 / s * (is_larger ? 0x1.000004p0f : 1); /* as divide.c takes it */
    if (tie % 16 == 0)
        quotient = from_bits((tie & 0x807f0000) | 0x8000);
    float x = quotient * s;
    if (!(fabsf(x) >= 0x1p-84f && fabsf(x) <= 0x1p84f))
        return 0;
    for (int i = 0; i < 8; i++)
        x = nextafterf(x, 0);
    float found = 0; /* the first or the last of some: their products lie at the tie, or furthest behind it */
    for (int i = 0; i < 16; i++, x = nextafterf(x, 2 * x))
        if (to_half(x * reciprocal) != to_half(x / s) && (found == 0 || tie & 16))
            found = x;
    return found;
}

static uint32_t next(uint32_t *seed) { return (*seed = *seed * 1664525u + 1013904223u) >> 4; }

/* One number of sixteen is deceptive, by chance, and the others lie far from ties: so each is alone in its thread in
 * some run.  The lower half of the others' quotients is 0 in every other run, and something else in the rest. */
static void fill_near_ties(struct data *data, uint32_t seed)
{
    bool plain = seed % 2;
    for (int i = 0; i < COUNT; i++) {
        data->x[i] = (plain ? (float)(i % 5 - 2) : from_bits(0x3f802345 + (next(&seed) & 0x803f8000))) * data->s;
        if (next(&seed) % 16)
            continue;
        float x = 0;
        for (int tries = 0; x == 0 && tries < 200; tries++)
            x = deceptive(data->s, (uint32_t)(tries << 20) ^ next(&seed), data->is_larger);
        data->x[i] = x == 0 ? data->x[i] : x;
        data->ties += x != 0;
    }
}

/* Numbers of one magnitude, for a thread takes the long way for all of its numbers. */
static void fill_far(struct data *data, int exponent, uint32_t seed)
{
    for (int i = 0; i < COUNT; i++) {
        uint32_t bits = next(&seed);
        data->x[i] = ldexpf(from_bits(0x3f800000 | (bits & 0x7fffff)), exponent);
        data->x[i] = bits >> 27 & 1 ? -data->x[i] : data->x[i];
    }
}

static bool same(float a, float b) { return (isnan(a) && isnan(b)) || !memcmp(&a, &b, sizeof a); }

/* A bf16 as the f32 of which it is the upper half, and an f32 rounded to one. */
static float of_half(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static float to_half(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    if (!isnan(number))
        bits += 0x7fff + (bits >> 16 & 1);
    return of_half((uint16_t)(bits >> 16));
}

static int wrong(const struct data *data, const char *row)
{
    int count = 0;
    for (int i = 0; i < COUNT; i++) {
        float quotient = data->is_chosen && !(data->x[i] > 0) ? 1.5f : data->x[i] / data->s,
              wanted = data->is_half ? to_half(quotient) : quotient;
        float got = data->is_half ? of_half(data->half[i]) : data->q[i];
        if (!same(got, wanted) && count++ < 3)
            printf("%s: %a/%a is %a, not %a\n", row, (double)data->x[i], (double)data->s, (double)wanted, (double)got);
    }
    return count;
}

enum { SLOT_OF_DIVISOR = 6, SLOTS = 12 };

/* How many quotients are wrong. */
static int run_once(struct arena *arena, struct run_text *text, uint64_t *slots, int count, struct ptx_memory memory,
                    struct data *data, const char *row)
{
    uint32_t bits;
    memcpy(&bits, &data->s, sizeof bits);
    slots[SLOT_OF_DIVISOR] = bits;
    return !run_text_once(arena, text, slots, count, memory) + wrong(data, row);
}

static int check(const char *row, char stored, bool is_given)
{
    struct arena *arena = arena_create();
    bool is_half = stored != 'd';
    struct data data = {.is_half = is_half, .is_chosen = stored == 'h', .is_larger = is_given};
    uint64_t slots[SLOTS] = {(uint64_t)(uintptr_t)data.x,
                             COUNT,
                             1,
                             (uint64_t)(uintptr_t)&data.s,
                             1,
                             1,
                             0, /* the divisor, as an argument */
                             (uint64_t)(uintptr_t)(is_half ? (void *)data.half : data.q),
                             COUNT,
                             1,
                             1,
                             0};
    struct ptx_memory memory = {(unsigned char *)&data, sizeof data, false, false};
    const char *ir = arena_printf(arena, program, is_half ? "bf16" : "f32", is_given ? 'g' : 'l', stored);
    struct run_text *text = run_text_make(arena, ir, row);
    int failures = text == NULL;
    for (uint32_t i = 0; i < sizeof divisors / sizeof *divisors && !failures; i++) {
        fill(&data, i);
        data.s = divisors[i];
        failures += run_once(arena, text, slots, SLOTS, memory, &data, row);
    }
    for (uint32_t i = 0; i < TIE_RUNS && is_half && !failures; i++) {
        data.s = i == 0 ? from_bits(0x3fd187f6) : from_bits(0x3f800000 + i * 0x59a6b7 + (i << 31));
        fill_near_ties(&data, i);
        data.x[0] = i == 0 ? from_bits(0x4021a664) : data.x[0];
        failures += run_once(arena, text, slots, SLOTS, memory, &data, row);
    }
    for (uint32_t i = 0; i < FAR_DIVISORS * FAR_EXPONENTS && !failures; i++) {
        data.s = far_divisors[i % FAR_DIVISORS];
        fill_far(&data, far_exponents[i / FAR_DIVISORS], i);
        failures += run_once(arena, text, slots, SLOTS, memory, &data, row);
    }
    if (is_half && !failures && data.ties < TIE_RUNS * COUNT / 32) {
        printf("%s: only %d numbers near ties\n", row, data.ties);
        failures++;
    }
    arena_destroy(arena);
    return failures;
}

int main(void)
{
    nvptx_begin(NULL);
    int failures = 0;
    for (const char *stored = "deh"; *stored; stored++)
        failures += check("sm_80", *stored, false) + check("sm_90a", *stored, false) + check("sm_90a", *stored, true);
    return failures != 0;
}
