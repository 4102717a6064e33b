//===- AtomicFile.cpp - Files that are whole or absent ----------*- C++ -*-===//
//
// Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "lib/Tensor/AtomicFile.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ringlet {

namespace {

/// The temporary file; removed unless it was renamed.
class TemporaryFile {
public:
  explicit TemporaryFile(const std::string &target)
      : name(target + ".tmp-XXXXXX") {
    descriptor = ::mkostemp(name.data(), O_CLOEXEC);
    exists = descriptor >= 0;
  }
  ~TemporaryFile() {
    if (descriptor >= 0)
      ::close(descriptor);
    if (exists)
      ::unlink(name.c_str());
  }
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;

  bool isOpen() const { return descriptor >= 0; }

  bool write(const FileChunk &chunk) {
    const auto *next = static_cast<const char *>(chunk.data);
    size_t left = chunk.size;
    while (left > 0) {
      ssize_t written = ::write(descriptor, next, left);
      if (written < 0 && errno == EINTR)
        continue;
      if (written < 0)
        return false;
      next += written;
      left -= static_cast<size_t>(written);
    }
    return true;
  }

  /// mkostemp makes files that only the owner may read; give the mode that an
  /// ordinary new file, or the file to be replaced, has.
  bool finish(const std::string &target, mode_t mode) {
    if (::fchmod(descriptor, mode) != 0 || ::fsync(descriptor) != 0)
      return false;
    int closed = ::close(descriptor);
    descriptor = -1;
    if (closed != 0 || ::rename(name.c_str(), target.c_str()) != 0)
      return false;
    exists = false;
    return true;
  }

private:
  std::string name;
  int descriptor = -1;
  bool exists = false;
};

/// The rename itself must reach the disk. Some file systems cannot sync a
/// folder; the data are safe then, so this is no error.
void syncFolderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "."
                       : slash == 0               ? "/"
                                                  : path.substr(0, slash);
  int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return;
  ::fsync(descriptor);
  ::close(descriptor);
}

mode_t modeOfNewFile() {
  mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

} // namespace

bool writeFileAtomically(const std::string &path,
                         const std::vector<FileChunk> &chunks,
                         std::string *error) {
  auto fail = [&](const std::string &what) {
    if (error)
      *error = path + ": " + what;
    return false;
  };
  auto failSystem = [&](const char *what) {
    int code = errno;
    return fail(std::string("cannot ") + what + ": " + std::strerror(code));
  };

  if (path.find('\0') != std::string::npos)
    return fail("expected a file name without a zero byte");
  struct stat status;
  bool replaces = ::stat(path.c_str(), &status) == 0;
  if (replaces && !S_ISREG(status.st_mode))
    return fail("expected a regular file or a new name, found a folder, device "
                "or pipe");

  TemporaryFile file(path);
  if (!file.isOpen())
    return failSystem("create a temporary file beside it");
  for (const FileChunk &chunk : chunks)
    if (!file.write(chunk))
      return failSystem("write");
  if (!file.finish(path, replaces ? status.st_mode & 07777 : modeOfNewFile()))
    return failSystem("finish");
  syncFolderOf(path);
  return true;
}

} // namespace ringlet
