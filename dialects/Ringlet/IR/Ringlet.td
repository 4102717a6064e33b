//===- Ringlet.td - the ringlet dialect ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RINGLET
#define RINGLET_RINGLET

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/Layout/IR/Layout.td"
include "dialects/Layout/IR/OrderInterface.td"
include "dialects/Ringlet/IR/RingletEnums.td"

def Ringlet_Dialect : Dialect {
  let name = "ringlet";
  let cppNamespace = "::ringlet::attn";
  let summary = "What is computed: attention graphs on tensors";
  let description = [{
    The level that a model or another compiler writes. Operations say what is
    computed, as numbered in the specification (S1, B2, R3, ...), and nothing
    about tiles, threads or targets.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::ringlet::rlayout::RLayoutDialect"];
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def Ringlet_MixAttr : EnumAttr<Ringlet_Dialect, Ringlet_Mix, "mix"> {
  let assemblyFormat = "$value";
}

def Ringlet_CombineAttr : EnumAttr<Ringlet_Dialect, Ringlet_Combine, "combine"> {
  let assemblyFormat = "$value";
}

class Ringlet_Attr<string name, string attrMnemonic>
    : AttrDef<Ringlet_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Ringlet_PrecisionAttr : Ringlet_Attr<"Precision", "precision"> {
  let summary = "What factors of f32 become in products";
  let description = [{
    `f32`: themselves. `tf32`: numbers of 11 digits. `tf32x3`, `bf16x3`: sums of
    two numbers of 11 or 8 digits, of which three products are made (rule R7).

    Example:

    ```mlir
    #fast = #ringlet<precision bf16x3>
    ```
  }];
  let parameters = (ins "::ringlet::Precision":$value);
  let assemblyFormat = "$value";
}

def Ringlet_BranchAttr : Ringlet_Attr<"Branch", "branch"> {
  let summary = "One dilated, segmented set of keys";
  let description = [{
    The sequence is cut into segments of `w` positions (`*`: one segment holds
    every position), and a head sees every `r`-th position of its segment,
    starting at an offset that depends on the head (rules B1 to B4):

      * `modulo` (default): head number mod r;
      * `block`: head number / ceil(number of heads / r);
      * `constant<c>`: c mod r.

    The head number is the key head, or the query head with `by = query`.
    `heads = [first, last)` restricts the branch to some query heads. `?` for w
    or r takes the next of the operation's `sizes` operands. With
    `padding = counted` keys of zeros, up to which segments are filled, count in
    the softmax (rule B7).

    Example:

    ```mlir
    #local = #ringlet.branch<w = 2048, r = 1>
    #sparse = #ringlet.branch<w = *, r = 16, offset = block, by = query>
    #group = #ringlet.branch<w = 4096, r = 2, offset = constant<1>, heads = [0, 4]>
    #padded = #ringlet.branch<w = 4096, r = 2, offset = block, padding = counted>
    ```
  }];
  let parameters = (ins
    "int64_t":$w, "int64_t":$r,
    "::ringlet::attn::OffsetRule":$offset, "int64_t":$constant,
    "::ringlet::attn::HeadKind":$by,
    "int64_t":$headBegin, "int64_t":$headEnd,
    DefaultValuedParameter<"::ringlet::attn::Padding",
                           "::ringlet::attn::Padding::None">:$padding);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// w of a branch whose one segment holds every position.
    static constexpr int64_t kUnbounded = -1;
    /// w or r that is an operand.
    static constexpr int64_t kRuntime = ::mlir::ShapedType::kDynamic;
    /// headEnd of a branch in which all heads from headBegin take part.
    static constexpr int64_t kAllHeads = -1;

    bool isUnbounded() const { return getW() == kUnbounded; }
    bool isRuntimeW() const { return getW() == kRuntime; }
    bool isRuntimeR() const { return getR() == kRuntime; }
    bool hasAllHeads() const {
      return getHeadBegin() == 0 && getHeadEnd() == kAllHeads;
    }
    /// The end of its heads among so many query heads.
    int64_t getHeadEnd(int64_t queryHeads) const {
      return getHeadEnd() == kAllHeads ? queryHeads : getHeadEnd();
    }
    bool hasEveryHead(int64_t queryHeads) const {
      return getHeadBegin() == 0 && getHeadEnd(queryHeads) == queryHeads;
    }
    /// Whether keys of padding count (B7).
    bool countsPadding() const { return getPadding() == Padding::Counted; }
    /// The branch with another segment length.
    BranchAttr withW(int64_t w) const { return withSizes(w, getR()); }
    /// The branch with another segment length and dilation.
    BranchAttr withSizes(int64_t w, int64_t r) const;
  }];
}

def Ringlet_GridWindowAttr : Ringlet_Attr<"GridWindow", "grid_window"> {
  let summary = "Neighbourhood on the grid of the sequence (rule B5)";
  let description = [{
    Keys within `reach` cells of the query on each axis of `grid` are visible.

    Example:

    ```mlir
    #near = #ringlet.grid_window<grid = [64, 64], reach = [3, 3]>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$grid,
                        ArrayRefParameter<"int64_t">:$reach);
  let assemblyFormat =
    "`<` `grid` `=` `[` $grid `]` `,` `reach` `=` `[` $reach `]` `>`";
  let genVerifyDecl = 1;
}

def Ringlet_TilingAttr : Ringlet_Attr<"Tiling", "tiling"> {
  let summary = "Tile shape of one kernel, of a branch or of all";
  let description = [{
    Written by `ringlet-choose-tiling`, read by `ringlet-to-rtile`: `query`
    rows of Q are worked on at a time, against `key` rows of K and V.

    With a `recipe` the branch becomes two kernels. The first one is scheduled
    by the recipe (see `rtile.func`) and may take short cuts with the maximum of
    a row, as long as it marks the rows for which they went wrong; the second
    one, plain and with the tile shape `redo`, computes marked rows again.

    Sums over more than `part` keys (0: any number) move to memory after as many,
    so that their error does not grow with the number of keys (`rtile.totals`).
    Where only a call knows how many there are, and moves would make all calls
    slower, `manyKeys` is the tiling of those that have more keys than its part:
    an entry has kernels of both.

    Example:

    ```mlir
    #plain = #ringlet.tiling<query = 64, key = 64>
    #long = #ringlet.tiling<query = 64, key = 64, part = 16384>
    #any = #ringlet.tiling<query = 128, key = 64, manyKeys = <query = 64, key = 64, part = 16384>>
    #scheduled = #ringlet.tiling<query = 128, key = 128, recipe = "fa_fwd_lazy", redo = <query = 64, key = 64>>
    ```
  }];
  let parameters = (ins "int64_t":$query, "int64_t":$key,
    OptionalParameter<"::mlir::StringAttr">:$recipe,
    OptionalParameter<"::ringlet::attn::TilingAttr">:$redo,
    DefaultValuedParameter<"int64_t", "0">:$part,
    OptionalParameter<"::ringlet::attn::TilingAttr">:$manyKeys);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let builders = [AttrBuilder<(ins "int64_t":$query, "int64_t":$key,
                                   CArg<"int64_t", "0">:$part,
                                   CArg<"TilingAttr", "{}">:$manyKeys), [{
    return $_get($_ctxt, query, key, ::mlir::StringAttr(), TilingAttr(), part,
                 manyKeys);
  }]>, AttrBuilder<(ins "int64_t":$query, "int64_t":$key,
                        "::mlir::StringAttr":$recipe, "TilingAttr":$redo,
                        "int64_t":$part), [{
    return $_get($_ctxt, query, key, recipe, redo, part, TilingAttr());
  }]>];
}

def Ringlet_SplitKVAttr : Ringlet_Attr<"SplitKV", "split_kv"> {
  let summary = "Kernels for few queries, whose keys are split into parts";
  let description = [{
    Written by `ringlet-choose-tiling`, read by `ringlet-to-rtile`: calls with at
    most `queries` queries and at least `fewestKeys` keys a sequence run kernels that share out the keys of a
    tile of queries among grid points, as many as fill the machine, and one that
    merges what these leave in memory. An attention may have several, for more and
    more queries: a call runs the first one that is for as many. One with
    `fewestParts` is only for calls of whose tiles each has so many parts: others
    fill the machine without.

    A tile has `rows` rows, of `heads` query
    heads of one key head each, and meets `key` rows of K and V at a time. With a
    `recipe` its kernel is to be scheduled. No
    part is meant to have fewer than `part` keys, and of more than `manyParts` parts
    (0: any number) none fewer than 4 * `part`. None has more than `most` keys (0: any
    number), however many parts that makes: the weights of a part are one sum. Parts
    fill the machine if there are about `points` grid points for each of its
    processors: those that it runs at once, or as many as keep its memory busy. With
    a recipe there are never more, as the last ones would have the machine for
    themselves.

    A tile of the merging kernel has `mergeColumns` columns of one row of the output,
    0 for all of them, and reads what `mergeStates` parts left at a time: on a
    machine with many processors that wait long for memory, whole rows would keep
    few of them busy.

    Example:

    ```mlir
    #short = #ringlet.split_kv<rows = 16, key = 64, heads = 4, part = 256, queries = 16>
    #wide = #ringlet.split_kv<rows = 16, key = 64, heads = 4, part = 256, queries = 16,
                              manyParts = 32, fewestKeys = 1536,
                              mergeColumns = 16, mergeStates = 8, most = 16384,
                              points = 7>
    #tall = #ringlet.split_kv<rows = 128, key = 128, heads = 4, part = 1024, queries = 512,
                              recipe = "fa_fwd_overlap", fewestParts = 2>
    ```
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$key, "int64_t":$heads,
                        "int64_t":$part, "int64_t":$queries,
                        DefaultValuedParameter<"int64_t", "0">:$manyParts,
                        DefaultValuedParameter<"int64_t", "0">:$fewestKeys,
                        DefaultValuedParameter<"int64_t", "0">:$mergeColumns,
                        DefaultValuedParameter<"int64_t", "1">:$mergeStates,
                        DefaultValuedParameter<"int64_t", "0">:$most,
                        DefaultValuedParameter<"int64_t", "4">:$points,
                        OptionalParameter<"::mlir::StringAttr">:$recipe,
                        DefaultValuedParameter<"int64_t", "1">:$fewestParts);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

include "dialects/Ringlet/IR/RingletOps.td"

#endif // RINGLET_RINGLET
