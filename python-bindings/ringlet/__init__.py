# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles and runs dilated, segmented long-sequence attention.

    import numpy as np, ringlet

    q, k, v = (np.random.rand(1, 5000, 8, 64).astype("f4") for _ in range(3))
    out, lse = ringlet.attention(
        q, k, v, branches=[(2048, 1), (4096, 2)], causal=True)

    program = ringlet.compile('''
      func.func @attend(%q: tensor<1x?x8x64xf32>, %k: tensor<1x?x8x64xf32>,
                        %v: tensor<1x?x8x64xf32>)
          -> (tensor<1x?x8x64xf32>, tensor<1x8x?xf32>) {
        %o, %lse = ringlet.attention %q, %k, %v
            branches [<w = 2048, r = 1>, <w = 4096, r = 2>] causal
            : (tensor<1x?x8x64xf32>, tensor<1x?x8x64xf32>, tensor<1x?x8x64xf32>)
            -> (tensor<1x?x8x64xf32>, tensor<1x8x?xf32>)
        return %o, %lse : tensor<1x?x8x64xf32>, tensor<1x8x?xf32>
      }
    ''')
    out, lse = program(q, k, v)

This process loads the runtime only, a small library; the compiler runs as a
child process, so that a crash in it becomes a `CompileError`. Arrays are read
where they lie, whatever their strides, if their last axis is contiguous.
"""

from ringlet import presets
from ringlet._attention import attention
from ringlet._clauses import BlockMask, Branch, GridWindow, Order
from ringlet._compiler import clear_cache, compile
from ringlet._context import Context, Stats
from ringlet._errors import (
    CompileError,
    Diagnostic,
    Error,
    RuntimeError,
    Status,
)
from ringlet._native import compiler_path, configure, runtime_path
from ringlet._program import Argument, Entry, Estimate, Program
from ringlet._ring import Ring, RingRecord
from ringlet._tensors import bits

__version__ = "0.1.0"

__all__ = [
    "Argument",
    "BlockMask",
    "Branch",
    "CompileError",
    "Context",
    "Diagnostic",
    "Entry",
    "Error",
    "Estimate",
    "GridWindow",
    "Order",
    "Program",
    "Ring",
    "RingRecord",
    "RuntimeError",
    "Stats",
    "Status",
    "attention",
    "bits",
    "clear_cache",
    "compile",
    "compiler_path",
    "configure",
    "presets",
    "runtime_path",
]
