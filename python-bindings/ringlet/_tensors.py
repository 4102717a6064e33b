# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The caller's arrays, as the runtime takes them, and arrays like them."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from typing import Any, NamedTuple, Optional, Sequence

from ringlet import _dlpack
from ringlet._capi import DTYPE_NAMES, DTYPE_SIZES, DTYPES
from ringlet._values import integer

_NUMPY_TO_DTYPE = {
    "float16": DTYPES["f16"],
    "bfloat16": DTYPES["bf16"],
    "float32": DTYPES["f32"],
    "float64": DTYPES["f64"],
    "int8": DTYPES["i8"],
    "uint8": DTYPES["u8"],
    "int16": DTYPES["i16"],
    "int32": DTYPES["i32"],
    "int64": DTYPES["i64"],
    "bool": DTYPES["bool"],
    "float8_e4m3fn": DTYPES["f8E4M3FN"],
}
_DTYPE_TO_NUMPY = {dtype: name for name, dtype in _NUMPY_TO_DTYPE.items()}
_BF16 = DTYPES["bf16"]


class _Bits:
    def __init__(self, array: Any, dtype: int):
        self.array = array
        self.dtype = dtype


def bits(array: Any, dtype: str) -> Any:
    """Says that an integer array holds the bits of another type.

    numpy has no bf16 of its own, nor an f8E4M3FN. Where the package ml_dtypes is not to be had,
    a numpy array of uint16 may carry the bits:

        program(ringlet.bits(q, "bf16"), ringlet.bits(k, "bf16"), ...)

    The results of such a call that are bf16 are arrays of uint16, too.

    array  a numpy array of unsigned or signed integers, any shape and strides
    dtype  "bf16", "f16", "f32", "f64" or "f8E4M3FN", of as many bytes as array's
           elements

    Raises TypeError for anything else.
    """
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(array, numpy.ndarray):
        raise TypeError(f"expected a numpy array, found {type(array).__name__}")
    if dtype not in ("bf16", "f16", "f32", "f64", "f8E4M3FN"):
        raise TypeError(
            f"expected dtype 'bf16', 'f16', 'f32', 'f64' or 'f8E4M3FN', found {dtype!r}"
        )
    number = DTYPES[dtype]
    if (
        array.dtype.kind not in "iu"
        or array.dtype.itemsize != DTYPE_SIZES[number]
        or not array.dtype.isnative
    ):
        raise TypeError(
            f"expected an array of native integers of {DTYPE_SIZES[number]} bytes for "
            f"{dtype}, found {array.dtype}"
        )
    return _Bits(array, number)


class View:
    """A tensor in memory, which lives as long as this.

    layout  (dtype, sizes, strides); strides count elements, None is row-major
    loan    what was exported for this view alone, None if the caller has it, too
    """

    __slots__ = ("data", "layout", "read_only", "_owner", "loan")

    def __init__(self, data, dtype, sizes, strides, read_only, owner, loan=None):
        self.data = data
        self.layout = (dtype, sizes, strides)
        self.read_only = read_only
        self._owner = owner
        self.loan = loan

    @property
    def sizes(self) -> tuple:
        return self.layout[1]


class Place(NamedTuple):
    """Where tensors lie, and on a GPU the stream of work on them."""

    device: tuple = _dlpack.CPU
    stream: int = 0
    # Work that torch has queued comes before ours.
    is_in_torchs_order: bool = True


HOST = Place()


# Names of dtypes are slow to make, and calls come with the same few of them.
_known_dtypes: dict = {}


def _numpy_dtype(dtype: Any) -> int:
    if not dtype.isnative:
        raise ValueError(f"expected native byte order, found {dtype.str}")
    number = _NUMPY_TO_DTYPE.get(dtype.name)
    if number is None:
        raise ValueError(
            "expected elements of f16, bf16, f32, f64, f8E4M3FN, i8, u8, i16, i32, i64 "
            f"or bool, found {dtype}; ringlet.bits() says what integers stand for"
        )
    _known_dtypes[dtype] = number
    return number


def _numpy_view(array: Any, dtype: Optional[int]) -> View:
    if hasattr(array, "mask"):  # What it hides would be read.
        raise ValueError(
            "expected an array without a mask, found a masked one; filled() makes one"
        )
    if dtype is None:
        dtype = _known_dtypes.get(array.dtype) or _numpy_dtype(array.dtype)
    size = array.dtype.itemsize
    if any(stride % size for stride in array.strides):
        raise ValueError(
            f"expected strides that are a multiple of the element's {size} bytes, "
            f"found {array.strides}"
        )
    return View(
        array.ctypes.data,
        dtype,
        array.shape,
        tuple(stride // size for stride in array.strides),
        not array.flags.writeable,
        array,
    )


# torch's types of elements and ours, once somebody has brought torch.
_from_torch: dict = {}
_to_torch: dict = {}


def _know_torch(torch: Any) -> None:
    if not _from_torch:
        for number, name in _DTYPE_TO_NUMPY.items():
            if kind := getattr(torch, name, None):  # Older ones have not all.
                _to_torch[number] = kind
                _from_torch[kind] = number


def _refuse_derivatives(torch: Any, tensor: Any) -> None:
    """What would be lost without a word."""
    if tensor.requires_grad and torch.is_grad_enabled():
        raise ValueError(
            "expected a tensor that requires no grad, found one that does: there are "
            "no gradients yet (R5); under torch.no_grad() it is taken"
        )
    if in_transform(torch):
        forward = sys.modules["torch.autograd.forward_ad"]
        if forward._current_level >= 0 and forward.unpack_dual(tensor).tangent is not None:
            raise ValueError(
                "expected a tensor without a tangent, found a dual one: there are no "
                "gradients yet (R5)"
            )
        functorch = getattr(torch._C, "_functorch", None)
        if functorch and functorch.is_functorch_wrapped_tensor(tensor):
            raise ValueError(
                "expected a tensor outside of torch.func's transforms, found one "
                "inside: there are no gradients yet (R5), and no vmap"
            )


def in_transform(torch: Any) -> bool:
    """Whether a tensor may be more than it says: torch's forward differentiation, or
    a transform of torch.func, is under way."""
    forward = sys.modules.get("torch.autograd.forward_ad")
    if forward is not None and forward._current_level >= 0:
        return True
    level = getattr(getattr(torch._C, "_functorch", None), "maybe_current_level", None)
    return level is not None and level() is not None


def _torch_view(tensor: Any, place: Place) -> View:
    """What DLPack says, or would say later: that takes longer."""
    torch = sys.modules["torch"]
    _know_torch(torch)
    _refuse_derivatives(torch, tensor)
    if tensor.is_neg():  # Which DLPack has no word for.
        raise ValueError(
            "expected a tensor without a negative bit, found one; resolve_neg() "
            "applies it"
        )
    dtype = _from_torch.get(tensor.dtype)
    if place.device == _dlpack.CPU:
        is_here = tensor.is_cpu
    else:
        is_here = tensor.is_cuda and tensor.get_device() == place.device[1]
    if (
        dtype is None
        or not is_plain(torch, tensor)
        or not is_here
        or not place.is_in_torchs_order
        or tensor.layout is not torch.strided
    ):
        # Which it refuses for tensors that require grad.
        return _exported(tensor.detach() if tensor.requires_grad else tensor, place)
    sizes, strides = tuple(tensor.shape), tensor.stride()
    return View(tensor.data_ptr(), dtype, sizes, strides, False, tensor)


def is_plain(torch: Any, tensor: Any) -> bool:
    """A tensor that is its memory, and no class that makes something else of it."""
    return type(tensor) in (torch.Tensor, torch.nn.Parameter)


def _exported(tensor: Any, place: Place) -> View:
    content = _dlpack.read(tensor, place.device, place.stream)
    return View(*content, loan=content.owner)


def view_of(value: Any, place: Place = HOST) -> View:
    """`value` where it lies; TypeError or ValueError if that cannot be."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _torch_view(value, place)
    numpy = sys.modules.get("numpy")
    on_host = place.device == _dlpack.CPU
    if isinstance(value, _Bits) and on_host:
        return _numpy_view(value.array, value.dtype)
    if numpy is not None:
        if isinstance(value, numpy.ndarray) and on_host:
            return _numpy_view(value, None)
        if isinstance(value, numpy.integer):
            value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if not -(2**63) <= value < 2**63:
            raise ValueError(f"expected an integer of 64 bits, found {value}")
        number = ctypes.c_int64(value)
        return View(ctypes.addressof(number), DTYPES["i64"], (), (), True, number)
    if type(value) is _dlpack.Allocation and on_host:  # One of ours.
        return View(value.data, value.dtype, value.sizes, None, False, value)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return _exported(value, place)
    arrays = "a numpy array, an object" if on_host else "an object"
    raise TypeError(
        f"expected {arrays} with __dlpack__, or an int for a rank-0 i64, found "
        f"{type(value).__name__}"
    )


def kind_of(value: Any, place: Place = HOST) -> tuple:
    """(dtype, sizes) of what `view_of` takes; of torch's tensors no more is asked, as
    that takes time."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        _know_torch(torch)
        dtype = _from_torch.get(value.dtype)
        if dtype and is_plain(torch, value):
            return dtype, tuple(value.shape)
    return view_of(value, place).layout[:2]


def device_of(value: Any) -> tuple:
    """Where a tensor lies, a GPU or else the CPU, as DLPack names it."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):  # Which is slow to say it.
        return _dlpack.cuda(value.get_device()) if value.is_cuda else _dlpack.CPU
    ask = getattr(value, "__dlpack_device__", None)
    device = tuple(map(int, ask())) if ask else _dlpack.CPU
    return device if device[0] == _dlpack.cuda(0)[0] else _dlpack.CPU


def unwrapped(value: Any) -> Any:
    """The array itself: what a caller gets back for an output."""
    return value.array if isinstance(value, _Bits) else value


# ===---------------------------------------------------------------------=== #
# Outputs like the inputs
# ===---------------------------------------------------------------------=== #


def _new_numpy(sizes: tuple, dtype: int, wide_bits: bool) -> Any:
    import numpy

    if dtype == _BF16:
        if wide_bits:
            return bits(numpy.empty(sizes, numpy.uint16), "bf16")
        try:
            import ml_dtypes
        except ImportError:
            raise TypeError(
                "expected the package ml_dtypes for a bf16 result as a numpy "
                "array; without it, pass ringlet.bits(array, 'bf16') as out"
            ) from None
        return numpy.empty(sizes, ml_dtypes.bfloat16)
    return numpy.empty(sizes, _DTYPE_TO_NUMPY[dtype])


def torch_queue(device: Any, place: Place) -> Any:
    """Where torch's memory is used on the queue of a call, it comes from it."""
    if place.device == _dlpack.CPU or place.is_in_torchs_order:
        return contextlib.nullcontext()
    cuda = sys.modules["torch"].cuda
    if place.stream == 0:
        return cuda.stream(cuda.default_stream(device))
    return cuda.stream(cuda.ExternalStream(place.stream, device=device))


def _new_torch(example: Any, sizes: tuple, dtype: int, place: Place) -> tuple:
    torch = sys.modules["torch"]
    _know_torch(torch)
    with torch_queue(example.device, place):
        made = torch.empty(sizes, dtype=_to_torch[dtype], device=example.device)
    return made, View(made.data_ptr(), dtype, sizes, None, False, made)


def _importer(example: Any) -> Any:
    """The function that makes the example's kind of tensor from another."""
    if hasattr(example, "__array_namespace__"):
        return example.__array_namespace__().from_dlpack
    module = sys.modules.get(type(example).__module__.partition(".")[0])
    found = getattr(module, "from_dlpack", None) or getattr(
        type(example), "from_dlpack", None
    )
    if found is None:
        raise TypeError(
            f"expected from_dlpack in the library of {type(example).__name__}, "
            "found none: pass out=..."
        )
    return found


def is_array(value: Any) -> bool:
    """Whether `view_of` may take it; numbers are none."""
    if isinstance(value, _Bits) or hasattr(value, "__dlpack__"):
        return True
    return type(value) is _dlpack.Allocation or is_torch(value)


def is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def torch_stream(device: tuple) -> int:
    """What torch queues work on, of a GPU."""
    return sys.modules["torch"].cuda.current_stream(device[1]).cuda_stream


def place_on(device: tuple, stream: Optional[int], inputs: list) -> Place:
    """Of a call: None is torch's stream for its tensors, else the default one."""
    if stream is not None:
        stream = integer("stream", stream, 0, 2**64 - 1)
    if device == _dlpack.CPU:
        return HOST
    if stream is not None:
        return Place(device, stream, False)
    if not any(map(is_torch, inputs)):
        return Place(device)
    return Place(device, torch_stream(device))


def torch_wrote(tensors: Sequence) -> None:
    """Tells torch that a caller's tensors were written: one that it has kept for a
    gradient is no longer what it was."""
    torch = sys.modules.get("torch")
    graph = getattr(getattr(torch, "autograd", None), "graph", None)
    if increment := getattr(graph, "increment_version", None):
        for each in tensors:
            if is_torch(each) and not each.is_inference():
                increment(each)


class Maker:
    """Makes outputs of the kind that the inputs have: the first tensor's."""

    def __init__(self, inputs: list, place: Place):
        self._place = place
        tensors = [each for each in inputs if not isinstance(each, int)]
        self._wide_bits = any(isinstance(each, _Bits) for each in tensors)
        self._example = tensors[0] if tensors else None

    def make(self, sizes: tuple, dtype: int) -> tuple:
        """A new tensor: (what the caller gets, its view)."""
        example = self._example
        numpy = sys.modules.get("numpy")
        if is_torch(example):
            return _new_torch(example, sizes, dtype, self._place)
        if self._place.device != _dlpack.CPU:
            raise TypeError(
                "expected out=... for results on a GPU, or a tensor of torch as the "
                "first input, found neither"
            )
        if (
            example is None
            or isinstance(example, _Bits)
            or (
                numpy is not None
                and isinstance(example, (numpy.ndarray, numpy.generic))
            )
        ):
            made = _new_numpy(sizes, dtype, self._wide_bits)
            return unwrapped(made), view_of(made)
        memory = _dlpack.Allocation(sizes, dtype)
        made = _importer(example)(memory)
        return made, View(memory.data, dtype, sizes, None, False, made)


def describe(dtype: int, sizes: tuple) -> str:
    """ "bf16[1, ?, 8, 64]" """
    inner = ", ".join("?" if size < 0 else str(size) for size in sizes)
    return f"{DTYPE_NAMES.get(dtype, dtype)}[{inner}]"
