# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Buffers and views of random tile programs, with what `rtile.view`,
`rtile.bounds`, `rtile.load` and `rtile.visible` mean, element by element."""

import math
import struct

FLOATS = ("f32", "f16", "bf16")


def to_f32(value):
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def to_f16(value):
    if value != value:
        return value
    try:
        return struct.unpack("e", struct.pack("e", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def to_bf16(value):
    if value != value:
        return value
    (bits,) = struct.unpack("I", struct.pack("f", to_f32(value)))
    bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return struct.unpack("f", struct.pack("I", bits))[0]


ROUND = {"f32": to_f32, "f16": to_f16, "bf16": to_bf16}


class Buffer:
    """A parameter of the kernel: strides leave gaps, and each size and stride
    may be static in the type or a word of the call."""

    def __init__(self, name, element, sizes, dice, data=None):
        self.name, self.element, self.sizes = name, element, sizes
        self.strides, step = [0] * len(sizes), 1
        for axis in reversed(range(len(sizes))):
            self.strides[axis] = step
            step *= sizes[axis] + (dice.randint(0, 3) if data is None else 0)
        self.data = data
        if data is None:
            self.data = [ROUND[element](dice.uniform(-2, 2)) for _ in range(step)]
        self.static_size = [dice.random() < 0.5 for _ in sizes]
        self.static_stride = [dice.random() < 0.3 for _ in sizes]
        self.static_stride[-1] = True

    @property
    def type(self):
        def write(values, known):
            return [str(v) if k else "?" for v, k in zip(values, known)]

        sizes = "x".join(write(self.sizes, self.static_size))
        strides = ", ".join(write(self.strides, self.static_stride))
        return f"memref<{sizes}x{self.element}, strided<[{strides}]>>"

    def words(self):
        """Dynamic sizes, then dynamic strides."""
        for values, known in (
            (self.sizes, self.static_size),
            (self.strides, self.static_stride),
        ):
            yield from (v for v, k in zip(values, known) if not k)

    def encode(self):
        if self.element == "bf16":
            words = struct.pack(f"{len(self.data)}f", *self.data)
            return b"".join(words[i + 2 : i + 4] for i in range(0, len(words), 4))
        return struct.pack(str(len(self.data)) + self.format(), *self.data)

    def decode(self, raw):
        if self.element == "bf16":
            wide = b"".join(b"\0\0" + raw[i : i + 2] for i in range(0, len(raw), 2))
            return list(struct.unpack(f"{len(self.data)}f", wide))
        return list(struct.unpack(str(len(self.data)) + self.format(), raw))

    def format(self):
        return {"f32": "f", "f16": "e", "i64": "q"}[self.element]


class View:
    """One `rtile.view`. `axes` are its axes in the buffer, `fixed` the indices
    of the other ones."""

    def __init__(self, name, buffer, shape, axes, fixed):
        self.name, self.buffer, self.shape = name, buffer, shape
        self.axes, self.fixed = axes, fixed
        self.length = self.segment = self.residue = 0
        self.rate, self.origin, self.table = 1, None, None

    @property
    def type(self):
        text = "x".join(map(str, self.shape)) + "x" + self.buffer.element
        if self.length:
            text += f", w = {self.length}"
        if self.rate != 1:
            text += f", rate = {self.rate}"
        return f"!rtile.view<{text}{', indexed' if self.table else ''}>"

    def text(self, constant):
        buffer, sizes = self.buffer, range(len(self.buffer.sizes))
        axes = ["*" if a in self.axes else constant(self.fixed[a]) for a in sizes]
        text = f"{self.name} = rtile.view {buffer.name}[{', '.join(axes)}]"
        if self.origin is not None:
            text += f" origin({constant(self.origin)})"
        if self.length:
            text += f" segment({constant(self.segment)})"
        if self.rate != 1:
            text += f" residue({constant(self.residue)})"
        if self.table:
            text += f" rows({self.table.name} : {self.table.type})"
        return f"{text} : {buffer.type} to {self.type}"

    def position(self, row):
        return self.segment * self.length + self.residue + row * self.rate

    def bounds(self):
        low = self.origin or 0
        if self.table:
            return low, low + len(self.table.data)
        high = low + self.buffer.sizes[self.axes[0]]
        if self.length:
            low = max(low, self.segment * self.length)
            high = min(high, (self.segment + 1) * self.length)
        base = self.position(0)
        return -((base - low) // self.rate), -((base - high) // self.rate)

    def index(self, row, column):
        """Index in the buffer's data, or nothing for what does not exist."""
        begin, end = self.bounds()
        if not begin <= row < end:
            return None
        at = self.position(row) - (self.origin or 0)
        place = [self.table.data[at] if self.table else at, column]
        place = place[: len(self.axes)]
        index = 0
        for axis, at in zip(self.axes, place):
            if not 0 <= at < self.buffer.sizes[axis]:
                return None
            index += at * self.buffer.strides[axis]
        return index + sum(i * self.buffer.strides[a] for a, i in self.fixed.items())


def sees(query, row, key, column, causal, window):
    """Rule B4, for rows of two views."""
    for view, at in ((query, row), (key, column)):
        begin, end = view.bounds()
        if not begin <= at < end:
            return False
    p, u = query.position(row), key.position(column)
    if causal and u > p:
        return False
    left, right = window or (-1, -1)
    return (left < 0 or u >= p - left) and (right < 0 or u <= p + right)
