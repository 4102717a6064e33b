# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention on an NVIDIA GPU beside cuDNN and FlashAttention 2 in torch.

A machine with a GPU need not have the compiler: `prepare` compiles the programs
of all cases where the compiler is, `run` times them where the GPU is.
"""

from __future__ import annotations

import ctypes
import datetime
import json
import pathlib
import random
import re
import statistics
import subprocess
import sys

import cases


def artefact(folder, case, target: str) -> pathlib.Path:
    name = re.sub(r"[^a-z0-9]+", "-", f"{case.name} {target}".lower())
    return pathlib.Path(folder) / f"{name}.rla"


def prepare(options) -> int:
    """Compiles each case for each target into options.prepare."""
    compiler = pathlib.Path(options.build) / "bin/ringlet-compile"
    folder = pathlib.Path(options.prepare)
    folder.mkdir(parents=True, exist_ok=True)
    for case in cases.chosen(options.only, "cuda"):
        for target in options.target.split(","):
            path = artefact(folder, case, target)
            command = [
                compiler,
                "-",
                f"--target={target}",
                f"--recipe={options.recipe}",
                "-o",
                path,
            ]
            subprocess.run(command, input=case.text, text=True, check=True)
            print(f"{path} {path.stat().st_size} bytes", flush=True)
    return 0


class Program:
    """An artefact on the GPU, called with torch tensors on torch's stream."""

    def __init__(self, library, context, path):
        self.library, self.handle = library, ctypes.c_void_p()
        data = path.read_bytes()
        library.rl_program_enqueue.argtypes = [
            ctypes.c_void_p,
            ctypes.c_uint32,
            ctypes.c_void_p,
            ctypes.c_uint32,
            ctypes.c_void_p,
        ]
        self.check(
            library.rl_program_load(context, data, len(data), ctypes.byref(self.handle))
        )
        self.compiler = library.rl_program_compiler(self.handle).decode()
        self.target = library.rl_program_target(self.handle).decode()

    def check(self, status) -> None:
        if status:
            raise RuntimeError(self.library.rl_last_error().decode())

    def __call__(self, *tensors) -> None:
        """q, k, v, output, lse: queued on the current stream."""
        import torch

        from ringlet import _capi

        list_ = (_capi.Tensor * len(tensors))()
        keep = []
        for entry, tensor in zip(list_, tensors):
            sizes = (ctypes.c_int64 * tensor.dim())(*tensor.shape)
            strides = (ctypes.c_int64 * tensor.dim())(*tensor.stride())
            keep += [sizes, strides]
            name = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}
            entry.data = tensor.data_ptr()
            entry.dtype = _capi.DTYPES[name[str(tensor.dtype).split(".")[1]]]
            entry.rank = tensor.dim()
            entry.sizes, entry.strides = sizes, strides
        stream = torch.cuda.current_stream().cuda_stream
        self.check(
            self.library.rl_program_enqueue(
                self.handle, 0, list_, len(tensors), ctypes.c_void_p(stream)
            )
        )


def _gather(case, x):
    """Rows of the case's one branch, [segments, heads, rows, dim]."""
    (w, r), heads, dim = case.branches[0], case.heads, case.dim
    if w is None:
        return x.transpose(1, 2)
    n = case.length // w
    split = x.view(n, w // r, r, heads // r, r, dim).diagonal(dim1=2, dim2=4)
    return split.permute(0, 2, 4, 1, 3).reshape(n, heads, w // r, dim)


def _scatter(case, out, like):
    (w, r), heads, dim = case.branches[0], case.heads, case.dim
    if w is None:
        return out.transpose(1, 2)
    n = case.length // w
    result = like.new_zeros(like.shape)
    target = result.view(n, w // r, r, heads // r, r, dim).diagonal(dim1=2, dim2=4)
    target.copy_(
        out.reshape(n, heads // r, r, w // r, dim).permute(0, 3, 1, 4, 2)
    )
    return result


def peers(case) -> dict:
    """Name and call of each peer; one that refuses the case raises."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    def call(backend):
        def attend(q, k, v):
            with sdpa_kernel(backend):
                out = scaled_dot_product_attention(
                    *(_gather(case, each) for each in (q, k, v)),
                    is_causal=case.causal,
                )
            return _scatter(case, out, q)

        return attend

    prefix = "" if case.family == "dense" else "gather + "
    return {
        f"{prefix}cuDNN": call(SDPBackend.CUDNN_ATTENTION),
        f"{prefix}FA2 in torch": call(SDPBackend.FLASH_ATTENTION),
    }


def _time(call) -> float:
    import torch

    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end)


def _inputs(case):
    import torch

    shape = (case.batch, case.length, case.heads, case.dim)
    dtype = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
    return [
        torch.randn(shape, device="cuda").to(dtype[case.dtype]) for _ in range(3)
    ]


def _error(case, tensors, out) -> float:
    """Worst error of sampled rows of the first batch item, in f64."""
    import reference

    w, r = case.branches[0]
    rows = []
    while len(rows) < 32:
        position, head = random.randrange(case.length), random.randrange(case.heads)
        if w is None or position % w % r == head % r:
            rows.append((position, head))
    on_host = [each[:1].float().cpu() for each in (*tensors, out)]
    return reference.worst_error(case, *on_host, rows)


def measure(case, programs, options) -> list:
    """One result for each program, beside each peer that takes the case."""
    import torch

    calls, outputs = {}, {}
    tensors = _inputs(case)
    for name, program in programs.items():
        out = torch.full_like(tensors[0], torch.nan)
        lse = torch.full(
            (case.batch, case.heads, case.length), torch.nan, device="cuda"
        )
        outputs[name] = (out, lse)
        calls[name] = lambda t, p=program, o=out, s=lse: p(*t, o, s) or o
    for name, peer in peers(case).items():
        calls[name] = lambda t, p=peer: p(*t)
    errors = {}
    for name in list(calls):
        try:
            out = calls[name](tensors)
            torch.cuda.synchronize()
            errors[name] = _error(case, tensors, out)
        except RuntimeError as error:
            if name in programs:
                raise
            print(f"{name} does not take {case.name}: {str(error)[:80]}")
            del calls[name]
    for name in programs:
        out, lse = outputs[name]
        if out.isnan().any() or lse.isnan().any() or not errors[name] <= 4e-2:
            raise RuntimeError(
                f"{case.name}, {name}: wrong result, error {errors[name]}"
            )
    times = {name: [] for name in calls}
    for _ in range(options.repeat):
        tensors = _inputs(case)
        order = list(calls)
        random.shuffle(order)
        for name in order:
            calls[name](tensors)  # warms caches and clocks the same for all
            times[name].append(_time(lambda: calls[name](tensors)))
    results = []
    for name in programs:
        for peer in (each for each in calls if each not in programs):
            value = statistics.median(times[name])
            peer_value = statistics.median(times[peer])
            results.append(
                {
                    "name": f"{case.name}, {name}",
                    "value": round(value, 4),
                    "unit": "ms",
                    "peer": peer,
                    "peer_value": round(peer_value, 4),
                    "speedup": round(peer_value / value, 3),
                    "goal": case.goal,
                    "min": round(min(times[name]), 4),
                    "max": round(max(times[name]), 4),
                    "peer_min": round(min(times[peer]), 4),
                    "peer_max": round(max(times[peer]), 4),
                    "gflops": round(case.flops / value / 1e6),
                    "error": float(f"{errors[name]:.2e}"),
                    "peer_error": float(f"{errors[peer]:.2e}"),
                }
            )
            print(
                "{name:46} {value:9.3f} ms {gflops:7} GFLOP/s   {peer:20} "
                "{peer_value:9.3f} ms   {speedup:5.2f}x   "
                "error {error:.1e} / {peer_error:.1e}".format(**results[-1]),
                flush=True,
            )
    return results


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


def run(options) -> int:
    import torch

    context, library = open_context(options)
    torch.manual_seed(1)
    random.seed(1)
    found = []
    compiler = ""
    for case in cases.chosen(options.only, "cuda"):
        programs = {}
        for target in options.target.split(","):
            path = artefact(options.programs, case, target)
            programs[target] = Program(library, context, path)
            compiler = programs[target].compiler
        found += measure(case, programs, options)
    properties = torch.cuda.get_device_properties(0)
    result = {
        "card": properties.name,
        "date": datetime.date.today().isoformat(),
        "versions": {
            "ringlet": compiler,
            "torch": torch.__version__,
            "cudnn": torch.backends.cudnn.version(),
            "cuda": torch.version.cuda,
        },
        "command": f"tools/ringlet-bench/ringlet-bench cuda --target {options.target} "
        f"--programs {options.programs} --repeat {options.repeat}",
        "repeats": options.repeat,
        "cases": found,
    }
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(result, indent=1) + "\n")
    return 0
