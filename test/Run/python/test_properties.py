# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random sizes, strides and branches against the specification."""

import numpy as np
import pytest

import ringlet
from conftest import attention, graph

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import strategies as st  # noqa: E402

KERNELS = {
    ("<w = 8, r = 1>, <w = 20, r = 2>", False): ((8, 1), (20, 2)),
    ("<w = 7, r = 3>", True): ((7, 3),),
    ("<w = *, r = 2>, <w = 16, r = 1>", True): ((None, 2), (16, 1)),
}


def strided(data, shape, values):
    """The values in an array with padding, steps and an order of axes."""
    order = data.draw(st.permutations([0, 1, 2]))
    steps = data.draw(st.tuples(*[st.integers(1, 3)] * 3))
    padding = data.draw(st.integers(0, 9))
    outer = [shape[axis] * steps[axis] for axis in order]
    memory = np.full((*outer, shape[3] + padding), np.nan, np.float32)
    view = memory.transpose([order.index(axis) for axis in range(3)] + [3])
    view = view[:: steps[0], :: steps[1], :: steps[2], : shape[3]]
    view[...] = values
    return view


@hypothesis.settings(max_examples=40, deadline=None, derandomize=True)
@hypothesis.given(data=st.data())
def test_any_strides_and_lengths(data):
    (branches, causal), reference = data.draw(st.sampled_from(list(KERNELS.items())))
    program = ringlet.compile(
        graph(16, 4, 2, branches=branches, more="causal" if causal else "")
    )
    batch = data.draw(st.integers(1, 2))
    queries, keys = data.draw(st.integers(1, 50)), data.draw(st.integers(1, 50))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    shapes = [(batch, queries, 4, 16), (batch, keys, 2, 16), (batch, keys, 2, 16)]
    plain = [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]
    out, lse = program(*(strided(data, s, x) for s, x in zip(shapes, plain)))
    want, want_lse = attention(*plain, branches=reference, causal=causal)
    np.testing.assert_allclose(out, want, rtol=1e-4, atol=2e-6)
    np.testing.assert_allclose(lse, want_lse, rtol=1e-4, atol=2e-6)
