# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batches of sequences on a GPU, packed and padded.

Packed ones stand beside FlashAttention 2 on the same packed tensors, and beside
what else Ringlet has for them: plain kernels, the padded batch with its lengths,
and the batch as if all sequences had the longest length.
"""

from __future__ import annotations

import dataclasses
import itertools
import pathlib
import random
import re
from typing import Callable, NamedTuple

import cases
import gpu_suite
import results

HEADS = 16
BATCHES = {
    "8 x 4096": (4096,) * 8,
    "8 x 2048": (2048,) * 8,
    "mixed": (8192, 4096, 512, 7001, 3000, 100, 6000, 3867),
    "short": tuple(i * 137 % 900 + 100 for i in range(64)),
}
FA2 = "FA2 in torch"
PLAIN, PADDED, DENSE = "plain kernels", "padded, with lengths", "the longest length"


@dataclasses.dataclass(frozen=True)
class Case:
    """Attention of bf16 sequences with HEADS heads, in bf16."""

    batch: str
    dim: int
    causal: bool

    @property
    def lengths(self) -> tuple:
        return BATCHES[self.batch]

    @property
    def name(self) -> str:
        kind = "causal" if self.causal else "full"
        return f"packed {self.batch} H{HEADS} D{self.dim} bf16 {kind}"

    @property
    def flops(self) -> int:
        """Of both products, counting only pairs that see each other."""
        pairs = sum(
            n * (n + 1) // 2 if self.causal else n * n for n in self.lengths
        )
        return 4 * pairs * HEADS * self.dim


def all_cases() -> list:
    return [
        Case(batch, dim, causal)
        for dim in (128, 64)
        for causal in (False, True)
        for batch in BATCHES
    ]


def chosen(pattern: str) -> list:
    return [case for case in all_cases() if re.search(pattern, case.name)]


def packed_text(dim: int, causal: bool) -> str:
    tensor = f"tensor<?x{HEADS}x{dim}xbf16>"
    lse = f"tensor<{HEADS}x?xf32>"
    return f"""
func.func @attend(%q: {tensor}, %k: {tensor}, %v: {tensor}, %starts: tensor<?xi64>)
    -> ({tensor}, {lse}) {{
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = *, r = 1>]
      {"causal" if causal else ""} packed(%starts, %starts)
      : ({tensor}, {tensor}, {tensor}, tensor<?xi64>, tensor<?xi64>)
      -> ({tensor}, {lse})
  return %o, %lse : {tensor}, {lse}
}}
"""


def padded_text(dim: int, causal: bool, has_lengths: bool) -> str:
    tensor = f"tensor<?x?x{HEADS}x{dim}xbf16>"
    lse = f"tensor<?x{HEADS}x?xf32>"
    lengths = "tensor<?xi64>, tensor<?xi64>"
    argument = ", %n: tensor<?xi64>" if has_lengths else ""
    return f"""
func.func @attend(%q: {tensor}, %k: {tensor}, %v: {tensor}{argument})
    -> ({tensor}, {lse}) {{
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = *, r = 1>]
      {"causal" if causal else ""} {"lengths(%n, %n)" if has_lengths else ""}
      : ({tensor}, {tensor}, {tensor}{", " + lengths if has_lengths else ""})
      -> ({tensor}, {lse})
  return %o, %lse : {tensor}, {lse}
}}
"""


def programs(dim: int, causal: bool) -> dict:
    """The text and the recipe of each; "" is the packed one that is timed."""
    packed = packed_text(dim, causal)
    return {
        "": (packed, "auto"),
        PLAIN: (packed, "plain"),
        PADDED: (padded_text(dim, causal, True), "auto"),
        DENSE: (padded_text(dim, causal, False), "auto"),
    }


def artefact(folder, case: Case, target: str, name: str) -> pathlib.Path:
    kind = "causal" if case.causal else "full"
    words = f"sequences {name} D{case.dim} {kind} {target}"
    return gpu_suite.artefact_of(folder, words)


def prepare(options) -> int:
    folder = pathlib.Path(options.prepare)
    folder.mkdir(parents=True, exist_ok=True)
    kinds = {(case.dim, case.causal): case for case in chosen(options.only)}
    for case in kinds.values():
        for target in options.target.split(","):
            for name, (text, recipe) in programs(case.dim, case.causal).items():
                path = artefact(folder, case, target, name)
                gpu_suite.compile_text(options, target, path, text, recipe)
    return 0


def worst_error(case: Case, tensors, starts, out) -> float:
    """Of sampled rows of each of some sequences, in f64, relative to the greatest
    value."""
    import reference

    places = random.sample(range(len(case.lengths)), min(8, len(case.lengths)))
    errors = []
    for place in places:
        rows = slice(starts[place], starts[place + 1])
        length = case.lengths[place]
        alone = cases.Case(
            "dense", length, HEADS, case.dim, "bf16", case.causal, ((None, 1),), None
        )
        on_host = [each[None, rows].float().cpu() for each in (*tensors, out)]
        sample = [
            (random.randrange(length), random.randrange(HEADS)) for _ in range(8)
        ]
        errors.append(reference.worst_error(alone, *on_host, sample))
    return max(errors)


def padded(case: Case, tensors, starts) -> list:
    """q, k and v with a row of zeros wherever a sequence has none."""
    import torch

    longest = max(case.lengths)
    result = []
    for packed in tensors:
        whole = packed.new_zeros(len(case.lengths), longest, HEADS, case.dim)
        for i, length in enumerate(case.lengths):
            whole[i, :length] = packed[starts[i] : starts[i + 1]]
        result.append(whole)
    torch.cuda.synchronize()
    return result


class Call(NamedTuple):
    """What is timed, and how to see what it computed, packed; None if it computes
    something else."""

    run: Callable
    output: Callable | None


def calls_of(case: Case, tensors, starts, load) -> dict:
    import torch

    q, k, v = tensors
    ends = torch.tensor(starts, device="cuda")
    ends32, longest = ends.int(), max(case.lengths)
    calls = {}
    for name in ("", PLAIN):
        out = torch.full_like(q, torch.nan)
        lse = torch.empty(HEADS, len(q), device="cuda")
        queue = load(name).bound(q, k, v, ends, out, lse)
        calls[name] = Call(queue, lambda o=out: o)
    flash = torch.ops.aten._flash_attention_forward
    calls[FA2] = Call(
        lambda: flash(
            q, k, v, ends32, ends32, longest, longest, 0.0, case.causal, False
        ),
        lambda: calls[FA2].run()[0],
    )
    # Of short sequences most of a padded batch would be padding.
    if len(case.lengths) <= 8:
        whole = padded(case, tensors, starts)
        out = torch.full_like(whole[0], torch.nan)
        lse = torch.empty(len(case.lengths), HEADS, longest, device="cuda")
        lengths = torch.tensor(case.lengths, device="cuda")
        calls[PADDED] = Call(
            load(PADDED).bound(*whole, lengths, out, lse),
            lambda: torch.cat([out[i, :n] for i, n in enumerate(case.lengths)]),
        )
        calls[DENSE] = Call(load(DENSE).bound(*whole, out.clone(), lse), None)
    return calls


def measure(case: Case, target: str, load, options) -> list:
    """The packed program beside each of the others."""
    import torch

    starts = [0, *itertools.accumulate(case.lengths)]
    shape = (starts[-1], HEADS, case.dim)
    tensors = [
        torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(3)
    ]
    calls, errors = calls_of(case, tensors, starts, load), {}
    for name, call in calls.items():
        call.run()
        if call.output:
            torch.cuda.synchronize()
            errors[name] = worst_error(case, tensors, starts, call.output())
            if not errors[name] <= gpu_suite.TOLERANCE:
                raise SystemExit(
                    f"{case.name}, {target}, {name or 'packed'}: expected an error of "
                    f"at most {gpu_suite.TOLERANCE}, found {errors[name]}"
                )
    times = {name: [] for name in calls}
    for _ in range(options.repeat):
        for name in random.sample(list(calls), len(calls)):
            calls[name].run()  # warms caches and clocks the same for all
            times[name].append(gpu_suite.time_of(calls[name].run, options.burst))
    found = []
    for peer in (name for name in calls if name):
        result = results.beside(
            *(f"{case.name}, {target}", times[""], peer, times[peer]),
            gpu_suite.DIGITS,
        )
        result["gflops"] = round(case.flops / result["value"] / 1e6)
        result["error"] = float(f"{errors['']:.2e}")
        if peer in errors:
            result["peer_error"] = float(f"{errors[peer]:.2e}")
        found.append(result)
        print(
            "{name:46} {value:9.3f} ms   {peer:20} {peer_value:9.3f} ms   "
            "{speedup:5.2f}x".format(**result),
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

            def load(name):
                path = artefact(options.programs, case, target, name)
                program = gpu_suite.Program(library, context, path)
                compilers.add(program.compiler)
                return program

            found += measure(case, target, load, options)
    gpu_suite.write_result(
        options,
        {
            "title": "packed sequences",
            **gpu_suite.describe(options, ", ".join(sorted(compilers))),
            "cases": found,
        },
    )
    return 0
