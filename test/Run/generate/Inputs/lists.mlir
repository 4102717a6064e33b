//===- lists.mlir - Lists that kernels write and read ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// All of the table, by a range that is larger than any.
rtile.func @clear(%table: memref<?xi64>) grid(%i: index) {
  %least = arith.constant -9223372036854775808 : index
  %most = arith.constant 9223372036854775807 : index
  %none = arith.constant -4611686018427387904 : i64
  rtile.generate %table[%place = %least to %most] {
    rtile.yield %none : i64
  } : memref<?xi64>
  rtile.return
}

// Entry p is the sum of the numbers of the list, times p plus the number's
// place, that are even, or of their negatives where p is a multiple of 3: more
// entries than a block has threads, in loops of other lengths for each.
rtile.func @sums(%list: memref<?xi64>, %table: memref<?xi64>, %begin: index,
                 %end: index) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %numbers = memref.dim %list, %c0 : memref<?xi64>
  rtile.generate %table[%place = %begin to %end] {
    %rest = arith.remui %place, %c3 : index
    %is_third = arith.cmpi eq, %rest, %c0 : index
    %turns = arith.addi %rest, %c1 : index
    %total = scf.for %n = %c0 to %numbers step %c1 iter_args(%sum = %zero)
        -> (i64) {
      %number = memref.load %list[%n] : memref<?xi64>
      %repeated = scf.for %k = %c0 to %turns step %c1 iter_args(%part = %sum)
          -> (i64) {
        %factor = arith.addi %place, %n : index
        %wide = arith.index_cast %factor : index to i64
        %product = arith.muli %number, %wide : i64
        %bit = arith.andi %product, %one : i64
        %is_even = arith.cmpi eq, %bit, %zero : i64
        %kept = arith.select %is_even, %product, %one : i64
        %next = arith.addi %part, %kept : i64
        scf.yield %next : i64
      }
      scf.yield %repeated : i64
    }
    %entry = scf.if %is_third -> (i64) {
      %negative = arith.subi %zero, %total : i64
      scf.yield %negative : i64
    } else {
      scf.yield %total : i64
    }
    rtile.yield %entry : i64
  } : memref<?xi64>
  rtile.return
}

// The rows of each sequence in reverse, 100 places for each point of the grid.
rtile.func @reverse(%starts: memref<?xi64>, %rows: memref<?xi64>)
    grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %one = arith.constant 1 : i64
  %begin = arith.muli %i, %c100 : index
  %end = arith.addi %begin, %c100 : index
  %count = memref.dim %starts, %c0 : memref<?xi64>
  rtile.generate %rows[%place = %begin to %end] {
    %row = arith.index_cast %place : index to i64
    %first, %next = scf.for %n = %c1 to %count step %c1
        iter_args(%low = %row, %high = %row) -> (i64, i64) {
      %before = arith.subi %n, %c1 : index
      %start = memref.load %starts[%before] : memref<?xi64>
      %stop = memref.load %starts[%n] : memref<?xi64>
      %begun = arith.cmpi sle, %start, %row : i64
      %open = arith.cmpi slt, %row, %stop : i64
      %here = arith.andi %begun, %open : i1
      %low_here = arith.select %here, %start, %low : i64
      %high_here = arith.select %here, %stop, %high : i64
      scf.yield %low_here, %high_here : i64, i64
    }
    %sum = arith.addi %first, %next : i64
    %last = arith.subi %sum, %one : i64
    %entry = arith.subi %last, %row : i64
    rtile.yield %entry : i64
  } : memref<?xi64>
  rtile.return
}

// y[i] = x[rows[i]], with rows of the launch in front.
rtile.func @gather(%x: memref<?x24xf32, strided<[?, 1]>>, %rows: memref<?xi64>,
                   %y: memref<?x24xf32, strided<[?, 1]>>) grid(%i: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %from = rtile.view %x[*, *] rows(%rows : memref<?xi64>)
      : memref<?x24xf32, strided<[?, 1]>> to !rtile.view<16x24xf32, indexed>
  %to = rtile.view %y[*, *] : memref<?x24xf32, strided<[?, 1]>>
      to !rtile.view<16x24xf32>
  %row = arith.muli %i, %c16 : index
  %tile = rtile.load %from[%row, %c0] : !rtile.view<16x24xf32, indexed>
  rtile.store %tile, %to[%row, %c0] : !rtile.view<16x24xf32>
  rtile.return
}

rplan.func @lists(%x: memref<?x24xf32, strided<[?, 1]>>,
                  %starts: memref<?xi64>, %list: memref<?xi64>,
                  %begin: memref<i64>, %end: memref<i64>)
    outputs(%y: memref<?x24xf32, strided<[?, 1]>>, %table: memref<?xi64>)
    names ["x", "starts", "list", "begin", "end", "result0", "result1"] {
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c100 = arith.constant 100 : index
  %n = rplan.size %x[0] : memref<?x24xf32, strided<[?, 1]>>
  %y_rows = rplan.size %y[0] : memref<?x24xf32, strided<[?, 1]>>
  %entries = rplan.size %table[0] : memref<?xi64>
  rplan.require eq %y_rows, %n, "expected result0 to have the rows of x"
  rplan.require eq %entries, %n, "expected result1 to have the rows of x"
  %first = rplan.read %begin : memref<i64>
  %last = rplan.read %end : memref<i64>
  rplan.launch @clear grid(%c1) args(%table) : memref<?xi64>
  rplan.launch @sums grid(%c1) args(%list, %table, %first, %last)
      : memref<?xi64>, memref<?xi64>, index, index
  %rows = rplan.workspace(%n) : memref<?xi64>
  %points = arith.ceildivsi %n, %c100 : index
  rplan.launch @reverse grid(%points) args(%starts, %rows)
      : memref<?xi64>, memref<?xi64>
  %tiles = arith.ceildivsi %n, %c16 : index
  rplan.launch @gather grid(%tiles) args(%x, %rows, %y)
      : memref<?x24xf32, strided<[?, 1]>>, memref<?xi64>,
        memref<?x24xf32, strided<[?, 1]>>
  rplan.return
}
