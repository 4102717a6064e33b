//===- Residue.cpp - Tokens of equal residue side by side -------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Layout/Curve.h"

namespace ringlet::layout {
namespace {

/// Dilation-major: tokens sorted by (t mod rate, t / rate), so that what a
/// branch of that dilation reads is contiguous.
///
/// Of `count` tokens, the first count mod rate residues have one token more
/// than the others: a block of long runs, then a block of short ones. Leaving
/// out the tokens from some number on leaves that form as it is, so the short
/// tail needs no other formula.
class ResidueCurve final : public Curve {
public:
  explicit ResidueCurve(int64_t rate) : rate(rate) {}

  int64_t token(int64_t slot, int64_t count) const override {
    int64_t run = count / rate, longRuns = count % rate;
    // Without long runs, run + 1 may not even exist in int64_t.
    int64_t inLong = longRuns ? longRuns * (run + 1) : 0;
    if (slot < inLong)
      return slot % (run + 1) * rate + slot / (run + 1);
    slot -= inLong;
    // Slots are left, so run > 0.
    return slot % run * rate + longRuns + slot / run;
  }

  int64_t slot(int64_t token, int64_t count) const override {
    int64_t run = count / rate, longRuns = count % rate;
    int64_t residue = token % rate;
    // Every residue before this one has `run` tokens, the long ones one more.
    return residue * run + (residue < longRuns ? residue : longRuns) +
           token / rate;
  }

  /// The bits of a slot turned round: those of the place within the residue
  /// come last, in a token first.
  std::optional<IndexValue> arithmetic(IndexValue index, int64_t count,
                                       bool inverse) const override {
    int bits = exactLog2(count), low = exactLog2(inverse ? rate : count / rate);
    if (bits < 0 || exactLog2(rate) < 0 || rate > count)
      return std::nullopt;
    // One after the other: the order of operands is the compiler's choice.
    IndexValue upper = (index & ((int64_t(1) << low) - 1)) << (bits - low);
    IndexValue lower = index >> low;
    return upper + lower;
  }

  /// Tokens of one residue lie side by side.
  std::optional<int64_t> slotStep(int64_t step) const override {
    if (step % rate != 0)
      return std::nullopt;
    return step / rate;
  }

  void fill(int64_t *out, int64_t count, int64_t base) const override {
    for (int64_t residue = 0; residue < rate && residue < count; ++residue)
      for (int64_t left = count - residue, token = residue;; token += rate) {
        *out++ = base + token;
        // token + rate could leave int64_t for an absurd rate.
        if ((left -= rate) <= 0)
          break;
      }
  }

private:
  int64_t rate;
};

} // namespace

std::unique_ptr<Curve> createResidue(const OrderSpec &spec, std::string &) {
  return std::make_unique<ResidueCurve>(spec.rate);
}

} // namespace ringlet::layout
