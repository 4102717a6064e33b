# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Devices with their threads and memory."""

from __future__ import annotations

import atexit
import ctypes
import dataclasses
import threading
import weakref
from typing import Any, Callable, Optional

from ringlet import _capi, _dlpack
from ringlet._handles import Handle, Kept, Locked, Shared
from ringlet._values import integer, text

_LOG_LEVELS = ("error", "warning", "info", "debug")


@dataclasses.dataclass(frozen=True)
class Stats:
    """What a context has done and holds; bytes are bytes."""

    threads: int
    runs: int
    launches: int
    memory_bytes: int
    peak_memory_bytes: int
    workspace_bytes: int
    table_bytes: int
    tables_built: int


class Context(Shared):
    """A device with its threads and memory, for any number of programs.

    driver        "cpu", or "cuda" for an NVIDIA GPU
    device        number of the driver's device
    threads       CPU threads, the calling one included; 0 takes all cores
    memory_limit  bytes of workspace, scratch and tables; 0 sets no limit
    target        only code for this target, as "x86-64-v3"; None takes the best
                  that this machine can run
    log           called as log(level, message), level being "error", "warning",
                  "info" or "debug", from any thread
    log_level     the most talkative level that is reported

    It goes, with its threads, when neither its owner nor a program is left; a copy
    is the same context. A process that was forked has threads of its own. When
    Python ends, calls of the log are waited for, and there are no more; threads
    that still run go on without.

    Raises ringlet.RuntimeError if the device is not to be had.
    """

    def __init__(
        self,
        *,
        driver: str = "cpu",
        device: int = 0,
        threads: int = 0,
        memory_limit: int = 0,
        target: Optional[str] = None,
        log: Optional[Callable[[str, str], None]] = None,
        log_level: str = "warning",
    ):
        options = _capi.ContextOptions()
        options.driver = text("driver", driver)
        options.device = integer("device", device, 0, 2**31 - 1)
        options.threads = integer("threads", threads, 0, 2**32 - 1)
        options.memory_limit = integer("memory_limit", memory_limit, 0, 2**64 - 1)
        options.target = None if target is None else text("target", target)
        if log_level not in _LOG_LEVELS:
            raise ValueError(
                f"expected log_level to be one of {', '.join(_LOG_LEVELS)}, "
                f"found {log_level!r}"
            )
        options.log_level = _LOG_LEVELS.index(log_level)
        library = _capi.library()
        make, destroy = library.rl_context_create, library.rl_context_destroy
        if log is not None:
            options.log = _callback(log)
            make, destroy = _logs.create, _logs.destroy

        def create() -> ctypes.c_void_p:
            handle = ctypes.c_void_p()
            _capi.check(make(options, handle))
            return handle

        self._handle = Handle(create, destroy)
        # Where the tensors of its programs lie.
        self._device = _dlpack.CPU if driver == "cpu" else _dlpack.cuda(device)
        # What was loaded for it goes with it. None of it knows the context.
        self._loaded = Kept()
        _all_contexts.add(self)

    def stats(self) -> Stats:
        """Counters and memory of this context, now."""
        raw = _capi.Stats()
        _capi.check(_capi.library().rl_context_stats(self._handle, ctypes.byref(raw)))
        return Stats(*(getattr(raw, each.name) for each in dataclasses.fields(Stats)))

    def check(self) -> None:
        """Raises ringlet.RuntimeError if work that was queued on a GPU has met a
        fault, after which nothing runs there until the process ends. It waits for
        nothing: what is still on its way may fail later."""
        _capi.check(_capi.library().rl_context_check(self._handle))

    def trim(self) -> None:
        """Returns idle workspaces and unused order tables to the system."""
        _capi.check(_capi.library().rl_context_trim(self._handle))


_all_contexts: weakref.WeakSet = weakref.WeakSet()


def forget_loaded() -> None:
    """What all contexts keep of programs that nobody holds."""
    for context in list(_all_contexts):
        context._loaded.clear()


def _callback(log: Callable[[str, str], None]) -> Any:
    return _capi.LogCallback(
        lambda _, level, message: log(
            _LOG_LEVELS[level], message.decode(errors="replace")
        )
    )


class _Logs(Locked):
    """The contexts that call back into Python.

    A thread that wants to run Python while the interpreter ends is ended where it
    stands, inside the runtime. So their logs are taken away before, and whoever
    makes one later goes without.
    """

    def __init__(self) -> None:
        self._have_ended = False
        super().__init__()

    def renew_lock(self) -> None:
        self._changed = threading.Condition()
        # A context calls its log while it is made.
        self._being_made = 0
        # Addresses of handles; those of a parent process are not ours.
        self._contexts: set = set()

    def create(self, options: _capi.ContextOptions, handle: ctypes.c_void_p) -> int:
        """As rl_context_create."""
        with self._changed:
            has_log = not self._have_ended
            if has_log:
                self._being_made += 1
            else:
                options.log = _capi.LogCallback()
        try:
            return _capi.library().rl_context_create(options, handle)
        finally:
            with self._changed:
                if has_log:
                    self._being_made -= 1
                    if handle:
                        self._contexts.add(handle.value)
                    self._changed.notify_all()

    def destroy(self, handle: ctypes.c_void_p) -> None:
        """As rl_context_destroy."""
        with self._changed:
            if self._have_ended:
                return
            self._contexts.discard(handle.value)
        _capi.library().rl_context_destroy(handle)

    def end(self) -> None:
        with self._changed:
            self._have_ended = True
            self._changed.wait_for(lambda: self._being_made <= 0)
        nothing = _capi.LogCallback()
        for each in self._contexts:
            _capi.check(_capi.library().rl_context_set_log(each, 0, nothing, None))


_logs = _Logs()
atexit.register(_logs.end)


class _Defaults(Locked):
    """The contexts of whoever names none: a device, all cores, no memory limit."""

    def __init__(self) -> None:
        super().__init__()
        self._contexts: dict = {}

    def of(self, device: tuple) -> Context:
        context = self._contexts.get(device)
        if context is None:
            with self._lock:
                context = self._contexts.get(device)
                if context is None:
                    kind = {} if device == _dlpack.CPU else {"driver": "cuda"}
                    context = Context(device=device[1], **kind)
                    self._contexts[device] = context
        return context


_defaults = _Defaults()


def default_context(device: tuple = _dlpack.CPU) -> Context:
    """The context of whoever names none."""
    return _defaults.of(device)


def context_or_default(context: Any, device: Callable = lambda: _dlpack.CPU) -> Context:
    """What a caller names, or that of `device()`."""
    if context is None:
        return default_context(device())
    if not isinstance(context, Context):
        raise TypeError(f"expected context as a ringlet.Context, found {context!r:.80}")
    return context
