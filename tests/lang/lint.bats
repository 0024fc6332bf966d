#!/usr/bin/env bats
# Mistakes that are legal: each wrong program is warned of by the name beside it, at its second line; no right one is.

# A kernel around a body: NAME~head~body; the body stands on the second line.
write() { { printf 'kernel k%s {\n%s\n}\n' "$1" "$2"; functions; } >"${3-k}.tile"; }
functions() {
    echo 'fn sign_of(x: i32) -> i32 { if (x > 0) return 1; if (x < 0) return -1; return 0; }'
    echo 'fn step_of(x: i32) -> i32 { if (x >= 0) return 1; return -1; }'
}

# The wrong ones are warned of on line 2, under this name; the right ones not at all.
judge() { # function that lists programs, and their least number
    cd "$BATS_TEST_TMPDIR"
    bad=0 count=0
    while IFS='~' read -r name head body; do
        count=$((count + 1))
        write "$head" "$body" "k$count"
        names[count]=$name programs[count]="$head $body" said[count]=
    done < <("$1")
    # all by one command; what stands behind the first line of a message has no file in front
    "$TILECC" -fsyntax-only $(seq -f 'k%g.tile' "$count") >log 2>&1 || true
    number=0
    while IFS= read -r line; do
        [[ ! "$line" =~ ^k([0-9]+)\.tile: ]] || number=${BASH_REMATCH[1]}
        said[number]+=$line$'\n'
    done <log
    for number in $(seq "$count"); do
        name=${names[number]} log=${said[number]}
        if [[ "$log" == *": error: "* ]]; then
            echo "not accepted: ${programs[number]}"
        elif [ "$name" = right ] && [ -n "$log" ]; then
            echo "a false warning: ${programs[number]}"
        elif [ "$name" != right ] && ! grep -q "^k$number.tile:2:[0-9]*: warning: .*\[-W$name\]" <<<"$log"; then
            echo "not found: ${programs[number]}"
        else
            continue
        fi
        echo "$log"
        bad=1
    done
    echo "$count programs"
    [ $bad = 0 ] && [ $count -ge $2 ] && [ -z "${said[0]-}" ] || false
}

R='(x: in f32[M, N], y: out f32[M]) grid(m: M)'
I='(x: in i32[M, N], y: out i32[M]) grid(m: M)'
S='(x: in f32[M, N], y: out f32[M, N]) grid(m: M)'
P='(x: in f32[M, N], p: *const f32, y: out f32[M]) grid(m: M)'
G='(id: in i32[N], w: in f32[V], t: in f32[V, 64], y: out f32[N]) grid(m: 1)'
A='(id: in i32[N], w: in f32[N], v: inout f32[V], n: inout i32[V]) grid(m: cdiv(N, 64))'
N='(x: in f32[N], y: out f32[N]) grid(m: cdiv(N, 64))'
T2='(x: in f32[M, N], y: out f32[M, N]) grid(m: M, n: cdiv(N, 64))'
padding() { cat <<END
padding~$R~ y[m] = max(x[m, 0 +: 64]);
padding~$R~ y[m] = min(x[m, 0 +: 64]);
padding~$R~ y[m] = product(x[m, 0 +: 64]);
padding~$R~ y[m] = sum(exp(x[m, 0 +: 64]));
padding~$R~ let v = x[m, 0 +: 64]; let e = exp(v - max(load(x[m, 0 +: 64], other = -inf))); y[m] = sum(e);
padding~$R~ let v = x[m, 0 +: 64]; let mu = sum(v)/f32(N); let d = v - mu; y[m] = sum(d*d)/f32(N);
padding~$R~ y[m] = f32(argmax(x[m, 0 +: 64]));
padding~$R~ y[m] = f32(argmin(x[m, 0 +: 64]));
padding~$R~ y[m] = all(x[m, 0 +: 64] > 0.0) ? 1.0 : 0.0;
padding~$R~ y[m] = sum(f32(x[m, 0 +: 64] == 0.0));
padding~$R~ y[m] = any(x[m, 0 +: 64] < 1.0) ? 1.0 : 0.0;
padding~$R~ var a = f32[64](-inf); for j in 0..N step 64 { a = max(a, x[m, j +: 64]); } y[m] = max(a);
padding~$R~ var a = f32[64](0); for j in 0..N step 64 { a += exp2(x[m, j +: 64]); } y[m] = sum(a);
padding~$R~ var a = -inf; for j in 0..N step 64 { a = max(a, max(x[m, j +: 64])); } y[m] = a;
padding~$R~ let row = x[m, ..]; y[m] = max(row[0 +: 64]);
padding~$R~ y[m] = max(x[m, iota(64)]);
padding~$R~ y[m] = max(cos(x[m, 0 +: 64]));
padding~$R~ y[m] = sum(sigmoid(x[m, 0 +: 64]));
padding~$R~ let t = trans(x[m +: 1, 0 +: 64]); y[m] = max(t);
padding~$I~ y[m] = min(x[m, 0 +: 64] | 1);
padding~$S~ y[m, 0 +: 64] = cummax(x[m, 0 +: 64], reverse = true);
padding~$S~ y[m, 0 +: 64] = cumsum(exp(x[m, 0 +: 64]), reverse = true, exclusive = true);
padding~$S~ y[m, 0 +: 64] = cumprod(x[m, 0 +: 64], reverse = true);
right~$S~ y[m, 0 +: 64] = cummin(x[m, 0 +: 64]) + cumsum(x[m, 0 +: 64], reverse = true);
right~$S~ y[m, 0 +: 64] = cummax(load(x[m, 0 +: 64], other = -inf), reverse = true);
padding~$S~ y[m, 0 +: 64] = sort(x[m, 0 +: 64]);
padding~$S~ y[m, 0 +: 64] = sort(x[m, 0 +: 64], descending = true);
padding~$S~ y[m, 0 +: 64] = f32(argsort(x[m, 0 +: 64]));
padding~$S~ let v, p = topk(x[m, 0 +: 64], 4); y[m, 0 +: 4] = v;
padding~$S~ let v, p = topk(load(x[m, 0 +: 64], other = inf), 4); y[m, 0 +: 4] = v + sort(x[m, 0 +: 64])[0 +: 4];
padding~$S~ let k, v = sort((exp(x[m, 0 +: 64]), x[m, 0 +: 64])); y[m, 0 +: 64] = v;
padding~$S~ let v, p = topk(sigmoid(x[m, 0 +: 64]), 4); y[m, 0 +: 4] = v;
padding~$I~ y[m] = histogram(x[m, 0 +: 64], 8)[0];
padding~$R~ y[m] = sum(cumsum(x[m, 0 +: 64]));
padding~$R~ y[m] = max(cummax(x[m, 0 +: 64]));
padding~$R~ y[m] = max(cumsum(x[m, 0 +: 64], exclusive = true));
padding~$R~ let v = x[m, 0 +: 64]; y[m] = max(cumsum(v) - v);
padding~$R~ y[m] = max(flip(x[m, 0 +: 64]));
padding~$R~ y[m] = max(cat(x[m, 0 +: 64], f32[32](-1.0)));
padding~$R~ let v = x[m, 0 +: 64]; y[m] = max(join(v, v + 1.0));
padding~(x: in f32[M, N], y: out f32[M, 16]) grid(m: cdiv(M, 16))~ y[m*16 +: 16, :] = x[m*16 +: 16, 0 +: 16]; y[0, :] = max(cumsum(x[m*16 +: 16, 0 +: 16], axis = 1), axis = 0);
right~$S~ y[m, 0 +: 64] = sort(load(x[m, 0 +: 64], other = inf));
right~$S~ y[m, 0 +: 64] = sort(load(x[m, 0 +: 64], other = -inf), descending = true);
right~$S~ let v, p = topk(load(x[m, 0 +: 64], other = -inf), 4); y[m, 0 +: 4] = v;
right~$S~ let v, p = topk(where(iota(64) < N, x[m, 0 +: 64], lowest(f32)), 4); y[m, 0 +: 4] = v;
right~$S~ let v, p = topk(abs(x[m, 0 +: 64]), 4); y[m, 0 +: 4] = v;
right~$S~ let k = load(x[m, 0 +: 64], other = inf); let s, t = sort((k, x[m, 0 +: 64])); y[m, 0 +: 64] = where(argsort(k) < N, t, 0.0);
right~$I~ y[m] = histogram(load(x[m, 0 +: 64], other = -1), 8)[0];
right~$I~ y[m] = histogram(x[m, 0 +: 64], 8, mask = inside(x[m, 0 +: 64]))[0];
right~$I~ y[m] = histogram(x[m, 0 +: 64] - 1, 8)[0];
right~$R~ y[m] = max(cumsum(x[m, 0 +: 64]));
right~$R~ y[m] = max(exp(cumsum(x[m, 0 +: 64]) * 2.0));
right~$R~ y[m] = f32(argmax(i32(cumsum(abs(x[m, 0 +: 64])) > 0.5)));
right~$R~ let v = abs(x[m, 0 +: 64]); y[m] = sum(where(cumsum(v) <= 0.5, v, 0.0));
right~$R~ y[m] = sum(cumsum(x[m, 0 +: 64], reverse = true));
right~$R~ y[m] = sum(flip(x[m, 0 +: 64])) + sum(cat(x[m, 0 +: 64], f32[64](1.0)));
right~$S~ let v = load(x[m, 0 +: 64], other = -inf); y[m, 0 +: 4] = max(gather(reshape(v, 4, 16), iota(64)[None, :] % 16 + iota(4)[:, None] * 0, axis = 1), axis = 1);
padding~$I~ y[m] = max(x[m, 0 +: 64]);
padding~(x: in f32[M, N], y: out f32[N]) grid(n: cdiv(N, 64))~ y[n*64 +: 64] = max(x[0 +: 32, n*64 +: 64], axis = 0);
padding~$R~ let p = exp(x[m, 0 +: 64]); let q = x[m, 0 +: 64] + 1.0; y[m] = (p[None, :] @ q[:, None])[0, 0];
padding~$R~ let c = iota(64); y[m] = max(where(c >= 8, x[m, 0 +: 64], -inf));
right~$R~ y[m] = sum(x[m, 0 +: 64]);
right~$R~ y[m] = max(load(x[m, 0 +: 64], other = -inf));
right~$R~ y[m] = max(load(x[m, 0 +: 64], other = 0.0));
right~$R~ y[m] = max(where(inside(x[m, 0 +: 64]), x[m, 0 +: 64], -inf));
right~$R~ let c = iota(64); y[m] = max(where(c < N, x[m, 0 +: 64], -1.0e30));
right~$R~ let c = iota(64); y[m] = sum(where(N > c, exp(x[m, 0 +: 64]), 0.0));
right~$R~ let c = iota(64); y[m] = sum(exp(where(c < N, x[m, 0 +: 64], -inf)));
right~$R~ y[m] = max(abs(x[m, 0 +: 64]));
right~$R~ let v = x[m, 0 +: 64]; y[m] = max(v*v);
right~$R~ y[m] = min(-abs(x[m, 0 +: 64]));
right~$R~ y[m] = f32(argmax(abs(x[m, 0 +: 64])));
right~$R~ let v = x[m, 0 +: 64]; y[m] = sum(v*exp(v));
right~$R~ let v = x[m, 0 +: 64]; y[m] = sum(v*sigmoid(v)) + sum(tanh(v)) + sum(expm1(v));
right~$R~ y[m] = any(x[m, 0 +: 64] > 1.0) ? 1.0 : 0.0;
right~$R~ y[m] = all(x[m, 0 +: 64] < 1.0) ? 1.0 : 0.0;
right~$R~ let d = where(inside(x[m, 0 +: 64]), x[m, 0 +: 64] - 3.0, 0.0); y[m] = sum(d*d);
right~$R~ y[m] = sum(exp(x[m, 0 +: 64]) * f32(inside(x[m, 0 +: 64])));
right~$R~ let e = exp(load(x[m, 0 +: 64], other = -inf) - 1.0); y[m] = sum(e);
right~$R requires(N == 64)~ y[m] = max(x[m, 0 +: 64]);
right~$R requires(N % 64 == 0)~ var a = -inf; for j in 0..N step 64 { a = max(a, max(x[m, j +: 64])); } y[m] = a;
right~$R~ if (N >= 64) y[m] = max(x[m, 0 +: 64]); else y[m] = 0.0;
right~$R~ var a = -inf; for j in 0..N step 64 { var v = x[m, j +: 64]; if (j + 64 > N) v = where(j + iota(64) < N, v, -inf); a = max(a, max(v)); } y[m] = a;
right~(x: in f32[M, 64], y: out f32[M]) grid(m: M)~ y[m] = max(x[m, :]);
right~(x: in f32[M, N], y: out f32[M]) grid(m: cdiv(M, 16)) requires(N == 64)~ y[m*16 +: 16] = max(x[m*16 +: 16, 0 +: 64], axis = 1);
right~(x: in u32[M, N], y: out u32[M]) grid(m: M)~ y[m] = max(x[m, 0 +: 64]);
right~$R~ let r = x[m, 0 +: 64]; y[m] = max(where(r > 0.0, r, 0.0));
padding~$R~ let c = iota(64); y[m] = max(load(x[m, 0 +: 64], mask = c < N));
padding~$P~ let c = iota(64); y[m] = max(load(p + m*N + c, mask = c < N));
padding~$P~ let c = iota(64); y[m] = sum(exp(load(p + m*N + c, mask = c < N)));
right~$P~ let c = iota(64); y[m] = sum(load(p + m*N + c, mask = c < N));
right~$P~ let c = iota(64); y[m] = max(load(p + m*N + c, mask = c < N, other = -inf));
right~$P~ let c = iota(64); y[m] = max(where(c < N, load(p + m*N + c, mask = c < N), -inf));
right~$P requires(N == 64)~ let c = iota(64); y[m] = max(load(p + m*N + c, mask = c < N));
padding~$S~ y[m, 0 +: 64] = cummax(flip(x[m, 0 +: 64]));
padding~$S~ y[m, 0 +: 64] = flip(x[m, 0 +: 64]);
right~$S~ y[m, 0 +: 64] = flip(cummax(flip(load(x[m, 0 +: 64], other = -inf))));
right~$S~ y[m, N - 64 +: 64] = flip(x[m, 0 +: 64]);
right~$S~ y[m, 0 +: 64] = flip(cumsum(flip(x[m, 0 +: 64])));
right~$R~ let c = iota(64); y[m] = max(where(c >= 64 - N, flip(x[m, 0 +: 64]), -inf));
right~$I~ y[m] = sum(sign_of(x[m, 0 +: 64]));
padding~$I~ y[m] = sum(step_of(x[m, 0 +: 64]));
right~$R~ let s, t = flip(cumsum(flip(x[m, 0 +: 64]))), cumsum(x[m, 0 +: 64], reverse = true); y[m] = all(s - t < 1.0) ? 1.0 : 0.0;
padding~$R~ y[m] = sum(x[m, 0 +: 64] / x[0, 0 +: 64]);
right~$R~ let v = x[m, 0 +: 64]; y[m] = sum(v / sum(v));
padding~$G~ y[0] = sum(w[id[0 +: 64]]);
padding~$G~ y[0] = max(w[load(id[0 +: 64], other = -1)]);
padding~$G~ y[0] = sum(t[id[0 +: 64], 3]);
right~$G~ y[0] = sum(w[load(id[0 +: 64], other = -1)]);
right~$G~ y[0] = sum(where(inside(id[0 +: 64]), w[id[0 +: 64]], 0.0));
right~$G~ y[0 +: 64] = w[id[0 +: 64]];
right~$G~ y[0 +: 64] = max(t[id[0 +: 64], :], axis = 1);
padding~$A~ atomic_add(n[id[m*64 +: 64]], 1);
padding~$A~ v[id[m*64 +: 64]] = w[m*64 +: 64];
padding~$A~ atomic_max(v[id[m*64 +: 64] % 8], w[m*64 +: 64]);
right~$A~ atomic_add(n[load(id[m*64 +: 64], other = -1)], 1);
right~$A~ atomic_add(v[id[m*64 +: 64]], w[m*64 +: 64]);
right~$A~ let at = m*64 + iota(64); atomic_add(n[id[m*64 +: 64]], 1, mask = at < N);
right~$A requires(N % 64 == 0)~ v[id[m*64 +: 64]] = w[m*64 +: 64];
right~(id: in i32[E], v: out f32[V]) grid(m: E / 64) requires(E % 64 == 0)~ v[id[m*64 +: 64]] = 1.0;
padding~(a: in f32[M, N], b: in f32[M, N], y: out f32[M, 2 * N]) grid(m: M)~ y[m, 0 +: 128] = cat(a[m, 0 +: 64], b[m, 0 +: 64]);
padding~(a: in f32[M, N], y: out f16[M, 128]) grid(m: M)~ y[m, :] = f16(cat(a[m, 0 +: 64], f32[64](1.0)) * 2.0);
right~(a: in f32[M, N], y: out f32[M, 128]) grid(m: M)~ y[m, :] = cat(load(a[m, 0 +: 64], other = 0.0), f32[64](1.0));
right~(a: in f32[M, 64], b: in f32[M, N], y: out f32[M, 64 + N]) grid(m: M)~ y[m, 0 +: 128] = cat(a[m, :], b[m, 0 +: 64]);
right~(a: in f32[M, N], b: in f32[M, N], y: out f32[2 * M, N]) grid(m: M)~ y[2*m +: 2, 0 +: 64] = cat(a[m +: 1, 0 +: 64], b[m +: 1, 0 +: 64], axis = 0);
padding~$R~ y[m] = max(gather(x[m, 0 +: 64], iota(64) ^ 1));
right~$R~ y[m] = sum(gather(x[m, 0 +: 64], 63 - iota(64)));
right~$R~ y[m] = max(gather(x[m, 0 +: 64], argsort(load(x[m, 0 +: 64], other = inf))[0 +: 1]));
right~(x: in f32[M, N], p: in f32[M, N + 1], y: out i32[M]) grid(m: M)~ let k = iota(64); y[m] = sum(cumprod(i32(x[m, 0 +: 64] < p[m, 0 +: 64] and k < N)));
padding~$N~ y[m*64 +: 64] = max(x[m*64 - 1 +: 64], x[m*64 +: 64]);
padding~$N~ let i = m*64; y[i +: 64] = min(min(x[i - 1 +: 64], x[i +: 64]), x[i + 1 +: 64]);
padding~$N~ var a = f32[64](-inf); for d in -2..3 a = max(a, x[m*64 + d +: 64]); y[m*64 +: 64] = a;
padding~$T2~ var a = f32[64](-inf); for d in -1..2 a = max(a, x[m + d, n*64 +: 64]); y[m, n*64 +: 64] = a;
padding~$T2~ y[m, n*64 +: 64] = max(x[m - 1, n*64 +: 64], x[m + 1, n*64 +: 64]);
right~$N~ y[m*64 +: 64] = x[m*64 - 1 +: 64] + x[m*64 +: 64];
right~$N~ y[m*64 +: 64] = max(load(x[m*64 - 1 +: 64], other = -inf), load(x[m*64 +: 64], other = -inf));
right~$N~ y[m*64 +: 64] = max(x[m*64 +: 64], 2.0*x[m*64 +: 64]);
right~$N~ y[m*64 +: 64] = max(abs(x[m*64 - 1 +: 64]), abs(x[m*64 +: 64]));
right~$T2~ var a = f32[64](-inf); for d in 0..M a = max(a, x[d, n*64 +: 64]); if (m == 0) y[m, n*64 +: 64] = a;
right~$T2~ if (m > 0 and m + 1 < M) y[m, n*64 +: 64] = max(x[m - 1, n*64 +: 64], x[m + 1, n*64 +: 64]);
END
}

@test "reductions over what lies outside of a view: padding" { judge padding 140; }

V='(x: in f32[N], y: out f32[N])'
T='(x: in f32[M, N], y: out f32[M, N])'
stores() { cat <<END
overlap~$V grid(m: cdiv(N, 64))~ y[m +: 64] = x[m +: 64];
uncovered~$V grid(m: cdiv(N, 64))~ y[m +: 64] = x[m +: 64];
idle-instances~$V grid(m: N)~ y[m*64 +: 64] = x[m*64 +: 64];
overlap~$V grid(m: cdiv(N, 64))~ y[0 +: 64] = x[m*64 +: 64];
overlap~$V grid(m: cdiv(N, 64))~ y[m*64 +: 128] = x[m*64 +: 128];
uncovered~$V grid(m: cdiv(N, 64))~ y[m*64 +: 32] = x[m*64 +: 32];
uncovered~$V grid(m: cdiv(N, 128))~ y[m*64 +: 64] = x[m*64 +: 64];
uncovered~$V grid(m: (N + 127)/128)~ y[m*64 +: 64] = x[m*64 +: 64];
uncovered~$T grid(m: M)~ for j in 0..N step 64 { y[m, j +: 32] = x[m, j +: 32]; }
uncovered~$V grid(m: cdiv(N, 64))~ for j in 0..64 step 2 { y[m*64 + j] = x[m*64 + j]; }
uncovered~$T grid(n: N)~ for i in 0..M step 4 { y[i, n] = x[i, n]; y[i + 1, n] = 0.0; y[i + 3, n] = 1.0; }
right~$T grid(n: N)~ for i in 0..M step 4 { y[i, n] = x[i, n]; y[i + 1 +: 3, n] = x[i + 1 +: 3, n]; }
right~$T grid(m: M)~ for j in 0..N step 64 { y[m, j +: 32] = x[m, j +: 32]; y[m, j + 32 +: 32] = -x[m, j +: 32]; }
right~$V grid(m: 4)~ for j in 0..N step 4 { y[j + m] = x[j + m]; }
right~$V grid(m: 4)~ for j in m..N step 4 { y[j] = x[j]; }
right~(x: in f32[N], y: inout f32[N]) grid(m: 1)~ for j in 0..N step 2 { y[j] = x[j]; }
uncovered~$V grid(m: N / 64)~ y[m*64 +: 64] = x[m*64 +: 64];
uncovered~$T grid(m: M / 16, n: cdiv(N, 64)) requires(N % 64 == 0)~ y[m*16 +: 16, n*64 +: 64] = x[m*16 +: 16, n*64 +: 64];
uncovered~(x: in f32[M, N], y: out f32[N, M]) grid(m: cdiv(M, 64), n: cdiv(N, 64))~ y[m*64 +: 64, n*64 +: 64] = trans(x[m*64 +: 64, n*64 +: 64]);
uncovered~$T grid(m: cdiv(N, 64))~ for j in 0..N step 64 { y[m, j +: 64] = x[m, j +: 64]; }
uncovered~$T grid(n: N)~ y[n, 0] = x[n, 0];
right~$T grid(m: cdiv(N, 64)) requires(M == cdiv(N, 64))~ for j in 0..N step 64 { y[m, j +: 64] = x[m, j +: 64]; }
right~(x: in f32[N, N], y: out f32[N, N]) grid(m: cdiv(N, 64), n: cdiv(N, 64))~ y[n*64 +: 64, m*64 +: 64] = trans(x[m*64 +: 64, n*64 +: 64]);
right~$T grid(n: N)~ y[0, n] = x[0, n];
uncovered~$T grid(m: M)~ for j in 0..N/64 { y[m, j*64 +: 64] = x[m, j*64 +: 64]; }
right~$T grid(m: M)~ for j in 0..cdiv(N, 64) { y[m, j*64 +: 64] = x[m, j*64 +: 64]; }
right~$T grid(m: M) requires(N % 64 == 0)~ for j in 0..N/64 { y[m, j*64 +: 64] = x[m, j*64 +: 64]; }
right~$V grid(m: N / 64) requires(N % 64 == 0)~ y[m*64 +: 64] = x[m*64 +: 64];
right~$V grid(m: N / 64) requires(N % 128 == 0)~ y[m*64 +: 64] = x[m*64 +: 64];
right~(x: in f32[N], y: out f32[N], g: in f32[G]) grid(m: N / 64) requires(N == 64*G)~ y[m*64 +: 64] = x[m*64 +: 64] * g[m];
right~$V grid(m: N / 64)~ if (m >= 0) { y[m*64 +: 64] = x[m*64 +: 64]; }
idle-instances~$V grid(m: cdiv(N, 32))~ y[m*64 +: 64] = x[m*64 +: 64];
overlap~(x: in f32[N], y: out f32[1]) grid(m: cdiv(N, 64))~ y[0] = sum(x[m*64 +: 64]);
overlap~(x: in f32[M, 64], y: out f32[64]) grid(m: M)~ y[:] = x[m, :];
overlap~(x: in f32[M, N], y: out f32[M]) grid(m: M, n: cdiv(N, 64))~ y[m] = sum(x[m, n*64 +: 64]);
overlap~$V grid(m: N)~ y[m] = x[m]; y[m + 1] = x[m] * 2.0;
overlap~$T grid(m: cdiv(M, 16), n: cdiv(N, 64))~ y[m*16 +: 16, n*32 +: 64] = x[m*16 +: 16, n*32 +: 64];
uncovered~$T grid(m: cdiv(M, 32), n: cdiv(N, 64))~ y[m*16 +: 16, n*64 +: 64] = x[m*16 +: 16, n*64 +: 64];
idle-instances~$T grid(m: M, n: cdiv(N, 64))~ y[m*16 +: 16, n*64 +: 64] = x[m*16 +: 16, n*64 +: 64];
overlap~$T grid(m: cdiv(M, 16))~ for j in 0..N step 64 { y[m +: 16, j +: 64] = x[m*16 +: 16, j +: 64]; }
overlap~$V grid(m: cdiv(N, 64))~ y[m*32 + iota(64)] = x[m*32 + iota(64)];
uncovered~$V grid(m: cdiv(N, 64))~ for j in 0..16 { y[m*64 + j] = x[m*64 + j]; }
overlap~$V grid(m: cdiv(N, 64))~ for j in 0..80 { y[m*64 + j] = x[m*64 + j] * 2.0; }
overlap~(x: in f32[N], y: inout f32[8]) grid(m: N)~ y[0 +: 8] += x[m];
overlap~$V grid(m: N)~ y[m / 2] = x[m];
overlap~$V grid(m: N)~ y[m % 128] = x[m];
overlap~$V grid(m: N)~ y[m >> 1] = x[m];
overlap~$V grid(m: cdiv(N, 64))~ let i = m / 2 * 64; y[i +: 64] = x[m*64 +: 64];
overlap~$T grid(m: M, n: cdiv(N, 64))~ y[m / 4, n*64 +: 64] = x[m, n*64 +: 64];
overlap~(x: in f32[N], y: out f32[K, 8]) grid(m: N)~ y[m / 8, m % 4] = x[m];
overlap~$V grid(m: N)~ y[m] = x[m]; y[2*m] = 2.0*x[m];
overlap~(x: in f32[N], p: *f32) grid(m: N)~ store(p + m/2, x[m]);
overlap~(x: in f32[N], y: out f32[N]) grid(m: N)~ store(y.ptr + m/4, x[m]);
overlap~(x: in f32[M, N], p: *f32) grid(m: M, n: cdiv(N, 64))~ store(p + m, sum(x[m, n*64 +: 64]));
overlap~(x: in f32[N], p: *f32) grid(m: cdiv(N, 64))~ store(p + m*32 + iota(64), x[m*64 +: 64]);
overlap~(x: in f32[N], p: *f32) grid(m: cdiv(N, 64))~ let at = m*32 + iota(64); store(p + at, x[m*64 +: 64], mask = at < N);
overlap~(x: in f32[64, N], p: *f32) grid(m: cdiv(N, 16))~ let at = iota(64)[:, None]*1024 + (m*8 + iota(16))[None, :]; store(p + at, x[:, m*16 +: 16]);
overlap~(y: inout f32[N]) grid(m: N)~ y[m] = y[m + 1] * 0.5;
overlap~(y: inout f32[N]) grid(m: cdiv(N, 64))~ y[m*64 +: 64] = y[m*64 - 1 +: 64] * 0.5;
overlap~(y: inout f32[N]) grid(m: N)~ y[m] = y[0] + 1.0;
overlap~(x: in f32[M, N], y: inout f32[M, N]) grid(m: M)~ for j in 0..N step 64 { y[m, j +: 64] = x[m, j +: 64] + y[m - 1, j +: 64]; }
overlap~(p: *f32) grid(m: cdiv(1024, 64))~ let at = m*64 + iota(64); store(p + at, load(p + at + 1));
uncovered~$V grid(m: cdiv(N, 128))~ y[m*128 + 2*iota(64)] = x[m*128 + 2*iota(64)];
uncovered~$V grid(m: cdiv(N, 64))~ y[2*(m*64 + iota(64))] = x[m*64 + iota(64)];
uncovered~$T grid(m: cdiv(M, 2), n: cdiv(N, 64))~ y[m*2, n*64 +: 64] = x[m*2, n*64 +: 64];
uncovered~$T grid(m: cdiv(M, 16), n: cdiv(N, 16))~ for i in 0..8 { y[m*16 + 2*i, n*16 +: 16] = x[m*16 + 2*i, n*16 +: 16]; }
uncovered~$T grid(m: M)~ for j in 0..N { y[m, 2*j] = x[m, j]; }
right~$T grid(m: M)~ for j in 0..cdiv(N, 2) { y[m, 2*j] = x[m, 2*j]; y[m, 2*j + 1] = 0.0; }
right~$V grid(m: cdiv(N, 128))~ let i = m*128 + 2*iota(64); y[i] = x[i]; y[i + 1] = -x[i + 1];
right~$T grid(m: cdiv(M, 16), n: cdiv(N, 16))~ for i in 0..8 { y[m*16 + 2*i +: 2, n*16 +: 16] = x[m*16 + 2*i +: 2, n*16 +: 16]; }
right~(x: in f32[N], y: out f32[K, 8]) grid(m: N)~ y[m / 8, m % 8] = x[m];
right~(x: in f32[N], y: out f32[N]) grid(m: cdiv(N, 8) * 8)~ y[m / 8 * 8 + m % 8] = x[m];
right~(x: in f32[N], y: out f32[K, 8]) grid(m: N)~ y[m >> 3, m & 7] = x[m];
right~(x: in f32[N], y: out f32[K, C]) grid(m: N)~ y[m / C, m % C] = x[m];
right~(x: in f32[N], p: *f32) grid(m: cdiv(N, 64))~ let at = m*64 + iota(64); store(p + at, x[m*64 +: 64], mask = at < N);
right~(x: in f32[N], p: *f32) grid(m: cdiv(N, 64))~ let at = m*32 + iota(64); store(p + at, x[m*64 +: 64], mask = iota(64) < 32);
right~(x: in f32[M, 64], p: *f32, n: i64) grid(m: M)~ store(p + m*n + iota(64), x[m, :]);
right~(x: in f32[64, N], p: *f32) grid(m: cdiv(N, 16))~ let at = iota(64)[:, None]*1024 + (m*16 + iota(16))[None, :]; store(p + at, x[:, m*16 +: 16]);
right~(p: *f32) grid(m: 16)~ let at = m*64 + iota(64); store(p + at, load(p + at) + 1.0);
overlap~(y: inout f32[N]) grid(m: N)~ if (m > 0) y[m] = y[m - 1];
right~(y: inout f32[N]) grid(m: cdiv(N, 2))~ y[2*m] = y[2*m + 1];
right~(x: in f32[N], y: inout f32[N]) grid(m: N)~ y[m] = y[m] + x[m + 1];
right~$V grid(m: cdiv(N, 64))~ y[m*64 +: 64] = x[m*64 +: 64];
right~$V grid(m: N)~ y[m] = x[m];
right~$V grid(m: cdiv(N, 2))~ y[2*m] = x[2*m]; y[2*m + 1] = -x[2*m + 1];
right~$V grid(m: cdiv(N, 64))~ y[m*64 +: 32] = x[m*64 +: 32]; y[m*64 + 32 +: 32] = x[m*64 + 32 +: 32];
right~$V grid(m: cdiv(N, 64))~ y[m*64 + iota(64)] = x[m*64 + iota(64)];
right~$V grid(m: cdiv(N, 64))~ for j in 0..64 { y[m*64 + j] = x[m*64 + j]; }
overlap~$V grid(m: cdiv(N, 64))~ if (m > 0) { y[0 +: 64] = x[m*64 +: 64]; }
right~$V grid(m: cdiv(N, 64))~ if (m == 1) { y[0 +: 64] = x[m*64 +: 64]; }
right~(x: in f32[N], y: inout f32[1]) grid(m: cdiv(N, 64))~ atomic_add(y[0], sum(x[m*64 +: 64]));
right~(x: in f32[N], y: out f32[1]) grid(m: N)~ if (m == N - 1) y[0] = x[m];
right~(x: in f32[N], y: out f32[2]) grid(m: N)~ y[0] = 1.0;
right~(x: in f32[N], y: out f32[2]) grid(m: 1)~ y[0] = x[m];
right~$T grid(m: cdiv(M, 16), n: cdiv(N, 64))~ y[m*16 +: 16, n*64 +: 64] = x[m*16 +: 16, n*64 +: 64];
right~$T grid(m: M)~ for j in 0..N step 64 { y[m, j +: 64] = x[m, j +: 64]; }
right~$T grid(m: M)~ let row = y[m, ..]; row[0 +: 64] = x[m, 0 +: 64];
right~(x: in f32[M, N], y: out f32[N, M]) grid(m: cdiv(M, 16), n: cdiv(N, 64))~ y[n*64 +: 64, m*16 +: 16] = trans(x[m*16 +: 16, n*64 +: 64]);
right~(x: in f32[M, N], s: in i64[M], y: out f32[N]) grid(m: M)~ y[s[m] +: 64] = x[m, 0 +: 64];
right~(x: in f32[N], y: out f32[N], n: i64) grid(m: cdiv(n, 64))~ y[m*64 +: 64] = x[m*64 +: 64];
right~(x: in f32[N], y: out f32[K, N]) grid(m: cdiv(N, 64), k: K)~ y[k, m*64 +: 64] = x[m*64 +: 64] * f32(k);
right~(x: in f32[N], y: out f32[N]) grid(m: cdiv(N, 64))~ y[N - 64 - m*64 +: 64] = x[m*64 +: 64];
right~(x: in f32[N], y: inout f32[N]) grid(m: cdiv(N, 2))~ y[2*m] += x[2*m];
right~(x: in f32[N], y: out f32[N], l: inout i32[1]) grid(m: N)~ while (atomic_cas(l[0], 0, 1, order = acquire) != 0) {} y[0] = x[m]; atomic_xchg(l[0], 0, order = release);
END
}

@test "grids beside the places that instances store: overlap, uncovered, idle-instances" { judge stores 100; }

meeting() { cat <<END
overlap~(x: in f32[M, N], y: out f32[M + N]) grid(m: M, n: N)~ y[m + n] = x[m, n];
overlap~(y: inout f32[N, N]) grid(m: cdiv(N, 16), n: cdiv(N, 16))~ y[m*16 +: 16, n*16 +: 16] = trans(y[n*16 +: 16, m*16 +: 16]);
overlap~(y: inout f32[N]) grid(m: cdiv(N, 64))~ y[m*64 +: 64] = y[N - 64 - m*64 +: 64];
overlap~(y: inout f32[N]) grid(m: N)~ y[m] = y[(m + 1) % N];
overlap~(y: inout f32[N]) grid(m: N)~ y[m] = y[m ^ 1] + 1.0;
overlap~(x: in f32[M, N], y: out f32[K]) grid(m: M)~ y[iota(16)[:, None] + iota(16)[None, :]] = x[m*16 +: 16, 0 +: 16];
overlap~$V grid(m: cdiv(N, 64))~ y[m*64 + iota(64) % 32] = x[m*64 +: 64];
overlap~$V grid(m: cdiv(N, 64))~ y[m*64 + (iota(64) & 31)] = x[m*64 +: 64];
overlap~$V grid(m: cdiv(N, 64))~ y[m*64 + (~iota(64) & 31)] = x[m*64 +: 64];
overlap~$V grid(m: cdiv(N, 64))~ y[(m*64 + iota(64)) >> 1] = x[m*64 +: 64];
overlap~$V grid(m: cdiv(N, 64))~ y[min(iota(64), 62) + m*64] = x[m*64 +: 64];
overlap~(x: in f32[N], p: *f32) grid(m: cdiv(N, 64))~ store(p + m*64 + iota(64)/2, x[m*64 +: 64]);
overlap~(x: in f32[N, 16], p: *f32, s: i32) grid(m: cdiv(N, 16))~ store(p + (m*16 + iota(16))[:, None]*s + iota(16)[None, :]/2, x[m*16 +: 16, :]);
overlap~(h: inout i32[N]) grid(m: cdiv(N, 64))~ h[m*64 + iota(64)/4] += 1;
overlap~(x: in f32[N], y: inout f32[N]) grid(m: cdiv(N, 64))~ y[m*64 + iota(64)/2] += x[m*64 +: 64];
overlap~(y: inout f32[N]) grid(m: cdiv(N, 64))~ for j in 0..64 { y[m*64 + j] = y[N - 1 - m*64 - j]; }
overlap~(y: inout f32[M, N]) grid(m: M, n: N)~ y[m, n] = y[M - 1 - m, n];
overlap~(y: inout f32[M, N]) grid(m: M)~ for j in 0..N step 64 { y[m, j +: 64] = y[(m + 1) % M, j +: 64]; }
overlap~(y: inout f32[M, N]) grid(m: M)~ y[m, 0 +: 64] = 0.5 * (y[m, 0 +: 64] + y[M - 1 - m, 0 +: 64]);
overlap~(y: inout f32[N, N]) grid(m: N, n: N)~ y[m, n] = 0.5*(y[m, n] + y[n, m]);
overlap~(p: *f32, n: i32) grid(m: 128)~ store(p + m, load(p + 127 - m));
overlap~(y: inout f32[128]) grid(m: 128)~ y[m] = y[127 - m];
overlap~$V grid(m: N)~ y[max(m, 3)] = x[m];
overlap~(x: in f32[B, M, N], y: out f32[B, M, N]) grid(b: B, m: M, n: cdiv(N, 64))~ y[b, m, n*64 +: 64] = x[b, m, n*64 +: 64]; y[b, m + 1, n*64 +: 64] = x[b, m, n*64 +: 64];
overlap~$V grid(m: cdiv(N, 64))~ if (m < 3) y[m*64 + iota(64)/2] = x[m*64 +: 64];
overlap~(x: in f32[M, N], y: out f32[K, N]) grid(m: cdiv(M, 16))~ y[iota(16)/2 + m*16, 0 +: 32] = x[m*16 +: 16, 0 +: 32];
overlap~$T grid(m: M)~ let row = y[m / 2, ..]; row[0 +: 64] = x[m, 0 +: 64];
overlap~(x: in f32[M, N], t: inout f32[M], y: out f32[1]) grid(m: M)~ t[m] = sum(x[m, 0 +: 64]); if (m == 0) { var s = 0.0; for i in 0..M { s += t[i]; } y[0] = s; }
overlap~(x: in f32[M, N], t: inout f32[M], y: out f32[1]) grid(m: M)~ t[m] = sum(x[m, 0 +: 64]); if (m == 0) { y[0] = sum(t[0 +: 1024]); }
overlap~$V grid(m: N)~ if (m % 2 == 0) { y[m / 4] = x[m]; }
overlap~(x: in f32[M, N], y: out f32[N]) grid(m: M, n: N)~ if (m < 2) y[n] = x[m, n];
overlap~$V grid(m: cdiv(N, 64))~ let i = m*32 + iota(64); store(y[i], x[m*64 +: 64], mask = i < N);
overlap~(x: in f32[N], y: inout f32[N]) grid(m: N)~ if (m > 0) y[m] = y[m - 1] + x[m]; else y[m] = x[m];
overlap~$V grid(m: N)~ y[m % (N/2)] = x[m];
overlap~(x: in f32[M, N], y: out f32[N]) grid(m: M)~ for j in 0..N step 64 { y[j +: 64] = x[m, j +: 64]; }
overlap~$T grid(m: M, n: cdiv(N, 64))~ y[m, m*64 +: 64] = x[m, n*64 +: 64];
overlap~$V grid(m: N)~ y[N - 1 - m / 2] = x[m];
overlap~$V grid(m: N)~ y[abs(m - N/2)] = x[m];
overlap~$V grid(m: N)~ let i = m < N/2 ? m : m - N/2; y[i] = x[m];
overlap~(x: in f32[N], y: inout f32[N]) grid(m: N)~ let l = m > 0 ? y[m - 1] : 0.0; y[m] = l + x[m];
overlap~(x: in f32[N], y: inout f32[N]) grid(m: cdiv(N, 64))~ let l = load(y[m*64 + iota(64) - 1], mask = iota(64) > 0, other = 0.0); y[m*64 +: 64] = l; y[m*64 + 64] = 1.0*x[m];
overlap~(x: in f32[N], y: inout f32[N]) grid(m: N)~ for j in 0..m { y[m] += y[j]; }
overlap~(x: in f32[M, N], y: inout f32[N]) grid(m: M)~ y[0 +: 64] += x[m, 0 +: 64];
overlap~$V grid(m: cdiv(N, 64))~ let i = iota(64); y[m*64 + where(i < 32, i, i - 32)] = x[m*64 +: 64];
overlap~(x: in f32[N, N], y: out f32[N]) grid(m: 1)~ y[iota(16)[:, None]*8 + iota(16)[None, :]] = x[0 +: 16, 0 +: 16];
overlap~$V grid(m: 1)~ y[min(iota(64), 31)] = x[0 +: 64];
overlap~$V grid(m: 1)~ y[iota(64)*iota(64) % 64] = x[0 +: 64];
overlap~$V grid(m: 1)~ y[abs(iota(64) - 32)] = x[0 +: 64];
overlap~$V grid(m: 1)~ let i = iota(64); y[i[:, None]*0 + i[None, :]] = x[0 +: 64][:, None] + x[0 +: 64][None, :];
overlap~(x: in f32[N], p: *f32) grid(m: cdiv(N, 64))~ let i = iota(64); store(p + m*64 + i/2, x[m*64 +: 64], mask = m*64 + i < N);
right~$V grid(m: cdiv(N, 64))~ y[m*64 + 63 - iota(64)] = x[m*64 +: 64];
right~$V grid(m: cdiv(N, 64))~ y[m*64 + (~iota(64) & 63)] = x[m*64 +: 64];
right~$V grid(m: cdiv(N, 64))~ y[m*64 + (iota(64)*5) % 64] = x[m*64 +: 64];
right~(x: in f32[N], y: out f32[N], k: i32) grid(m: cdiv(N, 64))~ y[m*64 + (iota(64)*k) % 64] = x[m*64 +: 64];
right~(x: in f32[N], y: out f32[K, 8]) grid(m: 1)~ y[iota(64)/8, iota(64)%8] = x[0 +: 64];
right~(x: in f32[N], y: out f32[K, L], c: i32) grid(m: 1)~ y[iota(64)/c, iota(64)%c] = x[0 +: 64];
right~$V grid(m: cdiv(N, 64))~ let i = iota(64); y[m*64 + where(i < 7, i, -1 - m*64)] = x[m*64 +: 64];
right~$V grid(m: 1)~ let i = iota(64); y[where(i < 7, i, -1)] = x[0 +: 64];
right~$V grid(m: 1)~ let i = iota(64); y[where(i < 7, i, N)] = x[0 +: 64];
right~(y: inout f32[N]) grid(m: cdiv(N, 64))~ y[m*64 + iota(64)] = y[m*64 + (iota(64) + 1) % 64];
right~(y: inout f32[N]) grid(m: N/2)~ let a = y[m]; let b = y[m + N/2]; y[m] = a + b; y[m + N/2] = a - b;
right~(y: inout f32[N]) grid(m: N/2)~ let a = y[m]; let b = y[N - 1 - m]; y[m] = b; y[N - 1 - m] = a;
right~(y: inout f32[N, N]) grid(m: N, n: N)~ if (m < n) { let a = y[m, n]; y[m, n] = y[n, m]; y[n, m] = a; }
right~$V grid(m: 1)~ let i = min(iota(64), 62); y[i] = x[i];
right~$V grid(m: cdiv(N, 64))~ let i = min(m*64 + iota(64), N - 1); y[i] = x[i] * 2.0;
right~(x: in f32[M, N], p: *f32) grid(m: M, n: N)~ store(p + m*N + n, x[m, n]);
right~(x: in f32[M, N], p: *f32, s: i64) grid(m: M)~ store(p + m*s + iota(64), x[m, 0 +: 64]);
right~(x: in f32[M, N], p: *f32, s: i64) grid(m: cdiv(M, 16))~ store(p + (m*16 + iota(16))[:, None]*s + iota(64)[None, :], x[m*16 +: 16, 0 +: 64]);
right~(y: out f32[N]) grid(m: 1)~ y[iota(64)/2] = 1.0;
right~(y: out f32[N]) grid(m: 1)~ y[iota(64)/2] = f32(iota(64)/2);
right~(h: inout i32[N]) grid(m: cdiv(N, 64))~ atomic_add(h[m*64 + iota(64)/4], 1);
right~$T grid(p: cdiv(M, 16)*cdiv(N, 16))~ let c = cdiv(N, 16); let m = p / c; let n = p % c; y[m*16 +: 16, n*16 +: 16] = x[m*16 +: 16, n*16 +: 16];
right~(x: in f32[N], id: in i32[N], y: out f32[K]) grid(m: 1)~ let i = load(id[0 +: 64], other = -1); y[i] = x[0 +: 64];
right~(x: in f32[N], id: in i32[N], y: inout f32[K]) grid(m: N)~ y[id[m]] += x[m];
right~(y: inout f32[N]) grid(m: cdiv(N, 64))~ for j in 0..64 { y[m*64 + j] = y[m*64 + 63 - j]; }
right~(y: inout f32[M, N]) grid(m: M)~ for j in 0..N { y[m, j] = y[m, N - 1 - j]; }
right~(x: in f32[M, N], y: inout f32[M, N]) grid(m: M)~ for j in 1..N { y[m, j] = y[m, j - 1] + x[m, j]; }
right~$T grid(m: M)~ y[m, iota(64)] = x[m, 63 - iota(64)];
right~(x: in f32[16, 16], y: out f32[16, 16]) grid(m: 1)~ y[iota(16)[None, :], iota(16)[:, None]] = x[0 +: 16, 0 +: 16];
right~(x: in f32[N, 64], y: out f32[N, 64], r: in i32[N]) grid(m: cdiv(N, 16))~ let i = load(r[m*16 +: 16], other = -1); y[i, 0 +: 64] = x[m*16 +: 16, 0 +: 64];
right~$V grid(m: cdiv(N, 128))~ for j in 0..2 { y[m*128 + j + 2*iota(64)] = x[m*128 + j + 2*iota(64)]; }
right~$V grid(m: cdiv(N, 64))~ let i = iota(64); y[m*64 + (i ^ 1)] = x[m*64 +: 64];
right~$V grid(m: cdiv(N, 64))~ let i = iota(64); y[m*64 + ((i & 7) << 3 | i >> 3)] = x[m*64 +: 64];
right~(x: in f32[M, N], y: out f32[M]) grid(m: M, n: 1)~ y[m] = sum(x[m, n*64 +: 64]);
right~(p: *f32) grid(m: 64)~ store(p + m, load(p + 64 + m));
right~(p: *f32, n: i64) grid(m: n)~ store(p + m, load(p + n + m));
right~(x: in f32[N], p: *f32) grid(m: cdiv(N, 64))~ let i = m*64 + iota(64); store(p + i/2, x[m*64 +: 64], mask = i % 2 == 0);
right~(b: in f32[B, N], y: inout f32[B, N]) grid(i: B, m: cdiv(N, 64))~ y[i, m*64 +: 64] = y[i, m*64 +: 64] * b[i, m*64 +: 64];
right~(q: inout f32[S, H, D]) grid(s: S, h: H) requires(D % 2 == 0)~ let i = iota(32); let a = q[s, h, i]; let b = q[s, h, i + D/2]; q[s, h, i] = a - b; q[s, h, i + D/2] = a + b;
right~(k: inout f32[P, 16, D], x: in f32[T, D], t: in i32[T]) grid(i: T)~ k[t[i] / 16, t[i] % 16, 0 +: 64] = x[i, 0 +: 64];
right~(y: inout f32[K], x: in f32[N]) grid(m: N) requires(K == 2*N)~ y[m] = y[m + N] + x[m];
right~(y: inout f32[2*N], x: in f32[N]) grid(m: N)~ y[m] = y[m + N] + x[m];
right~(x: in f32[N], y: out f32[N], o: i32) grid(m: N)~ y[(m + o) % N] = x[m];
right~$T grid(m: M)~ let row = y[m, ..]; row[0 +: 64] = x[m, 0 +: 64];
right~(x: in f32[M, N], y: out f32[N]) grid(m: M, n: N)~ if (m == 0) y[n] = x[m, n];
right~$V grid(m: N)~ if (m % 2 == 0) { y[m / 2] = x[m]; }
right~(x: in f32[N], y: out f32[K]) grid(m: N)~ y[0] = 1.0; y[m + 1] = x[m];
right~(x: in f32[N], y: out f32[N], n: i32) grid(m: N)~ if (m < n) y[m] = x[m]; else y[m] = 0.0;
right~(x: in f32[N], y: inout f32[1]) grid(m: N)~ if (m == 0) y[0] = 0.0; atomic_add(y[0], x[m]);
right~$T grid(m: cdiv(M, 16), n: cdiv(N, 16))~ let t = y[m*16 .. min(M, m*16 + 16), n*16 .. min(N, n*16 + 16)]; t[0 +: 16, 0 +: 16] = x[m*16 +: 16, n*16 +: 16];
right~(y: inout f32[N]) grid(m: N) requires(N <= 1)~ y[m] = y[N - 1 - m];
END
}

@test "elements of one tile, and instances far from each other or under conditions: overlap" { judge meeting 90; }

D='(x: in f64[N], y: out f64[N], n: f64, w: in f32[N])'
digits() { cat <<END
lost-digits~$D grid(m: N)~ y[m] = x[m] * f64(where(x[m] > 0.0, 0.1, 0.2));
lost-digits~$D grid(m: N)~ var s = 0.1; if (x[m] > 0.0) s = 0.3; y[m] = f64(s);
lost-digits~$D grid(m: N)~ y[m] = f64(2.0*PI*f32(m)) / n;
lost-digits~$D grid(m: cdiv(N, 64))~ let a = 2.0*PI*f32(m*64 + iota(64)); y[m*64 +: 64] = f64(sin(a));
lost-digits~$D grid(m: N)~ let s = x[m] > 0.0 ? 0.1 : -0.1; y[m] = f64(s) * x[m];
right~$D grid(m: N)~ y[m] = 2.0*PI*f64(m) / n + f64(1.0/3.0);
lost-digits~$D grid(m: N)~ let s = 2.0*PI; y[m] = f64(s) * x[m];
right~$D grid(m: N)~ y[m] = f64(w[m] * 0.1);
right~$D grid(m: N)~ y[m] = x[m] * f64(where(x[m] > 0.0, 0.5, 0.25));
right~$D grid(m: N)~ y[m] = x[m] * where(x[m] > 0.0, f64(0.1), 0.2);
right~$D grid(m: N)~ var s = f64(0.1); if (x[m] > 0.0) s = 0.3; y[m] = s + f64(m == 0 ? 1 : 3);
END
}

K='(x: in f32[M, N], y: out f32[M]) grid(m: M) tune(B: {64, 128} = 64)'
KS='(x: in f32[M, N], y: out f32[M, N]) grid(m: M) tune(B: {64, 128} = 64)'
KG='(x: in f32[N], y: out f32[N]) grid(m: cdiv(N, B)) tune(B: {64, 128} = 64)'
tuned() { cat <<END
tuned-data~$K~ y[m] = sum(x[m, 0 +: B]);
tuned-data~$K~ y[m] = sum(x[m, iota(B)]);
tuned-data~$K~ let i = iota(B); y[m] = sum(x[m, i] * x[m, i]);
tuned-data~$K~ let row = x[m, ..]; y[m] = sum(row[0 +: B]);
tuned-data~$K~ y[m] = sum(x[m, 64 +: B]);
tuned-data~$K~ y[m] = sum(x[m, 0 +: 2*B]);
tuned-data~$K~ let W = 2*B; y[m] = sum(x[m, 0 +: W]);
tuned-data~$K~ y[m] = sum(x[m, 0 +: B]) + sum(x[m, B +: B]);
tuned-data~$K~ var s = 0.0; for j in 0..4 s += sum(x[m, j*B +: B]); y[m] = s;
tuned-data~$K~ y[m] = max(load(x[m, 0 +: B], other = -inf));
tuned-data~$K requires(N <= 100)~ y[m] = sum(x[m, 0 +: B]);
tuned-data~$KS~ y[m, 0 +: B] = 2.0 * x[m, 0 +: B];
tuned-data~$KS~ y[m, 0 +: B] = f32[B](0.0); for j in 0..N step B { if (x[m, j] > 0.0) print("{}", j); }
tuned-data~(x: in f32[M, 100], y: out f32[M]) grid(m: M) tune(B: {64, 128} = 64)~ y[m] = sum(x[m, 0 +: B]);
tuned-data~(x: in f32[N], y: out f32[N]) grid(m: 1) tune(B: {64, 128} = 64)~ y[0 +: B] = cumsum(x[0 +: B]);
right~$K requires(N <= 64)~ y[m] = sum(x[m, 0 +: B]);
right~$K requires(N <= 100)~ y[m] = sum(x[m, 0 +: 2*B]);
right~(x: in f32[M, N], y: out f32[M]) grid(m: cdiv(M, B)) tune(B: {64, 128} = 64)~ y[m*B +: B] = sum(x[m*B +: B, 0 +: 64], axis = 1);
right~$K~ var s = 0.0; for j in 0..N step B s += sum(x[m, j +: B]); y[m] = s;
right~$K~ var s = 0.0; for j in 0..cdiv(N, B) s += sum(x[m, j*B +: B]); y[m] = s;
right~$K~ var s = sum(x[m, 0 +: B]); for j in B..N step B s += sum(x[m, j +: B]); y[m] = s;
right~$K~ var j = 0; var s = 0.0; while (j < N) { s += sum(x[m, j +: B]); j += B; } y[m] = s;
right~$K~ let i = iota(B); var s = 0.0; for j in 0..N step B s += sum(x[m, j + i]); y[m] = s;
right~$K~ if (N <= B) { y[m] = sum(x[m, 0 +: B]); } else { var s = 0.0; for j in 0..N step B s += sum(x[m, j +: B]); y[m] = s; }
right~$KG~ y[m*B +: B] = x[m*B +: B];
right~$KG~ y[m*B + iota(B)] = x[m*B + iota(B)];
right~$KG~ let part = x[m*B..]; let to = y[m*B..]; to[0 +: B] = part[0 +: B];
right~(x: in f32[M, N], y: out f32[M]) grid(m: M) const(B: {64, 128} >= N)~ y[m] = sum(x[m, 0 +: B]);
right~(x: in f32[M, 64], y: out f32[M]) grid(m: M) tune(B: {64, 128} = 64)~ y[m] = sum(x[m, 0 +: B]);
right~(x: in f32[M, D], y: out f32[M]) grid(m: cdiv(M, B)) tune(B: {64, 128} = 64) requires(D <= 64)~ y[m*B +: B] = sum(x[m*B +: B, 0 +: 64], axis = 1);
END
}
@test "extents of tune that decide how much of a view is looked at: tuned-data" { judge tuned 30; }

RN='(x: in f32[N], y: out f32[N], p: f32, seed: u64) grid(m: cdiv(N, 64))'
random() { cat <<END
same-random~$RN~ y[m*64 +: 64] = where(rand(seed, iota(64)) > p, x[m*64 +: 64], 0.0);
same-random~$RN~ let i = iota(64); let r = rand(seed, i); y[m*64 + i] = where(r < p, 0.0, x[m*64 + i]);
same-random~$RN~ y[m*64 +: 64] = x[m*64 +: 64] + p * randn(seed, iota(64) + 7);
same-random~$RN~ y[m*64 +: 64] = f32(randint(seed + 1, iota(64)));
right~$RN~ y[m*64 +: 64] = where(rand(seed, m*64 + iota(64)) > p, x[m*64 +: 64], 0.0);
right~$RN~ y[m*64 +: 64] = where(rand(seed + u64(m), iota(64)) > p, x[m*64 +: 64], 0.0);
right~$RN~ y[m*64 +: 64] = x[m*64 +: 64] * sum(rand(seed, iota(64)));
right~(x: in f32[M, N], y: out f32[M, N], seed: u64) grid(m: M)~ for j in 0..N step 64 y[m, j +: 64] = x[m, j +: 64] * rand(seed, j + iota(64));
right~(x: in f32[M, 64], y: out f32[M, 64], seed: u64) grid(m: M)~ y[m, :] = where(rand(seed, iota(64)) > 0.5, x[m, :], -x[m, :]);
right~(y: out f32[64], seed: u64) grid(m: 1)~ y[m*64 +: 64] = rand(seed, m*64 + iota(64));
END
}
@test "random numbers that are the same in each instance: same-random" { judge random 10; }

# What an assert writes where it failed is nothing of the user's.
@test "no false warning of what asserts and prints write" {
    cd "$BATS_TEST_TMPDIR"
    cat >k.tile <<'END'
kernel f(x: in f32[M], n: i32, y: out f32[M]) grid(m: cdiv(M, 64))
{
    assert(n == 64, "n");
    for i in 0..4 { assert(m != i + 7, "seven is {}", m); }
    print("{}", n);
    y[m*64 +: 64] = x[m*64 +: 64];
    assert(n == 65, "n");
}
END
    "$TILECC" -fsyntax-only --checks k.tile >log 2>&1
    [ ! -s log ] || { cat log; false; }
    sed -i 's/y\[m\*64/y[m*32/' k.tile
    "$TILECC" -fsyntax-only --checks k.tile 2>&1 | grep 'k.tile:6:.*-Woverlap'
}

@test "numbers that lose digits on their way to f64: lost-digits" { judge digits 11; }

@test "what -Wpadding proposes silences it, and the result is right" {
    cd "$BATS_TEST_TMPDIR"
    write '(x: in f32[M, N], y: out f32[M]) grid(m: M)' ' let v = x[m, 0 +: 64]; let e = exp(v - max(v)); y[m] = sum(e);'
    "$TILECC" -fsyntax-only -fdiagnostics-format=json k.tile 2>log
    grep -q '"grade":"probable"' log
    python3 "$SRCDIR/tests/lang/apply-fixits.py" k.tile log >fixed.tile
    grep -qF 'let v = load(x[m, 0 +: 64], other = -inf);' fixed.tile
    "$TILECC" -fsyntax-only -Werror fixed.tile
}

@test "a warning names the instances that it is true for, and its name turns it off" {
    cd "$BATS_TEST_TMPDIR"
    write '<T: {f16, f32}>(x: in T[M, N], y: out T[M]) grid(m: M)' ' y[m] = max(x[m, 0 +: 64]);'
    "$TILECC" -fsyntax-only -arch=cpu k.tile >log 2>&1
    [ "$(grep -c 'warning:' log)" = 1 ]
    "$TILECC" -fsyntax-only -Wno-padding k.tile >log 2>&1
    [ ! -s log ]
}

@test "no false warning: examples, and the programs that were written from the manual" {
    "$TILECC" -fsyntax-only "$SRCDIR"/examples/*.tile "$SRCDIR"/tests/lang/run/*.tile >"$BATS_TEST_TMPDIR/log" 2>&1
    ! grep -E '\[-W(padding|overlap|uncovered|idle-instances|lost-digits|tuned-data|same-random)\]' "$BATS_TEST_TMPDIR/log" || false
}

@test "200 programs with one token wrong: the right line, no internal error, and certain fix-its mend them" {
    python3 "$SRCDIR/tests/lang/mutants.py" "$TILECC" "$SRCDIR/tests/lang/run" 200 1
}

# CALL~a program of one kernel k, and what --interpret says of it: race or nothing
meetings() { cat <<'END'
race~k([16], [16])~kernel k(x: in f32[N], y: out f32[N]) grid(m: cdiv(N, 4)) { y[0 +: 4] = x[m*4 +: 4]; }
race~k([8])~kernel k(y: inout f32[N]) grid(m: N) { y[m] = y[N - 1 - m] + 1.0; }
race~k([8], [8])~kernel k(x: in f32[N], y: out f32[N]) grid(m: cdiv(N, 4)) { y[m*3 +: 4] = x[m*4 +: 4]; }
race~k([4, 4], [4])~kernel k(x: in f32[M, N], y: out f32[M]) grid(m: M, n: N) { y[m] = x[m, n]; }
race~k([8], [1])~kernel k(x: in f32[N], s: inout f32[1]) grid(m: N) { s[0] += x[m]; }
race~k([8], [8])~kernel k(x: in f32[N], p: *f32) grid(m: N) { store(p + m/2, x[m]); }
race~k([8], [8])~kernel k(b: in i32[N], y: inout f32[N]) grid(m: 1) { y[abs(b[0 +: 8])] = f32(iota(8)); }
race~k([8], [8])~kernel k(b: in i32[N], p: *i32) grid(m: 1) { store(p + abs(b[0 +: 8]), i32(iota(8))); }
race~k([8], [8])~kernel k(b: in i32[N], h: inout i32[N]) grid(m: 1) { h[abs(b[0 +: 8])] += 1; }
none~k([8], [8])~kernel k(b: in i32[N], h: inout i32[N]) grid(m: 1) { atomic_add(h[abs(b[0 +: 8])], 1); }
none~k([8], [8])~kernel k(b: in i32[N], y: inout f32[N]) grid(m: 1) { y[abs(b[0 +: 8])] = 1.0; }
none~k([8], [8])~kernel k(b: in i32[N], y: inout i32[N]) grid(m: 1) { let i = abs(b[0 +: 8]); y[i] = i; }
none~k([8], [8])~kernel k(b: in i32[N], h: inout i32[N]) grid(m: 1) { h[iota(8)] += b[iota(8)/2]; }
race~k([8])~kernel k(y: inout f32[N]) grid(m: N) { if (m > 0) y[m] = y[m - 1]; }
race~k([8], [8])~kernel k(x: in i32[N], y: inout f32[N]) grid(m: N) { y[abs(x[m])] = f32(m); }
race~k([8], [1], [1])~kernel k(x: in f32[N], s: inout f32[1], l: inout i32[1]) grid(m: N) { while (atomic_cas(l[0], -2, 1, order = acquire) != -2) {} s[0] += x[m]; atomic_xchg(l[0], -2, order = relaxed); }
none~k([16], [16])~kernel k(x: in f32[N], y: out f32[N]) grid(m: cdiv(N, 4)) { y[m*4 +: 4] = x[m*4 +: 4]; }
none~k([8])~kernel k(y: inout f32[N]) grid(m: N) { y[m] = y[m] + 1.0; }
none~k([4])~kernel k(y: out f32[N]) grid(m: N) { y[0] = 1.0; }
none~k([8])~kernel k(y: inout f32[N]) grid(m: N) { atomic_add(y[0], 1.0); }
none~k([8], [1], [1])~kernel k(x: in f32[N], s: inout f32[1], l: inout i32[1]) grid(m: N) { while (atomic_cas(l[0], -2, 1, order = acquire) != -2) {} s[0] += x[m]; atomic_xchg(l[0], -2, order = release); }
none~k([8], [8])~kernel k(x: in f32[N], y: out f32[N]) grid(m: 1) { for i in 0..N y[i/2] = x[i]; }
none~k([8, 4], [8])~kernel k(x: in f32[M, N], y: out f32[M]) grid(m: M) { for n in 0..N { y[m] = x[m, n]; } }
END
}

@test "W1207, --interpret: instances that meet at an element, with both grid indexes and both lines" {
    cd "$BATS_TEST_TMPDIR"
    bad=0
    while IFS='~' read -r what call source; do
        echo "$source" >k.tile
        timeout 20 "$TILECC" --interpret="$call" -Wno-overlap -Wno-padding k.tile >out 2>log || { echo "failed: $source"; cat log; bad=1; }
        case $what in
        race) grep -q '\[-Wrace\]' log || { echo "not found: $source"; bad=1; } ;;
        *) ! grep '\[-Wrace\]' log || { echo "made up: $source"; bad=1; } ;;
        esac
    done < <(meetings)
    [ $bad = 0 ]
    printf 'kernel k(x: in f32[M, N], y: out f32[M])\n  grid(m: M, n: N)\n{\n  y[m] = x[m, n];\n}\n' >k.tile
    "$TILECC" --interpret='k([2, 2], [2])' -Wno-overlap k.tile >out 2>log
    grep -q 'k.tile:4:3: warning: instance m = 0, n = 1 stores element 0 of `y`, which instance m = 0, n = 0 stores, and nothing orders them \[-Wrace\]' log
    run "$TILECC" --interpret='k([2, 2], [2])' -Werror=race -Wno-overlap k.tile
    [ "$status" -eq 1 ]
}

@test "W1011 says what becomes of the result, and shows what is put round a load as one change" {
    cd "$BATS_TEST_TMPDIR"
    while IFS='~' read -r words body; do
        write "$R" "$body"
        "$TILECC" -fsyntax-only k.tile 2>log
        grep -qF "\` counts elements of the tile that lie outside of \`x\`, $words [-Wpadding]" log || { cat log; false; }
    done <<'SAID'
which read as 0: a maximum below 0 comes out as 0~y[m] = max(x[m, 0 +: 64]);
which read as 0: a minimum above 0 comes out as 0~y[m] = min(x[m, 0 +: 64]);
computed from 0: a maximum below 1 comes out as 1~y[m] = max(exp(x[m, 0 +: 64]));
which read as 0: each multiplies the product by 0~y[m] = product(x[m, 0 +: 64]);
computed from 0: each adds 1 to the sum~y[m] = sum(exp(x[m, 0 +: 64]));
computed from 0: each adds something to the sum~y[m] = sum(exp(x[m, 0 +: 64] - x[m, 0]));
computed from 0: one of them makes the result true~y[m] = f32(any(x[m, 0 +: 64] < 1.0));
which read as 0: they come among the others~y[m] = sort(x[m, 0 +: 64])[0];
SAID
    write "$R" 'y[m] = max(x[m, 0 +: 64]);'
    "$TILECC" -fsyntax-only k.tile 2>log
    grep -qF 'fix-it (probable): "x[m, 0 +: 64]" -> "load(x[m, 0 +: 64], other = -inf)"' log
    [ "$("$TILECC" -fsyntax-only -fdiagnostics-format=json k.tile 2>&1 | grep -o '"replacement"' | wc -l)" = 2 ]
}
