# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ringlet.attention on tensors of a GPU, here one that is the CPU.

    attention.py --build=BUILD --cxx=CXX --work=FOLDER

Packed sequences, a sink and an offset: the code of the GPU must give what the CPU
gives, for every call with the same program. What lies elsewhere is refused.
"""

import ctypes
import os
import random
import struct
import sys

import emulate
from package import OnGPU, refused  # Which finds the package, too.

import ringlet
from ringlet import _attention, _context, _dlpack

HEADS, KEY_HEADS, SIZE = 4, 2, 16
STARTS, KEY_STARTS = (0, 10, 10, 37), (0, 21, 30, 58)
SHAPES = {
    "q": (STARTS[-1] + 2, HEADS, SIZE),
    "k": (KEY_STARTS[-1], KEY_HEADS, SIZE),
    "v": (KEY_STARTS[-1], KEY_HEADS, SIZE),
    "sink": (HEADS,),
}
# Outputs, and how far two targets may be apart.
RESULTS = {"output": SHAPES["q"], "lse": (HEADS, SHAPES["q"][0])}
TOLERANCE = 2e-5


class OnHost(OnGPU):
    """The same in memory of the host."""

    def __dlpack_device__(self):
        return _dlpack.CPU


def floats(count: int, dice) -> bytes:
    return struct.pack(f"{count}f", *(dice.gauss(0, 1) for _ in range(count)))


def product(shape) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def call(kind, q_offset, **others) -> list:
    """The results of the same inputs on a device, as numbers."""
    dice = random.Random(1)
    given = {
        name: kind("f32", shape, floats(product(shape), dice))
        for name, shape in SHAPES.items()
    }
    starts = tuple(
        kind("i64", (len(each),), struct.pack(f"{len(each)}q", *each))
        for each in (STARTS, KEY_STARTS)
    )
    nan = float("nan")
    out = [
        kind("f32", shape, struct.pack(f"{product(shape)}f", *[nan] * product(shape)))
        for shape in RESULTS.values()
    ]
    if isinstance(q_offset, tuple):
        q_offset = kind("i64", (3,), struct.pack("3q", *q_offset))
    keywords = {"starts": starts, "sink": given["sink"], "q_offset": q_offset, **others}
    ringlet.attention(
        given["q"], given["k"], given["v"], branches=[(24, 1), (48, 2)], causal=True,
        out=out, **keywords,
    )  # fmt: skip
    counts = map(product, RESULTS.values())
    return [
        struct.unpack(f"{count}f", each.bytes(4 * count))
        for each, count in zip(out, counts)
    ]


def note_texts() -> list:
    """What is compiled from now on."""
    texts, compile_ = [], _attention.compile

    def note(text, *arguments, **keywords):
        texts.append(text)
        return compile_(text, *arguments, **keywords)

    _attention.compile = note
    return texts


def main() -> int:
    options = emulate.parse(emulate.make_parser(__doc__))
    ringlet.configure(
        runtime=options.build / "lib/libringlet_runtime.so.1",
        compiler=options.build / "bin/ringlet-compile",
    )
    texts = note_texts()
    # Rows that see some keys, none, and all.
    offsets = 3, -4, 99
    wanted = {offset: call(OnHost, offset) for offset in offsets}
    (text,) = texts

    source = options.work / "graph.mlir"
    source.write_text(text)
    _, environment = emulate.build(
        *(source, "sm_80", "auto", [], options.work),
        *(emulate.build_emulator(options), options),
    )
    os.environ.update(environment)
    for offset, expected in wanted.items():
        for name, found, want in zip(RESULTS, call(OnGPU, offset), expected):
            wrong = [
                pair
                for pair in zip(found, want)
                if not (pair[0] == pair[1] or abs(pair[0] - pair[1]) <= TOLERANCE)
            ]
            print(f"q_offset {offset}: {name}, {len(wrong)} of {len(want)} are off")
    context = _context.default_context(_dlpack.cuda(0))
    print(f"{len(texts) - 1} program, {context.stats().runs} runs")

    # One on the host, which a GPU cannot read.
    number = OnGPU("i64", (), bytes(8))
    starts = OnHost("i64", (4,), bytes(32))
    print(refused(ValueError, lambda: call(OnGPU, 0, starts=starts)))
    print(refused(ValueError, lambda: call(OnGPU, number)))
    program = ringlet.compile(text, "sm_80", context=context)
    sizes = SHAPES["q"], SHAPES["k"], SHAPES["v"], number, (4,), (4,), SHAPES["sink"]
    print(refused(ValueError, lambda: program.estimate(*sizes)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
