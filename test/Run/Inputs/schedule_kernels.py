# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Inputs for the kernels of test/Run/Inputs/schedule, and the comparison of what they
give with Python's own arithmetic in f64.

    schedule_kernels.py make KERNEL IN.safetensors
    schedule_kernels.py check KERNEL IN.safetensors OUT.safetensors
"""

import math
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Support"))

import safetensors_file  # noqa: E402

# Tiles of 128 or 64 rows stick out of the tensors.
M, N = 70, 40
# Of a window, several tiles.
WINDOW, WINDOW_ROWS = 70, 300


def matrices(m, n, depth):
    return {"a": (m, depth), "b": (n, depth)}


GRADIENTS = {
    "q": (M, 128), "k": (N, 128), "v": (N, 128), "do": (M, 128),
    "lse": (M,), "delta": (M,),
}  # fmt: skip
SHAPES = {
    "gemm": matrices(M, N, 150),
    "gemm1": matrices(M, N, 256),
    "div": {**matrices(M, N, 64), "r": (M,)},
    "floor": {**matrices(M, N, 64), "r": (M,)},
    "bwd": {name: (*shape[:1], *([64] * (len(shape) - 1)))
            for name, shape in GRADIENTS.items()},
    "bwd_window": {name: (WINDOW_ROWS, *([64] * (len(shape) - 1)))
                   for name, shape in GRADIENTS.items()},
    "dq": GRADIENTS,
    "dq2": GRADIENTS,
    "rms": {"x": (M, 256), "g": (256,), "w": (256, N)},
}  # fmt: skip
SCALE = 0.18


def make(kernel, path):
    generate = random.Random(7)
    tensors = []
    for name, shape in SHAPES[kernel].items():
        dtype = "bf16" if len(shape) == 2 else "f32"
        values = [generate.uniform(-1, 1) for _ in range(math.prod(shape))]
        if name == "r":
            # Numbers whose reciprocals are infinite or subnormal are among them.
            values = [2.0 ** generate.choice((-140, -129, 0, 3, 126.5, 127)) for _ in values]
        tensors.append((name, dtype, shape, safetensors_file.encode(dtype, values)))
    safetensors_file.write(path, tensors)


def read(path):
    """Of each tensor its rows, or its values if it has one axis."""
    tensors = {}
    for name, (dtype, shape, raw) in safetensors_file.read(path).items():
        values = safetensors_file.decode(dtype, raw)
        if len(shape) == 2:
            width = shape[1]
            values = [values[i : i + width] for i in range(0, len(values), width)]
        tensors[name] = values
    return tensors


def product(a, b):
    """Rows of `a` with rows of `b`."""
    return [[sum(x * y for x, y in zip(row, other)) for other in b] for row in a]


def transposed(a):
    return [list(column) for column in zip(*a)]


def weights(t, sees=lambda query, key: True):
    """exp2(scale Q K^T - lse), and that times (dO V^T - delta)."""
    scores, gradients = product(t["q"], t["k"]), product(t["do"], t["v"])
    p = [
        [2 ** (SCALE * s - lse) * sees(query, key) for key, s in enumerate(row)]
        for query, (row, lse) in enumerate(zip(scores, t["lse"]))
    ]
    ds = [
        [x * (g - delta) for x, g in zip(row, grads)]
        for row, grads, delta in zip(p, gradients, t["delta"])
    ]
    return p, ds


def rms(t):
    rows = []
    for row in t["x"]:
        norm = math.sqrt(sum(x * x for x in row) / len(row) + 1e-5)
        rows.append([x / norm * g for x, g in zip(row, t["g"])])
    return [product(rows, transposed(t["w"]))]


def gradient_of_queries(t):
    return [product(weights(t)[1], transposed(t["k"]))]


def gradients_of_keys(t, **sees):
    p, ds = weights(t, **sees)
    return [
        product(transposed(ds), transposed(t["q"])),
        product(transposed(p), transposed(t["do"])),
    ]


def gradients_in_window(t):
    return gradients_of_keys(t, sees=lambda query, key: query - WINDOW <= key <= query)


def quotient(t):
    return [[[x / r for x in row] for row, r in zip(product(t["a"], t["b"]), t["r"])]]


EXPECTED = {
    "gemm": lambda t: [product(t["a"], t["b"])],
    "gemm1": lambda t: [product(t["a"], t["b"])],
    "div": quotient,
    "floor": lambda t: [[[math.floor(x) for x in row] for row in product(t["a"], t["b"])]],
    "bwd": gradients_of_keys,
    "bwd_window": gradients_in_window,
    "dq": gradient_of_queries,
    "dq2": gradient_of_queries,
    "rms": rms,
}


def check(kernel, in_path, out_path):
    inputs, outputs = read(in_path), read(out_path)
    worst = 0.0
    for number, rows in enumerate(EXPECTED[kernel](inputs)):
        found = outputs[f"result{number}"]
        # Weights are rounded to bf16, by 2^-8 of their value at most.
        for row, other in zip(rows, found, strict=True):
            size = max(abs(x) for x in row)
            if size > 3.4e38:
                # Beyond f32, as each of the row's quotients that is.
                for x, y in zip(row, other, strict=True):
                    if abs(x) > 3.4e38 and not math.isinf(y):
                        sys.exit(f"expected an infinity for {x}, found {y}")
                continue
            if size == 0:
                continue
            for x, y in zip(row, other, strict=True):
                if kernel == "floor" and abs(x - y) == 1:
                    continue  # A sum next to a whole number.
                worst = max(worst, abs(x - y) / size)
    print(f"largest error {worst:.2e} of the largest value of a row")
    if not worst <= 2**-7:
        sys.exit(f"expected an error of at most {2**-7:.2e}")


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](*sys.argv[2:])
