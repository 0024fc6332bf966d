#!/usr/bin/env bats
# PTX that targets/nvptx prints itself; gpu_test runs both ways of printing.

setup() {
    cd "$BATS_TEST_TMPDIR" || return 1
    cat >made.tile <<'END'
fn twice(x: f32) -> f32 { return gelu(x) * 2.0; }

kernel made(a: in bf16[M, K], b: in bf16[K, N], old: in f32[M, N], o: out f32[M, N])
    grid(m: cdiv(M, 128), n: cdiv(N, 128))
{
    var s = f32[128, 128](0);
    for k in 0..K step 32 s += a[m*128 +: 128, k +: 32] @ b[k +: 32, n*128 +: 128];
    o[m*128 +: 128, n*128 +: 128] = twice(s + old[m*128 +: 128, n*128 +: 128]);
}
END
}

@test "kernels are printed without LLVM's back end, with lines and without them in the same instructions" {
    for arch in sm_75 sm_80 sm_90a sm_120a; do
        "$TILECC" -arch=$arch -w --emit=ptx -o - made.tile >plain.ptx
        "$TILECC" -arch=$arch -w -lineinfo --emit=ptx -o - made.tile >lines.ptx
        [ "$(grep -c 'Made by tilecc' plain.ptx)" -gt 0 ]
        [ "$(grep -c 'LLVM NVPTX' plain.ptx)" -eq 0 ]
        grep -q 'inlined_at' lines.ptx
        awk '/^\t\.section/ { names = 1 } !names && !/^\t\.(loc|file)\t/ { print } /^\t}/ { names = 0 }' lines.ptx >without.ptx
        cmp plain.ptx without.ptx
    done
}

@test "a function that other functions stay in is printed by LLVM's back end, and so is -O0" {
    cat >rest.tile <<'END'
kernel rest(x: in f32[N], y: in f32[N], r: out f32[N]) grid(b: cdiv(N, 256))
{
    r[b*256 +: 256] = x[b*256 +: 256] % y[b*256 +: 256];
}
END
    "$TILECC" -arch=sm_80 -w --emit=ptx -o - rest.tile >rest.ptx
    grep -q 'LLVM NVPTX' rest.ptx
    "$TILECC" -O0 -arch=sm_80 -w --emit=ptx -o - made.tile >plain.ptx
    grep -q 'LLVM NVPTX' plain.ptx
}
