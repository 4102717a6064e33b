//===- flash.mlir - A kernel to put faults into ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The skeleton of attention: a query tile, keys one step ahead of values, the
// product with the values one step late. The names at the ends of lines are for
// the edits of verify-schedule-faults.test.
!mem = memref<?x64xbf16, strided<[?, 1]>>
!view = !rtile.view<64x64xbf16>
!chan = !rtile.channel<64x64xbf16>
!slot = !rtile.slot<64x64xbf16>
!sums = tensor<64x64xf32, #rtile.fragment<4>>
!left = tensor<64x64xbf16, #rtile.fragment<4>>
!smem = tensor<64x64xbf16, #rtile.swizzled>
rtile.func @flash(%Q: !mem, %K: !mem, %V: !mem, %O: !mem, %steps: index)
    grid(%tile: index) scheduled walk = <strided> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %q = rtile.view %Q[*, *] : !mem to !view
  %k = rtile.view %K[*, *] : !mem to !view
  %v = rtile.view %V[*, *] : !mem to !view
  %o = rtile.view %O[*, *] : !mem to !view
  %row = arith.muli %tile, %c64 : index
  %rest = arith.subi %steps, %c1 : index
  %some = arith.cmpi sgt, %steps, %c64 : index
  %qs = rtile.channel slots = 1 : !chan
  %ks = rtile.channel slots = 2 : !chan // @keys
  %vs = rtile.channel slots = 2 : !chan
  rtile.role "load" warps = 4 registers = 40 {
    %q_slot = rtile.acquire %qs : !chan
    rtile.copy %q[%row, %c0] to %q_slot : !view, !slot // @copy-q
    %k_slot0 = rtile.acquire %ks : !chan // @acquire-k0
    rtile.copy %k[%c0, %c0] to %k_slot0 : !view, !slot // @copy-k0
    scf.for %n = %c0 to %rest step %c1 { // @load-loop
      %here = arith.muli %n, %c64 : index
      %next = arith.addi %here, %c64 : index
      %k_slot = rtile.acquire %ks : !chan // @acquire-k
      rtile.copy %k[%next, %c0] to %k_slot : !view, !slot // @copy-k
      %v_slot = rtile.acquire %vs : !chan // @acquire-v
      rtile.copy %v[%here, %c0] to %v_slot : !view, !slot // @copy-v
    } // @load-loop-end
    %v_slot1 = rtile.acquire %vs : !chan // @acquire-v1
    rtile.copy %v[%rest, %c0] to %v_slot1 : !view, !slot // @copy-v1
  }
  rtile.role "compute" warps = 4 registers = 232 {
    %zero = arith.constant dense<0.0> : !sums
    %q_slot = rtile.await %qs : !chan
    %q_tile = rtile.read %q_slot : !slot -> !left
    rtile.release %q_slot : !slot // @release-q
    %k_slot0 = rtile.await %ks : !chan // @await-k0
    %k_tile0 = rtile.read %k_slot0 : !slot -> !smem
    %s0 = rtile.start_dot %q_tile, %k_tile0 transposed : !left, !smem -> !sums
    %scores0 = rtile.finish_dot %s0 : !sums // @finish-0
    rtile.release %k_slot0 : !slot // @release-k0
    %p0 = arith.truncf %scores0 : !sums to !left
    %acc, %p = scf.for %n = %c0 to %rest step %c1
        iter_args(%acc_before = %zero, %p_before = %p0) -> (!sums, !left) {
      %k_slot, %v_slot = rtile.await %ks, %vs : !chan, !chan // @await
      %k_tile = rtile.read %k_slot : !slot -> !smem
      %s = rtile.start_dot %q_tile, %k_tile transposed : !left, !smem -> !sums // @start-s
      %v_tile = rtile.read %v_slot : !slot -> !smem
      %a = rtile.start_dot %p_before, %v_tile init(%acc_before) : !left, !smem -> !sums // @start-a
      %scores = rtile.finish_dot %s : !sums // @finish-s
      rtile.release %k_slot : !slot // @release-k
      %weights = math.exp2 %scores : !sums
      %acc_next = rtile.finish_dot %a : !sums // @finish-a
      rtile.release %v_slot : !slot // @release-v
      %p_next = arith.truncf %weights : !sums to !left
      scf.yield %acc_next, %p_next : !sums, !left
    } // @compute-loop-end
    %v_slot1 = rtile.await %vs : !chan // @await-v1
    %v_tile1 = rtile.read %v_slot1 : !slot -> !smem
    %a1 = rtile.start_dot %p, %v_tile1 init(%acc) : !left, !smem -> !sums // @start-1
    %out = rtile.finish_dot %a1 : !sums // @finish-1
    rtile.release %v_slot1 : !slot // @release-1
    %rounded = arith.truncf %out : !sums to !left
    rtile.store %rounded, %o[%row, %c0] : !left, !view
  }
  rtile.return
}
