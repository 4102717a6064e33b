//===- OracleBranch.h - A branch in the oracle's terms ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_COMPILER_ORACLEBRANCH_H
#define RINGLET_LIB_COMPILER_ORACLEBRANCH_H

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "lib/Oracle/AttentionSpec.h"

namespace ringlet {

/// A branch whose w and r are constants, of an attention with so many query
/// heads.
oracle::Branch toOracle(attn::BranchAttr branch, int64_t queryHeads);

} // namespace ringlet

#endif // RINGLET_LIB_COMPILER_ORACLEBRANCH_H
