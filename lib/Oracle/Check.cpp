//===- Check.cpp - Judge a result against the oracle ------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Oracle/Check.h"

#include "lib/Oracle/Unfused.h"

namespace ringlet::oracle {

namespace {

/// The sampled rows of a whole result, copied to `storage`, or all of it.
TensorView sample(const TensorView &view, int axis,
                  const AttentionOptions &options, Tensor &storage) {
  if (!options.rows)
    return view;
  storage = takeIndices(view, axis, *options.rows);
  return storage.view();
}

/// The shape that `view` must have, from that of the computed rows.
bool checkShape(const char *name, const TensorView &view, Shape expected,
                int axis, int64_t rows, std::string *error) {
  expected[axis] = rows;
  if (view.sizes() == expected)
    return true;
  if (error)
    *error = std::string("expected ") + name + " of shape " +
             toString(expected) + ", found " + toString(view.sizes());
  return false;
}

} // namespace

std::string Verdict::text() const {
  return output.text + (lse ? "\n" + lse->text : "");
}

std::optional<Verdict>
checkAttention(const AttentionSpec &spec, const AttentionInputs &inputs,
               const TensorView &output, const std::optional<TensorView> &lse,
               std::string *error, const AttentionOptions &options) {
  std::optional<AttentionResult> exact =
      attention(spec, inputs, error, options);
  if (!exact)
    return std::nullopt;
  std::vector<AttentionResult> unfused;
  for (Arithmetic arithmetic : arithmeticsFor(inputs.query.dtype())) {
    std::optional<AttentionResult> one =
        unfusedAttention(spec, inputs, error, options, arithmetic);
    if (!one)
      return std::nullopt;
    unfused.push_back(std::move(*one));
  }

  // The sequence axis: third from the end of output, last of lse.
  int outputAxis = exact->output.rank() - 3;
  int lseAxis = exact->lse.rank() - 1;
  int64_t rows = inputs.query.size(inputs.query.rank() - 3);
  if (!checkShape("output", output, exact->output.shape(), outputAxis, rows,
                  error) ||
      (lse &&
       !checkShape("lse", *lse, exact->lse.shape(), lseAxis, rows, error)))
    return std::nullopt;

  DType dtype = inputs.query.dtype();
  std::vector<TensorView> outputs;
  std::vector<TensorView> lses;
  for (const AttentionResult &result : unfused) {
    outputs.push_back(result.output.view());
    lses.push_back(result.lse.view());
  }
  const AttentionResult &reference = *exact;
  Verdict verdict;
  Tensor storage;
  verdict.output =
      compare(sample(output, outputAxis, options, storage),
              reference.output.view(), outputs, Quantity::Output, dtype);
  if (lse)
    verdict.lse = compare(sample(*lse, lseAxis, options, storage),
                          reference.lse.view(), lses, Quantity::Lse, dtype);
  return verdict;
}

} // namespace ringlet::oracle
