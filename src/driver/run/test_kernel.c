/* Calls of kernels from a test block: arguments by position or name, checked as the wrapper checks them; the instance
 * that the wrapper would take runs in the interpreter, and the `out` and `inout` views are what the call gives.
 *
 *     let y = saxpy(2.0, x, y0);          values stand in the order of the parameters, without those that are `out`
 *     let r = parts(x, r = zeros(f32[4]));    an `out` view whose extents nothing else tells, or whose rest shows */
#include "driver/run/host_value.h"
#include "driver/run/report_text.h"
#include "driver/run/test_walk.h"

#include <math.h>
#include <string.h>

enum {
    MOST_ARGUMENTS = 128,
    MOST_MEMORIES = MOST_ARGUMENTS + KERNEL_MOST_SCRATCH + 1, /* and a report */
    PRINTED_WORDS = 1 << 17
};

struct kernel_call {
    struct test_walk *t;
    const struct ast_expression *call;
    const struct kernel_entry *entry;
    struct test_value given[MOST_ARGUMENTS]; /* TEST_NOTHING: not given */
    struct host_argument arguments[MOST_ARGUMENTS];
    struct interp_memory memories[MOST_MEMORIES];
    int memory_of[MOST_ARGUMENTS], memory_count;
    uint64_t *report;
    bool failed; /* a check of it */
};

static struct test_value refuse(struct kernel_call *k, const char *text)
{
    struct test_walk *t = k->t;
    if (!t->expects_refusal)
        return test_stop(t, k->call->at, "%s: %s", k->entry->symbol, text);
    t->refusal = text;
    return (struct test_value){.kind = TEST_NOTHING, .at = k->call->at};
}

/* A call that fails when running, where the test expects another result: the test has failed, and ends. */
static void fail(struct kernel_call *k, struct location at, const char *text)
{
    struct test_walk *t = k->t;
    k->failed = true;
    if (t->expects_refusal) {
        t->refusal = text;
        return;
    }
    if (!t->stopped)
        test_fail(t, at, text);
    t->stopped = true;
}

static bool is_out(const struct kernel_parameter *p) { return p->kind == KERNEL_VIEW && p->direction == KERNEL_OUT; }

/* ---- arguments ---- */

static int find_parameter(const struct kernel_entry *entry, const char *name)
{
    for (int i = 0; i < entry->parameters.count; i++)
        if (!entry->parameters.data[i].member_of && strcmp(entry->parameters.data[i].name, name) == 0)
            return i;
    return -1;
}

static int next_by_position(const struct kernel_entry *entry, int from)
{
    while (from < entry->parameters.count &&
           (is_out(&entry->parameters.data[from]) || entry->parameters.data[from].member_of))
        from++;
    return from;
}

/* What the call gives for each parameter of any entry; false: reported. */
static bool read_arguments(struct kernel_call *k)
{
    int position = 0;
    for (int i = 0; i < k->call->arguments.count; i++) {
        const struct ast_argument *a = k->call->arguments.data[i];
        position = a->name.text ? position : next_by_position(k->entry, position);
        int number = a->name.text ? find_parameter(k->entry, a->name.text) : position++;
        if (number < 0 || number >= k->entry->parameters.count || k->given[number].kind != TEST_NOTHING) {
            test_stop(k->t, a->at, "`%s` has no parameter for this", k->entry->kernel);
            return false;
        }
        k->given[number] = test_evaluate(k->t, a->value);
        if (k->t->stopped)
            return false;
        if (k->given[number].kind == TEST_NOTHING) {
            test_stop(k->t, a->at, "there is no value for `%s`", k->entry->parameters.data[number].name);
            return false;
        }
    }
    for (int i = 0; i < k->entry->parameters.count; i++) { /* members of structs */
        const struct kernel_parameter *p = &k->entry->parameters.data[i];
        const struct test_value *whole = p->member_of ? &k->given[p->member_of - 1] : NULL;
        if (whole && whole->kind == TEST_STRUCT && p->member < whole->count)
            k->given[i] = whole->list[p->member];
    }
    return true;
}

/* The types of the tensors given are the entry's; computed ones go with any. */
static bool fits(const struct kernel_call *k, const struct kernel_entry *entry)
{
    for (int i = 0; i < entry->parameters.count; i++) {
        const struct kernel_parameter *p = &entry->parameters.data[i];
        const struct tensor *x = k->given[i].kind == TEST_TENSOR ? k->given[i].tensor : NULL;
        if (p->kind == KERNEL_VIEW && x && x->typed && x->element != p->element)
            return false;
    }
    return true;
}

static bool set_scalar(struct kernel_call *k, int number)
{
    const struct kernel_parameter *p = &k->entry->parameters.data[number];
    enum ir_element element = p->kind == KERNEL_SCALAR ? p->element : IR_I32;
    const struct test_value *v = &k->given[number];
    if (v->kind != TEST_TENSOR || v->tensor->rank) {
        test_stop(k->t, k->call->at, "`%s` needs a number for `%s`", k->entry->kernel, p->name);
        return false;
    }
    double value = v->tensor->data[0];
    if (!ir_is_float(element) && tensor_round(element, value) != value) {
        refuse(k, arena_printf(k->t->arena, "%s is %.17g, which its type does not hold", p->name, value));
        return false;
    }
    k->arguments[number].bits = ir_is_float(element) ? ir_double_to_bits(element, value)
                                : value >= 0x1p63    ? (uint64_t)value
                                                     : ir_int_to_bits(element, (int64_t)value);
    k->arguments[number].present = true;
    return true;
}

/* Memory for the view's extents with what `from` holds, or unwritten. */
static void add_memory(struct kernel_call *k, int number, const struct tensor *from)
{
    const struct kernel_parameter *p = &k->entry->parameters.data[number];
    struct host_argument *argument = &k->arguments[number];
    struct interp_memory *memory = &k->memories[k->memory_count];
    size_t width = (size_t)ir_element_info[p->element].bits / 8;
    int64_t elements = 1;
    for (int d = p->rank - 1; d >= 0; elements *= argument->extent[d--])
        argument->stride[d] = elements;
    *memory = (struct interp_memory){
        .size = width * (size_t)elements, .read_only = p->direction == KERNEL_IN, .name = p->name};
    memory->data = arena_alloc(k->t->arena, memory->size + 64);
    memory->data = (void *)(((uintptr_t)memory->data + 63) / 64 * 64);
    if (!from)
        memory->written = arena_alloc(k->t->arena, memory->size + 1);
    for (int64_t i = 0; from && i < from->count; i++) {
        double v = tensor_round(p->element, from->data[i]);
        uint64_t bits = ir_is_float(p->element) ? ir_double_to_bits(p->element, v)
                        : v >= 0x1p63           ? (uint64_t)v
                                                : ir_int_to_bits(p->element, (int64_t)v);
        unsigned char *byte = (unsigned char *)memory->data + i / 2;
        if (p->nibbles)
            *byte = (unsigned char)(i % 2 ? *byte | bits << 4 : bits & 15);
        else
            memcpy((char *)memory->data + (size_t)i * width, &bits, width);
    }
    k->memory_of[number] = k->memory_count++;
    argument->data = memory->data;
    argument->present = true;
}

/* Elements of 4 bits: what C passes has half the last extent.  NULL, or why that cannot be. */
static const char *halve(struct kernel_call *k, int number, const struct tensor *from)
{
    const struct kernel_parameter *p = &k->entry->parameters.data[number];
    int64_t *last = &k->arguments[number].extent[p->rank - 1];
    bool is_signed = ir_is_signed(p->element);
    for (int64_t i = 0; from && i < from->count; i++)
        if (!(from->data[i] >= (is_signed ? -8 : 0) && from->data[i] <= (is_signed ? 7 : 15)))
            return arena_printf(k->t->arena, "`%s` is given %g, which is no %s", p->name, from->data[i],
                                is_signed ? "i4" : "u4");
    if (*last % 2)
        return arena_printf(k->t->arena, "elements of 4 bits lie two a byte, and the last extent of `%s` is %lld",
                            p->name, (long long)*last);
    *last /= 2;
    return NULL;
}

/* Element number i of a byte's two. */
static int64_t half_of(unsigned char byte, int64_t i, bool is_signed)
{
    int half = byte >> 4 * (i % 2) & 15;
    return is_signed && half > 7 ? half - 16 : half;
}

static bool set_view(struct kernel_call *k, int number)
{
    const struct kernel_parameter *p = &k->entry->parameters.data[number];
    const struct test_value *v = &k->given[number];
    if (v->kind == TEST_NULL || (v->kind == TEST_NOTHING && (p->optional || is_out(p))))
        return true;
    if (p->pointer_elements || v->kind != TEST_TENSOR || v->tensor->rank != p->rank) {
        test_stop(k->t, k->call->at, "`%s` needs a tensor of %d dimension%s for `%s`, not %s", k->entry->kernel,
                  p->rank, p->rank == 1 ? "" : "s", p->name, test_describe(k->t, *v));
        return false;
    }
    memcpy(k->arguments[number].extent, v->tensor->extent, sizeof *v->tensor->extent * (size_t)p->rank);
    const char *problem = p->nibbles ? halve(k, number, v->tensor) : NULL;
    if (problem) {
        test_stop(k->t, k->call->at, "%s", problem);
        return false;
    }
    add_memory(k, number, v->tensor);
    return true;
}

static bool set_arguments(struct kernel_call *k)
{
    for (int i = 0; i < k->entry->parameters.count; i++) {
        const struct kernel_parameter *p = &k->entry->parameters.data[i];
        if (p->kind == KERNEL_POINTER) {
            test_stop(k->t, k->call->at, "a test cannot give a pointer, and `%s` takes one", k->entry->kernel);
            return false;
        }
        if (p->kind == KERNEL_STRUCT ? k->given[i].kind != TEST_STRUCT
                                     : !(p->kind == KERNEL_VIEW ? set_view(k, i) : set_scalar(k, i))) {
            if (!k->t->stopped && p->kind == KERNEL_STRUCT)
                test_stop(k->t, k->call->at, "`%s` needs a struct for `%s`", k->entry->kernel, p->name);
            return false;
        }
    }
    return true;
}

/* `out` views that are not given have the extents that the others tell. */
static const char *make_outputs(struct kernel_call *k, struct host_call *host)
{
    const char *problem = host_bind(k->t->arena, host);
    for (int i = 0; i < k->entry->parameters.count; i++) {
        const struct kernel_parameter *p = &k->entry->parameters.data[i];
        if (!is_out(p) || p->optional || k->arguments[i].present)
            continue;
        const char *unknown = host_deduce_extents(host, i, k->arguments[i].extent);
        if (unknown)
            return arena_printf(k->t->arena, "%s: give it by name, as zeros", unknown);
        for (int d = 0; d < p->rank; d++)
            if (k->arguments[i].extent[d] > 1 << 26)
                return problem ? problem : "what it writes is too large for a test";
        const char *odd = p->nibbles ? halve(k, i, NULL) : NULL;
        if (odd)
            return odd;
        add_memory(k, i, NULL);
    }
    return host_bind(k->t->arena, host);
}

/* ---- the run ---- */

static int list_arguments(struct kernel_call *k, const struct host_call *host, struct interp_argument *arguments)
{
    int count = 0;
    for (int i = 0; i < k->entry->parameters.count; i++) {
        const struct kernel_parameter *p = &k->entry->parameters.data[i];
        const struct host_argument *from = &k->arguments[i];
        if (p->slot < 0)
            continue;
        struct interp_argument *to = &arguments[count++];
        *to = (struct interp_argument){.data = from->data, .bits = from->bits};
        memcpy(to->extent, from->extent, sizeof from->extent);
        memcpy(to->stride, from->stride, sizeof from->stride);
        for (int d = 0; p->kind == KERNEL_VIEW && !from->present && d < p->rank; d++)
            if (p->extent[d] && host_evaluate(host, p->extent[d], &to->extent[d]))
                to->extent[d] = int64_max(to->extent[d], 0);
    }
    return count;
}

static int add_report(struct kernel_call *k, struct interp_argument *arguments, int count)
{
    if (!k->entry->reports)
        return count;
    int room = k->entry->prints.count ? PRINTED_WORDS : 0;
    k->report = ARENA_ARRAY(k->t->arena, uint64_t, KERNEL_REPORT_RECORDS + room);
    k->report[KERNEL_REPORT_ROOM] = (uint64_t)room;
    k->memories[k->memory_count++] = (struct interp_memory){
        .data = k->report, .size = sizeof *k->report * (size_t)(KERNEL_REPORT_RECORDS + room), .name = "report"};
    arguments[count++] = (struct interp_argument){.bits = (uint64_t)(uintptr_t)k->report};
    return count;
}

/* Prints, and the check that failed. */
static void read_report(struct kernel_call *k)
{
    struct buffer out = {0};
    if (!k->report)
        return;
    report_put_prints(&out, k->entry, k->report);
    if (out.size)
        fwrite(out.data, 1, out.size, stdout);
    out.size = 0;
    if (k->report[KERNEL_REPORT_CHECK]) {
        const struct kernel_check *check = &k->entry->checks.data[(k->report[KERNEL_REPORT_CHECK] & 0xffff) - 1];
        const uint64_t *value[KERNEL_REPORT_MOST_VALUES];
        for (int i = 0; i < KERNEL_REPORT_MOST_VALUES; i++)
            value[i] = k->report + KERNEL_REPORT_VALUES + i;
        report_put_text(&out, check->text, value);
        fail(k, check->at,
             arena_printf(k->t->arena, "%s does not hold in instance %llu", out.data,
                          (unsigned long long)(k->report[KERNEL_REPORT_CHECK] >> 16)));
    }
    buffer_free(&out);
}

static bool run(struct kernel_call *k, const struct host_call *host, const struct kernel_variant *variant)
{
    struct interp_argument arguments[MOST_MEMORIES];
    struct interp_problem problem;
    int count = list_arguments(k, host, arguments);
    const char *wrong = host_make_scratch(host, variant, &k->memories[k->memory_count], &arguments[count]);
    if (wrong) {
        refuse(k, wrong);
        return false;
    }
    k->memory_count += k->entry->scratch.count;
    count = add_report(k, arguments, count + k->entry->scratch.count);
    struct interp_options options = {.memory_count = k->memory_count, .memories = k->memories};
    for (int d = 0; d < variant->grid_rank; d++)
        if (!host_evaluate(host, variant->grid[d], &options.grid[d])) {
            refuse(k, host_failure(host, variant->grid[d], "the grid"));
            return false;
        }
    for (int d = 0; d < variant->grid_rank; d++)
        if (options.grid[d] <= 0)
            return true; /* empty: success */
    bool good = interp_run(variant->function, count, arguments, &options, NULL, &problem);
    read_report(k);
    if (!good)
        test_stop(k->t, problem.at, "instance %lld: %s", (long long)problem.instance, problem.text);
    return good && !k->failed && !k->t->stopped;
}

static struct tensor *result_of(struct kernel_call *k, int number)
{
    const struct kernel_parameter *p = &k->entry->parameters.data[number];
    const struct interp_memory *memory = &k->memories[k->memory_of[number]];
    size_t width = (size_t)ir_element_info[p->element].bits / 8;
    int64_t extent[IR_MAX_RANK];
    for (int d = 0; d < p->rank; d++)
        extent[d] = kernel_elements(p, d, k->arguments[number].extent[d]);
    struct tensor *x = tensor_make(k->t->arena, p->element, p->rank, extent);
    bool *unwritten = ARENA_ARRAY(k->t->arena, bool, x->count + 1), any = false;
    x->typed = true;
    for (int64_t i = 0; i < x->count; i++) {
        uint64_t bits = 0;
        size_t at = p->nibbles ? (size_t)i / 2 : (size_t)i * width;
        memcpy(&bits, (const char *)memory->data + at, width);
        if (p->nibbles)
            bits = ir_int_to_bits(p->element, half_of((unsigned char)bits, i, ir_is_signed(p->element)));
        x->data[i] = ir_is_float(p->element) ? ir_bits_to_double(p->element, bits)
                     : p->element == IR_U64  ? (double)bits
                                             : (double)ir_bits_to_int(p->element, bits);
        unwritten[i] = memory->written && !memory->written[at];
        any = any || unwritten[i];
        if (unwritten[i])
            x->data[i] = NAN;
    }
    if (any)
        x->unwritten = unwritten;
    return x;
}

static struct test_value results(struct kernel_call *k)
{
    struct test_value all = {.kind = TEST_TUPLE, .at = k->call->at};
    all.list = ARENA_ARRAY(k->t->arena, struct test_value, k->entry->parameters.count + 1);
    for (int i = 0; i < k->entry->parameters.count; i++) {
        const struct kernel_parameter *p = &k->entry->parameters.data[i];
        if (p->kind == KERNEL_VIEW && p->direction != KERNEL_IN && k->arguments[i].present)
            all.list[all.count++] = test_of(result_of(k, i), k->call->at);
    }
    return all.count == 1 ? all.list[0] : all;
}

struct test_value test_call_kernel(struct test_walk *t, struct global *kernel, const struct ast_expression *call)
{
    struct kernel_call *k = ARENA_NEW(t->arena, struct kernel_call);
    *k = (struct kernel_call){.t = t, .call = call};
    const struct kernel_entry *chosen = NULL;
    for (int i = 0; i < t->module->entries.count && !t->stopped; i++) {
        const struct kernel_entry *entry = &t->module->entries.data[i];
        if (chosen || strcmp(entry->kernel, kernel->name) != 0)
            continue;
        if (entry->parameters.count > MOST_ARGUMENTS)
            return test_stop(t, call->at, "`%s` has too many parameters for a test", kernel->name);
        if (!k->entry) {
            k->entry = entry;
            if (!read_arguments(k))
                return test_of(NULL, call->at);
        }
        if (fits(k, entry))
            chosen = entry;
    }
    if (!k->entry)
        return test_stop(t, call->at, "`%s` is a kernel of another file, or has no instance", kernel->name);
    if (!chosen)
        return test_stop(t, call->at, "`%s` has no instance for tensors of these types", kernel->name);
    k->entry = chosen;
    if (!set_arguments(k))
        return test_of(NULL, call->at);
    struct host_call host = host_call_begin(t->arena, k->entry, k->arguments);
    const char *problem = make_outputs(k, &host);
    if (problem)
        return refuse(k, problem);
    const struct kernel_variant *variant = host_pick_variant(&host);
    if (!variant)
        return refuse(k, "no instance fits these arguments");
    return run(k, &host, variant) ? results(k) : test_of(NULL, call->at);
}
