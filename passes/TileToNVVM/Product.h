//===- Product.h - Ways to multiply tiles on a GPU -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A way to multiply says which operands it takes and from where, and makes the
// code. Passes ask it instead of its name; a new one is a class and a line in
// the list of its kind.
//
// What threads of a block make at once (BlockProduct) has operands in images in
// shared memory, or the left one in registers. What a group of warps starts
// and waits for later (AsyncProduct) has them in slots of channels. A product
// whose sums do not lie in the registers of those threads, as those of tcgen05,
// is an AsyncProduct: `start` gives what names the sums, `finish` brings them.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETONVVM_PRODUCT_H
#define RINGLET_PASSES_TILETONVVM_PRODUCT_H

#include "passes/TileToNVVM/AsyncBuilder.h"
#include "passes/TileToNVVM/ThreadPart.h"

namespace ringlet {
namespace gpu {

/// An operand of a product of a block: an image in shared memory, or registers.
struct ImageOperand {
  mlir::RankedTensorType tile;
  /// How it lies in shared memory, and where; -1 if it is in registers alone.
  Image image;
  int64_t offset;
  /// What the thread holds of it.
  llvm::ArrayRef<mlir::Value> elements;
  /// The elements of 8 bits that the image has instead; null if it has those of
  /// the tile.
  mlir::Type stored;
};

/// A product that the threads of a block make where it stands.
class BlockProduct {
public:
  virtual ~BlockProduct() = default;

  /// The word of `rtile.dot`'s decision.
  virtual llvm::StringRef getName() const = 0;
  virtual bool takes(rtile::DotOp op, const arch::GPUArch &arch) const = 0;
  /// True if it is of matrix instructions: a warp makes whole rows of sums, and
  /// several warps read the same rows of images at once.
  virtual bool isOfMatrices() const = 0;
  /// True if an operand (0 or 1) that was computed goes through shared memory.
  virtual bool takesThroughMemory(unsigned operand) const = 0;
  /// True if it can widen a right operand of `element` itself that lies in
  /// shared memory in 8 bits; threads then hold 4 columns side by side.
  virtual bool widens(mlir::Type, const arch::GPUArch &) const { return false; }

  /// Adds the product to `sums`. `shared` is where the block's memory begins.
  virtual Fragment emit(const ThreadPart &part, const arch::GPUArch &arch,
                        rtile::DotOp op, mlir::Value shared,
                        const ImageOperand &lhs, const ImageOperand &rhs,
                        Fragment sums) const = 0;
};

/// The one that rtile-gpu-choose-dot writes down: the first in the list that
/// takes the operands. The last one takes any.
const BlockProduct &chooseProduct(rtile::DotOp op, const arch::GPUArch &arch);
/// The one that was written down; before that, the last one.
const BlockProduct &getBlockProduct(mlir::Operation *dot);

/// What a product that is started is made of.
struct AsyncOperands {
  rtile::StartDotOp op;
  /// The sums to add to; none if it begins at zero.
  llvm::ArrayRef<mlir::Value> sums;
  /// What `describe` gave for operands that lie in slots; a left one that does
  /// not lies in registers of 32 bits.
  mlir::Value left, right;
  llvm::ArrayRef<mlir::Value> leftWords;
};

/// A product that groups of warps start, and wait for later. Those of a role
/// end in the order of their starts.
class AsyncProduct {
public:
  virtual ~AsyncProduct() = default;

  /// Fails, with an error at `op`, if it is none for that many warps.
  virtual mlir::LogicalResult check(rtile::StartDotOp op,
                                    int64_t warps) const = 0;

  /// What names operand 0 or 1 of `op` in a slot. `group` is the number of the
  /// thread's group of four warps.
  virtual mlir::Value describe(GPUBuilder &builder, rtile::StartDotOp op,
                               unsigned operand, Place slot,
                               mlir::Value group) const = 0;
  /// Gives the registers that the sums will be in.
  virtual Fragment start(const ThreadPart &part,
                         const AsyncOperands &operands) const = 0;
  /// Waits until at most `later` products of the role are under way; gives the
  /// sums, which are complete then.
  virtual Fragment finish(AsyncBuilder &async, int64_t later,
                          llvm::ArrayRef<mlir::Value> sums) const = 0;
  /// The sums of a product that is complete because a later one has been waited
  /// for: what uses them stays behind this place.
  virtual Fragment hold(AsyncBuilder &async,
                        llvm::ArrayRef<mlir::Value> sums) const = 0;
};

/// That of kernels with roles: there is one, and all architectures that have
/// roles have it. Of two, a pass would choose, as it does for a block.
const AsyncProduct &getAsyncProduct();

// The ways there are (SimtProduct, MmaProduct, PartsProduct and
// WgmmaProduct.cpp).
const BlockProduct &getSimtProduct();
const BlockProduct &getMmaProduct();
const BlockProduct &getPartsProduct();
const AsyncProduct &getWgmmaProduct();

} // namespace gpu
} // namespace ringlet

#endif // RINGLET_PASSES_TILETONVVM_PRODUCT_H
