# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs for the kernel of test/Examples/rms_norm_matmul.rtile.mlir, and the
comparison of its output with Python's own arithmetic in f64.

    rms_norm_matmul.py make IN.safetensors
    rms_norm_matmul.py check IN.safetensors OUT.safetensors
"""

import array
import json
import math
import random
import struct
import sys

ROWS, WIDTH, COLUMNS = 70, 256, 65


def to_bf16(value):
    """The 16 bits of the nearest bf16, ties to even."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def from_bf16(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def write(path, tensors):
    header, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {
            "dtype": dtype,
            "shape": shape,
            "data_offsets": [len(data), len(data) + len(content)],
        }
        data += content
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def read(path):
    """The values of each tensor, flat, and its shape."""
    with open(path, "rb") as file:
        raw = file.read()
    (length,) = struct.unpack("<Q", raw[:8])
    result = {}
    for name, entry in json.loads(raw[8 : 8 + length]).items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + each for each in entry["data_offsets"])
        code = {"BF16": "H", "F32": "f"}[entry["dtype"]]
        values = array.array(code, raw[begin:end])
        if code == "H":
            values = list(map(from_bf16, values))
        result[name] = (list(values), entry["shape"])
    return result


def make(path):
    generate = random.Random(7)

    def narrow(count, size):
        values = (to_bf16(generate.gauss(0, size)) for _ in range(count))
        return array.array("H", values).tobytes()

    weights = array.array("f", (generate.uniform(0.5, 1.5) for _ in range(WIDTH)))
    write(
        path,
        {
            "g": ("F32", [WIDTH], weights.tobytes()),
            "x": ("BF16", [ROWS, WIDTH], narrow(ROWS * WIDTH, 3)),
            "w": ("BF16", [WIDTH, COLUMNS], narrow(WIDTH * COLUMNS, 1)),
        },
    )


def check(in_path, out_path):
    inputs = read(in_path)
    (x, _), (g, _), (w, _) = (inputs[name] for name in "xgw")
    y, shape = read(out_path)["result0"]
    if shape != [ROWS, COLUMNS]:
        sys.exit(f"expected result0 of {[ROWS, COLUMNS]}, found {shape}")
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
