//===- Version.cpp - Who compiled this? ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/Version.h"

#include "ringlet/abi/Container.h"

#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"

std::string ringlet::compilerId() {
  return "ringlet " RINGLET_VERSION " (LLVM " LLVM_VERSION_STRING ")";
}

void ringlet::printVersion(llvm::raw_ostream &stream) {
  stream << compilerId() << "\nartefact format " << abi::kFormatVersion << "\n";
}

const char *const ringlet::kBugReportMessage =
    "This is a fault in Ringlet, not in your input. Please report it, with the "
    "command, the input\nand the trace below. `ringlet-compile "
    "--reproducer=FILE` writes a file that has it all.\n";
