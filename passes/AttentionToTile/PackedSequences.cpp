//===- PackedSequences.cpp - Grids over packed sequences -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "passes/AttentionToTile/PackedSequences.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ringlet;

/// At least as many as there are halvings of `count` until 1 is left: those by
/// 2^k take k, and of n that are left then there are fewer than n.
static Value boundHalvings(HostPlan &plan, Value count) {
  Value bound = plan.sub(count, plan.constant(1));
  for (int64_t k = 4; k <= 12; k += 4)
    bound = plan.min(bound, plan.add(plan.ceilDiv(count, int64_t(1) << k),
                                     plan.constant(k - 1)));
  return bound;
}

PackedSequences::PackedSequences(HostPlan &plan, KernelBuilder &k,
                                 const HostTensor &starts, Value rows,
                                 Value partRows, int64_t spare)
    : k(k), spare(spare) {
  Value one = plan.constant(1);
  Value sequences = plan.sub(starts.sizes[0], one);
  // A longer part is one of all rows, so that products below stay in 64 bits.
  partRows = plan.min(partRows, plan.max(rows, one));
  extent = plan.add(plan.floorDiv(rows, partRows),
                    plan.mul(sequences, plan.constant(spare)));
  extent = plan.mul(extent, plan.min(sequences, one));
  this->partRows = k.addNumber("part_rows", partRows);
  halvings = k.addNumber("halvings", boundHalvings(plan, sequences));
}

/// The last sequence whose points begin at or before `point`. Starts that do
/// not rise lead to another one, but always to one of the list.
PackedSequences::Place PackedSequences::find(Value starts, Value rows,
                                             Value point) {
  OpBuilder &builder = k.getBuilder();
  Value zero = k.constant(0), one = k.constant(1);
  Value sequences =
      k.add("sequences", k.size("starts", starts, 0), k.constant(-1));
  auto loop = k.create<scf::ForOp>("found", zero, halvings, one,
                                   ValueRange{zero, sequences});
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    loop.getInductionVar().setLoc(k.named("halving"));
    Value low = loop.getRegionIterArg(0), high = loop.getRegionIterArg(1);
    low.setLoc(k.named("low"));
    high.setLoc(k.named("high"));
    Value middle = k.div("middle", k.add("ends", low, high), 2);
    Value entry = k.create<memref::LoadOp>("entry", starts, middle);
    Value start =
        k.create<arith::IndexCastOp>("start", builder.getIndexType(), entry);
    // start / partRows <= point - middle * spare, without a division.
    Value part = k.create<arith::SubIOp>("most_parts", point,
                                         k.mul("spare", middle, spare));
    Value end =
        k.create<arith::MulIOp>("end", k.add("next_part", part, one), partRows);
    Value begins = k.create<arith::CmpIOp>("begins", arith::CmpIPredicate::slt,
                                           start, end);
    Value nextLow = k.create<arith::SelectOp>("next_low", begins, middle, low);
    Value nextHigh =
        k.create<arith::SelectOp>("next_high", begins, high, middle);
    scf::YieldOp::create(builder, k.getLoc(), ValueRange{nextLow, nextHigh});
  }
  Place place;
  place.sequence = loop.getResult(0);
  place.first = k.readIndex("first_row", starts, place.sequence, zero, rows);
  Value firstPoint =
      k.add("first_point",
            k.create<arith::DivUIOp>("whole_parts", place.first, partRows),
            k.mul("spare", place.sequence, spare));
  place.part = k.create<arith::SubIOp>("part", point, firstPoint);
  return place;
}
