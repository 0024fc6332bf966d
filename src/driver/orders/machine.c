/* The program of serve.h, talked to.  A code that stops the GPU ends it, and it is started again. */
#include "driver/orders/orders.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    START_SECONDS = 120,
    LOAD_SECONDS = 20,
    TIME_SECONDS = 20,
    CHECK_SECONDS = 120,
    MOST_KERNELS = 64,
    MOST_LAUNCHES = 400
};
/* Of launches between two looks at the clock, which are off by up to 1 us each: fewer and longer ones say more in the same
 * time. */
static const double batch_nanoseconds = 400e3;

/* One kernel, and the calls that launch it. */
struct runner {
    struct orders_program *program;
    int kernel, *calls;
};

static const char *word_behind(const char *line, const char *word)
{
    size_t length = strlen(word);
    return strncmp(line, word, length) == 0 && line[length] == ' ' ? line + length + 1 : NULL;
}

static bool fail(struct orders_program *program, const char *problem)
{
    program->problem = problem;
    return false;
}

/* "K SYMBOL PATH", where the path may hold anything but a line's end. */
static bool read_image(struct orders_program *program, const char *words)
{
    char *symbol;
    long number = strtol(words, &symbol, 10);
    size_t size = *symbol == ' ' ? strcspn(++symbol, " ") : 0;
    if (!size || !symbol[size] || number != program->kernel_count)
        return fail(program, "it says what it should not");
    struct orders_kernel *kernel = &program->kernels[program->kernel_count++];
    kernel->symbol = arena_substring(program->arena, symbol, size);
    kernel->path = arena_string(program->arena, symbol + size + 1);
    return true;
}

/* False: `problem`. */
static bool read_line(struct orders_program *program, int *call, const char *line)
{
    const char *rest;
    if ((rest = word_behind(line, "failed")))
        return fail(program, rest);
    if ((rest = word_behind(line, "device")))
        program->device = rest;
    if ((rest = word_behind(line, "driver")))
        program->driver = rest;
    if ((rest = word_behind(line, "call")))
        *call = (int)strtol(rest, NULL, 10);
    if ((rest = word_behind(line, "kernel")) && *call >= 0 && *call < program->call_count) {
        char *end;
        program->calls[*call].kernel = (int)strtol(rest, &end, 10);
        program->calls[*call].nanoseconds = strtod(end, NULL);
    }
    return !(rest = word_behind(line, "image")) || program->kernel_count == MOST_KERNELS || read_image(program, rest);
}

bool orders_program_start(struct orders_program *program)
{
    const char *words[] = {program->path, program->folder, NULL}, *line;
    int call = -1;
    if (!partner_start(&program->partner, words, program->folder))
        return fail(program, "it cannot be run");
    if (!program->kernels) { /* else what is known stays, also where it cannot begin anew now and can later */
        program->calls = ARENA_ARRAY(program->arena, struct orders_call, program->call_count);
        program->kernels = ARENA_ARRAY(program->arena, struct orders_kernel, MOST_KERNELS);
    }
    program->kernel_count = 0;
    while ((line = partner_hear(&program->partner, program->arena, START_SECONDS)) && strcmp(line, "ready") != 0)
        if (!read_line(program, &call, line))
            return false;
    if (!line)
        return fail(program, "it ended, or said nothing for two minutes");
    return true;
}

static void stop(struct orders_program *program) { partner_end(&program->partner); }

void orders_program_end(struct orders_program *program)
{
    stop(program);
    if (program->answers)
        arena_destroy(program->answers);
    program->answers = NULL;
}

/* The answer to a command, and bytes behind it; NULL: it ended, and runs again. */
static const char *ask(struct orders_program *program, const char *command, const void *bytes, size_t size, int seconds)
{
    const char *line = NULL;
    if (program->answers) /* only the last one is looked at */
        arena_destroy(program->answers);
    program->answers = arena_create();
    if (partner_send(&program->partner, command, strlen(command)) && partner_send(&program->partner, bytes, size))
        line = partner_hear(&program->partner, program->answers, seconds);
    if (line && !word_behind(line, "failed"))
        return line;
    stop(program);
    orders_program_start(program); /* where this fails, so does all that is asked of it */
    return NULL;
}

static double read_clock(void *context)
{
    struct timespec now;
    (void)context;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bool load(void *context, int slot, const struct native_code *code)
{
    struct runner *runner = context;
    const struct orders_kernel *kernel = &runner->program->kernels[runner->kernel];
    struct cubin_part part = kernel->code;
    unsigned char *text = malloc(part.size);
    char command[128];
    if (!text)
        return false;
    native_encode(code, text);
    snprintf(command, sizeof command, "load %d %d %zu %zu\n", runner->kernel, slot, part.offset, part.size);
    bool good = ask(runner->program, command, text, part.size, LOAD_SECONDS) != NULL;
    free(text);
    return good;
}

static bool time_pairs(void *context, int call, const int slots[2], int pairs, bool cold, double (*taken)[2])
{
    struct runner *runner = context;
    int number = runner->calls[call];
    double launches = batch_nanoseconds / runner->program->calls[number].nanoseconds;
    char command[128], *end;
    snprintf(command, sizeof command, "time %d %d %d %d %d %d\n", number, slots[0], slots[1], pairs,
             cold                       ? 1
             : launches < 1             ? 1
             : launches > MOST_LAUNCHES ? MOST_LAUNCHES
                                        : (int)launches,
             cold);
    const char *line = ask(runner->program, command, "", 0, TIME_SECONDS),
               *rest = line ? word_behind(line, "times") : NULL;
    for (int i = 0; i < 2 * pairs && rest; i++, rest = end) {
        taken[i / 2][i % 2] = strtod(rest, &end);
        if (end == rest || !(taken[i / 2][i % 2] > 0))
            return false;
    }
    return rest != NULL;
}

static enum orders_verdict check(void *context, int call, const int slots[2], int64_t first, int64_t count,
                                 int64_t *elements)
{
    struct runner *runner = context;
    char command[128];
    snprintf(command, sizeof command, "check %d %d %d %lld %lld\n", runner->calls[call], slots[0], slots[1],
             (long long)first, (long long)count);
    const char *line = ask(runner->program, command, "", 0, CHECK_SECONDS), *rest;
    if (line && (rest = word_behind(line, "same"))) {
        *elements = strtoll(rest, NULL, 10);
        return ORDERS_SAME;
    }
    return line && word_behind(line, "differs") ? ORDERS_DIFFERS : ORDERS_FAILED;
}

struct orders_machine orders_program_machine(struct orders_program *program, int kernel)
{
    struct runner *runner = ARENA_NEW(program->arena, struct runner);
    struct orders_machine machine = {
        .context = runner, .clock = read_clock, .load = load, .time = time_pairs, .check = check};
    *runner = (struct runner){program, kernel, ARENA_ARRAY(program->arena, int, program->call_count)};
    for (int i = 0; i < program->call_count; i++)
        if (program->calls[i].kernel == kernel)
            runner->calls[machine.call_count++] = i;
    return machine;
}
