# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a module of random graphs with reorders in them.

    random_graphs.py [--seed N] [--count N] [--only N [--ops N]]

Graph number n follows from the seed and n alone. --only writes one graph, --ops
just its first operations: what a failing graph can be cut down to.
"""

import argparse
import random

from graph_text import HEAD_DIM, GraphText, Sequence, Value

# Sides of token grids; the length or the chunk is their product.
GRIDS = ((2, 4), (3, 4), (3, 5), (4, 4), (2, 2, 3))
UNARY = ("math.absf", "math.tanh", "math.sin", "arith.negf", "math.erf")
BINARY = ("arith.addf", "arith.subf", "arith.mulf", "arith.maximumf")


class Graph(GraphText):
    def __init__(self, seed, number, limit):
        self.dice = dice = random.Random(f"{seed}/{number}")
        self.packed = dice.random() < 0.1
        batch = [] if self.packed else [dice.choice(("1", "2", "?"))]
        super().__init__(number, dice.choice(("f32", "f32", "f16", "bf16")), batch)
        grid = dice.choice(GRIDS)
        self.sequences = [Sequence(dice, grid, self.packed)]
        if dice.random() < 0.3:
            self.sequences.append(Sequence(dice, dice.choice(GRIDS), self.packed))
        for sequence in self.sequences:
            for _ in range(dice.choice((1, 2))):
                self.add_input(sequence)
        for _ in range(min(dice.randint(2, 12), limit)):
            self.add_operation()

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
        bias = f"tensor<{value.heads * HEAD_DIM}x{self.element}>"
        type = self.type(value)
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
        init = self.zeros(value, pool_type, axes=len(self.batch))
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

    def pick_attended(self):
        """Query, key and value, in the orders that a user gives them: K and V in
        one, or all three."""
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
        if dice.random() < 0.6:
            order = dice.choice([None] + key.sequence.orders)
            key, value = self.in_order(key, order), self.in_order(value, order)
            if query.sequence is key.sequence and dice.random() < 0.5:
                query = self.in_order(query, order)
        return query, key, self.in_order(value, key.order)

    def draw_pattern(self, query, key):
        """Clauses without operands about which keys are seen."""
        dice, clauses = self.dice, []
        if dice.random() < 0.5:
            clauses.append("causal")
        if dice.random() < 0.2:
            left, right = dice.choice((-1, 0, 3)), dice.choice((-1, 2))
            clauses.append(f"window = [{left}, {right}]")
        # What counts cells of a grid has a position for each.
        if query.sequence is key.sequence and key.sequence.whole:
            sides = key.sequence.sides
            if dice.random() < 0.3:
                reach = ", ".join(str(dice.randint(0, 2)) for _ in sides.split(","))
                clauses.append(f"grid_window = <grid = [{sides}], reach = [{reach}]>")
            if dice.random() < 0.3:
                curve = dice.choice(("hilbert", "morton", "snake"))
                clauses.append(f"pattern_order = <{curve}, grid = [{sides}]>")
        return clauses

    def draw_options(self, query, key, branches):
        """Clauses with operands, and those operands with their types."""
        dice, clauses, operands = self.dice, [], []

        def add(clause, *types):
            names = [self.argument(type) for type in types]
            operands.extend(zip(names, types))
            clauses.append(clause.format(", ".join(names)))

        on_grid = query.sequence is key.sequence and key.sequence.whole
        if dice.random() < 0.3 and not on_grid:
            each = [f"{self.batch[0]}xi64"] if self.batch else []
            add("q_offset({})", f"tensor<{dice.choice(['i64'] + each)}>")
        if self.packed:
            # One list: as many sequences of queries as of keys.
            starts, type = self.argument("tensor<4xi64>"), "tensor<4xi64>"
            operands.extend([(starts, type)] * 2)
            clauses.append(f"packed({starts}, {starts})")
        elif dice.random() < 0.2 and not on_grid:
            type = f"tensor<{self.batch[0]}xi64>"
            add("lengths({})", type, type)
        if "?" in branches:
            add("sizes({})", *["tensor<i64>"] * branches.count("?"))
        if dice.random() < 0.2:
            add("sink({})", f"tensor<{query.heads}xf32>")
        if dice.random() < 0.3 and on_grid:
            rows, columns = -(-key.sequence.volume // 2), -(-key.sequence.volume // 3)
            add("block_mask({}) of [2, 3]", f"tensor<{rows}x{columns}xi1>")
        return clauses, operands

    def add_attention(self):
        dice = self.dice
        query, key, value = self.pick_attended()
        self.used.update((query, key, value))
        branches = self.draw_branches()
        clauses, options = self.draw_options(query, key, branches)
        clauses += self.draw_pattern(query, key)
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
        operands = [(v.name, self.type(v)) for v in (query, key, value)]
        self.emit(
            f"{output}, {lse} = ringlet.attention "
            + ", ".join(name for name, _ in operands)
            + f" branches [{branches}] {' '.join(clauses)} : ("
            + ", ".join(type for _, type in operands + options)
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
            rate = self.dice.choice((1, 1, 2, 3, "?"))
            segment = self.dice.choice(("*", "5", "8", "?"))
            offset = self.dice.choice(("", "", ", offset = block, by = query"))
            branches.append(f"<w = {segment}, r = {rate}{offset}>")
        return ", ".join(branches)


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
