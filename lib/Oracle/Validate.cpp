//===- Validate.cpp - What the rules refuse ---------------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Layout/Grid.h"
#include "lib/Oracle/Pattern.h"
#include "ringlet/abi/Format.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ringlet::oracle {

namespace {

/// Positions up to this magnitude leave room for every sum that the rules
/// make.
constexpr int64_t kMaxOffset = int64_t{1} << 60;

/// Runs the checks in order; the first failure is the message.
class Validator {
public:
  Validator(const AttentionSpec &spec, const AttentionInputs &inputs)
      : spec(spec), inputs(inputs) {}

  std::string message;

  bool run() {
    if (!checkTensors() || !checkSequences())
      return false;
    for (size_t i = 0; i < spec.branches.size(); ++i)
      if (!checkBranch(spec.branches[i], formatText("branch {}: ", i)))
        return false;
    return checkNumbers() && measurePositions() && checkPatternOrder() &&
           checkGridWindow() && checkBlockMask() && checkPadding() &&
           checkSink();
  }

private:
  bool refuse(std::string text) {
    message = std::move(text);
    return false;
  }

  static bool isWidenedType(DType dtype) {
    return dtype == DType::f8E4M3FN || dtype == DType::i8;
  }
  static bool isIndexType(DType dtype) {
    return dtype == DType::i32 || dtype == DType::i64;
  }

  bool checkTensor(const char *name, const TensorView &view, int rank) {
    if (view.rank() != rank)
      return refuse(formatText("expected {} of rank {}{} (S2), found shape {}",
                               name, rank,
                               rank == 3 ? " (packed, as cu_seqlens is given)"
                                         : " ([batch, sequence, head, dim])",
                               toString(view.sizes())));
    if (!numBytes(view.sizes(), view.dtype()))
      return refuse(std::string("expected extents of ") + name +
                    " of at least 0 with fewer than 2^63 bytes in all (S3), "
                    "found shape " +
                    toString(view.sizes()));
    bool isWidened = &view != &inputs.query && isWidenedType(view.dtype());
    if (!isWidened && view.dtype() != DType::f16 &&
        view.dtype() != DType::bf16 && view.dtype() != DType::f32)
      return refuse(std::string("expected ") + name +
                    " of type f16, bf16 or f32 (section 1), found " +
                    std::string(nameOf(view.dtype())));
    if (!isWidened && view.dtype() != inputs.query.dtype())
      return refuse(std::string("expected ") + name + " of the query's type " +
                    std::string(nameOf(inputs.query.dtype())) +
                    " (section 1), found " + std::string(nameOf(view.dtype())));
    if (view.size(rank - 1) < 1 || view.size(rank - 2) < 1)
      return refuse(std::string("expected at least 1 head and dim of ") + name +
                    " (section 1), found shape " + toString(view.sizes()));
    if (view.size(rank - 1) > 1 && view.stride(rank - 1) != 1)
      return refuse(
          formatText("expected {} with a contiguous last axis (section 1), "
                     "found stride {}; nearest legal choice: a contiguous copy",
                     name, view.stride(rank - 1)));
    return true;
  }

  bool checkTensors() {
    int queryRank = inputs.cuSeqlensQ ? 3 : 4;
    int keyRank = inputs.cuSeqlensK ? 3 : 4;
    if (!checkTensor("query", inputs.query, queryRank) ||
        !checkTensor("key", inputs.key, keyRank) ||
        !checkTensor("value", inputs.value, keyRank))
      return false;
    Shape keyRows = inputs.key.sizes();
    Shape valueRows = inputs.value.sizes();
    keyRows.pop_back();
    valueRows.pop_back();
    if (keyRows != valueRows)
      return refuse("expected key and value of equal batch, length and heads "
                    "(section 1), found shapes " +
                    toString(inputs.key.sizes()) + " and " +
                    toString(inputs.value.sizes()));
    if (inputs.key.dtype() != inputs.value.dtype())
      return refuse(std::string("expected value of the element type of key, ") +
                    std::string(nameOf(inputs.key.dtype())) + ", found " +
                    std::string(nameOf(inputs.value.dtype())) + " (S6)");
    if (inputs.query.sizes().back() != inputs.key.sizes().back())
      return refuse(formatText(
          "expected query and key of equal dim (section 1), found {} and {}",
          inputs.query.sizes().back(), inputs.key.sizes().back()));
    int64_t queryHeads = inputs.query.size(queryRank - 2);
    int64_t keyHeads = inputs.key.size(keyRank - 2);
    if (queryHeads % keyHeads != 0)
      return refuse(formatText(
          "expected query heads to be a multiple of key heads (section 1), "
          "found {} and {}; nearest legal choice: {} query heads",
          queryHeads, keyHeads, (queryHeads / keyHeads + 1) * keyHeads));
    return true;
  }

  bool checkIndexVector(const char *name, const TensorView &view,
                        const char *rule) {
    if (view.rank() != 1 || view.size(0) < 0 || !isIndexType(view.dtype()))
      return refuse(std::string("expected ") + name +
                    " of rank 1 and type i32 or i64 (" + rule +
                    "), found shape " + toString(view.sizes()) + " of type " +
                    std::string(nameOf(view.dtype())));
    return true;
  }

  /// One side, queries or keys; sets `sequences` to how many there are.
  bool checkSide(const std::string &side, const TensorView &view,
                 const std::optional<TensorView> &cuSeqlens,
                 const std::optional<TensorView> &lengths, int64_t &sequences) {
    std::string cuName = "cu_seqlens_" + side;
    std::string lengthsName = "lengths_" + side;
    if (cuSeqlens && lengths)
      return refuse("expected either " + cuName + " or " + lengthsName +
                    " (S2), found both");
    if (cuSeqlens) {
      if (!checkIndexVector(cuName.c_str(), *cuSeqlens, "S2"))
        return false;
      if (cuSeqlens->size(0) < 1)
        return refuse("expected at least 1 entry of " + cuName +
                      " (S2), found none");
      int64_t before = 0;
      for (int64_t i = 0; i < cuSeqlens->size(0); ++i) {
        int64_t next = cuSeqlens->getInt({i});
        if ((i == 0 && next != 0) || next < before || next > view.size(0))
          return refuse(
              formatText("expected {} to start at 0 and to rise within [0, {}] "
                         "(S2), found entry {} = {} after {}",
                         cuName, view.size(0), i, next, before));
        before = next;
      }
      sequences = cuSeqlens->size(0) - 1;
      return true;
    }
    sequences = view.size(0);
    if (!lengths)
      return true;
    if (!checkIndexVector(lengthsName.c_str(), *lengths, "S2"))
      return false;
    if (lengths->size(0) != sequences)
      return refuse(formatText(
          "expected {} entries of {}, one per batch item (S2), found {}",
          sequences, lengthsName, lengths->size(0)));
    for (int64_t i = 0; i < sequences; ++i) {
      int64_t length = lengths->getInt({i});
      if (length < 0 || length > view.size(1))
        return refuse(formatText("expected {} in [0, {}] (S2), found {} for "
                                 "batch item {}; nearest legal choice: {}",
                                 lengthsName, view.size(1), length, i,
                                 length < 0 ? 0 : view.size(1)));
    }
    return true;
  }

  bool checkSequences() {
    int64_t queries = 0;
    int64_t keys = 0;
    if (!checkSide("q", inputs.query, inputs.cuSeqlensQ, inputs.lengthsQ,
                   queries) ||
        !checkSide("k", inputs.key, inputs.cuSeqlensK, inputs.lengthsK, keys))
      return false;
    if (queries != keys)
      return refuse(formatText("expected as many sequences of queries as of "
                               "keys (S2), found {} and {}",
                               queries, keys));
    if (inputs.keyBegins && inputs.cuSeqlensK)
      return refuse("expected padded keys beside key_begins, found packed "
                    "ones; nearest legal choice: cuSeqlens that leave out what "
                    "comes before them (S5)");
    if (inputs.keyBegins) {
      if (!checkIndexVector("key_begins", *inputs.keyBegins, "S5"))
        return false;
      if (inputs.keyBegins->size(0) != keys)
        return refuse(formatText("expected {} entries of key_begins, one per "
                                 "batch item (S5), found {}",
                                 keys, inputs.keyBegins->size(0)));
    }
    if (!checkScale("k_scale", inputs.keyScale, keys) ||
        !checkScale("v_scale", inputs.valueScale, keys))
      return false;
    if (!inputs.qOffset)
      return true;
    if (!checkIndexVector("q_offset", *inputs.qOffset, "S1"))
      return false;
    int64_t offsets = inputs.qOffset->size(0);
    if (offsets != 1 && offsets != queries)
      return refuse(formatText("expected 1 or {} entries of q_offset, one per "
                               "sequence (S1), found {}",
                               queries, offsets));
    for (int64_t i = 0; i < offsets; ++i) {
      int64_t offset = inputs.qOffset->getInt({i});
      if (offset > kMaxOffset || offset < -kMaxOffset)
        return refuse(formatText(
            "expected q_offset within +-2^60 (S1), found {} for sequence {}",
            offset, i));
    }
    return true;
  }

  bool checkBranch(const Branch &branch, const std::string &where) {
    if (branch.dilation < 1)
      return refuse(formatText("{}expected a dilation of at least 1 (B1), "
                               "found {}; nearest legal choice: 1",
                               where, branch.dilation));
    if (branch.segment && *branch.segment < 1)
      return refuse(
          formatText("{}expected a segment length of at least 1, or unbounded "
                     "(B1), found {}; nearest legal choice: {}",
                     where, *branch.segment, branch.dilation));
    if (branch.segment && branch.dilation > *branch.segment)
      return refuse(formatText(
          "{}expected a dilation of at most the segment length (B1), found "
          "dilation {} and segment {}; nearest legal choice: dilation {}",
          where, branch.dilation, *branch.segment, *branch.segment));
    int64_t heads = inputs.query.size(inputs.query.rank() - 2);
    if (branch.heads &&
        (branch.heads->begin < 0 || branch.heads->end < branch.heads->begin ||
         branch.heads->end > heads))
      return refuse(formatText(
          "{}expected a range of heads within [0, {}) (B2), found [{}, {})",
          where, heads, branch.heads->begin, branch.heads->end));
    return true;
  }

  bool checkNumbers() {
    if (spec.branches.empty())
      return refuse("expected at least 1 branch (section 2), found none");
    auto checkFinite = [&](const char *name, const char *rule,
                           const std::optional<double> &value) {
      return !value || std::isfinite(*value) ||
             refuse(formatText("expected a finite {} ({}), found {:f}", name,
                               rule, *value));
    };
    if (!checkFinite("scale", "section 3", spec.scale) ||
        !checkFinite("softcap", "section 3", spec.softcap) ||
        !checkFinite("output_scale", "R2", spec.outputScale))
      return false;
    if (spec.softcap && *spec.softcap <= 0)
      return refuse(formatText("expected a softcap above 0 (section 3), found "
                               "{:f}; nearest legal choice: no softcap",
                               *spec.softcap));
    if (spec.precision != Precision::f32 && inputs.query.dtype() != DType::f32)
      return refuse(formatText(
          "expected precision f32 beside a query of {} (R7), found {}; nearest "
          "legal choice: precision f32",
          nameOf(inputs.query.dtype()), nameOf(spec.precision)));
    if (spec.outputScale && spec.mix != Mix::Sum)
      return refuse(formatText(
          "expected output_scale under mix = sum only (R2), found {:f} under "
          "mix = softmax; nearest legal choice: no output_scale",
          *spec.outputScale));
    for (const auto &[name, bound] :
         {std::pair("left", spec.windowLeft), {"right", spec.windowRight}})
      if (bound && *bound < 0)
        return refuse(formatText("expected a window of at least 0 to the {} "
                                 "(B4), found {}; nearest legal choice: 0",
                                 name, *bound));
    return true;
  }

  /// The least and greatest positions, which the checks after this one need.
  bool measurePositions() {
    Sequences queries =
        Sequences::make(inputs.query, inputs.cuSeqlensQ, inputs.lengthsQ);
    Sequences keys = Sequences::make(inputs.key, inputs.cuSeqlensK,
                                     inputs.lengthsK, inputs.keyBegins);
    for (size_t i = 0; i < queries.extents.size(); ++i) {
      int64_t rows = queries.extents[i].length;
      int64_t length = keys.extents[i].length;
      greatestKey = std::max(greatestKey, length - 1);
      if (rows == 0)
        continue;
      int64_t offset = length - rows;
      if (inputs.qOffset)
        offset = inputs.qOffset->getInt(
            {inputs.qOffset->size(0) == 1 ? 0 : static_cast<int64_t>(i)});
      least = std::min(least, offset);
      greatestQuery = std::max(greatestQuery, offset + rows - 1);
    }
    return true;
  }

  bool checkPatternOrder() {
    if (!spec.patternOrder)
      return true;
    std::string error;
    order = layout::makeOrder(*spec.patternOrder, &error);
    if (order)
      error = order->validatePattern(greatest());
    return error.empty() || refuse("pattern order: " + error);
  }

  bool checkGridWindow() {
    if (!spec.gridWindow)
      return true;
    const GridWindow &window = *spec.gridWindow;
    std::optional<int64_t> volume = layout::gridVolume(window.grid);
    if (!volume || window.grid.empty())
      return refuse("expected a grid of sides of at least 1 with fewer than "
                    "2^63 cells (B5), found " +
                    layout::describe(window.grid));
    if (window.radius.size() != window.grid.size())
      return refuse(formatText("expected one radius for each of the {} axes of "
                               "the grid (B5), found {}",
                               window.grid.size(), window.radius.size()));
    for (int64_t radius : window.radius)
      if (radius < 0)
        return refuse(formatText("expected a grid window of at least 0 (B5), "
                                 "found {}; nearest legal choice: 0",
                                 radius));
    if (least < 0 || greatest() >= *volume)
      return refuse(formatText("expected every position on the grid {} of {} "
                               "cells (B5), found position {}",
                               layout::describe(window.grid), *volume,
                               least < 0 ? least : greatest()));
    return true;
  }

  bool checkBlockMask() {
    if (spec.blockMask.has_value() != inputs.blockMask.has_value())
      return refuse(spec.blockMask
                        ? "expected a block mask for the block sizes (B6), "
                          "found none"
                        : "expected block sizes for the block mask (B6), "
                          "found none");
    if (!spec.blockMask)
      return true;
    const TensorView &mask = *inputs.blockMask;
    if (spec.blockMask->query < 1 || spec.blockMask->key < 1)
      return refuse(formatText("expected block sizes of at least 1 (B6), found "
                               "{} and {}; nearest legal choice: 1",
                               spec.blockMask->query, spec.blockMask->key));
    if (mask.rank() != 2 || mask.dtype() != DType::i1 || mask.size(0) < 0 ||
        mask.size(1) < 0)
      return refuse("expected a block mask [query blocks, key blocks] of type "
                    "i1 (B6), found shape " +
                    toString(mask.sizes()) + " of type " +
                    std::string(nameOf(mask.dtype())));
    if (least < 0)
      return refuse(
          formatText("expected positions of at least 0 under a block mask "
                     "(B6), found {}; nearest legal choice: q_offset 0",
                     least));
    // A curve may give any position any ordinal of its volume.
    bool permutes = order && !order->isIdentity() && order->period();
    auto blocks = [&](int64_t greatest, int64_t size) {
      return layout::ceilDiv(permutes ? order->period() : greatest + 1, size);
    };
    int64_t queryBlocks = blocks(greatestQuery, spec.blockMask->query);
    int64_t keyBlocks = blocks(greatestKey, spec.blockMask->key);
    if (mask.size(0) < queryBlocks || mask.size(1) < keyBlocks)
      return refuse(formatText("expected a block mask of at least [{}, {}] "
                               "blocks to cover every ordinal (B6), found {}",
                               queryBlocks, keyBlocks, toString(mask.sizes())));
    return true;
  }

  bool checkPadding() {
    bool counts = std::any_of(spec.branches.begin(), spec.branches.end(),
                              [](const Branch &b) { return b.countsPadding; });
    const char *found = spec.windowLeft || spec.windowRight  ? "a window"
                        : spec.gridWindow                    ? "a grid window"
                        : order && !order->isIdentity()      ? "a pattern order"
                        : spec.blockMask                     ? "a block mask"
                        : inputs.lengthsQ || inputs.lengthsK ? "lengths"
                        : inputs.keyBegins                   ? "key_begins"
                        : inputs.cuSeqlensQ || inputs.cuSeqlensK
                            ? "packed sequences"
                        : inputs.qOffset && inputs.qOffset->size(0) != 1
                            ? "a q_offset for each sequence"
                            : nullptr;
    return !counts || !found ||
           refuse("expected whole sequences of one length beside padding that "
                  "counts, found " +
                  std::string(found) + " (B7)");
  }

  bool checkSink() {
    if (!inputs.sink)
      return true;
    int64_t heads = inputs.query.size(inputs.query.rank() - 2);
    if (inputs.sink->rank() != 1 || inputs.sink->size(0) != heads ||
        !isFloat(inputs.sink->dtype()))
      return refuse(formatText("expected a sink of shape [{}], one float per "
                               "query head (R3), found shape {} of type {}",
                               heads, toString(inputs.sink->sizes()),
                               std::string(nameOf(inputs.sink->dtype()))));
    return true;
  }

  bool checkScale(const char *name, const std::optional<TensorView> &scale,
                  int64_t sequences) {
    if (!scale)
      return true;
    int64_t heads = inputs.key.size(inputs.key.rank() - 2);
    int rank = scale->rank();
    if (rank < 1 || rank > 2 || scale->size(rank - 1) != heads ||
        (rank == 2 && scale->size(0) != sequences) ||
        scale->dtype() != DType::f32)
      return refuse(formatText(
          "expected {} of shape [{}] or [{}, {}] and type f32, one for each "
          "head of keys (S6), found shape {} of type {}",
          name, heads, sequences, heads, toString(scale->sizes()),
          std::string(nameOf(scale->dtype()))));
    return true;
  }

  int64_t greatest() const { return std::max(greatestQuery, greatestKey); }

  const AttentionSpec &spec;
  const AttentionInputs &inputs;
  std::shared_ptr<const layout::Order> order;
  int64_t least = 0;
  int64_t greatestQuery = -1;
  int64_t greatestKey = -1;
};

} // namespace

bool validate(const AttentionSpec &spec, const AttentionInputs &inputs,
              std::string *error) {
  Validator validator(spec, inputs);
  if (validator.run())
    return true;
  if (error)
    *error = std::move(validator.message);
  return false;
}

} // namespace ringlet::oracle
