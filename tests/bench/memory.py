"""Kernels that move memory: ours (memory.tile) beside PyTorch's, torch.compile's and hand-written Triton."""
import sys

import torch
import triton
import triton.language as tl

from case import LETTER, Case, best_of, poison, relative_error

SHAPES = [(16384, 1024), (16384, 4096), (8192, 16384), (4096, 65536)]


# ---- peers in Triton ---------------------------------------------------------------------------------------------------

@triton.jit
def triton_saxpy(x, y, a, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(y + i, (a * tl.load(x + i, mask=m).to(tl.float32) + tl.load(y + i, mask=m).to(tl.float32)).to(y.dtype.element_ty), mask=m)


@triton.jit
def triton_add(x, y, z, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(z + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def triton_softmax(x, y, stride, n, B: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, B)
    v = tl.load(x + r * stride + c, mask=c < n, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + r * stride + c, (e / tl.sum(e, 0)).to(y.dtype.element_ty), mask=c < n)


@triton.jit
def triton_layernorm(x, w, b, y, stride, n, eps, B: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, B)
    m = c < n
    v = tl.load(x + r * stride + c, mask=m, other=0.0).to(tl.float32)
    mean = tl.sum(v, 0) / n
    d = tl.where(m, v - mean, 0.0)
    s = tl.rsqrt(tl.sum(d * d, 0) / n + eps)
    o = d * s * tl.load(w + c, mask=m).to(tl.float32) + tl.load(b + c, mask=m).to(tl.float32)
    tl.store(y + r * stride + c, o.to(y.dtype.element_ty), mask=m)


@triton.jit
def triton_rmsnorm(x, w, y, stride, n, eps, B: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, B)
    m = c < n
    v = tl.load(x + r * stride + c, mask=m, other=0.0).to(tl.float32)
    s = tl.rsqrt(tl.sum(v * v, 0) / n + eps)
    tl.store(y + r * stride + c, (v * s * tl.load(w + c, mask=m).to(tl.float32)).to(y.dtype.element_ty), mask=m)


@triton.jit
def triton_rowsum(x, s, stride, n, B: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, B)
    v = tl.load(x + r * stride + c, mask=c < n, other=0.0).to(tl.float32)
    tl.store(s + r, tl.sum(v, 0))


def flat(kernel, n, *arguments):
    return best_of([lambda B=B, W=W: kernel[(triton.cdiv(n, B),)](*arguments, n, B=B, num_warps=W)
                    for B in (1024, 2048, 4096, 8192) for W in (4, 8)])


def by_rows(kernel, m, n, *arguments):
    B = triton.next_power_of_2(n)
    return best_of([lambda W=W: kernel[(m,)](*arguments, B=B, num_warps=W) for W in (4, 8, 16, 32)])


# ---- cases -------------------------------------------------------------------------------------------------------------

def compiled(function):
    torch._dynamo.reset()
    return torch.compile(function, mode="max-autotune-no-cudagraphs", dynamic=False)


def cases(ours, m, n, dtype, peers):
    """Yields Case of every kernel of this file on [m, n]."""
    letter, F = LETTER[dtype], torch.nn.functional
    size = torch.empty(0, dtype=dtype).element_size()
    x, g = (torch.randn(m, n, device="cuda", dtype=dtype) for _ in range(2))
    w, b = (torch.randn(n, device="cuda", dtype=dtype) for _ in range(2))
    y = {version: torch.empty_like(x) for version in ("ours", "triton")}
    flat_x, flat_g, flat_y = x.view(-1), g.view(-1), {k: v.view(-1) for k, v in y.items()}
    rows = min(m, 64)
    X, G, W, Bd = x[:rows].double(), g[:rows].double(), w.double(), b.double()
    total = m * n

    def case(name, moved, reference, our, torch_function, triton_launch, argument=(x,), output=None, start=None):
        output = y["ours"] if output is None else output

        def versions():
            out = {"ours": ours.bind(f"{name}_{letter}", *our)}
            if "torch" in peers and torch_function:
                out["torch"] = lambda: torch_function(*argument)
            if "inductor" in peers and torch_function:
                fused = compiled(torch_function)
                try:
                    fused(*argument)
                    out["inductor"] = lambda: fused(*argument)
                except Exception as problem:
                    print(f"inductor failed: {str(problem)[:100]}", file=sys.stderr)
            tuned = triton_launch() if "triton" in peers and triton_launch else None
            if tuned:
                out["triton"] = tuned
            return out

        def errors(launches):
            poison(output, start)
            launches["ours"]()
            return {"ours": relative_error(output, reference())}
        return Case(name, {"shape": f"{m}x{n}", "dtype": letter}, moved, "GB/s", None, versions, errors)

    yield case("softmax", 2 * total * size, lambda: torch.softmax(X, -1), (x, y["ours"]), lambda t: torch.softmax(t, -1),
               lambda: by_rows(triton_softmax, m, n, x, y["triton"], n, n))
    yield case("layernorm", 2 * total * size, lambda: F.layer_norm(X, (n,), W, Bd, 1e-5), (x, w, b, y["ours"], 1e-5),
               lambda t: F.layer_norm(t, (n,), w, b, 1e-5),
               lambda: by_rows(triton_layernorm, m, n, x, w, b, y["triton"], n, n, 1e-5))
    yield case("rmsnorm", 2 * total * size, lambda: F.rms_norm(X, (n,), W, 1e-5), (x, w, y["ours"], 1e-5),
               lambda t: F.rms_norm(t, (n,), w, 1e-5), lambda: by_rows(triton_rmsnorm, m, n, x, w, y["triton"], n, n, 1e-5))
    yield case("gelu", 2 * total * size, lambda: F.gelu(X, approximate="tanh"), (flat_x, flat_y["ours"]),
               lambda t: F.gelu(t, approximate="tanh"), None)
    yield case("swiglu", 3 * total * size, lambda: F.silu(X) * G, (flat_x, flat_g, flat_y["ours"]),
               lambda t, u: F.silu(t) * u, None, (x, g))
    yield case("add", 3 * total * size, lambda: X + G, (flat_x, flat_g, flat_y["ours"]),
               lambda t, u: torch.add(t, u, out=y["triton"]),
               lambda: flat(triton_add, total, flat_x, flat_g, flat_y["triton"]), (x, g))
    sums = {version: torch.empty(m, device="cuda", dtype=torch.float32) for version in ("ours", "triton")}
    yield case("rowsum", total * size, lambda: X.sum(-1), (x, sums["ours"]), lambda t: t.sum(-1, dtype=torch.float32),
               lambda: by_rows(triton_rowsum, m, n, x, sums["triton"], n, n), output=sums["ours"])
    yield case("saxpy", 3 * total * size, lambda: 0.5 * X + G, (0.5, flat_x, flat_y["ours"]),
               lambda t: torch.add(g, t, alpha=0.5, out=y["triton"]),
               lambda: flat(triton_saxpy, total, flat_x, flat_y["triton"], 0.5), start=g)
