//===- TileOps.td - operations of the rtile dialect ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TILE_OPS
#define RINGLET_TILE_OPS

class RTile_Op<string opMnemonic, list<Trait> traits = []>
    : Op<RTile_Dialect, opMnemonic, traits>;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def RTile_FuncOp : RTile_Op<"func", [IsolatedFromAbove, Symbol]> {
  let summary = "A kernel: one program, run for each point of a grid";
  let description = [{
    The parameters are buffers (`memref`, last axis contiguous) and `index`
    scalars; they are followed by the point of the grid, one `index` an axis,
    the first axis running fastest. Points run in any order and at the same
    time, so no point may read what another one writes.

    A `scheduled` kernel consists of roles (`rtile.role`): its body has scalars,
    views, constants and channels, then roles, then the return. A kernel that is
    not has neither roles nor channels, and its tiles have no encoding. `recipe`
    names the rule by which passes make a scheduled kernel of a plain one, with
    its parameters if there are any (`recipe = "pipelined{stages=1}"`); which
    names there are is not the dialect's business. `schedule` is what is decided
    about it, `walk` says in which order blocks visit the grid, and `blocks` how
    many of a scheduled kernel a multiprocessor holds at once (1 without it).

    Example:

    ```mlir
    rtile.func @scale_rows(%x: memref<?x64xf32, strided<[?, 1]>>,
                           %y: memref<?x64xf32, strided<[?, 1]>>)
        grid(%i: index) {
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %two = arith.constant dense<2.0> : tensor<16x64xf32>
      %xs = rtile.view %x[*, *] : memref<?x64xf32, strided<[?, 1]>>
          to !rtile.view<16x64xf32>
      %ys = rtile.view %y[*, *] : memref<?x64xf32, strided<[?, 1]>>
          to !rtile.view<16x64xf32>
      %row = arith.muli %i, %c16 : index
      %t = rtile.load %xs[%row, %c0] : !rtile.view<16x64xf32>
      %u = arith.mulf %t, %two : tensor<16x64xf32>
      rtile.store %u, %ys[%row, %c0] : !rtile.view<16x64xf32>
      rtile.return
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
    ConfinedAttr<I64Attr, [IntMinValue<1>, IntMaxValue<4>]>:$grid_rank,
    UnitAttr:$scheduled, OptionalAttr<StrAttr>:$recipe,
    OptionalAttr<RTile_ScheduleAttr>:$schedule,
    OptionalAttr<RTile_WalkAttr>:$walk,
    OptionalAttr<ConfinedAttr<I64Attr, [IntMinValue<1>, IntMaxValue<32>]>>:
      $blocks);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// Buffers and scalars, without the point of the grid.
    ::mlir::Block::BlockArgListType getParameters();
    /// The point of the grid.
    ::mlir::Block::BlockArgListType getGridPoint();
  }];
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name,
    "::mlir::TypeRange":$parameters, "int64_t":$gridRank)>];
}

def RTile_ReturnOp : RTile_Op<"return",
    [Pure, HasParent<"FuncOp">, Terminator]> {
  let summary = "Ends a kernel";
  let description = [{
    Example: see `rtile.func`.
  }];
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Which keys a query sees
//===----------------------------------------------------------------------===//

def RTile_RunOp : RTile_Op<"run", [Pure,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "The rows of a key view that a tile of queries sees";
  let description = [{
    For the query rows `[row, row + height of the query tile)` that exist, finds
    the key rows that any of them sees: `begin` to `end`, `end <= begin` if there
    is none. Counted from `begin` in steps of the key tile's height, the steps
    from `wholeBegin` to `wholeEnd` consist of existing keys that every existing
    row of the query tile sees: their scores need no mask. Both are a multiple
    of the step away from `begin`, `begin <= wholeBegin <= wholeEnd`, and
    `wholeEnd <= end` where `begin <= end`. If no step is whole both equal
    `begin`; without a left window `wholeBegin` always equals `begin`.

    A key at position u is seen from position p if `u <= p` under `causal`, and
    `p - left <= u <= p + right` under `window` (-1: unlimited); rule B4. With the
    views in each other's place the same relation goes from keys to queries: a key
    at u is seen from `u - right <= p <= u + left`, so the queries that see a tile
    of keys are `rtile.run %k[%row], %q window = [right, left]`, and under
    causality `window = [0, -1]`. Kernels for gradients of keys and values loop
    over them; so do `rtile.visible` and `rtile.list`.

    Between views with `positions`, no division finds them: `begin` to `end` are
    the bounds of the key view, and no step is whole.

    With `part(%p, %n)` the results are those of part %p of %n, 0 <= %p < %n: of
    the s steps from `begin` to `end`, those from p * s / n to (p + 1) * s / n,
    rounded down. So parts follow each other, and their numbers of steps differ
    by one at most. A part without steps has `end <= begin`, and from `begin` on
    the tile sees no key.

    Example:

    ```mlir
    rtile.func @example(%Q: memref<?x64xf32, strided<[?, 1]>>,
                        %K: memref<?x64xf32, strided<[?, 1]>>)
        grid(%i: index) {
      %c64 = arith.constant 64 : index
      %row = arith.muli %i, %c64 : index
      %q = rtile.view %Q[*, *] : memref<?x64xf32, strided<[?, 1]>>
          to !rtile.view<64x64xf32>
      %k = rtile.view %K[*, *] : memref<?x64xf32, strided<[?, 1]>>
          to !rtile.view<32x64xf32>
      %begin, %wb, %we, %end = rtile.run %q[%row], %k causal
          : !rtile.view<64x64xf32>, !rtile.view<32x64xf32>
      rtile.return
    }
    ```

    Example: part %p of 4 of these keys.

    ```mlir
    rtile.func @example(%Q: memref<?x64xf32, strided<[?, 1]>>,
                        %K: memref<?x64xf32, strided<[?, 1]>>)
        grid(%p: index) {
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %q = rtile.view %Q[*, *] : memref<?x64xf32, strided<[?, 1]>>
          to !rtile.view<16x64xf32>
      %k = rtile.view %K[*, *] : memref<?x64xf32, strided<[?, 1]>>
          to !rtile.view<32x64xf32>
      %begin, %wb, %we, %end = rtile.run %q[%c0], %k part(%p, %c4)
          : !rtile.view<16x64xf32>, !rtile.view<32x64xf32>
      rtile.return
    }
    ```
  }];
  let arguments = (ins RTile_ViewType:$query, Index:$row, RTile_ViewType:$key,
    Variadic<Index>:$part, UnitAttr:$causal,
    OptionalAttr<ConfinedAttr<DenseI64ArrayAttr, [DenseArrayCount<2>]>>:$window);
  let results = (outs Index:$begin, Index:$wholeBegin, Index:$wholeEnd,
                      Index:$end);
  let assemblyFormat = [{
    $query `[` $row `]` `,` $key
    (`part` `(` $part^ `)`)? (`causal` $causal^)?
    (`window` `=` custom<Window>($window)^)?
    attr-dict `:` qualified(type($query)) `,` qualified(type($key))
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$query, "::mlir::Value":$row,
    "::mlir::Value":$key, "bool":$causal,
    "::mlir::DenseI64ArrayAttr":$window,
    CArg<"::mlir::ValueRange", "{}">:$part)>];
  let hasVerifier = 1;
}

def RTile_VisibleOp : RTile_Op<"visible", [Pure]> {
  let summary = "Mask of the pairs of query and key rows that see each other";
  let description = [{
    Element (i, j) is true if query row `queryRow + i` and key row `keyRow + j`
    both exist in their views and the key is seen from the query, under the
    conditions of `rtile.run` and, where they are given:

      * `grid` and `reach`: positions are the cells of a grid, the last axis
        fastest, and the key is at most `reach` cells away on each axis (B5).
        Rows exist only at positions of the grid;
      * `blocks`: the boolean of the block of queries and the block of keys in
        which the rows' ordinals lie is set (B6). It has one for all rows that
        exist.

    Example:

    ```mlir
    rtile.func @example(%Q: memref<?x64xf32, strided<[?, 1]>>,
                        %K: memref<?x64xf32, strided<[?, 1]>>)
        grid(%i: index, %j: index) {
      %q = rtile.view %Q[*, *] : memref<?x64xf32, strided<[?, 1]>>
          to !rtile.view<64x64xf32>
      %k = rtile.view %K[*, *] : memref<?x64xf32, strided<[?, 1]>>
          to !rtile.view<32x64xf32>
      %seen = rtile.visible %q[%i], %k[%j] causal window = [128, 0]
          : !rtile.view<64x64xf32>, !rtile.view<32x64xf32>
          -> tensor<64x32xi1>
      %near = rtile.visible %q[%i], %k[%j] grid = [32, 32] reach = [2, 3]
          : !rtile.view<64x64xf32>, !rtile.view<32x64xf32>
          -> tensor<64x32xi1>
      rtile.return
    }
    ```
  }];
  let arguments = (ins RTile_ViewType:$query, Index:$queryRow,
    RTile_ViewType:$key, Index:$keyRow,
    Optional<MemRefRankOf<[I1], [2]>>:$blocks, UnitAttr:$causal,
    OptionalAttr<ConfinedAttr<DenseI64ArrayAttr, [DenseArrayCount<2>]>>:$window,
    OptionalAttr<DenseI64ArrayAttr>:$grid,
    OptionalAttr<DenseI64ArrayAttr>:$reach,
    OptionalAttr<ConfinedAttr<DenseI64ArrayAttr,
      [DenseArrayCount<2>]>>:$blockSize);
  let results = (outs 2DTensorOf<[I1]>:$result);
  let assemblyFormat = [{
    $query `[` $queryRow `]` `,` $key `[` $keyRow `]` (`causal` $causal^)?
    (`window` `=` custom<Window>($window)^)?
    (`grid` `=` custom<Sides>($grid)^ `reach` `=` custom<Sides>($reach))?
    (`blocks` `(` $blocks^ `:` type($blocks) `)` `of`
      custom<Window>($blockSize))?
    attr-dict `:` qualified(type($query)) `,` qualified(type($key)) `->`
    type($result)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Arithmetic across rows and columns
//===----------------------------------------------------------------------===//

def RTile_DotOp : RTile_Op<"dot", [Pure,
    OptionalTypesMatchWith<"init has the type of the result", "result", "init",
                           "$_self">]> {
  let summary = "Matrix product of two tiles";
  let description = [{
    `lhs` is M x K; `rhs` is K x N, or N x K with `transposed`. The result is
    M x N in f32: products and sums are in f32 whatever the operands are, added
    to `init` when there is one. With a `precision` products of f32 may be as
    coarse as it says (rule R7).

    Example:

    ```mlir
    rtile.func @example(%X: memref<64x64xf32>) grid(%i: index) {
      %c0 = arith.constant 0 : index
      %x = rtile.view %X[*, *] : memref<64x64xf32> to !rtile.view<64x64xf32>
      %a = rtile.load %x[%c0, %c0] : !rtile.view<64x64xf32>
      %gram = rtile.dot %a, %a transposed
          : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
      %sum = rtile.dot %a, %a init(%gram)
          : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
      %fast = rtile.dot %a, %a precision = bf16x3
          : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
      rtile.return
    }
    ```
  }];
  let arguments = (ins
    2DTensorOf<[F16, BF16, F32]>:$lhs, 2DTensorOf<[F16, BF16, F32]>:$rhs,
    Optional<2DTensorOf<[F32]>>:$init, UnitAttr:$transposed,
    OptionalAttr<RTile_PrecisionAttr>:$precision);
  let results = (outs 2DTensorOf<[F32]>:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`transposed` $transposed^)?
    (`precision` `=` custom<Precision>($precision)^)?
    (`init` `(` $init^ `)`)? attr-dict `:` type($lhs) `,`
    type($rhs) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// What factors become.
    ::ringlet::Precision getProductPrecision() {
      PrecisionAttr precision = getPrecisionAttr();
      return precision ? precision.getValue() : ::ringlet::Precision::f32;
    }
  }];
}

def RTile_ReduceOp : RTile_Op<"reduce",
    [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "Reduces the columns of each row to one value";
  let description = [{
    Takes a tile of M x N to one of M. The order of a sum is not specified; a
    NaN in a row makes the row's value NaN.

    Example:

    ```mlir
    rtile.func @example() grid(%i: index) {
      %x = arith.constant dense<1.0> : tensor<16x64xf32>
      %sum = rtile.reduce sum %x : tensor<16x64xf32>
      rtile.return
    }
    ```
  }];
  let arguments = (ins RTile_ReduceKind:$kind, 2DTensorOf<[F32]>:$input);
  let results = (outs 1DTensorOf<[F32]>:$result);
  let assemblyFormat = "$kind $input attr-dict `:` type($input)";
}

def RTile_BroadcastOp : RTile_Op<"broadcast", [Pure]> {
  let summary = "Repeats one value a row along the columns";
  let description = [{
    Takes a tile of M to one of M x N: the counterpart of `rtile.reduce`. With
    `columns`, takes a tile of N to one of M x N instead: the same row M times.

    Example:

    ```mlir
    rtile.func @example() grid(%i: index) {
      %x = arith.constant dense<1.0> : tensor<16xf32>
      %w = arith.constant dense<1.0> : tensor<64xf32>
      %y = rtile.broadcast %x : tensor<16xf32> -> tensor<16x64xf32>
      %z = rtile.broadcast %w columns : tensor<64xf32> -> tensor<16x64xf32>
      rtile.return
    }
    ```
  }];
  let arguments = (ins 1DTensorOf<[F16, BF16, F32, I1]>:$input,
                       UnitAttr:$columns);
  let results = (outs 2DTensorOf<[F16, BF16, F32, I1]>:$result);
  let assemblyFormat = [{
    $input (`columns` $columns^)? attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

def RTile_FoldOp : RTile_Op<"fold", [Pure]> {
  let summary = "Adds columns whose numbers agree modulo a width";
  let description = [{
    Takes a tile of M x N to one of M x W, W a divisor of N: column j of the
    result is the sum of the columns j, j + W, j + 2 W and so on. Sums that a
    loop carries stay in the threads that made them; one `rtile.reduce` after
    the loop adds the rest.

    Example:

    ```mlir
    rtile.func @example() grid(%i: index) {
      %x = arith.constant dense<1.0> : tensor<16x64xf32>
      %part = rtile.fold %x : tensor<16x64xf32> -> tensor<16x8xf32>
      %sum = rtile.reduce sum %part : tensor<16x8xf32>
      rtile.return
    }
    ```
  }];
  let arguments = (ins 2DTensorOf<[F32]>:$input);
  let results = (outs 2DTensorOf<[F32]>:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def RTile_AnyOp : RTile_Op<"any", [Pure]> {
  let summary = "True if some element of a mask is set";
  let description = [{
    Example:

    ```mlir
    rtile.func @example() grid(%i: index) {
      %x = arith.constant dense<true> : tensor<16xi1>
      %some = rtile.any %x : tensor<16xi1>
      rtile.return
    }
    ```
  }];
  let arguments = (ins StaticShapeTensorOf<[I1]>:$input);
  let results = (outs I1:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasFolder = 1;
}

def RTile_SliceOp : RTile_Op<"slice", [Pure]> {
  let summary = "Some neighbouring columns of a tile";
  let description = [{
    Takes a tile of M x N to its columns `begin` to `begin + W - 1`, W the width
    of the result.

    Example:

    ```mlir
    rtile.func @example() grid(%i: index) {
      %x = arith.constant dense<1.0> : tensor<16x64xf32>
      %right = rtile.slice %x[32] : tensor<16x64xf32> -> tensor<16x32xf32>
      rtile.return
    }
    ```
  }];
  let arguments = (ins 2DTensorOf<[F16, BF16, F32, I1]>:$input,
    ConfinedAttr<I64Attr, [IntNonNegative]>:$begin);
  let results = (outs 2DTensorOf<[F16, BF16, F32, I1]>:$result);
  let assemblyFormat =
    "$input `[` $begin `]` attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def RTile_JoinOp : RTile_Op<"join", [Pure]> {
  let summary = "Puts tiles of one height side by side";
  let description = [{
    The counterpart of `rtile.slice`.

    Example:

    ```mlir
    rtile.func @example() grid(%i: index) {
      %x = arith.constant dense<1.0> : tensor<16x32xf32>
      %y = arith.constant dense<2.0> : tensor<16x32xf32>
      %both = rtile.join %x, %y : tensor<16x32xf32>, tensor<16x32xf32>
          -> tensor<16x64xf32>
      rtile.return
    }
    ```
  }];
  let arguments = (ins Variadic<2DTensorOf<[F16, BF16, F32, I1]>>:$inputs);
  let results = (outs 2DTensorOf<[F16, BF16, F32, I1]>:$result);
  let assemblyFormat =
    "$inputs attr-dict `:` type($inputs) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def RTile_RebaseOp : RTile_Op<"rebase", [Pure,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "Moves the reference of rows whose sums have grown too large";
  let description = [{
    A softmax without a running maximum holds, for each row, weights
    2^(s - reference), their `sums` (a tile of one or of two axes) and products
    of them. Multiplying all of them by one power of two and adding its exponent
    to the reference changes nothing that the row stands for, so any row may be
    rebased at any time. Rows with an entry of `sums` above 2^`bound` are:

        e = max(0, exponent of the greatest entry of the row)
        newReference = reference + e
        newSums, results = sums * 2^-e, tiles * 2^-e

    A target may rebase further rows along with them by the same formula.
    Weights that are infinite or NaN stay so: what they are part of has to be
    computed in another way.

    The last digit of a weight's exponent weighs the more the greater the
    exponent is. With a `limit`, a row with an entry of `sums` above 2^`limit`
    has lost digits and is made to be found: it is multiplied by infinity, so
    that its greatest entry is infinite and the others are infinite or NaN.

    Example:

    ```mlir
    rtile.func @example() grid(%i: index) {
      %m = arith.constant dense<0.0> : tensor<16xf32>
      %l = arith.constant dense<1.0e30> : tensor<16x8xf32>
      %acc = arith.constant dense<1.0> : tensor<16x64xf32>
      %m1, %l1, %acc1 = rtile.rebase %m, %l bound = 16 limit = 64 tiles(%acc)
          : tensor<16xf32>, tensor<16x8xf32>, tensor<16x64xf32>
      rtile.return
    }
    ```
  }];
  let arguments = (ins 1DTensorOf<[F32]>:$reference,
    StaticShapeTensorOf<[F32]>:$sums, Variadic<2DTensorOf<[F32]>>:$tiles,
    ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<100>]>:$bound,
    OptionalAttr<ConfinedAttr<I64Attr,
      [IntNonNegative, IntMaxValue<100>]>>:$limit);
  let results = (outs 1DTensorOf<[F32]>:$newReference,
    StaticShapeTensorOf<[F32]>:$newSums,
    Variadic<2DTensorOf<[F32]>>:$results);
  let assemblyFormat = [{
    $reference `,` $sums `bound` `=` $bound (`limit` `=` $limit^)?
    (`tiles` `(` $tiles^ `)`)? attr-dict
    `:` type($reference) `,` type($sums) (`,` type($tiles)^)?
  }];
  let hasVerifier = 1;
}

def RTile_TotalsOp : RTile_Op<"totals",
    [MemoryEffects<[MemRead, MemWrite]>, AllTypesMatch<["reference", "sum"]>]> {
  let summary = "Memory in which long sums of a softmax may be put aside";
  let description = [{
    The loops behind it in its block stream keys, `step` of them a step, with a
    running softmax of the tile of queries that begins at `row`: a maximum or
    another reference, a sum and an accumulator. They may add what they have
    summed over `keys` of them or more to these rows of f32 in memory, which
    nobody else reads or writes, and begin their sums anew: so that not every
    weight is added to one number that grows, and the error with it. Values
    change by rounding only.

    The operation says that this memory is there, and does nothing;
    `rtile-flush-sums` puts it to use. The view of the accumulators has tiles of
    as many columns as are moved at a time.

    Example:

    ```mlir
    rtile.func @example(%Acc: memref<?x64xf32, strided<[?, 1]>>,
                        %M: memref<?xf32>, %L: memref<?xf32>)
        grid(%i: index) {
      %c16 = arith.constant 16 : index
      %row = arith.muli %i, %c16 : index
      %acc = rtile.view %Acc[*, *] : memref<?x64xf32, strided<[?, 1]>>
          to !rtile.view<16x32xf32>
      %m = rtile.view %M[*] : memref<?xf32> to !rtile.view<16xf32>
      %l = rtile.view %L[*] : memref<?xf32> to !rtile.view<16xf32>
      rtile.totals %acc, %m, %l[%row] keys = 16384 step = 64
          : !rtile.view<16x32xf32>, !rtile.view<16xf32>
      rtile.return
    }
    ```
  }];
  let arguments = (ins RTile_ViewType:$accumulator, RTile_ViewType:$reference,
    RTile_ViewType:$sum, Index:$row,
    ConfinedAttr<I64Attr, [IntPositive]>:$keys,
    ConfinedAttr<I64Attr, [IntPositive]>:$step);
  let assemblyFormat = [{
    $accumulator `,` $reference `,` $sum `[` $row `]` `keys` `=` $keys
    `step` `=` $step attr-dict
    `:` qualified(type($accumulator)) `,` qualified(type($reference))
  }];
  let hasVerifier = 1;
}

#endif // RINGLET_TILE_OPS
