//===- assign-roles.mlir - One role loads, one computes ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rtile-assign-roles | FileCheck %s
// RUN: ringlet-opt %s --split-input-file --rtile-assign-roles --remarks-filter='rtile-.*' --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Each load is a copy in one role and a read in the other one. Loops carry what
// the role needs: rows to load here, sums and weights there. Products of a step
// that need nothing of it get their slots together; the query tile, which is
// read to registers, gives its slot back at once.

// REMARK: [Passed] AssignRoles {{.*}}"late_values: one role copies the tiles of 3 channels, one computes"

// CHECK-LABEL: rtile.func @late_values(
// CHECK-SAME:    %[[STEPS:[a-z0-9]+]]: index) grid(%[[TILE:[a-z0-9]+]]: index) scheduled walk = <strided> {
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.+]] = arith.constant 1 : index
// CHECK-DAG:     %[[C64:.+]] = arith.constant 64 : index
// CHECK:         %[[Q:.+]] = rtile.view
// CHECK-NEXT:    %[[K:.+]] = rtile.view
// CHECK-NEXT:    %[[V:.+]] = rtile.view
// CHECK-NEXT:    %[[O:.+]] = rtile.view
// CHECK-NEXT:    %[[ROW:.+]] = arith.muli %[[TILE]], %[[C64]]
// CHECK-NEXT:    %[[QS:.+]] = rtile.channel slots = 1 : !rtile.channel<64x64xbf16>
// CHECK-NEXT:    %[[KS:.+]] = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
// CHECK-NEXT:    %[[VS:.+]] = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
// CHECK-NEXT:    rtile.role "load" warps = 4 registers = 40 {
// CHECK-NEXT:      %[[SLOT:.+]] = rtile.acquire %[[QS]]
// CHECK-NEXT:      rtile.copy %[[Q]][%[[ROW]], %[[C0]]] to %[[SLOT]]
// CHECK-NEXT:      %[[SLOT:.+]] = rtile.acquire %[[KS]]
// CHECK-NEXT:      rtile.copy %[[K]][%[[C0]], %[[C0]]] to %[[SLOT]]
// CHECK-NEXT:      %[[LAST:.+]] = scf.for %[[N:.+]] = %[[C0]] to %[[STEPS]] step %[[C1]] iter_args(%[[BEFORE:.+]] = %[[C0]]) -> (index) {
// CHECK-NEXT:        %[[KEY_ROW:.+]] = arith.addi %[[BEFORE]], %[[C64]]
// CHECK-NEXT:        %[[SLOT:.+]] = rtile.acquire %[[KS]]
// CHECK-NEXT:        rtile.copy %[[K]][%[[KEY_ROW]], %[[C0]]] to %[[SLOT]]
// CHECK-NEXT:        %[[SLOT:.+]] = rtile.acquire %[[VS]]
// CHECK-NEXT:        rtile.copy %[[V]][%[[BEFORE]], %[[C0]]] to %[[SLOT]]
// CHECK-NEXT:        scf.yield %[[KEY_ROW]] : index
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[SLOT:.+]] = rtile.acquire %[[VS]]
// CHECK-NEXT:      rtile.copy %[[V]][%[[LAST]], %[[C0]]] to %[[SLOT]]
// CHECK-NEXT:    }
// CHECK-NEXT:    rtile.role "compute" warps = 4 registers = 240 {
// CHECK-NEXT:      %[[ZERO:.+]] = arith.constant dense<0.0
// CHECK-NEXT:      %[[Q_SLOT:.+]] = rtile.await %[[QS]]
// CHECK-NEXT:      %[[Q_TILE:.+]] = rtile.read %[[Q_SLOT]] : !rtile.slot<64x64xbf16> -> tensor<64x64xbf16, #rtile.fragment<4>>
// CHECK-NEXT:      rtile.release %[[Q_SLOT]]
// CHECK-NEXT:      %[[K_SLOT:.+]] = rtile.await %[[KS]]
// CHECK-NEXT:      %[[K_TILE:.+]] = rtile.read %[[K_SLOT]] : !rtile.slot<64x64xbf16> -> tensor<64x64xbf16, #rtile.swizzled>
// CHECK-NEXT:      %[[S0:.+]] = rtile.dot %[[Q_TILE]], %[[K_TILE]] transposed
// CHECK-NEXT:      rtile.release %[[K_SLOT]]
// CHECK-NEXT:      %[[P0:.+]] = arith.truncf %[[S0]]
// CHECK-NEXT:      %[[STATE:.+]]:2 = scf.for %{{.+}} = %[[C0]] to %[[STEPS]] step %[[C1]] iter_args(%[[ACC:.+]] = %[[ZERO]], %[[P:.+]] = %[[P0]]) -> (tensor<64x64xf32>, tensor<64x64xbf16>) {
// CHECK-NEXT:        %[[SLOTS:.+]]:2 = rtile.await %[[KS]], %[[VS]]
// CHECK-NEXT:        %[[K_TILE:.+]] = rtile.read %[[SLOTS]]#0
// CHECK-NEXT:        %[[S:.+]] = rtile.dot %[[Q_TILE]], %[[K_TILE]] transposed
// CHECK-NEXT:        rtile.release %[[SLOTS]]#0
// CHECK-NEXT:        %[[V_TILE:.+]] = rtile.read %[[SLOTS]]#1
// CHECK-NEXT:        %[[NEXT:.+]] = rtile.dot %[[P]], %[[V_TILE]] init(%[[ACC]])
// CHECK-NEXT:        rtile.release %[[SLOTS]]#1
// CHECK-NEXT:        %[[P_NEXT:.+]] = arith.truncf %[[S]]
// CHECK-NEXT:        scf.yield %[[NEXT]], %[[P_NEXT]]
// CHECK-NEXT:      }
// CHECK-NEXT:      %[[V_SLOT:.+]] = rtile.await %[[VS]]
// CHECK-NEXT:      %[[V_TILE:.+]] = rtile.read %[[V_SLOT]]
// CHECK-NEXT:      %[[OUT:.+]] = rtile.dot %[[STATE]]#1, %[[V_TILE]] init(%[[STATE]]#0)
// CHECK-NEXT:      rtile.release %[[V_SLOT]]
// CHECK-NEXT:      rtile.store %[[OUT]], %[[O]][%[[ROW]], %[[C0]]]
// CHECK-NEXT:    }
// CHECK-NEXT:    rtile.return

!buffer = memref<?x64xbf16, strided<[?, 1]>>
!floats = memref<?x64xf32, strided<[?, 1]>>
!view = !rtile.view<64x64xbf16>
!tile = tensor<64x64xbf16>
!wide = tensor<64x64xf32>
#schedule = #rtile.schedule<roles = [<"load", warps = 4, registers = 40>,
                                     <"compute", warps = 4, registers = 240>],
                            slots = 2, walk = <strided>, operands = [<buffer = 0, left = registers>]>
rtile.func @late_values(%Q: !buffer, %K: !buffer, %V: !buffer, %O: !floats, %steps: index)
    grid(%i: index) recipe = "fa_fwd_lazy" schedule = #schedule {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : !wide
  %q = rtile.view %Q[*, *] : !buffer to !view
  %k = rtile.view %K[*, *] : !buffer to !view
  %v = rtile.view %V[*, *] : !buffer to !view
  %o = rtile.view %O[*, *] : !floats to !rtile.view<64x64xf32>
  %row = arith.muli %i, %c64 : index
  %q_tile = rtile.load %q[%row, %c0] : !view
  %k_tile0 = rtile.load %k[%c0, %c0] : !view
  %s0 = rtile.dot %q_tile, %k_tile0 transposed : !tile, !tile -> !wide
  %p0 = arith.truncf %s0 : !wide to !tile
  %state:3 = scf.for %n = %c0 to %steps step %c1
      iter_args(%acc = %zero, %p = %p0, %before = %c0) -> (!wide, !tile, index) {
    %key_row = arith.addi %before, %c64 : index
    %k_tile = rtile.load %k[%key_row, %c0] : !view
    %s = rtile.dot %q_tile, %k_tile transposed : !tile, !tile -> !wide
    %v_tile = rtile.load %v[%before, %c0] : !view
    %next = rtile.dot %p, %v_tile init(%acc) : !tile, !tile -> !wide
    %p_next = arith.truncf %s : !wide to !tile
    scf.yield %next, %p_next, %key_row : !wide, !tile, index
  }
  %v_tile1 = rtile.load %v[%state#2, %c0] : !view
  %out = rtile.dot %state#1, %v_tile1 init(%state#0) : !tile, !tile -> !wide
  rtile.store %out, %o[%row, %c0] : !rtile.view<64x64xf32>
  rtile.return
}

// -----

// Weights of the same step: the slot of values is awaited when they are there.
// Keys and values of one view still have a channel each. The query tile stays
// in its slot until the loop has ended.

// CHECK-LABEL: rtile.func @one_view(
// CHECK:         %[[QS:.+]] = rtile.channel slots = 1
// CHECK:         %[[KS:.+]] = rtile.channel slots = 3
// CHECK:         %[[VS:.+]] = rtile.channel slots = 3
// CHECK-NEXT:    rtile.role "load"
// CHECK:         rtile.role "compute"
// CHECK:           %[[Q_SLOT:.+]] = rtile.await %[[QS]]
// CHECK-NEXT:      %[[Q_TILE:.+]] = rtile.read %[[Q_SLOT]] : !rtile.slot<64x64xf16> -> tensor<64x64xf16, #rtile.swizzled>
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        %[[K_SLOT:.+]] = rtile.await %[[KS]]
// CHECK-NEXT:        %[[K_TILE:.+]] = rtile.read %[[K_SLOT]]
// CHECK-NEXT:        rtile.dot %[[Q_TILE]], %[[K_TILE]] transposed
// CHECK-NEXT:        rtile.release %[[K_SLOT]]
// CHECK-NEXT:        arith.truncf
// CHECK-NEXT:        %[[V_SLOT:.+]] = rtile.await %[[VS]]
// CHECK-NEXT:        rtile.read %[[V_SLOT]]
// CHECK-NEXT:        rtile.dot
// CHECK-NEXT:        rtile.release %[[V_SLOT]]
// CHECK-NEXT:        scf.yield
// CHECK-NEXT:      }
// CHECK-NEXT:      rtile.release %[[Q_SLOT]]
// CHECK-NEXT:      rtile.store

!buffer = memref<?x64xf16, strided<[?, 1]>>
!floats = memref<?x64xf32, strided<[?, 1]>>
!view = !rtile.view<64x64xf16>
!tile = tensor<64x64xf16>
!wide = tensor<64x64xf32>
#schedule = #rtile.schedule<roles = [<"load", warps = 4, registers = 40>,
                                     <"compute", warps = 4, registers = 240>],
                            slots = 3, walk = <strided>>
rtile.func @one_view(%Q: !buffer, %K: !buffer, %O: !floats, %steps: index)
    grid(%i: index) schedule = #schedule {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant dense<0.0> : !wide
  %q = rtile.view %Q[*, *] : !buffer to !view
  %k = rtile.view %K[*, *] : !buffer to !view
  %o = rtile.view %O[*, *] : !floats to !rtile.view<64x64xf32>
  %q_tile = rtile.load %q[%c0, %c0] : !view
  %sums = scf.for %n = %c0 to %steps step %c64 iter_args(%acc = %zero) -> (!wide) {
    %k_tile = rtile.load %k[%n, %c0] : !view
    %s = rtile.dot %q_tile, %k_tile transposed : !tile, !tile -> !wide
    %p = arith.truncf %s : !wide to !tile
    %v_tile = rtile.load %k[%n, %c0] : !view
    %next = rtile.dot %p, %v_tile init(%acc) : !tile, !tile -> !wide
    scf.yield %next : !wide
  }
  rtile.store %sums, %o[%c0, %c0] : !rtile.view<64x64xf32>
  rtile.return
}

// -----

// Both roles decide in the same way whether there is anything to do.

// CHECK-LABEL: rtile.func @condition(
// CHECK:         %[[SOME:.+]] = arith.cmpi
// CHECK:         rtile.role "load"
// CHECK-NEXT:      scf.if %[[SOME]] {
// CHECK:             rtile.copy
// CHECK:           }
// CHECK-NEXT:    }
// CHECK:         rtile.role "compute"
// CHECK:           %[[RESULT:.+]] = scf.if %[[SOME]] -> (tensor<64x64xf32>) {
// CHECK:             %[[SLOT:.+]] = rtile.await
// CHECK:             rtile.dot
// CHECK:             rtile.release %[[SLOT]]
// CHECK:             scf.yield
// CHECK:           } else {
// CHECK-NEXT:        scf.yield
// CHECK:           }
// CHECK:           rtile.store %[[RESULT]]

!buffer = memref<?x64xf16, strided<[?, 1]>>
!floats = memref<?x64xf32, strided<[?, 1]>>
!view = !rtile.view<64x64xf16>
!tile = tensor<64x64xf16>
!wide = tensor<64x64xf32>
#schedule = #rtile.schedule<roles = [<"load", warps = 4, registers = 40>,
                                     <"compute", warps = 4, registers = 240>],
                            slots = 2, walk = <strided>>
rtile.func @condition(%Q: !buffer, %O: !floats, %rows: index)
    grid(%i: index) schedule = #schedule {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : !wide
  %q = rtile.view %Q[*, *] : !buffer to !view
  %o = rtile.view %O[*, *] : !floats to !rtile.view<64x64xf32>
  %some = arith.cmpi slt, %i, %rows : index
  %gram = scf.if %some -> (!wide) {
    %x = rtile.load %q[%c0, %c0] : !view
    %product = rtile.dot %x, %x transposed : !tile, !tile -> !wide
    scf.yield %product : !wide
  } else {
    scf.yield %zero : !wide
  }
  rtile.store %gram, %o[%c0, %c0] : !rtile.view<64x64xf32>
  rtile.return
}

// -----

// What lists say is known to all roles, a loop that looks for it included. A
// value for each row is no operand of products: who computes loads it.

// CHECK-LABEL: rtile.func @list(
// CHECK:         %[[FOUND:.+]] = scf.for
// CHECK:           memref.load %{{.+}}[%{{.+}}] : memref<?xi64>
// CHECK:         %[[ENTRY:.+]] = memref.load %{{.+}}[%[[FOUND]]] : memref<?xi64>
// CHECK:         %[[FIRST:.+]] = arith.index_cast %[[ENTRY]]
// CHECK:         rtile.view %{{.+}}[*, *] within(%[[FIRST]], %{{.+}})
// CHECK:         rtile.role "load"
// CHECK-NOT:       memref.load
// CHECK-NOT:       rtile.load
// CHECK:         rtile.role "compute"
// CHECK:           %[[SUMS:.+]] = rtile.dot
// CHECK:           %[[SINK:.+]] = rtile.load %{{.+}}[%{{.+}}] : !rtile.view<64xf32>
// CHECK:           rtile.broadcast %[[SINK]]

!buffer = memref<?x64xf16, strided<[?, 1]>>
!floats = memref<?x64xf32, strided<[?, 1]>>
!view = !rtile.view<64x64xf16>
!tile = tensor<64x64xf16>
!wide = tensor<64x64xf32>
#schedule = #rtile.schedule<roles = [<"load", warps = 4, registers = 40>,
                                     <"compute", warps = 4, registers = 240>],
                            slots = 3, walk = <strided>>
rtile.func @list(%Q: !buffer, %K: !buffer, %O: !floats, %S: memref<?x?xf32, strided<[?, 1]>>,
                 %starts: memref<?xi64>, %count: index)
    grid(%i: index) schedule = #schedule {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %row = arith.index_cast %i : index to i64
  %found = scf.for %n = %c0 to %count step %c1 iter_args(%last = %c0) -> (index) {
    %start = memref.load %starts[%n] : memref<?xi64>
    %begins = arith.cmpi sle, %start, %row : i64
    %next = arith.select %begins, %n, %last : index
    scf.yield %next : index
  }
  %entry = memref.load %starts[%found] : memref<?xi64>
  %first = arith.index_cast %entry : i64 to index
  %end = arith.addi %first, %count : index
  %q = rtile.view %Q[*, *] : !buffer to !view
  %k = rtile.view %K[*, *] within(%first, %end) : !buffer to !view
  %o = rtile.view %O[*, *] : !floats to !rtile.view<64x64xf32>
  %s = rtile.view %S[%i, *] : memref<?x?xf32, strided<[?, 1]>> to !rtile.view<64xf32>
  %q_tile = rtile.load %q[%i, %c0] : !view
  %k_tile = rtile.load %k[%c0, %c0] : !view
  %product = rtile.dot %q_tile, %k_tile transposed : !tile, !tile -> !wide
  %sink = rtile.load %s[%i] : !rtile.view<64xf32>
  %sink_wide = rtile.broadcast %sink : tensor<64xf32> -> !wide
  %out = arith.addf %product, %sink_wide : !wide
  rtile.store %out, %o[%i, %c0] : !rtile.view<64x64xf32>
  rtile.return
}
