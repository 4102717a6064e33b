# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests share: programs, and the attention of the specification."""

import math
import os
import pathlib

import numpy as np
import pytest

import ringlet

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


def attention(q, k, v, branches=((None, 1),), causal=False):
    """f64, one row at a time, rules B2 (modulo), B4 and R1."""
    q, k, v = (np.asarray(each, np.float64) for each in (q, k, v))
    batches, length_q, heads, dim = q.shape
    length_k, group = k.shape[1], heads // k.shape[2]
    out = np.zeros(q.shape)
    lse = np.full((batches, heads, length_q), -np.inf)
    for b, i, h in np.ndindex(batches, length_q, heads):
        x = h // group
        p = length_k - length_q + i
        scores, values = [], []
        for w, r in branches:
            # One segment without w holds positions below 0 as well.
            segment, place = divmod(p, w) if w else (0, p)
            if place % r != x % r:
                continue
            for u in range(length_k):
                seen = (u // w if w else 0, (u % w if w else u) % r) == (segment, x % r)
                if seen and (u <= p or not causal):
                    scores.append(q[b, i, h] @ k[b, u, x] / math.sqrt(dim))
                    values.append(v[b, u, x])
        if scores:
            scores = np.array(scores)
            top = scores.max()
            weights = np.exp(scores - top)
            lse[b, h, i] = top + math.log(weights.sum())
            out[b, i, h] = weights @ np.array(values) / weights.sum()
    return out, lse


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
