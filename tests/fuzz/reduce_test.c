/* The reducer on programs of about 300 lines in which something is wrong on purpose: passes that make one classic
 * mistake each, and a command that dislikes an operation.  Each must come down to 15 lines and fail for the same
 * reason; a sound program must not be said to fail. */
#include <stdlib.h>
#include <string.h>

#include "support/reduce.h"

#ifdef __SANITIZE_ADDRESS__
enum { REDUCE_SECONDS = 900 }; /* everything takes some ten times as long */
#else
enum { REDUCE_SECONDS = 300 }; /* on the clock: a loaded machine takes a minute */
#endif

enum { MOST_LINES = 15, FROM_LINES = 270 };

static int failures;

static void check(bool good, const char *what, const char *detail)
{
    if (good)
        return;
    printf("%s: %s\n", what, detail);
    failures++;
}

/* ---- mistakes ---- */

struct rewrite {
    enum ir_opcode opcode;
    bool (*change)(struct ir_operation *op);
    bool any;
};

static void visit(struct ir_operation *op, void *context)
{
    struct rewrite *rewrite = context;
    if (op->opcode == rewrite->opcode)
        rewrite->any |= rewrite->change(op);
}

static bool everywhere(struct ir_function *function, enum ir_opcode opcode, bool (*change)(struct ir_operation *op))
{
    struct rewrite rewrite = {opcode, change, false};
    for (struct ir_function *each = function->module->first; each; each = each->next)
        ir_walk(each->body, visit, &rewrite);
    return rewrite.any;
}

/* A loop stops an iteration early when it counts up and carries something. */
static bool shorten(struct ir_operation *op)
{
    int64_t step;
    if (!op->result_count || !ir_constant_integer(op->operands[2], &step) || step < 1)
        return false;
    struct ir_builder builder = {.module = op->block->function->module, .block = op->block, .before = op};
    ir_set_operand(op, 1, ir_binary(&builder, OP_SUB, op->operands[1], op->operands[2]));
    return true;
}
static bool wrong_loop(struct ir_function *function) { return everywhere(function, OP_FOR, shorten); }

/* The mask of a store is forgotten. */
static bool unmask(struct ir_operation *op)
{
    struct ir_access access;
    if (!ir_access_of(op, &access) || !access.mask)
        return false;
    ir_remove_operand(op, op->operand_count - 1);
    return true;
}
static bool wrong_store(struct ir_function *function) { return everywhere(function, OP_STORE, unmask); }

/* max with the number 0 for the identity: never below 0. */
static bool raise(struct ir_operation *op)
{
    if (ir_number(op, IR_ATTRIBUTE_KIND, 0) != IR_REDUCE_MAX)
        return false;
    struct ir_builder builder = {.module = op->block->function->module, .block = op->block, .before = op};
    struct ir_value *zero = ir_constant_int(&builder, op->operands[0]->type, 0);
    ir_set_operand(op, 0, ir_binary(&builder, OP_MAX, op->operands[0], zero));
    return true;
}
static bool wrong_reduce(struct ir_function *function) { return everywhere(function, OP_REDUCE, raise); }

/* ---- */

static void generate(uint64_t seed, struct buffer *text)
{
    struct arena *arena = arena_create();
    struct fuzz_limits limits = {.statements = 25};
    fuzz_print_program(text, fuzz_generate(ir_context_create(arena), arena, seed, limits));
    arena_destroy(arena);
}

/* The first program from `seed` on that is long enough and fails. */
static bool find(const struct judge *judge, uint64_t *seed, struct buffer *text, struct buffer *reason)
{
    for (int tries = 0; tries < 1000; tries++, ++*seed) {
        text->size = reason->size = 0;
        generate(*seed, text);
        if (fuzz_count_lines(text) < FROM_LINES || fuzz_count_lines(text) > 2 * FROM_LINES)
            continue;
        fuzz_judge(judge, text->data, text->size, reason);
        if (reason->size && strncmp(reason->data, "program:", 8) != 0)
            return true;
    }
    return false;
}

static void reduce(const char *what, const struct judge *judge, uint64_t seed)
{
    struct buffer text = {0}, reason = {0}, again = {0};
    struct reduction out;
    if (!find(judge, &seed, &text, &reason)) {
        check(false, what, "no program fails");
    } else {
        int before = fuzz_count_lines(&text);
        fuzz_reduce(judge, reason.data, REDUCE_SECONDS, &text, &out, NULL);
        int lines = fuzz_count_lines(&text);
        printf("{\"tool\": \"reduce_test\", \"what\": \"%s\", \"seed\": %llu, \"lines_before\": %d, \"lines\": %d, "
               "\"candidates\": %d, \"seconds\": %d}\n",
               what, (unsigned long long)seed, before, lines, out.candidates, out.seconds);
        check(lines <= MOST_LINES, what, text.data);
        fuzz_judge(judge, text.data, text.size, &again);
        check(again.size == reason.size && !memcmp(again.data, reason.data, again.size), what,
              "fails for another reason now");
    }
    buffer_free(&text);
    buffer_free(&reason);
    buffer_free(&again);
}

int main(int count, char **arguments)
{
    uint64_t seed = count > 1 ? strtoull(arguments[1], NULL, 0) : 1;
    struct judge loop = {.passes = "cse", .planted = wrong_loop}, store = {.passes = "cse,dce", .planted = wrong_store};
    struct judge maximum = {.passes = "simplify", .planted = wrong_reduce}, sound = {.passes = "simplify,cse,dce"};
    struct judge command = {.kind = JUDGE_COMMAND, .command = "! grep -q 'for .*{'"};
    reduce("a loop that stops early", &loop, seed);
    reduce("a store without its mask", &store, seed);
    reduce("a maximum of at least 0", &maximum, seed);
    reduce("a command that finds a loop", &command, seed);
    struct buffer text = {0}, reason = {0};
    generate(seed, &text);
    fuzz_judge(&sound, text.data, text.size, &reason);
    check(reason.size == 0, "a sound program", reason.size ? reason.data : "");
    buffer_free(&text);
    buffer_free(&reason);
    return failures != 0;
}
