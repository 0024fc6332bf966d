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
    ! grep -l PLANTED "$SRCDIR"/src/interp/*.c
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
