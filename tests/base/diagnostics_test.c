/* Diagnostics: carets by display width, escapes, long lines, repetition, limits, JSON. */
#include "base/base.h"
#include "base/unicode.h"

#include <stdlib.h>
#include <string.h>

static int failures;
#define CHECK(condition) \
    ((condition) ? (void)0 : (void)(failures++, fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition)))

/* Those that came since `shown`. */
static char *printed(struct diagnostics *diagnostics, bool json)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    if (json)
        diag_print_json(diagnostics, file);
    else
        diag_print(diagnostics, file, false);
    fclose(file);
    return text;
}

static void check_text(struct diagnostics *diagnostics, bool json, const char *expected)
{
    diagnostics->shown = NULL;
    char *text = printed(diagnostics, json);
    if (strcmp(text, expected) != 0) {
        failures++;
        fprintf(stderr, "expected:\n%s\ngot:\n%s\n", expected, text);
    }
    free(text);
}

static struct source make_source(const char *text)
{
    return (struct source){.name = "k.tile", .text = text, .size = strlen(text)};
}

static void test_carets(struct arena *arena)
{
    struct source source = make_source("\tab\xe4\xb8\xad cde\xff = x\r\nsecond\n");
    struct diagnostics *d = diagnostics_create(arena);
    struct diagnostic *first = diag_report(d, DIAGNOSTIC_E0101, (struct location){&source, 1, 8, 11, NULL},
                                           "bad \033[1m%s", "thing");
    diag_note(d, first, (struct location){&source, 2, 7, 7, NULL}, "here it ends");
    diag_fixit(d, first, (struct location){&source, 1, 8, 11, NULL}, FIXIT_PROBABLE, "f(x)");
    CHECK(diag_report(d, DIAGNOSTIC_E0101, (struct location){&source, 1, 8, 11, NULL}, "bad \033[1m%s", "thing") ==
          first);
    CHECK(d->errors == 1);
    check_text(d, false,
               "k.tile:1:8: error: bad <U+001B>[1mthing [E0101]\n"
               "    1 |     ab\xe4\xb8\xad cde<FF> = x\n"
               "      |          ^~~\n"
               "k.tile:2:7: note: here it ends\n"
               "    2 | second\n"
               "      |       ^\n"
               "k.tile:1:8: note: fix-it (probable): \"cde\" -> \"f(x)\"\n");
    check_text(
        d, true,
        "{\"version\":1,\"severity\":\"error\",\"code\":\"E0101\",\"name\":\"syntax\",\"message\":\"bad "
        "\\u001b[1mthing\","
        "\"spans\":[{\"file\":\"k.tile\",\"line\":1,\"column\":8,\"end\":11}],"
        "\"notes\":[{\"message\":\"here it "
        "ends\",\"spans\":[{\"file\":\"k.tile\",\"line\":2,\"column\":7,\"end\":8}]}],"
        "\"fixits\":[{\"span\":{\"file\":\"k.tile\",\"line\":1,\"column\":8,\"end\":11},\"replacement\":\"f(x)\",\"grade\":\"probable\"}],"
        "\"instances\":[]}\n");
}

/* What is true for many instances: a few under the caret, all in JSON, each once.  An insertion has no width. */
static void test_instances(struct arena *arena)
{
    struct source source = make_source("line\n");
    struct diagnostics *d = diagnostics_create(arena);
    struct diagnostic *first = diag_report(d, DIAGNOSTIC_W1202, (struct location){&source, 1, 1, 3, NULL}, "spills");
    for (int i = 0; i < 14; i++)
        diag_instance(d, first, arena_printf(arena, "k[%d]", i / 2));
    diag_fixit(d, first, (struct location){&source, 1, 3, 3, NULL}, FIXIT_CERTAIN, ";");
    check_text(d, false,
               "k.tile:1:1: warning: spills [-Wspills]\n    1 | line\n      | ^~\n"
               "      = in k[0]\n      = in k[1]\n      = in k[2]\n      = in k[3]\n      = in 3 more instances\n"
               "k.tile:1:3: note: fix-it: insert \";\"\n");
    check_text(
        d, true,
        "{\"version\":1,\"severity\":\"warning\",\"code\":\"W1202\",\"name\":\"spills\",\"message\":\"spills\","
        "\"spans\":[{\"file\":\"k.tile\",\"line\":1,\"column\":1,\"end\":3}],\"notes\":[],"
        "\"fixits\":[{\"span\":{\"file\":\"k.tile\",\"line\":1,\"column\":3,\"end\":3},\"replacement\":\";\",\"grade\":\"certain\"}],"
        "\"instances\":[\"k[0]\",\"k[1]\",\"k[2]\",\"k[3]\",\"k[4]\",\"k[5]\",\"k[6]\"]}\n");
}

/* What was shown is not shown again. */
static void test_shown_once(struct arena *arena)
{
    struct source source = make_source("line\n");
    struct diagnostics *d = diagnostics_create(arena);
    diag_report(d, DIAGNOSTIC_E0101, (struct location){&source, 1, 1, 3, NULL}, "first");
    free(printed(d, false));
    diag_report(d, DIAGNOSTIC_E0101, (struct location){&source, 1, 2, 3, NULL}, "second");
    char *then = printed(d, false), *last = printed(d, true);
    CHECK(!strstr(then, "first") && strstr(then, "second") && !*last);
    free(then);
    free(last);
}

static void test_bidi(struct arena *arena)
{
    struct source source = make_source("a \xe2\x80\xae b\n");
    struct diagnostics *d = diagnostics_create(arena);
    diag_report(d, DIAGNOSTIC_E0101, (struct location){&source, 1, 7, 8, NULL}, "x");
    check_text(d, false, "k.tile:1:7: error: x [E0101]\n    1 | a <U+202E> b\n      |            ^\n");
}

static void test_long_line(struct arena *arena)
{
    char *text = arena_alloc(arena, 1000001);
    memset(text, 'y', 1000000);
    struct source source = make_source(text);
    struct diagnostics *d = diagnostics_create(arena);
    diag_report(d, DIAGNOSTIC_E0101, (struct location){&source, 1, 500000, 999999, NULL}, "x");
    char *out = printed(d, false);
    CHECK(strlen(out) < 500 && strstr(out, "...y") && strstr(out, "^~"));
    free(out);
}

static void test_counting(struct arena *arena)
{
    struct source source = make_source("one\ntwo\n");
    struct diagnostics *d = diagnostics_create(arena);
    d->limit = 2;
    for (int i = 1; i <= 5; i++)
        diag_report(d, DIAGNOSTIC_E0101, (struct location){&source, 1, i, i, NULL}, "error %d", i);
    CHECK(d->errors == 5);
    char *out = printed(d, false);
    CHECK(strstr(out, "error 2") && !strstr(out, "error 3") && strstr(out, "3 more errors are not shown"));
    free(out);
    diag_report(d, DIAGNOSTIC_R2001, (struct location){0}, "licm: moved");
    d->enabled[DIAGNOSTIC_R2001] = 1;
    diag_report(d, DIAGNOSTIC_R2001, (struct location){0}, "licm: moved again");
    out = printed(d, false);
    CHECK(!strstr(out, "licm: moved [") && strstr(out, "tilecc: remark: licm: moved again [R2001]\n"));
    free(out);
}

static void test_unicode(void)
{
    int length;
    CHECK(unicode_decode("\xc0\x80", 2, &length) == -1);     /* overlong */
    CHECK(unicode_decode("\xed\xa0\x80", 3, &length) == -1); /* surrogate */
    CHECK(unicode_decode("\xf4\x90\x80\x80", 4, &length) == -1);
    CHECK(unicode_decode("\xe4\xb8", 2, &length) == -1 && length == 1);
    CHECK(unicode_decode("\xf0\x9f\x98\x80", 4, &length) == 0x1f600 && length == 4);
    CHECK(unicode_width(0x4e2d) == 2 && unicode_width(0x301) == 0 && unicode_width('a') == 1);
}

int main(void)
{
    struct arena *arena = arena_create();
    test_carets(arena);
    test_instances(arena);
    test_shown_once(arena);
    test_bidi(arena);
    test_long_line(arena);
    test_counting(arena);
    test_unicode();
    arena_destroy(arena);
    return failures != 0;
}
