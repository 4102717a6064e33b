# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every feature of ringlet.attention, each as a change of a small attention."""

import copy
import dataclasses
import math
from typing import Callable, NamedTuple

# Rows of a grid of 8x8; positions of every attention here lie below.
VOLUME = 64
# Sides of the blocks of a block mask.
BLOCK = 16


@dataclasses.dataclass
class Branch:
    w: str = "32"
    r: str = "2"
    more: str = ""


@dataclasses.dataclass
class Operand:
    """An operand beside query, key and value."""

    name: str
    shape: tuple
    dtype: str
    # Nothing stands for random ones.
    values: tuple = ()


# The operands of the operation in its order, first those that may have a number
# for each sequence.
BY_SEQUENCE = (
    "q_offset", "query_lengths", "key_lengths", "query_starts", "key_starts",
    "key_begins", "v_scale",
)  # fmt: skip
OPERANDS = (
    *BY_SEQUENCE[:-2], "w", "r", "sink", "block_mask", "pages", "key_begins", "k_scale",
    "v_scale",
)  # fmt: skip


@dataclasses.dataclass
class Attention:
    """Sizes, types and clauses; without any feature, dilated segments in f32."""

    batch: int = 2
    rows: int = 40
    columns: int = 56
    heads: int = 2
    key_heads: int = 2
    dim: int = 16
    value_dim: int = 16
    dtype: str = "f32"
    # That of keys and values, where it is another one.
    narrow: str = ""
    is_dynamic_batch: bool = False
    is_dynamic_length: bool = False
    is_packed: bool = False
    is_sum: bool = False
    branches: list = dataclasses.field(default_factory=lambda: [Branch()])
    query_order: str = ""
    key_order: str = ""
    # Whether types say that they are in linear order, which without is so, too.
    has_layouts: bool = False
    ring: str = ""
    # Rows of a page, of which the last of a sequence is full (S4).
    page: int = 0
    # Rows and keys of the tiles; several of each here. The compiler's choice
    # would be one.
    tile: tuple = (16, 16)
    clauses: list = dataclasses.field(default_factory=list)
    operands: list = dataclasses.field(default_factory=list)
    results: tuple = ("output", "lse")

    def add(self, name: str, shape: tuple, dtype: str, *values) -> None:
        self.operands.append(Operand(name, shape, dtype, values))

    def _rows(self, count: int, *rest: int) -> tuple:
        return (count, *rest) if self.is_packed else (self.batch, count, *rest)

    def tensors(self) -> list:
        """The operands."""
        inputs = [
            ("q", self._rows(self.rows, self.heads, self.dim)),
            ("k", self._rows(self.columns, self.key_heads, self.dim)),
            ("v", self._rows(self.columns, self.key_heads, self.value_dim)),
        ]
        others = list(self.operands)
        if self.page:
            # Packed ones are two. A page of the pool is nobody's.
            table = (2 if self.is_packed else self.batch, -(-self.columns // self.page))
            count = math.prod(table)
            inputs[1:] = [
                (name, (count + 1, self.page, *shape[-2:])) for name, shape in inputs[1:]
            ]
            pages = tuple((5 * i + 2) % (count + 1) for i in range(count))
            others.append(Operand("pages", table, "i32", pages))
        others.sort(key=lambda each: OPERANDS.index(each.name))
        dtypes = (self.dtype, *[self.narrow or self.dtype] * 2)
        return [Operand(*each, dtype) for each, dtype in zip(inputs, dtypes)] + others

    def all_results(self) -> list:
        output = self._rows(self.rows, self.heads, self.value_dim)
        lse = (*output[:-3], self.heads, self.rows)
        if self.is_sum:
            lse = (len(self.branches), *lse)
        return [Operand("output", output, self.dtype), Operand("lse", lse, "f32")]

    def result_tensors(self) -> list:
        """Those that the function returns."""
        return [each for each in self.all_results() if each.name in self.results]

    def _type(self, operand: Operand) -> str:
        """The type of a tensor, as much as the compiler is to know of it."""
        is_row = operand.name in ("q", "k", "v", "output", "lse")
        axis = len(operand.shape) - (1 if operand.name == "lse" else 3)
        sizes = list(operand.shape)
        in_pages = self.page and operand.name in ("k", "v")
        if self.is_dynamic_length and is_row:
            sizes[0 if in_pages else axis] = "?"
        if self.is_dynamic_batch:
            if is_row and not self.is_packed and not in_pages:
                sizes[len(sizes) - (3 if operand.name == "lse" else 4)] = "?"
            elif operand.name in BY_SEQUENCE and sizes:
                sizes[0] = "?"
        order = self.key_order if operand.name in "kv" else self.query_order
        layout = [f"order = <{order}>"] * bool(order)
        layout += [f"ring = <{self.ring}>"] * bool(self.ring)
        encoding = ", #rlayout.layout<>" if self.has_layouts else ""
        if is_row and layout:
            encoding = f", #rlayout.layout<{', '.join(layout)}, axis = {axis}>"
        return f"tensor<{''.join(f'{x}x' for x in sizes)}{operand.dtype}{encoding}>"

    def text(self, name: str) -> str:
        """A function that computes it."""
        operands = {each.name: self._type(each) for each in self.tensors()}
        results = {each.name: self._type(each) for each in self.all_results()}
        clauses = list(self.clauses)
        if sizes := [f"%{each}" for each in operands if each in ("w", "r")]:
            clauses.append(f"sizes({', '.join(sizes)})")
        if self.tile:
            tiling = "#ringlet.tiling<query = {}, key = {}>".format(*self.tile)
            clauses.append(f"tilings = [{', '.join([tiling] * len(self.branches))}]")
        arguments = ", ".join(
            f'%{each}: {type_} {{ringlet.name = "{each}"}}'
            for each, type_ in operands.items()
        )
        branches = ", ".join(
            f"<w = {each.w}, r = {each.r}{each.more}>" for each in self.branches
        )
        returned = ", ".join(results[each] for each in self.results)
        return (
            f"func.func @{name}({arguments}) -> ({returned}) {{\n"
            f"  %output, %lse = ringlet.attention %q, %k, %v branches [{branches}]"
            f" {' '.join(clauses)}\n"
            f"      : ({', '.join(operands.values())})"
            f" -> ({', '.join(results.values())})\n"
            f"  return {', '.join('%' + each for each in self.results)} : {returned}\n"
            "}\n"
        )


# The runtime refuses a call for where its queries lie, which features of the first
# group change and the others limit. A third feature may change that again.
MOVES, LIMITS = "first position", ("pattern order", "grid window", "block mask")


class Feature(NamedTuple):
    # Features of one group exclude each other.
    group: str
    change: Callable[[Attention], None]


# By name, in an order in which each finds what it changes or depends on.
FEATURES: dict = {}


def feature(name: str, group: str = ""):
    def note(change):
        FEATURES[name] = Feature(group or name, change)
        return change

    return note


def assign(name: str, group: str = "", **fields) -> None:
    def change(attention: Attention) -> None:
        for field, value in fields.items():
            setattr(attention, field, copy.deepcopy(value))

    feature(name, group)(change)


def clause(name: str, text: str, group: str = "") -> None:
    feature(name, group)(lambda attention: attention.clauses.append(text))


assign("bf16", "type", dtype="bf16")
assign("f16", "type", dtype="f16")
assign("grouped heads", heads=4)
assign("odd D", dim=13, value_dim=13)
assign("Dv != D", value_dim=24)
assign("dynamic batch", is_dynamic_batch=True)
assign("dynamic lengths", is_dynamic_length=True)
assign("odd lengths", "lengths of tensors", rows=37, columns=61)
assign("one query", "lengths of tensors", rows=1)
assign("one key", "lengths of tensors", rows=1, columns=1)


@feature("more queries than keys", MOVES)
def _(attention):
    attention.rows, attention.columns = attention.columns, attention.rows


assign("no keys", MOVES, columns=0)

assign("dense", "branches", branches=[Branch("*", "1")])
assign("segments", "branches", branches=[Branch("16", "1")])
assign("dilated", "branches", branches=[Branch("*", "3")])
assign("offset block", "branches", branches=[Branch("30", "3", ", offset = block")])
assign(
    "offset constant", "branches", branches=[Branch("30", "4", ", offset = constant<3>")]
)
assign("by query", "branches", branches=[Branch("16", "2", ", by = query")])
assign("some heads", "branches", branches=[Branch("16", "2", ", heads = [1, 2]")])
assign(
    "three branches",
    "branches",
    branches=[Branch("8", "1"), Branch("24", "2"), Branch("*", "5")],
)


@feature("runtime w", "sizes")
def _(attention):
    branch = attention.branches[0]
    attention.add("w", (), "i64", VOLUME if branch.w == "*" else int(branch.w))
    branch.w = "?"


@feature("runtime r", "sizes")
def _(attention):
    branch = attention.branches[0]
    attention.add("r", (), "i64", int(branch.r))
    branch.r = "?"


@feature("runtime w and r", "sizes")
def _(attention):
    for name in ("runtime w", "runtime r"):
        FEATURES[name].change(attention)


TABLE = [token * 19 % VOLUME for token in range(VOLUME)]
for order in (
    "linear, chunk = 64",
    "hilbert, grid = [8, 8]",
    "morton, grid = [8, 8]",
    "snake, grid = [8, 8]",
    "residue<3>, chunk = 64",
    f"table<{TABLE}>",
):
    curve = order.partition(",")[0].partition("<")[0]
    clause(f"pattern {curve}", f"pattern_order = <{order}>", "pattern order")
    if "chunk" not in order:
        order += ", chunk = 64"
    assign(f"keys along {curve}", "order of keys", key_order=order)
    if curve in ("hilbert", "residue"):
        assign(f"queries along {curve}", "order of queries", query_order=order)

assign("linear layouts", has_layouts=True)
clause("causal", "causal")
clause("window", "window = [11, 4]", "window")
clause("window to the left", "window = [9, -1]", "window")
clause("grid window", "grid_window = <grid = [8, 8], reach = [2, 1]>")


@feature("block mask")
def _(attention):
    attention.add("block_mask", (VOLUME // BLOCK, VOLUME // BLOCK), "i1")
    attention.clauses.append(f"block_mask(%block_mask) of [{BLOCK}, {BLOCK}]")


@feature("packed", "variable lengths")
def _(attention):
    attention.is_packed = True
    for side, count in (("query", attention.rows), ("key", attention.columns)):
        attention.add(f"{side}_starts", (3,), "i64", 0, count // 3, count)
    attention.clauses.append("packed(%query_starts, %key_starts)")


@feature("lengths", "variable lengths")
def _(attention):
    for side, count in (("query", attention.rows), ("key", attention.columns)):
        attention.add(f"{side}_lengths", (attention.batch,), "i64", count, count // 2)
    attention.clauses.append("lengths(%query_lengths, %key_lengths)")


def offset(name: str, shape: tuple, *values: int) -> None:
    @feature(name, MOVES)
    def _(attention):
        attention.add("q_offset", shape, "i64", *values)
        attention.clauses.append("q_offset(%q_offset)")


@feature("pages")
def _(attention):
    attention.page = 8
    attention.clauses.append("pages(%pages)")


@feature("key begins")
def _(attention):
    # So that positions stay at 0 and more where there are as many keys as this.
    first = 13 if attention.columns > 13 else 0
    attention.add("key_begins", (attention.batch,), "i32", first, 0)
    attention.clauses.append("key_begins(%key_begins)")


def narrow(name: str, dtype: str, unit: float) -> None:
    """Keys and values of 8 bits, with scales of heads and of sequences."""

    @feature(name, "8 bits")
    def _(attention):
        attention.narrow = dtype
        # Packed ones are two.
        batch = 2 if attention.is_packed else attention.batch
        heads = attention.key_heads
        of_keys = [unit * (1 + i) for i in range(heads)]
        of_values = [unit * (0.5 + i) * (-1) ** i for i in range(batch * heads)]
        attention.add("k_scale", (heads,), "f32", *of_keys)
        attention.add("v_scale", (batch, heads), "f32", *of_values)
        attention.clauses.append("k_scale(%k_scale) v_scale(%v_scale)")


narrow("keys of e4m3", "f8E4M3FN", 0.75)
narrow("keys of i8", "i8", 1 / 40)
offset("q_offset", (), 7)
offset("q_offset below 0", (), -9)
offset("q_offset of sequences", (2,), 3, 11)


@feature("sink")
def _(attention):
    attention.add("sink", (attention.heads,), "f32")
    attention.clauses.append("sink(%sink)")


clause("softcap", "softcap = 2.0")
clause("scale", "scale = 0.3")
clause("products of tf32x3", "precision = tf32x3")


@feature("mix sum")
def _(attention):
    attention.is_sum = True
    attention.clauses.append("mix = sum output_scale = 0.5")


assign("tiles of choice", tile=())
assign("ring", ring="?, zigzag")
assign("no lse", "results", results=("output",))
assign("only lse", "results", results=("lse",))


def must_be_alone(one: str, other: str) -> bool:
    """What larger attentions do would say nothing about these two."""
    groups = FEATURES[one].group, FEATURES[other].group
    return MOVES in groups and any(group in LIMITS for group in groups)


def combine(names) -> Attention:
    """The attention that has the features of these names."""
    attention = Attention()
    for name, feature_ in FEATURES.items():
        if name in names:
            feature_.change(attention)
    return attention
