#!/usr/bin/env python3
"""Times our objects beside what users would pick instead, in one process, on the same random data.

The objects under test are linked into a shared library (tests/bench/build) and called through ctypes, exactly as a C program would
call them.  Every result is checked against float64 in the same run, outputs are poisoned first, rounds go in rotated order, the L2
cache is flushed before each sample, and all samples go into the JSON with the GPU's clocks and power.  Tables and plots are made
from the JSON alone: see table.py.

Groups of rows: memory (memory.py), matmul (products.py), attention (attention.py), rewritten (rewritten.py: only when asked for).

usage: compare.py --library libbench.so --out results.json [--only matmul,attention,softmax] [--sizes 4096,4096x14336x4096]
                  [--dtype bf16,f16] [--layouts NN,NT] [--lengths 1024,4096] [--heads 128,64] [--masks full,causal]
                  [--assembled FOLDER] [--peers torch,inductor,triton,flash,flex] [--rounds 10] [--commit ID] [--seconds 330]
"""
import argparse
import json
import math
import os
import sys
import time

from table import is_right
from timing import Meter, Timer, environment, median, ratios

MEMORY_KERNELS = ["softmax", "layernorm", "rmsnorm", "gelu", "swiglu", "add", "rowsum", "saxpy"]
GROUPS = ["memory", "matmul", "attention", "rewritten"]


def list_of(convert):
    return lambda text: [convert(part) for part in text.split(",") if part]


def size(text):
    """4096 or 4096x14336x4096: M, N, K."""
    parts = tuple(int(part) for part in text.split("x"))
    if len(parts) not in (1, 3) or min(parts) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is neither N nor MxNxK")
    return parts * 3 if len(parts) == 1 else parts


def shape(text):
    parts = tuple(int(part) for part in text.split("x"))
    if len(parts) != 2 or min(parts) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not MxN")
    return parts


def one_of(*words):
    def convert(text):
        if text not in words:
            raise argparse.ArgumentTypeError(f"'{text}' is none of {', '.join(words)}")
        return text
    return convert


def recorded_commit():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "commit")
    if not os.path.exists(path):
        return "unknown"
    with open(path) as file:
        return file.read().strip()


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True, help="shared library of our objects")
    parser.add_argument("--out", required=True, help="JSON to write")
    parser.add_argument("--only", type=list_of(str), default=[], help="groups, or kernels of the group memory")
    parser.add_argument("--sizes", type=list_of(size), default=None, help="products")
    parser.add_argument("--shapes", type=list_of(shape), default=None, help="kernels that move memory")
    parser.add_argument("--lengths", type=list_of(int), default=None, help="attention")
    parser.add_argument("--heads", type=list_of(int), default=None, help="attention: head sizes")
    parser.add_argument("--masks", type=list_of(one_of("full", "causal")), default=["full", "causal"])
    parser.add_argument("--dtype", type=list_of(one_of("bf16", "f16", "f32")), default=["bf16"])
    parser.add_argument("--layouts", type=list_of(one_of("NN", "NT")), default=["NN", "NT"])
    parser.add_argument("--peers", type=list_of(one_of("torch", "inductor", "triton", "flash", "flex")),
                        default=["torch", "inductor", "triton"], help="cuBLAS and cuDNN are always there")
    parser.add_argument("--assembled", default=None, help="folder with sm_80 text assembled for this GPU")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--round-ms", type=float, default=30.0, help="GPU time of a version in a round")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no row after this time")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--commit", default=recorded_commit(), help="default: what the file `commit` beside this program says")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.only if name not in GROUPS + MEMORY_KERNELS]
    if unknown:
        parser.error(f"--only {unknown[0]}: neither a group ({', '.join(GROUPS)}) nor a kernel ({', '.join(MEMORY_KERNELS)})")
    options.seed = options.seed if options.seed is not None else int(time.time())
    return options


def wanted(options, group, kernels=()):
    return not options.only or group in options.only or any(name in options.only for name in kernels)


def rows(options, ours, assembled):
    """All cases asked for.  Groups are imported when they come: each needs Triton or PyTorch's newer parts."""
    matrix_types = [letter for letter in options.dtype if letter != "f32"]
    if wanted(options, "matmul"):
        import products
        yield from products.cases(ours, assembled, options.sizes or products.SIZES, matrix_types, options.layouts, options.peers)
    if wanted(options, "attention"):
        import attention
        yield from attention.cases(ours, options.lengths or attention.LENGTHS, options.heads or attention.HEAD_SIZES, matrix_types,
                                   [mask == "causal" for mask in options.masks], options.peers)
    if "rewritten" in options.only:
        import rewritten
        yield from rewritten.cases(ours, assembled)
    if wanted(options, "memory", MEMORY_KERNELS):
        import memory
        from case import DTYPE
        for letter in options.dtype:
            for m, n in options.shapes or memory.SHAPES:
                for case in memory.cases(ours, m, n, DTYPE[letter], options.peers):
                    if not options.only or "memory" in options.only or case.kernel in options.only:
                        yield case


def rate(work, unit, milliseconds):
    return work / milliseconds / (1e6 if unit == "GB/s" else 1e9)


def run_case(case, timer, options):
    """The row of the JSON.  What fails is a row that says so."""
    row = {"kernel": case.kernel, **case.what, "work": case.work, "unit": case.unit}
    try:
        launches = case.versions()
        row["info"] = case.info() if case.info else None
        row["errors"] = case.errors(launches)
        samples, states = timer.measure(launches, options.rounds, options.round_ms)
        row.update(samples=samples, clocks=states)
        medians = {name: median([median(r) for r in values]) for name, values in samples.items()}
        peers = [name for name in medians if name not in ("ours", "sm_80")]
        row["baseline"] = case.baseline or (min(peers, key=medians.get) if peers else None)
        if row["baseline"] in medians:
            row["ratios"] = {name: ratios(samples, name, row["baseline"]) for name in samples if name != row["baseline"]}
    except Exception as problem:
        row["failed"] = f"{type(problem).__name__}: {str(problem)[:300]}"
    return row


def line(row):
    what = " ".join(str(row[key]) for key in ("kernel", "shape", "dtype", "layout", "mask") if key in row)
    if "failed" in row:
        return f"{what:44s} FAILED {row['failed']}"
    rates = "  ".join(f"{name} {rate(row['work'], row['unit'], median([median(r) for r in values])):7.1f}"
                      for name, values in row["samples"].items())
    text = f"{what:44s} {row['unit']}: {rates}"
    for name, values in row.get("ratios", {}).items():
        if name in ("ours", "sm_80"):
            text += f"  {name}/{row['baseline']} {median(values):.3f} [{min(values):.3f}..{max(values):.3f}]"
    clocks = row["clocks"]["ours"]
    text += f"  {median([c[0] for c in clocks]):.0f} MHz {median([c[2] for c in clocks]):.0f} W" if clocks else ""
    text += "  errors " + " ".join(f"{name} {value:.2e}" for name, value in row["errors"].items())
    return text + "".join(f"  WRONG: {name}" for name in row["errors"] if not is_right(row, name))


def warm_up(torch, seconds):
    """Clocks and power reach what they stay at."""
    x, end = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16), time.time() + seconds
    while time.time() < end:
        for _ in range(20):
            x @ x
        torch.cuda.synchronize()


def main(arguments):
    options = parse(arguments)
    import torch
    import triton
    from ours import Assembled, Ours
    torch.manual_seed(options.seed)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.empty(1, device="cuda")
    ours = Ours(options.library, torch.cuda.current_stream().cuda_stream)
    assembled = Assembled(options.assembled) if options.assembled else None
    timer = Timer(torch, Meter())
    result = {**environment(torch, triton, options.commit), "rounds": options.rounds, "round_ms": options.round_ms, "seed": options.seed,
              "arguments": arguments, "rows": []}
    begin, failed = time.time(), 0
    warm_up(torch, 1.0)
    for case in rows(options, ours, assembled):
        if time.time() - begin > options.seconds:
            print(f"out of time before {case.kernel} {case.what}", flush=True)
            break
        print(f"# {case.kernel} {' '.join(case.what.values())}", file=sys.stderr, flush=True)
        row = run_case(case, timer, options)
        failed += "failed" in row or not all(is_right(row, name) for name in ("ours", "sm_80"))
        result["rows"].append(row)
        print(line(row), flush=True)
        with open(options.out, "w") as out:  # after each row: a run that is cut short keeps what it measured
            json.dump(result, out)
        torch.cuda.empty_cache()
    print(f"# {len(result['rows'])} rows, {failed} failed or wrong, {time.time() - begin:.0f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
