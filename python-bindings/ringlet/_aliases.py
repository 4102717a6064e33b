# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What other libraries call the keywords of `ringlet.attention`.

One that means the same is taken. Any other is refused with the name of what is meant,
never ignored. Two names for one thing are taken where they say the same.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from typing import Any, Callable, Dict, TypeVar

from ringlet import _dlpack
from ringlet._operands import is_side
from ringlet._tensors import Place, device_of, kind_of
from ringlet._values import flag, is_integer, number, one_of

# Names of the axes that `layout` may say.
LAYOUTS = ("bshd", "bhsd")


# Ours that may be a pair, of queries and of keys, of which others name each alone.
_SIDED = ("starts", "lengths")


def _same(name: Any) -> Callable:
    """Another word for a keyword of ours, or for a side of one: ("starts", 0)."""
    return lambda found, value, given: {name: value}


def _sides(value: Any) -> Any:
    """A pair as a tuple; anything else, which is of both sides, as it is."""
    is_pair = isinstance(value, (tuple, list)) and any(map(is_side, value))
    return tuple(value) if is_pair else value


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


def _cache_seqlens(found: str, value: Any, given: dict) -> dict:
    """Keys that count, the new ones among them; one number is that of each sequence."""
    if is_integer(value):
        query = kind_of(given["query"], Place(device_of(given["query"])))[1]
        value = [int(value)] * (query[0] if query else 0)
    return {("lengths", 1): value}


def _is_causal(found: str, value: Any, given: dict) -> dict:
    if value is None:
        return {}
    if not flag(found, value):
        return {"causal": False}
    (queries, keys), _ = _rows(given)
    is_pair = any(isinstance(_sides(given[name]), tuple) for name in _SIDED)
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


def _tensor_layout(found: str, value: Any, given: dict) -> dict:
    words = {"NHD": "bshd", "HND": "bhsd"}
    return {"layout": words[one_of(found, value, tuple(words))]}


_MASK = (
    "block_mask hides blocks of keys (B6), lengths, starts and key_begins what is no "
    "token (S2, S5), causal, window and grid_window what is far away (B4, B5)"
)

_NEW = (
    "new keys are written into the cache before, and cache_seqlens counts them, as "
    "lengths=(None, keys) does (S2)"
)

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
    "cu_seqlens_q": _same(("starts", 0)),
    "cu_seqlens_k": _same(("starts", 1)),
    "max_seqlen": _ignored,
    "max_seqlen_q": _ignored,
    "max_seqlen_k": _ignored,
    "seqused_q": _same(("lengths", 0)),
    "seqused_k": _same(("lengths", 1)),
    "block_table": _same("page_table"),
    "block_tables": _same("page_table"),
    "learnable_sink": _same("sink"),
    "s_aux": _same("sink"),
    "qv": _none("a score is of one query and one key"),
    "q_descale": _none("queries have 16 or 32 bits; key and value may have 8 (S6)"),
    "k_descale": _same("k_scale"),
    "v_descale": _same("v_scale"),
    "attention_chunk": _none("branches=[(attention_chunk, 1)] are segments (B1)"),
    "num_splits": _ignored,
    "pack_gqa": _ignored,
    "sm_margin": _ignored,
    "cache_seqlens": _cache_seqlens,
    "k": _none(_NEW),
    "v": _none(_NEW),
    "cache_batch_idx": _none("key and value are the rows of these sequences"),
    "cache_leftpad": _same("key_begins"),
    "leftpad_k": _same("key_begins"),
    "rotary_cos": _none("rotate query and key before"),
    "rotary_sin": _none("rotate query and key before"),
    # jax.nn.dot_product_attention
    "bias": _none(_MASK),
    "mask": _none(_MASK),
    "query_seq_lengths": _same(("lengths", 0)),
    "key_value_seq_lengths": _same(("lengths", 1)),
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


# Rules that ask for what all other keywords have said.
_LAST = ("is_causal", "enable_gqa")


def _plain(value: Any) -> Any:
    """Numbers and lists of them, however they were brought; None of what is not on
    the host, or no such thing."""
    if hasattr(value, "tolist") and device_of(value) == _dlpack.CPU:
        return value.tolist()
    if isinstance(value, (tuple, list)):
        items = [_plain(each) for each in value]
        return None if any(each is None for each in items) else items
    return value if isinstance(value, (bool, int, float, str)) else None


class _Keywords:
    """What a call says, by our names."""

    def __init__(self, given: dict, said: Any):
        self.given = given
        # By which name each was said. None is what a wrapper hands on for nothing.
        self._names = {name: name for name in said if given[name] is not None}

    def say(self, name: Any, found: str, value: Any) -> None:
        """`name`, ours or a side of it, by another library's name `found`."""
        if name in self._names:
            self._check_same(name, self._names[name], self.given[name], found, value)
        else:
            self.given[name] = value
            self._names[name] = found

    def join_sides(self) -> None:
        for name in _SIDED:
            keys = [(name, 0), (name, 1)]
            names = [self._names.pop(key, None) for key in keys]
            values = [self.given.pop(key, None) for key in keys]
            if not any(names):
                continue
            if name in self._names:
                both = _sides(self.given[name])
                pair = both if isinstance(both, tuple) else (both, both)
                for ours, found, value in zip(pair, names, values):
                    if found:
                        self._check_same(name, self._names[name], ours, found, value)
                continue
            # In pages, lengths may say where keys end.
            if name == "starts" and names[0] and self.given["page_table"] is not None:
                self.given[name] = tuple(values)
                continue
            if name == "starts" and not all(names):
                missing = "cu_seqlens_q" if names[1] else "cu_seqlens_k"
                raise TypeError(
                    f"expected {missing} as well, found none; or starts, for both (S2)"
                )
            self.given[name] = values[0] if values[0] is values[1] else tuple(values)

    @staticmethod
    def _check_same(name: Any, first: str, one: Any, second: str, other: Any) -> None:
        if one is other:
            return
        if name == "window":
            one, other = ((each,) * 2 if is_integer(each) else each for each in (one, other))
        values = _plain(one), _plain(other)
        if any(each is None for each in values):
            raise TypeError(
                f"expected {first} or {second}, found both, whose values are compared "
                "on the host only"
            )
        if values[0] != values[1]:
            raise ValueError(
                f"expected one value of {first} and {second}, which mean the same, "
                f"found {one!r:.80} and {other!r:.80}"
            )


def _translate(given: dict, said: Any, others: dict) -> dict:
    """`given`, our keywords, of which the call said some, with what others stand
    for."""
    for found in others:
        if found not in _RULES:
            near = difflib.get_close_matches(found, [*given, *_RULES], 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise TypeError(
                f"expected keywords {', '.join(given)}; found '{found}'{hint}"
            )
    keywords = _Keywords(given, said)
    for last in False, True:
        for found, value in others.items():
            if (found in _LAST) == last:
                for name, meant in _RULES[found](found, value, given).items():
                    if meant is not None:
                        keywords.say(name, found, meant)
        keywords.join_sides()
    return given


_Function = TypeVar("_Function", bound=Callable)


def takes_other_names(function: _Function) -> _Function:
    """`function`, whose last parameter is **others, which comes to it empty."""
    signature = inspect.signature(function)
    *ours, others = signature.parameters
    ours = frozenset(ours)

    @functools.wraps(function)
    def call(*values: Any, **keywords: Any) -> Any:
        if keywords.keys() <= ours:
            return function(*values, **keywords)
        bound = signature.bind(*values, **keywords)
        found = bound.arguments.pop(others)
        said = tuple(bound.arguments)
        bound.apply_defaults()
        del bound.arguments[others]
        return function(**_translate(dict(bound.arguments), said, found))

    return call  # type: ignore[return-value]
