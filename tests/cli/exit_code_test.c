/* Which exit code a run ends with when it reported several errors. */
#include "driver/driver.h"

#include <stdio.h>

static int failures;

static enum exit_code code_of(enum diagnostic_code first, enum diagnostic_code second)
{
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct compilation compilation = {.arena = arena, .diagnostics = diagnostics};
    diag_report(diagnostics, first, (struct location){0}, "first");
    diag_report(diagnostics, second, (struct location){0}, "second");
    enum exit_code code = report_exit_code(&compilation);
    arena_destroy(arena);
    return code;
}

static void expect(enum diagnostic_code first, enum diagnostic_code second, enum exit_code wanted)
{
    enum exit_code found = code_of(first, second);
    if (found == wanted)
        return;
    failures++;
    fprintf(stderr, "%s and %s: exit code %d, not %d\n", diagnostic_info[first].code, diagnostic_info[second].code,
            (int)found, (int)wanted);
}

int main(void)
{
    expect(DIAGNOSTIC_E0201, DIAGNOSTIC_E0301, EXIT_SOURCE);
    expect(DIAGNOSTIC_E0414, DIAGNOSTIC_E0301, EXIT_SOURCE);
    expect(DIAGNOSTIC_E0201, DIAGNOSTIC_E0801, EXIT_FILE);
    expect(DIAGNOSTIC_E1203, DIAGNOSTIC_W1001, EXIT_TOOL);
    /* A pass that broke a rule: the verifier's own words come first. */
    expect(DIAGNOSTIC_E1004, DIAGNOSTIC_E1005, EXIT_INTERNAL);
    expect(DIAGNOSTIC_E1005, DIAGNOSTIC_E0201, EXIT_INTERNAL);
    return failures != 0;
}
