//===- FaultTest.cpp - What ends a ring, and how ---*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ranks as processes, one of which is killed, stopped, slow or of another mind.
// Every other one must end in time, with a status that names rank, step and
// reason, and hold nothing afterwards.
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include "gtest/gtest.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

using namespace ringlet::rt;
using namespace ringlet::rt::ring;

namespace {

/// Deadline of waits and of silence, as RingRank has them, and what G3 adds.
constexpr double kWait = 3, kBeyond = 5;

/// Until several processes have begun with one GPU and NCCL.
double startOfGpu() { return std::getenv("RINGLET_TEST_GPU") ? 20 : 0; }

class Process {
public:
  Process(int64_t rank, int64_t ranks, uint16_t port,
          const std::vector<std::string> &extra)
      : output(testing::TempDir() + "/ring." + std::to_string(getpid()) + "." +
               std::to_string(serial++)) {
    std::vector<std::string> words = {RINGLET_TEST_RANK, std::to_string(rank),
                                      std::to_string(ranks),
                                      std::to_string(port)};
    words.insert(words.end(), extra.begin(), extra.end());
    std::vector<char *> argv;
    for (std::string &each : words)
      argv.push_back(each.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, output.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int code =
        posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
    EXPECT_EQ(code, 0) << argv[0];
    // Signals to process 0 would reach this one.
    if (code != 0)
      pid = 0;
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Process() {
    if (pid > 0 && !ended) {
      kill(pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    unlink(output.c_str());
  }
  Process(const Process &) = delete;
  Process &operator=(const Process &) = delete;

  void signal(int which) {
    if (pid > 0)
      kill(pid, which);
  }
  /// Ended by then.
  bool endsBy(Deadline deadline) {
    while (pid > 0 && !ended && Clock::now() < deadline) {
      ended = waitpid(pid, nullptr, WNOHANG) == pid;
      if (!ended)
        usleep(10000);
    }
    return ended;
  }
  std::string text() const {
    std::ifstream file(output);
    std::stringstream all;
    all << file.rdbuf();
    return all.str();
  }
  /// What follows a word at the start of a line.
  std::string said(const std::string &word) const {
    std::istringstream in("\n" + text());
    std::string line;
    while (std::getline(in, line))
      if (line.compare(0, word.size() + 1, word + " ") == 0)
        return line.substr(word.size() + 1);
    return "nothing";
  }
  bool hasSaid(const std::string &words, Deadline deadline) const {
    while (text().find(words) == std::string::npos) {
      if (Clock::now() >= deadline)
        return false;
      usleep(10000);
    }
    return true;
  }

private:
  static int serial;
  std::string output;
  pid_t pid = 0;
  bool ended = false;
};

int Process::serial = 0;

uint16_t freePort() {
  File listener;
  uint16_t port = 0;
  EXPECT_TRUE(listenOn({"127.0.0.1", 0}, listener, port).ok());
  return port;
}

class FaultTest : public testing::TestWithParam<Kind> {
protected:
  using Words = std::vector<std::string>;

  void start(int64_t ranks, int64_t odd, const Words &oddly,
             const Words &all = {}) {
    port = freePort();
    for (int64_t rank = 0; rank < ranks; ++rank) {
      // Several calls: whatever the timing, everybody needs everybody again.
      Words words = {"calls=4"};
      if (GetParam() != Kind::Socket)
        words.push_back(GetParam() == Kind::Nccl ? "device=nccl"
                                                 : "device=p2p");
      words.insert(words.end(), all.begin(), all.end());
      if (rank == odd)
        words.insert(words.end(), oddly.begin(), oddly.end());
      processes.push_back(std::make_unique<Process>(rank, ranks, port, words));
    }
  }

  /// All but one end in time, and say this, and hold nothing.
  void expectOthers(int64_t odd, int code, const std::string &message,
                    double seconds = kWait + kBeyond) {
    Deadline deadline = after(seconds + startOfGpu());
    for (size_t rank = 0; rank < processes.size(); ++rank)
      if (static_cast<int64_t>(rank) != odd)
        expectOne(rank, code, message, deadline);
  }
  void expectOne(size_t rank, int code, const std::string &message,
                 Deadline deadline) {
    Process &process = *processes[rank];
    EXPECT_TRUE(process.endsBy(deadline)) << "rank " << rank;
    std::string status = process.said("status");
    EXPECT_EQ(status.find(text(code, " ", message)), 0u)
        << "rank " << rank << ": " << status << "\n"
        << process.text();
    // A library of GPUs has threads of its own until the process ends.
    if (!std::getenv("RINGLET_TEST_GPU")) {
      EXPECT_EQ(process.said("held"), "0 0") << "rank " << rank;
    }
  }
  void TearDown() override {
    processes.clear();
    // The port is free again.
    File listener;
    uint16_t taken = 0;
    EXPECT_TRUE(listenOn({"127.0.0.1", port}, listener, taken).ok());
  }

  uint16_t port = 0;
  std::vector<std::unique_ptr<Process>> processes;
};

/// What ends a ring once messages travel, for each transport, and what does
/// before.
class BootstrapFaultTest : public FaultTest {};
INSTANTIATE_TEST_SUITE_P(Transports, FaultTest,
                         testing::Values(Kind::Socket, Kind::Copies,
                                         Kind::Nccl),
                         [](const auto &info) { return nameOf(info.param); });
INSTANTIATE_TEST_SUITE_P(Transports, BootstrapFaultTest,
                         testing::Values(Kind::Socket),
                         [](const auto &info) { return nameOf(info.param); });

TEST_P(FaultTest, None) {
  start(4, -1, {}, {"wait=30", "silence=30"});
  expectOthers(-1, RL_OK, "", 60);
}

TEST_P(FaultTest, Killed) {
  start(4, 2, {"kill=2"});
  expectOthers(2, RL_PEER_ERROR, "rank 2, step ");
  for (int64_t rank : {0, 1, 3})
    EXPECT_NE(processes[rank]->said("status").find("connection closed"),
              std::string::npos);
}

TEST_P(FaultTest, FirstRankKilled) {
  start(4, 0, {"kill=1"});
  expectOthers(0, RL_PEER_ERROR, "rank 0");
}

TEST_P(FaultTest, EndedWithoutLeaving) {
  start(3, 1, {"exit=1"});
  expectOthers(1, RL_PEER_ERROR, "rank 1, step ");
}

TEST_P(FaultTest, Stopped) {
  start(4, 1, {"stop=2"});
  ASSERT_TRUE(processes[1]->hasSaid("step 2", after(30)));
  expectOthers(1, RL_PEER_ERROR, "rank 1");
  processes[1]->signal(SIGCONT);
  // By then the others have ended, which it may see first.
  expectOne(1, RL_PEER_ERROR, "rank ", after(kBeyond));
}

TEST_P(FaultTest, FirstRankStopped) {
  start(3, 0, {"stop=1"});
  ASSERT_TRUE(processes[0]->hasSaid("step 1", after(30)));
  expectOthers(0, RL_PEER_ERROR, "rank 0");
  processes[0]->signal(SIGCONT);
  ASSERT_TRUE(processes[0]->endsBy(after(kBeyond)));
  EXPECT_EQ(processes[0]->said("status").find("7 rank"), 0u);
}

// It is slow with what it computes in step 0.
TEST_P(FaultTest, Slow) {
  start(4, 3, {"sleep=1"});
  expectOthers(3, RL_PEER_ERROR, "rank 3, step 0: no message within 3 s",
               6 + kWait + kBeyond);
  expectOne(3, RL_PEER_ERROR, "rank 3, step 0: no message within 3 s",
            after(kBeyond));
}

TEST_P(FaultTest, OtherShape) {
  start(3, 1, {"rows=4095"});
  expectOthers(-1, RL_INVALID_ARGUMENT,
               "rank 1: expected rows of key 4096, found 4095");
}

TEST_P(FaultTest, OtherArtefact) {
  start(3, 2, {"artefact=ffff"});
  expectOthers(-1, RL_INVALID_ARGUMENT,
               "rank 2: expected artefact a1b2c3, found ffff");
}

// One rank has fewer calls to make: it leaves, the others go on.
TEST_P(FaultTest, FewerCalls) {
  start(3, 2, {"calls=1"});
  expectOthers(2, RL_PEER_ERROR, "rank 2");
  expectOne(2, RL_OK, "", after(kBeyond));
}

TEST_P(BootstrapFaultTest, KilledDuringBootstrap) {
  start(3, 1, {"die=bootstrap"}, {"bootstrap=3"});
  expectOthers(1, RL_PEER_ERROR, "rank 1", 3 + kBeyond);
}

TEST_P(BootstrapFaultTest, AbsentFromBootstrap) {
  start(3, 2, {"secret=another"}, {"bootstrap=2"});
  expectOthers(2, RL_PEER_ERROR, "ranks 2 of 3 did not come within 2 s",
               2 + kBeyond);
}

// A rank that is started again finds no ring, and the others end as for any
// rank that is killed.
TEST_P(BootstrapFaultTest, Restarted) {
  start(3, 1, {"kill=1"});
  ASSERT_TRUE(processes[1]->endsBy(after(30)));
  Process again(1, 3, port, {"bootstrap=1"});
  expectOthers(1, RL_PEER_ERROR, "rank 1");
  EXPECT_TRUE(again.endsBy(after(1 + kBeyond)));
  EXPECT_EQ(again.said("status").find("7 rank 0: no connection to "), 0u)
      << again.text();
}

// Two ranks at once: the others name one of them.
TEST_P(FaultTest, TwoKilled) {
  start(5, 1, {"kill=2"});
  processes[3]->hasSaid("step 1", after(30));
  processes[3]->signal(SIGKILL);
  Deadline deadline = after(kWait + kBeyond + startOfGpu());
  for (size_t rank : {0, 2, 4})
    expectOne(rank, RL_PEER_ERROR, "rank ", deadline);
}

} // namespace
