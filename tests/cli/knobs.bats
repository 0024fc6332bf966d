#!/usr/bin/env bats
# Knobs of `tune` and `on` that the compiler knows: what reaches the function, and what is said of those that nothing does.

load helper

write() {
    cat >k.tile <<'END'
kernel scale(x: in f32[N], y: out f32[N])
    grid(b: cdiv(N, B))
    tune(B: {128} = 128, persistent, raster: {1, 4, 8}, cluster: {1, 2}, consumers: {1, 2, 3}, maxnreg, stages: {2, 3} = 3)
    on(sm_90, persistent = true, raster = 8)
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
    ! grep -qE 'persistent|cluster|registers\(' line || false
    grep -q ' warps(4, 8, 12) stages(3) raster(1, 4, 8) ' line || { cat line; false; }
}

@test "on, -D and --spec" {
    write
    header -arch=sm_90a | grep -q ' persistent(1) raster(8)'
    header -arch=sm_90a -D raster=4 -D cluster=2 -D maxnreg=64 | grep -q ' registers(64) persistent(1) raster(4) cluster(2)'
    header -arch=sm_90a --spec 'scale[persistent=false]' | grep -q ' persistent(-1) '
    header -arch=sm_80 -D persistent=true -D consumers=2 | grep -q ' warps(8) .*persistent(1)'
}

# chosen ARCH SET...: the machine IR of a product with these sets of the schedule
product_of() {
    printf 'kernel mm(a: in f16[M, K], b: in f16[K, N], c: out f16[M, N])\n    grid(m: cdiv(M, 128), n: cdiv(N, 128))\n    tune(%s)\n{\n' "$2" >mm.tile
    printf '    var acc = f32[128, 128](0);\n    for k in 0..K step 64 acc += a[m*128 +: 128, k +: 64] @ b[k +: 64, n*128 +: 128];\n    c[m*128 +: 128, n*128 +: 128] = f16(acc);\n}\n' >>mm.tile
    "$TILECC" -arch="$1" --dryrun -Rpass='specialise|assign|prefetch_copies' --spec 'mm' -o mm.o mm.tile >log 2>&1 || { cat log; return 1; }
}
says() { grep -q -- "$1" log || { cat mm.tile log; return 1; }; }

@test "a set without a default: the compiler chooses among its members" {
    product_of sm_90a 'stages: {2, 3}, persistent: {false}, consumers: {1}'
    says ': 3 slots of 32768' && says ' 4 warps are consumers' && says 'programs have a block each' || false
    product_of sm_90a 'stages: {3, 2}, persistent: {false, true}, consumers: {1, 2}'
    says ': 3 slots of 32768' && says ' 8 warps are consumers' && says 'walked over by persistent blocks' || false
    product_of sm_90a 'stages, persistent, consumers' # what it chooses by itself
    grep -o '[0-9]* slots of 32768' log | head -1 >free
    product_of sm_90a 'stages: 2..=12'
    says "$(cat free)"
    product_of sm_90a 'stages: {2, 40}' # no room for 40
    says ': 2 slots of 32768'
    product_of sm_90a 'stages: {4}' && says ': 4 slots of 32768' || false
    product_of sm_90a 'raster: {2, 4}' && says 'in a raster' || false
    product_of sm_90a 'raster: {1}' && ! grep 'in a raster' log || false
    product_of sm_90a 'warps: {4, 6}' && says ' 4 warps are consumers' || false
    product_of sm_90a 'warps: {1, 2}' && says 'warps = 2 has no effect here: the tiles go to 4' || false # they need as many
    product_of sm_80 'warps: {4}' && says 'a program has 4 warps' || false
    product_of sm_80 'warps: {2, 4, 16}, stages: {2}' && says 'a program has 4 warps' && says 'in 2 slots' || false
    write
    for warps in 1 2 4 8 16 32; do
        sed -i "s/tune(.*)/tune(B: {128} = 128, warps: {$warps})/; /on(/d" k.tile
        tilecc -arch=sm_80 --dryrun -Rpass=assign k.tile -o k.o >log 2>&1
        grep -q "a program has $warps warp" log
    done
    sed -i 's/tune(.*)/tune(B: {128} = 128, warps: {4})/' k.tile
    expect 2 tilecc -arch=sm_80 -D warps=1 --dryrun -o k.o k.tile
    contains 'is not in its set' && contains '[E0414]' || false
    expect 0 tilecc -arch=sm_80 -D warps=4 --dryrun -o k.o k.tile
    sed -i 's/tune(.*)/tune(B: {64, 128}, warps: {8, 2, 4}, B * warps <= 256)/' k.tile # computed with: a value that meets it
    header -arch=sm_80 | grep -q ' warps(2)'
    sed -i 's/tune(.*)/tune(B: {128} = 128, maxnreg: {64, 128}, cluster: {1, 2}, raster: {1, 4}, stages: {2, 3}, warps: {1, 8})/' k.tile
    header -arch=sm_80 | grep -q ' warps(1, 8) stages(2, 3) registers(128) raster(1, 4) {'
}

@test "split_k: 1 where the set has it, else the least; a default, on and -D choose" {
    scale() { printf 'kernel f(x: in f32[N, K], y: out f32[N]) grid(i: N) tune(%s)%s { var s: f32 = 0.0; for k in 0..K s += x[i, k]; y[i] = s; }\n' "$1" "${2-}" >f.tile; }
    parts() { tilecc --emit=tir "$@" f.tile -o - >out.tir && sed -n 's/.*constant value(\([0-9]*\)) : u32$/\1/p' out.tir | sed -n 2p; }
    for one in 'split_k: {1, 2, 4}' 'split_k: {2, 1}' 'split_k: {1}' split_k 'split_k: {1, 2} = 1'; do
        scale "$one"
        [ -z "$(parts -arch=cpu)" ]
        ! grep -E 'scratch|grid\(2\)' out.tir || false
    done
    scale 'split_k: {1, 2, 4}'
    [ "$(parts -arch=cpu -D split_k=4)" = 3 ] # who comes as number 3, from 0, is the last
    [ "$(parts -arch=cpu --spec 'f[split_k=2]')" = 1 ]
    expect 2 tilecc -arch=cpu -D split_k=3 --dryrun -o f.o f.tile
    contains E0414
    scale 'split_k: {4, 2}' && [ "$(parts -arch=cpu)" = 1 ] || false
    scale 'split_k: {1, 2} = 2' && [ "$(parts -arch=cpu)" = 1 ] || false
    scale 'split_k: {1, 8}' ' on(sm_90, split_k = 8)'
    [ -z "$(parts -arch=cpu)" ]
    parts -arch=sm_90 --spec 'f sm_90 aligned' >parts # where blocks form clusters, they meet
    grep -q ' parts(8)' out.tir && grep -q ' = meet : u32' out.tir || false
    [ "$(sed -n 's/.*constant value(\([0-9]*\)) : u32$/\1/p' out.tir | head -1)" = 7 ]
    ! grep -q atomic out.tir || false
    scale 'split_k: {8} = 8, persistent: {true}' && [ "$(parts -arch=sm_90 --spec 'f sm_90 aligned')" = 7 ] || false
    scale 'split_k: {16} = 16' && [ "$(parts -arch=sm_90 --spec 'f sm_90 aligned')" = 15 ] || false
    expect 0 tilecc -arch=cpu,sm_90 --dryrun -o f.o f.tile # the entry has the memory, and the processor needs none of it
}

@test "what no pass does is dropped, and a remark says so" {
    write
    expect 0 tilecc -arch=sm_90a -S -Rpass=settle_knobs --print-after=settle_knobs -D cluster=2 k.tile
    contains "persistent = 1 has no effect"
    contains "raster = 8 has no effect"
    contains "cluster = 2 has no effect"
    lacks " persistent("
    expect 0 tilecc -arch=sm_90a -O0 -S -Rpass=settle_knobs k.tile
    contains "persistent = 1 has no effect"
    expect 0 tilecc -arch=sm_80 -S -Rpass=settle_knobs k.tile
    contains "stages = 3 has no effect"
    lacks "persistent ="
}

@test "a product of a producer and consumers takes persistent and raster" {
    product() {
        tilecc -arch=sm_90a --schedules=1 -S -Rpass='specialise|settle_knobs' --print-after=settle_knobs --spec 'matmul<bf16,bf16>' "$@" \
            "$SRCDIR/examples/matmul.tile" 2>&1
    }
    product >default.tir
    product -D persistent=false >alone.tir
    grep -q '^kernel @matmul_bf16_bf16__0.* persistent(1)' default.tir
    grep -q 'walked over by persistent blocks' default.tir
    ! grep -q 'no effect on @matmul_bf16_bf16__0' default.tir || false
    ! grep -q '^kernel @matmul_bf16_bf16__0.* persistent(' alone.tir || false
    grep -q 'programs have a block each' alone.tir
}

@test "each name of the schedule is obeyed, or a remark says what was done instead" {
    of() { # a set of `tune`, and what is said of it; nothing: it is obeyed
        echo "kernel ew(x: in f32[N], y: out f32[N]) grid(b: cdiv(N, 1024)) tune($1) { y[b*1024 +: 1024] = x[b*1024 +: 1024]; }" >ew.tile
        expect 0 tilecc -arch=sm_80,sm_90a --emit=ptx -Rpass='no effect' ew.tile
        [ -n "$2" ] || { lacks 'no effect'; return; }
        contains "remark: $2"
        contains 'sm_80 general' && contains 'sm_90a aligned' || false
    }
    local stages='has no effect here: no loop brings tiles ahead' raster='has no effect here: only code with a producer'
    of 'stages: {2, 3}' "settle_knobs: stages = 2 or 3 $stages"
    of 'stages: {4, 2, 7}' "settle_knobs: stages = 2, 4 or 7 $stages"
    of 'stages: {1, 3}' ''
    of 'raster: {2, 4}' "settle_knobs: raster = 2 or 4 $raster"
    of 'raster: {1, 8}' ''
    of 'raster: {2, 100}' "settle_knobs: raster = 2 $raster"
    of 'cluster: {2, 4}' 'settle_knobs: cluster = 2 has no effect'
    of 'cluster: {1, 2}' ''
    of 'persistent: {true, false}' ''
    of 'consumers: {1, 2}' ''
    of 'consumers: {3, 5}' 'assign_layouts: consumers = 3 has no effect here: the tiles go to 8 warps'
    of 'warps: {3, 5}' 'assign_layouts: warps = 3 has no effect here: the tiles go to 2'
    of 'warps: {16, 32}' ''
    of 'warps: {4, 8}, consumers: {1}' 'tune: consumers has no effect here: `warps` says how many compute'
    of 'maxnreg: {64, 128}' ''
    of 'warps, stages, consumers, cluster, persistent, raster, maxnreg' ''
    row() { # a set of stages for a loop whose loads are made together: what is said of it
        echo "kernel row(x: in f32[M, N], y: out f32[M]) grid(m: M) tune(stages: {$1}) {
            var s = f32[256](0); for k in 0..N step 256 s += x[m, k +: 256]; y[m] = sum(s); }" >row.tile
        expect 0 tilecc -arch=sm_90a --emit=ptx -Rpass='no effect' row.tile
        [ -n "$2" ] || { lacks 'no effect'; return; }
        contains "stages = $1 has no effect here: $2 iterations make their loads together"
    }
    row 2 '' && row '1, 2' '' && row 1 '' && row 3 2 && row 6 4 || false
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
    expect 0 tilecc -arch=sm_90a -S -D consumers=3 k.tile # three groups: no power of two
    contains "warning: consumers = 3 has no effect here: the tiles go to 8 warps"
    lacks "warps = "
}

@test "a knob that some instances take is no warning, and one for another kernel or architecture alone is" {
    expect 0 tilecc -arch=sm_80,sm_90a --schedules=1 -S -D raster=8 -Wno-slow-product --spec 'matmul<bf16,bf16>' "$SRCDIR/examples/matmul.tile"
    contains "raster = 8 has no effect here"
    contains "in 3 more instances"
    lacks " sm_90a"
    expect 0 tilecc -arch=sm_90a --schedules=1 -S -D raster=8 --spec 'matmul<bf16,bf16>' "$SRCDIR/examples/matmul.tile"
    lacks "no effect"
}

@test "-Rpass=instance says a line of each instance of CPU code" {
    expect 0 tilecc -arch=cpu -Rpass=instance "$SRCDIR/examples/softmax.tile" -o s.o
    [ "$(grep -c 'remark: instance: softmax<f16>\[B=[0-9]*\] cpu general: loops for the baseline, AVX2 and AVX-512; [0-9]* bytes of scratch a thread \[R2003\]' <<<"$output")" = 10 ]
    # of memory what the object has, whether one worker makes the code or some
    for spec in '' '--spec=softmax<f16>[B=4096]'; do
        "$TILECC" -arch=cpu ${spec:+"$spec"} -Rpass=instance --resource-usage "$SRCDIR/examples/softmax.tile" -o s.o 2>said
        has=$("$TILECC" info s.o | sed -n 's/.*: \([0-9]* bytes of scratch\).*/\1/p')
        [ "$has" = "$(sed -n 's/.* \([0-9]* bytes of scratch\) a thread .R2003./\1/p' said)" ]
        [ "$has" = "$(sed -n 's/.* cpu: \([0-9]* bytes of scratch\) a thread$/\1/p' said)" ]
        grep -q '[1-9][0-9]* bytes of scratch a thread$' said
    done
    expect 0 tilecc -arch=cpu --host-target=aarch64-linux -Rpass=instance k.tile -o k.o
    contains "k.tile:2:8: remark: instance: axpy[B=64] cpu general: loops for NEON; 0 bytes of scratch"
}

@test "values of on and of the compiler's own names make sense" {
    scale() { printf 'kernel f(x: inout f32[N])\n    grid(i: cdiv(N, B))\n    tune(B: {32, 64} = 64, C: {1, 2} = 2, %s)\n    %s\n{\n    x[i*B +: B] += f32(i * C > 0);\n}\n' "$1" "${2-}" >f.tile; }
    refused() {
        run "$TILECC" -arch=sm_80 --dryrun f.tile
        [ "$status" -eq 1 ]
        contains "$1" && contains E0403 || false
    }
    scale 'warps: {0, 4} = 4' && refused '`warps` is a number from 1 to 32, not 0' || false
    scale 'warps: {true} = true' && refused '`warps` is a number from 1 to 32, not true' || false
    scale 'maxnreg: {300} = 300' && refused '`maxnreg` is a number from 24 to 255, not 300' || false
    scale 'persistent: {true, 99} = true' && refused '`persistent` is true or false, not 99' || false
    scale 'persistent: {1, 2} = 1' && refused '`persistent` is true or false, not 1' || false
    scale persistent 'on(sm_80, persistent = 2)' && refused '`persistent` is true or false, not 2' || false
    scale warps 'on(sm_80, warps = 64)' && refused '`warps` is a number from 1 to 32, not 64' || false
    scale warps 'on(sm_80, B = 48)' && refused 'what `on` gives `B` is not in its set' || false
    scale warps 'on(sm_42, B = 32)' && refused 'there is no target `sm_42`' || false
    scale warps 'on(sm_80, B = 32) on(sm_80, warps = 4, B = 64)' && refused 'another `on` gives `B` for sm_80, too' || false
    scale warps 'on(sm_80, B = 32) on(sm_90, B = 64) on(cpu, B = 64)'
    "$TILECC" -arch=sm_80 --dryrun f.tile
    scale warps
    run "$TILECC" -arch=sm_80 --dryrun -D warps=64 f.tile
    [ "$status" -eq 2 ]
    contains 'as asked for on the command line: `warps` is a number from 1 to 32, not 64'
    contains E0414
}

@test "defaults that break a condition give way, what on says last" {
    printf 'kernel f(x: inout f32[N])\n    grid(i: cdiv(N, B))\n    tune(B: {32, 64} = 64, C: {1, 2} = 2, B * C <= 64)\n    on(sm_80, C = 2)\n    on(sm_90a, B = 64)\n{\n    x[i*B +: B] += f32(i * C > 0);\n}\n' >f.tile
    chosen() { "$TILECC" -arch="$1" -Rpass=instance -o f.o f.tile 2>&1 | grep -q "f\[$2\]"; }
    chosen cpu 'B=32,C=1'
    chosen sm_75 'B=32,C=1'
    chosen sm_80 'B=32,C=2'
    chosen sm_90a 'B=64,C=1'
}
