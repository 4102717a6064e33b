//===- Tile.td - the rtile dialect ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TILE
#define RINGLET_TILE

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/BuiltinTypes.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/Layout/IR/Layout.td"
include "dialects/Tile/IR/TileEnums.td"

def RTile_Dialect : Dialect {
  let name = "rtile";
  let cppNamespace = "::ringlet::rtile";
  let summary = "How one block computes: programs on tiles";
  let description = [{
    A kernel is an `rtile.func`: a program that one block of threads (a thread
    block of a GPU, one thread of a CPU) runs for each point of a grid. Its
    values are *tiles*, tensors of static shape; it reads and writes memory
    through *views*. Elementwise arithmetic on tiles is that of the upstream
    `arith` and `math` dialects, loops are `scf.for`.

    A view is a window on some axes of a buffer, with its tile shape, segment
    and rate in the type. Bounds belong to the view: what lies outside loads as
    zero and is not stored. No operation sees an address, so a program says
    nothing about strides, padding or the target.

    Kernels come in two forms. In the *plain* form one thread of control does
    everything, and a tile is a value that lies nowhere. In the *scheduled* form
    the block is split into roles that run at the same time and hand each other
    tiles through channels, products run beside other work, and encodings say
    where each tile lies (`rtile.role`).

    Attributes of any operations that belong to this dialect:

      * `rtile.stage`, of an operation of a loop: see `#rtile.stage`;
      * `rtile.unordered`, of an `scf.for`: its steps may run in any order, and
        a step in which masks hide everything may be added. Whoever makes the
        loop promises it, since it holds of sums and maxima up to rounding, and
        no pass can see it of every other state that a loop carries;
      * `rtile.beside`, of a kernel and of the function that it becomes: most
        calls run others in its place, or what it needs behind its loops may lie
        in memory meanwhile. Where it spills a few registers, that is no reason
        for smaller tiles.

    Why tiles are builtin tensors: every fold, constant and elementwise
    operation of upstream works on them as they are, and a tensor's encoding has
    room for its placement.
  }];
  let hasConstantMaterializer = 1;
  let hasOperationAttrVerify = 1;
  let dependentDialects = ["::ringlet::rlayout::RLayoutDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def RTile_ViewType : TypeDef<RTile_Dialect, "View"> {
  let mnemonic = "view";
  let summary = "A window on the axes of a buffer, read tile by tile";
  let description = [{
    `shape` is that of one tile. The first axis, the rows, may be dilated: row i
    of the view has the ordinal

        segment * w + residue + i * rate

    with `segment` and `residue` given where the view is made, as long as that
    ordinal lies in the segment (w = 0: one segment holds every ordinal). A `w`
    or `rate` of `?` is given there, too. Ordinals are positions, or count along
    a curve. Where an ordinal lies in memory follows from it or, in an `indexed`
    view, from a table (`rtile.view`).

    Example:

    ```mlir
    !dense = !rtile.view<64x64xbf16>
    !dilated = !rtile.view<64x64xbf16, w = 4096, rate = 2>
    !strided = !rtile.view<64xf32, rate = 4>
    !gathered = !rtile.view<64x64xf32, w = 4096, indexed>
    !runtime = !rtile.view<64x64xf32, w = ?, rate = ?>
    ```
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape,
    "::mlir::Type":$elementType,
    "int64_t":$segmentLength, "int64_t":$rate, "bool":$indexed);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getShape().size(); }
    /// True if the view needs a segment number.
    bool isSegmented() const { return getSegmentLength() != 0; }
    /// True if the view needs a residue.
    bool isStrided() const { return getRate() != 1; }
    /// True where rtile.view gives the segment length or the rate (`?`).
    bool hasRuntimeW() const {
      return ::mlir::ShapedType::isDynamic(getSegmentLength());
    }
    bool hasRuntimeRate() const {
      return ::mlir::ShapedType::isDynamic(getRate());
    }
    bool isStatic() const { return !hasRuntimeW() && !hasRuntimeRate(); }
    /// The type of one tile.
    ::mlir::RankedTensorType getTileType() const;
  }];
  let builders = [
    TypeBuilderWithInferredContext<(ins "::llvm::ArrayRef<int64_t>":$shape,
      "::mlir::Type":$elementType, CArg<"int64_t", "0">:$segmentLength,
      CArg<"int64_t", "1">:$rate, CArg<"bool", "false">:$indexed), [{
      return $_get(elementType.getContext(), shape, elementType, segmentLength,
                   rate, indexed);
    }]>];
}

def RTile_PrecisionAttr : AttrDef<RTile_Dialect, "Precision"> {
  let mnemonic = "precision";
  let summary = "How coarse products of f32 may be";
  let description = [{
    `f32`: exact up to the rounding of f32. `tf32`: of factors rounded to 11
    digits. `tf32x3`, `bf16x3`: of factors that are sums of two numbers of 11 or
    8 digits, but for the product of both second ones (rule R7).

    Example:

    ```mlir
    #fast = #rtile<precision bf16x3>
    ```
  }];
  let parameters = (ins "::ringlet::Precision":$value);
  let assemblyFormat = "$value";
}

include "dialects/Tile/IR/TileScheduleTypes.td"

def RTile_Tile : StaticShapeTensorOf<[F16, BF16, F32, I1, I32, I64, Index]>;

include "dialects/Tile/IR/TileOps.td"
include "dialects/Tile/IR/TileViewOps.td"
include "dialects/Tile/IR/TileListOps.td"
include "dialects/Tile/IR/TileScheduleOps.td"

#endif // RINGLET_TILE
