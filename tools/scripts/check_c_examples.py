#!/usr/bin/env python3
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the C code of documents, strictly.

usage: check_c_examples.py CC INCLUDE... -- DOCUMENT.md...

The blocks ```c of one document are one file, in their order.
"""

import pathlib
import re
import subprocess
import sys

FLAGS = ["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]


def main() -> int:
    rest = sys.argv[1:]
    split = rest.index("--")
    compiler, *includes = rest[:split]
    failures = blocks = 0
    for name in rest[split + 1 :]:
        text = pathlib.Path(name).read_text()
        found = list(re.finditer(r"^```c\n(.*?)^```$", text, re.M | re.S))
        blocks += len(found)
        if not found:
            print(f"{name}: expected blocks of C, found none")
            failures += 1
        # Messages name the lines of the document.
        source = "".join(
            f'#line {text.count(chr(10), 0, block.start(1)) + 1} "{name}"\n'
            + block.group(1)
            for block in found
        )
        done = subprocess.run(
            [compiler, *FLAGS, *(f"-I{each}" for each in includes), "-x", "c", "-"],
            input=source,
            capture_output=True,
            text=True,
        )
        if done.returncode:
            print(done.stderr, end="")
            failures += 1
    print(f"{blocks} blocks, {failures} failures")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
