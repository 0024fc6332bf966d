/* What keeps two instructions of a block in their order.
 *
 * Memory counts as one place for each kind: two loads of a kind may pass each other, anything else of it may not, for
 * nothing is known of addresses. */
#include "targets/nvptx/native/private.h"

const char *const native_edge_names[] = {
    "nothing", "what it writes is read", "what it reads is written", "both write", "memory", "wall"};

bool native_exclude(const struct native_instruction *a, const struct native_instruction *b)
{
    return a->guard >= 0 && a->guard == b->guard && a->unless != b->unless && !native_has(&a->writes, a->guard) &&
           !native_has(&b->writes, b->guard);
}

static bool find_common(const struct native_set *a, const struct native_set *b, int *place)
{
    struct native_set common = native_both(a, b);
    int first = native_first(&common);
    if (first >= 0)
        *place = first;
    return first >= 0;
}

enum native_edge native_depends(const struct native_instruction *first, const struct native_instruction *second,
                                int *place)
{
    enum native_edge edge = EDGE_NONE;
    *place = -1;
    if (!first->form || !second->form || native_is_wall(first) || native_is_wall(second))
        return EDGE_WALL;
    if (find_common(&first->writes, &second->reads, place))
        edge = EDGE_TRUE;
    else if (find_common(&first->reads, &second->writes, place))
        edge = EDGE_ANTI;
    else if (find_common(&first->writes, &second->writes, place))
        edge = EDGE_OUTPUT;
    return *place >= NATIVE_REGISTERS_END ? EDGE_MEMORY : edge;
}
