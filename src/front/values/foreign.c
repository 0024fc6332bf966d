/* Names that come from C, CUDA, Python and Triton, and what stands in their place here. */
#include "front/values/elaborate.h"

#include <string.h>

/* Words of C, CUDA, Python and Triton, and what stands in their place: a name that can replace them, or a sentence. */
static const struct {
    const char *name, *instead, *sentence;
    enum fixit_grade grade;
} foreign[] = {
    {"int", "i32", NULL, FIXIT_CERTAIN},
    {"long", "i64", NULL, FIXIT_CERTAIN},
    {"short", "i16", NULL, FIXIT_CERTAIN},
    {"char", "i8", NULL, FIXIT_PROBABLE},
    {"unsigned", "u32", NULL, FIXIT_CERTAIN},
    {"size_t", "i64", NULL, FIXIT_PROBABLE},
    {"half", "f16", NULL, FIXIT_CERTAIN},
    {"float", "f32", NULL, FIXIT_CERTAIN},
    {"double", "f64", NULL, FIXIT_CERTAIN},
    {"__half", "f16", NULL, FIXIT_CERTAIN},
    {"bfloat16", "bf16", NULL, FIXIT_CERTAIN},
    {"float16", "f16", NULL, FIXIT_CERTAIN},
    {"float32", "f32", NULL, FIXIT_CERTAIN},
    {"int32", "i32", NULL, FIXIT_CERTAIN},
    {"int64", "i64", NULL, FIXIT_CERTAIN},
    {"fp16", "f16", NULL, FIXIT_CERTAIN},
    {"fp32", "f32", NULL, FIXIT_CERTAIN},
    {"fp64", "f64", NULL, FIXIT_CERTAIN},
    {"float64", "f64", NULL, FIXIT_CERTAIN},
    {"int8", "i8", NULL, FIXIT_CERTAIN},
    {"int16", "i16", NULL, FIXIT_CERTAIN},
    {"uint", "u32", NULL, FIXIT_CERTAIN},
    {"uint8", "u8", NULL, FIXIT_CERTAIN},
    {"uint16", "u16", NULL, FIXIT_CERTAIN},
    {"uint32", "u32", NULL, FIXIT_CERTAIN},
    {"uint64", "u64", NULL, FIXIT_CERTAIN},
    {"i4", NULL, "numbers of 4 bits are the elements of a view, `in i4[N]`; what is read of them is i8 or u8",
     FIXIT_HINT},
    {"u4", NULL, "numbers of 4 bits are the elements of a view, `in i4[N]`; what is read of them is i8 or u8",
     FIXIT_HINT},
    {"int4", NULL, "numbers of 4 bits are the elements of a view, `in i4[N]`; what is read of them is i8 or u8",
     FIXIT_HINT},
    {"arange", NULL, "positions from 0 are `iota(n)`, and `a + iota(n)` from a", FIXIT_HINT},
    {"relu6", NULL, "write `min(max(x, 0.0), 6.0)`", FIXIT_HINT},
    {"fabs", "abs", NULL, FIXIT_CERTAIN},
    {"fabsf", "abs", NULL, FIXIT_CERTAIN},
    {"expf", "exp", NULL, FIXIT_CERTAIN},
    {"__expf", "exp", NULL, FIXIT_CERTAIN},
    {"exp2f", "exp2", NULL, FIXIT_CERTAIN},
    {"logf", "log", NULL, FIXIT_CERTAIN},
    {"sqrtf", "sqrt", NULL, FIXIT_CERTAIN},
    {"rsqrtf", "rsqrt", NULL, FIXIT_CERTAIN},
    {"tanhf", "tanh", NULL, FIXIT_CERTAIN},
    {"powf", "pow", NULL, FIXIT_CERTAIN},
    {"fmin", "min", NULL, FIXIT_CERTAIN},
    {"fminf", "min", NULL, FIXIT_CERTAIN},
    {"fmax", "max", NULL, FIXIT_CERTAIN},
    {"fmaxf", "max", NULL, FIXIT_CERTAIN},
    {"maximum", "max", NULL, FIXIT_PROBABLE},
    {"minimum", "min", NULL, FIXIT_PROBABLE},
    {"atomicAdd", "atomic_add", NULL, FIXIT_PROBABLE},
    {"select", "where", NULL, FIXIT_CERTAIN},
    {"transpose", "trans", NULL, FIXIT_PROBABLE},
    {"INFINITY", "inf", NULL, FIXIT_CERTAIN},
    {"NAN", "nan", NULL, FIXIT_CERTAIN},
    {"printf", NULL, "values stand in braces: `print(\"x {} of {:.3f}\", i, x);`", FIXIT_HINT},
    {"device_print", NULL, "values stand in braces: `print(\"x {}\", x);`", FIXIT_HINT},
    {"prefetch", NULL,
     "a loop over slices of a view is copied ahead by itself, by as many turns as `tune(stages: {3})` says",
     FIXIT_HINT},
    {"nullptr", "null", NULL, FIXIT_CERTAIN},
    {"threadIdx", NULL,
     "threads belong to the compiler: write what one tile computes, with `iota(B)` for positions in it", FIXIT_HINT},
    {"blockIdx", NULL, "the index of the instance is the name in `grid(b: ...)`", FIXIT_HINT},
    {"program_id", NULL, "the index of the instance is the name in `grid(b: ...)`", FIXIT_HINT},
    {"num_programs", NULL, "the number of instances along a grid name is `grid_size(name)`", FIXIT_HINT},
    {"blockDim", NULL, "threads belong to the compiler: the size of a tile is its extent", FIXIT_HINT},
    {"__syncthreads", NULL, "barriers belong to the compiler: tiles are values", FIXIT_HINT},
    {"sizeof", NULL, "offsets are counted in elements, so sizes in bytes are not needed", FIXIT_HINT},
    {"True", "true", NULL, FIXIT_CERTAIN},
    {"False", "false", NULL, FIXIT_CERTAIN},
    {"tl", NULL, "functions stand alone: `load(...)`, `exp(...)`", FIXIT_HINT},
    {"triton", NULL, "functions stand alone: `cdiv(n, B)`", FIXIT_HINT},
    {"torch", NULL, "functions stand alone: `exp(...)`, and types are `f32`, `bf16`", FIXIT_HINT},
    {"np", NULL, "functions stand alone: `exp(...)`, and types are `f32`, `i32`", FIXIT_HINT},
    {"math", NULL, "functions stand alone: `exp(...)`, `sqrt(...)`", FIXIT_HINT},
    {"len", NULL, "the extents of a view are `x.extent[0]`, or the names in its declaration", FIXIT_HINT},
    {"range", NULL, "loops count with `for i in 0..n`", FIXIT_HINT},
    {"constexpr", NULL,
     "what is known when compiling stands in `< >`, as in `kernel f<B: {64, 128}>(...)`, or in `tune`", FIXIT_HINT},
    {"multiple_of", NULL, "write the fact: `assume(n % 16 == 0);`, or in the clause `requires`, which is checked",
     FIXIT_HINT},
    {"max_contiguous", NULL, "the compiler finds it itself where offsets are made with `iota`", FIXIT_HINT},
    {"debug_barrier", NULL, "barriers belong to the compiler: tiles are values", FIXIT_HINT},
    {"syncthreads", NULL, "barriers belong to the compiler: tiles are values", FIXIT_HINT},
    {"zeros_like", NULL, "write its type: `f32[64](0)`", FIXIT_HINT},
    {"expand_dims", NULL, "an extent of 1 is `x[:, None]` or `x[None, :]`", FIXIT_HINT},
    {"broadcast_to", "broadcast", NULL, FIXIT_PROBABLE},
    {"softmax", NULL, "write `let e = exp(x - max(x));` and `e / sum(e)`", FIXIT_HINT},
    {"make_tensor_descriptor", NULL, "views are what descriptors are elsewhere: `x[i +: B, j +: C]`", FIXIT_HINT},
    {"make_block_ptr", NULL, "views are what block pointers are elsewhere: `x[i +: B, j +: C]`", FIXIT_HINT},
    {"full", NULL, "a tile of one value is `f32[64](value)`", FIXIT_HINT},
};

/* The row of a name; -1: none. */
static int foreign_row(const char *name)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (strcmp(foreign[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* `shown`: the name as it is written, with a module in front or without. */
static void report_row(struct elaborator *e, int row, const char *shown, struct location at, bool is_certain)
{
    if (foreign[row].sentence) {
        front_report(e, DIAGNOSTIC_E0201, at, "`%s` is not known; %s", shown, foreign[row].sentence);
        return;
    }
    struct diagnostic *d = front_report(e, DIAGNOSTIC_E0201, at, "`%s` is not known; here it is `%s`", shown,
                                        foreign[row].instead);
    front_fixit(e, d, at, is_certain ? foreign[row].grade : FIXIT_PROBABLE, foreign[row].instead);
}

bool foreign_name(struct elaborator *e, const char *name, struct location at, bool is_near_another)
{
    int row = foreign_row(name);
    if (row >= 0)
        report_row(e, row, name, at, !is_near_another);
    return row >= 0;
}

bool foreign_is_module(const char *name)
{
    static const char *const modules[] = {"tl", "triton", "torch", "np", "math"};
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        if (strcmp(name, modules[i]) == 0)
            return true;
    return false;
}

bool foreign_of_module(struct elaborator *e, const char *module, const char *name, struct location at, bool is_own)
{
    int row = is_own ? -1 : foreign_row(name);
    const char *shown = arena_printf(e->arena, "%s.%s", module, name);
    if (row >= 0)
        report_row(e, row, shown, at, false);
    if (is_own)
        front_fixit(e, front_report(e, DIAGNOSTIC_E0201, at, "`%s` is not known; here it is `%s`", shown, name), at,
                    FIXIT_PROBABLE, name);
    return is_own || row >= 0;
}

const char *foreign_type(const char *name)
{
    int row = foreign_row(name);
    return row >= 0 && foreign[row].instead ? foreign[row].instead : name;
}

/* What others call the members of a view. */
static const char *own_member(const char *name)
{
    static const struct {
        const char *name, *own;
    } known[] = {
        {"shape", "extent"},   {"size", "extent"}, {"extents", "extent"}, {"dims", "extent"},
        {"strides", "stride"}, {"data", "ptr"},    {"pointer", "ptr"},    {"data_ptr", "ptr"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].own;
    return NULL;
}

void foreign_member(struct elaborator *e, struct diagnostic *d, const char *name, struct location at)
{
    if (!d)
        return; /* reported before, or by another instance */
    static const struct {
        const char *name, *sentence;
    } known[] = {
        {"T", "rows and columns are exchanged by `trans(x)`"},
        {"to", "a conversion is written as a call: `f32(x)`"},
        {"astype", "a conversion is written as a call: `f32(x)`"},
        {"dtype", "the type of the elements is the one declared; over several types it is a name in `< >`"},
        {"reshape", "functions stand before their argument: `reshape(x, 4, 2)`"},
        {"sum", "functions stand before their argument: `sum(x, axis = 0)`"},
        {"max", "functions stand before their argument: `max(x, axis = 0)`"},
        {"x", "threads belong to the compiler; the index of the instance is the name in `grid(b: ...)`"},
    };
    const char *own = at.source ? own_member(name) : NULL;
    if (own)
        front_fixit(e, d, at, strcmp(own, "ptr") == 0 || strcmp(name, "size") == 0 ? FIXIT_PROBABLE : FIXIT_CERTAIN,
                    own);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            front_note(e, d, d->at, "%s", known[i].sentence);
}

void foreign_option(struct elaborator *e, struct diagnostic *d, const char *name, struct location at)
{
    if (strcmp(name, "dim") == 0 || strcmp(name, "dims") == 0)
        front_fixit(e, d, at, FIXIT_CERTAIN, "axis");
    if (strcmp(name, "keep_dims") == 0 || strcmp(name, "keepdim") == 0 || strcmp(name, "keepdims") == 0)
        front_note(e, d, at, "the dimension is dropped; `None` puts it back, as in `sum(x, axis = 1)[:, None]`");
}
