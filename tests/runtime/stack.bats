#!/usr/bin/env bats
# The caller's stack: a launch takes at most 4 KiB of it, whatever the kernel's parameters are, and also where it fails.

# A kernel of so many views of so many dimensions, and the case that calls it.
wide() { # name, views, dimensions, array
    local parameters="" sum="" arguments="" extents="" i
    for ((i = 0; i < $3; i++)); do extents+="${extents:+, }N$i"; done
    local zeros="0$(printf ', 0%.0s' $(seq 2 "$3"))"
    [ "$3" != 1 ] || zeros=0
    for ((i = 1; i < $2; i++)); do
        parameters+="x$i: in strided f32[$extents], "
        sum+="${sum:+ + }x$i[$zeros]"
        arguments+=", &$4[$i]"
    done
    echo "kernel $1(${parameters}r: out strided f32[$extents]) grid(g: 1) { r[$zeros] = $sum; }" >>stack.tile
    echo "case $calls: return stack_$1(TILE_CPU$arguments, &$4[0]);" >>stack_calls.h
    calls=$((calls + 1))
}

@test "a launch, also one that fails, takes at most 4 KiB of the caller's stack, and works on the smallest" {
    cd "$BATS_TEST_TMPDIR"
    calls=0
    wide few 3 1 flat
    wide many 60 1 flat
    wide deep 28 8 deep
    wide two 2 8 deep
    {
        echo 'const fn gcd(a: i64, b: i64) -> i64 { var x = a; var y = b; while (y != 0) { let t = x % y; x = y; y = t; } return x; }'
        printf 'kernel cells(x: in f32[N], r: out f32[N]) requires(0'
        for i in $(seq 3 42); do printf ' + gcd(N, %d)' "$i"; done
        echo ' > 0) grid(g: N) { r[g] = x[g]; }'
    } >>stack.tile
    echo "case $calls: return stack_cells(TILE_CPU, &flat[1], &flat[0]);" >>stack_calls.h
    echo "case $((calls + 1)): return stack_few_query(TILE_CPU, &flat[1], &flat[2], &flat[0], &info);" >>stack_calls.h
    echo "case $((calls + 2)): return stack_few_launch_ex(TILE_CPU, &flat[1], &flat[2], &flat[0], NULL);" >>stack_calls.h
    echo "case $((calls + 3)): return stack_many_variant(TILE_CPU, $(seq -f '&flat[%g]' -s ', ' 1 59), &flat[0], 0);" >>stack_calls.h
    "$TILECC" -arch=cpu -o stack.o stack.tile
    "$TILECC" --emit-runtime -o tile_rt.o
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -DCALLS=$((calls + 4)) -Wall -Wextra -Werror -O1 -I. -I"$SRCDIR/tests/runtime" \
        -I"$SRCDIR/runtime-stub" "$SRCDIR/tests/runtime/stack_check.c" stack.o tile_rt.o -o check -ldl -lpthread -Wl,-z,now
    for threads in 1 4; do TILE_CPU_THREADS=$threads ./check; done
    # bound lazily: the first call, and the first that starts the pool, may take more; the first that fails does not
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -DCALLS=$((calls + 4)) -Wall -Wextra -Werror -O1 -I. -I"$SRCDIR/tests/runtime" \
        -I"$SRCDIR/runtime-stub" "$SRCDIR/tests/runtime/stack_check.c" stack.o tile_rt.o -o lazy -ldl -lpthread -Wl,-z,lazy
    for ((call = 0; call < calls + 4; call++)); do
        ./lazy $call works fails works fails
        ./lazy $call fails fails works
    done
}
