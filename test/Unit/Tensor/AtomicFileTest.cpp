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
#include <unistd.h>

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
  ASSERT_EQ(writeFileAtomically(path, {{"one ", 4}, {nullptr, 0}, {"two", 3}}),
            "");
  EXPECT_EQ(readAll(path), "one two");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"new"});
}

TEST(AtomicFile, NewFilesObeyTheUmaskAndOldOnesKeepTheirMode) {
  TemporaryFolder folder;
  std::string path = folder.file("mode");
  mode_t mask = ::umask(027);
  std::string error = writeFileAtomically(path, {{"x", 1}});
  ::umask(mask);
  ASSERT_EQ(error, "");
  struct stat status;
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
  ASSERT_EQ(::chmod(path.c_str(), 0604), 0);
  ASSERT_EQ(writeFileAtomically(path, {{"y", 1}}), "");
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0604u);
  EXPECT_EQ(readAll(path), "y");
}

TEST(AtomicFile, AFullDiskLeavesTheOldFileAndNothingElse) {
  TemporaryFolder folder;
  std::string path = folder.file("full");
  ASSERT_EQ(writeFileAtomically(path, {{"old", 3}}), "");
  std::string large(1 << 20, 'x'), error, other;
  {
    FileSizeLimit limit(4096);
    error = writeFileAtomically(path, {{large.data(), large.size()}});
    other = writeFileAtomically(folder.file("other"),
                                {{large.data(), large.size()}});
  }
  EXPECT_EQ(error.rfind("cannot write '" + path + "': ", 0), 0u) << error;
  EXPECT_NE(other, "");
  EXPECT_EQ(readAll(path), "old");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"full"});
}

TEST(AtomicFile, WritesThroughDevicesAndPipes) {
  struct stat status;
  EXPECT_EQ(writeFileAtomically("/dev/null", {{"x", 1}}), "");
  EXPECT_EQ(writeFileAtomically("/dev/full", {{"x", 1}}),
            "cannot write '/dev/full': No space left on device");
  for (const char *device : {"/dev/null", "/dev/full"}) {
    ASSERT_EQ(::stat(device, &status), 0);
    EXPECT_TRUE(S_ISCHR(status.st_mode));
  }
}

TEST(AtomicFile, ReplacesWhatLinksLeadTo) {
  TemporaryFolder folder;
  writeAll(folder.file("file"), "old");
  ASSERT_EQ(::mkdir(folder.file("in").c_str(), 0700), 0);
  ASSERT_EQ(::symlink("../file", folder.file("in/near").c_str()), 0);
  ASSERT_EQ(::symlink("in/near", folder.file("far").c_str()), 0);
  ASSERT_EQ(writeFileAtomically(folder.file("far"), {{"new", 3}}), "");
  EXPECT_EQ(readAll(folder.file("file")), "new");
  // To what is not there yet.
  ASSERT_EQ(::symlink("made", folder.file("ahead").c_str()), 0);
  ASSERT_EQ(writeFileAtomically(folder.file("ahead"), {{"x", 1}}), "");
  EXPECT_EQ(readAll(folder.file("made")), "x");
  struct stat status;
  for (const char *link : {"far", "in/near", "ahead"}) {
    ASSERT_EQ(::lstat(folder.file(link).c_str(), &status), 0);
    EXPECT_TRUE(S_ISLNK(status.st_mode)) << link;
  }
}

TEST(AtomicFile, WhatCannotBeWrittenIsKnownBefore) {
  TemporaryFolder folder;
  for (std::string path : {folder.path, folder.file("no/such"),
                           std::string("a\0b", 3), std::string()}) {
    std::string error = checkWritable(path);
    EXPECT_NE(error, "") << path;
    EXPECT_EQ(writeFileAtomically(path, {{"x", 1}}), error);
  }
  EXPECT_NE(checkWritable(folder.path).find("Is a directory"),
            std::string::npos);
  EXPECT_NE(checkWritable(folder.file("no/such")).find("No such file"),
            std::string::npos);
  EXPECT_EQ(checkWritable(folder.file("new")), "");
  EXPECT_TRUE(folder.names().empty());
}

} // namespace
