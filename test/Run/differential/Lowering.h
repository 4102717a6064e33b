//===- Lowering.h - Every stage of a graph on its way down ------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_RUN_DIFFERENTIAL_LOWERING_H
#define RINGLET_TEST_RUN_DIFFERENTIAL_LOWERING_H

#include "test/Run/differential/Graph.h"

#include "dialects/Ringlet/IR/RingletDialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>

namespace mlir {
class PassManager;
} // namespace mlir

namespace ringlet {
struct Recipe;
} // namespace ringlet

namespace ringlet::differential {

/// The module as one pass left it.
struct Stage {
  enum class Kind {
    /// Functions of ringlet operations: the oracle can compute it.
    Graph,
    /// Plans and tile programs: the interpreter can run it.
    Tile,
  };
  /// The pass, "graph" for the input; the second pass of a name is "name#2".
  std::string name;
  Kind kind = Kind::Graph;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string text;
};

/// A graph taken through the pipelines that the compiler runs, whatever passes
/// they consist of, with the module kept after each one that changed it and
/// that something can execute.
class Lowering {
  /// Outlives the modules.
  mlir::MLIRContext context;

public:
  Lowering();
  /// Parses `text` and lowers it, to tile programs or on to machine code;
  /// false, and `*error` set, if that fails.
  bool run(const std::string &text, bool toMachine, std::string *error);

  std::vector<Stage> stages;
  /// Adds the stages of kernels that recipes are forced on, as long as they are
  /// plain tile programs, with tile heights that follow from the text.
  /// Attention that no recipe is possible for adds nothing. Then those of all
  /// kernels with the general recipe, whatever they start from.
  bool runRecipes(const std::string &text, std::string *error);
  /// Adds the stages of kernels for few queries, with short parts of the keys
  /// and tiles that follow from the text.
  bool runSplit(const std::string &text, std::string *error);
  /// The graph that asks for these kernels; empty if there can be none.
  std::string splitGraph;
  /// Adds the stages of kernels that recipes are forced on, from where they are
  /// scheduled to where they become code for a GPU.
  bool runSchedules(const std::string &text, std::string *error);
  /// Adds the stages of kernels for mma.sync, as long as they are plain tile
  /// programs.
  bool runMma(const std::string &text, std::string *error);
  /// What the last recipe made of the graph; empty if it has none.
  std::string lastRecipeStage;
  /// Every pass that ran, in order.
  std::vector<std::string> passes;

  /// The last stage of a kind, or null.
  Stage *last(Stage::Kind kind);
  mlir::MLIRContext &getContext() { return context; }

private:
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text,
                                          std::string *error);
  bool runPasses(mlir::PassManager &pm, mlir::ModuleOp module,
                 std::string *error);
  bool runRecipe(const std::string &text, const Recipe &recipe,
                 int64_t queryRows, int64_t keyRows, std::string *error);
  bool runGeneralRecipe(const std::string &text, std::string *error);
  class Snapshots;
};

} // namespace ringlet::differential

#endif // RINGLET_TEST_RUN_DIFFERENTIAL_LOWERING_H
