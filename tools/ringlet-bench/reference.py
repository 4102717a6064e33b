# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Some rows of the result in f64, straight from the specification."""

from __future__ import annotations

import math

import torch


def visible_keys(case, position: int, head: int) -> list:
    """For each branch that the row is in, the positions of its keys (B3, B4)."""
    result = []
    for branch, (w, r) in enumerate(case.branches):
        residue = case.residue(branch, head)
        segment = case.length if w is None else w
        start = position // segment * segment
        if residue is None or (position - start) % r != residue:
            continue
        end = min(start + segment, case.length)
        if case.causal:
            end = min(end, position + 1)
        result.append(torch.arange(start + residue, end, r))
    return result


def row(case, q, k, v, position: int, head: int) -> torch.Tensor:
    """One softmax over the multiset of the keys of all branches (R1)."""
    keys = torch.cat(visible_keys(case, position, head))
    scores = k[0, keys, head].double() @ q[0, position, head].double()
    weights = torch.softmax(scores / math.sqrt(case.dim), 0)
    return weights @ v[0, keys, head].double()


def worst_error(case, q, k, v, out, rows: list) -> float:
    """Greatest error over the rows, relative to their greatest value."""
    error = largest = 0.0
    for position, head in rows:
        expected = row(case, q, k, v, position, head)
        difference = (out[0, position, head].double() - expected).abs().max().item()
        if math.isnan(difference):
            return math.inf
        error = max(error, difference)
        largest = max(largest, expected.abs().max().item())
    return error / largest
