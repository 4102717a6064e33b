# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random attention of f32 for `check`, whose products are exact or of parts (R7), with
few queries half of the time."""

from __future__ import annotations

import dataclasses
import math
import random

import check
import few_queries

NAMES = ("f32", "tf32", "tf32x3", "tf32x3", "bf16x3", "bf16x3")


def _rounded(tensor, precision):
    """To 11 digits, of two numbers at one distance the greater in magnitude, or to 8."""
    import torch

    if precision == "bf16x3":
        return tensor.bfloat16().float()
    bits = tensor.contiguous().view(torch.int32)
    return ((bits + 0x1000) & -0x2000).view(torch.float32)


def _parts(tensor, precision) -> list:
    """Numbers whose sum is what a factor becomes, the greater one first."""
    if precision == "f32":
        return [tensor]
    high = _rounded(tensor, precision)
    if precision == "tf32":
        return [high]
    return [high, _rounded(tensor - high, precision)]


@dataclasses.dataclass(frozen=True)
class InParts(check.Config):
    precision: str = "f32"

    @property
    def name(self) -> str:
        return f"{super().name} {self.precision}"

    @property
    def text(self) -> str:
        return super().text.replace("\n      : (", f" precision = {self.precision}\n      : (", 1)

    def _multiply(self, a, b):
        import torch

        left, right = (_parts(each.float(), self.precision) for each in (a, b))
        products = [x @ y for i, x in enumerate(left) for y in right[: len(right) - i]]
        return torch.stack(products[::-1]).sum(0)

    def rounding(self, most):
        return 2.0**-24 * math.sqrt(self.dim) * most

    def products(self, q, k):
        return self._multiply(q, k.T)

    def weighted(self, weights, values):
        return self._multiply(weights, values).double()


def draw(seed: int, count: int) -> list:
    dice, configs = random.Random(seed + 11), []
    for fields in few_queries.fields_of(seed, count, dice):
        fields["dtype"] = "f32"
        configs.append(InParts(**fields, precision=dice.choice(NAMES)))
    return configs
