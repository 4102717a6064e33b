//===- RingletOps.td - operations of the ringlet dialect ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RINGLET_OPS
#define RINGLET_RINGLET_OPS

class Ringlet_Op<string opMnemonic, list<Trait> traits = []>
    : Op<Ringlet_Dialect, opMnemonic, traits>;

def Ringlet_Tensor : RankedTensorOf<[F16, BF16, F32]>;
def Ringlet_Lengths : 1DTensorOf<[I64]>;
def Ringlet_PageTable : 2DTensorOf<[I32]>;
def Ringlet_KeyBegins : 1DTensorOf<[I32, I64]>;
def Ringlet_Keys : RankedTensorOf<[F16, BF16, F32, F8E4M3FN, I8]>;
def Ringlet_HeadScales : TensorRankOf<[F32], [1, 2]>;

def Ringlet_AttentionOp : Ringlet_Op<"attention",
    [Pure, AttrSizedOperandSegments,
     DeclareOpInterfaceMethods<RLayout_OrderInterface>]> {
  let summary = "Softmax attention over the keys of one or more branches";
  let description = [{
    Computes, for each query row, attention over the keys that its branches
    make visible. `query` is `[batch, Sq, Hq, D]`, `key` `[batch, Sk, Hkv, D]`,
    `value` `[batch, Sk, Hkv, Dv]`; with packed sequences (`packed`) the first
    two axes are one, `[total, H, D]`. Element types are f16, bf16 or f32, the
    same for all three; or `key` and `value` have 8 bits, f8E4M3FN or i8 (rule
    S6). Query head h reads key head `h / (Hq / Hkv)`.

    Results: `output` `[batch, Sq, Hq, Dv]` in the element type of `query`,
    and `lse`, f32 `[batch, Hq, Sq]`: the natural logarithm of the row's sum of
    exponentials. Under `mix = sum` it has a leading axis, one entry a branch.
    A row without any key has output 0 and lse -inf.

    `branches` lists the visible keys (rules B1 to B4, B7); a key that two branches
    share counts twice. Optional clauses, in any order:

      * `causal`, `window = [left, right]`: positions u <= p, and
        p - left <= u <= p + right (B4; -1 is unlimited);
      * `grid_window`, `pattern_order`, `block_mask`: rules B5, O2 and B6;
      * `q_offset`: position of query row 0, `tensor<i64>` for all sequences or
        `tensor<Bxi64>` for each; default length of keys - length of queries
        (rule S1);
      * `lengths`: valid rows of each padded sequence, queries then keys;
        `packed`: cumulative row numbers, queries then keys (rule S2);
      * `pages`: the pages of each sequence in a pool that is `key` and `value`,
        `[pages, rows of a page, Hkv, D]`, `tensor<BxNxi32>` (rule S4);
      * `key_begins`: the row of `key` and `value`, or of its pages, that is the
        first key of each padded sequence, `tensor<Bxi32>` or `tensor<Bxi64>`;
        lengths of keys then say behind which row they end (rule S5);
      * `k_scale`, `v_scale`: what keys and values of 8 bits are multiplied with,
        f32, for each head of keys, `[Hkv]`, or for each sequence and head,
        `[B, Hkv]`; 1 without (rule S6);
      * `sizes`: the runtime values, `tensor<i64>`, of each `?` in `branches`,
        w before r. One that is a constant becomes part of its branch where B1
        allows it;
      * `scale` (default 1/sqrt(D)), `softcap` (rules of section 3);
      * `precision = f32` (default), or `tf32`, `tf32x3`, `bf16x3`: how coarsely
        products of f32 may be computed, so that matrix instructions can (R7);
      * `mix = softmax` (default, R1) or `sum` with `output_scale` (R2);
      * `sink`: one raw logit a query head, f32 `[Hq]` (R3);
      * `combine`: how kernels compute several branches, which changes no value
        beyond rounding. `chain` (default): a kernel for each, which goes on
        from the softmax that the ones before left in memory. `union`: one
        kernel, whose tiles hold rows of one residue modulo the common multiple
        of all r and one segment of the common divisor of all w. Keys of several
        branches are visited once and count as often as rule R1 says. Not every
        attention has a union; the verifier says why not. `apart`: a kernel for
        each branch, which begins and ends its own softmax, for branches of
        different heads;
      * `tilings`: a tile shape for each branch or, with `combine = union`, one;
      * `split_kv`: kernels for calls with few queries, which share out the keys
        of each branch; several, each for more queries than the one before.

    Formulas: one softmax over the union of branches equals the weighting of
    branch outputs by the softmax of their lse, as in LongNet
    (arXiv:2307.02486, section 2.2).

    Example:

    ```mlir
    func.func @longnet(%q: tensor<1x?x8x64xbf16>, %k: tensor<1x?x8x64xbf16>,
                       %v: tensor<1x?x8x64xbf16>)
        -> (tensor<1x?x8x64xbf16>, tensor<1x8x?xf32>) {
      %o, %lse = ringlet.attention %q, %k, %v
          branches [<w = 2048, r = 1>, <w = 4096, r = 2>, <w = 8192, r = 4>]
          causal
          : (tensor<1x?x8x64xbf16>, tensor<1x?x8x64xbf16>, tensor<1x?x8x64xbf16>)
          -> (tensor<1x?x8x64xbf16>, tensor<1x8x?xf32>)
      return %o, %lse : tensor<1x?x8x64xbf16>, tensor<1x8x?xf32>
    }
    ```

    Example: a step of decoding whose keys lie in pages of 16 rows.

    ```mlir
    func.func @decode(%q: tensor<?x1x32x128xbf16>, %k: tensor<?x16x8x128xbf16>,
                      %v: tensor<?x16x8x128xbf16>, %pages: tensor<?x?xi32>,
                      %new: tensor<?xi64>, %held: tensor<?xi64>)
        -> tensor<?x1x32x128xbf16> {
      %o, %lse = ringlet.attention %q, %k, %v branches [<w = *, r = 1>]
          causal lengths(%new, %held) pages(%pages)
          : (tensor<?x1x32x128xbf16>, tensor<?x16x8x128xbf16>,
             tensor<?x16x8x128xbf16>, tensor<?xi64>, tensor<?xi64>,
             tensor<?x?xi32>)
          -> (tensor<?x1x32x128xbf16>, tensor<?x32x1xf32>)
      return %o : tensor<?x1x32x128xbf16>
    }
    ```

    Example: prompts of several lengths, padded in front, as generation in
    batches has them.

    ```mlir
    func.func @generate(%q: tensor<?x?x32x128xbf16>, %k: tensor<?x?x8x128xbf16>,
                        %v: tensor<?x?x8x128xbf16>, %padding: tensor<?xi32>)
        -> tensor<?x?x32x128xbf16> {
      %o, %lse = ringlet.attention %q, %k, %v branches [<w = *, r = 1>]
          causal key_begins(%padding)
          : (tensor<?x?x32x128xbf16>, tensor<?x?x8x128xbf16>,
             tensor<?x?x8x128xbf16>, tensor<?xi32>)
          -> (tensor<?x?x32x128xbf16>, tensor<?x32x?xf32>)
      return %o : tensor<?x?x32x128xbf16>
    }
    ```

    Example: a step of decoding over a cache of 8 bits, with a scale for each
    head of keys and of values.

    ```mlir
    func.func @decode8(%q: tensor<?x1x32x128xbf16>,
                       %k: tensor<?x?x8x128xf8E4M3FN>,
                       %v: tensor<?x?x8x128xf8E4M3FN>,
                       %ks: tensor<8xf32>, %vs: tensor<8xf32>)
        -> tensor<?x1x32x128xbf16> {
      %o, %lse = ringlet.attention %q, %k, %v branches [<w = *, r = 1>]
          k_scale(%ks) v_scale(%vs)
          : (tensor<?x1x32x128xbf16>, tensor<?x?x8x128xf8E4M3FN>,
             tensor<?x?x8x128xf8E4M3FN>, tensor<8xf32>, tensor<8xf32>)
          -> (tensor<?x1x32x128xbf16>, tensor<?x32x1xf32>)
      return %o : tensor<?x1x32x128xbf16>
    }
    ```
  }];
  let arguments = (ins
    Ringlet_Tensor:$query, Ringlet_Keys:$key, Ringlet_Keys:$value,
    Optional<TensorOf<[I64]>>:$q_offset,
    Optional<Ringlet_Lengths>:$query_lengths,
    Optional<Ringlet_Lengths>:$key_lengths,
    Optional<Ringlet_Lengths>:$query_starts,
    Optional<Ringlet_Lengths>:$key_starts,
    Variadic<0DTensorOf<[I64]>>:$sizes,
    Optional<1DTensorOf<[F32]>>:$sink,
    Optional<2DTensorOf<[I1]>>:$block_mask,
    Optional<Ringlet_PageTable>:$page_table,
    Optional<Ringlet_KeyBegins>:$key_begins,
    Optional<Ringlet_HeadScales>:$k_scale,
    Optional<Ringlet_HeadScales>:$v_scale,
    TypedArrayAttrBase<Ringlet_BranchAttr, "list of branches">:$branches,
    UnitAttr:$causal,
    OptionalAttr<ConfinedAttr<DenseI64ArrayAttr, [DenseArrayCount<2>]>>:$window,
    OptionalAttr<Ringlet_GridWindowAttr>:$grid_window,
    OptionalAttr<RLayout_OrderAttr>:$pattern_order,
    OptionalAttr<F64Attr>:$scale,
    OptionalAttr<F64Attr>:$softcap,
    DefaultValuedAttr<Ringlet_MixAttr, "::ringlet::attn::Mix::Softmax">:$mix,
    OptionalAttr<F64Attr>:$output_scale,
    OptionalAttr<ConfinedAttr<DenseI64ArrayAttr,
      [DenseArrayCount<2>]>>:$block_size,
    OptionalAttr<Ringlet_PrecisionAttr>:$precision,
    OptionalAttr<Ringlet_CombineAttr>:$combine,
    OptionalAttr<TypedArrayAttrBase<Ringlet_TilingAttr, "tilings">>:$tilings,
    OptionalAttr<TypedArrayAttrBase<Ringlet_SplitKVAttr,
      "kernels for few queries">>:$split_kv);
  let results = (outs Ringlet_Tensor:$output, RankedTensorOf<[F32]>:$lse);
  let assemblyFormat = [{
    $query `,` $key `,` $value `branches` custom<Branches>($branches)
    oilist( `causal` $causal
          | `window` `=` custom<Window>($window)
          | `grid_window` `=` custom<GridWindow>($grid_window)
          | `pattern_order` `=` custom<PatternOrder>($pattern_order)
          | `q_offset` `(` $q_offset `)`
          | `lengths` `(` $query_lengths `,` $key_lengths `)`
          | `packed` `(` $query_starts `,` $key_starts `)`
          | `pages` `(` $page_table `)`
          | `key_begins` `(` $key_begins `)`
          | `k_scale` `(` $k_scale `)`
          | `v_scale` `(` $v_scale `)`
          | `sizes` `(` $sizes `)`
          | `sink` `(` $sink `)`
          | `block_mask` `(` $block_mask `)` `of`
            custom<Window>($block_size)
          | `scale` `=` $scale
          | `softcap` `=` $softcap
          | `precision` `=` custom<Precision>($precision)
          | `mix` `=` custom<Mix>($mix)
          | `output_scale` `=` $output_scale
          | `combine` `=` custom<Combine>($combine)
          | `tilings` `=` $tilings
          | `split_kv` `=` custom<SplitKV>($split_kv))
    `` custom<EndOfClauses>(ref($branches)) attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
  let extraClassDeclaration = [{
    bool isPacked() { return static_cast<bool>(getQueryStarts()); }
    auto getBranchRange() {
      return getBranches().getAsRange<::ringlet::attn::BranchAttr>();
    }
    /// Axis 1 of the query, or axis 0 when packed.
    int64_t getSequenceAxis() { return isPacked() ? 0 : 1; }
    /// Whether keys and values lie in pages of a pool (S4).
    bool isPaged() { return static_cast<bool>(getPageTable()); }
    /// Whether keys and values have 8 bits, which are widened (S6).
    bool isWidened() {
      return getKey().getType().getElementTypeBitWidth() == 8;
    }
    /// The axis of rows of key and value: of a page, if they lie in pages.
    int64_t getKeyAxis() { return isPaged() ? 1 : getSequenceAxis(); }
    /// How many rows of keys a sequence may have, or if packed all of them, as
    /// far as types say; else dynamic.
    int64_t getKeyRows();
    /// The pattern order, or null where each position is its own ordinal, as
    /// without one (O2).
    ::ringlet::rlayout::OrderAttr getOrdinalOrder();
    int64_t getQueryHeads();
    int64_t getKeyHeads();
    int64_t getHeadDim();
    int64_t getValueDim();
    /// Whether some row may count keys of padding (B7): with sequences of the
    /// length that the types know there may be none.
    bool mayCountPadding();
    /// Whether one kernel computes all branches.
    bool isUnion() {
      return getCombine() == ::ringlet::attn::Combine::Union;
    }
    /// Whether each branch has heads, and so softmaxes, of its own.
    bool isApart() {
      return getCombine() == ::ringlet::attn::Combine::Apart;
    }
    /// The tile shape of the kernel that computes a branch; there are tilings.
    ::ringlet::attn::TilingAttr getTilingOf(unsigned branch);
    /// Kernels for few queries; those for the fewest come first.
    llvm::SmallVector<::ringlet::attn::SplitKVAttr> getSplits();
    /// What factors of products become (R7).
    ::ringlet::Precision getProductPrecision() {
      PrecisionAttr precision = getPrecisionAttr();
      return precision ? precision.getValue() : ::ringlet::Precision::f32;
    }
    /// The factor of <q, k>: `scale`, or 1/sqrt(D).
    double getScaleValue();
  }];
}

def Ringlet_ReorderOp : Ringlet_Op<"reorder",
    [Pure, DeclareOpInterfaceMethods<RLayout_OrderInterface>]> {
  let summary = "Moves tokens from one memory order to another";
  let description = [{
    The result holds the same tokens as `input` in the order of its own type.
    Operand and result have the same shape and element type and the same
    sequence axis; a type without an encoding is in linear order (rule O1).

    A reorder to the type it came from folds away; a chain folds into one.

    Example:

    ```mlir
    #hilbert = #rlayout.layout<
        order = #rlayout.order<hilbert, grid = [8, 8]>>
    func.func @to_hilbert(%x: tensor<1x64x2x16xf32>)
        -> tensor<1x64x2x16xf32, #hilbert> {
      %y = ringlet.reorder %x
          : tensor<1x64x2x16xf32> to tensor<1x64x2x16xf32, #hilbert>
      return %y : tensor<1x64x2x16xf32, #hilbert>
    }
    ```
  }];
  let arguments = (ins Ringlet_Tensor:$input);
  let results = (outs Ringlet_Tensor:$output);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($output)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// Layouts of operand and result; null for linear order.
    ::ringlet::rlayout::LayoutAttr getInputLayout();
    ::ringlet::rlayout::LayoutAttr getOutputLayout();
    int64_t getSequenceAxis();
  }];
}

#endif // RINGLET_RINGLET_OPS
