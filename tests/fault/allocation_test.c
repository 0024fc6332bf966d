/* Every allocation of the compiler fails once, and from some point on all do: the answer is always exit code 4 and one
 * line, and outputs are as they were.
 *
 *     allocation_test         the first allocations, then ever fewer of the later ones
 *     allocation_test full    all of them
 *
 * The compiler runs once; at an allocation that shall fail it is forked, the copy gets NULL, and the original waits for
 * the copy's end, judges it and goes on.  So one run reaches every allocation.  Two stretches cannot be reached this
 * way, because copies would be in each other's way: workers, whose parent must be a copy, too, and the commit of the
 * outputs.  There the whole compiler is forked before the stretch, again and again, and the n-th copy fails at the
 * stretch's n-th allocation, until a copy comes through.
 *
 * Arenas are compiled without blocks here, so that every object in one is an allocation.  LLVM's own allocations are
 * C++'s, which end in an abort of the worker; tests/cli/files.bats limits the memory for those. */
#define ARENA_BLOCK_SIZE 0
#include "base/arena.c"

#define main tilecc_main
#include "driver/main.c"
#undef main

#include "base/process.h"
#include "support/fault.h"

#include <sys/wait.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
bool __real_output_set_commit(struct output_set *set, const char **failed);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
bool __wrap_output_set_commit(struct output_set *set, const char **failed);
pid_t __wrap_fork(void);
pid_t __real_process_start(struct process *process, const void *input, size_t input_size, struct child_limits limits,
                           struct child_result *result, int *output_descriptor);
pid_t __wrap_process_start(struct process *process, const void *input, size_t input_size, struct child_limits limits,
                           struct child_result *result, int *output_descriptor);

static enum { OFF, WATCH, COUNT_DOWN, ARMED_FOR_WORKER } mode;
static long left;     /* COUNT_DOWN: allocations until one fails */
static bool for_good; /* then all after it fail, too */
static long number;   /* WATCH: of this allocation */
static long next;     /* WATCH: the next one that shall fail */
static bool thorough;
static const struct fault_subject *subject;

/* Dense at first, then ever sparser. */
static long after(long here, long dense, long sparseness)
{
    return thorough || here < dense ? here + 1 : here + 1 + here / sparseness;
}

static void judge(int status, const char *where, long at, bool fired)
{
    const char *problem = NULL;
    bool ended = WIFEXITED(status);
    fault_page->cases++;
    if (!fired) {
        if (!ended || WEXITSTATUS(status) != subject->code)
            problem = "nothing failed, and yet";
        else
            problem = subject->code ? fault_check_untouched(subject) : fault_check_complete(subject);
    } else {
        if (!ended || WEXITSTATUS(status) != EXIT_MACHINE_TOO_SMALL)
            problem = "the code is wrong";
        else if (strcmp(fault_said(), "tilecc: error: out of memory\n") != 0)
            problem = "the words are wrong";
        const char *files = fault_check_untouched(subject);
        if (files)
            problem = files;
    }
    if (problem)
        fault_report(subject, where, at, status, problem);
}

/* Forks the compiler for each allocation of a stretch that begins here.  True in a copy, which goes on. */
static bool copies_for_stretch(const char *where, int copy_mode)
{
    for (long n = 1;; n = after(n, 6, 4)) {
        fault_page->fired = 0;
        pid_t copy = __real_fork();
        if (copy == 0) {
            fault_silence();
            mode = copy_mode;
            left = n;
            for_good = n % 2;
            return true;
        }
        mode = OFF;
        int status = fault_wait(copy);
        judge(status, where, n, fault_page->fired);
        mode = WATCH;
        if (!fault_page->fired || fault_page->failures > 20)
            return false;
    }
}

/* Whether this allocation fails; in the copy that was made for it, it does. */
static bool fails(void)
{
    if (mode == OFF || mode == ARMED_FOR_WORKER)
        return false;
    if (mode == COUNT_DOWN) {
        if (--left > 0 || (left < 0 && !for_good))
            return false;
        fault_page->fired = 1;
        return true;
    }
    number++;
    if (number < next || fault_page->failures > 20)
        return false;
    next = after(number, 100, 100);
    pid_t copy = __real_fork();
    if (copy == 0) {
        fault_silence();
        mode = COUNT_DOWN;
        left = 0;
        for_good = number % 2;
        fault_page->fired = 1;
        return true;
    }
    mode = OFF;
    judge(fault_wait(copy), "allocation", number, true);
    mode = WATCH;
    return false;
}

void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return fails() ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *memory, size_t size) { return fails() ? NULL : __real_realloc(memory, size); }

/* A worker, or a tool that a worker runs. */
pid_t __wrap_process_start(struct process *process, const void *input, size_t input_size, struct child_limits limits,
                           struct child_result *result, int *output_descriptor)
{
    if (mode == WATCH)
        copies_for_stretch("allocation of a worker", ARMED_FOR_WORKER);
    return __real_process_start(process, input, input_size, limits, result, output_descriptor);
}

pid_t __wrap_fork(void)
{
    bool is_armed = mode == ARMED_FOR_WORKER;
    if (is_armed)
        mode = OFF;
    pid_t id = __real_fork();
    if (id == 0)
        mode = is_armed ? COUNT_DOWN : mode == COUNT_DOWN ? mode : OFF;
    return id;
}

bool __wrap_output_set_commit(struct output_set *set, const char **failed)
{
    if (mode == WATCH && !copies_for_stretch("allocation of the commit", COUNT_DOWN))
        mode = OFF;
    return __real_output_set_commit(set, failed);
}

static void run_subject(bool watched)
{
    pid_t id = __real_fork();
    if (id == 0) {
        fault_silence();
        alarm(0);
        mode = watched ? WATCH : OFF;
        next = 1;
        fault_run(subject);
    }
    judge(fault_wait(id), "the run", 0, false);
}

int main(int count, char **arguments)
{
    thorough = count > 1 && strcmp(arguments[1], "full") == 0;
    fault_begin();
    for (int i = 0; i < fault_subject_count; i++) {
        subject = &fault_subjects[i];
        if (!fault_can_run(subject))
            continue;
        run_subject(false);
        run_subject(true);
        printf("%s: %ld faults so far\n", subject->name, fault_page->cases);
        fflush(stdout);
    }
    return fault_end();
}
