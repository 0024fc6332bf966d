#!/usr/bin/env bats
# Every pass earns its place: in the pipelines, over the examples, the kernels of tests/exec and the long functions behind
# products of tests/nvptx, parts of views and elements of tiles, each changes something.  So a pass that is dropped from its pipeline,
# or that stops doing anything there, is noticed even where no result changes.

# The front end writes functions out where they are called: inlining is for tile IR that comes from elsewhere.  The checker only
# looks, and no kernel here asks for a knob that is not done.
idle_by_design='inline\|check_machine\|settle_knobs'

changed_by() { # targets
    cd "$BATS_TEST_TMPDIR" || return 1
    for file in "$SRCDIR"/examples/*.tile "$SRCDIR"/tests/exec/*.tile "$SRCDIR"/tests/nvptx/epilogues.tile \
        "$SRCDIR"/tests/lang/run/parts_of_views.tile "$SRCDIR"/tests/lang/run/elements_of_tiles.tile; do
        "$TILECC" -arch="$1" --schedules=1 --emit=tir --print-after=all "$file" >printed 2>&1 || { echo "$file" && tail -n 5 printed; } >>failed
        sed -n 's/^.* after \([a-z_]*\)$/\1/p' printed
    done | sort -u
}

# The passes that pipeline.c has in a pipeline: CPU_2 or GPU_2.
listed() {
    case $1 in CPU_2) names='ALL|BOTH_12|BOTH_2|CPU_2' ;; GPU_2) names='ALL|BOTH_12|BOTH_2|GPU|GPU_12|GPU_2' ;; esac
    sed -nE "s/^ *ROW\(([a-z_]*), *[A-Z]*, *($names)\),.*/\1/p" "$SRCDIR/passes/pipeline.c" | grep -vx "$idle_by_design" | sort -u
}

check() { # list, targets
    listed "$1" >"$BATS_TEST_TMPDIR/listed"
    changed_by "$2" >"$BATS_TEST_TMPDIR/changed"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/listed")" -ge 10 ]
    idle=$(comm -23 "$BATS_TEST_TMPDIR/listed" "$BATS_TEST_TMPDIR/changed")
    [ ! -s "$BATS_TEST_TMPDIR/failed" ] || { cat "$BATS_TEST_TMPDIR/failed"; return 1; }
    [ -z "$idle" ] || { echo "these passes change nothing anywhere:" $idle; return 1; }
}

@test "every pass of the pipeline for the processor changes some kernel" { check CPU_2 cpu; }

@test "every pass of the pipeline for GPUs changes some kernel" { check GPU_2 sm_80,sm_90a; }

@test "what is in a pipeline stays there" {
    cd "$BATS_TEST_TMPDIR"
    listed CPU_2 | tr '\n' ' ' >cpu
    listed GPU_2 | tr '\n' ' ' >gpu
    for pass in bounds cse dce expand_math fuse_dot licm narrow peel simplify unroll; do
        grep -q "\b$pass\b" cpu && grep -q "\b$pass\b" gpu || { echo "$pass"; return 1; }
    done
    for pass in allocate_shared assign_layouts coalesce insert_barriers remove_conversions split_wide_tiles; do
        grep -q "\b$pass\b" gpu || { echo "$pass"; return 1; }
    done
}
