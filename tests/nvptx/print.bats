#!/usr/bin/env bats
# PTX of large functions, which targets/nvptx prints itself; gpu_test runs both ways of printing.

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# write FILE RESULT: a product of 128x128 f32 in bf16.
write() {
    cat >"$1" <<END
kernel made(a: in bf16[M, K], b: in bf16[K, N], old: in f32[M, N], o: out f32[M, N], p: out f32[M, N])
    grid(m: cdiv(M, 128), n: cdiv(N, 128))
{
    var s = f32[128, 128](0);
    for k in 0..K step 32 s += a[m*128 +: 128, k +: 32] @ b[k +: 32, n*128 +: 128];
    $2
}
END
}

@test "a large function is printed without LLVM's back end, a small one and one with lines by it" {
    write large.tile 'let x = gelu(s); o[m*128 +: 128, n*128 +: 128] = gelu(x + old[m*128 +: 128, n*128 +: 128]);
    p[m*128 +: 128, n*128 +: 128] = gelu(s * 0.5) * x;'
    write small.tile 'o[m*128 +: 128, n*128 +: 128] = s;'
    "$TILECC" -arch=sm_90a -w --emit=ptx -o - large.tile >large.ptx
    "$TILECC" -arch=sm_90a -w --emit=ptx -o - small.tile >small.ptx
    "$TILECC" -arch=sm_90a -w -lineinfo --emit=ptx -o - large.tile >lines.ptx
    grep -q 'Made by tilecc' large.ptx
    for other in small lines; do
        grep -q 'LLVM NVPTX' $other.ptx
        [ "$(grep -c 'Made by tilecc' $other.ptx)" -eq 0 ]
    done
}
