#!/usr/bin/env python3
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every pair of features of ringlet.attention works or is refused by a rule.

    test/Run/pairs/pairs.py --build=build [--width=8]

Each pair is taken to tile programs for each target, by itself. Those that a
target takes are compiled to its machine code in attentions of at most WIDTH
features (twice that for a GPU), which together have every pair; --width=2 takes
each pair by itself, and minutes. CPU code is called: `ringlet-run --check` holds
it to the specification in f64, and tensors with other strides must give the same
bits.

Features that move the first position of queries or limit it are left out of
larger attentions; two that limit it are taken beside each that moves it.

Prints what is refused: features, and pairs of those that are not refused alone.
On stderr, a summary and each failure: a result that is wrong, a refusal without
a place or a rule. Exits 1 then.
"""

import argparse
import collections
import concurrent.futures
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "test/Support"), str(ROOT / "python-bindings")]

from compiler import OK, PLACE, RULE, Compiler  # noqa: E402
from features import FEATURES, combine, must_be_alone  # noqa: E402

import ringlet  # noqa: E402
import safetensors_file  # noqa: E402
from memory import LAYOUTS, Artifact, Placed, draw  # noqa: E402

LEVEL = "x86-64-v3"
CPU = f"cpu:{LEVEL}"
TARGETS = (CPU, "sm_80", "sm_90a")
# Attentions in one module.
MODULE = 8
# The status of ringlet-run for what the runtime refuses.
CALL_REFUSED = 3

PLACES = {name: place for place, name in enumerate(FEATURES)}

Refusal = collections.namedtuple("Refusal", "target features message")
Failure = collections.namedtuple("Failure", "target features what")


def names(features) -> str:
    return " + ".join(features)


def judge(target: str, features, said: str):
    """A refusal, or a failure to say where and why."""
    message = said.partition("error: ")[2].partition("\n")[0]
    message = re.sub(r"^('[a-z._]+' op|entry '\w+':) ", "", message)
    if PLACE.search(said) and RULE.search(said):
        return Refusal(target, features, message)
    return Failure(target, features, f"refused without a place or a rule: {said}")


class Worker:
    """What one process has: a compiler, a runtime and a folder."""

    def __init__(self, build: str):
        self.build = pathlib.Path(build)
        self.compiler = Compiler(build)
        ringlet.configure(runtime=self.build / "lib/libringlet_runtime.so.1")
        self.folder = tempfile.TemporaryDirectory(prefix="ringlet-pairs-")

    def lower(self, target: str, candidates: list) -> list:
        """What is refused on the way to tile programs."""
        judged = []
        for features in candidates:
            text = combine(features).text("f").encode()
            outcome = self.compiler.compile(text, "rtile", target)
            if outcome.status != OK:
                judged.append(judge(target, features, outcome.diagnostics))
        return judged

    def build_and_run(self, target: str, groups: list) -> list:
        """What is wrong with machine code of some groups of features."""
        text = "".join(
            combine(features).text(f"f{i}") for i, features in enumerate(groups)
        )
        emit = "rla" if target == CPU else "ptx"
        outcome = self.compiler.compile(text.encode(), emit, target)
        judged = []
        if outcome.status != OK and len(groups) > 1:
            for features in groups:
                judged += self.build_and_run(target, [features])
        elif outcome.status != OK and len(groups[0]) > 2:
            for pair in pairs_of(groups[0]):
                judged += self.build_and_run(target, [pair])
        elif outcome.status != OK:
            judged.append(judge(target, groups[0], outcome.diagnostics))
        elif target == CPU:
            judged = self.run(outcome.output, groups)
        return judged

    def run(self, content: bytes, groups: list) -> list:
        """Calls each entry of an artefact."""
        artifact, judged, again = Artifact(content, LEVEL), [], []
        folder = pathlib.Path(self.folder.name)
        (folder / "f.rla").write_bytes(content)
        for i, features in enumerate(groups):
            attention = combine(features)
            inputs = [(x, draw(x, names(features))) for x in attention.tensors()]
            safetensors_file.write(
                folder / "in.safetensors",
                [(x.name, x.dtype, x.shape, raw) for x, raw in inputs],
            )
            done = subprocess.run(
                [
                    *(self.build / "bin/ringlet-run", folder / "f.rla", "--check"),
                    *(f"--entry=f{i}", f"--in={folder / 'in.safetensors'}"),
                    f"--target={LEVEL}",
                    *["--ranks=3"] * bool(attention.ring),
                ],
                capture_output=True,
                text=True,
                timeout=100,
            )
            if done.returncode == CALL_REFUSED and len(features) > 2:
                again += pairs_of(features)
            elif done.returncode == CALL_REFUSED:
                judged.append(judge(CPU, features, done.stderr))
            elif done.returncode != OK:
                said = done.stdout[-500:] + done.stderr[-500:]
                judged.append(Failure(CPU, features, f"{done.returncode}: {said}"))
            elif what := compare_layouts(artifact, i, attention, inputs):
                judged.append(Failure(CPU, features, what))
        artifact.close()
        for pair in again:
            judged += self.build_and_run(CPU, [pair])
        return judged


def compare_layouts(artifact, entry: int, attention, inputs: list) -> str:
    """What is wrong with results of tensors with other strides, or ""."""
    expected = None
    for layout in ("plain", *LAYOUTS):
        results = [Placed(each, layout) for each in attention.result_tensors()]
        given = [Placed(operand, layout, raw) for operand, raw in inputs]
        artifact.call(entry, given + results)
        found = [each.read() for each in results]
        if not all(is_whole for _, is_whole in found):
            return f"writes beside results that lie {layout}"
        expected = expected or found
        if found != expected:
            return f"other results for tensors that lie {layout}"
    return ""


def pairs_of(features) -> list:
    return list(itertools.combinations(features, 2))


def in_order(*features) -> tuple:
    return tuple(sorted(features, key=PLACES.get))


def with_two_limits(taken: list) -> list:
    """What moves the first position, with each two that limit where it may be:
    larger attentions leave them out, and pairs do not show what the two do to
    each other."""
    taken = set(taken)
    return [
        in_order(move, *limits)
        for move in FEATURES
        for limits in pairs_of(FEATURES)
        if all(must_be_alone(move, each) for each in limits)
        and all(pair in taken for pair in pairs_of(in_order(move, *limits)))
    ]


def cover(pairs: list, alone: list, width: int) -> list:
    """Groups of at most `width` features that contain each of the pairs, and
    of which any two are one of them; those that are to be alone are."""
    groups = list(alone)
    left = dict.fromkeys(pair for pair in pairs if pair not in alone)
    allowed = set(left)
    while left:
        group = list(next(iter(left)))
        while len(group) < width:
            gains = {
                each: sum(in_order(each, other) in left for other in group)
                for each in FEATURES
                if all(in_order(each, other) in allowed for other in group)
            }
            best = max(gains, key=gains.get, default=None)
            if not best or not gains[best]:
                break
            group.append(best)
        groups.append(in_order(*group))
        for pair in pairs_of(groups[-1]):
            left.pop(pair, None)
    return groups


def report(judged: list) -> None:
    """Prints what is refused, a message with those that it is about."""
    targets = collections.defaultdict(set)
    for each in judged:
        if isinstance(each, Refusal):
            targets[each.message, each.features].add(each.target)
    lines = collections.defaultdict(list)
    for (message, features), some in targets.items():
        where = "all" if len(some) == len(TARGETS) else ", ".join(sorted(some))
        lines[message].append(([PLACES[name] for name in features], where, features))
    for message in sorted(lines):
        print(message)
        for _, where, features in sorted(lines[message]):
            print(f"  {where}: {names(features)}")


worker = None


def start(build: str) -> None:
    global worker
    worker = Worker(build)


def work(job: tuple) -> list:
    step, target, features = job
    return getattr(worker, step)(target, features)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", default="build")
    parser.add_argument("--width", type=int, default=8)
    options = parser.parse_args()

    def split(step: str, target: str, items: list, size: int) -> list:
        return [(step, target, items[i : i + size]) for i in range(0, len(items), size)]

    pairs = [
        (one, other)
        for one, other in pairs_of(FEATURES)
        if FEATURES[one].group != FEATURES[other].group
    ]
    judged, taken, groups = [], {}, {}
    # A process that dies of what it compiles or runs ends this one, too.
    with concurrent.futures.ProcessPoolExecutor(
        initializer=start, initargs=(options.build,)
    ) as pool:

        def do(jobs: list) -> list:
            found = [each for some in pool.map(work, jobs) for each in some]
            judged.extend(found)
            return found

        # One alone, then two of those that are not refused alone.
        for target in TARGETS:
            single = do(split("lower", target, [(each,) for each in FEATURES], 8))
            refused = {feature for each in single for feature in each.features}
            both = [pair for pair in pairs if not refused.intersection(pair)]
            no = {each.features for each in do(split("lower", target, both, 100))}
            taken[target] = [pair for pair in both if pair not in no]
            # What is not called needs no small attention to tell what is wrong.
            alone, width = [], 2 * options.width
            if target == CPU:
                alone = [pair for pair in taken[target] if must_be_alone(*pair)]
                alone += with_two_limits(taken[target])
                width = options.width
            groups[target] = cover(taken[target], alone, width)
        do(
            [
                job
                for target in TARGETS
                for job in split("build_and_run", target, groups[target], MODULE)
            ]
        )

    report(judged)
    failures = {each for each in judged if isinstance(each, Failure)}
    for target in TARGETS:
        print(
            f"{target}: {len(taken[target])} pairs of {len(FEATURES)} features in "
            f"{len(groups[target])} attentions",
            file=sys.stderr,
        )
    for each in failures:
        print(f"FAILED: {each.target}: {names(each.features)}: {each.what}\n"
              f"{combine(each.features).text('f')}", file=sys.stderr)  # fmt: skip
    print(f"{len(failures)} failures", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
