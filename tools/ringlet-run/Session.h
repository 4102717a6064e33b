//===- Session.h - One run of an entry ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef RINGLET_TOOLS_RINGLET_RUN_SESSION_H
#define RINGLET_TOOLS_RINGLET_RUN_SESSION_H

#include "lib/Tensor/Safetensors.h"
#include "ringlet/abi/ArtifactGenerated.h"
#include "ringlet/runtime.h"
#include "tools/ringlet-run/Devices.h"
#include "tools/ringlet-run/Options.h"
#include "tools/ringlet-run/Reference.h"
#include "tools/ringlet-run/RingRun.h"

#include <memory>
#include <optional>
#include <vector>

namespace ringlet::run {

/// The runtime's number of a type (rl_dtype).
int32_t toRuntime(DType dtype);

/// Seconds of a clock that only goes forward.
double now();

/// The steps of ringlet-run, in the order in which they are called. Each
/// returns false after it has printed an error and set `exitCode`.
class Session {
public:
  explicit Session(const Options &options) : options(options) {}

  bool loadArtifact();
  bool bindInputs();
  bool allocateOutputs();
  bool placeTensors();
  bool run();
  bool fetchOutputs();
  bool writeOutputs();
  bool check();

  int exitCode = kOk;

private:
  bool runOnRing();
  bool fail(ExitCode code, const std::string &message);
  bool failRuntime(const std::string &what);
  void printTimes(std::vector<double> times) const;
  std::string signature() const;
  /// Runs over outputs that hold this byte everywhere.
  bool runOver(unsigned char pattern);
  /// Compares the outputs with what they should be; empty, or why there is
  /// nothing to compare with.
  std::string compare(bool allWritten, CheckReport &report);
  /// Reports elements that no kernel writes; two more runs.
  bool checkWritten(bool &all);
  const abi::Graph *graph() const { return function->graph(); }

  const Options &options;
  std::vector<uint8_t> bytes;
  const abi::Artifact *artifact = nullptr;
  const abi::Function *function = nullptr;
  uint32_t entry = 0;

  std::unique_ptr<rl_context, void (*)(rl_context *)> context{
      nullptr, rl_context_destroy};
  std::unique_ptr<rl_program, void (*)(rl_program *)> program{
      nullptr, rl_program_destroy};

  /// Arguments by number: inputs first, then outputs.
  std::vector<std::string> names;
  std::vector<Tensor> tensors;
  uint32_t inputCount = 0;
  std::vector<rl_tensor> bound;
  /// One for each argument that lies on the device; freed before the context.
  std::vector<DeviceMemory> placed;
  /// Set by placeTensors().
  std::optional<RingRun> ring;
};

} // namespace ringlet::run

#endif // RINGLET_TOOLS_RINGLET_RUN_SESSION_H
