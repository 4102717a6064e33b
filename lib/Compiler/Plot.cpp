//===- Plot.cpp - Pictures of a module ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/Plot.h"

#include "lib/Compiler/OracleBranch.h"
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
  FailureOr<plot::Attention> read(attn::AttentionOp op);

  ModuleOp module;
  StringRef kind;
  std::vector<plot::Panel> panels;
};

} // namespace

FailureOr<plot::Attention> Plotter::read(attn::AttentionOp op) {
  // What is an operand is known when the program runs, not here.
  for (auto [value, name, rule] :
       {std::tuple{op.getQOffset() != nullptr, "q_offset", "S1"},
        {op.getQueryLengths() != nullptr, "lengths", "S2"},
        {op.isPacked(), "packed", "S2"},
        {!op.getSizes().empty(), "sizes", "B1"},
        {op.getBlockMask() != nullptr, "block_mask", "B6"}})
    if (value)
      return op.emitOpError("expected an attention without runtime values to "
                            "draw, found ")
             << name << " (" << rule << "); leave it out or draw a case of it";
  plot::Attention result;
  result.queries = op.getQuery().getType().getDimSize(1);
  result.keys = op.getKey().getType().getDimSize(1);
  if (ShapedType::isDynamic(result.queries) ||
      ShapedType::isDynamic(result.keys))
    return op.emitOpError("expected sequences of a static length to draw, "
                          "found ?; write one of at most ")
           << plot::kMostPositions << ", as in tensor<1x256x8x64xf32>";
  result.queryHeads = op.getQueryHeads();
  result.keyHeads = op.getKeyHeads();

  oracle::AttentionSpec &spec = result.spec;
  for (attn::BranchAttr branch : op.getBranchRange())
    spec.branches.push_back(toOracle(branch, result.queryHeads));
  spec.causal = op.getCausal();
  if (auto window = op.getWindow()) {
    if ((*window)[0] >= 0)
      spec.windowLeft = (*window)[0];
    if ((*window)[1] >= 0)
      spec.windowRight = (*window)[1];
  }
  if (auto window = op.getGridWindow())
    spec.gridWindow = {{window->getGrid().begin(), window->getGrid().end()},
                       {window->getReach().begin(), window->getReach().end()}};
  if (auto order = op.getPatternOrder())
    spec.patternOrder = order->getSpec();
  return result;
}

LogicalResult Plotter::addOrders() {
  for (const OrderUse &use : collectOrders(module)) {
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
  FailureOr<plot::Attention> attention = read(op);
  if (failed(attention))
    return failure();
  for (size_t i = 0; i < attention->spec.branches.size(); ++i) {
    if (panels.size() == kMostPanels)
      return op.emitOpError("expected at most ")
             << kMostPanels
             << " branches to draw, found more; draw some at a "
                "time";
    plot::Panel &panel = panels.emplace_back();
    std::string error;
    bool drawn;
    if (kind == "pattern") {
      drawn = plot::plotPattern(*attention, i, panel, error);
    } else {
      auto tiling = cast<attn::TilingAttr>((*op.getTilings())[i]);
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
