//===- CheckPlans.cpp - What plans written by hand get wrong -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/CheckPlans.h"

#include "dialects/Plan/IR/PlanDialect.h"
#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace ringlet;

namespace {

/// One plan with the kernels that it launches.
class PlanCheck {
public:
  PlanCheck(rplan::FuncOp plan, SymbolTableCollection &symbols)
      : plan(plan), symbols(symbols),
        written(plan.getBody().getNumArguments()) {}

  LogicalResult run();

private:
  LogicalResult checkLaunch(rplan::LaunchOp launch, FlatSymbolRefAttr kernel,
                            OperandRange grid, OperandRange args);
  void warnOfGrid(Value extent);
  bool isMultiple(Value size, Value divisor);
  std::string nameOf(unsigned argument) {
    return "'" + cast<StringAttr>(plan.getNames()[argument]).str() + "'";
  }

  rplan::FuncOp plan;
  SymbolTableCollection &symbols;
  llvm::SmallBitVector written; // By what the plan does, of its arguments.
};

} // namespace

/// A store through a parameter, or null; `mayStore` where a use cannot be
/// followed.
static Operation *findStore(Value parameter, bool &mayStore) {
  for (Operation *user : parameter.getUsers()) {
    if (auto store = dyn_cast<memref::StoreOp>(user))
      return store;
    auto view = dyn_cast<rtile::ViewOp>(user);
    if (!view) {
      mayStore |= !isa<memref::LoadOp, memref::DimOp>(user);
      continue;
    }
    if (view.getBuffer() != parameter)
      continue; // The table of an indexed view.
    for (Operation *access : view->getUsers())
      if (isa<rtile::StoreOp, rtile::CopyOutOp>(access))
        return access;
  }
  return nullptr;
}

/// Whether the plan requires that nothing is left of `size`.
bool PlanCheck::isMultiple(Value size, Value divisor) {
  return llvm::any_of(size.getUsers(), [&](Operation *user) {
    if (!isa<arith::RemSIOp, arith::RemUIOp>(user) ||
        user->getOperand(0) != size || user->getOperand(1) != divisor)
      return false;
    return llvm::any_of(user->getUsers(), [](Operation *op) {
      return isa<rplan::RequireOp>(op);
    });
  });
}

void PlanCheck::warnOfGrid(Value extent) {
  Operation *division = extent.getDefiningOp();
  if (!isa_and_nonnull<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp>(
          division))
    return;
  auto size = division->getOperand(0).getDefiningOp<rplan::SizeOp>();
  APInt divisor;
  if (!size ||
      !matchPattern(division->getOperand(1), m_ConstantInt(&divisor)) ||
      divisor.sle(1) || isMultiple(size, division->getOperand(1)))
    return;
  auto type = cast<MemRefType>(size.getBuffer().getType());
  int64_t length = type.getDimSize(size.getAxis());
  if (!ShapedType::isDynamic(length) && length % divisor.getSExtValue() == 0)
    return;
  division->emitWarning("expected a grid that covers all rows: where ")
      << divisor.getSExtValue()
      << " does not divide the size, the last ones have no grid point; "
         "arith.ceildivsi counts one for them";
}

LogicalResult PlanCheck::checkLaunch(rplan::LaunchOp launch,
                                     FlatSymbolRefAttr symbol,
                                     OperandRange grid, OperandRange args) {
  auto kernel = symbols.lookupNearestSymbolFrom<rtile::FuncOp>(launch, symbol);
  if (!kernel)
    return success();
  for (Value extent : grid)
    warnOfGrid(extent);
  for (auto [value, parameter] : llvm::zip(args, kernel.getParameters())) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (!argument || !isa<MemRefType>(value.getType()))
      continue;
    unsigned number = argument.getArgNumber();
    bool mayStore = false;
    Operation *store = findStore(parameter, mayStore);
    if (store || mayStore)
      written.set(number);
    if (!store || number >= plan.getNumInputs())
      continue;
    InFlightDiagnostic error =
        store->emitOpError("expected an output or a workspace of @")
        << plan.getSymName() << ", found its input " << nameOf(number);
    error.attachNote(launch.getLoc()) << "launched with it here";
    return error;
  }
  return success();
}

LogicalResult PlanCheck::run() {
  for (Operation &op : plan.getBody().front()) {
    if (auto copy = dyn_cast<rplan::CopyOp>(op))
      if (auto argument = dyn_cast<BlockArgument>(copy.getDestination()))
        written.set(argument.getArgNumber());
    if (auto attend = dyn_cast<rplan::AttendOp>(op))
      for (Value state : {attend.getAccumulator(), attend.getMaximum(),
                          attend.getSum(), attend.getOutput(), attend.getLse()})
        if (auto argument = dyn_cast_or_null<BlockArgument>(state))
          written.set(argument.getArgNumber());
    auto launch = dyn_cast<rplan::LaunchOp>(op);
    if (!launch)
      continue;
    if (failed(checkLaunch(launch, launch.getKernelAttr(), launch.getGrid(),
                           launch.getArgs())))
      return failure();
    if (launch.getFallback() &&
        failed(checkLaunch(launch, launch.getFallbackAttr(),
                           launch.getFallbackGrid(), launch.getFallbackArgs())))
      return failure();
  }
  for (unsigned i = plan.getNumInputs(); i < written.size(); ++i)
    if (!written[i])
      plan.emitWarning("expected a launch or a copy that writes output ")
          << nameOf(i) << ", found none: it stays as the caller brings it";
  return success();
}

LogicalResult ringlet::checkPlans(ModuleOp module) {
  SymbolTableCollection symbols;
  for (auto plan : module.getOps<rplan::FuncOp>())
    if (failed(PlanCheck(plan, symbols).run()))
      return failure();
  return success();
}
