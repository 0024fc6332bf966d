/* tilecc explain CODE: the page of a diagnostic, from diagnostics.def.  Without a code: the index. */
#include "driver/driver.h"

#include <string.h>
#include <strings.h>

enum { PAGE_WIDTH = 78 };

static const char *const severity_words[] = {"note", "remark", "warning", "error"};

/* Text filled to lines; line ends in it are kept. */
static void print_filled(const char *text)
{
    size_t column = 0;
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, " \n");
        if (column && column + 1 + length > PAGE_WIDTH)
            column = (putchar('\n'), 0);
        if (column && length)
            putchar(' ');
        fwrite(at, 1, length, stdout);
        column += length + (column && length);
        at += length;
        if (*at == '\n')
            column = (putchar('\n'), 0);
        if (*at)
            at++;
    }
    putchar('\n');
}

int explain_main(int count, const char *const *arguments)
{
    if (count > 1) {
        driver_error(NULL, "explain takes one code");
        return EXIT_USAGE;
    }
    const char *code = count ? arguments[0] : ""; /* as messages show it: E0302, [-Wpadding], -Werror=padding */
    code += *code == '[';
    const char *name = strncmp(code, "-Werror=", 8) == 0 ? code + 8 : strncmp(code, "-W", 2) == 0 ? code + 2 : code;
    size_t length = strcspn(name, "]");
    for (int i = 0; i < DIAGNOSTIC_COUNT; i++) {
        const struct diagnostic_info *info = &diagnostic_info[i];
        if (count == 0)
            printf("%s %-8s %-24s %s\n", info->code, severity_words[info->severity], info->name, info->summary);
        else if ((strncasecmp(name, info->code, length) == 0 && !info->code[length]) ||
                 (strncmp(name, info->name, length) == 0 && !info->name[length])) {
            printf("%s (%s, %s): %s\n\n", info->code, severity_words[info->severity], info->name, info->summary);
            print_filled(info->page);
            return EXIT_OK;
        }
    }
    if (count == 0)
        return EXIT_OK;
    driver_error(NULL, "there is no diagnostic '%s'; 'tilecc explain' lists all", arguments[0]);
    return EXIT_USAGE;
}
