# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a module of random graphs with reorders in them.

    random_graphs.py [--seed N] [--count N] [--only N [--ops N]]

Graph number n follows from the seed and n alone. --only writes one graph, --ops
just its first operations: what a failing graph can be cut down to.
"""

import argparse
import random

HEAD_DIM = 3
# Sides of token grids; the length or the chunk is their product.
GRIDS = ((2, 4), (3, 4), (3, 5), (4, 4), (2, 2, 3))
UNARY = ("math.absf", "math.tanh", "math.sin", "arith.negf", "math.erf")
BINARY = ("arith.addf", "arith.subf", "arith.mulf", "arith.maximumf")


class Order:
    """What stands between the brackets of #rlayout.order."""

    def __init__(self, text):
        self.text = text

    def layout(self, axis):
        suffix = "" if axis == 1 else f", axis = {axis}"
        return f"#rlayout.layout<order = #rlayout.order<{self.text}>{suffix}>"


class Sequence:
    """Tokens that several tensors share, and the orders that fit them."""

    def __init__(self, dice, grid, packed):
        volume = 1
        for side in grid:
            volume *= side
        sides = ", ".join(map(str, grid))
        self.size = dice.choice(("?", str(volume), str(2 * volume)))
        # Packed sequences have any length.
        whole = self.size == str(volume) and not packed
        chunk = "" if whole else f", chunk = {volume}"
        table = list(range(volume))
        dice.shuffle(table)
        self.orders = [Order(f"residue<{dice.choice((2, 3, 4))}>")]
        self.orders.append(Order(f"residue<2>, chunk = {dice.choice((4, 6))}"))
        for curve in ("hilbert", "morton", "snake"):
            self.orders.append(Order(f"{curve}, grid = [{sides}]{chunk}"))
        if whole:
            self.orders.append(Order(f"table<{table}>"))


class Value:
    """A tensor [batch..., sequence, heads, head dim], with heads and head dim in
    one axis if it is merged; or lse, [batch..., heads, sequence]."""

    def __init__(self, name, sequence, heads, order, merged):
        self.name, self.sequence, self.heads = name, sequence, heads
        self.order, self.merged = order, merged


class Graph:
    def __init__(self, seed, number, limit):
        self.dice = dice = random.Random(f"{seed}/{number}")
        self.number, self.lines, self.arguments = number, [], []
        self.counter, self.used = 0, set()
        self.element = dice.choice(("f32", "f32", "f16", "bf16"))
        self.packed = dice.random() < 0.1
        self.batch = [] if self.packed else [dice.choice(("1", "2", "?"))]
        self.axis = len(self.batch)
        grid = dice.choice(GRIDS)
        self.sequences = [Sequence(dice, grid, self.packed)]
        if dice.random() < 0.3:
            self.sequences.append(Sequence(dice, dice.choice(GRIDS), self.packed))
        self.values, self.lses = [], []
        for sequence in self.sequences:
            for _ in range(dice.choice((1, 2))):
                self.add_input(sequence)
        for _ in range(min(dice.randint(2, 12), limit)):
            self.add_operation()

    # Text

    def fresh(self):
        self.counter += 1
        return f"%{self.counter}"

    def emit(self, line):
        self.lines.append(f"    {line}")

    def type(self, value, order="same", element=None):
        """Of a value, or of one like it in another order."""
        order = value.order if order == "same" else order
        if value in self.lses:
            shape = self.batch + [str(value.heads), value.sequence.size]
            axis, element = self.axis + 1, "f32"
        else:
            features = [str(value.heads), str(HEAD_DIM)]
            if value.merged:
                features = [str(value.heads * HEAD_DIM)]
            shape = self.batch + [value.sequence.size] + features
            axis = self.axis
        layout = f", {order.layout(axis)}" if order else ""
        return f"tensor<{'x'.join(shape)}x{element or self.element}{layout}>"

    def argument(self, type):
        name = f"%a{len(self.arguments)}"
        self.arguments.append(f"{name}: {type}")
        return name

    def maps(self, *results):
        """Indexing maps from the loops b, s, and whatever else is named."""
        loops = sorted({loop for result in results for loop in result})
        args = ", ".join(loops)
        return ", ".join(
            f"affine_map<({args}) -> ({', '.join(result)})>" for result in results
        )

    def dims(self, *rest):
        return ["b"] * len(self.batch) + list(rest)

    def generic(self, maps, kinds, inputs, outputs, body, result_type):
        """body: lines on %i0, %i1, ... and %out, and the value to yield."""
        name = self.fresh()
        names = [value for value, _ in inputs]
        types = [type for _, type in inputs]
        arguments = [
            f"%i{i}: {'f32' if 'f32' in type[:-1].split(',')[0] else self.element}"
            for i, type in enumerate(types)
        ]
        out, out_type = outputs
        kinds = ", ".join(f'"{kind}"' for kind in kinds)
        self.emit(
            f"{name} = linalg.generic {{indexing_maps = [{maps}], "
            f"iterator_types = [{kinds}]}} ins({', '.join(names)} : "
            f"{', '.join(types)}) outs({out} : {out_type}) {{"
        )
        self.emit(f"^bb0({', '.join(arguments)}, %out: {self.element}):")
        lines, result = body
        for line in lines:
            self.emit(f"  {line}")
        self.emit(f"  linalg.yield {result} : {self.element}")
        self.emit(f"}} -> {result_type}")
        return name

    def empty(self, like, type):
        """An empty tensor of a type with the dynamic sizes of a value."""
        sizes = []
        like_type = self.type(like)
        for axis in range(self.axis + 1):
            shape = like_type[len("tensor<") :].split("x")
            if shape[axis] == "?":
                constant, size = self.fresh(), self.fresh()
                self.emit(f"{constant} = arith.constant {axis} : index")
                self.emit(f"{size} = tensor.dim {like.name}, {constant} : {like_type}")
                sizes.append(size)
        name = self.fresh()
        self.emit(f"{name} = tensor.empty({', '.join(sizes)}) : {type}")
        return name

    def zeros(self, like, type):
        empty, zero, name = self.empty(like, type), self.fresh(), self.fresh()
        self.emit(f"{zero} = arith.constant 0.0 : {self.element}")
        self.emit(
            f"{name} = linalg.fill ins({zero} : {self.element}) "
            f"outs({empty} : {type}) -> {type}"
        )
        return name

    # Values

    def add_input(self, sequence):
        order = self.dice.choice([None, None, None] + sequence.orders)
        value = Value("", sequence, self.dice.choice((2, 4)), order, False)
        value.merged = self.dice.random() < 0.5
        value.name = self.argument(self.type(value))
        self.values.append(value)

    def pick(self, sequence=None):
        found = [v for v in self.values if sequence in (None, v.sequence)]
        # New values more often than old ones: graphs grow deep.
        return found[-1 - min(int(self.dice.expovariate(0.7)), len(found) - 1)]

    def like(self, value, name, **changes):
        fields = dict(
            sequence=value.sequence,
            heads=value.heads,
            order=value.order,
            merged=value.merged,
        )
        fields.update(changes)
        result = Value(name, **fields)
        self.values.append(result)
        self.used.add(value)
        return result

    def reorder(self, value, order):
        name = self.fresh()
        self.emit(
            f"{name} = ringlet.reorder {value.name} : {self.type(value)} to "
            f"{self.type(value, order)}"
        )
        if value not in self.lses:
            return self.like(value, name, order=order)
        result = Value(name, value.sequence, value.heads, order, False)
        self.lses.append(result)
        self.used.add(value)
        return result

    def in_order(self, value, order):
        return value if value.order is order else self.reorder(value, order)

    def split(self, value):
        return self.reshape(value, False) if value.merged else value

    def reshape(self, value, merged):
        op = "collapse" if merged else "expand"
        axis = self.axis
        groups = [[i] for i in range(axis + 1)] + [[axis + 1, axis + 2]]
        name = self.fresh()
        result = self.like(value, name, merged=merged)
        shape = ""
        if not merged:
            sizes = []
            dims = self.batch + [value.sequence.size]
            for i, size in enumerate(dims):
                if size == "?":
                    constant, size = self.fresh(), self.fresh()
                    self.emit(f"{constant} = arith.constant {i} : index")
                    self.emit(
                        f"{size} = tensor.dim {value.name}, {constant} : "
                        f"{self.type(value)}"
                    )
                sizes.append(size)
            sizes += [str(value.heads), str(HEAD_DIM)]
            shape = f" output_shape [{', '.join(sizes)}]"
        self.emit(
            f"{name} = tensor.{op}_shape {value.name} {groups}{shape} : "
            f"{self.type(value)} into {self.type(result)}"
        )
        return result

    # Operations

    def add_operation(self):
        kinds = (
            [self.add_reorder] * 4
            + [self.add_unary] * 2
            + [self.add_binary] * 3
            + [self.add_attention] * 5
            + [self.add_projection] * 2
            + [self.add_norm] * 2
            + [self.add_reshape, self.add_bias, self.add_gate]
            + [self.add_row_numbers, self.add_pool, self.add_softmax]
        )
        self.dice.choice(kinds)()

    def add_reorder(self):
        value = self.dice.choice([self.pick()] + self.lses[-1:])
        self.reorder(value, self.dice.choice([None] + value.sequence.orders))

    def add_reshape(self):
        value = self.pick()
        self.reshape(value, not value.merged)

    def add_unary(self):
        value, name = self.pick(), self.fresh()
        op = self.dice.choice(UNARY)
        self.emit(f"{name} = {op} {value.name} : {self.type(value)}")
        self.like(value, name)

    def add_binary(self):
        left = self.pick()
        right = self.dice.choice(
            [
                value
                for value in self.values
                if value.sequence is left.sequence
                and (value.heads, value.merged) == (left.heads, left.merged)
            ]
        )
        right, name = self.in_order(right, left.order), self.fresh()
        self.emit(
            f"{name} = {self.dice.choice(BINARY)} {left.name}, {right.name} : "
            f"{self.type(left)}"
        )
        self.used.add(right)
        self.like(left, name)

    def merge(self, value):
        return value if value.merged else self.reshape(value, True)

    def add_projection(self):
        value = self.merge(self.pick())
        heads = self.dice.choice((1, 2, 4))
        weights = f"tensor<{value.heads * HEAD_DIM}x{heads * HEAD_DIM}x{self.element}>"
        result = Value("", value.sequence, heads, value.order, True)
        type = self.type(result)
        init = self.zeros(value, type)
        name = self.generic(
            self.maps(self.dims("s", "d"), ("d", "e"), self.dims("s", "e")),
            # The loops in the order of their names: b, d, e, s.
            ["parallel"] * len(self.batch) + ["reduction", "parallel", "parallel"],
            [(value.name, self.type(value)), (self.argument(weights), weights)],
            (init, type),
            (
                [
                    f"%p = arith.mulf %i0, %i1 : {self.element}",
                    f"%r = arith.addf %out, %p : {self.element}",
                ],
                "%r",
            ),
            type,
        )
        self.like(value, name, heads=heads)

    def add_norm(self):
        """The root of the mean square of a row's features divides them."""
        value = self.merge(self.pick())
        shape = self.batch + [value.sequence.size, self.element]
        layout = f", {value.order.layout(self.axis)}" if value.order else ""
        squares_type = f"tensor<{'x'.join(shape)}{layout}>"
        init = self.zeros(value, squares_type)
        type = self.type(value)
        squares = self.generic(
            self.maps(self.dims("s", "d"), self.dims("s")),
            ["parallel"] * len(self.batch) + ["reduction", "parallel"],
            [(value.name, type)],
            (init, squares_type),
            (
                [
                    f"%p = arith.mulf %i0, %i0 : {self.element}",
                    f"%r = arith.addf %out, %p : {self.element}",
                ],
                "%r",
            ),
            squares_type,
        )
        name = self.generic(
            self.maps(self.dims("s", "d"), self.dims("s"), self.dims("s", "d")),
            ["parallel"] * (len(self.batch) + 2),
            [(value.name, type), (squares, squares_type)],
            (self.empty(value, type), type),
            (
                [
                    f"%one = arith.constant 1.0 : {self.element}",
                    f"%n = arith.addf %i1, %one : {self.element}",
                    f"%q = math.rsqrt %n : {self.element}",
                    f"%r = arith.mulf %i0, %q : {self.element}",
                ],
                "%r",
            ),
            type,
        )
        self.like(value, name)

    def add_bias(self):
        value = self.merge(self.pick())
        bias, type = f"tensor<{value.heads * HEAD_DIM}x{self.element}>", self.type(value)
        name = self.generic(
            self.maps(self.dims("s", "d"), ("d",), self.dims("s", "d")),
            ["parallel"] * (len(self.batch) + 2),
            [(value.name, type), (self.argument(bias), bias)],
            (self.empty(value, type), type),
            ([f"%r = arith.addf %i0, %i1 : {self.element}"], "%r"),
            type,
        )
        self.like(value, name)

    def add_row_numbers(self):
        """Depends on the slot: nothing may move past it."""
        value = self.merge(self.pick())
        type = self.type(value)
        name = self.generic(
            self.maps(self.dims("s", "d"), self.dims("s", "d")),
            ["parallel"] * (len(self.batch) + 2),
            [(value.name, type)],
            (self.empty(value, type), type),
            (
                [
                    f"%s = linalg.index {self.axis + 1} : index",
                    "%n = arith.index_cast %s : index to i64",
                    f"%p = arith.sitofp %n : i64 to {self.element}",
                    f"%r = arith.addf %i0, %p : {self.element}",
                ],
                "%r",
            ),
            type,
        )
        self.like(value, name)

    def add_pool(self):
        """Adds the sum over all tokens to each of them."""
        value = self.merge(self.pick())
        type = self.type(value)
        shape = self.batch + [str(value.heads * HEAD_DIM), self.element]
        pool_type = f"tensor<{'x'.join(shape)}>"
        if self.batch == ["?"]:
            constant, size, empty = self.fresh(), self.fresh(), self.fresh()
            self.emit(f"{constant} = arith.constant 0 : index")
            self.emit(f"{size} = tensor.dim {value.name}, {constant} : {type}")
            self.emit(f"{empty} = tensor.empty({size}) : {pool_type}")
        else:
            empty = self.fresh()
            self.emit(f"{empty} = tensor.empty() : {pool_type}")
        zero, init = self.fresh(), self.fresh()
        self.emit(f"{zero} = arith.constant 0.0 : {self.element}")
        self.emit(
            f"{init} = linalg.fill ins({zero} : {self.element}) "
            f"outs({empty} : {pool_type}) -> {pool_type}"
        )
        pool = self.generic(
            self.maps(self.dims("s", "d"), self.dims("d")),
            ["parallel"] * len(self.batch) + ["parallel", "reduction"],
            [(value.name, type)],
            (init, pool_type),
            ([f"%r = arith.addf %out, %i0 : {self.element}"], "%r"),
            pool_type,
        )
        name = self.generic(
            self.maps(self.dims("s", "d"), self.dims("d"), self.dims("s", "d")),
            ["parallel"] * (len(self.batch) + 2),
            [(value.name, type), (pool, pool_type)],
            (self.empty(value, type), type),
            ([f"%r = arith.addf %i0, %i1 : {self.element}"], "%r"),
            type,
        )
        self.like(value, name)

    def add_softmax(self):
        value = self.merge(self.pick())
        type, name = self.type(value), self.fresh()
        init = self.empty(value, type)
        self.emit(
            f"{name} = linalg.softmax dimension({self.axis + 1}) "
            f"ins({value.name} : {type}) outs({init} : {type}) -> {type}"
        )
        self.like(value, name)

    def add_gate(self):
        """Scales an output by its lse, whose tokens lie along another axis."""
        if not self.lses:
            return self.add_unary()
        lse = self.lses[-1]
        value = self.split(self.pick(lse.sequence))
        if value.heads != lse.heads:
            return self.add_unary()
        lse = self.in_order(lse, value.order)
        type = self.type(value)
        narrow = ["%n = arith.addf %i1, %zero : f32"]
        if self.element != "f32":
            narrow = [f"%n = arith.truncf %i1 : f32 to {self.element}"]
        self.used.add(lse)
        name = self.generic(
            self.maps(
                self.dims("s", "h", "d"), self.dims("h", "s"), self.dims("s", "h", "d")
            ),
            ["parallel"] * (len(self.batch) + 3),
            [(value.name, type), (lse.name, self.type(lse))],
            (self.empty(value, type), type),
            (
                ["%zero = arith.constant 0.0 : f32"]
                + narrow
                + [
                    f"%t = math.tanh %n : {self.element}",
                    f"%r = arith.mulf %i0, %t : {self.element}",
                ],
                "%r",
            ),
            type,
        )
        self.like(value, name)

    def add_attention(self):
        dice = self.dice
        query = self.split(self.pick())
        keys = [
            value
            for value in self.values
            if query.heads % value.heads == 0
            # Only what starts where the queries start is packed alike.
            and (not self.packed or value.sequence is query.sequence)
        ]
        key = self.split(dice.choice(keys[-4:]))
        values = [
            value
            for value in self.values
            if value.sequence is key.sequence and value.heads == key.heads
        ]
        value = self.split(dice.choice(values[-4:]))
        # What a user writes around an attention: K and V in one order, or all
        # three, and the output back.
        if dice.random() < 0.6:
            order = dice.choice([None] + key.sequence.orders)
            key, value = self.in_order(key, order), self.in_order(value, order)
            if query.sequence is key.sequence and dice.random() < 0.5:
                query = self.in_order(query, order)
        value = self.in_order(value, key.order)
        self.used.update((query, key, value))

        operands = [(v.name, self.type(v)) for v in (query, key, value)]
        clauses, branches = [], self.draw_branches()
        if dice.random() < 0.5:
            clauses.append("causal")
        if dice.random() < 0.2:
            clauses.append(f"window = [{dice.choice((-1, 0, 3))}, {dice.choice((-1, 2))}]")

        def operand(clause, *pairs):
            clauses.append(clause.format(*(name for name, _ in pairs)))
            operands.extend(pairs)

        def fresh_argument(type):
            return self.argument(type), type

        # The operands of the optional clauses have a fixed sequence.
        if dice.random() < 0.3:
            kind = dice.choice(("i64", f"{self.batch[0]}xi64") if self.batch else ("i64",))
            operand("q_offset({0})", fresh_argument(f"tensor<{kind}>"))
        if self.packed:
            starts = fresh_argument("tensor<4xi64>")
            operand("packed({0}, {1})", starts, starts)
        elif dice.random() < 0.2:
            type = f"tensor<{self.batch[0]}xi64>"
            operand("lengths({0}, {1})", fresh_argument(type), fresh_argument(type))
        sizes = [fresh_argument("tensor<i64>") for _ in range(branches.count("?"))]
        if sizes:
            operand("sizes(" + ", ".join(name for name, _ in sizes) + ")", *sizes)
        if dice.random() < 0.2:
            operand("sink({0})", fresh_argument(f"tensor<{query.heads}xf32>"))
        if dice.random() < 0.2:
            clauses.append("softcap = 2.0")
        mixed = dice.random() < 0.15
        if mixed:
            clauses.append("mix = sum output_scale = 0.5")

        output, lse = self.fresh(), self.fresh()
        result = self.like(query, output)
        summary = Value(lse, query.sequence, query.heads, query.order, False)
        if mixed:
            lse_type = self.stacked_type(summary, branches.count("w ="))
        else:
            self.lses.append(summary)
            lse_type = self.type(summary)
        self.emit(
            f"{output}, {lse} = ringlet.attention "
            + ", ".join(name for name, _ in operands[:3])
            + f" branches [{branches}] {' '.join(clauses)} : ("
            + ", ".join(type for _, type in operands)
            + f") -> ({self.type(result)}, {lse_type})"
        )
        if dice.random() < 0.5:
            self.reorder(result, dice.choice([None] + result.sequence.orders))

    def stacked_type(self, lse, branches):
        """lse under mix = sum: one more axis, of branches."""
        shape = [str(branches)] + self.batch + [str(lse.heads), lse.sequence.size]
        layout = f", {lse.order.layout(self.axis + 2)}" if lse.order else ""
        return f"tensor<{'x'.join(shape)}xf32{layout}>"

    def draw_branches(self):
        branches = []
        for _ in range(self.dice.choice((1, 1, 2, 3))):
            rate = self.dice.choice((1, 1, 2, 3))
            segment = self.dice.choice(("*", "5", "8", "?"))
            offset = self.dice.choice(("", "", ", offset = block, by = query"))
            branches.append(f"<w = {segment}, r = {rate}{offset}>")
        return ", ".join(branches)

    def text(self):
        results = [v for v in self.values + self.lses if v not in self.used]
        results = results[-4:]
        types = ", ".join(self.type(value) for value in results)
        names = ", ".join(value.name for value in results)
        return "\n".join(
            [
                f"  func.func @graph_{self.number}({', '.join(self.arguments)}) "
                f"-> ({types}) {{"
            ]
            + self.lines
            + [f"    return {names} : {types}", "  }"]
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--only", type=int)
    parser.add_argument("--ops", type=int, default=100)
    options = parser.parse_args()
    numbers = range(options.count) if options.only is None else [options.only]
    for number in numbers:
        print(Graph(options.seed, number, options.ops).text())


if __name__ == "__main__":
    main()
