#!/usr/bin/env python3
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Feeds damaged bytecode to the compiler: cut off, and with one bit changed.

    test/Fuzz/bytecode.py --build=build FILE.mlir...

What must hold for each: it compiles, or it is refused with a message. That this
process lives to say so is the test. Prints a summary; exits 1 if a message is
missing.
"""

import argparse
import collections
import os
import pathlib
import random
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/Support"))

from compiler import OK, REFUSED, Compiler  # noqa: E402

TARGET = "cpu:x86-64-v3"


def damaged(whole: bytes, truncations: int, flips: int):
    """What is wrong, and bytes in which it is."""
    dice = random.Random(len(whole))
    for i in range(truncations):
        yield "cut off", whole[: max(4, len(whole) * i // truncations)]
    for _ in range(flips):
        changed = bytearray(whole)
        changed[dice.randrange(4, len(whole))] ^= 1 << dice.randrange(8)
        yield "changed", bytes(changed)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", default="build")
    parser.add_argument("--truncations", type=int, default=200)
    parser.add_argument("--flips", type=int, default=60)
    parser.add_argument("files", nargs="+", metavar="FILE.mlir")
    options = parser.parse_args()
    compiler = Compiler(options.build)
    counts: collections.Counter = collections.Counter()
    silent = 0

    def compile_(content: bytes):
        return compiler.compile(content, "rtile", TARGET, allow_bytecode=True)

    for file in options.files:
        whole = subprocess.run(
            [os.path.join(options.build, "bin/ringlet-opt"), file, "--emit-bytecode"],
            stdout=subprocess.PIPE,
            check=True,
        ).stdout
        counts["whole", "compiled"] += compile_(whole).status == OK
        for kind, content in damaged(whole, options.truncations, options.flips):
            begin = time.monotonic()
            outcome = compile_(content)
            counts[kind, "compiled" if outcome.status == OK else "refused"] += 1
            counts["took seconds"] += time.monotonic() - begin > 5
            is_told = outcome.status == REFUSED and "error: " in outcome.diagnostics
            if outcome.status != OK and not is_told:
                silent += 1
                print(f"{file}, {kind}: status {outcome.status}: {outcome.diagnostics}")
    for what, count in sorted(counts.items(), key=str):
        print(f"{count:6} {what if isinstance(what, str) else ' and '.join(what)}")
    print(f"{silent} without a message")
    return 1 if silent else 0


if __name__ == "__main__":
    sys.exit(main())
