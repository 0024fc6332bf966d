/* Memory of the CPU or of a GPU, and time on either.  All functions end the program where something fails. */
#ifndef JUDGE_MEMORY_H
#define JUDGE_MEMORY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void memory_open(bool gpu);
void *memory_allocate(size_t bytes); /* filled with 0xff: NaN, -1 */
void memory_release(void *memory, size_t bytes);
void memory_read(void *to, const void *from, size_t bytes);
void memory_write(void *to, const void *from, size_t bytes);
void memory_wait(void);

/* Microseconds that `run` takes, the median of at least three runs and about half a second of them, after one that
 * does not count. */
double memory_time(int (*run)(void *data), void *data);
#endif
