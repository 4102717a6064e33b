//===- assign-roles-invalid.mlir - Schedules that say nothing ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --rtile-assign-roles --verify-diagnostics

// expected-error@+1 {{expected rtile.schedule to be a list, found 4 : i64}}
rtile.func @no_list(%X: memref<64x64xf16>) grid(%i: index) attributes {rtile.schedule = 4} {
  rtile.return
}

// -----

// expected-error@+1 {{expected rtile.schedule with query_in_registers and walk, found {slots = 2 : i64}}}
rtile.func @no_walk(%X: memref<64x64xf16>) grid(%i: index) attributes {rtile.schedule = {slots = 2}} {
  rtile.return
}

// -----

// expected-error@+1 {{expected rtile.schedule with slots in [1, 16], found}}
rtile.func @many_slots(%X: memref<64x64xf16>) grid(%i: index) attributes {rtile.schedule = {
    compute_registers = 240, compute_warps = 4, load_registers = 40, load_warps = 4,
    query_in_registers = false, slots = 17, walk = #rtile.walk<strided>}} {
  rtile.return
}

// -----

// expected-error@+1 {{expected rtile.schedule with load_warps in [1, 31], found}}
rtile.func @no_warps(%X: memref<64x64xf16>) grid(%i: index) attributes {rtile.schedule = {
    compute_registers = 240, compute_warps = 4, load_registers = 40, load_warps = 4 : i32,
    query_in_registers = false, slots = 1, walk = #rtile.walk<strided>}} {
  rtile.return
}
