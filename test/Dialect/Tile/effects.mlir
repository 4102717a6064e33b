//===- effects.mlir - Upstream passes keep what roles do, and its order ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --cse --canonicalize --loop-invariant-code-motion \
// RUN:   --cse --canonicalize | FileCheck %s

// Nothing here has an operand of its loop, and each operation stands there
// twice: still all of them stay where they are, in this order.

!view = !rtile.view<64x64xbf16>
!chan = !rtile.channel<64x64xbf16>
!slot = !rtile.slot<64x64xbf16>
!smem = tensor<64x64xbf16, #rtile.swizzled>
!acc = tensor<64x64xf32, #rtile.fragment<4>>

// CHECK-LABEL: rtile.func @roles(
// CHECK:         %[[C:.+]] = rtile.channel slots = 2
// CHECK-NEXT:    %[[D:.+]] = rtile.channel slots = 2
// CHECK-NEXT:    rtile.role "load" warps = 4 registers = 40 {
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        %[[S0:.+]] = rtile.acquire %[[C]]
// CHECK-NEXT:        rtile.copy %{{.+}} to %[[S0]]
// CHECK-NEXT:        rtile.copy %{{.+}} to %[[S0]]
// CHECK-NEXT:        %[[S1:.+]] = rtile.acquire %[[C]]
// CHECK-NEXT:        rtile.copy %{{.+}} to %[[S1]]
// CHECK-NEXT:        rtile.acquire %[[D]]
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    rtile.role "compute" warps = 4 registers = 232 {

// A constant of a role is in the role.
// CHECK-NEXT:      %[[ZERO:.+]] = arith.constant dense<0.000000e+00> : tensor<64x64xf32, #rtile.fragment<4>>
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        %[[A:.+]]:2 = rtile.await %[[C]], %[[D]]
// CHECK-NEXT:        %[[B:.+]] = rtile.await %[[C]]

// What is read once is enough, as long as nothing happens in between.
// CHECK-NEXT:        %[[T:.+]] = rtile.read %[[A]]#0
// CHECK-NEXT:        rtile.start_dot %[[T]], %[[T]] transposed init(%[[ZERO]])
// CHECK-NEXT:        %[[P:.+]] = rtile.start_dot %[[T]], %[[T]] transposed init(%[[ZERO]])
// CHECK-NEXT:        rtile.finish_dot %[[P]]
// CHECK-NEXT:        rtile.finish_dot %[[P]]
// CHECK-NEXT:        rtile.in_turn {
// CHECK-NEXT:          rtile.yield
// CHECK-NEXT:        }
// CHECK-NEXT:        rtile.release %[[A]]#0
// CHECK-NEXT:        rtile.release %[[A]]#1
// CHECK-NEXT:        %[[U:.+]] = rtile.read %[[B]]
// CHECK-NEXT:        %[[R:.+]] = rtile.start_dot %[[U]], %[[U]]
// CHECK-NEXT:        rtile.finish_dot %[[R]]
// CHECK-NEXT:        rtile.release %[[B]]
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    rtile.return
rtile.func @roles(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = rtile.view %x[*, *] : memref<?x64xbf16> to !view
  %c = rtile.channel slots = 2 : !chan
  %d = rtile.channel slots = 2 : !chan
  rtile.role "load" warps = 4 registers = 40 {
    scf.for %n = %c0 to %i step %c1 {
      %s0 = rtile.acquire %c : !chan
      rtile.copy %v[%c0, %c0] to %s0 : !view, !slot
      rtile.copy %v[%c0, %c0] to %s0 : !view, !slot
      %s1 = rtile.acquire %c : !chan
      rtile.copy %v[%c0, %c0] to %s1 : !view, !slot
      %s2 = rtile.acquire %d : !chan
    }
  }
  rtile.role "compute" warps = 4 registers = 232 {
    scf.for %n = %c0 to %i step %c1 {
      %zero = arith.constant dense<0.0> : !acc
      %s0, %s2 = rtile.await %c, %d : !chan, !chan
      %s1 = rtile.await %c : !chan
      %t = rtile.read %s0 : !slot -> !smem
      %t2 = rtile.read %s0 : !slot -> !smem
      %p0 = rtile.start_dot %t, %t2 transposed init(%zero) : !smem, !smem -> !acc
      %p1 = rtile.start_dot %t, %t2 transposed init(%zero) : !smem, !smem -> !acc
      %f0 = rtile.finish_dot %p1 : !acc
      %f1 = rtile.finish_dot %p1 : !acc
      rtile.in_turn {
        rtile.yield
      }
      rtile.release %s0 : !slot
      rtile.release %s2 : !slot
      %u = rtile.read %s1 : !slot -> !smem
      %p2 = rtile.start_dot %u, %u : !smem, !smem -> !acc
      %f2 = rtile.finish_dot %p2 : !acc
      rtile.release %s1 : !slot
    }
  }
  rtile.return
}
