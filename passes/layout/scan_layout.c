/* One layout for a scan, bit by bit.  See scan_layout.h.
 *
 *     f32[2048] on 4 warps, axis 0          register a0:1 a7:8; lane a2:6; warp a9:10
 *     f32[64, 64] on 4 warps, axis 0        register b0:1 a0:2; lane b2:5 a3; warp a4:5 */
#include "passes/layout/scan_layout.h"

struct making {
    struct layout_spec spec;
    int next[LAYOUT_RANK], left[LAYOUT_RANK]; /* bits of each dimension: the next one, how many are left */
    int lanes, warps;                         /* bits that are left */
};

/* The next `count` bits of a dimension to `input`. */
static void give(struct making *m, int dimension, enum layout_input input, int count)
{
    for (; count > 0; count--) {
        int at = input == LAYOUT_REGISTER ? m->spec.bits[input]++
                                          : m->spec.bits[input] - (input == LAYOUT_LANE ? m->lanes : m->warps);
        m->lanes -= input == LAYOUT_LANE;
        m->warps -= input == LAYOUT_WARP;
        m->spec.column[input][at][dimension] = 1 << m->next[dimension]++;
        m->left[dimension]--;
    }
}

static int least(int a, int b) { return a < b ? a : b; }

/* From the bottom: what no lane and no warp takes, then lanes, then warps. */
static void give_axis(struct making *m, int axis)
{
    int warps = least(m->warps, m->left[axis]), lanes = least(m->lanes, m->left[axis] - warps);
    give(m, axis, LAYOUT_REGISTER, m->left[axis] - warps - lanes);
    give(m, axis, LAYOUT_LANE, lanes);
    give(m, axis, LAYOUT_WARP, warps);
}

const struct layout *scan_layout(struct layout_table *table, const struct ir_type *type, int axis, int fast, int warps)
{
    struct making m = {.spec = {.rank = type->rank, .repeat_in_warps = -1}, .lanes = 5};
    int bytes = ir_element_info[type->element].bits / 8,
        vector = bytes && bytes < 16 ? log2_floor(16u / (unsigned)bytes) : 0;
    if (warps & (warps - 1))
        return NULL;
    m.warps = log2_floor((uint64_t)warps);
    m.spec.bits[LAYOUT_LANE] = m.lanes;
    m.spec.bits[LAYOUT_WARP] = m.warps;
    for (int d = 0; d < type->rank; d++) {
        int extent = (int)type->extent[d];
        m.left[d] = __builtin_ctz((unsigned)extent);
        m.spec.atom[d] = 1 << m.left[d];
        m.spec.repeat[d] = extent >> m.left[d];
    }
    give(&m, fast, LAYOUT_REGISTER, least(vector, m.left[fast]));
    give(&m, fast, LAYOUT_LANE, least(m.lanes, m.left[fast]));
    if (fast == axis) { /* registers above the lanes: one vector behind the other */
        int top = least(m.warps, m.left[axis]);
        give(&m, axis, LAYOUT_REGISTER, m.left[axis] - top);
        give(&m, axis, LAYOUT_WARP, top);
    } else {
        give_axis(&m, axis);
    }
    for (int d = type->rank - 1; d >= 0; d--) {
        give(&m, d, LAYOUT_LANE, least(m.lanes, m.left[d]));
        give(&m, d, LAYOUT_WARP, least(m.warps, m.left[d]));
        give(&m, d, LAYOUT_REGISTER, m.left[d]);
    }
    return layout_create(table, &m.spec);
}
