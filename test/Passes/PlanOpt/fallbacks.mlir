//===- fallbacks.mlir - Plain twins of kernels to be scheduled ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rplan-add-fallbacks=level=sm_90a | FileCheck %s
// RUN: ringlet-opt %s --rplan-add-fallbacks=level=sm_80 \
// RUN:   | FileCheck %s --check-prefix=NONE
// RUN: ringlet-opt %s --rplan-add-fallbacks=level=x86-64-v3 \
// RUN:   | FileCheck %s --check-prefix=NONE
// RUN: not ringlet-opt %s --rplan-add-fallbacks=level=sm_1 2>&1 \
// RUN:   | FileCheck %s --check-prefix=LEVEL
// RUN: ringlet-opt %s --rplan-add-fallbacks=level=sm_90a \
// RUN:   --rplan-drop-fallbacks | FileCheck %s --check-prefix=DROP

// One twin for both launches, beside its kernel, with the same arguments.

// CHECK-LABEL: rtile.func @fast(
// CHECK-SAME:    recipe
// CHECK-LABEL: rtile.func @fast_plain(
// CHECK-NOT:     recipe
// CHECK-LABEL: rtile.func @plain(
// CHECK-NOT:   rtile.func @plain_plain(
// CHECK-LABEL: rplan.func @main(
// CHECK-SAME:    %[[X:[^:]+]]: memref
// CHECK:         rplan.launch @fast grid(%[[N:.+]]) args(%[[X]]) otherwise launch @fast_plain grid(%[[N]]) args(%[[X]] : memref<?xf32>) :
// CHECK-NEXT:    rplan.launch @fast grid(%[[M:.+]]) args(%[[X]]) on exchange otherwise launch @fast_plain grid(%[[M]]) args(%[[X]] : memref<?xf32>) :
// CHECK-NEXT:    rplan.launch @fast grid(%[[N]]) args(%[[X]]) otherwise launch @plain grid
// CHECK-NEXT:    rplan.launch @plain grid(%[[N]]) args(%[[X]]) : memref<?xf32>

// A kernel with a schedule of its own is scheduled with a recipe and without one; its
// twin has neither.

// CHECK-LABEL: rtile.func @own(
// CHECK-SAME:    schedule
// CHECK-LABEL: rtile.func @own_plain(
// CHECK-NOT:     schedule
// CHECK-LABEL: rtile.func @both(
// CHECK-SAME:    recipe = "pipelined" schedule
// CHECK-LABEL: rtile.func @both_plain(
// CHECK-NOT:     schedule
// CHECK-LABEL: rplan.func @schedules(
// CHECK:         rplan.launch @own {{.*}} otherwise launch @own_plain
// CHECK:         rplan.launch @both {{.*}} otherwise launch @both_plain

// NONE-NOT:    rtile.func @fast_plain(
// NONE:        rplan.launch @fast grid(%{{.+}}) args(%{{.+}}) : memref<?xf32>

// LEVEL:       sm_1

// What was not scheduled needs none. A kernel that is launched anyway stays.

// DROP:        rtile.func @fast(
// DROP-NOT:    rtile.func @fast_plain(
// DROP:        rtile.func @plain(
// DROP-LABEL:  rplan.func @main(
// DROP-NOT:      otherwise
// DROP:          rplan.return
#schedule = #rtile.schedule<roles = [<"load", warps = 4>], slots = 2, walk = <strided>>

rtile.func @fast(%x: memref<?xf32>) grid(%i: index)
    recipe = "fa_fwd_lazy" {
  rtile.return
}
rtile.func @plain(%x: memref<?xf32>) grid(%i: index) { rtile.return }

rplan.func @main(%x: memref<?xf32>) outputs() names ["x"] {
  %n = rplan.size %x[0] : memref<?xf32>
  %c2 = arith.constant 2 : index
  %m = arith.muli %n, %c2 : index
  rplan.launch @fast grid(%n) args(%x) : memref<?xf32>
  rplan.launch @fast grid(%m) args(%x) on exchange : memref<?xf32>
  rplan.launch @fast grid(%n) args(%x)
      otherwise launch @plain grid(%n) args(%x : memref<?xf32>)
      : memref<?xf32>
  rplan.launch @plain grid(%n) args(%x) : memref<?xf32>
  rplan.return
}

rtile.func @own(%x: memref<?xf32>) grid(%i: index) schedule = #schedule {
  rtile.return
}
rtile.func @both(%x: memref<?xf32>) grid(%i: index)
    recipe = "pipelined" schedule = #schedule {
  rtile.return
}

rplan.func @schedules(%x: memref<?xf32>) outputs() names ["x"] {
  %n = rplan.size %x[0] : memref<?xf32>
  rplan.launch @own grid(%n) args(%x) : memref<?xf32>
  rplan.launch @both grid(%n) args(%x) : memref<?xf32>
  rplan.return
}
