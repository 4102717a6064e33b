//===- Options.cpp - Command line of ringlet-run ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tools/ringlet-run/Options.h"

#include "lib/Tensor/AtomicFile.h"
#include "ringlet/abi/Container.h"
#include "ringlet/abi/Format.h"
#include "ringlet/runtime.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

using namespace ringlet::run;

static const char *const kHelp =
    R"(OVERVIEW: ringlet-run: runs an entry of a compiled artefact on tensors

Inputs are the tensors of a safetensors file that have the names of the entry's
arguments; outputs are allocated and written under the names that its line
"entry" shows: result0, result1, ... of a graph, those of its rplan.func for a
plan written by hand. Their sizes follow from those of the inputs: the artefact
says how, where the compiler knew. Where it does not say, the run is refused.

USAGE: ringlet-run ARTEFACT --in=FILE [options]

OPTIONS:
  --in=FILE        Inputs, a .safetensors file
  --out=FILE       Write the outputs here, as .safetensors
  --entry=NAME     Entry to run (default: the only one)
  --repeat=N       Run N times after one that is not counted, and give the
                   median time (default: 1, counted as it is)
  --check          Find elements of the outputs that no kernel writes, by two
                   more runs, and compare the outputs with the exact result,
                   computed in f64 from what the artefact says it computes;
                   rows are sampled where that would take longer than
                   --check-seconds. An entry that was written by hand is
                   compared with what ringlet-interpret makes of it, which
                   is slow; grid points are sampled where the plan
                   has one launch
  --check-seconds=S
                   Time that a check may take (default: 10)
  --interpreter=FILE
                   The ringlet-interpret to use (default: beside this program,
                   else on PATH)
  --driver=NAME    Where to run: cpu, or cuda for an NVIDIA GPU (default: where
                   the target is)
  --device=N       Which device of the driver (default: 0; ranks of a ring take
                   turns with all, one of torchrun's has that of LOCAL_RANK)
  --devices        List the devices of all drivers and leave
  --threads=N      CPU threads (default: all cores), shared by the ranks
  --ranks=N        Run an entry with sharded tensors on a ring of N ranks here.
                   Without it, under torchrun, this process is the rank that the
                   environment says, and RINGLET_RING_SECRET is the secret of the
                   ring; the outputs then have the rows of this rank alone
  --transport=NAME Between GPUs of torchrun's ranks: p2p, on one host, or nccl
                   (default: p2p if that is possible, else nccl)
  --trace=FILE     Write what ranks exchanged and computed last, for Perfetto or
                   chrome://tracing; of one rank of torchrun's, to FILE.RANK
  --plot=FILE      Draw what ranks compute and who sends what to whom in which
                   step, as SVG; of torchrun's, rank 0 does
  --target=NAME    Use the code for this target, as x86-64-v3 or sm_80; cpu or
                   cuda is the best that the device runs (default: cpu)
  --explain        Print what the compiler decided for each kernel
  --help           Print this
  --version        Print the versions

EXIT STATUS:
  0  ran; with --check: the outputs are as exact as they must be
  1  --check: they are not
  2  a wrong option, or a file that cannot be read or written
  3  the artefact, the inputs or the run were refused
  4  --check: all is written, and there is nothing to compare it with: the entry
     was written by hand, and no ringlet-interpret is there

EXAMPLE:
  ringlet-compile test/Examples/longnet.mlir -o longnet.rla
  ringlet-run longnet.rla --in=qkv.safetensors --out=o.safetensors --check
)";

static bool fail(int &exitCode, const std::string &message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  exitCode = kBadUsage;
  return false;
}

/// A number from `least` to `most`, and nothing else.
static std::optional<uint32_t> parseNumber(const std::string &text,
                                           uint32_t least, uint32_t most) {
  if (text.empty() || text.size() > 9 ||
      text.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  unsigned long value = std::strtoul(text.c_str(), nullptr, 10);
  if (value < least || value > most)
    return std::nullopt;
  return static_cast<uint32_t>(value);
}

/// "--name=VALUE", or "--name" and the next word.
static bool takeValue(std::string_view name, int argc, char **argv, int &index,
                      std::string &value) {
  std::string_view word = argv[index];
  if (word.substr(0, name.size()) != name)
    return false;
  if (word.size() > name.size() && word[name.size()] == '=') {
    value = word.substr(name.size() + 1);
    return true;
  }
  if (word.size() != name.size() || index + 1 >= argc)
    return false;
  value = argv[++index];
  return true;
}

namespace {
struct NumberOption {
  std::string name;
  uint32_t least, most;
  void (*set)(Options &, uint32_t);
  /// What the least number means, beside what it says.
  const char *ofLeast = "";

  std::string range() const {
    return ringlet::formatText("{}{} to {}", least, ofLeast, most);
  }
};
} // namespace

/// The option of a number that is taken from the words, or null.
static const NumberOption *takeNumber(int argc, char **argv, int &index,
                                      std::string &value) {
  static const NumberOption known[] = {
      {"--device", 0, 4095,
       [](Options &o, uint32_t n) {
         o.device = n;
         o.hasDevice = true;
       }},
      {"--ranks", 1, 4096, [](Options &o, uint32_t n) { o.ranks = n; }},
      {"--repeat", 1, 1000000, [](Options &o, uint32_t n) { o.repeat = n; }},
      {"--threads", 0, 4096, [](Options &o, uint32_t n) { o.threads = n; },
       " (all cores)"},
      {"--check-seconds", 1, 1000000,
       [](Options &o, uint32_t n) { o.checkSeconds = n; }},
  };
  for (const NumberOption &option : known)
    if (takeValue(option.name, argc, argv, index, value))
      return &option;
  return nullptr;
}

namespace {
struct WordOption {
  std::string name;
  std::string Options::*member;
};
} // namespace

/// The option of a name that is taken from the words, or null.
static const WordOption *takeWord(int argc, char **argv, int &index,
                                  std::string &value) {
  static const WordOption known[] = {
      {"--in", &Options::in},
      {"--out", &Options::out},
      {"--entry", &Options::entry},
      {"--target", &Options::target},
      {"--trace", &Options::trace},
      {"--driver", &Options::driver},
      {"--plot", &Options::plot},
      {"--transport", &Options::transport},
      {"--interpreter", &Options::interpreter},
  };
  for (const WordOption &option : known)
    if (takeValue(option.name, argc, argv, index, value))
      return &option;
  return nullptr;
}

/// A driver alone is a target, any of its code; a target belongs to a driver.
static bool chooseDriver(Options &options, int &exitCode) {
  if (options.driver.empty())
    options.driver =
        options.target == "cuda" || options.target.rfind("sm_", 0) == 0 ? "cuda"
                                                                        : "cpu";
  if (options.target == options.driver)
    options.target.clear();
  const char *local = std::getenv("LOCAL_RANK");
  if (local && options.driver != "cpu" && !options.hasDevice &&
      options.ranks == 0)
    options.device = uint32_t(std::max(0, std::atoi(local)));
  if (options.driver == "cpu" || options.driver == "cuda")
    return true;
  return fail(exitCode,
              "--driver: expected cpu or cuda, found '" + options.driver + "'");
}

bool ringlet::run::parseOptions(int argc, char **argv, Options &options,
                                int &exitCode) {
  exitCode = kOk;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i], value;
    if (word == "--help" || word == "-h") {
      std::fputs(kHelp, stdout);
      return false;
    }
    if (word == "--version") {
      std::printf("ringlet-run " RINGLET_VERSION
                  "\nartefact format %u\nruntime ABI %u.%u\n",
                  abi::kFormatVersion, rl_abi_version().major,
                  rl_abi_version().minor);
      return false;
    }
    if (word == "--check") {
      options.check = true;
    } else if (word == "--explain") {
      options.explain = true;
    } else if (const WordOption *option = takeWord(argc, argv, i, value)) {
      if (value.empty())
        return fail(exitCode, option->name + ": expected a name, found none");
      options.*option->member = value;
    } else if (word == "--devices") {
      options.listDevices = true;
    } else if (const NumberOption *option = takeNumber(argc, argv, i, value)) {
      auto number = parseNumber(value, option->least, option->most);
      if (!number)
        return fail(exitCode, option->name + ": expected a number from " +
                                  option->range() + ", found '" + value + "'");
      option->set(options, *number);
    } else if (word.size() > 1 && word[0] == '-') {
      return fail(exitCode,
                  "unknown option '" + word + "'; see ringlet-run --help");
    } else if (options.artifact.empty()) {
      options.artifact = word;
    } else {
      return fail(exitCode, "expected one artefact, found '" +
                                options.artifact + "' and '" + word + "'");
    }
  }
  if (options.artifact.empty() && !options.listDevices)
    return fail(exitCode, "expected an artefact; see ringlet-run --help");
  // Files that cannot be written are found before there is any work.
  for (const std::string &file : {options.out, options.trace, options.plot})
    if (std::string error = file.empty() ? "" : checkWritable(file);
        !error.empty())
      return fail(exitCode, error);
  return chooseDriver(options, exitCode);
}
