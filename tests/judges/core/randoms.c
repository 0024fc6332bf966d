/* Random numbers: the algorithm from its paper (Salmon and others, 2011). */
#include "core.h"

static uint32_t philox(uint64_t seed, uint64_t counter, int word)
{
    uint32_t c[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0},
             key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    for (int round = 0; round < 10; round++) {
        uint64_t first = UINT64_C(0xd2511f53) * c[0], second = UINT64_C(0xcd9e8d57) * c[2];
        uint32_t next[4] = {(uint32_t)(second >> 32) ^ c[1] ^ key[0], (uint32_t)second,
                            (uint32_t)(first >> 32) ^ c[3] ^ key[1], (uint32_t)first};
        for (int i = 0; i < 4; i++)
            c[i] = next[i];
        key[0] += 0x9e3779b9u, key[1] += 0xbb67ae85u;
    }
    return c[word];
}

static uint32_t word_of(const struct judge_case *c, const int64_t *at, int word)
{
    int64_t i = judge_size_or(c, "o", 0) + judge_size_or(c, "i", 0) + at[0];
    if (c->tensors[c->tensor_count - 1].rank == 2)
        i = at[0] * 16 + at[1];
    return philox((uint64_t)judge_size(c, "k"), (uint64_t)i, word);
}

/* In [0, 1), from the 32 bits as a signed number, folded. */
static float uniform_of(uint32_t bits)
{
    int32_t n = (int32_t)bits;
    return (float)(n < 0 ? -n - 1 : n) * 4.6566127342e-10f;
}

WANT(word) { return exactly(word_of(c, at, 0)); }
WANT(four) { return exactly(word_of(c, at, (int)judge_size(c, "w"))); }
WANT(uniform) { return exactly(uniform_of(word_of(c, at, 0))); }
WANT(fours) { return exactly(uniform_of(word_of(c, at, (int)judge_size(c, "w")))); }

WANT(normal)
{
    double u = fmax(uniform_of(word_of(c, at, 0)), 1e-7f), v = uniform_of(word_of(c, at, 1));
    return (struct judge_value){sqrt(-2 * log(u)) * cos(2 * M_PI * v), 4};
}

#include "randoms_rows.h"
