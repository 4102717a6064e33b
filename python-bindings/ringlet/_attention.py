# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention without a graph of one's own."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional, Sequence

from ringlet import _capi, _dlpack
from ringlet._aliases import LAYOUTS, takes_other_names
from ringlet._clauses import BlockMask, Branch, GridWindow, Order
from ringlet._clauses import is_read_at_run, listed
from ringlet._compiler import compile
from ringlet._context import Context, context_or_default
from ringlet._operands import PACKED, PADDED, PAGE_TABLE, PAGED, Operands
from ringlet._program import Program, named
from ringlet._ring import Ring
from ringlet._tensors import HOST, device_of, is_array, place_on
from ringlet._values import flag, is_integer, is_list, number, one_of

# What has a row for each token.
_ROWS = ("query", "key", "value", "output", "lse")
_PRECISIONS = ("f32", "tf32", "tf32x3", "bf16x3")
# Architectures whose fastest instructions are code for them alone.
_SPECIFIC = ("sm_90",)


@takes_other_names
def attention(
    query: Any,
    key: Any,
    value: Any,
    *,
    branches: Sequence = ((None, 1),),
    causal: bool = False,
    window: Any = None,
    grid_window: Optional[Sequence] = None,
    pattern_order: Optional[Sequence] = None,
    block_mask: Optional[Sequence] = None,
    starts: Any = None,
    lengths: Any = None,
    page_table: Any = None,
    key_begins: Any = None,
    k_scale: Any = None,
    v_scale: Any = None,
    q_offset: Any = None,
    scale: Optional[float] = None,
    softcap: Optional[float] = None,
    sink: Any = None,
    precision: str = "f32",
    mix: str = "softmax",
    output_scale: Optional[float] = None,
    layout: str = "bshd",
    context: Optional[Context] = None,
    out: Any = None,
    stream: Optional[int] = None,
    ring: Optional[Ring] = None,
    wait: bool = True,
    **others: Any,
) -> tuple:
    """Attention over dilated segments; returns (output, lse).

        out, lse = ringlet.attention(
            q, k, v, branches=[(2048, 1), (4096, 2), (8192, 4)], causal=True)
        out, lse = ringlet.attention(q, k, v, starts=cu_seqlens, causal=True)

    A program is compiled when tensors of these types, heads and head sizes come
    for the first time, for any batch, length and q_offset, and kept. scale, softcap,
    windows and the numbers of branches are compiled in.

    query, key, value  [batch, sequence, heads, head size], or with starts [total,
                       heads, head size]; f16, bf16 or f32. key and value may have
                       fewer heads, which query heads then share, and elements of 8
                       bits, f8E4M3FN (torch.float8_e4m3fn) or i8 (S6).
    branches           (w, r) of each: the length of a segment, None for one that
                       holds all, and its dilation (B1); or a `Branch`, which says
                       more. The default is dense attention; `ringlet.presets`
                       has others. A w or r that is an array without axes is read
                       at each call.
    causal             hide keys behind a query
    window             (left, right): hide keys further away; -1 is no limit. One
                       number is both.
    grid_window        (grid, reach), a `GridWindow`: hide keys further away on a
                       grid (B5)
    pattern_order      (curve, grid), an `Order`: segments and residues of branches
                       are counted along this walk instead of along tokens (O2)
    block_mask         (shows, (queries, keys)), a `BlockMask`: hide blocks of keys
                       from blocks of queries (B6)
    starts             packed sequences, one behind the other (S2): [sequences + 1],
                       the rows at which they begin, 0 first, and the end of the last
                       one; what flash-attn calls cu_seqlens. Integers, as a tensor
                       or a list; or a pair of these, for queries and for keys.
    lengths            padded sequences (S2): [batch], the rows of each that count.
                       As starts; in a pair, None is all rows.
    page_table         [sequences, pages of each]: key and value are a pool, [pages,
                       rows of a page, heads, head size], and these are the pages of
                       each sequence, one after the other (S4); what vLLM and
                       flash-attn call block_table. i32; other integers are copied.
                       Beside starts, those of keys may be None with lengths=(None,
                       keys).
    key_begins         [batch]: rows of key and value, or of its pages, that lie before
                       the first key of each sequence (S5), as where prompts are padded
                       in front; what flash-attn calls leftpad_k. Lengths of keys then
                       say where they end, and positions count from the first one. i32
                       or i64; other integers are copied.
    k_scale, v_scale   what key and value of 8 bits are multiplied with (S6): f32
                       [heads] or [sequences, heads], heads of key; a number, or an
                       array of one, is that of all. None is 1.
    q_offset           the position of the first query (S1): an int, or integers
                       [sequences], one for each. None puts the last query on the
                       last key, as decoding with a cache wants it.
    scale              of the scores; None is 1 / sqrt(head size)
    softcap            c of c tanh(score / c); 0 is none
    precision          how coarsely products of f32 may be computed, so that a GPU's
                       matrix instructions can: "tf32", of factors of 11 digits;
                       "tf32x3" and "bf16x3", of sums of two numbers of 11 or 8 (R7)
    sink               a logit that joins the softmax of each head (R3): f32 [heads]
    mix, output_scale  "softmax": the branches share one softmax (R1). "sum": each
                       has its own, the outputs are added and multiplied by
                       output_scale, and lse has an axis more, its first (R2).
    layout             "bshd", as above, or "bhsd": query, key, value, out and output
                       are [batch, heads, sequence, head size]
    context            where it runs; None is the device of `query`, as a whole
    out, stream        as for `Program.run`
    ring               this rank's end of a `Ring`: query, key, value, output and lse
                       are its parts of sequences, as `Ring.rows` says, all else is
                       of whole sequences and alike on all ranks (G1)
    wait               as for `Program.run`
    others             what torch and flash-attn call these, where it means the same;
                       beside ours if both say the same

    All tensors lie on the same device. output is as query, with the head size of
    value; lse is f32 [batch, heads, sequence], or [heads, total]. Rows that no
    sequence has are output 0 and lse -inf. Integers that are not i64 are copied.

    Raises TypeError for values that are no tensors, numbers or words as expected,
    ValueError for tensors of other types and axes than these and numbers that have
    no meaning, ringlet.CompileError for what the compiler refuses, with the rule,
    and what `Program.run` raises.
    """
    is_turned = one_of("layout", layout, LAYOUTS) == "bhsd"
    if is_turned:
        if starts is not None:
            raise ValueError("expected layout 'bshd' beside starts, found 'bhsd' (S2)")
        query, key, value = map(_turned, (query, key, value))
        out = _turned_output(out)
    context = context_or_default(context, lambda: device_of(query))
    operands = Operands(place_on(context._device, stream, [query]))
    axes = PADDED if starts is None else PACKED
    of_keys = axes if page_table is None else PAGED
    operands.take_rows("query", query, axes)
    operands.take_rows("key", key, of_keys)
    operands.take_rows("value", value, of_keys)
    if page_table is not None:
        page_table = operands.take_pages(page_table)
        starts, lengths = _starts_in_pages(operands, starts, lengths)
    branches = named("branches", lambda each, _: _branches(each), branches, HOST)
    clauses = _operand_clauses(
        operands, branches, q_offset, lengths, starts, sink, block_mask
    )
    if page_table is not None:
        operand = operands.add("page_table", page_table, PAGE_TABLE, "i32")
        clauses.append(f"pages({operand})")
    if key_begins is not None:
        clauses.append(f"key_begins({operands.take_begins(key_begins)})")
    for name, scale_ in (("k_scale", k_scale), ("v_scale", v_scale)):
        if scale_ is not None and (operand := operands.take_scale(name, scale_)):
            clauses.append(f"{name}({operand})")
    clauses += _clauses(causal, window, grid_window, pattern_order)
    for name, value_, rule in (
        ("scale", scale, "R4"),
        ("softcap", softcap, "section 3"),
        ("output_scale", output_scale, "R2"),
    ):
        if value_ is not None:
            factor = number(name, value_, rule=rule)
            if factor or name != "softcap":
                clauses.append(f"{name} = {factor:.17e}")
    precision = one_of("precision", precision, _PRECISIONS, rule="R7")
    if precision != "f32":
        clauses.append(f"precision = {precision}")
    graph = _Graph(
        tuple(operands.known.items()),
        tuple(operands.names),
        tuple(map(str, branches)),
        one_of("mix", mix, ("softmax", "sum"), rule="R1, R2"),
        tuple(clauses),
        _sharding(ring),
    )
    program = _program(context, graph)
    results = program.run(
        *operands.values, out=out, stream=stream, ring=ring, wait=wait
    )
    return (_turned(results[0]), *results[1:]) if is_turned else results


def _branches(branches: Any) -> list:
    made = []
    if not is_list(branches):
        raise TypeError(
            f"expected a list of (w, r) or ringlet.Branch, found {branches!r:.80} (B1)"
        )
    for each in branches:
        if not is_list(each):
            raise TypeError(
                f"expected a list of (w, r) or ringlet.Branch, found {each!r:.80} in it "
                "(B1)"
            )
        items = tuple(each)
        _check_count(Branch, items)
        made.append(Branch(*items))
        str(made[-1])
    return made


def _operand_clauses(
    operands: Operands,
    branches: list,
    q_offset: Any,
    lengths: Any,
    starts: Any,
    sink: Any,
    block_mask: Any,
) -> list:
    """Those that are operands come in the operation's order, in which `starts` are
    behind what may need their count."""
    clauses = []
    if q_offset is not None:
        clauses.append(f"q_offset({_take_q_offset(operands, q_offset, starts)})")
    if lengths is not None:
        clauses.append(f"lengths({operands.take_sides('lengths', lengths, 'batch')})")
    if starts is not None:
        both = operands.take_sides("starts", starts, "sequences + 1")
        clauses.append(f"packed({both})")
    sizes = [
        operands.take_number(f"{name} of branch {i}".replace(" ", "_"), each, "B1")
        for i, branch in enumerate(branches)
        for name, each in (("w", branch.w), ("r", branch.r))
        if is_read_at_run(each)
    ]
    if sizes:
        clauses.append(f"sizes({', '.join(sizes)})")
    if sink is not None:
        operand = operands.take("sink", sink, ("heads",), "R3", "f32")
        clauses.append(f"sink({operand})")
    if block_mask is not None:
        shows, blocks = _pair("block_mask", BlockMask, block_mask)
        axes = ("blocks of queries", "blocks of keys")
        operand = operands.take("block_mask", shows, axes, "B6", "bool")
        sides = listed("the blocks' sizes", blocks, rule="B6")
        clauses.append(f"block_mask({operand}) of {sides}")
    return clauses


def _starts_in_pages(operands: Operands, starts: Any, lengths: Any) -> tuple:
    """Starts of packed queries alone, beside lengths of keys, with those of keys."""
    is_pair = isinstance(starts, (tuple, list)) and len(starts) == 2
    if not is_pair or starts[1] is not None:
        return starts, lengths
    if not isinstance(lengths, (tuple, list)) or len(lengths) != 2 or lengths[0] is not None:
        raise ValueError(
            "expected lengths as (None, keys) beside starts of queries alone, found "
            f"{lengths!r:.80} (S2, S4)"
        )
    return (starts[0], operands.starts_of(lengths[1])), None


def _take_q_offset(operands: Operands, q_offset: Any, starts: Any) -> str:
    has_items = isinstance(q_offset, (tuple, list)) or is_array(q_offset)
    is_number = not has_items or getattr(q_offset, "shape", None) == ()
    if is_number and not operands.is_on_gpu(q_offset):
        return operands.take_number("q_offset", q_offset, "S1")
    if is_number:
        q_offset = operands.spread(q_offset, starts)
    return operands.take("q_offset", q_offset, ("sequences",), "S1", "i64")


def _clauses(causal: Any, window: Any, grid_window: Any, pattern_order: Any) -> list:
    clauses = []
    if flag("causal", causal, rule="B4"):
        clauses.append("causal")
    if window is not None:
        if is_integer(window):
            window = (window, window)
        clauses.append(f"window = {listed('window', window, rule='B4')}")
    if grid_window is not None:
        clauses.append(f"grid_window = {_pair('grid_window', GridWindow, grid_window)}")
    if pattern_order is not None:
        clauses.append(f"pattern_order = {_pair('pattern_order', Order, pattern_order)}")
    return clauses


def _sharding(ring: Any) -> str:
    if ring is None:
        return ""
    if not isinstance(ring, Ring):
        raise TypeError(
            f"expected ring as a ringlet.Ring, found {type(ring).__name__} (G1)"
        )
    return f"{ring.sharding}, {ring.block}" if ring.block else ring.sharding


def _pair(name: str, kind: Any, value: Any) -> Any:
    """One of the named tuples, which a plain one may stand for."""
    if not is_list(value):
        raise TypeError(
            f"expected {name} as ({', '.join(kind._fields)}), found {value!r:.80}"
        )
    try:
        items = tuple(value)
        _check_count(kind, items)
        made = kind(*items)
        str(made)
        return made
    except TypeError as error:
        raise TypeError(
            f"argument '{name}': expected ({', '.join(kind._fields)}): {error}"
        ) from None
    except ValueError as error:
        raise ValueError(f"argument '{name}': {error}") from None


def _check_count(kind: Any, items: tuple) -> None:
    most = len(kind._fields)
    least = most - len(kind._field_defaults)
    if not least <= len(items) <= most:
        wanted = str(most) if least == most else f"{least} to {most}"
        raise TypeError(
            f"expected {wanted} items ({', '.join(kind._fields)}), found {len(items)}"
        )


def _turned(tensor: Any) -> Any:
    """The same with heads in the place of the sequence."""
    if hasattr(tensor, "swapaxes") and len(getattr(tensor, "shape", ())) == 4:
        return tensor.swapaxes(1, 2)
    if hasattr(tensor, "__array_namespace__") and len(tensor.shape) == 4:
        return tensor.__array_namespace__().permute_dims(tensor, (0, 2, 1, 3))
    raise ValueError(
        "expected an array of 4 axes with swapaxes() beside layout 'bhsd', found "
        f"{type(tensor).__name__} of sizes {tuple(getattr(tensor, 'shape', ()))}"
    )


def _turned_output(out: Any) -> Any:
    if isinstance(out, dict):
        names = list(out)
        return {**out, **{each: _turned(out[each]) for each in names[:1]}}
    if isinstance(out, (tuple, list)) and out:
        return (_turned(out[0]), *out[1:])
    return out


class _Graph(NamedTuple):
    """One attention: all that a program is compiled for, and nothing else that
    calls may differ in."""

    inputs: tuple  # of (name, (sizes, dtype))
    operands: tuple  # names of inputs
    branches: tuple
    mix: str
    clauses: tuple
    sharding: str  # of a ring; "" without one

    def _type(self, name: str, sizes: tuple, dtype: str) -> str:
        encoding = ""
        if self.sharding and name in _ROWS:
            axis = len(sizes) - (1 if name == "lse" else 3)
            encoding = f", #rlayout.layout<ring = <?, {self.sharding}>, axis = {axis}>"
        return f"tensor<{_dimensions(sizes)}{dtype}{encoding}>"

    def __str__(self) -> str:
        types = {
            name: self._type(name, sizes, dtype)
            for name, (sizes, dtype) in self.inputs
        }
        known = dict(self.inputs)
        (*rows, heads, _), dtype = known["query"]
        output = (*rows, heads, known["value"][0][-1])
        lse = (*rows[:-1], heads, rows[-1])
        if self.mix == "sum":
            lse = (len(self.branches), *lse)
        results = ", ".join(
            self._type(*each) for each in (("output", output, dtype), ("lse", lse, "f32"))
        )
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


def _program(context: Context, graph: _Graph) -> Program:
    # Making the text and asking for the compiler takes longer than to know it.
    loaded = context._loaded.get(graph)
    if loaded is not None:
        return Program.of(loaded, context)
    program = compile(str(graph), _target(context), context=context)
    context._loaded.put(graph, program._loaded)
    return program


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
