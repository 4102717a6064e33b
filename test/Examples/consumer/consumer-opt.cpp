//===- consumer-opt.cpp - A tool of another project -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ringlet's dialects and passes beside a pass of one's own, which here makes
// every attention causal.
//
//===----------------------------------------------------------------------===//

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "ringlet/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

namespace {

struct MakeCausal : mlir::PassWrapper<MakeCausal, mlir::OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MakeCausal)
  llvm::StringRef getArgument() const override { return "make-causal"; }
  llvm::StringRef getDescription() const override {
    return "Hide keys behind each query";
  }
  void runOnOperation() override {
    getOperation()->walk(
        [](ringlet::attn::AttentionOp op) { op.setCausal(true); });
  }
};

} // namespace

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  ringlet::registerAllDialects(registry);
  ringlet::registerAllPasses();
  mlir::PassRegistration<MakeCausal>();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "consumer-opt: Ringlet and a pass of our own\n", registry));
}
