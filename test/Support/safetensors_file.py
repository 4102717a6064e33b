# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements as bytes, and files of tensors: inputs of ringlet-run, for tests."""

import bisect
import json
import math
import pathlib
import struct

_NAMES = {
    "f16": "F16",
    "bf16": "BF16",
    "f32": "F32",
    "i32": "I32",
    "i64": "I64",
    "i1": "BOOL",
    "f8E4M3FN": "F8_E4M3",
    "i8": "I8",
}
_LETTERS = {"f16": "e", "f32": "f", "i32": "i", "i64": "q", "i1": "?", "i8": "b"}


def e4m3(byte: int) -> float:
    """The number that a byte is as f8E4M3FN."""
    sign, exponent, digits = byte >> 7, byte >> 3 & 15, byte & 7
    if byte & 0x7F == 0x7F:
        return math.nan
    size = digits * 2.0**-9 if exponent == 0 else (8 + digits) * 2.0 ** (exponent - 10)
    return -size if sign else size


_E4M3 = [e4m3(byte) for byte in range(0x7F)]


def _to_e4m3(value: float) -> int:
    """Of the nearest number, the greatest for those beyond."""
    if math.isnan(value):
        return 0x7F
    sign = 0x80 if math.copysign(1, value) < 0 else 0
    above = min(bisect.bisect_left(_E4M3, abs(value)), 0x7E)
    below = max(above - 1, 0)
    # Of two as near the even one.
    distances = [(abs(_E4M3[each] - abs(value)), each & 1, each) for each in (below, above)]
    return sign | min(distances)[2]


def encode(dtype: str, values: list) -> bytes:
    if dtype == "bf16":
        # The upper half of an f32.
        words = struct.pack(f"<{len(values)}f", *values)
        return b"".join(words[i + 2 : i + 4] for i in range(0, len(words), 4))
    if dtype == "f8E4M3FN":
        return bytes(map(_to_e4m3, values))
    if dtype == "i8":
        values = [0 if math.isnan(each) else min(max(round(each), -128), 127) for each in values]
    return struct.pack(f"<{len(values)}{_LETTERS[dtype]}", *values)


def decode(dtype: str, raw: bytes) -> list:
    if dtype == "bf16":
        words = (b"\0\0" + raw[i : i + 2] for i in range(0, len(raw), 2))
        dtype, raw = "f32", b"".join(words)
    if dtype == "f8E4M3FN":
        return list(map(e4m3, raw))
    letter = _LETTERS[dtype]
    return list(struct.unpack(f"<{len(raw) // struct.calcsize(letter)}{letter}", raw))


def write(path, tensors: list) -> None:
    """A .safetensors file of (name, dtype, shape, bytes)."""
    header, data = {}, b""
    for name, dtype, shape, raw in tensors:
        header[name] = {
            "dtype": _NAMES[dtype],
            "shape": list(shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def read(path) -> dict:
    """(dtype, shape, bytes) of each tensor, by name."""
    content = pathlib.Path(path).read_bytes()
    (size,) = struct.unpack_from("<Q", content)
    dtypes = {theirs: ours for ours, theirs in _NAMES.items()}
    tensors, data = {}, content[8 + size :]
    for name, each in json.loads(content[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = each["data_offsets"]
        tensors[name] = (dtypes[each["dtype"]], tuple(each["shape"]), data[begin:end])
    return tensors
