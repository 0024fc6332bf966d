/* Parts of an iteration that a ring can serve one after the other (prefetch_copies.h).
 *
 *     %a, %b, %c, %d = copy_async … to %A, %B, %C, %D
 *     wait %a, %b      %s = dot_async %A, %B, %acc
 *     wait %c, %d      %t = dot_async %C, %D, %s
 *
 * has two where %A and %C, and %B and %D are of one type: slots of one ring for each pair, as if the loop had twice the
 * iterations with a product each.  A slot is as large as one product's factors then, and more of them fit. */
#include "passes/loops/prefetch_copies.h"
#include "passes/base/rewrite.h"

static struct ir_operation *wait_of(const struct pipelined_copy *copy) { return copy->copy->results[0]->uses->user; }

struct ir_operation *copies_wait_of(const struct pipelined_loop *loop, int part)
{
    for (int c = 0; c < loop->copies.count; c++)
        if (loop->copies.data[c].part == part)
            return wait_of(&loop->copies.data[c]);
    return NULL;
}

/* Numbers the waits by where they stand. */
static int number_parts(struct pipelined_loop *loop)
{
    int parts = 0;
    const struct ir_operation *last = NULL;
    for (int c = 0; c < loop->copies.count; c++)
        loop->copies.data[c].part = -1;
    for (;;) {
        const struct ir_operation *next = NULL;
        for (int c = 0; c < loop->copies.count; c++) {
            const struct ir_operation *wait = wait_of(&loop->copies.data[c]);
            if (loop->copies.data[c].part < 0 && (!next || ir_comes_before(wait, next)))
                next = wait;
        }
        if (!next || next == last)
            return parts;
        for (int c = 0; c < loop->copies.count; c++)
            if (wait_of(&loop->copies.data[c]) == next)
                loop->copies.data[c].part = parts;
        last = next;
        parts++;
    }
}

/* Nobody reads the buffer but between the part's wait and the next. */
static bool stays_in_part(const struct pipelined_loop *loop, const struct pipelined_copy *copy)
{
    const struct ir_operation *from = wait_of(copy), *to = copies_wait_of(loop, copy->part + 1);
    for (const struct ir_use *use = copy->buffer->uses; use; use = use->next) {
        const struct ir_operation *user = ir_ancestor_in(loop->loop->regions[0], use->user);
        if (use->user != copy->copy && (!user || !ir_comes_before(from, user) || (to && !ir_comes_before(user, to))))
            return false;
    }
    return true;
}

/* The copy of part 0 that fills a buffer of this type and that no other copy of this part is the counterpart of. */
static int place_of(const struct pipelined_loop *loop, const struct pipelined_copy *copy)
{
    int place = 0;
    for (int c = 0; c < loop->copies.count; c++) {
        const struct pipelined_copy *first = &loop->copies.data[c];
        if (first->part != 0)
            continue;
        bool taken = first->buffer->type != copy->buffer->type;
        for (int d = 0; d < loop->copies.count && &loop->copies.data[d] != copy; d++)
            taken |= loop->copies.data[d].part == copy->part && loop->copies.data[d].place == place;
        if (!taken)
            return place;
        place++;
    }
    return -1;
}

int copies_find_parts(struct pipelined_loop *loop)
{
    int parts = number_parts(loop), each = 0;
    for (int c = 0; c < loop->copies.count; c++) {
        struct pipelined_copy *copy = &loop->copies.data[c];
        copy->place = place_of(loop, copy);
        each += copy->part == 0;
        if (copy->place < 0 || !stays_in_part(loop, copy))
            return 1;
    }
    return loop->asynchronous && each * parts == loop->copies.count ? parts : 1;
}
