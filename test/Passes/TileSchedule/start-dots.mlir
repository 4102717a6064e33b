//===- start-dots.mlir - Products beside other work ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rtile-start-dots | FileCheck %s
// RUN: ringlet-opt %s --split-input-file --rtile-start-dots=turns=true | FileCheck %s --check-prefix=TURNS
// RUN: ringlet-opt %s --split-input-file --rtile-start-dots --remarks-filter='rtile-.*' --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

!smem = tensor<64x64xbf16, #rtile.swizzled>
!view = !rtile.view<64x64xbf16>
!chan = !rtile.channel<64x64xbf16>
!slot = !rtile.slot<64x64xbf16>
!buffer = memref<?x64xbf16, strided<[?, 1]>>

// A step starts both products at once. The one into sums runs beside the first
// half of the new weights, the second half is computed after it, and weights
// are rounded when no product runs. Slots are given back right after the
// products that read them, the query's after the last loop.

// REMARK: remark: [Passed] StartDots {{.*}}"late_values: 2 of 4 products run beside work that does not need them"

// CHECK-LABEL: rtile.func @late_values(
// CHECK:         rtile.role "compute"
// CHECK:           %[[Q_SLOT:.+]] = rtile.await
// CHECK:           %[[Q:.+]] = rtile.read %[[Q_SLOT]]
// CHECK:           %[[K0_SLOT:.+]] = rtile.await
// CHECK:           %[[K0:.+]] = rtile.read %[[K0_SLOT]]
// CHECK:           %[[S0_STARTED:.+]] = rtile.start_dot %[[Q]], %[[K0]] transposed
// CHECK-NEXT:      %[[S0:.+]] = rtile.finish_dot %[[S0_STARTED]]
// CHECK-NEXT:      rtile.release %[[K0_SLOT]]
// CHECK-NEXT:      %[[P0:.+]] = math.exp2 %[[S0]]
// CHECK:           scf.for %{{.+}} = %{{.+}} iter_args(%[[L:.+]] = %{{.+}}, %[[ACC:.+]] = %{{.+}}, %[[P_BEFORE:.+]] = %{{.+}}) ->
// CHECK:             %[[SLOTS:.+]]:2 = rtile.await
// CHECK-NEXT:        %[[K:.+]] = rtile.read %[[SLOTS]]#0
// CHECK-NEXT:        %[[S_STARTED:.+]] = rtile.start_dot %[[Q]], %[[K]] transposed
// CHECK-NEXT:        %[[V:.+]] = rtile.read %[[SLOTS]]#1
// CHECK-NEXT:        %[[ACC_STARTED:.+]] = rtile.start_dot %[[P_BEFORE]], %[[V]] init(%[[ACC]])
// CHECK-NEXT:        %[[S:.+]] = rtile.finish_dot %[[S_STARTED]] :
// CHECK-NEXT:        rtile.release %[[SLOTS]]#0
// CHECK-NEXT:        %[[LEFT:.+]] = rtile.slice %[[S]][0]
// CHECK-NEXT:        %[[P_LEFT:.+]] = math.exp2 %[[LEFT]]
// CHECK-NEXT:        %[[LEFT_SUM:.+]] = rtile.fold %[[P_LEFT]]
// CHECK-NEXT:        %[[L_LEFT:.+]] = arith.addf %[[L]], %[[LEFT_SUM]]
// CHECK-NEXT:        %[[ACC_NEW:.+]] = rtile.finish_dot %[[ACC_STARTED]] after(%[[L_LEFT]] : tensor<64x8xf32>)
// CHECK-NEXT:        rtile.release %[[SLOTS]]#1
// CHECK-NEXT:        %[[RIGHT:.+]] = rtile.slice %[[S]][32]
// CHECK-NEXT:        %[[P_RIGHT:.+]] = math.exp2 %[[RIGHT]]
// CHECK:             %[[P:.+]] = rtile.join %[[P_LEFT]], %[[P_RIGHT]]
// CHECK-NEXT:        %[[ROUNDED:.+]] = arith.truncf %[[P]]
// CHECK:             scf.yield %{{.+}}, %[[ACC_NEW]], %[[ROUNDED]]
// CHECK:           }
// CHECK-NEXT:      rtile.release %[[Q_SLOT]]
// The last product runs beside what becomes of the sums. To repeat them along
// columns is no work, and stores come when their time comes.
// CHECK-NEXT:      %[[V1_SLOT:.+]] = rtile.await
// CHECK-NEXT:      %[[V1:.+]] = rtile.read %[[V1_SLOT]]
// CHECK-NEXT:      %[[LAST:.+]] = rtile.start_dot %{{.+}}, %[[V1]] init
// CHECK-NEXT:      %[[SUM:.+]] = rtile.reduce sum
// CHECK-NEXT:      %[[DIVISOR:.+]] = arith.maximumf %[[SUM]]
// CHECK-NEXT:      %[[LOG:.+]] = math.log %[[SUM]]
// CHECK-NEXT:      %[[ACC1:.+]] = rtile.finish_dot %[[LAST]] after(%[[DIVISOR]], %[[LOG]] : tensor<64xf32>, tensor<64xf32>)
// CHECK-NEXT:      rtile.release %[[V1_SLOT]]
// CHECK-NEXT:      rtile.broadcast %[[DIVISOR]]
// CHECK-NEXT:      arith.divf %[[ACC1]]

// One group has nobody to take turns with.
// TURNS-LABEL: rtile.func @late_values(
// TURNS-NOT:     rtile.in_turn
// TURNS:         rtile.return
rtile.func @late_values(%Q: !buffer, %K: !buffer, %V: !buffer,
                        %O: memref<?x64xf32, strided<[?, 1]>>,
                        %L: memref<?xf32, strided<[1]>>, %steps: index)
    grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %o = rtile.view %O[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<64x64xf32>
  %lse = rtile.view %L[*] : memref<?xf32, strided<[1]>> to !rtile.view<64xf32>
  %q = rtile.view %Q[*, *] : !buffer to !view
  %k = rtile.view %K[*, *] : !buffer to !view
  %v = rtile.view %V[*, *] : !buffer to !view
  %qs = rtile.channel slots = 1 : !chan
  %ks = rtile.channel slots = 2 : !chan
  %vs = rtile.channel slots = 2 : !chan
  rtile.role "load" warps = 4 registers = 40 {
    %q_slot = rtile.acquire %qs : !chan
    rtile.copy %q[%c0, %c0] to %q_slot : !view, !slot
    %k_slot0 = rtile.acquire %ks : !chan
    rtile.copy %k[%c0, %c0] to %k_slot0 : !view, !slot
    scf.for %n = %c0 to %steps step %c1 {
      %k_slot = rtile.acquire %ks : !chan
      rtile.copy %k[%c0, %c0] to %k_slot : !view, !slot
      %v_slot = rtile.acquire %vs : !chan
      rtile.copy %v[%c0, %c0] to %v_slot : !view, !slot
    }
    %v_slot1 = rtile.acquire %vs : !chan
    rtile.copy %v[%c0, %c0] to %v_slot1 : !view, !slot
  }
  rtile.role "compute" warps = 4 registers = 232 {
    %tiny = arith.constant dense<1.17549435E-38> : tensor<64xf32>
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %q_slot = rtile.await %qs : !chan
    %q_tile = rtile.read %q_slot : !slot -> !smem
    %k_slot0 = rtile.await %ks : !chan
    %k_tile0 = rtile.read %k_slot0 : !slot -> !smem
    %s0 = rtile.dot %q_tile, %k_tile0 transposed : !smem, !smem -> tensor<64x64xf32>
    rtile.release %k_slot0 : !slot
    %p0 = math.exp2 %s0 : tensor<64x64xf32>
    %l0 = rtile.fold %p0 : tensor<64x64xf32> -> tensor<64x8xf32>
    %rounded0 = arith.truncf %p0 : tensor<64x64xf32> to tensor<64x64xbf16>
    %state:3 = scf.for %n = %c0 to %steps step %c1
        iter_args(%l = %l0, %acc = %zero, %p = %rounded0)
        -> (tensor<64x8xf32>, tensor<64x64xf32>, tensor<64x64xbf16>) {
      %k_slot, %v_slot = rtile.await %ks, %vs : !chan, !chan
      %k_tile = rtile.read %k_slot : !slot -> !smem
      %s = rtile.dot %q_tile, %k_tile transposed : !smem, !smem -> tensor<64x64xf32>
      rtile.release %k_slot : !slot
      %left = rtile.slice %s[0] : tensor<64x64xf32> -> tensor<64x32xf32>
      %right = rtile.slice %s[32] : tensor<64x64xf32> -> tensor<64x32xf32>
      %p_left = math.exp2 %left : tensor<64x32xf32>
      %p_right = math.exp2 %right : tensor<64x32xf32>
      %both = rtile.join %p_left, %p_right : tensor<64x32xf32>, tensor<64x32xf32> -> tensor<64x64xf32>
      %rounded = arith.truncf %both : tensor<64x64xf32> to tensor<64x64xbf16>
      %left_sum = rtile.fold %p_left : tensor<64x32xf32> -> tensor<64x8xf32>
      %right_sum = rtile.fold %p_right : tensor<64x32xf32> -> tensor<64x8xf32>
      %l_left = arith.addf %l, %left_sum : tensor<64x8xf32>
      %l_new = arith.addf %l_left, %right_sum : tensor<64x8xf32>
      %v_tile = rtile.read %v_slot : !slot -> !smem
      %acc_new = rtile.dot %p, %v_tile init(%acc) : tensor<64x64xbf16>, !smem -> tensor<64x64xf32>
      rtile.release %v_slot : !slot
      scf.yield %l_new, %acc_new, %rounded : tensor<64x8xf32>, tensor<64x64xf32>, tensor<64x64xbf16>
    }
    rtile.release %q_slot : !slot
    %v_slot1 = rtile.await %vs : !chan
    %v_tile1 = rtile.read %v_slot1 : !slot -> !smem
    %acc1 = rtile.dot %state#2, %v_tile1 init(%state#1) : tensor<64x64xbf16>, !smem -> tensor<64x64xf32>
    rtile.release %v_slot1 : !slot
    %sum = rtile.reduce sum %state#0 : tensor<64x8xf32>
    %divisor = arith.maximumf %sum, %tiny : tensor<64xf32>
    %divisor_wide = rtile.broadcast %divisor : tensor<64xf32> -> tensor<64x64xf32>
    %out = arith.divf %acc1, %divisor_wide : tensor<64x64xf32>
    rtile.store %out, %o[%c0, %c0] : !rtile.view<64x64xf32>
    %log = math.log %sum : tensor<64xf32>
    rtile.store %log, %lse[%c0] : !rtile.view<64xf32>
  }
  rtile.return
}

// -----

// Weights that are multiplied in their own step: each product waits for the
// other one, and the sums for the end of the step.

!smem = tensor<128x64xbf16, #rtile.swizzled>
!frag = tensor<128x64xbf16, #rtile.fragment<8>>
!view = !rtile.view<128x64xbf16>
!chan = !rtile.channel<128x64xbf16>
!slot = !rtile.slot<128x64xbf16>
!buffer = memref<?x64xbf16, strided<[?, 1]>>

// CHECK-LABEL: rtile.func @same_step(
// CHECK:         rtile.role "compute"
// The query tile is in registers: its slot is given back at once.
// CHECK:           %[[Q_SLOT:.+]] = rtile.await
// CHECK-NEXT:      rtile.read %[[Q_SLOT]]
// CHECK-NEXT:      rtile.release %[[Q_SLOT]]
// CHECK:           scf.for
// CHECK:             %[[K_SLOT:.+]] = rtile.await
// CHECK-NEXT:        rtile.read %[[K_SLOT]]
// CHECK-NEXT:        %[[S_STARTED:.+]] = rtile.start_dot
// CHECK-NEXT:        %[[S:.+]] = rtile.finish_dot %[[S_STARTED]]
// CHECK-NEXT:        rtile.release %[[K_SLOT]]
// CHECK-NEXT:        %[[ROUNDED:.+]] = arith.truncf %[[S]]
// CHECK-NEXT:        %[[V_SLOT:.+]] = rtile.await
// CHECK-NEXT:        %[[V:.+]] = rtile.read %[[V_SLOT]]
// CHECK-NEXT:        %[[ACC_STARTED:.+]] = rtile.start_dot %[[ROUNDED]], %[[V]] init
// CHECK-NEXT:        %[[ACC:.+]] = rtile.finish_dot %[[ACC_STARTED]] :
// CHECK-NEXT:        rtile.release %[[V_SLOT]]
// CHECK-NEXT:        scf.yield %[[ACC]]

// TURNS-LABEL: rtile.func @same_step(
// TURNS:           scf.for
// TURNS:             %[[S_STARTED:.+]] = rtile.in_turn -> !rtile.pending<tensor<128x128xf32>> {
// TURNS-NEXT:          %[[STARTED:.+]] = rtile.start_dot
// TURNS-NEXT:          rtile.yield %[[STARTED]]
// TURNS-NEXT:        }
// TURNS-NEXT:        rtile.finish_dot %[[S_STARTED]]
// TURNS-NEXT:        rtile.release
// TURNS:             rtile.in_turn
// TURNS-NEXT:          rtile.start_dot
rtile.func @same_step(%Q: !buffer, %K: !buffer, %V: !buffer,
                      %O: memref<?x64xf32, strided<[?, 1]>>, %steps: index)
    grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %o = rtile.view %O[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<128x64xf32>
  %q = rtile.view %Q[*, *] : !buffer to !view
  %k = rtile.view %K[*, *] : !buffer to !view
  %v = rtile.view %V[*, *] : !buffer to !view
  %qs = rtile.channel slots = 1 : !chan
  %ks = rtile.channel slots = 2 : !chan
  %vs = rtile.channel slots = 2 : !chan
  rtile.role "load" warps = 4 registers = 40 {
    %q_slot = rtile.acquire %qs : !chan
    rtile.copy %q[%c0, %c0] to %q_slot : !view, !slot
    scf.for %n = %c0 to %steps step %c1 {
      %k_slot = rtile.acquire %ks : !chan
      rtile.copy %k[%c0, %c0] to %k_slot : !view, !slot
      %v_slot = rtile.acquire %vs : !chan
      rtile.copy %v[%c0, %c0] to %v_slot : !view, !slot
    }
  }
  rtile.role "compute" warps = 8 registers = 232 {
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %q_slot = rtile.await %qs : !chan
    %q_tile = rtile.read %q_slot : !slot -> !frag
    rtile.release %q_slot : !slot
    %sums = scf.for %n = %c0 to %steps step %c1 iter_args(%acc = %zero) -> (tensor<128x64xf32>) {
      %k_slot = rtile.await %ks : !chan
      %k_tile = rtile.read %k_slot : !slot -> !smem
      %s = rtile.dot %q_tile, %k_tile transposed : !frag, !smem -> tensor<128x128xf32>
      rtile.release %k_slot : !slot
      %rounded = arith.truncf %s : tensor<128x128xf32> to tensor<128x128xbf16>
      %v_slot = rtile.await %vs : !chan
      %v_tile = rtile.read %v_slot : !slot -> !smem
      %next = rtile.dot %rounded, %v_tile init(%acc) : tensor<128x128xbf16>, !smem -> tensor<128x64xf32>
      rtile.release %v_slot : !slot
      scf.yield %next : tensor<128x64xf32>
    }
    rtile.store %sums, %o[%c0, %c0] : !rtile.view<128x64xf32>
  }
  rtile.return
}

// -----

// Three products with operands at hand run together and finish in order; what
// needs the first ones runs beside the others. Each group of warps starts all
// three in its turn.

!smem = tensor<128x64xbf16, #rtile.swizzled>
!view = !rtile.view<128x64xbf16>
!chan = !rtile.channel<128x64xbf16>
!slot = !rtile.slot<128x64xbf16>
!buffer = memref<?x64xbf16, strided<[?, 1]>>

// CHECK-LABEL: rtile.func @together(
// CHECK:         scf.for
// CHECK:           %[[SLOT:.+]] = rtile.await
// CHECK-NEXT:      %[[X:.+]] = rtile.read %[[SLOT]]
// CHECK-NEXT:      %[[GRAM_STARTED:.+]] = rtile.start_dot %[[X]], %[[X]] transposed :
// CHECK-NEXT:      %[[A_STARTED:.+]] = rtile.start_dot %[[X]], %[[X]] transposed init(%[[A:.+]]) :
// CHECK-NEXT:      %[[B_STARTED:.+]] = rtile.start_dot %[[X]], %[[X]] transposed init(%[[B:.+]]) :
// CHECK-NEXT:      %[[GRAM:.+]] = rtile.finish_dot %[[GRAM_STARTED]] :
// CHECK-NEXT:      %[[SUM:.+]] = rtile.reduce sum %[[GRAM]]
// CHECK-NEXT:      %[[NEXT:.+]] = arith.addf %{{.+}}, %[[SUM]]
// CHECK-NEXT:      %[[A_NEW:.+]] = rtile.finish_dot %[[A_STARTED]] after(%[[NEXT]] : tensor<128xf32>)
// CHECK-NEXT:      %[[NEGATED:.+]] = arith.negf %[[A_NEW]]
// CHECK-NEXT:      %[[B_NEW:.+]] = rtile.finish_dot %[[B_STARTED]] after(%[[NEGATED]] : tensor<128x128xf32>)
// CHECK-NEXT:      rtile.release %[[SLOT]]
// CHECK-NEXT:      scf.yield %[[NEXT]], %[[NEGATED]], %[[B_NEW]]

// TURNS-LABEL: rtile.func @together(
// TURNS:           %[[TURN:.+]]:3 = rtile.in_turn
// TURNS-COUNT-3:     rtile.start_dot
// TURNS:             rtile.yield
// TURNS:           rtile.finish_dot %[[TURN]]#0
// TURNS:           rtile.finish_dot %[[TURN]]#1
// TURNS:           rtile.finish_dot %[[TURN]]#2
// TURNS:           rtile.release
rtile.func @together(%X: !buffer, %O: memref<?x128xf32, strided<[?, 1]>>, %steps: index)
    grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %o = rtile.view %O[*, *] : memref<?x128xf32, strided<[?, 1]>> to !rtile.view<128x128xf32>
  %x = rtile.view %X[*, *] : !buffer to !view
  %xs = rtile.channel slots = 2 : !chan
  rtile.role "load" warps = 4 registers = 40 {
    scf.for %n = %c0 to %steps step %c1 {
      %slot = rtile.acquire %xs : !chan
      rtile.copy %x[%c0, %c0] to %slot : !view, !slot
    }
  }
  rtile.role "compute" warps = 8 registers = 232 {
    %none = arith.constant dense<0.0> : tensor<128xf32>
    %zero = arith.constant dense<0.0> : tensor<128x128xf32>
    %state:3 = scf.for %n = %c0 to %steps step %c1 iter_args(%l = %none, %a = %zero, %b = %zero)
        -> (tensor<128xf32>, tensor<128x128xf32>, tensor<128x128xf32>) {
      %slot = rtile.await %xs : !chan
      %tile = rtile.read %slot : !slot -> !smem
      %gram = rtile.dot %tile, %tile transposed : !smem, !smem -> tensor<128x128xf32>
      %sum = rtile.reduce sum %gram : tensor<128x128xf32>
      %next = arith.addf %l, %sum : tensor<128xf32>
      %a_new = rtile.dot %tile, %tile transposed init(%a) : !smem, !smem -> tensor<128x128xf32>
      %negated = arith.negf %a_new : tensor<128x128xf32>
      %b_new = rtile.dot %tile, %tile transposed init(%b) : !smem, !smem -> tensor<128x128xf32>
      rtile.release %slot : !slot
      scf.yield %next, %negated, %b_new : tensor<128xf32>, tensor<128x128xf32>, tensor<128x128xf32>
    }
    rtile.store %state#1, %o[%c0, %c0] : !rtile.view<128x128xf32>
    rtile.store %state#2, %o[%c0, %c0] : !rtile.view<128x128xf32>
  }
  rtile.return
}

// -----

!smem = tensor<64x64xbf16, #rtile.swizzled>
!view = !rtile.view<64x64xbf16>
!chan = !rtile.channel<64x64xbf16>
!slot = !rtile.slot<64x64xbf16>
!buffer = memref<?x64xbf16, strided<[?, 1]>>

// Products finish in the order in which they were started, whoever is used
// first, and before a loop with products of its own.

// CHECK-LABEL: rtile.func @second_first(
// CHECK:           %[[S_STARTED:.+]] = rtile.start_dot
// CHECK-NEXT:      %[[T_STARTED:.+]] = rtile.start_dot
// CHECK-NEXT:      %[[U_STARTED:.+]] = rtile.start_dot
// CHECK-NEXT:      %[[S:.+]] = rtile.finish_dot %[[S_STARTED]]
// CHECK-NEXT:      %[[T:.+]] = rtile.finish_dot %[[T_STARTED]]
// CHECK-NEXT:      arith.negf %[[T]]
// CHECK-NEXT:      arith.addf %{{.+}}, %[[S]]
// CHECK-NEXT:      %[[U:.+]] = rtile.finish_dot %[[U_STARTED]]
// CHECK-NEXT:      rtile.release
// CHECK-NEXT:      scf.for
// CHECK:             rtile.start_dot
rtile.func @second_first(%X: !buffer, %O: memref<?x64xf32, strided<[?, 1]>>, %steps: index)
    grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %o = rtile.view %O[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<64x64xf32>
  %x = rtile.view %X[*, *] : !buffer to !view
  %xs = rtile.channel slots = 2 : !chan
  rtile.role "load" warps = 4 registers = 40 {
    %slot = rtile.acquire %xs : !chan
    rtile.copy %x[%c0, %c0] to %slot : !view, !slot
    scf.for %n = %c0 to %steps step %c1 {
      %next_slot = rtile.acquire %xs : !chan
      rtile.copy %x[%c0, %c0] to %next_slot : !view, !slot
    }
  }
  rtile.role "compute" warps = 4 registers = 232 {
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %slot = rtile.await %xs : !chan
    %tile = rtile.read %slot : !slot -> !smem
    %s = rtile.dot %tile, %tile transposed : !smem, !smem -> tensor<64x64xf32>
    %t = rtile.dot %tile, %tile transposed : !smem, !smem -> tensor<64x64xf32>
    %negated = arith.negf %t : tensor<64x64xf32>
    %sum = arith.addf %negated, %s : tensor<64x64xf32>
    %u = rtile.dot %tile, %tile transposed : !smem, !smem -> tensor<64x64xf32>
    rtile.release %slot : !slot
    %all = scf.for %n = %c0 to %steps step %c1 iter_args(%acc = %sum) -> (tensor<64x64xf32>) {
      %next_slot = rtile.await %xs : !chan
      %next = rtile.read %next_slot : !slot -> !smem
      %more = rtile.dot %next, %next transposed init(%acc) : !smem, !smem -> tensor<64x64xf32>
      rtile.release %next_slot : !slot
      scf.yield %more : tensor<64x64xf32>
    }
    %result = arith.addf %all, %u : tensor<64x64xf32>
    rtile.store %result, %o[%c0, %c0] : !rtile.view<64x64xf32>
  }
  rtile.return
}

// -----

// Without roles products stay as they are.

// CHECK-LABEL: rtile.func @plain(
// CHECK-NOT:     rtile.start_dot
// CHECK:         rtile.dot
rtile.func @plain(%X: memref<64x64xf32>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] : memref<64x64xf32> to !rtile.view<64x64xf32>
  %a = rtile.load %x[%c0, %c0] : !rtile.view<64x64xf32>
  %gram = rtile.dot %a, %a transposed : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  rtile.store %gram, %x[%c0, %c0] : !rtile.view<64x64xf32>
  rtile.return
}
