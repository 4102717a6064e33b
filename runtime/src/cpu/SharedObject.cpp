//===- SharedObject.cpp - Code loaded from memory ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedObject.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace ringlet;
using namespace ringlet::rt;
using namespace ringlet::rt::cpu;

#if defined(__x86_64__)
static const int hostMachine = EM_X86_64;
#elif defined(__aarch64__)
static const int hostMachine = EM_AARCH64;
#else
static const int hostMachine = EM_NONE;
#endif

/// The loader trusts what it maps and dies of a segment beyond the end of the
/// file: look at the header first.
static std::string checkElf(const uint8_t *bytes, size_t size) {
  Elf64_Ehdr header;
  if (size < sizeof(header))
    return "it is too short for an ELF file";
  std::memcpy(&header, bytes, sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64)
    return "it is not a 64-bit ELF file";
  if (header.e_type != ET_DYN || header.e_machine != hostMachine)
    return text("expected a shared object for machine ", hostMachine,
                ", found ELF type ", header.e_type, " for machine ",
                header.e_machine);
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > size ||
      header.e_phnum > (size - header.e_phoff) / sizeof(Elf64_Phdr))
    return "its program headers lie outside the file";
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes + header.e_phoff + i * sizeof(segment),
                sizeof(segment));
    if (segment.p_offset > size || segment.p_filesz > size - segment.p_offset)
      return text("segment ", i, " lies outside the file");
  }
  return {};
}

static std::string pathOf(int file) { return text("/proc/self/fd/", file); }

static Status systemFailure(const char *what) {
  return failure(RL_UNAVAILABLE, "cannot ", what, ": ", std::strerror(errno));
}

/// An anonymous file that may be executed.
static int createFile() {
#ifdef MFD_EXEC
  int file = ::memfd_create("ringlet", MFD_CLOEXEC | MFD_EXEC);
  if (file >= 0 || errno != EINVAL) // Older kernels know no MFD_EXEC.
    return file;
#endif
  return ::memfd_create("ringlet", MFD_CLOEXEC);
}

Status SharedObject::load(const uint8_t *bytes, size_t size,
                          const Logger &logger,
                          std::shared_ptr<Module> &module) {
  std::string wrong = checkElf(bytes, size);
  if (!wrong.empty())
    return failure(RL_BAD_ARTIFACT, "cannot load the code object: ", wrong);
  int file = createFile();
  if (file < 0)
    return systemFailure("create a file in memory for the code object");
  for (size_t at = 0; at < size;) {
    ssize_t put = ::write(file, bytes + at, size - at);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0) {
      Status status = systemFailure("write the code object to memory");
      ::close(file);
      return status;
    }
    at += size_t(put);
  }
  void *handle = ::dlopen(pathOf(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = ::dlerror();
    ::close(file);
    return failure(RL_UNAVAILABLE, "cannot load the code object: ",
                   reason ? reason : "unknown error of the dynamic loader");
  }
  module.reset(new SharedObject(file, handle, logger));
  return {};
}

SharedObject::~SharedObject() {
  ::dlclose(handle);
  // The loader knows libraries by name. Should this one have stayed (a
  // thread-local destructor can do that), then its descriptor must stay, too,
  // or the next file under the same number would be taken for it.
  if (void *still = ::dlopen(pathOf(file).c_str(), RTLD_LAZY | RTLD_NOLOAD)) {
    ::dlclose(still);
    logger.log(RL_LOG_WARNING, "a code object stays loaded");
    return;
  }
  ::close(file);
}

Status SharedObject::find(const abi::Kernel &, const abi::KernelCode &code,
                          void *&kernel) {
  const std::string symbol = code.symbol()->str();
  kernel = ::dlsym(handle, symbol.c_str());
  if (kernel)
    return {};
  return failure(RL_BAD_ARTIFACT, "the code object has no symbol '", symbol,
                 "'");
}
