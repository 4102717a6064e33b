# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes random bf16 tensors [1, length, heads, dim] as safetensors.

    make_qkv.py OUT NAME:LENGTH... [--heads=16] [--dim=128] [--seed=1]
"""

import argparse
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Support"))

import safetensors_file  # noqa: E402


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
    values = [rng.gauss(0, 1) for _ in range(10007)]
    pool = safetensors_file.encode("bf16", values)
    tensors = []
    for tensor in options.tensors:
        name, length = tensor.split(":")
        shape = (1, int(length), options.heads, options.dim)
        size = 2 * int(length) * options.heads * options.dim
        start = 2 * rng.randrange(len(values))
        times = (start + size) // len(pool) + 1
        tensors.append((name, "bf16", shape, (pool * times)[start : start + size]))
    safetensors_file.write(options.out, tensors)


if __name__ == "__main__":
    main()
