# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scores that are hard for a streaming softmax, for `check`."""

from __future__ import annotations

import math

SCORES = (
    "ordinary",
    "late jump of 200",
    "late jump of 1e4",
    "all equal",
    "low where the loop begins",
    "great",
)


def change(config, q, k, scores):
    """Changes q and k so that a streaming softmax has a hard time."""
    import torch

    dtype, keys = q.dtype, k.shape[1]
    # Every query has a component of 2 sqrt(D) along one direction.
    direction = torch.full((config.dim,), 2.0, device="cuda").to(dtype)
    unit = math.sqrt(config.dim) / (4.0 * config.dim)
    if scores.startswith("late jump"):
        q += direction
        jump = float(scores.split()[-1])
        for at in {keys // 4, keys - 1 - keys // 8}:
            k[:, at] = direction * (jump * unit)
    elif scores == "all equal":
        k[:] = k[:, :1].clone()
    elif scores.startswith("low"):
        q += direction
        low = (direction * (-1000.0 * unit)).expand(k[:, :130].shape)
        k[:, :130] = low
        k[:, -130:] = low[:, : k[:, -130:].shape[1]]
    elif scores == "great":
        q *= 6.0
        k *= 3.0
