/* See sass.h.
 *
 * Which registers differ from lane to lane is followed forward over the graph: from the thread's number, loads at
 * addresses that differ, shuffles and atomics, through everything that reads one.  Uniform registers never do.  A
 * register that was written in one arm alone counts as what was written: what differs by control is not seen, nor what
 * one bit of a register says.
 *
 * BSSY names a place where lanes meet, BSYNC is there.  From a branch whose predicate differs, each side is followed to
 * the next BSYNC of a barrier in force at the branch, to WARPSYNC, or to the end.  What both sides run is run apart. */
#include "sass.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { REGISTERS = 256, PREDICATES = 8, BARRIERS = 16, WORDS = (REGISTERS + PREDICATES) / 64 + 1, MOST_TOKENS = 24 };

struct state {
    uint64_t differs[WORDS];
    uint32_t barriers;
    bool seen;
};

struct instruction {
    const char *address, *operation; /* "07f0", "IADD3.X" */
    const char *token[MOST_TOKENS];  /* operands */
    int tokens;
    int guard; /* predicate; -1: none */
    bool uniform_guard;
    int target;        /* of a branch; -1: none */
    const char *label; /* its name */
    struct state in;
    bool side[2];
};

struct code {
    struct arena *arena;
    VECTOR(struct instruction) list;
    VECTOR(const char *) labels;
    VECTOR(int) places;
};

/* ---- reading ---- */

static bool starts(const char *text, const char *with) { return !strncmp(text, with, strlen(with)); }

static const char *cut(struct code *code, const char *from, const char *to)
{
    while (from < to && isspace((unsigned char)*from))
        from++;
    while (to > from && isspace((unsigned char)to[-1]))
        to--;
    return arena_substring(code->arena, from, (size_t)(to - from));
}

static void read_operands(struct code *code, struct instruction *i, const char *at, const char *end)
{
    int depth = 0;
    const char *from = at;
    for (; at <= end; at++) {
        if (at < end && (*at == '[' || *at == '('))
            depth++;
        if (at < end && (*at == ']' || *at == ')'))
            depth--;
        if (at < end && (*at != ',' || depth))
            continue;
        if (at > from && i->tokens < MOST_TOKENS)
            i->token[i->tokens++] = cut(code, from, at);
        from = at + 1;
    }
    for (int t = 0; t < i->tokens; t++) {
        const char *name = strchr(i->token[t], '`');
        if (name && name[1] == '(')
            i->label = arena_substring(code->arena, name + 2, strcspn(name + 2, ")"));
    }
}

/* One line: an instruction, a label, or neither. */
static void read_line(struct code *code, const char *line, const char *end)
{
    while (line < end && isspace((unsigned char)*line))
        line++;
    const char *colon = memchr(line, ':', (size_t)(end - line));
    if (*line == '.' && colon) {
        vector_push(code->arena, &code->labels, cut(code, line, colon));
        vector_push(code->arena, &code->places, code->list.count);
        return;
    }
    if (!starts(line, "/*") || end - line < 10)
        return;
    const char *close = strstr(line, "*/"), *stop = memchr(line, ';', (size_t)(end - line));
    if (!close || !stop || close > stop)
        return;
    struct instruction i = {.address = cut(code, line + 2, close), .guard = -1, .target = -1};
    line = close + 2 + strspn(close + 2, " \t");
    if (*line == '@') {
        line += 1 + (line[1] == '!');
        i.uniform_guard = *line == 'U';
        line += i.uniform_guard;
        i.guard = isdigit((unsigned char)line[1]) ? line[1] - '0' : PREDICATES - 1; /* PT is the last one */
        line += strcspn(line, " \t");
        line += strspn(line, " \t");
    }
    const char *behind = line + strcspn(line, " \t;");
    i.operation = cut(code, line, behind);
    read_operands(code, &i, behind, stop);
    vector_push(code->arena, &code->list, i);
}

static void resolve(struct code *code)
{
    for (int n = 0; n < code->list.count; n++) {
        struct instruction *i = &code->list.data[n];
        for (int l = 0; i->label && starts(i->operation, "BRA") && l < code->labels.count; l++)
            if (!strcmp(code->labels.data[l], i->label))
                i->target = code->places.data[l];
    }
}

/* ---- what differs ---- */

static bool get(const struct state *s, int bit) { return s->differs[bit / 64] >> bit % 64 & 1; }
static void set(struct state *s, int bit, bool on)
{
    if (on)
        s->differs[bit / 64] |= UINT64_C(1) << bit % 64;
    else
        s->differs[bit / 64] &= ~(UINT64_C(1) << bit % 64);
}

/* The register or predicate a token names as a whole; -1: none that may differ. */
static int named(const char *token)
{
    token += *token == '!' || *token == '-' || *token == '~' || *token == '|';
    if (*token == 'R' && isdigit((unsigned char)token[1]))
        return (int)strtol(token + 1, NULL, 10);
    if (*token == 'P' && isdigit((unsigned char)token[1]))
        return REGISTERS + token[1] - '0';
    return -1;
}

/* Any register in the text differs; two follow each other where 64 bits are meant. */
static bool reads_differing(const struct state *s, const char *token)
{
    for (const char *at = token; *at; at++) {
        bool begins = at == token || !isalnum((unsigned char)at[-1]);
        if (!begins || (*at != 'R' && *at != 'P'))
            continue;
        if (isdigit((unsigned char)at[1])) {
            int bit = (int)strtol(at + 1, NULL, 10) + (*at == 'P' ? REGISTERS : 0);
            if (get(s, bit) || (*at == 'R' && strstr(at, ".64") && get(s, bit + 1)))
                return true;
        } else if (starts(at, "PR")) {
            for (int p = 0; p < PREDICATES; p++)
                if (get(s, REGISTERS + p))
                    return true;
        }
    }
    return false;
}

static bool any_of(const char *operation, const char *const *names)
{
    for (; *names; names++)
        if (starts(operation, *names))
            return true;
    return false;
}

static int written(const struct instruction *i)
{
    static const char *const nothing[] = {"ST",    "RED.",     "BRA",       "EXIT",    "BAR",    "BSSY",
                                          "BSYNC", "WARPSYNC", "MEMBAR",    "DEPBAR",  "LDGSTS", "LDGDEPBAR",
                                          "NOP",   "CCTL",     "ERRBAR",    "UTMA",    "RET",    "CALL",
                                          "BREAK", "YIELD",    "NANOSLEEP", "ARRIVES", "FENCE",  NULL};
    static const char *const with_carry[] = {"IADD3", "LEA", "IMAD", "LOP3", NULL};
    int count = 0;
    if (any_of(i->operation, nothing))
        return 0;
    if (strstr(i->operation, "SETP") || starts(i->operation, "PLOP3"))
        return i->tokens < 2 ? i->tokens : 2;
    while (count < i->tokens && i->token[count][0] == 'P')
        count++;
    if (starts(i->operation, "R2P"))
        return count;
    if (count < i->tokens)
        count++;
    while (any_of(i->operation, with_carry) && count < i->tokens && i->token[count][0] == 'P' && count < 3)
        count++;
    return count;
}

/* HFMA2.MMA is none. */
static bool is_product(const char *operation)
{
    static const char *const names[] = {"HMMA", "IMMA", "QMMA", "DMMA", "BMMA", "HGMMA", "IGMMA", "QGMMA", NULL};
    return any_of(operation, names);
}

static int width(const char *operation)
{
    if (strstr(operation, ".128") || is_product(operation) || strstr(operation, ".M88.4"))
        return 4;
    return strstr(operation, ".64") || strstr(operation, "WIDE") || strstr(operation, ".M88.2") ||
                   starts(operation, "D") || starts(operation, "ULDC") || starts(operation, "LDC.64") ||
                   (starts(operation, "CS2R") && !strstr(operation, ".32"))
               ? 2
               : 1; /* CS2R clears a pair, too */
}

/* One bit of a register, most likely of predicates that ptxas keeps there, each with its own story. */
static bool is_packed_test(const struct instruction *i)
{
    if (!starts(i->operation, "LOP3") || i->tokens < 4 || i->token[0][0] != 'P' || !starts(i->token[3], "0x"))
        return false;
    unsigned long bits = strtoul(i->token[3], NULL, 16);
    return bits && !(bits & (bits - 1));
}

static bool gives_differing(const struct state *s, const struct instruction *i, int from)
{
    static const char *const always[] = {"ATOM", "LDSM", "MATCH", NULL};
    static const char *const never[] = {"VOTE", "REDUX", "R2UR", "SYNCS", "P2R", NULL}; /* P2R: as is_packed_test */
    if (i->operation[0] == 'U' || any_of(i->operation, never))
        return false;
    if (any_of(i->operation, always) || is_product(i->operation))
        return true;
    if (starts(i->operation, "S2R"))
        return strstr(i->token[i->tokens - 1], "TID") || strstr(i->token[i->tokens - 1], "LANE") ||
               strstr(i->token[i->tokens - 1], "MASK");
    if (starts(i->operation, "SHFL"))
        return !starts(i->operation, "SHFL.IDX") || i->tokens < from + 2 || reads_differing(s, i->token[from + 1]);
    if (i->guard >= 0 && !i->uniform_guard && get(s, REGISTERS + i->guard))
        return true;
    if (is_packed_test(i))
        return false;
    for (int t = from; t < i->tokens; t++)
        if (reads_differing(s, i->token[t]))
            return true;
    return false;
}

static void step(const struct instruction *i, struct state *s)
{
    int results = written(i);
    bool differs = results && gives_differing(s, i, results);
    for (int t = 0; t < results; t++) {
        int bit = named(i->token[t]), count = bit >= 0 && bit < REGISTERS ? width(i->operation) : 1;
        for (int c = 0; bit >= 0 && c < count; c++)
            if (differs || i->guard < 0)
                set(s, bit + c, differs);
    }
    set(s, REGISTERS + PREDICATES - 1, false);
    if (starts(i->operation, "BSSY") || starts(i->operation, "BSYNC")) {
        uint32_t bit = UINT32_C(1) << (strtoul(i->token[0] + 1, NULL, 10) % BARRIERS);
        s->barriers = starts(i->operation, "BSSY") ? s->barriers | bit : s->barriers & ~bit;
    }
}

static bool ends(const struct instruction *i)
{
    return i->guard < 0 && (starts(i->operation, "EXIT") || starts(i->operation, "RET") ||
                            (starts(i->operation, "BRA") && i->tokens == 1));
}

static void merge(struct instruction *to, const struct state *s, bool *changed)
{
    struct state old = to->in;
    if (!to->in.seen)
        to->in = *s;
    for (int w = 0; w < WORDS; w++)
        to->in.differs[w] |= s->differs[w];
    to->in.barriers &= s->barriers;
    to->in.seen = true;
    *changed |= memcmp(&old, &to->in, sizeof old) != 0;
}

static void flow(struct code *code)
{
    struct instruction *list = code->list.data;
    int count = code->list.count;
    for (int l = 0; l < code->labels.count; l++)
        if (starts(code->labels.data[l], ".text.") && code->places.data[l] < count)
            list[code->places.data[l]].in.seen = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (int n = 0; n < count; n++) {
            if (!list[n].in.seen)
                continue;
            struct state s = list[n].in;
            step(&list[n], &s);
            if (list[n].target >= 0 && list[n].target < count)
                merge(&list[list[n].target], &s, &changed);
            if (!ends(&list[n]) && n + 1 < count)
                merge(&list[n + 1], &s, &changed);
        }
    }
}

/* ---- apart ---- */

static bool meets(const struct instruction *i, uint32_t barriers)
{
    return starts(i->operation, "WARPSYNC") ||
           (starts(i->operation, "BSYNC") && barriers >> strtoul(i->token[0] + 1, NULL, 10) % BARRIERS & 1);
}

static void follow(struct code *code, int start, int side, uint32_t barriers)
{
    VECTOR(int) rest = {0};
    vector_push(code->arena, &rest, start);
    while (rest.count) {
        int n = rest.data[--rest.count];
        for (; n < code->list.count; n++) {
            struct instruction *i = &code->list.data[n];
            if (i->side[side] || meets(i, barriers))
                break;
            i->side[side] = true;
            if (i->target >= 0)
                vector_push(code->arena, &rest, i->target);
            if (ends(i))
                break;
        }
    }
}

/* What a warp does as a whole: twice is wrong. */
static bool is_together(const struct instruction *i)
{
    static const char *const whole[] = {"SHFL", "VOTE", "LDSM", "STSM", "REDUX", "MATCH", NULL};
    if (any_of(i->operation, whole) || is_product(i->operation))
        return true;
    if (i->operation[0] != 'U' || i->tokens < 2 || !starts(i->token[0], "UR"))
        return false;
    for (int t = 1; t < i->tokens; t++)
        if (!strcmp(i->token[t], i->token[0]))
            return true;
    return false;
}

/* `@P2 BRA P1, …` asks both. */
static bool goes_apart(const struct instruction *i)
{
    bool apart = i->guard >= 0 && !i->uniform_guard && get(&i->in, REGISTERS + i->guard);
    for (int t = 0; t + 1 < i->tokens; t++)
        apart |= reads_differing(&i->in, i->token[t]);
    return i->in.seen && i->target >= 0 && apart;
}

int sass_find_parted(struct arena *arena, const char *text, struct buffer *out, int *branches)
{
    struct code code = {.arena = arena};
    int found = 0;
    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        read_line(&code, line, end);
    }
    resolve(&code);
    flow(&code);
    for (int n = 0; n < code.list.count; n++) {
        struct instruction *i = &code.list.data[n], *twice = NULL;
        if (!goes_apart(i))
            continue;
        ++*branches;
        for (int m = 0; m < code.list.count; m++)
            code.list.data[m].side[0] = code.list.data[m].side[1] = false;
        follow(&code, i->target, 0, i->in.barriers);
        follow(&code, n + 1, 1, i->in.barriers);
        for (int m = 0; m < code.list.count && !twice; m++)
            if (code.list.data[m].side[0] && code.list.data[m].side[1] && is_together(&code.list.data[m]))
                twice = &code.list.data[m];
        if (!twice)
            continue;
        buffer_printf(out, "%s: lanes go apart at @P%d %s, and %s at %s is run by each part\n", i->address, i->guard,
                      i->operation, twice->operation, twice->address);
        found++;
    }
    return found;
}
