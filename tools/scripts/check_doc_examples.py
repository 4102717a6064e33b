#!/usr/bin/env python3
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs every ```mlir example of the given files through ringlet-opt.

Each example is parsed, verified and printed twice; the second print must equal
the first. Every operation of a .td file must have an example or point to one.

    tools/scripts/check_doc_examples.py build/bin/ringlet-opt dialects docs
"""

import pathlib
import re
import subprocess
import sys
import textwrap

EXAMPLE = re.compile(r"```mlir\n(.*?)```", re.S)
OPERATION = re.compile(r"^def (\w+Op) : \w+<\"(\w+)\".*?^}", re.S | re.M)


def run(tool, text):
    return subprocess.run(
        [tool, "--split-input-file", "-"],
        input=text,
        capture_output=True,
        text=True,
        timeout=60,
    )


def check_example(tool, text):
    first = run(tool, text)
    if first.returncode:
        return first.stderr
    second = run(tool, first.stdout)
    if second.returncode or second.stdout != first.stdout:
        return "the printed form does not parse back to itself\n" + second.stderr
    return None


def main():
    tool, *roots = sys.argv[1:]
    files = sorted(
        path
        for root in map(pathlib.Path, roots)
        for path in ([root] if root.is_file() else root.rglob("*"))
        if path.suffix in (".td", ".md")
    )
    examples = failures = 0
    for path in files:
        source = path.read_text()
        for match in EXAMPLE.finditer(source):
            examples += 1
            line = source[: match.start()].count("\n") + 1
            problem = check_example(tool, textwrap.dedent(match.group(1)))
            if problem:
                failures += 1
                print(f"{path}:{line}: example fails\n{problem}", file=sys.stderr)
        if path.suffix == ".td":
            for match in OPERATION.finditer(source):
                if "Example:" not in match.group(0):
                    failures += 1
                    print(f"{path}: {match.group(2)} has no example", file=sys.stderr)
    print(f"{examples} examples in {len(files)} files, {failures} failures")
    return 1 if failures or not examples else 0


if __name__ == "__main__":
    sys.exit(main())
