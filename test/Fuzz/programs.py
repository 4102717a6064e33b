#!/usr/bin/env python3
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Feeds generated programs to the compiler: valid, nearly valid and hostile.

    test/Fuzz/programs.py --build=build [--count=10000] [--first=0] [--seed=1]

Most are graphs; one in five has kernels, as the compiler writes them for a graph,
with a few lines, numbers or names changed. Program number n depends on seed, n and
the compiler alone. Each is compiled within 10 seconds of work and 2 GiB by a process
that may die of it. What must hold: it compiles, or it is refused by a message that
says where, and, where the text was right MLIR before any change, by which rule;
nothing crashes, hangs or takes more. One program in 50 also goes through the tools
as a user calls them. Prints a summary, and each program that broke a rule; exits 1
then.
"""

import argparse
import collections
import multiprocessing
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/Support"))

from compiler import OK, PLACE, REFUSED, RULE, Compiler  # noqa: E402

# Kernels that compute lists, by hand.
WRITTEN = ROOT / "test/Run/generate/Inputs/lists.mlir"
SECONDS = 10
# For a machine that does other work beside.
PATIENCE = 100
MEMORY = 2 << 30
# One program in so many has kernels; one in so many goes through the tools.
KERNELS, TOOLS = 5, 50
FORMS = ("ringlet", "rtile", "schedule", "rplan", "llvm", "ptx", "obj")
CPUS = (
    "cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:x86-64-v4-bf16", "cpu:x86-64-v4-amx",
)  # fmt: skip
GPUS = ("sm_90a", "sm_80", "sm_75", "sm_61")
# Where forms are not those of all targets.
TARGETS = {"llvm": CPUS, "obj": CPUS, "ptx": GPUS, "schedule": GPUS}
NUMBERS = (
    0, 1, 2, 3, 7, 8, 9, 64, 127, 128, 1000, 4096, 65536, -1, -2, -7,
    2**31 - 1, 2**31, 2**32, 2**40, 2**62, 2**63 - 1, -(2**63), 2**63, 10**30,
)  # fmt: skip


class Writer:
    """Writes one program."""

    def __init__(self, seed: int, number: int):
        self.dice = random.Random(f"{seed}/{number}")
        # For what all programs may have beside.
        self.further = random.Random(f"further/{seed}/{number}")
        self.kind = self.dice.choice(("valid", "valid", "nearly", "hostile"))

    def chance(self, share: float) -> bool:
        return self.dice.random() < share

    def order(self, length: int) -> str:
        side = self.dice.choice((2, 4, 8, 16))
        curve = self.dice.choice(
            (
                f"hilbert, grid = [{side}, {max(length // side, 1)}]",
                f"morton, grid = [{side}, {max(length // side, 1)}]",
                f"snake, grid = [{side}, {max(length // side, 1)}]",
                f"residue<{side}>, chunk = {length}",
                "linear",
                "table<[1, 0]>, chunk = 2",
            )
        )
        return f"#rlayout.order<{curve}>"

    def attention(self) -> str:
        dice = self.dice
        length = dice.choice((8, 24, 64, 100, 256))
        keys = length if self.chance(0.7) else dice.choice((8, 32, 100))
        groups = dice.choice((1, 1, 2, 4))
        key_heads = dice.choice((1, 2, 3))
        heads, dim = groups * key_heads, dice.choice((1, 8, 16, 20, 64, 100, 128, 256))
        value_dim = dim if self.chance(0.8) else dice.choice((8, 32, 63))
        batch, dtype = dice.choice((1, 2)), dice.choice(("f16", "bf16", "f32"))
        dynamic = self.chance(0.5)
        rows, columns = ("?", "?") if dynamic else (length, keys)
        layout = rows_layout = ""
        if not dynamic and self.chance(0.15):
            layout = f"order = {self.order(length)}"
            rows_layout = f", #rlayout.layout<{layout}, axis = AXIS>"
            layout = f", #rlayout.layout<{layout}>"
        query = f"tensor<{batch}x{rows}x{heads}x{dim}x{dtype}{layout}>"
        key = f"tensor<{batch}x{columns}x{key_heads}x{dim}x{dtype}>"
        value = f"tensor<{batch}x{columns}x{key_heads}x{value_dim}x{dtype}>"
        out = f"tensor<{batch}x{rows}x{heads}x{value_dim}x{dtype}{layout}>"
        is_sum = self.chance(0.2)
        branches = [self.branch(heads) for _ in range(dice.choice((1, 1, 1, 2, 3)))]
        if self.further.random() < 0.15:
            at = self.further.randrange(len(branches))
            name = self.further.choice("wr")
            branches[at] = re.sub(rf"\b{name} = [\d*]+", f"{name} = ?", branches[at])
        if self.further.random() < 0.15:
            at = self.further.randrange(len(branches))
            branches[at] = branches[at][:-1] + ", padding = counted>"
        leading = f"{len(branches)}x" if is_sum else ""
        rows_layout = rows_layout.replace("AXIS", str(3 if is_sum else 2))
        lse = f"tensor<{leading}{batch}x{heads}x{rows}xf32{rows_layout}>"
        arguments = [f"%q: {query}", f"%k: {key}", f"%v: {value}"]
        operands, clauses = [query, key, value], []
        if self.chance(0.4):
            clauses.append("causal")
        if self.chance(0.3):
            sides = [dice.choice((-1, 0, 3, 100)) for _ in range(2)]
            clauses.append(f"window = [{sides[0]}, {sides[1]}]")
        if self.chance(0.1):
            clauses.append("grid_window = <grid = [16, 16], reach = [1, 2]>")
        if self.chance(0.1):
            clauses.append(f"pattern_order = <{self.order(1024)[15:-1]}>")
        if self.chance(0.2):
            type_ = dice.choice(("tensor<i64>", f"tensor<{batch}xi64>"))
            arguments.append(f"%offset: {type_}")
            operands.append(type_)
            clauses.append("q_offset(%offset)")
        if self.chance(0.1):
            arguments.append(f"%lengths: tensor<{batch}xi64>")
            operands += [f"tensor<{batch}xi64>"] * 2
            clauses.append("lengths(%lengths, %lengths)")
        if "?" in "".join(branches):
            arguments.append("%size: tensor<i64>")
            operands.append("tensor<i64>")
            clauses.append("sizes(%size)")
        if self.chance(0.1):
            arguments.append(f"%sink: tensor<{heads}xf32>")
            operands.append(f"tensor<{heads}xf32>")
            clauses.append("sink(%sink)")
        if self.chance(0.2):
            clauses.append(f"scale = {dice.choice(('0.125', '1.0e-3', '2.0'))}")
        if self.chance(0.1):
            clauses.append("softcap = 30.0")
        if self.chance(0.1):
            clauses.append(f"precision = {dice.choice(('tf32', 'tf32x3', 'bf16x3'))}")
        if is_sum:
            clauses.append("mix = sum")
            if self.chance(0.5):
                clauses.append("output_scale = 0.5")
        returns_lse = self.chance(0.6)
        results = f"({out}, {lse})" if returns_lse else out
        names = "%o, %lse" if returns_lse else "%o"
        return (
            f"func.func @f{dice.randrange(10**6)}({', '.join(arguments)}) -> {results} {{\n"
            f"  %o, %lse = ringlet.attention %q, %k, %v branches [{', '.join(branches)}]"
            f" {' '.join(clauses)}\n"
            f"      : ({', '.join(operands)}) -> ({out}, {lse})\n"
            f"  return {names} : {results.strip('()')}\n}}\n"
        )

    def branch(self, heads: int) -> str:
        dice = self.dice
        w = dice.choice(("*", 1, 5, 16, 64, 100, 1 << 20))
        most = 64 if w == "*" else w
        r = dice.choice([each for each in (1, 1, 2, 3, 4, 7, 16) if each <= most])
        text = f"w = {w}, r = {r}"
        if self.chance(0.3):
            text += dice.choice((", offset = block", ", offset = constant<3>"))
            if self.chance(0.3):
                text += ", by = query"
        if heads > 1 and self.chance(0.2):
            text += f", heads = [0, {dice.randrange(1, heads + 1)}]"
        return f"<{text}>"

    def reorder(self) -> str:
        length = self.dice.choice((64, 256))
        layout = f"#rlayout.layout<order = {self.order(length)}>"
        plain, moved = f"tensor<1x{length}x2x16xf32", f", {layout}>"
        return (
            f"func.func @r{self.dice.randrange(10**6)}(%x: {plain}>) -> {plain}{moved} {{\n"
            f"  %y = ringlet.reorder %x : {plain}> to {plain}{moved}\n"
            f"  return %y : {plain}{moved}\n}}\n"
        )

    def mutate(self, text: str) -> str:
        """One change that a person might make by mistake."""
        dice = self.dice
        tokens = re.findall(r"\s+|[A-Za-z_.]+|\d+|.", text)
        places = [i for i, token in enumerate(tokens) if token.strip()]
        place = dice.choice(places)
        kind = dice.randrange(5)
        numbers = [i for i in places if tokens[i].isdigit()]
        if kind <= 1 and numbers:
            tokens[dice.choice(numbers)] = str(dice.choice(NUMBERS))
        elif kind == 2:
            del tokens[place]
        elif kind == 3:
            tokens.insert(place, tokens[dice.choice(places)])
        else:
            other = dice.choice(places)
            tokens[place], tokens[other] = tokens[other], tokens[place]
        return "".join(tokens)

    def hostile(self, text: str) -> str:
        """What nobody writes by mistake."""
        dice = self.dice
        kind = dice.randrange(8)
        deep = dice.choice((10, 300, 20_000))
        if kind == 0:
            return "(" * deep + text
        if kind == 1:
            return f'"a"() {{x = {"[" * deep}{"]" * deep}}} : () -> ()\n' + text
        if kind == 2:
            return text.replace("f32", "tuple<" * deep + "f32" + ">" * deep)
        if kind == 3:
            return text + "%" * deep + "\0" + text
        if kind == 4:
            return f"// {'x' * deep * 10}\n" + text[: dice.randrange(len(text))]
        if kind == 5:
            number = dice.choice(NUMBERS)
            return re.sub(r"\b\d+\b", lambda m: str(number), text, count=deep)
        if kind == 6:
            alias = "".join(f"!t{i} = tuple<!t{i - 1}, !t{i - 1}>\n" for i in range(1, 60))
            return "!t0 = i8\n" + alias + text + "func.func private @g(!t59)\n"
        for _ in range(dice.choice((3, 30))):
            text = self.mutate(text)
        return text

    def write(self) -> str:
        parts = []
        for _ in range(self.dice.choice((1, 1, 1, 2))):
            parts.append(self.reorder() if self.chance(0.15) else self.attention())
        text = "".join(parts)
        if self.kind == "nearly":
            text = self.mutate(text)
        elif self.kind == "hostile":
            text = self.hostile(text)
        return text


class Program(NamedTuple):
    kind: str  # valid, nearly, hostile or kernels
    form: str  # what it is compiled to
    target: str
    text: str


def graph(seed: int, number: int) -> Program:
    """A program as a person writes it."""
    writer = Writer(seed, number)
    dice = random.Random(f"how/{seed}/{number}")
    form = dice.choice(FORMS)
    target = dice.choice(TARGETS.get(form, CPUS + GPUS))
    return Program(writer.kind, form, target, writer.write())


def change_kernels(dice: random.Random, text: str) -> str:
    """One change in a text of kernels, most of which stay well-formed."""
    lines = text.split("\n")
    # Lines that define nothing can go and come without further ado.
    free = [i for i, line in enumerate(lines) if "rtile." in line and "=" not in line]
    names = list(re.finditer(r"%\w+(?:#\d+)?", text))
    numbers = list(re.finditer(r"(?<![\w%#.])\d+", text))
    kind = dice.randrange(6)
    if kind <= 1:
        place, new = dice.choice(numbers), str(dice.choice(NUMBERS))
    elif kind <= 3:
        place = dice.choice(names)
        near = [each for each in names if 0 < place.start() - each.start() < 1500]
        new = dice.choice(near or names).group()
    else:
        place = dice.choice(free) if free else 0
        if kind == 4:
            lines[place : place + 1] = []
        else:
            lines.insert(dice.choice(free) if free else 0, lines[place])
        return "\n".join(lines)
    return text[: place.start()] + new + text[place.end() :]


def kernels(compiler: Compiler, seed: int, number: int):
    """What the compiler makes of a valid graph, or a person writes, changed; None
    if it makes nothing."""
    dice = random.Random(f"kernels/{seed}/{number}")
    form, target = dice.choice(
        (("rtile", "cpu:x86-64-v4"), ("rtile", "sm_80"), ("schedule", "sm_90a"))
    )
    if dice.random() < 0.2:
        text = WRITTEN.read_text()
    else:
        writer = Writer(seed, number)
        writer.kind = "valid"
        made = compiler.compile(writer.write().encode(), form, target)
        if made.status != OK:
            return None
        text = made.output.decode()
    for _ in range(dice.choice((1, 1, 2))):
        text = change_kernels(dice, text)
    form = dice.choice(("obj", "llvm")) if target in CPUS else "ptx"
    return Program("kernels", form, target, text)


def compile_one(compiler: Compiler, program: Program) -> tuple:
    outcome = compiler.compile(program.text.encode(), program.form, program.target)
    if outcome.status == OK:
        return "compiled", ""
    if outcome.status != REFUSED:
        return "status", f"status {outcome.status}: {outcome.diagnostics}"
    if not PLACE.search(outcome.diagnostics):
        return "placeless", outcome.diagnostics
    if RULE.search(outcome.diagnostics):
        return "refused by rule", outcome.diagnostics
    # Only what is no MLIR, or not what a dialect can say, breaks no rule.
    return ("ruleless" if program.kind == "valid" else "refused"), outcome.diagnostics


def work(build: str, seed: int, numbers, report) -> None:
    """Compiles programs in turn; reports the number before and the end after."""
    compiler = Compiler(build)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY + (1 << 30), MEMORY + (1 << 30)))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 2)
    for number in numbers:
        program = graph(seed, number)
        report.send(("begin", number, program))
        signal.alarm(PATIENCE)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        if number % KERNELS == 0 and (made := kernels(compiler, seed, number)):
            program = made
            report.send(("begin", number, program))
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
        end, said = compile_one(compiler, program)
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        if peak > MEMORY:
            end, said = "memory", f"{peak} bytes"
        report.send((end, number, said))
        if end == "memory":
            return
    report.send(("done", 0, None))


def tool_failure(build: str, program: Program) -> str:
    """What is wrong when a user calls the tools with a program; "" if nothing."""
    bin_ = pathlib.Path(build) / "bin"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "program.mlir"
        path.write_text(program.text)
        for command in (
            [bin_ / "ringlet-opt", path],
            [bin_ / "ringlet-compile", path, f"--emit={program.form}",
             f"--target={program.target}", "-o", pathlib.Path(folder) / "out"],
        ):  # fmt: skip
            try:
                done = subprocess.run(command, capture_output=True, timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                return f"{command[0].name} takes more than {PATIENCE} s"
            if done.returncode not in (0, 1):
                return f"{command[0].name} exits with {done.returncode}"
            if done.returncode == 1 and b"error: " not in done.stderr:
                return f"{command[0].name} says {done.stderr[:200]!r}"
    return ""


class Run:
    def __init__(self, options):
        self.options, self.counts = options, collections.Counter()
        self.broken = []
        self.for_tools = {}

    def broke(self, number: int, program: Program, what: str) -> None:
        self.broken.append(number)
        how = f"{program.kind}, {program.form}, {program.target}"
        print(f"program {number} ({how}): {what}\n{program.text[:2000]}", flush=True)

    def count(self, number: int, program: Program, end: str, said: str) -> None:
        self.counts[end] += 1
        self.counts[f"of kind {program.kind}"] += 1
        if number % TOOLS == 0:
            self.for_tools[number] = program
        if end in ("status", "placeless", "ruleless", "memory"):
            self.broke(number, program, f"{end}: {said}")

    def stretch(self, first: int, end: int) -> None:
        """Runs [first, end) in one process after another, as they die."""
        while first < end:
            mine, theirs = multiprocessing.Pipe()
            process = multiprocessing.Process(
                target=work,
                args=(self.options.build, self.options.seed, range(first, end), theirs),
            )
            process.start()
            theirs.close()
            running = None
            try:
                while (message := mine.recv())[0] != "done":
                    what, number, said = message
                    if what == "begin":
                        running = said
                        continue
                    self.count(number, running, what, said)
                    running, first = None, number + 1
                first = end
            except EOFError:
                process.join()
                if running:
                    code = process.exitcode
                    hung = code in (-signal.SIGALRM, -signal.SIGPROF)
                    self.counts["hang" if hung else "crash"] += 1
                    said = f"more than {SECONDS} s" if hung else f"exit {code}"
                    self.broke(number, running, said)
                    first = number + 1
            process.join()

    def tools(self) -> None:
        for number, program in self.for_tools.items():
            self.counts["through the tools"] += 1
            if failure := tool_failure(self.options.build, program):
                self.broke(number, program, failure)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", default="build")
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    run = Run(options)
    run.stretch(options.first, options.first + options.count)
    run.tools()
    for name, count in sorted(run.counts.items()):
        print(f"{count:6} {name}")
    print(f"{options.count} programs, {len(run.broken)} broke a rule")
    return 1 if run.broken else 0


if __name__ == "__main__":
    sys.exit(main())
