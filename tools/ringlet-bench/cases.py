# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is timed: the operation, its text for Ringlet, its peers in torch."""

from __future__ import annotations

import dataclasses
import re
from typing import NamedTuple

from ringlet import presets


class Goal(NamedTuple):
    """Peer time / our time."""

    at_least: float
    aim: float


# Of plain kernels beside those that torch has for the same GPUs.
PLAIN_GOAL = Goal(0.95, 1.10)


@dataclasses.dataclass(frozen=True)
class Case:
    """Attention of q, k and v [batch, length, heads, dim].

    branches  (w, r) of each; w is None for a segment that holds every position
    grouped   each branch has as many heads of its own, and group i residue i
    goal      on a GPU, of code for GPUs that have recipes, beside cuDNN; in f32,
              which that does not take, beside torch's memory-efficient kernel
    precision what products of f32 may be (R7)
    """

    family: str
    length: int
    heads: int
    dim: int
    dtype: str
    causal: bool
    branches: tuple
    goal: Goal | None
    batch: int = 1
    grouped: bool = False
    precision: str = "f32"

    @property
    def name(self) -> str:
        kind = "causal" if self.causal else "full"
        shape = f"S{self.length} H{self.heads} D{self.dim}"
        if self.batch != 1:
            shape = f"B{self.batch} {shape}"
        dtype = self.dtype
        if self.precision != "f32":
            dtype += f" {self.precision}"
        return f"{self.family} {shape} {dtype} {kind}"

    @property
    def text(self) -> str:
        """The graph; the length is dynamic, as a user would have it."""
        tensor = f"tensor<{self.batch}x?x{self.heads}x{self.dim}x{self.dtype}>"
        lse = f"tensor<{self.batch}x{self.heads}x?xf32>"
        causal = " causal" if self.causal else ""
        if self.precision != "f32":
            causal += f" precision = {self.precision}"
        branches, group = [], self.heads // len(self.branches)
        for index, (w, r) in enumerate(self.branches):
            each = f"w = {'*' if w is None else w}, r = {r}"
            if self.grouped:
                heads = f"[{index * group}, {index * group + group}]"
                each += f", offset = constant<{index}>, heads = {heads}"
            branches.append(f"<{each}>")
        branches = ", ".join(branches)
        if self.grouped:
            causal += " mix = sum"
            lse = lse.replace("<", f"<{len(self.branches)}x")
        return f"""
func.func @attend(%q: {tensor}, %k: {tensor}, %v: {tensor})
    -> ({tensor}, {lse}) {{
  %o, %lse = ringlet.attention %q, %k, %v branches [{branches}]{causal}
      : ({tensor}, {tensor}, {tensor}) -> ({tensor}, {lse})
  return %o, %lse : {tensor}, {lse}
}}
"""

    @property
    def lse_shape(self) -> tuple:
        shape = (self.batch, self.heads, self.length)
        return (len(self.branches), *shape) if self.grouped else shape

    def residue(self, branch: int, head: int) -> int | None:
        """What a head sees of a branch (B2); None if it has no part in it."""
        r = self.branches[branch][1]
        if not self.grouped:
            return head % r
        is_own = head // (self.heads // len(self.branches)) == branch
        return branch % r if is_own else None

    @property
    def flops(self) -> int:
        """Of both products, counting only pairs that see each other."""
        pairs = 0
        for branch, (w, r) in enumerate(self.branches):
            segment = self.length if w is None else w
            # Each head sees one residue; the last segment may be shorter.
            whole, rest = divmod(self.length, segment)
            for head in range(self.heads):
                residue = self.residue(branch, head)
                if residue is None:
                    continue
                for count, size in ((whole, segment), (1, rest)):
                    rows = len(range(residue, size, r))
                    seen = rows * (rows + 1) // 2 if self.causal else rows**2
                    pairs += count * seen
        return 4 * pairs * self.batch * self.dim

    @property
    def bytes(self) -> int:
        """Of q, k, v, the output and lse."""
        rows = self.batch * self.heads * self.length
        element = {"bf16": 2, "f16": 2, "f32": 4}[self.dtype]
        return 4 * rows * self.dim * element + 4 * rows

    @property
    def bytes_with_marks(self) -> int:
        """The same and a mark for each row, which some programs keep."""
        return self.bytes + 4 * self.batch * self.heads * self.length

    def goal_beside(self, target: str, peer: str) -> Goal | None:
        """That of code for one GPU beside one peer, if there is one."""
        if target == "sm_90a" and ("cuDNN" in peer or "mem-efficient" in peer):
            return self.goal
        if target == "sm_80" and peer.endswith("FA2 in torch"):
            return PLAIN_GOAL
        return None

    @property
    def peers(self) -> dict:
        # Not before a process needs it: it brings torch.
        import peers

        if self.family == "dense":
            return {
                "torch SDPA": peers.sdpa,
                "torch SDPA (BHSD)": peers.sdpa_bhsd,
            }
        return {"torch gather + SDPA + mix": peers.longnet}


def cpu_cases() -> list[Case]:
    cases = []
    dense, longnet = Goal(1.0, 1.3), Goal(2.0, 3.0)
    for dim in (64, 128):
        for dtype in ("f32", "bf16"):
            for causal in (False, True):
                cases.append(
                    Case("dense", 2048, 8, dim, dtype, causal, ((None, 1),), dense)
                )
    branches = tuple(zip(*presets.BASE))
    for dtype in ("f32", "bf16"):
        for causal in (False, True):
            cases.append(Case("longnet", 16384, 8, 64, dtype, causal, branches, longnet))
    return cases


# Lists of branches that LongNet is measured with: length, heads, dim, w, r, goals
# of full and of causal attention.
LONGNET = [
    (131072, 16, 128, (2048, 8192, 32768), (1, 4, 16), (2.35, 2.55), (2.8, 3.4)),
    (1048576, 16, 64, (2048, 8192, 32768), (1, 4, 16), (1.9, 2.15), (2.4, 2.8)),
    (131072, 12, 64, (2048, 4096, 8192), (1, 2, 4), (2.2, 2.55), (2.4, 2.9)),
    (65536, 16, 128, (8192, 16384, 32768), (1, 2, 4), (1.6, 1.85), (1.6, 2.0)),
]


def longnet_cuda_cases() -> list[Case]:
    cases = [
        Case(
            "longnet", length, heads, dim, "bf16", causal, tuple(zip(w, r)), Goal(*goal)
        )
        for length, heads, dim, w, r, *goals in LONGNET
        for causal, goal in zip((False, True), goals)
    ]
    base = tuple(zip(*presets.BASE))
    for causal in (False, True):
        shape = ("longnet grouped", 131072, 12, 64, "bf16", causal, base)
        cases.append(Case(*shape, Goal(1.4, 1.8), grouped=True))
    return cases


# What products of f32 may be, and goals.
PRECISIONS = {
    "f32": None,
    "tf32x3": Goal(1.4, 1.8),
    "bf16x3": Goal(1.8, 2.5),
    "tf32": None,
}


def precision_cases() -> list[Case]:
    return [
        Case("dense", length, heads, dim, "f32", causal, ((None, 1),), goal,
             precision=precision)
        for length, heads, dim, causal in (
            (4096, 16, 64, False),
            (4096, 16, 64, True),
            (4096, 16, 128, False),
        )
        for precision, goal in PRECISIONS.items()
    ]


def cuda_cases() -> list[Case]:
    """Dense attention at the sizes that cuDNN is measured at, a branch, lists of
    branches, and f32."""
    dense = ((None, 1),)
    return longnet_cuda_cases() + precision_cases() + [
        Case("dense", 16384, 16, 128, "bf16", False, dense, Goal(1.15, 1.28)),
        Case("dense", 16384, 16, 128, "bf16", True, dense, Goal(1.25, 1.40)),
        Case("dense", 16384, 16, 128, "f16", False, dense, Goal(1.10, 1.25)),
        Case("dense", 16384, 32, 64, "bf16", False, dense, Goal(1.15, 1.35)),
        Case("dense", 16384, 32, 64, "bf16", True, dense, Goal(1.15, 1.35)),
        Case("dense", 16384, 8, 256, "bf16", False, dense, Goal(1.10, 1.18)),
        Case("dense", 16384, 8, 256, "bf16", True, dense, Goal(1.10, 1.22)),
        Case("dense", 2048, 16, 128, "bf16", False, dense, Goal(1.08, 1.16), batch=8),
        Case("dense", 2048, 16, 128, "bf16", True, dense, Goal(1.12, 1.25), batch=8),
        Case("branch", 131072, 16, 128, "bf16", False, ((8192, 4),), Goal(1.40, 1.70)),
    ]


def chosen(pattern: str, suite: str = "cpu") -> list[Case]:
    """The cases whose names the regular expression matches."""
    cases = cuda_cases() if suite == "cuda" else cpu_cases()
    return [case for case in cases if re.search(pattern, case.name)]
