/* See judge.h. */
#include "judge.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/file.h"
#include "front/front.h"
#include "ir/verify/verify.h"
#include "passes/run.h"
#include "targets/target.h"

void fuzz_put_kind(struct buffer *out, const char *sentence)
{
    int letters = 0;
    for (const char *at = sentence; *at && *at != '\n' && letters < 120; at++, letters++) {
        if (*at == '`' || *at == '\'' || *at == '"') {
            const char *close = strchr(at + 1, *at);
            buffer_puts(out, "…");
            if (!close)
                return;
            at = close;
        } else if (*at == '%' || *at == '@' || *at == '/') { /* names and paths */
            while (at[1] && !strchr(" :,\n", at[1]))
                at++;
        } else if ((*at >= '0' && *at <= '9') || (*at == '-' && at[1] >= '0' && at[1] <= '9')) {
            while ((at[1] >= '0' && at[1] <= '9') || (at[1] >= 'a' && at[1] <= 'f') || at[1] == 'x')
                at++;
            buffer_putc(out, '#');
        } else if (*at != ' ' || at[1] != ' ') {
            buffer_putc(out, *at);
        }
    }
}

void fuzz_tell_failure(uint64_t seed, const struct judge *judge, const char *text, const char *reason)
{
    printf("seed %llu: %s\npasses=%s target=%s\n%s", (unsigned long long)seed, reason, judge->passes, judge->target,
           text);
    fflush(stdout);
}

/* ---- soundness ---- */

static bool say(struct buffer *reason, const char *where, const char *what)
{
    buffer_printf(reason, "%s: ", where);
    fuzz_put_kind(reason, what);
    return false;
}

/* What tf32 keeps of a factor, 10 bits of its mantissa: to nearest even. */
static struct ir_value *round_tf32(struct ir_builder *builder, struct ir_value *value)
{
    struct ir_context *context = builder->module->context;
    const struct ir_type *type = ir_type_with_element(context, value->type, IR_I32);
    struct ir_value *bits = ir_build_value(builder, OP_BITCAST, type, 1, &value);
    struct ir_value *odd = ir_binary(builder, OP_SHR, bits, ir_constant_int(builder, type, 13));
    odd = ir_binary(builder, OP_AND, odd, ir_constant_int(builder, type, 1));
    bits = ir_binary(builder, OP_ADD, ir_binary(builder, OP_ADD, bits, odd), ir_constant_int(builder, type, 0xfff));
    bits = ir_binary(builder, OP_AND, bits, ir_constant_int(builder, type, ~0x1fff));
    return ir_build_value(builder, OP_BITCAST, value->type, 1, &bits);
}

static void widen(struct ir_operation *op, void *context)
{
    bool *changed = context;
    bool sum = (op->opcode == OP_REDUCE || op->opcode == OP_SCAN) &&
               ir_number(op, IR_ATTRIBUTE_KIND, 0) <= IR_REDUCE_MUL &&
               !ir_number(op, IR_ATTRIBUTE_FIXED, 0); /* in one order everywhere */
    if ((!sum && op->opcode != OP_DOT) || !ir_is_float(op->results[0]->type->element) ||
        op->results[0]->type->element == IR_F64)
        return;
    struct ir_builder builder = {.module = op->block->function->module, .block = op->block, .before = op};
    struct ir_value *wide[3];
    bool tf32 = op->opcode == OP_DOT && ir_number(op, IR_ATTRIBUTE_PRECISION, IR_PRECISION_IEEE) == IR_PRECISION_TF32 &&
                op->operands[0]->type->element == IR_F32;
    for (int i = 0; i < op->operand_count; i++) {
        wide[i] = tf32 && i < 2 ? round_tf32(&builder, op->operands[i]) : op->operands[i];
        wide[i] = ir_cast(&builder, wide[i], IR_F64);
    }
    const struct ir_type *type = ir_type_with_element(builder.module->context, op->results[0]->type, IR_F64);
    struct ir_operation *made = ir_build(&builder, op->opcode, op->operand_count, wide, 1, &type);
    for (const struct ir_attribute *a = op->attributes; a; a = a->next)
        if (a->key == IR_ATTRIBUTE_AXIS || a->key == IR_ATTRIBUTE_KIND || a->key == IR_ATTRIBUTE_REVERSE ||
            a->key == IR_ATTRIBUTE_EXCLUSIVE)
            ir_set_number(made, a->key, a->number);
    ir_replace_uses(op->results[0], ir_cast(&builder, made->results[0], op->results[0]->type->element));
    *changed = true;
}

/* Sums that any order rounds in the same way give the same in a wider type. */
static bool sums_are_exact(struct fuzz_program *program, struct arena *arena, const struct fuzz_memory *reference,
                           struct buffer *reason)
{
    struct ir_module *module = ir_module_create(program->module->context, arena);
    struct interp_problem problem;
    char text[200];
    bool changed = false, good = true;
    for (const struct ir_function *each = program->module->first; each; each = each->next)
        ir_walk(ir_function_clone(module, each, each->name)->body, widen, &changed);
    if (!changed)
        return true;
    struct fuzz_memory *memory = fuzz_memory_create(program);
    if (!fuzz_interpret(program, ir_function_find(module, "fuzz"), memory, false, &problem))
        good = say(reason, "program", problem.text);
    else if (!fuzz_same(program, reference, memory, text, sizeof text))
        good = say(reason, "program", "a sum depends on its order");
    fuzz_memory_free(memory);
    return good;
}

bool fuzz_is_sound(struct fuzz_program *program, struct arena *arena, struct fuzz_memory **reference,
                   struct buffer *reason)
{
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct interp_problem problem;
    char text[200];
    *reference = NULL;
    if (!ir_verify_module(program->module, diagnostics))
        return say(reason, "program", diagnostics->first->text);
    *reference = fuzz_memory_create(program);
    if (!fuzz_interpret(program, program->function, *reference, false, &problem))
        return say(reason, "program", problem.text);
    struct fuzz_memory *other = fuzz_memory_create(program);
    bool good = fuzz_interpret(program, program->function, other, true, &problem);
    bool same = good && fuzz_same(program, *reference, other, text, sizeof text);
    fuzz_memory_free(other);
    if (!good || !same)
        return say(reason, "program", good ? "instances in reverse order differ" : problem.text);
    return sums_are_exact(program, arena, *reference, reason);
}

/* ---- passes ---- */

struct fuzz_math {
    struct front_options options;
    struct ir_module *kept;
};

struct fuzz_math *fuzz_math_context(struct arena *arena, struct ir_context *context, struct diagnostics *diagnostics)
{
    struct fuzz_math *math = ARENA_NEW(arena, struct fuzz_math);
    math->options = (struct front_options){.arena = arena, .context = context, .diagnostics = diagnostics};
    return math;
}

struct fuzz_math *fuzz_math_keep(struct arena *arena, struct ir_context *context, struct diagnostics *diagnostics)
{
    struct fuzz_math *math = fuzz_math_context(arena, context, diagnostics);
    math->kept = ir_module_create(context, arena);
    return math;
}

struct ir_function *fuzz_math_function(void *context, struct ir_module *module, enum ir_math function,
                                       enum ir_element element)
{
    struct fuzz_math *math = context;
    if (!math->kept)
        return front_math_function(&math->options, module, function, element);
    struct ir_function *known = front_math_function(&math->options, math->kept, function, element);
    struct ir_function *here = known ? ir_function_find(module, known->name) : NULL;
    return here || !known ? here : ir_function_clone(module, known, known->name);
}

struct comparison {
    struct fuzz_program *program;
    const struct fuzz_memory *reference;
    struct buffer *reason;
};

/* Views are the same or they do not overlap, which is what barriers count on; the generator also makes names for a part
 * of another view's rows. */
static bool keeps_apart(const struct fuzz_program *program)
{
    for (int i = 0; i < program->argument_count; i++) {
        const struct fuzz_argument *part = &program->arguments[i];
        const struct fuzz_argument *whole = part->alias ? &program->arguments[part->alias - 1] : part;
        if (part != whole && (part->offset || part->type->rank != whole->type->rank ||
                              memcmp(part->extent, whole->extent, sizeof part->extent) != 0 ||
                              memcmp(part->stride, whole->stride, sizeof part->stride) != 0))
            return false;
    }
    return true;
}

static bool compare_behind(struct comparison *c, const struct ir_function *function, const char *pass)
{
    struct fuzz_memory *memory = fuzz_memory_create(c->program);
    struct interp_problem problem;
    char text[200];
    bool good = fuzz_interpret(c->program, function, memory, false, &problem);
    if (!good)
        say(c->reason, pass, problem.text);
    else if (!(good = fuzz_same(c->program, c->reference, memory, text, sizeof text)))
        say(c->reason, pass, "the result differs");
    fuzz_memory_free(memory);
    return good;
}

void fuzz_run_passes(const struct judge *judge, struct fuzz_program *program, struct arena *arena,
                     const struct fuzz_memory *reference, int64_t *runs, struct buffer *reason)
{
    const struct pass_info *const *passes;
    const char *unknown = NULL;
    int count, target = judge->target ? target_find(judge->target) : -1;
    struct diagnostics *diagnostics = diagnostics_create(arena);
    int64_t fuel = judge->fuel;
    struct comparison comparison = {program, reference, reason};
    struct fuzz_math *math = judge->math ? judge->math
                                         : fuzz_math_context(arena, program->module->context, diagnostics);
    bool good = true;
    uint64_t before = fuzz_fingerprint(program->module);
    if (!pass_parse_list(arena, judge->passes, &passes, &count, &unknown) || (judge->target && target < 0)) {
        buffer_printf(reason, "judge: there is no pass or target '%s'", unknown ? unknown : judge->target);
        good = false;
    }
    for (int i = 0; i < count && good; i++) {
        struct pass_context context = {.arena = arena,
                                       .diagnostics = diagnostics,
                                       .target = target >= 0 ? &target_rows[target] : NULL,
                                       .fuel = fuel && i == count - 1 ? &fuel : NULL,
                                       .name = passes[i]->name,
                                       .math_function = fuzz_math_function,
                                       .math_context = math};
        struct pass_run run = {.passes = &passes[i], .count = 1};
        if (judge->announce)
            fprintf(stderr, "%s\n", passes[i]->name); /* names the pass that crashes */
        if (!(good = pass_run_all(&run, program->function, &context))) {
            say(reason, passes[i]->name, diagnostics->first ? diagnostics->first->text : "the pass failed");
            break;
        }
        uint64_t behind = fuzz_fingerprint(program->module);
        program->ordered = passes[i] == &pass_table[PASS_insert_barriers] && keeps_apart(program);
        if (behind == before && !(program->ordered && program->function->level != IR_LEVEL_VALUE))
            continue; /* the same program gives the same result */
        if (passes[i] == &pass_table[PASS_allocate_shared])
            continue; /* places are shared before insert_barriers orders their users */
        good = compare_behind(&comparison, program->function, passes[i]->name);
        program->ordered = false;
        ++*runs;
        before = behind;
    }
    if (good && judge->planted && judge->planted(program->function))
        compare_behind(&comparison, program->function, "planted");
}

static bool has_reference(const struct judge *judge, struct fuzz_program *program, struct arena *arena,
                          struct fuzz_memory **reference, struct buffer *reason)
{
    struct interp_problem problem;
    if (!judge->trusted)
        return fuzz_is_sound(program, arena, reference, reason);
    *reference = fuzz_memory_create(program);
    return fuzz_interpret(program, program->function, *reference, false, &problem) ||
           say(reason, "program", problem.text);
}

void fuzz_judge_passes(const struct judge *judge, struct fuzz_program *program, int64_t *runs, struct buffer *reason)
{
    struct arena *arena = arena_create();
    struct fuzz_memory *reference;
    if (has_reference(judge, program, arena, &reference, reason)) {
        if (judge->kind == JUDGE_CPU)
            fuzz_judge_cpu(judge, program, reference, runs, reason);
        else if (judge->kind == JUDGE_GPU)
            fuzz_judge_gpu(judge, program, reference, runs, reason);
        else
            fuzz_run_passes(judge, program, arena, reference, runs, reason);
    }
    if (reference)
        fuzz_memory_free(reference);
    arena_destroy(arena);
}

/* ---- processes ---- */

struct work {
    const struct judge *judge;
    const char *text;
    size_t size;
};

static int judge_here(void *context, int task, struct buffer *out)
{
    const struct work *work = context;
    struct arena *arena = arena_create();
    struct source source = {.name = "program", .text = work->text, .size = work->size};
    struct diagnostics *diagnostics = diagnostics_create(arena);
    int64_t runs = 0;
    (void)task;
    struct fuzz_program *program = fuzz_read_program(ir_context_create(arena), arena, diagnostics, &source);
    if (!program)
        say(out, "program", diagnostics->first ? diagnostics->first->text : "not a program with its arguments");
    else
        fuzz_judge_passes(work->judge, program, &runs, out);
    return 0;
}

static const char *last_line(const char *text)
{
    size_t size = strlen(text);
    while (size && text[size - 1] == '\n')
        size--;
    while (size && text[size - 1] != '\n')
        size--;
    return text + size;
}

/* What the pass that ran last was called: one name a line comes before what the crash says. */
static void blame(struct buffer *reason, const char *errors, const char *what)
{
    const char *name = "";
    size_t length = 0;
    for (const char *line = errors; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        size_t size = strcspn(line, "\n");
        if (size < 40 && strspn(line, "abcdefghijklmnopqrstuvwxyz_0123456789") == size) {
            name = line;
            length = size;
        }
    }
    buffer_append(reason, name, length);
    say(reason, "", what);
}

static void run_command(const struct judge *judge, const char *text, size_t size, struct buffer *reason)
{
    const char *where = getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof path, "%s/tilecc-judge-XXXXXX.tir", where && *where ? where : "/tmp");
    int descriptor = mkstemps(path, 4);
    struct buffer command = {0};
    char line[512] = "";
    if (descriptor < 0 || write(descriptor, text, size) != (ssize_t)size)
        die("cannot write %s", path);
    close(descriptor);
    buffer_printf(&command, "%s '%s' 2>&1", judge->command, path);
    FILE *out = popen(command.data, "r");
    char first[512] = "";
    while (out && fgets(line, sizeof line, out))
        if (!*first && line[0] != '\n')
            snprintf(first, sizeof first, "%s", line);
    int status = out ? pclose(out) : -1;
    unlink(path);
    buffer_free(&command);
    if (status == 0)
        return;
    buffer_printf(reason, "status %d: ", WEXITSTATUS(status));
    fuzz_put_kind(reason, first);
}

void fuzz_judge(const struct judge *judge, const char *text, size_t size, struct buffer *reason)
{
    if (judge->kind == JUDGE_COMMAND) {
        run_command(judge, text, size, reason);
        return;
    }
    struct judge loud = *judge;
    loud.announce = true;
    struct work work = {&loud, text, size};
    struct child_result result = {0};
    struct child_limits limits = {.seconds = judge->seconds ? judge->seconds : 60};
    workers_run(judge_here, &work, 1, 1, limits, &result);
    char what[160];
    if (result.timed_out) {
        blame(reason, result.errors.data, "does not end");
    } else if (result.signal || result.exit_code != 0) {
        snprintf(what, sizeof what, "signal %c: %s", 'A' + result.signal,
                 last_line(result.errors.data ? result.errors.data : ""));
        blame(reason, result.errors.data, what);
    } else if (result.output.size) {
        buffer_append(reason, result.output.data, result.output.size);
    }
    buffer_free(&result.output);
    buffer_free(&result.errors);
}
