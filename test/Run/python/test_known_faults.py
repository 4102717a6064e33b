# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults that users of other attention libraries have met, as cases of a kind.

Each test names the kind and the inputs of the reports, and holds Ringlet to the
specification in f64 or to its refusal.

docs/KnownFaults.md lists the kinds, with the tests of other folders as well.
"""

import concurrent.futures

import numpy as np
import pytest

import ringlet
from conftest import attention, graph

F32 = dict(rtol=1e-4, atol=3e-6)


def normal(rng, *shape):
    return rng.standard_normal(shape, dtype=np.float32)


def check(program, q, k, v, branches=((None, 1),), causal=False):
    out, lse = program(q, k, v)
    want, want_lse = attention(q, k, v, branches, causal)
    assert not np.isnan(out).any() and not np.isnan(lse).any()
    np.testing.assert_allclose(out, want, **F32)
    np.testing.assert_array_equal(np.isinf(lse), np.isinf(want_lse))
    np.testing.assert_allclose(lse, want_lse, **F32)


# Tails: lengths that no block divides, in either direction.
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length", [1, 31, 100, 127, 129, 192, 257])
def test_lengths_off_the_block(rng, length, causal):
    program = ringlet.compile(graph(16, 2, more="causal" if causal else ""))
    q, k, v = (normal(rng, 1, length, 2, 16) for _ in range(3))
    check(program, q, k, v, causal=causal)


def test_masked_tail_has_weight_zero(rng):
    """What lies behind the last key, NaN here, has weight 0 exactly."""
    program = ringlet.compile(graph(64, 1))
    memory = np.full((1, 256, 1, 64), np.nan, np.float32)
    memory[:, :129] = normal(rng, 1, 129, 1, 64)
    keys = memory[:, :129]
    check(program, normal(rng, 1, 129, 1, 64), keys, keys)


# Head sizes that are no multiple of what a register holds.
@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize("dim", [20, 46, 63, 100])
def test_odd_head_sizes(rng, dim, dtype):
    program = ringlet.compile(graph(dim, 2, 1, dtype=dtype))
    element = np.float32 if dtype == "f32" else np.float16
    q = normal(rng, 1, 43, 2, dim).astype(element)
    k, v = (normal(rng, 1, 71, 1, dim).astype(element) for _ in range(2))
    out, lse = program(q, k, v)
    want, want_lse = attention(q, k, v)
    limit = F32 if dtype == "f32" else dict(rtol=4e-3, atol=2e-3)
    np.testing.assert_allclose(out.astype(np.float64), want, **limit)
    np.testing.assert_allclose(lse, want_lse, rtol=2e-3, atol=2e-3)


def test_odd_head_size_in_bf16(rng):
    """100 elements of 2 bytes: rows that begin off every vector."""
    program = ringlet.compile(graph(100, 2, dtype="bf16"))

    def narrow(length):
        x = normal(rng, 1, length, 2, 100).view(np.uint32) & np.uint32(0xFFFF0000)
        return ringlet.bits((x >> 16).astype(np.uint16), "bf16"), x.view(np.float32)

    (q, q32), (k, k32), (v, v32) = narrow(43), narrow(71), narrow(71)
    out = np.empty((1, 43, 2, 100), np.uint16)
    lse = np.empty((1, 2, 43), np.float32)
    program(q, k, v, out=[ringlet.bits(out, "bf16"), lse])
    want, want_lse = attention(q32, k32, v32)
    wide = (out.astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_allclose(wide, want, rtol=2e-2, atol=1e-2)
    np.testing.assert_allclose(lse, want_lse, rtol=2e-3, atol=2e-3)


def test_block_mask_of_odd_width(rng):
    """43 blocks of keys, of which the last is hidden: rows of 43 bytes."""
    q, k, v = (normal(rng, 1, 86, 2, 16) for _ in range(3))
    x, lse_type = "tensor<1x86x2x16xf32>", "tensor<1x2x86xf32>"
    program = ringlet.compile(
        f"func.func @f(%q: {x}, %k: {x}, %v: {x}, %seen: tensor<43x43xi1>)\n"
        f"    -> ({x}, {lse_type}) {{\n"
        "  %o, %lse = ringlet.attention %q, %k, %v branches [<w = *, r = 1>]\n"
        "      block_mask(%seen) of [2, 2]\n"
        f"      : ({x}, {x}, {x}, tensor<43x43xi1>) -> ({x}, {lse_type})\n"
        f"  return %o, %lse : {x}, {lse_type}\n}}\n"
    )
    seen = np.ones((43, 43), bool)
    seen[:, -1] = False
    out, lse = program(q, k, v, seen)
    want, want_lse = attention(q, k[:, :-2], v[:, :-2])
    np.testing.assert_allclose(out, want, **F32)
    np.testing.assert_allclose(lse, want_lse, **F32)


@pytest.mark.parametrize("shift", [1, 2, 3])
def test_misaligned_addresses(rng, shift):
    """Inputs that begin in the middle of a vector."""
    program = ringlet.compile(graph(64, 2, dtype="f16"))

    def off(length):
        flat = np.zeros(length * 2 * 64 + shift, np.float16)
        view = flat[shift:].reshape(1, length, 2, 64)
        view[...] = normal(rng, 1, length, 2, 64)
        return view

    q, k, v = off(40), off(50), off(50)
    out, _ = program(q, k, v)
    want, _ = program(q.copy(), k.copy(), v.copy())
    np.testing.assert_array_equal(out, want)


# Rows without a key: more queries than keys, bottom right (S1).
@pytest.mark.parametrize("lengths", [(256, 128), (76, 1), (2, 5), (5, 2)])
def test_causal_of_unequal_lengths(rng, lengths):
    program = ringlet.compile(graph(16, 2, more="causal"))
    q = normal(rng, 1, lengths[0], 2, 16)
    k, v = (normal(rng, 1, lengths[1], 2, 16) for _ in range(2))
    check(program, q, k, v, causal=True)


def test_rows_without_a_key_are_zero(rng):
    program = ringlet.compile(graph(16, 2, more="causal"))
    q = normal(rng, 1, 64, 2, 16)
    k, v = (normal(rng, 1, 32, 2, 16) for _ in range(2))
    out, lse = program(q, k, v)
    assert (out[:, :32] == 0).all() and (lse[:, :, :32] == -np.inf).all()
    assert (lse[:, :, 32:] > -np.inf).all()


def test_one_key_beside_long_queries(rng):
    """Sequences of 76, 34 and 146 queries, padded, with a single key each."""
    x, one = "tensor<3x146x2x16xf32>", "tensor<3x4x2x16xf32>"
    lse_type, lengths = "tensor<3x2x146xf32>", "tensor<3xi64>"
    program = ringlet.compile(
        f"func.func @f(%q: {x}, %k: {one}, %v: {one}, %m: {lengths}, %n: {lengths})\n"
        f"    -> ({x}, {lse_type}) {{\n"
        "  %o, %lse = ringlet.attention %q, %k, %v branches [<w = *, r = 1>]\n"
        "      causal lengths(%m, %n)\n"
        f"      : ({x}, {one}, {one}, {lengths}, {lengths}) -> ({x}, {lse_type})\n"
        f"  return %o, %lse : {x}, {lse_type}\n}}\n"
    )
    q, k, v = normal(rng, 3, 146, 2, 16), normal(rng, 3, 4, 2, 16), normal(rng, 3, 4, 2, 16)
    k[:, 1:] = v[:, 1:] = np.nan
    counts = np.array([76, 34, 146])
    out, lse = program(q, k, v, counts, np.array([1, 1, 1]))
    want = np.zeros_like(out)
    # Only the last query of each sequence stands on or behind the key.
    for sequence, count in enumerate(counts):
        want[sequence, count - 1] = v[sequence, 0]
    np.testing.assert_array_equal(out, want)
    assert (np.isfinite(lse).sum(axis=2) == 1).all()


def test_decoding_equals_the_full_pass(rng):
    """Two queries beside a cache are the last rows of all."""
    program = ringlet.compile(graph(32, 2, more="causal"))
    q, k, v = (normal(rng, 1, 77, 2, 32) for _ in range(3))
    whole, _ = program(q, k, v)
    last, _ = program(q[:, -2:], k, v)
    np.testing.assert_allclose(last, whole[:, -2:], **F32)


# A cache that is longer than what it holds.
@pytest.mark.parametrize(
    "options",
    [
        {"causal": True},
        {"window": (40, 0)},
        {"window": (-1, 3)},
        {"causal": True, "branches": [(64, 1), (256, 2), (None, 4)]},
    ],
)
def test_rest_of_a_cache(rng, options):
    q = normal(rng, 2, 3, 2, 16)
    k, v = (np.full((2, 512, 2, 16), np.nan, np.float32) for _ in range(2))
    v[:, 340:] = np.inf
    held = 333 if "window" not in options else 333 + options["window"][1]
    k[:, :held] = normal(rng, 2, held, 2, 16)
    v[:, :held] = normal(rng, 2, held, 2, 16)
    for offset in (330, np.array([330, 330])):
        got, lse = ringlet.attention(q, k, v, q_offset=offset, **options)
        want, want_lse = ringlet.attention(
            q, k[:, :held], v[:, :held], q_offset=330, **options
        )
        np.testing.assert_allclose(got, want, **F32)
        np.testing.assert_allclose(lse, want_lse, **F32)


# A running maximum and sum that are kept over all tiles below the diagonal.
@pytest.mark.parametrize("dim", [64, 128])
def test_many_tiles_below_the_diagonal(rng, dim):
    program = ringlet.compile(graph(dim, 1, more="causal"))
    q, k, v = (normal(rng, 1, 700, 1, dim) for _ in range(3))
    rows = [0, 63, 64, 127, 128, 255, 256, 511, 512, 699]
    out, lse = program(q, k, v)
    for row in rows:
        want, want_lse = attention(
            q[:, row : row + 1], k[:, : row + 1], v[:, : row + 1]
        )
        np.testing.assert_allclose(out[:, row], want[:, 0], **F32)
        np.testing.assert_allclose(lse[:, :, row], want_lse[:, :, 0], **F32)


# Merges: the exponential of an lse of 800 overflows in any type.
def test_merge_of_great_lse(rng):
    branches = "<w = 8, r = 1>, <w = *, r = 2>"
    program = ringlet.compile(graph(16, 2, branches=branches))
    q, k, v = (normal(rng, 1, 64, 2, 16) for _ in range(3))
    q *= 200
    k *= 10
    out, lse = program(q, k, v)
    want, want_lse = attention(q, k, v, ((8, 1), (None, 2)))
    assert np.abs(want_lse[np.isfinite(want_lse)]).max() > 800
    np.testing.assert_allclose(out, want, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(lse, want_lse, rtol=1e-5)


def products(*numbers):
    """Query and keys of head size 8 whose products are these numbers."""
    q = np.zeros((1, 1, 1, 8), np.float32)
    q[..., 0] = 1e19
    k = np.zeros((1, len(numbers), 1, 8), np.float32)
    k[0, :, 0, 0] = np.float32(numbers) / np.float32(1e19)
    v = np.arange(1, len(numbers) + 1, dtype=np.float32)
    return q, k, v[None, :, None, None] * np.ones((1, 1, 1, 8), np.float32)


# Scores that f32 holds, whose multiples by log2(e) it does not.
@pytest.mark.parametrize(
    "scores, out, greatest",
    [
        ((1e38, 2e38, 3e38), 3, 3e38),
        ((-2.5e38, -2.6e38, -3e38), 1, -2.5e38),
        ((3e38, -3e38, 3e38), 2, 3e38),
        ((2.0**31, 2.0**31, 2.0**30), 1.5, 2.0**31),
        ((-(2.0**80), -(2.0**80), -(2.0**81)), 1.5, -(2.0**80)),
    ],
)
@pytest.mark.parametrize("scale", [1.0, -1.0])
def test_scores_of_any_size(scores, out, greatest, scale):
    q, k, v = products(*scores)
    got, lse = ringlet.attention(q, k * np.float32(scale), v, scale=scale)
    assert got.ravel().tolist() == [out] * 8
    np.testing.assert_allclose(lse.ravel(), [greatest], rtol=2e-7)
    # Of two softmaxes that are merged each has some of the keys.
    got, lse = ringlet.attention(
        q, k * np.float32(scale), v, scale=scale,
        branches=[(None, 1), (4, 1)],
    )  # fmt: skip
    assert got.ravel().tolist() == [out] * 8
    np.testing.assert_allclose(lse.ravel(), [greatest], rtol=2e-7)


@pytest.mark.parametrize(
    "sink, out, lse",
    [
        (2.4e38, 0, 2.4e38),
        (np.inf, 0, np.inf),
        (-np.inf, 2, np.log(3)),
        (-3.4e38, 2, np.log(3)),
        (0.0, 1.5, np.log(4)),
    ],
)
@pytest.mark.parametrize("branches", [None, [(None, 1), (2, 2)]])
def test_sinks_of_any_size(sink, out, lse, branches):
    q, k, v = products(0, 0, 0)
    sink = np.array([sink], np.float32)
    options = {} if branches is None else {"branches": branches}
    got, got_lse = ringlet.attention(q, k, v, sink=sink, **options)
    if branches is None or out == 0:
        np.testing.assert_allclose(got.ravel(), [out] * 8, rtol=1e-6)
        np.testing.assert_allclose(got_lse.ravel(), [lse], rtol=1e-6)
    assert np.isfinite(got).all()
    # A row without keys has the sink as its lse.
    _, alone = ringlet.attention(
        q, k, v, sink=sink, causal=True, q_offset=-1, **options
    )
    assert alone.ravel().tolist() == sink.tolist()


@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_values_of_one_stay_one(rng, dtype):
    """A mean of ones is one: sums and products weigh keys alike."""
    program = ringlet.compile(graph(64, 2, dtype=dtype))
    element = np.float32 if dtype == "f32" else np.float16
    q, k = (normal(rng, 1, 1500, 2, 64).astype(element) for _ in range(2))
    out, _ = program(q, k, np.ones_like(k))
    # 1500 terms are added in f32; f16 rounds the result once.
    bound = 1500 * 2.0**-24 / 8 if dtype == "f32" else 2.0**-10
    assert np.abs(out.astype(np.float64) - 1).max() <= bound


# Each key adds as much as any other: a sum of all, one after the other, is off by
# a hundredth after a million.
@pytest.mark.parametrize("options", [{}, {"causal": True}, {"branches": [(None, 3)]}])
@pytest.mark.parametrize("keys", [3000, 200_000, 1_000_000])
def test_sums_over_many_keys(keys, options):
    q = np.zeros((1, 1, 1, 8), np.float32)
    k = np.zeros((1, keys, 1, 8), np.float32)
    v = np.full((1, keys, 1, 8), 0.1, np.float32)
    out, lse = ringlet.attention(q, k, v, q_offset=(keys - 1) // 3 * 3, **options)
    seen = (keys + 2) // 3 if "branches" in options else keys
    if "causal" in options:
        seen = (keys - 1) // 3 * 3 + 1
    np.testing.assert_allclose(out, v[:, :1], rtol=5e-6)
    np.testing.assert_allclose(lse, [[[np.log(seen)]]], rtol=1e-6)


# Large offsets: the last row lies beyond 2^31 elements, in memory that only the
# rows that are used take.
def test_rows_beyond_2_31_elements(rng):
    program = ringlet.compile(graph(8, 1))
    stride = 2**31 // 60
    memory = np.zeros(stride * 63 + 8, np.float32)
    view = np.lib.stride_tricks.as_strided(
        memory, (1, 64, 1, 8), (4 * stride, 4 * stride, 4 * stride, 4)
    )
    values = normal(rng, 1, 64, 1, 8)
    view[...] = values
    assert stride * 63 > 2**31
    check(program, values, view, view)


def test_fused_rows_beyond_2_31_elements(rng):
    """Rows of one tensor of queries, keys and values: their number is small,
    what lies between them is not."""
    program = ringlet.compile(graph(8, 1))
    stride = 2**31 // 30
    memory = np.zeros(stride * 31 + 24, np.float32)
    fused = np.lib.stride_tricks.as_strided(
        memory, (1, 32, 3, 8), (4 * stride, 4 * stride, 32, 4)
    )
    fused[...] = normal(rng, 1, 32, 3, 8)
    assert stride * 31 > 2**31
    check(program, *(fused[:, :, i : i + 1] for i in range(3)))


def test_windows_beyond_every_number(rng):
    """A reach that does not fit beside a coordinate hides nothing."""
    great = 2**63 - 1
    window = f"grid_window = <grid = [{great}], reach = [{great}]>"
    q, k, v = (normal(rng, 1, 64, 2, 16) for _ in range(3))
    check(ringlet.compile(graph(16, 2, more=window)), q, k, v)


@pytest.mark.parametrize("length", [0, 64])
def test_dilation_beyond_every_length(length):
    """2^40 residues of which hardly any has a token are not walked over."""
    x = f"tensor<1x{length}x2x16xf32>"
    ringlet.compile(
        f"func.func @f(%x: {x}, %k: tensor<1x64x2x16xf32>) -> {x} {{\n"
        f"  %o, %lse = ringlet.attention %x, %k, %k\n"
        f"      branches [<w = {2**40}, r = {2**40}>]\n"
        "      grid_window = <grid = [8, 8], reach = [1, 1]>\n"
        f"      : ({x}, tensor<1x64x2x16xf32>, tensor<1x64x2x16xf32>)\n"
        f"      -> ({x}, tensor<1x2x{length}xf32>)\n"
        f"  return %o : {x}\n}}\n",
        timeout=60,
    )


# Strides: nothing is copied and nothing is misread.
def test_transposed_fused_and_expanded(dense, rng):
    fused = normal(rng, 1, 50, 3, 4, 64)
    check(dense, fused[:, :, 0], fused[:, :, 1], fused[:, :, 2])
    by_head = normal(rng, 1, 4, 50, 64).transpose(0, 2, 1, 3)
    check(dense, by_head, by_head, fused[:, :, 2])
    one = np.broadcast_to(normal(rng, 1, 50, 1, 64), (1, 50, 4, 64))
    check(dense, fused[:, :, 0], one, one)


def test_last_axis_with_a_step_is_refused(dense, rng):
    x = normal(rng, 1, 50, 4, 64)
    wide = normal(rng, 1, 50, 4, 128)[..., ::2]
    with pytest.raises(ringlet.Error, match="stride"):
        dense(x, wide, x)


# Branches: a segment longer than the sequence, and one key seen twice.
def test_segments_longer_than_the_sequence(rng):
    branches = "<w = 2048, r = 1>, <w = 4096, r = 2>, <w = 8192, r = 4>"
    program = ringlet.compile(graph(16, 4, branches=branches))
    q, k, v = (normal(rng, 1, 50, 4, 16) for _ in range(3))
    out, _ = program(q, k, v)
    assert out.shape == q.shape
    check(program, q, k, v, ((2048, 1), (4096, 2), (8192, 4)))


def test_key_of_two_branches_counts_twice(rng):
    once = ringlet.compile(graph(16, 1, branches="<w = *, r = 1>"))
    twice = ringlet.compile(graph(16, 1, branches="<w = *, r = 1>, <w = *, r = 1>"))
    q, k, v = (normal(rng, 1, 30, 1, 16) for _ in range(3))
    out, lse = once(q, k, v)
    out2, lse2 = twice(q, k, v)
    np.testing.assert_allclose(out2, out, **F32)
    np.testing.assert_allclose(lse2, lse + np.log(2), **F32)


def test_every_head_is_in_every_branch_once(rng):
    """12 heads and five branches: with values of one all outputs are one."""
    branches = ", ".join(f"<w = 16, r = {r}>" for r in (1, 2, 3, 4, 5))
    program = ringlet.compile(graph(8, 12, branches=branches))
    q, k = (normal(rng, 1, 64, 12, 8) for _ in range(2))
    out, _ = program(q, k, np.ones_like(k))
    np.testing.assert_allclose(out, 1, atol=2e-6)


# Equivariance: tokens and heads are what they are wherever they stand.
def test_permuted_tokens_permute_results(rng, dense):
    q, k, v = (normal(rng, 1, 61, 4, 64) for _ in range(3))
    out, lse = dense(q, k, v)
    order = rng.permutation(61)
    moved, moved_lse = dense(q[:, order], k[:, order], v[:, order])
    np.testing.assert_allclose(moved, out[:, order], **F32)
    np.testing.assert_allclose(moved_lse, lse[:, :, order], **F32)


def test_permuted_heads_permute_results(rng, dense):
    q, k, v = (normal(rng, 1, 61, 4, 64) for _ in range(3))
    out, _ = dense(q, k, v)
    order = [2, 0, 3, 1]
    moved, _ = dense(q[:, :, order], k[:, :, order], v[:, :, order])
    np.testing.assert_array_equal(moved, out[:, :, order])


# The cache: the whole of the options is the key, and threads share it.
def test_programs_of_other_options_are_others():
    text = graph(8, 1)
    first = ringlet.compile(text, target="cpu:x86-64-v3")
    assert ringlet.compile(text, target="cpu:x86-64-v3") is first
    assert ringlet.compile(text, target="cpu") is not first
    assert ringlet.compile(text + "\n", target="cpu:x86-64-v3") is not first


def test_many_threads_compile_and_run(rng):
    ringlet.clear_cache()
    q, k, v = (normal(rng, 1, 33, 2, 16) for _ in range(3))
    want, _ = attention(q, k, v)

    def work(number):
        program = ringlet.compile(graph(16, 2, more=f"scale = {0.25}"))
        out, _ = program(q, k, v)
        return np.abs(out - want).max()

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert max(pool.map(work, range(24))) < 1e-5
