/* The passes fail on one variant of a kernel, each in its turn, as they do where the checker finds a mistake of theirs.  What
 * the compiler has chosen itself is left out with a warning, and what stays takes its calls; what the source says is an
 * error. */
#define main tilecc_main
#include "driver/main.c"
#undef main

#include "support/fault.h"

#include <sys/wait.h>
#include <unistd.h>

static const char source[] = "kernel product(a: in f16[M, K], b: in f16[K, N], c: out f16[M, N])\n"
                             "    grid(m: cdiv(M, BM), n: cdiv(N, 128)) tune(BM: {64, 256} = 256) {\n"
                             "    var s = f32[BM, 128](0.0);\n"
                             "    for k in 0..K step 64 { s += a[m*BM +: BM, k +: 64] @ b[k +: 64, n*128 +: 128]; }\n"
                             "    c[m*BM +: BM, n*128 +: 128] = f16(s);\n"
                             "}\n";
static int left, ran;
static bool chosen; /* what fails was the compiler's choice */

pid_t __wrap_fork(void);
pid_t __wrap_fork(void) { return __real_fork(); }

bool __real_pass_run_all(const struct pass_run *run, struct ir_function *function, struct pass_context *context);
bool __wrap_pass_run_all(const struct pass_run *run, struct ir_function *function, struct pass_context *context);

bool __wrap_pass_run_all(const struct pass_run *run, struct ir_function *function, struct pass_context *context)
{
    ran++;
    if (--left)
        return __real_pass_run_all(run, function, context);
    chosen = strstr(context->instance, "BM=64") != NULL;
    diag_report(context->diagnostics, DIAGNOSTIC_E1006, function->at, "made to fail");
    return false;
}

/* How the compiler ends where the passes fail on the variant of that number, and what it says. */
static int compile(int number, char **arguments)
{
    int count = 0;
    pid_t id = __real_fork();
    if (id == 0) {
        fault_silence();
        left = number;
        while (arguments[count])
            count++;
        int code = tilecc_main(count, arguments);
        fault_page->calls = ran;
        fault_page->fired = chosen;
        exit(code);
    }
    int status = fault_wait(id);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int find(const char *text, const char *word)
{
    int found = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
        found++;
    return found;
}

/* Takes the text of each variant that was made away. */
static int count_texts(void)
{
    char path[64];
    for (int count = 0;; count++) {
        snprintf(path, sizeof path, "product.%d.sm_90a.ptx", count);
        if (unlink(path) != 0)
            return count;
    }
}

static void check(bool good, const char *what, int number)
{
    fault_page->cases++;
    if (good)
        return;
    fault_page->failures++;
    printf("variant %d: %s; it said:\n%s\n", number, what, fault_said());
}

int main(void)
{
    char *text[] = {"tilecc", "-S", "-arch=sm_90a", "product.tile", NULL};
    char *strict[] = {"tilecc", "-fsyntax-only", "-arch=sm_90a", "-Werror=chosen-schedule", "product.tile", NULL};
    int left_out = 0, errors = 0;
    fault_begin();
    FILE *file = fopen("product.tile", "w");
    if (!file || fputs(source, file) < 0 || fclose(file) != 0)
        return 2;
    check(compile(0, text) == 0, "fails though nothing is made to", 0);
    int all = (int)fault_page->calls;
    check(all == 4 && count_texts() == all, "not two schedules of two facts", 0);
    for (int i = 1; i <= all && !fault_page->failures; i++) {
        int code = compile(i, text);
        if (!fault_page->fired) {
            errors++;
            check(code != 0 && find(fault_said(), "error: made to fail [E1006]"), "no error", i);
            continue;
        }
        left_out++;
        check(code == 0 && count_texts() == all - 1, "the others are not there", i);
        check(find(fault_said(), "cannot be compiled: made to fail [E1006] [-Wchosen-schedule]") == 1, "no warning", i);
        check(compile(i, strict) != 0, "-Werror= makes it none", i);
    }
    check(left_out == 2 && errors == 2, "one of the two schedules never failed", 0);
    return fault_end();
}
