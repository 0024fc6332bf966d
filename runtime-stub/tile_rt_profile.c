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
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RECORD = 4096, MAX_TEXT = 800, NANOSECONDS_A_SECOND = 1000000000 };

enum state {
    NOT_OPENED,
    RECORDS,
    REFUSED, /* with `text` */
    ENDED    /* the file took no more, or belongs to the process that this one is a child of */
};

static struct {
    pthread_mutex_t lock;
    int state;
    int file;
    int per_process; /* the name has %p in it */
    off_t end;       /* behind the last record */
    int records;     /* 0: none yet */
    char text[400];
    int (*push)(const char *name); /* NULL: no NVTX */
    int (*pop)(void);
} profile = {.lock = PTHREAD_MUTEX_INITIALIZER};

void tile_rt_profile_after_fork(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    memcpy(&profile.lock, &fresh, sizeof fresh); /* a thread that is not here may have held it */
    if (profile.state != RECORDS)
        return;
    close(profile.file);
    profile.state = profile.per_process ? NOT_OPENED : ENDED;
}

/* ---- opening ---------------------------------------------------------------------------------------------------- */

static void find_ranges(void)
{
    static const char *const libraries[] = {"libnvToolsExt.so.1", "libnvtx3interop.so.1"};
    size_t i;
    for (i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        void *library = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL);
        void *push = library != NULL ? dlsym(library, "nvtxRangePushA") : NULL;
        void *pop = library != NULL ? dlsym(library, "nvtxRangePop") : NULL;
        if (push != NULL && pop != NULL) {
            memcpy(&profile.push, &push, sizeof push);
            memcpy(&profile.pop, &pop, sizeof pop);
            tile_rt_say("TILE_PROFILE: ranges by %s", libraries[i]);
            return;
        }
    }
}

int tile_rt_open_record(const char *variable, const char *setting, int *per_process, char *text, size_t room)
{
    const char *number = strstr(setting, "%p");
    char name[MAX_RECORD];
    struct stat status;
    size_t used;
    int file;
    used = tile_rt_append(name, sizeof name, 0, "%.*s", number ? (int)(number - setting) : (int)strlen(setting),
                          setting);
    *per_process = number != NULL;
    if (number != NULL)
        tile_rt_append(name, sizeof name, used, "%ld%s", (long)getpid(), number + 2);
    file = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) {
        tile_rt_append(text, room, 0, "%s=%s: %s", variable, setting, strerror(errno));
        return -1;
    }
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode))
        return file;
    tile_rt_append(text, room, 0, "%s=%s: not a file that can be written", variable, setting);
    close(file);
    return -1;
}

/* Under the lock: gives the new state. */
static int open_file(const char *setting)
{
    profile.file = tile_rt_open_record("TILE_PROFILE", setting, &profile.per_process, profile.text,
                                       sizeof profile.text);
    if (profile.file < 0)
        return REFUSED;
    if (pwrite(profile.file, "[\n]\n", 4, 0) != 4) {
        tile_rt_append(profile.text, sizeof profile.text, 0, "TILE_PROFILE=%s: not a file that can be written",
                       setting);
        close(profile.file);
        return REFUSED;
    }
    profile.end = 2;
    profile.records = 0;
    if (profile.push == NULL)
        find_ranges();
    return RECORDS;
}

int tile_rt_profile_begin(const struct tile_rt_call *call, struct timespec *begin)
{
    int state = __atomic_load_n(&profile.state, __ATOMIC_ACQUIRE);
    if (state == NOT_OPENED) {
        pthread_mutex_lock(&profile.lock);
        state = profile.state;
        if (state == NOT_OPENED) {
            state = open_file(call->settings->profile);
            __atomic_store_n(&profile.state, state, __ATOMIC_RELEASE);
        }
        pthread_mutex_unlock(&profile.lock);
    }
    if (state == REFUSED)
        return tile_rt_fail(TILE_ERR_ENVIRONMENT, "%s", profile.text);
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

/* Under the lock. */
static void write_record(const char *record, size_t size)
{
    char text[MAX_RECORD + 16];
    size_t used = tile_rt_append(text, sizeof text, 0, "%s%s\n]\n", profile.records ? ",\n" : "", record);
    if (pwrite(profile.file, text, used, profile.end) != (ssize_t)used) {
        tile_rt_say("TILE_PROFILE: the file takes no more");
        close(profile.file);
        __atomic_store_n(&profile.state, ENDED, __ATOMIC_RELEASE);
        return;
    }
    profile.end += (off_t)(size + (profile.records ? 2 : 0));
    profile.records = 1;
}

void tile_rt_profile_end(const struct tile_rt_call *call, int status, const struct timespec *begin)
{
    char record[MAX_RECORD];
    struct timespec end;
    size_t size;
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (profile.pop != NULL)
        profile.pop();
    size = print_record(record, call, status, nanoseconds(begin), nanoseconds(&end) - nanoseconds(begin));
    pthread_mutex_lock(&profile.lock);
    if (profile.state == RECORDS)
        write_record(record, size);
    pthread_mutex_unlock(&profile.lock);
}
