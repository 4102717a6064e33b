//===- pack-operands.mlir - How tiles lie in scratch memory ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-pack-operands=level=x86-64-v3 | FileCheck %s --check-prefixes=CHECK,V3
// RUN: ringlet-opt %s --rtile-pack-operands=level=x86-64-v4 | FileCheck %s --check-prefixes=CHECK,V4
// RUN: not ringlet-opt %s --rtile-pack-operands=level=x86-64-v9 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: ringlet-opt %s --rtile-pack-operands=level=x86-64-v4-bf16 | FileCheck %s --check-prefixes=CHECK,V4,PAIRS
// RUN: ringlet-opt %s --rtile-pack-operands=level=x86-64-v4-amx | FileCheck %s --check-prefixes=CHECK,V4,AMX

// UNKNOWN: error: expected a CPU level (x86-64-v3, x86-64-v4, x86-64-v4-bf16, x86-64-v4-amx), found 'x86-64-v9'

// A left operand lies in panels, a right one in rows, a tile that is both in both
// forms; a tile that is only copied stays in rows. A register block of 64 columns
// is cut evenly: never one full width and a narrow rest.

// CHECK-LABEL: rtile.func @forms(
// V3-SAME:       rtile.lanes = 8 : i64, rtile.panel = 16 : i64, rtile.row_padding = 16 : i64
// V4-SAME:       rtile.lanes = 16 : i64, rtile.panel = 32 : i64, rtile.row_padding = 16 : i64
// CHECK:         rtile.load {{.*}} {rtile.forms = ["panels"]}
// CHECK:         rtile.load {{.*}} {rtile.forms = ["rows"]}
// V3:            rtile.dot {{.*}} {rtile.blocks = array<i64: 6, 9, 5, 2>}
// V4:            rtile.dot {{.*}} {rtile.blocks = array<i64: 13, 4, 12, 1>}
// CHECK:         rtile.load {{.*}} {rtile.forms = ["rows", "panels"]}
// CHECK:         rtile.dot
// CHECK-NOT:     rtile.repack
// CHECK:         rtile.store
// CHECK:         rtile.load {{.*}} {rtile.forms = ["rows"]}
// CHECK:         rtile.store
rtile.func @forms(%X: memref<?x64xf32, strided<[?, 1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %xv = rtile.view %X[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<64x64xf32>
  %left = rtile.load %xv[%i, %c0] : !rtile.view<64x64xf32>
  %right = rtile.load %xv[%c0, %c0] : !rtile.view<64x64xf32>
  %d = rtile.dot %left, %right transposed : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %both = rtile.load %xv[%c1, %c0] : !rtile.view<64x64xf32>
  %e = rtile.dot %both, %both init(%d) : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  rtile.store %e, %xv[%i, %c0] : !rtile.view<64x64xf32>
  %copied = rtile.load %xv[%i, %c0] : !rtile.view<64x64xf32>
  rtile.store %copied, %xv[%c0, %c0] : !rtile.view<64x64xf32>
  rtile.return
}

// A right operand that is computed lies in panels and is repacked. A tile of no
// more rows than a vector has lanes takes one vector a column, so its blocks
// are wider.

// CHECK-LABEL: rtile.func @computed(
// V3:            rtile.dot {{.*}} {rtile.blocks = array<i64: 13, 1>, rtile.repack}
// V4:            rtile.dot {{.*}} {rtile.blocks = array<i64: 13, 1>, rtile.repack}
rtile.func @computed(%X: memref<?x13xf32, strided<[?, 1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %xv = rtile.view %X[*, *] : memref<?x13xf32, strided<[?, 1]>> to !rtile.view<8x13xf32>
  %x = rtile.load %xv[%i, %c0] : !rtile.view<8x13xf32>
  %g = rtile.dot %x, %x transposed : tensor<8x13xf32>, tensor<8x13xf32> -> tensor<8x8xf32>
  %n = arith.negf %x : tensor<8x13xf32>
  %d = rtile.dot %g, %n : tensor<8x8xf32>, tensor<8x13xf32> -> tensor<8x13xf32>
  rtile.store %d, %xv[%i, %c0] : !rtile.view<8x13xf32>
  rtile.return
}

// Products of bf16 take pairs along their depth where the level can: neighbours
// in a row for a transposed right operand and a left one, neighbouring rows for
// the other product. Computed weights are paired later, and a tile with another
// user stays in f32. Other levels pair nothing.

// Where the level has tile registers, these products take them, in blocks of 32
// columns. The values are then read transposed: in panels, not in rows.

// CHECK-LABEL: rtile.func @paired(
// AMX-SAME:      rtile.row_padding = 64 : i64
// AMX:           rtile.load {{.*}} {rtile.forms = ["panels"], rtile.pairs = "columns"}
// AMX:           rtile.load {{.*}} {rtile.forms = ["rows"], rtile.pairs = "columns"}
// AMX:           rtile.load {{.*}} {rtile.forms = ["panels"], rtile.pairs = "rows"}
// AMX:           rtile.dot {{.*}} {rtile.amx, rtile.blocks = array<i64: 32, 2>, rtile.paired}
// AMX:           rtile.dot {{.*}} {rtile.amx, rtile.blocks = array<i64: 32, 2>, rtile.paired}
// AMX:           rtile.load {{.*}} {rtile.forms = ["rows"]}
// AMX-NOT:       rtile.amx
// PAIRS:         rtile.load {{.*}} {rtile.forms = ["panels"], rtile.pairs = "columns"}
// PAIRS:         rtile.load {{.*}} {rtile.forms = ["rows"], rtile.pairs = "columns"}
// PAIRS:         rtile.load {{.*}} {rtile.forms = ["rows"], rtile.pairs = "rows"}
// PAIRS:         rtile.dot {{.*}} rtile.paired}
// PAIRS:         rtile.dot {{.*}} rtile.paired}
// PAIRS:         rtile.load {{.*}} {rtile.forms = ["rows"]}
// PAIRS-NOT:     rtile.paired
// CHECK:         rtile.return
// V3-NOT:      rtile.{{pair|unrounded}}
// PAIRS-NOT:   rtile.{{amx|unrounded}}
// AMX-NOT:     rtile.unrounded
rtile.func @paired(%X: memref<?x64xbf16, strided<[?, 1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %xv = rtile.view %X[*, *] : memref<?x64xbf16, strided<[?, 1]>> to !rtile.view<64x64xbf16>
  %q = rtile.load %xv[%i, %c0] : !rtile.view<64x64xbf16>
  %k = rtile.load %xv[%c0, %c0] : !rtile.view<64x64xbf16>
  %v = rtile.load %xv[%c0, %c0] : !rtile.view<64x64xbf16>
  %s = rtile.dot %q, %k transposed : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  %p = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
  %o = rtile.dot %p, %v : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  %both = rtile.load %xv[%i, %c0] : !rtile.view<64x64xbf16>
  %d = rtile.dot %p, %both init(%o) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  %r = arith.truncf %d : tensor<64x64xf32> to tensor<64x64xbf16>
  rtile.store %r, %xv[%i, %c0] : !rtile.view<64x64xbf16>
  rtile.store %both, %xv[%c0, %c0] : !rtile.view<64x64xbf16>
  rtile.return
}

// Pairs of computed weights are rounded as they are made, so nothing rounds them
// before. Above, one product took them in f32.

// CHECK-LABEL: rtile.func @weights(
// V3-NOT:        rtile.unrounded
// PAIRS:         arith.truncf %{{.+}} {rtile.unrounded}
// AMX:           arith.truncf %{{.+}} {rtile.unrounded}
// CHECK:         rtile.return
rtile.func @weights(%X: memref<?x64xbf16, strided<[?, 1]>>, %S: memref<?x64xf32, strided<[?, 1]>>)
    grid(%i: index) {
  %c0 = arith.constant 0 : index
  %xv = rtile.view %X[*, *] : memref<?x64xbf16, strided<[?, 1]>> to !rtile.view<64x64xbf16>
  %sv = rtile.view %S[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<64x64xf32>
  %s = rtile.load %sv[%i, %c0] : !rtile.view<64x64xf32>
  %v = rtile.load %xv[%c0, %c0] : !rtile.view<64x64xbf16>
  %p = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
  %o = rtile.dot %p, %v : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  rtile.store %o, %sv[%i, %c0] : !rtile.view<64x64xf32>
  rtile.return
}
