/* The program of `tilecc bench` compiled, run, and its words read (measure.h lists them). */
#include "driver/bench/bench.h"

#include <stdlib.h>
#include <string.h>

static const char *word_behind(const char *line, const char *word)
{
    size_t length = strlen(word);
    return strncmp(line, word, length) == 0 && line[length] == ' ' ? line + length + 1 : NULL;
}

/* Why the program gave up: its last line is "failed there is no NVIDIA driver". */
static const char *last_reason(struct arena *arena, const char *text)
{
    size_t size = strlen(text), begin;
    while (size && text[size - 1] == '\n')
        size--;
    for (begin = size; begin && text[begin - 1] != '\n'; begin--)
        ;
    const char *line = arena_substring(arena, text + begin, size - begin), *reason = word_behind(line, "failed");
    return reason ? reason : line;
}

const char *bench_start(const struct bench *bench, const char *const *words, int seconds, bool keeps_environment,
                        struct child_result *result)
{
    struct child_limits limits = {.seconds = seconds,
                                  .output_bytes = 64 << 20,
                                  .path = secure_getenv("PATH"),
                                  .keeps_environment = keeps_environment};
    if (bench->options->verbose) {
        for (int i = 0; words[i]; i++)
            fprintf(stderr, "%s%s", i ? " " : "", words[i]);
        fputc('\n', stderr);
    }
    if (child_run(words, bench->folder, NULL, 0, limits, result))
        return NULL;
    return result->not_started   ? "it cannot be run"
           : result->timed_out   ? "it took too long"
           : result->signal      ? "it crashed"
           : result->output.size ? last_reason(bench->arena, result->output.data)
                                 : "it failed";
}

static bool run_words(const struct bench *bench, const char *const *words, int seconds, bool keeps, const char *what,
                      struct child_result *result)
{
    const char *reason = bench_start(bench, words, seconds, keeps, result);
    if (reason && result->errors.size) /* its own lines */
        fwrite(result->errors.data, 1, result->errors.size, stderr);
    if (reason)
        driver_error(bench->options, "%s %s: %s", words[0], what, reason);
    return !reason;
}

static void read_line(struct bench *bench, struct bench_call **call, const char *line)
{
    const char *rest;
    if ((rest = word_behind(line, "device")))
        bench->device = rest;
    else if ((rest = word_behind(line, "driver")))
        bench->driver = rest;
    else if ((rest = word_behind(line, "clock")))
        bench->megahertz = strtod(rest, NULL);
    else if ((rest = word_behind(line, "processors")))
        bench->processors = strtod(rest, NULL);
    else if ((rest = word_behind(line, "copy")))
        bench->copy = strtod(rest, NULL);
    else if ((rest = word_behind(line, "call"))) {
        long number = strtol(rest, NULL, 10);
        *call = number >= 0 && number < bench->call_count ? &bench->calls[number] : NULL;
        if (*call)
            (*call)->samples.data = ARENA_ARRAY(bench->arena, double, BENCH_MOST_SAMPLES);
    } else if (*call && (rest = word_behind(line, "failed")))
        (*call)->failed = rest;
    else if (*call && (rest = word_behind(line, "variant")))
        (*call)->variant = rest;
    else if (*call && (rest = word_behind(line, "running"))) {
        char *end;
        (*call)->megahertz = strtod(rest, &end);
        (*call)->watts = strtod(end, NULL);
    } else if (*call && (rest = word_behind(line, "sample")) && (*call)->samples.count < BENCH_MOST_SAMPLES)
        (*call)->samples.data[(*call)->samples.count++] = strtod(rest, NULL);
}

void bench_read_output(struct bench *bench, const char *text)
{
    struct bench_call *call = NULL;
    while (*text) {
        size_t size = strcspn(text, "\n");
        read_line(bench, &call, arena_substring(bench->arena, text, size));
        text += size + (text[size] == '\n');
    }
    for (int i = 0; i < bench->call_count; i++)
        if (!bench->calls[i].samples.count && !bench->calls[i].failed)
            bench->calls[i].failed = "the program ended before";
}

enum exit_code bench_run(struct bench *bench)
{
    struct arena *arena = bench->arena;
    const char *program = arena_printf(arena, "%s/measure", bench->folder);
    const char *words[] = {
        bench->compiler, "-O2",       "-std=c99", "-D_GNU_SOURCE", "-w",   "-I.",       "measure.c", "calls.c",
        "kernels.o",     "tile_rt.o", "-o",       "measure",       "-ldl", "-lpthread", "-lm",       NULL};
    double each = bench->options->bench_seconds > 0 ? bench->options->bench_seconds : 1;
    struct child_result result;
    bool good = run_words(bench, words, 300, false, "cannot make the program", &result);
    buffer_free(&result.output);
    buffer_free(&result.errors);
    if (!good)
        return EXIT_TOOL;
    const char *seconds = arena_printf(arena, "%g", each);
    const char *run[] = {
        program, bench->on_gpu ? "gpu" : "cpu", bench->options->bench_warm ? "warm" : "cold", seconds, bench->folder,
        NULL};
    good = run_words(bench, run, 3600 + (int)(each * bench->call_count), true, "failed", &result);
    if (good)
        bench_read_output(bench, result.output.data ? result.output.data : "");
    buffer_free(&result.output);
    buffer_free(&result.errors);
    return good ? EXIT_OK : EXIT_TOOL;
}
