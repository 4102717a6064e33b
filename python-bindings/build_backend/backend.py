# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds the wheel: this package, the runtime library and the compiler.

The two binaries are copied from a build folder: the one that

    pip install ./python-bindings --config-settings build-dir=PATH

names, else `build` beside this project, if it is there. Without one the wheel
is pure Python, and the package takes the Ringlet that is installed on PATH.
"""

import base64
import hashlib
import io
import pathlib
import re
import sysconfig
import tarfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARIES = ("lib/libringlet_runtime.so.1", "bin/ringlet-compile")
# The beginning of time for zip files: the same input gives the same wheel.
EPOCH = (1980, 1, 1, 0, 0, 0)


def _project(field):
    text = (ROOT / "pyproject.toml").read_text()
    return re.search(rf'^{field} = "(.*)"$', text, re.M)[1]


def _name():
    return f"{_project('name')}-{_project('version')}"


def _binaries(settings):
    chosen = (settings or {}).get("build-dir")
    build = pathlib.Path(chosen) if chosen else ROOT.parent / "build"
    found = [build / each for each in BINARIES if (build / each).is_file()]
    if chosen and len(found) != len(BINARIES):
        missing = [each for each in BINARIES if not (build / each).is_file()]
        raise SystemExit(f"expected {' and '.join(missing)} in '{build}', found none")
    # One without the other may not fit what is installed.
    return found if len(found) == len(BINARIES) else []


def _metadata():
    extras = ""
    table = re.search(
        r"^\[project.optional-dependencies\]\n(.*?)^\n",
        (ROOT / "pyproject.toml").read_text(),
        re.M | re.S,
    )
    for extra, packages in re.findall(r"^(\w+) = \[(.*)\]$", table[1], re.M):
        extras += f"Provides-Extra: {extra}\n"
        for package in re.findall(r'"([^"]+)"', packages):
            extras += f'Requires-Dist: {package}; extra == "{extra}"\n'
    return (
        "Metadata-Version: 2.1\n"
        f"Name: {_project('name')}\n"
        f"Version: {_project('version')}\n"
        f"Summary: {_project('description')}\n"
        "License: Apache-2.0 WITH LLVM-exception\n"
        f"Requires-Python: {_project('requires-python')}\n"
        f"{extras}"
        "Description-Content-Type: text/markdown\n\n"
        f"{(ROOT / 'README.md').read_text()}"
    )


def _sources():
    package = ROOT / "ringlet"
    return sorted(
        each
        for each in package.rglob("*")
        if each.is_file() and (each.suffix == ".py" or each.name == "py.typed")
    )


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    binaries = _binaries(config_settings)
    platform = re.sub(r"[-.]", "_", sysconfig.get_platform()) if binaries else "any"
    tag = f"py3-none-{platform}"
    info = f"{_name()}.dist-info"
    files = [
        (each.relative_to(ROOT).as_posix(), each.read_bytes(), 0o644)
        for each in _sources()
    ]
    files += [
        (f"ringlet/_native/{each.name}", each.read_bytes(), 0o755) for each in binaries
    ]
    files += [
        (f"{info}/METADATA", _metadata().encode(), 0o644),
        (
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: ringlet\n"
            f"Root-Is-Purelib: {'false' if binaries else 'true'}\n"
            f"Tag: {tag}\n".encode(),
            0o644,
        ),
    ]
    record = ""
    for name, content, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
        record += f"{name},sha256={digest.rstrip(b'=').decode()},{len(content)}\n"
    files.append((f"{info}/RECORD", (record + f"{info}/RECORD,,\n").encode(), 0o644))

    wheel = f"{_name()}-{tag}.whl"
    path = pathlib.Path(wheel_directory) / wheel
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as out:
        for name, content, mode in files:
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(entry, content)
    return wheel


def build_sdist(sdist_directory, config_settings=None):
    name = f"{_name()}.tar.gz"
    files = [*_sources(), *sorted((ROOT / "build_backend").glob("*.py"))]
    files += [ROOT / "pyproject.toml", ROOT / "README.md"]
    with tarfile.open(pathlib.Path(sdist_directory) / name, "w:gz") as out:
        for each in files:
            out.add(each, f"{_name()}/{each.relative_to(ROOT).as_posix()}")
        content = _metadata().encode()
        entry = tarfile.TarInfo(f"{_name()}/PKG-INFO")
        entry.size = len(content)
        out.addfile(entry, io.BytesIO(content))
    return name
