#!/usr/bin/env python3
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that every row of a page's tables names a test, and that each exists.

    tools/scripts/check_fault_tests.py PAGE TESTS

A test is `FILE` or `FILE::NAME` in the last column: a file somewhere below the
folder TESTS, and a function, a case or a symbol in it.
"""

import pathlib
import re
import sys

ROW = re.compile(r"^\| (?!what goes wrong|-).*\| (.*) \|$", re.M)
TEST = re.compile(r"`([\w.-]+\.\w+)(?:::(\w+))?`")


def definition(name):
    """What defines a test in Python, with GoogleTest or in IR."""
    return re.compile(
        rf"^def {name}\(|^TEST\w*\(\w+,\s*{name}\)|^\s*(func\.func|rtile\.func) @{name}\(",
        re.M,
    )


def problem_of(files, file, name):
    found = files.get(file, [])
    if not found:
        return "no such file"
    pattern = definition(name) if name else re.compile("")
    if not any(pattern.search(path.read_text()) for path in found):
        return "no such test"
    return ""


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    files = {}
    for path in pathlib.Path(sys.argv[2]).rglob("*.*"):
        files.setdefault(path.name, []).append(path)
    rows = tests = failures = 0
    for row in ROW.findall(pathlib.Path(sys.argv[1]).read_text()):
        named = TEST.findall(row)
        problems = [] if named else [f"no test in '{row}'"]
        for file, name in named:
            if problem := problem_of(files, file, name):
                problems.append(f"{file}{'::' + name if name else ''}: {problem}")
        rows, tests = rows + 1, tests + len(named)
        failures += len(problems)
        for problem in problems:
            print(problem, file=sys.stderr)
    print(f"{rows} kinds of faults, {tests} tests, {failures} failures")
    return 1 if failures or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
