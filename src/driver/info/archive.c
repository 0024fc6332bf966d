/* Archives, as `ar` makes them of objects: "!<arch>\n", and for each member a header of 60 characters and its bytes, up to an
 * even place.  A name of 16 characters ends with '/'; a longer one is "/123", a place in the member "//" of names. */
#include "driver/info/archive.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER = 60, NAME = 16, SIZE_AT = 48, SIZE_DIGITS = 10 };
static const char magic[] = "!<arch>\n";

bool archive_open(const void *data, size_t size, struct archive *archive)
{
    *archive = (struct archive){.data = data, .size = size, .at = sizeof magic - 1};
    return size >= archive->at && memcmp(data, magic, archive->at) == 0;
}

static const char *name_of(struct archive *archive, const char *header, struct arena *arena)
{
    const char *text = header;
    size_t most = NAME;
    if (header[0] == '/' && header[1] >= '0' && header[1] <= '9') {
        char digits[NAME + 1] = {0};
        memcpy(digits, header + 1, NAME - 1);
        uint64_t place = strtoull(digits, NULL, 10);
        if (place >= archive->names_size)
            return "";
        text = archive->names + place;
        most = archive->names_size - place;
    }
    size_t length = 0;
    while (length < most && text[length] != '/' && text[length] != '\n')
        length++;
    return arena_substring(arena, text, length);
}

bool archive_next(struct archive *archive, struct arena *arena, struct archive_member *member)
{
    while (archive->size >= HEADER && archive->at <= archive->size - HEADER) {
        const char *header = archive->data + archive->at;
        char digits[SIZE_DIGITS + 1] = {0};
        memcpy(digits, header + SIZE_AT, SIZE_DIGITS);
        uint64_t size = strtoull(digits, NULL, 10);
        size_t begin = archive->at + HEADER;
        if (size > archive->size - begin)
            return false;
        archive->at = begin + size + size % 2;
        if (header[0] == '/' && header[1] == '/') {
            archive->names = archive->data + begin;
            archive->names_size = size;
        } else if (header[0] != '/' || (header[1] >= '0' && header[1] <= '9')) {
            *member = (struct archive_member){name_of(archive, header, arena), archive->data + begin, size};
            return true;
        }
    }
    return false;
}
