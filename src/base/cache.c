/* See cache.h.
 *
 *   FOLDER/3/f0c1…   an entry: struct entry_head, the key, the value; named by the digest of its key
 *   FOLDER/3/new-…   one that is being written, or was when its writer was killed
 *
 * The time of an entry is that of its last use.  Each of the sixteen folders has its share of the limit, so that a run
 * looks through those alone that it added to. */
#include "base/cache.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/digest.h"

enum { FOLDERS = 16, MOST_KEY = 1 << 20, NAME_SIZE = 2 * DIGEST_SIZE, LANES = 4, STALE_SECONDS = 3600 };
static const uint64_t most_value = UINT64_C(1) << 30;
static const char magic[16] = "tilecc cache 2\n";

struct entry_head {
    char magic[sizeof magic];
    uint64_t key_size, value_size;
    uint64_t sum[LANES]; /* of both sizes, the key and the value */
};

struct cache {
    struct arena *arena;
    const char *folder, *program;
    int64_t limit;
    bool missed[FOLDERS];
    int found, asked;
};

/* ---- entries ---- */

/* Each step can be undone but for the word that it takes: one that is changed changes the sum. */
static void add_words(uint64_t sum[LANES], const unsigned char *words)
{
    for (int i = 0; i < LANES; i++) {
        uint64_t word;
        memcpy(&word, words + 8 * i, sizeof word);
        sum[i] = ((sum[i] << 29 | sum[i] >> 35) ^ word) * 0x9e3779b97f4a7c15u;
    }
}

static void add_bytes(uint64_t sum[LANES], const void *data, size_t size)
{
    const unsigned char *at = data;
    unsigned char last[8 * LANES] = {0};
    for (; size >= sizeof last; at += sizeof last, size -= sizeof last)
        add_words(sum, at);
    if (size)
        memcpy(last, at, size);
    add_words(sum, last);
}

/* Against damage alone, and some gigabytes a second: who can write here decides what code comes out anyway. */
static void make_sum(struct entry_head *head, const void *key, const void *value)
{
    memset(head->sum, 0, sizeof head->sum);
    add_bytes(head->sum, &head->key_size, sizeof head->key_size);
    add_bytes(head->sum, &head->value_size, sizeof head->value_size);
    add_bytes(head->sum, key, head->key_size);
    add_bytes(head->sum, value, head->value_size);
}

void cache_entry_write(struct buffer *out, const struct buffer *key, const void *value, size_t size)
{
    struct entry_head head = {.key_size = key->size, .value_size = size};
    memcpy(head.magic, magic, sizeof magic);
    make_sum(&head, key->data, value);
    buffer_append(out, &head, sizeof head);
    buffer_append(out, key->data, key->size);
    buffer_append(out, value, size);
}

bool cache_entry_read(const void *data, size_t size, const struct buffer *key, struct buffer *value)
{
    struct entry_head head, own;
    const char *bytes = (const char *)data + sizeof head;
    if (size < sizeof head)
        return false;
    memcpy(&head, data, sizeof head);
    size -= sizeof head;
    if (memcmp(head.magic, magic, sizeof magic) != 0 || head.key_size != key->size || head.key_size > size ||
        head.value_size != size - head.key_size || memcmp(bytes, key->data, key->size) != 0)
        return false;
    own = head;
    make_sum(&own, bytes, bytes + head.key_size);
    if (memcmp(own.sum, head.sum, sizeof own.sum) != 0)
        return false;
    buffer_append(value, bytes + head.key_size, head.value_size);
    return true;
}

/* ---- files ---- */

static const char *folder_name(const struct cache *cache, int folder)
{
    return arena_printf(cache->arena, "%s/%x", cache->folder, folder);
}

/* *folder: its number. */
static const char *entry_name(const struct cache *cache, const struct buffer *key, int *folder)
{
    struct buffer digits = {0};
    digest_print_of(&digits, key->data, key->size);
    *folder = (int)(strchr("0123456789abcdef", digits.data[0]) - "0123456789abcdef");
    const char *name = arena_printf(cache->arena, "%s/%x/%s", cache->folder, *folder, digits.data + 1);
    buffer_free(&digits);
    return name;
}

/* A file of our own, at most so large.  False: it is none. */
static bool read_file(int file, struct buffer *out)
{
    struct stat status;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() || status.st_size <= 0 ||
        (uint64_t)status.st_size > most_value + MOST_KEY)
        return false;
    size_t left = (size_t)status.st_size;
    out->data = malloc(left + 1);
    if (!out->data)
        return false;
    out->capacity = left + 1;
    while (left) {
        ssize_t got = read(file, out->data + out->size, left);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        out->size += (size_t)got;
        left -= (size_t)got;
    }
    out->data[out->size] = '\0';
    return true;
}

bool cache_find(struct cache *cache, const struct buffer *key, struct buffer *value)
{
    int folder;
    if (!cache)
        return false;
    const char *name = entry_name(cache, key, &folder);
    int file = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct buffer bytes = {0};
    bool found = file >= 0 && read_file(file, &bytes) && cache_entry_read(bytes.data, bytes.size, key, value);
    if (found)
        futimens(file, NULL);
    if (file >= 0)
        close(file);
    buffer_free(&bytes);
    cache->asked++;
    cache->found += found;
    cache->missed[folder] |= !found;
    return found;
}

static bool write_file(int file, const struct buffer *bytes)
{
    for (size_t at = 0; at < bytes->size;) {
        ssize_t put = write(file, bytes->data + at, bytes->size - at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        at += (size_t)put;
    }
    return true;
}

void cache_keep(const struct cache *cache, const struct buffer *key, const void *value, size_t size)
{
    int folder;
    if (!cache || key->size > MOST_KEY || size > most_value)
        return;
    const char *name = entry_name(cache, key, &folder), *within = folder_name(cache, folder);
    char *fresh = arena_printf(cache->arena, "%s/new-XXXXXX", within);
    struct buffer bytes = {0};
    if (mkdir(within, 0700) != 0 && errno != EEXIST)
        return;
    int file = mkostemp(fresh, O_CLOEXEC);
    if (file < 0)
        return;
    cache_entry_write(&bytes, key, value, size);
    bool whole = write_file(file, &bytes);
    whole = close(file) == 0 && whole;
    if (!whole || rename(fresh, name) != 0)
        unlink(fresh);
    buffer_free(&bytes);
}

/* ---- the folder ---- */

struct cached_file {
    const char *name;
    int64_t size; /* what it takes of the disk */
    struct timespec used;
};

static int compare_use(const void *a, const void *b)
{
    const struct cached_file *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    return x->used.tv_nsec < y->used.tv_nsec ? -1 : x->used.tv_nsec > y->used.tv_nsec;
}

/* Names that we give.  The folder may be any that a user named, with files in it that are none of ours. */
static bool is_entry(const char *name)
{
    return strspn(name, "0123456789abcdef") == strlen(name) && strlen(name) == NAME_SIZE - 1;
}

static bool is_fresh(const char *name) { return strncmp(name, "new-", 4) == 0 && strlen(name) == 4 + 6; }

/* Others may do the same: a file that is gone is as good as removed. */
static void trim_folder(const struct cache *cache, int folder)
{
    const char *within = folder_name(cache, folder);
    DIR *list = opendir(within);
    VECTOR(struct cached_file) files = {0};
    int64_t all = 0, limit = cache->limit / FOLDERS;
    struct stat status;
    if (!list)
        return;
    for (struct dirent *next; (next = readdir(list)) != NULL;) {
        const char *name = arena_printf(cache->arena, "%s/%s", within, next->d_name);
        if (lstat(name, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid())
            continue;
        if (!is_entry(next->d_name)) {
            if (is_fresh(next->d_name) && time(NULL) - status.st_mtim.tv_sec > STALE_SECONDS)
                unlink(name);
            continue;
        }
        int64_t size = (int64_t)status.st_blocks * 512;
        all += size;
        vector_push(cache->arena, &files, ((struct cached_file){name, size, status.st_mtim}));
    }
    closedir(list);
    if (all <= limit)
        return;
    qsort(files.data, (size_t)files.count, sizeof *files.data, compare_use);
    for (int i = 0; i < files.count && all > limit - limit / 8; i++) /* some room, so that not each run comes here */
        if (unlink(files.data[i].name) == 0)
            all -= files.data[i].size;
}

void cache_trim(struct cache *cache)
{
    for (int i = 0; cache && i < FOLDERS; i++)
        if (cache->missed[i])
            trim_folder(cache, i);
}

void cache_count(const struct cache *cache, int *found, int *asked)
{
    *found = cache ? cache->found : 0;
    *asked = cache ? cache->asked : 0;
}

/* mkdir -p */
static bool make_folder(struct arena *arena, const char *folder)
{
    char *path = arena_string(arena, folder);
    for (char *at = path + 1; *at; at++)
        if (*at == '/') {
            *at = '\0';
            mkdir(path, 0700);
            *at = '/';
        }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* In another's folder the other says what our files are called; and root, in the folder of whom it stands in for, would
 * leave folders there that this user cannot write. */
static bool is_own_folder(const char *folder)
{
    struct stat status;
    return stat(folder, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
           access(folder, W_OK | X_OK) == 0;
}

/* ---- what goes into keys ---- */

static bool put_build_id(struct buffer *key, const char *notes, size_t size)
{
    for (size_t at = 0; size - at >= sizeof(ElfW(Nhdr));) {
        ElfW(Nhdr) note;
        memcpy(&note, notes + at, sizeof note);
        size_t name = at + sizeof note, value = name + (((size_t)note.n_namesz + 3) & ~(size_t)3);
        size_t next = value + (((size_t)note.n_descsz + 3) & ~(size_t)3);
        if (next > size)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0) {
            for (size_t i = 0; i < note.n_descsz; i++)
                buffer_printf(key, "%02x", (unsigned char)notes[value + i]);
            buffer_putc(key, '\n');
            return true;
        }
        at = next;
    }
    return false;
}

static int put_object(struct dl_phdr_info *object, size_t size, void *key)
{
    (void)size;
    if (strncmp(object->dlpi_name, "linux-", 6) == 0)
        return 0; /* the system's own, which computes nothing of ours */
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_NOTE &&
            put_build_id(key, (const char *)(uintptr_t)(object->dlpi_addr + part->p_vaddr), part->p_memsz))
            return 0;
    }
    return 1;
}

struct cache *cache_open(struct arena *arena, const char *folder, int64_t limit)
{
    struct buffer program = {0};
    bool known = dl_iterate_phdr(put_object, &program) == 0;
    struct cache *cache = NULL;
    if (known && folder[0] == '/' && make_folder(arena, folder) && is_own_folder(folder)) {
        cache = ARENA_NEW(arena, struct cache);
        *cache = (struct cache){.arena = arena, .folder = arena_string(arena, folder), .limit = limit};
        cache->program = arena_substring(arena, program.data, program.size);
    }
    buffer_free(&program);
    return cache;
}

void cache_put_kind(const struct cache *cache, struct buffer *key, const char *kind)
{
    buffer_printf(key, "%s\n", kind);
    cache_put_digest(key, "program", cache->program, strlen(cache->program));
}

bool cache_put_file(struct buffer *key, const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return false;
    buffer_printf(key, "file %lld %lld.%09ld %s\n", (long long)status.st_size, (long long)status.st_mtim.tv_sec,
                  status.st_mtim.tv_nsec, path);
    return true;
}

void cache_put_digest(struct buffer *key, const char *name, const void *data, size_t size)
{
    buffer_printf(key, "%s ", name);
    digest_print_of(key, data, size);
    buffer_putc(key, '\n');
}
