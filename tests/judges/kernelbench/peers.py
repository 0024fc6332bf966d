#!/usr/bin/env python3
"""Times the references of KernelBench, eager and compiled, and our candidates in the same harness.

    peers.py LEVEL [--library LIBJUDGE] [--warm JOBS] [--json FILE] [WORD ...]
    peers.py LEVEL --library LIBJUDGE --double [--json FILE] [WORD ...]

LEVEL is KernelBench's folder of problems.  f32 throughout: tf32 is allowed to nobody.  Times are medians of events over
half a second, at least three runs.  --warm compiles with so many processes first, so that the pass that measures finds
everything in the compiler's cache.  --double compiles nothing: whole results of ours and of PyTorch beside its own in f64,
computed on the device; a WORD that begins with = is the number of a problem."""
import argparse, importlib.util, json, subprocess, sys, tempfile, time
from pathlib import Path

import torch

from model import candidate


def load(path, text=None):
    if text is not None:
        file = tempfile.NamedTemporaryFile('w', suffix='.py', delete=False)
        file.write(text)
        file.close()
        path = file.name
    spec = importlib.util.spec_from_file_location('problem', path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def on_device(values):
    return [v.cuda() if torch.is_tensor(v) else v for v in values]


def measure(run):
    run()
    times, begin = [], time.time()
    while len(times) < 3 or (time.time() - begin < 0.5 and len(times) < 100):
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        run()
        last.record()
        torch.cuda.synchronize()
        times.append(1e3 * first.elapsed_time(last))
    return sorted(times)[len(times) // 2]


def open_model(path):
    """The problem's module, its inputs and its model, on the device and the same each time."""
    module = load(path)
    torch.manual_seed(1)
    inputs = on_device(module.get_inputs())
    torch.manual_seed(2)
    return module, inputs, module.Model(*module.get_init_inputs()).cuda()


def open_ours(path, library, module):
    """Our candidate for it, with the numbers that its model has."""
    torch.manual_seed(2)
    return load(path, candidate(library, path)).ModelNew(*module.get_init_inputs()).cuda()


def judge(path, library, compile_only):
    with torch.no_grad(), torch.device('cuda'):
        module, inputs, model = open_model(path)
        compiled = torch.compile(model)
        if compile_only:
            compiled(*inputs)
            return {}
        row = {'name': path.stem, 'eager_us': measure(lambda: model(*inputs)),
               'compiled_us': measure(lambda: compiled(*inputs))}
        if library:
            ours = open_ours(path, library, module)
            want, got = model(*inputs), ours(*inputs)
            if want.dtype == torch.int64:
                row['right'] = bool((want == got).float().mean() > 0.9999)
            else:
                row['right'] = bool(torch.allclose(want, got, rtol=1e-3, atol=1e-4))
            row['difference'] = float((want.double() - got.double()).abs().max() / want.double().abs().max())
            del want, got
            row['ours_us'] = measure(lambda: ours(*inputs))
        return row


def distance(got, want):
    """The largest difference, of the largest element; NaN belongs to NaN."""
    got = got.double()
    off = torch.where((got == want) | (got.isnan() & want.isnan()), 0.0, (got - want).abs())
    return float(off.nan_to_num(nan=float('inf')).max() / want[want.isfinite()].abs().max().clamp(min=1e-300))


def judge_double(path, library):
    """Right: no more than four times as far from f64 as PyTorch's f32 is, or 1e-5 of the largest element."""
    with torch.no_grad(), torch.device('cuda'):
        module, inputs, model = open_model(path)
        ours = open_ours(path, library, module)
        row = {'name': path.stem, 'eager_us': measure(lambda: model(*inputs)), 'ours_us': measure(lambda: ours(*inputs))}
        got, eager = ours(*inputs), model(*inputs)
        wide = [x.double() if torch.is_tensor(x) and x.is_floating_point() else x for x in inputs]
        want = model.double()(*wide).double()
        row.update(elements=want.numel(), difference=distance(got, want), eager_difference=distance(eager, want))
        row['right'] = got.shape == want.shape and row['difference'] <= max(4 * row['eager_difference'], 1e-5)
        return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('level')
    parser.add_argument('words', nargs='*')
    parser.add_argument('--library')
    parser.add_argument('--warm', type=int, default=0)
    parser.add_argument('--double', action='store_true')
    parser.add_argument('--share', help='I/N: part I of N, compiled alone')
    parser.add_argument('--json')
    arguments = parser.parse_intermixed_args()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    paths = sorted(Path(arguments.level).glob('*.py'), key=lambda p: int(p.name.split('_')[0]))
    asked = lambda name, word: name.startswith(word[1:] + '_') if word[0] == '=' else word in name
    paths = [p for p in paths if not arguments.words or any(asked(p.name, w) for w in arguments.words)]
    if arguments.share:
        i, n = map(int, arguments.share.split('/'))
        paths = paths[i::n]
    if arguments.warm:
        again = [sys.executable, __file__, arguments.level, *arguments.words]
        workers = [subprocess.Popen(again + ['--share', f'{i}/{arguments.warm}'], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL) for i in range(arguments.warm)]
        for worker in workers:
            worker.wait()
    out = open(arguments.json, 'w') if arguments.json else None
    for path in paths:
        try:
            if arguments.double:
                row = judge_double(path, arguments.library)
            else:
                row = judge(path, arguments.library, bool(arguments.share))
        except Exception as error:  # one problem must not end the others
            row = {'name': path.stem, 'error': f'{type(error).__name__}: {error}'[:300]}
        torch.cuda.empty_cache()
        torch._dynamo.reset()
        print(json.dumps(row), flush=True)
        if out:
            print(json.dumps(row), file=out, flush=True)


if __name__ == '__main__':
    main()
