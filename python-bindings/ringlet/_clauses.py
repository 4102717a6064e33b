# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small values that say which keys an attention sees.

The `str` of each is what the compiler reads.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional, Sequence, Tuple, Union


class Branch(NamedTuple):
    """Which keys a branch shows; section 2 of the specification.

    w       the length of a segment, None for one that holds all (B1)
    r       its dilation (B1)
    offset  the residue that a head sees (B2): "modulo", "block" or a constant
    heads   (begin, end) of the query heads that take part; None is all
    """

    w: Optional[int]
    r: int
    offset: Union[str, int] = "modulo"
    heads: Optional[Tuple[int, int]] = None

    def __str__(self) -> str:
        offset = self.offset
        if not isinstance(offset, str):
            offset = f"constant<{int(offset)}>"
        parts = [
            f"w = {'*' if self.w is None else int(self.w)}",
            f"r = {int(self.r)}",
            f"offset = {offset}",
        ]
        if self.heads is not None:
            parts.append(f"heads = {integers(self.heads)}")
        return f"<{', '.join(parts)}>"


class GridWindow(NamedTuple):
    """The keys near a query on the grid that positions are cells of (B5).

    grid   its sides; the last axis is the fastest
    reach  cells to each side, for each axis
    """

    grid: Tuple[int, ...]
    reach: Tuple[int, ...]

    def __str__(self) -> str:
        return f"<grid = {integers(self.grid)}, reach = {integers(self.reach)}>"


class Order(NamedTuple):
    """A walk along the positions (O2, O4), which has more steps than there are any.

    curve  "hilbert", "morton", "snake", or without a grid "residue<4>", "linear",
           "table<[1, 0, 2]>"
    grid   its sides; the last axis is the fastest
    chunk  steps of a walk without a grid
    """

    curve: str
    grid: Optional[Tuple[int, ...]] = None
    chunk: Optional[int] = None

    def __str__(self) -> str:
        parts = [self.curve]
        if self.grid is not None:
            parts.append(f"grid = {integers(self.grid)}")
        if self.chunk is not None:
            parts.append(f"chunk = {int(self.chunk)}")
        return f"<{', '.join(parts)}>"


class BlockMask(NamedTuple):
    """A boolean for each pair of a block of queries and a block of keys (B6).

    shows  a tensor, bool [blocks of queries, blocks of keys]: True shows the keys
    sizes  positions of a block of queries and of a block of keys
    """

    shows: Any
    sizes: Tuple[int, int]


def integers(numbers: Sequence) -> str:
    return f"[{', '.join(str(int(each)) for each in numbers)}]"
