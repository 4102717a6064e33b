//===- PlanStepOps.td - steps of a plan ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What works on memory, and how steps of two queues wait for each other.
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PLAN_STEP_OPS
#define RINGLET_PLAN_STEP_OPS

def RPlan_EventType : TypeDef<RPlan_Dialect, "Event"> {
  let mnemonic = "event";
  let summary = "The end of a step";
  let description = [{
    A step that names it in `after` begins when the step that it is a result of
    has ended and what that wrote can be seen.

    Example: see `rplan.copy`.
  }];
  let assemblyFormat = "";
}

def RPlan_LaunchOp : RPlan_Op<"launch",
    [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a kernel for every point of a grid";
  let description = [{
    `args` match the parameters of the kernel in number and type. The launch is
    a step of the queue `on` (absent: compute) and waits for the events `after`.

    A kernel that reads its buffers through the copy engine of a GPU asks more
    of their addresses and strides than other kernels do. Where they do not
    comply, what stands behind `otherwise` runs in its place, in the same step:
    a launch of another kernel that does the same with any buffers, and has no
    such choice itself. Without it, the call is refused. On a device without
    copy engine it has no meaning.

    Example: `@plain` runs where `@fast` cannot.

    ```mlir
    rtile.func @fast(%x: memref<?xf32>, %y: memref<?xf32>) grid(%i: index) {
      rtile.return
    }
    rtile.func @plain(%x: memref<?xf32>, %y: memref<?xf32>, %n: index)
        grid(%i: index) {
      rtile.return
    }
    rplan.func @main(%x: memref<?xf32>) outputs(%y: memref<?xf32>)
        names ["x", "y"] {
      %n = rplan.size %x[0] : memref<?xf32>
      %c64 = arith.constant 64 : index
      %tiles = arith.ceildivsi %n, %c64 : index
      rplan.launch @fast grid(%tiles) args(%x, %y)
          otherwise launch @plain grid(%n)
              args(%x, %y, %n : memref<?xf32>, memref<?xf32>, index)
          : memref<?xf32>, memref<?xf32>
      rplan.return
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Index>:$grid,
    Variadic<AnyTypeOf<[AnyMemRef, Index]>>:$args,
    DefaultValuedAttr<RPlan_Queue, "::ringlet::rplan::Queue::compute">:$queue,
    Variadic<RPlan_EventType>:$waits,
    OptionalAttr<FlatSymbolRefAttr>:$fallback, Variadic<Index>:$fallbackGrid,
    Variadic<AnyTypeOf<[AnyMemRef, Index]>>:$fallbackArgs);
  let results = (outs Optional<RPlan_EventType>:$event);
  let assemblyFormat = [{
    $kernel `grid` `(` $grid `)` `args` `(` $args `)`
    (`on` $queue^)? (`after` `(` $waits^ `)`)?
    (`otherwise` `launch` $fallback^ `grid` `(` $fallbackGrid `)`
     `args` `(` ($fallbackArgs^ `:` type($fallbackArgs))? `)`)?
    attr-dict (`:` type($args)^)? (`->` type($event)^)?
  }];
  let builders = [OpBuilder<(ins "::llvm::StringRef":$kernel,
    "::mlir::ValueRange":$grid, "::mlir::ValueRange":$args)>];
  let extraClassDeclaration = [{
    /// Sets what runs where the copy engine cannot read the buffers.
    void setFallbackLaunch(::llvm::StringRef kernel, ::mlir::ValueRange grid,
                           ::mlir::ValueRange args);
  }];
  let hasVerifier = 1;
}

def RPlan_CopyOp : RPlan_Op<"copy"> {
  let summary = "Copies a buffer to another one";
  let description = [{
    A step, as `rplan.launch` is one. `source` and `destination` have the same
    elements, number of axes and sizes, any strides, and share no memory; a size
    that differs is refused when the plan is called. The destination is an
    output or a workspace.

    Example: `@work` runs while the second half of a list is copied.

    ```mlir
    rtile.func @work(%x: memref<?xf32, strided<[1]>>, %w: memref<?xf32>)
        grid(%i: index) {
      rtile.return
    }
    rplan.func @main(%x: memref<?xf32, strided<[1]>>,
                     %y: memref<?xf32, strided<[1]>>)
        outputs() names ["x", "y"] {
      %n = rplan.size %x[0] : memref<?xf32, strided<[1]>>
      %a = rplan.workspace(%n) : memref<?xf32>
      %b = rplan.workspace(%n) : memref<?xf32>
      rplan.copy %x to %a : memref<?xf32, strided<[1]>>, memref<?xf32>
      %here = rplan.copy %y to %b on exchange
          : memref<?xf32, strided<[1]>>, memref<?xf32> -> !rplan.event
      rplan.launch @work grid(%n) args(%x, %a)
          : memref<?xf32, strided<[1]>>, memref<?xf32>
      rplan.launch @work grid(%n) args(%y, %b) after(%here)
          : memref<?xf32, strided<[1]>>, memref<?xf32>
      rplan.return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$source, AnyMemRef:$destination,
    DefaultValuedAttr<RPlan_Queue, "::ringlet::rplan::Queue::compute">:$queue,
    Variadic<RPlan_EventType>:$waits);
  let results = (outs Optional<RPlan_EventType>:$event);
  let assemblyFormat = [{
    $source `to` $destination (`on` $queue^)? (`after` `(` $waits^ `)`)?
    attr-dict `:` type($source) `,` type($destination) (`->` type($event)^)?
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$source,
    "::mlir::Value":$destination)>];
  let hasVerifier = 1;
}

def RPlan_AlignedOp : RPlan_Op<"aligned",
    [AllTypesMatch<["input", "result"]>,
     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "An input where pieces of 16 bytes can be read";
  let description = [{
    Copy engines, and loads of 16 bytes, want an address and strides that are
    multiples of 16 bytes. The result is the input itself where they are, and
    where `worth` is false; else a row-major workspace to which `kernel` copies
    it, as a step of the queue compute. A step of the other queue that uses the
    result waits for that one. The parameters of `kernel` are the input and the
    workspace. `worth` says whether the copy is expected to cost less than it
    saves.

    Example:

    ```mlir
    rtile.func @copy(%x: memref<?x64xbf16, strided<[?, 1]>>,
                     %y: memref<?x64xbf16, strided<[?, 1]>>) grid(%i: index) {
      %c0 = arith.constant 0 : index
      %c32 = arith.constant 32 : index
      %row = arith.muli %i, %c32 : index
      %xs = rtile.view %x[*, *] : memref<?x64xbf16, strided<[?, 1]>>
          to !rtile.view<32x64xbf16>
      %ys = rtile.view %y[*, *] : memref<?x64xbf16, strided<[?, 1]>>
          to !rtile.view<32x64xbf16>
      %t = rtile.load %xs[%row, %c0] : !rtile.view<32x64xbf16>
      rtile.store %t, %ys[%row, %c0] : !rtile.view<32x64xbf16>
      rtile.return
    }
    rtile.func @read(%x: memref<?x64xbf16, strided<[?, 1]>>) grid(%i: index) {
      rtile.return
    }
    rplan.func @main(%x: memref<?x64xbf16, strided<[?, 1]>>)
        outputs() names ["x"] {
      %n = rplan.size %x[0] : memref<?x64xbf16, strided<[?, 1]>>
      %c32 = arith.constant 32 : index
      %c4096 = arith.constant 4096 : index
      %tiles = arith.ceildivsi %n, %c32 : index
      %worth = arith.cmpi sge, %n, %c4096 : index
      %y = rplan.aligned %x by @copy grid(%tiles) if %worth
          : memref<?x64xbf16, strided<[?, 1]>>
      rplan.launch @read grid(%tiles) args(%y)
          : memref<?x64xbf16, strided<[?, 1]>>
      rplan.return
    }
    ```
  }];
  let arguments = (ins AnyMemRef:$input, FlatSymbolRefAttr:$kernel,
    Variadic<Index>:$grid, I1:$worth);
  let results = (outs Res<AnyMemRef, "the buffer", [MemAlloc]>:$result);
  let assemblyFormat = [{
    $input `by` $kernel `grid` `(` $grid `)` `if` $worth attr-dict
    `:` type($input)
  }];
  let hasVerifier = 1;
}

#endif // RINGLET_PLAN_STEP_OPS
