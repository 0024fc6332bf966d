/* The command line, parsed.  options.def lists the options; nothing else knows their spelling. */
#ifndef TILECC_OPTIONS_H
#define TILECC_OPTIONS_H
#include "base/base.h"
#include "front/front.h"
#include "passes/base/planning.h"
#include "targets/target.h"

enum exit_code {
    EXIT_OK = 0,
    EXIT_SOURCE = 1,      /* the source has errors */
    EXIT_USAGE = 2,       /* an option or argument is wrong, or not there yet */
    EXIT_FILE = 3,        /* a file cannot be read or written */
    EXIT_ENVIRONMENT = 4, /* a tool or memory is missing */
    EXIT_TOOL = 5,        /* a tool failed */
    EXIT_INTERNAL = 70    /* our bug */
};

enum option_form { FORM_FLAG, FORM_JOINED, FORM_VALUE, FORM_EQUALS, FORM_OPTIONAL, FORM_ATTACHED };
enum option_state { STATE_HERE, STATE_LATER };
enum option_id {
#define OPTION(id, spelling, form, argument, group, state, help) OPTION_##id,
#include "driver/options.def"
#undef OPTION
    OPTION_COUNT
};
struct option_info {
    const char *spelling;
    enum option_form form;
    const char *argument, *group;
    enum option_state state;
    const char *help;
};
extern const struct option_info option_info[OPTION_COUNT];

#define EMIT_KINDS(X)              \
    X(OBJECT, "object", ".o")      \
    X(PTX, "ptx", ".ptx")          \
    X(CUBIN, "cubin", ".cubin")    \
    X(FATBIN, "fatbin", ".fatbin") \
    X(LLVM, "llvm", ".ll")         \
    X(TIR, "tir", ".tir")          \
    X(HEADER, "header", ".h")      \
    X(PYTHON, "python", ".py")     \
    X(RUNTIME, "runtime", ".o")
enum emit_kind {
#define X(id, word, suffix) EMIT_##id,
    EMIT_KINDS(X)
#undef X
        EMIT_COUNT
};
const char *emit_suffix(enum emit_kind kind);
bool emit_has_object(enum emit_kind kind); /* code for all targets in one file, with its functions for C */
bool emit_is_called(enum emit_kind kind);  /* by programs, with all arguments that the kernel takes */

struct options {
    struct arena *arena;
    enum emit_kind emit;
    bool syntax_only, interpret, run_tests, print_targets, print_products, print_version, print_help, print_plants;
    const char *interpret_call;
    const char *output; /* -o, or NULL */
    VECTOR(const char *) files;
    VECTOR(int) targets;       /* rows of -arch in the order given; empty: not given */
    VECTOR(int) ptx_targets;   /* those of `targets` named as compute_XX, ... */
    VECTOR(int) cubin_targets; /* ... and as sm_XX */
    const char *host_triple;
    unsigned cpu_isas; /* a bit for each, baseline the lowest; 0: all */
    bool asks_neon;    /* by that name */
    const char *cuda_path;
    VECTOR(const char *) xptxas;
    VECTOR(struct front_define) defines;
    VECTOR(const char *) includes;
    VECTOR(const char *) specs, tunings;
    int max_instances;
    int schedules; /* of an instance: compiled, or chosen by `tilecc tune` */
    const char *prefix;
    bool strict_fp, checks, reproducible;
    enum ir_precision f32_dot;
    enum target_visibility visibility;
    bool compress_images;
    const char *cxx_namespace; /* -fc++, or NULL */
    const char *shared_header; /* as headers include it: a way from their folder; or NULL */
    int optimization;
    const char *passes; /* NULL: the pipeline */
    struct asked_plans plans;
    const char *print_after;
    int64_t fuel; /* -1: no limit */
    bool debug, line_info;
    VECTOR(const char *) prefix_map;
    bool verbose, dry_run, save_temps, time_report, resource_usage, remarks;
    const char *remark_pattern;
    bool dependencies, dependencies_only, dependency_phony; /* only: implies syntax_only and no_warnings */
    const char *dependency_file;
    VECTOR(const char *) dependency_targets; /* as they go into the file */
    VECTOR(const char *) warnings;           /* "name", "no-name", "error=name", "all", in order */
    bool warnings_are_errors, no_warnings;
    const char *color; /* auto, always, never */
    bool json;
    int error_limit;
    bool no_cache;
    int jobs; /* 0: not given */
    bool run_bench, bench_warm;
    double bench_seconds;
    const char *bench_operations, *bench_json, *bench_against, *bench_plot; /* or NULL */
    struct bench *bench; /* of a compilation that `tilecc bench` asks for, or NULL */
    bool run_tune, tune_merge;
    double tune_budget;        /* seconds; 0: not given */
    int tune_part, tune_parts; /* 1/8; 0: not given */
    int64_t tune_seed;
    bool tune_native;
    unsigned tune_moves;     /* a bit for each enum native_move; 0: all */
    double tune_temperature; /* 0: not given */
    int tune_restarts;       /* 0: not given */
    int tune_trials;         /* 0: not given */
    VECTOR(const char *) tune_traces;
    struct tune *tune; /* of a compilation that `tilecc tune` asks for, or NULL */
    int tool_seconds;
};

/* Fills `options` from arguments (without the program's name).  False: said what is wrong on standard error; exit
 * EXIT_USAGE (EXIT_FILE when *code says so). */
bool options_parse(struct options *options, int count, const char *const *arguments, enum exit_code *code);
/* "tilecc: error: ..." on standard error, or an object of JSON where the options say so; options may be NULL. */
void driver_error(const struct options *options, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes one file.  False: said why not. */
bool driver_write(const struct options *options, const char *path, const void *data, size_t size);
/* Replaces @file by the words in the file, quoted as GNU tools do.  False: *failed is the file that cannot be read. */
struct argument_list {
    VECTOR(const char *) words;
};
bool response_expand(struct arena *arena, int count, const char *const *arguments, struct argument_list *out,
                     const char **failed);
/* The cache of compiled code that the options and the environment ask for; NULL: none, or it cannot be used. */
struct cache *cache_choose(const struct options *options);
/* Notes what --plan asks for.  False: said what is wrong. */
bool plan_option_add(struct options *options, const char *text);
/* Does -arch name a GPU? */
bool options_name_gpu(const struct options *options);
int architecture_find(int number);                  /* the row of sm_NUMBER, with a letter before others; -1: none */
const char *architecture_nearest(const char *word); /* to one that is none; NULL: none is near */
/* Says that there is no such architecture, and which is meant or near. */
void architecture_explain(const struct options *options, const char *word);
/* The candidate nearest to `word`, or NULL when none is near. */
const char *suggest_nearest(const char *word, int count, const char *const *candidates);
void help_print(FILE *out);
#endif
