/* Kernels whose synchronisation is changed: the examples' products and attention, rewritten forms, for two
 * generations. */
#define MATMUL "examples/matmul.tile"
#define ATTENTION "examples/attention.tile"
#define GRADIENTS "tests/exec/loops.tile"
#define REWRITTEN "tests/exec/rewritten.tile"
#define CONVOLVED "tests/interp/programs/convolved.tile"
#define SMALL_PRODUCT "70x264 264x40 40 70x40 =0"
#define TALL_PRODUCT "330x264 264x40 40 330x40 =0"
#define TALLER_PRODUCT "700x264 264x40 40 700x40 =0"
#define WIDE_PRODUCT "200x264 264x40 40 200x40 =0"
#define PRODUCT "200x200 200x264 264 200x264 =1"
#define SMALL_HEADS "1x2x200x64 1x1x300x64 1x1x300x64 1x2x200x64 1x2x200 =0.125"
#define HEADS "1x2x136x128 1x1x656x128 1x1x656x128 1x2x136x128 1x2x136 =0.125"
#define TWO_FACTORS "200x200 200x264 200x264"
static const struct kernel kernels[] = {
    {"matmul-90-small", MATMUL, "sm_90a", "matmul<bf16,bf16>[BM=64,BN=64,BK=32,stages=7]", TALL_PRODUCT, {6, 1}, true},
    {"matmul-80-small", MATMUL, "sm_80", "matmul<bf16,bf16>[BM=64,BN=64,BK=32]", SMALL_PRODUCT, {2, 1}, true},
    {"matmul-90-two-small",
     MATMUL,
     "sm_90a",
     "matmul<bf16,bf16>[BM=64,BN=64,BK=32,stages=7,cluster=2]",
     TALLER_PRODUCT,
     {11, 1},
     true},
    {"matmul-90-apart", MATMUL, "sm_90a", "matmul<bf16,bf16>[BM=128,BN=128]", WIDE_PRODUCT, {2, 1}, true},
    {"attention-90-small",
     ATTENTION,
     "sm_90a",
     "attention<bf16>[D=64,BM=64,BN=64,CAUSAL=false]",
     SMALL_HEADS,
     {4, 2, 1},
     true},
    {"gradients-90-small",
     GRADIENTS,
     "sm_90a",
     "attention_bwd<bf16>[D=64,BM=64,BN=64,CAUSAL=false]",
     "1x2x200x64 1x2x136x64 1x2x136x64 1x2x200x64 1x2x200 1x2x200 1x2x200x64 1x2x136x64 1x2x136x64 =0.125",
     {3, 2, 1},
     true},
    {"matmul-90", MATMUL, "sm_90a", "matmul<bf16,bf16>", PRODUCT, {2, 2}, false},
    {"matmul-90-two", MATMUL, "sm_90a", "matmul<bf16,bf16>[cluster=2]", PRODUCT, {2, 2}, false},
    {"matmul-80", MATMUL, "sm_80", "matmul<bf16,bf16>", PRODUCT, {2, 2}, false},
    {"attention-90", ATTENTION, "sm_90a", "attention<bf16>[D=128,CAUSAL=false]", HEADS, {2, 2, 1}, false},
    {"attention-90-causal", ATTENTION, "sm_90a", "attention<bf16>[D=128,CAUSAL=true]", HEADS, {2, 2, 1}, false},
    {"attention-90-64", ATTENTION, "sm_90a", "attention<bf16>[D=128,CAUSAL=true,BM=64]", HEADS, {3, 2, 1}, false},
    {"attention-90-192", ATTENTION, "sm_90a", "attention<bf16>[D=128,CAUSAL=false,BM=192]", HEADS, {1, 2, 1}, false},
    {"attention-80", ATTENTION, "sm_80", "attention<bf16>[D=128,CAUSAL=true]", HEADS, {2, 2, 1}, false},
    {"attention-80-full", ATTENTION, "sm_80", "attention<bf16>[D=128,CAUSAL=false]", HEADS, {2, 2, 1}, false},
    {"reversed-90", REWRITTEN, "sm_90a", "reversed", TWO_FACTORS, {2, 2}, false},
    {"whiled-90", REWRITTEN, "sm_90a", "whiled", TWO_FACTORS, {2, 2}, false},
    {"two-90", REWRITTEN, "sm_90a", "two", "200x200 200x264 200x200 200x264 200x264", {2, 2}, false},
    {"shared-90", REWRITTEN, "sm_90a", "shared", "200x200 200x264 200x264 200x264 200x264", {2, 3}, false},
    {"swapped-90", REWRITTEN, "sm_90a", "swapped", "264x200 200x200 264x200", {3, 1}, false},
    {"extra-90", REWRITTEN, "sm_90a", "extra", "200x200 264x200 200x264 200 200x264", {2, 2}, false},
    {"branched-90", REWRITTEN, "sm_90a", "branched", "200x200 200x264 200x264 =1", {2, 3}, false},
    {"sequence-90", REWRITTEN, "sm_90a", "sequence", "200x200 200x264 200x136 136x264 200x264", {2, 3}, false},
    {"nested-90", REWRITTEN, "sm_90a", "nested", TWO_FACTORS, {2}, false},
    {"added-90", REWRITTEN, "sm_90a", "added", TWO_FACTORS, {2, 3}, false},
    {"stored-90", REWRITTEN, "sm_90a", "stored", TWO_FACTORS, {4, 5}, false},
    {"helped-90", REWRITTEN, "sm_90a", "helped", "200x200 200x264 200x264 =150", {2, 3}, false},
    {"mixed-90", REWRITTEN, "sm_90a", "mixed", "200x200 200x264 200 200x264", {4, 5}, false},
    {"reversed-80", REWRITTEN, "sm_80", "reversed", TWO_FACTORS, {2, 2}, false},
    {"two-80", REWRITTEN, "sm_80", "two", "200x200 200x264 200x200 200x264 200x264", {2, 2}, false},
    {"shared-80", REWRITTEN, "sm_80", "shared", "200x200 200x264 200x264 200x264 200x264", {2, 3}, false},
    {"extra-80", REWRITTEN, "sm_80", "extra", "200x200 264x200 200x264 200 200x264", {2, 2}, false},
    {"sequence-80", REWRITTEN, "sm_80", "sequence", "200x200 200x264 200x136 136x264 200x264", {2, 3}, false},
    {"convolved-90", CONVOLVED, "sm_90a", "convolved", "3x70x72 3x2x72x40 70x40", {1, 2}, true},
    {"convolved-80", CONVOLVED, "sm_80", "convolved", "3x70x72 3x2x72x40 70x40", {1, 2}, true},
    {"nested-80", REWRITTEN, "sm_80", "nested", TWO_FACTORS, {2}, false},
    {"helped-80", REWRITTEN, "sm_80", "helped", "200x200 200x264 200x264 =150", {2, 3}, false},
    {"mixed-80", REWRITTEN, "sm_80", "mixed", "200x200 200x264 200 200x264", {4, 5}, false},
};
