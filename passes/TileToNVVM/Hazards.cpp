//===- Hazards.cpp - When shared memory needs a barrier ---------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/Hazards.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

SmallVector<SharedAccess> ringlet::gpu::getSharedAccesses(Operation *op) {
  SmallVector<SharedAccess> accesses;
  auto add = [&](int64_t offset, const Image &image, bool isWrite,
                 bool byOwnRows) {
    accesses.push_back({offset, image, isWrite, byOwnRows});
  };
  if (auto load = dyn_cast<rtile::LoadOp>(op)) {
    if (int64_t offset = getShared(op); offset >= 0) {
      Image image = getImage(load);
      add(offset, image, /*isWrite=*/true, /*byOwnRows=*/false);
      if (!llvm::all_of(load->getUses(), [](OpOperand &use) {
            return isLoadedImage(use) || isCarriedOn(use);
          }))
        add(offset, image, /*isWrite=*/false, /*byOwnRows=*/true);
    }
    return accesses;
  }
  SmallVector<OpOperand *> images;
  for (OpOperand &operand : op->getOpOperands())
    if (needsImage(operand))
      images.push_back(&operand);
  auto isLeft = [](OpOperand *operand) {
    return isa<rtile::DotOp>(operand->getOwner()) &&
           operand->getOperandNumber() == 0;
  };
  for (OpOperand *operand : images)
    if (!isLoadedImage(*operand))
      add(getShared(op, operand->getOperandNumber()), getImage(*operand),
          /*isWrite=*/true, /*byOwnRows=*/true);
  for (OpOperand *operand : images)
    add(isLoadedImage(*operand) ? getShared(getImageLoad(operand->get()))
                                : getShared(op, operand->getOperandNumber()),
        getImage(*operand), /*isWrite=*/false, isLeft(operand));
  return accesses;
}

Hazards::Need Hazards::before(const SharedAccess &access) const {
  Need need = Need::Nothing;
  for (const SharedAccess &other : pending) {
    if ((!access.isWrite && !other.isWrite) || !access.meets(other))
      continue;
    // The same rows, of which no warp sees what another one holds.
    if (!access.byOwnRows || !other.byOwnRows || !access.isSamePlace(other))
      return Need::BlockBarrier;
    need = Need::WarpBarrier;
  }
  return need;
}

void Hazards::addAll(Operation *op) {
  op->walk([&](Operation *inner) {
    for (const SharedAccess &access : getSharedAccesses(inner))
      add(access);
  });
}
