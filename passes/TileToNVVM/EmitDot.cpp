//===- EmitDot.cpp - Operands of products of a block -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/PlainEmitter.h"
#include "passes/TileToNVVM/Product.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

int64_t PlainEmitter::prepareImage(OpOperand &operand,
                                   ArrayRef<SharedAccess> &accesses) {
  if (isLoadedImage(operand))
    return ringlet::gpu::getShared(getImageLoad(operand.get()));
  int64_t offset =
      ringlet::gpu::getShared(operand.getOwner(), operand.getOperandNumber());
  await(accesses.front());
  accesses = accesses.drop_front();
  writeImage(getTile(operand.get()), fragments[operand.get()], offset);
  return offset;
}

void PlainEmitter::emitDot(rtile::DotOp op) {
  SmallVector<SharedAccess> list = getSharedAccesses(op);
  ArrayRef<SharedAccess> accesses = list;
  ImageOperand operands[2];
  for (OpOperand *operand : {&op.getLhsMutable(), &op.getRhsMutable()}) {
    ImageOperand &given = operands[operand->getOperandNumber()];
    given = {getTile(operand->get()), getImage(*operand), -1, {}, {}};
    if (needsImage(*operand))
      given.offset = prepareImage(*operand, accesses);
    if (rtile::LoadOp load = getImageLoad(operand->get());
        load && load->hasAttr(narrowAttr))
      given.stored = views[load.getView()].stored;
    if (auto held = fragments.find(operand->get()); held != fragments.end())
      given.elements = held->second;
  }
  for (const SharedAccess &access : accesses)
    await(access);
  bool isStaged = false;
  for (OpOperand *operand : {&op.getLhsMutable(), &op.getRhsMutable()})
    if (isLoadedImage(*operand))
      if (rtile::LoadOp load = getImageLoad(operand->get());
          load->hasAttr(stagedAttr)) {
        widenStaged(load);
        isStaged = true;
      }
  if (isStaged)
    b.blockBarrier();
  Fragment sums = op.getInit() ? fragments[op.getInit()]
                               : Fragment(layout.elements(getTile(op)),
                                          b.real(b.getF32Type(), 0.0));
  fragments[op] = getBlockProduct(op).emit(*this, arch, op, shared, operands[0],
                                           operands[1], std::move(sums));
}
