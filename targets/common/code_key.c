/* See code_key.h.  The IR is the one behind all passes, as text: code is made of that and of nothing else, which
 * same_code.h stands on, too.  All that passes say of an instance they say anew, about the lines of today. */
#include "targets/common/code_key.h"

#include "ir/text.h"

struct places {
    const struct target_options *options;
    struct buffer *text;
};

static void put_place(const struct places *places, struct location at)
{
    buffer_printf(places->text, "%d:%d:%s\n", at.line, at.column,
                  at.source ? target_source_name(places->options, at.source->name) : "");
}

/* Where an operation stands, and the calls that brought it. */
static void put_places(struct ir_operation *operation, void *context)
{
    const struct places *places = context;
    put_place(places, operation->at);
    for (const struct inlined_call *call = operation->at.inlined; call; call = call->at.inlined) {
        buffer_printf(places->text, "in %s\n", call->function);
        put_place(places, call->declared);
        put_place(places, call->at);
    }
}

void code_key_begin(const struct target_options *options, const struct kernel_variant *variant, const char *kind,
                    struct buffer *key)
{
    struct buffer text = {0};
    bool has_lines = options->line_info || options->debug;
    cache_put_kind(options->cache, key, kind);
    buffer_printf(key, "target %s\noptimization %d\nstrict %d\nlines %d\ndebug %d\n", target_rows[variant->target].name,
                  options->optimization, options->strict_fp, options->line_info, options->debug);
    ir_print_module(&text, variant->module, false);
    struct places places = {options, &text};
    for (struct ir_function *function = variant->module->first; function && has_lines; function = function->next) {
        put_place(&places, function->at);
        ir_walk(function->body, put_places, &places);
    }
    cache_put_digest(key, "code", text.data, text.size);
    buffer_free(&text);
}
