/* What no GPU of the row can hold, told from the last IR before anything is made of it: shared memory, and the tiles of
 * a thread.  The counts are the least that the code will take, so what is refused here could not have been made. */
#include "ir/facts/registers.h"
#include "ir/layout/layout.h"
#include "targets/nvptx/assemble/assemble.h"

/* A thread has 255 registers and local memory behind them; code for many times as many takes minutes to make. */
enum { MOST_REGISTERS_OF_TILE = 4096 };

struct most {
    const struct ir_operation *widest, *largest;
    int registers;
    int64_t bytes;
};

static void measure(struct ir_operation *operation, void *context)
{
    struct most *most = context;
    int64_t bytes = ir_number(operation, IR_ATTRIBUTE_SHARED_BYTES, 0);
    if (bytes > most->bytes) {
        most->bytes = bytes;
        most->largest = operation;
    }
    for (int i = 0; i < operation->result_count; i++) {
        const struct ir_type *type = operation->results[i]->type;
        int registers = type->kind == IR_TILE && type->layout ? layout_registers(type->layout) : 0;
        if (registers <= most->registers)
            continue;
        most->registers = registers;
        most->widest = operation;
    }
}

static int power_of_two_above(int64_t numerator, int64_t denominator)
{
    int n = 1;
    while (n < (1 << 24) && ceiling_divide(numerator, n) > denominator)
        n *= 2;
    return n;
}

bool nvptx_find_excess(struct arena *arena, const struct target_row *row, const struct ir_function *function,
                       const char *name, struct nvptx_excess *excess)
{
    struct most most = {0};
    ir_walk(function->body, measure, &most);
    int threads = 32 * function->warps;
    if (most.registers > MOST_REGISTERS_OF_TILE) {
        *excess = (struct nvptx_excess){DIAGNOSTIC_E1206, most.widest->at, NULL, most.widest->at, NULL};
        excess->text = arena_printf(arena, "this tile has %d elements for each of %d threads; %d is the most",
                                    most.registers, threads, MOST_REGISTERS_OF_TILE);
        excess->fits = arena_printf(arena, "a tile of up to %lld elements fits %d threads",
                                    (long long)MOST_REGISTERS_OF_TILE * threads, threads);
        return true;
    }
    int limit, least;
    struct location at = function->at;
    least = nvptx_least_registers(arena, function, row, &limit, &at);
    if (least > MOST_REGISTERS_OF_TILE) {
        *excess = (struct nvptx_excess){DIAGNOSTIC_E1206, at, NULL, at, NULL};
        excess->text = arena_printf(arena,
                                    "each of %d threads holds at least %d registers of tiles here; %d is the most",
                                    threads, least, MOST_REGISTERS_OF_TILE);
        excess->fits = arena_printf(arena, "with %d times fewer elements they fit",
                                    power_of_two_above(least, MOST_REGISTERS_OF_TILE));
        return true;
    }
    if (function->shared_bytes <= row->shared_bytes)
        return false;
    *excess = (struct nvptx_excess){DIAGNOSTIC_E1201, function->at, NULL, function->at, NULL};
    excess->text = arena_printf(arena, "%s needs %lld bytes of shared memory, %s has %d", name,
                                (long long)function->shared_bytes, row->name, row->shared_bytes);
    excess->fits = arena_printf(arena, "tiles with %d times fewer elements fit%s",
                                power_of_two_above(function->shared_bytes, row->shared_bytes),
                                function->stages > 2 ? ", and so may fewer `stages`" : "");
    if (most.largest && most.largest->at.line) {
        excess->fits_at = most.largest->at;
        excess->fits = arena_printf(arena, "%lld of these bytes are taken here; %s", (long long)most.bytes,
                                    excess->fits);
    }
    return true;
}

/* Spills of a few words may be cheaper than what avoids them. */
enum { SPILLED_REGISTERS = 8 };

int nvptx_missing_registers(struct arena *arena, const struct target_row *row, const struct ir_function *function)
{
    int limit;
    struct location at;
    int least = nvptx_least_registers(arena, function, row, &limit, &at);
    return least > limit + SPILLED_REGISTERS ? least - limit : 0;
}

void nvptx_warn_registers(const struct target_options *options, const struct kernel_variant *variant)
{
    int limit;
    struct location at;
    int least = nvptx_least_registers(options->arena, variant->function, &target_rows[variant->target], &limit, &at);
    if (least <= limit + SPILLED_REGISTERS)
        return;
    struct diagnostic *d = diag_report(options->diagnostics, DIAGNOSTIC_W1202, variant->function->at,
                                       "this kernel keeps registers in local memory");
    diag_instance(options->diagnostics, d,
                  arena_printf(options->arena, "%s: at least %d registers of tiles a thread, which has %d",
                               variant->label, least, limit));
    nvptx_explain_registers(options, d, variant);
}
