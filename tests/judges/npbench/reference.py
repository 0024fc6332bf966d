#!/usr/bin/env python3
"""Makes results.txt, what NPBench's own NumPy programs give for the judge's inputs at small sizes:

    reference.py JUDGE NPBENCH [NAME ...] > results.txt

JUDGE is the program that ../build makes of this suite, NPBENCH a checkout of spcl/npbench at f2d7f27.  With names only the
lines of these programs are made.  Stored of each result are its sum, the sum of its absolute values, and some elements."""
import importlib.util, json, subprocess, sys
from pathlib import Path
import numpy as np

ELEMENTS = 24


def plain(name):
    return name.lower().replace('_', '')


def read_inputs(judge, name, arguments):
    """Sizes by name, and of each tensor its name, array, and whether it is a result; those that are neither given nor
    arguments have none."""
    data = subprocess.run([judge, '--inputs', '=' + name], stdout=subprocess.PIPE, check=True).stdout
    head, data = data.split(b'\n\n', 1)
    sizes, tensors, at = {}, [], 0
    for line in head.decode().splitlines():
        kind, label, *words = line.split()
        if kind == 'size':
            value = float(words[0])
            sizes[plain(label)] = int(value) if value.is_integer() else value
            continue
        kind, given, result, *shape = words
        shape = [int(extent) for extent in shape]
        array = np.zeros(shape, kind) if plain(label) in arguments else None
        if given == '1':
            array = np.frombuffer(data, kind, int(np.prod(shape)), at).reshape(shape).copy()
            at += array.nbytes
        tensors.append((plain(label), label, array, result == '1'))
    assert at == len(data)
    return sizes, tensors


def load(npbench, info):
    path = npbench / 'npbench/benchmarks' / info['relative_path'] / (info['module_name'] + '_numpy.py')
    spec = importlib.util.spec_from_file_location(info['module_name'], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, info['func_name'])


def results(judge, npbench, info):
    """Of each result its name and array."""
    arguments = [plain(name) for name in info['input_args']]
    sizes, tensors = read_inputs(judge, info['short_name'], arguments)
    values = {**sizes, **{key: array for key, _, array, _ in tensors if array is not None}}
    returned = load(npbench, info)(*[values[name] for name in arguments])
    returned = list(returned) if isinstance(returned, tuple) else [] if returned is None else [returned]
    for key, label, array, is_result in tensors:
        if is_result:
            yield label, np.asarray(array if array is not None else returned.pop(0))


def line_of(program, label, array):
    flat = np.ascontiguousarray(array).reshape(-1)
    if np.iscomplexobj(flat):
        flat = flat.view(np.float64)
    flat = flat.astype(np.float64)
    count = min(ELEMENTS, len(flat))
    at = sorted({i * 2654435761 % len(flat) for i in range(count)} | {0, len(flat) - 1})
    return ' '.join([program, label, str(len(flat)), repr(float(flat.sum())), repr(float(np.abs(flat).sum()))] +
                    [f'{i} {float(flat[i])!r}' for i in at])


def main():
    judge, npbench, *names = sys.argv[1:]
    npbench = Path(npbench)
    known = [json.loads(file.read_text())['benchmark'] for file in (npbench / 'bench_info').glob('*.json')]
    infos = {info['short_name']: info for info in known}
    listed = subprocess.run([judge, '--list'], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    print('# Made by reference.py with NumPy ' + np.__version__ + ': PROGRAM TENSOR ELEMENTS SUM SIZE {POSITION ELEMENT}')
    for name in listed:
        if names and name not in names:
            continue
        for label, array in results(judge, npbench, infos[name]):
            print(line_of(name, label, array))


if __name__ == '__main__':
    main()
