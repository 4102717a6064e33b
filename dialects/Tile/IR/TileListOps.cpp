//===- TileListOps.cpp - Entries of lists -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Tile/IR/TileDialect.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace ringlet::rtile;

void GenerateOp::build(OpBuilder &builder, OperationState &state, Value table,
                       Value begin, Value end) {
  state.addOperands({table, begin, end});
  state.addRegion()->emplaceBlock().addArgument(builder.getIndexType(),
                                                state.location);
}

void GenerateOp::getAsmBlockArgumentNames(Region &region,
                                          OpAsmSetValueNameFn setName) {
  if (region.getNumArguments() == 1)
    setName(region.getArgument(0), "place");
}

LogicalResult GenerateOp::verify() {
  auto kernel = (*this)->getParentOfType<FuncOp>();
  if (!kernel)
    return emitOpError("expected a kernel (rtile.func) around it");
  if (kernel.getScheduled())
    return emitOpError("expected a plain kernel around it, found the scheduled "
                       "one '")
           << kernel.getSymName() << "'";
  auto table = dyn_cast<BlockArgument>(getTable());
  if (!table || table.getOwner() != &kernel.getBody().front())
    return emitOpError("expected a table that is a parameter of the kernel");
  for (Operation *user : table.getUsers())
    if (!isa<GenerateOp, memref::DimOp>(user))
      return emitOpError("expected a kernel that reads nothing of the table, "
                         "found ")
             << user->getName() << " on it";
  return success();
}

/// What threads can do each for itself.
static LogicalResult verifyScalar(Operation *op) {
  auto check = [&](TypeRange types, bool isResult) -> LogicalResult {
    for (Type type : types)
      if (!type.isIntOrIndexOrFloat() &&
          (isResult || !isa<MemRefType, ViewType>(type)))
        return op->emitOpError("expected scalars in the body of "
                               "rtile.generate, found ")
               << type;
    return success();
  };
  if (failed(check(op->getOperandTypes(), /*isResult=*/false)) ||
      failed(check(op->getResultTypes(), /*isResult=*/true)))
    return failure();
  SmallVector<MemoryEffects::EffectInstance> effects;
  auto known = dyn_cast<MemoryEffectOpInterface>(op);
  if (known)
    known.getEffects(effects);
  bool onlyReads = llvm::all_of(effects, [](const auto &effect) {
    return isa<MemoryEffects::Read>(effect.getEffect());
  });
  // Others stand in the body themselves.
  if (onlyReads &&
      (known || op->hasTrait<OpTrait::HasRecursiveMemoryEffects>()))
    return success();
  return op->emitOpError("expected operations without effects in the body of "
                         "rtile.generate");
}

LogicalResult GenerateOp::verifyRegions() {
  Block &body = getBody().front();
  if (body.getNumArguments() != 1)
    return emitOpError("expected a body of one index, the place of its entry, "
                       "found ")
           << body.getNumArguments() << " arguments";
  if (Type place = getPlace().getType(); !place.isIndex())
    return emitOpError("expected a body of one index, the place of its entry, "
                       "found ")
           << place;
  auto yield = body.empty() ? YieldOp() : dyn_cast<YieldOp>(body.back());
  if (!yield)
    return emitOpError("expected a body that ends in rtile.yield");
  if (yield.getValues().size() != 1)
    return emitOpError("expected a body that yields one entry, found ")
           << yield.getValues().size();
  Type element = getTable().getType().getElementType();
  if (Type entry = yield.getValues()[0].getType(); entry != element)
    return emitOpError("expected a body that yields an entry of ")
           << element << ", found " << entry;
  WalkResult result = body.walk([](Operation *op) {
    return failed(verifyScalar(op)) ? WalkResult::interrupt()
                                    : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}
