# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keys that begin later (S5), beside each sequence alone."""

import numpy as np
import pytest

import ringlet
from conftest import attention

HEADS, KEY_HEADS, DIM = 4, 2, 32
ROWS = 150
BEGINS = [0, 37, 149, 150, 64]
NAN = np.float32("nan")
RULES = [
    {},
    {"causal": True},
    {"causal": True, "window": (40, 0)},
    {"window": (9, 30)},
    {"branches": [(32, 1), (64, 4)], "causal": True},
    {"branches": [(32, 2)], "mix": "sum"},
    {"branches": [(None, 3)], "sink": np.ones(HEADS, np.float32)},
]


def draw(rng, rows, heads):
    return rng.standard_normal((len(BEGINS), rows, heads, DIM), dtype=np.float32)


@pytest.fixture
def cache(rng):
    """Keys and values, which are no numbers before each sequence."""
    k, v = draw(rng, ROWS, KEY_HEADS), draw(rng, ROWS, KEY_HEADS)
    for b, begin in enumerate(BEGINS):
        k[b, :begin] = v[b, :begin] = NAN
    return k, v


def alone(q, k, v, begins, ends, **rules):
    """What each sequence is by itself."""
    parts = [
        attention(q[b : b + 1], k[b : b + 1, begin:end], v[b : b + 1, begin:end], **rules)
        for b, (begin, end) in enumerate(zip(begins, ends))
    ]
    return [np.concatenate(each, axis=-4 if i == 0 else -3) for i, each in enumerate(zip(*parts))]


def check(found, want):
    for one, exact in zip(found, want):
        np.testing.assert_allclose(one, exact, rtol=0, atol=2e-5)


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("queries", [1, 5, 40, ROWS])
def test_alone(rng, cache, queries, rules):
    q = draw(rng, queries, HEADS)
    found = ringlet.attention(q, *cache, key_begins=np.array(BEGINS, np.int32), **rules)
    check(found, alone(q, *cache, BEGINS, [ROWS] * len(BEGINS), **rules))


def test_lengths_say_where_keys_end(rng, cache):
    ends = [100, 37, 150, 3, 90]
    q = draw(rng, 7, HEADS)
    found = ringlet.attention(
        q, *cache, key_begins=BEGINS, lengths=(None, ends), causal=True
    )
    check(found, alone(q, *cache, BEGINS, ends, causal=True))
    # The second has none at all, and neither has one that begins behind its end.
    for b in (1, 3):
        assert not found[0][b].any() and np.isneginf(found[1][b]).all()


def test_positions_count_from_the_begin(rng, cache):
    """A q_offset, for all or for each, segments and grids."""
    q = draw(rng, 20, HEADS)
    ends = [ROWS] * len(BEGINS)
    for rules in (
        {"q_offset": 10, "causal": True},
        {"q_offset": 10, "branches": [(16, 2)]},
        {"q_offset": 3, "window": (5, 5)},
    ):
        found = ringlet.attention(q, *cache, key_begins=BEGINS, **rules)
        check(found, alone(q, *cache, BEGINS, ends, **rules))
    offsets = [4, 0, 7, -30, 60]
    found = ringlet.attention(q, *cache, key_begins=BEGINS, q_offset=offsets, causal=True)
    parts = [
        attention(
            q[b : b + 1], *(each[b : b + 1, begin:] for each in cache),
            q_offset=offset, causal=True,
        )
        for b, (begin, offset) in enumerate(zip(BEGINS, offsets))
    ]  # fmt: skip
    check(found, [np.concatenate(each) for each in zip(*parts)])


def test_prompts_padded_in_front(rng):
    """Queries are padded alike: rows of padding are 0, the others those of the prompt
    alone."""
    q, k, v = draw(rng, 90, HEADS), draw(rng, 90, KEY_HEADS), draw(rng, 90, KEY_HEADS)
    begins = [0, 31, 89, 90, 64]
    for b, begin in enumerate(begins):
        q[b, :begin] = k[b, :begin] = v[b, :begin] = NAN
    q = np.nan_to_num(q)
    out, lse = ringlet.attention(q, k, v, key_begins=begins, causal=True, branches=[(32, 2)])
    for b, begin in enumerate(begins):
        assert not out[b, :begin].any() and np.isneginf(lse[b, :, :begin]).all()
        sides = (each[b : b + 1, begin:] for each in (q, k, v))
        want = attention(*sides, causal=True, branches=[(32, 2)])
        check((out[b : b + 1, begin:], lse[b : b + 1, :, begin:]), want)


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.int16, np.uint64, list])
def test_types(rng, cache, kind):
    q = draw(rng, 3, HEADS)
    begins = list(BEGINS) if kind is list else np.array(BEGINS, kind)
    found = ringlet.attention(q, *cache, key_begins=begins, causal=True)
    check(found, alone(q, *cache, BEGINS, [ROWS] * len(BEGINS), causal=True))


def test_numbers_of_no_row(rng):
    q, k, v = draw(rng, 5, HEADS), draw(rng, 80, KEY_HEADS), draw(rng, 80, KEY_HEADS)
    for kind in np.int32, np.int64:
        limits = np.iinfo(kind)
        begins = np.array([-1, 81, limits.min, limits.max, 80], kind)
        found = ringlet.attention(q, k, v, key_begins=begins, causal=True)
        check(found, alone(q, k, v, [0, 80, 0, 80, 80], [80] * 5, causal=True))


@pytest.mark.parametrize("rows", [1, 7, 16, 64])
def test_pages(rng, cache, rows):
    """Pages before the first key are nobody's."""
    of_each = -(-ROWS // rows)
    order = rng.permutation(len(BEGINS) * of_each)
    table = order.reshape(len(BEGINS), of_each).astype(np.int32)
    pools = np.full((2, order.size, rows, KEY_HEADS, DIM), NAN, np.float32)
    for b, i in np.ndindex(table.shape):
        for pool, side in zip(pools, cache):
            part = side[b, i * rows : (i + 1) * rows]
            pool[table[b, i], : len(part)] = part
        if (i + 1) * rows <= BEGINS[b]:
            table[b, i] = -(2**31)
    ends = [ROWS] * len(BEGINS)
    for queries in (1, 33):
        q = draw(rng, queries, HEADS)
        found = ringlet.attention(
            q, *pools, page_table=table, key_begins=BEGINS, lengths=(None, ends),
            causal=True,
        )  # fmt: skip
        check(found, alone(q, *cache, BEGINS, ends, causal=True))


def test_as_others_call_it(rng, cache):
    q = draw(rng, 2, HEADS)
    used = np.array([100, 60, 150, 150, 70], np.int32)
    begins = np.array(BEGINS, np.int32)
    want = ringlet.attention(q, *cache, key_begins=begins, lengths=(None, used))
    for name in "leftpad_k", "cache_leftpad":
        found = ringlet.attention(q, *cache, cache_seqlens=used, **{name: begins})
        for one, other in zip(found, want):
            np.testing.assert_array_equal(one, other)
    same = ringlet.attention(q, *cache, key_begins=begins, cache_seqlens=100)
    want = ringlet.attention(q, *cache, key_begins=begins, lengths=(None, [100] * 5))
    for one, other in zip(same, want):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"key_begins": np.zeros(5, np.float32)}, r"key_begins as i32\[batch\], .*S5"),
        ({"key_begins": np.zeros((5, 1), np.int32)}, r"key_begins as i32\[batch\], .*S5"),
        ({"key_begins": 3}, r"key_begins as i32\[batch\] or a list, found 3 \(S5\)"),
        ({"key_begins": [0, 0]}, "a begin of keys for each sequence.*S5"),
        (
            {"branches": [ringlet.Branch(16, 2, padding="counted")]},
            "beside padding = counted, found key_begins .B7",
        ),
    ],
)
def test_refused(rng, cache, changes, message):
    q = draw(rng, 2, HEADS)
    kinds = TypeError, ValueError, ringlet.CompileError, ringlet.Error
    with pytest.raises(kinds, match=message):
        ringlet.attention(q, *cache, **{"key_begins": BEGINS, **changes})


def test_not_of_packed(rng):
    q = rng.standard_normal((9, 4, DIM), dtype=np.float32)
    with pytest.raises(ringlet.CompileError, match="key_begins, found packed ones.*S5"):
        ringlet.attention(q, q, q, starts=[0, 4, 9], key_begins=[0, 1])
