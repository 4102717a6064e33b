# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text of every operation that tools register, whoever has written its parser.

    operations.py SEED SECONDS PROGRAM...

The names are those that MLIR's headers define for the dialects that are registered beside Ringlet's. Behind each stand words that its form may have, and
those that it has not, by chance. A program takes such text or refuses it, with status
1; nothing else may become of it.
"""

import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

DIALECTS = {
    "Arith": "arith", "Func": "func", "Linalg": "linalg", "Math": "math",
    "MemRef": "memref", "SCF": "scf", "Tensor": "tensor",
}  # fmt: skip
NAME = re.compile(r'StringLiteral\("((?:%s)\.[a-z_0-9.]+)"\)' % "|".join(DIALECTS.values()))
# Arguments of the function that the operation stands in.
VALUES = {
    "%x": "tensor<16xf16>", "%y": "tensor<?xf16>", "%s": "f32", "%i": "index",
    "%m": "memref<4xf32>", "%c": "i1", "%t": "tensor<4x4xf32>",
}  # fmt: skip
WRONG = "%none", "%0#1"
TYPES = (
    "i32 f32 i1 index tensor<16xf16> tensor<?xf16> tensor<4x4xf32> memref<4xf32> none "
    "memref<?x?xf32,strided<[?,1]>> vector<4xf32> () (i32)->i32 tensor<128xf16> tuple<>"
).split()
WORDS = (
    "ins outs init dimensions permutation to step iter_args in shared_outs into from "
    "eq slt fastmath map = : , -> ( ) [ ] { } < > * ? { } 0 1 -1 4 dense<0> dense<[]> "
    "0.0 true unit affine_map<(i)->(i)> [0,1] [] [[0],[1]] array<i64:0> array<i64> "
    "{a=1} {dimensions=array<i64:9>} ({ }) ({ linalg.yield %s : f32 }) else do @f @g "
    '"x" low high pad source attributes {-1,1:tensor<128xf16>} loc(unknown) !x #y'
).split()
# Forms of what is written most, to which chance adds.
SHAPES = (
    "ins({P})outs({P}){W}", "ins({P})outs({P})dimensions={W}", "ins({P}){W}",
    "ins({P})outs({P})permutation={W}", "ins({P})outs({P})dimensions=[0]({W}){W}",
    "ins({P})outs({P})({{{W}}})", "{{{W}}}ins({P})outs({P}){W}", "outs({P}){W}",
    "{V},{V}:{T}", "{V}[{V}]:{T}", "{V}[{V}]:{T} to {T}", "{V}[{W}][{W}][{W}]:{T} to {T}",
    "{V}:{T}{W}", "{V}:{T} to {T}", "({V})in({V})shared_outs({V}={V})->({T}){{{W}}}",
    "{V}={V} to {V} step {V}{W}{{{W}}}", "{V} {W}:{T}", "({V}){W}", "{W} {W} {W}",
    "({P}){W}", "{V} low[{W}]high[{W}]{{{W}}}:{T} to {T}", "{W}:{T}", "{{{W}}}",
)  # fmt: skip


def names(include):
    found = set()
    for folder in DIALECTS:
        for header in (include / "mlir/Dialect" / folder / "IR").glob("*.inc"):
            found.update(NAME.findall(header.read_text(errors="replace")))
    return sorted(found)


def text(name, shape, dice):
    # A value and the type that stands with it agree, mostly.
    value = dice.choice([*VALUES])

    def word(kind):
        if kind == "P":
            each = dice.choice([*VALUES])
            return f"{each}:{VALUES[each]}"
        if kind == "V":
            return value if dice.random() < 0.8 else dice.choice([*VALUES, *WRONG])
        if kind == "T":
            return VALUES[value] if dice.random() < 0.6 else dice.choice(TYPES)
        return " ".join(dice.choices(WORDS, k=dice.randint(0, 5)))

    shape = shape.replace("{{", "\1").replace("}}", "\2")
    form = re.sub(r"{([PVTW])}", lambda match: word(match[1]), shape)
    form = form.replace("\1", "{").replace("\2", "}")
    if dice.random() < 0.3:
        form += " " + word("W")
    if dice.random() < 0.2:
        name = f'"{name}"'
    result = dice.choice(["", "%r = ", "%r:2 = "])
    return (
        f"func.func @f({', '.join(': '.join(each) for each in VALUES.items())}) {{\n"
        f"  {result}{name} {form}\n  return\n}}\n"
    )


def main() -> int:
    seed, seconds, *programs = sys.argv[1:]
    config = ["llvm-config", "--includedir"]
    include = subprocess.run(config, capture_output=True, text=True, check=True).stdout
    every = names(pathlib.Path(include.strip()))
    dice = random.Random(int(seed))
    end = time.monotonic() + float(seconds)
    bad = 0
    # Every form of every operation once, then what chance adds.
    left = [(name, shape) for name in every for shape in SHAPES]
    dice.shuffle(left)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "text.mlir"
        while left or time.monotonic() < end:
            batch, left = left[:40], left[40:]
            batch += [
                (dice.choice(every), dice.choice(SHAPES)) for _ in range(40 - len(batch))
            ]
            texts = [text(name, shape, dice) for name, shape in batch]
            path.write_text("// -----\n".join(texts))
            for program in programs:
                options = ["--split-input-file"] if program.endswith("opt") else []
                done = subprocess.run(
                    [program, path, *options, "-o", "/dev/null"],
                    capture_output=True, text=True, timeout=100,
                )  # fmt: skip
                if done.returncode not in (0, 1) or "Stack dump" in done.stderr:
                    bad += 1
                    print(f"{program}: status {done.returncode} for one of")
                    print(path.read_text())
    print(f"{len(every)} operations, {bad} bad ends")
    return 1 if bad or len(every) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
