# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each rank of `ringlet-bench ring` does, as a process or as a thread."""

from __future__ import annotations

import dataclasses
import datetime
import random
import threading
import time
import types
from typing import Any

ONE, RING = "one", "ring"


@dataclasses.dataclass(frozen=True)
class Job:
    """The same on all ranks. Ports are for the ring and for torch."""

    cases: list
    ranks: int
    transport: str
    target: str
    programs: str
    runtime: str
    threads: int
    repeat: int
    burst: int
    peers: str
    ports: tuple
    secret: str

    @property
    def on_gpu(self) -> bool:
        return self.target.startswith("sm_")


class Start:
    """When all ranks begin what is timed."""

    # From the moment in which all are there: each hears of it by then.
    AHEAD = 1e-3

    def __init__(self, barrier: Any, begin: Any):
        self.barrier, self.begin = barrier, begin

    def meet(self, rank: int, spins: bool) -> float:
        """Returns at the same time on all ranks, which is returned."""
        self.barrier.wait()
        if rank == 0:
            self.begin.value = time.monotonic() + self.AHEAD
        self.barrier.wait()
        begin = self.begin.value
        while (left := begin - time.monotonic()) > 0:
            # A thread that spins keeps the others of its process from running.
            if not spins:
                time.sleep(left)
        return begin


class Gpu:
    """Tensors of torch on the GPU of a rank."""

    def __init__(self, rank: int):
        import torch

        self.torch, self.device = torch, torch.device("cuda", rank)
        torch.cuda.set_device(self.device)

    def context(self, threads: int):
        import ringlet

        return ringlet.Context(driver="cuda", device=self.device.index)

    def draw(self, case) -> list:
        """q, k, v of the whole sequence, the same on all ranks."""
        generator = self.torch.Generator(self.device).manual_seed(1)
        shape = (case.batch, case.length, case.heads, case.dim)
        kind = {"bf16": self.torch.bfloat16, "f16": self.torch.float16}[case.dtype]
        return [
            self.torch.randn(
                shape, device=self.device, dtype=kind, generator=generator
            )
            for _ in range(3)
        ]

    def rows(self, tensor, stretches: list):
        return self.torch.cat([tensor[:, each] for each in stretches], 1)

    def lse_of(self, query):
        batch, length, heads, _ = query.shape
        return self.torch.empty((batch, heads, length), device=self.device)

    def marked_like(self, tensor):
        return self.torch.full_like(tensor, self.torch.nan)

    def error(self, out, want) -> float:
        difference = (out.float() - want.float()).abs().max()
        return float(f"{(difference / want.abs().max()).item():.2e}")

    def synchronize(self) -> None:
        self.torch.cuda.synchronize(self.device)

    def free(self) -> None:
        self.torch.cuda.empty_cache()

    def machine(self, compiler: str) -> dict:
        return {
            "card": self.torch.cuda.get_device_properties(self.device).name,
            "date": datetime.date.today().isoformat(),
            "versions": {
                "ringlet": compiler,
                "torch": self.torch.__version__,
                "cudnn": self.torch.backends.cudnn.version(),
                "nccl": ".".join(map(str, self.torch.cuda.nccl.version())),
                "cuda": self.torch.version.cuda,
            },
        }


class Cpu:
    """Arrays of numpy in f32."""

    def __init__(self, rank: int):
        import numpy

        self.numpy = numpy

    def context(self, threads: int):
        import ringlet

        return ringlet.Context(threads=threads)

    def draw(self, case) -> list:
        generator = self.numpy.random.default_rng(1)
        shape = (case.batch, case.length, case.heads, case.dim)
        return [
            generator.standard_normal(shape, dtype=self.numpy.float32)
            for _ in range(3)
        ]

    def rows(self, tensor, stretches: list):
        return self.numpy.concatenate([tensor[:, each] for each in stretches], 1)

    def lse_of(self, query):
        batch, length, heads, _ = query.shape
        return self.numpy.empty((batch, heads, length), self.numpy.float32)

    def marked_like(self, tensor):
        return self.numpy.full_like(tensor, self.numpy.nan)

    def error(self, out, want) -> float:
        return float(f"{abs(out - want).max() / abs(want).max():.2e}")

    def synchronize(self) -> None:
        pass

    def free(self) -> None:
        pass

    def machine(self, compiler: str) -> dict:
        import parts

        return {
            "card": parts.card_name(),
            "date": datetime.date.today().isoformat(),
            "versions": {"ringlet": compiler, "numpy": self.numpy.__version__},
        }


class Rank:
    """One rank, in all cases."""

    def __init__(self, job: Job, rank: int, ring, start: Start, answers, group=None):
        self.job, self.rank, self.ring = job, rank, ring
        self.start, self.answers, self.group = start, answers, group
        self.place = (Gpu if job.on_gpu else Cpu)(rank)
        self.spins = group is not None
        # On a CPU one rank, alone, has the threads of all.
        self.runs_one = job.on_gpu or rank == 0

    def run(self) -> None:
        for case in self.job.cases:
            self.answers.put(self.measure(case))
            self.place.free()

    def program(self, case, what: str, threads: int):
        import ringlet

        path = case.artefact(self.job.programs, self.job.target, what)
        return ringlet.Program.load(path, self.place.context(threads))

    def measure(self, case) -> dict:
        job, place = self.job, self.place
        whole = place.draw(case.of)
        stretches = case.rows(self.rank, job.ranks)
        mine = [place.rows(each, stretches) for each in whole]
        one = self.program(case, ONE, job.threads * job.ranks)
        ring = self.program(case, RING, job.threads)
        want = (place.marked_like(whole[0]), place.lse_of(whole[0]))
        out = (place.marked_like(mine[0]), place.lse_of(mine[0]))
        calls = {
            ONE: lambda: one.run(*whole, out=want) if self.runs_one else None,
            RING: lambda: ring.run(*mine, out=out, ring=self.ring),
        }
        estimated = ring.estimate(*mine, ring=self.ring).total_bytes
        one.run(*whole, out=want)
        calls[RING]()
        place.synchronize()
        errors = {RING: place.error(out[0], place.rows(want[0], stretches))}
        refused: dict = {}
        if self.group:
            self.add_peers(case, whole, mine, want[0], calls, errors, refused)
        times = self.rounds(calls)
        if self.group:
            self.group.close()
        last = max((each.call for each in self.ring.records()), default=0)
        return {
            "case": case.name,
            "rank": self.rank,
            "times": times,
            "errors": errors,
            "refused": refused,
            "estimated": estimated,
            "peak": ring.context.stats().peak_memory_bytes,
            "steps": [
                dataclasses.asdict(each)
                for each in self.ring.records()
                if each.call == last
            ],
            "machine": place.machine(ring.compiler),
        }

    def add_peers(self, case, whole, mine, want, calls, errors, refused) -> None:
        """Those that do not fail anywhere. Each returns the rows that it holds."""
        for name, peer in self.group.peers(case.of, whole, mine).items():
            error, reason = float("nan"), ""
            try:
                out = peer.run()
                self.place.synchronize()
                stretches = peer.rows(case.of.length, self.rank, self.job.ranks)
                error = self.place.error(out, self.place.rows(want, stretches))
            except Exception as failure:  # torch raises what it likes.
                reason = f"{type(failure).__name__}: {failure}".splitlines()[0][:200]
            if self.group.all_of(not reason):
                calls[name], errors[name] = peer.run, error
            else:
                refused[name] = reason or "it fails on another rank"

    def rounds(self, calls: dict) -> dict:
        """Of each call and round, the seconds from when all ranks began."""
        draw = random.Random(1)  # The same on all ranks.
        times: dict = {name: [] for name in calls}
        for _ in range(self.job.repeat + 1):
            for name in draw.sample(list(calls), len(calls)):
                spans = []
                for _ in range(self.job.burst):
                    begin = self.start.meet(self.rank, self.spins)
                    calls[name]()
                    self.place.synchronize()
                    spans.append(time.monotonic() - begin)
                times[name].append(spans)
        if not self.runs_one:
            times[ONE] = []
        return times


def answer_failure(answers, rank: int, failure: BaseException) -> None:
    answers.put({"rank": rank, "failed": f"{type(failure).__name__}: {failure}"})


def configure(job: Job) -> None:
    import ringlet

    ringlet.configure(runtime=job.runtime)


def run_process(job: Job, rank: int, start: Start, answers) -> None:
    """One rank in a process of its own, with torch's peers on GPUs."""
    import ringlet

    try:
        configure(job)
        ring = ringlet.Ring(
            rank=rank, ranks=job.ranks, port=job.ports[0], secret=job.secret,
            transport=job.transport if job.on_gpu else None,
        )  # fmt: skip
        group: Any = types.SimpleNamespace(
            peers=lambda *_: {}, close=lambda: None, end=lambda: None, all_of=bool
        )
        if job.on_gpu:
            import ring_peers

            group = ring_peers.Group(rank, job.ranks, job.ports[1], job.peers)
        Rank(job, rank, ring, start, answers, group).run()
        group.end()
    except BaseException as failure:
        answer_failure(answers, rank, failure)
        raise SystemExit(1) from failure


def run_threads(job: Job, answers) -> None:
    """All ranks as threads of this process."""
    import ringlet

    configure(job)
    start = Start(threading.Barrier(job.ranks), types.SimpleNamespace(value=0.0))

    def one(rank: int, ring) -> None:
        try:
            Rank(job, rank, ring, start, answers).run()
        except BaseException as failure:
            answer_failure(answers, rank, failure)
            ring.abort(str(failure))
            start.barrier.abort()

    ends = ringlet.Ring.local(job.ranks)
    threads = [
        threading.Thread(target=one, args=each) for each in enumerate(ends)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
