//===- emit-tables.mlir - Kernels that write order tables -===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-cpu-emit-tables --split-input-file | FileCheck %s
// RUN: ringlet-opt %s --rtile-cpu-emit-tables=level=x86-64-v4 --split-input-file \
// RUN:   --remarks-filter=rtile-cpu-emit-tables --remark-format=emitRemark 2>&1 | \
// RUN:   FileCheck %s --check-prefix=REMARK
// RUN: not ringlet-opt %s --rtile-cpu-emit-tables=level=z80 2>&1 | \
// RUN:   FileCheck %s --check-prefix=LEVEL

// LEVEL: error: {{.*}}z80

// Items are 256 entries, of which a turn of the loop writes a vector. The residue
// of a slot is its upper bits, which become the lower ones of a token: here two
// bits each.

// REMARK: Remark="tokens of residue 4 chunk 16: a kernel writes the table, by 11 operations on integers for each entry"
// REMARK: llvm.func @"tokens of residue 4 chunk 16"({{.+}}"target-cpu", "x86-64-v4"
// REMARK: llvm.intr.masked.store {{.+}} : vector<8xi64>
// CHECK-LABEL: llvm.func @"tokens of residue 4 chunk 16"(
// CHECK-SAME:    %[[WORDS:[^:]+]]: !llvm.ptr {llvm.noalias}, %[[BEGIN:[^:]+]]: i64, %[[END:[^:]+]]: i64,
// CHECK-SAME:    rtile.grid_rank = 1
// CHECK-SAME:    rtile.parameters = [memref<?xi64>]
// CHECK-SAME:    rtile.scratch_bytes = 0
// CHECK-SAME:    rtile.table
// CHECK:         %[[TABLE:.+]] = llvm.load %[[WORDS]]
// CHECK:         %[[LENGTH:.+]] = llvm.load %{{.+}} : !llvm.ptr -> i64
// CHECK:         %[[PLACES:.+]] = arith.extui %{{.+}} : vector<4xi32> to vector<4xi64>
// CHECK:         %[[FIRST:.+]] = arith.muli %[[BEGIN]], %c256
// CHECK:         %[[ITEMS:.+]] = arith.muli %[[END]], %c256
// CHECK:         %[[LAST:.+]] = arith.minsi %[[ITEMS]], %[[LENGTH]]
// CHECK:         scf.for %[[ENTRY:.+]] = %[[FIRST]] to %[[LAST]] step %c4_i64
// CHECK:           %[[INDEX:.+]] = arith.addi %{{.+}}, %[[PLACES]] : vector<4xi64>
// CHECK:           %[[EXISTS:.+]] = arith.cmpi slt, %[[INDEX]], %{{.+}} : vector<4xi64>
// CHECK:           %[[INSIDE:.+]] = arith.andi %[[INDEX]], %{{.+}} : vector<4xi64>
// CHECK:           %[[PLACE:.+]] = arith.andi %[[INSIDE]], %{{.+}} : vector<4xi64>
// CHECK:           %[[UPPER:.+]] = arith.shli %[[PLACE]], %{{.+}} : vector<4xi64>
// CHECK:           %[[LOWER:.+]] = arith.shrui %[[INSIDE]], %{{.+}} : vector<4xi64>
// CHECK:           %[[MOVED:.+]] = arith.addi %[[UPPER]], %[[LOWER]] : vector<4xi64>
// CHECK:           %[[BASE:.+]] = arith.xori %[[INDEX]], %[[INSIDE]] : vector<4xi64>
// CHECK:           %[[TOKEN:.+]] = arith.addi %[[BASE]], %[[MOVED]] : vector<4xi64>
// CHECK:           %[[AT:.+]] = llvm.getelementptr %[[TABLE]]
// CHECK:           llvm.intr.masked.store %[[TOKEN]], %[[AT]], %[[EXISTS]] {alignment = 8 : i32}
rplan.func @chunks(%x: memref<?xf32, strided<[1]>>) outputs() names ["x"] {
  %n = rplan.size %x[0] : memref<?xf32, strided<[1]>>
  %t = rplan.order_table #rlayout.order<residue<4>, chunk = 16> length(%n)
      : memref<?xi64>
  rplan.return
}

// -----

// What has no arithmetic has no kernel, and nothing else changes.

// CHECK-LABEL: rplan.func @ragged(
// CHECK-NOT:   llvm.func
rplan.func @ragged(%x: memref<?xf32, strided<[1]>>) outputs() names ["x"] {
  %n = rplan.size %x[0] : memref<?xf32, strided<[1]>>
  %t = rplan.order_table #rlayout.order<hilbert, grid = [6, 8]> length(%n)
      : memref<?xi64>
  rplan.return
}
