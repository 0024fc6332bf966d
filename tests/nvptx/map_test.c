/* map as PTX run by the reader of PTX, against the same in C: regions short enough to be written out, longer ones in
 * loops that move tiles through registers, in one step and in two.  (The reader has no local memory, through which
 * larger tiles go.) */
#include <stdio.h>
#include <string.h>

#include "support/run_text.h"
#include "targets/nvptx/assemble/assemble.h"

enum { MOST = 4096 };

struct data {
    int32_t x[MOST];
    int64_t y[MOST];
    int32_t z[MOST];
    int64_t w[MOST];
};

/* z = x and w = y behind `rounds` rounds, in each of which either takes from the other. */
static void compute(int32_t x, int64_t y, int rounds, int32_t *z, int64_t *w)
{
    uint32_t a = (uint32_t)x;
    uint64_t b = (uint64_t)y;
    for (int i = 0; i < rounds; i++) {
        a = a * 3 + (uint32_t)b;
        b = b * 5 ^ (uint64_t)(int64_t)(int32_t)a;
    }
    *z = (int32_t)a;
    *w = (int64_t)b;
}

static const char *text_of(struct arena *arena, int elements, int rounds, int warps)
{
    struct buffer text = {0};
    buffer_printf(&text,
                  "kernel @map(%%x: view<i32, [%d], [1], in>, %%y: view<i64, [%d], [1], in>, "
                  "%%z: view<i32, [%d], [1], out>, %%w: view<i64, [%d], [1], out>) grid(1) warps(%d) {\n"
                  "    %%c = constant value(0) : index\n    %%n = constant value(0) : i32\n"
                  "    %%m = constant value(0) : i64\n    %%three = constant value(3) : i32\n"
                  "    %%five = constant value(5) : i64\n"
                  "    %%a = load %%x[%%c +: %d], %%n : i32[%d]\n    %%b = load %%y[%%c +: %d], %%m : i64[%d]\n"
                  "    %%r, %%s = map %%a, %%b, %%three, %%five (%%a0: i32, %%b0: i64, %%t: i32, %%f: i64) {\n",
                  elements, elements, elements, elements, warps, elements, elements, elements, elements);
    for (int i = 0; i < rounds; i++)
        buffer_printf(&text,
                      "        %%p%d = mul %%a%d, %%t : i32\n        %%q%d = cast %%b%d : i32\n"
                      "        %%a%d = add %%p%d, %%q%d : i32\n        %%u%d = mul %%b%d, %%f : i64\n"
                      "        %%v%d = cast %%a%d : i64\n        %%b%d = xor %%u%d, %%v%d : i64\n",
                      i, i, i, i, i + 1, i, i, i, i, i, i + 1, i + 1, i, i);
    buffer_printf(&text,
                  "        yield %%a%d, %%b%d\n    } : i32[%d], i64[%d]\n    store %%z[%%c +: %d], %%r\n"
                  "    store %%w[%%c +: %d], %%s\n    return\n}\n",
                  rounds, rounds, elements, elements, elements, elements);
    const char *kept = arena_substring(arena, text.data, text.size);
    buffer_free(&text);
    return kept;
}

static int check(int elements, int rounds, int warps)
{
    struct arena *arena = arena_create();
    static struct data data;
    for (int i = 0; i < elements; i++) {
        data.x[i] = (int32_t)(2654435761u * (uint32_t)i);
        data.y[i] = (int64_t)(UINT64_C(0x9E3779B97F4A7C15) * (uint64_t)(i + 1));
        data.z[i] = 0;
        data.w[i] = 0;
    }
    uint64_t n = (uint64_t)elements;
    uint64_t slots[] = {(uint64_t)(uintptr_t)data.x,
                        n,
                        1,
                        (uint64_t)(uintptr_t)data.y,
                        n,
                        1,
                        (uint64_t)(uintptr_t)data.z,
                        n,
                        1,
                        (uint64_t)(uintptr_t)data.w,
                        n,
                        1,
                        1,
                        0};
    struct ptx_memory memory = {(unsigned char *)&data, sizeof data, false, false};
    struct run_text *text = run_text_make(arena, text_of(arena, elements, rounds, warps), "sm_80");
    int failures = !text || !run_text_once(arena, text, slots, sizeof slots / sizeof *slots, memory), wrong = 0;
    for (int i = 0; i < elements && !failures; i++) {
        int32_t z;
        int64_t w;
        compute(data.x[i], data.y[i], rounds, &z, &w);
        wrong += data.z[i] != z || data.w[i] != w;
    }
    if (failures || wrong)
        printf("%d elements, %d rounds, %d warps: %d wrong\n", elements, rounds, warps, wrong);
    arena_destroy(arena);
    return failures + wrong;
}

int main(void)
{
    static const struct {
        int elements, rounds, warps;
    } cases[] = {{64, 4, 1},    /* written out */
                 {512, 40, 1},  /* 16 registers: a queue that moves on by groups */
                 {1024, 40, 1}, /* 32 registers: in two steps */
                 {768, 60, 1},  /* 24 registers, groups of fewer */
                 {1024, 100, 2}, {1280, 30, 1}};
    int failures = 0;
    nvptx_begin(NULL);
    /* Counts of registers, odd ones too, that groups of each size divide or not: a round is six operations. */
    for (int count = 5; count <= 42; count += 1 + count / 4)
        for (int group = 1; group <= 8; group += 1 + group / 3) {
            int rounds = 512 / group / 6;
            if (count * rounds * 6 > 1024)
                failures += check(32 * count, rounds, 1);
        }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        failures += check(cases[i].elements, cases[i].rounds, cases[i].warps);
    return failures != 0;
}
