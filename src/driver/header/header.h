/* The C header of a module: C99 and C++11, guarded so that any number of them fit into one program. */
#ifndef TILECC_HEADER_H
#define TILECC_HEADER_H
#include "base/base.h"
#include "ir/kernel.h"

/* Depends on nothing but the module, the compiler's version and shared.  What all headers share is copied from
 * runtime-stub/tile_rt.h, or, where `shared` is not NULL, included by this name: a file of header_print_shared(). */
void header_print(const struct kernel_module *module, const char *version, const char *shared, struct buffer *out);
void header_print_shared(const char *version, struct buffer *out);

/* ---- what headers and modules for other languages have in common with it ---- */

/* A kind of views is a struct of C, tile_f32_2. */
struct view_kind {
    enum ir_element element;
    int rank;
};
struct view_kind header_view_kind(const struct kernel_parameter *parameter);
void header_put_tag(struct buffer *out, struct view_kind kind);
void header_put_view_guard(struct buffer *out, struct view_kind kind);
/* Each kind that an entry takes once, by element and then rank. */
void header_each_view(struct buffer *out, const struct kernel_module *module,
                      void (*put)(struct buffer *out, struct view_kind kind));

/* The part of an embedded file from the line that opens the guard to the one that closes it. */
void header_put_shared(struct buffer *out, const char *name, const char *guard);
/* The first line; and the name of the guard of all. */
void header_put_origin(struct buffer *out, const struct kernel_module *module, const char *version);
void header_put_file_guard(struct buffer *out, const struct kernel_module *module);
/* #ifndef TILE_ENUM_TILE_MODE_89ABCDEF and so on, for one of this kind and name with these members. */
void header_begin_enum(struct buffer *out, const char *kind, const char *name, const struct kernel_enum *enumeration);
void header_put_entry_comment(struct buffer *out, const struct kernel_entry *entry);
/* A scalar, a pointer or an enum's int, as a parameter: type and name. */
void header_put_value(struct buffer *out, const struct kernel_parameter *value);
/* "[M, cdiv(N, 2)]"; and whether two views may be the same. */
void header_put_extents(struct buffer *out, const struct kernel_entry *entry, const struct kernel_parameter *parameter);
bool header_is_aliased(const struct kernel_entry *entry, int a, int b);
/* Of a parameter whose values an enum names; else NULL. */
const struct kernel_enum *header_enum_of(const struct kernel_entry *entry, const struct kernel_parameter *parameter);
/* The entries of one kernel, in order; entry NULL: the first of them. */
const struct kernel_entry *header_next_entry(const struct kernel_module *module, const char *kernel,
                                             const struct kernel_entry *entry);
#endif
