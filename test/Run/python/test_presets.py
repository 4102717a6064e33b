# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Presets: what they stand for, that it runs, and what they refuse."""

import itertools

import numpy as np
import pytest

import ringlet
from conftest import attention
from ringlet import Branch, presets

F32 = {"rtol": 2e-5, "atol": 2e-5}
# A prime length, heads that no count of branches divides, small lists.
LENGTH, HEADS = 61, 5
SEGMENTS, RATES = [8, 16, 32], [1, 2, 4]


def tensors(rng, heads=HEADS):
    return rng.standard_normal((3, 1, LENGTH, heads, 16), dtype=np.float32)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "preset",
    [
        presets.longnet(SEGMENTS, RATES),
        presets.torchscale(SEGMENTS, RATES),
        presets.grouped(SEGMENTS, RATES, heads=HEADS),
        presets.dense(),
        presets.window(9, 3),
    ],
    ids=["longnet", "torchscale", "grouped", "dense", "window"],
)
def test_presets_compute_what_their_branches_say(rng, preset, causal):
    q, k, v = tensors(rng)
    out, lse = ringlet.attention(q, k, v, **preset, causal=causal)
    keywords = dict(preset)
    scale = keywords.pop("output_scale", 1)
    want, want_lse = attention(q, k, v, **keywords, causal=causal)
    np.testing.assert_allclose(out, scale * want, **F32)
    np.testing.assert_allclose(lse, want_lse, **F32)


def test_presets_differ(rng):
    """No two of them are one function under two names."""
    q, k, v = tensors(rng, heads=4)
    outputs = [
        ringlet.attention(q, k, v, **each)[0]
        for each in (
            presets.longnet(SEGMENTS, RATES),
            presets.torchscale(SEGMENTS, RATES),
            presets.grouped(SEGMENTS, RATES, heads=4),
            presets.dense(),
            presets.window(9, 3),
        )
    ]
    for one, other in itertools.combinations(outputs, 2):
        assert np.abs(one - other).max() > 0.1


def test_what_presets_stand_for():
    assert presets.longnet([8, None], [1, 2]) == {
        "branches": (Branch(8, 1), Branch(None, 2))
    }
    assert presets.torchscale([8], [2]) == {"branches": (Branch(8, 2, "block"),)}
    counted = presets.torchscale([8], [2], padding="counted")
    assert counted == {"branches": (Branch(8, 2, "block", padding="counted"),)}
    # The first 16 mod 3 groups have a head more.
    assert presets.grouped(*presets.BASE, heads=16) == {
        "branches": (
            Branch(2048, 1, 0, (0, 6)),
            Branch(4096, 2, 1, (6, 11)),
            Branch(8192, 4, 2, (11, 16)),
        ),
        "mix": "sum",
        "output_scale": 1 / 3,
    }
    # Numbers of numpy are numbers.
    assert presets.longnet(np.array([8, 16]), np.array([1, 2])) == presets.longnet(
        [8, 16], [1, 2]
    )


def test_grouped_heads_are_each_in_one_group():
    for heads, count in itertools.product(range(1, 20), range(1, 7)):
        if heads < count:
            continue
        preset = presets.grouped([8] * count, [1] * count, heads=heads)
        groups = [range(*each.heads) for each in preset["branches"]]
        assert [*itertools.chain(*groups)] == [*range(heads)]
        sizes = [len(each) for each in groups]
        larger = heads % count
        assert sizes == [heads // count + 1] * larger + [heads // count] * (
            count - larger
        )


def test_lists():
    """What the lists promise of rows and keys."""
    lists = {
        name: getattr(presets, name) for name in ("BASE", "SPARSE", "LARGE", "LONG")
    }
    keys = {"BASE": 2048, "SPARSE": 2048, "LARGE": 8192, "LONG": 4096}
    for name, (segments, rates) in lists.items():
        assert {w // r for w, r in zip(segments, rates)} == {keys[name]}
    assert all(
        (min(each.rates) == 1) == (name in ("BASE", "LARGE"))
        for name, each in lists.items()
    )


def test_up_to():
    assert presets.up_to(1) == presets.up_to(2048) == ((2048,), (1,))
    assert presets.up_to(2049) == ((2048, 4096), (1, 2))
    assert presets.up_to(8192) == presets.BASE
    assert presets.up_to(100, first=30) == ((30, 60, 120), (1, 2, 4))
    segments, rates = presets.up_to(10**6)
    assert segments[-2] < 10**6 <= segments[-1]
    # A row of a head is in one of r: keys for each row, on average.
    assert sum(w / r / r for w, r in zip(segments, rates)) < 2 * 2048


def test_named_lists_run(rng):
    """Rows before and behind an end of segments, in sequences beyond some."""
    q, k, v = rng.standard_normal((3, 1, 8300, 4, 8), dtype=np.float32)
    for lists in (
        presets.BASE,
        presets.SPARSE,
        presets.LARGE,
        presets.LONG,
        presets.up_to(8300),
    ):
        preset = presets.longnet(*lists)
        out, lse = ringlet.attention(q, k, v, **preset, causal=True)
        for begin, end in (8180, 8200), (8292, 8300):
            want, want_lse = attention(
                q[:, begin:end], k[:, :end], v[:, :end], preset["branches"], True
            )
            np.testing.assert_allclose(out[:, begin:end], want, **F32)
            np.testing.assert_allclose(lse[:, :, begin:end], want_lse, **F32)


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: presets.longnet([8, 16, 32], [1, 2]),
            "expected one rate for each of one or more segments, found 3 segments "
            "and 2 rates; the first 2 of both fit",
        ),
        (lambda: presets.torchscale([], []), "found 0 segments and 0 rates$"),
        (
            lambda: presets.longnet([8, 2], [1, 4]),
            r"expected a rate of at most the segment length 2, found 4 \(B1\); "
            "the nearest is 2",
        ),
        (
            lambda: presets.longnet([8], [0]),
            r"expected a rate of at least 1, found 0 \(B1\); the nearest is 1",
        ),
        (
            lambda: presets.longnet([-8], [1]),
            "expected a segment of at least 1, found -8",
        ),
        (
            lambda: presets.grouped([8, 16, 32], [1, 2, 4], heads=2),
            "expected a head for each of 3 branches, found 2; the first 2 of them fit",
        ),
        (lambda: presets.up_to(0), "expected length of at least 1, found 0"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_lengths_are_whole_numbers():
    for call in (
        lambda: presets.longnet([8.5], [1]),
        lambda: presets.longnet([8], ["2"]),
        lambda: presets.window(1.5, 0),
    ):
        with pytest.raises(TypeError):
            call()


def test_branches_are_tuples_and_lists(rng):
    q, k, v = tensors(rng)
    want, _ = ringlet.attention(q, k, v, branches=[Branch(8, 2, 1, (1, 4)), (None, 1)])
    out, _ = ringlet.attention(q, k, v, branches=((8, 2, 1, [1, 4]), [None, 1]))
    np.testing.assert_array_equal(out, want)
    want, _ = attention(q, k, v, [Branch(8, 2, 1, (1, 4)), (None, 1)])
    np.testing.assert_allclose(out, want, **F32)


def test_what_a_branch_may_not_be(rng):
    q, k, v = tensors(rng)
    with pytest.raises(ValueError, match="expected .*modulo"):
        ringlet.attention(q, k, v, branches=[Branch(8, 1, "random")])
    with pytest.raises(ringlet.CompileError, match="output_scale only with mix = sum"):
        ringlet.attention(q, k, v, output_scale=0.5)
    with pytest.raises(ValueError, match="softmax"):
        ringlet.attention(q, k, v, mix="product")
