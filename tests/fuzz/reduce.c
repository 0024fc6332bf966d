/* Brings a failing program to a few lines.
 *
 *     reduce FILE.tir -- COMMAND…      COMMAND FILE exits with 0 when all is well; what it prints first says why not
 *     reduce FILE.tir|SEED passes=LIST [target=ROW] [fuel=N]     the interpreter after each pass of the list
 *     reduce FILE.tir|SEED cpu[=ISA] [raw] [level=N]             machine code of this processor, by LLVM's level N;
 *                                                                raw: through the pipeline of -O0
 *     reduce FILE.tir|SEED gpu[=ROW]   the text for a GPU, run by gpu_run.c
 *     reduce SEED                      finds what fails first: every pass, the pipelines, the processor
 *
 * Options before the file: -v tells each step, -o FILE writes there, -t SECONDS (120).  A FILE.tir has the lines of
 * support/program_text.c about its arguments in front.  Exit code 0: reduced; 1: it does not fail; 2: wrong use. */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "support/differential.h"
#include "support/reduce.h"
#include "targets/nvptx/assemble/assemble.h"

static void usage(void)
{
    fprintf(stderr, "usage: reduce [-v] [-o FILE] [-t SECONDS] FILE.tir|SEED "
                    "[passes=LIST|cpu[=ISA]|gpu[=ROW]|-- COMMAND] [target=ROW] [raw] [level=N]\n");
    exit(2);
}

static bool load(const char *name, struct buffer *text)
{
    char *end;
    unsigned long long seed = strtoull(name, &end, 0);
    if (*name && !*end) {
        struct arena *arena = arena_create();
        fuzz_print_program(text, fuzz_generate(ir_context_create(arena), arena, seed, (struct fuzz_limits){0}));
        arena_destroy(arena);
        return true;
    }
    return file_read(name, 0, text);
}

static bool parse_word(struct judge *judge, const char *word)
{
    if (!strncmp(word, "passes=", 7)) {
        judge->kind = JUDGE_PASSES;
        judge->passes = word + 7;
    } else if (!strncmp(word, "target=", 7)) {
        judge->target = word + 7;
    } else if (!strncmp(word, "fuel=", 5)) {
        judge->fuel = strtoll(word + 5, NULL, 10);
    } else if (!strncmp(word, "cpu", 3)) {
        judge->kind = JUDGE_CPU;
        judge->isa = word[3] == '=' ? atoi(word + 4) : -1;
    } else if (!strncmp(word, "gpu", 3)) {
        judge->kind = JUDGE_GPU;
        judge->target = word[3] == '=' ? word + 4 : "sm_80";
        return target_find(judge->target) >= 0;
    } else if (!strncmp(word, "level=", 6)) {
        judge->code_level = 1 + atoi(word + 6);
    } else if (!strcmp(word, "raw")) {
        judge->raw = true;
    } else {
        return false;
    }
    return true;
}

int main(int count, char **arguments)
{
    struct judge judge = {.kind = JUDGE_PASSES, .isa = -1};
    struct buffer text = {0}, reason = {0}, command = {0};
    struct reduction out;
    const char *file = NULL, *output = NULL;
    int seconds = 120, i = 1;
    bool verbose = false;
    for (; i < count && arguments[i][0] == '-'; i++) {
        if (!strcmp(arguments[i], "-v"))
            verbose = true;
        else if (!strcmp(arguments[i], "-o") && i + 1 < count)
            output = arguments[++i];
        else if (!strcmp(arguments[i], "-t") && i + 1 < count)
            seconds = atoi(arguments[++i]);
        else
            usage();
    }
    if (i == count)
        usage();
    file = arguments[i++];
    for (; i < count && strcmp(arguments[i], "--") != 0; i++)
        if (!parse_word(&judge, arguments[i]))
            usage();
    for (i++; i < count; i++)
        buffer_printf(&command, "%s%s", command.size ? " " : "", arguments[i]);
    if (command.size) {
        judge.kind = JUDGE_COMMAND;
        judge.command = command.data;
    }
    if (judge.kind == JUDGE_GPU)
        nvptx_begin(NULL);
    if (!load(file, &text)) {
        fprintf(stderr, "reduce: cannot read %s\n", file);
        return 2;
    }
    struct arena *arena = arena_create();
    if (judge.kind == JUDGE_PASSES && !judge.passes && !fuzz_find_failure(text.data, text.size, arena, &judge)) {
        fprintf(stderr, "reduce: nothing fails\n");
        return 1;
    }
    fuzz_judge(&judge, text.data, text.size, &reason);
    if (!reason.size || !strncmp(reason.data, "program:", 8)) {
        fprintf(stderr, "reduce: %s\n", reason.size ? reason.data : "it does not fail");
        return 1;
    }
    int before = fuzz_count_lines(&text);
    fuzz_reduce(&judge, reason.data, seconds, &text, &out, verbose ? stderr : NULL);
    FILE *stream = output ? fopen(output, "w") : stdout;
    if (!stream) {
        fprintf(stderr, "reduce: cannot write %s\n", output);
        return 2;
    }
    fprintf(stream, "// fails: %s\n", reason.data);
    if (judge.kind == JUDGE_PASSES)
        fprintf(stream, "// passes %s%s%s\n", judge.passes, judge.target ? " for " : "",
                judge.target ? judge.target : "");
    fputs(text.data, stream);
    if (output)
        fclose(stream);
    fprintf(stderr,
            "{\"tool\": \"reduce\", \"lines_before\": %d, \"lines\": %d, \"candidates\": %d, \"unsound\": %d, "
            "\"seconds\": %d}\n",
            before, fuzz_count_lines(&text), out.candidates, out.unsound, out.seconds);
    return 0;
}
