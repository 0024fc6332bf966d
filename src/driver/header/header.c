/* The C header of a module.  In order: what all headers share (copied from the run time's own header, which the
 * compiler carries), enums and structs of the language, a struct and constructors for each kind of view, tile extents as
 * #defines, and the functions of each entry with their comments.
 *
 * Each part that two headers may both have stands under a guard of its own.  The guard of an enum or a struct carries a
 * hash of its members, so that two different ones of one name collide loudly and equal ones do not. */
#include "driver/header/header.h"
#include "base/embedded.h"
#include "base/unicode.h"
#include "driver/header/header_names.h"
#include "ir/kernel_signature.h"
#include "runtime-stub/tile_rt.h"
#include <string.h>

/* ---- names ------------------------------------------------------------------------------------------------------ */

static uint32_t hash_text(uint32_t hash, const char *text)
{
    do
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    while (*text++);
    return hash;
}
static const uint32_t hash_start = 0x811c9dc5;

/* Text inside a comment: nothing in it may end the comment, begin another, or be a trigraph. */
static void put_comment_text(struct buffer *out, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char before = i ? text[i - 1] : ' ', c = text[i];
        if ((before == '*' && c == '/') || (before == '/' && c == '*') || (before == '?' && c == '?'))
            buffer_putc(out, ' ');
        if (c != '\r')
            buffer_putc(out, c);
    }
}

/* ---- what headers share ----------------------------------------------------------------------------------------- */

void header_put_shared(struct buffer *out, const char *name, const char *guard)
{
    const struct embedded_file *file = embedded_find(name);
    char opening[80], closing[80];
    const char *begin, *end;
    snprintf(opening, sizeof opening, "#ifndef %s\n", guard);
    snprintf(closing, sizeof closing, "#endif /* %s */\n", guard);
    begin = file ? strstr((const char *)file->data, opening) : NULL;
    end = begin ? strstr(begin, closing) : NULL;
    if (!end)
        die("the embedded %s has no part %s", name, guard);
    buffer_append(out, begin, (size_t)(end - begin) + strlen(closing));
    buffer_putc(out, '\n');
}

static bool is_odd_float(enum ir_element element)
{
    return element == IR_F16 || element == IR_BF16 || element == IR_F8E4M3 || element == IR_F8E5M2;
}

/* ---- types ------------------------------------------------------------------------------------------------------ */

/* Element in memory; and its name in a view's tag. */
static const char *element_type(enum ir_element element)
{
    static const char *const types[IR_ELEMENT_COUNT] = {
        [IR_BOOL] = "uint8_t",   [IR_I8] = "int8_t",          [IR_I16] = "int16_t",        [IR_I32] = "int32_t",
        [IR_I64] = "int64_t",    [IR_U8] = "uint8_t",         [IR_U16] = "uint16_t",       [IR_U32] = "uint32_t",
        [IR_U64] = "uint64_t",   [IR_F16] = "tile_f16",       [IR_BF16] = "tile_bf16",     [IR_F32] = "float",
        [IR_F64] = "double",     [IR_F8E4M3] = "tile_f8e4m3", [IR_F8E5M2] = "tile_f8e5m2", [IR_INDEX] = "int64_t",
        [IR_POINTER] = "void *",
    };
    return types[element];
}

/* A scalar argument: narrow types travel as int, unsigned or float and are checked or rounded. */
static const char *scalar_type(enum ir_element element)
{
    switch (element) {
    case IR_BOOL: return "int";
    case IR_I8:
    case IR_I16:
    case IR_I32: return "int32_t";
    case IR_U8:
    case IR_U16:
    case IR_U32: return "uint32_t";
    case IR_I64:
    case IR_INDEX: return "int64_t";
    case IR_U64: return "uint64_t";
    case IR_F64: return "double";
    case IR_POINTER: return "void *";
    default: return "float";
    }
}

struct view_kind header_view_kind(const struct kernel_parameter *parameter)
{
    return (struct view_kind){parameter->pointer_elements ? IR_POINTER : parameter->element, parameter->rank};
}

void header_put_tag(struct buffer *out, struct view_kind kind)
{
    buffer_printf(out, "tile_%s_%d", ir_element_info[kind.element].text, kind.rank);
}

void header_put_view_guard(struct buffer *out, struct view_kind kind)
{
    buffer_puts(out, "TILE_VIEW_");
    header_put_upper(out, ir_element_info[kind.element].text);
    buffer_printf(out, "_%d", kind.rank);
}

/* A stride that 64 bits do not hold is -1, as is what follows from it: a call refuses such a view. */
static void put_packed_stride(struct buffer *out, int d)
{
    buffer_printf(
        out,
        "    view.stride[%d] = view.stride[%d] < 0 || extent%d < 0 || (extent%d > 0 && view.stride[%d] > most / "
        "extent%d)\n                         ? -1\n                         : view.stride[%d] * extent%d;\n",
        d, d + 1, d + 1, d + 1, d + 1, d + 1, d + 1, d + 1);
}

/* Row-major views of memory without gaps, from a pointer that may be written through, or not. */
static void put_constructor(struct buffer *out, struct view_kind kind, bool constant)
{
    const char *type = element_type(kind.element), *space = type[strlen(type) - 1] == '*' ? "" : " ";
    buffer_puts(out, "TILE_INLINE struct ");
    header_put_tag(out, kind);
    buffer_putc(out, ' ');
    header_put_tag(out, kind);
    buffer_printf(out, "_row_major%s(", constant ? "_const" : "");
    if (kind.element == IR_POINTER)
        buffer_puts(out, constant ? "void *const *data" : "void **data");
    else
        buffer_printf(out, "%s%s *data", constant ? "const " : "", type);
    for (int d = 0; d < kind.rank; d++)
        buffer_printf(out, ", int64_t extent%d", d);
    buffer_puts(out, ")\n{\n    struct ");
    header_put_tag(out, kind);
    buffer_puts(out, " view;\n");
    if (kind.rank > 1)
        buffer_puts(out, "    const int64_t most = (int64_t)(~(uint64_t)0 >> 1);\n");
    if (constant)
        buffer_printf(out, "    view.data = (%s%s*)(uintptr_t)data;\n", type, space);
    else
        buffer_puts(out, "    view.data = data;\n");
    for (int d = kind.rank - 1; d >= 0; d--) {
        buffer_printf(out, "    view.extent[%d] = extent%d;\n", d, d);
        if (d == kind.rank - 1)
            buffer_printf(out, "    view.stride[%d] = 1;\n", d);
        else
            put_packed_stride(out, d);
    }
    buffer_puts(out, "    return view;\n}\n");
}

/* DLPack's kDL… codes of an element; -1: DLPack has none. */
static int dlpack_code(enum ir_element element)
{
    switch (element) {
    case IR_BF16: return 4;
    case IR_BOOL: return 6;
    case IR_F8E4M3: return 10;
    case IR_F8E5M2: return 12;
    case IR_POINTER: return -1;
    default: return ir_is_float(element) ? 2 : ir_is_signed(element) ? 0 : 1;
    }
}

/* Present when the program has included dlpack.h before. */
static void put_dlpack(struct buffer *out, struct view_kind kind)
{
    const char *type = element_type(kind.element);
    int code = dlpack_code(kind.element), bits = ir_element_info[kind.element].bits;
    if (code < 0)
        return;
    buffer_puts(out, "#if defined(DLPACK_DLPACK_H_) && !defined(");
    header_put_view_guard(out, kind);
    buffer_puts(out, "_DLPACK)\n#define ");
    header_put_view_guard(out, kind);
    buffer_puts(
        out,
        "_DLPACK 1\n/* For a call on this stream. TILE_ERR_ARG if type or rank differ, if extents are below 0 or more than "
        "strides\n * can say, or if the memory is not there: TILE_CPU takes memory of the host, managed and pinned "
        "memory, a GPU\n * all but the first. */\nTILE_INLINE int ");
    header_put_tag(out, kind);
    buffer_puts(out, "_from_dlpack(const DLTensor *tensor, struct CUstream_st *stream, struct ");
    header_put_tag(out, kind);
    /* kDLCPU, kDLCUDA, kDLCUDAHost, kDLCUDAManaged: by number, since older dlpack.h lack some of the names. */
    buffer_printf(
        out,
        " *view)\n{\n    const int64_t most = (int64_t)(~(uint64_t)0 >> 1);\n    int64_t packed = 1, extent;\n"
        "    int d, device;\n"
        "    if (!tensor || !view || !tensor->shape || tensor->ndim != %d || tensor->dtype.code != %d ||\n"
        "        tensor->dtype.bits != %d || tensor->dtype.lanes != 1)\n        return TILE_ERR_ARG;\n"
        "    device = (int)tensor->device.device_type;\n"
        "    if (device != 3 && device != 13 && device != (stream == TILE_CPU ? 1 : 2))\n"
        "        return TILE_ERR_ARG;\n",
        kind.rank, code, bits);
    buffer_printf(out,
                  "    view->data = tensor->data ? (%s *)((uintptr_t)tensor->data + (uintptr_t)tensor->byte_offset) : "
                  "NULL;\n",
                  type);
    buffer_printf(out,
                  "    for (d = %d; d-- > 0;) {\n        extent = tensor->shape[d];\n"
                  "        if (extent < 0 || (!tensor->strides && packed < 0))\n            return TILE_ERR_ARG;\n"
                  "        view->extent[d] = extent;\n"
                  "        view->stride[d] = tensor->strides ? tensor->strides[d] : packed;\n"
                  "        if (packed >= 0)\n"
                  "            packed = extent > 0 && packed > most / extent ? -1 : packed * extent;\n"
                  "    }\n    return TILE_OK;\n}\n",
                  kind.rank);
    buffer_puts(out, "/* The tensor borrows the view: it points into it. */\nTILE_INLINE DLTensor ");
    header_put_tag(out, kind);
    buffer_puts(out, "_to_dlpack(struct ");
    header_put_tag(out, kind);
    buffer_puts(out, " *view, DLDevice device)\n{\n    DLTensor tensor;\n    tensor.data = view->data;\n"
                     "    tensor.device = device;\n");
    buffer_printf(out,
                  "    tensor.ndim = %d;\n    tensor.dtype.code = %d;\n    tensor.dtype.bits = %d;\n"
                  "    tensor.dtype.lanes = 1;\n",
                  kind.rank, code, bits);
    buffer_puts(out,
                "    tensor.shape = view->extent;\n    tensor.strides = view->stride;\n    tensor.byte_offset = 0;\n"
                "    return tensor;\n}\n#endif\n");
}

static void put_assert(struct buffer *out, const char *tag, int64_t size, const char *text)
{
    static const char *const forms[] = {"#if defined(__cplusplus)\nstatic_assert(",
                                        "#elif __STDC_VERSION__ >= 201112L\n_Static_assert("};
    for (int i = 0; i < 2; i++)
        buffer_printf(out, "%ssizeof(struct %s) == %lld, \"%s\");\n", forms[i], tag, (long long)size, text);
    buffer_puts(out, "#endif\n");
}

static void put_size_assert(struct buffer *out, struct view_kind kind)
{
    struct buffer tag = {0};
    header_put_tag(&tag, kind);
    put_assert(out, tag.data, 8 + 16 * kind.rank, "a view is its pointer, extents and strides, 8 bytes each");
    buffer_free(&tag);
}

static void put_view_kind(struct buffer *out, struct view_kind kind)
{
    const char *type = element_type(kind.element);
    buffer_puts(out, "#ifndef ");
    header_put_view_guard(out, kind);
    buffer_puts(out, "\n#define ");
    header_put_view_guard(out, kind);
    buffer_puts(out, " 1\nstruct ");
    header_put_tag(out, kind);
    buffer_printf(out, " {\n    %s%s*data;\n    int64_t extent[%d];\n    int64_t stride[%d]; /* in elements */\n};\n",
                  type, type[strlen(type) - 1] == '*' ? "" : " ", kind.rank, kind.rank);
    put_size_assert(out, kind);
    put_constructor(out, kind, false);
    put_constructor(out, kind, true);
    buffer_puts(out, "#endif\n");
    put_dlpack(out, kind);
    buffer_putc(out, '\n');
}

void header_each_view(struct buffer *out, const struct kernel_module *module,
                      void (*put)(struct buffer *out, struct view_kind kind))
{
    bool seen[IR_ELEMENT_COUNT][IR_MAX_RANK + 1] = {{false}};
    for (int i = 0; i < module->entries.count; i++) {
        const struct kernel_entry *entry = &module->entries.data[i];
        for (int p = 0; p < entry->parameters.count; p++)
            if (entry->parameters.data[p].kind == KERNEL_VIEW) {
                struct view_kind kind = header_view_kind(&entry->parameters.data[p]);
                seen[kind.element][kind.rank] = true;
            }
    }
    for (int element = 0; element < IR_ELEMENT_COUNT; element++)
        for (int rank = 1; rank <= IR_MAX_RANK; rank++)
            if (seen[element][rank])
                put(out, (struct view_kind){(enum ir_element)element, rank});
}

/* #ifndef TILE_ENUM_TILE_MODE_89ABCDEF and so on, and the documentation. */
static void begin_guarded(struct buffer *out, const char *kind, const char *c_name, uint32_t hash, const char *doc)
{
    struct buffer guard = {0}, is = {0};
    buffer_puts(&is, "TILE_");
    header_put_upper(&is, kind);
    buffer_printf(&guard, "%s_", is.data);
    header_put_upper(&guard, c_name);
    buffer_printf(&guard, "_%08X", (unsigned)hash);
    buffer_printf(out, "#ifndef %s\n#define %s 1\n", guard.data, guard.data);
    buffer_printf(out, "#ifdef %s_IS_%s\n", is.data, c_name);
    buffer_printf(out,
                  "#error \"two headers declare different %ss %s: rename one where it is written, give one header "
                  "another --prefix, or include them in two C files\"\n#endif\n#define %s_IS_%s 1\n",
                  kind, c_name, is.data, c_name);
    if (doc) {
        buffer_puts(out, "/** ");
        put_comment_text(out, doc, strlen(doc));
        buffer_puts(out, " */\n");
    }
    buffer_free(&guard);
    buffer_free(&is);
}

void header_begin_enum(struct buffer *out, const char *kind, const char *name, const struct kernel_enum *enumeration)
{
    uint32_t hash = hash_start;
    for (int i = 0; i < enumeration->count; i++) {
        char value[24];
        snprintf(value, sizeof value, "%lld", (long long)enumeration->values[i]);
        hash = hash_text(hash_text(hash, enumeration->members[i]), value);
    }
    begin_guarded(out, kind, name, hash, enumeration->doc);
}

static void put_enum(struct buffer *out, const struct kernel_enum *enumeration)
{
    header_begin_enum(out, "enum", enumeration->c_name, enumeration);
    buffer_printf(out, "enum %s {", enumeration->c_name);
    for (int i = 0; i < enumeration->count; i++) {
        buffer_puts(out, i ? ",\n    " : "\n    ");
        header_put_member(out, enumeration, i);
        buffer_printf(out, " = %lld", (long long)enumeration->values[i]);
    }
    buffer_puts(out, "\n};\n#endif\n\n");
}

/* A value by itself, as a parameter or a member of a struct: type and name. */
void header_put_value(struct buffer *out, const struct kernel_parameter *value)
{
    const char *type = value->kind == KERNEL_ENUM      ? "int"
                       : value->kind == KERNEL_POINTER ? element_type(value->element)
                                                       : scalar_type(value->element);
    if (value->kind == KERNEL_POINTER && value->element == IR_POINTER)
        buffer_puts(out, value->pointee_const ? "void *const *" : "void **");
    else if (value->kind == KERNEL_POINTER)
        buffer_printf(out, "%s%s *", value->pointee_const ? "const " : "", type);
    else
        buffer_printf(out, "%s%s", type, type[strlen(type) - 1] == '*' ? "" : " ");
    header_put_parameter_name(out, value->name);
}

/* The members are what parameters of their types are, laid out as C does. */
static void put_struct(struct buffer *out, const struct kernel_struct *structure)
{
    struct buffer members = {0};
    for (int i = 0; i < structure->count; i++) {
        buffer_puts(&members, "    ");
        header_put_value(&members, &structure->members[i]);
        buffer_printf(&members, "; /* %s%s */\n", structure->members[i].kind == KERNEL_ENUM ? "enum " : "",
                      structure->members[i].kind == KERNEL_ENUM ? structure->members[i].enumeration->c_name
                      : structure->members[i].kind == KERNEL_POINTER
                          ? "device or host memory, as the stream says"
                          : ir_element_info[structure->members[i].element].text);
    }
    begin_guarded(out, "struct", structure->c_name, hash_text(hash_start, members.data), structure->doc);
    buffer_printf(out, "struct %s {\n%s};\n", structure->c_name, members.data);
    put_assert(out, structure->c_name, kernel_struct_offset(structure, structure->count),
               "a struct is its members, laid out as C does");
    buffer_puts(out, "#endif\n\n");
    buffer_free(&members);
}

/* ---- entries ---------------------------------------------------------------------------------------------------- */

/* Names of `const` and `tune` that have one value in all variants. */
static void put_defines(struct buffer *out, const struct kernel_entry *entry)
{
    bool any = false;
    for (int k = 0; entry->variants.count && k < entry->variants.data[0].knobs.count; k++) {
        const struct kernel_knob *knob = &entry->variants.data[0].knobs.data[k];
        if (!kernel_knob_is_settled(entry, knob))
            continue;
        any = true;
        buffer_puts(out, "#define ");
        header_put_define(out, entry, knob);
        buffer_printf(out, " %lld\n", (long long)knob->value);
    }
    if (any)
        buffer_putc(out, '\n');
}

void header_put_extents(struct buffer *out, const struct kernel_entry *entry, const struct kernel_parameter *parameter)
{
    buffer_putc(out, '[');
    for (int d = 0; d < parameter->rank; d++) {
        const struct kernel_expression *extent = parameter->extent[d];
        buffer_puts(out, d ? ", " : "");
        if (extent && extent->text)
            put_comment_text(out, extent->text, strlen(extent->text));
        else if (parameter->binds[d] >= 0)
            buffer_puts(out, entry->names.data[parameter->binds[d]].name);
        else if (parameter->static_extent[d] != IR_DYNAMIC)
            buffer_printf(out, "%lld", (long long)parameter->static_extent[d]);
        else
            buffer_putc(out, '?');
    }
    buffer_putc(out, ']');
}

const struct kernel_enum *header_enum_of(const struct kernel_entry *entry, const struct kernel_parameter *parameter)
{
    return parameter->kind == KERNEL_ENUM  ? parameter->enumeration
           : parameter->kind == KERNEL_KEY ? entry->keys.data[parameter->key].enumeration
                                           : NULL;
}

bool header_is_aliased(const struct kernel_entry *entry, int a, int b)
{
    for (int i = 0; i < entry->aliases.count; i++)
        if ((entry->aliases.data[i].a == a && entry->aliases.data[i].b == b) ||
            (entry->aliases.data[i].a == b && entry->aliases.data[i].b == a))
            return true;
    return false;
}

static void put_words_around(struct buffer *out, const char *before, const char *parameter, const char *behind)
{
    buffer_puts(out, before);
    header_put_parameter_name(out, parameter);
    buffer_puts(out, behind);
}

/* Which views a written one may be, or may not meet. */
static void put_alias_rules(struct buffer *out, const struct kernel_entry *entry, int index)
{
    bool any = false;
    for (int p = 0; p < entry->parameters.count; p++)
        if (p != index && entry->parameters.data[p].kind == KERNEL_VIEW && header_is_aliased(entry, index, p))
            put_words_around(out, "; may be ", entry->parameters.data[p].name, " itself");
    for (int p = 0; p < entry->parameters.count; p++) {
        if (p == index || entry->parameters.data[p].kind != KERNEL_VIEW || header_is_aliased(entry, index, p))
            continue;
        put_words_around(out, any ? ", " : "; may not overlap ", entry->parameters.data[p].name, "");
        any = true;
    }
    if (any)
        buffer_puts(out, " (TILE_ERR_ALIAS)");
}

static void put_parameter_comment(struct buffer *out, const struct kernel_entry *entry, int index)
{
    static const char *const directions[] = {
        [KERNEL_IN] = "read", [KERNEL_OUT] = "written", [KERNEL_INOUT] = "read and written"};
    const struct kernel_parameter *parameter = &entry->parameters.data[index];
    const char *element = ir_element_info[parameter->element].text;
    buffer_puts(out, " *  @param ");
    header_put_parameter_name(out, parameter->name);
    switch (parameter->kind) {
    case KERNEL_VIEW:
        buffer_putc(out, ' ');
        header_put_extents(out, entry, parameter);
        buffer_printf(out, "%s, %s%s", parameter->optional ? " or NULL" : "",
                      parameter->pointer_elements ? "pointers to " : "",
                      !parameter->nibbles           ? element
                      : parameter->element == IR_I8 ? "i4"
                                                    : "u4");
        if (parameter->nibbles)
            buffer_puts(out, " (two a byte, the even one low: a view of bytes, its last extent half as much)");
        buffer_printf(out, ", %s", directions[parameter->direction]);
        buffer_puts(out, parameter->packed    ? ", packed row-major"
                         : parameter->strided ? ", any strides"
                                              : ", last stride 1");
        if (parameter->direction != KERNEL_IN)
            put_alias_rules(out, entry, index);
        break;
    case KERNEL_SCALAR: buffer_printf(out, " %s", element); break;
    case KERNEL_POINTER:
        buffer_printf(out, " pointer to %s%s", element, parameter->restricted ? ", overlaps nothing else" : "");
        break;
    case KERNEL_ENUM: buffer_printf(out, " an enum %s", parameter->enumeration->c_name); break;
    case KERNEL_STRUCT: buffer_printf(out, " a struct %s, copied at the call", parameter->structure->c_name); break;
    case KERNEL_KEY: {
        const struct kernel_key *key = &entry->keys.data[parameter->key];
        buffer_puts(out, key->enumeration ? " an enum " : " one of");
        if (key->enumeration)
            buffer_puts(out, key->enumeration->c_name);
        for (int i = 0; !key->enumeration && key->set_count == 1 && i < key->sets->count; i++)
            buffer_printf(out, "%s %lld", i ? "," : "", (long long)key->sets->values[i]);
        for (int i = 0; !key->enumeration && key->set_count > 1 && i < key->set_count; i++)
            buffer_printf(out, "%s %s", i ? "," : "", key->sets[i].text);
    }
    }
    buffer_putc(out, '\n');
}

/* What _workspace() counts: " *  Memory of a launch: state [cdiv(N, B)], u64, filled", of the first instance. */
static void put_scratch_comment(struct buffer *out, const struct kernel_entry *entry)
{
    const struct kernel_expression **extent = entry->variants.count ? entry->variants.data[0].scratch_extents : NULL;
    int count = entry->scratch.count - (entry->ordered ? 1 : 0) - (entry->splits ? 2 : 0);
    for (int i = 0; extent && i < count; i++) {
        const struct kernel_scratch *scratch = &entry->scratch.data[i];
        buffer_printf(out, " *  Memory of a launch: %s ", scratch->name);
        for (int d = 0; d < scratch->rank; d++, extent++) {
            buffer_puts(out, d ? ", " : "[");
            const char *text = (*extent)->text ? (*extent)->text : "...";
            put_comment_text(out, text, strlen(text));
        }
        buffer_printf(out, "], %s%s\n", ir_element_info[scratch->element].text, scratch->filled ? ", filled" : "");
    }
    if (entry->ordered)
        buffer_puts(out, " *  Memory of a launch: how many of its ordered instances have started\n");
    if (entry->splits)
        buffer_puts(out,
                    " *  Memory of a launch: the sums of the instances that share a loop, and how many are there\n");
}

void header_put_entry_comment(struct buffer *out, const struct kernel_entry *entry)
{
    const char *doc = entry->doc ? entry->doc : entry->kernel;
    buffer_puts(out, "/**");
    while (*doc) {
        size_t size = strcspn(doc, "\n");
        buffer_puts(out, doc[0] == ' ' || size == 0 ? "" : " ");
        put_comment_text(out, doc, size);
        doc += size + (doc[size] == '\n');
        buffer_puts(out, *doc ? "\n *" : "\n");
    }
    for (int p = 0; p < entry->parameters.count; p++)
        if (!entry->parameters.data[p].member_of)
            put_parameter_comment(out, entry, p);
    put_scratch_comment(out, entry);
    for (int i = 0; i < entry->requirements.count; i++) {
        const char *text = entry->requirements.data[i]->text;
        if (!text)
            continue;
        buffer_puts(out, " *  @pre ");
        put_comment_text(out, text, strlen(text));
        buffer_putc(out, '\n');
    }
    buffer_puts(out, " *  @return TILE_OK or an enum tile_status; nothing is launched on error. */\n");
}

/* One parameter of a prototype: type and name. */
static void put_parameter(struct buffer *out, const struct kernel_parameter *parameter)
{
    switch (parameter->kind) {
    case KERNEL_VIEW:
        buffer_puts(out, "const struct ");
        header_put_tag(out, header_view_kind(parameter));
        buffer_puts(out, " *");
        break;
    case KERNEL_STRUCT: buffer_printf(out, "const struct %s *", parameter->structure->c_name); break;
    case KERNEL_KEY: buffer_puts(out, "int "); break;
    case KERNEL_SCALAR:
    case KERNEL_POINTER:
    case KERNEL_ENUM: header_put_value(out, parameter); return;
    }
    header_put_parameter_name(out, parameter->name);
}

/* A prototype of symbol + suffix, `last` behind the kernel's parameters unless it is NULL, in lines of at most 100
 * columns.  The compiled program asks the
 * linker for the name with the signature, so that a header and an object that do not fit together do not link. */
static void put_prototype(struct buffer *out, const struct kernel_entry *entry, const char *type, const char *suffix,
                          const char *last)
{
    size_t line = out->size, indent;
    buffer_printf(out, "%s %s%s(", type, entry->symbol, suffix);
    indent = out->size - line;
    buffer_puts(out, "struct CUstream_st *stream");
    for (int p = 0; p < entry->parameters.count + (last ? 1 : 0); p++) {
        struct buffer item = {0};
        if (p < entry->parameters.count && entry->parameters.data[p].member_of)
            continue;
        if (p < entry->parameters.count)
            put_parameter(&item, &entry->parameters.data[p]);
        else
            buffer_puts(&item, last);
        buffer_putc(out, ',');
        if (out->size - line + 1 + item.size > 98) {
            buffer_putc(out, '\n');
            line = out->size;
            buffer_printf(out, "%*s", (int)indent, "");
        } else {
            buffer_putc(out, ' ');
        }
        buffer_append(out, item.data, item.size);
        buffer_free(&item);
    }
    buffer_printf(out, ")\n    TILE_SIGNATURE(\"%s%s.signature_%08x\");\n", entry->symbol, suffix,
                  (unsigned)kernel_signature(entry, TILE_RT_ABI));
}

static void put_entry(struct buffer *out, const struct kernel_entry *entry)
{
    put_defines(out, entry);
    header_put_entry_comment(out, entry);
    put_prototype(out, entry, "int", "", NULL);
    buffer_printf(out, "/** What %s would run for these arguments; launches nothing. */\n", entry->symbol);
    put_prototype(out, entry, "int", "_query", "struct tile_kernel_info *info");
    buffer_puts(out,
                "/** Launches this variant, counted as in tile_kernel_info; TILE_ERR_ARG if it does not fit. */\n");
    put_prototype(out, entry, "int", "_variant", "int variant");
    buffer_printf(out, "/** Launches %s with options, which may be NULL. */\n", entry->symbol);
    put_prototype(out, entry, "int", "_launch_ex", "const struct tile_launch_options *options");
    buffer_puts(out,
                "/** Bytes for tile_set_workspace() that this call would use; (size_t)-1 for a wrong argument. */\n");
    put_prototype(out, entry, "size_t", "_workspace", NULL);
    buffer_printf(out, "/** Loads %s onto the current device, so that launches are safe inside a stream capture. */\n",
                  entry->symbol);
    buffer_printf(out, "int %s_load(void);\n", entry->symbol);
    buffer_printf(out, "/** Takes %s off all devices; no launch of it may be under way. */\n", entry->symbol);
    buffer_printf(out, "int %s_unload(void);\n\n", entry->symbol);
}

const struct kernel_entry *header_next_entry(const struct kernel_module *module, const char *kernel,
                                             const struct kernel_entry *entry)
{
    const struct kernel_entry *end = module->entries.data + module->entries.count;
    for (entry = entry ? entry + 1 : module->entries.data; entry < end; entry++)
        if (strcmp(entry->kernel, kernel) == 0)
            return entry;
    return NULL;
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

static bool uses_odd_floats(const struct kernel_module *module)
{
    for (int i = 0; i < module->entries.count; i++)
        for (int p = 0; p < module->entries.data[i].parameters.count; p++)
            if (is_odd_float(module->entries.data[i].parameters.data[p].element))
                return true;
    return false;
}

void header_put_origin(struct buffer *out, const struct kernel_module *module, const char *version)
{
    buffer_printf(out, "/* Made by tilecc %s from ", version);
    put_comment_text(out, module->stem, strlen(module->stem));
    buffer_puts(out, ".tile; do not edit. */\n");
}

void header_put_file_guard(struct buffer *out, const struct kernel_module *module)
{
    uint32_t hash = hash_text(hash_start, module->stem);
    for (int i = 0; i < module->entries.count; i++)
        hash = hash_text(hash, module->entries.data[i].symbol);
    buffer_puts(out, "TILE_");
    struct buffer stem = {0};
    unicode_put_name(&stem, module->stem);
    header_put_upper(out, stem.data ? stem.data : "");
    buffer_free(&stem);
    buffer_printf(out, "_%08X_H", (unsigned)hash);
}

/* clang warns of casts of C in inline functions of extern "C", too; gcc does not. */
static const char begin_c[] = "#ifdef __cplusplus\nextern \"C\" {\n#ifdef __clang__\n#pragma clang diagnostic push\n"
                              "#pragma clang diagnostic ignored \"-Wold-style-cast\"\n#endif\n#endif\n\n",
                  end_c[] = "#ifdef __cplusplus\n#ifdef __clang__\n#pragma clang diagnostic pop\n#endif\n}\n#endif\n";

/* Each part has a guard of its own, so that headers with and without it fit together. */
void header_print_shared(const char *version, struct buffer *out)
{
    buffer_printf(
        out,
        "/* Made by tilecc %s: what its headers share; do not edit. */\n#include <stddef.h>\n#include <stdint.h>\n\n%s",
        version, begin_c);
    header_put_shared(out, "tile_rt.h", "TILE_SHARED_DECLARATIONS");
    header_put_shared(out, "tile_rt.h", "TILE_INLINE_FUNCTIONS");
    header_put_shared(out, "tile_rt.h", "TILE_FLOAT_TYPES");
    buffer_puts(out, end_c);
}

void header_print(const struct kernel_module *module, const char *version, const char *shared, struct buffer *out)
{
    struct buffer guard = {0};
    header_put_file_guard(&guard, module);
    header_put_origin(out, module, version);
    buffer_printf(out, "#ifndef %s\n#define %s 1\n#include <stddef.h>\n#include <stdint.h>\n", guard.data, guard.data);
    if (shared)
        buffer_printf(out, "#include \"%s\"\n", shared);
    buffer_printf(out, "\n%s", begin_c);
    if (!shared) {
        header_put_shared(out, "tile_rt.h", "TILE_SHARED_DECLARATIONS");
        header_put_shared(out, "tile_rt.h", "TILE_INLINE_FUNCTIONS");
        if (uses_odd_floats(module))
            header_put_shared(out, "tile_rt.h", "TILE_FLOAT_TYPES");
    }
    for (int i = 0; i < module->enums.count; i++)
        put_enum(out, &module->enums.data[i]);
    for (int i = 0; i < module->structs.count; i++)
        put_struct(out, &module->structs.data[i]);
    header_each_view(out, module, put_view_kind);
    for (int i = 0; i < module->entries.count; i++)
        put_entry(out, &module->entries.data[i]);
    buffer_printf(out, "%s#endif /* %s */\n", end_c, guard.data);
    buffer_free(&guard);
}
