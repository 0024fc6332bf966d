/* SPDX-License-Identifier: MIT
 *
 * TILE_TRACE=file: which calls a program makes, for `tilecc tune --trace=file`.  A line for each that differs from the
 * others in its kernel, its extents or how its views lie in memory:
 *
 *            12  softmax_f16([16384,4096],[16384,4096])  # packed aligned
 *
 * how often, what the command line would say, and the views: packed, rows (the last stride is 1) or strided; aligned: all
 * bases on 16 bytes.  Of scalars the first value is told: floats do not tell calls apart, and integers do by their number
 * of bits alone, so that a counter gives no line for each call.
 *
 * A line is written when its call comes for the first time; its count, which has a width of its own, when it is a power of
 * two, and all counts when the program ends. */
#include "tile_rt_internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CALLS = 2048, TABLE = 2 * MOST_CALLS, COUNT_WIDTH = 12, MAX_LINE = 4096, MAX_WORDS = 512 };

struct met {
    uint64_t count;
    off_t line;
    uint32_t word_count;
    uint64_t *words; /* NULL: the place is free */
};

static int make_table(void);

static struct {
    struct tile_rt_record record;
    uint32_t used;
    struct met *table;
} trace = {{.variable = "TILE_TRACE", .head = "", .prepare = make_table, .lock = PTHREAD_MUTEX_INITIALIZER}, 0, NULL};

void tile_rt_trace_after_fork(void) { tile_rt_record_after_fork(&trace.record); }

/* ---- what tells calls apart ------------------------------------------------------------------------------------- */

enum { ROWS = 1, STRIDED = 2, MISALIGNED = 4 };

/* The view {data, extents, strides}; one whose last stride is 1 has rows. */
static unsigned form_of(const uint64_t *view, unsigned rank)
{
    unsigned form = (view[0] & 15) != 0 ? MISALIGNED : 0, d;
    uint64_t packed = 1;
    for (d = rank; view[0] != 0 && d-- > 0;) {
        if (view[1 + d] != 1 && view[1 + rank + d] != packed)
            form |= d == rank - 1 ? STRIDED : ROWS;
        packed *= view[1 + d];
    }
    return form;
}

static int is_float(unsigned type) { return type >= TILE_RT_TYPE_f16 && type <= TILE_RT_TYPE_f8e5m2; }

static uint64_t bits_of(uint64_t value)
{
    uint64_t bits = 0;
    for (; value != 0; value >>= 1)
        bits++;
    return bits;
}

/* 0: there is no room for so many. */
static uint32_t tell_apart(const struct tile_rt_call *call, uint64_t *words, unsigned *form)
{
    const struct tile_rt_kernel *kernel = call->kernel;
    uint32_t used = 0, i;
    unsigned d;
    words[used++] = (uint64_t)(uintptr_t)kernel;
    *form = 0;
    for (i = 0; i < kernel->parameter_count; i++) {
        const struct tile_rt_parameter *p = &kernel->parameters[i];
        const uint64_t *slot = &call->slots[call->first_slot[i]];
        if (used + p->rank + 2u > MAX_WORDS)
            return 0;
        if (p->kind == TILE_RT_PARAMETER_view) {
            *form |= form_of(slot, p->rank);
            words[used++] = slot[0] == 0;
            for (d = 0; d < p->rank; d++)
                words[used++] = slot[1 + d];
        } else if (p->kind == TILE_RT_PARAMETER_key)
            words[used++] = (uint64_t)*(const int *)call->arguments[i];
        else if (p->kind == TILE_RT_PARAMETER_enum || p->kind == TILE_RT_PARAMETER_pointer)
            words[used++] = p->kind == TILE_RT_PARAMETER_enum ? slot[0] : slot[0] != 0;
        else if (p->kind == TILE_RT_PARAMETER_scalar && !is_float(p->type))
            words[used++] = bits_of(slot[0]);
    }
    words[used++] = *form;
    return used;
}

/* ---- a line ----------------------------------------------------------------------------------------------------- */

static size_t append_float(char *line, size_t used, unsigned type, uint64_t bits)
{
    double value = 0;
    float narrow;
    char text[32];
    switch (type) {
    case TILE_RT_TYPE_f16: value = (double)tile_f16_to_float((tile_f16)bits); break;
    case TILE_RT_TYPE_bf16: value = (double)tile_bf16_to_float((tile_bf16)bits); break;
    case TILE_RT_TYPE_f8e4m3: value = (double)tile_f8e4m3_to_float((tile_f8e4m3)bits); break;
    case TILE_RT_TYPE_f8e5m2: value = (double)tile_f8e5m2_to_float((tile_f8e5m2)bits); break;
    case TILE_RT_TYPE_f64: memcpy(&value, &bits, sizeof value); break;
    default: {
        uint32_t low = (uint32_t)bits;
        memcpy(&narrow, &low, sizeof narrow);
        value = (double)narrow;
    }
    }
    snprintf(text, sizeof text, "%.9g", value);
    return tile_rt_append(line, MAX_LINE, used, "%s", text);
}

static size_t append_scalar(char *line, size_t used, unsigned type, uint64_t bits)
{
    if (is_float(type))
        return append_float(line, used, type, bits);
    switch (type) {
    case TILE_RT_TYPE_i8: return tile_rt_append(line, MAX_LINE, used, "%d", (int)(int8_t)bits);
    case TILE_RT_TYPE_i16: return tile_rt_append(line, MAX_LINE, used, "%d", (int)(int16_t)bits);
    case TILE_RT_TYPE_i32: return tile_rt_append(line, MAX_LINE, used, "%d", (int)(int32_t)bits);
    case TILE_RT_TYPE_i64: return tile_rt_append(line, MAX_LINE, used, "%lld", (long long)bits);
    default: return tile_rt_append(line, MAX_LINE, used, "%llu", (unsigned long long)bits);
    }
}

static size_t append_argument(char *line, size_t used, const struct tile_rt_call *call, uint32_t index)
{
    const struct tile_rt_parameter *p = &call->kernel->parameters[index];
    const uint64_t *slot = &call->slots[call->first_slot[index]];
    unsigned d;
    switch (p->kind) {
    case TILE_RT_PARAMETER_view:
        if (slot[0] == 0 && (p->flags & TILE_RT_OPTIONAL) != 0)
            return tile_rt_append(line, MAX_LINE, used, "none");
        used = tile_rt_append(line, MAX_LINE, used, "[");
        for (d = 0; d < p->rank; d++)
            used = tile_rt_append(line, MAX_LINE, used, "%s%llu", d ? "," : "", (unsigned long long)slot[1 + d]);
        return tile_rt_append(line, MAX_LINE, used, "]");
    case TILE_RT_PARAMETER_pointer: return tile_rt_append(line, MAX_LINE, used, slot[0] == 0 ? "none" : "?");
    case TILE_RT_PARAMETER_enum: return tile_rt_append(line, MAX_LINE, used, "%d", (int)(int32_t)slot[0]);
    case TILE_RT_PARAMETER_key: return tile_rt_append(line, MAX_LINE, used, "%d", *(const int *)call->arguments[index]);
    default: return append_scalar(line, used, p->type, slot[0]);
    }
}

/* Is `inner` a member of the struct: "p.eps" of "p"?  Members may stand behind other parameters. */
static int is_member(const struct tile_rt_kernel *kernel, uint32_t structure, uint32_t inner)
{
    const char *name = kernel->parameters[structure].name;
    size_t size = strlen(name);
    return strncmp(kernel->parameters[inner].name, name, size) == 0 && kernel->parameters[inner].name[size] == '.';
}

static size_t append_struct(char *line, size_t used, const struct tile_rt_call *call, uint32_t structure)
{
    uint32_t i, count = 0;
    used = tile_rt_append(line, MAX_LINE, used, "{");
    for (i = structure + 1; i < call->kernel->parameter_count; i++)
        if (is_member(call->kernel, structure, i)) {
            used = tile_rt_append(line, MAX_LINE, used, count++ ? "," : "");
            used = append_argument(line, used, call, i);
        }
    return tile_rt_append(line, MAX_LINE, used, "}");
}

/* In COUNT_WIDTH characters, with spaces in front. */
static void put_count(char *text, uint64_t count)
{
    int at = COUNT_WIDTH;
    do {
        at--;
        text[at] = (char)('0' + count % 10);
        count /= 10;
    } while (at > 0 && count != 0);
    memset(text, ' ', (size_t)at);
}

static size_t print_call(char *line, const struct tile_rt_call *call, unsigned form)
{
    const struct tile_rt_kernel *kernel = call->kernel;
    size_t used;
    uint32_t i;
    put_count(line, 1);
    used = tile_rt_append(line, MAX_LINE, COUNT_WIDTH, "  %s(", kernel->name);
    for (i = 0; i < kernel->parameter_count; i++) {
        if (strchr(kernel->parameters[i].name, '.') != NULL)
            continue; /* a member */
        used = tile_rt_append(line, MAX_LINE, used, i ? "," : "");
        used = kernel->parameters[i].kind == TILE_RT_PARAMETER_struct ? append_struct(line, used, call, i)
                                                                      : append_argument(line, used, call, i);
    }
    return tile_rt_append(line, MAX_LINE, used, ")  # %s%s\n",
                          (form & STRIDED) != 0 ? "strided"
                          : (form & ROWS) != 0  ? "rows"
                                                : "packed",
                          (form & MISALIGNED) != 0 ? "" : " aligned");
}

/* ---- the table, under the lock ---------------------------------------------------------------------------------- */

static void write_count(const struct met *met)
{
    char text[COUNT_WIDTH];
    put_count(text, met->count);
    tile_rt_record_write(&trace.record, text, COUNT_WIDTH, met->line);
}

static void add_call(const struct tile_rt_call *call, struct met *met, const uint64_t *words, uint32_t count,
                     unsigned form)
{
    char line[MAX_LINE];
    size_t size = print_call(line, call, form);
    uint64_t *copy = malloc(count * sizeof *copy);
    if (copy == NULL || trace.used == MOST_CALLS || line[size - 1] != '\n') {
        free(copy);
        met->count = 0;
        return;
    }
    memcpy(copy, words, count * sizeof *copy);
    met->words = copy;
    met->word_count = count;
    met->line = trace.record.end;
    trace.used++;
    tile_rt_record_write(&trace.record, line, size, met->line);
}

/* The place of these words in the table, or the free one where they belong (FNV-1a, and the next places). */
static struct met *find(const uint64_t *words, uint32_t count)
{
    uint64_t hash = 0xcbf29ce484222325u;
    uint32_t i, place;
    for (i = 0; i < count; i++)
        hash = (hash ^ words[i] ^ words[i] >> 32) * 0x100000001b3u;
    for (place = (uint32_t)(hash >> 20) % TABLE; trace.table[place].words != NULL; place = (place + 1) % TABLE)
        if (trace.table[place].word_count == count &&
            memcmp(trace.table[place].words, words, count * sizeof *words) == 0)
            break;
    return &trace.table[place];
}

/* Empty, also in the child of a fork.  0: there is no memory. */
static int make_table(void)
{
    if (trace.table == NULL)
        trace.table = calloc(TABLE, sizeof *trace.table);
    else
        memset(trace.table, 0, TABLE * sizeof *trace.table);
    trace.used = 0;
    return trace.table != NULL;
}

int tile_rt_trace_note(const struct tile_rt_call *call)
{
    uint64_t words[MAX_WORDS];
    unsigned form;
    uint32_t count;
    int status = tile_rt_record_begin(&trace.record, call->settings->trace);
    if (status != TILE_OK || __atomic_load_n(&trace.record.state, __ATOMIC_ACQUIRE) == TILE_RT_RECORD_ended)
        return status;
    count = tell_apart(call, words, &form);
    if (count == 0)
        return TILE_OK;
    pthread_mutex_lock(&trace.record.lock);
    if (trace.record.state == TILE_RT_RECORD_open) {
        struct met *met = find(words, count);
        met->count++;
        if (met->words == NULL)
            add_call(call, met, words, count, form);
        else if ((met->count & (met->count - 1)) == 0)
            write_count(met);
    }
    pthread_mutex_unlock(&trace.record.lock);
    return TILE_OK;
}

/* At the end of the process, or where the library goes: threads that are still in a call may go on. */
__attribute__((destructor)) static void write_counts(void)
{
    uint32_t i;
    if (__atomic_load_n(&trace.record.state, __ATOMIC_ACQUIRE) != TILE_RT_RECORD_open)
        return;
    pthread_mutex_lock(&trace.record.lock);
    for (i = 0; i < TABLE; i++)
        if (trace.table[i].words != NULL)
            write_count(&trace.table[i]);
    pthread_mutex_unlock(&trace.record.lock);
}
