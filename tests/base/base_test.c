/* The base room: arenas and vectors, buffers, interning, files and output sets. */
#include "base/base.h"
#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int failures;
#define CHECK(condition) \
    ((condition) ? (void)0 : (void)(failures++, fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition)))

static void test_arena(void)
{
    struct arena *arena = arena_create();
    unsigned char *objects[2000];
    for (size_t i = 0; i < 2000; i++) {
        objects[i] = arena_alloc(arena, i * 37 % 5000);
        CHECK((uintptr_t)objects[i] % _Alignof(max_align_t) == 0);
        for (size_t k = 0; k < i * 37 % 5000; k++) {
            CHECK(objects[i][k] == 0);
            objects[i][k] = (unsigned char)i;
        }
    }
    for (size_t i = 0; i < 2000; i++)
        for (size_t k = 0; k < i * 37 % 5000; k++)
            CHECK(objects[i][k] == (unsigned char)i);
    CHECK(arena_alloc(arena, 0) != arena_alloc(arena, 0));
    CHECK(strcmp(arena_printf(arena, "%d-%s", 7, "x"), "7-x") == 0);
    CHECK(strcmp(arena_substring(arena, "abcdef", 3), "abc") == 0);
    VECTOR(int) numbers = {0};
    for (int i = 0; i < 10000; i++)
        vector_push(arena, &numbers, i);
    CHECK(numbers.count == 10000);
    for (int i = 0; i < numbers.count; i++)
        CHECK(numbers.data[i] == i);
    arena_destroy(arena);
}

static void test_buffer(void)
{
    struct buffer buffer = {0};
    for (int i = 0; i < 1000; i++)
        buffer_printf(&buffer, "%d,", i);
    CHECK(buffer.size == 3890 && buffer.data[buffer.size] == '\0');
    buffer_append(&buffer, "a\0b", 3);
    CHECK(buffer.size == 3893 && memcmp(buffer.data + 3890, "a\0b", 4) == 0);
    buffer_free(&buffer);
    CHECK(buffer.data == NULL && buffer.size == 0);
}

static void test_intern(void)
{
    struct arena *arena = arena_create();
    struct intern_table *table = intern_create(arena);
    const char *first[3000];
    for (int i = 0; i < 3000; i++)
        first[i] = intern(table, arena_printf(arena, "name%d", i));
    for (int i = 0; i < 3000; i++) {
        CHECK(intern(table, arena_printf(arena, "name%d", i)) == first[i]);
        CHECK(i == 0 || first[i] != first[i - 1]);
    }
    CHECK(intern_range(table, "name12345", 5) == intern(table, "name1"));
    CHECK(intern(table, "") == intern_range(table, "x", 0));
    arena_destroy(arena);
}

static bool has(const char *path, const char *text)
{
    struct buffer bytes = {0};
    bool same = file_read(path, 0, &bytes) && strcmp(bytes.data, text) == 0;
    buffer_free(&bytes);
    return same;
}

static int hidden_files(void) { return system("ls -A | grep -q '^\\.tilecc-'") == 0; }

static void test_outputs(void)
{
    struct arena *arena = arena_create();
    const char *failed = NULL;
    struct output_set *set = output_set_create(arena);
    output_set_add(set, "one", "1", 1);
    output_set_add(set, "two", "2", 1);
    CHECK(output_set_commit(set, &failed) && !failed && has("one", "1") && has("two", "2"));

    set = output_set_create(arena); /* the second cannot be written: the first keeps its bytes */
    output_set_add(set, "one", "new", 3);
    output_set_add(set, "no/such/folder", "x", 1);
    CHECK(!output_set_commit(set, &failed) && errno == ENOENT && strcmp(failed, "no/such/folder") == 0 &&
          has("one", "1"));

    set = output_set_create(arena); /* a device that is full */
    output_set_add(set, "one", "new", 3);
    output_set_add(set, "/dev/full", "x", 1);
    CHECK(!output_set_commit(set, &failed) && errno == ENOSPC && has("one", "1"));

    mkdir("folder", 0777);
    set = output_set_create(arena);
    output_set_add(set, "one", "new", 3);
    output_set_add(set, "folder", "x", 1);
    CHECK(!output_set_commit(set, &failed) && errno == EISDIR && has("one", "1"));

    CHECK(symlink("one", "link") == 0); /* a link is replaced, what it leads to is not touched */
    set = output_set_create(arena);
    output_set_add(set, "link", "new", 3);
    CHECK(output_set_commit(set, &failed) && has("link", "new") && has("one", "1"));
    CHECK(!hidden_files());
    arena_destroy(arena);
}

static void test_reading(void)
{
    struct buffer bytes = {0};
    CHECK(!file_read("folder", 0, &bytes) && errno == EISDIR);
    CHECK(!file_read("missing", 0, &bytes) && errno == ENOENT);
    buffer_free(&bytes);
    CHECK(!file_read("/dev/zero", 100000, &bytes) && errno == EFBIG && bytes.size <= 100000);
    buffer_free(&bytes);
}

int main(void)
{
    char directory[] = "base_test.XXXXXX";
    if (!mkdtemp(directory) || chdir(directory) != 0)
        return 2;
    test_arena();
    test_buffer();
    test_intern();
    test_outputs();
    test_reading();
    return failures != 0;
}
