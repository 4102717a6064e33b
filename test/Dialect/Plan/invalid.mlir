//===- invalid.mlir - What the rplan dialect refuses ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics

// Sizes and scalars.

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @size_axis(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{expected an axis below 1, found 1}}
  %n = rplan.size %x[1] : memref<?xf32, strided<[1]>>
  rplan.return
}

// -----

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @size_of_scalar(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{expected an axis below 0, found 0}}
  %n = rplan.size %z[0] : memref<i64>
  rplan.return
}

// -----

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @size_negative_axis(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{attribute 'axis' failed to satisfy constraint}}
  %n = rplan.size %x[-1] : memref<?xf32, strided<[1]>>
  rplan.return
}

// -----

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @size_far_axis(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{expected an axis below 1, found 9223372036854775807}}
  %n = rplan.size %x[9223372036854775807] : memref<?xf32, strided<[1]>>
  rplan.return
}

// -----

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @read_tensor(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{operand #0 must be 0D memref of 64-bit signless integer values}}
  %n = rplan.read %y : memref<4xf32>
  rplan.return
}

// -----

// Requirements.

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @unknown_relation(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{one of the following enum values for attribute 'comparison' [eq, ne, lt, le]}}
  rplan.require gt %c, %c, "text"
  rplan.return
}

// -----

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @relation_out_of_range(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{Invalid attribute `comparison` in property conversion: 7}}
  "rplan.require"(%c, %c) <{comparison = 7 : i32, message = ""}> : (index, index) -> ()
  rplan.return
}

// -----

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @no_relation(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{requires attribute 'comparison'}}
  "rplan.require"(%c, %c) : (index, index) -> ()
  rplan.return
}

// -----

// Buffers.

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @workspace_size_missing(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{expected one size for each of the 1 '?' of 'memref<?xf32>', found 0}}
  %b = rplan.workspace() : memref<?xf32>
  rplan.return
}

// -----

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @workspace_size_left_over(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{expected one size for each of the 0 '?' of 'memref<4xf32>', found 1}}
  %b = rplan.workspace(%c) : memref<4xf32>
  rplan.return
}

// -----

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @workspace_strided(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{expected a contiguous buffer, found 'memref<4xf32, strided<[2]>>'}}
  %b = rplan.workspace() : memref<4xf32, strided<[2]>>
  rplan.return
}

// -----

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @workspace_unranked(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{expected builtin.memref}}
  %b = rplan.workspace() : memref<*xf32>
  rplan.return
}

// -----

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @table_static(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{expected a table of memref<?xi64>, found 'memref<4xi64>'}}
  %t = rplan.order_table #rlayout.order<residue<4>> length(%c) : memref<4xi64>
  rplan.return
}

// -----

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @table_strided(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{expected a table of memref<?xi64>, found 'memref<?xi64, strided<[2]>>'}}
  %t = rplan.order_table #rlayout.order<residue<4>> length(%c) : memref<?xi64, strided<[2]>>
  rplan.return
}

// -----

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @table_element(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{result #0 must be 1D memref of 64-bit signless integer values}}
  %t = "rplan.order_table"(%c) <{order = #rlayout.order<linear>}> : (index) -> memref<?xi32>
  rplan.return
}

// -----

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @table_without_order(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{requires attribute 'order'}}
  %t = "rplan.order_table"(%c) : (index) -> memref<?xi64>
  rplan.return
}

// -----

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @o2_ordinals_without_volume(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 0 : index
  // expected-error@+1 {{expected an order with a volume, found #rlayout.order<residue<4>> (O2)}}
  %t = rplan.ordinal_table #rlayout.order<residue<4>> first(%c) : memref<?xi64>
  rplan.return
}

// -----

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @o1_positions_in_memory(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 0 : index
  // expected-error@+1 {{expected a memory order with rows only (O1)}}
  %t = rplan.ordinal_table #rlayout.order<hilbert, grid = [2, 2]> first(%c) memory(#rlayout.order<residue<4>>) : memref<?xi64>
  rplan.return
}

// -----

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @ordinals_without_offset(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 0 : index
  // expected-error@+1 {{expected length and offset together}}
  %t = "rplan.ordinal_table"(%c, %c) <{operandSegmentSizes = array<i32: 1, 1, 0>, order = #rlayout.order<hilbert, grid = [2, 2]>}> : (index, index) -> memref<?xi64>
  rplan.return
}

// -----

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @ordinals_static(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 0 : index
  // expected-error@+1 {{expected a table of memref<?xi64>, found 'memref<4xi64>'}}
  %t = rplan.ordinal_table #rlayout.order<hilbert, grid = [2, 2]> first(%c) : memref<4xi64>
  rplan.return
}

// -----

rplan.func @tile_index_height() outputs() names [] {
  %c = arith.constant 0 : index
  // expected-error@+1 {{expected tile sides in [1, 1024], found 0}}
  %t = rplan.tile_index queries(%c from %c) keys(%c) lists(%c, %c from %c) tile = [16, 0] rate = 1 : memref<?xi64>
  rplan.return
}

// -----

rplan.func @b1_tile_index_rate() outputs() names [] {
  %c = arith.constant 0 : index
  // expected-error@+1 {{expected a rate of at most the segment length 3, found 4 (B1)}}
  %t = rplan.tile_index queries(%c from %c) keys(%c) lists(%c, %c from %c) tile = [16, 16] w = 3 rate = 4 : memref<?xi64>
  rplan.return
}

// -----

rplan.func @b2_tile_index_residues() outputs() names [] {
  %c = arith.constant 0 : index
  // expected-error@+1 {{expected residues from 0 to 3, each once, found 5 from 1 on (B2)}}
  %t = rplan.tile_index queries(%c from %c) keys(%c) lists(%c, %c from %c) tile = [16, 16] rate = 4 residues = [1, 5] : memref<?xi64>
  rplan.return
}

// -----

rplan.func @b2_tile_index_first_residue() outputs() names [] {
  %c = arith.constant 0 : index
  // expected-error@+1 {{expected residues from 0 to 3, each once, found 1 from 4 on (B2)}}
  %t = rplan.tile_index queries(%c from %c) keys(%c) lists(%c, %c from %c) tile = [16, 16] rate = 4 residues = [4, 1] : memref<?xi64>
  rplan.return
}

// -----

rplan.func @b4_tile_index_window() outputs() names [] {
  %c = arith.constant 0 : index
  // expected-error@+1 {{expected window sides of at least 0, or -1 for no limit, found -7 (B4)}}
  %t = rplan.tile_index queries(%c from %c) keys(%c) lists(%c, %c from %c) tile = [16, 16] rate = 1 window = [0, -7] : memref<?xi64>
  rplan.return
}

// -----

rplan.func @b5_tile_index_reach() outputs() names [] {
  %c = arith.constant 0 : index
  // expected-error@+1 {{expected one reach for each of the 2 axes, found 1 (B5)}}
  %t = rplan.tile_index queries(%c from %c) keys(%c) lists(%c, %c from %c) tile = [16, 16] rate = 1 grid = [4, 4] reach = [1] : memref<?xi64>
  rplan.return
}

// -----

rplan.func @tile_index_type() outputs() names [] {
  %c = arith.constant 0 : index
  // expected-error@+1 {{expected a table of memref<?xi64>, found 'memref<4xi64>'}}
  %t = rplan.tile_index queries(%c from %c) keys(%c) lists(%c, %c from %c) tile = [16, 16] rate = 1 : memref<4xi64>
  rplan.return
}

// -----

// Launches.

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @launch_nothing(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{expected a kernel, found no symbol @nope}}
  rplan.launch @nope grid(%c) args()
  rplan.return
}

// -----

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @launch_a_plan(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{expected a kernel, found the plan @launch_a_plan}}
  rplan.launch @launch_a_plan grid(%c) args()
  rplan.return
}

// -----

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @launch_grid(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{expected a grid of rank 1 for @kernel, found 2}}
  rplan.launch @kernel grid(%c, %c) args(%x, %c) : memref<?xf32, strided<[1]>>, index
  rplan.return
}

// -----

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @launch_without_grid(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{expected a grid of rank 1 for @kernel, found 0}}
  rplan.launch @kernel grid() args()
  rplan.return
}

// -----

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @launch_arguments(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{expected arguments of types ('memref<?xf32, strided<[1]>>', 'index') for @kernel, found ('memref<?xf32, strided<[1]>>')}}
  rplan.launch @kernel grid(%c) args(%x) : memref<?xf32, strided<[1]>>
  rplan.return
}

// -----

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @launch_argument_order(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{for @kernel, found ('index',}}
  rplan.launch @kernel grid(%c) args(%c, %x) : index, memref<?xf32, strided<[1]>>
  rplan.return
}

// -----

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @launch_nested_symbol(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{Invalid attribute `kernel` in property conversion}}
  "rplan.launch"(%c) <{kernel = @kernel::@inner, operandSegmentSizes = array<i32: 1, 0, 0, 0, 0>}> : (index) -> ()
  rplan.return
}

// -----

rtile.func @kernel(%x: memref<?xf32, strided<[1]>>, %n: index)
    grid(%i: index) {
  rtile.return
}
rplan.func @launch_without_segments(%x: memref<?xf32, strided<[1]>>, %y: memref<4xf32>,
                   %z: memref<i64>) outputs(%w: memref<?x8xf32>)
    names ["x", "y", "z", "w"] {
  %c = arith.constant 4 : index
  // expected-error@+1 {{does not match with the total size (0) specified in attribute 'operandSegmentSizes'}}
  "rplan.launch"(%c) <{kernel = @kernel}> : (index) -> ()
  rplan.return
}

// -----

// Plans.

// expected-error@+1 {{expected different names, found "x" twice}}
rplan.func @names_repeat(%x: memref<4xf32>) outputs(%y: memref<4xf32>)
    names ["x", "x"] {
  rplan.return
}

// -----

// expected-error@+1 {{expected names that are not empty}}
rplan.func @name_empty(%x: memref<4xf32>) outputs() names [""] { rplan.return }

// -----

// expected-error@+1 {{expected one name for each of the 1 arguments, found 0}}
rplan.func @names_missing(%x: memref<4xf32>) outputs() names [] { rplan.return }

// -----

// expected-error@+1 {{attribute 'names' failed to satisfy constraint: argument names}}
rplan.func @names_of_numbers(%x: memref<4xf32>) outputs() names [4] { rplan.return }

// -----

// expected-error@+1 {{expected arguments of type memref, found 'index'}}
rplan.func @argument(%x: index) outputs() names ["x"] { rplan.return }

// -----

// expected-error@+1 {{expected a body that ends in rplan.return}}
rplan.func @no_return() outputs() names [] {
  %c = arith.constant 4 : index
}

// -----

// expected-error@+1 {{expects parent op 'rplan.func'}}
"rplan.return"() : () -> ()

// -----

// The generic form with parts missing or of the wrong kind.

// expected-error@+1 {{expected 1 inputs, found 0 arguments}}
"rplan.func"() <{sym_name = "f", num_inputs = 1 : i64, names = []}> ({ "rplan.return"() : () -> () }) : () -> ()

// -----

// expected-error@+1 {{attribute 'num_inputs' failed to satisfy constraint}}
"rplan.func"() <{sym_name = "f", num_inputs = -1 : i64, names = []}> ({ "rplan.return"() : () -> () }) : () -> ()

// -----

// expected-error@+1 {{requires attribute 'names'}}
"rplan.func"() <{sym_name = "f", num_inputs = 0 : i64}> ({ "rplan.return"() : () -> () }) : () -> ()

// -----

// expected-error@+1 {{failed to verify constraint: region with 1 blocks}}
"rplan.func"() <{sym_name = "f", num_inputs = 0 : i64, names = []}> ({}) : () -> ()
