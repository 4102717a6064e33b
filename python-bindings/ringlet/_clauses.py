# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small values that say which keys an attention sees.

The `str` of each is what the compiler reads: made of integers and known words only,
whatever a caller put in.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, Optional, Tuple, Union

from ringlet._values import integer, integers, one_of

OFFSETS = ("modulo", "block")
HEADS = ("key", "query")
PADDINGS = ("none", "counted")
# A curve's name, with a number or a list of numbers as its parameter.
_CURVE = re.compile(r"[a-z_]+(<\s*-?\d+\s*>|<\s*\[[-\d,\s]*\]\s*>)?", re.ASCII)


def is_read_at_run(value: Any) -> bool:
    """Whether a size is an array without axes, which a program reads at each run;
    a number is compiled in."""
    # numpy's numbers have no axes, either, but are no arrays.
    return hasattr(value, "__dlpack__") and getattr(value, "shape", ()) == ()


class Branch(NamedTuple):
    """Which keys a branch shows; section 2 of the specification.

    w       the length of a segment, None for one that holds all (B1)
    r       its dilation (B1)
    offset  the residue that a head sees (B2): "modulo", "block" or a constant
    heads   (begin, end) of the query heads that take part; None is all
    by      the heads that offset counts (B2): "key" or "query" heads
    padding "counted": keys of zeros, up to which segments are filled, count in the
            softmax of what is not causal (B7); "none": they do not

    w and r that are numbers are compiled in. An array of an integer without axes,
    in the host's memory, is read at each call, and no other value of it compiles
    again.
    """

    w: Any
    r: Any
    offset: Union[str, int] = "modulo"
    heads: Optional[Tuple[int, int]] = None
    by: str = "key"
    padding: str = "none"

    def __str__(self) -> str:
        if self.w is None:
            w = "*"
        else:
            w = "?" if is_read_at_run(self.w) else integer("w", self.w, rule="B1")
        r = "?" if is_read_at_run(self.r) else integer("r", self.r, rule="B1")
        offset = self.offset
        if isinstance(offset, str):
            if offset not in OFFSETS:
                raise ValueError(
                    "expected offset as 'modulo', 'block' or an integer, found "
                    f"{offset!r:.80} (B2)"
                )
            offset = one_of("offset", offset, OFFSETS, rule="B2")
        else:
            offset = f"constant<{integer('offset', offset, rule='B2')}>"
        parts = [f"w = {w}", f"r = {r}", f"offset = {offset}"]
        by = one_of("by", self.by, HEADS, rule="B2")
        if by != "key":
            parts.append(f"by = {by}")
        if self.heads is not None:
            parts.append(f"heads = {listed('heads', self.heads, rule='section 2')}")
        if one_of("padding", self.padding, PADDINGS, rule="B7") != "none":
            parts.append(f"padding = {self.padding}")
        return f"<{', '.join(parts)}>"


class GridWindow(NamedTuple):
    """The keys near a query on the grid that positions are cells of (B5).

    grid   its sides; the last axis is the fastest
    reach  cells to each side, for each axis
    """

    grid: Tuple[int, ...]
    reach: Tuple[int, ...]

    def __str__(self) -> str:
        grid = listed("grid", self.grid, rule="B5")
        return f"<grid = {grid}, reach = {listed('reach', self.reach, rule='B5')}>"


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
        found = isinstance(self.curve, str) and _CURVE.fullmatch(self.curve)
        if not found:
            raise ValueError(
                "expected curve as a name, with <number> or <[numbers]> behind it where "
                f"it takes them, found {self.curve!r:.80} (O1)"
            )
        parts = [found.group()]
        if self.grid is not None:
            parts.append(f"grid = {listed('grid', self.grid, rule='O1')}")
        if self.chunk is not None:
            parts.append(f"chunk = {integer('chunk', self.chunk, rule='O1')}")
        return f"<{', '.join(parts)}>"


class BlockMask(NamedTuple):
    """A boolean for each pair of a block of queries and a block of keys (B6).

    shows  a tensor, bool [blocks of queries, blocks of keys]: True shows the keys
    sizes  positions of a block of queries and of a block of keys
    """

    shows: Any
    sizes: Tuple[int, int]


def listed(name: str, numbers: Any, *, rule: str) -> str:
    return f"[{', '.join(map(str, integers(name, numbers, rule=rule)))}]"
