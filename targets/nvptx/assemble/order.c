/* Orders of machine code from files of --tuning, put into finished cubins: same size, same places of all that a cubin
 * names.  Each is proved before (targets/nvptx/native/); what cannot be is left out with a warning. */
#include "targets/nvptx/assemble/assemble.h"
#include "targets/nvptx/native/native.h"

#include <elf.h>
#include <string.h>

static void leave_out(const struct target_options *options, const struct kernel_order *order, const char *why)
{
    diag_report(options->diagnostics, DIAGNOSTIC_W1210, order->at, "this order of machine code is left out: %s", why);
}

struct native_code *nvptx_decode(struct arena *arena, int architecture, const struct cubin_kernel *kernel,
                                 const void *cubin)
{
    static const size_t entries[] = {sizeof(Elf64_Rela), sizeof(Elf64_Rel)};
    const unsigned char *bytes = cubin;
    struct native_code *code = native_decode(arena, architecture,
                                             (struct native_bytes){bytes + kernel->code.offset, kernel->code.size},
                                             (struct native_bytes){bytes + kernel->info.offset, kernel->info.size});
    if (code->problem)
        return code;
    for (int i = 0; i < 2; i++)
        native_pin_relocations(code, bytes + kernel->relocations[i].offset, kernel->relocations[i].size, entries[i]);
    return code;
}

static bool take(const struct target_options *options, const struct kernel_order *order, int architecture,
                 const struct cubin_kernel *kernel, unsigned char *cubin)
{
    const char *problem = NULL;
    struct native_code *code = nvptx_decode(options->arena, architecture, kernel, cubin);
    struct native_code *moved = native_read_order(code, order->text, &problem);
    if (moved)
        native_encode(moved, cubin + kernel->code.offset);
    else
        leave_out(options, order, problem);
    return moved;
}

void nvptx_take_orders(const struct target_options *options, struct kernel_module *module, const struct target_row *row,
                       const struct cubin_kernel *kernel, void *cubin)
{
    if (!module->orders.count)
        return;
    const char *digest = native_digest(options->arena, (char *)cubin + kernel->code.offset, kernel->code.size);
    for (int i = 0; i < module->orders.count; i++) {
        struct kernel_order *order = &module->orders.data[i];
        if (strcmp(order->target, row->name) != 0 || strcmp(order->digest, digest) != 0)
            continue;
        order->taken = true;
        if (take(options, order, row->major * 10 + row->minor, kernel, cubin))
            return;
    }
}

void nvptx_report_orders(const struct target_options *options, const struct kernel_module *module,
                         const struct target_row *row)
{
    for (int i = 0; i < module->orders.count; i++) {
        const struct kernel_order *order = &module->orders.data[i];
        if (strcmp(order->target, row->name) == 0 && !order->taken)
            leave_out(options, order, "no code compiled here has its digest");
    }
}
