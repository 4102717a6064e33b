//===- Expr.h - The plan's integer arithmetic ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_EXPR_H
#define RINGLET_RUNTIME_EXPR_H

#include "Driver.h"
#include "Status.h"

#include "ringlet/abi/ArtifactGenerated.h"

#include <map>
#include <vector>

namespace ringlet::rt {

/// What expressions read of the machine that a call runs on.
struct Machine {
  int64_t multiprocessors, rank, ranks;
};

/// The values of all expressions of a function for one call.
///
/// An expression may fail (overflow, division by zero) and nobody may care: a
/// requirement that comes first can explain better what is wrong with the
/// arguments. So a failure is kept, and reported to who asks for the value.
class ExprValues {
public:
  /// `tensors` are the arguments, or only the inputs, and `machine` may be
  /// null; an expression that needs more fails.
  ExprValues(const abi::Function &function,
             const std::vector<TensorView> &tensors, const Machine *machine);

  Status get(uint32_t expr, int64_t &value) const;
  /// As get, and not negative: a size, an extent, a length.
  Status getSize(uint32_t expr, const char *what, int64_t &size) const;

private:
  std::string nameOf(uint32_t expr) const;
  /// False if the term needs more than there is.
  bool read(const abi::ExprTerm &term, const std::vector<TensorView> &tensors,
            const Machine *machine, int64_t &value) const;

  const abi::Function &function;
  std::vector<int64_t> values;
  std::map<uint32_t, std::string> failures;
};

} // namespace ringlet::rt

#endif // RINGLET_RUNTIME_EXPR_H
