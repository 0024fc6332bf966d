#!/usr/bin/env bats
# Knobs of `tune` and `on` that the compiler knows: what reaches the function, and what is said of those that nothing does.

load helper

write() {
    cat >k.tile <<'END'
kernel scale(x: in f32[N], y: out f32[N])
    grid(b: cdiv(N, B))
    tune(B: {128} = 128, persistent, raster: {1, 4, 8}, cluster: {1, 2}, consumers: {1, 2, 3}, maxnreg, stages: {2, 3} = 3)
    on(sm_90, persistent = 2, raster = 8)
{
    y[b*B +: B] = 2.0 * x[b*B +: B];
}
END
}
header() { tilecc --emit=tir --passes=dce "$@" k.tile -o - | grep '^kernel'; }

@test "defaults, and choices left to the compiler" {
    write
    header -arch=sm_80 >line
    grep -q ' stages(3) ' line || { cat line; false; }
    ! grep -qE 'persistent|raster|cluster|split_k|warps|registers\(' line
}

@test "on, -D and --spec" {
    write
    header -arch=sm_90a | grep -q ' persistent(2) raster(8)'
    header -arch=sm_90a -D raster=4 -D cluster=2 -D maxnreg=64 | grep -q ' registers(64) persistent(2) raster(4) cluster(2)'
    header -arch=sm_90a --spec 'scale[persistent=false]' | grep -q ' persistent(-1) '
    header -arch=sm_80 -D persistent=true -D consumers=2 | grep -q ' warps(8) .*persistent(1)'
}

@test "what no pass does is dropped, and a remark says so" {
    write
    expect 0 tilecc -arch=sm_90a -S -Rpass=settle_knobs --print-after=settle_knobs -D cluster=2 k.tile
    contains "persistent = 2 has no effect"
    contains "raster = 8 has no effect"
    contains "cluster = 2 has no effect"
    lacks " persistent("
    expect 0 tilecc -arch=sm_90a -O0 -S -Rpass=settle_knobs k.tile
    contains "persistent = 2 has no effect"
    expect 0 tilecc -arch=sm_80 -S -Rpass=settle_knobs k.tile
    contains "stages = 3 has no effect"
    lacks "persistent ="
}

@test "a product of a producer and consumers takes persistent and raster" {
    product() {
        tilecc -arch=sm_90a -S -Rpass='specialise|settle_knobs' --print-after=settle_knobs --spec 'matmul<bf16,bf16>' "$@" \
            "$SRCDIR/examples/matmul.tile" 2>&1
    }
    product >default.tir
    product -D persistent=false >alone.tir
    grep -q '^kernel @matmul_bf16_bf16__0.* persistent(1)' default.tir
    grep -q 'walked over by persistent blocks' default.tir
    ! grep -q 'no effect on @matmul_bf16_bf16__0' default.tir
    ! grep -q '^kernel @matmul_bf16_bf16__0.* persistent(' alone.tir
    grep -q 'programs have a block each' alone.tir
}

@test "W1204: what -D or --spec asks for and no instance takes" {
    write
    expect 0 tilecc -arch=sm_90a -S -D cluster=2 k.tile
    contains "warning: cluster = 2 has no effect here"
    contains "[-Widle-knob]"
    lacks "raster = "              # asked for by the source alone
    expect 0 tilecc -arch=sm_90a -S -Wno-idle-knob -D cluster=2 k.tile
    lacks "no effect"
    expect 1 tilecc -arch=sm_90a -S -Werror=idle-knob --spec 'scale[raster=8, cluster=1]' k.tile
    contains "error: raster = 8 has no effect here"
    lacks "cluster = 1"
    expect 0 tilecc -arch=cpu --emit=tir -D cluster=2 -o all.tir k.tile
    lacks "no effect"
}

@test "a knob that some instances take is no warning, and one for another kernel or architecture alone is" {
    expect 0 tilecc -arch=sm_80,sm_90a -S -D raster=8 -Wno-slow-product --spec 'matmul<bf16,bf16>' "$SRCDIR/examples/matmul.tile"
    contains "raster = 8 has no effect here"
    contains " sm_80 general"
    lacks " sm_90a"
    expect 0 tilecc -arch=sm_90a -S -D raster=8 --spec 'matmul<bf16,bf16>' "$SRCDIR/examples/matmul.tile"
    lacks "no effect"
}

@test "-Rpass=instance says a line of each instance of CPU code" {
    expect 0 tilecc -arch=cpu -Rpass=instance "$SRCDIR/examples/softmax.tile" -o s.o
    [ "$(grep -c 'remark: instance: softmax<f16>\[B=[0-9]*\] cpu general: loops for the baseline, AVX2 and AVX-512; [0-9]* bytes of scratch a thread \[R2003\]' <<<"$output")" = 9 ]
    expect 0 tilecc -arch=cpu --host-target=aarch64-linux -Rpass=instance k.tile -o k.o
    contains "k.tile:2:8: remark: instance: axpy[B=64] cpu general: loops for NEON; 0 bytes of scratch"
}
