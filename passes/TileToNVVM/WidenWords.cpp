//===- WidenWords.cpp - Words of 8-bit numbers become wider -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/WidenWords.h"

#include "passes/TileCode/Widen.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

namespace {
/// Two numbers of 8 bits in a word become two of 16.
struct HalvesBuilder {
  GPUBuilder &b;
  Type element;
  /// How far the second number of a pair is behind the first.
  int32_t second;

  Value both(Value word, uint32_t mask) {
    return arith::AndIOp::create(b, word, b.i32(static_cast<int32_t>(mask)));
  }
  Value either(Value word, Value other) {
    return arith::OrIOp::create(b, word, other);
  }
  Value toFloats(Value word) {
    return LLVM::BitcastOp::create(b, b.getVector(element, 2), word);
  }
  Value constant(double number) {
    return b.real(b.getVector(element, 2), number);
  }
  /// Bytes `selector` of `low` and, from 4 on, of `high`.
  Value permute(Value low, int32_t high, int32_t selector) {
    return b.permuteBytes(low, b.i32(high), selector);
  }

  /// Two bytes of the word, each in the byte of its number that `at` (0 or 1)
  /// is, beside those bytes of `others`, all alike.
  Value spread(Value word, bool isUpper, int32_t at, int32_t others = 0) {
    int32_t first = isUpper ? (second == 1 ? 2 : 1) : 0;
    int32_t numbers[2] = {first, first + second};
    int32_t selector = 0;
    for (int32_t number : {1, 0})
      selector = selector << 8 |
                 (at ? numbers[number] << 4 | 4 : 4 << 4 | numbers[number]);
    return permute(word, others, selector);
  }

  /// Exponent and digits move into their place and are then a power of two too
  /// small. NaN gets all bits of the exponent.
  Value fromE4M3(Value word, bool isUpper) {
    bool isF16 = element.isF16();
    Value high = spread(word, isUpper, 1);
    Value bits =
        arith::ShRUIOp::create(b, both(high, 0x7f007f00), b.i32(isF16 ? 1 : 4));
    Value above = b.add(bits, b.i32(isF16 ? 0x00800080 : 0x00100010));
    Value isNaN = both(above, isF16 ? 0x40004000 : 0x08000800);
    if (!isF16) {
      Value upper = arith::ShLIOp::create(b, isNaN, b.i32(4));
      Value lower = arith::ShRUIOp::create(b, isNaN, b.i32(4));
      isNaN = b.sub(upper, lower);
    }
    bits = either(bits, isNaN);
    bits = either(bits, both(high, 0x80008000));
    return b.toWord(arith::MulFOp::create(b, toFloats(bits),
                                          constant(isF16 ? 0x1p8 : 0x1p120)));
  }

  /// By an instruction that makes f16. As f32 these are what bf16 has, too.
  Value convertE4M3(Value word, bool isUpper) {
    if (second == 2)
      word = permute(word, 0, 0x3120);
    if (isUpper)
      word = arith::ShRUIOp::create(b, word, b.i32(16));
    Value wide = b.widenE4M3(arith::TruncIOp::create(b, b.getI16Type(), word));
    if (element.isF16())
      return b.toWord(wide);
    Value floats = b.convertFloat(b.getVector(b.getF32Type(), 2), wide);
    return b.toWord(b.convertFloat(b.getVector(element, 2), floats));
  }

  /// The digits of a float of known exponent, less what they are too large by.
  Value fromI8(Value word, bool isUpper) {
    if (element.isF16()) {
      Value unsignedBytes =
          arith::XOrIOp::create(b, word, b.i32(int32_t(0x80808080u)));
      Value bits = spread(unsignedBytes, isUpper, 0, 0x64646464);
      return b.toWord(
          arith::SubFOp::create(b, toFloats(bits), constant(1024 + 128)));
    }
    // Each mask is all that an instruction takes besides.
    Value digits = spread(word, isUpper, 0, 0x43434343);
    Value bits = both(digits, 0xff7fff7f);
    Value less = both(digits, 0xff80ff80);
    Value number = toFloats(bits);
    return b.toWord(arith::SubFOp::create(b, number, toFloats(less)));
  }
};
} // namespace

SmallVector<Value> ringlet::gpu::widenWord(GPUBuilder &b,
                                           const arch::GPUArch &arch,
                                           Type stored, Type element,
                                           Value word, Halves pairs) {
  bool isE4M3 = isa<Float8E4M3FNType>(stored);
  SmallVector<Value> words;
  if (element.isF32()) {
    assert(pairs == Halves::neighbours && "each word is one number");
    for (int64_t byte = 0; byte < 4; ++byte) {
      Value moved = arith::ShRUIOp::create(b, word, b.i32(8 * byte));
      Value bits = arith::TruncIOp::create(b, b.getI8Type(), moved);
      Value wide = code::widen(b, stored, bits, element);
      words.push_back(b.bitcast(b.getI32Type(), wide));
    }
    return words;
  }
  HalvesBuilder halves{b, element, pairs == Halves::neighbours ? 1 : 2};
  for (bool isUpper : {false, true})
    words.push_back(!isE4M3        ? halves.fromI8(word, isUpper)
                    : arch.hasE4M3 ? halves.convertE4M3(word, isUpper)
                                   : halves.fromE4M3(word, isUpper));
  return words;
}
