//===- Edit.h - Small edits of tile programs --------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_RUN_PLANTED_EDIT_H
#define RINGLET_TEST_RUN_PLANTED_EDIT_H

#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"

#include <optional>

namespace ringlet::planted {

/// Calls `edit` for all of them; true if any call was.
template <typename Range, typename Edit>
bool editAll(Range &&all, Edit edit) {
  bool changed = false;
  for (auto each : all)
    changed |= edit(each);
  return changed;
}

/// The same for every operation of a kind.
template <typename OpT, typename Edit>
bool editEach(mlir::ModuleOp module, Edit edit) {
  llvm::SmallVector<OpT> all;
  module.walk([&](OpT op) { all.push_back(op); });
  return editAll(all, edit);
}

inline mlir::Value makeIndex(mlir::OpBuilder &builder, mlir::Location loc,
                             int64_t value) {
  return mlir::arith::ConstantIndexOp::create(builder, loc, value);
}

/// The number that fills a constant tile.
inline std::optional<double> getSplat(mlir::Value value) {
  mlir::DenseFPElementsAttr constant;
  if (!mlir::matchPattern(value, mlir::m_Constant(&constant)) ||
      !constant.isSplat())
    return std::nullopt;
  return constant.getSplatValue<llvm::APFloat>().convertToDouble();
}

/// A constant tile like `like` filled with another number.
inline mlir::Value makeSplat(mlir::OpBuilder &builder, mlir::Value like,
                             double number) {
  auto type = llvm::cast<mlir::RankedTensorType>(like.getType());
  llvm::APFloat value(number);
  bool losesInfo = false;
  value.convert(
      llvm::cast<mlir::FloatType>(type.getElementType()).getFloatSemantics(),
      llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return mlir::arith::ConstantOp::create(
      builder, like.getLoc(), mlir::DenseElementsAttr::get(type, value));
}

/// `tile` rounded to `narrow` and widened again, at the builder's place.
inline mlir::Value roundThrough(mlir::OpBuilder &builder, mlir::Value tile,
                                mlir::Type narrow) {
  auto wide = llvm::cast<mlir::RankedTensorType>(tile.getType());
  mlir::Value rounded = mlir::arith::TruncFOp::create(builder, tile.getLoc(),
                                                      wide.clone(narrow), tile);
  return mlir::arith::ExtFOp::create(builder, tile.getLoc(), wide, rounded);
}

/// The views of keys (which runs walk) and of values (which meet the weights)
/// of a module.
inline llvm::SmallVector<rtile::ViewOp> keyViews(mlir::ModuleOp module) {
  llvm::SetVector<rtile::ViewOp> views;
  module.walk([&](rtile::RunOp run) {
    views.insert(run.getKey().getDefiningOp<rtile::ViewOp>());
  });
  return views.takeVector();
}
inline llvm::SmallVector<rtile::ViewOp> valueViews(mlir::ModuleOp module) {
  llvm::SetVector<rtile::ViewOp> views;
  module.walk([&](rtile::DotOp dot) {
    auto load = dot.getRhs().getDefiningOp<rtile::LoadOp>();
    if (!dot.getTransposed() && load)
      views.insert(load.getView().getDefiningOp<rtile::ViewOp>());
  });
  return views.takeVector();
}

} // namespace ringlet::planted

#endif // RINGLET_TEST_RUN_PLANTED_EDIT_H
