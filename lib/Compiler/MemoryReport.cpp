//===- MemoryReport.cpp - Memory that attentions touch ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/MemoryReport.h"

#include "dialects/Ringlet/IR/TilePattern.h"
#include "lib/Compiler/Decisions.h"
#include "lib/Compiler/StaticAttention.h"
#include "lib/Cost/MemoryTraffic.h"
#include "lib/Cost/OrderChoice.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace ringlet;

namespace {

class Report {
public:
  Report(attn::AttentionOp op, const plot::Attention &attention)
      : op(op), attention(attention) {}

  /// The lines for branch `index`.
  std::string branch(size_t index);

private:
  cost::BranchWalk walkOf(size_t index);
  std::vector<layout::OrderSpec> orders(int64_t rate);
  std::optional<cost::Traffic> count(const cost::BranchWalk &walk,
                                     const layout::OrderSpec &spec,
                                     std::string &error);

  attn::AttentionOp op;
  const plot::Attention &attention;
};

} // namespace

cost::BranchWalk Report::walkOf(size_t index) {
  const oracle::Branch &branch = attention.spec.branches[index];
  cost::BranchWalk walk;
  walk.queries = attention.queries;
  walk.keys = attention.keys;
  walk.queryOffset = attention.keys - attention.queries; // S1
  walk.pattern =
      attn::getTilePattern(op, cast<attn::BranchAttr>(op.getBranches()[index]),
                           op.getTilingOf(index));

  // Of all batch items.
  int64_t items = op.getQuery().getType().getDimSize(0);
  oracle::HeadRange heads =
      branch.heads.value_or(oracle::HeadRange{0, attention.queryHeads});
  llvm::MapVector<std::pair<int64_t, int64_t>, int64_t> readers;
  for (int64_t head = heads.begin; head < heads.end; ++head) {
    int64_t keyHead = head / (attention.queryHeads / attention.keyHeads);
    int64_t residue = layout::headResidue(
        branch.offset, branch.offsetByQuery ? head : keyHead,
        branch.offsetByQuery ? attention.queryHeads : attention.keyHeads,
        branch.dilation, branch.constant);
    readers[{keyHead, residue}] += items;
  }
  for (const auto &[key, count] : readers)
    walk.readers.push_back({key.first, key.second, count});
  return walk;
}

/// The order that K and V have first, then others to compare it with.
std::vector<layout::OrderSpec> Report::orders(int64_t rate) {
  std::vector<layout::OrderSpec> found;
  auto add = [&](const layout::OrderSpec &spec) {
    if (!llvm::is_contained(found, spec))
      found.push_back(spec);
  };
  std::vector<int64_t> grid;
  if (attention.spec.gridWindow)
    grid = attention.spec.gridWindow->grid;
  if (rlayout::OrderAttr own = rlayout::getOrder(op.getKey().getType())) {
    add(own.getSpec());
    if (grid.empty())
      grid = own.getSpec().grid;
  }
  add(layout::OrderSpec());
  for (const layout::OrderSpec &spec :
       cost::ordersToCompare(attention.keys, rate, grid))
    add(spec);
  return found;
}

std::optional<cost::Traffic> Report::count(const cost::BranchWalk &walk,
                                           const layout::OrderSpec &spec,
                                           std::string &error) {
  std::shared_ptr<const layout::Order> order = layout::makeOrder(spec, &error);
  if (!order)
    return std::nullopt;
  error = order->validate(attention.keys);
  if (!error.empty())
    return std::nullopt;
  int64_t bytes = op.getKey().getType().getElementTypeBitWidth() / 8;
  std::optional<cost::Traffic> keys, values;
  keys = cost::countTraffic(
      walk, {attention.keyHeads, op.getHeadDim() * bytes, order}, error);
  values =
      op.getHeadDim() == op.getValueDim()
          ? keys
          : cost::countTraffic(
                walk, {attention.keyHeads, op.getValueDim() * bytes, order},
                error);
  std::optional<cost::Traffic> table = cost::countTable(walk, order, error);
  if (!keys || !values || !table)
    return std::nullopt;
  for (const cost::Traffic *other : {&*values, &*table}) {
    keys->requested += other->requested;
    keys->distinct += other->distinct;
  }
  return keys;
}

std::string Report::branch(size_t index) {
  const oracle::Branch &branch = attention.spec.branches[index];
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "branch " << index
      << ", w = " << (branch.segment ? std::to_string(*branch.segment) : "*")
      << ", r = " << branch.dilation;
  cost::BranchWalk walk = walkOf(index);
  bool first = true;
  for (const layout::OrderSpec &spec : orders(branch.dilation)) {
    std::string error;
    std::optional<cost::Traffic> found = count(walk, spec, error);
    if (!found) {
      out << ": " << error << "\n";
      return text;
    }
    int64_t items = op.getQuery().getType().getDimSize(0);
    auto mean = [](int64_t sum, int64_t count) {
      return static_cast<double>(sum) /
             static_cast<double>(std::max<int64_t>(count, 1));
    };
    if (first)
      out << ": " << found->queryTiles << " tiles of " << walk.pattern.queryRows
          << " queries load " << found->keyTiles << " tiles of "
          << walk.pattern.keyRows
          << " keys, each of K, of V and of "
             "the table of their rows if they need one; on average\n"
          << "    a tile of keys      a tile of queries                       "
             "    all of them                distinct\n"
          << " lines sectors pages     lines   sectors           lines        "
             "sectors     lines   sectors  order\n";
    const cost::Touched &all = found->requested;
    out << llvm::format("%6.1f %7.1f %5.1f", mean(all.lines, found->keyTiles),
                        mean(all.sectors, found->keyTiles),
                        mean(all.pages, found->keyTiles))
        << llvm::format(" %9.0f %9.0f", mean(all.lines, found->queryTiles),
                        mean(all.sectors, found->queryTiles))
        << llvm::format(" %15lld %14lld", static_cast<long long>(all.lines),
                        static_cast<long long>(all.sectors))
        << llvm::format(" %9lld %9lld",
                        static_cast<long long>(items * found->distinct.lines),
                        static_cast<long long>(items * found->distinct.sectors))
        << "  " << layout::describe(spec) << (first ? ", as it is" : "")
        << "\n";
    first = false;
  }
  return text;
}

std::string ringlet::reportMemory(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream out(text);
  module->walk([&](attn::AttentionOp op) {
    std::string place = placeOf(op.getLoc());
    std::string prefix = (place.empty() ? "" : place + ": ") + "memory: ";
    if (auto function = op->getParentOfType<func::FuncOp>())
      prefix += "@" + function.getSymName().str() + ": ";
    if (op.isUnion()) {
      out << prefix
          << "expected a kernel for each branch to count, found combine = "
             "union; --combine=chain counts one\n";
      return;
    }
    std::string error;
    std::optional<plot::Attention> attention =
        readStaticAttention(op, "count", error);
    if (!attention) {
      out << prefix << error << "\n";
      return;
    }
    for (size_t i = 0; i < attention->spec.branches.size(); ++i)
      out << prefix << Report(op, *attention).branch(i);
  });
  return text;
}
