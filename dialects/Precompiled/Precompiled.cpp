//===- Precompiled.cpp - Owner of the shared precompiled header -----------===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The header itself is the product; other targets reuse it.
