//===- Decisions.h - What the passes decided, and why ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes report every automatic choice as an MLIR remark. This collects them,
// for `--explain` and for the artefact.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_DECISIONS_H
#define RINGLET_LIB_COMPILER_DECISIONS_H

#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class PassManager;
} // namespace mlir

namespace ringlet {

struct Decision {
  /// The pass: "ringlet-choose-tiling".
  std::string pass;
  /// What the remark is called: "Tiling".
  std::string name;
  /// Function or kernel that it is about; may be empty.
  std::string function;
  /// That is what the pass ran on, and the text does not say it.
  bool isOfPass = false;
  /// Branch of an attention that it is about.
  std::optional<unsigned> branch;
  /// "12:8", the place in the source, or empty.
  std::string place;
  std::string text;
  std::optional<mlir::Location> location;
};

using Decisions = std::vector<Decision>;

/// Collects the remarks of a context while it lives; one at a time.
class DecisionLog {
public:
  explicit DecisionLog(mlir::MLIRContext &context);
  ~DecisionLog();

  /// Remarks of passes that run on a function or a kernel get its name.
  void watch(mlir::PassManager &pm);
  const Decisions &get() const;

private:
  struct State;
  mlir::MLIRContext &context;
  std::shared_ptr<State> state;
};

/// "12:8", the first place in a file that `loc` names, or empty.
std::string placeOf(mlir::Location loc);

/// One line a decision: "12:8: ringlet-choose-tiling: TEXT".
std::string formatDecisions(const Decisions &decisions);

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_DECISIONS_H
