//===- verify-schedule-invalid.mlir - Schedules with faults ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rtile-verify-schedule \
// RUN:   --verify-diagnostics=only-expected

!mem = memref<?x64xbf16, strided<[?, 1]>>
!view = !rtile.view<64x64xbf16>
!chan = !rtile.channel<64x64xbf16>
!slot = !rtile.slot<64x64xbf16>
!smem = tensor<64x64xbf16, #rtile.swizzled>

// Each role waits for the other one before it copies.
rtile.func @cycle(%X: !mem) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %ks = rtile.channel slots = 2 : !chan
  %vs = rtile.channel slots = 2 : !chan
  rtile.role "first" warps = 4 {
    // expected-error @below {{expected some role to go on, found all of them waiting or at their end}}
    // expected-note @below {{role 'first' waits for a full slot of channel 1}}
    %v = rtile.await %vs : !chan
    %k = rtile.acquire %ks : !chan
    rtile.copy %x[%c0, %c0] to %k : !view, !slot
    rtile.release %v : !slot
  }
  rtile.role "second" warps = 4 {
    // expected-note @below {{role 'second' waits for a full slot of channel 0}}
    %k = rtile.await %ks : !chan
    %v = rtile.acquire %vs : !chan
    rtile.copy %x[%c0, %c0] to %v : !view, !slot
    rtile.release %k : !slot
  }
  rtile.return
}

// -----

!mem = memref<?x64xbf16, strided<[?, 1]>>
!view = !rtile.view<64x64xbf16>
!chan = !rtile.channel<64x64xbf16>
!slot = !rtile.slot<64x64xbf16>
!smem = tensor<64x64xbf16, #rtile.swizzled>

// The first group cannot have a second tile before the second group, whose turn
// comes later, has seen the first one.
rtile.func @turn(%X: !mem) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %ks = rtile.channel slots = 1 : !chan
  rtile.role "load" warps = 4 {
    %slot0 = rtile.acquire %ks : !chan
    rtile.copy %x[%c0, %c0] to %slot0 : !view, !slot
    // expected-error @below {{expected some role to go on}}
    %slot1 = rtile.acquire %ks : !chan
    rtile.copy %x[%c1, %c0] to %slot1 : !view, !slot
  }
  rtile.role "compute" warps = 8 {
    // expected-note @below {{group 1 of role 'compute' waits for its turn}}
    rtile.in_turn {
      %slot0 = rtile.await %ks : !chan
      rtile.release %slot0 : !slot
      // expected-note @below {{group 0 of role 'compute' waits for a full slot of channel 0}}
      %slot1 = rtile.await %ks : !chan
      rtile.release %slot1 : !slot
      rtile.yield
    }
  }
  rtile.return
}

// -----

!mem = memref<?x64xbf16, strided<[?, 1]>>
!view = !rtile.view<64x64xbf16>
!chan = !rtile.channel<64x64xbf16>
!slot = !rtile.slot<64x64xbf16>
!smem = tensor<64x64xbf16, #rtile.swizzled>

// The mask needs all groups, of which one has the turn.
rtile.func @meet(%X: !mem) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %mask = arith.constant dense<true> : tensor<64xi1>
  rtile.role "compute" warps = 8 {
    // expected-note @below {{group 1 of role 'compute' waits for its turn}}
    rtile.in_turn {
      // expected-error @below {{expected some role to go on}}
      // expected-note @below {{group 0 of role 'compute' waits for the other groups}}
      %some = rtile.any %mask : tensor<64xi1>
      rtile.yield
    }
  }
  rtile.return
}

// -----

!mem = memref<?x64xbf16, strided<[?, 1]>>
!view = !rtile.view<64x64xbf16>
!chan = !rtile.channel<64x64xbf16>
!slot = !rtile.slot<64x64xbf16>
!smem = tensor<64x64xbf16, #rtile.swizzled>

// Whose group would acquire?
rtile.func @writer_in_turns(%X: !mem) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %ks = rtile.channel slots = 2 : !chan
  rtile.role "load" warps = 8 {
    rtile.in_turn {
      // expected-error @below {{expected a role without rtile.in_turn to acquire slots, found one with it}}
      %slot = rtile.acquire %ks : !chan
      rtile.copy %x[%c0, %c0] to %slot : !view, !slot
      rtile.yield
    }
  }
  rtile.role "compute" warps = 4 {
    %slot = rtile.await %ks : !chan
    rtile.release %slot : !slot
  }
  rtile.return
}

// -----

!mem = memref<?x64xbf16, strided<[?, 1]>>
!view = !rtile.view<64x64xbf16>
!chan = !rtile.channel<64x64xbf16>
!slot = !rtile.slot<64x64xbf16>
!smem = tensor<64x64xbf16, #rtile.swizzled>

// The left operand that the product of the step before still reads.
!sums = tensor<64x64xf32, #rtile.fragment<4>>
!left = tensor<64x64xbf16, #rtile.fragment<4>>
rtile.func @left(%X: !mem, %n: index) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %ks = rtile.channel slots = 1 : !chan
  rtile.role "load" warps = 4 {
    %slot = rtile.acquire %ks : !chan
    rtile.copy %x[%c0, %c0] to %slot : !view, !slot
  }
  rtile.role "compute" warps = 4 {
    %none = arith.constant dense<0.0> : !left
    %slot = rtile.await %ks : !chan
    %tile = rtile.read %slot : !slot -> !smem
    %first = rtile.start_dot %none, %tile : !left, !smem -> !sums
    // expected-error @below {{expected the left operand of a product not to be written before it is finished, found it under way}}
    %end, %last = scf.for %j = %c0 to %n step %c1
        iter_args(%p = %none, %running = %first)
        -> (!left, !rtile.pending<!sums>) {
      %done = rtile.finish_dot %running : !sums
      // expected-note @below {{the product under way}}
      %started = rtile.start_dot %p, %tile : !left, !smem -> !sums
      %next = arith.truncf %done : !sums to !left
      scf.yield %next, %started : !left, !rtile.pending<!sums>
    }
    %done = rtile.finish_dot %last : !sums
    rtile.release %slot : !slot
  }
  rtile.return
}

// -----

!mem = memref<?x64xbf16, strided<[?, 1]>>
!view = !rtile.view<64x64xbf16>
!chan = !rtile.channel<64x64xbf16>
!slot = !rtile.slot<64x64xbf16>
!smem = tensor<64x64xbf16, #rtile.swizzled>

// A loop forgets the slot that it was handed.
rtile.func @lost(%X: !mem, %n: index) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %ks = rtile.channel slots = 2 : !chan
  rtile.role "load" warps = 4 {
    %slot0 = rtile.acquire %ks : !chan
    rtile.copy %x[%c0, %c0] to %slot0 : !view, !slot
    scf.for %j = %c0 to %n step %c1 {
      %slot = rtile.acquire %ks : !chan
      rtile.copy %x[%j, %c0] to %slot : !view, !slot
    }
  }
  // expected-note @below {{nothing names it any more after this}}
  rtile.role "compute" warps = 4 {
    // expected-error @below {{expected a release of the slot on every way, found one without}}
    %slot0 = rtile.await %ks : !chan
    %last = scf.for %j = %c0 to %n step %c1 iter_args(%before = %slot0) -> (!slot) {
      %slot = rtile.await %ks : !chan
      scf.yield %slot : !slot
    }
    rtile.release %last : !slot
  }
  rtile.return
}

// -----

!mem = memref<?x64xbf16, strided<[?, 1]>>
!view = !rtile.view<64x64xbf16>
!chan = !rtile.channel<64x64xbf16>
!slot = !rtile.slot<64x64xbf16>
!smem = tensor<64x64xbf16, #rtile.swizzled>

// A tile that a loop carries longer than its slot.
!sums = tensor<64x64xf32, #rtile.fragment<4>>
rtile.func @carried_tile(%X: !mem, %n: index) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %ks = rtile.channel slots = 2 : !chan
  rtile.role "load" warps = 4 {
    %slot0 = rtile.acquire %ks : !chan
    rtile.copy %x[%c0, %c0] to %slot0 : !view, !slot
    scf.for %j = %c0 to %n step %c1 {
      %slot = rtile.acquire %ks : !chan
      rtile.copy %x[%j, %c0] to %slot : !view, !slot
    }
  }
  rtile.role "compute" warps = 4 {
    %slot0 = rtile.await %ks : !chan
    %tile0 = rtile.read %slot0 : !slot -> !smem
    rtile.release %slot0 : !slot
    %last = scf.for %j = %c0 to %n step %c1 iter_args(%before = %tile0) -> (!smem) {
      %slot = rtile.await %ks : !chan
      %tile = rtile.read %slot : !slot -> !smem
      // expected-error @below {{expected the slot to be read before its release, found it released}}
      %started = rtile.start_dot %tile, %before : !smem, !smem -> !sums
      %done = rtile.finish_dot %started : !sums
      rtile.release %slot : !slot
      scf.yield %tile : !smem
    }
  }
  rtile.return
}

// -----

!mem = memref<?x64xbf16, strided<[?, 1]>>
!view = !rtile.view<64x64xbf16>
!chan = !rtile.channel<64x64xbf16>
!slot = !rtile.slot<64x64xbf16>
!smem = tensor<64x64xbf16, #rtile.swizzled>

// Nothing says that the two conditions agree.
rtile.func @conditions(%X: !mem, %a: index, %b: index) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %is_a = arith.cmpi eq, %a, %c0 : index
  %is_b = arith.cmpi eq, %b, %c0 : index
  %ks = rtile.channel slots = 2 : !chan
  rtile.role "load" warps = 4 {
    // expected-note @below {{no condition of another role is known to equal this one}}
    scf.if %is_a {
      %slot = rtile.acquire %ks : !chan
      rtile.copy %x[%c0, %c0] to %slot : !view, !slot
    }
  }
  rtile.role "compute" warps = 4 {
    // expected-note @below {{on the way: condition true: 1, false: 0}}
    scf.if %is_b {
      // expected-error @below {{expected some role to go on}}
      %slot = rtile.await %ks : !chan
      rtile.release %slot : !slot
    }
  }
  rtile.return
}

// -----

!mem = memref<?x64xbf16, strided<[?, 1]>>
!view = !rtile.view<64x64xbf16>
!chan = !rtile.channel<64x64xbf16>
!slot = !rtile.slot<64x64xbf16>
!smem = tensor<64x64xbf16, #rtile.swizzled>

// The same bounds, in loops that do not themselves run equally often.
rtile.func @around(%X: !mem, %a: index, %b: index, %n: index) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %ks = rtile.channel slots = 2 : !chan
  rtile.role "load" warps = 4 {
    // expected-note @below {{no loop of another role is known to run as often as this one}}
    scf.for %i0 = %c0 to %a step %c1 {
      // expected-note @below {{no loop of another role is known to run as often as this one}}
      scf.for %j = %c0 to %n step %c1 {
        %slot = rtile.acquire %ks : !chan
        rtile.copy %x[%j, %c0] to %slot : !view, !slot
      }
    }
  }
  rtile.role "compute" warps = 4 {
    scf.for %i0 = %c0 to %b step %c1 {
      scf.for %j = %c0 to %n step %c1 {
        // expected-error @below {{expected some role to go on}}
        %slot = rtile.await %ks : !chan
        rtile.release %slot : !slot
      }
    }
  }
  rtile.return
}

// -----

!mem = memref<?x64xbf16, strided<[?, 1]>>
!view = !rtile.view<64x64xbf16>
!chan = !rtile.channel<64x64xbf16>
!slot = !rtile.slot<64x64xbf16>
!smem = tensor<64x64xbf16, #rtile.swizzled>

// Counted loops of six and of seven steps.
rtile.func @counted(%X: !mem) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  // expected-error @below {{expected all slots of the channel to be empty after a point of the grid, found 1 empty, 1 full}}
  %ks = rtile.channel slots = 2 : !chan
  rtile.role "load" warps = 4 {
    scf.for %j = %c0 to %c7 step %c1 {
      %slot = rtile.acquire %ks : !chan
      rtile.copy %x[%j, %c0] to %slot : !view, !slot
    }
  }
  rtile.role "compute" warps = 4 {
    scf.for %j = %c0 to %c6 step %c1 {
      %slot = rtile.await %ks : !chan
      rtile.release %slot : !slot
    }
  }
  rtile.return
}

// -----

!mem = memref<?x64xbf16, strided<[?, 1]>>
!view = !rtile.view<64x64xbf16>
!chan = !rtile.channel<64x64xbf16>
!slot = !rtile.slot<64x64xbf16>
!smem = tensor<64x64xbf16, #rtile.swizzled>

// Two points of the grid copy what one point awaits.
rtile.func @points(%X: !mem) grid(%i: index) scheduled walk = <strided> {
  %c0 = arith.constant 0 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %ks = rtile.channel slots = 2 : !chan
  // expected-note @below {{role 'load' has ended}}
  // expected-note @below {{on the way: points of the grid begun: 1}}
  rtile.role "load" warps = 4 {
    %k = rtile.acquire %ks : !chan
    rtile.copy %x[%c0, %c0] to %k : !view, !slot
  }
  rtile.role "compute" warps = 4 {
    %k = rtile.await %ks : !chan
    // expected-error @below {{expected some role to go on}}
    // expected-note @below {{role 'compute' waits for a full slot of channel 0}}
    %k1 = rtile.await %ks : !chan
    rtile.release %k : !slot
    rtile.release %k1 : !slot
  }
  rtile.return
}

// -----

!mem = memref<?x64xbf16, strided<[?, 1]>>
!view = !rtile.view<64x64xbf16>
!chan = !rtile.channel<64x64xbf16>
!slot = !rtile.slot<64x64xbf16>
!smem = tensor<64x64xbf16, #rtile.swizzled>

// What has no steps.
rtile.func @while(%X: !mem, %n: index) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %ks = rtile.channel slots = 1 : !chan
  rtile.role "load" warps = 4 {
    %slot = rtile.acquire %ks : !chan
    rtile.copy %x[%c0, %c0] to %slot : !view, !slot
  }
  rtile.role "compute" warps = 4 {
    // expected-error @below {{expected channels and products in scf.for, scf.if and rtile.in_turn, found scf.while}}
    scf.while : () -> () {
      %is = arith.cmpi eq, %n, %c0 : index
      scf.condition(%is)
    } do {
      %slot = rtile.await %ks : !chan
      rtile.release %slot : !slot
      scf.yield
    }
  }
  rtile.return
}

// -----

!mem = memref<?x64xbf16, strided<[?, 1]>>
!view = !rtile.view<64x64xbf16>
!chan = !rtile.channel<64x64xbf16>
!slot = !rtile.slot<64x64xbf16>
!smem = tensor<64x64xbf16, #rtile.swizzled>

rtile.func @select(%X: !mem, %n: index) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = rtile.view %X[*, *] : !mem to !view
  %ks = rtile.channel slots = 2 : !chan
  %is = arith.cmpi eq, %n, %c0 : index
  rtile.role "load" warps = 4 {
    %slot = rtile.acquire %ks : !chan
    rtile.copy %x[%c0, %c0] to %slot : !view, !slot
  }
  rtile.role "compute" warps = 4 {
    %slot = rtile.await %ks : !chan
    // expected-error @below {{expected slots and products in operations of rtile and in scf.for and scf.if, found arith.select}}
    %other = arith.select %is, %slot, %slot : !slot
    rtile.release %other : !slot
  }
  rtile.return
}
