//===- Passes.td - from ringlet to rtile and rplan ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE
#define RINGLET_PASSES_ATTENTIONTOTILE

include "mlir/Pass/PassBase.td"

def RingletToRTile : Pass<"ringlet-to-rtile", "::mlir::ModuleOp"> {
  let summary = "Turn each function of attentions into a plan and its kernels";
  let description = [{
    Each `func.func` becomes an `rplan.func` of the same name, which checks the
    sizes of its arguments, allocates intermediate tensors and launches kernels;
    each kernel is an `rtile.func`.

    An attention becomes one kernel for each branch. A kernel streams over the
    keys of its branch with a running maximum and sum. With several branches the
    kernels form a chain: each goes on from the maximum, sum and accumulator
    that the ones before left for its rows, in f32, so that the union of all
    branches goes through one softmax (rule R1). Branches that see few rows come
    first; a branch that covers every row comes last and writes the result, and
    where there is none small kernels finish it.

    A single branch with a `recipe` becomes two kernels: one to be scheduled,
    which also marks the rows that it could not compute, and a plain one that
    computes tiles with marked rows again. A single dilated branch of all heads
    also fills the rows that it does not reach (R3), up to 128 columns; otherwise kernels that only fill come first.

    Memory orders (O1) and a pattern order (O2) become what a view says of its
    rows: an order where they lie at equal distances, else tables that the plan
    makes.

    Needs `tilings` (see `ringlet-choose-tiling`). What has no lowering yet is
    refused with the rule's number: packed and padded sequences (S2), q_offset
    by sequence with a pattern order, grid window or block mask (S1), runtime w
    and r (B1), rings (G1). Operations of other dialects are refused by name.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::ringlet::rtile::RTileDialect",
    "::ringlet::rplan::RPlanDialect"];
}

#endif // RINGLET_PASSES_ATTENTIONTOTILE
