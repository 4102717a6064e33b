//===- Passes.td - passes from rtile to rtile ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILEOPT
#define RINGLET_PASSES_TILEOPT

include "mlir/Pass/PassBase.td"

def RTileSplitMaskedLoops : Pass<"rtile-split-masked-loops"> {
  let summary = "Split off the steps of a key loop that need no mask";
  let description = [{
    A loop over the keys of an `rtile.run`, from `begin` to `end`, masks its
    scores with `rtile.visible`. The steps from `wholeBegin` to `wholeEnd` need
    no mask, so the loop becomes up to three: masked steps before (only a left
    window makes any), unmasked steps, masked steps after. Values do not change.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif // RINGLET_PASSES_TILEOPT
