# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The DLPack exchange of tensors, read and written through ctypes."""

from __future__ import annotations

import ctypes
import sys
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_void_p
from typing import Any, NamedTuple, Optional

from ringlet._capi import DTYPE_SIZES, DTYPES

# (type, number) of DLPack.
CPU = (1, 0)
_CUDA_TYPE = 2
_READ_ONLY = 1

# (type code, bits) of DLPack to rl_dtype.
_FROM_DLPACK = {
    (2, 16): DTYPES["f16"],
    (4, 16): DTYPES["bf16"],
    (2, 32): DTYPES["f32"],
    (2, 64): DTYPES["f64"],
    (0, 8): DTYPES["i8"],
    (1, 8): DTYPES["u8"],
    (0, 16): DTYPES["i16"],
    (0, 32): DTYPES["i32"],
    (0, 64): DTYPES["i64"],
    (6, 8): DTYPES["bool"],
    (10, 8): DTYPES["f8E4M3FN"],
}
_TO_DLPACK = {dtype: code for code, dtype in _FROM_DLPACK.items()}


class _Device(ctypes.Structure):
    _fields_ = [("type", c_int32), ("id", c_int32)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device", _Device),
        ("rank", c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("sizes", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_Deleter = ctypes.CFUNCTYPE(None, c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [
        ("tensor", _Tensor),
        ("context", c_void_p),
        ("deleter", _Deleter),
    ]


class _ManagedVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_LEGACY_NAME = b"dltensor"
_VERSIONED_NAME = b"dltensor_versioned"


def _python_call(name, result, *arguments):
    # A prototype of our own: ctypes.pythonapi's functions are shared with
    # whoever else sets their types in this process.
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_is_capsule = _python_call(
    "PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, c_char_p
)
_capsule_content = _python_call(
    "PyCapsule_GetPointer", c_void_p, ctypes.py_object, c_char_p
)
_new_capsule = _python_call(
    "PyCapsule_New", ctypes.py_object, c_void_p, c_char_p, c_void_p
)


def cuda(number: int) -> tuple:
    """An NVIDIA GPU."""
    return (_CUDA_TYPE, number)


def place(device: tuple) -> str:
    """ "memory of CUDA device 0" """
    if device == CPU:
        return "CPU memory"
    if device[0] == _CUDA_TYPE:
        return f"memory of CUDA device {device[1]}"
    return f"memory of DLPack device type {device[0]}"


class Content(NamedTuple):
    """What a tensor says of itself. `owner` keeps `data` valid."""

    data: int
    dtype: int
    sizes: tuple
    strides: Optional[tuple]
    read_only: bool
    owner: Any


def read(tensor: Any, device: tuple = CPU, stream: int = 0) -> Content:
    """The content of an object that has `__dlpack__`, where it lies.

    On a GPU it is complete for work that is queued on the stream.

    Raises ValueError for an element type without a name in an artefact, for a tensor
    that is not in the memory of the device, and for one that its library exports to
    nobody.
    """
    try:
        return _read(tensor, device, stream)
    except (TypeError, ValueError):
        raise
    except Exception as error:  # Of the library's own kinds.
        raise ValueError(
            f"expected a tensor that {type(tensor).__module__.partition('.')[0]} "
            f"exports, found one of which it says: {error}"
        ) from error


def _read(tensor: Any, device: tuple, stream: int) -> Content:
    kind, number = map(int, tensor.__dlpack_device__())
    found = CPU if kind == CPU[0] else (kind, number)
    if found != device:
        raise ValueError(
            f"expected a tensor in {place(device)}, found one in {place(found)}"
        )
    # 1 is DLPack's name of the default stream.
    options = {} if device == CPU else {"stream": stream or 1}
    try:
        capsule = tensor.__dlpack__(max_version=(1, 0), **options)
    except TypeError:  # A producer from before DLPack 1.0.
        capsule = tensor.__dlpack__(**options)
    # The capsule is not consumed: it frees what it holds when it dies.
    managed: Any
    if _is_capsule(capsule, _VERSIONED_NAME):
        managed = _ManagedVersioned.from_address(
            _capsule_content(capsule, _VERSIONED_NAME)
        )
        if managed.major != 1:
            raise ValueError(
                f"expected DLPack version 1, found version {managed.major}"
            )
        read_only = bool(managed.flags & _READ_ONLY)
    else:
        managed = _Managed.from_address(_capsule_content(capsule, _LEGACY_NAME))
        read_only = False
    content = managed.tensor
    dtype = _FROM_DLPACK.get((content.code, content.bits))
    if dtype is None or content.lanes != 1:
        raise ValueError(
            "expected elements of f16, bf16, f32, f64, f8E4M3FN, i8, u8, i16, i32, i64 "
            f"or bool, found DLPack type (code {content.code}, {content.bits} bits, "
            f"{content.lanes} lanes)"
        )
    rank = content.rank
    return Content(
        (content.data or 0) + content.byte_offset,
        dtype,
        tuple(content.sizes[:rank]) if rank else (),
        tuple(content.strides[:rank]) if content.strides and rank else None,
        read_only,
        capsule,
    )


# A tensor that is handed over is one block of the C library's: what describes it,
# and behind that its elements. So the function that gives it back is `free`, which a
# consumer may call from any thread, with an exception under way or without the
# interpreter, where Python could not run.
_libc = ctypes.CDLL(None)
_libc.free.argtypes, _libc.free.restype = [c_void_p], None
_libc.aligned_alloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
_libc.aligned_alloc.restype = c_void_p
_FREE = ctypes.cast(_libc.free, c_void_p).value
_ALIGNMENT = 64
_MOST_AXES = 8


class _Header(ctypes.Structure):
    _fields_ = [
        ("managed", _ManagedVersioned),
        ("sizes", c_int64 * _MOST_AXES),
        ("strides", c_int64 * _MOST_AXES),
    ]


def _round_up(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


class Allocation:
    """A new row-major tensor, which one library may take by `from_dlpack`."""

    # Before there is any.
    _block = None
    _capsule = None

    def __init__(self, sizes: tuple, dtype: int):
        count = DTYPE_SIZES[dtype]
        for size in sizes:
            count *= size
        header = _round_up(ctypes.sizeof(_Header))
        self._block = _libc.aligned_alloc(_ALIGNMENT, header + _round_up(count))
        if not self._block:
            raise MemoryError(f"expected memory for {count} bytes, found none")
        self.data = self._block + header
        self.sizes = sizes
        self.dtype = dtype

    def __del__(self) -> None:
        # One that was taken is its consumer's; one that may still be taken stays.
        is_ours = self._capsule is None or (
            sys.getrefcount(self._capsule) == 2
            and any(map(self._has_name, (_LEGACY_NAME, _VERSIONED_NAME)))
        )
        if self._block and is_ours:
            _libc.free(self._block)

    def _has_name(self, name: bytes) -> bool:
        return bool(_is_capsule(self._capsule, name))

    def __dlpack_device__(self) -> tuple:
        return CPU

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if dl_device not in (None, CPU) or copy:
            raise BufferError("expected a consumer of CPU memory that takes no copy")
        if self._capsule is not None:
            raise BufferError("expected one consumer, found another one")
        header = _Header.from_address(self._block)
        rank, step = len(self.sizes), 1
        for i in reversed(range(rank)):
            header.sizes[i], header.strides[i] = self.sizes[i], step
            step *= max(self.sizes[i], 1)
        if max_version and max_version[0] >= 1:
            name, managed = _VERSIONED_NAME, header.managed
            managed.major, managed.minor, managed.flags = 1, 0, 0
        else:
            name, managed = _LEGACY_NAME, _Managed.from_address(self._block)
        managed.context, managed.deleter = None, _Deleter(_FREE)
        tensor = managed.tensor
        tensor.data, tensor.device, tensor.rank = self.data, _Device(*CPU), rank
        tensor.code, tensor.bits = _TO_DLPACK[self.dtype]
        tensor.lanes, tensor.byte_offset = 1, 0
        address = ctypes.addressof(header)
        for field in "sizes", "strides":
            place = address + getattr(_Header, field).offset
            setattr(tensor, field, ctypes.cast(place, POINTER(c_int64)))
        # Without a destructor: that would be Python, where it cannot run.
        self._capsule = _new_capsule(self._block, name, None)
        return self._capsule
