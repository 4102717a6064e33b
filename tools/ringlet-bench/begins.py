# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random attention for `check` whose keys begin later (S5): the rows of other tensors,
behind rows that are NaN. A begin without keys is any number."""

from __future__ import annotations

import dataclasses
import random
import re

import check
import few_queries


@dataclasses.dataclass(frozen=True)
class Begun(check.Config):
    """A program for keys that begin at one of so many rows."""

    rows_before: int = 1

    @property
    def name(self) -> str:
        return f"{super().name} begins below {self.rows_before}"

    @property
    def text(self) -> str:
        begins = f"tensor<{self.batch}xi32>"
        text = super().text.replace(") -> (", f", %begins: {begins}) -> (", 1)
        before, types, after = re.split(r"(?<=\n      : \()(.*)(?=\) -> )", text)
        head, tail = before.rsplit("\n", 1)
        return f"{head} key_begins(%begins)\n{tail}{types}, {begins}{after}"

    def arguments(self, tensors, further, out, lse) -> tuple:
        import torch

        q, *sides = tensors
        keys = sides[0].shape[1]
        # Without lengths they end with the tensor, all at one row.
        begins = torch.randint(0, self.rows_before, (self.batch,))
        if not self.has_lengths:
            begins[:] = begins[0]
        rows = keys + int(begins.max())
        moved = [
            check._allocate(self, self.batch, rows, *side.shape[2:], side.dtype)
            for side in sides
        ]
        for batch, begin in enumerate(begins.tolist()):
            for side, to in zip(sides, moved):
                to[batch] = torch.nan
                to[batch, begin : begin + keys] = side[batch]
        if self.has_lengths:
            lengths = further["k_lengths"].clamp_(0, keys)
            further = {**further, "k_lengths": lengths + begins.cuda()}
            further["k_lengths"][lengths == 0] = 0
        begins[begins == 0] = -7
        further = {**further, "k_begins": begins.int().cuda()}
        return super().arguments((q, *moved), further, out, lse)


def draw(seed: int, count: int) -> list:
    dice, configs = random.Random(seed + 6), []
    for fields in few_queries.fields_of(seed, count, dice):
        fields["is_packed"] = False
        fields["has_lengths"] = dice.random() < 0.7
        fields["batch"] = dice.choice((1, 2, 3))
        configs.append(Begun(**fields, rows_before=dice.choice((1, 2, 20, 70, 300, 1500))))
    return configs
