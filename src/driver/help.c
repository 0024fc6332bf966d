/* --help, from options.def: what is there. */
#include "driver/options.h"

#include <string.h>

enum { HELP_COLUMN = 30 };

static void print_spelling(struct buffer *out, const struct option_info *option)
{
    buffer_printf(out, "  %s", option->spelling);
    switch (option->form) {
    case FORM_FLAG: break;
    case FORM_JOINED: buffer_printf(out, " %s", option->argument); break;
    case FORM_ATTACHED: buffer_puts(out, option->argument); break;
    case FORM_VALUE:
    case FORM_EQUALS: buffer_printf(out, "=%s", option->argument); break;
    case FORM_OPTIONAL: buffer_printf(out, "[=%s]", option->argument); break;
    }
}

void help_print(FILE *file)
{
    struct buffer out = {0};
    buffer_puts(&out,
                "Usage: tilecc [options] file.tile ...          make an object and a C header of each source\n"
                "       tilecc info [--json | --extract=TARGET[:KERNEL]] FILE.o\n"
                "                                               what an object made by tilecc holds\n"
                "       tilecc explain CODE                     what a diagnostic means\n"
                "       tilecc test [options] file.tile ...     run the `test` blocks of sources\n"
                "       tilecc bench [options] file.tile CALL ... [NAME=VALUES ...]\n"
                "                                               time calls: 'softmax_f16([4096, N])' N=256..16384*2\n"
                "       tilecc tune [options] file.tile CALL ... [NAME=VALUES ...]\n"
                "                                               measure which schedule is better where, and write it\n"
                "A file of \"-\" is standard input; @FILE stands for the arguments in FILE.\n");
    const char *group = "";
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (option_info[i].state == STATE_LATER)
            continue;
        if (strcmp(option_info[i].group, group) != 0)
            buffer_printf(&out, "\n%s:\n", option_info[i].group);
        group = option_info[i].group;
        size_t begin = out.size;
        print_spelling(&out, &option_info[i]);
        size_t width = out.size - begin;
        if (width >= HELP_COLUMN)
            buffer_putc(&out, '\n');
        for (size_t k = width >= HELP_COLUMN ? 0 : width; k < HELP_COLUMN; k++)
            buffer_putc(&out, ' ');
        buffer_printf(&out, "%s\n", option_info[i].help);
    }
    buffer_puts(&out, "\nExit codes: 0 ok, 1 the source has errors, 2 usage, 3 files, 4 a tool or memory is missing,\n"
                      "5 a tool failed, 70 a bug in tilecc.\n");
    fwrite(out.data, 1, out.size, file);
    buffer_free(&out);
}
