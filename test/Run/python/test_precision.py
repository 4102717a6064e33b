# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What products of f32 may be (R7): on a CPU they are exact all the same."""

import numpy as np
import pytest

import ringlet

NAMES = ("f32", "tf32", "tf32x3", "bf16x3")


def draw(rng, dtype=np.float32):
    return rng.standard_normal((3, 1, 50, 2, 16)).astype(dtype)


@pytest.mark.parametrize("name", NAMES)
def test_cpus_multiply_in_f32(rng, name):
    q, k, v = draw(rng)
    exact = ringlet.attention(q, k, v, causal=True)
    found = ringlet.attention(q, k, v, causal=True, precision=name)
    for one, other in zip(found, exact):
        np.testing.assert_array_equal(one, other)


def test_no_precision(rng):
    with pytest.raises(ValueError, match=r"precision.*tf32x3.*'tf33'.*R7"):
        ringlet.attention(*draw(rng), precision="tf33")


def test_of_other_types(rng):
    with pytest.raises(ringlet.CompileError, match="a query of f32 beside precision"):
        ringlet.attention(*draw(rng, np.float16), precision="bf16x3")
