//===- OracleSpec.h - An attention in the oracle's terms ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_EVALUATOR_ORACLESPEC_H
#define RINGLET_LIB_EVALUATOR_ORACLESPEC_H

#include "dialects/Ringlet/IR/RingletDialect.h"
#include "lib/Oracle/AttentionSpec.h"

namespace ringlet {

/// What `op` computes, without its tensors; each `?` of its branches takes
/// the next one of `sizes` (B1).
oracle::AttentionSpec toOracle(attn::AttentionOp op,
                               llvm::ArrayRef<int64_t> sizes = {});

} // namespace ringlet

#endif // RINGLET_LIB_EVALUATOR_ORACLESPEC_H
