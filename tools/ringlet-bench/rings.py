# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention whose sequence lies on several ranks of one host.

On GPUs beside one of them with the whole sequence, and beside what torch users
have; on a CPU beside one rank with the threads of all. A machine with GPUs need
not have the compiler: `prepare` compiles where it is, `run` times where the GPUs
are. Ranks are processes, or threads of one for transports within a process.
"""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import pathlib
import queue
import re
import secrets
import shlex
import socket
import statistics
import sys

import cases
import gpu_suite
import ring_ranks
from ring_ranks import ONE, RING

# Where ranks are threads, which copy; else they are processes.
OF_THREADS = ("threads", "inprocess")
TRANSPORTS = {"gpu": ("nccl", "p2p", "threads"), "cpu": ("socket", "inprocess")}


class Failed(Exception):
    """A rank has."""


NONE = "(?!)"  # A pattern without a match.
# Of outputs beside those of one rank, relative to the greatest value.
TOLERANCE = 2e-2


@dataclasses.dataclass(frozen=True)
class Case:
    """A case of one device, and how its rows are cut.

    linear  the share of linear speed-up: what it must be, and what is aimed at
    goal    beside the fastest peer
    """

    of: cases.Case
    sharding: str
    linear: cases.Goal
    goal: cases.Goal = cases.Goal(1.0, 1.0)

    @property
    def name(self) -> str:
        w, r = zip(*self.of.branches)
        return self.of.name if w == (None,) else f"{self.of.name} {w}/{r}"

    @property
    def text(self) -> str:
        """The graph of sharded tensors."""
        ring = f"ring = #rlayout.ring<?, {self.sharding}>"
        dtype = self.of.dtype
        text = self.of.text.replace("?xf32>", "?xf32, #lse>")
        text = text.replace(f"{self.of.dim}x{dtype}>", f"{self.of.dim}x{dtype}, #rows>")
        return (
            f"#rows = #rlayout.layout<{ring}>\n"
            f"#lse = #rlayout.layout<{ring}, axis = 2>\n{text}"
        )

    def rows(self, rank: int, ranks: int) -> list:
        """The stretches that a rank holds."""
        count = ranks if self.sharding == "contiguous" else 2 * ranks
        if self.of.length % count:
            raise ValueError(
                f"{self.name}: expected a number of ranks that cuts {self.of.length} "
                f"rows into {count} equal parts"
            )
        size = self.of.length // count
        chunks = [rank] if count == ranks else [rank, count - 1 - rank]
        return [slice(each * size, (each + 1) * size) for each in chunks]

    def artefact(self, folder, target: str, what: str) -> pathlib.Path:
        """That of the ring or of one device, for any length."""
        name = self.name.replace(f"S{self.of.length} ", "")
        cut = f" {self.sharding}" if what == RING else ""
        return gpu_suite.artefact_of(folder, f"{what} {name}{cut} {target}")


LINEAR, SHORT = cases.Goal(0.95, 0.97), cases.Goal(0.85, 0.90)
DENSE = ((None, 1),)


def gpu_cases() -> list[Case]:
    def dense(length, causal, linear):
        of = cases.Case("dense", length, 16, 128, "bf16", causal, DENSE, None)
        return Case(of, "zigzag" if causal else "contiguous", linear)

    def longnet(w, goal):
        branches = tuple(zip(w, (1, 4, 16)))
        of = cases.Case("longnet", 1048576, 16, 64, "bf16", False, branches, None)
        return Case(of, "contiguous", LINEAR, cases.Goal(*goal))

    return [
        dense(131072, True, LINEAR),
        dense(262144, True, LINEAR),
        dense(32768, False, SHORT),
        dense(131072, False, LINEAR),
        longnet((2048, 32768, 524288), (1.4, 1.7)),
        longnet((8192, 65536, 1048576), (1.3, 1.45)),
    ]


def cpu_cases() -> list[Case]:
    linear = cases.Goal(0.92, 0.97)
    dense = cases.Case("dense", 16384, 4, 64, "f32", True, DENSE, None)
    branches = ((2048, 1), (4096, 2), (8192, 4))
    longnet = cases.Case("longnet", 16384, 4, 64, "f32", False, branches, None)
    return [Case(dense, "zigzag", linear), Case(longnet, "contiguous", linear)]


def is_gpu(options) -> bool:
    return options.target.startswith("sm_")


def cases_for(options) -> list[Case]:
    every = gpu_cases() if is_gpu(options) else cpu_cases()
    if not options.length:
        return every
    return list(
        dict.fromkeys(
            dataclasses.replace(
                each, of=dataclasses.replace(each.of, length=options.length)
            )
            for each in every
        )
    )


def chosen(options) -> list[Case]:
    return [each for each in cases_for(options) if re.search(options.only, each.name)]


def prepare(options) -> int:
    folder = pathlib.Path(options.prepare)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {}
    for case in chosen(options):
        texts[case.artefact(folder, options.target, RING)] = case.text
        texts[case.artefact(folder, options.target, ONE)] = case.of.text
    for path, text in texts.items():
        gpu_suite.compile_text(options, options.target, path, text, "auto")
    return 0


# All ranks.


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as ear:
        return ear.getsockname()[1]


def gather(processes, answers, count: int):
    """What ranks say, as they say it; the first one that fails ends all."""
    for _ in range(count):
        while True:
            try:
                answer = answers.get(timeout=1)
                break
            except queue.Empty:
                ended = [each for each in processes if each.exitcode not in (None, 0)]
                if ended:
                    raise Failed(
                        f"{ended[0].name} ended with status {ended[0].exitcode}"
                    ) from None
        if "failed" in answer:
            raise Failed("rank {rank}: {failed}".format(**answer))
        yield answer


def of_transport(options, transport: str, todo: list, peers: str):
    """Each case, with the answers of all ranks, when they are there."""
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    job = ring_ranks.Job(
        cases=todo,
        ranks=options.ranks,
        transport=transport,
        target=options.target,
        programs=str(options.programs),
        runtime=str(options.runtime),
        threads=options.threads_of_rank,
        repeat=options.repeat,
        burst=options.burst,
        peers=peers,
        ports=(free_port(), free_port()),
        secret=secrets.token_hex(16),
    )
    if transport in OF_THREADS:
        members = [("all ranks", ring_ranks.run_threads, (job, answers))]
    else:
        start = ring_ranks.Start(
            context.Barrier(options.ranks), context.Value("d", 0.0, lock=False)
        )
        members = [
            (f"rank {rank}", ring_ranks.run_process, (job, rank, start, answers))
            for rank in range(options.ranks)
        ]
    processes = [
        context.Process(name=name, target=target, args=args, daemon=True)
        for name, target, args in members
    ]
    for each in processes:
        each.start()
    found: dict = {}
    try:
        for answer in gather(processes, answers, len(todo) * options.ranks):
            ranks = found.setdefault(answer["case"], [])
            ranks.append(answer)
            if len(ranks) == options.ranks:
                case = next(each for each in todo if each.name == answer["case"])
                yield case, sorted(ranks, key=lambda each: each["rank"])
        for each in processes:
            each.join(60)
    finally:
        for each in processes:
            if each.is_alive():
                each.terminate()


# What they found.


def times_of(answers: list, name: str, combine=max) -> list:
    """Milliseconds of each round but the first one, which warms up: that of the
    last rank, and the median of a burst but for its first third."""
    times = [answer["times"][name] for answer in answers]
    rounds = zip(*(each for each in times if each))
    result = []
    for spans in list(rounds)[1:]:
        burst = [combine(span) for span in zip(*spans)]
        result.append(1e3 * statistics.median(burst[len(burst) // 3 :]))
    return result


def result_of(case: Case, transport: str, answers: list, peers: dict) -> dict:
    """`peers`: the times of each, and the errors."""
    ranks = len(answers)
    times = times_of(answers, RING)
    # The mean of devices that have the whole sequence each.
    one = statistics.median(times_of(answers, ONE, statistics.mean))
    value = statistics.median(times)
    machines = sum(bool(answer["times"][ONE]) for answer in answers)
    steps = [each for answer in answers for each in answer["steps"]]
    computed = [each["seconds"] for each in steps if each["queue"] < 0]
    moved = [each["seconds"] for each in steps if each["queue"] >= 0]
    found = {
        "name": case.name,
        "transport": transport,
        "ranks": ranks,
        "value": round(value, 4),
        "unit": "ms",
        "min": round(min(times), 4),
        "max": round(max(times), 4),
        "one": round(one, 4),
        "of_linear": round(one / (machines * value), 3),
        "gflops": round(case.of.flops / value / 1e6),
        "error": max(answer["errors"][RING] for answer in answers),
        "estimated_bytes": max(answer["estimated"] for answer in answers),
        "peak_bytes": max(answer["peak"] for answer in answers),
        "host_us_a_step": round(1e6 * statistics.median(computed or [0]), 1),
        "exchange_ms": round(1e3 * statistics.median(moved or [0]), 3),
        "linear_at_least": case.linear.at_least,
        "linear_aim": case.linear.aim,
        "peers": {},
    }
    for name, (peer_times, error) in peers.items():
        peer = statistics.median(peer_times)
        found["peers"][name] = {
            "value": round(peer, 4),
            "min": round(min(peer_times), 4),
            "max": round(max(peer_times), 4),
            "speedup": round(peer / value, 3),
            "error": error,
        }
    if peers:
        found |= {"at_least": case.goal.at_least, "aim": case.goal.aim}
    return found


def peers_of(answers: list) -> dict:
    """The times and the greatest error of each."""
    return {
        name: (times_of(answers, name), max(x["errors"][name] for x in answers))
        for name in answers[0]["times"]
        if name not in (ONE, RING)
    }


def show(found: dict) -> None:
    print(
        "{name}, {ranks} x {transport}: {value:.3f} ms ({min:.3f} to {max:.3f}), one "
        "{one:.3f} ms, {of_linear:.3f} of linear, error {error:.1e}, memory "
        "{peak_bytes} of {estimated_bytes} bytes, host {host_us_a_step} us a step, "
        "exchanges {exchange_ms} ms".format(**found),
        flush=True,
    )
    for name, peer in found["peers"].items():
        print(
            "    {value:.3f} ms  {speedup:.2f}x  error {error:.1e}  ".format(**peer)
            + name,
            flush=True,
        )


def describe(options, said: dict) -> dict:
    command = ["tools/ringlet-bench/ringlet-bench", "ring"]
    for name in ("target", "programs", "ranks", "transport", "repeat", "burst"):
        command += [f"--{name}", str(vars(options)[name])]
    for name in ("peers", "only", "length"):
        if vars(options)[name]:
            command += [f"--{name}", str(vars(options)[name])]
    return {
        "kind": "ring",
        "card": options.card or said["card"],
        "date": said["date"],
        "versions": said["versions"],
        "command": shlex.join(command),
        "repeats": options.repeat,
        "burst": options.burst,
    }


def run(options) -> int:
    todo, found, has_failed = chosen(options), [], False
    of_peers: dict = {}
    said: dict = {}
    for transport in options.transport.split(","):
        # Once, beside the first ranks that are processes; the others' times stand
        # beside these.
        peers = NONE if any(of_peers.values()) else options.peers
        try:
            for case, answers in of_transport(options, transport, todo, peers):
                said = said or answers[0]["machine"]
                for name, reason in answers[0]["refused"].items():
                    print(f"{name} does not take {case.name}: {reason}", flush=True)
                of_peers.setdefault(case.name, {}).update(peers_of(answers))
                found.append(
                    result_of(case, transport, answers, of_peers[case.name])
                )
                show(found[-1])
        except Failed as failure:
            # What was measured before is worth its time.
            print(f"{transport}: {failure}", file=sys.stderr, flush=True)
            has_failed = True
    if options.out and found:
        text = json.dumps({**describe(options, said), "ring": found}, indent=1)
        pathlib.Path(options.out).write_text(text + "\n")
    wrong = [each["name"] for each in found if not each["error"] <= TOLERANCE]
    if wrong:
        print(f"wrong: {', '.join(wrong)}", flush=True)
    return 1 if wrong or has_failed else 0
