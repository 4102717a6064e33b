# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a GPU's queue reads lives until it has been read.

A caller's tensors are his to keep. What was exported for one call only, as by a
library whose export is a copy, nobody else may hold: an event of the driver behind
the call says when it may go.
"""

from __future__ import annotations

import collections
import contextlib
import ctypes
import functools
import os
from ctypes import POINTER, byref, c_int, c_uint, c_void_p
from typing import Any, Iterator, Sequence

from ringlet._handles import Locked
from ringlet._tensors import View

_WITHOUT_TIMING = 2
_FUNCTIONS = {
    "cuDeviceGet": [POINTER(c_int), c_int],
    "cuDevicePrimaryCtxRetain": [POINTER(c_void_p), c_int],
    "cuCtxPushCurrent_v2": [c_void_p],
    "cuCtxPopCurrent_v2": [POINTER(c_void_p)],
    "cuStreamIsCapturing": [c_void_p, POINTER(c_int)],
    "cuEventCreate": [POINTER(c_void_p), c_uint],
    "cuEventRecord": [c_void_p, c_void_p],
    "cuEventQuery": [c_void_p],
    "cuEventDestroy_v2": [c_void_p],
}


class _Failed(Exception):
    pass


class _Driver:
    """The driver's events, for one device in its primary context."""

    def __init__(self, number: int):
        # The runtime has loaded the same one.
        library = ctypes.CDLL(os.environ.get("RINGLET_CUDA_LIBRARY") or "libcuda.so.1")
        self._functions = {}
        for name, types in _FUNCTIONS.items():
            function = getattr(library, name)
            function.argtypes, function.restype = types, c_int
            self._functions[name] = function
        device, self._context = c_int(), c_void_p()
        self._call("cuDeviceGet", byref(device), number)
        self._call("cuDevicePrimaryCtxRetain", byref(self._context), device)

    def _call(self, name: str, *arguments: Any) -> None:
        if self._functions[name](*arguments):
            raise _Failed(name)

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        self._call("cuCtxPushCurrent_v2", self._context)
        try:
            yield
        finally:
            self._call("cuCtxPopCurrent_v2", byref(c_void_p()))

    def mark(self, stream: int) -> Any:
        """An event behind all that the stream has now. None where a graph records
        it: its replays read on and on."""
        status, event = c_int(), c_void_p()
        self._call("cuStreamIsCapturing", stream, byref(status))
        if status.value:
            return None
        self._call("cuEventCreate", byref(event), _WITHOUT_TIMING)
        self._call("cuEventRecord", event, stream)
        return event

    def has_passed(self, event: Any) -> bool:
        if event is None or self._functions["cuEventQuery"](event):
            return False
        self._call("cuEventDestroy_v2", event)
        return True


class _Queue(Locked):
    """Of one device: loans, and the events behind their last use."""

    def __init__(self, number: int):
        super().__init__()
        self._pending: collections.deque = collections.deque()
        try:
            self._driver: Any = _Driver(number)
        except (OSError, AttributeError, _Failed):
            self._driver = None

    def keep(self, stream: int, loans: list) -> None:
        done = []
        with self._lock:
            try:
                if self._driver is None:
                    raise _Failed("no driver")
                with self._driver.current():
                    done = self._passed()
                    self._pending.append((self._driver.mark(stream), loans))
            except _Failed:  # Then nobody knows when, and they stay.
                self._pending.append((None, loans))
        # What libraries do to free theirs, they do outside of the lock.
        del done

    def _passed(self) -> list:
        done, waiting = [], collections.deque()
        for each in self._pending:
            (done if self._driver.has_passed(each[0]) else waiting).append(each)
        self._pending = waiting
        return done


@functools.lru_cache(maxsize=None)
def _queue(device: tuple) -> _Queue:
    return _Queue(device[1])


def keep_until_read(device: tuple, stream: int, views: Sequence[View]) -> None:
    """Lets what was exported for a call live until the stream has passed it."""
    loans = [view.loan for view in views if view.loan is not None]
    if loans:
        _queue(device).keep(stream, loans)
