# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random bodies of `rtile.generate`, as text and as functions of the place."""

FUNCTIONS = {
    "addi": lambda a, b: wrap(a + b),
    "muli": lambda a, b: wrap(a * b),
    "maxsi": max,
    "xori": lambda a, b: a ^ b,
}


def wrap(value):
    """The low 64 bits, as a signed number."""
    return (value + 2**63) % 2**64 - 2**63


def draw_numbers(dice, count):
    """Some of them near the ends of what 64 bits hold."""
    near = (0, 2**62, -(2**62), 2**31)
    return [dice.choice(near) + dice.randint(-5, 5) for _ in range(count)]


class Entries:
    """Entries of a new table at some places, each a term over its place and over
    the numbers of another list: sums by loops, choices by branches, arithmetic.
    `written` has them by the table's name and their place."""

    def __init__(self, program):
        self.dice, self.name, self.constant = program.dice, program.name, program.constant
        self.numbers, table = (
            program.new_buffer("i64", [size], draw_numbers(self.dice, size))
            for size in (self.dice.randint(1, 9), self.dice.randint(1, 40))
        )
        self.place, self.lines, self.terms = self.name("place"), [], []
        entry, term = self.add(
            f"arith.index_cast {self.place} : index to i64", lambda place: place
        )
        self.zero, _ = self.add("arith.constant 0 : i64", lambda place: 0)
        for _ in range(self.dice.randint(0, 4)):
            make = self.dice.choice((self.total, self.branch, self.arithmetic))
            entry, term = make()
        size = table.sizes[0]
        begin, end = (self.dice.randint(-3, size + 3) for _ in range(2))
        self.written = {
            (table.name, place): term(place)
            for place in range(max(begin, 0), min(end, size))
        }
        bounds = f"{self.constant(begin)} to {self.constant(end)}"
        self.text = "\n".join(
            [
                f"rtile.generate {table.name}[{self.place} = {bounds}] {{",
                *self.lines,
                f"rtile.yield {entry} : i64",
                f"}} : {table.type}",
            ]
        )

    def add(self, text, term):
        name = self.name("n")
        self.lines.append(f"{name} = {text}")
        self.terms.append((name, term))
        return self.terms[-1]

    def total(self):
        """The sum of the numbers, of which those that are not below the next one
        count as often as a term says."""
        (factor, term), numbers = self.dice.choice(self.terms), self.numbers
        turn, kept, further, place, x, y, is_less, product, chosen, sum_ = map(
            self.name, ("turn", "kept", "further", "at", "x", "y", "is", "p", "c", "sum")
        )
        begin, step, end = (self.constant(n) for n in (0, 1, len(numbers.data)))

        def add_up(n):
            pairs = zip(numbers.data, numbers.data[1:] + numbers.data[:1])
            return wrap(sum(a if a < b else a * n for a, b in pairs))

        return self.add(
            f"scf.for {turn} = {begin} to {end} step {step}"
            f" iter_args({kept} = {self.zero}) -> (i64) {{\n"
            f"{further} = arith.addi {turn}, {step} : index\n"
            f"{place} = arith.remui {further}, {end} : index\n"
            f"{x} = memref.load {numbers.name}[{turn}] : {numbers.type}\n"
            f"{y} = memref.load {numbers.name}[{place}] : {numbers.type}\n"
            f"{is_less} = arith.cmpi slt, {x}, {y} : i64\n"
            f"{product} = arith.muli {x}, {factor} : i64\n"
            f"{chosen} = arith.select {is_less}, {x}, {product} : i64\n"
            f"{sum_} = arith.addi {kept}, {chosen} : i64\n"
            f"scf.yield {sum_} : i64\n}}",
            lambda place: add_up(term(place)),
        )

    def branch(self):
        (n, x), (m, y) = (self.dice.choice(self.terms) for _ in range(2))
        is_less, distance = self.name("is"), self.name("distance")
        self.lines.append(f"{is_less} = arith.cmpi slt, {n}, {m} : i64")
        return self.add(
            f"scf.if {is_less} -> (i64) {{\n"
            f"{distance} = arith.subi {m}, {n} : i64\n"
            f"scf.yield {distance} : i64\n}} else {{\nscf.yield {n} : i64\n}}",
            lambda place: wrap(y(place) - x(place)) if x(place) < y(place) else x(place),
        )

    def arithmetic(self):
        op = self.dice.choice(list(FUNCTIONS))
        (n, x), (m, y) = (self.dice.choice(self.terms) for _ in range(2))
        return self.add(
            f"arith.{op} {n}, {m} : i64",
            lambda place: FUNCTIONS[op](x(place), y(place)),
        )
