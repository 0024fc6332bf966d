/* Elements of all types of the language: what their bits mean, and which of them is nearest to a number.  A long double
 * holds every value of every type, those of 64-bit integers, too. */
#ifndef JUDGE_ELEMENT_H
#define JUDGE_ELEMENT_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum judge_type {
    JUDGE_F32,
    JUDGE_I64,
    JUDGE_BOOL,
    JUDGE_F64,
    JUDGE_I32,
    JUDGE_U8,
    JUDGE_I4,
    JUDGE_U4,
    JUDGE_I8,
    JUDGE_I16,
    JUDGE_U16,
    JUDGE_U32,
    JUDGE_U64,
    JUDGE_F16,
    JUDGE_BF16,
    JUDGE_F8E4M3,
    JUDGE_F8E5M2,
    JUDGE_TYPES
};
enum element_rounding { ELEMENT_NEAREST, ELEMENT_TO_ZERO, ELEMENT_UP, ELEMENT_DOWN };

enum judge_type element_type(const char *name); /* JUDGE_TYPES: there is none */
const char *element_name(enum judge_type type);
size_t element_bytes(enum judge_type type, int64_t count);
int element_bits(enum judge_type type);
bool element_is_float(enum judge_type type);
bool element_is_signed(enum judge_type type); /* of integers */
long double element_largest(enum judge_type type);
long double element_smallest(enum judge_type type); /* the most negative */
/* Distance between numbers of the type at this one. */
long double element_unit(enum judge_type type, long double value);

/* Element i of an array. */
long double element_read(enum judge_type type, const void *memory, int64_t i);
void element_write(enum judge_type type, void *memory, int64_t i, long double value); /* which is one of the type */
uint64_t element_encode(enum judge_type type, long double value);
long double element_decode(enum judge_type type, uint64_t bits);

/* The number of a float type that a conversion gives; beyond the largest it is infinity, but for 8-bit floats. */
long double element_round(enum judge_type type, long double value, enum element_rounding rounding);
/* Integers: modulo the type's width. */
long double element_wrap(enum judge_type type, uint64_t bits);
#endif
