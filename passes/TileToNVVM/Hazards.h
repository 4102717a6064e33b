//===- Hazards.h - Which accesses to shared memory need a barrier -*- C++
//-*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETONVVM_HAZARDS_H
#define RINGLET_PASSES_TILETONVVM_HAZARDS_H

#include "passes/TileToNVVM/Decisions.h"

namespace ringlet {
namespace gpu {

/// One use of a stretch of shared memory by the threads of a block.
struct SharedAccess {
  int64_t offset;
  Image image;
  bool isWrite;
  /// Every warp touches only the rows that it holds in registers.
  bool byOwnRows;

  bool operator==(const SharedAccess &other) const {
    return isSamePlace(other) && isWrite == other.isWrite &&
           byOwnRows == other.byOwnRows;
  }
  bool isSamePlace(const SharedAccess &other) const {
    return offset == other.offset && image.bytes == other.image.bytes &&
           image.pitch == other.image.pitch;
  }
  bool meets(const SharedAccess &other) const {
    return offset < other.offset + other.image.bytes &&
           other.offset < offset + image.bytes;
  }
};

/// The accesses of one operation, in the order of emission.
llvm::SmallVector<SharedAccess> getSharedAccesses(mlir::Operation *op);

/// The accesses that other threads may still be at.
class Hazards {
public:
  enum class Need { Nothing, WarpBarrier, BlockBarrier };

  /// What has to come before `access`.
  Need before(const SharedAccess &access) const;

  void add(const SharedAccess &access) {
    if (!llvm::is_contained(pending, access))
      pending.push_back(access);
  }
  /// Adds what the other set holds: after a branch, or at the head of a loop,
  /// where the end of its body may come before.
  void merge(const Hazards &other) {
    for (const SharedAccess &access : other.pending)
      add(access);
  }
  /// Adds every access inside `op`.
  void addAll(mlir::Operation *op);
  /// All threads have met.
  void clear() { pending.clear(); }

private:
  llvm::SmallVector<SharedAccess> pending;
};

} // namespace gpu
} // namespace ringlet

#endif // RINGLET_PASSES_TILETONVVM_HAZARDS_H
