//===- LowerRunsTest.cpp - rtile-lower-runs keeps every promise -----------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The closed forms that the pass writes, run by the interpreter and held
// against the description of the operations that they replace.
//
//===----------------------------------------------------------------------===//

#include "RunCase.h"

#include "dialects/Tile/IR/TileDialect.h"
#include "passes/TileOpt/Passes.h"

#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

using namespace ringlet;
using namespace ringlet::interpreter;
using namespace ringlet::interpreter::test;

static void lowerRuns(const Module &module) {
  mlir::PassManager manager((*module)->getContext());
  manager.addPass(createRTileLowerRuns());
  ASSERT_TRUE(mlir::succeeded(manager.run(*module)));
  (*module)->walk([](rtile::RunOp op) { ADD_FAILURE() << "a run is left"; });
}

TEST(LowerRuns, RandomCasesKeepEveryPromise) {
  Random random(6);
  Tally tally;
  for (int trial = 0; trial < 4000; ++trial) {
    Case c = randomCase(random, /*apart=*/false);
    SCOPED_TRACE("trial " + std::to_string(trial) + c.text());
    std::vector<double> mask;
    Found found = runCase(c, mask, {}, lowerRuns);
    // The description allows fewer whole steps; the pass is held to the most.
    checkRun(c, found, /*natural=*/true, tally);
    if (HasFatalFailure())
      return;
  }
  EXPECT_GT(tally.empty, 500);
  EXPECT_GT(tally.none, 500);
  EXPECT_GT(tally.partly, 300);
  EXPECT_GT(tally.whole, 300);
}
