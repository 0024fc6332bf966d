"""Our side of the comparison: entries of a shared library of our objects through ctypes, as a C program would call them, and
code for sm_80 assembled for the GPU at hand, launched through the driver with the slots that tile_rt.h describes.

Tensors are only asked for data_ptr(), shape and stride(), so that this file needs no PyTorch."""
import ctypes
import math


TILE_CPU = 0x435055  # the stream that means the host's processor


def view_struct(rank):
    class View(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("extent", ctypes.c_int64 * rank), ("stride", ctypes.c_int64 * rank)]
    return View


VIEW = {rank: view_struct(rank) for rank in range(1, 9)}


def is_tensor(value):
    return hasattr(value, "data_ptr")


def view(tensor):
    rank = len(tensor.shape)
    return VIEW[rank](tensor.data_ptr(), (ctypes.c_int64 * rank)(*tensor.shape), (ctypes.c_int64 * rank)(*tensor.stride()))


class Info(ctypes.Structure):
    """struct tile_kernel_info"""
    _fields_ = [("target", ctypes.c_char_p), ("variant_text", ctypes.c_char_p), ("variant", ctypes.c_int), ("threads", ctypes.c_int),
                ("registers", ctypes.c_int), ("shared_bytes", ctypes.c_int), ("cluster", ctypes.c_int), ("persistent", ctypes.c_int),
                ("maps", ctypes.c_int), ("value_count", ctypes.c_int), ("value_names", ctypes.POINTER(ctypes.c_char_p)),
                ("values", ctypes.POINTER(ctypes.c_int64)), ("programs", ctypes.c_int64)]

    def as_dict(self):
        out = {name: getattr(self, name) for name, _ in self._fields_ if name not in ("value_names", "values", "value_count")}
        out = {name: value.decode() if isinstance(value, bytes) else value for name, value in out.items()}
        out["values"] = {self.value_names[i].decode(): self.values[i] for i in range(self.value_count)}
        return out


class Ours:
    """Calls entry points of the library; a status other than 0 raises with the run time's own words."""

    def __init__(self, path, stream=0):
        self.library = ctypes.CDLL(path)
        self.library.tile_last_error.restype = ctypes.c_char_p
        self.stream = stream

    def has(self, name):
        return hasattr(self.library, name)

    def values(self, arguments):
        values = [ctypes.c_void_p(self.stream)]
        for argument in arguments:
            if argument is None:
                values.append(ctypes.c_void_p(None))
            elif is_tensor(argument):
                values.append(ctypes.byref(view(argument)))
            elif isinstance(argument, float):
                values.append(ctypes.c_float(argument))
            else:
                values.append(ctypes.c_int64(int(argument)))
        return values

    def failed(self, name, status):
        return RuntimeError(f"{name}: status {status}: {self.library.tile_last_error().decode()}")

    def bind(self, name, *arguments):
        """A function of no arguments that launches `name`."""
        entry = getattr(self.library, name)
        entry.restype = ctypes.c_int
        values = self.values(arguments)

        def launch():
            status = entry(*values)
            if status:
                raise self.failed(name, status)
        launch.kept = arguments
        return launch

    def query(self, name, *arguments):
        """What a call would run."""
        entry, info = getattr(self.library, name + "_query"), Info()
        entry.restype = ctypes.c_int
        status = entry(*self.values(arguments), ctypes.byref(info))
        if status:
            raise self.failed(name + "_query", status)
        return info.as_dict()


# ---- text for sm_80, assembled for this GPU ----------------------------------------------------------------------------------

class Driver:
    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")

    def call(self, name, *arguments):
        status = getattr(self.cuda, name)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.cuda.cuGetErrorString(status, ctypes.byref(text))
            raise RuntimeError(f"{name}: {status}: {(text.value or b'').decode()}")


def read_manifest(path):
    """Lines of `entry, symbol, cubin, threads, dynamic shared bytes, persistent, label`, tabs between, as tests/bench/build writes."""
    rows = []
    with open(path) as file:
        for line in file:
            entry, symbol, cubin, threads, shared, persistent, label = line.rstrip("\n").split("\t")
            rows.append({"entry": entry, "symbol": symbol, "cubin": cubin, "threads": int(threads), "shared": int(shared),
                         "persistent": int(persistent), "label": label})
    return rows


def facts_of(label):
    """Words behind the knobs: 'matmul<…>[BM=128,…] sm_80 a.stride[1]=1 b.stride[1]=1 aligned' gives the last three."""
    return label.split("] ", 1)[1].split()[1:] if "] " in label else label.split()[2:]


def knobs_of(label):
    inside = label[label.index("[") + 1:label.index("]")]
    return {name: int(value) for name, value in (pair.split("=") for pair in inside.split(","))}


def fact_holds(fact, tensors):
    """One word of a label: `a.stride[1]=1`, `aligned` (every tensor on 16 bytes, all strides but 1 of whole 16 bytes), `words` (the same of 4,
    and of rows), `general`."""
    if fact == "general":
        return True
    if fact in ("aligned", "words"):
        least = 16 if fact == "aligned" else 4
        return all(t.data_ptr() % least == 0 and all(s == 1 or s * t.element_size() % least == 0 for s in t.stride())
                   and (least == 16 or all(e * t.element_size() % 4 == 0 for e, s in zip(t.shape, t.stride()) if s == 1))
                   for t in tensors.values() if t is not None)
    name, rest = fact.split(".stride[")
    dimension, wanted = rest.split("]=")
    return tensors[name] is not None and tensors[name].stride()[int(dimension)] == int(wanted)


def slots_of(arguments, counts):
    """The flat array of 64-bit slots.  An absent view is given as its rank."""
    slots = []
    for argument in arguments:
        if is_tensor(argument):
            slots += [argument.data_ptr(), *argument.shape, *argument.stride()]
        elif isinstance(argument, tuple):
            slots += [0] * (1 + 2 * argument[0])
        else:
            slots.append(int(argument))
    return slots + list(counts) + [0]


class Assembled:
    """The instances of tests/bench/build's manifest."""

    def __init__(self, folder):
        self.folder = folder
        self.rows = read_manifest(f"{folder}/manifest")
        self.driver = Driver()
        self.functions = {}

    def function(self, row):
        if row["symbol"] not in self.functions:
            module, function = ctypes.c_void_p(), ctypes.c_void_p()
            with open(f"{self.folder}/{row['cubin']}", "rb") as file:
                self.driver.call("cuModuleLoadData", ctypes.byref(module), file.read())
            self.driver.call("cuModuleGetFunction", ctypes.byref(function), module, row["symbol"].encode())
            if row["shared"]:
                self.driver.call("cuFuncSetAttribute", function, 8, row["shared"])
            self.functions[row["symbol"]] = function
        return self.functions[row["symbol"]]

    def choose(self, entry, tensors):
        for row in self.rows:
            if row["entry"] == entry and all(fact_holds(fact, tensors) for fact in facts_of(row["label"])):
                return row
        return None

    def bind(self, entry, tensors, arguments, counts, processors):
        """A function of no arguments that launches the instance that fits the tensors; None when there is none."""
        row = self.choose(entry, tensors)
        if row is None:
            return None
        slots = slots_of(arguments, counts)
        values = (ctypes.c_uint64 * len(slots))(*slots)
        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(values))
        blocks = math.prod(counts)
        if row["persistent"]:
            blocks = min(blocks, row["persistent"] * processors)
        function, launch_kernel = self.function(row), self.driver.cuda.cuLaunchKernel

        def launch():
            status = launch_kernel(function, blocks, 1, 1, row["threads"], 1, 1, row["shared"], None, parameters, None) if blocks else 0
            if status:
                raise RuntimeError(f"cuLaunchKernel gives {status} for {row['symbol']}")
        launch.kept = (values, parameters, tensors)
        launch.label = row["label"]
        return launch

    def bind_product(self, entry, a, b, c, processors, activation=0):
        """matmul(a, b, no bias, c, activation); None when no instance fits."""
        tensors = {"a": a, "b": b, "c": c}
        row = self.choose(entry, tensors)
        if row is None:
            return None
        knobs = knobs_of(row["label"])
        counts = [-(-c.shape[0] // knobs["BM"]), -(-c.shape[1] // knobs["BN"])]
        return self.bind(entry, tensors, [a, b, (1,), c, activation], counts, processors)
