//===- Decisions.cpp - What the GPU passes write into the IR -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/Decisions.h"
#include "passes/TileToNVVM/Product.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

const arch::GPUArch *ringlet::gpu::lookupArch(Operation *op, StringRef name) {
  std::string error;
  const arch::GPUArch *row = arch::lookupGPUArch(name.str(), &error);
  if (!row)
    emitError(op->getLoc()) << error;
  return row;
}

LogicalResult
ringlet::gpu::forEachPlainKernel(Operation *module,
                                 function_ref<void(rtile::FuncOp)> choose) {
  WalkResult result = module->walk([&](rtile::FuncOp func) {
    if (func.getScheduled())
      return WalkResult::skip();
    if (!func->hasAttr(warpsAttr)) {
      func.emitOpError("expected the decisions of rtile-gpu-choose-warps");
      return WalkResult::interrupt();
    }
    choose(func);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

int64_t ringlet::gpu::getBytes(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

Fragments Fragments::of(rtile::FuncOp func) {
  Fragments fragments{func->getAttrOfType<IntegerAttr>(warpsAttr).getInt()};
  if (auto adjacent = func->getAttrOfType<IntegerAttr>(adjacentAttr))
    fragments.adjacent = adjacent.getInt();
  return fragments;
}

bool ringlet::gpu::isAlongColumns(RankedTensorType tile) {
  auto fragment = dyn_cast_if_present<rtile::FragmentAttr>(tile.getEncoding());
  return fragment && fragment.getAlong() == rtile::Along::columns;
}

int64_t Fragments::elements(RankedTensorType tile) const {
  if (isAlongColumns(tile))
    return 2 * columnBlocks(tile.getDimSize(0));
  int64_t blocks = rowBlocks(tile.getDimSize(0));
  return tile.getRank() == 1 ? 2 * blocks
                             : 4 * blocks * columnBlocks(tile.getDimSize(1));
}

Image ringlet::gpu::getImage(RankedTensorType tile) {
  int64_t bytes = getBytes(tile.getElementType());
  if (tile.getRank() == 2)
    return Image::of(tile.getDimSize(0), tile.getDimSize(1), bytes);
  int64_t length = tile.getDimSize(0);
  return {length, 1, bytes, int64_t(llvm::alignTo(length * bytes, 16))};
}

Image ringlet::gpu::getImage(rtile::LoadOp load) {
  bool isNarrow = load->hasAttr(narrowAttr);
  Image image = getImage(isNarrow ? getBytesTile(load) : getTile(load));
  if (load->hasAttr(swizzledAttr))
    image = image.swizzle();
  if (load->hasAttr(stagedAttr))
    image.bytes += getBytesImage(load).bytes;
  return image;
}

bool ringlet::gpu::isOfBytes(rtile::LoadOp load) {
  RankedTensorType tile = getTile(load);
  return rtile::getWidening(load.getView()) && tile.getRank() == 2 &&
         tile.getElementTypeBitWidth() == 16 &&
         tile.getDimSize(1) % Image::pieceBytes == 0;
}

RankedTensorType ringlet::gpu::getBytesTile(rtile::LoadOp load) {
  return RankedTensorType::get(getTile(load).getShape(),
                               IntegerType::get(load.getContext(), 8));
}

Image ringlet::gpu::getBytesImage(rtile::LoadOp load) {
  if (load->hasAttr(narrowAttr))
    return getImage(load);
  // Rows one behind the other, as many as the image has.
  Image image = getImage(getTile(load));
  int64_t columns = getTile(load).getDimSize(1);
  return {image.rows, columns, columns, image.rows * columns};
}

Image ringlet::gpu::getImage(OpOperand &operand) {
  return isLoadedImage(operand) ? getImage(getImageLoad(operand.get()))
                                : getImage(getTile(operand.get()));
}

/// True if the value number `index` of those that `loop` carries is ahead.
static bool isAhead(Operation *loop, int64_t index) {
  auto ahead = loop->getAttrOfType<DenseI64ArrayAttr>(aheadAttr);
  return ahead && llvm::is_contained(ahead.asArrayRef(), index);
}

/// What the loop that carries `tile` ahead starts from, or null.
static Value getAheadInit(Value tile) {
  scf::ForOp loop;
  int64_t index;
  if (auto argument = dyn_cast<BlockArgument>(tile)) {
    loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    index = int64_t(argument.getArgNumber()) - 1;
  } else {
    loop = tile.getDefiningOp<scf::ForOp>();
    index = cast<OpResult>(tile).getResultNumber();
  }
  if (!loop)
    return nullptr;
  return isAhead(loop, index) ? loop.getInitArgs()[index] : Value();
}

bool ringlet::gpu::isCarriedOn(OpOperand &operand, Operation **loop) {
  Operation *owner = operand.getOwner();
  int64_t index = operand.getOperandNumber();
  auto result = dyn_cast<scf::ForOp>(owner);
  if (result)
    index -= result.getNumControlOperands();
  else if (isa<scf::YieldOp>(owner))
    result = dyn_cast<scf::ForOp>(owner->getParentOp());
  if (!result || !isAhead(result, index))
    return false;
  if (loop)
    *loop = result;
  return true;
}

bool ringlet::gpu::isCarriedImage(Value tile) {
  return getAheadInit(tile) != nullptr;
}

rtile::LoadOp ringlet::gpu::getImageLoad(Value tile) {
  while (Value init = getAheadInit(tile))
    tile = init;
  return tile.getDefiningOp<rtile::LoadOp>();
}

bool ringlet::gpu::isLoadedImage(OpOperand &operand) {
  return isa<rtile::DotOp>(operand.getOwner()) && getImageLoad(operand.get());
}

bool ringlet::gpu::isAllOfMatrices(rtile::FuncOp func) {
  bool some = false, all = true;
  func.walk([&](rtile::DotOp dot) {
    some = true;
    all &= getBlockProduct(dot).isOfMatrices();
  });
  return some && all;
}

/// True if `tile` lies in shared memory alone, as products read it: no warp
/// holds rows of it.
static bool isImageAlone(Value tile) {
  return getImageLoad(tile) && !tile.use_empty() &&
         llvm::all_of(tile.getUses(), [](OpOperand &use) {
           return isLoadedImage(use) || isCarriedOn(use);
         });
}

int64_t ringlet::gpu::getHeight(rtile::FuncOp func) {
  int64_t heights[2] = {0, 0};
  func.walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (RankedTensorType tile = getTile(result);
          tile && !isImageAlone(result)) {
        int64_t &height = heights[tile.getRank() - 1];
        height = std::max(height, tile.getDimSize(0));
      }
  });
  return heights[1] ? heights[1] : heights[0];
}

int64_t ringlet::gpu::getSumColumns(rtile::FuncOp func) {
  auto widthOf = [](Value value) -> int64_t {
    RankedTensorType tile = getTile(value);
    return tile && tile.getRank() == 2 && !isCarriedImage(value)
               ? tile.getDimSize(1)
               : 0;
  };
  int64_t columns = 0;
  func.walk([&](rtile::DotOp dot) {
    int64_t held = widthOf(dot);
    if (auto loop = dyn_cast<scf::ForOp>(dot->getParentOp())) {
      if (dot.getInit())
        held = 0;
      for (Value carried : loop.getRegionIterArgs())
        held += widthOf(carried);
    }
    columns = std::max(columns, held);
  });
  return columns;
}

/// Columns that a thread reads from memory one by one; of more, each would be
/// read once for every eight rows.
static constexpr int64_t mostColumnsRead = 64;

bool ringlet::gpu::isReadAlongColumns(Value tile) {
  auto load = tile.getDefiningOp<rtile::LoadOp>();
  if (!load || load.getType().getRank() != 1 ||
      !load.getType().getElementType().isF32() ||
      load.getType().getDimSize(0) > mostColumnsRead)
    return false;
  return llvm::all_of(load->getUsers(), [](Operation *user) {
    auto broadcast = dyn_cast<rtile::BroadcastOp>(user);
    return broadcast && broadcast.getColumns();
  });
}

bool ringlet::gpu::needsImage(OpOperand &operand) {
  Operation *user = operand.getOwner();
  if (auto broadcast = dyn_cast<rtile::BroadcastOp>(user))
    return broadcast.getColumns() && !isReadAlongColumns(operand.get());
  if (!isa<rtile::DotOp>(user) || operand.getOperandNumber() > 1)
    return false;
  return isLoadedImage(operand) ||
         getBlockProduct(user).takesThroughMemory(operand.getOperandNumber());
}

int64_t ringlet::gpu::getShared(Operation *op, unsigned index) {
  auto offsets = op->getAttrOfType<DenseI64ArrayAttr>(sharedAttr);
  return offsets && index < offsets.size() ? offsets[index] : -1;
}
