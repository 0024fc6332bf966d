/* UTF-8 decoding and display widths, without the process's locale: output is the same under any. */
#include "base/unicode.h"

#include <ctype.h>
#include <string.h>

int32_t unicode_decode(const char *text, size_t size, int *length)
{
    const unsigned char *byte = (const unsigned char *)text;
    *length = 1;
    if (byte[0] < 0x80)
        return byte[0];
    int more = byte[0] >= 0xf0 && byte[0] < 0xf5   ? 3
               : byte[0] >= 0xe0 && byte[0] < 0xf0 ? 2
               : byte[0] >= 0xc2 && byte[0] < 0xe0 ? 1
                                                   : 0;
    if (!more || (size_t)more >= size)
        return -1;
    int32_t character = byte[0] & (0x3f >> more);
    for (int i = 1; i <= more; i++) {
        if ((byte[i] & 0xc0) != 0x80)
            return -1;
        character = character << 6 | (byte[i] & 0x3f);
    }
    static const int32_t least[] = {0, 0x80, 0x800, 0x10000};
    if (character < least[more] || character > 0x10ffff || (character >= 0xd800 && character < 0xe000))
        return -1;
    *length = more + 1;
    return character;
}

struct range {
    int32_t first, last;
};

static bool in_ranges(const struct range *ranges, size_t count, int32_t character)
{
    for (size_t i = 0; i < count; i++)
        if (character >= ranges[i].first && character <= ranges[i].last)
            return true;
    return false;
}
#define IN(ranges, character) in_ranges(ranges, sizeof(ranges) / sizeof *(ranges), character)

int unicode_width(int32_t character)
{
    static const struct range zero[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},
                                        {0x64b, 0x65f},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200d},
                                        {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef}};
    static const struct range wide[] = {{0x1100, 0x115f},  {0x2e80, 0x303e},   {0x3041, 0x4dbf},   {0x4e00, 0xa4cf},
                                        {0xac00, 0xd7a3},  {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
                                        {0xffe0, 0xffe6},  {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff},
                                        {0x20000, 0x3fffd}};
    if (character < 0x300)
        return 1;
    return IN(zero, character) ? 0 : IN(wide, character) ? 2 : 1;
}

bool unicode_is_hostile(int32_t character)
{
    static const struct range hostile[] = {{0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},  {0x200e, 0x200f},
                                           {0x2028, 0x202e}, {0x2066, 0x2069}, {0xfeff, 0xfeff}};
    return character < 0 || IN(hostile, character);
}

/* U+00C0 to U+017F without their marks. */
static const char plain_letters[] =
    "A A A A A A AEC E E E E I I I I D N O O O O O _ O U U U U Y THssa a a a a a aec e e e e i i i i d n o o o o o _ o u "
    "u u u y thy A a A a A a C c C c C c C c D d D d E e E e E e E e E e G g G g G g G g H h H h I i I i I i I i I i "
    "IJijJ j K k k L l L l L l L l L l N n N n N n n N n O o O o O o OEoeR r R r R r S s S s S s S s T t T t T t U u "
    "U u U u U u U u U u W w Y y Y Z z Z z Z z s ";

void unicode_put_name(struct buffer *out, const char *text)
{
    int length;
    for (size_t left = strlen(text); left; left -= (size_t)length, text += length) {
        int32_t character = unicode_decode(text, left, &length);
        if (character < 0xc0) {
            bool plain = character > 0 && character < 0x80 && (isalnum(character) || character == '_');
            buffer_putc(out, plain ? (char)character : '_');
        } else if (character >= 0xc0 && character < 0x180) {
            const char *letters = &plain_letters[2 * (character - 0xc0)];
            buffer_append(out, letters, letters[1] == ' ' ? 1 : 2);
        } else {
            buffer_printf(out, "u%x", (unsigned)character);
        }
    }
}
