# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products on a GPU beside torch's, which are cuBLAS's.

A kernel is written by hand as plain `rtile`: a loop over the depth, with a load
of either operand and a product. Its author has chosen the tile; roles, slots of
channels and the order of tiles are the compiler's.
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
import random
import re

import gpu_suite
import results

PEER = "cuBLAS in torch"
NORM_PEER = "rms_norm and cuBLAS in torch"


@dataclasses.dataclass(frozen=True)
class Tile:
    """Of the result, and the depth of a step."""

    rows: int
    columns: int
    depth: int = 64

    @property
    def name(self) -> str:
        return f"{self.rows}x{self.columns}"


# Columns of a part of the result that an epilogue works on: what it needs beside the
# sums has to fit in registers.
PART = 64
# Columns that the sums of squares of a row are folded to: they stay in their threads.
FOLD = 8
EPSILON = 1e-5
SCALE = -2 * math.sqrt(2 / math.pi) / math.log(2)

WIDE, TALL, LARGE = Tile(128, 256), Tile(256, 128), Tile(256, 192)


@dataclasses.dataclass(frozen=True)
class Case:
    """C = A @ B of bf16, A [m, k]; B is [k, n], or its transpose is [n, k].
    `epilogue` is what the kernel does beside; the peer is the product alone. With
    `norm`, C = A / sqrt(mean(A * A) + EPSILON) * g @ B in one kernel, with a mean for
    each row of A and g of f32; the peer is a kernel for the norm and the product."""

    m: int
    n: int
    k: int
    tile: Tile = WIDE
    out: str = "bf16"
    transposed: bool = False
    epilogue: str = ""
    norm: bool = False

    @property
    def name(self) -> str:
        words = [f"matmul {self.m} x {self.n} x {self.k} bf16"]
        if self.out != "bf16":
            words.append(f"to {self.out}")
        if self.transposed:
            words.append("transposed")
        if self.epilogue:
            words.append(self.epilogue)
        if self.norm:
            words.append("behind an RMS norm")
        return " ".join(words)

    @property
    def flops(self) -> int:
        return 2 * self.m * self.n * self.k

    @property
    def peer(self) -> str:
        return NORM_PEER if self.norm else PEER

    @property
    def vectors(self) -> list:
        """Names of the parameters of f32 that are no matrices."""
        return (["g"] if self.norm else []) + (["bias"] if self.epilogue else [])

    @property
    def goal(self) -> dict:
        """Of the speed beside the peer."""
        if self.norm:
            return {"at_least": 1.0, "aim": 1.1}
        known = self.m % 1024 == 0 and self.n % 1024 == 0 and self.k % 1024 == 0
        return {"at_least": 0.85, "aim": 0.95} if known else {"at_least": 0.8, "aim": 0.9}


def all_cases() -> list:
    return [
        Case(8192, 8192, 8192),
        Case(8192, 8192, 8192, transposed=True),
        Case(8192, 8192, 8192, out="f32"),
        Case(8192, 8192, 8192, epilogue="bias + GELU"),
        Case(4096, 4096, 16384),
        Case(8192, 8192, 256, norm=True),
        Case(8192, 8192, 4096, norm=True),
        Case(1000, 8192, 8192, tile=TALL),
        Case(1000, 4104, 8200, tile=TALL),
        Case(4104, 4104, 4104, tile=LARGE),
        Case(8200, 8184, 4088, tile=LARGE),
    ]


def chosen(pattern: str) -> list:
    return [case for case in all_cases() if re.search(pattern, case.name)]


def gelu_text(case: Case, part: int, sums: str) -> str:
    """Of columns 64 * part and further: x / (1 + 2^(c (x + 0.044715 x^3))), which is
    GELU by tanh, of x = sum + bias, with c = -2 sqrt(2 / pi) / ln 2. The quotient
    need not be rounded right: the result is rounded to fewer digits."""
    p = f"_{part}"
    return f"""
  %place{p} = arith.constant {part * PART} : index
  %column{p} = arith.addi %column, %place{p} : index
  %sum{p} = rtile.slice %sum[{part * PART}] : tensor<{case.tile.rows}x{case.tile.columns}xf32> -> {sums}
  %bias{p} = rtile.load %bias_view[%column{p}] : !rtile.view<{PART}xf32>
  %wide{p} = rtile.broadcast %bias{p} columns : tensor<{PART}xf32> -> {sums}
  %x{p} = arith.addf %sum{p}, %wide{p} : {sums}
  %square{p} = arith.mulf %x{p}, %x{p} : {sums}
  %scaled{p} = arith.mulf %square{p}, %cubic : {sums}
  %factor{p} = arith.addf %scaled{p}, %scale : {sums}
  %exponent{p} = arith.mulf %factor{p}, %x{p} : {sums}
  %power{p} = math.exp2 %exponent{p} : {sums}
  %divisor{p} = arith.addf %power{p}, %one : {sums}
  %result{p} = arith.divf %x{p}, %divisor{p} fastmath<afn> : {sums}
"""


def store_text(case: Case, value: str, columns: int, column: str) -> str:
    sums = f"tensor<{case.tile.rows}x{columns}xf32>"
    kind = f"{case.tile.rows}x{columns}x{case.out}"
    text = ""
    if case.out != "f32":
        narrow = "%narrow" + value[1:]
        text = f"  {narrow} = arith.truncf {value} : {sums} to tensor<{kind}>\n"
        value = narrow
    return f"{text}  rtile.store {value}, %c_view[%row, {column}] : !rtile.view<{kind}>\n"


def norm_text(case: Case) -> str:
    """Divides the sums by the norms of their rows, from sums of squares."""
    rows, sums = case.tile.rows, f"tensor<{case.tile.rows}x{case.tile.columns}xf32>"
    vector = f"tensor<{rows}xf32>"
    return f"""  %width = arith.constant dense<{case.k}.0> : {vector}
  %epsilon = arith.constant dense<{EPSILON:e}> : {vector}
  %squares = rtile.reduce sum %folded : tensor<{rows}x{FOLD}xf32>
  %mean = arith.divf %squares, %width : {vector}
  %not_zero = arith.addf %mean, %epsilon : {vector}
  %norm = math.sqrt %not_zero : {vector}
  %norm_wide = rtile.broadcast %norm : {vector} -> {sums}
  %normed = arith.divf %sum, %norm_wide : {sums}
"""


def epilogue_text(case: Case) -> str:
    """What becomes of %sum."""
    if case.norm:
        return norm_text(case) + store_text(case, "%normed", case.tile.columns, "%column")
    if not case.epilogue:
        return store_text(case, "%sum", case.tile.columns, "%column")
    sums = f"tensor<{case.tile.rows}x{PART}xf32>"
    text = f"""  %one = arith.constant dense<1.0> : {sums}
  %scale = arith.constant dense<{SCALE!r}> : {sums}
  %cubic = arith.constant dense<{SCALE * 0.044715!r}> : {sums}
"""
    for part in range(case.tile.columns // PART):
        text += gelu_text(case, part, sums)
        text += store_text(case, f"%result_{part}", PART, f"%column_{part}")
    return text


def left_text(case: Case) -> str:
    """What is made of %loaded for the product."""
    if not case.norm:
        return ""
    tile = case.tile
    narrow, wide = (f"tensor<{tile.rows}x{tile.depth}x{dtype}>" for dtype in ("bf16", "f32"))
    vector, folded = f"tensor<{tile.depth}xf32>", f"tensor<{tile.rows}x{FOLD}xf32>"
    return f"""
    %exact = arith.extf %loaded : {narrow} to {wide}
    %square = arith.mulf %exact, %exact : {wide}
    %more = rtile.fold %square : {wide} -> {folded}
    %folded_after = arith.addf %folded_before, %more : {folded}
    %weights = rtile.load %g_view[%i] : !rtile.view<{tile.depth}xf32>
    %weights_wide = rtile.broadcast %weights columns : {vector} -> {wide}
    %weighted = arith.mulf %exact, %weights_wide : {wide}
    %left = arith.truncf %weighted : {wide} to {narrow}"""


def loop_text(case: Case) -> str:
    tile = case.tile
    left, sums = f"{tile.rows}x{tile.depth}xbf16", f"tensor<{tile.rows}x{tile.columns}xf32>"
    right = f"{tile.columns}x{tile.depth}" if case.transposed else f"{tile.depth}x{tile.columns}"
    place = "%column, %i" if case.transposed else "%i, %column"
    folded = f"tensor<{tile.rows}x{FOLD}xf32>"
    carried = {"%sum": ("%before", "%zero", "%after", sums)}
    if case.norm:
        carried["%folded"] = ("%folded_before", "%no_squares", "%folded_after", folded)
    befores = ", ".join(f"{before} = {zero}" for before, zero, _, _ in carried.values())
    types = ", ".join(kind for *_, kind in carried.values())
    return f"""  {", ".join(carried)} = scf.for %i = %c0 to %depth step %step
      iter_args({befores}) -> ({types}) {{
    {"%loaded" if case.norm else "%left"} = rtile.load %a_view[%row, %i] : !rtile.view<{left}>{left_text(case)}
    %right = rtile.load %b_view[{place}] : !rtile.view<{right}xbf16>
    %after = rtile.dot %left, %right {"transposed " if case.transposed else ""}init(%before)
        : tensor<{left}>, tensor<{right}xbf16> -> {sums}
    scf.yield {", ".join(after for _, _, after, _ in carried.values())} : {types}
  }}
"""


def views_text(case: Case) -> str:
    widths = {"g": case.tile.depth, "bias": PART}
    return "".join(
        f"\n  %{name}_view = rtile.view %{name}[*] : !vector to !rtile.view<{widths[name]}xf32>"
        for name in case.vectors
    )


def text_of(case: Case) -> str:
    """The kernel and the plan that launches it."""
    tile = case.tile
    left, sums = f"{tile.rows}x{tile.depth}xbf16", f"tensor<{tile.rows}x{tile.columns}xf32>"
    right = f"{tile.columns}x{tile.depth}" if case.transposed else f"{tile.depth}x{tile.columns}"
    parts = PART if case.epilogue else tile.columns
    vectors = "".join(f", %{name}: !vector" for name in case.vectors)
    arguments = "".join(f", %{name}" for name in case.vectors)
    names = "".join(f', "{name}"' for name in case.vectors)
    types = ", ".join(["!matrix", "!matrix", *["!vector" for _ in case.vectors], "!result"])
    n, k = (0, 1) if case.transposed else (1, 0)
    no_squares = (
        f"\n  %no_squares = arith.constant dense<0.0> : tensor<{tile.rows}x{FOLD}xf32>"
        if case.norm
        else ""
    )
    # The mean is of as many numbers as the constant of `norm_text` says.
    depth = (
        f"""  %k = arith.constant {case.k} : index
  rplan.require eq %depth, %k, "expected a depth of {case.k}"
"""
        if case.norm
        else ""
    )
    return f"""
!matrix = memref<?x?xbf16, strided<[?, 1]>>
!result = memref<?x?x{case.out}, strided<[?, 1]>>
!vector = memref<?xf32, strided<[1]>>

rtile.func @matmul_tile(%a: !matrix, %b: !matrix{vectors}, %c: !result)
    grid(%tile_row: index, %tile_column: index) recipe = "pipelined" {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %step = arith.constant {tile.depth} : index
  %rows = arith.constant {tile.rows} : index
  %columns = arith.constant {tile.columns} : index
  %zero = arith.constant dense<0.0> : {sums}{no_squares}
  %a_view = rtile.view %a[*, *] : !matrix to !rtile.view<{left}>
  %b_view = rtile.view %b[*, *] : !matrix to !rtile.view<{right}xbf16>
  %c_view = rtile.view %c[*, *] : !result to !rtile.view<{tile.rows}x{parts}x{case.out}>{views_text(case)}
  %row = arith.muli %tile_row, %rows : index
  %column = arith.muli %tile_column, %columns : index
  %depth = memref.dim %a, %c1 : !matrix
{loop_text(case)}{epilogue_text(case)}  rtile.return
}}

rplan.func @matmul(%a: !matrix, %b: !matrix{vectors}) outputs(%c: !result)
    names ["a", "b"{names}, "result0"] {{
  %rows = rplan.size %a[0] : !matrix
  %depth = rplan.size %a[1] : !matrix
  %b_depth = rplan.size %b[{k}] : !matrix
  %columns = rplan.size %b[{n}] : !matrix
  %c_rows = rplan.size %c[0] : !result
  %c_columns = rplan.size %c[1] : !result
  rplan.require eq %b_depth, %depth, "expected one depth of both operands"
  rplan.require eq %c_rows, %rows, "expected result0 to have the rows of a"
  rplan.require eq %c_columns, %columns, "expected result0 to have the columns of b"
{depth}  %tile_rows = arith.constant {tile.rows} : index
  %tile_columns = arith.constant {tile.columns} : index
  %grid_rows = arith.ceildivsi %rows, %tile_rows : index
  %grid_columns = arith.ceildivsi %columns, %tile_columns : index
  rplan.launch @matmul_tile grid(%grid_rows, %grid_columns)
      args(%a, %b{arguments}, %c) : {types}
  rplan.return
}}
"""


def artefact(folder, case: Case, target: str) -> pathlib.Path:
    words = f"{case.name} {case.tile.name} {target}"
    return gpu_suite.artefact_of(folder, words)


def prepare(options) -> int:
    folder = pathlib.Path(options.prepare)
    folder.mkdir(parents=True, exist_ok=True)
    for case in chosen(options.only):
        for target in options.target.split(","):
            path = artefact(folder, case, target)
            gpu_suite.compile_text(options, target, path, text_of(case))
    return 0


def error_of(case: Case, a, b, vectors, out) -> float:
    """Of sampled rows, in f64, relative to their norm. NaN never passes."""
    import torch

    rows = torch.randint(0, case.m, (64,), device="cuda")
    rows[0], rows[-1] = 0, case.m - 1
    left = a[rows].double()
    if case.norm:
        squares = left.pow(2).mean(1, keepdim=True)
        left = left * vectors["g"].double() / (squares + EPSILON).sqrt()
    expected = left @ b.double()
    if case.epilogue:
        expected = torch.nn.functional.gelu(expected + vectors["bias"], approximate="tanh")
    return float((out[rows].double() - expected).norm() / expected.norm())


def measure(case: Case, target: str, program, options) -> dict:
    import torch

    def random_matrix(rows, columns):
        return torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16)

    wide = {"bf16": torch.bfloat16, "f32": torch.float32}[case.out]
    a = random_matrix(case.m, case.k)
    stored = random_matrix(case.n, case.k) if case.transposed else random_matrix(case.k, case.n)
    b = stored.t() if case.transposed else stored
    vectors = {
        name: torch.randn({"g": case.k, "bias": case.n}[name], device="cuda")
        for name in case.vectors
    }
    out = torch.full((case.m, case.n), torch.nan, device="cuda", dtype=wide)
    inputs = [a, stored, *vectors.values()]
    narrow = vectors["g"].bfloat16() if case.norm else None

    def peer():
        left = a
        if case.norm:
            left = torch.nn.functional.rms_norm(a, (case.k,), narrow, EPSILON)
        return torch.mm(left, b) if case.out == "bf16" else torch.mm(left, b, out_dtype=wide)

    calls = {"": program.bound(*inputs, out), case.peer: peer}
    calls[""]()
    torch.cuda.synchronize()
    error = error_of(case, a, b, vectors, out)
    if not error <= 1e-2 or out.isnan().any():
        raise SystemExit(f"{case.name}, {target}: wrong result, error {error:.2e}")
    times = {name: [] for name in calls}
    for _ in range(options.repeat):
        for name in random.sample(list(calls), len(calls)):
            calls[name]()  # warms caches and clocks the same for all
            times[name].append(gpu_suite.time_of(calls[name], options.burst))
    result = results.beside(
        f"{case.name}, {target}", times[""], case.peer, times[case.peer], gpu_suite.DIGITS
    )
    result |= {
        "tile": case.tile.name,
        "gflops": round(case.flops / result["value"] / 1e6),
        "error": float(f"{error:.2e}"),
        **case.goal,
    }
    print(
        "{name:56} {tile:8} {value:9.3f} ms   {peer} {peer_value:9.3f} ms   "
        "{speedup:5.2f}x   error {error:.1e}".format(**result),
        flush=True,
    )
    return result


def run(options) -> int:
    import torch

    context, library = gpu_suite.open_context(options)
    torch.manual_seed(1)
    random.seed(1)
    found, compilers = [], set()
    for case in chosen(options.only):
        for target in options.target.split(","):
            path = artefact(options.programs, case, target)
            program = gpu_suite.Program(library, context, path)
            compilers.add(program.compiler)
            found.append(measure(case, target, program, options))
    gpu_suite.write_result(
        options,
        {
            "title": "matrix products",
            **gpu_suite.describe(options, ", ".join(sorted(compilers))),
            "cases": found,
        },
    )
    return 0
