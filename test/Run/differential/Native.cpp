//===- Native.cpp - Compiled code through the runtime -----------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "test/Run/differential/Native.h"

#include "lib/Arch/CPU.h"
#include "ringlet/Compile.h"
#include "ringlet/runtime.h"

#include <array>

namespace ringlet::differential {

namespace {

rl_dtype toRuntime(DType dtype) {
  switch (dtype) {
  case DType::f16:
    return RL_F16;
  case DType::bf16:
    return RL_BF16;
  case DType::f32:
    return RL_F32;
  case DType::f64:
    return RL_F64;
  case DType::i1:
    return RL_BOOL;
  case DType::i32:
    return RL_I32;
  case DType::i64:
    return RL_I64;
  case DType::f8E4M3FN:
    return RL_F8E4M3FN;
  case DType::i8:
    return RL_I8;
  }
  return RL_F32;
}

rl_context *makeContext(const char *level) {
  rl_context_options options = RL_CONTEXT_OPTIONS_INIT;
  options.target = level;
  // More threads than a test machine may have cores: points of a grid must not
  // depend on one another.
  options.threads = 3;
  rl_context *context = nullptr;
  return rl_context_create(&options, &context) == RL_OK ? context : nullptr;
}

} // namespace

/// Up to the best one that this processor has.
std::vector<std::string> nativeLevels() {
  std::vector<std::string> levels;
  rl_device device = RL_DEVICE_INIT;
  if (rl_device_describe("cpu", 0, &device) != RL_OK)
    return levels;
  std::vector<std::string> known;
  for (const arch::CPULevel &level : arch::getCPULevels()) {
    known.push_back(level.name);
    if (known.back() == device.architecture)
      levels = known;
  }
  return levels;
}

struct NativeProgram::Loaded {
  ~Loaded() {
    rl_program_destroy(program);
    rl_context_destroy(context);
  }
  rl_context *context = nullptr;
  rl_program *program = nullptr;
};

NativeProgram::~NativeProgram() = default;

std::unique_ptr<NativeProgram>
NativeProgram::create(const std::string &text,
                      const std::vector<std::string> &levels,
                      std::string *error) {
  CompileOptions options;
  options.levels = levels;
  options.inputName = "graph.mlir";
  CompileResult result = compile(text, options);
  if (!result.ok) {
    *error = "compilation failed: " + result.diagnostics;
    return nullptr;
  }
  std::unique_ptr<NativeProgram> native(new NativeProgram);
  for (const std::string &level : levels) {
    auto entry = std::make_unique<Loaded>();
    entry->context = makeContext(level.c_str());
    if (!entry->context ||
        rl_program_load(entry->context, result.output.data(),
                        result.output.size(), &entry->program) != RL_OK) {
      *error = "loading for " + level + " failed: " + rl_last_error();
      return nullptr;
    }
    native->loaded.push_back(std::move(entry));
  }
  return native;
}

std::string
NativeProgram::run(size_t level, const std::string &entry,
                   const std::vector<MutableTensorView> &arguments) {
  rl_program *program = loaded[level]->program;
  uint32_t number = 0;
  if (rl_program_find_entry(program, entry.c_str(), &number) != RL_OK)
    return rl_last_error();
  std::vector<rl_tensor> tensors;
  for (const MutableTensorView &view : arguments)
    tensors.push_back(RL_TENSOR_INIT(view.data(), toRuntime(view.dtype()),
                                     view.rank(), view.sizes().data(),
                                     view.strides().data()));
  if (rl_program_run(program, number, tensors.data(),
                     static_cast<uint32_t>(tensors.size())) != RL_OK)
    return std::string("the runtime refused the call: ") + rl_last_error();
  return "";
}

} // namespace ringlet::differential
