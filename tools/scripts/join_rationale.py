#!/usr/bin/env python3
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Joins the reasons that people wrote to the reference page of a dialect.

    tools/scripts/join_rationale.py GENERATED RATIONALE OUT

GENERATED is what mlir-tblgen makes of the definitions. RATIONALE has a section
for each of its operations, attributes and types, no other, headed by the name
that it has there; OUT has them as the last part of each entry.
"""

import pathlib
import re
import sys

ENTRY = re.compile(r"^### `?([\w.]+)`?.*$", re.M)
GROUP = re.compile(r"^## (\w+)$", re.M)
REASON = re.compile(r"^## ([\w.]+)\n\n(.*?)\s*(?=^## |\Z)", re.S | re.M)


def main() -> int:
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    generated, rationale, out = map(pathlib.Path, sys.argv[1:])
    page = generated.read_text()
    reasons = dict(REASON.findall(rationale.read_text()))
    # Enums say all in their cases.
    end = next((m.start() for m in GROUP.finditer(page) if m[1] == "Enums"), len(page))
    entries = [(m[1], m.start()) for m in ENTRY.finditer(page, 0, end)]
    problems = [f"{name} has no reason" for name, _ in entries if name not in reasons]
    known = {name for name, _ in entries}
    problems += [f"{name} is not in the dialect" for name in reasons if name not in known]
    for problem in problems:
        print(f"{rationale}: error: {problem}", file=sys.stderr)
    if problems or not entries:
        return 1
    ends = [start for _, start in entries[1:]] + [end]
    parts = [page[: entries[0][1]]]
    for (name, start), stop in zip(entries, ends):
        text, rest = page[start:stop], ""
        # The heading of the next group stands before its first entry.
        if split := GROUP.search(text):
            text, rest = text[: split.start()], text[split.start() :]
        parts.append(f"{text.rstrip()}\n\n#### Why\n\n{reasons[name]}\n\n{rest}")
    out.write_text("".join(parts) + page[end:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
