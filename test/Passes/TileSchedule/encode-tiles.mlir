//===- encode-tiles.mlir - Where the tiles of roles are ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rtile-encode-tiles | FileCheck %s
// RUN: ringlet-opt %s --split-input-file --rtile-encode-tiles --remarks-filter='rtile-.*' --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Right operands of products stay in their slots, other tiles that are read are
// loaded to registers, where everything else lies, too: what loops carry,
// constants (a splat or not), products under way and masks. A tile with an
// encoding keeps it.

// REMARK: [Passed] EncodeTiles {{.*}}"example: 14 tiles of role compute lie in registers of 4 warps"
// REMARK-NOT: role load

// CHECK-LABEL: rtile.func @example(
// CHECK:         rtile.role "compute"
// CHECK-DAG:       %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #rtile.fragment<4>>
// CHECK-DAG:       %[[SIGNS:.+]] = arith.constant dense<{{.+1.+}}> : tensor<2x2xf32, #rtile.fragment<4>>
// CHECK-DAG:       %[[NONE:.+]] = arith.constant dense<0.000000e+00> : tensor<64xf32, #rtile.fragment<4>>
// CHECK:           %[[Q:.+]] = rtile.read %{{.+}} -> tensor<64x64xbf16, #rtile.swizzled>
// CHECK:           scf.for {{.+}} iter_args(%[[L:.+]] = %[[NONE]], %[[ACC:.+]] = %[[ZERO]]) -> (tensor<64xf32, #rtile.fragment<4>>, tensor<64x64xf32, #rtile.fragment<4>>) {
// CHECK:             %[[LEFT:.+]] = rtile.read %{{.+}} -> tensor<64x64xbf16, #rtile.fragment<4>>
// CHECK:             %[[RIGHT:.+]] = rtile.read %{{.+}} -> tensor<64x64xbf16, #rtile.swizzled>
// CHECK:             %[[STARTED:.+]]:2 = rtile.in_turn -> !rtile.pending<tensor<64x64xf32, #rtile.fragment<4>>>, !rtile.pending<tensor<64x64xf32, #rtile.fragment<4>>>
// CHECK:               rtile.start_dot %[[Q]], %[[RIGHT]] transposed : {{.+}} -> tensor<64x64xf32, #rtile.fragment<4>>
// CHECK:               rtile.start_dot %[[LEFT]], %[[RIGHT]] init(%[[ACC]]) : {{.+}} -> tensor<64x64xf32, #rtile.fragment<4>>
// CHECK:             %[[S:.+]] = rtile.finish_dot %[[STARTED]]#0 : tensor<64x64xf32, #rtile.fragment<4>>
// CHECK:             %[[SEEN:.+]] = rtile.visible {{.+}} -> tensor<64x64xi1, #rtile.fragment<4>>
// CHECK:             arith.select %[[SEEN]], %[[S]], %[[ZERO]] : tensor<64x64xi1, #rtile.fragment<4>>, tensor<64x64xf32, #rtile.fragment<4>>
// CHECK:           rtile.store %{{.+}} : tensor<64x64xf32, #rtile.fragment<4>>, !rtile.view<64x64xf32>
// CHECK:           rtile.store %[[SIGNS]], %{{.+}} : tensor<2x2xf32, #rtile.fragment<4>>, !rtile.view<2x2xf32>

!buffer = memref<?x64xbf16, strided<[?, 1]>>
!floats = memref<?x64xf32, strided<[?, 1]>>
!view = !rtile.view<64x64xbf16>
!tile = tensor<64x64xbf16>
!wide = tensor<64x64xf32>
!row = tensor<64xf32>
!chan = !rtile.channel<64x64xbf16>
!slot = !rtile.slot<64x64xbf16>
!pending = !rtile.pending<!wide>
rtile.func @example(%Q: !buffer, %K: !buffer, %O: !floats, %S: memref<?x2xf32, strided<[?, 1]>>,
                    %L: memref<?xf32, strided<[1]>>, %steps: index)
    grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q = rtile.view %Q[*, *] : !buffer to !view
  %k = rtile.view %K[*, *] : !buffer to !view
  %o = rtile.view %O[*, *] : !floats to !rtile.view<64x64xf32>
  %s = rtile.view %S[*, *] : memref<?x2xf32, strided<[?, 1]>> to !rtile.view<2x2xf32>
  %lse = rtile.view %L[*] : memref<?xf32, strided<[1]>> to !rtile.view<64xf32>
  %qs = rtile.channel slots = 1 : !chan
  %ks = rtile.channel slots = 2 : !chan
  %xs = rtile.channel slots = 2 : !chan
  rtile.role "load" warps = 4 registers = 40 {
    %q_slot = rtile.acquire %qs : !chan
    rtile.copy %q[%c0, %c0] to %q_slot : !view, !slot
    scf.for %n = %c0 to %steps step %c1 {
      %k_slot = rtile.acquire %ks : !chan
      rtile.copy %k[%c0, %c0] to %k_slot : !view, !slot
      %x_slot = rtile.acquire %xs : !chan
      rtile.copy %k[%c0, %c0] to %x_slot : !view, !slot
    }
  }
  rtile.role "compute" warps = 4 registers = 240 {
    %zero = arith.constant dense<0.0> : !wide
    %signs = arith.constant dense<[[1.0, -1.0], [-1.0, 1.0]]> : tensor<2x2xf32>
    %none = arith.constant dense<0.0> : !row
    %q_slot = rtile.await %qs : !chan
    %q_tile = rtile.read %q_slot : !slot -> tensor<64x64xbf16, #rtile.swizzled>
    %state:2 = scf.for %n = %c0 to %steps step %c1 iter_args(%l = %none, %acc = %zero) -> (!row, !wide) {
      %k_slot, %x_slot = rtile.await %ks, %xs : !chan, !chan
      %left = rtile.read %x_slot : !slot -> !tile
      rtile.release %x_slot : !slot
      %right = rtile.read %k_slot : !slot -> !tile
      %started:2 = rtile.in_turn -> !pending, !pending {
        %scores = rtile.start_dot %q_tile, %right transposed : tensor<64x64xbf16, #rtile.swizzled>, !tile -> !wide
        %sums = rtile.start_dot %left, %right init(%acc) : !tile, !tile -> !wide
        rtile.yield %scores, %sums : !pending, !pending
      }
      %s0 = rtile.finish_dot %started#0 : !wide
      %seen = rtile.visible %q[%c0], %k[%n] : !view, !view -> tensor<64x64xi1>
      %masked = arith.select %seen, %s0, %zero : tensor<64x64xi1>, !wide
      %sum = rtile.reduce sum %masked : !wide
      %l_new = arith.addf %l, %sum : !row
      %acc_new = rtile.finish_dot %started#1 after(%l_new : !row) : !wide
      rtile.release %k_slot : !slot
      scf.yield %l_new, %acc_new : !row, !wide
    }
    rtile.release %q_slot : !slot
    rtile.store %state#1, %o[%c0, %c0] : !rtile.view<64x64xf32>
    rtile.store %signs, %s[%c0, %c0] : !rtile.view<2x2xf32>
    rtile.store %state#0, %lse[%c0] : !rtile.view<64xf32>
  }
  rtile.return
}

// -----

// Values of columns are what is repeated along columns, and what it is made of, in
// loops, too. A constant that rows have as well becomes two.

// CHECK-LABEL: rtile.func @columns(
// CHECK-DAG:       %[[ROWONES:.+]] = arith.constant dense<1.000000e+00> : tensor<64xf32, #rtile.fragment<4>>
// CHECK-DAG:       %[[ONES:.+]] = arith.constant dense<1.000000e+00> : tensor<64xf32, #rtile.fragment<4, along = columns>>
// CHECK:           scf.for {{.+}} iter_args(%[[ACC:.+]] = %[[ONES]]) -> (tensor<64xf32, #rtile.fragment<4, along = columns>>)
// CHECK:             %[[BIAS:.+]] = rtile.load {{.+}} -> tensor<64xf32, #rtile.fragment<4, along = columns>>
// CHECK:             arith.addf %[[ACC]], %[[BIAS]] : tensor<64xf32, #rtile.fragment<4, along = columns>>
// CHECK:           rtile.broadcast {{.+}} columns : tensor<64xf32, #rtile.fragment<4, along = columns>> -> tensor<64x64xf32, #rtile.fragment<4>>
// CHECK:           %[[ROWS:.+]] = rtile.load {{.+}} -> tensor<64xf32, #rtile.fragment<4>>
// CHECK:           %[[SUM:.+]] = arith.addf %[[ROWS]], %[[ROWONES]] : tensor<64xf32, #rtile.fragment<4>>
// CHECK:           rtile.broadcast %[[SUM]] : tensor<64xf32, #rtile.fragment<4>> -> tensor<64x64xf32, #rtile.fragment<4>>
rtile.func @columns(%L: memref<?xf32, strided<[1]>>, %O: memref<?x64xf32, strided<[?, 1]>>, %n: index)
    grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %l = rtile.view %L[*] : memref<?xf32, strided<[1]>> to !rtile.view<64xf32>
  %o = rtile.view %O[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<64x64xf32>
  rtile.role "compute" warps = 4 {
    %ones = arith.constant dense<1.0> : tensor<64xf32>
    %columns = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %ones) -> (tensor<64xf32>) {
      %bias = rtile.load %l[%k] : !rtile.view<64xf32>
      %next = arith.addf %acc, %bias : tensor<64xf32>
      scf.yield %next : tensor<64xf32>
    }
    %wide = rtile.broadcast %columns columns : tensor<64xf32> -> tensor<64x64xf32>
    %rows = rtile.load %l[%c0] : !rtile.view<64xf32>
    %more = arith.addf %rows, %ones : tensor<64xf32>
    %high = rtile.broadcast %more : tensor<64xf32> -> tensor<64x64xf32>
    %sum = arith.addf %wide, %high : tensor<64x64xf32>
    rtile.store %sum, %o[%c0, %c0] : !rtile.view<64x64xf32>
  }
  rtile.return
}
