#!/usr/bin/env bats
# --interpret: calls by text, the values that a wrapper would compute, and the same results after passes.

load helper

# a times the fixed pattern, 0..n-1
pattern() { awk -v n="$1" -v a="$2" 'BEGIN { for (i = 0; i < n; i++) printf " %d", a * ((i * 7 + 3) % 11 - 5) }'; }

@test "a call computes what the source says, at extents round the tile" {
    for n in 1 63 64 65 130; do
        expect 0 tilecc --interpret="k_axpy(2, [$n], [$n])" k.tile
        [ "$output" = "y[0] =$(pattern "$n" 3)" ]
    done
    expect 0 tilecc --interpret="axpy(2, [65], [65])" k.tile # the kernel's name where it has one entry
    [ "$output" = "y[0] =$(pattern 65 3)" ]
    expect 0 tilecc --interpret='k_axpy(2, [0], [0])' k.tile
    [ "$output" = "y = (empty)" ]
}

@test "passes change nothing" {
    for example in 'saxpy(3, [2000], [2000])' 'softmax_f32([3, 300], [3, 300])'; do
        file=$SRCDIR/examples/${example%%[_(]*}.tile
        expect 0 tilecc --interpret="$example" "$file"
        plain=$output
        for list in inline inline,simplify inline,simplify,cse,dce,licm,unroll inline,simplify,peel,cse,dce; do
            expect 0 tilecc --passes=$list --interpret="$example" "$file"
            [ "$output" = "$plain" ] || { echo "after $list"; echo "$output"; return 1; }
        done
    done
}

@test "signs of constants, and which of equals is picked" {
    cat >edges.tile <<'END'
const big: u64 = 9223372036854775808;
const one: u64 = 1;
kernel edges(y: out i64[N], x: in f32[M]) grid(p: cdiv(N, N)) {
    y[0] = i64(-7 % 3);
    y[1] = where(big > one, 1, 0);
    let k = iota(8);
    let none = sqrt(x[0] - x[0] - 1.0);                    // no number
    y[2] = i64(argmin(where(k == 0, none, f32(9 - k))));
    y[3] = i64(argmax(where(k < 3, f32(1), f32(2))));
}
END
    expect 0 tilecc --interpret='edges([4], [1])' edges.tile
    [ "$output" = 'y[0] = -1 1 7 3' ]
}

@test "without a call the entries are listed" {
    expect 0 tilecc --interpret "$SRCDIR/examples/softmax.tile"
    contains 'softmax_f32(x[M, N], y[M, N])'
    contains 'softmax_bf16('
}

@test "what does not fit is an error that names it" {
    expect 2 tilecc --interpret='k_axpy(2, [4], [5])' k.tile
    contains "y"
    expect 2 tilecc --interpret='axpi(2, [4], [4])' k.tile
    contains "no entry 'axpi'; did you mean 'axpy'?"
    expect 2 tilecc --interpret='k_axpi(2, [4], [4])' k.tile
    contains "did you mean 'k_axpy'?"
    expect 2 tilecc --interpret='nothing_like_it()' k.tile
    contains "lists them"
    expect 2 tilecc --interpret='softmax([3, 4], [3, 4])' "$SRCDIR/examples/softmax.tile"
    contains "'softmax' has several entries: softmax_f32, softmax_f16, softmax_bf16"
    expect 2 tilecc --interpret='k_axpy(2, [4])' k.tile
    expect 2 tilecc --interpret='k_axpy(2, [4], [4], 5)' k.tile
    expect 2 tilecc --interpret='k_axpy(two, [4], [4])' k.tile
    contains "'a'"
    expect 2 tilecc --interpret='k_axpy(2, none, [4])' k.tile
    contains "not optional"
    expect 2 tilecc --interpret='k_axpy(2, [4, 4], [4])' k.tile
    expect 2 tilecc --interpret='k_axpy(2, [-4], [4])' k.tile
    expect 2 tilecc --interpret='k_axpy' k.tile
    echo 'kernel m(x: out f32[N], w: in? f32[N]) grid(i: N) { x[i] = w ? w[i] : 1.0; }' >m.tile
    expect 2 tilecc --interpret='m([4], None)' m.tile
    contains "an argument of extents, [n, m], or none is needed for 'w'"
    expect 0 tilecc --interpret='m([4], none)' m.tile
}

@test "requires and optional views" {
    cat >r.tile <<'END'
kernel half(x: in f32[N], bias: in? f32[N], y: out f32[N])
    requires(N % 2 == 0)
    grid(b: cdiv(N, 64))
{
    var v = x[b*64 +: 64];
    if (bias) v += bias[b*64 +: 64];
    y[b*64 +: 64] = v;
}
END
    expect 2 tilecc --interpret='r_half([3], none, [3])' r.tile
    contains "N % 2 == 0"
    expect 0 tilecc --interpret='r_half([6], none, [6])' r.tile
    [ "$output" = "y[0] =$(pattern 6 1)" ]
    expect 0 tilecc --interpret='r_half([6], [6], [6])' r.tile
    [ "$output" = "y[0] =$(pattern 6 2)" ]
}

@test "the last form of IR with a view that is not there" {
    cat >k.tile <<'EOF'
kernel f(x: in f32[M, N], bias: in? f32[N], total: out? f32[M], y: out f32[M, N]) grid(i: M) {
    var t = x[i, 0 +: 16];
    if (bias) t += bias[0 +: 16];
    total[i] = sum(t);
    y[i, 0 +: 16] = t;
}
EOF
    for last in "sm_80 check_machine" "cpu dce"; do
        read -r arch pass <<<"$last"
        "$TILECC" -arch="$arch" --print-after="$pass" -o k.o k.tile 2>all.tir
        awk '/^\/\/ after/ { text = "" } { text = text $0 "\n" } END { printf "%s", text }' all.tir >last.tir
        name=$(sed -n 's/^kernel @\([a-z0-9_]*\)(.*/\1/p' last.tir | tail -1)
        "$TILECC" --interpret="$name([3, 5], none, none, [3, 5])[3]" last.tir >got
        "$TILECC" --interpret='k_f([3, 5], none, none, [3, 5])' k.tile >wanted
        diff wanted got
    done
}
