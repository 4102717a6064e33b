//===- PartsProduct.cpp - Products of f32 by mma.sync -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Factors of f32 are rounded to what matrix instructions multiply, or split
// into a high and a low part of that, in registers (R7). Of parts, three
// products are made, the small ones first.
//
// Eight numbers along the depth are counted in two ways. Lane t of a row of
// four has numbers t and t + 4, which is what ldmatrix brings it of an image
// with the depth along its rows: it moves words of 32 bits as it does two
// neighbours of 16. Or it has 2 t and 2 t + 1, which are the columns of sums
// that it holds; then, and where the depth goes down the rows of the image,
// which cannot be transposed by ldmatrix in words of 32 bits, it loads single
// words. An instruction of 16 numbers of 16 bits takes two such eights; its
// pairs are a lane's first and second number of each.
//
// Matrix instructions cut off what they add below the last digit of the sum,
// always towards 0. So they add up few numbers, from 0, and additions of f32 do
// the rest.
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/ImagePlaces.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

namespace {

struct PartsProduct : BlockProduct {
  StringRef getName() const override { return "mma_parts"; }
  bool takes(rtile::DotOp op, const arch::GPUArch &arch) const override {
    return arch.hasMmaOfParts(op.getProductPrecision());
  }
  bool isOfMatrices() const override { return true; }
  bool takesThroughMemory(unsigned operand) const override {
    return operand == 1;
  }
  Fragment emit(const ThreadPart &part, const arch::GPUArch &arch,
                rtile::DotOp op, Value shared, const ImageOperand &lhs,
                const ImageOperand &rhs, Fragment sums) const override;
};

/// Depth of what is summed by instructions, and of what one row of four lanes
/// holds of it at a time.
constexpr int64_t stepDepth = 16, eight = 8;
/// Words of a left operand that are held at once where sums go on, of 16 rows.
constexpr int64_t mostLeftWords = 32;
/// Steps that instructions add up: as many as errors of the parts hide.
constexpr int64_t steps = 4, stepsOfExact = 1;
/// Blocks of columns whose sums are made at once.
constexpr int64_t blocksAtOnce = 2;

/// An operand of one step.
struct Words {
  SmallVector<Value> high, low;
};

/// The code of one product.
class PartsCode {
public:
  PartsCode(const ThreadPart &part, rtile::DotOp op, Value shared,
            const ImageOperand &lhs, const ImageOperand &rhs)
      : part(part), b(part.b), op(op), precision(op.getProductPrecision()),
        isOf16Bits(precision == Precision::bf16x3), shared(shared), lhs(lhs),
        rhs(rhs), rowBlocks(part.layout.rowBlocks(lhs.tile.getDimSize(0))),
        blocks(Fragments::columnBlocks(getTile(op).getDimSize(1))) {
    rowOfMatrix = b.remUnsigned(part.lane, 8);
    Value matrix = b.divUnsigned(part.lane, 8);
    low = b.remUnsigned(matrix, 2);
    high = b.divUnsigned(matrix, 2);
  }

  void run(MutableArrayRef<Value> sums);

private:
  /// Sums of 16 rows and 8 columns.
  using Sums = SmallVector<Value, 4>;

  bool isLeftLoaded() const { return lhs.offset >= 0; }
  void placeLeft();
  void placeRight();
  int64_t countStepsOfSum() const {
    return precision == Precision::tf32x3 ? stepsOfExact : steps;
  }
  int64_t countStepsAtOnce();
  Words loadLeft(int64_t rowBlock, int64_t step);
  void addLeft(int64_t rowBlock, int64_t number, SmallVector<Value> &values);
  /// Of `count` blocks of columns from `block` on.
  SmallVector<Words> loadRight(int64_t step, int64_t block, int64_t count);
  /// What is added to sums of row blocks side by side, of some steps.
  SmallVector<Sums> multiplySteps(ArrayRef<SmallVector<Words>> lefts,
                                  int64_t first, int64_t block, int64_t count);
  Words split(ArrayRef<Value> values);
  Words splitSingly(ArrayRef<Value> values);
  Words splitInPairs(ArrayRef<Value> values);
  void multiply(ArrayRef<Words> lefts, ArrayRef<Words> rights,
                MutableArrayRef<Sums> sums);
  void add(Sums &to, const Sums &from);

  const ThreadPart &part;
  GPUBuilder &b;
  rtile::DotOp op;
  Precision precision;
  bool isOf16Bits;
  Value shared;
  const ImageOperand &lhs, &rhs;
  int64_t rowBlocks, blocks;
  /// Lane l gives the address of row l mod 8 of matrix l / 8, which is
  /// 2 `high` + `low`.
  Value rowOfMatrix, low, high;
  SmallVector<ImagePlaces> leftPlaces;
  /// Where matrices are, or a lane's first and second number of eight.
  SmallVector<ImagePlaces> rightPlaces;
};

} // namespace

const BlockProduct &ringlet::gpu::getPartsProduct() {
  static const PartsProduct product;
  return product;
}

Fragment PartsProduct::emit(const ThreadPart &part, const arch::GPUArch &,
                            rtile::DotOp op, Value shared,
                            const ImageOperand &lhs, const ImageOperand &rhs,
                            Fragment sums) const {
  PartsCode(part, op, shared, lhs, rhs).run(sums);
  return sums;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// What goes on with sums adds to them rarely, as many steps at once as there
/// are registers for: each addition is rounded to the last digit of all that
/// was summed before.
int64_t PartsCode::countStepsAtOnce() {
  int64_t ofSum = countStepsOfSum();
  if (!op.getInit())
    return ofSum;
  int64_t words = isOf16Bits ? 4 : 8;
  words *= isSplit(precision) ? 2 : 1;
  return std::max(ofSum, mostLeftWords / words);
}

void PartsCode::run(MutableArrayRef<Value> sums) {
  if (isLeftLoaded())
    placeLeft();
  placeRight();
  int64_t all = lhs.image.columns / stepDepth, atOnce = countStepsAtOnce();
  for (int64_t first = 0; first < all; first += atOnce) {
    SmallVector<SmallVector<Words>> lefts;
    for (int64_t step = first; step < std::min(all, first + atOnce); ++step) {
      lefts.emplace_back();
      for (int64_t rowBlock = 0; rowBlock < rowBlocks; ++rowBlock)
        lefts.back().push_back(loadLeft(rowBlock, step));
    }
    for (int64_t block = 0; block < blocks; block += blocksAtOnce) {
      int64_t count = std::min(blocksAtOnce, blocks - block);
      SmallVector<Sums> own = multiplySteps(lefts, first, block, count);
      for (auto [number, from] : llvm::enumerate(own)) {
        auto place = static_cast<int64_t>(number);
        int64_t begin =
            (place % rowBlocks) * blocks + block + place / rowBlocks;
        MutableArrayRef<Value> held = sums.slice(4 * begin, 4);
        Sums to(held);
        if (first == 0 && !op.getInit())
          to = from;
        else
          add(to, from);
        llvm::copy(to, held.begin());
      }
    }
  }
}

SmallVector<PartsCode::Sums>
PartsCode::multiplySteps(ArrayRef<SmallVector<Words>> lefts, int64_t first,
                         int64_t block, int64_t count) {
  Sums zero(4, b.real(b.getF32Type(), 0.0));
  SmallVector<Sums> all;
  int64_t end = lefts.size(), ofSum = countStepsOfSum();
  for (int64_t begin = 0; begin < end; begin += ofSum) {
    SmallVector<Sums> sums(rowBlocks * count, zero);
    for (int64_t step = begin; step < std::min(end, begin + ofSum); ++step)
      multiply(lefts[step], loadRight(first + step, block, count), sums);
    if (all.empty())
      all = sums;
    else
      for (auto [to, from] : llvm::zip_equal(all, sums))
        add(to, from);
  }
  return all;
}

void PartsCode::add(Sums &to, const Sums &from) {
  for (auto [sum, more] : llvm::zip_equal(to, from))
    sum = arith::AddFOp::create(b, sum, more);
}

/// Products that do not wait for each other stand side by side.
void PartsCode::multiply(ArrayRef<Words> lefts, ArrayRef<Words> rights,
                         MutableArrayRef<Sums> sums) {
  Type element = isOf16Bits ? Type(b.getBF16Type()) : Type(b.getF32Type());
  int64_t depth = isOf16Bits ? stepDepth : eight;
  auto multiplyAll = [&](SmallVector<Value> Words::*left,
                         SmallVector<Value> Words::*right) {
    for (int64_t number = 0; number < stepDepth / depth; ++number)
      for (auto [place, sum] : llvm::enumerate(sums)) {
        ArrayRef<Value> a = lefts[place % lefts.size()].*left;
        ArrayRef<Value> c = rights[place / lefts.size()].*right;
        b.mma(element, depth, sum, a.slice(4 * number, 4),
              c.slice(2 * number, 2));
      }
  };
  if (isSplit(precision)) {
    multiplyAll(&Words::low, &Words::high);
    multiplyAll(&Words::high, &Words::low);
  }
  multiplyAll(&Words::high, &Words::high);
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

Words PartsCode::split(ArrayRef<Value> values) {
  return isOf16Bits ? splitInPairs(values) : splitSingly(values);
}

/// The instruction takes the leading digits of what it is given: low parts are
/// cut off by it. High ones are rounded by two instructions, where the one that
/// rounds becomes a sequence. That makes a number of a NaN of certain bits, but
/// then the low part is a NaN.
Words PartsCode::splitSingly(ArrayRef<Value> values) {
  Words words;
  for (Value value : values) {
    if (!isSplit(precision)) {
      words.high.push_back(b.roundToTF32(value));
      continue;
    }
    Value bits = b.bitcast(b.getI32Type(), value);
    Value up = b.add(bits, b.i32(0x1000));
    Value high = arith::AndIOp::create(b, up, b.i32(int32_t(0xffffe000)));
    Value low =
        arith::SubFOp::create(b, value, b.bitcast(b.getF32Type(), high));
    words.high.push_back(high);
    words.low.push_back(b.bitcast(b.getI32Type(), low));
  }
  return words;
}

/// Numbers of two eights, a first and a second number of an eight in one word.
Words PartsCode::splitInPairs(ArrayRef<Value> values) {
  auto getF32 = [&](Value word) { return b.bitcast(b.getF32Type(), word); };
  Type element = b.getBF16Type();
  Words words;
  size_t half = values.size() / 2;
  for (ArrayRef<Value> numbers :
       {values.take_front(half), values.drop_front(half)})
    for (size_t i = 0; i < half / 2; ++i) {
      Value first = numbers[i], second = numbers[i + half / 2];
      Value high = b.roundPair(element, first, second);
      words.high.push_back(high);
      Value firstHigh = getF32(arith::ShLIOp::create(b, high, b.i32(16)));
      Value secondHigh =
          getF32(arith::AndIOp::create(b, high, b.i32(int32_t(0xffff0000))));
      Value firstLow = arith::SubFOp::create(b, first, firstHigh);
      Value secondLow = arith::SubFOp::create(b, second, secondHigh);
      words.low.push_back(b.roundPair(element, firstLow, secondLow));
    }
  return words;
}

//===----------------------------------------------------------------------===//
// Left operand
//===----------------------------------------------------------------------===//

void PartsCode::placeLeft() {
  for (int64_t rowBlock = 0; rowBlock < rowBlocks; ++rowBlock) {
    Value first =
        b.add(b.mul(part.warp, 16), rowBlock * part.layout.rowsAtOnce());
    if ((rowBlock + 1) * part.layout.rowsAtOnce() > lhs.image.rows)
      first = b.min(first, b.i32(lhs.image.rows - 16));
    // Matrices go along the rows first.
    Value inRows = b.add(rowOfMatrix, b.mul(low, 8));
    leftPlaces.emplace_back(b, shared, lhs, b.add(first, inRows), rowOfMatrix,
                            high);
  }
}

Words PartsCode::loadLeft(int64_t rowBlock, int64_t step) {
  SmallVector<Value> values;
  for (int64_t half = 0; half < stepDepth / eight; ++half)
    addLeft(rowBlock, step * (stepDepth / eight) + half, values);
  return split(values);
}

/// Two rows of a lane's first number of an eight, and of its second one.
void PartsCode::addLeft(int64_t rowBlock, int64_t number,
                        SmallVector<Value> &values) {
  if (isLeftLoaded()) {
    for (Value word : b.loadMatrices(leftPlaces[rowBlock].at(0, 2 * number),
                                     /*transposed=*/false))
      values.push_back(b.bitcast(b.getF32Type(), word));
    return;
  }
  int64_t width = lhs.tile.getDimSize(1);
  int64_t leftBlocks = Fragments::columnBlocks(width);
  Value zero = b.real(b.getF32Type(), 0.0);
  for (int64_t which = 0; which < 2; ++which) {
    Value inside =
        number < leftBlocks ? part.isInside(width, number, which) : Value();
    for (int64_t half = 0; half < 2; ++half) {
      Value value = zero;
      if (number < leftBlocks)
        value = lhs.elements[(rowBlock * leftBlocks + number) * 4 + half * 2 +
                             which];
      values.push_back(inside ? b.select(inside, value, zero) : value);
    }
  }
}

//===----------------------------------------------------------------------===//
// Right operand
//===----------------------------------------------------------------------===//

void PartsCode::placeRight() {
  bool isTransposed = op.getTransposed();
  if (isTransposed && isLeftLoaded()) {
    // Matrices go along the depth first.
    Value row = b.add(rowOfMatrix, b.mul(high, 8));
    rightPlaces.emplace_back(b, shared, rhs, row, rowOfMatrix, low);
    return;
  }
  constexpr int64_t bytes = 4, inPiece = Image::pieceBytes / bytes;
  Value column = b.divUnsigned(part.lane, 4);
  Value inRow = b.remUnsigned(part.lane, 4);
  for (int64_t which = 0; which < 2; ++which) {
    Value deep = isLeftLoaded() ? b.add(inRow, 4 * which)
                                : b.add(b.mul(inRow, 2), which);
    Value row = isTransposed ? column : deep;
    Value along = isTransposed ? deep : column;
    Value piece = b.divUnsigned(along, inPiece);
    Value behind = b.mul(b.remUnsigned(along, inPiece), bytes);
    rightPlaces.emplace_back(b, shared, rhs, row, row, piece, behind);
  }
}

SmallVector<Words> PartsCode::loadRight(int64_t step, int64_t block,
                                        int64_t count) {
  SmallVector<SmallVector<Value>> values(count);
  Type f32 = b.getF32Type();
  for (int64_t half = 0; half < stepDepth / eight; ++half) {
    int64_t number = step * (stepDepth / eight) + half;
    if (rightPlaces.size() == 1) {
      SmallVector<Value> words = b.loadMatrices(
          rightPlaces[0].at(8 * block, 2 * number), /*transposed=*/false);
      for (int64_t i = 0; i < 2 * count; ++i)
        values[i / 2].push_back(b.bitcast(f32, words[i]));
      continue;
    }
    for (int64_t i = 0; i < count; ++i)
      for (const ImagePlaces &places : rightPlaces) {
        Value place = op.getTransposed()
                          ? places.at(8 * (block + i), 2 * number)
                          : places.at(eight * number, 2 * (block + i));
        values[i].push_back(b.load(f32, place, 4));
      }
  }
  SmallVector<Words> words;
  for (ArrayRef<Value> each : values)
    words.push_back(split(each));
  return words;
}
