//===- assign-roles-invalid.mlir - Kernels without roles ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rtile-assign-roles --verify-diagnostics

// What is loaded must not depend on what is computed: the role that loads knows
// no tiles.



!buffer = memref<?x64xf16, strided<[?, 1]>>
!floats = memref<?x64xf32, strided<[?, 1]>>
!view = !rtile.view<64x64xf16>
!tile = tensor<64x64xf16>
!wide = tensor<64x64xf32>
#schedule = #rtile.schedule<roles = [<"load", warps = 4, registers = 40>,
                                     <"compute", warps = 4, registers = 240>],
                            slots = 2, walk = <strided>>
// expected-error@+1 {{expected loads of rows that do not depend on tiles, found one that does}}
rtile.func @depends(%Q: !buffer, %O: !floats)
    grid(%i: index) recipe = "fa_fwd_lazy" schedule = #schedule {
  %c0 = arith.constant 0 : index
  %none = arith.constant dense<0.0> : tensor<64xf32>
  %q = rtile.view %Q[*, *] : !buffer to !view
  %o = rtile.view %O[*, *] : !floats to !rtile.view<64x64xf32>
  %x = rtile.load %q[%c0, %c0] : !view
  %gram = rtile.dot %x, %x transposed : !tile, !tile -> !wide
  %sum = rtile.reduce sum %gram : !wide
  %above = arith.cmpf ogt, %sum, %none : tensor<64xf32>
  %some = rtile.any %above : tensor<64xi1>
  scf.if %some {
    %y = rtile.load %q[%c0, %c0] : !view
    %product = rtile.dot %y, %y transposed : !tile, !tile -> !wide
    rtile.store %product, %o[%c0, %c0] : !rtile.view<64x64xf32>
  }
  rtile.return
}

// -----

// So must the views be known.



!buffer = memref<?x64xf16, strided<[?, 1]>>
!floats = memref<?x64xf32, strided<[?, 1]>>
!view = !rtile.view<64x64xf16>
!tile = tensor<64x64xf16>
!wide = tensor<64x64xf32>
#schedule = #rtile.schedule<roles = [<"load", warps = 4, registers = 40>,
                                     <"compute", warps = 4, registers = 240>],
                            slots = 2, walk = <strided>>
// expected-error@+1 {{expected views of rtile.view, found one that a loop carries}}
rtile.func @carried(%Q: !buffer, %K: !buffer, %O: !floats, %steps: index)
    grid(%i: index) schedule = #schedule {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : !wide
  %q = rtile.view %Q[*, *] : !buffer to !view
  %k = rtile.view %K[*, *] : !buffer to !view
  %o = rtile.view %O[*, *] : !floats to !rtile.view<64x64xf32>
  %state:3 = scf.for %n = %c0 to %steps step %c1 iter_args(%x = %q, %y = %k, %acc = %zero)
      -> (!view, !view, !wide) {
    %tile = rtile.load %x[%c0, %c0] : !view
    %next = rtile.dot %tile, %tile transposed init(%acc) : !tile, !tile -> !wide
    scf.yield %y, %x, %next : !view, !view, !wide
  }
  rtile.store %state#2, %o[%c0, %c0] : !rtile.view<64x64xf32>
  rtile.return
}
