# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Cases of `emulate` whose keys and values have 8 bits (S6): rows of whole pieces and
others, all three types of queries, on their way to products of matrices and of numbers."""

ALL = "branches [<w = *, r = 1>]"
TWO = "branches [<w = 128, r = 2>]"
UNION = (
    "branches [<w = 60, r = 1>, <w = 120, r = 2>, <w = 240, r = 4>] combine = union"
)
PACKED = " packed(%q_starts, %k_starts)"
PADDED = " lengths(%q_lengths, %k_lengths)"
PAGES = " pages(%pages)"
BEGINS = " key_begins(%k_begins)"
SCALES = " k_scale(%k_scale) v_scale(%v_scale)"
E4M3 = {"narrow": "f8E4M3FN"}
I8 = {"narrow": "i8"}


def cases(Case) -> list:
    return [
        Case(ALL + " causal" + SCALES, 300, 2, 128, scales="heads", **E4M3),
        Case(ALL + SCALES, 150, 2, 64, "f16", 2, scales="heads", **E4M3),
        Case(ALL + SCALES, 90, 2, 72, "f32", 2, scales="heads", **E4M3),
        Case(ALL + " causal" + SCALES, 300, 2, 128, scales="heads", **I8),
        Case(ALL + SCALES, 150, 2, 64, "f16", 2, scales="heads", **I8),
        Case(ALL + SCALES, 90, 2, 72, "f32", 2, scales="heads", **I8),
        Case(ALL, 100, 2, 60, "f16", 1, 44, **E4M3),
        *(
            Case(ALL + PADDED, 1, 1, dim, dtype, lengths=((1,) * 256,) * 2, every_byte=True, **kind)
            for kind in (E4M3, I8)
            for dim, dtype in ((64, "f16"), (64, "bf16"), (72, "bf16"), (30, "f32"))
        ),
        Case(TWO + " causal" + SCALES, 200, 2, 64, scales="heads", **E4M3),
        Case(UNION + " causal" + SCALES, 300, 4, 64, "f16", 2, scales="heads", **E4M3),
        Case(
            *("branches [<w = 100, r = 3>, <w = 200, r = 2>]" + PACKED + SCALES, 333, 4),
            starts=((0, 0, 130, 131, 290), (0, 70, 70, 260, 333)),
            key_heads=2,
            scales="sequences",
            **I8,
        ),
        Case(ALL + SCALES, 1300, 8, 128, key_heads=2, queries=1, scales="heads", **E4M3),
        Case(ALL + SCALES, 900, 8, 80, "f16", 2, queries=2, scales="heads", **I8),
        *(
            Case(ALL + SCALES, 700, 4, dim, dtype, 1, queries=3, scales="heads", target="sm_90a", **E4M3)
            for dim, dtype in ((48, "bf16"), (64, "f16"))
        ),
        *(
            Case(ALL + PADDED, 1, 1, 64, dtype, lengths=((1,) * 256,) * 2, every_byte=True,
                 target="sm_90a", **E4M3)
            for dtype in ("f16", "bf16")
        ),
        Case(
            *(ALL + " causal" + PADDED + PAGES + BEGINS + SCALES, 1280, 8, 128, "bf16", 2),
            page=16,
            queries=4,
            lengths=((4, 0, 1), (1280, 77, 640)),
            begins=(512, 3, 77),
            scales="sequences",
            **E4M3,
        ),
        Case(
            *("branches [<w = 256, r = 1>, <w = *, r = 3>] causal" + PADDED + PAGES + SCALES,),
            *(1400, 4, 64, "f16"),
            page=100,
            queries=3,
            lengths=((3, 3), (1111, 640)),
            scales="sequences",
            target="sm_90a",
            **I8,
        ),
    ]
