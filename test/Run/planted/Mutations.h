//===- Mutations.h - Wrong rewrites, on purpose -----------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each is what a pass with a plausible bug would leave behind: the module still
// verifies and computes something. The differential test must notice.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_RUN_PLANTED_MUTATIONS_H
#define RINGLET_TEST_RUN_PLANTED_MUTATIONS_H

#include "test/Run/differential/Generate.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <vector>

namespace ringlet::planted {

struct Mutation {
  const char *name;
  /// The pass after which it happens.
  const char *stage;
  /// Changes the module; false if it has no place for this mistake.
  bool (*apply)(mlir::ModuleOp module);
  /// The only scores that bring it to light, if not any do.
  std::optional<differential::Data> scores = std::nullopt;
};

/// Mistakes in graphs, in which keys a kernel visits, in its arithmetic, in the
/// passes that prepare kernels with a recipe, in parts of the keys, and in
/// roles and channels.
std::vector<Mutation> graphMutations();
std::vector<Mutation> indexMutations();
std::vector<Mutation> arithmeticMutations();
std::vector<Mutation> recipeMutations();
std::vector<Mutation> splitMutations();
std::vector<Mutation> scheduleMutations();

} // namespace ringlet::planted

#endif // RINGLET_TEST_RUN_PLANTED_MUTATIONS_H
