# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors of torch: what they are beside memory is minded or refused."""

import numpy as np
import pytest

import ringlet
from conftest import attention, graph, torch_attention

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.torch

F32 = dict(rtol=1e-4, atol=2e-6)
GRAD = r"argument '{}': expected a tensor that requires no grad, .* \(R5\); .*no_grad"


@pytest.fixture
def rows(rng):
    return torch.from_numpy(rng.standard_normal((1, 20, 2, 8), dtype=np.float32))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_parameters_run_without_grad_mode(rows, mode):
    want, want_lse = ringlet.attention(rows, rows, rows, sink=torch.zeros(2))
    weight = torch.nn.Parameter(rows.clone())
    computed = weight * 1
    sink = torch.nn.Parameter(torch.zeros(2))
    assert computed.requires_grad
    program = ringlet.compile(graph(8, 2))
    for q, k in (weight, rows), (rows, weight), (computed, computed), (weight, weight):
        with mode():
            for _ in range(2):  # The second is a call of a kind that was there.
                out, lse = ringlet.attention(q, k, k, sink=sink)
                assert torch.equal(out, want) and torch.equal(lse, want_lse)
                assert not out.requires_grad and type(out) is torch.Tensor
                program(q, k, k)
        # What ran without grad mode is not taken with it.
        with pytest.raises(ValueError, match=GRAD.format("query|key|value")):
            ringlet.attention(q, k, k)
        with pytest.raises(ValueError, match=GRAD.format("[qkv]")):
            program(q, k, k)


def test_grad_mode_names_the_argument(rows):
    parameter = torch.nn.Parameter(rows.clone())
    for name, arguments in (
        ("query", (parameter, rows, rows)),
        ("key", (rows, parameter, rows)),
        ("value", (rows, rows, parameter)),
    ):
        with pytest.raises(ValueError, match=GRAD.format(name)):
            ringlet.attention(*arguments)
    with pytest.raises(ValueError, match=GRAD.format("sink")):
        ringlet.attention(rows, rows, rows, sink=torch.nn.Parameter(torch.zeros(2)))
    out, lse = ringlet.attention(rows, rows, rows)
    with pytest.raises(ValueError, match=GRAD.format("output|result0")):
        ringlet.attention(rows, rows, rows, out=(out.requires_grad_(), lse))
    for name in "scale", "softcap":
        factor = torch.nn.Parameter(torch.tensor(0.5))
        with pytest.raises(ValueError, match=rf"{name} as a number, .*\(R5\)"):
            ringlet.attention(rows, rows, rows, **{name: factor})
        with torch.no_grad():
            found = ringlet.attention(rows, rows, rows, **{name: factor})[0]
        want = ringlet.attention(rows, rows, rows, **{name: 0.5})[0]
        assert torch.equal(found, want)


def test_other_derivatives_are_refused(rows):
    """Forward ones, and those of torch.func, which requires_grad does not tell of."""
    ringlet.attention(rows, rows, rows)
    forward = torch.autograd.forward_ad
    with forward.dual_level():
        dual = forward.make_dual(rows, torch.ones_like(rows))
        with pytest.raises(ValueError, match=r"'query': .* without a tangent.*\(R5\)"):
            ringlet.attention(dual, rows, rows)
        ringlet.attention(rows, rows, rows)
    func = pytest.importorskip("torch.func")
    for transform in (
        lambda f: func.vmap(f)(rows[None].repeat(3, 1, 1, 1, 1)),
        lambda f: func.grad(lambda x: f(x).sum())(rows),
        lambda f: func.jvp(f, (rows,), (rows,)),
    ):
        with pytest.raises(ValueError, match=r"'(query|key|value)': expected .*\(R5\)"):
            transform(lambda x: ringlet.attention(x, x, x)[0])


def test_what_is_written_is_not_what_was_kept(rows):
    """Autograd notices that an output was saved for a gradient."""
    weight = torch.ones(1, requires_grad=True)
    out, lse = ringlet.attention(rows, rows, rows)
    loss = (weight * out).sum()
    for _ in range(2):
        ringlet.attention(rows, rows, rows, out=(out, lse))
    if not hasattr(torch.autograd.graph, "increment_version"):
        pytest.skip("this torch cannot be told")
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    with torch.inference_mode():
        inner = torch.empty_like(out), torch.empty_like(lse)
        ringlet.attention(rows, rows, rows, out=inner)
        assert torch.equal(inner[0], out)


def test_classes_of_tensors(rows):
    """A subclass is its memory, unless it has none."""

    class Mine(torch.Tensor):
        pass

    want, _ = ringlet.attention(rows, rows, rows)
    mine = rows.as_subclass(Mine)
    found, _ = ringlet.attention(mine, mine, mine)
    assert torch.equal(found.as_subclass(torch.Tensor), want)
    meta = rows.to("meta")
    with pytest.raises((ValueError, TypeError), match="argument 'query'"):
        ringlet.attention(meta, meta, meta)
    nested = torch.nested.nested_tensor([rows[0], rows[0, :5]])
    with pytest.raises((ValueError, TypeError), match="argument 'query'|expected query"):
        ringlet.attention(nested, nested, nested)


def test_integers_of_any_width(rows):
    q = rows[0]
    want, _ = ringlet.attention(q, q, q, starts=torch.tensor([0, 9, 20]), causal=True)
    for kind in torch.int32, torch.int16, torch.uint8, torch.int8:
        starts = torch.tensor([0, 9, 20], dtype=kind)
        found, _ = ringlet.attention(q, q, q, starts=starts, causal=True)
        assert torch.equal(found, want)
    for starts in [0, 9, 20], (0, torch.tensor(9), 20):
        found, _ = ringlet.attention(q, q, q, starts=starts, causal=True)
        assert torch.equal(found, want)
    with pytest.raises(ValueError, match=r"starts as i64\[sequences \+ 1\], found f32\[3"):
        ringlet.attention(q, q, q, starts=torch.tensor([0.0, 9, 20]))
    for offset in torch.tensor(-3), torch.tensor(-3, dtype=torch.int32):
        found, _ = ringlet.attention(rows, rows, rows, causal=True, q_offset=offset)
        want, _ = ringlet.attention(rows, rows, rows, causal=True, q_offset=-3)
        assert torch.equal(found, want)
    found, _ = ringlet.attention(rows, rows, rows, lengths=(torch.tensor([7]), None))
    want, _ = ringlet.attention(rows[:, :7], rows, rows)
    assert torch.equal(found[:, :7], want) and not found[:, 7:].any()


def test_layout_of_torch(rows):
    """As torch has it, also where the call is one that was there."""
    q = rows.transpose(1, 2).contiguous()
    for _ in range(2):
        out, _ = ringlet.attention(q, q, q, layout="bhsd", is_causal=True)
        want = torch_attention(q, q, q)
        np.testing.assert_allclose(out, want, **F32)


def test_sizes_of_the_call(rows):
    for w, r in (9, 2), (20, 5):
        branches = [(torch.tensor(w), torch.tensor(r, dtype=torch.int32))]
        found, _ = ringlet.attention(rows, rows, rows, branches=branches)
        want, _ = attention(rows, rows, rows, [(w, r)])
        np.testing.assert_allclose(found, want, **F32)
