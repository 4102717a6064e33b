//===- scheduled-invalid.mlir - Roles that have no code ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics \
// RUN:   --rtile-check-gpu --rtile-lower-runs --rtile-gpu-plan-maps \
// RUN:   --rtile-gpu-assign-channels=arch=sm_90a

// Somebody has to take the points.

// expected-error@+1 {{expected one role without tiles in registers to take the points of a dynamic walk, found 0}}
rtile.func @nobody_takes(%Z: memref<?x64xf32, strided<[?, 1]>>) grid(%i: index)
    scheduled walk = <dynamic> {
  %c0 = arith.constant 0 : index
  %z = rtile.view %Z[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<64x64xf32>
  rtile.role "compute" warps = 4 {
    %x = arith.constant dense<1.0> : tensor<64x64xf32, #rtile.fragment<4>>
    rtile.store %x, %z[%i, %c0] : tensor<64x64xf32, #rtile.fragment<4>>, !rtile.view<64x64xf32>
  }
  rtile.return
}

// -----

// What 640 threads begin with is less than all registers there are. The last
// group to ask for its own would wait for ever.

// expected-error@+1 {{expected roles that ask for at most 61440 registers, 96 for each of 640 threads on sm_90a, found 65536}}
rtile.func @many_registers(%Z: memref<?x64xf32, strided<[?, 1]>>) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %z = rtile.view %Z[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<256x64xf32>
  rtile.role "idle" warps = 4 registers = 32 {
  }
  rtile.role "compute" warps = 16 registers = 120 {
    %x = arith.constant dense<1.0> : tensor<256x64xf32, #rtile.fragment<16>>
    rtile.store %x, %z[%i, %c0] : tensor<256x64xf32, #rtile.fragment<16>>, !rtile.view<256x64xf32>
  }
  rtile.return
}

// -----

// Two warps have no product of 64 rows.

rtile.func @few_warps(%X: memref<?x64xbf16, strided<[?, 1]>>) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] : memref<?x64xbf16, strided<[?, 1]>> to !rtile.view<64x64xbf16>
  %xs = rtile.channel slots = 1 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %slot = rtile.acquire %xs : !rtile.channel<64x64xbf16>
    rtile.copy %x[%i, %c0] to %slot : !rtile.view<64x64xbf16>, !rtile.slot<64x64xbf16>
  }
  rtile.role "compute" warps = 2 {
    %slot = rtile.await %xs : !rtile.channel<64x64xbf16>
    %tile = rtile.read %slot : !rtile.slot<64x64xbf16> -> tensor<64x64xbf16, #rtile.swizzled>
    // expected-error@+1 {{expected products of a multiple of 64 rows for every four warps, found 64 rows for 2 warps}}
    %started = rtile.start_dot %tile, %tile transposed
        : tensor<64x64xbf16, #rtile.swizzled>, tensor<64x64xbf16, #rtile.swizzled>
        -> tensor<64x64xf32, #rtile.fragment<2>>
    %gram = rtile.finish_dot %started : tensor<64x64xf32, #rtile.fragment<2>>
    rtile.release %slot : !rtile.slot<64x64xbf16>
  }
  rtile.return
}

// -----

// Nobody decided where a tile lies.

rtile.func @undecided(%X: memref<?x64xbf16, strided<[?, 1]>>) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] : memref<?x64xbf16, strided<[?, 1]>> to !rtile.view<64x64xbf16>
  %xs = rtile.channel slots = 1 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %slot = rtile.acquire %xs : !rtile.channel<64x64xbf16>
    rtile.copy %x[%i, %c0] to %slot : !rtile.view<64x64xbf16>, !rtile.slot<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %slot = rtile.await %xs : !rtile.channel<64x64xbf16>
    // expected-error@+1 {{expected a tile with an encoding in a role, found 'tensor<64x64xbf16>'; rtile-encode-tiles gives it one}}
    %tile = rtile.read %slot : !rtile.slot<64x64xbf16> -> tensor<64x64xbf16>
    rtile.release %slot : !rtile.slot<64x64xbf16>
  }
  rtile.return
}

// -----

// Columns move in blocks of eight.

rtile.func @odd_columns(%Z: memref<?x64xf32, strided<[?, 1]>>) grid(%i: index) scheduled {
  rtile.role "compute" warps = 4 {
    %x = arith.constant dense<1.0> : tensor<64x64xf32, #rtile.fragment<4>>
    // expected-error@+1 {{expected a multiple of 8 as the first column, found 4}}
    %y = rtile.slice %x[4] : tensor<64x64xf32, #rtile.fragment<4>> -> tensor<64x8xf32, #rtile.fragment<4>>
    // expected-error@+1 {{expected a multiple of 8 columns in a role, found 'tensor<64x4xf32, #rtile.fragment<4>>'}}
    %z = rtile.fold %x : tensor<64x64xf32, #rtile.fragment<4>> -> tensor<64x4xf32, #rtile.fragment<4>>
  }
  rtile.return
}

// -----

rtile.func @no_lowering() grid(%i: index) scheduled {
  rtile.role "compute" warps = 4 {
    %x = arith.constant dense<1.0> : tensor<64xf32, #rtile.fragment<4>>
    // expected-error@+1 {{is an operation that roles on a GPU do not cover}}
    %y = math.atan %x : tensor<64xf32, #rtile.fragment<4>>
  }
  rtile.return
}

// -----

// A map describes boxes of at most 256 rows.

rtile.func @tall(%X: memref<?x64xbf16, strided<[?, 1]>>) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] : memref<?x64xbf16, strided<[?, 1]>> to !rtile.view<264x64xbf16>
  %xs = rtile.channel slots = 1 : !rtile.channel<264x64xbf16>
  rtile.role "load" warps = 4 {
    %slot = rtile.acquire %xs : !rtile.channel<264x64xbf16>
    // expected-error@+1 {{expected a tile of at most 256 rows, found 264}}
    rtile.copy %x[%i, %c0] to %slot : !rtile.view<264x64xbf16>, !rtile.slot<264x64xbf16>
  }
  rtile.role "drain" warps = 4 {
    %slot = rtile.await %xs : !rtile.channel<264x64xbf16>
    rtile.release %slot : !rtile.slot<264x64xbf16>
  }
  rtile.return
}

// -----

// The columns right of the tile would arrive in place of zeros.

rtile.func @part_of_row(%X: memref<?x128xbf16, strided<[?, 1]>>) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] : memref<?x128xbf16, strided<[?, 1]>> to !rtile.view<64x72xbf16>
  %xs = rtile.channel slots = 1 : !rtile.channel<64x72xbf16>
  rtile.role "load" warps = 4 {
    %slot = rtile.acquire %xs : !rtile.channel<64x72xbf16>
    // expected-error@+1 {{expected a tile as wide as its buffer or a multiple of 64 columns, found 72 columns of 128}}
    rtile.copy %x[%i, %c0] to %slot : !rtile.view<64x72xbf16>, !rtile.slot<64x72xbf16>
  }
  rtile.role "drain" warps = 4 {
    %slot = rtile.await %xs : !rtile.channel<64x72xbf16>
    rtile.release %slot : !rtile.slot<64x72xbf16>
  }
  rtile.return
}

// -----

// A table of rows is no stride.

rtile.func @table(%X: memref<?x64xbf16, strided<[?, 1]>>, %T: memref<?xi64, strided<[1]>>)
    grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] rows(%T : memref<?xi64, strided<[1]>>)
      : memref<?x64xbf16, strided<[?, 1]>> to !rtile.view<64x64xbf16, indexed>
  %xs = rtile.channel slots = 1 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %slot = rtile.acquire %xs : !rtile.channel<64x64xbf16>
    // expected-error@+1 {{expected a view of two axes without a table of rows or pages, made by rtile.view, found '!rtile.view<64x64xbf16, indexed>'}}
    rtile.copy %x[%i, %c0] to %slot : !rtile.view<64x64xbf16, indexed>, !rtile.slot<64x64xbf16>
  }
  rtile.role "drain" warps = 4 {
    %slot = rtile.await %xs : !rtile.channel<64x64xbf16>
    rtile.release %slot : !rtile.slot<64x64xbf16>
  }
  rtile.return
}

// -----

// Nor is one of pages, which no view of a role has.

rtile.func @pages(%X: memref<?x16x64xbf16, strided<[?, ?, 1]>>, %T: memref<?x?xi32, strided<[?, 1]>>)
    grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{expected no pages of rows: they have no lowering in a scheduled kernel yet (S4)}}
  %x = rtile.view %X[%i, *, *] pages(%T : memref<?x?xi32, strided<[?, 1]>>)
      : memref<?x16x64xbf16, strided<[?, ?, 1]>> to !rtile.view<64x64xbf16>
  %xs = rtile.channel slots = 1 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %slot = rtile.acquire %xs : !rtile.channel<64x64xbf16>
    rtile.copy %x[%i, %c0] to %slot : !rtile.view<64x64xbf16>, !rtile.slot<64x64xbf16>
  }
  rtile.role "drain" warps = 4 {
    %slot = rtile.await %xs : !rtile.channel<64x64xbf16>
    rtile.release %slot : !rtile.slot<64x64xbf16>
  }
  rtile.return
}

// -----

// Eight slots of 32 KiB are more than a block can have, seven are not.

rtile.func @many_slots(%X: memref<?x64xbf16, strided<[?, 1]>>) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] : memref<?x64xbf16, strided<[?, 1]>> to !rtile.view<256x64xbf16>
  // expected-error@+1 {{expected channels that need at most 232448 bytes of shared memory on sm_90a, found 262280, of which 262144 for 8 slots of 'tensor<256x64xbf16>'; 7 slots of it would fit}}
  %xs = rtile.channel slots = 8 : !rtile.channel<256x64xbf16>
  rtile.role "load" warps = 4 {
    %slot = rtile.acquire %xs : !rtile.channel<256x64xbf16>
    rtile.copy %x[%i, %c0] to %slot : !rtile.view<256x64xbf16>, !rtile.slot<256x64xbf16>
  }
  rtile.role "drain" warps = 4 {
    %slot = rtile.await %xs : !rtile.channel<256x64xbf16>
    rtile.release %slot : !rtile.slot<256x64xbf16>
  }
  rtile.return
}

// -----

// Two blocks share what a multiprocessor has.

rtile.func @two_blocks(%X: memref<?x64xbf16, strided<[?, 1]>>) grid(%i: index) scheduled blocks = 2 {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] : memref<?x64xbf16, strided<[?, 1]>> to !rtile.view<256x64xbf16>
  // expected-error@+1 {{expected channels that need at most 115712 bytes of shared memory on sm_90a, found 131144, of which 131072 for 4 slots of 'tensor<256x64xbf16>'; 3 slots of it would fit}}
  %xs = rtile.channel slots = 4 : !rtile.channel<256x64xbf16>
  rtile.role "load" warps = 4 {
    %slot = rtile.acquire %xs : !rtile.channel<256x64xbf16>
    rtile.copy %x[%i, %c0] to %slot : !rtile.view<256x64xbf16>, !rtile.slot<256x64xbf16>
  }
  rtile.role "drain" warps = 4 {
    %slot = rtile.await %xs : !rtile.channel<256x64xbf16>
    rtile.release %slot : !rtile.slot<256x64xbf16>
  }
  rtile.return
}

// -----

// A map of a tensor has its dilation when it is made.

rtile.func @runtime_rate(%X: memref<?x64xbf16, strided<[?, 1]>>, %r: index) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  // expected-error@+1 {{expected a w and rate that are known in a scheduled kernel, found '!rtile.view<64x64xbf16, rate = ?>' (B1)}}
  %x = rtile.view %X[*, *] residue(%c0) rate(%r) : memref<?x64xbf16, strided<[?, 1]>> to !rtile.view<64x64xbf16, rate = ?>
  %xs = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %slot = rtile.acquire %xs : !rtile.channel<64x64xbf16>
    rtile.copy %x[%i, %c0] to %slot : !rtile.view<64x64xbf16, rate = ?>, !rtile.slot<64x64xbf16>
  }
  rtile.role "drain" warps = 4 {
    %slot = rtile.await %xs : !rtile.channel<64x64xbf16>
    rtile.release %slot : !rtile.slot<64x64xbf16>
  }
  rtile.return
}

// -----

// A size is that of an axis of a parameter.

rtile.func @far_axis(%X: memref<?x64xbf16, strided<[?, 1]>>) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  // expected-error@+1 {{expected an axis in [0, 2), found 2}}
  %n = memref.dim %X, %c2 : memref<?x64xbf16, strided<[?, 1]>>
  %x = rtile.view %X[*, *] : memref<?x64xbf16, strided<[?, 1]>> to !rtile.view<64x64xbf16>
  %xs = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %slot = rtile.acquire %xs : !rtile.channel<64x64xbf16>
    rtile.copy %x[%i, %c0] to %slot : !rtile.view<64x64xbf16>, !rtile.slot<64x64xbf16>
  }
  rtile.role "drain" warps = 4 {
    %slot = rtile.await %xs : !rtile.channel<64x64xbf16>
    rtile.release %slot : !rtile.slot<64x64xbf16>
  }
  rtile.return
}
