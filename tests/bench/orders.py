"""Orders of machine code by `tilecc tune --native`, on a GPU, of twelve kernels:

    TILECC=./tilecc python3 orders.py search FOLDER [SECONDS]   looks for them; those that gained again while time is left
    TILECC=./tilecc python3 orders.py judge FOLDER              judges what FOLDER holds anew, as on another GPU
    TILECC=./tilecc python3 orders.py trials FOLDER [N]         N orders of each drawn at random, kernels beside each other

FOLDER gets the files of --tuning, what was told, and search.json, judge.json or trials.json.  The kernels are those that bounds of
all kinds are known of: attention in four forms and a product, as in the experiment that the search came from (an instruction
too many costs there), loops of products with much between them, and rows and products that wait for memory."""
import json
import math
import os
import re
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.abspath(__file__)) + "/../.."
TILECC = os.environ.get("TILECC", ROOT + "/tilecc")
OVERHEAD = 2.5  # seconds of a kernel beside its search: start and gates


def attention(head, scale, causal):
    view = f"[1,16,2048,{head}]"
    return f"attention_bf16({view},{view},{view},{view},none,{scale},{causal})"


# name, source, architecture, seconds of search, calls
KERNELS = [
    ("attention-64", "attention", "sm_90a", 24, [attention(64, 0.125, "false"), attention(64, 0.125, "true")]),
    ("attention-128", "attention", "sm_90a", 18, [attention(128, 0.0883, "false"), attention(128, 0.0883, "true")]),
    ("product-mma", "matmul", "sm_90", 9, ["matmul_bf16_bf16([512,2048],[2048,512],none,[512,512],none)"]),
    ("linear-attention", "sequence/linear_attention", "sm_90a", 9,
     ["linear_attention_bf16([4,16,2048,128],[4,16,2048,128],[4,16,2048,128],[16],none,[4,16,2048,128],none)"]),
    ("scan", "sequence/state_space", "sm_90a", 8,
     ["state_space_scan_bf16([4,2048,64,64],[4,2048,1,128],[4,2048,1,128],[4,2048,64],[64],[64],none,[4,2048,64,64],none)"]),
    ("int4", "quantised/int4_linear", "sm_90a", 8, ["int4_linear_bf16([16,4096],[512,4096],[32,4096],[16,4096],128)"]),
    ("product-wgmma", "matmul", "sm_90a", 2.5, ["matmul_bf16_bf16([1024,1024],[1024,1024],none,[1024,1024],none)"]),
    ("layer-norm", "norms/layer_norm", "sm_90a", 0.8,
     ["layer_norm_bf16([4096,4096],[4096],[4096],[4096,4096],none,none,0.00001)"]),
    ("cross-entropy", "losses/cross_entropy", "sm_90a", 0.8,
     ["cross_entropy_bf16([2048,32000],[2048],[2048],[2048],none,1,0,0,-100,32000,0,false)"]),
    ("gated-linear", "products/gated_linear", "sm_90a", 0.8,
     ["gated_linear_bf16([1024,2048],[2048,2048],[2048,2048],[1024,2048])"]),
]
GAIN = r"([-+][\d.]+) % \(([-+][\d.]+) to ([-+][\d.]+)\)"


def source(name):
    return f"{ROOT}/examples/{name}.tile"


def tune(name, arch, options, file, calls, seconds):
    words = [TILECC, "tune", "--native", "-arch=" + arch, *options, source(file), *calls]
    try:
        done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=max(1, seconds))
        return done.stdout, done.stderr, done.returncode
    except subprocess.TimeoutExpired:
        return "", name + ": over time", -1


def read_told(text):
    """What was told of each kernel."""
    found = []
    for line in text.splitlines():
        if m := re.match(r"(\S+): native (\S+) ([0-9a-f]{32})$", line):
            found.append({"kernel": m[1], "arch": m[2], "digest": m[3], "calls": [], "order": True})
        elif m := re.match(r"(\S+): no other order is tried: (.*)", line):
            found.append({"kernel": m[1], "calls": [], "order": False, "why": m[2]})
        elif found:
            read_line(found[-1], line.strip())
    return found


def read_line(kernel, line):
    def numbers(m, first=1):
        return [float(x) for x in m.groups()[first - 1:]]
    if m := re.match("the code beside itself, loaded twice: " + GAIN, line):
        kernel["itself"] = numbers(m)
    elif m := re.match(r"one cycle more at each instruction costs (\S+) %", line):
        kernel["cycle_more_costs"] = float(m[1])
    elif m := re.match(r"(\d+) orders tried, .* (\d+) steps taken, (\d+) failed, in ([\d.]+) s", line):
        kernel.update(tried=int(m[1]), taken=int(m[2]), failed=int(m[3]), seconds=float(m[4]))
    elif m := re.match(r"proved; the same bits over (\d+) launches and (\d+) elements", line):
        kernel.update(launches=int(m[1]), elements=int(m[2]))
    elif m := re.match("(.*): " + GAIN + ", with empty caches " + GAIN, line):
        kernel["calls"].append({"call": m[1], "warm": numbers(m, 2)[:3], "cold": numbers(m, 5)})
    elif m := re.match("in the mean " + GAIN, line):
        kernel["mean"] = numbers(m)
    elif m := re.match("the order of ptxas stays: (.*)", line):
        kernel.update(order=False, why=m[1])


def write(folder, name, rows, every=False):
    """The geometric mean over all, where a kernel that keeps its order counts as 1; `every`: unless it was judged."""
    logs = []
    for row in rows:
        low, middle, high = (math.log1p(row["mean"][i] / 100) if row.get("mean") and (every or row["order"]) else 0 for i in (1, 0, 2))
        logs.append((middle, (high - low) / 2))
    mean = sum(x for x, _ in logs) / len(logs)
    half = math.sqrt(sum(e * e for _, e in logs)) / len(logs)
    all_ = {"geometric_mean": math.exp(mean), "interval": [math.exp(mean - half), math.exp(mean + half)], "kernels": rows}
    with open(f"{folder}/{name}.json", "w") as file:
        json.dump(all_, file, indent=1)
    print("%d kernels, geometric mean %.4f (%.4f to %.4f)" % (len(rows), math.exp(mean), *all_["interval"]))


def compile_all():
    """Into the cache, so that no search waits for a compilation."""
    begun = {}
    for _, file, arch, _, _ in KERNELS:
        if (file, arch) not in begun:
            words = [TILECC, "-arch=" + arch, source(file), "-o", "/dev/null"]
            begun[file, arch] = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return begun


def run(kernel, folder, budget, seconds, seed=0):
    name, file, arch, _, calls = kernel
    text, errors, status = tune(name, arch, [f"--budget={budget}", f"--seed={seed}", f"-o{folder}/{name}.tuning"], file, calls, seconds)
    with open(f"{folder}/{name}.txt", "a") as told:
        told.write(text + errors)
    rows = read_told(text)
    for row in rows:
        print(row["kernel"], row.get("tried"), "orders", row.get("mean"), row.get("why", "another order"), flush=True)
    return rows if status == 0 else []


def search(folder, limit):
    end, found, waits = time.time() + limit, {}, compile_all()
    for turn in range(4):
        for kernel in KERNELS:
            name, file, arch, budget, calls = kernel
            left = end - time.time() - OVERHEAD * len(calls)
            if turn and (left < 3 or not any(row["order"] for row in found.get(name, []))):
                continue
            waits[file, arch].wait()
            found[name] = run(kernel, folder, min(budget, max(0.8, left)), left + 30, turn) or found.get(name, [])
    write(folder, "search", [row for rows in found.values() for row in rows])


def judge(folder):
    waits, rows = compile_all(), []
    for kernel in KERNELS:
        waits[kernel[1], kernel[2]].wait()
        rows += run(kernel, folder, 0.01, 60)
    write(folder, "judge", rows, every=True)


def trials(folder, count):
    waits, rows = compile_all(), []

    def work(number, name, file, arch, call):
        waits[file, arch].wait()
        text, errors, status = tune(name, arch, [f"--trials={count}", f"--seed={number}"], file, [call], 600)
        m = re.search(r"native (\S+) ([0-9a-f]{32})\n +(\d+) orders by \d+ moves: the same bits over (\d+) launches and (\d+)", text)
        row = {"call": call, "seed": number, "status": status}
        row.update(dict(zip(("orders", "launches", "elements"), map(int, m.groups()[2:])), digest=m[2]) if m else {"said": text + errors})
        rows.append(row)
        print(row, flush=True)
    threads = [threading.Thread(target=work, args=(i, *job)) for i, job in enumerate(
        (name, file, arch, call) for name, file, arch, _, calls in KERNELS for call in calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open(f"{folder}/trials.json", "w") as file:
        json.dump(rows, file, indent=1)
    print(sum(row.get("orders", 0) for row in rows), "orders,", sum(row["status"] != 0 for row in rows), "runs with others")


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("search", "judge", "trials"):
        sys.exit(__doc__)
    folder = sys.argv[2]
    os.makedirs(folder, exist_ok=True)
    if sys.argv[1] == "search":
        search(folder, float(sys.argv[3]) if len(sys.argv) > 3 else 120)
    elif sys.argv[1] == "judge":
        judge(folder)
    else:
        trials(folder, int(sys.argv[3]) if len(sys.argv) > 3 else 840)


main()
