#include "tests/nvptx/support/least.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "targets/target.h"

enum { MOST = 64 /* cycles: what comes later tells nothing */, PLACE = 160 };

struct least {
    int cycles, seen;
    char where[PLACE];
};
/* By the pipe of the first instruction, what is between, and the port or pipe of the second. */
struct table {
    struct least latencies[PIPE_COUNT][NATIVE_KINDS][NATIVE_PORTS]; /* from a write to a read */
    struct least over[PIPE_COUNT][PIPE_COUNT];                      /* from a write to a write */
    struct least after[PIPE_COUNT][PIPE_COUNT];                     /* from a read to a write */
    struct least space[PIPE_COUNT][PIPE_COUNT];                     /* whatever they touch */
};

static void note(struct least *l, int cycles, const char *file, const struct native_instruction *first,
                 const struct native_instruction *second)
{
    if (l->seen++ && cycles >= l->cycles)
        return;
    l->cycles = cycles;
    snprintf(l->where, sizeof l->where, "%s %x %s, %s", file, (unsigned)first->origin * NATIVE_BYTES, first->form->name,
             second->form->name);
}

/* What follows in the block, until `place` is written again. */
static void follow_place(struct table *t, const struct native_code *code, const char *file, int at, int place)
{
    const struct native_instruction *in = &code->instructions[at];
    bool writes = native_has(&in->writes, place) && !in->variable,
         reads = native_has(&in->reads, place) && !in->variable;
    int cycles = in->control.stall, end = code->blocks[code->block_of[at]].end;
    for (int i = at + 1; i < end && cycles < MOST && (writes || reads); i++) {
        const struct native_instruction *next = &code->instructions[i];
        int pipe = in->form->pipe;
        if (writes && native_has(&next->reads, place))
            note(&t->latencies[pipe][native_kind_written(in, place)][native_port(next, place)], cycles, file, in, next);
        if (native_has(&next->writes, place)) {
            if (writes)
                note(&t->over[pipe][next->form->pipe], cycles, file, in, next);
            if (reads)
                note(&t->after[pipe][next->form->pipe], cycles, file, in, next);
            return;
        }
        cycles += next->control.stall > 0 ? next->control.stall : 1;
    }
}

static void add_code(struct table *t, const struct native_code *code, const char *file)
{
    for (int i = 0; i < code->count; i++) {
        const struct native_instruction *in = &code->instructions[i];
        int cycles = in->control.stall;
        for (int place = 0; place < NATIVE_REGISTERS_END; place++)
            if (native_has(&in->writes, place) || native_has(&in->reads, place))
                follow_place(t, code, file, i, place);
        for (int k = i + 1; k < code->blocks[code->block_of[i]].end && cycles < MOST / 4; k++) {
            note(&t->space[in->form->pipe][code->instructions[k].form->pipe], cycles, file, in, &code->instructions[k]);
            cycles += code->instructions[k].control.stall;
        }
    }
}

static void print(const char *what, const char *first, const char *kind, const char *second, const struct least *l)
{
    if (l->seen)
        printf("%-8s %-12s %-5s %-12s %3d of %6d: %s\n", what, first, kind, second, l->cycles, l->seen, l->where);
}

static void print_table(const struct table *t)
{
    static const char *const kinds[NATIVE_KINDS] = {"R", "P", "UR", "UP", "HIGH"}, *const ports[] = {"guard", "addend",
                                                                                                     "addend_high"};
    for (int p = 0; p < PIPE_COUNT; p++)
        for (int k = 0; k < NATIVE_KINDS; k++)
            for (int q = 0; q < NATIVE_PORTS; q++)
                print("LATENCY", native_pipe_names[p], kinds[k],
                      q < PIPE_COUNT ? native_pipe_names[q] : ports[q - PIPE_COUNT], &t->latencies[p][k][q]);
    for (int p = 0; p < PIPE_COUNT; p++)
        for (int q = 0; q < PIPE_COUNT; q++) {
            print("OVER", native_pipe_names[p], "", native_pipe_names[q], &t->over[p][q]);
            print("LATE", native_pipe_names[p], "", native_pipe_names[q], &t->after[p][q]);
            print("SPACE", native_pipe_names[p], "", native_pipe_names[q], &t->space[p][q]);
        }
}

bool least_print(int count, char **files)
{
    struct table *t = calloc(1, sizeof *t);
    bool good = t != NULL;
    for (int i = 0; i < count && good; i++) {
        struct arena *arena = arena_create();
        struct buffer bytes = {0};
        struct cubin_kernel *kernels;
        const char *problem, *slash = strrchr(files[i], '/');
        int architecture, kernel_count = 0;
        good = file_read(files[i], 0, &bytes) &&
               cubin_read(arena, bytes.data, bytes.size, &architecture, &kernel_count, &kernels, &problem);
        for (int k = 0; k < kernel_count && good; k++) {
            struct native_code *code = nvptx_decode(arena, architecture, &kernels[k], bytes.data);
            if (!code->problem)
                add_code(t, code, slash ? slash + 1 : files[i]);
        }
        buffer_free(&bytes);
        arena_destroy(arena);
    }
    if (good)
        print_table(t);
    free(t);
    return good;
}
