//===- HostPlan.h - Builds an rplan.func -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_ATTENTIONTOTILE_HOSTPLAN_H
#define RINGLET_PASSES_ATTENTIONTOTILE_HOSTPLAN_H

#include "dialects/Plan/IR/PlanDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/SymbolTable.h"

namespace ringlet {

/// A tensor of the graph as the host sees it.
struct HostTensor {
  mlir::Value buffer;
  /// One `index` an axis, a constant where the type knows the size.
  llvm::SmallVector<mlir::Value> sizes;

  mlir::MemRefType getType() const {
    return llvm::cast<mlir::MemRefType>(buffer.getType());
  }
  mlir::Type getElementType() const { return getType().getElementType(); }
  explicit operator bool() const { return static_cast<bool>(buffer); }
};

/// Builds the plan of one entry, and stands for it while kernels are emitted.
class HostPlan {
public:
  /// Creates the plan of `function` in front of it, with the same arguments
  /// and its results as outputs.
  HostPlan(mlir::func::FuncOp function, mlir::SymbolTable &symbols);
  /// Goes on with a plan, in front of `before`.
  HostPlan(rplan::FuncOp plan, mlir::Operation *before,
           mlir::SymbolTable &symbols);

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::SymbolTable &getSymbols() { return symbols; }
  llvm::StringRef getName() { return plan.getSymName(); }
  mlir::Location getLoc() { return location; }
  /// Operations from here on are for an operation at `loc`.
  void setLoc(mlir::Location loc) { location = loc; }

  /// Argument or output number `index`, and `size`d axes.
  HostTensor getInput(unsigned index);
  HostTensor getOutput(unsigned index);
  /// Any buffer of the plan.
  HostTensor getTensor(mlir::Value buffer);

  /// Kernels launched and memory taken from here on are for calls in which
  /// `condition`, 0 or 1, is 1: in others their grids and buffers are empty.
  /// Null: for all calls.
  void setCondition(mlir::Value one) { condition = one; }
  /// `extent`, or 0 in calls that the condition excludes.
  mlir::Value orNothing(mlir::Value extent) {
    return condition ? mul(extent, condition) : extent;
  }

  /// Integers; constants fold.
  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value max(mlir::Value a, mlir::Value b);
  mlir::Value floorDiv(mlir::Value a, mlir::Value b);
  mlir::Value floorDiv(mlir::Value a, int64_t b) {
    return floorDiv(a, constant(b));
  }
  mlir::Value ceilDiv(mlir::Value a, mlir::Value b);
  mlir::Value ceilDiv(mlir::Value a, int64_t b) {
    return ceilDiv(a, constant(b));
  }

  /// Of the device that the plan runs on.
  mlir::Value multiprocessors();

  /// True if a >= b.
  mlir::Value atLeast(mlir::Value a, mlir::Value b);

  /// Refuses the call by a rule ("B1") unless a == b, where that is not known
  /// already.
  void requireEqual(mlir::Value a, mlir::Value b, const llvm::Twine &message,
                    llvm::StringRef rule);

  /// The same unless a <= b.
  void requireAtMost(mlir::Value a, mlir::Value b, const llvm::Twine &message,
                     llvm::StringRef rule);

  /// A buffer for a tensor of `type`, whose dynamic sizes are those of
  /// `sizes`.
  HostTensor workspace(llvm::ArrayRef<int64_t> shape, mlir::Type element,
                       llvm::ArrayRef<mlir::Value> sizes);

  /// The table of an order for a sequence of `length`.
  mlir::Value orderTable(rlayout::OrderAttr order, mlir::Value length,
                         bool inverse);

  /// Positions of the ordinals of a pattern order from `first` on or, with a
  /// length, the rows of a sequence at these positions.
  mlir::Value ordinalTable(rlayout::OrderAttr pattern, mlir::Value first,
                           mlir::Value length = {}, mlir::Value offset = {},
                           rlayout::OrderAttr memory = {});

private:
  rplan::FuncOp plan;
  mlir::SymbolTable &symbols;
  mlir::OpBuilder builder;
  mlir::Location location;
  mlir::Value condition;
};

/// The integer that `value` is known to be.
std::optional<int64_t> getConstant(mlir::Value value);

} // namespace ringlet

#endif // RINGLET_PASSES_ATTENTIONTOTILE_HOSTPLAN_H
