#!/usr/bin/env python3
"""Times the kernels of examples/ that no other program of the bench has, beside PyTorch and a copy of as many bytes, and compares them
with PyTorch in f32; paged_decode on the processor, too.

    MODULES=folder OUT_JSON=out.json python3 gallery.py

The folder has what `gallery-build TILECC FOLDER` makes: a module of Python for each kernel, with code for the processor and for
sm_90a.  Each launch stands between two events, behind a write of 256 MiB and a pause in which Python gets ahead of the GPU.
"""

import json
import os
import statistics
import sys
import time
import traceback

import torch
import torch.nn.functional as F

sys.path.insert(0, os.environ["MODULES"])
torch.manual_seed(1)
GPU = "cuda"
flush = torch.empty(256 << 20, dtype=torch.uint8, device=GPU)
ROWS = []
FAILED = []
MOST_ERROR = 0.07  # beside 1 or the value: what rounding to an f8e4m3 costs


def times(f, n=24):
    for _ in range(3):
        f()
    torch.cuda.synchronize()
    out = []
    for _ in range(n):
        flush.zero_()
        torch.cuda._sleep(150000)
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record()
        f()
        b.record()
        b.synchronize()
        out.append(a.elapsed_time(b) * 1e3)
    return out


copies = {}


def copy_us(bytes_moved):
    """of a copy that moves as many bytes, half read and half written"""
    n = max(256, int(bytes_moved) // 2 // 256 * 256)
    if n not in copies:
        a = torch.empty(n, dtype=torch.uint8, device=GPU)
        b = torch.empty_like(a)
        copies[n] = statistics.median(times(lambda: b.copy_(a)))
        del a, b
    return copies[n]


def show(name, what, f, error, bytes_moved=None, flop=None, peers=None):
    row = {"kernel": name, "what": what, "error": error, "us": times(f)}
    row["median"] = statistics.median(row["us"])
    if bytes_moved:
        row["bytes"] = bytes_moved
        row["copy_us"] = copy_us(bytes_moved)
        row["of_copy"] = row["copy_us"] / row["median"]
    if flop:
        row["tflops"] = flop / row["median"] * 1e-6
    for p, g in (peers or {}).items():
        try:
            row[p] = statistics.median(times(g))
        except Exception as e:
            row[p + "_failed"] = str(e)[:120]
    ROWS.append(row)
    if not error <= MOST_ERROR:
        FAILED.append(name)
    print(
        "%-22s %-34s err %.2g  %9.1f us" % (name, what, error, row["median"]),
        "".join(" %s %.3g" % (k, row[k]) for k in row if k not in ("kernel", "what", "error", "us", "median", "bytes")),
        flush=True,
    )


def error_of(a, b):
    a, b = a.float(), b.float()
    return float(((a - b).abs() / b.abs().clamp(min=1)).max())


def run(f):
    try:
        f()
    except Exception:
        FAILED.append(f.__name__)
        print(f.__name__, "FAILED", traceback.format_exc()[-600:], flush=True)
    torch.cuda.empty_cache()


def normal(*shape, d=torch.bfloat16):
    return torch.randn(*shape, device=GPU, dtype=torch.float32).to(d)


def linear():
    import linear as L

    for m, n, k in ((4096, 4096, 4096), (4096, 14336, 4096), (4096, 4096, 14336), (64, 8192, 8192)):
        x, w, bias, y = normal(m, k), normal(n, k) / 64, normal(n, d=torch.float32), normal(m, n)
        L.linear(x, w, bias, None, y, 0)
        bb = bias.bfloat16()
        e = error_of(y, x.float() @ w.float().T + bias)
        show(
            "linear",
            f"{m}x{n}x{k} bias",
            lambda: L.linear(x, w, bias, None, y, 0),
            e,
            flop=2 * m * n * k,
            peers={"torch_linear": lambda: F.linear(x, w, bb)},
        )


def gated_linear():
    import gated_linear as L

    for m, n, k in ((4096, 14336, 4096), (2048, 8192, 4096)):
        x, g, u, y = normal(m, k), normal(n, k) / 64, normal(n, k) / 64, normal(m, n)
        L.gated_linear(x, g, u, y)
        e = error_of(y, F.silu(x.float() @ g.float().T) * (x.float() @ u.float().T))
        show(
            "gated_linear",
            f"{m}x{n}x{k}",
            lambda: L.gated_linear(x, g, u, y),
            e,
            flop=4 * m * n * k,
            peers={"torch_two_products_and_gate": lambda: F.silu(x @ g.T) * (x @ u.T)},
        )


def batched():
    import batched_gemm as L

    for z, m, n, k in ((32, 1024, 1024, 1024), (64, 512, 512, 512), (16, 2048, 2048, 128)):
        a, b, c = normal(z, m, k), normal(z, k, n) / 32, normal(z, m, n)
        L.batched_gemm(1.0, a, b, 0.0, c)
        e = error_of(c, a.float() @ b.float())
        show(
            "batched_gemm",
            f"{z}x{m}x{n}x{k} NN",
            lambda: L.batched_gemm(1.0, a, b, 0.0, c),
            e,
            flop=2 * z * m * n * k,
            peers={"torch_bmm": lambda: torch.bmm(a, b)},
        )
        bt = (normal(z, n, k) / 32).transpose(1, 2)
        L.batched_gemm(1.0, a, bt, 0.0, c)
        show(
            "batched_gemm",
            f"{z}x{m}x{n}x{k} NT",
            lambda: L.batched_gemm(1.0, a, bt, 0.0, c),
            error_of(c, a.float() @ bt.float()),
            flop=2 * z * m * n * k,
            peers={"torch_bmm": lambda: torch.bmm(a, bt)},
        )


def block_sparse():
    import block_sparse as L

    m = n = k = 4096
    for bs in (64, 32):
        for density in (0.1, 0.3):
            mask = torch.rand(m // bs, k // bs, device=GPU) < density
            row = torch.zeros(m // bs + 1, dtype=torch.int32, device=GPU)
            row[1:] = mask.sum(1).cumsum(0)
            column = mask.nonzero()[:, 1].to(torch.int32).contiguous()
            l = column.numel()
            block, b, c = normal(l, bs, bs) / 8, normal(k, n), normal(m, n)
            dense = torch.zeros(m // bs, bs, k // bs, bs, device=GPU, dtype=torch.bfloat16)
            at = mask.nonzero()
            dense[at[:, 0], :, at[:, 1], :] = block
            dense = dense.reshape(m, k)
            L.block_sparse(row, column, block, b, c)
            e = error_of(c, dense.float() @ b.float())
            show(
                "block_sparse",
                f"{m}x{n}x{k} BS {bs} density {density}",
                lambda: L.block_sparse(row, column, block, b, c),
                e,
                flop=2 * l * bs * bs * n,
                peers={"dense_cublas": lambda: dense @ b},
            )


def linear_cross_entropy():
    import linear_cross_entropy as L

    for m, v in ((4096, 32000), (2048, 128256)):
        x0 = normal(m, v)
        label = torch.randint(0, v, (m,), device=GPU)
        total = torch.tensor([m], device=GPU)
        loss = torch.empty(m, device=GPU)
        x = x0.clone()
        L.linear_cross_entropy(x, label, total, loss, -100)
        xr = x0[:64].float().requires_grad_()
        (F.cross_entropy(xr, label[:64], reduction="sum") / m).backward()
        e = max(
            error_of(x[:64] * m, xr.grad * m),
            error_of(loss[:64] * m, F.cross_entropy(x0[:64].float(), label[:64], reduction="none")),
        )

        def peer():
            p = x0.detach().requires_grad_()
            F.cross_entropy(p, label).backward()

        show(
            "linear_cross_entropy",
            f"{m}x{v}",
            lambda: L.linear_cross_entropy(x, label, total, loss, -100),
            e,
            bytes_moved=x.numel() * 4,
            peers={"torch_loss_and_gradient": peer},
        )


def residual():
    import residual_norm as L

    for m, n in ((16384, 4096), (16384, 1024), (8192, 8192)):
        x, w, y = normal(m, n), normal(n), normal(m, n)
        r = normal(m, n, d=torch.float32)
        r0 = r.clone()
        rstd = torch.empty(m, device=GPU)
        L.residual_norm(x, r, w, None, None, None, y, r, None, None, rstd, 0.0, 1e-5, True)
        t = r0 + x.float()
        e = error_of(y, t * torch.rsqrt((t * t).mean(1, keepdim=True) + 1e-5) * w.float())
        show(
            "residual_norm",
            f"{m}x{n} RMS, p = 0",
            lambda: L.residual_norm(x, r, w, None, None, None, y, r, None, None, rstd, 0.0, 1e-5, True),
            e,
            bytes_moved=m * n * 12,
        )
        seed = torch.arange(m, device=GPU, dtype=torch.int64).to(torch.uint64)
        show(
            "residual_norm",
            f"{m}x{n} RMS, p = 0.1",
            lambda: L.residual_norm(x, r, w, None, None, seed, y, r, None, None, rstd, 0.1, 1e-5, True),
            0.0,
            bytes_moved=m * n * 12,
        )


def fp8():
    import fp8_blocks as L

    for m, n, k in ((4096, 7168, 2048), (4096, 4096, 7168), (4096, 4096, 4096)):
        x = normal(m, k)
        a = torch.empty(m, k, device=GPU, dtype=torch.float8_e4m3fn)
        sa = torch.empty(m, k // 128, device=GPU)
        L.quantise(x, a, sa)
        w = normal(n, k).to(torch.float8_e4m3fn)
        sw = torch.rand(n // 128, k // 128, device=GPU) / 64
        c = normal(m, n)
        L.product(a, sa, w, sw, c)
        af = a.float().reshape(m, -1, 128) * sa[:, :, None]
        wf = w.float().reshape(n // 128, 128, -1, 128) * sw[:, None, :, None]
        e = max(error_of(c, af.reshape(m, k) @ wf.reshape(n, k).T), error_of(af.reshape(m, k), x))
        wt = w.T
        one = torch.ones((), device=GPU)
        show(
            "fp8_blocks_product",
            f"{m}x{n}x{k}",
            lambda: L.product(a, sa, w, sw, c),
            e,
            flop=2 * m * n * k,
            peers={"scaled_mm_one_scale": lambda: torch._scaled_mm(a, wt, one, one, out_dtype=torch.bfloat16, use_fast_accum=True)},
        )
    for m, k in ((16384, 4096), (16384, 7168)):
        x = normal(m, k)
        a = torch.empty(m, k, device=GPU, dtype=torch.float8_e4m3fn)
        sa = torch.empty(m, k // 128, device=GPU)
        show("fp8_blocks_quantise", f"{m}x{k}", lambda: L.quantise(x, a, sa), 0.0, bytes_moved=m * k * 3 + m * k // 32)


def int8():
    import int8_linear as L

    for m, n, k in ((4096, 4096, 4096), (4096, 14336, 4096)):
        x = normal(m, k)
        q = torch.empty(m, k, device=GPU, dtype=torch.int8)
        s = torch.empty(m, device=GPU)
        L.quantise(x, q, s)
        w = torch.randint(-127, 128, (n, k), device=GPU, dtype=torch.int8)
        sw = torch.rand(n, device=GPU) / 127
        y = normal(m, n)
        L.product(q, s, w, sw, None, y)
        e = error_of(y[:256], (q[:256].double() @ w.double().T * s[:256, None] * sw).float())
        wt = w.T
        show(
            "int8_linear_product",
            f"{m}x{n}x{k}",
            lambda: L.product(q, s, w, sw, None, y),
            e,
            flop=2 * m * n * k,
            peers={"int_mm": lambda: torch._int_mm(q, wt)},
        )
    for m, k in ((16384, 4096), (8192, 14336)):
        x = normal(m, k)
        q = torch.empty(m, k, device=GPU, dtype=torch.int8)
        s = torch.empty(m, device=GPU)
        L.quantise(x, q, s)
        show(
            "int8_linear_quantise",
            f"{m}x{k}",
            lambda: L.quantise(x, q, s),
            error_of(q[:64].float() * s[:64, None], x[:64]),
            bytes_moved=m * k * 3,
        )


def sample():
    import sample as L

    for m, v in ((256, 128256), (4096, 32000)):
        x = normal(m, v)
        t = torch.empty(m, device=GPU, dtype=torch.int32)
        L.sample(x, t, 0.0, 1)
        e = float((x.float().gather(1, t.long()[:, None])[:, 0] != x.float().max(1).values).float().mean())
        show(
            "sample",
            f"{m}x{v}",
            lambda: L.sample(x, t, 0.8, 17),
            e,
            bytes_moved=m * v * 2,
            peers={"torch_softmax_multinomial": lambda: torch.multinomial(torch.softmax(x / 0.8, 1), 1)},
        )


def router():
    import router as L

    for m, n, top in ((16384, 64, 8), (16384, 128, 8), (16384, 256, 8), (65536, 64, 2)):
        x = normal(m, n, d=torch.float32)
        ex = torch.empty(m, top, device=GPU, dtype=torch.int32)
        w = torch.empty(m, top, device=GPU)
        L.router(x, ex, w)
        v, i = torch.topk(x, top)

        def peer():
            a, b = torch.topk(x, top)
            return torch.softmax(a, 1)

        show(
            "router",
            f"{m}x{n} top {top}",
            lambda: L.router(x, ex, w),
            max(error_of(w, torch.softmax(v, 1)), float((ex.long() != i).float().mean())),
            bytes_moved=m * n * 4 + m * top * 8,
            peers={"torch_topk_softmax": peer},
        )


def experts():
    import experts as L

    for m, n, k, e_count, topk in ((8192, 2048, 4096, 64, 2), (4096, 4096, 4096, 8, 2)):
        bs = 64
        choice = torch.rand(m, e_count, device=GPU).topk(topk).indices.reshape(-1)
        order = torch.argsort(choice, stable=True).to(torch.int32)
        count = torch.bincount(choice, minlength=e_count)
        ids, ex = [], []
        begin = 0
        for i in range(e_count):
            c = int(count[i])
            part = order[begin : begin + c]
            begin += c
            pad = -c % bs
            ids.append(torch.cat([part, torch.full((pad,), m * topk, device=GPU, dtype=torch.int32)]))
            ex += [i] * ((c + pad) // bs)
        ids = torch.cat(ids)
        ex = torch.tensor(ex, device=GPU, dtype=torch.int32)
        used = torch.tensor([ids.numel()], device=GPU, dtype=torch.int32)
        a, w, c = normal(m, k), normal(e_count, n, k) / 64, normal(m * topk, n)
        L.experts(a, w, ids, ex, used, None, c, topk, bs)
        some = torch.arange(0, m * topk, 97, device=GPU)
        ref = torch.stack([a[t // topk].float() @ w[choice[t]].float().T for t in some.tolist()])
        big = normal(ids.numel(), k)
        wd = w[0]
        show(
            "experts",
            f"{m} rows x {topk} of {e_count} experts, {n}x{k}",
            lambda: L.experts(a, w, ids, ex, used, None, c, topk, bs),
            error_of(c[some], ref),
            flop=2 * ids.numel() * n * k,
            peers={"dense_of_as_many_rows": lambda: big @ wd.T},
        )


def linear_attention():
    import linear_attention as L

    for z, h, l, d in ((8, 16, 4096, 64), (8, 16, 4096, 128), (1, 16, 16384, 128)):
        q, k, v, o = normal(z, h, l, d) / 8, normal(z, h, l, d) / 8, normal(z, h, l, d), normal(z, h, l, d)
        decay = -torch.rand(h, device=GPU) / 16
        L.linear_attention(q, k, v, decay, None, o)
        n = 512
        t = torch.arange(n, device=GPU, dtype=torch.float32)
        mask = torch.where(t[:, None] >= t, torch.exp(decay[:, None, None] * (t[:, None] - t).clamp(min=0)), 0.0)
        ref = ((q[0, :, :n].float() @ k[0, :, :n].float().transpose(1, 2)) * mask) @ v[0, :, :n].float()
        show(
            "linear_attention",
            f"{z}x{h}x{l}, D = E = {d}",
            lambda: L.linear_attention(q, k, v, decay, None, o),
            error_of(o[0, :, :n], ref),
            bytes_moved=z * h * l * d * 8,
        )


def rotary():
    import rotary as L

    for l, h in ((16384, 40), (4096, 40)):
        x0 = normal(l, h, 128)
        x = x0.clone()
        p = torch.arange(l, device=GPU, dtype=torch.int32)
        s_max = l
        f = 10000.0 ** (-torch.arange(64, device=GPU) / 64)
        an = torch.arange(s_max, device=GPU)[:, None] * f
        c, s = an.cos().contiguous(), an.sin().contiguous()
        L.rotary(x, p, c, s)
        a, b = x0[..., :64].float(), x0[..., 64:].float()
        cc, ss = c[:, None], s[:, None]
        show(
            "rotary",
            f"{l} tokens x {h} heads of 128",
            lambda: L.rotary(x, p, c, s),
            error_of(x, torch.cat([a * cc - b * ss, b * cc + a * ss], -1)),
            bytes_moved=l * h * 128 * 4 + l * 64 * 8,
        )


def decode(device, z, s, parts):
    import paged_decode as L

    h, hk, d, page = 32, 8, 128, 16
    per = s // page
    r = z * per
    q = torch.randn(z, h, d).bfloat16().to(device)
    k = torch.randn(r, page, hk, d, device=device).bfloat16()
    v = torch.randn(r, page, hk, d, device=device).bfloat16()
    table = torch.randperm(r).to(torch.int32).reshape(z, per).to(device)
    ln = torch.full((z,), s, dtype=torch.int32, device=device)
    part = torch.empty(z, h, parts, d, device=device)
    lse = torch.empty(z * h * parts, device=device)
    met = torch.zeros(z * hk, device=device, dtype=torch.int32).view(torch.uint32)
    o = torch.empty_like(q)

    def f():
        L.paged_decode(q, k, v, table, ln, part, lse, met, o, d**-0.5)

    f()
    kk = k[table[0].long()].reshape(s, hk, d).float().repeat_interleave(h // hk, 1)
    vv = v[table[0].long()].reshape(s, hk, d).float().repeat_interleave(h // hk, 1)
    p = torch.softmax(torch.einsum("hd,shd->hs", q[0].float(), kk) * d**-0.5, 1)
    ref = torch.einsum("hs,shd->hd", p, vv)
    return f, error_of(o[0], ref), 2 * z * s * hk * d * 2, (q, k, v, table)


def decode_gpu():
    for z, s, parts in ((32, 4096, 1), (1, 65536, 32)):
        f, e, n, _ = decode(GPU, z, s, parts)
        show("paged_decode", f"{z} x {s}, {parts} parts", f, e, bytes_moved=n)


def wall(f, seconds=0.7):
    f()
    out = []
    end = time.perf_counter() + seconds
    while len(out) < 5 or time.perf_counter() < end:
        a = time.perf_counter()
        f()
        out.append((time.perf_counter() - a) * 1e6)
    return out


def cpu_rows():
    n = 1 << 28
    a, b = torch.empty(n, dtype=torch.uint8).fill_(1), torch.empty(n, dtype=torch.uint8).fill_(1)
    c = statistics.median(wall(lambda: b.copy_(a)))
    print("cpu copy GB/s", 2 * n / c * 1e-3, "threads", torch.get_num_threads(), flush=True)
    ROWS.append({"kernel": "cpu_copy", "gb_s": 2 * n / c * 1e-3})
    for z, s, parts in ((1, 4096, 1), (1, 4096, 4), (8, 4096, 1), (8, 4096, 2), (32, 4096, 1), (1, 65536, 16)):
        f, e, n, (q, k, v, table) = decode("cpu", z, s, parts)
        us = wall(f)
        hk = 8
        kg = k[table.long()].reshape(z, s, hk, 128).transpose(1, 2).contiguous()
        vg = v[table.long()].reshape(z, s, hk, 128).transpose(1, 2).contiguous()
        try:
            t = wall(lambda: F.scaled_dot_product_attention(q[:, :, None], kg, vg, enable_gqa=True), 0.5)
        except Exception as x:
            t = [float("nan")]
            print(str(x)[:100])
        ROWS.append(
            {
                "kernel": "paged_decode on CPU",
                "what": f"{z} x {s}, {parts} parts",
                "error": e,
                "us": us,
                "bytes": n,
                "torch_sdpa_contiguous": t,
            }
        )
        m = statistics.median(us)
        print(
            "cpu paged_decode",
            z,
            s,
            parts,
            "err %.2g %.0f us %.1f GB/s, torch without pages %.0f us" % (e, m, n / m * 1e-3, statistics.median(t)),
            flush=True,
        )


print(torch.cuda.get_device_name(), torch.__version__)
for f in (
    linear,
    gated_linear,
    batched,
    block_sparse,
    linear_cross_entropy,
    residual,
    fp8,
    int8,
    sample,
    router,
    experts,
    linear_attention,
    rotary,
    decode_gpu,
    cpu_rows,
):
    t0 = time.time()
    run(f)
    print("   %s %.1f s" % (f.__name__, time.time() - t0), flush=True)
json.dump(
    {
        "what": "kernels of examples/ by gallery.py: microseconds of each call, L2 flushed; medians of PyTorch's and of a copy beside them",
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "rows": ROWS,
    },
    open(os.environ["OUT_JSON"], "w"),
)
if FAILED:
    sys.exit("failed: " + ", ".join(FAILED))
