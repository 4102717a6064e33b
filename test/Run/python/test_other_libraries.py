# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keywords of torch and flash-attn: taken where they mean the same, else refused with
the name of what is meant."""

import functools
import itertools
import re
import textwrap

import numpy as np
import pytest

import ringlet
from conftest import ROOT, torch_attention
from ringlet import _aliases

RNG = np.random.default_rng(1)
Q = RNG.standard_normal((2, 20, 4, 8)).astype("f4")
K = RNG.standard_normal((2, 33, 2, 8)).astype("f4")
P = RNG.standard_normal((20, 4, 8)).astype("f4")
STARTS = np.array([0, 7, 20])
LENGTHS = np.array([5, 33])
# Each sequence of queries has a page of as many keys.
PAGES = np.arange(len(LENGTHS), dtype=np.int32)[:, None]
SINK = RNG.standard_normal(4).astype("f4")
NARROW = RNG.integers(-9, 9, (2, 20, 4, 8), "i1")
SCALES = RNG.uniform(0.5, 2, 4).astype("f4")


@pytest.mark.parametrize(
    "inputs, theirs, ours",
    [
        ((Q, Q, Q), {"is_causal": True}, {"causal": True}),
        ((Q, Q, Q), {"is_causal": False, "dropout_p": 0.0, "attn_mask": None}, {}),
        (
            (Q, K, K),
            {"is_causal": True, "q_offset": 0},
            {"causal": True, "q_offset": 0},
        ),
        ((P, P, P), {"is_causal": True, "cu_seqlens": STARTS},
         {"causal": True, "starts": STARTS}),
        ((Q, K, K), {"enable_gqa": True}, {}),
        ((Q, Q, Q), {"enable_gqa": False}, {}),
        ((Q, K, K), {"softmax_scale": 0.3}, {"scale": 0.3}),
        ((Q, K, K), {"softmax_scale": None, "sm_scale": 0.3}, {"scale": 0.3}),
        ((Q, K, K), {"window_size": (4, 2)}, {"window": (4, 2)}),
        ((Q, K, K), {"window_size": (-1, -1), "softcap": 0.0}, {}),
        ((Q, K, K), {"softcap": 0, "logits_soft_cap": None}, {}),
        ((Q, K, K), {"logits_soft_cap": 0.4}, {"softcap": 0.4}),
        (
            (P, P, P),
            {
                "cu_seqlens_q": STARTS.astype("i4"),
                "cu_seqlens_k": np.array([0, 20, 20], "i4"),
                "max_seqlen_q": 13,
                "max_seqlen_k": 20,
                "causal": True,
            },
            {"starts": (STARTS, np.array([0, 20, 20])), "causal": True},
        ),
        ((Q, K, K), {"seqused_k": LENGTHS.astype("i4")}, {"lengths": (None, LENGTHS)}),
        (
            (Q, K, K),
            {"seqused_q": LENGTHS, "seqused_k": LENGTHS + 9},
            {"lengths": (LENGTHS, LENGTHS + 9)},
        ),
        (
            (Q, K, K),
            {"query_seq_lengths": LENGTHS, "local_window_size": 4},
            {"lengths": (LENGTHS, None), "window": 4},
        ),
        ((Q, K, K), {"s_aux": SINK}, {"sink": SINK}),
        ((Q, K, K), {"sinks": SINK, "scaling": 0.3}, {"sink": SINK, "scale": 0.3}),
        ((Q, K, K), {"logit_cap": 0.4, "return_lse": True}, {"softcap": 0.4}),
        ((Q, K, K), {"attention_chunk": 0, "num_splits": 1, "pack_gqa": True}, {}),
        ((Q, Q, Q), {"cu_seqlens_q": None, "cu_seqlens_k": None, "bias": None}, {}),
        (
            tuple(each.swapaxes(1, 2) for each in (Q, K, K)),
            {"enable_gqa": True, "tensor_layout": "HND"},
            {"layout": "bhsd"},
        ),
        ((Q, K, K), {"alibi_slopes": None, "deterministic": True}, {}),
        ((Q, K, K), {"return_attn_probs": False, "block_table": None}, {}),
        (
            tuple(each.swapaxes(1, 2) for each in (Q, Q, Q)),
            {"layout": "bhsd", "is_causal": True, "enable_gqa": False},
            {"layout": "bhsd", "causal": True},
        ),
    ],
    ids=lambda each: ",".join(each) if isinstance(each, dict) else "",
)  # fmt: skip
def test_same_meaning(inputs, theirs, ours):
    for one, other in zip(
        ringlet.attention(*inputs, **theirs), ringlet.attention(*inputs, **ours)
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "inputs, keywords, message",
    [
        (
            (Q, K, K),
            {"is_causal": True},
            r"as many queries as keys beside is_causal, found 20 and 33: causal=True "
            r"with q_offset=0 is what torch means.* causal=True alone .*\(S1\)",
        ),
        (
            (P, P, P),
            {"is_causal": True, "cu_seqlens_q": STARTS, "cu_seqlens_k": STARTS.copy()},
            "causal=True with q_offset=0",
        ),
        (
            (Q, Q, Q),
            {"is_causal": True, "lengths": (LENGTHS, None)},
            "causal=True with q_offset=0",
        ),
        ((Q, Q, Q), {"dropout_p": 0.1}, r"dropout_p of 0, found 0.1: .*\(R6\)"),
        ((Q, Q, Q), {"attn_mask": np.ones((20, 20), bool)}, "no attn_mask.* block_mask"),
        ((Q, Q, Q), {"key_padding_mask": LENGTHS > 0}, r"no key_padding_mask.*lengths"),
        ((Q, K, K), {"enable_gqa": False}, "as many heads of key as of query without"),
        ((Q, Q, Q), {"alibi_slopes": SINK}, "expected no alibi_slopes, found one: there"),
        (
            (Q, Q, Q),
            {"is_causal": True, "seqused_k": LENGTHS},
            "causal=True with q_offset=0",
        ),
        ((Q, Q, Q), {"k": Q}, r"no k, .*cache_seqlens counts.*lengths=\(None.*\(S2\)"),
        ((Q, Q, Q), {"attention_chunk": 8}, r"\[\(attention_chunk, 1\)\].*\(B1\)"),
        ((Q, Q, Q), {"window_left": 4}, r"window=\(window_left, 0\)"),
        ((Q, Q, Q), {"mask": np.ones((20, 20), bool)}, "no mask, .* block_mask"),
        ((Q, Q, Q), {"tensor_layout": "HDN"}, "tensor_layout as 'NHD' or 'HND', found"),
        (
            (Q, Q, Q),
            {"tensor_layout": "NHD", "layout": "bhsd"},
            "one value of layout and tensor_layout, .* found 'bhsd' and 'bshd'",
        ),
        ((Q, Q, Q), {"sliding_window": 4}, r"window=\(n - 1, 0\) shows n keys"),
        ((Q, Q, Q), {"return_attn_probs": True}, "lse is returned"),
        ((Q, Q, Q), {"segment_length": [8]}, "ringlet.presets"),
        ((Q, Q, Q), {"is_causal": "yes"}, "is_causal as True or False, found 'yes'"),
        ((Q, Q, Q), {"softcap": -1.0}, r"positive finite softcap, found -1"),
        (
            (P, P, P),
            {"cu_seqlens_q": STARTS},
            r"expected cu_seqlens_k as well, found none; or starts, for both \(S2\)",
        ),
        ((Q, Q, Q), {"casual": True}, "found 'casual'; did you mean causal?"),
        ((Q, Q, Q), {"softmax_scal": 1}, "did you mean softmax_scale?"),
        ((Q, Q, Q), {"xyz": 1}, "expected keywords query, key, value, branches, .*'xyz'$"),
    ],
)
def test_another_meaning(inputs, keywords, message):
    kinds = TypeError, ValueError, ringlet.CompileError
    with pytest.raises(kinds, match=message):
        ringlet.attention(*inputs, **keywords)


def reads(array):
    """What stands for `array`: another one, a list, one of wider integers."""
    wide = [array.astype("i8")] if array.dtype.kind == "i" else []
    return [array.copy(), array.tolist(), *wide]


# Ours, or a side of it, its names, and values that are one each in several guises.
SAME = {
    "causal": (["is_causal"], [[True, np.bool_(True)], [False, np.bool_(False)]]),
    "scale": (
        ["softmax_scale", "sm_scale", "scaling"],
        [[0.3, np.float64(0.3), np.array(0.3)], [0.4]],
    ),
    "window": (
        ["window_size", "local_window_size"],
        [[4, (4, 4), [4, 4], np.array([4, 4])], [(4, 2), [4, 2]], [(-1, -1), -1]],
    ),
    "softcap": (["logits_soft_cap", "logit_cap"], [[0.4], [0.0, 0], [1, 1.0]]),
    "sink": (
        ["learnable_sink", "s_aux", "sinks"],
        [[SINK, *reads(SINK)], [SINK + 1]],
    ),
    "page_table": (
        ["block_table", "block_tables"],
        [[PAGES, *reads(PAGES)], [PAGES[::-1]]],
    ),
    "key_begins": (
        ["cache_leftpad", "leftpad_k"],
        [[LENGTHS, *reads(LENGTHS)], [LENGTHS - 1]],
    ),
    "k_scale": (["k_descale"], [[SCALES, *reads(SCALES)], [SCALES + 1], [0.5]]),
    "v_scale": (["v_descale"], [[SCALES, *reads(SCALES)], [SCALES + 1], [0.5]]),
    "layout": (["tensor_layout"], [["bshd"], ["bhsd"]]),
    "starts": (["cu_seqlens"], [[STARTS, *reads(STARTS)], [[0, 8, 20]]]),
    ("starts", 0): (["cu_seqlens_q"], [[STARTS, *reads(STARTS)], [[0, 8, 20]]]),
    ("starts", 1): (["cu_seqlens_k"], [[STARTS, *reads(STARTS)], [[0, 8, 20]]]),
    ("lengths", 0): (
        ["seqused_q", "query_seq_lengths"],
        [[LENGTHS, *reads(LENGTHS)], [LENGTHS - 1]],
    ),
    ("lengths", 1): (
        ["seqused_k", "key_value_seq_lengths", "cache_seqlens"],
        [[LENGTHS, *reads(LENGTHS)], [LENGTHS - 1]],
    ),
}
THEIR_WORDS = {"bshd": "NHD", "bhsd": "HND"}


def said(name, value):
    """The keywords of a call that says `value` by `name`, ours or theirs."""
    if name == "tensor_layout":
        return {name: THEIR_WORDS[value]}
    if isinstance(name, tuple):
        ours, side = name
        other = None if ours == "lengths" else STARTS
        return {ours: (value, other) if side == 0 else (other, value)}
    return {name: value}


def pairs_of_names():
    for meaning, (names, _) in SAME.items():
        for pair in itertools.permutations([meaning, *names], 2):
            yield pytest.param(meaning, *pair, id="-".join(map(str, pair)))


@pytest.mark.parametrize("meaning, first, second", list(pairs_of_names()))
def test_two_names(meaning, first, second):
    """Two names for one thing are taken where they say one value, in whatever guise,
    and else refused by both names."""
    packed = "starts" in meaning
    inputs = (P, P, P) if packed else (Q, Q, Q)
    if meaning in ("k_scale", "v_scale"):
        inputs = (Q, NARROW, NARROW)
    call = functools.partial(ringlet.attention, *inputs)

    def calls(one, other):
        keywords = {**said(first, one), **said(second, other)}
        if packed and isinstance(meaning, tuple) and "starts" not in keywords:
            keywords["cu_seqlens_k" if meaning[1] == 0 else "cu_seqlens_q"] = STARTS
        return keywords

    kinds = SAME[meaning][1]
    for kind in kinds:
        alone = calls(kind[0], kind[0])
        alone.pop(first if isinstance(second, tuple) else second)
        want = call(**alone)
        for one, other in itertools.product(kind, repeat=2):
            for got, expected in zip(call(**calls(one, other)), want):
                np.testing.assert_array_equal(got, expected)
    for one_kind, other_kind in itertools.permutations(kinds, 2):
        for one, other in itertools.product(one_kind, other_kind):
            with pytest.raises(ValueError, match="one value of .* which mean") as error:
                call(**calls(one, other))
            for name in first, second:
                ours = name[0] if isinstance(name, tuple) else name
                assert ours in str(error.value)


def test_two_names_of_all():
    """Whatever translates a name is in the test above."""
    tested = {name for names, _ in SAME.values() for name in names}
    others = re.compile("_none|_ignored|_dropout|_enable_gqa")
    translated = {
        name
        for name, rule in _aliases._RULES.items()
        if not others.match(rule.__qualname__)
    }
    assert translated == tested


@pytest.mark.parametrize("theirs", [None, False])
def test_what_wrappers_hand_on(theirs):
    """None says nothing; no causality contradicts causality, the default does not."""
    keywords = {"scale": None, "softmax_scale": 0.3, "is_causal": theirs}
    got = ringlet.attention(Q, Q, Q, **keywords)[0]
    np.testing.assert_array_equal(got, ringlet.attention(Q, Q, Q, scale=0.3)[0])
    for ours in False, True:
        other = {"causal": ours, "is_causal": not ours}
        with pytest.raises(ValueError, match="one value of causal and is_causal"):
            ringlet.attention(Q, Q, Q, **other)


def test_names_of_what_is_no_number():
    class Elsewhere:
        """A tensor of a device, which is not read to compare it."""

        shape = (4,)

        def __dlpack_device__(self):
            return 2, 0

        def __dlpack__(self, **_):
            raise AssertionError("read")

    for values in (Elsewhere(), SINK), (SINK, Elsewhere()):
        message = "expected sink or sinks, found both, whose values are compared on"
        with pytest.raises(TypeError, match=message):
            ringlet.attention(Q, Q, Q, sink=values[0], sinks=values[1])


@pytest.mark.torch
def test_documented_code_runs(monkeypatch):
    text = (ROOT / "docs/ComingFrom.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)```", text, re.S | re.M)
    assert len(blocks) >= 3
    functional = pytest.importorskip("torch.nn.functional")
    if not hasattr(functional, "scaled_dot_product_attention"):
        # What torch_attention() asks for, too: it computes without the function.
        def stand_in(q, k, v, is_causal):
            with monkeypatch.context() as without:
                without.delattr(functional, "scaled_dot_product_attention")
                return torch_attention(q, k, v)

        monkeypatch.setattr(
            functional, "scaled_dot_product_attention", stand_in, raising=False
        )
    if not hasattr(pytest.importorskip("torch"), "float8_e4m3fn"):
        blocks = [block for block in blocks if "float8" not in block]
    exec(textwrap.dedent("".join(blocks)), {})
