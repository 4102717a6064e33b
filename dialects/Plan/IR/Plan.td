//===- Plan.td - the rplan dialect ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PLAN
#define RINGLET_PLAN

include "mlir/IR/AttrTypeBase.td"
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
    sizes of its arguments, conditions on them, workspace, launches. The artefact
    holds it as lists of steps and of expressions, in which equal values are one,
    that the runtime interprets, the same for every driver. Integer arithmetic is that of upstream `arith` on
    `index`; the runtime computes it in 64 bits and refuses an overflow.

    What works on memory, `rplan.launch`, `rplan.copy`, the copy of an
    `rplan.aligned`, `rplan.exchange` and `rplan.attend`, is a *step*. Steps run
    on two queues: `compute`, the one that the caller names, and `exchange`, which
    runs beside it. Steps of one queue run one after the other, in the order of
    the plan; a step of the other queue comes before another one only if that one
    waits for its event (`!rplan.event`), directly or through others. Two steps of
    which one writes what the other one reads or writes have to be ordered so. An
    artefact in which they are not is refused. All steps begin after what the caller has
    queued before the call, and whatever the caller queues after it begins after
    all steps.
  }];
  let hasConstantMaterializer = 1;
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
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

def RPlan_MachineOp : RPlan_Op<"machine", [Pure]> {
  let summary = "A number of the machine that a call runs on";
  let description = [{
    `multiprocessors` are those of the GPU, or the threads of the CPU that
    kernels run on; at least 1. `rank` is the number of this process in a ring
    of `ranks` processes: 0 of 1 where there is no ring. The artefact is the
    same for all machines, so nothing folds these.

    Example: two blocks for each multiprocessor.

    ```mlir
    rtile.func @work(%n: index) grid(%i: index) { rtile.return }
    rplan.func @main() outputs() names [] {
      %c2 = arith.constant 2 : index
      %m = rplan.machine multiprocessors
      %blocks = arith.muli %m, %c2 : index
      rplan.launch @work grid(%blocks) args(%m) : index
      rplan.return
    }
    ```
  }];
  let arguments = (ins RPlan_MachineNumber:$number);
  let results = (outs Index:$result);
  let assemblyFormat = "$number attr-dict";
}

def RPlan_RequireOp : RPlan_Op<"require", []> {
  let summary = "Refuses a call unless a relation of two integers holds";
  let description = [{
    Checked before anything is allocated or launched. `message` says what was
    expected; the runtime adds both values and, where there is one, the number
    of the `rule`: "expected r of at least 1, found 0 and 1 (B1)".

    Example:

    ```mlir
    rplan.func @main(%r: memref<i64>) outputs() names ["r"] {
      %c1 = arith.constant 1 : index
      %0 = rplan.read %r : memref<i64>
      rplan.require le %c1, %0, "expected 1 <= r" rule "B1"
      rplan.return
    }
    ```
  }];
  let arguments = (ins RPlan_Comparison:$comparison, Index:$lhs, Index:$rhs,
    StrAttr:$message, OptionalAttr<StrAttr>:$rule);
  let assemblyFormat = [{
    $comparison $lhs `,` $rhs `,` $message (`rule` $rule^)? attr-dict
  }];
  let builders = [OpBuilder<(ins "::ringlet::rplan::Comparison":$comparison,
    "::mlir::Value":$lhs, "::mlir::Value":$rhs, "::llvm::StringRef":$message,
    CArg<"::llvm::StringRef", "{}">:$rule)>];
}

def RPlan_ConstantOp : RPlan_Op<"constant", [Pure]> {
  let summary = "A table that is known when the plan is compiled";
  let description = [{
    Kernels read it, none writes it. The buffer is row-major; its type may leave
    sizes open that the value has.

    Example:

    ```mlir
    rtile.func @read(%t: memref<?xi64>) grid(%i: index) { rtile.return }
    rplan.func @main() outputs() names [] {
      %c1 = arith.constant 1 : index
      %t = rplan.constant dense<[3, 1, 2]> : tensor<3xi64> as memref<?xi64>
      rplan.launch @read grid(%c1) args(%t) : memref<?xi64>
      rplan.return
    }
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$value `as` type($result) attr-dict";
  let hasVerifier = 1;
}

def RPlan_WorkspaceOp : RPlan_Op<"workspace"> {
  let summary = "Memory that lives from its first use to its last";
  let description = [{
    A contiguous row-major buffer with undefined content. Two of them may share
    memory if every step that uses the one comes before every step that uses the
    other, whatever the speed of the queues.

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

def RPlan_OrdinalTableOp : RPlan_Op<"ordinal_table",
    [Pure, AttrSizedOperandSegments]> {
  let summary =
      "Positions or rows of the ordinals of a pattern order, as a table";
  let description = [{
    Entry j is the position of the ordinal `first` + j (rule O2), up to the last
    ordinal of the grid of `order`. `first` is at most 0; an ordinal below 0 is
    its own position.

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
      %positions = rplan.ordinal_table #rlayout.order<hilbert, grid = [8, 8]>
          first(%first) : memref<?xi64>
      %rows = rplan.ordinal_table #rlayout.order<hilbert, grid = [8, 8]>
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

    Ordinals are positions or, with an `order`, places along it (rule O2). They
    are cut into segments of `w` ordinals (absent: one segment holds all), and
    each segment into the residues of its ordinals modulo `rate` (rule B3).
    Where only some residues belong to a head, `residues = [first, count]` names
    them: `count` residues from `first` on, beginning again at 0 behind the last
    one (absent: all).

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

include "dialects/Plan/IR/PlanStepOps.td"
include "dialects/Plan/IR/PlanRingOps.td"

#endif // RINGLET_PLAN
