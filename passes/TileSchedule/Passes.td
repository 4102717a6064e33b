//===- Passes.td - passes from plain to scheduled kernels ---*- tablegen -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILESCHEDULE
#define RINGLET_PASSES_TILESCHEDULE

include "mlir/Pass/PassBase.td"

def RTileChooseSchedule : Pass<"rtile-choose-schedule"> {
  let summary = "Choose warps, registers, slots and walk of kernels to schedule";
  let description = [{
    For every kernel with a `recipe`, writes its `schedule` (`#rtile.schedule`):

      * the role "compute" with four warps for every 64 query rows, and the role
        "load" with four, because registers change hands by groups of four warps;
        one thread of them works;
      * registers of each thread of both;
      * slots of the channels that a loop fills, those of keys and of values;
      * whether the left operands that are loaded, the query tile, are read to
        registers once;
      * the walk: `strided` where every tile of queries sees the same number of
        keys, those of a whole axis; else the longest first, sections of heads
        whose keys and values stay in the second-level cache.

    A kernel that has a schedule already, written by hand or by a tuner, keeps
    it if it fits the products.

    It is an error if a kernel cannot be scheduled for the architecture; that such
    a kernel stays plain is what `rtile-schedule-kernels` sees to.
  }];
  let options = [Option<"level", "level", "std::string", "\"sm_90a\"",
    "Row of the table of architectures to schedule for">,
    Option<"spareRegisters", "spare-registers", "int64_t", "0",
    "Registers of a thread to leave free where there is a choice">];
}

def RTileAssignRoles : Pass<"rtile-assign-roles"> {
  let summary = "Split a kernel into a role that loads and one that computes";
  let description = [{
    A kernel with a `schedule` becomes a scheduled one. Scalars and views of
    the function's body, what is read from lists included, stay where all roles
    see them. Every view whose tiles are operands of products gets a channel. The
    role "load" is what remains of the kernel when each such load is a copy to an
    acquired slot; the role "compute" is what remains when it is read from an
    awaited slot, which is released after the last use. Loops stand in both, and
    carry what each role needs.

    In a loop, slots whose products need nothing that the step computes are
    awaited together at its beginning.

    It is an error if a kernel has another form, say a load whose tile of two axes
    is not only an operand of products.
  }];
  let dependentDialects = ["::ringlet::rtile::RTileDialect"];
}

def RTileStartDots : Pass<"rtile-start-dots"> {
  let summary = "Let products of a role run beside its other work";
  let description = [{
    In roles, `rtile.dot` becomes `rtile.start_dot` and `rtile.finish_dot`. A
    product is started as soon as its operands are there and the one before it
    is started. It is finished

      * right before its first use, if it begins a sum;
      * if it adds to one (`init`): after what does not depend on it. Of a tile
        whose parts are computed one by one and joined, only the first part is
        computed before the wait.

    Tiles are rounded to left operands after all products of their step, since
    the registers of a running product must not be written. A slot is released
    right after the last product that reads it.

    With `turns`, groups of four warps take turns to start the products of a
    step.
  }];
  let options = [Option<"turns", "turns", "bool", "false",
    "Groups of four warps start the products of a step in turn">];
  let dependentDialects = ["::ringlet::rtile::RTileDialect"];
}

def RTileEncodeTiles : Pass<"rtile-encode-tiles"> {
  let summary = "Say of every tile of a role where it is";
  let description = [{
    Right operands of products stay in their slots (`#rtile.swizzled`), and so do
    left operands that were read to stay there. Every other tile of a role lies
    in the registers of its warps (`#rtile.fragment`).
  }];
}

def RTileSkipEmptyPoints : Pass<"rtile-skip-empty-points"> {
  let summary = "Do nothing at points of the grid whose tile has no row";
  let description = [{
    In scheduled kernels all of whose stores are to the same rows of a sequence
    that is a part of its axis (`within`). If none of the rows exists, nothing
    would be stored: each role stands in an `scf.if` that asks `rtile.bounds`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def RTileVerifySchedule : Pass<"rtile-verify-schedule"> {
  let summary = "Prove that the roles of a schedule fit each other";
  let description = [{
    Runs the roles of every scheduled kernel as a state machine, for any number
    of steps of its loops, and fails with the way that leads to a fault if there
    is one:

      * a role waits for ever, or a channel is not empty after a point;
      * a slot is not copied to, awaited and released once each, or it is used
        before or after;
      * a product is not finished once, in order, and before its slots are
        released and its registers written.

    docs/VerifySchedule.md says how, and why the result holds for every speed of
    the roles and every length of the loops. Nothing is changed.
  }];
  let options = [Option<"maxStates", "max-states", "uint64_t", "200000",
    "Give up, with an error, after so many states of a kernel">];
}

#endif // RINGLET_PASSES_TILESCHEDULE
