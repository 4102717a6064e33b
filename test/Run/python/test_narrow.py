# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keys and values of 8 bits (S6), beside the same as numbers of 32."""

import numpy as np
import pytest

import ringlet
from conftest import attention

ml_dtypes = pytest.importorskip("ml_dtypes")

HEADS, KEY_HEADS, DIM = 4, 2, 32
BATCH, ROWS = 3, 150
E4M3 = ml_dtypes.float8_e4m3fn
TYPES = [E4M3, np.int8]
RULES = [
    {},
    {"causal": True},
    {"window": (9, 30)},
    {"branches": [(32, 1), (64, 4)], "causal": True},
    {"branches": [(16, 1), (48, 3)]},
    {"branches": [(32, 2), (64, 4)], "mix": "sum"},
    {"branches": [(None, 3)], "sink": np.ones(HEADS, np.float32)},
]


def draw(rng, dtype, rows=ROWS, batch=BATCH):
    """Queries, and keys and values of 8 bits."""
    q = rng.standard_normal((batch, rows, HEADS, DIM), dtype=np.float32)
    sides = rng.standard_normal((2, batch, ROWS, KEY_HEADS, DIM), dtype=np.float32)
    step = 30 if dtype == np.int8 else 1
    if dtype == np.int8:
        sides = np.rint(step * sides).clip(-128, 127)
    return q, *(each.astype(dtype) for each in sides)


def scales_of(rng, dtype, *batch):
    unit = 1 / 30 if dtype == np.int8 else 1
    sizes = (2, *batch, KEY_HEADS)
    return (unit * rng.uniform(-1.5, 1.5, sizes)).astype(np.float32)


def wide(tensor, scale):
    """What it stands for."""
    scale = np.asarray(scale, np.float32)
    return tensor.astype(np.float32) * scale[..., None, :, None] if scale.ndim == 2 else (
        tensor.astype(np.float32) * scale[:, None]
    )


def check(found, want, atol=3e-5):
    for one, exact in zip(found, want):
        np.testing.assert_allclose(one.astype(np.float32), exact, rtol=0, atol=atol)


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("dtype", TYPES)
def test_as_wide_ones(rng, dtype, rules):
    q, k, v = draw(rng, dtype, rows=60)
    for ks, vs in (scales_of(rng, dtype), scales_of(rng, dtype, BATCH)):
        found = ringlet.attention(q, k, v, k_scale=ks, v_scale=vs, **rules)
        check(found, attention(q, wide(k, ks), wide(v, vs), **rules))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("rows", [1, 5])
def test_few_queries(rng, dtype, rows):
    q, k, v = draw(rng, dtype, rows)
    ks, vs = scales_of(rng, dtype)
    found = ringlet.attention(q, k, v, k_scale=ks, v_scale=vs, causal=True)
    check(found, attention(q, wide(k, ks), wide(v, vs), causal=True))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("queries", [np.float16, ml_dtypes.bfloat16])
def test_types_of_queries(rng, dtype, queries):
    """The same bits as keys and values of the queries' type, which hold each number."""
    q, k, v = draw(rng, dtype)
    q = q.astype(queries)
    same = ringlet.attention(q, k.astype(queries), v.astype(queries), causal=True, scale=0.01)
    found = ringlet.attention(q, k, v, causal=True, scale=0.01)
    for one, other in zip(found, same):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("queries", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_every_value(dtype, queries):
    """Each sequence has one key: output is its value, NaN too, and lse the number that
    the query picks of its key."""
    for width in (1, 16, 40):
        bits = np.arange(256)[:, None] + 5 * np.arange(width)
        values = bits.astype(np.uint8).view(dtype).reshape(256, 1, 1, width)
        q = np.zeros((256, 1, 1, width), queries)
        q[..., 0] = 1
        exact = values.astype(np.float32)
        # Keys are numbers: an lse that is none says nothing.
        k = np.where(np.isnan(exact), 0, exact).astype(dtype)
        out, lse = ringlet.attention(q, k, values, scale=1.0)
        np.testing.assert_array_equal(out.astype(np.float32), exact)
        want = k.astype(np.float32)[:, 0, 0, 0]
        np.testing.assert_allclose(lse[:, 0, 0], want, rtol=2e-7, atol=0)


def test_nan_stays_nan(rng):
    q, k, v = draw(rng, E4M3)
    v[1, 7, 1, 3] = np.nan
    out, _ = ringlet.attention(q, k, v)
    assert np.isnan(out[1, :, 2:, 3]).all()
    out[1, :, 2:, 3] = 0
    assert np.isfinite(out).all()


def test_in_pages_that_begin_later(rng):
    q, k, v = draw(rng, E4M3, rows=6)
    ks, vs = scales_of(rng, E4M3, BATCH)
    begins, ends, page = [0, 37, 64], [150, 120, 101], 30
    order = rng.permutation(BATCH * ROWS // page)
    pools = [np.empty((len(order), page, *each.shape[2:]), E4M3) for each in (k, v)]
    for pool, each in zip(pools, (k, v)):
        pool[order] = each.reshape(pool.shape)
    found = ringlet.attention(
        q, *pools, page_table=order.reshape(BATCH, -1).astype(np.int32), causal=True,
        key_begins=begins, lengths=(None, ends), k_scale=ks, v_scale=vs,
    )  # fmt: skip
    for b in range(BATCH):
        one, rows = slice(b, b + 1), slice(begins[b], ends[b])
        sides = [wide(each[one, rows], s[b]) for each, s in ((k, ks), (v, vs))]
        want = attention(q[one], *sides, causal=True)
        check([found[0][one], found[1][one]], want)


def test_packed(rng):
    q, k, v = (each[0] for each in draw(rng, np.int8))
    starts, rows = [0, 40, 40, 150], 3
    ks, vs = scales_of(rng, np.int8, rows)
    out, lse = ringlet.attention(q, k, v, starts=starts, causal=True, k_scale=ks, v_scale=vs)
    for b, (begin, end) in enumerate(zip(starts, starts[1:])):
        some = slice(begin, end)
        if begin == end:
            continue
        sides = [wide(each[some], s[b]) for each, s in ((k, ks), (v, vs))]
        want = attention(q[None, some], *(each[None] for each in sides), causal=True)
        check([out[None, some], lse[None, :, some]], want)


def test_ways_to_say_scales(rng):
    q, k, v = draw(rng, np.int8)
    want = ringlet.attention(q, k, v, k_scale=np.full(KEY_HEADS, 0.1, np.float32))
    for scale in (0.1, [0.1] * KEY_HEADS, np.full((BATCH, KEY_HEADS), 0.1, np.float32),
                  np.float32(0.1), np.full(1, 0.1, np.float32), [[0.1] * KEY_HEADS] * BATCH):  # fmt: skip
        for name in ("k_scale", "k_descale"):
            found = ringlet.attention(q, k, v, **{name: scale})
            check(found, want, atol=0)
    # Bits of e4m3 without a package that knows it.
    q, k, v = draw(rng, E4M3)
    want = ringlet.attention(q, k, v)
    bits = [ringlet.bits(each.view(np.uint8), "f8E4M3FN") for each in (k, v)]
    check(ringlet.attention(q, *bits), want, atol=0)
    # Without effect, as vLLM hands it on.
    wide_ones = [each.astype(np.float32) for each in (k, v)]
    ringlet.attention(q, *wide_ones, k_scale=1.0, v_scale=1.0, q_descale=None)


@pytest.mark.parametrize(
    "keywords, text",
    [
        ({"k_scale": [1.0] * 3}, r"k_scale of each of the 2 heads of key, found f32\[3\] \(S6\)"),
        ({"v_scale": np.ones((3, 4), "f4")}, r"v_scale of each of the 2 heads of key"),
        ({"v_scale": np.ones((3, 2), "f8")}, r"expected v_scale as f32\[sequences, heads\], found f64"),
        ({"v_scale": np.ones((4, 2), "f4")}, r"expected v_scale of each sequence"),
        ({"q_descale": [1.0, 1.0]}, r"queries have 16 or 32 bits"),
    ],
)
def test_refusals(rng, keywords, text):
    with pytest.raises((ValueError, ringlet.Error), match=text):
        ringlet.attention(*draw(rng, np.int8), **keywords)


def test_refused_types(rng):
    q, k, v = draw(rng, E4M3)
    with pytest.raises(ValueError, match=r"expected key and value of f8E4M3FN or i8 beside k_scale"):
        ringlet.attention(q, q, q, k_scale=[2.0] * HEADS)
    with pytest.raises(ValueError, match=r"expected value as f8E4M3FN"):
        ringlet.attention(q, k, v.view(np.int8))
    with pytest.raises(ValueError, match=r"expected key as .*found u8.*ringlet.bits\(\) says"):
        ringlet.attention(q, k.view(np.uint8), v.view(np.uint8))
    with pytest.raises(ValueError, match=r"expected query as f16 or bf16 or f32"):
        ringlet.attention(k, k, v)
