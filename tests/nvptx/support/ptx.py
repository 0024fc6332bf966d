"""A reader and runner of the PTX that products are made of, as the PTX manual defines it.

All threads of a block run in step; a branch must be taken by all or none.  What it refuses is what hardware would not
tell: reads and writes outside the arrays, unaligned accesses, bytes of cp.async that are read before they were waited
for (they hold 0xff until then)."""
import functools
import math
import operator
import re
import struct


class Fault(Exception):
    pass


def signed(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def f8e4m3(bits):
    exponent, mantissa = bits >> 3 & 15, bits & 7
    size = mantissa / 8 * 2 ** -6 if exponent == 0 else (1 + mantissa / 8) * 2 ** (exponent - 7)
    return -size if bits >> 7 else size


# Elements of mma by name: bytes, and their value; those of up to two bytes have few.
ELEMENTS = {
    "bf16": (2, lambda bits: struct.unpack("<f", struct.pack("<I", bits << 16))[0]),
    "f16": (2, lambda bits: struct.unpack("<e", struct.pack("<H", bits))[0]),
    "tf32": (4, lambda bits: struct.unpack("<f", struct.pack("<I", bits & ~0x1FFF))[0]),
    "e4m3": (1, f8e4m3),
    "e5m2": (1, lambda bits: struct.unpack("<e", struct.pack("<H", bits << 8))[0]),
    "s8": (1, lambda bits: signed(bits, 8)),
    "u8": (1, lambda bits: bits),
}
ELEMENTS = {name: (size, functools.cache(value) if size < 4 else value) for name, (size, value) in ELEMENTS.items()}
# Arithmetic on floats: how one is packed; bytes of one.
KNOWN_ON_FLOATS = (["fma", "rn", "f16x2"], ["min", "f32"], ["max", "f32"])
FLOATS = {"f32": ("f", 4), "f16x2": ("e", 2)}


def lesser(left, right):
    """Of NaN and a number, the number."""
    return right if left != left else left if right != right else min(left, right)


def greater(left, right):
    return right if left != left else left if right != right else max(left, right)


ON_FLOATS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "fma": lambda a, b, c: a * b + c,
    "min": lesser, "max": greater,
}
COMPARE = {
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
}
BINARY = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "and": lambda a, b: a & b, "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b, "min": min, "max": max, "div": lambda a, b: a // b, "rem": lambda a, b: a % b,
}


def names(operand):
    return [part.strip() for part in operand.strip("{}").split(",")]


def split_operands(text):
    """Commas outside of braces and brackets."""
    operands, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "{[") - (letter in "}]")
        if letter == "," and depth == 0:
            operands.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return operands + [last] if last else operands


class Kernel:
    def __init__(self, text):
        self.threads = int(re.search(r"\.maxntid (\d+)", text).group(1))
        body = re.sub(r"//.*", "", text[text.index("{", text.index(".entry")) + 1:text.rindex("}")])
        self.instructions, self.labels = [], {}
        for line in body.split("\n"):
            line = line.strip()
            if re.fullmatch(r"\$\w+:", line):
                self.labels[line[:-1]] = len(self.instructions)
                continue
            for statement in line.split(";"):
                statement = statement.strip("{} \t") if re.match(r"[{}]", statement.strip()) else statement.strip()
                if statement and not statement.startswith("."):
                    self.instructions.append(self.parse(statement))

    @staticmethod
    def parse(statement):
        guard, rest = None, statement
        match = re.match(r"@(!?)(%\w+)\s+(.*)", statement, re.S)
        if match:
            guard, rest = (match.group(2), match.group(1) == "!"), match.group(3)
        opcode, _, operands = rest.replace("\t", " ").partition(" ")
        return opcode, guard, split_operands(operands), statement


class Block:
    """One block of threads; arrays are (address, bytes, may be written)."""

    def __init__(self, kernel, number, parameters, arrays, shared_bytes=232448):
        self.kernel, self.number, self.parameters, self.arrays = kernel, number, parameters, arrays
        self.registers, self.shared = {}, bytearray(shared_bytes)
        self.copies, self.groups = [], []
        self.count = range(kernel.threads)

    def run(self):
        at = 0
        while True:
            opcode, guard, operands, statement = self.kernel.instructions[at]
            at += 1
            active = [True] * self.kernel.threads
            if guard:
                active = [bool(value) != guard[1] for value in self.read(guard[0])]
            if opcode == "ret":
                return
            if opcode.startswith("bra"):
                if any(active) and not all(active):
                    raise Fault("threads part ways: " + statement)
                if all(active):
                    at = self.kernel.labels[operands[0]]
                continue
            try:
                self.step(opcode, operands, active)
            except (Fault, KeyError, IndexError, AssertionError, ValueError) as problem:
                raise Fault("%s: %r" % (statement, problem))

    # ---- operands ----

    def read(self, name):
        special = {"%tid.x": list(self.count), "%ctaid.x": [self.number] * len(self.count),
                   "tile_shared": [0] * len(self.count)}
        if name in special:
            return special[name]
        if name[0] == "%" or name == "tmp":
            return self.registers.get(name) or [0] * len(self.count)
        number = int(name[2:], 16) if name[:2] in ("0f", "0d") else int(name, 0)
        return [number] * len(self.count)

    def write(self, name, values, active):
        old = self.read(name) if not all(active) else values
        self.registers[name] = [values[i] if active[i] else old[i] for i in self.count]

    def addresses(self, operand):
        base, _, offset = operand.strip("[]").partition("+")
        return [value + (int(offset, 0) if offset else 0) for value in self.read(base.strip())]

    def find(self, address, size, writes):
        for start, data, writable in self.arrays:
            if start <= address and address + size <= start + len(data) and (writable or not writes):
                return data, address - start
        raise Fault("%d bytes at %#x are in no array" % (size, address))

    # ---- instructions ----

    def step(self, opcode, operands, active):
        parts = opcode.split(".")
        if opcode.startswith("cp.async"):
            return self.copy(parts, operands, active)
        if parts[0] in ("ld", "st") and "param" not in parts:
            return self.access(parts, operands, active)
        special = {"bar": lambda *_: None, "ldmatrix": self.ldmatrix, "mma": self.mma, "mov": self.move,
                   "ld": self.parameter, "cvt": self.convert}
        return special.get(parts[0], self.compute)(parts, operands, active)

    def copy(self, parts, operands, active):
        if "commit_group" in parts:
            self.groups.append(self.copies)
            self.copies = []
            return
        if "wait_group" in parts:
            while len(self.groups) > int(operands[0]):
                for address, data in self.groups.pop(0):
                    self.shared[address:address + len(data)] = data
            return
        to, source, size = self.addresses(operands[0]), self.addresses(operands[1]), int(operands[2])
        taken = self.read(operands[3]) if len(operands) > 3 else [size] * len(self.count)
        if len(operands) > 3 and operands[3].startswith("%p"):  # whether the source is ignored
            taken = [0 if ignored else size for ignored in taken]
        for i in self.count:
            if not active[i]:
                continue
            if not 0 <= taken[i] <= size or to[i] % size or (taken[i] and source[i] % size):
                raise Fault("%d of %d bytes from %#x to %#x" % (taken[i], size, source[i], to[i]))
            data = bytes(size)
            if taken[i]:
                array, at = self.find(source[i], taken[i], False)
                data = bytes(array[at:at + taken[i]]) + bytes(size - taken[i])
            self.shared[to[i]:to[i] + size] = b"\xff" * size
            self.copies.append((to[i], data))

    def access(self, parts, operands, active):
        loads, width = parts[0] == "ld", int(parts[-1][1:]) // 8
        registers = names(operands[0 if loads else 1])
        places, size = self.addresses(operands[1 if loads else 0]), width * len(registers)
        values = [list(self.read(name)) for name in registers]
        for i in self.count:
            if not active[i]:
                continue
            if places[i] % size:
                raise Fault("%#x is no multiple of %d" % (places[i], size))
            data, at = (self.shared, places[i]) if "shared" in parts else self.find(places[i], size, not loads)
            for k, register in enumerate(values):
                here = slice(at + k * width, at + (k + 1) * width)
                if loads:
                    register[i] = int.from_bytes(data[here], "little")
                else:
                    data[here] = (register[i] & (1 << 8 * width) - 1).to_bytes(width, "little")
        if loads:
            for name, register in zip(registers, values):
                self.registers[name] = register

    def parameter(self, parts, operands, active):
        offset, width = int((operands[1].strip("[]").split("+") + ["0"])[1]), int(parts[-1][1:]) // 8
        number = int.from_bytes(self.parameters[offset:offset + width], "little")
        self.write(operands[0], [number] * len(self.count), active)

    def ldmatrix(self, parts, operands, _):
        results, places = names(operands[0]), self.addresses(operands[1])
        words = [[0] * len(self.count) for _ in results]
        for warp in range(0, len(self.count), 32):
            for m, word in enumerate(words):
                rows = []
                for i in range(8):
                    place = places[warp + 8 * m + i]
                    if place % 16:
                        raise Fault("row at %#x" % place)
                    rows.append(struct.unpack("<8H", self.shared[place:place + 16]))
                for lane in range(32):
                    row, column = lane // 4, 2 * (lane % 4)
                    low, high = (rows[column][row], rows[column + 1][row]) if "trans" in parts else \
                        (rows[row][column], rows[row][column + 1])
                    word[warp + lane] = low | high << 16
        for name, word in zip(results, words):
            self.registers[name] = word

    def mma(self, parts, operands, _):
        depth, element = int(parts[3].split("k")[1]), parts[-3]
        size, value = ELEMENTS[element]
        whole = element in ("s8", "u8")
        a, b, c = [[self.read(name) for name in names(operand)] for operand in operands[1:4]]
        sums = [[0] * len(self.count) for _ in range(4)]
        for warp in range(0, len(self.count), 32):
            left, right = [[0] * depth for _ in range(16)], [[0] * depth for _ in range(8)]
            for lane in range(32):
                group, within = lane // 4, lane % 4
                for r, word in enumerate(a):
                    for e in range(4 // size):
                        k = (within + 4 * (r // 2)) * (4 // size) + e
                        left[group + 8 * (r % 2)][k] = value(word[warp + lane] >> 8 * size * e & (1 << 8 * size) - 1)
                for r, word in enumerate(b):
                    for e in range(4 // size):
                        k = (within + 4 * r) * (4 // size) + e
                        right[group][k] = value(word[warp + lane] >> 8 * size * e & (1 << 8 * size) - 1)
            for lane in range(32):
                for r in range(4):
                    row, column, bits = left[lane // 4 + 8 * (r // 2)], 2 * (lane % 4) + r % 2, c[r][warp + lane]
                    start = signed(bits, 32) if whole else struct.unpack("<f", struct.pack("<I", bits))[0]
                    total = start + sum(map(operator.mul, row, right[column]))
                    sums[r][warp + lane] = total & 0xFFFFFFFF if whole else \
                        struct.unpack("<I", struct.pack("<f", total))[0]
        for name, total in zip(names(operands[0]), sums):
            self.registers[name] = total

    def move(self, parts, operands, active):
        width = int(parts[-1][1:]) if parts[-1] != "pred" else 1
        if operands[0][0] == "{":
            pieces = names(operands[0])
            each, source = width // len(pieces), self.read(operands[1])
            for k, name in enumerate(pieces):
                self.write(name, [value >> k * each & (1 << each) - 1 for value in source], active)
            return
        if operands[1][0] == "{":
            pieces = [self.read(name) for name in names(operands[1])]
            each = width // len(pieces)
            values = [sum((piece[i] & (1 << each) - 1) << k * each for k, piece in enumerate(pieces)) for i in self.count]
        else:
            values = [value & (1 << width) - 1 for value in self.read(operands[1])]
        self.write(operands[0], values, active)

    def convert(self, parts, operands, active):
        to, source = parts[-2], parts[-1]
        if "f" in (to[0], source[0]):
            raise Fault("a conversion of floats")
        wide = [signed(value, int(source[1:])) if source[0] == "s" else value & (1 << int(source[1:])) - 1
                for value in self.read(operands[1])]
        self.write(operands[0], [value & (1 << int(to[1:])) - 1 for value in wide], active)

    def compute(self, parts, operands, active):
        opcode, kind = parts[0], parts[-1]
        sources = [self.read(operand) for operand in operands[1:]]
        if kind in FLOATS and (opcode in ("add", "sub", "mul") or parts in KNOWN_ON_FLOATS):
            self.write(operands[0], self.floats(ON_FLOATS[opcode], kind, sources), active)
            return
        bits = 1 if kind == "pred" else int(kind[1:])
        if kind[0] == "f":
            raise Fault("arithmetic on floats")
        mask = (1 << bits) - 1
        seen = (lambda value: signed(value, bits)) if kind[0] == "s" else (lambda value: value & mask)
        mask_of_result = (1 << (bits * 2 if "wide" in parts else 1 if opcode == "setp" else bits)) - 1
        operation = self.operation(opcode, parts, bits, seen)
        self.write(operands[0], [value & mask_of_result for value in map(operation, *sources)], active)

    @staticmethod
    def floats(operation, kind, sources):
        """Of all threads at once: words that hold one float each, or two."""
        form, size = FLOATS[kind]
        words = len(sources[0])
        floats = "<%d%s" % (words * 4 // size, form)
        values = list(map(operation, *(struct.unpack(floats, struct.pack("<%dI" % words, *(word & 0xFFFFFFFF for word in source)))
                                       for source in sources)))
        try:
            packed = struct.pack(floats, *values)
        except OverflowError:
            packed = b"".join(Block.pack_float("<" + form, value) for value in values)
        return list(struct.unpack("<%dI" % words, packed))

    @staticmethod
    def pack_float(form, value):
        try:
            return struct.pack(form, value)
        except OverflowError:
            return struct.pack(form, math.copysign(math.inf, value))

    @staticmethod
    def operation(opcode, parts, bits, seen):
        """What an instruction on integers makes of the numbers in its registers; bits above those of its type may be wrong."""
        if opcode == "setp":
            compare = COMPARE[parts[1]]
            return lambda a, b: compare(seen(a), seen(b))
        if opcode == "selp":
            return lambda a, b, chosen: a if chosen else b
        if opcode == "mul":
            return (lambda a, b: seen(a) * seen(b) >> bits) if "hi" in parts else (lambda a, b: seen(a) * seen(b))
        if opcode == "mad":
            return (lambda a, b, c: (seen(a) * seen(b) >> bits) + c) if "hi" in parts else (lambda a, b, c: seen(a) * seen(b) + c)
        if opcode == "shl":
            return lambda a, by: a << min(by & 0xFFFFFFFF, 64)
        if opcode == "shr":
            return lambda a, by: seen(a) >> min(by & 0xFFFFFFFF, 63)
        if opcode == "bfe":
            is_signed = parts[-1][0] == "s"
            return lambda a, at, size: signed(a >> at & (1 << size) - 1, size) if is_signed and size else a >> at & (1 << size) - 1
        if opcode == "bfi":
            return lambda a, b, at, size: b & ~(((1 << size) - 1) << at) | a << at & ((1 << size) - 1) << at
        if opcode in ("neg", "not"):
            return operator.neg if opcode == "neg" else operator.invert
        binary = BINARY[opcode]
        return lambda a, b: binary(seen(a), seen(b))
