/* From bytes to trees: reading files, checking that they are text, running the grammar, following imports. */
#include "front/syntax/parser.h"
#include "base/file.h"
#include "base/unicode.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST_SOURCE = 16 << 20, MOST_FILES = 1000 };

static void report_encoding(struct parser *parser, const char *line_start, int line, const char *at, int length,
                            int32_t character)
{
    struct location place = {.source = parser->source,
                             .line = line,
                             .column = (int)(at - line_start) + 1,
                             .end_column = (int)(at - line_start) + 1 + length};
    if (character < 0)
        parser_report_at(parser, DIAGNOSTIC_E0104, place, "the byte 0x%02x is not UTF-8", (unsigned)(unsigned char)*at);
    else
        parser_report_at(parser, DIAGNOSTIC_E0104, place, "the character U+%04X changes the direction of writing",
                         (unsigned)character);
}

/* Characters that make a source look different from what it says: the bidirectional embeddings, overrides and
 * isolates. */
static bool turns_direction(int32_t character)
{
    return (character >= 0x202a && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069) ||
           character == 0x200e || character == 0x200f || character == 0x061c;
}

/* The first byte that is not UTF-8 and the first turning character are reported; the rest is left to the scanner.
 * False: there is a NUL byte, so this is no text at all and not worth reading (Flex takes quadratic time over tokens
 * with NULs, too). */
static bool check_encoding(struct parser *parser)
{
    const char *text = parser->source->text, *end = text + parser->source->size, *line_start = text;
    bool invalid = false, turning = false;
    int line = 1, length;
    for (const char *at = text; at < end; at += length) {
        length = 1;
        if (*at == 0) {
            struct location place = {.source = parser->source,
                                     .line = line,
                                     .column = (int)(at - line_start) + 1,
                                     .end_column = (int)(at - line_start) + 2};
            parser_report_at(parser, DIAGNOSTIC_E0104, place, "a byte 0x00: this is not a text");
            return false;
        }
        if (*at == '\n') {
            line++;
            line_start = at + 1;
        }
        if ((unsigned char)*at < 0x80)
            continue;
        int32_t character = unicode_decode(at, (size_t)(end - at), &length);
        bool *seen = character < 0 ? &invalid : &turning;
        if ((character >= 0 && !turns_direction(character)) || *seen)
            continue;
        *seen = true;
        report_encoding(parser, line_start, line, at, length, character);
    }
    return true;
}

struct ast_file *parse_file(struct parse_context *context, const struct source *source)
{
    struct parser parser = {.context = context, .source = source, .line = 1, .end = source->size};
    struct ast_file *file = ARENA_NEW(context->arena, struct ast_file);
    file->source = source;
    parser.file = file;
    if (source->size > LARGEST_SOURCE) {
        parser_report_at(&parser, DIAGNOSTIC_E0802, (struct location){.source = source},
                         "a source is at most 16 MiB, this one has %zu bytes", source->size);
        return file;
    }
    if (!check_encoding(&parser))
        return file;
    parser.errors_before_declaration = parser.errors_before_statement = parser.errors;
    if (source->size >= 3 && memcmp(source->text, "\xef\xbb\xbf", 3) == 0)
        parser.offset = 3; /* a byte order mark */
    token_stream_open(&parser);
    scanner_open(&parser);
    grammar_run(&parser);
    scanner_close(&parser);
    buffer_free(&parser.doc);
    return file;
}

bool parse_is_text(struct parse_context *context, const struct source *source)
{
    struct parser parser = {.context = context, .source = source, .file = ARENA_NEW(context->arena, struct ast_file)};
    return check_encoding(&parser) && parser.errors == 0;
}

const struct ast_expression *parse_expression(struct parse_context *context, struct location at, size_t offset,
                                              size_t end)
{
    struct parser parser = {.context = context,
                            .source = at.source,
                            .file = ARENA_NEW(context->arena, struct ast_file),
                            .line = at.line,
                            .offset = offset,
                            .line_start = offset - (size_t)(at.column - 1),
                            .end = end,
                            .is_alone = true};
    token_stream_open(&parser);
    scanner_open(&parser);
    grammar_run(&parser);
    scanner_close(&parser);
    buffer_free(&parser.doc);
    return parser.errors ? NULL : parser.alone;
}

/* ---- files ---- */

static const struct source *make_source(struct parse_context *context, const char *name, const char *text, size_t size)
{
    struct source *source = ARENA_NEW(context->arena, struct source);
    source->name = arena_string(context->arena, name);
    source->text = arena_substring(context->arena, text, size);
    source->size = size;
    return source;
}

const struct source *parse_open(struct parse_context *context, const char *path, struct location at)
{
    struct buffer bytes = {0};
    if (!file_read(path, LARGEST_SOURCE, &bytes)) {
        int reason = errno;
        buffer_free(&bytes);
        if (reason == EFBIG)
            diag_report(context->diagnostics, DIAGNOSTIC_E0802, at, "`%s` is larger than 16 MiB", path);
        else
            diag_report(context->diagnostics, DIAGNOSTIC_E0801, at, "cannot read `%s`: %s", path, strerror(reason));
        return NULL;
    }
    const struct source *source = make_source(context, path, bytes.data ? bytes.data : "", bytes.size);
    buffer_free(&bytes);
    return source;
}

/* ---- imports ---- */

/* Whether there is a file, readable or not: one that is in the way is better named than passed over. */
static bool is_there(const char *path) { return access(path, F_OK) == 0; }

/* Where `path` is: beside the importing file, in the folders of -I in order.  NULL: nowhere. */
static const char *find_import(struct parse_context *context, const char *importer, const char *path)
{
    if (path[0] == '/')
        return is_there(path) ? path : NULL;
    const char *slash = strrchr(importer, '/');
    const char *beside = slash ? arena_printf(context->arena, "%.*s/%s", (int)(slash - importer), importer, path)
                               : path;
    if (slash == importer)
        beside = arena_printf(context->arena, "/%s", path);
    if (is_there(beside))
        return beside;
    for (int i = 0; i < context->import_folder_count; i++) {
        const char *there = arena_printf(context->arena, "%s/%s", context->import_folders[i], path);
        if (is_there(there))
            return there;
    }
    return NULL;
}

/* Takes "./" and "x/../" out, so that one file has one name however it is reached. */
static const char *normalize(struct parse_context *context, const char *path)
{
    char *out = arena_alloc(context->arena, strlen(path) + 1);
    size_t size = 0;
    for (const char *part = path; *part;) {
        size_t length = strcspn(part, "/");
        if (length == 2 && memcmp(part, "..", 2) == 0) {
            size_t start = size;
            while (start > 0 && (start == size || out[start - 1] != '/'))
                start--;
            bool can_climb = size > 0 && strcmp(out + start, "../") != 0 && !(size == 1 && out[0] == '/');
            if (can_climb) {
                size = start;
            } else {
                memcpy(out + size, "../", 3);
                size += part[length] ? 3 : 2;
            }
        } else if (length == 0) {
            if (size == 0)
                out[size++] = '/';
        } else if (length != 1 || part[0] != '.') {
            memcpy(out + size, part, length);
            size += length;
            if (part[length])
                out[size++] = '/';
        }
        out[size] = 0;
        part += length + (part[length] == '/');
    }
    return out;
}

static struct ast_file *find_file(struct parse_context *context, const char *name)
{
    for (struct ast_file *file = context->files; file; file = file->next)
        if (strcmp(normalize(context, file->source->name), name) == 0)
            return file;
    return NULL;
}

static void append_file(struct parse_context *context, struct ast_file *file)
{
    struct ast_file **end = &context->files;
    while (*end)
        end = &(*end)->next;
    *end = file;
}

static struct ast_file *read_import(struct parse_context *context, const struct source *importer,
                                    const struct ast_declaration *declaration)
{
    const char *path = declaration->path;
    if (!path || !*path || strlen(path) > 4096) {
        diag_report(context->diagnostics, DIAGNOSTIC_E0801, declaration->at, "this names no file");
        return NULL;
    }
    const char *found = find_import(context, importer->name, path);
    const struct source *source = NULL;
    if (found) {
        found = normalize(context, found);
        struct ast_file *known = find_file(context, found);
        if (known)
            return known;
        source = parse_open(context, found, declaration->at);
        if (source && context->imported)
            context->imported(found, context->imported_context);
    } else {
        size_t size = 0;
        const char *text = context->library_text ? context->library_text(path, &size) : NULL;
        const char *name = arena_printf(context->arena, "<library>/%s", path);
        struct ast_file *known = find_file(context, name);
        if (known)
            return known;
        if (text)
            source = make_source(context, name, text, size);
        else {
            struct diagnostic *d = diag_report(context->diagnostics, DIAGNOSTIC_E0801, declaration->at,
                                               "cannot find `%s`", path);
            diag_note(context->diagnostics, d, (struct location){0},
                      "looked beside the importing file and in the folders of -I");
        }
    }
    if (!source)
        return NULL;
    struct ast_file *file = parse_file(context, source);
    append_file(context, file);
    return file;
}

struct ast_file *parse_program(struct parse_context *context, const struct source *source)
{
    struct ast_file *main = parse_file(context, source);
    append_file(context, main);
    int count = 0;
    for (struct ast_file *file = main; file; file = file->next) {
        for (int i = 0; i < file->declarations.count; i++) {
            struct ast_declaration *declaration = file->declarations.data[i];
            if (declaration->kind != DECLARATION_IMPORT)
                continue;
            if (count++ >= MOST_FILES) {
                diag_report(context->diagnostics, DIAGNOSTIC_E0803, declaration->at,
                            "a program imports at most %d files", MOST_FILES);
                context->import_missing = true;
                return main;
            }
            declaration->imported = read_import(context, file->source, declaration);
            if (!declaration->imported)
                file->has_errors = context->import_missing = true;
        }
    }
    return main;
}
