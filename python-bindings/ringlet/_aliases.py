# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What other libraries call the keywords of `ringlet.attention`.

One that means the same is taken. Any other is refused with the name of what is meant,
never ignored.
"""

from __future__ import annotations

import difflib
from typing import Any, Callable, Dict

from ringlet._tensors import Place, device_of, kind_of
from ringlet._values import flag, is_integer, number, one_of

# Names of the axes that `layout` may say.
LAYOUTS = ("bshd", "bhsd")


def _same(name: str) -> Callable:
    """Another word for a keyword of ours."""
    return lambda found, value, given: {name: value}


def _none(why: str) -> Callable:
    """What there is not; its absence is taken."""

    def take(found: str, value: Any, given: dict) -> dict:
        if value is None or value is False or is_integer(value) and value == 0:
            return {}
        raise ValueError(f"expected no {found}, found one: {why}")

    return take


def _ignored(found: str, value: Any, given: dict) -> dict:
    """What nothing depends on here."""
    return {}


def _dropout(found: str, value: Any, given: dict) -> dict:
    if value is not None and number(found, value, rule="R6"):
        raise ValueError(
            f"expected {found} of 0, found {value!r:.80}: there is no dropout yet (R6)"
        )
    return {}


def _rows(given: dict) -> tuple:
    """Rows of queries and of keys, and heads of both."""
    axes = (-3, -2) if given["layout"] == "bshd" else (-2, -3)
    sizes = [
        kind_of(given[name], Place(device_of(given[name])))[1]
        for name in ("query", "key")
    ]
    if any(len(each) < 3 for each in sizes):
        return (None, None), (None, None)
    return tuple(tuple(each[axis] for each in sizes) for axis in axes)


def _is_causal(found: str, value: Any, given: dict) -> dict:
    if value is None or not flag(found, value):
        return {}
    (queries, keys), _ = _rows(given)
    is_pair = any(
        isinstance(given[name], (tuple, list)) and len(given[name]) == 2
        for name in ("starts", "lengths", "_lengths")
        if name in given
    )
    # Here and in flash-attn the last query is on the last key, in torch the first
    # one on the first; that is one thing where there are as many of both.
    if given["q_offset"] is None and (queries != keys or is_pair):
        raise ValueError(
            f"expected as many queries as keys beside {found}, found {queries} and "
            f"{keys}: causal=True with q_offset=0 is what torch means, the first query "
            "on the first key; causal=True alone puts the last one on the last key (S1)"
        )
    return {"causal": True}


def _enable_gqa(found: str, value: Any, given: dict) -> dict:
    _, (query_heads, key_heads) = _rows(given)
    if value is not None and not flag(found, value) and query_heads != key_heads:
        raise ValueError(
            f"expected as many heads of key as of query without {found}, found "
            f"{key_heads} and {query_heads}; without the keyword they are shared"
        )
    return {}


def _starts(found: str, value: Any, given: dict) -> dict:
    """One of two keywords that are a pair here."""
    if value is None:
        return {}
    place = 0 if found.endswith("_q") else 1
    pair = list(given.get("_starts") or (None, None))
    pair[place] = value
    given["_starts"] = pair
    if any(each is None for each in pair):
        return {}
    first, second = pair
    return {"starts": first if first is second else (first, second)}


def _lengths(side: int) -> Callable:
    """One of two keywords that are a pair here; all rows where it is not given."""

    def take(found: str, value: Any, given: dict) -> dict:
        if value is None:
            return {}
        before = given.get("_lengths")
        if before is None:
            given["_lengths"] = before = [None, None]
        before[side] = value
        return {}

    return take


def _tensor_layout(found: str, value: Any, given: dict) -> dict:
    words = {"NHD": "bshd", "HND": "bhsd"}
    return {"layout": words[one_of(found, value, tuple(words))]}


_MASK = (
    "block_mask hides blocks of keys (B6), lengths and starts what is no token (S2), "
    "causal, window and grid_window what is far away (B4, B5)"
)

_LEFT = "rows of a sequence begin with its first one (S2)"

_RULES: Dict[str, Callable] = {
    # torch.nn.functional.scaled_dot_product_attention
    "attn_mask": _none(_MASK),
    "dropout_p": _dropout,
    "is_causal": _is_causal,
    "enable_gqa": _enable_gqa,
    # flash-attn
    "softmax_scale": _same("scale"),
    "window_size": _same("window"),
    "alibi_slopes": _none("there is no bias"),
    "deterministic": _ignored,
    "return_attn_probs": _none("probabilities are never stored; lse is returned"),
    "return_softmax_lse": _ignored,
    "cu_seqlens": _same("starts"),
    "cu_seqlens_q": _starts,
    "cu_seqlens_k": _starts,
    "max_seqlen": _ignored,
    "max_seqlen_q": _ignored,
    "max_seqlen_k": _ignored,
    "seqused_q": _lengths(0),
    "seqused_k": _lengths(1),
    "block_table": _none("there are no pages of keys"),
    "learnable_sink": _same("sink"),
    "s_aux": _same("sink"),
    "qv": _none("a score is of one query and one key"),
    "q_descale": _none("there are no elements of 8 bits"),
    "k_descale": _none("there are no elements of 8 bits"),
    "v_descale": _none("there are no elements of 8 bits"),
    "attention_chunk": _none("branches=[(attention_chunk, 1)] are segments (B1)"),
    "num_splits": _ignored,
    "pack_gqa": _ignored,
    "sm_margin": _ignored,
    "cache_seqlens": _none(
        "lengths=(None, keys), with those that are new, says what a cache holds (S2)"
    ),
    "cache_batch_idx": _none("key and value are the rows of these sequences"),
    "cache_leftpad": _none(_LEFT),
    "leftpad_k": _none(_LEFT),
    "rotary_cos": _none("rotate query and key before"),
    "rotary_sin": _none("rotate query and key before"),
    # jax.nn.dot_product_attention
    "bias": _none(_MASK),
    "mask": _none(_MASK),
    "query_seq_lengths": _lengths(0),
    "key_value_seq_lengths": _lengths(1),
    "local_window_size": _same("window"),
    # Others
    "sm_scale": _same("scale"),
    "scaling": _same("scale"),
    "logits_soft_cap": _same("softcap"),
    "logit_cap": _same("softcap"),
    "sinks": _same("sink"),
    "return_lse": _ignored,
    "tensor_layout": _tensor_layout,
    "training": _ignored,
    "attn_bias": _none(_MASK),
    "key_padding_mask": _none(_MASK),
    "attention_mask": _none(_MASK),
    "dropout": _dropout,
    "sliding_window": _none(
        "window=(n - 1, 0) shows n keys, that of the query among them (B4)"
    ),
    "window_left": _none("window=(window_left, 0), or (window_left, -1), is meant (B4)"),
    "need_weights": _none("probabilities are never stored; lse is returned"),
    "segment_length": _none("branches are pairs of w and r; see ringlet.presets"),
    "dilated_ratio": _none("branches are pairs of w and r; see ringlet.presets"),
    "device": _none("it runs where query is, or where context says"),
}


def _is_default(name: str, value: Any) -> bool:
    return value is None or value is False or name == "layout" and value == LAYOUTS[0]


def translate(others: dict, given: dict) -> dict:
    """`given`, our keywords, with what others stand for."""
    given, before, said = dict(given), dict(given), set()
    # Two of them ask for what others have said.
    for found in sorted(others, key=("is_causal", "enable_gqa").__contains__):
        value = others[found]
        rule = _RULES.get(found)
        if rule is None:
            names = [*before, *_RULES]
            near = difflib.get_close_matches(found, names, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            ours = ", ".join(each for each in before)
            raise TypeError(f"expected keywords {ours}; found '{found}'{hint}")
        for name, meant in rule(found, value, given).items():
            if meant is None:
                continue
            if name in said or not _is_default(name, before[name]):
                raise TypeError(f"expected {name} or {found}, found both")
            given[name] = meant
            said.add(name)
    pair = given.pop("_starts", None)
    if pair and any(each is None for each in pair):
        missing = "cu_seqlens_q" if pair[0] is None else "cu_seqlens_k"
        raise TypeError(f"expected {missing} as well, found none; or starts, for both (S2)")
    lengths = given.pop("_lengths", None)
    if lengths is not None:
        if given["lengths"] is not None:
            raise TypeError("expected lengths or those of one side, found both (S2)")
        given["lengths"] = tuple(lengths)
    return given
