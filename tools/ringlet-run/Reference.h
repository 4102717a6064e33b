//===- Reference.h - What an entry should compute ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Evaluates the reference graph of an artefact with the oracle, and compares.
// Memory orders never change a result (O1), so everything here is in token
// order: arguments are put into it first, and a reorder is no work at all.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TOOLS_RINGLET_RUN_REFERENCE_H
#define RINGLET_TOOLS_RINGLET_RUN_REFERENCE_H

#include "lib/Oracle/Attention.h"
#include "lib/Oracle/Tolerance.h"
#include "ringlet/abi/ArtifactGenerated.h"

#include <memory>
#include <string>
#include <vector>

namespace ringlet::run {

struct CheckReport {
  bool ok = true;
  /// Ready to print: one for each output, one for each sampling.
  std::vector<std::string> lines;
};

/// "[3, 0]" for an element of a row-major tensor.
std::string describeIndex(int64_t number, const Shape &shape);

class Reference {
public:
  /// Rows of an axis; nothing for all.
  using Rows = std::optional<std::vector<int64_t>>;

  /// `arguments` are all of the entry's, inputs first; they must outlive the
  /// reference. A check that would take longer than `seconds` samples rows.
  Reference(const abi::Artifact &artifact, const abi::Graph &graph,
            const std::vector<TensorView> &arguments, unsigned threads,
            double seconds)
      : artifact(artifact), graph(graph), arguments(arguments),
        threads(threads), seconds(seconds) {}

  /// Empty string, or why the graph cannot be evaluated on these inputs.
  /// `outputs` are the numbers of the arguments to check.
  std::string check(const std::vector<uint32_t> &outputs, CheckReport &report);

private:
  /// A value of the graph in token order.
  struct Value {
    /// What an argument or a constant holds; f64 for a result of attention.
    Tensor exact;
    /// Results of the unfused computations; empty unless computed.
    std::vector<Tensor> unfused;
    /// The type that it is stored in.
    DType stored = DType::f32;
    /// The rows of `axis` that there are.
    Rows rows;
    int axis = 0;
    oracle::Quantity quantity = oracle::Quantity::Output;
    /// Of the attention that computed it.
    DType inputs = DType::f32;

    bool isComputed() const { return !unfused.empty(); }
    /// As an operand of the exact computation (0) or an unfused one.
    Tensor operand(size_t computation) const;
  };

  /// One exact result and one of each unfused arithmetic.
  struct Results {
    std::vector<oracle::AttentionResult> all;
  };

  std::string load(uint32_t number);
  std::string evaluate(const abi::Attention &node, CheckReport &report);
  void makeSpec(const abi::Attention &node, int64_t heads,
                oracle::AttentionSpec &spec) const;
  std::string compute(const oracle::AttentionSpec &spec,
                      const std::vector<oracle::AttentionInputs> &inputs,
                      const Rows &rows, Results &results) const;
  std::string computeWithin(const oracle::AttentionSpec &spec,
                            const std::vector<oracle::AttentionInputs> &inputs,
                            bool mustBeWhole, Rows &rows, Results &results,
                            CheckReport &report) const;
  std::string compareOutput(uint32_t number, CheckReport &report) const;
  bool feedsAttention(int32_t number) const;

  const abi::Artifact &artifact;
  const abi::Graph &graph;
  const std::vector<TensorView> &arguments;
  unsigned threads;
  double seconds;
  std::vector<std::shared_ptr<Value>> values;
};

} // namespace ringlet::run

#endif // RINGLET_TOOLS_RINGLET_RUN_REFERENCE_H
