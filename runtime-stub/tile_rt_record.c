/* SPDX-License-Identifier: MIT
 *
 * The file that TILE_PROFILE or TILE_TRACE names.  It is made when the first launch comes.  The child of a fork makes one
 * of its own where the name has %p in it, the number of the process, and writes none where it has not. */
#include "tile_rt_internal.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_NAME = 4096 };

void tile_rt_record_after_fork(struct tile_rt_record *record)
{
    tile_rt_lock_after_fork(&record->lock);
    if (record->state != TILE_RT_RECORD_open)
        return;
    close(record->file);
    record->state = record->per_process ? TILE_RT_RECORD_new : TILE_RT_RECORD_ended;
}

static int refuse(struct tile_rt_record *record, const char *setting, const char *why)
{
    tile_rt_append(record->text, sizeof record->text, 0, "%s=%s: %s", record->variable, setting, why);
    return TILE_RT_RECORD_refused;
}

/* Under the lock: gives the new state. */
static int open_file(struct tile_rt_record *record, const char *setting)
{
    const char *number = strstr(setting, "%p");
    size_t size = strlen(record->head), used;
    char name[MAX_NAME];
    struct stat status;
    used = tile_rt_append(name, sizeof name, 0, "%.*s", number ? (int)(number - setting) : (int)strlen(setting),
                          setting);
    record->per_process = number != NULL;
    if (number != NULL)
        tile_rt_append(name, sizeof name, used, "%ld%s", (long)getpid(), number + 2);
    record->file = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (record->file < 0)
        return refuse(record, setting, strerror(errno));
    record->end = (off_t)size;
    if (fstat(record->file, &status) == 0 && S_ISREG(status.st_mode) &&
        pwrite(record->file, record->head, size, 0) == (ssize_t)size)
        return TILE_RT_RECORD_open;
    close(record->file);
    return refuse(record, setting, "not a file that can be written");
}

int tile_rt_record_begin(struct tile_rt_record *record, const char *setting)
{
    int state = __atomic_load_n(&record->state, __ATOMIC_ACQUIRE);
    if (state == TILE_RT_RECORD_new) {
        pthread_mutex_lock(&record->lock);
        state = record->state;
        if (state == TILE_RT_RECORD_new) {
            state = open_file(record, setting);
            if (state == TILE_RT_RECORD_open && !record->prepare()) {
                close(record->file);
                state = refuse(record, setting, "out of memory");
            }
            __atomic_store_n(&record->state, state, __ATOMIC_RELEASE);
        }
        pthread_mutex_unlock(&record->lock);
    }
    return state == TILE_RT_RECORD_refused ? tile_rt_fail(TILE_ERR_ENVIRONMENT, "%s", record->text) : TILE_OK;
}

void tile_rt_record_write(struct tile_rt_record *record, const char *text, size_t size, off_t at)
{
    if (record->state != TILE_RT_RECORD_open)
        return;
    if (pwrite(record->file, text, size, at) != (ssize_t)size) {
        tile_rt_say("%s: the file takes no more", record->variable);
        close(record->file);
        __atomic_store_n(&record->state, TILE_RT_RECORD_ended, __ATOMIC_RELEASE);
    } else if (at + (off_t)size > record->end) {
        record->end = at + (off_t)size;
    }
}
