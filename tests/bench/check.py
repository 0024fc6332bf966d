#!/usr/bin/env python3
"""Products and attention of libbench.so (tests/bench/build) against float64 on a GPU: random shapes and strides, the corners, the
same bits from every schedule on integers that are exact, and the same bits a thousand times while another process loads the GPU.
Outputs lie inside larger memory that is filled with a pattern, and begin as NaN.

usage: check.py --library libbench.so [--device cuda|cpu] [--assembled sm_80] [--only product,exact,attention,repeat]
                [--count 60] [--repeats 1000] [--seed N] [--seconds 240]
"""
import argparse
import math
import random
import subprocess
import sys
import time

from ours import TILE_CPU, Assembled, Ours

PARTS = ["product", "exact", "attention", "repeat"]
PATTERN = -7.0
LOAD = """
import torch
a = torch.randn(4096, 4096, device="{device}", dtype=torch.bfloat16)
print("ready", flush=True)
while True:
    for _ in range(20):
        a @ a
    if "{device}" == "cuda":
        torch.cuda.synchronize()
"""


class Checker:
    def __init__(self, torch, ours, assembled, options):
        self.torch, self.ours, self.assembled, self.options = torch, ours, assembled, options
        self.random, self.begin = random.Random(options.seed), time.time()
        self.done, self.failures, self.variants = 0, 0, {}
        self.device = options.device
        self.processors = torch.cuda.get_device_properties(0).multi_processor_count if options.device == "cuda" else 1

    def synchronize(self):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def out_of_time(self):
        return time.time() - self.begin > self.options.seconds

    def fail(self, text):
        self.failures += 1
        print("FAILED " + text, flush=True)

    def type_of(self, letter):
        return {"bf16": self.torch.bfloat16, "f16": self.torch.float16}[letter]

    # ---- operands ----

    def place(self, rows, columns, dtype, by_columns=False, gap=0, shift=0, values=None):
        """A [rows, columns] view inside patterned memory, `gap` elements between lines and `shift` before it; and that memory."""
        lines, length = (columns, rows) if by_columns else (rows, columns)
        memory = self.torch.full((shift + lines * (length + gap) + 64,), PATTERN, device=self.device, dtype=dtype)
        view = memory.as_strided((lines, length), (length + gap, 1), shift)
        view = view.t() if by_columns else view
        if values is not None:
            view.copy_(values)
        return view, memory

    def untouched(self, memory, view):
        """Nothing outside the view has changed."""
        outside = self.torch.ones(memory.shape, dtype=self.torch.bool, device=self.device)
        outside.as_strided(view.shape, view.stride(), view.storage_offset()).fill_(False)
        return bool((memory[outside] == PATTERN).all())

    def launch(self, entry, *arguments):
        info = self.ours.query(entry, *arguments)
        name = f"{entry}:{info['variant']} {info['variant_text']}"
        self.variants[name] = self.variants.get(name, 0) + 1
        self.ours.bind(entry, *arguments)()

    # ---- products ----

    def compare_product(self, text, output, memory, a, b, bias, activation, letter):
        torch = self.torch
        self.synchronize()
        self.done += 1
        if not self.untouched(memory, output):
            return self.fail(f"{text}: wrote outside its result")
        exact = a.double() @ b.double()
        if bias is not None:
            exact = exact + bias.double()
        exact = exact.relu() if activation else exact
        if torch.isnan(output).any():
            return self.fail(f"{text}: {int(torch.isnan(output).sum())} of {output.numel()} elements are NaN")
        if output.numel() == 0:
            return None
        rounding = {"bf16": 2.0 ** -8, "f16": 2.0 ** -11}[letter]
        size = a.double().abs() @ b.double().abs()
        slack = rounding * exact.abs() * 1.01 + size * 2.0 ** -20 + 2.0 ** -24
        wrong = (output.double() - exact).abs() > slack
        if wrong.any():
            i, j = (int(x) for x in wrong.nonzero()[0])
            return self.fail(f"{text}: {int(wrong.sum())} of {output.numel()} wrong, first [{i}, {j}] is {output[i, j].item()}, "
                             f"not {exact[i, j].item()}")
        return None

    def shapes(self):
        """The corners, then random ones."""
        yield from [(1, 256, 64), (1, 8, 512), (300, 8, 200), (128, 256, 0), (5, 7, 0), (0, 64, 64), (64, 0, 64), (40, 24, 65537),
                    (129, 257, 65), (1, 1, 1), (2048, 1024, 512), (1000, 1088, 200), (2200, 136, 8200)]
        while True:
            yield tuple(self.random.choice((8, 64, 1)) * self.random.randint(1, 40) + self.random.choice((0, 0, 0, 1, 3)) for _ in range(3))

    def product(self):
        for number, (m, n, k) in enumerate(self.shapes()):
            if number >= self.options.count or self.out_of_time():
                return
            for letter in ("bf16", "f16"):
                self.one_product(m, n, k, letter, False)
                if number % 2: # lines of whole 16 bytes, on 16 bytes: what code with tensor maps takes
                    self.one_product(m, -(-n // 8) * 8, -(-k // 8) * 8, letter, True)

    def one_product(self, m, n, k, letter, tidy):
        torch, pick, dtype = self.torch, self.random.choice, self.type_of(letter)
        gaps = [pick((0, 8) if tidy else (0, 8, 0, 1)) for _ in range(3)]
        shifts = [pick((0, 8) if tidy else (0, 0, 0, 1, 8)) for _ in range(3)]
        columns = [pick((False, True)) and not (tidy and m % 8), pick((False, True))]
        a, _ = self.place(m, k, dtype, columns[0], gaps[0], shifts[0], torch.randn(m, k, device=self.device))
        b, _ = self.place(k, n, dtype, columns[1], gaps[1], shifts[1], torch.randn(k, n, device=self.device))
        bias = torch.randn(n, device=self.device) if pick((False, True)) else None
        activation = pick((0, 1))
        output, memory = self.place(m, n, dtype, False, gaps[2], shifts[2])
        output.fill_(math.nan)
        text = f"matmul {letter} {m}x{n}x{k} columns {columns} gaps {gaps} shifts {shifts} bias {bias is not None} relu {activation}"
        try:
            self.launch(f"matmul_{letter}_{letter}", a, b, bias, output, activation)
            self.compare_product(text, output, memory, a, b, bias, activation, letter)
            if self.assembled and bias is None:
                self.assembled_product(text, m, n, a, b, activation, letter)
        except RuntimeError as problem:
            self.fail(f"{text}: {problem}")

    def assembled_product(self, text, m, n, a, b, activation, letter):
        output, memory = self.place(m, n, a.dtype)
        output.fill_(math.nan)
        launch = self.assembled.bind_product(f"matmul_{letter}_{letter}", a, b, output, self.processors, activation)
        if launch:
            launch()
            self.compare_product("sm_80 text, " + text, output, memory, a, b, None, activation, letter)

    # ---- the same bits ----

    def entries(self, letter):
        """Products of this type: (name, launch(a, b, output))."""
        entry = f"matmul_{letter}_{letter}"
        found = [entry] if self.ours.has(entry) else []
        found += [f"s{i}_{entry}" for i in range(1, 100) if self.ours.has(f"s{i}_{entry}")]
        return found

    def exact(self):
        """Sums of products of small integers are exact in f32, so that no order of summation shows."""
        torch = self.torch
        for m, n, k, transposed in [(512, 768, 1024, False), (512, 768, 1024, True), (384, 520, 776, False), (100, 136, 4000, True),
                                    (4096, 4096, 4096, False)]:
            if self.device == "cpu" and m * n * k > 10 ** 9:
                continue
            for letter in ("bf16", "f16"):
                dtype = self.type_of(letter)
                limit = 3 if letter == "bf16" else 2
                a = torch.randint(-limit, limit + 1, (m, k), device=self.device).to(dtype)
                stored = torch.randint(-limit, limit + 1, (n, k), device=self.device).to(dtype)
                b = stored.t() if transposed else stored.t().contiguous()
                chosen = torch.arange(0, m, max(1, m // 512), device=self.device)
                wanted = (a[chosen].double() @ b.double()).to(dtype)
                results = {}
                for entry in self.entries(letter):
                    results[entry] = torch.full((m, n), math.nan, device=self.device, dtype=dtype)
                    self.launch(entry, a, b, None, results[entry], 0)
                if self.assembled:
                    older = torch.full((m, n), math.nan, device=self.device, dtype=dtype)
                    launch = self.assembled.bind_product(f"matmul_{letter}_{letter}", a, b, older, self.processors)
                    if launch:
                        launch()
                        results["sm_80 text"] = older
                self.synchronize()
                for name, result in results.items():
                    self.done += 1
                    if not torch.equal(result[chosen].view(torch.int16), (wanted + 0.0).view(torch.int16)):
                        bad = int((result[chosen] != wanted).sum())
                        self.fail(f"exact {letter} {m}x{n}x{k} {'NT' if transposed else 'NN'} {name}: {bad} of {wanted.numel()} differ")

    # ---- attention ----

    def attention_reference(self, q, k, v, scale, causal):
        torch = self.torch
        group = q.shape[1] // k.shape[1]
        K, V = (t.double().repeat_interleave(group, 1) for t in (k, v))
        scores = q.double() @ K.transpose(-1, -2) * scale
        L, S = q.shape[2], k.shape[2]
        if causal:
            row = torch.arange(L, device=self.device)[:, None] + (S - L)
            scores.masked_fill_(torch.arange(S, device=self.device)[None, :] > row, -math.inf)
        lse = torch.logsumexp(scores, -1)
        weights = torch.nan_to_num(torch.exp(scores - lse[..., None]), nan=0.0)
        return weights @ V, lse

    def attention(self):
        torch, pick = self.torch, self.random.choice
        corners = [(1, 2, 2, 1, 1), (2, 4, 2, 100, 37), (1, 2, 1, 513, 1000), (3, 6, 2, 128, 128), (1, 1, 1, 300, 1), (1, 2, 2, 64, 0)]
        for number in range(self.options.count // 2):
            if self.out_of_time():
                return
            if number < len(corners):
                z, h, hk, L, S = corners[number]
            else:
                hk = self.random.randint(1, 3)
                z, h, L, S = self.random.randint(1, 3), hk * pick((1, 2, 4)), self.random.randint(1, 700), self.random.randint(1, 900)
            for d in (64, 128):
                self.one_attention(z, h, hk, L, S, d, pick((False, True)), pick((False, True)))

    def one_attention(self, z, h, hk, L, S, d, causal, with_lse):
        torch = self.torch
        q, k, v = (torch.randn(z, heads, n, d, device=self.device, dtype=torch.bfloat16) for heads, n in ((h, L), (hk, S), (hk, S)))
        output = torch.full((z, h, L, d), math.nan, device=self.device, dtype=torch.bfloat16)
        lse = torch.full((z, h, L), math.nan, device=self.device) if with_lse else None
        text = f"attention z{z} h{h}/{hk} L{L} S{S} d{d} {'causal' if causal else 'full'}"
        try:
            self.launch("attention_bf16", q, k, v, output, lse, d ** -0.5, causal)
        except RuntimeError as problem:
            return self.fail(f"{text}: {problem}")
        self.synchronize()
        self.done += 1
        wanted, wanted_lse = self.attention_reference(q, k, v, d ** -0.5, causal)
        if torch.isnan(output).any():
            return self.fail(f"{text}: {int(torch.isnan(output).sum())} elements are NaN")
        error = ((output.double() - wanted).norm() / wanted.norm().clamp_min(1e-30)).item()
        largest = (output.double() - wanted).abs().max().item()
        if error > 1e-2 or largest > 0.1:
            return self.fail(f"{text}: relative error {error:.2e}, largest {largest:.2e}")
        if with_lse:
            seen = torch.isfinite(wanted_lse)
            if torch.isnan(lse).any() or not bool((lse[~seen] == -math.inf).all()) or \
                    (seen.any() and (lse[seen].double() - wanted_lse[seen]).abs().max().item() > 2e-3):
                return self.fail(f"{text}: lse is wrong")
        return None

    # ---- again and again ----

    def repeat(self):
        torch = self.torch
        load = subprocess.Popen([sys.executable, "-c", LOAD.format(device=self.device)], stdout=subprocess.PIPE, text=True)
        try:
            load.stdout.readline()
            for number, (m, n, k) in enumerate([(1024, 1024, 2048), (1000, 1096, 1032), (2048, 512, 4096)]):
                a = torch.randn(m, k, device=self.device, dtype=torch.bfloat16)
                stored = torch.randn(n, k, device=self.device, dtype=torch.bfloat16)
                b = stored.t() if number == 1 else stored.t().contiguous()
                self.same_bits(f"matmul {m}x{n}x{k}", "matmul_bf16_bf16", lambda out: (a, b, None, out, 0), (m, n))
            for d, causal in ((128, False), (128, True), (64, True)):
                q, kk, v = (torch.randn(2, 8, 1024, d, device=self.device, dtype=torch.bfloat16) for _ in range(3))
                self.same_bits(f"attention d{d} {'causal' if causal else 'full'}", "attention_bf16",
                               lambda out: (q, kk, v, out, None, d ** -0.5, causal), (2, 8, 1024, d))
        finally:
            load.kill()
            load.wait()

    def same_bits(self, text, entry, arguments, shape):
        torch = self.torch
        if not self.ours.has(entry):
            return
        first = torch.full(shape, math.nan, device=self.device, dtype=torch.bfloat16)
        self.launch(entry, *arguments(first))
        again = torch.empty_like(first)
        launch, different = self.ours.bind(entry, *arguments(again)), torch.zeros((), device=self.device, dtype=torch.int64)
        for _ in range(self.options.repeats):
            again.fill_(math.nan)
            launch()
            different += (again.view(torch.int16) != first.view(torch.int16)).any()
        self.done += 1
        if int(different) or torch.isnan(first).any():
            self.fail(f"repeat {text}: {int(different)} of {self.options.repeats} runs differ")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--assembled", default=None)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--count", type=int, default=60, help="shapes of products; half as many of attention")
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--seconds", type=float, default=240)
    options = parser.parse_args(arguments)
    options.parts = [part for part in options.only.split(",") if part]
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"--only {part}: none of {', '.join(PARTS)}")
    options.seed = options.seed if options.seed is not None else int(time.time())
    return options


def main(arguments):
    options = parse(arguments)
    import torch
    torch.manual_seed(options.seed)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.empty(1, device=options.device)
    ours = Ours(options.library, torch.cuda.current_stream().cuda_stream if options.device == "cuda" else TILE_CPU)
    checker = Checker(torch, ours, Assembled(options.assembled) if options.assembled else None, options)
    for part in options.parts:
        before = checker.done, checker.failures, time.time()
        getattr(checker, part)()
        print(f"{part}: {checker.done - before[0]} checks, {checker.failures - before[1]} failed, {time.time() - before[2]:.0f} s",
              flush=True)
    for name, count in sorted(checker.variants.items()):
        print(f"# {count:5d} launches of {name}")
    print(f"seed {options.seed}: {checker.done} checks, {checker.failures} failed")
    return 1 if checker.failures or not checker.done else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
