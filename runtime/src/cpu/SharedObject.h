//===- SharedObject.h - Code loaded from memory ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_RUNTIME_CPU_SHAREDOBJECT_H
#define RINGLET_RUNTIME_CPU_SHAREDOBJECT_H

#include "../Driver.h"

namespace ringlet::rt::cpu {

/// A shared object from an artefact, mapped without touching the disk.
class SharedObject : public Module {
public:
  static Status load(const uint8_t *bytes, size_t size, const Logger &logger,
                     std::shared_ptr<Module> &module);
  ~SharedObject() override;
  Status find(const abi::Kernel &description, const abi::KernelCode &code,
              void *&kernel) override;

private:
  SharedObject(int file, void *handle, const Logger &logger)
      : file(file), handle(handle), logger(logger) {}

  int file;
  void *handle;
  Logger logger;
};

} // namespace ringlet::rt::cpu

#endif // RINGLET_RUNTIME_CPU_SHAREDOBJECT_H
