//===- ordered-maps.mlir - Maps of rows that lie side by side ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics --rtile-gpu-plan-maps | FileCheck %s

// Rows of one residue lie side by side in residue<4> (O1): the map has all rows
// of the axis, and none apart.

// CHECK-LABEL: rtile.func @together(
// CHECK-SAME:    rtile.maps = [#rtile.map<buffer = 0, rows = 0, columns = 1, fixed = [], rate = 1, box = [64, 64]>]
rtile.func @together(%X: memref<?x64xf16, strided<[?, 1]>>)
    grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] segment(%i) residue(%c0)
      order(#rlayout.order<residue<4>>) : memref<?x64xf16, strided<[?, 1]>>
      to !rtile.view<64x64xf16, w = 256, rate = 4>
  %xs = rtile.channel slots = 1 : !rtile.channel<64x64xf16>
  rtile.role "load" warps = 4 {
    %slot = rtile.acquire %xs : !rtile.channel<64x64xf16>
    rtile.copy %x[%c0, %c0] to %slot
        : !rtile.view<64x64xf16, w = 256, rate = 4>, !rtile.slot<64x64xf16>
  }
  rtile.role "compute" warps = 4 {
    %slot = rtile.await %xs : !rtile.channel<64x64xf16>
    rtile.release %slot : !rtile.slot<64x64xf16>
  }
  rtile.return
}

// -----

rtile.func @apart(%X: memref<?x64xf16, strided<[?, 1]>>)
    grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] residue(%c0) order(#rlayout.order<residue<2>>)
      : memref<?x64xf16, strided<[?, 1]>>
      to !rtile.view<64x64xf16, rate = 4>
  %xs = rtile.channel slots = 1 : !rtile.channel<64x64xf16>
  rtile.role "load" warps = 4 {
    %slot = rtile.acquire %xs : !rtile.channel<64x64xf16>
    // expected-error@+1 {{expected rows side by side in #rlayout.order<residue<2>>, found every row number 2 (O1)}}
    rtile.copy %x[%c0, %c0] to %slot
        : !rtile.view<64x64xf16, rate = 4>, !rtile.slot<64x64xf16>
  }
  rtile.role "compute" warps = 4 {
    %slot = rtile.await %xs : !rtile.channel<64x64xf16>
    rtile.release %slot : !rtile.slot<64x64xf16>
  }
  rtile.return
}

// -----

rtile.func @positions(%X: memref<?x64xf16, strided<[?, 1]>>, %T: memref<?xi64>)
    grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] positions(%T : memref<?xi64>)
      : memref<?x64xf16, strided<[?, 1]>> to !rtile.view<64x64xf16>
  %xs = rtile.channel slots = 1 : !rtile.channel<64x64xf16>
  rtile.role "load" warps = 4 {
    %slot = rtile.acquire %xs : !rtile.channel<64x64xf16>
    // expected-error@+1 {{expected a view of two axes without a table of rows}}
    rtile.copy %x[%c0, %c0] to %slot
        : !rtile.view<64x64xf16>, !rtile.slot<64x64xf16>
  }
  rtile.role "compute" warps = 4 {
    %slot = rtile.await %xs : !rtile.channel<64x64xf16>
    rtile.release %slot : !rtile.slot<64x64xf16>
  }
  rtile.return
}

// -----

// A part of an axis has the map of the whole axis: it begins at the coordinate of
// its first row, and what is copied behind its end is masked.

// CHECK-LABEL: rtile.func @part_of_an_axis(
// CHECK-SAME:    rtile.maps = [#rtile.map<buffer = 0, rows = 0, columns = 1, fixed = [], rate = 1, box = [64, 64]>]
rtile.func @part_of_an_axis(%X: memref<?x64xf16, strided<[?, 1]>>,
                            %ends: memref<?xi64>)
    grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %end = memref.load %ends[%i] : memref<?xi64>
  %n = arith.index_cast %end : i64 to index
  %x = rtile.view %X[*, *] within(%c0, %n) : memref<?x64xf16, strided<[?, 1]>>
      to !rtile.view<64x64xf16>
  %xs = rtile.channel slots = 1 : !rtile.channel<64x64xf16>
  rtile.role "load" warps = 4 {
    %slot = rtile.acquire %xs : !rtile.channel<64x64xf16>
    rtile.copy %x[%c0, %c0] to %slot
        : !rtile.view<64x64xf16>, !rtile.slot<64x64xf16>
  }
  rtile.role "compute" warps = 4 {
    %slot = rtile.await %xs : !rtile.channel<64x64xf16>
    rtile.release %slot : !rtile.slot<64x64xf16>
  }
  rtile.return
}
