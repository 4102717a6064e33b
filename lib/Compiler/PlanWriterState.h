//===- PlanWriterState.h - What one plan adds to its function ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_PLANWRITERSTATE_H
#define RINGLET_LIB_COMPILER_PLANWRITERSTATE_H

#include "lib/Compiler/PlanWriter.h"

namespace ringlet {

/// What one plan adds to the function.
struct PlanWriter::State {
  State(abi::PlanT *plan, const llvm::StringMap<uint32_t> &kernels,
        const llvm::StringMap<uint32_t> &functions)
      : plan(plan), kernels(kernels), functions(functions) {}
  abi::PlanT *plan;
  const llvm::StringMap<uint32_t> &kernels, &functions; // By symbol.
  llvm::DenseMap<mlir::Value, uint32_t> exprs;
  llvm::DenseMap<mlir::Value, uint32_t> buffers;
  llvm::DenseMap<mlir::Value, uint32_t> events; // Steps by their events.
  llvm::DenseMap<mlir::Value, uint32_t> chunks; // Exchanges by their results.
  /// Those that the next step waits for because of its operands.
  llvm::SmallVector<uint32_t> copies;
};

template <typename ActionT>
abi::StepT &PlanWriter::addStep(State &state, ActionT action) {
  state.plan->steps.push_back(std::make_unique<abi::StepT>());
  abi::StepT &step = *state.plan->steps.back();
  step.action.Set(std::move(action));
  return step;
}

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_PLANWRITERSTATE_H
