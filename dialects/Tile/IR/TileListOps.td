//===- TileListOps.td - lists, and key tiles from them -*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TILE_LIST_OPS
#define RINGLET_TILE_LIST_OPS

def RTile_GenerateOp : RTile_Op<"generate", [RecursiveMemoryEffects,
    DeclareOpInterfaceMethods<OpAsmOpInterface,
                              ["getAsmBlockArgumentNames"]>]> {
  let summary = "Entries of a list, each computed from its place";
  let description = [{
    The entries of `table`, i64 or f32, at the places `begin` to `end` become what the body
    yields for their place; those of the places that lie in the table. Each is
    computed by itself, in no order: the threads of a GPU share them out.

    The body is scalar code without effects: numbers of other lists
    (`memref.load`), arithmetic, loops and branches. `table` is a parameter of a
    plain kernel, which reads nothing of it; the launches behind may. Where two
    operations or two points of the grid name one place, no one knows which
    entry stands there.

    Example: for each token of packed sequences the number of its sequence, the
    last one that starts at or before it.

    ```mlir
    rtile.func @example(%starts: memref<?xi64>, %sequences: memref<?xi64>)
        grid(%i: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c256 = arith.constant 256 : index
      %begin = arith.muli %i, %c256 : index
      %end = arith.addi %begin, %c256 : index
      %count = memref.dim %starts, %c0 : memref<?xi64>
      %minus_one = arith.constant -1 : i64
      %one = arith.constant 1 : i64
      rtile.generate %sequences[%token = %begin to %end] {
        %position = arith.index_cast %token : index to i64
        %found = scf.for %n = %c0 to %count step %c1
            iter_args(%last = %minus_one) -> (i64) {
          %start = memref.load %starts[%n] : memref<?xi64>
          %started = arith.cmpi sle, %start, %position : i64
          %next = arith.addi %last, %one : i64
          %number = arith.select %started, %next, %last : i64
          scf.yield %number : i64
        }
        rtile.yield %found : i64
      } : memref<?xi64>
      rtile.return
    }
    ```
  }];
  let arguments = (ins Arg<MemRefRankOf<[I64, F32], [1]>, "", [MemWrite]>:$table,
    Index:$begin, Index:$end);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $table `` custom<Entries>($begin, $end, $body) attr-dict `:` type($table)
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let skipDefaultBuilders = 1;
  /// With a body that has its place and nothing else.
  let builders = [OpBuilder<(ins "::mlir::Value":$table,
    "::mlir::Value":$begin, "::mlir::Value":$end)>];
  let extraClassDeclaration = [{
    /// The place of the entry that the body computes.
    ::mlir::BlockArgument getPlace() { return getBody().getArgument(0); }
    /// What the body yields.
    ::mlir::Value getEntry() {
      return getBody().front().getTerminator()->getOperand(0);
    }
  }];
}

def RTile_ListOp : RTile_Op<"list", [NoMemoryEffect,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "The key tiles that a tile of queries sees, from an index";
  let description = [{
    Where division cannot say which keys a tile of queries sees (`rtile.run`),
    an index does: a table made by `rplan.tile_index`, with the lists of all
    query tiles. List `number` is that of the query rows from `row` on. Its
    entries stand at the places `begin` to `end` of the table; each is the first
    row of a key tile. Under the conditions of `rtile.visible`, an existing row
    of the query tile sees no key of other tiles, and all keys of those in
    entries before `wholeEnd`, so that their scores need no mask.

    Example: a loop over the key tiles that list %n has for a tile of queries.

    ```mlir
    rtile.func @example(%Q: memref<?x64xf32, strided<[?, 1]>>,
                        %K: memref<?x64xf32, strided<[?, 1]>>,
                        %index: memref<?xi64>) grid(%n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %first = arith.muli %n, %c64 : index
      %q = rtile.view %Q[*, *] : memref<?x64xf32, strided<[?, 1]>>
          to !rtile.view<64x64xf32>
      %k = rtile.view %K[*, *] : memref<?x64xf32, strided<[?, 1]>>
          to !rtile.view<32x64xf32>
      %begin, %whole_end, %end = rtile.list %index[%n], %q[%first], %k
          causal grid = [32, 32] reach = [2, 3] : memref<?xi64>,
          !rtile.view<64x64xf32>, !rtile.view<32x64xf32>
      scf.for %place = %begin to %end step %c1 {
        %entry = memref.load %index[%place] : memref<?xi64>
        %row = arith.index_cast %entry : i64 to index
        %t = rtile.load %k[%row, %c0] : !rtile.view<32x64xf32>
      }
      rtile.return
    }
    ```
  }];
  let arguments = (ins MemRefRankOf<[I64], [1]>:$index, Index:$number,
    RTile_ViewType:$query, Index:$row, RTile_ViewType:$key, UnitAttr:$causal,
    OptionalAttr<ConfinedAttr<DenseI64ArrayAttr, [DenseArrayCount<2>]>>:$window,
    OptionalAttr<DenseI64ArrayAttr>:$grid,
    OptionalAttr<DenseI64ArrayAttr>:$reach);
  let results = (outs Index:$begin, Index:$wholeEnd, Index:$end);
  let assemblyFormat = [{
    $index `[` $number `]` `,` $query `[` $row `]` `,` $key (`causal` $causal^)?
    (`window` `=` custom<Window>($window)^)?
    (`grid` `=` custom<Sides>($grid)^ `reach` `=` custom<Sides>($reach))?
    attr-dict `:` type($index) `,` qualified(type($query)) `,`
    qualified(type($key))
  }];
  let hasVerifier = 1;
}

def RTile_AnyBlockOp : RTile_Op<"any_block", [NoMemoryEffect]> {
  let summary = "True if two tiles meet in a set block of a mask";
  let description = [{
    A block mask (rule B6) has a boolean for each `blockSize[0]` ordinals of
    queries and `blockSize[1]` ordinals of keys. True if it is set for the
    ordinals of some existing row of the query tile and some existing row of the
    key tile; also where only a block between them is set that neither has a row
    in. So a tile of scores for which it is false needs no work at all.

    Example:

    ```mlir
    rtile.func @example(%Q: memref<?x64xf32, strided<[?, 1]>>,
                        %K: memref<?x64xf32, strided<[?, 1]>>,
                        %mask: memref<?x?xi1, strided<[?, 1]>>)
        grid(%i: index, %j: index) {
      %q = rtile.view %Q[*, *] : memref<?x64xf32, strided<[?, 1]>>
          to !rtile.view<64x64xf32>
      %k = rtile.view %K[*, *] : memref<?x64xf32, strided<[?, 1]>>
          to !rtile.view<32x64xf32>
      %some = rtile.any_block %q[%i], %k[%j], %mask of [16, 16]
          : !rtile.view<64x64xf32>, !rtile.view<32x64xf32>,
            memref<?x?xi1, strided<[?, 1]>>
      rtile.return
    }
    ```
  }];
  let arguments = (ins RTile_ViewType:$query, Index:$queryRow,
    RTile_ViewType:$key, Index:$keyRow, MemRefRankOf<[I1], [2]>:$blocks,
    ConfinedAttr<DenseI64ArrayAttr, [DenseArrayCount<2>]>:$blockSize);
  let results = (outs I1:$result);
  let assemblyFormat = [{
    $query `[` $queryRow `]` `,` $key `[` $keyRow `]` `,` $blocks `of`
    custom<Window>($blockSize) attr-dict `:` qualified(type($query)) `,`
    qualified(type($key)) `,` type($blocks)
  }];
  let hasVerifier = 1;
}

#endif // RINGLET_TILE_LIST_OPS
