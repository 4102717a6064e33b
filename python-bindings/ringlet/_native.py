# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the runtime library and the compiler are.

In this order: what `configure` says; what the wheel brought, in `_native/`
beside this file; what an installed Ringlet on PATH has.
"""

from __future__ import annotations

import os
import pathlib
import shutil
from typing import Optional, Union

from ringlet._errors import Error

RUNTIME_NAME = "libringlet_runtime.so.1"
COMPILER_NAME = "ringlet-compile"

_bundled = pathlib.Path(__file__).parent / "_native"
_chosen: dict[str, pathlib.Path] = {}
_runtime_loaded = False


def configure(
    *,
    runtime: Union[str, os.PathLike, None] = None,
    compiler: Union[str, os.PathLike, None] = None,
) -> None:
    """Names the runtime library and the compiler to use.

    runtime   path of libringlet_runtime.so; only before its first use
    compiler  path of ringlet-compile; for all compilations from now on

    Raises ringlet.Error if a file does not exist, or if the runtime is loaded
    already.
    """
    for key, value in (("runtime", runtime), ("compiler", compiler)):
        if value is None:
            continue
        path = pathlib.Path(value).expanduser().absolute()
        if not path.is_file():
            raise Error(f"expected the {key} at '{path}', found no such file")
        if key == "runtime" and _runtime_loaded:
            raise Error("expected the runtime's path before its first use")
        _chosen[key] = path


def _on_path() -> Optional[pathlib.Path]:
    found = shutil.which(COMPILER_NAME)
    return pathlib.Path(found) if found else None


def compiler_path() -> pathlib.Path:
    """The ringlet-compile that `compile` runs; ringlet.Error if there is none."""
    bundled = _bundled / COMPILER_NAME
    path = _chosen.get("compiler") or (bundled if bundled.is_file() else _on_path())
    if path is None:
        raise Error(
            f"expected '{COMPILER_NAME}' in '{_bundled}' or on PATH, found none: "
            "install Ringlet, or name it with ringlet.configure(compiler=...)"
        )
    return path


def runtime_path() -> str:
    """The runtime library that is loaded, or will be.

    A bare file name means that the system's library search decides.
    """
    if "runtime" in _chosen:
        return str(_chosen["runtime"])
    candidates = [_bundled / RUNTIME_NAME]
    on_path = _on_path()
    if on_path:
        prefix = on_path.resolve().parent.parent
        candidates += [prefix / "lib" / RUNTIME_NAME]
        candidates += sorted(prefix.glob("lib/*/" + RUNTIME_NAME))
    for each in candidates:
        if each.is_file():
            return str(each)
    return RUNTIME_NAME


def mark_runtime_loaded() -> None:
    global _runtime_loaded
    _runtime_loaded = True
