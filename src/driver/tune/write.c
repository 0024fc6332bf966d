/* The tuning file, which a person reads, and a table of what it brings. */
#include "driver/tune/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* How many schedules had a first look. */
static int measured_count(const struct tune_log *log, const char *kernel)
{
    struct arena *scratch = arena_create();
    const char **values = ARENA_ARRAY(scratch, const char *, log->results.count);
    int count = 0, different = 0;
    for (int i = 0; i < log->results.count; i++)
        if (!log->results.data[i].round && strcmp(log->results.data[i].kernel, kernel) == 0)
            values[count++] = log->results.data[i].values;
    if (count)
        qsort(values, (size_t)count, sizeof *values, compare_texts);
    for (int i = 0; i < count; i++)
        different += !i || strcmp(values[i], values[i - 1]) != 0;
    arena_destroy(scratch);
    return different;
}

/* The geometric mean over calls of how much faster it is. */
static double gain_of(const struct tune_head *head, const struct tune_clause *clause, int *calls)
{
    double sum = 0;
    *calls = 0;
    for (int i = 0; i < head->call_count; i++)
        if (clause->covers[i]) {
            sum -= log(head->members[clause->member].ratio[i].ratio);
            ++*calls;
        }
    return exp(sum / *calls);
}

static void put_clause(struct buffer *out, const struct tune_head *head, const struct tune_clause *clause)
{
    size_t begin = out->size;
    int calls;
    double gain = gain_of(head, clause, &calls);
    buffer_printf(out, "    [%s]", head->members[clause->member].values);
    if (clause->condition)
        buffer_printf(out, " when %s", clause->condition);
    int width = (int)(out->size - begin);
    buffer_printf(out, "%*s    # %.2fx of the default over %d shape%s\n", width < 60 ? 60 - width : 0, "", gain, calls,
                  calls == 1 ? "" : "s");
}

void write_tuning(struct buffer *out, const struct tune_log *log, const struct tune_heads *heads)
{
    buffer_printf(out, "# %s: schedules by tilecc tune, tilecc %s, on %s%s%s\ntuning 1\n", log->source, TILECC_VERSION,
                  log->device, log->driver ? ", driver " : "", log->driver ? log->driver : "");
    for (int i = 0; i < heads->count; i++) {
        const struct tune_head *head = &heads->data[i];
        int measured = measured_count(log, head->kernel);
        const char *space = *head->facts ? " " : "";
        buffer_putc(out, '\n');
        if (head->clause_count)
            buffer_printf(out, "# %d shape%s, %d schedules beside the default\n%s %s%s%s\n", head->call_count,
                          head->call_count == 1 ? "" : "s", measured, head->kernel, log->target, space, head->facts);
        else
            buffer_printf(out,
                          "# %s %s%s%s: over %d shape%s none of %d schedules is better than the default by more "
                          "than the noise\n",
                          head->kernel, log->target, space, head->facts, head->call_count,
                          head->call_count == 1 ? "" : "s", measured);
        for (int k = 0; k < head->clause_count; k++)
            put_clause(out, head, &head->clauses[k]);
    }
}

/* ---- the table ---- */

static const struct tune_clause *clause_of(const struct tune_head *head, int call)
{
    for (int i = 0; i < head->clause_count; i++)
        if (head->clauses[i].covers[call])
            return &head->clauses[i];
    return NULL;
}

/* Of the last round in which the schedule ran beside it; of the default alone, of any schedule. */
static double standard_time(const struct tune_log *log, const struct tune_call *call)
{
    double time = 0;
    for (int i = 0; i < log->results.count; i++) {
        const struct tune_result *r = &log->results.data[i];
        if (strcmp(r->call, call->text) == 0 && strcmp(r->kernel, call->kernel) == 0)
            time = bench_median(&r->standard);
    }
    return time;
}

static int widest(const struct tune_heads *heads)
{
    int most = 4;
    for (int i = 0; i < heads->count; i++)
        for (int k = 0; k < heads->data[i].call_count; k++) {
            int length = (int)strlen(heads->data[i].calls[k]->text);
            most = length > most ? length : most;
        }
    return most;
}

void write_table(struct buffer *out, const struct tune_log *log, const struct tune_heads *heads)
{
    int width = widest(heads), calls = 0;
    double sum = 0;
    buffer_printf(out, "%s%s%s\n%-*s     default      chosen        95 %%        schedule\n", log->device,
                  log->driver ? ", driver " : "", log->driver ? log->driver : "", width, "call");
    for (int i = 0; i < heads->count; i++) {
        const struct tune_head *head = &heads->data[i];
        for (int k = 0; k < head->call_count; k++, calls++) {
            const struct tune_clause *clause = clause_of(head, k);
            double time = standard_time(log, head->calls[k]);
            buffer_printf(out, "%-*s  ", width, head->calls[k]->text);
            if (time > 0)
                bench_put_time(out, time);
            else
                buffer_puts(out, "not measured");
            if (clause) {
                const struct tune_member *member = &head->members[clause->member];
                struct bench_ratio r = member->ratio[k];
                buffer_puts(out, "  ");
                bench_put_time(out, time * r.ratio);
                buffer_printf(out, "  %5.2fx %.2f..%.2f  [%s]\n", 1 / r.ratio, 1 / r.high, 1 / r.low, member->values);
                sum -= log1p(r.ratio - 1);
            } else
                buffer_puts(out, "           -       -             the default\n");
        }
    }
    if (calls)
        buffer_printf(out, "%-*s  %.3fx of the default in the mean of %d calls\n", width, "", exp(sum / calls), calls);
}
