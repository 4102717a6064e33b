# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tensors of a call of `ringlet.attention`, and what a graph knows of them."""

from __future__ import annotations

import ctypes
import itertools
import math
import sys
from typing import Any, Optional

from ringlet import _capi, _dlpack
from ringlet._program import named
from ringlet._tensors import HOST, Place, describe, is_array, is_torch, kind_of, torch_queue
from ringlet._tensors import view_of
from ringlet._values import flag, integer, is_integer, rule_of, single

PADDED = ("batch", "sequence", "heads", "head size")
PACKED = ("total", "heads", "head size")
PAGED = ("pages", "rows of a page", "heads", "head size")
PAGE_TABLE = ("sequences", "pages of each")
# Axes whose sizes a program is compiled for; it takes any size of the others.
_FIXED = ("rows of a page", "heads", "head size")
# Types of elements that have another name in a graph.
_IN_GRAPHS = {"bool": "i1"}
_FLOATS = ("f16", "bf16", "f32")
# What keys and values may be beside any of these (S6).
_WIDENED = ("f8E4M3FN", "i8")
_INTEGERS = {
    "i8": ctypes.c_int8,
    "u8": ctypes.c_uint8,
    "i16": ctypes.c_int16,
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
}
_ELEMENTS = {
    "i32": ctypes.c_int32,
    "i64": ctypes.c_int64,
    "f32": ctypes.c_float,
    "bool": ctypes.c_bool,
}
# What a page number may be: those of no page count as the nearest (S4).
_LEAST, _MOST = -(2**31), 2**31 - 1


class Operands:
    """The tensors of a call, in the operation's order."""

    def __init__(self, place: Place):
        self._place = place
        # The first one, of whose kind and device others are made.
        self._query: Any = None
        self.values: list = []
        # Of each value: (sizes, dtype), by name; "?" is any size.
        self.known: dict = {}
        # One for each operand of the operation. Two may be the same value.
        self.names: list = []
        # Those of the query, key and value, whatever a graph knows of them.
        self.sizes: dict = {}

    def take_rows(self, name: str, value: Any, axes: tuple) -> None:
        """The query, the key or the value: the query's type of elements, or key and
        value of 8 bits; any sizes."""
        number_, sizes = self._look(name, value)
        found = _capi.DTYPE_NAMES[number_]
        wanted = self._elements_of(name)
        if len(sizes) != len(axes) or found not in wanted:
            words, hint = "", ""
            if found not in wanted:
                words = f"{' or '.join(wanted)} "
                hint = f"; convert it to {wanted[-1 if wanted == _FLOATS else 0]}"
                if found == "u8":
                    hint = "; what its bytes are, view() of torch or ringlet.bits() says"
            elif (axes, len(sizes)) == (PADDED, len(PACKED)):
                hint = "; that of packed sequences comes with starts"
            raise ValueError(
                f"expected {name} as {words}[{', '.join(axes)}], found "
                f"{describe(number_, sizes)} (S2){hint}"
            )
        if self._query is None:
            self._query = value
        self.sizes[name] = sizes
        self._add(name, value, found, axes, sizes)

    def _elements_of(self, name: str) -> tuple:
        if name == "query":
            return _FLOATS
        dtype = self.known["query" if name == "key" else "key"][1]
        return (dtype, *_WIDENED) if name == "key" else (dtype,)

    def take_scale(self, name: str, value: Any) -> str:
        """What keys or values of 8 bits are multiplied with; "" for nothing."""
        heads = self.sizes["key"][-2]
        sizes = getattr(value, "shape", None)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if self.known["key"][1] not in _WIDENED:
            if is_number and value == 1:
                return ""
            raise ValueError(
                f"expected key and value of {' or '.join(_WIDENED)} beside {name}, found "
                f"{self.known['key'][1]}; scale is that of scores (S6)"
            )
        if is_number:
            value = [value] * heads
        elif sizes is not None and math.prod(sizes) == 1 and heads != 1:
            value = self._repeat(name, value, heads)
        rank = 2 if len(getattr(value, "shape", ())) == 2 else 1
        if isinstance(value, (list, tuple)) and any(map(_is_row, value)):
            rank = 2
        axes = ("heads",) if rank == 1 else ("sequences", "heads")
        value = self.prepare(name, value, axes, "S6", "f32")
        found = self._look(name, value)[1]
        if found[-1] != heads:
            raise ValueError(
                f"expected {name} of each of the {heads} heads of key, found "
                f"{describe(_capi.DTYPES['f32'], found)} (S6)"
            )
        return self.add(name, value, axes, "f32")

    def _repeat(self, name: str, value: Any, count: int) -> Any:
        """An array of one number as one of so many."""
        if is_torch(value):
            with torch_queue(value.device, self._place):
                return value.reshape(1).repeat(count)
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
            return numpy.repeat(numpy.asarray(value).reshape(1), count)
        raise ValueError(
            f"expected {name} as a number or f32[heads], found one of sizes "
            f"{tuple(value.shape)} (S6)"
        )

    def take(self, name: str, value: Any, axes: tuple, rule: str, dtype: str) -> str:
        """Another tensor of elements of `dtype`, or a list of what it holds. Other
        integers become i64."""
        return self.add(name, self.prepare(name, value, axes, rule, dtype), axes, dtype)

    def prepare(self, name: str, value: Any, axes: tuple, rule: str, dtype: str) -> Any:
        """What `add` takes of such a tensor."""
        if isinstance(value, (list, tuple)):
            value = self._from_list(name, value, len(axes), dtype, rule)
        elif not is_array(value):
            raise TypeError(
                f"expected {name} as {dtype}[{', '.join(axes)}] or a list, found "
                f"{value!r:.80}{rule_of(rule)}"
            )
        elif dtype == "i64":
            value = self._as_i64(name, value)
        elif dtype == "i32":
            value = self._as_i32(value)
        number_, sizes = self._look(name, value)
        found = _capi.DTYPE_NAMES[number_]
        if len(sizes) != len(axes) or dtype != found:
            hint = f"; convert it to {dtype}" if len(sizes) == len(axes) else ""
            raise ValueError(
                f"expected {name} as {dtype}[{', '.join(axes)}], found "
                f"{describe(number_, sizes)}{rule_of(rule)}{hint}"
            )
        return value

    def add(self, name: str, value: Any, axes: tuple, dtype: str) -> str:
        return self._add(name, value, dtype, axes, self._look(name, value)[1])

    def take_pages(self, table: Any) -> Any:
        """The page table, and what it makes of the key: as many rows for each
        sequence as its pages have."""
        table = self.prepare("page_table", table, PAGE_TABLE, "S4", "i32")
        sequences, pages = self._look("page_table", table)[1]
        _, rows, *others = self.sizes["key"]
        self.sizes["key"] = (sequences, pages * rows, *others)
        return table

    def take_begins(self, begins: Any) -> str:
        """Where keys of each sequence begin, in i64 if that is what it is."""
        is_wide = str(getattr(begins, "dtype", "")).rpartition(".")[2] == "int64"
        dtype = "i64" if is_wide else "i32"
        return self.take("key_begins", begins, ("batch",), "S5", dtype)

    def starts_of(self, lengths: Any) -> Any:
        """Starts of sequences that have so many rows."""
        if isinstance(lengths, (tuple, list)):
            return list(itertools.accumulate(lengths, initial=0))
        if is_torch(lengths):
            torch = sys.modules["torch"]
            with torch_queue(lengths.device, self._place):
                ends = lengths.cumsum(0, dtype=torch.int64)
                return torch.nn.functional.pad(ends, (1, 0))
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(lengths, numpy.ndarray):
            return numpy.concatenate(([0], numpy.cumsum(lengths, dtype=numpy.int64)))
        raise TypeError(
            "expected lengths of keys in pages as a list, or an array of numpy or torch, "
            f"found {type(lengths).__name__} (S4); starts of keys say the same"
        )

    def take_number(self, name: str, value: Any, rule: str) -> str:
        """An integer that the host reads at each run."""
        if is_integer(value):
            value = integer(name, value, rule=rule)
        elif not is_array(value):
            raise TypeError(
                f"expected {name} as an integer, found {value!r:.80}{rule_of(rule)}"
            )
        else:
            value = _number_in(name, named(name, view_of, value, HOST), rule)
        return self._add(name, value, "i64", (), ())

    def take_sides(self, name: str, value: Any, axis: str) -> str:
        """Two operands, of queries and of keys; one value may be both."""
        if not isinstance(value, (tuple, list)) or not any(map(is_side, value)):
            operand = self.take(name, value, (axis,), "S2", "i64")
            self.names.append(name)
            return f"{operand}, {operand}"
        if len(value) != 2:
            raise ValueError(
                f"expected {name} as a tensor or as two, of queries and of keys, found "
                f"{len(value)} items (S2)"
            )
        return ", ".join(
            self.take(f"{side}_{name}", self._side(name, side, each), (axis,), "S2", "i64")
            for side, each in zip(("query", "key"), value)
        )

    def spread(self, value: Any, starts: Any) -> Any:
        """A number of torch's on a GPU, once for each sequence."""
        count = self.sizes["query"][0]
        if starts is not None:
            first = starts[0] if isinstance(starts, (tuple, list)) else starts
            ends = starts if is_integer(first) else first
            count = max(len(ends) - 1, 0)
        with torch_queue(value.device, self._place):
            return value.reshape(1).repeat(count)

    def is_on_gpu(self, value: Any) -> bool:
        return is_torch(value) and value.is_cuda

    def _side(self, name: str, side: str, value: Any) -> Any:
        """None is all rows of padded sequences."""
        if value is not None:
            return value
        if name != "lengths":
            raise ValueError(
                f"expected {name} of queries and of keys, found none of the {side} side "
                "(S2); one tensor alone is both"
            )
        batch, length = self.sizes[side][:2]
        return self._from_list(f"{side}_{name}", [length] * batch, 1, "i64", "S2")

    def _look(self, name: str, value: Any) -> tuple:
        return named(name, kind_of, value, self._place)

    def _add(
        self, name: str, value: Any, dtype: str, axes: tuple, sizes: tuple
    ) -> str:
        self.values.append(value)
        known = [size if axis in _FIXED else "?" for axis, size in zip(axes, sizes)]
        self.known[name] = tuple(known), _IN_GRAPHS.get(dtype, dtype)
        self.names.append(name)
        return f"%{name}"

    def _from_list(self, name: str, items: Any, rank: int, dtype: str, rule: str) -> Any:
        """A new tensor beside the query."""
        sizes, flat = _flatten(name, items, rank, dtype, rule)
        made = _dlpack.Allocation(sizes, _capi.DTYPES[dtype])
        (_ELEMENTS[dtype] * len(flat)).from_address(made.data)[:] = flat
        if self._place.device == _dlpack.CPU:
            return made
        if not is_torch(self._query):
            raise ValueError(
                f"argument '{name}': expected a tensor in "
                f"{_dlpack.place(self._place.device)}, found a list"
            )
        host = sys.modules["torch"].from_dlpack(made)
        with torch_queue(self._query.device, self._place):
            return host.to(self._query.device)

    def _as_i32(self, value: Any) -> Any:
        """Of other integers of torch and numpy, a copy."""
        if is_torch(value):
            torch = sys.modules["torch"]
            if value.is_floating_point() or value.dtype in (torch.int32, torch.bool):
                return value
            with torch_queue(value.device, self._place):
                return value.to(torch.int64).clamp(_LEAST, _MOST).to(torch.int32)
        numpy = sys.modules.get("numpy")
        if numpy is None or not isinstance(value, numpy.ndarray):
            return value
        if value.dtype.kind not in "iu" or value.dtype == numpy.int32:
            return value
        if value.dtype == numpy.uint64:
            value = numpy.minimum(value, numpy.uint64(_MOST))
        return numpy.clip(value.astype(numpy.int64), _LEAST, _MOST).astype(numpy.int32)

    def _as_i64(self, name: str, value: Any) -> Any:
        """Of narrower integers, a copy; what else there is stays."""
        if is_torch(value):
            torch = sys.modules["torch"]
            if value.dtype in (torch.int8, torch.uint8, torch.int16, torch.int32):
                with torch_queue(value.device, self._place):
                    return value.to(torch.int64)
            return value
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(value, numpy.ndarray):
            if value.dtype.kind not in "iu" or value.dtype == numpy.int64:
                return value
            if value.dtype == numpy.uint64 and value.size and value.max() > 2**63 - 1:
                raise ValueError(
                    f"argument '{name}': expected integers of 64 bits, found "
                    f"{value.max()}"
                )
            return value.astype(numpy.int64)
        if not hasattr(value, "__dlpack__") or self._place.device != _dlpack.CPU:
            return value
        return _copy_as_i64(named(name, view_of, value, HOST)) or value


def _is_row(item: Any) -> bool:
    return isinstance(item, (list, tuple))


def is_side(item: Any) -> bool:
    """Whether it may be the tensor of queries or of keys, rather than a number."""
    if item is None or isinstance(item, (list, tuple)):
        return True
    return hasattr(item, "__dlpack__") and getattr(item, "shape", None) != ()


def _number_in(name: str, view: Any, rule: str) -> int:
    """Of a tensor without axes."""
    number_, sizes, _ = view.layout
    kind = _INTEGERS.get(_capi.DTYPE_NAMES[number_])
    if kind is None or sizes:
        raise ValueError(
            f"expected {name} as an integer, found {describe(number_, sizes)}"
            f"{rule_of(rule)}"
        )
    return kind.from_address(view.data).value


def _copy_as_i64(view: Any) -> Optional[Any]:
    """Of a list of narrower integers of the host; None for what is none."""
    number_, sizes, strides = view.layout
    kind = _INTEGERS.get(_capi.DTYPE_NAMES[number_])
    if kind in (None, ctypes.c_int64) or len(sizes) != 1:
        return None
    made = _dlpack.Allocation(sizes, _capi.DTYPES["i64"])
    if sizes[0]:
        step = strides[0] if strides else 1
        first, last = sorted((0, step * (sizes[0] - 1)))
        memory = kind * (last - first + 1)
        items = memory.from_address(view.data + first * ctypes.sizeof(kind))
        taken = [items[step * i - first] for i in range(sizes[0])]
        (ctypes.c_int64 * sizes[0]).from_address(made.data)[:] = taken
    return made


def _page(name: str, value: Any, *, rule: str) -> int:
    return min(max(integer(name, value, rule=rule), _LEAST), _MOST)


def _flatten(name: str, items: Any, rank: int, dtype: str, rule: str) -> tuple:
    """(sizes, numbers) of nested lists."""
    take = {"i32": _page, "i64": integer, "f32": single, "bool": flag}[dtype]
    if rank == 1:
        return (len(items),), [
            take(f"an item of {name}", each, rule=rule) for each in items
        ]
    rows = []
    for each in items:
        if not isinstance(each, (list, tuple)):
            raise ValueError(
                f"expected {name} as {rank} nested lists, found {each!r:.80} in the "
                f"first{rule_of(rule)}"
            )
        rows.append(_flatten(name, each, rank - 1, dtype, rule))
    inner = {sizes for sizes, _ in rows} or {(0,) * (rank - 1)}
    if len(inner) > 1:
        raise ValueError(
            f"expected rows of {name} of one length, found "
            f"{' and '.join(str(each[0]) for each in sorted(inner))}{rule_of(rule)}"
        )
    (sizes,) = inner
    return (len(rows), *sizes), [each for _, flat in rows for each in flat]

