"""Products: examples/matmul.tile as written, for sm_90a, and its text for sm_80 assembled for this GPU, beside cuBLAS
(torch.matmul) and a persistent Triton kernel that copies by tensor descriptors.  NT: b is the transposed view of an [N, K] tensor."""
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from case import DTYPE, Case, best_of, poison, relative_error

SIZES = [(2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192), (4096, 14336, 4096)]
ROWS = 256  # of the result, spread over it, that are compared with float64
# BM, BN, BK, stages, warps, group of block rows
CONFIGURATIONS = [(128, 256, 64, 3, 8, 8), (128, 256, 64, 4, 8, 8), (128, 128, 64, 4, 8, 8), (128, 128, 64, 4, 4, 8)]


@triton.jit
def triton_product(a, b, c, m, n, k, step, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
                   TRANSPOSED: tl.constexpr, OUT: tl.constexpr):
    rows, columns = tl.cdiv(m, BM), tl.cdiv(n, BN)
    for tile in tl.range(tl.program_id(0), rows * columns, step, flatten=True):
        first = tile // (GROUP * columns) * GROUP
        height = min(rows - first, GROUP)
        inside = tile % (GROUP * columns)
        i = (first + inside % height) * BM
        j = inside // height * BN
        total = tl.zeros((BM, BN), dtype=tl.float32)
        for t in range(tl.cdiv(k, BK)):
            x = a.load([i, t * BK])
            if TRANSPOSED:
                y = b.load([j, t * BK]).T
            else:
                y = b.load([t * BK, j])
            total = tl.dot(x, y, total)
        c.store([i, j], total.to(OUT))


def tuned_triton(a, stored_b, c, transposed, processors):
    """stored_b: [N, K] if transposed, else [K, N].  None when no configuration runs."""
    m, k = a.shape
    n = c.shape[1]
    out = tl.bfloat16 if c.dtype == torch.bfloat16 else tl.float16

    def candidate(bm, bn, bk, stages, warps, group):
        block_b = [bn, bk] if transposed else [bk, bn]
        x, y = TensorDescriptor.from_tensor(a, [bm, bk]), TensorDescriptor.from_tensor(stored_b, block_b)
        z = TensorDescriptor.from_tensor(c, [bm, bn])
        blocks = min(processors, triton.cdiv(m, bm) * triton.cdiv(n, bn))
        return lambda: triton_product[(blocks,)](x, y, z, m, n, k, blocks, BM=bm, BN=bn, BK=bk, GROUP=group, TRANSPOSED=transposed,
                                                 OUT=out, num_stages=stages, num_warps=warps)
    return best_of([candidate(*configuration) for configuration in CONFIGURATIONS])


def cases(ours, assembled, sizes, dtypes, layouts, peers):
    """ours: the library; assembled: code for sm_80, or None."""
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    for m, n, k in sizes:
        for letter in dtypes:
            dtype = DTYPE[letter]
            a = torch.randn(m, k, device="cuda", dtype=dtype)
            stored = torch.randn(n, k, device="cuda", dtype=dtype)
            for layout in layouts:
                yield product(ours, assembled, a, stored if layout == "NT" else stored.t().contiguous(), layout, letter, processors, peers)


def product(ours, assembled, a, stored, layout, letter, processors, peers):
    transposed = layout == "NT"
    b = stored.t() if transposed else stored
    (m, k), n = a.shape, b.shape[1]
    outputs = {version: torch.empty(m, n, device="cuda", dtype=a.dtype) for version in ("ours", "sm_80", "cublas", "triton")}
    entry = f"matmul_{letter}_{letter}"

    def versions():
        out = {"ours": ours.bind(entry, a, b, None, outputs["ours"], 0)}
        older = assembled.bind_product(entry, a, b, outputs["sm_80"], processors) if assembled else None
        if older:
            out["sm_80"] = older
        out["cublas"] = lambda: torch.matmul(a, b, out=outputs["cublas"])
        tuned = tuned_triton(a, stored, outputs["triton"], transposed, processors) if "triton" in peers else None
        if tuned:
            out["triton"] = tuned
        return out

    def errors(launches):
        chosen = torch.linspace(0, m - 1, min(m, ROWS), device="cuda").long()
        reference = a[chosen].double() @ b.double()
        found = {}
        for version, launch in launches.items():
            poison(outputs[version])
            launch()
            torch.cuda.synchronize()
            whole = relative_error(outputs[version][chosen], reference)
            found[version] = float("nan") if torch.isnan(outputs[version]).any() else whole
        return found

    def info():
        return ours.query(entry, a, b, None, outputs["ours"], 0)
    return Case("matmul", {"shape": f"{m}x{n}x{k}", "dtype": letter, "layout": layout}, 2 * m * n * k, "TFLOP/s", "cublas", versions,
                errors, info)
