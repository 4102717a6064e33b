# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler as a library (ringlet-c/Compiler.h), for tests that call it often."""

import ctypes
import os
import re
from typing import NamedTuple

# What the compiler refuses names the input, a line and a column, what the runtime
# refuses the entry; both cite a rule.
PLACE = re.compile(r"^(<stdin>:\d+(:\d+)?: error|error: entry '\w+'): ", re.M)
RULE = re.compile(r"\((?:[BGORS]\d|section \d)")

OK, REFUSED = 0, 1


class _Options(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("target", ctypes.c_char_p),
        ("emit", ctypes.c_char_p),
        ("input_name", ctypes.c_char_p),
        ("linker", ctypes.c_char_p),
        ("allow_bytecode", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("recipe", ctypes.c_char_p),
    ]


class Outcome(NamedTuple):
    status: int
    output: bytes
    diagnostics: str


class Compiler:
    """Compiles in this process, which dies of whatever kills the compiler."""

    def __init__(self, build):
        library = ctypes.CDLL(os.path.join(build, "lib/libringlet_compiler.so"))
        handle, text = ctypes.c_void_p, ctypes.c_char_p
        for name, result, arguments in (
            ("rlc_compile", ctypes.c_int32, [text, ctypes.c_size_t, handle, handle]),
            ("rlc_result_diagnostics", text, [handle]),
            ("rlc_result_bytes", handle, [handle]),
            ("rlc_result_size", ctypes.c_size_t, [handle]),
            ("rlc_result_destroy", None, [handle]),
        ):
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        self._library = library

    def compile(
        self, text: bytes, emit: str, target: str, allow_bytecode: bool = False
    ) -> Outcome:
        options = _Options(ctypes.sizeof(_Options))
        options.allow_bytecode = allow_bytecode
        options.target, options.emit = target.encode(), emit.encode()
        options.input_name = b"<stdin>"
        result = ctypes.c_void_p()
        library = self._library
        status = library.rlc_compile(
            text, len(text), ctypes.byref(options), ctypes.byref(result)
        )
        said = (library.rlc_result_diagnostics(result) or b"").decode(errors="replace")
        size = library.rlc_result_size(result)
        output = b""
        if size:
            output = ctypes.string_at(library.rlc_result_bytes(result), size)
        library.rlc_result_destroy(result)
        return Outcome(status, output, said)
