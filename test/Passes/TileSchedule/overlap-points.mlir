//===- overlap-points.mlir - The next point beside this one ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rtile-overlap-points | FileCheck %s
// RUN: ringlet-opt %s --split-input-file --rtile-overlap-points --rtile-start-dots --rtile-encode-tiles --rtile-verify-schedule | FileCheck %s --check-prefix=STARTED
// RUN: ringlet-opt %s --split-input-file --rtile-overlap-points --remarks-filter='rtile-overlap.*' --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

!smem = tensor<64x64xbf16, #rtile.swizzled>
!left = tensor<64x64xbf16, #rtile.fragment<4>>
!view = !rtile.view<64x64xbf16>
!chan = !rtile.channel<64x64xbf16>
!slot = !rtile.slot<64x64xbf16>
!buffer = memref<?x64xbf16, strided<[?, 1]>>
!floats = memref<?x64xf32, strided<[?, 1]>>

// What stands in front of the loop is done for the first point, and for each
// other one at the end of the point before it: with the row that this point
// has, with both tiles awaited together, and beside row sums that do not need
// the last product.

// REMARK: [Passed] OverlapPoints {{.*}}"flash: the first scores of a point are computed beside the last product of the point before"

// CHECK-LABEL: rtile.func @flash(
// CHECK-SAME:    grid(%[[TILE:.+]]: index) scheduled walk = <strided> {
// CHECK:         %[[THIS_ROW:.+]] = arith.muli %[[TILE]],
// CHECK:         %[[QS:.+]] = rtile.channel slots = 1
// CHECK:         %[[KS:.+]] = rtile.channel slots = 2
// CHECK:         %[[VS:.+]] = rtile.channel slots = 2
// The role that copies asks for the first tiles of the next point before the
// last one of this point: in the order in which they are awaited.
// CHECK:         rtile.role "load"
// CHECK-NEXT:      rtile.first_point {
// CHECK-NEXT:        %[[Q_SLOT:.+]] = rtile.acquire %[[QS]]
// CHECK-NEXT:        rtile.copy %{{.+}}[%{{.+}}, %{{.+}}] to %[[Q_SLOT]]
// CHECK-NEXT:        %[[K_SLOT:.+]] = rtile.acquire %[[KS]]
// CHECK-NEXT:        rtile.copy %{{.+}} to %[[K_SLOT]]
// CHECK-NEXT:        rtile.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.for
// CHECK:           rtile.next_point (%[[NEXT:.+]]: index) {
// CHECK-NEXT:        %[[ROW:.+]] = arith.muli %[[NEXT]],
// CHECK-NEXT:        %[[Q_SLOT:.+]] = rtile.acquire %[[QS]]
// CHECK-NEXT:        rtile.copy %{{.+}}[%[[ROW]], %{{.+}}] to %[[Q_SLOT]]
// CHECK-NEXT:        %[[K_SLOT:.+]] = rtile.acquire %[[KS]]
// CHECK-NEXT:        rtile.copy %{{.+}} to %[[K_SLOT]]
// CHECK-NEXT:        %[[V_SLOT:.+]] = rtile.acquire %[[VS]]
// CHECK-NEXT:        rtile.copy %{{.+}}[%[[THIS_ROW]], %{{.+}}] to %[[V_SLOT]]
// CHECK-NEXT:        rtile.yield
// CHECK-NEXT:      } else {
// CHECK-NEXT:        %[[V_SLOT:.+]] = rtile.acquire %[[VS]]
// CHECK-NEXT:        rtile.copy %{{.+}} to %[[V_SLOT]]
// CHECK-NEXT:        rtile.yield
// CHECK-NEXT:      }
// CHECK:         rtile.role "compute"
// CHECK-NEXT:      %[[ZERO:.+]] = arith.constant
// CHECK-NEXT:      %[[BEGUN:.+]]:2 = rtile.first_point -> tensor<64x64xbf16, #rtile.fragment<4>>, tensor<64x64xbf16> {
// CHECK-NEXT:        %[[Q_SLOT:.+]] = rtile.await %[[QS]]
// CHECK-NEXT:        %[[Q:.+]] = rtile.read %[[Q_SLOT]]
// CHECK-NEXT:        rtile.release %[[Q_SLOT]]
// CHECK-NEXT:        %[[K_SLOT:.+]] = rtile.await %[[KS]]
// CHECK:             %[[P:.+]] = arith.truncf
// CHECK-NEXT:        rtile.yield %[[Q]], %[[P]]
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[STATE:.+]]:3 = scf.for {{.+}} iter_args(%{{.+}} = %[[ZERO]], %{{.+}} = %[[BEGUN]]#1,
// CHECK:             rtile.dot %[[BEGUN]]#0,
// CHECK:           %[[FINISHED:.+]]:2 = rtile.next_point (%[[NEXT:.+]]: index) -> (tensor<64x64xf32>, tensor<64xf32>) {
// CHECK-NEXT:        %[[ROW:.+]] = arith.muli %[[NEXT]],
// CHECK-NEXT:        %[[Q_SLOT:.+]] = rtile.await %[[QS]]
// CHECK-NEXT:        %[[Q:.+]] = rtile.read %[[Q_SLOT]]
// CHECK-NEXT:        rtile.release %[[Q_SLOT]]
// CHECK-NEXT:        %[[SLOTS:.+]]:2 = rtile.await %[[KS]], %[[VS]]
// CHECK-NEXT:        %[[K:.+]] = rtile.read %[[SLOTS]]#0
// CHECK-NEXT:        %[[S:.+]] = rtile.dot %[[Q]], %[[K]] transposed
// CHECK-NEXT:        %[[V:.+]] = rtile.read %[[SLOTS]]#1
// CHECK-NEXT:        %[[ACC:.+]] = rtile.dot %[[STATE]]#1, %[[V]] init(%[[STATE]]#0)
// CHECK-NEXT:        %[[SUM:.+]] = rtile.reduce sum %[[STATE]]#2
// CHECK-NEXT:        rtile.release %[[SLOTS]]#0
// CHECK-NEXT:        %[[SEEN:.+]] = rtile.visible %{{.+}}[%[[ROW]]],
// CHECK:             %[[P:.+]] = arith.truncf
// CHECK-NEXT:        rtile.release %[[SLOTS]]#1
// CHECK-NEXT:        rtile.yield %[[ACC]], %[[SUM]], %[[Q]], %[[P]]
// CHECK-NEXT:      } else {
// CHECK-NEXT:        %[[SLOT:.+]] = rtile.await %[[VS]]
// CHECK-NEXT:        %[[V:.+]] = rtile.read %[[SLOT]]
// CHECK-NEXT:        %[[ACC:.+]] = rtile.dot %[[STATE]]#1, %[[V]] init(%[[STATE]]#0)
// CHECK-NEXT:        rtile.release %[[SLOT]]
// CHECK-NEXT:        %[[SUM:.+]] = rtile.reduce sum %[[STATE]]#2
// CHECK-NEXT:        rtile.yield %[[ACC]], %[[SUM]]
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[WIDE:.+]] = rtile.broadcast %[[FINISHED]]#1
// CHECK-NEXT:      %[[OUT:.+]] = arith.divf %[[FINISHED]]#0, %[[WIDE]]
// CHECK-NEXT:      rtile.store %[[OUT]]

// Both products start together. The first scores of the next point are done
// beside the last product of this one; they are rounded when it has ended, since
// it reads such registers.

// STARTED-LABEL: rtile.func @flash(
// STARTED:         rtile.role "compute"
// STARTED:           rtile.next_point
// STARTED:           %[[SLOTS:.+]]:2 = rtile.await
// STARTED:           %[[S:.+]] = rtile.start_dot
// STARTED-NEXT:      rtile.read
// STARTED-NEXT:      %[[ACC:.+]] = rtile.start_dot
// STARTED-NEXT:      %[[SUM:.+]] = rtile.reduce sum
// STARTED-NEXT:      rtile.visible
// STARTED-NEXT:      %[[SCORES:.+]] = rtile.finish_dot %[[S]]
// STARTED-NEXT:      rtile.release %[[SLOTS]]#0
// STARTED-NEXT:      %[[MASKED:.+]] = arith.select %{{.+}}, %[[SCORES]]
// STARTED-NEXT:      %[[P:.+]] = math.exp2 %[[MASKED]]
// STARTED-NEXT:      rtile.finish_dot %[[ACC]] after(%[[SUM]]
// STARTED-NEXT:      rtile.release %[[SLOTS]]#1
// STARTED-NEXT:      arith.truncf %[[P]]
// STARTED-NEXT:      rtile.yield

rtile.func @flash(%Q: !buffer, %K: !buffer, %V: !buffer, %O: !floats, %steps: index)
    grid(%tile: index) scheduled walk = <strided> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %q = rtile.view %Q[*, *] : !buffer to !view
  %k = rtile.view %K[*, *] : !buffer to !view
  %v = rtile.view %V[*, *] : !buffer to !view
  %o = rtile.view %O[*, *] : !floats to !rtile.view<64x64xf32>
  %row = arith.muli %tile, %c64 : index
  %qs = rtile.channel slots = 1 : !chan
  %ks = rtile.channel slots = 2 : !chan
  %vs = rtile.channel slots = 2 : !chan
  rtile.role "load" warps = 4 {
    %q_slot = rtile.acquire %qs : !chan
    rtile.copy %q[%row, %c0] to %q_slot : !view, !slot
    %k_slot0 = rtile.acquire %ks : !chan
    rtile.copy %k[%c0, %c0] to %k_slot0 : !view, !slot
    scf.for %n = %c0 to %steps step %c1 {
      %k_slot = rtile.acquire %ks : !chan
      rtile.copy %k[%n, %c0] to %k_slot : !view, !slot
      %v_slot = rtile.acquire %vs : !chan
      rtile.copy %v[%n, %c0] to %v_slot : !view, !slot
    }
    %v_slot1 = rtile.acquire %vs : !chan
    rtile.copy %v[%row, %c0] to %v_slot1 : !view, !slot
  }
  rtile.role "compute" warps = 4 {
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %q_slot = rtile.await %qs : !chan
    %q_tile = rtile.read %q_slot : !slot -> !left
    rtile.release %q_slot : !slot
    %k_slot0 = rtile.await %ks : !chan
    %k_tile0 = rtile.read %k_slot0 : !slot -> !smem
    %s0 = rtile.dot %q_tile, %k_tile0 transposed : !left, !smem -> tensor<64x64xf32>
    rtile.release %k_slot0 : !slot
    %seen = rtile.visible %q[%row], %k[%c0] : !view, !view -> tensor<64x64xi1>
    %masked = arith.select %seen, %s0, %zero : tensor<64x64xi1>, tensor<64x64xf32>
    %w0 = math.exp2 %masked : tensor<64x64xf32>
    %p0 = arith.truncf %w0 : tensor<64x64xf32> to tensor<64x64xbf16>
    %acc, %p, %l = scf.for %n = %c0 to %steps step %c1
        iter_args(%acc_before = %zero, %p_before = %p0, %l_before = %zero)
        -> (tensor<64x64xf32>, tensor<64x64xbf16>, tensor<64x64xf32>) {
      %k_slot, %v_slot = rtile.await %ks, %vs : !chan, !chan
      %k_tile = rtile.read %k_slot : !slot -> !smem
      %s = rtile.dot %q_tile, %k_tile transposed : !left, !smem -> tensor<64x64xf32>
      rtile.release %k_slot : !slot
      %v_tile = rtile.read %v_slot : !slot -> !smem
      %a = rtile.dot %p_before, %v_tile init(%acc_before) : tensor<64x64xbf16>, !smem -> tensor<64x64xf32>
      rtile.release %v_slot : !slot
      %w = math.exp2 %s : tensor<64x64xf32>
      %p_next = arith.truncf %w : tensor<64x64xf32> to tensor<64x64xbf16>
      scf.yield %a, %p_next, %w : tensor<64x64xf32>, tensor<64x64xbf16>, tensor<64x64xf32>
    }
    %v_slot1 = rtile.await %vs : !chan
    %v_tile1 = rtile.read %v_slot1 : !slot -> !smem
    %last = rtile.dot %p, %v_tile1 init(%acc) : tensor<64x64xbf16>, !smem -> tensor<64x64xf32>
    rtile.release %v_slot1 : !slot
    %sum = rtile.reduce sum %l : tensor<64x64xf32>
    %wide = rtile.broadcast %sum : tensor<64xf32> -> tensor<64x64xf32>
    %out = arith.divf %last, %wide : tensor<64x64xf32>
    rtile.store %out, %o[%row, %c0] : tensor<64x64xf32>, !rtile.view<64x64xf32>
  }
  rtile.return
}

// -----

// Points that are handed out one by one: their order is not known.

// REMARK: [Missed] OverlapPoints {{.*}}"dynamic: points do not overlap: expected points whose order is known, a strided walk, found dynamic"

// CHECK-LABEL: rtile.func @dynamic(
// CHECK-NOT:     rtile.first_point
// CHECK:         rtile.return
// STARTED-LABEL: rtile.func @dynamic(

!tile = tensor<64x64xbf16, #rtile.swizzled>
!view = !rtile.view<64x64xbf16>
!chan = !rtile.channel<64x64xbf16>
!slot = !rtile.slot<64x64xbf16>
!buffer = memref<?x64xbf16, strided<[?, 1]>>
!floats = memref<?x64xf32, strided<[?, 1]>>
rtile.func @dynamic(%X: !buffer, %Y: !floats) grid(%i: index) scheduled walk = <dynamic> {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] : !buffer to !view
  %y = rtile.view %Y[*, *] : !floats to !rtile.view<64x64xf32>
  %xs = rtile.channel slots = 1 : !chan
  rtile.role "load" warps = 4 {
    %slot = rtile.acquire %xs : !chan
    rtile.copy %x[%c0, %c0] to %slot : !view, !slot
  }
  rtile.role "compute" warps = 4 {
    %slot = rtile.await %xs : !chan
    %tile = rtile.read %slot : !slot -> !tile
    %gram = rtile.dot %tile, %tile transposed : !tile, !tile -> tensor<64x64xf32>
    rtile.release %slot : !slot
    rtile.store %gram, %y[%c0, %c0] : tensor<64x64xf32>, !rtile.view<64x64xf32>
  }
  rtile.return
}

// -----

// One product and no loop: there is nothing before and behind it.

// REMARK: [Missed] OverlapPoints {{.*}}"one_product: points do not overlap: expected products in a loop, found none"

// CHECK-LABEL: rtile.func @one_product(
// CHECK-NOT:     rtile.first_point
// CHECK:         rtile.return
// STARTED-LABEL: rtile.func @one_product(

!tile = tensor<64x64xbf16, #rtile.swizzled>
!view = !rtile.view<64x64xbf16>
!chan = !rtile.channel<64x64xbf16>
!slot = !rtile.slot<64x64xbf16>
!buffer = memref<?x64xbf16, strided<[?, 1]>>
!floats = memref<?x64xf32, strided<[?, 1]>>
rtile.func @one_product(%X: !buffer, %Y: !floats) grid(%i: index) scheduled walk = <strided> {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] : !buffer to !view
  %y = rtile.view %Y[*, *] : !floats to !rtile.view<64x64xf32>
  %xs = rtile.channel slots = 1 : !chan
  rtile.role "load" warps = 4 {
    %slot = rtile.acquire %xs : !chan
    rtile.copy %x[%c0, %c0] to %slot : !view, !slot
  }
  rtile.role "compute" warps = 4 {
    %slot = rtile.await %xs : !chan
    %tile = rtile.read %slot : !slot -> !tile
    %gram = rtile.dot %tile, %tile transposed : !tile, !tile -> tensor<64x64xf32>
    rtile.release %slot : !slot
    rtile.store %gram, %y[%c0, %c0] : tensor<64x64xf32>, !rtile.view<64x64xf32>
  }
  rtile.return
}

// -----

// Nothing but a loop.

// REMARK: [Missed] OverlapPoints {{.*}}"loop_alone: points do not overlap: expected one product before the loops and one after them, found 0 and 0"

// CHECK-LABEL: rtile.func @loop_alone(
// CHECK-NOT:     rtile.first_point
// CHECK:         rtile.return
// STARTED-LABEL: rtile.func @loop_alone(

!tile = tensor<64x64xbf16, #rtile.swizzled>
!view = !rtile.view<64x64xbf16>
!chan = !rtile.channel<64x64xbf16>
!slot = !rtile.slot<64x64xbf16>
!buffer = memref<?x64xbf16, strided<[?, 1]>>
!floats = memref<?x64xf32, strided<[?, 1]>>
rtile.func @loop_alone(%X: !buffer, %Y: !floats, %n: index) grid(%i: index) scheduled walk = <strided> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !buffer to !view
  %y = rtile.view %Y[*, *] : !floats to !rtile.view<64x64xf32>
  %xs = rtile.channel slots = 2 : !chan
  rtile.role "load" warps = 4 {
    scf.for %k = %c0 to %n step %c1 {
      %slot = rtile.acquire %xs : !chan
      rtile.copy %x[%c0, %c0] to %slot : !view, !slot
    }
  }
  rtile.role "compute" warps = 4 {
    scf.for %k = %c0 to %n step %c1 {
      %slot = rtile.await %xs : !chan
      %tile = rtile.read %slot : !slot -> !tile
      %gram = rtile.dot %tile, %tile transposed : !tile, !tile -> tensor<64x64xf32>
      rtile.release %slot : !slot
      rtile.store %gram, %y[%c0, %c0] : tensor<64x64xf32>, !rtile.view<64x64xf32>
    }
  }
  rtile.return
}

// -----

// The first tile is both operands, so it would be awaited for another use, too.

// REMARK: [Missed] OverlapPoints {{.*}}"two_uses: points do not overlap: expected the first and the last product to read tiles of their own"

// CHECK-LABEL: rtile.func @two_uses(
// CHECK-NOT:     rtile.first_point
// CHECK:         rtile.return
// STARTED-LABEL: rtile.func @two_uses(

!tile = tensor<64x64xbf16, #rtile.swizzled>
!view = !rtile.view<64x64xbf16>
!chan = !rtile.channel<64x64xbf16>
!slot = !rtile.slot<64x64xbf16>
!buffer = memref<?x64xbf16, strided<[?, 1]>>
!floats = memref<?x64xf32, strided<[?, 1]>>
rtile.func @two_uses(%X: !buffer, %Y: !floats, %n: index) grid(%i: index) scheduled walk = <strided> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !buffer to !view
  %y = rtile.view %Y[*, *] : !floats to !rtile.view<64x64xf32>
  %xs = rtile.channel slots = 2 : !chan
  rtile.role "load" warps = 4 {
    %slot0 = rtile.acquire %xs : !chan
    rtile.copy %x[%c0, %c0] to %slot0 : !view, !slot
    scf.for %k = %c0 to %n step %c1 {
      %slot = rtile.acquire %xs : !chan
      rtile.copy %x[%c0, %c0] to %slot : !view, !slot
    }
    %slot1 = rtile.acquire %xs : !chan
    rtile.copy %x[%c0, %c0] to %slot1 : !view, !slot
  }
  rtile.role "compute" warps = 4 {
    %slot0 = rtile.await %xs : !chan
    %tile0 = rtile.read %slot0 : !slot -> !tile
    %gram0 = rtile.dot %tile0, %tile0 transposed : !tile, !tile -> tensor<64x64xf32>
    rtile.release %slot0 : !slot
    rtile.store %gram0, %y[%c0, %c0] : tensor<64x64xf32>, !rtile.view<64x64xf32>
    scf.for %k = %c0 to %n step %c1 {
      %slot = rtile.await %xs : !chan
      %tile = rtile.read %slot : !slot -> !tile
      %gram = rtile.dot %tile, %tile transposed : !tile, !tile -> tensor<64x64xf32>
      rtile.release %slot : !slot
      rtile.store %gram, %y[%c0, %c0] : tensor<64x64xf32>, !rtile.view<64x64xf32>
    }
    %slot1 = rtile.await %xs : !chan
    %tile1 = rtile.read %slot1 : !slot -> !tile
    %gram1 = rtile.dot %tile1, %tile1 transposed : !tile, !tile -> tensor<64x64xf32>
    rtile.release %slot1 : !slot
    rtile.store %gram1, %y[%c0, %c0] : tensor<64x64xf32>, !rtile.view<64x64xf32>
  }
  rtile.return
}
