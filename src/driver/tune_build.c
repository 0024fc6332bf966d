/* Programs of schedules, made and run.  It stands beside the folder tune/, as it starts compilations, which call the folder
 * (compile.c).
 *
 * The folder of a unit holds the calls as a C program, which all its programs have in common, the run time, a folder for
 * each candidate, by its number, with its kernels and its program (0: the default), and folders with what calls have written
 * by the default and by another (tune/results.c).
 *
 * Each candidate is compiled and linked in a process of its own, several at a time, and measured by itself. */
#include "driver/tune/tune.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *path_of(const struct tune_unit *unit, const char *name)
{
    return arena_printf(unit->bench.arena, "%s/%s", unit->bench.folder, name);
}

/* "softmax<f16>[B=1024, warps=8]" */
static const char *spec_of(struct arena *arena, const struct tune_unit *unit, const char *values)
{
    size_t length = strlen(unit->kernel);
    if (!*values)
        return unit->kernel;
    if (unit->kernel[length - 1] == ']')
        return arena_printf(arena, "%.*s, %s]", (int)length - 1, unit->kernel, values);
    return arena_printf(arena, "%s[%s]", unit->kernel, values);
}

struct task {
    struct tune *tune;
    struct tune_unit *unit;
    const int *numbers;
};

/* The first line that says an error, else the first one; of a linker, which has said more before, the first one. */
static const char *first_error(struct arena *arena, const char *text)
{
    const char *error = text ? strstr(text, "error: ") : NULL;
    if (error && strncmp(error, "error: ld returned", 18) == 0)
        error = NULL;
    if (!text || !*text)
        return NULL;
    error = error ? error + strlen("error: ") : text;
    return arena_substring(arena, error, strcspn(error, "\n"));
}

static const char *file_of(const struct tune_unit *unit, int number, const char *name)
{
    return arena_printf(unit->bench.arena, "%s/%d/%s", unit->bench.folder, number, name);
}

/* NULL, or what the C compiler says. */
static const char *run_compiler(const struct tune *tune, const struct tune_unit *unit, const char *const *words)
{
    struct child_result result;
    const char *reason = bench_start(&unit->bench, words, 300, false, &result), *said = NULL;
    if (reason)
        said = first_error(tune->arena, result.errors.data);
    buffer_free(&result.output);
    buffer_free(&result.errors);
    return reason ? said ? said : reason : NULL;
}

/* What times calls, once for all programs of the unit. */
static const char *compile_measure(const struct tune *tune, const struct tune_unit *unit)
{
    const char *words[] = {tune->bench.compiler, "-O1", "-std=c99", "-D_GNU_SOURCE", "-w", "-c", "measure.c", "-o",
                           "measure.o",          NULL};
    return run_compiler(tune, unit, words);
}

static const char *link_program(const struct tune *tune, const struct tune_unit *unit, int number)
{
    const char *words[] = {tune->bench.compiler,
                           "-O1",
                           "-std=c99",
                           "-D_GNU_SOURCE",
                           "-w",
                           "-I",
                           arena_printf(tune->arena, "%d", number),
                           "calls.c",
                           "measure.o",
                           file_of(unit, number, "kernels.o"),
                           "tile_rt.o",
                           "-o",
                           file_of(unit, number, "measure"),
                           "-ldl",
                           "-lpthread",
                           "-lm",
                           NULL};
    const char *reason = run_compiler(tune, unit, words);
    unlink(file_of(unit, number, "kernels.o"));
    unlink(file_of(unit, number, "kernels.h"));
    return reason;
}

/* tuning: a file of schedules, or NULL. */
static enum exit_code compile_one(const struct tune *tune, const struct tune_unit *unit, int number, const char *spec,
                                  const char *tuning, int jobs)
{
    struct options options = *tune->options;
    struct run together = {0};
    const char **texts = ARENA_ARRAY(tune->arena, const char *, 2);
    texts[0] = spec;
    texts[1] = tuning;
    options.specs.count = options.specs.capacity = 1;
    options.specs.data = &texts[0];
    options.tunings.count = options.tunings.capacity = tuning != NULL;
    options.tunings.data = &texts[1];
    options.tune = NULL;
    options.output = file_of(unit, number, "kernels.o");
    options.no_warnings = true;
    options.jobs = jobs;
    mkdir(path_of(unit, arena_printf(tune->arena, "%d", number)), 0777);
    return compile_file(&options, tune->bench.source, &together);
}

static enum exit_code compile_candidate(const struct tune *tune, const struct tune_unit *unit, int number, int jobs)
{
    return compile_one(tune, unit, number, spec_of(tune->arena, unit, unit->values[number]), NULL, jobs);
}

const char *build_tuned(struct tune *tune, struct tune_unit *unit)
{
    int number = unit->space.count;
    enum exit_code code = compile_one(tune, unit, number, unit->kernel, tune->output, tune->options->jobs);
    return code != EXIT_OK ? "it does not compile" : link_program(tune, unit, number);
}

/* What compiles links, as the default does: where it does not, the machine is to blame. */
static int work(void *context, int index, struct buffer *out)
{
    struct task *task = context;
    int number = task->numbers[index];
    (void)out;
    close(task->tune->log_file); /* nobody has to wait for us who goes on with it */
    enum exit_code code = compile_candidate(task->tune, task->unit, number, 1);
    if (code != EXIT_OK)
        return (int)code;
    const char *reason = link_program(task->tune, task->unit, number);
    if (reason)
        driver_error(task->tune->options, "%s cannot make the program: %s", task->tune->bench.compiler, reason);
    return reason ? EXIT_FILE : EXIT_OK;
}

void build_make(struct tune *tune, struct tune_unit *unit, int count, const int *numbers, const char **reasons)
{
    struct task task = {tune, unit, numbers};
    struct child_result *done = ARENA_ARRAY(tune->arena, struct child_result, count);
    struct child_limits limits = {.seconds = tune->options->tool_seconds, .output_bytes = 64 << 20};
    struct jobs jobs;
    jobs_acquire(&jobs, tune->options, count);
    workers_run(work, &task, count, jobs.count, limits, done);
    jobs_release(&jobs);
    for (int i = 0; i < count; i++) {
        const char *error = first_error(tune->arena, done[i].errors.data);
        worker_check_machine(&done[i]);
        reasons[i] = done[i].timed_out   ? "compiling it took too long"
                     : done[i].exit_code ? error ? error : "it does not compile"
                                         : NULL;
        tune->machine_failed |= done[i].exit_code == EXIT_FILE || done[i].exit_code == EXIT_ENVIRONMENT;
        buffer_free(&done[i].output);
        buffer_free(&done[i].errors);
    }
}

void build_remove(const struct tune_unit *unit, int number)
{
    unlink(file_of(unit, number, "measure"));
    rmdir(path_of(unit, arena_printf(unit->bench.arena, "%d", number)));
}

/* The calls of the unit, without what came of them. */
static void take_calls(const struct tune *tune, struct tune_unit *unit)
{
    unit->bench = tune->bench;
    unit->bench.folder = arena_printf(tune->arena, "%s/%d", tune->folder.path, (int)(unit - tune->units.data));
    unit->bench.call_count = unit->calls.count;
    unit->bench.calls = ARENA_ARRAY(tune->arena, struct bench_call, unit->calls.count);
    for (int i = 0; i < unit->calls.count; i++)
        unit->bench.calls[i] = *tune->log.calls.data[unit->calls.data[i]].bench;
}

bool build_begin(struct tune *tune, struct tune_unit *unit, enum exit_code *code)
{
    take_calls(tune, unit);
    mkdir(unit->bench.folder, 0777);
    mkdir(path_of(unit, "default"), 0777);
    mkdir(path_of(unit, "other"), 0777);
    *code = compile_candidate(tune, unit, 0, tune->options->jobs);
    if (*code != EXIT_OK || !bench_write_program(&unit->bench, code))
        return false;
    const char *reason = compile_measure(tune, unit);
    if (!reason)
        reason = link_program(tune, unit, 0);
    if (reason) {
        driver_error(tune->options, "%s cannot make the program: %s", tune->bench.compiler, reason);
        return *code = EXIT_TOOL, false;
    }
    unit->ready = true;
    return true;
}

/* As many as a log needs, from first to last. */
static struct bench_samples thin(struct arena *arena, const struct bench_samples *all)
{
    struct bench_samples s = {.count = all->count < TUNE_KEPT_SAMPLES ? all->count : TUNE_KEPT_SAMPLES};
    s.data = ARENA_ARRAY(arena, double, s.count);
    for (int i = 0; i < s.count; i++)
        s.data[i] = all->data[(int64_t)i * all->count / s.count];
    return s;
}

static const char *take_results(const struct tune *tune, const struct tune_unit *unit, struct bench_samples *samples)
{
    for (int i = 0; i < unit->bench.call_count; i++) {
        struct bench_call *call = &unit->bench.calls[i];
        if (call->failed)
            return arena_printf(tune->arena, "%s: %s", call->text, call->failed);
        samples[i] = thin(tune->arena, &call->samples);
    }
    return NULL;
}

const char *build_run(struct tune *tune, struct tune_unit *unit, int number, double seconds, bool compares,
                      struct bench_samples *samples)
{
    struct arena *arena = tune->arena;
    const char *words[] = {file_of(unit, number, "measure"),
                           tune->bench.on_gpu ? "gpu" : "cpu",
                           tune->options->bench_warm ? "warm" : "cold",
                           arena_printf(arena, "%g", seconds),
                           !compares ? "-" : path_of(unit, number ? "other" : "default"),
                           "alone",
                           NULL};
    struct child_result result;
    int limit = 120 + (int)(4 * seconds * unit->bench.call_count);
    for (int i = 0; i < unit->bench.call_count; i++) {
        unit->bench.calls[i].samples.count = 0;
        unit->bench.calls[i].failed = unit->bench.calls[i].variant = NULL;
    }
    const char *reason = bench_start(&unit->bench, words, limit, true, &result);
    tune->machine_failed |= reason && (result.not_started || result.exit_code == EXIT_FILE);
    if (!reason)
        bench_read_output(&unit->bench, result.output.data ? result.output.data : "");
    buffer_free(&result.output);
    buffer_free(&result.errors);
    if (!reason)
        reason = take_results(tune, unit, samples);
    if (!reason && compares && number)
        reason = results_compare(unit);
    return reason;
}
