# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of `emulate` whose products of f32 are of parts (R7): rows that are swizzled
and others, that fill instructions and do not, many queries and few."""

ALL = "branches [<w = *, r = 1>]"
TWO = "branches [<w = 128, r = 2>]"
UNION = (
    "branches [<w = 60, r = 1>, <w = 120, r = 2>, <w = 240, r = 4>] combine = union"
)
SCALES = " k_scale(%k_scale) v_scale(%v_scale)"
SMALL = " tilings = [#ringlet.tiling<query = 16, key = 8>]"
NAMES = ("tf32", "tf32x3", "bf16x3")


def of(name: str) -> str:
    return f" precision = {name}"


def cases(Case) -> list:
    return [
        *(Case(ALL + of(name), 200, 2, 64, "f32") for name in NAMES),
        *(Case(ALL + " causal" + of(name), 150, 1, 128, "f32") for name in NAMES[1:]),
        Case(ALL + of("tf32x3"), 140, dim=256, dtype="f32"),
        Case(ALL + " causal" + of("bf16x3"), 140, 2, 60, "f32", 2, 44),
        Case(ALL + of("tf32x3"), 90, 2, 20, "f32", 1, 72, target="sm_90a"),
        *(Case(ALL + of(name) + SMALL, 70, 1, 40, "f32") for name in NAMES[1:]),
        Case(TWO + " causal" + of("bf16x3"), 200, 2, 64, "f32", target="sm_90a"),
        Case(UNION + of("tf32x3"), 333, 4, 64, "f32", 2),
        Case(ALL + of("bf16x3"), 700, 8, 64, "f32", key_heads=2, queries=3),
        Case(
            *(ALL + of("tf32x3") + SCALES, 90, 2, 64, "f32", 2),
            scales="heads",
            narrow="f8E4M3FN",
        ),
    ]
