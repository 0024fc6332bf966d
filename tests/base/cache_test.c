/* The cache: digests, entries, the folder and what may happen to it. */
#include "base/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"

static int failures;
#define CHECK(condition) \
    ((condition) ? (void)0 : (void)(failures++, fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition)))

/* By Python's hashlib.blake2b(..., digest_size=32), of bytes 7*i + 1, and "abc" for 3 of them. */
static const struct {
    size_t size;
    const char *digits;
} digests[] = {
    {0, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"},
    {3, "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"},
    {127, "3b03a73c3c02e3eef11be3e2e16c12ccf6090dea00aa861ded320910892e13ac"},
    {128, "6b89237e0a469a721c700b8bbcb51b6231c48e71ff023e0e3444ec84882ae32e"},
    {129, "524a9dc9d008a9ce1d9d2a111bcd10d2461a02dadf30ec5a47225501608a87eb"},
    {256, "e7001e3026924e6650fcd5b274bc3ddf556a6c7fedfe038383c0f4ad5f26cfc9"},
    {257, "080f7f2ee61cc8ffcf2ad907f7a9824a8445c5e4b194a0106c65f9b9c1ea6787"},
    {1000, "1d16566788d72e44f7c8ca9aaf73edc64bb03fc69322cb735f49974d7c9ce383"},
};

static void test_digest(void)
{
    unsigned char bytes[1000], result[DIGEST_SIZE];
    for (size_t i = 0; i < sizeof digests / sizeof *digests; i++) {
        size_t size = digests[i].size;
        for (size_t k = 0; k < size; k++)
            bytes[k] = size == 3 ? (unsigned char)"abc"[k] : (unsigned char)(7 * k + 1);
        struct buffer digits = {0};
        digest_print_of(&digits, bytes, size);
        CHECK(strcmp(digits.data, digests[i].digits) == 0);
        for (size_t piece = 1; piece <= size; piece += 50) { /* the same in any pieces */
            struct digest digest;
            struct buffer again = {0};
            digest_begin(&digest);
            for (size_t at = 0; at < size; at += piece)
                digest_add(&digest, bytes + at, size - at < piece ? size - at : piece);
            digest_end(&digest, result);
            digest_print(&again, result);
            CHECK(strcmp(again.data, digits.data) == 0);
            buffer_free(&again);
        }
        buffer_free(&digits);
    }
}

static struct buffer key_of(const struct cache *cache, int number)
{
    struct buffer key = {0};
    cache_put_kind(cache, &key, "number");
    buffer_printf(&key, "%d", number);
    return key;
}

/* The value is so many bytes, all of them the number. */
static void keep(const struct cache *cache, int number, size_t size)
{
    struct buffer key = key_of(cache, number);
    char *value = malloc(size + 1);
    memset(value, number, size);
    cache_keep(cache, &key, value, size);
    free(value);
    buffer_free(&key);
}

static bool is_there(struct cache *cache, int number, size_t size)
{
    struct buffer key = key_of(cache, number), value = {0};
    bool found = cache_find(cache, &key, &value);
    CHECK(!found || value.size == size);
    for (size_t i = 0; found && i < size; i++)
        CHECK(value.data[i] == (char)number);
    CHECK(found || !value.size);
    buffer_free(&key);
    buffer_free(&value);
    return found;
}

/* Calls visit for each file of the folder; their number. */
static int each_file(struct arena *arena, const char *folder, void (*visit)(const char *name))
{
    int count = 0;
    for (int i = 0; i < 16; i++) {
        const char *within = arena_printf(arena, "%s/%x", folder, i);
        DIR *list = opendir(within);
        for (struct dirent *next; list && (next = readdir(list)) != NULL;) {
            if (next->d_name[0] == '.')
                continue;
            count++;
            if (visit)
                visit(arena_printf(arena, "%s/%s", within, next->d_name));
        }
        if (list)
            closedir(list);
    }
    return count;
}

static void cut_short(const char *name) { CHECK(truncate(name, 100) == 0); }

static void change_last(const char *name)
{
    int file = open(name, O_WRONLY);
    struct stat status;
    CHECK(fstat(file, &status) == 0 && pwrite(file, "!", 1, status.st_size - 1) == 1);
    close(file);
}

static void replace_by_folder(const char *name) { CHECK(unlink(name) == 0 && mkdir(name, 0700) == 0); }
static void replace_by_pipe(const char *name) { CHECK(unlink(name) == 0 && mkfifo(name, 0600) == 0); }
static void replace_by_link(const char *name) { CHECK(unlink(name) == 0 && symlink("/dev/zero", name) == 0); }
static void make_empty(const char *name) { CHECK(truncate(name, 0) == 0); }
static void remove_name(const char *name)
{
    if (unlink(name) != 0)
        CHECK(rmdir(name) == 0);
}

static void make_old(const char *name)
{
    const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    CHECK(utimensat(AT_FDCWD, name, times, 0) == 0);
}

static void test_entries(struct arena *arena, const char *folder)
{
    struct cache *cache = cache_open(arena, folder, 1 << 20);
    struct stat status;
    CHECK(cache && stat(folder, &status) == 0 && (status.st_mode & 0777) == 0700);
    CHECK(!is_there(cache, 1, 500));
    keep(cache, 1, 500);
    keep(cache, 2, 0);
    CHECK(is_there(cache, 1, 500) && is_there(cache, 2, 0) && !is_there(cache, 3, 0));
    keep(cache, 1, 500); /* again: the same */
    CHECK(is_there(cache, 1, 500) && each_file(arena, folder, NULL) == 2);
    struct cache *other = cache_open(arena, folder, 1 << 20);
    CHECK(is_there(other, 1, 500));
    int found, asked;
    cache_count(other, &found, &asked);
    CHECK(found == 1 && asked == 1);
    each_file(arena, folder, remove_name);
}

/* What is damaged is not found, and what is kept after that is. */
static void test_damage(struct arena *arena, const char *folder)
{
    static void (*const damages[])(const char *) = {cut_short,         change_last,     make_empty,
                                                    replace_by_folder, replace_by_pipe, replace_by_link};
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        struct cache *cache = cache_open(arena, folder, 1 << 20);
        keep(cache, 5, 300);
        CHECK(is_there(cache, 5, 300));
        CHECK(each_file(arena, folder, damages[i]) == 1);
        CHECK(!is_there(cache, 5, 300));
        keep(cache, 5, 300);
        CHECK(is_there(cache, 5, 300) == (damages[i] != replace_by_folder));
        each_file(arena, folder, remove_name);
    }
}

static int64_t blocks;
static void add_blocks(const char *name)
{
    struct stat status;
    CHECK(stat(name, &status) == 0);
    blocks += status.st_blocks;
}

/* Small files count by the blocks that they take. */
static void test_blocks(struct arena *arena, const char *folder)
{
    enum { COUNT = 320, LIMIT = 16 * 8 * 4096 };
    struct cache *cache = cache_open(arena, folder, LIMIT);
    for (int i = 0; i < COUNT; i++) {
        CHECK(!is_there(cache, i, 10));
        keep(cache, i, 10);
    }
    cache_trim(cache);
    each_file(arena, folder, add_blocks);
    CHECK(blocks > 0 && blocks * 512 <= LIMIT);
    each_file(arena, folder, remove_name);
}

/* Those that were used last stay. */
static void test_trim(struct arena *arena, const char *folder)
{
    enum { COUNT = 100, SIZE = 3000 };
    struct cache *cache = cache_open(arena, folder, COUNT * SIZE);
    for (int i = 0; i < COUNT; i++)
        keep(cache, i, SIZE);
    cache_trim(cache); /* this process missed nothing, so it looks for nothing */
    CHECK(each_file(arena, folder, NULL) == COUNT);
    each_file(arena, folder, make_old);
    for (int i = 0; i < 20; i++)
        CHECK(is_there(cache, i, SIZE)); /* a use makes them new */
    for (int i = COUNT; i < 2 * COUNT; i++)
        CHECK(!is_there(cache, i, SIZE));
    struct cache *small = cache_open(arena, folder, 16 * 6 * 4096); /* a file is one block of the disk */
    for (int i = COUNT; i < 2 * COUNT; i++)
        CHECK(!is_there(small, i, SIZE));
    cache_trim(small);
    CHECK(each_file(arena, folder, NULL) < COUNT);
    for (int i = 0; i < 20; i++)
        CHECK(is_there(small, i, SIZE));
    struct cache *none = cache_open(arena, folder, 0);
    for (int i = COUNT; i < 10 * COUNT; i++) /* so many that each of the folders is asked, whatever the digests are */
        CHECK(!is_there(none, i, SIZE));
    cache_trim(none);
    CHECK(each_file(arena, folder, NULL) == 0);
}

/* What a writer that was killed has left goes when it is old. */
static void test_leftovers(struct arena *arena, const char *folder)
{
    struct cache *cache = cache_open(arena, folder, 1 << 20);
    for (int i = 0; i < 16; i++) {
        mkdir(arena_printf(arena, "%s/%x", folder, i), 0700);
        for (int k = 0; k < 2; k++) {
            const char *name = arena_printf(arena, "%s/%x/new-aBc12%d", folder, i, k);
            close(open(name, O_WRONLY | O_CREAT, 0600));
            if (k)
                make_old(name);
        }
    }
    for (int i = 0; i < 200; i++)
        is_there(cache, i, 0);
    cache_trim(cache);
    CHECK(each_file(arena, folder, NULL) == 16);
    each_file(arena, folder, remove_name);
}

/* A folder that holds other things, too: a program's own folder `a`, another user's file. */
static void test_foreign(struct arena *arena, const char *folder)
{
    static const char *const names[] = {"main.c", "new-results", "0123", "new-aBc123.txt"};
    for (int i = 0; i < 16; i++) {
        mkdir(arena_printf(arena, "%s/%x", folder, i), 0700);
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            const char *name = arena_printf(arena, "%s/%x/%s", folder, i, names[k]);
            close(open(name, O_WRONLY | O_CREAT, 0600));
            CHECK(truncate(name, 1000) == 0);
            make_old(name);
        }
    }
    struct cache *none = cache_open(arena, folder, 0);
    for (int i = 0; i < 200; i++) {
        CHECK(!is_there(none, i, 100));
        keep(none, i, 100);
    }
    cache_trim(none);
    CHECK(each_file(arena, folder, NULL) == 16 * (int)(sizeof names / sizeof *names));
    each_file(arena, folder, remove_name);
    if (geteuid() == 0) {
        CHECK(chown(folder, 1, 1) == 0 && !cache_open(arena, folder, 1 << 20));
        CHECK(chown(folder, 0, 0) == 0);
    }
}

static void test_nowhere(struct arena *arena, const char *folder)
{
    CHECK(!cache_open(arena, "relative", 1));
    CHECK(!cache_open(arena, "/dev/null/no", 1));
    CHECK(!cache_open(arena, "/proc/no", 1));
    struct buffer key = {0}, value = {0};
    buffer_puts(&key, "key");
    CHECK(!cache_find(NULL, &key, &value));
    cache_keep(NULL, &key, "", 0);
    cache_trim(NULL);
    struct cache *cache = cache_open(arena, folder, 1 << 20);
    each_file(arena, folder, remove_name);
    for (int i = 0; i < 16; i++)
        rmdir(arena_printf(arena, "%s/%x", folder, i));
    CHECK(rmdir(folder) == 0); /* under its feet */
    keep(cache, 1, 10);
    CHECK(!is_there(cache, 1, 10));
    cache_trim(cache);
    buffer_free(&key);
}

int main(void)
{
    struct arena *arena = arena_create();
    const char *temporary = getenv("TMPDIR");
    char *above = arena_printf(arena, "%s/cache-test-XXXXXX", temporary ? temporary : "/tmp");
    if (!mkdtemp(above))
        return 1;
    const char *folder = arena_printf(arena, "%s/a/b", above);
    test_digest();
    test_entries(arena, folder);
    test_damage(arena, folder);
    test_trim(arena, folder);
    test_blocks(arena, folder);
    test_leftovers(arena, folder);
    test_foreign(arena, folder);
    test_nowhere(arena, folder);
    arena_destroy(arena);
    return failures != 0;
}
