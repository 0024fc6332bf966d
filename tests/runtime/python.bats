#!/usr/bin/env bats
# --emit=python: modules called with buffers of Python alone, with NumPy where it is, and with a stand-in for PyTorch.

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    export TILECC_CACHE=
    cat >k.tile <<'END'
enum act { none, relu, clip = 4 }
struct norm { eps: f64; rows: i16; f: act; at: *const f32; }
/// y = a*x + y, "so" \n to speak.
/// Of any length.
kernel axpy<T: {f32, f16, bf16, f64, i32, f8e4m3, f8e5m2}>(a: f32, x: in T[N], y: inout T[N])
    grid(b: cdiv(N, B)) tune(B: {64} = 64)
{
    y[b*B +: B] = T(a * f32(x[b*B +: B]) + f32(y[b*B +: B]));
}
/// Rows, with a bias where there is one.
kernel rows<K: act, D: {2, 4}>(f: act, x: in strided f32[M, D], y: out f32[M, D], lambda: i32, bias: in? f32[D])
    requires(lambda > 0) grid(m: M)
{
    for d in 0..D {
        var v = x[m, d] * f32(lambda) + bias[d];
        if (f == act.relu) v = max(v, 0.0);
        if (K == act.clip) v = min(v, 9.0);
        y[m, d] = v;
    }
}
kernel len(p: norm, q: *const f32, n: u64, r: out f32[N]) grid(i: N)
{
    r[i] = f32(p.eps) + f32(p.rows) + load(p.at + 1) + load(q) + f32(n) + (p.f == act.clip ? 0.5 : 0.0);
}
kernel filled<T: {f32, f16}>(stream: T, q: *T) grid(i: 1) { store(q, stream); }
struct lit { on: bool; }
kernel flags<K: {false, true}>(a: bool, y: out i32[N], p: lit) grid(i: N)
{
    y[i] = i32((a ? 1 : 0) + (K ? 10 : 0) + (p.on ? 100 : 0));
}
kernel counted(x: in i32[N], y: out i32[N]) scratch(seen: i32[N] = 3) grid(i: N) { seen[i] = x[i]; y[i] = seen[i]; }
END
    "$TILECC" -arch=cpu --emit=python k.tile -o k.py
}

setup() {
    cd "$BATS_FILE_TMPDIR"
    export TILECC_CACHE= PYTHONDONTWRITEBYTECODE=1
    command -v python3 >/dev/null || skip "no python3"
}

# A program on standard input, behind what all share: `raised TYPE WORDS function arguments...`
python() {
    {
        cat <<'END'
import array, ctypes, sys
sys.path.insert(0, ".")
import k
def raised(kind, words, function, *values, **named):
    try:
        function(*values, **named)
    except kind as error:
        assert words in str(error), error
        return error
    raise AssertionError("nothing raised")
END
        cat
    } >"$BATS_TEST_TMPDIR/program.py"
    python3 "$BATS_TEST_TMPDIR/program.py"
}

@test "with buffers of Python alone" {
    python <<'END'
assert "numpy" not in sys.modules and "torch" not in sys.modules
x, y = array.array("f", range(700)), array.array("f", [1] * 700)
k.axpy(3, x, y)
assert y == array.array("f", (3 * i + 1 for i in range(700)))
k.axpy(a=3, x=x, y=memoryview(y))
assert y[10] == 61
z = (ctypes.c_double * 3)(1, 2, 3)
k.axpy(1.0, array.array("d", z), z, stream=k.CPU)
assert list(z) == [2, 4, 6]
b = bytearray(12)
k.axpy(2, array.array("i", [1, 2, 3]), memoryview(b).cast("i"))
assert list(memoryview(b).cast("i")) == [2, 4, 6]
k.axpy(1, k.View(ctypes.addressof((ctypes.c_double * 3)(1, 1, 1)), "f64", (3,)), z)
bits, sums = (ctypes.c_uint16 * 2)(0x3f80, 0x4000), (ctypes.c_uint16 * 2)()  # 1 and 2
k.axpy(2, k.View(ctypes.addressof(bits), "bf16", (2,)), k.View(ctypes.addressof(sums), "bf16", (2,)))
assert list(sums) == [0x4000, 0x4080]
assert k.axpy.__doc__.startswith('y = a*x + y, "so" \\n to speak.\n    Of any length.'), k.axpy.__doc__
assert "y: [N], f32, f16, bf16, f64, i32, f8e4m3 or f8e5m2, read and written, last stride 1" in k.axpy.__doc__
assert "Requires lambda > 0" in k.rows.__doc__ and "bias: [D] or None, f32, read" in k.rows.__doc__
assert k.rows.__annotations__["f"] == "act | str | int" and k.rows.__annotations__["lambda_"] == "int"
END
}

@test "enums, keys, structs, pointers, absent views" {
    python <<'END'
x = memoryview(array.array("f", [-1, 2, 3, 4])).cast("B").cast("f", (2, 2))
y = memoryview(array.array("f", [0] * 4)).cast("B").cast("f", (2, 2))
def rows(*values, **named):
    k.rows(*values, **named)
    return y.tolist()
assert issubclass(k.act, int) and [m.name for m in k.act] == ["none", "relu", "clip"] and k.act.clip == 4
assert rows("relu", x, y, 3, None, k.act.none) == [[0, 6], [9, 12]]
assert rows(k.act.none, x, y, 3, array.array("f", [1, 2]), "clip") == [[-2, 8], [9, 9]]
assert rows(0, x, y, lambda_=1, bias=None, K=0) == [[-1, 2], [3, 4]]
raised(ValueError, "act has no member 'gelu'; there are none, relu, clip", k.rows, "gelu", x, y, 1, None, 0)
raised(k.ArgumentError, "lambda > 0", k.rows, 0, x, y, 0, None, 0)
raised(OverflowError, "lambda_ is 4294967297", k.rows, 0, x, y, 2**32 + 1, None, 0)
raised(TypeError, "lambda_ cannot be 'a'", k.rows, 0, x, y, "a", None, 0)
raised(TypeError, "lambda_ cannot be 1.5", k.rows, 0, x, y, 1.5, None, 0)
raised(k.ArgumentError, "k_rows: f", k.rows, 7, x, y, 1, None, 0)
table, q, r = array.array("f", [0, 100]), array.array("f", [1000]), array.array("f", [0] * 3)
p = k.norm(eps=0.25, rows=-8, f="clip", at=table)
k.len_(p, q, 7, r)
assert list(r) == [1099.75] * 3, r
k.len_((0.25, 0, 0, table), q.buffer_info()[0], 0, r)
k.len_(dict(eps=0.25, rows=0, f=0, at=table.buffer_info()[0]), q, 0, r)
assert list(r) == [1100.25] * 3, r
raised(OverflowError, "rows of norm is 4294967296", k.norm, rows=2**32)
raised(k.ArgumentError, "p.rows", k.len_, k.norm(rows=40000, at=table), q, 0, r)
raised(TypeError, "norm has the members eps, rows, f, at", k.norm, epsilon=1)
raised(TypeError, "p is a struct norm", k.len_, 3, q, 0, r)
raised(TypeError, "len: p lacks the members rows, f, at of struct norm", k.len_, (0.5,), q, 0, r)
raised(TypeError, "len: p lacks the members eps, rows, f, at of struct norm", k.len_, (), q, 0, r)
raised(TypeError, "len: p lacks the members eps, f of struct norm", k.len_, {"rows": 2, "at": table}, q, 0, r)
raised(TypeError, "norm has the members eps, rows, f, at", k.len_, (0.25, 0, 0, table, 1), q, 0, r)
assert repr(k.norm(0.25, -8, "clip")) == "norm(eps=0.25, rows=-8, f=4, at=None)"
raised(TypeError, "at of norm points to f32, not to f64", k.norm, at=array.array("d", [1]))
for _ in range(9):  # what it pointed to before goes
    p.at = array.array("f", [1, 2])
assert len(p._held) == 1
one = array.array("f", [0])
k.filled(2.5, one)
assert one[0] == 2.5
k.k_filled_f16(1.5, one.buffer_info()[0])
raised(TypeError, "several instances take these; call one by its name: k_filled_f32, k_filled_f16", k.filled, 1, one.buffer_info()[0])
END
}

@test "errors are exceptions with the run time's text" {
    python <<'END'
x, y = array.array("f", [1] * 4), array.array("f", [1] * 5)
error = raised(k.ArgumentError, "k_axpy_f32: extent 0 of y is 5, but N is 4", k.axpy, 1, x, y)
assert error.status == 1 and error.cuda_error == 0 and isinstance(error, ValueError) and isinstance(error, k.Error)
error = raised(k.ArgumentError, "share", k.axpy, 1, memoryview(y)[:4], memoryview(y)[1:])
assert error.status == 2
raised(TypeError, "axpy: no instance takes x f32, y f64; there are: x f32, y f32; ", k.axpy, 1, x, array.array("d", [1] * 4))
raised(TypeError, "axpy: x is no array but int", k.axpy, 1, 2, y)
raised(TypeError, "axpy: y is no array but NoneType", k.axpy, 1, x, None)
raised(TypeError, "axpy: x has 2 dimensions, and 1 are taken", k.axpy, 1, memoryview(bytes(16)).cast("f", (2, 2)), y)
raised(ValueError, "axpy: y is written, and the buffer is read-only", k.axpy, 1, x, memoryview(bytes(16)).cast("f"))
raised(ValueError, "the stream is for a GPU", k.axpy, 1, x, x, stream=0)
raised(ValueError, "axpy: y is memory of the host", k.axpy, 1, k.View(4096, "f32", (4,), device=0), x)
raised(TypeError, "there is no element 'half'; there are bool, i8", k.View, 0, "half", (1,))
raised(TypeError, "there is no element 'float32'; it is called 'f32' here", k.View, 0, "float32", (1,))
raised(TypeError, "a shape cannot be 4; it is the extents in a tuple, such as (4,)", k.View, 0, "f32", 4)
raised(TypeError, "a device cannot be 'cpu'; it is the number of a GPU, or None", k.View, 0, "f32", (4,), None, "cpu")
raised(TypeError, "a pointer cannot be array; it is an address, and an array is an argument without a View", k.View, x, "f32", (4,))
assert repr(k.View(4096, "f32", (2, 3), device=1)) == "View(0x1000, 'f32', (2, 3), (3, 1), 1)"
raised(TypeError, "View: a pointer cannot be None", k.View, None, "f32", (1,))
raised(OverflowError, "View: a pointer cannot be -1", k.View, -1, "f32", (1,))
raised(TypeError, "View: an extent cannot be 1.5", k.View, 0, "f32", (1.5,))
raised(TypeError, "View: a stride cannot be 'a'", k.View, 0, "f32", (1,), "a")
raised(TypeError, "View: 2 extents and 1 strides", k.View, 0, "f32", (1, 2), (1,))
raised(OverflowError, "axpy: x has extents or strides beyond 64 bits", k.axpy, 1, k.View(64, "f32", (1 << 63,)), x)
class Broken(ValueError):  # an error that is not made of a text
    def __init__(self, a, b): super().__init__(a + b)
class Raising:
    __array_interface__ = property(lambda self: (_ for _ in ()).throw(Broken("what ", "was")))
raised(ValueError, "axpy: what was", k.axpy, 1, Raising(), x)
raised(TypeError, "stream is a stream", k.axpy, 1, x, x, stream="a")
raised(TypeError, "x u8", k.axpy, 1, memoryview(b"abcd"), x)
raised(TypeError, "axpy: a cannot be 'a'", k.axpy, "a", x, x)
raised(TypeError, "missing 1 required positional argument", k.axpy, 1, x)
end = [k.View(4096 * i, "f32", (4,), device=0) for i in (1, 2)]
error = raised(k.Error, "", k.axpy, 1, *end)
assert error.status != 0 and str(error), error  # no driver, no context, or no code for a GPU
END
}

@test "query, workspace, load, and instances by name" {
    python <<'END'
x, y = array.array("f", [1] * 4), array.array("f", [1] * 4)
info = k.axpy_query(1, x, y)
assert info.target.startswith("cpu-") and info.values == {"B": 64} and info.programs == 1 and info.threads >= 1, info
assert list(y) == [1] * 4 and k.axpy_workspace(1, x, y) == 0
raised(k.ArgumentError, "extent 0 of y", k.axpy_workspace, 1, x, y[:3])
raised(k.ArgumentError, "extent 0 of y", k.axpy_query, 1, x, y[:3])
k.k_axpy_f32(1, x, y)
assert list(y) == [2] * 4
raised(TypeError, "k_axpy_f16: no instance takes x f32, y f32; there are: x f16, y f16", k.k_axpy_f16, 1, x, y)
i, j = array.array("i", [5, 6]), array.array("i", [0, 0])
need = k.counted_workspace(i, j)
assert need > 0
room = (ctypes.c_uint8 * (need + 256))()
begin = -ctypes.addressof(room) % 256
k.set_workspace(memoryview(room)[begin:begin + need])
k.counted(i, j)
assert list(j) == [5, 6] and ctypes.c_int32.from_buffer(room, begin).value == 5
raised(k.ArgumentError, "not at a multiple of 256 bytes", k.set_workspace, memoryview(room)[begin + 1:])
k.set_workspace(None)
k.counted(i, j)
END
}

@test "a forced variant, options of launches, unload" {
    TILE_CPU_THREADS=3 python <<'END'
import os
x, y = array.array("f", [1]) * 500000, array.array("f", [0]) * 500000
k.axpy(1, x, y, this_thread=True)
assert len(os.listdir("/proc/self/task")) == 1
k.axpy(1, x, y)
assert len(os.listdir("/proc/self/task")) > 1 and y[0] == 2
u = memoryview(array.array("f", [1, 2, 3, 4])).cast("B").cast("f", (2, 2))
v = memoryview(array.array("f", [0] * 4)).cast("B").cast("f", (2, 2))
given = (k.act.none, u, v, 1, None, "clip")
number = k.rows_query(*given).variant
k.rows(*given, variant=number, overlap=True, priority=-1)
assert v.tolist() == [[1, 2], [3, 4]]
other = k.rows_query(*given[:5], "none").variant
raised(k.ArgumentError, "variant %d" % other, k.rows, *given, variant=other)
raised(k.ArgumentError, "variant 99", k.k_axpy_f32, 1, x, y, variant=99)
raised(OverflowError, "axpy: variant is -1, beyond 0 to", k.axpy, 1, x, y, variant=-1)
raised(TypeError, "axpy: priority cannot be 'high'", k.axpy, 1, x, y, priority="high")
k.axpy_unload()
k.axpy(1, x, y)
assert y[0] == 3
# what a device gets of it
seen = []
k._kernel_axpy.instances[0].functions["_launch_ex"] = lambda *given: seen.append(given[-1]._obj) or 0
k.axpy(1, x, y, overlap=True, priority=-3)
k.axpy(1, x, y, variant=0)
assert [(o.size, o.flags, o.priority, o.variant) for o in seen] == [(16, 1, -3, 0), (16, 2, 0, 0)]
END
}

@test "with NumPy" {
    python3 -c 'import numpy' 2>/dev/null || skip "no numpy"
    python <<'END'
import numpy as np
random = np.random.default_rng(7)
for kind, error in (np.float32, 1e-6), (np.float64, 1e-6), (np.float16, 4e-3), (np.int32, 0):
    x, y = (random.normal(size=(2, 3001)) * 9).astype(kind)
    wanted = 2 * x.astype(np.float64) + y.astype(np.float64)
    k.axpy(2, x, y)
    assert np.allclose(y.astype(np.float64), wanted, rtol=error, atol=error), kind
x, y = random.normal(size=(2, 5, 4)).astype(np.float32)
k.rows("none", x.T.copy().T, y, np.int64(2), None, 0)
assert np.array_equal(y, 2 * x)
z = np.empty((3, 2), np.float32)
k.rows("none", x[::2, ::2], z, 2, None, 0)
assert np.array_equal(z, 2 * x[::2, ::2])
y = np.ones((2, 4), np.float32)
k.axpy(1, y[0], y[1])
assert y[1].tolist() == [2] * 4
raised(ValueError, "the last stride must be 1", k.axpy, 1, np.ones((4, 2), np.float32)[:, 0], y[0])
uneven = np.ndarray((2, 2), np.float32, bytearray(64), 0, (6, 4))
raised(ValueError, "x has a stride of 6 bytes, which is not whole elements of 4", k.rows, 0, uneven, z[:2], 1, None, 0)
raised(TypeError, "of other byte order", k.axpy, 1, y[0].astype(">f4"), y[1])
raised(TypeError, "complex64", k.axpy, 1, y[0].astype(np.complex64), y[1])
fixed = np.ones(4, np.float32)
fixed.flags.writeable = False
k.axpy(1, fixed, y[0])
raised(ValueError, "y is written, and the array is read-only", k.axpy, 1, y[0], fixed)
k.axpy(1, np.empty(0, np.float32), np.empty(0, np.float32))
class Exported:  # what knows DLPack alone
    def __init__(self, value): self.value = value
    def __dlpack__(self): return self.value.__dlpack__()
    def __dlpack_device__(self): return self.value.__dlpack_device__()
was = y.sum(0)
k.axpy(1, Exported(y[0]), Exported(y[1]))
assert np.array_equal(y[1], was)
raised(TypeError, "y f64", k.axpy, 1, y[0], Exported(np.ones(4)))
raised(TypeError, "a pointer cannot be ndarray", k.View, np.ones(1, np.int64), "f32", (4,))
class Versioned:  # what knows DLPack of today
    def __init__(self, value): self.value = value
    def __dlpack__(self, **asked): return self.value.__dlpack__(**asked)
    def __dlpack_device__(self): return self.value.__dlpack_device__()
was = y.sum(0)
k.axpy(1, Versioned(y[0]), Versioned(y[1]))
assert np.array_equal(y[1], was)
if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
    was = y[0] + fixed
    k.axpy(1, Versioned(fixed), y[0])
    assert np.array_equal(y[0], was)
    raised(ValueError, "axpy: y is written, and the array is read-only", k.axpy, 1, y[0], Versioned(fixed))
class Bare: pass  # the attributes are of the value
for names in ("__array_interface__",), ("__dlpack__", "__dlpack_device__"):
    bare, was = Bare(), y.sum(0)
    raised(TypeError, "x is no array but Bare", k.axpy, 1, bare, y[1])
    for name in names: setattr(bare, name, getattr(y[0], name))
    k.axpy(1, bare, y[1])
    assert np.array_equal(y[1], was)
true, flag = np.bool_(True), np.zeros(2, np.int32)
k.flags(true, flag, k.lit(on=true), np.bool_(False))
assert flag.tolist() == [101, 101], flag
k.flags(np.bool_(False), flag, (np.bool_(False),), true)
assert flag.tolist() == [10, 10], flag
raised(TypeError, "a cannot be", k.flags, np.float32(1), flag, (true,), true)
class OfHost(Exported):  # JAX: the class has an interface of GPUs, arrays on the CPU have not
    @property
    def __cuda_array_interface__(self): raise AttributeError("only defined for GPU buffers")
was = y.sum(0)
k.axpy(1, OfHost(y[0]), OfHost(y[1]))
assert np.array_equal(y[1], was)
class Copied(Exported):  # exports memory that goes with the capsule
    def __dlpack__(self): return self.value.copy().__dlpack__()
    def __dlpack_device__(self): return self.value.__dlpack_device__()
p, q, sums = k.norm(at=Copied(np.full(9000, 7, np.float32))), Copied(np.full(9000, 3, np.float32)), np.zeros(2, np.float32)
for _ in range(20):
    others = [np.full(9000, 99, np.float32) for _ in range(9)]
    k.len_(p, q, 0, sums)
    assert sums.tolist() == [10, 10], sums
class Listed:  # whose extents are a list
    def __init__(self, value): self.value = value
    __array_interface__ = property(lambda self: {**self.value.__array_interface__, "shape": [4]})
k.axpy(1, Listed(np.ones(4, np.float32)), np.ones(4, np.float32))
room = np.empty(4096, np.uint8)
room = room[-room.ctypes.data % 256:][:2048].reshape(1, 2048)
k.set_workspace(room[:, :1024])
k.set_workspace(room[:0, :1024])
k.set_workspace(None)
raised(ValueError, "gaps", k.set_workspace, room.reshape(2, 1024)[:, :512])
raised(TypeError, "memory cannot be of complex64", k.set_workspace, np.zeros(4, np.complex64))
k.rows("none", Exported(x[::2, ::2]), z, 1, None, 0)
assert np.array_equal(z, x[::2, ::2])
END
}

@test "with ml_dtypes" {
    python3 -c 'import ml_dtypes' 2>/dev/null || skip "no ml_dtypes"
    python <<'END'
import ml_dtypes, numpy as np
for kind in ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2:
    x, y = np.array([1, 2, 3], kind), np.array([4, 0.5, -3], kind)
    k.axpy(1, x, y)
    assert y.tolist() == [5, 2.5, 0], kind
END
}

@test "mypy checks what callers give, and nothing behind it" {
    command -v mypy >/dev/null || skip "no mypy"
    cat >"$BATS_TEST_TMPDIR/caller.py" <<'END'
import k
k.flags(True, None, k.lit(on=True), K=False)
k.set_workspace(None)
k.axpy("one", None, None)
k.axpy(1.0, None)
END
    MYPYPATH=$PWD run mypy --strict --no-error-summary --cache-dir="$BATS_TEST_TMPDIR/cache" "$BATS_TEST_TMPDIR/caller.py"
    echo "$output"
    [ "${#lines[@]}" -eq 2 ]
    [[ "${lines[0]}" == *caller.py:4:*'expected "float"'* ]]
    [[ "${lines[1]}" == *caller.py:5:*'"y"'* ]]
}

@test "with a stand-in for PyTorch" {
    mkdir -p stand-in/torch
    cat >stand-in/torch/__init__.py <<'END'
# What a module asks of tensors, on buffers of ctypes.
import ctypes
class dtype:
    def __init__(self, name): self.name = name
    def __repr__(self): return "torch." + self.name
float32, bfloat16, float8_e4m3fn, complex64 = (dtype(name) for name in ("float32", "bfloat16", "float8_e4m3fn", "complex64"))
class Size(tuple): pass
class Tensor:
    is_cpu, is_cuda, device, negated, requires_grad = True, False, "cpu", False, False
    def __init__(self, memory, dtype, shape=None, strides=None):
        self.memory, self.dtype, self.shape, self.strides = memory, dtype, Size(shape or (len(memory),)), strides or (1,)
    def data_ptr(self): return ctypes.addressof(self.memory)
    def stride(self): return self.strides
    def get_device(self): return self.index
    def is_neg(self): return self.negated
class Parameter(Tensor): pass
grad_mode = True
def is_grad_enabled(): return grad_mode
class _C:
    asked = []
    @classmethod
    def _cuda_getCurrentRawStream(self, device):
        self.asked.append(device)
        return 0x435055  # TILE_CPU: the memory of these is the host's
END
    PYTHONPATH=stand-in python <<'END'
import torch
memory = (ctypes.c_uint16 * 4)(0x3f80, 0, 0x4000, 0)  # 1 0 2 0
y = torch.Tensor((ctypes.c_uint16 * 4)(), torch.bfloat16)
k.axpy(1, torch.Tensor(memory, torch.bfloat16), y)
assert list(y.memory) == [0x3f80, 0, 0x4000, 0]
f8 = [torch.Parameter((ctypes.c_uint8 * 2)(0x38, 0x40), torch.float8_e4m3fn) for i in range(2)]
k.axpy(1, *f8)
assert list(f8[1].memory) == [0x40, 0x48]
x = torch.Tensor((ctypes.c_float * 8)(*range(8)), torch.float32, (2, 2), (4, 2))
r = torch.Tensor((ctypes.c_float * 4)(), torch.float32, (2, 2), (2, 1))
k.rows("none", x, r, 1, None, 0)
assert list(r.memory) == [0, 2, 4, 6]
raised(TypeError, "complex64", k.axpy, 1, torch.Tensor(memory, torch.complex64), y)
y.negated = True
raised(ValueError, "y is a negated view", k.axpy, 1, torch.Tensor(memory, torch.bfloat16), y)
learned = torch.Tensor((ctypes.c_float * 4)(1, 1, 1, 1), torch.float32)
learned.requires_grad = True
other = torch.Tensor((ctypes.c_float * 4)(), torch.float32)
k.axpy(1, learned, other)
raised(ValueError, "y is written and requires a gradient", k.axpy, 1, other, learned)
assert list(learned.memory) == [1] * 4
torch.grad_mode = False
k.axpy(1, other, learned)
assert list(learned.memory) == [2] * 4
class Far(torch.Tensor): is_cpu, device = False, "meta"
raised(TypeError, "x is on meta", k.axpy, 1, Far(memory, torch.bfloat16), y)
class Near(torch.Tensor): is_cpu, is_cuda, index = False, True, 3
a, b = Near((ctypes.c_float * 4)(1), torch.float32), Near((ctypes.c_float * 4)(), torch.float32)
k.axpy(1, a, b)
assert torch._C.asked == [3] and list(b.memory) == [1, 0, 0, 0]
c = torch.Tensor((ctypes.c_float * 4)(), torch.float32)
raised(ValueError, "axpy: y is memory of the host, and arguments in front of it are on cuda:3", k.axpy, 1, a, c)
raised(ValueError, "the arguments are on cuda:3, and the stream is for the processor", k.axpy, 1, a, b, stream=k.CPU)
b.index = 2
raised(ValueError, "y is on cuda:2", k.axpy, 1, a, b)
assert torch._C.asked == [3]
END
}

@test "what the shared part calls is not hidden by kernels" {
    grep -q '^def len_(' k.py
    python3 - "$SRCDIR" <<'END'
import ast, builtins, keyword, re, sys
tree = ast.parse(open(sys.argv[1] + "/runtime-stub/python/support.py").read())
used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and hasattr(builtins, node.id)}
given = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
given |= {target.id for node in tree.body if isinstance(node, ast.Assign) for target in node.targets}
source = open(sys.argv[1] + "/src/driver/header/python.c").read()
def listed(name):
    start = source.index(name + "[] = {")
    return set(re.findall(r'"(\w+)"', source[start:source.index("};", start)]))
missing = {name for name in used | given if name[0] != "_"} - listed("taken")
missing |= set(keyword.kwlist) - listed("keywords")
assert len(used) > 20 and len(given) > 20 and not missing, missing
END
}

@test "two modules at a time, from any folder, the same bytes" {
    mkdir -p one two/deep
    "$TILECC" -arch=cpu --emit=python k.tile -o one/other.py
    (cd two && "$TILECC" -arch=cpu --emit=python -j2 ../k.tile -o deep/other.py)
    cmp one/other.py two/deep/other.py
    cmp one/libother.so two/deep/libother.so
    python <<'END'
sys.path[:0] = ["one"]
import other
x, y = array.array("f", [1] * 4), array.array("f", [1] * 4)
other.axpy(1, x, y)
k.axpy(1, x, y)
assert list(y) == [3] * 4 and other._library._name != k._library._name
END
}

@test "a module that is loaded again after a rebuild runs the new code" {
    mkdir -p rebuilt
    cd rebuilt
    python3 - "$TILECC" <<'END'
import array, importlib, subprocess, sys
sys.path.insert(0, ".")
def build(number, more=""):
    with open("made.tile", "w") as file:
        file.write("kernel set(y: out f32[N]%s) grid(i: N) { y[i] = %d.0; }" % (more, number))
    subprocess.run([sys.argv[1], "-arch=cpu", "--emit=python", "made.tile"], check=True)
def call(function, *more):
    y = array.array("f", [0])
    function(y, *more)
    return y[0]
build(1)
import made
first = made._library._handle
assert call(made.set_) == 1 and importlib.reload(made)._library._handle == first  # the file is the same
for number in 2, 3, 2:
    build(number)
    importlib.reload(made)
    assert call(made.set_) == number and made._library._handle != first, number
build(4, ", n: i32")
importlib.reload(made)
assert call(made.set_, 9) == 4
del sys.modules["made"]
import made
assert call(made.set_, 9) == 4
mapped = {line.split()[-1] for line in open("/proc/self/maps") if "libmade.so" in line}
assert any(path.endswith("rebuilt/libmade.so") for path in mapped), mapped  # what profilers look for
END
}

@test "a library that is not there, or of another build" {
    mkdir -p alone mixed
    cp k.py alone
    run python3 -c 'import sys; sys.path[:0] = ["alone"]; import k'
    [ "$status" = 1 ]
    [[ $output == *"ImportError: "*"needs its library beside it"* ]]
    cp k.py mixed
    sed 's/a: f32, x: in T/a: f64, x: in T/; s/= T(a/= T(f32(a)/' k.tile >mixed/k.tile
    (cd mixed && "$TILECC" -arch=cpu --emit=python k.tile -o fresh.py && mv libfresh.so libk.so)
    run python3 -c 'import sys; sys.path[:0] = ["mixed"]; import k'
    [ "$status" = 1 ]
    [[ $output == *"libk.so is of another build than "* ]]
}

@test "the command: dependencies, what does not fit, no compiler, one that fails" {
    mkdir -p command bin temporary
    cd command
    cp ../k.tile .
    export TMPDIR=$PWD/../temporary
    "$TILECC" -arch=cpu --emit=python -MD k.tile
    grep -q '^k.py libk.so:' k.d
    [ "$(echo *)" = "k.d k.py k.tile libk.so" ]
    mkdir folder
    "$TILECC" -arch=cpu --emit=python k.tile -o folder
    [ "$(cd folder && echo *)" = "k.py libk.so" ]
    rm -r folder
    mkdir '../names, more'
    "$TILECC" -arch=cpu --emit=python k.tile -o '../names, more/a.py'
    readelf -d '../names, more/liba.so' | grep -qF '[liba.so]'
    python3 -c 'import sys; sys.path[:0] = ["../names, more"]; import a; a.axpy'
    for name in my-mod 'a, b' a.b 9a $(python3 -c 'import keyword; print(*keyword.kwlist)'); do
        run "$TILECC" -arch=cpu --emit=python k.tile -o "$name.py"
        [ "$status" = 2 ] && [[ $output == *"Python cannot import a module that is called '$name'"* ]] ||
            { echo "$name: $output"; return 1; }
    done
    cp k.tile my-mod.tile
    run "$TILECC" -arch=cpu --emit=python my-mod.tile
    [ "$status" = 2 ]
    [[ $output == *"is called 'my-mod'; -o names another"* ]]
    rm my-mod.tile
    run "$TILECC" -arch=cpu --emit=python k.tile -o -
    [ "$status" = 2 ]
    [[ $output == *"-o names a file"* ]]
    run "$TILECC" -arch=cpu --emit=python -fvisibility=hidden k.tile
    [ "$status" = 2 ]
    [[ $output == *"-fvisibility=hidden hides them"* ]]
    rm k.py libk.so
    run env -u CC PATH="$PWD/../bin" "$TILECC" -arch=cpu --emit=python k.tile
    [ "$status" = 4 ]
    [[ $output == *"a shared library needs a C compiler"* ]]
    printf '#!/bin/sh\necho "no such linker" >&2\nexit 3\n' >../bin/cc
    chmod +x ../bin/cc
    run env -u CC PATH="$PWD/../bin" "$TILECC" -arch=cpu --emit=python k.tile
    [ "$status" = 5 ]
    [[ $output == *"bin/cc cannot link a shared library: no such linker"* ]]
    run "$TILECC" -arch=cpu --emit=python --dryrun k.tile
    [ "$status" = 0 ]
    [[ $output == *"would write libk.so"* ]]
    [ "$(echo *)" = "k.d k.tile" ]
    TMPDIR=$PWD/nowhere run "$TILECC" -arch=cpu --emit=python k.tile
    [ "$status" = 3 ]
    [[ $output == *"cannot make the folder '"*"nowhere/tilecc-"* ]]
    [ -z "$(ls ../temporary)" ]
}

@test "for AArch64" {
    command -v aarch64-linux-gnu-gcc >/dev/null || skip "no aarch64-linux-gnu-gcc"
    mkdir -p arm
    "$TILECC" -arch=cpu --emit=python --host-target=aarch64-linux k.tile -o arm/k.py
    cmp arm/k.py k.py
    readelf -hW arm/libk.so | grep -q AArch64
}
