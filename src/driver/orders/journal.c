/* The journal of a search: a line an answer,
 *
 *     RUN QUESTION 0 -0x1.2p-10 0x1.8p-12 0x1.1p-8
 *
 * RUN tells what the search depends on beside its answers, QUESTION what was asked, then whether it failed, the ratio, its
 * error and the seconds, in hexadecimal digits, so that they are read as they were.  A search that is begun again asks the
 * same questions in the same order, up to where it was interrupted. */
#include "driver/orders/orders.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

/* False: the line is no answer of the run. */
static bool read_line(const char *line, const char *run, struct orders_kept *kept)
{
    size_t length = strlen(run);
    int failed, used = 0;
    if (strncmp(line, run, length) != 0 || line[length] != ' ')
        return false;
    line += length + 1;
    bool good = sscanf(line, "%" SCNx64 " %d %la %la %la%n", &kept->question, &failed, &kept->answer.ratio,
                       &kept->answer.error, &kept->answer.seconds, &used) == 5;
    kept->answer.failed = failed;
    /* By other numbers the search's clock would stand still, or go back. */
    return good && line[used] == 0 && isfinite(kept->answer.ratio) && isfinite(kept->answer.error) &&
           isfinite(kept->answer.seconds) && kept->answer.seconds >= 0;
}

bool orders_journal_open(struct arena *arena, struct orders_journal *journal, const char *path, const char *run)
{
    struct buffer text = {0};
    *journal = (struct orders_journal){.file = -1, .run = run};
    bool there = file_read(path, 1u << 30, &text);
    if (!there && errno != ENOENT)
        return false;
    size_t at = 0;
    while (at < text.size) {
        struct orders_kept kept;
        const char *end = memchr(text.data + at, '\n', text.size - at);
        if (!end) /* cut off: what is left of a number may look like one */
            break;
        const char *line = arena_substring(arena, text.data + at, (size_t)(end - text.data) - at);
        if (read_line(line, run, &kept))
            vector_push(arena, &journal->kept, kept);
        at = (size_t)(end - text.data) + 1;
    }
    bool cut = at < text.size;
    buffer_free(&text);
    journal->file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    return journal->file >= 0 && (!cut || ftruncate(journal->file, (off_t)at) == 0);
}

void orders_journal_close(struct orders_journal *journal)
{
    if (journal->file >= 0)
        close(journal->file);
    journal->file = -1;
}

bool orders_journal_find(struct orders_journal *journal, uint64_t question, struct orders_answer *answer)
{
    if (journal->next >= journal->kept.count)
        return false;
    const struct orders_kept *kept = &journal->kept.data[journal->next];
    if (kept->question != question) { /* another compiler asked: what follows is of no use */
        journal->next = journal->kept.count;
        return false;
    }
    journal->next++;
    *answer = kept->answer;
    return true;
}

void orders_journal_add(struct orders_journal *journal, uint64_t question, const struct orders_answer *answer)
{
    struct buffer line = {0};
    buffer_printf(&line, "%s %" PRIx64 " %d %a %a %a\n", journal->run, question, answer->failed, answer->ratio,
                  answer->error, answer->seconds);
    ssize_t ignored = journal->file >= 0 ? write(journal->file, line.data, line.size) : 0;
    (void)ignored; /* without it the search cannot be gone on with, which it can do without */
    buffer_free(&line);
}
