# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random kernels, as text and as functions that do the same in Python."""

import math
import random

from lists import Entries
from memory import FLOATS, ROUND, Buffer, View, sees

SHAPES = ((1, 3, 8), (5, 16, 20), (17, 33), (8, 64), (16, 32, 40), (4, 12, 31))


class Tile:
    def __init__(self, name, shape, element):
        self.name, self.shape, self.element = name, tuple(shape), element

    @property
    def type(self):
        return f"tensor<{'x'.join(map(str, self.shape))}x{self.element}>"


def fill(shape, at):
    if len(shape) == 1:
        return [at(i, 0) for i in range(shape[0])]
    return [[at(i, j) for j in range(shape[1])] for i in range(shape[0])]


def each(function, *values):
    if isinstance(values[0], list):
        return [each(function, *parts) for parts in zip(*values)]
    return function(*values)


class Scope:
    """Operations of one block, and the tiles that it sees."""

    def __init__(self, outer=None):
        self.tiles = list(outer.tiles) if outer else []
        self.lines, self.steps = [], []

    def add(self, line, step, *tiles):
        self.lines.append(line)
        self.steps.append(step)
        self.tiles.extend(tiles)

    def run(self, values):
        for step in self.steps:
            step(values)

    def floats(self):
        return [tile for tile in self.tiles if tile.element in FLOATS]


class Generator:
    UNARY = {
        "math.absf": abs,
        "arith.negf": lambda x: -x,
        "math.exp2": lambda x: 2.0 ** min(x, 200),
        "math.tanh": math.tanh,
        "math.erf": math.erf,
    }
    BINARY = {
        "arith.addf": lambda x, y: x + y,
        "arith.subf": lambda x, y: x - y,
        "arith.mulf": lambda x, y: x * y,
        "arith.maximumf": max,
        "arith.minimumf": min,
    }

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.sizes = self.dice.choice(SHAPES)
        # Every second program is of f32 alone, where the tolerance is tight.
        self.elements = FLOATS if seed % 2 else ("f32",)
        self.count = 0
        self.buffers, self.views, self.constants, self.stores = [], [], {}, []
        self.body = Scope()
        self.emit(self.body, self.dice.randint(3, 14), depth=0)
        tiles = self.body.floats()
        for tile in self.dice.sample(tiles, min(len(tiles), 3)) + tiles[-1:]:
            self.store(tile)
        # What kernels may compute beside their tiles: entries, by their places.
        self.entries = {}
        for _ in range(self.dice.choice((0, 0, 1, 2))):
            entries = Entries(self)
            place = self.dice.randint(0, len(self.body.lines))
            self.body.lines.insert(place, entries.text)
            self.entries.update(entries.written)

    def text(self):
        parameters = ", ".join(f"{b.name}: {b.type}" for b in self.buffers)
        lines = [f"rtile.func @kernel({parameters}) grid(%point: index) {{"]
        views = [view.text(self.constant) for view in self.views]
        for value, name in self.constants.items():
            lines.append(f"{name} = arith.constant {value} : index")
        return "\n".join(lines + views + self.body.lines + ["rtile.return", "}", ""])

    # Names and parameters.

    def name(self, stem):
        self.count += 1
        return f"%{stem}{self.count}"

    def constant(self, value):
        return self.constants.setdefault(value, f"%c{value}".replace("-", "m"))

    def size(self):
        return self.dice.choice(self.sizes)

    def new_buffer(self, element, sizes, data=None):
        buffer = Buffer(f"%B{len(self.buffers)}", element, sizes, self.dice, data)
        self.buffers.append(buffer)
        return buffer

    def new_view(self, shape, element, plain=False):
        dice = self.dice
        sizes = [dice.randint(1, 2 * shape[0] + 3)]
        if len(shape) == 2:
            sizes.append(max(1, shape[1] + dice.choice((0, 0, 0, 3, -3))))
        axes = list(range(len(shape)))
        for _ in range(dice.randint(0, 2)):
            at = dice.randint(0, len(sizes))
            sizes.insert(at, dice.randint(1, 3))
            axes = [axis + (axis >= at) for axis in axes]
        fixed = {
            a: dice.randrange(size) for a, size in enumerate(sizes) if a not in axes
        }
        buffer = self.new_buffer(element, sizes)
        view = View(self.name("view"), buffer, shape, axes, fixed)
        view.origin = dice.choice((None, dice.randint(-9, 9)))
        if dice.random() < 0.3:
            view.length = dice.randint(1, 40)
            view.segment = dice.randint(-1, 2)
        if dice.random() < 0.3:
            view.rate = dice.randint(1, min(4, view.length or 4))
            view.residue = dice.randrange(view.rate)
        if not plain and dice.random() < 0.15:
            view.length = view.segment = view.residue = 0
            view.rate = 1
            rows = sizes[axes[0]] + 1
            table = [
                dice.randint(-2, rows)
                for _ in range(dice.randint(1, 2 * shape[0]))
            ]
            view.table = self.new_buffer("i64", [len(table)], table)
            view.table.static_size = [False]
        self.views.append(view)
        return view

    # Operations.

    def load(self, scope, shape=None, element=None):
        dice = self.dice
        if not shape:
            shape = [self.size() for _ in range(dice.choice((1, 2, 2, 2)))]
        element = element or dice.choice(("f32",) + self.elements)
        view = self.new_view(shape, element)
        begin, end = view.bounds()
        row = dice.choice((begin, begin, begin + dice.randint(-3, 3), end - 2))
        column = dice.choice((0, 0, 0, dice.randint(-2, 3)))
        tile = Tile(self.name("load"), shape, element)
        offsets = [self.constant(at) for at in (row, column)][: len(shape)]

        def read(i, j):
            index = view.index(row + i, (column if len(shape) == 2 else 0) + j)
            return 0.0 if index is None else view.buffer.data[index]

        scope.add(
            f"{tile.name} = rtile.load {view.name}[{', '.join(offsets)}] : {view.type}",
            lambda values: values.update({tile.name: fill(shape, read)}),
            tile,
        )
        return tile

    def splat(self, scope, shape, element, value=None):
        if value is None:
            value = self.dice.choice((0.0, 1.0, 0.5, -0.25))
        value = ROUND[element](value)
        tile = Tile(self.name("splat"), shape, element)
        scope.add(
            f"{tile.name} = arith.constant dense<{value!r}> : {tile.type}",
            lambda values: values.update({tile.name: fill(shape, lambda i, j: value)}),
            tile,
        )
        return tile

    def find(self, scope, shape, element):
        """Some tile of that type: an old one, if there is one."""
        dice, shape = self.dice, tuple(shape)
        alike = [t for t in scope.floats() if t.shape == shape]
        same = [t for t in alike if t.element == element]
        if same and dice.random() < 0.85:
            return dice.choice(same[-6:])
        if alike and dice.random() < 0.7:
            return self.cast(scope, dice.choice(alike[-6:]), element)
        chance = dice.random()
        if len(shape) == 2 and chance < 0.25:
            return self.broadcast(scope, shape, element)
        if chance < 0.45:
            return self.splat(scope, shape, element)
        return self.load(scope, list(shape), element)

    def apply(self, scope, op, function, operands, element=None, types=None):
        """An elementwise operation."""
        tile = Tile(self.name("x"), operands[0].shape, element or operands[0].element)
        rounding = ROUND.get(tile.element, lambda x: x)
        names = ", ".join(x.name for x in operands)
        scope.add(
            f"{tile.name} = {op} {names} : {types or tile.type}",
            lambda values: values.update(
                {
                    tile.name: each(
                        lambda *x: rounding(function(*x)),
                        *(values[x.name] for x in operands),
                    )
                }
            ),
            tile,
        )
        return tile

    def cast(self, scope, tile, element):
        if tile.element == element:
            return tile
        if element != "f32" and tile.element != "f32":
            tile = self.cast(scope, tile, "f32")
        op = "arith.extf" if element == "f32" else "arith.truncf"
        target = Tile("", tile.shape, element).type
        types = f"{tile.type} to {target}"
        return self.apply(scope, op, lambda x: x, [tile], element, types)

    def squash(self, scope, tile):
        """Keeps numbers small enough for a tolerance to mean something."""
        return self.apply(scope, "math.tanh", math.tanh, [tile])

    def elementwise(self, scope):
        dice = self.dice
        x = dice.choice(scope.floats()[-8:])
        chance = dice.random()
        if chance < 0.3:
            op = dice.choice(list(self.UNARY))
            return self.apply(scope, op, self.UNARY[op], [x])
        y = self.find(scope, x.shape, x.element)
        if chance < 0.85:
            op = dice.choice(list(self.BINARY))
            return self.apply(scope, op, self.BINARY[op], dice.sample([x, y], 2))
        mask = self.mask(scope, x.shape, x.element, (0.33, -0.71))
        if chance < 0.93:
            return self.select(scope, mask, x, y)
        return self.select(scope, self.any(scope, mask), x, y)

    def mask(self, scope, shape, element, limits):
        """Compares what is exact, so that both sides decide alike."""
        exact = self.load(scope, list(shape), element)
        if self.dice.random() < 0.5:
            op, function = "arith.cmpf ogt,", lambda a, b: a > b
            limit = self.splat(scope, shape, element, self.dice.choice(limits))
        else:
            # True of NaNs, which scratch memory is full of below a tile.
            op, function = "arith.cmpf ult,", lambda a, b: a < b
            limit = self.splat(scope, shape, element, -self.dice.choice(limits))
        return self.apply(scope, op, function, [exact, limit], "i1", exact.type)

    def any(self, scope, mask):
        some = Tile(self.name("some"), (), "i1")
        flat = lambda rows: [x for r in rows for x in (r if isinstance(r, list) else [r])]
        scope.add(
            f"{some.name} = rtile.any {mask.name} : {mask.type}",
            lambda values: values.update({some.name: any(flat(values[mask.name]))}),
        )
        return some

    def select(self, scope, mask, x, y):
        pick = lambda condition, a, b: a if condition else b
        if not mask.shape:
            tile = Tile(self.name("chosen"), x.shape, x.element)
            scope.add(
                f"{tile.name} = arith.select {mask.name}, {x.name}, {y.name} : {x.type}",
                lambda values: values.update(
                    {tile.name: pick(*(values[t.name] for t in (mask, x, y)))}
                ),
                tile,
            )
            return tile
        types = f"{mask.type}, {x.type}"
        return self.apply(
            scope, "arith.select", pick, [mask, x, y], x.element, types
        )

    def broadcast(self, scope, shape, element):
        columns = self.dice.random() < 0.4
        x = self.find(scope, [shape[1] if columns else shape[0]], element)
        tile = Tile(self.name("wide"), shape, element)
        scope.add(
            f"{tile.name} = rtile.broadcast {x.name}{' columns' if columns else ''}"
            f" : {x.type} -> {tile.type}",
            lambda values: values.update(
                {tile.name: fill(shape, lambda i, j: values[x.name][j if columns else i])}
            ),
            tile,
        )
        return tile

    def reduce(self, scope):
        tiles = [t for t in scope.floats() if len(t.shape) == 2 and t.element == "f32"]
        if not tiles:
            return
        x = self.dice.choice(tiles[-6:])
        kind, function = self.dice.choice((("sum", sum), ("max", max), ("min", min)))
        tile = Tile(self.name("reduced"), x.shape[:1], "f32")
        scope.add(
            f"{tile.name} = rtile.reduce {kind} {x.name} : {x.type}",
            lambda values: values.update(
                {tile.name: [ROUND["f32"](function(row)) for row in values[x.name]]}
            ),
            tile,
        )
        if kind == "sum":
            self.squash(scope, tile)

    def columns(self, scope):
        """A fold, a slice or a join of floats or of masks."""
        dice = self.dice
        wide = [t for t in scope.tiles if len(t.shape) == 2]
        if not wide:
            return
        x = dice.choice(wide[-8:])
        rows, width = x.shape
        divisors = [d for d in range(1, width + 1) if width % d == 0]
        kind = dice.choice(("slice", "join", "fold" if x.element == "f32" else "slice"))
        if kind == "fold":
            inputs, columns = [x], dice.choice(divisors)
            row = lambda r: [ROUND["f32"](sum(r[j::columns])) for j in range(columns)]
        elif kind == "slice":
            inputs, columns = [x], dice.randint(1, width)
            begin = dice.randint(0, width - columns)
            row = lambda r: r[begin : begin + columns]
        else:
            other = lambda: x
            if x.element in FLOATS:
                other = lambda: self.find(scope, [rows, self.size()], x.element)
            inputs = [x] + [other() for _ in range(dice.randint(0, 2))]
            dice.shuffle(inputs)
            columns = sum(t.shape[1] for t in inputs)
            row = lambda *rs: [value for r in rs for value in r]
        tile = Tile(self.name(kind), (rows, columns), x.element)
        names = ", ".join(t.name for t in inputs)
        names += f"[{begin}]" if kind == "slice" else ""
        types = ", ".join(t.type for t in inputs)
        scope.add(
            f"{tile.name} = rtile.{kind} {names} : {types} -> {tile.type}",
            lambda values: values.update(
                {tile.name: [row(*rs) for rs in zip(*(values[t.name] for t in inputs))]}
            ),
            tile,
        )
        if kind == "fold" and dice.random() < 0.7:
            self.squash(scope, tile)
        if tile.element == "i1":
            x, y = (self.find(scope, tile.shape, "f32") for _ in range(2))
            self.select(scope, tile, x, y)

    def rebase(self, scope):
        dice = self.dice
        rows, bound = self.size(), dice.choice((0, 1, 3, 40))
        shape = [rows, self.size()] if dice.random() < 0.7 else [rows]
        # Exact, since the exponents of both sides have to be the same.
        factor = self.splat(scope, shape, "f32", 2.0 ** dice.choice((0, 1, 40, 126)))
        exact = self.load(scope, shape, "f32")
        sums = self.apply(
            scope, "arith.mulf", self.BINARY["arith.mulf"], [exact, factor]
        )
        # Nothing else gets numbers of this size, which may overflow in f16.
        scope.tiles = [t for t in scope.tiles if t not in (factor, sums)]
        inputs = [self.find(scope, [rows], "f32"), sums]
        for _ in range(dice.randint(0, 2)):
            inputs.append(self.find(scope, [rows, self.size()], "f32"))
        results = [Tile(self.name("rebased"), t.shape, "f32") for t in inputs]

        def step(values):
            moved = [[] for _ in inputs]
            for row in zip(*(values[t.name] for t in inputs)):
                top = max(row[1]) if isinstance(row[1], list) else row[1]
                e = math.frexp(top)[1] - 1 if top > 2.0**bound else 0
                moved[0].append(ROUND["f32"](row[0] + e))
                for column, part in zip(moved[1:], row[1:]):
                    column.append(each(lambda x: ROUND["f32"](math.ldexp(x, -e)), part))
            values.update((t.name, value) for t, value in zip(results, moved))

        tiles = f" tiles({', '.join(t.name for t in inputs[2:])})" if inputs[2:] else ""
        scope.add(
            f"{', '.join(t.name for t in results)} = rtile.rebase {inputs[0].name}, "
            f"{inputs[1].name} bound = {bound}{tiles} : "
            f"{', '.join(t.type for t in inputs)}",
            step,
            *results[2:],
        )
        self.squash(scope, results[0])
        self.squash(scope, results[1])

    def storing_branch(self, scope):
        """Does and stores something if a mask has an element: a branch without
        results."""
        dice = self.dice
        like = dice.choice(scope.floats()[-8:])
        some = self.any(scope, self.mask(scope, like.shape, "f32", (1.5, -1.9)))
        inner = Scope(scope)
        self.emit(inner, dice.randint(1, 4), depth=1)
        stored = dice.choice(inner.floats()[-3:])
        # A name of its own: nothing, where the branch is not taken.
        tile = Tile(self.name("stored"), stored.shape, stored.element)
        self.store(stored, inner, tile)

        def step(values):
            local = dict(values)
            if values[some.name]:
                inner.run(local)
            values[tile.name] = local[stored.name] if values[some.name] else None

        scope.add("\n".join([f"scf.if {some.name} {{", *inner.lines, "}"]), step)

    def dot(self, scope):
        dice = self.dice
        rows, depth, columns = self.size(), self.size(), self.size()
        element, transposed = dice.choice(self.elements), dice.random() < 0.5
        a = self.find(scope, [rows, depth], element)
        b = self.find(scope, [columns, depth] if transposed else [depth, columns], element)
        init = None
        if dice.random() < 0.6:
            init = self.find(scope, [rows, columns], "f32")
            if dice.random() < 0.5:
                factor = self.find(scope, [rows, columns], "f32")
                multiply = self.BINARY["arith.mulf"]
                init = self.apply(scope, "arith.mulf", multiply, [init, factor])
        tile = Tile(self.name("dot"), (rows, columns), "f32")

        def step(values):
            left, right = values[a.name], values[b.name]

            def at(i, j):
                pairs = (
                    left[i][k] * (right[j][k] if transposed else right[k][j])
                    for k in range(depth)
                )
                return ROUND["f32"](sum(pairs) + (values[init.name][i][j] if init else 0))

            values[tile.name] = fill(tile.shape, at)

        scope.add(
            f"{tile.name} = rtile.dot {a.name}, {b.name}"
            f"{' transposed' if transposed else ''}"
            f"{f' init({init.name})' if init else ''}"
            f" : {a.type}, {b.type} -> {tile.type}",
            step,
            tile,
        )
        if dice.random() < 0.7:
            self.squash(scope, tile)

    def visible(self, scope):
        dice = self.dice
        query = self.new_view([self.size(), 4], "f32", plain=True)
        key = self.new_view([self.size(), 4], "f32", plain=True)
        key.length, key.segment = query.length, query.segment
        key.rate, key.residue = query.rate, query.residue
        row = query.bounds()[0] + dice.randint(-2, 3)
        column = key.bounds()[0] + dice.randint(-2, 3)
        causal, window = dice.random() < 0.5, None
        if dice.random() < 0.5:
            window = [dice.choice((-1, dice.randint(0, 12))) for _ in range(2)]
        tile = Tile(self.name("seen"), (query.shape[0], key.shape[0]), "i1")
        scope.add(
            f"{tile.name} = rtile.visible {query.name}[{self.constant(row)}], "
            f"{key.name}[{self.constant(column)}]{' causal' if causal else ''}"
            f"{f' window = {window}' if window else ''}"
            f" : {query.type}, {key.type} -> {tile.type}",
            lambda values: values.update(
                {
                    tile.name: fill(
                        tile.shape,
                        lambda i, j: sees(query, row + i, key, column + j, causal, window),
                    )
                }
            ),
            tile,
        )
        x = self.find(scope, tile.shape, "f32")
        y = self.find(scope, tile.shape, "f32")
        self.select(scope, tile, x, y)

    def loop(self, scope, depth):
        dice = self.dice
        inits = [dice.choice(scope.floats()[-8:]) for _ in range(dice.randint(1, 3))]
        turns = dice.choice((0, 1, 2, 3))
        arguments = [Tile(self.name("carried"), t.shape, t.element) for t in inits]
        results = [Tile(self.name("loop"), t.shape, t.element) for t in inits]
        inner = Scope(scope)
        inner.tiles.extend(arguments)
        self.emit(inner, dice.randint(1, 5), depth + 1)
        yields = []
        for argument in arguments:
            # Arguments among them: a loop may swap what it carries.
            same = [
                t
                for t in inner.floats()[-6:] + arguments
                if (t.shape, t.element) == (argument.shape, argument.element)
            ]
            chosen = dice.choice(same)
            yields.append(self.squash(inner, chosen) if dice.random() < 0.3 else chosen)

        def step(values):
            now = [values[t.name] for t in inits]
            for _ in range(turns):
                local = dict(values)
                local.update((t.name, value) for t, value in zip(arguments, now))
                inner.run(local)
                now = [local[t.name] for t in yields]
            values.update((t.name, value) for t, value in zip(results, now))

        carried = ", ".join(f"{a.name} = {t.name}" for a, t in zip(arguments, inits))
        types = ", ".join(t.type for t in results)
        lines = [
            f"{', '.join(t.name for t in results)} = scf.for {self.name('i')} = "
            f"{self.constant(0)} to {self.constant(turns)} step {self.constant(1)} "
            f"iter_args({carried}) -> ({types}) {{",
            *inner.lines,
            f"scf.yield {', '.join(t.name for t in yields)} : {types}",
            "}",
        ]
        scope.add("\n".join(lines), step, *results)

    def branch(self, scope, depth):
        dice = self.dice
        like, taken = dice.choice(scope.floats()[-8:]), dice.random() < 0.5
        result, condition = Tile(self.name("if"), like.shape, like.element), self.name("is")
        sides, yields = [Scope(scope), Scope(scope)], []
        for side in sides:
            self.emit(side, dice.randint(1, 3), depth + 1)
            same = [
                t
                for t in side.floats()
                if (t.shape, t.element) == (like.shape, like.element)
            ]
            yields.append(dice.choice(same[-3:]))

        def step(values):
            local = dict(values)
            sides[0 if taken else 1].run(local)
            values[result.name] = local[yields[0 if taken else 1].name]

        lines = [
            f"{condition} = arith.cmpi slt, {self.constant(0)}, "
            f"{self.constant(int(taken))} : index",
            f"{result.name} = scf.if {condition} -> ({result.type}) {{",
            *sides[0].lines,
            f"scf.yield {yields[0].name} : {result.type}",
            "} else {",
            *sides[1].lines,
            f"scf.yield {yields[1].name} : {result.type}",
            "}",
        ]
        scope.add("\n".join(lines), step, result)

    def emit(self, scope, count, depth):
        for _ in range(count):
            chance = self.dice.random()
            if chance < 0.12 or not scope.floats():
                self.load(scope)
            elif chance < 0.43:
                self.elementwise(scope)
            elif chance < 0.56:
                self.dot(scope)
            elif chance < 0.63:
                self.reduce(scope)
            elif chance < 0.67:
                self.visible(scope)
            elif chance < 0.71:
                shape = [self.size(), self.size()]
                self.broadcast(scope, shape, self.dice.choice(self.elements))
            elif chance < 0.83:
                self.columns(scope)
            elif chance < 0.87:
                self.rebase(scope)
            elif chance < 0.9 and depth == 0:
                self.storing_branch(scope)
            elif depth < 2:
                (self.loop if chance < 0.97 else self.branch)(scope, depth)

    def store(self, tile, scope=None, expected=None):
        view = self.new_view(list(tile.shape), tile.element, plain=True)
        row = view.bounds()[0] + self.dice.randint(-2, 2)
        column = self.dice.choice((0, 0, self.dice.randint(-2, 2)))
        offsets = [self.constant(at) for at in (row, column)][: len(tile.shape)]
        column = column if len(tile.shape) == 2 else 0
        self.stores.append((expected or tile, view, row, column))
        (scope or self.body).add(
            f"rtile.store {tile.name}, {view.name}[{', '.join(offsets)}] : {view.type}",
            lambda values: None,
        )
