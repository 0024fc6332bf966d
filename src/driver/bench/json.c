/* Results of `tilecc bench` as JSON, and read again (by cJSON):
 *
 *   {"tilecc": "0.1", "device": …, "driver": …, "copy_bytes_per_second": …, "caches": "cold",
 *    "calls": [{"call": "softmax_f16([16384,4096])", "names": {"N": 4096}, "variant": …, "bytes": …, "operations": …,
 *               "median_ns": …, "bound_ns": …, "megahertz": …, "watts": …, "error": …, "samples_ns": […]}, …]}
 *
 * An "error" that is infinite is null. */
#include "driver/bench/bench.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "config.h"

static void add_text(cJSON *to, const char *name, const char *text)
{
    if (text)
        cJSON_AddStringToObject(to, name, text);
}

/* 0 and less: not known. */
static void add_number(cJSON *to, const char *name, double value)
{
    if (value > 0)
        cJSON_AddNumberToObject(to, name, value);
}

static void add_call(cJSON *list, const struct bench *bench, const struct bench_call *call)
{
    cJSON *one = cJSON_CreateObject(), *names = call->name_count ? cJSON_AddObjectToObject(one, "names") : NULL;
    cJSON_AddItemToArray(list, one);
    add_text(one, "call", call->text);
    for (int i = 0; i < call->name_count; i++)
        cJSON_AddNumberToObject(names, call->names[i].name, (double)call->names[i].value);
    add_text(one, "failed", call->failed);
    add_text(one, "variant", call->variant);
    add_number(one, "bytes", call->bytes);
    add_number(one, "operations", call->operations);
    if (call->error >= 0)
        cJSON_AddNumberToObject(one, "error", call->error);
    if (call->failed || !call->samples.count)
        return;
    add_number(one, "median_ns", bench_median(&call->samples));
    add_number(one, "bound_ns", bench_bound(bench, call));
    add_number(one, "megahertz", call->megahertz);
    add_number(one, "watts", call->watts);
    cJSON_AddItemToObject(one, "samples_ns", cJSON_CreateDoubleArray(call->samples.data, call->samples.count));
}

void bench_put_json(struct buffer *out, const struct bench *bench)
{
    cJSON *all = cJSON_CreateObject();
    add_text(all, "tilecc", TILECC_VERSION);
    add_text(all, "source", bench->source);
    add_text(all, "device", bench->device);
    add_text(all, "driver", bench->driver);
    add_number(all, "processors", bench->processors);
    add_number(all, "megahertz", bench->megahertz);
    add_number(all, "copy_bytes_per_second", bench->copy);
    if (bench->on_gpu)
        add_text(all, "caches", bench->options->bench_warm ? "warm" : "cold");
    cJSON *list = cJSON_AddArrayToObject(all, "calls");
    for (int i = 0; i < bench->call_count; i++)
        add_call(list, bench, &bench->calls[i]);
    char *text = cJSON_Print(all);
    if (!text)
        die("out of memory for results as JSON");
    buffer_printf(out, "%s\n", text);
    free(text);
    cJSON_Delete(all);
}

static const char *text_of(struct arena *arena, const cJSON *from, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(from, name));
    return text ? arena_string(arena, text) : NULL;
}

static bool read_call(struct bench *bench, const cJSON *one)
{
    struct bench_call *call = &bench->calls[bench->call_count++];
    const cJSON *samples = cJSON_GetObjectItemCaseSensitive(one, "samples_ns"), *sample;
    call->text = text_of(bench->arena, one, "call");
    call->failed = text_of(bench->arena, one, "failed");
    call->samples.data = ARENA_ARRAY(bench->arena, double, BENCH_MOST_SAMPLES);
    cJSON_ArrayForEach(sample, samples)
    {
        if (!cJSON_IsNumber(sample) || !(sample->valuedouble > 0 && sample->valuedouble < 1e300) ||
            call->samples.count == BENCH_MOST_SAMPLES)
            return false;
        call->samples.data[call->samples.count++] = sample->valuedouble;
    }
    return call->text && (call->failed || call->samples.count);
}

static bool read_all(struct bench *bench, const cJSON *all)
{
    const cJSON *calls = cJSON_GetObjectItemCaseSensitive(all, "calls"), *one;
    bench->device = text_of(bench->arena, all, "device");
    if (!cJSON_IsArray(calls) || cJSON_GetArraySize(calls) > BENCH_MOST_CALLS || !bench->device)
        return false;
    cJSON_ArrayForEach(one, calls) if (!read_call(bench, one)) return false;
    return true;
}

bool bench_read_json(const struct options *options, const char *path, struct bench *bench)
{
    struct buffer text = {0};
    *bench = (struct bench){.options = options, .arena = options->arena};
    bench->calls = ARENA_ARRAY(bench->arena, struct bench_call, BENCH_MOST_CALLS);
    if (!file_read(path, 64 << 20, &text)) {
        driver_error(options, "cannot read '%s': %s", path, strerror(errno));
        buffer_free(&text);
        return false;
    }
    cJSON *all = cJSON_ParseWithLength(text.data ? text.data : "", text.size);
    bool good = read_all(bench, all);
    if (!good)
        driver_error(options, "'%s' does not hold results of tilecc bench", path);
    cJSON_Delete(all);
    buffer_free(&text);
    return good;
}
