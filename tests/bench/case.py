"""One row of a comparison, and what the groups of rows share."""
import math

import torch
import triton

LETTER = {torch.bfloat16: "bf16", torch.float32: "f32", torch.float16: "f16"}
DTYPE = {letter: dtype for dtype, letter in LETTER.items()}


class Case:
    """kernel, what: texts for the tables; work: bytes or operations of one launch; unit: GB/s or TFLOP/s; baseline: the version that
    ratios are taken to (None: the best peer); versions(): {name: launch}, "ours" first; errors(launches): {name: relative error
    against float64}; info(): what of ours runs, or None."""

    def __init__(self, kernel, what, work, unit, baseline, versions, errors, info=None):
        self.kernel, self.what, self.work, self.unit, self.baseline = kernel, what, work, unit, baseline
        self.versions, self.errors, self.info = versions, errors, info


def best_of(candidates):
    """The fastest of several configurations of one peer, by a short timing; what does not compile is left out."""
    best, best_time = None, math.inf
    for launch in candidates:
        try:
            t = triton.testing.do_bench(launch, warmup=5, rep=20, return_mode="median")
        except Exception as problem:
            print(f"# a configuration of Triton fails: {type(problem).__name__}: {str(problem)[:120]}", flush=True)
            continue
        if t < best_time:
            best, best_time = launch, t
    return best


def poison(output, start=None):
    """NaN everywhere; what is read and written starts as `start`."""
    output.view(-1).copy_(start.reshape(-1)) if start is not None else output.fill_(float("nan"))


def relative_error(output, reference):
    """‖output - reference‖ / ‖reference‖ over the first elements; NaN if the output holds one anywhere."""
    torch.cuda.synchronize()
    if torch.isnan(output).any():
        return math.nan
    got = output.reshape(-1)[:reference.numel()].view(reference.shape).double()
    return ((got - reference).norm() / reference.norm()).item()
