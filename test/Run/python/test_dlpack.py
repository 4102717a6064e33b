# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The exchange of tensors with libraries that speak DLPack."""

import gc

import numpy as np
import pytest

from ringlet import _dlpack

# numpy stands in for a foreign library here; before 2.1 it exports neither
# versioned nor read-only tensors, and what it imports is read-only.
versioned = pytest.mark.skipif(
    tuple(map(int, np.__version__.split(".")[:2])) < (2, 1),
    reason="numpy before 2.1 does not speak DLPack 1.0",
)


class Foreign:
    """Tensor of a library that is neither numpy nor torch."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    @classmethod
    def from_dlpack(cls, tensor):
        return cls(np.from_dlpack(tensor))


class Old(Foreign):
    """From before DLPack 1.0, whose method takes no version."""

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__(stream=stream)


class Standard(Foreign):
    """Says where its functions are, as the array API standard has it."""

    from_dlpack = None

    def __array_namespace__(self):
        class Namespace:
            from_dlpack = staticmethod(lambda x: Standard(np.from_dlpack(x)))

        return Namespace


class Elsewhere(Foreign):
    def __dlpack_device__(self):
        return (2, 0)  # A CUDA device.


@versioned
@pytest.mark.parametrize("kind", [Foreign, Old, Standard])
def test_same_kind_comes_back(dense, inputs, kind):
    want, want_lse = dense(*inputs)
    out, lse = dense(*map(kind, inputs))
    assert type(out) is kind and type(lse) is kind
    np.testing.assert_array_equal(out.array, want)
    np.testing.assert_array_equal(lse.array, want_lse)
    assert out.array.flags.writeable or kind is Old


@pytest.fixture
def freed(monkeypatch):
    """Blocks of tensors that went without having been taken."""
    blocks, libc = [], _dlpack._libc

    class Noting:
        aligned_alloc = libc.aligned_alloc

        @staticmethod
        def free(block):
            blocks.append(block)
            libc.free(block)

    monkeypatch.setattr(_dlpack, "_libc", Noting)
    return blocks


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_memory_is_given_back(dense, inputs, freed):
    """Results are their owner's and free their memory when they die; inputs are let
    go."""
    import sys

    tensors = [Foreign(each) for each in inputs]
    holders = [sys.getrefcount(each) for each in inputs]
    out, lse = dense(*tensors)
    want = out.array.copy()
    for _ in range(3):
        dense(*tensors)
    gc.collect()
    assert not freed
    np.testing.assert_array_equal(out.array, want)
    assert [sys.getrefcount(each) for each in inputs] == holders
    del out, lse
    before = resident()
    for _ in range(20):
        tensor = _dlpack.Allocation((2**22,), 3)
        Foreign.from_dlpack(tensor).array.fill(1)
    # The C library keeps a few of the blocks; all of them are 20 * 2**24 bytes.
    assert resident() < before + 2**27


@pytest.mark.parametrize("options", [{}, {"max_version": (1, 0)}])
def test_unconsumed_export_is_given_back(freed, options):
    tensor = _dlpack.Allocation((3, 4), 3)
    block, capsule = tensor._block, tensor.__dlpack__(**options)
    with pytest.raises(BufferError, match="expected one consumer, found another one"):
        tensor.__dlpack__(**options)
    del capsule, tensor
    assert freed == [block]
    # One that may still be taken stays.
    tensor = _dlpack.Allocation((3, 4), 3)
    capsule = tensor.__dlpack__(**options)
    del tensor
    assert freed == [block] and capsule is not None


def test_exports_die_while_an_exception_is_under_way(dense, inputs):
    """As a frame is left: the exception arrives as it was."""

    class Refusing(Foreign):
        @classmethod
        def from_dlpack(cls, tensor):
            capsule = tensor.__dlpack__()
            raise KeyError(repr(type(capsule)))

    def fail():
        kept = np.from_dlpack(_dlpack.Allocation((3,), 3))
        raise KeyError(kept.shape)

    for _ in range(3):
        with pytest.raises(KeyError, match="PyCapsule"):
            dense(*map(Refusing, inputs))
        with pytest.raises(KeyError, match="3,"):
            fail()


def test_strided_and_empty(dense, inputs):
    q, k, v = inputs
    out, _ = dense(Foreign(q[:, ::3]), Foreign(k), Foreign(v))
    want, _ = dense(np.ascontiguousarray(q[:, ::3]), k, v)
    np.testing.assert_array_equal(out.array, want)
    out, lse = dense(Foreign(q[:, :0]), Foreign(k), Foreign(v))
    assert out.array.shape == (2, 0, 4, 64) and lse.array.shape == (2, 4, 0)


def test_other_devices_are_refused(dense, inputs):
    with pytest.raises(ValueError, match="'q': expected a tensor in CPU memory"):
        dense(*map(Elsewhere, inputs))


def test_element_types_without_a_name(dense, inputs):
    tensors = [Foreign(each.astype(np.complex64)) for each in inputs]
    with pytest.raises(ValueError, match=r"'q': expected elements of f16.*code 5"):
        dense(*tensors)


@versioned
def test_read_only_outputs_are_refused(dense, inputs):
    out, lse = dense(*inputs)
    out.flags.writeable = False
    for given in (out, Foreign(out)):
        with pytest.raises(ValueError, match="'result0': expected an output"):
            dense(*inputs, out=(given, lse))
