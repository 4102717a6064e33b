//===- Main.cpp - Every planted miscompile must be caught -------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lowers the graphs of the differential test, damages the module after a pass,
// and calls it as the differential test does, with the scores that the mistake
// needs. It counts as caught when a call fails that is right without it. Those
// that no graph of a seed catches are let loose on those of the next one.
//
//===----------------------------------------------------------------------===//

#include "test/Run/differential/Runner.h"
#include "test/Run/planted/Mutations.h"

#include "mlir/IR/Verifier.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

using namespace ringlet::differential;
using namespace ringlet::planted;

namespace {

/// Calls of each graph.
constexpr int64_t kCalls = 9;
/// Sets of graphs.
constexpr uint64_t kSeeds = 10;

struct Hunt {
  Mutation mutation;
  /// Graphs that had a place for the mistake, and calls of them.
  int places = 0, calls = 0;
  bool caught = false;
  uint64_t seed = 0;
  int64_t number = 0;
  std::string failure;
};

/// The oracle on a damaged graph, or the interpreter on a damaged program.
std::string check(Stage::Kind kind, mlir::ModuleOp module,
                  const DrawnGraph &drawn, Call &call, int64_t number) {
  if (kind == Stage::Kind::Graph)
    return checkGraph(module, call);
  return interpretCall(module, drawn.graph.name, call,
                       static_cast<uint64_t>(number));
}

/// Whether a mistake is at home where kernels have roles only.
bool isScheduled(const Mutation &mutation) {
  return std::strncmp(mutation.stage, "scheduled ", 10) == 0;
}

/// Makes the stages that mistakes are put into.
bool lower(Lowering &lowering, const std::string &text, Aim aim,
           std::string &error) {
  if (aim == Aim::Roles)
    return lowering.runSchedules(text, &error) &&
           lowering.runRecipes(text, &error);
  return lowering.run(text, /*toMachine=*/false, &error) &&
         lowering.runRecipes(text, &error) && lowering.runSplit(text, &error);
}

/// Lets the mistakes that are still at large loose on one graph.
bool hunt(uint64_t seed, int64_t graph, Aim aim, std::vector<Hunt> &hunts) {
  DrawnGraph drawn = drawGraph(seed, graph, aim);
  Lowering lowering;
  std::string error;
  std::string text = toIR(drawn.graph);
  if (!lower(lowering, text, aim, error)) {
    std::printf("graph %lld: %s\n", static_cast<long long>(graph),
                error.c_str());
    return false;
  }
  std::map<std::pair<int64_t, std::optional<Data>>, std::unique_ptr<Call>>
      calls;
  for (Hunt &hunt : hunts) {
    if (hunt.caught)
      continue;
    auto stage = std::find_if(
        lowering.stages.begin(), lowering.stages.end(),
        [&](const Stage &entry) { return entry.name == hunt.mutation.stage; });
    if (stage == lowering.stages.end())
      continue;
    mlir::OwningOpRef<mlir::ModuleOp> damaged = stage->module->clone();
    if (!hunt.mutation.apply(*damaged))
      continue;
    if (mlir::failed(mlir::verify(*damaged))) {
      std::printf("'%s' leaves a module that does not verify\n",
                  hunt.mutation.name);
      return false;
    }
    ++hunt.places;
    for (int64_t i = 0; i < kCalls && !hunt.caught; ++i) {
      int64_t number = graph + i * kGraphs;
      std::unique_ptr<Call> &call = calls[{number, hunt.mutation.scores}];
      if (!call) {
        Configuration configuration = drawConfiguration(seed, number, drawn);
        configuration.data = hunt.mutation.scores.value_or(configuration.data);
        call = makeCall(drawn, std::move(configuration), &error);
      }
      if (!call) {
        std::printf("case %lld: %s\n", static_cast<long long>(number),
                    error.c_str());
        return false;
      }
      ++hunt.calls;
      std::string failure = check(stage->kind, *damaged, drawn, *call, number);
      if (failure.empty() ||
          !check(stage->kind, *stage->module, drawn, *call, number).empty())
        continue;
      hunt.caught = true;
      hunt.seed = seed;
      hunt.number = number;
      hunt.failure = failure.substr(0, failure.find('\n'));
    }
  }
  return true;
}

} // namespace

int main(int argc, char **argv) {
  char *end = nullptr;
  uint64_t first = argc == 2 ? std::strtoull(argv[1], &end, 10) : 3;
  if (argc > 2 || (end && *end)) {
    std::fputs("usage: planted-test [seed]\n", stderr);
    return 2;
  }
  std::vector<Hunt> hunts;
  for (auto list : {graphMutations(), indexMutations(), arithmeticMutations(),
                    recipeMutations(), splitMutations(), scheduleMutations()})
    for (const Mutation &mutation : list) {
      Hunt entry;
      entry.mutation = mutation;
      hunts.push_back(entry);
    }
  // Graphs for roles are all for recipes, which may want rows of many keys.
  for (uint64_t seed = first; seed < first + kSeeds; ++seed) {
    for (const Hunt &hunt : hunts)
      if (seed != first && !hunt.caught)
        std::fprintf(stderr, "seed %llu: to be caught: %s\n",
                     static_cast<unsigned long long>(seed), hunt.mutation.name);
    for (Aim aim : {Aim::Anything, Aim::Roles}) {
      auto isDone = [&](const Hunt &hunt) {
        return hunt.caught ||
               (aim == Aim::Anything && isScheduled(hunt.mutation));
      };
      for (int64_t graph = 0; graph < kGraphs; ++graph) {
        if (std::all_of(hunts.begin(), hunts.end(), isDone))
          break;
        if (!hunt(seed, graph, aim, hunts))
          return EXIT_FAILURE;
      }
    }
  }

  int failed = 0;
  for (const Hunt &hunt : hunts) {
    if (hunt.caught) {
      std::printf("caught: %s\n  by call %d, seed %llu, case %lld: %.110s\n",
                  hunt.mutation.name, hunt.calls,
                  static_cast<unsigned long long>(hunt.seed),
                  static_cast<long long>(hunt.number), hunt.failure.c_str());
      continue;
    }
    ++failed;
    std::printf("FAILED: nothing noticed that %s, in %d calls of %d graphs\n",
                hunt.mutation.name, hunt.calls, hunt.places);
  }
  std::printf("%d passed, %d failed\n", static_cast<int>(hunts.size()) - failed,
              failed);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
