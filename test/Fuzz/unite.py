#!/usr/bin/env python3
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes files that include up to twelve others of one folder each, as a quick build
does (CONTRIBUTING.md): headers, and what a fuzzer adds to their code, are compiled once
for all of them. Prints nothing; `unite.py OUT FILE...` leaves OUT/0.cpp and so on."""

import itertools
import pathlib
import sys

FILES_AT_ONCE = 12


def main() -> int:
    out, *files = map(pathlib.Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    number = 0
    for _, group in itertools.groupby(sorted(files), key=lambda file: file.parent):
        group = [file.resolve() for file in group]
        for begin in range(0, len(group), FILES_AT_ONCE):
            lines = [f'#include "{file}"\n' for file in group[begin : begin + FILES_AT_ONCE]]
            (out / f"{number}.cpp").write_text("".join(lines))
            number += 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
