/* Runs problems of a suite: see judge.h.
 *
 *     judge [--gpu] [--full] [--time] [--brief] [--json FILE] [--stored FILE] [NAME ...]
 *     judge --list [NAME ...]
 *     judge --inputs =NAME                      what stored_write_inputs writes
 *
 * Problems are those whose names hold a NAME, or are one that stands behind =; all without one.
 * Small sizes are judged whole, --full ones by random elements.  A line for each problem, with --brief only for
 * those that are not right, and counts, which --brief writes to the FILE alone; the exit status is 1 where one is wrong. */
#include "judge.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fill.h"
#include "memory.h"
#include "stored.h"

enum { MOST_ELEMENTS = 4096, LEAST_ELEMENTS = 16 };
static const double SECONDS = 0.5,
                    LONG_SECONDS = 5; /* for the wanted elements of a problem with sizes in full; at most */

#define FAMILY(name) extern const struct judge_family judge_##name;
#include "families.def"
#undef FAMILY
#define FAMILY(name) {#name, &judge_##name},
static const struct {
    const char *name;
    const struct judge_family *family;
} families[] = {
#include "families.def"
};
#undef FAMILY
extern const char *tile_last_error(void);

size_t judge_bytes(const struct judge_tensor *t) { return element_bytes(t->type, t->elements); }

struct options {
    bool gpu, full, timed, brief, list, inputs;
    FILE *json;
    char **words;
    int word_count;
};

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

/* Asked for each element of a reference; names have a letter or two, for which strcmp takes as long as all the rest. */
static const struct judge_size *find_size(const struct judge_case *c, const char *name)
{
    for (int i = 0; i < c->size_count; i++) {
        const char *at = c->sizes[i].name, *wanted = name;
        while (*at && *at == *wanted)
            at++, wanted++;
        if (*at == *wanted)
            return &c->sizes[i];
    }
    return NULL;
}

double judge_number(const struct judge_case *c, const char *name)
{
    const struct judge_size *size = find_size(c, name);
    if (!size)
        fail("%s: no size %s", c->problem->name, name);
    return size->value;
}

int64_t judge_size_or(const struct judge_case *c, const char *name, int64_t otherwise)
{
    const struct judge_size *size = find_size(c, name);
    return size ? (int64_t)size->value : otherwise;
}

int64_t judge_size(const struct judge_case *c, const char *name) { return (int64_t)judge_number(c, name); }

void judge_set_size(struct judge_case *c, const char *name, double value)
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
    double value;
    for (int used; sscanf(text, " %11[a-z0-9]=%lf%n", name, &value, &used) == 2; text += used)
        judge_set_size(c, name, value);
    if (text[strspn(text, " ")])
        fail("%s: sizes: %s", c->problem->name, text);
}

/* A size, a number, or one and another with / or + between them; moves *text behind it. */
static int64_t read_extent(const struct judge_case *c, const char **text)
{
    char name[JUDGE_NAME];
    int used;
    if (sscanf(*text, "%11[a-z0-9]%n", name, &used) != 1)
        fail("%s: extent: %s", c->problem->name, *text);
    *text += used;
    int64_t value = name[0] <= '9' ? atoll(name) : judge_size(c, name);
    char sign = **text;
    if (sign != '/' && sign != '+')
        return value;
    ++*text;
    int64_t other = read_extent(c, text);
    return sign == '+' ? value + other : value / other;
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
    char name[JUDGE_NAME], type[8];
    int used;
    if (c->tensor_count == JUDGE_TENSORS || sscanf(text, "%11[a-z0-9_]:%7[a-z0-9][%n", name, type, &used) != 2)
        fail("%s: tensor: %s", c->problem->name, text);
    struct judge_tensor *t = &c->tensors[c->tensor_count];
    *t = (struct judge_tensor){.elements = 1, .high = 1, .seed = 0x51ed27u * (unsigned)++c->tensor_count};
    strcpy(t->name, name);
    t->complex = !strcmp(type, "c128");
    t->type = t->complex ? JUDGE_F64 : element_type(type);
    if (t->type == JUDGE_TYPES)
        fail("%s: no type %s", c->problem->name, type);
    text += used;
    for (bool more = true; more; text++) {
        if (t->rank == JUDGE_RANK)
            fail("%s: too many dimensions", c->problem->name);
        t->extent[t->rank++] = read_extent(c, &text);
        t->elements *= t->extent[t->rank - 1];
        more = *text == ',';
    }
    if (t->complex && t->rank < JUDGE_RANK)
        t->extent[t->rank++] = 2, t->elements *= 2;
    t->definite = !strncmp(text, "~definite", 9);
    if (t->definite)
        text += 9;
    t->any = !strncmp(text, "~any", 4);
    if (t->any)
        text += 4;
    t->triangle = !strncmp(text, "~upper", 6) ? 1 : !strncmp(text, "~lower", 6) ? -1 : 0;
    if (t->triangle)
        text += 6;
    if (*text == '~') {
        text = read_bound(c, text + 1, &t->low);
        text = read_bound(c, text + 1, &t->high);
    }
    t->given = *text != '!';
    t->result = *text == '=';
    return text + (*text == '!' || *text == '=');
}

static void read_shape(struct judge_case *c)
{
    const char *text = c->problem->shape;
    bool any = false;
    bool result = *text == '>';
    for (text += strspn(text, " >"); *text; text += strspn(text, " >")) {
        text = read_tensor(c, text);
        struct judge_tensor *t = &c->tensors[c->tensor_count - 1];
        if (result)
            t->given = t->result, t->result = true;
        any |= t->result;
        result |= strchr(text, '>') && strspn(text, " >") > 1;
    }
    if (!any)
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

/* Of four elements one is an edge of the type and one a small number. */
static long double anything(enum judge_type type, uint32_t h, uint64_t bits)
{
    long double most = element_largest(type), least = element_smallest(type);
    long double tiny = element_is_float(type) ? element_unit(type, 0) : 2;
    const long double edges[] = {0, 1, -1, most, least, most / 2, tiny, INFINITY, -INFINITY, NAN, -0.0L};
    int small = (int)(h >> 8 & 15);
    if (h % 4 == 0) {
        long double edge = edges[(h >> 8) % (element_is_float(type) ? 11 : 6)];
        if (element_is_float(type))
            return isinf(edge) && type == JUDGE_F8E4M3 ? most : element_round(type, edge, ELEMENT_NEAREST);
        return element_wrap(type, element_encode(type, edge < least ? least : truncl(edge)));
    }
    if (type == JUDGE_BOOL)
        return h >> 8 & 1;
    if (h % 4 == 1)
        return element_is_float(type)                        ? (small - 8) / 4.0L
               : element_is_signed(type) && type != JUDGE_I4 ? small - 8
                                                             : small & 7;
    if (!element_is_float(type) || h % 4 == 2)
        return element_decode(type, element_bits(type) == 64 ? bits : bits & ((UINT64_C(1) << element_bits(type)) - 1));
    return element_round(type, (long double)(int32_t)bits * 0x1p-28L, ELEMENT_NEAREST);
}

long double judge_exact(const struct judge_case *c, int t, int64_t i)
{
    const struct judge_tensor *tensor = &c->tensors[t];
    bool matrix = tensor->triangle || tensor->definite;
    int64_t row = matrix ? i / tensor->extent[1] : 0, column = matrix ? i % tensor->extent[1] : 0;
    if (tensor->triangle > 0 ? column < row : tensor->triangle && column > row)
        return 0;
    if (tensor->definite && column > row)
        i = column * tensor->extent[1] + row;
    uint32_t h = mixed(i, tensor->seed);
    if (tensor->any)
        return anything(tensor->type, h, (uint64_t)mixed(i, ~h) << 32 | mixed(i, h));
    if (tensor->type == JUDGE_BOOL)
        return h % 2;
    if (!element_is_float(tensor->type))
        return element_wrap(tensor->type,
                            element_encode(JUDGE_I64, tensor->low + h % (uint32_t)(tensor->high - tensor->low)));
    if (tensor->type == JUDGE_F64)
        return tensor->low + (tensor->high - tensor->low) * 0x1p-32 * h +
               (tensor->definite && row == column ? (double)tensor->extent[0] : 0);
    float value = fmaf((float)(h >> 8), unit_of(tensor), (float)tensor->low);
    return tensor->type == JUDGE_F32 ? value : element_round(tensor->type, value, ELEMENT_NEAREST);
}

double judge_element(const struct judge_case *c, int t, int64_t i) { return (double)judge_exact(c, t, i); }

/* Large inputs on a GPU are made there, if they are of these types. */
static bool fill_on_gpu(struct judge_case *c, const struct judge_tensor *t)
{
    struct judge_tensor line = *t; /* as a line of elements */
    void *view = line.view;
    int status = 0;
    if (t->any || t->elements <= MOST_ELEMENTS)
        return false;
    line.view[1] = t->elements, line.view[2] = 1;
    if (t->type == JUDGE_I64)
        status = judge_fill_i64(c->stream, view, (int64_t)t->low, (uint32_t)(t->high - t->low), t->seed);
    else if (t->type == JUDGE_BOOL)
        status = judge_fill_bool(c->stream, view, t->seed);
    else if (t->type == JUDGE_F32)
        status = judge_fill_f32(c->stream, view, (float)t->low, unit_of(t), t->seed);
    else
        return false;
    if (!status && t->triangle)
        status = judge_fill_triangle(c->stream, (void *)t->view, t->triangle > 0);
    if (status)
        fail("%s: fill: %s", c->problem->name, tile_last_error());
    return true;
}

static void write_input(const struct judge_case *c, int number, void *memory)
{
    const struct judge_tensor *t = &c->tensors[number];
    for (int64_t i = 0; i < t->elements; i++)
        element_write(t->type, memory, i,
                      c->problem->input ? c->problem->input(c, number, i) : judge_exact(c, number, i));
}

void judge_fill(struct judge_case *c, int number) { write_input(c, number, c->tensors[number].memory); }

static void fill(struct judge_case *c, int number, bool gpu)
{
    struct judge_tensor *t = &c->tensors[number];
    if (!gpu) {
        judge_fill(c, number);
        return;
    }
    if (fill_on_gpu(c, t))
        return;
    void *elements = calloc(1, judge_bytes(t) + 1);
    if (!elements)
        fail("%s: no memory", c->problem->name);
    write_input(c, number, elements);
    memory_write(t->memory, elements, judge_bytes(t));
    free(elements);
}

void judge_set_memory(struct judge_tensor *t, void *memory)
{
    int64_t stride = 1;
    t->memory = memory;
    t->view[0] = (int64_t)(intptr_t)memory;
    for (int d = t->rank - 1; d >= 0; stride *= t->extent[d--]) {
        t->view[1 + d] = t->extent[d];
        t->view[1 + t->rank + d] = stride;
    }
    /* For C elements of 4 bits are bytes. */
    if (element_bits(t->type) == 4) {
        t->view[t->rank] /= 2;
        for (int d = 0; d < t->rank - 1; d++)
            t->view[1 + t->rank + d] /= 2;
    }
}

static void make_tensor(struct judge_case *c, int number, bool gpu)
{
    struct judge_tensor *t = &c->tensors[number];
    judge_set_memory(t, memory_allocate(judge_bytes(t)));
    if (t->given)
        fill(c, number, gpu);
}

/* ---- judging ---- */

/* Element i of a tensor, of which `all` is a copy, or NULL where it is large. */
static long double read_element(const struct judge_tensor *t, const void *all, int64_t i)
{
    unsigned char bytes[sizeof(int64_t)];
    if (all)
        return element_read(t->type, all, i);
    memory_read(bytes, (char *)t->memory + element_bytes(t->type, i), element_bytes(t->type, 1));
    return element_read(t->type, bytes, 0);
}

double judge_value_at(const struct judge_tensor *t, int64_t i) { return (double)read_element(t, NULL, i); }

/* How far element i is from what is wanted, in tolerances. */
static double error_of(const struct judge_case *c, const void *result, int64_t i)
{
    const struct judge_tensor *t = &c->tensors[c->tensor_count - 1];
    int64_t at[JUDGE_RANK], rest = i;
    for (int d = t->rank - 1; d >= 0; rest /= t->extent[d--])
        at[d] = rest % t->extent[d];
    struct judge_value want = c->problem->want(c, at);
    long double got = read_element(t, result, i), off = fabsl(got - want.value),
                allowed = c->problem->tolerance * want.size;
    bool same_sign = allowed > 0 || signbit(got) == signbit(want.value);
    if ((got == want.value && same_sign) || (isnan(got) && isnan(want.value)))
        return 0;
    return isnan(off) || allowed == 0 ? INFINITY : (double)(off / allowed);
}

static double seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

static void judge_elements(const struct judge_case *c, struct judge_verdict *verdict)
{
    const struct judge_tensor *t = &c->tensors[c->tensor_count - 1];
    int64_t all = t->elements;
    void *result = all <= MOST_ELEMENTS ? malloc(judge_bytes(t) + 1) : NULL;
    if (result)
        memory_read(result, t->memory, judge_bytes(t));
    double begin = seconds();
    uint32_t random = 1;
    verdict->status = "right";
    for (int64_t n = 0; n < all && (all <= MOST_ELEMENTS || n < MOST_ELEMENTS); n++) {
        double spent = seconds() - begin;
        if (all > MOST_ELEMENTS && ((n > LEAST_ELEMENTS && spent > SECONDS) || (n > 1 && spent > LONG_SECONDS)))
            break;
        random = mixed(n, random);
        uint64_t chosen = (uint64_t)random << 32 | mixed(n, ~random);
        int64_t i = all <= MOST_ELEMENTS ? n : n == 0 ? 0 : n == 1 ? all - 1 : (int64_t)(chosen % (uint64_t)all);
        double error = error_of(c, result, i);
        verdict->elements++;
        if (error > verdict->error)
            verdict->error = error;
        if (!(error <= 1)) {
            verdict->status = "wrong";
            break;
        }
    }
    free(result);
}

static int call(void *data)
{
    struct judge_case *c = data;
    int status = c->problem->call(c);
    if (status)
        fprintf(stderr, "%s: %s\n", c->problem->name, tile_last_error());
    return status;
}

static void open_memory(struct judge_case *c, bool full, bool gpu)
{
    read_sizes(c, full ? c->problem->full : c->problem->small);
    if (c->problem->derive)
        c->problem->derive(c);
    read_shape(c);
    for (int t = 0; t < c->tensor_count; t++)
        make_tensor(c, t, gpu);
}

static void close_memory(struct judge_case *c)
{
    for (int t = 0; t < c->tensor_count; t++)
        memory_release(c->tensors[t].memory, judge_bytes(&c->tensors[t]));
}

static struct judge_verdict judge(const struct judge_problem *problem, const struct options *options)
{
    struct judge_case c = {.problem = problem, .stream = options->gpu ? NULL : TILE_CPU};
    struct judge_verdict verdict = {0};
    open_memory(&c, options->full, options->gpu);
    if (call(&c)) {
        verdict.status = "failed";
    } else if (problem->peer) {
        stored_judge(&c, !options->full, &verdict);
        if (options->timed)
            stored_time(&c, &verdict);
    } else {
        memory_wait();
        judge_elements(&c, &verdict);
        if (options->timed)
            verdict.microseconds = memory_time(call, &c);
    }
    close_memory(&c);
    return verdict;
}

/* ---- for the suites' own harnesses: libjudge.so ---- */

static bool open_case(struct judge_case *c, const char *name)
{
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (int i = 0; i < families[f].family->count; i++)
            if (!strcmp(families[f].family->problems[i].name, name)) {
                *c = (struct judge_case){.problem = &families[f].family->problems[i]};
                read_sizes(c, c->problem->full);
                if (c->problem->derive)
                    c->problem->derive(c);
                read_shape(c);
                return true;
            }
    return false;
}

/* A problem with the suite's sizes, which are read once; NULL: there is none of this name.  It is never released. */
struct judge_case *judge_open(const char *name)
{
    struct judge_case *c = malloc(sizeof *c);
    if (c && open_case(c, name))
        return c;
    free(c);
    return NULL;
}

/* The elements of tensor t, negative for a workspace; 0: there is none. */
int64_t judge_tensor_elements(const struct judge_case *c, int t)
{
    if (t < 0 || t >= c->tensor_count)
        return 0;
    return !c->tensors[t].given && !c->tensors[t].result ? -c->tensors[t].elements : c->tensors[t].elements;
}

/* Calls our kernel with the memory of all tensors in order, workspaces and the result too.  The status of the call. */
int judge_run(struct judge_case *c, struct CUstream_st *stream, void *const *memory)
{
    c->stream = stream;
    for (int t = 0; t < c->tensor_count; t++)
        judge_set_memory(&c->tensors[t], memory[t]);
    return call(c);
}

/* ---- main ---- */

/* A word that begins with = is a whole name. */
static bool is_asked_for(const char *name, char **words, int count)
{
    for (int i = 0; i < count; i++)
        if (words[i][0] == '=' ? !strcmp(name, words[i] + 1) : strstr(name, words[i]) != NULL)
            return true;
    return count == 0;
}

static void print(const struct judge_problem *problem, const struct judge_verdict *verdict, FILE *json)
{
    printf("%-7s %s: %lld elements, error %.3g of tolerance", verdict->status, problem->name,
           (long long)verdict->elements, verdict->error);
    if (verdict->microseconds)
        printf(", %.1f us", verdict->microseconds);
    if (verdict->peer_microseconds)
        printf(", peer %.1f us, %.2f", verdict->peer_microseconds, verdict->peer_microseconds / verdict->microseconds);
    printf("\n");
    fflush(stdout);
    if (!json)
        return;
    fprintf(json, "{\"name\": \"%s\", \"status\": \"%s\", \"elements\": %lld, \"error\": %.4g, \"us\": %.2f",
            problem->name, verdict->status, (long long)verdict->elements, verdict->error, verdict->microseconds);
    if (verdict->peer_microseconds)
        fprintf(json, ", \"peer_us\": %.2f", verdict->peer_microseconds);
    fprintf(json, "}\n");
}

/* Judges those problems of a family that are asked for; adds to the counts. */
static void judge_family(const char *name, const struct judge_family *family, const struct options *options,
                         int *judged, int *wrong)
{
    int count = 0, right = 0;
    for (int i = 0; i < family->count; i++) {
        if (!is_asked_for(family->problems[i].name, options->words, options->word_count))
            continue;
        struct judge_verdict verdict = judge(&family->problems[i], options);
        bool is_right = !strcmp(verdict.status, "right");
        count++, right += is_right;
        if (!options->brief || !is_right)
            print(&family->problems[i], &verdict, options->brief ? NULL : options->json);
    }
    if (count)
        printf("%s: %d of %d right\n", name, right, count);
    if (count && options->json && options->brief)
        fprintf(options->json, "{\"family\": \"%s\", \"cases\": %d, \"right\": %d}\n", name, count, right);
    *judged += count, *wrong += count - right;
}

/* --list and --inputs. */
static void show_family(const struct judge_family *family, const struct options *options)
{
    for (int i = 0; i < family->count; i++) {
        struct judge_case c = {.problem = &family->problems[i]};
        if (!is_asked_for(c.problem->name, options->words, options->word_count))
            continue;
        if (options->list) {
            printf("%s\n", c.problem->name);
            continue;
        }
        open_memory(&c, false, false);
        stored_write_inputs(&c);
        exit(0);
    }
}

static int read_options(int count, char **arguments, struct options *options)
{
    int first = 1;
    for (; first < count && !strncmp(arguments[first], "--", 2); first++) {
        const char *option = arguments[first];
        bool *flag = !strcmp(option, "--gpu")      ? &options->gpu
                     : !strcmp(option, "--full")   ? &options->full
                     : !strcmp(option, "--time")   ? &options->timed
                     : !strcmp(option, "--brief")  ? &options->brief
                     : !strcmp(option, "--list")   ? &options->list
                     : !strcmp(option, "--inputs") ? &options->inputs
                                                   : NULL;
        if (flag)
            *flag = true;
        else if (!strcmp(option, "--json") && first + 1 < count)
            options->json = fopen(arguments[++first], "w");
        else if (!strcmp(option, "--stored") && first + 1 < count)
            stored_open(arguments[++first]);
        else
            fail("judge: no option %s", option);
    }
    return first;
}

int main(int count, char **arguments)
{
    struct options options = {0};
    int wrong = 0, judged = 0, first = read_options(count, arguments, &options);
    options.words = arguments + first, options.word_count = count - first;
    memory_open(options.gpu);
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        if (options.list || options.inputs)
            show_family(families[f].family, &options);
        else
            judge_family(families[f].name, families[f].family, &options, &judged, &wrong);
    }
    if (options.json)
        fclose(options.json);
    if (options.list)
        return 0;
    printf("%d judged, %d not right\n", judged, wrong);
    return wrong != 0 || judged == 0;
}
