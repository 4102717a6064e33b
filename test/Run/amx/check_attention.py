# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles attention for processors with AMX, runs it and compares the results
with f64: on such a processor, or with --emulator on one without (Emulator.cpp does
what such a processor would).

An emulated artefact is as the compiler makes it, but for the name of its target: a
runtime would not load it there.
"""

import argparse
import hashlib
import os
import pathlib
import re
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "emulated"))

import emulate  # noqa: E402
from emulate import ALL, Case, do, write_inputs  # noqa: E402

LEVEL = "x86-64-v4-amx"
HOST = "x86-64-v4"
# Bytes before the payload of an artefact, and where its digest lies in them.
HEADER, DIGEST = 56, slice(24, 56)


def tiled(query, key) -> str:
    return f" tilings = [#ringlet.tiling<query = {query}, key = {key}>]"


CASES = [
    Case(ALL, 300, 2, 64),
    Case(ALL + " causal", 200, 2, 128),
    Case(ALL + " causal", 130, dim=256),
    Case("branches [<w = 100, r = 3>, <w = 200, r = 2>] causal", 333, 4, 64, key_heads=2),
    # Depths and widths that fill no register, odd ones among them.
    Case(ALL, 70, dim=16),
    Case(ALL + " causal", 90, 2, 40, key_heads=2, value_dim=24),
    Case(ALL, 75, dim=80, value_dim=112),
    Case(ALL, 33, dim=7, value_dim=5),
    # Panels of 16 rows and of 32, keys for parts of a register.
    Case(ALL + tiled(8, 8), 50, dim=64),
    Case(ALL + tiled(16, 40), 90, dim=48),
    Case(ALL + tiled(24, 24) + " causal", 90, dim=32),
    Case(ALL + tiled(96, 112), 200, dim=64),
    # Orders, masks and packed sequences, as plain kernels of GPUs are checked.
    *(case for case in emulate.CASES if case.dtype == "bf16" and case.recipe == "plain"),
]


def relabel(path) -> None:
    """Names HOST as the target in an artefact for LEVEL."""
    data = path.read_bytes()

    def encode(name):
        return struct.pack("<I", len(name)) + name.encode() + b"\0"

    payload = data[HEADER:]
    if payload.count(encode(LEVEL)) != 1:
        raise RuntimeError(f"expected one target {LEVEL}")
    there = encode(LEVEL)
    payload = payload.replace(there, encode(HOST).ljust(len(there), b"\0"))
    header = bytearray(data[:HEADER])
    header[DIGEST] = hashlib.sha256(payload).digest()
    path.write_bytes(bytes(header) + payload)


def run(case, options) -> str:
    """What computed the products, and how many they were where that is known."""
    graph, artefact = options.work / "graph.mlir", options.work / "graph.rla"
    inputs = options.work / "in.safetensors"
    graph.write_text(case.text)
    do(options.build / "bin/ringlet-compile", graph, f"--target=cpu:{LEVEL}", "-o", artefact)
    write_inputs(case, inputs)
    environment = dict(os.environ)
    if options.emulator:
        relabel(artefact)
        environment["LD_PRELOAD"] = str(options.emulator)
    said = do(
        *("sh", "-c", '"$@" 2>&1', "sh"),
        *(options.build / "bin/ringlet-run", artefact, f"--in={inputs}", "--check"),
        env=environment,
    )
    if not options.emulator:
        if not re.search(rf"^target +{LEVEL},", said, re.M):
            raise RuntimeError(f"expected the target {LEVEL}, found:\n{said}")
        return "products of the processor"
    products = re.search(r"amx emulator: (\d+) products", said)
    if not products:
        raise RuntimeError(f"expected emulated products, found:\n{said}")
    return f"{products[1]} products"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--emulator", type=pathlib.Path)
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    # Names without the target, which is of a GPU.
    return emulate.report(
        [
            (case.name.split(", ", 1)[1], lambda case=case: run(case, options))
            for case in CASES
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
