/* A source that is tile IR: read it, run passes, print it again.  This is how passes are tested alone. */
#include "driver/driver.h"

#include <errno.h>
#include <string.h>

#include "ir/text.h"
#include "ir/verify.h"

static bool lower_all(struct compilation *compilation, struct ir_module *module) {
    const struct target_row *row =
        compilation->options->targets.count ? &target_rows[compilation->options->targets.data[0]] : NULL;
    bool ok = true;
    /* A pass may remove functions or add some behind; those that are there now are what was asked for. */
    for (struct ir_function *function = module->first; function && ok; function = function->next)
        ok = lower_function(compilation, function, row, arena_printf(compilation->arena, "@%s", function->name));
    return ok;
}

static enum exit_code write_module(struct compilation *compilation, const struct ir_module *module) {
    struct buffer text = {0};
    ir_print_module(&text, module, false);
    const char *failed;
    emit_add(compilation, compilation->options->output ? compilation->options->output : "-", text.data, text.size);
    buffer_free(&text);
    if (output_set_commit(compilation->outputs, &failed)) return EXIT_OK;
    driver_error("cannot write '%s': %s", failed, strerror(errno));
    return EXIT_FILE;
}

enum exit_code compile_tir(struct compilation *compilation) {
    const struct options *options = compilation->options;
    if (options->emit != EMIT_OBJECT && options->emit != EMIT_TIR) {
        driver_error("a .tir file gives tile IR; code is made from .tile files");
        return EXIT_USAGE;
    }
    struct ir_module *module =
        ir_parse_module(compilation->context, compilation->arena, compilation->diagnostics, compilation->source);
    bool ok = module && !compilation->diagnostics->errors && ir_verify_module(module, compilation->diagnostics);
    if (ok && options->interpret && (compilation->code = interpret_begin_tir(compilation, module)) != EXIT_OK)
        return compilation->code;
    if (ok && options->passes) ok = lower_all(compilation, module);
    report_filter_remarks(compilation);
    report_diagnostics(compilation);
    if (!ok || compilation->diagnostics->errors) return report_exit_code(compilation);
    if (options->interpret) return interpret_finish(compilation);
    return options->syntax_only ? EXIT_OK : write_module(compilation, module);
}
