# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles random hand-written-like kernels for one CPU level, runs them between
guard bytes and compares every element of every buffer with the same program run
in Python.

    random_tiles.py LEVEL FIRST_SEED LAST_SEED [LIBRARY]

A library is loaded before the first kernel runs.
"""

import ctypes
import os
import re
import subprocess
import sys
import tempfile

from generate import Generator

GUARD = 256
# Rounding to 16 bits, on either side of a tie, moves what depends on it.
TOLERANCE = {"f32": 2e-4, "f16": 3e-2, "bf16": 3e-2}


def build(text, level, folder):
    """The kernel's function and the bytes of scratch memory that it wants."""
    paths = {end: os.path.join(folder, "kernel." + end) for end in
             ("mlir", "llvm", "ll", "opt.ll", "o", "so")}
    with open(paths["mlir"], "w") as file:
        file.write(text)
    commands = (
        ["ringlet-opt", paths["mlir"], f"--rtile-lower-to-cpu=level={level}",
         "-o", paths["llvm"]],
        ["mlir-translate", "--mlir-to-llvmir", paths["llvm"], "-o", paths["ll"]],
        ["opt", "-S", "-O2", paths["ll"], "-o", paths["opt.ll"]],
        ["llc", "-O2", "-filetype=obj", "-relocation-model=pic", paths["opt.ll"],
         "-o", paths["o"]],
        # An undefined symbol is an error: kernels call nothing.
        ["ld.lld", "-shared", "-z", "defs", paths["o"], "-o", paths["so"]],
    )
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{command[0]} failed:\n{done.stderr[:2000]}\n{text}")
    with open(paths["llvm"]) as file:
        scratch = int(re.search(r"rtile.scratch_bytes = (\d+)", file.read())[1])
    return ctypes.CDLL(paths["so"]).kernel, scratch


def call(kernel, scratch_bytes, buffers):
    """Runs the one point of the grid. Returns what is wrong around the memory
    that it may write, or nothing, and what the buffers hold."""
    raws = [bytearray(b"\xff" * GUARD + b.encode() + b"\xff" * GUARD) for b in buffers]
    words = []
    for buffer, raw in zip(buffers, raws):
        words.append(ctypes.addressof(ctypes.c_char.from_buffer(raw)) + GUARD)
        words.extend(buffer.words())
    words.append(1)
    scratch = (ctypes.c_char * (scratch_bytes + 128))()
    start = (ctypes.addressof(scratch) + 63) // 64 * 64
    # What scratch memory holds must not matter: these are NaNs.
    ctypes.memset(start, 0xFF, scratch_bytes)
    ctypes.memset(start + scratch_bytes, 0xA5, 64)
    parameters = (ctypes.c_int64 * len(words))(*words)
    kernel(parameters, ctypes.c_int64(0), ctypes.c_int64(1), ctypes.c_void_p(start))
    error = None
    if ctypes.string_at(start + scratch_bytes, 64) != b"\xa5" * 64:
        error = "wrote behind its scratch memory"
    for buffer, raw in zip(buffers, raws):
        if raw[:GUARD] != b"\xff" * GUARD or raw[-GUARD:] != b"\xff" * GUARD:
            error = f"wrote outside {buffer.name}"
    return error, [b.decode(bytes(r[GUARD:-GUARD])) for b, r in zip(buffers, raws)]


def compare(program, results):
    values = {}
    program.body.run(values)
    expected = {buffer.name: list(buffer.data) for buffer in program.buffers}
    written = set()
    for tile, view, row, column in program.stores:
        # Nothing, for a store in a branch that is not taken.
        rows = values[tile.name] or []
        for i, line in enumerate(rows):
            for j, value in enumerate(line if isinstance(line, list) else [line]):
                index = view.index(row + i, column + j)
                if index is not None:
                    expected[view.buffer.name][index] = value
                    written.add((view.buffer.name, index))
    for (name, index), entry in program.entries.items():
        expected[name][index] = entry
    loose = any(kind in program.text() for kind in ("xf16", "xbf16"))
    for buffer, found in zip(program.buffers, results):
        for index, (x, y) in enumerate(zip(expected[buffer.name], found)):
            limit = TOLERANCE["f16" if loose else "f32"] * max(1, abs(x))
            if (buffer.name, index) not in written:
                limit = 0
            if not (x == y or (x != x and y != y) or abs(x - y) <= limit):
                return f"{buffer.name}[{index}]: expected {x}, found {y}"
    return None


def ask_for_amx():
    """Linux gives the registers of AMX to processes that ask for them."""
    arch_prctl, request_permission, tile_data = 158, 0x1023, 18
    if ctypes.CDLL(None).syscall(arch_prctl, request_permission, tile_data):
        raise SystemExit("the kernel does not allow AMX")


def main():
    level, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if len(sys.argv) > 4:
        ctypes.CDLL(sys.argv[4])
    elif level.endswith("-amx"):
        ask_for_amx()
    elements = 0
    for seed in range(first, last):
        program = Generator(seed)
        with tempfile.TemporaryDirectory() as folder:
            kernel, scratch = build(program.text(), level, folder)
            error, results = call(kernel, scratch, program.buffers)
        error = error or compare(program, results)
        if error:
            raise SystemExit(f"seed {seed}, {level}: {error}\n{program.text()}")
        elements += sum(len(result) for result in results)
    print(f"{last - first} kernels, {elements} elements")


if __name__ == "__main__":
    main()
