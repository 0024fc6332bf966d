# Views that are made in a loop, chosen by the grid, or overlap themselves: what passes may take two places of them for.

setup() { cd "$BATS_TEST_TMPDIR"; }

# passes_until NAME: those for GPUs of the page, up to and with that one
passes_until() {
    sed -n 's/^ *ROW(\([a-z_]*\), *[A-Z]*, *\([A-Z_0-9]*\)).*/\1 \2/p' "$SRCDIR/passes/pipeline.c" |
        awk -v last="$1" '$2 !~ /^CPU/ { print $1 } $1 == last { exit }' | paste -sd, -
}

# runs_alike PASS CALL FILE: the interpreter finds the same behind the passes as in front of them
runs_alike() {
    run "$TILECC" -w -arch=sm_90a --passes="$(passes_until "$1")" --interpret="$2" "$3"
    echo "$output" | grep -E 'differs|deadlock|error' || true
    [ "$status" -eq 0 ]
    [[ "$output" != *differs* && "$output" != *deadlock* ]]
}

@test "blocks of a cluster do not share copies of parts that the grid chooses, nor count on equal loops" {
    cat >cluster.tile <<'END'
kernel grouped(a: in bf16[T, K], b: in bf16[K, N], at: in i32[Z + 1], c: out bf16[Z, M, N])
    tune(cluster: {2}, persistent: {true})
    grid(z: Z)
{
    let rows = a[at[z] .. at[z + 1], ..];
    var acc = f32[128, 128](0);
    for k in 0..K step 64
        acc += rows[0 +: 128, k +: 64] @ b[k +: 64, 0 +: 128];
    c[z, 0 +: 128, 0 +: 128] = bf16(acc);
}
kernel sums(a: in bf16[T, M], b: in bf16[T, N], at: in i32[Z + 1], s: out f32[Z, M, N])
    tune(cluster: {2}, persistent: {true})
    grid(z: Z)
{
    let x = a[at[z] .. at[z + 1], ..];
    let y = b[at[z] .. at[z + 1], ..];
    var acc = f32[64, 64](0);
    for k in 0..x.extent[0] step 64
        acc += trans(x[k +: 64, 0 +: 64]) @ y[k +: 64, 0 +: 64];
    s[z, 0 +: 64, 0 +: 64] = acc;
}
END
    runs_alike specialise 'grouped([300,64],[64,128],[3],[2,128,128])' cluster.tile
    runs_alike specialise 'sums([200,64],[200,64],[3],[2,64,64])' cluster.tile
}

@test "loads run ahead of stores to their view where it is the same each time, and does not overlap itself" {
    cat >turning.tile <<'END'
kernel turning(y: inout f32[N, C], m: i32) grid(g: 1)
{
    var acc: f32[128] = 1.0;
    for j in 0 .. N {
        let v = y[N - 1 - j .. N, 0 .. C];
        let own = v[j, m +: 128];
        acc = own + acc;
        v[j, m +: 128] = acc;
    }
    y[0, 0 +: 128] = acc;
}
kernel overlapping(p: inout f32[L], n: i64) requires(n >= 1 and n <= 100 and (n - 1)*64 + 128 <= L) grid(g: 1)
{
    let v = view(p.ptr, [n, 128], strides = [64, 1]);
    var acc = f32[128](1.0);
    for j in 0 .. n {
        let own = v[j, 0 +: 128];
        acc = own * 0.5 + acc;
        v[j, 0 +: 128] = acc;
    }
    p[0 +: 128] = acc;
}
END
    runs_alike prefetch_loads 'turning([9,128],0)' turning.tile
    runs_alike prefetch_loads 'overlapping([1000],9)' turning.tile
}

@test "a loop stores by TMA where each iteration stores elsewhere in one view, not in one of its own" {
    cat >stores.tile <<'END'
kernel moving(a: in bf16[T, K], b: in bf16[K, N], c: out bf16[R, N])
    grid(n: cdiv(N, 128))
{
    for j in 0..T step 128 {
        let own = c[T - 128 - j .. R, ..];
        var acc = f32[128, 128](0);
        for k in 0..K step 64
            acc += a[j +: 128, k +: 64] @ b[k +: 64, n*128 +: 128];
        own[j +: 128, n*128 +: 128] = bf16(acc);
    }
}
END
    "$TILECC" -w -arch=sm_90a --dryrun --print-after=specialise stores.tile >ir 2>&1
    grep -q tma_load ir
    ! grep -q tma_store ir || false
}

@test "threads meet between a store and a load of one view that overlaps itself" {
    cat >rows.tile <<'END'
kernel rows(p: inout f32[L]) requires(L >= 320) grid(g: 1)
{
    let v = view(p.ptr, [4, 128], strides = [64, 1]);
    v[0, 0 +: 128] = f32(iota(128));
    let b = v[1, 0 +: 128];
    v[2, 0 +: 128] = b;
}
END
    "$TILECC" -w -arch=sm_90a --dryrun --print-after=insert_barriers rows.tile >ir 2>&1
    [ "$(grep -cw "^ *barrier" ir)" -ge 4 ] # two for each of the two instances
}
