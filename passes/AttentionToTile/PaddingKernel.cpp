//===- PaddingKernel.cpp - Keys of padding that count -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keys of padding (B7) have the score 0 and the value 0. So all that matters is
// how many a row has: a kernel in front of the attention counts them, and their
// sum joins the softmax as a sink does (R3), in whatever kernel that ends.
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/BranchView.h"
#include "passes/AttentionToTile/Kernels.h"

using namespace mlir;
using namespace ringlet;

namespace {

class PaddingCounter {
public:
  PaddingCounter(HostPlan &plan, const Twine &name, Attention &attention,
                 const PaddingKernel &kernel)
      : plan(plan), attention(attention), kernel(kernel), k(plan, name),
        counts(k.addBuffer("padding", kernel.counts.buffer)),
        queryRows(k.addNumber("q_size", attention.rowSizes.back())),
        keyRows(k.addNumber("k_size", attention.getKeyRows())),
        offset(k.addNumber("q_offset", attention.queryOffset)) {}

  void emit();

private:
  Value count(unsigned index);
  Value divideUp(StringRef name, Value a, int64_t b) {
    return k.div(name, k.add("filled", a, k.constant(b - 1)), b);
  }
  Value compare(StringRef name, arith::CmpIPredicate predicate, Value a,
                Value b) {
    return k.create<arith::CmpIOp>(name, predicate, a, b);
  }
  Value both(StringRef name, Value a, Value b) {
    return k.create<arith::AndIOp>(name, a, b);
  }

  HostPlan &plan;
  Attention &attention;
  const PaddingKernel &kernel;
  KernelBuilder k;
  Value counts, queryRows, keyRows, offset;
  /// Of an entry.
  Value head, keyHead, position;
};

} // namespace

/// As layout::countPadding has it, of a row that need not be in the branch.
Value PaddingCounter::count(unsigned index) {
  attn::BranchAttr branch = attention.getBranch(index);
  int64_t w = branch.isUnbounded() ? 0 : branch.getW(), rate = branch.getR();
  Value zero = k.constant(0);
  Value residue = makeResidue(plan, k, attention, index, head, keyHead);
  // Positions before 0 are in no segment that holds a key.
  Value isIn = compare("is_there", arith::CmpIPredicate::sge, position, zero);
  Value place = k.create<arith::MaxSIOp>("place", position, zero);
  Value rest = keyRows, whole = keyRows;
  if (w != 0) {
    Value start = k.mul("start", k.div("segment", place, w), w);
    place = k.create<arith::SubIOp>("place_in_segment", place, start);
    rest = k.create<arith::SubIOp>("rest", keyRows, start);
    whole = k.create<arith::MinSIOp>("whole", keyRows, k.constant(w));
  }
  isIn = both("has_keys", isIn,
              compare("some_keys", arith::CmpIPredicate::sgt, rest, zero));
  Value existing = k.create<arith::MinSIOp>("existing", rest, whole);
  if (residue) {
    Value own =
        k.create<arith::RemUIOp>("own_residue", place, k.constant(rate));
    isIn = both("is_in", isIn,
                compare("same", arith::CmpIPredicate::eq, own, residue));
    existing = k.create<arith::MaxSIOp>(
        "behind", k.create<arith::SubIOp>("from_first", existing, residue),
        zero);
  }
  if (!attention.hasEveryHead(index)) {
    Value begin = k.constant(branch.getHeadBegin());
    isIn = both("from_head", isIn,
                compare("begun", arith::CmpIPredicate::sge, head, begin));
    Value end = k.constant(branch.getHeadEnd(attention.op.getQueryHeads()));
    isIn = both("to_head", isIn,
                compare("not_ended", arith::CmpIPredicate::slt, head, end));
  }
  Value keys = divideUp("keys_there", existing, rate);
  Value all = divideUp("keys_of_whole", whole, rate);
  Value padding = k.create<arith::SubIOp>("padding_there", all, keys);
  return k.create<arith::SelectOp>("padding", isIn, padding, zero);
}

void PaddingCounter::emit() {
  Value entries = plan.mul(attention.rowSizes[attention.rowSizes.size() - 2],
                           attention.rowSizes.back());
  Value point = k.addGridAxis("part", plan.ceilDiv(entries, entriesOfPoint));
  Value begin = k.mul("begin", point, entriesOfPoint);
  Value end = k.add("end", begin, k.constant(entriesOfPoint));
  OpBuilder &builder = k.getBuilder();
  auto generate =
      rtile::GenerateOp::create(builder, k.getLoc(), counts, begin, end);
  generate.getPlace().setLoc(k.named("place"));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&generate.getBody().front());
    head = k.create<arith::DivUIOp>("head", generate.getPlace(), queryRows);
    Value row = k.create<arith::RemUIOp>("row", generate.getPlace(), queryRows);
    keyHead = k.div("key_head", head,
                    attention.op.getQueryHeads() / attention.op.getKeyHeads());
    position = k.add("position", row, offset);
    Value sum = k.constant(0);
    for (unsigned index : kernel.branches)
      if (attention.getBranch(index).countsPadding())
        sum = k.add("sum", sum, count(index));
    Value number =
        k.create<arith::IndexCastOp>("number", builder.getI64Type(), sum);
    Value entry =
        k.create<arith::SIToFPOp>("entry", builder.getF32Type(), number);
    rtile::YieldOp::create(builder, k.getLoc(), entry);
  }
  k.launch();
}

void ringlet::emitKernel(HostPlan &plan, const Twine &name,
                         Attention &attention, const PaddingKernel &kernel) {
  PaddingCounter(plan, name, attention, kernel).emit();
}
