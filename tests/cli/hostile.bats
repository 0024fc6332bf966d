#!/usr/bin/env bats
# Any bytes as source: an answer in a moment, exit 0 or 1, no signal, nothing written when it fails.

load helper

times() { awk -v n="$1" -v s="$2" 'BEGIN { while (n-- > 0) printf "%s", s }'; }

kernel() { printf 'kernel k(x: inout f32[N]) grid(b: cdiv(N, 64)) { %s }\n' "$1"; }

# The file h.tile is answered within 10 s of a processor and 4 GB of address space by one of the given statuses.
answered() {
    local limit=4000000
    [ "${SANITIZE-}" != yes ] || limit=unlimited
    rm -f h.o h.h
    run sh -c 'ulimit -v '$limit'; ulimit -t 10; exec timeout 200 "$TILECC" -arch=cpu -o h.o h.tile'
    case " $* " in
    *" $status "*) ;;
    *) echo "status $status, expected $*: $(head -c 300 h.tile)"; echo "${output:0:500}"; return 1 ;;
    esac
    if [ "$status" = 0 ]; then [ -s h.o ]; else [ ! -e h.o ] && [ ! -e h.h ] && [ -n "$output" ]; fi
    [ "${#output}" -lt 100000 ]
}

@test "nesting: a limit, with a message, however deep" {
    for n in 300 1000000; do
        kernel "x[b*64 +: 64] = $(times $n '(')1.0$(times $n ')');" >h.tile && answered 1
        kernel "$(times $n '{')$(times $n '}')" >h.tile && answered 1
        kernel "x[b*64 +: 64] = $(times $n '-')1.0;" >h.tile && answered 1
        kernel "$(times $n 'if (b > 0) ')x[b*64 +: 64] = 1.0;" >h.tile && answered 1
        kernel "x[b*64 +: 64] = $(times $n 'b > 0 ? 1.0 : ')2.0;" >h.tile && answered 0 1
    done
    kernel "x[b*64 +: 64] = $(times 30 '(')1.0$(times 30 ')');" >h.tile && answered 0
}

@test "long names and numbers" {
    kernel "let $(times 1000000 a) = 1;" >h.tile && answered 0 1
    kernel "let a = $(times 1000000 9); x[b*64 +: 64] = f32(a);" >h.tile && answered 1
    kernel "x[b*64 +: 64] = 1e999999999;" >h.tile && answered 0 1
    kernel "x[b*64 +: 64] = 0x;" >h.tile && answered 1
}

@test "names by the ten thousand: in one block, in one enum, in one file" {
    kernel "$(seq 100000 | sed 's/.*/let a& = &;/')" >h.tile && answered 0
    kernel "$(seq 100000 | sed 's/.*/let a& = &;/') let a50000 = 1;" >h.tile && answered 1
    [[ $output == *'`a50000` is already declared in this block'* ]]
    { echo "fn f($(seq 100000 | sed 's/.*/a&: f32,/') a99999: f32) -> f32 { return a1; }"; kernel ''; } >h.tile && answered 1
    [[ $output == *'`a99999` is already a name of this function'* ]]
    { echo "enum e { $(seq 200000 | sed 's/.*/m&,/') last }"; kernel 'let a = e.last; let c = e.m1;'; } >h.tile && answered 0
    { seq 100000 | sed 's/.*/const C& = &;/'; kernel 'x[b*64 +: 64] = C99999 + 0.0;'; } >h.tile && answered 0
}

# A statement for each of 60 steps, of which each uses the one before twice: 2^60 ways lead from the last to the first.
doubled() { echo "let a0 = i64($1);"; seq 60 | awk -v by="$2" '{ e = by; gsub(/X/, "a" ($1 - 1), e); print "let a" $1 " = " e ";" }'; }

@test "indexes of which each step uses the one before twice" {
    for by in 'X + X' 'X*X + X' 'X*X - X/7'; do
        kernel "$(doubled b "$by") x[a60 +: 64] = 1.0;" >h.tile && answered 0
        kernel "for i in 0..4 { $(doubled i "$by") x[a60 +: 64] = f32(b); }" >h.tile && answered 0
        kernel "$(doubled b "$by" | sed 's/i64(b)/i64(b) + i64(iota(64))/') x[a60] = 1.0;" >h.tile && answered 0
    done
    cat >h.tile <<END
kernel k(a: in f16[M, K], w: in f16[K, N], c: in f32[L], y: out f32[M, N])
    grid(i: cdiv(M, 128), j: cdiv(N, 128)) requires(K % 64 == 0, N % 64 == 0)
{
    var acc = f32[128, 128](0.0);
    for k in 0..cdiv(K, 64) {
        $(doubled k 'X*X')
        acc = dot(a[i*128 +: 128, k*64 +: 64], w[k*64 +: 64, j*128 +: 128], acc);
        acc = acc + reshape(c[a60*128 +: 128], 1, 128);
    }
    y[i*128 +: 128, j*128 +: 128] = acc;
}
END
    expect 0 timeout 60 "$TILECC" -arch=sm_90a --emit=ptx h.tile
}

@test "extents of tiles beyond measure" {
    for n in 0 -1 2147483647 2147483648 4294967296 9223372036854775807 9223372036854775808 18446744073709551616; do
        kernel "let t = f32[$n](0.0); x[b*64 +: 64] = sum(t);" >h.tile && answered 1
        printf 'kernel k(x: inout f32[N]) grid(b: cdiv(N, 64)) { x[b +: %s] = 1.0; }\n' "$n" >h.tile && answered 1
    done
    kernel "let t = f32[65536, 65536, 65536, 65536](0.0); x[b*64 +: 64] = sum(t);" >h.tile && answered 1
}

@test "computing without end when compiling" {
    { echo 'const fn f(n: i64) -> i64 { return f(n + 1); }'; echo 'const C = f(0);'; kernel 'x[b*64 +: 64] = f32(C);'; } >h.tile
    answered 1
    { echo 'fn f(x: f32) -> f32 = f(x);'; kernel 'x[b*64 +: 64] = f(1.0);'; } >h.tile
    answered 1
    kernel 'for i in 0..2147483647 unroll x[b*64 +: 64] += 1.0;' >h.tile && answered 0 1
    echo 'import "h.tile";' >h.tile && answered 0
}

@test "a tile that no block can hold: E1206, in a moment" {
    printf 'kernel k(x: out f32[N]) grid(b: N) { x[0 +: 16777216] = 1.0; }\n' >h.tile
    for options in '-S' '-S -O0'; do
        run timeout 20 "$TILECC" -arch=sm_80 $options h.tile
        [ "$status" -eq 1 ]
        case $output in *'elements for each of'*'[E1206]'*) ;; *) echo "$output"; return 1 ;; esac
    done
}

@test "a flood of errors ends" {
    kernel "$(times 100000 'let a = q;')" >h.tile && answered 1
}

@test "too many of everything" {
    { printf 'kernel k('; awk 'BEGIN { for (i = 0; i < 100000; i++) printf "a%d: f32, ", i }'; echo 'x: inout f32[N]) grid(b: N) { x[b] = 1.0; }'; } >h.tile
    answered 1
    contains E0412
    { printf 'kernel k<'; awk 'BEGIN { for (i = 0; i < 10; i++) printf "%sT%d: {f32, f16, bf16, f64}", i ? ", " : "", i }'
        echo '>(x: inout f32[N]) grid(b: N) { x[b] = 1.0; }'; } >h.tile
    answered 1
    echo 'kernel k<A: 0..=1000000000>(x: inout f32[N]) grid(b: N) { x[b] = 1.0; }' >h.tile && answered 1
}

@test "bytes that are no text" {
    printf 'kernel k\0' >h.tile && answered 1
    printf '\300\200' >h.tile && answered 1
    printf '// \355\240\200\n' >h.tile && answered 1
    { printf '// \342\200\256 hidden\n'; kernel 'x[b*64 +: 64] = 1.0;'; } >h.tile
    answered 1
    : >h.tile && answered 0 1
    awk 'BEGIN { srand(7); for (i = 0; i < 40; i++) { f = sprintf("r%d", i); printf "" >f
        for (k = 0; k < 300; k++) printf "%c", int(rand() * 256) >f; close(f) } }'
    for file in r*; do cp "$file" h.tile && answered 1; done
}

@test "words of the language in any order" {
    awk 'BEGIN { srand(11); n = split("kernel fn const enum import let var for in if else while return grid tune on ( ) [ ] { } < > , ; : = + - * / .. +: @ x y N f32 i64 1 0 2.5 and or not sum ? | & << == <= step", w, " ")
        for (i = 0; i < 80; i++) { f = sprintf("t%d", i); printf "" >f; for (k = 0; k < 80; k++) printf "%s ", w[1 + int(rand() * n)] >f; close(f) } }'
    for file in t[0-9]*; do cp "$file" h.tile && answered 1; done
}

@test "line ends of other systems give the same object" {
    expect 0 tilecc -arch=cpu -o unix.o k.tile
    mkdir other
    sed 's/$/\r/' k.tile >other/k.tile
    (cd other && "$TILECC" -arch=cpu -o unix.o k.tile)
    cmp unix.o other/unix.o
}

@test "names that mean something to C, and to PTX" {
    for name in errno linux stream info entry reg shared param tid; do
        printf 'kernel %s(%s_: inout f32[N]) grid(b: cdiv(N, 64)) { %s_[b*64 +: 64] = 1.0; }\n' $name $name $name >h.tile
        answered 0 1
        if [ "$status" = 0 ]; then
            ${CC:-cc} -x c -std=c11 -fsyntax-only -Wall -Werror h.h
            if [ -n "${PTXAS-}" ]; then expect 0 tilecc -arch=sm_80 -o g.o h.tile; fi
        fi
    done
    for name in int class operator main double; do
        printf 'kernel %s(x: inout f32[N]) grid(b: cdiv(N, 64)) { x[b*64 +: 64] = 1.0; }\n' $name >h.tile
        answered 0 1
        [ "$status" = 1 ] || ${CC:-cc} -x c -std=c11 -fsyntax-only -Wall -Werror h.h
    done
}
