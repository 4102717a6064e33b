# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What torch users have for sequences on several GPUs, forward.

Dense attention by torch's context parallelism, with either way of moving keys,
and, without a mask, by a loop of send, receive, cuDNN and a merge of states in
f32; lists of branches by an all-gather of each branch's keys of segments that
are longer than a shard, cuDNN, and a mix by the softmax of lse.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import re
from typing import Callable

import gpu_peers


@dataclasses.dataclass(frozen=True)
class Peer:
    """`run` returns this rank's rows, [1, rows, heads, dim]."""

    run: Callable
    is_zigzag: bool = False

    def rows(self, length: int, rank: int, ranks: int) -> list:
        count = 2 * ranks if self.is_zigzag else ranks
        size = length // count
        chunks = [rank, count - 1 - rank] if self.is_zigzag else [rank]
        return [slice(each * size, (each + 1) * size) for each in chunks]


class Group:
    """The process group of torch, and the peers of a case in it."""

    def __init__(self, rank: int, ranks: int, port: int, pattern: str):
        import torch
        import torch.distributed as distributed

        self.rank, self.ranks, self.pattern = rank, ranks, pattern
        self.device = torch.device("cuda", rank)
        self.distributed = distributed
        self.open = contextlib.ExitStack()
        distributed.init_process_group(
            "nccl",
            init_method=f"tcp://127.0.0.1:{port}",
            rank=rank,
            world_size=ranks,
            device_id=self.device,
        )

    def all_of(self, good: bool) -> bool:
        import torch

        flag = torch.tensor(int(good), device=self.device)
        self.distributed.all_reduce(flag, op=self.distributed.ReduceOp.MIN)
        return bool(flag.item())

    def close(self) -> None:
        """Of the peers of a case, what they changed in torch."""
        self.open.close()

    def end(self) -> None:
        self.distributed.destroy_process_group()

    def peers(self, case, whole: list, mine: list) -> dict:
        made: dict = {}
        if case.branches == ((None, 1),):
            local: list = []
            for method in ("allgather", "alltoall"):
                made[f"context parallel, {method}"] = (
                    lambda m=method: self.context_parallel(case, whole, local, m)
                )
            if not case.causal:
                made["send/recv + cuDNN"] = lambda: self.send_receive(mine)
        else:
            made["all-gather + cuDNN"] = lambda: self.all_gather(case, mine)
        return {
            name: make() for name, make in made.items() if re.search(self.pattern, name)
        }

    def context_parallel(self, case, whole: list, local: list, method: str) -> Peer:
        """torch.distributed's own; rows of causal attention are dealt out as zigzag
        parts. `local` is what all peers of a case share."""

        def enter() -> list:
            from torch.distributed.device_mesh import init_device_mesh
            from torch.distributed.tensor.experimental import context_parallel

            torchs_own()._cp_options.enable_load_balance = case.causal
            mesh = init_device_mesh("cuda", (self.ranks,))
            heads_first = [each.transpose(1, 2).contiguous() for each in whole]
            self.open.enter_context(
                context_parallel(mesh, buffers=heads_first, buffer_seq_dims=[2] * 3)
            )
            # The context takes its buffers back.
            return [each.detach().clone() for each in heads_first]

        def run():
            import torch
            from torch.nn.attention import SDPBackend, sdpa_kernel

            if not local:
                local.extend(enter())
            torchs_own().set_rotate_method(method)
            with torch.no_grad(), sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                out = torch.nn.functional.scaled_dot_product_attention(
                    *local, is_causal=case.causal
                )
            # Some versions return a tensor that knows of its shards.
            return getattr(out, "to_local", lambda: out)().transpose(1, 2)

        return Peer(run, is_zigzag=case.causal)

    def send_receive(self, mine: list) -> Peer:
        import torch

        distributed, rank, ranks = self.distributed, self.rank, self.ranks
        query, *pair = (each.transpose(1, 2).contiguous() for each in mine)
        own = torch.stack(pair)

        def shift(keys):
            """Begins to send to the next rank and to receive from the last one."""
            arriving = torch.empty_like(keys)
            messages = [
                distributed.P2POp(distributed.isend, keys, (rank + 1) % ranks),
                distributed.P2POp(distributed.irecv, arriving, (rank - 1) % ranks),
            ]
            return arriving, distributed.batch_isend_irecv(messages)

        def run():
            keys, out, lse = own, None, None
            for step in range(ranks):
                if step + 1 < ranks:
                    arriving, works = shift(keys)
                part, part_lse = cudnn(query, *keys)
                if out is None:
                    out, lse = part.float(), part_lse
                else:
                    total = torch.logaddexp(lse, part_lse)
                    out = out * (lse - total).exp() + part * (part_lse - total).exp()
                    lse = total
                if step + 1 < ranks:
                    for work in works:
                        work.wait()
                    keys = arriving
            return out.to(query.dtype).transpose(1, 2)

        return Peer(run)

    def all_gather(self, case, mine: list) -> Peer:
        import torch

        length = mine[0].shape[1]
        for w, r in case.branches:
            if w % r or case.heads % r or (length % w and w % length):
                raise ValueError("the peer takes lengths that the branches divide")

        def branch(w: int, r: int):
            """Output and lse on the grid of all rows and heads."""
            here = dataclasses.replace(
                case, length=length, branches=((min(w, length), r),)
            )
            rows = [gpu_peers._gather(here, each) for each in mine]
            if w > length:
                rows[1:] = self.gathered(rows[1:], w // length)
            out, lse = cudnn(*rows)
            return spread(here, out, 0.0), spread(here, lse, -1e30)

        def spread(here, rows, fill: float):
            """Rows [segments, heads, rows, any] to their places."""
            (w, r), count = here.branches[0], rows.shape[0]
            full = rows.new_full(
                (count, w // r, r, here.heads // r, r, rows.shape[-1]), fill
            )
            split = rows.reshape(count, here.heads // r, r, w // r, rows.shape[-1])
            full.diagonal(dim1=2, dim2=4).copy_(split.permute(0, 3, 1, 4, 2))
            return full.view(1, length, here.heads, rows.shape[-1])

        def run():
            outs, lses = zip(*(branch(w, r) for w, r in case.branches))
            weights = torch.softmax(torch.stack(lses), 0).to(outs[0].dtype)
            return sum(out * weight for out, weight in zip(outs, weights))

        return Peer(run)

    def gathered(self, pair: list, shards: int) -> list:
        """K and V of the ranks that share a segment, one behind the other."""
        import torch

        own = torch.stack(pair)
        every = own.new_empty((self.ranks, *own.shape))
        self.distributed.all_gather_into_tensor(every, own)
        first = self.rank // shards * shards
        # [ranks, 2, 1, heads, rows, dim] -> [1, heads, ranks * rows, dim]
        return [
            every[first : first + shards, i, 0].transpose(0, 1).flatten(1, 2)[None]
            for i in range(2)
        ]


def cudnn(query, key, value) -> tuple:
    """Output, and lse as [batch, heads, rows, 1]."""
    import torch

    out, lse, *_ = torch.ops.aten._scaled_dot_product_cudnn_attention(
        query, key, value, None, True, 0.0, False, False
    )
    return out, lse.reshape(*out.shape[:3], 1)


def torchs_own():
    """The module of torch's context parallelism, which has moved."""
    folder = "torch.distributed.tensor.experimental"
    try:
        return importlib.import_module(f"{folder}._context_parallel._attention")
    except ImportError:
        return importlib.import_module(f"{folder}._attention")
