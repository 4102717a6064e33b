# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Errors of attention whose products of f32 are of parts (R7), beside those of exact
products of the same random inputs: sums of an emulated GPU are cut off as a GPU's."""

import concurrent.futures
import dataclasses
import os
import re
import sys

import emulate
import precisions

# Least and most of the errors of exact products.
BOUNDS = {"tf32": (100, 20000), "tf32x3": (0.1, 2), "bf16x3": (3, 40)}
SHAPES = [(260, 64, ""), (200, 128, " causal"), (300, 24, "")]


def errors_of(said: str) -> tuple:
    found = re.search(r"output: ok, max (\S+) .*?, rms (\S+) ", said)
    if not found:
        raise RuntimeError(f"expected errors of the output, found {said}")
    return tuple(map(float, found.groups()))


def compare(number, shape, emulator, options, pool) -> list:
    rows, dim, more = shape
    exact = emulate.Case(precisions.ALL + more, rows, 2, dim, "f32")
    runs = {}
    for place, name in enumerate(("f32", *BOUNDS)):
        case = exact
        if name != "f32":
            case = dataclasses.replace(
                exact, attributes=exact.attributes + precisions.of(name)
            )
        runs[name] = pool.submit(
            *(emulate.run, case, 10 * number + place, emulator, options, exact)
        )

    def ratios(name):
        least, most = BOUNDS[name]
        of_exact, of_parts = (errors_of(runs[each].result()) for each in ("f32", name))
        found = [parts / exact for parts, exact in zip(of_parts, of_exact)]
        text = f"{found[0]:.2f} times the greatest error, {found[1]:.2f} times the rms"
        if not all(least <= each <= most for each in found):
            raise RuntimeError(f"expected {least} to {most} times, found {text}")
        return text

    return [
        (f"S{rows} D{dim}{more} {name}", lambda name=name: ratios(name)) for name in BOUNDS
    ]


def main() -> int:
    options = emulate.parse(emulate.make_parser(__doc__))
    os.environ["RINGLET_EMULATED_DIGITS"] = "24"
    emulator = emulate.build_emulator(options)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = []
        for number, shape in enumerate(SHAPES):
            results += compare(number, shape, emulator, options, pool)
        return emulate.report(results)


if __name__ == "__main__":
    sys.exit(main())
