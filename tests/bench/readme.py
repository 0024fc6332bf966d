"""The tables of README.md, each of the newest run in results/ that has all of its cells; see table.py.

README.md marks where they stand:    <!-- rows: made by tests/bench/table.py --> … <!-- end of rows -->
"""
import difflib
import json
import os
import re
import statistics
import textwrap

from compare import MEMORY_KERNELS
from timing import median
import table

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")
PEERS = {"torch": "PyTorch", "inductor": "Inductor", "triton": "Triton"}
ROW_SHAPES = ["16384x1024", "16384x4096", "8192x16384", "4096x65536"]
PRODUCT_SHAPES = {"2048x2048x2048": "2048³", "4096x4096x4096": "4096³", "8192x8192x8192": "8192³", "4096x14336x4096": "4096x14336x4096"}
PRODUCTS = [(dtype, layout, "ours") for dtype in ("bf16", "f16") for layout in ("NN", "NT")] + \
    [(dtype, "NN", "sm_80") for dtype in ("bf16", "f16")]
ATTENTION = {("z4 h16 s4096 d128", "full"): "full, s 4096", ("z1 h16 s16384 d128", "full"): "full, s 16384",
             ("z4 h16 s4096 d128", "causal"): "causal, s 4096", ("z1 h16 s16384 d128", "causal"): "causal, s 16384"}
CPU_KERNELS = ["saxpy", "softmax", "layernorm", "gelu"]


def age(path):
    """Files are called DATE-machine-what[-number].json: later dates and numbers are newer."""
    name = os.path.basename(path)[:-len(".json")]
    number = re.search(r"-(\d{1,2})$", name)
    return name[:10], int(number.group(1)) if number else 1, name


def grid(head, rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]).replace(" --- ", "---")


def cells_of(run, kernels, keys):
    """The run's rows of these kernels by what they measure."""
    return {tuple(row.get(key) for key in keys): row for row in run["rows"] if row["kernel"] in kernels and not row.get("failed")}


def paragraph(text):
    return textwrap.fill(text, 130, break_on_hyphens=False, break_long_words=False)


def joined(peers):
    texts = [PEERS[name] for name in peers]
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))


def where(run):
    return f"{run['gpu']} (driver {run['driver']}, {run['date']}, {run['commit']})"


def compared(row, name):
    text = f"{table.rate(row, name):.0f} ({median(row['ratios'][name]):.2f})"
    return text if table.is_right(row, name) else text + " **wrong**"


def is_gpu_run(run):
    """Of compare.py, and of the examples as they are: experiments say `what` they are."""
    return isinstance(run.get("rows"), list) and "what" not in run and not table.missing_of(run)


def row_cells(run):
    """A line for each kernel, and the peers of the run, not all of which have each kernel; None: it has not all rows."""
    if not is_gpu_run(run):
        return None
    found = cells_of(run, MEMORY_KERNELS, ("kernel", "shape", "dtype"))
    cells = [[found.get((kernel, shape, "bf16")) for shape in ROW_SHAPES] for kernel in MEMORY_KERNELS]
    every = [row for line in cells for row in line]
    if not all(row and row.get("ratios") for row in every):
        return None
    return cells, [name for name in PEERS if any(name in row["samples"] for row in every)]


def rows(run):
    cells, peers = row_cells(run) or (None, None)
    if not cells:
        return None
    best = joined(peers) if len(peers) > 1 else f"{PEERS[peers[0]]} alone"
    text = paragraph(f"Rows of bf16 on an {where(run)}: the ratio to {'the best of ' if len(peers) > 1 else ''}{best}, in one run on the "
                     "same random data, and GB/s in parentheses.")
    lines = [[kernel.replace("rowsum", "row sum")] +
             [f"{median(row['ratios']['ours']):.2f} ({table.rate(row, 'ours'):.0f})" + ("" if table.is_right(row, "ours") else " **wrong**")
              for row in line] for kernel, line in zip(MEMORY_KERNELS, cells)]
    return text + "\n\n" + grid([""] + ROW_SHAPES, lines)


def beside_all(run):
    """What a run beside more peers said, for a table of one beside fewer."""
    cells, peers = row_cells(run)
    ratios = [median(row["ratios"]["ours"]) for line in cells for row in line]
    return paragraph(f"The newest run beside {joined(peers)}, {run['date']} at {run['commit']}: {min(ratios):.2f} to {max(ratios):.2f} of "
                     "the best of them.")


def products(run):
    if not is_gpu_run(run):
        return None
    found = cells_of(run, ["matmul"], ("dtype", "layout", "shape"))
    lines = []
    for dtype, layout, name in PRODUCTS:
        cells = [found.get((dtype, layout, shape)) for shape in PRODUCT_SHAPES]
        if all(row and name in row.get("ratios", {}) for row in cells):
            lines.append([f"{dtype} {layout}" + (", text for sm_80" if name == "sm_80" else "")] + [compared(row, name) for row in cells])
    if [line[0] for line in lines[:1]] != ["bf16 NN"] or not any(line[0] == "bf16 NT" for line in lines):
        return None
    text = paragraph(f"Products on an {where(run)}: TFLOP/s, and the ratio to cuBLAS in parentheses, the median of {run['rounds']} rounds.")
    return text + "\n\n" + grid(["matmul", *PRODUCT_SHAPES.values()], lines)


def attention(run):
    if not is_gpu_run(run):
        return None
    found = cells_of(run, ["attention"], ("shape", "mask", "dtype"))
    cells = [found.get((*what, "bf16")) for what in ATTENTION]
    if not all(row and "ours" in row.get("ratios", {}) for row in cells):
        return None
    text = f"Attention on an {where(run)}, the median of {run['rounds']} rounds:"
    return text + "\n\n" + grid(["attention, bf16, d128", *ATTENTION.values()], [["TFLOP/s (to cuDNN)"] + [compared(row, "ours") for row in cells]])


def processor(run):
    """Of tests/bench/c/run."""
    if "cpu" not in run or not isinstance(run.get("runs"), list):
        return None
    sizes = {}
    for one in run["runs"]:
        ratio = statistics.median(loop / ours for loop, ours in zip(one["loop"], one["ours"]))
        sizes.setdefault((one["threads"] > 1, one["kernel"]), []).append(ratio)
    if any((all_threads, kernel) not in sizes for all_threads in (False, True) for kernel in CPU_KERNELS):
        return None
    text = f"The least of {max(map(len, sizes.values()))} sizes from the caches to memory ({run['date']}, {run['commit']}):"
    lines = [[f"all {run['processors']}" if all_threads else "one thread"] +
             [f"{min(sizes[all_threads, kernel]):.{1 if min(sizes[all_threads, kernel]) >= 5 else 2}f}" for kernel in CPU_KERNELS]
             for all_threads in (False, True)]
    return text + "\n\n" + grid([""] + CPU_KERNELS, lines)


TABLES = {"rows": rows, "products": products, "attention": attention, "processor": processor}


def newest(results=RESULTS):
    """{table: (files, text)}."""
    found, shown, beside = {}, None, None
    for path in sorted((os.path.join(results, name) for name in os.listdir(results) if name.endswith(".json")), key=age):
        with open(path) as file:
            run = json.load(file)
        for name, make in TABLES.items():
            text = make(run)
            if text:
                found[name] = [os.path.basename(path)], text
        peers = (row_cells(run) or (None, None))[1]
        if peers:
            shown = peers
        if peers == list(PEERS):
            beside = os.path.basename(path), run
    if beside and shown != list(PEERS):
        files, text = found["rows"]
        found["rows"] = files + [beside[0]], text + "\n\n" + beside_all(beside[1])
    return found


def replaced(text, results=RESULTS):
    """The text with all tables that it marks as they should be."""
    for name, (_, made) in newest(results).items():
        begin, end = f"<!-- {name}: made by tests/bench/table.py -->\n", f"\n<!-- end of {name} -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise SystemExit(f"no place is marked for the table of {name}")
        text = text[:text.index(begin)] + begin + made + text[text.index(end):]
    return text


def write(path):
    with open(path) as file:
        text = file.read()
    with open(path, "w") as file:
        file.write(replaced(text))
    for name, (files, _) in newest().items():
        print(f"{name}: {', '.join(files)}")
    return 0


def check(path, results=RESULTS):
    with open(path) as file:
        text = file.read()
    lines = list(difflib.unified_diff(text.splitlines(), replaced(text, results).splitlines(), path, "the newest runs", lineterm="", n=0))
    print("\n".join(lines + ["make bench-tables writes them anew"] if lines else []), end="\n" if lines else "")
    return 1 if lines else 0
