# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernel that is written by hand, against numpy."""

import numpy as np
import pytest

import ringlet
from conftest import ROOT
from test_run import from_bits, to_bits


@pytest.fixture(scope="module")
def kernel():
    return ringlet.compile(ROOT / "test/Examples/rms_norm_matmul.rtile.mlir")


@pytest.mark.parametrize("rows", [1, 64, 65, 200])
@pytest.mark.parametrize("columns", [1, 63, 64, 130])
def test_against_numpy(kernel, rng, rows, columns):
    x = to_bits(rng.standard_normal((rows, 256), dtype=np.float32) * 3)
    g = rng.uniform(0.5, 1.5, 256).astype(np.float32)
    w = to_bits(rng.standard_normal((256, columns), dtype=np.float32))
    y = kernel(ringlet.bits(x, "bf16"), g, ringlet.bits(w, "bf16"))
    assert y.shape == (rows, columns)
    x, w = from_bits(x).astype(np.float64), from_bits(w).astype(np.float64)
    norm = np.sqrt((x * x).mean(1, keepdims=True) + 1e-5)
    # The operands of the product are bf16, and y is: 2^-8 of it at most.
    lhs = from_bits(to_bits((x * g).astype(np.float32))).astype(np.float64)
    want = lhs @ w / norm
    error = np.abs(from_bits(y) - want)
    assert (error <= 2**-8 * np.abs(want) + 1e-4).all()
    # The rounding of the operands costs as little as it should; a mean over a
    # handful of values would say nothing of that.
    if y.size >= 64:
        exact = (x / norm * g) @ w
        error = from_bits(y) - exact
        assert np.sqrt((error**2).mean()) <= 2**-8 * np.sqrt((exact**2).mean())


def test_a_row_of_zeros(kernel):
    x = np.zeros((3, 256), np.uint16)
    w = np.full((256, 5), 0x3F80, np.uint16)
    y = kernel(
        ringlet.bits(x, "bf16"), np.ones(256, np.float32), ringlet.bits(w, "bf16")
    )
    assert (y == 0).all()


def test_sizes_are_checked(kernel):
    x = ringlet.bits(np.zeros((3, 256), np.uint16), "bf16")
    g = np.ones(256, np.float32)
    w = ringlet.bits(np.zeros((256, 5), np.uint16), "bf16")
    y = ringlet.bits(np.zeros((3, 6), np.uint16), "bf16")
    with pytest.raises(ringlet.RuntimeError, match="a column for each column of w"):
        kernel(x, g, w, out=y)
