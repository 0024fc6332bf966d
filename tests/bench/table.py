#!/usr/bin/env python3
"""Tables in Markdown and plots in SVG from the JSON of compare.py alone.  A later file replaces the rows that it measured again.
Refuses files without GPU, driver, versions, commit, samples, clocks and power.

usage: table.py [--plot FILE.svg] RESULTS.json [LATER.json …]
       table.py --readme README.md      writes the tables that it marks anew, from the newest runs in results/ (readme.py)
       table.py --check README.md       says what is other there
"""
import argparse
import json
import sys

from plot import bars
from timing import median

VERSIONS = {"ours": "tilecc", "sm_80": "tilecc, sm_80 text", "cublas": "cuBLAS", "cudnn": "cuDNN", "torch": "PyTorch",
            "inductor": "Inductor", "triton": "Triton", "flash": "PyTorch flash", "flex": "flex_attention", "plain": "tilecc, plain"}
WHAT = ("kernel", "shape", "dtype", "layout", "mask")


def missing_of(result):
    missing = [key for key in ("gpu", "driver", "commit", "torch", "triton") if not result.get(key)]
    if result.get("commit") == "unknown":
        missing.append("commit")
    if not result.get("rows"):
        missing.append("rows")
    for row in result.get("rows", []):
        if row.get("failed"):
            continue
        if not row.get("samples") or not all(rounds and all(rounds) for rounds in row["samples"].values()):
            missing.append("samples")
        for name in row.get("samples") or {}:
            readings = (row.get("clocks") or {}).get(name)
            if not readings or any(len(reading) < 3 or not reading[0] for reading in readings):
                missing.append("clocks")
            if not readings or any(len(reading) < 3 or not reading[2] for reading in readings):
                missing.append("power")
        if row.get("errors", {}).get("ours") is None:
            missing.append("errors")
    return sorted(set(missing))


def load(path):
    with open(path) as file:
        result = json.load(file)
    missing = missing_of(result)
    if missing:
        sys.exit(f"{path}: without {', '.join(missing)} there is no table")
    return result


def merge(results):
    """Rows by what they measure, in the order in which they first come."""
    rows = {}
    for result in results:
        for row in result["rows"]:
            rows[tuple(row.get(key) for key in WHAT)] = row
    return list(rows.values())


def milliseconds(row, name):
    return median([median(samples) for samples in row["samples"][name]])


def rate(row, name):
    return row["work"] / milliseconds(row, name) / (1e6 if row["unit"] == "GB/s" else 1e9)


def is_right(row, name):
    """Within 1.5 times the error of the library that it is compared with, or within the type's own rounding."""
    error, base = row["errors"].get(name), row["errors"].get(row.get("baseline"))
    if error is None:
        return True
    limit = {"bf16": 8e-3, "f16": 1e-3}.get(row.get("dtype"), 1e-5) if base is None else 1.5 * base + 1e-3
    return error <= limit


def cell(row, name):
    if name not in row["samples"]:
        return ""
    text = f"{rate(row, name):.0f}"
    values = row.get("ratios", {}).get(name)
    if values and name in ("ours", "sm_80"):
        text += f" ({median(values):.3f}, {min(values):.3f} to {max(values):.3f})"
    return text if is_right(row, name) else text + f" **wrong: {row['errors'][name]:.1e}**"


def table(rows):
    """Of rows with the same unit and baseline."""
    names = [name for name in VERSIONS if any(name in row["samples"] for row in rows)]
    keys = [key for key in WHAT if any(row.get(key) for row in rows)]
    lines = ["| " + " | ".join(keys + [f"{VERSIONS[name]}" for name in names] + ["MHz", "W"]) + " |",
             "|---" * (len(keys) + len(names) + 2) + "|"]
    for row in rows:
        cells = [str(row.get(key) or "") for key in keys]
        readings = row["clocks"]["ours"]
        cells += [cell(row, name) for name in names]
        cells += [f"{median([r[0] for r in readings]):.0f}", f"{median([r[2] for r in readings]):.0f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def matrix(rows):
    """Kernels by shapes: ratio to the best peer (GB/s)."""
    shapes = list(dict.fromkeys(row["shape"] for row in rows))
    cells = {(row["kernel"], row["shape"]): f"{median(row['ratios']['ours']):.2f} ({rate(row, 'ours'):.0f})" +
             ("" if is_right(row, "ours") else " **wrong**") for row in rows if row.get("ratios")}
    lines = ["| | " + " | ".join(shapes) + " |", "|---" + "|---" * len(shapes) + "|"]
    for kernel in dict.fromkeys(row["kernel"] for row in rows):
        lines.append(f"| {kernel} | " + " | ".join(cells.get((kernel, shape), "not run") for shape in shapes) + " |")
    return "\n".join(lines)


def heading(results):
    last = results[-1]
    texts = [last["gpu"], f"driver {last['driver']}", f"PyTorch {last['torch']}", f"Triton {last['triton']}"]
    texts += [f"cuDNN {last['cudnn']}"] if last.get("cudnn") else []
    commits = ", ".join(dict.fromkeys(result["commit"] for result in results))
    return ", ".join(texts) + f", commits {commits}"


def document(results):
    rows, parts = merge(results), [heading(results)]
    measured = [row for row in rows if not row.get("failed")]
    for dtype in dict.fromkeys(row["dtype"] for row in measured if row["unit"] == "GB/s"):
        group = [row for row in measured if row["unit"] == "GB/s" and row["dtype"] == dtype]
        parts.append(f"{dtype}: ratio to the best peer (GB/s)\n\n" + matrix(group))
    for baseline in dict.fromkeys(row.get("baseline") for row in measured if row["unit"] != "GB/s"):
        group = [row for row in measured if row["unit"] != "GB/s" and row.get("baseline") == baseline]
        parts.append(f"{group[0]['unit']}, and the ratio to {VERSIONS.get(baseline, baseline)}: median of the rounds, least to most\n\n" +
                     table(group))
    parts += ["\n".join(f"- failed: {' '.join(str(row[key]) for key in WHAT if row.get(key))}: {row['failed']}"
                        for row in rows if row.get("failed"))]
    return "\n\n".join(part for part in parts if part)


def draw(results):
    rows = [row for row in merge(results) if not row.get("failed")]
    groups = []
    for row in rows:
        label = " ".join(str(row[key]) for key in WHAT if row.get(key))
        groups.append((label, row["unit"], {VERSIONS.get(name, name): rate(row, name) for name in row["samples"]}))
    return bars(heading(results), groups)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plot", help="SVG to write")
    parser.add_argument("--readme", help="Markdown whose tables are written anew")
    parser.add_argument("--check", help="Markdown whose tables are compared")
    parser.add_argument("results", nargs="*")
    options = parser.parse_args(arguments)
    if options.readme or options.check:
        import readme
        sys.exit(readme.write(options.readme) if options.readme else readme.check(options.check))
    if not options.results:
        parser.error("which results?")
    results = [load(path) for path in options.results]
    print(document(results))
    if options.plot:
        with open(options.plot, "w") as file:
            file.write(draw(results))


if __name__ == "__main__":
    main(sys.argv[1:])
