//===- ringlet-run.cpp - Run a compiled artefact ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Tensor/StandardOutput.h"
#include "tools/ringlet-run/Devices.h"
#include "tools/ringlet-run/Options.h"
#include "tools/ringlet-run/Session.h"

using namespace ringlet::run;

int main(int argc, char **argv) {
  ringlet::requireStandardOutput();
  Options options;
  int exitCode = kOk;
  if (!parseOptions(argc, argv, options, exitCode))
    return exitCode;
  if (options.listDevices)
    return listDevices();
  Session session(options);
  // Outputs are written before they are checked: a failed check is when
  // somebody wants to look at them.
  if (session.loadArtifact() && session.bindInputs() &&
      session.allocateOutputs() && session.placeTensors() && session.run() &&
      session.fetchOutputs() && session.writeOutputs())
    session.check();
  return session.exitCode;
}
