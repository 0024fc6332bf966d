/* The C++17 header.  It includes the C header and has: what all such headers share (runtime-stub/cxx/support.hpp), which struct
 * of C is the view of which element and rank, an enum class for each enum, and for each entry inline functions that call C's:
 *
 *   [[nodiscard]] TILE_INLINE ::tile_status softmax(::CUstream_st *stream, const ::tile::const_view<::tile_f16_2> &x,
 *                                                   const ::tile_f16_2 &y)
 *   {
 *       return static_cast<::tile_status>(::softmax_f16(stream, &x.view, &y));
 *   }
 *
 * Entries of one kernel have one name, so that views choose; where no argument would tell two apart, all have those of C.
 * The functions are static: two libraries may have kernels of one name. */
#include "driver/header/cxx.h"
#include "driver/header/c_names.h"
#include "driver/header/header.h"
#include "driver/header/header_names.h"
#include <ctype.h>
#include <string.h>

/* ---- names ------------------------------------------------------------------------------------------------------ */

/* With `_` behind it where C++ or the shared part has the name. */
static void put_name(struct buffer *out, const char *name)
{
    static const char *const own[] = {"const_view", "view", "view_as", "view_of", "element", "detail",
                                      "f16",        "bf16", "f8e4m3",  "f8e5m2",  "tile",    "std"};
    bool is_taken = c_name_is_keyword(name) || c_name_is_macro(name);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        is_taken |= strcmp(name, own[i]) == 0;
    buffer_printf(out, "%s%s", name, is_taken ? "_" : "");
}

bool cxx_is_namespace(const char *space)
{
    for (bool begins = true;; begins = false) {
        size_t size = 0;
        while (isalnum((unsigned char)space[size]) || space[size] == '_')
            size++;
        char word[64];
        if (size == 0 || size >= sizeof word || isdigit((unsigned char)space[0]) || space[0] == '_')
            return false;
        memcpy(word, space, size);
        word[size] = '\0';
        if (c_name_is_keyword(word) || c_name_is_macro(word) || (begins && strcmp(word, "std") == 0))
            return false;
        space += size;
        if (!*space)
            return true;
        if (strncmp(space, "::", 2) != 0)
            return false;
        space += 2;
    }
}

/* ---- views and enums -------------------------------------------------------------------------------------------- */

static const char *cxx_element(enum ir_element element)
{
    switch (element) {
    case IR_BOOL: return "bool";
    case IR_I8: return "::std::int8_t";
    case IR_I16: return "::std::int16_t";
    case IR_I32: return "::std::int32_t";
    case IR_I64:
    case IR_INDEX: return "::std::int64_t";
    case IR_U8: return "::std::uint8_t";
    case IR_U16: return "::std::uint16_t";
    case IR_U32: return "::std::uint32_t";
    case IR_U64: return "::std::uint64_t";
    case IR_F32: return "float";
    case IR_F64: return "double";
    case IR_POINTER: return "void *";
    default: return ir_element_info[element].text; /* a type of the shared part */
    }
}

static bool is_of_shared_part(enum ir_element element)
{
    return element == IR_F16 || element == IR_BF16 || element == IR_F8E4M3 || element == IR_F8E5M2;
}

static void put_view(struct buffer *out, struct view_kind kind)
{
    struct buffer guard = {0};
    header_put_view_guard(&guard, kind);
    buffer_printf(
        out, "#ifndef %s_CXX\n#define %s_CXX 1\ntemplate <> struct tile::view_of<%s%s, %d> {\n    using type = ::",
        guard.data, guard.data, is_of_shared_part(kind.element) ? "tile::" : "", cxx_element(kind.element), kind.rank);
    header_put_tag(out, kind);
    buffer_puts(out, ";\n};\n#endif\n");
    buffer_free(&guard);
}

static void put_enum(struct buffer *out, const struct kernel_enum *enumeration, const char *space)
{
    struct buffer kind = {0}, name = {0};
    buffer_printf(&kind, "%s enum", space);
    put_name(&name, enumeration->name);
    header_begin_enum(out, kind.data, name.data, enumeration);
    buffer_printf(out, "enum class %s : int {", name.data);
    for (int i = 0; i < enumeration->count; i++) {
        buffer_puts(out, i ? ", " : " ");
        put_name(out, enumeration->members[i]);
        buffer_printf(out, " = %lld", (long long)enumeration->values[i]);
    }
    buffer_puts(out, " };\n#endif\n\n");
    buffer_free(&kind);
    buffer_free(&name);
}

/* ---- functions -------------------------------------------------------------------------------------------------- */

static bool is_bool(const struct kernel_entry *entry, const struct kernel_parameter *parameter)
{
    return parameter->kind == KERNEL_KEY ? entry->keys.data[parameter->key].element == IR_BOOL
                                         : parameter->kind == KERNEL_SCALAR && parameter->element == IR_BOOL;
}

static void put_view_type(struct buffer *out, const struct kernel_parameter *parameter)
{
    bool is_read = parameter->direction == KERNEL_IN;
    buffer_printf(out, "const %s%s::", parameter->optional ? "::std::optional<" : "",
                  is_read ? "::tile::const_view<" : "");
    header_put_tag(out, header_view_kind(parameter));
    buffer_printf(out, "%s%s &", is_read ? ">" : "", parameter->optional ? ">" : "");
}

/* Type and name, or the type alone for comparing. */
static void put_parameter(struct buffer *out, const struct kernel_entry *entry,
                          const struct kernel_parameter *parameter, const char *space, bool with_name)
{
    const struct kernel_enum *enumeration = header_enum_of(entry, parameter);
    struct kernel_parameter nameless = *parameter;
    if (parameter->kind == KERNEL_VIEW)
        put_view_type(out, parameter);
    else if (parameter->kind == KERNEL_STRUCT)
        buffer_printf(out, "const ::%s &", parameter->structure->c_name);
    else if (enumeration) { /* qualified, since a parameter in front of it may have its name */
        buffer_printf(out, "::%s::", space);
        put_name(out, enumeration->name);
        buffer_putc(out, ' ');
    } else if (is_bool(entry, parameter))
        buffer_puts(out, "bool ");
    else if (parameter->kind == KERNEL_KEY)
        buffer_puts(out, "int ");
    else {
        nameless.name = with_name ? parameter->name : "x";
        header_put_value(out, &nameless);
        return;
    }
    if (with_name)
        header_put_parameter_name(out, parameter->name);
}

/* What C's function is given. */
static void put_argument(struct buffer *out, const struct kernel_entry *entry, const struct kernel_parameter *parameter)
{
    struct buffer name = {0};
    header_put_parameter_name(&name, parameter->name);
    const char *member = parameter->direction == KERNEL_IN ? "view" : "";
    if (parameter->kind == KERNEL_VIEW && parameter->optional && *member)
        buffer_printf(out, "%s ? &%s->view : nullptr", name.data, name.data);
    else if (parameter->kind == KERNEL_VIEW && parameter->optional)
        buffer_printf(out, "%s ? &*%s : nullptr", name.data, name.data);
    else if (parameter->kind == KERNEL_VIEW)
        buffer_printf(out, "&%s%s%s", name.data, *member ? "." : "", member);
    else if (parameter->kind == KERNEL_STRUCT)
        buffer_printf(out, "&%s", name.data);
    else if (header_enum_of(entry, parameter))
        buffer_printf(out, "static_cast<int>(%s)", name.data);
    else if (is_bool(entry, parameter))
        buffer_printf(out, "%s ? 1 : 0", name.data);
    else
        buffer_puts(out, name.data);
    buffer_free(&name);
}

static void put_types(struct buffer *out, const struct kernel_entry *entry)
{
    for (int p = 0; p < entry->parameters.count; p++)
        if (!entry->parameters.data[p].member_of) {
            put_parameter(out, entry, &entry->parameters.data[p], "", false);
            buffer_putc(out, ',');
        }
    buffer_putc(out, '\0');
}

/* Do arguments tell the entries of a kernel apart? */
static bool is_overloaded(const struct kernel_module *module, const char *kernel)
{
    bool differ = true;
    for (const struct kernel_entry *a = header_next_entry(module, kernel, NULL); a && differ;
         a = header_next_entry(module, kernel, a)) {
        struct buffer types = {0};
        put_types(&types, a);
        for (const struct kernel_entry *b = header_next_entry(module, kernel, a); b;
             b = header_next_entry(module, kernel, b)) {
            struct buffer others = {0};
            put_types(&others, b);
            differ &= strcmp(types.data, others.data) != 0;
            buffer_free(&others);
        }
        buffer_free(&types);
    }
    return differ;
}

/* A function of C, symbol + suffix, by its name here; last: one more parameter, its type and what C is given of it. */
struct function {
    const char *suffix, *result, *last_type, *last, *last_argument;
};

static void put_function(struct buffer *out, const struct kernel_entry *entry, const char *name, const char *space,
                         const struct function *f)
{
    buffer_printf(out, "[[nodiscard]] TILE_INLINE %s ", f->result);
    if (*f->suffix)
        buffer_printf(out, "%s%s", name, f->suffix);
    else
        put_name(out, name);
    buffer_puts(out, "(::CUstream_st *stream");
    for (int p = 0; p < entry->parameters.count; p++)
        if (!entry->parameters.data[p].member_of) {
            buffer_puts(out, ",\n    ");
            put_parameter(out, entry, &entry->parameters.data[p], space, true);
        }
    if (f->last)
        buffer_printf(out, ",\n    %s%s", f->last_type, f->last);
    bool is_status = strcmp(f->result, "::tile_status") == 0; /* an int of C */
    buffer_printf(out, ")\n{\n    return %s::%s%s(stream", is_status ? "static_cast<::tile_status>(" : "",
                  entry->symbol, f->suffix);
    for (int p = 0; p < entry->parameters.count; p++)
        if (!entry->parameters.data[p].member_of) {
            buffer_puts(out, ", ");
            put_argument(out, entry, &entry->parameters.data[p]);
        }
    buffer_printf(out, "%s%s)%s;\n}\n", f->last ? ", " : "", f->last ? f->last_argument : "", is_status ? ")" : "");
}

static void put_entry(struct buffer *out, const struct kernel_module *module, const struct kernel_entry *entry,
                      const char *space)
{
    static const struct function functions[] = {
        {"", "::tile_status", NULL, NULL, NULL},
        {"_query", "::tile_status", "::tile_kernel_info &", "info", "&info"},
        {"_variant", "::tile_status", "int ", "variant", "variant"},
        {"_launch_ex", "::tile_status", "const ::tile_launch_options &", "options", "&options"},
        {"_workspace", "::std::size_t", NULL, NULL, NULL},
    };
    const char *name = is_overloaded(module, entry->kernel) ? entry->kernel : entry->symbol;
    header_put_entry_comment(out, entry);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        put_function(out, entry, name, space, &functions[i]);
    buffer_putc(out, '\n');
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static const char system_headers[] =
    "#if __cplusplus < 201703L\n#error \"headers of tilecc -fc++ need C++17: -std=c++17 or later\"\n#endif\n"
    "#include <cstddef>\n#include <cstdint>\n#include <iterator>\n#include <optional>\n"
    "#include <type_traits>\n#include <utility>\n";

void cxx_print_shared(const char *version, struct buffer *out)
{
    buffer_printf(out, "/* Made by tilecc %s: what its headers of C++ share; do not edit. */\n%s\n", version,
                  system_headers);
    header_put_shared(out, "cxx/support.hpp", "TILE_CXX_SHARED");
}

void cxx_print(const struct kernel_module *module, const char *version, const char *c_header, const char *shared,
               const char *space, struct buffer *out)
{
    struct buffer guard = {0};
    header_put_file_guard(&guard, module);
    header_put_origin(out, module, version);
    buffer_printf(out, "#ifndef %sPP\n#define %sPP 1\n#include \"%s\"\n%s", guard.data, guard.data, c_header,
                  system_headers);
    if (shared)
        buffer_printf(out, "#include \"%s\"\n\n", shared);
    else {
        buffer_putc(out, '\n');
        header_put_shared(out, "cxx/support.hpp", "TILE_CXX_SHARED");
    }
    header_each_view(out, module, put_view);
    buffer_printf(out, "\nnamespace %s {\n\n", space);
    for (int i = 0; i < module->enums.count; i++)
        put_enum(out, &module->enums.data[i], space);
    for (int i = 0; i < module->entries.count; i++)
        put_entry(out, module, &module->entries.data[i], space);
    buffer_printf(out, "} // namespace %s\n#endif /* %sPP */\n", space, guard.data);
    buffer_free(&guard);
}
