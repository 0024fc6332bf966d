/* What was measured, as lines of JSON (tune.h):
 *
 *   {"tuning": 1, "source": "k.tile", "content": "5f…", "target": "cpu", "device": …, "driver": …}     the first line
 *   {"call": "k_f([64])", "kernel": "f[B=64]", "facts": "", "names": {"N": 64}, "weight": 1}
 *   {"kernel": "f[B=64]", "values": "BM=64", "call": "k_f([64])", "round": 1, "ns": […], "default": […]}
 *   {"kernel": "f[B=64]", "values": "BM=32", "dropped": "it crashed"}
 *
 * Lines are written whole, as they come, so that whatever ends the process leaves a log that the next one goes on with;
 * a line that was cut off is written over. */
#include "driver/tune/tune.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

/* ---- reading ---- */

static const char *text_of(struct arena *arena, const cJSON *from, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(from, name));
    return text ? arena_string(arena, text) : NULL;
}

static bool read_samples(struct arena *arena, const cJSON *from, const char *name, struct bench_samples *samples)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(from, name), *one;
    int count = cJSON_GetArraySize(list);
    if (!cJSON_IsArray(list) || !count || count > BENCH_MOST_SAMPLES)
        return false;
    samples->data = ARENA_ARRAY(arena, double, count);
    cJSON_ArrayForEach(one, list)
    {
        if (!cJSON_IsNumber(one) || !(one->valuedouble > 0 && one->valuedouble < 1e300))
            return false;
        samples->data[samples->count++] = one->valuedouble;
    }
    return true;
}

bool tune_log_fits(const struct tune_log *log, const struct tune_call *call)
{
    for (int i = 0; i < log->calls.count; i++)
        if (strcmp(log->calls.data[i].kernel, call->kernel) == 0 && log->calls.data[i].name_count != call->name_count)
            return false;
    return log->calls.count < BENCH_MOST_CALLS;
}

static bool read_call(struct arena *arena, const cJSON *line, struct tune_log *log)
{
    const cJSON *names = cJSON_GetObjectItemCaseSensitive(line, "names"), *one;
    const cJSON *weight = cJSON_GetObjectItemCaseSensitive(line, "weight");
    struct tune_call call = {.text = text_of(arena, line, "call"),
                             .kernel = text_of(arena, line, "kernel"),
                             .facts = text_of(arena, line, "facts"),
                             .weight = cJSON_IsNumber(weight) ? weight->valuedouble : 0};
    int count = cJSON_GetArraySize(names);
    if (!call.text || !call.kernel || !call.facts || !cJSON_IsObject(names) ||
        !(call.weight > 0 && call.weight <= 0x1p64))
        return false;
    call.names = ARENA_ARRAY(arena, const char *, count);
    call.extents = ARENA_ARRAY(arena, int64_t, count);
    cJSON_ArrayForEach(one, names)
    {
        if (!cJSON_IsNumber(one) || !(one->valuedouble >= 0 && one->valuedouble <= 0x1p53))
            return false;
        call.names[call.name_count] = arena_string(arena, one->string);
        call.extents[call.name_count++] = (int64_t)one->valuedouble;
    }
    for (int i = 0; i < log->calls.count; i++)
        if (strcmp(log->calls.data[i].text, call.text) == 0)
            return true;
    if (!tune_log_fits(log, &call))
        return false;
    vector_push(arena, &log->calls, call);
    return true;
}

static bool read_result(struct arena *arena, const cJSON *line, struct tune_log *log)
{
    const cJSON *round = cJSON_GetObjectItemCaseSensitive(line, "round");
    struct tune_result result = {.kernel = text_of(arena, line, "kernel"),
                                 .values = text_of(arena, line, "values"),
                                 .call = text_of(arena, line, "call"),
                                 .round = cJSON_IsNumber(round) ? round->valueint : -1};
    struct tune_dropped dropped = {result.kernel, result.values, text_of(arena, line, "dropped")};
    if (!result.kernel || !result.values)
        return false;
    if (dropped.reason) {
        vector_push(arena, &log->dropped, dropped);
        return true;
    }
    if (!result.call || result.round < 0 || result.round > TUNE_ROUNDS ||
        !read_samples(arena, line, "ns", &result.taken) || !read_samples(arena, line, "default", &result.standard))
        return false;
    vector_push(arena, &log->results, result);
    return true;
}

/* NULL, or what is wrong with it. */
static const char *read_first_line(struct arena *arena, const cJSON *line, struct tune_log *log)
{
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(line, "tuning");
    log->source = text_of(arena, line, "source");
    log->content = text_of(arena, line, "content");
    log->target = text_of(arena, line, "target");
    log->device = text_of(arena, line, "device");
    log->driver = text_of(arena, line, "driver");
    if (!cJSON_IsNumber(version))
        return "not the beginning of a log of tilecc tune";
    if (version->valueint != 1)
        return "of another version of tilecc tune";
    return log->source && log->content && log->target && log->device ? NULL : "not as tilecc tune writes it";
}

static const char *read_line(struct arena *arena, const char *text, size_t size, struct tune_log *log)
{
    cJSON *line = cJSON_ParseWithLength(text, size);
    const char *problem = NULL;
    if (!log->content)
        problem = read_first_line(arena, line, log);
    else if (!(cJSON_GetObjectItemCaseSensitive(line, "names") ? read_call(arena, line, log)
                                                               : read_result(arena, line, log)))
        problem = "not as tilecc tune writes it";
    cJSON_Delete(line);
    return problem;
}

bool tune_log_read(struct arena *arena, const char *path, struct tune_log *log, size_t *bytes, const char **problem)
{
    struct buffer text = {0};
    bool good = file_read(path, 1u << 30, &text);
    int number = 0;
    *log = (struct tune_log){0};
    *bytes = 0;
    *problem = good ? NULL : strerror(errno);
    static const char begin[] = "{\"tuning\": ";
    if (good && text.size && !memchr(text.data, '\n', text.size) &&
        strncmp(text.data, begin, text.size < strlen(begin) ? text.size : strlen(begin)) != 0)
        *problem = "it is no log of tilecc tune";
    for (const char *end; !*problem && *bytes < text.size; *bytes = (size_t)(end - text.data) + 1) {
        end = memchr(text.data + *bytes, '\n', text.size - *bytes);
        if (!end)
            break;
        number++;
        *problem = read_line(arena, text.data + *bytes, (size_t)(end - text.data) - *bytes, log);
        if (*problem)
            *problem = arena_printf(arena, "line %d is %s", number, *problem);
    }
    buffer_free(&text);
    return !*problem;
}

static bool open_alone(struct tune *tune)
{
    tune->log_file = file_open_alone(tune->log_path);
    if (tune->log_file < 0 && errno == EWOULDBLOCK)
        driver_error(tune->options, "another 'tilecc tune' writes '%s' now; write elsewhere (-o)", tune->log_path);
    else if (tune->log_file < 0)
        driver_error(tune->options, "cannot write '%s': %s", tune->log_path, strerror(errno));
    return tune->log_file >= 0;
}

/* What another source, tilecc or option has measured may have taken hours: it is kept beside the new log. */
static bool put_aside(struct tune *tune)
{
    const char *aside = arena_printf(tune->arena, "%s.old", tune->log_path);
    if (rename(tune->log_path, aside) != 0) {
        driver_error(tune->options, "cannot rename '%s': %s", tune->log_path, strerror(errno));
        return false;
    }
    fprintf(stderr, "tilecc: '%s' is of another source, tilecc or option: it is '%s' now, and nothing of it is taken\n",
            tune->log_path, aside);
    close(tune->log_file);
    return open_alone(tune);
}

bool tune_log_resume(struct tune *tune)
{
    struct tune_log found;
    const char *problem;
    size_t bytes = 0;
    if (!open_alone(tune))
        return false;
    if (!tune_log_read(tune->arena, tune->log_path, &found, &bytes, &problem)) {
        driver_error(tune->options, "cannot go on with '%s': %s; remove it, or write elsewhere (-o)", tune->log_path,
                     problem);
        return false;
    }
    bool same = found.content && strcmp(found.content, tune->log.content) == 0;
    if (found.content && !same && !put_aside(tune))
        return false;
    if (ftruncate(tune->log_file, same ? (off_t)bytes : 0) != 0 || lseek(tune->log_file, 0, SEEK_END) < 0) {
        driver_error(tune->options, "cannot write '%s': %s", tune->log_path, strerror(errno));
        return false;
    }
    tune->log_begun = same;
    if (!same)
        return true;
    tune->log.device = found.device;
    tune->log.driver = found.driver;
    tune->log.results = found.results;
    tune->log.dropped = found.dropped;
    return true;
}

const struct tune_result *tune_log_find(const struct tune_log *log, const char *kernel, const char *values,
                                        const char *call, int round)
{
    for (int i = 0; i < log->results.count; i++) {
        const struct tune_result *r = &log->results.data[i];
        if (r->round == round && strcmp(r->call, call) == 0 && strcmp(r->values, values) == 0 &&
            strcmp(r->kernel, kernel) == 0)
            return r;
    }
    return NULL;
}

/* ---- writing ---- */

static void put_text(struct buffer *out, const char *name, const char *text)
{
    buffer_printf(out, "%s\"%s\": ", out->size && out->data[out->size - 1] != '\n' ? ", " : "{", name);
    buffer_put_json(out, text);
}

static void put_samples(struct buffer *out, const char *name, const struct bench_samples *samples)
{
    buffer_printf(out, ", \"%s\": [", name);
    for (int i = 0; i < samples->count; i++)
        buffer_printf(out, "%s%.1f", i ? ", " : "", samples->data[i]);
    buffer_putc(out, ']');
}

/* A disk that is nearly full takes a part first, and says why with the rest. */
static bool write_whole(int file, const char *data, size_t size)
{
    while (size) {
        ssize_t put = write(file, data, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return false;
        data += put;
        size -= (size_t)put;
    }
    return true;
}

static bool write_lines(struct tune *tune, struct buffer *lines)
{
    struct buffer all = {0};
    if (!tune->log_begun) {
        buffer_puts(&all, "{\"tuning\": 1");
        put_text(&all, "source", tune->log.source);
        put_text(&all, "content", tune->log.content);
        put_text(&all, "target", tune->log.target);
        put_text(&all, "device", tune->log.device);
        if (tune->log.driver)
            put_text(&all, "driver", tune->log.driver);
        buffer_puts(&all, "}\n");
    }
    buffer_append(&all, lines->data, lines->size);
    bool good = write_whole(tune->log_file, all.data, all.size);
    if (!good)
        driver_error(tune->options, "cannot write '%s': %s", tune->log_path, strerror(errno));
    tune->log_begun = tune->log_begun || good;
    buffer_free(&all);
    buffer_free(lines);
    return good;
}

bool tune_log_calls(struct tune *tune, const struct tune_unit *unit)
{
    struct buffer lines = {0};
    for (int i = 0; i < unit->calls.count; i++) {
        const struct tune_call *call = &tune->log.calls.data[unit->calls.data[i]];
        put_text(&lines, "call", call->text);
        put_text(&lines, "kernel", call->kernel);
        put_text(&lines, "facts", call->facts);
        buffer_puts(&lines, ", \"names\": {");
        for (int k = 0; k < call->name_count; k++)
            buffer_printf(&lines, "%s\"%s\": %lld", k ? ", " : "", call->names[k], (long long)call->extents[k]);
        buffer_printf(&lines, "}, \"weight\": %.10g}\n", call->weight);
    }
    return write_lines(tune, &lines);
}

bool tune_log_results(struct tune *tune, int count, const struct tune_result *results)
{
    struct buffer lines = {0};
    for (int i = 0; i < count; i++) {
        const struct tune_result *r = &results[i];
        put_text(&lines, "kernel", r->kernel);
        put_text(&lines, "values", r->values);
        put_text(&lines, "call", r->call);
        buffer_printf(&lines, ", \"round\": %d", r->round);
        put_samples(&lines, "ns", &r->taken);
        put_samples(&lines, "default", &r->standard);
        buffer_puts(&lines, "}\n");
        vector_push(tune->arena, &tune->log.results, *r);
    }
    return write_lines(tune, &lines);
}

bool tune_log_dropped(struct tune *tune, struct tune_dropped dropped)
{
    struct buffer lines = {0};
    put_text(&lines, "kernel", dropped.kernel);
    put_text(&lines, "values", dropped.values);
    put_text(&lines, "dropped", dropped.reason);
    buffer_puts(&lines, "}\n");
    vector_push(tune->arena, &tune->log.dropped, dropped);
    return write_lines(tune, &lines);
}
