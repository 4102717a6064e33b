//===- Options.cpp - What options of a compilation are called -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ringlet/Compile.h"

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "lib/Arch/Target.h"
#include "lib/Evaluator/VerifyOrders.h"
#include "lib/Layout/Curve.h"
#include "passes/Recipes/Recipe.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

using namespace llvm;
using namespace ringlet;

std::string ringlet::parseTarget(std::string_view target,
                                 CompileOptions &options) {
  SmallVector<StringRef> names;
  StringRef(target.data(), target.size()).split(names, ',');
  // "cpu" alone leaves the choice to the compiler.
  if (target == "cpu")
    return "";
  for (StringRef name : names) {
    // What "cpu" stands for depends on the module.
    if (name == "cpu") {
      options.levels.push_back("cpu");
      continue;
    }
    std::string error;
    bool isLevel = name.consume_front("cpu:");
    if (isLevel ? !arch::lookupCPULevel(name.str(), &error)
                : !arch::lookupTarget(name.str(), &error))
      return error;
    options.levels.push_back(name.str());
  }
  return "";
}

std::string ringlet::parseRecipe(std::string_view name,
                                 CompileOptions &options) {
  std::string error;
  if (parseRecipeRequest(name, error))
    options.recipe = name;
  return error;
}

std::string ringlet::listRecipes() { return listRecipeRequests(); }

std::string ringlet::parseOrder(std::string_view name,
                                CompileOptions &options) {
  std::string list = "auto";
  bool isKnown = name == "auto";
  for (const layout::CurveRow &row : layout::curveRows()) {
    if (row.table == layout::Use::Required)
      continue;
    isKnown |= name == row.name;
    list += ", " + std::string(row.name);
  }
  if (!isKnown)
    return "expected one of " + list + ", found '" + std::string(name) + "'";
  options.order = name;
  return "";
}

std::string ringlet::parseCombine(std::string_view name,
                                  CompileOptions &options) {
  StringRef text(name.data(), name.size());
  if (text != "auto" && !attn::symbolizeCombine(text))
    return "expected one of auto, apart, chain, union, found '" +
           std::string(name) + "'";
  options.combine = name;
  return "";
}

std::string ringlet::parseExplain(std::string_view topic,
                                  CompileOptions &options) {
  options.explainMemory = topic == "memory";
  if (options.explainMemory || topic.empty())
    return "";
  return "expected memory or nothing, found '" + std::string(topic) + "'";
}

std::string ringlet::parseVerifyOrders(std::string_view list,
                                       CompileOptions &options) {
  VerifyOrdersOptions verify;
  std::string error =
      parseVerifyOrders(StringRef(list.data(), list.size()), verify);
  options.verifySeed = verify.seed;
  options.verifyDraws = verify.draws;
  return error;
}

std::string ringlet::parsePlot(std::string_view file, CompileOptions &options) {
  for (StringRef kind : {"order", "pattern", "tiles"})
    if (StringRef(file.data(), file.size()).ends_with((kind + ".svg").str())) {
      options.plot = kind.str();
      return "";
    }
  return "expected a file name that ends in order.svg, pattern.svg or "
         "tiles.svg, found '" +
         std::string(file) + "'";
}

std::string ringlet::parseEmit(std::string_view name, CompileOptions &options) {
  static const std::pair<std::string_view, Emit> kinds[] = {
      {"ringlet", Emit::Ringlet},   {"rtile", Emit::RTile},
      {"schedule", Emit::Schedule}, {"rplan", Emit::RPlan},
      {"llvm", Emit::LLVM},         {"asm", Emit::Assembly},
      {"obj", Emit::Object},        {"ptx", Emit::PTX},
      {"cubin", Emit::Cubin},       {"rla", Emit::Artifact}};
  std::string list;
  for (auto [known, kind] : kinds) {
    if (known == name) {
      options.emit = kind;
      return "";
    }
    list += (list.empty() ? "" : ", ") + std::string(known);
  }
  return "expected one of " + list + ", found '" + std::string(name) + "'";
}
