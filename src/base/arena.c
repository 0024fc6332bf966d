/* Arenas: chains of zeroed blocks that die together, and the vectors that grow inside them.
 *
 * An object is carved from the end of the newest block; one that would not fit into half of the largest gets a block of its
 * own, so that the tail of the current block is not thrown away.  Blocks begin small, since many arenas live for one walk
 * over a function and clearing a block would take longer than the walk, and double.  Under AddressSanitizer a poisoned gap follows each
 * object, so that an overrun inside the arena is reported like one of malloc. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISONS 1
#endif
#endif
#ifdef ARENA_POISONS
#include <sanitizer/asan_interface.h>
enum { ARENA_GAP = 16 };
#define poison(address, size) ASAN_POISON_MEMORY_REGION(address, size)
#define unpoison(address, size) ASAN_UNPOISON_MEMORY_REGION(address, size)
#else
enum { ARENA_GAP = 0 };
#define poison(address, size) ((void)0)
#define unpoison(address, size) ((void)0)
#endif

#ifndef ARENA_BLOCK_SIZE /* a test may say 0, so that each object is an allocation that can fail */
#define ARENA_BLOCK_SIZE (64 * 1024)
#endif
enum { ARENA_BLOCK = ARENA_BLOCK_SIZE, ARENA_FIRST_BLOCK = ARENA_BLOCK / 32, ARENA_ALIGN = _Alignof(max_align_t) };

struct arena_block {
    struct arena_block *previous;
    size_t size, used;
    max_align_t data[];
};

struct arena {
    struct arena_block *blocks;
    size_t next_size; /* of a block; 0: none was made */
};

static struct arena_block *new_block(size_t size)
{
    struct arena_block *block = NULL;
    if (size < SIZE_MAX - sizeof *block)
        block = calloc(1, sizeof *block + size);
    if (!block)
        memory_exhausted();
    block->size = size;
    poison(block->data, size);
    return block;
}

struct arena *arena_create(void)
{
    struct arena *arena = calloc(1, sizeof *arena);
    if (!arena)
        memory_exhausted();
    return arena;
}

void arena_destroy(struct arena *arena)
{
    if (!arena)
        return;
    for (struct arena_block *block = arena->blocks, *previous; block; block = previous) {
        previous = block->previous;
        unpoison(block->data, block->size);
        free(block);
    }
    free(arena);
}

/* With room for two objects of this size. */
static struct arena_block *next_block(struct arena *arena, size_t size)
{
    size_t next = arena->next_size ? arena->next_size : ARENA_FIRST_BLOCK;
    while (next < 2 * size)
        next *= 2;
    arena->next_size = next > ARENA_BLOCK / 2 ? next : 2 * next;
    return new_block(next);
}

void *arena_alloc(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2)
        memory_exhausted();
    size_t rounded = (size + (size == 0) + ARENA_GAP + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    struct arena_block *block = arena->blocks;
    if (rounded > ARENA_BLOCK / 2) {
        struct arena_block *own = new_block(rounded);
        own->used = rounded;
        own->previous = block ? block->previous : NULL;
        if (block)
            block->previous = own;
        else
            arena->blocks = own;
        unpoison(own->data, size);
        return own->data;
    }
    if (!block || block->size - block->used < rounded) {
        block = next_block(arena, rounded);
        block->previous = arena->blocks;
        arena->blocks = block;
    }
    void *result = (char *)block->data + block->used;
    block->used += rounded;
    unpoison(result, size);
    return result;
}

void *arena_copy(struct arena *arena, const void *data, size_t size)
{
    void *copy = arena_alloc(arena, size);
    if (size)
        memcpy(copy, data, size);
    return copy;
}

char *arena_substring(struct arena *arena, const char *text, size_t size)
{
    char *copy = arena_alloc(arena, size + 1);
    if (size)
        memcpy(copy, text, size);
    return copy;
}

char *arena_string(struct arena *arena, const char *text) { return arena_substring(arena, text, strlen(text)); }

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0)
        die("bad format '%s'", format);
    char *text = arena_alloc(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

void *vector_grow(struct arena *arena, void *data, int *capacity, int count, size_t element_size)
{
    if (count > INT32_MAX / 2)
        memory_exhausted();
    int larger = count < 4 ? 8 : count * 2;
    void *copy = arena_alloc(arena, (size_t)larger * element_size);
    if (count)
        memcpy(copy, data, (size_t)count * element_size);
    *capacity = larger;
    return copy;
}
