# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keys and values in pages of a pool (S4), beside the same side by side."""

import numpy as np
import pytest

import ringlet
from conftest import attention

HEADS, KEY_HEADS, DIM = 4, 2, 32
NAN = np.float32("nan")


class Pool:
    """Sequences of so many keys, spread over a pool in a random order. What no
    sequence has is NaN, and what stands in the table behind the keys no page."""

    def __init__(self, rng, lengths, rows, behind=-1, spare=2):
        self.lengths = np.array(lengths)
        pages = max(-(-max(lengths) // rows) + 1, 1)
        needed = [-(-length // rows) for length in lengths]
        order = rng.permutation(sum(needed) + spare)
        self.table = np.full((len(lengths), pages), behind, np.int32)
        shape = (len(order), rows, KEY_HEADS, DIM)
        self.k, self.v = np.full((2, *shape), NAN, np.float32)
        self.rows = rng.standard_normal((2, len(lengths), max(lengths), KEY_HEADS, DIM))
        self.rows = self.rows.astype(np.float32)
        taken = iter(order)
        for b, count in enumerate(needed):
            for i in range(count):
                page = self.table[b, i] = next(taken)
                here = slice(i * rows, min((i + 1) * rows, lengths[b]))
                for pool, side in zip((self.k, self.v), self.rows):
                    pool[page, : here.stop - here.start] = side[b, here]

    def attend(self, q, **rules):
        return ringlet.attention(
            q, self.k, self.v, page_table=self.table, lengths=(None, self.lengths), **rules
        )


def check(pool, q, found, **rules):
    for b, length in enumerate(pool.lengths):
        k, v = pool.rows[:, b : b + 1, :length]
        want = attention(q[b : b + 1], k, v, **rules)
        for one, exact in zip(found, want):
            np.testing.assert_allclose(one[b], exact.reshape(one[b].shape), rtol=0, atol=1e-5)


def queries(rng, batch, count):
    return rng.standard_normal((batch, count, HEADS, DIM), dtype=np.float32)


LENGTHS = [100, 1, 0, 257]
RULES = [
    {},
    {"causal": True},
    {"causal": True, "window": (40, 0)},
    {"branches": [(64, 1), (256, 4)], "causal": True},
    {"branches": [(None, 3)], "sink": np.ones(HEADS, np.float32)},
]


@pytest.mark.parametrize("rows", [1, 7, 16, 64, 100, 256])
def test_page_sizes(rows, rng):
    pool = Pool(rng, LENGTHS, rows)
    for count in (1, 5, 40):
        q = queries(rng, len(LENGTHS), count)
        check(pool, q, pool.attend(q, causal=True), causal=True)


@pytest.mark.parametrize("rules", RULES)
def test_rules(rules, rng):
    pool = Pool(rng, LENGTHS, 16)
    for count in (1, 33):
        q = queries(rng, len(LENGTHS), count)
        check(pool, q, pool.attend(q, **rules), **rules)


@pytest.mark.parametrize("behind", [-1, -(2**31), 2**31 - 1, 3])
def test_garbage_behind_the_end(behind, rng):
    pool = Pool(rng, LENGTHS, 16, behind=behind)
    q = queries(rng, len(LENGTHS), 3)
    check(pool, q, pool.attend(q))


def test_numbers_of_no_page(rng):
    """They count as the nearest page, whichever kind of integers has them."""
    k, v = rng.standard_normal((2, 3, 8, KEY_HEADS, DIM), dtype=np.float32)
    q = queries(rng, 1, 2)
    want = ringlet.attention(q, k, v, page_table=[[0, 2, 1]])
    for table in (
        [[-7, 2**40, 1]],
        np.array([[-7, 2**40, 1]]),
        np.array([[0, 2**63 + 1, 1]], np.uint64),
        np.array([[-7, 100, 1]], np.int8),
    ):
        for one, other in zip(ringlet.attention(q, k, v, page_table=table), want):
            assert np.array_equal(one, other)


def test_shared_pages(rng):
    """A prefix that two sequences have is there once."""
    k, v = rng.standard_normal((2, 4, 16, KEY_HEADS, DIM), dtype=np.float32)
    q = queries(rng, 2, 4)
    table = np.array([[2, 0, 1], [2, 0, 3]], np.int32)
    found = ringlet.attention(q, k, v, page_table=table, causal=True)
    beside = (each[table].reshape(2, 48, KEY_HEADS, DIM) for each in (k, v))
    want = ringlet.attention(q, *beside, causal=True)
    for one, other in zip(found, want):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)


def test_strides(rng):
    """Pools of both in one tensor, and heads in front of rows."""
    pool = Pool(rng, LENGTHS, 16)
    q = queries(rng, len(LENGTHS), 2)
    want = pool.attend(q)
    both = np.stack([pool.k, pool.v], axis=1)
    pool.k, pool.v = both[:, 0], both[:, 1]
    for one, other in zip(pool.attend(q), want):
        assert np.array_equal(one, other)
    turned = (np.ascontiguousarray(each.swapaxes(1, 2)) for each in (pool.k, pool.v))
    out, lse = ringlet.attention(
        q.swapaxes(1, 2), *turned, page_table=pool.table, lengths=(None, pool.lengths),
        layout="bhsd",
    )  # fmt: skip
    assert np.array_equal(out.swapaxes(1, 2), want[0]) and np.array_equal(lse, want[1])


def test_packed_queries(rng):
    pool = Pool(rng, LENGTHS, 16)
    counts = [3, 0, 2, 30]
    ends = np.cumsum([0, *counts])
    q = rng.standard_normal((ends[-1], HEADS, DIM), dtype=np.float32)
    key_ends = np.cumsum([0, *LENGTHS])
    for more in (
        {"starts": (ends, key_ends)},
        {"starts": (ends, None), "lengths": (None, pool.lengths)},
        {"starts": (ends, None), "lengths": (None, LENGTHS)},
        {"cu_seqlens_q": ends, "seqused_k": pool.lengths},
    ):
        out, lse = ringlet.attention(
            q, pool.k, pool.v, block_table=pool.table, causal=True, **more
        )
        for b, (begin, end) in enumerate(zip(ends, ends[1:])):
            k, v = pool.rows[:, b : b + 1, : LENGTHS[b]]
            exact, exact_lse = attention(q[None, begin:end], k, v, causal=True)
            np.testing.assert_allclose(out[begin:end], exact[0], rtol=0, atol=1e-5)
            np.testing.assert_allclose(
                lse[:, begin:end], exact_lse.reshape(HEADS, -1), rtol=0, atol=1e-5
            )


def test_growing_cache(rng):
    """No call with other lengths, tables or pools compiles again."""
    context, counts = ringlet.Context(threads=2), set()
    for lengths in ([5], [70, 33], [300, 2, 1]):
        pool = Pool(rng, lengths, 16)
        q = queries(rng, len(lengths), 1)
        check(pool, q, pool.attend(q, causal=True, context=context), causal=True)
        counts.add(len(context._loaded._values))
    assert len(counts) == 1


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"page_table": np.zeros((1, 2), np.float32)}, r"page_table as i32\[sequences, pages"),
        ({"page_table": np.zeros(2, np.int32)}, r"page_table as i32\[.*found i32\[2\].*S4"),
        ({"page_table": np.zeros((3, 2), np.int32)}, "pages of each sequence.*S4"),
        ({"starts": ([0, 1], None), "query": 3}, r"lengths as \(None, keys\).*S4"),
    ],
)
def test_refused(changes, message, rng):
    q = queries(rng, 1, 1)
    k = np.zeros((4, 16, KEY_HEADS, DIM), np.float32)
    changes = {"page_table": np.zeros((1, 2), np.int32), **changes}
    if changes.pop("query", 4) == 3:
        q = q[0]
    with pytest.raises((ValueError, ringlet.RuntimeError), match=message):
        ringlet.attention(q, k, k, **changes)


def test_refused_beside_pages(rng):
    """What says where keys lie as well, or what they are not."""
    q = queries(rng, 1, 1)
    k = np.zeros((4, 16, KEY_HEADS, DIM), np.float32)
    table = np.zeros((1, 2), np.int32)
    for more, found in (
        ({"pattern_order": ("hilbert", (8, 8))}, "a pattern_order"),
        ({"branches": [ringlet.Branch(8, 2, padding="counted")]}, "padding = counted"),
    ):
        with pytest.raises(ringlet.CompileError, match=f"beside pages, found {found}.*S4"):
            ringlet.attention(q, k, k, page_table=table, **more)
