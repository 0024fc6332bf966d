/* One run of the compiler over one source, from its text to its outputs, and what the files of this room share.
 *
 *   main.c        the process: subcommands, signals, exit codes
 *   compile.c     one source: read, front end, passes, code, outputs
 *   run_passes.c  passes over the variants
 *   emit.c        what --emit asks for, as bytes with names
 *   report.c      time, resources, remarks, printing diagnostics */
#ifndef TILECC_DRIVER_H
#define TILECC_DRIVER_H
#include "base/base.h"
#include "base/embedded.h"
#include "base/file.h"
#include "driver/options.h"
#include "driver/tools.h"
#include "passes/run.h"
#include "passes/schedules/schedules.h"
#include "targets/target.h"

enum { LARGEST_SOURCE = 16 << 20 };

enum stage { STAGE_FRONT, STAGE_PASSES, STAGE_GPU, STAGE_OBJECT, STAGE_OUTPUT, STAGE_COUNT };

struct written {
    const char **data;
    int count, capacity;
}; /* names of outputs */

/* What the files of one command have in common. */
struct run {
    struct written written;
    struct written shared; /* those that all sources have: --shared-header */
    struct tool_failures failures;
};

struct compilation {
    const struct options *options;
    struct arena *arena;
    struct diagnostics *diagnostics;
    struct ir_context *context;
    struct front_options front;
    struct schedule_chooser chooser; /* for the front end, which knows no target's costs */
    struct front *library;           /* see front_options */
    struct front *read;              /* what the front end has read, for `tilecc test` */
    struct target_options target;
    struct source *source;
    const char *stem; /* file name without directory and suffix */
    VECTOR(const char *) imports;
    VECTOR(int) targets;          /* rows that code is made for */
    struct kernel_module *module; /* after the front end */
    int64_t fuel;
    struct asked_plans plans; /* what --plan asks for, and what became of it */
    struct output_set *outputs;
    VECTOR(const char *) output_names;     /* in the order of the depfile's targets */
    VECTOR(const char *) shared_names;     /* of outputs that other sources have, too: no targets of the depfile */
    struct written *written, *shared;      /* by the sources before this one */
    int64_t stage_time[STAGE_COUNT];       /* microseconds */
    int64_t processor_begin;               /* times_clock when this source's turn came */
    struct interpretation *interpretation; /* of --interpret with a call */
    enum exit_code code;                   /* why it failed, when not for the source's errors */
};

/* `run`: what the files before this one gave and met, and then this one. */
enum exit_code compile_file(const struct options *options, const char *path, struct run *run);
bool compile_is_tir(const char *path);
const char *compile_stem(const struct options *options, const char *path);
enum exit_code compile_tir(struct compilation *compilation);

/* The names in a comma list, each a pass.  False: said which is not. */
bool lower_check_names(const struct options *options);
/* What --plan asks for, of which nothing is done yet. */
void plan_option_begin(struct compilation *compilation);
/* Reports what --plan asks for and no loop has done.  False: something. */
bool plan_option_report(struct compilation *compilation);
/* Runs --passes or the pipeline on every variant. */
bool lower_module(struct compilation *compilation);
/* limits.c: variants that no GPU of their row could run are left out of the entry where another of that row stays, with
 * a warning, and silently those that the compiler has chosen and that are long or keep tiles in local memory.  False: none
 * stays, which is reported. */
bool limits_apply(struct compilation *compilation, struct kernel_entry *entry);
/* Takes the variants away that have failed (targets/common/attempt.h); the others of their facts take their calls. */
void limits_leave_out_failed(struct arena *arena, struct kernel_entry *entry);
/* Warns of a variant for a GPU that takes long to compile. */
void limits_warn_of_length(struct compilation *compilation, const char *kernel, const struct kernel_variant *variant);
/* instance: what remarks and warnings call it; knobs that do nothing are added to `idle`, if there is one. */
bool lower_function(struct compilation *compilation, struct ir_function *function, const struct target_row *row,
                    const char *instance, struct idle_knobs *idle);

/* Makes what was asked for and adds it to the outputs.  False: reported. */
bool emit_outputs(struct compilation *compilation);
/* Outputs that exist once an instance, collected before it is known whether they fit under -o. */
struct part {
    const char *name;
    struct buffer bytes;
};
struct parts {
    struct arena *arena;
    VECTOR(struct part) list;
};
bool emit_add_part(struct parts *parts, const char *name, struct buffer *bytes,
                   bool made); /* frees bytes, returns made */
/* Packs the images of an object.  False: said why. */
bool emit_compress_images(struct compilation *compilation);
bool emit_fatbins(struct compilation *compilation, struct parts *parts);
void emit_add(struct compilation *compilation, const char *path, const void *data, size_t size);
/* -o, or stem and suffix in the working directory. */
const char *emit_name(const struct compilation *compilation, const char *suffix);
bool emit_runtime(const struct options *options, enum exit_code *code);
/* That of --host-target; NULL: this tilecc has none, which is said. */
const struct embedded_file *emit_find_runtime(const struct options *options, enum exit_code *code);
/* The object and the run time as a shared library.  False: said why. */
bool link_library(struct compilation *compilation, const char *name, const struct buffer *object, struct buffer *out);

/* Reads the call of --interpret and runs it as it stands.  No call: lists what can be called. */
enum exit_code interpret_begin(struct compilation *compilation);
enum exit_code interpret_begin_tir(struct compilation *compilation, const struct ir_module *module);
/* Runs it again when the pass worked on its function.  NULL: not yet, more passes follow that belong to it. */
void interpret_after_pass(struct compilation *compilation, const struct ir_function *function, const char *pass);
enum exit_code interpret_finish(struct compilation *compilation); /* prints the results */
/* Runs the `test` blocks of the source, and prints a line each. */
enum exit_code test_run_all(struct compilation *compilation);

int64_t report_clock(void); /* microseconds */
void report_diagnostics(struct compilation *compilation);
void report_cache(const struct compilation *compilation); /* for -v */
void report_times(const struct compilation *compilation);
void report_resources(const struct compilation *compilation);
/* -Rpass=instance of the processor's code; a GPU's room says its own. */
void report_cpu_instances(struct compilation *compilation);
void report_filter_remarks(struct compilation *compilation);
enum exit_code report_exit_code(const struct compilation *compilation);
void version_print(const struct options *options);
void targets_print(void);
void products_print(const struct options *options); /* of the architectures of -arch, of all without it */

enum exit_code bench_main(const struct options *options);
enum exit_code tune_main(const struct options *options);
enum exit_code tune_orders_main(const struct options *options);
int info_main(int count, const char *const *arguments);
int explain_main(int count, const char *const *arguments);
#endif
