//===- Sample.cpp - A check within a time ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ringlet/abi/Format.h"
#include "tools/ringlet-run/Reference.h"
#include "tools/ringlet-run/Session.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace ringlet;
using namespace ringlet::run;

/// `count` of `total` rows in order, the first and the last among them: one at
/// a fixed random place of each of as many stretches. A fixed distance would
/// meet the same residues of a dilation again and again.
static std::vector<int64_t> spreadRows(int64_t total, int64_t count) {
  std::vector<int64_t> rows;
  uint64_t state = 0x9e3779b97f4a7c15;
  for (int64_t i = 0; i < count; ++i) {
    int64_t begin = int64_t(__int128(total) * i / count);
    int64_t end = int64_t(__int128(total) * (i + 1) / count);
    state = state * 6364136223846793005u + 1442695040888963407u;
    int64_t row = begin + int64_t((state >> 33) % uint64_t(end - begin));
    rows.push_back(i == 0 ? 0 : i == count - 1 ? total - 1 : row);
  }
  return rows;
}

/// Puts the rows of `part`, which begin at `first`, into `whole`.
static void insertRows(const Tensor &part, int axis, int64_t first,
                       Tensor &whole) {
  TensorView to = whole.view().slice(axis, first, part.shape()[size_t(axis)]);
  copyElements(part.view(),
               MutableTensorView(const_cast<void *>(to.data()), to.dtype(),
                                 to.sizes(), to.strides()));
}

std::string
Reference::computeWithin(const oracle::AttentionSpec &spec,
                         const std::vector<oracle::AttentionInputs> &inputs,
                         bool mustBeWhole, Rows &rows, Results &results,
                         CheckReport &report) const {
  int queryAxis = inputs[0].cuSeqlensQ ? 0 : 1;
  int64_t total = inputs[0].query.size(queryAxis);
  int64_t probes = std::min<int64_t>(total, 16);
  double begin = now();
  std::string error = compute(spec, inputs, spreadRows(total, probes), results);
  if (!error.empty() || total == 0)
    return error.empty() ? compute(spec, inputs, std::nullopt, results) : error;
  double rowSeconds = (now() - begin) / double(probes);

  int64_t count = total;
  if (!mustBeWhole && rowSeconds * double(total) > seconds) {
    count = std::clamp<int64_t>(int64_t(seconds / rowSeconds), probes, total);
    rows = spreadRows(total, count);
    report.lines.push_back(formatText("sampled {} of {} rows: all would take "
                                      "{} s; --check-seconds sets the limit",
                                      count, total,
                                      int64_t(rowSeconds * total)));
  }
  double expected = rowSeconds * double(count);
  if (expected < 2)
    return compute(spec, inputs, rows, results);

  std::vector<int64_t> all = rows ? *rows : spreadRows(total, total);
  constexpr int64_t parts = 16;
  results.all.clear();
  for (int64_t part = 0; part < parts; ++part) {
    std::fprintf(stderr, "\rchecking %lld rows, about %.0f s: %2lld%%",
                 static_cast<long long>(count), expected,
                 static_cast<long long>(100 * part / parts));
    size_t from = size_t(count * part / parts);
    size_t to = size_t(count * (part + 1) / parts);
    if (from == to)
      continue;
    Results some;
    error = compute(
        spec, inputs,
        std::vector<int64_t>(all.begin() + long(from), all.begin() + long(to)),
        some);
    if (!error.empty())
      return error;
    if (results.all.empty())
      for (oracle::AttentionResult &result : some.all) {
        Shape output = result.output.shape(), lse = result.lse.shape();
        output[size_t(queryAxis)] = lse.back() = count;
        results.all.push_back({Tensor(result.output.dtype(), output),
                               Tensor(result.lse.dtype(), lse)});
      }
    for (size_t i = 0; i < some.all.size(); ++i) {
      insertRows(some.all[i].output, queryAxis, int64_t(from),
                 results.all[i].output);
      insertRows(some.all[i].lse, some.all[i].lse.rank() - 1, int64_t(from),
                 results.all[i].lse);
    }
  }
  std::fprintf(stderr, "\r%60s\r", "");
  return "";
}
