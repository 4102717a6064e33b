# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests share: programs, and the attention of the specification."""

import math
import os
import pathlib

import numpy as np
import pytest

import ringlet

# Those that are run beside torch, too, have the mark `torch`.
def pytest_configure(config):
    config.addinivalue_line("markers", "torch: wants torch")


def torch_attention(q, k, v):
    """Causal and in torch's order of axes, as torch computes it."""
    import torch

    fused = getattr(torch.nn.functional, "scaled_dot_product_attention", None)
    if fused is not None:
        return fused(q, k, v, is_causal=True)
    hidden = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).triu(1)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    return scores.masked_fill(hidden, -math.inf).softmax(-1) @ v


ROOT = pathlib.Path(__file__).resolve().parents[3]


def graph(
    dim=64, heads=4, key_heads=None, dtype="f32", branches="<w = *, r = 1>", more=""
):
    """An attention with dynamic batch and lengths, as text."""
    query = f"tensor<?x?x{heads}x{dim}x{dtype}>"
    key = f"tensor<?x?x{key_heads or heads}x{dim}x{dtype}>"
    lse = f"tensor<?x{heads}x?xf32>"
    return f"""
func.func @attend(%q: {query}, %k: {key}, %v: {key}) -> ({query}, {lse}) {{
  %o, %lse = ringlet.attention %q, %k, %v branches [{branches}] {more}
      : ({query}, {key}, {key}) -> ({query}, {lse})
  return %o, %lse : {query}, {lse}
}}
"""


def attention(
    q,
    k,
    v,
    branches=((None, 1),),
    causal=False,
    window=(-1, -1),
    mix="softmax",
    q_offset=None,
    sink=None,
    ordinal=lambda positions: positions,
    shows=lambda p, u: True,
):
    """f64, one row at a time, sections 1 to 3 (output_scale is 1).

    ordinal  of positions along a pattern order (O2)
    shows    whether a grid window (B5) or a block mask (B6) shows keys u to query p
    """
    q, k, v = (np.asarray(each, np.float64) for each in (q, k, v))
    batches, length_q, heads, dim = q.shape
    length_k, key_heads = k.shape[1:3]
    u = np.arange(length_k)
    ordinal_u = ordinal(u)
    first = length_k - length_q if q_offset is None else q_offset
    first = np.broadcast_to(first, batches)
    sums = len(branches) if mix == "sum" else 1
    out = np.zeros((*q.shape[:3], v.shape[3]))
    lse = np.full((sums, batches, heads, length_q), -np.inf)
    for b, i, h in np.ndindex(batches, length_q, heads):
        x = h * key_heads // heads
        p = first[b] + i
        # Each entry is what joins one softmax, whether a sink does, and keys of
        # zeros.
        shown = [[[], False, 0] for _ in range(sums)]
        for index, branch in enumerate(branches):
            w, r, offset, members, by, padding = ringlet.Branch(*branch)
            counted, head = (heads, h) if by == "query" else (key_heads, x)
            if offset == "modulo":
                offset = head
            elif offset == "block":
                offset = head // -(-counted // r)
            # One segment without w holds positions below 0 as well.
            segment, place = divmod(ordinal(p), w) if w else (0, ordinal(p))
            is_in = place % r == offset % r and h in range(*(members or (0, heads)))
            shown[index % sums][1] |= is_in or mix == "softmax"
            if not is_in:
                continue
            seen = (ordinal_u // w if w else 0 * u) == segment
            seen &= (ordinal_u % w if w else ordinal_u) % r == offset % r
            seen &= shows(p, u)
            if causal:
                seen &= u <= p
            if window[0] >= 0:
                seen &= u >= p - window[0]
            if window[1] >= 0:
                seen &= u <= p + window[1]
            shown[index % sums][0].extend(u[seen])
            if padding == "counted" and not causal:
                start, whole = segment * (w or 0), min(w or length_k, length_k)
                filled = np.arange(-(-whole // r) * r)
                zeros = (filled >= whole) | (start + filled >= length_k)
                zeros &= filled % r == offset % r
                if 0 <= start < length_k and p >= 0:
                    shown[index % sums][2] += zeros.sum()
        for index, (keys, has_sink, zeros) in enumerate(shown):
            scores = k[b, keys, x] @ q[b, i, h] / math.sqrt(dim)
            logits = np.append(scores, [0.0] * zeros)
            if sink is not None and has_sink:
                logits = np.append(logits, sink[h])
            if logits.size:
                top = logits.max()
                total = np.exp(logits - top).sum()
                lse[index, b, h, i] = top + math.log(total)
                out[b, i, h] += np.exp(scores - top) @ v[b, keys, x] / total
    return out, lse if mix == "sum" else lse[0]


@pytest.fixture
def rng():
    """The same numbers for each test, whatever ran before."""
    return np.random.default_rng(20)


@pytest.fixture(scope="session")
def dense():
    """Full attention, f32, 4 heads of 64."""
    return ringlet.compile(graph())


@pytest.fixture(scope="session")
def narrow():
    """The same in bf16."""
    return ringlet.compile(graph(dtype="bf16"))


@pytest.fixture
def inputs(rng):
    return tuple(
        rng.standard_normal((2, length, 4, 64), dtype=np.float32)
        for length in (37, 53, 53)
    )


@pytest.fixture
def script(tmp_path):
    """Makes an executable shell script, a stand-in for the compiler."""

    def make(body):
        path = tmp_path / "ringlet-compile"
        path.write_text("#!/bin/sh\n" + body)
        path.chmod(0o755)
        return path

    return make


@pytest.fixture
def compiled(monkeypatch):
    """The texts that ringlet.attention has compiled since."""
    from ringlet import _attention

    texts, compile_ = [], _attention.compile

    def note(text, *arguments, **keywords):
        texts.append(text)
        return compile_(text, *arguments, **keywords)

    monkeypatch.setattr(_attention, "compile", note)
    return texts


@pytest.fixture(autouse=True)
def own_compiler():
    """No test leaves its stand-in to the next one."""
    from ringlet import _native

    before = dict(_native._chosen)
    yield
    _native._chosen.clear()
    _native._chosen.update(before)


@pytest.fixture(autouse=True)
def dumps(tmp_path, monkeypatch):
    """Reproducers go here."""
    folder = tmp_path / "dumps"
    folder.mkdir()
    monkeypatch.setenv("RINGLET_DUMP_DIR", os.fspath(folder))
    return folder
