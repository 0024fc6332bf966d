/* See ptx_change.h.  A change is words to look for and what happens to the statement around them. */
#include "ptx_change.h"

#include <stdlib.h>
#include <string.h>

enum action {
    DROP,   /* the statement with the words */
    LINE,   /* its line: a block of inline PTX */
    ADD,    /* to the last number of the statement */
    XOR,    /* bits of it */
    LAST,   /* the last operand becomes `other` */
    SWAP,   /* the first two members of its first list */
    REPLACE /* the words become `other` */
};
struct change {
    const char *name, *words;
    enum action action;
    int64_t by;
    const char *other;
    bool spare; /* there are places that others make good */
};
static const struct change changes[PTX_CHANGES] = {
    {"a wait for an mbarrier is lost", "mbarrier.try_wait", LINE, 0, NULL, true},
    {"a wait is for phase 0", "mbarrier.try_wait", LAST, 0, " 0", false},
    {"a wait is for phase 1", "mbarrier.try_wait", LAST, 0, " 1", false},
    {"an mbarrier is not made", "mbarrier.init", DROP, 0, NULL, false},
    {"an mbarrier counts one more", "mbarrier.init", ADD, 1, NULL, false},
    {"an mbarrier counts one less", "mbarrier.init", ADD, -1, NULL, false},
    {"mbarriers are not shown", "fence.mbarrier_init", DROP, 0, NULL, false},
    {"an arrival is lost", "mbarrier.arrive.release", DROP, 0, NULL, false},
    {"expected bytes are lost", "mbarrier.arrive.expect_tx", DROP, 0, NULL, false},
    {"more bytes are expected", "mbarrier.arrive.expect_tx", ADD, 128, NULL, false},
    {"fewer bytes are expected", "mbarrier.arrive.expect_tx", ADD, -128, NULL, false},
    {"a load is lost", "complete_tx::bytes", DROP, 0, NULL, false},
    {"a load from the other corner", "complete_tx::bytes", SWAP, 0, NULL, false},
    {"a store is lost", ".bulk_group [", DROP, 0, NULL, false},
    {"a store to the other corner", ".bulk_group [", SWAP, 0, NULL, false},
    {"a store is not committed", "cp.async.bulk.commit_group", DROP, 0, NULL, false},
    {"a store is not waited for", "cp.async.bulk.wait_group", DROP, 0, NULL, false},
    {"one store more may be on its way", "cp.async.bulk.wait_group", ADD, 1, NULL, false},
    {"a proxy fence is lost", "fence.proxy.async", DROP, 0, NULL, false},
    {"a barrier is lost", "bar.sync", DROP, 0, NULL, true},
    {"a warp does not meet", "bar.warp.sync", DROP, 0, NULL, true},
    {"a turn is not passed", "bar.arrive", DROP, 0, NULL, false},
    {"a barrier of clusters is lost", "barrier.cluster.arrive", LINE, 0, NULL, true},
    {"another block of the cluster", "mapa.shared", LAST, 0, " 0", false},
    {"one block of the cluster less", "multicast::cluster", LAST, 0, " 1", false},
    {"registers are not given back", "setmaxnreg.dec", DROP, 0, NULL, true},
    {"a product is lost", "wgmma.mma_async", DROP, 0, NULL, false},
    {"two results are exchanged", "wgmma.mma_async", SWAP, 0, NULL, false},
    {"the other transpose", "wgmma.mma_async", XOR, 1, NULL, false},
    {"a fence of products is lost", "wgmma.fence", DROP, 0, NULL, false},
    {"products are not committed", "wgmma.commit_group", DROP, 0, NULL, false},
    {"products are not waited for", "wgmma.wait_group", DROP, 0, NULL, false},
    {"one product more may be on its way", "wgmma.wait_group", ADD, 1, NULL, false},
    {"another stride of A", "mov.b64 a, {low,", XOR, 16, NULL, false},
    {"another stride of B", "mov.b64 b, {low,", XOR, 16, NULL, false},
    {"another swizzle of A", "mov.b64 a, {low,", XOR, INT64_C(0xc0000000), NULL, false},
    {"another swizzle of B", "mov.b64 b, {low,", XOR, INT64_C(0x80000000), NULL, false},
    {"another start of a factor", "add.s32 low,", ADD, 2, NULL, false},
    {"another panel of a factor", "add.s32 low,", ADD, 1 << 16, NULL, true},
    {"rows of a store are lost", "stmatrix", DROP, 0, NULL, false},
    {"turned rows of a store", "m8n8.x4.shared::cta", REPLACE, 0, "m8n8.x4.trans.shared::cta", false},
    {"rows of a store are exchanged", "stmatrix", SWAP, 0, NULL, false},
};

const char *ptx_change_name(int change) { return changes[change].name; }

bool ptx_change_is_spare(int change) { return changes[change].spare; }

const char *ptx_change_next(const char *text, const char *at, int change)
{
    return strstr(at ? at + 1 : text, changes[change].words);
}

int ptx_change_line(const char *text, const char *at)
{
    int line = 0;
    for (; text < at; text++)
        line += *text == '\n';
    return line;
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n'; }

/* A number with its sign, the last in front of `end`; false: there is none behind `start`. */
static bool last_number(const char *start, const char *end, const char **from, const char **to)
{
    while (end > start && !(end[-1] >= '0' && end[-1] <= '9'))
        end--;
    *to = end;
    while (end > start && end[-1] >= '0' && end[-1] <= '9')
        end--;
    *from = end > start && end[-1] == '-' ? end - 1 : end;
    return end > start && is_space(end[-1]);
}

/* The statement, or the line, around `at`: [*from, *to). */
static void bounds(const char *text, const char *at, bool line, const char **from, const char **to)
{
    *from = *to = at;
    while (*from > text && !strchr(line ? "\n" : ";\n", (*from)[-1]))
        --*from;
    if (!line) /* { … ; or W: in front of it stay */
        for (const char *c = at; c > *from; c--)
            if (c[-1] == '{' || c[-1] == ':') {
                if (c[-1] == ':' && (c[0] == ':' || (c - 2 >= *from && c[-2] == ':')))
                    continue;
                *from = c;
                break;
            }
    while (**to && !strchr(line ? "\n" : ";", **to))
        ++*to;
    *to += !line;
}

bool ptx_change_write(const char *text, const char *at, int number, struct buffer *out)
{
    const struct change *change = &changes[number];
    const char *from, *to, *first, *last;
    struct buffer middle = {0};
    bounds(text, at, change->action == LINE, &from, &to);
    bool good = true;
    switch (change->action) {
    case DROP:
    case LINE: break;
    case ADD:
    case XOR:
        good = last_number(from, to, &first, &last);
        if (!good)
            break;
        int64_t old = strtoll(first, NULL, 10), made = change->action == ADD ? old + change->by : old ^ change->by;
        good = made >= 0;
        buffer_append(&middle, from, (size_t)(first - from));
        buffer_printf(&middle, "%lld", (long long)made);
        buffer_append(&middle, last, (size_t)(to - last));
        break;
    case LAST:
        last = to - 1;
        while (last > from && *last != ',')
            last--;
        buffer_append(&middle, from, (size_t)(last + 1 - from));
        buffer_printf(&middle, "%s;", change->other);
        break;
    case SWAP:
        first = memchr(from, '{', (size_t)(to - from));
        last = first ? memchr(first, '}', (size_t)(to - first)) : NULL;
        const char *comma = last ? memchr(first, ',', (size_t)(last - first)) : NULL;
        good = comma != NULL;
        if (!good)
            break;
        const char *second = memchr(comma + 1, ',', (size_t)(last - comma - 1));
        last = second ? second : last;
        buffer_append(&middle, from, (size_t)(first + 1 - from));
        buffer_append(&middle, comma + 1, (size_t)(last - comma - 1));
        buffer_puts(&middle, ", ");
        buffer_append(&middle, first + 1, (size_t)(comma - first - 1));
        buffer_append(&middle, last, (size_t)(to - last));
        break;
    case REPLACE:
        buffer_append(&middle, from, (size_t)(at - from));
        buffer_puts(&middle, change->other);
        first = at + strlen(change->words);
        buffer_append(&middle, first, (size_t)(to - first));
        break;
    }
    if (good) {
        buffer_append(out, text, (size_t)(from - text));
        buffer_append(out, middle.data, middle.size);
        buffer_puts(out, to);
    }
    buffer_free(&middle);
    return good;
}
