/* The checker of values: a kernel as its source says it, the same with a producer, a ring and a persistent loop, and
 * what check_machine says when a line of the latter is changed so that every barrier is still right. */
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"
#include "ir/verify/verify.h"
#include "passes/run.h"
#include "passes/checked_text.h"

static int cases, failures;
static bool aloud; /* prints what is said, for check_machine.bats */

#define VIEWS                                                           \
    "kernel @product(%a: view<bf16, [?, ?], [?, 1], in> " FACTS         \
    ", extent_class(1, 2)}, %b: view<bf16, [?, ?], [?, 1], in> " FACTS  \
    ", extent_class(2, 0)}, %c: view<bf16, [?, ?], [?, 1], out> " FACTS \
    ", extent_class(1, 0)}) grid(1) grid_class(1) grid_step(64) "

static const char reference[] = VIEWS
    "{\n"
    "    %n0 = constant value(0) : index\n"
    "    %n64 = constant value(64) : index\n"
    "    %zero = constant value(0.0) : bf16\n"
    "    %none = constant value(0.0) : f32[64, 64]\n"
    "    %K = extent dimension(1) %a : index\n"
    "    %p = grid_index dimension(0) : index\n"
    "    %row = mul %p, %n64 : index\n"
    "    %acc = for %k: index = %n0 to %K step %n64 iter(%sum: f32[64, 64] = %none) {\n"
    "        %A = load %a[%row +: 64, %k +: 64], %zero : bf16[64, 64]\n"
    "        %B = load %b[%k +: 64, %n0 +: 64], %zero : bf16[64, 64]\n"
    "        %d = dot %A, %B, %sum : f32[64, 64]\n"
    "        yield %d\n"
    "    }\n"
    "    %narrow = cast %acc : bf16[64, 64]\n"
    "    store %c[%row +: 64, %n0 +: 64], %narrow\n"
    "    return\n"
    "}\n";

static const char consumer[] = VIEWS
    "level(machine) warps(8) persistent(1) shared(43008) {\n"
    "    %left = buffer shared_offset(0) shared_bytes(16384) : " RING "\n"
    "    %right = buffer shared_offset(16384) shared_bytes(16384) : " RING "\n"
    "    %out = buffer shared_offset(32768) shared_bytes(8192) : " SLOT "\n"
    "    %full = mbarrier shared_offset(40960) arrivals(1) : mbarrier<2>\n"
    "    %empty = mbarrier shared_offset(40976) arrivals(4) : mbarrier<2>\n"
    "    mbarrier_ready\n"
    "    %zero = constant value(0) : i32\n"
    "    %one = constant value(1) : i32\n"
    "    %two = constant value(2) : i32\n"
    "    %n0 = constant value(0) : index\n"
    "    %n1 = constant value(1) : index\n"
    "    %n64 = constant value(64) : index\n" CONSUMER_BEGINS "                %A = slot %left, %slot : " SLOT "\n"
    "                %B = slot %right, %slot : " SLOT "\n"
    "                %more = compare predicate(ne) %k, %n0 : bool\n"
    "                %d = dot_async instruction(wgmma) %A, %B, %sum, %more : " ACCUMULATOR "\n" CONSUMER_ENDS;
static const char producer[] = PRODUCER_BEGINS
    "                mbarrier_expect bytes(16384) %full, %uslot\n"
    "                %X = slot %left, %uslot : " SLOT "\n"
    "                %Y = slot %right, %uslot : " SLOT "\n"
    "                tma_load %a[%row2 +: 64, %k2 +: 64], %X, %full, %uslot\n"
    "                tma_load %b[%k2 +: 64, %n0 +: 64], %Y, %full, %uslot\n" PRODUCER_ENDS;

struct change {
    const char *line, *by; /* NULL: dropped */
    const char *says;      /* NULL: it is as good */
};
static const char value[] = "stores another value than the program says",
                  place[] = "writes where the program does not write", left_out[] = "was not written everywhere";
static const struct change changes[] = {
    {NULL, NULL, NULL},
    /* the box that a copy brings */
    {"%a[%row2 +: 64, %k2 +: 64], %X", "%a[%row2 +: 64, %n0 +: 64], %X", value},
    {"%a[%row2 +: 64, %k2 +: 64], %X", "%a[%n0 +: 64, %k2 +: 64], %X", value},
    {"%a[%row2 +: 64, %k2 +: 64], %X", "%b[%k2 +: 64, %n0 +: 64], %X", value},
    {"%b[%k2 +: 64, %n0 +: 64], %Y", "%b[%k2 +: 64, %n64 +: 64], %Y", value},
    {"                tma_load %a[%row2 +: 64, %k2 +: 64], %X, %full, %uslot\n"
     "                tma_load %b[%k2 +: 64, %n0 +: 64], %Y, %full, %uslot\n",
     "                tma_load %b[%k2 +: 64, %n0 +: 64], %Y, %full, %uslot\n"
     "                tma_load %a[%row2 +: 64, %k2 +: 64], %X, %full, %uslot\n",
     NULL}, /* in any order */
    /* the slot that it comes to, and is read from */
    {"%X = slot %left, %uslot", "%X = slot %right, %uslot", "[E1006]"},
    {"%A, %B, %sum, %more", "%B, %A, %sum, %more", value},
    {"%A, %B, %sum, %more", "%A, %A, %sum, %more", value},
    {"%A = slot %left, %slot", "%A = slot %left, %zero", "[E1006]"},
    /* which iterations there are */
    {"%k2: index = %n0 to", "%k2: index = %n64 to", "[E1006]"},
    {"                tma_load %a[%row2 +: 64, %k2 +: 64], %X",
     "                %behind = sub %K, %k2 : index\n                %last = sub %behind, %n64 : index\n"
     "                tma_load %a[%row2 +: 64, %last +: 64], %X",
     value},
    /* what is added up */
    {"%sum, %more", "%sum", value},
    {"%more = compare predicate(ne) %k, %n0", "%more = compare predicate(ne) %k, %n64", value},
    {"%more = compare predicate(ne) %k, %n0", "%more = compare predicate(gt) %k, %n0", NULL},
    /* what is stored, and where */
    {"%narrow = cast %acc", "%twice = add %acc, %acc : " ACCUMULATOR "\n            %narrow = cast %twice", value},
    {"tma_store %c[%row +: 64, %n0", "tma_store %c[%row +: 64, %n64", place},
    {"tma_store %c[%row +: 64, %n0", "tma_store %c[%n0 +: 64, %n0", "[E1006]"},
    {"            tma_store %c[%row +: 64, %n0 +: 64], %out\n", NULL, left_out},
    /* programs */
    {"%row2 = mul %p2, %n64", "%p3 = xor %p2, %n1 : index\n            %row2 = mul %p3, %n64", value},
    {"%p: index = %first to %all step %step", "%p: index = %n0 to %all step %step", "[E1006]"},
    {"%first = program : index", "%first = constant value(0) : index", left_out},
};

static struct ir_module *read(struct ir_context *types, struct arena *arena, struct diagnostics *diagnostics,
                              const char *name, const char *text)
{
    struct source *source = ARENA_NEW(arena, struct source);
    *source = (struct source){name, text, strlen(text), NULL};
    struct ir_module *module = ir_parse_module(types, arena, diagnostics, source);
    return module && ir_verify_module(module, diagnostics) ? module : NULL;
}

static bool says(const struct diagnostics *diagnostics, const char *words)
{
    for (const struct diagnostic *d = diagnostics->first; d; d = d->next)
        if (d->code == DIAGNOSTIC_E1006 && (!strcmp(words, "[E1006]") || strstr(d->text, words)))
            return true;
    return false;
}

static void check(const struct change *change)
{
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct ir_context *types = ir_context_create(arena);
    const char *text = text_with(arena, arena_printf(arena, "%s%s", consumer, producer), change->line, change->by);
    struct ir_module *one = read(types, arena, diagnostics, "reference", reference);
    struct ir_module *other = text ? read(types, arena, diagnostics, "machine", text) : NULL;
    bool good = false;
    if (one && other) {
        struct pass_context context = {.arena = arena, .diagnostics = diagnostics, .reference = one->first};
        pass_find("check_machine")->run(other->first, &context);
        good = change->says ? says(diagnostics, change->says) : !diagnostics->errors;
    }
    if (aloud)
        diag_print(diagnostics, stdout, false);
    cases++;
    if (!good) {
        failures++;
        printf("change of `%s` to `%s`: %s\n", change->line ? change->line : "nothing",
               change->by ? change->by : "nothing", !text ? "the line is not there" : "is not judged as it should be");
        diag_print(diagnostics, stdout, false);
    }
    arena_destroy(arena);
}

int main(int count, char **arguments)
{
    aloud = count > 1 && strcmp(arguments[1], "aloud") == 0;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        check(&changes[i]);
    printf("%d programs, %d failures\n", cases, failures);
    return failures != 0;
}
