"""Applies the fix-its of `tilecc -fdiagnostics-format=json` to a source: apply-fixits.py SOURCE DIAGNOSTICS > FIXED."""
import json
import sys

lines = open(sys.argv[1], encoding="utf-8").read().split("\n")
edits = set()
for text in open(sys.argv[2], encoding="utf-8"):
    if text.startswith("{"):
        for fixit in json.loads(text)["fixits"]:
            span = fixit["span"]
            edits.add((span["line"], span["column"], span["end"], fixit["replacement"]))
for line, column, end, replacement in sorted(edits, reverse=True):
    old = lines[line - 1]
    lines[line - 1] = old[: column - 1] + replacement + old[end - 1 :]
sys.stdout.write("\n".join(lines))
