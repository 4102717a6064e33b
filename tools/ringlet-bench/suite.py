# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the cases, ours and the peer's, in this process."""

from __future__ import annotations

import os
import pathlib
import platform
import random
import re
import statistics
import subprocess
import time

import torch

import cases
import reference
import results
import ringlet

# Worst error of a row, relative to the largest value of the checked rows. Ten
# times what the unfused computation in that type shows on such inputs.
TOLERANCE = {"f32": 2e-5, "bf16": 4e-2}
_TORCH = {"f32": torch.float32, "bf16": torch.bfloat16}
# Threads of the other side spin for some milliseconds after their work.
_SETTLE_SECONDS = 0.05


def timed(call) -> tuple:
    time.sleep(_SETTLE_SECONDS)
    begin = time.perf_counter()
    result = call()
    return (time.perf_counter() - begin) * 1e3, result


def threads() -> set:
    """The ids of this process's threads."""
    return set(map(int, os.listdir("/proc/self/task")))


def bind(start, cpus: list):
    """Calls `start` and binds the threads that it starts to a core each.

    The first core is the caller's. A scheduler with other things to do may put
    two threads on one core and leave them there for many runs.
    """
    before = threads()
    result = start()
    for index, thread in enumerate(sorted(threads() - before), 1):
        os.sched_setaffinity(thread, {cpus[index % len(cpus)]})
    return result


def matmul_peak(dtype, repeat: int) -> float:
    """GFLOP/s of a large matrix product by torch."""
    n = 2048
    a, b = (torch.randn(n, n).to(dtype) for _ in range(2))
    best = min(timed(lambda: a @ b)[0] for _ in range(repeat + 2))
    return 2 * n**3 / best / 1e6


class Failure(Exception):
    """A result is wrong: nothing that was timed counts."""


class Measurement:
    """One case, ours and its peers', round by round."""

    def __init__(self, case, program):
        self.case = case
        self.program = program
        self.times = {"ringlet": [], **{name: [] for name in case.peers}}
        self.errors = dict.fromkeys(self.times, 0.0)

    def inputs(self) -> tuple:
        shape = (1, self.case.length, self.case.heads, self.case.dim)
        return tuple(torch.randn(shape).to(_TORCH[self.case.dtype]) for _ in range(3))

    def check_poisoned(self) -> None:
        """Every element of the outputs is written (warms up, too)."""
        q, k, v = self.inputs()
        out = torch.full_like(q, torch.nan)
        lse = torch.full((1, self.case.heads, self.case.length), torch.nan)
        self.program(q, k, v, out=(out, lse))
        if out.isnan().any() or lse.isnan().any():
            raise Failure(f"{self.case.name}: ringlet left elements unwritten")
        self.check("ringlet", (q, k, v), out)
        for name, peer in self.case.peers.items():
            self.check(name, (q, k, v), peer(self.case, q, k, v))

    def round(self, order) -> None:
        """Fresh inputs; both sides allocate their outputs."""
        tensors = self.inputs()
        for name in order:
            if name == "ringlet":
                took, (out, _) = timed(lambda: self.program(*tensors))
            else:
                peer = self.case.peers[name]
                prepared = getattr(peer, "prepare", lambda *same: same)(*tensors)
                took, out = timed(lambda: peer(self.case, *prepared))
            self.times[name].append(took)
            self.check(name, tensors, out)

    def check(self, name, tensors, out) -> None:
        case = self.case
        rows = [(0, 0), (case.length - 1, case.heads - 1)]
        rows += [
            (random.randrange(case.length), random.randrange(case.heads))
            for _ in range(30)
        ]
        error = reference.worst_error(case, *tensors, out, rows)
        self.errors[name] = max(self.errors[name], error)
        if not error <= TOLERANCE[case.dtype]:
            raise Failure(
                f"{case.name}: expected an error of at most "
                f"{TOLERANCE[case.dtype]} from {name}, found {error:.3g}"
            )

    def result(self) -> dict:
        ours = self.times["ringlet"]
        peer = min(
            self.case.peers, key=lambda name: statistics.median(self.times[name])
        )
        theirs = self.times[peer]
        rate = self.case.flops / statistics.median(ours) / 1e6
        return {
            **results.beside(self.case.name, ours, peer, theirs, digits=3),
            **self.case.goal._asdict(),
            "gflops": round(rate, 1),
            "error": float(f"{self.errors['ringlet']:.2e}"),
            "peer_error": float(f"{self.errors[peer]:.2e}"),
        }


def versions(root, program) -> dict:
    git = ["git", "-C", str(root)]
    commit = subprocess.run(
        [*git, "rev-parse", "HEAD"], capture_output=True, text=True
    ).stdout.strip()
    blas = re.search(r"oneAPI Math Kernel Library Version \S+", torch.__config__.show())
    return {
        "ringlet": program.compiler,
        "commit": commit,
        "code": program.target,
        "torch": torch.__version__,
        "torch_cpu": torch.backends.cpu.get_cpu_capability(),
        "torch_blas": blas[0] if blas else "",
        "python": platform.python_version(),
        "system": platform.platform(),
    }


def run(options, mkl: str) -> dict:
    """Everything that one process measures."""
    build = pathlib.Path(options.build)
    ringlet.configure(
        runtime=build / "lib/libringlet_runtime.so.1",
        compiler=build / "bin/ringlet-compile",
    )
    chosen = cases.chosen(options.only)
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    random.seed(1)
    cpus = sorted(os.sched_getaffinity(0))
    context = bind(lambda: ringlet.Context(threads=options.threads), cpus)
    bind(lambda: torch.randn(512, 512) @ torch.randn(512, 512), cpus)
    os.sched_setaffinity(0, {cpus[0]})
    load = round(os.getloadavg()[0], 2)
    print(f"{options.threads} threads, MKL {mkl}, load of the machine before: {load}")
    peaks = {
        name: round(matmul_peak(dtype, options.repeat), 1)
        for name, dtype in _TORCH.items()
    }
    print(f"matrix product by torch: {peaks['f32']} GFLOP/s f32, {peaks['bf16']} bf16")
    found = [measure(case, context, options, mkl) for case in chosen]
    program = ringlet.compile(chosen[0].text, options.target, context=context)
    return {
        "versions": versions(options.root, program),
        "load": load,
        "peaks": peaks,
        "cases": found,
    }


def measure(case, context, options, mkl) -> dict:
    program = ringlet.compile(case.text, options.target, context=context)
    measurement = Measurement(case, program)
    measurement.check_poisoned()
    names = list(measurement.times)
    for _ in range(options.repeat):
        # Nobody always runs behind the same neighbour.
        random.shuffle(names)
        measurement.round(names)
    result = measurement.result()
    if mkl == "as-on-intel":
        result["peer"] += ", MKL as on Intel"
    print(
        f"{result['name']:36} {result['value']:9.2f} ms   {result['peer']} "
        f"{result['peer_value']:9.2f} ms   {result['speedup']:5.2f}x   "
        f"{result['gflops']:6.0f} GFLOP/s   error {result['error']:.1e}, peer "
        f"{result['peer_error']:.1e}",
        flush=True,
    )
    return result
