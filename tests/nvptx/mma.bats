#!/usr/bin/env bats
# Products by mma.sync and copies by cp.async in machine code, and the table of --print-products: what it says of an
# architecture and elements is what is emitted for them.

setup() {
    [ -n "${PTXAS-}" ] || skip "no ptxas"
    cd "$BATS_TEST_TMPDIR" || return 1
    products=$SRCDIR/tests/nvptx/products.tile
}

# text ARCH SPEC FILE: PTX of the first, aligned instance with the default schedule, in out.ptx.
text() {
    rm -f -- ./*.ptx
    "$TILECC" -arch="$1" --schedules=1 --spec "$2" --emit=ptx "$3" && mv -- *.0."$1".ptx out.ptx
}

# Lines "target factors, layouts of A and B: instructions; elements read alone", of the texts in this folder.  In one
# instance of table.tile A has 16 elements or words a thread, B 32.  What is read behind the products is for the store.
done_by() {
    awk 'function finish() { if (name) print name ": " by "; " (by ~ /^fma|^wgmma/ ? 0 : taken) }
    FNR == 1 { finish(); split(FILENAME, part, "."); name = ""; alone = taken = 0; by = "fma"
        if (part[2] > 3) next
        sub(/table_(floats_|integers_)?/, "", part[1]); sub(/wide_f32/, "f32 ieee", part[1]); sub(/wide_/, "", part[1])
        sub(/^tf32/, "f32 tf32", part[1])
        name = part[3] " " part[1] " " substr("rrcc", part[2] + 1, 1) substr("rcrc", part[2] + 1, 1) }
    name && /ld\.shared\.[buf](8|32|64)/ { alone++ }
    name && match($0, /(mma\.sync|wgmma\.mma_async\.sync)\.aligned[a-z0-9.]*/) { text = substr($0, RSTART, RLENGTH)
        taken = alone; count[name " " text]++; sub(/n32k/, "k", text)
        by = text (name ~ /x3/ ? " " count[name " " substr($0, RSTART, RLENGTH)] : "") }
    END { finish() }' table_*.ptx | sort
}

# The same of the table.
said() {
    "$TILECC" --print-products | awk 'NR == 1 { next }
    { factors = $2; f = 3; if ($2 == "f32") { factors = $2 " " $3; f = 4 }
      by = $f; alone = 0; type = $2; sum = $2 ~ /^[iu]8/ ? "s32" : $2 == "f64" ? "f64" : "f32"; shape = $(f + 1)
      if ($(f + 2) == "f16") type = "f16"
      sub(/^f8/, "", type); sub(/^i8/, "s8", type); sub(/^f32/, "tf32", type); sub(/n256k/, "k", shape)
      if (by == "mma") by = "mma.sync.aligned." shape ".row.col." sum "." type "." type "." sum
      if (by == "wgmma") by = "wgmma.mma_async.sync.aligned." shape "." sum "." type "." type
      if ($0 ~ / x 3 /) by = by (by ~ /^wgmma/ ? " 12" : " 48")
      for (i = 0; i < 4; i++) { a = substr("rrcc", i + 1, 1); b = substr("rcrc", i + 1, 1)
          alone = by ~ /^mma/ ? ($(NF - 1) ~ a ? 0 : 16) + ($NF ~ b ? 0 : 32) : 0
          if (by ~ /^wgmma/ && ($(NF - 1) !~ a || $NF !~ b)) continue # the next line says by what
          if (seen[$1 factors a b]++) continue
          print $1 " " factors " " a b ": " by "; " alone } }' | sort
}

@test "the table says what is emitted: every line, factors by rows and by columns" {
    "$TILECC" -w -arch="$("$TILECC" --print-products | awk 'NR > 1 { print $1 }' | sort -u | paste -sd,)" --emit=ptx "$SRCDIR/tests/nvptx/table.tile"
    said >said
    done_by >done
    [ "$(wc -l <said)" -ge 600 ]
    diff said done
}

@test "every architecture's text is taken by ptxas" {
    for arch in sm_75 sm_80 sm_86 sm_87 sm_89 sm_90 sm_100a sm_103a sm_110a sm_120a sm_121a; do
        for kernel in product_f16 odd; do
            text "$arch" "$kernel" "$products"
            "$PTXAS" -arch="$arch" out.ptx -o out.cubin
        done
    done
}

# resources: registers and spills of out.ptx on sm_80
resources() { "$PTXAS" -v -arch=sm_80 out.ptx -o out.cubin 2>&1; }

@test "the examples on sm_80: tensor cores, asynchronous copies, no spills" {
    text sm_80 'matmul<bf16, bf16>' "$SRCDIR/examples/matmul.tile"
    # 64 x 64 a warp, 64 of k; a loop for most iterations and one for the last ones, whose copies ask for the end
    [ "$(grep -c 'mma\.sync' out.ptx)" -eq 256 ]
    [ "$(grep -c 'ldmatrix.*x4' out.ptx)" -eq 72 ]         # each fragment read once, the first ones in front
    [ "$(grep -c 'cp\.async\.cg.*, 16' out.ptx)" -eq 80 ]  # three iterations ahead and the loops
    resources | grep ' 0 bytes spill stores, 0 bytes spill loads'
    for columns in 64 128; do
        text sm_80 "attention<bf16>[D=$columns,CAUSAL=false]" "$SRCDIR/examples/attention.tile"
        [ "$(grep -c 'mma\.sync' out.ptx)" -ge $((columns * 2)) ]
        grep -q 'ldmatrix.*trans' out.ptx
        resources | grep ' 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads'
    done
}

# The lines of sass between the two branches around the first HMMA.
loop() { awk '/^\.L/ { if (hmma) exit; n = 0 } { line[n++] = $0 } /HMMA/ { hmma = 1 } /BRA/ && hmma { exit }
    END { for (i = 0; i < n; i++) print line[i] }' sass; }

@test "and in the loop nothing but products, fragments, copies and addresses" {
    [ -n "${NVDISASM-}" ] || skip "no nvdisasm"
    text sm_80 'matmul<bf16, bf16>' "$SRCDIR/examples/matmul.tile"
    "$PTXAS" -arch=sm_80 out.ptx -o out.cubin
    "$NVDISASM" -c out.cubin >sass
    loop >body
    [ "$(grep -c 'HMMA\.16816' body)" -eq 128 ]
    [ "$(grep -c 'LDSM\.16\.M.*\.4' body)" -eq 32 ]
    [ "$(grep -c 'LDGSTS\.E\.BYPASS.*128' body)" -eq 16 ]
    [ "$(grep -c ZFILL body)" -le 8 ]                      # rows of b may end inside 16 bytes, those of a do not
    products=$(grep -n HMMA body | cut -d: -f1)            # on both sides of the barrier
    barrier=$(grep -n 'BAR\.SYNC' body | cut -d: -f1)
    [ "$(echo "$products" | awk -v b="$barrier" '$1 < b' | wc -l)" -ge 32 ]
    [ "$(echo "$products" | awk -v b="$barrier" '$1 > b' | wc -l)" -ge 16 ]
    [ "$(grep -c 'BAR\.SYNC' body)" -eq 1 ]
    run grep -E 'LDL|STL|LDG\.|[^G]STS|BRX' body
    [ "$status" -eq 1 ]
}

@test "a remark tells what became of each loop" {
    run "$TILECC" -arch=sm_80 -Rpass=prefetch_copies --schedules=1 --spec 'matmul<bf16, bf16>' --emit=ptx "$SRCDIR/examples/matmul.tile"
    [[ $output == *"2 copies of this loop run 3 iterations ahead, in 4 slots"* ]]
    run "$TILECC" -arch=sm_80 -Rpass=prefetch_copies --spec backwards --emit=ptx "$products" # a while that counts
    [[ $output == *"2 copies of this loop run"* ]]
    sed -n '/^kernel backwards/,/^}/p' "$products" | sed 's/k -= 32/k = k \/ 2 - 1/' >halves.tile
    run "$TILECC" -arch=sm_80 -Rpass --emit=ptx halves.tile
    [[ $output == *"this loop stays a while: what it compares does not grow by a number"* ]]
    [[ $output == *"its loop does not count"* ]]
}

# Text of a product, run thread by thread (support/ptx.py): KERNEL INSTANCE ARCH ELEMENT M N K ROWS COLUMNS FORM PADDING SUM
computes() {
    local kernel=$1 instance=$2 arch=$3
    shift 3
    [ -f "products_$kernel.$instance.$arch.ptx" ] ||
        "$TILECC" -arch="$arch" --spec "${kernel/_f8_f8e4m3/_f8<f8e4m3>}" --emit=ptx "$products"
    python3 "$SRCDIR/tests/nvptx/support/product.py" "products_$kernel.$instance.$arch.ptx" "$@"
}

@test "the text computes the product, reads inside its arrays and waits for what it reads" {
    command -v python3 >/dev/null || skip "no python3"
    computes product_nt 0 sm_80 bf16 66 72 136 64 64 nt 0 f32
    computes product_nt 0 sm_80 bf16 1 8 72 64 64 nt 8 f32
    computes product_nt 0 sm_80 bf16 16 16 0 64 64 nt 0 f32
    computes product_nt 1 sm_80 bf16 65 67 35 64 64 nt 1 f32
    computes product_tn 0 sm_80 bf16 72 64 104 64 64 tn 0 f32
    computes odd 0 sm_80 bf16 97 48 56 96 48 nn 0 f32
    computes backwards 0 sm_80 bf16 64 48 72 64 48 nn 0 f32
    computes product_f16 0 sm_75 f16 70 64 72 64 64 nn 0 f32
    computes product_tf32 3 sm_80 f32 64 64 36 64 64 cc 0 f32
    computes product_i8 1 sm_80 i8 64 64 80 64 64 nc 0 i32
    computes product_i8 2 sm_80 i8 64 64 80 64 64 cn 0 i32
    computes product_f8_f8e4m3 1 sm_89 f8e4m3 64 64 80 64 64 nc 0 f32
    computes product_f8_f8e4m3 1 sm_80 f8e4m3 64 64 80 64 64 nc 0 f32
    computes product_f8_f8e4m3 6 sm_75 f8e4m3 64 64 80 64 64 nn 0 f32
    computes eighths 0 sm_75 f16 64 64 72 64 64 nn 0 f32
    computes eighths 0 sm_80 f16 64 64 72 64 64 nn 0 f32
    computes product_tf32x3 0 sm_80 f32 64 64 36 64 64 nn 0 near
}

@test "and a wait too few, a limit too far, a matrix turned are noticed" {
    command -v python3 >/dev/null || skip "no python3"
    computes product_nt 0 sm_80 bf16 66 72 136 64 64 nt 0 f32
    for edit in 's/wait_group 4/wait_group 5/' 's/x4\.shared/x4.trans.shared/' 's/setp\.lt\.u32/setp.le.u32/'; do
        sed "$edit" products_product_nt.0.sm_80.ptx >products_product_nt.9.sm_80.ptx
        ! cmp -s products_product_nt.0.sm_80.ptx products_product_nt.9.sm_80.ptx || false
        run computes product_nt 9 sm_80 bf16 66 72 136 64 64 nt 0 f32
        [ "$status" -eq 1 ]
    done
}

@test "sums that share a factor and meet behind the loop are both made by mma.sync" {
    cat >shared.tile <<'END'
kernel shared(a: in bf16[M, K], b: in bf16[K, N], b2: in bf16[K, N], c: out bf16[M, N])
    grid(m: cdiv(M, 64), n: cdiv(N, 64))
{
    var acc = f32[64, 64](0);
    var other = f32[64, 64](0);
    for k in 0..K step 64 {
        let x = a[m*64 +: 64, k +: 64];
        acc += x @ b[k +: 64, n*64 +: 64];
        other += x @ b2[k +: 64, n*64 +: 64];
    }
    c[m*64 +: 64, n*64 +: 64] = bf16(other*acc);
}
END
    run "$TILECC" -arch=sm_80 -Werror --emit=ptx shared.tile
    [ "$status" -eq 0 ] && [ -z "$output" ] || false
    # sums of other widths: each reads its own rows of what they share
    sed -e 's/b2: in bf16\[K, N\]/b2: in bf16[K, 32]/; s/other = f32\[64, 64\]/other = f32[64, 32]/; s/b2\[k +: 64, .*\]/b2[k +: 64, :]/' \
        -e 's/c\[.*bf16(other\*acc)/if (n == 0) c[m*64 +: 64, 0 +: 32] = bf16(other); &/; s/bf16(other\*acc)/bf16(acc)/' shared.tile >widths.tile
    run "$TILECC" -arch=sm_80 -Werror --emit=ptx widths.tile
    [ "$status" -eq 0 ] && [ -z "$output" ] || false
}

@test "copies are as wide as loops, quotients and what is required allow" {
    cat >wide.tile <<'END'
kernel offset(a: in f16[M, K], b: in f16[K, N], o: out f32[M, N], off: i64)
    grid(m: cdiv(M, 64), n: cdiv(N, 64))
    requires(off % 8 == 0)
{
    var s = f32[64, 64](0);
    for k in 0..K step 32 s += a[m*64 +: 64, k + off +: 32] @ b[k +: 32, n*64 +: 64];
    o[m*64 +: 64, n*64 +: 64] = s;
}
kernel half(a: in f16[M, K], b: in f16[K, N], o: out f32[M, N])
    grid(m: cdiv(M, 64), n: cdiv(N, 64))
    requires(K % 64 == 0)
{
    var s = f32[64, 64](0);
    for k in 0..K/2 step 32 s += a[m*64 +: 64, K/2 + k +: 32] @ b[K/2 + k +: 32, n*64 +: 64];
    o[m*64 +: 64, n*64 +: 64] = s;
}
kernel until(a: in f16[M, K], b: in f16[K, N], o: out f32[M, N], stop: in i32[KB])
    grid(m: cdiv(M, 64), n: cdiv(N, 64))
{
    var s = f32[64, 64](0);
    var k = 0;
    var c = i32(0);
    while (k < K and c < 3) {
        s += a[m*64 +: 64, k +: 32] @ b[k +: 32, n*64 +: 64];
        c += stop[k / 32];
        k += 32;
    }
    o[m*64 +: 64, n*64 +: 64] = s;
}
kernel breaks(a: in f16[M, K], b: in f16[K, N], o: out f32[M, N], stop: in i32[KB])
    grid(m: cdiv(M, 64), n: cdiv(N, 64))
{
    var s = f32[64, 64](0);
    var c = i32(0);
    for k in 0..K step 32 {
        if (c >= 3) break;
        s += a[m*64 +: 64, k +: 32] @ b[k +: 32, n*64 +: 64];
        c += stop[k / 32];
    }
    o[m*64 +: 64, n*64 +: 64] = s;
}
END
    "$TILECC" -arch=sm_80 --emit=ptx wide.tile
    for kernel in offset half until breaks; do
        grep -q 'cp\.async\.cg.*, 16' wide_$kernel.0.sm_80.ptx
        run grep -E 'ld\.global[a-z.]*\.[bu](8|16)|cp\.async\.ca' wide_$kernel.0.sm_80.ptx
        [ "$status" -eq 1 ]
    done
    sed -i 's/off % 8/off % 3/; s/k += 32/k += 33/' wide.tile # and no wider
    "$TILECC" -w -arch=sm_80 --emit=ptx wide.tile
    for kernel in offset until; do grep -q 'ld\.global[a-z.]*\.[bu]16' wide_$kernel.0.sm_80.ptx; done
}

@test "8-bit floats are multiplied the fastest way that the architecture has: as they are, or as f16" {
    table() { "$TILECC" --print-products -arch="$1" | awk -v factors="$2" '$2 == factors { line = $4 " " $5 } END { print line }'; }
    first() { "$TILECC" --print-products -arch="$1" | awk -v factors="$2" '$2 == factors { print $4, $5; exit }'; }
    for arch in sm_89 sm_120a; do # tensor cores of 8-bit floats
        [ "$(table "$arch" f8e4m3)" = 'm16n8k32 r-' ]
        [ "$(table "$arch" f8e5m2)" = 'm16n8k32 r-' ]
    done
    [ "$(first sm_90a f8e4m3)" = 'm64n256k32 r-' ] # k contiguous in both; else:
    for arch in sm_90 sm_90a sm_100a sm_110f; do # ptxas converts: e5m2 is made f16 in fewer cycles
        [ "$(table "$arch" f8e4m3)" = 'm16n8k32 r-' ]
        [ "$(table "$arch" f8e5m2)" = 'm16n8k16 f16' ]
    done
    [ "$(table sm_80 f8e4m3)" = 'm16n8k16 f16' ]
}
