#!/usr/bin/env python3
"""Times our objects beside what users would pick instead, in one process, on the same random data.

The object under test is linked into a shared library (cc -shared) and called through ctypes, exactly as a C program would call
it.  Peers: PyTorch's own kernels, torch.compile (Inductor), and hand-written Triton.  Every result is checked against float64 in
the same run, outputs are poisoned first, rounds are interleaved in rotating order, the L2 cache is flushed before each sample,
and all samples go into the JSON with the GPU's clocks and power.  Tables are made from the JSON alone: see table.py.

usage: compare.py --library libbench.so --out results.json [--rounds 5] [--shapes 16384x1024,...] [--only softmax,...]
                  [--commit ID] [--peers torch,inductor,triton]
"""
import argparse
import ctypes
import json
import math
import subprocess
import sys
import time

import torch
import triton
import triton.language as tl

SHAPES = [(16384, 1024), (16384, 4096), (8192, 16384), (4096, 65536)]
DEVICE = "cuda"
LETTER = {torch.bfloat16: "bf16", torch.float32: "f32", torch.float16: "f16"}


# ---- our side ----------------------------------------------------------------------------------------------------------

def view_struct(rank):
    class View(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("extent", ctypes.c_int64 * rank), ("stride", ctypes.c_int64 * rank)]
    return View


VIEW = {rank: view_struct(rank) for rank in range(1, 5)}


def view(tensor):
    rank = tensor.dim()
    return VIEW[rank](tensor.data_ptr(), (ctypes.c_int64 * rank)(*tensor.shape), (ctypes.c_int64 * rank)(*tensor.stride()))


class Ours:
    """Calls entry points of the library; a status other than 0 raises with the run time's own words."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.tile_last_error.restype = ctypes.c_char_p

    def bind(self, name, *arguments):
        """A function of no arguments that launches `name` on torch's current stream."""
        entry = getattr(self.library, name)
        values = [ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)]
        for argument in arguments:
            if isinstance(argument, torch.Tensor):
                values.append(ctypes.byref(view(argument)))
            elif isinstance(argument, float):
                values.append(ctypes.c_float(argument))
            else:
                values.append(ctypes.c_int64(argument))
        entry.restype = ctypes.c_int

        def launch():
            status = entry(*values)
            if status:
                raise RuntimeError(f"{name}: status {status}: {self.library.tile_last_error().decode()}")
        return launch


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


def best_of(candidates):
    """The fastest of several configurations of one peer, by a short timing."""
    best, best_time = None, math.inf
    for launch in candidates:
        try:
            t = triton.testing.do_bench(launch, warmup=5, rep=20, return_mode="median")
        except Exception:
            continue
        if t < best_time:
            best, best_time = launch, t
    return best


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
    """Yields name, bytes moved, {version: launch}, our output, reference on the first rows in float64, first content or None."""
    letter, F = LETTER[dtype], torch.nn.functional
    size = torch.empty(0, dtype=dtype).element_size()
    x, g = (torch.randn(m, n, device=DEVICE, dtype=dtype) for _ in range(2))
    w, b = (torch.randn(n, device=DEVICE, dtype=dtype) for _ in range(2))
    y = {version: torch.empty_like(x) for version in ("ours", "triton")}
    flat_x, flat_g, flat_y = x.view(-1), g.view(-1), {k: v.view(-1) for k, v in y.items()}
    rows = min(m, 64)
    X, G, W, Bd = x[:rows].double(), g[:rows].double(), w.double(), b.double()
    total = m * n

    def versions(our, torch_function=None, triton_launch=None, argument=(x,)):
        out = {"ours": our}
        if "torch" in peers and torch_function:
            out["torch"] = lambda: torch_function(*argument)
        if "inductor" in peers and torch_function:
            fused = compiled(torch_function)
            try:
                fused(*argument)
                out["inductor"] = lambda: fused(*argument)
            except Exception as problem:
                print(f"inductor failed: {str(problem)[:100]}", file=sys.stderr)
        if "triton" in peers and triton_launch:
            out["triton"] = triton_launch
        return out

    def case(name, moved, reference, our, torch_function, triton_launch, argument=(x,), output=None):
        return name, moved, versions(our, torch_function, triton_launch, argument), y["ours"] if output is None else output, reference, None

    yield case("softmax", 2 * total * size, torch.softmax(X, -1), ours.bind(f"softmax_{letter}", x, y["ours"]),
               lambda t: torch.softmax(t, -1), by_rows(triton_softmax, m, n, x, y["triton"], n, n))
    yield case("layernorm", 2 * total * size, F.layer_norm(X, (n,), W, Bd, 1e-5),
               ours.bind(f"layernorm_{letter}", x, w, b, y["ours"], 1e-5), lambda t: F.layer_norm(t, (n,), w, b, 1e-5),
               by_rows(triton_layernorm, m, n, x, w, b, y["triton"], n, n, 1e-5))
    yield case("rmsnorm", 2 * total * size, F.rms_norm(X, (n,), W, 1e-5), ours.bind(f"rmsnorm_{letter}", x, w, y["ours"], 1e-5),
               lambda t: F.rms_norm(t, (n,), w, 1e-5), by_rows(triton_rmsnorm, m, n, x, w, y["triton"], n, n, 1e-5))
    yield case("gelu", 2 * total * size, F.gelu(X, approximate="tanh"), ours.bind(f"gelu_{letter}", flat_x, flat_y["ours"]),
               lambda t: F.gelu(t, approximate="tanh"), None)
    yield case("swiglu", 3 * total * size, F.silu(X) * G, ours.bind(f"swiglu_{letter}", flat_x, flat_g, flat_y["ours"]),
               lambda t, u: F.silu(t) * u, None, (x, g))
    yield case("add", 3 * total * size, X + G, ours.bind(f"add_{letter}", flat_x, flat_g, flat_y["ours"]),
               lambda t, u: torch.add(t, u, out=y["triton"]), flat(triton_add, total, flat_x, flat_g, flat_y["triton"]), (x, g))
    sums = {version: torch.empty(m, device=DEVICE, dtype=torch.float32) for version in ("ours", "triton")}
    yield case("rowsum", total * size, X.sum(-1), ours.bind(f"rowsum_{letter}", x, sums["ours"]),
               lambda t: t.sum(-1, dtype=torch.float32), by_rows(triton_rowsum, m, n, x, sums["triton"], n, n), output=sums["ours"])
    saxpy = {"ours": ours.bind(f"saxpy_{letter}", 0.5, flat_x, flat_y["ours"])}
    if "torch" in peers:
        saxpy["torch"] = lambda: torch.add(g, x, alpha=0.5, out=y["triton"])
    if "triton" in peers:
        saxpy["triton"] = flat(triton_saxpy, total, flat_x, flat_y["triton"], 0.5)
    yield "saxpy", 3 * total * size, saxpy, y["ours"], 0.5 * X + G, g


def check(launch, output, reference, start):
    """‖ours - reference‖ / ‖reference‖ on the first rows.  Outputs are poisoned first; what is read and written starts as `start`."""
    output.copy_(start) if start is not None else output.fill_(float("nan"))
    launch()
    torch.cuda.synchronize()
    if torch.isnan(output).any():
        return math.nan
    got = output.view(-1)[:reference.numel()].view(reference.shape).double()
    return ((got - reference).norm() / reference.norm()).item()


# ---- timing ------------------------------------------------------------------------------------------------------------

def sample(launch, flush, repeats):
    """Milliseconds of `repeats` launches, each behind a flush of the L2 cache."""
    events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(repeats)]
    for begin, end in events:
        flush.zero_()
        begin.record()
        launch()
        end.record()
    torch.cuda.synchronize()
    return [begin.elapsed_time(end) for begin, end in events]


def median(values):
    values = sorted(values)
    return values[len(values) // 2]


def gpu_state():
    query = "clocks.sm,clocks.mem,power.draw,temperature.gpu"
    try:
        text = subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader,nounits"], capture_output=True,
                              text=True, timeout=10).stdout
        return dict(zip(query.split(","), (float(v) for v in text.splitlines()[0].split(","))))
    except Exception as problem:
        return {"error": str(problem)}


def measure(launches, flush, rounds, repeats):
    names, samples = list(launches), {name: [] for name in launches}
    for launch in launches.values():
        sample(launch, flush, 3)
    for r in range(rounds):
        for i in range(len(names)):
            name = names[(i + r) % len(names)]
            samples[name].append(sample(launches[name], flush, repeats))
    return samples


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--shapes", default=",".join(f"{m}x{n}" for m, n in SHAPES))
    parser.add_argument("--only", default="")
    parser.add_argument("--dtype", default="bf16", choices=["bf16", "f32"])
    parser.add_argument("--peers", default="torch,inductor,triton")
    parser.add_argument("--commit", default="unknown")
    options = parser.parse_args()
    torch.manual_seed(int(time.time()))
    dtype = {"bf16": torch.bfloat16, "f32": torch.float32}[options.dtype]
    ours, flush = Ours(options.library), torch.empty(256 << 20, dtype=torch.int8, device=DEVICE)
    properties = torch.cuda.get_device_properties(0)
    result = {"gpu": properties.name, "driver": subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
              capture_output=True, text=True).stdout.strip(), "torch": torch.__version__, "triton": triton.__version__,
              "cuda": torch.version.cuda, "commit": options.commit, "rounds": options.rounds, "repeats": options.repeats,
              "date": time.strftime("%Y-%m-%d"), "dtype": options.dtype, "cases": []}
    only = set(filter(None, options.only.split(",")))
    for m, n in (tuple(map(int, shape.split("x"))) for shape in options.shapes.split(",")):
        for name, moved, launches, output, reference, start in cases(ours, m, n, dtype, options.peers.split(",")):
            if only and name not in only:
                continue
            entry = {"kernel": name, "shape": f"{m}x{n}", "bytes": moved}
            try:
                entry["error"] = check(launches["ours"], output, reference, start)
                before = gpu_state()
                samples = measure(launches, flush, options.rounds, options.repeats)
                entry.update(samples=samples, state=[before, gpu_state()])
                medians = {k: [median(s) for s in v] for k, v in samples.items()}
                peers = [k for k in medians if k != "ours"]
                ratios = [min(medians[p][r] for p in peers) / medians["ours"][r] for r in range(options.rounds)] if peers else []
                entry["ratio"] = median(ratios) if ratios else None
                rates = "  ".join(f"{k} {moved / median(v) / 1e6:7.0f}" for k, v in medians.items())
                spread = f"[{min(ratios):.3f}..{max(ratios):.3f}]" if ratios else ""
                print(f"{name:10s} {m}x{n:<6d} GB/s: {rates}  ratio {entry['ratio'] or 0:.3f} {spread}  error {entry['error']}", flush=True)
            except Exception as problem:
                entry["failed"] = f"{type(problem).__name__}: {str(problem)[:300]}"
                print(f"{name:10s} {m}x{n} FAILED {entry['failed']}", flush=True)
            result["cases"].append(entry)
        torch.cuda.empty_cache()
        with open(options.out, "w") as out:  # after each shape: a run that is cut short keeps what it measured
            json.dump(result, out)


if __name__ == "__main__":
    main()
