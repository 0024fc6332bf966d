/* Whether calls that are small enough give what the interpreter gives, on its inputs: the program reads and writes files. */
#include "driver/bench/bench.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "driver/run/interpret.h"

static const char *file_of(const struct bench *bench, int call, int memory, const char *suffix)
{
    return arena_printf(bench->arena, "%s/%d.%d.%s", bench->folder, call, memory, suffix);
}

bool bench_prepare_checks(struct bench *bench)
{
    for (int i = 0; i < bench->call_count; i++) {
        struct asked_call *asked = bench->calls[i].asked;
        if (bench->calls[i].check != BENCH_AGAINST_INTERPRETER)
            continue;
        asked_make_memories(asked);
        for (int k = 0; k < asked->memory_count; k++)
            if (!asked->memories[k].written && !driver_write(bench->options, file_of(bench, i, k, "in"),
                                                             asked->memories[k].data, asked->memories[k].size))
                return false;
        if (!interpret_call(asked))
            return false;
    }
    return true;
}

/* NaN is NaN, and an infinity the same one; elements that the kernel leaves alone count as equal. */
double bench_difference(enum ir_element element, uint64_t a, uint64_t b)
{
    if (a == b)
        return 0;
    double x = ir_is_float(element) ? ir_bits_to_double(element, a) : (double)ir_bits_to_int(element, a);
    double y = ir_is_float(element) ? ir_bits_to_double(element, b) : (double)ir_bits_to_int(element, b);
    if (isnan(x) && isnan(y))
        return 0;
    double far = fabs(x - y) / fmax(1, fabs(y));
    return isfinite(far) ? far : INFINITY;
}

static double compare(const struct interp_memory *m, const struct kernel_parameter *p, const struct buffer *bytes)
{
    size_t width = (size_t)ir_element_info[p->element].bits / 8;
    double most = 0;
    for (size_t at = 0; at + width <= m->size; at += width) {
        uint64_t got = 0, wanted = 0;
        if (m->written && !m->written[at])
            continue;
        memcpy(&got, bytes->data + at, width);
        memcpy(&wanted, (const unsigned char *)m->data + at, width);
        most = fmax(most, bench_difference(p->nibbles ? IR_U8 : p->element, got, wanted));
    }
    return most;
}

static void compare_call(struct bench *bench, int number)
{
    struct bench_call *call = &bench->calls[number];
    const struct kernel_entry *entry = call->asked->entry;
    call->error = 0;
    for (int i = 0; i < entry->parameters.count; i++) {
        const struct kernel_parameter *p = &entry->parameters.data[i];
        struct buffer bytes = {0};
        if (!call->asked->holds[i] || p->direction == KERNEL_IN)
            continue;
        const struct interp_memory *m = &call->asked->memories[call->asked->memory_of[i]];
        if (!file_read(file_of(bench, number, call->asked->memory_of[i], "out"), 0, &bytes) || bytes.size != m->size)
            call->failed = "it wrote no results";
        else
            call->error = fmax(call->error, compare(m, p, &bytes));
        buffer_free(&bytes);
    }
}

void bench_compare_checks(struct bench *bench)
{
    for (int i = 0; i < bench->call_count; i++)
        if (bench->calls[i].check == BENCH_AGAINST_INTERPRETER && !bench->calls[i].failed)
            compare_call(bench, i);
}
