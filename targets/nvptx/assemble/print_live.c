/* Which lines are needed, and which variables share a register: a phi with what comes into it, and what an inline text
 * changes in place with what it was before.  They do where they are not live together; elsewhere a mov is printed.
 *
 * Places are four a line: line i reads at 4i + 1 and writes at 4i + 3, or from 4i on where it writes early.  Phis are
 * written where their block begins, and what comes into them is live to the end of the block that it comes from. */
#include "targets/nvptx/assemble/print.h"

#include <stdlib.h>
#include <string.h>

/* ---- lines that nobody needs ---- */

static void count_uses(struct printer *p, const struct print_line *line, int change)
{
    for (int i = line->written; i < line->count; i++)
        if (line->operands[i].variable >= 0)
            p->variables.data[line->operands[i].variable].uses += change;
}

static bool is_needed(const struct printer *p, const struct print_line *line)
{
    if (line->kind == LINE_EFFECT || line->kind == LINE_END)
        return true;
    for (int i = 0; i < line->written; i++)
        if (line->operands[i].variable < 0 || p->variables.data[line->operands[i].variable].uses)
            return true;
    return false;
}

void print_drop_unused(struct printer *p)
{
    for (int i = 0; i < p->lines.count; i++)
        count_uses(p, &p->lines.data[i], 1);
    VECTOR(int) work = {0};
    for (int i = 0; i < p->lines.count; i++)
        vector_push(p->arena, &work, i);
    while (work.count) {
        struct print_line *line = &p->lines.data[work.data[--work.count]];
        if (line->dropped || is_needed(p, line))
            continue;
        line->dropped = true;
        count_uses(p, line, -1);
        for (int i = line->written; i < line->count; i++) {
            int variable = line->operands[i].variable;
            if (variable >= 0 && !p->variables.data[variable].uses && p->variables.data[variable].line >= 0)
                vector_push(p->arena, &work, p->variables.data[variable].line);
        }
    }
}

/* ---- where candidates are live ---- */

struct use {
    int variable, block, place;
};

struct live_search {
    struct printer *p;
    VECTOR(struct use) uses; /* of candidates, by variable */
    int *stamp;              /* by block: variable that was there last, plus one */
    int *end;                /* by block, where the stamp holds: to where it is live */
    VECTOR(int) work, reached;
};

static int begin_of(const struct printer *p, int block) { return 4 * p->blocks[block].first; }
static int end_of(const struct printer *p, int block) { return 4 * (p->blocks[block].last + 1); }

static int written_at(const struct printer *p, int line)
{
    const struct print_line *at = &p->lines.data[line];
    if (at->kind == LINE_PHI)
        return begin_of(p, p->line_block[line]);
    return at->early ? 4 * line : 4 * line + 3;
}

static void reach(struct live_search *live, int variable, int block, int to)
{
    if (live->stamp[block] != variable + 1) {
        live->stamp[block] = variable + 1;
        live->end[block] = to;
        vector_push(live->p->arena, &live->work, block);
        vector_push(live->p->arena, &live->reached, block);
    } else if (live->end[block] < to) {
        live->end[block] = to;
    }
}

static int compare_intervals(const void *a, const void *b)
{
    return ((const struct print_interval *)a)->from - ((const struct print_interval *)b)->from;
}

static void find_live(struct live_search *live, int variable, const struct use *uses, int count)
{
    struct printer *p = live->p;
    struct print_variable *of = &p->variables.data[variable];
    int home = p->line_block[of->line], from = written_at(p, of->line);
    live->reached.count = 0;
    reach(live, variable, home, 4 * of->line + 4 > from ? 4 * of->line + 4 : from + 1);
    live->work.count = 0; /* nothing lies before it */
    for (int i = 0; i < count; i++) {
        reach(live, variable, uses[i].block, uses[i].place);
        while (live->work.count) {
            int block = live->work.data[--live->work.count];
            if (block == home)
                continue;
            for (int b = 0; b < p->blocks[block].before_count; b++)
                reach(live, variable, p->blocks[block].before[b], end_of(p, p->blocks[block].before[b]));
        }
    }
    for (int i = 0; i < live->reached.count; i++) {
        int block = live->reached.data[i];
        struct print_interval interval = {block == home ? from : begin_of(p, block), live->end[block]};
        vector_push(p->arena, &of->live, interval);
    }
    qsort(of->live.data, (size_t)of->live.count, sizeof *of->live.data, compare_intervals);
}

static int compare_uses(const void *a, const void *b)
{
    const struct use *first = a, *second = b;
    return first->variable != second->variable ? first->variable - second->variable : first->place - second->place;
}

/* A text that changes a register in place reads what was there before it writes. */
static int read_at(const struct print_line *line, int operand, int number)
{
    bool tied = line->ties && line->ties[operand] >= 0;
    return tied ? 4 * number : 4 * number + 2;
}

static void collect_uses(struct live_search *live)
{
    struct printer *p = live->p;
    for (int i = 0; i < p->lines.count; i++) {
        const struct print_line *line = &p->lines.data[i];
        for (int o = line->written; o < line->count && !line->dropped; o++) {
            int variable = line->operands[o].variable;
            if (variable < 0 || !p->variables.data[variable].candidate)
                continue;
            struct use use = {variable, p->line_block[i], read_at(line, o, i)};
            if (line->kind == LINE_PHI) {
                use.block = line->targets[o - line->written];
                use.place = end_of(p, use.block);
            }
            vector_push(p->arena, &live->uses, use);
        }
    }
    qsort(live->uses.data, (size_t)live->uses.count, sizeof *live->uses.data, compare_uses);
}

static void find_all_live(struct printer *p)
{
    struct live_search live = {.p = p};
    p->line_block = ARENA_ARRAY(p->arena, int, p->lines.count);
    live.stamp = ARENA_ARRAY(p->arena, int, p->block_count);
    live.end = ARENA_ARRAY(p->arena, int, p->block_count);
    for (int b = 0; b < p->block_count; b++)
        for (int i = p->blocks[b].first; i <= p->blocks[b].last; i++)
            p->line_block[i] = b;
    collect_uses(&live);
    int at = 0;
    for (int v = 0; v < p->variables.count; v++) {
        if (!p->variables.data[v].candidate || p->variables.data[v].line < 0)
            continue;
        while (at < live.uses.count && live.uses.data[at].variable < v)
            at++;
        int first = at;
        while (at < live.uses.count && live.uses.data[at].variable == v)
            at++;
        find_live(&live, v, live.uses.data + first, at - first);
    }
}

/* ---- sharing ---- */

int print_leader(struct printer *p, int variable)
{
    struct print_variable *v = p->variables.data;
    while (v[variable].leader != variable)
        variable = v[variable].leader = v[v[variable].leader].leader;
    return variable;
}

bool print_same_register(struct printer *p, struct print_operand a, struct print_operand b)
{
    return a.variable >= 0 && b.variable >= 0 && print_leader(p, a.variable) == print_leader(p, b.variable);
}

bool print_live_at(struct printer *p, struct print_operand operand, int place)
{
    const struct print_variable *leader = &p->variables.data[print_leader(p, operand.variable)];
    for (int i = 0; i < leader->live.count; i++)
        if (leader->live.data[i].from <= place && place < leader->live.data[i].to)
            return true;
    return false;
}

static bool live_together(const struct print_variable *a, const struct print_variable *b)
{
    int i = 0, j = 0;
    while (i < a->live.count && j < b->live.count) {
        const struct print_interval *x = &a->live.data[i], *y = &b->live.data[j];
        if (x->to <= y->from)
            i++;
        else if (y->to <= x->from)
            j++;
        else
            return true;
    }
    return false;
}

static void share(struct printer *p, int a, int b)
{
    if (a < 0 || b < 0)
        return;
    a = print_leader(p, a);
    b = print_leader(p, b);
    struct print_variable *x = &p->variables.data[a], *y = &p->variables.data[b];
    if (a == b || x->class != y->class || x->line < 0 || y->line < 0 || live_together(x, y))
        return;
    struct print_interval *both = ARENA_ARRAY(p->arena, struct print_interval, x->live.count + y->live.count);
    int i = 0, j = 0, n = 0;
    while (i < x->live.count || j < y->live.count) {
        bool first = j == y->live.count || (i < x->live.count && x->live.data[i].from < y->live.data[j].from);
        struct print_interval next = first ? x->live.data[i++] : y->live.data[j++];
        if (n && both[n - 1].to == next.from)
            both[n - 1].to = next.to;
        else
            both[n++] = next;
    }
    x->live.data = both;
    x->live.count = x->live.capacity = n;
    y->leader = a;
}

static void mark(struct printer *p, int variable)
{
    if (variable >= 0)
        p->variables.data[variable].candidate = true;
}

/* Whether the operand is wanted where block `from` goes on to block `to`. */
static bool wanted_on_way(struct printer *p, struct print_operand operand, int from, int to)
{
    if (print_live_at(p, operand, begin_of(p, to)))
        return true;
    for (int i = p->blocks[to].first; p->lines.data[i].kind == LINE_PHI; i++) {
        const struct print_line *phi = &p->lines.data[i];
        for (int o = 1; o < phi->count && !phi->dropped; o++)
            if (phi->targets[o - 1] == from && print_same_register(p, phi->operands[o], operand))
                return true;
    }
    return false;
}

/* The phi is wanted where a way into its block leads elsewhere, and what it takes is written on that way. */
static bool written_over(struct printer *p, int line, struct print_operand phi)
{
    const struct print_line *taken = &p->lines.data[line];
    for (int o = 1; o < taken->count; o++) {
        int from = taken->targets[o - 1], home = p->line_block[line];
        const struct print_line *end = &p->lines.data[p->blocks[from].last];
        if (end->target_count < 2 || print_same_register(p, taken->operands[0], taken->operands[o]))
            continue;
        for (int t = 0; t < end->target_count; t++)
            if (end->targets[t] != home && wanted_on_way(p, phi, from, end->targets[t]))
                return true;
    }
    return false;
}

/* Pairs that would rather share: of texts that change registers in place, of phis, of copies behind them. */
static void mark_or_share(struct printer *p, bool sharing, enum print_kind kind)
{
    for (int i = 0; i < p->lines.count; i++) {
        const struct print_line *line = &p->lines.data[i];
        bool is_text = kind == LINE_TEXT && line->ties;
        if (line->dropped || (line->kind != kind && !is_text) || (kind == LINE_TEXT && !is_text))
            continue;
        for (int o = line->written; o < line->count; o++) {
            int to = is_text ? line->ties[o] : 0;
            if (to < 0)
                continue;
            int a = line->operands[to].variable, b = line->operands[o].variable;
            if (!sharing) {
                mark(p, a);
                mark(p, b);
            } else if (kind != LINE_COPY || !written_over(p, p->variables.data[b].line, line->operands[0])) {
                share(p, a, b);
            }
        }
    }
}

void print_share_registers(struct printer *p)
{
    static const enum print_kind kinds[] = {LINE_TEXT, LINE_PHI, LINE_COPY};
    for (int k = 0; k < 3; k++)
        mark_or_share(p, false, kinds[k]);
    find_all_live(p);
    for (int k = 0; k < 3; k++)
        mark_or_share(p, true, kinds[k]);
}
