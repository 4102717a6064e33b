# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs for the kernel of test/Examples/rms_norm_matmul.rtile.mlir, and the
comparison of its output with Python's own arithmetic in f64.

    rms_norm_matmul.py make IN.safetensors
    rms_norm_matmul.py check IN.safetensors OUT.safetensors
"""

import math
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Support"))

import safetensors_file  # noqa: E402

ROWS, WIDTH, COLUMNS = 70, 256, 65


def read(path):
    """The shape and the values, in a row, of each tensor."""
    return {
        name: (shape, safetensors_file.decode(dtype, raw))
        for name, (dtype, shape, raw) in safetensors_file.read(path).items()
    }


def make(path):
    generate = random.Random(7)

    def tensor(name, dtype, shape, draw):
        values = [draw() for _ in range(math.prod(shape))]
        return name, dtype, shape, safetensors_file.encode(dtype, values)

    safetensors_file.write(
        path,
        [
            tensor("g", "f32", (WIDTH,), lambda: generate.uniform(0.5, 1.5)),
            tensor("x", "bf16", (ROWS, WIDTH), lambda: generate.gauss(0, 3)),
            tensor("w", "bf16", (WIDTH, COLUMNS), lambda: generate.gauss(0, 1)),
        ],
    )


def check(in_path, out_path):
    inputs = read(in_path)
    (_, x), (_, g), (_, w) = (inputs[name] for name in "xgw")
    shape, y = read(out_path)["result0"]
    if shape != (ROWS, COLUMNS):
        sys.exit(f"expected result0 of {(ROWS, COLUMNS)}, found {shape}")
    squares = size = 0.0
    for i in range(ROWS):
        row = x[i * WIDTH : (i + 1) * WIDTH]
        norm = math.sqrt(sum(each * each for each in row) / WIDTH + 1e-5)
        row = [a / norm * b for a, b in zip(row, g)]
        for j in range(COLUMNS):
            expected = sum(a * b for a, b in zip(row, w[j::COLUMNS]))
            squares += (y[i * COLUMNS + j] - expected) ** 2
            size += expected**2
    # x * g and y are rounded to bf16, by 2^-8 of their value at most.
    error = math.sqrt(squares / size)
    print(f"relative RMS error {error:.2e}")
    if not error <= 2**-8:
        sys.exit(f"expected an error of at most {2**-8:.2e}")


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](*sys.argv[2:])
