# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention without a graph of one's own."""

from __future__ import annotations

import ctypes
import functools
import numbers
from typing import Any, NamedTuple, Optional, Sequence

from ringlet import _capi, _dlpack
from ringlet._clauses import BlockMask, Branch, GridWindow, Order, integers
from ringlet._compiler import compile
from ringlet._program import Context, Program, default_context, named
from ringlet._tensors import HOST, Place, describe, device_of, kind_of

# Architectures whose fastest instructions are code for them alone.
_SPECIFIC = ("sm_90",)

_PADDED = ("batch", "sequence", "heads", "head size")
_PACKED = ("total", "heads", "head size")
# Axes whose sizes a program is compiled for; it takes any size of the others.
_FIXED = ("heads", "head size")
# Types of elements that have another name in a graph.
_IN_GRAPHS = {"bool": "i1"}


def attention(
    query: Any,
    key: Any,
    value: Any,
    *,
    branches: Sequence = ((None, 1),),
    causal: bool = False,
    window: Optional[Sequence] = None,
    grid_window: Optional[Sequence] = None,
    pattern_order: Optional[Sequence] = None,
    block_mask: Optional[Sequence] = None,
    starts: Any = None,
    lengths: Any = None,
    q_offset: Any = None,
    scale: Optional[float] = None,
    softcap: Optional[float] = None,
    sink: Any = None,
    mix: str = "softmax",
    output_scale: Optional[float] = None,
    context: Optional[Context] = None,
    out: Any = None,
    stream: Optional[int] = None,
) -> tuple:
    """Attention over dilated segments; returns (output, lse).

        out, lse = ringlet.attention(
            q, k, v, branches=[(2048, 1), (4096, 2), (8192, 4)], causal=True)
        out, lse = ringlet.attention(q, k, v, starts=cu_seqlens, causal=True)

    A program is compiled when tensors of these types, heads and head sizes come
    for the first time, for any batch, length and q_offset, and kept.

    query, key, value  [batch, sequence, heads, head size], or with starts [total,
                       heads, head size]; f16, bf16 or f32. key and value may have
                       fewer heads, which query heads then share.
    branches           (w, r) of each: the length of a segment, None for one that
                       holds all, and its dilation (B1); or a `Branch`, which says
                       more. The default is dense attention; `ringlet.presets`
                       has others.
    causal             hide keys behind a query
    window             (left, right): hide keys further away; -1 is no limit
    grid_window        (grid, reach), a `GridWindow`: hide keys further away on a
                       grid (B5)
    pattern_order      (curve, grid), an `Order`: segments and residues of branches
                       are counted along this walk instead of along tokens (O2)
    block_mask         (shows, (queries, keys)), a `BlockMask`: hide blocks of keys
                       from blocks of queries (B6)
    starts             packed sequences, one behind the other (S2): i64 [sequences
                       + 1], the rows at which they begin, 0 first, and the end of
                       the last one; what flash-attn calls cu_seqlens. One tensor,
                       or a pair for queries and for keys.
    lengths            padded sequences (S2): i64 [batch], the rows of each that
                       count. One tensor, or a pair for queries and for keys.
    q_offset           the position of the first query (S1): an int, or i64
                       [sequences] for one each. None puts the last query on the
                       last key, as decoding with a cache wants it.
    scale              of the scores; None is 1 / sqrt(head size)
    softcap            c of c tanh(score / c)
    sink               a logit that joins the softmax of each head (R3): f32 [heads]
    mix, output_scale  "softmax": the branches share one softmax (R1). "sum": each
                       has its own, the outputs are added and multiplied by
                       output_scale, and lse has an axis more, its first (R2).
    context            where it runs; None is the device of `query`, as a whole
    out, stream        as for `Program.run`

    All tensors lie on the same device. output is as query, with the head size of
    value; lse is f32 [batch, heads, sequence], or [heads, total]. Rows that no
    sequence has are output 0 and lse -inf.

    Raises ValueError for tensors of other types and axes than these,
    ringlet.CompileError for what the compiler refuses, with the rule, and what
    `Program.run` raises.
    """
    context = context or default_context(device_of(query))
    operands = _Operands(Place(context._device))
    clauses = []
    axes = _PADDED if starts is None else _PACKED
    for name, each in (("query", query), ("key", key), ("value", value)):
        operands.take(name, each, axes, "S2")
    # Those that are operands come in the operation's order.
    if q_offset is not None:
        axes = () if isinstance(q_offset, numbers.Integral) else ("sequences",)
        operand = operands.take("q_offset", q_offset, axes, "S1", "i64")
        clauses.append(f"q_offset({operand})")
    if lengths is not None:
        clauses.append(f"lengths({operands.take_sides('lengths', lengths, 'batch')})")
    if starts is not None:
        both = operands.take_sides("starts", starts, "sequences + 1")
        clauses.append(f"packed({both})")
    if sink is not None:
        operand = operands.take("sink", sink, ("heads",), "R3", "f32")
        clauses.append(f"sink({operand})")
    if block_mask is not None:
        shows, sizes = BlockMask(*block_mask)
        axes = ("blocks of queries", "blocks of keys")
        operand = operands.take("block_mask", shows, axes, "B6", "bool")
        clauses.append(f"block_mask({operand}) of {integers(sizes)}")
    if causal:
        clauses.append("causal")
    if window is not None:
        clauses.append(f"window = {integers(window)}")
    if grid_window is not None:
        clauses.append(f"grid_window = {GridWindow(*grid_window)}")
    if pattern_order is not None:
        clauses.append(f"pattern_order = {Order(*pattern_order)}")
    for name, number in (
        ("scale", scale),
        ("softcap", softcap),
        ("output_scale", output_scale),
    ):
        if number is not None:
            clauses.append(f"{name} = {float(number):.17e}")
    graph = _Graph(
        tuple(operands.known.items()),
        tuple(operands.names),
        tuple(str(Branch(*each)) for each in branches),
        mix,
        tuple(clauses),
    )
    return _program(context, graph).run(*operands.values, out=out, stream=stream)


class _Operands:
    """The tensors of a call, and what a graph knows of them."""

    def __init__(self, place: Place):
        self._place = place
        self.values: list = []
        # Of each value: (sizes, dtype), by name; "?" is any size.
        self.known: dict = {}
        # One for each operand of the operation. Two may be the same value.
        self.names: list = []

    def take(
        self, name: str, value: Any, axes: tuple, rule: str, dtype: str = ""
    ) -> str:
        """A value that is the next operand; one without axes is a number."""
        number, sizes = named(name, kind_of, value, self._place if axes else HOST)
        found = _capi.DTYPE_NAMES[number]
        if len(sizes) != len(axes) or (dtype or found) != found:
            hint = ""
            if len(sizes) == len(axes):
                hint = f"; convert it to {dtype}"
            elif axes == _PADDED and len(sizes) == len(_PACKED):
                hint = "; that of packed sequences comes with starts"
            raise ValueError(
                f"expected {name} as {dtype}[{', '.join(axes)}], found "
                f"{describe(number, sizes)} ({rule}){hint}"
            )
        self.values.append(value)
        self.known[name] = (
            tuple([size if axis in _FIXED else "?" for axis, size in zip(axes, sizes)]),
            _IN_GRAPHS.get(found, found),
        )
        self.names.append(name)
        return f"%{name}"

    def take_sides(self, name: str, value: Any, axis: str) -> str:
        """Two operands, of queries and of keys; one value may be both."""
        if not isinstance(value, (tuple, list)):
            operand = self.take(name, value, (axis,), "S2", "i64")
            self.names.append(name)
            return f"{operand}, {operand}"
        if len(value) != 2:
            raise ValueError(
                f"expected {name} as a tensor or as two, of queries and of keys, found "
                f"{len(value)} items (S2)"
            )
        return ", ".join(
            self.take(f"{side}_{name}", each, (axis,), "S2", "i64")
            for side, each in zip(("query", "key"), value)
        )


class _Graph(NamedTuple):
    """One attention: all that a program is compiled for, and nothing else that
    calls may differ in."""

    inputs: tuple  # of (name, (sizes, dtype))
    operands: tuple  # names of inputs
    branches: tuple
    mix: str
    clauses: tuple

    def __str__(self) -> str:
        types = {
            name: f"tensor<{_dimensions(sizes)}{dtype}>"
            for name, (sizes, dtype) in self.inputs
        }
        known = dict(self.inputs)
        (*rows, heads, _), dtype = known["query"]
        output = (*rows, heads, known["value"][0][-1])
        lse = (*rows[:-1], heads, rows[-1])
        if self.mix == "sum":
            lse = (len(self.branches), *lse)
        results = f"tensor<{_dimensions(output)}{dtype}>, tensor<{_dimensions(lse)}f32>"
        arguments = ", ".join(f"%{name}: {type_}" for name, type_ in types.items())
        return f"""func.func @attention({arguments})
    -> ({results}) {{
  %output, %lse = ringlet.attention %query, %key, %value
      branches [{", ".join(self.branches)}] mix = {self.mix}
      {" ".join(self.clauses)}
      : ({", ".join(types[name] for name in self.operands)})
      -> ({results})
  return %output, %lse : {results}
}}
"""


def _dimensions(sizes: tuple) -> str:
    return "".join(f"{size}x" for size in sizes)


@functools.lru_cache(maxsize=256)
def _program(context: Context, graph: _Graph) -> Program:
    return compile(str(graph), _target(context), context=context)


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
