/* The oracle against results worked out by hand or by plain C, and its checks against programs that are wrong. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interp/interp.h"

static int failures;
#define EXPECT(condition)                                          \
    do {                                                           \
        if (!(condition)) {                                        \
            printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            failures++;                                            \
        }                                                          \
    } while (0)

struct fixture {
    struct arena *arena;
    struct ir_context *context;
    struct ir_module *module;
    struct ir_function *function;
    struct ir_builder builder;
    const struct ir_type *index, *f32;
};

static struct fixture begin(bool kernel)
{
    struct fixture f = {.arena = arena_create()};
    f.context = ir_context_create(f.arena);
    f.module = ir_module_create(f.context, f.arena);
    f.function = ir_function_create(f.module, "test", (struct location){0});
    f.function->is_kernel = kernel;
    f.function->grid_rank = kernel;
    f.builder = (struct ir_builder){.module = f.module, .block = f.function->body};
    f.index = ir_type_scalar(f.context, IR_INDEX);
    f.f32 = ir_type_scalar(f.context, IR_F32);
    return f;
}

static const struct ir_type *vector_view(struct fixture *f, enum ir_element element)
{
    return ir_type_intern(f->context, &(struct ir_type){.kind = IR_VIEW,
                                                        .element = element,
                                                        .rank = 1,
                                                        .extent = {IR_DYNAMIC},
                                                        .stride = {1},
                                                        .readable = true,
                                                        .writable = true});
}

static struct ir_value *load_range(struct fixture *f, struct ir_value *view, struct ir_value *start, int64_t length)
{
    const struct ir_type *type = ir_type_tile(f->context, view->type->element, 1, &length);
    struct ir_value *other = ir_constant_int(&f->builder, type, 0);
    struct ir_operation *load = ir_build(&f->builder, OP_LOAD, 3, (struct ir_value *[]){view, start, other}, 1, &type);
    ir_set_list(load, IR_ATTRIBUTE_PLACE, 1, &length);
    return load->results[0];
}

static struct ir_operation *store_range(struct fixture *f, struct ir_value *view, struct ir_value *start,
                                        struct ir_value *value)
{
    struct ir_operation *store = ir_build(&f->builder, OP_STORE, 3, (struct ir_value *[]){view, start, value}, 0, NULL);
    ir_set_list(store, IR_ATTRIBUTE_PLACE, 1, value->type->extent);
    return store;
}

/* y[b*8 +: 8] = a*x[…] + y[…] */
static struct ir_operation *build_saxpy(struct fixture *f)
{
    struct ir_value *a = ir_block_argument(f->function->body, f->f32, "a");
    struct ir_value *x = ir_block_argument(f->function->body, vector_view(f, IR_F32), "x");
    struct ir_value *y = ir_block_argument(f->function->body, vector_view(f, IR_F32), "y");
    struct ir_operation *grid = ir_build(&f->builder, OP_GRID_INDEX, 0, NULL, 1, &f->index);
    struct ir_value *start = ir_binary(&f->builder, OP_MUL, grid->results[0],
                                       ir_constant_int(&f->builder, f->index, 8));
    struct ir_value *scale = ir_broadcast(&f->builder, a, 1, (int64_t[]){8});
    struct ir_value *product = ir_binary(&f->builder, OP_MUL, scale, load_range(f, x, start, 8));
    struct ir_value *sum = ir_binary(&f->builder, OP_ADD, product, load_range(f, y, start, 8));
    struct ir_operation *store = store_range(f, y, start, sum);
    ir_build(&f->builder, OP_RETURN, 0, NULL, 0, NULL);
    return store;
}

static void test_saxpy(void)
{
    struct fixture f = begin(true);
    struct ir_operation *store = build_saxpy(&f);
    float x[21], y[21], want[21];
    unsigned char written[sizeof y];
    memset(written, 1, sizeof written);
    for (int i = 0; i < 21; i++) {
        x[i] = (float)i;
        y[i] = (float)(100 - i);
        want[i] = 3.0f * x[i] + y[i];
    }
    struct interp_argument arguments[3] = {{.bits = ir_double_to_bits(IR_F32, 3.0)},
                                           {.data = x, .extent = {21}, .stride = {1}},
                                           {.data = y, .extent = {21}, .stride = {1}}};
    struct interp_memory memories[2] = {{x, sizeof x, NULL, true, "x"}, {y, sizeof y, written, false, "y"}};
    struct interp_options options = {.memory_count = 2, .memories = memories, .grid = {3}};
    struct interp_problem problem;
    EXPECT(interp_run(f.function, 3, arguments, &options, NULL, &problem));
    EXPECT(!memcmp(y, want, sizeof y));

    written[4] = 0; /* half of y[1] was never written */
    EXPECT(!interp_run(f.function, 3, arguments, &options, NULL, &problem));
    EXPECT(strstr(problem.text, "which nothing wrote"));
    written[4] = 1;
    ir_set_number(store, IR_ATTRIBUTE_INSIDE, 1); /* a lie: the last tile is cut */
    EXPECT(!interp_run(f.function, 3, arguments, &options, NULL, &problem));
    EXPECT(strstr(problem.text, "was said to be inside"));
    EXPECT(problem.instance == 2 && problem.operation == store);
    ir_remove_attribute(store, IR_ATTRIBUTE_INSIDE);
    arguments[2].extent[0] = 22; /* one element beyond the memory */
    EXPECT(!interp_run(f.function, 3, arguments, &options, NULL, &problem));
    EXPECT(strstr(problem.text, "no argument owns"));
    arguments[2].extent[0] = 21;
    memories[1].read_only = true;
    EXPECT(!interp_run(f.function, 3, arguments, &options, NULL, &problem));
    arguments[2].data = NULL; /* absent: every access is outside */
    EXPECT(interp_run(f.function, 3, arguments, &options, NULL, &problem));
    EXPECT(!interp_run(f.function, 2, arguments, &options, NULL, &problem));
    arena_destroy(f.arena);
}

/* position of the largest element, ties to the smaller: reduce over (value, position) with a region */
static void test_reduce_region(void)
{
    struct fixture f = begin(false);
    int64_t shape[2] = {2, 5};
    const struct ir_type *values = ir_type_tile(f.context, IR_F32, 2, shape);
    const struct ir_type *positions = ir_type_tile(f.context, IR_INDEX, 1, &shape[1]);
    struct ir_value *view = ir_block_argument(f.function->body, vector_view(&f, IR_F32), "x");
    struct ir_value *flat = load_range(&f, view, ir_constant_int(&f.builder, f.index, 0), 10);
    struct ir_value *tile = ir_build_value(&f.builder, OP_RESHAPE, values, 1, &flat);
    struct ir_value *iota = ir_build_value(&f.builder, OP_IOTA, positions, 0, NULL);
    int64_t row[2] = {1, 5};
    iota = ir_build_value(&f.builder, OP_RESHAPE, ir_type_tile(f.context, IR_INDEX, 2, row), 1, &iota);
    iota = ir_broadcast(&f.builder, iota, 2, shape);
    const struct ir_type *results[2] = {ir_type_tile(f.context, IR_F32, 1, shape),
                                        ir_type_tile(f.context, IR_INDEX, 1, shape)};
    struct ir_operation *reduce = ir_build(&f.builder, OP_REDUCE, 2, (struct ir_value *[]){tile, iota}, 2, results);
    ir_set_number(reduce, IR_ATTRIBUTE_AXIS, 1);
    ir_set_number(reduce, IR_ATTRIBUTE_KIND, IR_REDUCE_REGION);
    struct ir_block *region = reduce->regions[0];
    struct ir_value *a = ir_block_argument(region, f.f32, "a"), *i = ir_block_argument(region, f.index, "i");
    struct ir_value *b = ir_block_argument(region, f.f32, "b"), *j = ir_block_argument(region, f.index, "j");
    struct ir_builder inner = {.module = f.module, .block = region};
    struct ir_value *greater = ir_compare(&inner, IR_PREDICATE_GT, b, a);
    ir_build(&inner, OP_YIELD, 2,
             (struct ir_value *[]){ir_select(&inner, greater, b, a), ir_select(&inner, greater, j, i)}, 0, NULL);
    ir_build(&f.builder, OP_RETURN, 2, reduce->results, 0, NULL);

    float x[10] = {1, 7, -2, 7, 0, -5, -6, -7, -8, -5};
    struct interp_argument argument = {.data = x, .extent = {10}, .stride = {1}};
    struct interp_memory memory = {x, sizeof x, NULL, true, "x"};
    struct interp_options options = {.memory_count = 1, .memories = &memory};
    struct interp_problem problem;
    uint64_t largest[2], where[2], *out[2] = {largest, where};
    EXPECT(interp_run(f.function, 1, &argument, &options, out, &problem));
    EXPECT(where[0] == 1 && where[1] == 0 && largest[0] == ir_double_to_bits(IR_F32, 7.0));
    arena_destroy(f.arena);
}

/* Collatz steps of the argument by while with carried values; a limit on steps ends what would not end */
static void test_while(void)
{
    struct fixture f = begin(false);
    struct ir_value *n = ir_block_argument(f.function->body, f.index, "n");
    struct ir_value *initial[2] = {n, ir_constant_int(&f.builder, f.index, 0)};
    const struct ir_type *types[2] = {f.index, f.index};
    struct ir_operation *loop = ir_build(&f.builder, OP_WHILE, 2, initial, 2, types);
    struct ir_value *arguments[2][2];
    for (int r = 0; r < 2; r++)
        for (int k = 0; k < 2; k++)
            arguments[r][k] = ir_block_argument(loop->regions[r], f.index, NULL);
    struct ir_builder test = {.module = f.module, .block = loop->regions[0]};
    struct ir_value *more = ir_compare(&test, IR_PREDICATE_NE, arguments[0][0], ir_constant_int(&test, f.index, 1));
    ir_build(&test, OP_CONDITION, 3, (struct ir_value *[]){more, arguments[0][0], arguments[0][1]}, 0, NULL);
    struct ir_builder body = {.module = f.module, .block = loop->regions[1]};
    struct ir_value *two = ir_constant_int(&body, f.index, 2), *one = ir_constant_int(&body, f.index, 1);
    struct ir_value *half = ir_binary(&body, OP_DIV, arguments[1][0], two);
    struct ir_value *odd = ir_compare(&body, IR_PREDICATE_NE, ir_binary(&body, OP_REM, arguments[1][0], two),
                                      ir_constant_int(&body, f.index, 0));
    struct ir_operation *choose = ir_build(&body, OP_IF, 1, &odd, 1, &f.index);
    struct ir_builder then = {.module = f.module, .block = choose->regions[0]};
    struct ir_value *three = ir_binary(&then, OP_MUL, arguments[1][0], ir_constant_int(&then, f.index, 3));
    ir_build(&then, OP_YIELD, 1, (struct ir_value *[]){ir_binary(&then, OP_ADD, three, one)}, 0, NULL);
    struct ir_builder otherwise = {.module = f.module, .block = choose->regions[1]};
    ir_build(&otherwise, OP_YIELD, 1, &half, 0, NULL);
    ir_build(&body, OP_YIELD, 2,
             (struct ir_value *[]){choose->results[0], ir_binary(&body, OP_ADD, arguments[1][1], one)}, 0, NULL);
    ir_build(&f.builder, OP_RETURN, 1, &loop->results[1], 0, NULL);
    struct interp_argument argument = {.bits = 27};
    struct interp_options options = {0};
    struct interp_problem problem;
    uint64_t steps = 0, *out[1] = {&steps};
    EXPECT(interp_run(f.function, 1, &argument, &options, out, &problem) && steps == 111);
    argument.bits = 0; /* 0 -> 0 for ever */
    options.step_limit = 10000;
    EXPECT(!interp_run(f.function, 1, &argument, &options, out, &problem) && strstr(problem.text, "did not end"));
    arena_destroy(f.arena);
}

/* One binary operation on scalars, by its encodings. */
static uint64_t compute(enum ir_opcode opcode, enum ir_element element, uint64_t a, uint64_t b)
{
    struct fixture f = begin(false);
    const struct ir_type *type = ir_type_scalar(f.context, element);
    struct ir_value *x = ir_block_argument(f.function->body, type, "x"),
                    *y = ir_block_argument(f.function->body, type, "y");
    ir_build(&f.builder, OP_RETURN, 1, (struct ir_value *[]){ir_binary(&f.builder, opcode, x, y)}, 0, NULL);
    struct interp_argument arguments[2] = {{.bits = a}, {.bits = b}};
    struct interp_options options = {0};
    struct interp_problem problem;
    uint64_t result = 0, *out[1] = {&result};
    EXPECT(interp_run(f.function, 2, arguments, &options, out, &problem));
    arena_destroy(f.arena);
    return result;
}

static int64_t integers(enum ir_opcode opcode, enum ir_element element, int64_t a, int64_t b)
{
    return ir_bits_to_int(element, compute(opcode, element, ir_int_to_bits(element, a), ir_int_to_bits(element, b)));
}

static double floats(enum ir_opcode opcode, enum ir_element element, double a, double b)
{
    return ir_bits_to_double(element,
                             compute(opcode, element, ir_double_to_bits(element, a), ir_double_to_bits(element, b)));
}

static void test_meanings(void)
{
    EXPECT(integers(OP_DIV, IR_I32, 7, 0) == 0 && integers(OP_REM, IR_I32, 7, 0) == 7);
    EXPECT(integers(OP_DIV, IR_I32, INT32_MIN, -1) == INT32_MIN && integers(OP_REM, IR_I32, INT32_MIN, -1) == 0);
    EXPECT(integers(OP_DIV, IR_I8, -7, 2) == -3 && integers(OP_REM, IR_I8, -7, 2) == -1);
    EXPECT(integers(OP_DIV, IR_U8, 250, 3) == 83 && integers(OP_ADD, IR_U8, 250, 10) == 4);
    EXPECT(integers(OP_SHL, IR_I32, 1, 32) == 0 && integers(OP_SHR, IR_I32, -8, 40) == -1 &&
           integers(OP_SHR, IR_U32, 8, 40) == 0);
    EXPECT(integers(OP_SHL, IR_I8, 1, 7) == -128 && integers(OP_SHR, IR_I8, -128, 7) == -1 &&
           integers(OP_SHL, IR_I8, 1, -1) == 0);
    EXPECT(integers(OP_MULHI, IR_I64, INT64_MIN, INT64_MIN) == INT64_C(1) << 62 &&
           integers(OP_MULHI, IR_U32, 0xffffffff, 0xffffffff) == 0xfffffffe);
    EXPECT(floats(OP_MIN, IR_F32, NAN, 3.0) == 3.0 && floats(OP_MAX, IR_F32, 3.0, NAN) == 3.0 &&
           isnan(floats(OP_MAX, IR_F32, NAN, NAN)));
    EXPECT(signbit(floats(OP_MIN, IR_F32, 0.0, -0.0)) && !signbit(floats(OP_MAX, IR_F32, -0.0, 0.0)));
    EXPECT(floats(OP_DIV, IR_F16, 1.0, 3.0) == 0x1.554p-2 && floats(OP_ADD, IR_F8E4M3, 400.0, 400.0) == 448.0);
    EXPECT(isinf(floats(OP_DIV, IR_F32, 1.0, 0.0)));
}

int main(void)
{
    test_saxpy();
    test_reduce_region();
    test_while();
    test_meanings();
    printf("%d failures\n", failures);
    return failures != 0;
}
