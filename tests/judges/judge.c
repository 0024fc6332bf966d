/* Runs problems of a suite: see judge.h.
 *
 *     judge [--gpu] [--full] [--time] [--json FILE] [NAME ...]     problems whose names hold a NAME; all without one
 *
 * Small sizes are judged whole, --full ones by random elements.  A line for each problem and a count at the end; the
 * exit status is 1 where one is wrong. */
#include "judge.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fill.h"
#include "memory.h"

enum { MOST_ELEMENTS = 4096, LEAST_ELEMENTS = 16 };
static const double SECONDS = 0.5; /* for the wanted elements of a problem with sizes in full */
static const size_t type_bytes[] = {4, 8, 1};

#define FAMILY(name) extern const struct judge_family judge_##name;
#include "families.def"
#undef FAMILY
#define FAMILY(name) &judge_##name,
static const struct judge_family *const families[] = {
#include "families.def"
};
#undef FAMILY
extern const char *tile_last_error(void);

static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(2);
}

/* ---- sizes and shapes ---- */

int64_t judge_size_or(const struct judge_case *c, const char *name, int64_t otherwise)
{
    for (int i = 0; i < c->size_count; i++)
        if (!strcmp(c->sizes[i].name, name))
            return c->sizes[i].value;
    return otherwise;
}

int64_t judge_size(const struct judge_case *c, const char *name)
{
    int64_t value = judge_size_or(c, name, -1);
    if (value < 0)
        fail("%s: no size %s", c->problem->name, name);
    return value;
}

void judge_set_size(struct judge_case *c, const char *name, int64_t value)
{
    if (c->size_count == JUDGE_SIZES || strlen(name) >= JUDGE_NAME)
        fail("%s: too many sizes, or too long a name", c->problem->name);
    struct judge_size *size = &c->sizes[c->size_count++];
    strcpy(size->name, name);
    size->value = value;
}

static void read_sizes(struct judge_case *c, const char *text)
{
    char name[JUDGE_NAME];
    long long value;
    for (int used; sscanf(text, " %11[a-z0-9]=%lld%n", name, &value, &used) == 2; text += used)
        judge_set_size(c, name, value);
    if (text[strspn(text, " ")])
        fail("%s: sizes: %s", c->problem->name, text);
}

/* A size, a number, or one divided by another; moves *text behind it. */
static int64_t read_extent(const struct judge_case *c, const char **text)
{
    char name[JUDGE_NAME];
    int used;
    if (sscanf(*text, "%11[a-z0-9]%n", name, &used) != 1)
        fail("%s: extent: %s", c->problem->name, *text);
    *text += used;
    int64_t value = name[0] <= '9' ? atoll(name) : judge_size(c, name);
    if (**text != '/')
        return value;
    ++*text;
    return value / read_extent(c, text);
}

/* A number or a size; gives what stands behind it. */
static const char *read_bound(const struct judge_case *c, const char *text, double *bound)
{
    int used;
    if (sscanf(text, "%lf%n", bound, &used) == 1)
        return text + used;
    *bound = (double)read_extent(c, &text);
    return text;
}

static const char *read_tensor(struct judge_case *c, const char *text)
{
    static const char *const types[] = {"f32", "i64", "bool"};
    char type[8];
    int used;
    if (c->tensor_count == JUDGE_TENSORS || sscanf(text, "%*[a-z0-9_]:%7[a-z0-9][%n", type, &used) != 1)
        fail("%s: tensor: %s", c->problem->name, text);
    struct judge_tensor *t = &c->tensors[c->tensor_count];
    *t = (struct judge_tensor){.elements = 1, .high = 1, .seed = 0x51ed27u * (unsigned)++c->tensor_count};
    while (t->type < JUDGE_BOOL && strcmp(type, types[t->type]))
        t->type++;
    text += used;
    for (bool more = true; more; text++) {
        if (t->rank == JUDGE_RANK)
            fail("%s: too many dimensions", c->problem->name);
        t->extent[t->rank++] = read_extent(c, &text);
        t->elements *= t->extent[t->rank - 1];
        more = *text == ',';
    }
    t->triangle = !strncmp(text, "~upper", 6) ? 1 : !strncmp(text, "~lower", 6) ? -1 : 0;
    if (t->triangle)
        text += 6;
    if (*text == '~') {
        text = read_bound(c, text + 1, &t->low);
        text = read_bound(c, text + 1, &t->high);
    }
    t->workspace = *text == '!';
    return text + t->workspace;
}

static void read_shape(struct judge_case *c)
{
    const char *text = c->problem->shape;
    for (bool result = false; *text; text += strspn(text, " >")) {
        text = read_tensor(c, text);
        c->tensors[c->tensor_count - 1].result = result;
        result |= strchr(text, '>') && strspn(text, " >") > 1;
    }
    if (!c->tensor_count || !c->tensors[c->tensor_count - 1].result)
        fail("%s: no result", c->problem->name);
}

/* ---- inputs ---- */

static uint32_t mixed(int64_t i, uint32_t seed)
{
    uint32_t h = (uint32_t)i * 0x9e3779b1u + (uint32_t)(i >> 32) * 0x85ebca77u + seed;
    h = (h ^ h >> 15) * 0x2c1b3c6du;
    h = (h ^ h >> 12) * 0x297a2d39u;
    return h ^ h >> 15;
}

static float unit_of(const struct judge_tensor *t) { return (float)((t->high - t->low) * 0x1p-24); }

double judge_element(const struct judge_case *c, int t, int64_t i)
{
    const struct judge_tensor *tensor = &c->tensors[t];
    uint32_t h = mixed(i, tensor->seed);
    int64_t row = tensor->triangle ? i / tensor->extent[1] : 0, column = tensor->triangle ? i % tensor->extent[1] : 0;
    if (tensor->triangle > 0 ? column < row : column > row)
        return 0;
    switch (tensor->type) {
    case JUDGE_I64: return tensor->low + h % (uint32_t)(tensor->high - tensor->low);
    case JUDGE_BOOL: return h % 2;
    default: return (double)fmaf((float)(h >> 8), unit_of(tensor), (float)tensor->low);
    }
}

static int fill_on_gpu(struct judge_case *c, const struct judge_tensor *t)
{
    switch (t->type) {
    case JUDGE_I64:
        return judge_fill_i64(c->stream, (void *)t->view, (int64_t)t->low, (uint32_t)(t->high - t->low), t->seed);
    case JUDGE_BOOL: return judge_fill_bool(c->stream, (void *)t->view, t->seed);
    default: return judge_fill_f32(c->stream, (void *)t->view, (float)t->low, unit_of(t), t->seed);
    }
}

static void fill(struct judge_case *c, int number, bool gpu)
{
    struct judge_tensor *t = &c->tensors[number];
    if (gpu) {
        /* As a line of elements. */
        struct judge_tensor line = *t;
        line.view[1] = t->elements, line.view[2] = 1;
        int status = fill_on_gpu(c, &line);
        if (!status && t->triangle)
            status = judge_fill_triangle(c->stream, (void *)t->view, t->triangle > 0);
        if (status)
            fail("%s: fill: %s", c->problem->name, tile_last_error());
        return;
    }
    for (int64_t i = 0; i < t->elements; i++) {
        double value = judge_element(c, number, i);
        if (t->type == JUDGE_F32)
            ((float *)t->memory)[i] = (float)value;
        else if (t->type == JUDGE_I64)
            ((int64_t *)t->memory)[i] = (int64_t)value;
        else
            ((uint8_t *)t->memory)[i] = value != 0;
    }
}

static void set_view(struct judge_tensor *t, void *memory)
{
    int64_t stride = 1;
    t->memory = memory;
    t->view[0] = (int64_t)(intptr_t)memory;
    for (int d = t->rank - 1; d >= 0; stride *= t->extent[d--]) {
        t->view[1 + d] = t->extent[d];
        t->view[1 + t->rank + d] = stride;
    }
}

static void make_tensor(struct judge_case *c, int number, bool gpu)
{
    struct judge_tensor *t = &c->tensors[number];
    set_view(t, memory_allocate((size_t)t->elements * type_bytes[t->type]));
    if (!t->result && !t->workspace)
        fill(c, number, gpu);
}

/* ---- judging ---- */

struct verdict {
    const char *status; /* "right", "wrong", or what a call failed with */
    double error;       /* the largest, in tolerances */
    int64_t elements;
    double microseconds;
};

static double read_result(const struct judge_tensor *t, int64_t i)
{
    char *from = (char *)t->memory + (size_t)i * type_bytes[t->type];
    float f;
    int64_t n;
    uint8_t b;
    if (t->type == JUDGE_F32)
        return memory_read(&f, from, sizeof f), (double)f;
    if (t->type == JUDGE_I64)
        return memory_read(&n, from, sizeof n), (double)n;
    return memory_read(&b, from, sizeof b), (double)b;
}

/* How far element i is from what is wanted, in tolerances. */
static double error_of(const struct judge_case *c, int64_t i)
{
    const struct judge_tensor *t = &c->tensors[c->tensor_count - 1];
    int64_t at[JUDGE_RANK], rest = i;
    for (int d = t->rank - 1; d >= 0; rest /= t->extent[d--])
        at[d] = rest % t->extent[d];
    struct judge_value want = c->problem->want(c, at);
    double got = read_result(t, i), off = fabs(got - want.value);
    if (got == want.value || (isnan(got) && isnan(want.value)))
        return 0;
    return isnan(off) ? INFINITY : off / (c->problem->tolerance * want.size);
}

static double seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

static void judge_elements(const struct judge_case *c, struct verdict *verdict)
{
    int64_t all = c->tensors[c->tensor_count - 1].elements;
    double begin = seconds();
    uint32_t random = 1;
    verdict->status = "right";
    for (int64_t n = 0; n < all && (all <= MOST_ELEMENTS || n < MOST_ELEMENTS); n++) {
        if (all > MOST_ELEMENTS && n > LEAST_ELEMENTS && seconds() - begin > SECONDS)
            break;
        random = mixed(n, random);
        uint64_t chosen = (uint64_t)random << 32 | mixed(n, ~random);
        int64_t i = all <= MOST_ELEMENTS ? n : n == 0 ? 0 : n == 1 ? all - 1 : (int64_t)(chosen % (uint64_t)all);
        double error = error_of(c, i);
        verdict->elements++;
        if (error > verdict->error)
            verdict->error = error;
        if (!(error <= 1)) {
            verdict->status = "wrong";
            return;
        }
    }
}

static int call(void *data)
{
    struct judge_case *c = data;
    int status = c->problem->call(c);
    if (status)
        fprintf(stderr, "%s: %s\n", c->problem->name, tile_last_error());
    return status;
}

static struct verdict judge(const struct judge_problem *problem, bool gpu, bool full, bool timed)
{
    struct judge_case c = {.problem = problem, .stream = gpu ? NULL : TILE_CPU};
    struct verdict verdict = {0};
    read_sizes(&c, full ? problem->full : problem->small);
    if (problem->derive)
        problem->derive(&c);
    read_shape(&c);
    for (int t = 0; t < c.tensor_count; t++)
        make_tensor(&c, t, gpu);
    if (call(&c)) {
        verdict.status = "failed";
    } else {
        memory_wait();
        judge_elements(&c, &verdict);
        if (timed)
            verdict.microseconds = memory_time(call, &c);
    }
    for (int t = 0; t < c.tensor_count; t++)
        memory_release(c.tensors[t].memory, (size_t)c.tensors[t].elements * type_bytes[c.tensors[t].type]);
    return verdict;
}

/* ---- for the suites' own harnesses: libjudge.so ---- */

static bool open_case(struct judge_case *c, const char *name)
{
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (int i = 0; i < families[f]->count; i++)
            if (!strcmp(families[f]->problems[i].name, name)) {
                *c = (struct judge_case){.problem = &families[f]->problems[i]};
                read_sizes(c, c->problem->full);
                if (c->problem->derive)
                    c->problem->derive(c);
                read_shape(c);
                return true;
            }
    return false;
}

/* Tensor t of a problem with the suite's sizes: its elements, negative for a workspace; 0: there is none. */
int64_t judge_tensor_elements(const char *name, int t)
{
    struct judge_case c;
    if (!open_case(&c, name) || t < 0 || t >= c.tensor_count)
        return 0;
    return c.tensors[t].workspace ? -c.tensors[t].elements : c.tensors[t].elements;
}

/* Calls our kernel of a problem on the suite's sizes, with the memory of all its tensors in order, workspaces and the
 * result too.  The status of the call; -1 where there is no such problem. */
int judge_run(const char *name, struct CUstream_st *stream, void *const *memory)
{
    struct judge_case c;
    if (!open_case(&c, name))
        return -1;
    c.stream = stream;
    for (int t = 0; t < c.tensor_count; t++)
        set_view(&c.tensors[t], memory[t]);
    return call(&c);
}

/* ---- main ---- */

static bool is_asked_for(const char *name, char **words, int count)
{
    for (int i = 0; i < count; i++)
        if (strstr(name, words[i]))
            return true;
    return count == 0;
}

int main(int count, char **arguments)
{
    bool gpu = false, full = false, timed = false;
    int wrong = 0, judged = 0, first = 1;
    FILE *json = NULL;
    for (; first < count && !strncmp(arguments[first], "--", 2); first++) {
        const char *option = arguments[first];
        if (!strcmp(option, "--json") && first + 1 < count)
            json = fopen(arguments[++first], "w");
        else if (strcmp(option, "--gpu") && strcmp(option, "--full") && strcmp(option, "--time"))
            fail("judge: no option %s", option);
        gpu |= !strcmp(option, "--gpu"), full |= !strcmp(option, "--full"), timed |= !strcmp(option, "--time");
    }
    memory_open(gpu);
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (int i = 0; i < families[f]->count; i++) {
            const struct judge_problem *problem = &families[f]->problems[i];
            if (!is_asked_for(problem->name, arguments + first, count - first))
                continue;
            struct verdict verdict = judge(problem, gpu, full, timed);
            judged++, wrong += strcmp(verdict.status, "right") != 0;
            printf("%-7s %s: %lld elements, error %.3g of tolerance", verdict.status, problem->name,
                   (long long)verdict.elements, verdict.error);
            if (timed)
                printf(", %.1f us", verdict.microseconds);
            printf("\n");
            fflush(stdout);
            if (json)
                fprintf(
                    json, "{\"name\": \"%s\", \"status\": \"%s\", \"elements\": %lld, \"error\": %.4g, \"us\": %.2f}\n",
                    problem->name, verdict.status, (long long)verdict.elements, verdict.error, verdict.microseconds);
        }
    if (json)
        fclose(json);
    printf("%d judged, %d not right\n", judged, wrong);
    return wrong != 0 || judged == 0;
}
