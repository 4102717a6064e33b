//===- Decisions.cpp - What the GPU passes write into the IR -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/Decisions.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

int64_t gpu::getBytes(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

Fragments Fragments::of(rtile::FuncOp func) {
  return {func->getAttrOfType<IntegerAttr>(warpsAttr).getInt()};
}

int64_t Fragments::elements(RankedTensorType tile) const {
  int64_t blocks = rowBlocks(tile.getDimSize(0));
  return tile.getRank() == 1 ? 2 * blocks
                             : 4 * blocks * columnBlocks(tile.getDimSize(1));
}

Image Image::of(RankedTensorType tile) {
  int64_t bytes = getBytes(tile.getElementType());
  if (tile.getRank() == 1) {
    int64_t length = tile.getDimSize(0);
    return {length, 1, bytes, int64_t(llvm::alignTo(length * bytes, 16))};
  }
  int64_t rows = llvm::alignTo(tile.getDimSize(0), 16);
  int64_t columns = llvm::alignTo(tile.getDimSize(1), 16);
  int64_t pitch = columns * bytes + 16;
  return {rows, columns, pitch, rows * pitch};
}

bool gpu::isLoadedImage(OpOperand &operand) {
  return isa<rtile::DotOp>(operand.getOwner()) &&
         operand.get().getDefiningOp<rtile::LoadOp>();
}

bool gpu::needsImage(OpOperand &operand) {
  Operation *user = operand.getOwner();
  if (auto broadcast = dyn_cast<rtile::BroadcastOp>(user))
    return broadcast.getColumns();
  if (!isa<rtile::DotOp>(user) || operand.getOperandNumber() > 1)
    return false;
  // A computed left operand of mma is in the right registers.
  auto strategy = user->getAttrOfType<StringAttr>(dotAttr);
  return operand.getOperandNumber() == 1 || isLoadedImage(operand) ||
         strategy != mmaDot;
}

int64_t gpu::getShared(Operation *op, unsigned index) {
  auto offsets = op->getAttrOfType<DenseI64ArrayAttr>(sharedAttr);
  return offsets && index < offsets.size() ? offsets[index] : -1;
}
