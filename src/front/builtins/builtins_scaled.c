/* dot_scaled: products of small floats whose blocks along k share a scale, as the formats mxfp8, mxfp4 and nvfp4 are.
 * No target of this compiler has an instruction for it that is used, so both factors are made bf16, value times scale,
 * and multiplied as any others:
 *
 *     e2m1 (two a byte) or an 8-bit float [m, k], scales [m, k/32] -> f32 [m, k] * f32 [m, k/32, 32] -> bf16
 *
 * A value has at most 4 digits and a scale 1 or 4, so bf16 has room for the product, which is exact unless it leaves its
 * range. */
#include "base/plant.h"
#include "front/builtins/builtins.h"

#include <string.h>

struct format {
    const char *name;
    enum ir_element element; /* of the tile; 8-bit floats may also be bytes */
    bool pairs;              /* two a byte, the one with the even k low */
};
static const struct format formats[] = {
    {"e4m3", IR_F8E4M3, false}, {"e5m2", IR_F8E5M2, false}, {"e2m1", IR_U8, true}, {"bf16", IR_BF16, false}};

struct factor {
    const char *name; /* for messages */
    struct value tile, scale;
    const struct format *format;
    int k; /* the dimension that is summed over */
    int64_t rows, depth;
};

static struct ir_value *number(struct elaborator *e, const struct ir_type *type, int64_t value)
{
    return ir_constant_int(&e->builder, type, value);
}

/* Each element `count` times, along a new dimension behind d. */
static struct ir_value *repeat(struct elaborator *e, struct ir_value *v, int d, int64_t count)
{
    int64_t extent[IR_MAX_RANK];
    for (int i = 0; i <= v->type->rank; i++)
        extent[i] = i <= d ? v->type->extent[i] : i == d + 1 ? 1 : v->type->extent[i - 1];
    struct ir_value *shaped = ir_build_value(&e->builder, OP_RESHAPE,
                                             ir_type_with_shape(e->context, v->type, v->type->rank + 1, extent), 1, &v);
    extent[d + 1] = count;
    return ir_broadcast(&e->builder, shaped, v->type->rank + 1, extent);
}

/* The new dimension behind d becomes part of it. */
static struct ir_value *merge(struct elaborator *e, struct ir_value *v, int d)
{
    int64_t extent[IR_MAX_RANK];
    for (int i = 0; i < v->type->rank - 1; i++)
        extent[i] = v->type->extent[i + (i > d)] * (i == d ? v->type->extent[d + 1] : 1);
    return ir_build_value(&e->builder, OP_RESHAPE, ir_type_with_shape(e->context, v->type, v->type->rank - 1, extent),
                          1, &v);
}

/* The position along dimension d, in the shape of `like`. */
static struct ir_value *position(struct elaborator *e, const struct ir_type *like, int d)
{
    int64_t extent[IR_MAX_RANK];
    struct ir_value *iota = ir_build_value(&e->builder, OP_IOTA,
                                           ir_type_tile(e->context, IR_INDEX, 1, &like->extent[d]), 0, NULL);
    for (int i = 0; i < like->rank; i++)
        extent[i] = i == d ? like->extent[d] : 1;
    iota = ir_build_value(&e->builder, OP_RESHAPE, ir_type_tile(e->context, IR_INDEX, like->rank, extent), 1, &iota);
    return ir_broadcast(&e->builder, iota, like->rank, like->extent);
}

static struct ir_value *bitcast(struct elaborator *e, struct ir_value *v, enum ir_element element)
{
    return ir_build_value(&e->builder, OP_BITCAST, shape_like(e, v->type, element), 1, &v);
}

/* Sign, two bits of exponent and one of fraction, put where f32 has its own: 2^-126 of the number. */
static struct ir_value *decode_pairs(struct elaborator *e, struct ir_value *bytes, int k)
{
    struct ir_builder *b = &e->builder;
    struct ir_value *both = ir_cast(b, repeat(e, bytes, k, 2), IR_U32);
    struct ir_value *by = ir_binary(b, OP_MUL, ir_cast(b, position(e, both->type, k + 1), IR_U32),
                                    number(e, both->type, 4));
    if (PLANTED(front_pairs_high_first))
        by = ir_binary(b, OP_SUB, number(e, by->type, 4), by);
    struct ir_value *code = merge(e, ir_binary(b, OP_SHR, both, by), k);
    struct ir_value *size = ir_binary(b, OP_SHL, ir_binary(b, OP_AND, code, number(e, code->type, 7)),
                                      number(e, code->type, 22));
    struct ir_value *sign = ir_binary(b, OP_SHL, ir_binary(b, OP_AND, code, number(e, code->type, 8)),
                                      number(e, code->type, 28));
    struct ir_value *small = bitcast(e, ir_binary(b, OP_OR, size, sign), IR_F32);
    return ir_binary(b, OP_MUL, small, ir_constant_float(b, small->type, 0x1p126));
}

/* 2^(s - 127), and NaN for 255; s = 0 is below the normal numbers of f32. */
static struct ir_value *decode_power(struct elaborator *e, struct ir_value *scale)
{
    struct ir_builder *b = &e->builder;
    struct ir_value *code = ir_cast(b, scale, IR_U32);
    const struct ir_type *type = code->type;
    struct ir_value *bits = ir_binary(b, OP_SHL, code, number(e, type, 23));
    struct ir_value *least = ir_compare(b, IR_PREDICATE_EQ, code, number(e, type, 0));
    struct ir_value *none = ir_compare(b, IR_PREDICATE_EQ, code, number(e, type, 255));
    bits = ir_select(
        b, least, number(e, type, 0x00400000),
        ir_select(b, none, number(e, type, PLANTED(front_scale_255_is_infinite) ? 0x7f800000 : 0x7fc00000), bits));
    return bitcast(e, bits, IR_F32);
}

/* As bf16, its scales applied. */
static struct ir_value *decode(struct elaborator *e, const struct factor *f)
{
    struct ir_builder *b = &e->builder;
    struct ir_value *tile = f->tile.run;
    if (f->scale.kind == VALUE_NULL && f->format->element == IR_BF16)
        return tile;
    if (f->format->pairs)
        tile = decode_pairs(e, tile, f->k);
    else
        tile = ir_cast(b, tile->type->element == f->format->element ? tile : bitcast(e, tile, f->format->element),
                       IR_F32);
    if (f->scale.kind != VALUE_NULL) {
        struct ir_value *scale = f->scale.run;
        scale = ir_is_float(scale->type->element) ? ir_cast(b, scale, IR_F32) : decode_power(e, scale);
        scale = merge(e, repeat(e, scale, 1, f->depth / scale->type->extent[1]), 1);
        if (f->k == 0) {
            const int64_t turned[2] = {1, 0};
            struct ir_value *rows = scale;
            scale = ir_build_value(b, OP_PERMUTE, tile->type, 1, &rows);
            ir_set_list(scale->definition, IR_ATTRIBUTE_PERMUTATION, 2, turned);
        }
        tile = ir_binary(b, OP_MUL, tile, scale);
    }
    return ir_cast(b, tile, IR_BF16);
}

/* ---- arguments ---- */

static bool wrong(struct elaborator *e, const struct call *call, struct value v, const char *name, const char *wanted)
{
    if (!value_is_error(v))
        front_report(e, DIAGNOSTIC_E0306, v.at, "`%s`: %s is %s, not %s", call->builtin->name, name, wanted,
                     front_describe(e, v));
    return false;
}

static bool read_format(struct elaborator *e, const struct call *call, struct value v, struct factor *f)
{
    for (size_t i = 0; v.kind == VALUE_STRING && i < sizeof formats / sizeof *formats; i++)
        if (strcmp(v.string, formats[i].name) == 0)
            f->format = &formats[i];
    return f->format || wrong(e, call, v, "a format", "\"e4m3\", \"e5m2\", \"e2m1\" or \"bf16\"");
}

static bool read_factor(struct elaborator *e, const struct call *call, int first, struct factor *f)
{
    f->tile = call->argument[first];
    f->scale = call->argument[first + 1];
    f->format = NULL;
    if (!read_format(e, call, call->argument[first + 2], f))
        return false;
    if (!value_is_tile(f->tile) || f->tile.run->type->rank != 2)
        return wrong(e, call, f->tile, f->name, "a tile of two dimensions");
    enum ir_element element = f->tile.run->type->element;
    bool bytes = element == IR_U8 && f->format->element != IR_BF16;
    const char *wanted = f->format->pairs ? "u8, two a byte along k,"
                         : bytes || f->format->element != IR_BF16
                             ? arena_printf(e->arena, "f8%s or u8", f->format->name)
                             : "bf16";
    if (element != f->format->element && !bytes)
        return wrong(e, call, f->tile, f->name, arena_printf(e->arena, "of %s for \"%s\"", wanted, f->format->name));
    f->rows = f->tile.run->type->extent[1 - f->k];
    f->depth = f->tile.run->type->extent[f->k] * (f->format->pairs ? 2 : 1);
    return true;
}

/* One scale for 32 or, as an e4m3, for 16 along k: [rows, depth / 32]. */
static bool read_scale(struct elaborator *e, const struct call *call, struct factor *f)
{
    struct value v = f->scale;
    if (v.kind == VALUE_NULL)
        return true;
    const char *name = arena_printf(e->arena, "the scale of %s", f->name);
    if (!value_is_tile(v) || v.run->type->rank != 2 ||
        (v.run->type->element != IR_U8 && v.run->type->element != IR_F8E4M3))
        return wrong(e, call, v, name, "a tile of two dimensions of u8 (e8m0) or f8e4m3, or `null`");
    int64_t block = v.run->type->element == IR_U8 ? 32 : 16;
    if (v.run->type->extent[0] == f->rows && v.run->type->extent[1] * block == f->depth)
        return true;
    front_report(e, DIAGNOSTIC_E0302, v.at,
                 "`%s`: %s is [%lld, %lld / %lld], one for each %lld along k, and this is %s", call->builtin->name,
                 name, (long long)f->rows, (long long)f->depth, (long long)block, (long long)block,
                 front_describe(e, v));
    return false;
}

struct value build_dot_scaled(struct elaborator *e, struct call *call, int detail)
{
    (void)detail;
    struct factor a = {.name = "the left factor", .k = 1}, b = {.name = "the right factor", .k = 0};
    if (!read_factor(e, call, 0, &a) || !read_factor(e, call, 3, &b))
        return value_error(call->at);
    if (a.depth != b.depth) {
        front_report(e, DIAGNOSTIC_E0302, call->at,
                     "`%s`: the left factor has %lld numbers along k, the right one %lld", call->builtin->name,
                     (long long)a.depth, (long long)b.depth);
        return value_error(call->at);
    }
    if (!read_scale(e, call, &a) || !read_scale(e, call, &b))
        return value_error(call->at);
    return operate_dot(e, value_run(decode(e, &a), a.tile.at), value_run(decode(e, &b), b.tile.at),
                       call->count > 6 ? &call->argument[6] : NULL, -1, 0, call->at);
}
