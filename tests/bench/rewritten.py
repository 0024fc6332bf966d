"""Products in other words (rewritten.tile), each beside the usual words for the same work on the same kind of text: for sm_90a, and
for sm_80 assembled for this GPU.  The column `layout` says which."""
import torch

from case import Case, poison, relative_error

SIZE = 4096
# Where a program walks over the columns: one program a multiprocessor, and factors that stay in the L2 cache, as the first is read
# again for each of its blocks of columns.
TALL = (132 * 128, 2048, 1024)
# form: block of the grid's counts over (M, N), in the order of the grid
GRID = {"plain": ("M128", "N256"), "swapped": ("M128", "N256"), "reversed": ("M128", "N256"), "while_up": ("M128", "N256"),
        "while_down": ("M128", "N256"), "summed": ("M128", "N256"), "shared": ("M128", "N128"), "extra": ("M128", "N256"),
        "nested": ("M128",), "turned": ("N128", "M128")}


def random(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)


def empty(*shape, dtype=torch.bfloat16):
    return torch.empty(*shape, device="cuda", dtype=dtype)


class Form:
    """What one form is called with, and the same work for `plain`."""

    def __init__(self, name):
        self.name = name
        m, n, k = TALL if name == "nested" else (SIZE, SIZE, SIZE)
        a, b, self.c = random(m, k), random(k, n), empty(m, n)
        self.shape = (m, n, k)
        self.arguments, self.tensors = [a, b, self.c], {"a": a, "b": b, "c": self.c}
        self.plain_a, self.plain_b, self.plain_c = a, b, empty(m, n)
        self.outputs = [self.c]
        if name == "swapped":
            self.tensors = {"bt": a, "at": b, "ct": self.c}
        elif name == "summed":
            a2, b2 = random(m, k), random(k, n)
            self.arguments, self.tensors = [a, b, a2, b2, self.c], {**self.tensors, "a2": a2, "b2": b2}
            self.plain_a, self.plain_b = torch.cat([a, a2], 1), torch.cat([b, b2], 0)
        elif name == "shared":
            b2, d = random(k, n), empty(m, n)
            self.arguments, self.tensors = [a, b, b2, self.c, d], {**self.tensors, "b2": b2, "d": d}
            self.outputs.append(d)
            self.plain_b, self.plain_c = torch.cat([b, b2], 1), empty(m, 2 * n)
        elif name == "extra":
            r = empty(m, dtype=torch.float32)
            self.arguments, self.tensors = [a, b, self.c, r], {**self.tensors, "r": r}

    def counts(self, name, rows, columns):
        size = {"M": rows, "N": columns}
        return [-(-size[word[0]] // int(word[1:])) for word in GRID[name]]

    def result(self):
        return torch.cat(self.outputs, 1)


def cases(ours, assembled):
    for name in GRID:
        if name != "plain":
            form = Form(name)
            yield case(form, "sm_90a", ours, None)
            if assembled:
                yield case(form, "sm_80", None, assembled)


def case(form, text, ours, assembled):
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    plain = {"a": form.plain_a, "b": form.plain_b, "c": form.plain_c}

    def bind(name, tensors, arguments, rows, columns):
        if ours:
            return ours.bind("rewritten_" + name, *arguments)
        return assembled.bind("rewritten_" + name, tensors, arguments, form.counts(name, rows, columns), processors)

    def versions():
        return {"ours": bind(form.name, form.tensors, form.arguments, form.shape[0], form.shape[1]),
                "plain": bind("plain", plain, list(plain.values()), *form.plain_c.shape)}

    def errors(launches):
        reference = form.plain_a[:256].double() @ form.plain_b.double()
        for output in form.outputs + [form.plain_c]:
            poison(output)
        for launch in launches.values():
            launch()
        torch.cuda.synchronize()
        found = {"ours": form.result(), "plain": form.plain_c}
        return {name: float("nan") if torch.isnan(value).any() else relative_error(value[:256].contiguous(), reference)
                for name, value in found.items()}

    m, n, k = form.shape
    work = 2 * form.plain_c.shape[0] * form.plain_c.shape[1] * form.plain_a.shape[1]
    return Case(form.name, {"shape": f"{m}x{n}x{k}", "dtype": "bf16", "layout": text}, work, "TFLOP/s", "plain", versions, errors)
