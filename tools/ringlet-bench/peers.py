# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same operations by torch, as well as torch does them on a CPU.

Each takes a case and q, k, v [1, length, heads, dim], and returns the output in
that layout.
"""

from __future__ import annotations

import torch
import torch.nn.functional


def sdpa(case, q, k, v):
    """One fused call on the tensors as they are."""
    out = torch.nn.functional.scaled_dot_product_attention(
        *(each.transpose(1, 2) for each in (q, k, v)), is_causal=case.causal
    )
    return out.transpose(1, 2)


def prepare_bhsd(q, k, v):
    """Heads before rows, each head contiguous: made before the clock starts."""
    return tuple(
        each.transpose(1, 2).contiguous().transpose(1, 2) for each in (q, k, v)
    )


def sdpa_bhsd(case, q, k, v):
    """The same on the layout that torch's own modules produce."""
    return sdpa(case, q, k, v)


sdpa_bhsd.prepare = prepare_bhsd


def _of_branch(tensor, w, r):
    """Rows and heads of a branch, [segments, rows, heads / r, dim, r].

    A view: head h takes part with the rows whose place in the segment is h
    modulo r, the diagonal of the two axes of length r.
    """
    _, length, heads, dim = tensor.shape
    split = tensor.view(length // w, w // r, r, heads // r, r, dim)
    return split.diagonal(dim1=2, dim2=4)


def longnet(case, q, k, v):
    """Gather, one fused call a branch, and the softmax of the branches' lse.

    The first branch covers every row, so that its result is the canvas on which
    the others, which hold some rows of each head, are mixed in.
    """
    if any(case.length % w or w % r or case.heads % r for w, r in case.branches):
        raise ValueError("the peer takes lengths that the branches divide")
    _, length, heads, dim = q.shape
    parts = []
    for w, r in case.branches:
        # [segments, rows, heads / r, dim, r] -> [segments, heads, rows, dim]
        q_part, k_part, v_part = (
            _of_branch(each, w, r)
            .permute(0, 4, 2, 1, 3)
            .reshape(length // w, heads, w // r, dim)
            for each in (q, k, v)
        )
        parts.append(
            torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
                q_part, k_part, v_part, 0.0, case.causal
            )
        )

    # lse of every branch on the grid of all rows and heads.
    lse = q.new_full((len(parts), 1, length, heads, 1), -torch.inf, dtype=torch.float32)
    spread = []
    for index, ((w, r), (out, out_lse)) in enumerate(zip(case.branches, parts)):
        shape = (length // w, r, heads // r, w // r)
        _of_branch(lse[index], w, r).copy_(
            out_lse.reshape(shape).permute(0, 3, 2, 1).unsqueeze(3)
        )
        spread.append(out.reshape(*shape, dim).permute(0, 3, 2, 4, 1))
    weights = lse.softmax(0)

    result = None
    for index, ((w, r), part) in enumerate(zip(case.branches, spread)):
        weighted = part * _of_branch(weights[index], w, r)
        if result is None:
            result = torch.empty((1, length, heads, dim), dtype=torch.float32)
            _of_branch(result, w, r).copy_(weighted)
        else:
            _of_branch(result, w, r).add_(weighted)
    return result.to(q.dtype)
