/* The table of targets and its two readers: by name, and as the text of --print-targets. */
#include "targets/target.h"

#include <string.h>

const struct target_row target_rows[] = {
#define TARGET(name, kind, major, minor, cpu, ptx, shared, registers, warps, trust, flags) \
    {name, TARGET_##kind, major, minor, cpu, ptx, shared, registers, warps, TARGET_##trust, flags},
#include "targets/targets.def"
#undef TARGET
};
const int target_row_count = sizeof target_rows / sizeof *target_rows;

int target_find(const char *name)
{
    for (int i = 0; i < target_row_count; i++)
        if (strcmp(target_rows[i].name, name) == 0)
            return i;
    return -1;
}

int target_registers(const struct target_row *row)
{
    int least = row ? row->registers : 0;
    for (int i = 0; i < target_row_count && (!row || !row->registers); i++)
        if (target_rows[i].registers && (!least || target_rows[i].registers < least))
            least = target_rows[i].registers;
    return least;
}

int target_thread_registers(const struct target_row *row, int warps)
{
    int each = target_registers(row) / (32 * (warps > 0 ? warps : 1)) / TARGET_REGISTER_STEP * TARGET_REGISTER_STEP;
    return each < TARGET_THREAD_REGISTERS ? each : TARGET_THREAD_REGISTERS;
}

static const char *trust_text(enum target_trust trust)
{
    switch (trust) {
    case TARGET_RUN: return "run on hardware";
    case TARGET_RUN_AS: return "its code ran as sm_90";
    case TARGET_ASSEMBLES: return "assembles";
    }
    return "";
}

void target_print_all(struct buffer *out)
{
    buffer_puts(out, "target   default  PTX  shared bytes  warps  checked\n");
    for (int i = 0; i < target_row_count; i++) {
        const struct target_row *row = &target_rows[i];
        const char *mark = row->flags & TARGET_DEFAULT ? "yes" : "-";
        if (row->kind == TARGET_CPU)
            buffer_printf(out, "%-8s %-7s  %3s  %12s  %5s  %s\n", row->name, mark, "-", "-", "-",
                          trust_text(row->trust));
        else
            buffer_printf(out, "%-8s %-7s  %3s  %12d  %5d  %s\n", row->name, mark, row->ptx_version, row->shared_bytes,
                          row->warps, trust_text(row->trust));
    }
}

/* GPUs have ex2, rsqrt (2 ulp in f32), and sqrt and rcp rounded right; exp and tanh are made of ex2.  lg2 has an
 * absolute bound only, so logarithms are the library's.  f16 and bf16 go through f32. */
bool target_has_math(const struct target_row *row, enum ir_math function, enum ir_element element, bool near)
{
    if (!row || row->kind != TARGET_NVPTX)
        return false;
    switch (function) {
    case IR_MATH_SQRT:
    case IR_MATH_RCP:
    case IR_MATH_FLOOR:
    case IR_MATH_CEIL:
    case IR_MATH_TRUNC:
    case IR_MATH_ROUND:
    case IR_MATH_ISNAN:
    case IR_MATH_COPYSIGN: return true;
    case IR_MATH_RSQRT:
    case IR_MATH_EXP:
    case IR_MATH_TANH:
    case IR_MATH_EXP2: return element != IR_F64;
    case IR_MATH_ERF:
    case IR_MATH_SIGMOID: return near && element == IR_F32;
    default: return false;
    }
}

bool target_tool_failed(const struct target_options *options, const char *problem)
{
    struct tool_failures *failures = options->failures;
    for (int i = 0; i < failures->told.count; i++)
        if (strcmp(failures->told.data[i], problem) == 0)
            return false;
    vector_push(options->arena, &failures->told, problem);
    return true;
}

const char *target_source_name(const struct target_options *options, const char *name)
{
    for (int i = options->prefix_map_count - 1; i >= 0; i--) { /* the last that fits wins, as in C compilers */
        const char *map = options->prefix_map[i], *equals = strchr(map, '=');
        size_t length = (size_t)(equals - map);
        if (strncmp(name, map, length) != 0)
            continue;
        return arena_printf(options->arena, "%s%s", equals + 1, name + length);
    }
    return name;
}
