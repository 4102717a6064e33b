//===- invalid.mlir - What the rlayout dialect refuses ---*- mlir -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// RUN: ringlet-opt %s --split-input-file --verify-diagnostics

// expected-error-re@+1 {{expected a curve (linear, hilbert, morton, snake, {{.*}} or table), found 'peano'}}
func.func private @o1_unknown_curve() attributes {a = #rlayout.order<peano>}

// -----

// expected-error@+1 {{expected valid keyword}}
func.func private @no_curve() attributes {a = #rlayout.order<>}

// -----

// expected-error@+1 {{expected a rate of at least 1, found 0 (O1)}}
func.func private @o1_zero_rate() attributes {a = #rlayout.order<residue<0>>}

// -----

// expected-error@+1 {{expected a rate of at least 1, found -9223372036854775808 (O1)}}
func.func private @o1_negative_rate() attributes {a = #rlayout.residue<-9223372036854775808>}

// -----

// expected-error@+2 {{integer value too large}}
// expected-error@+1 {{failed to parse RLayout_ResidueCurve parameter 'rate'}}
func.func private @rate_beyond_64_bits() attributes {a = #rlayout.order<residue<99999999999999999999>>}

// -----

// expected-error@+1 {{expected grid for the curve hilbert (O1), found none}}
func.func private @o1_no_grid() attributes {a = #rlayout.order<hilbert>}

// -----

// expected-error@+1 {{expected grid for the curve hilbert (O1), found none}}
func.func private @o1_empty_grid() attributes {a = #rlayout.order<hilbert, grid = []>}

// -----

// expected-error@+1 {{expected sides of at least 1 (O1), found side 1 = 0 in grid [4, 0]}}
func.func private @o1_empty_side() attributes {a = #rlayout.order<snake, grid = [4, 0]>}

// -----

// expected-error@+1 {{expected sides of at least 1 (O1), found side 0 = -9223372036854775808}}
func.func private @o1_negative_side() attributes {a = #rlayout.order<snake, grid = [-9223372036854775808, 4]>}

// -----

// expected-error@+1 {{expected a grid of at most 9223372036854775807 cells (O1), found [4294967296, 4294967296]}}
func.func private @o1_grid_overflow() attributes {a = #rlayout.order<morton, grid = [4294967296, 4294967296]>}

// -----

// expected-error@+1 {{expected a grid of 2 or 3 sides for hilbert (O1), found 4 in [2, 2, 2, 2]}}
func.func private @o1_hilbert_in_four_dimensions() attributes {a = #rlayout.order<hilbert, grid = [2, 2, 2, 2]>}

// -----

// expected-error@+1 {{expected no grid for the curve residue (O1), found [4, 4]}}
func.func private @o1_residue_with_grid() attributes {a = #rlayout.order<residue<2>, grid = [4, 4]>}

// -----

// expected-error@+1 {{expected 'grid' or 'chunk' once each, found 'grid'}}
func.func private @grid_twice() attributes {a = #rlayout.order<linear, grid = [], grid = [4]>}

// -----

// expected-error@+1 {{expected 'grid' or 'chunk' once each, found 'side'}}
func.func private @unknown_key() attributes {a = #rlayout.order<linear, side = 4>}

// -----

// expected-error@+1 {{expected a positive chunk, found 0 (O1)}}
func.func private @o1_zero_chunk() attributes {a = #rlayout.order<linear, chunk = 0>}

// -----

// expected-error@+1 {{expected a chunk of the volume of grid [8, 8] (O1), found chunk = 63 for volume 64; nearest legal choice: chunk = 64}}
func.func private @o1_chunk_is_not_the_volume() attributes {a = #rlayout.order<hilbert, grid = [8, 8], chunk = 63>}

// -----

// expected-error@+1 {{expected a permutation (O4), found table[1] = 3 outside of [0, 3)}}
func.func private @o4_table_out_of_range() attributes {a = #rlayout.order<table<[0, 3, 1]>>}

// -----

// expected-error@+1 {{expected a permutation (O4), found table[2] = 0 like table[0]}}
func.func private @o4_table_repeats() attributes {a = #rlayout.order<table<[0, 1, 0]>>}

// -----

// expected-error@+1 {{expected 1 to 4096 ranks, or '?' for any number, found 0 (G1)}}
func.func private @g1_no_rank() attributes {a = #rlayout.ring<0, zigzag>}

// -----

// expected-error@+1 {{expected a positive block for striped, found 0 (G1)}}
func.func private @g1_striped_without_block() attributes {a = #rlayout.ring<4, striped>}

// -----

// expected-error@+1 {{expected no block for zigzag, found 64 (G1)}}
func.func private @g1_zigzag_with_block() attributes {a = #rlayout.ring<4, zigzag, 64>}

// -----

// expected-error@+1 {{expected a length of 64, the volume of grid [8, 8] (O1), found 100; nearest legal choice: chunk = 64}}
func.func private @o1_length_is_not_the_volume(tensor<1x100x2xf32, #rlayout.layout<order = <hilbert, grid = [8, 8]>>>)

// -----

// expected-error@+1 {{expected a sequence axis in [0, 3), found 3 (O1)}}
func.func private @o1_axis_beyond_rank(tensor<1x64x2xf32, #rlayout.layout<axis = 3>>)

// -----

// expected-error@+1 {{expected a sequence axis in [0, 1), found 1 (O1)}}
func.func private @o1_default_axis_beyond_rank(tensor<64xf32, #rlayout.layout<ring = <2, zigzag>>>)

// -----

// expected-error@+1 {{expected a sequence axis in [0, 2), found -9223372036854775808 (O1)}}
func.func private @o1_negative_axis(tensor<1x64xf32, #rlayout.layout<axis = -9223372036854775808>>)
