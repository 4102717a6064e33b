# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Peers that torch does not bring, fetched for a machine without a network.

`fetch` puts wheels and sources into a folder, where there is a network;
`install` makes them importable, where there is a GPU. Versions are pinned, and
nothing of it is part of Ringlet. A peer of which something is missing says so
when it is asked for, and all others go on.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import pathlib
import site
import subprocess
import sys
import tempfile
import urllib.request
import zipfile

# The systems that wheels are taken for, beside those of no system at all.
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")


@dataclasses.dataclass(frozen=True)
class Package:
    """What a peer takes: wheels by name and version, and one source file.

    Torch, and what torch itself needs, is there already.
    """

    wheels: tuple = ()
    source: str = ""

    @property
    def source_name(self) -> str:
        return self.source.rsplit("/", 1)[-1]


_FFI = ("apache-tvm-ffi==0.1.12", "torch-c-dlpack-ext==0.1.5")
_DSL = "4.8.1"
PACKAGES = {
    "FlashAttention-4": Package(
        wheels=(
            "flash-attn-4==4.0.0b36",
            f"nvidia-cutlass-dsl=={_DSL}",
            f"nvidia-cutlass-dsl-libs-base=={_DSL}",
            f"nvidia-cutlass-dsl-libs-core=={_DSL}",
            f"nvidia-cutlass-dsl-libs-cu13=={_DSL}",
            "quack-kernels==0.6.5",
            "einops==0.8.2",
            *_FFI,
        )
    ),
    "TileLang": Package(
        wheels=(
            "tilelang==0.1.15",
            "z3-solver==4.15.4",
            "cloudpickle==3.1.3",
            *_FFI,
        ),
        source="https://raw.githubusercontent.com/tile-ai/tilelang/v0.1.15/examples/"
        "flash_attention/example_mha_fwd_bshd.py",
    ),
    "Triton": Package(
        source="https://raw.githubusercontent.com/triton-lang/triton/v3.6.0/python/"
        "tutorials/06-fused-attention.py",
    ),
}


def _folder(programs, name: str) -> pathlib.Path:
    return pathlib.Path(programs) / "peers" / name


def _fetch(package: Package, folder: pathlib.Path, python: str) -> None:
    if package.wheels:
        command = [
            sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
            "--only-binary=:all:", f"--python-version={python}", f"--dest={folder}",
            *(f"--platform={each}" for each in (*PLATFORMS, "any")), *package.wheels,
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip().splitlines()[-1])
    if package.source and not (folder / package.source_name).exists():
        with urllib.request.urlopen(package.source, timeout=60) as answer:
            text = answer.read()
        (folder / package.source_name).write_bytes(text)


def fetch(programs, chosen, python: str) -> None:
    """Everything for the chosen peers, for that version of Python."""
    for name in chosen:
        folder = _folder(programs, name)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            _fetch(PACKAGES[name], folder, python)
        except (OSError, RuntimeError) as error:
            print(f"{name} is not complete: {error}", flush=True)
        size = sum(each.stat().st_size for each in folder.iterdir())
        print(f"{folder} {size} bytes", flush=True)


_unpacked = {}  # A folder for each peer, for as long as the process runs.


def install(programs, name: str) -> None:
    """Makes the wheels of a peer importable, behind what is installed."""
    wheels = sorted(_folder(programs, name).glob("*.whl"))
    if name in _unpacked or not wheels:
        return
    # One folder, since wheels add to each other's packages.
    _unpacked[name] = tempfile.TemporaryDirectory(prefix="ringlet-peer-")
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(_unpacked[name].name)
    site.addsitedir(_unpacked[name].name)
    importlib.invalidate_caches()


def load_source(programs, name: str):
    """The peer's source file as a module."""
    path = _folder(programs, name) / PACKAGES[name].source_name
    if not path.exists():
        raise FileNotFoundError(f"expected {path}, which --prepare fetches")
    module_name = "ringlet_peer_" + name.lower()
    if module_name not in sys.modules:
        spec = importlib.util.spec_from_file_location(module_name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[module_name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[module_name]
            raise
    return sys.modules[module_name]
