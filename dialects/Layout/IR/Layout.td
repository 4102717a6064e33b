//===- Layout.td - the rlayout dialect ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_LAYOUT
#define RINGLET_LAYOUT

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/TensorEncoding.td"
include "dialects/Layout/IR/LayoutEnums.td"

def RLayout_Dialect : Dialect {
  let name = "rlayout";
  let cppNamespace = "::ringlet::rlayout";
  let summary = "Orders and shardings of a token sequence, as attributes";
  let description = [{
    Says how the tokens of a sequence lie in memory (`order`) and on the ranks
    of a ring (`ring`). The dialect has attributes only. They appear as the
    encoding of a tensor type, as the pattern order of an attention, and as the
    content of an index table; their arithmetic lives in `lib/Layout`, which
    knows no compiler.

    Why attributes and not operations: an order is a property of data that
    outlives every operation on it. As part of the type it cannot be forgotten
    on the way from one operation to the next.
  }];
  let useDefaultAttributePrinterParser = 1;
}

//===----------------------------------------------------------------------===//
// Curves
//===----------------------------------------------------------------------===//

def RLayout_CurveInterface : AttrInterface<"CurveAttrInterface"> {
  let cppNamespace = "::ringlet::rlayout";
  let description = [{
    A curve through the cells of a grid: what `#rlayout.order` needs to know of
    it. A new curve is one attribute with this interface and one row in the
    registry of `lib/Layout`.
  }];
  let methods = [
    InterfaceMethod<"Writes the curve's name and parameters into `spec`.",
      "void", "describe", (ins "::ringlet::layout::OrderSpec &":$spec)>
  ];
}

class RLayout_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<RLayout_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

class RLayout_Curve<string name, string curveMnemonic>
    : RLayout_Attr<name # "Curve", curveMnemonic,
        [DeclareAttrInterfaceMethods<RLayout_CurveInterface>]>;

def RLayout_LinearCurve : RLayout_Curve<"Linear", "linear"> {
  let summary = "Tokens in their natural order";
}
def RLayout_HilbertCurve : RLayout_Curve<"Hilbert", "hilbert"> {
  let summary = "Hilbert curve over a 2-D or 3-D grid of any side lengths";
  let description = [{
    Consecutive tokens are neighbours on the grid: on every 2-D grid, and on
    every 3-D grid with even sides (rule O4).
  }];
}
def RLayout_MortonCurve : RLayout_Curve<"Morton", "morton"> {
  let summary = "Order of the interleaved coordinate bits";
}
def RLayout_SnakeCurve : RLayout_Curve<"Snake", "snake"> {
  let summary = "Row-major order in which every other row runs backwards";
}
def RLayout_ResidueCurve : RLayout_Curve<"Residue", "residue"> {
  let summary = "Tokens of equal residue modulo the rate lie together";
  let parameters = (ins "int64_t":$rate);
  let assemblyFormat = "`<` $rate `>`";
  let genVerifyDecl = 1;
}
def RLayout_TableCurve : RLayout_Curve<"Table", "table"> {
  let summary = "A permutation given by the user";
  let parameters = (ins ArrayRefParameter<"int64_t">:$tokens);
  let assemblyFormat = "`<` `[` $tokens `]` `>`";
}

//===----------------------------------------------------------------------===//
// Orders, rings and layouts
//===----------------------------------------------------------------------===//

def RLayout_OrderAttr : RLayout_Attr<"Order", "order"> {
  let summary = "Which token lies in which slot of the sequence axis";
  let description = [{
    Slot m of the axis holds token pi(m), where pi walks along `curve` over
    `grid` (row-major cells, last axis fastest) and starts anew every `chunk`
    tokens (rule O1). Without a chunk the grid's volume is the length of the
    axis; a short tail keeps the curve's order of the tokens that it has.

    Example:

    ```mlir
    #order = #rlayout.order<hilbert, grid = [64, 64]>
    #chunked = #rlayout.order<hilbert, grid = [64, 64], chunk = 4096>
    #dilation_major = #rlayout.order<residue<4>>
    #by_hand = #rlayout.order<table<[2, 0, 1]>>
    ```
  }];
  let parameters = (ins "::ringlet::rlayout::CurveAttrInterface":$curve,
    ArrayRefParameter<"int64_t">:$grid, "int64_t":$chunk);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The arithmetic behind this attribute.
    std::shared_ptr<const ::ringlet::layout::Order> getOrder() const;
    ::ringlet::layout::OrderSpec getSpec() const;
    /// True if slot m holds token m for every m.
    bool isIdentity() const;
  }];
}

def RLayout_RingAttr : RLayout_Attr<"Ring", "ring"> {
  let summary = "How a sequence is dealt to the ranks of a ring";
  let description = [{
    `contiguous` gives each rank one stretch, `zigzag` one from each end so
    that causal work is equal, `striped` deals blocks of `block` tokens in turn
    (rule G1). `?` ranks: any number of them, which only the call knows. Sizes
    of a type are those of the whole sequence; a rank's part of it is what the
    rank passes to a call.

    Example:

    ```mlir
    #ring = #rlayout.ring<4, striped, 128>
    #any = #rlayout.ring<?, zigzag>
    ```
  }];
  let parameters = (ins "int64_t":$ranks,
    EnumParameter<RLayout_BalanceAttr>:$balance,
    DefaultValuedParameter<"int64_t", "0">:$block);
  let assemblyFormat =
    "`<` custom<Ranks>($ranks) `,` $balance (`,` $block^)? `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// ranks where only the call knows them.
    static constexpr int64_t kAnyRanks = ::mlir::ShapedType::kDynamic;
    bool hasAnyRanks() const { return getRanks() == kAnyRanks; }
  }];
}

def RLayout_LayoutAttr : RLayout_Attr<"Layout", "layout",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "Order and sharding of a tensor's sequence axis";
  let description = [{
    The encoding of a tensor type. `axis` is the sequence axis: 1 by default,
    as in `[batch, sequence, head, dim]`; its static size must fit the order.
    Without an order other than the linear one and without a ring a layout says
    what no encoding says, of any axis.

    Example:

    ```mlir
    !x = tensor<1x4096x8x64xf32, #rlayout.layout<
             order = #rlayout.order<hilbert, grid = [64, 64]>>>
    ```
  }];
  let parameters = (ins OptionalParameter<"OrderAttr">:$order,
                        OptionalParameter<"RingAttr">:$ring,
                        DefaultValuedParameter<"int64_t", "1">:$axis);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// The axis where none is written.
    static constexpr int64_t kDefaultAxis = 1;
    /// Whether tokens lie as without an encoding: in linear order, however it
    /// is written, and on no ring.
    bool isLinear() const;
  }];
}

#endif // RINGLET_LAYOUT
