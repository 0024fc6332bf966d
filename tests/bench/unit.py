#!/usr/bin/env python3
"""What of the bench needs no GPU, PyTorch or Triton: arguments, choice of instances, the order of rounds, tables and plots."""
import contextlib
import copy
import io
import json
import os
import re
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import check
import compare
import ours
import plot
import readme
import table
import timing

RESULTS = os.path.join(HERE, "results")
README = os.path.join(HERE, "..", "..", "README.md")


class FakeTensor:
    def __init__(self, address, shape, strides, size=2):
        self.address, self.shape, self.strides, self.size = address, shape, strides, size

    def data_ptr(self):
        return self.address

    def stride(self):
        return self.strides

    def element_size(self):
        return self.size


class FakeTorch:
    """Time goes by as launches say."""
    int8 = "int8"

    def __init__(self):
        self.now, self.cuda = 0.0, self
        outer = self

        class Event:
            def __init__(self, enable_timing):
                self.at = None

            def record(self):
                self.at = outer.now

            def query(self):
                return True

            def elapsed_time(self, end):
                return end.at - self.at
        self.Event = Event

    def empty(self, *_, **__):
        return self

    def zero_(self):
        self.now += 100.0

    def synchronize(self):
        pass


class FakeMeter:
    def read(self):
        return [1980, 3201, 700.5, 55]


def refused(parse, arguments):
    with contextlib.redirect_stderr(io.StringIO()) as text:
        try:
            parse(arguments)
        except SystemExit as end:
            return end.code == 2 and text.getvalue()
    return None


def product_result():
    """As compare.py writes it: ours takes 1.0 ms and then 1.25, cuBLAS 1.0."""
    samples = {"ours": [[1.0, 1.0, 1.0], [1.25, 1.25, 9.0]], "cublas": [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]}
    clocks = {name: [[1700, 3201, 690.0, 60], [1600, 3201, 700.0, 61]] for name in samples}
    row = {"kernel": "matmul", "shape": "4096x4096x4096", "dtype": "bf16", "layout": "NN", "work": 2 * 4096 ** 3, "unit": "TFLOP/s",
           "samples": samples, "clocks": clocks, "baseline": "cublas", "errors": {"ours": 2e-3, "cublas": 1.9e-3},
           "ratios": {"ours": timing.ratios(samples, "ours", "cublas")}}
    return {"gpu": "NVIDIA H200", "driver": "580", "torch": "2.11", "triton": "3.6", "commit": "abcdef0", "rows": [row]}


class Arguments(unittest.TestCase):
    def test_rows(self):
        options = compare.parse("--library l --out o --only matmul --sizes 4096,4096x14336x4096 --dtype bf16,f16 --layouts NT".split())
        self.assertEqual(options.sizes, [(4096, 4096, 4096), (4096, 14336, 4096)])
        self.assertEqual((options.dtype, options.layouts, options.rounds), (["bf16", "f16"], ["NT"], 10))
        self.assertTrue(compare.wanted(options, "matmul") and not compare.wanted(options, "attention"))
        self.assertFalse(compare.wanted(options, "memory", compare.MEMORY_KERNELS))
        options = compare.parse("--library l --out o --only softmax".split())
        self.assertTrue(compare.wanted(options, "memory", compare.MEMORY_KERNELS) and not compare.wanted(options, "matmul"))
        self.assertTrue(compare.wanted(compare.parse("--library l --out o".split()), "attention"))

    def test_refused(self):
        for wrong in ("--sizes 3x4", "--sizes 0", "--dtype f64", "--layouts TT", "--only matmull", "--masks some", "--heads x"):
            self.assertTrue(refused(compare.parse, f"--library l --out o {wrong}".split()), wrong)
        self.assertTrue(refused(compare.parse, ["--out", "o"]))
        self.assertIn("none of product", refused(check.parse, "--library l --only nothing".split()))


class Instances(unittest.TestCase):
    label = "matmul<bf16, bf16>[BM=128,BN=64,warps=4] sm_80 a.stride[1]=1 b.stride[0]=1 aligned"

    def test_labels(self):
        self.assertEqual(ours.facts_of(self.label), ["a.stride[1]=1", "b.stride[0]=1", "aligned"])
        self.assertEqual(ours.facts_of("axpy sm_80 general"), ["general"])
        self.assertEqual(ours.knobs_of(self.label), {"BM": 128, "BN": 64, "warps": 4})

    def test_facts(self):
        a, b, c = FakeTensor(256, (4, 64), (64, 1)), FakeTensor(512, (64, 8), (1, 64)), FakeTensor(1024, (4, 8), (8, 1))
        every = {"a": a, "b": b, "c": c}
        self.assertTrue(all(ours.fact_holds(fact, every) for fact in ours.facts_of(self.label)))
        self.assertFalse(ours.fact_holds("b.stride[1]=1", every))
        for odd in (FakeTensor(258, (4, 64), (64, 1)), FakeTensor(256, (4, 64), (65, 1))):
            self.assertFalse(ours.fact_holds("aligned", {**every, "a": odd}))

    def test_slots(self):
        c = FakeTensor(1024, (4, 8), (16, 1))
        self.assertEqual(ours.slots_of([c, (1,), 3], [2, 5]), [1024, 4, 8, 16, 1, 0, 0, 0, 3, 2, 5, 0])

    def test_views(self):
        view = ours.view(FakeTensor(4096, (2, 3, 5), (15, 5, 1)))
        self.assertEqual((view.data, list(view.extent), list(view.stride)), (4096, [2, 3, 5], [15, 5, 1]))


class Rounds(unittest.TestCase):
    def test_rotated(self):
        torch, order = FakeTorch(), []
        timer = timing.Timer(torch, FakeMeter())

        def version(name, milliseconds):
            def launch():
                order.append(name)
                torch.now += milliseconds
            return launch
        samples, states = timer.measure({"a": version("a", 2.0), "b": version("b", 4.0), "c": version("c", 10.0)}, 4, 20.0, 2, 8)
        self.assertEqual({name: [len(r) for r in rounds] for name, rounds in samples.items()}, {"a": [8] * 4, "b": [5] * 4, "c": [2] * 4})
        self.assertEqual(samples["b"][3], [4.0] * 5) # the flush is not in it
        self.assertEqual(states["c"], [[1980, 3201, 700.5, 55]] * 4)
        firsts = [name for i, name in enumerate(order[15:]) if i == 0 or order[15 + i - 1] != name]
        self.assertEqual("".join(firsts), "abc" "bca" "cab" "abc")

    def test_ratio(self):
        self.assertEqual(timing.ratios({"x": [[2.0], [4.0]], "y": [[1.0], [8.0]]}, "x", "y"), [0.5, 2.0])
        self.assertEqual(timing.median([5, 1, 9]), 5)


class Tables(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def store(self, result):
        path = os.path.join(self.folder.name, "r.json")
        with open(path, "w") as file:
            json.dump(result, file)
        return path

    def refusal(self, result):
        with self.assertRaises(SystemExit) as caught:
            table.load(self.store(result))
        return str(caught.exception)

    def test_product(self):
        text = table.document([table.load(self.store(product_result()))])
        self.assertIn("| matmul | 4096x4096x4096 | bf16 | NN | 110 (1.000, 0.800 to 1.000) | 137 | 1700 | 700 |", text)
        self.assertIn("ratio to cuBLAS", text)
        self.assertIn("commits abcdef0", text)

    def test_later_replaces(self):
        later = product_result()
        later["rows"][0]["samples"]["ours"] = [[0.5], [0.5]]
        text = table.document([product_result(), later])
        self.assertIn("| 275 (", text)
        self.assertNotIn("| 110 (", text)

    def test_wrong_and_failed(self):
        result = product_result()
        result["rows"][0]["errors"]["ours"] = 0.5
        result["rows"].append({"kernel": "attention", "shape": "z1", "dtype": "bf16", "unit": "TFLOP/s", "work": 1, "failed": "no code"})
        text = table.document([table.load(self.store(result))])
        self.assertIn("**wrong: 5.0e-01**", text)
        self.assertIn("- failed: attention z1 bf16: no code", text)
        result["rows"][0]["errors"]["ours"] = float("nan")
        self.assertIn("**wrong", table.document([result]))

    def test_refuses(self):
        for key in ("gpu", "driver", "torch", "triton", "commit", "rows"):
            result = product_result()
            del result[key]
            self.assertIn(key, self.refusal(result))
        changes = {
            "samples": lambda row: row["samples"].pop("ours") and row.pop("samples"),
            "clocks": lambda row: row["clocks"].pop("cublas"),
            "power": lambda row: row["clocks"]["ours"].append([1700, 3201]),
            "errors": lambda row: row["errors"].pop("ours"),
        }
        for word, change in changes.items():
            result = product_result()
            change(result["rows"][0])
            self.assertIn(word, self.refusal(result))
        result = product_result()
        result["commit"] = "unknown"
        self.assertIn("commit", self.refusal(result))

    def test_plot(self):
        groups = [("matmul <4096>", "TFLOP/s", {"tilecc": 700.0, "cuBLAS": 350.0}), ("add", "GB/s", {"tilecc": 4000.0})]
        text = plot.bars("a & b", groups)
        self.assertEqual(text, plot.bars("a & b", groups))
        self.assertIn("matmul &lt;4096&gt;", text)
        self.assertIn('width="620.0"', text)
        self.assertIn('width="310.0"', text)
        self.assertEqual(text.count('width="620.0"'), 2) # each unit has its own scale


class Readme(unittest.TestCase):
    """The tables of README.md are those of the newest runs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.results = folder.name
        for name in os.listdir(RESULTS):
            os.symlink(os.path.join(RESULTS, name), os.path.join(self.results, name))

    def check(self):
        with contextlib.redirect_stdout(io.StringIO()) as text:
            status = readme.check(README, self.results)
        self.assertEqual(status != 0, bool(text.getvalue()))
        return text.getvalue()

    def add(self, old, new, change=lambda run: None):
        """One more run: a copy of a table's newest."""
        with open(os.path.join(RESULTS, readme.newest()[old][0][0])) as file:
            run = json.load(file)
        change(run)
        with open(os.path.join(self.results, new), "w") as file:
            json.dump(run, file)

    def test_as_stored(self):
        self.assertEqual(self.check(), "")

    def test_newer_run(self):
        def slower(run):
            run["commit"] = "fedcba9"
            for row in run["rows"]:
                row["samples"]["ours"] = [[2 * sample for sample in one] for one in row["samples"]["ours"]]
        for name in ("rows", "products", "attention"):
            self.add(name, "2026-01-01-h200-older.json", slower)
            self.assertEqual(self.check(), "")
            self.add(name, f"2099-01-01-h200-{name}.json", slower)
            said = self.check()
            self.assertIn("fedcba9", said)
            os.remove(os.path.join(self.results, f"2099-01-01-h200-{name}.json"))

    def test_numbers_order_the_runs_of_a_day(self):
        paths = ["2026-11-23-h200-memory-bf16.json", "2026-11-23-h200-memory-bf16-2.json", "2026-11-23-h200-memory-bf16-10.json",
                 "2026-11-24-h200-memory-bf16.json"]
        self.assertEqual(sorted(reversed(paths), key=readme.age), paths)

    def test_what_is_no_run_of_a_table(self):
        changes = {"an experiment": lambda run: run.update(what="other schedules"), "without its commit": lambda run: run.update(commit="unknown"),
                   "a part": lambda run: run["rows"].pop(0), "with what failed": lambda run: run["rows"][0].update(failed="no code"),
                   "without clocks": lambda run: run["rows"][0].pop("clocks")}
        for change in changes.values():
            self.add("rows", "2099-01-01-h200-rows.json", change)
            self.assertEqual(self.check(), "")
        os.remove(os.path.join(self.results, "2099-01-01-h200-rows.json"))

    def test_wrong_results_are_told(self):
        self.add("products", "2099-01-01-h200-products.json", lambda run: run["rows"][0]["errors"].update(ours=0.5))
        self.assertIn("**wrong**", self.check())

    def test_text_that_was_changed(self):
        with open(README) as file:
            text = file.read()
        self.assertEqual(readme.replaced(text), text)
        cell = re.search(r"\| softmax \| (\d)", text)
        self.assertNotEqual(readme.replaced(text[:cell.start(1)] + "9" + text[cell.end(1):]), text[:cell.start(1)] + "9" + text[cell.end(1):])
        with self.assertRaises(SystemExit):
            readme.replaced(text.replace("<!-- end of attention -->", ""))

    def test_what_is_kept(self):
        shown = {name for files, _ in readme.newest().values() for name in files}
        with open(os.path.join(RESULTS, "README.md")) as file:
            listed = set(re.findall(r"^\| `([^`]*)` \|", file.read(), re.M))
        self.assertEqual(listed & shown, set())
        self.assertEqual(listed | shown, {name for name in os.listdir(RESULTS) if name.endswith(".json")})


if __name__ == "__main__":
    unittest.main()
