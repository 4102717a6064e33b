//===- Memory.h - The caller's tensors, under guard -------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TEST_RUN_DIFFERENTIAL_MEMORY_H
#define RINGLET_TEST_RUN_DIFFERENTIAL_MEMORY_H

#include "test/Run/differential/Generate.h"

namespace ringlet::differential {

/// The arguments and results of one call. Whatever is no element of an input
/// is a NaN, and so is every element of an output until it is written; `check`
/// finds what was written where nothing should have been.
class Memory {
public:
  Memory(const Graph &graph, const Configuration &configuration);

  const std::vector<TensorView> &inputs() const { return inputViews; }
  const std::vector<MutableTensorView> &outputs() const { return outputViews; }
  /// Inputs, then outputs.
  std::vector<MutableTensorView> arguments() const;

  /// Fills the outputs with NaNs again.
  void reset();
  /// Empty, or which memory was changed that is no element of an output.
  std::string check() const;

private:
  void fillInput(const Graph &graph, int argument,
                 const MutableTensorView &view);
  std::vector<int64_t> countQueries(bool arePacked) const;
  void fillLengths(const MutableTensorView &lengths, bool ofKeys, Dice &dice);
  void fillStarts(const MutableTensorView &starts, bool ofKeys, Dice &dice);
  void fillScales(const MutableTensorView &scales, Dice &dice);
  void fillBegins(const MutableTensorView &begins, Dice &dice);
  int64_t getBegin(const Operation &op, int64_t sequence) const;
  void poisonPast(const Graph &graph, int argument, int lengths);
  void poisonBefore(const Graph &graph, const Operation &op, int argument);
  void poisonPastLast(int argument, int starts);
  void poisonUnseen(const Graph &graph, const Operation &op);
  int64_t countKeyRows(bool arePacked) const;
  int64_t countKeys(const Operation &op, int64_t sequence) const;
  void fillPages(const MutableTensorView &table, Dice &dice);
  void poisonPages(const Graph &graph);
  int64_t countSeen(const Operation &op, int64_t sequence) const;

  const Configuration &configuration;
  /// The arguments that are the table of pages and the lengths of keys.
  std::optional<int> pages, keyLengths;
  std::vector<Tensor> allocations;
  /// What inputs held before.
  std::vector<Tensor> originals;
  std::vector<MutableTensorView> writableInputs, outputViews;
  std::vector<TensorView> inputViews;
  std::vector<int> outputAllocations;
};

} // namespace ringlet::differential

#endif // RINGLET_TEST_RUN_DIFFERENTIAL_MEMORY_H
