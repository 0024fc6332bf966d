#!/usr/bin/env bats
# The Schedule and Machine levels in the interpreter: programs that are right give the results of their plain form in every
# order of roles and arrivals; each defect is the same program with one edit, and is named.

PRODUCT='product([128, 96], [96, 64], [128, 64])[2]'
COPY='copy([80, 64], [80, 64])'
ROWS='rows([40, 16], [40, 16])'
GRAM='gram([64, 32], [64, 64])'
SWAP='swap([32, 16], [32, 16])'

interpret() { "$TILECC" --interpret="$1" "$2"; }

# What the interpreter fills inputs with.
pattern='function x(i) { return (i * 7 + 3) % 11 - 5 }'

# defect FILE CALL EDIT MESSAGE: the edit changes the program, and what it breaks is said.
defect() {
    sed "$3" "$SRCDIR/tests/interp/programs/$1.tir" >"$BATS_TEST_TMPDIR/$1.tir"
    ! cmp -s "$SRCDIR/tests/interp/programs/$1.tir" "$BATS_TEST_TMPDIR/$1.tir" || { echo "no edit: $3"; return 1; }
    run interpret "$2" "$BATS_TEST_TMPDIR/$1.tir"
    [ "$status" -eq 1 ] && [[ "$output" == *"$4"* ]] || { echo "$3: status $status"; echo "$output" | cut -c1-400; return 1; }
}

@test "roles, rings, copies and products compute what the plain program does" {
    for call in "$PRODUCT" 'product([200, 72], [72, 56], [200, 56])[4]' 'product([60, 24], [24, 64], [60, 64])[1]'; do
        interpret "$call" "$SRCDIR/tests/interp/programs/plain.tir" >"$BATS_TEST_TMPDIR/want"
        for form in roles sequential; do
            interpret "$call" "$SRCDIR/tests/interp/programs/$form.tir" >"$BATS_TEST_TMPDIR/got"
            cmp "$BATS_TEST_TMPDIR/want" "$BATS_TEST_TMPDIR/got"
        done
    done
}

@test "buffers of the block: stores, asynchronous stores, cp.async, other layouts, named barriers" {
    output=$(interpret "$COPY" "$SRCDIR/tests/interp/programs/epilogue.tir")
    [ "$(printf '%s\n' "$output" | head -64)" = "$(awk "$pattern"' BEGIN { for (r = 0; r < 64; r++) {
        printf "y[%d] =", r; for (c = 0; c < 64; c++) printf " %d", x(r * 64 + c); printf "\n" } }')" ]
    output=$(interpret "$ROWS" "$SRCDIR/tests/interp/programs/ring.tir")
    [ "$output" = "$(awk "$pattern"' BEGIN { for (r = 0; r < 40; r++) {
        printf "y[%d] =", r; for (c = 0; c < 16; c++) printf " %d", x(r * 16 + c); printf "\n" } }')" ]
    output=$(interpret "$GRAM" "$SRCDIR/tests/interp/programs/registers.tir")
    [ "$output" = "$(awk "$pattern"' BEGIN { for (r = 0; r < 64; r++) { printf "y[%d] =", r
        for (c = 0; c < 64; c++) { s = 0; for (k = 0; k < 32; k++) s += x(r * 32 + k) * x(c * 32 + k); printf " %d", s }
        printf "\n" } }')" ]
    output=$(interpret "$SWAP" "$SRCDIR/tests/interp/programs/warps.tir")
    [ "$output" = "$(awk "$pattern"' BEGIN { for (r = 0; r < 32; r++) {
        printf "y[%d] =", r; for (c = 0; c < 16; c++) printf " %d", x(r % 16 * 16 + c); printf "\n" } }')" ]
}

@test "a load of a tile that stands in the buffer" {
    sed 's/%u = buffer_load %low : .*/%u = buffer_load start(8, 8) %low : f32[8, 8] #(8, 8; register b0; lane b1:2 a0:2; warp .)/
        s/store %y\[%zero +: 16, %zero +: 16\], %u/store %y[%zero +: 8, %zero +: 8], %u/' \
        "$SRCDIR/tests/interp/programs/warps.tir" >"$BATS_TEST_TMPDIR/part.tir"
    output=$(interpret "$SWAP" "$BATS_TEST_TMPDIR/part.tir" | head -8)
    [ "$output" = "$(awk "$pattern"' BEGIN { for (r = 0; r < 8; r++) { printf "y[%d] =", r
        for (c = 0; c < 16; c++) printf " %s", c < 8 ? x((r + 8) * 16 + c + 8) : "?"; printf "\n" } }')" ]
    sed -i '/^        barrier$/d' "$BATS_TEST_TMPDIR/part.tir"
    run interpret "$SWAP" "$BATS_TEST_TMPDIR/part.tir"
    [ "$status" -eq 1 ] && [[ "$output" == *"race on 'low': buffer_load in role 0"* ]] || false
}

@test "phases: a flip too few, a wrong start, a wait dropped" {
    defect roles "$PRODUCT" 's/mbarrier_wait %full, %slot, %phase/mbarrier_wait %full, %slot, %zero/' "'ring_a'"
    defect roles "$PRODUCT" 's/%flipped = xor %phase, %one/%flipped = xor %phase, %zero/' "'ring_a'"
    defect roles "$PRODUCT" 's/%flipped_1 = xor %phase_4, %one/%flipped_1 = xor %phase_4, %zero/' 'an arrival too many'
    defect roles "$PRODUCT" 's/%phase_3: i32 = %one/%phase_3: i32 = %zero/' "deadlock: role 0 waits at 25:17 for parity 0 of 'full'[0]"
    defect roles "$PRODUCT" '/mbarrier_wait %full/d' 'nothing wrote'
    defect roles "$PRODUCT" '/mbarrier_wait %empty/d' "an arrival too many at 'full'[0]: nothing tells warp 4 that phase 0 has ended"
}

@test "arrivals: one dropped, too many, at the wrong slot, before the set-up" {
    defect roles "$PRODUCT" '/mbarrier_arrive %empty, %last$/d' 'deadlock: '
    defect roles "$PRODUCT" '/mbarrier_arrive %empty, %before/d' 'deadlock: '
    defect roles "$PRODUCT" 's/mbarrier_arrive %empty, %before, %again/mbarrier_arrive %empty, %slot/' "race on 'ring_a'"
    defect roles "$PRODUCT" 's/mbarrier_arrive %empty, %before, %again/mbarrier_arrive %empty, %before/' "race on 'ring_a'"
    defect roles "$PRODUCT" 's/%empty = mbarrier arrivals(4)/%empty = mbarrier arrivals(3)/' "an arrival too many at 'empty'[0]"
    defect roles "$PRODUCT" 's/%empty = mbarrier arrivals(4)/%empty = mbarrier arrivals(5)/' '4 of 5 arrived'
    defect roles "$PRODUCT" '/mbarrier_ready/d' "uses 'full' before mbarrier_ready"
}

@test "bytes: too few and too many announced" {
    defect roles "$PRODUCT" 's/bytes(8192)/bytes(4096)/' "'ring_"
    defect roles "$PRODUCT" 's/bytes(8192)/bytes(8194)/' '1 of 1 arrived, 2 bytes to come'
    defect roles "$PRODUCT" 's/bytes(8192)/bytes(6144)/' '2048 bytes more came'
}

@test "slots: off by one, beyond the ring, always the same" {
    defect roles "$PRODUCT" 's/%A = slot %ring_a, %slot/%A = slot %ring_a, %before/' "'ring_a'"
    defect roles "$PRODUCT" 's/%A_1 = slot %ring_a, %slot_4/%A_1 = slot %ring_a, %zero/' "race on 'ring_a'"
    defect roles "$PRODUCT" 's/%two = constant value(2)/%two = constant value(3)/' "and this is number 2"
    defect roles "$PRODUCT" 's/constant value(2)/constant value(3)/;s/mbarrier<2>/mbarrier<3>/' "slot 2 of 'ring_a', which has 2"
}

@test "products in flight: looked at, factors written, nothing to add to" {
    defect roles "$PRODUCT" 's/%product = dot_wait pending(0) %sum/%product = dot_wait pending(1) %sum/' \
        "'store' looks at the product of dot_async at 28:17, which is still on its way"
    defect roles "$PRODUCT" 's/%d = dot_wait pending(1)/%d = dot_wait pending(2)/' "race on 'ring_a'"
    defect roles "$PRODUCT" 's/%no = constant value(false)/%no = constant value(true)/' 'adds to an undefined tile'
    defect sequential "$PRODUCT" 's/%d = dot_wait pending(0)/%d = dot_wait pending(1)/' "race on 'A'"
    defect sequential "$PRODUCT" 's/], %sum$/], %start/' "'store' looks at an undefined tile"
}

@test "copies: not waited for, waited for too early" {
    defect sequential "$PRODUCT" 's/wait %t, %u/wait %t/' "race on 'B'"
    defect sequential "$PRODUCT" 's/wait %t, %u/wait %u/' "race on 'A'"
    defect ring "$ROWS" 's/cp_wait pending(1)/cp_wait pending(2)/' "race on 'ring'"
    defect ring "$ROWS" '0,/cp_commit/s/ *cp_commit//' "race on 'ring'"
    defect ring "$ROWS" '/cp_wait pending(0)/d' 'the block ends, and nobody waited for this cp_async'
    defect epilogue "$COPY" '/tma_wait pending(0)/s/0/1/' "race on 'tile': buffer_store"
    defect epilogue "$COPY" '/tma_commit/d' "race on 'tile': buffer_store"
    defect epilogue "$COPY" '/^    tma_wait/d' 'the block ends, and nobody waited for this tma_store'
}

@test "fences between ordinary stores and asynchronous readers" {
    defect epilogue "$COPY" '/fence_async/d' "no fence_async between buffer_store at 12:9, which writes 'tile', and tma_store, which reads it"
    defect registers "$GRAM" '/fence_async/d' "no fence_async between buffer_store"
}

@test "barriers between warps, and between roles" {
    defect ring "$ROWS" '12,14s/ *barrier//;/%next = add/,/%ahead/{/barrier/d}' "race on 'ring': cp_async"
    defect ring "$ROWS" '/cp_wait pending(1)/,/%here/{/barrier/d}' "race on 'ring': buffer_load"
    defect epilogue "$COPY" '/fence_async/,/tma_store/{/barrier/d}' "race on 'tile': tma_store"
    defect epilogue "$COPY" '/tma_wait/,/buffer_store/{/barrier/d}' "race on 'tile': buffer_store"
    defect registers "$GRAM" '/fence_async/,/dot_async/{/barrier/d}' "race on 'A': dot_async"
    defect warps "$SWAP" '/buffer_store/,/buffer_load/{/barrier/d}' "race on 'low': buffer_load in role 0"
    defect warps "$SWAP" '0,/} {/{/barrier id/d}' 'deadlock: role 1 waits'
    defect warps "$SWAP" '0,/} {/{s/id(1) warps(4)/id(2) warps(4)/}' 'deadlock: role 0 waits'
    defect warps "$SWAP" '0,/} {/{s/id(1) warps(4)/id(1) warps(3)/}' 'barrier 1 is for'
}

@test "views that no tensor map can describe" {
    program=$SRCDIR/tests/interp/programs/roles.tir
    run interpret 'product([64, 33], [33, 64], [64, 64])[1]' "$program"
    [ "$status" -eq 1 ] && [[ "$output" == *"TMA on 'a', whose dimension 0 has a stride of 66 bytes: no multiple of 16"* ]] || false
    run interpret 'product([64, 32], [32, 60], [64, 60])[1]' "$program"
    [ "$status" -eq 1 ] && [[ "$output" == *"TMA on 'b', whose dimension 0 has a stride of 120 bytes"* ]] || false
}

@test "turns: taken twice, passed on without, never passed on, not started" {
    [ "$(interpret 'steps([3])' "$SRCDIR/tests/interp/programs/turns.tir")" = "y[0] = 0 1 2" ]
    defect turns 'steps([3])' '/turn_pass/d' 'deadlock: waits for the turn that it took at 8:9'
    defect turns 'steps([1])' '/turn_pass/d' 'deadlock: the turn taken here is never passed on'
    defect turns 'steps([3])' '/turn_take/d' 'passes on a turn that it does not have'
    defect turns 'steps([3])' '/turn_start/d' 'deadlock: waits for a turn, and nothing started them'
    defect turns 'steps([3])' 's/turn_start/&\n    &/' 'turns are started twice'
}

@test "shared memory that overlaps" {
    defect registers "$GRAM" '/dot_wait/,/convert/{/barrier/d}' 'race on scratch'
    defect registers "$GRAM" 's/^    %turned = .*/&\n    barrier\n    %again = buffer_load %A : bf16[64, 32] #(64, 32; register b0:2 a5; lane b3:4 a0:2; warp a3:4)/' \
        "reads a part of 'A' that convert_layout at 15:5 overwrote with its scratch"
    defect roles "$PRODUCT" 's/ring_a = buffer/& shared_offset(0)/;s/ring_b = buffer/& shared_offset(4096)/;s/full = mbarrier/& shared_offset(16384)/;s/empty = mbarrier/& shared_offset(16400)/' \
        'race on '
    defect roles "$PRODUCT" 's/ring_a = buffer/& shared_offset(0)/;s/ring_b = buffer/& shared_offset(8192)/;s/full = mbarrier/& shared_offset(8184)/;s/empty = mbarrier/& shared_offset(16400)/' \
        'touches shared memory that holds an mbarrier'
}

@test "the same in a function that runs behind each pass" {
    run "$TILECC" --passes=dce,simplify --interpret="$PRODUCT" "$SRCDIR/tests/interp/programs/roles.tir"
    [ "$status" -eq 0 ] || { echo "$output"; return 1; }
}

@test "clusters of four: what three blocks of the last one compute besides changes nothing" {
    cd "$BATS_TEST_TMPDIR"
    sed 's/cluster: {1, 2}/cluster: {1, 2, 4}/' "$SRCDIR/examples/matmul.tile" >matmul.tile
    "$TILECC" -arch=sm_90a --spec='matmul<bf16,bf16>[BM=64,BN=32,BK=32,cluster=4,stages=3]' --print-after=check_machine --emit=header -o out.h \
        matmul.tile 2>all
    awk '/^kernel @matmul_bf16_bf16__0\(/ { on = 1 } on { print } /^}/ { on = 0 }' all >four.tir
    grep -q 'mbarrier_arrive cluster(4)' four.tir && grep -q 'multicast(4)' four.tir || false
    for rows in 70 330; do
        interpret "matmul_bf16_bf16__0([$rows, 136], [136, 40], [40], [$rows, 40], 0)[$(((rows + 63) / 64)), 2]" four.tir >got
        interpret "matmul_bf16_bf16([$rows, 136], [136, 40], [40], [$rows, 40], none)" matmul.tile >want
        cmp want got
    done
}

@test "clusters: blocks run side by side, reach into each other, and must not end before" {
    # fewer slots than rounds, or nobody would wait for the other block's arrivals
    cd "$BATS_TEST_TMPDIR"
    "$TILECC" -arch=sm_90a --spec='matmul<bf16,bf16>[BM=64,BN=64,BK=32,cluster=2,stages=5]' --print-after=check_machine --emit=header -o out.h \
        --plan="$SRCDIR/examples/matmul.tile:$(grep -n 'for k in' "$SRCDIR/examples/matmul.tile" | cut -d: -f1): programs(1)" \
        "$SRCDIR/examples/matmul.tile" 2>all
    awk '/^kernel @matmul_bf16_bf16__0\(/ { on = 1 } on { print } /^}/ { on = 0 }' all >two.tir
    grep -q 'mbarrier_arrive cluster(2)' two.tir && grep -q 'multicast(2)' two.tir || false
    for rows in 70 200; do
        interpret "matmul_bf16_bf16__0([$rows, 264], [264, 40], [40], [$rows, 40], 0)[$(((rows + 63) / 64)), 1]" two.tir >got
        interpret "matmul_bf16_bf16([$rows, 264], [264, 40], [40], [$rows, 40], none)" "$SRCDIR/examples/matmul.tile" >want
        cmp want got
    done
    call='matmul_bf16_bf16__0([70, 264], [264, 40], [40], [70, 40], 0)[2, 1]'
    for edit in '1,/cluster_barrier/{/cluster_barrier/d}' '/^    cluster_barrier/d' 's/arrive cluster(2)/arrive/'; do
        sed "$edit" two.tir >less.tir
        ! cmp -s two.tir less.tir || false
        run interpret "$call" less.tir
        [ "$status" -eq 1 ] || { echo "$edit: $output"; return 1; }
        [[ "$output" == *"cluster_barrier"* || "$output" == *deadlock* ]] || { echo "$output"; return 1; }
    done
    # each block's slots are free when its own consumers say so: right for one block, but the other one writes there, too
    sed 's/arrive cluster(2)/arrive/;s/%\(.*\) = mbarrier \(.*\)arrivals(8)/%\1 = mbarrier \2arrivals(4)/' two.tir >less.tir
    run interpret "$call" less.tir
    [ "$status" -eq 1 ] || return 1
    [[ "$output" == *"race on "*": tma_load in role 1 writes it, and dot_async at "*" in role 0 still reads it"* ]] || { echo "$output"; return 1; }
    # one block walks over fewer tiles than the other expects
    sed '/^    } {/,$s/%\(K_1\|K\) = extent dimension(1) %a : index/%whole = extent dimension(1) %a : index\n            %me = program : index\n            %two = constant value(2) : index\n            %odd = rem %me, %two : index\n            %fewer = constant value(64) : index\n            %less = mul %odd, %fewer : index\n            %\1 = sub %whole, %less : index/' \
        two.tir >less.tir
    ! cmp -s two.tir less.tir || false
    run interpret "$call" less.tir
    [ "$status" -eq 1 ] || return 1
    [[ "$output" == *"deadlock: block "* ]] || { echo "$output"; return 1; }
}

@test "warpgroups of one role that write and read a buffer without a barrier between them" {
    cd "$BATS_TEST_TMPDIR"
    call='k__0([128, 200], [200, 128], [128, 128])'
    cat >k.tile <<'END'
kernel k(a: in bf16[M, K], b: in bf16[K, N], c: out bf16[M, N])
    grid(i: cdiv(M, 128), j: cdiv(N, 128))
{
    var acc = f32[128, 128](0);
    for k in 0..K step 64 {
        let t = b[k +: 64, j*128 +: 128];
        acc += a[i*128 +: 128, k +: 64] @ (t + t);
    }
    c[i*128 +: 128, j*128 +: 128] = bf16(acc);
}
END
    "$TILECC" -arch=sm_90a -S --print-after=insert_barriers k.tile -o - 2>printed >k.ptx
    sed -n '/^kernel @k__0/,/^}/p' printed >two.tir
    grep -q 'role_warps(8, 4)' two.tir
    interpret "$call" two.tir >/dev/null
    # the factor that all warps store and every warpgroup reads: before the store, and behind it
    awk '/^ *barrier$/ { held = $0; next } /buffer_store/ && !done { held = ""; done = 1 }
         { if (held != "") print held; held = ""; print }' two.tir >less.tir
    run interpret "$call" less.tir
    [ "$status" -eq 1 ] || return 1
    [[ "$output" == *"race on "*": buffer_store in role 0 writes it, and dot_async at "*" in role 0 still reads it"* ]] ||
        { echo "$output"; return 1; }
    awk '/^ *barrier$/ && last ~ /fence_async/ && !done { done = 1; next } { last = $0; print }' two.tir >less.tir
    run interpret "$call" less.tir
    [ "$status" -eq 1 ] || return 1
    [[ "$output" == *"race on "*": dot_async in role 0 reads it, and buffer_store at "*" in role 0 writes it"* ]] ||
        { echo "$output"; return 1; }
}

@test "global memory: threads that touch a byte have a barrier between" {
    AGAIN='again([128], [128])'
    interpret "$AGAIN" "$SRCDIR/tests/interp/programs/global.tir" >/dev/null
    defect global "$AGAIN" '/^    barrier/d' "race on 'x': load and store at"
    defect global "$AGAIN" '/^    for/,/store/{/barrier/d}' "race on 'x': store and load at"
    defect global "$AGAIN" '/^        store/,/load/{/barrier/d}' "race on 'x': load and store at"
    defect global "$AGAIN" '/^  barrier/d' "race on 'x': atomic and load at"
    defect global "$AGAIN" '/^ barrier/d' "race on 'x': atomic and atomic at"
    defect global "$AGAIN" 's/%t = atomic action(add)/%t = atomic action(max)/' "race on 'x': atomic and atomic at"
    defect global "$AGAIN" 's/store %y\[%zero +: 128\], %v/store %y[%zero +: 128], %s/' "race on 'x': atomic and atomic at"
    # the same threads touch the same elements: no barrier
    sed '/^    barrier/d; s/%u = load \(.*\) #(128; .*/%u = load \1 #(128; lane a0:4; warp a5:6)/' \
        "$SRCDIR/tests/interp/programs/global.tir" >"$BATS_TEST_TMPDIR/same.tir"
    interpret "$AGAIN" "$BATS_TEST_TMPDIR/same.tir" >/dev/null
}

@test "a place beyond what shared memory can be" {
    cat >"$BATS_TEST_TMPDIR/far.tir" <<'END'
kernel @far(%y: view<f32, [?], [1], out>) grid(1) level(machine) warps(4) {
    %b = buffer shared_offset(1073741824) shared_bytes(1024) : buffer<f32, [16, 16], slots(1), #(16, 16; offset b0:3 a0:3)>
    return
}
END
    run interpret 'far([4])' "$BATS_TEST_TMPDIR/far.tir"
    [ "$status" -eq 1 ] && [[ "$output" == *"2:5: instance 0: needs more shared memory than there can be"* ]] || false
}

@test "blocks that take long and short programs in pairs, the shortest last, run each of them" {
    cd "$BATS_TEST_TMPDIR"
    "$TILECC" -arch=sm_90a --save-temps -Rpass=specialise -w -o growing.o "$SRCDIR/tests/interp/programs/growing.tile" 2>remarks
    grep -q "long and short ones in pairs" remarks
    "$TILECC" -arch=cpu --emit=tir -o plain.tir "$SRCDIR/tests/interp/programs/growing.tile"
    # By two blocks: the shortest last (more than 128 places in all turns), with an odd number of lines, and few.
    for size in "2 1536 12" "3 1152 9" "5 640 5"; do
        set -- $size
        call="growing__0([$1, $2, $2], [$1, $2, 8], [$1, $3])[$3, $1]"
        interpret "$call" plain.tir >want
        interpret "$call" growing.growing.0.sm_90a.tir >got
        [ "$(wc -l <want)" -eq "$1" ] && ! grep -q '?' want || false
        cmp want got
    done
}

@test "loops side by side, of which one copies a factor that the other stores: neither takes the other's buffer" {
    cd "$BATS_TEST_TMPDIR"
    cat >crossed.tile <<'EOF'
kernel crossed(a: in f16[M, K], b: in f16[K, N], c: out f32[M, N]) grid(m: cdiv(M, 64), n: cdiv(N, 64)) {
    var s = f32[64, 64](0);
    for k in 3..K step 32 // a begins anywhere
        s += a[m*64 +: 64, k +: 32] @ b[k +: 32, n*64 +: 64];
    for k in 0..K step 32 // and here b
        s += a[m*64 +: 64, k +: 32] @ b[k +: 32, n*64 - 62 +: 64];
    c[m*64 +: 64, n*64 +: 64] = s;
}
EOF
    "$TILECC" -arch=sm_90a --schedules=1 --save-temps -Rpass=specialise -w -o crossed.o crossed.tile 2>remarks
    [ "$(grep -c "a producer brings this by TMA" remarks)" -eq 2 ]
    "$TILECC" -arch=cpu --emit=tir -o plain.tir crossed.tile
    for size in "72 48 72" "8 136 128"; do
        set -- $size
        call="crossed__0([$1, $2], [$2, $3], [$1, $3])[$((($1 + 63) / 64)), $((($3 + 63) / 64))]"
        interpret "$call" plain.tir >want
        interpret "$call" crossed.crossed.0.sm_90a.tir >got
        [ -s want ] && cmp want got || false
    done
}
