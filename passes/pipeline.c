/* The page: which passes run, in this order, at which level of the IR, and why each stands where it stands.
 *
 * A row runs in the pipelines that its third column names; a pipeline is the rows of one kind of target and one level of
 * optimisation, from top to bottom.  The level is the one that the function is at when the pass begins; assign_layouts
 * leads to the Schedule level, and specialise to the Machine level.  -O0 knows no specialise: its last passes run at the
 * Schedule level, which allows all that they need. */
#include "passes/run.h"
#include "targets/target.h"

enum {
    CPU_0 = PASS_PIPELINE(TARGET_CPU, 0),
    CPU_1 = PASS_PIPELINE(TARGET_CPU, 1),
    CPU_2 = PASS_PIPELINE(TARGET_CPU, 2),
    GPU_0 = PASS_PIPELINE(TARGET_NVPTX, 0),
    GPU_1 = PASS_PIPELINE(TARGET_NVPTX, 1),
    GPU_2 = PASS_PIPELINE(TARGET_NVPTX, 2),
    GPU_12 = GPU_1 | GPU_2,
    GPU = GPU_0 | GPU_12,
    BOTH_2 = CPU_2 | GPU_2,
    BOTH_12 = CPU_1 | CPU_2 | GPU_12,
    ALL = CPU_0 | GPU_0 | BOTH_12
};

const struct pass_row pass_rows[] = {
#define ROW(pass, level, pipelines) {PASS_##pass, IR_LEVEL_##level, pipelines}
    // clang-format off
    /* What code generators cannot do without. */
    ROW(inline,             VALUE,    ALL),     /* they make code of one function */
    ROW(near_exponentials,  VALUE,    GPU_2),   /* before expand_math writes out what is made of exponentials */
    ROW(expand_math,        VALUE,    ALL),     /* and call no function of mathematics that the target lacks */
    ROW(simplify,           VALUE,    BOTH_12), /* clean up: the front end writes down what the source says */
    ROW(cse,                VALUE,    BOTH_12),
    ROW(dce,                VALUE,    BOTH_12),

    /* Loops, then facts: what a loop does is known best before it is taken apart. */
    ROW(direct_views,       VALUE,    BOTH_2),  /* first: what follows asks which argument is read */
    ROW(count_loops,        VALUE,    BOTH_2),  /* makes `for` loops, which all below look for */
    ROW(fuse_dot,           VALUE,    BOTH_2),  /* before licm could take the summand apart from its product */
    ROW(licm,               VALUE,    BOTH_2),  /* before unroll, so that copies share what does not change */
    ROW(unswitch,           VALUE,    BOTH_2),  /* behind licm, which brings conditions that do not change in front */
    ROW(unroll,             VALUE,    BOTH_2),
    ROW(decide,             VALUE,    BOTH_2),  /* before peel, which then sees only conditions that are open */
    ROW(simplify,           VALUE,    BOTH_2),  /* iterations that are written out have constants to fold */
    ROW(cse,                VALUE,    BOTH_2),
    ROW(dce,                VALUE,    BOTH_2),
    ROW(peel,               VALUE,    BOTH_2),  /* asks for conditions on the loop's variable in their simplest form */
    ROW(simplify,           VALUE,    BOTH_2),  /* conditions that hold in one part of a split loop are gone there */
    ROW(cse,                VALUE,    BOTH_2),
    ROW(dce,                VALUE,    BOTH_2),
    ROW(licm,               VALUE,    BOTH_2),  /* what stood under such a condition can leave its loop now */
    ROW(one_place,          VALUE,    BOTH_2),  /* before bounds, which asks where places lie */
    ROW(bounds,             VALUE,    BOTH_2),  /* behind peel, which makes loops whose accesses lie inside */
    ROW(narrow,             VALUE,    BOTH_2),  /* behind bounds, which proves in 64 bits */
    ROW(simplify,           VALUE,    BOTH_2),  /* casts at the edges of what became narrow meet */
    ROW(cse,                VALUE,    BOTH_2),
    ROW(dce,                VALUE,    BOTH_2),

    ROW(walk_ordered,       VALUE,    GPU_2),   /* behind all that asks for grid_index, whose range is told */

    /* Who holds what. */
    ROW(near_exponentials,  VALUE,    GPU_2),   /* again: maxima have been found equal now, and no layouts and pieces stand between */
    ROW(small_integers,     VALUE,    GPU_2),   /* behind narrow, and in front of layouts, which follow from what is left */
    ROW(order_words,        VALUE,    GPU_2),   /* before choose_product, which asks which factors are computed */
    ROW(choose_product,     VALUE,    GPU_2),   /* layouts follow from the instructions of products */
    ROW(extract_elements,   VALUE,    GPU),     /* before a large tile gets a layout for the sake of a few elements */
    ROW(read_once,          VALUE,    GPU_12),  /* asks for places as the source has them */
    ROW(assign_layouts,     VALUE,    GPU),     /* to the Schedule level */
    ROW(defer_sums,         SCHEDULE, GPU_2),   /* before plan_loops, which counts what a loop does */
    ROW(plan_loops,         SCHEDULE, GPU_12),  /* in front of all that decide how loops work */
    ROW(buffer_operands,    SCHEDULE, GPU_12),  /* before coalesce: factors in shared memory want no layout of their own */
    ROW(dce,                SCHEDULE, GPU_12),  /* the loads that copies have replaced */
    ROW(coalesce,           SCHEDULE, GPU_12),
    ROW(remove_conversions, SCHEDULE, GPU_12),  /* of those that the passes above have made */
    ROW(cse,                SCHEDULE, GPU_12),  /* conversions of one value to one layout */
    ROW(licm,               SCHEDULE, GPU_12),  /* conversions of what a loop does not change */

    /* What runs at the same time. */
    ROW(buffer_loads,       SCHEDULE, GPU_12),  /* behind coalesce, whose layout the copies keep */
    ROW(plan_roles,         SCHEDULE, GPU_12),  /* asks for all copies; the two below do what it plans */
    ROW(overlap_products,   SCHEDULE, GPU_12),  /* before specialise, which takes loops as they are */
    ROW(specialise,         SCHEDULE, GPU_12),  /* to the Machine level, also where nothing is split */
    ROW(prefetch_copies,    MACHINE,  GPU_12),  /* the loops that have no producer */
    ROW(fuse_map,           MACHINE,  GPU_12),  /* behind all that looks for elementwise operations one by one */
    ROW(cse,                MACHINE,  GPU_12),  /* slots and phases are computed at each copy */
    ROW(dce,                MACHINE,  GPU_12),
    ROW(keep_in_flight,     MACHINE,  GPU_12),  /* asks for the waits that specialise has placed */
    ROW(sink_waits,         MACHINE,  GPU_12),  /* of the products that have not gone round a loop above */
    ROW(prefetch_fragments, MACHINE,  GPU_12),  /* behind prefetch_copies: reads the slots that it waits for */
    ROW(split_copies,       MACHINE,  GPU_12),  /* of loops as they will be, with copies ahead */
    ROW(split_stores,       MACHINE,  GPU_12),
    ROW(hold_carried,       MACHINE,  GPU_2),   /* before the two below count the registers that are left */
    ROW(prefetch_loads,     MACHINE,  GPU_12),  /* the loads that no copy has taken, in the registers that are left */
    ROW(dce,                MACHINE,  GPU_12),
    ROW(lift_loads,         MACHINE,  GPU_12),  /* those that stand where the source has them */
    ROW(split_wide_tiles,   MACHINE,  GPU_12),  /* no cse behind it: it computes again on purpose */
    ROW(dce,                MACHINE,  GPU_12),

    /* Places and order: nothing is computed elsewhere from here on. */
    ROW(allocate_shared,    SCHEDULE, GPU_0),
    ROW(insert_barriers,    SCHEDULE, GPU_0),
    ROW(settle_knobs,       SCHEDULE, GPU_0),
    ROW(check_machine,      SCHEDULE, GPU_0),
    ROW(allocate_shared,    MACHINE,  GPU_12),  /* by lives: what is live when is known now */
    ROW(insert_barriers,    MACHINE,  GPU_12),  /* asks which places overlap */
    ROW(share_blocks,       MACHINE,  GPU_12),  /* asks what lies in shared memory */
    ROW(settle_plans,       MACHINE,  GPU_12),  /* all passes that fill in plans are over */
    ROW(settle_knobs,       MACHINE,  GPU_12),  /* all passes that do what a knob asks for are over */
    ROW(check_machine,      MACHINE,  GPU_12),  /* looks at the result, and knows none of the passes above */
// clang-format on
#undef ROW
};
const int pass_row_count = (int)(sizeof pass_rows / sizeof *pass_rows);

const struct pass_info *const *pass_pipeline(struct arena *arena, const struct target_row *target, int optimization,
                                             int *count)
{
    const struct pass_info **passes = ARENA_ARRAY(arena, const struct pass_info *, pass_row_count);
    unsigned pipeline = PASS_PIPELINE(target ? target->kind : TARGET_CPU, optimization < 0   ? 0
                                                                          : optimization > 2 ? 2
                                                                                             : optimization);
    *count = 0;
    for (int i = 0; i < pass_row_count; i++)
        if (pass_rows[i].pipelines & pipeline)
            passes[(*count)++] = &pass_table[pass_rows[i].pass];
    return passes;
}
