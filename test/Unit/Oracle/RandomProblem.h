//===- RandomProblem.h - Random attention problems --------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_UNIT_ORACLE_RANDOMPROBLEM_H
#define RINGLET_TEST_UNIT_ORACLE_RANDOMPROBLEM_H

#include "test/Unit/Oracle/Problem.h"

namespace ringlet::oracle {

/// A problem that `validate` accepts, with any mixture of features; sequences
/// have at most `maxLength` tokens. What lies past a length is NaN.
Problem randomProblem(std::mt19937_64 &random, int64_t maxLength);

/// The features of a problem in a few words, for messages.
std::string describe(const Problem &problem);

} // namespace ringlet::oracle

#endif // RINGLET_TEST_UNIT_ORACLE_RANDOMPROBLEM_H
