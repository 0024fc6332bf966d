/* A source that is tile IR: read it, run passes, print it again.  This is how passes are tested alone. */
#include "driver/driver.h"

#include <errno.h>
#include <string.h>

#include "ir/text.h"
#include "ir/verify/verify.h"

static bool lower_all(struct compilation *compilation, struct ir_module *module)
{
    const struct target_row *row = compilation->options->targets.count
                                       ? &target_rows[compilation->options->targets.data[0]]
                                       : NULL;
    bool ok = true;
    /* A pass may remove functions or add some behind; those that are there now are what was asked for. */
    for (struct ir_function *function = module->first; function && ok; function = function->next)
        ok = lower_function(compilation, function, row, arena_printf(compilation->arena, "@%s", function->name), NULL);
    return ok && plan_option_report(compilation);
}

static enum exit_code write_module(struct compilation *compilation, const struct ir_module *module)
{
    struct buffer text = {0};
    ir_print_module(&text, module, false);
    const char *failed;
    emit_add(compilation, compilation->options->output ? compilation->options->output : "-", text.data, text.size);
    buffer_free(&text);
    if (output_set_commit(compilation->outputs, &failed))
        return EXIT_OK;
    driver_error(compilation->options, "cannot write '%s': %s", failed, strerror(errno));
    return EXIT_FILE;
}

/* A file to write that is not called .tir would be taken for code. */
static bool wants_code(const struct options *options)
{
    const char *name = options->output;
    size_t length = name ? strlen(name) : 0;
    if (options->emit == EMIT_TIR)
        return false;
    if (options->emit != EMIT_OBJECT)
        return true;
    bool is_text = !name || strcmp(name, "-") == 0 || (length > 4 && strcmp(name + length - 4, ".tir") == 0);
    return !is_text && !options->interpret && !options->syntax_only;
}

enum exit_code compile_tir(struct compilation *compilation)
{
    const struct options *options = compilation->options;
    if (wants_code(options)) {
        driver_error(compilation->options,
                     "a .tir file gives tile IR (-o NAME.tir, or --emit=tir); code is made from .tile files");
        return EXIT_USAGE;
    }
    if (options->dependencies_only) {
        driver_error(options, "-M lists what a .tile file imports; a .tir file imports nothing");
        return EXIT_USAGE;
    }
    struct ir_module *module = ir_parse_module(compilation->context, compilation->arena, compilation->diagnostics,
                                               compilation->source);
    bool ok = module && !compilation->diagnostics->errors && ir_verify_module(module, compilation->diagnostics);
    if (ok && options->interpret && (compilation->code = interpret_begin_tir(compilation, module)) != EXIT_OK)
        return compilation->code;
    if (ok && options->passes)
        ok = lower_all(compilation, module);
    report_filter_remarks(compilation);
    report_diagnostics(compilation);
    if (!ok || compilation->diagnostics->errors)
        return report_exit_code(compilation);
    if (options->interpret)
        return interpret_finish(compilation);
    return options->syntax_only ? EXIT_OK : write_module(compilation, module);
}
