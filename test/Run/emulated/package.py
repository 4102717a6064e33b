# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python package runs a program on a GPU, here one that is the CPU.

    package.py BUILD ARTEFACT INPUTS EXPECTED

INPUTS and EXPECTED are .safetensors, the latter what ringlet-run --driver=cuda
makes of the former: the package must write the same bytes.
"""

import ctypes
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "test/Support"), str(ROOT / "python-bindings")]

import ringlet  # noqa: E402
import safetensors_file  # noqa: E402
from ringlet import _capi, _dlpack  # noqa: E402


class OnGPU:
    """A tensor that says that it lies on GPU 0, and notes who asks for it."""

    def __init__(self, dtype, shape, content=b""):
        self.shape, self._dtype = tuple(shape), _capi.DTYPES[dtype]
        self._memory = _dlpack.Allocation(self.shape, self._dtype)
        self._exports = []
        ctypes.memmove(self._memory.data, content, len(content))
        self.streams = []

    def count_lent(self):
        """Exports that somebody still has, beside ourselves."""
        return sum(sys.getrefcount(each._capsule) > 2 for each in self._exports)

    def bytes(self, count):
        return ctypes.string_at(self._memory.data, count)

    def __dlpack_device__(self):
        return _dlpack.cuda(0)

    def __dlpack__(self, *, stream=None, max_version=None):
        self.streams.append(stream)
        # Another block each time, which says that the elements lie in the first one.
        made = _dlpack.Allocation(self.shape, self._dtype)
        self._exports.append(made)
        capsule = made.__dlpack__(max_version=max_version)
        header = _dlpack._Header.from_address(made._block)
        header.managed.tensor.data = self._memory.data
        return capsule


def refused(kind, call) -> str:
    try:
        call()
    except kind as error:
        return str(error)
    return "nothing was refused"


def main() -> int:
    build, artefact, inputs, expected = map(pathlib.Path, sys.argv[1:])
    ringlet.configure(runtime=build / "lib/libringlet_runtime.so.1")
    context = ringlet.Context(driver="cuda")
    program = ringlet.Program.load(artefact, context)
    print(f"target {program.target}")

    given = safetensors_file.read(inputs)
    wanted = safetensors_file.read(expected)
    tensors = {name: OnGPU(*each) for name, each in given.items()}
    out = {name: OnGPU(*each[:2]) for name, each in wanted.items()}
    returned = program.run(**tensors, out=out)
    assert set(map(id, returned)) == set(map(id, out.values()))
    for name, (_, _, content) in sorted(wanted.items()):
        same = "the same" if out[name].bytes(len(content)) == content else "others"
        print(f"{name}: {len(content)} bytes, {same} as ringlet-run writes")
    program.run(**tensors, out=out, stream=64)
    print(f"streams {tensors['q'].streams}, {context.stats().runs} runs")

    # Exports live until the stream has passed: an event says so when it is asked a
    # second time, by the call behind the next one.
    for _ in range(4):
        program.run(**tensors, out=out)
        print(f"{sum(each.count_lent() for each in tensors.values())} lent", end=" ")
    print()

    print(refused(TypeError, lambda: program.run(**tensors)))
    on_cpu = _dlpack.Allocation(tensors["q"].shape, tensors["q"]._dtype)
    tensors["q"] = on_cpu
    print(refused(ValueError, lambda: program.run(**tensors, out=out)))
    program = ringlet.Program.load(artefact, inspect=True)
    print(refused(ValueError, lambda: program.estimate(out["result0"], on_cpu, on_cpu)))
    print(refused(ringlet.RuntimeError, lambda: ringlet.Context(driver="abacus")))
    print(refused(ringlet.RuntimeError, lambda: ringlet.Context(driver="cuda", device=3)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
