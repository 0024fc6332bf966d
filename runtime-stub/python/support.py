# SPDX-License-Identifier: MIT
# ---- what modules made by tilecc share: tilecc copies this file into each of them, behind the text that says what it is ----
#
# A call goes: each argument to what C takes, its element and its device -> the instance of these elements -> the stream ->
# one call by ctypes -> an exception where the status is not 0.  Neither NumPy nor PyTorch is imported here: what an argument
# is its type tells, once for each type (_readers).

import ctypes as _ctypes
import enum as _enum
import os as _os
import struct as _struct
import sys as _sys

CPU = 0x435055
"""The stream of calls that run on the processor; it is chosen by itself where the arguments are memory of the host."""


class Error(RuntimeError):
    """A call that did not launch: the run time's text, .status (enum tile_status in C) and .cuda_error, the driver's code or 0."""

    def __init__(self, text: str, status: int = 0, cuda_error: int = 0) -> None:
        super().__init__(text)
        self.status, self.cuda_error = status, cuda_error


class ArgumentError(Error, ValueError):
    """An argument breaks a rule of the kernel, which the text names."""


class View:
    """Memory by its address: View(pointer, "bf16", (4, 8)), for what is no array.  Strides count elements; device is the
    number of a GPU, or None for memory of the host."""

    __slots__ = ("pointer", "element", "shape", "strides", "device")

    def __init__(self, pointer: int, element: str, shape: Any, strides: Any = None, device: int | None = None) -> None:
        if not (isinstance(element, str) and element in _sizes):
            called = _named.get(str(element).rpartition(".")[2])
            raise TypeError("View: there is no element %r; %s" % (element, "it is called %r here" % called if called else
                                                                  "there are " + ", ".join(_sizes)))  # fmt: skip
        if getattr(pointer, "shape", ()) or not hasattr(pointer, "__index__"):
            raise TypeError("View: a pointer cannot be %s; it is an address, and an array is an argument without a View"
                            % (pointer if pointer is None else type(pointer).__name__))  # fmt: skip
        if not hasattr(shape, "__iter__"):
            raise TypeError("View: a shape cannot be %r; it is the extents in a tuple, such as (4,)" % shape)
        if not (device is None or hasattr(device, "__index__")):
            raise TypeError("View: a device cannot be %r; it is the number of a GPU, or None for memory of the host" % (device,))
        self.pointer, self.element, self.device = pointer, element, device
        self.shape = tuple(_whole(extent, "an extent") for extent in shape)
        self.strides = _packed(self.shape) if strides is None else tuple(_whole(stride, "a stride") for stride in strides)
        if not 0 <= _whole(pointer, "a pointer") < 1 << 64:
            raise OverflowError("View: a pointer cannot be %d" % pointer)
        if len(self.strides) != len(self.shape):
            raise TypeError("View: %d extents and %d strides" % (len(self.shape), len(self.strides)))

    def __repr__(self):
        return "View(%#x, %r, %r, %r, %r)" % (self.pointer, self.element, self.shape, self.strides, self.device)


class Info:
    """What a call would run: target, variant_text, variant, threads, registers, shared_bytes, cluster, persistent, maps, programs,
    and values, a dict of the names of `const` and `tune`."""

    def __init__(self, raw):
        self.target, self.variant_text = raw.target.decode(), raw.variant_text.decode()
        for name in ("variant", "threads", "registers", "shared_bytes", "cluster", "persistent", "maps", "programs"):
            setattr(self, name, getattr(raw, name))
        self.values = {raw.value_names[i].decode(): raw.values[i] for i in range(raw.value_count)}

    def __repr__(self):
        return "Info(%s)" % ", ".join("%s=%r" % item for item in vars(self).items())


class _RawInfo(_ctypes.Structure):
    _fields_ = [
        ("target", _ctypes.c_char_p), ("variant_text", _ctypes.c_char_p), ("variant", _ctypes.c_int),
        ("threads", _ctypes.c_int), ("registers", _ctypes.c_int), ("shared_bytes", _ctypes.c_int), ("cluster", _ctypes.c_int),
        ("persistent", _ctypes.c_int), ("maps", _ctypes.c_int), ("value_count", _ctypes.c_int),
        ("value_names", _ctypes.POINTER(_ctypes.c_char_p)), ("values", _ctypes.POINTER(_ctypes.c_int64)),
        ("programs", _ctypes.c_int64),
    ]  # fmt: skip


class _RawOptions(_ctypes.Structure):
    _fields_ = [
        ("size", _ctypes.c_uint32), ("flags", _ctypes.c_uint32), ("priority", _ctypes.c_int32), ("variant", _ctypes.c_int32),
    ]  # fmt: skip


def _int32(value, name, least):
    if not hasattr(value, "__index__"):
        raise TypeError("%s cannot be %r" % (name, value))
    if not least <= value <= 0x7FFFFFFF:
        raise OverflowError("%s is %d, beyond %d to %d" % (name, value, least, 0x7FFFFFFF))
    return value


# ---- elements ----

_sizes = {
    "bool": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "u8": 1, "u16": 2, "u32": 4, "u64": 8, "f16": 2, "bf16": 2, "f32": 4,
    "f64": 8, "f8e4m3": 1, "f8e5m2": 1, "pointer": 8,
}  # fmt: skip
# As NumPy, ml_dtypes and PyTorch call them.
_named = {
    "bool": "bool", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16",
    "uint32": "u32", "uint64": "u64", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
    "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2",
}  # fmt: skip
# A scalar argument, and a member of a struct: narrow ones travel wide.
_scalars = {
    "bool": _ctypes.c_int, "i8": _ctypes.c_int32, "i16": _ctypes.c_int32, "i32": _ctypes.c_int32, "i64": _ctypes.c_int64,
    "u8": _ctypes.c_uint32, "u16": _ctypes.c_uint32, "u32": _ctypes.c_uint32, "u64": _ctypes.c_uint64, "f16": _ctypes.c_float,
    "bf16": _ctypes.c_float, "f32": _ctypes.c_float, "f64": _ctypes.c_double, "f8e4m3": _ctypes.c_float,
    "f8e5m2": _ctypes.c_float,
}  # fmt: skip
# ctypes takes integers of any size and keeps their low bits.
_ranges = {
    _ctypes.c_int32: (-(1 << 31), (1 << 31) - 1), _ctypes.c_uint32: (0, (1 << 32) - 1),
    _ctypes.c_int64: (-(1 << 63), (1 << 63) - 1), _ctypes.c_uint64: (0, (1 << 64) - 1),
}  # fmt: skip


def _whole(number, what):
    if not hasattr(number, "__index__"):
        raise TypeError("View: %s cannot be %r" % (what, number))
    return int(number)


def _plain(value):
    """A boolean of NumPy, which has no __index__, as Python's; else the value."""
    kind = type(value)
    return bool(value) if kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_") else value


def _packed(shape):
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def _is_taken(element, wanted):
    return element == wanted or (wanted == "pointer" and element in ("i64", "u64"))


def _element_of_bytes(kind, size):
    """Of a letter of NumPy's __array_interface__ (b i u f) and a size; None: of no element."""
    if kind == "b":
        return "bool" if size == 1 else None
    element = kind + str(8 * size)
    return element if element in _sizes else None


def _in_elements(strides, size, name):
    for stride in strides:
        if stride % size:
            raise ValueError("%s has a stride of %d bytes, which is not whole elements of %d" % (name, stride, size))
    return tuple(stride // size for stride in strides)


# ---- arguments that are memory: each reader gives pointer, type, shape, strides, device (-1: the host), and what has to live as
# ---- long as the call, or None.  The type is one that _describe knows, or an element and the unit of the strides in bytes.


def _read_torch(value, name, written):
    if value.is_cuda:
        device = value.get_device()
    elif value.is_cpu:
        device = -1
    else:
        raise TypeError("%s is on %s; kernels run on the CPU and on CUDA devices" % (name, value.device))
    if value.is_neg():
        raise ValueError("%s is a negated view, which memory does not hold; resolve_neg() makes a tensor" % name)
    if written and value.requires_grad and _sys.modules["torch"].is_grad_enabled():
        raise ValueError("%s is written and requires a gradient, which would not know of it; call under no_grad()" % name)
    return value.data_ptr(), value.dtype, value.shape, value.stride(), device, None


def _read_numpy(value, name, written):
    pointer, read_only = value.__array_interface__["data"]
    if read_only and written:
        raise ValueError("%s is written, and the array is read-only" % name)
    return pointer, value.dtype, value.shape, value.strides, -1, None


def _describe(kind):
    """Element and unit of strides in bytes, of what a reader calls a type."""
    if isinstance(kind, tuple):
        return kind
    name = str(kind)
    if name.startswith("torch."):  # whose strides count elements
        return _named.get(name[6:], name), 1
    if not kind.isnative:
        return "%s of other byte order" % name, kind.itemsize
    return _named.get(kind.name, kind.name), kind.itemsize


def _read_interface(value, name, written, interface, device):
    typestr, (pointer, read_only) = interface["typestr"], interface["data"]
    size = int(typestr[2:])
    element = _element_of_bytes(typestr[1], size) if typestr[0] in "|<" else None
    if read_only and written:
        raise ValueError("%s is written, and the array is read-only" % name)
    shape, strides = tuple(interface["shape"]), interface.get("strides")
    if strides is None:
        return pointer, (element or typestr, 1), shape, _packed(shape), device, value
    return pointer, (element or typestr, size), shape, tuple(strides), device, value


def _read_array_interface(value, name, written):
    return _read_interface(value, name, written, value.__array_interface__, -1)


def _read_cuda_interface(value, name, written):
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is None:  # JAX: the class has it, arrays on the CPU and those of some elements do not
        return _read_dlpack(value, name, written)
    device = getattr(value, "device", 0)
    device = getattr(device, "id", device)  # CuPy's
    return _read_interface(value, name, written, interface, device if isinstance(device, int) else 0)


def _read_view(value, name, written):
    return value.pointer, (value.element, 1), value.shape, value.strides, -1 if value.device is None else value.device, None


class _Buffer(_ctypes.Structure):  # Py_buffer
    _fields_ = [
        ("buf", _ctypes.c_void_p), ("obj", _ctypes.py_object), ("len", _ctypes.c_ssize_t), ("itemsize", _ctypes.c_ssize_t),
        ("readonly", _ctypes.c_int), ("ndim", _ctypes.c_int), ("format", _ctypes.c_char_p),
        ("shape", _ctypes.POINTER(_ctypes.c_ssize_t)), ("strides", _ctypes.POINTER(_ctypes.c_ssize_t)),
        ("suboffsets", _ctypes.c_void_p), ("internal", _ctypes.c_void_p),
    ]  # fmt: skip


def _read_buffer(value, name, written):
    """array.array, memoryview, bytearray, arrays of ctypes: what has Python's buffer protocol."""
    held = memoryview(value)  # nobody resizes what has one
    letter = held.format.lstrip("@=<") if _sys.byteorder == "little" else held.format.lstrip("@=")
    kind = "f" if letter in "efd" else "b" if letter == "?" else "i" if letter in "bhilqn" else "u" if letter in "BHILQNc" else ""
    element = _element_of_bytes(kind, held.itemsize) if len(letter) == 1 and kind else None
    if held.readonly and written:
        raise ValueError("%s is written, and the buffer is read-only" % name)
    raw = _Buffer()
    _ctypes.pythonapi.PyObject_GetBuffer(_ctypes.py_object(held), _ctypes.byref(raw), 0x18)  # PyBUF_STRIDES
    pointer = raw.buf or 0
    _ctypes.pythonapi.PyBuffer_Release(_ctypes.byref(raw))
    return pointer, (element or "buffer of format %r" % held.format, held.itemsize), held.shape, held.strides, -1, held


class _DLTensor(_ctypes.Structure):
    _fields_ = [
        ("data", _ctypes.c_void_p), ("device_type", _ctypes.c_int32), ("device_id", _ctypes.c_int32), ("ndim", _ctypes.c_int32),
        ("code", _ctypes.c_uint8), ("bits", _ctypes.c_uint8), ("lanes", _ctypes.c_uint16),
        ("shape", _ctypes.POINTER(_ctypes.c_int64)), ("strides", _ctypes.POINTER(_ctypes.c_int64)),
        ("byte_offset", _ctypes.c_uint64),
    ]  # fmt: skip


class _DLVersioned(_ctypes.Structure):
    _fields_ = [
        ("major", _ctypes.c_uint32), ("minor", _ctypes.c_uint32), ("context", _ctypes.c_void_p), ("deleter", _ctypes.c_void_p),
        ("flags", _ctypes.c_uint64), ("tensor", _DLTensor),
    ]  # fmt: skip


def _export(value, **stream):
    """A capsule of version 1, which tells of memory that is only read, where the exporter knows it."""
    try:
        return value.__dlpack__(max_version=(1, 0), **stream)
    except TypeError:
        return value.__dlpack__(**stream)


def _open_capsule(capsule):
    """The tensor, and whether it is only read."""
    valid, get = _ctypes.pythonapi.PyCapsule_IsValid, _ctypes.pythonapi.PyCapsule_GetPointer
    valid.argtypes = get.argtypes = [_ctypes.py_object, _ctypes.c_char_p]
    get.restype = _ctypes.c_void_p
    if not valid(capsule, b"dltensor_versioned"):
        return _ctypes.cast(get(capsule, b"dltensor"), _ctypes.POINTER(_DLTensor)).contents, False
    whole = _ctypes.cast(get(capsule, b"dltensor_versioned"), _ctypes.POINTER(_DLVersioned)).contents
    if whole.major != 1:
        raise ValueError("DLPack of version %d, beyond 1" % whole.major)
    return whole.tensor, bool(whole.flags & 1)  # DLPACK_FLAG_BITMASK_READ_ONLY


def _read_dlpack(value, name, written):
    """JAX, TensorFlow and others.  The capsule stays ours to free: nothing is taken out of it."""
    device_type, device_id = value.__dlpack_device__()
    if int(device_type) not in (1, 2, 3, 13):  # kDLCPU, kDLCUDA, kDLCUDAHost, kDLCUDAManaged
        raise TypeError("%s is on device %d of DLPack; kernels run on the CPU and on CUDA devices" % (name, device_type))
    on_gpu = int(device_type) in (2, 13)
    capsule = _export(value, stream=1) if on_gpu else _export(value)  # 1: the default stream waits for the producer
    tensor, read_only = _open_capsule(capsule)
    if read_only and written:
        raise ValueError("%s is written, and the array is read-only" % name)
    kinds = {0: "i%d", 1: "u%d", 2: "f%d", 4: "bf%d", 6: "bool", 10: "f8e4m3", 12: "f8e5m2"}
    element = kinds.get(tensor.code, "code %d of DLPack" % tensor.code)
    element = element % tensor.bits if "%" in element else element
    shape = tuple(tensor.shape[d] for d in range(tensor.ndim))
    strides = tuple(tensor.strides[d] for d in range(tensor.ndim)) if tensor.strides else _packed(shape)
    pointer = (tensor.data or 0) + tensor.byte_offset
    return pointer, (element, 1), shape, strides, device_id if on_gpu else -1, capsule


_readers = {View: _read_view}
_protocols = {
    "__cuda_array_interface__": _read_cuda_interface, "__array_interface__": _read_array_interface, "__dlpack__": _read_dlpack,
}  # fmt: skip


def _find_protocol(holder):
    """The reader of the first that a type has, or a value by itself; None: it has none."""
    return next((reader for name, reader in _protocols.items() if hasattr(holder, name)), None)


def _find_reader(value, name):
    kind = type(value)
    torch, numpy = _sys.modules.get("torch"), _sys.modules.get("numpy")
    if torch is not None and isinstance(value, torch.Tensor):
        reader = _read_torch
    elif numpy is not None and isinstance(value, numpy.ndarray):
        reader = _read_numpy
    elif _find_protocol(kind):
        reader = _find_protocol(kind)
    elif _find_protocol(value):
        return _find_protocol(value)  # which other values of the type may not have
    else:
        try:
            memoryview(value)
        except TypeError:
            raise TypeError("%s is no array but %s; it takes arrays of NumPy, PyTorch and others, buffers, and a View"
                            % (name, kind.__name__)) from None  # fmt: skip
        reader = _read_buffer
    _readers[kind] = reader
    return reader


_pack_pointer = _struct.Struct("P").pack


class _Held(bytes):
    """A packed view, and what has to live as long as it."""


class _HeldPointer(_ctypes.c_void_p):
    """The same of an address."""


# ---- kinds of parameters: each is called with an argument, and gives its element, what C takes, and its device; None: none ----


class _ViewParameter:
    def __init__(self, name, rank, written=False, optional=False):
        self.name, self.rank, self.written, self.optional = name, rank, written, optional
        self.pack = _struct.Struct("%dq" % (2 * rank)).pack
        self.layouts = {}  # of the last views: type, shape and strides give element, extents and strides as C has them

    def __call__(self, value):
        if value is None and self.optional:
            return None, None, None
        reader = _readers.get(type(value)) or _find_reader(value, self.name)
        pointer, kind, shape, strides, device, owner = reader(value, self.name, self.written)
        layout = self.layouts.get((kind, shape, strides)) or self.lay_out(kind, shape, strides)
        packed = _pack_pointer(pointer) + layout[1]
        if owner is not None:
            packed = _Held(packed)
            packed.owner = owner
        return layout[0], packed, device

    def lay_out(self, kind, shape, strides):
        if len(shape) != self.rank:
            raise TypeError("%s has %d dimensions, and %d are taken" % (self.name, len(shape), self.rank))
        element, unit = _describe(kind)
        try:
            layout = element, self.pack(*shape, *_in_elements(strides, unit, self.name))
        except _struct.error:
            raise OverflowError("%s has extents or strides beyond 64 bits" % self.name) from None
        if len(self.layouts) >= 256:
            self.layouts.clear()
        self.layouts[kind, shape, strides] = layout
        return layout

    def c_type(self, element):
        return _ctypes.c_char_p


class _PointerParameter:
    """The address of an array, an integer that is one, or None."""

    def __init__(self, name, written):
        self.name, self.written = name, written

    def __call__(self, value):
        if value is None or isinstance(value, int):
            return None, value, None
        if hasattr(value, "_as_parameter_") or isinstance(value, (_ctypes.c_void_p, _ctypes._Pointer)):
            return None, _ctypes.cast(value, _ctypes.c_void_p), None
        reader = _readers.get(type(value)) or _find_reader(value, self.name)
        pointer, kind, _, _, device, owner = reader(value, self.name, self.written)
        if owner is not None:
            pointer = _HeldPointer(pointer)
            pointer.owner = owner
        return _describe(kind)[0], pointer, device

    def c_type(self, element):
        return _ctypes.c_void_p


class _ScalarParameter:
    def __init__(self, name):
        self.name = name

    def __call__(self, value):
        return None, value, None

    def c_type(self, element):
        return _scalars[element]


class _EnumParameter:
    """A member, its name or its number."""

    def __init__(self, name, enumeration):
        self.name, self.enumeration = name, enumeration

    def __call__(self, value):
        return None, _member(self.enumeration, value), None

    def c_type(self, element):
        return _ctypes.c_int


class _StructParameter:
    """A struct, or a tuple or dict of its members."""

    def __init__(self, name, structure):
        self.name, self.structure = name, structure

    def __call__(self, value):
        members = [field[0] for field in self.structure._fields_]
        if isinstance(value, dict):
            self.check_members([member for member in members if member not in value])
            value = self.structure(**value)
        elif isinstance(value, (tuple, list)):
            self.check_members(members[len(value):])
            value = self.structure(*value)
        elif not isinstance(value, self.structure):
            raise TypeError("%s is a struct %s, a tuple or a dict of its members" % (self.name, self.structure.__name__))
        return None, _ctypes.byref(value), None

    def check_members(self, missing):
        if missing:
            raise TypeError("%s lacks the members %s of struct %s" % (self.name, ", ".join(missing), self.structure.__name__))

    def c_type(self, element):
        return _ctypes.c_void_p


def _member(enumeration, value):
    if isinstance(value, str):
        try:
            return enumeration.__members__[value]
        except KeyError:
            raise ValueError("%s has no member %r; there are %s"
                             % (enumeration.__name__, value, ", ".join(enumeration.__members__))) from None  # fmt: skip
    return value


class _StructOfC(_ctypes.Structure):
    _enums = {}
    _pointees = {}  # name: element, whether it is written

    def __init__(self, *values: Any, **named: Any) -> None:
        for field, value in zip(self._fields_, values):
            if field[0] in named:
                raise TypeError("%s: %s is given twice" % (type(self).__name__, field[0]))
            named[field[0]] = value
        if len(values) > len(self._fields_) or not set(named) <= {field[0] for field in self._fields_}:
            raise TypeError("%s has the members %s" % (type(self).__name__, ", ".join(field[0] for field in self._fields_)))
        super().__init__()
        for name, value in named.items():
            setattr(self, name, value)

    def __repr__(self):
        members = ("%s=%r" % (field[0], getattr(self, field[0])) for field in self._fields_)
        return "%s(%s)" % (type(self).__name__, ", ".join(members))

    def __setattr__(self, name, value):
        value = _member(self._enums[name], value) if name in self._enums else _plain(value)
        bounds = _ranges.get(dict(self._fields_).get(name))
        if bounds and not bounds[0] <= value <= bounds[1]:
            raise OverflowError("%s of %s is %d, beyond %d to %d" % (name, type(self).__name__, value, *bounds))
        if name in self._pointees and not (value is None or isinstance(value, int)):
            reader = _readers.get(type(value)) or _find_reader(value, name)
            wanted, written = self._pointees[name]
            pointer, kind, _, _, _, owner = reader(value, name, written)
            element = _describe(kind)[0]
            if not _is_taken(element, wanted):
                raise TypeError("%s of %s points to %s, not to %s" % (name, type(self).__name__, wanted, element))
            self._held = {**getattr(self, "_held", {}), name: (value, owner)}
            value = pointer
        super().__setattr__(name, value)


# ---- streams ----


def _torch_stream(device):
    torch = _sys.modules["torch"]
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return raw(device) if raw else torch.cuda.current_stream(device).cuda_stream


def _current_stream(guide, device):
    """The stream that the library of this argument works on now; 0: the default stream."""
    if _readers.get(type(guide)) is _read_torch:
        return _torch_stream(device)
    if type(guide).__module__.partition(".")[0] == "cupy":
        return _sys.modules["cupy"].cuda.get_current_stream().ptr
    return 0


def _stream_handle(stream):
    if isinstance(stream, int):
        return stream
    for name in ("cuda_stream", "ptr", "handle"):  # PyTorch, CuPy, Numba and cuda-python
        handle = getattr(stream, name, None)
        if handle is not None:
            return getattr(handle, "value", handle) or 0
    if hasattr(stream, "__cuda_stream__"):
        return stream.__cuda_stream__()[1]
    raise TypeError("stream is a stream of PyTorch, CuPy or others, its handle, or CPU, not %s" % type(stream).__name__)


def _in_context(device, call):
    """Makes the call with the device's context current, which a new thread has not."""
    torch = _sys.modules.get("torch")
    if torch is None:
        return call()
    with torch.cuda.device(device):
        torch.cuda.current_stream(device).query()
        return call()


# ---- kernels ----

_no_size = _ctypes.c_size_t(-1).value  # of _workspace: an argument is wrong


class _Instance:
    """One entry of the library: its functions, and the elements of all parameters."""

    def __init__(self, library, symbol, signature, elements, parameters):
        self.symbol, self.elements, self.functions, self.ranges = symbol, elements, {}, []
        types = [_ctypes.c_void_p] + [p.c_type(e) for p, e in zip(parameters, elements)]
        ends = {"": [], "_query": [_ctypes.POINTER(_RawInfo)], "_launch_ex": [_ctypes.POINTER(_RawOptions)], "_workspace": []}
        for suffix, more in ends.items():
            try:
                function = getattr(library, "%s%s.signature_%s" % (symbol, suffix, signature))
            except AttributeError:
                raise ImportError("%s is of another build than %s: compile them anew" % (library._name, __file__)) from None
            function.argtypes = types + more
            function.restype = _ctypes.c_size_t if suffix == "_workspace" else _ctypes.c_int
            self.functions[suffix] = function
        self.launch = self.functions[""]
        for place, kind in enumerate(types[1:]):
            if kind in _ranges and isinstance(parameters[place], (_ScalarParameter, _EnumParameter)):
                self.ranges.append((place, parameters[place].name) + _ranges[kind])

    def takes(self, elements):
        return all(have is None or _is_taken(have, want) for have, want in zip(elements, self.elements))

    def shown(self, parameters):
        return ", ".join("%s %s" % (p.name, e) for p, e in zip(parameters, self.elements)
                         if isinstance(p, (_ViewParameter, _PointerParameter)))  # fmt: skip


class _Kernel:
    def __init__(self, library, name, parameters, instances):
        self.loaded, self.name, self.parameters = library, name, parameters
        self.instances = [_Instance(library, *instance, parameters) for instance in instances]
        self.chosen = {}

    def one(self, number):
        """The kernel of one instance alone."""
        alone = _Kernel(self.loaded, self.instances[number].symbol, self.parameters, [])
        alone.instances = [self.instances[number]]
        return alone

    def choose(self, elements):
        fitting = [instance for instance in self.instances if instance.takes(elements)]
        if len(fitting) == 1:
            self.chosen[elements] = fitting[0]
            return fitting[0]
        given = ", ".join("%s %s" % (p.name, e) for p, e in zip(self.parameters, elements) if e is not None)
        if fitting:
            raise TypeError("several instances take %s; call one by its name: %s"
                            % (given or "these", ", ".join(i.symbol for i in fitting)))  # fmt: skip
        raise TypeError("no instance takes %s; there are: %s"
                        % (given, "; ".join(i.shown(self.parameters) for i in self.instances)))  # fmt: skip

    def read(self, values):
        """The instance, what C takes, and the device with an argument that is there; device None: no argument is memory."""
        elements, arguments, place, guide = [], [], None, None
        for parameter, value in zip(self.parameters, values):
            element, argument, device = parameter(value)
            elements.append(element)
            arguments.append(argument)
            if device is not None and device != place:
                if place is not None:
                    raise ValueError("%s is %s, and arguments in front of it are %s"
                                     % (parameter.name, _where(device), _where(place)))  # fmt: skip
                place, guide = device, value
        elements = tuple(elements)
        instance = self.chosen.get(elements) or self.choose(elements)
        for position, name, least, most in instance.ranges:
            value = arguments[position]
            if not isinstance(value, int):
                value = arguments[position] = _plain(value)
            if not hasattr(value, "__index__"):
                raise TypeError("%s cannot be %r" % (name, value))
            if not least <= value <= most:
                raise OverflowError("%s is %d, beyond %d to %d" % (name, value, least, most))
        return instance, arguments, place, guide

    def __call__(self, stream, values, suffix="", last=()):
        try:
            instance, arguments, place, guide = self.read(values)
            if stream is None:
                stream = CPU if place is None or place < 0 else _current_stream(guide, place)
            else:
                stream = _stream_handle(stream)
                if place is not None and (stream == CPU) != (place < 0):
                    raise ValueError("the arguments are %s, and the stream is for %s"
                                     % (_where(place), "the processor" if stream == CPU else "a GPU"))  # fmt: skip
        except (TypeError, ValueError, OverflowError) as error:  # of a class that takes a text, which those of others may not
            kind = next(kind for kind in (TypeError, OverflowError, ValueError) if isinstance(error, kind))
            raise kind("%s: %s" % (self.name, error)) from None
        function = instance.launch if not suffix else instance.functions[suffix]
        try:
            if stream == 0 and not self.is_current(place):
                status = _in_context(place, lambda: function(stream, *arguments, *last))
            else:
                status = function(stream, *arguments, *last)
                if status == 4 and place is not None:  # TILE_ERR_NO_CONTEXT
                    status = _in_context(place, lambda: function(stream, *arguments, *last))
        except _ctypes.ArgumentError as error:
            raise TypeError("%s: %s" % (self.name, self.explain(error, arguments))) from None
        if suffix == "_workspace":
            if status != _no_size:
                return status
            status = 1
        if status:
            _raise(self.loaded, status)

    def explain(self, error, arguments):
        """ctypes counts arguments from 1, and the stream is the first."""
        words = str(error).split(":")[0].split()
        position = int(words[1]) - 2 if len(words) == 2 and words[1].isdigit() else -1
        if not 0 <= position < len(self.parameters):
            return str(error)
        return "%s cannot be %r" % (self.parameters[position].name, arguments[position])

    def is_current(self, device):
        """Of the default stream: whether it is that of the device."""
        torch = _sys.modules.get("torch")
        return torch is None or device is None or torch.cuda.current_device() == device

    def launch(self, stream, values, variant, overlap, priority, this_thread):
        if variant is None and not (overlap or priority or this_thread):
            return self(stream, values)
        flags = bool(overlap) | (variant is not None) << 1 | bool(this_thread) << 2  # enum tile_launch_flags
        priority = _int32(priority, "%s: priority" % self.name, -0x80000000)
        number = 0 if variant is None else _int32(variant, "%s: variant" % self.name, 0)
        options = _RawOptions(_ctypes.sizeof(_RawOptions), flags, priority, number)
        return self(stream, values, "_launch_ex", (_ctypes.byref(options),))

    def each(self, suffix):
        """A function of each instance that takes nothing."""
        for instance in self.instances:
            status = getattr(self.loaded, instance.symbol + suffix)()
            if status:
                _raise(self.loaded, status)

    def query(self, stream, values):
        raw = _RawInfo()
        self(stream, values, "_query", (_ctypes.byref(raw),))
        return Info(raw)


def _where(device):
    return "memory of the host" if device < 0 else "on cuda:%d" % device


def _raise(library, status):
    text = library.tile_last_error().decode() or library.tile_strerror(status).decode()
    kind = ArgumentError if status in (1, 2) else Error
    raise kind(text, status, library.tile_last_cuda_error())


def _open_library(folder, name):
    """The file that is there now.  For a path that is loaded dlopen() gives what lay there then, such as before a rebuild.  By
    another spelling it looks at the file, and loads it where it is another: `/` and `/.` spell the bits of the inode, which
    stays that file's as long as it is loaded."""
    path = _os.path.join(folder, name)
    try:
        _ctypes.CDLL(path, mode=_os.RTLD_NOLOAD)
    except OSError:
        return _ctypes.CDLL(path)
    inode = _os.stat(path).st_ino
    spelling = "".join("/." if inode >> bit & 1 else "/" for bit in range(64))
    return _ctypes.CDLL(folder + spelling + "/" + name)


def _load_library(name):
    folder = _os.path.dirname(_os.path.abspath(__file__))
    try:
        library = _open_library(folder, name)
    except OSError as error:
        raise ImportError("%s needs its library beside it: %s" % (__file__, error)) from None
    library.tile_last_error.restype = library.tile_strerror.restype = _ctypes.c_char_p
    library.tile_set_workspace.argtypes = [_ctypes.c_void_p, _ctypes.c_void_p, _ctypes.c_size_t]
    return library


def set_workspace(memory: Any, stream: Any = None) -> None:
    """Memory that kernels of this module use for scratch on the stream: an array at a multiple of 256 bytes, whose bytes are
    all used and which the program keeps, or None, the run time's own again."""
    pointer, size, device, guide = None, 0, -1, memory
    if memory is not None:
        reader = _readers.get(type(memory)) or _find_reader(memory, "memory")
        pointer, kind, shape, strides, device, _ = reader(memory, "memory", True)
        element, unit = _describe(kind)
        if element not in _sizes:
            raise TypeError("set_workspace: memory cannot be of %s" % element)
        size = _sizes[element]
        for extent in shape:
            size *= extent
        steps = zip(shape, _in_elements(strides, unit, "memory"), _packed(shape))
        if size and any(extent > 1 and stride != packed for extent, stride, packed in steps):
            raise ValueError("set_workspace: memory has gaps")
        if pointer % 256:
            raise ArgumentError("set_workspace: memory is at %#x, which is not at a multiple of 256 bytes" % pointer, 1)
    if stream is None:
        stream = CPU if device < 0 else _current_stream(guide, device)
    status = _library.tile_set_workspace(_stream_handle(stream), pointer, size)
    if status:
        _raise(_library, status)
