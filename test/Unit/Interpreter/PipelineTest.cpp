//===- PipelineTest.cpp - Pipelined loops compute what loops compute
//-------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random rows of loops, with several products and loads, state from outside,
// and from no step on, run by the interpreter before and after software
// pipelining. The order of work changes and no arithmetic does, so results
// agree to the bit.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include "dialects/Tile/IR/TileDialect.h"
#include "passes/Recipes/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

#include <gtest/gtest.h>

using namespace ringlet;
using namespace ringlet::interpreter;
using namespace ringlet::interpreter::test;

namespace {

constexpr int64_t side = 4, rowsOfData = 40, mostLoops = 3;

const std::string tileType = "tensor<4x4xf32>";
const std::string viewType = "!rtile.view<4x4xf32>";
const std::string bufferType = "memref<?x4xf32, strided<[?, 1]>>";

/// The text of one random row of loops.
class Generator {
public:
  explicit Generator(Random &random) : random(random) {}

  /// With `sameStep`, all loops and the step in front have one body.
  std::string getKernel(bool sameStep, bool hasFront);
  int64_t loops = 1;

private:
  struct Body {
    /// With %ROW for the row of the step, %INn for what is carried and a prefix
    /// for names.
    std::vector<std::string> lines;
    std::vector<std::string> results;
  };
  Body draw();
  std::string emit(const Body &body, const std::string &prefix,
                   const std::string &row,
                   const std::vector<std::string> &state,
                   std::vector<std::string> &next);
  std::string oneOf(const std::vector<std::string> &names) {
    return names[random.pick(0, names.size() - 1)];
  }
  static std::string replace(std::string text, const std::string &from,
                             const std::string &to) {
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
         at += to.size())
      text.replace(at, from.size(), to);
    return text;
  }

  Random &random;
  int64_t carried = 1;
};

Generator::Body Generator::draw() {
  Body body;
  std::vector<std::string> tiles{"%fixed"}, loads, products;
  for (int64_t i = 0; i < carried; ++i)
    tiles.push_back("@IN" + std::to_string(i) + "@");
  int64_t count = random.pick(3, 12);
  for (int64_t i = 0; i < count; ++i) {
    std::string name = "@N@v" + std::to_string(i);
    std::string line;
    switch (random.pick(0, 5)) {
    case 0:
    case 1:
      line = "rtile.load %view" + std::to_string(random.pick(0, 1)) +
             "[@ROW@, %c0] : " + viewType;
      loads.push_back(name);
      break;
    case 2:
    case 3: {
      // A product of what was computed with what was loaded, as in attention.
      bool isBehind = !products.empty() && random.flip();
      std::string left = oneOf(isBehind ? products : tiles);
      std::string right = oneOf(loads.empty() ? tiles : loads);
      line = "rtile.dot " + left + ", " + right;
      if (random.flip())
        line += " transposed";
      if (random.flip())
        line += " init(" + oneOf(tiles) + ")";
      line += " : " + tileType + ", " + tileType + " -> " + tileType;
      products.push_back(name);
      break;
    }
    case 4:
      line = "math.tanh " + oneOf(tiles) + " : " + tileType;
      break;
    default:
      line = (random.flip() ? "arith.addf " : "arith.mulf ") + oneOf(tiles) +
             ", " + oneOf(tiles) + " : " + tileType;
    }
    body.lines.push_back(name + " = " + line);
    tiles.push_back(name);
  }
  for (int64_t i = 0; i < carried; ++i) {
    // Numbers stay small whatever the number of steps.
    std::string from =
        !products.empty() && random.flip() ? products.back() : oneOf(tiles);
    std::string bounded = "@N@r" + std::to_string(i);
    if (random.pick(0, 2) == 0) {
      body.lines.push_back(bounded + " = math.tanh " + from + " : " + tileType);
      from = bounded;
    }
    body.results.push_back(from);
  }
  return body;
}

std::string Generator::emit(const Body &body, const std::string &prefix,
                            const std::string &row,
                            const std::vector<std::string> &state,
                            std::vector<std::string> &next) {
  auto fill = [&](std::string text) {
    text = replace(text, "@N@", "%" + prefix);
    text = replace(text, "@ROW@", row);
    for (size_t i = 0; i < state.size(); ++i)
      text = replace(text, "@IN" + std::to_string(i) + "@", state[i]);
    return text;
  };
  std::string text;
  for (const std::string &line : body.lines)
    text += "  " + fill(line) + "\n";
  next.clear();
  for (const std::string &result : body.results)
    next.push_back(fill(result));
  return text;
}

std::string Generator::getKernel(bool sameStep, bool hasFront) {
  carried = random.pick(1, 3);
  loops = random.pick(1, mostLoops);
  std::string text = "rtile.func @k(%X: " + bufferType + ", %Y: " + bufferType +
                     ", %OUT: " + bufferType;
  for (int64_t i = 0; i < mostLoops; ++i)
    text += ", %from" + std::to_string(i) + ": index, %to" + std::to_string(i) +
            ": index";
  text += ") grid(%i: index) {\n  %c0 = arith.constant 0 : index\n"
          "  %c1 = arith.constant 1 : index\n"
          "  %c9 = arith.constant 9 : index\n";
  for (auto [number, buffer] : {std::pair("0", "X"), {"1", "Y"}})
    text += std::string("  %view") + number + " = rtile.view %" + buffer +
            "[*, *] : " + bufferType + " to " + viewType + "\n";
  text += "  %out = rtile.view %OUT[*, *] : " + bufferType + " to " + viewType +
          "\n  %fixed = rtile.load %view0[%c9, %c0] : " + viewType + "\n";
  std::vector<std::string> state, next;
  for (int64_t i = 0; i < carried; ++i) {
    std::string row = "%c" + std::to_string(i % 2);
    text += "  %s" + std::to_string(i) + " = rtile.load %view1[" + row +
            ", %c0] : " + viewType + "\n";
    state.push_back("%s" + std::to_string(i));
  }
  Body body = draw();
  if (hasFront) {
    text += emit(body, "f", "%c9", state, next);
    state = next;
  }
  for (int64_t loop = 0; loop < loops; ++loop) {
    std::string n = std::to_string(loop);
    std::string types, inits;
    std::vector<std::string> arguments, results;
    for (int64_t i = 0; i < carried; ++i) {
      std::string comma = i ? ", " : "";
      arguments.push_back("%a" + n + "_" + std::to_string(i));
      results.push_back("%l" + n + "#" + std::to_string(i));
      inits += comma + arguments.back() + " = " + state[i];
      types += comma + tileType;
    }
    text += "  %l" + n + ":" + std::to_string(carried) + " = scf.for %r" + n +
            " = %from" + n + " to %to" + n + " step %c1 iter_args(" + inits +
            ") -> (" + types + ") {\n";
    text += emit(body, "b" + n + "_", "%r" + n, arguments, next);
    text += "  scf.yield ";
    for (int64_t i = 0; i < carried; ++i)
      text += (i ? ", " : "") + next[i];
    text += " : " + types + "\n  }\n";
    state = results;
    if (!sameStep)
      body = draw();
  }
  for (int64_t i = 0; i < carried; ++i)
    text += "  %o" + std::to_string(i) + " = arith.constant " +
            std::to_string(i * side) + " : index\n  rtile.store " + state[i] +
            ", %out[%o" + std::to_string(i) + ", %c0] : " + viewType + "\n";
  return text + "  rtile.return\n}\n";
}

/// What the kernel writes, or why it does not run.
std::vector<double> run(const Module &module, const std::vector<int64_t> &ends,
                        uint64_t data) {
  Random random(data);
  std::vector<double> x, y;
  for (int64_t i = 0; i < rowsOfData * side; ++i) {
    x.push_back(random.uniform());
    y.push_back(random.uniform());
  }
  Tensor X = makeTensor(DType::f32, {rowsOfData, side}, x);
  Tensor Y = makeTensor(DType::f32, {rowsOfData, side}, y);
  Tensor out = filled(DType::f32, {3 * side, side}, 0);
  std::vector<KernelArgument> arguments{X.view(), Y.view(), out.view()};
  for (int64_t end : ends)
    arguments.emplace_back(end);
  EXPECT_EQ(module.runKernel("k", arguments, {1}), "");
  return elements(out);
}

/// Rows of no step, of one, and of some.
std::vector<int64_t> drawEnds(Random &random) {
  std::vector<int64_t> ends;
  for (int64_t i = 0; i < mostLoops; ++i) {
    int64_t from = random.pick(0, 6);
    ends.push_back(from);
    ends.push_back(from + random.oneOf({-1, 0, 1, 1, 2, 3, 7}));
  }
  return ends;
}

/// NaNs are alike.
bool isSame(const std::vector<double> &a, const std::vector<double> &b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) {
           return x == y || (x != x && y != y);
         });
}

struct Tally {
  int same = 0, changed = 0, nested = 0;
};

/// Runs `passes` on a random kernel; what it computes may not change.
template <typename Passes>
void check(Random &random, bool sameStep, bool hasFront, Passes passes,
           Tally &tally) {
  Generator generator(random);
  std::string text = generator.getKernel(sameStep, hasFront);
  SCOPED_TRACE(text);
  Module before(text), after(text);
  passes(*after);
  ASSERT_TRUE(mlir::succeeded(mlir::verify(*after)));
  int64_t loopsAfter = 0, choices = 0;
  (*after)->walk([&](mlir::scf::ForOp) { ++loopsAfter; });
  (*after)->walk([&](mlir::scf::IfOp) { ++choices; });
  (*after)->walk([](mlir::Operation *op) {
    EXPECT_FALSE(op->hasAttr(rtile::kStageAttr));
  });
  EXPECT_EQ(loopsAfter, generator.loops);
  std::string printed;
  llvm::raw_string_ostream stream(printed);
  (*after)->print(stream);
  SCOPED_TRACE("becomes " + printed);
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<int64_t> ends = drawEnds(random);
    uint64_t data = random.next();
    SCOPED_TRACE("with bounds " + list(ends));
    std::vector<double> expected = run(before, ends, data);
    ASSERT_TRUE(isSame(expected, run(after, ends, data)));
  }
  std::string unchanged;
  llvm::raw_string_ostream plain(unchanged);
  (*before)->print(plain);
  bool isChanged = unchanged != printed;
  tally.nested += choices > 0;
  ++(isChanged ? tally.changed : tally.same);
}

void runPasses(mlir::ModuleOp module,
               llvm::function_ref<void(mlir::PassManager &)> add) {
  mlir::PassManager manager(module.getContext());
  add(manager);
  ASSERT_TRUE(mlir::succeeded(manager.run(module)));
}

TEST(Pipeline, AssignedStagesChangeNoResult) {
  Random random(11);
  Tally tally;
  for (int trial = 0; trial < 1500 && !::testing::Test::HasFailure(); ++trial) {
    RTileAssignStagesOptions options;
    options.mostStage = random.pick(1, 3);
    options.reload = random.flip();
    bool sameStep = random.pick(0, 3) != 0;
    check(
        random, sameStep, sameStep && random.flip(),
        [&](mlir::ModuleOp module) {
          runPasses(module, [&](mlir::PassManager &manager) {
            manager.addPass(createRTileAssignStages(options));
            manager.addPass(createRTilePipelineLoops());
          });
        },
        tally);
  }
  EXPECT_GT(tally.changed, 200);
  EXPECT_GT(tally.nested, 100);
  EXPECT_GT(tally.changed - tally.nested, 30);
}

/// Stages and clusters that nobody thought about: what cannot be is refused.
TEST(Pipeline, RandomStagesChangeNoResult) {
  Random random(12);
  Tally tally;
  for (int trial = 0; trial < 1500 && !::testing::Test::HasFailure(); ++trial) {
    int64_t mostStage = random.pick(1, 3);
    bool isOrdered = random.flip();
    check(
        random, /*sameStep=*/random.flip(), /*hasFront=*/false,
        [&](mlir::ModuleOp module) {
          module->walk([&](mlir::scf::ForOp loop) {
            int64_t stage = 0;
            for (mlir::Operation &op : loop.getBody()->without_terminator()) {
              // Stages that only rise have a better chance.
              stage = isOrdered
                          ? std::min(stage + random.pick(0, 4) / 4, mostStage)
                          : random.pick(0, mostStage);
              op.setAttr(
                  rtile::kStageAttr,
                  rtile::StageAttr::get(module.getContext(), stage,
                                        isOrdered ? stage : random.pick(0, 2)));
            }
          });
          runPasses(module, [](mlir::PassManager &manager) {
            manager.addPass(createRTilePipelineLoops());
          });
        },
        tally);
  }
  EXPECT_GT(tally.changed, 200);
  EXPECT_GT(tally.same, 200);
}

} // namespace
