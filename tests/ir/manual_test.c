/* man/tile-ir.7 against the tables it describes: each operation of ops.def stands there with its own facts, each
 * attribute with its words, each element and each type rule.  `manual_test facts` prints what must stand there. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "ir/text.h"
#include "ir/verify/verify.h"
#include "passes/run.h"

static const struct {
    unsigned trait;
    const char *text;
} traits[] = {{IR_TRAIT_PURE, "pure"},
              {IR_TRAIT_READ, "reads"},
              {IR_TRAIT_WRITE, "writes"},
              {IR_TRAIT_ATOMIC, "atomic"},
              {IR_TRAIT_ELEMENTWISE, "elementwise"},
              {IR_TRAIT_COMMUTATIVE, "commutative"},
              {IR_TRAIT_TERMINATOR, "terminator"},
              {IR_TRAIT_LOOP, "loop"},
              {IR_TRAIT_SYNC, "meets"},
              {IR_TRAIT_SHARED_READ, "reads buffers"},
              {IR_TRAIT_SHARED_WRITE, "writes buffers"},
              {IR_TRAIT_BIT_COUNT, "bit count"}};

static void count(struct buffer *out, const char *what, int least, int most)
{
    const char *plural = least == 1 && most == 1 ? "" : "s";
    if (most == least && least == 0)
        buffer_printf(out, "no %ss", what);
    else if (most == least)
        buffer_printf(out, "%d %s%s", least, what, plural);
    else if (most < 0 && least == 0)
        buffer_printf(out, "any number of %ss", what);
    else if (most < 0)
        buffer_printf(out, "%d or more %ss", least, what);
    else
        buffer_printf(out, "%d to %d %ss", least, most, what);
}

/* value level, 2 operands, 1 result, pure, elementwise; nan, *axis     (a star: required) */
static void facts(struct buffer *out, enum ir_opcode opcode)
{
    const struct ir_op_info *info = &ir_op_info[opcode];
    buffer_printf(out, "%s level, ", ir_level_text(info->level));
    count(out, "operand", info->least, info->most);
    buffer_puts(out, ", ");
    count(out, "result", info->results < 0 ? 0 : info->results, info->results);
    if (info->regions) {
        buffer_puts(out, ", ");
        count(out, "region", info->regions < 0 ? 0 : info->regions, info->regions);
    }
    for (size_t i = 0; i < sizeof traits / sizeof *traits; i++)
        if (info->traits & traits[i].trait)
            buffer_printf(out, ", %s", traits[i].text);
    bool any = false;
    for (int key = 0; key < IR_ATTRIBUTE_COUNT; key++)
        if (info->attributes >> key & 1) {
            buffer_printf(out, "%s%s%s", any ? ", " : "; ", ir_required_attributes(opcode) >> key & 1 ? "*" : "",
                          ir_attribute_info[key].text);
            any = true;
        }
    buffer_putc(out, '.');
}

static int failures;

static void expect(const char *manual, const char *text)
{
    if (strstr(manual, text))
        return;
    failures++;
    printf("man/tile-ir.7 lacks:\n%s\n", text);
}

/* Operations that the language has under a name, with their arguments. */
static void check_names(const char *manual)
{
    for (int i = 0; i < OP_COUNT; i++) {
        struct buffer call = {0};
        const char *name = ir_op_info[i].name;
        buffer_printf(&call, "%s(", name ? name : "");
        const char *at = name ? strstr(manual, call.data) : "";
        if (!at) {
            failures++;
            printf("man/tile-library.7 lacks `%s`\n", name);
        }
        buffer_free(&call);
    }
}

static void check_operations(const char *manual, bool print)
{
    for (int i = 0; i < OP_COUNT; i++) {
        struct buffer entry = {0};
        buffer_printf(&entry, ".TP\n.B %s\n", ir_op_info[i].text);
        facts(&entry, (enum ir_opcode)i);
        buffer_putc(&entry, '\n');
        if (print)
            fputs(entry.data, stdout);
        else
            expect(manual, entry.data);
        buffer_free(&entry);
    }
}

/* .TP / .B name / one line that lists the words. */
static void check_attributes(const char *manual, bool print)
{
    for (int key = 0; key < IR_ATTRIBUTE_COUNT; key++) {
        struct buffer entry = {0};
        int words = ir_attribute_words((enum ir_attribute_key)key);
        buffer_printf(&entry, ".TP\n.B %s\n", ir_attribute_info[key].text);
        for (int i = 0; i < words; i++)
            buffer_printf(&entry, "%s%s", i ? ", " : "One of ", ir_attribute_word((enum ir_attribute_key)key, i));
        if (words)
            buffer_puts(&entry, ".\n");
        if (print)
            fputs(entry.data, stdout);
        else
            expect(manual, entry.data);
        buffer_free(&entry);
    }
}

/* Nothing may stand under Operations that is none. */
static void check_nothing_else(const char *manual)
{
    const char *at = strstr(manual, ".SH OPERATIONS"), *end = at ? strstr(at + 1, ".SH ") : NULL;
    if (!at || !end) {
        failures++;
        puts("man/tile-ir.7 has no section OPERATIONS");
        return;
    }
    int found = 0;
    while ((at = strstr(at, "\n.TP\n.B ")) && at < end) {
        at += strlen("\n.TP\n.B ");
        size_t size = strcspn(at, "\n");
        if (ir_opcode_find(at, size) == OP_COUNT) {
            failures++;
            printf("man/tile-ir.7 describes an operation that is not there: %.*s\n", (int)size, at);
        }
        found++;
    }
    if (found != OP_COUNT) {
        failures++;
        printf("man/tile-ir.7 has %d operations, ops.def %d\n", found, OP_COUNT);
    }
}

static struct buffer read_page(const char *name)
{
    const char *top = getenv("SRCDIR");
    struct buffer page = {0}, path = {0};
    buffer_printf(&path, "%s/man/%s", top ? top : ".", name);
    if (!file_read(path.data, 0, &page))
        die("%s cannot be read", path.data);
    buffer_puts(&page, "");
    buffer_free(&path);
    return page;
}

int main(int argc, char **argv)
{
    bool print = argc > 1 && !strcmp(argv[1], "facts");
    struct buffer manual = read_page("tile-ir.7"), library = read_page("tile-library.7");
    check_operations(manual.data, print);
    check_attributes(manual.data, print);
    if (!print) {
        check_nothing_else(manual.data);
        check_names(library.data);
        for (int i = 0; i < pass_count; i++) {
            struct buffer entry = {0};
            buffer_printf(&entry, ".TP\n.B %s\n%c%s.\n", pass_table[i].name, pass_table[i].help[0] - 'a' + 'A',
                          pass_table[i].help + 1);
            expect(manual.data, entry.data);
            buffer_free(&entry);
        }
        for (int i = 0; i < IR_ELEMENT_COUNT; i++)
            expect(manual.data, ir_element_info[i].text);
    }
    buffer_free(&manual);
    buffer_free(&library);
    return failures != 0;
}
