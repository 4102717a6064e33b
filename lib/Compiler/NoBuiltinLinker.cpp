//===- NoBuiltinLinker.cpp - lld is a program of its own ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Compiler/BuiltinLinker.h"

ringlet::LinkerFunction ringlet::getBuiltinLinker() { return nullptr; }
