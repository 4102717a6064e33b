//===- TileScheduleTypes.td - types of scheduled kernels ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TILE_SCHEDULE_TYPES
#define RINGLET_TILE_SCHEDULE_TYPES

//===----------------------------------------------------------------------===//
// Where a tile is
//===----------------------------------------------------------------------===//

def RTile_FragmentAttr : AttrDef<RTile_Dialect, "Fragment",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "fragment";
  let summary = "Encoding of a tile that lies in the registers of its role";
  let description = [{
    With W warps, rows `16 w` to `16 w + 15` of every `16 W` rows belong to warp
    w; of every 16 x 8 elements lane l holds rows `l / 4` and `l / 4 + 8`,
    columns `2 (l mod 4)` and the next: the layout of the sums of `mma.m16n8`
    and, four warps a time, of `wgmma.m64` (PTX ISA). Two neighbours of 16 bits
    share a register, which makes a tile of them a left operand of either: to
    round sums to an operand no lane exchanges anything.

    A tile of one axis has a value for each row of such a tile and lies as a
    column of it does, the same in the four lanes of a row. With
    `along = columns` it has a value for each column and lies as a row does:
    lane l holds the elements `8 b + 2 (l mod 4)` and the next of every b, the
    same in all warps.

    Example:

    ```mlir
    !sums = tensor<128x64xf32, #rtile.fragment<8>>
    !left = tensor<128x64xbf16, #rtile.fragment<8>>
    !rows = tensor<128xf32, #rtile.fragment<8>>
    !columns = tensor<64xf32, #rtile.fragment<8, along = columns>>
    ```
  }];
  let parameters = (ins "int64_t":$warps,
    DefaultValuedParameter<"::ringlet::rtile::Along",
                           "::ringlet::rtile::Along::rows">:$along);
  let assemblyFormat = "`<` $warps (`,` `along` `=` $along^)? `>`";
  let builders = [AttrBuilder<(ins "int64_t":$warps), [{
    return $_get($_ctxt, warps, ::ringlet::rtile::Along::rows);
  }]>];
  let genVerifyDecl = 1;
}

def RTile_SwizzledAttr : AttrDef<RTile_Dialect, "Swizzled",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "swizzled";
  let summary = "Encoding of a tile that lies in a slot of shared memory";
  let description = [{
    Columns lie in panels of 128 bytes: panel p holds columns 64 p to 64 p + 63
    of 16-bit elements, or 32 p to 32 p + 31 of f32, one row after the other. Of each 128 bytes, the piece of
    16 bytes number c of row i lies at place `c xor (i mod 8)`: any eight
    neighbouring rows of a column of pieces are in different banks. Panels begin
    at multiples of 1024 bytes; columns beyond the tile's are zero. This is
    what TMA writes as SWIZZLE_128B, and what both majors of `wgmma` and
    `ldmatrix` read (PTX ISA, "Shared memory matrix layout").

    Example:

    ```mlir
    !keys = tensor<128x128xbf16, #rtile.swizzled>
    ```
  }];
  let assemblyFormat = "";
}

//===----------------------------------------------------------------------===//
// Handing tiles from role to role
//===----------------------------------------------------------------------===//

class RTile_TileHolder<string name, string typeMnemonic>
    : TypeDef<RTile_Dialect, name> {
  let mnemonic = typeMnemonic;
  let parameters = (ins "::mlir::RankedTensorType":$tile);
  // `<128x128xbf16>`
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [TypeBuilderWithInferredContext<
    (ins "::mlir::RankedTensorType":$tile), [{
      return $_get(tile.getContext(), tile);
    }]>];
}

def RTile_ChannelType : RTile_TileHolder<"Channel", "channel"> {
  let summary = "A ring of slots of shared memory that tiles pass through";
  let description = [{
    Made by `rtile.channel`. Tiles have one or two axes of f16, bf16 or f32. Of
    two axes they lie in their slots as `#rtile.swizzled` says, of one axis
    element after element.

    Example:

    ```mlir
    !keys = !rtile.channel<128x128xbf16>
    !sums = !rtile.channel<64xf32>
    ```
  }];
}

def RTile_SlotType : RTile_TileHolder<"Slot", "slot"> {
  let summary = "One slot of a channel, acquired or awaited";
  let description = [{
    Example:

    ```mlir
    !keys = !rtile.slot<128x128xbf16>
    ```
  }];
}

def RTile_PendingType : TypeDef<RTile_Dialect, "Pending"> {
  let mnemonic = "pending";
  let summary = "A product under way";
  let description = [{
    What `rtile.start_dot` makes and `rtile.finish_dot` turns into a tile: the
    registers cannot be read before.

    Example:

    ```mlir
    !scores = !rtile.pending<tensor<128x128xf32, #rtile.fragment<8>>>
    ```
  }];
  let parameters = (ins "::mlir::RankedTensorType":$tile);
  let assemblyFormat = "`<` $tile `>`";
  let genVerifyDecl = 1;
  let builders = [TypeBuilderWithInferredContext<
    (ins "::mlir::RankedTensorType":$tile), [{
      return $_get(tile.getContext(), tile);
    }]>];
}

//===----------------------------------------------------------------------===//
// Order of work
//===----------------------------------------------------------------------===//

def RTile_StageAttr : AttrDef<RTile_Dialect, "Stage"> {
  let mnemonic = "stage";
  let summary = "Pipeline stage and cluster of an operation of a loop";
  let description = [{
    As the attribute `rtile.stage` of an operation of a loop, or of a step that
    was peeled off in front of it: where software pipelining puts the operation.
    The pass of the pipelined loop that does stage 0 of step i does stage s of
    step i - s. Within a pass operations of lower clusters come first; those of
    one cluster keep their order, those of later stages in front. An operation
    without the attribute has stage 0 and the cluster of the operation before
    it, the first one cluster 0.

    `rtile-assign-stages` writes it, `rtile-pipeline-loops` reads it.

    Example: a product that runs one step late, after what has cluster 0.

    ```mlir
    #late = #rtile.stage<1, cluster = 1>
    ```
  }];
  let parameters = (ins "int64_t":$stage, "int64_t":$cluster);
  let assemblyFormat = "`<` $stage `,` `cluster` `=` $cluster `>`";
  let genVerifyDecl = 1;
}

def RTile_WalkAttr : AttrDef<RTile_Dialect, "Walk"> {
  let mnemonic = "walk";
  let summary = "In which order blocks visit the points of a grid";
  let description = [{
    Points are numbered with axis `order[0]` running fastest, axes in `reversed`
    from their last point to their first. `section` (0: none) cuts the points of
    all axes but the slowest one, in their order, into sections of so many: all
    points of a section come before the next one, and within it the slowest axis
    runs from its first point to its last; so what the points of a section share
    stays in a cache. With `rows`, a section is as many times as long as the size
    `length = [argument, axis]` of a buffer, that of its keys, goes into `rows`,
    but at least once: the rows of a section fit the cache at any length. With
    `per_block`, a section has so many points for each block that runs, even if
    the cache does not hold them: at its end blocks wait for its last points. It
    is not made longer for that than an eighth of the blocks, so that eight of
    them read the same rows at a time. Sections are of one length, but for the
    last one.

      * `each`: block i runs point i and ends;
      * `strided`: as many blocks as run at once; block i runs points i, i +
        blocks and so on. Channels go on from point to point, so loads for the
        next one begin early;
      * `dynamic`: the same, but a block takes the next point that no other one
        has taken.

    Example: longest first where later tiles see more keys, in sections of 65536
    rows of keys.

    ```mlir
    #last_tile_first = #rtile.walk<each, order = [1, 2, 0], reversed = [0], section = 1, rows = 65536, length = [1, 1], per_block = 6>
    ```
  }];
  let parameters = (ins
    EnumParameter<RTile_Dispatch>:$dispatch,
    OptionalArrayRefParameter<"int64_t">:$order,
    OptionalArrayRefParameter<"int64_t">:$reversed,
    DefaultValuedParameter<"int64_t", "0">:$section,
    DefaultValuedParameter<"int64_t", "0">:$rows,
    OptionalArrayRefParameter<"int64_t">:$length,
    DefaultValuedParameter<"int64_t", "0">:$perBlock);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// What a schedule decides
//===----------------------------------------------------------------------===//

def RTile_ScheduleRoleAttr : AttrDef<RTile_Dialect, "ScheduleRole"> {
  let mnemonic = "schedule_role";
  let summary = "Warps and registers of a role that a kernel is to get";
  let description = [{
    `registers` is what each thread of the role may use; 0, the default, leaves
    them as the kernel is compiled with. A part of `#rtile.schedule`.

    Example: two groups of four warps.

    ```mlir
    #compute = #rtile.schedule_role<"compute", warps = 8, registers = 232>
    ```
  }];
  let parameters = (ins StringRefParameter<>:$name, "int64_t":$warps,
    DefaultValuedParameter<"int64_t", "0">:$registers);
  let assemblyFormat = [{
    `<` $name `,` `warps` `=` $warps (`,` `registers` `=` $registers^)? `>`
  }];
  let genVerifyDecl = 1;
}

def RTile_ScheduleOperandAttr : AttrDef<RTile_Dialect, "ScheduleOperand"> {
  let mnemonic = "schedule_operand";
  let summary = "How operands of products that come from a buffer are loaded";
  let description = [{
    Of the kernel's parameter number `buffer`: `slots` of the channel for its
    tiles (0, the default: as many as the schedule says of all), and `left`,
    where products read those that are left operands: in `shared` memory, the
    default, or after they were read to `registers`. A part of
    `#rtile.schedule`.

    Example: tiles of the first parameter are read to registers, three of them
    are under way.

    ```mlir
    #queries = #rtile.schedule_operand<buffer = 0, slots = 3, left = registers>
    ```
  }];
  let parameters = (ins "int64_t":$buffer,
    DefaultValuedParameter<"int64_t", "0">:$slots,
    DefaultValuedParameter<"::ringlet::rtile::Place",
                           "::ringlet::rtile::Place::shared">:$left);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def RTile_ScheduleAttr : AttrDef<RTile_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "How a plain kernel is to be divided among warps";
  let description = [{
    Everything that the passes of `rtile-schedule` decide about a kernel before
    they give it roles, so that it can be written by hand or by a tuner as well
    (`rtile-choose-schedule` keeps what it finds):

      * `roles`: a name, warps and registers for each;
      * `blocks`: how many a multiprocessor is to hold at once, 1 if nothing is
        said; they share its registers and its shared memory;
      * `slots`: of each channel that a loop fills; others have 1;
      * `walk`: in which order blocks visit the grid;
      * `operands`: what differs for tiles of single buffers, each at most once.

    The verifier knows what holds for every kernel: names of roles differ, they
    have at most 32 warps together, registers change hands by four warps and in
    multiples of 8. Whether a kernel fits, `rtile-choose-schedule` says. Warps are
    numbered in the order of the roles.

    Example: one group of warps loads, two compute; left operands that come from
    parameter 0 are read to registers once.

    ```mlir
    #schedule = #rtile.schedule<
      roles = [<"load", warps = 4, registers = 40>,
               <"compute", warps = 8, registers = 232>],
      slots = 2, walk = <strided>, operands = [<buffer = 0, left = registers>]>
    ```

    Two blocks a multiprocessor, with half of the registers each.

    ```mlir
    #two = #rtile.schedule<
      roles = [<"load", warps = 4, registers = 32>,
               <"compute", warps = 8, registers = 104>],
      blocks = 2, slots = 4, walk = <strided>>
    ```
  }];
  let parameters = (ins
    OptionalArrayRefParameter<"::ringlet::rtile::ScheduleRoleAttr">:$roles,
    DefaultValuedParameter<"int64_t", "1">:$blocks,
    "int64_t":$slots,
    "::ringlet::rtile::WalkAttr":$walk,
    OptionalArrayRefParameter<
      "::ringlet::rtile::ScheduleOperandAttr">:$operands);
  let assemblyFormat = [{
    `<` `roles` `=` `[` (`]`) : ($roles^ `]`)? `,`
    (`blocks` `=` $blocks^ `,`)? `slots` `=` $slots `,` `walk` `=` $walk (`,` `operands` `=` `[` $operands^ `]`)? `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The role of that name, or null.
    ::ringlet::rtile::ScheduleRoleAttr getRole(::llvm::StringRef name) const;
    /// What is said of tiles of the kernel's parameter number `buffer`, or null.
    ::ringlet::rtile::ScheduleOperandAttr getOperand(int64_t buffer) const;
    /// Slots of a channel for tiles of that parameter that a loop fills.
    int64_t getSlotsOf(int64_t buffer) const;
    /// Where products read them as left operands.
    ::ringlet::rtile::Place getLeftOf(int64_t buffer) const;
  }];
}

def RTile_MapAttr : AttrDef<RTile_Dialect, "Map"> {
  let mnemonic = "map";
  let summary = "How to describe a buffer to the copy engine";
  let description = [{
    A recipe for a tensor map (CUDA driver, cuTensorMapEncodeTiled) of the
    kernel's parameter number `buffer`, which the runtime makes for each call
    from the buffer's address, sizes and strides. Axes of the map, innermost
    first:

      * the buffer's axis `columns`, of stride 1;
      * its axis `rows`; with a `rate` r above 1, every r-th row of it: size
        divided by r, r times the stride;
      * the axes `fixed`, in their order;
      * with a rate, the residues: the r rows between two of the second axis.

    A size S that r does not divide leaves residues with one row more, those
    below S mod r, than the others have. One map cannot say both, so there are
    two of them: of `residues = longer`, with ceil(S / r) rows of S mod r
    residues, and `residues = shorter`, with floor(S / r) rows of r residues.
    Whatever S is, the second one describes every residue from S mod r on, and
    reads zeros where these have no row. The default, `all`, is for a size that
    r divides.

    A box is `box[0]` rows by `box[1]` columns, written with the 128-byte
    swizzle of `#rtile.swizzled`.

    Example: 128 rows of 64 columns of a tensor [batch, sequence, head, depth].

    ```mlir
    #keys = #rtile.map<buffer = 1, rows = 1, columns = 3, fixed = [0, 2], rate = 1, box = [128, 64]>
    ```

    Example: every fourth row of it, of residues with one row more than others.

    ```mlir
    #more_keys = #rtile.map<buffer = 1, rows = 1, columns = 3, fixed = [0, 2], rate = 4, box = [128, 64], residues = longer>
    ```
  }];
  let parameters = (ins "int64_t":$buffer, "int64_t":$rows,
    "int64_t":$columns,
    OptionalArrayRefParameter<"int64_t">:$fixed, "int64_t":$rate,
    ArrayRefParameter<"int64_t">:$box,
    DefaultValuedParameter<"::ringlet::rtile::Residues",
                           "::ringlet::rtile::Residues::all">:$residues);
  let assemblyFormat = [{
    `<` `buffer` `=` $buffer `,` `rows` `=` $rows `,` `columns` `=` $columns `,`
    `fixed` `=` `[` (`]`) : ($fixed^ `]`)? `,` `rate` `=` $rate `,` `box` `=` `[`
    $box `]` (`,` `residues` `=` $residues^)? `>`
  }];
  let genVerifyDecl = 1;
}

#endif // RINGLET_TILE_SCHEDULE_TYPES
