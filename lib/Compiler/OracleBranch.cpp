//===- OracleBranch.cpp - A branch in the oracle's terms ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/OracleBranch.h"

using namespace ringlet;

oracle::Branch ringlet::toOracle(attn::BranchAttr branch, int64_t queryHeads) {
  oracle::Branch result;
  if (!branch.isUnbounded())
    result.segment = branch.getW();
  result.dilation = branch.getR();
  switch (branch.getOffset()) {
  case attn::OffsetRule::Modulo:
    result.offset = layout::OffsetRule::Modulo;
    break;
  case attn::OffsetRule::Block:
    result.offset = layout::OffsetRule::Block;
    break;
  case attn::OffsetRule::Constant:
    result.offset = layout::OffsetRule::Constant;
    result.constant = branch.getConstant();
    break;
  }
  result.offsetByQuery = branch.getBy() == attn::HeadKind::Query;
  if (!branch.hasAllHeads())
    result.heads = {branch.getHeadBegin(),
                    branch.getHeadEnd() == attn::BranchAttr::kAllHeads
                        ? queryHeads
                        : branch.getHeadEnd()};
  return result;
}
