# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The DLPack exchange of tensors, read and written through ctypes."""

from __future__ import annotations

import ctypes
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

    Raises TypeError for an element type without a name in an artefact, and
    ValueError for a tensor that is not in the memory of the device.
    """
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
        raise TypeError(
            "expected elements of f16, bf16, f32, f64, i8, u8, i16, i32, i64 or "
            f"bool, found DLPack type (code {content.code}, {content.bits} bits, "
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


# What has been handed out and not been given back, by the address of its
# managed tensor.
_exports: dict = {}


@_Deleter
def _release(address):
    _exports.pop(address, None)


@ctypes.PYFUNCTYPE(None, c_void_p)
def _destroy_capsule(capsule):
    # A consumer renames the capsule that it takes over. The argument is a bare
    # address, since an object that dies must not be held again.
    for name in (_LEGACY_NAME, _VERSIONED_NAME):
        if _is_capsule_at(capsule, name):
            _release(_content_at(capsule, name))


_is_capsule_at = _python_call("PyCapsule_IsValid", ctypes.c_int, c_void_p, c_char_p)
_content_at = _python_call("PyCapsule_GetPointer", c_void_p, c_void_p, c_char_p)


class Allocation:
    """A new row-major tensor, for libraries that take it by `from_dlpack`."""

    def __init__(self, sizes: tuple, dtype: int):
        count = 1
        for size in sizes:
            count *= size
        self._memory = ctypes.create_string_buffer(count * DTYPE_SIZES[dtype] + 64)
        self.data = (ctypes.addressof(self._memory) + 63) // 64 * 64
        self.sizes = sizes
        self.dtype = dtype

    def __dlpack_device__(self) -> tuple:
        return CPU

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if dl_device not in (None, CPU) or copy:
            raise BufferError("expected a consumer of CPU memory that takes no copy")
        rank = len(self.sizes)
        strides = [1] * rank
        for i in range(rank - 1, 0, -1):
            strides[i - 1] = strides[i] * max(self.sizes[i], 1)
        sizes = (c_int64 * rank)(*self.sizes)
        strides = (c_int64 * rank)(*strides)
        code, bits = _TO_DLPACK[self.dtype]
        tensor = _Tensor(
            self.data,
            _Device(*CPU),
            rank,
            code,
            bits,
            1,
            ctypes.cast(sizes, POINTER(c_int64)),
            ctypes.cast(strides, POINTER(c_int64)),
            0,
        )
        if max_version and max_version[0] >= 1:
            name = _VERSIONED_NAME
            managed = _ManagedVersioned(1, 0, None, _release, 0, tensor)
        else:
            name = _LEGACY_NAME
            managed = _Managed(tensor, None, _release)
        address = ctypes.addressof(managed)
        _exports[address] = (managed, sizes, strides, self._memory)
        return _new_capsule(
            address, name, ctypes.cast(_destroy_capsule, c_void_p).value
        )
