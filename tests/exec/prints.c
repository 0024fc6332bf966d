#define _GNU_SOURCE
#include "exec.h"
#include "prints.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TWO(m, n) \
    2, (int64_t[]) { m, n }

/* What a call writes to standard output. */
struct capture {
    FILE *file;
    int saved;
    char *text;
};

static void capture_begin(struct capture *capture)
{
    fflush(stdout);
    capture->file = tmpfile();
    capture->saved = dup(STDOUT_FILENO);
    if (!capture->file || dup2(fileno(capture->file), STDOUT_FILENO) < 0)
        abort();
}

static void capture_end(struct capture *capture)
{
    long size;
    fflush(stdout);
    dup2(capture->saved, STDOUT_FILENO);
    close(capture->saved);
    fseek(capture->file, 0, SEEK_END);
    size = ftell(capture->file);
    rewind(capture->file);
    capture->text = calloc((size_t)size + 1, 1);
    if (fread(capture->text, 1, (size_t)size, capture->file) != (size_t)size)
        abort();
    fclose(capture->file);
}

/* The lines of one instance, in order, without its prefix. */
static char *of_instance(const char *text, int64_t m, int64_t n)
{
    char prefix[80], *all = calloc(strlen(text) + 1, 1);
    snprintf(prefix, sizeof prefix, "prints_lines(%lld, %lld)", (long long)m, (long long)n);
    while (*text) {
        size_t size = strcspn(text, "\n") + 1;
        if (strncmp(text, prefix, strlen(prefix)) == 0)
            strncat(all, text + strlen(prefix), size - strlen(prefix));
        text += size;
    }
    return all;
}

static double element(const struct exec_tensor *x, int64_t rows, int64_t columns, int64_t i, int64_t j)
{
    double v = i < rows && j < columns ? exec_before(x, i * columns + j) : 0;
    return v != v ? __builtin_fabs(v) : v;
}

static void run_lines(struct exec_case *c)
{
    int64_t rows = c->extent[0], columns = c->extent[1], lines = 0;
    struct exec_tensor *x = exec_input(c, EXEC_F32, TWO(rows, columns)),
                       *y = exec_output(c, EXEC_F32, TWO(rows, columns));
    struct tile_f32_2 vx, vy;
    struct capture capture;
    int32_t scale = 4;
    EXEC_BIND(vx, x);
    EXEC_BIND(vy, y);
    capture_begin(&capture);
    int status = prints_lines(c->stream, &vx, scale, &vy);
    capture_end(&capture);
    exec_called(c, status);
    for (int64_t i = 0; i < rows * columns; i++)
        exec_expect(c, y, i, exec_before(x, i) * 0.5 * scale, 1e-6);
    for (int64_t m = 0; m < exec_cdiv(rows, 4); m++)
        for (int64_t n = 0; n < exec_cdiv(columns, 8); n++) {
            char want[8192], *got = of_instance(capture.text, m, n);
            int used = snprintf(want, sizeof want, ": start 4 00000004 %s\n", n > 0 ? "true" : "false");
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 8; j++)
                    used += snprintf(want + used, sizeof want - (size_t)used, "[%d, %d]: half 7 %.2f\n", i, j,
                                     element(x, rows, columns, m * 4 + i, n * 8 + j));
            for (int k = 1; k < scale; k += 2)
                for (int j = 0; j < 8; j++)
                    used += snprintf(want + used, sizeof want - (size_t)used, "[0, %d]: k %d %.1f\n", j, k,
                                     element(x, rows, columns, m * 4, n * 8 + j));
            snprintf(want + used, sizeof want - (size_t)used, ": end\n");
            if (strcmp(want, got) != 0)
                exec_fail(c, "instance %lld, %lld prints\n%snot\n%s", (long long)m, (long long)n, got, want);
            free(got);
            lines += 50;
        }
    for (const char *at = capture.text; (at = strchr(at, '\n')) != NULL; at++)
        lines--;
    if (lines != 0)
        exec_fail(c, "%lld lines are missing", (long long)lines);
    free(capture.text);
}

static const struct exec_test tests[] = {{"lines", run_lines, 2, {10, 20}, 0}};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
