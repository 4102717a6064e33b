//===- BuiltinLinker.cpp - lld inside the compiler ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/BuiltinLinker.h"

#include "lld/Common/CommonLinkerContext.h"
#include "lld/Common/Driver.h"

#include <mutex>

LLD_HAS_DRIVER(elf)

int ringlet_link_with_lld(llvm::ArrayRef<const char *> arguments,
                          llvm::raw_ostream &messages) {
  // lld keeps what it links in globals.
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  bool linked = lld::elf::link(arguments, messages, messages,
                               /*exitEarly=*/false, /*disableOutput=*/false);
  lld::CommonLinkerContext::destroy();
  return linked ? 0 : 1;
}
