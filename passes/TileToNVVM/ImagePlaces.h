//===- ImagePlaces.h - Where a lane reads an image -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILETONVVM_IMAGEPLACES_H
#define RINGLET_PASSES_TILETONVVM_IMAGEPLACES_H

#include "passes/TileToNVVM/Product.h"

namespace ringlet {
namespace gpu {

/// A lane's place in an image: matrices are read from it at places that lie
/// at one distance from each other for all lanes.
class ImagePlaces {
  using Value = mlir::Value;

public:
  /// `turn` is `row` mod 8; `inPiece` bytes behind the beginning of a piece, or
  /// none if null.
  ImagePlaces(GPUBuilder &builder, Value shared, const ImageOperand &operand,
              Value row, Value turn, Value piece, Value inPiece = nullptr);

  /// So many rows below, a multiple of 8, and so many pieces along the row: an
  /// even number, unless the lane's own is.
  Value at(int64_t rows, int64_t pieces) const;

private:
  GPUBuilder &b;
  const Image &image;
  Value lane;
};

} // namespace gpu
} // namespace ringlet

#endif // RINGLET_PASSES_TILETONVVM_IMAGEPLACES_H
