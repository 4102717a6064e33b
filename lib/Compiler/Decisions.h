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

namespace ringlet {

struct Decision {
  /// The pass: "ringlet-choose-tiling".
  std::string pass;
  /// What the remark is called: "Tiling".
  std::string name;
  /// Function or kernel that it is about; may be empty.
  std::string function;
  /// "12:8", the place in the source, or empty.
  std::string place;
  std::string text;
  std::optional<mlir::Location> location;
};

using Decisions = std::vector<Decision>;

/// From now on remarks of `context` go to the returned list, which lives until
/// its last owner forgets it; one collector at a time.
std::shared_ptr<Decisions> collectDecisions(mlir::MLIRContext &context);

/// One line a decision: "12:8: ringlet-choose-tiling: TEXT".
std::string formatDecisions(const Decisions &decisions);

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_DECISIONS_H
