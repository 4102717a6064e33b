# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Few queries over a long cache of keys and values, beside torch, in this process."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import pathlib
import random
import re
import shlex
import sys
import time

import torch
import torch.nn.functional

import parts
import ringlet
import suite

SDPA = torch.nn.functional.scaled_dot_product_attention


@dataclasses.dataclass(frozen=True)
class Case:
    """One step of `queries` queries over `keys` keys, every query sees all."""

    queries: int
    keys: int
    dtype: str
    heads: int = 8
    key_heads: int = 2
    dim: int = 64

    @property
    def name(self) -> str:
        return (
            f"decode {self.queries} x {self.keys} H{self.heads}/{self.key_heads} "
            f"D{self.dim} {self.dtype}"
        )

    @property
    def text(self) -> str:
        """The graph; both lengths are dynamic, as those of a cache are."""
        q = f"tensor<1x?x{self.heads}x{self.dim}x{self.dtype}>"
        k = f"tensor<1x?x{self.key_heads}x{self.dim}x{self.dtype}>"
        return f"""
func.func @attend(%q: {q}, %k: {k}, %v: {k}) -> {q} {{
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = *, r = 1>]
      : ({q}, {k}, {k}) -> ({q}, tensor<1x{self.heads}x?xf32>)
  return %o : {q}
}}
"""

    @property
    def bytes(self) -> int:
        """Of K and V."""
        element = {"f32": 4, "bf16": 2}[self.dtype]
        return 2 * self.keys * self.key_heads * self.dim * element


def all_cases() -> list[Case]:
    return [
        Case(queries, keys, dtype)
        for dtype in ("f32", "bf16")
        for keys in (1024, 4096, 16384, 65536)
        for queries in (1, 4, 16, 32)
    ]


def of_heads(case, q, k, v):
    """torch repeats the key heads (`enable_gqa`), or broadcasts them."""
    return SDPA(q, k, v, enable_gqa=case.heads != case.key_heads)


def of_groups(case, q, k, v):
    """The query heads of a key head as further queries, which nothing masks."""
    shape = q.shape
    grouped = q.reshape(1, case.key_heads, -1, case.dim)
    return SDPA(grouped, k, v).view(shape)


PEERS = {"torch SDPA": of_heads, "torch SDPA, heads as queries": of_groups}


def best_of(call, budget: float, repeat: int) -> float:
    """The shortest of many runs, in milliseconds."""
    best, spent, runs = float("inf"), 0.0, 0
    while runs < repeat or spent < budget:
        begin = time.perf_counter()
        call()
        took = time.perf_counter() - begin
        best, spent, runs = min(best, took), spent + took, runs + 1
    return best * 1e3


def measure(case, context, options) -> dict:
    dtype = suite._TORCH[case.dtype]
    program = ringlet.compile(case.text, options.target, context=context)

    def cache():
        return torch.randn(1, case.keys, case.key_heads, case.dim).to(dtype)

    q = torch.randn(1, case.queries, case.heads, case.dim).to(dtype)
    k, v = cache(), cache()
    out = torch.full_like(q, torch.nan)
    # torch's own modules have heads before rows.
    q_, k_, v_ = (x.transpose(1, 2).contiguous() for x in (q, k, v))
    wide = (x.double().repeat_interleave(case.heads // case.key_heads, 1)
            for x in (k_, v_))  # fmt: skip
    exact = SDPA(q_.double(), *wide).transpose(1, 2)
    calls = {"ringlet": lambda: program(q, k, v, out=out)}
    for name, peer in PEERS.items():
        calls[name] = lambda peer=peer: peer(case, q_, k_, v_)
    program(q, k, v, out=out)
    error = ((out.double() - exact).abs().max() / exact.abs().max()).item()
    if not error <= suite.TOLERANCE[case.dtype]:
        raise suite.Failure(
            f"{case.name}: expected an error of at most "
            f"{suite.TOLERANCE[case.dtype]}, found {error:.3g}"
        )
    buffer = torch.ones(case.bytes // 4)
    calls["read"] = lambda: buffer.sum()
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(options.repeat):
        names = list(calls)
        random.shuffle(names)
        for name in names:
            time.sleep(0.01)  # Threads of the side before spin for a while.
            best[name] = min(best[name], best_of(calls[name], 0.02, 5))
    peer = min(PEERS, key=best.get)
    value, peer_value = round(best["ringlet"], 4), round(best[peer], 4)
    return {
        "name": case.name,
        "value": value,
        "unit": "ms",
        "peer": peer,
        "peer_value": peer_value,
        "speedup": round(peer_value / value, 3),
        "at_least": 1.0,
        "aim": 1.5,
        "gigabytes_per_second": round(case.bytes / value / 1e6, 2),
        "share_of_reading": round(best["read"] / value, 3),
        "others": {name: round(best[name], 4) for name in PEERS if name != peer},
        "error": float(f"{error:.2e}"),
    }


def run(options) -> int:
    build = pathlib.Path(options.build)
    ringlet.configure(
        runtime=build / "lib/libringlet_runtime.so.1",
        compiler=build / "bin/ringlet-compile",
    )
    chosen = [case for case in all_cases() if re.search(options.only, case.name)]
    if not chosen:
        names = "\n  ".join(case.name for case in all_cases())
        print(f"expected --only to match one of\n  {names}", file=sys.stderr)
        return 2
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    random.seed(1)
    cpus = sorted(os.sched_getaffinity(0))
    context = suite.bind(lambda: ringlet.Context(threads=options.threads), cpus)
    suite.bind(lambda: torch.randn(512, 512) @ torch.randn(512, 512), cpus)
    os.sched_setaffinity(0, {cpus[0]})
    load = round(os.getloadavg()[0], 2)
    print(f"{options.threads} threads, load of the machine before: {load}")
    found = []
    for case in chosen:
        try:
            found.append(measure(case, context, options))
        except (suite.Failure, ringlet.Error) as error:
            print(f"ringlet-bench: {error}", file=sys.stderr)
            return 1
        last = found[-1]
        print(
            f"{last['name']:36} {last['value']:8.3f} ms   {last['peer']} "
            f"{last['peer_value']:8.3f} ms   {last['speedup']:5.2f}x   "
            f"{last['gigabytes_per_second']:6.1f} GB/s, {last['share_of_reading']:.2f} "
            "of the rate of reading",
            flush=True,
        )
    if options.out:
        program = ringlet.compile(chosen[0].text, options.target, context=context)
        content = {
            "card": f"{options.card or parts.card_name()}, {options.threads} threads",
            "kind": "decode",
            "date": datetime.date.today().isoformat(),
            "versions": suite.versions(options.root, program),
            "command": shlex.join(["ringlet-bench", *sys.argv[1:]]),
            "load_before": load,
            "repeats": options.repeat,
            "cases": found,
        }
        pathlib.Path(options.out).write_text(json.dumps(content, indent=2) + "\n")
    return 0
