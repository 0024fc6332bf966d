/* SPDX-License-Identifier: MIT
 *
 * TILE_PROFILE=file: a record of each launch, and an NVTX range around it where a library of NVTX is at hand.
 *
 * The file is JSON in the trace-event format, which chrome://tracing and Perfetto draw: an array of
 *
 *   {"name":"scale","cat":"launch","ph":"X","pid":7,"tid":7,"ts":12.345,"dur":1.234,"args":{"target":"sm_90a",
 *    "variant":0,"facts":"aligned","device":0,"grid":[2],"programs":2,"threads":128,"ns":1234,"status":0}}
 *
 * one a line; ts and dur are microseconds.  Each record is written at once, over the closing bracket of the one before
 * and with a new one behind, so that the file is whole at any time, however the process ends, and nothing runs at its
 * exit. */
#include "tile_rt_internal.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RECORD = 4096, MAX_TEXT = 800, NANOSECONDS_A_SECOND = 1000000000 };

/* An empty array. */
#define HEAD "[\n]\n"

static int find_ranges(void);

static struct {
    struct tile_rt_record record;
    int (*push)(const char *name); /* NULL: no NVTX */
    int (*pop)(void);
} profile = {
    {.variable = "TILE_PROFILE", .head = HEAD, .prepare = find_ranges, .lock = PTHREAD_MUTEX_INITIALIZER}, NULL, NULL};

void tile_rt_profile_after_fork(void) { tile_rt_record_after_fork(&profile.record); }

static int find_ranges(void)
{
    static const char *const libraries[] = {"libnvToolsExt.so.1", "libnvtx3interop.so.1"};
    size_t i;
    for (i = 0; i < sizeof libraries / sizeof libraries[0] && profile.push == NULL; i++) {
        void *library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
        void *push = library != NULL ? dlsym(library, "nvtxRangePushA") : NULL;
        void *pop = library != NULL ? dlsym(library, "nvtxRangePop") : NULL;
        if (push != NULL && pop != NULL) {
            memcpy(&profile.push, &push, sizeof push);
            memcpy(&profile.pop, &pop, sizeof pop);
            tile_rt_say("TILE_PROFILE: ranges by %s", libraries[i]);
        }
    }
    return 1;
}

int tile_rt_profile_begin(const struct tile_rt_call *call, struct timespec *begin)
{
    int status = tile_rt_record_begin(&profile.record, call->settings->profile);
    if (status != TILE_OK)
        return status;
    if (profile.push != NULL)
        profile.push(call->kernel->name);
    clock_gettime(CLOCK_MONOTONIC, begin);
    return TILE_OK;
}

/* ---- a record --------------------------------------------------------------------------------------------------- */

/* As a JSON string; a long text is cut between characters. */
static size_t append_string(char *record, size_t used, const char *text)
{
    size_t most = used + MAX_TEXT;
    used = tile_rt_append(record, MAX_RECORD, used, "\"");
    for (; *text != 0; text++) {
        unsigned char byte = (unsigned char)*text;
        if (used >= most && (byte & 0xc0) != 0x80)
            break;
        if (byte == '"' || byte == '\\')
            used = tile_rt_append(record, MAX_RECORD, used, "\\%c", byte);
        else
            used = tile_rt_append(record, MAX_RECORD, used, byte < 0x20 ? "\\u%04x" : "%c", byte);
    }
    return tile_rt_append(record, MAX_RECORD, used, "\"");
}

static uint64_t nanoseconds(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * NANOSECONDS_A_SECOND + (uint64_t)time->tv_nsec;
}

static size_t append_microseconds(char *record, size_t used, const char *name, uint64_t time)
{
    return tile_rt_append(record, MAX_RECORD, used, ",\"%s\":%llu.%03u", name, (unsigned long long)(time / 1000),
                          (unsigned)(time % 1000));
}

static size_t print_record(char *record, const struct tile_rt_call *call, int status, uint64_t begin, uint64_t taken)
{
    const struct tile_rt_kernel *kernel = call->kernel;
    int on_processor = call->target->kind == TILE_RT_TARGET_cpu;
    size_t used = tile_rt_append(record, MAX_RECORD, 0, "{\"name\":");
    uint32_t i;
    used = append_string(record, used, kernel->name);
    used = tile_rt_append(record, MAX_RECORD, used, ",\"cat\":\"launch\",\"ph\":\"X\",\"pid\":%ld,\"tid\":%ld",
                          (long)getpid(), syscall(SYS_gettid));
    used = append_microseconds(record, used, "ts", begin);
    used = append_microseconds(record, used, "dur", taken);
    used = tile_rt_append(record, MAX_RECORD, used, ",\"args\":{\"target\":");
    used = append_string(record, used, call->target->name);
    used = tile_rt_append(record, MAX_RECORD, used, ",\"variant\":%u,\"facts\":", (unsigned)call->variant_index);
    used = append_string(record, used, call->variant->text);
    used = tile_rt_append(record, MAX_RECORD, used, ",\"device\":%d,\"grid\":[", call->device);
    for (i = 0; i < kernel->grid_rank; i++)
        used = tile_rt_append(record, MAX_RECORD, used, "%s%llu", i ? "," : "",
                              (unsigned long long)call->slots[kernel->slot_count + i]);
    return tile_rt_append(record, MAX_RECORD, used, "],\"programs\":%lld,\"threads\":%d,\"ns\":%llu,\"status\":%d}}",
                          (long long)call->programs, on_processor ? call->sm_count : (int)call->variant->threads,
                          (unsigned long long)taken, status);
}

/* Under the lock: over the bracket that closes the array, from the end of the line before it. */
static void write_record(const char *record)
{
    char text[MAX_RECORD + 16];
    int is_first = profile.record.end == (off_t)strlen(HEAD);
    size_t used = tile_rt_append(text, sizeof text, 0, "%s\n%s\n]\n", is_first ? "" : ",", record);
    tile_rt_record_write(&profile.record, text, used, profile.record.end - (off_t)strlen("\n]\n"));
}

void tile_rt_profile_end(const struct tile_rt_call *call, int status, const struct timespec *begin)
{
    char record[MAX_RECORD];
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (profile.pop != NULL)
        profile.pop();
    print_record(record, call, status, nanoseconds(begin), nanoseconds(&end) - nanoseconds(begin));
    pthread_mutex_lock(&profile.record.lock);
    write_record(record);
    pthread_mutex_unlock(&profile.record.lock);
}
