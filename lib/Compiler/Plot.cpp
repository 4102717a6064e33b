//===- Plot.cpp - Pictures of a module ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/Plot.h"

#include "lib/Compiler/StaticAttention.h"
#include "lib/Plot/OrderPlot.h"
#include "lib/Plot/PatternPlot.h"
#include "passes/Orders/CollectOrders.h"

using namespace mlir;
using namespace ringlet;

namespace {

/// The most panels of one picture.
constexpr size_t kMostPanels = 16;

class Plotter {
public:
  Plotter(ModuleOp module, StringRef kind) : module(module), kind(kind) {}

  LogicalResult run(std::string &svg);

private:
  LogicalResult addOrders();
  LogicalResult addAttention(attn::AttentionOp op);

  ModuleOp module;
  StringRef kind;
  std::vector<plot::Panel> panels;
};

} // namespace

LogicalResult Plotter::addOrders() {
  for (const FoundOrder &use : collectOrders(module)) {
    std::string error;
    if (panels.size() == kMostPanels)
      return emitError(use.location)
             << "expected at most " << kMostPanels
             << " orders to draw, found more; draw some at a time";
    if (!plot::plotOrder(*use.order.getOrder(), use.length,
                         panels.emplace_back(), error))
      return emitError(use.location) << error;
  }
  return success();
}

LogicalResult Plotter::addAttention(attn::AttentionOp op) {
  std::string error;
  std::optional<plot::Attention> attention =
      readStaticAttention(op, "draw", error);
  if (!attention)
    return op.emitOpError() << error;
  for (size_t i = 0; i < attention->spec.branches.size(); ++i) {
    if (panels.size() == kMostPanels)
      return op.emitOpError("expected at most ")
             << kMostPanels
             << " branches to draw, found more; draw some at a "
                "time";
    plot::Panel &panel = panels.emplace_back();
    bool drawn;
    if (kind == "tiles" && op.isUnion())
      return op.emitOpError("expected a kernel for each branch to draw, found "
                            "combine = union; --combine=chain draws one");
    if (kind == "pattern") {
      drawn = plot::plotPattern(*attention, i, panel, error);
    } else {
      auto tiling = op.getTilingOf(i);
      drawn = plot::plotTiles(*attention, i, tiling.getQuery(), tiling.getKey(),
                              panel, error);
    }
    if (!drawn)
      return op.emitOpError("branch ") << i << ": " << error;
  }
  return success();
}

LogicalResult Plotter::run(std::string &svg) {
  if (kind == "order") {
    if (failed(addOrders()))
      return failure();
  } else if (module
                 ->walk([&](attn::AttentionOp op) {
                   return failed(addAttention(op)) ? WalkResult::interrupt()
                                                   : WalkResult::advance();
                 })
                 .wasInterrupted()) {
    return failure();
  }
  if (panels.empty())
    return emitError(module.getLoc())
           << "expected "
           << (kind == "order" ? "an #rlayout.order" : "a ringlet.attention")
           << " to draw, found none";
  svg = plot::drawFigure(kind == "order"     ? "Tokens along their slots"
                         : kind == "pattern" ? "Keys that queries see"
                                             : "Tiles of scores",
                         panels);
  return success();
}

LogicalResult ringlet::plotModule(ModuleOp module, StringRef kind,
                                  std::string &svg) {
  return Plotter(module, kind).run(svg);
}
