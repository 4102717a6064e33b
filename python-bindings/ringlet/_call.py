# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments in the form of the C API."""

from __future__ import annotations

import ctypes
import threading
from typing import Any, Callable, Sequence

from ringlet import _capi
from ringlet._tensors import View


class Call:
    """Arguments of certain layouts. Only their addresses differ between runs."""

    def __init__(self, views: Sequence[View]):
        self.count = len(views)
        self.tensors = (_capi.Tensor * self.count)()
        # Items of a ctypes array are made anew whenever it is asked for one.
        self._items = list(self.tensors)
        for item, view in zip(self._items, views):
            dtype, sizes, strides = view.layout
            rank = len(sizes)
            item.dtype, item.rank = dtype, rank
            item.sizes = (ctypes.c_int64 * rank)(*sizes)
            if strides is not None:
                item.strides = (ctypes.c_int64 * rank)(*strides)

    def point_to(self, views: Sequence[View]) -> "Call":
        for item, view in zip(self._items, views):
            item.data = view.data
        return self


class Calls(threading.local):
    """The calls that this thread has made of a program, by their layouts.

    To describe tensors takes longer than to start a kernel, and most programs come
    with the same few layouts over and over.
    """

    MOST = 64

    def __init__(self) -> None:
        self._known: dict = {}

    def _recall(self, key: tuple, make: Callable[[], Any]) -> Any:
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= self.MOST:
                self._known.clear()
            found = self._known[key] = make()
        return found

    def of(self, views: Sequence[View]) -> Call:
        key = tuple([view.layout for view in views])
        return self._recall(key, lambda: Call(views)).point_to(views)

    def output_sizes(
        self, entry: str, inputs: Sequence[View], compute: Callable[[], list]
    ) -> list:
        """Of an entry; they follow from the layouts of inputs, unless there are
        numbers among these."""
        layouts = [view.layout for view in inputs]
        if not all(sizes for _, sizes, _ in layouts):
            return compute()
        return self._recall((entry, *layouts), compute)
