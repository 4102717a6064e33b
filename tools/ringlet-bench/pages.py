# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random attention for `check` whose keys and values lie in pages (S4): the rows of
contiguous tensors, spread over pools in any order. All else there is NaN, and what the
table has behind the end of a sequence is no page's number."""

from __future__ import annotations

import dataclasses
import random
import re

import check
import few_queries


@dataclasses.dataclass(frozen=True)
class Paged(check.Config):
    """A program for pages of so many rows."""

    page: int = 16

    @property
    def name(self) -> str:
        return f"{super().name} pages of {self.page}"

    @property
    def text(self) -> str:
        pools = [
            f"tensor<?x{self.page}x{self.key_heads}x{dim}x{self.dtype}>"
            for dim in (self.dim, self.value_dim)
        ]
        text = super().text
        for name, pool in zip("kv", pools):
            text = re.sub(rf"%{name}: tensor<[^>]*>", f"%{name}: {pool}", text)
        table = f"tensor<{self.sequences}x?xi32>"
        text = text.replace(") -> (", f", %pages: {table}) -> (", 1)
        before, rest = text.split("\n      : (")
        types, after = rest.split(")", 1)
        query, _, _, *others = types.split(", ")
        types = ", ".join([query, *pools, *others, table])
        return f"{before} pages(%pages)\n      : ({types}){after}"

    def _places(self, further, keys) -> list:
        """Which rows of the tensors each sequence has."""
        if self.is_packed:
            starts = further["k_starts"]
            starts.clamp_(0, keys)
            ends = starts.tolist()
            return [(0, *each) for each in zip(ends, ends[1:])]
        lengths = [keys] * self.batch
        if self.has_lengths:
            # The last page may have more rows than the tensors.
            lengths = further["k_lengths"].clamp_(0, keys).tolist()
        return [(batch, 0, length) for batch, length in enumerate(lengths)]

    def arguments(self, tensors, further, out, lse) -> tuple:
        import torch

        q, *sides = tensors
        places = self._places(further, sides[0].shape[1])
        of_each = -(-sides[0].shape[1] // self.page)
        needed = [-(-(end - begin) // self.page) for _, begin, end in places]
        order = torch.randperm(sum(needed) + 2).tolist()
        table = torch.tensor([-1, -(2**31), 2**31 - 1, len(order)]).repeat(
            len(places), of_each
        )[:, :of_each]
        pools = [
            torch.full((len(order), self.page, *side.shape[2:]), torch.nan)
            .to(side.dtype)
            .cuda()
            for side in sides
        ]
        for number, ((batch, begin, end), count) in enumerate(zip(places, needed)):
            for i in range(count):
                page = table[number, i] = order.pop()
                first = begin + i * self.page
                rows = slice(first, min(first + self.page, end))
                for pool, side in zip(pools, sides):
                    pool[page, : rows.stop - first] = side[batch, rows]
        *others, out, lse = super().arguments((q,), further, out, lse)
        return others[0], *pools, *others[1:], table.int().cuda(), out, lse


def draw(seed: int, count: int) -> list:
    dice, configs = random.Random(seed + 5), []
    for fields in few_queries.fields_of(seed, count, dice):
        page = dice.choice((16, 16, 16, 32, 64, 64, 128, 256, 1, 7, 100))
        # Without lengths all rows of all pages count.
        fields["has_lengths"] = not fields["is_packed"] and page != 1
        fields["layout"] = "BSHD"
        configs.append(Paged(**fields, page=page))
    return configs
