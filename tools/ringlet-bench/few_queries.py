# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random attention for `check` that is often a call of few queries, to which the
programs of pages and of keys that begin later add what is theirs."""

from __future__ import annotations

import dataclasses
import random
from typing import Iterator

import check


def fields_of(seed: int, count: int, dice: random.Random) -> Iterator[dict]:
    """Those of `check.draw`, with few queries half of the time, to be drawn on."""
    for config in check.draw(seed, count):
        fields = {
            each.name: getattr(config, each.name) for each in dataclasses.fields(config)
        }
        if dice.random() < 0.5:
            fields["lengths"] = tuple(
                (min(dice.choice((1, 1, 2, 5, 16, 40, 64, 130, 500)), keys), keys)
                for _, keys in config.lengths
            )
        yield fields
