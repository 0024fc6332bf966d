/* Running the compiler inside a test while calls that it makes fail.  A program that uses this is linked with
 * --wrap=fork (and whatever calls it takes over), and holds the compiler's main as tilecc_main.
 *
 * A subject is one command line in a folder of its own, which holds sources and old outputs.  Whatever fails, afterwards
 * the old outputs are there byte for byte or all new ones are, nothing else is, and the exit code and the words fit. */
#ifndef TILECC_TEST_FAULT_H
#define TILECC_TEST_FAULT_H
#include <stdbool.h>
#include <sys/types.h>

struct fault_subject {
    const char *name;
    const char *const *arguments; /* of tilecc, with its name, ended by NULL */
    const char *const *outputs;   /* ended by NULL */
    int code;                     /* of a run in which nothing fails */
    bool is_slow;                 /* or much like another */
    bool needs_ptxas;
};

int tilecc_main(int count, char **arguments);
/* The C library's, past --wrap=fork. */
pid_t __real_fork(void);

/* Makes the folder, the files and the shared page; enters the folder. */
void fault_begin(void);
/* Removes them; the number of failures, for main. */
int fault_end(void);
/* Memory that all processes of the test share, zeroed by fault_begin. */
struct fault_page {
    long calls, fired, failures, cases;
};
extern struct fault_page *fault_page;

/* In a fresh process: everything that it says goes to one file; then it is up to the caller. */
void fault_silence(void);
/* What it said, NUL-terminated, in memory that the next call reuses. */
const char *fault_said(void);
void fault_report(const struct fault_subject *subject, const char *where, long number, int status, const char *problem);
/* Old outputs as before the run, sources, and nothing else: NULL, else what is wrong. */
const char *fault_check_untouched(const struct fault_subject *subject);
/* All outputs new and the same as the first time this was asked: NULL, else what is wrong.  Makes them old again. */
const char *fault_check_complete(const struct fault_subject *subject);
/* Runs the subject in this process and ends it with the compiler's code. */
_Noreturn void fault_run(const struct fault_subject *subject);
/* Waits for a process and gives its status. */
int fault_wait(pid_t id);

extern const struct fault_subject fault_subjects[];
extern const int fault_subject_count;
/* Whether this machine has what it needs. */
bool fault_can_run(const struct fault_subject *subject);
#endif
