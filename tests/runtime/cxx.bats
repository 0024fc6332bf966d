#!/usr/bin/env bats
# The C++17 header of -fc++: clean under every compiler here, and called on the CPU.

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    export TILECC_CACHE=
    cat >k.tile <<'END'
enum act { none, relu, clip = 4, class }
struct norm { eps: f64; rows: i16; f: act; at: *const f32; }
/// y = a*x + y.
kernel axpy<T: {f32, f16, bf16, f64, i32, f8e4m3}>(a: f32, x: in T[N], y: inout T[N])
    grid(b: cdiv(N, B)) tune(B: {64} = 64)
{
    y[b*B +: B] = T(a * f32(x[b*B +: B]) + f32(y[b*B +: B]));
}
kernel rows<K: act, D: {2, 4}>(act: act, x: in strided f32[M, D], y: out f32[M, D], lambda: i32, bias: in? f32[D], twice: bool)
    requires(lambda > 0) grid(m: M)
{
    for d in 0..D {
        var v = x[m, d] * f32(lambda) + bias[d];
        if (act == act.relu) v = max(v, 0.0);
        if (K == act.clip) v = min(v, 9.0);
        if (twice) v *= 2.0;
        y[m, d] = v;
    }
}
kernel new(p: norm, q: *const f32, n: u64, r: out f32[N]) grid(i: N)
{
    r[i] = f32(p.eps) + f32(p.rows) + load(p.at + 1) + load(q) + f32(n) + (p.f == act.clip ? 0.5 : 0.0);
}
kernel filled<T: {f32, f16}>(stream: T, q: *f32) grid(i: 1) { store(q, f32(stream)); }
kernel view(x: in bool[N], y: inout? u8[N]) grid(i: N) { y[i] = x[i] ? u8(1) : u8(2); }
kernel all(x: in i8[N], a: in u16[N], b: in i64[N], c: in u32[N], d: in f8e5m2[N], e: in (*f32)[N], y: out u64[N, 2]) grid(i: N) { y[i, 0] = u64(c[i]); }
END
    sed -i 's/act: act, x/f: act, x/; s/(act == act/(f == act/; s/e: in (\*f32)\[N\], //' k.tile
    "$TILECC" -arch=cpu -fc++ k.tile -o k.o
    "$TILECC" --emit-runtime -o tile_rt.o
    cat >mdspan.hpp <<'END'
// What std::mdspan and Kokkos::mdspan have in common, with any strides.
#include <cstddef>
template <class T, std::size_t Rank> struct spread {
    using element_type = T;
    using data_handle_type = T *;
    T *data;
    int extents[Rank], strides[Rank];
    T *data_handle() const { return data; }
    static constexpr std::size_t rank() { return Rank; }
    int extent(std::size_t d) const { return extents[d]; }
    int stride(std::size_t d) const { return strides[d]; }
    std::size_t size() const { return 0; }
    static constexpr bool is_always_strided() { return true; }
};
END
    with_mdspan=$(find_mdspan)
    export with_mdspan
}

setup() {
    cd "$BATS_FILE_TMPDIR"
    export TILECC_CACHE=
}

# The first here whose library has std::mdspan; nothing where none has.
find_mdspan() {
    local compiler
    for compiler in g++-15 'clang++-19 -stdlib=libc++' 'clang++-20 -stdlib=libc++' 'clang++ -stdlib=libc++'; do
        if echo '#include <mdspan>
            int main() { return __cpp_lib_mdspan == 0; }' | $compiler -std=c++23 -x c++ - -o probe 2>/dev/null && ./probe; then
            echo "$compiler"
            return
        fi
    done
}

# Each compiler here in each standard that it knows: `each file options...`; makes ./a.out where no option is -fsyntax-only.
only_gcc() { case $1 in g++*) echo -Wuseless-cast ;; esac; }
each() {
    local compiler standard found=0
    for compiler in g++ clang++ clang++-19 "$with_mdspan"; do
        command -v ${compiler%% *} >/dev/null || continue
        for standard in 17 20 23; do
            [ "$compiler" != "$with_mdspan" ] || [ $standard = 23 ] || continue
            $compiler -std=c++$standard -fsyntax-only -x c++ /dev/null 2>/dev/null || continue
            $compiler -std=c++$standard -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wold-style-cast -Werror $(only_gcc "$compiler") \
                -fsanitize=signed-integer-overflow -fsanitize-undefined-trap-on-error -I. "$@" || return 1
            case " $* " in *' -fsyntax-only '*) ;; *) ./a.out || { echo "$compiler $standard: $?"; return 1; } ;; esac
            found=$((found + 1))
        done
    done
    [ "$found" -ge 2 ] || skip "no C++ compiler"
}

@test "alone, twice, with another module, in two files of a program" {
    sed 's/kernel new/kernel other/; s/kernel rows/kernel columns/' k.tile >second.tile
    "$TILECC" -arch=cpu --emit=header -fc++=engine::kernels second.tile -o second.h
    echo '#include "k.hpp"' >one.cc
    printf '#include "%s.hpp"\n' second k second k >two.cc
    each -fsyntax-only one.cc
    each -fsyntax-only two.cc
    grep -q '^namespace engine::kernels {' second.hpp
}

@test "calls on the CPU" {
    cat >app.cc <<'END'
#include "k.hpp"
#include "mdspan.hpp"
#include <array>
#include <cstring>
#include <vector>
#if __has_include(<span>)
#include <span>
#endif
#if __has_include(<mdspan>)
#include <mdspan>
#endif
#define CHECK(it) do { if (!(it)) return __LINE__; } while (0)
int main()
{
    std::vector<float> x(700, 2), y(700, 1);
    const std::vector<float> &fixed = x;
    CHECK(tile::axpy(TILE_CPU, 3, tile::view(fixed), tile::view(y)) == TILE_OK && y[699] == 7);
    CHECK(tile::axpy(TILE_CPU, 3, tile::view(x.data(), x.size() - 698), tile::view(y.data(), 2)) == TILE_OK && y[1] == 13 && y[2] == 7);
    std::array<double, 3> a{1, 2, 3}, b{};
    CHECK(tile::axpy(TILE_CPU, 1, tile::view(a), tile::view(b)) == TILE_OK && b == a);
    std::int32_t c[2] = {1, 2}, d[2] = {};
    CHECK(tile::axpy(TILE_CPU, 2, tile::view(c), tile::view(d)) == TILE_OK && d[1] == 4);
    std::uint16_t bits[2] = {0x3f80, 0x4000}, sums[2] = {};
    CHECK(tile::axpy(TILE_CPU, 1, tile::view_as<tile_bf16_1>(bits), tile::view_as<tile_bf16_1>(sums)) == TILE_OK);
    CHECK(std::memcmp(bits, sums, sizeof bits) == 0);
    tile_f16_1 half = tile_f16_1_row_major(sums, 2);
    CHECK(tile::axpy(TILE_CPU, 1, half, half) == TILE_ERR_ALIAS);
    CHECK(tile::axpy(TILE_CPU, 1, tile::view(x, 701), tile::view(y)) == TILE_ERR_ARG); // too short
    CHECK(tile::axpy(TILE_CPU, 1, tile::view(x, 0), tile::view(y, 0)) == TILE_OK);
    CHECK(tile::view(x, 1 << 20, std::int64_t{1} << 44).extent[0] == -1); // 2^64 elements
    CHECK(tile::view(x, 0, std::int64_t{1} << 44).extent[0] == 0);

    float in[8] = {-1, 0, 2, 0, 3, 0, 4, 0}, out[4];
    spread<const float, 2> every{in, {2, 2}, {4, 2}};
    CHECK(tile::rows(TILE_CPU, tile::act::relu, tile::view(every), tile::view(out, 2, 2), 3, std::nullopt, false, tile::act::none) == TILE_OK);
    CHECK(out[0] == 0 && out[1] == 6 && out[2] == 9 && out[3] == 12);
    const float bias[2] = {1, 2};
    CHECK(tile::rows(TILE_CPU, tile::act::none, tile::view(every), tile::view(out, 2, 2), 1, tile::view(bias), true, tile::act::clip) == TILE_OK);
    CHECK(out[0] == 0 && out[3] == 12);
    CHECK(tile::rows(TILE_CPU, tile::act::none, tile::view(out, 2, 2), tile::view(in, 2, 2), 1, tile_f32_1_row_major(out, 2), true, tile::act::none) == TILE_OK);
    CHECK(tile::rows(TILE_CPU, tile::act::class_, tile::view(every), tile::view(out, 2, 2), 0, {}, false, tile::act::none) == TILE_ERR_ARG);
    CHECK(std::strstr(tile_last_error(), "lambda > 0"));
    CHECK(static_cast<int>(tile::act::clip) == 4 && static_cast<int>(tile::act::class_) == 5);

    tile_norm p{0.25, -8, static_cast<int>(tile::act::clip), in + 3};
    CHECK(tile::new_(TILE_CPU, p, bias, 7, tile::view(out)) == TILE_OK && out[3] == 0.25f - 8 + in[4] + 1 + 7 + 0.5f);
    CHECK(tile::k_filled_f16(TILE_CPU, 1.5f, out) == TILE_OK && out[0] == 1.5f);
    bool flags[2] = {true, false};
    std::uint8_t seen[2] = {};
    CHECK(tile::view_(TILE_CPU, tile::view(flags), tile::view(seen)) == TILE_OK && seen[0] == 1 && seen[1] == 2);
    CHECK(tile::view_(TILE_CPU, tile::view(flags), std::nullopt) == TILE_OK);

    tile_kernel_info info;
    CHECK(tile::axpy_query(TILE_CPU, 1, tile::view(x), tile::view(y), info) == TILE_OK && info.programs == 11);
    CHECK(tile::axpy_workspace(TILE_CPU, 1, tile::view(x), tile::view(y)) == 0);
    CHECK(tile::axpy_variant(TILE_CPU, 1, tile::view(x), tile::view(y), info.variant) == TILE_OK);
    tile_launch_options options{sizeof options, TILE_LAUNCH_THIS_THREAD, 0, 0};
    CHECK(tile::axpy_launch_ex(TILE_CPU, 1, tile::view(x), tile::view(y), options) == TILE_OK);
#if defined(__cpp_lib_span)
    CHECK(tile::axpy(TILE_CPU, 1, tile::view(std::span<const float>(x)), tile::view(std::span<float>(y))) == TILE_OK);
#endif
#if defined(__cpp_lib_mdspan)
    std::mdspan<float, std::dextents<int, 2>> m(in, 2, 2);
    std::mdspan<const float, std::extents<int, 2, 2>, std::layout_left> l(in);
    CHECK(tile::rows(TILE_CPU, tile::act::none, tile::view(l), tile::view(out, 2, 2), 1, {}, false, tile::act::none) == TILE_OK && out[1] == in[2]);
    CHECK(tile::view(m).stride[0] == 2 && tile::view_as<tile_f32_2>(m).extent[1] == 2);
#endif
    return 0;
}
END
    each app.cc k.o tile_rt.o -ldl -lpthread
}

@test "elements of CUDA, of C++23 and of the program" {
    cat >types.cc <<'END'
#define __CUDA_FP16_TYPES_EXIST__
#define __CUDA_BF16_TYPES_EXIST__
#define __CUDA_FP8_TYPES_EXIST__
struct __half { unsigned short bits; };
struct __nv_bfloat16 { unsigned short bits; };
struct __nv_fp8_e4m3 { unsigned char bits; };
struct __nv_fp8_e5m2 { unsigned char bits; };
#if __has_include(<stdfloat>)
#include <stdfloat>
#endif
#include "k.hpp"
#include "mdspan.hpp"
struct mine { char c[2]; };
template <> struct tile::element<mine> { using type = tile::bf16; };
template <class View, class T> constexpr bool gives = std::is_same_v<View, decltype(tile::view(std::declval<T *>(), 1))>;
static_assert(gives<tile_f16_1, __half> && gives<tile_bf16_1, __nv_bfloat16> && gives<tile_f8e4m3_1, __nv_fp8_e4m3>);
static_assert(gives<tile::const_view<tile_f8e5m2_1>, const __nv_fp8_e5m2> && gives<tile_bf16_1, mine>);
static_assert(gives<tile_i64_1, long long> && gives<tile_i64_1, long> && gives<tile_u32_1, unsigned> && gives<tile_bool_1, bool>);
#if defined(__STDCPP_FLOAT16_T__)
static_assert(gives<tile_f16_1, std::float16_t>);
#endif
#if defined(__STDCPP_BFLOAT16_T__)
static_assert(gives<tile_bf16_1, std::bfloat16_t>);
#endif
END
    each -fsyntax-only types.cc
}

# wrong WORDS: the rest of a program that does not compile, and what the compiler says.
wrong() {
    { echo '#include "k.hpp"'; cat; } >wrong.cc
    run g++ -std=c++17 -Werror=unused-result -I. -fsyntax-only wrong.cc
    [ "$status" != 0 ] && [[ $output == *"$1"* ]] || { echo "$output"; return 1; }
}

@test "what does not compile" {
    command -v g++ >/dev/null || skip "no g++"
    run g++ -std=c++14 -I. -fsyntax-only -x c++ k.hpp
    [[ $status != 0 && $output == *'headers of tilecc -fc++ need C++17: -std=c++17 or later'* ]]
    wrong 'nodiscard' <<<'void f(tile_f32_1 x, tile_f32_1 y) { tile::axpy(TILE_CPU, 1, x, y); }'
    wrong 'no matching function' <<<'int f(tile_f32_1 x, tile_f16_1 y) { return tile::axpy(TILE_CPU, 1, x, y); }'
    wrong 'no matching function' <<<'int f(const float *x) { return tile::axpy(TILE_CPU, 1, tile::view(x, 1), tile::view(x, 1)); }'
    wrong 'no element is known for this type' <<<'struct s {}; auto f(s *x) { return tile::view(x, 1); }'
    wrong 'takes a view of these elements and this rank' <<<'auto f(float *x) { return tile::view(x, 1, 1, 1); }'
    wrong 'another size' <<<'auto f(char *x) { return tile::view_as<tile_bf16_1>(x, 1); }'
    wrong 'an extent for each dimension' <<<'auto f(float *x) { return tile::view_as<tile_f32_2>(x, 1); }'
    wrong 'cannot convert' <<<'int f(tile_f32_2 x) { return tile::rows(TILE_CPU, 1, x, x, 1, {}, false, tile::act::none); }'
}

@test "the command" {
    mkdir -p command
    cp k.tile command
    cd command
    "$TILECC" --emit=header -fc++ k.tile
    [ "$(echo *)" = "k.h k.hpp k.tile" ]
    cmp k.hpp ../k.hpp
    touch -d 2020-01-01 k.h k.hpp
    sed -i '1i // A comment.' k.tile
    "$TILECC" --emit=header -fc++ -MD k.tile
    [ "$(stat -c %y k.hpp | cut -c 1-4)" = 2020 ]
    tr -d '\\\n' <k.d | grep -q '^k.h k.hpp:'
    for wrong in '-S -fc++' '--emit=header -o - -fc++' '--emit=python -fc++' '-o /dev/null -fc++'; do
        run "$TILECC" -arch=cpu $wrong k.tile
        [ "$status" = 2 ] && [[ $output == *"-fc++ writes a header beside that of C"* ]] || false
    done
    for wrong in 1 a:b std::x a:: new a::class __x; do
        run "$TILECC" --emit=header "-fc++=$wrong" k.tile
        [ "$status" = 2 ] && [[ $output == *"'$wrong' is no namespace of C++"* ]] || false
    done
}
