# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rings of GPUs that are the CPU: ranks that are threads and ranks that are
processes, whose messages they copy or a libnccl without GPUs moves, against f64.

What kernels compute, what is packed for which rank, and which memory messages are
in, is as on GPUs.
"""

import os
import secrets
import socket
import subprocess
import sys

import emulate
import safetensors_file

ALL = "branches [<w = *, r = 1>]"
TWO = "branches [<w = 64, r = 1>, <w = *, r = 3>]"
# Attributes, sharding, rows, heads of queries and of keys, dim, ranks.
CASES = [
    (ALL + " causal", "zigzag", 150, 2, 1, 64, 3),
    (TWO, "contiguous", 200, 4, 2, 64, 2),
    (TWO + " causal", "striped, 16", 130, 2, 2, 72, 4),
]
PLAIN = "#ringlet.tiling<query = 32, key = 16"
LAZY = (
    "#ringlet.tiling<query = 128, key = 64, recipe = \"fa_fwd_lazy\","
    " redo = <query = 32, key = 16, part = 128>, part = 128>"
)


def tiled(branches, tiling) -> str:
    count = branches.count("<")
    return f"{branches} tilings = [{', '.join([tiling] * count)}]"


# Rows of many keys, where sums have eight binary digits: attributes, sharding, rows,
# ranks, recipe. What a piece sums is shorter than a chunk, or a chunk is.
PARTS = PLAIN + ", part = 128>"
MANY_KEYS = PLAIN + ", manyKeys = <query = 32, key = 16, part = 128>>"
LONG = [
    (tiled(ALL, PARTS), "contiguous", 1200, 2, "plain"),
    (tiled(ALL + " causal", PARTS), "zigzag", 1000, 3, "plain"),
    (tiled(ALL, MANY_KEYS), "contiguous", 1200, 2, "plain"),
    (tiled(ALL, MANY_KEYS), "striped, 100", 800, 8, "plain"),
    (tiled(TWO, PARTS), "zigzag", 1500, 2, "plain"),
    (tiled(ALL, LAZY), "contiguous", 1200, 2, "fa_fwd_lazy"),
]


def text_of(attributes, sharding, heads, key_heads, dim) -> str:
    ring = f"#rlayout.ring<?, {sharding}>"

    def tensor(count):
        return f"tensor<1x?x{count}x{dim}xbf16, #ring>"

    types = [tensor(heads), tensor(key_heads), tensor(key_heads)]
    results = f"({tensor(heads)}, tensor<1x{heads}x?xf32, #rows>)"
    arguments = ", ".join(f"%{name}: {each}" for name, each in zip("qkv", types))
    return f"""#ring = #rlayout.layout<ring = {ring}>
#rows = #rlayout.layout<ring = {ring}, axis = 2>
func.func @attend({arguments}) -> {results} {{
  %o, %lse = ringlet.attention %q, %k, %v {attributes}
      : ({", ".join(types)}) -> {results}
  return %o, %lse : {results[1:-1]}
}}
"""


def free_port() -> int:
    with socket.socket() as ear:
        ear.bind(("127.0.0.1", 0))
        return ear.getsockname()[1]


def run_processes(ranks, command, folder, environment, transport) -> list:
    """The outputs of each rank, by name, of which it has written its own rows."""
    common = dict(
        environment,
        WORLD_SIZE=str(ranks),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(free_port()),
        RINGLET_RING_SECRET=secrets.token_hex(16),
    )
    running = [
        subprocess.Popen(
            [
                *command,
                f"--transport={transport}",
                f"--out={folder}/out{rank}.safetensors",
            ],
            env=dict(common, RANK=str(rank)),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(ranks)
    ]
    said = [each.communicate(timeout=300)[0] for each in running]
    for rank, each in enumerate(running):
        if each.returncode or f"transport  {transport}" not in said[rank]:
            raise RuntimeError(f"rank {rank}: {said[rank]}")
    return [
        safetensors_file.read(folder / f"out{rank}.safetensors") for rank in range(ranks)
    ]


def run(case, number, emulator, options) -> str:
    attributes, sharding, rows, heads, key_heads, dim, ranks = case
    folder = options.work / f"ring{number}"
    folder.mkdir(parents=True, exist_ok=True)
    graph = folder / "graph.mlir"
    graph.write_text(text_of(attributes, sharding, heads, key_heads, dim))
    artefact, environment = emulate.build(
        *(graph, "sm_80", "auto", [], folder, emulator, options)
    )
    inputs = folder / "in.safetensors"
    emulate.write_inputs(
        emulate.Case(attributes, rows, heads, dim, key_heads=key_heads), inputs
    )
    command = [options.build / "bin/ringlet-run", artefact, "--driver=cuda"]
    command.append(f"--in={inputs}")
    whole = folder / "whole.safetensors"
    said = emulate.do(
        *command, f"--ranks={ranks}", "--check", f"--out={whole}", env=environment
    )
    if "transport  p2p" not in said:
        raise RuntimeError(f"expected p2p, found {said}")
    environment["RINGLET_NCCL_LIBRARY"] = str(options.nccl)
    expected = rows_of(safetensors_file.read(whole)["result0"])
    for transport in ("p2p", "nccl"):
        parts = run_processes(ranks, command, folder, environment, transport)
        # Threads and processes compute the same, row by row.
        found = list(zip(*(rows_of(part["result0"]) for part in parts)))
        if len(found) != rows or any(a not in b for a, b in zip(expected, found)):
            raise RuntimeError(f"processes have other results over {transport}")
    return f"{ranks} ranks over p2p, of threads and of processes, and nccl"


def run_long(case, number, emulator, options) -> str:
    """Each value is 23/32: sixteen of them have six digits, and a sum of at most 256
    keys has them all."""
    attributes, sharding, rows, ranks, recipe = case
    folder = options.work / f"long{number}"
    folder.mkdir(parents=True, exist_ok=True)
    graph = folder / "graph.mlir"
    heads, dim = 1, 32
    graph.write_text(text_of(attributes, sharding, heads, heads, dim))
    target, scheduled = "sm_80", []
    if recipe != "plain":
        target, scheduled = "sm_90a", ["rl_attend_whole0_branch0_kernel"]
    artefact, environment = emulate.build(
        *(graph, target, recipe, scheduled, folder, emulator, options)
    )
    tensors = []
    for name, value in (("q", 1), ("k", 0), ("v", 23 / 32)):
        content = safetensors_file.encode("bf16", [value] * (rows * heads * dim))
        tensors.append((name, "bf16", (1, rows, heads, dim), content))
    inputs = folder / "in.safetensors"
    safetensors_file.write(inputs, tensors)
    command = [options.build / "bin/ringlet-run", artefact, "--driver=cuda", "--check"]
    environment["RINGLET_EMULATED_DIGITS"] = "8"
    emulate.do(*command, f"--in={inputs}", f"--ranks={ranks}", env=environment)
    return f"{ranks} ranks"


def rows_of(tensor) -> list:
    _, (_, rows, heads, dim), content = tensor
    size = heads * dim * 2
    return [content[i * size : (i + 1) * size] for i in range(rows)]


def main() -> int:
    parser = emulate.make_parser(__doc__)
    parser.add_argument("--nccl", required=True, help="the libnccl without GPUs")
    options = emulate.parse(parser)
    emulator = emulate.build_emulator(options)
    results = []
    for number, case in enumerate(CASES):
        name = f"{case[0]}, {case[1]}"
        results.append((name, lambda case=case, n=number: run(case, n, emulator, options)))
    for number, case in enumerate(LONG):
        name = f"long sums, {case[0]}, {case[1]}"
        results.append((name, lambda case=case, n=number: run_long(case, n, emulator, options)))
    return emulate.report(results)


if __name__ == "__main__":
    os.environ.pop("LOCAL_RANK", None)
    sys.exit(main())
