/* Parsing the command line.  An option is looked up in options.def, its value taken by its form, and one switch applies
 * it. Nothing is accepted and ignored: what cannot be honoured is an error that says why. */
#include "driver/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/plant.h"
#include "driver/depfile.h"
#include "driver/header/cxx.h"
#include "targets/nvptx/native/native.h"
#include "targets/target.h"

/* Objects of examples/ together take 1.76 times the bytes of one schedule, and 1.8 times the seconds. */
enum { USUAL_SCHEDULES = 8 };

const struct option_info option_info[OPTION_COUNT] = {
#define OPTION(id, spelling, form, argument, group, state, help) \
    {spelling, FORM_##form, argument, group, STATE_##state, help},
#include "driver/options.def"
#undef OPTION
};

static const char *const emit_words[] = {
#define X(id, word, suffix) word,
    EMIT_KINDS(X)
#undef X
};
static const char *const emit_suffixes[] = {
#define X(id, word, suffix) suffix,
    EMIT_KINDS(X)
#undef X
};
const char *emit_suffix(enum emit_kind kind) { return emit_suffixes[kind]; }

bool emit_has_object(enum emit_kind kind) { return kind == EMIT_OBJECT || kind == EMIT_PYTHON; }

bool emit_is_called(enum emit_kind kind)
{
    return kind != EMIT_TIR && kind != EMIT_PTX && kind != EMIT_LLVM && kind != EMIT_CUBIN;
}

static bool parse_seconds(struct options *options, const char *option, const char *value, int most, double *seconds)
{
    char *end;
    *seconds = strtod(value, &end);
    if (end != value && !*end && *seconds > 0 && *seconds <= most)
        return true;
    driver_error(options, "%s: '%s' is no number over 0 and up to %d", option, value, most);
    return false;
}

static bool starts_with(const char *text, const char *prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

/* Whether the argument is this option; *value is what is joined to it, or NULL. */
static bool matches(const struct option_info *option, const char *argument, const char **value)
{
    if (!starts_with(argument, option->spelling))
        return false;
    const char *rest = argument + strlen(option->spelling);
    *value = NULL;
    switch (option->form) {
    case FORM_FLAG: return !*rest;
    case FORM_JOINED:
        if (*rest)
            *value = rest;
        return true;
    case FORM_ATTACHED: *value = rest; return true;
    case FORM_VALUE:
    case FORM_OPTIONAL:
        if (*rest == '=')
            *value = rest + 1;
        return !*rest || *rest == '=';
    case FORM_EQUALS: *value = rest + 1; return *rest == '=';
    }
    return false;
}

static int find_option(const char *argument, const char **value)
{
    int best = -1;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const char *here;
        if (!matches(&option_info[i], argument, &here))
            continue;
        if (best >= 0 && strlen(option_info[best].spelling) > strlen(option_info[i].spelling))
            continue;
        best = i;
        *value = here;
    }
    return best;
}

/* Options of nvcc and of C compilers that stand for something here, alone or in front of =. */
static const struct {
    const char *spelling, *here;
} foreign_options[] = {
    {"-maxrregcount", "-Xptxas=--maxrregcount=N, and `maxnreg` in tune() bounds the registers of one kernel"},
    {"--maxrregcount", "-Xptxas=--maxrregcount=N, and `maxnreg` in tune() bounds the registers of one kernel"},
    {"-gencode", "-arch=sm_80,sm_90a,compute_90 names all machine code and PTX of an object"},
    {"--generate-code", "-arch=sm_80,sm_90a,compute_90 names all machine code and PTX of an object"},
    {"--gpu-architecture", "-arch=sm_80,sm_90a,compute_90 names all machine code and PTX of an object"},
    {"--gpu-code", "-arch=sm_80,sm_90a,compute_90 names all machine code and PTX of an object"},
    {"--target", "-arch names GPUs, --host-target the processor and system of the object"},
    {"-march",
     "-arch=cpu is code for each set of instructions of which the processor takes the best; --cpu-isa chooses one"},
    {"-mcpu",
     "-arch=cpu is code for each set of instructions of which the processor takes the best; --cpu-isa chooses one"},
    {"-ptx", "--emit=ptx, or -S"},
    {"--ptx", "--emit=ptx, or -S"},
    {"-cubin", "--emit=cubin"},
    {"--cubin", "--emit=cubin"},
    {"-fatbin", "--emit=fatbin"},
    {"--fatbin", "--emit=fatbin"},
    {"--keep", "--save-temps"},
    {"-G", "-g: lines and names for a debugger, with the code as it is; -O0 is easier to follow"},
    {"--device-debug", "-g: lines and names for a debugger, with the code as it is; -O0 is easier to follow"},
    {"--use_fast_math",
     "tile-library(7) tells the error of each function; --strict-fp alone changes how floats are computed"},
    {"-use_fast_math",
     "tile-library(7) tells the error of each function; --strict-fp alone changes how floats are computed"},
    {"-ffast-math",
     "tile-library(7) tells the error of each function; --strict-fp alone changes how floats are computed"},
    {"-fPIC", "each object may go into a shared library: nothing is needed"},
    {"-fpic", "each object may go into a shared library: nothing is needed"},
    {"-fPIE", "each object may go into a shared library: nothing is needed"},
    {"-shared", "an object goes into a shared library by the C compiler, and --emit=python makes one"},
    {"--cache-dir", "the variable TILECC_CACHE names the folder of compiled code"},
    {"--verbose", "-v"},
    {"-V", "--version"},
    {"-h", "--help"},
};

static bool unknown_option(struct options *options, const char *argument)
{
    const char *equals = strchr(argument, '=');
    const char *name = equals ? arena_substring(options->arena, argument, (size_t)(equals - argument)) : argument;
    for (size_t i = 0; i < sizeof foreign_options / sizeof *foreign_options; i++)
        if (strcmp(name, foreign_options[i].spelling) == 0) {
            driver_error(options, "unknown option '%s'; here: %s", argument, foreign_options[i].here);
            return false;
        }
    const char *spellings[OPTION_COUNT];
    for (int i = 0; i < OPTION_COUNT; i++)
        spellings[i] = option_info[i].spelling;
    const char *nearest = suggest_nearest(name, OPTION_COUNT, spellings);
    if (nearest && strcmp(nearest, name) != 0)
        driver_error(options, "unknown option '%s'; did you mean '%s'?", argument, nearest);
    else if (nearest)
        driver_error(options, "option '%s' does not take its value like this: '%s'; see tilecc --help", nearest,
                     argument);
    else
        driver_error(options, "unknown option '%s'; see tilecc --help", argument);
    return false;
}

static bool parse_count(const struct options *options, const char *option, const char *text, int64_t most,
                        int64_t *number)
{
    char *end;
    errno = 0;
    long long parsed = strtoll(text, &end, 10);
    if (errno || end == text || *end || parsed < 0 || parsed > most || text[0] < '0' || text[0] > '9') {
        driver_error(options, "%s: '%s' is not a number from 0 to %lld", option, text, (long long)most);
        return false;
    }
    *number = parsed;
    return true;
}

static bool parse_int(const struct options *options, const char *option, const char *text, int least, int *number)
{
    int64_t wide;
    if (!parse_count(options, option, text, 1000000, &wide))
        return false;
    if (wide < least) {
        driver_error(options, "%s: must be at least %d", option, least);
        return false;
    }
    *number = (int)wide;
    return true;
}

static bool parse_emit(struct options *options, const char *word)
{
    for (int kind = 0; kind < EMIT_COUNT; kind++)
        if (strcmp(emit_words[kind], word) == 0) {
            options->emit = (enum emit_kind)kind;
            return true;
        }
    if (strcmp(word, "c") == 0 || strcmp(word, "manifest") == 0)
        driver_error(options, "--emit=%s is not there yet", word);
    else
        driver_error(options,
                     "--emit: unknown kind '%s'; there are ptx, cubin, fatbin, llvm, tir, header, python, runtime",
                     word);
    return false;
}

static bool add_target(struct options *options, const char *word)
{
    int row = target_find(word);
    bool is_virtual = row < 0 && starts_with(word, "compute_");
    if (is_virtual)
        row = target_find(arena_printf(options->arena, "sm_%s", word + 8));
    if (row < 0) {
        architecture_explain(options, word);
        return false;
    }
    if (is_virtual)
        vector_push(options->arena, &options->ptx_targets, row);
    else
        vector_push(options->arena, &options->cubin_targets, row);
    for (int i = 0; i < options->targets.count; i++)
        if (options->targets.data[i] == row)
            return true;
    vector_push(options->arena, &options->targets, row);
    return true;
}

static bool parse_targets(struct options *options, const char *list)
{
    if (strcmp(list, "all") == 0) {
        for (int i = 0; i < target_row_count; i++)
            if (!add_target(options, target_rows[i].name))
                return false;
        return true;
    }
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ",");
        if (!add_target(options, arena_substring(options->arena, at, length)))
            return false;
        at += length;
        if (!*at)
            return true;
    }
}

static bool parse_host(struct options *options, const char *name)
{
    if (strcmp(name, "x86_64-linux") == 0)
        options->host_triple = "x86_64-unknown-linux-gnu";
    else if (strcmp(name, "aarch64-linux") == 0)
        options->host_triple = "aarch64-unknown-linux-gnu";
    else {
        driver_error(options, "--host-target: '%s' is not there; x86_64-linux and aarch64-linux are", name);
        return false;
    }
    return true;
}

/* ptxas has options that read files, write files and change its input; only these pass. */
static bool is_allowed_for_ptxas(const char *word)
{
    static const char *const exact[] = {"-O0",           "-O1",           "-O2",           "-O3",
                                        "--opt-level=0", "--opt-level=1", "--opt-level=2", "--opt-level=3"};
    static const char *const caches[] = {"ca", "cg", "cs", "lu", "cv", "wb", "wt"};
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        if (strcmp(word, exact[i]) == 0)
            return true;
    if (starts_with(word, "-dlcm=") || starts_with(word, "-dscm="))
        for (size_t i = 0; i < sizeof caches / sizeof *caches; i++)
            if (strcmp(word + 6, caches[i]) == 0)
                return true;
    const char *count = starts_with(word, "--maxrregcount=")  ? word + 15
                        : starts_with(word, "-maxrregcount=") ? word + 14
                                                              : "";
    size_t digits = strspn(count, "0123456789");
    return digits >= 1 && digits <= 3 && !count[digits];
}

static bool add_xptxas(struct options *options, const char *list)
{
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ",");
        const char *word = arena_substring(options->arena, at, length);
        if (!is_allowed_for_ptxas(word)) {
            driver_error(options, "-Xptxas: '%s' is not allowed; -O0 to -O3, -dlcm=, -dscm= and --maxrregcount= are",
                         word);
            return false;
        }
        vector_push(options->arena, &options->xptxas, word);
        at += length;
        if (!*at)
            return true;
    }
}

static bool add_define(struct options *options, const char *text)
{
    const char *equals = strchr(text, '=');
    if (equals == text || !*text) {
        driver_error(options, "-D needs NAME=VALUE, not '%s'", text);
        return false;
    }
    struct front_define define = {equals ? arena_substring(options->arena, text, (size_t)(equals - text)) : text,
                                  equals ? equals + 1 : "1"};
    vector_push(options->arena, &options->defines, define);
    return true;
}

/* Names of warnings are those of diagnostics.def. */
static bool add_warning(struct options *options, const char *text)
{
    const char *name = starts_with(text, "no-") ? text + 3 : text;
    if (starts_with(name, "error="))
        name += 6;
    if (strcmp(name, "extra") == 0) {
        driver_error(options, "-W%s: there are no further warnings; all are on, and -Wno-NAME turns one off", text);
        return false;
    }
    bool known = strcmp(name, "all") == 0 || (strcmp(text, "no-error") == 0);
    for (int i = 0; i < DIAGNOSTIC_COUNT && !known; i++)
        known = diagnostic_info[i].severity == SEVERITY_warning && strcmp(diagnostic_info[i].name, name) == 0;
    if (!known) {
        const char *names[DIAGNOSTIC_COUNT];
        int count = 0;
        for (int i = 0; i < DIAGNOSTIC_COUNT; i++)
            if (diagnostic_info[i].severity == SEVERITY_warning)
                names[count++] = diagnostic_info[i].name;
        const char *nearest = suggest_nearest(name, count, names);
        driver_error(options, "-W%s: there is no such warning%s%s%s", text, nearest ? "; did you mean '" : "",
                     nearest ? nearest : "", nearest ? "'?" : "");
        return false;
    }
    vector_push(options->arena, &options->warnings, text);
    return true;
}

static bool parse_cpu_isas(struct options *options, const char *list)
{
    static const struct {
        const char *name;
        unsigned bit;
    } isas[] = {{"baseline", 1}, {"neon", 1}, {"avx2", 2}, {"avx512", 4}};
    for (const char *at = list; *at;) {
        size_t length = strcspn(at, ","), found = 0;
        for (; found < sizeof isas / sizeof *isas; found++)
            if (strlen(isas[found].name) == length && strncmp(isas[found].name, at, length) == 0)
                break;
        if (found == sizeof isas / sizeof *isas) {
            driver_error(options, "--cpu-isa: '%.*s' is none of baseline, avx2, avx512, neon", (int)length, at);
            return false;
        }
        options->cpu_isas |= isas[found].bit;
        options->asks_neon |= at[0] == 'n';
        at += length + (at[length] == ',');
    }
    return true;
}

static bool parse_f32_dot(struct options *options, const char *word)
{
#define X(id, text) text,
    static const char *const words[] = { IR_PRECISIONS(X) };
#undef X
    for (int i = 0; i < IR_PRECISION_COUNT; i++)
        if (strcmp(words[i], word) == 0) {
            options->f32_dot = (enum ir_precision)i;
            return true;
        }
    driver_error(options, "--f32-dot: '%s' is not ieee, tf32 or tf32x3", word);
    return false;
}

static bool parse_visibility(struct options *options, const char *word)
{
    static const char *const words[] = {"protected", "hidden", "default"}; /* enum target_visibility */
    for (int i = 0; i < 3; i++)
        if (strcmp(words[i], word) == 0) {
            options->visibility = (enum target_visibility)i;
            return true;
        }
    driver_error(options, "-fvisibility: '%s' is not protected, hidden or default", word);
    return false;
}

static bool parse_optimization(struct options *options, const char *level)
{
    if (!*level)
        level = "1";
    if (level[0] < '0' || level[0] > '3' || level[1]) {
        driver_error(options, "-O%s: there are -O0, -O1, -O2 and -O3", level);
        return false;
    }
    options->optimization = level[0] - '0';
    return true;
}

static bool parse_plant(struct options *options, const char *bug)
{
    if (!plant_is_possible()) {
        driver_error(options,
                     "--plant: this tilecc holds no deliberate mistakes; configure with --enable-planting for that");
        return false;
    }
    options->print_plants = strcmp(bug, "list") == 0;
    if (options->print_plants || plant_choose(bug))
        return true;
    driver_error(options, "--plant=%s: no planted bug has this name; --plant=list names them", bug);
    return false;
}

static bool parse_color(struct options *options, const char *when)
{
    options->color = when ? when : "always";
    if (strcmp(options->color, "auto") == 0 || strcmp(options->color, "always") == 0 ||
        strcmp(options->color, "never") == 0)
        return true;
    driver_error(options, "-fdiagnostics-color: '%s' is not auto, always or never", when);
    return false;
}

static bool parse_format(const struct options *options, const char *kind)
{
    if (strcmp(kind, "json") == 0 || strcmp(kind, "text") == 0)
        return true; /* options_parse took it */
    driver_error(options, "-fdiagnostics-format: '%s' is not text or json", kind);
    return false;
}

static bool add_prefix_map(struct options *options, const char *text)
{
    if (!strchr(text, '=')) {
        driver_error(options, "-ffile-prefix-map needs OLD=NEW, not '%s'", text);
        return false;
    }
    vector_push(options->arena, &options->prefix_map, text);
    return true;
}

static bool parse_prefix(struct options *options, const char *prefix)
{
    options->prefix = prefix;
    for (const char *c = prefix; *c; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_';
        if (letter || (c > prefix && *c >= '0' && *c <= '9'))
            continue;
        driver_error(options, "--prefix: a C name cannot begin with '%s'", prefix);
        return false;
    }
    return true;
}

static bool parse_cxx(struct options *options, const char *space)
{
    options->cxx_namespace = space;
    if (!cxx_is_namespace(space))
        driver_error(options, "-fc++: '%s' is no namespace of C++", space);
    return cxx_is_namespace(space);
}

/* It stands in an #include, whose text C takes as it is. */
static bool parse_shared_header(struct options *options, const char *name)
{
    size_t size = strlen(name);
    bool good = size > 2 && strcmp(name + size - 2, ".h") == 0 && name[size - 3] != '/' && name[0] != '/' &&
                !strpbrk(name, "\"\\\n?");
    if (!good)
        driver_error(
            options,
            "--shared-header: '%s' is no name of a header (.h) on a way from the folder of those that include it",
            name);
    options->shared_header = name;
    return good;
}

/* In the order of enum native_move. */
static bool parse_moves(struct options *options, const char *text)
{
    for (const char *at = text; *at;) {
        size_t size = strcspn(at, ","), found = 0;
        while (found < NATIVE_MOVES &&
               !(strlen(native_move_names[found]) == size && strncmp(native_move_names[found], at, size) == 0))
            found++;
        if (found == NATIVE_MOVES) {
            driver_error(options, "--moves: '%.*s' is no move; they are swap, slide, shift, stall and yield", (int)size,
                         at);
            return false;
        }
        options->tune_moves |= 1u << found;
        at += size + (at[size] == ',');
    }
    if (!*text)
        driver_error(options, "--moves names swap, slide, shift, stall or yield");
    return *text != 0;
}

static bool parse_temperature(struct options *options, const char *text)
{
    char *end;
    options->tune_temperature = strtod(text, &end);
    bool good = end != text && !*end && options->tune_temperature > 0 && options->tune_temperature <= 1;
    if (!good)
        driver_error(options, "--temperature: '%s' is no number above 0, and 1 at the most", text);
    return good;
}

static bool parse_part(struct options *options, const char *text)
{
    char *end;
    long part = strtol(text, &end, 10), parts = *end == '/' ? strtol(end + 1, &end, 10) : 0;
    if (text[0] >= '0' && text[0] <= '9' && !*end && part >= 1 && part <= parts && parts <= 65536) {
        options->tune_part = (int)part;
        options->tune_parts = (int)parts;
        return true;
    }
    driver_error(options, "--part: '%s' is no share such as 1/8, 2/8 or 8/8", text);
    return false;
}

static bool apply(struct options *o, enum option_id id, const char *value)
{
    switch (id) {
    case OPTION_OUTPUT: o->output = value; return true;
    case OPTION_COMPILE:
        o->emit = EMIT_OBJECT;
        o->syntax_only = o->interpret = false;
        return true;
    case OPTION_ASSEMBLY: o->emit = EMIT_PTX; return true;
    case OPTION_EMIT: return parse_emit(o, value);
    case OPTION_EMIT_RUNTIME: o->emit = EMIT_RUNTIME; return true;
    case OPTION_SYNTAX_ONLY: o->syntax_only = true; return true;
    case OPTION_INTERPRET:
        o->interpret = true;
        o->interpret_call = value;
        return true;
    case OPTION_ARCH: return parse_targets(o, value);
    case OPTION_PRINT_TARGETS: o->print_targets = true; return true;
    case OPTION_PRINT_PRODUCTS: o->print_products = true; return true;
    case OPTION_HOST_TARGET: return parse_host(o, value);
    case OPTION_CPU_ISA: return parse_cpu_isas(o, value);
    case OPTION_CUDA_PATH: o->cuda_path = value; return true;
    case OPTION_XPTXAS: return add_xptxas(o, value);
    case OPTION_DEFINE: return add_define(o, value);
    case OPTION_INCLUDE: vector_push(o->arena, &o->includes, value); return true;
    case OPTION_SPEC: vector_push(o->arena, &o->specs, value); return true;
    case OPTION_TUNING: vector_push(o->arena, &o->tunings, value); return true;
    case OPTION_MAX_INSTANCES: return parse_int(o, "--max-instances", value, 1, &o->max_instances);
    case OPTION_SCHEDULES: return parse_int(o, "--schedules", value, 1, &o->schedules);
    case OPTION_PREFIX: return parse_prefix(o, value);
    case OPTION_STRICT_FP: o->strict_fp = true; return true;
    case OPTION_CHECKS: o->checks = true; return true;
    case OPTION_REPRODUCIBLE: o->reproducible = o->strict_fp = true; return true;
    case OPTION_F32_DOT: return parse_f32_dot(o, value);
    case OPTION_VISIBILITY: return parse_visibility(o, value);
    case OPTION_COMPRESS_IMAGES: o->compress_images = true; return true;
    case OPTION_CXX: return parse_cxx(o, value ? value : "tile");
    case OPTION_SHARED_HEADER: return parse_shared_header(o, value);
    case OPTION_OPTIMIZE: return parse_optimization(o, value);
    case OPTION_PASSES: o->passes = value; return true;
    case OPTION_PLAN: return plan_option_add(o, value);
    case OPTION_PRINT_AFTER: o->print_after = value; return true;
    case OPTION_PLANT: return parse_plant(o, value);
    case OPTION_FUEL: return parse_count(o, "--fuel", value, INT64_MAX, &o->fuel);
    case OPTION_DEBUG: o->debug = o->line_info = true; return true;
    case OPTION_LINE_INFO: o->line_info = true; return true;
    case OPTION_PREFIX_MAP: return add_prefix_map(o, value);
    case OPTION_VERBOSE: o->verbose = true; return true;
    case OPTION_DRY_RUN: o->dry_run = true; return true;
    case OPTION_SAVE_TEMPS: o->save_temps = true; return true;
    case OPTION_TIME_REPORT: o->time_report = true; return true;
    case OPTION_REMARKS:
        o->remarks = true;
        o->remark_pattern = value;
        return true;
    case OPTION_RESOURCE_USAGE: o->resource_usage = true; return true;
    case OPTION_DEPENDENCIES_USER:
    case OPTION_DEPENDENCIES: o->dependencies = true; return true;
    case OPTION_DEPENDENCIES_ONLY_USER:
    case OPTION_DEPENDENCIES_ONLY: o->dependencies = o->dependencies_only = true; return true;
    case OPTION_DEPENDENCY_FILE: o->dependency_file = value; return true;
    case OPTION_DEPENDENCY_TARGET: vector_push(o->arena, &o->dependency_targets, value); return true;
    case OPTION_DEPENDENCY_QUOTED:
        vector_push(o->arena, &o->dependency_targets, depfile_quote_target(o->arena, value));
        if (!depfile_can_hold(value))
            driver_error(o, "-MQ: a dependency file cannot hold '%s', whose name has a line end", value);
        return depfile_can_hold(value);
    case OPTION_DEPENDENCY_PHONY: o->dependency_phony = true; return true;
    case OPTION_WARNING: return add_warning(o, value);
    case OPTION_WARNING_ERROR:
        if (value)
            return add_warning(o, arena_printf(o->arena, "error=%s", value));
        o->warnings_are_errors = true;
        return true;
    case OPTION_NO_WARNINGS: o->no_warnings = true; return true;
    case OPTION_COLOR: return parse_color(o, value);
    case OPTION_FORMAT: return parse_format(o, value);
    case OPTION_ERROR_LIMIT: return parse_int(o, "-ferror-limit", value, 0, &o->error_limit);
    case OPTION_TOOL_TIMEOUT: return parse_int(o, "--tool-timeout", value, 1, &o->tool_seconds);
    case OPTION_NO_CACHE: o->no_cache = true; return true;
    case OPTION_BENCH_SECONDS: return parse_seconds(o, "--seconds", value, 3600, &o->bench_seconds);
    case OPTION_BENCH_WARM: o->bench_warm = true; return true;
    case OPTION_BENCH_OPERATIONS: o->bench_operations = value; return true;
    case OPTION_BENCH_JSON: o->bench_json = value; return true;
    case OPTION_BENCH_AGAINST: o->bench_against = value; return true;
    case OPTION_BENCH_PLOT: o->bench_plot = value; return true;
    case OPTION_TUNE_BUDGET: return parse_seconds(o, "--budget", value, 10000000, &o->tune_budget);
    case OPTION_TUNE_TRACE: vector_push(o->arena, &o->tune_traces, value); return true;
    case OPTION_TUNE_PART: return parse_part(o, value);
    case OPTION_TUNE_MERGE: o->tune_merge = true; return true;
    case OPTION_TUNE_NATIVE: o->tune_native = true; return true;
    case OPTION_TUNE_MOVES: return parse_moves(o, value);
    case OPTION_TUNE_TEMPERATURE: return parse_temperature(o, value);
    case OPTION_TUNE_RESTARTS: return parse_int(o, "--restarts", value, 1, &o->tune_restarts);
    case OPTION_TUNE_TRIALS: return parse_int(o, "--trials", value, 1, &o->tune_trials);
    case OPTION_TUNE_SEED: return parse_count(o, "--seed", value, INT64_MAX, &o->tune_seed);
    case OPTION_JOBS: return !*value || parse_int(o, "-j", value, 1, &o->jobs);
    case OPTION_VERSION: o->print_version = true; return true;
    case OPTION_HELP: o->print_help = true; return true;
    case OPTION_REPORT:
    case OPTION_COUNT: break;
    }
    die("option %s has no meaning", option_info[id].spelling);
}

static bool parse_argument(struct options *options, const struct argument_list *list, int *at)
{
    const char *argument = list->words.data[*at], *value = NULL;
    int found = find_option(argument, &value);
    if (found < 0)
        return unknown_option(options, argument);
    const struct option_info *option = &option_info[found];
    if (option->state == STATE_LATER) {
        driver_error(options, "option '%s' is not there yet", option->spelling);
        return false;
    }
    if (!value && (option->form == FORM_JOINED || option->form == FORM_VALUE)) {
        if (*at + 1 >= list->words.count) {
            driver_error(options, "option '%s' needs %s", option->spelling, option->argument);
            return false;
        }
        value = list->words.data[++*at];
    }
    if (value && !*value && option->form != FORM_ATTACHED && found != OPTION_PREFIX && found != OPTION_PASSES) {
        driver_error(options, "option '%s' needs %s, not nothing", option->spelling, option->argument);
        return false;
    }
    return apply(options, (enum option_id)found, value);
}

static bool writes_header(const struct options *options)
{
    return (options->emit == EMIT_OBJECT || options->emit == EMIT_HEADER) &&
           !(options->output && (strcmp(options->output, "-") == 0 || file_is_device(options->output)));
}

/* Rules between options, whatever their order. */
static bool fits_together(const struct options *options)
{
    int sources = options->run_bench || options->run_tune ? 1 : options->files.count; /* the others are its calls */
    if (options->ptx_targets.count && (options->emit == EMIT_CUBIN || options->emit == EMIT_FATBIN)) {
        const char *name = target_rows[options->ptx_targets.data[0]].name + 3;
        driver_error(
            options,
            "-arch=compute_%s is PTX, which --emit=%s does not hold; -S writes it as text, sm_%s is machine code", name,
            emit_words[options->emit], name);
    } else if (!options->dependencies &&
               (options->dependency_file || options->dependency_phony || options->dependency_targets.count))
        driver_error(options, "%s needs -MD or -M",
                     options->dependency_file    ? "-MF"
                     : options->dependency_phony ? "-MP"
                                                 : "-MT");
    else if (options->emit == EMIT_PYTHON && options->visibility == TARGET_VISIBILITY_HIDDEN)
        driver_error(options,
                     "--emit=python makes a library whose kernels Python finds; -fvisibility=hidden hides them");
    else if (options->emit == EMIT_PYTHON && options->output &&
             (strcmp(options->output, "-") == 0 || file_is_device(options->output)))
        driver_error(options, "--emit=python writes a library beside the module, so -o names a file");
    else if (options->cpu_isas > 1 && strncmp(options->host_triple, "aarch64", 7) == 0)
        driver_error(options, "--cpu-isa: neon is all that aarch64-linux has");
    else if (options->asks_neon && strncmp(options->host_triple, "aarch64", 7) != 0)
        driver_error(options, "--cpu-isa: neon is of aarch64-linux, and the object is for x86_64-linux");
    else if (options->shared_header && !writes_header(options))
        driver_error(options, "--shared-header goes beside a header, which this command does not write to a file");
    else if (options->cxx_namespace && !writes_header(options))
        driver_error(options, "-fc++ writes a header beside that of C, which this command does not write to a file");
    else if (options->output && sources > 1)
        driver_error(options, "-o cannot be given with more than one file");
    else if (options->dependencies_only && options->output && options->dependency_file)
        driver_error(options, "-M writes one file, of -o or of -MF");
    else if (options->dependencies_only && (options->interpret || options->emit == EMIT_RUNTIME))
        driver_error(options, "-M makes nothing, and so goes with no test, --interpret and --emit-runtime");
    else if (options->dependency_file && sources > 1)
        driver_error(options, "-MF cannot be given with more than one file");
    else
        return true;
    return false;
}

bool options_parse(struct options *options, int count, const char *const *arguments, enum exit_code *code)
{
    static const char format[] = "-fdiagnostics-format=";
    struct argument_list list = {0};
    const char *failed;
    *code = EXIT_FILE;
    if (!response_expand(options->arena, count, arguments, &list, &failed)) {
        driver_error(options, "cannot read '@%s': %s", failed, strerror(errno));
        return false;
    }
    *code = EXIT_USAGE;
    options->optimization = 2;
    options->fuel = -1;
    options->color = "auto";
    options->error_limit = 20;
    options->schedules = USUAL_SCHEDULES;
    options->tool_seconds = 540;
#if defined(__aarch64__)
    options->host_triple = "aarch64-unknown-linux-gnu";
#else
    options->host_triple = "x86_64-unknown-linux-gnu";
#endif
    for (int i = 0; i < list.words.count; i++) /* before the first error of the command */
        if (strncmp(list.words.data[i], format, strlen(format)) == 0)
            options->json = strcmp(list.words.data[i] + strlen(format), "json") == 0;
    bool only_files = false;
    for (int i = 0; i < list.words.count; i++) {
        const char *word = list.words.data[i];
        if (!word[0]) {
            driver_error(options, "an empty argument: an option or a file is meant");
            return false;
        } else if (!only_files && strcmp(word, "--") == 0)
            only_files = true;
        else if (only_files || word[0] != '-' || !word[1])
            vector_push(options->arena, &options->files, word);
        else if (!parse_argument(options, &list, &i))
            return false;
    }
    if (options->dependencies_only)
        options->syntax_only = options->no_warnings = true;
    return fits_together(options);
}
