/* Files of --tuning, which `tilecc tune` writes and people review: schedules of kernels beside the default.
 *
 *     tuning 1
 *     matmul<bf16, bf16>[] sm_90a aligned                        # a head: as in labels, without values of `tune`
 *         [BM=64, BN=64, split_k=4] when M <= 64 and K >= 8192   # a schedule, and where it is taken
 *
 *     native sm_90a 0a1b2c3d…                                    # machine code, by its digest
 *         1a0: 1b0.0fe842 1a0.0fc800                             # another order of it (targets/nvptx/native/text.c)
 *
 * A head stands at the beginning of its line, the schedules under it do not.  This file reads them; what they mean for an
 * instance is found in schedules.c. */
#include "front/kernels/kernel_plan.h"

#include <string.h>

#define ORDER "native "
enum { ORDER_DIGITS = 32 };

struct reading {
    struct front *front;
    const struct source *source;
    const char *line; /* the first byte of the one that is read */
    int number;       /* of that line */
    bool has_version, good;
    struct tuned_kernel *kernel, **end; /* the last head, and where the next one goes */
    struct kernel_order *order;         /* of the last head, where it is of machine code; */
    struct buffer order_text;           /* and its lines so far */
};

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static struct location place(const struct reading *r, const char *from, const char *to)
{
    int column = (int)(from - r->line) + 1;
    return (struct location){
        .source = r->source, .line = r->number, .column = column, .end_column = column + (int)(to - from)};
}

static void refuse(struct reading *r, const char *from, const char *to, const char *text)
{
    diag_report(r->front->diagnostics, DIAGNOSTIC_E0421, place(r, from, to), "%s", text);
    r->good = false;
}

static const char *skip_blanks(const char *from, const char *to)
{
    while (from < to && is_blank(*from))
        from++;
    return from;
}

static bool is_text(const char *from, const char *to, const char *text)
{
    return (size_t)(to - from) == strlen(text) && memcmp(from, text, strlen(text)) == 0;
}

/* "sm_90a  aligned" to the target and "aligned", with one blank between words. */
static const char *split_facts(struct arena *arena, const char *text, const char **facts)
{
    struct buffer rest = {0};
    size_t size = strcspn(text, " \t");
    const char *target = arena_substring(arena, text, size);
    for (text += size; *text; text += size) {
        text += strspn(text, " \t");
        size = strcspn(text, " \t");
        buffer_printf(&rest, "%s%.*s", rest.size ? " " : "", (int)size, text);
    }
    *facts = arena_substring(arena, rest.data ? rest.data : "", rest.size);
    buffer_free(&rest);
    return target;
}

static bool has_target(struct reading *r, const char *target, struct location at)
{
    bool (*is_target)(const char *) = r->front->options->is_target;
    if (!is_target || is_target(target))
        return true;
    const char *near = r->front->options->nearest_target(target);
    diag_report(r->front->diagnostics, DIAGNOSTIC_E0421, at,
                "there is no architecture `%s`%s%s%s; `tilecc --print-targets` lists them", target,
                near ? "; did you mean `" : "", near ? near : "", near ? "`?" : "");
    return r->good = false;
}

static void end_order(struct reading *r)
{
    if (r->order && r->order_text.size)
        r->order->text = arena_substring(r->front->arena, r->order_text.data, r->order_text.size);
    r->order_text.size = 0;
    r->order = NULL;
}

static void read_head(struct reading *r, const char *to)
{
    struct arena *arena = r->front->arena;
    struct tuned_kernel *kernel = ARENA_NEW(arena, struct tuned_kernel);
    *kernel = (struct tuned_kernel){.at = place(r, r->line, to)};
    r->kernel = NULL;
    end_order(r);
    if (!spec_read(r->front, arena_substring(arena, r->line, (size_t)(to - r->line)), &kernel->head) ||
        !kernel->head.facts[0]) {
        refuse(r, r->line, to,
               "a head is `kernel<types>[KEY=value, ...] architecture facts`, such as `softmax<f16>[B=1024] sm_90a`");
        return;
    }
    kernel->target = split_facts(arena, kernel->head.facts, &kernel->head.facts);
    if (!has_target(r, kernel->target, kernel->at))
        return;
    r->kernel = *r->end = kernel;
    r->end = &kernel->next;
}

static void read_schedule(struct reading *r, const char *from, const char *to)
{
    struct tuned_line line = {.at = place(r, from, to), .values = {.text = r->line}};
    const char *close = *from == '[' ? memchr(from, ']', (size_t)(to - from)) : NULL;
    if (!r->kernel) {
        if (r->good)
            refuse(r, from, to, "a schedule stands under the head of a kernel, which begins its line");
        return;
    }
    const char *rest = close ? skip_blanks(close + 1, to) : to;
    bool has_condition = close && to - rest > 4 && memcmp(rest, "when", 4) == 0 && is_blank(rest[4]);
    if (!close || (rest != to && !has_condition) || !spec_read_items(r->front, &line.values, from + 1, close)) {
        refuse(r, from, to, "a schedule is `[NAME=value, ...]` or `[NAME=value, ...] when CONDITION`");
        return;
    }
    if (r->kernel->lines.count && !r->kernel->lines.data[r->kernel->lines.count - 1].when) {
        refuse(r, from, to, "nothing comes to this schedule: the one above it has no condition");
        return;
    }
    if (has_condition) {
        const char *condition = skip_blanks(rest + 4, to);
        line.when = parse_expression(&r->front->parse, place(r, condition, to), (size_t)(condition - r->source->text),
                                     (size_t)(to - r->source->text));
        r->good = r->good && line.when;
        if (!line.when)
            return;
    }
    vector_push(r->front->arena, &r->kernel->lines, line);
}

static void read_order_head(struct reading *r, const char *to)
{
    struct arena *arena = r->front->arena;
    const char *from = skip_blanks(r->line + strlen(ORDER), to), *end = from;
    while (end < to && !is_blank(*end))
        end++;
    const char *digest = skip_blanks(end, to), *target = arena_substring(arena, from, (size_t)(end - from));
    struct kernel_order order = {place(r, r->line, to), target, arena_substring(arena, digest, (size_t)(to - digest)),
                                 "", false};
    r->kernel = NULL;
    end_order(r);
    if (strspn(order.digest, "0123456789abcdef") != ORDER_DIGITS || strlen(order.digest) != ORDER_DIGITS)
        refuse(r, r->line, to,
               "the head of an order of machine code is `native`, an architecture and 32 hexadecimal "
               "digits, which `tilecc info --dependences` shows");
    else if (has_target(r, target, order.at)) {
        vector_push(arena, &r->front->module->orders, order);
        r->order = &r->front->module->orders.data[r->front->module->orders.count - 1];
    }
}

static void read_order(struct reading *r, const char *from, const char *to)
{
    buffer_printf(&r->order_text, "%.*s\n", (int)(to - from), from);
}

static void read_line(struct reading *r, const char *end)
{
    const char *comment = memchr(r->line, '#', (size_t)(end - r->line)), *to = comment ? comment : end;
    const char *from = skip_blanks(r->line, to);
    while (to > from && is_blank(to[-1]))
        to--;
    if (from == to)
        return;
    if (r->has_version && from == r->line && to - from > (int)strlen(ORDER) && memcmp(from, ORDER, strlen(ORDER)) == 0)
        read_order_head(r, to);
    else if (r->has_version && from == r->line)
        read_head(r, to);
    else if (r->has_version && r->order)
        read_order(r, from, to);
    else if (r->has_version)
        read_schedule(r, from, to);
    else if (!is_text(from, to, "tuning 1") && to - from > 7 && memcmp(from, "tuning ", 7) == 0)
        refuse(r, from, to, "this is another version of files of --tuning: this compiler reads `tuning 1`");
    else if (!is_text(from, to, "tuning 1"))
        refuse(r, from, to, "a file of --tuning begins with the line `tuning 1`");
    r->has_version = true;
}

static bool read_file(struct front *front, const char *path, struct tuned_kernel ***end)
{
    struct reading r = {.front = front, .good = true, .end = *end};
    r.source = parse_open(&front->parse, path, (struct location){0});
    if (!r.source)
        return false;
    if (front->parse.imported)
        front->parse.imported(path, front->parse.imported_context);
    if (!parse_is_text(&front->parse, r.source))
        return false;
    const char *last = r.source->text + r.source->size, *next;
    for (r.line = r.source->text, r.number = 1; r.line < last && (r.has_version || r.good); r.line = next, r.number++) {
        const char *line_end = memchr(r.line, '\n', (size_t)(last - r.line));
        next = line_end ? line_end + 1 : last;
        read_line(&r, line_end ? line_end : last);
    }
    end_order(&r);
    buffer_free(&r.order_text);
    if (!r.has_version) {
        r.number = 1;
        r.line = r.source->text;
        refuse(&r, r.line, r.line, "a file of --tuning begins with the line `tuning 1`, and this one has none");
    }
    *end = r.end;
    return r.good;
}

bool tuning_read(struct front *front, struct tuned_kernel **kernels)
{
    bool good = true;
    *kernels = NULL;
    for (int i = 0; i < front->options->tuning_count; i++)
        good = read_file(front, front->options->tunings[i], &kernels) && good;
    return good;
}

struct location tuning_place(struct location line, const struct spec_item *item)
{
    line.column = item->offset + 1;
    line.end_column = line.column + (int)strlen(item->name);
    return line;
}
