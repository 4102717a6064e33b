//===- MergeLoops.cpp - One loop for two that do the same -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops over whole and over masked tiles differ in their masks. A role that
// copies tiles knows none, so its loops do the same one after the other: as
// one, they take the registers of one.
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/IR/TileDialect.h"
#include "passes/TileOpt/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace ringlet {
#define GEN_PASS_DEF_RTILEMERGELOOPS
#include "passes/TileOpt/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

//===----------------------------------------------------------------------===//
// Distances
//===----------------------------------------------------------------------===//

namespace {

/// A number modulo another: `rest` more than `base`, or than 0 if that is null.
struct Residue {
  Value base;
  int64_t rest = 0;

  bool operator==(const Residue &other) const {
    return base == other.base && rest == other.rest;
  }
};

} // namespace

/// What is `sign` times `other` more than `value`, if one of them has no base,
/// or both the same one.
static std::optional<Residue> add(Residue value, int64_t sign, Residue other,
                                  int64_t step) {
  if (other.base && sign < 0 && other.base == value.base)
    value.base = other.base = nullptr;
  if (other.base && (value.base || sign < 0))
    return std::nullopt;
  if (other.base)
    value.base = other.base;
  value.rest = llvm::mod(value.rest + sign * other.rest, step);
  return value;
}

/// The residue of `value` modulo `step`.
static Residue getResidue(Value value, int64_t step) {
  if (std::optional<int64_t> number = getConstantIntValue(value))
    return {nullptr, llvm::mod(*number, step)};
  Operation *op = value.getDefiningOp();
  if (auto run = dyn_cast_or_null<rtile::RunOp>(op)) {
    // The steps of a key tile's height, of which whole ones are some.
    bool isStep = value == run.getWholeBegin() || value == run.getWholeEnd();
    int64_t rows = run.getKey().getType().getShape()[0];
    if (isStep && rows % step == 0)
      return {run.getBegin(), 0};
  }
  if (isa_and_nonnull<arith::MulIOp>(op) &&
      llvm::any_of(op->getOperands(), [&](Value factor) {
        std::optional<int64_t> number = getConstantIntValue(factor);
        return number && *number % step == 0;
      }))
    return {nullptr, 0};
  if (isa_and_nonnull<arith::AddIOp, arith::SubIOp>(op)) {
    int64_t sign = isa<arith::AddIOp>(op) ? 1 : -1;
    if (std::optional<Residue> sum =
            add(getResidue(op->getOperand(0), step), sign,
                getResidue(op->getOperand(1), step), step))
      return *sum;
  }
  if (isa_and_nonnull<arith::MinSIOp, arith::MaxSIOp>(op)) {
    Residue first = getResidue(op->getOperand(0), step);
    if (first == getResidue(op->getOperand(1), step))
      return first;
  }
  return {value, 0};
}

/// Whether it is known that `value` is not above `limit`.
static bool isAtMost(Value value, Value limit) {
  if (value == limit)
    return true;
  auto difference = limit.getDefiningOp<arith::SubIOp>();
  if (auto other = value.getDefiningOp<arith::SubIOp>();
      other && difference && other.getLhs() == difference.getLhs() &&
      isAtMost(difference.getRhs(), other.getRhs()))
    return true;
  if (matchPattern(value, m_Zero()) && difference &&
      isAtMost(difference.getRhs(), difference.getLhs()))
    return true;
  if (auto least = limit.getDefiningOp<arith::MinSIOp>())
    return isAtMost(value, least.getLhs()) && isAtMost(value, least.getRhs());
  if (auto least = value.getDefiningOp<arith::MinSIOp>())
    return isAtMost(least.getLhs(), limit) || isAtMost(least.getRhs(), limit);
  auto run = limit.getDefiningOp<rtile::RunOp>();
  if (!run || value.getDefiningOp() != run)
    return false;
  return (value == run.getBegin() && limit == run.getWholeBegin()) ||
         (value != run.getEnd() && limit == run.getWholeEnd());
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Whether `next` stands behind `loop`, with nothing between them that matters,
/// and takes all that `loop` yields, which nobody else does.
static bool follows(scf::ForOp loop, scf::ForOp next) {
  if (!llvm::equal(next.getInitArgs(), loop.getResults()))
    return false;
  for (Operation *user : loop->getUsers())
    if (user != next)
      return false;
  for (Operation *op = loop->getNextNode(); op != next; op = op->getNextNode())
    if (!op || !isMemoryEffectFree(op))
      return false;
  return true;
}

static bool doTheSame(scf::ForOp loop, scf::ForOp next) {
  return loop->getDiscardableAttrDictionary() ==
             next->getDiscardableAttrDictionary() &&
         OperationEquivalence::isRegionEquivalentTo(
             &loop.getBodyRegion(), &next.getBodyRegion(),
             OperationEquivalence::IgnoreLocations);
}

/// Whether `next` goes on where `loop` has ended, in the same steps.
static bool goesOn(scf::ForOp loop, scf::ForOp next) {
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  if (!step || step != getConstantIntValue(next.getStep()) ||
      loop.getUpperBound() != next.getLowerBound())
    return false;
  Value begin = loop.getLowerBound(), end = loop.getUpperBound();
  return getResidue(begin, *step) == getResidue(end, *step) &&
         isAtMost(begin, end);
}

namespace {

struct MergeLoops : ringlet::impl::RTileMergeLoopsBase<MergeLoops> {
  void runOnOperation() override {
    getOperation()->walk([&](Block *block) {
      for (auto loop : llvm::make_early_inc_range(block->getOps<scf::ForOp>()))
        mergeWithNext(loop);
    });
  }

  /// Lets the loop behind `loop` begin where `loop` does, if it can.
  static void mergeWithNext(scf::ForOp loop) {
    for (Operation *op = loop->getNextNode(); op; op = op->getNextNode()) {
      auto next = dyn_cast<scf::ForOp>(op);
      if (!next)
        continue;
      if (!follows(loop, next) || !goesOn(loop, next) || !doTheSame(loop, next))
        return;
      next.getLowerBoundMutable().assign(loop.getLowerBound());
      next.getInitArgsMutable().assign(loop.getInitArgs());
      loop.erase();
      return;
    }
  }
};

} // namespace
