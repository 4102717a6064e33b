# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention in several orders, beside what was published for them.

K and V lie in the order, or tiles of a grid are counted along it.

One program an order, the same inputs for all of them, in turn and in random
sequence. The result of each is compared with that of the linear order. `--prepare`
compiles where the compiler is; `--programs` times on a GPU without one.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import pathlib
import random
import re
import shlex
import statistics
import subprocess
import sys
import time

# Speed-ups that were published for Hilbert orders of 1-D sequences, and how much
# fewer cache lines they were said to touch.
SOURCE = (
    "https://github.com/DarcStar-Solutions-Tech/dilated-attention-pytorch/blob/"
    "8f549406de00e80738dc14f504ad9eae5e05753c/docs/guides/"
    "hilbert-ring-attention-guide.md"
)
PUBLISHED = {
    (8192, 2): (1.33, 0.28),
    (16384, 4): (1.37, 0.35),
    (32768, 8): (1.43, 0.42),
    (65536, 16): (1.54, 0.48),
}

# Of ringlet-compile: no order but the one that is measured.
OPTIONS = ["--order=linear"]

# Of the largest element of the result in linear order.
TOLERANCE = {"f32": 2e-5, "bf16": 2e-2}


@dataclasses.dataclass(frozen=True)
class Case:
    """One branch of one batch item; segment is None for unbounded ones.

    tiling  rows of the tiles of queries and of keys; None leaves the choice
    """

    length: int
    dilation: int
    segment: int | None = None
    heads: int = 4
    dim: int = 64
    dtype: str = "f32"
    tiling: tuple | None = None

    @property
    def name(self) -> str:
        segment = "*" if self.segment is None else self.segment
        return (
            f"S{self.length} w {segment} r {self.dilation} H{self.heads} "
            f"D{self.dim} {self.dtype}"
        )

    @property
    def orders(self) -> dict:
        """Memory orders of K and V, by name; None is the linear one."""
        side = 64 if self.length < 100_000 else 128
        grid = f"grid = [{side}, {side}]"
        if self.length != side * side:
            grid += f", chunk = {side * side}"
        found = {"linear": None}
        if self.dilation > 1:
            found["residue"] = f"residue<{self.dilation}>"
        for curve in ("hilbert", "morton", "snake"):
            found[curve] = f"{curve}, {grid}"
        return found

    @property
    def is_in_memory(self) -> bool:
        """Whether K and V lie in the order, rather than be walked along it."""
        return True

    def tensor(self, order: str | None = None) -> str:
        layout = f", #rlayout.layout<order = #rlayout.order<{order}>>" if order else ""
        return f"tensor<1x{self.length}x{self.heads}x{self.dim}x{self.dtype}{layout}>"

    def text(self, order: str | None) -> str:
        """The attention of K and V in that order."""
        q, k = self.tensor(), self.tensor(order)
        lse = f"tensor<1x{self.heads}x{self.length}xf32>"
        segment = "*" if self.segment is None else self.segment
        tilings = ""
        if self.tiling:
            rows = "query = {}, key = {}".format(*self.tiling)
            tilings = f"tilings = [#ringlet.tiling<{rows}>]"
        return f"""
func.func @attend(%q: {q}, %k: {k}, %v: {k}) -> ({q}, {lse}) {{
  %o, %lse = ringlet.attention %q, %k, %v
      branches [<w = {segment}, r = {self.dilation}>] {tilings}
      : ({q}, {k}, {k}) -> ({q}, {lse})
  return %o, %lse : {q}, {lse}
}}
"""

    def reordering(self, order: str) -> str:
        """What brings a tensor into that order."""
        return f"""
func.func @reorder(%x: {self.tensor()}) -> {self.tensor(order)} {{
  %y = ringlet.reorder %x : {self.tensor()} to {self.tensor(order)}
  return %y : {self.tensor(order)}
}}
"""

    def programs(self) -> dict:
        """The text of everything that is run, by name."""
        found = {}
        for name, order in self.orders.items():
            found[name] = self.text(order)
            if order and self.is_in_memory:
                found[f"to {name}"] = self.reordering(order)
        return found


@dataclasses.dataclass(frozen=True)
class GridCase(Case):
    """A window on a grid, whose tiles are counted along an order (O2)."""

    grid: tuple = ()
    reach: int = 0

    @staticmethod
    def of(grid, reach, **size) -> GridCase:
        return GridCase(math.prod(grid), 1, grid=grid, reach=reach, **size)

    @property
    def name(self) -> str:
        sides = " x ".join(map(str, self.grid))
        return f"{sides} reach {self.reach} H{self.heads} D{self.dim} {self.dtype}"

    @property
    def orders(self) -> dict:
        curves = ("hilbert", "morton", "snake")
        grid = f"grid = {list(self.grid)}"
        return {"linear": None, **{curve: f"{curve}, {grid}" for curve in curves}}

    @property
    def is_in_memory(self) -> bool:
        return False

    def text(self, order: str | None) -> str:
        q, lse = self.tensor(), f"tensor<1x{self.heads}x{self.length}xf32>"
        reach = [self.reach] * len(self.grid)
        along = f"pattern_order = <{order}>" if order else ""
        return f"""
func.func @attend(%q: {q}, %k: {q}, %v: {q}) -> ({q}, {lse}) {{
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = *, r = 1>]
      grid_window = <grid = {list(self.grid)}, reach = {reach}> {along}
      : ({q}, {q}, {q}) -> ({q}, {lse})
  return %o, %lse : {q}, {lse}
}}
"""


def all_cases(on_gpu: bool) -> list[Case]:
    """The published pairs, and others from 8K to 1M and from 1 to 64."""
    if on_gpu:
        size = {"heads": 16, "dim": 128, "dtype": "bf16"}
    else:
        size = {"heads": 4, "dim": 64, "dtype": "f32"}
    cases = [Case(length, rate, **size) for length, rate in PUBLISHED]
    cases += [
        Case(8192, 1, **size),
        Case(8192, 64, **size),
        Case(131072, 16, **size),
        Case(131072, 4, 8192, **size),
        Case(1048576, 64, 65536, **size),
    ]
    if on_gpu:
        cases += [Case(1048576, 1, 8192, **size), Case(65536, 1, **size)]
    # Rows so short that tokens share a line: where an order can save lines.
    small = {"heads": 1, "dim": 16, "dtype": size["dtype"]}
    cases += [Case(65536, 4, 16384, **small)]
    grids = [((128, 128), 1), ((128, 128), 4), ((128, 128), 8), ((32, 32, 32), 4)]
    if on_gpu:
        grids += [((256, 256), 8), ((512, 512), 16)]
    size["dim"] = 64
    return cases + [GridCase.of(grid, reach, **size) for grid, reach in grids]


def chosen(options, on_gpu: bool) -> list[Case]:
    found = [c for c in all_cases(on_gpu) if re.search(options.only, c.name)]
    if not found:
        names = "\n  ".join(each.name for each in all_cases(on_gpu))
        raise SystemExit(f"expected --only to match one of\n  {names}")
    return found


class OnCpu:
    """Programs are compiled here; tensors are numpy's."""

    def __init__(self, options):
        import numpy
        import ringlet

        build = pathlib.Path(options.build)
        ringlet.configure(
            runtime=build / "lib/libringlet_runtime.so.1",
            compiler=build / "bin/ringlet-compile",
        )
        self.numpy, self.ringlet, self.options = numpy, ringlet, options
        self.context = ringlet.Context(threads=options.threads)
        self.generator = numpy.random.default_rng(1)
        self.versions = {"numpy": numpy.__version__}

    def load(self, case, name, text):
        program = self.ringlet.compile(
            text, self.options.target, options=OPTIONS, context=self.context
        )
        self.versions |= {"ringlet": program.compiler, "code": program.target}
        return program

    def random(self, case):
        shape = (1, case.length, case.heads, case.dim)
        return self.generator.standard_normal(shape, dtype="f4")

    def empty(self, case):
        return self.numpy.empty((1, case.length, case.heads, case.dim), "f4")

    def lse(self, case):
        return self.numpy.empty((1, case.heads, case.length), "f4")

    def time(self, program, inputs, outputs) -> float:
        begin = time.perf_counter()
        program.run(*inputs, out=outputs if len(outputs) > 1 else outputs[0])
        return (time.perf_counter() - begin) * 1e3


class OnGpu:
    """Programs were compiled before; tensors are torch's."""

    def __init__(self, options):
        import gpu_suite
        import torch

        self.cuda, self.torch, self.options = cuda, torch, options
        self.context, self.library = gpu_suite.open_context(options)
        torch.manual_seed(1)
        self.versions = {"torch": torch.__version__, "cuda": torch.version.cuda}

    def load(self, case, name, text):
        path = artefact(self.options.programs, case, name)
        program = self.cuda.Program(self.library, self.context, path)
        self.versions |= {"ringlet": program.compiler, "code": program.target}
        return program

    def random(self, case):
        return self.empty(case).normal_()

    def empty(self, case):
        shape = (1, case.length, case.heads, case.dim)
        torch = self.torch
        dtype = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
        return torch.empty(shape, device="cuda", dtype=dtype[case.dtype])

    def lse(self, case):
        return self.torch.empty((1, case.heads, case.length), device="cuda")

    def time(self, program, inputs, outputs) -> float:
        return self.cuda.time_of(lambda: program(*inputs, *outputs))


def artefact(folder, case, name) -> pathlib.Path:
    stem = re.sub(r"[^a-z0-9]+", "-", f"orders {case.name} {name}".lower())
    return pathlib.Path(folder) / f"{stem}.rla"


def compile_case(options, case, *arguments) -> None:
    """Every program of a case into options.prepare."""
    folder = pathlib.Path(options.prepare)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in case.programs().items():
        command = [
            *(f"{options.build}/bin/ringlet-compile", "-", f"--target={options.target}"),
            *("-o", artefact(folder, case, name), *OPTIONS, *arguments),
        ]
        subprocess.run(command, input=text, text=True, check=True)


def prepare(options) -> int:
    """Plain kernels for every memory order: a recipe takes some of them and not
    others, and the difference would be the recipe's. Tiles of a list have none.
    """
    for case in chosen(options, True):
        compile_case(options, case, *["--recipe=plain"] * case.is_in_memory)
    return 0


def measure(case, device, repeat: int) -> list[dict]:
    """One result for each order."""
    programs = {n: device.load(case, n, t) for n, t in case.programs().items()}
    q, k, v = (device.random(case) for _ in range(3))
    inputs, moved = {"linear": (q, k, v)}, {}
    for name, order in case.orders.items():
        if not case.is_in_memory:
            inputs[name] = (q, k, v)
        elif order:
            pair = (device.empty(case), device.empty(case))
            move = programs[f"to {name}"]
            device.time(move, [k], [pair[0]])  # Builds the table.
            device.time(move, [v], [pair[1]])
            moved[name] = min(device.time(move, [k], [pair[0]]) for _ in range(3))
            inputs[name] = (q, *pair)
    # Rows that the branch does not reach are written, too: 0.
    outputs = {name: (device.empty(case), device.lse(case)) for name in inputs}
    errors = {}
    for name in inputs:
        device.time(programs[name], inputs[name], outputs[name])
        expected, found = outputs["linear"][0], outputs[name][0]
        worst = float(abs(found - expected).max() / abs(expected).max())
        errors[name] = worst
        if not worst <= TOLERANCE[case.dtype]:
            raise SystemExit(
                f"{case.name}, {name}: expected an error of at most "
                f"{TOLERANCE[case.dtype]} beside linear, found {worst:.3g}"
            )
    times = {name: [] for name in inputs}
    for _ in range(repeat):
        turn = list(inputs)
        random.shuffle(turn)
        for name in turn:
            times[name].append(
                device.time(programs[name], inputs[name], outputs[name])
            )
    return [
        result_of(case, name, times, errors[name], moved.get(name)) for name in inputs
    ]


def interval(values) -> tuple:
    """Mean and half of its 95% interval."""
    mean = statistics.fmean(values)
    if len(values) < 2:
        return mean, math.inf
    return mean, 1.96 * statistics.stdev(values) / math.sqrt(len(values))


def verdict(speedup: float, spread: float, published: float | None) -> str:
    """Whether a speed-up that was published shows here."""
    if published is None:
        return ""
    if speedup + spread >= published:
        return "yes"
    return "in part" if speedup - spread > 1 else "no"


def result_of(case, name, times, error, moved) -> dict:
    ratios = [a / b for a, b in zip(times["linear"], times[name])]
    speedup, spread = interval(ratios)
    published = None
    if name == "hilbert" and case.is_in_memory and case.segment is None:
        published = PUBLISHED.get((case.length, case.dilation))
    mean, half = interval(times[name])
    result = {
        "case": case.name,
        "order": name,
        "text": case.orders[name] or "linear",
        "mean": round(mean, 4),
        "interval": round(half, 4),
        "median": round(statistics.median(times[name]), 4),
        "min": round(min(times[name]), 4),
        "max": round(max(times[name]), 4),
        "unit": "ms",
        "speedup": round(speedup, 3),
        "speedup_interval": round(spread, 3),
        "error": float(f"{error:.1e}"),
    }
    if moved is not None:
        result["reorder"] = round(moved, 4)
    if published:
        result["published"] = published[0]
        result["confirmed"] = verdict(speedup, spread, published[0])
    print(
        f"{case.name:34} {name:8} {mean:10.3f} ms +- {half:.3f}   "
        f"{speedup:.3f}x +- {spread:.3f}   "
        f"{result.get('published', '')} {result.get('confirmed', '')}",
        flush=True,
    )
    return result


def run(options, card: str) -> int:
    """Times everything, on the GPU if there are programs for it."""
    cases = chosen(options, bool(options.programs))
    device = OnGpu(options) if options.programs else OnCpu(options)
    random.seed(1)
    found = []
    for case in cases:
        found += measure(case, device, options.repeat)
    result = {
        "kind": "orders",
        "card": card,
        "date": datetime.date.today().isoformat(),
        "versions": device.versions,
        "command": shlex.join(["ringlet-bench", *sys.argv[1:]]),
        "repeats": options.repeat,
        "published": SOURCE,
        "orders": found,
    }
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(result, indent=1) + "\n")
    return 0
