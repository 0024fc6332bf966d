"""Counts the programs of tests/lang/run that use each feature of the language.

    features.py FOLDER [LEAST]

prints a line for each: how many programs use it, its name, and some of them.  With LEAST it ends with 1 where a feature has
fewer.  A feature is what its pattern finds in a program without comments."""
import glob
import os
import re
import sys

# name: what a program that uses it holds
FEATURES = {
    "join": r"\bjoin\(",
    "split": r"\bsplit\(",
    "interleave": r"\binterleave\(",
    "cat": r"\bcat\(",
    "flip": r"\bflip\(",
    "gather along an axis": r"\bgather\(",
    "scan with a function": r"\bscan\(\w",
    "scan over a tuple": r"\bscan\(\(",
    "cumsum": r"\bcumsum\(",
    "cumprod": r"\bcumprod\(",
    "cummax, cummin": r"\bcum(max|min)\(",
    "a scan in reverse": r"\b(scan|cum\w+)\((?:[^;]*)reverse = true",
    "an exclusive scan": r"\b(scan|cum\w+)\((?:[^;]*)exclusive = true",
    "merge_dims": r"\bmerge_dims\(",
    "split_dim": r"\bsplit_dim\(",
    "view of a pointer": r"\bview\(",
    "sort": r"\bsort\(",
    "argsort": r"\bargsort\(",
    "topk": r"\btopk\(",
    "histogram": r"\bhistogram\(",
    "scratch": r"\bscratch\(",
    "ordered": r"\bgrid\(ordered\b",
    "look_back": r"\blook_back\w*\(",
    "a struct": r"\bstruct \w+ *\{",
    "a struct as parameter of a kernel": r"\bstruct (\w+) *\{(?s:.*)kernel [^{]*: \1\b",
    "print": r"\bprint\(",
    "assert": r"\bassert\(",
    "assert with text": r'\bassert\([^;]*, "',
    "test blocks": r'\btest "',
    "asm": r"\basm\(",
    "scaled products": r"\bdot_scaled\(",
    "mxfp8": r'\bdot_scaled\([^;]*"e[45]m[32]"',
    "mxfp4, nvfp4": r'\bdot_scaled\([^;]*"e2m1"',
    "views of 4 bits": r": (in|out|inout)\??(?: \w+)* [iu]4\[",
    "NaN rules": r"\bnan = propagate",
    "split_k": r"\bsplit_k\b",
    "complex numbers": r"\bcomplex_\w+\(",
    "rounding and saturation": r"\bcast\([^;]*(round|saturate) = ",
    "bits of integers": r"\b(mulhi|popcount|clz|ctz|bitreverse|add_sat|sub_sat|fshl|fshr|rotl|rotr|byte_permute)\(",
    "random numbers": r"\b(rand|randn|randint|rand4|randint4)\(",
}


def main(folder, least):
    programs = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.tile"))):
        with open(path, encoding="utf-8") as file:
            programs[os.path.basename(path)[:-5]] = re.sub(r"//.*", "", file.read())
    few = 0
    for name, pattern in FEATURES.items():
        using = [program for program, text in programs.items() if re.search(pattern, text)]
        few += len(using) < least
        print(f"{len(using):4} {name}: {' '.join(using[:6])}{' ...' if len(using) > 6 else ''}")
    print(f"{len(programs)} programs, {few} features with fewer than {least}" if least else f"{len(programs)} programs")
    return few != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0))
