/* Orders of machine code as text, for files of --tuning: the places whose instruction or control bits are not ptxas', a
 * row of neighbours a line.
 *
 *     1a0: 1b0.0fe842 1a0.0fc800
 *
 * At 1a0, in bytes from the kernel's start, comes what ptxas had at 1b0, with the control bits 0fe842, and behind it what
 * was at 1a0.  The key is a digest of the kernel's code as ptxas made it. */
#include "base/digest.h"
#include "targets/nvptx/native/private.h"

#include <string.h>

const char *native_digest(struct arena *arena, const void *text, size_t size)
{
    struct buffer digits = {0};
    digest_print_of(&digits, text, size);
    const char *digest = arena_substring(arena, digits.data, NATIVE_DIGEST_DIGITS);
    buffer_free(&digits);
    return digest;
}

static bool is_moved(const struct native_code *original, const struct native_code *code, int at)
{
    return code->instructions[at].origin != at ||
           native_bits(&code->instructions[at].control) != native_bits(&original->instructions[at].control);
}

void native_write_order(const struct native_code *original, const struct native_code *code, struct buffer *out)
{
    for (int i = 0; i < code->count; i++) {
        if (!is_moved(original, code, i))
            continue;
        bool begins = i == 0 || !is_moved(original, code, i - 1);
        const struct native_instruction *in = &code->instructions[i];
        if (begins)
            buffer_printf(out, "    %x:", (unsigned)i * NATIVE_BYTES);
        buffer_printf(out, " %x.%06x", (unsigned)in->origin * NATIVE_BYTES, (unsigned)native_bits(&in->control));
        if (i + 1 == code->count || !is_moved(original, code, i + 1))
            buffer_puts(out, "\n");
    }
}

/* Hexadecimal digits up to `end`; -1: there are none, or they say more than `limit`. */
static int64_t read_digits(const char **at, char end, int64_t limit)
{
    int64_t value = 0;
    const char *from = *at;
    for (; **at && strchr("0123456789abcdef", **at); ++*at) {
        value = value * 16 + (**at <= '9' ? **at - '0' : **at - 'a' + 10);
        if (value > limit)
            return -1;
    }
    if (*at == from || (end && **at != end))
        return -1;
    *at += end != 0;
    return value;
}

static int64_t read_place(const struct native_code *code, const char **at, char end)
{
    int64_t place = read_digits(at, end, (int64_t)code->count * NATIVE_BYTES - 1);
    return place < 0 || place % NATIVE_BYTES ? -1 : place / NATIVE_BYTES;
}

static bool read_line(const struct native_code *original, struct native_code *code, const char **at)
{
    enum { ALL_BITS = (1 << 21) - 1 };
    *at += strspn(*at, " \t");
    int64_t to = read_place(original, at, ':');
    while (to >= 0 && **at != '\n' && **at) {
        *at += strspn(*at, " \t");
        int64_t from = read_place(original, at, '.'), bits = from < 0 ? -1 : read_digits(at, 0, ALL_BITS);
        if (bits < 0 || to >= code->count)
            return false;
        code->instructions[to] = original->instructions[from];
        code->instructions[to++].control = native_control_of((uint64_t)bits);
    }
    *at += **at == '\n';
    return to >= 0;
}

struct native_code *native_read_order(const struct native_code *original, const char *text, const char **problem)
{
    struct native_faults faults = {.arena = original->arena, .limit = 1};
    *problem = original->problem;
    if (*problem)
        return NULL;
    struct native_code *code = native_copy(original);
    while (*text && !*problem)
        if (!read_line(original, code, &text))
            *problem = "a line is `PLACE: PLACE.BITS …` in hexadecimal digits, of places in the kernel's code";
    if (!*problem && native_check_order(original, code, &faults) + native_check_times(code, &faults) > 0)
        *problem = faults.list.count ? faults.list.data[0].text : "it is wrong";
    return *problem ? NULL : code;
}
