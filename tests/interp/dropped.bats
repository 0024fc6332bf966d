#!/usr/bin/env bats
# What the compiler makes of the examples, at the Machine level: it computes what the source says, and no wait, arrival, fence,
# commit or barrier in it can be dropped unseen.

# lower ARCH EXAMPLE SPEC FUNCTION: the function behind all passes, to FUNCTION.tir
lower() {
    cd "$BATS_TEST_TMPDIR" || return 1
    "$TILECC" -arch="$1" --spec="$3" --print-after=check_machine --emit=header -o out.h "$SRCDIR/examples/$2.tile" 2>all
    awk -v name="kernel @$4(" 'index($0, name) == 1 { on = 1 } on { print } /^}/ { on = 0 }' all >"$4.tir"
    grep -q "level(machine)" "$4.tir" || { head -c 2000 all; return 1; }
}

# each_dropped FUNCTION.tir CALL LINES: the lines whose loss nothing tells
each_dropped() {
    "$TILECC" --interpret="$2" "$1" >want || return 1
    for line in $(grep -nE "$3" "$1" | cut -d: -f1); do
        sed "${line}d" "$1" >less.tir
        if "$TILECC" --interpret="$2" less.tir >got 2>said; then
            echo "$line: $(sed -n "${line}p" "$1")"
        fi
    done
}

SYNCHRONISES='^ *(mbarrier_(wait|arrive|expect|ready)|fence_async|barrier|tma_(wait|commit)|cp_(wait|commit)|wait )'
WALKED='[200, 136], [136, 40], [40], [200, 40]' # two programs for each of two blocks, more steps than slots
PRODUCT='[70, 264], [264, 40], [40], [70, 40]'
ATTENTION='[1,2,200,64], [1,1,200,64], [1,1,200,64], [1,2,200,64], [1,2,200], 0.125'

@test "a product on sm_90a: roles, TMA, wgmma" {
    lower sm_90a matmul 'matmul<bf16,bf16>[BM=64,BN=64,BK=32,stages=3]' matmul_bf16_bf16__0
    unseen=$(each_dropped matmul_bf16_bf16__0.tir "matmul_bf16_bf16__0($WALKED, 0)[4, 1]" "$SYNCHRONISES")
    [ -z "$unseen" ] || { echo "$unseen"; return 1; }
    [ "$(grep -cE "$SYNCHRONISES" matmul_bf16_bf16__0.tir)" -ge 10 ]
    "$TILECC" --interpret="matmul_bf16_bf16($WALKED, none)" "$SRCDIR/examples/matmul.tile" >source
    cmp source want
}

@test "a product on sm_80: a ring of cp.async" {
    lower sm_80 matmul 'matmul<bf16,bf16>[BM=64,BN=64,BK=32]' matmul_bf16_bf16__0
    # the barrier behind the last wait is for those that use the memory next: nobody here
    unseen=$(each_dropped matmul_bf16_bf16__0.tir "matmul_bf16_bf16__0($PRODUCT, 0)[2, 1]" "$SYNCHRONISES" | grep -v ' barrier$' || true)
    [ -z "$unseen" ] || { echo "$unseen"; return 1; }
    [ "$(grep -cE "$SYNCHRONISES" matmul_bf16_bf16__0.tir)" -ge 6 ]
    "$TILECC" --interpret="matmul_bf16_bf16($PRODUCT, none)" "$SRCDIR/examples/matmul.tile" >source
    cmp source want
}

@test "attention on sm_90a: two products, one in flight over the other" {
    lower sm_90a attention 'attention<bf16>[D=64,BM=64,BN=64]' attention_bf16__0
    unseen=$(each_dropped attention_bf16__0.tir "attention_bf16__0($ATTENTION)[4, 2, 1]" "$SYNCHRONISES")
    [ -z "$unseen" ] || { echo "$unseen"; return 1; }
    [ "$(grep -cE "$SYNCHRONISES" attention_bf16__0.tir)" -ge 20 ]
}
