/* A number for all that a module says, as told in judge.h: each field that the printer prints goes into it, values
 * by their numbers, types by their place in the context.  Two moments of one module with the same number hold the
 * same program. */
#include <string.h>

#include "judge.h"

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

static uint64_t mix_list(uint64_t hash, int count, const int64_t *list)
{
    hash = mix(hash, (uint64_t)count);
    for (int i = 0; i < count; i++)
        hash = mix(hash, (uint64_t)list[i]);
    return hash;
}

static uint64_t mix_name(uint64_t hash, const char *name)
{
    for (; name && *name; name++)
        hash = mix(hash, (unsigned char)*name);
    return mix(hash, 1000);
}

static uint64_t mix_value(uint64_t hash, const struct ir_value *value)
{
    return mix(mix(hash, (uint64_t)value->id), (uint64_t)(uintptr_t)value->type);
}

static uint64_t mix_block(uint64_t hash, const struct ir_block *block);

static uint64_t mix_operation(uint64_t hash, const struct ir_operation *op)
{
    hash = mix(hash, (uint64_t)op->opcode << 32 | (uint64_t)op->operand_count << 16 | (uint64_t)op->result_count);
    for (int i = 0; i < op->operand_count; i++)
        hash = mix_value(hash, op->operands[i]);
    for (int i = 0; i < op->result_count; i++)
        hash = mix_value(hash, op->results[i]);
    for (const struct ir_attribute *a = op->attributes; a; a = a->next) {
        hash = mix(mix(mix(hash, a->key), (uint64_t)a->number), a->bits);
        hash = mix_list(hash, a->list ? a->count : 0, a->list);
        if (a->name)
            hash = mix_name(hash, a->name);
    }
    for (int i = 0; i < op->region_count; i++)
        hash = mix_block(hash, op->regions[i]);
    return hash;
}

static uint64_t mix_block(uint64_t hash, const struct ir_block *block)
{
    hash = mix(hash, (uint64_t)block->arguments.count);
    for (int i = 0; i < block->arguments.count; i++)
        hash = mix_value(hash, block->arguments.data[i]);
    for (const struct ir_operation *op = block->first; op; op = op->next)
        hash = mix_operation(hash, op);
    return mix(hash, 2000);
}

static uint64_t mix_fact(uint64_t hash, const struct ir_argument_fact *fact)
{
    hash = mix(mix(mix(hash, (uint64_t)fact->base_alignment), (uint64_t)fact->extent_limit), fact->restricted);
    hash = mix(hash, (uint64_t)fact->asked_alignment);
    hash = mix_list(mix_list(hash, IR_MAX_RANK, fact->stride_multiple), IR_MAX_RANK, fact->extent_multiple);
    for (int i = 0; i < IR_MAX_RANK; i++)
        hash = mix(hash, (uint64_t)fact->extent_class[i]);
    return hash;
}

static uint64_t mix_function(uint64_t hash, const struct ir_function *f)
{
    const int64_t knobs[] = {f->level,      f->grid_rank, f->warps,     f->stages,  f->max_registers,
                             f->persistent, f->raster,    f->cluster,   f->parts,   f->shared_bytes,
                             f->strict_fp,  f->is_kernel, f->no_inline, f->ordered, f->together};
    hash = mix_list(mix_name(hash, f->name), (int)(sizeof knobs / sizeof *knobs), knobs);
    hash = mix_list(mix_list(hash, IR_MAX_RANK, f->grid_limit), IR_MAX_RANK, f->grid_step);
    for (int i = 0; i < IR_MAX_RANK; i++)
        hash = mix(hash, (uint64_t)f->grid_class[i]);
    for (int i = 0; i < f->facts.count; i++)
        hash = mix_fact(hash, &f->facts.data[i]);
    for (int i = 0; i < f->results.count; i++)
        hash = mix(hash, (uint64_t)(uintptr_t)f->results.data[i]);
    return mix_block(hash, f->body);
}

uint64_t fuzz_fingerprint(const struct ir_module *module)
{
    uint64_t hash = 0;
    for (const struct ir_function *f = module->first; f; f = f->next)
        hash = mix_function(hash, f);
    return hash;
}
