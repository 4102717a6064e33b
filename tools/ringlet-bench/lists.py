# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random lists of branches for `check`: nested ones and others, of all heads and of
some, with keys of padding and without."""

from __future__ import annotations

import dataclasses
import random

import check
from ringlet import Branch


@dataclasses.dataclass(frozen=True)
class Lists(check.Config):
    """A program with several branches."""

    branches: tuple = ()
    combine: str = ""
    # Each branch has a softmax of its own, and heads of its own.
    is_sum: bool = False

    @property
    def name(self) -> str:
        branches = " ".join(map(str, self.branches))
        ways = " ".join(filter(None, (self.combine, "sum" if self.is_sum else "")))
        return f"{super().name} {branches} {ways}".strip()

    @property
    def text(self) -> str:
        text = super().text
        branches = f"branches [{', '.join(map(str, self.branches))}]"
        if self.combine:
            branches += f" combine = {self.combine}"
        if self.is_sum:
            branches += " mix = sum"
        count = len(self.branches)
        if self.is_sum:
            lse = f"tensor<{self.batch}x{self.heads}x?xf32>"
            text = text.replace(lse, lse.replace("<", f"<{count}x"))
        return text.replace("branches [<w = *, r = 1>]", branches)

    def _residue(self, branch, head):
        group = self.heads // self.key_heads
        by_query = branch.by == "query"
        x, heads = (head, self.heads) if by_query else (head // group, self.key_heads)
        if branch.offset == "modulo":
            return x % branch.r
        if branch.offset == "block":
            return x // -(-heads // branch.r)
        return branch.offset % branch.r

    def _has(self, branch, head) -> bool:
        first, end = branch.heads or (0, self.heads)
        return first <= head < end

    def counts(self, head, rows, offset, keys):
        import torch

        p = (rows + offset)[:, None]
        u = torch.arange(keys, device="cuda")[None]
        counts = torch.zeros(p.shape[0], keys, device="cuda", dtype=torch.float64)
        padding = torch.zeros(p.shape[0], device="cuda", dtype=torch.float64)
        for branch in self.branches:
            if not self._has(branch, head):
                continue
            w, r, o = branch.w or 2**60, branch.r, self._residue(branch, head)
            place = p % w if branch.w else p
            segment = p // w if branch.w else 0 * p
            is_in = place % r == o
            seen = is_in & ((u // w if branch.w else 0 * u) == segment)
            seen &= (u % w if branch.w else u) % r == o
            if self.causal:
                seen &= u <= p
            counts += seen
            if branch.padding == "counted" and not self.causal:
                whole = min(w, keys)
                filled = torch.arange(-(-whole // r) * r, device="cuda")[None]
                start = segment * (branch.w or 0)
                zeros = (filled % r == o) & (
                    (filled >= whole) | (start + filled >= keys)
                )
                there = is_in & (p >= 0) & (start < keys)
                padding += (zeros & there).sum(1)
        return counts, padding

    def lse_shape(self, queries) -> tuple:
        shape = super().lse_shape(queries)
        return (len(self.branches), *shape) if self.is_sum else shape

    def lse_of(self, lse, head):
        if not self.is_sum:
            return lse[head]
        number = next(i for i, each in enumerate(self.branches) if self._has(each, head))
        return lse[number, head]


def _nested(dice) -> list:
    """Each w and r a multiple of the one before; base segments of 1 to 16 tiles of
    128 rows of a residue, or of a part of one."""
    count = dice.choice((2, 2, 3, 3, 4))
    rates = [1]
    for _ in range(count - 1):
        rates.append(rates[-1] * dice.choice((1, 2, 2, 3, 4)))
    w = rates[-1] * dice.choice((32, 96, 128, 128, 256, 512, 100))
    branches = []
    for r in rates:
        branches.append((w, r))
        w *= dice.choice((1, 2, 2, 3, 4))
    if dice.random() < 0.1:
        branches[-1] = (None, branches[-1][1])
    return branches


def _any(dice) -> list:
    """Whatever they are, but with rows in common."""
    unit = dice.choice((64, 120, 256, 500))
    return [
        (unit * dice.choice((1, 2, 3, 5, 8)), dice.choice((1, 1, 2, 3, 4)))
        for _ in range(dice.choice((2, 2, 3)))
    ]


def _branches(dice, sizes, heads, is_sum) -> tuple:
    offset = dice.choice(("modulo", "modulo", "modulo", "block", 1, 3))
    by = dice.choice(("key", "key", "query"))
    padding = dice.choice(("none", "none", "counted"))
    made = []
    for i, (w, r) in enumerate(sizes):
        members = None
        if is_sum:
            members = i * heads // len(sizes), (i + 1) * heads // len(sizes)
        elif dice.random() < 0.1:
            first = dice.randrange(heads)
            members = first, dice.randrange(first + 1, heads + 1)
        made.append(Branch(w, r, offset, members, by, padding))
    return tuple(made)


def draw(seed: int, count: int) -> list:
    dice = random.Random(seed)
    configs = []
    while len(configs) < count:
        is_sum = dice.random() < 0.2
        key_heads, group = dice.choice((2, 3, 4)), dice.choice((1, 1, 2))
        heads = key_heads * group
        sizes = (_nested if dice.random() < 0.75 else _any)(dice)
        if is_sum and len(sizes) > heads:
            continue
        dim = dice.choice((64, 64, 128, 128, 96, 40, 256))
        longest = max(w or 4096 for w, _ in sizes)
        lengths = []
        for _ in range(2):
            keys = dice.choice((1, 127, 500, 1024, 2048, 3001, 6000, longest, longest + 1))
            lengths.append((max(1, keys // 3) if dice.random() < 0.2 else keys, keys))
        configs.append(
            Lists(
                batch=dice.choice((1, 1, 2)),
                heads=heads,
                key_heads=key_heads,
                dim=dim,
                value_dim=dice.choice((64, 128)) if dice.random() < 0.15 else dim,
                dtype=dice.choice(("bf16", "bf16", "f16")),
                causal=dice.random() < 0.5,
                window=None,
                w=None,
                r=1,
                lengths=tuple(lengths),
                layout=dice.choice(("BSHD", "BSHD", "BHSD", "one of three")),
                softcap=dice.choice((None,) * 5 + (30.0,)),
                has_sink=not is_sum and dice.random() < 0.15,
                branches=_branches(dice, sizes, heads, is_sum),
                combine=dice.choice(("",) * 9 + ("chain",)),
                is_sum=is_sum,
            )
        )
    return configs
