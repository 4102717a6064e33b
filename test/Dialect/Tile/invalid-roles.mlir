//===- invalid-roles.mlir - Scheduled kernels and roles that are refused ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics

// Roles are for scheduled kernels.

rtile.func @role_in_plain() grid(%i: index) {
  // expected-error@+1 {{expected a kernel marked as scheduled around it}}
  rtile.role "compute" warps = 4 {
  }
  rtile.return
}

// -----

// So are channels.

rtile.func @channel_in_plain() grid(%i: index) {
  // expected-error@+1 {{expected a kernel marked as scheduled around it}}
  %c = rtile.channel slots = 1 : !rtile.channel<64x64xbf16>
  rtile.role "load" warps = 1 {
    %s = rtile.acquire %c : !rtile.channel<64x64xbf16>
  }
  rtile.role "compute" warps = 4 {
    %s = rtile.await %c : !rtile.channel<64x64xbf16>
  }
  rtile.return
}

// -----

// Tiles of a plain kernel lie nowhere.

rtile.func @encoding_in_plain() grid(%i: index) {
  // expected-error@+1 {{expected tiles without encoding in a plain kernel, found 'tensor<64x64xf32, #rtile.fragment<4>>'}}
  %a = arith.constant dense<1.0> : tensor<64x64xf32, #rtile.fragment<4>>
  rtile.return
}

// -----

// Nor do they in its blocks.

rtile.func @encoding_in_plain_block() grid(%i: index) {
  %c0 = arith.constant 0 : index
  %x = builtin.unrealized_conversion_cast %i : index to tensor<4xf32>
  // expected-error@+1 {{expected types of the plain form in a plain kernel, found '!rtile.slot<64x64xbf16>'}}
  %s = builtin.unrealized_conversion_cast %i : index to !rtile.slot<64x64xbf16>
  rtile.return
}

// -----

// A scheduled kernel has a role.

// expected-error@+1 {{expected at least one role in a scheduled kernel}}
rtile.func @no_role() grid(%i: index) scheduled {
  rtile.return
}

// -----

// What all roles know is computed by each of them: it has no effects, and what it
// reads are lists.

rtile.func @effect_before_roles(%x: memref<?xf32>) grid(%i: index) scheduled {
  %v = rtile.view %x[*] : memref<?xf32> to !rtile.view<64xf32>
  // expected-error@+1 {{expected operations without effects, or reads of lists of integers that the kernel gets, in front of its roles}}
  %t = rtile.load %v[%i] : !rtile.view<64xf32>
  rtile.role "compute" warps = 4 {
  }
  rtile.return
}

// -----

// It has no tiles either, but for constants.

rtile.func @tile_before_roles() grid(%i: index) scheduled {
  %a = arith.constant dense<1.0> : tensor<64xf32>
  // expected-error@+1 {{expected scalars and views in front of the roles of a kernel, found 'tensor<64xf32>'}}
  %b = arith.addf %a, %a : tensor<64xf32>
  rtile.role "compute" warps = 4 {
  }
  rtile.return
}

// -----

// Roles run at the same time: nothing comes after one.

rtile.func @behind_roles() grid(%i: index) scheduled {
  rtile.role "compute" warps = 4 {
  }
  // expected-error@+1 {{expected nothing but roles behind the first role of a kernel}}
  %a = arith.addi %i, %i : index
  rtile.return
}

// -----

// Roles are told apart by their names.

rtile.func @names() grid(%i: index) scheduled {
  rtile.role "a" warps = 4 {
  }
  // expected-error@+1 {{expected roles of different names, found 'a' twice}}
  rtile.role "a" warps = 4 {
  }
  rtile.return
}

// -----

// A block has at most 32 warps.

// expected-error@+1 {{expected roles of at most 32 warps together, found 33}}
rtile.func @warps() grid(%i: index) scheduled {
  rtile.role "a" warps = 32 {
  }
  rtile.role "b" warps = 1 {
  }
  rtile.return
}

// -----

// The order of a walk names every axis of the grid.

// expected-error@+1 {{expected an order of the 1 axes of the grid, found 2}}
rtile.func @walk_order() grid(%i: index) walk = <each, order = [1, 0]> {
  rtile.return
}

// -----

// An axis that is reversed is one of the grid.

// expected-error@+1 {{expected reversed axes below 1, found 1}}
rtile.func @walk_axis() grid(%i: index) walk = <each, reversed = [1]> {
  rtile.return
}

// -----

// The length that sections are counted by is the size of a buffer.

// expected-error@+1 {{expected a length that is a size of a buffer, found axis 2 of argument 0}}
rtile.func @walk_length(%x: memref<?x64xf32>) grid(%i: index)
    walk = <each, section = 1, rows = 64, length = [0, 2]> {
  rtile.return
}

// -----

// expected-error@+1 {{expected a length that is a size of a buffer, found axis 0 of argument 1}}
rtile.func @walk_length_of_scalar(%x: memref<?x64xf32>, %n: index)
    grid(%i: index) walk = <each, section = 1, rows = 64, length = [1, 0]> {
  rtile.return
}

// -----

// To reverse an axis twice is a mistake.

// expected-error@+1 {{expected reversed axes once, found 0 twice}}
rtile.func @walk_twice() grid(%i: index) walk = <each, reversed = [0, 0]> {
  rtile.return
}

// -----

// Registers change hands by eights.

rtile.func @registers_unit() grid(%i: index) scheduled {
  // expected-error@+1 {{expected a multiple of 8 registers from 24 to 240, or 0 to leave them as they are, found 42; the nearest is 40}}
  rtile.role "a" warps = 4 registers = 42 {
  }
  rtile.return
}

// -----

// No thread has more than 240 of them.

rtile.func @registers_many() grid(%i: index) scheduled {
  // expected-error@+1 {{found 248; the nearest is 240}}
  rtile.role "a" warps = 4 registers = 248 {
  }
  rtile.return
}

// -----

// No thread has fewer than 24.

rtile.func @registers_few() grid(%i: index) scheduled {
  // expected-error@+1 {{found 8; the nearest is 24}}
  rtile.role "a" warps = 4 registers = 8 {
  }
  rtile.return
}

// -----

// Groups of four warps change their registers together.

rtile.func @registers_warps() grid(%i: index) scheduled {
  // expected-error@+1 {{expected a multiple of 4 warps, which change their registers together, found 6; the nearest is 8}}
  rtile.role "a" warps = 6 registers = 40 {
  }
  rtile.return
}

// -----

// A role has a warp.

rtile.func @no_warp() grid(%i: index) scheduled {
  // expected-error@+1 {{attribute 'warps' failed to satisfy constraint}}
  rtile.role "a" warps = 0 {
  }
  rtile.return
}

// -----

// A tile in registers lies in those of its role's warps.

rtile.func @role_fragment() grid(%i: index) scheduled {
  rtile.role "a" warps = 8 {
    // expected-error@+1 {{expected tiles in the registers of the 8 warps of role 'a', found 'tensor<64x64xf32, #rtile.fragment<4>>'}}
    %a = arith.constant dense<1.0> : tensor<64x64xf32, #rtile.fragment<4>>
  }
  rtile.return
}

// -----

// This holds for tiles that a loop carries, too: the first block to have them.

rtile.func @role_fragment_in_loop() grid(%i: index) scheduled {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<1.0> : tensor<64xf32, #rtile.fragment<4>>
  rtile.role "a" warps = 8 {
    // expected-error@+1 {{expected tiles in the registers of the 8 warps of role 'a', found 'tensor<64xf32, #rtile.fragment<4>>'}}
    %b = scf.for %n = %c0 to %i step %i iter_args(%x = %a) -> (tensor<64xf32, #rtile.fragment<4>>) {
      scf.yield %x : tensor<64xf32, #rtile.fragment<4>>
    }
  }
  rtile.return
}

// -----

// Operands and results of an operation lie in one way.

rtile.func @one_encoding_broadcast() grid(%i: index) scheduled {
  rtile.role "a" warps = 4 {
    %a = arith.constant dense<1.0> : tensor<64xf32, #rtile.fragment<4>>
    // expected-error@+1 {{expected tiles of one encoding, found 'tensor<64xf32, #rtile.fragment<4>>' and 'tensor<64x8xf32>'}}
    %b = rtile.broadcast %a : tensor<64xf32, #rtile.fragment<4>> -> tensor<64x8xf32>
  }
  rtile.return
}
