# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What attention on a GPU is compared with.

Every peer is optional: one that is missing here, or that refuses a case, says
so in one line and is left out.
"""

from __future__ import annotations

import importlib.util
import re


def _gather(case, x):
    """Rows of the case's one branch, [segments, heads, rows, dim]."""
    (w, r), heads, dim = case.branches[0], case.heads, case.dim
    if w is None:
        return x.transpose(1, 2)
    n = case.length // w
    split = x.view(n, w // r, r, heads // r, r, dim).diagonal(dim1=2, dim2=4)
    return split.permute(0, 2, 4, 1, 3).reshape(n, heads, w // r, dim)


def _scatter(case, out, like):
    (w, r), heads, dim = case.branches[0], case.heads, case.dim
    if w is None:
        return out.transpose(1, 2)
    n = case.length // w
    result = like.new_zeros(like.shape)
    target = result.view(n, w // r, r, heads // r, r, dim).diagonal(dim1=2, dim2=4)
    target.copy_(
        out.reshape(n, heads // r, r, w // r, dim).permute(0, 3, 1, 4, 2)
    )
    return result


def _sdpa(case, backend):
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    chosen = getattr(SDPBackend, backend)

    def attend(q, k, v):
        with sdpa_kernel(chosen):
            out = scaled_dot_product_attention(
                *(_gather(case, each) for each in (q, k, v)),
                is_causal=case.causal,
            )
        return _scatter(case, out, q)

    return attend


def _flex(case):
    """FlexAttention; its first call compiles, which nobody times."""
    import torch
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    # Each case has sizes of its own, and torch gives up compiling a function
    # again after a few; what it runs then is another kernel.
    torch._dynamo.reset()
    compiled = torch.compile(flex_attention, dynamic=False)
    mask = None
    if case.causal:
        mask = create_block_mask(
            lambda batch, head, query, key: query >= key,
            None,
            None,
            case.length,
            case.length,
            device="cuda",
        )

    def attend(q, k, v):
        out = compiled(*(x.transpose(1, 2) for x in (q, k, v)), block_mask=mask)
        return out.transpose(1, 2)

    return attend


def _triton(case):
    """The attention that old versions of Triton came with."""
    from triton.ops.flash_attention import attention

    scale = case.dim**-0.5

    def attend(q, k, v):
        out = attention(*(x.transpose(1, 2) for x in (q, k, v)), case.causal, scale)
        return out.transpose(1, 2)

    return attend


def _importable(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:  # A package that it would be in is missing.
        return False


def makers(case) -> dict:
    """Name of each peer that could take the case, and what makes its call."""
    prefix = "" if case.family == "dense" else "gather + "
    result = {
        f"{prefix}cuDNN": lambda: _sdpa(case, "CUDNN_ATTENTION"),
        f"{prefix}FA2 in torch": lambda: _sdpa(case, "FLASH_ATTENTION"),
    }
    if case.family == "dense":
        result["FlexAttention"] = lambda: _flex(case)
        if _importable("triton.ops.flash_attention"):
            result["Triton"] = lambda: _triton(case)
    return result


def refusal(error: Exception) -> str:
    """The first line of what a peer says, and of which kind it is."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:100] if lines else 'no reason given'}"


def peers(case, pattern: str = "") -> dict:
    """Name and call q, k, v -> output of each peer that there is and matches."""
    found = {}
    for name, make in makers(case).items():
        if not re.search(pattern, name):
            continue
        try:
            found[name] = make()
        except Exception as error:  # Whatever it is, only this peer is missing.
            print(f"{name} is left out: {refusal(error)}", flush=True)
    return found
