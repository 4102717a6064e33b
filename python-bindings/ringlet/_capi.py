# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The runtime's C API (ringlet/runtime.h) as ctypes declarations."""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    c_char_p,
    c_double,
    c_int32,
    c_int64,
    c_size_t,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Optional

from ringlet import _native
from ringlet._errors import Error, RuntimeError
from ringlet._handles import Locked

# The runtime's interface that this package was written for.
ABI_MAJOR, ABI_MINOR = 1, 0
MAX_RANK = 8
DYNAMIC = -1

# Of rl_memory. Its numbers are those of DLPack's devices.
MEMORY_CUDA = 2

# rl_dtype, by name.
DTYPES = {
    "f16": 1,
    "bf16": 2,
    "f32": 3,
    "f64": 4,
    "i8": 5,
    "u8": 6,
    "i16": 7,
    "i32": 8,
    "i64": 9,
    "bool": 10,
    "f8E4M3FN": 11,
}
DTYPE_NAMES = {number: name for name, number in DTYPES.items()}
DTYPE_SIZES = {
    1: 2,
    2: 2,
    3: 4,
    4: 8,
    5: 1,
    6: 1,
    7: 2,
    8: 4,
    9: 8,
    10: 1,
    11: 1,
}

LogCallback = ctypes.CFUNCTYPE(None, c_void_p, ctypes.c_int, c_char_p)


class _Sized(ctypes.Structure):
    """A struct that begins with its own size."""

    def __init__(self):
        super().__init__(struct_size=ctypes.sizeof(self))


class ContextOptions(_Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("device", c_int32),
        ("flags", c_uint32),
        ("threads", c_uint32),
        ("log_level", c_uint32),
        ("memory_limit", c_uint64),
        ("driver", c_char_p),
        ("target", c_char_p),
        ("log", LogCallback),
        ("log_user", c_void_p),
        ("allocator", c_void_p),
    ]


class Stats(_Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("threads", c_uint32),
        ("reserved", c_uint32),
        ("runs", c_uint64),
        ("launches", c_uint64),
        ("memory_bytes", c_uint64),
        ("peak_memory_bytes", c_uint64),
        ("workspace_bytes", c_uint64),
        ("table_bytes", c_uint64),
        ("tables_built", c_uint64),
    ]


class Device(_Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", ctypes.c_char * 128),
        ("architecture", ctypes.c_char * 32),
        ("memory_bytes", c_uint64),
        ("multiprocessors", c_uint32),
        ("reserved", c_uint32),
    ]


class Argument(_Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("dtype", c_int32),
        ("rank", c_int32),
        ("sizes", POINTER(c_int64)),
        ("is_output", c_int32),
        ("reserved", c_int32),
        ("layout", c_char_p),
    ]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("dtype", c_int32),
        ("rank", c_int32),
        ("sizes", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("memory", c_int32),
        ("device", c_int32),
        ("byte_offset", c_uint64),
        ("reserved", c_uint64 * 2),
    ]


class Run(_Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("stream", c_void_p),
        ("workspace", c_void_p),
        ("workspace_bytes", c_uint64),
        ("flags", c_uint32),
        ("reserved", c_uint32),
    ]


class RingOptions(_Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("rank", c_int32),
        ("ranks", c_int32),
        ("address", c_char_p),
        ("listen", c_char_p),
        ("secret", c_char_p),
        ("connect_seconds", c_double),
        ("wait_seconds", c_double),
        ("silence_seconds", c_double),
        ("port", c_uint16),
        ("reserved", c_uint16 * 3),
        ("nccl_comm", c_void_p),
        ("transport", c_char_p),
        ("id", c_void_p),
    ]


class RingRecord(_Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("call", c_uint64),
        ("step", c_int64),
        ("begin", c_double),
        ("seconds", c_double),
        ("sent", c_uint64),
        ("received", c_uint64),
        ("queue", c_int32),
        ("complete", c_int32),
    ]


class Version(ctypes.Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32)]


class Estimate(_Sized):
    _fields_ = [
        ("struct_size", c_size_t),
        ("workspace_bytes", c_uint64),
        ("scratch_bytes", c_uint64),
        ("table_bytes", c_uint64),
        ("total_bytes", c_uint64),
        ("launches", c_uint64),
        ("fallbacks", c_uint64),
        ("run_bytes", c_uint64),
        ("ring_bytes", c_uint64),
    ]


# Name: (result type, argument types). The handles are plain addresses.
_FUNCTIONS = {
    "rl_abi_version": (Version, []),
    "rl_last_error": (c_char_p, []),
    "rl_context_create": (c_int32, [POINTER(ContextOptions), POINTER(c_void_p)]),
    "rl_context_destroy": (None, [c_void_p]),
    "rl_context_set_log": (c_int32, [c_void_p, c_uint32, LogCallback, c_void_p]),
    "rl_context_stats": (c_int32, [c_void_p, POINTER(Stats)]),
    "rl_context_trim": (c_int32, [c_void_p]),
    "rl_context_check": (c_int32, [c_void_p]),
    "rl_device_describe": (c_int32, [c_char_p, c_uint32, POINTER(Device)]),
    "rl_program_load": (
        c_int32,
        [c_void_p, c_void_p, c_size_t, POINTER(c_void_p)],
    ),
    "rl_program_destroy": (None, [c_void_p]),
    "rl_program_entry_count": (c_uint32, [c_void_p]),
    "rl_program_entry_name": (c_char_p, [c_void_p, c_uint32]),
    "rl_program_argument_count": (c_uint32, [c_void_p, c_uint32]),
    "rl_program_target_count": (c_uint32, [c_void_p]),
    "rl_program_target_name": (c_char_p, [c_void_p, c_uint32]),
    "rl_program_target": (c_char_p, [c_void_p]),
    "rl_program_compiler": (c_char_p, [c_void_p]),
    "rl_program_module_name": (c_char_p, [c_void_p]),
    "rl_program_explain": (c_char_p, [c_void_p, c_uint32]),
    "rl_program_argument": (
        c_int32,
        [c_void_p, c_uint32, c_uint32, POINTER(Argument)],
    ),
    "rl_program_output_sizes": (
        c_int32,
        [c_void_p, c_uint32, POINTER(Tensor), c_uint32, POINTER(c_int64)],
    ),
    "rl_program_estimate": (
        c_int32,
        [c_void_p, c_uint32, POINTER(Tensor), c_uint32, POINTER(Estimate)],
    ),
    "rl_program_run": (
        c_int32,
        [c_void_p, c_uint32, POINTER(Tensor), c_uint32],
    ),
    "rl_program_enqueue": (
        c_int32,
        [c_void_p, c_uint32, POINTER(Tensor), c_uint32, POINTER(Run)],
    ),
    "rl_ring_create": (c_int32, [POINTER(RingOptions), POINTER(c_void_p)]),
    "rl_ring_create_local": (
        c_int32,
        [POINTER(RingOptions), c_int32, POINTER(c_void_p)],
    ),
    "rl_ring_destroy": (None, [c_void_p]),
    "rl_ring_rank": (c_int32, [c_void_p]),
    "rl_ring_ranks": (c_int32, [c_void_p]),
    "rl_ring_transport": (c_char_p, [c_void_p]),
    "rl_ring_rows": (
        c_int32,
        [c_char_p, c_int64, c_int64, c_int32, c_int32]
        + [POINTER(c_int64), POINTER(c_int64)],
    ),
    "rl_ring_run": (
        c_int32,
        [c_void_p, c_void_p, c_uint32, POINTER(Tensor), c_uint32],
    ),
    "rl_ring_enqueue": (
        c_int32,
        [c_void_p, c_void_p, c_uint32, POINTER(Tensor), c_uint32, POINTER(Run)],
    ),
    "rl_ring_wait": (c_int32, [c_void_p]),
    "rl_ring_estimate": (
        c_int32,
        [
            c_void_p, c_void_p, c_uint32, POINTER(Tensor), c_uint32, POINTER(Estimate)
        ],
    ),  # fmt: skip
    "rl_ring_abort": (c_int32, [c_void_p, c_char_p]),
    "rl_ring_status": (c_int32, [c_void_p]),
    "rl_ring_records": (
        c_int32,
        [c_void_p, POINTER(RingRecord), POINTER(c_uint32)],
    ),
}

class _Library(Locked):
    def __init__(self) -> None:
        super().__init__()
        self.loaded: Optional[ctypes.CDLL] = None

    def load(self) -> ctypes.CDLL:
        with self._lock:
            if self.loaded is None:
                self.loaded = _load(_native.runtime_path())
                _native.mark_runtime_loaded()
            return self.loaded


_library = _Library()


def library() -> ctypes.CDLL:
    """The runtime, loaded by the first caller. Calls release the GIL."""
    return _library.loaded or _library.load()


def _load(path: str) -> ctypes.CDLL:
    try:
        result = ctypes.CDLL(path)
        for name, (result_type, argument_types) in _FUNCTIONS.items():
            function = getattr(result, name)
            function.restype = result_type
            function.argtypes = argument_types
    except (OSError, AttributeError) as error:
        raise Error(
            f"expected the Ringlet runtime at '{path}', found: {error}; install "
            "Ringlet, or name it with ringlet.configure(runtime=...)"
        ) from None
    version = result.rl_abi_version()
    if version.major != ABI_MAJOR or version.minor < ABI_MINOR:
        raise Error(
            f"expected a runtime of ABI version {ABI_MAJOR}.{ABI_MINOR}, found "
            f"version {version.major}.{version.minor} at '{path}'"
        )
    return result


def check(status: int) -> None:
    """Raises what the last call of this thread says, unless it succeeded."""
    if status:
        message = library().rl_last_error().decode(errors="replace")
        raise RuntimeError(status, message)
