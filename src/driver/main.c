/* The process: subcommands, options that make nothing, signals and exit codes. */
#include "base/plant.h"
#include "driver/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* A bug of ours ends in abort(); what a user sees is a line and the documented code. */
static void on_abort(int number)
{
    static const char text[] =
        "tilecc: this is a bug of tilecc; please report it with the source and the command line\n";
    ssize_t ignored = write(2, text, sizeof text - 1);
    (void)ignored;
    (void)number;
    _exit(EXIT_INTERNAL);
}

/* Files must never land on descriptors 0 to 2 because a caller closed them.  What takes their place fails, as they
 * would. */
static void keep_standard_descriptors(void)
{
    for (int file = 0; file <= 2; file++)
        if (fcntl(file, F_GETFD) < 0 && errno == EBADF) {
            int taken = open("/dev/null", file == 0 ? O_WRONLY : O_RDONLY); /* the lowest that is free: this one */
            if (taken != file)
                _exit(EXIT_ENVIRONMENT);
        }
}

static void set_signals(void)
{
    struct sigaction abort_action = {.sa_handler = on_abort}, ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGABRT, &abort_action, NULL);
    sigaction(SIGPIPE, &ignore, NULL); /* a closed output is an error of writing */
    sigaction(SIGXFSZ, &ignore, NULL); /* so is a limit on the size of files */
    static char stack[64 * 1024];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction fault = {.sa_handler = on_abort, .sa_flags = SA_ONSTACK};
    sigaltstack(&alternate, NULL);
#if !defined(__SANITIZE_ADDRESS__)
    sigaction(SIGSEGV, &fault, NULL);
    sigaction(SIGBUS, &fault, NULL);
    sigaction(SIGILL, &fault, NULL);
    sigaction(SIGFPE, &fault, NULL);
#endif
    (void)fault;
}

/* Sources that nest and call as deep as they may take most of a mebibyte; with AddressSanitizer, frames are some three
 * times as large. */
#if defined(__SANITIZE_ADDRESS__)
enum { NEEDED = 4 << 20 };
#else
enum { NEEDED = 1 << 20 };
#endif

/* Raises the limit as far as it may be; false: said that it is too low. */
static bool has_stack(const struct options *options)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= NEEDED)
        return true;
    rlim_t was = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max == RLIM_INFINITY || limit.rlim_max > NEEDED ? NEEDED : limit.rlim_max;
    if (limit.rlim_cur >= NEEDED && setrlimit(RLIMIT_STACK, &limit) == 0)
        return true;
    driver_error(options, "the stack is limited to %llu KiB, and %d are needed (ulimit -s)",
                 (unsigned long long)was / 1024, NEEDED / 1024);
    return false;
}

struct subcommand {
    const char *name;
    int (*run)(int count, const char *const *arguments); /* NULL: not there yet */
};
static const struct subcommand subcommands[] = {
    {"info", info_main}, {"explain", explain_main}, {"fmt", NULL}, {"lsp", NULL}};

/* A first argument that names a file is a file, whatever it is called. */
static const struct subcommand *find_subcommand(const char *word)
{
    for (size_t i = 0; i < sizeof subcommands / sizeof *subcommands; i++)
        if (strcmp(word, subcommands[i].name) == 0 && access(word, F_OK) != 0)
            return &subcommands[i];
    return NULL;
}

static int finish(const struct options *options, int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    driver_error(options, "cannot write standard output: %s", strerror(errno));
    return code ? code : EXIT_FILE;
}

/* `tilecc test` makes nothing, so that an option which says what to make would be ignored. */
static bool may_test(const struct options *options)
{
    bool good = !options->output && options->emit == EMIT_OBJECT && !options->syntax_only && options->interpret &&
                !options->interpret_call && !options->passes && !options->print_after;
    if (!good)
        driver_error(options, "'tilecc test' runs tests alone: it takes no -o, -S, --emit, -fsyntax-only, --interpret, "
                              "--passes and --print-after");
    for (int i = 0; good && i < options->files.count; i++)
        if (compile_is_tir(options->files.data[i])) {
            driver_error(options, "'%s' is tile IR, which has no tests", options->files.data[i]);
            good = false;
        }
    return good;
}

/* What says how to measure would be ignored elsewhere. */
static bool measures_rightly(const struct options *options)
{
    bool draws = options->bench_plot && !options->tune_native,
         benches = options->bench_json || options->bench_against || draws || options->bench_operations,
         measures = options->bench_warm || options->bench_seconds > 0,
         tunes = options->tune_budget > 0 || options->tune_parts || options->tune_merge || options->tune_traces.count ||
                 options->tune_seed || options->tune_native,
         orders = options->tune_moves || options->tune_temperature > 0 || options->tune_restarts ||
                  options->tune_trials;
    if (benches && !options->run_bench)
        driver_error(options, "--json, --against, --plot and --operations belong to 'tilecc bench'");
    else if (measures && !options->run_bench && !options->run_tune)
        driver_error(options, "--warm and --seconds belong to 'tilecc bench' and 'tilecc tune'");
    else if (tunes && !options->run_tune)
        driver_error(options, "--budget, --trace, --part, --merge, --seed and --native belong to 'tilecc tune'");
    else if (orders && !options->tune_native)
        driver_error(options, "--moves, --temperature, --restarts and --trials belong to 'tilecc tune --native'");
    else
        return true;
    return false;
}

static bool is_ready(const struct options *options)
{
    regex_t pattern;
    if (options->run_tests && !may_test(options))
        return false;
    if (!measures_rightly(options))
        return false;
    if (options->remark_pattern) {
        if (regcomp(&pattern, options->remark_pattern, REG_EXTENDED | REG_NOSUB) != 0) {
            driver_error(options, "-Rpass: '%s' is not a regular expression", options->remark_pattern);
            return false;
        }
        regfree(&pattern);
    }
    for (int i = 0; i < options->files.count; i++) {
        if (strcmp(options->files.data[i], "-") != 0 || options->output || options->syntax_only || options->interpret)
            continue;
        driver_error(options, "reading standard input needs -o");
        return false;
    }
    return lower_check_names(options);
}

/* Outputs are called after the stem of their source: of two with one stem the second would replace the first's. */
static bool has_own_stems(const struct options *options)
{
    for (int i = 0; i < options->files.count && !options->syntax_only && !options->interpret; i++)
        for (int k = 0; k < i; k++) {
            const char *stem = compile_stem(options, options->files.data[i]);
            if (strcmp(stem, compile_stem(options, options->files.data[k])) != 0 ||
                compile_is_tir(options->files.data[i]))
                continue;
            driver_error(options, "'%s' and '%s' would both give %s%s; compile them in two runs, with -o",
                         options->files.data[k], options->files.data[i], stem, emit_suffix(options->emit));
            return false;
        }
    return true;
}

static int run(const struct options *options)
{
    enum exit_code code = EXIT_OK;
    if (options->print_help)
        return help_print(stdout), EXIT_OK;
    if (options->print_version)
        return version_print(options), EXIT_OK;
    if (options->print_targets)
        return targets_print(), EXIT_OK;
    if (options->print_products)
        return products_print(options), EXIT_OK;
    if (options->print_plants)
        return plant_list(stdout), EXIT_OK;
    if (!has_stack(options))
        return EXIT_ENVIRONMENT;
    if (!is_ready(options))
        return EXIT_USAGE;
    if (options->emit == EMIT_RUNTIME) {
        if (options->files.count) {
            driver_error(options, "--emit=runtime takes no source, but there is '%s'", options->files.data[0]);
            return EXIT_USAGE;
        }
        return emit_runtime(options, &code) ? EXIT_OK : (int)code;
    }
    if (options->run_bench)
        return (int)bench_main(options);
    if (options->run_tune && options->tune_native)
        return (int)tune_orders_main(options);
    if (options->run_tune)
        return (int)tune_main(options);
    if (!options->files.count) {
        driver_error(options, "no input; give a .tile file, or see tilecc --help");
        return EXIT_USAGE;
    }
    if (!has_own_stems(options))
        return EXIT_USAGE;
    struct run together = {0};
    for (int i = 0; i < options->files.count; i++) {
        enum exit_code here = compile_file(options, options->files.data[i], &together);
        if (code == EXIT_OK)
            code = here;
    }
    return (int)code;
}

int main(int argc, char **argv)
{
    keep_standard_descriptors();
    set_signals();
    if (argc < 2) {
        fprintf(stderr, "Usage: tilecc [options] file.tile ...   (tilecc --help lists the options)\n");
        return EXIT_USAGE;
    }
    const struct subcommand *subcommand = find_subcommand(argv[1]);
    if (subcommand && !subcommand->run) {
        driver_error(NULL, "'tilecc %s' is not there yet", subcommand->name);
        return EXIT_USAGE;
    }
    if (subcommand && argc == 3 && strcmp(argv[2], "--help") == 0) {
        help_print(stdout);
        return finish(NULL, EXIT_OK);
    }
    if (subcommand)
        return finish(NULL, subcommand->run(argc - 2, (const char *const *)argv + 2));
    struct arena *arena = arena_create();
    /* `tilecc test`, `tilecc bench` and `tilecc tune` take a compilation's options and files, as --interpret does */
    bool is_file = access(argv[1], F_OK) == 0;
    bool tests = !is_file && strcmp(argv[1], "test") == 0, benches = !is_file && strcmp(argv[1], "bench") == 0;
    bool tunes = !is_file && strcmp(argv[1], "tune") == 0;
    int words = 1 + (tests || benches || tunes);
    struct options options = {
        .arena = arena, .run_tests = tests, .interpret = tests, .run_bench = benches, .run_tune = tunes};
    enum exit_code code;
    int result = options_parse(&options, argc - words, (const char *const *)argv + words, &code) ? run(&options)
                                                                                                 : (int)code;
    result = finish(&options, result);
    arena_destroy(arena);
    return result;
}
