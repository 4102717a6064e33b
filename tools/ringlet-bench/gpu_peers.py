# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What attention on a GPU is compared with.

Every peer is optional: one that is missing here, or that refuses a case, says
so in one line and is left out.
"""

from __future__ import annotations

import re

import gpu_packages


def _gather(case, x, branch=0):
    """Rows of a branch, [segments, heads, rows, dim]."""
    (w, r), heads, dim = case.branches[branch], case.heads, case.dim
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


def _mix(case):
    """Each branch by cuDNN on gathered rows; outputs mixed by the softmax of
    their lse."""
    import torch

    attend_rows = torch.ops.aten._scaled_dot_product_cudnn_attention

    def spread(x, w, r, fill):
        """Rows [segments, heads, rows, dim] to their places in the sequence."""
        n, heads, rows, dim = x.shape
        full = x.new_full((n, rows, r, heads // r, r, dim), fill)
        split = x.reshape(n, heads // r, r, rows, dim).permute(0, 3, 1, 4, 2)
        full.diagonal(dim1=2, dim2=4).copy_(split)
        return full.view(1, n * w, heads, dim)

    def attend(q, k, v):
        outs, lses = [], []
        for branch, (w, r) in enumerate(case.branches):
            rows = (_gather(case, x, branch) for x in (q, k, v))
            out, lse, *_ = attend_rows(*rows, None, True, 0.0, case.causal, False)
            lse = lse.reshape(*out.shape[:3], 1)
            outs.append(spread(out, w, r, 0.0))
            lses.append(spread(lse, w, r, -1e30))
        weights = torch.softmax(torch.stack(lses), 0).to(q.dtype)
        return sum(out * weight for out, weight in zip(outs, weights))

    return attend


def _groups(case):
    """Each group of heads by cuDNN on the gathered rows of its branch."""
    import torch

    attend_rows = torch.ops.aten._scaled_dot_product_cudnn_attention

    def attend(q, k, v):
        result, size = torch.zeros_like(q), case.heads // len(case.branches)
        for index, (w, r) in enumerate(case.branches):
            n, heads = case.length // w, slice(index * size, (index + 1) * size)

            def rows(x):
                """[segments, rows, heads, dim] of the group's residue."""
                split = x[0, :, heads].view(n, w // r, r, size, case.dim)
                return split[:, :, index % r]

            operands = (rows(x).transpose(1, 2).contiguous() for x in (q, k, v))
            out, *_ = attend_rows(*operands, None, True, 0.0, case.causal, False)
            rows(result).copy_(out.transpose(1, 2))
        return result

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


def _triton(case, programs):
    """The attention of Triton's tutorial; its first call tunes."""
    import torch

    if case.dtype != "f16":
        raise ValueError(f"expected f16, the tutorial's type, found {case.dtype}")
    attention = gpu_packages.load_source(programs, "Triton").attention
    scale = case.dim**-0.5
    copied = []  # The tensors of the last call, and copies with heads first.

    def attend(*tensors):
        # The kernel reads no other layout. Who calls twice with the same tensors
        # pays for copies once.
        if not copied or any(x is not y for x, y in zip(tensors, copied[0])):
            copies = [x.transpose(1, 2).contiguous() for x in tensors]
            copied[:] = [tensors, copies]
        with torch.no_grad():
            return attention(*copied[1], case.causal, scale, False).transpose(1, 2)

    return attend


def _flash4(case, programs):
    """FlashAttention-4, in its form for this GPU; its first call compiles."""
    gpu_packages.install(programs, "FlashAttention-4")
    from flash_attn.cute import flash_attn_func

    def attend(q, k, v):
        out = flash_attn_func(q, k, v, causal=case.causal)
        return out[0] if isinstance(out, tuple) else out

    return attend


def _tilelang(case, programs):
    """TileLang's example, with two groups of warps and two stages."""
    if case.dtype != "f16":
        raise ValueError(f"expected f16, the example's type, found {case.dtype}")
    gpu_packages.install(programs, "TileLang")
    example = gpu_packages.load_source(programs, "TileLang")
    shape = (case.batch, case.heads, case.length, case.dim)
    return example.flashattn(
        *shape, case.causal, block_M=128, block_N=128, num_stages=2, threads=256
    )


def makers(case, programs) -> dict:
    """Name of each peer that could take the case, and what makes its call."""
    if case.grouped:
        return {"gather + cuDNN, by groups": lambda: _groups(case)}
    if len(case.branches) > 1:
        return {"gather + cuDNN + mix": lambda: _mix(case)}
    prefix = "" if case.family == "dense" else "gather + "
    result = {
        f"{prefix}cuDNN": lambda: _sdpa(case, "CUDNN_ATTENTION"),
        f"{prefix}FA2 in torch": lambda: _sdpa(case, "FLASH_ATTENTION"),
    }
    if case.dtype == "f32":
        result["mem-efficient in torch"] = lambda: _sdpa(case, "EFFICIENT_ATTENTION")
    if case.family == "dense":
        result["FlexAttention"] = lambda: _flex(case)
        result["Triton"] = lambda: _triton(case, programs)
        result["FlashAttention-4"] = lambda: _flash4(case, programs)
        result["TileLang"] = lambda: _tilelang(case, programs)
    return result


def refusal(error: Exception) -> str:
    """The first line of what a peer says, and of which kind it is."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:100] if lines else 'no reason given'}"


def peers(case, programs, pattern: str = "") -> dict:
    """Name and call q, k, v -> output of each peer that there is and matches."""
    found = {}
    for name, make in makers(case, programs).items():
        if not re.search(pattern, name):
            continue
        try:
            found[name] = make()
        except Exception as error:  # Whatever it is, only this peer is missing.
            print(f"{name} is left out of {case.name}: {refusal(error)}", flush=True)
    return found
