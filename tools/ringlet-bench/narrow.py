# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random attention for `check` whose keys and values have 8 bits (S6): the rows of other
tensors, of which only what 8 bits and a power of two for each head hold is left."""

from __future__ import annotations

import dataclasses
import random
import re

import check
import few_queries

# The greatest number of each type.
GREATEST = {"f8E4M3FN": 448.0, "i8": 127.0}


@dataclasses.dataclass(frozen=True)
class Narrow(check.Config):
    """A program for keys and values of `narrow`, with scales of sequences or not."""

    narrow: str = "i8"
    of_sequences: bool = False

    @property
    def name(self) -> str:
        return f"{super().name} {self.narrow}" + " scales of sequences" * self.of_sequences

    @property
    def text(self) -> str:
        narrow = [
            re.sub(r"[^x]*>$", f"{self.narrow}>", self._tensor(dim))
            for dim in (self.dim, self.value_dim)
        ]
        text = super().text
        for name, kind in zip("kv", narrow):
            text = re.sub(rf"%{name}: tensor<[^>]*>", f"%{name}: {kind}", text)
        count = f"{self.sequences}x" if self.of_sequences else ""
        scales = f"tensor<{count}{self.key_heads}xf32>"
        text = text.replace(") -> (", f", %ks: {scales}, %vs: {scales}) -> (", 1)
        before, rest = text.split("\n      : (")
        types, after = rest.split(")", 1)
        query, _, _, *others = types.split(", ")
        types = ", ".join([query, *narrow, *others, scales, scales])
        return f"{before} k_scale(%ks) v_scale(%vs)\n      : ({types}){after}"

    def _tensor(self, dim: int) -> str:
        batch = "" if self.is_packed else f"{self.batch}x"
        return f"tensor<{batch}?x{self.key_heads}x{dim}x{self.dtype}>"

    def _narrowed(self, tensor) -> tuple:
        """The tensor in 8 bits, and its scales; `tensor` becomes what they stand for."""
        import torch

        greatest = tensor.nan_to_num(0).abs().float().amax((0, 1, 3))
        powers = torch.ceil(torch.log2(greatest.clamp_min(1e-6) / GREATEST[self.narrow]))
        scales = torch.exp2(powers.clamp(-14, 15))
        scales[1::2] *= -1
        stored = tensor.float() / scales[:, None]
        if self.narrow == "i8":
            stored = stored.nan_to_num(0).round().clamp(-128, 127).to(torch.int8)
        else:
            stored = stored.clamp(-448, 448).to(torch.float8_e4m3fn)
        tensor.copy_(stored.float() * scales[:, None])
        if self.of_sequences:
            scales = scales.repeat(self.sequences, 1)
        return stored, scales

    def arguments(self, tensors, further, out, lse) -> tuple:
        q, *sides = tensors
        narrow, scales = zip(*map(self._narrowed, sides))
        if self.is_packed:
            narrow = [each[0] for each in narrow]
        *others, out, lse = super().arguments((q,), further, out, lse)
        return others[0], *narrow, *others[1:], *scales, out, lse


def draw(seed: int, count: int) -> list:
    dice, configs = random.Random(seed + 7), []
    for fields in few_queries.fields_of(seed, count, dice):
        fields["layout"] = "BSHD"
        narrow = dice.choice(tuple(GREATEST))
        configs.append(Narrow(**fields, narrow=narrow, of_sequences=dice.random() < 0.5))
    return configs
