//===- TileScheduleOps.td - operations of scheduled kernels -*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TILE_SCHEDULE_OPS
#define RINGLET_TILE_SCHEDULE_OPS

//===----------------------------------------------------------------------===//
// Roles and channels
//===----------------------------------------------------------------------===//

def RTile_RoleOp : RTile_Op<"role",
    [HasParent<"FuncOp">, SingleBlock, NoTerminator]> {
  let summary = "What some warps of a block do";
  let description = [{
    The body of a scheduled kernel begins with scalars, views and channels,
    which all roles know, and ends with its roles, which run at the same time,
    each on its own warps, once for every point of the grid. `registers` is what
    each thread of the role may use (0: as many as the kernel is compiled with).
    A role without tiles in registers runs in one thread.

    Roles meet only in channels. Every tile that roles read from a channel was
    copied or written there by another one:

    ```
    acquire -> copy  -> (bytes arrive)  -> await -> read     -> release -> ...
            -> write -> (warps have it) ->       -> copy_out ->
    ```

    Example: one warp copies tiles of keys, four others add up their squares.

    ```mlir
    rtile.func @example(%K: memref<?x64xbf16, strided<[?, 1]>>,
                        %Y: memref<?x64xf32, strided<[?, 1]>>)
        grid(%i: index) scheduled {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %c8 = arith.constant 8 : index
      %k = rtile.view %K[*, *] : memref<?x64xbf16, strided<[?, 1]>>
          to !rtile.view<64x64xbf16>
      %y = rtile.view %Y[*, *] : memref<?x64xf32, strided<[?, 1]>>
          to !rtile.view<64x64xf32>
      %keys = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
      rtile.role "load" warps = 4 registers = 40 {
        scf.for %n = %c0 to %c8 step %c1 {
          %row = arith.muli %n, %c64 : index
          %slot = rtile.acquire %keys : !rtile.channel<64x64xbf16>
          rtile.copy %k[%row, %c0] to %slot
              : !rtile.view<64x64xbf16>, !rtile.slot<64x64xbf16>
        }
      }
      rtile.role "compute" warps = 4 registers = 232 {
        %zero = arith.constant dense<0.0>
            : tensor<64x64xf32, #rtile.fragment<4>>
        %sum = scf.for %n = %c0 to %c8 step %c1 iter_args(%acc = %zero)
            -> (tensor<64x64xf32, #rtile.fragment<4>>) {
          %slot = rtile.await %keys : !rtile.channel<64x64xbf16>
          %tile = rtile.read %slot : !rtile.slot<64x64xbf16>
              -> tensor<64x64xbf16, #rtile.swizzled>
          %left = rtile.read %slot : !rtile.slot<64x64xbf16>
              -> tensor<64x64xbf16, #rtile.fragment<4>>
          %started = rtile.start_dot %left, %tile transposed init(%acc)
              : tensor<64x64xbf16, #rtile.fragment<4>>,
                tensor<64x64xbf16, #rtile.swizzled>
              -> tensor<64x64xf32, #rtile.fragment<4>>
          %next = rtile.finish_dot %started
              : tensor<64x64xf32, #rtile.fragment<4>>
          rtile.release %slot : !rtile.slot<64x64xbf16>
          scf.yield %next
              : tensor<64x64xf32, #rtile.fragment<4>>
        }
        rtile.store %sum, %y[%c0, %c0]
            : tensor<64x64xf32, #rtile.fragment<4>>,
              !rtile.view<64x64xf32>
      }
      rtile.return
    }
    ```
  }];
  let arguments = (ins StrAttr:$name,
    ConfinedAttr<I64Attr, [IntPositive, IntMaxValue<32>]>:$warps,
    DefaultValuedAttr<ConfinedAttr<I64Attr,
      [IntNonNegative, IntMaxValue<256>]>, "0">:$registers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `warps` `=` $warps (`registers` `=` $registers^)?
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def RTile_ChannelOp : RTile_Op<"channel", [HasParent<"FuncOp">]> {
  let summary = "Makes a ring of slots between roles";
  let description = [{
    `slots` places for one tile each in shared memory, each with two barriers:
    *full* (the bytes that were copied to it have arrived, or every warp has
    written its part) and *empty* (every warp of every role that reads it has
    released it). All slots begin empty. One role fills the slots, by copies or
    by writes; one or several read them. All of them visit the slots in turn:
    the n-th acquire of the writing role and the n-th await of each reading role
    mean the same slot, also across loops and points of the grid.

    `offset` is the place of slot 0 in shared memory, once it is known, and
    `barriers` that of the full barrier of slot 0; the full barriers of all
    slots come first, then the empty ones, 8 bytes each.

    Example: see `rtile.role`.
  }];
  let arguments = (ins
    ConfinedAttr<I64Attr, [IntPositive, IntMaxValue<16>]>:$slots,
    OptionalAttr<I64Attr>:$offset, OptionalAttr<I64Attr>:$barriers);
  let results = (outs RTile_ChannelType:$result);
  let assemblyFormat = [{
    `slots` `=` $slots (`offset` `=` $offset^ `barriers` `=` $barriers)?
    attr-dict `:` qualified(type($result))
  }];
  let hasVerifier = 1;
}

def RTile_AcquireOp : RTile_Op<"acquire",
    [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "Waits until the next slot of a channel is empty";
  let description = [{
    Example: see `rtile.role`.
  }];
  let arguments = (ins RTile_ChannelType:$channel);
  let results = (outs RTile_SlotType:$slot);
  let assemblyFormat = "$channel attr-dict `:` qualified(type($channel))";
  let hasVerifier = 1;
}

def RTile_CopyOp : RTile_Op<"copy"> {
  let summary = "Starts to copy one tile of a view to an acquired slot";
  let description = [{
    Returns at once; the slot is full when all bytes have arrived. Elements that
    do not exist in the view arrive as zeros if they lie outside of the buffer.
    Rows of the buffer that lie outside of the view's segment may arrive as they
    are: their scores are masked, and a schedule that multiplies them by zero
    has to see to it that no tile crosses the end of a segment.

    Example: see `rtile.role`.
  }];
  let arguments = (ins RTile_ViewType:$view, Variadic<Index>:$offsets,
    RTile_SlotType:$slot);
  let assemblyFormat = [{
    $view `[` $offsets `]` `to` $slot attr-dict
    `:` qualified(type($view)) `,` qualified(type($slot))
  }];
  let hasVerifier = 1;
}

def RTile_WriteOp : RTile_Op<"write"> {
  let summary = "Writes a tile from registers to an acquired slot";
  let description = [{
    The slot is full when all warps of the role have written their part. What
    reads it then may be another role's product or the copy engine.

    Example: one role doubles tiles, another one lets the copy engine store
    them.

    ```mlir
    rtile.func @example(%X: memref<?x64xbf16, strided<[?, 1]>>,
                        %Y: memref<?x64xf32, strided<[?, 1]>>)
        grid(%i: index) scheduled {
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %row = arith.muli %i, %c64 : index
      %x = rtile.view %X[*, *] : memref<?x64xbf16, strided<[?, 1]>>
          to !rtile.view<64x64xbf16>
      %y = rtile.view %Y[*, *] : memref<?x64xf32, strided<[?, 1]>>
          to !rtile.view<64x64xf32>
      %in = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
      %out = rtile.channel slots = 2 : !rtile.channel<64x64xf32>
      rtile.role "load" warps = 1 {
        %slot = rtile.acquire %in : !rtile.channel<64x64xbf16>
        rtile.copy %x[%row, %c0] to %slot
            : !rtile.view<64x64xbf16>, !rtile.slot<64x64xbf16>
      }
      rtile.role "compute" warps = 4 {
        %slot = rtile.await %in : !rtile.channel<64x64xbf16>
        %narrow = rtile.read %slot : !rtile.slot<64x64xbf16>
            -> tensor<64x64xbf16, #rtile.fragment<4>>
        rtile.release %slot : !rtile.slot<64x64xbf16>
        %tile = arith.extf %narrow : tensor<64x64xbf16, #rtile.fragment<4>>
            to tensor<64x64xf32, #rtile.fragment<4>>
        %twice = arith.addf %tile, %tile
            : tensor<64x64xf32, #rtile.fragment<4>>
        %free = rtile.acquire %out : !rtile.channel<64x64xf32>
        rtile.write %twice to %free
            : tensor<64x64xf32, #rtile.fragment<4>>, !rtile.slot<64x64xf32>
      }
      rtile.role "store" warps = 1 {
        %slot = rtile.await %out : !rtile.channel<64x64xf32>
        rtile.copy_out %slot to %y[%row, %c0]
            : !rtile.slot<64x64xf32>, !rtile.view<64x64xf32>
        rtile.release %slot : !rtile.slot<64x64xf32>
      }
      rtile.return
    }
    ```
  }];
  let arguments = (ins StaticShapeTensorOf<[F16, BF16, F32]>:$tile,
    RTile_SlotType:$slot);
  let assemblyFormat = [{
    $tile `to` $slot attr-dict `:` type($tile) `,` qualified(type($slot))
  }];
  let hasVerifier = 1;
}

def RTile_CopyOutOp : RTile_Op<"copy_out"> {
  let summary = "Copies the tile in an awaited slot to a view";
  let description = [{
    The copy engine reads the slot, which its release waits for. What does not
    exist in the view is not written. With `add` the tile, of f32, is added to
    what the view holds, element by element and each at once: several roles and
    points of the grid may add to the same ones, in any order.

    Example: see `rtile.write`.
  }];
  let arguments = (ins RTile_SlotType:$slot, RTile_ViewType:$view,
    Variadic<Index>:$offsets, UnitAttr:$add);
  let assemblyFormat = [{
    (`add` $add^)? $slot `to` $view `[` $offsets `]` attr-dict
    `:` qualified(type($slot)) `,` qualified(type($view))
  }];
  let hasVerifier = 1;
}

def RTile_AwaitOp : RTile_Op<"await",
    [DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "Waits until the next slots of some channels are full";
  let description = [{
    One slot for each channel. Waiting for two at once costs what the later one
    costs.

    Example: see `rtile.role`.
  }];
  let arguments = (ins Variadic<RTile_ChannelType>:$channels);
  let results = (outs Variadic<RTile_SlotType>:$slots);
  let assemblyFormat = "$channels attr-dict `:` qualified(type($channels))";
  let hasVerifier = 1;
}

def RTile_ReadOp : RTile_Op<"read", [MemoryEffects<[MemRead]>]> {
  let summary = "The tile in an awaited slot";
  let description = [{
    With the encoding `#rtile.swizzled` the tile, of two axes of 16 bits, stays
    in the slot, which must not be released before everything that uses the tile
    has finished. With `#rtile.fragment<W>` it is loaded to registers. A tile
    without an encoding has not been decided about.

    Example: see `rtile.role`.
  }];
  let arguments = (ins RTile_SlotType:$slot);
  let results = (outs StaticShapeTensorOf<[F16, BF16, F32]>:$tile);
  let assemblyFormat = [{
    $slot attr-dict `:` qualified(type($slot)) `->` type($tile)
  }];
  let hasVerifier = 1;
}

def RTile_ReleaseOp : RTile_Op<"release"> {
  let summary = "Gives an awaited slot back";
  let description = [{
    Each warp of the role says so for itself; the slot is empty when all have.

    Example: see `rtile.role`.
  }];
  let arguments = (ins RTile_SlotType:$slot);
  let assemblyFormat = "$slot attr-dict `:` qualified(type($slot))";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Products under way
//===----------------------------------------------------------------------===//

def RTile_StartDotOp : RTile_Op<"start_dot", [AttrSizedOperandSegments,
    OptionalTypesMatchWith<"init has the type of the result", "result", "init",
      "::llvm::cast<::ringlet::rtile::PendingType>($_self).getTile()">,
    OptionalTypesMatchWith<"onto has the type of the result", "result", "onto",
      "$_self">]> {
  let summary = "Starts a matrix product";
  let description = [{
    Computes what `rtile.dot` does, while the warps go on. Products of a role
    finish in the order in which they were started. `rhs` lies in a slot; `lhs`
    lies in a slot or in registers. The trailing type is that of the finished
    product.

    With `onto` the product adds to the sums of another one that is still under
    way. That one gives no tile any more: `rtile.wait_dot` waits for it, so that
    its slots can be released while this product goes on.

    Example: see `rtile.role`.
  }];
  let arguments = (ins 2DTensorOf<[F16, BF16]>:$lhs,
    2DTensorOf<[F16, BF16]>:$rhs, Optional<2DTensorOf<[F32]>>:$init,
    Optional<RTile_PendingType>:$onto, UnitAttr:$transposed);
  let results = (outs RTile_PendingType:$result);
  let assemblyFormat = [{
    $lhs `,` $rhs (`transposed` $transposed^)? (`init` `(` $init^ `)`)?
    (`onto` `(` $onto^ `)`)? attr-dict
    `:` type($lhs) `,` type($rhs) `->` custom<PendingTile>(type($result))
  }];
  let hasVerifier = 1;
}

def RTile_FinishDotOp : RTile_Op<"finish_dot"> {
  let summary = "Waits for a product";
  let description = [{
    Products that were started before are finished then, too; those that were
    started later go on. `after` names tiles that have to be computed before the
    wait: work that is meant to run beside the product.

    Example: see `rtile.role`.
  }];
  let arguments = (ins RTile_PendingType:$pending,
    Variadic<StaticShapeTensorOf<[F32]>>:$after);
  let results = (outs 2DTensorOf<[F32]>:$result);
  let assemblyFormat = [{
    $pending (`after` `(` $after^ `:` type($after) `)`)? attr-dict
    `:` custom<FinishedTile>(type($pending), type($result))
  }];
  let hasVerifier = 1;
}

def RTile_WaitDotOp : RTile_Op<"wait_dot"> {
  let summary = "Waits for a product whose sums another one goes on with";
  let description = [{
    As `rtile.finish_dot`, of a product that another one was started `onto`:
    there is no tile to give.

    Example: one product runs while the slot of the one before is released.

    ```mlir
    rtile.func @example(%X: memref<?x64xbf16, strided<[?, 1]>>,
                        %Y: memref<?x64xf32, strided<[?, 1]>>)
        grid(%i: index) scheduled {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c64 = arith.constant 64 : index
      %c8 = arith.constant 8 : index
      %x = rtile.view %X[*, *] : memref<?x64xbf16, strided<[?, 1]>>
          to !rtile.view<64x64xbf16>
      %y = rtile.view %Y[*, *] : memref<?x64xf32, strided<[?, 1]>>
          to !rtile.view<64x64xf32>
      %tiles = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
      rtile.role "load" warps = 4 {
        scf.for %n = %c0 to %c8 step %c1 {
          %row = arith.muli %n, %c64 : index
          %slot = rtile.acquire %tiles : !rtile.channel<64x64xbf16>
          rtile.copy %x[%row, %c0] to %slot
              : !rtile.view<64x64xbf16>, !rtile.slot<64x64xbf16>
        }
      }
      rtile.role "compute" warps = 4 {
        %first = rtile.await %tiles : !rtile.channel<64x64xbf16>
        %a = rtile.read %first : !rtile.slot<64x64xbf16>
            -> tensor<64x64xbf16, #rtile.swizzled>
        %started = rtile.start_dot %a, %a transposed
            : tensor<64x64xbf16, #rtile.swizzled>,
              tensor<64x64xbf16, #rtile.swizzled>
            -> tensor<64x64xf32, #rtile.fragment<4>>
        %last, %held = scf.for %n = %c1 to %c8 step %c1
            iter_args(%before = %started, %old = %first)
            -> (!rtile.pending<tensor<64x64xf32, #rtile.fragment<4>>>,
                !rtile.slot<64x64xbf16>) {
          %slot = rtile.await %tiles : !rtile.channel<64x64xbf16>
          %tile = rtile.read %slot : !rtile.slot<64x64xbf16>
              -> tensor<64x64xbf16, #rtile.swizzled>
          %next = rtile.start_dot %tile, %tile transposed onto(%before)
              : tensor<64x64xbf16, #rtile.swizzled>,
                tensor<64x64xbf16, #rtile.swizzled>
              -> tensor<64x64xf32, #rtile.fragment<4>>
          rtile.wait_dot %before : tensor<64x64xf32, #rtile.fragment<4>>
          rtile.release %old : !rtile.slot<64x64xbf16>
          scf.yield %next, %slot
              : !rtile.pending<tensor<64x64xf32, #rtile.fragment<4>>>,
                !rtile.slot<64x64xbf16>
        }
        %sum = rtile.finish_dot %last : tensor<64x64xf32, #rtile.fragment<4>>
        rtile.release %held : !rtile.slot<64x64xbf16>
        rtile.store %sum, %y[%c0, %c0]
            : tensor<64x64xf32, #rtile.fragment<4>>, !rtile.view<64x64xf32>
      }
      rtile.return
    }
    ```
  }];
  let arguments = (ins RTile_PendingType:$pending);
  let assemblyFormat = "$pending attr-dict `:` custom<PendingTile>(type($pending))";
  let hasVerifier = 1;
}

def RTile_InTurnOp : RTile_Op<"in_turn",
    [SingleBlock]> {
  let summary = "Groups of four warps take turns";
  let description = [{
    The body is run by one group of four warps of the role at a time, in the
    order of their numbers and again from the first: while one group starts its
    products, another one has finished its own and computes.

    Example: `rtile.in_turn` around the products of a step.

    ```mlir
    rtile.func @example(%X: memref<?x64xbf16, strided<[?, 1]>>)
        grid(%i: index) scheduled {
      %c0 = arith.constant 0 : index
      %x = rtile.view %X[*, *] : memref<?x64xbf16, strided<[?, 1]>>
          to !rtile.view<128x64xbf16>
      %tiles = rtile.channel slots = 1 : !rtile.channel<128x64xbf16>
      rtile.role "load" warps = 4 {
        %slot = rtile.acquire %tiles : !rtile.channel<128x64xbf16>
        rtile.copy %x[%c0, %c0] to %slot
            : !rtile.view<128x64xbf16>, !rtile.slot<128x64xbf16>
      }
      rtile.role "compute" warps = 8 {
        %slot = rtile.await %tiles : !rtile.channel<128x64xbf16>
        %tile = rtile.read %slot : !rtile.slot<128x64xbf16>
            -> tensor<128x64xbf16, #rtile.swizzled>
        %started = rtile.in_turn
            -> !rtile.pending<tensor<128x128xf32, #rtile.fragment<8>>> {
          %gram = rtile.start_dot %tile, %tile transposed
              : tensor<128x64xbf16, #rtile.swizzled>,
                tensor<128x64xbf16, #rtile.swizzled>
              -> tensor<128x128xf32, #rtile.fragment<8>>
          rtile.yield %gram
              : !rtile.pending<tensor<128x128xf32, #rtile.fragment<8>>>
        }
        %gram = rtile.finish_dot %started
            : tensor<128x128xf32, #rtile.fragment<8>>
        rtile.release %slot : !rtile.slot<128x64xbf16>
      }
      rtile.return
    }
    ```
  }];
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`->` type($results)^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def RTile_YieldOp : RTile_Op<"yield", [Pure,
    ParentOneOf<["GenerateOp", "InTurnOp"]>, Terminator]> {
  let summary = "Ends the body of rtile.generate or rtile.in_turn";
  let description = [{
    Example: see `rtile.generate` and `rtile.in_turn`.
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

#endif // RINGLET_TILE_SCHEDULE_OPS
