/* Names that come from C, CUDA, Python and Triton, and what stands in their place here. */
#include "front/values/elaborate.h"

#include <string.h>

/* Words of C, CUDA, Python and Triton, and what stands in their place: a name that can replace them, or a sentence. */
static const struct {
    const char *name, *instead, *sentence;
} foreign[] = {
    {"int", "i32", NULL},
    {"long", "i64", NULL},
    {"short", "i16", NULL},
    {"char", "i8", NULL},
    {"unsigned", "u32", NULL},
    {"size_t", "i64", NULL},
    {"half", "f16", NULL},
    {"float", "f32", NULL},
    {"double", "f64", NULL},
    {"__half", "f16", NULL},
    {"bfloat16", "bf16", NULL},
    {"float16", "f16", NULL},
    {"float32", "f32", NULL},
    {"int32", "i32", NULL},
    {"int64", "i64", NULL},
    {"fabs", "abs", NULL},
    {"fabsf", "abs", NULL},
    {"expf", "exp", NULL},
    {"__expf", "exp", NULL},
    {"exp2f", "exp2", NULL},
    {"logf", "log", NULL},
    {"sqrtf", "sqrt", NULL},
    {"rsqrtf", "rsqrt", NULL},
    {"tanhf", "tanh", NULL},
    {"powf", "pow", NULL},
    {"fmin", "min", NULL},
    {"fminf", "min", NULL},
    {"fmax", "max", NULL},
    {"fmaxf", "max", NULL},
    {"maximum", "max", NULL},
    {"minimum", "min", NULL},
    {"arange", "iota", NULL},
    {"atomicAdd", "atomic_add", NULL},
    {"select", "where", NULL},
    {"transpose", "trans", NULL},
    {"INFINITY", "inf", NULL},
    {"NAN", "nan", NULL},
    {"printf", NULL, "`print` is not there yet; write what you want to see into a view"},
    {"nullptr", "null", NULL},
    {"threadIdx", NULL,
     "threads belong to the compiler: write what one tile computes, with `iota(B)` for positions in it"},
    {"blockIdx", NULL, "the index of the instance is the name in `grid(b: ...)`"},
    {"program_id", NULL, "the index of the instance is the name in `grid(b: ...)`"},
    {"num_programs", NULL, "the number of instances along a grid name is `grid_size(name)`"},
    {"blockDim", NULL, "threads belong to the compiler: the size of a tile is its extent"},
    {"__syncthreads", NULL, "barriers belong to the compiler: tiles are values"},
    {"sizeof", NULL, "offsets are counted in elements, so sizes in bytes are not needed"},
    {"True", "true", NULL},
    {"False", "false", NULL},
    {"tl", NULL, "functions stand alone: `load(...)`, `exp(...)`"},
    {"triton", NULL, "functions stand alone: `cdiv(n, B)`"},
    {"torch", NULL, "functions stand alone: `exp(...)`, and types are `f32`, `bf16`"},
    {"np", NULL, "functions stand alone: `exp(...)`, and types are `f32`, `i32`"},
    {"math", NULL, "functions stand alone: `exp(...)`, `sqrt(...)`"},
    {"len", NULL, "the extents of a view are `x.extent[0]`, or the names in its declaration"},
    {"range", NULL, "loops count with `for i in 0..n`"},
    {"constexpr", NULL,
     "what is known when compiling stands in `< >`, as in `kernel f<B: {64, 128}>(...)`, or in `tune`"},
    {"multiple_of", NULL, "write the fact: `assume(n % 16 == 0);`, or in the clause `requires`, which is checked"},
    {"max_contiguous", NULL, "the compiler finds it itself where offsets are made with `iota`"},
    {"debug_barrier", NULL, "barriers belong to the compiler: tiles are values"},
    {"syncthreads", NULL, "barriers belong to the compiler: tiles are values"},
    {"zeros_like", NULL, "write the type: `zeros(f32[64])`, or `x * 0.0`"},
    {"expand_dims", NULL, "an extent of 1 is `x[:, None]` or `x[None, :]`"},
    {"broadcast_to", "broadcast", NULL},
    {"softmax", NULL, "write `let e = exp(x - max(x));` and `e / sum(e)`"},
    {"make_tensor_descriptor", NULL, "views are what descriptors are elsewhere: `x[i +: B, j +: C]`"},
    {"make_block_ptr", NULL, "views are what block pointers are elsewhere: `x[i +: B, j +: C]`"},
    {"full", NULL, "a tile of one value is `f32[64](value)`"},
};

bool foreign_name(struct elaborator *e, const char *name, struct location at)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        if (strcmp(foreign[i].name, name) != 0)
            continue;
        if (foreign[i].sentence) {
            front_report(e, DIAGNOSTIC_E0201, at, "`%s` is not known; %s", name, foreign[i].sentence);
            return true;
        }
        struct diagnostic *d = front_report(e, DIAGNOSTIC_E0201, at, "`%s` is not known; here it is `%s`", name,
                                            foreign[i].instead);
        front_fixit(e, d, at, foreign[i].instead);
        return true;
    }
    return false;
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
        front_fixit(e, d, at, own);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            front_note(e, d, d->at, "%s", known[i].sentence);
}

void foreign_option(struct elaborator *e, struct diagnostic *d, const char *name, struct location at)
{
    if (strcmp(name, "dim") == 0 || strcmp(name, "dims") == 0)
        front_fixit(e, d, at, "axis");
    if (strcmp(name, "keep_dims") == 0 || strcmp(name, "keepdim") == 0 || strcmp(name, "keepdims") == 0)
        front_note(e, d, at, "the dimension is dropped; `None` puts it back, as in `sum(x, axis = 1)[:, None]`");
}
