/* Random sources whose meaning is known (support/meaning.h): the front end makes IR of them, the interpreter runs it,
 * and what stands in memory then has to be what the source says; so have the values that the wrapper computes, and
 * which calls `requires` refuses.  No pass and no code generator is involved.
 *     meaning_test [FIRST_SEED COUNT [print]] */
#include <stdlib.h>
#include <string.h>

#include "driver/run/host_value.h"
#include "front/front.h"
#include "interp/interp.h"
#include "ir/verify/verify.h"
#include "support/meaning.h"

struct counts {
    int skipped, failures;
};

static const char *target_name(int target)
{
    (void)target;
    return "cpu";
}

static const struct kernel_module *compile(struct arena *arena, const struct buffer *text, struct buffer *problem)
{
    static const int target = 0;
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct front_options options = {.arena = arena,
                                    .context = ir_context_create(arena),
                                    .diagnostics = diagnostics,
                                    .target_count = 1,
                                    .targets = &target,
                                    .target_name = target_name,
                                    .strict_fp = true};
    struct source *source = ARENA_NEW(arena, struct source);
    *source = (struct source){.name = "k.tile", .text = text->data, .size = text->size};
    const struct kernel_module *module = front_compile(&options, source, NULL, NULL);
    if (module && !diagnostics->errors)
        return module;
    const struct diagnostic *d = diagnostics->first;
    while (d && d->severity != SEVERITY_error)
        d = d->next;
    buffer_printf(problem, "%d:%d: %s", d ? d->at.line : 0, d ? d->at.column : 0, d ? d->text : "nothing came out");
    return NULL;
}

static uint64_t bits_of(enum ir_element element, union meaning_cell cell)
{
    return ir_is_float(element) ? ir_double_to_bits(element, cell.real) : ir_int_to_bits(element, cell.integer);
}

static void *memory_of(struct arena *arena, const struct meaning *m, int number)
{
    size_t bytes = (size_t)ir_element_info[m->views[number].element].bits / 8;
    unsigned char *data = ARENA_ARRAY(arena, unsigned char, MEANING_ARRAY * 8);
    for (int i = 0; i < MEANING_ARRAY; i++) {
        uint64_t bits = bits_of(m->views[number].element, m->arguments[number].cell[i]);
        memcpy(data + (size_t)i * bytes, &bits, bytes);
    }
    return data;
}

/* The values that the wrapper computes. */
static void check_host(const struct meaning *m, const struct host_call *call, const struct kernel_variant *variant,
                       struct buffer *problem)
{
    for (int d = 0; d < 2; d++) {
        int64_t wanted, got;
        meaning_host_value(m, m->grid[d], &wanted);
        if (!host_evaluate(call, variant->grid[d], &got) || got != wanted)
            buffer_printf(problem, "grid %d is %lld, not %lld", d, (long long)got, (long long)wanted);
    }
}

/* What the code may believe of the call (ir/kernel_facts.h) holds for it. */
static void check_facts(const struct meaning *m, const struct ir_function *function, struct buffer *problem)
{
    for (int d = 0; d < 2; d++) {
        int64_t count;
        meaning_host_value(m, m->grid[d], &count);
        if (function->grid_limit[d] && count > function->grid_limit[d])
            buffer_printf(problem, "grid %d is %lld, and believed to be %lld at most", d, (long long)count,
                          (long long)function->grid_limit[d]);
        for (int i = 0; i < 2 * (m->inputs + 1); i++) {
            int class = function->facts.data[i / 2].extent_class[i % 2];
            int64_t extent = m->arguments[i / 2].extent[i % 2];
            if (class && class == function->grid_class[d] && count != ceiling_divide(extent, function->grid_step[d]))
                buffer_printf(problem, "grid %d is %lld, and believed to cover %lld by %lld", d, (long long)count,
                              (long long)extent, (long long)function->grid_step[d]);
            for (int j = 0; j < i && class; j++)
                if (class == function->facts.data[j / 2].extent_class[j % 2] &&
                    extent != m->arguments[j / 2].extent[j % 2])
                    buffer_printf(problem, "two extents of class %d differ", class);
        }
    }
}

enum { REPORT_ROOM = 1 << 16 };

/* What prints and failing assertions write to; a report that is full changes nothing else. */
static int add_report(struct arena *arena, int count, int memories, struct interp_memory *memory,
                      struct interp_argument *argument)
{
    int words = KERNEL_REPORT_RECORDS + REPORT_ROOM;
    uint64_t *report = ARENA_ARRAY(arena, uint64_t, words);
    report[KERNEL_REPORT_ROOM] = REPORT_ROOM;
    memory[memories] = (struct interp_memory){.data = report, .size = sizeof *report * (size_t)words, .name = "report"};
    argument[count] = (struct interp_argument){.bits = (uint64_t)(uintptr_t)report};
    return count + 1;
}

/* `after` is what the run leaves. */
static void check_variant(const struct meaning *m, const struct meaning *after, const struct host_call *call,
                          const struct kernel_variant *variant, struct arena *arena, struct buffer *problem)
{
    struct interp_memory memories[MEANING_INPUTS + 2];
    struct interp_argument arguments[MEANING_INPUTS + 6] = {0};
    struct interp_options options = {.memory_count = m->inputs + 1 + call->entry->reports,
                                     .memories = memories,
                                     .grid = {1, 1},
                                     .step_limit = 10000000};
    struct interp_problem trouble;
    int count = 0;
    for (int i = 0; i < call->entry->parameters.count; i++) {
        if (call->entry->parameters.data[i].slot < 0)
            continue;
        struct interp_argument *argument = &arguments[count++];
        argument->bits = call->arguments[i].bits;
        if (i > m->inputs)
            continue;
        size_t bytes = (size_t)ir_element_info[m->views[i].element].bits / 8;
        void *data = memory_of(arena, m, i);
        memories[i] = (struct interp_memory){data, MEANING_ARRAY * bytes, NULL, i < m->inputs, m->views[i].name};
        argument->data = m->arguments[i].absent ? NULL : data;
        memcpy(argument->extent, m->arguments[i].extent, sizeof m->arguments[i].extent);
        memcpy(argument->stride, m->arguments[i].stride, sizeof m->arguments[i].stride);
    }
    if (call->entry->reports)
        count = add_report(arena, count, m->inputs + 1, memories, arguments);
    if (!interp_run(variant->function, count, arguments, &options, NULL, &trouble)) {
        buffer_printf(problem, "%d:%d: %s", trouble.at.line, trouble.at.column, trouble.text);
        return;
    }
    enum ir_element element = m->views[m->inputs].element;
    const struct meaning_argument *wanted = &after->arguments[m->inputs];
    const unsigned char *got = memories[m->inputs].data;
    size_t bytes = (size_t)ir_element_info[element].bits / 8;
    for (int i = 0; i < MEANING_ARRAY; i++) {
        uint64_t is = 0, should = bits_of(element, wanted->cell[i]) & (UINT64_MAX >> (64 - 8 * bytes));
        memcpy(&is, got + (size_t)i * bytes, bytes);
        bool both_nan = ir_is_float(element) && wanted->cell[i].real != wanted->cell[i].real &&
                        ir_bits_to_double(element, is) != ir_bits_to_double(element, is);
        if (is != should && !both_nan) {
            buffer_printf(problem, "element %d of y is 0x%llx, not 0x%llx", i, (unsigned long long)is,
                          (unsigned long long)should);
            return;
        }
    }
}

static void check_entry(const struct meaning *m, const struct kernel_entry *entry, struct arena *arena,
                        struct buffer *problem)
{
    struct host_argument arguments[MEANING_INPUTS + 5] = {0};
    struct host_call call = {.arena = arena,
                             .entry = entry,
                             .arguments = arguments,
                             .names = ARENA_ARRAY(arena, int64_t, entry->names.count + 1),
                             .keys = ARENA_ARRAY(arena, int64_t, entry->keys.count + 1)};
    struct meaning *after = ARENA_NEW(arena, struct meaning);
    int matching = 0;
    for (int i = 0; i <= m->inputs; i++) {
        arguments[i].present = !m->arguments[i].absent;
        arguments[i].data = arguments[i].present ? (void *)(uintptr_t)256 : NULL; /* only asked how it is aligned */
        memcpy(arguments[i].extent, m->arguments[i].extent, sizeof m->arguments[i].extent);
        memcpy(arguments[i].stride, m->arguments[i].stride, sizeof m->arguments[i].stride);
    }
    for (int i = 0; i < m->scalar_count; i++)
        arguments[m->inputs + 1 + i].bits = bits_of(m->scalar_element[i], m->scalar[i]);
    const char *wrong = host_bind(arena, &call);
    if (m->fails != (wrong != NULL)) {
        buffer_printf(problem, "the call %s: %s", wrong ? "is refused" : "is not refused", wrong ? wrong : "");
        return;
    }
    if (wrong)
        return;
    *after = *m;
    meaning_run(after);
    for (int v = 0; v < entry->variants.count && !problem->size; v++) {
        const struct kernel_variant *variant = &entry->variants.data[v];
        int64_t holds = 1;
        if (variant->predicate && (!host_evaluate(&call, variant->predicate, &holds) || !holds))
            continue;
        matching++;
        check_host(m, &call, variant, problem);
        check_facts(m, variant->function, problem);
        check_variant(m, after, &call, variant, arena, problem);
    }
    int64_t wanted = 1;
    for (int i = 0; i <= m->inputs; i++)
        if (m->views[i].strided) /* of which an instance may ask more */
            return;
    if (m->specialize && !problem->size && meaning_host_value(m, m->specialize, &wanted) &&
        matching + (wanted == 0) != 2 && !m->specialize->constant)
        buffer_printf(problem, "%d variants are for this call, and what `specialize` says is %s", matching,
                      wanted ? "true" : "false");
}

static void check(uint64_t seed, bool print, struct counts *counts)
{
    struct arena *arena = arena_create();
    struct buffer text = {0}, problem = {0};
    struct meaning *m = ARENA_NEW(arena, struct meaning), *trial = ARENA_NEW(arena, struct meaning);
    meaning_make(m, arena, seed, false);
    *trial = *m;
    bool ends = meaning_run(trial);
    meaning_print(m, &text);
    if (print)
        fwrite(text.data, 1, text.size, stdout);
    if (ends) {
        const struct kernel_module *module = compile(arena, &text, &problem);
        for (int e = 0; module && e < module->entries.count; e++)
            check_entry(m, &module->entries.data[e], arena, &problem);
    } else {
        counts->skipped++;
    }
    if (problem.size) {
        counts->failures++;
        printf("seed %llu: %.*s\n", (unsigned long long)seed, (int)problem.size, problem.data);
        fflush(stdout);
    }
    buffer_free(&text);
    buffer_free(&problem);
    arena_destroy(arena);
}

int main(int count, char **arguments)
{
    uint64_t first = count > 1 ? strtoull(arguments[1], NULL, 0) : 1,
             programs = count > 2 ? strtoull(arguments[2], NULL, 0) : 3000;
    struct counts counts = {0};
    for (uint64_t seed = first; seed < first + programs && counts.failures < 8; seed++)
        check(seed, count > 3, &counts);
    printf("{\"tool\": \"meaning_test\", \"first\": %llu, \"programs\": %llu, \"skipped\": %d, \"failures\": %d}\n",
           (unsigned long long)first, (unsigned long long)programs, counts.skipped, counts.failures);
    return counts.failures != 0;
}
