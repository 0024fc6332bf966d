/* Results that were computed before, by what they were computed from.  A key is a text that holds everything that the
 * value depends on; an entry is a file with the key, the value and a sum of both, so that what is found is what was
 * kept for exactly this key.  Whatever else lies there (cut short, changed, another user's) is as if it were not there.
 *
 * Several processes may use one folder at once, and be killed at any time: an entry is written under a name of its own
 * and renamed into place. */
#ifndef TILECC_CACHE_H
#define TILECC_CACHE_H
#include "base/base.h"

struct cache;
/* Makes the folder, readable by its owner alone.  NULL, and all functions take that: it cannot be used, or what program
 * this is cannot be told.  `limit`: the bytes of the disk that cache_trim leaves, whole blocks counted. */
struct cache *cache_open(struct arena *arena, const char *folder, int64_t limit);
/* Appends the value.  False: there is none. */
bool cache_find(struct cache *cache, const struct buffer *key, struct buffer *value);
/* What cannot be written is not kept. */
void cache_keep(const struct cache *cache, const struct buffer *key, const void *value, size_t size);
/* Removes what was used longest ago, where this process found nothing and so something may have come. */
void cache_trim(struct cache *cache);
void cache_count(const struct cache *cache, int *found, int *asked);

/* Begins a key: what kind of value it is for, and what tells this program from others, which is the build ids of it and
 * of the libraries that it has loaded. */
void cache_put_kind(const struct cache *cache, struct buffer *key, const char *kind);
/* What tells the file from others that were or will be under its name.  False: there is none. */
bool cache_put_file(struct buffer *key, const char *path);
/* The digest of what is too long for a key. */
void cache_put_digest(struct buffer *key, const char *name, const void *data, size_t size);

/* Private to the room and its tests: an entry's bytes, and what a file of any bytes holds for the key.  False: nothing. */
void cache_entry_write(struct buffer *out, const struct buffer *key, const void *value, size_t size);
bool cache_entry_read(const void *data, size_t size, const struct buffer *key, struct buffer *value);
#endif
