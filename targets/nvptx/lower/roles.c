/* Roles: parts of the block that do different things at the same time.
 *
 *   warp < warps of role 0 ? role 0 : warp < warps of roles 0 and 1 ? role 1 : … : end
 *
 * Each arm begins with a prologue of its own.  In it, thread, lane and warp are counted from the role's first warp,
 * and coordinates of layouts are made; values made outside for all warps are not used inside.  The number of a warp
 * goes through a shuffle.  So ptxas sees that it is the same in all lanes, and keeps what is made of it in uniform
 * registers.
 *
 * A second prologue stands behind a loop that multiplies by matrix instructions: the number of the thread is read
 * again, and what the rest of the region makes of it (where its elements lie, who stores) is computed there.  If it
 * were computed in front of the loop it would take registers all through the loop, which accumulators need.  For the
 * same reason a prologue stands at the top of an outer loop when the factors of the inner loop's products come by
 * cp.async: each iteration of the outer loop computes the places of its first copies and of its stores anew.
 *
 * What one thread does for its role (tma_store, tma_commit, tma_wait: always the same thread) stands in a block behind
 * a branch. */
#include "targets/nvptx/lower/lower.h"

struct survey {
    bool tiles, buffers, roles, products, wgmma, mma, copies;
};

static void look_at(struct ir_operation *operation, void *context)
{
    struct survey *survey = context;
    survey->mma |= ir_number(operation, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_FMA) == IR_INSTRUCTION_MMA;
    survey->products |= operation->opcode == OP_DOT || operation->opcode == OP_DOT_ASYNC;
    switch (operation->opcode) {
    case OP_BUFFER_LOAD:
    case OP_BUFFER_STORE: survey->buffers = true; break;
    case OP_CP_ASYNC: survey->copies = true; break;
    case OP_ROLES: survey->roles = true; break;
    case OP_DOT_ASYNC:
        if (ir_number(operation, IR_ATTRIBUTE_INSTRUCTION, IR_INSTRUCTION_FMA) == IR_INSTRUCTION_WGMMA)
            survey->wgmma = true;
        else
            survey->buffers = true; /* mma.sync reads as ordinary loads do */
        survey->tiles = true;
        break;
    case OP_BARRIER: survey->tiles = true; break;
    default: break;
    }
    for (int i = 0; i < operation->result_count; i++) {
        const struct ir_type *type = operation->results[i]->type;
        survey->tiles |= type->kind == IR_TILE && type->rank > 0;
    }
    for (int i = 0; i < operation->operand_count; i++) {
        const struct ir_type *type = operation->operands[i]->type;
        survey->tiles |= type->kind == IR_TILE && type->rank > 0;
    }
}

static struct survey survey_of(struct ir_block *block)
{
    struct survey survey = {0};
    ir_walk(block, look_at, &survey);
    return survey;
}

static LLVMValueRef in_prologue(struct lowering *l, enum ptx_row row, LLVMTypeRef type, const LLVMValueRef *arguments,
                                int count, const char *const *words)
{
    LLVMBuilderRef keep = l->builder;
    l->builder = l->entry;
    LLVMValueRef value = ptx_emit(l, row, type, arguments, count, words);
    l->builder = keep;
    return value;
}

void roles_open(struct lowering *l)
{
    struct survey survey = survey_of(l->function->body);
    l->role = -1;
    l->warps = l->function->warps;
    l->warps_meet = survey.buffers;
    l->wgmma = survey.wgmma;
    l->products = survey.products;
    if (survey.roles || survey.wgmma)
        l->warp = in_prologue(l, PTX_WARP_UNIFORM, l->i32, &l->warp, 1, NULL);
}

int roles_registers_at_start(const struct lowering *l)
{
    int blocks = l->function->persistent > 1 ? l->function->persistent : 1, told = l->function->max_registers;
    int most = target_thread_registers(l->row, l->function->warps * blocks);
    return told && told < most ? told / TARGET_REGISTER_STEP * TARGET_REGISTER_STEP : most;
}

static void set_registers(struct lowering *l, int64_t registers, int64_t warps)
{
    if (registers <= 0)
        return;
    if (registers % 8 || registers < 24 || registers > 256 || warps % 4)
        die("a role of %lld warps cannot have %lld registers a thread", (long long)warps, (long long)registers);
    const char *words[2] = {registers > roles_registers_at_start(l) ? "inc" : "dec",
                            arena_printf(l->arena, "%lld", (long long)registers)};
    ptx_emit(l, PTX_SET_REGISTERS, l->nothing, NULL, 0, words);
}

/* The role's own numbers; a role of one thread is thread 0 of itself. */
static void number_threads(struct lowering *l)
{
    if (l->one_thread) {
        l->thread = l->lane = l->warp = value_i32(l, 0);
    } else if (l->first_warp) {
        l->thread = LLVMBuildSub(l->entry, l->thread, value_i32(l, 32 * l->first_warp), "");
        l->warp = LLVMBuildSub(l->entry, l->warp, value_i32(l, l->first_warp), "");
    }
}

/* A prologue at this place; what lower_block restores at its end. */
static void number_anew(struct lowering *l)
{
    LLVMBasicBlockRef numbers = value_block(l, "numbers"), behind = value_block(l, "behind");
    LLVMBuildBr(l->builder, numbers);
    if (l->numbered_here)
        LLVMDisposeBuilder(l->entry);
    l->numbered_here = true;
    l->entry = LLVMCreateBuilderInContext(l->context);
    LLVMPositionBuilderAtEnd(l->entry, numbers);
    LLVMPositionBuilderBefore(l->entry, LLVMBuildBr(l->entry, behind));
    LLVMPositionBuilderAtEnd(l->builder, behind);
    l->thread = in_prologue(l, PTX_THREAD, l->i32, NULL, 0, NULL);
    l->lane = LLVMBuildAnd(l->entry, l->thread, value_i32(l, 31), "");
    l->warp = LLVMBuildLShr(l->entry, l->thread, value_i32(l, 5), "");
    if (l->wgmma)
        l->warp = in_prologue(l, PTX_WARP_UNIFORM, l->i32, &l->warp, 1, NULL);
    number_threads(l);
    l->coordinates = NULL;
}

/* Another loop with products follows that carries rows as well (the maxima and sums of attention): it needs most of
 * what this one computed, and the old numbers beside new ones would take registers.  (ptxas spills 24 bytes in
 * attention on sm_80 with new numbers between its loops, 92 without in a product whose last iteration is a loop of its
 * own.) */
static bool is_gone_on_with(const struct ir_operation *loop)
{
    bool rows = false;
    for (const struct ir_operation *op = loop->next; op; op = op->next) {
        if (op->opcode != OP_FOR || !survey_of(op->regions[0]).mma)
            continue;
        for (int i = 0; i < op->result_count; i++)
            rows |= op->results[i]->type->kind == IR_TILE && op->results[i]->type->rank == 1;
    }
    return rows;
}

void role_behind_loop(struct lowering *l, struct ir_operation *loop)
{
    if (l->one_thread || l->per_element)
        return;
    struct survey survey = survey_of(loop->regions[0]);
    if (survey.wgmma || (survey.mma && !is_gone_on_with(loop)))
        number_anew(l);
}

void role_in_loop(struct lowering *l, struct ir_block *body)
{
    l->numbered_here = false;
    if (l->wgmma || l->one_thread || l->per_element)
        return;
    for (const struct ir_operation *op = body->first; op; op = op->next) {
        if (op->opcode != OP_FOR)
            continue;
        struct survey survey = survey_of(op->regions[0]);
        if (!survey.mma || !survey.copies)
            continue;
        number_anew(l);
        return;
    }
}

void role_restore(struct lowering *l, const struct lowering *before)
{
    if (l->entry == before->entry)
        return;
    LLVMDisposeBuilder(l->entry);
    l->entry = before->entry;
    l->thread = before->thread;
    l->lane = before->lane;
    l->warp = before->warp;
    l->coordinates = before->coordinates;
}

static void lower_role(struct lowering *l, struct ir_block *region, int role, int64_t first_warp, int64_t warps,
                       int64_t registers, LLVMBasicBlockRef end)
{
    struct lowering outer = *l;
    struct survey survey = survey_of(region);
    LLVMBuilderRef b = l->builder;
    set_registers(l, registers, warps);
    l->role = role;
    l->first_warp = first_warp;
    l->warps = (int)warps;
    l->warps_meet = survey.buffers;
    l->one_thread = !survey.tiles && !survey.buffers;
    l->coordinates = NULL;
    if (l->one_thread) {
        LLVMBasicBlockRef first = value_block(l, "warp"), run = value_block(l, "thread");
        LLVMValueRef is_first = LLVMBuildICmp(b, LLVMIntEQ, l->warp, value_i32(l, first_warp), "");
        LLVMBuildCondBr(b, is_first, first, end);
        LLVMPositionBuilderAtEnd(b, first);
        LLVMBuildCondBr(b, ptx_emit(l, PTX_ELECT, l->i1, NULL, 0, NULL), run, end);
        LLVMPositionBuilderAtEnd(b, run);
    }
    LLVMBasicBlockRef prologue = value_block(l, "numbers"), body = value_block(l, "role");
    LLVMBuildBr(b, prologue);
    l->entry = LLVMCreateBuilderInContext(l->context);
    LLVMPositionBuilderAtEnd(l->entry, prologue);
    LLVMPositionBuilderAtEnd(b, body);
    number_threads(l);
    lower_block(l, region);
    LLVMBuildBr(b, end);
    LLVMBuildBr(l->entry, body);
    LLVMDisposeBuilder(l->entry);
    l->role = outer.role;
    l->first_warp = outer.first_warp;
    l->warps = outer.warps;
    l->warps_meet = outer.warps_meet;
    l->one_thread = outer.one_thread;
    l->coordinates = outer.coordinates;
    l->entry = outer.entry;
    l->thread = outer.thread;
    l->lane = outer.lane;
    l->warp = outer.warp;
}

void lower_roles(struct lowering *l, struct ir_operation *operation)
{
    LLVMBuilderRef b = l->builder;
    const struct ir_attribute *warps = ir_attribute(operation, IR_ATTRIBUTE_ROLE_WARPS),
                              *registers = ir_attribute(operation, IR_ATTRIBUTE_ROLE_REGISTERS);
    LLVMBasicBlockRef end = value_block(l, "end");
    int64_t first = 0;
    if (l->role >= 0)
        die("roles inside a role");
    /* Without it ptxas may not know the registers at the start, and then ignores setmaxnreg. */
    if (registers && !l->function->max_registers)
        kernel_annotate(l, "minctasm", l->function->persistent > 1 ? l->function->persistent : 1);
    if (!warps || warps->count != operation->region_count)
        die("roles without their warps");
    for (int i = 0; i < operation->region_count; i++) {
        int64_t behind = first + warps->list[i];
        LLVMBasicBlockRef other = NULL;
        if (behind > l->function->warps)
            die("the roles of %s have more warps than it", l->function->name);
        if (behind < l->function->warps) {
            LLVMBasicBlockRef arm = value_block(l, "arm");
            other = i + 1 < operation->region_count ? value_block(l, "other") : end;
            LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, l->warp, value_i32(l, behind), ""), arm, other);
            LLVMPositionBuilderAtEnd(b, arm);
        }
        lower_role(l, operation->regions[i], i, first, warps->list[i],
                   registers && i < registers->count ? registers->list[i] : 0, end);
        if (!other && i + 1 < operation->region_count)
            die("a role without warps");
        if (other)
            LLVMPositionBuilderAtEnd(b, other);
        first = behind;
    }
    LLVMPositionBuilderAtEnd(b, end);
}

/* With an id and a count of warps the barrier is one of several that the same threads may use; apart, one of each warpgroup. */
void lower_barrier(struct lowering *l, struct ir_operation *operation)
{
    int64_t id = ir_number(operation, IR_ATTRIBUTE_BARRIER_ID, 0);
    if (ir_attribute(operation, IR_ATTRIBUTE_APART)) {
        LLVMValueRef group = LLVMBuildLShr(l->builder, l->warp, value_i32(l, 2), "");
        LLVMValueRef own = LLVMBuildAdd(l->builder, group, value_i32(l, IR_BARRIER_OF_GROUPS), "");
        const char *threads = arena_printf(l->arena, "%d", 32 * IR_WARPGROUP);
        ptx_emit(l, PTX_TURN_TAKE, l->nothing, &own, 1, &threads);
        return;
    }
    if (id == 0) {
        ptx_barrier(l);
        return;
    }
    int64_t warps = ir_number(operation, IR_ATTRIBUTE_BARRIER_WARPS, l->warps);
    const char *words[2] = {arena_printf(l->arena, "%lld", (long long)id),
                            arena_printf(l->arena, "%lld", 32 * (long long)warps)};
    ptx_emit(l, PTX_BARRIER_OF, l->nothing, NULL, 0, words);
}

bool role_is_single(const struct lowering *l, const struct ir_operation *operation)
{
    if (l->one_thread)
        return false;
    switch (operation->opcode) {
    case OP_MBARRIER:
    case OP_MBARRIER_READY:
    case OP_MBARRIER_EXPECT:
    case OP_TMA_LOAD:
    case OP_TMA_STORE:
    case OP_TMA_COMMIT:
    case OP_TMA_WAIT: return true;
    default: return false;
    }
}

/* Of the role, or where the operation is one of each warpgroup, of that. */
static LLVMValueRef is_only_thread(struct lowering *l, bool apart)
{
    if (!apart)
        return coordinate_first_thread(l);
    LLVMValueRef within = LLVMBuildAnd(l->builder, l->thread, value_i32(l, 32 * IR_WARPGROUP - 1), "");
    return LLVMBuildICmp(l->builder, LLVMIntEQ, within, value_i32(l, 0), "");
}

void role_single_begin(struct lowering *l)
{
    bool apart = ir_attribute(l->operation, IR_ATTRIBUTE_APART);
    if (l->single && l->single_of_group != apart)
        role_single_end(l);
    if (l->single || l->one_thread)
        return;
    LLVMBasicBlockRef only = value_block(l, "one");
    l->single = value_block(l, "all");
    l->single_of_group = apart;
    LLVMBuildCondBr(l->builder, is_only_thread(l, apart), only, l->single);
    LLVMPositionBuilderAtEnd(l->builder, only);
}

void role_single_end(struct lowering *l)
{
    if (!l->single)
        return;
    LLVMBuildBr(l->builder, l->single);
    LLVMPositionBuilderAtEnd(l->builder, l->single);
    l->single = NULL;
}
