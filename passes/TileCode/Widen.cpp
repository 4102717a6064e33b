//===- Widen.cpp - Elements of 8 bits become floats -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileCode/Widen.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::code;

/// The bits of f8E4M3FN are those of an f16 that is 2^8 times as small, one
/// exponent bit aside; but the greatest is no number there.
static Value widenE4M3(CodeBuilder &b, Value bytes, Type element) {
  int64_t lanes = CodeBuilder::lanesOf(bytes);
  Type i16 = b.getVector(b.getI16Type(), lanes);
  Value wide = arith::ExtUIOp::create(b, i16, bytes);
  Value magnitude = arith::AndIOp::create(b, wide, b.integer(i16, 0x7f));
  Value isNaN =
      b.compare(arith::CmpIPredicate::eq, magnitude, b.integer(i16, 0x7f));
  Value bits = arith::ShLIOp::create(b, magnitude, b.integer(i16, 7));
  bits = b.select(isNaN, b.integer(i16, 0x7e00), bits);
  Value sign = arith::AndIOp::create(b, wide, b.integer(i16, 0x80));
  sign = arith::ShLIOp::create(b, sign, b.integer(i16, 8));
  bits = arith::OrIOp::create(b, bits, sign);
  Value half = b.bitcast(b.getF16Type(), bits);
  Type f32 = b.getVector(b.getF32Type(), lanes);
  Value value =
      arith::MulFOp::create(b, b.convertFloat(f32, half), b.real(f32, 256.0));
  return element.isF32() ? value
                         : b.convertFloat(b.getVector(element, lanes), value);
}

Value code::widen(CodeBuilder &b, Type stored, Value bytes, Type element) {
  if (isa<Float8E4M3FNType>(stored))
    return widenE4M3(b, bytes, element);
  int64_t lanes = CodeBuilder::lanesOf(bytes);
  Value wide =
      arith::ExtSIOp::create(b, b.getVector(b.getI32Type(), lanes), bytes);
  Value value =
      arith::SIToFPOp::create(b, b.getVector(b.getF32Type(), lanes), wide);
  return element.isF32() ? value
                         : b.convertFloat(b.getVector(element, lanes), value);
}
