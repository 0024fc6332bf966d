/* See digest.h.  The names of RFC 7693 are in brackets. */
#include "base/digest.h"

#include <string.h>

enum { ROUNDS = 12 };

/* [IV]: the fractions of the square roots of the first eight primes. */
static const uint64_t first_state[8] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
                                        0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

/* [SIGMA]: the words of a block in the order in which a round takes them; the last two rounds are as the first two. */
static const unsigned char order[ROUNDS - 2][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static inline uint64_t turn_right(uint64_t word, int bits) { return word >> bits | word << (64 - bits); }

/* [G] */
static inline void mix(uint64_t *v, int a, int b, int c, int d, uint64_t x, uint64_t y)
{
    v[a] += v[b] + x;
    v[d] = turn_right(v[d] ^ v[a], 32);
    v[c] += v[d];
    v[b] = turn_right(v[b] ^ v[c], 24);
    v[a] += v[b] + y;
    v[d] = turn_right(v[d] ^ v[a], 16);
    v[c] += v[d];
    v[b] = turn_right(v[b] ^ v[c], 63);
}

/* [F]; words are read in the order of bytes of the machine, which is the little end first. */
static void take_block(struct digest *digest, const unsigned char *block, bool is_last)
{
    uint64_t v[16], m[16];
    memcpy(m, block, sizeof m);
    memcpy(v, digest->state, sizeof digest->state);
    memcpy(v + 8, first_state, sizeof first_state);
    v[12] ^= digest->count;
    v[14] ^= is_last ? UINT64_MAX : 0;
    for (int round = 0; round < ROUNDS; round++) {
        const unsigned char *s = order[round % (ROUNDS - 2)];
        mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
        mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
        mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
        mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
        mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
        mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
        mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
        mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
    }
    for (int i = 0; i < 8; i++)
        digest->state[i] ^= v[i] ^ v[i + 8];
}

void digest_begin(struct digest *digest)
{
    *digest = (struct digest){0};
    memcpy(digest->state, first_state, sizeof first_state);
    digest->state[0] ^= 0x01010000 ^ DIGEST_SIZE;
}

void digest_add(struct digest *digest, const void *data, size_t size)
{
    const unsigned char *at = data;
    while (size) {
        if (digest->filled == DIGEST_BLOCK) { /* the last block is known as such when no more comes */
            digest->count += DIGEST_BLOCK;
            take_block(digest, digest->block, false);
            digest->filled = 0;
        }
        for (; !digest->filled && size > DIGEST_BLOCK; at += DIGEST_BLOCK, size -= DIGEST_BLOCK) {
            digest->count += DIGEST_BLOCK;
            take_block(digest, at, false);
        }
        size_t part = DIGEST_BLOCK - digest->filled < size ? DIGEST_BLOCK - digest->filled : size;
        memcpy(digest->block + digest->filled, at, part);
        digest->filled += part;
        at += part;
        size -= part;
    }
}

void digest_end(struct digest *digest, unsigned char result[DIGEST_SIZE])
{
    digest->count += digest->filled;
    memset(digest->block + digest->filled, 0, DIGEST_BLOCK - digest->filled);
    take_block(digest, digest->block, true);
    memcpy(result, digest->state, DIGEST_SIZE);
}

void digest_print(struct buffer *out, const unsigned char result[DIGEST_SIZE])
{
    for (int i = 0; i < DIGEST_SIZE; i++)
        buffer_printf(out, "%02x", result[i]);
}

void digest_print_of(struct buffer *out, const void *data, size_t size)
{
    struct digest digest;
    unsigned char result[DIGEST_SIZE];
    digest_begin(&digest);
    digest_add(&digest, data, size);
    digest_end(&digest, result);
    digest_print(out, result);
}
