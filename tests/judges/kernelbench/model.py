#!/usr/bin/env python3
"""KernelBench's own harness on our kernels: writes the source of a candidate, whose ModelNew calls libjudge.so.

    model.py LIBJUDGE REFERENCE.py > candidate.py

REFERENCE.py is a problem of KernelBench (level1/19_ReLU.py); the candidate holds its text, so that its parameters are
made as those of the reference are.  `LIBRARY=1 sh tests/judges/build kernelbench FOLDER sm_90a` makes libjudge.so."""
import sys
from pathlib import Path

CANDIDATE = '''

import ctypes, inspect, re
_library = ctypes.CDLL({library!r})
_library.judge_open.restype = ctypes.c_void_p
_library.judge_tensor_elements.argtypes = [ctypes.c_void_p, ctypes.c_int]
_library.judge_tensor_elements.restype = ctypes.c_int64
_library.judge_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]


class _Plan:
    """What follows from the shapes of the inputs alone."""
    def __init__(self, model, inputs):
        self.case = _library.judge_open({name!r})
        counts = []
        while n := _library.judge_tensor_elements(self.case, len(counts)):
            counts.append(n)
        self.memory = (ctypes.c_void_p * len(counts))()
        self.workspaces = [(place, -n) for place, n in enumerate(counts) if n < 0]
        # Where parameters are found, not what they are: each call looks, so that one may be put in another's place.
        self.weights = self.find_weights(model)
        given = [x for x in inputs if torch.is_tensor(x)] + [parameters[name] for parameters, name in self.weights]
        self.places = self.match([(place, n) for place, n in enumerate(counts) if n > 0], [x.numel() for x in given])
        # What comes out is asked on the meta device, which computes nothing.
        reference = Model.__new__(Model)
        reference.__dict__.update(model.__dict__)
        meta = {{k: v.to("meta") for k, v in model.state_dict().items()}}
        like = torch.func.functional_call(reference, meta, tuple(x.to("meta") if torch.is_tensor(x) else x for x in inputs))
        self.shape, self.type = like.shape, like.dtype

    @staticmethod
    def find_weights(model):
        """In the order in which __init__ makes them, of which PyTorch keeps that of modules and that of tensors alone."""
        names = re.findall(r"self\\.(\\w+)\\s*=", inspect.getsource(type(model).__mro__[1].__init__))
        named = [(full.split("."), m._parameters, name) for prefix, m in model.named_modules()
                 for name, p in m._parameters.items() if p is not None for full in [f"{{prefix}}.{{name}}".lstrip(".")]]
        order = lambda weight: names.index(weight[0][0]) if weight[0][0] in names else len(names)
        return [(parameters, name) for _, parameters, name in sorted(named, key=order)]

    @staticmethod
    def match(places, counts):
        """Pairs of place and number of what is given, -1 for the result, the last: the first that is left of as many elements."""
        left, pairs = list(range(len(counts))), [(places[-1][0], -1)]
        for place, n in places[:-1]:
            number = next((i for i in left if counts[i] == n), None)
            if number is None:
                raise RuntimeError(f"nothing of {{n}} elements is given")
            left.remove(number)
            pairs.append((place, number))
        return pairs


class ModelNew(Model):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._plans = {{}}

    def forward(self, *inputs):
        # Modes, as the device that peers.py sets, look at each function of torch; compiled code asks none, and neither does this.
        with torch._C.DisableTorchFunction():
            given = [x if x.is_contiguous() else x.contiguous() for x in inputs if isinstance(x, torch.Tensor)]
            key = tuple([x.shape for x in given])
            plan = self._plans.get(key) or self._plans.setdefault(key, _Plan(self, inputs))
            given += [parameters[name] for parameters, name in plan.weights]
            device, memory = given[0].device, plan.memory
            result = torch.empty(plan.shape, dtype=plan.type, device=device)
            kept = []
            for place, n in plan.workspaces:
                kept.append(torch.empty(n, dtype=torch.float32, device=device))
                memory[place] = kept[-1].data_ptr()
            given.append(result)
            for place, number in plan.places:
                memory[place] = given[number].data_ptr()
            stream = torch._C._cuda_getCurrentRawStream(device.index) if device.type == "cuda" else 0x435055
            status = _library.judge_run(plan.case, stream, memory)
        if status != 0:
            raise RuntimeError(f"status {{status}}")
        return result
'''


def candidate(library, reference):
    path = Path(reference)
    return path.read_text() + CANDIDATE.format(library=str(Path(library).resolve()), name=path.stem.encode())


if __name__ == '__main__':
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(candidate(sys.argv[1], sys.argv[2]), end='')
