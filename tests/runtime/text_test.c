/* Texts of the run time are those that the C library's printf makes, cut at the end of their room. */
#include "case.h"
#include "tile_rt_internal.h"

#include <limits.h>

/* The same call of both, in rooms of every size and behind some text. */
#define SAME(...)                                                                                      \
    do {                                                                                               \
        char wanted[400], text[400];                                                                   \
        int whole = snprintf(wanted, sizeof wanted, __VA_ARGS__);                                      \
        for (size_t room = 1; room <= (size_t)whole + 2; room++) {                                     \
            memset(text, '?', sizeof text);                                                            \
            size_t used = tile_rt_append(text, room, 0, __VA_ARGS__);                                  \
            size_t most = (size_t)whole < room ? (size_t)whole : room - 1;                             \
            EXPECT(room == 1 || (used == most && text[used] == 0 && memcmp(text, wanted, most) == 0)); \
            EXPECT(text[room] == '?');                                                                 \
        }                                                                                              \
        memcpy(text, "before: ", 9);                                                                   \
        EXPECT(tile_rt_append(text, sizeof text, 8, __VA_ARGS__) == 8 + (size_t)whole);                \
        EXPECT(strcmp(text + 8, wanted) == 0 && memcmp(text, "before: ", 8) == 0);                     \
    } while (0)

static void strings(void)
{
    const char *empty = "";
    SAME("nothing to fill in");
    SAME("%s", empty);
    SAME("%s of %s, %s", "extent", "x", empty);
    SAME("%.*s|%.*s|%.*s", 3, "abcdef", 0, "abc", 9, "abc");
    SAME("%c%c %%d 100 %% %c", '(', ')', 'a');
}

static void numbers(void)
{
    static const long long all[] = {0, 1, -1, 9, 10, -10, 4096, INT_MAX, INT_MIN, LLONG_MAX, LLONG_MIN};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        SAME("%d %u %x", (int)all[i], (unsigned)all[i], (unsigned)all[i]);
        SAME("%ld %lu %lx", (long)all[i], (unsigned long)all[i], (unsigned long)all[i]);
        SAME("%lld %+lld %llu %llx", all[i], all[i], (unsigned long long)all[i], (unsigned long long)all[i]);
        SAME("%zu|%03u|%04x|%d", (size_t)all[i], (unsigned)all[i], (unsigned)all[i], 7);
    }
    SAME("%p %s", (const void *)all, "behind a pointer");
}

int main(void)
{
    strings();
    numbers();
    return failures != 0;
}
