//===- Runner.h - One graph, compiled once and called often -----*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_RUN_DIFFERENTIAL_RUNNER_H
#define RINGLET_TEST_RUN_DIFFERENTIAL_RUNNER_H

#include "test/Run/differential/Evaluate.h"
#include "test/Run/differential/Generate.h"
#include "test/Run/differential/Lowering.h"
#include "test/Run/differential/Memory.h"
#include "test/Run/differential/Native.h"

namespace ringlet::differential {

/// What happened at one stage; no text means that all was right.
struct Outcome {
  std::string stage;
  std::string failure;
  /// Time that the stage took.
  double seconds = 0;
};

/// One call of a graph with what its results must be.
struct Call {
  Call(const DrawnGraph &drawn, Configuration drawnConfiguration)
      : configuration(std::move(drawnConfiguration)),
        memory(drawn.graph, configuration) {}

  Configuration configuration;
  Memory memory;
  std::vector<Expected> expected;
};

/// Makes the inputs of a call and computes its results by the oracle, from the
/// generator's graph, which no compiler has seen. Null, and `*error` set, if
/// the oracle refuses it.
std::unique_ptr<Call> makeCall(const DrawnGraph &drawn,
                               Configuration configuration, std::string *error);

/// Compares the outputs of a call with what they must be, and all other memory
/// with what it was. Empty, or what is wrong.
std::string checkCall(const Call &call, bool hasFarReference = false);

/// Computes a graph as it stands in the IR and compares, exactly.
std::string checkGraph(mlir::ModuleOp module, const Call &call);

/// Interprets plan and kernels of a module for a call, then checks the call.
std::string interpretCall(mlir::ModuleOp module, const std::string &entry,
                          Call &call, uint64_t seed);

struct RunnerOptions {
  /// A stage runs if its name contains this.
  std::string stage;
  /// Of graphs for kernels with roles, only the stages with roles are made.
  Aim aim = Aim::Anything;
  /// Instruction-set levels of native code; none for no code at all.
  std::vector<std::string> levels;
};

class Runner {
public:
  Runner(const DrawnGraph &drawn, const RunnerOptions &options)
      : drawn(drawn), options(options) {}

  /// Lowers and compiles the graph; failures are outcomes.
  std::vector<Outcome> prepare();
  /// Calls the graph. `thorough` runs every stage; otherwise one of the stages
  /// of tile programs, chosen by `number`, stands for the others.
  std::vector<Outcome> run(int64_t number, Configuration configuration,
                           bool thorough);

  const std::string &getText() const { return text; }
  /// Prints the module after each pass.
  void print() const;

private:
  bool wants(const std::string &stage) const {
    return stage.find(options.stage) != std::string::npos;
  }
  /// For all levels, or for the highest one alone, which takes less time.
  void compile(const std::string &name, const std::string &program,
               std::unique_ptr<NativeProgram> &result,
               std::vector<Outcome> &outcomes, bool allLevels = true);
  std::string checkGraphStage(Stage &stage, const Call &call, bool thorough);

  const DrawnGraph &drawn;
  const RunnerOptions &options;
  std::string text;
  Lowering lowering;
  bool isLowered = false;
  /// The graph as the compiler compiles it, the last stage of a recipe, and the
  /// graph with short parts of the keys; null if there is none.
  std::unique_ptr<NativeProgram> native, nativeRecipe, nativeSplit;
};

} // namespace ringlet::differential

#endif // RINGLET_TEST_RUN_DIFFERENTIAL_RUNNER_H
