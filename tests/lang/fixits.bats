#!/usr/bin/env bats
# Habits of C and of Python come with a fix-it, and what the fix-it makes compiles.

# CODE~the statement as a C programmer writes it~what becomes of it
habits() { cat <<'END'
E0112~if (n > 1 && n < 3) x[i] = 1.0;~if (n > 1 and n < 3) x[i] = 1.0;
E0112~if (n > 1 || n < 3) x[i] = 1.0;~if (n > 1 or n < 3) x[i] = 1.0;
E0112~if (!(n > 1)) x[i] = 1.0;~if (not (n > 1)) x[i] = 1.0;
E0113~var a = 0; a++; x[i] = f32(a);~var a = 0; a += 1; x[i] = f32(a);
E0113~var a = 0; --a; x[i] = f32(a);~var a = 0; a -= 1; x[i] = f32(a);
E0114~x[i] = (float)n;~x[i] = f32(n);
E0114~x[i] = f32((int)x[i]);~x[i] = f32(i32(x[i]));
E0115~int q = 0; x[i] = f32(q);~var q = i32(0); x[i] = f32(q);
E0115~float s = 0; s += x[i]; x[i] = s;~var s = f32(0); s += x[i]; x[i] = s;
E0115~f32 s = -1; x[i] = s;~var s = f32(-1); x[i] = s;
E0115~half s = 1.5; x[i] = f32(s);~var s = f16(1.5); x[i] = f32(s);
E0115~int q = 2*n; x[i] = f32(q);~var q = 2*n; x[i] = f32(q);
E0314~var s = 0; s += x[i]; x[i] = s;~var s = f32(0); s += x[i]; x[i] = s;
E0314~var s = 0; for k in 0..n s += x[k]; x[i] = s;~var s = f32(0); for k in 0..n s += x[k]; x[i] = s;
E0314~var s = -1.0; s += f64(x[i]); x[i] = f32(s);~var s = f64(-1.0); s += f64(x[i]); x[i] = f32(s);
E0101~Let q = x[i]; x[i] = q;~let q = x[i]; x[i] = q;
E0101~For k in 0..4 x[k] = 1.0;~for k in 0..4 x[k] = 1.0;
E0201~x[i] = Rsqrt(x[i]);~x[i] = rsqrt(x[i]);
E0201~x[i] = fp32(n);~x[i] = f32(n);
E0117~x[i*4 +: 4] = x[i*4:(i+1)*4];~x[i*4 +: 4] = x[i*4 +: 4];
E0117~x[i*4 +: 4] = x[i*4 : i*4 + 4];~x[i*4 +: 4] = x[i*4 +: 4];
E0116~for (int k = 0; k < n; k++) x[k] = 1.0;~for k in 0..n x[k] = 1.0;
E0116~for (;;) break;~while (true) break;
E0118~x[i] = f32(x->extent[0]);~x[i] = f32(x.extent[0]);
E0119~let q = NULL;~let q = null;
E0105~x[i] = 1.0f;~x[i] = 1.0;
E0105~x[i] = f32(10UL);~x[i] = f32(10);
E0109~x[i] = 1.0~x[i] = 1.0;
E0117~x[64:128] = x[0 +: 64];~x[64 +: 64] = x[0 +: 64];
E0117~let v = x[n:N]; x[i] = v[0];~let v = x[n..N]; x[i] = v[0];
E0315~x[i] = p[i];~x[i] = load(p + i);
E0123~x[i] = *p;~x[i] = load(p);
E0311~x[i +: 4] = x[i +: 4] > 0.0 ? x[i +: 4] : 0.0;~x[i +: 4] = where(x[i +: 4] > 0.0, x[i +: 4], 0.0);
E0115~float s = 0.5f; x[i] = s;~var s = 0.5; x[i] = s;
E0115~float s = -0.5f; x[i] = s;~var s = -0.5; x[i] = s;
E0115~half s = 1.5f; x[i] = f32(s);~var s = f16(1.5); x[i] = f32(s);
E0115~unsigned s = 16u; x[i] = f32(s);~var s = u32(16); x[i] = f32(s);
E0115~int s = 0x1f; x[i] = f32(s);~var s = i32(0x1f); x[i] = f32(s);
E0303~if (x[i]) x[i] = 1.0;~if (x[i] != 0.0) x[i] = 1.0;
E0303~x[i] = x[i] ? 1.0 : 0.5;~x[i] = x[i] != 0.0 ? 1.0 : 0.5;
E0303~if (n) x[i] = 1.0;~if (n != 0) x[i] = 1.0;
E0315~p[i] = 1.0;~store(p + i, 1.0);
E0315~p[i] = n > 1 ? 1.0 : x[i];~store(p + i, n > 1 ? 1.0 : x[i]);
E0120~x[i] = twice<f32>(x[i]);~x[i] = twice(x[i]);
E0120~x[i] = times<64>(x[i]);~x[i] = times(64, x[i]);
E0116~for k in 0..=6 x[k] = 1.0;~for k in 0..7 x[k] = 1.0;
E0116~for k in 64 ..= 0 step -8 x[k] = 1.0;~for k in 64..-1 step -8 x[k] = 1.0;
E0116~for k in 1..=8 step *2 x[k] = 1.0;~for k in 1..9 step *2 x[k] = 1.0;
E0105~let acc = (1.0, (2.0, 3.0)); x[i] = acc.0 + acc.1.0;~let acc = (1.0, (2.0, 3.0)); x[i] = acc[0] + acc[1][0];
E0101~var a, b = 1.0, 2.0; (a, b) = (b, a); x[i] = a;~var a, b = 1.0, 2.0; a, b = (b, a); x[i] = a;
E0101~let (a, b) = (1.0, 2.0); x[i] = a;~let a, b = (1.0, 2.0); x[i] = a;
E0120~if (0 < n < 3) x[i] = 1.0;~if (0 < n and n < 3) x[i] = 1.0;
E0205~x[i] = f32(x.shape[0]);~x[i] = f32(x.extent[0]);
E0307~x[i] = sum(x[i +: 4], 0);~x[i] = sum(x[i +: 4], axis = 0);
E0303~x[i +: 4] = i32(x[i +: 4]) ? 1.0 : 0.0;~x[i +: 4] = where(i32(x[i +: 4]) != 0, 1.0, 0.0);
E0308~x[i] = f32(f8e4m3(x[i], round = rne));~x[i] = f32(f8e4m3(x[i], round = rtne));
E0308~x[i] = f32(f8e4m3(x[i], round = RNE));~x[i] = f32(f8e4m3(x[i], round = rtne));
E0308~x[i] = f32(f8e4m3(x[i], round = nearest));~x[i] = f32(f8e4m3(x[i], round = rtne));
E0308~x[i] = f32(f8e4m3(x[i], round = toward_zero));~x[i] = f32(f8e4m3(x[i], round = rtz));
E0308~x[i] = f32(cast(x[i], f16, round = rn));~x[i] = f32(cast(x[i], f16, round = rtne));
E0308~x[i] = f32(bf16(x[i], round = rz));~x[i] = f32(bf16(x[i], round = rtz));
E0308~x[i] = f32(cast(x[i], i32, round = rdn));~x[i] = f32(cast(x[i], i32, round = rtn));
E0308~x[i] = f32(f16(x[i], round = ru));~x[i] = f32(f16(x[i], round = rtp));
E0307~x[i +: 4] = load(x[i +: 4], i + iota(4) < N);~x[i +: 4] = load(x[i +: 4], mask = i + iota(4) < N);
E0307~let o = 4*i + iota(4); x[o] = load(x[o], o < N - 3, 1.0);~let o = 4*i + iota(4); x[o] = load(x[o], mask = o < N - 3, 1.0);
E0307~x[i] = load(p + i, n > 3);~x[i] = load(p + i, mask = n > 3);
E0102~# all of them~// all of them
E0102~x[i] = 1.0; # one~x[i] = 1.0; // one
E0307~x[i] = sum(zeros((2, 4), dtype = float32));~x[i] = sum(f32[2, 4](0));
E0310~var a = f32[4]; x[i] = sum(a);~var a = f32[4](0); x[i] = sum(a);
E0201~x[i] = tl.exp(x[i]);~x[i] = exp(x[i]);
E0121~if (n = 3) x[i] = 1.0;~if (n == 3) x[i] = 1.0;
E0121~let a = 1.0, b = 2.0; x[i] = a + b;~let a = 1.0; let b = 2.0; x[i] = a + b;
END
}

write() { printf 'fn twice(x: f32) -> f32 = 2.0*x;   fn times(const n, x: f32) -> f32 = n*x;   kernel k(x: inout f32[N], p: *f32, n: i32) grid(i: N) {\n%s\n}\n' "$1" >k.tile; }

@test "every habit has a code and a fix-it that makes it right" {
    cd "$BATS_TEST_TMPDIR"
    bad=0
    while IFS='~' read -r code source fixed; do
        write "$source"
        "$TILECC" -fsyntax-only -fdiagnostics-format=json k.tile 2>log && { echo "accepted: $source"; bad=1; }
        grep -q "\"code\":\"$code\"" log || { echo "not $code: $source"; cat log; bad=1; continue; }
        python3 "$SRCDIR/tests/lang/apply-fixits.py" k.tile log >fixed.tile
        "$TILECC" -fsyntax-only fixed.tile || { echo "not mended: $source"; cat fixed.tile; bad=1; }
        [ "$(sed -n 2p fixed.tile | tr -d ' ')" = "$(tr -d ' ' <<<"$fixed")" ] || { echo "other than '$fixed':"; sed -n 2p fixed.tile; bad=1; }
    done < <(habits)
    [ $bad = 0 ]
}

@test "a set includes its end and says so" {
    cd "$BATS_TEST_TMPDIR"
    echo 'kernel k(x: out f32[N]) grid(i: N) tune(stages: 2..7) { x[i] = 1.0; }' >k.tile
    run "$TILECC" -fsyntax-only -fdiagnostics-format=json k.tile
    [ "$status" -eq 1 ]
    printf '%s\n' "$output" >log
    python3 "$SRCDIR/tests/lang/apply-fixits.py" k.tile log >fixed.tile
    grep -q 'stages: 2..=7' fixed.tile
    "$TILECC" -fsyntax-only fixed.tile
}

@test "a view where a function takes a tile: the parameter gets its in" {
    cd "$BATS_TEST_TMPDIR"
    cat >k.tile <<'END'
fn corner(u: f32[H, W], i: i64) -> f32[4, 4] = u[i +: 4, 0 +: 4];
kernel k(x: in f32[M, N], y: out f32[M, N]) grid(i: M) { y[i +: 4, 0 +: 4] = corner(x, i); }
END
    run "$TILECC" -fsyntax-only -fdiagnostics-format=json k.tile
    [ "$status" -eq 1 ]
    [[ $output == *'"code":"E0310"'* ]]
    printf '%s\n' "$output" >log
    python3 "$SRCDIR/tests/lang/apply-fixits.py" k.tile log >fixed.tile
    grep -q '^fn corner(u: in f32\[H, W\], i: i64)' fixed.tile
    "$TILECC" -fsyntax-only fixed.tile
}

@test "a view without its direction gets the one that the body shows" {
    cd "$BATS_TEST_TMPDIR"
    while IFS='~' read -r direction body; do
        echo "kernel k(x: f32[N], s: inout f32[N]) grid(i: x.extent[0]) { $body }" >k.tile
        run "$TILECC" -fsyntax-only -fdiagnostics-format=json k.tile
        [ "$status" -eq 1 ]
        [[ $output == *'"code":"E0412"'* && $output == *'"grade":"probable"'* ]]
        printf '%s\n' "$output" >log
        python3 "$SRCDIR/tests/lang/apply-fixits.py" k.tile log >fixed.tile
        grep -q "^kernel k(x: $direction f32\[N\]," fixed.tile || { echo "not $direction: $body"; cat fixed.tile; return 1; }
        "$TILECC" -fsyntax-only fixed.tile
    done <<'END'
in~s[i] = x[i];
out~x[i] = s[i];
out~if (i < x.extent[0] - 1) { x[i] = 1.0; } else { x[i] = s[i]; }
inout~x[i] = x[i] + 1.0;
inout~x[i] += s[i];
inout~let v = x[i]; s[i] = v; x[i] = 0.0;
inout~atomic_add(x[i], 1.0);
END
}

@test "const in front of a pointer goes behind its star" {
    cd "$BATS_TEST_TMPDIR"
    echo 'kernel k(p: const *f32, y: out f32[N]) grid(i: N) { y[i] = load(p + i); }' >k.tile
    run "$TILECC" -fsyntax-only -fdiagnostics-format=json k.tile
    [ "$status" -eq 1 ]
    [[ $output == *'`*const f32`'* ]]
    printf '%s\n' "$output" >log
    python3 "$SRCDIR/tests/lang/apply-fixits.py" k.tile log >fixed.tile
    grep -q '^kernel k(p: \*const f32, ' fixed.tile
    "$TILECC" -fsyntax-only fixed.tile
}

@test "a word of another language is certain, and only probable where a name that is declared is near" {
    cd "$BATS_TEST_TMPDIR"
    write 'x[i] = f32(half(x[i]));'
    run "$TILECC" -fsyntax-only -fdiagnostics-format=json k.tile
    [[ $output == *'"replacement":"f16","grade":"certain"'* || $output == *'"grade":"certain","replacement":"f16"'* ]]
    write 'let hall = x[i]; x[i] = f32(half);'
    run "$TILECC" -fsyntax-only -fdiagnostics-format=json k.tile
    [[ $output == *'"grade":"probable"'* && $output != *'"grade":"certain"'* ]]
}
