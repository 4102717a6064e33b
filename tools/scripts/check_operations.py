#!/usr/bin/env python3
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the lists of docs/KernelOperations.md with the code that refuses the
rest.

usage: check_operations.py ROOT

A list is what stands in backquotes between `<!-- operations: NAME -->` and the next
blank line.
"""

import pathlib
import re
import sys

PLAIN = "passes/TileOpt/CheckKernels.cpp"
ROLES = "passes/TileToNVVM/CheckScheduled.cpp"


def body(text: str, head: str) -> str:
    """A function of a file, from its head to the brace that ends it."""
    begin = text.index(head)
    return text[begin : text.index("\n}\n", begin)]


def operations(code: str) -> set:
    """C++ classes such as arith::AddFOp, as "arith.addf"."""
    found = set()
    code = re.sub(r"getDefiningOp<[^>]*>", "", code)
    for dialect, name in re.findall(r"\b(rtile|arith|math|scf|memref)::(\w+)Op\b", code):
        if dialect == "rtile":
            name = re.sub(r"(?<!^)(?=[A-Z])", "_", name)
        found.add(f"{dialect}.{name.lower()}")
    return found


def lists_of(root: pathlib.Path) -> dict:
    plain, roles = (root / PLAIN).read_text(), (root / ROLES).read_text()
    check = body(plain, "LogicalResult check(Operation *op")
    columns = body(plain, "bool isOnColumns(")
    scalars = body(plain, "LogicalResult checkScalars(")
    return {
        "elementwise": operations(body(plain, "bool isElementwise(")) | {"arith.constant"},
        "plain": operations(check + columns + scalars),
        "outside of roles": operations(body(roles, "LogicalResult checkCommon(")),
        "roles": operations(body(roles, "LogicalResult checkInRole(")),
    }


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    text = (root / "docs/KernelOperations.md").read_text()
    problems = []
    for name, code in lists_of(root).items():
        found = re.search(rf"<!-- operations: {name} -->\n(.*?)\n\n", text, re.S)
        listed = set(re.findall(r"`([\w.]+)`", found[1])) if found else set()
        for each in sorted(code - listed):
            problems.append(f"{name}: {each} has code, and is not listed")
        for each in sorted(listed - code):
            problems.append(f"{name}: {each} is listed, and has no code")
    print("\n".join(problems + [f"{len(problems)} differences"]))
    return min(len(problems), 1)


if __name__ == "__main__":
    sys.exit(main())
