"""Runs the text of a product of two matrices of small integers and compares every element.  SUM is f32 or i32, or near:
then the factors are fractions with all bits of f32, and sums may be off by 2^-20 of what is added.

    product.py FILE ELEMENT M N K ROWS COLUMNS FORM PADDING SUM

ROWS and COLUMNS are the tile's; FORM says of each factor: n as it is, t the kernel transposes it, c its columns are
contiguous.  PADDING: elements between rows."""
import random
import struct
import sys

from ptx import Block, Fault, Kernel, f8e4m3

E4M3 = {f8e4m3(bits): bytes([bits]) for bits in range(128) if bits != 127}
E4M3.update({-value: bytes([bits[0] | 128]) for value, bits in E4M3.items() if value})
ENCODE = {
    "bf16": lambda value: struct.pack("<f", value)[2:], "f16": lambda value: struct.pack("<e", value),
    "f32": lambda value: struct.pack("<f", value), "i8": lambda value: struct.pack("<b", value),
    "u8": lambda value: struct.pack("<B", value), "f8e5m2": lambda value: struct.pack("<e", value)[1:],
    "f8e4m3": lambda value: E4M3[float(value)],
}


def make_factor(element, rows, columns, by_columns, padding, whole):
    """The numbers, their bytes and the strides; between rows lies something else."""
    low = 0 if element == "u8" else -2
    numbers = [[random.randint(low, 3) if whole else (random.getrandbits(24) | 1) / 2**23 - 1
                for _ in range(columns)] for _ in range(rows)]
    size = len(ENCODE[element](1))
    leading = (rows if by_columns else columns) + padding
    data = bytearray(b"\x77" * (size * leading * (columns if by_columns else rows)))
    strides = (1, leading) if by_columns else (leading, 1)
    for i in range(rows):
        for j in range(columns):
            at = (i * strides[0] + j * strides[1]) * size
            data[at:at + size] = ENCODE[element](numbers[i][j])
    return numbers, data, strides


def main():
    path, element = sys.argv[1:3]
    m, n, k, rows, columns = map(int, sys.argv[3:8])
    form, padding, total = sys.argv[8], int(sys.argv[9]), sys.argv[10]
    random.seed(7)
    with open(path, encoding="utf-8") as file:
        kernel = Kernel(file.read())
    shapes = [(k, m) if form[0] == "t" else (m, k), (n, k) if form[1] == "t" else (k, n)]
    factors = [make_factor(element, *shapes[i], form[i] == "c", padding, total != "near") for i in range(2)]
    result = bytearray(b"\xee" * (4 * m * n))
    addresses = [0x10000000, 0x20000000, 0x30000000]
    arrays = [(addresses[0], factors[0][1], False), (addresses[1], factors[1][1], False), (addresses[2], result, True)]
    grid = -(-m // rows), -(-n // columns)
    slots = []
    for i in range(2):
        slots += [addresses[i], *shapes[i], *factors[i][2]]
    slots += [addresses[2], m, n, n, 1, *grid, 0]
    parameters = b"".join(struct.pack("<q", slot) for slot in slots)
    for block in range(grid[0] * grid[1]):
        Block(kernel, block, parameters, arrays).run()
    left = factors[0][0] if form[0] != "t" else list(zip(*factors[0][0]))
    right = list(zip(*factors[1][0])) if form[1] != "t" else factors[1][0]
    for i in range(m):
        for j in range(n):
            got = struct.unpack_from("<i" if total == "i32" else "<f", result, 4 * (i * n + j))[0]
            want = sum(a * b for a, b in zip(left[i], right[j])) if k else 0
            allowed = sum(abs(a * b) for a, b in zip(left[i], right[j])) / 2**20 if total == "near" else 0
            if not abs(got - want) <= allowed:
                raise Fault("element %d, %d is %g, not %g" % (i, j, got, want))


if __name__ == "__main__":
    try:
        main()
    except Fault as problem:
        sys.exit("%s: %s" % (" ".join(sys.argv[1:]), problem))
