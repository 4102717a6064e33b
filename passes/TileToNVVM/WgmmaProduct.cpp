//===- WgmmaProduct.cpp - Products by wgmma -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A group of four warps multiplies 64 rows at a time. PTX ISA:
// "wgmma.mma_async", "Matrix descriptor".
//
// A product is one statement of inline assembly instead of the operations that
// the NVVM dialect has for its instructions: ptxas runs the instructions of a
// product one after the other unless their sums stay in the same registers from
// the fence to the commit, and LLVM puts copies of registers between
// statements. Its descriptors lie in registers that live in the statement
// alone, an addition before each instruction.
//
//===----------------------------------------------------------------------===//

#include "passes/TileToNVVM/AsmBlock.h"
#include "passes/TileToNVVM/Channels.h"
#include "passes/TileToNVVM/Product.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::gpu;

/// Rows of one instruction, its depth, and what its columns are a multiple of.
static constexpr int64_t productRows = 64, productDepth = 16,
                         productColumns = 8, mostProductColumns = 256;

namespace {

struct WgmmaProduct : AsyncProduct {
  LogicalResult check(rtile::StartDotOp op, int64_t warps) const override;
  Value describe(GPUBuilder &b, rtile::StartDotOp op, unsigned operand,
                 Place slot, Value group) const override;
  Fragment start(const ThreadPart &part,
                 const AsyncOperands &operands) const override;
  Fragment finish(AsyncBuilder &async, int64_t later,
                  ArrayRef<Value> sums) const override;
  Fragment hold(AsyncBuilder &async, ArrayRef<Value> sums) const override;
};

} // namespace

const AsyncProduct &ringlet::gpu::getWgmmaProduct() {
  static const WgmmaProduct product;
  return product;
}

LogicalResult WgmmaProduct::check(rtile::StartDotOp op, int64_t warps) const {
  RankedTensorType lhs = getTile(op.getLhs()), rhs = getTile(op.getRhs());
  int64_t height = lhs.getDimSize(0),
          width = op.getResult().getType().getTile().getDimSize(1);
  if (warps % 4 != 0 || height % (16 * warps) != 0)
    return op.emitOpError("expected products of a multiple of ")
           << productRows << " rows for every four warps, found " << height
           << " rows for " << warps << " warps";
  if (width % productColumns != 0 || width > mostProductColumns)
    return op.emitOpError("expected products of a multiple of ")
           << productColumns << " columns, at most " << mostProductColumns
           << ", found " << width;
  int64_t depth = lhs.getDimSize(1);
  if (!op.getTransposed() && depth % productDepth != 0)
    return op.emitOpError("expected a depth that is a multiple of ")
           << productDepth << ", found " << depth;
  if (!isa_and_nonnull<rtile::SwizzledAttr>(rhs.getEncoding()))
    return op.emitOpError("expected a right operand in a slot, found ") << rhs;
  for (Value operand : {op.getLhs(), op.getRhs()})
    if (isa<rtile::SwizzledAttr>(getTile(operand).getEncoding()) &&
        !operand.getDefiningOp<rtile::ReadOp>())
      return op.emitOpError("expected operands in slots to come from "
                            "rtile.read");
  return success();
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

// High word of a descriptor: swizzle of 128 bytes, 1024 bytes from one group of
// eight rows to the next.
static constexpr StringLiteral highWord = "0x40000040";
// Depth of one instruction, in 16-byte units along a row and, in rows, along a
// column.
static constexpr int64_t stepUnits = 2, stepRowUnits = 128;
static constexpr int64_t panelSteps = 4;
// 16-byte units of a row of a panel.
static constexpr int64_t rowUnits = 8;

/// Low word of the descriptor of a tile at `place` that is multiplied along its
/// rows or along its columns. The high word is the same for all.
static Value makeDescriptor(GPUBuilder &b, Place place, int64_t rows,
                            bool alongRows) {
  // Along rows the distance of panels is not used; 1 is what it should be then.
  int64_t panels = alongRows ? 1 : rows * rowUnits;
  int64_t word = (place.address >> 4) | (panels << 16);
  if (!place.more)
    return b.i32(word);
  return b.add(arith::ShRUIOp::create(b, place.more, b.i32(4)).getResult(),
               word);
}

/// Where step `step` of the depth begins, in units from the tile's beginning.
static int64_t getStepUnits(int64_t step, int64_t rows, bool alongRows) {
  if (!alongRows)
    return step * stepRowUnits;
  return step / panelSteps * rows * rowUnits + step % panelSteps * stepUnits;
}

//===----------------------------------------------------------------------===//
// The statement of one product
//===----------------------------------------------------------------------===//

/// True if nothing but names of slots stands between this product and the one
/// before: the registers are ordered before it already.
static bool followsProduct(rtile::StartDotOp op) {
  for (Operation *before = op->getPrevNode(); before;
       before = before->getPrevNode()) {
    if (isa<rtile::StartDotOp>(before))
      return true;
    auto read = dyn_cast<rtile::ReadOp>(before);
    if (!read ||
        !isa<rtile::SwizzledAttr>(getTile(read.getTile()).getEncoding()))
      return false;
  }
  return false;
}

namespace {

/// All instructions of one product, committed as one group.
class Statement {
public:
  Statement(GPUBuilder &b, const Fragments &layout, rtile::StartDotOp op)
      : b(b), layout(layout), lhs(getTile(op.getLhs())),
        rhs(getTile(op.getRhs())), transposed(op.getTransposed()),
        follows(followsProduct(op)) {
    int64_t width = op.getResult().getType().getTile().getDimSize(1);
    columns = llvm::alignTo(width, productColumns);
    rowBlocks = layout.rowBlocks(lhs.getDimSize(0));
    steps = llvm::divideCeil(lhs.getDimSize(1), productDepth);
  }

  /// The words that the left operand has in registers. What is missing of the
  /// last step is multiplied by zeros, and is zero.
  SmallVector<Value> padWords(ArrayRef<Value> given) const;
  Fragment emit(ArrayRef<Value> sums, ArrayRef<Value> words, Value left,
                Value right);

private:
  void begin(StringRef left, StringRef right);
  void add(int64_t rows, int64_t step, bool beginsAtZero);
  /// Sets `name` to so many units behind its base: it never carries to the high
  /// word.
  void describe(const Twine &name, int64_t units) {
    block += "add.u64 " + name + ", " + name + "Base, " + Twine(units) + ";\n";
  }

  GPUBuilder &b;
  const Fragments &layout;
  RankedTensorType lhs, rhs;
  bool transposed, follows;
  int64_t columns, rowBlocks, steps;

  AsmBlock block;
  /// Of the sums and of the left operand, if it has any.
  SmallVector<std::string> registers, leftWords;
};

} // namespace

SmallVector<Value> Statement::padWords(ArrayRef<Value> given) const {
  SmallVector<Value> words;
  int64_t perBlock = 2 * Fragments::columnBlocks(lhs.getDimSize(1));
  for (int64_t part = 0; part < rowBlocks; ++part)
    for (int64_t word = 0; word < 4 * steps; ++word)
      words.push_back(word < perBlock ? given[part * perBlock + word]
                                      : b.i32(0));
  return words;
}

void Statement::begin(StringRef left, StringRef right) {
  block += "{\n.reg .pred add;\n.reg .b64 left, right, leftBase, rightBase;\n"
           "mov.b64 rightBase, {" +
           right + ", " + highWord + "};\n";
  if (!left.empty())
    block += "mov.b64 leftBase, {" + left + ", " + highWord + "};\n";
  // Orders what was done to the registers before the products.
  if (!follows)
    block += "wgmma.fence.sync.aligned;\n";
}

/// Adds one instruction, for step `step` of the depth and 64 of the rows.
void Statement::add(int64_t rows, int64_t step, bool beginsAtZero) {
  if (step < 2)
    block += "setp.eq.u32 add, 0, " + Twine(step || !beginsAtZero ? "0" : "1") +
             ";\n";
  std::string operand;
  bool inSlot = leftWords.empty();
  if (inSlot) {
    describe("left",
             rows * layout.rowsAtOnce() * rowUnits +
                 getStepUnits(step, lhs.getDimSize(0), /*alongRows=*/true));
    operand = "left";
  } else {
    for (int64_t word = 0; word < 4; ++word)
      operand +=
          (word ? ", " : "{") + leftWords[(rows * steps + step) * 4 + word];
    operand += "}";
  }
  describe("right", getStepUnits(step, rhs.getDimSize(0), transposed));
  std::string type = lhs.getElementType().isF16() ? "f16" : "bf16";
  auto sums = ArrayRef(registers).slice(rows * (columns / 2), columns / 2);
  block += "wgmma.mma_async.sync.aligned.m64n" + Twine(columns) + "k16.f32." +
           type + "." + type + " {" + llvm::join(sums, ", ") + "}, " + operand +
           ", right, add, 1, 1" + (inSlot ? ", 0, " : ", ") +
           (transposed ? "0" : "1") + ";\n";
}

Fragment Statement::emit(ArrayRef<Value> sums, ArrayRef<Value> words,
                         Value left, Value right) {
  for (int64_t index = 0; index < columns / 2 * rowBlocks; ++index)
    registers.push_back(sums.empty() ? block.result(b.getF32Type())
                                     : block.change(sums[index]));
  for (Value word : words)
    leftWords.push_back(block.use(word));
  std::string leftWord = left ? block.use(left) : "";
  begin(leftWord, block.use(right));
  for (int64_t rows = 0; rows < rowBlocks; ++rows)
    for (int64_t step = 0; step < steps; ++step)
      add(rows, step, sums.empty());
  block += "wgmma.commit_group.sync.aligned;\n}";
  return block.emit(b);
}

Value WgmmaProduct::describe(GPUBuilder &b, rtile::StartDotOp op,
                             unsigned operand, Place slot, Value group) const {
  if (operand == 1)
    return makeDescriptor(b, slot, getTile(op.getRhs()).getDimSize(0),
                          op.getTransposed());
  // Each group of four warps takes the 64 rows that it holds in registers.
  Value rows = b.mul(group, productRows * SlotImage::rowBytes);
  slot.more = slot.more ? b.add(slot.more, rows) : rows;
  return makeDescriptor(b, slot, getTile(op.getLhs()).getDimSize(0),
                        /*alongRows=*/true);
}

Fragment WgmmaProduct::start(const ThreadPart &part,
                             const AsyncOperands &operands) const {
  Statement statement(part.b, part.layout, operands.op);
  SmallVector<Value> words;
  if (!operands.left)
    words = statement.padWords(operands.leftWords);
  return statement.emit(operands.sums, words, operands.left, operands.right);
}

//===----------------------------------------------------------------------===//
// Its end
//===----------------------------------------------------------------------===//

// The registers of the sums go through the wait, which the operation of the
// NVVM dialect does not take: LLVM would move what uses them in front of it.

Fragment WgmmaProduct::finish(AsyncBuilder &async, int64_t later,
                              ArrayRef<Value> sums) const {
  AsmBlock block;
  for (Value sum : sums)
    (void)block.change(sum);
  block += "wgmma.wait_group.sync.aligned " + Twine(later) + ";";
  return block.emit(async.getBuilder());
}

Fragment WgmmaProduct::hold(AsyncBuilder &async, ArrayRef<Value> sums) const {
  return async.hold(sums);
}
