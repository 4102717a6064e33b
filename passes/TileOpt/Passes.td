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

def RTileLowerRuns : Pass<"rtile-lower-runs"> {
  let summary = "Write rtile.run and rtile.bounds as index arithmetic";
  let description = [{
    Which rows a view has, and which keys a tile of queries sees, follows from
    sizes, segments and rates by division (rules B3 and B4): `arith` on `index`,
    whatever the target. `rtile.visible` stays, because the form of a mask
    depends on the target.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::memref::MemRefDialect"];
}

#endif // RINGLET_PASSES_TILEOPT
