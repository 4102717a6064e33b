# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The processes of a run, and the file that their results go to.

torch's MKL looks at the vendor of the processor and takes slower code where
that is not Intel, whatever the instruction sets. What `pip install torch` gives
is one thing to compare with; what that hardware can do with the same library is
another, and the harder one: a function that answers MKL's question is put in
front of its own. Both are measured.
"""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

import cases

_PRELOADED = "int mkl_serv_intel_cpu_true(void) { return 1; }\n"


def cpu_info() -> dict:
    fields = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    return fields


def card_name() -> str:
    info = cpu_info()
    return (
        f"{info.get('model name', platform.machine())} family "
        f"{info.get('cpu family')} model {info.get('model')}"
    )


def run(options) -> int:
    try:
        chosen = cases.chosen(options.only)
    except re.error as error:
        print(f"expected --only to be a regular expression: {error}", file=sys.stderr)
        return 2
    if not chosen:
        names = "\n  ".join(each.name for each in cases.cpu_cases())
        print(f"expected --only to match one of\n  {names}", file=sys.stderr)
        return 2
    if options.part:
        return _measure(options)
    ways = [options.mkl]
    if options.mkl == "both":
        ways = ["as-installed", "as-on-intel"]
        if cpu_info().get("vendor_id") == "GenuineIntel":
            ways = ["as-installed"]
    parts = []
    with tempfile.TemporaryDirectory(prefix="ringlet-bench-") as folder:
        for way in ways:
            part = pathlib.Path(folder) / f"{way}.json"
            environment = dict(os.environ)
            if way == "as-on-intel":
                environment["LD_PRELOAD"] = _preload(folder)
            code = subprocess.call(
                [sys.executable, *sys.argv, f"--mkl={way}", f"--part={part}"],
                env=environment,
                start_new_session=True,  # A group of its own for the scheduler.
            )
            if code:
                return code
            parts.append(json.loads(part.read_text()))
    if options.write:
        _write(options, parts)
    return 0


def _measure(options) -> int:
    """The child process: measures, and leaves what it found in a file."""
    try:
        import torch  # noqa: F401
    except ImportError:
        print("expected torch, found none: pip install torch", file=sys.stderr)
        return 2
    import ringlet
    import suite

    if options.nice:
        os.setpriority(os.PRIO_PROCESS, 0, options.nice)
        group = pathlib.Path("/proc/self/autogroup")
        if group.exists():
            group.write_text(str(options.nice))
    try:
        found = suite.run(options, options.mkl)
    except (suite.Failure, ringlet.Error) as error:
        print(f"ringlet-bench: {error}", file=sys.stderr)
        return 1
    pathlib.Path(options.part).write_text(json.dumps(found))
    return 0


def _preload(folder) -> str:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise SystemExit("expected a C compiler for --mkl=as-on-intel, found none")
    path = os.path.join(folder, "intel.so")
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", path],
        input=_PRELOADED.encode(),
        check=True,
    )
    return path


def _write(options, parts) -> None:
    card = options.card or card_name()
    slug = re.sub(r"[^a-z0-9]+", "-", card.lower()).strip("-")
    peaks = {
        name: max(part["peaks"][name] for part in parts) for name in parts[0]["peaks"]
    }
    results = [case for part in parts for case in part["cases"]]
    for case in results:
        case["share_of_f32_peak"] = round(case["gflops"] / peaks["f32"], 3)
    content = {
        "card": f"{card}, {options.threads} threads",
        "date": datetime.date.today().isoformat(),
        "versions": parts[0]["versions"],
        "command": shlex.join(["ringlet-bench", *sys.argv[1:]]),
        "load_before": max(part["load"] for part in parts),
        "repeats": options.repeat,
        "matmul_gflops": peaks,
        "cases": results,
    }
    path = options.root / "test/Bench/results" / f"cpu-{slug}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2) + "\n")
    print(f"wrote {path}")
