//===- invalid-schedules.mlir - Schedules that are refused ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics

// Somebody does the work.

// expected-error@+1 {{expected at least one role in a schedule}}
#schedule = #rtile.schedule<roles = [], slots = 2, walk = <strided>>

// -----

// Roles are found by their names.

// expected-error@+1 {{expected roles of different names, found 'load' twice}}
#schedule = #rtile.schedule<roles = [<"load", warps = 4>, <"load", warps = 8>], slots = 2, walk = <strided>>

// -----

// expected-error@+1 {{expected a role with a name, found ''}}
#role = #rtile.schedule_role<"", warps = 4>

// -----

// A block has 1024 threads.

// expected-error@+1 {{expected 1 to 32 warps of a role, found 0}}
#role = #rtile.schedule_role<"load", warps = 0>

// -----

// expected-error@+1 {{expected roles of at most 32 warps together, found 36}}
#schedule = #rtile.schedule<roles = [<"load", warps = 4>, <"compute", warps = 32>], slots = 2, walk = <strided>>

// -----

// Registers change hands in eights, and by groups of four warps.

// expected-error@+1 {{expected a multiple of 8 registers from 24 to 240, or 0 to leave them as they are, found 100; the nearest is 104}}
#role = #rtile.schedule_role<"load", warps = 4, registers = 100>

// -----

// expected-error@+1 {{expected a multiple of 4 warps, which change their registers together, found 1; the nearest is 4}}
#role = #rtile.schedule_role<"load", warps = 1, registers = 40>

// -----

// A multiprocessor has room for 64 warps.

// expected-error@+1 {{expected 1 to 5 blocks of 12 warps a multiprocessor, found 6}}
#schedule = #rtile.schedule<roles = [<"load", warps = 4>, <"compute", warps = 8>], blocks = 6, slots = 2, walk = <strided>>

// -----

// expected-error@+1 {{expected 1 to 16 blocks of 4 warps a multiprocessor, found 0}}
#schedule = #rtile.schedule<roles = [<"load", warps = 4>], blocks = 0, slots = 2, walk = <strided>>

// -----

// Blocks of a plain kernel are its schedule's business.

// expected-error@+1 {{expected blocks of a scheduled kernel, found those of a plain one; its schedule says how many it is to have}}
rtile.func @blocks_of_plain(%x: memref<?x64xbf16>) grid(%i: index) blocks = 2 {
  rtile.return
}

// -----

// A channel has slots.

// expected-error@+1 {{expected 1 to 16 slots of a channel, found 17}}
#schedule = #rtile.schedule<roles = [<"load", warps = 4>], slots = 17, walk = <strided>>

// -----

// expected-error@+1 {{expected 1 to 16 slots of a channel, or 0 for what the schedule says of all, found 17}}
#operand = #rtile.schedule_operand<buffer = 0, slots = 17>

// -----

// What differs for a buffer is said once.

// expected-error@+1 {{expected one operand of each buffer, found buffer 1 twice}}
#schedule = #rtile.schedule<roles = [<"load", warps = 4>], slots = 2, walk = <strided>, operands = [<buffer = 1, slots = 1>, <buffer = 1, left = registers>]>

// -----

// expected-error@+1 {{expected the number of a parameter as buffer, found -1}}
#operand = #rtile.schedule_operand<buffer = -1>

// -----

// Operands come from buffers of the kernel.

// expected-error@+1 {{expected operands of a schedule to come from buffers, found parameter 1 of 2}}
rtile.func @scalar(%x: memref<?x64xbf16, strided<[?, 1]>>, %n: index) grid(%i: index)
    schedule = <roles = [<"load", warps = 4>], slots = 2, walk = <strided>, operands = [<buffer = 1, slots = 1>]> {
  rtile.return
}

// -----

// expected-error@+1 {{expected operands of a schedule to come from buffers, found parameter 2 of 2}}
rtile.func @grid_point(%x: memref<?x64xbf16, strided<[?, 1]>>, %n: index) grid(%i: index)
    schedule = <roles = [<"load", warps = 4>], slots = 2, walk = <strided>, operands = [<buffer = 2, slots = 1>]> {
  rtile.return
}

// -----

// Its walk is one of the kernel's grid.

// expected-error@+1 {{expected an order of the 1 axes of the grid, found 2}}
rtile.func @walk(%x: memref<?x64xbf16, strided<[?, 1]>>) grid(%i: index)
    schedule = <roles = [<"load", warps = 4>], slots = 2, walk = <strided, order = [1, 0]>> {
  rtile.return
}

// -----

// A kernel that has roles has no use for it.

// expected-error@+1 {{expected a schedule of a plain kernel; a scheduled one has roles}}
rtile.func @scheduled(%x: memref<?x64xbf16, strided<[?, 1]>>) grid(%i: index) scheduled
    schedule = <roles = [<"load", warps = 4>], slots = 2, walk = <strided>> {
  rtile.role "load" warps = 4 {
  }
  rtile.return
}
