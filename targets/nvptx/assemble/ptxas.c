/* See ptxas.h. */
#include "targets/nvptx/assemble/ptxas.h"

#include <string.h>
#include <time.h>

enum { MOST_ARGUMENTS = 64, ARCHITECTURE_SIZE = 64, FEW_BYTES = 32 };

/* The command line, ended by NULL; architecture holds the text of one argument. */
static void put_arguments(const struct target_options *options, const struct target_row *row,
                          const char *arguments[MOST_ARGUMENTS], char architecture[ARCHITECTURE_SIZE])
{
    int n = 0;
    snprintf(architecture, ARCHITECTURE_SIZE, "-arch=%s", row->name);
    arguments[n++] = options->ptxas;
    arguments[n++] = architecture;
    if (options->optimization == 0)
        arguments[n++] = "-O1";
    if (options->line_info)
        arguments[n++] = "-lineinfo";
    for (int i = 0; i < options->xptxas_count && n < MOST_ARGUMENTS - 8; i++)
        arguments[n++] = options->xptxas[i];
    arguments[n++] = "/dev/stdin";
    arguments[n++] = "-o";
    arguments[n++] = "/dev/stdout";
    arguments[n++] = "-v"; /* spills are said nowhere else */
    arguments[n] = NULL;
}

void ptxas_print_command(const struct target_options *options, const struct target_row *row, const char *function)
{
    const char *arguments[MOST_ARGUMENTS];
    char architecture[ARCHITECTURE_SIZE];
    put_arguments(options, row, arguments, architecture);
    for (int i = 0; arguments[i]; i++)
        fprintf(options->log, "%s ", arguments[i]);
    fprintf(options->log, " # %s\n", function);
}

bool ptxas_put_key(const struct target_options *options, const struct target_row *row, int threads, bool is_own_limit,
                   struct buffer *key)
{
    const char *arguments[MOST_ARGUMENTS];
    char architecture[ARCHITECTURE_SIZE];
    put_arguments(options, row, arguments, architecture);
    for (int i = 0; arguments[i]; i++)
        buffer_append(key, arguments[i], strlen(arguments[i]) + 1);
    buffer_printf(key, "\nthreads %d\nown limit %d\n", threads, is_own_limit);
    return cache_put_file(key, options->ptxas);
}

static long long number_before(const char *text, const char *at)
{
    long long value;
    while (at > text && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return sscanf(at, "%lld", &value) == 1 ? value : -1;
}

/* "    2048 bytes stack frame, 96 bytes spill stores, 120 bytes spill loads" and "Used 255 registers". */
struct ptxas_usage ptxas_read_usage(const char *notes)
{
    static const char words[] = " bytes stack frame,";
    struct ptxas_usage usage = {-1, 0, 0, -1};
    const char *found = strstr(notes, words), *used = strstr(notes, "Used ");
    if (found &&
        sscanf(found + sizeof words - 1, " %lld bytes spill stores, %lld bytes spill loads", &usage.stores,
               &usage.loads) == 2 &&
        usage.stores >= 0 && usage.loads >= 0)
        usage.frame = number_before(notes, found);
    if (used && (sscanf(used, "Used %d registers", &usage.registers) != 1 || usage.registers < 0))
        usage.registers = -1;
    return usage;
}

bool ptxas_spills(const struct ptxas_usage *usage)
{
    return usage->frame >= 0 && (usage->stores > FEW_BYTES || usage->loads > 2 * FEW_BYTES);
}

static bool run_once(const struct target_options *options, const struct target_row *row, struct child_limits limits,
                     const struct buffer *ptx, struct child_result *result)
{
    const char *arguments[MOST_ARGUMENTS];
    char architecture[ARCHITECTURE_SIZE];
    put_arguments(options, row, arguments, architecture);
    return child_run(arguments, options->line_info ? "." : "/", ptx->data, ptx->size, limits, result);
}

/* The text with that promise; false: the text or the command line bounds registers already. */
static bool allow_all_registers(const struct target_options *options, const struct buffer *ptx, struct buffer *out)
{
    for (int i = 0; i < options->xptxas_count; i++)
        if (strstr(options->xptxas[i], "maxrregcount"))
            return false;
    const char *line = strstr(ptx->data, "\n.maxntid "), *end = line ? strchr(line + 1, '\n') : NULL;
    if (!end || strstr(ptx->data, "\n.minnctapersm ") || strstr(ptx->data, "\n.maxnreg "))
        return false;
    buffer_append(out, ptx->data, (size_t)(end + 1 - ptx->data));
    buffer_puts(out, ".minnctapersm 1\n");
    buffer_puts(out, end + 1);
    return true;
}

/* The text with registers for one block fewer; false: it names no limit, or that is for one block. */
static bool raise_limit(const struct target_row *row, int threads, const struct buffer *ptx, struct buffer *out)
{
    static const char words[] = "\n.maxnreg ";
    const char *line = strstr(ptx->data, words), *end = line ? strchr(line + 1, '\n') : NULL;
    int limit;
    if (!end || sscanf(line + sizeof words - 1, "%d", &limit) != 1 || limit <= 0)
        return false;
    int blocks = target_registers(row) / (limit * threads);
    if (blocks < 2)
        return false;
    buffer_append(out, ptx->data, (size_t)(line - ptx->data));
    if (blocks > 2)
        buffer_printf(out, "%s%d", words, target_thread_registers(row, threads / 32 * (blocks - 1)));
    else
        buffer_puts(out, "\n.minnctapersm 1");
    buffer_puts(out, end);
    return true;
}

/* The text with more registers, where there are more to have and memory is in their place. */
static bool give_registers(const struct target_options *options, const struct target_row *row, int threads,
                           bool is_own_limit, const struct ptxas_usage *usage, const struct buffer *ptx,
                           struct buffer *out)
{
    if (usage->stores + usage->loads == 0)
        return false;
    if (is_own_limit && raise_limit(row, threads, ptx, out))
        return true;
    return usage->registers >= 0 &&
           usage->registers + TARGET_REGISTER_STEP <= target_thread_registers(row, threads / 32) &&
           allow_all_registers(options, ptx, out);
}

static int64_t seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static void replace(struct buffer *old, struct buffer *with)
{
    buffer_free(old);
    *old = *with;
    *with = (struct buffer){0};
}

bool ptxas_run(const struct target_options *options, const struct target_row *row, int threads, bool is_own_limit,
               struct child_limits limits, struct buffer *ptx, struct child_result *result)
{
    int64_t end = seconds_now() + limits.seconds;
    if (!run_once(options, row, limits, ptx, result))
        return false;
    struct ptxas_usage usage = ptxas_read_usage(result->errors.size ? result->errors.data : "");
    struct buffer text = {0};
    bool better = true;
    while (better && (limits.seconds = (int)(end - seconds_now())) > 0 &&
           give_registers(options, row, threads, is_own_limit, &usage, ptx, &text)) {
        struct child_result again = {0};
        bool good = run_once(options, row, limits, &text, &again);
        struct ptxas_usage other = ptxas_read_usage(again.errors.size ? again.errors.data : "");
        better = good && other.frame >= 0 && other.stores + other.loads < usage.stores + usage.loads;
        if (better) {
            replace(&result->output, &again.output);
            replace(&result->errors, &again.errors);
            replace(ptx, &text);
            usage = other;
        }
        buffer_free(&again.output);
        buffer_free(&again.errors);
        buffer_free(&text);
    }
    return true;
}
