#!/usr/bin/env bats
# --plan: how a loop is to work.  What is asked for is done, or the message says what is in the way.

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    cat >k.tile <<'END'
kernel k(a: in bf16[M, K], b: in bf16[K, N], c: out f32[M, N])
    requires(M % 8 == 0, N % 8 == 0, K % 8 == 0) grid(m: cdiv(M, 128), n: cdiv(N, 128))
{
    var acc = f32[128, 128](0);
    for k in 0..K step 64
        acc += a[m*128 +: 128, k +: 64] @ b[k +: 64, n*128 +: 128];
    c[m*128 +: 128, n*128 +: 128] = acc;
}
END
    sed 's/m, *128)/m, 64)/; s/128/64/g' k.tile >few.tile
    cat >chain.tile <<'END'
kernel chain(q: in bf16[M, 64], k: in bf16[L, 64], v: in bf16[L, 64], o: out bf16[M, 64]) grid(m: cdiv(M, 128))
{
    let x = q[m*128 +: 128, 0 +: 64];
    var acc = f32[128, 64](0);
    for j in 0..L step 64 {
        let p = bf16(exp2(dot(x, trans(k[j +: 64, 0 +: 64]))));
        acc += p @ v[j +: 64, 0 +: 64];
    }
    o[m*128 +: 128, 0 +: 64] = bf16(acc);
}
END
}

# gives ARCH FILE PLAN LINE: an instance's loop has such a line in its plan
gives() {
    "$TILECC" -arch="$1" --dryrun -Rpass=settle_plans -o k.o --plan="$2:5: $3" "$2" >log 2>&1 || { cat log; return 1; }
    grep -qE "$4" log || { cat log; return 1; }
}
# refuses ARCH FILE PLAN MESSAGE
refuses() {
    ! "$TILECC" -arch="$1" --dryrun -o k.o --plan="$2:5: $3" "$2" >log 2>&1 || { cat log; return 1; }
    grep -qF "error: --plan: $4" log && grep -q 'E1008' log || { cat log; return 1; }
}

@test "slots, ways, stages, products in flight and turns are done as asked" {
    gives sm_90a k.tile 'input a tma slots(2); input b slots(2)' 'input a: tma, 2 slots of 16384 bytes'
    gives sm_90a k.tile 'input a slots(3)' 'input b: tma, 3 slots of 16384 bytes' # one ring
    gives sm_90a k.tile 'input b cp_async' 'input a: cp_async, [0-9]+ slots'      # no producer then
    gives sm_90a k.tile 'input a registers' 'input a: registers'
    gives sm_80 k.tile 'input a cp_async slots(2) ahead(1)' 'input a: cp_async, 2 slots of 16384 bytes, 1 iteration ahead'
    gives sm_90a k.tile 'product 0 in_flight(1)' 'product 0: in its own iteration, waited for behind the next one'
    gives sm_90a k.tile 'product 0 in_flight(0)' 'product 0: in its own iteration, waited for at once \(the plan asks for it\)'
    gives sm_90a chain.tile 'product 1 stage(1)' 'product 1: beside those of the next iteration'
    gives sm_90a chain.tile 'product 1 stage(0)' 'product 1: in its own iteration.*\(the plan asks for it\)'
    gives sm_90a chain.tile '' 'product 1: ' # an empty plan asks for nothing
    gives sm_90a k.tile 'apart(1)' 'groups of four warps store their own rows by themselves'
    gives sm_90a few.tile '' '8 warps with 232 registers compute.*; 2 groups of warps take programs in turn'
    gives sm_90a few.tile 'programs(1)' '4 warps .*; one group of warps takes all programs \(the plan asks for it\)'
    gives sm_90a k.tile 'apart(0)' 'all store tiles together \(the plan asks for it\)'
}

@test "the code is what the plan says" {
    "$TILECC" -arch=sm_90a -S -o - -w k.tile >plain
    grep -q 'cp.async.bulk.tensor' plain
    "$TILECC" -arch=sm_90a -S -o - -w --plan='k.tile:5:1: input a cp_async' k.tile >asked
    ! grep -q 'cp.async.bulk.tensor.*mbarrier' asked || false
    grep -q 'cp.async.c[ag].shared' asked
    [ "$(grep -c 'ld.global' asked)" -le "$(grep -c 'ld.global' plain)" ]
}

@test "E1008: what cannot be done, and what is in the way" {
    refuses sm_90a k.tile 'input a slots(60)' 'input a: slots(60) is asked for, and it is slots('
    refuses sm_80 k.tile 'input a tma' 'input a: tma is asked for, and it is cp_async'
    refuses sm_90a k.tile 'product 0 stage(1)' 'product 0: stage(1) is asked for, and it is stage(0)'
    refuses sm_90a k.tile 'input q' 'the loop has no input q; it reads a, b'
    refuses sm_90a k.tile 'product 3 stage(0)' 'the loop has no product 3; it has 1'
    refuses sm_90a k.tile 'roles(12, 4)' 'those that compute: warps(12) is asked for, and it is warps('
    refuses sm_90a k.tile 'turns(1)' 'the loop: turns(1) is asked for, and it is not'
    refuses sm_90a k.tile 'programs(2)' 'groups of warps: programs(2) is asked for, and it is not'
    refuses sm_80 k.tile 'apart(1)' 'stores: apart(1) is asked for, and it is not'
    ! "$TILECC" -arch=sm_90a --dryrun -o k.o --plan='k.tile:2: turns(1)' k.tile >log 2>&1 || false
    grep -qF -- '--plan: no loop for a GPU that reads tiles or multiplies stands at k.tile:2 [E1008]' log
}

@test "a plan that cannot be read is the command's mistake" {
    for plan in k.tile 5 'k.tile: turns(1)' 'k.tile:x: turns(1)' ':5: turns(1)' 'k.tile:5: turn(1)' 'k.tile:5: input a slots(0)'; do
        run "$TILECC" -arch=sm_90a --dryrun -o k.o --plan="$plan" k.tile
        [ "$status" -eq 2 ] || { echo "$plan: $output"; return 1; }
    done
}
