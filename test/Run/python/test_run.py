# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Results are those of the specification, for every kind of array."""

import sys

import numpy as np
import pytest

import ringlet
from conftest import ROOT, attention, graph

sys.path.insert(0, str(ROOT / "test/Support"))

import safetensors_file  # noqa: E402

F32 = dict(rtol=1e-4, atol=2e-6)
BF16 = dict(rtol=2e-2, atol=2e-3)


def test_full(dense, inputs):
    out, lse = dense(*inputs)
    want, want_lse = attention(*inputs)
    assert isinstance(out, np.ndarray) and out.dtype == np.float32
    np.testing.assert_allclose(out, want, **F32)
    np.testing.assert_allclose(lse, want_lse, **F32)


@pytest.mark.parametrize("lengths", [(100, 100), (1, 70), (70, 3)])
def test_causal_branches_and_groups(rng, lengths):
    """More queries than keys gives rows that see no key (R3)."""
    program = ringlet.compile(
        graph(32, 4, 2, branches="<w = 24, r = 1>, <w = 64, r = 2>", more="causal")
    )
    q = rng.standard_normal((1, lengths[0], 4, 32), dtype=np.float32)
    k, v = (
        rng.standard_normal((1, lengths[1], 2, 32), dtype=np.float32) for _ in range(2)
    )
    out, lse = program(q, k, v)
    want, want_lse = attention(q, k, v, ((24, 1), (64, 2)), causal=True)
    np.testing.assert_allclose(out, want, **F32)
    np.testing.assert_allclose(lse, want_lse, **F32)
    assert np.array_equal(np.isinf(lse), np.isinf(want_lse))


def test_strides_are_honoured(dense, rng):
    """Slices, another order of axes, a step, a broadcast: none is copied."""
    wide = rng.standard_normal((2, 4, 106, 3 * 64), dtype=np.float32)
    q = wide[:, :, 10:47, :64].transpose(0, 2, 1, 3)
    k = wide[:, :, ::2, 64:128].transpose(0, 2, 1, 3)
    v = np.broadcast_to(wide[0, 1, :53, None, 128:], (2, 53, 4, 64))
    assert v.strides[0] == v.strides[2] == 0
    out, lse = dense(q, k, v)
    want, want_lse = attention(q, k, v)
    np.testing.assert_allclose(out, want, **F32)
    np.testing.assert_allclose(lse, want_lse, **F32)


def test_inputs_may_be_read_only(dense, inputs):
    want, _ = dense(*inputs)
    for each in inputs:
        each.flags.writeable = False
    out, _ = dense(*inputs)
    np.testing.assert_array_equal(out, want)


def test_given_outputs(dense, inputs):
    want, want_lse = dense(*inputs)
    # Space between the rows stays as it is.
    memory = np.full((2, 37, 4, 80), np.nan, np.float32)
    out, lse = memory[..., :64], np.full((2, 4, 37), np.nan, np.float32)
    got = dense(*inputs, out=(out, lse))
    assert got[0] is out and got[1] is lse
    np.testing.assert_array_equal(out, want)
    np.testing.assert_array_equal(lse, want_lse)
    assert np.isnan(memory[..., 64:]).all()
    lse.fill(np.nan)
    dense(*inputs, out={"result1": lse, "result0": out})
    np.testing.assert_array_equal(lse, want_lse)


def test_by_name(dense, inputs):
    q, k, v = inputs
    want, _ = dense(q, k, v)
    out, _ = dense.run(v=v, q=q, k=k, entry="attend")
    np.testing.assert_array_equal(out, want)
    out, _ = dense(q, v=v, k=k)
    np.testing.assert_array_equal(out, want)


def test_f16(rng):
    program = ringlet.compile(graph(dtype="f16"))
    q, k, v = (rng.standard_normal((1, 40, 4, 64)).astype(np.float16) for _ in range(3))
    out, _ = program(q, k, v)
    assert out.dtype == np.float16
    np.testing.assert_allclose(out, attention(q, k, v)[0], rtol=4e-3, atol=4e-4)


def to_bits(array):
    """f32 to the bits of the nearest bf16, ties to even."""
    wide = array.view(np.uint32)
    return ((wide + 0x7FFF + ((wide >> 16) & 1)) >> 16).astype(np.uint16)


def from_bits(array):
    return (array.astype(np.uint32) << 16).view(np.float32)


def test_bf16_as_bits(narrow, inputs):
    carried = [to_bits(each) for each in inputs]
    out, lse = narrow(*(ringlet.bits(each, "bf16") for each in carried))
    want, want_lse = attention(*map(from_bits, carried))
    assert out.dtype == np.uint16
    np.testing.assert_allclose(from_bits(out), want, **BF16)
    np.testing.assert_allclose(lse, want_lse, **BF16)
    given = np.zeros_like(out), np.zeros_like(lse)
    got, _ = narrow(
        *(ringlet.bits(each, "bf16") for each in carried),
        out=(ringlet.bits(given[0], "bf16"), given[1]),
    )
    assert got is given[0]
    np.testing.assert_array_equal(got, out)


def test_bf16_of_ml_dtypes(narrow, inputs):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    carried = [each.astype(ml_dtypes.bfloat16) for each in inputs]
    out, _ = narrow(*carried)
    assert out.dtype == ml_dtypes.bfloat16
    as_bits, _ = narrow(*(ringlet.bits(each.view("u2"), "bf16") for each in carried))
    np.testing.assert_array_equal(out.view("u2"), as_bits)


@pytest.mark.torch
def test_torch(dense, narrow, inputs):
    torch = pytest.importorskip("torch")
    for program, dtype, bounds in (
        (dense, torch.float32, F32),
        (narrow, torch.bfloat16, BF16),
    ):
        tensors = [torch.from_numpy(each).to(dtype) for each in inputs]
        out, lse = program(*tensors)
        assert isinstance(out, torch.Tensor) and out.dtype == dtype
        want, _ = attention(*(each.float().numpy() for each in tensors))
        np.testing.assert_allclose(out.float().numpy(), want, **bounds)
        # Heads before rows in memory.
        turned = [each.transpose(1, 2).contiguous().transpose(1, 2) for each in tensors]
        again, _ = program(*turned)
        assert torch.equal(again, out)
        given = torch.full_like(out, torch.nan), torch.full_like(lse, torch.nan)
        program(*tensors, out=given)
        assert torch.equal(given[0], out) and torch.equal(given[1], lse)
        # A call of a kind that was there, elsewhere in memory.
        others = [each.flip(0) for each in tensors]
        again, _ = program(*others)
        assert torch.equal(again, out.flip(0))
        program(*tensors, out=given)
        assert torch.equal(given[0], out) and torch.equal(given[1], lse)
    # What torch hands to nobody, and what nobody would understand.
    q, k, v = map(torch.from_numpy, inputs)
    for bad, error, why in (
        (q.clone().requires_grad_(), ValueError, r"'q': .*requires no grad.*\(R5\)"),
        (q.to_sparse(), ValueError, "'q': .* torch exports, .*layout"),
        (torch._neg_view(q), ValueError, r"'q': .* negative bit.* resolve_neg\(\)"),
    ):
        with pytest.raises(error, match=why):
            dense(bad, k, v)


def test_more_layouts_than_are_kept(dense, inputs):
    """Arguments of one layout share what describes them, on and on. Few queries
    have kernels of their own, which add in another order."""
    q, k, v = inputs
    wanted, _ = dense(q, k, v)
    before = {}
    for _ in range(2):
        for rows in range(1, 38):
            for key_rows in (1, 53):
                out, _ = dense(q[:, :rows], k[:, -key_rows:], v[:, -key_rows:])
                assert out.shape == (2, rows, 4, 64)
                if key_rows == 53:
                    np.testing.assert_allclose(out, wanted[:, :rows], 1e-5, 1e-6)
                else:
                    np.testing.assert_array_equal(out, np.repeat(v[:, -1:], rows, 1))
                again = before.setdefault((rows, key_rows), out)
                np.testing.assert_array_equal(out, again)


def test_real_data():
    """The committed heads of a transformer, through the longnet example."""
    found = safetensors_file.read(ROOT / "test/Data/minilm_qkv.safetensors")
    q, k, v = (
        np.frombuffer(raw, np.float16).reshape(shape)
        for _, shape, raw in (found[name] for name in ("query", "key", "value"))
    )
    program = ringlet.compile(graph(32, 4, dtype="f16", branches="<w = 512, r = 1>"))
    out, _ = program(q, k, v)
    # Segments of 512 are worlds of their own: the last of ten will do.
    want, _ = attention(*(each[:, 4608:4700] for each in (q, k, v)))
    part, _ = program(*(each[:, 4608:4700] for each in (q, k, v)))
    np.testing.assert_allclose(part, want, rtol=4e-3, atol=2e-3)
    whole = np.concatenate(
        [
            program(*(each[:, a : a + 512] for each in (q, k, v)))[0]
            for a in range(0, 5120, 512)
        ],
        axis=1,
    )
    np.testing.assert_array_equal(out, whole)


def test_sizes_of_the_call(rng):
    """One program for every w and r, and a refusal of those that B1 forbids."""
    program = ringlet.compile(
        """
func.func @attend(%q: tensor<1x?x4x16xf32>, %k: tensor<1x?x2x16xf32>,
                  %w: tensor<i64>, %r: tensor<i64>)
    -> (tensor<1x?x4x16xf32>, tensor<1x4x?xf32>) {
  %o, %lse = ringlet.attention %q, %k, %k branches [<w = ?, r = ?>] causal
      sizes(%w, %r)
      : (tensor<1x?x4x16xf32>, tensor<1x?x2x16xf32>, tensor<1x?x2x16xf32>,
         tensor<i64>, tensor<i64>)
      -> (tensor<1x?x4x16xf32>, tensor<1x4x?xf32>)
  return %o, %lse : tensor<1x?x4x16xf32>, tensor<1x4x?xf32>
}
"""
    )
    q = rng.standard_normal((1, 61, 4, 16), dtype=np.float32)
    k = rng.standard_normal((1, 83, 2, 16), dtype=np.float32)
    for w, r in (1, 1), (24, 5), (83, 2), (2**40, 3):
        out, lse = program(q, k, np.array(w), np.array(r))
        want, want_lse = attention(q, k, k, ((w, r),), causal=True)
        np.testing.assert_allclose(out, want, **F32)
        np.testing.assert_allclose(lse, want_lse, **F32)
    with pytest.raises(ringlet.RuntimeError, match=r"r of branch 0 .* 6 and 5 \(B1\)"):
        program(q, k, np.array(5), np.array(6))
