//===- Schedule.h - What the scheduling passes share -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILESCHEDULE_SCHEDULE_H
#define RINGLET_PASSES_TILESCHEDULE_SCHEDULE_H

#include "dialects/Tile/IR/TileDialect.h"
#include "lib/Arch/GPU.h"
#include "lib/Cost/ScheduleResources.h"

#include <string>

namespace ringlet::schedule {

/// Names of the roles that rtile-assign-roles makes.
inline constexpr llvm::StringLiteral loadRole = "load", computeRole = "compute";

/// Warps that change registers, and multiply, together; rows of their products.
inline constexpr int64_t groupWarps = cost::kGroupWarps;
inline constexpr int64_t groupRows = cost::kGroupRows;

/// Why an architecture has no roles, for one that has none.
std::string whyNoRoles(const arch::GPUArch &row);

/// Where a loaded tile is used.
enum class Use {
  Left,       ///< As the left operand of products alone.
  Transposed, ///< First as a right operand with rows along the sum's columns.
  Right,      ///< First as another right operand.
};

/// A load of a tile that the copy engine brings: one for products, or of a
/// loop.
struct Feed {
  rtile::LoadOp load;
  Use use = Use::Left;
  /// Something else reads the tile, too, from registers.
  bool isElementwise = false;

  /// Number of the kernel's parameter that the view is of, or -1.
  int64_t getBuffer() const;
};

/// The products of a kernel and what feeds them, in program order.
struct Products {
  llvm::SmallVector<rtile::DotOp> dots;
  llvm::SmallVector<Feed> feeds;

  /// Height of the left operands.
  int64_t getHeight() const;
  /// Of those that share a channel with `feed`, the first one's view. Loads
  /// through one view do, and where loops make views, those of one buffer, form
  /// and use: a loop makes another view in each step.
  mlir::TypedValue<rtile::ViewType> getChannelView(const Feed &feed) const;
};

/// Finds them if the kernel has the form that roles need: right operands are
/// loaded, loaded tiles go to products alone, left operands have one height of
/// whole groups of warps. Failure: `reason` says what else was found.
mlir::FailureOr<Products> findProducts(rtile::FuncOp func, std::string &reason);

/// Whether `op` runs any number of times at a point.
bool isInLoop(mlir::Operation *op);

/// The load that made `tile`, or null.
rtile::LoadOp getLoad(mlir::Value tile);

/// `type` as a tile, or null.
mlir::RankedTensorType getTile(mlir::Type type);

} // namespace ringlet::schedule

#endif // RINGLET_PASSES_TILESCHEDULE_SCHEDULE_H
