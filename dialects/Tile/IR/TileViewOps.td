//===- TileViewOps.td - rtile operations on memory ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TILE_VIEW_OPS
#define RINGLET_TILE_VIEW_OPS

def RTile_ViewOp : RTile_Op<"view", [Pure, AttrSizedOperandSegments]> {
  let summary = "Makes a view on some axes of a buffer";
  let description = [{
    In the brackets stands, for each axis of `buffer`, an index that fixes it
    or a `*` for an axis of the view. An index must lie in its axis wherever a
    tile of the view has an element; compiled code does not check that. The
    first `*` is the row axis, or the second one of a view that is `transposed`;
    such a view has no pages. Rows have *ordinals*, which segments and residues
    count (rules B3 and O2): row i of the view has the ordinal

        segment * w + residue + i * rate

      * `segment(%s)`: number of the segment, when the type has a `w`;
      * `residue(%o)`: first place in the segment, when the type has a `rate`;
      * `w(%w)` and `rate(%r)`: what stands as `?` in the type. Both are at
        least 1 and the rate at most w (rule B1), which the host has checked;
      * `origin(%n)`: the ordinal that comes first (default 0). Ordinal n has
        the number n - origin, and lies at that index of the row axis, unless
      * `order(...)` says that the axis is in this memory order (rule O1): then
        it lies in the slot of the token of that number. The order has to put
        the rows of a segment and residue at equal distances;
      * `rows(%table)`, when the type is `indexed`, has at that number the index
        of the ordinal;
      * `positions(%table)` has at that number the position of the ordinal,
        within +-2^30, which causality and windows speak of. Without it,
        ordinals are positions;
      * `within(%first, %end)`: rows of other numbers than %first to %end - 1 do
        not exist. Both may be any number: those beyond the axis have no rows
        anyway. So a sequence may be a part of an axis that is only known when
        the kernel runs;
      * `pages(%table)` says that the row axis and the one in front of it are a
        pool of pages (rule S4). The index of the latter is the number of a
        sequence, a row of %table, which has the pages of that sequence, one
        after the other. Of pages of n rows index i lies on page
        %table[sequence, i / n], clamped to the pool, at place i mod n, and the
        row axis has as many indices as these pages have rows. n is that of the
        buffer's type;
      * `group = [axis, count]`: `count` rows of the view stand for each row
        above, on `count` places of `axis` from its index on, all of which
        exist. Row i of the view has the ordinal of row i / count without a
        group, and its elements lie at the index + i mod count. So the query
        heads that share the keys of one key head are rows of one tile. Views of
        keys have none.

    Over a buffer of 8 bits, f8E4M3FN or i8, the view *widens* (rule S6): its
    elements are f16, bf16 or f32, which have every such number, and its tiles
    are read as these. Nothing is written through it.

    A row exists if its ordinal lies in its segment and its index in the axis.
    An entry of `rows` that is no index says that an ordinal has no row; only a
    view with `positions` may have such entries where its bounds say that rows
    are.

    Example: the keys of segment %s that head %h sees, every second position.

    ```mlir
    rtile.func @example(%K: memref<?x?x8x64xbf16, strided<[?, ?, ?, 1]>>)
        grid(%s: index, %h: index, %b: index) {
      %c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %o = arith.remsi %h, %c2 : index
      %k = rtile.view %K[%b, *, %h, *] segment(%s) residue(%o)
          : memref<?x?x8x64xbf16, strided<[?, ?, ?, 1]>>
          to !rtile.view<64x64xbf16, w = 4096, rate = 2>
      %t = rtile.load %k[%c0, %c0]
          : !rtile.view<64x64xbf16, w = 4096, rate = 2>
      rtile.return
    }
    ```

    Example: the same keys where those of one residue lie together, and rows of
    queries along a curve, of which tables say where they lie and at which
    positions they are.

    ```mlir
    rtile.func @example(%K: memref<?x?x8x64xbf16, strided<[?, ?, ?, 1]>>,
                        %Q: memref<?x64xbf16, strided<[?, 1]>>,
                        %rows: memref<?xi64>, %positions: memref<?xi64>)
        grid(%s: index, %h: index, %b: index) {
      %c2 = arith.constant 2 : index
      %o = arith.remsi %h, %c2 : index
      %k = rtile.view %K[%b, *, %h, *] segment(%s) residue(%o)
          order(#rlayout.order<residue<2>>)
          : memref<?x?x8x64xbf16, strided<[?, ?, ?, 1]>>
          to !rtile.view<64x64xbf16, w = 4096, rate = 2>
      %q = rtile.view %Q[*, *] segment(%s) rows(%rows : memref<?xi64>)
          positions(%positions : memref<?xi64>)
          : memref<?x64xbf16, strided<[?, 1]>>
          to !rtile.view<64x64xbf16, w = 4096, indexed>
      rtile.return
    }
    ```

    Example: a segment length and a dilation that the call gives.

    ```mlir
    rtile.func @example(%K: memref<?x64xbf16, strided<[?, 1]>>, %w: index,
                        %r: index) grid(%s: index, %h: index) {
      %o = arith.remsi %h, %r : index
      %k = rtile.view %K[*, *] segment(%s) residue(%o) w(%w) rate(%r)
          : memref<?x64xbf16, strided<[?, 1]>>
          to !rtile.view<64x64xbf16, w = ?, rate = ?>
      rtile.return
    }
    ```

    Example: the rows of a padded sequence, whose length the device knows.

    ```mlir
    rtile.func @example(%K: memref<?x?x64xbf16, strided<[?, ?, 1]>>,
                        %lengths: memref<?xi64>) grid(%b: index) {
      %c0 = arith.constant 0 : index
      %entry = memref.load %lengths[%b] : memref<?xi64>
      %length = arith.index_cast %entry : i64 to index
      %k = rtile.view %K[%b, *, *] within(%c0, %length)
          : memref<?x?x64xbf16, strided<[?, ?, 1]>> to !rtile.view<64x64xbf16>
      %t = rtile.load %k[%c0, %c0] : !rtile.view<64x64xbf16>
      rtile.return
    }
    ```

    Example: the keys of sequence %b, which lie in pages of 16 rows.

    ```mlir
    rtile.func @example(%K: memref<?x16x8x64xbf16, strided<[?, ?, ?, 1]>>,
                        %pages: memref<?x?xi32, strided<[?, 1]>>)
        grid(%h: index, %b: index) {
      %c0 = arith.constant 0 : index
      %k = rtile.view %K[%b, *, %h, *]
          pages(%pages : memref<?x?xi32, strided<[?, 1]>>)
          : memref<?x16x8x64xbf16, strided<[?, ?, ?, 1]>>
          to !rtile.view<64x64xbf16>
      %t = rtile.load %k[%c0, %c0] : !rtile.view<64x64xbf16>
      rtile.return
    }
    ```

    Example: elements %c to %c + 31 of row %i, as each of 16 parts of a sum has
    them, a column for each part.

    ```mlir
    rtile.func @example(%parts: memref<?x?x128xf32>)
        grid(%c: index, %i: index) {
      %c0 = arith.constant 0 : index
      %elements = rtile.view %parts[*, %i, *] transposed
          : memref<?x?x128xf32> to !rtile.view<32x16xf32>
      %t = rtile.load %elements[%c, %c0] : !rtile.view<32x16xf32>
      rtile.return
    }
    ```

    Example: rows for 4 heads from head %h on, first those of query 0.

    ```mlir
    rtile.func @example(%Q: memref<?x?x8x64xbf16, strided<[?, ?, ?, 1]>>)
        grid(%i: index, %g: index, %b: index) {
      %c0 = arith.constant 0 : index
      %c4 = arith.constant 4 : index
      %c16 = arith.constant 16 : index
      %h = arith.muli %g, %c4 : index
      %row = arith.muli %i, %c16 : index
      %q = rtile.view %Q[%b, *, %h, *] group = [2, 4]
          : memref<?x?x8x64xbf16, strided<[?, ?, ?, 1]>>
          to !rtile.view<16x64xbf16>
      %t = rtile.load %q[%row, %c0] : !rtile.view<16x64xbf16>
      rtile.return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$buffer, Variadic<Index>:$fixed,
    Optional<Index>:$origin, Optional<Index>:$segment,
    Optional<Index>:$residue, Optional<Index>:$w, Optional<Index>:$rate,
    Optional<MemRefRankOf<[I64], [1]>>:$rows,
    Optional<MemRefRankOf<[I64], [1]>>:$positions,
    Optional<Index>:$first, Optional<Index>:$end,
    Optional<MemRefRankOf<[I32], [2]>>:$pages,
    DenseI64ArrayAttr:$axes, OptionalAttr<RLayout_OrderAttr>:$order,
    OptionalAttr<ConfinedAttr<DenseI64ArrayAttr, [DenseArrayCount<2>]>>:$group);
  let results = (outs RTile_ViewType:$result);
  let assemblyFormat = [{
    $buffer `` custom<Axes>($fixed, $axes)
    (`origin` `(` $origin^ `)`)? (`segment` `(` $segment^ `)`)?
    (`residue` `(` $residue^ `)`)?
    (`w` `(` $w^ `)`)? (`rate` `(` $rate^ `)`)?
    (`order` `(` qualified($order)^ `)`)?
    (`rows` `(` $rows^ `:` type($rows) `)`)?
    (`positions` `(` $positions^ `:` type($positions) `)`)?
    (`within` `(` $first^ `,` $end `)`)?
    (`pages` `(` $pages^ `:` type($pages) `)`)?
    (`group` `=` custom<Sides>($group)^)?
    attr-dict `:` type($buffer) `to` qualified(type($result))
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MemRefType getBufferType() {
      return ::llvm::cast<::mlir::MemRefType>(getBuffer().getType());
    }
    /// The segment length and the rate: the type's, or what stands for its `?`.
    ::mlir::OpFoldResult getMixedW();
    ::mlir::OpFoldResult getMixedRate();
    /// The rows of a page, if the row axis is one of pages.
    int64_t getPageSize() { return getBufferType().getDimSize(getAxes()[0]); }
    /// How many indices the row axis has, dynamic if types do not know.
    int64_t getStaticIndices();
    /// Rows of the view for each row of the row axis.
    int64_t getGroupSize() { return getGroup() ? (*getGroup())[1] : 1; }
  }];
}

def RTile_BoundsOp : RTile_Op<"bounds", [Pure,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "First and one past the last row that exists in a view";
  let description = [{
    Rows before `begin` and from `end` on lie outside the segment or have no
    index in the buffer or, in an indexed view, no entry in the table. An empty
    view has `end <= begin`.

    Example:

    ```mlir
    rtile.func @example(%Q: memref<?x64xf32, strided<[?, 1]>>, %p: index)
        grid(%s: index) {
      %q = rtile.view %Q[*, *] origin(%p) segment(%s)
          : memref<?x64xf32, strided<[?, 1]>>
          to !rtile.view<16x64xf32, w = 1024>
      %begin, %end = rtile.bounds %q : !rtile.view<16x64xf32, w = 1024>
      rtile.return
    }
    ```
  }];
  let arguments = (ins RTile_ViewType:$view);
  let results = (outs Index:$begin, Index:$end);
  let assemblyFormat = "$view attr-dict `:` qualified(type($view))";
}

def RTile_LoadOp : RTile_Op<"load",
    [DeclareOpInterfaceMethods<InferTypeOpInterface>,
     MemoryEffects<[MemRead]>]> {
  let summary = "Reads one tile of a view";
  let description = [{
    `offsets` are the row and column of the tile's first element. Elements that
    do not exist in the view read as zero. The tile's type stands behind the
    view's where it has an encoding.

    Example: see `rtile.func`.
  }];
  let arguments = (ins RTile_ViewType:$view, Variadic<Index>:$offsets);
  let results = (outs RTile_Tile:$result);
  let assemblyFormat =
    "$view `[` $offsets `]` attr-dict `:` "
    "custom<LoadedTile>(type($view), type($result))";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// True: the verifier compares shapes and leaves the encoding open.
    static bool isCompatibleReturnTypes(::mlir::TypeRange inferred,
                                        ::mlir::TypeRange found);
  }];
}

def RTile_StoreOp : RTile_Op<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "Writes one tile of a view";
  let description = [{
    Elements that do not exist in the view are not written. The tile's type
    stands in front of the view's where it has an encoding.

    Example: see `rtile.func`.
  }];
  let arguments = (ins RTile_Tile:$tile, RTile_ViewType:$view,
    Variadic<Index>:$offsets);
  let assemblyFormat =
    "$tile `,` $view `[` $offsets `]` attr-dict `:` "
    "custom<StoredTile>(type($tile), type($view))";
  let hasVerifier = 1;
}

#endif // RINGLET_TILE_VIEW_OPS
