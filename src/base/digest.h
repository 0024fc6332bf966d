/* A digest of bytes that nobody can find a second text for: BLAKE2b of 256 bits (RFC 7693), which needs one processor
 * cycle or two a byte and no library. */
#ifndef TILECC_DIGEST_H
#define TILECC_DIGEST_H
#include "base/base.h"

enum { DIGEST_SIZE = 32, DIGEST_BLOCK = 128 };
struct digest {
    uint64_t state[8], count;
    unsigned char block[DIGEST_BLOCK];
    size_t filled;
};
void digest_begin(struct digest *digest);
void digest_add(struct digest *digest, const void *data, size_t size);
void digest_end(struct digest *digest, unsigned char result[DIGEST_SIZE]);
/* 64 digits, lower case. */
void digest_print(struct buffer *out, const unsigned char result[DIGEST_SIZE]);
/* The digits of the digest of `data`. */
void digest_print_of(struct buffer *out, const void *data, size_t size);
#endif
