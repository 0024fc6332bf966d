/* The pool of threads: every program once, from one thread, from many callers at once, after fork, with scratch. */
#include "case.h"
#include "kernels.h"
#include <dirent.h>
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

enum { PROGRAMS = 4000, CALLERS = 8 };

struct record {
    char *map;
    int64_t bad_scratch;
};

/* slots: address of the record, count, base */
static void mark(const uint64_t *slots, int64_t begin, int64_t end, void *scratch)
{
    struct record *record = (struct record *)(uintptr_t)slots[0];
    unsigned char *bytes = scratch;
    if ((uintptr_t)scratch % 64 != 0)
        __atomic_add_fetch(&record->bad_scratch, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 100; i++)
        bytes[i] = (unsigned char)begin;
    for (int64_t i = begin; i < end; i++)
        __atomic_add_fetch(&record->map[i], 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 100; i++)
        if (bytes[i] != (unsigned char)begin)
            __atomic_add_fetch(&record->bad_scratch, 1, __ATOMIC_RELAXED);
}

/* A part of a microsecond a program: enough to be worth sharing. */
static void mark_slowly(const uint64_t *slots, int64_t begin, int64_t end, void *scratch)
{
    volatile int64_t work = (end - begin) * 100;
    while (work > 0)
        work--;
    mark(slots, begin, end, scratch);
}

static const int32_t code[] = {OP(scalar, 1), OP(end, 0)};
static const struct tile_rt_parameter parameters[] = {
    {.name = "record", .kind = TILE_RT_PARAMETER_scalar, .type = TILE_RT_TYPE_u64},
    {.name = "n", .kind = TILE_RT_PARAMETER_scalar, .type = TILE_RT_TYPE_i64},
};
static const int32_t grid[] = {0};
static const struct tile_rt_variant variants[] = {{.grid = grid, .function = mark, .text = "", .scratch_bytes = 100}};
static const struct tile_rt_target targets[] = {
    {"cpu-baseline", TILE_RT_TARGET_cpu, TILE_RT_ISA_baseline, 0, 1, variants}};
/* n is a parameter of the grid only in name: it has a slot too. */
static const struct tile_rt_kernel kernel = {
    .abi = TILE_RT_ABI,
    .parameter_count = 2,
    .grid_rank = 1,
    .target_count = 1,
    .slot_count = 2,
    .name = "mark",
    .parameters = parameters,
    .targets = targets,
    .code = code,
    .load_name = "mark_load",
};

static const struct tile_rt_variant slow_variants[] = {
    {.grid = grid, .function = mark_slowly, .text = "", .scratch_bytes = 100}};
static const struct tile_rt_target slow_targets[] = {
    {"cpu-baseline", TILE_RT_TARGET_cpu, TILE_RT_ISA_baseline, 0, 1, slow_variants}};
static const struct tile_rt_kernel slow_kernel = {
    .abi = TILE_RT_ABI,
    .parameter_count = 2,
    .grid_rank = 1,
    .target_count = 1,
    .slot_count = 2,
    .name = "mark_slowly",
    .parameters = parameters,
    .targets = slow_targets,
    .code = code,
    .load_name = "mark_load",
};

static int launch_of(const struct tile_rt_kernel *what, struct record *record, int64_t n)
{
    uint64_t address = (uintptr_t)record;
    const void *arguments[2];
    arguments[0] = &address;
    arguments[1] = &n;
    return tile_rt_launch(what, TILE_CPU, arguments);
}

static int launch(struct record *record, int64_t n) { return launch_of(&kernel, record, n); }

static int every_program_once(int64_t n, int rounds)
{
    char *map = calloc((size_t)n + 1, 1);
    struct record record = {map, 0};
    int bad = 0;
    for (int round = 1; round <= rounds; round++) {
        if (launch(&record, n) != TILE_OK)
            bad++;
        for (int64_t i = 0; i <= n; i++)
            bad += map[i] != (i < n ? 1 : 0);
        memset(map, 0, (size_t)n + 1);
    }
    free(map);
    return bad + (record.bad_scratch != 0);
}

static void sizes(void)
{
    setenv("TILE_CPU_THREADS", "4", 1);
    for (int64_t n = 0; n < 70; n++)
        EXPECT(every_program_once(n, 3) == 0);
    EXPECT(every_program_once(100000, 3) == 0);
}
static void one_thread(void)
{
    setenv("TILE_CPU_THREADS", "1", 1);
    EXPECT(every_program_once(PROGRAMS, 20) == 0);
}
static void many_threads(void)
{
    setenv("TILE_CPU_THREADS", "32", 1);
    EXPECT(every_program_once(PROGRAMS, 50) == 0);
}
/* Short jobs and longer ones of two functions, one behind the other: workers join, come late, steal or do not. */
static void bursts(void)
{
    static const int64_t sizes[] = {40, 1, 400, 7, 90, 3000};
    char *map = calloc(3001, 1);
    struct record record = {map, 0};
    setenv("TILE_CPU_THREADS", "4", 1);
    for (int round = 0; round < 600; round++) {
        int64_t n = sizes[round % 6];
        int bad = launch_of(round % 3 ? &slow_kernel : &kernel, &record, n) != TILE_OK;
        for (int64_t i = 0; i <= n; i++)
            bad += map[i] != (i < n ? 1 : 0);
        EXPECT(bad == 0);
        memset(map, 0, 3001);
    }
    EXPECT(record.bad_scratch == 0);
    free(map);
}
static void after_sleep(void)
{
    setenv("TILE_CPU_THREADS", "4", 1);
    for (int i = 0; i < 20; i++) {
        usleep(3000); /* workers go to sleep */
        EXPECT(every_program_once(200, 1) == 0);
    }
}

static void *caller(void *result)
{
    *(int *)result = every_program_once(PROGRAMS, 50);
    return NULL;
}
static void many_callers(void)
{
    pthread_t threads[CALLERS];
    int results[CALLERS];
    setenv("TILE_CPU_THREADS", "4", 1);
    for (int i = 0; i < CALLERS; i++)
        EXPECT(pthread_create(&threads[i], NULL, caller, &results[i]) == 0);
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        EXPECT(results[i] == 0);
    }
}

static void fork_before(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(every_program_once(PROGRAMS, 5) != 0);
    waitpid(child, &status, 0);
    EXPECT(status == 0);
    EXPECT(every_program_once(PROGRAMS, 5) == 0);
}
static void fork_after(void)
{
    setenv("TILE_CPU_THREADS", "4", 1);
    EXPECT(every_program_once(PROGRAMS, 5) == 0);
    for (int i = 0; i < 10; i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0)
            _exit(every_program_once(PROGRAMS, 5) != 0);
        waitpid(child, &status, 0);
        EXPECT(status == 0);
        EXPECT(every_program_once(PROGRAMS, 5) == 0);
    }
}
static void errno_kept(void)
{
    struct record record = {NULL, 0};
    errno = 4711;
    launch(&record, 0);
    EXPECT(errno == 4711);
    EXPECT(launch(&record, -1) == TILE_OK);
    EXPECT(errno == 4711);
}

/* Signals of the program go to its own threads. */
static volatile int signals_elsewhere;
static pthread_t main_thread;
static void on_alarm(int number)
{
    (void)number;
    if (!pthread_equal(pthread_self(), main_thread))
        signals_elsewhere = 1;
}
static void signals(void)
{
    struct itimerval timer = {{0, 1000}, {0, 1000}};
    main_thread = pthread_self();
    setenv("TILE_CPU_THREADS", "4", 1);
    alarm(0);
    signal(SIGALRM, on_alarm);
    EXPECT(every_program_once(PROGRAMS, 1) == 0);
    setitimer(ITIMER_REAL, &timer, NULL);
    EXPECT(every_program_once(PROGRAMS, 100) == 0);
    EXPECT(!signals_elsewhere);
}

static int entries_of(const char *folder)
{
    DIR *directory = opendir(folder);
    int count = 0;
    while (directory && readdir(directory))
        count++;
    closedir(directory);
    return count;
}
/* The kernel takes a moment to forget a thread. */
static int threads_become(int threads)
{
    for (int i = 0; i < 100 && entries_of("/proc/self/task") != threads; i++)
        usleep(1000);
    return entries_of("/proc/self/task") == threads;
}
static void *one_call(void *bad)
{
    if (every_program_once(50, 1) != 0)
        __atomic_add_fetch((int *)bad, 1, __ATOMIC_RELAXED);
    return NULL;
}
/* Threads that come, call and go leave no file, thread or memory behind. */
static void short_lived_threads(void)
{
    int files, threads, bad = 0;
    setenv("TILE_CPU_THREADS", "3", 1);
    EXPECT(every_program_once(PROGRAMS, 1) == 0);
    files = entries_of("/proc/self/fd");
    threads = entries_of("/proc/self/task");
    for (int round = 0; round < 40; round++) {
        pthread_t all[8];
        for (int i = 0; i < 8; i++)
            EXPECT(pthread_create(&all[i], NULL, one_call, &bad) == 0);
        for (int i = 0; i < 8; i++)
            pthread_join(all[i], NULL);
    }
    EXPECT(bad == 0);
    EXPECT(entries_of("/proc/self/fd") == files && threads_become(threads));
}

/* The program's rounding does not reach kernels, and kernels leave it alone. */
static void rounded(const uint64_t *slots, int64_t begin, int64_t end, void *scratch)
{
    struct record *record = (struct record *)(uintptr_t)slots[0];
    volatile float one = 1.0f, tiny = 1e-9f, small = 1e-39f;
    (void)scratch;
    for (int64_t i = begin; i < end; i++)
        record->map[i] = one + tiny == one && small * one != 0.0f;
}
static void every_thread_rounds(void)
{
    static const struct tile_rt_variant variant[] = {{.grid = grid, .function = rounded, .text = ""}};
    static const struct tile_rt_target target[] = {{"cpu-baseline", TILE_RT_TARGET_cpu, 0, 0, 1, variant}};
    struct tile_rt_kernel other = kernel;
    struct record record = {calloc(PROGRAMS, 1), 0};
    uint64_t address = (uintptr_t)&record;
    int64_t n = PROGRAMS;
    const void *arguments[2] = {&address, &n};
    int bad = 0;
    other.targets = target;
    setenv("TILE_CPU_THREADS", "4", 1);
    fesetround(FE_UPWARD);
    EXPECT(tile_rt_launch(&other, TILE_CPU, arguments) == TILE_OK);
    EXPECT(fegetround() == FE_UPWARD);
    for (int i = 0; i < PROGRAMS; i++)
        bad += record.map[i] != 1;
    EXPECT(bad == 0);
    free(record.map);
}
static void float_state(void) { every_thread_rounds(); }

/* ---- threads of the program ---- */

enum { LENT = 4 };
/* Four threads a call, which take the pieces in turn, or the calling thread alone from the last piece to the first, or
 * nothing: what it leaves out the launch does. */
struct engine {
    enum { ENGINE_THREADS, ENGINE_BACKWARDS, ENGINE_NOTHING } kind;
    int calls;
    int64_t most; /* pieces of a call */
};
struct lent_call {
    tile_piece *piece;
    void *data;
    int64_t next, count;
};
static void *run_pieces(void *argument)
{
    struct lent_call *call = argument;
    int64_t index;
    while ((index = __atomic_fetch_add(&call->next, 1, __ATOMIC_RELAXED)) < call->count)
        call->piece(call->data, index);
    return NULL;
}
static void engine_run(void *context, int64_t count, tile_piece *piece, void *data)
{
    struct engine *engine = context;
    struct lent_call call = {piece, data, 0, count};
    pthread_t threads[LENT];
    __atomic_add_fetch(&engine->calls, 1, __ATOMIC_RELAXED);
    if (count > __atomic_load_n(&engine->most, __ATOMIC_RELAXED))
        __atomic_store_n(&engine->most, count, __ATOMIC_RELAXED);
    for (int64_t i = count; engine->kind == ENGINE_BACKWARDS && i > 0; i--)
        piece(data, i - 1);
    if (engine->kind != ENGINE_THREADS)
        return;
    for (int i = 0; i < LENT; i++)
        EXPECT(pthread_create(&threads[i], NULL, run_pieces, &call) == 0);
    for (int i = 0; i < LENT; i++)
        pthread_join(threads[i], NULL);
}

static void *nothing(void *argument) { return argument; }
/* Threads before the case: the first that is made makes one of a sanitizer, too. */
static int count_threads(void)
{
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, nothing, NULL) == 0);
    pthread_join(thread, NULL);
    usleep(20000);
    return entries_of("/proc/self/task");
}

static void lent_threads(void)
{
    int before = count_threads();
    setenv("TILE_CPU_THREADS", "4", 1);
    for (int kind = ENGINE_THREADS; kind <= ENGINE_NOTHING; kind++) {
        struct engine engine = {kind, 0, 0};
        tile_set_parallel_for(engine_run, &engine);
        EXPECT(every_program_once(1, 3) == 0 && engine.calls == 0); /* nothing to share */
        for (int64_t n = 2; n < 70; n++)
            EXPECT(every_program_once(n, 1) == 0);
        EXPECT(every_program_once(PROGRAMS, 5) == 0);
        EXPECT(engine.calls == 68 + 5 && engine.most == 4);
        EXPECT(threads_become(before)); /* no worker of the pool */
        tile_set_parallel_for(NULL, NULL);
        EXPECT(engine.calls == 68 + 5);
    }
    EXPECT(every_program_once(PROGRAMS, 5) == 0);
    EXPECT(threads_become(before + 3));
}
static void lent_to_many_callers(void)
{
    struct engine engine = {ENGINE_THREADS, 0, 0};
    pthread_t threads[CALLERS];
    int results[CALLERS];
    setenv("TILE_CPU_THREADS", "4", 1);
    tile_set_parallel_for(engine_run, &engine);
    for (int i = 0; i < CALLERS; i++)
        EXPECT(pthread_create(&threads[i], NULL, caller, &results[i]) == 0);
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(threads[i], NULL);
        EXPECT(results[i] == 0);
    }
    EXPECT(engine.calls == CALLERS * 50);
}
/* A launch takes function and context of one call of tile_set_parallel_for(), whoever sets others meanwhile. */
static void odd_run(void *context, int64_t count, tile_piece *piece, void *data)
{
    EXPECT(*(int *)context == 1);
    for (int64_t i = 0; i < count; i++)
        piece(data, i);
}
static void even_run(void *context, int64_t count, tile_piece *piece, void *data)
{
    EXPECT(*(int *)context == 2);
    for (int64_t i = 0; i < count; i++)
        piece(data, i);
}
static void lent_and_taken_back(void)
{
    static int odd = 1, even = 2;
    pthread_t threads[2];
    int results[2];
    setenv("TILE_CPU_THREADS", "4", 1);
    for (int i = 0; i < 2; i++)
        EXPECT(pthread_create(&threads[i], NULL, caller, &results[i]) == 0);
    for (int round = 0; round < 3000; round++) {
        tile_set_parallel_for(odd_run, &odd);
        tile_set_parallel_for(even_run, &even);
        if (round % 3 == 0)
            tile_set_parallel_for(NULL, NULL);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
        EXPECT(results[i] == 0);
    }
}
static void lent_before_fork(void)
{
    struct engine engine = {ENGINE_THREADS, 0, 0};
    int status = -1;
    pid_t child;
    setenv("TILE_CPU_THREADS", "4", 1);
    tile_set_parallel_for(engine_run, &engine);
    child = fork();
    if (child == 0)
        _exit(every_program_once(PROGRAMS, 5) != 0 || engine.calls != 0);
    waitpid(child, &status, 0);
    EXPECT(status == 0);
    EXPECT(every_program_once(PROGRAMS, 5) == 0 && engine.calls == 5);
}

/* Which thread ran each program. */
static void note_thread(const uint64_t *slots, int64_t begin, int64_t end, void *scratch)
{
    pthread_t *ran = (pthread_t *)(uintptr_t)slots[0];
    volatile int64_t work = (end - begin) * 1000;
    (void)scratch;
    while (work > 0)
        work--;
    for (int64_t i = begin; i < end; i++)
        ran[i] = pthread_self();
}
static void lent_float_state(void)
{
    struct engine engine = {ENGINE_THREADS, 0, 0};
    tile_set_parallel_for(engine_run, &engine); /* whose threads inherit the caller's rounding */
    every_thread_rounds();
    EXPECT(engine.calls == 1);
}
static void this_thread(void)
{
    static const struct tile_rt_variant variant[] = {{.grid = grid, .function = note_thread, .text = ""}};
    static const struct tile_rt_target target[] = {{"cpu-baseline", TILE_RT_TARGET_cpu, 0, 0, 1, variant}};
    static pthread_t ran[PROGRAMS];
    struct tile_launch_options options = {sizeof options, TILE_LAUNCH_THIS_THREAD, 0, 0};
    struct engine engine = {ENGINE_THREADS, 0, 0};
    struct tile_rt_kernel noting = kernel;
    uint64_t address = (uintptr_t)ran;
    int before = count_threads();
    int64_t n = PROGRAMS;
    const void *arguments[2] = {&address, &n};
    noting.targets = target;
    setenv("TILE_CPU_THREADS", "4", 1);
    for (int lent = 0; lent < 2; lent++) {
        int elsewhere = 0;
        memset(ran, 0, sizeof ran);
        tile_set_parallel_for(lent ? engine_run : NULL, &engine);
        EXPECT_STATUS(tile_rt_launch_ex(&noting, TILE_CPU, arguments, &options), TILE_OK, "");
        for (int i = 0; i < PROGRAMS; i++)
            elsewhere += !pthread_equal(ran[i], pthread_self());
        EXPECT(elsewhere == 0 && engine.calls == 0 && entries_of("/proc/self/task") == before);
    }
    EXPECT_STATUS(tile_rt_launch(&noting, TILE_CPU, arguments), TILE_OK, "");
    EXPECT(engine.calls == 1);
}

/* Each program waits for the one in front of it, which only one that has started may be. */
static void wait_in_turn(const uint64_t *slots, int64_t begin, int64_t end, void *scratch)
{
    int64_t *turn = (int64_t *)(uintptr_t)slots[0];
    (void)scratch;
    for (int64_t i = begin; i < end; i++) {
        while (__atomic_load_n(turn, __ATOMIC_ACQUIRE) != i)
            continue;
        __atomic_store_n(turn, i + 1, __ATOMIC_RELEASE);
    }
}
static void ordered_rounds(const char *threads, int rounds)
{
    static const struct tile_rt_variant turns[] = {{.grid = grid, .function = wait_in_turn, .text = ""}};
    static const struct tile_rt_target turn_targets[] = {
        {"cpu-baseline", TILE_RT_TARGET_cpu, TILE_RT_ISA_baseline, 0, 1, turns}};
    struct tile_rt_kernel taking = kernel;
    taking.targets = turn_targets;
    taking.ordered = 1;
    setenv("TILE_CPU_THREADS", threads, 1);
    for (int round = 0; round < rounds; round++) {
        int64_t turn = 0, n = round % 7 == 0 ? 20000 : 1 + round * 37 % 300;
        uint64_t address = (uintptr_t)&turn;
        const void *arguments[2];
        arguments[0] = &address;
        arguments[1] = &n;
        EXPECT_STATUS(tile_rt_launch(&taking, TILE_CPU, arguments), TILE_OK, "");
        EXPECT(turn == n);
    }
}
static void ordered(void) { ordered_rounds("2", 60); }
static void ordered_alone(void) { ordered_rounds("1", 10); }
static void ordered_crowded(void) { ordered_rounds("32", 10); }
static void ordered_lent(void)
{
    for (int kind = ENGINE_THREADS; kind <= ENGINE_BACKWARDS; kind++) {
        struct engine engine = {kind, 0, 0};
        tile_set_parallel_for(engine_run, &engine);
        ordered_rounds("2", 20);
    }
}

int main(int count, char **arguments)
{
    static const struct test_case cases[] = {
        CASE(sizes),
        CASE(one_thread),
        CASE(many_threads),
        CASE(bursts),
        CASE(after_sleep),
        CASE(many_callers),
        CASE(fork_before),
        CASE(fork_after),
        CASE(errno_kept),
        CASE(signals),
        CASE(float_state),
        CASE(short_lived_threads),
        CASE(ordered),
        CASE(ordered_alone),
        CASE(ordered_crowded),
        CASE(ordered_lent),
        CASE(lent_threads),
        CASE(lent_to_many_callers),
        CASE(lent_and_taken_back),
        CASE(lent_before_fork),
        CASE(this_thread),
        CASE(lent_float_state),
    };
    return run_cases(cases, (int)(sizeof cases / sizeof cases[0]), count > 1 ? arguments[1] : NULL);
}
