//===- SpareRegisters.h - What single kernels leave free -*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_PASSES_TILESCHEDULE_SPAREREGISTERS_H
#define RINGLET_PASSES_TILESCHEDULE_SPAREREGISTERS_H

#include "llvm/ADT/StringRef.h"

namespace ringlet {

/// Registers of a thread that one rtile.func is to leave free, in place of the
/// option of rtile-choose-schedule: an i64. Gone behind that pass.
inline constexpr llvm::StringLiteral spareRegistersAttr =
    "rtile.spare_registers";

} // namespace ringlet

#endif // RINGLET_PASSES_TILESCHEDULE_SPAREREGISTERS_H
