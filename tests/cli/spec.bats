#!/usr/bin/env bats
# --spec: instances of the same types add up, and the first that names a combination of keys decides its knobs.

load helper

example() { tilecc --emit=tir -O0 -arch=cpu "$@" "$SRCDIR/examples/attention.tile" -o - >all.tir; }
instances() { grep -c '^kernel @attention_f16__' all.tir; }

@test "two keys of the same types" {
    example --spec 'attention<f16>[D=64,CAUSAL=true]' --spec 'attention<f16>[D=128]'
    [ "$(instances)" = 3 ]
    [ "$(grep -c 'view<f16, \[?, ?, ?, 64\]' all.tir)" -ge 1 ]
    [ "$(grep -c 'view<f16, \[?, ?, ?, 128\]' all.tir)" -ge 1 ]
}

@test "the first spec of a key decides" {
    example --spec 'attention<f16>[D=64,CAUSAL=true,BM=64]' --spec 'attention<f16>[D=64]'
    [ "$(instances)" = 2 ]
    [ "$(grep '^kernel' all.tir | grep -c 'grid_step(64, 1, 1)')" = 1 ]
    [ "$(grep '^kernel' all.tir | grep -c 'grid_step(128, 1, 1)')" = 1 ]
}

@test "a spec of another type matches nothing" {
    expect 1 tilecc --emit=tir -arch=cpu --spec 'attention<f16>[D=64]' --spec 'attention<f32>' "$SRCDIR/examples/attention.tile" -o -
    contains "matches no kernel"
}
