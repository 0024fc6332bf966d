#!/usr/bin/env bats
# What a kernel's own IR says of its arguments and its grid: passes believe it, so it must not say more than the wrapper checks.

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    cat >f.tile <<'END'
kernel whole(x: in f32[N], y: out f32[N]) grid(b: cdiv(N, 64)) { y[b*64 +: 64] = x[b*64 +: 64]; }
kernel upwards(x: in f32[N], y: out f32[N]) grid(b: (N + 63) / 64) { y[b*64 +: 64] = x[b*64 +: 64]; }
kernel downwards(x: in f32[N], y: out f32[N]) grid(b: N / 64) { y[b*64 +: 64] = x[b*64 +: 64]; }
kernel large(x: in huge f32[N], y: out huge f32[N]) grid(b: cdiv(N, 64)) { y[b*64 +: 64] = x[b*64 +: 64]; }
END
}

says() { "$TILECC" -arch=cpu --emit=tir -o - --spec "$1" f.tile | grep '^kernel'; }

@test "a grid covers an extent only when its division rounds up" {
    [[ $(says whole) == *"grid_class(1) grid_step(64)"* ]]
    [[ $(says upwards) == *"grid_class(1) grid_step(64)"* ]]
    [[ $(says downwards) != *grid_class* ]]
}

@test "the extents of a huge view have no small limit, nor has a grid made of them" {
    [[ $(says whole) == *"limit(2147483648)"*"grid_limit(33554432)"* ]]
    [[ $(says large) != *"{limit("* ]]
    limit=$(says large | sed 's/.*grid_limit(\([0-9]*\)).*/\1/')
    [ "$limit" -ge 144115188075855871 ]
}

@test "a grid that rounds down leaves the rest alone" {
    run "$TILECC" --interpret='f_downwards([100], [100])' f.tile
    [ "$status" = 0 ]
    for pass in bounds inline,simplify,bounds; do
        run "$TILECC" --passes=$pass --interpret='f_downwards([100], [100])' f.tile
        [ "$status" = 0 ]
    done
}
