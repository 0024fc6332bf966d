/* check_machine: an independent look at what the passes before made of shared memory, barriers and roles.  It changes
 * nothing; a finding is error E1006 at the operation that cannot be right.
 *
 *     mbarrier_wait %full, %slot, %phase          dropped, or with the other phase:
 *     %s = slot %ring, %slot                      error: reads shared memory before it is sure that it was written
 *     %p = dot_async … %s …
 *
 * The function's control skeleton is run with small numbers for extents and grids (check_machine_run), several times:
 * long and short loops, many programs a block and few.  Roles go on until they wait.  Found are, at the first
 * operation that shows them:
 *   - a read of what is not surely written, or of a slot that nobody wrote; a write to what may still be read, by a
 *     thread, a product, a copy or a TMA store; a read by TMA or wgmma of what ordinary stores wrote without a fence;
 *   - two objects that live on the same bytes;
 *   - a wait for a phase that never ends: arrivals that do not come, or other bytes than were announced; more arrivals
 *     than the mbarrier counts; slots and mbarriers that are not there; mbarriers used before mbarrier_ready;
 *   - products looked at before dot_wait; copies on their way when the block ends; turns that nobody hands on;
 * and without running: places in shared memory, registers of roles, and who comes to which numbered barrier. */
#include "passes/check/check_value.h"

#include <stdarg.h>
#include <string.h>

#include "ir/text.h"
#include "targets/target.h"

enum { STEPS = 60000, LEAST_REGISTERS = 24, OTHER_REGISTERS = 32 };

void check_report(struct check *check, const struct ir_operation *op, const struct ir_operation *other,
                  const char *format, ...)
{
    struct buffer text = {0}, line = {0};
    va_list arguments;
    if (check->found)
        return;
    check->found = true;
    va_start(arguments, format);
    buffer_vprintf(&text, format, arguments);
    va_end(arguments);
    ir_print_operation(&line, op);
    struct diagnostic *report = diag_report(check->context->diagnostics, DIAGNOSTIC_E1006, op->at, "in @%s: `%s` %s",
                                            check->function->name, line.data, text.data);
    if (other) {
        line.size = 0;
        ir_print_operation(&line, other);
        diag_note(check->context->diagnostics, report, other->at, "the other operation is `%s`", line.data);
    }
    buffer_free(&text);
    buffer_free(&line);
}

/* ---- without running ---- */

struct object {
    const struct ir_operation *op;
    int64_t from, to;
};
struct survey {
    struct check *check;
    bool shared;
    VECTOR(struct object) objects;
};

/* mbarriers are there from the first operation to the last: nothing else may have their bytes at any time. */
static void check_alone(struct survey *survey, const struct object *object)
{
    for (int i = 0; i < survey->objects.count; i++) {
        const struct object *other = &survey->objects.data[i];
        if ((object->op->opcode == OP_MBARRIER || other->op->opcode == OP_MBARRIER) && object->from < other->to &&
            other->from < object->to)
            check_report(survey->check, object->op, other->op,
                         "lies on an mbarrier, or is one that lies on something else");
    }
}

static void check_object(struct ir_operation *op, void *data)
{
    struct survey *survey = data;
    struct check *check = survey->check;
    int64_t offset = ir_number(op, IR_ATTRIBUTE_SHARED_OFFSET, -1), bytes = ir_number(op, IR_ATTRIBUTE_SHARED_BYTES, 0);
    int64_t needed = 0;
    survey->shared |= check_is_shared(op);
    if (offset < 0)
        return;
    if (op->opcode == OP_MBARRIER)
        bytes = INT64_C(8) * op->results[0]->type->slots;
    if (op->opcode == OP_BUFFER)
        needed = check_slot_bytes(op->results[0]->type) * (op->results[0]->type->slots - 1) +
                 ir_type_bytes(op->results[0]->type);
    if (needed > bytes)
        check_report(check, op, NULL, "has room for %lld bytes and needs %lld", (long long)bytes, (long long)needed);
    if (offset > check->function->shared_bytes || bytes > check->function->shared_bytes - offset)
        check_report(check, op, NULL, "lies behind the %lld bytes of shared memory that the function says it needs",
                     (long long)check->function->shared_bytes);
    if (op->opcode == OP_MBARRIER && offset % 8)
        check_report(check, op, NULL, "is not aligned to 8 bytes");
    bool rows = op->opcode == OP_BUFFER && op->results[0]->type->rank > 1;
    if (op->opcode == OP_BUFFER && offset % CHECK_ROW_ALIGNMENT)
        check_report(check, op, NULL, "does not start where copies do, at a multiple of 128 bytes");
    if (rows && offset % CHECK_SWIZZLE_ALIGNMENT)
        check_report(check, op, NULL, "does not start where swizzles do, at a multiple of 1024 bytes");
    struct object object = {op, offset, offset + bytes};
    check_alone(survey, &object);
    vector_push(check->arena, &survey->objects, object);
}

/* Registers that hold the accumulators of a block's products, those that only add to others not counted twice. */
static int accumulators(const struct ir_block *block, int warps)
{
    int count = 0, most = 0;
    for (const struct ir_operation *op = block->first; op; op = op->next) {
        if (op->opcode == OP_DOT_ASYNC) {
            const struct ir_type *type = op->results[0]->type;
            const struct ir_operation *into = op->operands[2]->definition;
            bool chained = into && into->block == block &&
                           (into->opcode == OP_DOT_ASYNC || into->opcode == OP_DOT_WAIT);
            int64_t words = ir_type_elements(type) * ir_element_info[type->element].bits / 32;
            count += chained ? 0 : (int)(words / (32 * warps));
        }
        for (int r = 0; r < op->region_count; r++) {
            int inner = accumulators(op->regions[r], warps);
            most = inner > most ? inner : most;
        }
    }
    return count > most ? count : most;
}

static void check_registers(struct check *check, const struct ir_operation *roles)
{
    const struct ir_attribute *warps = ir_attribute(roles, IR_ATTRIBUTE_ROLE_WARPS);
    const struct ir_attribute *registers = ir_attribute(roles, IR_ATTRIBUTE_ROLE_REGISTERS);
    const struct target_row *target = check->context->target;
    const struct ir_function *function = roles->block->function;
    int64_t sum = 0, most = target_registers(target);
    int64_t told = (int64_t)function->max_registers / TARGET_REGISTER_STEP * TARGET_REGISTER_STEP * 32 *
                   function->warps;
    if (told && told < most) /* what the block starts with is all that there is to share out */
        most = told;
    for (int i = 0; registers && i < registers->count; i++) {
        int64_t each = registers->list[i];
        if (each && (each % TARGET_REGISTER_STEP || each < LEAST_REGISTERS))
            check_report(check, roles, NULL, "gives a role %lld registers: they come in steps of 8 from 24 on",
                         (long long)each);
        sum += each * warps->list[i] * 32;
        int needed = accumulators(roles->regions[i], (int)warps->list[i]);
        if (each && needed > each - OTHER_REGISTERS)
            pass_remark(check->context, roles->at,
                        "the accumulators of a role take %d of its %lld registers; little is left for the rest", needed,
                        (long long)each);
    }
    if (sum > most)
        check_report(check, roles, NULL, "gives its roles %lld registers; the block has %lld", (long long)sum,
                     (long long)most);
}

/* ---- running ---- */

/* Loops that grow with the place in the grid are longest at its end; elsewhere a diagonal crosses two tiles of a row.
 * Rings go round at every place of a program only when the rounds of loops and the slots have no divisor in common:
 * 640 and 448 are 5 and 7 times a power of two; phases turn twice in a loop only when it has twice as many rounds as
 * slots.  Loops around others (check_machine_extent) go so few rounds that all of a nest together go about three times
 * as many as one loop alone. */
static const struct check_scenario scenarios[] = {
    {.grid_extent = 700, .other_extent = 1152, .programs = 2, .scalar = 2, .quarter = 4, .around = {2, 1, 1}},
    {.grid_extent = 700, .other_extent = 640, .programs = 3, .scalar = 4, .quarter = 4, .around = {3, 1, 1}},
    {.grid_extent = 700, .other_extent = 320, .programs = 13, .scalar = 8, .quarter = 4, .around = {1, 1, 2}},
    {.grid_extent = 700, .other_extent = 448, .programs = 7, .scalar = 6, .quarter = 3, .around = {2, 1, 2}},
    {.grid_extent = 700, .other_extent = 1300, .programs = 2, .scalar = 7, .quarter = 4, .around = {1, 2, 1}},
    {.grid_extent = 700, .other_extent = 1, .programs = 9, .scalar = 1, .quarter = 4, .around = {5, 3, 2}},
    {.grid_extent = 700, .other_extent = 0, .programs = 3, .scalar = 3, .quarter = 2, .around = {0, 0, 0}},
    {.grid_extent = 700, .other_extent = 0, .programs = 3, .scalar = 4, .quarter = 4, .around = {3, 2, 2}},
    {.grid_extent = 1, .other_extent = 300, .programs = 1, .scalar = 0, .quarter = 4, .around = {4, 2, 2}},
    {.grid_extent = 1, .other_extent = 384, .programs = 1, .scalar = 2, .quarter = 4, .around = {5, 3, 1}},
    {.grid_extent = 1100, .other_extent = 1850, .programs = 1, .scalar = 5, .quarter = 3, .around = {2, 1, 1}},
    {.grid_extent = 1100, .other_extent = 1990, .programs = 1, .scalar = 5, .quarter = 3, .around = {1, 1, 1}},
    {.grid_extent = 1100, .other_extent = 2200, .programs = 1, .scalar = 5, .quarter = 3, .around = {1, 2, 1}},
    {.grid_extent = 1100, .other_extent = 190, .programs = 5, .scalar = 5, .quarter = 2, .around = {3, 2, 1}},
};

static void run_scenario(struct check *check, const struct check_scenario *scenario)
{
    struct check fresh = {.function = check->function,
                          .context = check->context,
                          .arena = arena_create(),
                          .scenario = *scenario,
                          .steps = STEPS,
                          .jump = check->jump,
                          .bounds = check->bounds,
                          .bound_by_loads = check->bound_by_loads};
    check_choose_grid(&fresh);
    check_run(&fresh);
    check->found = fresh.found;
    arena_destroy(fresh.arena);
}

/* All that the answer depends on. */
static void put_key(const struct ir_function *function, const struct pass_context *context, struct buffer *key)
{
    struct buffer text = {0};
    cache_put_kind(context->cache, key, "checked code of a GPU");
    buffer_printf(key, "%s\n", context->target ? context->target->name : "");
    ir_print_function(&text, function, false);
    if (context->reference)
        ir_print_function(&text, context->reference, false);
    cache_put_digest(key, "code", text.data, text.size);
    buffer_free(&text);
}

/* Whether the same was found right before. */
static bool was_right(const struct ir_function *function, const struct pass_context *context, struct buffer *key)
{
    struct buffer nothing = {0};
    if (!context->cache)
        return false;
    put_key(function, context, key);
    bool found = cache_find(context->cache, key, &nothing);
    buffer_free(&nothing);
    return found;
}

/* By running, which takes long. */
static void run_function(struct check *check, bool shared)
{
    struct pass_context *context = check->context;
    size_t values = (size_t)check->function->next_value_id + 1;
    check->jump = ARENA_ARRAY(context->arena, const struct ir_operation *, values);
    memset(check->jump, 0, values * sizeof *check->jump);
    check_survey_loops(check);
    int count = shared ? (int)(sizeof scenarios / sizeof *scenarios) : 0;
    for (int i = 0; i < count && !check->found; i++)
        run_scenario(check, &scenarios[i]);
    if (!check->found)
        check_named_barriers(check);
    if (!check->found && context->reference)
        check_compare_values(check, context->reference);
}

/* What is said without running may be a remark, which is told each time. */
bool pass_check_machine(struct ir_function *function, struct pass_context *context)
{
    struct check check = {.function = function, .context = context, .arena = context->arena};
    struct survey survey = {.check = &check};
    struct buffer key = {0};
    ir_walk(function->body, check_object, &survey);
    for (const struct ir_operation *op = function->body->first; op; op = op->next)
        if (op->opcode == OP_ROLES)
            check_registers(&check, op);
    if (!check.found && !was_right(function, context, &key)) {
        run_function(&check, survey.shared);
        if (!check.found && context->cache)
            cache_keep(context->cache, &key, "", 0);
    }
    buffer_free(&key);
    return false;
}
