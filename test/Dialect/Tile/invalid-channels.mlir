//===- invalid-channels.mlir - Channels and products that are refused ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics

// Somebody fills a channel.

rtile.func @nobody_acquires(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  // expected-error@+1 {{expected a role that acquires slots of it, found none}}
  %c = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  rtile.role "compute" warps = 4 {
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
  }
  rtile.return
}

// -----

// Somebody reads it.

rtile.func @nobody_awaits(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  // expected-error@+1 {{expected a role that awaits slots of it, found none}}
  %c = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
  }
  rtile.return
}

// -----

// The slots come in turn: one role fills them.

rtile.func @two_acquire(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  // expected-error-re@+1 {{expected one role that acquires slots of it, found '{{a|load}}' and '{{a|load}}'}}
  %c = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
  }
  rtile.role "a" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
  }
  rtile.return
}

// -----

// A channel is no value to be passed on.

rtile.func @channel_passed(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  // expected-error@+1 {{expected rtile.acquire and rtile.await as its only uses, found builtin.unrealized_conversion_cast}}
  %c = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  %u = builtin.unrealized_conversion_cast %c : !rtile.channel<64x64xbf16> to index
  rtile.role "load" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
  }
  rtile.return
}

// -----

// Nor does one come from elsewhere.

rtile.func @channel_from_elsewhere(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  %c = builtin.unrealized_conversion_cast %i : index to !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    // expected-error@+1 {{expected a channel made by rtile.channel}}
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
  }
  rtile.return
}

// -----

// A ring has a slot.

rtile.func @no_slot(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  // expected-error@+1 {{attribute 'slots' failed to satisfy constraint}}
  %c = rtile.channel slots = 0 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
  }
  rtile.return
}

// -----

// Slots and their barriers get their places together.

rtile.func @place_alone(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  // expected-error@+1 {{expected an offset and barriers, or neither}}
  %c = "rtile.channel"() <{slots = 1, offset = 1024}> : () -> !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
  }
  rtile.return
}

// -----

// The swizzle counts from multiples of 1024 bytes.

rtile.func @place_of_slots(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  // expected-error@+1 {{expected an offset that is a multiple of 1024, found 512}}
  %c = rtile.channel slots = 1 offset = 512 barriers = 0 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
  }
  rtile.return
}

// -----

// A barrier has 8 bytes.

rtile.func @place_of_barriers(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  // expected-error@+1 {{expected barriers at a multiple of 8, found 12}}
  %c = rtile.channel slots = 1 offset = 1024 barriers = 12 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
  }
  rtile.return
}

// -----

// Only roles meet in channels.

rtile.func @acquire_outside(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  %c = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  // expected-error@+1 {{expected a role (rtile.role) around it}}
  %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %t = rtile.acquire %c : !rtile.channel<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %t = rtile.await %c : !rtile.channel<64x64xbf16>
  }
  rtile.return
}

// -----

// To wait for nothing is a mistake.

rtile.func @await_nothing(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  rtile.role "compute" warps = 4 {
    // expected-error@+1 {{expected at least one channel}}
    "rtile.await"() : () -> ()
  }
  rtile.return
}

// -----

// Two slots of one channel need two waits.

rtile.func @await_twice(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  %c = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    // expected-error@+1 {{expected each channel once}}
    %s, %t = rtile.await %c, %c : !rtile.channel<64x64xbf16>, !rtile.channel<64x64xbf16>
  }
  rtile.return
}

// -----

// A copy has an offset for each axis of its view.

rtile.func @copy_offsets(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %v = rtile.view %x[*, *] : memref<?x64xbf16> to !rtile.view<64x64xbf16>
  %c = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
    // expected-error@+1 {{expected 2 offsets, found 1}}
    rtile.copy %v[%c0] to %s : !rtile.view<64x64xbf16>, !rtile.slot<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
  }
  rtile.return
}

// -----

// It fills the slot.

rtile.func @copy_tile(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %v = rtile.view %x[*, *] : memref<?x64xbf16> to !rtile.view<32x64xbf16>
  %c = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
    // expected-error@+1 {{expected a slot for tiles of 'tensor<32x64xbf16>', found 'tensor<64x64xbf16>'}}
    rtile.copy %v[%c0, %c0] to %s : !rtile.view<32x64xbf16>, !rtile.slot<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
  }
  rtile.return
}

// -----

// It goes to an empty slot.

rtile.func @copy_awaited(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %v = rtile.view %x[*, *] : memref<?x64xbf16> to !rtile.view<64x64xbf16>
  %c = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
    // expected-error@+1 {{expected a slot of rtile.acquire, found one of rtile.await}}
    rtile.copy %v[%c0, %c0] to %s : !rtile.view<64x64xbf16>, !rtile.slot<64x64xbf16>
  }
  rtile.return
}

// -----

// A tile is read from a full slot.

rtile.func @read_acquired(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  %c = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
    // expected-error@+1 {{expected a slot of rtile.await, found one of rtile.acquire}}
    %t = rtile.read %s : !rtile.slot<64x64xbf16> -> tensor<64x64xbf16, #rtile.swizzled>
  }
  rtile.role "compute" warps = 4 {
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
  }
  rtile.return
}

// -----

// What is read is what lies there.

rtile.func @read_tile(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  %c = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
    // expected-error@+1 {{expected a tile of 'tensor<64x64xbf16>', found 'tensor<64x64xf16, #rtile.swizzled>'}}
    %t = rtile.read %s : !rtile.slot<64x64xbf16> -> tensor<64x64xf16, #rtile.swizzled>
  }
  rtile.return
}

// -----

// Who fills a slot does not give it back.

rtile.func @release_acquired(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  %c = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
    // expected-error@+1 {{expected a slot of rtile.await, found one of rtile.acquire}}
    rtile.release %s : !rtile.slot<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
  }
  rtile.return
}

// -----

// A tile in a slot is no operand of arithmetic.

rtile.func @add_in_slot(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  %c = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
    %t = rtile.read %s : !rtile.slot<64x64xbf16> -> tensor<64x64xbf16, #rtile.swizzled>
    // expected-error@+1 {{expected a tile in registers (#rtile.fragment), found 'tensor<64x64xbf16, #rtile.swizzled>'}}
    %u = arith.addf %t, %t : tensor<64x64xbf16, #rtile.swizzled>
  }
  rtile.return
}

// -----

// It cannot be cut.

rtile.func @slice_in_slot(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  %c = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
    %t = rtile.read %s : !rtile.slot<64x64xbf16> -> tensor<64x64xbf16, #rtile.swizzled>
    // expected-error@+1 {{expected a tile in registers (#rtile.fragment), found 'tensor<64x64xbf16, #rtile.swizzled>'}}
    %u = rtile.slice %t[0] : tensor<64x64xbf16, #rtile.swizzled> -> tensor<64x8xbf16, #rtile.swizzled>
  }
  rtile.return
}

// -----

// It cannot be stored.

rtile.func @store_in_slot(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %v = rtile.view %x[*, *] : memref<?x64xbf16> to !rtile.view<64x64xbf16>
  %c = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
    %t = rtile.read %s : !rtile.slot<64x64xbf16> -> tensor<64x64xbf16, #rtile.swizzled>
    // expected-error@+1 {{expected a tile in registers (#rtile.fragment), found 'tensor<64x64xbf16, #rtile.swizzled>'}}
    rtile.store %t, %v[%c0, %c0] : tensor<64x64xbf16, #rtile.swizzled>, !rtile.view<64x64xbf16>
  }
  rtile.return
}

// -----

// A load goes to registers.

rtile.func @load_to_slot(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %v = rtile.view %x[*, *] : memref<?x64xbf16> to !rtile.view<64x64xbf16>
  rtile.role "compute" warps = 4 {
    // expected-error@+1 {{expected a tile in registers (#rtile.fragment), found 'tensor<64x64xbf16, #rtile.swizzled>'}}
    %t = rtile.load %v[%c0, %c0] : !rtile.view<64x64xbf16> -> tensor<64x64xbf16, #rtile.swizzled>
  }
  rtile.return
}

// -----

// The right operand of a product lies in a slot.

rtile.func @right_in_registers(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  rtile.role "compute" warps = 4 {
    %a = arith.constant dense<1.0> : tensor<64x64xbf16, #rtile.fragment<4>>
    // expected-error@+1 {{expected a right operand in a slot (#rtile.swizzled), found 'tensor<64x64xbf16, #rtile.fragment<4>>'}}
    %p = rtile.start_dot %a, %a : tensor<64x64xbf16, #rtile.fragment<4>>, tensor<64x64xbf16, #rtile.fragment<4>> -> tensor<64x64xf32, #rtile.fragment<4>>
  }
  rtile.return
}

// -----

// The left one lies in the registers of those who multiply.

rtile.func @left_of_others(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  %c = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
    %t = rtile.read %s : !rtile.slot<64x64xbf16> -> tensor<64x64xbf16, #rtile.swizzled>
    %a = arith.constant dense<1.0> : tensor<64x64xbf16, #rtile.fragment<4>>
    // expected-error@+1 {{expected a left operand of 8 warps like the result, found 'tensor<64x64xbf16, #rtile.fragment<4>>'}}
    %p = rtile.start_dot %a, %t : tensor<64x64xbf16, #rtile.fragment<4>>, tensor<64x64xbf16, #rtile.swizzled> -> tensor<64x64xf32, #rtile.fragment<8>>
  }
  rtile.return
}

// -----

// Products are sums of one depth.

rtile.func @product_depth(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  %c = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
    %t = rtile.read %s : !rtile.slot<64x64xbf16> -> tensor<64x64xbf16, #rtile.swizzled>
    %a = arith.constant dense<1.0> : tensor<64x32xbf16, #rtile.fragment<4>>
    // expected-error@+1 {{expected operands of one depth, found 32 and 64}}
    %p = rtile.start_dot %a, %t : tensor<64x32xbf16, #rtile.fragment<4>>, tensor<64x64xbf16, #rtile.swizzled> -> tensor<64x64xf32, #rtile.fragment<4>>
  }
  rtile.return
}

// -----

// The sum that a product adds to lies where it does.

rtile.func @product_init(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  %c = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
    %t = rtile.read %s : !rtile.slot<64x64xbf16> -> tensor<64x64xbf16, #rtile.swizzled>
    %z = arith.constant dense<0.0> : tensor<64x64xf32>
    // expected-error@+1 {{failed to verify that init has the type of the result}}
    %p = "rtile.start_dot"(%t, %t, %z) <{operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (tensor<64x64xbf16, #rtile.swizzled>, tensor<64x64xbf16, #rtile.swizzled>, tensor<64x64xf32>) -> !rtile.pending<tensor<64x64xf32, #rtile.fragment<4>>>
  }
  rtile.return
}

// -----

// A product ends as what was started.

rtile.func @finish_type(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  %c = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
    %t = rtile.read %s : !rtile.slot<64x64xbf16> -> tensor<64x64xbf16, #rtile.swizzled>
    %p = rtile.start_dot %t, %t : tensor<64x64xbf16, #rtile.swizzled>, tensor<64x64xbf16, #rtile.swizzled> -> tensor<64x64xf32, #rtile.fragment<4>>
    // expected-error@+1 {{expected a result of 'tensor<64x64xf32, #rtile.fragment<4>>', found 'tensor<64x64xf32>'}}
    %q = "rtile.finish_dot"(%p) : (!rtile.pending<tensor<64x64xf32, #rtile.fragment<4>>>) -> tensor<64x64xf32>
  }
  rtile.return
}

// -----

// Its warps are those of the role, also while it is under way.

rtile.func @pending_warps(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  %c = rtile.channel slots = 2 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 4 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
    %t = rtile.read %s : !rtile.slot<64x64xbf16> -> tensor<64x64xbf16, #rtile.swizzled>
    // expected-error@+1 {{expected tiles in the registers of the 4 warps of role 'compute', found 'tensor<64x64xf32, #rtile.fragment<8>>'}}
    %p = rtile.start_dot %t, %t : tensor<64x64xbf16, #rtile.swizzled>, tensor<64x64xbf16, #rtile.swizzled> -> tensor<64x64xf32, #rtile.fragment<8>>
  }
  rtile.return
}

// -----

// Products run beside other work of a role.

rtile.func @product_outside(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  %a = arith.constant dense<1.0> : tensor<64x64xbf16>
  // expected-error@+1 {{expected a role (rtile.role) around it}}
  %p = rtile.start_dot %a, %a : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  rtile.role "compute" warps = 4 {
  }
  rtile.return
}

// -----

// Groups of four warps take turns.

rtile.func @turns_warps(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  rtile.role "compute" warps = 6 {
    // expected-error@+1 {{expected a role of a multiple of 4 warps, found 6}}
    rtile.in_turn {
      rtile.yield
    }
  }
  rtile.return
}

// -----

// To wait for a turn within a turn would be to wait for oneself.

rtile.func @turns_nested(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  rtile.role "compute" warps = 4 {
    rtile.in_turn {
      // expected-error@+1 {{expected turns that are not inside others}}
      rtile.in_turn {
        rtile.yield
      }
      rtile.yield
    }
  }
  rtile.return
}

// -----

// Turns belong to roles.

rtile.func @turns_outside(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  // expected-error@+1 {{expected a role (rtile.role) around it}}
  rtile.in_turn {
    rtile.yield
  }
  rtile.role "compute" warps = 4 {
  }
  rtile.return
}

// -----

// A turn has the results that its body yields.

rtile.func @turns_results(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  rtile.role "compute" warps = 4 {
    // expected-error@+1 {{expected a body that yields 'index', found 'index', 'index'}}
    %a = rtile.in_turn -> index {
      rtile.yield %i, %i : index, index
    }
  }
  rtile.return
}

// -----

// Its body ends in a yield.

rtile.func @turns_yield(%x: memref<?x64xbf16>) grid(%i: index) scheduled {
  %s = builtin.unrealized_conversion_cast %i : index to !rtile.slot<64x64xbf16>
  rtile.role "compute" warps = 4 {
    // expected-error@+1 {{expected a body that ends in rtile.yield}}
    rtile.in_turn {
      rtile.release %s : !rtile.slot<64x64xbf16>
    }
  }
  rtile.return
}
