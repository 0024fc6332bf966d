#!/usr/bin/env bats
# The checker of the machine level on IR that tilecc printed itself and somebody changed by hand.

setup_file() {
    export IR="$BATS_FILE_TMPDIR/product.tir" CLUSTER="$BATS_FILE_TMPDIR/cluster.tir"
    print 'matmul<bf16,bf16>' > "$IR"
    print 'matmul<bf16,bf16>[cluster=2]' > "$CLUSTER"
}

print() {
    "$TILECC" --spec "$1" -arch=sm_90a --schedules=1 --emit=tir --print-after=insert_barriers -o - "$SRCDIR/examples/matmul.tile" 2>&1 |
        awk '/^\/\/ after insert_barriers/ { n++; next } n == 1 { print } n == 1 && /^}/ { exit }'
}

# The first line that matches goes, or becomes what sed makes of it.
change() {
    local line
    line=$(grep -n -m 1 -e "$1" "$IR" | cut -d: -f1)
    [ -n "$line" ] || { echo "no line has $1"; return 1; }
    sed -e "${line}$2" "$IR" > "$BATS_TEST_TMPDIR/changed.tir"
    run "$TILECC" --passes=check_machine "$BATS_TEST_TMPDIR/changed.tir" -o "$BATS_TEST_TMPDIR/out.tir"
    [ "$status" -eq 1 ] || { echo "status $status after $1 $2"; return 1; }
    [[ "$output" == *"error: in @matmul"*"[E1006]"* ]] || { echo "$output"; return 1; }
}

@test "E1006: what tilecc prints is right" {
    grep -q 'roles role_warps' "$IR"
    run "$TILECC" --passes=check_machine "$IR" -o "$BATS_TEST_TMPDIR/out.tir"
    [ "$status" -eq 0 ] || { echo "$output"; return 1; }
}

@test "E1006: a fence is dropped" { change 'fence_async' d; }

@test "E1006: a wait for a full slot is dropped, and one for an empty slot" {
    change 'mbarrier_wait' d
    change "$(grep 'mbarrier_wait' "$IR" | tail -n 1)" d
}

@test "E1006: a phase is flipped" {
    change 'mbarrier_wait' 's/^\( *\)\(mbarrier_wait.*, \)\(%[a-z0-9_]*\)$/\1%f1 = constant value(1) : i32\n\1%f2 = xor \3, %f1 : i32\n\1\2%f2/'
}

@test "E1006: an arrival is dropped, or counted wrong" {
    change 'mbarrier_arrive' d
    change 'arrivals([2-9]' 's/arrivals(\([0-9]*\))/arrivals(1\1)/'
}

@test "E1006: other bytes are announced than come" { change 'mbarrier_expect' 's/bytes([0-9]*)/bytes(128)/'; }

@test "E1006: a copy, a commit, a wait for stores, a barrier is dropped" {
    change 'tma_load' d
    change 'tma_commit' d
    change 'tma_wait' d
    change '^ *barrier' d
}

@test "E1006: blocks of a cluster, each thing that keeps them apart" {
    IR=$CLUSTER
    grep -q 'tma_load multicast(2)' "$IR" || grep -q 'tma_load.*multicast(2)' "$IR"
    run "$TILECC" --passes=check_machine "$IR" -o "$BATS_TEST_TMPDIR/out.tir"
    [ "$status" -eq 0 ] || { echo "$output"; return 1; }
    change 'cluster_barrier' d
    [[ "$output" == *"before cluster_barrier"* ]]
    change 'mbarrier_ready' d
    change 'mbarrier_arrive' 's/ cluster(2)//'
    change 'arrivals(16)' 's/arrivals(16)/arrivals(8)/'
    change 'mbarrier_expect' 's/bytes(49152)/bytes(32768)/'
    # alone and counted alone: right for one block, but the other one is written to
    sed -e 's/mbarrier_arrive cluster(2)/mbarrier_arrive/;s/arrivals(16)/arrivals(8)/' "$IR" > "$BATS_TEST_TMPDIR/alone.tir"
    run "$TILECC" --passes=check_machine "$BATS_TEST_TMPDIR/alone.tir" -o "$BATS_TEST_TMPDIR/out.tir"
    [ "$status" -eq 1 ]
    [[ "$output" == *"tma_load"*"writes shared memory of other blocks of the cluster"* ]] || { echo "$output"; return 1; }
    # without the last meeting a block may end too early
    awk '{ line[NR] = $0 } /cluster_barrier/ { last = NR } END { for (i = 1; i <= NR; i++) if (i != last) print line[i] }' \
        "$IR" > "$BATS_TEST_TMPDIR/early.tir"
    run "$TILECC" --passes=check_machine "$BATS_TEST_TMPDIR/early.tir" -o "$BATS_TEST_TMPDIR/out.tir"
    [ "$status" -eq 1 ]
    [[ "$output" == *"no cluster_barrier follows"* ]] || { echo "$output"; return 1; }
}

@test "E1006: buffers overlap" {
    change 'buffer shared_offset([1-9]' 's/shared_offset([0-9]*)/shared_offset(1024)/'
}

@test "E1006: the place is named with its line" {
    change 'fence_async' d
    [[ "$output" == *"changed.tir:"*"tma_store"*"without fence_async"*"note: the other operation is"*"buffer_store"* ]] ||
        { echo "$output"; return 1; }
}

@test "E1006 is explained" {
    run "$TILECC" explain E1006
    [ "$status" -eq 0 ]
    [[ "$output" == *"machine-check"* ]]
}

@test "E1006: rings of loops whose bounds are read from memory go round, too" {
    cat > "$BATS_TEST_TMPDIR/bounds.tile" <<'EOF'
kernel bounds(a: in bf16[M, K], b: in bf16[K, N], from: in i32[G], c: out bf16[M, N])
    grid(m: cdiv(M, 128), j: cdiv(N, 256))
{
    var sum = f32[128, 256](0);
    for k in i64(from[m])..i64(from[m + 1]) step 64
        sum = a[m*128 +: 128, k +: 64] @ b[k +: 64, j*256 +: 256] + sum;
    c[m*128 +: 128, j*256 +: 256] = bf16(sum);
}
EOF
    "$TILECC" -arch=sm_90a --emit=tir --print-after=insert_barriers -o - "$BATS_TEST_TMPDIR/bounds.tile" 2>&1 |
        awk '/^\/\/ after insert_barriers/ { n++; next } n == 1 { print } n == 1 && /^}/ { exit }' > "$BATS_TEST_TMPDIR/bounds.tir"
    grep -q mbarrier_arrive "$BATS_TEST_TMPDIR/bounds.tir"
    "$TILECC" --passes=check_machine "$BATS_TEST_TMPDIR/bounds.tir" -o "$BATS_TEST_TMPDIR/out.tir"
    sed '/mbarrier_arrive/d' "$BATS_TEST_TMPDIR/bounds.tir" > "$BATS_TEST_TMPDIR/changed.tir"
    run "$TILECC" --passes=check_machine "$BATS_TEST_TMPDIR/changed.tir" -o "$BATS_TEST_TMPDIR/out.tir"
    [ "$status" -eq 1 ]
    [[ "$output" == *"[E1006]"* ]] || { echo "$output"; return 1; }
}

@test "E1006: what stands behind nested loops is looked at, and a second program with the ring in motion" {
    cat > "$BATS_TEST_TMPDIR/nest.tile" <<'EOF'
kernel nest(x: in f16[R, Q, M, K], w: in f16[R, Q, K, N], y: out f16[M, N]) grid(n: cdiv(N, 64), m: cdiv(M, 64))
{
    var s = f32[64, 64](0);
    for r in 0..R for q in 0..Q for k in 0..K step 32
        s += x[r, q, m*64 +: 64, k +: 32] @ w[r, q, k +: 32, n*64 +: 64];
    y[m*64 +: 64, n*64 +: 64] = f16(s);
}
EOF
    "$TILECC" -arch=sm_90a --emit=tir --print-after=insert_barriers -o - "$BATS_TEST_TMPDIR/nest.tile" 2>&1 |
        awk '/^\/\/ after insert_barriers/ { n++; next } n == 1 { print } n == 1 && /^}/ { exit }' > "$BATS_TEST_TMPDIR/nest.tir"
    "$TILECC" --passes=check_machine "$BATS_TEST_TMPDIR/nest.tir" -o "$BATS_TEST_TMPDIR/out.tir"
    # the ring of the first factor begins inside the result, which TMA still stores when the next program loads
    sed '/slots(12)/ { s/shared_offset(8192)/shared_offset(7168)/ }' "$BATS_TEST_TMPDIR/nest.tir" > "$BATS_TEST_TMPDIR/changed.tir"
    ! cmp -s "$BATS_TEST_TMPDIR/nest.tir" "$BATS_TEST_TMPDIR/changed.tir" || false
    run "$TILECC" --passes=check_machine "$BATS_TEST_TMPDIR/changed.tir" -o "$BATS_TEST_TMPDIR/out.tir"
    [ "$status" -eq 1 ]
    [[ "$output" == *"bytes of shared memory that another object still has"*"[E1006]"* ]] || { echo "$output"; return 1; }
}

@test "E1006: every message of the checker is provoked by some test" {
    cd "$BATS_TEST_TMPDIR"
    { "$BUILDDIR/obj/tests/passes/check_machine_test" aloud
      "$BUILDDIR/obj/tests/passes/check_value_test" aloud
      IR=$CLUSTER
      change 'cluster_barrier' d; echo "$output"
      sed -e 's/mbarrier_arrive cluster(2)/mbarrier_arrive/;s/arrivals(16)/arrivals(8)/' "$IR" > alone.tir
      "$TILECC" --passes=check_machine alone.tir -o out.tir 2>&1 || true
      awk '{ line[NR] = $0 } /cluster_barrier/ { last = NR } END { for (i = 1; i <= NR; i++) if (i != last) print line[i] }' "$IR" > early.tir
      "$TILECC" --passes=check_machine early.tir -o out.tir 2>&1 || true
    } > said
    # the literals that reach check_report, or that it puts together: in each the longest part without a conversion
    cat "$SRCDIR"/passes/check/*.c | tr '\n' ' ' | sed 's/" *"//g' |
        grep -oE '(check_report\([^;]*;|return (arena_printf\([^;]*)?"[^;]*;|(fewer|more) come")' | grep -oE '"[^"]*"' | tr -d '"' |
        awk '{ n = split($0, part, /%[lds]*|\\n/); best = ""; for (i = 1; i <= n; i++) if (length(part[i]) > length(best)) best = part[i]
               if (length(best) > 8) print best }' | sort -u > messages
    [ "$(wc -l < messages)" -ge 30 ]
    unsaid=$(while IFS= read -r message; do grep -qF -e "$message" said || echo "$message"; done < messages)
    [ -z "$unsaid" ] || { echo "$unsaid"; return 1; }
}

# Where shared memory is scarce: the factors from in front of the loop once took one buffer, the first before it was read.
@test "two factors from in front of a loop have a buffer each, or the second product is another" {
    cat > "$BATS_TEST_TMPDIR/two.tile" <<'END'
kernel two(a: in f16[N, D], b: in f16[N, D], x: in f16[M, D], c: out f32[N, M], d: out f32[N, M])
    grid(j: cdiv(N, 128))
    requires(D == 128)
{
    let p = a[j*128 +: 128, 0 +: 128];
    let q = b[j*128 +: 128, 0 +: 128];
    for i in 0..M step 64 {
        let t = trans(x[i +: 64, 0 +: 128]);
        c[j*128 +: 128, i +: 64] = p @ t;
        d[j*128 +: 128, i +: 64] = q @ t;
    }
}
END
    cd "$BATS_TEST_TMPDIR"
    run "$TILECC" -arch=sm_75 --dryrun two.tile
    [ "$status" -eq 0 ] || { echo "$output"; return 1; }
    [[ "$output" != *"E10"* ]]
}

@test "two rings of one type that are filled together are not mistaken for each other" {
    cat > "$BATS_TEST_TMPDIR/squares.tile" <<'END'
kernel squares(a: in bf16[M, K], b: in bf16[K, N], c: out f32[M, N]) grid(i: cdiv(M, 64), j: cdiv(N, 64)) {
    var sum = f32[64, 64](0);
    for k in 0..K step 64 { sum += a[i*64 +: 64, k +: 64] @ b[k +: 64, j*64 +: 64]; }
    c[i*64 +: 64, j*64 +: 64] = sum;
}
END
    cd "$BATS_TEST_TMPDIR"
    run "$TILECC" -w -arch=sm_90a --dryrun squares.tile
    [ "$status" -eq 0 ] || { echo "$output"; return 1; }
}

# Blocks that walk over an ordered grid: lines by what stands in them, of which the n-th is changed.
walk_changed() { # number, pattern, what sed does to the line
    local line
    line=$(grep -n -e "$2" "$WALK" | sed -n "$1p" | cut -d: -f1)
    [ -n "$line" ] || { echo "no line $1 has $2"; return 1; }
    sed -e "${line}$3" "$WALK" >"$BATS_TEST_TMPDIR/changed.tir"
    ! cmp -s "$WALK" "$BATS_TEST_TMPDIR/changed.tir" || false
    run "$TILECC" --passes=check_machine "$BATS_TEST_TMPDIR/changed.tir" -o "$BATS_TEST_TMPDIR/out.tir"
    [ "$status" -eq 1 ] && [[ "$output" == *"error: in @across_sums__0"*"[E1006]"* ]] || { echo "$1 $2 $3: $output"; return 1; }
}

@test "E1006: copies ahead in blocks that walk over an ordered grid" {
    WALK="$BATS_TEST_TMPDIR/walk.tir"
    "$TILECC" --spec 'sums[B=4096,warps=4]' -arch=sm_90a --emit=tir --print-after=insert_barriers -o - "$SRCDIR/tests/exec/across.tile" 2>&1 |
        awk '/^\/\/ after insert_barriers/ { n++; next } n == 1 { print } n == 1 && /^}/ { exit }' >"$WALK"
    "$TILECC" --passes=check_machine "$WALK" -o "$BATS_TEST_TMPDIR/out.tir"
    speaking=$(sed -n 's/^            %[0-9]* = slot \(%[0-9]*\), %slot_1 :.*/%slot_1/p' "$WALK" | head -n 1)
    coming=$(grep -e '= slot' "$WALK" | sed -n '2s/.*slot %[0-9]*, \(%[0-9a-z_]*\) :.*/\1/p')
    [ "$speaking" = %slot_1 ] && [ -n "$coming" ] && [ "$coming" != %slot_1 ] || false
    walk_changed 4 '= slot' "s/slot \(%[0-9]*\), %[0-9a-z_]*/slot \1, $coming/" # the instance that waits reads the next one's
    walk_changed 3 '= slot' "s/slot \(%[0-9]*\), %[0-9a-z_]*/slot \1, $coming/" # and so does the one that speaks
    walk_changed 2 '= slot' 's/slot \(%[0-9]*\), %[0-9a-z_]*/slot \1, %slot_1/' # a copy goes where one is read
    walk_changed 1 'cp_async' d
    walk_changed 1 'cp_wait' d
    walk_changed 1 'cp_wait' 's/pending(1)/pending(2)/'
    walk_changed 3 '^ *barrier$' d # in front of the number that comes
    walk_changed 4 '^ *barrier$' d # behind the wait
}
