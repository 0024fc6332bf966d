#include "exec.h"
#include "integers.h"

#define ONE(n) \
    1, (int64_t[]) { n }

static int bits_of(enum exec_type type)
{
    static const int bits[] = {8, 8, 16, 32, 64, 8, 16, 32, 64};
    return bits[type];
}

static uint64_t ones_of(enum exec_type type) { return ~UINT64_C(0) >> (64 - bits_of(type)); }

/* Extension of the low bits as the type says. */
static int64_t wrap(enum exec_type type, uint64_t bits)
{
    int shift = 64 - bits_of(type);
    return type >= EXEC_U8 ? (int64_t)(bits << shift >> shift) : (int64_t)(bits << shift) >> shift;
}

static int64_t divide(enum exec_type type, int64_t x, int64_t y, int remainder)
{
    if (y == 0)
        return remainder ? x : 0;
    if (type >= EXEC_U8)
        return (int64_t)(remainder ? (uint64_t)x % (uint64_t)y : (uint64_t)x / (uint64_t)y);
    if (y == -1)
        return remainder ? 0 : wrap(type, 0 - (uint64_t)x);
    return remainder ? x % y : x / y;
}

static int less(enum exec_type type, int64_t x, int64_t y)
{
    return type >= EXEC_U8 ? (uint64_t)x < (uint64_t)y : x < y;
}

static int64_t shift(enum exec_type type, int left, int64_t x, int64_t by)
{
    uint64_t width = (uint64_t)bits_of(type), amount = (uint64_t)by & ones_of(type);
    if (left)
        return amount >= width ? 0 : wrap(type, (uint64_t)x << amount);
    if (type >= EXEC_U8)
        return amount >= width ? 0 : (int64_t)((uint64_t)x >> amount);
    return x >> (amount >= width ? 63 : amount);
}

static int64_t high(enum exec_type type, int64_t x, int64_t y)
{
    if (type >= EXEC_U8)
        return (int64_t)(uint64_t)((unsigned __int128)(uint64_t)x * (uint64_t)y >> bits_of(type));
    return (int64_t)((__int128)x * y >> bits_of(type));
}

#define EIGHT(type, TYPE, function, kernel, ...)                                               \
    static void function##_##type(struct exec_case *c)                                         \
    {                                                                                          \
        int64_t n = c->extent[0];                                                              \
        enum exec_type kind = EXEC_##TYPE;                                                     \
        struct exec_tensor *t[8];                                                              \
        struct tile_##type##_1 v[8];                                                           \
        for (int i = 0; i < 8; i++) {                                                          \
            t[i] = i < 2 ? exec_input(c, kind, ONE(n)) : exec_output(c, kind, ONE(n));         \
            if (i == 0 && n > 3 && kind <= EXEC_I64) { /* least / -1 */                        \
                exec_set_int(t[0], 1, (int64_t)(UINT64_C(1) << (bits_of(kind) - 1)));          \
            }                                                                                  \
            if (i == 1 && n > 3)                                                               \
                exec_set_int(t[1], 1, -1);                                                     \
            for (int64_t k = 8; i == 1 && k < n; k += 3) /* amounts a shift may have */        \
                exec_set_int(t[1], k, k % 70);                                                 \
            EXEC_BIND(v[i], t[i]);                                                             \
        }                                                                                      \
        exec_called(c, kernel(c->stream, v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 7)); \
        for (int64_t i = 0; i < n; i++) {                                                      \
            int64_t x = wrap(kind, (uint64_t)exec_before_int(t[0], i)),                        \
                    y = wrap(kind, (uint64_t)exec_before_int(t[1], i));                        \
            __VA_ARGS__                                                                        \
        }                                                                                      \
    }
#define WHOLE(type, TYPE)                                                                \
    EIGHT(type, TYPE, run_whole, integers_whole_##type, {                                \
        exec_expect_int(c, t[2], i, (int64_t)((uint64_t)x + (uint64_t)y));               \
        exec_expect_int(c, t[3], i, (int64_t)((uint64_t)x * (uint64_t)y - (uint64_t)x)); \
        exec_expect_int(c, t[4], i, divide(kind, x, y, 0));                              \
        exec_expect_int(c, t[5], i, divide(kind, x, y, 1));                              \
        exec_expect_int(c, t[6], i, less(kind, x, y) ? x : y);                           \
        exec_expect_int(c, t[7], i, less(kind, x, y) ? y : x);                           \
    })
#define BITS(type, TYPE)                                                                          \
    EIGHT(type, TYPE, run_bits, integers_bits_##type, {                                           \
        uint64_t mask = ones_of(kind), u = (uint64_t)x & mask;                                    \
        exec_expect_int(c, t[2], i, shift(kind, 1, x, y));                                        \
        exec_expect_int(c, t[3], i, shift(kind, 0, x, y));                                        \
        exec_expect_int(c, t[4], i, (x & y) | (x ^ ~y));                                          \
        exec_expect_int(c, t[5], i, high(kind, x, y));                                            \
        exec_expect_int(c, t[6], i, __builtin_popcountll(u));                                     \
        exec_expect_int(c, t[7], i, u ? __builtin_clzll(u) - 64 + bits_of(kind) : bits_of(kind)); \
    })
WHOLE(i8, I8)
WHOLE(i16, I16)
WHOLE(i32, I32)
WHOLE(i64, I64)
WHOLE(u8, U8)
WHOLE(u16, U16)
WHOLE(u32, U32)
WHOLE(u64, U64)
BITS(i8, I8)
BITS(i32, I32)
BITS(i64, I64)
BITS(u16, U16)
BITS(u32, U32)
BITS(u64, U64)

static uint64_t reverse(enum exec_type type, uint64_t x)
{
    uint64_t out = 0;
    for (int i = 0; i < bits_of(type); i++, x >>= 1)
        out = out << 1 | (x & 1);
    return out;
}

#define REVERSED(type, TYPE, plain)                                                                           \
    static void run_reversed_##type(struct exec_case *c)                                                      \
    {                                                                                                         \
        int64_t n = c->extent[0];                                                                             \
        plain one = (plain)0x1234567890abcdef;                                                                \
        struct exec_tensor *x = exec_input(c, EXEC_##TYPE, ONE(n)), *y = exec_output(c, EXEC_##TYPE, ONE(n)); \
        struct tile_##type##_1 views[2];                                                                      \
        EXEC_BIND(views[0], x);                                                                               \
        EXEC_BIND(views[1], y);                                                                               \
        exec_called(c, integers_reversed_##type(c->stream, views, views + 1, one));                           \
        for (int64_t i = 0; i < n; i++)                                                                       \
            exec_expect_int(c, y, i,                                                                          \
                            wrap(EXEC_##TYPE, reverse(EXEC_##TYPE, (uint64_t)exec_before_int(x, i)) ^         \
                                                  reverse(EXEC_##TYPE, (uint64_t)one)));                      \
    }
REVERSED(i8, I8, int8_t)
REVERSED(i16, I16, int16_t)
REVERSED(i32, I32, int32_t)
REVERSED(i64, I64, int64_t)
REVERSED(u8, U8, uint8_t)
REVERSED(u16, U16, uint16_t)
REVERSED(u32, U32, uint32_t)
REVERSED(u64, U64, uint64_t)

/* The sum or difference, or the end that it is beyond; nothing here is beyond the numbers of C. */
static int64_t within(enum exec_type type, int adds, int64_t a, int64_t b)
{
    uint64_t ones = ones_of(type), x = (uint64_t)a & ones, y = (uint64_t)b & ones;
    if (type >= EXEC_U8)
        return wrap(type, adds ? (y > ones - x ? ones : x + y) : x < y ? 0 : x - y);
    int64_t most = (int64_t)(ones >> 1), least = -most - 1;
    if (adds)
        return b > 0 && a > most - b ? most : b < 0 && a < least - b ? least : a + b;
    return b < 0 && a > most + b ? most : b > 0 && a < least + b ? least : a - b;
}

#define ENDS(type, TYPE, plain)                                                                                 \
    static void run_ends_##type(struct exec_case *c)                                                            \
    {                                                                                                           \
        int64_t n = c->extent[0];                                                                               \
        plain one = (plain)0x7a345678907bcd7a;                                                                  \
        struct exec_tensor *t[5];                                                                               \
        struct tile_##type##_1 v[5];                                                                            \
        for (int i = 0; i < 5; i++)                                                                             \
            t[i] = i < 2 ? exec_input(c, EXEC_##TYPE, ONE(n)) : exec_output(c, EXEC_##TYPE, ONE(n));            \
        for (int64_t i = 0; i < n && i < 9; i++) { /* the ends, and 0 and -1 or the largest, with each other */ \
            int64_t least = EXEC_##TYPE >= EXEC_U8 ? 0 : (int64_t)(~UINT64_C(0) << (bits_of(EXEC_##TYPE) - 1)); \
            int64_t end[3] = {least, ~least, i % 2 ? 0 : -1};                                                   \
            exec_set_int(t[0], i, end[i / 3]);                                                                  \
            exec_set_int(t[1], i, end[i % 3]);                                                                  \
        }                                                                                                       \
        for (int i = 0; i < 5; i++)                                                                             \
            EXEC_BIND(v[i], t[i]);                                                                              \
        exec_called(c, integers_ends_##type(c->stream, v, v + 1, v + 2, v + 3, v + 4, one));                    \
        for (int64_t i = 0; i < n; i++) {                                                                       \
            int64_t x = wrap(EXEC_##TYPE, (uint64_t)exec_before_int(t[0], i)),                                  \
                    y = wrap(EXEC_##TYPE, (uint64_t)exec_before_int(t[1], i));                                  \
            exec_expect_int(c, t[2], i, within(EXEC_##TYPE, 1, x, y));                                          \
            exec_expect_int(c, t[3], i, within(EXEC_##TYPE, 0, x, y));                                          \
            exec_expect_int(c, t[4], i, within(EXEC_##TYPE, 0, within(EXEC_##TYPE, 1, x, (int64_t)one), 9));    \
        }                                                                                                       \
    }
ENDS(i8, I8, int8_t)
ENDS(i16, I16, int16_t)
ENDS(i32, I32, int32_t)
ENDS(i64, I64, int64_t)
ENDS(u8, U8, uint8_t)
ENDS(u16, U16, uint16_t)
ENDS(u32, U32, uint32_t)
ENDS(u64, U64, uint64_t)

/* One bit at a time: a stands above b, and both move by one. */
static int64_t funnel(enum exec_type type, int left, int64_t a, int64_t b, int64_t by)
{
    int bits = bits_of(type);
    uint64_t mask = ones_of(type), high = (uint64_t)a & mask, low = (uint64_t)b & mask;
    for (uint64_t n = ((uint64_t)by & mask) % (uint64_t)bits; n; n--)
        if (left) {
            high = (high << 1 | low >> (bits - 1)) & mask;
            low = low << 1 & mask;
        } else {
            low = low >> 1 | (high & 1) << (bits - 1);
            high >>= 1;
        }
    return wrap(type, left ? high : low);
}

#define FUNNELS(type, TYPE)                                                                                     \
    static void run_funnels_##type(struct exec_case *c)                                                         \
    {                                                                                                           \
        int64_t n = c->extent[0];                                                                               \
        struct exec_tensor *t[8];                                                                               \
        struct tile_##type##_1 v[8];                                                                            \
        for (int i = 0; i < 8; i++)                                                                             \
            t[i] = i < 3 ? exec_input(c, EXEC_##TYPE, ONE(n)) : exec_output(c, EXEC_##TYPE, ONE(n));            \
        for (int64_t i = 0; i < n; i++) /* zeros below, of every number */                                      \
            exec_set_int(t[0], i, (int64_t)((uint64_t)exec_before_int(t[0], i) << i * 5 % 70 / 2));             \
        for (int i = 0; i < 8; i++)                                                                             \
            EXEC_BIND(v[i], t[i]);                                                                              \
        exec_called(c, integers_funnels_##type(c->stream, v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 7)); \
        for (int64_t i = 0; i < n; i++) {                                                                       \
            int64_t x = exec_before_int(t[0], i), y = exec_before_int(t[1], i), by = exec_before_int(t[2], i);  \
            int zeros = 0;                                                                                      \
            while (zeros < bits_of(EXEC_##TYPE) && !(x >> zeros & 1))                                           \
                zeros++;                                                                                        \
            exec_expect_int(c, t[3], i, funnel(EXEC_##TYPE, 1, x, y, by));                                      \
            exec_expect_int(c, t[4], i, funnel(EXEC_##TYPE, 0, x, y, by));                                      \
            exec_expect_int(c, t[5], i, funnel(EXEC_##TYPE, 1, x, x, by));                                      \
            exec_expect_int(c, t[6], i, funnel(EXEC_##TYPE, 0, x, x, by));                                      \
            exec_expect_int(c, t[7], i, zeros);                                                                 \
        }                                                                                                       \
    }
FUNNELS(i8, I8)
FUNNELS(i16, I16)
FUNNELS(i32, I32)
FUNNELS(i64, I64)
FUNNELS(u8, U8)
FUNNELS(u16, U16)
FUNNELS(u32, U32)
FUNNELS(u64, U64)

static void run_bytes(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *t[4];
    struct tile_u32_1 v[4];
    for (int i = 0; i < 4; i++) {
        t[i] = i < 3 ? exec_input(c, EXEC_U32, ONE(n)) : exec_output(c, EXEC_U32, ONE(n));
        EXEC_BIND(v[i], t[i]);
    }
    exec_called(c, integers_bytes(c->stream, v, v + 1, v + 2, v + 3));
    for (int64_t i = 0; i < n; i++) {
        uint32_t want = 0, word[2] = {(uint32_t)exec_before_int(t[0], i), (uint32_t)exec_before_int(t[1], i)};
        for (int k = 0; k < 4; k++) {
            int digit = (int)(exec_before_int(t[2], i) >> 4 * k & 15);
            uint32_t byte = word[digit / 4 % 2] >> digit % 4 * 8 & 0xff;
            want |= (digit < 8 ? byte : byte & 0x80 ? 0xff : 0) << 8 * k;
        }
        exec_expect_int(c, t[3], i, want);
    }
}

static void run_flags(struct exec_case *c)
{
    int64_t n = c->extent[0];
    struct exec_tensor *t[5];
    struct tile_bool_1 v[5];
    for (int i = 0; i < 5; i++) {
        t[i] = i < 2 ? exec_input(c, EXEC_BOOL, ONE(n)) : exec_output(c, EXEC_BOOL, ONE(n));
        EXEC_BIND(v[i], t[i]);
    }
    exec_called(c, integers_flags(c->stream, v, v + 1, v + 2, v + 3, v + 4));
    for (int64_t i = 0; i < n; i++) {
        int64_t x = exec_before_int(t[0], i), y = exec_before_int(t[1], i);
        exec_expect_int(c, t[2], i, x && y);
        exec_expect_int(c, t[3], i, x || !y);
        exec_expect_int(c, t[4], i, x != y);
    }
}

static const struct exec_test tests[] = {
    {"whole_i8", run_whole_i8, 1, {256}, 0},
    {"whole_i16", run_whole_i16, 1, {256}, 0},
    {"whole_i32", run_whole_i32, 1, {256}, 0},
    {"whole_i64", run_whole_i64, 1, {256}, 0},
    {"whole_u8", run_whole_u8, 1, {256}, 0},
    {"whole_u16", run_whole_u16, 1, {256}, 0},
    {"whole_u32", run_whole_u32, 1, {256}, 0},
    {"whole_u64", run_whole_u64, 1, {256}, 0},
    {"bits_i8", run_bits_i8, 1, {256}, 0},
    {"bits_i32", run_bits_i32, 1, {256}, 0},
    {"bits_i64", run_bits_i64, 1, {256}, 0},
    {"bits_u16", run_bits_u16, 1, {256}, 0},
    {"bits_u32", run_bits_u32, 1, {256}, 0},
    {"bits_u64", run_bits_u64, 1, {256}, 0},
    {"reversed_i8", run_reversed_i8, 1, {256}, 0},
    {"reversed_i16", run_reversed_i16, 1, {256}, 0},
    {"reversed_i32", run_reversed_i32, 1, {256}, 0},
    {"reversed_i64", run_reversed_i64, 1, {256}, 0},
    {"reversed_u8", run_reversed_u8, 1, {256}, 0},
    {"reversed_u16", run_reversed_u16, 1, {256}, 0},
    {"reversed_u32", run_reversed_u32, 1, {256}, 0},
    {"reversed_u64", run_reversed_u64, 1, {256}, 0},
    {"ends_i8", run_ends_i8, 1, {256}, 0},
    {"ends_i16", run_ends_i16, 1, {256}, 0},
    {"ends_i32", run_ends_i32, 1, {256}, 0},
    {"ends_i64", run_ends_i64, 1, {256}, 0},
    {"ends_u8", run_ends_u8, 1, {256}, 0},
    {"ends_u16", run_ends_u16, 1, {256}, 0},
    {"ends_u32", run_ends_u32, 1, {256}, 0},
    {"ends_u64", run_ends_u64, 1, {256}, 0},
    {"funnels_i8", run_funnels_i8, 1, {256}, 0},
    {"funnels_i16", run_funnels_i16, 1, {256}, 0},
    {"funnels_i32", run_funnels_i32, 1, {256}, 0},
    {"funnels_i64", run_funnels_i64, 1, {256}, 0},
    {"funnels_u8", run_funnels_u8, 1, {256}, 0},
    {"funnels_u16", run_funnels_u16, 1, {256}, 0},
    {"funnels_u32", run_funnels_u32, 1, {256}, 0},
    {"funnels_u64", run_funnels_u64, 1, {256}, 0},
    {"bytes", run_bytes, 1, {256}, 0},
    {"flags", run_flags, 1, {256}, 0},
};

int main(int count, char **arguments) { return exec_main(count, arguments, tests, sizeof tests / sizeof *tests); }
