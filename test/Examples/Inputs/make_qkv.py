# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes random bf16 tensors [1, length, heads, dim] as safetensors.

    make_qkv.py OUT NAME:LENGTH... [--heads=16] [--dim=128] [--seed=1]
"""

import argparse
import json
import random
import struct


def bf16_bits(value):
    """The upper half of the f32: rounding does not matter to random input."""
    return struct.unpack("<I", struct.pack("<f", value))[0] >> 16


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("tensors", nargs="+")
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()

    rng = random.Random(options.seed)
    # Drawing each number anew would take longer than the test: a cycle whose
    # length divides no size.
    pool = [bf16_bits(rng.gauss(0, 1)) for _ in range(10007)]
    header, data = {}, bytearray()
    for tensor in options.tensors:
        name, length = tensor.split(":")
        count = int(length) * options.heads * options.dim
        start = rng.randrange(len(pool))
        begin = len(data)
        values = [pool[(start + i) % len(pool)] for i in range(count)]
        data += struct.pack(f"<{count}H", *values)
        header[name] = {
            "dtype": "BF16",
            "shape": [1, int(length), options.heads, options.dim],
            "data_offsets": [begin, len(data)],
        }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(options.out, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


if __name__ == "__main__":
    main()
