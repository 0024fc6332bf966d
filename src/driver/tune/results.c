/* Whether a schedule gives what the default gives.  Both programs have filled memory with the same bytes and written what
 * the calls left there, the default's in one folder, the schedule's in another (tune_build.c). */
#include "driver/tune/tune.h"

#include <math.h>
#include <string.h>

/* Sums in another order differ by rounding, of what the kernel reads and writes: by some steps of its coarsest type. */
static double allowed_difference(const struct kernel_entry *entry)
{
    double most = 0x1p-10;
    for (int i = 0; i < entry->parameters.count; i++) {
        const struct kernel_parameter *p = &entry->parameters.data[i];
        if (p->kind != KERNEL_VIEW)
            continue;
        switch (p->element) {
        case IR_F64:
        case IR_F32: break;
        case IR_F16: most = fmax(most, 0x1p-8); break;
        case IR_BF16: most = fmax(most, 0x1p-5); break;
        default:
            if (ir_is_float(p->element))
                most = fmax(most, 0.5);
        }
    }
    return most;
}

/* A count of floats may be rounded the other way; integers alone are exact. */
static bool reads_floats(const struct kernel_entry *entry)
{
    for (int i = 0; i < entry->parameters.count; i++)
        if (entry->parameters.data[i].kind == KERNEL_VIEW && ir_is_float(entry->parameters.data[i].element))
            return true;
    return false;
}

static bool read_part(const struct tune_unit *unit, const char *folder, int call, int memory, const char *suffix,
                      struct buffer *bytes)
{
    return file_read(
        arena_printf(unit->bench.arena, "%s/%s/%d.%d.%s", unit->bench.folder, folder, call, memory, suffix), 0, bytes);
}

/* False: they differ, or one is missing. */
static bool same_part(const struct tune_unit *unit, const struct kernel_entry *entry, const struct kernel_parameter *p,
                      int call, int memory, const char *suffix)
{
    struct buffer wanted = {0}, got = {0};
    size_t width = (size_t)ir_element_info[p->element].bits / 8;
    double allowed = ir_is_float(p->element) ? allowed_difference(entry) : reads_floats(entry) ? 1 : 0;
    bool has = read_part(unit, "default", call, memory, suffix, &wanted),
         has_other = read_part(unit, "other", call, memory, suffix, &got);
    bool same = has == has_other && wanted.size == got.size && (has || suffix[3]);
    for (size_t at = 0; same && !p->nibbles && at + width <= wanted.size; at += width) {
        uint64_t a = 0, b = 0;
        memcpy(&a, got.data + at, width);
        memcpy(&b, wanted.data + at, width);
        same = a == b || bench_difference(p->element, a, b) <= allowed;
    }
    buffer_free(&wanted);
    buffer_free(&got);
    return same;
}

const char *results_compare(const struct tune_unit *unit)
{
    for (int i = 0; i < unit->bench.call_count; i++) {
        const struct bench_call *call = &unit->bench.calls[i];
        const struct kernel_entry *entry = call->asked->entry;
        int memory = 0;
        for (int k = 0; k < entry->parameters.count; k++) {
            const struct kernel_parameter *p = &entry->parameters.data[k];
            if (!call->asked->holds[k])
                continue;
            if (p->direction != KERNEL_IN &&
                (!same_part(unit, entry, p, i, memory, "out") || !same_part(unit, entry, p, i, memory, "out-end")))
                return arena_printf(unit->bench.arena, "%s: '%s' differs from what the default gives", call->text,
                                    p->name);
            memory++;
        }
    }
    return NULL;
}
