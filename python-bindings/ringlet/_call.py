# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arguments in the form of the C API."""

from __future__ import annotations

import ctypes
import sys
import threading
from typing import Any, Callable, NamedTuple, Optional, Sequence

from ringlet import _capi
from ringlet._tensors import View, in_transform


_I64 = _capi.DTYPES["i64"]


class Call:
    """Arguments of certain layouts. Only their addresses differ between runs.

    Whoever has called `point_to` has it for himself until `release`: what a run calls
    in its thread, as a log or a finalizer, may run the same program.
    """

    def __init__(self, views: Sequence[View], device: tuple):
        self.is_taken = False
        self.run = _capi.Run()
        self.count = len(views)
        self.tensors = (_capi.Tensor * self.count)()
        # Items of a ctypes array are made anew whenever it is asked for one.
        self.items = list(self.tensors)
        for item, view in zip(self.items, views):
            dtype, sizes, strides = view.layout
            rank = len(sizes)
            item.dtype, item.rank = dtype, rank
            # The host reads a number itself; views know where they lie.
            if not (rank == 0 and dtype == _I64):
                item.memory, item.device = device
            item.sizes = (ctypes.c_int64 * rank)(*sizes)
            if strides is not None:
                item.strides = (ctypes.c_int64 * rank)(*strides)

    def point_to(self, views: Sequence[View]) -> "Call":
        self.is_taken = True
        for item, view in zip(self.items, views):
            item.data = view.data
        return self

    def release(self) -> None:
        self.is_taken = False


class TorchCall(NamedTuple):
    """A call on tensors of torch that was right, for more of the same kind."""

    call: Call
    new: tuple  # (sizes, strides, dtype) of the outputs, if these are allocated.

    def point_to(self, inputs: Sequence, out: Optional[Sequence]) -> list:
        """The outputs."""
        outputs = out
        if outputs is None:
            # Faster than torch.empty.
            empty, device = sys.modules["torch"].empty_strided, inputs[0].device
            outputs = [
                empty(sizes, strides, dtype=dtype, device=device)
                for sizes, strides, dtype in self.new
            ]
        self.call.is_taken = True
        for item, tensor in zip(self.call.items, (*inputs, *outputs)):
            item.data = tensor.data_ptr()
        return list(outputs)


def torch_kind(inputs: Sequence, out: Any) -> Optional[tuple]:
    """All that torch says of the tensors of a call but their addresses; None for
    other arrays."""
    torch = sys.modules.get("torch")
    if torch is None or not inputs or not isinstance(inputs[0], torch.Tensor):
        return None
    if out is not None and not isinstance(out, (tuple, list)):
        return None
    if in_transform(torch):
        return None
    has_grad_mode = torch.is_grad_enabled()
    try:
        return (
            out is None,
            *[
                (
                    type(each), each.dtype, each.shape, each.stride(), each.device,
                    has_grad_mode and each.requires_grad, each.is_neg(),
                )  # fmt: skip
                for each in (*inputs, *(out or ()))
            ],
        )
    except (AttributeError, RuntimeError):  # Numbers, and tensors without strides.
        return None


class Calls(threading.local):
    """The calls that this thread has made of a program, by their layouts.

    To describe tensors takes longer than to start a kernel, and most programs come
    with the same few layouts over and over.
    """

    MOST = 256

    def __init__(self) -> None:
        self._known: dict = {}

    def known_torch_call(self, entry: str, kind: tuple) -> Optional[TorchCall]:
        found = self._known.get((entry, kind))
        return None if found is None or found.call.is_taken else found

    def keep_torch_call(
        self, entry: str, kind: tuple, call: Call, outputs: Sequence
    ) -> None:
        torch = sys.modules["torch"]
        # Sizes of outputs may follow from numbers, which have no sizes themselves.
        plain = (torch.Tensor, torch.nn.Parameter)
        if all(each[0] in plain and each[2] for each in kind[1:]):
            new = tuple((tuple(x.shape), x.stride(), x.dtype) for x in outputs)
            self._recall((entry, kind), lambda: TorchCall(call, new))

    def _recall(self, key: tuple, make: Callable[[], Any]) -> Any:
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= self.MOST:
                self._known.clear()
            found = self._known[key] = make()
        return found

    def of(self, views: Sequence[View], device: tuple) -> Call:
        """The device is always the same one: that of the program's context."""
        key = tuple([view.layout for view in views])
        call = self._recall(key, lambda: Call(views, device))
        return (Call(views, device) if call.is_taken else call).point_to(views)

    def output_sizes(
        self, entry: str, inputs: Sequence[View], compute: Callable[[], list]
    ) -> list:
        """Of an entry; they follow from the layouts of inputs, unless there are
        numbers among these."""
        layouts = [view.layout for view in inputs]
        if not all(sizes for _, sizes, _ in layouts):
            return compute()
        return self._recall((entry, *layouts), compute)
