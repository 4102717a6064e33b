# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs kernels for GPUs on the CPU and compares the results with f64.

The code is what ptxas would get, but for the last step: LLVM IR for the GPU
becomes IR for the CPU (host_code.py), is linked with a libcuda that runs blocks
(Device.cpp, Memory.cpp, Block.cpp), and ringlet-run does the rest, as on a GPU.
"""

import argparse
import concurrent.futures
import dataclasses
import itertools
import math
import os
import pathlib
import random
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "Support"))

import host_code  # noqa: E402
import narrow  # noqa: E402
import precisions  # noqa: E402
import safetensors_file  # noqa: E402


@dataclasses.dataclass(frozen=True)
class Case:
    """One attention of q [1, rows, heads, dim], k and v [1, rows, key_heads, ...].

    With starts, of queries and of keys, sequences are packed: [rows, heads, dim].
    With lengths, of queries and of keys, there are several: [n, rows, heads, dim].
    """

    attributes: str
    rows: int
    heads: int = 1
    dim: int = 64
    dtype: str = "bf16"
    key_heads: int = 1
    value_dim: int = 0
    target: str = "sm_80"
    recipe: str = "plain"
    # Of the rows of queries, and of keys and values.
    order: str = ""
    key_order: str = ""
    # Sides of the blocks of a mask, whose operand is called %mask.
    blocks: tuple = ()
    starts: tuple = ()
    lengths: tuple = ()
    # Rows before the first key of each sequence, which hold no numbers.
    begins: tuple = ()
    # Rows of a page; those of a sequence are a multiple. All else of the pool, and
    # what lies behind lengths, holds no numbers.
    page: int = 0
    # The type of k and v where it has 8 bits, and whether each is multiplied with a
    # number for each head, of all "sequences" or of each.
    narrow: str = ""
    scales: str = ""
    # All bytes there are, as values and, but for NaN, as keys.
    every_byte: bool = False
    # Rows of q where they are fewer.
    queries: int = 0
    # Rows of k and v, in each sequence of several, that hold no numbers.
    poisoned: range = range(0)

    @property
    def batch(self) -> tuple:
        if self.starts:
            return ()
        return (len(self.lengths[0]) if self.lengths else len(self.begins) or 1,)

    @property
    def lists(self) -> dict:
        """Operands with a number for each sequence, or one more."""
        names = ("q_starts", "k_starts") if self.starts else ("q_lengths", "k_lengths")
        return dict(zip(names, self.starts or self.lengths))

    @property
    def mask_shape(self) -> tuple:
        return tuple(-(-self.rows // side) for side in self.blocks)

    @property
    def scale_shape(self) -> tuple:
        count = len(self.starts[0]) - 1 if self.starts else self.batch[0]
        return (count, self.key_heads) if self.scales == "sequences" else (self.key_heads,)

    @property
    def text(self) -> str:
        def layout(order, axis=len(self.batch)):
            return f", #rlayout.layout<order = <{order}>, axis = {axis}>" if order else ""

        batch = "".join(f"{size}x" for size in self.batch)

        def tensor(heads, dim, order, dtype=self.dtype):
            return f"tensor<{batch}?x{heads}x{dim}x{dtype}{layout(order)}>"

        def keys(dim):
            dtype = self.narrow or self.dtype
            if not self.page:
                return tensor(self.key_heads, dim, self.key_order, dtype)
            return f"tensor<?x{self.page}x{self.key_heads}x{dim}x{dtype}>"

        types = {
            "q": tensor(self.heads, self.dim, self.order),
            "k": keys(self.dim),
            "v": keys(self.value_dim or self.dim),
        }
        for name, numbers in self.lists.items():
            types[name] = f"tensor<{len(numbers)}xi64>"
        if self.blocks:
            types["mask"] = "tensor<{}x{}xi1>".format(*self.mask_shape)
        if self.page:
            types["pages"] = "tensor<?x?xi32>"
        if self.begins:
            types["k_begins"] = f"tensor<{len(self.begins)}xi32>"
        if self.scales:
            sizes = "".join(f"{size}x" for size in self.scale_shape)
            types["k_scale"] = types["v_scale"] = f"tensor<{sizes}f32>"
        out = tensor(self.heads, self.value_dim or self.dim, self.order)
        results = f"({out}, tensor<{batch}{self.heads}x?xf32{layout(self.order, len(self.batch) + 1)}>)"
        arguments = ", ".join(f"%{name}: {type_}" for name, type_ in types.items())
        return f"""func.func @attend({arguments}) -> {results} {{
  %o, %lse = ringlet.attention %q, %k, %v {self.attributes}
      : ({", ".join(types.values())}) -> {results}
  return %o, %lse : {results[1:-1]}
}}
"""

    @property
    def name(self) -> str:
        rows = f"{self.queries}x{self.rows}" if self.queries else f"{self.rows}"
        shape = f"S{rows} H{self.heads}/{self.key_heads} D{self.dim}"
        if self.value_dim:
            shape += f"/{self.value_dim}"
        if self.page:
            shape += f", pages of {self.page}"
        for sides, order in (("Q", self.order), ("K and V", self.key_order)):
            shape += f", {sides} along {order}" if order else ""
        dtypes = f"{self.dtype} {self.narrow}" if self.narrow else self.dtype
        text = f"{self.target} {self.recipe}, {shape} {dtypes}, {self.attributes}"
        return re.sub(r"table<\[.*?\]>", "table<...>", text)


def along(order) -> str:
    return f" pattern_order = <{order}>"


def near(grid, reach) -> str:
    return f" grid_window = <grid = {grid}, reach = {reach}>"


PACKED = " packed(%q_starts, %k_starts)"
PADDED = " lengths(%q_lengths, %k_lengths)"


PAGES = " pages(%pages)"
BEGINS = " key_begins(%k_begins)"


def masked(rows, keys) -> str:
    return f" block_mask(%mask) of [{rows}, {keys}]"


ALL = "branches [<w = *, r = 1>]"
MANY_KEYS = (
    "#ringlet.tiling<query = 64, key = 32,"
    " manyKeys = <query = 32, key = 16, part = 64>>"
)
TWO = "branches [<w = 128, r = 2>]"
# Heads whose residues are 2 and 0.
FEW = "branches [<w = *, r = 3, by = query, heads = [2, 4]>]"
SHUFFLED = f"table<{[slot * 77 % 260 for slot in range(260)]}>"
LAZY = {"target": "sm_90a", "recipe": "fa_fwd_lazy"}
UNION = (
    "branches [<w = 60, r = 1>, <w = 120, r = 2>, <w = 240, r = 4>] combine = union"
)
CUT = "branches [<w = 128, r = 1>, <w = 256, r = 4>] causal combine = union"
CASES = [
    # Rows in shared memory of whole 128 bytes are swizzled, others not.
    Case(ALL + " causal", 300, 2, 128),
    Case(ALL, 130, dim=256),
    Case(ALL + " window = [64, 3]", 200, 2, 120, "f16", 2, 60),
    Case(ALL, 150, 2, 48, "bf16", 2, 64),
    # Threads that copy fewer than the eight rows after which places repeat.
    Case(ALL + " tilings = [#ringlet.tiling<query = 32, key = 32>]", 100, dim=256),
    # Tiles that are partly full, of fewer rows than a warp has.
    Case(ALL + " tilings = [#ringlet.tiling<query = 16, key = 8>]", 90, dim=128),
    Case(ALL + " tilings = [#ringlet.tiling<query = 32, key = 24>]", 90, 2, 128),
    # Calls with few keys and with many, whose sums move to memory.
    Case(f"{ALL} tilings = [{MANY_KEYS}]", 60),
    Case(f"{ALL} causal tilings = [{MANY_KEYS}]", 200, 2, 128),
    Case(f"{ALL} tilings = [{MANY_KEYS}]", 150, dtype="f32", target="sm_90a"),
    Case("branches [<w = 100, r = 3>, <w = 200, r = 2>] causal", 333, 4, 64, "f16", 2),
    Case(ALL + " softcap = 2.000000e+01", 150, dim=128, dtype="f16"),
    # All branches in one kernel.
    Case(UNION, 333, 4, 64, "f16", 2),
    Case(UNION + " causal", 300, 2, 128),
    Case(UNION + " causal window = [100, -1]", 300, 2, 128),
    # The recipe's kernel needs tensor maps, which this GPU has not: the one that
    # computes rows again has them all.
    Case(ALL + " causal", 300, 2, 128, **LAZY),
    Case(ALL + " causal", 140, dim=256, **LAZY),
    Case("branches [<w = 128, r = 4>]", 400, 4, 64, **LAZY),
    # Two kernels: the second one has more branches and fewer rows.
    Case(CUT, 300, 4, 64, **LAZY),
    # Memory orders: rows that a table finds, or that lie at another distance. The
    # table of whole periods whose sides are powers of two is a kernel's work.
    Case(ALL + " causal", 256, key_order="hilbert, grid = [8, 16], chunk = 128"),
    Case(TWO, 256, 2, order="morton, grid = [16, 16]", key_order="residue<2>"),
    Case(TWO, 200, 2, key_order="hilbert, grid = [3, 6, 10], chunk = 180"),
    Case(ALL, 260, order="snake, grid = [4, 32], chunk = 128", key_order=SHUFFLED),
    Case(TWO, 150, 2, order="residue<3>", key_order="linear, chunk = 50"),
    Case(TWO, 256, 2, key_order="residue<2>", **LAZY),
    # Pattern orders and grid windows: positions from a table, lists of key tiles.
    Case(TWO + " causal" + along("hilbert, grid = [13, 20]"), 260, 2, 128),
    Case(ALL + " window = [90, 20]" + along("morton, grid = [4, 8, 8]"), 256),
    Case(FEW + along("snake, grid = [9, 30]"), 250, 4, key_order="residue<2>"),
    Case(TWO + along("residue<3>, chunk = 240") + " causal", 240, 2),
    Case(TWO + along(SHUFFLED), 260, 2),
    Case(ALL + near([12, 25], [2, 3]), 300, 2, 128),
    Case(
        ALL + near([5, 6, 9], [1, 2, 1]) + along("hilbert, grid = [5, 6, 9]"),
        *(270, 1, 64, "f16"),
        order="hilbert, grid = [5, 6, 9]",
        key_order="hilbert, grid = [5, 6, 9]",
    ),
    # Block masks: tiles within a block, and others.
    Case(ALL + masked(128, 128), 300, 2, blocks=(128, 128)),
    Case(TWO + " causal" + masked(24, 40), 260, 2, blocks=(24, 40)),
    Case(ALL + masked(32, 32) + along("hilbert, grid = [16, 16]"), 256, blocks=(32, 32)),
    # Packed sequences, empty ones among them, and rows of none.
    Case(
        *("branches [<w = 100, r = 3>, <w = *, r = 1>] causal" + PACKED, 333, 4),
        starts=((0, 0, 130, 131, 290), (0, 70, 70, 260, 333)),
    ),
    Case(
        *(TWO + PACKED, 260, 2, 64, "f16", 1),
        starts=((0, 200, 260), (0, 33, 250)),
    ),
    Case(
        *(UNION + PACKED, 333, 4),
        starts=((0, 0, 130, 131, 290), (0, 70, 70, 260, 333)),
    ),
    # Padded sequences of several lengths in memory orders: lengths count tokens.
    Case(
        *(ALL + " causal" + PADDED, 256, 2),
        order="morton, grid = [16, 16]",
        key_order="hilbert, grid = [8, 16], chunk = 128",
        lengths=((256, 0, 101), (190, 77, 256)),
    ),
    Case(
        *("branches [<w = 100, r = 2>, <w = *, r = 6>]" + PADDED, 240, 4, 64, "f16", 2),
        order="residue<2>, chunk = 100",
        key_order="residue<2>, chunk = 100",
        lengths=((33, 240), (240, 130)),
    ),
    # Sequences along curves, each from its own beginning: rows and positions from
    # tables that a kernel writes. What other sequences hold is nobody's business.
    Case(
        *(TWO + " causal" + PACKED + along("hilbert, grid = [16, 16]"), 500, 2),
        starts=((0, 0, 130, 131, 290), (0, 70, 70, 260, 440)),
        poisoned=range(440, 500),
    ),
    Case(
        *(FEW + PACKED + along("snake, grid = [9, 30]"), 333, 4, 64, "f16"),
        starts=((0, 200, 333), (0, 100, 290)),
        poisoned=range(0, 100),
    ),
    Case(
        *(ALL + " window = [90, 20]" + PADDED + along("morton, grid = [4, 8, 8]"), 256),
        lengths=((256, 0, 101), (190, 77, 256)),
    ),
    Case(
        *(TWO + PADDED + along("residue<3>, chunk = 240"), 240, 2, 128),
        lengths=((240, 33), (130, 33)),
        poisoned=range(130, 240),
    ),
    # Near cells of each sequence's own grid.
    Case(
        *(ALL + PACKED + near([12, 25], [2, 3]), 300, 2),
        starts=((0, 130, 290), (0, 140, 300)),
    ),
    Case(
        *(ALL + PADDED + near([5, 6, 9], [1, 2, 1]) + along("hilbert, grid = [5, 6, 9]"),),
        *(270, 1, 64, "f16"),
        lengths=((270, 100, 0), (270, 111, 5)),
    ),
    # A block mask for each sequence alike.
    Case(
        *(TWO + " causal" + PACKED + masked(24, 40), 260, 2),
        blocks=(24, 40),
        starts=((0, 100, 230), (0, 110, 260)),
    ),
    Case(
        *(ALL + PADDED + masked(32, 32) + along("hilbert, grid = [16, 16]"), 256, 2),
        blocks=(32, 32),
        lengths=((200, 31), (256, 40)),
    ),
    # Packed sequences in memory orders, which begin anew with each of them.
    Case(
        *(TWO + PACKED, 500, 2),
        order="hilbert, grid = [8, 16], chunk = 128",
        key_order="morton, grid = [8, 8], chunk = 64",
        starts=((0, 256, 390, 500), (0, 64, 256, 330)),
        poisoned=range(330, 500),
    ),
    Case(
        *("branches [<w = 100, r = 2>, <w = *, r = 6>] causal" + PACKED, 333, 4),
        order="residue<2>, chunk = 100",
        key_order="residue<2>, chunk = 100",
        starts=((0, 100, 100, 333), (0, 33, 40, 333)),
    ),
    Case(
        *(ALL + PACKED, 260, 2, 64, "f16"),
        key_order="linear, chunk = 50",
        starts=((0, 61, 260), (0, 130, 260)),
    ),
    # Few queries over many keys: heads of a group in one tile, keys in parts.
    Case(ALL, 300, 8, 128, key_heads=2, queries=1),
    Case(ALL + " causal", 2100, 4, 64, "f16", queries=5),
    Case(ALL + " causal window = [700, -1]", 1500, 6, 72, key_heads=2, value_dim=40, queries=8),
    Case("branches [<w = 256, r = 1>, <w = *, r = 3>] causal", 1200, 4, 64, queries=3),
    Case(ALL + masked(4, 64), 1100, 4, 64, blocks=(4, 64), queries=7),
    Case(
        *(ALL + " causal" + PADDED, 1300, 4, 64, "f16", 2),
        queries=4,
        lengths=((4, 0, 1), (1300, 77, 1)),
    ),
    Case(ALL + " causal", 1500, 8, 128, key_heads=2, queries=2, **LAZY),
    # Keys in pages: that tiles divide, that divide tiles, and others.
    Case(ALL + " causal" + PAGES, 320, 2, 64, page=64),
    Case(
        *(ALL + " causal" + PADDED + PAGES, 1280, 8, 128, "bf16", 2),
        page=16,
        queries=4,
        lengths=((4, 0, 1), (1280, 77, 1)),
    ),
    Case(
        *("branches [<w = 256, r = 1>, <w = *, r = 3>] causal" + PADDED + PAGES, 1400, 4),
        page=100,
        queries=3,
        lengths=((3, 3), (1111, 640)),
    ),
    Case(
        *(UNION + " causal" + PADDED + PAGES, 336, 4, 64, "f16", 2),
        page=7,
        lengths=((300, 336), (333, 100)),
    ),
    Case(
        *(ALL + " window = [90, 20]" + PACKED + PAGES, 192, 4, 72, "f16", 2),
        page=32,
        starts=((0, 0, 130, 131, 192), (0, 70, 70, 260, 333)),
    ),
    Case(ALL + " causal" + PAGES, 384, 8, 128, key_heads=2, page=128, target="sm_90a"),
    # Keys that begin later.
    Case(ALL + " causal" + BEGINS, 300, 2, 64, begins=(0, 77, 300)),
    Case(
        *("branches [<w = 64, r = 2>]" + PADDED + BEGINS, 200, 4, 72, "f16", 2),
        lengths=((200, 150), (131, 200)),
        begins=(20, 65),
    ),
    Case(
        *(ALL + " causal" + BEGINS, 1500, 8, 128),
        key_heads=2,
        queries=2,
        begins=(1, 1100),
    ),
    Case(
        *(ALL + " causal" + PADDED + PAGES + BEGINS, 1280, 8, 128, "bf16", 2),
        page=16,
        queries=4,
        lengths=((4, 0, 1), (1280, 77, 640)),
        begins=(512, 3, 77),
    ),
    *narrow.cases(Case),
    *precisions.cases(Case),
]


def spread(case, draw) -> tuple:
    """A table of pages, the pages of each sequence in any order, and the rows of the
    pool that count."""
    counts = [case.rows]
    if case.lengths:
        counts = case.lengths[1]
    if case.starts:
        ends = case.starts[1]
        counts = [min(end - begin, case.rows) for begin, end in zip(ends, ends[1:])]
    of_each = case.rows // case.page
    order = list(range(len(counts) * of_each + 2))
    draw.shuffle(order)
    table, counted = [], set()
    for count, begin in itertools.zip_longest(counts, case.begins, fillvalue=0):
        for number in range(of_each):
            page, before = order.pop(), number * case.page
            rows = range(max(begin - before, 0), min(count - before, case.page))
            counted |= {page * case.page + row for row in rows}
            table.append(page if rows else draw.choice([-1, 2**31 - 1, -(2**31)]))
    return (len(counts), of_each), table, counted


def write_inputs(case, path) -> None:
    """q, k and v of a normal distribution, as .safetensors."""
    draw = random.Random(case.name)
    if case.page:
        table_shape, table, counted = spread(case, draw)
    shapes = {
        "q": (case.heads, case.dim),
        "k": (case.key_heads, case.dim),
        "v": (case.key_heads, case.value_dim or case.dim),
    }
    tensors = []
    for name, (heads, dim) in shapes.items():
        rows = case.queries if name == "q" and case.queries else case.rows
        shape = (*case.batch, rows, heads, dim)
        if name != "q" and case.page:
            shape = (len(table) + 2, case.page, heads, dim)
        numbers = [draw.gauss(0, 1) for _ in range(math.prod(shape))]
        if name != "q":
            row = heads * dim
            for at in range(len(numbers)) if case.poisoned else ():
                if at // row % case.rows in case.poisoned:
                    numbers[at] = math.nan
            for at in range(len(numbers)) if case.begins and not case.page else ():
                sequence, place = divmod(at // row, case.rows)
                if place < case.begins[sequence]:
                    numbers[at] = math.nan
            for at in range(len(numbers)) if case.page else ():
                if at // row not in counted:
                    numbers[at] = math.nan
        dtype = case.narrow if case.narrow and name != "q" else case.dtype
        if dtype == "i8":
            numbers = [each * 32 for each in numbers]
        content = safetensors_file.encode(dtype, numbers)
        if case.every_byte and name != "q":
            row = heads * dim
            content = bytes((at // row + 5 * (at % row)) % 256 for at in range(len(content)))
            if name == "k":
                content = bytes(0 if each & 0x7F == 0x7F else each for each in content)
        tensors.append((name, dtype, shape, content))
    if case.blocks:
        count = math.prod(case.mask_shape)
        content = safetensors_file.encode("i1", [draw.random() < 0.5 for _ in range(count)])
        tensors.append(("mask", "i1", case.mask_shape, content))
    for name, numbers in case.lists.items():
        content = safetensors_file.encode("i64", numbers)
        tensors.append((name, "i64", (len(numbers),), content))
    if case.page:
        content = safetensors_file.encode("i32", table)
        tensors.append(("pages", "i32", table_shape, content))
    if case.begins:
        content = safetensors_file.encode("i32", case.begins)
        tensors.append(("k_begins", "i32", (len(case.begins),), content))
    for name in ("k_scale", "v_scale") if case.scales else ():
        shape = case.scale_shape
        unit = 1 / 32 if case.narrow == "i8" else 1
        numbers = [draw.uniform(0.5, 1.5) * draw.choice([unit, -unit]) for _ in range(99)]
        numbers = numbers[: math.prod(shape)]
        tensors.append((name, "f32", shape, safetensors_file.encode("f32", numbers)))
    safetensors_file.write(path, tensors)


def do(*command, **options) -> str:
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        said = done.stdout + done.stderr
        raise RuntimeError(f"{' '.join(map(str, command))}:\n{said}")
    return done.stdout


def build_emulator(options) -> list:
    """The objects of a libcuda that runs blocks."""
    objects = []
    for source in ("Block", "Device", "Memory"):
        objects.append(options.work / f"{source}.o")
        do(
            *(options.cxx, "-std=c++17", "-O2", "-fPIC", "-Wall", "-Wextra"),
            *("-c", HERE / f"{source}.cpp", "-o", objects[-1]),
        )
    return objects


def write_assembler(path) -> None:
    """A ptxas that makes a cubin without kernels: no GPU gets it here, and kernels
    do not change for what would spill, as they do not where LLVM IR is written."""
    header = bytearray(64)
    header[:7], header[18] = b"\x7fELF\2\1\1", 190
    cubin = path.with_suffix(".cubin")
    cubin.write_bytes(header)
    path.write_text(f"#!/bin/sh\nwhile [ $# -gt 2 ]; do shift; done\ncp {cubin} $1\n")
    path.chmod(0o755)


def build(source, target, recipe, scheduled, folder, emulator, options) -> tuple:
    """Compiles a file for a GPU: the artefact, and the environment in which its
    kernels, but the scheduled ones, run on the CPU."""
    artefact = folder / "graph.rla"
    compiler = options.build / "bin/ringlet-compile"
    common = source, f"--target={target}", f"--recipe={recipe}"
    write_assembler(folder / "ptxas")
    do(compiler, *common, f"--ptxas={folder / 'ptxas'}", "-o", artefact)
    module, left_out = host_code.translate(do(compiler, *common, "--emit=llvm"))
    # Sets for few queries may have scheduled kernels, too.
    others = [name for name in left_out if not scheduled or "_parts" not in name]
    if others != scheduled:
        raise RuntimeError(f"expected to leave out {scheduled}, found {left_out}")
    (folder / "kernels.ll").write_text(module)
    code = folder / "kernels.o"
    do(
        *("llc", "-O1", "-mcpu=x86-64-v3", "-relocation-model=pic"),
        *("-filetype=obj", folder / "kernels.ll", "-o", code),
    )
    library = folder / "libcuda.so"
    do(options.cxx, "-shared", *emulator, code, "-o", library)
    environment = dict(os.environ)
    environment["RINGLET_CUDA_LIBRARY"] = str(library)
    environment["RINGLET_EMULATED_ARCH"] = target[3:].rstrip("a")
    return artefact, environment


def run(case, number, emulator, options, inputs=None) -> str:
    """What the check says of it, of its own inputs or those of another case."""
    folder = options.work / str(number)
    folder.mkdir(parents=True, exist_ok=True)
    graph = folder / "graph.mlir"
    graph.write_text(case.text)
    kernels = ["union", "union_rows1"] if case.attributes == CUT else ["branch0"]
    scheduled = [f"rl_attend_attention0_{kernel}" for kernel in kernels]
    if case.recipe == "plain":
        scheduled = []
    artefact, environment = build(
        *(graph, case.target, case.recipe, scheduled, folder, emulator, options)
    )
    write_inputs(inputs or case, folder / "in.safetensors")
    return do(
        *(options.build / "bin/ringlet-run", artefact, "--driver=cuda", "--check"),
        f"--in={folder / 'in.safetensors'}",
        env=environment,
    )


def report(results) -> int:
    """Calls the second of each pair and prints what it gives, if anything; 1 if
    one of them raised RuntimeError."""
    failed = 0
    for name, result in results:
        try:
            given = result()
            print(f"passed: {name}" + (f": {given}" if given else ""))
        except RuntimeError as error:
            failed += 1
            print(f"FAILED: {name}\n{error}")
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


def make_parser(doc: str) -> argparse.ArgumentParser:
    """Of the options that tests with an emulator take."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--cxx", required=True)
    return parser


def parse(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The options, of which the folder exists from now on."""
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    return options


def main() -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--only", type=int, help="number of the case")
    options = parse(parser)
    emulator = build_emulator(options)
    cases = CASES if options.only is None else [CASES[options.only]]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = [
            pool.submit(run, case, number, emulator, options)
            for number, case in enumerate(cases)
        ]
        results = [
            (case.name, lambda each=each: each.result() and "")
            for case, each in zip(cases, runs)
        ]
        return report(results)


if __name__ == "__main__":
    sys.exit(main())
