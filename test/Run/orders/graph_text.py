# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The text of one graph: its values and the operations that they come from."""

import math
import re

HEAD_DIM = 3


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
        volume = math.prod(grid)
        self.volume, self.sides = volume, ", ".join(map(str, grid))
        self.size = dice.choice(("?", str(volume), str(2 * volume)))
        # The grid has a cell for each token. Packed sequences have any length.
        self.whole = self.size == str(volume) and not packed
        chunk = "" if self.whole else f", chunk = {volume}"
        table = list(range(volume))
        dice.shuffle(table)
        rate, ends = dice.choice((2, 3, 4)), chunk if packed else ""
        self.orders = [Order(f"residue<{rate}>{ends}")]
        self.orders.append(Order(f"residue<2>, chunk = {dice.choice((4, 6))}"))
        for curve in ("hilbert", "morton", "snake"):
            self.orders.append(Order(f"{curve}, grid = [{self.sides}]{chunk}"))
        if self.whole:
            self.orders.append(Order(f"table<{table}>"))


class Value:
    """A tensor [batch..., sequence, heads, head dim], with heads and head dim in
    one axis if it is merged; or lse, [batch..., heads, sequence]."""

    def __init__(self, name, sequence, heads, order, merged):
        self.name, self.sequence, self.heads = name, sequence, heads
        self.order, self.merged = order, merged


class GraphText:
    """A function that grows by operations. `batch` are the sizes of the axes
    before the sequence: none when sequences are packed."""

    def __init__(self, number, element, batch):
        self.number, self.element, self.batch = number, element, batch
        self.axis = len(batch)
        self.lines, self.arguments, self.counter = [], [], 0
        self.values, self.lses, self.used = [], [], set()

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
            f"%i{i}: {re.search('(f16|bf16|f32)[,>]', type)[1]}"
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

    def constant(self, value, type):
        name = self.fresh()
        self.emit(f"{name} = arith.constant {value} : {type}")
        return name

    def sizes(self, value, axes):
        """A name for each dynamic size, the number for each other one."""
        sizes = []
        for axis, size in enumerate((self.batch + [value.sequence.size])[:axes]):
            if size == "?":
                number, size = self.constant(axis, "index"), self.fresh()
                self.emit(
                    f"{size} = tensor.dim {value.name}, {number} : {self.type(value)}"
                )
            sizes.append(size)
        return sizes

    def empty(self, like, type, axes=None):
        """An empty tensor, of which the first axes have the sizes of a value."""
        axes = self.axis + 1 if axes is None else axes
        sizes = [size for size in self.sizes(like, axes) if size.startswith("%")]
        name = self.fresh()
        self.emit(f"{name} = tensor.empty({', '.join(sizes)}) : {type}")
        return name

    def zeros(self, like, type, axes=None):
        init, zero = self.empty(like, type, axes), self.constant("0.0", self.element)
        name = self.fresh()
        self.emit(
            f"{name} = linalg.fill ins({zero} : {self.element}) "
            f"outs({init} : {type}) -> {type}"
        )
        return name

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
            sizes = self.sizes(value, axis + 1) + [str(value.heads), str(HEAD_DIM)]
            shape = f" output_shape [{', '.join(sizes)}]"
        self.emit(
            f"{name} = tensor.{op}_shape {value.name} {groups}{shape} : "
            f"{self.type(value)} into {self.type(result)}"
        )
        return result

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
