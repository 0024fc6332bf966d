#!/usr/bin/env bats
# Instances of `specialize` whose code is that of another are made and stored once.

load helper

write() { # CLAUSES
    cat >f.tile <<END
kernel k(a: in strided f16[M, K], b: in strided f16[K, N], c: out f16[M, N])
    grid(m: cdiv(M, 128), n: cdiv(N, 128))
    $1
{
    var acc = f32[128, 128](0);
    for k in 0..K step 32 acc += a[m*128 +: 128, k +: 32] @ b[k +: 32, n*128 +: 128];
    c[m*128 +: 128, n*128 +: 128] = f16(acc);
}
kernel rows(x: in f32[M, N], y: out f32[M, N]) grid(i: M) $2 { y[i, 0 +: 64] = x[i, 0 +: 64] * 2.0; }
END
}
# instances KERNEL COUNT: of sm_90a, with an image each
instances() {
    expect 0 tilecc -arch=sm_90a f.tile -o f.o
    "$TILECC" info f.o >listed
    sed -n "/^kernel  f_$1:/,/^kernel/p" listed | grep -q "sm_90a: $2 instances" || { cat listed; return 1; }
    [ "$(grep -c "^image   f_$1__" listed)" = "$2" ] || { cat listed; return 1; }
}

@test "conditions that are automatic facts make no instance" {
    write '' ''
    instances k 5
    size=$(stat -c %s f.o)
    for clause in 'specialize(a.stride[1] == 1, b.stride[1] == 1)' \
        'specialize(a.stride[1] == 1, b.stride[1] == 1) specialize(a.stride[1] == 1, b.stride[0] == 1)' \
        'specialize(b.stride[0] == 1, a.stride[0] == 1) specialize(b.stride[0] == 1, a.stride[0] == 1)' \
        'specialize(1 == a.stride[1])' 'specialize(a.stride[1] == 1) specialize(b.stride[1] == 1)'; do
        write "$clause" ''
        instances k 5 || { echo "$clause"; false; }
        [ $(($(stat -c %s f.o) - size)) -le 256 ]
    done
}

@test "conditions that the code makes use of make one, and those said twice one" {
    write '' ''
    instances rows 2
    write '' 'specialize(N == 64)'
    instances rows 3
    write '' 'specialize(N == 64) specialize(64 == N) specialize(N == 64)'
    instances rows 3
    write 'specialize(K == 64)' ''
    instances k 9
}

@test "conditions on scalars that the code makes no use of make no instance" {
    write '' 'specialize(N == 64)'
    sed -i 's/^kernel rows(/kernel rows(n: i64, m: i32, f: bool, /' f.tile
    instances rows 3
    for clause in 'specialize(n == 3)' 'specialize(n > 7) specialize(f)' 'specialize(n % 16 == 0, (n \& 15) == 0)' \
        'specialize(n * n > n - 1) specialize(f, n == m)'; do
        write '' 'specialize(N == 64)'
        sed -i "s/^kernel rows(/kernel rows(n: i64, m: i32, f: bool, /; s/specialize(N == 64)/& $clause/" f.tile
        instances rows 3 || { echo "$clause"; false; }
        expect 0 tilecc -arch=cpu f.tile -o f.o
        "$TILECC" info f.o | sed -n '/^kernel  f_rows:/,/^kernel/p' | grep -q 'cpu-baseline: 2 instances'
    done
    sed -i 's/ \* 2.0/ * (n == 3 ? 2.0 : f32(n))/; s/specialize(n .*) {/specialize(n == 3) {/' f.tile
    instances rows 4
}

@test "the same code for a GPU is stored once, whatever its instances are for" {
    cat >f.tile <<'END'
enum mode { plain, same, twice }
kernel copy<T: {i32, u32, f32, f64}>(x: in T[N], y: out T[N]) grid(i: cdiv(N, 256)) { y[i*256 +: 256] = x[i*256 +: 256]; }
kernel told(x: in f32[N], y: out f32[N]) grid(i: cdiv(N, 256)) specialize(N % 16 == 0) specialize((N & 15) == 0) { y[i*256 +: 256] = x[i*256 +: 256]; }
kernel scaled<M: mode>(x: in f32[N], y: out f32[N]) grid(i: cdiv(N, 256)) { y[i*256 +: 256] = x[i*256 +: 256] * (M == mode.twice ? 2.0 : 1.0); }
kernel other(a: in f32[N], b: out f32[N]) grid(i: cdiv(N, 256)) { b[i*256 +: 256] = a[i*256 +: 256]; }
END
    expect 0 tilecc -arch=sm_90a f.tile -o f.o
    "$TILECC" info f.o >listed
    for counts in 'copy 4' 'told 3' 'scaled 4' 'other 2'; do
        read -r kernel images <<<"$counts"
        [ "$(grep -c "^image   f_${kernel}_" listed)" = "$images" ] || { cat listed; return 1; }
    done
    # each instance is told with what it became, beside the others of its image
    for name in i32 u32 f32 f64; do
        [ "$(grep -c "^        copy<$name> sm_90a .*registers" listed)" = 2 ] || { cat listed; return 1; }
    done
    # a file of its own holds the instance's own name
    expect 0 tilecc -arch=sm_90a --emit=cubin --spec 'copy<u32> sm_90a general' f.tile -o one.cubin
    grep -q f_copy_u32__ one.cubin
}

@test "the CPU's code is made once, too, and a call finds it" {
    write 'specialize(a.stride[1] == 1, b.stride[1] == 1)' ''
    expect 0 tilecc -arch=cpu f.tile -o f.o
    "$TILECC" info f.o | sed -n '/^kernel  f_k:/,/^kernel/p' | grep -q 'cpu-baseline: 2 instances'
    "$TILECC" -arch=cpu -Rpass=instance f.tile -o f.o 2>&1 | grep -c 'instance: k cpu' >count
    [ "$(cat count)" = 2 ]
}

@test "an instance asked for by its name is made whatever others are" {
    write 'specialize(a.stride[1] == 1, b.stride[1] == 1)' ''
    expect 0 tilecc -arch=sm_90a --emit=ptx --spec 'k sm_90a special1 a.stride[1]=1 b.stride[1]=1 aligned' -o one.ptx f.tile
    grep -q 'entry f_k__0' one.ptx
}
