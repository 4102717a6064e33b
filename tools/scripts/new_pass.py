#!/usr/bin/env python3
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the skeleton of a pass: it compiles, runs, and has a test.

    tools/scripts/new_pass.py STAGE NAME SUMMARY [--root=FOLDER]

  STAGE    a folder of passes/, as TileOpt
  NAME     rtile-..., ringlet-... or rlayout-..., as on the command line
  SUMMARY  one imperative line without a full stop

Writes passes/STAGE/<Name>.cpp and test/Passes/STAGE/<rest of name>.mlir, and adds the
pass to Passes.td and CMakeLists.txt of the stage. Changes nothing if any of it
exists. What is left to do stands behind TODO in the files.

Example:
    tools/scripts/new_pass.py TileOpt rtile-drop-masks "Drop masks of whole tiles"
"""

import pathlib
import re
import shutil
import subprocess
import sys

# By the prefix of the pass: class of the pass, what it walks, its header, what
# a test of it begins with.
KINDS = {
    "rtile": (
        "RTile",
        "rtile::FuncOp",
        "dialects/Tile/IR/TileDialect.h",
        "rtile.func @kernel() grid(%i: index) {\n  rtile.return\n}",
    ),
    "ringlet": (
        "Ringlet",
        "attn::AttentionOp",
        "dialects/Ringlet/IR/RingletDialect.h",
        "func.func @kernel(%x: tensor<1x64x1x8xf32>) -> tensor<1x64x1x8xf32> {\n"
        "  %o, %lse = ringlet.attention %x, %x, %x branches [<w = *, r = 1>]\n"
        "      : (tensor<1x64x1x8xf32>, tensor<1x64x1x8xf32>, tensor<1x64x1x8xf32>)\n"
        "      -> (tensor<1x64x1x8xf32>, tensor<1x1x64xf32>)\n"
        "  return %o : tensor<1x64x1x8xf32>\n}",
    ),
    "rlayout": (
        "RLayout",
        "attn::ReorderOp",
        "dialects/Ringlet/IR/RingletDialect.h",
        "#snake = #rlayout.layout<order = #rlayout.order<snake, grid = [2, 2]>>\n"
        "func.func @kernel(%x: tensor<1x4x1x8xf32>) -> tensor<1x4x1x8xf32, #snake> {\n"
        "  %y = ringlet.reorder %x : tensor<1x4x1x8xf32> to tensor<1x4x1x8xf32, #snake>\n"
        "  return %y : tensor<1x4x1x8xf32, #snake>\n}",
    ),
}

LICENCE = """//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
"""

SOURCE = """//===- {file} - A pass of {stage} -*- C++ -*-===//
{licence}//
// {summary}.
//
//===----------------------------------------------------------------------===//

#include "{header}"
#include "passes/{stage}/Passes.h"

#include "mlir/IR/Remarks.h"

namespace ringlet {{
#define GEN_PASS_DEF_{macro}
#include "passes/{stage}/Passes.h.inc"
}} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {{

struct {short} : ringlet::impl::{base}Base<{short}> {{
  void runOnOperation() override {{
    getOperation()->walk([&]({op} op) {{
      // TODO: match completely, then rewrite; say what was decided.
      remark::passed(op.getLoc(),
                     remark::RemarkOpts::name("{short}").category("{name}"))
          << "seen";
    }});
  }}
}};

}} // namespace
"""

DEFINITION = """def {base}
    : Pass<"{name}"> {{
  let summary = "{summary}";
  let description = [{{
    TODO: what it changes and why, what must hold before, what it leaves alone.
  }}];
}}

"""

TEST = """//===- {rest}.mlir - A pass of {stage} -*- mlir -*-===//
{licence}
// {summary}.

// RUN: ringlet-opt %s --{name} --remarks-filter='{name}' \\
// RUN:   --remark-format=emitRemark 2>&1 | FileCheck %s

// TODO: a sentence on what the case shows.

// CHECK:       remark: {{{{.*}}}}seen
// CHECK-LABEL: func @kernel(
{example}
"""


class Refused(Exception):
    pass


def add_to_definitions(text: str, definition: str) -> str:
    """In front of the end of the include guard."""
    end = text.rfind("#endif")
    if end < 0:
        raise Refused("expected Passes.td to end with #endif, found none")
    return text[:end] + definition + text[end:]


def add_to_build(text: str, file: str) -> str:
    """Into the list behind SOURCES, in its order where it has one."""
    match = re.search(r"SOURCES\s+((?:[A-Za-z0-9/]+\.cpp\s+)+)", text)
    if not match:
        raise Refused("expected SOURCES and a list of files in CMakeLists.txt")
    files = match.group(1).split()
    after = [name for name in files if name < file]
    if after:
        place = match.start(1) + re.search(
            r"\b" + re.escape(after[-1]), match.group(1)
        ).end()
        return text[:place] + "\n    " + file + text[place:]
    return text[: match.start(1)] + file + "\n    " + text[match.start(1) :]


def format_source(path: pathlib.Path) -> None:
    """How lines break depends on the length of the pass's name."""
    for program in ("clang-format-22", "clang-format"):
        if found := shutil.which(program):
            style = pathlib.Path(__file__).resolve().parents[2] / ".clang-format"
            subprocess.run([found, "-i", f"--style=file:{style}", path], check=True)
            return


def main(arguments: list) -> int:
    root = pathlib.Path(__file__).resolve().parents[2]
    for argument in [each for each in arguments if each.startswith("--root=")]:
        root = pathlib.Path(argument.removeprefix("--root="))
        arguments.remove(argument)
    if len(arguments) != 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    stage, name, summary = arguments
    folder = root / "passes" / stage
    if not (folder / "Passes.td").is_file():
        stages = sorted(path.parent.name for path in root.glob("passes/*/Passes.td"))
        raise Refused(f"expected a stage ({', '.join(stages)}), found '{stage}'")
    if not re.fullmatch(r"(rtile|ringlet|rlayout)(-[a-z0-9]+)+", name):
        raise Refused(
            "expected a name like rtile-drop-masks, beginning with "
            f"{'-, '.join(KINDS)}-, found '{name}'"
        )
    if not re.fullmatch(r"[^\"\n]{4,70}[^.\"\n]", summary):
        raise Refused(
            f"expected one line of 5 to 71 letters without quotes and full stop, "
            f"found '{summary}'"
        )
    kind, rest = name.split("-", 1)
    prefix, op, header, example = KINDS[kind]
    short = "".join(word.capitalize() for word in rest.split("-"))
    values = {
        "base": prefix + short,
        "macro": (prefix + short).upper(),
        "example": example,
        "file": short + ".cpp",
        "header": header,
        "licence": LICENCE,
        "name": name,
        "op": op,
        "rest": rest,
        "short": short,
        "stage": stage,
        "summary": summary,
    }
    tests = root / "test/Passes" / stage
    definitions, build = folder / "Passes.td", folder / "CMakeLists.txt"
    # All texts first: nothing is written if one of them is refused.
    written = {
        folder / values["file"]: SOURCE.format(**values),
        tests / f"{rest}.mlir": TEST.format(**values),
    }
    for path in written:
        if path.exists():
            raise Refused(f"expected no file {path}, found one")
    if f'"{name}"' in definitions.read_text():
        raise Refused(f"expected no pass {name} in {definitions}, found one")
    written[definitions] = add_to_definitions(
        definitions.read_text(), DEFINITION.format(**values)
    )
    written[build] = add_to_build(build.read_text(), values["file"])
    tests.mkdir(parents=True, exist_ok=True)
    for path, text in written.items():
        path.write_text(text)
        if path.suffix == ".cpp":
            format_source(path)
        print(path.relative_to(root))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Refused as refused:
        print(f"error: {refused}", file=sys.stderr)
        sys.exit(1)
