/* Comparisons of uniform random numbers with a bound, as PTX run by the reader of PTX, against the processor's: words
 * about the bound and at the ends, bounds of all sizes and none. */
#include <math.h>
#include <stdio.h>

#include "support/run_text.h"
#include "targets/nvptx/assemble/assemble.h"

enum { COUNT = 512, PREDICATES = 4, RANDOM_BOUNDS = 40 };

static const char program[] =
    "kernel @compare(%%w: view<u32, [512], [1], in>, %%p: view<f32, [1], [1], in>, %%q: view<u32, [512], [1], out>)\n"
    "    grid(1) warps(1) {\n    %%zero = constant value(0) : index\n    %%o = constant value(0) : u32\n"
    "    %%z = constant value(0.0) : f32\n    %%a = load %%w[%%zero +: 512], %%o : u32[512]\n"
    "    %%b = load %%p[%%zero], %%z : f32\n    %%c = splat %%b : f32[512]\n"
    "    %%d = constant value(31) : u32[512]\n    %%e = shr %%a, %%d : u32[512]\n    %%f = add %%a, %%e : u32[512]\n"
    "    %%g = bitcast %%f : i32[512]\n    %%h = cast %%g : f32[512]\n    %%i = abs %%h : f32[512]\n"
    "    %%j = constant value(4.6566126e-10) : f32[512]\n    %%k = mul %%i, %%j : f32[512]\n"
    "    %%l = compare predicate(%s) %%k, %%c : bool[512]\n    %%m = constant value(1) : u32[512]\n"
    "    %%n = constant value(0) : u32[512]\n    %%r = select %%l, %%m, %%n : u32[512]\n"
    "    store %%q[%%zero +: 512], %%r\n    return\n}\n";

static const char *const predicates[PREDICATES] = {"lt", "le", "gt", "ge"};
static const float bounds[] = {0,       -0.0f,          0x1p-149f,      -0x1p-149f, 0x1p-32f, 0x1p-31f,  0x1.8p-31f,
                               0x1p-8f, 0x1.fffffep-8f, 0x1.000002p-7f, 0x1p-7f,    0.1f,     0.25f,     0.5f,
                               0.9f,    0x1.fffffcp-1f, 0x1.fffffep-1f, 1,          -1,       -0.5f,     1.5f,
                               0x1p96f, 0x1p97f,        0x1p127f,       -0x1p127f,  INFINITY, -INFINITY, NAN};
enum { BOUNDS = sizeof bounds / sizeof *bounds };

struct data {
    uint32_t word[COUNT], got[COUNT];
    float bound;
};

static float uniform(uint32_t word) { return fabsf((float)(int32_t)(word + (word >> 31))) * 4.6566127342e-10f; }

static bool holds(int predicate, float number, float bound)
{
    return predicate == 0   ? number < bound
           : predicate == 1 ? number <= bound
           : predicate == 2 ? number > bound
                            : number >= bound;
}

/* About the bound and behind the half of its place, of both signs, where it has words; the ends; any. */
static void fill(struct data *data, uint32_t seed)
{
    static const uint32_t ends[] = {0, 1, 0xffffffff, 0x7fffffff, 0x7fffffbf, 0x7fffffc0, 0x80000000, 0x80000001};
    enum { ENDS = sizeof ends / sizeof *ends, NEAR = 3 * COUNT / 4 };
    bool has_words = data->bound > 0 && data->bound <= 1;
    int64_t middle = has_words ? (int64_t)((double)data->bound * 0x1p31) : 0;
    for (int i = 0; i < COUNT; i++) {
        seed = seed * 1664525u + 1013904223u;
        int64_t n = middle + i / 2 - NEAR / 4;
        n = n < 0 ? 0 : n > INT32_MAX ? INT32_MAX : n;
        data->word[i] = i < NEAR ? (i % 2 ? ~(uint32_t)n : (uint32_t)n) : i < NEAR + ENDS ? ends[i - NEAR] : seed;
    }
}

static int wrong(const struct data *data, int predicate, const char *row, int *held)
{
    int count = 0;
    for (int i = 0; i < COUNT; i++) {
        bool wanted = holds(predicate, uniform(data->word[i]), data->bound);
        *held += wanted;
        if (data->got[i] != wanted && count++ < 3)
            printf("%s: 0x%08x, %a %s %a is %d\n", row, data->word[i], (double)uniform(data->word[i]),
                   predicates[predicate], (double)data->bound, wanted);
    }
    return count;
}

static int check(const char *row, int predicate)
{
    struct arena *arena = arena_create();
    struct data data = {.bound = 0};
    uint64_t slots[] = {(uint64_t)(uintptr_t)data.word,
                        COUNT,
                        1,
                        (uint64_t)(uintptr_t)&data.bound,
                        1,
                        1,
                        (uint64_t)(uintptr_t)data.got,
                        COUNT,
                        1,
                        1,
                        0};
    struct ptx_memory memory = {(unsigned char *)&data, sizeof data, false, false};
    struct run_text *text = run_text_make(arena, arena_printf(arena, program, predicates[predicate]), row);
    int failures = text == NULL, held = 0;
    uint32_t seed = 1;
    for (int i = 0; i < BOUNDS + RANDOM_BOUNDS && !failures; i++) {
        seed = seed * 1664525u + 1013904223u;
        data.bound = i < BOUNDS ? bounds[i] : ldexpf((float)(seed >> 8), -24 - (int)(seed % 9));
        fill(&data, seed);
        failures += !run_text_once(arena, text, slots, sizeof slots / sizeof *slots, memory) ||
                    wrong(&data, predicate, row, &held);
    }
    if (!failures && (held < COUNT || held > (BOUNDS + RANDOM_BOUNDS - 1) * COUNT)) {
        printf("%s: %d comparisons hold\n", row, held);
        failures++;
    }
    arena_destroy(arena);
    return failures;
}

int main(void)
{
    nvptx_begin(NULL);
    int failures = 0;
    for (int predicate = 0; predicate < PREDICATES; predicate++)
        failures += check("sm_80", predicate) + check("sm_90a", predicate);
    return failures != 0;
}
