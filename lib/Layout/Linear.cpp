//===- Linear.cpp - The curve that changes nothing --------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Layout/Curve.h"
#include "lib/Layout/Grid.h"

namespace ringlet::layout {
namespace {

/// Slot m holds token m. A grid is taken, because grid windows (B5) want one
/// in this order, too, and then bounds the period.
class LinearCurve final : public Curve {
public:
  explicit LinearCurve(int64_t volume) : cells(volume) {}

  int64_t volume() const override { return cells; }
  int64_t token(int64_t slot, int64_t) const override { return slot; }
  int64_t slot(int64_t token, int64_t) const override { return token; }
  std::optional<IndexValue> arithmetic(IndexValue index, int64_t,
                                       bool) const override {
    return index;
  }
  std::optional<int64_t> slotStep(int64_t step) const override { return step; }

private:
  int64_t cells;
};

} // namespace

std::unique_ptr<Curve> createLinear(const OrderSpec &spec, std::string &) {
  return std::make_unique<LinearCurve>(
      spec.grid.empty() ? 0 : *gridVolume(spec.grid));
}

} // namespace ringlet::layout
