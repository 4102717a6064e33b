# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds the lines of --explain=memory against counters.

On a CPU those of cachegrind: a second-level cache that holds a kernel's tiles and
not the rows of a head misses once for each line that a tile of keys touches. On a
GPU those of ncu: sectors that loads from global memory ask for.
"""

from __future__ import annotations

import datetime
import json
import math
import pathlib
import random
import re
import shlex
import struct
import subprocess
import sys
import tempfile

import orders

# Sectors that loads into registers ask for, that the second level reads, and that
# come from memory.
LOADS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
METRICS = [LOADS, "lts__t_sectors_srcunit_tex_op_read.sum", "dram__sectors_read.sum"]

# Of the simulated cache: first level, and the one that misses are counted of.
CACHES = ["--D1=32768,8,64", "--LL=262144,16,64"]


def cpu_cases() -> list:
    """The cache holds the tiles, and half of K and V of a head or less."""
    tiling = (128, 32)
    size = {"heads": 2, "dim": 64, "dtype": "f32", "tiling": tiling}
    return [
        orders.Case(1024, 1, **size),
        orders.Case(4096, 4, **size),
        orders.Case(2048, 1, 1024, **size),
        # Rows of a single line.
        orders.Case(8192, 2, heads=1, dim=16, tiling=(256, 64)),
    ]


def gpu_cases() -> list:
    """For an architecture whose kernels load tiles through registers.

    Copies past them (cp.async) into rows of shared memory that are padded by half
    a sector are split in two where a row begins in the middle of one.
    """
    size = {"heads": 4, "dim": 64, "dtype": "f16"}
    return [
        orders.Case(4096, 1, **size),
        orders.Case(16384, 4, **size),
        orders.Case(16384, 1, 4096, **size),
        orders.Case(16384, 2, heads=1, dim=16, dtype="f16"),
    ]


def explained(options, case, target: str) -> dict:
    """Of the linear program: what each order's tiles touch, by its text."""
    output = subprocess.run(
        [
            *(f"{options.build}/bin/ringlet-compile", "-", f"--target={target}"),
            *("--recipe=plain", "--emit=ringlet", "--explain=memory"),
        ],
        input=case.text(None),
        text=True,
        capture_output=True,
        check=True,
    ).stderr
    found = {}
    for line in output.splitlines():
        words = line.split(None, 9)
        if len(words) == 10 and words[0].replace(".", "").isdigit():
            text = words[9].removesuffix(", as it is")
            names = ("lines", "sectors", "distinct_lines", "distinct_sectors")
            found[text] = dict(zip(names, map(int, words[5:9])))
            found[text]["pages"] = float(words[2])
    return found


def tensor_bytes(case) -> int:
    element = {"bf16": 2, "f16": 2, "f32": 4}[case.dtype]
    return case.length * case.heads * case.dim * element


def write_inputs(path, case) -> None:
    """q, k and v as safetensors, small random numbers."""
    count = case.length * case.heads * case.dim
    shape = [1, case.length, case.heads, case.dim]
    header, data = {}, b""
    for name in "qkv":
        values = [random.uniform(-1, 1) for _ in range(1024)]
        raw = struct.pack("<1024f", *values) * math.ceil(count / 1024)
        begin = len(data)
        data += raw[: 4 * count]
        header[name] = {
            "dtype": "F32",
            "shape": shape,
            "data_offsets": [begin, len(data)],
        }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def misses_of_kernels(path) -> dict:
    """Sums of cachegrind's events over code that has no name: kernels."""
    events, totals, is_kernel = [], {}, False
    for line in pathlib.Path(path).read_text().splitlines():
        key, _, rest = line.partition("=")
        if line.startswith("events:"):
            events = line.split()[1:]
            totals = dict.fromkeys(events, 0)
        elif key == "fn":
            is_kernel = rest == "???"
        elif is_kernel and line[:1].isdigit():
            for event, value in zip(events, line.split()[1:]):
                totals[event] += int(value)
    return totals


def on_cpu(options, case) -> list[dict]:
    model = explained(options, case, options.target)
    found = []
    with tempfile.TemporaryDirectory(prefix="ringlet-bench-") as name:
        folder = pathlib.Path(name)
        write_inputs(folder / "in.safetensors", case)
        for order, text in case.orders.items():
            artefact, counts = folder / f"{order}.rla", folder / f"{order}.out"
            subprocess.run(
                [
                    *(f"{options.build}/bin/ringlet-compile", "-", "-o", artefact),
                    f"--target={options.target}",
                ],
                input=case.text(text),
                text=True,
                check=True,
            )
            subprocess.run(
                [
                    *("valgrind", "--tool=cachegrind", "--cache-sim=yes", *CACHES),
                    f"--cachegrind-out-file={counts}",
                    *(f"{options.build}/bin/ringlet-run", artefact, "--threads=1"),
                    f"--in={folder / 'in.safetensors'}",
                ],
                capture_output=True,
                check=True,
            )
            counted = misses_of_kernels(counts)["DLmr"]
            expected = model[text or "linear"]
            # Queries are read once, and lines of rows that are left unread.
            reads = len(range(0, case.length, case.dilation)) / case.length
            total = expected["lines"] + math.ceil(tensor_bytes(case) * reads / 64)
            found.append(result_of(case, order, text, "lines", total, counted))
    return found


def result_of(case, order, text, unit, expected, counted) -> dict:
    result = {
        "case": case.name,
        "order": order,
        "text": text or "linear",
        "unit": unit,
        "expected": expected,
        "counted": counted,
        "difference": round(counted / expected - 1, 4),
    }
    print(
        "{case:34} {order:8} {expected:12} {unit} expected, {counted:12} counted, "
        "{difference:+.2%}".format(**result),
        flush=True,
    )
    return result


def write(options, card, versions, method, found) -> None:
    result = {
        "kind": "memory",
        "card": card,
        "date": datetime.date.today().isoformat(),
        "versions": versions,
        "command": shlex.join(["ringlet-bench", *sys.argv[1:]]),
        "method": method,
        "memory": found,
    }
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(result, indent=1) + "\n")


def prepare(options) -> int:
    """Programs of all GPU cases, and what is expected of them."""
    expected = {}
    for case in gpu_cases():
        orders.compile_case(options, case, "--recipe=plain")
        expected[case.name] = explained(options, case, options.target)
    path = pathlib.Path(options.prepare) / "memory.json"
    path.write_text(json.dumps(expected, indent=1) + "\n")
    return 0


def once(options) -> int:
    """Runs each program once between the marks that a profiler looks for."""
    import torch

    device = orders.OnGpu(options)
    for case in gpu_cases():
        tensors = [device.random(case) for _ in range(3)]
        outputs = (device.empty(case), device.lse(case))
        for name, text in case.orders.items():
            program = device.load(case, name, text)
            program(*tensors, *outputs)  # Builds the table.
            torch.cuda.synchronize()
            torch.cuda.profiler.start()
            torch.cuda._sleep(1)  # gpu_metrics.MARKER
            program(*tensors, *outputs)
            torch.cuda.synchronize()
            torch.cuda.profiler.stop()
    return 0


def on_gpu(options) -> list[dict]:
    import gpu_metrics

    path = pathlib.Path(options.programs) / "memory.json"
    model = json.loads(path.read_text())
    profiles = iter(gpu_metrics.profile(options, "memory", options.target, METRICS))
    found = []
    for case in gpu_cases():
        for order, text in case.orders.items():
            counted = next(profiles, None)
            if counted is None:
                raise SystemExit("expected a profile of each program, found fewer")
            expected = model[case.name][text or "linear"]
            reads = len(range(0, case.length, case.dilation)) / case.length
            # K and V ask for the table, each.
            table = expected["sectors"] - model[case.name]["linear"]["sectors"]
            total = expected["sectors"] + table
            total += math.ceil(tensor_bytes(case) * reads / 32)
            sectors = int(counted[LOADS])
            found.append(result_of(case, order, text, "sectors", total, sectors))
            found[-1] |= {metric: int(value) for metric, value in counted.items()}
            found[-1]["distinct"] = expected["distinct_sectors"]
    return found


def run(options, card: str) -> int:
    if options.once:
        return once(options)
    if options.programs:
        found = on_gpu(options)
        method = "sectors that loads ask for, by ncu; queries are read once, the table by K and V"
        versions = {"code": options.target}
    else:
        found = [
            result
            for case in cpu_cases()
            if re.search(options.only, case.name)
            for result in on_cpu(options, case)
        ]
        valgrind = subprocess.run(
            ["valgrind", "--version"], capture_output=True, text=True
        ).stdout.strip()
        method = (
            "lines that kernels miss in cachegrind's last level, "
            f"{' '.join(CACHES)}; queries are read once"
        )
        versions = {"valgrind": valgrind, "code": options.target}
    write(options, card, versions, method, found)
    worst = max((abs(each["difference"]) for each in found), default=0)
    print(f"worst difference: {worst:.2%}")
    return 0 if worst <= 0.05 else 1
