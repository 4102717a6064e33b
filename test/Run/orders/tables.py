# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs reorders on the CPU, whose tables kernels write or the host does.

What comes out is compared with the tokens that ringlet-opt prints for the order.
"""

import argparse
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Support"))

import safetensors_file  # noqa: E402

# Sides of powers of two: what has arithmetic. A chunk is repeated.
ORDERS = [
    "hilbert, grid = [8, 16]",
    "hilbert, grid = [2, 64], chunk = 128",
    "hilbert, grid = [4, 4, 8]",
    "morton, grid = [16, 32]",
    "morton, grid = [8, 2, 4], chunk = 64",
    "snake, grid = [16, 4]",
    "snake, grid = [2, 4, 4], chunk = 32",
    "residue<4>, chunk = 64",
]


def tensor(length: int, order: str = "") -> str:
    layout = f", #rlayout.layout<order = <{order}>>" if order else ""
    return f"tensor<1x{length}x1x1xf32{layout}>"


def function(name: str, order: str, length: int) -> str:
    """Slots of tokens, and tokens of slots: there and, from linear order, back."""
    plain, moved = tensor(length), tensor(length, order)
    return f"""func.func @{name}(%x: {plain}, %y: {moved}) -> ({moved}, {plain}) {{
  %there = ringlet.reorder %x : {plain} to {moved}
  %back = ringlet.reorder %y : {moved} to {plain}
  return %there, %back : {moved}, {plain}
}}
"""


def tokens(period: list, length: int) -> list:
    """Of each slot of a sequence, whose last period may be cut."""
    found = []
    for begin in range(0, length, len(period)):
        found += [begin + token for token in period if begin + token < length]
    return found


def output(*command) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def read(path) -> list:
    """The results of a run, as numbers."""
    found = safetensors_file.read(path)
    return [
        safetensors_file.decode(dtype, raw)
        for dtype, _, raw in (found["result0"], found["result1"])
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--target", required=True)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    binaries, graph = options.build / "bin", options.work / "graph.mlir"
    artefact = options.work / "graph.rla"

    every = ", ".join(f"#rlayout.order<{order}>" for order in ORDERS)
    graph.write_text(f"module attributes {{test.orders = [{every}]}} {{}}\n")
    printed = output(
        *(binaries / "ringlet-opt", graph, "--rlayout-print-order", "-o", "/dev/null")
    )
    periods = {
        line[len("#rlayout.order<") :].rpartition(">: ")[0]: [
            int(token) for token in line.rpartition(": ")[2].split()
        ]
        for line in printed.splitlines()
    }

    # Whole periods, and sequences that end early.
    lengths = {}
    for number, order in enumerate(ORDERS):
        volume = len(periods[order])
        if "chunk" in order:
            lengths[f"whole{number}"] = order, 3 * volume
            lengths[f"cut{number}"] = order, 3 * volume - 3
        else:
            lengths[f"whole{number}"] = order, volume
    graph.write_text("".join(function(n, *case) for n, case in lengths.items()))
    explained = output(
        *(binaries / "ringlet-compile", graph, f"--target={options.target}"),
        *("--explain", "-o", artefact),
    )
    kernels = set(re.findall(r"(\w+ of .*): a kernel writes the table", explained))
    for name, (order, length) in lengths.items():
        ramp = [float(token) for token in range(length)]
        content = safetensors_file.encode("f32", ramp)
        inputs, outputs = options.work / "in.safetensors", options.work / "out.safetensors"
        safetensors_file.write(
            inputs, [(x, "f32", (1, length, 1, 1), content) for x in ("x", "y")]
        )
        output(
            *(binaries / "ringlet-run", artefact, f"--entry={name}"),
            *(f"--in={inputs}", f"--out={outputs}"),
        )
        there, back = read(outputs)
        expected = tokens(periods[order], length)
        slots = sorted(range(length), key=expected.__getitem__)
        if there != expected or back != slots:
            raise SystemExit(f"{order}, {length} tokens: expected {expected}, found {there}")
    print(f"{len(kernels)} kernels, {len(lengths)} sequences: all tokens in their slots")
    return 0


if __name__ == "__main__":
    sys.exit(main())
