//===- CudaProgram.cpp - Test artefacts for a GPU ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaProgram.h"

#include <gtest/gtest.h>

// The files are part of the program: it may run on another machine.
#define EMBED(name, path)                                                      \
  __asm__(".section .rodata\n"                                                 \
          ".balign 16\n" #name "Begin: .incbin \"" path "\"\n" #name           \
          "End: .byte 0\n"                                                     \
          ".previous\n");                                                      \
  extern "C" const uint8_t name##Begin[], name##End[]

EMBED(ptxFile, RINGLET_TEST_PTX);
EMBED(boxesFile, RINGLET_TEST_BOXES);
#ifdef RINGLET_TEST_CUBIN
EMBED(cubinFile, RINGLET_TEST_CUBIN);
#endif

namespace ringlet::test {

const std::vector<uint8_t> &ptxCode() {
  static const std::vector<uint8_t> code(ptxFileBegin, ptxFileEnd);
  return code;
}

const std::vector<uint8_t> &cubinCode() {
#ifdef RINGLET_TEST_CUBIN
  static const std::vector<uint8_t> code(cubinFileBegin, cubinFileEnd);
#else
  static const std::vector<uint8_t> code;
#endif
  return code;
}

void setResource(Builder &builder, uint32_t kernel, const std::string &key,
                 const std::string &value) {
  auto &resources = builder.artifact.kernels[kernel]->code[0]->resources;
  for (auto &resource : resources)
    if (resource->key == key) {
      resource->value = value;
      return;
    }
  auto resource = std::make_unique<abi::KeyValueT>();
  resource->key = key;
  resource->value = value;
  resources.push_back(std::move(resource));
}

void useCuda(Builder &builder, const std::string &target,
             abi::CodeFormat format, const std::vector<uint8_t> &code) {
  abi::CodeObjectT &object = *builder.artifact.code_objects.at(0);
  object.target = target;
  object.format = format;
  object.bytes = code;
  for (uint32_t i = 0; i < builder.artifact.kernels.size(); ++i) {
    abi::KernelT &kernel = *builder.artifact.kernels[i];
    bool probe = kernel.code[0]->symbol == "probe";
    kernel.code[0]->scratch_bytes = 0;
    setResource(builder, i, "threads", "128");
    setResource(builder, i, "shared_bytes", probe ? "65536" : "0");
  }
}

void usePtx(Builder &builder) {
  useCuda(builder, "sm_80", abi::CodeFormat::Ptx, ptxCode());
}

void addBoxes(Builder &b, int64_t rate) {
  std::string number = std::to_string(rate);
  uint32_t boxes = b.kernel("boxes", 4);
  b.param(abi::DType::BF16, {-1, -1, -1}, {-1, -1, 1});
  b.param(abi::DType::BF16, {-1, -1, -1}, {-1, -1, 1}, true);
  b.function("boxes" + number);
  uint32_t x = b.argument("x", abi::DType::BF16, {-1, -1, -1});
  uint32_t y = b.argument("result0", abi::DType::BF16, {-1, -1, -1}, true);
  uint32_t panels = b.expr({dim(x, 2), constant(64), op(abi::ExprOp::CeilDiv)});
  uint32_t tiles =
      b.expr({dim(x, 1), constant(64 * rate), op(abi::ExprOp::CeilDiv)});
  uint32_t residues = b.expr({constant(rate)}), batch = b.expr({dim(x, 0)});
  uint32_t in = b.argumentBuffer(x), out = b.argumentBuffer(y);
  b.launch(boxes, {panels, tiles, residues, batch}, {buffer(in), buffer(out)});
  b.artifact.code_objects[0]->target = "sm_90";
  b.artifact.code_objects[0]->format = abi::CodeFormat::Ptx;
  b.artifact.code_objects[0]->bytes.assign(boxesFileBegin, boxesFileEnd);
  setResource(b, boxes, "threads", "128");
  setResource(b, boxes, "shared_bytes", "8200");
  abi::KernelCodeT &code = *b.artifact.kernels[boxes]->code[0];
  code.blocks_per_multiprocessor = 1;
  for (abi::Residues residues :
       {abi::Residues::Shorter, abi::Residues::Longer}) {
    code.maps.push_back(mapOfRows(rate));
    code.maps.back()->box_columns = 64;
    code.maps.back()->residues = residues;
  }
}

ContextPtr makeCudaContext(bool mayFail, uint64_t memoryLimit) {
  rl_context_options options = RL_CONTEXT_OPTIONS_INIT;
  options.driver = "cuda";
  options.memory_limit = memoryLimit;
  rl_context *context;
  rl_status status = rl_context_create(&options, &context);
  EXPECT_TRUE(mayFail || status == RL_OK) << rl_last_error();
  return ContextPtr(context);
}

} // namespace ringlet::test
