/* See stored.h. */
#include "stored.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEAST_RUNS = 3, MOST_RUNS = 50 };
static const double SECONDS = 0.6; /* of runs that are timed */

static char *text; /* of the file */

void stored_open(const char *name)
{
    FILE *file = fopen(name, "r");
    long bytes = 0;
    if (!file || fseek(file, 0, SEEK_END) || (bytes = ftell(file)) < 0 || fseek(file, 0, SEEK_SET)) {
        perror(name);
        exit(2);
    }
    text = calloc(1, (size_t)bytes + 1);
    if (!text || fread(text, 1, (size_t)bytes, file) != (size_t)bytes) {
        fprintf(stderr, "%s: cannot be read\n", name);
        exit(2);
    }
    fclose(file);
}

/* ---- results ---- */

static void add_error(const struct judge_case *c, const struct judge_tensor *t, const char *what, double got,
                      double want, double size, struct judge_verdict *verdict)
{
    bool equal = got == want || (isnan(got) && isnan(want));
    double error = equal ? 0 : fabs(got - want) / (c->problem->tolerance * size);
    verdict->elements++;
    if (!equal && !(error <= verdict->error))
        verdict->error = error;
    if (equal || error <= 1)
        return;
    if (!strcmp(verdict->status, "right"))
        fprintf(stderr, "%s: %s %s: %.17g is not %.17g\n", c->problem->name, t->name, what, got, want);
    verdict->status = "wrong";
}

static void judge_by_file(const struct judge_case *c, const struct judge_tensor *t, struct judge_verdict *verdict)
{
    char head[64];
    int used = snprintf(head, sizeof head, "\n%s %s ", c->problem->name, t->name);
    char *line = text ? strstr(text, head) : NULL;
    if (!line) {
        fprintf(stderr, "%s: no stored %s\n", c->problem->name, t->name);
        verdict->status = "not stored";
        return;
    }
    line += used;
    int64_t elements = strtoll(line, &line, 10);
    double sum = strtod(line, &line), size = strtod(line, &line), got = 0;
    if (elements != t->elements) {
        verdict->status = "other sizes than stored";
        return;
    }
    double mean = size / (double)elements;
    for (int64_t i = 0; i < elements; i++)
        got += judge_value_at(t, i);
    add_error(c, t, "sum", got, sum, size, verdict);
    while (*line && *line != '\n') {
        int64_t at = strtoll(line, &line, 10);
        double want = strtod(line, &line);
        add_error(c, t, "stored", judge_value_at(t, at), want, fabs(want) + mean, verdict);
    }
}

static void judge_by_peer(const struct judge_case *c, const struct judge_tensor *t, const struct judge_tensor *peer,
                          struct judge_verdict *verdict)
{
    double mean = 0;
    for (int64_t i = 0; i < t->elements; i++) {
        double size = fabs(judge_value_at(peer, i));
        mean += isnan(size) ? 0 : size / (double)t->elements;
    }
    for (int64_t i = 0; i < t->elements; i++) {
        double want = judge_value_at(peer, i);
        add_error(c, t, "peer", judge_value_at(t, i), want, fabs(want) + mean, verdict);
    }
}

/* ---- the peer's tensors ---- */

static void *allocated(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
    if (!memory)
        exit((perror("memory"), 2));
    return memory;
}

/* Tensors of their own that hold what `from`'s do: the inputs, whatever the problem is at. */
static struct judge_case *copied(const struct judge_case *from)
{
    struct judge_case *c = allocated(sizeof *c);
    *c = *from;
    for (int t = 0; t < c->tensor_count; t++) {
        void *memory = allocated(judge_bytes(&c->tensors[t]));
        judge_set_memory(&c->tensors[t], memory);
        if (c->tensors[t].given)
            judge_fill(c, t);
        else
            memset(memory, 0xff, judge_bytes(&c->tensors[t]));
    }
    return c;
}

static void release(struct judge_case *c)
{
    for (int t = 0; t < c->tensor_count; t++)
        free(c->tensors[t].memory);
    free(c);
}

void stored_judge(const struct judge_case *c, bool stored, struct judge_verdict *verdict)
{
    struct judge_case *peer = copied(c);
    verdict->status = "right";
    c->problem->peer(peer);
    for (int t = 0; t < c->tensor_count; t++) {
        if (!c->tensors[t].result)
            continue;
        if (stored)
            judge_by_file(c, &c->tensors[t], verdict);
        judge_by_peer(c, &c->tensors[t], &peer->tensors[t], verdict);
    }
    release(peer);
}

/* ---- time ---- */

static int call_peer(struct judge_case *c) { return c->problem->peer(c), 0; }

static double least_microseconds(struct judge_case *c, const struct judge_case *inputs,
                                 int (*run)(struct judge_case *c))
{
    double least = INFINITY, all = 0;
    for (int n = 0; n < MOST_RUNS && (n < LEAST_RUNS || all < SECONDS); n++) {
        for (int t = 0; t < c->tensor_count; t++)
            if (c->tensors[t].given && c->tensors[t].result)
                memcpy(c->tensors[t].memory, inputs->tensors[t].memory, judge_bytes(&c->tensors[t]));
        clock_t begin = clock();
        if (run(c))
            return NAN;
        double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
        all += seconds;
        least = seconds < least ? seconds : least;
    }
    return 1e6 * least;
}

void stored_time(struct judge_case *c, struct judge_verdict *verdict)
{
    struct judge_case *inputs = copied(c), *peer = copied(c);
    verdict->microseconds = least_microseconds(c, inputs, c->problem->call);
    verdict->peer_microseconds = least_microseconds(peer, inputs, call_peer);
    release(inputs);
    release(peer);
}

/* ---- inputs for the suite itself ---- */

void stored_write_inputs(const struct judge_case *c)
{
    static const char *const types[] = {"float32", "int64", "bool", "float64", "int32", "uint8"};
    for (int i = 0; i < c->size_count; i++)
        printf("size %s %.17g\n", c->sizes[i].name, c->sizes[i].value);
    for (int i = 0; i < c->tensor_count; i++) {
        const struct judge_tensor *t = &c->tensors[i];
        printf("tensor %s %s %d %d", t->name, t->complex ? "complex128" : types[t->type], t->given, t->result);
        for (int d = 0; d < t->rank - t->complex; d++)
            printf(" %lld", (long long)t->extent[d]);
        printf("\n");
    }
    printf("\n");
    for (int i = 0; i < c->tensor_count; i++)
        if (c->tensors[i].given)
            fwrite(c->tensors[i].memory, 1, judge_bytes(&c->tensors[i]), stdout);
}
