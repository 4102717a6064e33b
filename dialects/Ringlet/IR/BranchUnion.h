//===- BranchUnion.h - Branches that one kernel computes --------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_DIALECTS_RINGLET_IR_BRANCHUNION_H
#define RINGLET_DIALECTS_RINGLET_IR_BRANCHUNION_H

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "lib/Layout/UnionShape.h"

namespace ringlet::attn {

/// What one kernel for all branches of an attention would need and does not
/// have, what was expected and what found, or nothing if it is possible.
std::string whyNotUnion(AttentionOp op);

/// The same of a kernel for each branch that begins and ends its softmaxes.
std::string whyNotApart(AttentionOp op);

/// The segments and residues of a union.
layout::UnionShape getUnionShape(AttentionOp op);

/// A branch of which these are the segments and residues.
BranchAttr getAtoms(AttentionOp op);

} // namespace ringlet::attn

#endif // RINGLET_DIALECTS_RINGLET_IR_BRANCHUNION_H
