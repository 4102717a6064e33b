//===- skip-empty-points.mlir - Points of a grid without rows ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rtile-skip-empty-points | FileCheck %s
// RUN: ringlet-opt %s --split-input-file --rtile-skip-empty-points --rtile-verify-schedule -o /dev/null
// RUN: ringlet-opt %s --split-input-file --rtile-skip-empty-points --remarks-filter='rtile-.*' --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK --implicit-check-not=REMARK

// All stores are to rows of one sequence: where the first row of the tile lies
// behind its end, no role begins.

// REMARK: [Passed] SkipEmptyPoints {{.*}}"one_sequence: roles skip points whose tile has no row"

// CHECK-LABEL: rtile.func @one_sequence(
// CHECK:         %[[ROW:.+]] = arith.muli
// CHECK:         %{{.+}}, %[[END:.+]] = rtile.bounds
// CHECK-NEXT:    %[[SOME:.+]] = arith.cmpi slt, %[[ROW]], %[[END]] : index
// CHECK-NEXT:    rtile.role "load" warps = 4 {
// CHECK-NEXT:      scf.if %[[SOME]] {
// CHECK-NEXT:        rtile.acquire
// CHECK:           }
// CHECK-NEXT:    }
// CHECK-NEXT:    rtile.role "compute" warps = 4 {
// CHECK-NEXT:      scf.if %[[SOME]] {
// CHECK:             rtile.store
// CHECK-NEXT:      rtile.store
// CHECK-NEXT:    }
// CHECK-NEXT:    }

!buffer = memref<?x64xf16, strided<[?, 1]>>
!view = !rtile.view<64x64xf16>
rtile.func @one_sequence(%X: !buffer, %Z: !buffer, %ends: memref<?xi64>)
    grid(%i: index, %b: index) scheduled walk = <strided> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %entry = memref.load %ends[%b] : memref<?xi64>
  %n = arith.index_cast %entry : i64 to index
  %x = rtile.view %X[*, *] within(%c0, %n) : !buffer to !view
  %y = rtile.view %Z[*, *] within(%c0, %n) : !buffer to !view
  %z = rtile.view %Z[*, *] within(%c0, %n) : !buffer to !view
  %row = arith.muli %i, %c64 : index
  %xs = rtile.channel slots = 1 : !rtile.channel<64x64xf16>
  rtile.role "load" warps = 4 {
    %slot = rtile.acquire %xs : !rtile.channel<64x64xf16>
    rtile.copy %x[%row, %c0] to %slot : !view, !rtile.slot<64x64xf16>
  }
  rtile.role "compute" warps = 4 {
    %slot = rtile.await %xs : !rtile.channel<64x64xf16>
    %tile = rtile.read %slot : !rtile.slot<64x64xf16>
        -> tensor<64x64xf16, #rtile.fragment<4>>
    rtile.release %slot : !rtile.slot<64x64xf16>
    rtile.store %tile, %z[%row, %c0]
        : tensor<64x64xf16, #rtile.fragment<4>>, !view
    rtile.store %tile, %y[%row, %c0]
        : tensor<64x64xf16, #rtile.fragment<4>>, !view
  }
  rtile.return
}

// -----

// Rows of a whole axis exist for every point, and where there are other rows to
// write, a point without its own may have those.

// CHECK-LABEL: rtile.func @other_rows(
// CHECK-NOT:     scf.if
// CHECK:         rtile.return

!buffer = memref<?x64xf16, strided<[?, 1]>>
!view = !rtile.view<64x64xf16>
rtile.func @other_rows(%X: !buffer, %Z: !buffer, %n: index) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] within(%c0, %n) : !buffer to !view
  %y = rtile.view %Z[*, *] within(%c0, %n) : !buffer to !view
  %z = rtile.view %Z[*, *] : !buffer to !view
  %xs = rtile.channel slots = 1 : !rtile.channel<64x64xf16>
  rtile.role "load" warps = 4 {
    %slot = rtile.acquire %xs : !rtile.channel<64x64xf16>
    rtile.copy %x[%i, %c0] to %slot : !view, !rtile.slot<64x64xf16>
  }
  rtile.role "compute" warps = 4 {
    %slot = rtile.await %xs : !rtile.channel<64x64xf16>
    %tile = rtile.read %slot : !rtile.slot<64x64xf16>
        -> tensor<64x64xf16, #rtile.fragment<4>>
    rtile.release %slot : !rtile.slot<64x64xf16>
    rtile.store %tile, %y[%i, %c0]
        : tensor<64x64xf16, #rtile.fragment<4>>, !view
    rtile.store %tile, %z[%i, %c0]
        : tensor<64x64xf16, #rtile.fragment<4>>, !view
  }
  rtile.return
}
