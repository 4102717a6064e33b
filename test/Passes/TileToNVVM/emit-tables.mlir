//===- emit-tables.mlir - Kernels that write order tables -===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-gpu-emit-tables --split-input-file | FileCheck %s
// RUN: ringlet-opt %s --rtile-gpu-emit-tables --split-input-file \
// RUN:   --remarks-filter=rtile-gpu-emit-tables --remark-format=emitRemark 2>&1 | \
// RUN:   FileCheck %s --check-prefix=REMARK

// The residue of a slot is its upper bits, which become the lower ones of a
// token: here two bits each. A thread writes one entry, if there is one.

// REMARK: Remark="tokens of residue 4 chunk 16: a kernel writes the table, by 11 operations on integers for each entry"
// CHECK-LABEL: llvm.func ptx_kernelcc @"tokens of residue 4 chunk 16"(
// CHECK-SAME:    %[[TABLE:.+]]: i64, %[[LENGTH:.+]]: i64, %{{.+}}: i64)
// CHECK-SAME:    rtile.grid_rank = 1
// CHECK-SAME:    rtile.parameters = [memref<?xi64>]
// CHECK-SAME:    rtile.table
// CHECK-SAME:    rtile.threads = 256
// CHECK:         %[[EXISTS:.+]] = arith.cmpi slt, %[[INDEX:.+]], %[[LENGTH]] : i64
// CHECK:         %[[C15:.+]] = arith.constant 15 : i64
// CHECK:         %[[INSIDE:.+]] = arith.andi %[[INDEX]], %[[C15]] : i64
// CHECK:         %[[C3:.+]] = arith.constant 3 : i64
// CHECK:         %[[PLACE:.+]] = arith.andi %[[INSIDE]], %[[C3]] : i64
// CHECK:         %[[C2:.+]] = arith.constant 2 : i64
// CHECK:         %[[UPPER:.+]] = arith.shli %[[PLACE]], %[[C2]] : i64
// CHECK:         %[[LOWER:.+]] = arith.shrui %[[INSIDE]], %[[C2]] : i64
// CHECK:         %[[MOVED:.+]] = arith.addi %[[UPPER]], %[[LOWER]] : i64
// CHECK:         %[[BASE:.+]] = arith.xori %[[INDEX]], %[[INSIDE]] : i64
// CHECK:         %[[TOKEN:.+]] = arith.addi %[[BASE]], %[[MOVED]] : i64
// CHECK:         llvm.inline_asm {{.*}}st.global.b64{{.*}} %[[TOKEN]], %{{.+}}, %[[EXISTS]]
rplan.func @chunks(%x: memref<?xf32, strided<[1]>>) outputs() names ["x"] {
  %n = rplan.size %x[0] : memref<?xf32, strided<[1]>>
  %t = rplan.order_table #rlayout.order<residue<4>, chunk = 16> length(%n)
      : memref<?xi64>
  rplan.return
}

// -----

// Equal tables share a kernel; inverse ones are others.

// CHECK-LABEL: rplan.func @twice(
// CHECK:       llvm.func ptx_kernelcc @"tokens of hilbert 8x8"(
// CHECK-NOT:   llvm.func ptx_kernelcc @"tokens
// CHECK:       llvm.func ptx_kernelcc @"slots of hilbert 8x8"(
// CHECK-NOT:   llvm.func
rplan.func @twice(%x: memref<?xf32, strided<[1]>>) outputs() names ["x"] {
  %n = rplan.size %x[0] : memref<?xf32, strided<[1]>>
  %a = rplan.order_table #rlayout.order<hilbert, grid = [8, 8]> length(%n)
      : memref<?xi64>
  %b = rplan.order_table #rlayout.order<hilbert, grid = [8, 8]> length(%n)
      : memref<?xi64>
  %c = rplan.order_table #rlayout.order<hilbert, grid = [8, 8]> length(%n) inverse
      : memref<?xi64>
  rplan.return
}

// -----

// Orders without arithmetic come from the host: sides that are no powers of
// two, and no period.

// CHECK-LABEL: rplan.func @host(
// CHECK-NOT:   llvm.func
rplan.func @host(%x: memref<?xf32, strided<[1]>>) outputs() names ["x"] {
  %n = rplan.size %x[0] : memref<?xf32, strided<[1]>>
  %a = rplan.order_table #rlayout.order<hilbert, grid = [6, 8]> length(%n)
      : memref<?xi64>
  %b = rplan.order_table #rlayout.order<residue<4>> length(%n)
      : memref<?xi64>
  rplan.return
}
