# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ringlet-bench, as far as it goes without torch; the rest where there is one."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

import ringlet
from conftest import ROOT, attention

BENCH = ROOT / "tools/ringlet-bench"


@pytest.fixture(autouse=True)
def modules(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))


def small(case):
    """The same with segments and length a 64th of it."""
    branches = tuple((w and w // 64, r) for w, r in case.branches)
    return dataclasses.replace(case, length=case.length // 64, branches=branches)


def test_flops_count_visible_pairs():
    import cases

    for case in map(small, cases.cpu_cases()):
        pairs = 0
        for w, r in case.branches:
            position = np.arange(case.length)
            for head in range(case.heads):
                segment, place = np.divmod(position, w or case.length)
                inside = place % r == head % r
                seen = (segment[:, None] == segment) & inside[:, None] & inside
                if case.causal:
                    seen &= position[:, None] >= position
                pairs += seen.sum()
        assert case.flops == 4 * case.dim * pairs, case


def test_texts_compute_the_case(rng):
    import cases

    chosen = {case.family: small(case) for case in cases.cpu_cases() if case.causal}
    assert set(chosen) == {"dense", "longnet"}
    for case in chosen.values():
        case = dataclasses.replace(case, dtype="f32")
        shape = (1, case.length, case.heads, case.dim)
        q, k, v = (rng.standard_normal(shape, dtype=np.float32) for _ in range(3))
        out, _ = ringlet.compile(case.text)(q, k, v)
        rows = slice(case.length - 16, None)
        want, _ = attention(q[:, rows], k, v, case.branches, case.causal)
        np.testing.assert_allclose(out[:, rows], want, rtol=1e-4, atol=2e-6)


def test_peers_and_reference():
    torch = pytest.importorskip("torch")
    import cases
    import reference
    import suite

    for case in map(small, cases.cpu_cases()):
        dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[case.dtype]
        shape = (1, case.length, case.heads, case.dim)
        q, k, v = (torch.randn(shape).to(dtype) for _ in range(3))
        rows = [(p, h) for p in range(case.length) for h in range(case.heads)]
        for name, peer in case.peers.items():
            error = reference.worst_error(case, q, k, v, peer(case, q, k, v), rows)
            assert error <= suite.TOLERANCE[case.dtype], (case, name)


@pytest.mark.parametrize("pattern", ["none such", "("])
def test_wrong_pattern(pattern):
    done = subprocess.run(
        [sys.executable, BENCH / "ringlet-bench", "cpu", f"--only={pattern}"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and done.stderr.startswith("expected --only")
