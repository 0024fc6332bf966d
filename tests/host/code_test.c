/* Host expressions: random trees are compiled to byte code, the run time computes a grid with it, and the count of
 * programs is compared with what a walk over the tree gives, overflow included. */
#include "runtime-stub/tile_rt.h"
#include "targets/host/host.h"
#include <math.h>
#include <string.h>

__extension__ typedef __int128 wide;

enum { TREES = 40000, NAMES = 2, SCALARS = 3 };

static uint64_t seed = 88172645463325252u;
static uint64_t random_bits(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}
static int random_below(int limit) { return (int)(random_bits() % (uint64_t)limit); }

struct world {
    struct arena *arena;
    int64_t scalars[SCALARS];
    double reals[2];
    bool overflow;
};

static struct kernel_expression *make(struct world *w, enum kernel_host_op op)
{
    struct kernel_expression *e = ARENA_NEW(w->arena, struct kernel_expression);
    e->op = op;
    return e;
}

static int64_t random_number(void)
{
    static const int64_t special[] = {0,       1,       -1,         2,         63,        64,       -64,
                                      1 << 22, 1 << 23, -(1 << 23), INT32_MAX, INT64_MAX, INT64_MIN};
    int which = random_below(20);
    return which < 13 ? special[which] : (int64_t)(random_bits() >> random_below(64)) * (which & 1 ? 1 : -1);
}

static const enum kernel_host_op integer_ops[] = {
    KERNEL_HOST_ADD,     KERNEL_HOST_SUB,   KERNEL_HOST_MUL,     KERNEL_HOST_DIV,    KERNEL_HOST_REM,
    KERNEL_HOST_MIN,     KERNEL_HOST_MAX,   KERNEL_HOST_CDIV,    KERNEL_HOST_NEG,    KERNEL_HOST_ABS,
    KERNEL_HOST_SHL,     KERNEL_HOST_SHR,   KERNEL_HOST_BIT_AND, KERNEL_HOST_BIT_OR, KERNEL_HOST_BIT_XOR,
    KERNEL_HOST_BIT_NOT, KERNEL_HOST_ILOG2, KERNEL_HOST_SELECT,
};
static const enum kernel_host_op bool_ops[] = {
    KERNEL_HOST_EQ,       KERNEL_HOST_NE,       KERNEL_HOST_LT,       KERNEL_HOST_LE,       KERNEL_HOST_GT,
    KERNEL_HOST_GE,       KERNEL_HOST_FLOAT_EQ, KERNEL_HOST_FLOAT_NE, KERNEL_HOST_FLOAT_LT, KERNEL_HOST_FLOAT_LE,
    KERNEL_HOST_FLOAT_GT, KERNEL_HOST_FLOAT_GE, KERNEL_HOST_NOT,      KERNEL_HOST_AND,      KERNEL_HOST_OR,
};
static const char operand_counts[] = {
#define X(id, operands) operands,
    KERNEL_HOST_OPS(X)
#undef X
};

static struct kernel_expression *random_tree(struct world *w, int depth, bool wants_bool);

static struct kernel_expression *random_real(struct world *w)
{
    static const double numbers[] = {0.0, -0.0, 1.5, -2.25, 1e300};
    struct kernel_expression *e = make(w, random_below(2) ? KERNEL_HOST_FLOAT_SCALAR : KERNEL_HOST_FLOAT_CONSTANT);
    if (e->op == KERNEL_HOST_FLOAT_SCALAR)
        e->number = SCALARS + random_below(2);
    else
        memcpy(&e->number, &numbers[random_below(5)], sizeof e->number);
    return e;
}

static struct kernel_expression *random_tree(struct world *w, int depth, bool wants_bool)
{
    struct kernel_expression *e;
    if (!wants_bool && (depth == 0 || random_below(5) == 0)) {
        e = make(w, random_below(2) ? KERNEL_HOST_CONSTANT : KERNEL_HOST_SCALAR);
        e->number = e->op == KERNEL_HOST_CONSTANT ? random_number() : random_below(SCALARS);
        return e;
    }
    e = make(w, wants_bool ? bool_ops[random_below(depth ? 15 : 12)] : integer_ops[random_below(18)]);
    for (int i = 0; i < operand_counts[e->op]; i++) {
        bool logic = e->op == KERNEL_HOST_NOT || e->op == KERNEL_HOST_AND || e->op == KERNEL_HOST_OR ||
                     (e->op == KERNEL_HOST_SELECT && i == 0);
        if (e->op >= KERNEL_HOST_FLOAT_EQ && e->op <= KERNEL_HOST_FLOAT_GE)
            e->operand[i] = random_real(w);
        else
            e->operand[i] = random_tree(w, depth > 0 ? depth - 1 : 0, logic);
    }
    return e;
}

static double real_of(struct world *w, const struct kernel_expression *e)
{
    double value;
    if (e->op == KERNEL_HOST_FLOAT_SCALAR)
        return w->reals[e->number - SCALARS];
    memcpy(&value, &e->number, sizeof value);
    return value;
}

/* 128-bit arithmetic, cut at the end. */
static int64_t narrow(struct world *w, wide value)
{
    if (value < INT64_MIN || value > INT64_MAX)
        w->overflow = true;
    return (int64_t)value;
}

static int64_t value_of(struct world *w, const struct kernel_expression *e)
{
    int64_t a, b;
    switch (e->op) {
    case KERNEL_HOST_CONSTANT: return e->number;
    case KERNEL_HOST_SCALAR: return w->scalars[e->number];
    case KERNEL_HOST_AND: return value_of(w, e->operand[0]) ? value_of(w, e->operand[1]) : 0;
    case KERNEL_HOST_OR: return value_of(w, e->operand[0]) ? 1 : value_of(w, e->operand[1]);
    case KERNEL_HOST_SELECT: return value_of(w, e->operand[value_of(w, e->operand[0]) ? 1 : 2]);
    case KERNEL_HOST_FLOAT_EQ: return real_of(w, e->operand[0]) == real_of(w, e->operand[1]);
    case KERNEL_HOST_FLOAT_NE: return real_of(w, e->operand[0]) != real_of(w, e->operand[1]);
    case KERNEL_HOST_FLOAT_LT: return real_of(w, e->operand[0]) < real_of(w, e->operand[1]);
    case KERNEL_HOST_FLOAT_LE: return real_of(w, e->operand[0]) <= real_of(w, e->operand[1]);
    case KERNEL_HOST_FLOAT_GT: return real_of(w, e->operand[0]) > real_of(w, e->operand[1]);
    case KERNEL_HOST_FLOAT_GE: return real_of(w, e->operand[0]) >= real_of(w, e->operand[1]);
    default: break;
    }
    a = value_of(w, e->operand[0]);
    b = e->operand[1] ? value_of(w, e->operand[1]) : 0;
    switch (e->op) {
    case KERNEL_HOST_ADD: return narrow(w, (wide)a + b);
    case KERNEL_HOST_SUB: return narrow(w, (wide)a - b);
    case KERNEL_HOST_MUL: return narrow(w, (wide)a * b);
    case KERNEL_HOST_DIV: return b ? narrow(w, (wide)a / b) : 0;
    case KERNEL_HOST_REM: return b ? (int64_t)((wide)a % b) : a;
    case KERNEL_HOST_CDIV: {
        wide quotient = b ? (wide)a / b : 0;
        return narrow(w, quotient + (b && (wide)a % b != 0 && (a < 0) == (b < 0)));
    }
    case KERNEL_HOST_MIN: return int64_min(a, b);
    case KERNEL_HOST_MAX: return int64_max(a, b);
    case KERNEL_HOST_NEG: return narrow(w, -(wide)a);
    case KERNEL_HOST_ABS: return narrow(w, a < 0 ? -(wide)a : a);
    case KERNEL_HOST_SHL:
        if (a != 0 && (b < 0 || b > 63))
            w->overflow = true;
        return a == 0 || w->overflow ? 0 : narrow(w, (wide)a * ((wide)1 << b));
    case KERNEL_HOST_SHR: return b < 0 || b > 63 ? (a < 0 ? -1 : 0) : a >> b;
    case KERNEL_HOST_BIT_AND: return a & b;
    case KERNEL_HOST_BIT_OR: return a | b;
    case KERNEL_HOST_BIT_XOR: return a ^ b;
    case KERNEL_HOST_BIT_NOT: return ~a;
    case KERNEL_HOST_ILOG2: return a > 0 ? log2_floor((uint64_t)a) : -1;
    case KERNEL_HOST_EQ: return a == b;
    case KERNEL_HOST_NE: return a != b;
    case KERNEL_HOST_LT: return a < b;
    case KERNEL_HOST_LE: return a <= b;
    case KERNEL_HOST_GT: return a > b;
    case KERNEL_HOST_GE: return a >= b;
    case KERNEL_HOST_NOT: return !a;
    default: die("no rule for operation %d", (int)e->op);
    }
}

static void nothing(const uint64_t *slots, int64_t begin, int64_t end, void *scratch)
{
    (void)slots, (void)begin, (void)end, (void)scratch;
}

/* What the run time makes of the code: the value if it is above 0, 0 for others, -1 for an overflow. */
static int64_t run(const struct host_code *code, int32_t start, const struct world *w)
{
    static const struct tile_rt_parameter parameters[] = {
        {.name = "a", .kind = TILE_RT_PARAMETER_scalar, .type = TILE_RT_TYPE_i64},
        {.name = "b", .kind = TILE_RT_PARAMETER_scalar, .type = TILE_RT_TYPE_i64},
        {.name = "c", .kind = TILE_RT_PARAMETER_scalar, .type = TILE_RT_TYPE_i32},
        {.name = "f", .kind = TILE_RT_PARAMETER_scalar, .type = TILE_RT_TYPE_f64},
        {.name = "g", .kind = TILE_RT_PARAMETER_scalar, .type = TILE_RT_TYPE_f32},
    };
    struct tile_rt_variant variant = {.grid = &start, .function = nothing, .text = ""};
    struct tile_rt_target target = {"cpu-baseline", TILE_RT_TARGET_cpu, 0, 0, 1, &variant};
    struct tile_rt_kernel kernel = {.abi = TILE_RT_ABI,
                                    .parameter_count = 5,
                                    .grid_rank = 1,
                                    .target_count = 1,
                                    .slot_count = 5,
                                    .name = "k",
                                    .parameters = parameters,
                                    .targets = &target,
                                    .code = code->words.data,
                                    .load_name = "k_load"};
    int32_t small = (int32_t)w->scalars[2];
    float single = (float)w->reals[1];
    const void *arguments[5] = {&w->scalars[0], &w->scalars[1], &small, &w->reals[0], &single};
    struct tile_kernel_info info;
    int status = tile_rt_query(&kernel, TILE_CPU, arguments, &info);
    return status == TILE_OK ? info.programs : status == TILE_ERR_ARG ? -1 : -2;
}

int main(void)
{
    static const double reals[] = {0.0, 1.5, -2.25, INFINITY, NAN};
    struct arena *arena = arena_create();
    struct diagnostics *diagnostics = diagnostics_create(arena);
    struct target_options options = {.arena = arena, .diagnostics = diagnostics};
    struct kernel_entry entry = {.symbol = "k"};
    struct host_builder builder = {.options = &options, .arena = arena};
    int bad = 0, overflows = 0, positive = 0, shared = 0;
    for (int i = 0; i < TREES && bad < 10; i++) {
        struct world w = {.arena = arena};
        struct host_code code = {.builder = &builder, .entry = &entry};
        const struct kernel_expression *tree;
        int64_t wanted, found;
        int32_t start;
        w.scalars[0] = random_number();
        w.scalars[1] = random_number();
        w.scalars[2] = (int32_t)random_number();
        w.reals[0] = reals[random_below(5)];
        w.reals[1] = reals[random_below(5)];
        host_code_add(&code, random_tree(&w, 2, false)); /* something before it */
        tree = random_tree(&w, random_below(5), false);
        start = host_code_add(&code, tree);
        if (start < 0)
            continue; /* deeper than the stack: reported */
        shared += host_code_add(&code, tree) == start;
        wanted = value_of(&w, tree);
        found = run(&code, start, &w);
        overflows += w.overflow;
        positive += !w.overflow && wanted > 0;
        if (found != (w.overflow ? -1 : int64_max(wanted, 0)) && ++bad)
            fprintf(stderr, "tree %d: %lld, run time %lld (%s)\n", i, (long long)wanted, (long long)found,
                    tile_last_error());
    }
    if (overflows < TREES / 100 || positive < TREES / 10 || shared < TREES * 9 / 10 || diagnostics->errors > TREES / 10)
        bad++;
    printf("%d trees, %d overflow, %d above 0, %d wrong\n", TREES, overflows, positive, bad);
    arena_destroy(arena);
    return bad != 0;
}
