/* Options that no value shows: the order and the scope of every atomic on places and on pointers, where reads and
 * writes are cached, how products are computed.  Each stands in the IR as it was written, and behind the pipelines of
 * targets too. */
#include <stdlib.h>
#include <string.h>

#include "front/front.h"
#include "fuzz/support/judge.h"
#include "ir/verify/verify.h"
#include "passes/run.h"
#include "targets/target.h"

enum { MOST_OPERATIONS = 800 };
struct expected {
    int action, order, scope, cache;
}; /* -1: not such an operation */
struct test {
    struct buffer text;
    struct expected wanted[MOST_OPERATIONS];
    int count, seen, failures;
    const char *where;
};

#define X(id, text) text,
static const char *const orders[] = {IR_ORDERS(X)}, *const scopes[] = {IR_SCOPES(X)}, *const caches[] = {IR_CACHES(X)};
#undef X
enum { CAS = IR_ACTION_COUNT /* beside the actions */ };
static const char *const functions[] = {[IR_ACTION_ADD] = "atomic_add",       [IR_ACTION_MIN] = "atomic_min",
                                        [IR_ACTION_MAX] = "atomic_max",       [IR_ACTION_AND] = "atomic_and",
                                        [IR_ACTION_OR] = "atomic_or",         [IR_ACTION_XOR] = "atomic_xor",
                                        [IR_ACTION_EXCHANGE] = "atomic_xchg", [IR_ACTION_LOAD] = "atomic_load",
                                        [IR_ACTION_STORE] = "atomic_store",   [CAS] = "atomic_cas"};

/* Of which the order may be left out. */
static bool may_say_nothing(int action) { return action < IR_ACTION_EXCHANGE; }

static bool may_be(int action, int order)
{
    bool acquires = order == IR_ORDER_ACQUIRE || order == IR_ORDER_ACQ_REL;
    bool releases = order == IR_ORDER_RELEASE || order == IR_ORDER_ACQ_REL;
    return !(action == IR_ACTION_LOAD && releases) && !(action == IR_ACTION_STORE && acquires);
}

static void expect(struct test *t, struct expected one)
{
    if (t->count < MOST_OPERATIONS)
        t->wanted[t->count++] = one;
}

/* order, scope: -1: not said. */
static void put_atomic(struct test *t, int action, int order, int scope, int target)
{
    static const char *const targets[] = {"v[3]", "v[8 +: 4]", "q + i64[4](5)"};
    const char *value = target ? ", i32[4](3)" : ", 3";
    buffer_printf(&t->text, "    %s(%s%s%s", functions[action], targets[target], action == IR_ACTION_LOAD ? "" : value,
                  action == CAS ? value : "");
    if (order >= 0)
        buffer_printf(&t->text, ", order = %s", orders[order]);
    if (scope >= 0)
        buffer_printf(&t->text, ", scope = %s", scopes[scope]);
    buffer_puts(&t->text, ");\n");
    expect(t, (struct expected){action, order < 0 ? IR_ORDER_RELAXED : order, scope < 0 ? IR_SCOPE_GPU : scope, -1});
}

static void put_all(struct test *t)
{
    buffer_puts(&t->text, "kernel options(v: inout i32[64], q: *i32)\n    grid(i: 1)\n{\n");
    for (int target = 0; target < 3; target++)
        for (int action = 0; action <= CAS; action++)
            for (int order = -1; order < IR_ORDER_COUNT; order++)
                for (int scope = -1; scope < IR_SCOPE_COUNT; scope++)
                    if (order < 0 ? may_say_nothing(action) : may_be(action, order))
                        put_atomic(t, action, order, scope, target);
    for (int cache = 0; cache < IR_CACHE_COUNT; cache++) {
        buffer_printf(&t->text,
                      "    store(v[16 +: 4], load(v[8 +: 4], cache = %s), cache = %s);\n"
                      "    store(q + iota(4), load(q + 8 + iota(4), cache = %s), cache = %s);\n",
                      caches[cache], caches[(cache + 1) % IR_CACHE_COUNT], caches[cache],
                      caches[(cache + 2) % IR_CACHE_COUNT]);
        for (int i = 0; i < 4; i++)
            expect(t, (struct expected){-1, -1, -1, (cache + (i % 2 ? 1 + i / 2 : 0)) % IR_CACHE_COUNT});
    }
    buffer_puts(&t->text, "}\n");
}

static void look(struct ir_operation *op, void *data)
{
    struct test *t = data;
    struct expected is = {-1, -1, -1, -1};
    bool cas = op->opcode == OP_ATOMIC_CAS || op->opcode == OP_POINTER_CAS;
    bool access = op->opcode == OP_LOAD || op->opcode == OP_STORE || op->opcode == OP_POINTER_LOAD ||
                  op->opcode == OP_POINTER_STORE;
    if (cas || op->opcode == OP_ATOMIC || op->opcode == OP_POINTER_ATOMIC)
        is = (struct expected){cas ? CAS : (int)ir_number(op, IR_ATTRIBUTE_ACTION, -1),
                               (int)ir_number(op, IR_ATTRIBUTE_ORDER, -1), (int)ir_number(op, IR_ATTRIBUTE_SCOPE, -1),
                               -1};
    else if (access)
        is.cache = (int)ir_number(op, IR_ATTRIBUTE_CACHE, -1);
    else
        return;
    int number = t->seen++;
    if (number < t->count && !memcmp(&is, &t->wanted[number], sizeof is))
        return;
    const struct expected *wanted = &t->wanted[number < t->count ? number : 0];
    if (t->failures++ < 5)
        printf("%s, line %d: action %d order %d scope %d cache %d, not %d %d %d %d\n", t->where, op->at.line, is.action,
               is.order, is.scope, is.cache, wanted->action, wanted->order, wanted->scope, wanted->cache);
}

static void look_at(struct test *t, const struct ir_function *function, const char *where)
{
    t->where = where;
    t->seen = 0;
    ir_walk(function->body, look, t);
    if (t->seen != t->count) {
        printf("%s: %d operations, not %d\n", where, t->seen, t->count);
        t->failures++;
    }
}

static const char *target_name(int target) { return target_rows[target].name; }

static void check(struct test *t, const char *name)
{
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    int target = target_find(name);
    struct ir_context *context = ir_context_create(arena);
    struct front_options options = {.arena = arena,
                                    .context = context,
                                    .diagnostics = diagnostics,
                                    .target_count = 1,
                                    .targets = &target,
                                    .target_name = target_name};
    struct source source = {.name = "options.tile", .text = t->text.data, .size = t->text.size};
    const struct kernel_module *module = front_compile(&options, &source, NULL, NULL);
    if (!module || diagnostics->errors) {
        diag_print(diagnostics, stdout, false);
        t->failures++;
        arena_destroy(arena);
        return;
    }
    struct ir_function *function = module->entries.data[0].variants.data[0].function;
    struct pass_context passes = {.arena = arena,
                                  .diagnostics = diagnostics,
                                  .target = &target_rows[target],
                                  .name = "pipeline",
                                  .math_function = fuzz_math_function,
                                  .math_context = fuzz_math_context(arena, context, diagnostics)};
    struct pass_run run = {0};
    look_at(t, function, "the front end");
    run.passes = pass_pipeline(arena, &target_rows[target], 2, &run.count);
    if (!pass_run_all(&run, function, &passes)) {
        diag_print(diagnostics, stdout, false);
        t->failures++;
    }
    look_at(t, function, name);
    arena_destroy(arena);
}

int main(void)
{
    static const char *const targets[] = {"cpu", "sm_80", "sm_90a"};
    struct test t = {0};
    put_all(&t);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        check(&t, targets[i]);
    buffer_free(&t.text);
    return t.failures != 0;
}
