#!/usr/bin/env bats
# Two blocks that work together, in PTX and in what the launch is told.

setup_file() {
    export DIR="$BATS_FILE_TMPDIR"
    cd "$DIR"
    "$TILECC" -arch=sm_90a --save-temps --spec 'matmul<bf16,bf16>[cluster=2]' -o two.o "$SRCDIR/examples/matmul.tile"
    "$TILECC" -arch=sm_90a --schedules=1 --save-temps --spec 'matmul<bf16,bf16>' -o one.o "$SRCDIR/examples/matmul.tile"
}

@test "half of the second factor comes from each block, and consumers tell both" {
    # B of [K, N] is four boxes, two for each block; of [N, K] one, divided by rows
    [ "$(grep -c 'multicast::cluster' "$DIR"/two.*.0.sm_90a.ptx)" -eq 2 ]
    [ "$(grep -c 'multicast::cluster' "$DIR"/two.*.1.sm_90a.ptx)" -eq 1 ]
    grep -q 'mapa.shared::cluster.u32.*mbarrier.arrive.release.cta.shared::cluster' "$DIR"/two.*.0.sm_90a.ptx
    ! grep -q 'arrive.release.cluster' "$DIR"/two.*.0.sm_90a.ptx || false
    [ "$(grep -c 'barrier.cluster.arrive.relaxed' "$DIR"/two.*.0.sm_90a.ptx)" -eq 2 ]
}

@test "the launch is told, and nothing of it stands in code without clusters" {
    "$TILECC" info "$DIR/two.o" | grep -q 'clusters of 2, persistent: 1'
    ! "$TILECC" info "$DIR/one.o" | grep -q 'clusters of' || false
    ! grep -qE 'multicast|cluster_ctarank|barrier.cluster|mapa' "$DIR"/one.*.0.sm_90a.ptx || false
}
