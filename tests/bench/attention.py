"""Attention forward: examples/attention.tile as written beside cuDNN, PyTorch's own flash attention, and flex_attention (generated
Triton).  All rows have 16384 tokens and heads * head size 2048."""
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from case import DTYPE, Case, poison, relative_error

TOKENS, WIDTH = 16384, 2048
LENGTHS, HEAD_SIZES = [1024, 4096, 16384], [128, 64]
REFERENCE_ROWS = 4096  # at a time: a block of scores in float64


def reference_of(q, k, v, causal, scale, heads):
    """In float64, [heads, L, D]."""
    results = []
    L, D, S = q.shape[-2], q.shape[-1], k.shape[-2]
    for head in heads:
        Q, K, V = (t.reshape(-1, t.shape[-2], D)[head].double() for t in (q, k, v))
        result = torch.empty(L, D, dtype=torch.float64, device=q.device)
        for start in range(0, L, REFERENCE_ROWS):
            scores = (Q[start:start + REFERENCE_ROWS] @ K.T) * scale
            if causal:
                row = torch.arange(start, start + scores.shape[0], device=q.device)[:, None] + (S - L)
                scores.masked_fill_(torch.arange(S, device=q.device)[None, :] > row, float("-inf"))
            result[start:start + REFERENCE_ROWS] = torch.nan_to_num(torch.softmax(scores, -1)) @ V
        results.append(result)
    return torch.stack(results)


def peer_launches(q, k, v, causal, scale, peers, outputs):
    def library(backend, name):
        def launch():
            with sdpa_kernel(backend):
                outputs[name] = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale)
        return launch
    out = {"cudnn": library(SDPBackend.CUDNN_ATTENTION, "cudnn")}
    if "flash" in peers:
        out["flash"] = library(SDPBackend.FLASH_ATTENTION, "flash")
    if "flex" in peers:
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
        torch._dynamo.reset()
        flex = torch.compile(flex_attention, dynamic=False)
        S = q.shape[-2]
        mask = create_block_mask(lambda z, h, i, j: i >= j, None, None, S, S, device="cuda") if causal else None

        def launch():
            outputs["flex"] = flex(q, k, v, block_mask=mask, scale=scale)
        launch()
        out["flex"] = launch
    return out


def cases(ours, lengths, head_sizes, dtypes, masks, peers):
    for d in head_sizes:
        for letter in dtypes:
            if not ours.has(f"attention_{letter}"):
                print(f"# the library has no attention_{letter}", flush=True)
                continue
            for s in lengths:
                for causal in masks:
                    yield attention(ours, TOKENS // s, WIDTH // d, s, d, letter, causal, peers)


def attention(ours, z, h, s, d, letter, causal, peers):
    scale, entry = d ** -0.5, f"attention_{letter}"
    tensors, outputs = [], {}

    def make():
        if not tensors:
            tensors.extend(torch.randn(z, h, s, d, device="cuda", dtype=DTYPE[letter]) for _ in range(3))
            outputs["ours"] = torch.empty_like(tensors[0])
        return (*tensors, outputs["ours"], None, scale, causal)

    def versions():
        arguments = make()
        return {"ours": ours.bind(entry, *arguments), **peer_launches(*arguments[:3], causal, scale, peers, outputs)}

    def errors(launches):
        q, k, v = tensors
        heads = sorted({0, z * h // 2, z * h - 1})
        reference, found = reference_of(q, k, v, causal, scale, heads), {}
        for version, launch in launches.items():
            if version == "ours":
                poison(outputs["ours"])
            launch()
            output = outputs[version]
            own = relative_error(output.reshape(-1, s, d)[heads], reference)
            found[version] = float("nan") if torch.isnan(output).any() else own
        return found

    def info():
        return ours.query(entry, *make())
    what = {"shape": f"z{z} h{h} s{s} d{d}", "dtype": letter, "mask": "causal" if causal else "full"}
    return Case("attention", what, 4 * z * h * s * s * d // (2 if causal else 1), "TFLOP/s", "cudnn", versions, errors, info)
