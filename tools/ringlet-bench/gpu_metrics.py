# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much of a GPU's tensor cores a program uses, and what could bound it.

Utilisation is FLOP / (multiprocessors x FLOP a clock x clocks that passed). A
card under its power cap changes its clock from one second to the next; this
figure does not change with it.
"""

from __future__ import annotations

import csv
import dataclasses
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

# Dense 16-bit FLOP a clock and multiprocessor, by compute capability.
FLOP_PER_CLOCK = {(8, 0): 2048, (9, 0): 4096}

# What stands between two programs in a profile: a kernel that no program has.
MARKER = "spin_kernel"

CYCLES = "sm__cycles_elapsed.max"


@dataclasses.dataclass(frozen=True)
class Card:
    """bandwidth and clock are None where torch does not say."""

    multiprocessors: int
    flop_per_clock: int | None
    clock: float | None = None
    bandwidth: float | None = None

    @property
    def peak(self) -> float | None:
        """FLOP/s at the highest clock."""
        if not (self.flop_per_clock and self.clock):
            return None
        return self.multiprocessors * self.flop_per_clock * self.clock

    @staticmethod
    def of(properties) -> Card:
        """From torch's properties of a device; clocks there are in kHz."""
        clock = getattr(properties, "clock_rate", 0)
        memory = getattr(properties, "memory_clock_rate", 0)
        width = getattr(properties, "memory_bus_width", 0)
        return Card(
            properties.multi_processor_count,
            FLOP_PER_CLOCK.get((properties.major, properties.minor)),
            clock * 1e3 or None,
            2 * memory * 1e3 * (width // 8) or None,  # Two transfers a clock.
        )


def utilisation(card: Card, flops: int, cycles: float) -> float | None:
    if not card.flop_per_clock or cycles <= 0:
        return None
    return flops / (card.multiprocessors * card.flop_per_clock * cycles)


def roofline(card: Card, case) -> dict:
    """FLOP a byte of the tensors, each counted once, and what bounds that."""
    result = {"flop_per_byte": round(case.flops / case.bytes, 1)}
    if card.peak and card.bandwidth:
        ridge = card.peak / card.bandwidth
        result["bound"] = "tensor" if case.flops / case.bytes >= ridge else "memory"
    return result


def by_clock(card: Card, case, call) -> float | None:
    """Utilisation, with the clock as a spinning kernel right behind tells it."""
    import torch

    few, many = 20_000, 1_020_000
    found = []
    for _ in range(5):
        events = [torch.cuda.Event(enable_timing=True) for _ in range(4)]
        call()
        events[0].record()
        call()
        events[1].record()
        torch.cuda._sleep(few)
        events[2].record()
        torch.cuda._sleep(many)
        events[3].record()
        events[3].synchronize()
        took, short, long = (a.elapsed_time(b) for a, b in zip(events, events[1:]))
        if long <= short:
            return None
        clocks = (many - few) / (long - short) * took  # A launch's time cancels.
        found.append(utilisation(card, case.flops, clocks))
    return None if None in found else statistics.median(found)


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def read_profile(text: str, metrics) -> list[dict]:
    """Sums of a profile's kernels, for each of the programs between markers.

    `text` is what ncu writes with --csv --page raw: other lines, a line of
    names, a line of units, a line for each kernel.
    """
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID",')), None)
    if start is None:
        return []
    programs, current = [], None
    for row in csv.DictReader(lines[start:]):
        if not row["ID"]:
            continue
        if MARKER in row["Kernel Name"]:
            current = dict.fromkeys(metrics, 0.0)
            programs.append(current)
        elif current is not None:
            for metric in metrics:
                current[metric] += _number(row[metric])
    return programs


def once_command(options, suite: str, target: str) -> list:
    """This tool again, running each program once."""
    return [
        sys.executable,
        sys.argv[0],
        suite,
        "--once",
        f"--only={options.only}",
        f"--target={target}",
        f"--programs={options.programs}",
        f"--runtime={options.runtime}",
    ]


def run_within(command: list, seconds: float, log) -> int | None:
    """Exit code, or None if it was not done in time; output goes to `log`.

    What is stopped is the group: a child that the command has started would go
    on with the device.
    """
    with open(log, "w") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return None


def profile(options, suite: str, target: str, metrics) -> list[dict]:
    """What ncu says of each case's program; nothing where it does not work."""
    ncu = shutil.which("ncu")
    if not ncu:
        return []
    with tempfile.TemporaryDirectory(prefix="ringlet-bench-") as folder:
        output = pathlib.Path(folder) / "output.txt"
        table = pathlib.Path(folder) / "profile.csv"
        command = [
            ncu,
            "--csv",
            "--page=raw",
            "--print-units=base",
            f"--log-file={table}",
            f"--metrics={','.join(metrics)}",
            "--profile-from-start=off",
            "--clock-control=none",
            "--cache-control=none",
            *once_command(options, suite, target),
        ]
        code = run_within(command, options.limit, output)
        text = table.read_text() if table.exists() else ""
        said = [
            part.strip().splitlines()[-1]
            for part in (text, output.read_text())
            if part.strip()
        ]
    try:
        found = read_profile(text, metrics)
    except (KeyError, ValueError) as error:
        print(f"ncu is left out: its table has no figure: {error}", flush=True)
        return []
    if code != 0 or not found:
        reason = "; ".join(line[:160] for line in said) or "no output"
        if code is None:
            reason = f"not done after {options.limit:g} s"
        print(f"ncu is left out: {reason}", flush=True)
        return []
    return found
