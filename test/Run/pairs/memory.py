# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors for an artefact: random ones, anywhere in memory."""

import ctypes
import math
import random

from ringlet import _capi
from safetensors_file import encode

_NORMAL = [random.Random(7).gauss(0, 1) for _ in range(1 << 12)]
# Bytes that are no element of a tensor, and how many elements of them.
_GUARD = b"\xff"
_MARGIN = 16


def draw(operand, seed: str) -> bytes:
    """Its values, or random ones."""
    count = math.prod(operand.shape)
    dice = random.Random(f"{seed}/{operand.name}")
    if operand.values:
        return encode(operand.dtype, list(operand.values[:count]))
    if operand.dtype == "i1":
        return encode("i1", [dice.random() < 0.6 for _ in range(count)])
    begin = dice.randrange(len(_NORMAL))
    turns = _NORMAL[begin:] + _NORMAL * (count // len(_NORMAL) + 1)
    step = 1 / 40 if operand.dtype == "i8" else 1
    return encode(operand.dtype, [each / step for each in turns[:count]])


# Where tensors may lie, beside "plain".
LAYOUTS = ("by head", "padded", "backwards")


class Placed:
    """A tensor in memory of its own, between bytes that are nobody's."""

    def __init__(self, operand, layout: str, raw: bytes = b""):
        self.shape = operand.shape
        dtype = _capi.DTYPES["bool" if operand.dtype == "i1" else operand.dtype]
        self.size = _capi.DTYPE_SIZES[dtype]
        self.begin, extent = self._lay_out(layout)
        room = (2 * _MARGIN + extent) * self.size
        self.memory = ctypes.create_string_buffer(_GUARD * room, room)
        # An output has no bytes yet.
        for i, place in enumerate(self._places() if raw else ()):
            self.memory[place : place + self.size] = raw[i * self.size :][: self.size]
        rank = len(self.shape)
        self.tensor = _capi.Tensor(
            ctypes.addressof(self.memory) + (_MARGIN + self.begin) * self.size,
            dtype,
            rank,
            (ctypes.c_int64 * rank)(*self.shape),
            (ctypes.c_int64 * rank)(*self.strides),
        )

    def _lay_out(self, layout: str) -> tuple:
        """Sets the strides; where the first element lies, of how many."""
        order = list(range(len(self.shape)))
        self.strides = [1] * len(order)
        if layout == "by head":
            order[-3:-1] = reversed(order[-3:-1])
        gap = 3 if layout == "padded" else 0
        begin, extent = 0, 1
        for axis in reversed(order):
            self.strides[axis] = extent
            extent = extent * max(self.shape[axis], 1) + gap
        if layout == "backwards":
            for axis in order[-3:-2]:
                begin = self.strides[axis] * max(self.shape[axis] - 1, 0)
                self.strides[axis] = -self.strides[axis]
        return begin, extent

    def _places(self) -> list:
        """Where the bytes of each element begin, in the order of indices."""
        places = [(_MARGIN + self.begin) * self.size]
        for size, stride in zip(self.shape, self.strides):
            steps = [i * stride * self.size for i in range(size)]
            places = [place + step for place in places for step in steps]
        return places

    def read(self) -> tuple:
        """The bytes of the elements, and whether all others are as they were."""
        raw, places = bytearray(self.memory.raw), self._places()
        found = b"".join(raw[place : place + self.size] for place in places)
        for place in places:
            raw[place : place + self.size] = _GUARD * self.size
        return found, raw == _GUARD * len(raw)


class Artifact:
    """A loaded artefact, called with tensors that lie anywhere."""

    def __init__(self, content: bytes, target: str):
        options = _capi.ContextOptions()
        options.target, options.threads = target.encode(), 2
        self._context, self._program = ctypes.c_void_p(), ctypes.c_void_p()
        self._library = _capi.library()
        _capi.check(self._library.rl_context_create(options, self._context))
        _capi.check(
            self._library.rl_program_load(
                self._context, content, len(content), self._program
            )
        )

    def close(self) -> None:
        self._library.rl_program_destroy(self._program)
        self._library.rl_context_destroy(self._context)

    def call(self, entry: int, tensors: list) -> None:
        """The entry of this number; the last tensors are its results."""
        array = (_capi.Tensor * len(tensors))(*(each.tensor for each in tensors))
        _capi.check(
            self._library.rl_program_run(self._program, entry, array, len(array))
        )
