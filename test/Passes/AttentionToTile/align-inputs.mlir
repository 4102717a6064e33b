//===- align-inputs.mlir - Copies of inputs that lie badly ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rplan-align-inputs=level=sm_80 --canonicalize --cse | FileCheck %s
// RUN: ringlet-opt %s --split-input-file --rplan-align-inputs=level=x86-64-v3 | FileCheck %s --check-prefix=CPU
// RUN: ringlet-opt %s --split-input-file --rplan-align-inputs=level=sm_80 \
// RUN:   --remarks-filter=rplan-align-inputs \
// RUN:   --remark-format=emitRemark 2>&1 | FileCheck %s --check-prefix=WHY
// RUN: not ringlet-opt %s --split-input-file --rplan-align-inputs=level=sm_1 2>&1 | FileCheck %s --check-prefix=LEVEL

// LEVEL: expected {{.*}}found 'sm_1'

// A launch of so many points that each walk over the rows of x, in segments of
// 64 with a rate of 2: at most 32 rows each. y is loaded once, and stays. A CPU
// loads from any address.

!b = memref<2x?x4x64xbf16, strided<[?, ?, ?, 1]>>

// CPU-NOT: rplan.aligned
// CPU:     rplan.func @streams(
// CPU:     rplan.launch
// CPU-NOT: rplan.aligned

// CHECK-LABEL: rplan.func @streams(
// CHECK-SAME:    %[[X:[^:]+]]: memref<2x?x4x64xbf16, strided<[?, ?, ?, 1]>>, %[[Y:[^:]+]]: memref<2x?x4x64xbf16, strided<[?, ?, ?, 1]>>, %[[N:[^:]+]]: memref<i64>)
// CHECK-DAG:     %[[C8:.+]] = arith.constant 8 : index
// CHECK-DAG:     %[[C32:.+]] = arith.constant 32 : index
// CHECK-DAG:     %[[C64:.+]] = arith.constant 64 : index
// CHECK-DAG:     %[[C2048:.+]] = arith.constant 2048 : index
// CHECK-DAG:     %[[POINTS:.+]] = rplan.read %[[N]]
// CHECK-DAG:     %[[ROWS:.+]] = rplan.size %[[X]][1]
// CHECK:         %[[ALL:.+]] = arith.muli %[[ROWS]], %[[C8]]
// CHECK:         %[[SEGMENT:.+]] = arith.minsi %[[ROWS]], %[[C64]]
// CHECK:         %[[WALK:.+]] = arith.ceildivsi %[[SEGMENT]], %{{.+}}
// CHECK:         %[[READ:.+]] = arith.muli %{{.+}}, %[[POINTS]]
// CHECK:         %[[LEAST:.+]] = arith.addi %[[ALL]], %[[C2048]]
// CHECK:         %[[WORTH:.+]] = arith.cmpi sge, %[[READ]], %[[LEAST]]
// CHECK:         %[[TILES:.+]] = arith.ceildivsi %[[ROWS]], %[[C32]]
// CHECK:         %[[COPY:.+]] = rplan.aligned %[[X]] by @streams_align0 grid(%[[TILES]], %{{.+}}, %{{.+}}) if %[[WORTH]]
// CHECK:         rplan.launch @walk grid(%[[POINTS]]) args(%[[COPY]], %[[Y]])
// CHECK:         rplan.return

// CHECK-LABEL: rtile.func @streams_align0(
// CHECK-SAME:    %[[FROM:[^:]+]]: memref<2x?x4x64xbf16, strided<[?, ?, ?, 1]>>, %[[TO:[^:]+]]: memref<2x?x4x64xbf16, strided<[?, ?, ?, 1]>>) grid(%[[T:[^:]+]]: index, %[[HEAD:[^:]+]]: index, %[[BATCH:[^:]+]]: index)
// CHECK:         %[[ROW:.+]] = arith.muli %[[T]], %{{.+}}
// CHECK-DAG:     %[[A:.+]] = rtile.view %[[FROM]][%[[BATCH]], *, %[[HEAD]], *] {{.+}} to !rtile.view<32x64xbf16>
// CHECK-DAG:     %[[B:.+]] = rtile.view %[[TO]][%[[BATCH]], *, %[[HEAD]], *] {{.+}} to !rtile.view<32x64xbf16>
// CHECK:         %[[TILE:.+]] = rtile.load %[[A]][%[[ROW]], %{{.+}}]
// CHECK:         rtile.store %[[TILE]], %[[B]][%[[ROW]], %{{.+}}]

// WHY: streams_align0: input 'x' is copied if it does not lie at multiples of 16 bytes and a launch reads 2048 rows more than it has
// WHY-NOT: streams_align1

rtile.func @walk(%x: !b, %y: !b) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %xs = rtile.view %x[%c0, *, %c0, *] segment(%c0) residue(%c0) : !b
      to !rtile.view<16x64xbf16, w = 64, rate = 2>
  %ys = rtile.view %y[%c0, *, %c0, *] : !b to !rtile.view<16x64xbf16>
  %t = rtile.load %ys[%c0, %c0] : !rtile.view<16x64xbf16>
  %s = scf.for %j = %c0 to %c16 step %c1 iter_args(%a = %t)
      -> (tensor<16x64xbf16>) {
    %u = rtile.load %xs[%j, %c0]
        : !rtile.view<16x64xbf16, w = 64, rate = 2>
    %b = arith.addf %a, %u : tensor<16x64xbf16>
    scf.yield %b : tensor<16x64xbf16>
  }
  rtile.return
}

rplan.func @streams(%x: !b, %y: !b, %n: memref<i64>)
    outputs() names ["x", "y", "n"] {
  %points = rplan.read %n : memref<i64>
  rplan.launch @walk grid(%points) args(%x, %y) : !b, !b
  rplan.return
}

// -----

// Two launches: the one that reads more decides, and its grid, which is computed
// later, comes in front of the copy. A kernel with a recipe reads nothing unless
// all that it loads is aligned: y counts as often as x. One kernel copies both.

!r = memref<4096x64xf16, strided<[?, 1]>>

// CHECK-LABEL: rplan.func @recipe(
// CHECK-SAME:    %[[X:[^:]+]]: memref<4096x64xf16, strided<[?, 1]>>, %[[Y:[^:]+]]: memref<4096x64xf16, strided<[?, 1]>>, %[[N:[^:]+]]: memref<i64>)
// CHECK:         %[[P:.+]] = rplan.read %[[N]]
// CHECK:         %[[DOUBLE:.+]] = arith.muli %[[P]], %c2
// CHECK:         %[[FEW:.+]] = arith.muli %[[P]], %c4096
// CHECK:         %[[MANY:.+]] = arith.muli %[[P]], %c8192
// CHECK:         %[[MOST:.+]] = arith.maxsi %[[FEW]], %[[MANY]]
// CHECK:         %[[WORTH:.+]] = arith.cmpi sge, %[[MOST]], %c6144
// CHECK:         %[[XA:.+]] = rplan.aligned %[[X]] by @recipe_align0 grid(%c128) if %[[WORTH]]
// CHECK:         %[[YWORTH:.+]] = arith.cmpi sge, %[[FEW]], %c6144
// CHECK:         %[[YA:.+]] = rplan.aligned %[[Y]] by @recipe_align0 grid(%c128) if %[[YWORTH]]
// CHECK:         rplan.launch @fast grid(%[[P]]) args(%[[XA]], %[[YA]])
// CHECK:         rplan.launch @plain grid(%[[DOUBLE]]) args(%[[XA]], %[[Y]])
// CHECK-NOT:     _align1

rtile.func @fast(%x: !r, %y: !r) grid(%i: index)
    attributes {recipe = "fa_fwd_lazy"} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %xs = rtile.view %x[*, *] : !r to !rtile.view<64x64xf16>
  %ys = rtile.view %y[*, *] : !r to !rtile.view<64x64xf16>
  %t = rtile.load %ys[%c0, %c0] : !rtile.view<64x64xf16>
  scf.for %j = %c0 to %c64 step %c1 {
    %u = rtile.load %xs[%j, %c0] : !rtile.view<64x64xf16>
  }
  rtile.return
}

rtile.func @plain(%x: !r, %y: !r) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %xs = rtile.view %x[*, *] : !r to !rtile.view<64x64xf16>
  %ys = rtile.view %y[*, *] : !r to !rtile.view<64x64xf16>
  %t = rtile.load %ys[%c0, %c0] : !rtile.view<64x64xf16>
  scf.for %j = %c0 to %c64 step %c1 {
    %u = rtile.load %xs[%j, %c0] : !rtile.view<64x64xf16>
  }
  rtile.return
}

rplan.func @recipe(%x: !r, %y: !r, %n: memref<i64>)
    outputs() names ["x", "y", "n"] {
  %points = rplan.read %n : memref<i64>
  rplan.launch @fast grid(%points) args(%x, %y) : !r, !r
  %c2 = arith.constant 2 : index
  %double = arith.muli %points, %c2 : index
  rplan.launch @plain grid(%double) args(%x, %y) : !r, !r
  rplan.return
}

// -----

// Where sizes are known and small, nothing is copied; a copy of rows of 36
// elements would lie as badly as the input.

!s = memref<128x64xf16, strided<[?, 1]>>
!o = memref<8192x36xf16, strided<[?, 1]>>

// WHY: small: input 'x' is read where it lies: 2048 rows are fewer than the 2176 from which on a copy pays
// CHECK-LABEL: rplan.func @small(
// CHECK-NOT:     rplan.aligned

rtile.func @walk(%x: !s, %y: !o) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %xs = rtile.view %x[*, *] : !s to !rtile.view<64x64xf16>
  %ys = rtile.view %y[*, *] : !o to !rtile.view<64x36xf16>
  scf.for %j = %c0 to %c64 step %c1 {
    %t = rtile.load %xs[%j, %c0] : !rtile.view<64x64xf16>
    %u = rtile.load %ys[%j, %c0] : !rtile.view<64x36xf16>
  }
  rtile.return
}

rplan.func @small(%x: !s, %y: !o) outputs() names ["x", "y"] {
  %c16 = arith.constant 16 : index
  rplan.launch @walk grid(%c16) args(%x, %y) : !s, !o
  rplan.return
}

// -----

// What the second launch reads is not known in front of the first one, as a
// workspace that comes later has its sizes: the first one decides for both. Of
// y only the second launch tells, and y is aligned in front of that one.

!w = memref<?x64xf16, strided<[?, 1]>>

// CHECK-LABEL: rplan.func @late(
// CHECK-SAME:    %[[X:[^:]+]]: memref<?x64xf16, strided<[?, 1]>>, %[[Y:[^:]+]]: memref<?x64xf16, strided<[?, 1]>>
// CHECK:         %[[READ:.+]] = arith.muli %{{.+}}, %c40 : index
// CHECK:         %[[WORTH:.+]] = arith.cmpi sge, %[[READ]], %{{.+}}
// CHECK:         %[[XA:.+]] = rplan.aligned %[[X]] by @late_align0 {{.+}} if %[[WORTH]]
// CHECK:         rplan.launch @walk grid(%c40) args(%[[XA]])
// CHECK:         %[[W:.+]] = rplan.workspace
// CHECK:         %[[N:.+]] = rplan.size %[[W]][0]
// CHECK:         %[[YA:.+]] = rplan.aligned %[[Y]] by @late_align0
// CHECK:         rplan.launch @both grid(%[[N]]) args(%[[XA]], %[[YA]])

rtile.func @walk(%x: !w) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %xs = rtile.view %x[*, *] : !w to !rtile.view<64x64xf16>
  scf.for %j = %c0 to %c64 step %c1 {
    %t = rtile.load %xs[%j, %c0] : !rtile.view<64x64xf16>
  }
  rtile.return
}

rtile.func @both(%x: !w, %y: !w) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %xs = rtile.view %x[*, *] : !w to !rtile.view<64x64xf16>
  %ys = rtile.view %y[*, *] : !w to !rtile.view<64x64xf16>
  scf.for %j = %c0 to %c64 step %c1 {
    %t = rtile.load %xs[%j, %c0] : !rtile.view<64x64xf16>
    %u = rtile.load %ys[%j, %c0] : !rtile.view<64x64xf16>
  }
  rtile.return
}

rplan.func @late(%x: !w, %y: !w) outputs() names ["x", "y"] {
  %c40 = arith.constant 40 : index
  rplan.launch @walk grid(%c40) args(%x) : !w
  %n = rplan.size %y[0] : !w
  %w = rplan.workspace(%n) : memref<?x64xf16>
  %m = rplan.size %w[0] : memref<?x64xf16>
  rplan.launch @both grid(%m) args(%x, %y) : !w, !w
  rplan.return
}
