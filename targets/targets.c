/* The table of targets and its two readers: by name, and as the text of --print-targets. */
#include "targets/target.h"

#include <string.h>

const struct target_row target_rows[] = {
#define TARGET(name, kind, major, minor, cpu, ptx, shared, registers, warps, trust, flags)                             \
    {name, TARGET_##kind, major, minor, cpu, ptx, shared, registers, warps, TARGET_##trust, flags},
#include "targets/targets.def"
#undef TARGET
};
const int target_row_count = sizeof target_rows / sizeof *target_rows;

int target_find(const char *name) {
    for (int i = 0; i < target_row_count; i++)
        if (strcmp(target_rows[i].name, name) == 0) return i;
    return -1;
}

static const char *trust_text(enum target_trust trust) {
    switch (trust) {
    case TARGET_RUN: return "run on hardware";
    case TARGET_RUN_AS: return "its code ran as sm_90";
    case TARGET_ASSEMBLES: return "assembles";
    }
    return "";
}

void target_print_all(struct buffer *out) {
    buffer_puts(out, "target   default  PTX  shared bytes  warps  checked\n");
    for (int i = 0; i < target_row_count; i++) {
        const struct target_row *row = &target_rows[i];
        const char *mark = row->flags & TARGET_DEFAULT ? "yes" : "-";
        if (row->kind == TARGET_CPU)
            buffer_printf(out, "%-8s %-7s  %3s  %12s  %5s  %s\n", row->name, mark, "-", "-", "-", trust_text(row->trust));
        else
            buffer_printf(out, "%-8s %-7s  %3s  %12d  %5d  %s\n", row->name, mark, row->ptx_version, row->shared_bytes,
                          row->warps, trust_text(row->trust));
    }
}
