#!/usr/bin/env bats
# What messages look like: the shapes of tiles and where each extent came from, the instance, the call, the fix-its.

@test "messages are as written beside the sources" {
    bad=0
    cd "$SRCDIR/tests/lang/messages"
    for file in *.tile; do
        "$TILECC" -fsyntax-only "$file" > "$BATS_TEST_TMPDIR/out" 2>&1 && { echo "$file: no error"; bad=1; }
        diff "${file%.tile}.txt" "$BATS_TEST_TMPDIR/out" || { echo "$file"; bad=1; }
    done
    [ $bad = 0 ]
}

@test "an error that all instances have is reported once" {
    count=$("$TILECC" -arch=cpu,sm_80,sm_90a -fsyntax-only "$SRCDIR/tests/lang/messages/instances.tile" 2>&1 | grep -c "is not known \[E0201\]")
    [ "$count" = 1 ]
}

@test "what notes on parts of tiles propose compiles, and does what was meant" {
    cd "$BATS_TEST_TMPDIR"
    cat >parts.tile <<'END'
kernel k(x: out f32[8], y: out f32[4, 8], j: i32) grid(i: 1) {
    var t, u = f32(iota(8)) + 1.0, f32[4, 8](1);
    t[2] = 50.0;
    t[5] += f32(j) * 2.0;
    t[j] = 70.0;
    t[j - 4] -= 9.0;
    u[2, 3] = 10.0;
    u[1, :] = 20.0;
    u[:, 7] *= 2.0;
    u[j - 5, 4 +: 2] = 40.0;
    x[:] = t;
    y[:, :] = u;
}
END
    for line in 3 4 5 6 7 8 9 10; do
        "$TILECC" -fsyntax-only parts.tile >said 2>&1 && false
        text=$(sed -n "s/^parts.tile:$line:[0-9]*: note: a tile is not changed.*: \`\(.*\)\`\$/\1/p" said | head -1)
        [ -n "$text" ]
        awk -v line=$line -v text="$text" '{ print NR == line ? text : $0 }' parts.tile >next
        mv next parts.tile
    done
    "$TILECC" --interpret='k([8], [4, 8], 6)' parts.tile >out
    diff out - <<'END'
x[0] = 1 2 41 4 5 18 70 8
y[0] = 1 1 1 1 1 1 1 2
y[1] = 20 20 20 20 40 40 20 40
y[2] = 1 1 1 10 1 1 1 2
y[3] = 1 1 1 1 1 1 1 2
END
}

@test "what notes on loads, stores and atomics of parts of tiles propose compiles, and does what was meant" {
    cd "$BATS_TEST_TMPDIR"
    cat >touch.tile <<'END'
kernel k(x: out f32[8], y: out f32[4, 8], r: out f32[3], q: out f32[8], j: i32) grid(i: 1) {
    var t, u = f32(iota(8)) + 1.0, f32[4, 8](1);
    store(t[2], 50.0);
    atomic_add(t[j], f32(j) * 2.0);
    atomic_max(t[1], 70.0);
    store(u[:, 7], 2.0);
    atomic_add(u[j - 5, 4 +: 2], 39.0);
    r[0] = load(t[2]);
    r[1] = load(t[j]);
    r[2] = u[j - 5, 4];
    q[:] = load(u[j - 5, :]);
    x[:] = t;
    y[:, :] = u;
}
END
    for line in 3 4 5 6 7 8 9 10 11; do
        "$TILECC" -fsyntax-only touch.tile >said 2>&1 && false
        text=$(sed -n "s/^touch.tile:$line:[0-9]*: note: .*\`\([^\`]*\)\`\$/\1/p" said | head -1)
        [ -n "$text" ]
        awk -v line=$line -v text="$text" 'NR == line && line > 7 { sub(/= .*/, "= " text ";"); print; next } { print NR == line ? text : $0 }' touch.tile >next
        mv next touch.tile
    done
    "$TILECC" --interpret='k([8], [4, 8], [3], [8], 6)' touch.tile >out
    diff out - <<'END'
x[0] = 1 70 50 4 5 6 19 8
y[0] = 1 1 1 1 1 1 1 2
y[1] = 1 1 1 1 40 40 1 2
y[2] = 1 1 1 1 1 1 1 2
y[3] = 1 1 1 1 1 1 1 2
r[0] = 50 19 40
q[0] = 1 1 1 1 40 40 1 2
END
}

@test "a reserved word as a name is told with what it is reserved for" {
    cd "$BATS_TEST_TMPDIR"
    for word in struct if else for static step break continue in None and or not; do
        echo "kernel k(x: in f32[N], $word: i64, r: out f32[N]) grid(i: N) { r[i] = x[i]; }" >k.tile
        run "$TILECC" -fsyntax-only k.tile
        [ "$status" -eq 1 ]
        [[ $output == *"\`$word\` is a reserved word; expected a name"* && $output == *"\`$word"*"so nothing else can have that name"* ]] || { echo "$output"; return 1; }
    done
}
