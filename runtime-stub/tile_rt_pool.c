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
 * The gate lets workers join without a lock.  Its value is the number of workers inside, plus GATE_CLOSED while no job
 * may be joined.  The fields of a job are written only while the gate is closed and nobody is inside.  The caller opens
 * the gate, draws chunks itself, closes the gate when all shares have run out, and waits for those inside: a worker
 * that wakes late finds the gate closed and costs nothing.
 *
 * A child of fork() has none of the threads: it begins a new pool and leaves the old one's memory alone. */
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
#define GATE_CLOSED 0x40000000
#define WORKER_SPINS 4000 /* rounds of waiting before a worker sleeps: 50 to 200 microseconds */
#define CALLER_SPINS 20000
#define WAKE_NANOSECONDS 10000

/* Programs [next, end) of a job; alone in its line of the cache. */
struct share {
    int64_t next, end;
    char apart[48];
};

struct pool;
struct worker {
    struct pool *pool;
    int index; /* of its share; the caller has 0 */
};

struct pool {
    pthread_mutex_t owner;     /* held by the caller whose job runs */
    pthread_mutex_t sleep;     /* guards the two conditions */
    pthread_cond_t wake, left; /* a new job; the last worker went out */
    int threads;               /* the calling thread included; workers exist after `started` */
    int started;
    int gate;
    int sleepers;
    unsigned ticket;           /* one more with each job */
    struct share *shares;      /* [threads] */
    struct worker *workers;    /* [threads] */
    /* the job */
    tile_rt_function *function;
    const uint64_t *slots;
    int64_t programs, chunk;
    size_t scratch_bytes;
    /* the calling thread's scratch, kept between jobs */
    void *scratch;
    size_t scratch_size;
};

/* The one table: the pool of this process. */
static struct {
    pthread_mutex_t lock;
    struct pool *pool;
} pools = {PTHREAD_MUTEX_INITIALIZER, NULL};

void tile_rt_pool_after_fork(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    memcpy(&pools.lock, &fresh, sizeof fresh); /* a thread that is not here may have held it */
    pools.pool = NULL;
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* ---- floating point -----------------------------------------------------------------------------------------------

 * Kernels round to nearest, keep denormals and trap on nothing, whatever the program has set: a result must not depend
 on
 * which thread computed it. */

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

/* ---- workers ---------------------------------------------------------------------------------------------------- */

static void draw_chunks(struct pool *pool, int index, void *scratch)
{
    tile_rt_function *function = pool->function;
    const uint64_t *slots = pool->slots;
    int64_t chunk = pool->chunk;
    int threads = pool->threads, k;
    for (k = 0; k < threads; k++) {
        struct share *share = &pool->shares[index + k < threads ? index + k : index + k - threads];
        while (__atomic_load_n(&share->next, __ATOMIC_RELAXED) < share->end) {
            int64_t begin = __atomic_fetch_add(&share->next, chunk, __ATOMIC_RELAXED);
            if (begin < share->end)
                function(slots, begin, begin < share->end - chunk ? begin + chunk : share->end, scratch);
        }
    }
}

static int gate_join(struct pool *pool)
{
    int inside = __atomic_load_n(&pool->gate, __ATOMIC_RELAXED);
    while (inside < GATE_CLOSED)
        if (__atomic_compare_exchange_n(&pool->gate, &inside, inside + 1, 1, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return 1;
    return 0;
}

static void gate_leave(struct pool *pool)
{
    if (__atomic_sub_fetch(&pool->gate, 1, __ATOMIC_ACQ_REL) == GATE_CLOSED) {
        pthread_mutex_lock(&pool->sleep);
        pthread_cond_signal(&pool->left);
        pthread_mutex_unlock(&pool->sleep);
    }
}

static unsigned wait_for_ticket(struct pool *pool, unsigned seen)
{
    unsigned ticket;
    int spins;
    for (spins = 0; spins < WORKER_SPINS; spins++) {
        ticket = __atomic_load_n(&pool->ticket, __ATOMIC_ACQUIRE);
        if (ticket != seen)
            return ticket;
        relax();
    }
    pthread_mutex_lock(&pool->sleep);
    __atomic_add_fetch(&pool->sleepers, 1, __ATOMIC_SEQ_CST);
    while ((ticket = __atomic_load_n(&pool->ticket, __ATOMIC_SEQ_CST)) == seen)
        pthread_cond_wait(&pool->wake, &pool->sleep);
    __atomic_sub_fetch(&pool->sleepers, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&pool->sleep);
    return ticket;
}

static void *work(void *argument)
{
    const struct worker *worker = argument;
    struct pool *pool = worker->pool;
    void *scratch = NULL;
    size_t scratch_size = 0;
    unsigned seen = 0;
    float_begin(); /* a thread inherits its maker's state */
    for (;;) {
        seen = wait_for_ticket(pool, seen);
        if (!gate_join(pool))
            continue;
        /* without scratch this worker stays out: the caller does the work */
        if (scratch_grow(&scratch, &scratch_size, pool->scratch_bytes))
            draw_chunks(pool, worker->index, scratch);
        gate_leave(pool);
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
    pool = calloc(1, sizeof *pool);
    if (pool != NULL)
        pool->workers = calloc((size_t)threads, sizeof *pool->workers);
    if (pool == NULL || pool->workers == NULL ||
        posix_memalign((void **)&pool->shares, 64, (size_t)threads * sizeof *pool->shares) != 0) {
        if (pool != NULL)
            free(pool->workers);
        free(pool);
        return tile_rt_fail(TILE_ERR_OOM, "no memory for the pool of threads");
    }
    pthread_mutex_init(&pool->owner, NULL);
    pthread_mutex_init(&pool->sleep, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->left, NULL);
    pool->threads = threads;
    pool->gate = GATE_CLOSED;
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

static void close_gate(struct pool *pool)
{
    int spins;
    if (__atomic_or_fetch(&pool->gate, GATE_CLOSED, __ATOMIC_ACQ_REL) == GATE_CLOSED)
        return;
    for (spins = 0; spins < CALLER_SPINS; spins++) {
        if (__atomic_load_n(&pool->gate, __ATOMIC_ACQUIRE) == GATE_CLOSED)
            return;
        relax();
    }
    pthread_mutex_lock(&pool->sleep);
    while (__atomic_load_n(&pool->gate, __ATOMIC_ACQUIRE) != GATE_CLOSED)
        pthread_cond_wait(&pool->left, &pool->sleep);
    pthread_mutex_unlock(&pool->sleep);
}

static void open_gate(struct pool *pool)
{
    __atomic_store_n(&pool->gate, 0, __ATOMIC_RELEASE);
    __atomic_add_fetch(&pool->ticket, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&pool->sleepers, __ATOMIC_SEQ_CST) > 0) {
        pthread_mutex_lock(&pool->sleep);
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->sleep);
    }
}

static int64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Waking a thread costs some microseconds.  Where all sleep, the first program tells what the others will take, and a
 * small job is done by the caller alone.  Gives the number of programs done. */
static int64_t try_alone(struct pool *pool, int64_t grain)
{
    int64_t programs = pool->programs, begin = nanoseconds(), one;
    int64_t first = grain < programs ? grain : programs;
    pool->function(pool->slots, 0, first, pool->scratch);
    one = (nanoseconds() - begin) / first;
    if (one > WAKE_NANOSECONDS / programs)
        return first;
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
    /* Four chunks a thread even out threads of unequal speed, and keep neighbours' programs on one thread. */
    pool->chunk = size / 4 > grain ? size / 4 : grain;
}

/* Under pool->owner. */
static int run_job(struct pool *pool, const struct tile_rt_call *call, int64_t grain)
{
    const struct tile_rt_variant *variant = call->variant;
    int64_t done = 0;
    if (!pool->started)
        start_workers(pool);
    if (!scratch_grow(&pool->scratch, &pool->scratch_size, (size_t)variant->scratch_bytes))
        return tile_rt_fail(TILE_ERR_OOM, "%s: no memory for %lld bytes of scratch", call->kernel->name,
                            (long long)variant->scratch_bytes);
    pool->function = variant->function;
    pool->slots = call->slots;
    pool->programs = call->programs;
    pool->scratch_bytes = (size_t)variant->scratch_bytes;
    if (pool->threads == 1 || call->programs <= grain) {
        variant->function(call->slots, 0, call->programs, pool->scratch);
        return TILE_OK;
    }
    if (__atomic_load_n(&pool->sleepers, __ATOMIC_RELAXED) == pool->threads - 1)
        done = try_alone(pool, grain);
    if (done == call->programs)
        return TILE_OK;
    divide_job(pool, done, grain);
    open_gate(pool);
    draw_chunks(pool, 0, pool->scratch);
    close_gate(pool);
    return TILE_OK;
}

int tile_rt_cpu_launch(struct tile_rt_call *call)
{
    int64_t grain = call->variant->grain > 0 ? call->variant->grain : 1;
    struct pool *pool;
    int status = find_pool(&pool);
    float_state before;
    if (status != TILE_OK)
        return status;
    tile_rt_say("%s: %lld programs of variant %u on %s", call->kernel->name, (long long)call->programs,
                (unsigned)call->variant_index, call->target->name);
    before = float_begin();
    if (pthread_mutex_trylock(&pool->owner) == 0) {
        status = run_job(pool, call, grain);
        pthread_mutex_unlock(&pool->owner);
    } else {
        status = run_alone(call);
    }
    float_end(before);
    return status;
}
