# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Few queries over a long cache of keys and values on a GPU, whose second-level
cache is overwritten before each run, beside what torch has."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import pathlib
import random
import re
from typing import Callable, NamedTuple

import gpu_suite
import results


@dataclasses.dataclass(frozen=True)
class Case:
    """Each of `batch` sequences has `queries` queries over `keys` keys, all of which
    every query sees, in bf16, in pages of so many rows or side by side, from row 0 on,
    be it said or not. Keys and values may have 8 bits, with a scale for each head.
    With `lengths`, sequences have so many of the keys, the last one the most."""

    batch: int
    queries: int
    keys: int
    key_heads: int = 8
    dim: int = 128
    heads: int = 32
    page: int = 0
    has_begins: bool = False
    narrow: str = ""
    lengths: tuple = ()

    @property
    def name(self) -> str:
        further = f" K and V {self.narrow}" if self.narrow else ""
        further += f" pages of {self.page}" if self.page else ""
        further += " begins" if self.has_begins else ""
        over = ", ".join(str(length) for length in self.lengths) or self.keys
        return (
            f"decode {self.batch} x {self.queries} over {over} "
            f"H{self.heads}/{self.key_heads} D{self.dim} bf16{further}"
        )

    @property
    def plain(self) -> Case:
        """The same in 16 bits, without what says where rows lie."""
        return dataclasses.replace(self, page=0, has_begins=False, narrow="")

    @property
    def bytes(self) -> int:
        """Of K and V."""
        of_element = 1 if self.narrow else 2
        rows = sum(self.lengths) or self.batch * self.keys
        return 2 * of_element * rows * self.key_heads * self.dim

    @property
    def text(self) -> str:
        """The graph; batch and lengths are dynamic, as those of a cache are."""
        q = f"tensor<?x?x{self.heads}x{self.dim}xbf16>"
        k = f"tensor<?x{self.page or '?'}x{self.key_heads}x{self.dim}x{self.narrow or 'bf16'}>"
        lse = f"tensor<?x{self.heads}x?xf32>"
        argument = clause = operand = ""
        if self.page:
            operand = ", tensor<?x?xi32>"
            argument, clause = f", %pages: {operand[2:]}", " pages(%pages)"
        if self.has_begins:
            argument += ", %begins: tensor<?xi32>"
            clause += " key_begins(%begins)"
            operand += ", tensor<?xi32>"
        if self.lengths:
            argument += ", %q_lengths: tensor<?xi64>, %k_lengths: tensor<?xi64>"
            clause += " lengths(%q_lengths, %k_lengths)"
            operand += ", tensor<?xi64>, tensor<?xi64>"
        if self.narrow:
            scales = f"tensor<{self.key_heads}xf32>"
            argument += f", %k_scale: {scales}, %v_scale: {scales}"
            clause += " k_scale(%k_scale) v_scale(%v_scale)"
            operand += f", {scales}, {scales}"
        return f"""
func.func @attend(%q: {q}, %k: {k}, %v: {k}{argument}) -> ({q}, {lse}) {{
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = *, r = 1>]{clause}
      : ({q}, {k}, {k}{operand}) -> ({q}, {lse})
  return %o, %lse : {q}, {lse}
}}
"""

    def artefact(self, folder, target: str) -> pathlib.Path:
        kind = f"decode H{self.heads} {self.key_heads} D{self.dim} P{self.page} {target}"
        kind += " begins" if self.has_begins else ""
        kind += f" {self.narrow}" if self.narrow else ""
        kind += " lengths" if self.lengths else ""
        return gpu_suite.artefact_of(folder, kind)


def all_cases() -> list:
    return [
        *(Case(8, 1, keys) for keys in (4096, 131072)),
        *(Case(1, 1, keys) for keys in (1024, 2048, 4096, 8192, 32768, 131072)),
        *(Case(4, queries, 8192) for queries in (2, 8)),
        Case(2, 16, 32768),
        Case(1, 64, 65536),
        *(Case(1, queries, 32768) for queries in (128, 256, 512)),
        *(Case(1, 1, keys, key_heads=32) for keys in (2048, 32768)),
        Case(4, 4, 8192, key_heads=32),
        Case(1, 1, 32768, dim=64),
        Case(1, 1, 32768, dim=256),
        Case(8, 1, 32768, dim=256),
        Case(3, 5, 10007, key_heads=4, heads=28, dim=80),
        Case(3, 5, 131071, key_heads=4, heads=28, dim=80, lengths=(1, 7, 131071)),
        *(Case(8, 1, 131072, page=page) for page in (16, 64, 256)),
        *(Case(1, 1, 32768, page=page) for page in (16, 64, 256)),
        *(Case(8, 1, 131072, page=page, has_begins=True) for page in (0, 16)),
        *(Case(1, 1, keys, has_begins=True) for keys in (4096, 32768)),
        *(
            Case(batch, 1, keys, narrow=narrow)
            for narrow in ("f8E4M3FN", "i8")
            for batch, keys in ((8, 131072), (1, 32768), (8, 4096))
        ),
        Case(8, 1, 131072, page=16, narrow="f8E4M3FN"),
    ]


def chosen(pattern: str) -> list:
    return [case for case in all_cases() if re.search(pattern, case.name)]


def prepare(options) -> int:
    folder = pathlib.Path(options.prepare)
    folder.mkdir(parents=True, exist_ok=True)
    for target in options.target.split(","):
        cases = chosen(options.only)
        # Those in pages, or with begins, are measured beside the same without.
        cases += [case.plain for case in cases]
        programs = {case.artefact(folder, target): case for case in cases}
        for path, case in programs.items():
            gpu_suite.compile_text(options, target, path, case.text)
    return 0


class Call(NamedTuple):
    """What is timed, and where; entering that place takes longer than a call."""

    run: Callable
    place: Callable = contextlib.nullcontext

    def time(self) -> float:
        with self.place():
            self.run()
            # More than any second-level cache holds. It also gives the host time
            # to queue what is timed before the device comes to it.
            flood().zero_()
            return gpu_suite.time_of(self.run)


@functools.cache
def flood():
    import torch

    return torch.empty(256 << 20, dtype=torch.uint8, device="cuda")


def peers_of(case: Case, q, k, v) -> dict:
    """torch's kernels, by name. They want heads before rows, as a view."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    # Of lengths they know nothing: the longest sequence, alone.
    first = case.batch - 1 if case.lengths else 0
    tensors = [each[first:].transpose(1, 2) for each in (q, k, v)]
    run = functools.partial(
        torch.nn.functional.scaled_dot_product_attention,
        *tensors,
        enable_gqa=case.heads != case.key_heads,
    )
    kinds = {
        "FA2 in torch": SDPBackend.FLASH_ATTENTION,
        "cuDNN": SDPBackend.CUDNN_ATTENTION,
    }
    alone = ", longest alone" if case.lengths else ""
    return {
        name + alone: Call(run, functools.partial(sdpa_kernel, [kind]))
        for name, kind in kinds.items()
    }


def in_pages(case: Case, k, v) -> tuple:
    """The same rows in pages that lie in any order, and their table."""
    import torch

    order = torch.randperm(case.batch * case.keys // case.page, device="cuda")
    table = torch.argsort(order).view(case.batch, -1).int()
    shape = (len(order), case.page, case.key_heads, case.dim)
    # As integers, since torch does not move all types of 8 bits.
    kind = torch.int8 if case.narrow else k.dtype
    return *(each.view(kind).view(shape)[order].view(k.dtype) for each in (k, v)), table


def narrowed(case: Case, k, v) -> tuple:
    """Keys and values in 8 bits, and what they are multiplied with: a power of two,
    so that bf16 has what they stand for."""
    import torch

    if case.narrow == "i8":
        scale = 1 / 32
        narrow = [(each.float() / scale).round().clamp(-128, 127).to(torch.int8) for each in (k, v)]
    else:
        scale = 1 / 64
        narrow = [(each.float() / scale).clamp(-448, 448).to(torch.float8_e4m3fn) for each in (k, v)]
    scales = torch.full((case.key_heads,), scale, device="cuda")
    wide = [(each.float() * scale).bfloat16() for each in narrow]
    return narrow, (scales, scales), wide


def error_of(case: Case, q, k, v, out) -> float:
    """Of the last sequence, in f64, relative to the greatest value."""
    import torch

    group = case.heads // case.key_heads
    q, k, v, out = (each[-1].double().transpose(0, 1) for each in (q, k, v, out))
    k, v = (each.repeat_interleave(group, 0) for each in (k, v))
    weights = torch.softmax(q @ k.transpose(1, 2) / case.dim**0.5, -1)
    exact = weights @ v
    return ((out - exact).abs().max() / exact.abs().max()).item()


def measure(case: Case, target: str, load, options) -> list:
    import torch

    def draw(rows, heads):
        shape = (case.batch, rows, heads, case.dim)
        return torch.randn(shape, device="cuda", dtype=torch.bfloat16)

    q = draw(case.queries, case.heads)
    k, v = (draw(case.keys, case.key_heads) for _ in range(2))
    out = torch.full_like(q, torch.nan)
    lse = torch.empty(case.batch, case.heads, case.queries, device="cuda")
    sides, scales = (k, v), ()
    if case.narrow:
        sides, scales, (k, v) = narrowed(case, k, v)
    inputs = (q, *in_pages(case, *sides)) if case.page else (q, *sides)
    if case.lengths:
        queries = [case.queries] * case.batch
        inputs += tuple(torch.tensor(each, device="cuda") for each in (queries, case.lengths))
    if case.has_begins:
        inputs += (torch.zeros(case.batch, dtype=torch.int32, device="cuda"),)
    inputs += scales
    calls = {"": Call(load(case).bound(*inputs, out, lse))}
    calls[""].run()
    torch.cuda.synchronize()
    error = error_of(case, q, k, v, out)
    if not error <= gpu_suite.TOLERANCE:
        raise SystemExit(
            f"{case.name}, {target}: expected an error of at most "
            f"{gpu_suite.TOLERANCE}, found {error}"
        )
    peers = peers_of(case, q, k, v) if case == case.plain else {}
    if case != case.plain:
        beside = load(case.plain)
        name = "side by side" if case.page else "without begins"
        name = "16 bits" if case.narrow else name
        peers[name] = Call(beside.bound(q, k, v, out.clone(), lse.clone()))
    for name, peer in peers.items():
        try:
            peer.time()
        except RuntimeError as refused:
            print(f"{name} does not take {case.name}: {refused}".splitlines()[0])
            continue
        calls[name] = peer
    times = {name: [] for name in calls}
    for _ in range(options.repeat):
        for name in random.sample(list(calls), len(calls)):
            times[name].append(calls[name].time())
    found = []
    for peer in (name for name in calls if name):
        result = results.beside(
            *(f"{case.name}, {target}", times[""], peer, times[peer]), 4
        )
        result["gigabytes_per_second"] = round(case.bytes / result["value"] / 1e6)
        result["error"] = float(f"{error:.2e}")
        found.append(result)
        print(
            "{name:46} {value:9.4f} ms   {gigabytes_per_second:5} GB/s   {peer:14} "
            "{peer_value:9.4f} ms   {speedup:5.2f}x".format(**result),
            flush=True,
        )
    return found


def run(options) -> int:
    import torch

    context, library = gpu_suite.open_context(options)
    torch.manual_seed(1)
    random.seed(1)
    found, compilers = [], set()
    for case in chosen(options.only):
        for target in options.target.split(","):

            def load(of: Case, target: str = target):
                path = of.artefact(options.programs, target)
                program = gpu_suite.Program(library, context, path)
                compilers.add(program.compiler)
                return program

            found += measure(case, target, load, options)
    gpu_suite.write_result(
        options,
        {
            "title": "few queries over many keys",
            **gpu_suite.describe(options, ", ".join(sorted(compilers))),
            "cases": found,
        },
    )
    return 0
