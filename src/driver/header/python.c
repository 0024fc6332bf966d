/* A Python module: what all modules share, a class for each enum and struct, then for each kernel a table of its
 * parameters and instances and functions with types and a docstring, whose bodies hand their arguments to the table:
 *
 *   _kernel_softmax = _Kernel(_library, "softmax", (_ViewParameter("x", 2), ...), (("softmax_f16", "3495f320", ("f16", "f16")), ...))
 *
 *   def softmax(x: Array, y: Array, *, stream: Any = None, variant: int | None = None, ...) -> None:
 *       """Row-wise softmax."""
 *       _kernel_softmax.launch(stream, (x, y), variant, ...)
 *
 * Instances of one kernel, which C tells apart by their names, are one function here: the elements of its arguments choose.
 * Each is there by its name in C as well. */
#include "driver/header/python.h"
#include "base/embedded.h"
#include "driver/header/header.h"
#include "ir/kernel_signature.h"
#include "runtime-stub/tile_rt.h"
#include <ctype.h>
#include <string.h>

/* ---- names and texts -------------------------------------------------------------------------------------------- */

static const char *const keywords[] = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",
};

/* What the shared part calls of Python itself, and what it gives users. */
static const char *const taken[] = {
    "all",           "any",           "bool",         "bytes",          "dict",          "enumerate",
    "getattr",       "hasattr",       "int",          "isinstance",     "len",           "list",
    "memoryview",    "next",          "range",        "reversed",       "set",           "setattr",
    "str",           "super",         "tuple",        "type",           "vars",          "zip",
    "property",      "CPU",           "Error",        "View",           "Info",          "Array",
    "ArgumentError", "Any",           "TypeError",    "ValueError",     "KeyError",      "OSError",
    "ImportError",   "OverflowError", "RuntimeError", "AttributeError", "set_workspace", "stream",
    "variant",       "overlap",       "priority",     "this_thread",    "mro",           "annotations",
};

static bool is_among(const char *const *names, size_t count, const char *name, size_t size)
{
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == size && strncmp(name, names[i], size) == 0)
            return true;
    return false;
}

static bool is_keyword(const char *name, size_t size)
{
    return is_among(keywords, sizeof keywords / sizeof *keywords, name, size);
}

bool python_is_module_name(const char *name, int size)
{
    for (int i = 0; i < size; i++) {
        bool is_letter = isalpha((unsigned char)name[i]) || name[i] == '_' || (unsigned char)name[i] >= 0x80;
        if (!is_letter && (i == 0 || !isdigit((unsigned char)name[i])))
            return false;
    }
    return size > 0 && !is_keyword(name, (size_t)size);
}

/* A name with `_` behind it where it would hide something; so that two names stay two, one that ends in `_` gets another. */
static void put_name(struct buffer *out, const char *name)
{
    size_t size = strlen(name);
    while (size > 0 && name[size - 1] == '_')
        size--;
    bool is_taken = name[0] == '_' || is_keyword(name, size) ||
                    is_among(taken, sizeof taken / sizeof *taken, name, size);
    buffer_printf(out, "%s%s", name, is_taken ? "_" : "");
}

/* Inside """ or ": no quote and no backslash of the text means anything there. */
static void put_text(struct buffer *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\\' || *text == '"')
            buffer_putc(out, '\\');
        if (*text != '\r')
            buffer_putc(out, *text);
    }
}

static const char *element_name(enum ir_element element)
{
    return element == IR_POINTER ? "pointer" : element == IR_INDEX ? "i64" : ir_element_info[element].text;
}

/* ---- enums and structs ------------------------------------------------------------------------------------------ */

static void put_doc(struct buffer *out, const char *indent, const char *doc)
{
    if (!doc)
        return;
    buffer_printf(out, "%s\"\"\"", indent);
    put_text(out, doc);
    buffer_puts(out, "\"\"\"\n");
}

/* By the function and not by a class, where a member could not be called `is`. */
static void put_enum(struct buffer *out, const struct kernel_enum *enumeration)
{
    put_name(out, enumeration->name);
    buffer_puts(out, " = _enum.IntEnum(\"");
    put_name(out, enumeration->name);
    buffer_puts(out, "\", {");
    for (int i = 0; i < enumeration->count; i++) {
        bool is_method = strcmp(enumeration->members[i], "mro") == 0 || enumeration->members[i][0] == '_';
        buffer_printf(out, "%s\"%s%s\": %lld", i ? ", " : "", enumeration->members[i], is_method ? "_" : "",
                      (long long)enumeration->values[i]);
    }
    buffer_puts(out, "}, module=__name__)\n");
    if (enumeration->doc) {
        put_name(out, enumeration->name);
        buffer_puts(out, ".__doc__ = \"\"\"");
        put_text(out, enumeration->doc);
        buffer_puts(out, "\"\"\"\n");
    }
    buffer_putc(out, '\n');
}

static void put_struct(struct buffer *out, const struct kernel_struct *structure)
{
    buffer_puts(out, "\nclass ");
    put_name(out, structure->name);
    buffer_puts(out, "(_StructOfC):\n");
    put_doc(out, "    ", structure->doc);
    buffer_puts(out, "    _fields_ = [");
    for (int i = 0; i < structure->count; i++) {
        const struct kernel_parameter *member = &structure->members[i];
        buffer_printf(out, "%s(\"", i ? ", " : "");
        put_name(out, member->name);
        if (member->kind == KERNEL_POINTER)
            buffer_puts(out, "\", _ctypes.c_void_p)");
        else if (member->kind == KERNEL_ENUM)
            buffer_puts(out, "\", _ctypes.c_int)");
        else
            buffer_printf(out, "\", _scalars[\"%s\"])", element_name(member->element));
    }
    buffer_puts(out, "]\n    _enums = {");
    for (int i = 0, count = 0; i < structure->count; i++)
        if (structure->members[i].kind == KERNEL_ENUM) {
            buffer_puts(out, count++ ? ", \"" : "\"");
            put_name(out, structure->members[i].name);
            buffer_puts(out, "\": ");
            put_name(out, structure->members[i].enumeration->name);
        }
    buffer_puts(out, "}\n    _pointees = {");
    for (int i = 0, count = 0; i < structure->count; i++)
        if (structure->members[i].kind == KERNEL_POINTER) {
            buffer_puts(out, count++ ? ", \"" : "\"");
            put_name(out, structure->members[i].name);
            buffer_printf(out, "\": (\"%s\", %s)", element_name(structure->members[i].element),
                          structure->members[i].pointee_const ? "False" : "True");
        }
    buffer_puts(out, "}\n\n");
}

/* ---- kernels ---------------------------------------------------------------------------------------------------- */

/* Entries of one kernel: those of the module that bear its name; without a module the first alone. */
struct family {
    const struct kernel_module *module;
    const struct kernel_entry *first;
};

static const struct kernel_entry *next_of(struct family family, const struct kernel_entry *entry)
{
    if (!family.module)
        return entry ? NULL : family.first;
    return header_next_entry(family.module, family.first->kernel, entry);
}

static void put_kind(struct buffer *out, const struct kernel_entry *entry, const struct kernel_parameter *parameter)
{
    const struct kernel_enum *enumeration = header_enum_of(entry, parameter);
    buffer_puts(out, parameter->kind == KERNEL_VIEW      ? "_ViewParameter(\""
                     : parameter->kind == KERNEL_POINTER ? "_PointerParameter(\""
                     : parameter->kind == KERNEL_STRUCT  ? "_StructParameter(\""
                     : enumeration                       ? "_EnumParameter(\""
                                                         : "_ScalarParameter(\"");
    put_name(out, parameter->name);
    buffer_putc(out, '"');
    if (parameter->kind == KERNEL_VIEW)
        buffer_printf(out, ", %d%s%s", parameter->rank, parameter->direction == KERNEL_IN ? "" : ", written=True",
                      parameter->optional ? ", optional=True" : "");
    else if (parameter->kind == KERNEL_POINTER)
        buffer_puts(out, parameter->pointee_const || parameter->direction == KERNEL_IN ? ", False" : ", True");
    else if (parameter->kind == KERNEL_STRUCT || enumeration) {
        buffer_puts(out, ", ");
        put_name(out, enumeration ? enumeration->name : parameter->structure->name);
    }
    buffer_putc(out, ')');
}

static const char *element_of(const struct kernel_entry *entry, const struct kernel_parameter *parameter)
{
    switch (parameter->kind) {
    case KERNEL_VIEW: return element_name(parameter->pointer_elements ? IR_POINTER : parameter->element);
    case KERNEL_KEY: return entry->keys.data[parameter->key].element == IR_BOOL ? "bool" : "i32";
    case KERNEL_ENUM:
    case KERNEL_STRUCT: return "i32";
    default: return element_name(parameter->element);
    }
}

static void put_table(struct buffer *out, struct family family)
{
    buffer_printf(out, "\n_kernel_%s = _Kernel(\n    _library, \"%s\",\n    (", family.first->kernel,
                  family.first->kernel);
    for (int p = 0; p < family.first->parameters.count; p++) {
        if (family.first->parameters.data[p].member_of)
            continue;
        buffer_puts(out, p ? " " : "");
        put_kind(out, family.first, &family.first->parameters.data[p]);
        buffer_putc(out, ',');
    }
    buffer_puts(out, "),\n    (\n");
    for (const struct kernel_entry *entry = next_of(family, NULL); entry; entry = next_of(family, entry)) {
        buffer_printf(out, "        (\"%s\", \"%08x\", (", entry->symbol,
                      (unsigned)kernel_signature(entry, TILE_RT_ABI));
        for (int p = 0; p < entry->parameters.count; p++)
            if (!entry->parameters.data[p].member_of)
                buffer_printf(out, "%s\"%s\",", p ? " " : "", element_of(entry, &entry->parameters.data[p]));
        buffer_puts(out, ")),\n");
    }
    buffer_puts(out, "    ),\n)\n");
}

/* ---- what a reader sees of a kernel ----------------------------------------------------------------------------- */

static void put_type(struct buffer *out, const struct kernel_entry *entry, const struct kernel_parameter *parameter)
{
    const struct kernel_enum *enumeration = header_enum_of(entry, parameter);
    if (enumeration || parameter->kind == KERNEL_STRUCT) {
        put_name(out, enumeration ? enumeration->name : parameter->structure->name);
        buffer_puts(out, enumeration ? " | str | int" : " | tuple | dict");
        return;
    }
    const char *element = element_of(entry, parameter);
    buffer_puts(out, parameter->kind == KERNEL_VIEW           ? parameter->optional ? "Array | None" : "Array"
                     : parameter->kind == KERNEL_POINTER      ? "Array | int | None"
                     : strcmp(element, "bool") == 0           ? "bool"
                     : element[0] == 'f' || element[0] == 'b' ? "float"
                                                              : "int");
}

/* Optional views that nothing has to follow may be left out. */
static int first_default(const struct kernel_entry *entry)
{
    int first = entry->parameters.count;
    while (first > 0 && (entry->parameters.data[first - 1].member_of || entry->parameters.data[first - 1].optional))
        first--;
    return first;
}

static void put_parameters(struct buffer *out, const struct kernel_entry *entry)
{
    for (int p = 0; p < entry->parameters.count; p++) {
        const struct kernel_parameter *parameter = &entry->parameters.data[p];
        if (parameter->member_of)
            continue;
        put_name(out, parameter->name);
        buffer_puts(out, ": ");
        put_type(out, entry, parameter);
        buffer_puts(out, p >= first_default(entry) ? " = None, " : ", ");
    }
    buffer_puts(out, "*, stream: Any = None");
}

/* "f32, f16 or bf16": each once. */
static void put_elements(struct buffer *out, struct family family, int parameter)
{
    const char *names[IR_ELEMENT_COUNT + 2];
    int count = 0;
    for (const struct kernel_entry *entry = next_of(family, NULL); entry; entry = next_of(family, entry)) {
        const struct kernel_parameter *here = &entry->parameters.data[parameter];
        const char *name = here->nibbles ? here->element == IR_I8 ? "i4" : "u4" : element_name(here->element);
        bool known = false;
        for (int i = 0; i < count; i++)
            known |= strcmp(names[i], name) == 0;
        if (!known)
            names[count++] = name;
    }
    for (int i = 0; i < count; i++)
        buffer_printf(out, "%s%s", i == 0 ? "" : i == count - 1 ? " or " : ", ", names[i]);
}

static void put_parameter_doc(struct buffer *out, struct family family, int index)
{
    static const char *const directions[] = {
        [KERNEL_IN] = "read", [KERNEL_OUT] = "written", [KERNEL_INOUT] = "read and written"};
    const struct kernel_entry *entry = family.first;
    const struct kernel_parameter *parameter = &entry->parameters.data[index];
    struct buffer extents = {0};
    buffer_puts(out, "    ");
    put_name(out, parameter->name);
    buffer_puts(out, ": ");
    switch (parameter->kind) {
    case KERNEL_VIEW:
        header_put_extents(&extents, entry, parameter);
        put_text(out, extents.data);
        buffer_puts(out, parameter->optional ? " or None, " : ", ");
        buffer_puts(out, parameter->pointer_elements ? "addresses of " : "");
        put_elements(out, family, index);
        buffer_puts(out, parameter->nibbles ? ", two a byte, the even one low: an array of bytes" : "");
        buffer_printf(out, ", %s%s", directions[parameter->direction],
                      parameter->packed    ? ", packed row-major"
                      : parameter->strided ? ", any strides"
                                           : ", last stride 1");
        for (int p = 0; p < entry->parameters.count; p++)
            if (parameter->direction != KERNEL_IN && p != index && header_is_aliased(entry, index, p)) {
                buffer_puts(out, ", may be the same as ");
                put_name(out, entry->parameters.data[p].name);
            }
        break;
    case KERNEL_POINTER:
        buffer_puts(out, "an array, whose first element it points to, or an address; ");
        put_elements(out, family, index);
        break;
    case KERNEL_SCALAR: put_elements(out, family, index); break;
    case KERNEL_STRUCT: buffer_puts(out, "copied at the call"); break;
    case KERNEL_ENUM: buffer_puts(out, "a member, its name or its number"); break;
    case KERNEL_KEY: {
        const struct kernel_key *key = &entry->keys.data[parameter->key];
        buffer_puts(out, key->enumeration ? "a member, its name or its number" : "one of");
        for (int i = 0; !key->enumeration && key->set_count == 1 && i < key->sets->count; i++)
            buffer_printf(out, "%s %lld", i ? "," : "", (long long)key->sets->values[i]);
        for (int i = 0; !key->enumeration && key->set_count > 1 && i < key->set_count; i++) {
            buffer_puts(out, i ? ", " : " ");
            put_text(out, key->sets[i].text);
        }
    }
    }
    buffer_putc(out, '\n');
    buffer_free(&extents);
}

static void put_kernel_doc(struct buffer *out, struct family family)
{
    const struct kernel_entry *entry = family.first;
    const char *doc = entry->doc ? entry->doc : entry->kernel;
    buffer_puts(out, "    \"\"\"");
    while (*doc) {
        struct buffer line = {0};
        size_t size = strcspn(doc, "\n"), begin = *doc == ' ' && entry->doc == doc ? 1 : 0;
        buffer_append(&line, doc + begin, size - begin);
        buffer_putc(&line, '\0');
        put_text(out, line.data);
        buffer_free(&line);
        doc += size + (doc[size] == '\n');
        buffer_puts(out, *doc ? "\n   " : "\n\n");
        if (*doc && *doc != ' ')
            buffer_putc(out, ' ');
    }
    for (int p = 0; p < entry->parameters.count; p++)
        if (!entry->parameters.data[p].member_of)
            put_parameter_doc(out, family, p);
    for (int i = 0; i < entry->requirements.count; i++)
        if (entry->requirements.data[i]->text) {
            buffer_puts(out, "    Requires ");
            put_text(out, entry->requirements.data[i]->text);
            buffer_putc(out, '\n');
        }
    buffer_puts(out, "    variant, overlap, priority, this_thread: how it launches, as options of C (tilert(7)).\n"
                     "    \"\"\"\n");
}

static void put_head(struct buffer *out, const struct kernel_entry *entry, const char *name, const char *suffix,
                     const char *result)
{
    buffer_puts(out, "\n\ndef ");
    if (*suffix)
        buffer_printf(out, "%s%s(", name, suffix);
    else {
        put_name(out, name);
        buffer_putc(out, '(');
    }
    put_parameters(out, entry);
    if (!*suffix)
        buffer_puts(
            out, ", variant: int | None = None, overlap: bool = False, priority: int = 0, this_thread: bool = False");
    buffer_printf(out, ") -> %s:\n", result);
}

/* The body: hands the arguments to a table, and what else there is. */
static void put_body(struct buffer *out, const struct kernel_entry *entry, const char *call, const char *method,
                     const char *name, const char *more)
{
    buffer_printf(out, "    %s_kernel_%s%s(stream, (", call, name, method);
    for (int p = 0; p < entry->parameters.count; p++)
        if (!entry->parameters.data[p].member_of) {
            buffer_puts(out, p ? " " : "");
            put_name(out, entry->parameters.data[p].name);
            buffer_putc(out, ',');
        }
    buffer_printf(out, ")%s)\n", more);
}

static void put_launch(struct buffer *out, const struct kernel_entry *entry, const char *name)
{
    put_body(out, entry, "", ".launch", name, ", variant, overlap, priority, this_thread");
}

/* What is done to each instance at once: `_load`, `_unload`. */
static void put_each(struct buffer *out, const char *name, const char *suffix, const char *doc)
{
    buffer_puts(out, "\n\ndef ");
    put_name(out, name);
    buffer_printf(out, "%s() -> None:\n    \"\"\"%s\"\"\"\n    _kernel_%s.each(\"%s\")\n", suffix, doc, name, suffix);
}

static void put_functions(struct buffer *out, struct family family)
{
    const struct kernel_entry *first = family.first;
    const char *name = first->kernel;
    put_head(out, first, name, "", "None");
    put_kernel_doc(out, family);
    put_launch(out, first, name);
    put_head(out, first, name, "_query", "Info");
    buffer_puts(out, "    \"\"\"What the call would run; launches nothing.\"\"\"\n");
    put_body(out, first, "return ", ".query", name, "");
    put_head(out, first, name, "_workspace", "int");
    buffer_puts(out, "    \"\"\"Bytes for set_workspace() that the call would use.\"\"\"\n");
    put_body(out, first, "return ", "", name, ", \"_workspace\"");
    put_each(out, name, "_load",
             "Loads all instances onto the current device, so that calls are safe inside a capture.");
    put_each(out, name, "_unload", "Takes all instances off all devices, when their launches have ended.");
    int number = 0;
    for (const struct kernel_entry *entry = next_of(family, NULL); entry; entry = next_of(family, entry), number++) {
        if (number == 0 && !next_of(family, entry))
            break;
        buffer_printf(out, "\n\n_kernel_%s = _kernel_%s.one(%d)\n", entry->symbol, name, number);
        put_head(out, entry, entry->symbol, "", "None");
        buffer_puts(out, "    \"\"\"The one of these elements:\n\n");
        for (int p = 0; p < entry->parameters.count; p++)
            if (!entry->parameters.data[p].member_of)
                put_parameter_doc(out, (struct family){.module = NULL, .first = entry}, p);
        buffer_puts(out, "    \"\"\"\n");
        put_launch(out, entry, entry->symbol);
    }
}

static void put_kernel(struct buffer *out, struct family family)
{
    put_table(out, family);
    put_functions(out, family);
    buffer_putc(out, '\n');
}

/* ---- the whole -------------------------------------------------------------------------------------------------- */

void python_print(const struct kernel_module *module, const char *version, const char *library, struct buffer *out)
{
    const struct embedded_file *support = embedded_find("python/support.py");
    if (!support)
        die("no embedded python/support.py");
    buffer_puts(out, "\"\"\"Kernels of ");
    put_text(out, module->stem);
    buffer_printf(out, ".tile, made by tilecc %s; do not edit.  Their code is in ", version);
    put_text(out, library);
    buffer_puts(out, ", which lies beside this file.\"\"\"\n\n"
                     "# mypy: ignore-errors\n# What callers see has types; the machinery behind it has none.\n\n"
                     "from __future__ import annotations\n\n"
                     "from typing import Any\nfrom typing import Any as Array\n\n");
    buffer_append(out, (const char *)support->data, support->size);
    buffer_puts(out, "\n\n# ---- the kernels ----\n\n_library = _load_library(\"");
    put_text(out, library);
    buffer_puts(out, "\")\n\n");
    for (int i = 0; i < module->enums.count; i++)
        put_enum(out, &module->enums.data[i]);
    for (int i = 0; i < module->structs.count; i++)
        put_struct(out, &module->structs.data[i]);
    for (int i = 0; i < module->entries.count; i++) {
        struct family family = {module, &module->entries.data[i]};
        if (next_of(family, NULL) == family.first)
            put_kernel(out, family);
    }
}
