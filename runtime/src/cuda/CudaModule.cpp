//===- cuda/CudaModule.cpp - Code on a GPU ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaModule.h"

#include "../abi/Lists.h"

#include <cstring>
#include <elf.h>
#include <vector>

using namespace ringlet;
using namespace ringlet::rt;
using namespace ringlet::rt::cuda;
using abi::sizeOf;

//===----------------------------------------------------------------------===//
// Load
//===----------------------------------------------------------------------===//

#ifndef EM_CUDA
#define EM_CUDA 190
#endif

/// The library is not told how long a cubin is, and trusts its headers.
static std::string checkCubin(const char *bytes, size_t size) {
  Elf64_Ehdr header;
  if (size < sizeof(header))
    return "it is too short for a cubin";
  std::memcpy(&header, bytes, sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_CUDA)
    return "it is not a 64-bit cubin";
  auto outside = [size](uint64_t offset, uint64_t count, uint64_t each) {
    return offset > size || (each && count > (size - offset) / each);
  };
  if ((header.e_shnum && header.e_shentsize != sizeof(Elf64_Shdr)) ||
      outside(header.e_shoff, header.e_shnum, sizeof(Elf64_Shdr)))
    return "its section headers lie outside the file";
  if ((header.e_phnum && header.e_phentsize != sizeof(Elf64_Phdr)) ||
      outside(header.e_phoff, header.e_phnum, sizeof(Elf64_Phdr)))
    return "its program headers lie outside the file";
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, bytes + header.e_shoff + i * sizeof(section),
                sizeof(section));
    if (section.sh_type != SHT_NOBITS &&
        outside(section.sh_offset, section.sh_size, 1))
      return text("section ", i, " lies outside the file");
  }
  return {};
}

Status CudaModule::load(std::shared_ptr<const Device> device,
                        const abi::CodeObject &code,
                        std::shared_ptr<Module> &module) {
  // Aligned, and ended by the 0 that PTX needs.
  std::vector<char> image(code.bytes()->begin(), code.bytes()->end());
  image.push_back('\0');
  bool isText = code.format() == abi::CodeFormat::Ptx;
  std::string wrong;
  if (!isText)
    wrong = checkCubin(image.data(), image.size() - 1);
  if (!wrong.empty())
    return failure(RL_BAD_ARTIFACT, "cannot load the code object: ", wrong);

  const Api &api = device->api;
  OutsideCapture outside(api);
  Current current(api, device->context());
  RL_TRY(current.status());
  std::vector<char> log(8192);
  int options[] = {jit::ErrorLog, jit::ErrorLogBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size() - 1)};
  std::shared_ptr<CudaModule> loaded(new CudaModule(device));
  Result result =
      api.moduleLoadDataEx(&loaded->handle, image.data(), 2, options, values);
  if (result != result::Success) {
    loaded->handle = nullptr;
    Status status = api.check(
        result, text("load the ", isText ? "PTX" : "cubin", " for ",
                     code.target()->str(), " on ",
                     device->properties.machine.architecture(),
                     " with the driver for CUDA ", api.versionName()));
    log.back() = '\0';
    return failure(status.code(), status.message(), log[0] ? "; " : "",
                   log.data());
  }
  module = std::move(loaded);
  return {};
}

CudaModule::~CudaModule() {
  if (!handle)
    return;
  const Api &api = device->api;
  OutsideCapture outside(api);
  Current current(api, device->context());
  if (!current.ok())
    return;
  // Launches may still be on their way.
  (void)api.ctxSynchronize();
  (void)api.moduleUnload(handle);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// The resource called `key`, a number in decimals from `least` to `most`.
static Status readResource(const abi::KernelCode &code, const char *key,
                           uint32_t least, uint32_t most, uint32_t &number) {
  std::string place = text("kernel '", code.symbol()->str(), "': expected ");
  for (uint32_t i = 0; i < sizeOf(code.resources()); ++i) {
    if (code.resources()->Get(i)->key()->str() != key)
      continue;
    std::string value = code.resources()->Get(i)->value()->str();
    bool decimal = !value.empty() && value.size() <= 9 &&
                   value.find_first_not_of("0123456789") == std::string::npos;
    number = decimal ? uint32_t(std::stoul(value)) : 0;
    if (decimal && number >= least && number <= most)
      return {};
    return failure(RL_BAD_ARTIFACT, place, "'", key, "' from ", least, " to ",
                   most, ", found '", value, "'");
  }
  return failure(RL_BAD_ARTIFACT, place, "a resource '", key, "', found none");
}

/// Words of the kernel's parameters.
static uint64_t countWords(const abi::Kernel &kernel,
                           const abi::KernelCode &code) {
  uint64_t words = kernel.grid_rank() + code.counts_items();
  if (sizeOf(code.maps()))
    words += wordsOfMap * sizeOf(code.maps()) + 64 / sizeof(int64_t);
  auto dynamic = [](const flatbuffers::Vector<int64_t> *list) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < sizeOf(list); ++i)
      count += list->Get(i) == -1;
    return count;
  };
  for (uint32_t i = 0; i < sizeOf(kernel.params()); ++i) {
    const abi::KernelParam &param = *kernel.params()->Get(i);
    words += 1;
    if (param.kind() == abi::ParamKind::Buffer)
      words += dynamic(param.sizes()) + dynamic(param.strides());
  }
  return words;
}

Status CudaModule::find(const abi::Kernel &description,
                        const abi::KernelCode &code, void *&kernel) {
  const Api &api = device->api;
  const Properties &limits = device->properties;
  const std::string symbol = code.symbol()->str();
  Kernel found;
  RL_TRY(readResource(code, "threads", 1, uint32_t(limits.maxThreads),
                      found.threads));
  RL_TRY(readResource(code, "shared_bytes", 0, uint32_t(limits.maxSharedBytes),
                      found.sharedBytes));
  if (code.scratch_bytes() != 0)
    return failure(RL_BAD_ARTIFACT, "kernel '", symbol,
                   "': expected no scratch on a GPU, found ",
                   code.scratch_bytes(), " bytes");
  uint64_t words = countWords(description, code);
  if (words > mostWords)
    return failure(RL_UNSUPPORTED, "kernel '", symbol, "': expected at most ",
                   mostWords, " words of parameters, found ", words);
  found.blocksPerMultiprocessor = code.blocks_per_multiprocessor();
  found.multiprocessors = uint32_t(limits.multiprocessors);
  found.startsEarly = code.starts_early();

  OutsideCapture outside(api);
  Current current(api, device->context());
  RL_TRY(current.status());
  Result result =
      api.moduleGetFunction(&found.function, handle, symbol.c_str());
  if (result == result::NotFound)
    return failure(RL_BAD_ARTIFACT, "the code object has no kernel '", symbol,
                   "'");
  RL_TRY(api.check(result, text("find kernel '", symbol, "'")));
  int maxThreads = 0, staticShared = 0;
  std::string what = text("describe kernel '", symbol, "'");
  RL_TRY(api.check(
      api.funcGetAttribute(&maxThreads, function::MaxThreads, found.function),
      what));
  RL_TRY(api.check(api.funcGetAttribute(&staticShared, function::StaticShared,
                                        found.function),
                   what));
  if (found.threads > uint32_t(maxThreads))
    return failure(RL_BAD_ARTIFACT, "kernel '", symbol, "': runs with at most ",
                   maxThreads, " threads in a block, found 'threads' ",
                   found.threads);
  if (uint64_t(staticShared) + found.sharedBytes >
      uint64_t(limits.maxSharedBytes))
    return failure(RL_BAD_ARTIFACT, "kernel '", symbol, "': expected at most ",
                   limits.maxSharedBytes, " bytes of shared memory, found ",
                   staticShared, " static and ", found.sharedBytes, " dynamic");
  // Without asking, 48 KiB is all that a block gets.
  if (uint64_t(staticShared) + found.sharedBytes > 48 * 1024)
    RL_TRY(api.check(api.funcSetAttribute(found.function,
                                          function::MaxDynamicShared,
                                          int(found.sharedBytes)),
                     text("give kernel '", symbol, "' ", found.sharedBytes,
                          " bytes of shared memory")));
  kernels.push_back(found);
  kernel = &kernels.back();
  return {};
}
