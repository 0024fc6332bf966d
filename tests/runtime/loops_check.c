/* Loops of const fn in the wrapper: loops.tile against the same in C, and its limit of turns. */
#include "case.h"
#include "loops.h"

static int64_t gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

static int64_t root(int64_t n)
{
    for (int64_t r = 0; r < n; r++)
        if ((r + 1) * (r + 1) > n)
            return r;
    return n;
}

static int64_t primes(int64_t n)
{
    int64_t count = 0;
    for (int64_t p = 2; p <= n; p++) {
        int64_t d = 2;
        while (d < p && p % d != 0)
            d++;
        count += d == p;
    }
    return count;
}

static int64_t skips(int64_t n)
{
    int64_t r = 0, i;
    for (i = 0; i < 1000 && i * i <= n; i++)
        r += i % 2 ? i + n : 0;
    for (i = 0; i < 5; i++) {
        if (i > n)
            return r * 2;
        r = r + r / 3 + i;
    }
    return r;
}

static int64_t collatz(int64_t n)
{
    int64_t turns = 0;
    for (; n > 1; turns++)
        n = n % 2 ? 3 * n + 1 : n / 2;
    return turns;
}

static int64_t signed_value(int64_t n, int64_t m)
{
    int64_t s = 0;
    for (int64_t i = n; i > -n; i -= 3)
        for (int64_t k = 1; k < m; k *= 2)
            if (i * k == n - 9)
                return i - k;
    for (int64_t i = 0; i < m; i += n < 4 ? 2 : 3)
        s = s * 2 % 1000003 + i;
    return -s;
}

static int64_t powers(int64_t n)
{
    int64_t p = 1;
    while (p < n)
        p *= 10;
    return p;
}

static int64_t turns(int64_t n, int64_t by)
{
    int64_t count = 0;
    for (int64_t i = n; i < 20 && by >= 1; i += by)
        count++;
    for (int64_t i = n; i < 20 && by >= 2 && n >= 1; i *= by)
        count += 100;
    for (int64_t i = n; i < 20 && n >= 1; i *= 2)
        count += 10000;
    if (n < 20 && by >= 2 && n >= 1)
        count += 1000000;
    return n >= 1 && by >= 2 && n * by < 20 && count <= 1000000 ? count + 1000000 : count;
}

static int64_t reference(int64_t which, int64_t n, int64_t m)
{
    switch (which) {
    case 0: return gcd(n, m);
    case 1: return root(n);
    case 2: return primes(n);
    case 3: return skips(n);
    case 4: return collatz(n);
    case 5: return signed_value(n, m);
    case 6: return n + 1;
    default: return powers(n) + gcd(primes(n) + m, root(m));
    }
}

static int64_t buffer[4];

static void values(void)
{
    struct tile_i64_1 r = tile_i64_1_row_major(buffer, 2);
    for (int64_t which = 0; which < 8; which++)
        for (int64_t n = which == 5 ? 1 : 0; n < 70; n++)
            for (int64_t m = 1; m < (which == 0 || which == 5 || which == 7 ? 50 : 2); m += 3) {
                int64_t wanted = reference(which, n, m), count = wanted < 0 ? 0 : wanted > 100 ? 100 : wanted;
                buffer[0] = 0, buffer[1] = wanted;
                EXPECT_STATUS(loops_value(TILE_CPU, which, n, m, wanted, &r), TILE_OK, "");
                EXPECT(buffer[0] == count && buffer[1] == wanted);
                EXPECT_STATUS(loops_value(TILE_CPU, which, n, m, wanted + 1, &r), TILE_ERR_ARG,
                              "requires(compute(which, n, m) == wanted) does not hold");
            }
    EXPECT_STATUS(loops_value(TILE_CPU, 8, 5, 0, 2 + 40, &r), TILE_OK, "");
    EXPECT_STATUS(loops_value(TILE_CPU, 8, INT64_MAX - 1, 0, 11, &r), TILE_OK, "");
    EXPECT_STATUS(loops_value(TILE_CPU, 8, INT64_MAX, 0, 0, &r), TILE_OK, "");
}

static void steps(void)
{
    struct tile_i64_1 r = tile_i64_1_row_major(buffer, 2);
    for (int64_t n = -5; n < 22; n++)
        for (int64_t m = -2; m < 9; m++) {
            int64_t wanted = turns(n, m - 3);
            buffer[1] = -1;
            EXPECT_STATUS(loops_value(TILE_CPU, 9, n, m, wanted, &r), TILE_OK, "");
            EXPECT(buffer[1] == (wanted ? wanted : -1));
        }
}

static void limits(void)
{
    struct tile_i64_1 r = tile_i64_1_row_major(buffer, 1);
    buffer[0] = 0;
    EXPECT_STATUS(loops_ends(TILE_CPU, 7, &r), TILE_OK, "");
    EXPECT(buffer[0] == 10);
    EXPECT_STATUS(loops_ends(TILE_CPU, 1000, &r), TILE_ERR_ARG,
                  "n == 7 or n < 1000 or endless(n) > 0 takes more than 1000000 turns of its loops");
    EXPECT_STATUS(loops_ends(TILE_CPU, -1, &r), TILE_ERR_ARG,
                  "the grid takes more than 1000000 turns of its loops for these arguments");
    struct tile_i64_1 two = tile_i64_1_row_major(buffer, 2);
    EXPECT_STATUS(loops_value(TILE_CPU, 7, INT64_MAX, 1, 0, &two), TILE_ERR_ARG, "does not fit 64 bits");
    EXPECT_STATUS(loops_value(TILE_CPU, 3, INT64_MAX, 1, 0, &two), TILE_ERR_ARG, "does not fit 64 bits");
    EXPECT_STATUS(loops_value(TILE_CPU, 1, 2000000000000, 1, 0, &two), TILE_ERR_ARG, "1000000 turns");
    EXPECT(buffer[0] == 10);
}

static void places(void)
{
    static float x[12 * 3 * 7];
    struct tile_i64_1 r = tile_i64_1_row_major(buffer, 4);
    struct tile_f32_3 in = tile_f32_3_row_major(x, 6, 3, 4);
    struct tile_kernel_info info;
    EXPECT_STATUS(loops_places(TILE_CPU, &in, &r), TILE_OK, "");
    EXPECT(buffer[0] == 24 && buffer[1] == 4 && buffer[2] == 3 && buffer[3] == 6);
    EXPECT_STATUS(loops_places_query(TILE_CPU, &in, &r, &info), TILE_OK, "");
    int special = info.variant;
    in = tile_f32_3_row_major(x, 11, 2, 6);
    EXPECT_STATUS(loops_places(TILE_CPU, &in, &r), TILE_OK, "");
    EXPECT(buffer[0] == 128 && buffer[1] == 6 && buffer[2] == 2 && buffer[3] == 1);
    in = tile_f32_3_row_major(x, 7, 3, 5);
    EXPECT_STATUS(loops_places_query(TILE_CPU, &in, &r, &info), TILE_OK, "");
    EXPECT(info.variant != special);
    in = tile_f32_3_row_major(x, 7, 3, 6);
    EXPECT_STATUS(loops_places(TILE_CPU, &in, &r), TILE_ERR_ARG, "extent 2 of x is 6, but primes(N) + 1 is 5");
}

int main(int count, char **arguments)
{
    static const struct test_case cases[] = {CASE(values), CASE(steps), CASE(limits), CASE(places)};
    return run_cases(cases, (int)(sizeof cases / sizeof cases[0]), count > 1 ? arguments[1] : NULL);
}
