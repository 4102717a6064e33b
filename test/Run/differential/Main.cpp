//===- Main.cpp - Differential test of the compiler -------------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random graphs, each called in random ways, executed after each lowering
// stage that something can execute, and compared with the f64 oracle:
//
//   graph level     the oracle, on the graph read back from the IR
//   tile programs   the interpreter, grid points shuffled, races reported
//   native code     the artefact, loaded by the runtime
//
//===----------------------------------------------------------------------===//

#include "test/Run/differential/Runner.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

using namespace ringlet::differential;

namespace {

struct Options {
  uint64_t seed = 20261128;
  int64_t count = 1000;
  /// One graph's cases instead of all; -1 for none.
  int64_t graph = -1;
  /// One case instead of `count`; -1 for none.
  int64_t only = -1;
  unsigned threads = 0;
  int maxReports = 5;
  bool printIR = false;
  bool native = true;
  RunnerOptions runner;
};

const char *const usage =
    "usage: differential-test [options]\n"
    "  --count=N      configurations (default 1000)\n"
    "  --seed=N       another set of them\n"
    "  --case=N       one of them\n"
    "  --graph=N      those of one graph\n"
    "  --stage=NAME   only stages whose name contains NAME\n"
    "  --threads=N    default: one per processor\n"
    "  --reports=N    failures to describe (default 5)\n"
    "  --no-native    no native code\n"
    "  --roles        graphs of kernels with roles, and these alone\n"
    "  --print        print the graph of --case, and what it becomes\n";

/// Results of all threads.
class Summary {
public:
  explicit Summary(const Options &options) : options(options) {}

  /// Counts the outcomes of a case; describes it if it failed.
  void add(int64_t number, const std::string &graph,
           const Configuration &configuration,
           const std::vector<Outcome> &outcomes) {
    std::lock_guard<std::mutex> lock(mutex);
    const Outcome *failure = nullptr;
    for (const Outcome &outcome : outcomes) {
      count(outcome);
      if (!outcome.failure.empty() && !failure)
        failure = &outcome;
    }
    for (const std::string &feature : configuration.features)
      ++features[feature];
    ++(failure ? failed : passed);
    if (!failure || reports++ >= options.maxReports)
      return;
    std::printf("FAILED: seed %llu, case %lld, stage %s\n%s\n",
                static_cast<unsigned long long>(options.seed),
                static_cast<long long>(number), failure->stage.c_str(),
                failure->failure.c_str());
    std::printf("%s\ncalled with%s\n", graph.c_str(),
                describe(configuration).c_str());
    std::printf("again: differential-test%s --seed=%llu --case=%lld "
                "--stage='%s'\n\n",
                options.runner.aim == Aim::Roles ? " --roles" : "",
                static_cast<unsigned long long>(options.seed),
                static_cast<long long>(number), failure->stage.c_str());
    std::fflush(stdout);
  }
  void addGraph(const std::vector<Outcome> &outcomes) {
    std::lock_guard<std::mutex> lock(mutex);
    for (const Outcome &outcome : outcomes)
      count(outcome);
  }

  /// Prints the tables; the exit status.
  int finish() {
    std::printf("%-32s %8s %8s %9s\n", "stage", "passed", "failed", "seconds");
    for (const std::string &name : order) {
      const Count &row = stages[name];
      std::printf("%-32s %8lld %8lld %9.1f\n", name.c_str(), row.passed,
                  row.failed, row.seconds);
    }
    // A short run cannot meet everything.
    if (options.only < 0 && options.graph < 0 && options.count >= 1000 &&
        options.runner.aim == Aim::Anything)
      for (const std::string &name : coverageNames())
        if (features[name] == 0) {
          std::printf("FAILED: no configuration has the feature '%s'\n",
                      name.c_str());
          ++failed;
        }
    std::printf("%lld features met; least often:",
                static_cast<long long>(features.size()));
    std::multimap<long long, std::string> rare;
    for (const auto &[name, times] : features)
      rare.emplace(times, name);
    int shown = 0;
    for (const auto &[times, name] : rare)
      if (shown++ < 4)
        std::printf("%s %s %lld", shown > 1 ? "," : "", name.c_str(), times);
    std::printf("\n%lld passed, %lld failed\n", passed, failed);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
  }

private:
  struct Count {
    long long passed = 0, failed = 0;
    double seconds = 0;
  };
  void count(const Outcome &outcome) {
    if (!stages.count(outcome.stage))
      order.push_back(outcome.stage);
    Count &row = stages[outcome.stage];
    ++(outcome.failure.empty() ? row.passed : row.failed);
    row.seconds += outcome.seconds;
  }

  const Options &options;
  std::mutex mutex;
  std::vector<std::string> order;
  std::map<std::string, Count> stages;
  std::map<std::string, long long> features;
  long long passed = 0, failed = 0;
  int reports = 0;
};

/// All configurations of one graph.
void runGraph(int64_t number, const Options &options, Summary &summary) {
  DrawnGraph drawn = drawGraph(options.seed, number, options.runner.aim);
  Runner runner(drawn, options.runner);
  std::vector<Outcome> preparation = runner.prepare();
  summary.addGraph(preparation);
  std::vector<Outcome> broken;
  for (const Outcome &outcome : preparation)
    if (!outcome.failure.empty())
      broken.push_back(outcome);
  if (options.printIR)
    runner.print();
  bool isFirst = true;
  auto call = [&](int64_t c) {
    Configuration configuration = drawConfiguration(options.seed, c, drawn);
    std::vector<Outcome> outcomes = broken;
    if (broken.empty())
      outcomes = runner.run(c, configuration, isFirst);
    isFirst = false;
    summary.add(c, runner.getText(), configuration, outcomes);
  };
  if (options.only >= 0)
    return call(options.only);
  for (int64_t c = number; c < options.count; c += kGraphs)
    call(c);
}

bool parseNumber(const char *text, int64_t &value) {
  char *end = nullptr;
  value = std::strtoll(text, &end, 10);
  return *text && !*end && value >= 0;
}

bool parse(int argc, char **argv, Options &options) {
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    size_t equals = argument.find('=');
    std::string name = argument.substr(0, equals);
    std::string value =
        equals == std::string::npos ? "" : argument.substr(equals + 1);
    int64_t number = 0;
    bool isNumber = parseNumber(value.c_str(), number);
    if (name == "--count" && isNumber)
      options.count = number;
    else if (name == "--seed" && isNumber)
      options.seed = static_cast<uint64_t>(number);
    else if (name == "--case" && isNumber)
      options.only = number;
    else if (name == "--threads" && isNumber)
      options.threads = static_cast<unsigned>(number);
    else if (name == "--reports" && isNumber)
      options.maxReports = static_cast<int>(number);
    else if (name == "--graph" && isNumber && number < kGraphs)
      options.graph = number;
    else if (name == "--stage" && !value.empty())
      options.runner.stage = value;
    else if (argument == "--no-native")
      options.native = false;
    else if (argument == "--roles")
      options.runner.aim = Aim::Roles;
    else if (argument == "--print")
      options.printIR = true;
    else {
      std::fputs(usage, stderr);
      return false;
    }
  }
  return true;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  if (!parse(argc, argv, options))
    return 2;
  if (options.native && options.runner.aim == Aim::Anything)
    options.runner.levels = nativeLevels();
  Summary summary(options);
  if (options.only >= 0 || options.graph >= 0) {
    runGraph(options.only >= 0 ? options.only % kGraphs : options.graph,
             options, summary);
    return summary.finish();
  }
  std::atomic<int64_t> next{0};
  auto work = [&] {
    for (int64_t number; (number = next++) < kGraphs;)
      if (number < options.count)
        runGraph(number, options, summary);
  };
  unsigned count =
      options.threads ? options.threads : std::thread::hardware_concurrency();
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < count; ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
  return summary.finish();
}
