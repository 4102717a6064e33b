//===- generate.mlir - Entries of lists on a GPU ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-check-gpu --rtile-lower-runs \
// RUN:   --rtile-gpu-choose-dot=arch=sm_80 --rtile-gpu-choose-warps \
// RUN:   --rtile-gpu-assign-shared=arch=sm_80 \
// RUN:   --rtile-to-nvvm=arch=sm_80 | FileCheck %s
// RUN: ringlet-opt %s --rtile-lower-to-nvvm=level=sm_80 \
// RUN:   | mlir-translate --mlir-to-llvmir \
// RUN:   | llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_80 -O2 \
// RUN:   | FileCheck %s --check-prefix=PTX

// A kernel without tiles has 256 threads. Each begins at its own number and goes
// on by all of them: neighbours write neighbours.

// CHECK-LABEL: llvm.func ptx_kernelcc @halves(
// CHECK-SAME:    %{{[^:]+}}: i64, %{{[^:]+}}: i64, %{{[^:]+}}: i64, %[[SIZE:[^:]+]]: i64, %[[BEGIN:[^:]+]]: i64, %[[END:[^:]+]]: i64
// CHECK-SAME:    rtile.threads = 256
// CHECK:         %[[THREAD:.+]] = nvvm.read.ptx.sreg.tid.x
// CHECK-DAG:     %[[NUMBER:.+]] = arith.extsi %[[THREAD]] : i32 to i64
// CHECK-DAG:     %[[AT_LEAST:.+]] = arith.maxsi %[[BEGIN]], %c0
// CHECK:         %[[INSIDE:.+]] = arith.minsi %[[AT_LEAST]], %[[SIZE]]
// CHECK:         %[[FIRST:.+]] = arith.addi %[[INSIDE]], %[[NUMBER]]
// CHECK:         %[[STOP:.+]] = arith.minsi %[[END]], %[[SIZE]]
// CHECK:         %[[STEP:.+]] = arith.constant 256 : i64
// CHECK:         scf.for %[[PLACE:.+]] = %[[FIRST]] to %[[STOP]] step %[[STEP]]
// CHECK:           llvm.load %{{.+}} : !llvm.ptr<1> -> i64
// CHECK:           %[[ENTRY:.+]] = scf.if
// CHECK:           llvm.store %[[ENTRY]], %{{.+}} {alignment = 8 : i64} : i64, !llvm.ptr<1>
// CHECK-NEXT:    }

// PTX-LABEL: .entry halves(
// PTX:         mov.u32 %[[T:r[0-9]+]], %tid.x;
// PTX-NOT:     bar.sync
// PTX:         st.global.b64
// PTX:         add.s64 %{{.+}}, 256;
// PTX-NOT:     bar.sync
// PTX:         ret;
rtile.func @halves(%list: memref<?xi64>, %table: memref<?xi64>, %begin: index,
                   %end: index) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  rtile.generate %table[%place = %begin to %end] {
    %number = memref.load %list[%place] : memref<?xi64>
    %positive = arith.cmpi sgt, %number, %zero : i64
    %entry = scf.if %positive -> (i64) {
      %half = arith.shrsi %number, %one : i64
      scf.yield %half : i64
    } else {
      scf.yield %number : i64
    }
    rtile.yield %entry : i64
  } : memref<?xi64>
  rtile.return
}

// With tiles in the kernel there are as many threads as those want.

// CHECK-LABEL: llvm.func ptx_kernelcc @beside_tiles(
// CHECK-SAME:    rtile.threads = 64
// CHECK:         %[[STEP:.+]] = arith.constant 64 : i64
// CHECK:         scf.for {{.+}} step %[[STEP]]
rtile.func @beside_tiles(%x: memref<?x8xf32>, %y: memref<?x8xf32>,
                         %table: memref<?xi64>, %end: index) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %xs = rtile.view %x[*, *] : memref<?x8xf32> to !rtile.view<32x8xf32>
  %ys = rtile.view %y[*, *] : memref<?x8xf32> to !rtile.view<32x8xf32>
  rtile.generate %table[%place = %c0 to %end] {
    %entry = arith.index_cast %place : index to i64
    rtile.yield %entry : i64
  } : memref<?xi64>
  %tile = rtile.load %xs[%c0, %c0] : !rtile.view<32x8xf32>
  rtile.store %tile, %ys[%c0, %c0] : !rtile.view<32x8xf32>
  rtile.return
}
