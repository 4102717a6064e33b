//===- choose-schedule.mlir - Warps, registers, slots ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rtile-choose-schedule | FileCheck %s
// RUN: ringlet-opt %s --split-input-file --rtile-choose-schedule --remarks-filter='rtile-.*' --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not ringlet-opt %s --split-input-file --rtile-choose-schedule=level=sm_80 2>&1 | FileCheck %s --check-prefix=SM80
// RUN: not ringlet-opt %s --split-input-file --rtile-choose-schedule=level=x86-64-v3 2>&1 | FileCheck %s --check-prefix=CPU

// CPU: error: expected a GPU architecture (sm_60, {{.+}}), found 'x86-64-v3'

// Architectures without products of groups of warps have no roles.

// SM80: error: expected an architecture with products of groups of warps and a copy engine, found sm_80

// Two groups, the query tile in registers; every tile sees all keys.

// CHECK-LABEL: rtile.func @d128(
// CHECK-SAME:    recipe = "fa_fwd_lazy" schedule = <roles = [<"load", warps = 4, registers = 40>, <"compute", warps = 8, registers = 232>], slots = 2, walk = <strided>, operands = [<buffer = 0, left = registers>]>
// REMARK: [Passed] ChooseSchedule {{.*}}"d128: 8 warps compute, 4 for every 64 of 128 rows, with 232 registers a thread (192 for tiles, left operand in registers), 4 load with 40; 2 slots, 163920 of 231424 bytes of shared memory; every tile sees the same keys, so blocks take points in turn"
rtile.func @d128(%Q: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %K: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %V: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %O: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>)
    grid(%tile: index, %head: index, %batch: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %height = arith.constant 128 : index
  %step = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %q = rtile.view %Q[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %k = rtile.view %K[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %v = rtile.view %V[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %o = rtile.view %O[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %row = arith.muli %tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<128x128xbf16>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k : !rtile.view<128x128xbf16>, !rtile.view<128x128xbf16>
  %sums = scf.for %n = %begin to %end step %step iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<128x128xbf16>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
    %p = arith.truncf %s : tensor<128x128xf32> to tensor<128x128xbf16>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<128x128xbf16>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  %out = arith.truncf %sums : tensor<128x128xf32> to tensor<128x128xbf16>
  rtile.store %out, %o[%row, %c0] : !rtile.view<128x128xbf16>
  rtile.return
}

// -----

// What somebody else decided stays.

// CHECK-LABEL: rtile.func @written(
// CHECK-SAME:    schedule = <roles = [<"load", warps = 4, registers = 56>, <"compute", warps = 8, registers = 224>], slots = 2, walk = <each, order = [2, 1, 0]>, operands = [<buffer = 1, slots = 3>]>
// REMARK: [Passed] ChooseSchedule {{.*}}"written: the schedule that it came with"
rtile.func @written(%Q: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %K: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %V: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %O: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>)
    grid(%tile: index, %head: index, %batch: index) recipe = "fa_fwd_lazy"
    schedule = <roles = [<"load", warps = 4, registers = 56>, <"compute", warps = 8, registers = 224>],
                slots = 2, walk = <each, order = [2, 1, 0]>, operands = [<buffer = 1, slots = 3>]> {
  %c0 = arith.constant 0 : index
  %height = arith.constant 128 : index
  %step = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %q = rtile.view %Q[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %k = rtile.view %K[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %v = rtile.view %V[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %o = rtile.view %O[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %row = arith.muli %tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<128x128xbf16>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k : !rtile.view<128x128xbf16>, !rtile.view<128x128xbf16>
  %sums = scf.for %n = %begin to %end step %step iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<128x128xbf16>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
    %p = arith.truncf %s : tensor<128x128xf32> to tensor<128x128xbf16>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<128x128xbf16>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  %out = arith.truncf %sums : tensor<128x128xf32> to tensor<128x128xbf16>
  rtile.store %out, %o[%row, %c0] : !rtile.view<128x128xbf16>
  rtile.return
}

// -----

// Three groups with 160 registers, which do not hold the query tile.

// CHECK-LABEL: rtile.func @d64(
// CHECK-SAME:    recipe = "fa_fwd_lazy" schedule = <roles = [<"load", warps = 4, registers = 32>, <"compute", warps = 12, registers = 160>], slots = 2, walk = <strided>>
rtile.func @d64(%Q: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %K: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %V: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %O: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>)
    grid(%tile: index, %head: index, %batch: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %height = arith.constant 192 : index
  %step = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<192x64xf32>
  %q = rtile.view %Q[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<192x64xbf16>
  %k = rtile.view %K[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x64xbf16>
  %v = rtile.view %V[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x64xbf16>
  %o = rtile.view %O[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<192x64xbf16>
  %row = arith.muli %tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<192x64xbf16>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k : !rtile.view<192x64xbf16>, !rtile.view<128x64xbf16>
  %sums = scf.for %n = %begin to %end step %step iter_args(%acc = %zero) -> (tensor<192x64xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<128x64xbf16>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<192x64xbf16>, tensor<128x64xbf16> -> tensor<192x128xf32>
    %p = arith.truncf %s : tensor<192x128xf32> to tensor<192x128xbf16>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<128x64xbf16>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<192x128xbf16>, tensor<128x64xbf16> -> tensor<192x64xf32>
    scf.yield %next : tensor<192x64xf32>
  }
  %out = arith.truncf %sums : tensor<192x64xf32> to tensor<192x64xbf16>
  rtile.store %out, %o[%row, %c0] : !rtile.view<192x64xbf16>
  rtile.return
}

// -----

// Four groups: 640 threads begin with 96 registers each, and cannot have more
// than that together.

// CHECK-LABEL: rtile.func @four_groups(
// CHECK-SAME:    recipe = "fa_fwd_lazy" schedule = <roles = [<"load", warps = 4, registers = 32>, <"compute", warps = 16, registers = 112>], slots = 2, walk = <strided>>
rtile.func @four_groups(%Q: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %K: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %V: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %O: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>)
    grid(%tile: index, %head: index, %batch: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %height = arith.constant 256 : index
  %step = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<256x64xf32>
  %q = rtile.view %Q[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<256x64xbf16>
  %k = rtile.view %K[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16>
  %v = rtile.view %V[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16>
  %o = rtile.view %O[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<256x64xbf16>
  %row = arith.muli %tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<256x64xbf16>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k : !rtile.view<256x64xbf16>, !rtile.view<64x64xbf16>
  %sums = scf.for %n = %begin to %end step %step iter_args(%acc = %zero) -> (tensor<256x64xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<64x64xbf16>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<256x64xbf16>, tensor<64x64xbf16> -> tensor<256x64xf32>
    %p = arith.truncf %s : tensor<256x64xf32> to tensor<256x64xbf16>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<64x64xbf16>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<256x64xbf16>, tensor<64x64xbf16> -> tensor<256x64xf32>
    scf.yield %next : tensor<256x64xf32>
  }
  %out = arith.truncf %sums : tensor<256x64xf32> to tensor<256x64xbf16>
  rtile.store %out, %o[%row, %c0] : !rtile.view<256x64xbf16>
  rtile.return
}

// -----

// Sums of 256 columns leave no registers for the query tile.

// CHECK-LABEL: rtile.func @d256(
// CHECK-SAME:    recipe = "fa_fwd_lazy" schedule = <roles = [<"load", warps = 4, registers = 40>, <"compute", warps = 8, registers = 232>], slots = 2, walk = <strided>>
rtile.func @d256(%Q: memref<1x?x8x256xbf16, strided<[?, ?, ?, 1]>>, %K: memref<1x?x8x256xbf16, strided<[?, ?, ?, 1]>>, %V: memref<1x?x8x256xbf16, strided<[?, ?, ?, 1]>>, %O: memref<1x?x8x256xbf16, strided<[?, ?, ?, 1]>>)
    grid(%tile: index, %head: index, %batch: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %height = arith.constant 128 : index
  %step = arith.constant 80 : index
  %zero = arith.constant dense<0.0> : tensor<128x256xf32>
  %q = rtile.view %Q[%batch, *, %head, *] : memref<1x?x8x256xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x256xbf16>
  %k = rtile.view %K[%batch, *, %head, *] : memref<1x?x8x256xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<80x256xbf16>
  %v = rtile.view %V[%batch, *, %head, *] : memref<1x?x8x256xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<80x256xbf16>
  %o = rtile.view %O[%batch, *, %head, *] : memref<1x?x8x256xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x256xbf16>
  %row = arith.muli %tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<128x256xbf16>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k : !rtile.view<128x256xbf16>, !rtile.view<80x256xbf16>
  %sums = scf.for %n = %begin to %end step %step iter_args(%acc = %zero) -> (tensor<128x256xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<80x256xbf16>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<128x256xbf16>, tensor<80x256xbf16> -> tensor<128x80xf32>
    %p = arith.truncf %s : tensor<128x80xf32> to tensor<128x80xbf16>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<80x256xbf16>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<128x80xbf16>, tensor<80x256xbf16> -> tensor<128x256xf32>
    scf.yield %next : tensor<128x256xf32>
  }
  %out = arith.truncf %sums : tensor<128x256xf32> to tensor<128x256xbf16>
  rtile.store %out, %o[%row, %c0] : !rtile.view<128x256xbf16>
  rtile.return
}

// -----

// One group has more registers than a thread can name.

// CHECK-LABEL: rtile.func @one_group(
// CHECK-SAME:    recipe = "fa_fwd_lazy" schedule = <roles = [<"load", warps = 4, registers = 56>, <"compute", warps = 4, registers = 240>], slots = 2, walk = <strided>, operands = [<buffer = 0, left = registers>]>
rtile.func @one_group(%Q: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %K: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %V: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %O: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>)
    grid(%tile: index, %head: index, %batch: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %height = arith.constant 64 : index
  %step = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %q = rtile.view %Q[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x128xbf16>
  %k = rtile.view %K[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %v = rtile.view %V[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %o = rtile.view %O[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x128xbf16>
  %row = arith.muli %tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<64x128xbf16>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k : !rtile.view<64x128xbf16>, !rtile.view<128x128xbf16>
  %sums = scf.for %n = %begin to %end step %step iter_args(%acc = %zero) -> (tensor<64x128xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<128x128xbf16>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<64x128xbf16>, tensor<128x128xbf16> -> tensor<64x128xf32>
    %p = arith.truncf %s : tensor<64x128xf32> to tensor<64x128xbf16>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<128x128xbf16>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<64x128xbf16>, tensor<128x128xbf16> -> tensor<64x128xf32>
    scf.yield %next : tensor<64x128xf32>
  }
  %out = arith.truncf %sums : tensor<64x128xf32> to tensor<64x128xbf16>
  rtile.store %out, %o[%row, %c0] : !rtile.view<64x128xbf16>
  rtile.return
}

// -----

// Where two slots of keys and values do not fit there is one.

// CHECK-LABEL: rtile.func @one_slot(
// CHECK-SAME:    recipe = "fa_fwd_lazy" schedule = <roles = [<"load", warps = 4, registers = 56>, <"compute", warps = 4, registers = 240>], slots = 1, walk = <strided>>
// REMARK: [Passed] ChooseSchedule {{.*}}"one_slot: 4 warps compute, 4 for every 64 of 64 rows, with 240 registers a thread (164 for tiles, left operand in shared memory), 4 load with 56; 1 slot, 145456 of 231424 bytes
rtile.func @one_slot(%Q: memref<1x?x8x256xbf16, strided<[?, ?, ?, 1]>>, %K: memref<1x?x8x256xbf16, strided<[?, ?, ?, 1]>>, %V: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %O: memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>>)
    grid(%tile: index, %head: index, %batch: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %height = arith.constant 64 : index
  %step = arith.constant 176 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %q = rtile.view %Q[%batch, *, %head, *] : memref<1x?x8x256xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x256xbf16>
  %k = rtile.view %K[%batch, *, %head, *] : memref<1x?x8x256xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<176x256xbf16>
  %v = rtile.view %V[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<176x64xbf16>
  %o = rtile.view %O[%batch, *, %head, *] : memref<1x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16>
  %row = arith.muli %tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<64x256xbf16>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k : !rtile.view<64x256xbf16>, !rtile.view<176x256xbf16>
  %sums = scf.for %n = %begin to %end step %step iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<176x256xbf16>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<64x256xbf16>, tensor<176x256xbf16> -> tensor<64x176xf32>
    %p = arith.truncf %s : tensor<64x176xf32> to tensor<64x176xbf16>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<176x64xbf16>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<64x176xbf16>, tensor<176x64xbf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %out = arith.truncf %sums : tensor<64x64xf32> to tensor<64x64xbf16>
  rtile.store %out, %o[%row, %c0] : !rtile.view<64x64xbf16>
  rtile.return
}

// -----

// Longest first. The cache holds 65536 rows of keys and values, of as many heads
// of any batch item as the length allows.

// CHECK-LABEL: rtile.func @causal(
// CHECK-SAME:    recipe = "fa_fwd_lazy" schedule = <roles = [<"load", warps = 4, registers = 40>, <"compute", warps = 8, registers = 232>], slots = 2, walk = <dynamic, order = [1, 2, 0], reversed = [0], section = 1, rows = 65536, length = [1, 1], per_block = 6>, operands = [<buffer = 0, left = registers>]>
rtile.func @causal(%Q: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %K: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %V: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %O: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>)
    grid(%tile: index, %head: index, %batch: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %height = arith.constant 128 : index
  %step = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %q = rtile.view %Q[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %k = rtile.view %K[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %v = rtile.view %V[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %o = rtile.view %O[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %row = arith.muli %tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<128x128xbf16>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k causal : !rtile.view<128x128xbf16>, !rtile.view<128x128xbf16>
  %sums = scf.for %n = %begin to %end step %step iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<128x128xbf16>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
    %p = arith.truncf %s : tensor<128x128xf32> to tensor<128x128xbf16>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<128x128xbf16>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  %out = arith.truncf %sums : tensor<128x128xf32> to tensor<128x128xbf16>
  rtile.store %out, %o[%row, %c0] : !rtile.view<128x128xbf16>
  rtile.return
}

// -----

// Keys and values of 16384 rows and 128 columns are 8 MiB: four heads of keys,
// each read by two query heads, share the cache.

// CHECK-LABEL: rtile.func @causal_length(
// CHECK-SAME:    recipe = "fa_fwd_lazy" schedule = <roles = [<"load", warps = 4, registers = 40>, <"compute", warps = 8, registers = 232>], slots = 2, walk = <dynamic, order = [1, 2, 0], reversed = [0], section = 8, per_block = 6>, operands = [<buffer = 0, left = registers>]>
rtile.func @causal_length(%Q: memref<1x16384x16x128xbf16, strided<[?, ?, ?, 1]>>, %K: memref<1x16384x8x128xbf16, strided<[?, ?, ?, 1]>>, %V: memref<1x16384x8x128xbf16, strided<[?, ?, ?, 1]>>, %O: memref<1x16384x16x128xbf16, strided<[?, ?, ?, 1]>>)
    grid(%tile: index, %head: index, %batch: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %height = arith.constant 128 : index
  %step = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %c2 = arith.constant 2 : index
  %key_head = arith.divui %head, %c2 : index
  %q = rtile.view %Q[%batch, *, %head, *] : memref<1x16384x16x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %k = rtile.view %K[%batch, *, %key_head, *] : memref<1x16384x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %v = rtile.view %V[%batch, *, %key_head, *] : memref<1x16384x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %o = rtile.view %O[%batch, *, %head, *] : memref<1x16384x16x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %row = arith.muli %tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<128x128xbf16>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k causal : !rtile.view<128x128xbf16>, !rtile.view<128x128xbf16>
  %sums = scf.for %n = %begin to %end step %step iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<128x128xbf16>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
    %p = arith.truncf %s : tensor<128x128xf32> to tensor<128x128xbf16>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<128x128xbf16>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  %out = arith.truncf %sums : tensor<128x128xf32> to tensor<128x128xbf16>
  rtile.store %out, %o[%row, %c0] : !rtile.view<128x128xbf16>
  rtile.return
}

// -----

// A window limits keys, too.

// CHECK-LABEL: rtile.func @window(
// CHECK-SAME:    recipe = "fa_fwd_lazy" schedule = <roles = [<"load", warps = 4, registers = 40>, <"compute", warps = 8, registers = 232>], slots = 2, walk = <dynamic, order = [1, 2, 0], reversed = [0], section = 1, rows = 65536, length = [1, 1], per_block = 6>, operands = [<buffer = 0, left = registers>]>
rtile.func @window(%Q: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %K: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %V: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %O: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>)
    grid(%tile: index, %head: index, %batch: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %height = arith.constant 128 : index
  %step = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %q = rtile.view %Q[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %k = rtile.view %K[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %v = rtile.view %V[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %o = rtile.view %O[%batch, *, %head, *] : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16>
  %row = arith.muli %tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<128x128xbf16>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k window = [512, 0] : !rtile.view<128x128xbf16>, !rtile.view<128x128xbf16>
  %sums = scf.for %n = %begin to %end step %step iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<128x128xbf16>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
    %p = arith.truncf %s : tensor<128x128xf32> to tensor<128x128xbf16>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<128x128xbf16>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  %out = arith.truncf %sums : tensor<128x128xf32> to tensor<128x128xbf16>
  rtile.store %out, %o[%row, %c0] : !rtile.view<128x128xbf16>
  rtile.return
}

// -----

// A head reads 2048 rows of a segment; 32 heads share the cache, and the last
// tiles of all of them come first.

// CHECK-LABEL: rtile.func @dilated(
// CHECK-SAME:    recipe = "fa_fwd_lazy" schedule = <roles = [<"load", warps = 4, registers = 40>, <"compute", warps = 8, registers = 232>], slots = 3, walk = <dynamic, order = [2, 3, 1, 0], reversed = [0], section = 32, per_block = 6>, operands = [<buffer = 0, left = registers>]>
rtile.func @dilated(%Q: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %K: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %V: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %O: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>)
    grid(%tile: index, %segment: index, %head: index, %batch: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %height = arith.constant 128 : index
  %step = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %q = rtile.view %Q[%batch, *, %head, *] segment(%segment) residue(%c0) : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16, w = 8192, rate = 4>
  %k = rtile.view %K[%batch, *, %head, *] segment(%segment) residue(%c0) : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16, w = 8192, rate = 4>
  %v = rtile.view %V[%batch, *, %head, *] segment(%segment) residue(%c0) : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16, w = 8192, rate = 4>
  %o = rtile.view %O[%batch, *, %head, *] segment(%segment) residue(%c0) : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16, w = 8192, rate = 4>
  %row = arith.muli %tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<128x128xbf16, w = 8192, rate = 4>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k causal : !rtile.view<128x128xbf16, w = 8192, rate = 4>, !rtile.view<128x128xbf16, w = 8192, rate = 4>
  %sums = scf.for %n = %begin to %end step %step iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<128x128xbf16, w = 8192, rate = 4>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
    %p = arith.truncf %s : tensor<128x128xf32> to tensor<128x128xbf16>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<128x128xbf16, w = 8192, rate = 4>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  %out = arith.truncf %sums : tensor<128x128xf32> to tensor<128x128xbf16>
  rtile.store %out, %o[%row, %c0] : !rtile.view<128x128xbf16, w = 8192, rate = 4>
  rtile.return
}

// -----

// A segment may end inside of a key tile, and the tiles of a window may begin
// anywhere in it: what a copy brings of another segment is masked.

// CHECK-LABEL: rtile.func @cut_segment(
// CHECK-SAME:    schedule = <roles = [<"load", warps = 4, registers = 40>, <"compute", warps = 8, registers = 232>]
rtile.func @cut_segment(%Q: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %K: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %V: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>, %O: memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>>)
    grid(%tile: index, %segment: index, %head: index, %batch: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %height = arith.constant 128 : index
  %step = arith.constant 128 : index
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %q = rtile.view %Q[%batch, *, %head, *] segment(%segment) residue(%c0) : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16, w = 8000, rate = 4>
  %k = rtile.view %K[%batch, *, %head, *] segment(%segment) residue(%c0) : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16, w = 8000, rate = 4>
  %v = rtile.view %V[%batch, *, %head, *] segment(%segment) residue(%c0) : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16, w = 8000, rate = 4>
  %o = rtile.view %O[%batch, *, %head, *] segment(%segment) residue(%c0) : memref<1x?x8x128xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<128x128xbf16, w = 8000, rate = 4>
  %row = arith.muli %tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<128x128xbf16, w = 8000, rate = 4>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k window = [512, 0] : !rtile.view<128x128xbf16, w = 8000, rate = 4>, !rtile.view<128x128xbf16, w = 8000, rate = 4>
  %sums = scf.for %n = %begin to %end step %step iter_args(%acc = %zero) -> (tensor<128x128xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<128x128xbf16, w = 8000, rate = 4>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
    %p = arith.truncf %s : tensor<128x128xf32> to tensor<128x128xbf16>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<128x128xbf16, w = 8000, rate = 4>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<128x128xbf16>, tensor<128x128xbf16> -> tensor<128x128xf32>
    scf.yield %next : tensor<128x128xf32>
  }
  %out = arith.truncf %sums : tensor<128x128xf32> to tensor<128x128xbf16>
  rtile.store %out, %o[%row, %c0] : !rtile.view<128x128xbf16, w = 8000, rate = 4>
  rtile.return
}

// -----

// The keys end where a list says that the sequence ends: tiles of other sequences
// see more or fewer of them, so blocks take points as they come. Tiles may be
// counted from any of them.

// CHECK-LABEL: rtile.func @lengths(
// CHECK-SAME:    walk = <dynamic, order = [1, 2, 0], reversed = [0], section = 1, rows = 131072, length = [1, 1], per_block = 6>
rtile.func @lengths(%Q: memref<?x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %K: memref<?x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %V: memref<?x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %O: memref<?x?x8x64xbf16, strided<[?, ?, ?, 1]>>, %lengths: memref<?xi64>)
    grid(%tile: index, %head: index, %batch: index) recipe = "fa_fwd_lazy" {
  %c0 = arith.constant 0 : index
  %height = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %entry = memref.load %lengths[%batch] : memref<?xi64>
  %length = arith.index_cast %entry : i64 to index
  %first_tile = memref.dim %O, %c0 : memref<?x?x8x64xbf16, strided<[?, ?, ?, 1]>>
  %q = rtile.view %Q[%batch, *, %head, *] : memref<?x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16>
  %k = rtile.view %K[%batch, *, %head, *] within(%c0, %length) : memref<?x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16>
  %v = rtile.view %V[%batch, *, %head, *] within(%c0, %length) : memref<?x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16>
  %o = rtile.view %O[%batch, *, %head, *] : memref<?x?x8x64xbf16, strided<[?, ?, ?, 1]>> to !rtile.view<64x64xbf16>
  %own_tile = arith.subi %tile, %first_tile : index
  %row = arith.muli %own_tile, %height : index
  %q_tile = rtile.load %q[%row, %c0] : !rtile.view<64x64xbf16>
  %begin, %wb, %we, %end = rtile.run %q[%row], %k : !rtile.view<64x64xbf16>, !rtile.view<64x64xbf16>
  %sums = scf.for %n = %begin to %end step %height iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
    %k_tile = rtile.load %k[%n, %c0] : !rtile.view<64x64xbf16>
    %s = rtile.dot %q_tile, %k_tile transposed : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    %p = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xbf16>
    %v_tile = rtile.load %v[%n, %c0] : !rtile.view<64x64xbf16>
    %next = rtile.dot %p, %v_tile init(%acc) : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %out = arith.truncf %sums : tensor<64x64xf32> to tensor<64x64xbf16>
  rtile.store %out, %o[%row, %c0] : !rtile.view<64x64xbf16>
  rtile.return
}
