#!/usr/bin/env python3
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that each link of the documents of a tree leads to a file of the tree
and, where it names a heading, to a heading there.

    tools/scripts/check_links.py ROOT
"""

import os
import pathlib
import re
import sys

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.M)
FENCE = re.compile(r"^```.*?^```", re.S | re.M)


def anchors(path):
    for heading in HEADING.findall(FENCE.sub("", path.read_text())):
        yield re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def documents(root):
    for folder, folders, names in os.walk(root):
        folders[:] = [n for n in folders if not n.startswith((".", "build"))]
        for name in names:
            if name.endswith(".md"):
                yield pathlib.Path(folder, name)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1]).resolve()
    links = failures = 0
    for document in sorted(documents(root)):
        for link in LINK.findall(FENCE.sub("", document.read_text())):
            if re.match(r"\w+:", link):
                continue
            links += 1
            name, _, anchor = link.partition("#")
            target = (document.parent / name).resolve() if name else document
            if not target.exists() or root not in (target, *target.parents):
                problem = "no such file"
            elif anchor and anchor not in anchors(target):
                problem = f"no heading '{anchor}'"
            else:
                continue
            failures += 1
            print(f"{document.relative_to(root)}: {link}: {problem}", file=sys.stderr)
    print(f"{links} links, {failures} failures")
    return 1 if failures or not links else 0


if __name__ == "__main__":
    sys.exit(main())
