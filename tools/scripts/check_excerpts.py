#!/usr/bin/env python3
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks what documents quote from the output of a command.

    tools/scripts/check_excerpts.py ROOT BUILD FILE...

A quotation is a block of code after a line

    <!-- excerpt: COMMAND -->

Its lines must be, apart from indentation and line breaks, a part of what COMMAND
prints when it runs in ROOT; `...` stands for anything. `build/` in a command is
BUILD.
"""

import pathlib
import re
import shlex
import subprocess
import sys

EXCERPT = re.compile(r"<!-- excerpt: (.*?) -->\s*```\w*\n(.*?)```", re.S)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    root, build, *files = sys.argv[1:]
    count = failures = 0
    for path in map(pathlib.Path, files):
        for command, quoted in EXCERPT.findall(path.read_text()):
            count += 1
            arguments = [
                f"{build}/{word[6:]}" if word.startswith("build/") else word
                for word in shlex.split(command)
            ]
            run = subprocess.run(
                arguments, cwd=root, capture_output=True, text=True, timeout=120
            )
            printed = " ".join(run.stdout.split())
            place = 0
            for part in quoted.split("..."):
                part = " ".join(part.split())
                found = printed.find(part, place)
                if run.returncode or found < 0:
                    failures += 1
                    print(
                        f"{path}: `{command}` (exit {run.returncode}) does not "
                        f"print:\n{part}\n{run.stderr}",
                        file=sys.stderr,
                    )
                    break
                place = found + len(part)
    print(f"{count} excerpts, {failures} failures")
    return 1 if failures or not count else 0


if __name__ == "__main__":
    sys.exit(main())
