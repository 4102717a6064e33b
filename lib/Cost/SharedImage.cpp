//===- SharedImage.cpp - Tiles in shared memory -----------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Cost/SharedImage.h"

using namespace ringlet::cost;

/// Registers that addresses of long swizzled rows take more, of three operands
/// and a copy (measured with ptxas of CUDA 13.0).
static constexpr double kAddressRegisters = 24;

static int64_t roundUp16(int64_t a) { return (a + 15) / 16 * 16; }

SharedImage SharedImage::of(int64_t rows, int64_t columns,
                            int64_t elementBytes) {
  rows = roundUp16(rows);
  columns = roundUp16(columns);
  int64_t pitch = columns * elementBytes + padding;
  return {rows, columns, pitch, rows * pitch};
}

SharedImage SharedImage::swizzle() const {
  return {rows, columns, rowBytes(), rows * rowBytes(), true};
}

bool ringlet::cost::isWorthSwizzling(const SharedImage &padded,
                                     double sumRegisters,
                                     int64_t mostSumRegisters) {
  int64_t bytes = padded.rowBytes();
  if (bytes % SharedImage::rowOfBanks != 0)
    return false;
  return bytes <= 2 * SharedImage::rowOfBanks ||
         sumRegisters + kAddressRegisters <=
             static_cast<double>(mostSumRegisters);
}
