/* What every pass may call: remarks, warnings, and notes of knobs that did nothing.  No pass is named here. */
#include "passes/base/pass.h"

static void report(struct pass_context *context, enum diagnostic_code code, struct location at, const char *format,
                   va_list arguments)
{
    struct buffer text = {0};
    buffer_vprintf(&text, format, arguments);
    bool named = code == DIAGNOSTIC_R2001;
    struct diagnostic *diagnostic = diag_report(context->diagnostics, code, at, "%s%s%s",
                                                named ? context->name ? context->name : "pass" : "", named ? ": " : "",
                                                text.data);
    diag_instance(context->diagnostics, diagnostic, context->instance);
    buffer_free(&text);
}

void pass_remark(struct pass_context *context, struct location at, const char *format, ...)
{
    va_list arguments;
    if (!context->remarks)
        return;
    va_start(arguments, format);
    report(context, DIAGNOSTIC_R2001, at, format, arguments);
    va_end(arguments);
}

void pass_warn(struct pass_context *context, enum diagnostic_code code, struct location at, const char *format, ...)
{
    va_list arguments;
    bool silenced = context->diagnostics->enabled[code] < 0;
    if (silenced && !context->remarks)
        return;
    va_start(arguments, format);
    report(context, silenced ? DIAGNOSTIC_R2001 : code, at, format, arguments);
    va_end(arguments);
}

/* "4", "2 or 3", "2, 3 or 4" */
static void print_asked(struct buffer *out, struct asked_knob asked)
{
    int count = 0, left = 0;
    for (int n = 0; n < 64; n++)
        left += (int)(asked.among >> n & 1);
    if (asked.value || !left)
        buffer_printf(out, "%d", asked.value);
    for (int n = 0; n < 64 && !asked.value; n++)
        if (asked.among >> n & 1)
            buffer_printf(out, "%s%d", !count++ ? "" : --left == 1 ? " or " : ", ", n);
}

void pass_idle_knob(struct pass_context *context, struct location at, const char *name, struct asked_knob asked,
                    const char *why, ...)
{
    struct buffer text = {0};
    va_list arguments;
    buffer_printf(&text, "%s = ", name);
    print_asked(&text, asked);
    buffer_puts(&text, " has no effect here: ");
    va_start(arguments, why);
    buffer_vprintf(&text, why, arguments);
    va_end(arguments);
    pass_remark(context, at, "%s", text.data);
    if (context->idle) {
        struct idle_knobs *idle = context->idle;
        const char *kept = arena_substring(idle->arena, text.data, text.size);
        vector_push(idle->arena, idle, ((struct idle_knob){at, name, kept, context->instance, context->target}));
    }
    buffer_free(&text);
}
