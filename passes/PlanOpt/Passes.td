//===- Passes.td - passes about host plans ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_PLANOPT
#define RINGLET_PASSES_PLANOPT

include "mlir/Pass/PassBase.td"

def RPlanFoldTables : Pass<"rplan-fold-tables", "::mlir::ModuleOp"> {
  let summary = "Make small tables when the plan is compiled";
  let description = [{
    An `rplan.tile_index` of which all sizes are known becomes an
    `rplan.constant`, so that no call has to make it, if it has at most 2^15
    numbers, and its sequences and its order at most 2^20 tokens: to make a
    larger one would keep the compiler busy, and the artefact would have to
    carry it. A table that its rules forbid is an error.
  }];
  let dependentDialects = ["::ringlet::rplan::RPlanDialect"];
}

def RPlanAddFallbacks : Pass<"rplan-add-fallbacks", "::mlir::ModuleOp"> {
  let summary = "Give kernels to be scheduled a plain twin";
  let description = [{
    A scheduled kernel reads its buffers through the copy engine, which wants
    addresses and strides that are multiples of 16 bytes. A launch of a kernel
    with a `recipe` or a `schedule` that has nothing to launch otherwise gets a
    copy of the kernel without either, `@NAME_plain`, with the same grid and
    arguments.
    Kernels of graphs have one of their own already. Nothing happens for an
    architecture without scheduled kernels.

    For kernels written by hand. Tiles that suit the scheduled form may be too
    large for the plain one, which then spills registers: slow, but right, and
    only for tensors that need it. `rplan-drop-fallbacks` takes the twins of
    kernels away that were not scheduled.
  }];
  let options = [Option<"level", "level", "std::string", "\"sm_90a\"",
    "Level or architecture that kernels are for">];
  let dependentDialects = ["::ringlet::rplan::RPlanDialect",
                           "::ringlet::rtile::RTileDialect"];
}

def RPlanDropFallbacks : Pass<"rplan-drop-fallbacks", "::mlir::ModuleOp"> {
  let summary = "Forget what to launch instead of kernels that stayed plain";
  let description = [{
    A plain kernel runs on any buffers. What its launches have to launch
    otherwise goes and, where nothing else launches that, its kernel, too.
  }];
}

#endif // RINGLET_PASSES_PLANOPT
