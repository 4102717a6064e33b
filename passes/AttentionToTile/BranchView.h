//===- BranchView.h - The rows of one segment and residue -------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_BRANCHVIEW_H
#define RINGLET_PASSES_ATTENTIONTOTILE_BRANCHVIEW_H

#include "passes/AttentionToTile/PointSequence.h"

namespace ringlet {

/// The residue o of a branch (B2) at a head; null if the branch is not dilated.
/// `r` is a parameter, null where the compiler knows it.
mlir::Value makeResidue(HostPlan &plan, KernelBuilder &k, Attention &attention,
                        unsigned branch, mlir::Value head, mlir::Value keyHead,
                        mlir::Value r = {});

/// The rows of either side that lie in one segment and residue of given sizes,
/// as a kernel's views have them.
class BranchView {
public:
  BranchView(KernelBuilder &k, Attention &attention, const BranchSizes &sizes);

  /// Adds parameters: sizes that only the call knows, and tables of rows.
  void declare();

  const BranchSizes &getSizes() const { return sizes; }
  const RowOrder &getOrder(Side side) const {
    return side == Side::Query ? queries : keys;
  }
  /// In the kernel.
  mlir::Value getW() { return w ? w : k.constant(sizes.getW()); }
  mlir::Value getR() { return r ? r : k.constant(sizes.getR()); }

  /// The residue o (B2) of branch number `branch`, whose sizes these are, at a
  /// head; null if the branch is not dilated.
  mlir::Value getResidue(HostPlan &plan, unsigned branch, mlir::Value head,
                         mlir::Value keyHead) {
    return makeResidue(plan, k, attention, branch, head, keyHead, r);
  }

  /// What a view says of those rows of a side that are a `part` of the axis or
  /// of a table; number 0 of them has the ordinal `origin`.
  KernelBuilder::Rows getRows(Side side, mlir::Value origin,
                              mlir::Value segment, mlir::Value residue,
                              const SequencePart &part);
  /// Of a view of `shape`.
  rtile::ViewType getType(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                          const KernelBuilder::Rows &rows) {
    return rtile::ViewType::get(shape, element, sizes.getW(), sizes.getR(),
                                /*indexed=*/bool(rows.table));
  }

private:
  KernelBuilder &k;
  Attention &attention;
  BranchSizes sizes;
  RowOrder queries, keys;
  /// Parameters; null where the compiler knows them.
  mlir::Value w, r;
};

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_BRANCHVIEW_H
