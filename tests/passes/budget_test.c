/* Budgets: what is given out is there, on every GPU and for every number of warps, and no more could be given. */
#include <string.h>

#include "ir/text.h"
#include "passes/base/budget.h"

static int failures;

static void expect(bool good, const char *what, const char *target, int number)
{
    if (good)
        return;
    failures++;
    printf("wrong: %s (%s, %d)\n", what, target, number);
}

static void threads_have_registers(const struct target_row *row, const char *name)
{
    for (int warps = 1; warps <= 64; warps++) {
        int each = target_thread_registers(row, warps), all = target_registers(row);
        expect(each % TARGET_REGISTER_STEP == 0 || each == TARGET_THREAD_REGISTERS, "steps of registers", name, warps);
        expect(each * 32 * warps <= all, "more registers than there are", name, warps);
        expect(each == TARGET_THREAD_REGISTERS || (each + TARGET_REGISTER_STEP) * 32 * warps > all,
               "registers that nobody gets", name, warps);
    }
}

static void roles_have_registers(const struct target_row *row)
{
    for (int warps = 4; warps <= 12; warps += 4) {
        const struct role_budget *budget = budget_of_roles(warps);
        int sum = 32 * (warps * budget->consumer + BUDGET_PRODUCER_WARPS * budget->producer);
        expect(sum <= target_registers(row), "roles have more than the block", row->name, warps);
        expect(budget->consumer % TARGET_REGISTER_STEP == 0 && budget->producer % TARGET_REGISTER_STEP == 0,
               "steps of roles", row->name, warps);
        expect(budget->fragments < budget->consumer && budget->producer < budget->consumer, "who needs more", row->name,
               warps);
    }
}

/* More scratch never takes less, and two operations with small scratch have room for both. */
static void scratch_fits(void)
{
    int64_t before = budget_shared_beside(0);
    expect(before > 0, "nothing for mbarriers", "", 0);
    for (int64_t scratch = 16; scratch <= 64 * 1024; scratch += 16) {
        int64_t beside = budget_shared_beside(scratch);
        expect(beside >= before, "less for more scratch", "", (int)scratch);
        expect(beside >= scratch * (scratch <= 4096 ? 2 : 1), "scratch without room", "", (int)scratch);
        before = beside;
    }
}

static const char text[] = "kernel @k(%x: view<f32, [?], [1], out>) grid(1) level(machine) warps(12) {\n"
                           "    roles role_warps(8, 4) role_registers(232, 40) {\n"
                           "        %low = constant value(0) : index\n"
                           "        %high = constant value(4) : index\n"
                           "        %step = constant value(1) : index\n"
                           "        for %i: index = %low to %high step %step {\n"
                           "            %inner = constant value(0x00000000) : f32\n"
                           "            store %x[%i], %inner\n"
                           "            yield\n"
                           "        }\n"
                           "        yield\n"
                           "    } {\n"
                           "        %copies = constant value(0) : index\n"
                           "        yield\n"
                           "    }\n"
                           "    %outside = constant value(0) : index\n"
                           "    return\n"
                           "}\n";

static void find_role(struct ir_operation *op, void *data)
{
    int *seen = data;
    const char *name = op->result_count ? op->results[0]->name : NULL;
    if (!name)
        return;
    int wanted = !strcmp(name, "inner") || !strcmp(name, "low") ? 232 : !strcmp(name, "copies") ? 40 : -1;
    wanted = !strcmp(name, "outside") ? 0 : wanted;
    *seen += wanted >= 0;
    expect(wanted < 0 || budget_role_registers(op) == wanted, name, "registers of its role", wanted);
}

static void operations_have_registers(void)
{
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    const struct source source = {"test", text, sizeof text - 1, NULL};
    struct ir_module *module = ir_parse_module(ir_context_create(arena), arena, diagnostics, &source);
    int seen = 0;
    if (!module)
        diag_print(diagnostics, stdout, false);
    else
        ir_walk(module->first->body, find_role, &seen);
    expect(seen == 4, "operations of roles", "", seen);
    arena_destroy(arena);
}

int main(void)
{
    threads_have_registers(NULL, "no target");
    for (int i = 0; i < target_row_count; i++)
        if (target_rows[i].kind == TARGET_NVPTX) {
            threads_have_registers(&target_rows[i], target_rows[i].name);
            roles_have_registers(&target_rows[i]);
        }
    scratch_fits();
    operations_have_registers();
    return failures > 0;
}
