# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Who owns a handle of the C API, and until when."""

from __future__ import annotations

import collections
import os
import threading
import weakref
from typing import Any, Callable

# Grows in a child process that was forked: threads of the parent are not there,
# and locks may be held by one of them.
_forks = 0
_opening = threading.RLock()
_with_locks: weakref.WeakSet = weakref.WeakSet()


def _forked() -> None:
    global _forks, _opening
    _forks += 1
    _opening = threading.RLock()
    for each in _with_locks:
        each.renew_lock()


os.register_at_fork(after_in_child=_forked)


class Locked:
    """Base of what has a `_lock`, which is free in a child process."""

    def __init__(self) -> None:
        self.renew_lock()
        _with_locks.add(self)

    def renew_lock(self) -> None:
        self._lock = threading.Lock()


class Handle:
    """A handle, destroyed when nobody holds this object any more.

    Whoever copies what has a handle shares it, as a handle itself is no copy of
    anything. When the process ends, nothing is destroyed: threads may still be
    inside a call. A child process that was forked makes its own at first use, and
    leaves its parent's alone.

    create   makes the handle
    destroy  takes it; called at most once
    """

    def __init__(self, create: Callable[[], Any], destroy: Callable[[Any], None]):
        self._create = create
        self._destroy = destroy
        self._open()

    def _open(self) -> None:
        self._value = self._create()
        self._process = _forks
        # `create` may hold what the handle needs to its end.
        finalizer = weakref.finalize(
            self, _destroy, self._destroy, self._value, _forks, self._create
        )
        finalizer.atexit = False

    @property
    def _as_parameter_(self) -> Any:
        """What ctypes passes for it."""
        if self._process != _forks:
            with _opening:
                if self._process != _forks:
                    self._open()
        return self._value

    def __copy__(self) -> "Handle":
        return self

    def __deepcopy__(self, memo: dict) -> "Handle":
        return self

    def __reduce__(self) -> Any:
        raise TypeError("expected something without a handle to be pickled")


def _destroy(destroy: Callable, value: Any, process: int, _keep: Any) -> None:
    if process == _forks:
        destroy(value)


class Shared:
    """Base of objects that are what their handle is: copies are the object."""

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict) -> Any:
        return self

    def __reduce__(self) -> Any:
        raise TypeError(
            f"expected a value that can leave this process, found a ringlet "
            f"{type(self).__name__.lower()}; {self._instead_of_pickle}"
        )

    _instead_of_pickle = "make one in the other process"


class Kept(Locked):
    """The most recently used values of a few, by key; any thread may use it."""

    def __init__(self, most: int = 256):
        super().__init__()
        self._most = most
        self._values: collections.OrderedDict = collections.OrderedDict()

    def get(self, key: Any) -> Any:
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def put(self, key: Any, value: Any) -> None:
        with self._lock:
            self._values[key] = value
            dropped = [
                self._values.popitem(last=False)[1]
                for _ in range(len(self._values) - self._most)
            ]
        # What dies with them may come back here.
        del dropped

    def clear(self) -> None:
        with self._lock:
            values, self._values = self._values, collections.OrderedDict()
        del values
