#!/usr/bin/env python3
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What kernels of shipped GPU configurations take: registers, shared memory,
instructions.

    test/Passes/TileToNVVM/shipped/shipped.py --build=build [--update]

Shipped are the examples, on every architecture that there is a row for, what
ringlet-bench times, the branches that LongNet is published with, and dense or
dilated attention at every head size from 16 to 256 in steps of 8. Each is compiled with the ptxas of this machine; what ptxas
complains about, or what spills, fails. The rest is compared with kernels.txt,
which --update writes anew. Another ptxas may give other registers, which are then
not compared.
"""

import argparse
import collections
import concurrent.futures
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path[:0] = [str(ROOT / "tools/ringlet-bench"), str(ROOT / "python-bindings")]

import cases  # noqa: E402

TABLE = pathlib.Path(__file__).with_name("kernels.txt")
ARCHITECTURES = (
    "sm_60", "sm_61", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90a",
    "sm_100", "sm_120",
)  # fmt: skip
# Those whose kernels are told apart by head size, too.
TIMED = ("sm_80", "sm_90a")
LONGNETS = (
    ((2048, 1), (4096, 2), (8192, 4)),
    ((4096, 2), (8192, 4)),
    ((16384, 4), (32768, 8), (65536, 16)),
)
EXAMPLES = ("dense", "longnet", "branches", "rms_norm_matmul.rtile")
# The instructions that say which kernel it is, and how much of it there is.
MIX = {
    "wgmma": r"wgmma\.mma_async",
    "tma": r"cp\.async\.bulk\.tensor",
    "mma": r"mma\.sync",
    "ldmatrix": r"ldmatrix",
    "cp.async": r"cp\.async\.c[ag]",
    "ex2": r"ex2\.approx",
    "setmaxnreg": r"setmaxnreg",
    "mbarrier": r"mbarrier\.try_wait",
    "bar": r"bar(?:rier)?\.(?:cta\.)?sync",
}
LINE = "{:<7} {:<46} {:<20} {:>3} registers {:>6} bytes  {}"


class Configuration(NamedTuple):
    target: str
    name: str
    text: str


def configurations() -> list[Configuration]:
    found = []
    for example in EXAMPLES:
        text = (ROOT / f"test/Examples/{example}.mlir").read_text()
        targets = TIMED if example not in ("dense", "longnet") else ARCHITECTURES
        found += [Configuration(target, example, text) for target in targets]
    timed = [case for case in cases.cuda_cases() if case.batch == 1]
    for branches in LONGNETS:
        family = f"longnet {branches[0][0]}..{branches[-1][0]}"
        timed.append(cases.Case(family, 65536, 8, 64, "bf16", True, branches, 0))
    dense, dilated = ((None, 1),), ((8192, 4),)
    kinds = [
        (dtype, causal, branches)
        for branches, causal in ((dense, False), (dense, True), (dilated, False))
        for dtype in ("bf16", "f16")
    ]
    for number, dim in enumerate(range(16, 257, 8)):
        dtype, causal, branches = kinds[number % len(kinds)]
        family = "dense" if branches == dense else "branch"
        timed.append(cases.Case(family, 4096, 4, dim, dtype, causal, branches, 0))
    for case in timed:
        found += [Configuration(target, case.name, case.text) for target in TIMED]
    return found


def rows(build: pathlib.Path, configuration: Configuration) -> list[str]:
    """A line for each kernel, or what is wrong."""
    target, name, text = configuration
    with tempfile.TemporaryDirectory() as folder:
        artifact = pathlib.Path(folder) / "kernels.rla"
        done = subprocess.run(
            [build / "bin/ringlet-compile", "-", f"--target={target}", "--explain",
             "-o", artifact],
            input=text, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        if done.returncode or done.stderr:
            return [f"{target:<7} {name}: FAILED: {done.stderr.strip()}"]
        ptx = artifact.read_bytes().decode(errors="ignore")
    registers = dict(
        re.findall(r"ptxas gives rl_(\w+) (\d+) registers", done.stdout)
    )
    # What holds the slots of channels is the whole of it.
    shared = dict(
        re.findall(
            r"rtile-gpu-assign-(?:shared|channels): (\w+): .*?(\d+) of \d+ bytes of"
            r" shared memory",
            done.stdout,
        )
    )
    lines = []
    for entry in re.split(r"^\.visible \.entry rl_", ptx, flags=re.M)[1:]:
        kernel = re.match(r"\w+", entry).group()
        if re.search("_(align|fill)_?[a-z]*[0-9]+$", kernel):  # copy and fill tensors
            continue
        counts = ((key, len(re.findall(rf"\b{of}", entry))) for key, of in MIX.items())
        mix = " ".join(f"{key}:{count}" for key, count in counts if count)
        lines.append(
            LINE.format(
                target, name, re.sub("(attend_)?attention0_", "", kernel),
                registers[kernel], shared[kernel], mix,
            ).rstrip()  # fmt: skip
        )
    return sorted(lines) or [f"{target:<7} {name}: FAILED: no kernel"]


def ptxas_version() -> str:
    """Of the ptxas that ringlet-compile takes."""
    candidates = [
        f"{os.environ[name]}/bin/ptxas"
        for name in ("CUDA_HOME", "CUDA_PATH")
        if os.environ.get(name)
    ]
    for program in (*candidates, "ptxas", "/usr/local/cuda/bin/ptxas"):
        try:
            said = subprocess.run([program, "--version"], capture_output=True, text=True)
        except OSError:
            continue
        return re.search(r"V([\d.]+)", said.stdout).group(1)
    sys.exit("expected a ptxas, found none")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--update", action="store_true", help="write the table")
    options = parser.parse_args()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda each: rows(options.build, each), configurations())
        found = [line for lines in results for line in lines]
    failures = [line for line in found if "FAILED" in line]
    print("\n".join(failures), end="\n" if failures else "")
    version = f"ptxas {ptxas_version()}"
    if options.update and not failures:
        TABLE.write_text("\n".join([version, *found]) + "\n")
    other, *expected = TABLE.read_text().splitlines()
    if other != version:
        print(f"registers are not compared: expected {other}, found {version}")
        expected, found = (
            [re.sub(r"\d+ registers", "", line) for line in lines]
            for lines in (expected, found)
        )
    difference = list(
        difflib.unified_diff(expected, found, TABLE.name, "now", n=0, lineterm="")
    )
    print("\n".join(difference), end="\n" if difference else "")
    print(
        f"{len(found)} kernels of {len(configurations())} configurations, "
        f"{len(failures)} failures, {'other' if difference else 'as expected'}"
    )
    return 1 if failures or difference else 0


if __name__ == "__main__":
    sys.exit(main())
