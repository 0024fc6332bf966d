/* Control flow, activations, and the entry of the interpreter. */
#include <stdlib.h>
#include <string.h>

#include "interp/machine.h"

void interp_stop(struct run *run, const struct ir_operation *operation, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(run->problem->text, sizeof run->problem->text, format, arguments);
    va_end(arguments);
    run->problem->operation = operation;
    if (operation)
        run->problem->at = operation->at;
    run->problem->instance = run->instance;
    run->stopped = true;
    if (run->machine && run->machine->current && run->machine->current->stack)
        machine_stop_role(run->machine);
    interp_give_up(run);
}

void interp_give_up(struct run *run) { longjmp(run->give_up, 1); }

struct cell *frame_cell(struct frame *frame, const struct ir_value *value)
{
    struct cell *cell = &frame->cells[value->id];
    if (!cell->bits && value->type->kind == IR_TILE) {
        cell->count = ir_type_elements(value->type);
        cell->bits = calloc((size_t)cell->count, sizeof *cell->bits);
        if (!cell->bits)
            memory_exhausted();
    }
    return cell;
}

void cell_copy(struct cell *to, const struct cell *from)
{
    if (from->bits)
        memcpy(to->bits, from->bits, (size_t)from->count * sizeof *from->bits);
    else
        to->view = from->view;
    to->part = from->part;
    to->number = from->number;
    to->undefined = from->undefined;
}

/* to[i] = from[i] for all i at once: sources may be among the targets. */
static void assign(struct frame *frame, int count, struct ir_value *const *to, struct ir_value *const *from)
{
    struct cell *kept = calloc((size_t)count + 1, sizeof *kept);
    if (!kept)
        memory_exhausted();
    for (int i = 0; i < count; i++) {
        const struct cell *source = frame_cell(frame, from[i]);
        kept[i] = *source;
        if (source->bits) {
            kept[i].bits = malloc((size_t)source->count * sizeof *source->bits);
            if (!kept[i].bits)
                memory_exhausted();
            memcpy(kept[i].bits, source->bits, (size_t)source->count * sizeof *source->bits);
        }
    }
    for (int i = 0; i < count; i++) {
        cell_copy(frame_cell(frame, to[i]), &kept[i]);
        free(kept[i].bits);
    }
    free(kept);
}

static int64_t integer_of(struct frame *frame, const struct ir_value *value)
{
    return ir_bits_to_int(value->type->element, frame_cell(frame, value)->bits[0]);
}

static void execute_for(struct frame *frame, const struct ir_operation *operation)
{
    const struct ir_block *body = operation->regions[0];
    struct ir_value *variable = body->arguments.data[0];
    int carried = operation->result_count;
    int64_t upper = integer_of(frame, operation->operands[1]), step = integer_of(frame, operation->operands[2]);
    bool multiply = ir_number(operation, IR_ATTRIBUTE_MULTIPLY, 0) != 0;
    assign(frame, carried, operation->results, operation->operands + 3);
    int64_t i = integer_of(frame, operation->operands[0]);
    const struct ir_operation *lower = operation->operands[0]->definition;
    bool programs = frame->run->machine && lower && lower->opcode == OP_PROGRAM;
    while (multiply || step >= 0 ? i < upper : i > upper) {
        if (step == 0 || (multiply && step < 2))
            interp_stop(frame->run, operation, "a loop with step %lld never ends", (long long)step);
        frame_cell(frame, variable)->bits[0] = ir_int_to_bits(variable->type->element, i);
        assign(frame, carried, body->arguments.data + 1, operation->results);
        if (programs)
            frame->run->machine->current->program = i;
        const struct ir_operation *yield = execute_block(frame, body);
        assign(frame, carried, operation->results, yield->operands);
        if (multiply && i <= 0)
            interp_stop(frame->run, operation, "a loop that multiplies starts at %lld", (long long)i);
        if (multiply ? __builtin_mul_overflow(i, step, &i) : __builtin_add_overflow(i, step, &i))
            return;
    }
}

static void execute_while(struct frame *frame, const struct ir_operation *operation)
{
    const struct ir_block *before = operation->regions[0], *body = operation->regions[1];
    assign(frame, operation->operand_count, before->arguments.data, operation->operands);
    for (;;) {
        const struct ir_operation *condition = execute_block(frame, before);
        struct ir_value *const *passed = condition->operands + 1;
        int count = condition->operand_count - 1;
        if (!frame_cell(frame, condition->operands[0])->bits[0]) {
            assign(frame, count, operation->results, passed);
            return;
        }
        assign(frame, count, body->arguments.data, passed);
        const struct ir_operation *yield = execute_block(frame, body);
        assign(frame, yield->operand_count, before->arguments.data, yield->operands);
    }
}

static void execute_if(struct frame *frame, const struct ir_operation *operation)
{
    bool taken = frame_cell(frame, operation->operands[0])->bits[0] != 0;
    const struct ir_operation *yield = execute_block(frame, operation->regions[taken ? 0 : 1]);
    if (yield)
        assign(frame, operation->result_count, operation->results, yield->operands);
}

static void execute_map(struct frame *frame, const struct ir_operation *operation)
{
    const struct ir_block *region = operation->regions[0];
    int64_t count = ir_type_elements(operation->results[0]->type);
    for (int64_t i = 0; i < count; i++) {
        for (int k = 0; k < operation->operand_count; k++)
            frame_cell(frame, region->arguments.data[k])->bits[0] = cell_at(frame_cell(frame, operation->operands[k]),
                                                                            i);
        const struct ir_operation *yield = execute_block(frame, region);
        for (int k = 0; k < operation->result_count; k++)
            frame_cell(frame, operation->results[k])->bits[i] = frame_cell(frame, yield->operands[k])->bits[0];
    }
}

static void execute_elementwise(struct frame *frame, const struct ir_operation *operation)
{
    struct cell *result = frame_cell(frame, operation->results[0]);
    uint64_t operands[3] = {0};
    if (operation->operand_count > 3)
        interp_stop(frame->run, operation, "too many operands");
    for (int64_t i = 0; i < result->count; i++) {
        for (int k = 0; k < operation->operand_count; k++)
            operands[k] = cell_at(frame_cell(frame, operation->operands[k]), i);
        result->bits[i] = scalar_compute(frame->run, operation, operands);
    }
}

static void execute_philox(struct frame *frame, const struct ir_operation *operation)
{
    const struct cell *seed = frame_cell(frame, operation->operands[0]);
    const struct cell *counter = frame_cell(frame, operation->operands[1]);
    int64_t count = frame_cell(frame, operation->results[0])->count;
    for (int64_t i = 0; i < count; i++) {
        uint32_t words[4];
        scalar_philox(cell_at(seed, i), cell_at(counter, i), words);
        for (int k = 0; k < 4; k++)
            frame_cell(frame, operation->results[k])->bits[i] = words[k];
    }
}

static void call(struct frame *frame, const struct ir_operation *operation);

/* The number of a program or block; all of them. */
static int64_t program_number(const struct run *run, enum ir_opcode opcode)
{
    if (opcode == OP_PROGRAM)
        return run->instance;
    return opcode == OP_PROGRAM_COUNT || !run->blocks ? run->programs : run->blocks;
}

/* Parts of a program differ in the last dimension of the grid alone. */
static void execute_meeting(struct frame *frame, const struct ir_operation *operation)
{
    struct run *run = frame->run;
    const struct ir_function *function = operation->block->function;
    int64_t program = 0, programs = 1;
    for (int d = 0; d + 1 < function->grid_rank; d++) {
        program += programs * run->index[d];
        programs *= run->options->grid[d];
    }
    if (!run->met)
        run->met = ARENA_ARRAY(run->arena, int64_t, programs);
    frame_cell(frame, operation->results[0])->bits[0] = (uint64_t)run->met[program]++;
    if (run->between)
        between_synchronise(run, operation);
}

/* Each operation by the file that has its meaning. */
static void execute_by_opcode(struct frame *frame, const struct ir_operation *operation)
{
    struct run *run = frame->run;
    switch (operation->opcode) {
    case OP_CONSTANT:
    case OP_IOTA:
    case OP_SPLAT:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_PERMUTE:
    case OP_EXTRACT:
    case OP_CONCATENATE:
    case OP_FLIP:
    case OP_GATHER:
    case OP_CONVERT_LAYOUT: execute_shape(frame, operation); return;
    case OP_UNDEFINED: return;
    case OP_REDUCE: execute_reduce(frame, operation); return;
    case OP_SORT: execute_sort(frame, operation); return;
    case OP_SCAN: execute_scan(frame, operation); return;
    case OP_HISTOGRAM: execute_histogram(frame, operation); return;
    case OP_DOT: execute_dot(frame, operation); return;
    case OP_EXTENT:
    case OP_STRIDE:
    case OP_PRESENT:
    case OP_VIEW_POINTER:
    case OP_SUBVIEW:
    case OP_VIEW_PERMUTE:
    case OP_MAKE_VIEW: execute_view(frame, operation); return;
    case OP_LOAD:
    case OP_STORE:
    case OP_INSIDE:
    case OP_ATOMIC:
    case OP_ATOMIC_CAS:
    case OP_POINTER_LOAD:
    case OP_POINTER_STORE:
    case OP_POINTER_ATOMIC:
    case OP_POINTER_CAS: execute_memory(frame, operation); return;
    case OP_GRID_INDEX:
        frame_cell(frame, operation->results[0])->bits[0] =
            (uint64_t)run->index[ir_number(operation, IR_ATTRIBUTE_DIMENSION, 0)];
        return;
    case OP_GRID_SIZE:
        frame_cell(frame, operation->results[0])->bits[0] =
            (uint64_t)run->options->grid[ir_number(operation, IR_ATTRIBUTE_DIMENSION, 0)];
        return;
    case OP_MEET: execute_meeting(frame, operation); return;
    case OP_ASSUME:
        if (!frame_cell(frame, operation->operands[0])->bits[0])
            interp_stop(run, operation, "an assumption does not hold");
        return;
    case OP_FOR: execute_for(frame, operation); return;
    case OP_WHILE: execute_while(frame, operation); return;
    case OP_IF: execute_if(frame, operation); return;
    case OP_MAP: execute_map(frame, operation); return;
    case OP_ASM:
    case OP_ASM_EFFECT:
        interp_stop(run, operation, "'%s' is text for another machine, which is not interpreted",
                    ir_op_info[operation->opcode].text);
    case OP_PHILOX: execute_philox(frame, operation); return;
    case OP_CALL: call(frame, operation); return;
    case OP_YIELD:
    case OP_CONDITION:
    case OP_RETURN: return;
    case OP_TURN_START:
    case OP_TURN_TAKE:
    case OP_TURN_PASS: execute_turn(frame, operation); return;
    case OP_BUFFER:
    case OP_SLOT:
    case OP_BUFFER_PERMUTE:
    case OP_BUFFER_PART:
    case OP_BUFFER_LOAD:
    case OP_BUFFER_STORE: execute_buffer(frame, operation); return;
    case OP_COPY_ASYNC:
    case OP_STORE_ASYNC:
    case OP_WAIT:
    case OP_TMA_LOAD:
    case OP_TMA_STORE:
    case OP_TMA_COMMIT:
    case OP_TMA_WAIT:
    case OP_CP_ASYNC:
    case OP_CP_COMMIT:
    case OP_CP_WAIT:
    case OP_FENCE_ASYNC: execute_transfer(frame, operation); return;
    case OP_BARRIER:
    case OP_MBARRIER:
    case OP_MBARRIER_READY:
    case OP_MBARRIER_WAIT:
    case OP_MBARRIER_ARRIVE:
    case OP_MBARRIER_EXPECT:
    case OP_CLUSTER_BARRIER: execute_barrier(frame, operation); return;
    case OP_DOT_ASYNC:
    case OP_DOT_WAIT: execute_product(frame, operation); return;
    case OP_ROLES: execute_roles(frame, operation); return;
    case OP_PROGRAM:
    case OP_PROGRAM_COUNT:
    case OP_BLOCK_COUNT:
        frame_cell(frame, operation->results[0])->bits[0] = (uint64_t)program_number(run, operation->opcode);
        return;
    case OP_KEEP_TF32:
#define OP(...)
#define PER_ELEMENT(id, ...) case OP_##id:
#include "ir/ops.def"
        execute_elementwise(frame, operation);
        return;
    case OP_COUNT: break;
    }
    die("no such operation: %d", (int)operation->opcode);
}

/* Operations whose results take over what their regions or operands say of themselves. */
static bool hands_over(enum ir_opcode opcode)
{
    return opcode == OP_FOR || opcode == OP_WHILE || opcode == OP_IF || opcode == OP_CALL || opcode == OP_DOT_ASYNC ||
           opcode == OP_DOT_WAIT;
}

static void show(struct frame *frame, const struct ir_operation *operation, bool made)
{
    const struct interp_options *options = frame->run->options;
    int count = made ? operation->result_count : operation->operand_count;
    for (int i = 0; i < count; i++) {
        const struct ir_value *value = made ? operation->results[i] : operation->operands[i];
        if (value->type->kind == IR_TILE)
            options->watch(options->watcher, operation, value, frame_cell(frame, value)->bits, made,
                           frame->run->instance);
    }
}

static void execute(struct frame *frame, const struct ir_operation *operation)
{
    struct run *run = frame->run;
    if (++run->steps > run->step_limit)
        interp_stop(run, operation, "the program did not end within %lld operations", (long long)run->step_limit);
    if (!run->machine) {
        if (ir_op_info[operation->opcode].level != IR_LEVEL_VALUE && operation->opcode != OP_CONVERT_LAYOUT &&
            operation->opcode != OP_BARRIER)
            interp_stop(run, operation, "'%s' in a function of the value level", ir_op_info[operation->opcode].text);
        if (run->options->watch)
            show(frame, operation, false);
        execute_by_opcode(frame, operation);
        if (run->options->watch)
            show(frame, operation, true);
        return;
    }
    bool undefined = machine_operands_undefined(frame, operation);
    if (undefined && hands_over(operation->opcode))
        interp_stop(run, operation, "'%s' looks at an undefined tile", ir_op_info[operation->opcode].text);
    execute_by_opcode(frame, operation);
    if (!hands_over(operation->opcode))
        machine_mark_results(frame, operation, undefined);
    if (ir_attribute(operation, IR_ATTRIBUTE_SHARED_BYTES) && operation->opcode != OP_BUFFER)
        execute_scratch(frame, operation);
}

const struct ir_operation *execute_block(struct frame *frame, const struct ir_block *block)
{
    for (const struct ir_operation *operation = block->first; operation; operation = operation->next)
        execute(frame, operation);
    return ir_terminator(block);
}

/* ---- activations ---- */

static void enter(struct run *run, struct frame *frame, const struct ir_function *function)
{
    *frame = (struct frame){.run = run, .cell_count = function->next_value_id, .outer = run->innermost};
    frame->cells = calloc((size_t)frame->cell_count + 1, sizeof *frame->cells);
    if (!frame->cells)
        memory_exhausted();
    run->innermost = frame;
}

static void leave(struct frame *frame)
{
    frame->run->innermost = frame->outer;
    for (int i = 0; i < frame->cell_count; i++)
        free(frame->cells[i].bits);
    free(frame->cells);
}

static void call(struct frame *frame, const struct ir_operation *operation)
{
    const struct ir_attribute *name = ir_attribute(operation, IR_ATTRIBUTE_CALLEE);
    const struct ir_function *callee = name ? ir_function_find(operation->block->function->module, name->name) : NULL;
    if (!callee || callee->body->arguments.count != operation->operand_count)
        interp_stop(frame->run, operation, "calls a function that the module does not have");
    if (frame->run->machine && frame->run->machine->current->stack)
        interp_stop(frame->run, operation, "a call inside a role or a cluster");
    if (++frame->run->depth > 200)
        interp_stop(frame->run, operation, "calls are nested too deep");
    struct frame *inner = malloc(sizeof *inner); /* it is released after a longjmp over this function, too */
    if (!inner)
        memory_exhausted();
    enter(frame->run, inner, callee);
    for (int i = 0; i < operation->operand_count; i++)
        cell_copy(frame_cell(inner, callee->body->arguments.data[i]), frame_cell(frame, operation->operands[i]));
    const struct ir_operation *returned = execute_block(inner, callee->body);
    for (int i = 0; i < operation->result_count; i++)
        cell_copy(frame_cell(frame, operation->results[i]), frame_cell(inner, returned->operands[i]));
    leave(inner);
    free(inner);
    frame->run->depth--;
}

static void set_arguments(struct frame *frame, const struct ir_function *function,
                          const struct interp_argument *arguments)
{
    for (int i = 0; i < function->body->arguments.count; i++) {
        const struct ir_value *argument = function->body->arguments.data[i];
        struct cell *cell = frame_cell(frame, argument);
        if (argument->type->kind == IR_TILE) {
            for (int64_t k = 0; k < cell->count; k++)
                cell->bits[k] = arguments[i].bits;
            continue;
        }
        cell->view.data = arguments[i].data;
        memcpy(cell->view.extent, arguments[i].extent, sizeof cell->view.extent);
        memcpy(cell->view.stride, arguments[i].stride, sizeof cell->view.stride);
    }
}

static bool contains(const struct ir_block *block, enum ir_opcode opcode)
{
    for (const struct ir_operation *operation = block->first; operation; operation = operation->next) {
        if (operation->opcode == opcode)
            return true;
        for (int i = 0; i < operation->region_count; i++)
            if (contains(operation->regions[i], opcode))
                return true;
    }
    return false;
}

static void find_index(const struct run *run, const struct ir_function *function, int64_t instance, int64_t *index)
{
    for (int d = 0; d < function->grid_rank; d++) {
        index[d] = instance % run->options->grid[d];
        instance /= run->options->grid[d];
    }
}

static void run_instance(struct frame *frame, const struct ir_function *function)
{
    struct run *run = frame->run;
    find_index(run, function, run->instance, run->index);
    run->steps = 0;
    if (function->level != IR_LEVEL_VALUE)
        machine_begin(run, function, 1);
    execute_block(frame, function->body);
    machine_end(run);
}

/* The blocks of a cluster from instance run->instance on, side by side: each has its own values. */
static void run_cluster(struct run *run, const struct ir_function *function, int blocks)
{
    struct frame *frames[MACHINE_MOST_BLOCKS];
    run->steps = 0;
    machine_begin(run, function, blocks);
    for (int b = 0; b < blocks; b++) {
        frames[b] = malloc(sizeof *frames[b]);
        if (!frames[b])
            memory_exhausted();
        enter(run, frames[b], function);
        set_arguments(frames[b], function, run->arguments);
        run->machine->blocks[b].instance = run->instance + b;
        find_index(run, function, run->instance + b, run->machine->blocks[b].index);
    }
    machine_run_cluster(run, frames, function->body);
    machine_end(run);
    for (int b = blocks - 1; b >= 0; b--) {
        leave(frames[b]);
        free(frames[b]);
    }
}

/* No more than there are programs, but for whole clusters. */
static int64_t block_count(const struct ir_function *function, int64_t programs, int64_t wanted)
{
    int64_t cluster = function->cluster > 1 ? function->cluster : 1;
    return ceiling_divide(int64_min(programs, wanted), cluster) * cluster;
}

static void run_instances(struct frame *frame, const struct ir_function *function)
{
    struct run *run = frame->run;
    int64_t total = 1;
    for (int d = 0; d < function->grid_rank; d++)
        total *= run->options->grid[d];
    run->programs = total;
    if (contains(function->body, OP_BLOCK_COUNT))
        total = run->blocks = block_count(function, total, run->options->blocks > 0 ? run->options->blocks : 2);
    int64_t blocks = contains(function->body, OP_CLUSTER_BARRIER) && function->cluster > 1 ? function->cluster : 1;
    if (total % blocks)
        interp_stop(run, NULL, "%lld blocks are no multiple of the %lld of a cluster", (long long)total,
                    (long long)blocks);
    if (function->level == IR_LEVEL_VALUE)
        between_begin(run);
    for (int64_t n = 0; n < total; n += blocks) {
        run->instance = run->options->reverse && !function->ordered ? total - blocks - n : n;
        if (blocks > 1)
            run_cluster(run, function, (int)blocks);
        else
            run_instance(frame, function);
    }
}

static void execute_function(struct frame *frame, const struct ir_function *function, uint64_t *const *results)
{
    if (function->is_kernel) {
        run_instances(frame, function);
        return;
    }
    if (function->level != IR_LEVEL_VALUE)
        machine_begin(frame->run, function, 1);
    const struct ir_operation *returned = execute_block(frame, function->body);
    machine_end(frame->run);
    for (int i = 0; results && returned && i < returned->operand_count; i++) {
        const struct cell *cell = frame_cell(frame, returned->operands[i]);
        memcpy(results[i], cell->bits, (size_t)cell->count * sizeof *cell->bits);
    }
}

bool interp_run(const struct ir_function *function, int argument_count, const struct interp_argument *arguments,
                const struct interp_options *options, uint64_t *const *results, struct interp_problem *problem)
{
    struct run run = {.options = options,
                      .problem = problem,
                      .step_limit = options->step_limit ? options->step_limit : INT64_C(1) << 40};
    struct frame outermost;
    *problem = (struct interp_problem){.text = ""};
    run.arena = arena_create();
    run.context = function->module->context;
    run.arguments = arguments;
    enter(&run, &outermost, function);
    bool good = !setjmp(run.give_up);
    if (good) {
        if (argument_count != function->body->arguments.count)
            interp_stop(&run, NULL, "'%s' takes %d arguments, got %d", function->name, function->body->arguments.count,
                        argument_count);
        set_arguments(&outermost, function, arguments);
        execute_function(&outermost, function, results);
    }
    while (run.innermost != &outermost) {
        struct frame *inner = run.innermost;
        leave(inner);
        free(inner);
    }
    leave(&outermost);
    machine_release(&run);
    arena_destroy(run.arena);
    if (run.scratch)
        arena_destroy(run.scratch);
    return good;
}
