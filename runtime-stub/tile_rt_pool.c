/* SPDX-License-Identifier: MIT
 *
 * Kernels on the host's processor: which instruction set, and a persistent pool of threads.
 *
 * A job is a range of linear programs, divided into one share a thread.  Whoever takes part draws chunks from its own
 * share and then from the others': a share whose thread sleeps is done by those who do not, and one thread alone
 * suffices. A thread has the same share in each call, so that what it wrote is in its cache when the next kernel reads
 * it.  The calling thread always takes part.  While the pool works for one caller, another caller does its job alone:
 * nobody waits for somebody else's kernel.
 *
 * Workers join without a lock and without a word that all of them write.  The number of a job is odd while it may be
 * joined.  A worker says in its own line that it is inside, and looks at the number once more: if the job was closed
 * before, it leaves again.  The caller opens the job, draws chunks itself, closes it when all shares have run out, and
 * waits for those who are inside: a worker that wakes late finds the job closed and costs nothing.  The fields of a job
 * are written only while it is closed and nobody is inside.
 *
 * Waking a thread costs some microseconds and even handing a job to a waiting one costs part of one, so small jobs are
 * done by the caller alone.  How long a kernel's program takes is remembered from call to call; the first call times
 * one program.  Workers wait a while before they sleep: kernels come one after the other.
 *
 * A program that has threads of its own lends them by tile_set_parallel_for(): no worker is started then, and callers do
 * not meet.  The pieces of a job draw chunks from one counter, so that a piece that comes late finds nothing to do and
 * one thread that runs them one after the other does no more than it would do alone.
 *
 * A child of fork() has none of the threads: it begins a new pool, leaves the old one's memory alone, and forgets what
 * the program had lent. */
#include "tile_rt_internal.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define MAX_THREADS 1024
#define KNOWN_FUNCTIONS 64
#define CALLER_SPINS 20000
#define KNOWN_FOR 16           /* jobs; then a function is timed again */
enum {                         /* nanoseconds */
       WORKER_WAITS = 2000000, /* before it sleeps, where every thread has a processor */
       WORKER_WAITS_CROWDED = 50000,
       SHARING_COSTS = 1500, /* a job that the caller alone does in less is not shared */
       WAKING_COSTS = 10000, /* nor one in less than this, if all workers sleep */
       WAKING_PAYS = 50000,  /* unless as much work as this came just before */
       JUST_BEFORE = 1000000,
       SHORT_JOB = 20000 /* one in which looking for others' work costs more than it gives */
};

/* Programs [next, end) of a job, and whether the thread they belong to is inside; alone in their line of the cache. */
struct share {
    int64_t next, end;
    int inside;
    char apart[44];
};

/* What a program of a function took when it last ran. */
struct known {
    tile_rt_function *function;
    int64_t picoseconds;
    int age; /* jobs since it was measured */
};

struct pool;
struct worker {
    struct pool *pool;
    int index; /* of its share; the caller has 0 */
};

struct pool {
    /* its workers look at this line all the time, so it holds nothing else */
    unsigned job; /* odd: open */
    char apart[60];
    /* the job; read by all who take part */
    tile_rt_function *function;
    const uint64_t *slots;
    int64_t chunk;
    size_t scratch_bytes;
    struct share *shares; /* [threads] */
    int threads;          /* the calling thread included; workers exist after `started` */
    int steals;           /* workers too look into others' shares */
    int sleepers, caller_waits;
    char apart_too[8];
    /* the owner's */
    pthread_mutex_t owner;     /* held by the caller whose job runs */
    pthread_mutex_t sleep;     /* guards the two conditions */
    pthread_cond_t wake, left; /* a new job; the last worker went out */
    int started, crowded;      /* crowded: more threads than processors */
    struct worker *workers;    /* [threads] */
    int64_t programs;
    void *scratch; /* the calling thread's, kept between jobs */
    size_t scratch_size;
    /* what decides whether a job is shared */
    struct known known[KNOWN_FUNCTIONS];
    int64_t last_end, done_alone; /* nanoseconds: the clock after the last job; work done because all slept */
};

/* The one table: the pool of this process, and what the program runs pieces by instead of it (NULL: nothing). */
static struct {
    pthread_mutex_t lock;
    struct pool *pool;
    tile_parallel_for *parallel_for;
    void *context;
} pools = {PTHREAD_MUTEX_INITIALIZER, NULL, NULL, NULL};

void tile_rt_pool_after_fork(void)
{
    tile_rt_lock_after_fork(&pools.lock);
    pools.pool = NULL;
    pools.parallel_for = NULL;
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* ---- floating point --------------------------------------------------------------------------------------------- */

/* Kernels round to nearest, keep denormals and trap on nothing, whatever the program has set: a result must not depend
 * on which thread computed it. */

#if defined(__x86_64__)
typedef unsigned float_state;
static float_state float_begin(void)
{
    float_state before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(0x1f80);
    return before;
}
static void float_end(float_state before) { __builtin_ia32_ldmxcsr(before); }
#elif defined(__aarch64__)
typedef uint64_t float_state;
static float_state float_begin(void)
{
    float_state before;
    __asm__ volatile("mrs %0, fpcr" : "=r"(before));
    __asm__ volatile("msr fpcr, %0" : : "r"((float_state)0));
    return before;
}
static void float_end(float_state before) { __asm__ volatile("msr fpcr, %0" : : "r"(before)); }
#else
typedef int float_state;
static float_state float_begin(void) { return 0; }
static void float_end(float_state before) { (void)before; }
#endif

/* ---- scratch ---------------------------------------------------------------------------------------------------- */

static int scratch_grow(void **scratch, size_t *size, size_t needed)
{
    void *memory;
    if (needed <= *size)
        return 1;
    free(*scratch);
    *scratch = NULL;
    *size = 0;
    if (needed > SIZE_MAX / 2 || posix_memalign(&memory, 64, (needed + 63) / 64 * 64) != 0)
        return 0;
    *scratch = memory;
    *size = needed;
    return 1;
}

static int64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- workers ---------------------------------------------------------------------------------------------------- */

/* Gives the number of programs done. */
static int64_t draw_chunks(struct pool *pool, int index, int shares, void *scratch)
{
    tile_rt_function *function = pool->function;
    const uint64_t *slots = pool->slots;
    int64_t chunk = pool->chunk, done = 0;
    int threads = pool->threads, k;
    for (k = 0; k < shares; k++) {
        struct share *share = &pool->shares[index + k < threads ? index + k : index + k - threads];
        while (__atomic_load_n(&share->next, __ATOMIC_RELAXED) < share->end) {
            int64_t begin = __atomic_fetch_add(&share->next, chunk, __ATOMIC_RELAXED), end;
            if (begin >= share->end)
                break;
            end = begin < share->end - chunk ? begin + chunk : share->end;
            function(slots, begin, end, scratch);
            done += end - begin;
        }
    }
    return done;
}

/* Either the caller sees that we are inside, or we see that the job is closed. */
static int job_join(struct pool *pool, struct share *share, unsigned job)
{
    __atomic_store_n(&share->inside, 1, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&pool->job, __ATOMIC_SEQ_CST) == job;
}

static void job_leave(struct pool *pool, struct share *share)
{
    __atomic_store_n(&share->inside, 0, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&pool->caller_waits, __ATOMIC_SEQ_CST)) {
        pthread_mutex_lock(&pool->sleep);
        pthread_cond_signal(&pool->left);
        pthread_mutex_unlock(&pool->sleep);
    }
}

static int may_join(unsigned job, unsigned seen) { return (job & 1) && job != seen; }

/* The number of an open job other than `seen`. */
static unsigned wait_for_job(struct pool *pool, unsigned seen)
{
    int64_t until = nanoseconds() + (pool->crowded ? WORKER_WAITS_CROWDED : WORKER_WAITS);
    unsigned job;
    for (;;) {
        int spins;
        for (spins = 0; spins < 100; spins++) {
            job = __atomic_load_n(&pool->job, __ATOMIC_ACQUIRE);
            if (may_join(job, seen))
                return job;
            relax();
        }
        if (nanoseconds() < until)
            continue;
        pthread_mutex_lock(&pool->sleep);
        __atomic_add_fetch(&pool->sleepers, 1, __ATOMIC_SEQ_CST);
        job = __atomic_load_n(&pool->job, __ATOMIC_SEQ_CST);
        if (!may_join(job, seen)) /* until something moves: who wakes late stays awake for the next job */
            while (__atomic_load_n(&pool->job, __ATOMIC_SEQ_CST) == job)
                pthread_cond_wait(&pool->wake, &pool->sleep);
        __atomic_sub_fetch(&pool->sleepers, 1, __ATOMIC_SEQ_CST);
        pthread_mutex_unlock(&pool->sleep);
        until = nanoseconds() + (pool->crowded ? WORKER_WAITS_CROWDED : WORKER_WAITS);
    }
}

static void *work(void *argument)
{
    const struct worker *worker = argument;
    struct pool *pool = worker->pool;
    struct share *share = &pool->shares[worker->index];
    void *scratch = NULL;
    size_t scratch_size = 0;
    unsigned seen = 0;
    float_begin(); /* a thread inherits its maker's state */
    for (;;) {
        seen = wait_for_job(pool, seen);
        /* without scratch this worker stays out: the caller does the work */
        __builtin_prefetch(&pool->function); /* while the line of the share comes */
        if (job_join(pool, share, seen) && scratch_grow(&scratch, &scratch_size, pool->scratch_bytes))
            draw_chunks(pool, worker->index, pool->steals ? pool->threads : 1, scratch);
        job_leave(pool, share);
    }
    return NULL;
}

/* Under pool->owner.  Fewer threads than wished are no error. */
static void start_workers(struct pool *pool)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int i;
    pool->started = 1;
    if (pool->threads < 2)
        return;
    tile_rt_keep_loaded(&pools); /* the code of the threads */
    if (pthread_attr_init(&attributes) != 0) {
        __atomic_store_n(&pool->threads, 1, __ATOMIC_RELAXED);
        return;
    }
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all); /* the program's signals are not for our threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (i = 1; i < pool->threads; i++) {
        pthread_t thread;
        pool->workers[i].pool = pool;
        pool->workers[i].index = i;
        if (pthread_create(&thread, &attributes, work, &pool->workers[i]) != 0)
            break;
    }
    __atomic_store_n(&pool->threads, i, __ATOMIC_RELAXED);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

/* ---- the pool --------------------------------------------------------------------------------------------------- */

static int online_processors(void)
{
    cpu_set_t set;
    int count = 0;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        count = CPU_COUNT(&set);
    return count < 1 ? 1 : count > MAX_THREADS ? MAX_THREADS : count;
}

static int wanted_threads(int *threads)
{
    const char *setting = tile_rt_settings()->threads, *digit;
    int value = 0;
    *threads = 1;
    if (setting == NULL) {
        *threads = online_processors();
        return TILE_OK;
    }
    for (digit = setting; *digit >= '0' && *digit <= '9' && value <= MAX_THREADS; digit++)
        value = 10 * value + (*digit - '0');
    if (*digit != 0 || value < 1 || value > MAX_THREADS)
        return tile_rt_fail(TILE_ERR_ENVIRONMENT, "TILE_CPU_THREADS=%s is not a number from 1 to %d", setting,
                            MAX_THREADS);
    *threads = value;
    return TILE_OK;
}

static int create_pool(struct pool **result)
{
    struct pool *pool;
    int threads, status = wanted_threads(&threads);
    if (status != TILE_OK)
        return status;
    if (posix_memalign((void **)&pool, 64, sizeof *pool) != 0)
        return tile_rt_fail(TILE_ERR_OOM, "no memory for the pool of threads");
    memset(pool, 0, sizeof *pool);
    pool->workers = calloc((size_t)threads, sizeof *pool->workers);
    if (pool->workers == NULL ||
        posix_memalign((void **)&pool->shares, 64, (size_t)threads * sizeof *pool->shares) != 0) {
        free(pool->workers);
        free(pool);
        return tile_rt_fail(TILE_ERR_OOM, "no memory for the pool of threads");
    }
    pthread_mutex_init(&pool->owner, NULL);
    pthread_mutex_init(&pool->sleep, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->left, NULL);
    memset(pool->shares, 0, (size_t)threads * sizeof *pool->shares);
    pool->threads = threads;
    pool->crowded = threads > online_processors();
    *result = pool;
    return TILE_OK;
}

static int find_pool(struct pool **result)
{
    int status = TILE_OK;
    *result = __atomic_load_n(&pools.pool, __ATOMIC_ACQUIRE);
    if (*result != NULL)
        return TILE_OK;
    tile_rt_settings(); /* which also watches for forks */
    pthread_mutex_lock(&pools.lock);
    *result = pools.pool;
    if (*result == NULL) {
        status = create_pool(result);
        if (status == TILE_OK)
            __atomic_store_n(&pools.pool, *result, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&pools.lock);
    return status;
}

int tile_rt_cpu_threads(int *threads)
{
    struct pool *pool;
    int status = find_pool(&pool);
    if (status == TILE_OK)
        *threads = __atomic_load_n(&pool->threads, __ATOMIC_RELAXED);
    return status;
}

/* ---- instruction sets ------------------------------------------------------------------------------------------- */

static const char *const isa_names[] = {"baseline", "avx2", "avx512", "neon"};

#if defined(__x86_64__)
/* Which of the levels this processor and its operating system allow; asked once and kept. */
static unsigned available_isas(void)
{
    static unsigned cached; /* 0: not asked yet; the answer is the same for all who ask */
    unsigned eax, ebx, ecx, edx, low, high, isas = 1u << TILE_RT_ISA_baseline, known;
    known = __atomic_load_n(&cached, __ATOMIC_RELAXED);
    if (known != 0)
        return known;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_OSXSAVE) && (ecx & bit_FMA) && (ecx & bit_F16C) &&
        (ecx & bit_MOVBE)) {
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        if ((low & 6) == 6 && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & bit_AVX2) && (ebx & bit_BMI) &&
            (ebx & bit_BMI2) && __get_cpuid(0x80000001, &eax, &high, &ecx, &edx) && (ecx & bit_LZCNT)) {
            isas |= 1u << TILE_RT_ISA_avx2;
            if ((low & 0xe6) == 0xe6 && (ebx & bit_AVX512F) && (ebx & bit_AVX512BW) && (ebx & bit_AVX512CD) &&
                (ebx & bit_AVX512DQ) && (ebx & bit_AVX512VL))
                isas |= 1u << TILE_RT_ISA_avx512;
        }
    }
    __atomic_store_n(&cached, isas, __ATOMIC_RELAXED);
    return isas;
}
#elif defined(__aarch64__)
static unsigned available_isas(void) { return 1u << TILE_RT_ISA_baseline | 1u << TILE_RT_ISA_neon; }
#else
static unsigned available_isas(void) { return 1u << TILE_RT_ISA_baseline; }
#endif

/* TILE_CPU_ISA; -1 when it is not said.  On AArch64 baseline and neon are the same thing. */
static int forced_isa(int *isa)
{
    const char *setting = tile_rt_settings()->isa;
    unsigned i;
    *isa = -1;
    if (setting == NULL)
        return TILE_OK;
    for (i = 0; i < sizeof isa_names / sizeof isa_names[0]; i++)
        if (strcmp(setting, isa_names[i]) == 0) {
            *isa = (int)i;
            if (available_isas() & 1u << i)
                return TILE_OK;
            return tile_rt_fail(TILE_ERR_ENVIRONMENT, "TILE_CPU_ISA=%s: this processor has no %s", setting, setting);
        }
    return tile_rt_fail(TILE_ERR_ENVIRONMENT, "TILE_CPU_ISA=%s is none of baseline, avx2, avx512, neon", setting);
}

static int is_isa(const struct tile_rt_target *target, int isa)
{
    int neon = isa == TILE_RT_ISA_baseline && target->architecture == TILE_RT_ISA_neon;
    int baseline = isa == TILE_RT_ISA_neon && target->architecture == TILE_RT_ISA_baseline;
    return target->architecture == (uint32_t)isa || neon || baseline;
}

int tile_rt_cpu_target(struct tile_rt_call *call)
{
    const struct tile_rt_kernel *kernel = call->kernel;
    unsigned available = available_isas();
    char targets[200];
    uint32_t i;
    int isa, status = forced_isa(&isa);
    if (status != TILE_OK)
        return status;
    for (i = 0; i < kernel->target_count; i++) {
        const struct tile_rt_target *target = &kernel->targets[i];
        if (target->kind != TILE_RT_TARGET_cpu || target->architecture > 31 ||
            !(available & 1u << target->architecture) || (isa >= 0 && !is_isa(target, isa)))
            continue;
        if (call->target == NULL || target->architecture > call->target->architecture)
            call->target = target;
    }
    if (call->target != NULL)
        return TILE_OK;
    tile_rt_list_targets(kernel, targets, sizeof targets);
    return tile_rt_fail(TILE_ERR_NO_IMAGE, "%s: TILE_CPU wants code for the processor%s%s; the object holds %s",
                        kernel->name, isa >= 0 ? " with " : "", isa >= 0 ? isa_names[isa] : "", targets);
}

/* ---- jobs ------------------------------------------------------------------------------------------------------- */

static int run_alone(const struct tile_rt_call *call)
{
    void *scratch = NULL;
    size_t size = 0;
    if (!scratch_grow(&scratch, &size, (size_t)call->variant->scratch_bytes))
        return tile_rt_fail(TILE_ERR_OOM, "%s: no memory for %lld bytes of scratch", call->kernel->name,
                            (long long)call->variant->scratch_bytes);
    call->variant->function(call->slots, 0, call->programs, scratch);
    free(scratch);
    return TILE_OK;
}

static int somebody_inside(const struct pool *pool)
{
    int i;
    for (i = 1; i < pool->threads; i++)
        if (__atomic_load_n(&pool->shares[i].inside, __ATOMIC_SEQ_CST))
            return 1;
    return 0;
}

static void close_job(struct pool *pool)
{
    int spins;
    __atomic_add_fetch(&pool->job, 1, __ATOMIC_SEQ_CST);
    for (spins = 0; spins < CALLER_SPINS; spins++) {
        if (!somebody_inside(pool))
            return;
        relax();
    }
    pthread_mutex_lock(&pool->sleep);
    __atomic_store_n(&pool->caller_waits, 1, __ATOMIC_SEQ_CST);
    while (somebody_inside(pool))
        pthread_cond_wait(&pool->left, &pool->sleep);
    __atomic_store_n(&pool->caller_waits, 0, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&pool->sleep);
}

static void open_job(struct pool *pool)
{
    __atomic_add_fetch(&pool->job, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&pool->sleepers, __ATOMIC_SEQ_CST) > 0) {
        pthread_mutex_lock(&pool->sleep);
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->sleep);
    }
}

static struct known *known_of(struct pool *pool)
{
    return &pool->known[(uintptr_t)pool->function / 16 % KNOWN_FUNCTIONS];
}

static void remember(struct pool *pool, int64_t nanoseconds, int64_t programs)
{
    struct known *known = known_of(pool);
    known->function = pool->function;
    known->picoseconds = nanoseconds < INT64_C(1) << 50 ? nanoseconds * 1000 / programs : INT64_C(1) << 50;
    known->age = 0;
}

/* Is a job that takes the caller this long worth a word to the others? */
static int is_worth_sharing(struct pool *pool, double expected)
{
    int64_t now;
    if (expected < SHARING_COSTS)
        return 0;
    if (expected >= WAKING_COSTS || __atomic_load_n(&pool->sleepers, __ATOMIC_RELAXED) < pool->threads - 1)
        return 1;
    now = nanoseconds();
    if (now - pool->last_end > JUST_BEFORE)
        pool->done_alone = 0;
    pool->last_end = now;
    pool->done_alone += (int64_t)expected;
    return pool->done_alone > WAKING_PAYS;
}

/* Runs programs [first, end) on the calling thread, and remembers how long they took. */
static void run_timed(struct pool *pool, int64_t first, int64_t end)
{
    int64_t begin = nanoseconds();
    pool->function(pool->slots, first, end, pool->scratch);
    remember(pool, nanoseconds() - begin, end - first);
}

/* What the caller does before it asks the others: all that is not worth sharing, or one program to learn its time.
 * Gives the number of programs done. */
static int64_t try_alone(struct pool *pool, int64_t grain)
{
    const struct known *known = known_of(pool);
    int64_t programs = pool->programs, first = 0;
    double expected;
    if (known->function != pool->function) {
        first = grain;
        run_timed(pool, 0, first);
    }
    expected = 1e-3 * (double)known->picoseconds * (double)(programs - first);
    if (is_worth_sharing(pool, expected)) {
        pool->steals = expected > SHORT_JOB;
        return first;
    }
    if (known->age >= KNOWN_FOR)
        run_timed(pool, first, programs);
    else
        pool->function(pool->slots, first, programs, pool->scratch);
    return programs;
}

/* Programs [first, programs) into shares of nearly equal size, and the size of a chunk. */
static void divide_job(struct pool *pool, int64_t first, int64_t grain)
{
    int64_t count = pool->programs - first, size = count / pool->threads, more = count % pool->threads;
    int i;
    for (i = 0; i < pool->threads; i++) {
        pool->shares[i].next = first;
        first += size + (i < more);
        pool->shares[i].end = first;
    }
    /* Some chunks a thread even out threads of unequal speed, and keep neighbours' programs on one thread. */
    size = pool->steals ? (size + 3) / 4 : (size + 1) / 2;
    pool->chunk = size > grain ? size : grain;
}

/* One share, from which all threads draw in turn: whoever draws a chunk knows that all before it have been drawn, and the
 * thread that has the first of those that are not done waits for nobody. */
static void divide_in_order(struct pool *pool, int64_t first, int64_t grain)
{
    int i;
    for (i = 0; i < pool->threads; i++)
        pool->shares[i].next = pool->shares[i].end = pool->programs;
    pool->shares[0].next = first;
    pool->chunk = grain;
    pool->steals = 1;
}

/* Under pool->owner. */
static int run_job(struct pool *pool, const struct tile_rt_call *call, int64_t grain)
{
    const struct tile_rt_variant *variant = call->variant;
    int64_t done, begin;
    if (!pool->started)
        start_workers(pool);
    if (!scratch_grow(&pool->scratch, &pool->scratch_size, (size_t)variant->scratch_bytes))
        return tile_rt_fail(TILE_ERR_OOM, "%s: no memory for %lld bytes of scratch", call->kernel->name,
                            (long long)variant->scratch_bytes);
    pool->function = variant->function;
    pool->slots = call->slots;
    pool->programs = call->programs;
    pool->scratch_bytes = (size_t)variant->scratch_bytes;
    /* Ordered programs may wait for each other, which threads without a processor of their own do for long. */
    if (pool->threads == 1 || call->programs <= grain || (call->kernel->ordered && pool->crowded)) {
        variant->function(call->slots, 0, call->programs, pool->scratch);
        return TILE_OK;
    }
    known_of(pool)->age++;
    done = try_alone(pool, grain);
    if (done == call->programs)
        return TILE_OK;
    if (call->kernel->ordered)
        divide_in_order(pool, done, grain);
    else
        divide_job(pool, done, grain);
    open_job(pool);
    if (known_of(pool)->age < KNOWN_FOR) {
        draw_chunks(pool, 0, pool->threads, pool->scratch);
    } else {
        begin = nanoseconds();
        done = draw_chunks(pool, 0, pool->threads, pool->scratch);
        if (done > 0)
            remember(pool, nanoseconds() - begin, done);
    }
    close_job(pool);
    return TILE_OK;
}

/* ---- threads of the program ------------------------------------------------------------------------------------- */

/* A job whose pieces the program runs.  It lives on the stack of the launch. */
struct lent_job {
    tile_rt_function *function;
    const uint64_t *slots;
    int64_t next, programs, chunk;
    char *scratch; /* of all pieces */
    size_t scratch_step;
};

static void run_piece(void *data, int64_t index)
{
    struct lent_job *job = data;
    void *scratch = job->scratch != NULL ? job->scratch + (size_t)index * job->scratch_step : NULL;
    float_state before = float_begin();
    while (__atomic_load_n(&job->next, __ATOMIC_RELAXED) < job->programs) {
        int64_t begin = __atomic_fetch_add(&job->next, job->chunk, __ATOMIC_RELAXED), end;
        if (begin >= job->programs)
            break;
        end = begin < job->programs - job->chunk ? begin + job->chunk : job->programs;
        job->function(job->slots, begin, end, scratch);
    }
    float_end(before);
}

TILE_RT_PUBLIC void tile_set_parallel_for(tile_parallel_for *run, void *context)
{
    tile_rt_settings(); /* which also watches for forks */
    pthread_mutex_lock(&pools.lock);
    pools.context = context;
    __atomic_store_n(&pools.parallel_for, run, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&pools.lock);
}

/* What the program has set, together with its context; NULL: nothing. */
static tile_parallel_for *lent_threads(void **context)
{
    tile_parallel_for *run;
    if (__atomic_load_n(&pools.parallel_for, __ATOMIC_RELAXED) == NULL)
        return NULL;
    pthread_mutex_lock(&pools.lock);
    run = pools.parallel_for;
    *context = pools.context;
    pthread_mutex_unlock(&pools.lock);
    return run;
}

/* In the program's own state of floating point, but for the pieces. */
static int run_lent(const struct tile_rt_call *call, int64_t pieces, int64_t grain, tile_parallel_for *run,
                    void *context)
{
    const struct tile_rt_variant *variant = call->variant;
    int64_t size = call->kernel->ordered ? grain : (call->programs / pieces + 3) / 4;
    struct lent_job job;
    void *scratch = NULL;
    size_t room = 0;
    job.scratch_step = ((size_t)variant->scratch_bytes + 63) / 64 * 64;
    if (job.scratch_step > SIZE_MAX / 2 / (size_t)pieces ||
        !scratch_grow(&scratch, &room, (size_t)pieces * job.scratch_step))
        return tile_rt_fail(TILE_ERR_OOM, "%s: no memory for %lld times %lld bytes of scratch", call->kernel->name,
                            (long long)pieces, (long long)variant->scratch_bytes);
    job.function = variant->function;
    job.slots = call->slots;
    job.next = 0;
    job.programs = call->programs;
    job.chunk = size > grain ? size : grain;
    job.scratch = scratch;
    run(context, pieces, run_piece, &job);
    run_piece(&job, 0); /* what it may have left out */
    free(scratch);
    return TILE_OK;
}

/* 1 where the threads of the program would be of no use. */
static int64_t count_pieces(const struct pool *pool, const struct tile_rt_call *call, int64_t grain)
{
    int64_t most = call->programs / grain + (call->programs % grain != 0);
    int64_t threads = __atomic_load_n(&pool->threads, __ATOMIC_RELAXED);
    if (call->kernel->ordered && pool->crowded)
        return 1;
    return most < threads ? most : threads;
}

static int run_in_pool(struct pool *pool, const struct tile_rt_call *call, int64_t grain)
{
    int status;
    if (pthread_mutex_trylock(&pool->owner) != 0)
        return run_alone(call);
    status = run_job(pool, call, grain);
    pthread_mutex_unlock(&pool->owner);
    return status;
}

int tile_rt_cpu_launch(struct tile_rt_call *call)
{
    int64_t grain = call->variant->grain > 0 ? call->variant->grain : 1, pieces;
    tile_parallel_for *run = NULL;
    void *context = NULL;
    struct pool *pool;
    int status = find_pool(&pool);
    float_state before;
    if (status != TILE_OK)
        return status;
    tile_rt_say("%s: %lld programs of variant %u on %s", call->kernel->name, (long long)call->programs,
                (unsigned)call->variant_index, call->target->name);
    if (!call->this_thread)
        run = lent_threads(&context);
    pieces = run != NULL ? count_pieces(pool, call, grain) : 1;
    if (pieces > 1)
        return run_lent(call, pieces, grain, run, context);
    before = float_begin();
    status = call->this_thread || run != NULL ? run_alone(call) : run_in_pool(pool, call, grain);
    float_end(before);
    return status;
}
