//===- Plan.td - the rplan dialect ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PLAN
#define RINGLET_PLAN

include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/Layout/IR/Layout.td"
include "dialects/Plan/IR/PlanEnums.td"

def RPlan_Dialect : Dialect {
  let name = "rplan";
  let cppNamespace = "::ringlet::rplan";
  let summary = "What the host does: check, allocate, launch";
  let description = [{
    An `rplan.func` is the host's part of an entry: integers computed from the
    sizes of its arguments, conditions on them, workspace, launches. It is
    serialised one to one into the artefact and interpreted by the runtime, the
    same for every driver. Integer arithmetic is that of upstream `arith` on
    `index`; the runtime computes it in 64 bits and refuses an overflow.
  }];
  let hasConstantMaterializer = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::ringlet::rlayout::RLayoutDialect"];
}

class RPlan_Op<string opMnemonic, list<Trait> traits = []>
    : Op<RPlan_Dialect, opMnemonic, traits>;

def RPlan_FuncOp : RPlan_Op<"func", [IsolatedFromAbove, Symbol]> {
  let summary = "The host's part of an entry";
  let description = [{
    Arguments are the entry's tensors, inputs first, then `outputs`, as buffers
    in the caller's memory; `names` are those that a caller sees.

    Example:

    ```mlir
    rtile.func @double(%x: memref<?xf32, strided<[1]>>,
                       %y: memref<?xf32, strided<[1]>>) grid(%i: index) {
      %c64 = arith.constant 64 : index
      %row = arith.muli %i, %c64 : index
      %xs = rtile.view %x[*] : memref<?xf32, strided<[1]>>
          to !rtile.view<64xf32>
      %ys = rtile.view %y[*] : memref<?xf32, strided<[1]>>
          to !rtile.view<64xf32>
      %t = rtile.load %xs[%row] : !rtile.view<64xf32>
      %u = arith.addf %t, %t : tensor<64xf32>
      rtile.store %u, %ys[%row] : !rtile.view<64xf32>
      rtile.return
    }

    rplan.func @main(%x: memref<?xf32, strided<[1]>>)
        outputs(%y: memref<?xf32, strided<[1]>>) names ["x", "result0"] {
      %n = rplan.size %x[0] : memref<?xf32, strided<[1]>>
      %m = rplan.size %y[0] : memref<?xf32, strided<[1]>>
      rplan.require eq %n, %m, "expected result0 to have the size of x"
      %c64 = arith.constant 64 : index
      %tiles = arith.ceildivsi %n, %c64 : index
      rplan.launch @double grid(%tiles) args(%x, %y)
          : memref<?xf32, strided<[1]>>, memref<?xf32, strided<[1]>>
      rplan.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$num_inputs,
    TypedArrayAttrBase<StrAttr, "argument names">:$names);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name,
    "::mlir::TypeRange":$inputs, "::mlir::TypeRange":$outputs,
    "::llvm::ArrayRef<::llvm::StringRef>":$names)>];
  let extraClassDeclaration = [{
    ::mlir::Block::BlockArgListType getInputs();
    ::mlir::Block::BlockArgListType getOutputs();
  }];
}

def RPlan_ReturnOp : RPlan_Op<"return",
    [Pure, HasParent<"FuncOp">, Terminator]> {
  let summary = "Ends a plan";
  let description = [{
    Example: see `rplan.func`.
  }];
  let assemblyFormat = "attr-dict";
}

def RPlan_SizeOp : RPlan_Op<"size", [Pure]> {
  let summary = "Size of an axis of a buffer";
  let description = [{
    Example: see `rplan.func`.
  }];
  let arguments = (ins AnyMemRef:$buffer,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$buffer `[` $axis `]` attr-dict `:` type($buffer)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def RPlan_ReadOp : RPlan_Op<"read", [Pure]> {
  let summary = "Value of a scalar argument in host memory";
  let description = [{
    Example:

    ```mlir
    rplan.func @main(%n: memref<i64>) outputs() names ["n"] {
      %0 = rplan.read %n : memref<i64>
      rplan.return
    }
    ```
  }];
  let arguments = (ins MemRefRankOf<[I64], [0]>:$scalar);
  let results = (outs Index:$result);
  let assemblyFormat = "$scalar attr-dict `:` type($scalar)";
}

def RPlan_RequireOp : RPlan_Op<"require", []> {
  let summary = "Refuses a call unless a relation of two integers holds";
  let description = [{
    Checked before anything is allocated or launched. `message` says what was
    expected; the runtime adds both values. It names the rule when there is one.

    Example: see `rplan.func`.
  }];
  let arguments = (ins RPlan_Comparison:$comparison, Index:$lhs, Index:$rhs,
    StrAttr:$message);
  let assemblyFormat = "$comparison $lhs `,` $rhs `,` $message attr-dict";
}

def RPlan_WorkspaceOp : RPlan_Op<"workspace"> {
  let summary = "Memory that lives from its first use to its last";
  let description = [{
    A contiguous row-major buffer with undefined content. The runtime lets
    buffers whose lifetimes do not overlap share memory.

    Example:

    ```mlir
    rplan.func @main(%x: memref<?xf32, strided<[1]>>) outputs() names ["x"] {
      %n = rplan.size %x[0] : memref<?xf32, strided<[1]>>
      %w = rplan.workspace(%n) : memref<?x64xf32>
      rplan.return
    }
    ```
  }];
  let arguments = (ins Variadic<Index>:$sizes);
  let results = (outs Res<AnyMemRef, "the buffer", [MemAlloc]>:$result);
  let assemblyFormat = "`(` $sizes `)` attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def RPlan_OrderTableOp : RPlan_Op<"order_table", [Pure]> {
  let summary = "Tokens of the slots of an order, as a table";
  let description = [{
    Entry m is the token in slot m, or with `inverse` the slot of token m, for
    a sequence of `length`. Built once for each order and length.

    Example:

    ```mlir
    rplan.func @main(%x: memref<?xf32, strided<[1]>>) outputs() names ["x"] {
      %n = rplan.size %x[0] : memref<?xf32, strided<[1]>>
      %t = rplan.order_table #rlayout.order<residue<4>> length(%n)
          : memref<?xi64>
      rplan.return
    }
    ```
  }];
  let arguments = (ins RLayout_OrderAttr:$order, Index:$length,
    UnitAttr:$inverse);
  let results = (outs MemRefRankOf<[I64], [1]>:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    qualified($order) `length` `(` $length `)` (`inverse` $inverse^)? attr-dict
    `:` type($result)
  }];
}

def RPlan_RankTableOp : RPlan_Op<"rank_table",
    [Pure, AttrSizedOperandSegments]> {
  let summary = "Positions or rows of the ranks of a pattern order, as a table";
  let description = [{
    Entry j is the position of the rank `first` + j (rule O2), up to the last
    rank of the grid of `order`. `first` is at most 0; a rank below 0 is its own
    position.

    With `rows(%n from %p)`, entry j is the row in memory of the token at that
    position, or -1 where there is none, for a sequence of `%n` tokens. The
    first one has the position `%p` (rule S1), and they lie in the order
    `memory` (rule O1; absent: linear). The table is built once for each
    combination of sizes.

    Example: the positions of the cells of a grid along a curve, and the rows of
    queries whose tokens lie in memory row by row of the grid.

    ```mlir
    rplan.func @main(%x: memref<?xf32, strided<[1]>>, %p: memref<i64>)
        outputs() names ["x", "p"] {
      %c0 = arith.constant 0 : index
      %n = rplan.size %x[0] : memref<?xf32, strided<[1]>>
      %q_offset = rplan.read %p : memref<i64>
      %first = arith.minsi %q_offset, %c0 : index
      %positions = rplan.rank_table #rlayout.order<hilbert, grid = [8, 8]>
          first(%first) : memref<?xi64>
      %rows = rplan.rank_table #rlayout.order<hilbert, grid = [8, 8]>
          first(%first) rows(%n from %q_offset)
          memory(#rlayout.order<residue<4>>) : memref<?xi64>
      rplan.return
    }
    ```
  }];
  let arguments = (ins RLayout_OrderAttr:$order, Index:$first,
    Optional<Index>:$length, Optional<Index>:$offset,
    OptionalAttr<RLayout_OrderAttr>:$memory);
  let results = (outs MemRefRankOf<[I64], [1]>:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    qualified($order) `first` `(` $first `)`
    (`rows` `(` $length^ `from` $offset `)`)?
    (`memory` `(` qualified($memory)^ `)`)? attr-dict `:` type($result)
  }];
}

def RPlan_TileIndexOp : RPlan_Op<"tile_index", [Pure]> {
  let summary = "Which key tiles each tile of queries sees, as a table";
  let description = [{
    For each tile of queries, the list of the key tiles that it sees, in the
    form that `rtile.list` reads. The table is built once for each combination
    of sizes.

    Ranks are positions or, with an `order`, places along it (rule O2). They are
    cut into segments of `w` ranks (absent: one segment holds all), and each
    segment into the residues of its ranks modulo `rate` (rule B3). Where only
    some residues belong to a head, `residues = [first, count]` names them:
    `count` residues from `first` on, beginning again at 0 behind the last one
    (absent: all).

    A tile holds rows of one segment and one residue: `tile[0]` queries, counted
    from the first one that exists, or `tile[1]` keys, counted from 0. Queries
    have the positions from `queryOffset` on, keys those from 0 on. `causal` and
    `window` (rule B4), `grid` and `reach` (rule B5) say which keys a query
    sees.

    The list of a tile of queries has the number

        (residue * segments + segment - firstSegment) * tiles + tile

    with `residue` counted within `residues`. For each list the table holds two
    places: where the list begins, and where its tiles that need a mask begin.
    The length of the table follows, and then the entries of all lists. A key
    tile of which no query of the tile sees a key has no entry.

    Example:

    ```mlir
    rplan.func @main(%x: memref<?xf32, strided<[1]>>) outputs() names ["x"] {
      %n = rplan.size %x[0] : memref<?xf32, strided<[1]>>
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %tiles = arith.ceildivsi %n, %c64 : index
      %index = rplan.tile_index queries(%n from %c0) keys(%n)
          lists(%tiles, %c1 from %c0) tile = [64, 32] rate = 1
          causal grid = [48, 32] reach = [3, 3] : memref<?xi64>
      rplan.return
    }
    ```
  }];
  let arguments = (ins Index:$queryLength, Index:$queryOffset,
    Index:$keyLength, Index:$tiles, Index:$segments, Index:$firstSegment,
    ConfinedAttr<DenseI64ArrayAttr, [DenseArrayCount<2>]>:$tile,
    OptionalAttr<ConfinedAttr<I64Attr, [IntMinValue<1>]>>:$w,
    ConfinedAttr<I64Attr, [IntMinValue<1>]>:$rate,
    OptionalAttr<ConfinedAttr<DenseI64ArrayAttr,
                              [DenseArrayCount<2>]>>:$residues,
    OptionalAttr<RLayout_OrderAttr>:$order, UnitAttr:$causal,
    OptionalAttr<ConfinedAttr<DenseI64ArrayAttr, [DenseArrayCount<2>]>>:$window,
    OptionalAttr<DenseI64ArrayAttr>:$grid,
    OptionalAttr<DenseI64ArrayAttr>:$reach);
  let results = (outs MemRefRankOf<[I64], [1]>:$result);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// All that is known before the sizes are.
    ::ringlet::layout::TilePattern getPattern();
  }];
  let assemblyFormat = [{
    `queries` `(` $queryLength `from` $queryOffset `)`
    `keys` `(` $keyLength `)`
    `lists` `(` $tiles `,` $segments `from` $firstSegment `)`
    `tile` `=` custom<Window>($tile) (`w` `=` $w^)? `rate` `=` $rate
    (`residues` `=` custom<Sides>($residues)^)?
    (`order` `(` qualified($order)^ `)`)? (`causal` $causal^)?
    (`window` `=` custom<Window>($window)^)?
    (`grid` `=` custom<Sides>($grid)^ `reach` `=` custom<Sides>($reach))?
    attr-dict `:` type($result)
  }];
}

def RPlan_LaunchOp : RPlan_Op<"launch",
    [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a kernel for every point of a grid";
  let description = [{
    `args` match the parameters of the kernel in number and type; launches run
    in the order of the plan.

    A kernel that reads its buffers through the copy engine of a GPU asks more
    of their addresses and strides than other kernels do. Where they do not
    comply, a launch with a `fallback` does not run: every element of that
    workspace of f32 becomes 1.0 instead, for a later kernel to see. On a device
    without copy engine it has no meaning.

    Example: `@exact` runs for the rows that `@fast` has marked with 1.0, which
    are all of them where `@fast` could not run.

    ```mlir
    rtile.func @fast(%x: memref<?xf32>, %marks: memref<?xf32>) grid(%i: index) {
      rtile.return
    }
    rtile.func @exact(%x: memref<?xf32>, %marks: memref<?xf32>) grid(%i: index) {
      rtile.return
    }
    rplan.func @main(%x: memref<?xf32>) outputs() names ["x"] {
      %n = rplan.size %x[0] : memref<?xf32>
      %marks = rplan.workspace(%n) : memref<?xf32>
      rplan.launch @fast grid(%n) args(%x, %marks)
          otherwise fill(%marks : memref<?xf32>)
          : memref<?xf32>, memref<?xf32>
      rplan.launch @exact grid(%n) args(%x, %marks)
          : memref<?xf32>, memref<?xf32>
      rplan.return
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Index>:$grid,
    Variadic<AnyTypeOf<[AnyMemRef, Index]>>:$args,
    Optional<AnyMemRef>:$fallback);
  let assemblyFormat = [{
    $kernel `grid` `(` $grid `)` `args` `(` $args `)`
    (`otherwise` `fill` `(` $fallback^ `:` type($fallback) `)`)? attr-dict
    (`:` type($args)^)?
  }];
  let hasVerifier = 1;
}

def RPlan_AlignedOp : RPlan_Op<"aligned",
    [AllTypesMatch<["input", "result"]>,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "An input where pieces of 16 bytes can be read";
  let description = [{
    Copy engines, and loads of 16 bytes, want an address and strides that are
    multiples of 16 bytes. The result is the input itself where they are, and
    where `worth` is false; else a row-major workspace to which `kernel` copies
    it. The parameters of `kernel` are the input and the workspace. `worth` says
    whether the copy is expected to cost less than it saves.

    Example:

    ```mlir
    rtile.func @copy(%x: memref<?x64xbf16, strided<[?, 1]>>,
                     %y: memref<?x64xbf16, strided<[?, 1]>>) grid(%i: index) {
      %c0 = arith.constant 0 : index
      %c32 = arith.constant 32 : index
      %row = arith.muli %i, %c32 : index
      %xs = rtile.view %x[*, *] : memref<?x64xbf16, strided<[?, 1]>>
          to !rtile.view<32x64xbf16>
      %ys = rtile.view %y[*, *] : memref<?x64xbf16, strided<[?, 1]>>
          to !rtile.view<32x64xbf16>
      %t = rtile.load %xs[%row, %c0] : !rtile.view<32x64xbf16>
      rtile.store %t, %ys[%row, %c0] : !rtile.view<32x64xbf16>
      rtile.return
    }
    rtile.func @read(%x: memref<?x64xbf16, strided<[?, 1]>>) grid(%i: index) {
      rtile.return
    }
    rplan.func @main(%x: memref<?x64xbf16, strided<[?, 1]>>)
        outputs() names ["x"] {
      %n = rplan.size %x[0] : memref<?x64xbf16, strided<[?, 1]>>
      %c32 = arith.constant 32 : index
      %c4096 = arith.constant 4096 : index
      %tiles = arith.ceildivsi %n, %c32 : index
      %worth = arith.cmpi sge, %n, %c4096 : index
      %y = rplan.aligned %x by @copy grid(%tiles) if %worth
          : memref<?x64xbf16, strided<[?, 1]>>
      rplan.launch @read grid(%tiles) args(%y)
          : memref<?x64xbf16, strided<[?, 1]>>
      rplan.return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$input, FlatSymbolRefAttr:$kernel,
    Variadic<Index>:$grid, I1:$worth);
  let results = (outs Res<AnyMemRef, "the buffer", [MemAlloc]>:$result);
  let assemblyFormat = [{
    $input `by` $kernel `grid` `(` $grid `)` `if` $worth attr-dict
    `:` type($input)
  }];
  let hasVerifier = 1;
}

#endif // RINGLET_PLAN
