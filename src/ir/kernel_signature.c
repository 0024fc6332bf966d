/* FNV-1a over the parts of an entry in the order in which its header tells them. */
#include "ir/kernel_signature.h"

#include <string.h>

struct signature {
    uint32_t hash;
};

static void add_bytes(struct signature *s, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++)
        s->hash = (s->hash ^ bytes[i]) * 16777619u;
}

/* Byte by byte, so that hosts of either byte order agree. */
static void add_number(struct signature *s, int64_t number)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)number >> 8 * i);
    add_bytes(s, bytes, sizeof bytes);
}

static void add_text(struct signature *s, const char *text) { add_bytes(s, text, strlen(text) + 1); }

static void add_enum(struct signature *s, const struct kernel_enum *enumeration)
{
    if (!enumeration)
        return;
    add_text(s, enumeration->name);
    for (int i = 0; i < enumeration->count; i++) {
        add_text(s, enumeration->members[i]);
        add_number(s, enumeration->values[i]);
    }
}

static void add_parameter(struct signature *s, const struct kernel_entry *entry, const struct kernel_parameter *p)
{
    const int64_t shape[] = {p->kind,      p->element,  p->pointer_elements, p->pointee_const, p->rank,
                             p->direction, p->optional, p->packed,           p->strided};
    add_text(s, p->name);
    for (size_t i = 0; i < sizeof shape / sizeof shape[0]; i++)
        add_number(s, shape[i]);
    add_enum(s, p->enumeration);
    if (p->structure)
        add_text(s, p->structure->name);
    if (p->kind == KERNEL_KEY)
        add_enum(s, entry->keys.data[p->key].enumeration);
}

bool kernel_knob_is_settled(const struct kernel_entry *entry, const struct kernel_knob *knob)
{
    for (int v = 0; v < entry->variants.count; v++) {
        const struct kernel_variant *variant = &entry->variants.data[v];
        bool found = false;
        for (int i = 0; i < variant->knobs.count && !found; i++)
            found = strcmp(variant->knobs.data[i].name, knob->name) == 0 && variant->knobs.data[i].value == knob->value;
        if (!found)
            return false;
    }
    return true;
}

uint32_t kernel_signature(const struct kernel_entry *entry, uint32_t run_time_version)
{
    struct signature s = {0x811c9dc5u};
    add_number(&s, run_time_version);
    add_text(&s, entry->symbol);
    add_number(&s, entry->parameters.count);
    for (int p = 0; p < entry->parameters.count; p++)
        add_parameter(&s, entry, &entry->parameters.data[p]);
    for (int k = 0; entry->variants.count && k < entry->variants.data[0].knobs.count; k++) {
        const struct kernel_knob *knob = &entry->variants.data[0].knobs.data[k];
        if (!kernel_knob_is_settled(entry, knob))
            continue;
        add_text(&s, knob->name);
        add_number(&s, knob->value);
    }
    return s.hash;
}
