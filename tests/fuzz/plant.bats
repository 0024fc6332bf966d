#!/usr/bin/env bats
# Planted bugs (src/base/plant.def): each stands in the compiler exactly once, and no build has one that was not asked for.

load ../cli/helper

sites() { grep -rho --include='*.c' 'PLANTED([a-z_0-9]*)' "$SRCDIR/src" "$SRCDIR/passes" "$SRCDIR/targets" | sort; }
rooms() { sed -n 's/^PLANT(\([a-z_0-9]*\), "\([^"]*\)".*/\1|\2/p' "$SRCDIR/src/base/plant.def" | sort; }
names() { sed -n 's/^PLANT(\([a-z_0-9]*\),.*/\1/p' "$SRCDIR/src/base/plant.def" | sort; }

@test "each planted bug stands in one place of the compiler, and each place is listed" {
    sites | sed 's/PLANTED(\(.*\))/\1/' >used
    names >listed
    [ "$(wc -l <listed)" -ge 45 ]
    [ -z "$(uniq -d listed)" ]
    diff used listed
}

@test "the room of each planted bug is the folder that holds its place" {
    (cd "$SRCDIR" && grep -ro --include='*.c' 'PLANTED([a-z_0-9]*)' src passes targets) |
        sed 's,/[^/]*:PLANTED(\(.*\))$,|\1,' | awk -F '|' '{ print $2 "|" $1 }' | sort >held
    rooms >said
    diff held said
}

@test "mistakes drawn by chance stand in the rooms that are named" {
    command -v python3 >/dev/null || skip "no python3"
    mkdir copy
    (cd "$SRCDIR" && tar cf - src passes targets) | tar xf - -C copy
    python3 -B "$SRCDIR/tests/fuzz/mutate" copy 7 40 --rooms passes/loops src/ir targets/nvptx
    sed -n 's/^PLANT(\(drawn_[a-z_0-9]*\), "\([^"]*\)".*/\1 \2/p' copy/src/base/plant.def >drawn
    [ "$(wc -l <drawn)" = 40 ]
    while read -r name room; do
        case $room in passes/loops* | src/ir* | targets/nvptx*) ;; *) false ;; esac
        [ "$(cat "copy/$room"/*.c | grep -c "PLANTED($name)")" = 1 ]
    done <drawn
}

@test "the oracle holds no planted bug" {
    ! grep -l PLANTED "$SRCDIR"/src/interp/*.c || false
}

@test "a build without planting refuses, one with planting makes the mistake" {
    cat >total.tile <<'END'
kernel total(y: out i32[N]) grid(b: cdiv(N, N)) {
    var s: i32 = 0;
    static for k in 0..5 { s = s + i32(k) + 1; }
    y[0] = s;
}
END
    expect 0 tilecc --interpret='total([1])' total.tile
    right=$output
    run tilecc --plant=list
    if [ "$status" = 2 ]; then
        contains 'configure with --enable-planting'
        [ -z "$(nm "$TILECC" | grep plant_chosen)" ]
        TILECC_PLANT=front_static_loop_one_too_few expect 0 tilecc --interpret='total([1])' total.tile
        [ "$output" = "$right" ]
        return
    fi
    [ "$status" = 0 ]
    [ "$(printf '%s\n' "$output" | wc -l)" = "$(names | wc -l)" ]
    expect 2 tilecc --plant=nothing_of_that_name total.tile
    expect 0 tilecc --plant=front_static_loop_one_too_few --interpret='total([1])' total.tile
    [ "$output" != "$right" ]
}

@test "the table of the score has a row for each, and 95 of 100 are caught" {
    grep -E '^\| [a-z_0-9]+ \| [a-z/]+ \|' "$SRCDIR/tests/fuzz/PLANTED.md" |
        sed 's/^| \([a-z_0-9]*\) | \([a-z/]*\) |.*/\1|\2/' | grep -vx "bug|room" | sort >rows
    rooms >listed
    diff rows listed
    missed=$(grep -c '\*\*nothing\*\*' "$SRCDIR/tests/fuzz/PLANTED.md" || :)
    [ $((missed * 20)) -le "$(wc -l <listed)" ]
}

# Of barriers, phases, slots, proxies, and what a slot holds: the kernel and the architecture that show each.
shown_by() {
    cat <<'END'
attention sm_90a ring_phase_never_turns ring_turns_late ring_filled_before_empty ring_read_before_full ring_expects_half
attention sm_90a store_without_fence store_waits_for_one_less slot_released_at_first_look shared_total_forgets_offset
attention sm_90a barrier_between_scratch_dropped paired_programs_off_by_one
attention sm_80 copy_waited_for_too_late
matmul sm_80 barrier_round_loop_dropped fragments_before_barrier
matmul sm_90a panel_starts_at_zero raster_forgets_short_group
computed sm_90a factor_without_fence
squares sm_90a ring_buffers_mistaken
END
}

@test "the checker sees mistakes of barriers, phases, slots and proxies, and nothing runs" {
    "$TILECC" --plant=list >/dev/null 2>&1 || skip "no planted bugs in this build"
    cp "$SRCDIR"/examples/attention.tile "$SRCDIR"/examples/matmul.tile .
    cat >computed.tile <<'END'
kernel computed(a: in bf16[M, K], b: in i8[K, N], c: out f32[M, N]) grid(i: cdiv(M, 128), j: cdiv(N, 128)) {
    var sum = f32[128, 128](0);
    for k in 0..K step 64 { sum += a[i*128 +: 128, k +: 64] @ bf16(b[k +: 64, j*128 +: 128]); }
    c[i*128 +: 128, j*128 +: 128] = sum;
}
END
    cat >squares.tile <<'END'
kernel squares(a: in bf16[M, K], b: in bf16[K, N], c: out f32[M, N]) grid(i: cdiv(M, 64), j: cdiv(N, 64)) {
    var sum = f32[64, 64](0);
    for k in 0..K step 64 { sum += a[i*64 +: 64, k +: 64] @ b[k +: 64, j*64 +: 64]; }
    c[i*64 +: 64, j*64 +: 64] = sum;
}
END
    for program in attention matmul computed squares; do
        "$TILECC" -w -arch=sm_80,sm_90a --dryrun $program.tile >/dev/null 2>&1
    done
    unseen=$(shown_by | while read -r program architecture bugs; do
        for bug in $bugs; do
            "$TILECC" --plant="$bug" -w -arch="$architecture" --dryrun "$program.tile" 2>&1 | grep -q E1006 || echo "$bug"
        done
    done)
    [ -z "$unseen" ] || { echo "$unseen"; return 1; }
}
