//===- KernelBuilder.cpp - Builds an rtile.func and its launch -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/KernelBuilder.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace ringlet;

KernelBuilder::KernelBuilder(HostPlan &plan, const Twine &name)
    : plan(plan), body(plan.getBuilder().getContext()) {
  OpBuilder builder(body.getContext());
  kernel = rtile::FuncOp::create(builder, plan.getLoc(), name.str(),
                                 TypeRange(), /*gridRank=*/1);
  kernel.getBody().front().eraseArgument(0);
  plan.getSymbols().insert(kernel);
  body.setInsertionPointToStart(&kernel.getBody().front());
}

Value KernelBuilder::addBuffer(StringRef name, Value buffer) {
  hostArguments.push_back(buffer);
  return kernel.getBody().insertArgument(hostArguments.size() - 1,
                                         buffer.getType(), named(name));
}

Value KernelBuilder::addScalar(StringRef name, Value value, unsigned *number) {
  if (number)
    *number = hostArguments.size();
  return addBuffer(name, value);
}

Value KernelBuilder::addNumber(StringRef name, Value value) {
  std::optional<int64_t> known = getConstant(value);
  return known ? constant(*known) : addScalar(name, value);
}

void KernelBuilder::addTable(StringRef name, Value table) {
  if (table && !getTable(table))
    tables.emplace_back(table, addBuffer(name, table));
}

Value KernelBuilder::getTable(Value table) {
  for (auto [known, parameter] : tables)
    if (known == table)
      return parameter;
  return nullptr;
}

Value KernelBuilder::addGridAxis(StringRef name, Value extent) {
  hostGrid.push_back(extent);
  return kernel.getBody().addArgument(body.getIndexType(), named(name));
}

void KernelBuilder::setRecipe(StringAttr recipe) {
  kernel.setRecipeAttr(recipe);
}

void KernelBuilder::finish() {
  kernel.setGridRank(hostGrid.size());
  rtile::ReturnOp::create(body, plan.getLoc());
}

Value KernelBuilder::align(Value input, Value worth) {
  finish();
  return rplan::AlignedOp::create(plan.getBuilder(), plan.getLoc(),
                                  input.getType(), input, kernel.getSymName(),
                                  hostGrid, worth);
}

rplan::LaunchOp KernelBuilder::launch() {
  finish();
  hostGrid.back() = plan.orNothing(hostGrid.back());
  return rplan::LaunchOp::create(plan.getBuilder(), plan.getLoc(),
                                 kernel.getSymName(), hostGrid, hostArguments);
}

Value KernelBuilder::constant(int64_t value) {
  for (auto [known, constant] : constants)
    if (known == value)
      return constant;
  OpBuilder::InsertionGuard guard(body);
  body.setInsertionPointToStart(&kernel.getBody().front());
  std::string name = "c" + std::to_string(value);
  Value result = arith::ConstantIndexOp::create(body, named(name), value);
  constants.emplace_back(value, result);
  return result;
}

Value KernelBuilder::splat(StringRef name, double value,
                           RankedTensorType type) {
  auto element = cast<FloatType>(type.getElementType());
  return create<arith::ConstantOp>(
      name, DenseElementsAttr::get(type, body.getFloatAttr(element, value)));
}

Value KernelBuilder::mul(StringRef name, Value a, int64_t b) {
  return create<arith::MulIOp>(name, a, constant(b));
}

Value KernelBuilder::div(StringRef name, Value a, int64_t b) {
  return b == 1 ? a : create<arith::DivUIOp>(name, a, constant(b)).getResult();
}

Value KernelBuilder::add(StringRef name, Value a, Value b) {
  return create<arith::AddIOp>(name, a, b);
}

Value KernelBuilder::readIndex(StringRef name, Value list, Value index,
                               Value low, Value high) {
  Value entry = create<memref::LoadOp>("entry", list, index);
  Value value = create<arith::IndexCastOp>("read", body.getIndexType(), entry);
  return create<arith::MinSIOp>(
      name, create<arith::MaxSIOp>("at_least", value, low), high);
}

Value KernelBuilder::size(StringRef name, Value buffer, int64_t axis) {
  auto type = cast<MemRefType>(buffer.getType());
  if (!type.isDynamicDim(axis))
    return constant(type.getDimSize(axis));
  return create<memref::DimOp>(name, buffer, constant(axis));
}

Value KernelBuilder::view(StringRef name, Value buffer, ArrayRef<Value> axes,
                          rtile::ViewType type, const Rows &rows) {
  SmallVector<Value> fixed;
  SmallVector<int64_t> free;
  for (auto [axis, index] : llvm::enumerate(axes)) {
    if (index)
      fixed.push_back(index);
    else
      free.push_back(axis);
  }
  if (rows.isTransposed)
    std::reverse(free.begin(), free.end());
  DenseI64ArrayAttr group;
  if (rows.heads != 1)
    group = body.getDenseI64ArrayAttr(
        {static_cast<int64_t>(axes.size()) - 2, rows.heads});
  return create<rtile::ViewOp>(
      name, type, buffer, fixed, rows.origin,
      type.isSegmented() ? rows.segment : Value(),
      type.isStrided() ? rows.residue : Value(),
      type.hasRuntimeW() ? rows.w : Value(),
      type.hasRuntimeRate() ? rows.rate : Value(),
      type.getIndexed() ? rows.table : Value(), rows.positions, rows.first,
      rows.end, rows.pages, body.getDenseI64ArrayAttr(free), rows.order, group);
}

Value KernelBuilder::load(StringRef name, Value view, Value row, Value column) {
  SmallVector<Value> offsets{row};
  if (cast<rtile::ViewType>(view.getType()).getRank() == 2)
    offsets.push_back(column ? column : constant(0));
  return create<rtile::LoadOp>(name, view, offsets);
}

/// A tile of one element is one of columns, each row of which has it.
Value KernelBuilder::repeat(StringRef name, Value view, Value row,
                            int64_t rows) {
  Value column = create<rtile::BroadcastOp>(name, tileType({rows, 1}),
                                            load(name, view, row),
                                            /*columns=*/true);
  return create<rtile::ReduceOp>(name, rtile::ReduceKind::sum, column);
}

void KernelBuilder::store(Value tile, Value view, Value row, Value column) {
  SmallVector<Value> offsets{row};
  if (cast<rtile::ViewType>(view.getType()).getRank() == 2)
    offsets.push_back(column ? column : constant(0));
  rtile::StoreOp::create(body, plan.getLoc(), tile, view, offsets);
}

Value KernelBuilder::convert(StringRef name, Value tile, Type element) {
  auto type = cast<RankedTensorType>(tile.getType());
  if (type.getElementType() == element)
    return tile;
  Type result = RankedTensorType::get(type.getShape(), element);
  if (element.isF32())
    return create<arith::ExtFOp>(name, result, tile);
  return create<arith::TruncFOp>(name, result, tile);
}

StringRef EqualKernels::share(StringRef name) {
  auto kernel = symbols.lookup<rtile::FuncOp>(name);
  if (llvm::is_contained(kernels, kernel))
    return name;
  for (rtile::FuncOp other : kernels)
    if (other.getRecipeAttr() == kernel.getRecipeAttr() &&
        OperationEquivalence::isRegionEquivalentTo(
            &other.getBody(), &kernel.getBody(),
            OperationEquivalence::IgnoreLocations)) {
      symbols.erase(kernel);
      return other.getSymName();
    }
  kernels.push_back(kernel);
  return kernel.getSymName();
}
