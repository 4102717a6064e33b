# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers and words of a caller, which are taken as they are or refused.

`name` is what a message says of the argument, `rule` the rule of the specification
that it is about.
"""

from __future__ import annotations

import math
import numbers
import operator
import sys
from collections.abc import Mapping, Set
from typing import Any, Sequence

_LEAST, _MOST = -(2**63), 2**63 - 1
# What is rounded to f32 is infinite from here on.
_SINGLE_LIMIT = (2 - 2**-24) * 2.0**127


def rule_of(rule: str) -> str:
    """ " (B1)" """
    return f" ({rule})" if rule else ""


def _refuse_mask(name: str, value: Any, rule: str) -> None:
    """A number that a mask hides is there all the same, and would be taken."""
    if hasattr(value, "mask"):
        raise ValueError(
            f"expected {name} as a number without a mask, found {value!r:.80}"
            f"{rule_of(rule)}"
        )


def is_integer(value: Any) -> bool:
    """Of Python or numpy, but no bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def integer(
    name: str,
    value: Any,
    least: int = _LEAST,
    most: int = _MOST,
    *,
    rule: str = "",
) -> int:
    """TypeError for what is no integer, ValueError for one out of range."""
    _refuse_mask(name, value, rule)
    try:
        if isinstance(value, bool):
            raise TypeError
        # Of subclasses, which may print as something else, the number itself.
        number = int.__index__(operator.index(value))
    except TypeError:
        near = ""
        if isinstance(value, numbers.Real) and math.isfinite(value):
            near = f"; the nearest is {min(max(round(value), least), most)}"
        raise TypeError(
            f"expected {name} as an integer, found {value!r:.80}{rule_of(rule)}{near}"
        ) from None
    if not least <= number <= most:
        raise ValueError(
            f"expected {name} from {least} to {most}, found {number}{rule_of(rule)}; "
            f"the nearest is {min(max(number, least), most)}"
        )
    return number


def is_list(value: Any) -> bool:
    """A list, a tuple or an array with axes: what has items in an order that the
    caller chose."""
    if isinstance(value, (str, bytes, Set, Mapping)) or not hasattr(value, "__iter__"):
        return False
    return getattr(value, "shape", None) != ()


def integers(name: str, values: Any, *, rule: str = "") -> tuple:
    """Of a list or an array of them."""
    items = list(values) if is_list(values) else []
    if not items:
        raise TypeError(
            f"expected {name} as a list of integers, found {values!r:.80}"
            f"{rule_of(rule)}"
        )
    return tuple(integer(f"an item of {name}", each, rule=rule) for each in items)


def number(name: str, value: Any, *, rule: str = "") -> float:
    """A finite number that keeps its value as a double."""
    _refuse_mask(name, value, rule)
    if hasattr(value, "__float__") and getattr(value, "shape", None) == ():
        if getattr(value, "requires_grad", False):
            torch = sys.modules.get("torch")
            if torch is None or torch.is_grad_enabled():
                raise ValueError(
                    f"expected {name} as a number, found a tensor that requires grad: "
                    "there are no gradients yet (R5)"
                )
            value = value.detach()
        value = value.item() if hasattr(value, "item") else value
    is_one = hasattr(value, "__float__") and getattr(value, "shape", ()) == ()
    if isinstance(value, bool) or not is_one:
        raise TypeError(
            f"expected {name} as a number, found {value!r:.80}{rule_of(rule)}"
        )
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise ValueError(
            f"expected {name} as a finite number, found {found!r}{rule_of(rule)}"
        )
    return found


def single(name: str, value: Any, *, rule: str = "") -> float:
    """A number that f32 holds: infinite ones as they are."""
    is_infinite = isinstance(value, numbers.Real) and value in (math.inf, -math.inf)
    found = float(value) if is_infinite else number(name, value, rule=rule)
    if not is_infinite and abs(found) >= _SINGLE_LIMIT:
        raise ValueError(
            f"expected {name} within +-3.4028235e38, which f32 holds, found {found!r}"
            f"{rule_of(rule)}"
        )
    return found


def one_of(name: str, value: Any, words: Sequence[str], *, rule: str = "") -> str:
    """The word among `words` that value is."""
    if not isinstance(value, str) or value not in words:
        listed = " or ".join(repr(each) for each in words)
        raise ValueError(
            f"expected {name} as {listed}, found {value!r:.80}{rule_of(rule)}"
        )
    # Not a subclass of str, as of an enumeration, which may print as another one.
    return words[words.index(value)]


def text(name: str, value: Any) -> bytes:
    """A word for the C API, which ends at a zero byte."""
    if not isinstance(value, str):
        raise TypeError(f"expected {name} as str, found {type(value).__name__}")
    if "\0" in value:
        raise ValueError(f"expected {name} without zero bytes, found {value!r:.80}")
    return value.encode(errors="surrogateescape")


def flag(name: str, value: Any, *, rule: str = "") -> bool:
    """True or False, of Python or numpy, or 1 or 0."""
    if type(value).__name__ in ("bool", "bool_") or is_integer(value) and (
        value in (0, 1)
    ):
        return bool(value)
    raise TypeError(
        f"expected {name} as True or False, found {value!r:.80}{rule_of(rule)}"
    )


def sizes_of(name: str, values: Sequence) -> tuple:
    """Of the axes of a tensor."""
    return tuple(integer(f"a size of {name}", each, 0) for each in values)
