/* Tile IR as text, and back.  The two are inverses: printing what was parsed from printed text gives the same bytes.
 *
 *   kernel @scale(%a: f32, %x: view<f32, [?], [1], inout> {align(16), limit(2147483648)}) grid(1) {
 *       %b = grid_index dimension(0) : index
 *       %zero = constant value(0.0) : f32
 *       %0 = load %x[%b +: 64], %zero : f32[64]
 *       %1 = splat %a : f32[64]
 *       %2 = mul %0, %1 : f32[64]
 *       store %x[%b +: 64], %2
 *       return
 *   }
 *
 * man/tile-ir.7 has the grammar.  Values print by their name hint, made unique in order of appearance, or by number. */
#ifndef TILECC_IR_TEXT_H
#define TILECC_IR_TEXT_H
#include "ir/ir.h"

struct ir_attribute_info {
    const char *text;
    enum ir_attribute_kind kind;
};
extern const struct ir_attribute_info ir_attribute_info[IR_ATTRIBUTE_COUNT];
/* The word for a value of an INT attribute, or NULL where it is a plain number or out of range. */
const char *ir_attribute_word(enum ir_attribute_key key, int64_t number);
/* The number behind a word of `size` bytes, or -1. */
int64_t ir_attribute_number(enum ir_attribute_key key, const char *word, size_t size);
/* How many words an INT attribute has; 0: it is a plain number. */
int ir_attribute_words(enum ir_attribute_key key);
const char *ir_level_text(enum ir_level level);
/* Its opcode, or OP_COUNT. */
enum ir_opcode ir_opcode_find(const char *text, size_t size);

void ir_print_type(struct buffer *out, const struct ir_type *type);
/* `locations`: each operation is followed by @line:column of its source. */
void ir_print_function(struct buffer *out, const struct ir_function *function, bool locations);
void ir_print_module(struct buffer *out, const struct ir_module *module, bool locations);
/* Without the names of values and kernels: the same for the same code. */
void ir_print_code(struct buffer *out, const struct ir_module *module);
/* One operation without its regions, under the names it has in its function: for messages. */
void ir_print_operation(struct buffer *out, const struct ir_operation *operation);

/* NULL after an error (all are reported, with line and column, codes E1001 to E1003).  Any bytes may be given.  What
 * comes back is well formed as text, not yet verified (ir/verify/verify.h). */
struct ir_module *ir_parse_module(struct ir_context *context, struct arena *arena, struct diagnostics *diagnostics,
                                  const struct source *source);
#endif
