/* A schedule that the compiler has chosen fails: nobody has asked for it, so that the error becomes a warning. */
#include "targets/common/attempt.h"

struct attempt attempt_begin(const struct target_options *options)
{
    return (struct attempt){*options->diagnostics, options->failures ? options->failures->told.count : 0};
}

bool attempt_is_left_out(const struct target_options *options, const struct attempt *attempt,
                         struct kernel_variant *variant)
{
    struct diagnostics *diagnostics = options->diagnostics;
    if (!kernel_is_extra(variant) || diagnostics->errors == attempt->before.errors)
        return false;
    const struct diagnostic *error = diag_take_back(diagnostics, &attempt->before);
    if (options->failures)
        options->failures->told.count = attempt->told;
    variant->fails = true;
    struct diagnostic *warning = diag_report(
        diagnostics, DIAGNOSTIC_W1209, error ? error->at : variant->function->at,
        "a schedule that the compiler has chosen is left out, as it cannot be compiled: %s%s%s%s",
        error ? error->text : "there are too many errors", error ? " [" : "",
        error ? diagnostic_info[error->code].code : "", error ? "]" : "");
    diag_instance(diagnostics, warning, variant->label);
    return true;
}
