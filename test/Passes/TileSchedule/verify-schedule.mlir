//===- verify-schedule.mlir - Schedules that are right ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --rtile-verify-schedule \
// RUN:   --remarks-filter='rtile-.*' --remark-format=emitRemark -o /dev/null \
// RUN:   2>&1 | FileCheck %s --implicit-check-not=error

// CHECK-COUNT-12: VerifiedSchedule{{.*}}no role waits for ever

!mem = memref<?x64xbf16, strided<[?, 1]>>
!view = !rtile.view<64x64xbf16>
!chan = !rtile.channel<64x64xbf16>
!slot = !rtile.slot<64x64xbf16>
!smem = tensor<64x64xbf16, #rtile.swizzled>
!sums = tensor<64x64xf32, #rtile.fragment<4>>
!left = tensor<64x64xbf16, #rtile.fragment<4>>

// Masked steps, whole steps and masked steps again, as in a window.
rtile.func @window(%X: !mem, %a: index, %b: index, %c: index, %d: index) grid(%i: index) scheduled walk = <strided> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %ks = rtile.channel slots = 2 : !chan
  rtile.role "load" warps = 4 {
    scf.for %n = %c to %d step %c1 {
      %slot = rtile.acquire %ks : !chan
      rtile.copy %x[%n, %c0] to %slot : !view, !slot
    }
    scf.for %n = %b to %c step %c1 {
      %slot = rtile.acquire %ks : !chan
      rtile.copy %x[%n, %c0] to %slot : !view, !slot
    }
    scf.for %n = %a to %b step %c1 {
      %slot = rtile.acquire %ks : !chan
      rtile.copy %x[%n, %c0] to %slot : !view, !slot
    }
  }
  rtile.role "compute" warps = 4 {
    scf.for %n = %c to %d step %c1 {
      %slot = rtile.await %ks : !chan
      rtile.release %slot : !slot
    }
    scf.for %n = %b to %c step %c1 {
      %slot = rtile.await %ks : !chan
      rtile.release %slot : !slot
    }
    scf.for %n = %a to %b step %c1 {
      %slot = rtile.await %ks : !chan
      rtile.release %slot : !slot
    }
  }
  rtile.return
}

// A slot and a product go from step to step; the next product starts before the
// last one is finished.
rtile.func @carried(%X: !mem, %n: index) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %ks = rtile.channel slots = 2 : !chan
  rtile.role "load" warps = 4 {
    %slot0 = rtile.acquire %ks : !chan
    rtile.copy %x[%c0, %c0] to %slot0 : !view, !slot
    scf.for %j = %c1 to %n step %c1 {
      %slot = rtile.acquire %ks : !chan
      rtile.copy %x[%j, %c0] to %slot : !view, !slot
    }
  }
  rtile.role "compute" warps = 4 {
    %slot0 = rtile.await %ks : !chan
    %tile0 = rtile.read %slot0 : !slot -> !smem
    %first = rtile.start_dot %tile0, %tile0 : !smem, !smem -> !sums
    %last_slot, %last = scf.for %j = %c1 to %n step %c1
        iter_args(%before = %slot0, %running = %first)
        -> (!slot, !rtile.pending<!sums>) {
      %slot = rtile.await %ks : !chan
      %tile = rtile.read %slot : !slot -> !smem
      %next = rtile.start_dot %tile, %tile : !smem, !smem -> !sums
      %done = rtile.finish_dot %running : !sums
      rtile.release %before : !slot
      scf.yield %slot, %next : !slot, !rtile.pending<!sums>
    }
    %done = rtile.finish_dot %last : !sums
    rtile.release %last_slot : !slot
  }
  rtile.return
}

// Two groups take turns to start their products; the mask needs both.
rtile.func @turns(%X: !mem, %n: index) grid(%i: index) scheduled walk = <strided> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %mask = arith.constant dense<true> : tensor<64xi1>
  %ks = rtile.channel slots = 1 : !rtile.channel<128x64xbf16>
  %y = rtile.view %X[*, *] : !mem to !rtile.view<128x64xbf16>
  rtile.role "load" warps = 4 {
    scf.for %j = %c0 to %n step %c1 {
      %slot = rtile.acquire %ks : !rtile.channel<128x64xbf16>
      rtile.copy %y[%j, %c0] to %slot
          : !rtile.view<128x64xbf16>, !rtile.slot<128x64xbf16>
    }
  }
  rtile.role "compute" warps = 8 {
    scf.for %j = %c0 to %n step %c1 {
      %slot = rtile.await %ks : !rtile.channel<128x64xbf16>
      %tile = rtile.read %slot : !rtile.slot<128x64xbf16>
          -> tensor<128x64xbf16, #rtile.swizzled>
      %started = rtile.in_turn
          -> !rtile.pending<tensor<128x128xf32, #rtile.fragment<8>>> {
        %gram = rtile.start_dot %tile, %tile transposed
            : tensor<128x64xbf16, #rtile.swizzled>,
              tensor<128x64xbf16, #rtile.swizzled>
            -> tensor<128x128xf32, #rtile.fragment<8>>
        rtile.yield %gram
            : !rtile.pending<tensor<128x128xf32, #rtile.fragment<8>>>
      }
      %gram = rtile.finish_dot %started
          : tensor<128x128xf32, #rtile.fragment<8>>
      %some = rtile.any %mask : tensor<64xi1>
      rtile.release %slot : !rtile.slot<128x64xbf16>
    }
  }
  rtile.return
}

// Numbers of steps that are known are counted, whatever the loops look like.
rtile.func @counted(%X: !mem) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c12 = arith.constant 12 : index
  %ks = rtile.channel slots = 2 : !chan
  rtile.role "load" warps = 4 {
    scf.for %j = %c0 to %c3 step %c1 {
      scf.for %k = %c0 to %c2 step %c1 {
        %slot = rtile.acquire %ks : !chan
        rtile.copy %x[%k, %c0] to %slot : !view, !slot
      }
    }
  }
  rtile.role "compute" warps = 4 {
    scf.for %j = %c0 to %c12 step %c2 {
      %slot = rtile.await %ks : !chan
      rtile.release %slot : !slot
    }
  }
  rtile.return
}

// More steps than are counted: loops of as many steps are one decision.
rtile.func @long(%X: !mem) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %c64 = arith.constant 64 : index
  %c100 = arith.constant 100 : index
  %c6400 = arith.constant 6400 : index
  %ks = rtile.channel slots = 1 : !chan
  rtile.role "load" warps = 4 {
    scf.for %j = %c0 to %c6400 step %c64 {
      %slot = rtile.acquire %ks : !chan
      rtile.copy %x[%j, %c0] to %slot : !view, !slot
    }
  }
  rtile.role "compute" warps = 4 {
    scf.for %j = %c0 to %c100 step %c1 {
      %slot = rtile.await %ks : !chan
      rtile.release %slot : !slot
    }
  }
  rtile.return
}

// Both roles ask the same of the same step.
rtile.func @branch(%X: !mem, %n: index) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %ks = rtile.channel slots = 2 : !chan
  rtile.role "load" warps = 4 {
    scf.for %j = %c0 to %n step %c1 {
      %odd = arith.remsi %j, %n : index
      %is = arith.cmpi eq, %odd, %c1 : index
      scf.if %is {
        %slot = rtile.acquire %ks : !chan
        rtile.copy %x[%j, %c0] to %slot : !view, !slot
      }
    }
  }
  rtile.role "compute" warps = 4 {
    scf.for %j = %c0 to %n step %c1 {
      %odd = arith.remsi %j, %n : index
      %is = arith.cmpi eq, %odd, %c1 : index
      scf.if %is {
        %slot = rtile.await %ks : !chan
        rtile.release %slot : !slot
      }
    }
  }
  rtile.return
}

// A triangle: how long the inner loop is follows from the outer one.
rtile.func @triangle(%X: !mem, %n: index) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %ks = rtile.channel slots = 3 : !chan
  %vs = rtile.channel slots = 1 : !chan
  rtile.role "load" warps = 4 {
    scf.for %j = %c0 to %n step %c1 {
      %v = rtile.acquire %vs : !chan
      rtile.copy %x[%j, %c0] to %v : !view, !slot
      %end = arith.addi %j, %c1 : index
      scf.for %k = %c0 to %end step %c1 {
        %slot = rtile.acquire %ks : !chan
        rtile.copy %x[%k, %c0] to %slot : !view, !slot
      }
    }
  }
  rtile.role "compute" warps = 4 {
    scf.for %j = %c0 to %n step %c1 {
      %v = rtile.await %vs : !chan
      %end = arith.addi %j, %c1 : index
      scf.for %k = %c0 to %end step %c1 {
        %slot = rtile.await %ks : !chan
        rtile.release %slot : !slot
      }
      rtile.release %v : !slot
    }
  }
  rtile.return
}

// Slots that a branch chooses, and a tile that a loop carries.
rtile.func @chosen(%X: !mem, %n: index) grid(%i: index) scheduled walk = <dynamic> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %ks = rtile.channel slots = 2 : !chan
  %vs = rtile.channel slots = 2 : !chan
  %is = arith.cmpi eq, %n, %c1 : index
  rtile.role "load" warps = 4 {
    scf.if %is {
      %slot = rtile.acquire %ks : !chan
      rtile.copy %x[%c0, %c0] to %slot : !view, !slot
    } else {
      %slot = rtile.acquire %vs : !chan
      rtile.copy %x[%c0, %c0] to %slot : !view, !slot
    }
  }
  rtile.role "compute" warps = 4 {
    %slot = scf.if %is -> !slot {
      %k = rtile.await %ks : !chan
      scf.yield %k : !slot
    } else {
      %v = rtile.await %vs : !chan
      scf.yield %v : !slot
    }
    %tile = rtile.read %slot : !slot -> !smem
    %same = scf.for %j = %c0 to %n step %c1 iter_args(%t = %tile) -> (!smem) {
      %started = rtile.start_dot %t, %tile : !smem, !smem -> !sums
      %done = rtile.finish_dot %started : !sums
      scf.yield %t : !smem
    }
    rtile.release %slot : !slot
  }
  rtile.return
}

// A chain of three roles.
rtile.func @chain(%X: !mem, %n: index) grid(%i: index) scheduled walk = <strided> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %c2 = arith.constant 2 : index
  %ks = rtile.channel slots = 1 : !chan
  %vs = rtile.channel slots = 1 : !chan
  rtile.role "load" warps = 4 {
    scf.for %j = %c0 to %n step %c2 {
      %slot = rtile.acquire %ks : !chan
      rtile.copy %x[%j, %c0] to %slot : !view, !slot
    }
  }
  rtile.role "again" warps = 4 {
    scf.for %j = %c0 to %n step %c2 {
      %k = rtile.await %ks : !chan
      %v = rtile.acquire %vs : !chan
      rtile.copy %x[%j, %c0] to %v : !view, !slot
      rtile.release %k : !slot
    }
  }
  rtile.role "compute" warps = 4 {
    scf.for %j = %c0 to %n step %c2 {
      %v = rtile.await %vs : !chan
      rtile.release %v : !slot
    }
  }
  rtile.return
}

// Registers of the left operand are read, and written after the product.
rtile.func @registers(%X: !mem, %n: index) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %ks = rtile.channel slots = 2 : !chan
  rtile.role "load" warps = 4 {
    scf.for %j = %c0 to %n step %c1 {
      %slot = rtile.acquire %ks : !chan
      rtile.copy %x[%j, %c0] to %slot : !view, !slot
    }
  }
  rtile.role "compute" warps = 4 {
    %none = arith.constant dense<0.0> : !left
    %end = scf.for %j = %c0 to %n step %c1 iter_args(%p = %none) -> (!left) {
      %slot = rtile.await %ks : !chan
      %tile = rtile.read %slot : !slot -> !smem
      %started = rtile.start_dot %p, %tile : !left, !smem -> !sums
      %wide = arith.extf %p : !left to !sums
      %done = rtile.finish_dot %started : !sums
      rtile.release %slot : !slot
      %next = arith.truncf %done : !sums to !left
      scf.yield %next : !left
    }
  }
  rtile.return
}

// Two roles read what one has copied.
rtile.func @two_readers(%X: !mem, %n: index) grid(%i: index) scheduled walk = <strided> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %ks = rtile.channel slots = 2 : !chan
  rtile.role "load" warps = 4 {
    scf.for %m = %c0 to %n step %c1 {
      %slot = rtile.acquire %ks : !chan
      rtile.copy %x[%m, %c0] to %slot : !view, !slot
    }
  }
  rtile.role "one" warps = 4 {
    scf.for %m = %c0 to %n step %c1 {
      %slot = rtile.await %ks : !chan
      rtile.release %slot : !slot
    }
  }
  rtile.role "two" warps = 4 {
    scf.for %m = %c0 to %n step %c1 {
      %slot = rtile.await %ks : !chan
      rtile.release %slot : !slot
    }
  }
  rtile.return
}

// Each product goes on with the sums of the one before, whose slot is released
// while it runs; the last one is written to a slot that a third role stores.
rtile.func @sums_chained(%X: !mem, %Y: memref<?x64xf32, strided<[?, 1]>>, %n: index) grid(%i: index) scheduled walk = <strided> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %y = rtile.view %Y[*, *] : memref<?x64xf32, strided<[?, 1]>> to !rtile.view<64x64xf32>
  %ks = rtile.channel slots = 2 : !chan
  %out = rtile.channel slots = 1 : !rtile.channel<64x64xf32>
  rtile.role "load" warps = 4 {
    %first = rtile.acquire %ks : !chan
    rtile.copy %x[%c0, %c0] to %first : !view, !slot
    scf.for %m = %c1 to %n step %c1 {
      %slot = rtile.acquire %ks : !chan
      rtile.copy %x[%m, %c0] to %slot : !view, !slot
    }
  }
  rtile.role "compute" warps = 4 {
    %first = rtile.await %ks : !chan
    %a = rtile.read %first : !slot -> !smem
    %started = rtile.start_dot %a, %a transposed : !smem, !smem -> !sums
    %last, %held = scf.for %m = %c1 to %n step %c1 iter_args(%before = %started, %old = %first) -> (!rtile.pending<!sums>, !slot) {
      %slot = rtile.await %ks : !chan
      %tile = rtile.read %slot : !slot -> !smem
      %next = rtile.start_dot %tile, %tile transposed onto(%before) : !smem, !smem -> !sums
      rtile.wait_dot %before : !sums
      rtile.release %old : !slot
      scf.yield %next, %slot : !rtile.pending<!sums>, !slot
    }
    %sum = rtile.finish_dot %last : !sums
    rtile.release %held : !slot
    %free = rtile.acquire %out : !rtile.channel<64x64xf32>
    rtile.write %sum to %free : !sums, !rtile.slot<64x64xf32>
  }
  rtile.role "store" warps = 1 {
    %full = rtile.await %out : !rtile.channel<64x64xf32>
    rtile.copy_out add %full to %y[%c0, %c0] : !rtile.slot<64x64xf32>, !rtile.view<64x64xf32>
    rtile.release %full : !rtile.slot<64x64xf32>
  }
  rtile.return
}
