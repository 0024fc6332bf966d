/* The names of header_names.h.  C has one space of names for functions, the members of all enums and parameters, and
 * macros stand before them all, so that one table holds what a header declares, sorted to find what is there twice. */
#include "driver/header/header_names.h"
#include "base/embedded.h"
#include "driver/header/c_names.h"
#include "ir/kernel_signature.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- how they are made ------------------------------------------------------------------------------------------- */

void header_put_upper(struct buffer *out, const char *text)
{
    for (; *text; text++)
        buffer_putc(out, isalnum((unsigned char)*text) ? (char)toupper((unsigned char)*text) : '_');
}

void header_put_member(struct buffer *out, const struct kernel_enum *enumeration, int member)
{
    header_put_upper(out, enumeration->c_name);
    buffer_putc(out, '_');
    header_put_upper(out, enumeration->members[member]);
}

void header_put_define(struct buffer *out, const struct kernel_entry *entry, const struct kernel_knob *knob)
{
    header_put_upper(out, entry->symbol);
    buffer_putc(out, '_');
    header_put_upper(out, knob->name);
}

static bool starts_with(const char *name, const char *prefix) { return strncmp(name, prefix, strlen(prefix)) == 0; }

/* The functions have parameters `stream`, `info`, `variant` and `options` of their own. */
static bool is_taken(const char *name)
{
    static const char *const own[] = {"stream", "info", "variant", "options"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(name, own[i]) == 0)
            return true;
    return starts_with(name, "__") || starts_with(name, "tile_") || starts_with(name, "TILE_") ||
           c_name_is_keyword(name) || c_name_is_macro(name) || c_name_is_type(name);
}

/* `stream` becomes `stream_` and `stream_` becomes `stream__`, so that two parameters stay two. */
void header_put_parameter_name(struct buffer *out, const char *name)
{
    char base[256];
    size_t size = strlen(name);
    bool taken = is_taken(name);
    if (size < sizeof base) {
        memcpy(base, name, size + 1);
        while (!taken && size > 0 && base[size - 1] == '_') {
            base[--size] = 0;
            taken = is_taken(base);
        }
    }
    buffer_puts(out, name);
    if (taken)
        buffer_putc(out, '_');
}

/* ---- clashes ----------------------------------------------------------------------------------------------------- */

struct c_name {
    const char *text;
    struct location at;
    bool macro;
    int order;
};
struct c_names {
    VECTOR(struct c_name) all;
    struct arena *arena;
    struct diagnostics *diagnostics;
};

/* Does the run time's header have the word anywhere? */
static bool is_run_time_word(const char *word)
{
    const struct embedded_file *file = embedded_find("tile_rt.h");
    size_t size = strlen(word);
    if (!file)
        die("no embedded tile_rt.h");
    const char *text = (const char *)file->data;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += size)
        if ((at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_')) &&
            !(isalnum((unsigned char)at[size]) || at[size] == '_'))
            return true;
    return false;
}

static bool belongs_to_run_time(const char *name)
{
    static const char *const prefixes[] = {"TILE_ERR_",    "TILE_VIEW_",   "TILE_ENUM_",
                                           "TILE_SHARED_", "TILE_FLOAT_",  "TILE_SIGNATURE",
                                           "TILE_INLINE",  "TILE_STRUCT_", "tile_rt_"};
    const char *word = starts_with(name, "enum ") ? name + 5 : starts_with(name, "struct ") ? name + 7 : name;
    if (!starts_with(word, "tile_") && !starts_with(word, "TILE_"))
        return false;
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
        if (starts_with(word, prefixes[i]))
            return true;
    for (int element = 0; element < IR_ELEMENT_COUNT; element++) { /* tile_f32_1 and tile_f32_1_row_major */
        const char *text = ir_element_info[element].text;
        size_t size = strlen(text);
        if (starts_with(word, "tile_") && starts_with(word + 5, text) && word[5 + size] == '_' &&
            isdigit((unsigned char)word[6 + size]) && (word[7 + size] == 0 || word[7 + size] == '_'))
            return true;
    }
    return is_run_time_word(word);
}

static void add_name(struct c_names *names, struct location at, const char *text, bool macro)
{
    vector_push(names->arena, &names->all, ((struct c_name){text, at, macro, names->all.count}));
    if (belongs_to_run_time(text))
        diag_report(names->diagnostics, DIAGNOSTIC_E1103, at, "in C this gives `%s`, which belongs to the run time",
                    text);
}

/* What becomes a symbol or a macro of the whole program. */
static void add_outer_name(struct c_names *names, struct location at, const char *text, bool macro)
{
    add_name(names, at, text, macro);
    if (c_name_is_keyword(text))
        diag_report(names->diagnostics, DIAGNOSTIC_E1103, at,
                    "in C this gives `%s`, which is a keyword of C or C++; --prefix= puts something in front", text);
    else if (c_name_is_library(text) || c_name_is_macro(text) || c_name_is_type(text))
        diag_report(names->diagnostics, DIAGNOSTIC_E1103, at,
                    "in C this gives `%s`, which the C library has already; --prefix= puts something in front", text);
}

static const char *keep(struct c_names *names, struct buffer *text)
{
    const char *kept = arena_string(names->arena, text->data);
    buffer_free(text);
    return kept;
}

static void add_enum(struct c_names *names, const struct kernel_enum *enumeration)
{
    add_name(names, enumeration->at, arena_printf(names->arena, "enum %s", enumeration->c_name), false);
    if (c_name_is_keyword(enumeration->c_name) || c_name_is_macro(enumeration->c_name) ||
        c_name_is_type(enumeration->c_name))
        add_outer_name(names, enumeration->at, enumeration->c_name, false);
    for (int m = 0; m < enumeration->count; m++) {
        struct buffer name = {0};
        header_put_member(&name, enumeration, m);
        add_outer_name(names, enumeration->at, keep(names, &name), false);
    }
}

static void add_struct(struct c_names *names, const struct kernel_struct *structure)
{
    add_name(names, structure->at, arena_printf(names->arena, "struct %s", structure->c_name), false);
    if (c_name_is_keyword(structure->c_name) || c_name_is_macro(structure->c_name) || c_name_is_type(structure->c_name))
        add_outer_name(names, structure->at, structure->c_name, false);
}

static void add_entry(struct c_names *names, const struct kernel_entry *entry)
{
    static const char *const suffixes[] = {"", "_query", "_workspace", "_variant", "_launch_ex", "_load", "_unload"};
    for (size_t k = 0; k < sizeof suffixes / sizeof suffixes[0]; k++)
        add_outer_name(names, entry->at, arena_printf(names->arena, "%s%s", entry->symbol, suffixes[k]), false);
    for (int k = 0; entry->variants.count && k < entry->variants.data[0].knobs.count; k++) {
        struct buffer name = {0};
        if (!kernel_knob_is_settled(entry, &entry->variants.data[0].knobs.data[k]))
            continue;
        header_put_define(&name, entry, &entry->variants.data[0].knobs.data[k]);
        add_outer_name(names, entry->at, keep(names, &name), true);
    }
}

static int compare_names(const void *a, const void *b)
{
    const struct c_name *x = a, *y = b;
    int order = strcmp(x->text, y->text);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

/* What stands in the sorted table already. */
static const struct c_name *find_name(const struct c_names *names, const char *text)
{
    int low = 0, high = names->all.count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (strcmp(names->all.data[middle].text, text) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < names->all.count && strcmp(names->all.data[low].text, text) == 0 ? &names->all.data[low] : NULL;
}

static void check_parameters(const struct c_names *names, const struct kernel_entry *entry)
{
    for (int p = 0; p < entry->parameters.count; p++) {
        struct buffer name = {0};
        const struct kernel_parameter *parameter = &entry->parameters.data[p];
        header_put_parameter_name(&name, parameter->member_of ? strchr(parameter->name, '.') + 1 : parameter->name);
        const struct c_name *other = find_name(names, name.data);
        if (other && other->macro) {
            struct diagnostic *d = diag_report(names->diagnostics, DIAGNOSTIC_E1103, entry->at,
                                               "in C the parameter `%s` meets a #define of that name", name.data);
            diag_note(names->diagnostics, d, other->at, "the #define is from here");
        }
        buffer_free(&name);
    }
}

bool header_check(const struct kernel_module *module, struct arena *arena, struct diagnostics *diagnostics)
{
    struct c_names names = {.arena = arena, .diagnostics = diagnostics};
    int errors = diagnostics->errors;
    for (int i = 0; i < module->enums.count; i++)
        add_enum(&names, &module->enums.data[i]);
    for (int i = 0; i < module->structs.count; i++)
        add_struct(&names, &module->structs.data[i]);
    for (int i = 0; i < module->entries.count; i++)
        add_entry(&names, &module->entries.data[i]);
    if (names.all.count)
        qsort(names.all.data, (size_t)names.all.count, sizeof *names.all.data, compare_names);
    for (int i = 1; i < names.all.count; i++) {
        const struct c_name *first = &names.all.data[i - 1], *second = first + 1;
        if (strcmp(first->text, second->text) != 0)
            continue;
        struct diagnostic *d = diag_report(diagnostics, DIAGNOSTIC_E1103, second->at,
                                           "in C this gives `%s`, and so does something else", second->text);
        diag_note(diagnostics, d, first->at, "the other is here");
    }
    for (int i = 0; i < module->entries.count; i++)
        check_parameters(&names, &module->entries.data[i]);
    return diagnostics->errors == errors;
}
