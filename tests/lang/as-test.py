"""Makes of programs of tests/lang/run ones with a test block that says what their comments say, for `tilecc test`.

    as-test.py FOLDER FILE...

writes source and block of each file into the folder, under the name of the file, and names on a line those that it leaves out: a
number of them is not exact in the f64 that tests compute in.  What `given` and `gives` name is as caller.awk tells it."""
import os
import re
import sys


def parameters_of(source, kernel):
    """(name, type) of each, in order."""
    at = re.search(r"kernel " + kernel + r"\s*(<[^>]*>)?\s*\(", source).end()
    depth, part, parts = 1, "", []
    while depth:
        letter = source[at]
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0 or (depth == 1 and letter == ","):
            parts.append(part)
            part = ""
        else:
            part += letter
        at += 1
    return [tuple(text.strip() for text in part.split(":", 1)) for part in parts if part.strip()]


def keys_of(source, kernel):
    """Names in < > that are neither types nor an extent by themselves."""
    generics = re.search(r"kernel " + kernel + r"\s*<(.*?)>\s*\(", source, re.S)
    extents = re.findall(r"[\[,]\s*(\w+)\s*(?=[,\]])", " ".join(kind for _, kind in parameters_of(source, kernel)))
    names = re.findall(r"(\w+)\s*:", generics[1]) if generics else []
    return [name for name in names if name not in extents]


def tensor(shape, values):
    if len(shape) == 1:
        return "[" + ", ".join(values) + "]"
    size = len(values) // shape[0] if shape[0] else 0
    return "[" + ", ".join(tensor(shape[1:], values[i * size : (i + 1) * size]) for i in range(shape[0])) + "]"


def view(kind, shape, values):
    """Of 4-bit elements the bytes that are given become two elements each; a tensor that holds nothing is made of zeros."""
    four = re.search(r"\b([iu])4\[", kind)
    if four:
        halves = [half for byte in values for half in (int(byte, 0) & 15, int(byte, 0) >> 4 & 15)]
        values = [str(half - 16 if four[1] == "i" and half > 7 else half) for half in halves]
        shape = shape[:-1] + [2 * shape[-1]]
    if 0 in shape:
        return "zeros(f32[" + ", ".join(map(str, shape)) + "])"
    return tensor(shape, values)


def read_comments(source):
    found = {"given": {}, "gives": {}}
    for what, name, shape, values in re.findall(r"^// (given|gives) (\w+)(?:\[([^\]]*)\])? *= *(.*)$", source, re.M):
        values = re.sub(r"(\d)u\b", r"\1", values)
        if any(int(number, 0) > 1 << 53 for number in re.findall(r"(?<![-\w.])-?(0x[0-9a-fA-F]+|[1-9]\d*)(?![\w.])", values)):
            raise OverflowError
        values = values.replace("-INFINITY", "-inf").replace("INFINITY", "inf").replace("NAN", "nan")
        found[what][name] = ([int(extent) for extent in shape.split(",")] if shape else None, values.split())
    keys = re.search(r"^// keys = (.*)$", source, re.M)
    within = re.search(r"^// within (.*)$", source, re.M)
    return found["given"], found["gives"], keys and keys[1].strip(), within and within[1].strip()


def argument(kind, shape, values):
    if shape is not None:
        return view(kind, shape, values)
    if values[0].startswith("{"):
        return kind.split()[-1] + "(" + ", ".join(" ".join(values).strip("{}").replace(",", " ").split()) + ")"
    if kind == "bool":
        return "true" if values[0] == "1" else "false"
    return values[0]


def make(path):
    source = open(path).read()
    kernel = os.path.basename(path)[: -len(".tile")]
    given, gives, keys, within = read_comments(source)
    arguments, results = [], []
    plain = re.sub(r"//[^\n]*", "", source)
    for name, kind in parameters_of(plain, kernel):
        writes = re.match(r"(out|inout)\b", kind)
        if name in given:
            arguments.append(f"{name} = {argument(kind, *given[name])}")
        elif name in gives:  # extents that nobody else tells
            shape, values = gives[name]
            arguments.append(f"{name} = {view(kind, shape, ['0'] * len(values))}")
        if writes and (name in given or name in gives):
            results.append((name, kind))
    if keys:
        arguments += [f"{name} = {value}" for name, value in zip(keys_of(plain, kernel), re.split(r"[ ,]+", keys))]
    names = ", ".join("now_" + name for name, _ in results)
    block = f'\ntest "{kernel}" {{\n    let {names} = {kernel}({", ".join(arguments)});\n'
    tolerance = f", rtol = {within}, atol = {within}" if within else ""
    for name, kind in results:
        if name in gives and 0 not in gives[name][0]:
            block += f"    expect(now_{name}, {view(kind, *gives[name])}{tolerance});\n"
    return source + block + "}\n"


for path in sys.argv[2:]:
    try:
        text = make(path)
    except OverflowError:
        print(path)
        continue
    with open(os.path.join(sys.argv[1], os.path.basename(path)), "w") as file:
        file.write(text)
