//===- AttentionSpec.h - The attention operation as plain data --*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What one attention computes, field by field with the rules of the
// specification, and its inputs. Any values may stand here; `validate` is the
// judge.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LIB_ORACLE_ATTENTIONSPEC_H
#define RINGLET_LIB_ORACLE_ATTENTIONSPEC_H

#include "lib/Layout/Dilation.h"
#include "lib/Layout/OrderSpec.h"
#include "lib/Tensor/Precision.h"
#include "lib/Tensor/Tensor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ringlet::oracle {

/// Half-open range of query heads.
struct HeadRange {
  int64_t begin = 0;
  int64_t end = 0;
};

/// One branch (section 2).
struct Branch {
  /// w >= 1, at least `dilation` (B1). Nothing stands for `*`: one segment
  /// that holds every position.
  std::optional<int64_t> segment;
  /// r >= 1.
  int64_t dilation = 1;
  /// How a head picks its residue (B2).
  layout::OffsetRule offset = layout::OffsetRule::Modulo;
  /// The c of the constant rule, any sign (B2).
  int64_t constant = 0;
  /// `offset_by = query`: the rule counts query heads, not key heads (B2).
  bool offsetByQuery = false;
  /// The query heads that take part; nothing stands for all of them.
  std::optional<HeadRange> heads;
  /// Keys of padding count (B7).
  bool countsPadding = false;
};

/// Window on a grid of tokens (B5).
struct GridWindow {
  /// Sides, slowest axis first; the token is the cell's number, row by row.
  std::vector<int64_t> grid;
  /// k_a: on each axis, how far a key may be away.
  std::vector<int64_t> radius;
};

/// Sizes of the blocks of a block mask (B6), counted in ordinals.
struct BlockSizes {
  int64_t query = 0;
  int64_t key = 0;
};

/// How branches come together: R1 or R2.
enum class Mix { Softmax, Sum };

struct AttentionSpec {
  std::vector<Branch> branches;
  /// Keys after the query's position are masked (B4).
  bool causal = false;
  /// p - left <= u <= p + right (B4); a side without a value has no bound.
  std::optional<int64_t> windowLeft;
  std::optional<int64_t> windowRight;
  std::optional<GridWindow> gridWindow;
  /// Set exactly when the inputs hold a block mask.
  std::optional<BlockSizes> blockMask;
  /// Segments and residues are counted along this order (O2).
  std::optional<layout::OrderSpec> patternOrder;
  Mix mix = Mix::Softmax;
  /// Factor of the sum; under Mix::Sum only (R2). Default 1.
  std::optional<double> outputScale;
  /// Factor of the scores; default 1 / sqrt(D) (section 3).
  std::optional<double> scale;
  /// c of c * tanh(s / c), applied to scaled scores (section 3).
  std::optional<double> softcap;
  /// What factors of products become in the precision of the inputs; anything
  /// but f32 beside inputs of f32 only (R7). The exact result knows nothing of
  /// it.
  Precision precision = Precision::f32;
};

/// The operands. Queries and keys may each be
///  * padded: rank 4, `[B, S, H, D]`, with `lengths` `[B]` or without, or
///  * packed: rank 3, `[total, H, D]`, with `cuSeqlens` `[sequences + 1]` (S2).
/// Lengths, offsets and cuSeqlens are i32 or i64.
struct AttentionInputs {
  TensorView query;
  TensorView key;
  TensorView value;
  std::optional<TensorView> cuSeqlensQ;
  std::optional<TensorView> cuSeqlensK;
  std::optional<TensorView> lengthsQ;
  std::optional<TensorView> lengthsK;
  /// `[B]`: the row that is the first key of each padded sequence, i32 or i64
  /// of any value (S5).
  std::optional<TensorView> keyBegins;
  /// What keys and values are multiplied with, f32, `[Hkv]` or `[sequences,
  /// Hkv]`; default 1 (S6). Key and value may then have 8 bits.
  std::optional<TensorView> keyScale;
  std::optional<TensorView> valueScale;
  /// `[1]` for all sequences or `[sequences]`; default len_k - len_q (S1).
  std::optional<TensorView> qOffset;
  /// One raw logit per query head, `[Hq]`, any float type (R3).
  std::optional<TensorView> sink;
  /// i1 `[query blocks, key blocks]`, true where keys are seen (B6).
  std::optional<TensorView> blockMask;
};

/// The scale of a head of keys in a sequence, 1 where there is none (S6).
inline double scaleOf(const std::optional<TensorView> &scale, int64_t sequence,
                      int64_t keyHead) {
  if (!scale)
    return 1;
  return scale->rank() == 1 ? scale->get({keyHead})
                            : scale->get({sequence, keyHead});
}

/// True when the rules allow this computation; else `*error` says which rule
/// is broken, by what value, and the nearest legal choice.
bool validate(const AttentionSpec &spec, const AttentionInputs &inputs,
              std::string *error);

} // namespace ringlet::oracle

#endif // RINGLET_LIB_ORACLE_ATTENTIONSPEC_H
