"""Breaks programs of tests/lang/run by one token each and asks what the compiler says of them.

    mutants.py TILECC FOLDER COUNT [SEED] [show] [all]

A token is deleted, doubled, or changes places with the next one; a name is misspelled; an operator, a type, a number or a
bracket becomes another one, or that of another language.  What must hold: no crash and no internal error; some error stands
on the line that was broken, or where its statement goes on; and where all errors have certain fix-its, the program that these
make compiles and, unless the new token is as good as the old one, is the one from before, by its IR.  With `all` every program
of the folder is broken, not those of the list."""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

# Those that are broken; a list, so that a new program does not change what is drawn.
PROGRAMS = """
best_of_row bilinear bit_columns calendar causal_taps cols convolution early enums_below enums_through f16gemm
five_point fns grid3 ilogs largest_of_all last_seen locks mandel masked_mean masks nibbles norm_rope odd odd_tiles
pages palindromes parts_of_tiles parts_of_views patches printing recursive return_behind_break row_sort running_sum
small_product sorted_columns spmv state strided_in sums top_p tuple_swap tuples_differ turned typed_constants
where_fn wide_grid widths windows_of_rows
""".split()

TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|\+:|\.\.=|\.\.|<<=|>>=|<<|>>|->|[-+*/%&|^=!<>]=|[^\s\w]")


def tokens_of(text):
    """(start, end) of each token outside comments and strings."""
    found, at = [], 0
    while at < len(text):
        if text.startswith("//", at):
            at = text.find("\n", at) if "\n" in text[at:] else len(text)
        elif text.startswith("/*", at):
            at = text.index("*/", at) + 2
        elif text[at] == '"':
            at = text.index('"', at + 1) + 1
        else:
            match = TOKEN.match(text, at)
            if match:
                found.append(match.span())
                at = match.end()
            else:
                at += 1
    return found


# What others write, and what is written here.
FOREIGN = {"and": "&&", "or": "||", "not": "!", "f32": "float", "f16": "half", "f64": "double", "i32": "int", "i64": "int64_t",
           "i8": "int8", "bf16": "bfloat16", "true": "True", "false": "False", "null": "NULL", "let": "Let", "kernel": "Kernel",
           "where": "select", "max": "fmaxf", "abs": "fabsf", "exp": "__expf", "+:": ":", "..": ":", "..=": ".."}
TYPES = "bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64".split()
OPERATORS = "+ - * / % & | ^ << >> < > <= >= == != = += -= *= @".split()
BRACKETS = "( ) [ ] { }".split()


def misspelled(name, chance):
    at = chance.randrange(len(name))
    return chance.choice([name[:at] + name[at + 1 :], name[:at] + name[at] + name[at:], name.swapcase(),
                          name[:at] + chance.choice("aeioxq_") + name[at + 1 :]])


def changed_number(text, chance):
    return chance.choice([text + "f", text + "0", "-" + text, text + ".0", text.rstrip("0.") or "7", text + "u", "0x" + text])


def replacement(token, chance):
    """(kind, another token): foreign ones must be mended to what was there."""
    if token in FOREIGN and chance.randrange(2):
        return "foreign", FOREIGN[token]
    if token in TYPES:
        return "type", chance.choice(TYPES)
    if token in OPERATORS:
        return "operator", chance.choice(OPERATORS)
    if token in BRACKETS:
        return "bracket", chance.choice(BRACKETS)
    if token[0].isdigit():
        return "number", changed_number(token, chance)
    if token[0].isalpha():
        return "name", misspelled(token, chance)
    return "delete", ""


def mutate(text, chance):
    spans = tokens_of(text)
    while True:
        number = chance.randrange(len(spans) - 1)
        (a, b), (c, d) = spans[number], spans[number + 1]
        kind = chance.choice(["delete", "double", "swap", "replace", "replace", "replace"])
        if kind == "delete":
            changed = text[:a] + text[b:]
        elif kind == "double":
            changed = text[:b] + " " + text[a:b] + text[b:]
        elif kind == "swap":
            changed = text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]
        else:
            kind, other = replacement(text[a:b], chance)
            changed = text[:a] + other + text[b:]
        if changed != text and (kind != "swap" or text[a:b] != text[c:d]):
            return kind, text[a:b], a, changed


def run(tilecc, *arguments):
    return subprocess.run([tilecc, *arguments], capture_output=True, text=True, timeout=60, errors="replace")


def statement_lines(text, at):
    """From the line of the token to that where its statement ends, and the one in front."""
    first = text.count("\n", 0, at) + 1
    ends = [text.find(mark, at) for mark in ";{}" if text.find(mark, at) >= 0]
    after = max(min(ends) if ends else at, at)
    following = next((start for start, _ in tokens_of(text) if start > after), len(text))
    last = text.count("\n", 0, following) + 1
    return first, last


def apply(text, diagnostics):
    lines = text.split("\n")
    edits = {(f["span"]["line"], f["span"]["column"], f["span"]["end"], f["replacement"])
             for d in diagnostics for f in d["fixits"]}
    for line, column, end, replacement in sorted(edits, reverse=True):
        raw = lines[line - 1].encode()
        lines[line - 1] = (raw[: column - 1] + replacement.encode() + raw[end - 1 :]).decode()
    return "\n".join(lines)


def judge(tilecc, original, kind, token, at, changed, path):
    """What is wrong, or None; and whether certain fix-its were tried."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(changed)
    result = run(tilecc, "-fsyntax-only", "-w", "-fdiagnostics-format=json", path)
    if result.returncode not in (0, 1) or "internal error" in result.stderr:
        return f"exit code {result.returncode}: {result.stderr[-300:]}", False
    errors = [json.loads(line) for line in result.stderr.splitlines() if line.startswith("{")]
    errors = [d for d in errors if d["severity"] == "error"]
    if result.returncode == 0:
        return None, False
    if not errors:
        return "it fails without a word", False
    first, last = statement_lines(original, at)
    said = {s["line"] for d in errors for n in [d, *d["notes"]] for s in n["spans"]}
    # What is declared under another name or type is wrong where it is used.
    used = kind == "type" or (kind == "name" and any(f"`{token}`" in d["message"] for d in errors))
    if not used and not any(first - 1 <= line <= last for line in said):
        return f"lines {sorted(said)}, and it is in {first} to {last}: {errors[0]['message']}", False
    if not all(d["fixits"] and all(f["grade"] == "certain" for f in d["fixits"]) for d in errors):
        return None, False
    fixed = apply(changed, errors)
    with open(path, "w", encoding="utf-8") as file:
        file.write(fixed)
    result = run(tilecc, "-w", "--emit=tir", "-arch=cpu", "-o", "-", path)
    if result.returncode != 0:
        return f"certain fix-its of '{errors[0]['message']}' do not compile: {result.stderr[:300]}", True
    if kind in ("type", "operator", "number", "name"):
        return None, True
    with open(path, "w", encoding="utf-8") as file:
        file.write(original)
    if run(tilecc, "-w", "--emit=tir", "-arch=cpu", "-o", "-", path).stdout != result.stdout:
        return f"certain fix-its of '{errors[0]['message']}' mean something else", True
    return None, True


def main():
    tilecc, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    programs = PROGRAMS
    if "all" in sys.argv:
        programs = sorted(name[:-5] for name in os.listdir(folder) if name.endswith(".tile"))
    chance = random.Random(seed)
    bad = tried = 0
    with tempfile.TemporaryDirectory() as place:
        for number in range(count):
            name = chance.choice(programs) + ".tile"
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                text = file.read().split("// given")[0]
            kind, token, at, changed = mutate(text, chance)
            problem, certain = judge(tilecc, text, kind, token, at, changed, os.path.join(place, name))
            tried += certain
            if problem or "show" in sys.argv:
                line = text.count("\n", 0, at) + 1
                print(f"{number}: {name}:{line}: {kind} '{token}': {problem or 'good'}")
            bad += problem is not None
    print(f"{count} programs, {bad} bad, {tried} with certain fix-its alone")
    sys.exit(bad > 0)


main()
