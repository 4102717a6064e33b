# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention on an NVIDIA GPU beside the kernels that torch has.

A machine with a GPU need not have the compiler: `prepare` compiles the programs
of all cases where the compiler is, `run` times them where the GPU is. No module
here is called `cuda`: packages of peers have one of that name.
"""

from __future__ import annotations

import ctypes
import datetime
import json
import pathlib
import random
import re
import shlex
import statistics
import subprocess
import sys

import cases
import gpu_metrics
import gpu_packages
import gpu_peers
import results


# Relative to the greatest value: of 16-bit weights, and of products of f32.
TOLERANCE = 4e-2
TOLERANCES = {"f32": 2e-5, "tf32x3": 2e-5, "bf16x3": 4e-4, "tf32": 1e-2}
DIGITS = 4  # Of milliseconds.


def artefact_of(folder, words: str) -> pathlib.Path:
    return pathlib.Path(folder) / (re.sub(r"[^a-z0-9]+", "-", words.lower()) + ".rla")


def artefact(folder, case, target: str) -> pathlib.Path:
    return artefact_of(folder, f"{case.name} {target}")


def compile_command(options, target: str, path: pathlib.Path, recipe: str = "") -> list:
    """Compiles the graph on standard input to an artefact."""
    return [
        pathlib.Path(options.build) / "bin/ringlet-compile",
        "-",
        f"--target={target}",
        f"--recipe={recipe or options.recipe}",
        "-o",
        path,
    ]


def compile_text(options, target: str, path: pathlib.Path, text: str, recipe="") -> None:
    command = compile_command(options, target, path, recipe)
    subprocess.run(command, input=text, text=True, check=True)
    print(f"{path} {path.stat().st_size} bytes", flush=True)


def prepare(options) -> int:
    """Compiles each case for each target into options.prepare."""
    folder = pathlib.Path(options.prepare)
    folder.mkdir(parents=True, exist_ok=True)
    for case in cases.chosen(options.only, "cuda"):
        for target in options.target.split(","):
            compile_text(options, target, artefact(folder, case, target), case.text)
    chosen = [
        name
        for name in gpu_packages.PACKAGES
        if options.peers and re.search(options.peers, name)
    ]
    gpu_packages.fetch(folder, chosen, options.peer_python)
    return 0


class Program:
    """An artefact on the GPU, called with torch tensors on torch's stream."""

    def __init__(self, library, context, path):
        self.library, self.handle = library, ctypes.c_void_p()
        data = path.read_bytes()
        self.check(
            library.rl_program_load(context, data, len(data), ctypes.byref(self.handle))
        )
        self.compiler = library.rl_program_compiler(self.handle).decode()
        self.target = library.rl_program_target(self.handle).decode()

    def check(self, status) -> None:
        if status:
            raise RuntimeError(self.library.rl_last_error().decode())

    def bound(self, *tensors):
        """A call that queues just this: q, k, v, output, lse, current stream."""
        import torch

        from ringlet import _capi

        list_ = (_capi.Tensor * len(tensors))()
        keep = []
        for entry, tensor in zip(list_, tensors):
            sizes = (ctypes.c_int64 * tensor.dim())(*tensor.shape)
            strides = (ctypes.c_int64 * tensor.dim())(*tensor.stride())
            keep += [sizes, strides]
            name = {
                "float32": "f32",
                "bfloat16": "bf16",
                "float16": "f16",
                "int32": "i32",
                "int64": "i64",
                "int8": "i8",
                "float8_e4m3fn": "f8E4M3FN",
            }
            entry.data = tensor.data_ptr()
            entry.dtype = _capi.DTYPES[name[str(tensor.dtype).split(".")[1]]]
            entry.rank = tensor.dim()
            entry.sizes, entry.strides = sizes, strides
            if tensor.is_cuda:
                entry.memory, entry.device = _capi.MEMORY_CUDA, tensor.get_device()
        run = _capi.Run()
        run.stream = torch.cuda.current_stream().cuda_stream

        # The tensors have to live as long as the call that reads them.
        def queue(kept=(keep, tensors, run)):
            self.check(
                self.library.rl_program_enqueue(
                    self.handle, 0, list_, len(tensors), ctypes.byref(run)
                )
            )

        return queue

    def __call__(self, *tensors) -> None:
        self.bound(*tensors)()


def time_of(call, burst: int = 1) -> float:
    """Milliseconds of a run; of `burst` runs in a row the median, but for the
    first third, in which the card comes to the clock that it keeps under load."""
    import torch

    events = [torch.cuda.Event(enable_timing=True) for _ in range(burst + 1)]
    events[0].record()
    for event in events[1:]:
        call()
        event.record()
    events[-1].synchronize()
    pairs = list(zip(events, events[1:]))[burst // 3 :]
    return statistics.median(begin.elapsed_time(end) for begin, end in pairs)


def inputs(case) -> list:
    """q, k, v; nothing larger exists on the way."""
    import torch

    shape = (case.batch, case.length, case.heads, case.dim)
    dtype = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
    return [
        torch.randn(shape, device="cuda", dtype=dtype[case.dtype]) for _ in range(3)
    ]


def _error(case, tensors, out) -> float:
    """Worst error of sampled rows of the first batch item, in f64."""
    import reference

    rows = []
    while len(rows) < 32:
        position, head = random.randrange(case.length), random.randrange(case.heads)
        if reference.visible_keys(case, position, head):
            rows.append((position, head))
    on_host = [each[:1].float().cpu() for each in (*tensors, out)]
    return reference.worst_error(case, *on_host, rows)


def describe(options, compiler: str) -> dict:
    """Where, when, of what and how a result was measured."""
    import torch

    command = ["tools/ringlet-bench/ringlet-bench", options.suite]
    command += ["--target", options.target, "--programs", str(options.programs)]
    command += ["--repeat", str(options.repeat)]
    if options.burst > 1:
        command += ["--burst", str(options.burst)]
    if options.utilisation:
        command.append("--utilisation")
    for name in ("peers", "only"):
        if getattr(options, name):
            command += [f"--{name}", getattr(options, name)]
    return {
        "card": torch.cuda.get_device_properties(0).name,
        "date": datetime.date.today().isoformat(),
        "versions": {
            "ringlet": compiler,
            "torch": torch.__version__,
            "cudnn": torch.backends.cudnn.version(),
            "cuda": torch.version.cuda,
        },
        "command": shlex.join(command),
        "repeats": options.repeat,
        "burst": options.burst,
    }


def write_result(options, result: dict) -> None:
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(result, indent=1) + "\n")


def measure(case, programs, options, card) -> list:
    """One result for each program, beside each peer that takes the case."""
    import torch

    calls, outputs = {}, {}
    tensors = inputs(case)
    for name, program in programs.items():
        out = torch.full_like(tensors[0], torch.nan)
        lse = torch.full(case.lse_shape, torch.nan, device="cuda")
        outputs[name] = (out, lse)
        calls[name] = lambda t, p=program, o=out, s=lse: p(*t, o, s) or o
    for name, peer in gpu_peers.peers(case, options.programs, options.peers).items():
        calls[name] = lambda t, p=peer: p(*t)
    errors = {}
    for name in list(calls):
        try:
            out = calls[name](tensors)
            torch.cuda.synchronize()
            errors[name] = _error(case, tensors, out)
            most = TOLERANCES[case.precision] if case.dtype == "f32" else TOLERANCE
            if not errors[name] <= most:
                raise ValueError(
                    f"expected an error of at most {most}, found {errors[name]}"
                )
        except Exception as error:  # A compiler of a peer raises what it likes.
            if name in programs:
                raise RuntimeError(f"{case.name}, {name}: {error}") from error
            reason = gpu_peers.refusal(error)
            print(f"{name} does not take {case.name}: {reason}", flush=True)
            del calls[name]
    for name in programs:
        out, lse = outputs[name]
        if out.isnan().any() or lse.isnan().any():
            raise RuntimeError(f"{case.name}, {name}: wrong result, NaN in it")
    times = {name: [] for name in calls}
    for _ in range(options.repeat):
        tensors = inputs(case)
        order = list(calls)
        random.shuffle(order)
        for name in order:
            calls[name](tensors)  # warms caches and clocks the same for all
            run = time_of(lambda: calls[name](tensors), options.burst)
            times[name].append(run)
    if len(calls) == len(programs):
        for name in programs:
            value = statistics.median(times[name])
            print(f"{case.name}, {name}: {value:.3f} ms, no peer", flush=True)
    used = {}
    for name in programs:
        used[name] = gpu_metrics.roofline(card, case)
        if options.utilisation:
            call = lambda: calls[name](tensors)
            share = gpu_metrics.by_clock(card, case, call)
            if share:
                used[name] |= {
                    "utilisation": round(share, 3),
                    "utilisation_by": "clock beside",
                }
    found = []
    for name in programs:
        for peer in (each for each in calls if each not in programs):
            result = results.beside(
                f"{case.name}, {name}", times[name], peer, times[peer], DIGITS
            )
            goal = case.goal_beside(name, peer)
            result |= {
                "gflops": round(case.flops / statistics.median(times[name]) / 1e6),
                "error": float(f"{errors[name]:.2e}"),
                "peer_error": float(f"{errors[peer]:.2e}"),
                **(goal._asdict() if goal else {}),
                **used[name],
            }
            found.append(result)
            print(
                "{name:46} {value:9.3f} ms {gflops:7} GFLOP/s   {peer:20} "
                "{peer_value:9.3f} ms   {speedup:5.2f}x   "
                "error {error:.1e} / {peer_error:.1e}".format(**result)
                + "".join(f"   {key} {value}" for key, value in used[name].items()),
                flush=True,
            )
    return found


def open_context(options):
    """A context of the cuda driver, and the runtime's library."""
    import ringlet
    from ringlet import _capi

    ringlet.configure(runtime=options.runtime)
    library = _capi.library()
    settings, context = _capi.ContextOptions(), ctypes.c_void_p()
    settings.driver = b"cuda"
    if library.rl_context_create(ctypes.byref(settings), ctypes.byref(context)):
        raise SystemExit(library.rl_last_error().decode())
    return context, library


def load(case, options, context, library) -> dict:
    """The case's program of each target."""
    return {
        target: Program(library, context, artefact(options.programs, case, target))
        for target in options.target.split(",")
    }


def once(options) -> int:
    """Runs each program once between the marks that a profiler looks for."""
    import torch

    context, library = open_context(options)
    for case in cases.chosen(options.only, "cuda"):
        tensors = inputs(case)
        out = torch.empty_like(tensors[0])
        lse = torch.empty(case.lse_shape, device="cuda")
        for program in load(case, options, context, library).values():
            program(*tensors, out, lse)
            torch.cuda.synchronize()
            torch.cuda.profiler.start()
            torch.cuda._sleep(1)  # gpu_metrics.MARKER
            program(*tensors, out, lse)
            torch.cuda.synchronize()
            torch.cuda.profiler.stop()
    return 0


def add_profiles(found: list, options, card) -> None:
    """Puts what ncu counts into the results, where there is an ncu."""
    chosen = cases.chosen(options.only, "cuda")
    for target in options.target.split(","):
        profiles = gpu_metrics.profile(
            options, "cuda", target, [gpu_metrics.CYCLES]
        )
        if len(profiles) != len(chosen):
            if profiles:
                print(
                    f"ncu is left out: expected {len(chosen)} programs, found "
                    f"{len(profiles)}",
                    flush=True,
                )
            continue
        for case, counted in zip(chosen, profiles):
            share = gpu_metrics.utilisation(card, case.flops, counted[gpu_metrics.CYCLES])
            if share is None:
                continue
            used = {"utilisation": round(share, 3), "utilisation_by": "ncu"}
            print(f"{case.name}, {target}: {used}", flush=True)
            for result in found:
                if result["name"] == f"{case.name}, {target}":
                    result.update(used)


def run(options) -> int:
    import torch

    context, library = open_context(options)
    torch.manual_seed(1)
    random.seed(1)
    card = gpu_metrics.Card.of(torch.cuda.get_device_properties(0))
    found = []
    compiler = ""
    for case in cases.chosen(options.only, "cuda"):
        programs = load(case, options, context, library)
        compiler = next(iter(programs.values())).compiler
        found += measure(case, programs, options, card)
    if options.utilisation:
        torch.cuda.empty_cache()
        add_profiles(found, options, card)
    result = {**describe(options, compiler), "cases": found}
    if card.peak and card.bandwidth:
        result["peaks"] = {"flops": card.peak, "bandwidth": card.bandwidth}
    write_result(options, result)
    return 0
