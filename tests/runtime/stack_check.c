/* How much of the caller's stack a call takes, seen from what is left of a pattern on it; and calls on threads with the
 * least stack that there is and 8 KiB more.  stack_calls.h has one case a call. */
#include "case.h"
#include "stack.h"

#include <pthread.h>
#include <limits.h>
#include <sys/mman.h>

enum { PATTERN = 0x5a, OWN_BYTES = 512, PAINTED_BYTES = 128 * 1024, MOST_BYTES = 4096, FIRST_BYTES = 8192 };

static struct tile_f32_1 flat[64];
static struct tile_f32_8 deep[32];
static float memory[64][256];
static int which, status;
static size_t used, most = MOST_BYTES;

static int call(void)
{
    struct tile_kernel_info info;
    switch (which) {
#include "stack_calls.h"
    default: return -1;
    }
}

static void *plain_thread(void *unused)
{
    status = call();
    return unused;
}

static void *painted_thread(void *stack)
{
    volatile char here = 0;
    char *low = stack, *high = (char *)(uintptr_t)&here - OWN_BYTES;
    for (volatile char *byte = low; byte < (volatile char *)high; byte++)
        *byte = PATTERN;
    status = call();
    while (low < high && *low == PATTERN)
        low++;
    used = (size_t)(high - low);
    return NULL;
}

static void run_painted(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    void *stack = mmap(NULL, PAINTED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_init(&attributes);
    EXPECT(stack != MAP_FAILED && pthread_attr_setstack(&attributes, stack, PAINTED_BYTES) == 0);
    EXPECT(pthread_create(&thread, &attributes, painted_thread, stack) == 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    munmap(stack, PAINTED_BYTES);
    if (used > most) {
        fprintf(stderr, "call %d takes %zu bytes (status %d)\n", which, used, status);
        failures++;
    }
}

static void run_small(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    EXPECT(pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN + 8192) == 0);
    EXPECT(pthread_create(&thread, &attributes, plain_thread, NULL) == 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

/* Calls that work or fail, in a process that has made none: what the program is bound to lazily is looked up then. */
static void run_in_order(int number, int count, char **words)
{
    int i, worked = 0;
    which = number;
    for (i = 0; i < count; i++) {
        int fails = strcmp(words[i], "fails") == 0;
        flat[1].extent[0] = fails ? 7 : 5;
        deep[1].extent[7] = fails ? 7 : 2;
        most = i == 0 || (!fails && !worked) ? FIRST_BYTES : MOST_BYTES;
        worked |= !fails;
        run_painted();
        EXPECT(status == (fails ? TILE_ERR_ARG : TILE_OK));
    }
}

int main(int count, char **arguments)
{
    int i, d, round;
    for (i = 0; i < 64; i++)
        flat[i] = (struct tile_f32_1){memory[i], {5}, {1}};
    for (i = 0; i < 32; i++) {
        deep[i].data = memory[i];
        for (d = 0; d < 8; d++) {
            deep[i].extent[d] = 2;
            deep[i].stride[d] = 128 >> d;
        }
    }
    if (count > 1) {
        run_in_order(atoi(arguments[1]), count - 2, arguments + 2);
        return failures != 0;
    }
    for (round = 0; round < 3; round++)
        for (which = 0; which < CALLS; which++) {
            run_small();
            EXPECT(status == TILE_OK);
            run_painted();
            EXPECT(status == TILE_OK);
        }
    flat[1].extent[0] = deep[1].extent[7] = 7; /* a text is written */
    for (which = 0; which < CALLS; which++) {
        run_small();
        EXPECT(status == TILE_ERR_ARG);
        run_painted();
        EXPECT(status == TILE_ERR_ARG);
    }
    return failures != 0;
}
