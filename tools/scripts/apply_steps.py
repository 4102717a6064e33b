#!/usr/bin/env python3
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Applies the changes that a section of a document describes to a tree.

    tools/scripts/apply_steps.py DOCUMENT SECTION TREE

A change is a block of code after one of the lines

    <!-- new: FILE -->
    <!-- in: FILE, after: TEXT -->
    <!-- in: FILE, before: TEXT -->

The block becomes FILE, or comes after or before the only line of FILE that has
TEXT in it. Prints the names of the files, one a change.
"""

import pathlib
import re
import sys
import textwrap

STEP = re.compile(
    r"^ *<!-- (new|in): ([^,\n]+?)(?:, (after|before): (.+?))? -->\n"
    r"( *(````*)\w*[^\n]*\n.*?\n) *\6$",
    re.S | re.M,
)


def section_of(document: str, title: str) -> str:
    parts = re.split(r"^## (.*)$", document, flags=re.M)
    for name, text in zip(parts[1::2], parts[2::2]):
        if name == title:
            return text
    sys.exit(f"error: expected a section '{title}', found {parts[1::2]}")


def insert(path: pathlib.Path, where: str, anchor: str, block: str) -> None:
    lines = path.read_text().splitlines(keepends=True)
    places = [i for i, line in enumerate(lines) if anchor in line]
    if len(places) != 1:
        sys.exit(
            f"error: expected one line of {path} with '{anchor}', "
            f"found {len(places)}"
        )
    lines.insert(places[0] + (where == "after"), block)
    path.write_text("".join(lines))


def main() -> int:
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    document, title, tree = sys.argv[1:]
    steps = STEP.findall(section_of(pathlib.Path(document).read_text(), title))
    if not steps:
        sys.exit(f"error: expected changes in the section '{title}', found none")
    for kind, name, where, anchor, fenced, _ in steps:
        # What the block is indented by, its text is, too.
        block = textwrap.dedent(fenced).split("\n", 1)[1]
        path = pathlib.Path(tree) / name
        if kind == "new":
            if path.exists():
                sys.exit(f"error: expected no file {path}, found one")
            path.write_text(block)
        else:
            insert(path, where, anchor, block)
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
