#!/usr/bin/env bats
# -lineinfo: every file that code comes from, and the calls that brought it.

setup() {
    [ -n "${PTXAS-}" ] || skip "no ptxas"
    mkdir -p "$BATS_TEST_TMPDIR/sources/parts"
    cd "$BATS_TEST_TMPDIR/sources" || return
    cat >parts/helper.tile <<'END'
fn inner(x: f32) -> f32 {
    return gelu(x) * 3.0;
}

fn helper(x: f32) -> f32 {
    let y = inner(x);
    return sin(y);
}
END
    cat >main.tile <<'END'
import "parts/helper.tile" as parts;

kernel twice(x: in f32[N], r: out f32[N])
    tune(B: {64})
    grid(b: cdiv(N, B))
{
    let v = x[b*B +: B];
    let w = parts.helper(v);
    r[b*B +: B] = w
        + 1.0;
}
END
}

@test "lines of imported files and of the library are in these files, inlined at the call" {
    "$TILECC" -arch=sm_80 -lineinfo --emit=ptx main.tile
    text=$(cat -- *.ptx)
    [ "$(grep -c '\.file' <<<"$text")" = "$((3 * $(find . -name '*.ptx' | wc -l)))" ]
    main=$(sed -n 's/^\t\.file\t\([0-9]*\) "main\.tile"$/\1/p' <<<"$text" | sort -u)
    parts=$(sed -n 's/^\t\.file\t\([0-9]*\) "parts\/helper\.tile"$/\1/p' <<<"$text" | sort -u)
    library=$(sed -n 's/^\t\.file\t\([0-9]*\) "std\/std\.tile"$/\1/p' <<<"$text" | sort -u)
    [ "${#main}" = 1 ] && [ "${#parts}" = 1 ] && [ "${#library}" = 1 ] || false
    # sin is written out where it stands: line 7 of helper, called in line 8; gelu in line 2 of inner, called in line 6
    grep -qE "\.loc	$parts 7 [0-9]+, function_name \S+, inlined_at $main 8 13$" <<<"$text"
    grep -qE "\.loc	$parts 2 [0-9]+, function_name \S+, inlined_at $parts 6 13$" <<<"$text"
    grep -qE "\.loc	$library [0-9]+ [0-9]+, function_name \S+, inlined_at $parts 2 12$" <<<"$text"
    # no line that main.tile does not have
    run grep -E "\.loc	$main (1[2-9]|[2-9][0-9]|[0-9]{3,}) " <<<"$text"
    [ "$status" = 1 ]
}

@test "ptxas takes the calls, and -ffile-prefix-map applies to every file" {
    "$TILECC" -arch=sm_75,sm_80,sm_90a,sm_100a -lineinfo -ffile-prefix-map=parts=elsewhere -ffile-prefix-map=main=first \
        -o k.o main.tile
    for name in first.tile elsewhere/helper.tile std/std.tile; do
        "$TILECC" -arch=sm_80 -lineinfo -ffile-prefix-map=parts=elsewhere -ffile-prefix-map=main=first -S -o - main.tile |
            grep -q "\.file.*\"$name\""
    done
    run grep -aq parts/helper k.o
    [ "$status" = 1 ]
    if [ -n "${NVDISASM-}" ]; then
        "$TILECC" -arch=sm_80 -lineinfo --emit=cubin main.tile
        for cubin in *.cubin; do
            "$NVDISASM" -gi "$cubin" | grep -q 'parts/helper.tile", line 7 inlined at "main.tile", line 8'
        done
    fi
}

@test "names of files that PTX cannot hold as they are" {
    for name in 'a"b' 'a\b' 'ä' 'a b'; do
        cp main.tile "$name.tile"
        "$TILECC" -arch=sm_80 -lineinfo -o k.o "$name.tile"
    done
}

@test "without -lineinfo no line is told" {
    "$TILECC" -arch=sm_80 --emit=ptx main.tile
    run grep -E '\.(loc|file)' -- *.ptx
    [ "$status" = 1 ]
}
