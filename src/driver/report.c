/* What a run says beside its outputs, on standard error: diagnostics, remarks, times, resources; and the exit code they
 * mean. */
#include "driver/driver.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "targets/product_choice.h"

int64_t report_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static bool wants_color(const struct options *options)
{
    if (strcmp(options->color, "auto") != 0)
        return strcmp(options->color, "always") == 0;
    const char *off = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return !(off && *off) && terminal && strcmp(terminal, "dumb") != 0 && isatty(2);
}

void report_diagnostics(struct compilation *compilation)
{
    if (compilation->options->json)
        diag_print_json(compilation->diagnostics, stderr);
    else
        diag_print(compilation->diagnostics, stderr, wants_color(compilation->options));
}

/* -Rpass=REGEX keeps the remarks whose text, which begins with the pass's name, it matches. */
void report_filter_remarks(struct compilation *compilation)
{
    regex_t pattern;
    if (!compilation->options->remark_pattern)
        return;
    if (regcomp(&pattern, compilation->options->remark_pattern, REG_EXTENDED | REG_NOSUB) != 0)
        die("a regular expression changed");
    struct diagnostic **link = &compilation->diagnostics->first, *last = NULL;
    while (*link) {
        struct diagnostic *d = *link;
        if (d->severity == SEVERITY_remark && regexec(&pattern, d->text, 0, NULL, 0) != 0)
            *link = d->next;
        else {
            last = d;
            link = &d->next;
        }
    }
    compilation->diagnostics->last = last;
    regfree(&pattern);
}

void report_cache(const struct compilation *compilation)
{
    int found, asked;
    cache_count(compilation->target.cache, &found, &asked);
    if (compilation->options->verbose && asked)
        fprintf(stderr, "tilecc: %d of %d pieces of code were in the cache\n", found, asked);
}

static void print_processor_time(const char *part, int64_t nanoseconds)
{
    fprintf(stderr, "processor time: %-15s %9.3f ms\n", part, (double)nanoseconds / 1e6);
}

/* How long each step took by the clock, and what each part took of all processors. */
void report_times(const struct compilation *compilation)
{
    static const char *const names[STAGE_COUNT] = {"front end", "passes", "GPU code", "object", "writing"};
    int64_t total = 0;
    for (int i = 0; i < STAGE_COUNT; i++)
        total += compilation->stage_time[i];
    for (int i = 0; i < STAGE_COUNT; i++)
        fprintf(stderr, "time: %-10s %9.3f ms\n", names[i], (double)compilation->stage_time[i] / 1000);
    fprintf(stderr, "time: %-10s %9.3f ms\n", "total", (double)total / 1000);
    const struct times *times = compilation->target.times;
    int64_t gpu = times_get(times, TIMES_LLVM_GPU), host = times_get(times, TIMES_LLVM_HOST);
    print_processor_time("tilecc",
                         times_clock() - compilation->processor_begin + times_get(times, TIMES_WORKERS) - gpu - host);
    print_processor_time("LLVM, GPU code", gpu);
    print_processor_time("LLVM, host code", host);
    print_processor_time("ptxas", times_get(times, TIMES_TOOLS));
}

/* Of CPU code; the GPU's room says its own when the cubin is there. */
void report_resources(const struct compilation *compilation)
{
    const struct kernel_module *module = compilation->module;
    for (int i = 0; module && i < module->entries.count; i++) {
        const struct kernel_entry *entry = &module->entries.data[i];
        for (int k = 0; k < entry->variants.count; k++) {
            const struct kernel_variant *variant = &entry->variants.data[k];
            if (target_rows[variant->target].kind == TARGET_CPU)
                fprintf(stderr, "%s cpu: %lld bytes of scratch a thread\n",
                        variant->label ? variant->label : entry->symbol, (long long)variant->cpu.scratch_bytes);
        }
    }
}

void report_cpu_instances(struct compilation *compilation)
{
    const struct kernel_module *module = compilation->module;
    static const char *const isas[] = {"the baseline, AVX2 and AVX-512",
                                       "the baseline",
                                       "AVX2",
                                       "the baseline and AVX2",
                                       "AVX-512",
                                       "the baseline and AVX-512",
                                       "AVX2 and AVX-512",
                                       "the baseline, AVX2 and AVX-512"};
    bool arm = strncmp(compilation->options->host_triple, "aarch64", 7) == 0;
    for (int i = 0; module && i < module->entries.count; i++) {
        const struct kernel_entry *entry = &module->entries.data[i];
        for (int k = 0; k < entry->variants.count; k++) {
            const struct kernel_variant *variant = &entry->variants.data[k];
            if (target_rows[variant->target].kind != TARGET_CPU)
                continue;
            diag_report(compilation->diagnostics, DIAGNOSTIC_R2003, variant->function->at,
                        "instance: %s: loops for %s; %lld bytes of scratch a thread%s%s",
                        variant->label ? variant->label : entry->symbol,
                        arm ? "NEON" : isas[compilation->options->cpu_isas], (long long)variant->cpu.scratch_bytes,
                        variant->when ? "; when " : "", variant->when ? variant->when->text : "");
        }
    }
}

/* Codes that are not about the source. */
static enum exit_code exit_code_of(enum diagnostic_code code)
{
    const char *text = diagnostic_info[code].code;
    static const struct {
        const char *code;
        enum exit_code exit;
    } known[] = {{"E0414", EXIT_USAGE},    {"E0801", EXIT_FILE},     {"E0802", EXIT_FILE},
                 {"E1005", EXIT_INTERNAL}, {"E1102", EXIT_INTERNAL}, {"E1202", EXIT_ENVIRONMENT},
                 {"E1203", EXIT_TOOL},     {"E1204", EXIT_TOOL},     {"E1205", EXIT_INTERNAL}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(text, known[i].code) == 0)
            return known[i].exit;
    return EXIT_SOURCE;
}

enum exit_code report_exit_code(const struct compilation *compilation)
{
    if (compilation->code)
        return compilation->code;
    enum exit_code code = EXIT_OK;
    for (const struct diagnostic *d = compilation->diagnostics->first; d; d = d->next) {
        if (d->severity != SEVERITY_error)
            continue;
        enum exit_code here = exit_code_of(d->code);
        if (here == EXIT_INTERNAL)
            return EXIT_INTERNAL; /* broken rules of the IR are no fault of the source */
        if (here == EXIT_FILE)
            return EXIT_FILE; /* the rest of the source was not checked */
        if (here > code && code != EXIT_SOURCE)
            code = here;
        if (here == EXIT_SOURCE)
            code = EXIT_SOURCE;
    }
    return code ? code : EXIT_INTERNAL;
}

void version_print(const struct options *options)
{
    printf("tilecc %s (language 1, PTX up to 9.0)\n", TILECC_VERSION);
    if (!options->verbose)
        return;
    const char *ptxas = tool_find(options, "ptxas"), *fatbinary = tool_find(options, "fatbinary");
    printf("ptxas: %s\nfatbinary: %s\n", ptxas ? ptxas : "none", fatbinary ? fatbinary : "none");
}

void targets_print(void)
{
    struct buffer text = {0};
    target_print_all(&text);
    fwrite(text.data, 1, text.size, stdout);
    buffer_free(&text);
}

void products_print(const struct options *options)
{
    struct buffer text = {0};
    product_print_table(&text, options->targets.count, options->targets.data);
    fwrite(text.data, 1, text.size, stdout);
    buffer_free(&text);
}
