/* The command `tilecc tune`: schedules of kernels measured over calls of the user's, and a file written that takes the
 * better ones by --tuning (tune/).  What is measured goes to a log at once, so that the same command goes on where it was
 * interrupted. */
#include "driver/tune/tune.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/folder.h"

enum { USUAL_BUDGET = 600, MOST_FINALISTS = 16 };
static const double usual_seconds = 0.1, search_part = 0.25; /* of a call; of them for a first look */

double tune_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double seconds_of(const struct tune *tune)
{
    return tune->options->bench_seconds > 0 ? tune->options->bench_seconds : usual_seconds;
}

static double budget_of(const struct tune *tune)
{
    return tune->options->tune_budget > 0 ? tune->options->tune_budget : USUAL_BUDGET;
}

/* About what a program takes that runs all calls of the unit once. */
static double run_seconds(const struct tune *tune, const struct tune_unit *unit)
{
    return 0.2 + seconds_of(tune) * unit->calls.count;
}

static bool may_tune(const struct options *options)
{
    bool good = options->emit == EMIT_OBJECT && !options->syntax_only && !options->interpret && !options->passes &&
                !options->dependencies && !options->dry_run && !options->cxx_namespace && !options->shared_header &&
                !options->specs.count && !options->tunings.count && !options->save_temps;
    if (!good)
        driver_error(options,
                     "'tilecc tune' makes what it measures: it takes no --spec, --tuning, -S, --emit, -fsyntax-only, "
                     "--interpret, --passes, -MD, -fc++, --shared-header, --save-temps and --dryrun");
    else if (options->targets.count > 1)
        driver_error(options, "'tilecc tune' measures one architecture, the device's");
    return good && options->targets.count <= 1;
}

/* ---- candidates ---- */

/* What a candidate and the default took in one round, to the log. */
static bool log_round(struct tune *tune, const struct tune_unit *unit, int number, int round,
                      const struct bench_samples *taken, const struct bench_samples *standard)
{
    struct tune_result *results = ARENA_ARRAY(tune->arena, struct tune_result, unit->calls.count);
    for (int i = 0; i < unit->calls.count; i++)
        results[i] = (struct tune_result){.kernel = unit->kernel,
                                          .values = unit->values[number],
                                          .call = tune->log.calls.data[unit->calls.data[i]].text,
                                          .round = round,
                                          .taken = taken[i],
                                          .standard = standard[i]};
    return tune_log_results(tune, unit->calls.count, results);
}

static struct bench_samples *medians_of(struct tune *tune, const struct tune_unit *unit,
                                        const struct bench_samples *samples)
{
    struct bench_samples *medians = ARENA_ARRAY(tune->arena, struct bench_samples, unit->calls.count);
    for (int i = 0; i < unit->calls.count; i++) {
        medians[i] = (struct bench_samples){1, ARENA_ARRAY(tune->arena, double, 1)};
        medians[i].data[0] = bench_median(&samples[i]);
    }
    return medians;
}

/* False: said. */
static bool drop(struct tune *tune, struct tune_unit *unit, int number, const char *reason)
{
    if (tune->machine_failed) {
        driver_error(tune->options, "tune: %s [%s] cannot be measured: %s", unit->kernel, unit->values[number], reason);
        return false;
    }
    search_note(unit, number, NULL);
    if (tune->options->verbose)
        fprintf(stderr, "tilecc: %s [%s]: dropped: %s\n", unit->kernel, unit->values[number], reason);
    return tune_log_dropped(tune, (struct tune_dropped){unit->kernel, unit->values[number], reason});
}

static void show(struct tune *tune, const struct tune_unit *unit, int number)
{
    progress_show(tune->progress, arena_printf(tune->arena, "%s [%s], %.0f s left", unit->kernel, unit->values[number],
                                               fmax(0, tune->end - tune_clock())));
}

/* The default's program, whose run tells the device and the facts; false: said. */
static bool make_ready(struct tune *tune, struct tune_unit *unit, enum exit_code *code)
{
    struct bench_samples *samples = ARENA_ARRAY(tune->arena, struct bench_samples, unit->calls.count);
    if (unit->ready)
        return true;
    if (!build_begin(tune, unit, code))
        return false;
    const char *reason = build_run(tune, unit, 0, 1e-9, true, samples), *device = unit->bench.device;
    if (reason || !device) {
        driver_error(tune->options, "tune: the default schedule of %s cannot be measured: %s", unit->kernel,
                     reason ? reason : "no device is told");
        return *code = EXIT_TOOL, false;
    }
    if (tune->log.device && strcmp(tune->log.device, device) != 0) {
        driver_error(tune->options, "'%s' was measured on %s, and this is %s; remove it, or write elsewhere (-o)",
                     tune->log_path, tune->log.device, device);
        return *code = EXIT_USAGE, false;
    }
    tune->log.device = device;
    tune->log.driver = unit->bench.driver;
    bool good = tune_log_calls(tune, unit);
    *code = good ? *code : EXIT_FILE;
    return good;
}

/* A first look at so many candidates.  False: said. */
static bool try_batch(struct tune *tune, struct tune_unit *unit, int count, const int *numbers, enum exit_code *code)
{
    const char *reasons[TUNE_BATCH];
    struct bench_samples *standard = ARENA_ARRAY(tune->arena, struct bench_samples, unit->calls.count),
                         *taken = ARENA_ARRAY(tune->arena, struct bench_samples, unit->calls.count);
    float *scores = ARENA_ARRAY(tune->arena, float, unit->calls.count);
    double seconds = seconds_of(tune) * search_part;
    bool good = true;
    build_make(tune, unit, count, numbers, reasons);
    const char *failed = build_run(tune, unit, 0, seconds, false, standard);
    if (failed) {
        driver_error(tune->options, "tune: the default schedule of %s cannot be measured: %s", unit->kernel, failed);
        return *code = EXIT_TOOL, false;
    }
    struct bench_samples *medians = medians_of(tune, unit, standard);
    for (int i = 0; i < count && good; i++) {
        show(tune, unit, numbers[i]);
        const char *reason = reasons[i] ? reasons[i] : build_run(tune, unit, numbers[i], seconds, true, taken);
        struct bench_samples *own = reason ? NULL : medians_of(tune, unit, taken);
        for (int k = 0; own && k < unit->calls.count; k++)
            scores[k] = logf((float)(own[k].data[0] / medians[k].data[0]));
        if (own)
            search_note(unit, numbers[i], scores);
        good = own ? log_round(tune, unit, numbers[i], 0, own, medians) : drop(tune, unit, numbers[i], reason);
        build_remove(unit, numbers[i]);
        progress_pass(tune->progress, 1);
    }
    *code = good ? *code : EXIT_FILE;
    return good;
}

/* ---- rounds beside the default ---- */

static bool has_rounds(const struct tune *tune, const struct tune_unit *unit, int number)
{
    for (int i = 0; i < unit->calls.count; i++)
        for (int round = 1; round <= TUNE_ROUNDS; round++)
            if (!tune_log_find(&tune->log, unit->kernel, unit->values[number],
                               tune->log.calls.data[unit->calls.data[i]].text, round))
                return false;
    return true;
}

static bool run_round(struct tune *tune, struct tune_unit *unit, int round, int count, int *numbers)
{
    struct bench_samples *standard = ARENA_ARRAY(tune->arena, struct bench_samples, unit->calls.count),
                         *taken = ARENA_ARRAY(tune->arena, struct bench_samples, unit->calls.count);
    for (int i = 0; i < count; i++) {
        int turn = (i + round) % count; /* none is always behind the same */
        if (numbers[turn] < 0)
            continue;
        show(tune, unit, numbers[turn]);
        const char *reason = build_run(tune, unit, 0, seconds_of(tune), false, standard);
        reason = reason ? reason : build_run(tune, unit, numbers[turn], seconds_of(tune), false, taken);
        bool good = reason ? drop(tune, unit, numbers[turn], reason)
                           : log_round(tune, unit, numbers[turn], round, taken, standard);
        numbers[turn] = reason ? -1 : numbers[turn];
        if (!good)
            return false;
    }
    return true;
}

/* Of so many schedules those that there is time for, the best two at least; `left`: units that are still to come. */
static int affordable(const struct tune *tune, const struct tune_unit *unit, int count, int left)
{
    double runs = (tune->end - tune_clock()) / left / run_seconds(tune, unit) / (2 * TUNE_ROUNDS);
    int least = count < 2 ? count : 2;
    return runs >= count + 1 ? count : runs > least + 1 ? (int)runs - 1 : least;
}

static bool run_rounds(struct tune *tune, struct tune_unit *unit, int left, enum exit_code *code)
{
    int numbers[MOST_FINALISTS], open[MOST_FINALISTS], count = 0;
    int most = 2 * tune->most;
    int best = search_best(unit, most < MOST_FINALISTS ? most : MOST_FINALISTS, numbers);
    const char *reasons[MOST_FINALISTS];
    for (int i = 0; i < best; i++)
        if (!has_rounds(tune, unit, numbers[i]))
            open[count++] = numbers[i];
    count = affordable(tune, unit, count, left);
    if (!count)
        return true;
    if (!make_ready(tune, unit, code))
        return false;
    build_make(tune, unit, count, open, reasons);
    bool good = true;
    for (int i = 0; i < count && good; i++)
        if (reasons[i]) {
            good = drop(tune, unit, open[i], reasons[i]);
            open[i] = -1;
        }
    for (int round = 1; round <= TUNE_ROUNDS && good; round++)
        good = run_round(tune, unit, round, count, open);
    *code = good ? *code : EXIT_FILE;
    return good;
}

/* ---- what it brings ---- */

/* The object that the file makes, as its callers get it, beside the default.  NULL, or why it cannot be measured. */
static const char *measure_tuned(struct tune *tune, struct tune_unit *unit, struct bench_samples *taken,
                                 struct bench_samples *standard)
{
    struct bench_samples *samples = ARENA_ARRAY(tune->arena, struct bench_samples, unit->calls.count);
    const char *reason = build_tuned(tune, unit);
    for (int i = 0; i < unit->calls.count; i++) {
        taken[i].data = ARENA_ARRAY(tune->arena, double, BENCH_MOST_SAMPLES);
        standard[i].data = ARENA_ARRAY(tune->arena, double, BENCH_MOST_SAMPLES);
    }
    for (int run = 0; run < 2 * TUNE_ROUNDS && !reason; run++) {
        bool tuned = run % 2;
        reason = build_run(tune, unit, tuned ? unit->space.count : 0, seconds_of(tune), run < 2, samples);
        for (int i = 0; i < unit->calls.count && !reason; i++)
            bench_add_samples(tuned ? &taken[i] : &standard[i], &samples[i]);
    }
    build_remove(unit, unit->space.count);
    return reason;
}

/* Of the instances that were measured now: the gain of all, and which calls lose. */
static bool verify(struct tune *tune)
{
    double sum = 0;
    int calls = 0;
    for (int u = 0; u < tune->units.count; u++) {
        struct tune_unit *unit = &tune->units.data[u];
        struct bench_samples *taken = ARENA_ARRAY(tune->arena, struct bench_samples, unit->calls.count),
                             *standard = ARENA_ARRAY(tune->arena, struct bench_samples, unit->calls.count);
        const char *reason = unit->ready ? measure_tuned(tune, unit, taken, standard) : NULL;
        if (reason) {
            driver_error(tune->options, "tune: what '%s' makes of %s cannot be measured: %s", tune->output,
                         unit->kernel, reason);
            return false;
        }
        for (int i = 0; i < unit->calls.count && unit->ready; i++, calls++) {
            struct bench_ratio r = bench_compare(&taken[i], &standard[i]);
            sum -= log(r.ratio);
            if (bench_is_slower(r))
                printf("%s takes %.3f of the default's time with --tuning (95 %%: %.3f to %.3f)\n",
                       tune->log.calls.data[unit->calls.data[i]].text, r.ratio, r.low, r.high);
        }
    }
    if (calls)
        printf("with --tuning=%s, measured again: %.3fx of the default in the mean of %d calls\n", tune->output,
               exp(sum / calls), calls);
    return true;
}

/* ---- the order of steps ---- */

/* What the rounds and the measurement of what was chosen will take. */
static double reserve(const struct tune *tune)
{
    double wanted = 0;
    for (int i = 0; i < tune->units.count; i++)
        wanted += 2 * TUNE_ROUNDS * (2 * tune->most + 1) * run_seconds(tune, &tune->units.data[i]);
    return fmin(wanted, 0.5 * budget_of(tune));
}

static bool search_all(struct tune *tune, enum exit_code *code)
{
    double end = tune->end - reserve(tune);
    for (bool any = true; any && tune_clock() < end;) {
        any = false;
        for (int i = 0; i < tune->units.count && tune_clock() < end; i++) {
            struct tune_unit *unit = &tune->units.data[i];
            int numbers[TUNE_BATCH], count = search_next(tune, unit, TUNE_BATCH, numbers);
            any = any || count;
            if (count && (!make_ready(tune, unit, code) || !try_batch(tune, unit, count, numbers, code)))
                return false;
        }
    }
    return true;
}

static bool list_spaces(struct tune *tune, enum exit_code *code)
{
    for (int i = 0; i < tune->units.count; i++) {
        struct tune_unit *unit = &tune->units.data[i];
        struct options options = *tune->options;
        struct run together = {0};
        options.specs.count = options.specs.capacity = 1;
        options.specs.data = ARENA_ARRAY(tune->arena, const char *, 1);
        options.specs.data[0] = unit->kernel;
        options.no_warnings = true;
        tune->asked = unit;
        *code = compile_file(&options, tune->bench.source, &together);
        tune->asked = NULL;
        if (*code != EXIT_OK)
            return false;
        if (unit->space.more)
            fprintf(stderr, "tilecc: %s: `tune` spans more schedules than are looked at, of which there are %d\n",
                    unit->kernel, unit->space.count);
    }
    return true;
}

static bool write_all(struct tune *tune)
{
    struct tune_heads heads = {0};
    struct buffer text = {0}, table = {0};
    choose_all(tune->arena, &tune->log, tune->most, &heads);
    for (int i = 0; i < heads.count; i++)
        tune->chosen += heads.data[i].clause_count;
    write_tuning(&text, &tune->log, &heads);
    bool good = driver_write(tune->options, tune->output, text.data, text.size);
    write_table(&table, &tune->log, &heads);
    fwrite(table.data, 1, table.size, stdout);
    buffer_free(&text);
    buffer_free(&table);
    return good;
}

static bool begin_units(struct tune *tune, enum exit_code *code)
{
    int remaining = 0, all = 0;
    if (!list_spaces(tune, code))
        return false;
    for (int i = 0; i < tune->units.count; i++)
        all += tune->units.data[i].space.count - 1;
    if (!all) {
        driver_error(tune->options,
                     "tune: the instances of these calls have no choice: `tune` lists no values for them");
        return *code = EXIT_USAGE, false;
    }
    *code = EXIT_FILE;
    if (!tune_log_resume(tune))
        return false;
    *code = EXIT_OK;
    for (int i = 0; i < tune->units.count; i++) {
        search_begin(tune, &tune->units.data[i]);
        remaining += tune->units.data[i].remaining;
    }
    if (tune->skipped)
        fprintf(stderr, "tilecc: the trace has calls of kernels that the source does not have, such as %s\n",
                tune->skipped);
    if (tune->left_out)
        fprintf(stderr, "tilecc: %d calls of the trace are not measured; %d are, those that came most often first\n",
                tune->left_out, tune->log.calls.count);
    int calls = tune->log.calls.count, units = tune->units.count;
    fprintf(stderr, "tilecc: %d call%s of %d instance%s, %d schedule%s beside the defaults, %d of them new\n", calls,
            calls == 1 ? "" : "s", units, units == 1 ? "" : "s", all, all == 1 ? "" : "s", remaining);
    progress_expect(tune->progress, remaining);
    return true;
}

static enum exit_code measure_and_write(struct tune *tune, struct options *options)
{
    struct run together = {0};
    enum exit_code code = compile_file(options, tune->bench.source, &together);
    if (code != EXIT_OK || !begin_units(tune, &code))
        return code;
    bool good = search_all(tune, &code);
    for (int i = 0; i < tune->units.count && good; i++)
        good = run_rounds(tune, &tune->units.data[i], tune->units.count - i, &code);
    progress_clear(tune->progress);
    if (good && !write_all(tune))
        code = EXIT_FILE;
    else if (good && tune->chosen && !verify(tune))
        code = EXIT_TOOL;
    return code;
}

/* ---- logs joined ---- */

static bool join(struct tune *tune, const char *path)
{
    struct tune_log log, *all = &tune->log;
    const char *problem;
    size_t bytes;
    if (!tune_log_read(tune->arena, path, &log, &bytes, &problem) || !log.content) {
        driver_error(tune->options, "cannot take '%s': %s", path, problem ? problem : "it is empty");
        return false;
    }
    if (!all->content) {
        *all = log;
        return true;
    }
    if (strcmp(all->content, log.content) != 0 || strcmp(all->device, log.device) != 0) {
        driver_error(tune->options, "'%s' is of another %s than the logs before it", path,
                     strcmp(all->device, log.device) != 0 ? "device" : "source, option or tilecc");
        return false;
    }
    for (int i = 0; i < log.calls.count; i++) {
        bool known = false;
        for (int k = 0; k < all->calls.count; k++)
            known = known || strcmp(all->calls.data[k].text, log.calls.data[i].text) == 0;
        if (!known && !tune_log_fits(all, &log.calls.data[i])) {
            driver_error(tune->options, "'%s' has %s than the logs before it", path,
                         all->calls.count == BENCH_MOST_CALLS ? "more calls" : "other names in its calls");
            return false;
        }
        if (!known)
            vector_push(tune->arena, &all->calls, log.calls.data[i]);
    }
    for (int i = 0; i < log.results.count; i++)
        vector_push(tune->arena, &all->results, log.results.data[i]);
    return true;
}

static enum exit_code merge(struct tune *tune)
{
    const struct options *options = tune->options;
    if (!options->files.count || !options->output) {
        driver_error(options, "tune --merge needs logs and -o: tilecc tune --merge a.log b.log -o k.tuning");
        return EXIT_USAGE;
    }
    if (options->tune_parts || options->tune_traces.count || options->tune_budget > 0 || options->tune_seed) {
        driver_error(options, "tune --merge measures nothing: it takes no --part, --trace, --budget and --seed");
        return EXIT_USAGE;
    }
    tune->output = options->output;
    tune->most = options->schedules;
    for (int i = 0; i < options->files.count; i++)
        if (!join(tune, options->files.data[i]))
            return EXIT_FILE;
    return write_all(tune) ? EXIT_OK : EXIT_FILE;
}

/* What is asked for: the source and the calls of the words and of traces. */
static bool take_words(struct tune *tune, struct options *options)
{
    if (!bench_take_words(&tune->bench, options))
        return false;
    for (int i = 0; i < options->tune_traces.count; i++)
        if (!tune_read_trace(tune, options->tune_traces.data[i]))
            return false;
    if (tune->unknown)
        fprintf(stderr,
                "tilecc: calls of the trace with `?` for what is behind a pointer are not measured, such as %s\n",
                tune->unknown);
    if (!tune->bench.call_count && !tune->traced.count)
        driver_error(options, "there is no call to measure");
    return tune->bench.call_count || tune->traced.count;
}

enum exit_code tune_main(const struct options *given)
{
    struct options options = *given;
    struct tune tune = {.options = &options, .arena = options.arena, .log_file = -1};
    tune.bench = (struct bench){.options = &options, .arena = options.arena, .command = "tune"};
    if (!may_tune(&options))
        return EXIT_USAGE;
    if (options.tune_merge)
        return merge(&tune);
    if (!take_words(&tune, &options) || !bench_has_output(&tune.bench, &options))
        return EXIT_USAGE;
    tune.bench.compiler = tool_find_compiler(&options);
    if (!tune.bench.compiler) {
        driver_error(&options, "tune needs a C compiler, and there is none in PATH");
        return EXIT_ENVIRONMENT;
    }
    bench_choose_target(&tune.bench, &options);
    tune.target = options.targets.data[0];
    tune.log.source = arena_printf(tune.arena, "%s.tile", compile_stem(&options, tune.bench.source));
    tune.log.target = target_rows[tune.target].name;
    tune.output = options.output ? options.output
                                 : arena_printf(tune.arena, "%s.tuning", compile_stem(&options, tune.bench.source));
    tune.log_path = arena_printf(tune.arena, "%s.log", tune.output);
    if (!folder_make(tune.arena, "tilecc-tune", &tune.folder)) {
        driver_error(&options, "cannot make the folder '%s': %s", tune.folder.path, strerror(errno));
        return EXIT_FILE;
    }
    tune.progress = progress_open(tune.arena);
    tune.end = tune_clock() + budget_of(&tune);
    tune.most = options.schedules;
    options.output = NULL;
    options.schedules = 1; /* of what is compiled: no model chooses beside it */
    options.tune = &tune;
    enum exit_code code = measure_and_write(&tune, &options);
    folder_remove(&tune.folder);
    if (tune.log_file >= 0)
        close(tune.log_file);
    return code;
}
