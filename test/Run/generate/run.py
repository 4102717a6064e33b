# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the plan of lists.mlir on the CPU, and its GPU code with the threads of its
blocks, and compares every entry with Python's own arithmetic."""

import pathlib
import random
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "Support"), str(HERE.parent / "emulated")]

import emulate  # noqa: E402
import safetensors_file  # noqa: E402

WIDTH = 24
MOST, LEAST = 2**63 - 1, -(2**63)
# What stands where no entry is written.
NONE = -(2**62)
# Rows, and the range of entries: whole and empty ones, and such that begin
# before the list, end behind it, or are none. Blocks have 256 threads.
CASES = (
    (700, 0, 700), (700, 13, 699), (700, 300, 300), (700, 301, 300),
    (257, -5, 2), (257, 255, 300), (256, LEAST, MOST), (255, MOST, MOST),
    (255, MOST - 1, LEAST), (255, -1, 0), (1, 0, 1), (1, 1, 2), (0, -3, 3),
)  # fmt: skip


def wrap(value):
    return (value + 2**63) % 2**64 - 2**63


def sum_of(numbers, place):
    total = 0
    for n, number in enumerate(numbers):
        product = wrap(number * (place + n))
        total += (place % 3 + 1) * (product if product % 2 == 0 else 1)
    return wrap(-total if place % 3 == 0 else total)


def draw(rows, dice):
    """Starts of sequences, empty ones among them, and numbers near the ends of
    what 64 bits hold."""
    inner = [dice.randint(0, rows) for _ in range(dice.randint(0, 5))]
    starts = [0, *sorted(inner + inner[:1]), rows]
    near = (0, 2**62, -(2**62), 2**31, MOST, LEAST)
    numbers = [wrap(dice.choice(near) + dice.randint(-9, 9)) for _ in range(7)]
    return starts, numbers[: dice.randint(1, 7)]


def expect(case, starts, numbers, x):
    rows, begin, end = case
    table = [
        sum_of(numbers, place) if begin <= place < end else NONE for place in range(rows)
    ]
    y = []
    for first, last in zip(starts, starts[1:]):
        for row in reversed(range(first, last)):
            y += x[row * WIDTH : (row + 1) * WIDTH]
    return y, table


def check(case, folder, artefact, tool, environment) -> str:
    rows, begin, end = case
    dice = random.Random(repr(case))
    starts, numbers = draw(rows, dice)
    x = [float(dice.randint(-999, 999)) for _ in range(rows * WIDTH)]
    tensors = (
        ("x", "f32", (rows, WIDTH), x),
        ("starts", "i64", (len(starts),), starts),
        ("list", "i64", (len(numbers),), numbers),
        ("begin", "i64", (), [begin]),
        ("end", "i64", (), [end]),
    )
    inputs, outputs = folder / "in.safetensors", folder / "out.safetensors"
    encode = safetensors_file.encode
    safetensors_file.write(inputs, [(n, t, s, encode(t, v)) for n, t, s, v in tensors])
    driver = "cuda" if environment else "cpu"
    emulate.do(
        *(tool, artefact, f"--in={inputs}", f"--out={outputs}", f"--driver={driver}"),
        env=environment,
    )
    found = safetensors_file.read(outputs)
    y, table = expect(case, starts, numbers, x)
    for name, letter, values in (("result0", "f", y), ("result1", "q", table)):
        raw = found[name][2]
        given = list(struct.unpack(f"<{len(raw) // struct.calcsize(letter)}{letter}", raw))
        if given != values:
            at = [i for i, (a, b) in enumerate(zip(given, values)) if a != b][:1]
            raise RuntimeError(
                f"{name} of {len(given)} for {len(values)}, first wrong at {at}:"
                f" {[(given[i], values[i]) for i in at]}"
            )
    return f"{sum(entry != NONE for entry in table)} entries of {rows}"


def main() -> int:
    options = emulate.parse(emulate.make_parser(__doc__))
    emulator = emulate.build_emulator(options)
    results = []
    for target in ("cpu", "sm_61", "sm_80", "sm_90a"):
        folder = options.work / target
        folder.mkdir(exist_ok=True)
        source, environment = HERE / "Inputs/lists.mlir", None
        if target == "cpu":
            artefact = folder / "graph.rla"
            emulate.do(options.build / "bin/ringlet-compile", source, "-o", artefact)
        else:
            artefact, environment = emulate.build(
                *(source, target, "plain", [], folder, emulator, options)
            )
        for case in CASES:
            given = folder, artefact, options.build / "bin/ringlet-run", environment
            name = f"{target}, {case[0]} rows, entries {case[1]} to {case[2]}"
            results.append((name, lambda case=case, given=given: check(case, *given)))
    return emulate.report(results)


if __name__ == "__main__":
    sys.exit(main())
