//===- Artifact.h - What an artefact says of a ring ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_ABI_RING_ARTIFACT_H
#define RINGLET_ABI_RING_ARTIFACT_H

#include "ringlet/abi/ArtifactGenerated.h"
#include "ringlet/abi/ring/Attention.h"

namespace ringlet::ring {

/// The attention of an exchange, without its sequences.
inline Attention attentionOf(const abi::Exchange &exchange, int64_t queryHeads,
                             int64_t keyHeads) {
  Attention attention;
  attention.queryHeads = queryHeads;
  attention.keyHeads = keyHeads;
  attention.causal = exchange.causal();
  if (exchange.window_left() >= 0)
    attention.left = exchange.window_left();
  if (exchange.window_right() >= 0)
    attention.right = exchange.window_right();
  if (exchange.branches())
    for (const abi::RingBranch *branch : *exchange.branches())
      attention.branches.push_back({branch->w(), branch->rate(),
                                    static_cast<OffsetRule>(branch->offset()),
                                    branch->constant(), branch->by_query(),
                                    branch->head_begin(), branch->head_end()});
  return attention;
}

/// Shards of the kind of an exchange for these rows of each rank.
inline std::optional<Shards> shardsOf(const abi::Exchange &exchange,
                                      const std::vector<int64_t> &rows,
                                      std::string *error) {
  return Shards::of(static_cast<Sharding>(exchange.sharding()), rows,
                    exchange.block(), error);
}

} // namespace ringlet::ring

#endif // RINGLET_ABI_RING_ARTIFACT_H
