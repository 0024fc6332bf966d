/* What every room of the compiler stands on: memory, text, vectors, places in sources, diagnostics.
 * Knows nothing of compilers.  Files and child processes are in base/file.h and base/child.h. */
#ifndef TILECC_BASE_H
#define TILECC_BASE_H
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- memory: arenas by lifetime; nobody frees one object ------------------------------------------------------ */

struct arena;
struct arena *arena_create(void);
void arena_destroy(struct arena *arena);
/* Zeroed, aligned for any type, never NULL (no memory: die).  Size 0 gives a valid unique pointer. */
void *arena_alloc(struct arena *arena, size_t size);
void *arena_copy(struct arena *arena, const void *data, size_t size);
char *arena_string(struct arena *arena, const char *text);                 /* a copy of text */
char *arena_substring(struct arena *arena, const char *text, size_t size); /* a copy of size bytes, terminated */
char *arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define ARENA_NEW(arena, type) ((type *)arena_alloc((arena), sizeof(type)))
#define ARENA_ARRAY(arena, type, count) ((type *)arena_alloc((arena), sizeof(type) * (size_t)(count)))

/* Vector of `type` in an arena:  VECTOR(int) v = {0};  vector_push(arena, &v, 3);  v.data[i], v.count. */
#define VECTOR(type)         \
    struct {                 \
        type *data;          \
        int count, capacity; \
    }
void *vector_grow(struct arena *arena, void *data, int *capacity, int count, size_t element_size);
#define vector_push(arena, vector, value)                                                                     \
    ((vector)->count == (vector)->capacity                                                                    \
         ? (void)((vector)->data = vector_grow((arena), (vector)->data, &(vector)->capacity, (vector)->count, \
                                               sizeof *(vector)->data))                                       \
         : (void)0,                                                                                           \
     (void)((vector)->data[(vector)->count++] = (value)))

/* ---- text ----------------------------------------------------------------------------------------------------- */

/* Growing bytes, always followed by a NUL that size does not count.  Start from {0}; release with buffer_free. */
struct buffer {
    char *data;
    size_t size, capacity;
};
void buffer_append(struct buffer *buffer, const void *data, size_t size);
void buffer_puts(struct buffer *buffer, const char *text);
void buffer_putc(struct buffer *buffer, char character);
void buffer_put_number(struct buffer *buffer, int64_t number); /* as %lld prints it */
void buffer_printf(struct buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buffer_vprintf(struct buffer *buffer, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));
void buffer_free(struct buffer *buffer);

/* Interned text: equal texts are the same pointer, so names compare with ==.  Lives as long as the table. */
struct intern_table;
struct intern_table *intern_create(struct arena *arena);
const char *intern(struct intern_table *table, const char *text);
const char *intern_range(struct intern_table *table, const char *text, size_t size);

/* ---- places in sources ---------------------------------------------------------------------------------------- */

/* One file's text, kept for carets.  `name` is as the user wrote it. */
struct source {
    const char *name;
    const char *text;
    size_t size;
    struct source *next;
};

/* A range inside one line; lines and columns count from 1, columns in bytes.  source may be NULL: no place.  An
 * operation that a call brought (calls are inlined) knows that call: NULL in all other places. */
struct inlined_call;
struct location {
    const struct source *source;
    int line, column, end_column;
    const struct inlined_call *inlined;
};
struct inlined_call {
    const char *function;
    struct location declared; /* the function */
    struct location at;       /* the call, maybe in an inlined function itself */
};

/* The bytes of the line of a place, without its end; NULL: there is no such line. */
const char *source_line(struct location at, size_t *size);

/* ---- diagnostics ---------------------------------------------------------------------------------------------- */

/* diagnostics.def lists every code once: DIAGNOSTIC(E0101, error, "short-name", "one line", "explain page"). */
enum diagnostic_code {
#define DIAGNOSTIC(code, severity, name, summary, page) DIAGNOSTIC_##code,
#include "base/diagnostics.def"
#undef DIAGNOSTIC
    DIAGNOSTIC_COUNT
};
enum severity { SEVERITY_note, SEVERITY_remark, SEVERITY_warning, SEVERITY_error };

struct diagnostic_info {
    const char *code;
    enum severity severity;
    const char *name, *summary, *page;
};
extern const struct diagnostic_info diagnostic_info[DIAGNOSTIC_COUNT];

struct note {
    struct location at;
    const char *text;
    struct note *next;
};
/* How sure a fix-it is.  certain: what is meant has one spelling, and this is it: what was wrong there is gone, and the
 * meaning is the one that was written.  probable: most likely meant, and worth a look.  hint: a direction; it may not
 * compile by itself. */
enum fixit_grade { FIXIT_CERTAIN, FIXIT_PROBABLE, FIXIT_HINT };
/* Replace the text of `at` by `replacement`. */
struct fixit {
    struct location at;
    enum fixit_grade grade;
    const char *replacement;
    struct fixit *next;
};
/* One of the kernel instances that a warning or remark about a line is true for, with what differs between them. */
struct instance_line {
    const char *text;
    struct instance_line *next;
};
struct diagnostic {
    enum diagnostic_code code;
    enum severity severity;
    struct location at;
    const char *text;
    struct note *notes, *last_note;
    struct fixit *fixits;
    struct instance_line *instances, *last_instance;
    struct diagnostic *next;
};

/* Collects; the driver prints.  After `limit` errors (0: no limit) errors are counted but not kept. */
struct diagnostics {
    struct arena *arena;
    struct diagnostic *first, *last, *shown; /* shown: the last one that was */
    int errors, warnings, limit;
    bool warnings_are_errors;
    signed char enabled[DIAGNOSTIC_COUNT]; /* 0: as the table says; 1: on; -1: off; 2: an error (-Werror=name) */
};
struct diagnostics *diagnostics_create(struct arena *arena);
/* Adds one; never NULL, so that notes and fix-its can be hung on it.  An identical one (code, place, text) is not
 * repeated: the first is returned again. */
struct diagnostic *diag_report(struct diagnostics *diagnostics, enum diagnostic_code code, struct location at,
                               const char *format, ...) __attribute__((format(printf, 4, 5)));
struct diagnostic *diag_vreport(struct diagnostics *diagnostics, enum diagnostic_code code, struct location at,
                                const char *format, va_list arguments);
void diag_note(struct diagnostics *diagnostics, struct diagnostic *diagnostic, struct location at, const char *format,
               ...) __attribute__((format(printf, 4, 5)));
void diag_fixit(struct diagnostics *diagnostics, struct diagnostic *diagnostic, struct location at,
                enum fixit_grade grade, const char *replacement);
/* Forgets what was reported since `before`, a copy; the first error of it, or NULL. */
const struct diagnostic *diag_take_back(struct diagnostics *diagnostics, const struct diagnostics *before);
/* Once each; text may be NULL, which is none. */
void diag_instance(struct diagnostics *diagnostics, struct diagnostic *diagnostic, const char *text);
/* Renders in the form  file:line:col: error: text [E0312]  with source line and carets, notes, fix-its; those that came
 * since the last time. */
void diag_print(struct diagnostics *diagnostics, FILE *out, bool color);
void diag_print_json(struct diagnostics *diagnostics, FILE *out); /* one object a line */
/* The text as a string of JSON, with its quotes. */
void buffer_put_json(struct buffer *out, const char *text);

/* Our own bug, or no memory: prints and aborts (the driver turns the abort into exit code 70). */
_Noreturn void die_at(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define die(...) die_at(__FILE__, __LINE__, __VA_ARGS__)
/* No memory, or no more processes or descriptors: says so and ends with the code for that. */
enum { EXIT_MACHINE_TOO_SMALL = 4 };
_Noreturn void memory_exhausted(void);
_Noreturn void machine_too_small(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- small arithmetic ----------------------------------------------------------------------------------------- */

static inline int64_t int64_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t int64_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline bool is_power_of_two(int64_t n) { return n > 0 && (n & (n - 1)) == 0; }
static inline int log2_floor(uint64_t n) { return n ? 63 - __builtin_clzll(n) : -1; }
static inline int64_t ceiling_divide(int64_t a, int64_t b) { return a / b + (a % b > 0); }

#endif
