#!/usr/bin/env python3
"""Markdown table of the ratio to the best peer, from the JSON of compare.py.  A later file replaces the cells that it measured
again.  Refuses files without GPU, driver, commit, samples, clocks and power.

usage: table.py RESULTS.json [LATER.json …]
"""
import json
import sys


def load(path):
    with open(path) as file:
        result = json.load(file)
    missing = [key for key in ("gpu", "driver", "commit", "torch", "triton", "cases") if not result.get(key)]
    for case in result["cases"]:
        if case.get("failed"):
            continue
        state = case.get("state", [{}])[0]
        missing += [key for key in ("clocks.sm", "power.draw") if key not in state]
        if not case.get("samples"):
            missing.append("samples")
    if missing:
        sys.exit(f"{path}: without {', '.join(sorted(set(missing)))} there is no table")
    return result


def middle(values):
    return sorted(values)[len(values) // 2]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    results = [load(path) for path in sys.argv[1:]]
    cells, kernels, shapes = {}, [], []
    for result in results:
        for case in result["cases"]:
            if case.get("failed") or case.get("ratio") is None:
                continue
            kernel, shape = case["kernel"], case["shape"]
            kernels += [] if kernel in kernels else [kernel]
            shapes += [] if shape in shapes else [shape]
            milliseconds = middle([middle(samples) for samples in case["samples"]["ours"]])
            cells[kernel, shape] = f"{case['ratio']:.2f} ({case['bytes'] / milliseconds / 1e6:.0f})"
    last = results[-1]
    print(f"{last['gpu']}, driver {last['driver']}, PyTorch {last['torch']}, Triton {last['triton']}, commits "
          f"{', '.join(dict.fromkeys(result['commit'] for result in results))}, {last['dtype']}: ratio to the best peer (GB/s)\n")
    print("| | " + " | ".join(shapes) + " |\n|---" + "|---" * len(shapes) + "|")
    for kernel in kernels:
        print(f"| {kernel} | " + " | ".join(cells.get((kernel, shape), "not run") for shape in shapes) + " |")


if __name__ == "__main__":
    main()
