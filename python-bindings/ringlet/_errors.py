# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What can go wrong, as exceptions."""

from __future__ import annotations

import builtins
import dataclasses
import enum
from typing import Optional, Sequence


class Status(enum.IntEnum):
    """Why the runtime refused or failed; `rl_status` of ringlet/runtime.h."""

    OK = 0
    INVALID_ARGUMENT = 1
    BAD_ARTIFACT = 2
    UNAVAILABLE = 3
    UNSUPPORTED = 4
    OUT_OF_MEMORY = 5
    DEVICE_ERROR = 6
    PEER_ERROR = 7
    IO_ERROR = 8
    INTERNAL_ERROR = 9


class Error(Exception):
    """Base of all exceptions of this package."""


class RuntimeError(Error, builtins.RuntimeError):
    """The runtime refused or failed; `status` says why in one word.

    A call that is refused (`Status.INVALID_ARGUMENT`) has written nothing.
    """

    def __init__(self, status: int, message: str):
        try:
            self.status: int = Status(status)
            name = self.status.name.lower().replace("_", " ")
        except ValueError:  # A runtime newer than this package.
            self.status = status
            name = f"status {status}"
        super().__init__(f"{name}: {message}" if message else name)


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """One message of the compiler.

    `line` and `column` count from 1; both are 0 where the compiler names no
    place. `severity` is "error", "warning", "remark" or "note"; notes follow
    the message that they explain.
    """

    severity: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.line else ""
        return f"{place}{self.severity}: {self.message}"


class CompileError(Error):
    """The compiler refused the program, or failed.

    diagnostics  all messages, in order
    location     (file, line, column) of the first error that has one, or None
    reproducer   path of a file that makes the failure happen again, or None;
                 always there if the compiler crashed
    returncode   of the compiler; -N if signal N ended it
    stderr       everything that the compiler printed
    """

    def __init__(
        self,
        message: str,
        *,
        diagnostics: Sequence[Diagnostic] = (),
        reproducer: Optional[str] = None,
        returncode: int = 1,
        stderr: str = "",
    ):
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)
        self.reproducer = reproducer
        self.returncode = returncode
        self.stderr = stderr

    @property
    def location(self) -> Optional[tuple[str, int, int]]:
        for each in self.diagnostics:
            if each.severity == "error" and each.line:
                return each.file, each.line, each.column
        return None
