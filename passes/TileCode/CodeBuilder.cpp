//===- CodeBuilder.cpp - Vector code with short names -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/TileCode/CodeBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace ringlet::code;

Type CodeBuilder::getPointer() {
  return LLVM::LLVMPointerType::get(getContext());
}

Type CodeBuilder::getVector(Type element, int64_t lanes) {
  return lanes == 1 ? element : VectorType::get({lanes}, element);
}

Type CodeBuilder::withElement(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(element);
  return element;
}

int64_t CodeBuilder::lanesOf(Value value) {
  auto vector = dyn_cast<VectorType>(value.getType());
  return vector ? vector.getNumElements() : 1;
}

//===----------------------------------------------------------------------===//
// Scalars and constants
//===----------------------------------------------------------------------===//

Value CodeBuilder::i64(int64_t value) { return integer(getI64Type(), value); }
Value CodeBuilder::add(Value a, Value b) {
  return arith::AddIOp::create(*this, a, b);
}
Value CodeBuilder::sub(Value a, Value b) {
  return arith::SubIOp::create(*this, a, b);
}
Value CodeBuilder::mul(Value a, Value b) {
  return arith::MulIOp::create(*this, a, b);
}
Value CodeBuilder::mul(Value a, int64_t b) {
  return b == 1 ? a : mul(a, integer(a.getType(), b));
}
Value CodeBuilder::divUnsigned(Value a, int64_t b) {
  return arith::DivUIOp::create(*this, a, integer(a.getType(), b));
}

Value CodeBuilder::min(Value a, Value b) {
  return arith::MinSIOp::create(*this, a, b);
}
Value CodeBuilder::max(Value a, Value b) {
  return arith::MaxSIOp::create(*this, a, b);
}
Value CodeBuilder::less(Value a, Value b) {
  return compare(arith::CmpIPredicate::slt, a, b);
}
Value CodeBuilder::lessEqual(Value a, Value b) {
  return compare(arith::CmpIPredicate::sle, a, b);
}
Value CodeBuilder::both(Value a, Value b) {
  return arith::AndIOp::create(*this, a, b);
}
Value CodeBuilder::inRange(Value begin, Value x, Value end) {
  Value belowEnd = less(x, end);
  return both(lessEqual(begin, x), belowEnd);
}

Value CodeBuilder::real(Type type, double value) {
  TypedAttr attr = getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(*this, attr);
}

Value CodeBuilder::integer(Type type, int64_t value) {
  TypedAttr attr = getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attr = DenseElementsAttr::get(vector, Attribute(attr));
  return arith::ConstantOp::create(*this, attr);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value CodeBuilder::at(Value pointer, Value bytes) {
  return LLVM::GEPOp::create(*this, pointer.getType(), getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>{bytes});
}

Value CodeBuilder::at(Value pointer, int64_t bytes) {
  return bytes == 0 ? pointer : at(pointer, i64(bytes));
}

Value CodeBuilder::load(Type type, Value pointer, int64_t alignment) {
  return LLVM::LoadOp::create(*this, type, pointer, alignment);
}

void CodeBuilder::store(Value value, Value pointer, int64_t alignment) {
  LLVM::StoreOp::create(*this, value, pointer, alignment);
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

Value CodeBuilder::splat(Value scalar, int64_t lanes) {
  if (lanes == 1)
    return scalar;
  Type type = getVector(scalar.getType(), lanes);
  Value vector = LLVM::PoisonOp::create(*this, type);
  vector = LLVM::InsertElementOp::create(*this, type, vector, scalar, i64(0));
  SmallVector<int32_t> zeros(lanes, 0);
  return shuffle(vector, vector, zeros);
}

Value CodeBuilder::gather(ArrayRef<Value> lanes) {
  if (lanes.size() == 1)
    return lanes[0];
  Type type = getVector(lanes[0].getType(), lanes.size());
  Value vector = LLVM::PoisonOp::create(*this, type);
  for (auto [lane, scalar] : llvm::enumerate(lanes))
    vector =
        LLVM::InsertElementOp::create(*this, type, vector, scalar, i64(lane));
  return vector;
}

Value CodeBuilder::shuffle(Value a, Value b, ArrayRef<int32_t> mask) {
  return LLVM::ShuffleVectorOp::create(*this, a, b, mask);
}

Value CodeBuilder::iota(int64_t lanes) {
  SmallVector<int32_t> values = llvm::to_vector(llvm::seq<int32_t>(0, lanes));
  return arith::ConstantOp::create(
      *this, DenseElementsAttr::get(VectorType::get({lanes}, getI32Type()),
                                    ArrayRef<int32_t>(values)));
}

Value CodeBuilder::fma(Value a, Value b, Value c) {
  return LLVM::FMAOp::create(*this, a.getType(), a, b, c);
}
Value CodeBuilder::bitcast(Type element, Value vector) {
  return arith::BitcastOp::create(*this, withElement(vector.getType(), element),
                                  vector);
}
Value CodeBuilder::convertFloat(Type type, Value vector) {
  if (getElementTypeOrSelf(type).getIntOrFloatBitWidth() >
      getElementTypeOrSelf(vector).getIntOrFloatBitWidth())
    return arith::ExtFOp::create(*this, type, ValueRange(vector));
  return arith::TruncFOp::create(*this, type, ValueRange(vector));
}
Value CodeBuilder::squareRoot(Value vector) {
  return LLVM::SqrtOp::create(*this, vector.getType(), vector);
}
Value CodeBuilder::absolute(Value vector) {
  return LLVM::FAbsOp::create(*this, vector.getType(), vector);
}
Value CodeBuilder::floor(Value vector) {
  return LLVM::FFloorOp::create(*this, vector.getType(), vector);
}
Value CodeBuilder::ceil(Value vector) {
  return LLVM::FCeilOp::create(*this, vector.getType(), vector);
}
Value CodeBuilder::roundEven(Value vector) {
  return LLVM::RoundEvenOp::create(*this, vector.getType(), vector);
}
Value CodeBuilder::copySign(Value magnitude, Value sign) {
  return LLVM::CopySignOp::create(*this, magnitude.getType(), magnitude, sign);
}
Value CodeBuilder::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(*this, condition, a, b);
}
Value CodeBuilder::compare(arith::CmpFPredicate predicate, Value a, Value b) {
  return arith::CmpFOp::create(*this, predicate, a, b);
}
Value CodeBuilder::compare(arith::CmpIPredicate predicate, Value a, Value b) {
  return arith::CmpIOp::create(*this, predicate, a, b);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

/// What should be made of vectors is so already, and most loops are as long as
/// they should be: LLVM's own attempts cost half of its time.
static void annotate(Operation *loop, Unroll unroll) {
  if (unroll == Unroll::ByLLVM)
    return;
  MLIRContext *context = loop->getContext();
  // Becomes that of the branch back to the loop's head.
  loop->setAttr("loop_annotation",
                LLVM::LoopAnnotationAttr::get(
                    context, /*disableNonforced=*/BoolAttr::get(context, true),
                    {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}));
}

void CodeBuilder::loop(Value begin, Value end, Value step,
                       function_ref<void(Value)> body, Unroll unroll) {
  auto op = scf::ForOp::create(*this, begin, end, step);
  annotate(op, unroll);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPoint(op.getBody()->getTerminator());
  body(op.getInductionVar());
}

void CodeBuilder::loop(int64_t begin, int64_t end, int64_t step,
                       function_ref<void(Value)> body, Unroll unroll) {
  Value first = i64(begin), last = i64(end), stride = i64(step);
  loop(first, last, stride, body, unroll);
}

SmallVector<Value>
CodeBuilder::loop(int64_t begin, int64_t end, int64_t step, ValueRange inits,
                  function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  Value first = i64(begin), last = i64(end);
  return loop(first, last, step, inits, body);
}

SmallVector<Value>
CodeBuilder::loop(Value begin, Value end, int64_t step, ValueRange inits,
                  function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  Value stride = i64(step);
  if (inits.empty()) {
    loop(begin, end, stride, [&](Value index) { body(index, {}); });
    return {};
  }
  auto op = scf::ForOp::create(*this, begin, end, stride, inits);
  annotate(op, Unroll::Never);
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.getBody());
  scf::YieldOp::create(*this,
                       body(op.getInductionVar(), op.getRegionIterArgs()));
  return llvm::to_vector_of<Value>(op.getResults());
}

void CodeBuilder::ifElse(Value condition, function_ref<void()> then,
                         function_ref<void()> otherwise) {
  auto op = scf::IfOp::create(*this, condition, bool(otherwise));
  OpBuilder::InsertionGuard guard(*this);
  setInsertionPointToStart(op.thenBlock());
  then();
  if (!otherwise)
    return;
  setInsertionPointToStart(op.elseBlock());
  otherwise();
}

Value CodeBuilder::choose(Value condition, function_ref<Value()> then,
                          function_ref<Value()> otherwise) {
  auto op = scf::IfOp::create(
      *this, condition,
      [&](OpBuilder &, Location) { scf::YieldOp::create(*this, then()); },
      [&](OpBuilder &, Location) { scf::YieldOp::create(*this, otherwise()); });
  return op.getResult(0);
}
