# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stands in for ptxas: says of some kernels that they spill.

    fake_ptxas.py LOG BYTES=PATTERN... -- -arch=... -v ... -o OUT IN

A kernel spills BYTES if its text, from its name on, matches PATTERN; the first
pattern that does counts. The names of the kernels of a call are added to LOG.
"""

import re
import shutil
import sys


def main() -> None:
    end = sys.argv.index("--")
    log, rules = sys.argv[1], [rule.split("=", 1) for rule in sys.argv[2:end]]
    out, source = sys.argv[-2], sys.argv[-1]
    with open(source) as file:
        entries = re.split(r"^\.visible \.entry ", file.read(), flags=re.M)[1:]
    with open(log, "a") as file:
        file.write(" ".join(re.match(r"\w+", entry).group() for entry in entries) + "\n")
    for entry in entries:
        name = re.match(r"\w+", entry).group()
        spilled = next(
            (size for size, pattern in rules if re.search(pattern, entry, re.S)), "0"
        )
        print(f"ptxas info    : Compiling entry function '{name}' for 'sm_90a'")
        print(
            f"    8 bytes stack frame, {spilled} bytes spill stores, "
            f"{spilled} bytes spill loads"
        )
        print("ptxas info    : Used 168 registers")
    shutil.copy(source, out)


main()
