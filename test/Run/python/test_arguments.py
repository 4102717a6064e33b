# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values are taken as they are or refused with the argument's name: no number is cut
off, no word becomes IR, no mask is dropped."""

import decimal
import enum
import fractions

import numpy as np
import pytest

import ringlet
from conftest import graph
from ringlet import Branch, presets

X = np.random.default_rng(0).standard_normal((1, 20, 2, 8)).astype("f4")
HALF, NAN, INF = 0.5, float("nan"), float("inf")


def attend(**keywords):
    return ringlet.attention(X, X, X, **keywords)


@pytest.mark.parametrize("wrong", [4.7, 4.0, np.float32(4), "4", True, 1 + 0j, [4], X])
@pytest.mark.parametrize(
    "keywords",
    [
        lambda x: {"branches": [(x, 1)]},
        lambda x: {"branches": [(8, x)]},
        lambda x: {"branches": [Branch(8, 2, heads=(0, x))]},
        lambda x: {"window": (x, 0)},
        lambda x: {"grid_window": ((x, 5), (1, 1))},
        lambda x: {"grid_window": ((4, 5), (1, x))},
        lambda x: {"pattern_order": ("hilbert", (4, x))},
        lambda x: {"pattern_order": ("residue<4>", None, x)},
        lambda x: {"block_mask": (np.ones((1, 1), bool), (32, x))},
    ],
)
def test_what_is_no_integer(keywords, wrong):
    integer = r"as a?n? ?(list of )?integers?, found .*\(|an int for a rank-0 i64, found"
    with pytest.raises(TypeError, match=integer):
        attend(**keywords(wrong))


def test_messages_name_argument_value_and_rule():
    for keywords, message in (
        (
            {"branches": [(4.7, 1)]},
            r"argument 'branches': expected w as an integer, found 4.7 \(B1\); the "
            "nearest is 5",
        ),
        ({"branches": [(8, 4, 1.9)]}, r"expected offset as an integer, found 1.9 \(B2\)"),
        ({"window": (2.9, 0)}, r"an item of window as an integer, found 2.9 \(B4\)"),
        ({"window": 2.9}, r"expected window as a list of integers, found 2.9 \(B4\)"),
        (
            {"grid_window": ((4, 5), 1)},
            r"argument 'grid_window': expected \(grid, reach\): expected reach as a list",
        ),
        ({"branches": 8}, "argument 'branches': expected a list of .* found 8"),
        ({"branches": (8, 1)}, r"expected a list of \(w, r\) or ringlet.Branch, found 8"),
        ({"pattern_order": ("snake",)}, "snake"),
        ({"q_offset": [5.0]}, "an item of q_offset as an integer, found 5.0"),
        ({"lengths": ["3"]}, "an item of lengths as an integer, found '3'"),
        ({"sink": ["3", 4]}, "an item of sink as a number, found '3'"),
        ({"sink": [-1e39, 4]}, r"within \+-3.4028235e38, which f32 holds, found -1e\+39"),
        ({"sink": 0.5}, r"expected sink as f32\[heads\] or a list, found 0.5 \(R3\)"),
        ({"lengths": "5"}, r"lengths as i64\[batch\] or a list, found '5' \(S2\)"),
        ({"q_offset": 3.0}, r"expected q_offset as an integer, found 3.0 \(S1\)"),
        ({"q_offset": True}, r"expected q_offset as an integer, found True \(S1\)"),
        (
            {"branches": [(8, 1, 0, None, "key", "none", 3)]},
            r"expected 2 to 6 items \(w, r, offset, heads, by, padding\), found 7",
        ),
        (
            {"block_mask": (np.ones((1, 1), bool),)},
            r"expected 2 items \(shows, sizes\), found 1",
        ),
        ({"context": 3}, "expected context as a ringlet.Context, found 3"),
        ({"stream": "x"}, "expected stream as an integer, found 'x'"),
        ({"sink": [NAN, 4]}, r"an item of sink as a finite number, found nan \(R3\)"),
    ):
        with pytest.raises((TypeError, ValueError, ringlet.CompileError), match=message):
            attend(**keywords)


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**30])
def test_integers_of_more_than_64_bits(number):
    for keywords in (
        {"branches": [(number, 1)]},
        {"branches": [(8, 2, number)]},
        {"window": (number, 0)},
        {"q_offset": number},
        {"q_offset": [number]},
        {"lengths": [number]},
    ):
        with pytest.raises(ValueError, match="from -9223372036854775808 to 9223372036854"):
            attend(**keywords)
    size = (1, abs(number), 4, 64)
    with pytest.raises(ValueError, match="a size of q from 0 to"):
        ringlet.compile(graph()).estimate(size, size, size)


def test_contexts_take_integers():
    for wrong in 2.5, True, "2", None:
        for name in "device", "threads", "memory_limit":
            with pytest.raises(TypeError, match=f"expected {name} as an integer, found"):
                ringlet.Context(**{name: wrong})
    with pytest.raises(ValueError, match="expected threads from 0 to .* nearest is 0"):
        ringlet.Context(threads=-1)


@pytest.mark.parametrize("name", ["scale", "softcap", "output_scale"])
def test_numbers(name):
    keywords = {"mix": "sum"} if name == "output_scale" else {}
    for wrong in INF, -INF, NAN, np.float64(NAN), np.array(INF), 10**400:
        with pytest.raises(ValueError, match=f"expected {name} as a finite number, found -?(inf|nan)"):
            attend(**{name: wrong}, **keywords)
    for wrong in "0.5", True, 1j, [HALF], np.array([HALF]), b"1", np.bool_(True), object():
        with pytest.raises(TypeError, match=f"expected {name} as a number, found"):
            attend(**{name: wrong}, **keywords)
    want, _ = attend(**{name: HALF}, **keywords)
    for same in (
        np.float32(HALF), np.array(HALF), fractions.Fraction(1, 2), decimal.Decimal("0.5"),
    ):  # fmt: skip
        np.testing.assert_array_equal(attend(**{name: same}, **keywords)[0], want)
    # What is finite in f64 only.
    with pytest.raises(ringlet.CompileError, match=name):
        attend(**{name: 1e300}, **keywords)


def test_tiny_softcap_is_no_division_by_zero():
    with pytest.raises(ringlet.CompileError, match="softcap"):
        attend(softcap=1e-300)


INJECTED = (
    "modulo>, <w = 2, r = 1",
    "modulo, by = query",
    "block\n",
    "constant<1>",
    "",
    "Modulo",
    "modulo>] causal //",
)


@pytest.mark.parametrize("word", INJECTED)
def test_words_do_not_become_text(word):
    for keywords in (
        {"branches": [(4, 1, word)]},
        {"branches": [Branch(4, 1, by=word)]},
        {"mix": word},
        {"layout": word},
        {"pattern_order": (word + ">", (4, 8))},
        {"pattern_order": ("snake, grid = [4, 8]> " + word, None)},
    ):
        with pytest.raises(ValueError, match="expected (offset|by|mix|layout|curve) as"):
            attend(**keywords)


class Word(str, enum.Enum):
    MODULO, QUERY, SUM = "modulo", "query", "sum"


class Chatty(int):
    def __format__(self, form):
        return "8>, <w = 2, r = 1"

    __str__ = __repr__ = lambda self: format(self)


def test_subclasses_are_what_they_hold():
    """However they print: members of enumerations print as `Word.SUM`."""
    plain = attend(branches=[(8, 2, "modulo", None, "query")], mix="sum", window=(3, 0))
    branch = (Chatty(8), Chatty(2), Word.MODULO, None, Word.QUERY)
    found = attend(branches=[branch], mix=Word.SUM, window=(Chatty(3), Chatty(0)))
    for one, other in zip(found, plain):
        np.testing.assert_array_equal(one, other)


def test_infinite_sinks_in_lists():
    """R3: nothing beside the one that is no sink, everything to the other."""
    out, lse = attend(sink=[-INF, INF])
    bare = attend()
    np.testing.assert_allclose(out[..., 0, :], bare[0][..., 0, :], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(lse[:, 0], bare[1][:, 0], rtol=1e-6)
    assert (out[..., 1, :] == 0).all() and (lse[:, 1] == INF).all()


def test_values_of_other_functions(dense):
    for call, message in (
        (lambda: ringlet.compile(graph(), context=3), "context as a ringlet.Context"),
        (lambda: ringlet.Program(b"", 3), "context as a ringlet.Context, found 3"),
        (lambda: ringlet.Program("x.rla"), "artifact as bytes, found str"),
        (lambda: ringlet.compile(graph(), timeout=-1), "timeout above 0 seconds, found -1"),
        (lambda: ringlet.compile(graph(), timeout="9"), "timeout as a number, found '9'"),
        (lambda: presets.longnet([4.5], [1]), r"a segment as an integer, found 4.5 \(B1\)"),
        (lambda: presets.up_to("9"), r"length as an integer, found '9' \(B1\)"),
    ):
        with pytest.raises((TypeError, ValueError), match=f"expected {message}"):
            call()


def test_curves_have_parameters():
    order = "table<[1, 0, 2, 3, 7, 6, 5, 4]>"
    attend(branches=[(8, 2)], pattern_order=("residue< 4 >", None, 32))
    with pytest.raises(ringlet.RuntimeError, match="O2"):
        attend(branches=[(8, 2)], pattern_order=(order, None, 8))
    for wrong in "table<[1>, <0]>", "table<[1]> , chunk = 4", "residue<4", "residue<x>", 4:
        with pytest.raises((ValueError, TypeError), match="expected curve as a name"):
            attend(pattern_order=(wrong, None, 8))


def test_words_without_zero_bytes():
    """Which would end a word of the C API early."""
    for name in "driver", "target":
        with pytest.raises(ValueError, match=f"{name} without zero bytes, found 'cpu"):
            ringlet.Context(**{name: "cpu\0x"})
        with pytest.raises(TypeError, match=f"expected {name} as str, found int"):
            ringlet.Context(**{name: 3})
    with pytest.raises(ValueError, match="target without zero bytes"):
        ringlet.compile(graph(), "cpu\0")
    with pytest.raises(ValueError, match="an option without zero bytes"):
        ringlet.compile(graph(), options=["--explain\0"])
    with pytest.raises(TypeError, match="expected options as a list of str"):
        ringlet.compile(graph(), options="--explain")


def test_masked_arrays(dense, inputs):
    """What a mask hides would be read."""
    masked = np.ma.masked_array(inputs[0], inputs[0] > 0)
    with pytest.raises(ValueError, match=r"argument 'q': .* without a mask.* filled\(\)"):
        dense(masked, *inputs[1:])
    with pytest.raises(ValueError, match="argument 'result0': .* without a mask"):
        dense(*inputs, out=(np.ma.masked_array(inputs[0]), dense(*inputs)[1]))
    x = np.ma.masked_array(X, X > 0)
    for arguments, keywords, name in (
        ((x, X, X), {}, "query"),
        ((X, x, X), {}, "key"),
        ((X, X, x), {}, "value"),
        ((X, X, X), {"lengths": np.ma.masked_array([3], [True])}, "lengths"),
        ((X, X, X), {"lengths": np.ma.masked_array([3], [True], "i4")}, "lengths"),
        ((X, X, X), {"q_offset": np.ma.masked_array(3, True)}, "q_offset"),
        ((X, X, X), {"sink": np.ma.masked_array(np.zeros(2, "f4"))}, "sink"),
        (
            (X, X, X),
            {"block_mask": (np.ma.masked_array([[True]]), (32, 32))},
            "block_mask",
        ),
    ):
        with pytest.raises(ValueError, match=f"'{name}': expected an array without a"):
            ringlet.attention(*arguments, **keywords)
    with pytest.raises(ValueError, match="without a mask"):
        dense(ringlet.bits(np.ma.masked_array(np.zeros(3, "u2")), "bf16"), *inputs[1:])


@pytest.mark.parametrize(
    "keywords",
    [
        lambda x: {"scale": x},
        lambda x: {"softcap": x},
        lambda x: {"dropout_p": x},
        lambda x: {"mix": "sum", "output_scale": x},
        lambda x: {"sink": [0.0, x]},
        lambda x: {"q_offset": [x]},
        lambda x: {"lengths": [x]},
        lambda x: {"window": (x, 0)},
        lambda x: {"grid_window": ((x, 4), (1, 1))},
        lambda x: {"branches": [(8, 2, x)]},
    ],
)
def test_masked_numbers(keywords):
    """Numpy gives the number that a mask hides to whoever asks for one."""
    q = np.zeros((1, 4, 2, 8), "f4")
    for hidden in (
        np.ma.masked_array(3, True, np.int64),
        np.ma.masked_array(0.5, True, np.float32),
        np.ma.masked,
    ):
        with pytest.raises((TypeError, ValueError), match="without a mask, found"):
            ringlet.attention(q, q, q, **keywords(hidden))


@pytest.mark.parametrize(
    "keywords, message",
    [
        ({"branches": [{8, 2}]}, r"a list of \(w, r\) .* found \{8, 2\} in it"),
        ({"branches": {(8, 2), (4, 1)}}, r"a list of \(w, r\) .* found \{\("),
        ({"branches": 8}, r"a list of \(w, r\) or ringlet.Branch, found 8"),
        ({"window": {1, 2}}, r"window as a list of integers, found \{1, 2\}"),
        ({"window": {1: 2, 3: 4}}, "window as a list of integers, found"),
        ({"grid_window": 5}, r"grid_window as \(grid, reach\), found 5"),
        ({"grid_window": ({4, 8}, (1, 1))}, "grid as a list of integers, found"),
        ({"pattern_order": "hilbert"}, r"pattern_order as \(curve, grid, chunk\), found"),
    ],
)
def test_what_is_no_list(keywords, message):
    """A set has no order that a caller chose."""
    q = np.zeros((1, 4, 2, 8), "f4")
    with pytest.raises(TypeError, match=message):
        ringlet.attention(q, q, q, **keywords)


def test_flags():
    for wrong in "no", 2, None, 0.0, X:
        with pytest.raises(TypeError, match=r"expected causal as True or False, found"):
            attend(causal=wrong)
    want, _ = attend(causal=True)
    for same in 1, np.bool_(True):
        np.testing.assert_array_equal(attend(causal=same)[0], want)


def test_presets_take_integers():
    for call in (
        lambda: presets.longnet([8.5], [1]),
        lambda: presets.longnet([8], [1.5]),
        lambda: presets.window(2.5, 0),
        lambda: presets.grouped([8], [1], heads=2.0),
        lambda: presets.up_to(9.5),
    ):
        with pytest.raises(TypeError, match="integer"):
            call()
