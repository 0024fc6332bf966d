/* The command `tilecc tune --native`: orders of the machine code that calls launch, searched on the GPU, and those that pass
 * the gates written into a file of --tuning (orders/).  It stands beside its folder, as it starts a compilation. */
#include "driver/orders/orders.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/progress.h"
#include "config.h"
#include "driver/bench/bench.h"

enum { USUAL_BUDGET = 60, USUAL_RESTARTS = 2 };
static const double usual_temperature = 0.0005;

struct tuned_orders {
    const struct options *options;
    struct arena *arena;
    struct bench bench;
    struct orders_program program;
    const struct target_row *row;
    const char *output, *journal_path;
    struct progress *progress;
    double seconds;  /* that are left */
    const char *now; /* the kernel that is searched */
    VECTOR(const struct orders_search *) searches;
    VECTOR(const char *) names;
    VECTOR(const char *) digests; /* of all kernels that were searched */
    struct buffer before;         /* the file as it was */
    struct buffer orders;         /* lines of the file */
    int kernels, searched, taken;
    int64_t tried, wrong; /* orders of --trials */
};

static bool may_search(const struct options *options)
{
    bool good = options->emit == EMIT_OBJECT && !options->syntax_only && !options->interpret && !options->passes &&
                !options->dependencies && !options->dry_run && !options->cxx_namespace && !options->shared_header &&
                !options->compress_images && !options->save_temps && !options->tune_parts && !options->tune_merge &&
                !options->tune_traces.count && !options->bench_warm && options->bench_seconds <= 0;
    if (!good)
        driver_error(
            options,
            "'tilecc tune --native' makes what it measures: it takes no -S, --emit, -fsyntax-only, --interpret, "
            "--passes, -MD, -fc++, --shared-header, --compress-images, --save-temps, --dryrun, --part, --merge, --trace, "
            "--warm and --seconds");
    else if (options->targets.count > 1)
        driver_error(options, "'tilecc tune' measures one architecture, the device's");
    bool searches = options->output || options->bench_plot || options->tune_budget > 0 || options->tune_restarts ||
                    options->tune_temperature > 0;
    if (good && options->tune_trials && searches) {
        driver_error(options, "--trials looks for no faster order: it takes no -o, --plot, --budget, --restarts and "
                              "--temperature");
        return false;
    }
    return good && options->targets.count <= 1;
}

/* ---- the program ---- */

/* False: said. */
static bool link_program(struct tuned_orders *t)
{
    const char *words[] = {t->bench.compiler,  "-O1",     "-std=c99",  "-D_GNU_SOURCE", "-w", "-I.",
                           "measure.c",        "calls.c", "kernels.o", "tile_rt.o",     "-o", "measure",
                           "-Wl,--wrap=dlsym", "-ldl",    "-lpthread", "-lm",           NULL};
    struct child_result result;
    const char *reason = bench_start(&t->bench, words, 300, false, &result);
    if (reason && result.errors.size)
        fwrite(result.errors.data, 1, result.errors.size, stderr);
    if (reason)
        driver_error(t->options, "%s cannot make the program: %s", t->bench.compiler, reason);
    buffer_free(&result.output);
    buffer_free(&result.errors);
    return !reason;
}

static bool start_program(struct tuned_orders *t)
{
    t->program = (struct orders_program){.arena = t->arena,
                                         .path = arena_printf(t->arena, "%s/measure", t->bench.folder),
                                         .folder = t->bench.folder,
                                         .call_count = t->bench.call_count};
    bool good = orders_program_start(&t->program);
    if (!good)
        driver_error(t->options, "tune: the kernels cannot be run: %s", t->program.problem);
    return good;
}

/* ---- one kernel ---- */

/* What the answers of a search depend on, beside what it asks. */
static const char *run_of(const struct tuned_orders *t, const struct orders_search *search, const char *digest,
                          const char *start, const char *const *calls)
{
    const struct orders_options *o = &search->options;
    struct buffer all = {0};
    buffer_printf(&all, "%s %s %s %s %x %a %a %d %llu\n", TILECC_VERSION, digest, t->program.device,
                  t->program.driver ? t->program.driver : "", o->moves, o->temperature, o->seconds, o->restarts,
                  (unsigned long long)o->seed);
    for (int i = 0; i < search->machine.call_count; i++)
        buffer_printf(&all, "%s\n", calls[i]);
    buffer_puts(&all, start);
    const char *run = native_digest(t->arena, all.data, all.size);
    buffer_free(&all);
    return run;
}

static void show(void *context, const struct orders_search *search)
{
    struct tuned_orders *t = context;
    struct arena *scratch = arena_create();
    progress_show(t->progress,
                  arena_printf(scratch, "%s: %+.2f %%, %.0f s left", t->now, 100 * (exp(search->best_ratio) - 1),
                               fmax(0, search->options.seconds - search->clock)));
    arena_destroy(scratch);
}

/* The code as ptxas made it, which a search can begin with; NULL: *problem. */
static struct native_code *read_code(struct tuned_orders *t, struct orders_kernel *kernel, const char **digest,
                                     const char **problem)
{
    struct buffer bytes = {0};
    struct cubin_kernel *kernels;
    int architecture, count;
    *problem = file_read(kernel->path, 0, &bytes) ? NULL : strerror(errno);
    if (*problem || !cubin_read(t->arena, bytes.data, bytes.size, &architecture, &count, &kernels, problem)) {
        buffer_free(&bytes);
        return NULL;
    }
    kernel->code = kernels[0].code;
    *digest = native_digest(t->arena, bytes.data + kernel->code.offset, kernel->code.size);
    struct native_code *code = nvptx_decode(t->arena, architecture, &kernels[0], bytes.data);
    buffer_free(&bytes);
    *problem = code->problem                    ? code->problem
               : native_check_times(code, NULL) ? "the order of ptxas is not proved"
                                                : NULL;
    return *problem ? NULL : code;
}

/* The order of the code that the file holds already; "": none. */
static const char *find_before(const struct tuned_orders *t, const char *digest)
{
    const char *head = arena_printf(t->arena, "native %s %s", t->row->name, digest);
    const char *line = t->before.size ? strstr(t->before.data, head) : NULL, *end;
    if (!line || (line != t->before.data && line[-1] != '\n') || !(line = strchr(line, '\n')))
        return "";
    for (end = ++line; *end == ' ' && strchr(end, '\n');)
        end = strchr(end, '\n') + 1;
    return arena_substring(t->arena, line, (size_t)(end - line));
}

static void take_order(struct tuned_orders *t, const char *digest, const char *text, const struct orders_gates *gates)
{
    buffer_printf(&t->orders, "\nnative %s %s # %s: %+.2f %% (%+.2f to %+.2f) on %s\n%s", t->row->name, digest, t->now,
                  100 * (exp(-gates->ratio) - 1), 100 * (exp(-gates->ratio - gates->error) - 1),
                  100 * (exp(-gates->ratio + gates->error) - 1), t->program.device, text);
    t->taken++;
}

/* Searches, and tells on standard output. */
static void search_code(struct tuned_orders *t, const struct native_code *code, const char *digest,
                        const struct orders_machine *machine, const char *const *calls)
{
    const struct options *o = t->options;
    struct orders_search *search = ARENA_NEW(t->arena, struct orders_search);
    struct orders_journal journal;
    struct orders_gates gates;
    struct buffer text = {0}, told = {0};
    const char *start = find_before(t, digest), *problem;
    *search = (struct orders_search){
        .arena = t->arena,
        .machine = *machine,
        .journal = &journal,
        .original = code,
        .start = *start ? native_read_order(code, start, &problem) : NULL,
        .progress = show,
        .progress_context = t,
        .options = {.moves = o->tune_moves,
                    .temperature = o->tune_temperature > 0 ? o->tune_temperature : usual_temperature,
                    .seconds = t->seconds / (t->kernels - t->searched),
                    .restarts = o->tune_restarts ? o->tune_restarts : USUAL_RESTARTS,
                    .seed = (uint64_t)o->tune_seed}};
    if (!orders_journal_open(t->arena, &journal, t->journal_path, run_of(t, search, digest, start, calls)))
        fprintf(stderr, "tilecc: '%s' cannot be kept, so that a search that is interrupted begins anew: %s\n",
                t->journal_path, strerror(errno));
    orders_find(search);
    orders_journal_close(&journal);
    progress_clear(t->progress);
    if (search->start && search->best_ratio >= 0) /* what the file holds is judged, and told of, in any case */
        search->best = native_copy(search->start);
    native_write_order(code, search->best, &text);
    orders_pass_gates(search, text.data ? text.data : "", &gates);
    orders_tell(&told, search, &gates, calls);
    printf("%s: native %s %s\n%s", t->now, t->row->name, digest, told.data);
    fflush(stdout);
    if (!gates.refused)
        take_order(t, digest, text.data, &gates);
    search->journal = NULL;
    t->seconds = fmax(0, t->seconds - search->clock);
    vector_push(t->arena, &t->searches, search);
    vector_push(t->arena, &t->names, t->now);
    buffer_free(&text);
    buffer_free(&told);
}

static void show_trial(void *context, const struct orders_trial *trial)
{
    struct tuned_orders *t = context;
    struct arena *scratch = arena_create();
    progress_show(t->progress, arena_printf(scratch, "%s: %lld of %lld orders, %d failed", t->now,
                                            (long long)trial->orders, (long long)trial->wanted, trial->failed));
    arena_destroy(scratch);
}

static void try_code(struct tuned_orders *t, const struct native_code *code, const char *digest,
                     const struct orders_machine *machine)
{
    struct buffer told = {0};
    struct orders_trial trial = {.arena = t->arena,
                                 .machine = *machine,
                                 .progress = show_trial,
                                 .progress_context = t,
                                 .original = code,
                                 .moves = t->options->tune_moves,
                                 .seed = (uint64_t)t->options->tune_seed,
                                 .wanted = t->options->tune_trials};
    orders_try(&trial);
    progress_clear(t->progress);
    orders_tell_trial(&told, &trial);
    printf("%s: native %s %s\n%s", t->now, t->row->name, digest, told.data);
    fflush(stdout);
    t->tried += trial.orders;
    t->wrong += trial.failed;
    buffer_free(&told);
}

static void search_kernel(struct tuned_orders *t, int number)
{
    struct orders_kernel *kernel = &t->program.kernels[number];
    struct orders_machine machine = orders_program_machine(&t->program, number);
    const char **calls = ARENA_ARRAY(t->arena, const char *, t->bench.call_count), *digest = NULL, *problem = NULL;
    int count = 0;
    for (int i = 0; i < t->bench.call_count; i++)
        if (t->program.calls[i].kernel == number)
            calls[count++] = t->bench.calls[i].text;
    t->now = kernel->symbol;
    struct native_code *code = count ? read_code(t, kernel, &digest, &problem) : NULL;
    if (!count)
        return;
    const char *refused = code ? orders_refuse_code(&machine) : problem;
    if (!refused && t->options->tune_trials)
        try_code(t, code, digest, &machine);
    else if (!refused) {
        search_code(t, code, digest, &machine, calls);
        vector_push(t->arena, &t->digests, digest);
    } else
        printf("%s: no other order is tried: %s\n", t->now, refused);
    t->searched++;
    progress_pass(t->progress, 1);
}

/* ---- the file ---- */

static bool is_order_of(const struct tuned_orders *t, const char *line, size_t size)
{
    for (int i = 0; i < t->digests.count; i++) {
        const char *head = arena_printf(t->arena, "native %s %s", t->row->name, t->digests.data[i]);
        if (size >= strlen(head) && strncmp(line, head, strlen(head)) == 0)
            return true;
    }
    return false;
}

/* What the file holds already, without orders of the kernels that were searched now. */
static void put_before(const struct tuned_orders *t, struct buffer *out, const struct buffer *before)
{
    bool leaves = false;
    for (size_t at = 0; at < before->size;) {
        const char *line = before->data + at, *end = memchr(line, '\n', before->size - at);
        size_t size = end ? (size_t)(end - line) : before->size - at;
        bool indented = size && (*line == ' ' || *line == '\t');
        leaves = indented ? leaves : is_order_of(t, line, size);
        if (!leaves)
            buffer_printf(out, "%.*s\n", (int)size, line);
        at += size + 1;
    }
    while (out->size > 1 && out->data[out->size - 2] == '\n') /* an order begins with an empty line */
        out->size--;
}

/* Whether its first line, but for empty ones and comments, is that of a file of --tuning; or there is nothing. */
static bool is_tuning(const struct buffer *text)
{
    static const char head[] = "tuning 1";
    for (size_t at = 0; at < text->size;) {
        const char *line = text->data + at, *end = memchr(line, '\n', text->size - at);
        size_t size = end ? (size_t)(end - line) : text->size - at;
        if (size && *line != '#')
            return size >= strlen(head) && memcmp(line, head, strlen(head)) == 0;
        at += size + 1;
    }
    return text->size == 0;
}

/* Two of us would write one file, and the first one's orders were lost.  -1: said. */
static int open_alone(const struct tuned_orders *t)
{
    int file = file_open_alone(t->journal_path);
    if (file < 0 && errno == EWOULDBLOCK)
        driver_error(t->options, "another 'tilecc tune' writes '%s' now; write elsewhere (-o)", t->journal_path);
    else if (file < 0)
        driver_error(t->options, "cannot write '%s': %s", t->journal_path, strerror(errno));
    return file;
}

static bool read_before(struct tuned_orders *t)
{
    if (!file_read(t->output, 1 << 30, &t->before) && errno != ENOENT) {
        driver_error(t->options, "cannot read '%s': %s", t->output, strerror(errno));
        return false;
    }
    if (!is_tuning(&t->before)) {
        driver_error(t->options, "'%s' is there and is no file of --tuning; write elsewhere (-o)", t->output);
        return false;
    }
    buffer_putc(&t->before, 0); /* it is searched as a text */
    t->before.size--;
    return true;
}

/* Said before the search, not behind it.  Files are put into their place, so that it is the folder that matters. */
static bool may_write(const struct tuned_orders *t, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *folder = slash ? arena_substring(t->arena, path, (size_t)(slash - path) + 1) : ".";
    if (strcmp(path, "-") == 0 || file_is_device(path) || access(folder, W_OK | X_OK) == 0)
        return true;
    driver_error(t->options, "cannot write '%s': %s", path, strerror(errno));
    return false;
}

static bool write_file(struct tuned_orders *t)
{
    struct buffer out = {0};
    if (t->before.size)
        put_before(t, &out, &t->before);
    else
        buffer_printf(&out, "# %s.tile: orders by tilecc tune --native, tilecc %s, on %s%s%s\ntuning 1\n",
                      compile_stem(t->options, t->bench.source), TILECC_VERSION, t->program.device,
                      t->program.driver ? ", driver " : "", t->program.driver ? t->program.driver : "");
    buffer_append(&out, t->orders.data ? t->orders.data : "", t->orders.size);
    bool good = driver_write(t->options, t->output, out.data, out.size);
    buffer_free(&out);
    return good;
}

static bool write_plot(struct tuned_orders *t)
{
    struct buffer out = {0};
    orders_plot(&out, t->searches.count, t->searches.data, t->names.data);
    bool good = driver_write(t->options, t->options->bench_plot, out.data, out.size);
    buffer_free(&out);
    return good;
}

/* ---- the order of steps ---- */

static enum exit_code search_all(struct tuned_orders *t)
{
    struct run together = {0};
    enum exit_code code = compile_file(t->options, t->bench.source, &together);
    if (code != EXIT_OK || !bench_write_program(&t->bench, &code))
        return code;
    if (!link_program(t) || !start_program(t))
        return EXIT_TOOL;
    for (int i = 0; i < t->program.kernel_count; i++)
        for (int call = 0, used = 0; call < t->program.call_count && !used; call++)
            t->kernels += used = t->program.calls[call].kernel == i;
    progress_expect(t->progress, t->kernels);
    t->seconds = t->options->tune_budget > 0 ? t->options->tune_budget : USUAL_BUDGET;
    for (int i = 0; i < t->program.kernel_count; i++)
        search_kernel(t, i);
    if (t->options->tune_trials) {
        printf("%lld orders of %d kernel%s, %lld wrong\n", (long long)t->tried, t->kernels, t->kernels == 1 ? "" : "s",
               (long long)t->wrong);
        return t->wrong ? EXIT_TOOL : EXIT_OK;
    }
    bool good = write_file(t) && (!t->options->bench_plot || write_plot(t));
    if (good)
        printf("%d of %d kernel%s in another order in '%s'\n", t->taken, t->kernels, t->kernels == 1 ? "" : "s",
               t->output);
    return good ? EXIT_OK : EXIT_FILE;
}

static bool choose_gpu(struct tuned_orders *t, struct options *options)
{
    bench_choose_target(&t->bench, options);
    t->row = &target_rows[options->targets.data[0]];
    if (t->bench.on_gpu)
        return true;
    driver_error(options, "'tilecc tune --native' looks for orders of a GPU's machine code, and %s",
                 options->targets.count && strcmp(t->row->name, "cpu") == 0 ? "there is no GPU here"
                                                                            : "-arch names none");
    return false;
}

enum exit_code tune_orders_main(const struct options *given)
{
    struct options options = *given;
    struct tuned_orders t = {.options = &options, .arena = options.arena};
    struct folder folder;
    bool named = options.targets.count;
    t.bench = (struct bench){.options = &options, .arena = options.arena, .command = "tune", .serves = true};
    if (!may_search(&options) || !bench_take_words(&t.bench, &options) || !bench_has_output(&t.bench, &options))
        return EXIT_USAGE;
    t.bench.compiler = tool_find_compiler(&options);
    if (!t.bench.compiler) {
        driver_error(&options, "tune needs a C compiler, and there is none in PATH");
        return EXIT_ENVIRONMENT;
    }
    if (!choose_gpu(&t, &options))
        return named ? EXIT_USAGE : EXIT_ENVIRONMENT;
    t.output = options.output ? options.output
                              : arena_printf(t.arena, "%s.tuning", compile_stem(&options, t.bench.source));
    t.journal_path = arena_printf(t.arena, "%s.orders.log", t.output);
    bool writes = !options.tune_trials;
    if (writes && (!may_write(&t, t.output) || (options.bench_plot && !may_write(&t, options.bench_plot))))
        return EXIT_FILE;
    if (!folder_make(t.arena, "tilecc-tune", &folder)) {
        driver_error(&options, "cannot make the folder '%s': %s", folder.path, strerror(errno));
        return EXIT_FILE;
    }
    t.bench.folder = folder.path;
    t.progress = progress_open(t.arena);
    options.bench = &t.bench;
    options.output = arena_printf(t.arena, "%s/kernels.o", folder.path);
    int log = writes ? open_alone(&t) : -1;
    bool ready = !writes || (log >= 0 && read_before(&t));
    enum exit_code code = ready ? search_all(&t) : EXIT_FILE;
    orders_program_end(&t.program);
    folder_remove(&folder);
    struct stat left;
    if (log >= 0 && fstat(log, &left) == 0 && left.st_size == 0) /* nothing was measured */
        unlink(t.journal_path);
    if (log >= 0)
        close(log);
    buffer_free(&t.orders);
    buffer_free(&t.before);
    return code;
}
