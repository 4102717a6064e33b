#!/usr/bin/env python3
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks rules that no compiler checks, on every source file of a tree.

    tools/scripts/check_sources.py CHECK [ROOT]

  architecture  docs/Architecture.md has every folder of lib/ among the layers and
           every variable of the environment that the product reads as RINGLET_*
  headers  every source file names its licence
  layers   an include points down; LLVM is included only where it is linked;
           folders of passes/ include those above them in its CMakeLists.txt
  length   no source file is longer than 600 lines
  locals   files of one library have no namesakes: several are compiled as one
  text     no tab, trailing space, merge mark or missing last newline
  prefixes what FileCheck looks for in a test is more than what must not be there
  words    what speaks of orders calls a place along one an ordinal, not a rank
"""

import os
import pathlib
import re
import sys

LICENCE = (
    "Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.",
    "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception",
)
SOURCES = {
    ".c", ".cc", ".cmake", ".cpp", ".def", ".fbs", ".h", ".in", ".inc",
    ".mlir", ".py", ".pyi", ".sh", ".td", ".test",
}  # fmt: skip
# Written by a program, whose test compares it with what the program writes.
GENERATED = {"include/ringlet/abi/ArtifactGenerated.h"}
LONGEST = 600


def source_files(root):
    """Every source file below root, as paths relative to it."""
    for folder, folders, names in os.walk(root):
        relative = pathlib.Path(folder).relative_to(root)
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(("build", "."))
            and name not in ("__pycache__", "Data")
            and not name.endswith(".egg-info")
        )
        for name in sorted(names):
            path = relative / name
            if (
                path.suffix in SOURCES
                or name == "CMakeLists.txt"
                or is_script(root / path)
            ):
                yield path


def is_script(path):
    if path.suffix or path.is_symlink():
        return False
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def check_headers(root):
    for path in source_files(root):
        head = (root / path).read_text(errors="replace")[:1000]
        for line in LICENCE:
            if line not in head:
                yield f"{path}: expected the line '{line}' at its top"
                break


def check_length(root):
    for path in source_files(root):
        if path.as_posix() in GENERATED:
            continue
        lines = (root / path).read_bytes().count(b"\n")
        if lines > LONGEST:
            yield f"{path}: expected at most {LONGEST} lines, found {lines}"


def check_text(root):
    for path in source_files(root):
        if path.as_posix() in GENERATED:
            continue
        text = (root / path).read_text(errors="replace")
        if text and not text.endswith("\n"):
            yield f"{path}: expected a newline at the end"
        for number, line in enumerate(text.split("\n"), 1):
            if line.rstrip() != line:
                yield f"{path}:{number}: expected no space at the end of a line"
            if "\t" in line:
                yield f"{path}:{number}: expected no tab"
            if line.startswith(("<<<<<<< ", ">>>>>>> ")):
                yield f"{path}:{number}: expected no merge mark"


PREFIXES = re.compile(r"--?check-prefix(?:es)?[= ]([\w,-]+)")
POSITIVE = r"(?<![\w-]){}(-NEXT|-SAME|-LABEL|-DAG|-COUNT-\d+|-EMPTY)?:"


def check_prefixes(root):
    """Any output would do otherwise, that of a tool that did nothing, too."""
    for path in source_files(root):
        if path.suffix not in (".mlir", ".test"):
            continue
        text = (root / path).read_text(errors="replace")
        for names in sorted(set(PREFIXES.findall(text))):
            if not any(
                re.search(POSITIVE.format(re.escape(name)), text)
                for name in names.split(",")
            ):
                yield f"{path}: expected a line that {names} looks for, found -NOT only"


# Files that speak of no ring: a rank there could only be a place along an order.
ALONG_ORDERS = (
    "dialects/Tile/IR/TileViewOps.td", "docs/Orders.md", "lib/Cost/MemoryTraffic.*",
    "lib/Cost/OrderChoice.*", "lib/Interpreter/Rows.*", "lib/Layout/*",
    "lib/Oracle/Pattern.*", "passes/AttentionToTile/AttentionGrid.*",
    "passes/AttentionToTile/AttentionRows.*", "passes/AttentionToTile/KeyTiles.*",
    "passes/AttentionToTile/PackedSequences.*", "passes/AttentionToTile/PointSequence.*",
    "passes/AttentionToTile/RowOrder.*", "passes/AttentionToTile/SequenceRows.*",
    "passes/Orders/*", "passes/TileOpt/RowRange.*",
)  # fmt: skip
# MLIR's names, for numbers of axes.
AXES = re.compile(r"\w*RankedTensor\w*|\bgetRank\(\)|MemRefRankOf")
RANK = re.compile(r"\w*rank\w*", re.IGNORECASE)


def check_words(root):
    """One word has one meaning: a rank is a process, or a number of axes."""
    for pattern in ALONG_ORDERS:
        paths = sorted(path for path in root.glob(pattern) if path.is_file())
        if not paths:
            yield f"{pattern}: expected a file that speaks of orders, found none"
        for path in paths:
            lines = path.read_text(errors="replace").split("\n")
            for number, line in enumerate(lines, 1):
                if match := RANK.search(AXES.sub("", line)):
                    yield (
                        f"{path.relative_to(root)}:{number}: expected ordinal for a "
                        f"place along an order, found {match.group()}"
                    )


# ===----------------------------------------------------------------------===#
# Names of one file
# ===----------------------------------------------------------------------===#

TARGET = re.compile(
    r"^(?:ringlet_add_(?:mlir_)?library|ringlet_add_tool|add_library)"
    r"\(\s*(\w+)([^()]*)\)",
    re.M,
)
SEPARATE = re.compile(r"set_target_properties\((\w+) PROPERTIES UNITY_BUILD OFF\)")
ANONYMOUS = re.compile(r"^namespace \{\n(.*?)^\} // namespace$", re.M | re.S)
TYPE = re.compile(r"^(?:struct|class|enum(?: class)?) (\w+)[^;{]*\{", re.M)
VARIABLE = re.compile(r"^(?:static |const |constexpr )[^;{}()=]*?\b(\w+)(?:\[\w*\])* = ", re.M)
FUNCTION = re.compile(r"^\w[\w:<>,*& ]*?[ *&](\w+)\(([^{};]*?)\)[ \w]*\{", re.M)
MACRO = re.compile(r"^#define (\w+)", re.M)


def local_names(text):
    """What only this file sees: names, and of functions how many arguments."""
    static = "\n".join(
        match.group() for match in re.finditer(r"^static [^{;]*[{;]", text, re.M)
    )
    for part in (static, *ANONYMOUS.findall(text)):
        yield from TYPE.findall(part)
        yield from VARIABLE.findall(part)
        for name, parameters in FUNCTION.findall(part):
            yield f"{name}/{parameters.count(',') + bool(parameters.strip())}"
    # Those that MLIR's generated files ask for end there.
    for name in MACRO.findall(text):
        if not name.startswith(("GEN_PASS_", "GET_")) and f"#undef {name}" not in text:
            yield f"#define {name}"


def check_locals(root):
    """tools/quickstart compiles several files of a library as one."""
    for cmake in sorted(root.rglob("CMakeLists.txt")):
        folder = cmake.parent.relative_to(root)
        if folder.parts and folder.parts[0].startswith((".", "build", "test")):
            continue
        text = cmake.read_text()
        separate = SEPARATE.findall(text)
        for target, sources in TARGET.findall(text):
            seen = {}
            for source in sources.split():
                path = cmake.parent / source
                if target in separate or path.suffix != ".cpp" or not path.is_file():
                    continue
                for name in sorted(set(local_names(path.read_text()))):
                    if other := seen.get(name):
                        yield (
                            f"{folder / source}: expected names that no file of "
                            f"{target} has, found {name.split('/')[0]} of {other}"
                        )
                    seen.setdefault(name, source)


# ===----------------------------------------------------------------------===#
# Layers
# ===----------------------------------------------------------------------===#

DECLARATION = re.compile(
    r"^ringlet_add_(?:mlir_)?library\(\s*(\w+)\s+LAYER\s+(\d)", re.M
)
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)
PROJECT = ("dialects/", "include/", "lib/", "passes/", "runtime/", "tools/")
COMPILER = ("mlir/", "mlir-c/", "llvm/", "llvm-c/", "lld/", "clang/")
# Folders whose layer no library declares.
FIXED = {"include/ringlet/abi": 0, "include": 4, "tools": 5, "python-bindings": 5}
# The runtime builds alone, and sees these folders only.
RUNTIME_SEES = ("include/ringlet/abi", "lib/Layout", "runtime")


def folder_layers(root):
    """The layer of each folder: what its CMakeLists.txt says."""
    layers = dict(FIXED)
    for cmake in root.rglob("CMakeLists.txt"):
        folder = cmake.parent.relative_to(root).as_posix()
        if folder.startswith("build"):
            continue
        for _, layer in DECLARATION.findall(cmake.read_text()):
            layers[folder] = max(layers.get(folder, 0), int(layer))
    return layers


SUBDIRECTORY = re.compile(r"^add_subdirectory\((\w+)\)", re.M)


def pass_folders(root):
    """The folders of passes/, those that others may include first."""
    cmake = root / "passes" / "CMakeLists.txt"
    return SUBDIRECTORY.findall(cmake.read_text()) if cmake.is_file() else []


def check_pass_folders(folders, including, target):
    """What is wrong with an include between two folders of passes/, or None."""
    parts = including.parts, pathlib.PurePosixPath(target).parts
    if any(path[0] != "passes" or len(path) < 3 for path in parts):
        return None
    user, used = (path[1] for path in parts)
    if user not in folders or used not in folders:
        return None
    if folders.index(used) <= folders.index(user):
        return None
    return f"passes/{user} may not include {target}, of a folder that comes later"


def layer_of(path, layers):
    """The layer of the innermost folder of path that has one, and its name."""
    for parent in pathlib.PurePosixPath(path).parents:
        if parent.as_posix() in layers:
            return layers[parent.as_posix()], parent.as_posix()
    return None, None


def resolve(root, including, quote, name):
    """The path in the tree that an include means, or None if it is outside."""
    if name.startswith(PROJECT):
        return name
    if name.startswith("ringlet/"):
        for base in ("include", "runtime/include"):
            if (root / base / name).is_file():
                return f"{base}/{name}"
        return None
    beside = including.parent / name
    if quote == '"' and (root / beside).is_file():
        return os.path.normpath(beside.as_posix()).replace(os.sep, "/")
    return None


def check_layers(root):
    layers = folder_layers(root)
    folders = pass_folders(root)
    for path in source_files(root):
        if path.parts[0] == "test" or path.suffix not in {".h", ".cpp", ".c"}:
            continue
        layer, _ = layer_of(path, layers)
        in_runtime = path.parts[0] == "runtime"
        text = (root / path).read_text(errors="replace")
        for match in INCLUDE.finditer(text):
            quote, name = match.groups()
            line = text.count("\n", 0, match.start(2)) + 1
            where = f"{path}:{line}"
            if name.startswith(COMPILER):
                if in_runtime or (layer is not None and layer < 2):
                    yield f"{where}: expected no LLVM here, found {name}"
                continue
            target = resolve(root, path, quote, name)
            if target is None:
                continue
            if in_runtime:
                if not target.startswith(RUNTIME_SEES):
                    yield (
                        f"{where}: the runtime may include "
                        f"{', '.join(RUNTIME_SEES)}, found {target}"
                    )
                continue
            if target.startswith("runtime/"):
                if layer is not None and layer < 4:
                    yield f"{where}: layer {layer} may not include the runtime"
                continue
            if problem := check_pass_folders(folders, path, target):
                yield f"{where}: {problem}"
                continue
            below, folder = layer_of(target, layers)
            if None not in (layer, below) and below > layer:
                yield (
                    f"{where}: layer {layer} may not include {target} of "
                    f"{folder}, layer {below}"
                )


READS = re.compile(r"""(?:getenv|environ\.get)\(\s*"(RINGLET_\w+)\"""")


def check_architecture(root):
    page = root / "docs" / "Architecture.md"
    if not page.is_file():
        yield "docs/Architecture.md: expected a page with the layers, found none"
        return
    text = page.read_text()
    layers = text.partition("## Layers")[2].partition("\n## ")[0]
    for folder in sorted(each.parent.name for each in root.glob("lib/*/CMakeLists.txt")):
        if not re.search(rf"\b{folder}\b", layers):
            yield f"docs/Architecture.md: expected lib/{folder} among the layers"
    listed = set(re.findall(r"^\| `(RINGLET_\w+)` \|", text, re.M))
    read = set()
    for folder in "runtime", "lib", "passes", "tools", "python-bindings":
        for path in (root / folder).rglob("*"):
            if path.suffix in (".cpp", ".h", ".py"):
                read |= set(READS.findall(path.read_text()))
    for name in sorted(read - listed):
        yield f"docs/Architecture.md: expected {name}, which is read, in the table"
    for name in sorted(listed - read):
        yield f"docs/Architecture.md: nothing reads {name}"


CHECKS = {
    "architecture": check_architecture,
    "headers": check_headers,
    "layers": check_layers,
    "length": check_length,
    "locals": check_locals,
    "text": check_text,
    "prefixes": check_prefixes,
    "words": check_words,
}


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1] not in CHECKS:
        sys.exit(__doc__)
    root = pathlib.Path(
        sys.argv[2] if len(sys.argv) == 3 else pathlib.Path(__file__).parents[2]
    ).resolve()
    files = sum(1 for _ in source_files(root))
    problems = list(CHECKS[sys.argv[1]](root))
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{sys.argv[1]}: {files} files, {len(problems)} problems")
    return 1 if problems or not files else 0


if __name__ == "__main__":
    sys.exit(main())
