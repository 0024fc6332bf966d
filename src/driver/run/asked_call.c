/* Calls as the command line writes them (asked_call.h): text to arguments. */
#include "driver/run/asked_call.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void skip_space(struct asked_call *asked)
{
    while (isspace((unsigned char)*asked->at))
        asked->at++;
}

static bool accept(struct asked_call *asked, char character)
{
    skip_space(asked);
    if (*asked->at != character)
        return false;
    asked->at++;
    return true;
}

/* A word up to a comma or bracket, without space at its ends. */
const char *asked_take_word(struct asked_call *asked)
{
    skip_space(asked);
    size_t length = strcspn(asked->at, ",()[]{}");
    const char *begin = asked->at;
    asked->at += length;
    while (length && isspace((unsigned char)begin[length - 1]))
        length--;
    return arena_substring(asked->compilation->arena, begin, length);
}

bool asked_fail(const struct asked_call *asked, const char *what, const char *name)
{
    driver_error(asked->compilation->options, "%s: %s%s%s%s%s", asked->option, what, name ? " '" : "", name ? name : "",
                 name ? "'" : "", asked->entry && !name ? " in the call" : "");
    return false;
}

static bool parse_integer(const char *word, int64_t *number)
{
    char *end;
    long long value = strtoll(word, &end, 0);
    *number = value;
    return end != word && !*end;
}

int64_t asked_elements(const struct asked_call *asked, int index)
{
    int64_t elements = 1;
    int rank = asked->entry->parameters.data[index].kind == KERNEL_POINTER ? 1
                                                                           : asked->entry->parameters.data[index].rank;
    for (int d = 0; d < rank; d++)
        elements *= asked->arguments[index].extent[d];
    return elements;
}

/* The extents are known: there is such a view, packed. */
static bool take_extents(struct asked_call *asked, int index)
{
    const struct kernel_parameter *p = &asked->entry->parameters.data[index];
    struct host_argument *argument = &asked->arguments[index];
    int64_t elements = 1;
    if (p->kind == KERNEL_VIEW && p->pointer_elements)
        return asked_fail(asked, "views of pointers cannot be given, so not", p->name);
    for (int d = (p->kind == KERNEL_POINTER ? 1 : p->rank) - 1; d >= 0; d--) {
        argument->stride[d] = elements;
        if (__builtin_mul_overflow(elements, argument->extent[d], &elements) || elements > asked->most_elements)
            return asked_fail(asked, "too many elements in", p->name);
    }
    argument->present = true;
    return true;
}

static bool parse_extents(struct asked_call *asked, int index, int rank)
{
    const struct kernel_parameter *p = &asked->entry->parameters.data[index];
    int64_t *extent = asked->arguments[index].extent;
    if (!accept(asked, '['))
        return asked_fail(asked,
                          p->optional ? "an argument of extents, [n, m], or none is needed for"
                                      : "an argument of extents, [n, m], is needed for",
                          p->name);
    for (int d = 0; d < rank; d++) {
        if (d && !accept(asked, ','))
            return asked_fail(asked, "too few extents for", p->name);
        const char *word = asked_take_word(asked);
        if (!parse_integer(word, &extent[d]) || extent[d] < 0 || extent[d] > asked->most_elements)
            return asked_fail(asked,
                              arena_printf(asked->compilation->arena,
                                           "an extent is not a number from 0 to %lld, but '%s', for",
                                           (long long)asked->most_elements, word),
                              p->name);
    }
    if (!accept(asked, ']'))
        return asked_fail(asked, *asked->at == ',' ? "too many extents for" : "']' is missing behind the extents for",
                          p->name);
    return take_extents(asked, index);
}

/* -5 .. 5, or 0 .. 10 for elements without sign. */
static void fill(enum ir_element element, unsigned char *data, int64_t elements)
{
    size_t size = (size_t)ir_element_info[element].bits / 8;
    for (int64_t i = 0; i < elements; i++) {
        int64_t value = (i * 7 + 3) % 11;
        if (element == IR_BOOL)
            value &= 1;
        else if (ir_is_float(element) || ir_is_signed(element))
            value -= 5;
        uint64_t bits = ir_int_to_bits(element, value);
        memcpy(data + (size_t)i * size, &bits, size);
    }
}

static void make_memory(struct asked_call *asked, int index)
{
    const struct kernel_parameter *p = &asked->entry->parameters.data[index];
    struct host_argument *argument = &asked->arguments[index];
    int64_t elements = asked_elements(asked, index);
    size_t size = (size_t)elements * (size_t)ir_element_info[p->element].bits / 8;
    struct interp_memory *memory = &asked->memories[asked->memory_count];
    *memory = (struct interp_memory){.size = size, .read_only = p->direction == KERNEL_IN, .name = p->name};
    memory->data = arena_alloc(asked->compilation->arena, size + 64);
    memory->data = (void *)(((uintptr_t)memory->data + 63) / 64 * 64); /* the most that a fact of alignment asks for */
    if (p->direction == KERNEL_OUT)
        memory->written = arena_alloc(asked->compilation->arena, size);
    else
        fill(p->element, memory->data, elements);
    asked->memory_of[index] = asked->memory_count++;
    argument->data = memory->data;
    argument->bits = (uint64_t)(uintptr_t)memory->data;
}

void asked_make_memories(struct asked_call *asked)
{
    for (int i = 0; i < asked->entry->parameters.count; i++)
        if (asked_has_memory(&asked->entry->parameters.data[i]) && asked->holds[i])
            make_memory(asked, i);
}

/* The word, unless more of a name follows. */
static bool accept_word(struct asked_call *asked, const char *word)
{
    skip_space(asked);
    size_t length = strlen(word);
    if (strncmp(asked->at, word, length) != 0 || isalnum((unsigned char)asked->at[length]) || asked->at[length] == '_')
        return false;
    asked->at += length;
    return true;
}

/* What the wrapper would say of such arguments. */
bool asked_refuse(const struct asked_call *asked, const char *problem)
{
    driver_error(asked->compilation->options, "%s: %s: %s", asked->option, asked->entry->symbol, problem);
    return false;
}

static bool parse_view(struct asked_call *asked, int index)
{
    const struct kernel_parameter *p = &asked->entry->parameters.data[index];
    if (accept_word(asked, "none"))
        return p->optional || asked_refuse(asked, arena_printf(asked->compilation->arena, "view %s is NULL", p->name));
    if (!asked->grid_follows && accept_word(asked, "_"))
        return asked->deduced[index] = true;
    return asked->holds[index] = parse_extents(asked, index, p->rank);
}

/* Memory of so many elements, from where it points on; none: a null pointer. */
static bool parse_pointer(struct asked_call *asked, int index)
{
    asked->arguments[index].present = true;
    return accept_word(asked, "none") || (asked->holds[index] = parse_extents(asked, index, 1));
}

/* An integer, bool, enum or key, within the bounds of its type. */
static bool parse_whole(struct asked_call *asked, const struct kernel_parameter *p, const char *word,
                        enum ir_element element, uint64_t *bits)
{
    struct arena *arena = asked->compilation->arena;
    int width = element == IR_BOOL ? 1 : ir_element_info[element].bits;
    bool is_signed = ir_is_signed(element), negative = word[0] == '-';
    bool member = !p->enumeration || p->kind == KERNEL_KEY; /* of a key's set: looked at later */
    char *end;
    errno = 0;
    uint64_t magnitude = strtoull(word + negative, &end, 0);
    if (!isdigit((unsigned char)word[negative]) || *end)
        return asked_fail(asked, "not a value for", p->name);
    uint64_t most = UINT64_MAX >> (64 - width + is_signed);
    if (errno || magnitude > (negative ? is_signed ? most + 1 : 0 : most))
        return asked_refuse(asked, is_signed ? arena_printf(arena, "%s is %s, outside %lld to %llu", p->name, word,
                                                            -(long long)most - 1, (unsigned long long)most)
                                             : arena_printf(arena, "%s is %s, outside 0 to %llu", p->name, word,
                                                            (unsigned long long)most));
    int64_t number = (int64_t)(negative ? 0 - magnitude : magnitude);
    for (int i = 0; !member && i < p->enumeration->count; i++)
        member = p->enumeration->values[i] == number;
    *bits = ir_int_to_bits(element, number);
    return member ||
           asked_refuse(asked, arena_printf(arena, "%s is %s, which is no member of its enum", p->name, word));
}

static bool parse_scalar(struct asked_call *asked, int index)
{
    const struct kernel_parameter *p = &asked->entry->parameters.data[index];
    enum ir_element element = p->kind == KERNEL_SCALAR ? p->element : IR_I32;
    const char *word = asked_take_word(asked);
    uint64_t *bits = &asked->arguments[index].bits;
    asked->arguments[index].present = true;
    for (int i = 0; p->enumeration && i < p->enumeration->count; i++)
        if (strcmp(p->enumeration->members[i], word) == 0) {
            *bits = ir_int_to_bits(element, p->enumeration->values[i]);
            return true;
        }
    if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
        *bits = ir_int_to_bits(element, word[0] == 't');
    else if (!ir_is_float(element))
        return parse_whole(asked, p, word, element, bits);
    else {
        char *end;
        double real = strtod(word, &end);
        if (end == word || *end)
            return asked_fail(asked, "not a value for", p->name);
        *bits = ir_double_to_bits(element, real);
    }
    return true;
}

static bool parse_grid(struct asked_call *asked)
{
    if (!asked->grid_follows || !accept(asked, '['))
        return true;
    for (int d = 0; d < IR_MAX_RANK; d++) {
        if (!parse_integer(asked_take_word(asked), &asked->grid[d]) || asked->grid[d] < 0 ||
            asked->grid[d] > asked->most_elements)
            return asked_fail(asked, "a count of the grid is not a number from 0 to 16777216", NULL);
        if (accept(asked, ']'))
            return true;
        if (!accept(asked, ','))
            break;
    }
    return asked_fail(asked, "']' is missing", NULL);
}

/* By its C name; a kernel's name does where it has one entry. */
static struct kernel_entry *find_entry(const struct compilation *compilation, const char *name)
{
    const struct kernel_module *module = compilation->module;
    struct kernel_entry *found = NULL;
    int count = 0;
    for (int i = 0; i < module->entries.count; i++) {
        struct kernel_entry *entry = &module->entries.data[i];
        if (strcmp(entry->symbol, name) == 0)
            return entry;
        if (strcmp(entry->kernel, name) != 0)
            continue;
        found = entry;
        count++;
    }
    return count == 1 ? found : NULL;
}

/* "a, b, c", to be freed; empty: there is no such kernel. */
static struct buffer entries_of(const struct kernel_module *module, const char *kernel)
{
    struct buffer all = {0};
    for (int i = 0; i < module->entries.count; i++)
        if (strcmp(module->entries.data[i].kernel, kernel) == 0)
            buffer_printf(&all, "%s%s", all.size ? ", " : "", module->entries.data[i].symbol);
    return all;
}

static bool fail_entry(const struct asked_call *asked, const char *name)
{
    const struct compilation *compilation = asked->compilation;
    const char *option = asked->option;
    const struct kernel_module *module = compilation->module;
    const char **names = ARENA_ARRAY(compilation->arena, const char *, 2 * module->entries.count);
    for (int i = 0; i < module->entries.count; i++) {
        names[2 * i] = module->entries.data[i].symbol;
        names[2 * i + 1] = module->entries.data[i].kernel;
    }
    const char *nearest = suggest_nearest(name, 2 * module->entries.count, names);
    struct buffer own = entries_of(module, name), near = entries_of(module, nearest ? nearest : name);
    if (own.size)
        driver_error(compilation->options, "%s: '%s' has several entries: %s", option, name, own.data);
    else if (nearest && near.size && strchr(near.data, ','))
        driver_error(compilation->options, "%s: there is no entry '%s'; those of '%s' are %s", option, name, nearest,
                     near.data);
    else if (nearest)
        driver_error(compilation->options, "%s: there is no entry '%s'; did you mean '%s'?", option, name, nearest);
    else
        driver_error(compilation->options, "%s: there is no entry '%s'; --interpret without a call lists them", option,
                     name);
    buffer_free(&own);
    buffer_free(&near);
    return false;
}

static bool parse_struct(struct asked_call *asked, int index);

/* x=[4]: somebody takes arguments for those of Python. */
static bool refuse_name(const struct asked_call *asked)
{
    size_t name = strspn(asked->at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    const char *behind = asked->at + name + strspn(asked->at + name, " ");
    if (!name || *behind != '=')
        return false;
    asked_fail(asked, "arguments go by position, without their names, so not",
               arena_printf(asked->compilation->arena, "%.*s=", (int)name, asked->at));
    return true;
}

static bool parse_argument(struct asked_call *asked, int index)
{
    skip_space(asked);
    if (refuse_name(asked))
        return false;
    switch (asked->entry->parameters.data[index].kind) {
    case KERNEL_VIEW: return parse_view(asked, index);
    case KERNEL_POINTER: return parse_pointer(asked, index);
    case KERNEL_STRUCT: return parse_struct(asked, index);
    default: return parse_scalar(asked, index);
    }
}

/* {1e-5, 4}: its members in order. */
static bool parse_struct(struct asked_call *asked, int index)
{
    const struct kernel_entry *entry = asked->entry;
    if (!accept(asked, '{'))
        return asked_fail(asked, "members, {a, b}, are needed for", entry->parameters.data[index].name);
    for (int i = index + 1; i < entry->parameters.count; i++) {
        if (entry->parameters.data[i].member_of != index + 1)
            continue;
        if (entry->parameters.data[i].member && !accept(asked, ','))
            return asked_fail(asked, "no value for", entry->parameters.data[i].name);
        if (!parse_argument(asked, i))
            return false;
    }
    return accept(asked, '}') || asked_fail(asked, "too many members for", entry->parameters.data[index].name);
}

/* A view, where the call ends in front of it: absent, or deduced. */
static bool leave_out(struct asked_call *asked, int index)
{
    const struct kernel_parameter *p = &asked->entry->parameters.data[index];
    skip_space(asked);
    if (p->kind != KERNEL_VIEW || *asked->at != ')' || asked->grid_follows)
        return false;
    asked->deduced[index] = !p->optional;
    return true;
}

static bool deduce(struct asked_call *asked, const struct host_call *call, int index)
{
    struct host_argument *argument = &asked->arguments[index];
    const struct kernel_parameter *p = &asked->entry->parameters.data[index];
    const char *problem = host_deduce_extents(call, index, argument->extent);
    if (problem)
        return asked_refuse(asked, arena_printf(asked->compilation->arena, "%s: give it in the call", problem));
    if (p->nibbles && argument->extent[p->rank - 1] % 2)
        return asked_refuse(asked, arena_printf(asked->compilation->arena,
                                                "%s would have an odd number of elements of 4 bits in a row", p->name));
    if (p->nibbles)
        argument->extent[p->rank - 1] /= 2;
    return asked->holds[index] = take_extents(asked, index);
}

/* What the names tell that the others bind; whatever else is wrong with the call is said later. */
static bool deduce_all(struct asked_call *asked)
{
    struct arena *arena = asked->compilation->arena;
    struct host_call call = host_call_begin(arena, asked->entry, asked->arguments);
    host_bind(arena, &call);
    for (int i = 0; i < asked->entry->parameters.count; i++)
        if (asked->deduced[i] && !deduce(asked, &call, i))
            return false;
    return true;
}

/* asked->entry is known in a .tir file. */
bool asked_read(struct asked_call *asked)
{
    const char *symbol = asked_take_word(asked);
    if (!asked->entry)
        asked->entry = find_entry(asked->compilation, symbol);
    if (!asked->entry)
        return fail_entry(asked, symbol);
    if (asked->entry->parameters.count > ASKED_MOST_PARAMETERS)
        return asked_fail(asked, "too many parameters:", symbol);
    if (!accept(asked, '('))
        return asked_fail(asked, "'(' is missing", NULL);
    for (int i = 0; i < asked->entry->parameters.count; i++) {
        if (asked->entry->parameters.data[i].member_of)
            continue;
        if (leave_out(asked, i))
            continue;
        if (i && !accept(asked, ','))
            return asked_fail(asked, "no argument for", asked->entry->parameters.data[i].name);
        if (!parse_argument(asked, i))
            return false;
    }
    if (!accept(asked, ')'))
        return asked_fail(asked, "an argument too many, or no ')'", NULL);
    if (!asked->grid_follows && !deduce_all(asked))
        return false;
    return parse_grid(asked) && ((skip_space(asked), !*asked->at) || asked_fail(asked, "something follows", NULL));
}
