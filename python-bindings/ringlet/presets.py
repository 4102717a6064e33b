# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention patterns by name, as keywords of `ringlet.attention`.

    from ringlet import presets

    out, lse = ringlet.attention(
        q, k, v, **presets.longnet([2048, 4096, 8192], [1, 2, 4]), causal=True)
    out, lse = ringlet.attention(q, k, v, **presets.longnet(*presets.LARGE))
    out, lse = ringlet.attention(q, k, v, **presets.longnet(*presets.up_to(10**6)))
    out, lse = ringlet.attention(q, k, v, **presets.grouped(*presets.BASE, heads=16))
    out, lse = ringlet.attention(q, k, v, **presets.window(512, 0))

A preset says what branches mean; a `Lists` is their segments and rates. What a
preset returns is a dictionary that may be printed, changed and passed on.
"""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Sequence, Tuple

from ringlet._clauses import Branch
from ringlet._values import integer

__all__ = [
    "BASE",
    "LARGE",
    "LONG",
    "Lists",
    "SPARSE",
    "dense",
    "grouped",
    "longnet",
    "torchscale",
    "up_to",
    "window",
]

Keywords = Dict[str, Any]


class Lists(NamedTuple):
    """Segment lengths w and dilations r, branch by branch."""

    segments: Tuple[Optional[int], ...]
    rates: Tuple[int, ...]


BASE = Lists((2048, 4096, 8192), (1, 2, 4))
"""Each row of each head sees keys, and every branch shows a row 2048 of them."""

SPARSE = Lists((4096, 8192), (2, 4))
"""BASE without its first branch: half of a head's rows see nothing."""

LARGE = Lists((8192, 16384, 32768), (1, 2, 4))
"""BASE with segments four times as long. Its segments are published without
rates; these are those with which, as in BASE, no row is left without keys and
no branch costs a row more than another, w / r = 8192 keys."""

LONG = Lists((16384, 32768, 65536), (4, 8, 16))
"""4096 keys a branch; three quarters of a head's rows see nothing."""


def up_to(length: int, first: int = 2048) -> Lists:
    """Lists for sequences of at most `length` tokens.

    They begin with (first, 1), and segments and rates double until a segment
    holds the whole sequence, as the LongNet paper lets them grow. A branch shows
    `first` keys to one in r rows of a head, so that all of them cost less than
    twice the first one, however long the sequence is.

    Other lists are another function: a model keeps those of its longest
    sequence for all of them.
    """
    length, first = _at_least_1("length", length), _at_least_1("first", first)
    segments = [first]
    while segments[-1] < length:
        segments.append(2 * segments[-1])
    return Lists(tuple(segments), tuple(1 << i for i in range(len(segments))))


def longnet(segments: Sequence, rates: Sequence) -> Keywords:
    """As in the LongNet paper: head h sees residue h mod r; one softmax."""
    return {"branches": _branches(segments, rates)}


def torchscale(segments: Sequence, rates: Sequence, *, padding: str = "none") -> Keywords:
    """As in torchscale: the first heads see residue 0, the next ones 1, ...

    What torchscale adds to short segments are keys of zeros, which count in its
    softmax where attention is not causal. With padding "counted" they do so here
    (B7), and a checkpoint trained there gives the numbers that it gave there.
    """
    return {
        "branches": tuple(
            each._replace(offset="block", padding=padding)
            for each in _branches(segments, rates)
        )
    }


def grouped(segments: Sequence, rates: Sequence, *, heads: int) -> Keywords:
    """A branch for each of n groups of the `heads` query heads, 1/n of their sum.

    Where n does not divide `heads`, the first groups have one head more. All
    heads of group i see residue i mod r. lse has an axis more, its first: a
    row is in one branch and -inf in the others.
    """
    branches, heads = _branches(segments, rates), _at_least_1("heads", heads)
    count = len(branches)
    if heads < count:
        raise ValueError(
            f"expected a head for each of {count} branches, found {heads}; the "
            f"first {heads} of them fit"
        )
    size, larger = divmod(heads, count)
    ends = [size * (i + 1) + min(i + 1, larger) for i in range(count)]
    return {
        "branches": tuple(
            each._replace(offset=i, heads=(begin, end))
            for i, (each, begin, end) in enumerate(zip(branches, [0, *ends], ends))
        ),
        "mix": "sum",
        "output_scale": 1 / count,
    }


def dense() -> Keywords:
    """Every key."""
    return {"branches": (Branch(None, 1),)}


def window(left: int, right: int) -> Keywords:
    """The keys up to `left` tokens before and `right` behind; -1 is no limit."""
    return {**dense(), "window": (integer("left", left), integer("right", right))}


def _branches(segments: Sequence, rates: Sequence) -> Tuple[Branch, ...]:
    """What the compiler would refuse is refused where lists are written."""
    segments, rates = tuple(segments), tuple(rates)
    if not segments or len(segments) != len(rates):
        fit = min(len(segments), len(rates))
        raise ValueError(
            "expected one rate for each of one or more segments, found "
            f"{len(segments)} segments and {len(rates)} rates"
            + (f"; the first {fit} of both fit" if fit else "")
        )
    branches = []
    for w, r in zip(segments, rates):
        w = w if w is None else _at_least_1("a segment", w)
        r = _at_least_1("a rate", r)
        if w is not None and r > w:
            raise ValueError(
                f"expected a rate of at most the segment length {w}, found {r} "
                f"(B1); the nearest is {w}"
            )
        branches.append(Branch(w, r))
    return tuple(branches)


def _at_least_1(name: str, number: Any) -> int:
    number = integer(name, number, rule="B1")
    if number < 1:
        raise ValueError(
            f"expected {name} of at least 1, found {number} (B1); the nearest is 1"
        )
    return number
