# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Contexts and programs."""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import dataclasses
import functools
import os
import pathlib
import tempfile
import types
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from ringlet import _capi, _dlpack
from ringlet._call import Call, Calls, torch_kind
from ringlet._context import Context, context_or_default
from ringlet._handles import Handle, Shared
from ringlet._ring import Ring
from ringlet._streams import keep_until_read
from ringlet._tensors import HOST, Maker, Place, View, describe, place_on
from ringlet._tensors import torch_stream, torch_wrote, unwrapped, view_of
from ringlet._values import flag, integer, sizes_of


@dataclasses.dataclass(frozen=True)
class Argument:
    """A tensor that an entry takes or gives.

    sizes   -1 stands for any size
    dtype   "f32", "bf16", ...
    layout  the encoding of the tensor's type, as text; "" if there is none
    """

    name: str
    dtype: str
    sizes: tuple
    layout: str = ""

    def __str__(self) -> str:
        layout = f" {self.layout}" if self.layout else ""
        number = _capi.DTYPES.get(self.dtype, 0)
        return f"{self.name}: {describe(number, self.sizes)}{layout}"


@dataclasses.dataclass(frozen=True)
class Entry:
    """A function of a program."""

    name: str
    inputs: tuple
    outputs: tuple

    def __str__(self) -> str:
        inputs = ", ".join(map(str, self.inputs))
        outputs = ", ".join(map(str, self.outputs))
        return f"{self.name}({inputs}) -> ({outputs})"


@dataclasses.dataclass(frozen=True)
class Estimate:
    """Memory that a run takes beside its arguments, in bytes.

    workspace_bytes  for each run in flight
    scratch_bytes    as well, all threads together
    table_bytes      order tables, shared by all runs
    ring_bytes       of a call on a ring: keys of other ranks, those that are
                     packed to be sent, and what kernels for them need
    total_bytes      the sum of these
    launches         of kernels, but for those of chunks of keys
    fallbacks        launches left to a slower kernel, as the fast one cannot
                     read tensors of these sizes and strides
    """

    workspace_bytes: int
    scratch_bytes: int
    table_bytes: int
    ring_bytes: int
    total_bytes: int
    launches: int
    fallbacks: int


class Loaded:
    """An artefact, ready to run: all of a program that knows no `Context`, so that a
    context may keep it."""

    def __init__(self, artifact: bytes, context: Optional[Handle]):
        self.artifact = artifact
        self.calls = Calls()
        library = _capi.library()

        def create() -> ctypes.c_void_p:
            handle = ctypes.c_void_p()
            _capi.check(
                library.rl_program_load(
                    context, artifact, len(artifact), ctypes.byref(handle)
                )
            )
            return handle

        # Which holds the handle of the context, whose threads run it.
        self.handle = Handle(create, library.rl_program_destroy)
        self.indices: dict[str, int] = {}
        entries = {}
        for index in range(library.rl_program_entry_count(self.handle)):
            entry = self._read_entry(index)
            self.indices[entry.name] = index
            entries[entry.name] = entry
        self.entries = types.MappingProxyType(entries)

    def _read_entry(self, index: int) -> Entry:
        library = _capi.library()
        inputs: list = []
        outputs: list = []
        for i in range(library.rl_program_argument_count(self.handle, index)):
            raw = _capi.Argument()
            _capi.check(
                library.rl_program_argument(self.handle, index, i, ctypes.byref(raw))
            )
            (outputs if raw.is_output else inputs).append(
                Argument(
                    raw.name.decode(errors="backslashreplace"),
                    _capi.DTYPE_NAMES.get(raw.dtype, str(raw.dtype)),
                    tuple(raw.sizes[: raw.rank]) if raw.rank else (),
                    (raw.layout or b"").decode(errors="replace"),
                )
            )
        name = library.rl_program_entry_name(self.handle, index)
        name = name.decode(errors="backslashreplace")
        return Entry(name, tuple(inputs), tuple(outputs))


class Program(Shared):
    """A compiled artefact, ready to run.

    artifact  the bytes of an .rla file
    context   where it runs; None is a context for the whole process, with all
              cores
    inspect   load it to be looked at only: `run` then refuses, and the artefact
              need not have code for this machine

    Artefacts are code: load only those that you would run as a program. One
    that is damaged raises ringlet.RuntimeError with Status.BAD_ARTIFACT.

    Any number of threads may use a program at once. A copy is the same program.
    """

    _instead_of_pickle = "save and load it"

    def __init__(
        self,
        artifact: bytes,
        context: Optional[Context] = None,
        *,
        inspect: bool = False,
    ):
        context = None if inspect else context_or_default(context)
        if isinstance(artifact, (str, int)):
            raise TypeError(
                f"expected artifact as bytes, found {type(artifact).__name__}; "
                "Program.load reads a file"
            )
        self._bind(Loaded(bytes(artifact), context and context._handle), context)

    @classmethod
    def of(cls, loaded: Loaded, context: Context) -> "Program":
        """One that was loaded for the context."""
        program = cls.__new__(cls)
        program._bind(loaded, context)
        return program

    def _bind(self, loaded: Loaded, context: Optional[Context]) -> None:
        self.context = context
        self._loaded = loaded
        self._handle = loaded.handle
        self._device = context._device if context else _dlpack.CPU

    @classmethod
    def load(
        cls,
        path: Union[str, os.PathLike],
        context: Optional[Context] = None,
        *,
        inspect: bool = False,
    ) -> "Program":
        """Reads an artefact that `save` or ringlet-compile wrote.

        Raises OSError if the file cannot be read.
        """
        return cls(pathlib.Path(path).read_bytes(), context, inspect=inspect)

    def save(self, path: Union[str, os.PathLike]) -> None:
        """Writes the artefact: whole, or not at all."""
        path = pathlib.Path(path)
        number, name = tempfile.mkstemp(prefix=path.name, dir=path.parent)
        try:
            with os.fdopen(number, "wb") as file:
                file.write(self._loaded.artifact)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise

    # What it is.

    @property
    def entries(self) -> Mapping[str, Entry]:
        """The functions of the program, by name."""
        return self._loaded.entries

    @property
    def targets(self) -> tuple:
        """The targets that the artefact has code for, as "x86-64-v3"."""
        library = _capi.library()
        return tuple(
            library.rl_program_target_name(self._handle, i).decode()
            for i in range(library.rl_program_target_count(self._handle))
        )

    @property
    def target(self) -> str:
        """The target whose code runs; "" for a program to be inspected."""
        return _capi.library().rl_program_target(self._handle).decode()

    @property
    def compiler(self) -> str:
        """Name and version of the compiler that made it."""
        return _capi.library().rl_program_compiler(self._handle).decode()

    def explain(self, entry: Optional[str] = None) -> str:
        """What the compiler decided for each kernel, one "key: value" a line."""
        index = self._loaded.indices[self._entry(entry).name]
        return _capi.library().rl_program_explain(self._handle, index).decode(errors="replace")

    def __repr__(self) -> str:
        entries = "; ".join(map(str, self.entries.values()))
        return f"<ringlet.Program {entries}>"

    # What it does.

    def __call__(
        self,
        *inputs: Any,
        out: Any = None,
        stream: Optional[int] = None,
        ring: Optional[Ring] = None,
        wait: bool = True,
        **named: Any,
    ) -> Any:
        """Runs the only entry; see `run`."""
        return self.run(*inputs, out=out, stream=stream, ring=ring, wait=wait, **named)

    def run(
        self,
        *inputs: Any,
        entry: Optional[str] = None,
        out: Any = None,
        stream: Optional[int] = None,
        ring: Optional[Ring] = None,
        wait: bool = True,
        **named: Any,
    ) -> Any:
        """Runs an entry and returns its outputs.

        inputs, named  the entry's inputs, in order or by name: numpy arrays or
                       objects with `__dlpack__` in memory of the context's
                       device, as torch tensors, and ints for rank-0 i64. They are
                       read where they lie. The last axis is contiguous; other
                       strides are free.
        entry          its name; needed only if the program has several
        out            where the results go, else they are allocated: a tensor,
                       a sequence of them or a dict by output name. On a GPU only
                       tensors of torch are allocated.
        stream         on a GPU, where the work is queued: the number of a CUstream,
                       0 for the default stream. None is torch's current stream if
                       an input is a tensor of torch, else the default stream.
        ring           of an entry on sharded tensors: this rank's end of the ring,
                       whose ranks bring their parts. Without one, this process is
                       the only rank. It begins behind what the stream has, and
                       results are complete on return.
        wait           False, of a call on a ring: it is queued, and results are
                       complete when `ring.wait()` returns, which also says why it
                       has failed, if the next call on the ring does not. The ring
                       holds its tensors until then.

        On a CPU the results are complete on return; on a GPU they are for work
        that is queued on the same stream, and inputs must live as long.

        Returns one tensor, or a tuple if the entry has several outputs; `out`'s
        own, or new ones of the first input's kind.

        Raises TypeError or ValueError for arguments that are no tensors of the
        right kind, and ringlet.RuntimeError, with nothing written, for sizes
        and types that the entry does not take.
        """
        chosen = self._entry(entry)
        given = _bind(chosen, inputs, named)
        if wait is not True and not flag("wait", wait) and ring is None:
            raise ValueError("expected a ring beside wait=False, found None")
        kind = torch_kind(given, out) if stream is None else None
        known = kind and self._loaded.calls.known_torch_call(chosen.name, kind)
        # What these hold lives until the runtime has read it.
        views: Sequence = ()
        if known:
            results, call = known.point_to(given, out), known.call
            queue = 0 if self._device == _dlpack.CPU else torch_stream(self._device)
        else:
            results, views, queue = self._prepare(chosen, given, out, stream)
            call = self._loaded.calls.of(views, self._device)
            if kind:
                self._loaded.calls.keep_torch_call(chosen.name, kind, call, results)
        try:
            self._enqueue(self._loaded.indices[chosen.name], call, queue, ring)
            if not wait:
                ring.hold(given, results, views)
            elif ring is not None:
                ring.wait()
        finally:
            call.release()
        if self._device != _dlpack.CPU:
            keep_until_read(self._device, queue, views)
        if out is not None:
            torch_wrote(results)
        return results[0] if len(results) == 1 else tuple(results)

    def _enqueue(
        self, index: int, call: Call, queue: int, ring: Optional[Ring]
    ) -> None:
        """On a CPU this returns when the outputs of a call without a ring are
        complete."""
        library = _capi.library()
        given = (self._handle, index, call.tensors, call.count)
        call.run.stream = queue
        if ring is None:
            status = library.rl_program_enqueue(*given, call.run)
        else:
            status = library.rl_ring_enqueue(ring._handle, *given, call.run)
        _capi.check(status)

    def _prepare(
        self, entry: Entry, given: list, out: Any, stream: Optional[int]
    ) -> tuple:
        """Outputs, all arguments, and the stream, of a run."""
        place = place_on(self._device, stream, given)
        views = [_viewed(*each, place) for each in zip(entry.inputs, given)]
        if out is None:
            maker = Maker(given, place)
            made = [
                maker.make(sizes, _capi.DTYPES[argument.dtype])
                for argument, sizes in zip(
                    entry.outputs, self._output_sizes(entry, views)
                )
            ]
            results = [result for result, _ in made]
            views += [view for _, view in made]
        else:
            results, given_views = _given_outputs(entry, out, place)
            views += given_views
        return results, views, place.stream

    def estimate(
        self,
        *inputs: Any,
        entry: Optional[str] = None,
        ring: Optional[Ring] = None,
        **named: Any,
    ) -> Estimate:
        """The memory that a run would take, from sizes alone.

        An input is a tensor as for `run`, or a tuple of its sizes; a rank-0 i64
        is an int. All checks of a run are made. Of a run on a ring all ranks have
        to ask at once, and starts of packed sequences are tensors.
        """
        chosen = self._entry(entry)
        given = _bind(chosen, inputs, named)
        place = Place(self._device)
        views = []
        for argument, value in zip(chosen.inputs, given):
            if isinstance(value, tuple):
                number = _capi.DTYPES[argument.dtype]
                sizes = sizes_of(argument.name, value)
                _check_rank(argument.name, sizes)
                views.append(View(None, number, sizes, None, True, None))
            else:
                views.append(_viewed(argument, value, place))
        for argument, sizes in zip(chosen.outputs, self._output_sizes(chosen, views)):
            number = _capi.DTYPES[argument.dtype]
            views.append(View(None, number, sizes, None, False, None))
        raw = _capi.Estimate()
        index = self._loaded.indices[chosen.name]
        if ring is None:
            ask = _capi.library().rl_program_estimate
        else:
            ask = functools.partial(_capi.library().rl_ring_estimate, ring._handle)
        self._ask(ask, index, views, ctypes.byref(raw))
        return Estimate(
            *(getattr(raw, each.name) for each in dataclasses.fields(Estimate))
        )

    def _ask(self, function: Any, index: int, views: list, answer: Any) -> None:
        call = self._loaded.calls.of(views, self._device)
        try:
            status = function(self._handle, index, call.tensors, call.count, answer)
            _capi.check(status)
        finally:
            call.release()

    def _entry(self, name: Optional[str]) -> Entry:
        if name is None and len(self.entries) == 1:
            return next(iter(self.entries.values()))
        if name is not None and name in self.entries:
            return self.entries[name]
        known = ", ".join(self.entries)
        found = "none" if name is None else f"'{name}'"
        raise ValueError(f"expected entry to be one of {known}; found {found}")

    def _output_sizes(self, entry: Entry, inputs: list) -> list:
        def compute() -> list:
            flat = (ctypes.c_int64 * (_capi.MAX_RANK * max(1, len(entry.outputs))))()
            index = self._loaded.indices[entry.name]
            self._ask(_capi.library().rl_program_output_sizes, index, inputs, flat)
            return [
                tuple(flat[_capi.MAX_RANK * i :][: len(argument.sizes)])
                for i, argument in enumerate(entry.outputs)
            ]

        return self._loaded.calls.output_sizes(entry.name, inputs, compute)


def _bind(entry: Entry, inputs: Sequence, named: Mapping) -> list:
    """The inputs in the entry's order."""
    if not named and len(inputs) == len(entry.inputs):
        return list(inputs)
    names = [argument.name for argument in entry.inputs]
    if len(inputs) > len(names):
        raise TypeError(
            f"expected {len(names)} inputs ({', '.join(names)}), found {len(inputs)}"
        )
    values = dict(zip(names, inputs))
    for name, value in named.items():
        if name not in names:
            raise TypeError(f"expected inputs named {', '.join(names)}; found '{name}'")
        if name in values:
            raise TypeError(f"expected one value for input '{name}', found two")
        values[name] = value
    missing = [name for name in names if name not in values]
    if missing:
        raise TypeError(
            f"expected {len(names)} inputs ({', '.join(names)}), found no "
            f"{', '.join(missing)}"
        )
    return [values[name] for name in names]


def named(name: str, look: Callable, value: Any, place: Place) -> Any:
    """look(value, place), whose errors say of which argument they are."""
    try:
        return look(value, place)
    except (TypeError, ValueError) as error:
        # Of their subclasses some take more than a message.
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"argument '{name}': {error}") from None
    except builtins.RuntimeError as error:  # Of torch, for tensors without memory.
        raise ValueError(f"argument '{name}': {error}") from error


def _named_view(name: str, value: Any, place: Place) -> View:
    view = named(name, view_of, value, place)
    _check_rank(name, view.sizes)
    return view


def _check_rank(name: str, sizes: Sequence) -> None:
    if len(sizes) > _capi.MAX_RANK:
        raise ValueError(
            f"argument '{name}': expected at most {_capi.MAX_RANK} axes, found "
            f"{len(sizes)}"
        )


def _viewed(argument: Argument, value: Any, place: Place) -> View:
    """An input. The host reads its rank-0 i64 itself, whatever the device is."""
    is_number = argument.dtype == "i64" and not argument.sizes
    return _named_view(argument.name, value, HOST if is_number else place)


def _given_outputs(entry: Entry, out: Any, place: Place) -> tuple:
    """The outputs that the caller brought, and their views."""
    names = [argument.name for argument in entry.outputs]
    if isinstance(out, Mapping):
        if set(out) != set(names):
            raise TypeError(
                f"expected out for {', '.join(names)}; found "
                f"{', '.join(map(str, out)) or 'none'}"
            )
        values = [out[name] for name in names]
    elif isinstance(out, (tuple, list)):
        values = list(out)
    else:
        values = [out]
    if len(values) != len(names):
        raise TypeError(
            f"expected {len(names)} outputs ({', '.join(names)}) in out, found "
            f"{len(values)}"
        )
    views = []
    for argument, value in zip(entry.outputs, values):
        view = _named_view(argument.name, value, place)
        if view.read_only:
            raise ValueError(
                f"argument '{argument.name}': expected an output that can be "
                "written, found a read-only one"
            )
        views.append(view)
    return [unwrapped(value) for value in values], views
