//===- Runner.cpp - One graph, compiled once and called often ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Run/differential/Runner.h"

#include "dialects/Tile/IR/TileDialect.h"
#include "lib/Interpreter/Interpreter.h"
#include "test/Run/differential/ReadGraph.h"
#include "test/Run/differential/Schedulable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <cstring>

namespace ringlet::differential {

namespace {

class Timer {
public:
  double seconds() const {
    std::chrono::duration<double> time =
        std::chrono::steady_clock::now() - begin;
    return time.count();
  }

private:
  std::chrono::steady_clock::time_point begin =
      std::chrono::steady_clock::now();
};

/// Exact results must be equal, bit by bit.
std::string compareExact(const std::vector<Expected> &expected,
                         const std::vector<Expected> &found) {
  if (expected.size() != found.size())
    return "expected " + std::to_string(expected.size()) + " results, found " +
           std::to_string(found.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const Tensor &want = expected[i].exact, &got = found[i].exact;
    std::string where = "result " + std::to_string(i);
    if (want.shape() != got.shape())
      return where + ": expected shape " + toString(want.shape()) + ", found " +
             toString(got.shape());
    if (std::memcmp(want.data(), got.data(),
                    static_cast<size_t>(want.bytes())) == 0)
      continue;
    std::string text;
    forEachIndex(want.shape(), [&](const int64_t *indices) {
      double a = want.view().get(indices), b = got.view().get(indices);
      if (text.empty() && std::memcmp(&a, &b, sizeof a) != 0)
        text = where + ": the graph's value changed, first at " +
               toString(Shape(indices, indices + want.rank())) + ": " +
               std::to_string(a) + " became " + std::to_string(b);
    });
    return text;
  }
  return "";
}

bool areSameBits(const Tensor &a, const Tensor &b) {
  return std::memcmp(a.data(), b.data(), static_cast<size_t>(a.bytes())) == 0;
}

/// The one function of a module.
std::optional<Graph> readModule(mlir::ModuleOp module, std::string *error) {
  auto functions = module.getOps<mlir::func::FuncOp>();
  if (!functions.empty())
    return readGraph(*functions.begin(), error);
  *error = "expected a function, found none";
  return std::nullopt;
}

} // namespace

std::unique_ptr<Call> makeCall(const DrawnGraph &drawn,
                               Configuration configuration,
                               std::string *error) {
  auto call = std::make_unique<Call>(drawn, std::move(configuration));
  std::optional<std::vector<Expected>> expected =
      evaluate(drawn.graph, call->memory.inputs(), /*withUnfused=*/true, error);
  if (!expected) {
    *error = "the oracle refused the case: " + *error;
    return nullptr;
  }
  call->expected = std::move(*expected);
  return call;
}

std::string checkCall(const Call &call, bool hasFarReference) {
  std::string text;
  const std::vector<MutableTensorView> &outputs = call.memory.outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::string failure =
        compareResult(call.expected[i], outputs[i], hasFarReference);
    if (!failure.empty())
      text += "result " + std::to_string(i) + ": " + failure + "\n";
  }
  std::string damage = call.memory.check();
  return damage.empty() ? text : text + damage + "\n";
}

std::string checkGraph(mlir::ModuleOp module, const Call &call) {
  std::string error;
  std::optional<Graph> graph = readModule(module, &error);
  if (!graph)
    return "the graph cannot be read back: " + error;
  auto found = evaluate(*graph, call.memory.inputs(), false, &error);
  if (!found)
    return "the oracle refused the graph that was read back: " + error;
  return compareExact(call.expected, *found);
}

std::string interpretCall(mlir::ModuleOp module, const std::string &entry,
                          Call &call, uint64_t seed) {
  interpreter::Options options;
  options.seed = seed;
  options.chooseFreely = seed % 2 == 1;
  std::string error;
  auto run = [&] {
    call.memory.reset();
    return mlir::succeeded(interpreter::interpret(
        module, entry, call.memory.arguments(), &error, options));
  };
  std::vector<Tensor> results;
  if (hasSchedule(module)) {
    options.interleaving = seed;
    if (!run())
      return "the interpreter stopped: " + error;
    for (const MutableTensorView &output : call.memory.outputs())
      results.push_back(Tensor::copyOf(output));
    // Once more, each role as far as it goes.
    options.interleaving = std::nullopt;
  }
  if (!run())
    return "the interpreter stopped: " + error;
  for (auto [result, output] : llvm::zip(results, call.memory.outputs()))
    if (!areSameBits(result, Tensor::copyOf(output)))
      return "the results depend on the order of steps of the roles";
  // What kernels without a running maximum do to a row is a rebase.
  bool hasFarReference =
      module
          ->walk([](rtile::RebaseOp) { return mlir::WalkResult::interrupt(); })
          .wasInterrupted();
  return checkCall(call, hasFarReference);
}

std::vector<Outcome> Runner::prepare() {
  std::vector<Outcome> outcomes;
  text = toIR(drawn.graph);
  std::string error;
  Timer timer;
  isLowered =
      options.aim == Aim::Roles ||
      (lowering.run(text, !options.levels.empty(), &error) &&
       lowering.runRecipes(text, &error) && lowering.runSplit(text, &error) &&
       lowering.runMma(text, &error));
  isLowered = isLowered && lowering.runSchedules(text, &error);
  outcomes.push_back({"lowering", error, timer.seconds()});
  if (!isLowered || options.levels.empty() || !wants("native"))
    return outcomes;
  compile("compile", text, native, outcomes);
  if (!lowering.lastRecipeStage.empty())
    compile("compile recipe", lowering.lastRecipeStage, nativeRecipe, outcomes,
            /*allLevels=*/false);
  if (!lowering.splitGraph.empty())
    compile("compile split", lowering.splitGraph, nativeSplit, outcomes,
            /*allLevels=*/false);
  return outcomes;
}

void Runner::compile(const std::string &name, const std::string &program,
                     std::unique_ptr<NativeProgram> &result,
                     std::vector<Outcome> &outcomes, bool allLevels) {
  Timer timer;
  std::string error;
  std::vector<std::string> levels = options.levels;
  if (!allLevels)
    levels = {levels.back()};
  result = NativeProgram::create(program, levels, &error);
  outcomes.push_back({name, error, timer.seconds()});
}

void Runner::print() const {
  for (const Stage &stage : lowering.stages)
    llvm::outs() << "// after " << stage.name << "\n" << stage.text << "\n";
}

std::string Runner::checkGraphStage(Stage &stage, const Call &call,
                                    bool thorough) {
  // Equal texts have equal results. Once a graph that is computed all the same.
  std::string error;
  std::optional<Graph> graph = readModule(*stage.module, &error);
  if (graph && !thorough && meaningOf(*graph) == meaningOf(drawn.graph))
    return "";
  return checkGraph(*stage.module, call);
}

std::vector<Outcome> Runner::run(int64_t number, Configuration configuration,
                                 bool thorough) {
  std::vector<Outcome> outcomes;
  auto record = [&](const std::string &stage, auto check) {
    Timer timer;
    std::string failure = check();
    outcomes.push_back({stage, std::move(failure), timer.seconds()});
  };
  std::unique_ptr<Call> call;
  record("oracle", [&] {
    std::string error;
    call = makeCall(drawn, std::move(configuration), &error);
    return error;
  });
  if (!call || !isLowered)
    return outcomes;

  std::vector<Stage *> tiles;
  for (Stage &stage : lowering.stages) {
    if (!wants(stage.name))
      continue;
    if (stage.kind == Stage::Kind::Tile)
      tiles.push_back(&stage);
    else
      record(stage.name,
             [&] { return checkGraphStage(stage, *call, thorough); });
  }
  if (!thorough && !tiles.empty())
    tiles = {tiles[static_cast<size_t>(number) / kGraphs % tiles.size()]};
  for (Stage *stage : tiles)
    record(stage->name, [&] {
      return interpretCall(*stage->module, drawn.graph.name, *call,
                           static_cast<uint64_t>(number));
    });
  auto runNative = [&](const std::string &name, NativeProgram &program,
                       size_t level, bool hasFarReference) {
    if (!wants(name))
      return;
    record(name, [&] {
      call->memory.reset();
      std::string failure =
          program.run(level, drawn.graph.name, call->memory.arguments());
      return failure.empty() ? checkCall(*call, hasFarReference) : failure;
    });
  };
  for (size_t i = 0; i < options.levels.size(); ++i) {
    if (native)
      runNative("native " + options.levels[i], *native, i, false);
  }
  if (nativeRecipe)
    runNative("native recipe " + options.levels.back(), *nativeRecipe, 0, true);
  if (nativeSplit)
    runNative("native split " + options.levels.back(), *nativeSplit, 0, false);
  return outcomes;
}

} // namespace ringlet::differential
