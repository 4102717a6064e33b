//===- PipelineRow.h - Loops that one pipeline can be made of -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_RECIPES_PIPELINEROW_H
#define RINGLET_PASSES_RECIPES_PIPELINEROW_H

#include "passes/TileOpt/LoopRows.h"

#include <optional>
#include <string>

namespace ringlet {

/// Where `op` is to run; null if nothing says it.
rtile::StageAttr getStage(mlir::Operation *op);

/// Whether it is to run in a later stage than 0.
bool isLate(mlir::Operation *op);

/// The operands of `op`; null for the sum that a product begins.
llvm::SmallVector<mlir::Value> getStageOperands(mlir::Operation *op);

/// Late operations of one step, and the step's other operations.
struct Step {
  /// Null for a step in front of the loops.
  mlir::scf::ForOp loop;
  llvm::SmallVector<mlir::Operation *> late;

  mlir::scf::ForOp getLoop() const { return loop; }
  /// The number of the late operation that makes `value`, or -1.
  int64_t getNumber(mlir::Value value) const {
    mlir::Operation *op = value ? value.getDefiningOp() : nullptr;
    const auto *at = llvm::find(late, op);
    return at == late.end() ? -1 : at - late.begin();
  }
  bool isInside(mlir::Value value) const {
    return loop &&
           getLoop().getBodyRegion().isAncestor(value.getParentRegion());
  }
};

/// A value that a late operation takes from an earlier stage.
struct Crossing {
  /// In each step of the row; null for zero.
  llvm::SmallVector<mlir::Value> values;
  /// Late operations and their operands.
  llvm::SmallVector<std::pair<int64_t, int64_t>> uses;
  mlir::Type type;
};

/// What makes a pipeline of loops, or why they are none.
class PipelineRow {
public:
  /// With `front`, a step before the first loop comes first.
  static std::optional<PipelineRow>
  match(llvm::ArrayRef<mlir::scf::ForOp> loops, bool hasFront,
        std::string &why);

  llvm::ArrayRef<Step> getSteps() const { return steps; }
  const Step &getFirstLoop() const { return steps[hasFront]; }

  bool hasFront = false;
  llvm::SmallVector<Step> steps;
  llvm::SmallVector<Crossing> crossings;
  /// For each carried value, the late operation and its result that make it,
  /// or -1.
  llvm::SmallVector<std::pair<int64_t, unsigned>> lateSlots;

private:
  bool collect(llvm::ArrayRef<mlir::scf::ForOp> loops, std::string &why);
  bool areAlike(std::string &why);
  bool findCrossings(std::string &why);
  bool findSlots(std::string &why);
  bool checkOrder(std::string &why);
  bool checkMemory(std::string &why);
  bool fail(std::string &why, const llvm::Twine &text) {
    why = text.str();
    return false;
  }
};

} // namespace ringlet

#endif // RINGLET_PASSES_RECIPES_PIPELINEROW_H
