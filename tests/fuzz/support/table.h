/* Which operations on which elements random programs hold, counted; and which could be, asked from the verifier.
 *
 * A row is an operation, alone or with one value of one of its attributes ("reduce kind(max)"), the element a cast
 * leads to, or the second factor of a product.  The column is the element that the operation is about: its first
 * tile's or view's, what a pointer points to; operations that carry values of any kind (for, call, yield …) count
 * under each of their elements. */
#ifndef TILECC_FUZZ_TABLE_H
#define TILECC_FUZZ_TABLE_H
#include "generate.h"

struct fuzz_row {
    enum ir_opcode opcode;
    int key;       /* an attribute, or -1: none, or ROW_TO, ROW_FACTOR */
    int64_t value; /* of the attribute, or the element; -1: any that is not 0 */
    bool possible[IR_ELEMENT_COUNT];
    int64_t count[IR_ELEMENT_COUNT];
};
enum { ROW_TO = IR_ATTRIBUTE_COUNT, ROW_FACTOR };
struct fuzz_table {
    int count;
    struct fuzz_row *rows;
    int64_t programs, operations;
};

struct fuzz_table *fuzz_table_create(struct arena *arena); /* possible cells asked from the verifier */
void fuzz_table_count(struct fuzz_table *table, const struct fuzz_program *program);
void fuzz_table_add(struct fuzz_table *table, const struct fuzz_table *other);
/* Cells that are possible and stand below `least`; those counted though they are not possible are a bug of the
 * search: die. */
int fuzz_table_missing(const struct fuzz_table *table, int64_t least, FILE *out);
/* Markdown. */
void fuzz_table_print(const struct fuzz_table *table, int64_t least, FILE *out);
#endif
