//===- ImagePlaces.cpp - Where a lane reads an image -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/ImagePlaces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

ImagePlaces::ImagePlaces(GPUBuilder &builder, Value shared,
                         const ImageOperand &operand, Value row, Value turn,
                         Value piece, Value inPiece)
    : b(builder), image(operand.image) {
  if (image.swizzled)
    piece = arith::XOrIOp::create(b, piece, turn);
  Value alongRow = b.mul(piece, Image::pieceBytes);
  if (inPiece)
    alongRow = b.add(alongRow, inPiece);
  Value bytes = b.toI64(b.add(b.mul(row, image.pitch), alongRow));
  lane = b.at(b.at(shared, operand.offset), bytes);
}

Value ImagePlaces::at(int64_t rows, int64_t pieces) const {
  int64_t bytes = pieces * Image::pieceBytes;
  int64_t turned = image.swizzled ? bytes % Image::rowOfBanks : 0;
  Value place = turned ? b.flipBits(lane, turned) : lane;
  return b.at(place, bytes - turned + rows * image.pitch);
}
