//===- PrintOrder.cpp - Print the token of each slot ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Plot/OrderPlot.h"
#include "passes/Orders/CollectOrders.h"
#include "passes/Orders/Passes.h"

#include "llvm/Support/raw_ostream.h"

namespace ringlet {
#define GEN_PASS_DEF_RLAYOUTPRINTORDER
#include "passes/Orders/Passes.h.inc"
} // namespace ringlet

using namespace mlir;
using namespace ringlet;

namespace {

struct PrintOrder : ringlet::impl::RLayoutPrintOrderBase<PrintOrder> {
  void runOnOperation() override {
    // All or nothing: a refusal leaves no lines behind.
    std::string text;
    llvm::raw_string_ostream out(text);
    for (const FoundOrder &use : collectOrders(getOperation())) {
      std::shared_ptr<const layout::Order> order = use.order.getOrder();
      std::string error;
      int64_t count = plot::slotsToShow(*order, use.length, error);
      std::vector<int64_t> tokens;
      if (count)
        tokens = order->permutation(count, &error);
      if (tokens.empty()) {
        emitError(use.location) << error;
        return signalPassFailure();
      }
      out << use.order << ':';
      for (int64_t token : tokens)
        out << ' ' << token;
      out << '\n';
    }
    llvm::outs() << text;
    llvm::outs().flush();
    markAllAnalysesPreserved();
  }
};

} // namespace
