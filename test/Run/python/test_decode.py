# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Few queries over a cache of keys and values that grows."""

import numpy as np
import pytest

import ringlet
from conftest import attention

QUERY, CACHE = "tensor<{batch}x?x8x32xf32>", "tensor<{batch}x?x2x32xf32>"


def text(clauses="", branches="<w = *, r = 1>", batch="?", sink=False):
    q, k = QUERY.format(batch=batch), CACHE.format(batch=batch)
    lse = f"tensor<{batch}x8x?xf32>"
    argument, operand = (", %s: tensor<8xf32>", ", tensor<8xf32>") if sink else ("", "")
    return f"""
func.func @step(%q: {q}, %k: {k}, %v: {k}{argument}) -> ({q}, {lse}) {{
  %o, %lse = ringlet.attention %q, %k, %v branches [{branches}] {clauses}
      : ({q}, {k}, {k}{operand}) -> ({q}, {lse})
  return %o, %lse : {q}, {lse}
}}
"""


def check(program, rng, queries, keys, batch=2, sink=None, **rules):
    q = rng.standard_normal((batch, queries, 8, 32), dtype=np.float32)
    k, v = rng.standard_normal((2, batch, keys, 2, 32), dtype=np.float32)
    more = () if sink is None else (sink,)
    found = program(q, k, v, *more)
    for one, exact in zip(found, attention(q, k, v, sink=sink, **rules)):
        np.testing.assert_allclose(one, exact.reshape(one.shape), rtol=0, atol=1e-5)
    # Parts are merged in one order.
    for one, again in zip(found, program(q, k, v, *more)):
        assert np.array_equal(one, again)


@pytest.fixture(scope="module", params=[1, 2, 5])
def context(request):
    return ringlet.Context(threads=request.param)


def test_lengths(context, rng):
    program = ringlet.compile(text("causal"), context=context)
    for queries, keys in [(1, 1), (1, 1000), (2, 777), (3, 64), (7, 300), (17, 600),
                          (33, 40), (64, 320)]:  # fmt: skip
        check(program, rng, queries, keys, causal=True)


def test_window(context, rng):
    program = ringlet.compile(text("window = [100, 0]"), context=context)
    for queries, keys in [(1, 1000), (5, 700)]:
        check(program, rng, queries, keys, window=(100, 0))


def test_sink(context, rng):
    program = ringlet.compile(text("sink(%s)", sink=True), context=context)
    sink = rng.standard_normal(8, dtype=np.float32)
    for queries, keys in [(1, 900), (3, 300), (2, 0)]:
        check(program, rng, queries, keys, sink=sink)


def test_branches(context, rng):
    """Rows of other residues than a head's see nothing of a branch."""
    branches = "<w = 256, r = 1>, <w = 1024, r = 2>, <w = 4096, r = 4>"
    sizes = ((256, 1), (1024, 2), (4096, 4))
    program = ringlet.compile(text("causal", branches), context=context)
    for queries, keys in [(1, 1001), (1, 1026), (6, 2050)]:
        check(program, rng, queries, keys, batch=1, branches=sizes, causal=True)


@pytest.mark.parametrize("branches", ["<w = *, r = 1>", "<w = 512, r = 1>, <w = *, r = 4>"])
def test_growing_cache(branches, rng):
    """1000 calls with one key more each take the memory of the first."""
    context = ringlet.Context(threads=2)
    program = ringlet.compile(text("causal", branches), context=context)
    q = rng.standard_normal((1, 1, 8, 32), dtype=np.float32)
    k, v = rng.standard_normal((2, 1, 3000, 2, 32), dtype=np.float32)
    out = np.empty_like(q), np.empty((1, 8, 1), dtype=np.float32)
    first = None
    for length in range(2000, 3000):
        program(q, k[:, :length], v[:, :length], out=out)
        stats = context.stats()
        now = stats.memory_bytes, stats.peak_memory_bytes, stats.tables_built
        first = first or now
        assert now == first, f"at {length} keys"
