# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention without a graph of one's own."""

from __future__ import annotations

import ctypes
import functools
from typing import Any, NamedTuple, Optional, Sequence, Tuple, Union

from ringlet import _capi, _dlpack
from ringlet._compiler import compile
from ringlet._program import Context, Program, default_context
from ringlet._tensors import Place, device_of, view_of

# Architectures whose fastest instructions are code for them alone.
_SPECIFIC = ("sm_90",)


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
        """As the compiler reads it."""
        offset = self.offset
        if not isinstance(offset, str):
            offset = f"constant<{int(offset)}>"
        parts = [
            f"w = {'*' if self.w is None else int(self.w)}",
            f"r = {int(self.r)}",
            f"offset = {offset}",
        ]
        if self.heads is not None:
            begin, end = self.heads
            parts.append(f"heads = [{int(begin)}, {int(end)}]")
        return f"<{', '.join(parts)}>"


def attention(
    query: Any,
    key: Any,
    value: Any,
    *,
    branches: Sequence = ((None, 1),),
    causal: bool = False,
    window: Optional[Sequence] = None,
    scale: Optional[float] = None,
    softcap: Optional[float] = None,
    mix: str = "softmax",
    output_scale: Optional[float] = None,
    context: Optional[Context] = None,
    out: Any = None,
    stream: Optional[int] = None,
) -> tuple:
    """Attention over dilated segments; returns (output, lse).

        out, lse = ringlet.attention(
            q, k, v, branches=[(2048, 1), (4096, 2), (8192, 4)], causal=True)

    A program is compiled when tensors of these types, heads and head sizes come
    for the first time, for any batch and length, and kept.

    query, key, value  [batch, sequence, heads, head size]; key and value may have
                       fewer heads, which query heads then share
    branches           (w, r) of each: the length of a segment, None for one that
                       holds all, and its dilation (B1); or a `Branch`, which says
                       more. The default is dense attention; `ringlet.presets`
                       has others.
    causal             hide keys behind a query
    window             (left, right): hide keys further away; -1 is no limit
    scale              of the scores; None is 1 / sqrt(head size)
    softcap            c of c tanh(score / c)
    mix, output_scale  "softmax": the branches share one softmax (R1). "sum": each
                       has its own, the outputs are added and multiplied by
                       output_scale, and lse has an axis more, its first (R2).
    context            where it runs; None is the device of `query`, as a whole
    out, stream        as for `Program.run`

    Raises ringlet.CompileError for what the compiler refuses, with the rule, and
    what `Program.run` raises.
    """
    context = context or default_context(device_of(query))
    place = Place(context._device)
    layouts = []
    for name, each in (("query", query), ("key", key), ("value", value)):
        dtype, sizes, _ = view_of(each, place).layout
        if len(sizes) != 4:
            raise ValueError(
                f"expected {name} as [batch, sequence, heads, head size], found "
                f"{len(sizes)} axes"
            )
        layouts.append((dtype, *sizes[2:]))
    clauses = (
        tuple(str(Branch(*each)) for each in branches),
        bool(causal),
        None if window is None else tuple(window),
        mix,
        tuple(
            (name, float(number))
            for name, number in (
                ("scale", scale),
                ("softcap", softcap),
                ("output_scale", output_scale),
            )
            if number is not None
        ),
    )
    program = _program(context, tuple(layouts), clauses)
    return program.run(query, key, value, out=out, stream=stream)


@functools.lru_cache(maxsize=256)
def _program(context: Context, layouts: tuple, clauses: tuple) -> Program:
    return compile(_text(layouts, *clauses), _target(context), context=context)


def _text(layouts, branches, causal, window, mix, numbers) -> str:
    """A graph with one attention, for any batch and length."""
    query, key, value = (
        f"tensor<?x?x{heads}x{size}x{_capi.DTYPE_NAMES[dtype]}>"
        for dtype, heads, size in layouts
    )
    (dtype, heads, _), (_, _, value_size) = layouts[0], layouts[2]
    output = f"tensor<?x?x{heads}x{value_size}x{_capi.DTYPE_NAMES[dtype]}>"
    each_branch = f"{len(branches)}x" if mix == "sum" else ""
    results = f"({output}, tensor<{each_branch}?x{heads}x?xf32>)"
    words = [f"branches [{', '.join(branches)}]"]
    if causal:
        words.append("causal")
    if window is not None:
        words.append(f"window = [{', '.join(str(int(each)) for each in window)}]")
    words.append(f"mix = {mix}")
    words += [f"{name} = {number:.17e}" for name, number in numbers]
    return f"""func.func @attention(%query: {query}, %key: {key}, %value: {value})
    -> {results} {{
  %output, %lse = ringlet.attention %query, %key, %value
      {" ".join(words)}
      : ({query}, {key}, {value}) -> {results}
  return %output, %lse : {results[1:-1]}
}}
"""


def _target(context: Context) -> str:
    """What to compile for."""
    if context._device == _dlpack.CPU:
        return "cpu"
    device = _capi.Device()
    _capi.check(
        _capi.library().rl_device_describe(
            b"cuda", context._device[1], ctypes.byref(device)
        )
    )
    architecture = device.architecture.decode()
    return architecture + ("a" if architecture in _SPECIFIC else "")
