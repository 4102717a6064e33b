//===- PlanWriter.h - rplan.func to an artefact's plan ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One operation of rplan becomes one step, buffer or expression. Expressions
// are shared: equal ones, of all plans of a function, are written once.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_PLANWRITER_H
#define RINGLET_LIB_COMPILER_PLANWRITER_H

#include "dialects/Plan/IR/PlanDialect.h"
#include "ringlet/abi/ArtifactGenerated.h"

#include "llvm/ADT/StringMap.h"

#include <map>

namespace ringlet {

/// The expressions of one function.
class ExprTable {
public:
  using Term = abi::ExprTerm;

  explicit ExprTable(abi::FunctionT &function) : function(function) {}

  uint32_t constant(int64_t value);
  uint32_t size(uint32_t argument, uint32_t axis);
  uint32_t scalar(uint32_t argument);
  /// A leaf that reads nothing of the arguments.
  uint32_t machine(abi::ExprOp op);
  uint32_t binary(abi::ExprOp op, uint32_t lhs, uint32_t rhs);

  /// Whether the value of an expression depends on more than inputs: on the
  /// sizes of an output, or on the machine.
  bool readsMore(uint32_t expr) const { return moreReaders[expr]; }
  std::optional<int64_t> constantOf(uint32_t expr) const;

private:
  uint32_t add(std::vector<Term> terms);
  void append(std::vector<Term> &terms, uint32_t expr) const;

  abi::FunctionT &function;
  std::map<std::vector<std::tuple<uint8_t, uint8_t, uint32_t, int64_t>>,
           uint32_t>
      known;
  std::vector<bool> moreReaders;
};

/// Writes the plans of one function, one a call of `addPlan`.
class PlanWriter {
public:
  /// Sets name and arguments of `function` from `plan`; sizes of outputs that
  /// the plan ties to inputs become expressions. Constants of plans are added
  /// to `constants`.
  PlanWriter(rplan::FuncOp plan, abi::FunctionT &function,
             std::vector<std::unique_ptr<abi::ConstantT>> &constants);

  /// Appends the plan of `plan`, which has the arguments of the first one.
  /// `kernels` numbers the kernels by symbol, `functions` the functions. Fails
  /// with a diagnostic.
  mlir::LogicalResult addPlan(rplan::FuncOp plan,
                              const llvm::StringMap<uint32_t> &kernels,
                              const llvm::StringMap<uint32_t> &functions,
                              uint32_t codeObject);

private:
  struct State;

  mlir::FailureOr<uint32_t> expr(State &state, mlir::Value value);
  mlir::FailureOr<uint32_t> arithmetic(State &state, mlir::Operation *op);
  mlir::FailureOr<uint32_t> sizeOf(State &state, rplan::SizeOp op);
  mlir::LogicalResult tileIndex(State &state, rplan::TileIndexOp op,
                                abi::BufferT &entry);
  /// The number of a constant of this content, an existing one if it can be.
  mlir::LogicalResult ordinalTable(State &state, rplan::OrdinalTableOp op,
                                   abi::BufferT &entry);
  /// The number of a buffer that the next step uses.
  mlir::FailureOr<uint32_t> buffer(State &state, mlir::Value value);
  mlir::FailureOr<std::unique_ptr<abi::BufferT>> makeBuffer(State &state,
                                                            mlir::Value value);
  mlir::FailureOr<abi::LaunchT> makeLaunch(State &state, mlir::Operation *op,
                                           llvm::StringRef name,
                                           mlir::ValueRange grid,
                                           mlir::ValueRange args);
  /// Adds a step, `op`, with its queue and what it waits for.
  template <typename OpT, typename ActionT>
  void addQueued(State &state, OpT op, ActionT action);
  template <typename ActionT>
  abi::StepT &addStep(State &state, ActionT action);
  mlir::LogicalResult copy(State &state, rplan::CopyOp op);
  mlir::LogicalResult launch(State &state, rplan::LaunchOp op);
  mlir::LogicalResult exchange(State &state, rplan::ExchangeOp op);
  mlir::LogicalResult attend(State &state, rplan::AttendOp op);
  mlir::LogicalResult align(State &state, rplan::AlignedOp op);
  mlir::LogicalResult require(State &state, rplan::RequireOp op);
  void inferOutputSizes(State &state, rplan::FuncOp plan);

  abi::FunctionT &function;
  std::vector<std::unique_ptr<abi::ConstantT>> &constants;
  ExprTable exprs;
};

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_PLANWRITER_H
