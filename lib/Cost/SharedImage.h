//===- SharedImage.h - Tiles in shared memory -------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COST_SHAREDIMAGE_H
#define RINGLET_LIB_COST_SHAREDIMAGE_H

#include <cstdint>

namespace ringlet::cost {

/// A tile in the shared memory of a GPU. One of two axes is filled with zeros
/// to multiples of 16 rows and columns. Eight neighbouring rows begin in
/// different banks: they are padded, or swizzled.
struct SharedImage {
  int64_t rows, columns, pitch, bytes;
  /// Rows lie side by side, and piece p of 16 bytes of row r at place p ^ (r
  /// mod 8). What a copy writes begins with a row of banks, as what it reads
  /// does with a sector.
  bool swizzled = false;

  /// Bytes of which a swizzled image begins with a multiple.
  static constexpr int64_t rowOfBanks = 128;
  /// Bytes between the rows of one that is not.
  static constexpr int64_t padding = 16;
  /// Bytes of a piece, which moves as one and keeps its order.
  static constexpr int64_t pieceBytes = 16;
  /// Rows after which places repeat.
  static constexpr int64_t swizzledRows = 8;

  /// Of a padded tile of two axes.
  static SharedImage of(int64_t rows, int64_t columns, int64_t elementBytes);

  int64_t rowBytes() const { return pitch - (swizzled ? 0 : padding); }
  /// The same tile with its rows side by side.
  SharedImage swizzle() const;
};

/// True if a tile that asynchronous copies bring for matrix instructions is to
/// be swizzled: its rows are whole rows of banks. Of more than two of them only
/// if registers are left beside those of sums, `sumRegisters` of a thread: a
/// padded row has one address, a swizzled one has four.
bool isWorthSwizzling(const SharedImage &padded, double sumRegisters,
                      int64_t mostSumRegisters);

} // namespace ringlet::cost

#endif // RINGLET_LIB_COST_SHAREDIMAGE_H
