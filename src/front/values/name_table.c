/* The table of name_table.h: open addressing, at most half full.  Interned names are equal when their addresses are. */
#include "front/values/name_table.h"

/* Where the name stands, or the free slot where it would. */
static struct name_slot *slot_of(const struct name_table *table, const char *name)
{
    uint64_t hash = (uint64_t)(uintptr_t)name * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    unsigned at = (unsigned)hash & (unsigned)(table->capacity - 1);
    while (table->slots[at].name && table->slots[at].name != name)
        at = (at + 1) & (unsigned)(table->capacity - 1);
    return &table->slots[at];
}

void *name_table_find(const struct name_table *table, const char *name)
{
    return table->count ? slot_of(table, name)->value : NULL;
}

static void grow(struct arena *arena, struct name_table *table)
{
    struct name_table larger = {.count = table->count, .capacity = table->capacity ? 2 * table->capacity : 16};
    larger.slots = ARENA_ARRAY(arena, struct name_slot, larger.capacity);
    for (int i = 0; i < table->capacity; i++)
        if (table->slots[i].name)
            *slot_of(&larger, table->slots[i].name) = table->slots[i];
    *table = larger;
}

void name_table_set(struct arena *arena, struct name_table *table, const char *name, void *value)
{
    if (2 * table->count >= table->capacity)
        grow(arena, table);
    struct name_slot *slot = slot_of(table, name);
    if (!slot->name)
        table->count++;
    *slot = (struct name_slot){name, value};
}
