# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Longer and longer sequences, and what a launch costs the host."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import statistics
import time

import cases
import gpu_suite

FIRST_LENGTH = 1024
# Of the free memory, what the tensors of a length may take.
SHARE = 0.9


def families(chosen: list) -> list:
    """One case for each program: the text does not have the length in it."""
    return list({case.text: case for case in reversed(chosen)}.values())[::-1]


def verdict(case, free: int, last_ms: float, last_flops: int, limit: float) -> str:
    """Why the case is not run, before anything is allocated; "" if it is."""
    allowed = int(free * SHARE)
    if case.bytes_with_marks > allowed:
        return (
            f"expected at most {allowed} bytes ({SHARE:.0%} of those free), "
            f"found {case.bytes_with_marks}"
        )
    if last_flops:
        seconds = last_ms / 1e3 * case.flops / last_flops
        if seconds > limit:
            return f"expected at most {limit:g} s, found about {seconds:.0f} s"
    return ""


def progressive(options) -> int:
    import torch

    context, library = gpu_suite.open_context(options)
    torch.manual_seed(1)
    for family in families(cases.chosen(options.only, "cuda")):
        for target in options.target.split(","):
            path = gpu_suite.artefact(options.programs, family, target)
            program = gpu_suite.Program(library, context, path)
            _grow(family, target, program, options)
    return 0


def _grow(case, target: str, program, options) -> None:
    import torch

    last_ms, last_flops = 0.0, 0
    case = dataclasses.replace(case, length=FIRST_LENGTH)
    while True:
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        free, _ = torch.cuda.mem_get_info()
        reason = verdict(case, free, last_ms, last_flops, options.limit)
        if not reason:
            try:
                last_ms = _time_once(case, program)
            except RuntimeError as error:
                reason = str(error).splitlines()[0]
        if reason:
            print(f"{case.name}, {target}: stops here: {reason}", flush=True)
            return
        last_flops = case.flops
        print(
            f"{case.name}, {target}: {last_ms:.3f} ms "
            f"{case.flops / last_ms / 1e9:.1f} TFLOP/s {case.bytes} bytes",
            flush=True,
        )
        case = dataclasses.replace(case, length=case.length * 2)


def _time_once(case, program) -> float:
    """The time of the second call; a NaN in a result raises."""
    import torch

    tensors = gpu_suite.inputs(case)
    out = torch.full_like(tensors[0], torch.nan)
    lse = torch.full((case.batch, case.heads, case.length), torch.nan, device="cuda")
    program(*tensors, out, lse)
    taken = gpu_suite.time_of(lambda: program(*tensors, out, lse))
    # A sum needs no tensor of its size beside it.
    for name, each in (("output", out), ("lse", lse)):
        if each.sum(dtype=torch.float32).isnan():
            raise RuntimeError(f"expected no NaN in the {name}, found one")
    return taken


RECIPES = ("plain", "auto")
LAUNCH = cases.Case("launch", 128, 1, 64, "bf16", False, ((None, 1),), 1.0)


def launch_artefact(folder, recipe: str, target: str) -> pathlib.Path:
    return pathlib.Path(folder) / f"launch-{recipe}-{target}.rla"


def prepare_launch(options) -> int:
    pathlib.Path(options.prepare).mkdir(parents=True, exist_ok=True)
    for target in options.target.split(","):
        for recipe in RECIPES:
            path = launch_artefact(options.prepare, recipe, target)
            gpu_suite.compile_text(options, target, path, LAUNCH.text, recipe)
    return 0


def median_of_calls(call, settle, count: int = 1000, batch: int = 50) -> float:
    """Median host time of `call` in microseconds.

    `settle` runs between batches and is not counted: a queue that is full
    would make the host wait for the device.
    """
    times = []
    for index in range(count):
        if index % batch == 0:
            settle()
            call()
        begin = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - begin)
    settle()
    return statistics.median(times) / 1e3


def launch(options) -> int:
    import torch

    context, library = gpu_suite.open_context(options)
    q, k, v = gpu_suite.inputs(LAUNCH)
    lse = torch.empty((1, LAUNCH.heads, LAUNCH.length), device="cuda")
    one = torch.zeros(1, device="cuda")
    found = {"torch add_ of one element": lambda: one.add_(1)}
    for target in options.target.split(","):
        for recipe in RECIPES:
            path = launch_artefact(options.programs, recipe, target)
            program = gpu_suite.Program(library, context, path)
            found["a call through ctypes alone"] = lambda p=program: (
                p.library.rl_program_target(p.handle)
            )
            queue = program.bound(q, k, v, torch.empty_like(q), lse)
            found[f"rl_program_enqueue, recipe {recipe}, {target}"] = queue
    times = {}
    for name, call in found.items():
        times[name] = round(median_of_calls(call, torch.cuda.synchronize), 2)
        print(f"{name:48} {times[name]:8.2f} us", flush=True)
    if options.out:
        result = {
            "card": torch.cuda.get_device_properties(0).name,
            "versions": {"torch": torch.__version__, "cuda": torch.version.cuda},
            "microseconds": times,
        }
        pathlib.Path(options.out).write_text(json.dumps(result, indent=1) + "\n")
    return 0
