/* What asynchronous copies can bring.  See buffer_copy.h. */
#include "passes/loops/buffer_copy.h"

#include "base/plant.h"
#include "ir/facts/alias.h"
#include "ir/facts/analysis.h"
#include "passes/layout/memory_access.h"
#include "passes/base/rewrite.h"

bool buffer_copy_possible(const struct target_row *target, const struct ir_operation *load, int *contiguous,
                          const char **reason)
{
    struct ir_access access;
    uint64_t bits;
    int dimension = 0;
    bool gathers = false;
    (void)target;
    *contiguous = -1;
    if (!ir_access_of(load, &access) || load->results[0]->type->rank < 1 || load->results[0]->type->rank > 2) {
        *reason = "it is not a slice with one or two dimensions";
        return false;
    }
    if (access.mask) {
        *reason = "it is masked";
        return false;
    }
    if (!access.other || !ir_constant_of(access.other, &bits) || bits != 0) {
        *reason = "what lies outside the view is not zero";
        return false;
    }
    for (int d = 0; d < access.rank; d++) {
        if (access.place[d] == IR_GATHER) {
            dimension += gathers ? 0 : access.index[d]->type->rank;
            gathers = true;
        } else if (access.place[d] > 0) {
            if (access.view->type->stride[d] == 1)
                *contiguous = dimension;
            dimension++;
        }
    }
    if (*contiguous < 0)
        *reason = gathers ? "it gathers along what is contiguous" : "none of its dimensions is known to be contiguous";
    return *contiguous >= 0;
}

bool buffer_copy_gathers(const struct ir_operation *load)
{
    struct ir_access access;
    ir_access_of(load, &access);
    for (int d = 0; d < access.rank; d++)
        if (access.place[d] == IR_GATHER)
            return true;
    return false;
}

static const char *producer_problem(const struct ir_operation *reader)
{
    const struct ir_function *function = reader->block->function;
    if (alias_is_written(function, reader->operands[0]))
        return alias_describe_write("the kernel", function->body, reader->operands[0]);
    if (alias_follows_acquire(reader) || alias_function_waits(function))
        return "the kernel waits for others that may write what it reads";
    return NULL;
}

/* In front of a part are other elements of the view, which TMA would take for the part's own. */
static bool starts_in_front_of(const struct ir_access *access, int dimension)
{
    struct arena *arena = arena_create();
    const struct ir_value *index = access->index[dimension];
    bool front = range_of(ranges_analyse(access->view->block->function, arena), index).low < 0;
    arena_destroy(arena);
    return front;
}

const char *buffer_start_problem(const struct ir_access *access, const struct tensor_map *map)
{
    enum { CHUNK = 16 };
    if (map->part >= 0 && starts_in_front_of(access, map->part))
        return "its start in a part of a view is not known to be 0 or more";
    const struct ir_value *start = access->index[map->dimension[0]];
    if (memory_divisor(start) * (ir_element_info[map->element].bits / 8) % CHUNK && !PLANTED(tma_begins_anywhere))
        return "its start along the contiguous dimension is not known to be a multiple of 16 bytes, as a clause such as "
               "requires(start % 8 == 0), or assume(), could tell";
    return NULL;
}

const char *buffer_bulk_problem(const struct ir_operation *reader, const struct ir_type *buffer)
{
    struct ir_access access;
    struct tensor_map map;
    ir_access_of(reader, &access);
    const char *reason = producer_problem(reader);
    if (!reason && tensor_map_for(access.view, access.rank, access.place, buffer, &map, &reason))
        reason = buffer_start_problem(&access, &map);
    return reason;
}

bool buffer_copy_fits(const struct target_row *target, const struct ir_operation *dot, const struct ir_operation *load,
                      const struct ir_type *buffer, const char **reason)
{
    if (!buffer_has_roles(target) || ir_number(dot, IR_ATTRIBUTE_INSTRUCTION, 0) != IR_INSTRUCTION_WGMMA) {
        if (!memory_copy_bytes(load))
            *reason = "strides and starts are not known to be multiples of 4 bytes";
        return memory_copy_bytes(load) > 0;
    }
    *reason = buffer_copy_gathers(load) ? "it gathers, which TMA does not do"
                                        : tensor_map_view_problem(load->operands[0]);
    if (!*reason)
        *reason = buffer_bulk_problem(load, buffer);
    return !*reason;
}

struct ir_value *buffer_copy_build(struct arena *arena, struct ir_builder *builder, const struct ir_operation *load,
                                   struct ir_value *buffer)
{
    struct ir_access access;
    ir_access_of(load, &access);
    struct ir_value **operands = ARENA_ARRAY(arena, struct ir_value *, access.rank + 2);
    const struct ir_type *token = ir_type_token(builder->module->context);
    for (int i = 0; i <= access.rank; i++)
        operands[i] = load->operands[i];
    operands[1 + access.rank] = buffer;
    struct ir_operation *copy = ir_build(builder, OP_COPY_ASYNC, access.rank + 2, operands, 1, &token);
    rewrite_copy_access(copy, load);
    return copy->results[0];
}
