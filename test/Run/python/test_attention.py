# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ringlet.attention: what every keyword computes, and what it refuses."""

import numpy as np
import pytest

import ringlet
from conftest import attention, torch_attention

F32 = dict(rtol=1e-4, atol=2e-6)


def tensors(rng, *shapes):
    return [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]


def close(found, wanted):
    for one, other in zip(found, wanted):
        np.testing.assert_allclose(one, other, **F32)


def i64(*numbers):
    return np.array(numbers, np.int64)


def test_without_a_graph(rng):
    q = rng.standard_normal((2, 41, 4, 16), dtype=np.float32)
    k, v = (rng.standard_normal((2, 57, 2, 16), dtype=np.float32) for _ in range(2))
    for branches in [(None, 1)], [(24, 1), (48, 2)], [(16, 4)]:
        for causal in False, True:
            out, lse = ringlet.attention(q, k, v, branches=branches, causal=causal)
            want, want_lse = attention(q, k, v, branches, causal)
            np.testing.assert_allclose(out, want, **F32)
            np.testing.assert_allclose(lse, want_lse, **F32)
    # Every clause: scores of 0, of one key, and between two bounds.
    out, _ = ringlet.attention(q, k, v, scale=0.0)
    np.testing.assert_allclose(out[:, 0, ::2], v.mean(1), **F32)
    out, lse = ringlet.attention(q, k, v, window=(0, 0))
    np.testing.assert_array_equal(out[:, :, ::2], v[:, 16:])
    _, capped = ringlet.attention(q, k, v, window=(0, 0), softcap=0.5)
    np.testing.assert_allclose(capped, 0.5 * np.tanh(lse / 0.5), **F32)


def test_is_compiled_once_for_any_length(rng, compiled):
    q = rng.standard_normal((1, 9, 1, 8), dtype=np.float32)
    for length in 9, 5, 1:
        ringlet.attention(q, q[:, :length], q[:, :length], branches=[[9, 3]])
    assert len(compiled) == 1
    ringlet.clear_cache()
    ringlet.attention(q, q, q, branches=[[9, 3]])
    assert len(compiled) == 2


def test_sizes_of_the_call(rng, compiled):
    """w and r that are arrays without axes are compiled for once, those that are
    numbers each time; a branch may have one of each."""
    q, k = tensors(rng, (1, 61, 4, 16), (1, 83, 2, 16))
    for w, r in (1, 1), (24, 5), (83, 2), (2**40, 3):
        for given in (
            [(np.array(w), np.array(r, "u1"))],
            [(np.array(w), 1), (None, np.array(r, "i4"))],
        ):
            found = ringlet.attention(q, k, k, branches=given, causal=True)
            close(found, attention(q, k, k, [
                (each[0] and int(each[0]), int(each[1])) for each in given
            ], True))  # fmt: skip
    assert len(compiled) == 2
    for w, r in (24, 5), (np.int64(83), np.int32(2)):
        ringlet.attention(q, k, k, branches=[(w, r)], causal=True)
    assert len(compiled) == 4
    with pytest.raises(ringlet.RuntimeError, match=r"r of branch 0 .* 6 and 5 \(B1\)"):
        ringlet.attention(q, k, k, branches=[(np.array(5), np.array(6))])
    with pytest.raises(ValueError, match=r"w_of_branch_0 as an integer, found f32\[\] "):
        ringlet.attention(q, k, k, branches=[(np.array(5, "f4"), 6)])


@pytest.mark.parametrize("offset", ["modulo", "block", 2])
def test_heads_that_an_offset_counts(rng, offset):
    q, k = tensors(rng, (1, 30, 6, 16), (1, 30, 2, 16))
    outputs = []
    for by in "key", "query":
        branches = [ringlet.Branch(12, 3, offset, by=by)]
        found = ringlet.attention(q, k, k, branches=branches)
        close(found, attention(q, k, k, branches))
        outputs.append(found[0])
    assert (offset == 2) == np.array_equal(*outputs)


def test_integers_of_any_width(rng, compiled):
    """Those that are not i64 are copied, lists are made arrays of."""
    q, k = tensors(rng, (50, 4, 16), (50, 2, 16))
    numbers = i64(0, 9, 9, 40)
    wanted = ringlet.attention(q, k, k, starts=numbers, causal=True)
    for starts in (
        *(numbers.astype(each) for each in ("i4", "i2", "i1", "u1", "u4", "u8", ">i4")),
        numbers.tolist(), tuple(numbers), [np.array(each) for each in numbers],
        (numbers.tolist(), numbers.astype("i4")), (numbers, list(numbers)),
        np.repeat(numbers.astype("i4"), 2)[::2], numbers[::-1].astype("i4")[::-1],
    ):  # fmt: skip
        found = ringlet.attention(q, k, k, starts=starts, causal=True)
        for one, other in zip(found, wanted):
            np.testing.assert_array_equal(one, other)
    q, k = tensors(rng, (2, 30, 4, 16), (2, 50, 2, 16))
    lengths, keys = i64(7, 30), i64(50, 20)
    for given in (
        (lengths.tolist(), keys.astype("i4")),
        (lengths, [50, 20]),
    ):
        found = ringlet.attention(q, k, k, lengths=given, q_offset=[3, 4])
        wanted = ringlet.attention(q, k, k, lengths=(lengths, keys), q_offset=i64(3, 4))
        np.testing.assert_array_equal(found[0], wanted[0])
    for given, other in (
        ((lengths, None), (lengths, i64(50, 50))),
        ((None, keys.astype("i2")), (i64(30, 30), keys)),
    ):
        found = ringlet.attention(q, k, k, lengths=given)
        wanted = ringlet.attention(q, k, k, lengths=other)
        np.testing.assert_array_equal(found[0], wanted[0])
    for offset in np.array(3), np.array(3, "i2"), np.int8(3):
        found = ringlet.attention(q, k, k, causal=True, q_offset=offset)
        wanted = ringlet.attention(q, k, k, causal=True, q_offset=3)
        np.testing.assert_array_equal(found[0], wanted[0])


def test_lists_of_numbers_and_masks(rng):
    q, k = tensors(rng, (1, 30, 2, 16), (1, 30, 2, 16))
    shows = [[True, False, True, False], [False, True, True, True]]
    found = ringlet.attention(q, k, k, sink=[0.5, -1], block_mask=(shows, (16, 8)))
    wanted = ringlet.attention(
        q, k, k, sink=np.array([0.5, -1], "f4"), block_mask=(np.array(shows), (16, 8))
    )
    np.testing.assert_array_equal(found[0], wanted[0])


def test_one_number_is_a_window(rng):
    q, k = tensors(rng, (1, 30, 2, 16), (1, 30, 2, 16))
    for causal in False, True:
        found = ringlet.attention(q, k, k, window=4, causal=causal)
        close(found, attention(q, k, k, window=(4, 4), causal=causal))
    unlimited, none = (ringlet.attention(q, k, k, window=each)[0] for each in (-1, None))
    np.testing.assert_array_equal(unlimited, none)


def test_heads_before_rows(rng):
    """layout="bhsd" is a view of the same, in and out."""
    q, k = tensors(rng, (2, 30, 4, 16), (2, 50, 2, 24))
    wanted = ringlet.attention(q, k[..., :16], k, causal=True)
    turned = [each.swapaxes(1, 2).copy() for each in (q, k[..., :16], k)]
    out, lse = ringlet.attention(*turned, causal=True, layout="bhsd")
    assert out.shape == (2, 4, 30, 24) and lse.shape == (2, 4, 30)
    np.testing.assert_array_equal(out.swapaxes(1, 2), wanted[0])
    np.testing.assert_array_equal(lse, wanted[1])
    given = np.zeros((2, 4, 30, 24), "f4"), np.zeros_like(lse)
    out, _ = ringlet.attention(*turned, causal=True, layout="bhsd", out=given)
    np.testing.assert_array_equal(given[0].swapaxes(1, 2), wanted[0])
    with pytest.raises(ValueError, match="expected layout as 'bshd' or 'bhsd', found"):
        ringlet.attention(*turned, layout="sbhd")
    with pytest.raises(ValueError, match="4 axes .* beside layout 'bhsd', found ndarray"):
        ringlet.attention(q[0], q[0], q[0], layout="bhsd")


@pytest.mark.parametrize("mix", ["softmax", "sum"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("is_pair", [False, True])
def test_packed(rng, is_pair, causal, mix):
    """Each sequence is as it is alone: empty ones, one of more queries than keys, and
    tokens behind the last one, which are NaN."""
    starts = i64(0, 9, 9, 40, 41)
    key_starts = i64(0, 5, 12, 53, 53) if is_pair else starts
    q, k, v = tensors(rng, (50, 4, 16), (60, 2, 16), (60, 2, 24))
    for each, end in (q, starts[-1]), (k, key_starts[-1]), (v, key_starts[-1]):
        each[end:] = np.nan
    branches = ((12, 1), (24, 2))
    out, lse = ringlet.attention(
        q, k, v, branches=branches, causal=causal, mix=mix,
        starts=(starts, key_starts) if is_pair else starts,
    )  # fmt: skip
    assert out.shape == (50, 4, 24)
    assert lse.shape == ((2, 4, 50) if mix == "sum" else (4, 50))
    for a, b, c, d in zip(starts, starts[1:], key_starts, key_starts[1:]):
        want, want_lse = attention(
            *(q[None, a:b], k[None, c:d], v[None, c:d], branches, causal), mix=mix
        )
        close((out[a:b], lse[..., a:b]), (want[0], want_lse[..., 0, :, :]))
    assert not out[starts[-1] :].any()
    assert (lse[..., starts[-1] :] == -np.inf).all()


@pytest.mark.parametrize("is_pair", [False, True])
def test_padded(rng, is_pair):
    """Rows from a length on are NaN and have no effect; a length may be 0."""
    lengths = i64(31, 0, 7)
    key_lengths = i64(50, 20, 0) if is_pair else lengths
    q, k, v = tensors(rng, (3, 31, 4, 16), (3, 50, 4, 16), (3, 50, 4, 16))
    for b in range(3):
        q[b, lengths[b] :] = np.nan
        k[b, key_lengths[b] :] = v[b, key_lengths[b] :] = np.nan
    out, lse = ringlet.attention(
        q, k, v, branches=[(16, 2)], window=(9, 4),
        lengths=(lengths, key_lengths) if is_pair else [lengths, lengths],
    )  # fmt: skip
    for b, (m, n) in enumerate(zip(lengths, key_lengths)):
        want, want_lse = attention(
            *(q[b : b + 1, :m], k[b : b + 1, :n], v[b : b + 1, :n], [(16, 2)]),
            window=(9, 4),
        )
        close((out[b, :m], lse[b, :, :m]), (want[0], want_lse[0]))
        assert not out[b, m:].any() and (lse[b, :, m:] == -np.inf).all()


@pytest.mark.parametrize("offset", [0, 20, -3, np.int64(51), [0, 40], [-9, 17]])
def test_q_offset(rng, offset):
    q, k, v = tensors(rng, (2, 7, 2, 16), (2, 57, 2, 16), (2, 57, 2, 16))
    given = i64(*offset) if isinstance(offset, list) else offset
    found = ringlet.attention(q, k, v, q_offset=given, causal=True, branches=[(16, 2)])
    close(found, attention(q, k, v, [(16, 2)], True, q_offset=offset))


def test_q_offset_of_packed_sequences(rng):
    starts, key_starts, offsets = i64(0, 3, 8), i64(0, 30, 57), i64(11, 2)
    q, k, v = tensors(rng, (8, 2, 16), (57, 2, 16), (57, 2, 16))
    out, lse = ringlet.attention(
        q, k, v, starts=(starts, key_starts), q_offset=offsets, causal=True
    )
    for n in range(2):
        rows, keys = (slice(*each[n : n + 2]) for each in (starts, key_starts))
        want, want_lse = attention(
            q[None, rows], k[None, keys], v[None, keys], causal=True, q_offset=offsets[n]
        )
        close((out[rows], lse[:, rows]), (want[0], want_lse[0]))


@pytest.mark.parametrize("mix", ["softmax", "sum"])
def test_sink(rng, mix):
    """Rows without keys have the lse of the sink, those in no branch under `sum`
    none."""
    q, k, v = tensors(rng, (1, 33, 4, 16), (1, 21, 2, 16), (1, 21, 2, 16))
    (sink,) = tensors(rng, (4,))
    branches = ((8, 1), (16, 2))
    found = ringlet.attention(
        q, k, v, branches=branches, causal=True, mix=mix, sink=sink
    )
    wanted = attention(q, k, v, branches, True, mix=mix, sink=sink)
    close(found, wanted)
    bare = attention(q, k, v, branches, True, mix=mix)[1]
    assert (np.isinf(bare) & np.isfinite(found[1])).any()


# Ordinals of cells of a grid of 4 x 8 along a snake, and rows and columns of cells.
CELLS = np.arange(32).reshape(4, 8)
SNAKE = np.argsort(np.where(np.arange(4)[:, None] % 2, CELLS[:, ::-1], CELLS).ravel())


def near(p, u):
    return (abs(u // 8 - p // 8) <= 1) & (abs(u % 8 - p % 8) <= 2)


def test_grids(rng):
    """Windows on a grid, segments along a curve, and both."""
    q, k, v = tensors(rng, (1, 30, 2, 16), (1, 32, 2, 16), (1, 32, 2, 16))
    window, order = ((4, 8), (1, 2)), ("snake", (4, 8))
    for given, wanted in (
        ({"grid_window": window}, {"shows": near}),
        ({"pattern_order": order}, {"ordinal": SNAKE.__getitem__}),
        (
            {"grid_window": window, "pattern_order": order},
            {"shows": near, "ordinal": SNAKE.__getitem__},
        ),
    ):
        found = ringlet.attention(q, k, v, branches=[(12, 2)], **given)
        close(found, attention(q, k, v, [(12, 2)], **wanted))
    # Tokens of one residue lie together; there is no grid.
    ordinal = np.argsort(np.arange(32).reshape(-1, 4).T.ravel()).__getitem__
    order = ringlet.Order("residue<4>", chunk=32)
    found = ringlet.attention(q, k, v, branches=[(6, 1)], pattern_order=order)
    close(found, attention(q, k, v, [(6, 1)], ordinal=ordinal))


def test_block_mask(rng):
    q, k, v = tensors(rng, (2, 30, 2, 16), (2, 50, 2, 16), (2, 50, 2, 16))
    shows = rng.random((4, 7)) < 0.5
    found = ringlet.attention(q, k, v, q_offset=2, block_mask=(shows, (8, 8)))
    close(found, attention(q, k, v, q_offset=2,
                           shows=lambda p, u: shows[p // 8, u // 8]))  # fmt: skip


def test_all_together(rng, compiled):
    """What each call may differ in, without another compilation: sizes, values, and
    how many sequences there are."""
    (sink,) = tensors(rng, (4,))
    for starts, offset in (((0, 9, 40), 3), ((0, 1, 2, 30), -2), ((0, 17), 0)):
        total = starts[-1]
        q, k, v = tensors(rng, (total, 4, 16), (total, 2, 16), (total, 2, 16))
        out, lse = ringlet.attention(
            q, k, v, branches=((12, 1), (24, 2)), window=(13, 2), sink=sink,
            starts=i64(*starts), q_offset=offset,
        )  # fmt: skip
        for a, b in zip(starts, starts[1:]):
            part = slice(a, b)
            want, want_lse = attention(
                q[None, part], k[None, part], v[None, part], ((12, 1), (24, 2)),
                window=(13, 2), sink=sink, q_offset=offset,
            )  # fmt: skip
            close((out[part], lse[:, part]), (want[0], want_lse[0]))
    for batch, count in (2, 9), (3, 5):
        x, y = tensors(rng, (batch, count, 4, 16), (batch, 2 * count, 2, 16))
        for value in 0, 1:
            ringlet.attention(
                x, y, y, lengths=(np.full(batch, value),) * 2,
                q_offset=np.full(batch, value), block_mask=(np.eye(4, 4) > 0, (9, 9)),
            )  # fmt: skip
    assert len(compiled) == 2


@pytest.mark.torch
def test_torch(rng):
    torch = pytest.importorskip("torch")
    q = torch.from_numpy(tensors(rng, (40, 2, 16))[0])
    lengths = torch.tensor([9, 20, 11])
    starts = torch.nn.functional.pad(lengths.cumsum(0), (1, 0))
    out, lse = ringlet.attention(q, q, q, starts=starts, causal=True)
    assert isinstance(out, torch.Tensor) and isinstance(lse, torch.Tensor)
    for a, b in zip(starts, starts[1:]):
        rows = q[a:b].transpose(0, 1)
        want = torch_attention(rows, rows, rows)
        np.testing.assert_allclose(out[a:b], want.transpose(0, 1), **F32)
    # A call of a kind that was there, with other numbers.
    other = torch.tensor([0, 40, 40, 40])
    again, _ = ringlet.attention(q, q, q, starts=other, causal=True)
    whole, _ = ringlet.attention(q[None], q[None], q[None], causal=True)
    np.testing.assert_allclose(again, whole[0], **F32)


X, Y = np.zeros((1, 9, 2, 8), np.float32), np.zeros((2, 9, 2, 8), np.float32)
P = np.zeros((9, 2, 8), np.float32)


@pytest.mark.parametrize(
    "inputs, keywords, message",
    [
        (
            (X, X.astype("f2"), X),
            {},
            r"expected key as f32 or f8E4M3FN or i8 \[batch, sequence, heads, head size\], found "
            r"f16\[1, 9, 2, 8\] \(S2\); convert it to f32",
        ),
        (
            (X.astype("f8"), X, X),
            {},
            r"expected query as f16 or bf16 or f32 \[batch, sequence, heads, head size\], "
            r"found f64\[1, 9, 2, 8\] \(S2\); convert it to f32",
        ),
        (
            (X, X, X.astype(complex)),
            {},
            "argument 'value': expected elements of f16, .* found complex128",
        ),
        (
            (X, X.astype(">f4"), X),
            {},
            "argument 'key': expected native byte order, found >f4",
        ),
        (
            (X, X, X[0]),
            {},
            r"expected value as \[batch, sequence, heads, head size\], found "
            r"f32\[9, 2, 8\] \(S2\); that of packed sequences comes with starts",
        ),
        (
            (P, P, X),
            {"starts": i64(0, 9)},
            r"expected value as \[total, heads, head size\], found "
            r"f32\[1, 9, 2, 8\] \(S2\)",
        ),
        (
            (P, P, P),
            {"starts": i64(0, 9).astype("f4")},
            r"expected starts as i64\[sequences \+ 1\], found f32\[2\] \(S2\); "
            "convert it to i64",
        ),
        (
            (P, P, P),
            {"starts": np.array([0, 2**63], "u8")},
            "'starts': expected integers of 64 bits, found 9223372036854775808",
        ),
        (
            (P, P, P),
            {"starts": [[0, 5, 9]]},
            "expected starts as a tensor or as two, of queries and of keys, found 1",
        ),
        (
            (P, P, P),
            {"starts": (i64(0, 9), None)},
            r"starts of queries and of keys, found none of the key side \(S2\)",
        ),
        (
            (P, P, P),
            {"starts": (i64(0, 9), X)},
            r"expected key_starts as i64\[sequences \+ 1\], found f32\[1, 9, 2, 8\]",
        ),
        (
            (X, X, X),
            {"lengths": i64(3).astype("f4")},
            r"expected lengths as i64\[batch\], found f32\[1\] \(S2\)",
        ),
        (
            (X, X, X),
            {"q_offset": np.zeros((1, 1), np.int64)},
            r"expected q_offset as i64\[sequences\], found i64\[1, 1\] \(S1\)",
        ),
        ((X, X, X), {"q_offset": 2**63}, "expected q_offset from -9223"),
        (
            (X, X, X),
            {"sink": np.zeros(2)},
            r"expected sink as f32\[heads\], found f64\[2\] \(R3\); convert it to f32",
        ),
        (
            (X, X, X),
            {"block_mask": (np.ones((1, 1)), (16, 16))},
            r"expected block_mask as bool\[blocks of queries, blocks of keys\], found "
            r"f64\[1, 1\] \(B6\)",
        ),
    ],
)
def test_refused_tensors(inputs, keywords, message):
    with pytest.raises(ValueError, match=message):
        ringlet.attention(*inputs, **keywords)


@pytest.mark.parametrize(
    "inputs, keywords, message",
    [
        (
            (P, P, P),
            {"starts": (i64(0, 9), i64(0, 5, 9))},
            r"as many starts of queries as of keys, found 2 and 3 \(S2\)",
        ),
        ((P, P, P), {"starts": i64()}, r"one start more than there are .* \(S2\)"),
        (
            (Y, Y, Y),
            {"lengths": i64(9)},
            r"expected a length for each sequence, found 1 and 2 \(S2\)",
        ),
        (
            (P, P, P),
            {"starts": i64(0, 9), "q_offset": i64(0, 0)},
            r"expected a q_offset for each sequence, found 2 and 1 \(S1\)",
        ),
        ((X, X, X), {"q_offset": 2**61}, r"expected q_offset within \+-2\^60"),
        (
            (X, X, X),
            {"grid_window": ((2, 4), (1, 1))},
            r"expected every position on the grid \[2, 4\], found 9 and 8 \(B5\)",
        ),
        (
            (X, X, X),
            {"pattern_order": ("hilbert", (2, 4))},
            r"whose volume exceeds every position, found 9 and 8 \(O2\)",
        ),
        (
            (X, X, X),
            {"block_mask": (np.ones((1, 1), bool), (8, 16))},
            r"a block for every ordinal on axis 0, found 2 and 1 \(B6\)",
        ),
    ],
)
def test_refused_sizes_and_values(inputs, keywords, message):
    with pytest.raises(ringlet.RuntimeError, match=message):
        ringlet.attention(*inputs, **keywords)


@pytest.mark.parametrize(
    "keywords, message",
    [
        ({"branches": [(4, 5)]}, r"at most the segment length.*\(B1\)"),
        ({"sink": np.zeros(3, np.float32)}, r"each of the 2 query heads, found 3 \(R3\)"),
        ({"grid_window": ((4, 4), (1,))}, r"each of the 2 axes, found 1 \(B5\)"),
        ({"pattern_order": ("circle", (4, 4))}, "expected a curve .*found 'circle'"),
        (
            {"block_mask": (np.ones((1, 1), bool), (0, 16))},
            r"positive sides of mask blocks, found 0 \(B6\)",
        ),
    ],
)
def test_refused_clauses(keywords, message):
    with pytest.raises(ringlet.CompileError, match=message):
        ringlet.attention(X, X, X, **keywords)


def test_packed_or_padded():
    with pytest.raises(ringlet.CompileError, match=r"packed or lengths, not both"):
        ringlet.attention(P, P, P, starts=i64(0, 9), lengths=i64(9))


def test_numbers_are_numbers():
    for wrong in True, 2.0, "2":
        with pytest.raises(TypeError, match="expected q_offset as an integer, found"):
            ringlet.attention(X, X, X, q_offset=wrong)
