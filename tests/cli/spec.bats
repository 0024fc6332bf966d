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
    expect 2 tilecc --emit=tir -arch=cpu --spec 'attention<f16>[D=64]' --spec 'attention<f32>' "$SRCDIR/examples/attention.tile" -o -
    contains "matches no instance of \`attention\`"
    expect 2 tilecc --emit=tir -arch=cpu --spec 'attentoin<f16>' "$SRCDIR/examples/attention.tile" -o -
    contains "matches no kernel of $SRCDIR/examples/attention.tile; did you mean \`attention\`?"
}

@test "what -D and --spec ask for and no instance can have is an error of the command" {
    refused() {
        expect 2 tilecc -arch=cpu "$1" "$2" "$SRCDIR/examples/softmax.tile"
        contains "[E0414]"
        contains "$3"
        [ ! -e softmax.o ]
    }
    refused -D Q=7 "names no"
    refused -D B=7 "is one of {256, 512, "
    refused -D B=large "is one of {256, 512, "
    refused -D T=f64 "is one of {f32, f16, bf16}, not f64"
    refused --spec 'softmax<f16>[Q=7]' "no \`const\` or \`tune\` name \`Q\`"
    refused --spec 'softmax<f16>[B=7]' "is one of {256, 512, "
    refused --spec 'softmax<f64>' "matches no instance of \`softmax\`"
    refused --spec 'softmax<f16' "is not of the form"
    expect 2 tilecc -arch=cpu -D B=96 k.tile
    contains "is not in its set"
    expect 2 tilecc -arch=cpu --spec 'axpy[B=wide]' k.tile
    contains "is a number or a bool, not 'wide'"
    expect 1 tilecc -arch=cpu -D Q=7 "$SRCDIR/tests/lang/reject/E0201-unknown.tile"
    expect 0 tilecc -arch=cpu -D B=512 --emit=tir -o all.tir --spec 'softmax<f16>' "$SRCDIR/examples/softmax.tile"
}

@test "a value of -D that some kernels cannot have: the note says how to ask for one kernel" {
    cat >some.tile <<'END'
kernel a(x: inout f32[N]) grid(i: cdiv(N, BM)) tune(BM: {64, 128} = 128) { x[i*BM +: BM] += 1.0; }
kernel b(x: inout f32[N]) grid(i: cdiv(N, BM)) tune(BM: {32, 256} = 256) { x[i*BM +: BM] += 1.0; }
kernel c(x: inout f32[N]) grid(i: 1) const(BM: {512} >= N) { x[i +: 1] += 1.0; }
kernel d<BM: {16, 128}>(x: inout f32[N]) grid(i: cdiv(N, BM)) { x[i*BM +: BM] += 1.0; }
END
    expect 2 tilecc -arch=cpu -D BM=64 some.tile
    [ "$(grep -c "note: -D is for all kernels that have the name, as \`a\` does; --spec 'a\[BM=64\]' is for one" <<<"$output")" = 3 ]
    contains "and --spec 'd' keeps this one beside it"
    expect 0 tilecc -arch=cpu --spec 'a[BM=64]' --spec b --spec c --spec d some.tile
    expect 2 tilecc -arch=cpu --spec 'a[BM=32]' some.tile # asked for of one kernel
    lacks "note: -D"
    sed -i 1q some.tile
    expect 2 tilecc -arch=cpu -D BM=32 some.tile # there is no other
    lacks "note: -D"
    echo 'kernel b(x: inout f32[N]) grid(i: N) tune(BN: {32} = 32) { x[i] = f32(BN); }' >>some.tile
    expect 2 tilecc -arch=cpu -D BM=32 some.tile
    lacks "note: -D"
}

@test "a spec names one of the instances that differ in facts, as messages do" {
    local softmax="$SRCDIR/examples/softmax.tile" spec='softmax<f16>[B=1024]'
    expect 2 tilecc -arch=sm_80 --emit=tir --spec "$spec" -o one.tir "$softmax"
    contains "2 instances give a file each; choose one with --spec and -arch, such as --spec '$spec sm_80 aligned', give -o a folder that is there, or leave -o out"
    expect 0 tilecc -arch=sm_80 --emit=tir --spec "$spec sm_80 aligned" -o aligned.tir "$softmax"
    grep -q 'align(16)' aligned.tir
    [ "$(grep -c '^kernel' aligned.tir)" = 1 ]
    expect 0 tilecc -arch=sm_80,sm_90a --emit=tir --spec "$spec sm_80 general" -o general.tir "$softmax"
    [ "$(grep -c '^kernel' general.tir)" = 1 ]
    [ "$(grep -c 'align(16)' general.tir)" = 0 ]
    expect 0 tilecc -arch=sm_80 --emit=tir --spec "$spec  general" -o same.tir "$softmax" # facts alone
    cmp general.tir same.tir
    for more in '' ' aligned' ' general'; do # each once, whatever names it again
        expect 0 tilecc -arch=sm_80 --emit=tir --spec "$spec general" --spec "$spec$more" -o - "$softmax"
        [ "$(grep -c '^kernel' <<<"$output")" = $([ "$more" = ' general' ] && echo 1 || echo 2) ]
    done
    expect 2 tilecc -arch=sm_80 --emit=tir --spec "$spec wide" -o none.tir "$softmax"
    contains "matches no instance of"
    expect 2 tilecc -arch=sm_80 --emit=tir --spec "${spec}aligned" -o none.tir "$softmax"
    contains "is not of the form"
    expect 2 tilecc -arch=sm_80 --spec "$spec aligned" -o none.o "$softmax"
    contains "an object takes all arguments and holds all instances of its keys"
    [ ! -e none.o ]
}

@test "a spec that the requirements rule out matches nothing" {
    cat >k.tile <<'END'
kernel f<A: {1, 2}, B: {1, 2}>(x: out i32[N]) requires(A != B) grid(i: N) { x[i] = A * B; }
END
    expect 2 tilecc -arch=cpu --spec 'f[A=1,B=1]' k.tile
    contains "matches no instance of \`f\`"
    expect 0 tilecc -arch=cpu --emit=tir -o all.tir --spec 'f[A=1]' k.tile
}

@test "what -D and --spec ask for against a condition of tune is an error of the command that names the condition" {
    cat >k.tile <<'END'
kernel f(x: inout f32[N])
    grid(i: cdiv(N, B*C))
    tune(B: {64, 128} = 64, C: {1, 2, 4} = 1, warps, B*C <= 256, warps <= 8)
{
    for c in 0..C x[(i*C + c)*B +: B] = 0.0;
}
END
    against() {
        expect 2 tilecc -arch=cpu "${@:2}" k.tile
        contains "$1"
        contains "[E0414]"
        lacks "[E0405]"
        [ ! -e k.o ]
    }
    against "k.tile:3:54: error: B = 128, C = 4, as asked for on the command line, rules out \`B * C <= 256\`" -D B=128 -D C=4
    against "rules out \`B * C <= 256\`" --spec 'f[C=4,B=128]'
    against "warps = 16, as asked for on the command line, rules out \`warps <= 8\`" -D warps=16
    expect 0 tilecc -arch=cpu --emit=tir -o all.tir -D B=128 k.tile
    expect 0 tilecc -arch=cpu --emit=tir -o all.tir -D C=4 k.tile
    cat >k.tile <<'END'
kernel f(x: inout f32[N])
    grid(i: cdiv(N, A))
    tune(A: {1, 2} = 1, B: {1, 2} = 1, C: {1, 2} = 1, B <= C, C <= 5 - A - B)
{
    x[i*A +: A] = 0.0;
}
END
    against "with A = 2, B = 2, as asked for on the command line, no values of the other names meet all conditions" -D A=2 -D B=2
}

@test "defaults that miss a condition: what is written stays where it can, and a warning says what gives way" {
    cat >k.tile <<'END'
kernel kept(x: inout f32[N])
    grid(i: cdiv(N, B*C))
    tune(B: {32, 64} = 64, C: {1, 2}, C > 1)
{
    for c in 0..C x[(i*C + c)*B +: B] = 0.0;
}
END
    expect 0 tilecc -Werror -arch=cpu --emit=tir -O0 k.tile -o -
    contains 'grid_step(128)'
    sed -i 's/C > 1/C > 1, B < 64/' k.tile
    expect 0 tilecc -arch=cpu --emit=tir -O0 k.tile -o -
    contains "k.tile:3:10: warning: nothing with \`B\` = 64 meets the conditions of \`tune\`: \`B\` = 32 instead [-Wtune-default]"
    contains 'grid_step(64)'
    expect 0 tilecc -Werror -arch=cpu -D B=32 --emit=tir -O0 k.tile -o -
}

@test "-D keeps the kind and the type of a const" {
    cat >kinds.tile <<'END'
enum col { red, green }
const S: f32 = 0.5; const I: i8 = 3; const U: u64 = 5; const B = true; const C = col.green; const W = 8;
kernel d(r: out u64[4]) grid(g: 1) {
    r[0] = U; r[1] = B ? 1 : 0; r[2] = C == col.green ? 1 : 0; r[3] = u64(W) + u64(S) + u64(I);
}
END
    for bad in B=0 C=0 I=128 I=1.5 W=true W=2.5 U=-1 U=18446744073709551616 W=99999999999999999999; do
        expect 2 tilecc -arch=cpu -D "$bad" -o k.o kinds.tile
        contains "error: -D $bad: "
    done
    for good in U=18446744073709551615 B=false I=-128 S=1 S=2.5 W=0x10; do
        expect 0 tilecc -arch=cpu -D "$good" -o k.o kinds.tile
    done
    sed -i 's/r\[0\] = U;/r[0] = U >> 1;/' kinds.tile
    expect 0 tilecc --interpret='kinds_d([4])' -D U=18446744073709551615 kinds.tile
    contains 9223372036854775807
}
