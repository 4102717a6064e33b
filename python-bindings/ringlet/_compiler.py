# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilation, in a child process."""

from __future__ import annotations

import contextlib
import hashlib
import os
import pathlib
import re
import shlex
import signal
import subprocess
import tempfile
import threading
import weakref
from typing import Callable, Iterator, NamedTuple, Optional, Sequence, Union

from ringlet._context import Context, context_or_default, forget_loaded
from ringlet._errors import CompileError, Diagnostic
from ringlet._handles import Kept, Locked
from ringlet._native import compiler_path
from ringlet._program import Loaded, Program
from ringlet._values import number
from ringlet._values import text as text_of

class _Turns(Locked):
    """One compilation of a text at a time; others wait for its result."""

    def renew_lock(self) -> None:
        super().renew_lock()
        self._locks: dict = {}

    @contextlib.contextmanager
    def of(self, key: tuple) -> Iterator[None]:
        with self._lock:
            lock, waiting = self._locks.get(key) or (threading.Lock(), 0)
            self._locks[key] = lock, waiting + 1
        try:
            with lock:
                yield
        finally:
            with self._lock:
                lock, waiting = self._locks[key]
                self._locks[key] = lock, waiting - 1
                if waiting == 1:
                    del self._locks[key]


# Artefacts of this process. A context keeps what was loaded of them for itself.
_artifacts = Kept()
_turns = _Turns()


def compile(
    source: Union[str, os.PathLike],
    target: str = "cpu",
    *,
    options: Sequence[str] = (),
    context: Optional[Context] = None,
    cache: bool = True,
    timeout: Optional[float] = None,
) -> Program:
    """Compiles IR text to a program that is ready to run.

    source   the text of a module with `ringlet`, or `rtile` and `rplan`,
             operations; or the path of a file: an os.PathLike, or a string that
             ends in ".mlir"
    target   of ringlet-compile's --target: "cpu" for this kind of machine
    options  further options of ringlet-compile, as "--linker=/opt/llvm/bin/lld"
    context  where the program runs; None is a context for the whole process
    cache    take the program from an earlier call with the same text, options
             and compiler in this process, or keep it for a later one
    timeout  seconds that the compiler may take; None sets no limit

    Raises ringlet.CompileError with the compiler's diagnostics if it refuses
    the text, fails, or takes too long; OSError if a file cannot be read;
    ringlet.Error if there is no compiler.
    """
    name, text = _read(source)
    compiler = compiler_path()
    status = compiler.stat()
    context = context_or_default(context)
    if timeout is not None and not 0 < number("timeout", timeout):
        raise ValueError(f"expected timeout above 0 seconds, found {timeout!r:.80}")
    text_of("target", target)
    if isinstance(options, (str, bytes)):
        raise TypeError(f"expected options as a list of str, found {options!r:.80}")
    options = tuple(options)
    for each in options:
        text_of("an option", each)
    key = (
        hashlib.sha256(text).digest(),
        target,
        options,
        str(compiler),
        (status.st_mtime_ns, status.st_size, status.st_ino),
    )

    def run() -> bytes:
        return _run(compiler, name, text, target, options, timeout)

    if not cache:
        return Program(run(), context)
    with _turns.of(key):
        found = context._loaded.get(key)
        program = found and found.program()
        if program is None:
            artifact = _artifacts.get(key)
            if artifact is None:
                artifact = run()
                _artifacts.put(key, artifact)
            loaded = found.loaded if found else Loaded(artifact, context._handle)
            program = Program.of(loaded, context)
            context._loaded.put(key, _Found(loaded, weakref.ref(program)))
        return program


class _Found(NamedTuple):
    """What a context keeps. A program holds its context, so not the other way."""

    loaded: Loaded
    program: Callable[[], Optional[Program]]


def clear_cache() -> None:
    """Forgets the programs that `compile` keeps."""
    _artifacts.clear()
    forget_loaded()


def _read(source: Union[str, os.PathLike]) -> tuple:
    """The name for messages, None for a text in memory, and the text."""
    if isinstance(source, os.PathLike) or (
        isinstance(source, str) and source.endswith(".mlir") and "\n" not in source
    ):
        return os.fspath(source), pathlib.Path(source).read_bytes()
    if isinstance(source, str):
        return None, source.encode()
    raise TypeError(
        f"expected IR as str or the path of a file, found {type(source).__name__}"
    )


def _run(compiler, name, text, target, options, timeout) -> bytes:
    reproducer = _reproducer_path(text, target, options)
    with tempfile.TemporaryDirectory(prefix="ringlet-") as folder:
        output = os.path.join(folder, "program.rla")
        command = [str(compiler), "-", f"--target={target}", *options]
        with contextlib.suppress(FileNotFoundError):
            os.unlink(reproducer)
        try:
            done = subprocess.run(
                [*command, f"--reproducer={reproducer}", "-o", output],
                input=text,
                capture_output=True,
                timeout=timeout,
            )
        except subprocess.TimeoutExpired as late:
            _keep_input(reproducer, text, command)
            raise CompileError(
                f"the compiler took more than {timeout} s and was ended; "
                f"{reproducer} makes it happen again",
                reproducer=reproducer,
                returncode=-signal.SIGKILL,
                stderr=(late.stderr or b"").decode(errors="replace"),
            ) from None
        if done.returncode == 0:
            return pathlib.Path(output).read_bytes()
    raise _failure(done, name, text, command, reproducer)


def _reproducer_path(text: bytes, target: str, options: Sequence[str]) -> str:
    """The same for the same input: failing again leaves no second file."""
    folder = os.environ.get("RINGLET_DUMP_DIR") or tempfile.gettempdir()
    arguments = "\0".join((target, *options)).encode()
    digest = hashlib.sha256(arguments + b"\0" + text).hexdigest()[:16]
    return os.path.abspath(os.path.join(folder, f"ringlet-repro-{digest}.mlir"))


_DIAGNOSTIC = re.compile(
    r"^(?:(?P<file>[^\n:]+):(?P<line>\d+):(?P<column>\d+): )?"
    r"(?:[\w-]+: )?(?P<severity>error|warning|remark|note): (?P<message>.*)$",
    re.M,
)


def _failure(done, name, text, command, reproducer) -> CompileError:
    stderr = done.stderr.decode(errors="replace")
    diagnostics = []
    for match in _DIAGNOSTIC.finditer(stderr):
        file = match["file"] or ""
        if file in ("<stdin>", "-"):
            file = name or "<text>"
        diagnostics.append(
            Diagnostic(
                match["severity"],
                match["message"],
                file,
                int(match["line"] or 0),
                int(match["column"] or 0),
            )
        )
    # The compiler writes one itself, unless it was ended from outside.
    kept = os.path.exists(reproducer)
    if done.returncode < 0 or not any(d.severity == "error" for d in diagnostics):
        if not kept:
            _keep_input(reproducer, text, command)
        kept = True
        message = (
            f"the compiler {_how_it_ended(done.returncode)}; {reproducer} makes "
            "it happen again"
        )
        if stderr.strip():
            message += "\n" + stderr.strip()[-4000:]
    else:
        message = "\n".join(map(str, diagnostics))
    return CompileError(
        message,
        diagnostics=diagnostics,
        reproducer=reproducer if kept else None,
        returncode=done.returncode,
        stderr=stderr,
    )


def _how_it_ended(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def _keep_input(path: str, text: bytes, command: Sequence[str]) -> None:
    """Writes what the compiler was given, with the call as its first line."""
    with open(path, "wb") as file:
        file.write(f"// {shlex.join(command)} -o {os.devnull} < {path}\n".encode())
        file.write(text)
