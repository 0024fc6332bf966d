/* Response files: @file stands for the words in file, split at white space, with GNU's quoting: '...' and "..." keep
 * white space, a backslash keeps the next character (also inside double quotes).  A word @other inside is opened too,
 * to a depth. An @file that does not exist stays as it is, as GNU tools have it. */
#include "driver/options.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

enum { DEEPEST = 16, LARGEST_BYTES = 16 << 20 };

static bool expand_word(struct arena *arena, const char *word, int depth, struct argument_list *out,
                        const char **failed);

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }

/* One word at *at, moved behind it. */
static const char *next_word(struct arena *arena, const char **at, const char *end)
{
    struct buffer word = {0};
    char quote = 0;
    const char *p = *at;
    buffer_append(&word, "", 0);
    for (; p < end && (quote || !is_space(*p)); p++) {
        if (*p == '\\' && quote != '\'' && p + 1 < end)
            buffer_putc(&word, *++p);
        else if (quote && *p == quote)
            quote = 0;
        else if (!quote && (*p == '\'' || *p == '"'))
            quote = *p;
        else
            buffer_putc(&word, *p);
    }
    *at = p;
    const char *copy = arena_substring(arena, word.data, word.size);
    buffer_free(&word);
    return copy;
}

static bool expand_file(struct arena *arena, const char *path, int depth, struct argument_list *out,
                        const char **failed)
{
    struct buffer text = {0};
    *failed = path;
    if (depth > DEEPEST) {
        errno = ELOOP;
        return false;
    }
    if (!file_read(path, LARGEST_BYTES, &text)) {
        int reason = errno;
        buffer_free(&text);
        errno = reason;
        return false;
    }
    const char *at = text.data, *end = text.data + text.size;
    bool ok = true;
    while (ok) {
        while (at < end && is_space(*at))
            at++;
        if (at == end)
            break;
        ok = expand_word(arena, next_word(arena, &at, end), depth, out, failed);
    }
    int reason = errno;
    buffer_free(&text);
    errno = reason;
    return ok;
}

static bool expand_word(struct arena *arena, const char *word, int depth, struct argument_list *out,
                        const char **failed)
{
    if (word[0] == '@' && word[1] && access(word + 1, F_OK) == 0)
        return expand_file(arena, word + 1, depth + 1, out, failed);
    vector_push(arena, &out->words, word);
    return true;
}

bool response_expand(struct arena *arena, int count, const char *const *arguments, struct argument_list *out,
                     const char **failed)
{
    for (int i = 0; i < count; i++)
        if (!expand_word(arena, arguments[i], 0, out, failed))
            return false;
    return true;
}
