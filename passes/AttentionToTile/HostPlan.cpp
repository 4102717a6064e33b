//===- HostPlan.cpp - Builds an rplan.func -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/HostPlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace ringlet;

/// The buffer type of a caller's tensor: any strides but that of the last axis.
static MemRefType getBufferType(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> strides(tensor.getRank(), ShapedType::kDynamic);
  if (strides.empty())
    return MemRefType::get({}, tensor.getElementType());
  strides.back() = 1;
  return MemRefType::get(
      tensor.getShape(), tensor.getElementType(),
      StridedLayoutAttr::get(tensor.getContext(), /*offset=*/0, strides));
}

HostPlan::HostPlan(func::FuncOp function, SymbolTable &symbols)
    : symbols(symbols), builder(function), location(function.getLoc()) {
  SmallVector<Type> inputs, outputs;
  SmallVector<std::string> names;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    inputs.push_back(getBufferType(type));
    auto name = function.getArgAttrOfType<StringAttr>(index, "ringlet.name");
    names.push_back(name ? name.str() : "arg" + std::to_string(index));
  }
  for (auto [index, type] : llvm::enumerate(function.getResultTypes())) {
    outputs.push_back(getBufferType(type));
    names.push_back("result" + std::to_string(index));
  }
  SmallVector<StringRef> nameRefs(names.begin(), names.end());
  plan = rplan::FuncOp::create(builder, location, function.getName(), inputs,
                               outputs, nameRefs);
  for (auto [argument, name] :
       llvm::zip_equal(plan.getBody().getArguments(), names))
    argument.setLoc(NameLoc::get(builder.getStringAttr(name), location));
  builder.setInsertionPointToStart(&plan.getBody().front());
  rplan::ReturnOp::create(builder, location);
  builder.setInsertionPointToStart(&plan.getBody().front());
}

HostPlan::HostPlan(rplan::FuncOp plan, Operation *before, SymbolTable &symbols)
    : plan(plan), symbols(symbols), builder(before), location(plan.getLoc()) {}

HostTensor HostPlan::getTensor(Value buffer) {
  HostTensor tensor{buffer, {}};
  auto type = cast<MemRefType>(buffer.getType());
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    tensor.sizes.push_back(
        type.isDynamicDim(axis)
            ? rplan::SizeOp::create(builder, location, builder.getIndexType(),
                                    buffer, builder.getI64IntegerAttr(axis))
                  .getResult()
            : constant(type.getDimSize(axis)));
  return tensor;
}

HostTensor HostPlan::getInput(unsigned index) {
  return getTensor(plan.getInputs()[index]);
}

HostTensor HostPlan::getOutput(unsigned index) {
  return getTensor(plan.getOutputs()[index]);
}

Value HostPlan::constant(int64_t value) {
  return arith::ConstantIndexOp::create(builder, location, value);
}

Value HostPlan::add(Value a, Value b) {
  return builder.createOrFold<arith::AddIOp>(location, a, b);
}

Value HostPlan::sub(Value a, Value b) {
  return a == b ? constant(0)
                : builder.createOrFold<arith::SubIOp>(location, a, b);
}

Value HostPlan::mul(Value a, Value b) {
  return builder.createOrFold<arith::MulIOp>(location, a, b);
}

Value HostPlan::min(Value a, Value b) {
  return builder.createOrFold<arith::MinSIOp>(location, a, b);
}

Value HostPlan::max(Value a, Value b) {
  return builder.createOrFold<arith::MaxSIOp>(location, a, b);
}

Value HostPlan::floorDiv(Value a, Value b) {
  return builder.createOrFold<arith::FloorDivSIOp>(location, a, b);
}

Value HostPlan::ceilDiv(Value a, Value b) {
  return builder.createOrFold<arith::CeilDivSIOp>(location, a, b);
}

Value HostPlan::multiprocessors() {
  return rplan::MachineOp::create(builder, location, builder.getIndexType(),
                                  rplan::MachineNumber::multiprocessors);
}

Value HostPlan::atLeast(Value a, Value b) {
  return builder.createOrFold<arith::CmpIOp>(location,
                                             arith::CmpIPredicate::sge, a, b);
}

void HostPlan::requireEqual(Value a, Value b, const Twine &message,
                            StringRef rule) {
  std::optional<int64_t> left = getConstant(a), right = getConstant(b);
  if (a == b || (left && right && *left == *right))
    return;
  rplan::RequireOp::create(builder, location, rplan::Comparison::eq, a, b,
                           message.str(), rule);
}

void HostPlan::requireAtMost(Value a, Value b, const Twine &message,
                             StringRef rule) {
  std::optional<int64_t> left = getConstant(a), right = getConstant(b);
  if (left && right && *left <= *right)
    return;
  rplan::RequireOp::create(builder, location, rplan::Comparison::le, a, b,
                           message.str(), rule);
}

HostTensor HostPlan::workspace(ArrayRef<int64_t> shape, Type element,
                               ArrayRef<Value> sizes) {
  auto type = MemRefType::get(shape, element);
  SmallVector<Value> dynamic;
  for (auto [extent, size] : llvm::zip_equal(shape, sizes))
    if (ShapedType::isDynamic(extent))
      dynamic.push_back(size);
  if (!dynamic.empty())
    dynamic.front() = orNothing(dynamic.front());
  Value buffer = rplan::WorkspaceOp::create(builder, location, type, dynamic);
  return {buffer, SmallVector<Value>(sizes)};
}

Value HostPlan::orderTable(rlayout::OrderAttr order, Value length,
                           bool inverse) {
  auto type = MemRefType::get({ShapedType::kDynamic}, builder.getI64Type());
  return rplan::OrderTableOp::create(builder, location, type, order, length,
                                     inverse);
}

Value HostPlan::ordinalTable(rlayout::OrderAttr pattern, Value first,
                             Value length, Value offset,
                             rlayout::OrderAttr memory) {
  auto type = MemRefType::get({ShapedType::kDynamic}, builder.getI64Type());
  return rplan::OrdinalTableOp::create(builder, location, type, pattern, first,
                                       length, offset, memory);
}

std::optional<int64_t> ringlet::getConstant(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  return std::nullopt;
}
