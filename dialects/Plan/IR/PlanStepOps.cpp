//===- PlanStepOps.cpp - Steps of a plan -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/Plan/IR/PlanDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace ringlet;
using namespace ringlet::rplan;

/// That `op` gives the kernel what it expects.
static LogicalResult verifyKernelUse(Operation *op, FlatSymbolRefAttr symbol,
                                     size_t gridRank, TypeRange arguments,
                                     SymbolTableCollection &symbols) {
  Operation *kernel = symbols.lookupNearestSymbolFrom(op, symbol);
  if (!kernel)
    return op->emitOpError("expected a kernel, found no symbol ") << symbol;
  if (isa<FuncOp>(kernel))
    return op->emitOpError("expected a kernel, found the plan ") << symbol;
  // Any function-like operation with one entry block serves: rtile.func, or
  // what a lowering made of it.
  auto kernelRank = kernel->getAttrOfType<IntegerAttr>("grid_rank");
  if (!kernelRank || kernel->getNumRegions() != 1 ||
      kernel->getRegion(0).empty())
    return success();
  uint64_t rank = kernelRank.getInt();
  if (gridRank != rank)
    return op->emitOpError("expected a grid of rank ")
           << rank << " for " << symbol << ", found " << gridRank;
  Block &body = kernel->getRegion(0).front();
  if (body.getNumArguments() < rank)
    return success(); // the kernel's own verifier says so
  SmallVector<Type> types(body.getArgumentTypes());
  types.truncate(types.size() - rank);
  if (llvm::equal(types, arguments))
    return success();
  InFlightDiagnostic diagnostic =
      op->emitOpError("expected arguments of types (");
  llvm::interleaveComma(types, diagnostic);
  diagnostic << ") for " << symbol << ", found (";
  llvm::interleaveComma(arguments, diagnostic);
  return diagnostic << ")";
}

//===----------------------------------------------------------------------===//
// LaunchOp
//===----------------------------------------------------------------------===//

void LaunchOp::build(OpBuilder &builder, OperationState &state,
                     StringRef kernel, ValueRange grid, ValueRange args) {
  build(builder, state, Type(), kernel, grid, args, Queue::compute,
        ValueRange(), FlatSymbolRefAttr(), ValueRange(), ValueRange());
}

void LaunchOp::setFallbackLaunch(StringRef kernel, ValueRange grid,
                                 ValueRange args) {
  // They may be operands of this operation.
  SmallVector<Value> gridCopy(grid), argsCopy(args);
  setFallback(kernel);
  getFallbackGridMutable().assign(gridCopy);
  getFallbackArgsMutable().assign(argsCopy);
}

LogicalResult LaunchOp::verify() {
  size_t operands = getFallbackGrid().size() + getFallbackArgs().size();
  if (!getFallback() && operands != 0)
    return emitOpError("expected a kernel to launch otherwise, found only ")
           << operands << " operands for one";
  if (getFallback() == getKernel())
    return emitOpError("expected another kernel to launch otherwise, found "
                       "the same, ")
           << getKernelAttr();
  return success();
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (failed(verifyKernelUse(*this, getKernelAttr(), getGrid().size(),
                             getArgs().getTypes(), symbols)))
    return failure();
  return getFallback() ? verifyKernelUse(*this, getFallbackAttr(),
                                         getFallbackGrid().size(),
                                         getFallbackArgs().getTypes(), symbols)
                       : success();
}

//===----------------------------------------------------------------------===//
// CopyOp
//===----------------------------------------------------------------------===//

void CopyOp::build(OpBuilder &builder, OperationState &state, Value source,
                   Value destination) {
  build(builder, state, Type(), source, destination, Queue::compute,
        ValueRange());
}

LogicalResult CopyOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  auto destination = cast<MemRefType>(getDestination().getType());
  if (source.getElementType() != destination.getElementType() ||
      failed(verifyCompatibleShape(source, destination)))
    return emitOpError("expected buffers of one element type and the same "
                       "sizes, found ")
           << source << " and " << destination;
  if (getSource() == getDestination())
    return emitOpError("expected two buffers, found one");
  auto argument = dyn_cast<BlockArgument>(getDestination());
  auto plan = (*this)->getParentOfType<FuncOp>();
  bool isOutput =
      argument && plan && argument.getArgNumber() >= plan.getNumInputs();
  if (!isOutput && !getDestination().getDefiningOp<WorkspaceOp>())
    return emitOpError("expected an output or a workspace as the destination, "
                       "found ")
           << (argument ? "an input" : "another buffer");
  return success();
}

//===----------------------------------------------------------------------===//
// AlignedOp
//===----------------------------------------------------------------------===//

LogicalResult AlignedOp::verify() {
  auto input = dyn_cast<BlockArgument>(getInput());
  auto plan = (*this)->getParentOfType<FuncOp>();
  if (!input || !plan || input.getArgNumber() >= plan.getNumInputs())
    return emitOpError("expected an input of the plan, found ")
           << (input ? "an output" : "another buffer");
  if (getInput().getType().getRank() == 0)
    return emitOpError("expected a buffer with rows, found ")
           << getInput().getType();
  return success();
}

LogicalResult AlignedOp::verifySymbolUses(SymbolTableCollection &symbols) {
  Type type = getInput().getType();
  return verifyKernelUse(*this, getKernelAttr(), getGrid().size(), {type, type},
                         symbols);
}
