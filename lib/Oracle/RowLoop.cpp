//===- RowLoop.cpp - Rows in and out of the oracle --------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Oracle/RowLoop.h"

#include "ringlet/abi/Format.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>

namespace ringlet::oracle {

namespace {

/// Up to this many elements are widened at once: 128 MiB as doubles.
constexpr int64_t kWidenLimit = int64_t{1} << 24;

template <typename T>
void widenRow(const TensorView &view, int64_t offset, T *out) {
  int64_t count = view.size(3);
  switch (view.dtype()) {
  case DType::f16: {
    const auto *in = static_cast<const uint16_t *>(view.data()) + offset;
    for (int64_t i = 0; i < count; ++i)
      out[i] = f16ToFloat(in[i]);
    return;
  }
  case DType::bf16: {
    const auto *in = static_cast<const uint16_t *>(view.data()) + offset;
    for (int64_t i = 0; i < count; ++i)
      out[i] = bf16ToFloat(in[i]);
    return;
  }
  case DType::f8E4M3FN: {
    const auto *in = static_cast<const uint8_t *>(view.data()) + offset;
    for (int64_t i = 0; i < count; ++i)
      out[i] = f8E4M3FNToFloat(in[i]);
    return;
  }
  case DType::i8: {
    const auto *in = static_cast<const int8_t *>(view.data()) + offset;
    for (int64_t i = 0; i < count; ++i)
      out[i] = in[i];
    return;
  }
  default: {
    const auto *in = static_cast<const float *>(view.data()) + offset;
    for (int64_t i = 0; i < count; ++i)
      out[i] = in[i];
    return;
  }
  }
}

} // namespace

template <typename T>
RowReader<T>::RowReader(TensorView source, bool readOften)
    : view(std::move(source)) {
  if (!readOften || view.elements() > kWidenLimit)
    return;
  wide.resize(static_cast<size_t>(view.elements()));
  T *next = wide.data();
  Shape rows = view.sizes();
  rows.pop_back();
  forEachIndex(rows, [&](const int64_t *index) {
    const int64_t indices[] = {index[0], index[1], index[2], 0};
    widenRow(view, view.offsetOf(indices), next);
    next += view.size(3);
  });
}

template <typename T>
const T *RowReader<T>::row(int64_t batch, int64_t row, int64_t head,
                           T *scratch) const {
  if (!wide.empty())
    return wide.data() +
           ((batch * view.size(1) + row) * view.size(2) + head) * view.size(3);
  const int64_t indices[] = {batch, row, head, 0};
  widenRow(view, view.offsetOf(indices), scratch);
  return scratch;
}

template class RowReader<float>;
template class RowReader<double>;

std::optional<AttentionResult>
runRows(const AttentionSpec &spec, const AttentionInputs &inputs,
        const Pattern &pattern, const AttentionOptions &options,
        DType outputType, DType lseType,
        const std::function<RowFunction()> &makeFunction, std::string *error) {
  const TensorView &query = pattern.queries().view;
  int64_t batches = query.size(0);
  int64_t heads = query.size(2);
  int64_t dim = inputs.value.size(inputs.value.rank() - 1);
  int64_t rows =
      options.rows ? static_cast<int64_t>(options.rows->size()) : query.size(1);
  if (options.rows)
    for (int64_t row : *options.rows)
      if (row < 0 || row >= query.size(1)) {
        if (error)
          *error = formatText("expected sampled rows in [0, {}), found {}",
                              query.size(1), row);
        return std::nullopt;
      }
  int64_t lses =
      spec.mix == Mix::Sum ? static_cast<int64_t>(spec.branches.size()) : 1;

  Shape outputShape = {batches, rows, heads, dim};
  Shape lseShape = {lses, batches, heads, rows};
  std::optional<Tensor> output = Tensor::create(outputType, outputShape, error);
  std::optional<Tensor> lse =
      output ? Tensor::create(lseType, lseShape, error) : std::nullopt;
  if (!lse)
    return std::nullopt;

  MutableTensorView outputView = output->view();
  MutableTensorView lseView = lse->view();
  std::atomic<int64_t> next{0};
  auto work = [&] {
    RowFunction function = makeFunction();
    RowResult result(dim, lses);
    for (int64_t task = next++; task < batches * rows; task = next++) {
      int64_t batch = task / rows;
      int64_t slot = task % rows;
      QueryRow located =
          pattern.locate(batch, options.rows ? (*options.rows)[slot] : slot);
      for (int64_t head = 0; head < heads; ++head) {
        function(located, head, result);
        for (int64_t i = 0; i < dim; ++i)
          outputView.set({batch, slot, head, i}, result.output[i]);
        for (int64_t i = 0; i < lses; ++i)
          lseView.set({i, batch, head, slot}, result.lse[i]);
      }
    }
  };
  unsigned count =
      options.threads ? options.threads : std::thread::hardware_concurrency();
  count = static_cast<unsigned>(
      std::min<int64_t>(std::max(1u, count), batches * rows));
  std::vector<std::thread> threads;
  try {
    for (unsigned i = 1; i < count; ++i)
      threads.emplace_back(work);
  } catch (const std::system_error &) {
    // No more threads to be had: those that run do all the work.
  }
  work();
  for (std::thread &thread : threads)
    thread.join();

  // Axes of extent 1 that the rules do not name.
  if (pattern.queries().packed) {
    outputShape.erase(outputShape.begin());
    lseShape.erase(lseShape.begin() + 1);
  }
  if (spec.mix == Mix::Softmax)
    lseShape.erase(lseShape.begin());
  output->reshape(outputShape);
  lse->reshape(lseShape);
  return AttentionResult{std::move(*output), std::move(*lse)};
}

} // namespace ringlet::oracle
