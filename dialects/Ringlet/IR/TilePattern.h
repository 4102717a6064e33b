//===- TilePattern.h - What tiles of an attention see -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_DIALECTS_RINGLET_IR_TILEPATTERN_H
#define RINGLET_DIALECTS_RINGLET_IR_TILEPATTERN_H

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "lib/Layout/TileIndex.h"

namespace ringlet::attn {

/// The rule as lib/Layout has it (B2).
layout::OffsetRule toLayout(OffsetRule rule);

/// The residues that heads of `branch`, whose r is known, have (B2).
layout::ResidueRange getResidues(AttentionOp op, BranchAttr branch);

/// Whether keys of padding count in some branch (B7); sequences may have none,
/// as AttentionOp::mayCountPadding() tells.
bool countsPadding(AttentionOp op);

/// Which keys a tile of queries sees in `branch`, whose w and r are known,
/// under `tiling` (B2 to B5).
layout::TilePattern getTilePattern(AttentionOp op, BranchAttr branch,
                                   TilingAttr tiling);

} // namespace ringlet::attn

#endif // RINGLET_DIALECTS_RINGLET_IR_TILEPATTERN_H
