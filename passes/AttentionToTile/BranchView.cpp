//===- BranchView.cpp - The rows of one segment and residue -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/BranchView.h"

#include "lib/Layout/Dilation.h"

using namespace mlir;
using namespace ringlet;

BranchView::BranchView(KernelBuilder &k, Attention &attention,
                       const BranchSizes &sizes)
    : k(k), attention(attention), sizes(sizes),
      queries(attention.rows.getRows(Side::Query, sizes)),
      keys(attention.rows.getRows(Side::Key, sizes)) {}

void BranchView::declare() {
  if (ShapedType::isDynamic(sizes.getW()))
    w = k.addScalar("w", sizes.w);
  if (ShapedType::isDynamic(sizes.getR()))
    r = k.addScalar("r", sizes.r);
  for (Side side : {Side::Query, Side::Key}) {
    bool isQuery = side == Side::Query;
    k.addTable(isQuery ? "q_rows" : "k_rows", getOrder(side).rows);
    k.addTable(isQuery ? "q_positions" : "k_positions",
               getOrder(side).positions);
  }
}

/// c mod r, which rounds down; `r` is null where the compiler knows `rate`.
static Value makeResidue(KernelBuilder &k, int64_t c, Value r, int64_t rate) {
  if (!r)
    return k.constant(layout::floorMod(c, rate));
  if (c >= 0)
    return k.create<arith::RemUIOp>("residue", k.constant(c), r);
  Value below = k.create<arith::RemUIOp>("below", k.constant(-1 - c), r);
  return k.create<arith::SubIOp>("residue", k.add("last", r, k.constant(-1)),
                                 below);
}

Value ringlet::makeResidue(HostPlan &plan, KernelBuilder &k,
                           Attention &attention, unsigned index, Value head,
                           Value keyHead, Value r) {
  const BranchSizes &sizes = attention.sizes[index];
  attn::AttentionOp op = attention.op;
  attn::BranchAttr branch = attention.getBranch(index);
  // Without r, what the graph says: kernels that are told it have one.
  int64_t rate = branch.getR();
  if (rate == 1 && !r)
    return nullptr;
  bool byQuery = branch.getBy() == attn::HeadKind::Query;
  Value x = byQuery ? head : keyHead;
  int64_t heads = byQuery ? op.getQueryHeads() : op.getKeyHeads();
  switch (branch.getOffset()) {
  case attn::OffsetRule::Modulo:
    return k.create<arith::RemUIOp>("residue", x, r ? r : k.constant(rate));
  case attn::OffsetRule::Block: {
    Value share = plan.ceilDiv(plan.constant(heads), sizes.r);
    if (std::optional<int64_t> known = getConstant(share); known && !r)
      return k.div("residue", x, *known);
    return k.create<arith::DivUIOp>("residue", x,
                                    k.addScalar("heads_of_residue", share));
  }
  case attn::OffsetRule::Constant:
    return ::makeResidue(k, branch.getConstant(), r, rate);
  }
  llvm_unreachable("every offset rule has a residue");
}

KernelBuilder::Rows BranchView::getRows(Side side, Value origin, Value segment,
                                        Value residue,
                                        const SequencePart &part) {
  const RowOrder &order = getOrder(side);
  return {origin,
          segment,
          residue,
          k.getTable(order.rows),
          k.getTable(order.positions),
          order.order,
          part.first,
          part.end,
          w,
          r};
}
