#!/usr/bin/env python3
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what a shared library exports with its header.

usage: check_exports.py HEADER MACRO NODE LIBRARY

MACRO marks the functions of the header, NODE is the beginning of their symbol
versions. No version is later than the header's <MACRO's prefix>_ABI_MAJOR and
_ABI_MINOR, and the library's name ends in the major number.
"""

import pathlib
import re
import subprocess
import sys


def main() -> int:
    header, macro, node, library = sys.argv[1:]
    text = re.sub(r"/\*.*?\*/", "", pathlib.Path(header).read_text(), flags=re.S)
    functions = re.sub(r"^#.*$", "", text, flags=re.M)
    declared = set(re.findall(macro + r"\b[^;(]*?\b(\w+)\(", functions))
    prefix = macro.split("_")[0]
    major, minor = (
        int(re.search(rf"{prefix}_ABI_{part} (\d+)u", text).group(1))
        for part in ("MAJOR", "MINOR")
    )
    listing = subprocess.run(
        ["llvm-nm", "-D", "--defined-only", library],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    exported, problems = set(), []
    for line in listing.splitlines():
        kind, symbol = line.split()[-2:]
        if kind == "A":  # A version itself.
            continue
        name, _, version = symbol.partition("@@")
        exported.add(name)
        found = re.fullmatch(rf"{node}_(\d+)\.(\d+)", version)
        if not found:
            problems.append(f"{symbol}: expected a version {node}_<major>.<minor>")
        elif (int(found[1]), int(found[2])) > (major, minor) or int(found[1]) != major:
            problems.append(f"{symbol}: the header is of version {major}.{minor}")
    for name in sorted(declared - exported):
        problems.append(
            f"{name} is declared and not exported: list it in the library's "
            "exports.map, under the version in which it comes"
        )
    for name in sorted(exported - declared):
        problems.append(f"{name} is exported and not declared")
    soname = subprocess.run(
        ["llvm-readelf", "-d", library], capture_output=True, text=True, check=True
    ).stdout
    if not re.search(rf"SONAME.*\.so\.{major}\]", soname):
        problems.append(f"expected a library name that ends in .so.{major}")
    print("\n".join(problems + [f"{len(exported)} functions"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
