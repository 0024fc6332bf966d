/* The model of a loop: bounds worked out by hand, the edges that they come from, and what they must never be. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/text.h"
#include "passes/loops/stage_plan.h"
#include "targets/target.h"

static int failures;

static void expect(double got, double wanted, const char *what)
{
    if (fabs(got - wanted) <= 0.51)
        return;
    failures++;
    printf("wrong: %s is %.2f and not %.2f\n", what, got, wanted);
}

/* A loop over scalars, `body` with the values that it carries round, %a and %b. */
static const struct ir_operation *parse_loop(struct arena *arena, const char *body)
{
    const char *text = arena_printf(arena,
                                    "kernel @k(%%x: view<f32, [?], [1], inout>) grid(1) level(schedule) warps(4) {\n"
                                    "%%low = constant value(0) : index\n"
                                    "%%high = extent dimension(0) %%x : index\n"
                                    "%%step = constant value(1) : index\n"
                                    "%%zero = constant value(0.0) : f32\n"
                                    "%%r, %%s = for %%i: index = %%low to %%high step %%step "
                                    "iter(%%a: f32 = %%zero, %%b: f32 = %%zero) {\n%s}\n"
                                    "store %%x[%%low], %%r\nreturn\n}\n",
                                    body);
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct source *source = ARENA_NEW(arena, struct source);
    *source = (struct source){.name = "test", .text = text, .size = strlen(text)};
    struct ir_module *module = ir_parse_module(ir_context_create(arena), arena, diagnostics, source);
    if (!module) {
        diag_print(diagnostics, stdout, false);
        exit(1);
    }
    const struct ir_operation *op = module->first->body->first;
    while (op->opcode != OP_FOR)
        op = op->next;
    return op;
}

/* Each addition is issued in 2 cycles and there 4 later. */
static void recurrence(const char *body, double wanted, const char *what)
{
    struct arena *arena = arena_create();
    const struct ir_operation *loop = parse_loop(arena, body);
    const struct target_row *target = &target_rows[target_find("sm_80")];
    struct loop_model model = loop_model_make(arena, target, loop->regions[0], NULL, NULL);
    struct loop_bounds bounds = loop_model_bounds(arena, &model, NULL);
    expect(bounds.recurrence, wanted, what);
    if (bounds.least < bounds.recurrence || !bounds.limit)
        expect(bounds.least, bounds.recurrence, "what limits it");
    arena_destroy(arena);
}

static void recurrences(void)
{
    recurrence("yield %a, %b\n", 0, "nothing");
    recurrence("%c = add %a, %a : f32\nyield %c, %b\n", 6, "one sum");
    recurrence("%c = add %a, %a : f32\n%d = add %c, %a : f32\nyield %d, %b\n", 12, "two sums, one behind the other");
    recurrence("%c = add %a, %a : f32\n%d = add %b, %b : f32\nyield %c, %d\n", 6, "two sums side by side");
    recurrence("%c = add %b, %b : f32\n%d = add %a, %a : f32\nyield %c, %d\n", 6, "two sums that change places");
    recurrence("%c = add %b, %b : f32\nyield %c, %a\n", 3, "one sum in two iterations");
    recurrence("%c = add %zero, %zero : f32\n%d = add %c, %c : f32\nyield %d, %b\n", 0, "what no iteration hands on");
    recurrence("%t = compare predicate(lt) %a, %zero : bool\n"
               "%c = if %t { %d = add %a, %a : f32\nyield %d } else { yield %a } : f32\nyield %c, %b\n",
               18, "a sum under a condition"); /* 6 to compare; 2 for the branch, 6 for all that stands in it, and 4 */
}

/* A product of 128 x 128 x 64 keeps the tensor cores busy for 2 * 128 * 128 * 64 operations. */
static void products(void)
{
    struct arena *arena = arena_create();
    static const char text[] =
        "kernel @k(%x: view<bf16, [?, 64], [64, 1], in>) grid(1) warps(4) {\n"
        "%low = constant value(0) : i32\n%high = constant value(64) : i32\n%step = constant value(1) : i32\n"
        "%zero = constant value(0.0) : f32[128, 128]\n%a = constant value(0.0) : bf16[128, 64]\n"
        "%b = constant value(0.0) : bf16[64, 128]\n"
        "%r = for %i: i32 = %low to %high step %step iter(%c: f32[128, 128] = %zero) {\n"
        "%d = dot instruction(wgmma) %a, %b, %c : f32[128, 128]\nyield %d\n}\nreturn\n}\n";
    const struct source source = {.name = "test", .text = text, .size = sizeof text - 1};
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct ir_module *module = ir_parse_module(ir_context_create(arena), arena, diagnostics, &source);
    const struct ir_operation *loop = module ? module->first->body->last->previous : NULL;
    if (!loop || loop->opcode != OP_FOR) {
        diag_print(diagnostics, stdout, false);
        exit(1);
    }
    const struct target_row *target = &target_rows[target_find("sm_90a")];
    struct loop_model model = loop_model_make(arena, target, loop->regions[0], NULL, NULL);
    struct loop_bounds bounds = loop_model_bounds(arena, &model, NULL);
    expect(bounds.resource[LOOP_tensor], 512, "tensor cores");
    expect(bounds.resource[LOOP_special], 0, "special functions");
    expect(bounds.recurrence, 16 + 512 + 30, "the way round a sum that is waited for");
    struct loop_cost more = {.l2 = 1024, .shared = 256};
    bounds = loop_model_bounds(arena, &model, &more);
    expect(bounds.resource[LOOP_l2], 1024, "L2, with copies of others");
    expect(bounds.resource[LOOP_shared], 256, "shared memory, with copies of others");
    expect(bounds.least, 1024, "the greatest bound");
    expect(strcmp(bounds.limit, "L2"), 0, "L2 as the limit");
    arena_destroy(arena);
}

static void edges(void)
{
    struct arena *arena = arena_create();
    const struct ir_operation *loop = parse_loop(arena,
                                                 "%c = add %b, %b : f32\n%d = add %c, %zero : f32\nyield %d, %a\n");
    struct loop_model model = loop_model_make(arena, NULL, loop->regions[0], NULL, NULL);
    int count, distance = 0;
    const struct loop_edge *all = loop_model_edges(arena, &model, &count);
    for (int i = 0; i < count; i++)
        if (all[i].from == 1 && all[i].to == 0)
            distance = all[i].distance;
    expect(count, 3, "edges: twice what was handed on, once the sum");
    expect(distance, 2, "the distance of what is handed on twice");
    arena_destroy(arena);
}

/* Products are numbered p0, p1 … and say what they multiply; the rest is vector work that takes long. */
static unsigned best_stages(const char *body, double *iteration)
{
    struct arena *arena = arena_create();
    static const char head[] =
        "kernel @k(%x: view<bf16, [?, 64], [64, 1], in>) grid(1) warps(4) {\n"
        "%low = constant value(0) : i32\n%high = constant value(64) : i32\n%step = constant value(1) : i32\n"
        "%zero = constant value(0.0) : f32[64, 64]\n%a = constant value(0.0) : bf16[64, 64]\n"
        "%r, %t = for %i: i32 = %low to %high step %step iter(%c: f32[64, 64] = %zero, %e: f32[64, 64] = %zero) {\n";
    const char *text = arena_printf(arena, "%s%s}\nreturn\n}\n", head, body);
    struct source source = {.name = "test", .text = text, .size = strlen(text)};
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct ir_module *module = ir_parse_module(ir_context_create(arena), arena, diagnostics, &source);
    const struct ir_operation *loop = module ? module->first->body->last->previous : NULL;
    if (!loop || loop->opcode != OP_FOR) {
        diag_print(diagnostics, stdout, false);
        exit(1);
    }
    const struct target_row *target = &target_rows[target_find("sm_90a")];
    struct loop_model model = loop_model_make(arena, target, loop->regions[0], NULL, NULL);
    struct stage_plan plan = stage_plan_make(arena, &model);
    unsigned later = plan.later;
    *iteration = plan.iteration;
    expect(plan.iteration <= plan.in_order, 1, "stages that cost nothing");
    arena_destroy(arena);
    return later;
}

static void stages(void)
{
#define DOT(result, a, b, sum) "%" result " = dot instruction(wgmma) %" a ", %" b ", %" sum " : f32[64, 64]\n"
#define WORK(result, of)                                         \
    "%" result "1 = math function(exp2) %" of " : f32[64, 64]\n" \
    "%" result " = cast %" result "1 : bf16[64, 64]\n"
    double cycles;
    expect(best_stages(DOT("s", "a", "a", "zero") WORK("p", "s") DOT("o", "p", "a", "c") "yield %o, %e\n", &cycles), 2,
           "the second of a chain");
    expect(best_stages(DOT("s", "a", "a", "zero") WORK("p", "s") DOT("o", "p", "a", "c")
                           DOT("u", "a", "p", "e") "yield %o, %u\n",
                       &cycles),
           6, "two that need one");
    expect(best_stages(DOT("s", "a", "a", "c") WORK("p", "s") DOT("o", "p", "a", "e") "yield %o, %o\n", &cycles), 0,
           "none: the first of the next iteration needs the second");
    expect(best_stages(DOT("s", "a", "a", "c") "yield %s, %e\n", &cycles), 0, "one product");
#undef WORK
#undef DOT
}

int main(void)
{
    stages();
    recurrences();
    products();
    edges();
    return failures > 0;
}
