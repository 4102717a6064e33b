//===- schedule-kernels.mlir - Roles for a kernel, or none ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-schedule-kernels | FileCheck %s
// RUN: ringlet-opt %s --rtile-schedule-kernels --remarks-filter='rtile-.*' --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: ringlet-opt %s --rtile-schedule-kernels=asked=columns -o /dev/null 2>&1 | FileCheck %s --check-prefix=ASKED
// RUN: not ringlet-opt %s '--rtile-schedule-kernels=asked=columns require' -o /dev/null 2>&1 | FileCheck %s --check-prefix=REQUIRED
// RUN: ringlet-opt %s '--rtile-schedule-kernels=asked=product require' -o /dev/null
// RUN: ringlet-opt %s --rtile-schedule-kernels=level=sm_80 | FileCheck %s --check-prefix=SM80
// RUN: not ringlet-opt %s --rtile-schedule-kernels=level=cpu 2>&1 | FileCheck %s --check-prefix=CPU

// CPU: error: expected a GPU architecture

// Architectures without roles keep what there was.
// SM80: rtile.func
// SM80-NOT: rtile.role
// SM80-NOT: recipe

// One kernel becomes another one, the next one stays what it was: the copy engine
// cannot fetch a tile that is narrower than its buffer and no multiple of a panel.

// CHECK-LABEL: rtile.func @product(
// CHECK-SAME:    grid(%{{.+}}: index) scheduled walk = <strided> {
// CHECK:         rtile.role "load"
// CHECK:         rtile.role "compute"
// CHECK-LABEL: rtile.func @columns(
// CHECK-SAME:    grid(%{{.+}}: index) {
// CHECK-NOT:     rtile.role
// CHECK:         rtile.dot
// CHECK-NOT:   module {

// What a trial tells is told if it counts.
// REMARK-NOT:  columns:
// REMARK:      [Passed] ChooseSchedule {{.*}}"product: 4 warps compute
// REMARK:      [Passed] AssignRoles {{.*}}"product: one role copies
// REMARK-NOT:  columns:
// REMARK-NOT:  [Passed] PlanMaps
// REMARK:      [Missed] ScheduleKernels {{.*}}"columns stays plain: 'rtile.copy' op expected a tile as wide as its buffer or a multiple of 64 columns, found 32 columns of any number"
// REMARK-NOT:  columns:

// ASKED-NOT:   warning
// ASKED:       warning: kernel 'columns' stays plain; recipe pipelined was asked for: 'rtile.copy' op expected a tile as wide
// ASKED-NOT:   warning

// REQUIRED:    error: expected kernel 'columns' to take recipe pipelined: 'rtile.copy' op expected a tile as wide

rtile.func @product(%A: memref<?x64xbf16, strided<[?, 1]>>, %B: memref<?x64xbf16, strided<[?, 1]>>,
                    %C: memref<?x64xf32, strided<[?, 1]>>) grid(%i: index) recipe = "pipelined" {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = rtile.view %A[*, *] : memref<?x64xbf16, strided<[?, 1]>> to !rtile.view<64x64xbf16>
  %b = rtile.view %B[*, *] : memref<?x64xbf16, strided<[?, 1]>> to !rtile.view<64x64xbf16>
  %c = rtile.view %C[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<64x64xf32>
  %row = arith.muli %i, %c64 : index
  %at = rtile.load %a[%row, %c0] : !rtile.view<64x64xbf16>
  %bt = rtile.load %b[%c0, %c0] : !rtile.view<64x64xbf16>
  %ct = rtile.dot %at, %bt transposed : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  rtile.store %ct, %c[%row, %c0] : !rtile.view<64x64xf32>
  rtile.return
}

rtile.func @columns(%A: memref<?x?xbf16, strided<[?, 1]>>, %B: memref<?x?xbf16, strided<[?, 1]>>,
                    %C: memref<?x64xf32, strided<[?, 1]>>) grid(%i: index) recipe = "pipelined" {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = rtile.view %A[*, *] : memref<?x?xbf16, strided<[?, 1]>> to !rtile.view<64x32xbf16>
  %b = rtile.view %B[*, *] : memref<?x?xbf16, strided<[?, 1]>> to !rtile.view<64x32xbf16>
  %c = rtile.view %C[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<64x64xf32>
  %row = arith.muli %i, %c64 : index
  %at = rtile.load %a[%row, %c0] : !rtile.view<64x32xbf16>
  %bt = rtile.load %b[%c0, %c0] : !rtile.view<64x32xbf16>
  %ct = rtile.dot %at, %bt transposed : tensor<64x32xbf16>, tensor<64x32xbf16> -> tensor<64x64xf32>
  rtile.store %ct, %c[%row, %c0] : !rtile.view<64x64xf32>
  rtile.return
}
