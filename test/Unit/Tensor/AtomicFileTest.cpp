//===- AtomicFileTest.cpp - Files that are whole or absent ------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Tensor/AtomicFile.h"
#include "test/Unit/Tensor/TemporaryFolder.h"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace ringlet;

namespace {

/// A limit on the size of files, which a write meets as it meets a full disk:
/// part of the data is taken, the rest is an error.
class FileSizeLimit {
public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before);
    previous = std::signal(SIGXFSZ, SIG_IGN);
    rlimit limited = before;
    limited.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limited);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, previous);
  }

private:
  rlimit before;
  void (*previous)(int);
};

TEST(AtomicFile, WritesChunksInOrder) {
  TemporaryFolder folder;
  std::string path = folder.file("new");
  std::string error;
  ASSERT_TRUE(writeFileAtomically(path, {{"one ", 4}, {nullptr, 0}, {"two", 3}},
                                  &error))
      << error;
  EXPECT_EQ(readAll(path), "one two");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"new"});
}

TEST(AtomicFile, NewFilesObeyTheUmaskAndOldOnesKeepTheirMode) {
  TemporaryFolder folder;
  std::string path = folder.file("mode");
  mode_t mask = ::umask(027);
  bool written = writeFileAtomically(path, {{"x", 1}}, nullptr);
  ::umask(mask);
  ASSERT_TRUE(written);
  struct stat status;
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
  ASSERT_EQ(::chmod(path.c_str(), 0604), 0);
  ASSERT_TRUE(writeFileAtomically(path, {{"y", 1}}, nullptr));
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0604u);
  EXPECT_EQ(readAll(path), "y");
}

TEST(AtomicFile, AFullDiskLeavesTheOldFileAndNothingElse) {
  TemporaryFolder folder;
  std::string path = folder.file("full");
  ASSERT_TRUE(writeFileAtomically(path, {{"old", 3}}, nullptr));
  std::string large(1 << 20, 'x');
  std::string error;
  {
    FileSizeLimit limit(4096);
    EXPECT_FALSE(
        writeFileAtomically(path, {{large.data(), large.size()}}, &error));
    EXPECT_FALSE(writeFileAtomically(folder.file("other"),
                                     {{large.data(), large.size()}}, nullptr));
  }
  EXPECT_EQ(error.rfind(path + ": cannot write", 0), 0u) << error;
  EXPECT_EQ(readAll(path), "old");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"full"});
}

TEST(AtomicFile, RefusesFoldersDevicesAndMissingFolders) {
  TemporaryFolder folder;
  std::string error;
  EXPECT_FALSE(writeFileAtomically(folder.path, {{"x", 1}}, &error));
  EXPECT_NE(error.find("regular file"), std::string::npos) << error;
  EXPECT_FALSE(writeFileAtomically("/dev/null", {{"x", 1}}, &error));
  EXPECT_NE(error.find("regular file"), std::string::npos) << error;
  EXPECT_FALSE(writeFileAtomically(folder.file("no/such"), {{"x", 1}}, &error));
  EXPECT_NE(error.find("No such file"), std::string::npos) << error;
  EXPECT_FALSE(writeFileAtomically(std::string("a\0b", 3), {{"x", 1}}, &error));
  EXPECT_TRUE(folder.names().empty());
}

} // namespace
