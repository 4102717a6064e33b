# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keys of zeros that count (B7), beside calls on tensors that really have them."""

import numpy as np
import pytest

import ringlet
from conftest import attention
from ringlet import Branch, presets

F32 = {"rtol": 2e-5, "atol": 2e-5}


def padded(x, multiple, axis):
    widths = [(0, 0)] * x.ndim
    widths[axis] = (0, -x.shape[axis] % multiple)
    return np.pad(x, widths)


def by_one_branch(q, k, v, w, r):
    """Output and lse of one branch as torchscale has them: tensors are filled with
    zeros up to whole segments, segments up to a multiple of r; head h sees residue
    h / ceil(heads / r), and what a call of dense attention makes of these rows goes
    back to where they were."""
    length, heads = q.shape[1:3]
    w = min(w, length)

    def rows_of(x, head):
        segments = padded(x[0, :, head], w, 0).reshape(-1, w, x.shape[3])
        own = padded(segments, r, 1)[:, head // -(-heads // r) :: r]
        return np.ascontiguousarray(own[:, :, None])

    out = np.zeros((1, length, heads, v.shape[3]), np.float32)
    lse = np.full((1, heads, length), -np.inf, np.float32)
    for head in range(heads):
        o = head // -(-heads // r)
        part, part_lse = ringlet.attention(*(rows_of(x, head) for x in (q, k, v)))
        for segment in range(part.shape[0]):
            rows = np.arange(segment * w + o, min((segment + 1) * w, length), r)
            out[0, rows, head] = part[segment, : len(rows), 0]
            lse[0, head, rows] = part_lse[segment, 0, : len(rows)]
    return out, lse


def by_branches(q, k, v, segments, rates):
    parts = [by_one_branch(q, k, v, w, r) for w, r in zip(segments, rates)]
    lses = np.stack([lse for _, lse in parts]).astype(np.float64)
    lse = np.logaddexp.reduce(lses, axis=0)
    weights = np.exp(lses - np.where(np.isinf(lse), 0, lse)).transpose(0, 1, 3, 2)
    outs = np.stack([out for out, _ in parts])
    return (weights[..., None] * outs).sum(axis=0), lse


@pytest.mark.parametrize("length", [61, 64, 5, 33])
@pytest.mark.parametrize(
    "segments, rates",
    [([8, 16, 32], [1, 2, 4]), ([7, 21], [1, 3]), ([10, 100], [4, 3]), ([64], [5])],
)
def test_torchscale_counts_keys_of_zeros(rng, segments, rates, length):
    q, k, v = rng.standard_normal((3, 1, length, 8, 16), dtype=np.float32)
    preset = presets.torchscale(segments, rates, padding="counted")
    out, lse = ringlet.attention(q, k, v, **preset)
    want, want_lse = by_branches(q, k, v, segments, rates)
    np.testing.assert_allclose(out, want, **F32)
    np.testing.assert_allclose(lse, want_lse, **F32)


def test_padding_is_seen_where_segments_are_short(rng):
    """61 tokens fill neither segments of 16 nor a multiple of 2, 64 do both."""
    for length, differs in ((61, True), (64, False)):
        q, k, v = rng.standard_normal((3, 1, length, 4, 16), dtype=np.float32)
        lists = [16], [2]
        with_it, _ = ringlet.attention(
            q, k, v, **presets.torchscale(*lists, padding="counted")
        )
        without, _ = ringlet.attention(q, k, v, **presets.torchscale(*lists))
        assert (np.abs(with_it - without).max() > 0.01) == differs


@pytest.mark.parametrize("mix", ["softmax", "sum"])
@pytest.mark.parametrize("has_sink", [False, True])
@pytest.mark.parametrize("q_offset", [None, -5, 40])
@pytest.mark.parametrize("causal", [False, True])
def test_padding_beside_other_clauses(rng, mix, has_sink, q_offset, causal):
    q = rng.standard_normal((2, 23, 6, 16), dtype=np.float32)
    k, v = rng.standard_normal((2, 2, 61, 3, 16), dtype=np.float32)
    branches = (
        Branch(16, 1, padding="counted"),
        Branch(24, 5, "block", (1, 5), "query", "counted"),
        Branch(None, 4, 1),
        Branch(None, 7, 3, padding="counted"),
    )
    sink = rng.standard_normal(6, dtype=np.float32) if has_sink else None
    clauses = {"sink": sink, "mix": mix, "q_offset": q_offset, "causal": causal}
    out, lse = ringlet.attention(q, k, v, branches=branches, **clauses)
    want, want_lse = attention(q, k, v, branches, **clauses)
    np.testing.assert_allclose(out, want, **F32)
    np.testing.assert_allclose(lse, want_lse, **F32)


def test_few_queries_count_padding(rng):
    """A step of decoding has kernels of its own."""
    q = rng.standard_normal((1, 2, 4, 64), dtype=np.float32)
    k, v = rng.standard_normal((2, 1, 5001, 4, 64), dtype=np.float32)
    branches = (Branch(2048, 1, padding="counted"), Branch(None, 4, padding="counted"))
    out, lse = ringlet.attention(q, k, v, branches=branches)
    want, want_lse = attention(q, k, v, branches)
    np.testing.assert_allclose(out, want, **F32)
    np.testing.assert_allclose(lse, want_lse, **F32)


@pytest.mark.parametrize(
    "call, message",
    [
        ({"branches": [Branch(8, 1, padding="some")]}, "found 'some' .B7.$"),
        ({"window": 3}, "found a window .B7."),
        ({"lengths": [9]}, "found lengths .B7."),
    ],
)
def test_refusals(rng, call, message):
    q, k, v = rng.standard_normal((3, 1, 9, 2, 16), dtype=np.float32)
    call = {"branches": [Branch(8, 1, padding="counted")], **call}
    with pytest.raises((ValueError, ringlet.CompileError), match=message):
        ringlet.attention(q, k, v, **call)
