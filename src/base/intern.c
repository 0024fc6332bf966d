/* Interned text: an open-addressing hash table in an arena.  The hash decides only where a text lies; nothing iterates
 * over the table, so no output can depend on it. */
#include "base/base.h"

#include <string.h>

struct intern_entry {
    const char *text;
    size_t size;
    uint64_t hash;
};

struct intern_table {
    struct arena *arena;
    struct intern_entry *entries; /* capacity is a power of two, at most half full */
    size_t count, capacity;
};

static uint64_t hash_bytes(const char *text, size_t size)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    return hash;
}

/* The entry that holds the text, or the empty one where it belongs. */
static struct intern_entry *find_entry(struct intern_table *table, const char *text, size_t size, uint64_t hash)
{
    for (size_t at = (size_t)hash;; at++) {
        struct intern_entry *entry = &table->entries[at & (table->capacity - 1)];
        if (!entry->text)
            return entry;
        if (entry->hash == hash && entry->size == size && memcmp(entry->text, text, size) == 0)
            return entry;
    }
}

static void grow(struct intern_table *table)
{
    struct intern_entry *old = table->entries;
    size_t old_capacity = table->capacity;
    table->capacity = old_capacity ? old_capacity * 2 : 256;
    table->entries = ARENA_ARRAY(table->arena, struct intern_entry, table->capacity);
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].text)
            *find_entry(table, old[i].text, old[i].size, old[i].hash) = old[i];
}

struct intern_table *intern_create(struct arena *arena)
{
    struct intern_table *table = ARENA_NEW(arena, struct intern_table);
    table->arena = arena;
    grow(table);
    return table;
}

const char *intern_range(struct intern_table *table, const char *text, size_t size)
{
    uint64_t hash = hash_bytes(text, size);
    struct intern_entry *entry = find_entry(table, text, size, hash);
    if (entry->text)
        return entry->text;
    if (table->count * 2 >= table->capacity) {
        grow(table);
        entry = find_entry(table, text, size, hash);
    }
    *entry = (struct intern_entry){arena_substring(table->arena, text, size), size, hash};
    table->count++;
    return entry->text;
}

const char *intern(struct intern_table *table, const char *text) { return intern_range(table, text, strlen(text)); }
